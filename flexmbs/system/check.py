"""One criterion of the audit of a run, and the verdict on all of them."""

from collections.abc import Iterable
from dataclasses import dataclass

PASS, WARN, FAIL = "PASS", "WARN", "FAIL"
NOT_JUDGED = "NOT JUDGED"  # switched off
FULL = "full"  # level of an audit without limits of work
STATUSES = (PASS, NOT_JUDGED, WARN, FAIL)  # from the best to the worst


@dataclass(frozen=True)
class Check:
    """One criterion: title, PASS, NOT JUDGED, WARN or FAIL, finding with location and time, remedy."""

    title: str
    status: str
    found: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.title}: {self.found}{'; ' if self.remedy else ''}{self.remedy}"


def verdict(found: Iterable[Check]) -> str:
    """The worst of the checks."""
    return max((check.status for check in found), key=STATUSES.index)


def graded(value: float, limits: tuple[float, float]) -> str:
    """PASS up to the first limit, WARN up to the second, FAIL beyond and for what is no number."""
    return PASS if value <= limits[0] else WARN if value <= limits[1] else FAIL

"""One criterion of the audit of a run, and the verdict on all of them."""

from collections.abc import Iterable
from dataclasses import dataclass

PASS, WARN, FAIL = "PASS", "WARN", "FAIL"
NOT_JUDGED = "NOT JUDGED"  # switched off
STATUSES = (PASS, NOT_JUDGED, WARN, FAIL)  # from the best to the worst


@dataclass(frozen=True)
class Check:
    """One criterion of the audit.

    Title; PASS, NOT JUDGED, WARN or FAIL; finding with location and time; remedy.
    """

    title: str
    status: str
    found: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.title}: {self.found}{'; ' if self.remedy else ''}{self.remedy}"


# the whole audit of a run whose audit is switched off
SWITCHED_OFF = Check(
    "Audit", NOT_JUDGED, "switched off", "switch it on before you rely on the result"
)


def verdict(found: Iterable[Check]) -> str:
    """Worst status of the checks."""
    return max((check.status for check in found), key=STATUSES.index)


def graded(value: float, limits: tuple[float, float]) -> str:
    """Status of a value: PASS up to the first limit, WARN up to the second, else FAIL."""
    return PASS if value <= limits[0] else WARN if value <= limits[1] else FAIL

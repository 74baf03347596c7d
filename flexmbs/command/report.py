"""``flexmbs report``"""

from pathlib import Path

from flexmbs.console.messages import put
from flexmbs.errors import InputError
from flexmbs.files.file_types import BODY, comparison_kind, kind_of, report_kind
from flexmbs.files.reserved_outputs import reserved


def report(paths: list[Path], output: Path | None) -> None:
    """Write the report of one solution file or flexible body, or the comparison of two solutions.

    Raises InputError for more than two.
    """
    from flexmbs.api.solution import Solution

    if len(paths) > 2:
        raise InputError(f"report: takes one solution, or two to compare, not {len(paths)}")
    first, *others = paths
    if not others and kind_of(first) == BODY:
        from preprocess.command.report import report as body_report

        body_report(first, None, output, full=False, allow_outside=False)
        return
    beside = (
        first.with_name(f"{first.stem}-{others[0].stem}.html")
        if others
        else first.with_suffix(".html")
    )
    target = output or beside
    with reserved((target, comparison_kind(target) if others else report_kind(target))):
        solution = Solution.load(first)
        if others:
            solution.compare(Solution.load(others[0]), target, names=(str(first), str(others[0])))
        else:
            solution.report(target)
    put(f"report: {target}")

"""``flexmbs report``"""

from pathlib import Path

from flexmbs.console.messages import put
from flexmbs.files.kinds import PAGE
from flexmbs.files.reserve import reserved


def report(path: Path, output: Path | None) -> None:
    """Write the report of a solution file."""
    from flexmbs.api.solution import Solution

    target = output or path.with_suffix(".html")
    with reserved((target, PAGE)):
        Solution.load(path).report(target)
    put(f"report: {target}")

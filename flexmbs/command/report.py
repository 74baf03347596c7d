"""``flexmbs report``"""

from pathlib import Path

from flexmbs.console.messages import put


def report(path: Path, output: Path | None) -> None:
    """Write the report of a solution file."""
    from flexmbs.results import Solution

    target = output or path.with_suffix(".html")
    Solution.load(path).report(target)
    put(f"report: {target}")

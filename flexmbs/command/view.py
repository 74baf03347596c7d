"""``flexmbs view``"""

from pathlib import Path
from typing import TYPE_CHECKING

from flexmbs.console.messages import put
from flexmbs.files.kinds import PAGE
from flexmbs.files.reserve import reserved

if TYPE_CHECKING:
    from flexmbs.report.view import View

ROBOT, SOLUTION = (".urdf", ".xml"), (".h5", ".hdf5")


def view(path: Path, output: Path | None, *, browser: bool, access: dict[str, bool]) -> None:
    """Write the page of a model at its start, of a robot, or of a solution."""
    target = output or path.with_name(f"{path.stem}.view.html")
    with reserved((target, PAGE)):
        page = _page(path, access)
        page.save(target)
        put(f"view: {target}")
    if browser:
        import webbrowser

        webbrowser.open(target.resolve().as_uri())


def _page(path: Path, access: dict[str, bool]) -> "View":
    if path.suffix.lower() in ROBOT:
        from flexmbs.robots.robot import Robot

        return Robot.from_urdf(path, allow_outside=access["allow_outside"]).show(browser=False)
    if path.suffix.lower() in SOLUTION:
        from flexmbs.api.solution import Solution

        return Solution.load(path).show(browser=False)
    from flexmbs.api.model import load

    return load(path, **access).show(browser=False)

"""``flexmbs view``"""

from pathlib import Path
from typing import TYPE_CHECKING

from flexmbs.console.messages import put
from flexmbs.files.file_types import BODY, PAGE, kind_of
from flexmbs.files.reserved_outputs import reserved

if TYPE_CHECKING:
    from flexmbs.report.view import View

ROBOT, SOLUTION = (".urdf", ".xml", ".mjcf", ".sdf", ".world"), (".h5", ".hdf5")


def view(path: Path, output: Path | None, *, browser: bool, access: dict[str, bool]) -> None:
    """Write the page of a model at its start, a robot, a solution or a flexible body."""
    target = output or path.with_name(f"{path.stem}.view.html")
    with reserved((target, PAGE)):
        page = _page(path, access)
        page.save(target)
        put(f"view: {target}")
    if browser:
        import webbrowser

        webbrowser.open(target.resolve().as_uri())


def _page(path: Path, access: dict[str, bool]) -> "View":
    """Page that shows the robot, flexible body, solution or model in a file."""
    if path.suffix.lower() in ROBOT:
        return _robot(path, allow_outside=access["allow_outside"])
    if kind_of(path) == BODY:
        from flexmbs.flexible_body.divided import load_body
        from flexmbs.report.view import View
        from preprocess.report.page import page

        return View(page(load_body(path)))
    if path.suffix.lower() in SOLUTION:
        from flexmbs.api.solution import Solution

        return Solution.load(path).show(browser=False)
    from flexmbs.api.model import load

    return load(path, **access).show(browser=False)


def _robot(path: Path, *, allow_outside: bool) -> "View":
    """Page of a robot file, whose format is recognized by its root element."""
    from flexmbs.model.xml_tree import read_xml
    from flexmbs.robots.mjcf.build import from_mujoco
    from flexmbs.robots.robot import Robot
    from flexmbs.robots.sdf.build import from_sdf

    tag = read_xml(path).tag
    if tag not in ("mujoco", "sdf"):
        return Robot.from_urdf(path, allow_outside=allow_outside).show(browser=False)
    return (from_mujoco if tag == "mujoco" else from_sdf)(path, allow_outside=allow_outside).show(
        browser=False
    )

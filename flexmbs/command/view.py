"""``flexmbs view``"""

from pathlib import Path
from typing import TYPE_CHECKING

from flexmbs.console.messages import put
from flexmbs.files.file_types import BODY, PAGE, kind_of
from flexmbs.files.reserved_outputs import reserved

if TYPE_CHECKING:
    from flexmbs.report.view import View

SOLUTION = (".h5", ".hdf5")


def view(
    path: Path,
    output: Path | None,
    *,
    browser: bool,
    unit: str | None = None,
    access: dict[str, bool],
) -> None:
    """Write the page of a model at its start, a robot, solution, body, CAD file or mesh."""
    target = output or path.with_name(f"{path.stem}.view.html")
    with reserved((target, PAGE)):
        page = _page(path, unit, access)
        page.save(target)
        put(f"view: {target}")
    if browser:
        import webbrowser

        webbrowser.open(target.resolve().as_uri())


def _page(path: Path, unit: str | None, access: dict[str, bool]) -> "View":
    """Page that shows what a file contains."""
    from flexmbs.robots.any_file import CAD, MESHES, ROBOTS, load_model, load_robot

    if path.suffix.lower() in ROBOTS:
        robot = load_robot(path, allow_outside=access["allow_outside"])
        return robot.show(browser=False)
    if kind_of(path) == BODY:
        from flexmbs.flexible_body.divided import load_body
        from flexmbs.report.view import View
        from preprocess.report.page import page

        return View(page(load_body(path)))
    if path.suffix.lower() in CAD:
        from flexmbs.report.view import View
        from preprocess.cad.assembly import read_assembly
        from preprocess.cad.mates import mates
        from preprocess.cad.mesh_cad import read_faces
        from preprocess.cad.netgen import SeveralSolids
        from preprocess.report.region_pages import assembly_page, cad_page

        try:
            return View(cad_page(path.name, *read_faces(path)))
        except SeveralSolids:
            assembly = read_assembly(path)
            return View(assembly_page(assembly, mates(assembly)))
    if path.suffix.lower() in MESHES:
        from flexmbs.report.view import View
        from preprocess.command.inspect import mesh_to_show
        from preprocess.report.region_pages import mesh_page

        mesh = mesh_to_show(path, unit, allow_outside=access["allow_outside"])
        return View(mesh_page(mesh, "" if unit else "Read in m; set another unit with --unit."))
    if path.suffix.lower() in SOLUTION:
        from flexmbs.api.solution import Solution

        return Solution.load(path).show(browser=False)
    return load_model(path, **access).show(browser=False)

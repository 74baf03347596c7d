"""Machines of the gallery: each script of `docs/gallery` is run; of its ``solution`` a picture and
a page in 3D are made.
"""

import html
import sys
from pathlib import Path
from typing import Any

import numpy as np

import flexmbs as fm
from flexmbs.audit import second_run
from flexmbs.exports.moving_surfaces import moving_surfaces
from flexmbs.page.raster import Canvas, ramp
from flexmbs.page.solids import view_axes
from flexmbs.page.style import PALETTE
from flexmbs.report.view import view

SIZE = (900, 560)  # pixels
DIRECTION = np.array([0.45, -1.0, 0.40])  # from which a machine is seen
# s: the whole second run on slow machines too, so that verdicts do not depend on these
second_run.SECONDS = 20.0
INSTANTS, FADED = (0.0, 0.35, 0.7), 0.72  # shares of the run, and of white in all but the last
# pages in three dimensions, copied as they are
SCENES = Path(__file__).resolve().parents[1] / "_build" / "machines"
HEIGHT = 640  # pixels of the scene
ORDER = (
    "quick_return",
    "excavator",
    "scara",
    "delta_robot",
    "windscreen_wiper",
    "crane",
    "satellite",
    "wind_turbine_blade",
    "engine",
    "woodpecker",
    "bicycle",
    "pantograph",
)


def gallery_order(name: str) -> int:
    """The place of a script in the gallery."""
    return ORDER.index(Path(name).stem)


def scenes(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Scraper of sphinx-gallery: a picture of the motion and the page of the player, once the
    script has a solution.
    """
    names = block_vars["example_globals"]
    solution = names.get("solution")
    if not isinstance(solution, fm.Solution) or block_vars.get("flexmbs"):
        return ""
    block_vars["flexmbs"] = True
    if solution.verdict != "PASS":
        raise RuntimeError(
            f"{block_vars['src_file']}: the verdict is {solution.verdict}:\n{solution}"
        )
    picture = Path(next(block_vars["image_path_iterator"]))
    picture.write_bytes(still(solution, names))
    name = Path(block_vars["src_file"]).stem
    view(solution).save(SCENES / "scenes" / f"{name}.html")
    title = html.escape(solution.model.name)
    return (
        f"\n.. image:: /{picture.relative_to(gallery_conf['src_dir']).as_posix()}\n   "
        f":alt: {solution.model.name}\n\n"
        f'.. raw:: html\n\n   <iframe src="../scenes/{name}.html" width="100%" '
        f'height="{HEIGHT}" style="border:0" '
        f'title="{title}"></iframe>\n'
        f'   <p><a href="../scenes/{name}.html">The motion on a page of its own</a></p>\n\n'
    )


def still(solution: fm.Solution, names: dict[str, Any]) -> bytes:
    """The bodies at a few instants, the last one in full colours, as a PNG; a script may have its
    own ``instants``.
    """
    axes = view_axes(DIRECTION, np.array([0.0, 0.0, 1.0]))
    surfaces = moving_surfaces(solution)
    pick = (np.array(names.get("instants", INSTANTS)) * (len(solution.t) - 1)).astype(int)
    seen = [[surface.at(i) @ axes.T for surface in surfaces] for i in pick]
    canvas = Canvas(np.concatenate([points for each in seen for points in each]), *SIZE)
    extent = float(np.ptp(np.concatenate([np.concatenate(each) for each in seen]), axis=0).max())
    colours = ramp(PALETTE, len(PALETTE))
    for poses in seen:
        fade = 0.0 if poses is seen[-1] else FADED
        for k, (surface, points) in enumerate(zip(surfaces, poses)):
            tone = colours[k % len(colours)] * (1.0 - fade) + fade
            canvas.draw_shaded(points[surface.triangles], tone)
        if poses is seen[-1]:
            canvas.outline(0.01 * extent)
        canvas.clear_depth()
    return canvas.png()


def main(name: str) -> None:
    """Run one script and write its picture and page beside the folder: ``python
    docs/_ext/machine_pages.py crane``.
    """
    script = Path(__file__).resolve().parents[1] / "gallery" / f"{name}.py"
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(script.read_text(encoding="utf-8"), str(script), "exec"), names)
    solution = names["solution"]
    print(solution)
    Path(f"{name}.png").write_bytes(still(solution, names))
    view(solution).save(f"{name}.html")


if __name__ == "__main__":
    main(sys.argv[1])

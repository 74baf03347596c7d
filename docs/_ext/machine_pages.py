"""Machines of the gallery: each script of `docs/gallery` is run; of its ``solution`` a picture and a page in 3D are made."""

import html
import sys
from pathlib import Path
from typing import Any

import numpy as np

import flexmbs as fm
from flexmbs.exports.moving_surfaces import moving_surfaces
from flexmbs.page.drawings import shaded
from flexmbs.page.raster import Canvas, flat
from flexmbs.page.solids import view_axes
from flexmbs.player.scene import Extras
from flexmbs.report.view import view

SIZE = (900, 560)  # pixels
BLUE, PAPER = np.array([0.16, 0.38, 0.60]), np.ones(3)
DIRECTION = np.array([0.45, -1.0, 0.40])  # from which a machine is seen, unless its script says ``seen_from``
INSTANTS = 4
HEIGHT = 560  # pixels of the scene
ORDER = (
    "quick_return", "excavator", "scara", "delta_robot", "windscreen_wiper", "crane", "satellite", "wind_turbine_blade",
    "engine", "woodpecker", "bicycle", "pantograph",
)  # fmt: skip


def gallery_order(name: str) -> int:
    """The place of a script in the gallery."""
    return ORDER.index(Path(name).stem)


def scenes(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Scraper of sphinx-gallery: a picture of the motion and the page of the player, once the script has a solution."""
    names = block_vars["example_globals"]
    solution = names.get("solution")
    if not isinstance(solution, fm.Solution) or block_vars.get("flexmbs"):
        return ""
    block_vars["flexmbs"] = True
    if solution.verdict != "PASS":
        raise RuntimeError(f"{block_vars['src_file']}: the verdict is {solution.verdict}:\n{solution}")
    picture = Path(next(block_vars["image_path_iterator"]))
    picture.write_bytes(still(solution, names.get("solids", ()), np.asarray(names.get("seen_from", DIRECTION), float)))
    page = picture.with_suffix(".html")
    view(solution, Extras(names.get("solids", ()))).save(page)
    frame = html.escape(page.read_text(encoding="utf-8"))
    page.unlink()
    title = html.escape(solution.model.name)
    return (
        f"\n.. image:: /{picture.relative_to(gallery_conf['src_dir']).as_posix()}\n   :alt: {solution.model.name}\n\n"
        f'.. raw:: html\n\n   <iframe srcdoc="{frame.replace(chr(10), "&#10;")}" width="100%" height="{HEIGHT}" '
        f'style="border:0" sandbox="allow-scripts allow-downloads" loading="lazy" title="{title}"></iframe>\n\n'
    )


def still(solution: fm.Solution, solids: Any = (), direction: np.ndarray = DIRECTION) -> bytes:
    """The bodies at equal intervals of time, later ones darker, as a PNG."""
    axes = view_axes(direction, np.array([0.0, 0.0, 1.0]))
    surfaces = moving_surfaces(solution, solids)
    pick = np.linspace(0, len(solution.t) - 1, INSTANTS).astype(int)
    seen = [[surface.at(i) @ axes.T for surface in surfaces] for i in pick]
    canvas = Canvas(np.concatenate([points for each in seen for points in each]), *SIZE)
    extent = float(np.ptp(np.concatenate([np.concatenate(each) for each in seen]), axis=0).max())
    for k, poses in enumerate(seen):
        tone = BLUE + (PAPER - BLUE) * 0.82 * (1.0 - k / (len(pick) - 1))
        for surface, points in zip(surfaces, poses):
            corners = points[surface.triangles]
            canvas.draw(corners, flat(shaded(np.tile(tone, (len(corners), 1)), corners)))
        canvas.outline(0.01 * extent)
        canvas.clear_depth()
    return canvas.png()


def main(name: str) -> None:
    """Run one script and write its picture and page beside the folder: ``python docs/_ext/machine_pages.py crane``."""
    script = Path(__file__).resolve().parents[1] / "gallery" / f"{name}.py"
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(script.read_text(encoding="utf-8"), str(script), "exec"), names)
    solution, solids = names["solution"], names.get("solids", ())
    print(solution)
    Path(f"{name}.png").write_bytes(still(solution, solids, np.asarray(names.get("seen_from", DIRECTION), float)))
    view(solution, Extras(solids)).save(f"{name}.html")


if __name__ == "__main__":
    main(sys.argv[1])

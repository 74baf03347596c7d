"""Sizes of pages, times to write them, and pictures of the player in Chromium without a graphics
card (SwiftShader).

    python reports/player/study.py SOLUTION.h5 [NODE_MODULES]    # the solution of flexmbs demo; the folder of puppeteer-core

Prints the table of README.md.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from models import chain, four_bar, ringing_tube

import flexmbs as fm
from flexmbs.player.markup import scene_text
from flexmbs.scene.scene import scene

HERE = Path(__file__).parent


def measured(name: str, solution: fm.Solution, modules: str | None) -> list[str]:
    """One row of the table."""
    solution.report(Path(tempfile.mkdtemp()) / "first.html")  # imports and kernels
    start = time.process_time()
    text = scene_text(scene(solution))
    scene_time = time.process_time() - start
    page = Path(tempfile.mkdtemp()) / "page.html"
    start = time.process_time()
    solution.report(page)
    page_time = time.process_time() - start
    surfaces = [
        data.surface for data in solution.compiled.data.values() if data.surface is not None
    ]
    triangles = sum(len(surface.triangles) for surface in surfaces)
    row = [
        name,
        str(len(solution.bodies)),
        str(triangles),
        f"{len(text) / 1e6:.2f}",
        f"{page.stat().st_size / 1e6:.2f}",
    ]
    return [
        *row,
        f"{scene_time:.2f}",
        f"{page_time:.2f}",
        *(pictures(page, modules) if modules else []),
    ]


def pictures(page: Path, modules: str) -> list[str]:
    """Time until the first picture (s); plain, by displacement, by stress: pictures per second,
    processor time of one (ms).
    """
    command = ["node", str(HERE / "frames.mjs"), str(shutil.which("chromium")), modules, str(page)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    fields = [found["fields"].get(field) for field in ("", "displacement", "stress")]
    return [
        f"{found['ready']:.1f}",
        *(f"{each['rate']:.0f}, {each['used']:.0f}" if each else "–" for each in fields),
    ]


def main(solution: str, modules: str | None = None) -> None:
    cases = {
        "demo arm": lambda: fm.Solution.load(solution),
        "tube, 16 modes": ringing_tube,
        "four-bar": four_bar,
        "chain": chain,
    }
    for name, made in cases.items():
        print("| " + " | ".join(measured(name, made(), modules)) + " |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

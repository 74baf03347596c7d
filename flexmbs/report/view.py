"""A page with the player alone: a model at its start, or a motion."""

from __future__ import annotations

import html
import os
import pathlib
import tempfile
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flexmbs import __version__
from flexmbs.files.output import write_text
from flexmbs.page.html import Picture, rendered
from flexmbs.page.style import png_image
from flexmbs.player.markup import player_code
from flexmbs.player.scene import Visual, scene, scene_text
from flexmbs.report.pictures import motion_picture

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

HEIGHT = 780  # pixels in a notebook


@dataclass(frozen=True)
class View:
    """A page in three dimensions, ``text`` in HTML: shown by a notebook, by `open` in a browser, written by `save`."""

    text: str

    def __repr__(self) -> str:
        return f"<View: a page of {len(self.text) / 1e6:.1f} MB; .save(path) writes it, .open() shows it in a browser>"

    def _repr_html_(self) -> str:
        """The page as a frame inside a notebook."""
        frame = f'<iframe srcdoc="{html.escape(self.text)}" width="100%" height="{HEIGHT}" style="border:0" '
        return frame + 'sandbox="allow-scripts allow-downloads" title="flexmbs"></iframe>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page. Raises MachineError."""
        write_text(path, self.text)

    def open(self) -> pathlib.Path:
        """Show the page in the browser of the system; the path of the temporary file."""
        path = pathlib.Path(tempfile.mkdtemp(prefix="flexmbs-")) / "view.html"
        self.save(path)
        webbrowser.open(path.as_uri())
        return path


def view(solution: SolutionData, visuals: Sequence[Visual] = ()) -> View:
    """The page of a solution, or of a single state (`flexmbs.report.start`)."""
    still = Picture(
        png_image(motion_picture(solution), dpi=110), "The mechanism", "Bodies at equal time intervals, the last one darkest."
    )
    text = rendered(
        "flexmbs.report", "view.html", player_code(), version=__version__, date=str(solution.run.provenance.get("date", "")),
        name=solution.model.name, tiles=[], still=still, scene=scene_text(scene(solution, visuals)),
    )  # fmt: skip
    return View(text)

"""Page with the player only: a motion, or a model at its start."""

from __future__ import annotations

import html
import os
import pathlib
import sys
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flexmbs import __version__
from flexmbs.files.file_types import PAGE, check_kind
from flexmbs.files.output import unwritable_temporary, write_text
from flexmbs.files.paths import file_path
from flexmbs.page.html import Picture, rendered
from flexmbs.player.markup import player_code, scene_text
from flexmbs.report.poster import motion_drawing
from flexmbs.scene.scene import NOTHING, Extras, scene

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

HEIGHT = 780  # pixels in a notebook
CAPTION = "Bodies at equal time intervals, the last one darkest."


@dataclass(frozen=True)
class View:
    """Three-dimensional page with the HTML ``text``.

    A notebook displays it, `open` shows it in a browser, `save` writes it.
    """

    text: str

    def __repr__(self) -> str:
        return (
            f"<View: a page of {len(self.text) / 1e6:.1f} MB; .save(path) writes it, .open() "
            "shows it in a browser>"
        )

    def _repr_html_(self) -> str:
        """HTML of a frame that shows the page in a notebook."""
        frame = (
            f'<iframe srcdoc="{html.escape(self.text)}" width="100%" height="{HEIGHT}" '
            'style="border:0" '
        )
        return frame + 'sandbox="allow-scripts allow-downloads" title="flexmbs"></iframe>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page. Raises InputError for other suffixes, MachineError."""
        check_kind(file_path(path), PAGE)
        write_text(path, self.text)

    def open(self) -> pathlib.Path:
        """Open the page in the system browser.

        Return the path of the file, which remains in the temporary folder. Raises MachineError.
        """
        import webbrowser

        try:
            path = pathlib.Path(tempfile.mkdtemp(prefix="flexmbs-")) / "view.html"
        except OSError as error:
            raise unwritable_temporary(error) from error
        self.save(path)
        webbrowser.open(path.as_uri())
        return path


def view(solution: SolutionData, extras: Extras = NOTHING) -> View:
    """Three-dimensional page of a solution."""
    still = Picture(motion_drawing(solution), "The mechanism", CAPTION)
    provenance = solution.run.provenance
    text = rendered(
        "flexmbs.report",
        "view.html",
        player_code(),
        version=__version__,
        date=str(provenance.get("date", "")),
        name=solution.model.name,
        tiles=[],
        still=still,
        scene=scene_text(scene(solution, extras)),
    )
    return View(text)


def shown(made: View, browser: bool | None) -> View:
    """Return the view, opened in a browser if ``browser``.

    By default it is opened unless a notebook displays it.
    """
    if browser or (browser is None and "ipykernel" not in sys.modules):
        made.open()
    return made

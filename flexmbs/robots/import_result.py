"""Result of importing a file of another program.

The model, the locations of its joints and frames, and what was left out.
"""

from pathlib import Path
from typing import NamedTuple

from flexmbs.api.model import Model
from flexmbs.errors import InputError, ModelWarning, warn_caller
from flexmbs.files.xml_tree import XmlElement
from flexmbs.model.frames import GROUND, Frame, FrameRef
from flexmbs.model.item import CoordinateUse
from flexmbs.player.solids import Solid
from flexmbs.report.model_at_start import model_view
from flexmbs.report.view import View
from flexmbs.report.view import shown as shown_page
from flexmbs.robots.solids import solids_of
from flexmbs.robots.visual_elements import Visual

WORLD = "world"  # name of the fixed frame in these files


class ImportedModel(NamedTuple):
    """Model imported from a file of another program.

    model: an ordinary `Model`.  joints: names in the file → joint of the model and its first
    coordinate.  frames: bodies, links and sites of the file → their frames.  limits: lower and
    upper limits by joint of the file (m or rad).  notes: contents of the file that the model does
    not have, one line each.

    """

    model: Model
    joints: dict[str, CoordinateUse]
    frames: dict[str, FrameRef]
    limits: dict[str, tuple[float, float]]
    notes: tuple[str, ...]
    visuals: tuple[Visual, ...] = ()

    def solids(self) -> tuple[Solid, ...]:
        """Visuals as solids, for `Solution.report` and `Solution.show`.

        Unreadable meshes are left out.
        """
        return tuple(solids_of(self.model, self.visuals, self._places)[0])

    def show(self, *, browser: bool | None = None) -> View:
        """Show the model at its start in three dimensions with its visuals and notes.

        See `Model.show`.
        """
        solids, more = solids_of(self.model, self.visuals, self._places)
        notes = [*(f"left out: {note}" for note in self.notes), *more]
        return shown_page(model_view(self.model, solids, notes), browser)

    @property
    def _places(self) -> dict[str, FrameRef]:
        return {WORLD: FrameRef(GROUND), **self.frames}


class ImportLog:
    """Problems, which end the import, and notes on what is left out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self.notes: list[str] = []

    def problem(self, element: XmlElement, text: str) -> None:
        """Record content that cannot be read, once per text."""
        line = f"{element.place}: {text}"
        if line not in self.problems:
            self.problems.append(line)

    def note(self, text: str) -> None:
        """Record content that is left out, once per text."""
        if text not in self.notes:
            self.notes.append(text)

    def finish(self, *, strict: bool) -> tuple[str, ...]:
        """Notes, also issued as one warning.

        Raises `InputError` for problems, and for notes if ``strict``.
        """
        left_out = [f"{self.path}: left out: {note}" for note in self.notes] if strict else []
        if self.problems or left_out:
            raise InputError(*self.problems, *left_out)
        if self.notes:
            warn_caller(f"{self.path}: left out: {'; '.join(self.notes)}", ModelWarning)
        return tuple(self.notes)


def free_name(wanted: str, taken: object) -> str:
    """Name followed by a blank and a number if it is already ``taken``."""
    found, k = wanted, 1
    while found in taken:  # type: ignore[operator]
        k += 1
        found = f"{wanted} {k}"
    return found


def add_frame(frames: dict[str, Frame], wanted: str, frame: Frame) -> str:
    """Add a frame to those of a body and return its name; an equal frame is shared."""
    if frames.get(wanted) == frame:
        return wanted
    name = free_name(wanted, frames)
    frames[name] = frame
    return name

"""Models read from files of other programs: the model, where its joints and frames are, and what
was not taken over.
"""

import warnings
from pathlib import Path
from typing import NamedTuple

from flexmbs.api.model import Model
from flexmbs.errors import InputError, ModelWarning
from flexmbs.model.frames import GROUND, Frame, FrameRef
from flexmbs.model.item import CoordinateUse
from flexmbs.player.solids import Solid
from flexmbs.report.model_at_start import model_view
from flexmbs.report.view import View
from flexmbs.report.view import shown as shown_page
from flexmbs.robots.solids import solids_of
from flexmbs.robots.visual_elements import Visual
from flexmbs.robots.xml_tree import Element

WORLD = "world"  # what stands, in these files


class Imported(NamedTuple):
    """A model from a file of another program.

    model: an ordinary `Model`.  joints: names in the file → joint of the model and the first of its
    coordinates.  frames: bodies, links and sites of the file → their frames.  limits: lower and
    upper limits by joint of the file (m or rad).  notes: what the file says and the model does not
    have, one line each.
    """

    model: Model
    joints: dict[str, CoordinateUse]
    frames: dict[str, FrameRef]
    limits: dict[str, tuple[float, float]]
    notes: tuple[str, ...]
    visuals: tuple[Visual, ...] = ()

    def solids(self) -> tuple[Solid, ...]:
        """The visuals as solids, for `Solution.report` and `Solution.show`; meshes that cannot be
        read are left out.
        """
        return tuple(solids_of(self.model, self.visuals, self._places)[0])

    def show(self, *, browser: bool | None = None) -> View:
        """The model at its start in three dimensions with its visuals and notes, as `Model.show`."""
        solids, more = solids_of(self.model, self.visuals, self._places)
        notes = [*(f"left out: {note}" for note in self.notes), *more]
        return shown_page(model_view(self.model, solids, notes), browser)

    @property
    def _places(self) -> dict[str, FrameRef]:
        return {WORLD: FrameRef(GROUND), **self.frames}


class Report:
    """Problems, which end the import, and notes of what is left out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self.notes: list[str] = []

    def problem(self, element: Element, text: str) -> None:
        """Something that cannot be read; said once."""
        line = f"{element.place}: {text}"
        if line not in self.problems:
            self.problems.append(line)

    def note(self, text: str) -> None:
        """Something that is left out; said once."""
        if text not in self.notes:
            self.notes.append(text)

    def finish(self, *, strict: bool) -> tuple[str, ...]:
        """The notes, with one warning. Raises `InputError` for problems, and for notes if
        ``strict``.
        """
        left_out = [f"{self.path}: left out: {note}" for note in self.notes] if strict else []
        if self.problems or left_out:
            raise InputError(*self.problems, *left_out)
        if self.notes:
            warnings.warn(
                f"{self.path}: left out: {'; '.join(self.notes)}", ModelWarning, stacklevel=4
            )
        return tuple(self.notes)


def free_name(wanted: str, taken: object) -> str:
    """The name, with blanks and numbers behind it until it is not among the ``taken`` ones."""
    found, k = wanted, 1
    while found in taken:  # type: ignore[operator]
        k += 1
        found = f"{wanted} {k}"
    return found


def add_frame(frames: dict[str, Frame], wanted: str, frame: Frame) -> str:
    """Its name among the frames of a body: an equal one is shared."""
    if frames.get(wanted) == frame:
        return wanted
    name = free_name(wanted, frames)
    frames[name] = frame
    return name

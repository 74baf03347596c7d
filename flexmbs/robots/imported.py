"""Models read from files of other programs: the model, where its joints and frames are, and what was not taken over."""

import warnings
from pathlib import Path
from typing import NamedTuple

from flexmbs.api.model import Model
from flexmbs.errors import InputError, ModelWarning
from flexmbs.model.frames import Frame, FrameRef
from flexmbs.model.item import CoordinateUse
from flexmbs.robots.xml_tree import Element


class Imported(NamedTuple):
    """A model from a file of another program.

    model: an ordinary `Model`.  joints: names in the file → joint of the model and the first of its coordinates.  frames: bodies,
    links and sites of the file → their frames.  limits: lower and upper limits by joint of the file (m or rad).  notes: what the
    file says and the model does not have, one line each.
    """

    model: Model
    joints: dict[str, CoordinateUse]
    frames: dict[str, FrameRef]
    limits: dict[str, tuple[float, float]]
    notes: tuple[str, ...]


class Report:
    """Problems, which end the import, and notes of what is left out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self.notes: list[str] = []

    def problem(self, element: Element, text: str) -> None:
        """Something that cannot be read."""
        self.problems.append(f"{element.place}: {text}")

    def note(self, text: str) -> None:
        """Something that is left out; said once."""
        if text not in self.notes:
            self.notes.append(text)

    def finish(self, *, strict: bool) -> tuple[str, ...]:
        """The notes, with one warning. Raises `InputError` for problems, and for notes if ``strict``."""
        left_out = [f"{self.path}: left out: {note}" for note in self.notes] if strict else []
        if self.problems or left_out:
            raise InputError(*self.problems, *left_out)
        if self.notes:
            warnings.warn(f"{self.path}: left out: {'; '.join(self.notes)}", ModelWarning, stacklevel=4)
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

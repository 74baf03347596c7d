"""Divided bodies in a model: a body for each piece, welded by fixed joints, and references to its frames."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from flexmbs.declaration import Declaration
from flexmbs.errors import InputError
from flexmbs.flexible_body.divided import FrameNames, check_welds, own_frames, welds
from flexmbs.model.bodies import Body, FlexibleBody
from flexmbs.model.frames import BodyHandle, FrameRef, frames_used
from flexmbs.model.joints import Fixed


@dataclasses.dataclass(frozen=True)
class DividedHandle(BodyHandle):
    """What ``model.add`` returns for a divided body: ``handle["tip"]`` refers to the frame on its piece, the handle itself to the
    body frame of the first piece."""

    whole: str = dataclasses.field(default="", compare=False, repr=False)
    places: Mapping[str, str] = dataclasses.field(default_factory=dict, compare=False, repr=False)

    def __getitem__(self, name: str) -> FrameRef:
        if name not in self.places:
            raise InputError(f"bodies.{self.whole}: no frame '{name}'; it has: {', '.join(self.places)}")
        return FrameRef(self.places[name], name)


def piece_name(body: str, number: int) -> str:
    """Name of a piece, numbered from 1."""
    return f"{body}[{number}]"


def in_pieces(body: FlexibleBody, frames: FrameNames) -> tuple[list[FlexibleBody], list[Fixed], DividedHandle]:
    """The bodies of the pieces of a divided body, their welds, and its handle. Raises `InputError`."""
    check_welds(f"bodies.{body.name}", frames)
    given = [key for key in ("qf0", "qf_dot0") if getattr(body, key) is not None]
    given += ["damping"] if isinstance(body.damping, tuple) else []
    if given:
        text = "the body is in pieces, each with modes of its own; give one ratio of damping, no elastic coordinates"
        raise InputError(*(f"bodies.{body.name}.{key}: {text}" for key in given))
    names = [piece_name(body.name, k + 1) for k in range(len(frames))]
    data = [None] * len(frames) if body.data is None else body.data.pieces
    pieces = [dataclasses.replace(body, name=name, data=own, piece=k) for k, (name, own) in enumerate(zip(names, data), 1)]
    fixed = [Fixed(f"{body.name} {cut}", f"{names[i]}/{cut}", f"{names[j]}/{cut}") for i, j, cut in welds(frames)]
    whole = own_frames(frames)
    places = {name: piece for piece, own in zip(names, frames) for name in own if name in whole}
    return pieces, fixed, DividedHandle(names[0], "", tuple(places), whole=body.name, places=places)


def pieces_of(name: str, bodies: Mapping[str, Body]) -> Iterator[FlexibleBody]:
    """The pieces of the divided body of this name, if it is one."""
    if name in bodies:
        return
    number = 1
    while isinstance(body := bodies.get(piece_name(name, number)), FlexibleBody) and body.piece == number:
        yield body
        number += 1


def on_piece(ref: FrameRef, bodies: Mapping[str, Body]) -> FrameRef:
    """The frame on its piece, of a reference to a frame of a divided body; other references as they are."""
    pieces = list(pieces_of(ref.body, bodies))
    found = [piece.name for piece in pieces if ref.frame and ref.frame in piece.frame_names()]
    return FrameRef((found or [pieces[0].name])[0], ref.frame) if pieces else ref


def on_pieces(item: Any, bodies: Mapping[str, Body]) -> Any:
    """The item with its references to frames of divided bodies on their pieces."""
    if not isinstance(item, Declaration):
        return item
    used = {key: (ref, on_piece(ref, bodies)) for key, ref in frames_used(item).items()}
    changed: dict[str, Any] = {key: new for key, (old, new) in used.items() if new != old}
    return dataclasses.replace(item, **changed) if changed else item  # type: ignore[type-var]

"""Divided bodies in a model: one declaration, one body per piece in the equations.

The pieces are welded by fixed joints.

A model names the body, ``boom``, and its frames, ``boom/tip``. Only `in_pieces` converts them to
those of the pieces, ``boom[1]``, ``boom[2]/tip``, welded at the cuts: the equations are compiled
from its model, and results are assembled by its names.

"""

import copy
import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from flexmbs.declaration import Declaration, close_names
from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.flexible_body.welds import own_frames, welds
from flexmbs.model.bodies import Body, FlexibleBody
from flexmbs.model.cut_shapes import CutShape
from flexmbs.model.frames import FrameRef, frames_used
from flexmbs.model.joints import Fixed, Joint
from flexmbs.model.model import SECTIONS, ModelData

TAKEN = "the name is used by a piece or cut of a divided body; choose another"
BY_MODE = ("qf0", "qf_dot0")


class BodyPieces(NamedTuple):
    """Pieces of a divided body.

    Their names, the data of the body, and the rows U of each piece for the damping UᵀU of the
    assembled body.
    """

    names: tuple[str, ...]
    data: DividedBodyData
    damping_rows: tuple[FloatArray, ...]


class ModelInPieces(NamedTuple):
    """Model whose divided bodies are replaced by their pieces.

    Also the pieces by the name of the body, and each frame of a divided body with the same frame on
    its piece; the body frame belongs to the first piece.
    """

    model: ModelData
    pieces: Mapping[str, BodyPieces]
    frames: Mapping[FrameRef, FrameRef]


def piece_name(body: str, number: int) -> str:
    """Name of piece ``number`` of a body, numbered from 1."""
    return f"{body}[{number}]"


def in_pieces(model: ModelData) -> ModelInPieces:
    """Model with each divided body replaced by its pieces. Raises `InputError`."""
    pieces = {body.name: _pieces(body, data) for body, data in _divided(model)}
    if not pieces:
        return ModelInPieces(model, {}, {})
    frames = {ref: own for name, whole in pieces.items() for ref, own in _frames(name, whole)}
    declared = [
        piece for whole in pieces.values() for piece in whole.names if piece in model.bodies
    ]
    if declared:
        raise InputError(f"bodies.{declared[0]}: {TAKEN}")
    made = copy.copy(model)
    made.bodies, made.joints = {}, {}
    for name, body in model.bodies.items():
        _add(made.bodies, *(_bodies(body, pieces[name]) if name in pieces else [body]))
    for name, whole in pieces.items():
        _add(made.joints, *_welds(name, whole))
    _add(made.joints, *(_on_pieces(joint, frames, pieces) for joint in model.joints.values()))
    for section in SECTIONS:
        if section not in ("bodies", "joints"):
            setattr(
                made,
                section,
                {
                    key: _on_pieces(item, frames, pieces)
                    for key, item in model.items(section).items()
                },
            )
    for name, whole in pieces.items():  # after those of the model, whose numbers do not change
        _add(made.couplings, *_local_welds(name, whole))
    return ModelInPieces(made, pieces, frames)


def _divided(model: ModelData) -> Iterator[tuple[FlexibleBody, DividedBodyData]]:
    """(body, data) of the flexible bodies that consist of pieces."""
    for body in model.bodies.values():
        if isinstance(body, FlexibleBody) and isinstance(data := body.whole(), DividedBodyData):
            yield body, data


def _pieces(body: FlexibleBody, data: DividedBodyData) -> BodyPieces:
    """Names of the pieces of a body, its data and the damping of each piece."""
    names = tuple(piece_name(body.name, k + 1) for k in range(len(data.pieces)))
    own = body.damping is None or len(names) == 1
    return BodyPieces(
        names,
        data,
        tuple(piece.damping_rows for piece in data.pieces)
        if own
        else data.damping_rows(body.ratios),
    )


def _frames(body: str, whole: BodyPieces) -> Iterator[tuple[FrameRef, FrameRef]]:
    """(frame of the body, same frame on its piece) for all frames of a divided body."""
    yield FrameRef(body), FrameRef(whole.names[0])
    own = own_frames(whole.data.frames_by_piece)
    yield from (
        (FrameRef(body, frame), FrameRef(piece, frame))
        for piece, known in zip(whole.names, whole.data.frames_by_piece)
        for frame in known
        if frame in own
    )


def _bodies(body: Body, whole: BodyPieces) -> list[Body]:
    """Bodies of the pieces, each with its part of the values given per mode.

    Damping ratios refer to the assembled body.
    """
    ends = list(itertools.accumulate((piece.nf for piece in whole.data.pieces), initial=0))
    made = []
    for name, piece, begin, end in zip(whole.names, whole.data.pieces, ends, ends[1:]):
        given: dict[str, Any] = {
            key: value[begin:end]
            for key in BY_MODE
            if isinstance(value := getattr(body, key), tuple)
        }
        if body.damping is not None and len(whole.names) > 1:  # type: ignore[attr-defined]
            given["damping"] = 0.0
        made.append(dataclasses.replace(body, name=name, file=None, data=piece, **given))  # type: ignore[call-arg]
    return made


def _welds(body: str, whole: BodyPieces) -> list[Fixed]:
    """Fixed joints between the pieces, one for each cut."""
    names = whole.names
    return [
        Fixed(f"{body} {cut}", f"{names[i]}/{cut}", f"{names[j]}/{cut}")
        for i, j, cut in welds(whole.data.frames_by_piece)
    ]


def _local_welds(body: str, whole: BodyPieces) -> Iterator[CutShape]:
    """Constraints of equal local displacements at the cuts between pieces."""
    names, data = whole.names, whole.data
    for i, j, cut in welds(data.frames_by_piece):
        one, other = (data.pieces[k].frames[cut].local for k in (i, j))
        for n, (a, b) in enumerate(zip(one, other), 1):
            yield CutShape(
                f"{body} {cut} shape {n}",
                of=((names[i], tuple(a.tolist())), (names[j], tuple((-b).tolist()))),
            )


def _add(items: "dict[str, Any]", *new: Body | Joint | CutShape) -> None:
    """Add items by name. Raises `InputError` for a name that is in use."""
    for item in new:
        if item.name in items:
            raise InputError(f"{item.section}.{item.name}: {TAKEN}")
        items[item.name] = item


def _on_pieces(
    item: Any, frames: Mapping[FrameRef, FrameRef], pieces: Mapping[str, BodyPieces]
) -> Any:
    """Item with its references to frames of divided bodies moved to their pieces.

    Raises `InputError` for unknown frames.
    """
    if not isinstance(item, Declaration):
        return item
    changed = {}
    for key, ref in frames_used(item).items():
        place = frames.get(FrameRef(ref.body, ref.frame))
        if place is not None:
            changed[key] = place
        elif ref.body in pieces:
            known = [own.frame for own in frames if own.body == ref.body and own.frame]
            near = close_names(ref.frame, known)
            raise InputError(f"body '{ref.body}' has no frame '{ref.frame}'; {near}")
    return dataclasses.replace(item, **changed) if changed else item  # type: ignore[type-var]

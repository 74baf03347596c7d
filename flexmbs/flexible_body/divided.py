"""A flexible body in several pieces, each with its own floating frame, that are welded at the cuts: for parts that bend far."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flexmbs.errors import InputError
from flexmbs.flexible_body.record import FlexibleBodyData

FrameNames = tuple[tuple[str, ...], ...]  # of each piece


@dataclass(frozen=True, eq=False)
class DividedBodyData:
    """Flexible body in pieces, as `preprocess.reduce_divided` makes it and `FlexibleBody` reads it.

    name: of the body.  pieces: two or more; two that have a frame of the same name are welded there, other frames belong to the
    body. The body frame is that of the first piece.

    Raises InputError for frames that more than two pieces have, and for pieces that are not all connected.

    Examples
    --------
    >>> import flexmbs as fm
    >>> import preprocess as pp
    >>> pieces = pp.divide(pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), pieces=2)
    >>> steel, ends = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0), {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    >>> bar = pp.reduce_divided(pieces, steel, interfaces=ends, reference="root")
    >>> bar.save("bar.h5")
    >>> model = fm.Model("cantilever")
    >>> handle = model.add(fm.FlexibleBody("bar", "bar.h5"))
    >>> list(model.bodies), list(model.joints), str(handle["tip"])
    (['bar[1]', 'bar[2]'], ['bar cut 1'], 'bar[2]/tip')
    """

    name: str
    pieces: tuple[FlexibleBodyData, ...]

    def __post_init__(self) -> None:
        check_welds(self.name, self.frames_by_piece)

    @property
    def frames_by_piece(self) -> FrameNames:
        """Names of the frames of each piece."""
        return tuple(tuple(piece.frames) for piece in self.pieces)

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames of the body, without the cuts."""
        return own_frames(self.frames_by_piece)

    @property
    def mass(self) -> float:
        """Mass of all pieces [kg]."""
        return sum(piece.mass for piece in self.pieces)

    def save(self, path: str | os.PathLike[str]) -> None:
        """HDF5 file at ``path``, written atomically. Raises MachineError."""
        from flexmbs.flexible_body.divided_file import write  # HDF5 on demand

        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DividedBodyData:
        """Body read from an HDF5 file. Raises InputError."""
        from flexmbs.flexible_body.divided_file import read

        return read(path, cls)


def load_piece(path: str | os.PathLike[str], number: int) -> FlexibleBodyData:
    """One piece, numbered from 1, of the body in the HDF5 file ``path``. Raises InputError."""
    from flexmbs.flexible_body.divided_file import read_piece

    return read_piece(path, number)


def frames_in_file(path: str | os.PathLike[str]) -> FrameNames | None:
    """Names of the frames of each piece of the body in the HDF5 file ``path``; None if it is none of a divided body."""
    from flexmbs.flexible_body.divided_file import frames_of_pieces

    try:
        return frames_of_pieces(path)
    except InputError:
        return None


def welds(frames: Sequence[Sequence[str]]) -> Iterator[tuple[int, int, str]]:
    """(piece, later piece, frame) of each weld, by the frames of the pieces."""
    for j, names in enumerate(frames):
        for i in range(j):
            yield from ((i, j, name) for name in frames[i] if name in names)


def own_frames(frames: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The frames that only one piece has."""
    cuts = {name for _, _, name in welds(frames)}
    return tuple(name for names in frames for name in names if name not in cuts)


def check_welds(name: str, frames: Sequence[Sequence[str]]) -> None:
    """Raise InputError unless each weld is between two pieces, and the welds connect them all."""
    found = list(welds(frames))
    cuts = [cut for _, _, cut in found]
    problems = [f"{name}: frame '{cut}' belongs to more than two pieces" for cut in dict.fromkeys(cuts) if cuts.count(cut) > 1]
    reached = {0}
    for _ in frames:
        reached |= {j for pair in found for i, j in (pair[:2], pair[1::-1]) if i in reached}
    problems += [f"{name}: piece {k + 1} is not welded to the first" for k in range(len(frames)) if k not in reached]
    if len(frames) < 2:
        problems.append(f"{name}: has {len(frames)} pieces; a divided body has two or more")
    if problems:
        raise InputError(*problems)

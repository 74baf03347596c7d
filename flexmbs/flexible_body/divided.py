"""Flexible body in several welded pieces with own floating frames, for large bending."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.flexible_body.undeformed_pieces import (
    JoinedSurface,
    PiecePose,
    joined_surface,
    poses_of,
)
from flexmbs.flexible_body.welds import FrameNames, check_welds, own_frames, welds

if TYPE_CHECKING:
    from flexmbs.flexible_body.assembled import WeldedPieces


@dataclass(frozen=True, eq=False, repr=False)
class DividedBodyData:
    """Flexible body in pieces, made by `preprocess.reduce_divided` and used in `FlexibleBody`.

    name: of the body.  pieces: one or more; pieces that share a frame name are welded there, other
    frames belong to the body. The body frame is the frame of the first piece.

    Raises InputError for frames shared by more than two pieces, for pieces that are not all
    connected, for pieces of different parts or reductions, and if jointly damped pieces are
    missing.


    Examples
    --------
    >>> import flexmbs as fm
    >>> import preprocess as pp
    >>> pieces = pp.divide(pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), pieces=2)
    >>> steel, ends = (
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ...     {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")},
    ... )
    >>> bar = pp.reduce_divided(pieces, steel, interfaces=ends, reference="root")
    >>> bar.save("bar.h5")
    >>> model = fm.Model("cantilever")
    >>> handle = model.add(fm.FlexibleBody("bar", "bar.h5"))
    >>> list(model.bodies), str(handle["tip"]), [piece.nf for piece in bar.pieces]
    (['bar'], 'bar/tip', [6, 6])
    """

    name: str
    pieces: tuple[FlexibleBodyData, ...]

    def __post_init__(self) -> None:
        check_welds(self.name, self.frames_by_piece)
        rows = {len(piece.damping_rows) for piece in self.pieces}
        if len(rows) > 1:
            counts = " and ".join(map(str, sorted(rows)))
            raise InputError(
                f"{self.name}: the pieces have {counts} common damping rows; use "
                "all pieces of one reduction"
            )
        for i, j, cut in welds(self.frames_by_piece):
            one, other = (self.pieces[k].frames[cut] for k in (i, j))
            if len(one.local) != len(other.local):
                counts = (
                    f"{len(one.local)} local displacements in one piece, {len(other.local)} "
                    "in the other"
                )
                raise InputError(
                    f"{self.name}: {cut} has {counts}; use all pieces of one reduction"
                )
            if one.cut != other.cut:
                raise InputError(
                    f"{self.name}: {cut} belongs to different parts or reductions in pieces "
                    f"{i + 1} and {j + 1};"
                    " use all pieces of one"
                )
        cuts = {cut for _, _, cut in welds(self.frames_by_piece)}
        for k, piece in enumerate(self.pieces, 1):
            alone = [name for name, frame in piece.frames.items() if frame.cut and name not in cuts]
            if alone and len(piece.damping_rows):
                raise InputError(
                    f"{self.name}: piece {k} is damped jointly with all pieces, but the piece "
                    f"at its {alone[0]} is missing;"
                    " use all pieces of one reduction"
                )

    def __repr__(self) -> str:
        frames, modes = ", ".join(self.frames) or "none", sum(piece.nf for piece in self.pieces)
        return (
            f"<DividedBodyData '{self.name}': {self.mass:.4g} kg, {len(self.pieces)} "
            f"pieces, {modes} elastic coordinates, "
            f"frames {frames}>"
        )

    @property
    def frames_by_piece(self) -> FrameNames:
        """Names of the frames of each piece."""
        return tuple(tuple(piece.frames) for piece in self.pieces)

    @cached_property
    def frames(self) -> Mapping[str, PiecePose]:
        """Undeformed poses of the frames of the body, without the cuts."""
        pairs = zip(self.pieces, self.poses)
        every = {
            name: own.of(frame.R, frame.x)
            for piece, own in pairs
            for name, frame in piece.frames.items()
        }
        return {name: every[name] for name in own_frames(self.frames_by_piece)}

    @property
    def mass(self) -> float:
        """Mass of all pieces [kg]."""
        return sum(piece.mass for piece in self.pieces)

    @property
    def first_moment(self) -> FloatArray:
        """∫x dm (3,) of the undeformed body [kg m]."""
        return np.asarray(
            sum(p.mass * x + R @ p.first_moment for p, (R, x) in zip(self.pieces, self.poses))
        )

    @property
    def second_moment(self) -> FloatArray:
        """∫x xᵀ dm (3, 3) of the undeformed body [kg m²]."""
        total = np.zeros((3, 3))
        for piece, (R, x) in zip(self.pieces, self.poses):
            across = np.outer(x, R @ piece.first_moment)
            total += R @ piece.second_moment @ R.T + across + across.T + piece.mass * np.outer(x, x)
        return total

    @cached_property
    def poses(self) -> tuple[PiecePose, ...]:
        """Undeformed poses of the frames of the pieces in the body frame."""
        return poses_of(self.pieces)

    @cached_property
    def joined(self) -> JoinedSurface | None:
        """Surface of the undeformed body, without the cuts; None if a piece has none."""
        return joined_surface(self.pieces, self.poses)

    def assembled(self, modes: int | None = None) -> FlexibleBodyData:
        """Body in one piece for small deflections, in its lowest ``modes`` or in all.

        The frame of the first piece is fixed; stress modes and geometric stiffness are omitted.
        """
        from flexmbs.flexible_body.assembled import assembled  # SciPy on demand

        return assembled(self.name, self.pieces, self.poses, self.joined, modes)

    @cached_property
    def welded(self) -> WeldedPieces:
        """The assembled body in all its modes: every compilation of a model with damping needs it."""
        from flexmbs.flexible_body.assembled import WeldedPieces  # SciPy on demand

        return WeldedPieces.of(self.pieces, self.poses).in_modes()

    @property
    def number_of_modes(self) -> int:
        """Number of modes of the assembled body."""
        return len(self.welded.K)

    def damping_rows(self, ratios: Callable[[FloatArray], FloatArray]) -> tuple[FloatArray, ...]:
        """Rows U of each piece for given modal damping of the assembled body.

        The damping UᵀU gives the modes of the assembled body, with the frame of the first piece
        fixed, the damping ``ratios`` at their frequencies [Hz].
        """
        from flexmbs.flexible_body.assembled import damping_rows  # SciPy on demand

        return tuple(damping_rows(self.welded, ratios))

    @property
    def provenance(self) -> Mapping[str, str | float]:
        """Origin of the numbers of the first piece, by key."""
        return self.pieces[0].provenance

    @property
    def nf(self) -> int:
        """Number of elastic coordinates of all pieces."""
        return sum(piece.nf for piece in self.pieces)

    @property
    def digest(self) -> str:
        """SHA-256 of the reduced data of all pieces, in order."""
        return hashlib.sha256(" ".join(piece.digest for piece in self.pieces).encode()).hexdigest()

    @property
    def failed(self) -> tuple[str, ...]:
        """Failed checks of the pieces that preclude equations of motion."""
        return tuple(
            f"{check} (piece {k})"
            for k, piece in enumerate(self.pieces, 1)
            for check in piece.failed
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an HDF5 file at ``path`` atomically. Raises MachineError."""
        from flexmbs.flexible_body.divided_file import write  # HDF5 on demand

        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DividedBodyData:
        """Read a body from an HDF5 file. Raises InputError."""
        from flexmbs.flexible_body.divided_file import read

        return read(path, cls)


def load_body(path: str | os.PathLike[str]) -> FlexibleBodyData | DividedBodyData:
    """Body in the HDF5 file ``path``, divided or not. Raises InputError."""
    return (DividedBodyData if is_divided(path) else FlexibleBodyData).load(path)


def in_one_piece(
    body: FlexibleBodyData | DividedBodyData, modes: int | None = None
) -> FlexibleBodyData:
    """Divided body for small deflections, as `DividedBodyData.assembled`.

    Other bodies unchanged.
    """
    return body.assembled(modes) if isinstance(body, DividedBodyData) else body


def is_divided(path: str | os.PathLike[str]) -> bool:
    """True if the file ``path`` contains a divided body; False if it is not an HDF5 file."""
    from flexmbs.flexible_body.divided_file import has_pieces

    try:
        return has_pieces(path)
    except InputError:
        return False

"""Flexible bodies of a solution, assembled from their pieces: deforming surfaces and stress."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.flexible_body.components import FloatArray, IntArray, Surface
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.flexible_body.stress import StressModes
from flexmbs.flexible_body.undeformed_pieces import JoinedSurface, joined_surface
from flexmbs.model.frames import FrameRef
from flexmbs.results.body_loads import LoadFactors, body_loads
from flexmbs.results.deformation import Deformation, DeformedPiece, RelativePose
from flexmbs.results.stress import StressPiece, StressView

UNMOVED = 1e-9  # relative to the largest shape or displacement: round-off

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData


def flexible_bodies(solution: SolutionData) -> tuple[str, ...]:
    """Names of the flexible bodies, as declared."""
    return tuple(name for name in solution.bodies if data_of(solution, name))


def data_of(solution: SolutionData, body: str) -> tuple[FlexibleBodyData, ...]:
    """Flexible data of a body, one for each piece; empty for a rigid body."""
    data = solution.compiled.data
    return tuple(data[piece] for piece in solution.compiled.pieces_of(body) if piece in data)


def whole_of(solution: SolutionData, body: str) -> FlexibleBodyData | DividedBodyData:
    """Data of a flexible body as declared, with all pieces of a divided one."""
    compiled = solution.compiled
    return compiled.pieces[body].data if body in compiled.pieces else compiled.data[body]


def mass_of(solution: SolutionData, body: str) -> float:
    """Mass of a body [kg]."""
    compiled = solution.compiled
    rows = [compiled.bodies.index(piece) for piece in compiled.pieces_of(body)]
    return float(compiled.system.bodies.mass[rows].sum())


def frame_at_rest(solution: SolutionData, ref: FrameRef) -> tuple[FloatArray, FloatArray]:
    """Undeformed position (3,) [m] and axes (3, 3) of a frame in its body."""
    frames, number = (
        solution.compiled.system.frames,
        solution.compiled.frames[FrameRef(ref.body, ref.frame)],
    )
    x, R = frames.x[number], frames.R[number].reshape(3, 3)
    if ref.body not in solution.compiled.pieces:
        return x, R
    whole = solution.compiled.pieces[ref.body]
    pose = whole.data.poses[whole.names.index(solution.compiled.bodies[frames.body[number]])].of(
        R, x
    )
    return pose.x, pose.R


def moved_frames(solution: SolutionData, body: str) -> dict[str, FloatArray]:
    """Elastic displacements (nt, 3) [m] of frames in body axes, by name."""
    if body not in solution.compiled.pieces:
        frames, elastic = solution.compiled.data[body].frames.items(), solution.elastic(body)
        return {
            name: elastic @ own.phi.T
            for name, own in frames
            if np.abs(own.phi).max(initial=0.0) > UNMOVED
        }
    whole, found = solution.frame(body), {}
    for name in solution.compiled.pieces[body].data.frames:
        ref = FrameRef(body, name)
        u = np.einsum("tji,tj->ti", whole.rotation, solution.frame(ref).position - whole.position)
        found[name] = u - frame_at_rest(solution, ref)[0]
    largest = max(np.abs(u).max() for u in found.values())
    return {name: u for name, u in found.items() if np.abs(u).max() > UNMOVED * largest}


def surface_of(solution: SolutionData, body: str) -> JoinedSurface | None:
    """Surface of a flexible body; None if it has none."""
    compiled = solution.compiled
    if body in compiled.pieces:
        return compiled.pieces[body].data.joined
    return joined_surface([compiled.data[body]], ()) if body in compiled.data else None


def deformation(solution: SolutionData, body: str) -> Deformation | None:
    """Surface and displacements of a flexible body; None if it has no surface."""
    joined = surface_of(solution, body)
    if joined is None:
        return None
    pieces = tuple(
        DeformedPiece(own.surface, rows, solution.elastic(name), _pose(solution, body, name))  # type: ignore[arg-type]
        for name, own, rows in zip(
            solution.compiled.pieces_of(body), data_of(solution, body), joined.rows
        )
    )
    return Deformation(joined.surface, pieces)


def stress_view(solution: SolutionData, body: str) -> StressView | None:
    """Stress of a flexible body; None unless all its pieces have stress modes."""
    shape, data = solution.shape(body), data_of(solution, body)
    if shape is None or any(own.stress is None for own in data):
        return None
    known = [
        (own.stress, rows)
        for own, (_, rows, _, _) in zip(data, shape.pieces)
        if own.stress is not None
    ]
    rows, entries = (
        (known[0][0].rows, [np.arange(len(known[0][0].rows))])
        if shape.linear
        else _entries(known, shape.surface)
    )
    pieces = [
        StressPiece(stress, place, piece.elastic, _loads(solution, name, stress.interfaces))
        for name, (stress, _), place, piece in zip(
            solution.compiled.pieces_of(body), known, entries, shape.pieces
        )
    ]
    return StressView(body, solution.t, rows, shape.surface, tuple(pieces))


def _entries(
    known: Sequence[tuple[StressModes, IntArray]], surface: Surface
) -> tuple[IntArray, list[IntArray]]:
    """Rows (n,) in the surface of the body of the nodes with stress, one per material.

    For each also the row of the stress of every piece, −1 if the piece has none. Interior nodes at
    a cut are omitted unless a piece has other interior nodes.
    """
    outer = np.zeros(len(surface.nodes), bool)
    outer[surface.triangles] = True
    shared = sum(np.bincount(rows, minlength=len(outer)) for _, rows in known) > 1
    inside = any((~outer & ~shared)[rows[stress.rows]].any() for stress, rows in known)
    materials: list[tuple[FloatArray, float]] = []
    places: dict[tuple[int, int, int], dict[int, int]] = {}
    for k, (stress, rows) in enumerate(known):
        numbers = [_number(materials, *own) for own in zip(stress.compliance, stress.yield_stress)]
        for entry, (row, material) in enumerate(
            zip(rows[stress.rows].tolist(), stress.material.tolist())
        ):
            if inside or outer[row]:
                # several materials of a piece may be equal
                keys = ((row, numbers[material], number) for number in itertools.count())
                places.setdefault(next(key for key in keys if k not in places.get(key, ())), {})[
                    k
                ] = entry
    found = [
        np.array([place.get(k, -1) for place in places.values()], np.int64)
        for k in range(len(known))
    ]
    return np.array([row for row, _, _ in places], np.int64), found


def _number(materials: list[tuple[FloatArray, float]], compliance: FloatArray, limit: float) -> int:
    """Number of a material among the known ones, appended if new."""
    for k, (other, its) in enumerate(materials):
        if np.array_equal(other, compliance) and its == limit:
            return k
    materials.append((compliance, limit))
    return len(materials) - 1


def _loads(
    solution: SolutionData, piece: str, interfaces: Sequence[str]
) -> Callable[[], LoadFactors]:
    """Function that evaluates the loads of a piece at its interfaces."""
    return lambda: body_loads(solution, piece, interfaces)


def _pose(solution: SolutionData, body: str, piece: str) -> Callable[[], RelativePose]:
    """Pose of a piece in the frame of its body, evaluated on demand."""

    def pose() -> RelativePose:
        """Pose of a piece relative to the whole body."""
        whole, own = solution.frame(body), solution.frame(piece)
        R = np.einsum("tji,tjk->tik", whole.rotation, own.rotation)
        return RelativePose(
            R, np.einsum("tji,tj->ti", whole.rotation, own.position - whole.position)
        )

    return pose

"""Moving surfaces of all bodies of a solution.

Triangles of flexible bodies, given solids, or simple shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.exports.primitives import triangulate
from flexmbs.flexible_body.components import FloatArray, Surface
from flexmbs.model.frames import GROUND
from flexmbs.player.solids import Solid, require_solids
from flexmbs.results.bodies import frame_at_rest
from flexmbs.results.deformation import Deformation
from flexmbs.results.solution import SolutionData
from flexmbs.results.stress import StressView
from flexmbs.results.stress_summary import stressed_bodies
from flexmbs.results.views import BodyView
from flexmbs.scene.links import body_shapes
from flexmbs.scene.scene import touching_of
from flexmbs.scene.shape_solids import shape_solids
from flexmbs.system.step_scales import model_size

IntArray = NDArray[np.int64]


class TriangleColour(NamedTuple):
    """Colour of a number of consecutive triangles of a surface; None for the colour of the body."""

    triangles: int
    colour: Sequence[float] | None


@dataclass(frozen=True, eq=False)
class MovingSurface:
    """Triangles (T, 3) of points (n, 3) [m] in the axes of a body.

    motion: of the body, None for the ground.

    shape: surface and displacements of a flexible body; rows: rows of the points among its nodes.
    paints: colours of all triangles of solids.

    """

    name: str
    points: FloatArray
    triangles: IntArray
    motion: BodyView | None
    shape: Deformation | None = None
    rows: IntArray | None = None
    stress: StressView | None = None
    paints: tuple[TriangleColour, ...] = ()

    def displacement(self, i: int) -> FloatArray:
        """Elastic displacement (n, 3) [m] of the points at output i, in body axes."""
        if self.shape is None or self.rows is None:
            return np.zeros_like(self.points)
        return self.shape.displacement(self.rows, slice(i, i + 1))[0]

    def at(self, i: int) -> FloatArray:
        """Points (n, 3) [m] at output i in world axes."""
        if self.motion is None:
            return self.points
        return np.asarray(
            (self.points + self.displacement(i)) @ self.motion.rotation[i].T
            + self.motion.position[i]
        )

    def von_mises(self, i: int) -> FloatArray:
        """Von Mises stress (n,) [Pa] at output i, for the more highly stressed material of a node.

        NaN if unknown.
        """
        if self.stress is None or self.shape is None or self.motion is None:
            return np.full(len(self.points), np.nan)
        field = self.stress.field(float(self.motion.t[i]))
        values = at_nodes(
            self.shape.surface, field.node_ids, field.von_mises, field.von_mises[:, None]
        )
        return values[self.rows, 0]


def moving_surfaces(solution: SolutionData, solids: Sequence[Solid] = ()) -> list[MovingSurface]:
    """Surfaces of all bodies with triangles.

    A flexible body by its mesh, others by the given ``solids`` or their shapes, or by wheels and
    spheres of contacts, rods between their frames, boxes of equal inertia and balls. Raises
    `InputError` for solids of unknown bodies.
    """
    require_solids(solids)
    for solid in solids:
        if solid.body not in (*solution.bodies, GROUND):
            raise InputError(
                f"solids: body '{solid.body}' is not in the solution; it has: "
                f"{', '.join(solution.bodies)}"
            )
    solids, _ = shape_solids(solution.model, solids)
    stressed, size = stressed_bodies(solution), _size(solution)
    found = [_merged_solids(GROUND, [solid for solid in solids if solid.body == GROUND], None)]
    for name in solution.bodies:
        view = solution.body(name)
        shape = solution.shape(name)
        own = [solid for solid in solids if solid.body == name]
        if shape is not None and len(shape.surface.triangles):
            rows, triangles = np.unique(shape.surface.triangles, return_inverse=True)
            stress = view.stress if name in stressed else None
            points, triangles = shape.surface.nodes[rows], triangles.reshape(-1, 3).astype(np.int64)
            found.append(
                MovingSurface(name, points, triangles, view, shape, rows.astype(np.int64), stress)
            )
            found.append(_merged_solids(f"{name} shapes", own, view))
        elif own:
            found.append(_merged_solids(name, own, view))
        else:
            places = [
                frame_at_rest(solution, ref)[0]
                for ref in solution.compiled.frames
                if ref.body == name and ref.frame
            ]
            touching = touching_of(solution, name)
            points = np.array(places, float).reshape(-1, 3)
            shapes = [
                *touching,
                *body_shapes(solution.model.bodies[name], points, size, embodied=bool(touching)),
            ]
            found.append(
                _merged_solids(name, [Solid(name, *triangulate(shape)) for shape in shapes], view)
            )
    return [surface for surface in found if len(surface.triangles)]


def chosen_outputs(t: FloatArray, count: int | None, times: Iterable[float] = ()) -> IntArray:
    """Indices of ``count`` equally spaced outputs, or of the outputs nearest to ``times``.

    count None: all. Raises `InputError`.
    """
    times = list(times)
    outside = [time for time in times if not t[0] <= time <= t[-1]]
    if outside:
        raise InputError(
            f"export: --at {outside[0]:g} s is outside the solution, which covers "
            f"{t[0]:g} … {t[-1]:g} s"
        )
    if times:
        return np.unique([int(np.argmin(np.abs(t - time))) for time in times])
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise InputError(f"instants: must be a whole number from 1, not {count!r}")
    return np.unique(np.linspace(0, len(t) - 1, min(count or len(t), len(t))).astype(np.int64))


def at_nodes(
    surface: Surface, node_ids: IntArray, order: FloatArray, rows: FloatArray
) -> FloatArray:
    """Rows of values for all nodes of a surface; NaN for nodes without values.

    The row with the largest ``order`` for a node with several, NaN if there is none.
    """
    by_id = np.argsort(surface.node_ids)
    place = by_id[np.searchsorted(surface.node_ids, node_ids, sorter=by_id)]
    values = np.full((len(surface.nodes), rows.shape[1]), np.nan)
    rising = np.argsort(order, kind="stable")
    values[place[rising]] = rows[rising]  # the last assignment wins
    return values


def _merged_solids(name: str, solids: Sequence[Solid], view: BodyView | None) -> MovingSurface:
    """Several solids of a body merged to one surface, without invisible ones."""
    solids = [solid for solid in solids if solid.colour is None or [*solid.colour, 1.0][3] > 0.0]
    paints = tuple(TriangleColour(len(solid.triangles), solid.colour) for solid in solids)
    starts = np.cumsum([0, *(len(solid.vertices) for solid in solids)])
    points = np.concatenate(
        [np.zeros((0, 3)), *(np.asarray(solid.vertices, float) for solid in solids)]
    )
    triangles = [
        np.asarray(solid.triangles, np.int64) + start for solid, start in zip(solids, starts)
    ]
    return MovingSurface(
        name, points, np.concatenate([np.zeros((0, 3), np.int64), *triangles]), view, paints=paints
    )


def _size(solution: SolutionData) -> float:
    """Size of the model in its motion [m], for the radii of rods and balls."""
    places = np.concatenate([solution.body(name).position for name in solution.bodies])
    return max(float(np.ptp(places, axis=0).max()), model_size(solution.compiled))

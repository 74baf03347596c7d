"""Surfaces of flexible bodies.

Vertices and triangles stored once, a few shapes of displacement and stress, and factors at every
instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.flexible_body.stress import von_mises
from flexmbs.player.arrays import Buffer
from flexmbs.player.decomposition import ReducedField, decomposed
from flexmbs.player.surface import PageSurface, has_triangles, stored_skin
from flexmbs.results.bodies import flexible_bodies
from flexmbs.results.deformation import Deformation

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

DISPLACEMENT, STRESS = 5e-4, 1e-3  # tolerances relative to the largest value


class FieldRanges(NamedTuple):
    """Largest displacement (m) and von Mises stress (Pa) over the instants, and notes.

    The stress is None without stresses.
    """

    displacement: float
    stress: float | None
    notes: list[str]


class SurfaceGroup(NamedTuple):
    """Surface and the bodies that have it.

    data: for a body in one piece, which several bodies may share.
    """

    shape: Deformation
    data: FlexibleBodyData | None
    bodies: list[str]


def parts_of(solution: SolutionData) -> list[SurfaceGroup]:
    """Groups of flexible bodies with equal surface data."""
    parts: list[SurfaceGroup] = []
    for name in flexible_bodies(solution):
        shape, data = solution.shape(name), solution.compiled.data.get(name)
        if shape is None or not has_triangles(shape.surface):
            continue
        same = next(
            (part for part in parts if data and part.data and _same_surface(part.data, data)), None
        )
        if same is None:
            parts.append(SurfaceGroup(shape, data, [name]))
        else:
            same.bodies.append(name)
    return parts


class SceneSurface(NamedTuple):
    """Surface in the buffer: skin, table, factors of its bodies by name, ranges of the fields."""

    skin: PageSurface
    table: dict[str, Any]
    factors: dict[str, dict[str, Any]]
    fields: FieldRanges


def add_part(buffer: Buffer, solution: SolutionData, part: SurfaceGroup) -> SceneSurface:
    """Add the surface with its shapes of displacement and stress."""
    skin = stored_skin(buffer, part.shape.surface)
    notes = [f"surface of {', '.join(part.bodies)}: {note}" for note in skin.notes]
    shapes = [part.shape, *(solution.shape(name) for name in part.bodies[1:])]
    parts = [shape.factored(skin.rows, slice(None)) for shape in shapes if shape is not None]
    moved = decomposed(parts[0][0], np.concatenate([own for _, own in parts], axis=1), DISPLACEMENT)
    table = skin.table | {"shapes": _shapes(buffer, moved, DISPLACEMENT, 3)}
    factors = _factors(buffer, moved, part.bodies, "factors")
    largest = _largest(moved, _length, 3)
    stress, remark = _stress(solution, part, skin.rows)
    notes += remark
    if stress is None:
        return SceneSurface(skin, table, factors, FieldRanges(largest, None, notes))
    table["stress"] = _shapes(buffer, stress, STRESS, 6)
    for name, own in _factors(buffer, stress, part.bodies, "stress").items():
        factors[name] |= own
    return SceneSurface(
        skin, table, factors, FieldRanges(largest, _largest(stress, von_mises, 6), notes)
    )


def _same_surface(a: FlexibleBodyData, b: FlexibleBodyData) -> bool:
    """True if two bodies have the same surface data."""
    if a is b:
        return True
    assert a.surface is not None
    assert b.surface is not None
    pairs = [
        (a.surface.nodes, b.surface.nodes),
        (a.surface.phi, b.surface.phi),
        (a.surface.triangles, b.surface.triangles),
    ]
    if (a.stress is None) != (b.stress is None):
        return False
    if a.stress is not None and b.stress is not None:
        if (
            a.stress.initial is not None
            or b.stress.initial is not None
            or a.stress.interfaces != b.stress.interfaces
        ):
            return False
        pairs += [
            (a.stress.rows, b.stress.rows),
            (a.stress.modes, b.stress.modes),
            (a.stress.correction, b.stress.correction),
        ]
    return all(x is y or np.array_equal(x, y) for x, y in pairs)


def _stress(
    solution: SolutionData, part: SurfaceGroup, rows: IntArray
) -> tuple[ReducedField | None, list[str]]:
    """Stress at the vertices; None without stress modes there.

    For a node shared by materials the first one counts.
    """
    if not solution.body(part.bodies[0]).has_stress:
        return None, []
    place = _rows_of_stress(solution.body(part.bodies[0]).stress.rows, rows)
    if place is None:
        return None, [
            f"stress of {', '.join(part.bodies)}: not known on the whole surface; not shown"
        ]
    try:
        views = [solution.body(name).stress for name in part.bodies]
        shapes, factors = (
            views[0].shapes(place),
            np.concatenate([view.factors for view in views], axis=1),
        )
    except InputError as error:
        return None, [f"stress of {', '.join(part.bodies)} is not shown: {error}"]
    return decomposed(shapes.reshape(-1, shapes.shape[2]), factors, STRESS), []


def _rows_of_stress(known: IntArray, wanted: IntArray) -> IntArray | None:
    """Rows of the wanted nodes among the known ones; None if one is missing."""
    order = np.argsort(known, kind="stable")
    at = np.searchsorted(known, wanted, sorter=order)
    place = order[np.minimum(at, len(order) - 1)] if len(order) else np.zeros(0, np.int64)
    return place if len(place) and np.array_equal(known[place], wanted) else None


def _shapes(
    buffer: Buffer, field: ReducedField, tolerance: float, components: int
) -> dict[str, Any]:
    """Shape columns as scaled integers (r, vertices, components), stored in the buffer."""
    r = field.columns.shape[1]
    largest = float(np.abs(field.columns).max(initial=0.0))
    values = field.columns.reshape(field.columns.shape[0] // components, components, r).transpose(
        2, 0, 1
    )
    return buffer.steps(values, tolerance * largest / max(r, 1))


def _factors(
    buffer: Buffer, field: ReducedField, bodies: list[str], key: str
) -> dict[str, dict[str, Any]]:
    """Factors (instants, r) of the shapes for every body."""
    own = np.split(field.factors.T, len(bodies))
    return {
        name: {key: buffer.steps(values, 1.0 / 32000.0, delta=True)}
        for name, values in zip(bodies, own)
    }


def _largest(field: ReducedField, measure: Any, components: int) -> float:
    """Largest value of a measure of the field over vertices and instants."""
    n, r = field.columns.shape
    # a power of two, exact: squares of more than 1e19 would overflow in single precision
    scale = 2.0 ** int(np.frexp(np.abs(field.columns).max(initial=0.0))[1])
    columns = (field.columns / scale).astype(np.float32).reshape(n // components, components, r)
    factors, most = field.factors.astype(np.float32), 0.0
    for block in np.array_split(columns, max(1, columns.shape[0] * factors.shape[1] // 400_000)):
        if len(block) and factors.size:
            # component by component: takes half the time
            most = max(most, float(measure(np.moveaxis(block @ factors, 1, -1)).max()))
    return most * scale


def _length(u: FloatArray) -> FloatArray:
    """Lengths (...) of vectors (..., 3)."""
    x, y, z = np.moveaxis(u, -1, 0)
    return np.asarray(np.sqrt(x * x + y * y + z * z))

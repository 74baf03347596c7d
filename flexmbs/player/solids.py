"""Solids given by triangles, which replace the default shape of a body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError


class Solid(NamedTuple):
    """Solid on a body or the ground.

    Vertices (n, 3) [m] in its axes, triangles (T, 3) of vertex rows, colour (r, g, b) or (r, g, b,
    opacity), 0 to 1, or None for the colour of the body.
    """

    body: str
    vertices: NDArray[np.float64]
    triangles: NDArray[np.int64]
    colour: Sequence[float] | None = None


def require_solids(solids: Sequence[Solid]) -> None:
    """Raise InputError for objects that are not solids or cannot be drawn."""
    for k, solid in enumerate(solids if isinstance(solids, Sequence) else [solids]):
        if not isinstance(solid, Solid):
            raise InputError(
                f"solids: must be a list of solids, such as robot.solids(), not {solid!r:.60}"
            )
        if problem := _problem(solid):
            raise InputError(f"solids[{k}], on {solid.body!r}: {problem}")


def _problem(solid: Solid) -> str:
    """Problem of the arrays of a solid; empty if there is none."""
    try:
        vertices, colour = (
            np.asarray(solid.vertices, float),
            np.asarray([] if solid.colour is None else solid.colour, float),
        )
        triangles = np.asarray(solid.triangles)
    except (TypeError, ValueError):
        return "vertices, triangles and colour must be numbers"
    if (
        vertices.ndim != 2
        or vertices.shape[1:] != (3,)
        or not len(vertices)
        or not np.isfinite(vertices).all()
    ):
        return f"vertices must be finite numbers (n, 3), not an array of shape {vertices.shape}"
    if triangles.ndim != 2 or triangles.shape[1:] != (3,) or triangles.dtype.kind not in "iu":
        return (
            "triangles must be rows (T, 3) of whole numbers, not an array of shape "
            f"{triangles.shape}"
        )
    if triangles.size and not 0 <= triangles.min() <= triangles.max() < len(vertices):
        return (
            f"triangles must refer to its vertices, 0 … {len(vertices) - 1}, not "
            f"{triangles.min()} … {triangles.max()}"
        )
    if solid.colour is not None and (
        colour.shape not in ((3,), (4,)) or not ((colour >= 0.0) & (colour <= 1.0)).all()
    ):
        return (
            "colour must be (r, g, b) or (r, g, b, opacity), each within 0 … 1, not "
            f"{solid.colour!r:.60}"
        )
    return ""


def thinned(
    x: NDArray[np.float64], triangles: NDArray[np.int64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], float]:
    """(rows of the vertices kept, their triangles, size (m) of the merging grid).

    Vertices of a grid cell are merged into their first one; size 0 if there are no more than
    ``most`` triangles.
    """
    rows, own = _renumbered(triangles)
    if len(own) <= most:
        return rows, sorted_triangles(own), 0.0
    cell, found = float(np.ptp(x[rows], axis=0).max()) / 250.0, own
    while len(found) > most:
        cell *= 1.25
        found = _clustered(x[rows], own, cell)
    kept, renumbered = _renumbered(found)
    return rows[kept], sorted_triangles(renumbered), cell


def sorted_triangles(triangles: NDArray[np.int64]) -> NDArray[np.int64]:
    """Same triangles (T, 3), each starting at its first vertex, sorted for compression."""
    turned = np.take_along_axis(
        triangles, (triangles.argmin(axis=1)[:, None] + np.arange(3)) % 3, axis=1
    )
    return turned[np.lexsort(turned.T[::-1])]


def _renumbered(triangles: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Used node rows, and triangles numbered within them."""
    rows, numbers = np.unique(triangles, return_inverse=True)
    return rows, numbers.reshape(-1, 3).astype(np.int64)


def _clustered(
    x: NDArray[np.float64], triangles: NDArray[np.int64], cell: float
) -> NDArray[np.int64]:
    """Triangles between the first vertices of the cells.

    Those collapsed to a point or an edge are removed.
    """
    keys = np.floor((x - x.min(axis=0)) / cell).astype(np.int64)
    _, first, cells = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    joined = first[cells.reshape(-1)][triangles]
    a, b, c = joined.T
    kept = joined[(a != b) & (b != c) & (c != a)]
    _, once = np.unique(np.sort(kept, axis=1), axis=0, return_index=True)
    return np.asarray(kept[np.sort(once)])

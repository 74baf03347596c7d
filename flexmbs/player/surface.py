"""Surface of a flexible body for the player: vertices and triangles, stored once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.flexible_body.components import Surface
from flexmbs.player.arrays import Buffer
from flexmbs.player.solids import thinned

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_TRIANGLES = 24_000  # triangles of one surface: limits the size of the page


class PageSurface(NamedTuple):
    """Surface in a page: its table, vertices, triangles and notes.

    Rows (n,) of its vertices among the nodes, triangles (T, 3) of these.
    """

    table: dict[str, Any]
    rows: IntArray
    triangles: IntArray
    notes: list[str]


def stored_skin(buffer: Buffer, surface: Surface) -> PageSurface:
    """Store the surface in a buffer."""
    rows, triangles, notes = thinned_surface(surface)
    x = surface.nodes[rows]
    centre, extent = 0.5 * (x.min(axis=0) + x.max(axis=0)), float(np.ptp(x, axis=0).max())
    vertices = buffer.steps(x, extent / 65000.0, offset=centre.tolist(), delta=True)
    return PageSurface(
        {"vertices": vertices, "triangles": buffer.add(triangles, "i4", delta=True)},
        rows,
        triangles,
        notes,
    )


def thinned_surface(surface: Surface) -> tuple[IntArray, IntArray, list[str]]:
    """Rows of the nodes on the triangles, and the triangles (T, 3) of these.

    A surface with many triangles is thinned to a subset of its nodes.
    """
    rows, triangles, cell = thinned(surface.nodes, surface.triangles, MOST_TRIANGLES)
    if not cell:
        return rows, triangles, []
    return (
        rows,
        triangles,
        [
            f"{len(triangles)} of {len(surface.triangles)} triangles, nodes in cells of "
            f"{cell:.2g} m joined"
        ],
    )


def has_triangles(surface: Surface | None) -> bool:
    """True if the surface has triangles to show."""
    return surface is not None and len(surface.triangles) > 0

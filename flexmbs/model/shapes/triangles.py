"""Closed surfaces of triangles: surfaces of revolution, orientation, integrals over their volume.

The corners of a triangle are in counterclockwise order, seen from outside.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.model.shapes.mass_properties import FloatArray, MassProperties

IntArray = NDArray[np.int64]
# volume relative to that of the enclosing box, below which a surface is flat: the volume then
# consists of the rounding errors of coordinates in single precision
FLAT = 1e-6


class Triangles(NamedTuple):
    """Points (n, 3) [m] and triangles (T, 3) of point rows."""

    points: FloatArray
    triangles: IntArray


class ClosedSurface(NamedTuple):
    """Closed surface, its normals outwards; ``turned``: number of triangles that were reversed."""

    points: FloatArray
    triangles: IntArray
    turned: int


def revolved(outline: FloatArray, sides: int, *, closed: bool = False) -> Triangles:
    """Surface of revolution about z of an outline (n, 2) of radius and height.

    The outline goes upwards on the outside; it starts and ends on the axis unless it is closed.
    """
    angle = 2.0 * np.pi * np.arange(sides) / sides
    around = np.stack([np.cos(angle), np.sin(angle), np.zeros(sides)], axis=1)
    points, rings, at = [], [], 0
    for radius, height in outline:
        ring = radius * around if radius > 0.0 else np.zeros((1, 3))
        points.append(ring + (0.0, 0.0, height))
        rings.append(at + np.arange(sides) % len(ring))
        at += len(ring)
    found = []
    for low, high in zip(rings, [*rings[1:], rings[0]] if closed else rings[1:]):
        beside_low, beside_high = np.roll(low, -1), np.roll(high, -1)
        found.append(np.stack([low, beside_low, beside_high], axis=1))
        found.append(np.stack([low, beside_high, high], axis=1))
    triangles = np.concatenate(found)
    a, b, c = triangles.T
    return Triangles(np.concatenate(points), triangles[(a != b) & (b != c) & (c != a)])


def closed_surface(points: FloatArray, triangles: IntArray) -> ClosedSurface:
    """Surface with its normals outwards.

    Triangles that are reversed relative to their neighbours are turned, and all of them if the
    volume is negative; surfaces of cavities keep their orientation if their triangles agree. Raises
    InputError for open surfaces, with the number of open edges, and for flat ones.
    """
    a, b, c = triangles.T
    own = triangles[(a != b) & (b != c) & (c != a)]
    start, end = own.ravel(), np.roll(own, -1, axis=1).ravel()
    low, high = np.minimum(start, end), np.maximum(start, end)
    edges, edge = np.unique(low * len(points) + high, return_inverse=True)
    open_edges = int((np.bincount(edge.ravel(), minlength=len(edges)) % 2).sum())
    if open_edges:
        raise InputError(
            f"is not closed, it has {open_edges} open edge{'s' if open_edges > 1 else ''}; close "
            "the surface, or give mass and inertia"
        )
    forward = (start < end).astype(float)
    if (np.bincount(edge.ravel(), 2.0 * forward - 1.0) != 0.0).any():
        own, turned = _oriented(points, own, edge.reshape(-1, 3), forward.reshape(-1, 3))
    else:
        turned = 0
    volume = _volume(points, own)
    extents = np.ptp(points[own.ravel()], axis=0) if len(own) else np.zeros(3)
    if abs(volume) <= FLAT * float(np.prod(extents)) or not volume:
        raise InputError("encloses no volume; correct the surface, or give mass and inertia")
    if volume < 0.0:
        own, turned = own[:, ::-1], len(own) - turned
    return ClosedSurface(points, np.ascontiguousarray(own), turned)


def _oriented(
    points: FloatArray, own: IntArray, edge: IntArray, forward: FloatArray
) -> tuple[IntArray, int]:
    """Triangles that agree with their neighbours, and the number of those that were turned.

    edge: numbers of the edges (T, 3); forward: 1 for edges from the lower to the higher point.
    """
    from scipy.sparse import coo_array  # a quarter of the time of the first import of flexmbs
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    order = np.argsort(edge.ravel(), kind="stable")
    shared = np.bincount(edge.ravel())
    pairs = order[np.repeat(shared == 2, shared)].reshape(-1, 2)
    first, second = pairs.T // 3
    opposite = forward.ravel()[pairs[:, 0]] == forward.ravel()[pairs[:, 1]]
    n = len(own)
    # weight 2: the two triangles disagree about their edge
    graph = coo_array((1.0 + opposite, (first, second)), shape=(n, n)).tocsr()
    graph = graph.maximum(graph.T)
    count, label = connected_components(graph, directed=False)
    flip = np.zeros(n, bool)
    for piece in range(count):
        walk, before = breadth_first_order(graph, int(np.argmax(label == piece)), directed=False)
        weights = np.asarray(graph[before[walk[1:]], walk[1:]]).ravel()
        for triangle, weight in zip(walk[1:], weights):
            flip[triangle] = flip[before[triangle]] ^ (weight > 1.5)
        inside = label == piece
        if flip[inside].any():  # keeps the orientation of pieces that agree, such as cavities
            fixed = np.where(flip[inside, None], own[inside][:, ::-1], own[inside])
            if _volume(points, fixed) < 0.0:
                flip[inside] = ~flip[inside]
    fixed = np.where(flip[:, None], own[:, ::-1], own)
    _require_orientable(fixed)
    return fixed, int(flip.sum())


def _require_orientable(triangles: IntArray) -> None:
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    size = int(triangles.max()) + 1
    _, edge = np.unique(np.minimum(start, end) * size + np.maximum(start, end), return_inverse=True)
    against = np.bincount(edge.ravel(), np.where(start < end, 1.0, -1.0)) != 0.0
    if against.any():
        raise InputError(
            f"has no inside, its triangles disagree at {int(against.sum())} edges in every "
            "orientation; correct the surface, or give mass and inertia"
        )


class Simplices(NamedTuple):
    """Corners (k, T, 3) [m] relative to an origin (3,), and measures (T,) of simplices.

    The tetrahedra have a further corner at the origin.
    """

    origin: FloatArray
    corners: FloatArray
    measure: FloatArray

    def moments(self, first: int, second: int) -> MassProperties:
        """Measure, centre and inertia for the density one.

        ∫x = Σ v s/first, ∫x xᵀ = Σ v (s sᵀ + Σ a aᵀ)/second with the sum s of the corners a.
        """
        v, corners = self.measure, self.corners
        total, s = float(v.sum()), corners.sum(axis=0)
        centre = v @ s / (first * total)
        products = (v * s.T) @ s + np.einsum("t,kti,ktj->ij", v, corners, corners)
        about = products / second - total * np.outer(centre, centre)
        return MassProperties(total, self.origin + centre, np.trace(about) * np.eye(3) - about)


def tetrahedra(points: FloatArray, triangles: IntArray, origin: FloatArray) -> Simplices:
    """Tetrahedra between the triangles and the origin, with signed volumes a·(b × c)/6."""
    corners = np.moveaxis(points[triangles] - origin, 1, 0)
    volumes = np.einsum("ti,ti->t", corners[0], np.cross(corners[1], corners[2])) / 6.0
    return Simplices(origin, corners, volumes)


def volume_integrals(points: FloatArray, triangles: IntArray) -> MassProperties:
    """Volume, centre and inertia of the inside of a closed surface, for the density one.

    By the divergence theorem the integral of a polynomial is the sum over the tetrahedra between
    the triangles a, b, c and a point: V = Σ v, v = a·(b × c)/6; ∫x dV = Σ v (a + b + c)/4;
    ∫x xᵀ dV = Σ v (s sᵀ + a aᵀ + b bᵀ + c cᵀ)/20 with s = a + b + c. Source: B. Mirtich, Fast and
    Accurate Computation of Polyhedral Mass Properties, Journal of Graphics Tools 1 (1996).
    """
    return tetrahedra(points, triangles, _middle(points, triangles)).moments(4, 20)


def _volume(points: FloatArray, triangles: IntArray) -> float:
    return float(tetrahedra(points, triangles, _middle(points, triangles)).measure.sum())


def _middle(points: FloatArray, triangles: IntArray) -> FloatArray:
    """Centre of the enclosing box; near it, round-off is relative to the size of the surface."""
    used = points[triangles.ravel()] if len(triangles) else np.zeros((1, 3))
    return np.asarray(0.5 * (used.min(axis=0) + used.max(axis=0)))

"""Geometry of CAD faces from points on them: plane, cylinder, cone or sphere.

Nodes of a mesh are on the surface up to the tolerance of the CAD file, so that the least-squares
surface of the right kind leaves round-off. Surfaces are recognized this way in all formats, also
where an exporter wrote them as splines. The axis of a cylinder or cone is found from the normals of
the triangles, then refined: normals n of a cylinder satisfy n · a = 0, those of a cone n · a =
const.

Source: Eberly, Least Squares Fitting of Data by Linear or Quadratic Structures (2021), sections 7
to 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
# of the size of the face: largest distance of a point from the fitted surface; CAD files have 1e-7
FITTED = 1e-5
# of the size of the face: largest radius; the sagitta of a larger one is the tolerance of a plane
FLAT = 1e4
NONE = np.zeros(3)
# smallest number of points: more than the parameters of a cone (6), so that a fit means something
POINTS = 8


class Surface(NamedTuple):
    """Surface of a kind: "plane", "cylinder", "cone", "sphere" or "other".

    point (3,): on a plane or axis, centre of a sphere, apex of a cone (m). axis (3,): unit normal
    of a plane, outwards; unit axis. radius: of a cylinder or sphere (m). angle: half the opening of
    a cone (rad). Zero where a kind has none.
    """

    kind: str
    point: Array = NONE
    axis: Array = NONE
    radius: float = 0.0
    angle: float = 0.0

    def radial(self, x: Array) -> Array:
        """Vectors (n, 3) to points from the axis, or from the centre of a sphere, m."""
        off = x - self.point
        return np.asarray(off - np.outer(off @ self.axis, self.axis))

    def distances(self, x: Array) -> Array:
        """Distances (n,) of points from it, m; infinite for "other"."""
        along = (x - self.point) @ self.axis
        radial = np.linalg.norm(self.radial(x), axis=1)
        match self.kind:
            case "plane":
                return np.abs(along)
            case "cylinder" | "sphere":
                return np.asarray(np.abs(radial - self.radius))
            case "cone":
                return np.abs(radial * math.cos(self.angle) - along * math.sin(self.angle))
        return np.full(len(x), math.inf)


OTHER = Surface("other")


def fitted_surface(x: Array, triangles: Indices) -> Surface:
    """Surface through the points x (n, 3), with triangles (m, 3) of some of them, outwards."""
    centre = x.mean(axis=0)
    size = float(np.linalg.norm(np.ptp(x, axis=0)))
    if size == 0.0:
        return OTHER
    local, limit = (x - centre) / size, FITTED  # distances relative to the size
    corners = local[triangles[:, :3]]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    middles = corners.mean(axis=1)
    flat = np.linalg.svd(local, full_matrices=False)[2][2]
    if np.abs(local @ flat).max() <= limit:
        sign = np.sign(normals.sum(axis=0) @ flat) or 1.0
        return Surface("plane", centre, sign * flat)
    if len(x) < POINTS:
        return OTHER
    for fit in (_cylinder, _cone, _sphere):
        found, distance = fit(local, normals, middles)
        if np.abs(distance).max() <= limit:
            return _placed(found, centre, size)
    return OTHER


def _placed(found: Surface, centre: Array, size: float) -> Surface:
    """Surface in m from one relative to the centre and size of the face."""
    point = centre + size * found.point
    return Surface(found.kind, point, found.axis, size * found.radius, found.angle)


def _sphere(x: Array, normals: Array, middles: Array) -> tuple[Surface, Array]:
    """Sphere of least squares through points, and the residuals (n,).

    |x − c| = r is solved as the linear problem 2 c · x + (r² − c²) = x².
    """
    A = np.column_stack([2.0 * x, np.ones(len(x))])
    c = np.linalg.lstsq(A, np.einsum("ij,ij->i", x, x), rcond=None)[0]
    radius = math.sqrt(max(c[3] + c[:3] @ c[:3], 0.0))
    if not 0.0 < radius < FLAT:
        return OTHER, np.array([math.inf])
    return Surface("sphere", c[:3], radius=radius), np.linalg.norm(x - c[:3], axis=1) - radius


def _cylinder(x: Array, normals: Array, middles: Array) -> tuple[Surface, Array]:
    """Cylinder of least squares through points, and the residuals (n,).

    |(x − c) × a| = r with the centre c in the plane through the origin across the axis a.
    """
    start = np.linalg.svd(normals, full_matrices=False)[2][2]
    across = across_axis(start)
    A = np.column_stack([2.0 * x @ across.T, np.ones(len(x))])
    flat = x @ across.T
    c = np.linalg.lstsq(A, np.einsum("ij,ij->i", flat, flat), rcond=None)[0]
    radius = math.sqrt(max(c[2] + c[:2] @ c[:2], 0.0))

    def distance(p: Array) -> Array:
        """Signed distances (n,) of the points from the cylinder of the parameters p."""
        axis = _turned(start, across, p[:2])
        off = x - p[2:4] @ across
        return np.asarray(np.linalg.norm(off - np.outer(off @ axis, axis), axis=1) - p[4])

    p, left = _least(distance, np.array([0.0, 0.0, *c[:2], radius]))
    if not 0.0 < p[4] < FLAT:
        return OTHER, np.array([math.inf])
    axis, point = _turned(start, across, p[:2]), p[2:4] @ across
    axis *= np.sign(axis[np.argmax(np.abs(axis))])  # the sign has no meaning
    return Surface("cylinder", point - (point @ axis) * axis, axis, float(p[4])), left


def _cone(x: Array, normals: Array, middles: Array) -> tuple[Surface, Array]:
    """Cone of least squares through points, and the residuals (n,).

    |(x − c) × a| cos α = (x − c) · a sin α with the apex c, which is on all tangent planes.
    """
    unit = normals / np.linalg.norm(normals, axis=1)[:, None]
    apex = np.linalg.lstsq(unit, np.einsum("ij,ij->i", unit, middles), rcond=None)[0]
    lines = x - apex
    lines /= np.maximum(np.linalg.norm(lines, axis=1), np.finfo(float).tiny)[:, None]
    start = np.linalg.svd(lines - lines.mean(axis=0), full_matrices=False)[2][2]
    start *= np.sign(lines.mean(axis=0) @ start) or 1.0
    across = across_axis(start)

    def distance(p: Array) -> Array:
        """Signed distances (n,) of the points from the cone of the parameters p."""
        axis = _turned(start, across, p[:2])
        off = x - p[2:5]
        along = off @ axis
        radial = np.linalg.norm(off - np.outer(along, axis), axis=1)
        return np.asarray(radial * math.cos(p[5]) - along * math.sin(p[5]))

    angle = math.acos(float(np.clip((lines @ start).mean(), -1.0, 1.0)))
    p, left = _least(distance, np.array([0.0, 0.0, *apex, angle]))
    if np.linalg.norm(p[2:5]) > FLAT:
        return OTHER, np.array([math.inf])
    axis = _turned(start, across, p[:2]) * math.copysign(1.0, p[5])
    return Surface("cone", p[2:5], axis, angle=abs(float(p[5]))), left


def _least(distance: Callable[[Array], Array], start: Array) -> tuple[Array, Array]:
    """Parameters and residuals of a Levenberg-Marquardt fit."""
    found = scipy.optimize.least_squares(distance, start, method="lm", xtol=1e-15, ftol=1e-15)
    return found.x, found.fun


def across_axis(axis: Array) -> Array:
    """Two unit vectors (2, 3) perpendicular to a unit vector and to each other."""
    first = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(axis, first)])


def _turned(axis: Array, across: Array, tilt: Array) -> Array:
    """Unit vector of the axis plus tilts along two directions across it."""
    turned = axis + tilt @ across
    return np.asarray(turned / np.linalg.norm(turned))

"""Inertia of mesh geoms: exact, of the convex hull, of the surface, or as MuJoCo does by default.

Source: MuJoCo documentation, XML reference (asset/mesh/inertia); the default "legacy" was
compared with MuJoCo 4.0.
"""

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from flexmbs.errors import InputError
from flexmbs.model.shapes import MeshShape
from flexmbs.model.shapes.mass_properties import FloatArray, MassProperties
from flexmbs.model.shapes.triangles import (
    Simplices,
    Triangles,
    closed_surface,
    tetrahedra,
    volume_integrals,
)

MODES = ("legacy", "exact", "convex", "shell")


def mesh_properties(shape: MeshShape, mode: str) -> MassProperties:
    """Volume (for "shell" area), centre and inertia of the density one, in the axes of the mesh.

    Raises InputError.
    """
    if mode == "exact":
        return shape.volume()
    mesh = shape.triangles()
    if mode == "convex":
        return _of_hull(mesh.points)
    found = _of_shell(mesh) if mode == "shell" else _of_pyramids(mesh)
    if not found.mass > 0.0:
        raise InputError(f"'{shape.file}' encloses no volume; correct the surface")
    return found


def _of_hull(points: FloatArray) -> MassProperties:
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        raise InputError("has no convex hull with a volume; correct the surface") from None
    surface = closed_surface(points, hull.simplices.astype(np.int64))
    return volume_integrals(surface.points, surface.triangles)


def _surface(mesh: Triangles) -> Simplices:
    """Triangles with their areas."""
    tips = mesh.points[mesh.triangles]
    sides = np.cross(tips[:, 1] - tips[:, 0], tips[:, 2] - tips[:, 0])
    areas = 0.5 * np.linalg.norm(sides, axis=1)
    return Simplices(np.zeros(3), np.moveaxis(tips, 1, 0), areas)


def _of_shell(mesh: Triangles) -> MassProperties:
    """Area, centre and inertia of a surface: ∫x xᵀ dA = Σ A (s sᵀ + a aᵀ + b bᵀ + c cᵀ)/12."""
    surface = _surface(mesh)
    if not surface.measure.sum():
        return MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))
    return surface.moments(3, 12)


def _of_pyramids(mesh: Triangles) -> MassProperties:
    """Sum of the pyramids on the triangles, whose volumes all count as positive.

    Their apex is the centre of the surface for the centre of mass, and then that centre for volume
    and inertia. It is exact for convex bodies and too large for others.
    """
    shell = _of_shell(mesh)
    if not shell.mass:
        return shell
    first = _pyramids(mesh, shell.com)
    if not first.measure.sum():
        return shell._replace(mass=0.0)
    com = first.moments(4, 20).com
    found = _pyramids(mesh, com).moments(4, 20)
    # about `com`: the centre of the second set of pyramids differs from it
    d = found.com - com
    moved = found.inertia + found.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return MassProperties(found.mass, com, moved)


def _pyramids(mesh: Triangles, apex: FloatArray) -> Simplices:
    found = tetrahedra(mesh.points, mesh.triangles, apex)
    return found._replace(measure=np.abs(found.measure))

"""Shapes with closed forms of volume and inertia.

Moments are about the centre of a shape, for the density one. Source: any table of mechanics, e.g.
Beer, Johnston, Vector Mechanics for Engineers: Dynamics, appendix.
"""

import dataclasses
import math
from typing import Annotated, Any

import numpy as np
from pydantic import model_validator

from flexmbs.declaration import NestedError
from flexmbs.model.shapes.mass_properties import MassProperties
from flexmbs.model.shapes.shape import SIDES, Dimension, OptionalDimension, Shape, dimensions
from flexmbs.model.shapes.triangles import Triangles, revolved


def _centred(volume: float, xx: float, yy: float, zz: float) -> MassProperties:
    """Properties of a shape with its centre at the origin; moments per volume [m²]."""
    return MassProperties(volume, np.zeros(3), volume * np.diag([xx, yy, zz]))


def _tube(outer: float, inner: float, length: float) -> MassProperties:
    volume = math.pi * (outer - inner) * (outer + inner) * length
    squares = outer * outer + inner * inner
    across = squares / 4.0 + length * length / 12.0
    return _centred(volume, across, across, squares / 2.0)


class Box(Shape, kind="box"):
    """Box with its centre at the origin of the shape.

    Parameters
    ----------
    size : 3 lengths [m]
        Lengths of the edges along x, y, z.

    Examples
    --------
    >>> import flexmbs as fm
    >>> plank = fm.RigidBody("plank", shapes=[fm.Box((1.0, 0.2, 0.1))], density=500.0)
    >>> mass, com, inertia = plank.mass_properties
    >>> round(mass, 6), inertia.diagonal().round(6).tolist()  # ρ a b c, m (b² + c²)/12
    (10.0, [0.041667, 0.841667, 0.866667])
    """

    size: Annotated[Any, dimensions(3)] = dataclasses.field(kw_only=False)

    def volume(self) -> MassProperties:
        a, b, c = self.size
        return _centred(
            a * b * c,
            (b * b + c * c) / 12.0,
            (c * c + a * a) / 12.0,
            (a * a + b * b) / 12.0,
        )

    def triangles(self, sides: int = SIDES) -> Triangles:
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        halves = [corner for a, b, c, d in faces for corner in ((a, b, c), (a, c, d))]
        return Triangles(0.5 * corners * np.array(self.size), np.array(halves))


def _frustum(base: float, top: float, length: float) -> MassProperties:
    """Circular frustum from z = −length/2 to length/2."""
    area = base * base + base * top + top * top
    volume = math.pi * length * area / 3.0
    height = length * (base * base + 2.0 * base * top + 3.0 * top * top) / (4.0 * area)
    second = length * length * (base * base + 3.0 * base * top + 6.0 * top * top) / (10.0 * area)
    fourth = base**4 + base**3 * top + (base * top) ** 2 + base * top**3 + top**4
    along = 0.3 * fourth / area
    across = 0.5 * along + second - height * height
    com = np.array([0.0, 0.0, height - 0.5 * length])
    return MassProperties(volume, com, volume * np.diag([across, across, along]))


class Cylinder(Shape, kind="cylinder"):
    """Circular cylinder along z with its centre at the origin of the shape.

    Parameters
    ----------
    radius : float [m]
        Radius.
    length : float [m]
        Length along z.

    Examples
    --------
    >>> import flexmbs as fm
    >>> disc = fm.RigidBody("disc", shapes=[fm.Cylinder(0.5, 0.1)], density=1000.0)
    >>> mass, _, inertia = disc.mass_properties
    >>> (inertia / mass)[2, 2].round(6).item()  # r²/2
    0.125
    """

    radius: Dimension = dataclasses.field(kw_only=False)
    length: Dimension = dataclasses.field(kw_only=False)

    def volume(self) -> MassProperties:
        return _tube(self.radius, 0.0, self.length)

    def triangles(self, sides: int = SIDES) -> Triangles:
        return _frustum_triangles(self.radius, self.radius, self.length, sides)


def _frustum_triangles(base: float, top: float, length: float, sides: int) -> Triangles:
    half = 0.5 * length
    ends = [(0.0, -half), (base, -half), (top, half), (0.0, half)]
    return revolved(np.array(ends if top else ends[:3]), sides)


class Cone(Shape, kind="cone"):
    """Circular cone or frustum along z, with the origin of the shape at half its height.

    Parameters
    ----------
    radius : float [m]
        Radius at z = −length/2.
    length : float [m]
        Height along z.
    top_radius : float [m]
        Radius at z = length/2; zero for a cone.

    Examples
    --------
    >>> import flexmbs as fm
    >>> cone = fm.RigidBody("cone", shapes=[fm.Cone(0.1, 0.4)], density=1000.0)
    >>> cone.mass_properties.com.round(6).tolist()  # h/4 above the base
    [0.0, 0.0, -0.1]
    """

    radius: Dimension = dataclasses.field(kw_only=False)
    length: Dimension = dataclasses.field(kw_only=False)
    top_radius: OptionalDimension = 0.0

    def volume(self) -> MassProperties:
        return _frustum(self.radius, self.top_radius, self.length)

    def triangles(self, sides: int = SIDES) -> Triangles:
        return _frustum_triangles(self.radius, self.top_radius, self.length, sides)


class Tube(Shape, kind="tube"):
    """Circular tube along z with its centre at the origin of the shape.

    Parameters
    ----------
    outer : float [m]
        Outer radius.
    inner : float [m]
        Inner radius, smaller than the outer one.
    length : float [m]
        Length along z.

    Examples
    --------
    >>> import flexmbs as fm
    >>> pipe = fm.RigidBody("pipe", shapes=[fm.Tube(0.05, 0.04, 1.0)], density=7850.0)
    >>> mass, _, inertia = pipe.mass_properties
    >>> (inertia / mass)[2, 2].round(6).item()  # (r_o² + r_i²)/2
    0.00205
    """

    outer: Dimension = dataclasses.field(kw_only=False)
    inner: Dimension = dataclasses.field(kw_only=False)
    length: Dimension = dataclasses.field(kw_only=False)

    @model_validator(mode="after")
    def _hollow(self) -> "Tube":
        if self.inner >= self.outer:
            raise NestedError.at(
                ("inner",),
                f"must be smaller than the outer radius {self.outer:g}, not {self.inner:g}",
            )
        return self

    def volume(self) -> MassProperties:
        return _tube(self.outer, self.inner, self.length)

    def triangles(self, sides: int = SIDES) -> Triangles:
        half = 0.5 * self.length
        outline = [(self.outer, -half), (self.outer, half), (self.inner, half), (self.inner, -half)]
        return revolved(np.array(outline), sides, closed=True)


class Sphere(Shape, kind="sphere"):
    """Sphere with its centre at the origin of the shape.

    Parameters
    ----------
    radius : float [m]
        Radius.

    Examples
    --------
    >>> import flexmbs as fm
    >>> ball = fm.RigidBody("ball", shapes=[fm.Sphere(0.1)], density=1000.0)
    >>> mass, _, inertia = ball.mass_properties
    >>> (inertia / mass)[0, 0].round(6).item()  # 2 r²/5
    0.004
    """

    radius: Dimension = dataclasses.field(kw_only=False)

    def volume(self) -> MassProperties:
        return _ellipsoid(self.radius, self.radius, self.radius)

    def triangles(self, sides: int = SIDES) -> Triangles:
        return _globe(0.0, sides, self.radius)


def _ellipsoid(a: float, b: float, c: float) -> MassProperties:
    return _centred(
        4.0 / 3.0 * math.pi * a * b * c,
        (b * b + c * c) / 5.0,
        (c * c + a * a) / 5.0,
        (a * a + b * b) / 5.0,
    )


def _globe(length: float, sides: int, radius: float) -> Triangles:
    """Sphere, its halves apart by a length along z."""
    u = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 2 * (sides // 4) + 1)
    half = len(u) // 2
    if length:
        u = np.insert(u, half, u[half])
    ends = np.where(np.arange(len(u)) < 0.5 * len(u), -0.5 * length, 0.5 * length)
    outline = np.stack([radius * np.cos(u), ends + radius * np.sin(u)], axis=1)
    outline[[0, -1], 0] = 0.0
    return revolved(outline, sides)


class Ellipsoid(Shape, kind="ellipsoid"):
    """Ellipsoid with its centre at the origin of the shape.

    Parameters
    ----------
    radii : 3 lengths [m]
        Half axes along x, y, z.

    Examples
    --------
    >>> import flexmbs as fm
    >>> egg = fm.RigidBody("egg", shapes=[fm.Ellipsoid((0.3, 0.2, 0.1))], density=1000.0)
    >>> mass, _, inertia = egg.mass_properties
    >>> (inertia.diagonal() / mass).round(6).tolist()  # (b² + c²)/5
    [0.01, 0.02, 0.026]
    """

    radii: Annotated[Any, dimensions(3)] = dataclasses.field(kw_only=False)

    def volume(self) -> MassProperties:
        return _ellipsoid(*self.radii)

    def triangles(self, sides: int = SIDES) -> Triangles:
        points, triangles = _globe(0.0, sides, 1.0)
        return Triangles(points * np.array(self.radii), triangles)


class Capsule(Shape, kind="capsule"):
    """Cylinder along z with half spheres at its ends, its centre at the origin of the shape.

    Parameters
    ----------
    radius : float [m]
        Radius.
    length : float [m]
        Length of the cylinder along z, without the half spheres.

    Examples
    --------
    >>> import flexmbs as fm
    >>> link = fm.RigidBody("link", shapes=[fm.Capsule(0.1, 0.3)], density=1000.0)
    >>> round(link.mass_properties.mass, 6)  # ρ (π r² l + 4 π r³/3)
    13.613568
    """

    radius: Dimension = dataclasses.field(kw_only=False)
    length: Dimension = dataclasses.field(kw_only=False)

    def volume(self) -> MassProperties:
        r, l = self.radius, self.length
        rod, ball = _tube(r, 0.0, l), _ellipsoid(r, r, r)
        # a half sphere has its centre 3 r/8 from the base
        apart = ball.mass * l * (3.0 * r + 2.0 * l) / 8.0
        return MassProperties(
            rod.mass + ball.mass,
            np.zeros(3),
            rod.inertia + ball.inertia + np.diag([apart, apart, 0.0]),
        )

    def triangles(self, sides: int = SIDES) -> Triangles:
        return _globe(self.length, sides, self.radius)


class Plane(Shape, kind="plane"):
    """Rectangle in the plane z = 0 of the shape, without volume and mass.

    Parameters
    ----------
    size : 2 lengths [m]
        Lengths of the edges along x and y.

    Examples
    --------
    >>> import flexmbs as fm
    >>> floor = fm.Plane((4.0, 4.0), colour=(0.8, 0.8, 0.8))
    >>> model = fm.Model("room", shapes=[floor])
    >>> model.shapes[0].size
    (4.0, 4.0)
    """

    solid = False

    size: Annotated[Any, dimensions(2)] = dataclasses.field(kw_only=False)

    def volume(self) -> MassProperties:
        return MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))

    def triangles(self, sides: int = SIDES) -> Triangles:
        x, y = 0.5 * self.size[0], 0.5 * self.size[1]
        corners = np.array([[-x, -y, 0.0], [x, -y, 0.0], [x, y, 0.0], [-x, y, 0.0]])
        return Triangles(corners, np.array([[0, 1, 2], [0, 2, 3]]))

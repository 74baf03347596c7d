"""Inertia of bodies from <inertial> or from their geoms.

Sources: MuJoCo documentation, XML reference (body/inertial, body/geom, compiler); closed-form
moments of solids.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexmbs.declaration import shown
from flexmbs.robots.mjcf.values import (
    Compiler,
    ElementValues,
    RigidPose,
    pose_of,
    rotation_of,
    turned_z,
)

MASSLESS = ("plane", "hfield", "sdf")
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
LEAST = 1e-15  # kg: a lighter geom or body counts as massless


class MassProperties(NamedTuple):
    """Mass (kg), centre of mass (m), inertia about it (kg m²) in body axes."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray


def explicit(given: ElementValues, compiler: Compiler) -> MassProperties:
    """Inertia given by an <inertial> element."""
    mass, com = given.number("mass", 0.0), given.vector("pos")
    if "fullinertia" in given:
        xx, yy, zz, xy, xz, yz = given.numbers("fullinertia", (0.0,) * 6)
        R, J = np.eye(3), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    else:
        R, J = rotation_of(given, compiler), np.diag(given.numbers("diaginertia", (0.0,) * 3))
    if mass < 0.0 or "mass" not in given:
        given.problem(
            f"mass: must be >= 0, not {mass:g}" if "mass" in given else "mass: is missing"
        )
    return MassProperties(mass, com, R @ J @ R.T)


def of_geom(given: ElementValues, compiler: Compiler, frame: RigidPose) -> MassProperties | None:
    """Inertia of a geom; None for one without mass or with an unknown shape."""
    kind = given.text("type", "mesh" if "mesh" in given else "sphere")
    mass, density = given.number("mass", -1.0), given.number("density", 1000.0)
    group = int(given.number("group", 0.0))
    weightless = mass == 0.0 if "mass" in given else density == 0.0
    if weightless or kind in MASSLESS or not compiler.groups[0] <= group <= compiler.groups[1]:
        return None
    if kind not in SIZES or "mesh" in given:
        given.problem(
            f"type: inertia of a {shown(kind)} geom is not computed from its mesh; give the "
            "body <inertial>, or the geom mass 0"
        )
        return None
    if given.switch("shellinertia", False):
        given.problem("shellinertia: inertia of shells is not computed; give the body <inertial>")
        return None
    size, pose = size_and_pose(given, kind, compiler)
    needed = SIZES[kind]
    if min(size[:needed]) <= 0.0:
        given.problem(
            f"size: a {kind} needs {needed} number{'s' if needed > 1 else ''} > 0, not "
            f"{shown(given.text('size'))}"
        )
        return None
    pose = frame.then(pose)
    volume, moments = _moments(kind, size)
    m = mass if "mass" in given else density * volume
    return MassProperties(m, pose.o, pose.R @ np.diag(m * moments) @ pose.R.T)


def size_and_pose(
    given: ElementValues, kind: str, compiler: Compiler
) -> tuple[np.ndarray, RigidPose]:
    """Radii and half lengths of a geom, as required by its type, and its pose."""
    size = given.numbers("size", (0.0, 0.0, 0.0), 1)
    if "fromto" not in given:
        return size, pose_of(given, compiler)
    first, last = np.split(given.numbers("fromto", (0.0,) * 6), 2)
    length = float(np.linalg.norm(first - last))
    if length < LEAST or kind == "sphere":
        given.problem(
            f"fromto: needs two points, and a capsule, cylinder, ellipsoid or box, not a {kind}"
        )
        return size, RigidPose(np.eye(3), first)
    half = 0.5 * length
    size = (
        np.array([size[0], half, 0.0]) if SIZES[kind] == 2 else np.array([size[0], size[0], half])
    )
    return size, RigidPose(turned_z(first - last), 0.5 * (first + last))


def _moments(kind: str, size: np.ndarray) -> tuple[float, np.ndarray]:
    """Volume and moments of inertia per mass about the centre (3,)."""
    if kind == "sphere":
        r = size[0]
        return 4.0 / 3.0 * math.pi * r**3, np.full(3, 0.4 * r * r)
    if kind == "ellipsoid":
        squares = size**2
        return 4.0 / 3.0 * math.pi * float(np.prod(size)), 0.2 * (squares.sum() - squares)
    if kind == "box":
        squares = size**2
        return 8.0 * float(np.prod(size)), (squares.sum() - squares) / 3.0
    r, h = size[0], 2.0 * size[1]
    tube, across, along = math.pi * r * r * h, (3.0 * r * r + h * h) / 12.0, 0.5 * r * r
    if kind == "cylinder":
        return tube, np.array([across, across, along])
    ends = 4.0 / 3.0 * math.pi * r**3  # both hemispheres
    share = ends / (tube + ends)
    cap = 0.4 * r * r
    across = (1.0 - share) * across + share * (cap + h * (3.0 * r + 2.0 * h) / 8.0)
    along = (1.0 - share) * along + share * cap
    return tube + ends, np.array([across, across, along])


def joined(lumps: Sequence[MassProperties]) -> MassProperties | None:
    """Combined inertia of several lumps; None without mass."""
    mass = sum(lump.mass for lump in lumps)
    if mass < LEAST:
        return None
    com = sum((lump.mass * lump.com for lump in lumps), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for lump in lumps:
        d = lump.com - com
        inertia += lump.inertia + lump.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return MassProperties(mass, com, inertia)


def bounded(lump: MassProperties, compiler: Compiler) -> MassProperties:
    """Inertia raised to the minimum mass and moments and made physically possible.

    As requested by the <compiler> options.
    """
    mass = max(lump.mass, compiler.least_mass)
    moments, axes = np.linalg.eigh(lump.inertia)
    raised = np.maximum(moments, compiler.least_inertia)
    if compiler.balance and raised[0] + raised[1] < raised[2]:
        raised = np.full(3, raised.mean())
    if (raised == moments).all():
        return MassProperties(mass, lump.com, lump.inertia)
    return MassProperties(mass, lump.com, axes @ np.diag(raised) @ axes.T)

"""Inertia of bodies from <inertial> or from their geoms.

Sources: MuJoCo documentation, XML reference (body/inertial, body/geom, compiler); closed-form
moments of solids.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.model.shapes import MeshShape, Shape
from flexmbs.model.shapes.mass_properties import MassProperties
from flexmbs.robots.mjcf.mesh_inertia import mesh_properties
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


class MeshAsset(NamedTuple):
    """Mesh of a file: arguments of its `MeshShape`, its pose in the axes of the geom, the mode of
    its inertia, and the reason why it cannot be read."""

    values: dict[str, Any]
    pose: RigidPose
    inertia: str
    problem: str = ""


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


def of_geom(
    given: ElementValues, compiler: Compiler, frame: RigidPose, meshes: Mapping[str, MeshAsset]
) -> MassProperties | None:
    """Inertia of a geom; None for one without mass or with an unknown shape."""
    kind = kind_of(given)
    group = int(given.number("group", 0.0))
    weightless = (
        given.number("mass", -1.0) == 0.0
        if "mass" in given
        else given.number("density", 1000.0) == 0.0
    )
    if weightless or kind in MASSLESS or not compiler.groups[0] <= group <= compiler.groups[1]:
        return None
    if kind != "mesh" and (kind not in SIZES or "mesh" in given):
        given.problem(
            f"type: inertia of a {shown(kind)} geom is not computed from its mesh; give the "
            "body <inertial>, or the geom mass 0"
        )
        return None
    if given.switch("shellinertia", False):
        given.problem("shellinertia: inertia of shells is not computed; give the body <inertial>")
        return None
    try:
        if kind == "mesh":
            own, pose = _of_mesh(given, compiler, meshes)
        else:
            size, pose = size_and_pose(given, kind, compiler)
            own = Shape.kinds[kind](**values_of(kind, size)).volume()  # type: ignore[attr-defined]
    except InputError as error:
        given.problem(str(error))
        return None
    pose = frame.then(pose)
    m = given.number("mass", 0.0) if "mass" in given else given.number("density", 1e3) * own.mass
    return own.scaled(m / own.mass).placed(pose.R, pose.o)


def kind_of(given: ElementValues) -> str:
    """Type of a geom; one with a mesh but another type is a primitive fitted to the mesh."""
    return given.text("type", "sphere")


def _of_mesh(
    given: ElementValues, compiler: Compiler, meshes: Mapping[str, MeshAsset]
) -> tuple[MassProperties, RigidPose]:
    """Properties of the density one in the axes of the mesh, and its pose. Raises InputError."""
    name, remedy = given.text("mesh"), "give the body <inertial>, or the geom mass 0"
    asset = meshes.get(name)
    if asset is None:
        raise InputError(f"mesh: {shown(name)} is not a mesh of a file; {remedy}")
    try:
        if asset.problem:
            raise InputError(asset.problem)
        own = mesh_properties(MeshShape(**asset.values), asset.inertia)
    except (InputError, OSError) as error:
        raise InputError(f"mesh: {shown(name)}: {error}; {remedy}") from None
    return own, pose_of(given, compiler).then(asset.pose)


def values_of(kind: str, size: np.ndarray) -> dict[str, Any]:
    """Arguments of a `Shape` from the radii and half lengths of a geom. Raises InputError."""
    needed = SIZES[kind]
    if min(size[:needed]) <= 0.0:
        raise InputError(
            f"size: a {kind} needs {needed} number{'s' if needed > 1 else ''} > 0, not "
            f"{shown(size[:needed].tolist())}"
        )
    if kind == "box":
        return {"size": 2.0 * size}
    if kind == "ellipsoid":
        return {"radii": size}
    return {"radius": size[0]} | ({} if kind == "sphere" else {"length": 2.0 * size[1]})


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

"""Flexible bodies of the parts of an assembly, with interfaces at the faces of its joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.declaration import require_known, shown
from flexmbs.errors import InputError
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.model.frames import Frame
from flexmbs.robots.flexible import FlexibleLink
from preprocess.body.build import reduce
from preprocess.cad.faces import Face
from preprocess.cad.mesh_cad import mesh_cad
from preprocess.cad.selectors import selector
from preprocess.fe.interfaces import Averaged
from preprocess.mesh.mesh import Mesh

if TYPE_CHECKING:
    from flexmbs.cad.assembly import Assembly

OF_MESH = ("size", "sizes", "order", "curvature", "grading")  # options of `mesh_cad`


def flexible_parts(assembly: Assembly, flexible: Any) -> dict[str, FlexibleLink]:
    """Flexible links by name of the body. Raises InputError."""
    if flexible is None:
        return {}
    given: Mapping[str, Any]
    if isinstance(flexible, Mapping):
        given = flexible
    elif isinstance(flexible, str):
        given = {flexible: {}}
    elif isinstance(flexible, Iterable):
        given = {name: {} for name in flexible}
    else:
        raise InputError(f"flexible: must be names of bodies, or a mapping, not {shown(flexible)}")
    names = [body.name for body in assembly.source.bodies]
    for name in given:
        require_known(name, names, f"flexible: body {shown(name)} is not in the assembly")
    made = {}
    for name, each in given.items():
        if isinstance(each, FlexibleLink):
            made[name] = each
        elif isinstance(each, Mapping):
            made[name] = _reduced(assembly, name, each)
        else:
            made[name] = FlexibleLink(each, offset=_size(assembly, name))
    return made


def _size(assembly: Assembly, name: str) -> float:
    """Diagonal of a part: joints are connected rigidly with interfaces elsewhere on their faces."""
    part = assembly.source.parts[next(b.part for b in assembly.source.bodies if b.name == name)]
    return float(np.linalg.norm(np.ptp(part.nodes, axis=0))) if len(part.nodes) else 0.0


def _reduced(assembly: Assembly, name: str, options: Mapping[str, Any]) -> FlexibleLink:
    """Reduced body of a part, meshed in its place in the assembly. Raises InputError."""
    own = next(body for body in assembly.source.bodies if body.name == name)
    material = assembly.materials[name]
    if isinstance(material, float):
        raise InputError(
            f"flexible: {name} has only a density, {material:g} kg/m³; give its material, by name "
            "such as 'S355' or as pp.Isotropic(...)"
        )
    if len(own.solids) != 1:
        raise InputError(
            f"flexible: {name} has {len(own.solids)} solids; unite them in the CAD program, or "
            "give the flexible body"
        )
    joints = {
        title: accepted.mate
        for title, accepted in assembly.accepted.items()
        if name in (accepted.mate.first, accepted.mate.second)
    }
    if not joints or name in assembly.ground:
        problem = "is fixed to the ground" if joints else "has no accepted joint"
        raise InputError(f"flexible: {name} {problem}; its interfaces are the faces of its joints")
    given = dict(options)
    meshing = {key: given.pop(key) for key in OF_MESH if key in given}
    mesh = mesh_cad(assembly.source.path, solid=own.solids[0], **meshing)
    interfaces = {}
    for title, mate in joints.items():
        numbers = mate.faces[0 if mate.first == name else 1]
        interfaces[title] = Averaged(_region(mesh.node_sets, mesh.nodes, numbers))
    given = {"reference": next(iter(joints)), "name": name} | given
    data = reduce(mesh, material, interfaces=interfaces, **given)
    pose = _pose(data, mesh, *assembly.pose(name))
    return FlexibleLink(data, pose=pose, offset=_size(assembly, name))


def _pose(data: FlexibleBodyData, mesh: Mesh, rotation: np.ndarray, position: np.ndarray) -> Frame:
    """Pose of the axes of a reduced body in those of its part, from the nodes of both.

    The reference of the reduction has moved the origin. Source: Arun, Huang and Blostein, IEEE
    Transactions on Pattern Analysis and Machine Intelligence 9 (1987) 698.
    """
    assert data.surface is not None
    order = np.argsort(mesh.node_ids)
    rows = order[np.searchsorted(mesh.node_ids, data.surface.node_ids, sorter=order)]
    own, wanted = data.surface.nodes, (mesh.nodes[rows] - position) @ rotation
    middle, goal = own.mean(axis=0), wanted.mean(axis=0)
    left, _, right = np.linalg.svd((wanted - goal).T @ (own - middle))
    A = left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right
    return Frame(tuple(goal - A @ middle), rotation=A.tolist())


def _region(sets: Any, nodes: np.ndarray, numbers: tuple[int, ...]) -> Face:
    """Largest of some faces of a mesh, with the others of the same surface that touch it."""
    faces = [face for face in sets.faces if face.number in numbers]
    return selector(max(faces, key=lambda face: face.area), sets.faces, nodes)

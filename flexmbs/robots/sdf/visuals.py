"""Visuals of the links of an SDF file: shapes, mesh files, materials.

Planes and other geometries are left out.

Source: SDFormat specification 1.12, <visual>, <geometry>, <material>.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from flexmbs.files.xml_tree import XmlElement
from flexmbs.model.frames import Frame
from flexmbs.robots.mjcf.values import RigidPose
from flexmbs.robots.sdf.scopes import Scope, SdfPoses, SdfReader
from flexmbs.robots.visual_elements import Visual, visual_of

ONE = (1.0, 1.0, 1.0)
# elements of each shape, with their default values
SIZES: dict[str, dict[str, tuple[float, ...]]] = {
    "box": {"size": ONE},
    "sphere": {"radius": (1.0,)},
    "ellipsoid": {"radii": ONE},
    "cylinder": {"radius": (1.0,), "length": (1.0,)},
    "capsule": {"radius": (0.5,), "length": (1.0,)},
}


def visuals_of(
    reader: SdfReader, poses: SdfPoses, scope: Scope, name: str, link: RigidPose
) -> Iterator[Visual]:
    """Visuals of a link, with its full name and its pose in the world."""
    for element in scope.links[name.rpartition("::")[2]].all("visual"):
        geometry = element.first("geometry")
        for shape in [] if geometry is None else geometry.children:
            place, colour = _place(reader, poses, scope, element, link), _colour(reader, element)
            values = _values(reader, shape)
            if values and (
                visual := visual_of(name, shape.tag, values, place, colour, reader.report.note)
            ):
                yield visual


def _values(reader: SdfReader, shape: XmlElement) -> dict[str, Any]:
    """Values of a shape from the children of an element; empty if it is not shown."""
    uri = shape.first("uri")
    if shape.tag == "mesh" and uri is not None and shape.first("submesh") is None:
        try:
            file = reader.reach.path(uri.text, shape.path.parent)
        except ValueError as error:
            reader.report.note(f"mesh {error}")
            return {}
        return {"file": file, "scale": _numbers(reader, shape, "scale", ONE)}
    found = {
        tag: _numbers(reader, shape, tag, default)
        for tag, default in SIZES.get(shape.tag, {}).items()
    }
    return {key: each[0] if len(each) == 1 else each for key, each in found.items()}


def _numbers(
    reader: SdfReader, element: XmlElement, tag: str, default: tuple[float, ...]
) -> tuple[float, ...]:
    """Numbers of a child element; the default if it is missing."""
    child = element.first(tag)
    return default if child is None else tuple(reader.vector(child, len(default)).tolist())


def _place(
    reader: SdfReader, poses: SdfPoses, scope: Scope, visual: XmlElement, link: RigidPose
) -> Frame:
    """Pose of a visual in its link; it may be given relative to another frame."""
    child = visual.first("pose")
    pose, base = (
        reader.pose(child),
        "" if child is None else child.attributes.get("relative_to", ""),
    )
    if base:
        world = poses.of(scope, base, visual).then(pose)
        pose = RigidPose(link.R.T @ world.R, link.R.T @ (world.o - link.o))
    return Frame(pose.o, pose.R)


def _colour(reader: SdfReader, visual: XmlElement) -> tuple[float, ...] | None:
    """Diffuse colour of the material, with the transparency of the visual."""
    material = visual.first("material")
    diffuse = None if material is None else material.first("diffuse")
    if diffuse is None:
        return None
    given = reader.vector(diffuse, 4 if len(diffuse.text.split()) == 4 else 3)
    red, green, blue, alpha = (*given, 1.0)[:4]
    return (
        red,
        green,
        blue,
        alpha * (1.0 - float(np.clip(reader.number(visual, "transparency", 0.0), 0.0, 1.0))),
    )

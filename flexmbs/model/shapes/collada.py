"""Triangles of COLLADA files (.dae).

Geometry of their scene in m, in the axes of the file, as in robot descriptions, and the colours of
its materials.

The unit of the file is applied, its <up_axis> is not: meshes of URDF files use the axes of their
link regardless of it. The opacity of an effect is A of its <transparent> times its <transparency>,
or one minus the transparency of the colour with opaque="RGB_ZERO". Some programs write the opposite
for solid materials, so an invisible result is replaced by an opaque one. Source: COLLADA 1.4.1
Specification, Khronos Group (2008).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.files.xml_tree import XmlElement, read_xml
from flexmbs.model.frames import axis_angle_matrix

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
# largest depth of nested nodes and number of nodes of a scene: bounds for damaged files
DEEPEST, MOST_NODES = 40, 20_000
FACES = ("triangles", "polylist", "polygons")
SHADERS = {"phong": "diffuse", "lambert": "diffuse", "blinn": "diffuse", "constant": "emission"}
LUMINANCE = np.array([0.212671, 0.715160, 0.072169])  # weights of red, green and blue
Colour = tuple[float, ...]  # red, green, blue, opacity, 0 to 1


class ColouredMesh(NamedTuple):
    """Faces of one colour: points (n, 3) [m], triangles (T, 3) of point rows, colour or None."""

    points: FloatArray
    triangles: IntArray
    colour: Colour | None


def read_collada(path: Path) -> list[ColouredMesh]:
    """Geometry of a file, one mesh per colour.

    Raises InputError for files without a scene of triangles or polygons, and for damaged ones.
    """
    root = read_xml(path)
    if root.tag != "COLLADA":
        raise InputError(f"{root.place}: the root element must be <COLLADA>")
    try:
        found = list(_Scene(root).meshes())
    except InputError as error:
        raise InputError(f"{path}: is damaged: {error}") from None
    except (LookupError, ValueError, ArithmeticError, RuntimeError):
        # RuntimeError: StopIteration in a generator
        raise InputError(f"{path}: is damaged; export it again") from None
    if not found:
        raise InputError(f"{path}: has no triangles or polygons in its scene")
    by_colour: dict[Colour | None, list[ColouredMesh]] = {}
    for piece in found:
        by_colour.setdefault(piece.colour, []).append(piece)
    return [_joined(pieces, _unit(root)) for pieces in by_colour.values()]


def _joined(pieces: list[ColouredMesh], unit: float) -> ColouredMesh:
    """One mesh of several ones, scaled to metres."""
    starts = np.cumsum([0, *(len(each.points) for each in pieces)])
    triangles = [each.triangles + start for each, start in zip(pieces, starts)]
    return ColouredMesh(
        unit * np.concatenate([each.points for each in pieces]),
        np.concatenate(triangles),
        pieces[0].colour,
    )


class _Scene:
    """Elements of a file by their names."""

    def __init__(self, root: XmlElement) -> None:
        self.root = root
        self.visited = 0
        self.named = {
            element.attributes["id"]: element
            for element in _descendants(root)
            if "id" in element.attributes
        }

    def meshes(self) -> Iterator[ColouredMesh]:
        """Faces of each geometry in the scene, through its nodes.

        Of all geometries in a file without a scene.
        """
        scene = self.root.first("scene")
        instance = scene.first("instance_visual_scene") if scene else None
        if instance is None:
            for library in self.root.all("library_geometries"):
                for geometry in library.all("geometry"):
                    yield from self._geometry(geometry, np.eye(4), {})
            return
        for node in self._of(instance).all("node"):
            yield from self._node(node, np.eye(4), 0)

    def _of(self, element: XmlElement, key: str = "url") -> XmlElement:
        """Element to which an attribute refers."""
        return self.named[element.attributes[key].removeprefix("#")]

    def _node(self, node: XmlElement, outer: FloatArray, depth: int) -> Iterator[ColouredMesh]:
        """Coloured meshes of a node and its children, transformed to the scene."""
        self.visited += 1
        if depth > DEEPEST or self.visited > MOST_NODES:
            raise InputError("nodes that contain themselves")
        T = outer
        for child in node.children:
            T = T @ _transform(child)
        for child in node.children:
            if child.tag == "instance_geometry":
                bound = [each for each in _descendants(child) if each.tag == "instance_material"]
                yield from self._geometry(
                    self._of(child),
                    T,
                    {each.attributes["symbol"]: each.attributes["target"] for each in bound},
                )
            elif child.tag in ("node", "instance_node"):
                yield from self._node(
                    child if child.tag == "node" else self._of(child), T, depth + 1
                )

    def _geometry(
        self, geometry: XmlElement, T: FloatArray, bound: dict[str, str]
    ) -> Iterator[ColouredMesh]:
        """Faces of a geometry. ``bound``: materials by the names that the faces use for them."""
        for mesh in geometry.all("mesh"):
            for faces in (each for tag in FACES for each in mesh.all(tag)):
                points, triangles = self._points(faces), _triangles(faces)
                if len(triangles):
                    if not 0 <= triangles.min() <= triangles.max() < len(points):
                        raise InputError("faces refer to missing points")
                    turned = triangles if np.linalg.det(T[:3, :3]) >= 0.0 else triangles[:, ::-1]
                    symbol = faces.attributes.get("material", "")
                    yield ColouredMesh(
                        points @ T[:3, :3].T + T[:3, 3],
                        turned,
                        self._colour(bound.get(symbol, symbol)),
                    )

    def _colour(self, material: str) -> Colour | None:
        """Colour of a material; None if it has none, uses a texture or is not in the file."""
        found = self.named.get(material.removeprefix("#"))
        instance = found.first("instance_effect") if found else None
        effect = self.named.get(instance.attributes["url"].removeprefix("#")) if instance else None
        profile = effect.first("profile_COMMON") if effect else None
        technique = profile.first("technique") if profile else None
        if profile is None or technique is None:
            return None
        for shader in technique.children:
            colour = shader.first(SHADERS[shader.tag]) if shader.tag in SHADERS else None
            values = None if colour is None else _value(profile, colour, "color")
            if values is not None and len(values) >= 3:
                return (*np.clip(values[:3], 0.0, 1.0).round(3).tolist(), _opacity(profile, shader))
        return None

    def _points(self, faces: XmlElement) -> FloatArray:
        """Positions (n, 3) that the corners of the faces index."""
        vertices = self._of(
            next(each for each in faces.all("input") if each.attributes["semantic"] == "VERTEX"),
            "source",
        )
        source = self._of(
            next(
                each for each in vertices.all("input") if each.attributes["semantic"] == "POSITION"
            ),
            "source",
        )
        accessor = next(each for each in _descendants(source) if each.tag == "accessor")
        values = _numbers(self._of(accessor, "source"))
        start, stride = (
            int(accessor.attributes.get("offset", 0)),
            int(accessor.attributes.get("stride", 1)),
        )
        rows = values[start : start + stride * int(accessor.attributes["count"])].reshape(
            -1, stride
        )
        if not np.isfinite(rows).all():
            raise InputError("points with non-finite coordinates")
        return np.asarray(rows[:, :3])


def _opacity(profile: XmlElement, shader: XmlElement) -> float:
    """Opacity of an effect, 0 to 1."""
    transparent, transparency = shader.first("transparent"), shader.first("transparency")
    values = None if transparent is None else _value(profile, transparent, "color")
    factor = None if transparency is None else _value(profile, transparency, "float")
    part = 1.0 if factor is None else float(factor[0])
    how = "A_ONE" if transparent is None else transparent.attributes.get("opaque", "A_ONE")
    rgba = np.ones(4) if values is None else np.append(values, 1.0)[:4]
    if values is None and factor is None:
        return 1.0
    share = part * float(LUMINANCE @ rgba[:3] if how.startswith("RGB") else rgba[3])
    found = round(min(max(1.0 - share if how.endswith("ZERO") else share, 0.0), 1.0), 3)
    return found or 1.0


def _value(profile: XmlElement, element: XmlElement, tag: str) -> FloatArray | None:
    """Numbers of an effect element, directly or through a named parameter.

    None for others, such as textures.
    """
    own, param = element.first(tag), element.first("param")
    if own is None and param is not None:
        named = [
            each
            for each in profile.all("newparam")
            if each.attributes.get("sid") == param.attributes.get("ref")
        ]
        own = next(
            (child for each in named for child in each.children if child.tag.startswith("float")),
            None,
        )
    values = None if own is None else _numbers(own)
    if values is not None and not (len(values) and np.isfinite(values).all()):
        raise InputError("colours with non-finite components")
    return values


def _triangles(faces: XmlElement) -> IntArray:
    """Point rows (T, 3) of the triangles; polygons are divided into fans."""
    inputs = [
        (int(each.attributes["offset"]), each.attributes["semantic"]) for each in faces.all("input")
    ]
    width, place = (
        1 + max(offset for offset, _ in inputs),
        next(offset for offset, semantic in inputs if semantic == "VERTEX"),
    )
    corners = [
        _numbers(each).astype(np.int64).reshape(-1, width)[:, place] for each in faces.all("p")
    ]
    if faces.tag == "polygons":
        polygons = corners
    elif faces.tag == "polylist" and (counts := faces.first("vcount")) is not None:
        polygons = np.split(
            np.concatenate(corners), np.cumsum(_numbers(counts).astype(np.int64))[:-1]
        )
    else:
        return np.concatenate([np.zeros(0, np.int64), *corners]).reshape(-1, 3)
    fans = [
        np.stack([np.full(len(each) - 2, each[0]), each[1:-1], each[2:]], axis=1)
        for each in polygons
        if len(each) > 2
    ]
    return np.concatenate([np.zeros((0, 3), np.int64), *fans])


def _transform(element: XmlElement) -> FloatArray:
    """Matrix (4, 4) of one transformation element of a node; the identity for other elements."""
    T = np.eye(4)
    if element.tag == "matrix":
        T = _numbers(element).reshape(4, 4)
    elif element.tag == "translate":
        T[:3, 3] = _numbers(element)
    elif element.tag == "scale":
        T[:3, :3] = np.diag(_numbers(element))
    elif element.tag == "rotate":
        x, y, z, degrees = _numbers(element)
        length = float(np.linalg.norm([x, y, z])) or 1.0
        T[:3, :3] = axis_angle_matrix((x / length, y / length, z / length), np.radians(degrees))
    return T


def _unit(root: XmlElement) -> float:
    """Unit of length of the file in m."""
    asset = root.first("asset")
    unit = asset.first("unit") if asset else None
    try:
        meters = float(unit.attributes.get("meter", 1.0)) if unit else 1.0
    except ValueError:
        meters = 0.0
    if not 0.0 < meters < np.inf:
        raise InputError(f"{root.place}: <unit meter> must be a positive number")
    return meters


def _numbers(element: XmlElement) -> FloatArray:
    """Numbers in the text of an element."""
    return np.array(element.text.split(), float)


def _descendants(element: XmlElement) -> Iterator[XmlElement]:
    """Element and all its descendants."""
    waiting = [element]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += reversed(each.children)

"""Moving bodies as a glTF file, binary or text, with an animation.

For viewers, browsers, presentations and Blender.

Each body is a node with animated translation and rotation; elastic displacements are morph targets
with animated weights, with few shapes for all modes (`flexmbs.player.decomposition`). Source: glTF
2.0 Specification, Khronos Group (2021).

"""

from __future__ import annotations

import base64
import json
import os
import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.algebra.so3 import euler_parameters
from flexmbs.errors import InputError
from flexmbs.exports.moving_surfaces import (
    MovingSurface,
    TriangleColour,
    chosen_outputs,
    moving_surfaces,
)
from flexmbs.files.file_types import check_ending
from flexmbs.files.output import atomic_file
from flexmbs.files.paths import file_path
from flexmbs.flexible_body.components import FloatArray
from flexmbs.page.style import PALETTE
from flexmbs.player.decomposition import decomposed
from flexmbs.player.solids import Solid

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

TOLERANCE = 1e-3  # relative to the largest elastic displacement
FLOAT, UNSIGNED = 5126, 5125  # component types of glTF
VERTICES, INDICES = 34962, 34963  # targets of glTF buffer views


def write_gltf(
    solution: SolutionData,
    path: str | os.PathLike[str],
    *,
    instants: int | None = None,
    times: Iterable[float] = (),
    solids: Sequence[Solid] = (),
) -> None:
    """Write a glTF file of all bodies with their motion.

    At ``instants`` equally spaced outputs (all: None), or at the outputs nearest to ``times`` (s).
    Binary if the name ends with .glb, text with embedded arrays if it ends with .gltf.

    Elastic displacements are accurate to 0.1 % of the largest. The direction against gravity, or z
    without gravity, points upwards (y in glTF). ``solids``: shapes of bodies.  Raises `InputError`,
    `MachineError`.

    """
    check_ending(path, ".glb", ".gltf")
    pick = chosen_outputs(solution.t, instants, times)
    writer = _GltfWriter(solution.t[pick] - solution.t[0])
    for k, surface in enumerate(moving_surfaces(solution, solids)):
        writer.add(surface, pick, PALETTE[k % len(PALETTE)])
    table = writer.table(_upwards(np.asarray(solution.model.gravity, float)), solution.model.name)
    content = (
        _text(table, writer.bytes)
        if file_path(path).suffix.lower() == ".gltf"
        else _binary(table, writer.bytes)
    )
    with atomic_file(path) as draft, open(draft, "wb") as file:
        file.write(content)


class _GltfWriter:
    """File under construction: tables of its JSON part, bytes of its binary part."""

    def __init__(self, t: FloatArray) -> None:
        """Writer with empty tables and the times t of the animation."""
        self.bytes = bytearray()
        self.tables: dict[str, list[Any]] = {
            key: []
            for key in (
                "nodes",
                "meshes",
                "materials",
                "accessors",
                "bufferViews",
                "samplers",
                "channels",
            )
        }
        self.moves = len(t) > 1
        self.time = self._array(t.astype("<f4")[:, None], "SCALAR", limits=True)

    def add(self, surface: MovingSurface, pick: np.ndarray, colour: str) -> None:
        """Add a body: its materials, mesh, node, and animation channels."""
        shapes, weights = _shapes(surface, pick)
        attributes = {
            "POSITION": self._array(
                surface.points.astype("<f4"), "VEC3", limits=True, target=VERTICES
            )
        }
        primitives: list[dict[str, Any]] = [
            {
                "attributes": attributes,
                "indices": self._array(
                    triangles.astype("<u4").reshape(-1, 1), "SCALAR", target=INDICES
                ),
                "material": self._material(
                    surface.name, own or [int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5)]
                ),
            }
            for own, triangles in _by_colour(surface).items()
        ]
        mesh: dict[str, Any] = {"name": surface.name, "primitives": primitives}
        node: dict[str, Any] = {"name": surface.name, "mesh": len(self.tables["meshes"])}
        number = len(self.tables["nodes"])
        if surface.motion is not None:
            place, turn = surface.motion.position[pick], _quaternions(surface.motion.rotation[pick])
            node |= {"translation": place[0].tolist(), "rotation": turn[0].tolist()}
            self._animate(number, "translation", self._array(place.astype("<f4"), "VEC3"))
            self._animate(number, "rotation", self._array(turn.astype("<f4"), "VEC4"))
        if len(shapes):
            targets = [
                self._array(shape.astype("<f4"), "VEC3", limits=True, target=VERTICES)
                for shape in shapes
            ]
            for primitive in primitives:
                primitive["targets"] = [{"POSITION": target} for target in targets]
            mesh["weights"] = weights[0].tolist()
            self._animate(
                number, "weights", self._array(weights.astype("<f4").reshape(-1, 1), "SCALAR")
            )
        self.tables["meshes"].append(mesh)
        self.tables["nodes"].append(node)

    def _material(self, name: str, colour: Sequence[float]) -> int:
        """Add a material with a colour (r, g, b) or (r, g, b, opacity); its number."""
        linear = [
            (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)
            for value in colour[:3]
        ]
        opacity = float([*colour, 1.0][3])
        look = {
            "baseColorFactor": [*linear, opacity],
            "metallicFactor": 0.1,
            "roughnessFactor": 0.6,
        }
        clear = {"alphaMode": "BLEND"} if opacity < 1.0 else {}
        self.tables["materials"].append(
            {"name": name, "pbrMetallicRoughness": look, "doubleSided": True, **clear}
        )
        return len(self.tables["materials"]) - 1

    def table(self, up: list[float], name: str) -> dict[str, Any]:
        """JSON part of the glTF file."""
        animation = {
            "name": name,
            "samplers": self.tables.pop("samplers"),
            "channels": self.tables.pop("channels"),
        }
        root = {"name": name, "rotation": up, "children": list(range(len(self.tables["nodes"])))}
        self.tables["nodes"].append(root)
        table: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "flexmbs"},
            "scene": 0,
            **self.tables,
            "scenes": [{"name": name, "nodes": [len(self.tables["nodes"]) - 1]}],
            "buffers": [{"byteLength": len(self.bytes)}],
        }
        if animation["channels"]:
            table["animations"] = [animation]
        return table

    def _array(
        self, values: np.ndarray, kind: str, *, limits: bool = False, target: int | None = None
    ) -> int:
        """Add an accessor for rows of floats or unsigned integers and return its number.

        Raises InputError for values beyond single precision.
        """
        if not np.isfinite(values).all():
            raise InputError(
                "glTF: the motion exceeds the range of the format, 3.4e+38; write the "
                "preceding part, solution.at(times)"
            )
        view = {"buffer": 0, "byteOffset": len(self.bytes), "byteLength": values.nbytes}
        self.tables["bufferViews"].append(view if target is None else view | {"target": target})
        self.bytes += values.tobytes()
        accessor: dict[str, Any] = {
            "bufferView": len(self.tables["bufferViews"]) - 1, "count": len(values), "type": kind,
            "componentType": FLOAT if values.dtype.kind == "f" else UNSIGNED,
        }  # fmt: skip
        if limits:
            accessor |= {"min": values.min(axis=0).tolist(), "max": values.max(axis=0).tolist()}
        self.tables["accessors"].append(accessor)
        return len(self.tables["accessors"]) - 1

    def _animate(self, node: int, path: str, values: int) -> None:
        """Animate a property of a node by interpolated values."""
        if self.moves:
            self.tables["samplers"].append(
                {"input": self.time, "output": values, "interpolation": "LINEAR"}
            )
            self.tables["channels"].append(
                {
                    "sampler": len(self.tables["samplers"]) - 1,
                    "target": {"node": node, "path": path},
                }
            )


def _text(table: dict[str, Any], arrays: bytearray) -> bytes:
    """JSON text with the arrays embedded as a data URL."""
    table["buffers"][0]["uri"] = (
        "data:application/octet-stream;base64," + base64.b64encode(arrays).decode()
    )
    return json.dumps(table, separators=(",", ":"), allow_nan=False).encode()


def _binary(table: dict[str, Any], arrays: bytearray) -> bytes:
    """Binary glTF file: header, JSON, arrays."""
    text = json.dumps(table, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    chunks = (
        struct.pack("<II", len(text), 0x4E4F534A)
        + text
        + struct.pack("<II", len(arrays), 0x004E4942)
        + arrays
    )
    return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks


def _by_colour(surface: MovingSurface) -> dict[tuple[float, ...] | None, NDArray[np.int64]]:
    """Triangles (T, 3) by colour; None for the colour of the body."""
    found: dict[tuple[float, ...] | None, list[NDArray[np.int64]]] = {}
    ends = np.cumsum([paint.triangles for paint in surface.paints])
    for paint, triangles in zip(
        surface.paints or [TriangleColour(0, None)], np.split(surface.triangles, ends[:-1])
    ):
        found.setdefault(
            None if paint.colour is None else tuple(map(float, paint.colour)), []
        ).append(triangles)
    return {
        colour: np.concatenate(parts) for colour, parts in found.items() if sum(map(len, parts))
    }


def _shapes(surface: MovingSurface, pick: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Shapes (r, n, 3) and weights (nt, r) of the elastic displacement; empty for a rigid body."""
    if (
        surface.shape is None
        or surface.rows is None
        or surface.motion is None
        or surface.motion.elastic.shape[1] == 0
    ):
        return np.zeros((0, 0, 3)), np.zeros((len(pick), 0))
    found = decomposed(*surface.shape.factored(surface.rows, pick), TOLERANCE)
    return found.columns.T.reshape(-1, len(surface.rows), 3), found.factors.T


def _quaternions(rotations: FloatArray) -> FloatArray:
    """Quaternions (nt, 4) with the scalar last and continuous signs."""
    found = np.array([euler_parameters(rotation) for rotation in rotations])[:, [1, 2, 3, 0]]
    flips = np.concatenate(
        [[1.0], np.cumprod(np.where((found[1:] * found[:-1]).sum(axis=1) < 0.0, -1.0, 1.0))]
    )
    return found * flips[:, None]


def _upwards(gravity: FloatArray) -> list[float]:
    """Quaternion, scalar last, that rotates the up direction to y."""
    size = float(np.linalg.norm(gravity))
    up = -gravity / size if size > 0.0 else np.array([0.0, 0.0, 1.0])
    if up[1] < -1.0 + 1e-9:
        return [1.0, 0.0, 0.0, 0.0]
    turn = np.array([*np.cross(up, (0.0, 1.0, 0.0)), 1.0 + up[1]])
    return (turn / np.linalg.norm(turn)).tolist()

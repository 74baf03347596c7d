"""Animations in glTF files, read by pygltflib: nodes, morph targets and channels reproduce the positions of the bodies."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from machines import bending, machine
from scipy.spatial.transform import Rotation

from flexmbs.exports.moving_surfaces import moving_surfaces

pygltflib = pytest.importorskip("pygltflib")
PLAYER = Path(__file__).parents[1] / "player"
NODE, MODULES = shutil.which("node"), Path(os.environ.get("FLEXMBS_NODE_MODULES", PLAYER / "node_modules"))  # of npm install
WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}


class Scene:
    """A file as its reader gives it."""

    def __init__(self, path: Path) -> None:
        self.file = pygltflib.GLTF2().load_binary(str(path))
        self.blob = self.file.binary_blob()

    def array(self, number: int) -> np.ndarray:
        accessor = self.file.accessors[number]
        view = self.file.bufferViews[accessor.bufferView]
        kind = {pygltflib.FLOAT: "<f4", pygltflib.UNSIGNED_INT: "<u4"}[accessor.componentType]
        found = np.frombuffer(self.blob, kind, accessor.count * WIDTHS[accessor.type], view.byteOffset)
        assert found.nbytes == view.byteLength
        return found.reshape(accessor.count, -1)

    def channel(self, node: int, path: str) -> np.ndarray:
        (animation,) = self.file.animations
        (found,) = [each for each in animation.channels if (each.target.node, each.target.path) == (node, path)]
        return self.array(animation.samplers[found.sampler].output)

    def points(self, node: int, i: int) -> np.ndarray:
        """Vertices of a node at instant i, in world axes before the turn of the root."""
        mesh = self.file.meshes[self.file.nodes[node].mesh].primitives[0]
        x = self.array(mesh.attributes.POSITION).astype(float)
        if mesh.targets:
            weights = self.channel(node, "weights").reshape(-1, len(mesh.targets))[i]
            x = x + sum(w * self.array(target["POSITION"]) for w, target in zip(weights, mesh.targets))
        return Rotation.from_quat(self.channel(node, "rotation")[i]).apply(x) + self.channel(node, "translation")[i]


@pytest.fixture(params=[machine, bending], ids=["rigid", "flexible"])
def solution(request: pytest.FixtureRequest):
    return request.param()


def test_bodies_are_where_the_solution_has_them(solution, tmp_path: Path) -> None:
    solution.to_gltf(tmp_path / "run.glb")
    scene, surfaces = Scene(tmp_path / "run.glb"), moving_surfaces(solution)
    assert [node.name for node in scene.file.nodes] == [*(each.name for each in surfaces), solution.model.name]
    times = scene.array(scene.file.animations[0].samplers[0].input)[:, 0]
    np.testing.assert_allclose(times, solution.t, atol=1e-7)
    for k, surface in enumerate(surfaces):
        largest = max(np.abs(surface.displacement(i)).max() for i in range(len(solution.t)))
        for i in (0, 4, len(solution.t) - 1):
            np.testing.assert_allclose(scene.points(k, i), surface.at(i), atol=2e-3 * largest + 1e-6)
        mesh = scene.file.meshes[scene.file.nodes[k].mesh].primitives[0]
        np.testing.assert_array_equal(scene.array(mesh.indices).reshape(-1, 3), surface.triangles)
        assert (mesh.targets is None or len(mesh.targets) == 0) == (surface.shape is None)
    up = Rotation.from_quat(scene.file.nodes[-1].rotation).apply([0.0, 0.0, 1.0])
    np.testing.assert_allclose(up, [0.0, 1.0, 0.0], atol=1e-12)


def test_the_text_form_holds_the_same_arrays(solution, tmp_path: Path) -> None:
    """A name that ends with .gltf is read as JSON."""
    solution.to_gltf(tmp_path / "run.glb")
    solution.to_gltf(tmp_path / "run.gltf")
    binary, text = Scene(tmp_path / "run.glb"), pygltflib.GLTF2().load_json(str(tmp_path / "run.gltf"))
    assert text.get_data_from_buffer_uri(text.buffers[0].uri) == binary.blob[: text.buffers[0].byteLength]
    assert (text.nodes, text.accessors, text.animations) == (binary.file.nodes, binary.file.accessors, binary.file.animations)


def test_limits_and_alignment_are_as_the_format_requires(solution, tmp_path: Path) -> None:
    solution.to_gltf(tmp_path / "run.glb", instants=4)
    scene = Scene(tmp_path / "run.glb")
    assert (tmp_path / "run.glb").stat().st_size % 4 == 0
    for number, accessor in enumerate(scene.file.accessors):
        assert scene.file.bufferViews[accessor.bufferView].byteOffset % 4 == 0
        if accessor.min:
            values = scene.array(number)
            np.testing.assert_array_equal(np.float32(accessor.min), values.min(axis=0))
            np.testing.assert_array_equal(np.float32(accessor.max), values.max(axis=0))
    for mesh in scene.file.meshes:
        assert scene.file.accessors[mesh.primitives[0].attributes.POSITION].min
    turns = scene.channel(0, "rotation")
    assert len(turns) == 4
    np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1.0, atol=1e-6)
    assert ((turns[1:] * turns[:-1]).sum(axis=1) > 0.0).all()


@pytest.mark.skipif(
    NODE is None or not (MODULES / "gltf-validator").exists(), reason="the validator of the Khronos Group is not installed"
)
def test_the_validator_of_the_format_finds_nothing(solution, tmp_path: Path) -> None:
    solution.to_gltf(tmp_path / "run.glb")
    command = [str(NODE), str(PLAYER / "gltf.mjs"), str(tmp_path / "run.glb"), str(MODULES.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["messages"] == []
    assert found["animations"] == 1
    assert found["triangles"] == sum(len(each.triangles) for each in moving_surfaces(solution))

"""Animations in glTF files, read by pygltflib: nodes, morph targets and channels reproduce the
positions of the bodies.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from machines import bending, machine
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.exports.gltf import write_gltf
from flexmbs.exports.moving_surfaces import moving_surfaces
from flexmbs.player.solids import Solid

pygltflib = pytest.importorskip("pygltflib")
PLAYER = Path(__file__).parents[1] / "player"
# of npm install
NODE, MODULES = (
    shutil.which("node"),
    Path(os.environ.get("FLEXMBS_NODE_MODULES", PLAYER / "node_modules")),
)
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
        found = np.frombuffer(
            self.blob, kind, accessor.count * WIDTHS[accessor.type], view.byteOffset
        )
        assert found.nbytes == view.byteLength
        return found.reshape(accessor.count, -1)

    def channel(self, node: int, path: str) -> np.ndarray:
        (animation,) = self.file.animations
        (found,) = [
            each
            for each in animation.channels
            if (each.target.node, each.target.path) == (node, path)
        ]
        return self.array(animation.samplers[found.sampler].output)

    def points(self, node: int, i: int) -> np.ndarray:
        """Vertices of a node at instant i, in world axes before the turn of the root."""
        mesh = self.file.meshes[self.file.nodes[node].mesh].primitives[0]
        x = self.array(mesh.attributes.POSITION).astype(float)
        if mesh.targets:
            weights = self.channel(node, "weights").reshape(-1, len(mesh.targets))[i]
            x = x + sum(
                w * self.array(target["POSITION"]) for w, target in zip(weights, mesh.targets)
            )
        return (
            Rotation.from_quat(self.channel(node, "rotation")[i]).apply(x)
            + self.channel(node, "translation")[i]
        )


@pytest.fixture(params=[machine, bending], ids=["rigid", "flexible"])
def solution(request: pytest.FixtureRequest):
    return request.param()


def test_bodies_are_where_the_solution_has_them(solution, tmp_path: Path) -> None:
    solution.to_gltf(tmp_path / "run.glb")
    scene, surfaces = Scene(tmp_path / "run.glb"), moving_surfaces(solution)
    assert [node.name for node in scene.file.nodes] == [
        *(each.name for each in surfaces),
        solution.model.name,
    ]
    times = scene.array(scene.file.animations[0].samplers[0].input)[:, 0]
    np.testing.assert_allclose(times, solution.t, atol=1e-7)
    for k, surface in enumerate(surfaces):
        largest = max(np.abs(surface.displacement(i)).max() for i in range(len(solution.t)))
        for i in (0, 4, len(solution.t) - 1):
            np.testing.assert_allclose(
                scene.points(k, i), surface.at(i), atol=2e-3 * largest + 1e-6
            )
        mesh = scene.file.meshes[scene.file.nodes[k].mesh].primitives[0]
        np.testing.assert_array_equal(scene.array(mesh.indices).reshape(-1, 3), surface.triangles)
        assert (mesh.targets is None or len(mesh.targets) == 0) == (surface.shape is None)
    up = Rotation.from_quat(scene.file.nodes[-1].rotation).apply([0.0, 0.0, 1.0])
    np.testing.assert_allclose(up, [0.0, 1.0, 0.0], atol=1e-12)


def test_solids_have_their_colours(tmp_path: Path) -> None:
    """Linear, as the format has them, clear ones blended, a primitive for each colour; what has
    opacity 0 is left out.
    """
    solution, plate = machine(), np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    name, *others = solution.bodies
    colours = [(0.5, 0.0, 1.0), None, (0.2, 0.2, 0.2, 0.25), (0.5, 0.0, 1.0), (1.0, 1.0, 1.0, 0.0)]
    solids = [
        Solid(name, plate + k, np.array([[0, 1, 2]]), colour) for k, colour in enumerate(colours)
    ]
    solution.to_gltf(tmp_path / "run.glb", solids=solids)
    scene = Scene(tmp_path / "run.glb")
    (node,) = [node for node in scene.file.nodes if node.name == name]
    primitives = scene.file.meshes[node.mesh].primitives
    assert {each.attributes.POSITION for each in primitives} == {primitives[0].attributes.POSITION}
    materials = [scene.file.materials[each.material] for each in primitives]
    assert [each.alphaMode for each in materials] == ["OPAQUE", "OPAQUE", "BLEND"]
    seen = [each.pbrMetallicRoughness.baseColorFactor for each in materials]
    # IEC 61966-2-1
    np.testing.assert_allclose(seen[0], [((0.5 + 0.055) / 1.055) ** 2.4, 0.0, 1.0, 1.0])
    np.testing.assert_allclose(seen[2], [*3 * [((0.2 + 0.055) / 1.055) ** 2.4], 0.25])
    rows = [scene.array(each.indices).reshape(-1, 3) for each in primitives]
    corners = scene.array(primitives[0].attributes.POSITION)
    np.testing.assert_allclose(corners[rows[0]], np.stack([plate, plate + 3]))
    np.testing.assert_allclose(corners[rows[2]], [plate + 2])
    assert sum(map(len, rows)) == 4
    assert len(scene.file.materials) == 3 + len(others)
    assert_valid(
        tmp_path / "run.glb",
        triangles=sum(len(each.triangles) for each in moving_surfaces(solution, solids)),
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"colour": (255, 0, 0)}, r"colour must be \(r, g, b\) or"), ({"colour": "red"}, "must be numbers"),
        ({"colour": (1.0, 0.0)}, "colour must be"), ({"colour": (1.0, 0.0, np.nan)}, "colour must be"),
        ({"triangles": np.array([[0, 1, 3]])}, r"triangles must refer to its vertices, 0 … 2, not 0 … 3"),
        ({"triangles": np.array([[0.0, 1.0, 2.0]])}, "triangles must be rows"),
        ({"vertices": np.zeros((3, 2))}, r"vertices must be finite numbers \(n, 3\), not an array of shape \(3, 2\)"),
        ({"vertices": np.full((3, 3), np.inf)}, "vertices must be finite"),
    ],
)  # fmt: skip
def test_solids_that_cannot_be_drawn(change: dict, words: str, tmp_path: Path) -> None:
    """The same line from pages and exports."""
    solution = machine()
    solid = Solid(next(iter(solution.bodies)), np.eye(3), np.array([[0, 1, 2]]))._replace(**change)
    for write in (solution.to_gltf, solution.to_vtkhdf, solution.report):
        with pytest.raises(fm.InputError, match=rf"solids\[0\], on .*{words}"):
            write(
                tmp_path
                / {"to_gltf": "a.glb", "to_vtkhdf": "a.vtkhdf", "report": "a.html"}[write.__name__],
                solids=[solid],
            )


@pytest.mark.filterwarnings("ignore:overflow")
def test_motions_beyond_single_precision_are_refused(tmp_path: Path) -> None:
    model = fm.Model("lost", gravity=(0.0, 0.0, 0.0))
    body = fm.RigidBody("b", mass=1.0, inertia=(1, 1, 1), frames={"end": (1, 0, 0)})
    model.add(fm.Prismatic("rail", model.ground, model.add(body), v0=1e39))
    solution = fm.simulate(model, t_end=2.0, step=0.5)
    with pytest.raises(fm.InputError, match="glTF: the motion exceeds the range of the format"):
        solution.to_gltf(tmp_path / "run.glb")
    page = solution.show(browser=False).text
    assert "m: the motion extends far beyond the size of the model" in page


def test_chosen_times(tmp_path: Path) -> None:
    solution = machine()
    write_gltf(solution, tmp_path / "run.glb", times=[solution.t[2], solution.t[5]])
    scene = Scene(tmp_path / "run.glb")
    np.testing.assert_allclose(
        scene.array(scene.file.animations[0].samplers[0].input)[:, 0], solution.t[[2, 5]], atol=1e-7
    )


def test_the_text_form_holds_the_same_arrays(solution, tmp_path: Path) -> None:
    """A name that ends with .gltf is read as JSON."""
    solution.to_gltf(tmp_path / "run.glb")
    solution.to_gltf(tmp_path / "run.gltf")
    binary, text = (
        Scene(tmp_path / "run.glb"),
        pygltflib.GLTF2().load_json(str(tmp_path / "run.gltf")),
    )
    assert (
        text.get_data_from_buffer_uri(text.buffers[0].uri)
        == binary.blob[: text.buffers[0].byteLength]
    )
    assert (text.nodes, text.accessors, text.animations) == (
        binary.file.nodes,
        binary.file.accessors,
        binary.file.animations,
    )


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


def test_the_validator_of_the_format_finds_nothing(solution, tmp_path: Path) -> None:
    solution.to_gltf(tmp_path / "run.glb")
    assert_valid(
        tmp_path / "run.glb",
        triangles=sum(len(each.triangles) for each in moving_surfaces(solution)),
    )


def test_visuals_of_a_robot_have_the_materials_of_its_file(tmp_path: Path) -> None:
    """Colours of a URDF file, of its named materials too."""
    box = '<geometry><box size="0.1 0.1 0.4"/></geometry>'
    red = '<material name="x"><color rgba="1 0 0 0.5"/></material>'
    visuals = f'<visual>{box}<material name="steel"/></visual><visual>{box}{red}</visual>'
    inertia = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
        'iyz="0"/></inertial>'
    )
    links = (
        f'<link name="base"/><link name="arm">{inertia}{visuals}</link><material '
        'name="steel"><color rgba="0 0 1 1"/></material>'
    )
    joint = (
        '<joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis '
        'xyz="0 1 0"/></joint>'
    )
    (tmp_path / "robot.urdf").write_text(f'<robot name="r">{links}{joint}</robot>')
    robot = fm.Robot.from_urdf(tmp_path / "robot.urdf")
    run = fm.simulate(robot.model, t_end=0.02, step=0.01)
    run.to_gltf(tmp_path / "run.glb", solids=robot.solids())
    scene = Scene(tmp_path / "run.glb")
    colours = [material.pbrMetallicRoughness.baseColorFactor for material in scene.file.materials]
    assert colours == [[0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.5]]
    assert_valid(tmp_path / "run.glb", triangles=24)


def assert_valid(path: Path, *, triangles: int) -> None:
    """The validator of the Khronos Group finds nothing in a file with this many triangles."""
    if NODE is None or not (MODULES / "gltf-validator").exists():
        pytest.skip("the validator of the Khronos Group is not installed")
    command = [str(NODE), str(PLAYER / "gltf.mjs"), str(path), str(MODULES.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["messages"] == []
    assert found["animations"] == 1
    assert found["triangles"] == triangles

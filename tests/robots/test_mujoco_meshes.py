"""Inertia of mesh geoms of MJCF files against MuJoCo and closed forms."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.model.shapes.triangles import revolved
from flexmbs.robots.mjcf.mesh_inertia import MODES

pytestmark = pytest.mark.filterwarnings("ignore:.*left out:flexmbs.ModelWarning")


def prism() -> tuple[np.ndarray, np.ndarray]:
    """L-shaped prism, not convex: a volume of 5."""
    xy = [(0, 0), (3, 0), (3, 1), (1, 1), (1, 3), (0, 3)]
    points = np.array([(x, y, z) for z in (0, 1) for x, y in xy], float)
    top = np.array([(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)])
    i = np.arange(6)
    j = (i + 1) % 6
    walls = [np.stack([i, j, j + 6], axis=1), np.stack([i, j + 6, i + 6], axis=1)]
    return points, np.concatenate([top[:, ::-1], top + 6, *walls])


def torus() -> tuple[np.ndarray, np.ndarray]:
    u = 2 * np.pi * np.arange(16) / 16
    return revolved(np.stack([1 + 0.3 * np.cos(u), 0.3 * np.sin(u)], axis=1), 24, closed=True)


MESHES = {
    "box": fm.Box((1.0, 0.5, 0.25)).triangles(),
    "sphere": fm.Sphere(0.5).triangles(),
    "torus": torus(),
    "prism": prism(),
}


def written(folder: Path, mesh: tuple[np.ndarray, np.ndarray], suffix: str) -> str:
    """File with coordinates that single precision represents."""
    points, triangles = mesh[0].astype(np.float32), mesh[1]
    if suffix == "stl":
        rows = np.zeros(len(triangles), [("n", "<f4", 3), ("x", "<f4", (3, 3)), ("", "<u2")])
        rows["x"] = points[triangles]
        head = b"\0" * 80 + len(triangles).to_bytes(4, "little")
        (folder / "m.stl").write_bytes(head + rows.tobytes())
    else:
        lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.astype(float).tolist()]
        lines += [f"f {a} {b} {c}" for a, b, c in (triangles + 1).tolist()]
        (folder / "m.obj").write_text("\n".join(lines))
    return f"m.{suffix}"


def model(mesh: str, geoms: str, compiler: str = "") -> str:
    return (
        f'<mujoco><compiler {compiler}/><asset><mesh name="m" {mesh}/></asset><worldbody>'
        f'<body name="b" pos="1 2 3"><joint type="ball"/>{geoms}</body></worldbody></mujoco>'
    )


def same_as_mujoco(path: Path) -> fm.RigidBody:
    """Mass, centre and inertia of the only body agree."""
    mujoco = pytest.importorskip("mujoco")
    reference = mujoco.MjModel.from_xml_path(str(path))
    (body,) = fm.from_mujoco(path).model.bodies.values()
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, reference.body_iquat[1])
    R = R.reshape(3, 3)
    J = R @ np.diag(reference.body_inertia[1]) @ R.T
    assert body.mass == pytest.approx(reference.body_mass[1], rel=1e-12)
    np.testing.assert_allclose(body.com, reference.body_ipos[1], atol=1e-12)
    np.testing.assert_allclose(body.inertia, J, rtol=1e-12, atol=1e-12 * np.abs(J).max())
    return body


GEOMS = """<geom type="mesh" mesh="m" pos="0.1 0.2 0.3" euler="10 20 30" density="500"/>
    <geom type="capsule" size="0.1 0.2" pos="0.5 0 0" mass="2"/><geom type="mesh" mesh="m" mass="3"/>
    <geom type="mesh" mesh="m" group="4" density="9000"/><geom type="mesh" mesh="m" mass="0"/>"""


@pytest.mark.parametrize(("name", "mode"), itertools.product(MESHES, MODES))
def test_all_modes_are_those_of_mujoco(name: str, mode: str, tmp_path: Path) -> None:
    for suffix in ("stl", "obj"):
        file = written(tmp_path, MESHES[name], suffix)
        mesh = f'file="{file}" inertia="{mode}" scale="0.5 -0.25 0.125" refpos="0.5 0.25 1"'
        (tmp_path / "m.xml").write_text(model(mesh, GEOMS, 'inertiagrouprange="0 3"'))
        same_as_mujoco(tmp_path / "m.xml")


def test_defaults_and_the_pose_of_a_mesh(tmp_path: Path) -> None:
    """By default MuJoCo counts more than the volume of a body that is not convex. It stores
    refquat in single precision, which these numbers survive.
    """
    file = written(tmp_path, MESHES["prism"], "stl")
    (tmp_path / "m.xml").write_text(
        model(
            f'file="{file}" refpos="1 2 3" refquat="1 1 -1 1" scale="2 2 2"',
            '<geom type="mesh" mesh="m"/>',
        )
    )
    assert same_as_mujoco(tmp_path / "m.xml").mass == pytest.approx(8 * 1000 * 5.322547508988)
    body = '<inertial pos="0 0 0" mass="9" diaginertia="1 1 1"/><geom type="mesh" mesh="m"/>'
    for compiler, mass in (("", 9.0), ('inertiafromgeom="true"', 5000.0)):
        mesh = f'file="{file}" inertia="exact"'
        (tmp_path / "m.xml").write_text(model(mesh, body, compiler))
        assert same_as_mujoco(tmp_path / "m.xml").mass == pytest.approx(mass)


WRONG = {
    "'m' is not a mesh of a file": ("", '<geom type="mesh" mesh="m"/>'),
    "'n' is not a mesh of a file": ('file="m.stl"', '<geom type="mesh" mesh="n"/>'),
    "cannot be read": ('file="none.stl"', '<geom type="mesh" mesh="m"/>'),
    "is not closed, it has 3 open edges": (
        'file="open.stl" inertia="exact"',
        '<geom type="mesh" mesh="m"/>',
    ),
    "unknown mesh format": ('file="m.msh"', '<geom type="mesh" mesh="m"/>'),
    "inertia: must be one of legacy": (
        'file="m.stl" inertia="fine"',
        '<geom type="mesh" mesh="m"/>',
    ),
    "refquat and unequal": (
        'file="m.stl" refquat="1 1 0 0" scale="1 2 3"',
        '<geom type="mesh" mesh="m"/>',
    ),
    "refquat: has zero length": ('file="m.stl" refquat="0 0 0 0"', '<geom type="mesh" mesh="m"/>'),
    "scale: must not be 0": ('file="m.stl" scale="0 1 1"', '<geom type="mesh" mesh="m"/>'),
    "shellinertia: inertia of shells": (
        'file="m.stl"',
        '<geom type="mesh" mesh="m" shellinertia="true"/>',
    ),
    "inertia of a 'sphere' geom": ('file="m.stl"', '<geom mesh="m"/>'),
    "inertia of a 'box' geom": ('file="m.stl"', '<geom type="box" mesh="m"/>'),
}


@pytest.mark.parametrize("told", WRONG)
def test_what_has_no_inertia_is_named(told: str, tmp_path: Path) -> None:
    points, triangles = MESHES["box"]
    written(tmp_path, (points, triangles[1:]), "stl")
    (tmp_path / "m.stl").rename(tmp_path / "open.stl")
    written(tmp_path, MESHES["box"], "stl")
    (tmp_path / "m.msh").touch()
    (tmp_path / "m.xml").write_text(model(*WRONG[told]))
    with pytest.raises(fm.InputError) as error:
        fm.from_mujoco(tmp_path / "m.xml")
    assert told in str(error.value)
    assert f"{tmp_path / 'm.xml'}:1" in str(error.value)

"""Files of every kind by `fm.load`, `flexmbs check` and `flexmbs run`."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from command_calls import command

import flexmbs as fm
import preprocess as pp

MESHES = Path(__file__).parents[2] / "meshes"
URDF = """<robot name="arm"><link name="base"/><link name="rod">
<inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
<inertia ixx="0.2" iyy="0.2" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
</joint></robot>"""
MJCF = """<mujoco model="arm"><worldbody><body name="rod"><joint name="hinge" axis="0 1 0"/>
<inertial pos="0 0 -0.5" mass="2" diaginertia="0.2 0.2 0.01"/></body></worldbody></mujoco>"""
SDF = """<sdf version="1.9"><model name="arm"><link name="rod"><inertial><pose>0 0 -0.5 0 0 0</pose>
<mass>2</mass><inertia><ixx>0.2</ixx><iyy>0.2</iyy><izz>0.01</izz></inertia></inertial></link>
<joint name="hinge" type="revolute"><parent>world</parent><child>rod</child>
<axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""
FILES = {"arm.urdf": URDF, "arm.xml": MJCF, "arm.sdf": SDF}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FILES)
def test_robot_files_are_models(folder, name, capsys):
    """The same pendulum from three formats: in Python, checked and run."""
    Path(name).write_text(FILES[name])
    model = fm.load(name)
    assert isinstance(model, fm.Model)
    assert list(model.bodies) == ["rod"]
    code, out, _ = command(capsys, "check", name)
    assert code == 0
    assert "rod" in out or "1 body" in out
    code, _, err = command(capsys, "run", name, "--t-end", "0.1", "--step", "0.001", "-o", "a.h5")
    assert (code, "Traceback" in err) == (0, False)
    run = fm.load("a.h5")
    assert isinstance(run, fm.Solution)
    assert run.body("rod").position.shape[1] == 3


def test_bodies_and_models(folder):
    bar = pp.reduce(
        pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
        pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
        interfaces={"root": pp.Rigid("x0")},
        reference="root",
    )
    bar.save("bar.h5")
    np.testing.assert_array_equal(fm.load("bar.h5").K_ff, bar.K_ff)
    model = fm.Model("throw")
    stone = model.add(fm.PointMass("stone", mass=0.2))
    model.add(fm.Translation("flight", model.ground, stone))
    model.save("model.toml")
    assert fm.load("model.toml") == model


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "part.step",
            b"ISO-10303-21;",
            "is no model but a CAD file; see flexmbs view, fm.from_step and pp.mesh_cad",
        ),
        ("part.msh", b"$MeshFormat", "is no model but a mesh; see flexmbs view and pp.read_mesh"),
        (
            "part.toml",
            b'format = "flexmbs-part/1"',
            "is no model but a part file; see pp.read_part",
        ),
        ("study.toml", b'format = "flexmbs-sweep/1"', "is no model but a study file"),
        ("page.html", b"<!doctype html>", "is no model but a page"),
        ("hand.stl", b"solid", "is no model but a surface"),
        ("a.h5", b"\x89HDF\r\n\x1a\n", "damaged"),
        ("missing.toml", None, "missing.toml: cannot be read"),
        ("missing.urdf", None, "missing.urdf"),
    ],
)
def test_other_files_are_named(folder, capsys, name, content, message):
    if content is not None:
        Path(name).write_bytes(content)
    with pytest.raises(fm.InputError, match=message.replace(".", r"\.")):
        fm.load(name)
    if name.endswith(".step"):
        pytest.importorskip("netgen", reason="check lists the faces of CAD files")
    code, _, err = command(capsys, "check", name)
    assert code == 2
    assert err.count("\n") == 1


def test_a_solution_or_body_is_no_model(folder, capsys):
    shutil.copy(MESHES / "link.toml", "link.toml")
    code, _, err = command(capsys, "run", "link.toml")
    assert (code, "is no model but a part file" in err) == (2, True)

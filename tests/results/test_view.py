"""Pages with the player alone: models at their start, robots, notebooks, the command."""

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runs import hanging, parallelogram, rod
from test_player import turned
from test_stress import mechanism, stressed_beam

import flexmbs as fm
from flexmbs.__main__ import main
from flexmbs.player.arrays import read
from flexmbs.report.model_at_start import start_of
from flexmbs.report.page import page
from flexmbs.results.summary import summary
from flexmbs.scene.contact_shapes import touching_shapes
from flexmbs.scene.scene import Extras, scene

URDF = """<robot name="two"><link name="base"><visual><geometry><box size="0.2 0.1 0.4"/></geometry></visual></link>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><origin xyz="0 0 0.5" rpy="1.5707963267948966 0 0"/><geometry><cylinder radius="0.1" length="1"/></geometry>
<material name="red"><color rgba="1 0 0 1"/></material></visual>
<visual><geometry><mesh filename="part.stl" scale="0.001 0.001 0.001"/></geometry></visual>
<visual><geometry><mesh filename="part.dae"/></geometry></visual></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""
MJCF = """<mujoco><worldbody><body name="finger"><joint name="base" axis="0 1 0" range="-90 90"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.3" contype="0" conaffinity="0"/></body></worldbody></mujoco>"""
LIMITS = "limits of 1 joint; limits=True adds them"
SDF = """<sdf version="1.11"><model name="door"><link name="leaf"><inertial><mass>2</mass></inertial></link>
<joint name="hinge" type="revolute"><parent>world</parent><child>leaf</child></joint></model></sdf>"""
STL = """solid t
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1000 0 0
vertex 0 1000 0
endloop
endfacet
endsolid t
"""


def scene_in(text: str) -> dict[str, Any]:
    """The scene of a page."""
    [found] = re.findall(r'id="flexmbs-scene">(.*?)</script>', text, re.DOTALL)
    return json.loads(found)  # type: ignore[no-any-return]


def test_a_model_at_its_start_has_frames_and_joints_and_no_forces() -> None:
    model = mechanism(stressed_beam())
    table = scene_in(model.show(browser=False).text)
    assert table["time"] == [0.0, 0.0, 1]
    assert [joint["name"] for joint in table["joints"]] == ["hinge", "elbow"]
    assert table["arrows"] == table["touches"] == []
    p = read(table["data"], table["rotation"])[0, 0]
    np.testing.assert_allclose(turned(p) @ [1.0, 0, 0], [np.cos(0.3), 0.0, -np.sin(0.3)], atol=1e-4)


def test_a_loop_that_does_not_close_is_shown_as_declared_with_the_reason() -> None:
    model = parallelogram()
    model.bodies["coupler"] = fm.RigidBody(
        "coupler",
        mass=1.0,
        inertia=(1e-3, 0.1, 0.1),
        frames={"left": (0.0, 0.0, 0.0), "right": (5.0, 0.0, 0.0)},
    )
    start = start_of(model)
    assert "declared positions, not assembled" in start.notes[0]
    assert len(start.solution.t) == 1
    assert scene_in(model.show(browser=False).text)["notes"] == start.notes
    with pytest.raises(fm.InputError, match="joints"):
        fm.simulate(model, t_end=0.1, step=0.01)


def test_a_notebook_gets_a_frame_and_others_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    view = hanging().show()
    assert len(opened) == 1
    assert Path(opened[0].removeprefix("file://")).read_text(encoding="utf-8") == view.text
    frame = view._repr_html_()
    assert html.unescape(frame.split('srcdoc="')[1].split('"')[0]) == view.text
    monkeypatch.setitem(__import__("sys").modules, "ipykernel", object())
    hanging().show()
    assert len(opened) == 1


def test_the_command_writes_pages_of_models_solutions_and_robots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    hanging().save("arm.toml")
    fm.simulate(hanging(), t_end=0.1, step=0.01).save("run.h5")
    Path("two.urdf").write_text(URDF)
    stressed_beam().save("beam.h5")
    Path("finger.xml").write_text(MJCF)
    Path("door.sdf").write_text(SDF)
    for file in ("arm.toml", "run.h5", "two.urdf", "beam.h5", "finger.xml", "door.sdf"):
        with pytest.raises(SystemExit) as stopped:
            main(["view", file])
        assert not stopped.value.code
    pages = {
        path.name: scene_in(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.html")
    }
    assert set(pages) == {
        f"{name}.view.html" for name in ("arm", "run", "two", "beam", "finger", "door")
    }
    assert capsys.readouterr().err == f"warning: finger.xml: left out: {LIMITS}\n"
    assert pages["finger.view.html"]["notes"] == [f"left out: {LIMITS}"]
    assert [joint["name"] for joint in pages["door.view.html"]["joints"]] == ["hinge"]
    assert len(pages["beam.view.html"]["modes"]) == 1
    assert pages["run.view.html"]["time"] == [0.0, 0.1, 11]
    with pytest.raises(SystemExit) as stopped:
        main(["view", "arm.toml", "-o", "run.h5"])
    assert stopped.value.code == 2
    with pytest.raises(SystemExit) as stopped:
        main(["view", "arm.toml", "-o", "arm.pdf"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.endswith(
        "only reports of one run also as PDF; use the suffix .html\n"
    )


def test_visuals_of_a_robot_are_in_the_axes_of_its_bodies(tmp_path: Path) -> None:
    (tmp_path / "two.urdf").write_text(URDF)
    (tmp_path / "part.stl").write_text(STL)
    robot = fm.Robot.from_urdf(tmp_path / "two.urdf")
    base, cylinder, part = robot.solids()
    assert (base.body, cylinder.body, part.body) == ("ground", "arm", "arm")
    np.testing.assert_allclose(np.ptp(base.vertices, axis=0), [0.2, 0.1, 0.4])
    # along y, about (0, 0, 0.5)
    np.testing.assert_allclose(cylinder.vertices.min(axis=0), [-0.1, -0.5, 0.4], atol=2e-3)
    np.testing.assert_allclose(cylinder.vertices.max(axis=0), [0.1, 0.5, 0.6], atol=2e-3)
    assert cylinder.colour == (1.0, 0.0, 0.0, 1.0)
    assert part.vertices.max() == pytest.approx(1.0)
    a, b, c = np.moveaxis(cylinder.vertices[cylinder.triangles], 1, 0)
    # outward
    assert np.einsum("ta,ta->", a, np.cross(b, c)) / 6 == pytest.approx(np.pi * 0.01, rel=0.02)
    table = scene_in(robot.show([0.3], browser=False).text)
    assert any("part.dae" in note for note in table["notes"])
    assert len(table["scenery"]) == 1
    assert len(table["bodies"][0]["solids"]) == 2
    solution = fm.simulate(robot.model, t_end=0.02, step=0.01)
    assert (
        len(
            scene_in(solution.show(solids=robot.solids(), browser=False).text)["bodies"][0][
                "solids"
            ]
        )
        == 2
    )


def test_balls_and_wheels_have_the_size_of_their_contacts() -> None:
    model = fm.Model("ball")
    body = model.add(
        fm.RigidBody("ball", mass=1.0, inertia=(1e-3,) * 3, frames={"centre": (0.1, 0.0, 0.0)})
    )
    model.add(fm.SpherePlane("floor", model.ground, body["centre"], radius=0.05))
    model.add(fm.Free("free", model.ground, body, q0=(0, 0, 1, 1, 0, 0, 0)))
    other = model.add(rod("other"))
    model.add(fm.Revolute("hinge", model.ground, other["hinge"], axis="y"))
    table = scene(start_of(model).solution, Extras(forces=False))
    assert table["bodies"][0]["shapes"][0] == {
        "kind": "ball",
        "at": [0.1, 0.0, 0.0],
        "radius": 0.05,
    }
    wheel = fm.Model("wheel")
    disc = wheel.add(fm.RigidBody("disc", mass=1.0, inertia=(1e-3, 2e-3, 1e-3)))
    wheel.add(fm.RollingDisc("rolls", wheel.ground, disc, radius=0.3))
    [(ref, shape)] = touching_shapes(wheel)
    assert (str(ref), shape["kind"], shape["radius"]) == ("disc", "rod", 0.3)


def test_a_solution_whose_user_functions_are_missing_has_a_page_without_their_arrows(
    tmp_path: Path,
) -> None:
    model = hanging()
    model.add(
        fm.UserForce(
            "wind", "rod/tip", lambda t, r, A, v, w: [1.0 + 0.0 * t, 0.0, 0.0, 0.0, 0.0, 0.0]
        )
    )
    solution = fm.simulate(model, t_end=0.05, step=0.01)
    assert {arrow["name"] for arrow in scene(solution)["arrows"]} == {"hinge", "wind"}
    solution.save(tmp_path / "run.h5")
    fm.Solution.load(tmp_path / "run.h5").report(tmp_path / "run.html")
    table = scene_in((tmp_path / "run.html").read_text(encoding="utf-8"))
    assert [arrow["name"] for arrow in table["arrows"]] == ["hinge"]
    assert any("arrows of forces are not shown: forces.wind" in note for note in table["notes"])


def test_contacts_show_when_they_are_closed() -> None:
    model = fm.Model("falling ball")
    body = model.add(fm.RigidBody("ball", mass=1.0, inertia=(1e-3,) * 3))
    model.add(fm.Free("free", model.ground, body, q0=(0, 0, 0.25, 1, 0, 0, 0)))
    model.add(fm.SpherePlane("floor", model.ground, body, radius=0.05))
    table = scene(
        fm.simulate(model, t_end=0.4, step=1e-3, output_step=1e-2, integrator="moreau-jean")
    )
    [touch] = table["touches"]
    closed = read(table["data"], touch["closed"])
    fall = np.sqrt(2 * 0.2 / 9.81)  # s
    times = np.linspace(0.0, 0.4, table["time"][2])
    assert not closed[times < fall - 0.01].any()
    assert closed[times > fall + 0.02].all()


def test_a_rail_has_its_stops() -> None:
    model = fm.Model("carriage", gravity=(0.0, 0.0, -9.81))
    carriage = model.add(fm.RigidBody("carriage", mass=1.0, inertia=(0.01, 0.01, 0.01)))
    model.add(fm.Prismatic("rail", model.ground, carriage, axis="x", v0=1.0))
    model.add(fm.JointLimit("buffer", "rail", lower=-0.2, upper=0.5))
    pendulum = model.add(
        fm.RigidBody("pendulum", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.0, 0.0, -0.3))
    )
    model.add(fm.Revolute("hinge", carriage, pendulum, axis="y"))
    model.add(fm.JointLimit("turned", "hinge", upper=1.0))
    rail, hinge = scene(start_of(model).solution)["joints"]
    assert rail["axes"][0]["stops"] == [[1.0, -0.2], [-1.0, 0.5]]
    assert "stops" not in hinge["axes"][0]


def test_a_page_of_one_picture_has_no_empty_bars() -> None:
    text = hanging().show(browser=False).text
    assert "<nav>" not in text
    assert 'class="tiles"' not in text
    run = fm.simulate(hanging(), t_end=0.02, step=0.01)
    assert "<nav>" in page(run, summary(run))


def standing(height: float, *, hanging: bool = False) -> list[np.ndarray]:
    """Heights of the vertices of each stand of a turning arm, or of a pendulum, on a joint above
    the ground.
    """
    model = fm.Model("standing", frames={"post": (0.2, 0.0, height)})
    axis, sizes = ("y", (0.01, 0.1, 0.1)) if hanging else ("z", (0.01, 0.1, 0.1))
    arm = model.add(
        fm.RigidBody("arm", mass=1.0, com=(0.3, 0, 0), inertia=sizes, frames={"tip": (0.6, 0, 0)})
    )
    model.add(fm.Revolute("hinge", model.ground["post"], arm, axis=axis, v0=1.0))
    table = scene(fm.simulate(model, t_end=1.0, step=0.05))
    return [
        height + read(table["data"], part["vertices"])[:, 2]
        for each in table["elements"]
        if each["group"] == "Ground pivots"
        for part in each["parts"]
    ]


def test_machines_above_the_ground_stand_on_it() -> None:
    """From the grid to the joint, where nothing moves below it; a pendulum hangs from a bracket
    beside it, and a pivot on the ground has a plate.
    """
    (column,) = standing(0.5)
    assert column.min() == pytest.approx(0.0, abs=1e-4)
    assert column.max() == pytest.approx(0.5, abs=1e-4)
    (bracket,) = standing(0.5, hanging=True)
    assert np.abs(bracket - 0.5).max() < 0.1
    (plate,) = standing(0.0)
    assert plate.max() == pytest.approx(0.0, abs=1e-4)
    assert plate.min() > -0.02


def test_what_nothing_holds_has_no_support() -> None:
    model = fm.Model("ball", gravity=(0.0, 0.0, -9.81))
    ball = model.add(fm.RigidBody("ball", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Pose("free", model.ground, ball, q0=(0, 0, 1.0, 1, 0, 0, 0)))
    table = scene(fm.simulate(model, t_end=0.1, step=0.01))
    assert table["elements"] == []

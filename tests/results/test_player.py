"""Data of the playback: what the script decodes is the motion and the stress of the solution, to
the stated steps.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from runs import driven_rod, hanging, parallelogram
from test_stress import mechanism, stressed_beam

import flexmbs as fm
from flexmbs.api.solution import Solution
from flexmbs.flexible_body.components import Surface
from flexmbs.flexible_body.stress import von_mises
from flexmbs.model.joints import Universal
from flexmbs.player.arrays import Buffer, read
from flexmbs.player.decomposition import decomposed
from flexmbs.player.markup import HERE, player_code, scene_text
from flexmbs.player.plots import plots
from flexmbs.player.solids import Solid
from flexmbs.player.surface import MOST_TRIANGLES, thinned_surface
from flexmbs.report.curves import joints
from flexmbs.report.page import page
from flexmbs.report.plots import Plots
from flexmbs.results.summary import summary
from flexmbs.scene.bounds import bounds, size_of
from flexmbs.scene.frame_times import MOST, playback_solution, turn_note
from flexmbs.scene.joint_marks import axes_of
from flexmbs.scene.scene import Extras, scene, scene_of_two

NASTY = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def solution() -> Solution:
    return fm.simulate(mechanism(stressed_beam(yield_stress=1e3)), t_end=0.02, step=0.002)


def turned(p: np.ndarray) -> np.ndarray:
    """Matrix of Euler parameters, by the textbook formula."""
    a, b, c, d = p / np.linalg.norm(p)
    return np.array(
        [
            [1 - 2 * (c * c + d * d), 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), 1 - 2 * (b * b + d * d), 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c)],
        ]
    )


@pytest.mark.parametrize("delta", [False, True])
@pytest.mark.parametrize("kind", ["i2", "i4"])
def test_arrays_are_read_within_half_a_step(kind: str, delta: bool) -> None:
    values = np.random.default_rng(0).normal(size=(7, 5, 3)) + [10.0, -3.0, 0.0]
    buffer = Buffer()
    buffer.add(np.arange(5), "u1")
    stored = buffer.steps(values, 1e-4, kind=kind, offset=[10.0, -3.0, 0.0], delta=delta)
    assert np.abs(read(buffer.text(), stored) - values).max() <= 0.5 * stored["step"] * (1 + 1e-9)
    assert stored["step"] == pytest.approx(
        max(1e-4, np.abs(values - [10.0, -3.0, 0.0]).max() / 32767 if kind == "i2" else 0.0)
    )


def test_decomposition_is_within_its_bound_and_exact_at_full_rank() -> None:
    rng = np.random.default_rng(1)
    shapes, factors = (
        rng.normal(size=(60, 9)),
        rng.normal(size=(9, 40)) * 10.0 ** -np.arange(9)[:, None],
    )
    exact = shapes @ factors
    for tolerance in (1e-1, 1e-3, 0.0):
        found = decomposed(shapes, factors, tolerance)
        assert np.abs(found.columns @ found.factors - exact).max() <= found.error + 1e-12
        assert np.abs(found.factors).max() <= 1 + 1e-12
    assert found.columns.shape == (60, 9)
    assert decomposed(shapes, factors, 1e-1).columns.shape[1] < 9


def test_a_fit_shows_whole_spheres() -> None:
    model = fm.Model("ball", gravity=(0.0, 0.0, -9.81))
    ball = model.add(fm.RigidBody("ball", mass=1.0, inertia=(0.01, 0.01, 0.01)))
    model.add(fm.Translation("free", model.ground, ball, q0=(0.0, 0.0, 1.0)))
    model.add(fm.SpherePlane("foot", model.ground, ball, radius=0.3))
    found = scene(fm.simulate(model, t_end=0.05, step=0.01, integrator="moreau-jean"))
    np.testing.assert_allclose(
        found["low"][:2] + found["high"], [-0.3, -0.3, 0.3, 0.3, 1.3], atol=1e-9
    )


def test_a_fit_shows_whole_boxes_of_inertia() -> None:
    """A cube of 1 kg with an edge of 0.3 m, turned by 45°,
    between frames that are nearer together.
    """
    model = fm.Model("cube")
    cube = model.add(fm.RigidBody("cube", mass=1.0, inertia=(0.015,) * 3))
    arm = model.add(
        fm.RigidBody("arm", mass=1.0, inertia=(0.1,) * 3, frames={"end": (1.0, 0.0, 0.0)})
    )
    model.add(fm.Pose("free", model.ground, arm))  # without a support, which is in the picture too
    model.add(fm.Revolute("pin", arm["end"], cube, axis="y", q0=np.pi / 4))
    found = scene(fm.simulate(model, t_end=1e-3, step=1e-3))
    half = 0.15 * np.sqrt(2.0)
    np.testing.assert_allclose(
        [found["high"][0], found["high"][2], found["low"][2]], [1.0 + half, half, -half], atol=1e-5
    )
    np.testing.assert_allclose([found["high"][1], found["low"][1]], [0.15, -0.15], atol=1e-5)


def test_decoded_vertices_are_those_of_the_solution(solution: Solution) -> None:
    table = scene(solution)
    text = table["data"]
    x, p = read(text, table["position"]), read(text, table["rotation"])
    for k, body in enumerate(table["bodies"]):
        part, view = table["parts"][body["part"]], solution.body(body["name"])
        nodes, shapes = read(text, part["vertices"]), read(text, part["shapes"])
        factors = read(text, body["factors"])
        surface = solution.compiled.data[body["name"]].surface
        assert surface is not None
        deflection = np.abs(np.einsum("nak,tk->tna", surface.phi, view.elastic)).max()
        assert deflection > 1e-6
        for i in range(len(solution.t)):
            u = np.einsum("r,rna->na", factors[i], shapes)
            exact = np.einsum("nak,k->na", surface.phi, view.elastic[i])
            assert np.abs(u - exact).max() <= 2e-3 * deflection
            world = (nodes + u) @ turned(p[i, k]).T + x[i, k]
            expected = (surface.nodes + exact) @ view.rotation[i].T + view.position[i]
            assert np.abs(world - expected).max() <= 1e-4  # of 1 m


def test_decoded_stress_is_that_of_the_solution_with_static_corrections(solution: Solution) -> None:
    table = scene(solution)
    largest = table["fields"]["stress"]
    most = 0.0
    for body in table["bodies"]:
        shapes = read(table["data"], table["parts"][body["part"]]["stress"])
        factors = read(table["data"], body["stress"])
        view = solution.body(body["name"]).stress
        history = view.history(view.node_ids[:7])
        found = von_mises(np.einsum("tr,rnc->tnc", factors, shapes)[:, :7])
        assert np.abs(found - history.von_mises[:, :7]).max() <= 5e-3 * largest
        most = max(most, float(history.von_mises.max()))
    assert most > 0.9 * largest


def test_frames_joints_and_forces_are_where_the_solution_has_them(solution: Solution) -> None:
    table = scene(solution)
    text = table["data"]
    names = [frame["name"] for frame in table["frames"]]
    assert {"beam/hub", "beam/tip", "other/hub", "other/tip", "ground", "ground/wall"} <= set(names)
    tip = table["frames"][names.index("beam/tip")]
    beam = solution.body("beam")
    local = np.array(tip["rest"][:3]) + read(text, tip["moved"])
    world = np.einsum("tij,tj->ti", beam.rotation, local) + beam.position
    np.testing.assert_allclose(world, solution.frame("beam/tip").position, atol=1e-6)
    arrows = {
        (arrow["name"], names[arrow["frame"]], arrow.get("turns", False)): arrow
        for arrow in table["arrows"]
    }
    assert arrows["push", "beam/tip", False]["group"] == "load"
    push = read(text, arrows["push", "beam/tip", False]["vector"])
    turn = read(text, arrows["push", "beam/tip", True]["vector"])
    np.testing.assert_allclose(turn, np.tile([0.1, 0.2, 0.3], (len(turn), 1)), atol=1e-4)
    np.testing.assert_allclose(push, np.tile([0.5, 1.0, 3.0], (len(push), 1)), atol=1e-3)
    elbow = read(text, arrows["elbow", "other/hub", False]["vector"])
    np.testing.assert_allclose(
        elbow, solution.joint("elbow").force, atol=1e-3 * np.abs(elbow).max()
    )
    assert [joint["axes"][0]["axis"] for joint in table["joints"]] == [
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
    ]
    assert table["chain"] == [
        [0, names.index("ground"), names.index("beam/hub")],
        [1, names.index("beam/tip"), names.index("other/hub")],
    ]


def test_a_spring_pulls_along_its_line(solution: Solution) -> None:
    table = scene(solution)
    names = [frame["name"] for frame in table["frames"]]
    [arrow] = [a for a in table["arrows"] if a["name"] == "spring"]
    assert names[arrow["frame"]] == "beam/tip"
    pull = read(table["data"], arrow["vector"])
    line = np.array([2.0, 0.1, 0.5]) - solution.frame("beam/tip").position
    assert (
        np.linalg.norm(np.cross(pull, line), axis=1)
        <= 2e-3 * np.linalg.norm(pull, axis=1) * np.linalg.norm(line, axis=1)
    ).all()


def test_rigid_bodies_have_rods_between_their_frames() -> None:
    table = scene(fm.simulate(parallelogram(), t_end=0.02, step=0.01))
    left = table["bodies"][0]["shapes"]
    assert [(shape["kind"], shape["from"], shape["to"]) for shape in left] == [
        ("rod", [0.0, 0.0, 0.0], [0.6, 0.0, 0.0])
    ]
    assert [joint["name"] for joint in table["joints"]] == ["A", "B", "C", "D"]
    assert "stress" not in table["fields"]


def test_a_body_with_one_frame_is_the_box_of_its_inertia() -> None:
    model = fm.Model("box")
    a, b, c, mass = 0.1, 0.2, 0.3, 6.0
    inertia = (
        mass * (b * b + c * c) / 12,
        mass * (a * a + c * c) / 12,
        mass * (a * a + b * b) / 12,
    )
    body = model.add(fm.RigidBody("box", mass=mass, inertia=inertia))
    model.add(fm.Revolute("hinge", model.ground, body, axis="y"))
    far = model.add(
        fm.RigidBody(
            "far", mass=1.0, inertia=(1, 1, 1), frames={"near": (0, 0, 0), "end": (2, 0, 0)}
        )
    )
    model.add(fm.Revolute("other", model.ground, far["near"], axis="y"))
    shape = scene(fm.simulate(model, t_end=0.01, step=0.01))["bodies"][0]["shapes"][0]
    assert shape["kind"] == "box"
    edges = np.abs(turned(np.array(shape["pose"][3:])) @ np.array(shape["size"]))
    np.testing.assert_allclose(edges, [a, b, c], rtol=1e-9)


def test_many_outputs_are_thinned_and_said() -> None:
    solution = fm.simulate(hanging(), t_end=1.0, step=1e-3)
    shown, notes = playback_solution(solution)
    assert len(shown.t) == MOST + 1
    assert f"{MOST + 1} instants of {len(solution.t)} outputs" in notes[0]
    few = fm.simulate(hanging(), t_end=0.1, step=1e-2)
    assert playback_solution(few) == (few, [])


def test_fast_rotation_is_said() -> None:
    assert turn_note({"disc": 200.0}, 0.01) == [
        "body disc turns by up to 115° between two instants: its sense of rotation may "
        "appear reversed"
    ]
    assert turn_note({"disc": 100.0}, 0.01) == []
    table = scene(fm.simulate(driven_rod(20.0), t_end=1.0, step=1e-2, output_step=0.1))
    assert any("rod turns by up to 115°" in note for note in table["notes"])


def test_quaternions_do_not_jump() -> None:
    solution = fm.simulate(driven_rod(30.0), t_end=0.6, step=1e-3, output_step=5e-3)
    table = scene(solution)
    p = read(table["data"], table["rotation"])[:, 0]
    assert solution.joint("hinge").position[-1, 0] > 2 * np.pi
    assert np.abs(np.diff(p, axis=0)).max() < 0.1


def test_large_surfaces_are_thinned_to_nodes_of_the_mesh() -> None:
    n = 140
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n), indexing="ij")
    nodes = np.stack([x.ravel(), y.ravel(), 0.0 * x.ravel()], axis=1)
    k = np.arange(n * n).reshape(n, n)
    a, b, c, d = k[:-1, :-1].ravel(), k[1:, :-1].ravel(), k[1:, 1:].ravel(), k[:-1, 1:].ravel()
    triangles = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    rows, few, notes = thinned_surface(
        Surface(nodes, np.zeros((n * n, 3, 1)), triangles, np.arange(n * n))
    )
    assert len(triangles) > MOST_TRIANGLES >= len(few) > 1000
    assert "of 38642 triangles" in notes[0]
    corners = nodes[rows][few]
    area = (
        0.5
        * np.linalg.norm(
            np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
        ).sum()
    )
    assert area == pytest.approx(1.0, abs=0.05)


def test_axes_between_two_rotations_are_omitted_and_others_fixed() -> None:
    axes = axes_of(Universal("u", "ground", "a").motions, np.zeros((2, 2)))
    assert [(axis["on"], axis["axis"]) for axis in axes] == [
        ("parent", [1.0, 0.0, 0.0]),
        ("child", [0.0, 1.0, 0.0]),
    ]
    cylindrical = axes_of(
        fm.Cylindrical("c", "ground", "a").motions, np.array([[-0.1, 0.0], [0.3, 5.0]])
    )
    assert [(axis["kind"], axis["on"]) for axis in cylindrical] == [
        ("slide", "parent"),
        ("turn", "child"),
    ]
    assert cylindrical[0]["range"] == [-0.1, 0.3]


def test_curves_of_the_page_are_those_of_the_solution_and_its_figures(solution: Solution) -> None:
    table = plots({"joints": joints(solution)})
    angles, rates = table["figures"]["joints"]
    assert angles["title"] == "Joint angles  [rad]"
    assert [curve["name"] for curve in angles["curves"]] == ["hinge.0", "elbow.0"]
    t, y = (read(table["data"], rates["curves"][0][key]) for key in ("t", "y"))
    np.testing.assert_allclose(t, solution.t, atol=1e-8)
    np.testing.assert_allclose(y, solution.joint("hinge").velocity[:, 0], rtol=1e-6)
    assert table["span"] == pytest.approx([solution.t[0], solution.t[-1]])
    assert angles["curves"][0]["t"] == rates["curves"][1]["t"]  # stored once
    figure = Plots(solution).joints()
    assert figure is not None
    assert [ax.get_title("left") for ax in figure.axes] == [angles["title"], rates["title"]]
    np.testing.assert_array_equal(
        figure.axes[1].get_lines()[0].get_ydata(), solution.joint("hinge").velocity[:, 0]
    )


def test_the_scene_text_ends_no_element() -> None:
    plain = NASTY.replace("/", "")  # names have no slash
    model = fm.Model(f"{plain} & <!--")
    body = model.add(fm.RigidBody(plain, mass=1.0, inertia=(1, 1, 1), frames={"<b>": (1, 0, 0)}))
    model.add(fm.Revolute(f"]]> {plain}", model.ground, body["<b>"], axis="y"))
    solution = fm.simulate(model, t_end=0.02, step=0.01)
    table = scene(solution)
    text = scene_text(table | {"part": NASTY})
    assert not set("<>&") & set(text)
    assert (json.loads(text)["name"], json.loads(text)["part"]) == (f"{plain} & <!--", NASTY)
    whole = page(solution, summary(solution))
    assert "<img src=x" not in whole
    assert whole.count("</script>") == 3


def test_the_policy_allows_the_code_of_the_page_alone() -> None:
    import base64
    import hashlib

    solution = fm.simulate(hanging(), t_end=0.02, step=0.01)
    whole = page(solution, summary(solution))
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', whole)
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; base-uri 'none'; form-action 'none'")
    assert "unsafe" not in policy
    for element in ("style", 'script type="module"'):
        [code] = re.findall(f"<{element}>(.*?)</{element.split()[0]}>", whole, re.DOTALL)
        assert base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() in policy
    assert whole.index("Content-Security-Policy") < whole.index("<style")
    assert not re.findall(r'\sstyle="|\son\w+="', whole)


def test_modules_have_unique_names_and_reach_the_script() -> None:
    sources = {path.stem: path.read_text(encoding="utf-8") for path in (HERE / "js").glob("*.js")}
    names = [
        name
        for text in sources.values()
        for name in re.findall(
            r"^(?:export )?(?:const|class|(?:async )?function) (\w+)", text, re.M
        )
    ]
    assert len(names) == len(set(names))
    script = player_code().script
    assert all(
        f"class {name}" in script
        for name in ("Scene", "Camera", "Renderer", "Viewer", "Player", "Clock")
    )
    assert not re.findall(r"^(?:import|export) ", script, re.M)
    assert "</" not in script


def test_bounds_hold_the_motion_and_point_up() -> None:
    solution = fm.simulate(hanging(angle=1.0), t_end=0.5, step=1e-2)
    points = {"rod": np.array([[0.0, 0, 0], [0.6, 0, 0]])}
    box = bounds(solution, points, size_of(solution, points))
    tip = solution.frame("rod/tip").position
    assert (box.low <= tip.min(axis=0) + 1e-3).all()
    np.testing.assert_array_equal(box.up, [0.0, 0.0, 1.0])
    assert box.ground < tip[:, 2].min()
    assert abs(box.view @ [0.0, 1.0, 0.0]) > 0.5  # onto the plane of motion
    assert len(box.extremes) <= 60


def test_the_picture_holds_every_corner_of_solids() -> None:
    """Of boxes on bodies and on the ground; one far larger than the machine, as a hall, is not to
    make it small.
    """
    corners = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    triangles = np.array([[0, 1, 3], [4, 6, 7]])
    boxes = [("ground", 0.5 * corners), ("rod", 0.3 * corners), ("ground", 50.0 * corners)]
    solids = [Solid(body, x, triangles) for body, x in boxes]
    table = scene(fm.simulate(hanging(angle=0.2), t_end=0.02, step=0.01), Extras(solids=solids))
    seen = np.array(table["extremes"])
    assert all(np.abs(seen - corner).max(axis=1).min() < 1e-12 for corner in 0.5 * corners)
    assert np.abs(seen).max() < 2.0
    assert table["ground"] < -0.5


def test_a_run_that_stopped_at_its_start_has_one_instant(tmp_path: Path) -> None:
    solution = fm.simulate(hanging(), t_end=0.02, step=0.01)
    first = replace(
        solution,
        trajectory=type(solution.trajectory)(
            *(values[:1] if len(values) else values for values in solution.trajectory)
        ),
    )
    assert scene(first)["time"] == [0.0, 0.0, 1]


def test_two_runs_are_one_scene_with_one_scale(solution: Solution) -> None:
    """Each run has its own motion and times; their surfaces are stored once, and the legend holds
    for both.
    """
    faster = mechanism(stressed_beam(yield_stress=1e3))
    faster.joints["hinge"] = replace(faster.joints["hinge"], v0=8.0)
    second = fm.simulate(faster, t_end=0.03, step=0.002)
    table = scene_of_two(solution, second, ("A", "B"))
    other, text = table["other"], table["data"]
    own = [scene(each)["fields"] for each in (solution, second)]
    assert (
        table["fields"]
        == other["fields"]
        == {key: max(each[key] for each in own) for key in own[0]}
    )
    assert own[0] != own[1]
    for run, each in ((solution, table), (second, other)):
        assert each["time"] == pytest.approx([0.0, run.t[-1], len(run.t)])
        position = read(text, each["position"])
        for k, name in enumerate(run.bodies):
            np.testing.assert_allclose(position[:, k], run.body(name).position, atol=1e-5)
    assert [part["triangles"]["at"] for part in table["parts"]] == [
        part["triangles"]["at"] for part in other["parts"]
    ]
    assert len(text) < 1.05 * sum(len(scene(each)["data"]) for each in (solution, second))

"""Results of divided bodies are those of one part: stress and displacement as of the undivided
body, one surface, page, files.
"""

import dataclasses
import functools
import itertools
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp
from flexmbs.command.view import view
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.results import check_cuts as cut_checks
from flexmbs.scene.scene import scene

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0, yield_stress=2.5e8)
ENDS = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
FEW = {
    "interfaces": ENDS,
    "reference": "root",
    "method": pp.CraigBampton(modes=3),
    "damping": 0.01,
    "estimate": False,
}
LENGTH, SIDE, PIECES = 0.6, 0.02, 3


@functools.cache
def bodies(element: str = "hex20", modes: int = 3) -> tuple[fm.FlexibleBodyData, DividedBodyData]:
    """The same bar, undivided and divided."""
    mesh, options = (
        pp.box_mesh((LENGTH, SIDE, SIDE), (12, 2, 2), element),
        FEW | {"method": pp.CraigBampton(modes=modes)},
    )
    return pp.reduce(mesh, STEEL, **options), pp.reduce_divided(
        pp.divide(mesh, pieces=PIECES), STEEL, name="bar", **options
    )


def whole() -> fm.FlexibleBodyData:
    return bodies()[0]


def divided() -> DividedBodyData:
    return bodies()[1]


def bar(data: fm.FlexibleBodyData | DividedBodyData, force: float = 5.0) -> fm.Model:
    """A cantilever with its weight along gravity and a load at its tip."""
    model = fm.Model("bar")
    body = model.add(fm.FlexibleBody("bar", data=data))
    model.add(fm.Fixed("clamp", model.ground, body["root"]))
    model.add(fm.FrameForce("load", body["tip"], force=(0.0, 0.0, -force)))
    return model


def swung(data: fm.FlexibleBodyData | DividedBodyData) -> fm.Model:
    model = fm.Model("crane")
    body = model.add(fm.FlexibleBody("bar", data=data))
    model.add(fm.Revolute("hinge", model.ground, body["root"], axis="y", q0=-0.3))
    model.add(fm.FrameForce("push", body["tip"], force=(0.0, 30.0, 0.0)))
    return model


@pytest.fixture(scope="module")
def run() -> fm.Solution:
    return fm.simulate(swung(divided()), t_end=0.05, step=5e-4)


def test_bodies_print_one_line() -> None:
    assert (
        repr(whole())
        == "<FlexibleBodyData 'hex20 box': 1.884 kg, 9 elastic coordinates, frames root, tip>"
    )
    assert repr(divided()).startswith("<DividedBodyData 'bar': 1.884 kg, 3 pieces, ")


def test_a_divided_body_is_viewed_as_others_are(tmp_path: Path) -> None:
    divided().save(tmp_path / "bar.h5")
    view(
        tmp_path / "bar.h5",
        None,
        browser=False,
        access={"allow_outside": False, "allow_code": False},
    )
    assert "<h1>bar</h1>" in (tmp_path / "bar.view.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("element", ["hex8", "hex20"])
def test_small_deflections_and_stress_are_those_of_the_undivided_body(element: str) -> None:
    """Gravity acts on all pieces; at the cuts, where each piece has its own stress, their mean is
    that of the undivided bar.
    """
    whole, divided = bodies(element, modes=12)
    one, other = (fm.statics(bar(data)).solution for data in (whole, divided))
    a, b = one.body("bar"), other.body("bar")
    nodes = one.shape("bar").surface.node_ids
    away = np.abs(a.displacement(nodes) - b.displacement(nodes))[-1]
    size = np.abs(a.displacement(nodes)).max()
    assert away[:, 1:].max() < 1e-4 * size
    slope = np.abs(a.displacement(nodes)[-1, :, 0]).max() / (SIDE / 2)
    # the shortening ½∫θ² dx is of second order: φ q has none of it
    assert away[:, 0].max() < slope**2 * LENGTH / 3
    assert np.array_equal(np.sort(a.stress.node_ids), np.sort(b.stress.node_ids))
    found, expected = b.stress.field(0.0), a.stress.field(0.0)
    order, back = np.argsort(found.node_ids), np.argsort(expected.node_ids)
    off = np.abs(found.stress[order] - expected.stress[back]).max() / np.abs(expected.stress).max()
    assert off < (4e-3 if element == "hex8" else 2e-3)
    for key in ("force", "torque"):
        assert (
            np.abs(getattr(one.joint("clamp"), key) - getattr(other.joint("clamp"), key)).max()
            < 1e-8 * 23.5
        )


def test_mass_moments_and_frames_are_those_of_the_undivided_body() -> None:
    for key in ("mass", "first_moment", "second_moment"):
        assert np.allclose(
            getattr(divided(), key), getattr(whole(), key), rtol=1e-12, atol=1e-15
        ), key
    for name, frame in whole().frames.items():
        assert np.allclose(divided().frames[name].x, frame.x, rtol=0, atol=1e-15)
        assert np.allclose(divided().frames[name].R, frame.R, rtol=0, atol=1e-15)


@pytest.mark.parametrize("element", ["hex8", "hex20", "tet10"])
def test_the_surface_has_no_seams(element: str) -> None:
    """Nodes of cuts are there once, their faces not at all: the surface is closed and has the area
    of the bar.
    """
    whole, divided = bodies(element)
    joined = divided.joined
    assert joined is not None
    surface = joined.surface
    assert whole.surface is not None
    assert len(surface.triangles) == len(whole.surface.triangles)
    places = {
        tuple(x) for x in whole.surface.nodes[np.unique(whole.surface.triangles)].round(9).tolist()
    }
    assert {
        tuple(x) for x in surface.nodes[np.unique(surface.triangles)].round(9).tolist()
    } == places
    edges = [tuple(pair) for t in surface.triangles.tolist() for pair in zip(t, (*t[1:], t[0]))]
    assert len(set(edges)) == len(edges)
    assert {edge[::-1] for edge in edges} == set(edges)
    a, b, c = (surface.nodes[surface.triangles[:, k]] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2
    assert area == pytest.approx(4 * LENGTH * SIDE + 2 * SIDE**2, rel=1e-12)


def test_nodes_move_as_the_frames_of_the_body(run: fm.Solution) -> None:
    """The end face is rigid: its nodes turn with the frame there, far from the linear range too."""
    bent = fm.statics(bar(divided(), 5000.0)).solution
    view, tip = bent.body("bar"), bent.frame("bar/tip")
    assert tip.position[-1, 2] < -0.1
    surface = bent.shape("bar").surface
    rows = np.flatnonzero(np.abs(surface.nodes[:, 0] - LENGTH) < 1e-9)
    places = surface.nodes[rows] + view.displacement(surface.node_ids[rows])[-1]
    places = places @ view.rotation[-1].T + view.position[-1]
    expected = (surface.nodes[rows] - [LENGTH, 0, 0]) @ tip.rotation[-1].T + tip.position[-1]
    # m: of second order in the turn of its piece, below 0.1 rad
    assert np.abs(places - expected).max() < 1e-4
    assert run.body("bar").elastic.shape == (len(run.t), divided().nf)


@pytest.mark.parametrize(
    ("width", "cuts", "status"),
    [(0.02, "averaged", "PASS"), (0.3, "averaged", "WARN"), (0.3, "full", "PASS")],
)
def test_cuts_whose_sides_do_not_fit_are_found(width: float, cuts: str, status: str) -> None:
    """A plate in torsion, whose pieces are as wide as long, is too soft by 8 %: averaged cuts do
    not transmit how it bends.
    """
    mesh = pp.box_mesh((LENGTH, width, 0.01), (8, 4, 1))
    data = (
        pp.reduce(mesh, STEEL, **FEW),
        pp.reduce_divided(pp.divide(mesh, pieces=2), STEEL, name="bar", cuts=cuts, **FEW),
    )
    turned = []
    for own in data:
        model = bar(own, 0.0)
        model.add(fm.FrameForce("twist", "bar/tip", torque=(1.0, 0.0, 0.0)))
        solution = fm.statics(model).solution
        turned.append(
            solution.frame("bar/tip").rotation[-1, 2, 1]
            - solution.frame("bar/root").rotation[-1, 2, 1]
        )
    (check,) = (check for check in solution.audit if check.title == "Cuts of bar")
    assert check.status == status
    assert (abs(turned[1] / turned[0] - 1) < 0.01) == (status == "PASS")
    (check,) = (
        check
        for check in fm.statics(bar(divided(), 5000.0)).solution.audit
        if check.title == "Cuts of bar"
    )
    assert check.status == "PASS"  # far bending, not warping


def test_cuts_that_do_not_fit_for_a_moment_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long run is looked at some of its outputs, and where its displacement is largest."""
    plate = pp.divide(pp.box_mesh((LENGTH, 0.3, 0.01), (8, 4, 1)), pieces=2)
    model = bar(pp.reduce_divided(plate, STEEL, name="bar", cuts="averaged", **FEW), 0.0)
    model.gravity = (0.0, 0.0, 0.0)
    times = np.arange(12.0)
    model.add(
        fm.FrameForce(
            "twist", "bar/tip", torque=(fm.Table(times, (times == 5.0).astype(float)), 0.0, 0.0)
        )
    )
    monkeypatch.setattr(cut_checks, "MOST_TIMES", 4)
    (check,) = (
        check for check in fm.quasi_static(model, times).audit if check.title == "Cuts of bar"
    )
    assert check.status == "WARN"
    assert "at t = 5 s" in check.found


def tube_in_a_tube() -> pp.Mesh:
    """A rod inside a square tube, joined at the ends: a cut through both has two frames at one
    place.
    """
    box = pp.box_mesh((0.5, 0.35, 0.35), (10, 7, 7), "hex8")
    (block,) = box.blocks.values()
    x, *across = (box.nodes[block.connectivity].mean(axis=1) / 0.05).T
    ring = np.abs(np.array(across) - 3.5).max(axis=0)
    used, rows = np.unique(
        block.connectivity[(ring > 2.5) | (ring < 0.6) | (x < 1) | (x > 9)], return_inverse=True
    )
    sets = {
        "x0": np.flatnonzero(box.nodes[used, 0] < 1e-9),
        "x1": np.flatnonzero(box.nodes[used, 0] > 0.5 - 1e-9),
    }
    return pp.Mesh.from_arrays(box.nodes[used], {"hex8": rows.reshape(-1, 8)}, node_sets=sets)


def test_coaxial_cuts_are_told_apart() -> None:
    """By the nearest frame all nodes were of the first."""
    options = {
        "interfaces": FEW["interfaces"],
        "reference": "root",
        "method": pp.CraigBampton(modes=4),
        "name": "bar",
    }
    data = pp.reduce_divided(
        pp.divide(tube_in_a_tube(), pieces=2), STEEL, **options, estimate=False
    )
    model = bar(data, 0.0)
    model.add(fm.FrameForce("bending", "bar/tip", force=(0.0, 0.0, 1e5)))
    solution = fm.statics(model).solution
    (check,) = (check for check in solution.audit if check.title == "Cuts of bar")
    assert check.status == "PASS", check


def test_pieces_without_common_nodes_are_found() -> None:
    """Whose files were put together by hand, as those of two meshes."""
    first, *others = divided().pieces
    surface = dataclasses.replace(first.surface, node_ids=first.surface.node_ids + 10**6)
    data = DividedBodyData("bar", (dataclasses.replace(first, surface=surface), *others))
    (check,) = (
        check
        for check in fm.statics(bar(data, 5000.0)).solution.audit
        if check.title == "Cuts of bar"
    )
    assert check.status == "FAIL"
    assert "have no common node" in str(check)


def test_hot_spots_envelope_and_history_are_of_one_part(run: fm.Solution) -> None:
    stress = run.body("bar").stress
    spots = stress.hot_spots(4)
    assert spots[0].position[0] < 0.1
    assert len({spot.node for spot in spots}) == 4
    assert stress.nearest((LENGTH / PIECES, SIDE / 2, SIDE / 2)) in stress.node_ids
    cut = stress.nearest((LENGTH / PIECES, SIDE / 2, SIDE / 2))
    history = stress.history(cut)
    assert history.stress.shape == (len(run.t), 1, 6)
    assert history.von_mises.max() == pytest.approx(
        stress.envelope.von_mises[stress.node_ids == cut].item()
    )
    sides = [run.body(f"bar[{k}]").stress.history(cut).stress for k in (1, 2)]
    assert np.allclose(history.stress, np.mean(sides, axis=0), rtol=1e-12)
    assert {check.title for check in run.audit} >= {
        "Deflection of bar",
        "Stress of bar",
        "Modes of bar",
    }
    assert not any("[" in check.title or "bar[" in check.found for check in run.audit)


def test_the_page_has_one_part(run: fm.Solution, tmp_path: Path) -> None:
    shown = scene(run)
    assert [body["name"] for body in shown["bodies"]] == ["bar"]
    assert len(shown["parts"]) == 1
    assert [frame["name"] for frame in shown["frames"]] == ["ground", "bar/root", "bar/tip"]
    assert [joint["name"] for joint in shown["joints"]] == ["hinge"]
    assert shown["chain"] == [[0, 0, 1]]
    assert shown["fields"]["stress"] == pytest.approx(
        run.body("bar").stress.envelope.von_mises.max(), rel=2e-3
    )
    run.report(tmp_path / "bar.html")
    page = (tmp_path / "bar.html").read_text()
    assert page.count("bar[") == page.count("bar cut") == 0
    assert "<td>bar</td><td>flexible</td>" in page


def test_files_and_tables_have_one_part(run: fm.Solution, tmp_path: Path) -> None:
    import h5py

    run.to_csv(tmp_path / "csv")
    names = ["hot-spots-bar.csv", "bodies.csv", "frames.csv", "joints.csv"]
    heads = [(tmp_path / "csv" / name).read_text().splitlines()[0] for name in names]
    assert not any("bar[" in head or "cut" in head for head in heads)
    assert f"bar.mode{divided().nf}" in heads[1]
    run.to_gltf(tmp_path / "bar.glb")
    run.to_vtkhdf(tmp_path / "bar.vtkhdf", instants=2)
    with h5py.File(tmp_path / "bar.vtkhdf") as file:
        assert file["flexmbs"].attrs["bodies"].tolist() == [b"bar"]
        points = file["VTKHDF/Points"][()].reshape(2, -1, 3)
    surface = run.shape("bar").surface
    rows = np.unique(surface.triangles)
    view = run.body("bar")
    moved = surface.nodes[rows] + view.displacement(surface.node_ids[rows])[-1]
    assert np.allclose(points[-1], moved @ view.rotation[-1].T + view.position[-1], atol=1e-6)
    pytest.importorskip("xarray")
    assert run.to_xarray().sizes["mode"] == divided().nf


def test_fatigue_of_one_part(run: fm.Solution) -> None:
    pytest.importorskip("rainflow")
    curve = fm.SNCurve(amplitude=10e6, cycles=1e6, slope=5.0)
    for measure in ("signed von Mises", "critical plane"):
        found = fm.fatigue(run, "bar", curve, hottest=20, measure=measure)
        assert len(found.node_ids) == 20
        assert found.damage.max() > 0.0
    assert len(found.show(browser=False).text) > 1000
    assert len(fm.fatigue(run, "bar", curve, measure="critical plane").node_ids) == len(
        run.body("bar").stress.node_ids
    )


def test_ports_outputs_and_jacobians_name_the_body() -> None:
    model = swung(divided())
    ports = {
        "inputs": {"push": ("force", "bar/tip", "z")},
        "outputs": {"height": ("position", "bar/tip", "z")},
    }
    stepper = fm.Stepper(model, t_end=0.01, step=5e-4, **ports)
    stepper.inputs["push"] = 10.0
    stepper.advance(0.01)
    pushed = swung(divided())
    pushed.add(fm.FrameForce("more", "bar/tip", force=(0.0, 0.0, 10.0)))
    assert stepper.outputs["height"] == pytest.approx(
        fm.simulate(pushed, t_end=0.01, step=5e-4).frame("bar/tip").position[-1, 2], abs=1e-12
    )
    linear = fm.linearize(
        bar(divided(), 0.0),
        inputs=[("force", "bar/tip", "z")],
        outputs=[("position", "bar/tip", "z")],
    )
    compliance = -linear.C @ np.linalg.solve(linear.A, linear.B)
    I = SIDE**4 / 12
    # with rigid ends
    assert compliance.item() == pytest.approx(LENGTH**3 / (3 * 2.1e11 * I), rel=0.015)
    frequencies = [
        fm.linearize(bar(data, 0.0)).modes.frequency[:4] for data in (whole(), divided())
    ]
    assert np.allclose(*frequencies, rtol=5e-3)


def test_parameters_name_the_body() -> None:
    model = bar(divided())
    paths = [path for path in fm.parameters(model) if path.startswith("bodies.")]
    assert not any("[" in path for path in paths)
    swept = fm.sweep(
        swung(divided()),
        {"bodies.bar.damping": [0.01, 0.02]},
        run=fm.Run(t_end=0.002, step=5e-4),
        executor="threads",
        outputs={"tip": lambda solution: solution.frame("bar/tip").position[-1, 2]},
    )
    assert len(set(swept.outputs["tip"].tolist())) == 2


def test_a_function_or_part_file_may_give_a_divided_body() -> None:
    def boom(E: float = 2.1e11) -> DividedBodyData:
        mesh = pp.box_mesh((LENGTH, SIDE, SIDE), (6, 1, 1), "hex8")
        return pp.reduce_divided(
            pp.divide(mesh, pieces=2), pp.Isotropic(E=E, nu=0.0, rho=7850.0), name="bar", **FEW
        )

    built = fm.ModelWithParts(bar(boom(), 1.0), {"bar": boom})
    first, second = (
        fm.linearize(built.made({"parts.bar.E": E})).modes.frequency[0] for E in (2.1e11, 0.525e11)
    )
    assert first / second == pytest.approx(2.0, rel=1e-3)


def test_momentum_and_energy_are_those_of_the_pieces(run: fm.Solution) -> None:
    """Σ of the pieces by their own equations against the whole: E_kin, and the work of gravity on
    the mass of the whole part.
    """
    m, n = divided().mass, len(run.t)
    com = np.zeros((n, 3))
    for k, piece in enumerate(divided().pieces, 1):
        view = run.body(f"bar[{k}]")
        local = piece.first_moment + view.elastic @ piece.S_bar.T
        com += (piece.mass * view.position + np.einsum("tij,tj->ti", view.rotation, local)) / m
    height = com[:, 2] - com[0, 2]
    potential = run.energy.potential - run.energy.potential[0]
    # theirs has the second-order shortening
    assert np.abs(potential - 9.81 * m * height).max() < 1e-4 * np.abs(potential).max()
    assert np.abs(run.energy.balance).max() < 1e-3 * run.energy.scale
    assert all(a <= b + 1e-12 for a, b in itertools.pairwise(run.energy.dissipated))

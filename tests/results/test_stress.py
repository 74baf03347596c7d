"""Stress over a run: loads of a body against Newton's law, histories, envelope, hot spots, files,
report and export.
"""

from dataclasses import replace
from pathlib import Path

import meshio
import numpy as np
import pytest
from hdf5_edits import open_unverified
from test_storage import flexible_pendulum

import flexmbs as fm
import preprocess as pp
from flexmbs.api.solution import Solution
from flexmbs.command.bodies import write_bodies
from flexmbs.errors import InputError
from flexmbs.flexible_body.components import Surface
from flexmbs.flexible_body.stress import StressModes, von_mises
from flexmbs.report.tables import write_tables
from flexmbs.results import linear_range, stress
from flexmbs.results.body_loads import body_loads, frame_wrenches
from flexmbs.results.hot_spots import HotSpots
from flexmbs.results.output_selection import outputs_with_extremes
from flexmbs.results.stress import StressView
from flexmbs.results.summary import checks, summary
from flexmbs.system.check import PASS, WARN

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (-0.05, 0.05) for z in (-0.1, 0.1)])
TRIANGLES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
     [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
)  # fmt: skip
IDS = np.array([11, 12, 13, 14, 25, 26, 27, 28])
STEEL, SOFT = 1 / 2.1e11, 1 / 7e10


def compliance(s: float) -> np.ndarray:
    """Of an isotropic material with ν = 0.3 and E = 1/s."""
    normal = s * (1.3 * np.eye(3) - 0.3)
    return np.block([[normal, np.zeros((3, 3))], [np.zeros((3, 3)), 2.6 * s * np.eye(3)]])


def stressed_beam(
    *, yield_stress: float = np.inf, interfaces: tuple[str, ...] = ("hub", "tip")
) -> fm.FlexibleBodyData:
    """The beam of `flexible_pendulum` as a box with arbitrary stress modes; node 28 has two
    materials.
    """
    rng = np.random.default_rng(3)
    data = flexible_pendulum().bodies["beam"].load()  # type: ignore[attr-defined]
    phi = np.zeros((8, 3, 1))
    phi[4:, 2, 0] = 1.5
    rows = np.array([*range(8), 7])
    material = np.array([0] * 8 + [1])
    modes = StressModes(
        rows,
        rng.normal(size=(9, 6, 1)) * 1e8,
        rng.normal(size=(9, 6, 12 + 6 * len(interfaces))) * 1e5,
        interfaces,
        material,
        np.array([compliance(STEEL), compliance(SOFT)]),
        np.array([np.inf, yield_stress]),
    )
    return replace(data, surface=Surface(CORNERS, phi, TRIANGLES, IDS), stress=modes)


def mechanism(data: fm.FlexibleBodyData) -> fm.Model:
    """Beam on a hinge that carries a second one, with a force,
    a spring and a bushing at its tip.
    """
    model = fm.Model("two beams", gravity=(0.0, 1.0, -9.81), frames={"wall": (2.0, 0.1, 0.5)})
    beam, other = (
        model.add(fm.FlexibleBody("beam", data=data, qf_dot0=(0.3,))),
        model.add(fm.FlexibleBody("other", data=data)),
    )
    model.add(fm.Revolute("hinge", model.ground, beam["hub"], axis="y", q0=0.3, v0=2.0))
    model.add(fm.Revolute("elbow", beam["tip"], other["hub"], axis="z", q0=0.4, v0=-1.0))
    model.add(fm.FrameForce("push", beam["tip"], force=(0.5, 1.0, 3.0), torque=(0.1, 0.2, 0.3)))
    model.add(
        fm.PointSpring("spring", beam["tip"], model.ground["wall"], k=30.0, c=0.2, length=0.3)
    )
    model.add(fm.Bushing("bushing", other["tip"], model.ground["wall"], k=(2.0,) * 6, c=(0.1,) * 6))
    return model


@pytest.fixture(scope="module")
def solution() -> Solution:
    return fm.simulate(mechanism(stressed_beam(yield_stress=1e3)), t_end=0.02, step=0.002)


def view_of(solution: Solution, body: str = "beam") -> StressView:
    return solution.body(body).stress


@pytest.mark.parametrize("body", ["beam", "other"])
def test_wrenches_on_frames_obey_newton_and_euler(solution: Solution, body: str) -> None:
    """Σ F = ∫ (r̈ − g) dm and Σ (x × F + M) = ∫ u × (r̈ − g) dm, r̈ − g = a − g + ω̇ × u + ω × (ω ×
    u) + 2 ω × u̇ + φ q̈.
    """
    data, view = solution.compiled.data[body], solution.body(body)
    A = view.rotation
    gravity = solution.compiled.model.gravity
    a, al, w = (
        np.einsum("tji,tj->ti", A, v)
        for v in (view.acceleration - gravity, view.angular_acceleration, view.angular_velocity)
    )
    q, qd = view.elastic[:, 0], view.elastic_rate[:, 0]
    qdd = solution.sd[:, 1 if body == "beam" else 3]
    S = data.S_bar[:, 0]
    c = data.first_moment + np.outer(q, S)
    force = data.mass * a + np.cross(al, c) + np.cross(w, np.cross(w, c))
    force += 2 * np.cross(w, np.outer(qd, S)) + np.outer(qdd, S)
    found = frame_wrenches(solution, body)
    np.testing.assert_allclose(
        sum(each[:, :3] for each in found.values()), force, atol=1e-9 * np.abs(force).max()
    )
    # second moments P_ij = ∫u_i u_j dm and N_ij = ∫u_i φ_j dm of the deformed body
    N = data.xS[:, :, 0] + q[:, None, None] * data.SS[:, :, 0, 0]
    P = data.second_moment + q[:, None, None] * (data.xS[:, :, 0] + N.transpose(0, 2, 1))
    along = np.einsum("tij,tj->ti", P, w)
    moment = np.cross(c, a) + np.cross(w, -along)
    moment += np.trace(P, axis1=1, axis2=2)[:, None] * al - np.einsum("tij,tj->ti", P, al)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        moment[:, i] += qdd * (N[:, j, k] - N[:, k, j])
        turned = np.cross(w[:, None, :], N)  # ω × φ weighted by each u_i
        moment[:, i] += 2 * qd * (turned[:, j, k] - turned[:, k, j])
    about = sum(
        np.cross(data.frames[name].x + np.outer(q, data.frames[name].phi[:, 0]), each[:, :3])
        + each[:, 3:]
        for name, each in found.items()
    )
    np.testing.assert_allclose(about, moment, atol=1e-9 * np.abs(moment).max())


def test_factors_of_unit_loads(solution: Solution) -> None:
    loads, view = body_loads(solution, "beam", ("hub", "tip")), solution.body("beam")
    assert loads.uncorrected == ()
    assert loads.factors.shape == (len(solution.t), 24)
    i = 4
    A = view.rotation[i]
    w = A.T @ view.angular_velocity[i]
    np.testing.assert_allclose(
        loads.factors[i, :3], A.T @ (view.acceleration[i] - [0, 1.0, -9.81]), rtol=1e-12
    )
    np.testing.assert_allclose(
        loads.factors[i, 6:12], [*(w * w), w[0] * w[1], w[1] * w[2], w[2] * w[0]], rtol=1e-12
    )
    np.testing.assert_allclose(
        loads.factors[i, 12:15], A.T @ solution.joint("hinge").force[i], rtol=1e-12
    )
    assert body_loads(solution, "beam", ("hub",)).uncorrected == ("beam/tip",)


def test_history_is_the_sum_of_its_parts(solution: Solution) -> None:
    data, view = solution.compiled.data["beam"], view_of(solution)
    assert data.stress is not None
    found = view.history([26, 28])
    np.testing.assert_array_equal(found.node_ids, [26, 28, 28])
    zeta = body_loads(solution, "beam", ("hub", "tip")).factors
    for column, row in enumerate((5, 7, 8)):
        expected = (
            solution.body("beam").elastic @ data.stress.modes[row].T
            + zeta @ data.stress.correction[row].T
        )
        np.testing.assert_allclose(found.stress[:, column], expected, rtol=1e-12)
    np.testing.assert_allclose(
        found.strain[:, 1, 0],
        found.stress[:, 1, :3] @ [STEEL, -0.3 * STEEL, -0.3 * STEEL],
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        found.strain[:, 2, 4], 2.6 * SOFT * found.stress[:, 2, 4], rtol=1e-12
    )
    tensor = found.stress[3, 0][[[0, 3, 5], [3, 1, 4], [5, 4, 2]]]
    sizes, directions = found.principal[3, 0], found.directions[3, 0]
    np.testing.assert_allclose(
        directions @ np.diag(sizes) @ directions.T, tensor, atol=1e-9 * np.abs(tensor).max()
    )
    assert sizes[0] >= sizes[1] >= sizes[2]
    differences = (
        (sizes[0] - sizes[1]) ** 2 + (sizes[1] - sizes[2]) ** 2 + (sizes[2] - sizes[0]) ** 2
    )
    np.testing.assert_allclose(found.von_mises[3, 0], np.sqrt(differences / 2), rtol=1e-12)
    field = view.field(solution.t[3] + 4e-4)
    assert field.t == solution.t[3]
    np.testing.assert_allclose(field.stress[5], found.stress[3, 0], rtol=1e-12)


def test_displacement_of_nodes(solution: Solution) -> None:
    body = solution.body("beam")
    found = body.displacement([27, 12])
    np.testing.assert_allclose(found[:, 0], np.outer(body.elastic[:, 0], [0, 0, 1.5]))
    assert not found[:, 1].any()
    with pytest.raises(InputError, match="node 3 is not in the mesh of body 'beam'"):
        body.displacement(3)


def test_reactions_that_are_not_unique_are_named() -> None:
    """A second hinge on the first one's axis: three rows depend on the others."""
    model = fm.Model("two hinges", gravity=(0, 0, -9.81), frames={"second": (0.0, 0.0, 0.0)})
    beam = model.add(fm.FlexibleBody("beam", data=stressed_beam()))
    model.add(fm.Revolute("left", model.ground, beam["hub"], axis="y"))
    model.add(fm.Revolute("right", model.ground["second"], beam["hub"], axis="y"))
    solution = fm.simulate(model, t_end=0.004, step=0.002)
    assert view_of(solution).open_joints == ("left", "right")
    assert "reactions of left, right are not unique" in " ".join(
        summary(solution)["stress"]["beam"]["notes"]
    )


def test_von_mises_of_textbook_states() -> None:
    """Tension σ, pure shear √3 τ, hydrostatic pressure nothing."""
    np.testing.assert_allclose(
        von_mises(np.array([[5.0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 2, 0], [7, 7, 7, 0, 0, 0]])),
        [5, 2 * 3**0.5, 0],
    )


def test_envelope_in_blocks(solution: Solution, monkeypatch: pytest.MonkeyPatch) -> None:
    histories = view_of(solution).history(sorted(set(IDS)))
    monkeypatch.setattr(stress, "BLOCK", 2 * 6 * 8 * len(solution.t))
    fresh = replace(solution).body("beam").stress
    np.testing.assert_allclose(
        fresh.envelope.von_mises, histories.von_mises.max(axis=0), rtol=1e-12
    )
    np.testing.assert_array_equal(
        fresh.envelope.time, solution.t[histories.von_mises.argmax(axis=0)]
    )
    np.testing.assert_allclose(fresh.field(0.0).stress, histories.stress[0], rtol=1e-12)


def test_report_of_a_long_run_looks_at_some_of_its_times(
    solution: Solution, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stress, "MOST_TIMES", 4)
    assert (short := replace(solution).body("beam").stress).glance is short
    monkeypatch.setattr(stress, "MOST_VALUES", 0)
    fresh = replace(solution)
    glance = fresh.body("beam").stress.glance
    pick = np.flatnonzero(np.isin(solution.t, glance.t))
    assert {0, 10} <= {*pick.tolist()}
    assert len(pick) == len(glance.t) <= 4
    np.testing.assert_allclose(
        glance.history(26).stress, view_of(solution).history(26).stress[pick], rtol=1e-12
    )
    assert f"evaluated at {len(pick)} of 11 output times" in " ".join(
        summary(fresh)["stress"]["beam"]["notes"]
    )
    monkeypatch.undo()
    short = replace(solution).body("beam").stress
    assert short.glance is short


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_short_pulses_of_long_runs_are_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither their stress nor their deflection, which are evaluated at some outputs only."""
    steel, ends = (
        pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0, yield_stress=350e6),
        {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")},
    )
    bar = pp.reduce(
        pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
        steel,
        interfaces=ends,
        reference="root",
        damping=0.5,
    )
    model = fm.Model("hit", gravity=(0, 0, 0))
    model.add(fm.FlexibleBody("beam", data=bar))
    model.add(fm.Fixed("clamp", "ground", "beam/root"))
    push = fm.Table([0.0, 0.1513, 0.1523, 0.1533, 1.0], [0.0, 0.0, 5e3, 0.0, 0.0])
    model.add(fm.FrameForce("pulse", "beam/tip", force=(0.0, 0.0, push)))
    solution = fm.simulate(model, t_end=0.3, step=1e-4)
    monkeypatch.setattr(stress, "MOST_TIMES", 40)
    monkeypatch.setattr(stress, "MOST_VALUES", 0)
    monkeypatch.setattr(linear_range, "MOST_TIMES", 10)
    fresh = replace(solution)
    view, shape = fresh.body("beam").stress, fresh.shape("beam")
    glance, largest = view.glance.envelope.von_mises, view.envelope.von_mises
    assert len(view.glance.t) <= 40
    assert glance.max() == largest.max()
    hot = largest > 0.5 * largest.max()
    assert (glance / largest)[hot].min() > 0.95
    moved = np.linalg.norm(fresh.body("beam").displacement(shape.surface.node_ids), axis=2).max()
    found = {check.title: check.found for check in checks(fresh)}
    assert float(found["Deflection of beam"].partition(" mm")[0]) == pytest.approx(
        1e3 * moved, rel=0.01
    )


@pytest.mark.parametrize("seed", range(5))
def test_outputs_that_tell_the_largest_values(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(2, 500)).cumsum(axis=1)
    pick = outputs_with_extremes(scores, 40)
    assert len(pick) <= 40
    assert {0, 499, *scores.argmax(axis=1).tolist()} <= {*pick.tolist()}
    assert outputs_with_extremes(scores, 500).tolist() == list(range(500))


def test_principal_stresses_at_round_off_are_shown_as_zero(solution: Solution) -> None:
    """As of a shell, which has none across it."""
    spot = replace(view_of(solution).hot_spots(1)[0], principal=np.array([6e5, 2e4, -1.65e-31]))
    assert spot.shown == pytest.approx((0.6, 0.02, 0.0), abs=1e-15)
    assert spot.shown[2] == 0.0
    assert "e-37" not in str(HotSpots([spot]))


def test_hot_spots_keep_their_distance_and_tell_of_yielding(solution: Solution) -> None:
    view = view_of(solution)
    spots = view.hot_spots(5, spacing=0.15)
    largest = view.envelope.von_mises
    assert spots[0].von_mises == largest.max()
    assert [spot.von_mises for spot in spots] == sorted(
        (spot.von_mises for spot in spots), reverse=True
    )
    positions = np.array([spot.position for spot in spots])
    apart = np.linalg.norm(positions[:, None] - positions, axis=2)[~np.eye(len(spots), dtype=bool)]
    assert apart.min() > 0.15
    assert len(view.hot_spots(100, spacing=0.0)) == 8  # node 28 once
    worst = view.history(spots[0].node)
    at = int(np.argmax(worst.von_mises.max(axis=1)))
    assert spots[0].time == solution.t[at]
    np.testing.assert_allclose(
        spots[0].principal, worst.principal[at][worst.von_mises[at].argmax()], rtol=1e-10
    )
    check = next(check for check in checks(solution) if check.title == "Stress of beam")
    assert check.status == WARN
    assert "at node 28" in check.found
    assert "% of the yield stress 0.001 MPa" in check.found


def test_yielding_hot_spot_is_warned_of() -> None:
    data = stressed_beam()
    assert data.stress is not None
    weak = replace(data, stress=replace(data.stress, yield_stress=np.array([2e3, 2e3])))
    spots = view_of(fm.simulate(mechanism(weak), t_end=0.004, step=0.002)).hot_spots(2)
    assert len(spots.warnings) == 2
    assert f"node {spots[0].node}: " in spots.warnings[0]
    assert "exceeds the yield stress 0.002 MPa at t = " in spots.warnings[0]
    assert str(spots).count("EXCEEDED") == 2


def test_stress_below_yield_passes_and_unknown_yield_is_no_criterion() -> None:
    strong = fm.simulate(mechanism(stressed_beam(yield_stress=1e15)), t_end=0.004, step=0.002)
    assert {check.title: check.status for check in checks(strong)}["Stress of other"] == PASS
    unknown = fm.simulate(mechanism(stressed_beam()), t_end=0.004, step=0.002)
    assert "Stress of beam" not in [check.title for check in checks(unknown)]
    assert "not known" in str(view_of(unknown).hot_spots(1))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda view: view.history(99), "node 99 of body 'beam' has no stress"),
        (lambda view: view.field(7.0), "t: 7 s is outside the solution"),
        (lambda view: view.hot_spots(0), "count: must be a whole number from 1, not 0"),
        (lambda view: view.hot_spots(spacing=-1.0), "spacing: -1 is not allowed"),
    ],
)
def test_refusals(solution: Solution, ask, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        ask(view_of(solution))


def test_body_without_stress_says_so() -> None:
    plain = fm.simulate(flexible_pendulum(), t_end=0.004, step=0.002)
    with pytest.raises(InputError, match="body 'beam' has no stress modes"):
        _ = plain.body("beam").stress
    assert summary(plain)["stress"] == {}


def test_file_and_other_times(solution: Solution, tmp_path: Path) -> None:
    """A loaded solution has no forces to evaluate; their wrenches come with it."""
    solution.save(tmp_path / "run.h5")
    read = Solution.load(tmp_path / "run.h5")
    assert sorted(read.applied) == ["beam/tip", "other/tip"]
    for body in ("beam", "other"):
        np.testing.assert_array_equal(
            view_of(read, body).history(26).stress, view_of(solution, body).history(26).stress
        )
    between = solution.at([0.005, 0.01])
    assert view_of(between).t.tolist() == [0.005, 0.01]
    np.testing.assert_allclose(
        view_of(between).history(26).stress[1], view_of(solution).history(26).stress[5], rtol=1e-6
    )
    around = view_of(solution).history(26).stress[2:4, 0]
    middle = view_of(between).history(26).stress[0, 0]
    np.testing.assert_allclose(middle, around.mean(axis=0), atol=0.02 * np.abs(around).max())
    with open_unverified(tmp_path / "run.h5") as file:
        file["applied/beam/elbow"] = np.zeros((len(solution.t), 6))
    with pytest.raises(InputError, match="applied/beam/elbow: the model has no such frame"):
        Solution.load(tmp_path / "run.h5")


def test_report_tables_and_export(solution: Solution, tmp_path: Path) -> None:
    solution.report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "<h2>Stress</h2>" in page
    assert "of the yield stress 0.001 MPa" in page.split("<h2>Stress</h2>")[1]
    spot = view_of(solution).hot_spots(1)[0]
    assert summary(solution)["stress"]["beam"]["node"] == spot.node
    written = [path.name for path in write_tables(solution, tmp_path)]
    assert "hot-spots-beam.csv" in written
    heading, first = (tmp_path / "hot-spots-beam.csv").read_text(encoding="utf-8").splitlines()[:2]
    assert heading.startswith("node,x [m],y [m],z [m],t [s],von Mises [Pa]")
    assert float(first.split(",")[5]) == spot.von_mises
    files = write_bodies(solution, tmp_path, 1, lambda fraction, text: None, times=[0.01])
    assert [path.name for path in files] == [
        "bodies.pvd",
        "1-beam-envelope.vtu",
        "2-other-envelope.vtu",
    ]
    mesh = meshio.read(tmp_path / "1-beam-0000.vtu")
    field = view_of(solution).field(0.01)
    np.testing.assert_allclose(
        mesh.point_data["stress in body axes"][:7], field.stress[:7], rtol=1e-12
    )
    np.testing.assert_allclose(
        mesh.point_data["von Mises stress"][7], field.von_mises[7:].max(), rtol=1e-12
    )
    envelope = meshio.read(files[1]).point_data["largest von Mises stress"]
    np.testing.assert_allclose(envelope.max(), spot.von_mises, rtol=1e-12)
    with pytest.raises(InputError, match="--at 3 s is outside"):
        write_bodies(solution, tmp_path, 1, lambda fraction, text: None, times=[3.0])

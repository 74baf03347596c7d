"""Coordinates that are functions of time (hybrid dynamics): closed forms, implicit rows as the
other formalism, refusals.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs._jit import COMPILED
from flexmbs.formalisms import FORMALISMS
from flexmbs.initial.initial_state import consistent_state, in_coordinates
from flexmbs.integrators import INTEGRATORS
from flexmbs.results.solution import SolutionData
from flexmbs.results.state import State
from flexmbs.studies.states.evaluate import evaluate
from flexmbs.studies.states.jacobians import body_jacobian
from flexmbs.studies.terms.free_bodies import bias_rates
from flexmbs.system.topology import topology
from flexmbs.system.trajectory import RunInfo, Trajectory

G = 9.81
every_formalism = pytest.mark.parametrize("formalism", FORMALISMS)


def at_start(model: fm.Model, formalism: str, coordinates: str = "rheonomic") -> SolutionData:
    """The views of the model at t = 0 with the accelerations of a formalism."""
    compiled, now = in_coordinates(*consistent_state(model), coordinates)
    sd, lam = evaluate(compiled, FORMALISMS[formalism](), 0.0, now.q, now.s, np.zeros(0), now.beta)
    rows = (np.zeros(1), *(each[None] for each in (now.q, now.s, sd, lam, np.zeros(0))))
    return SolutionData(
        compiled, Trajectory(*rows, np.zeros((1, 3)), np.zeros((1, 2)), np.zeros(1)), {}, RunInfo()
    )


def motion(value: float, rate: float, acceleration: float) -> fm.Function:
    """A parabola with these values at t = 0."""
    return fm.Function(
        lambda t: (
            value + rate * t + 0.5 * acceleration * t * t,
            rate + acceleration * t,
            acceleration,
        )
    )


def pendulum_on_slider() -> fm.Model:
    """A cart of 2 kg on a driven slide, a point mass of 0.7 kg on a rod of 0.4 m below it."""
    model = fm.Model("pendulum on a driven slider", gravity=(0, 0, -G))
    model.add(fm.RigidBody("cart", mass=2.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.RigidBody("bob", mass=0.7, inertia=(1e-12,) * 3, frames={"pivot": (0, 0, 0.4)}))
    model.add(fm.Prismatic("slide", "ground", "cart", axis="x"))
    model.add(fm.Revolute("hinge", "cart", "bob/pivot", axis="y", q0=0.7, v0=-1.3))
    model.add(fm.Drive("drive", "slide", motion(0.2, 0.9, -3.1)))
    return model


@every_formalism
def test_pendulum_on_a_driven_slider(formalism: str) -> None:
    """l q̈ = ẍ cos q − g sin q, F = (M + m) ẍ − m l (q̈ cos q − q̇² sin q)."""
    solution = at_start(pendulum_on_slider(), formalism)
    q, qd, xdd, length = 0.7, -1.3, -3.1, 0.4
    qdd = (xdd * np.cos(q) - G * np.sin(q)) / length
    force = 2.7 * xdd - 0.7 * length * (qdd * np.cos(q) - qd**2 * np.sin(q))
    assert (solution.q.shape, solution.s.shape, solution.lam.shape) == ((1, 1), (1, 1), (1, 0))
    assert solution.joint("hinge").acceleration[0, 0] == pytest.approx(qdd, rel=1e-10)
    drive = solution.drive("drive")
    assert (drive.coordinate[0], drive.rate[0]) == (0.2, 0.9)
    assert drive.torque[0] == pytest.approx(force, rel=1e-10)
    assert solution.joint("slide").acceleration[0, 0] == xdd
    assert solution.body("cart").acceleration[0] == pytest.approx([xdd, 0, 0], abs=1e-12)


def arm(*driven: str) -> fm.Model:
    """Two links of 0.6 and 0.5 m in the vertical plane, centres of mass in the middle."""
    model = fm.Model("arm", gravity=(0, 0, -G))
    model.add(
        fm.RigidBody(
            "upper",
            mass=1.5,
            inertia=(0.01, 0.05, 0.05),
            frames={"in": (-0.3, 0, 0), "out": (0.3, 0, 0)},
        )
    )
    model.add(
        fm.RigidBody("fore", mass=0.8, inertia=(0.01, 0.03, 0.03), frames={"in": (-0.25, 0, 0)})
    )
    model.add(fm.Revolute("shoulder", "ground", "upper/in", axis=(0, -1, 0), q0=0.4, v0=1.1))
    # reversed in the tree
    model.add(fm.Revolute("elbow", "fore/in", "upper/out", axis=(0, -1, 0), q0=-0.9, v0=0.6))
    for name, law in (("shoulder", motion(0.4, 1.1, 2.3)), ("elbow", motion(-0.9, 0.6, 1.7))):
        if name in driven:
            model.add(fm.Drive(f"{name} drive", name, law))
    return model


def two_link_torques(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """M(q) q̈ + C(q, q̇) + g(q) of the planar arm; angles from the horizontal and between the
    links.

    Siciliano, Sciavicco, Villani and Oriolo, Robotics (2009), section 7.3.2.
    """
    a1, l1, l2, m1, m2, i1, i2 = 0.6, 0.3, 0.25, 1.5, 0.8, 0.05, 0.03
    c, s = np.cos(q[1]), np.sin(q[1])
    m12 = m2 * (l2**2 + a1 * l2 * c) + i2
    M = np.array(
        [
            [m1 * l1**2 + m2 * (a1**2 + l2**2 + 2 * a1 * l2 * c) + i1 + i2, m12],
            [m12, m2 * l2**2 + i2],
        ]
    )
    h = m2 * a1 * l2 * s
    C = np.array([-h * (2 * qd[0] * qd[1] + qd[1] ** 2), h * qd[0] ** 2])
    second = m2 * l2 * np.cos(q.sum())
    return M @ qdd + C + G * np.array([(m1 * l1 + m2 * a1) * np.cos(q[0]) + second, second])


@every_formalism
def test_hybrid_dynamics_of_an_arm(formalism: str) -> None:
    """One joint driven: its torque and the acceleration of the other; the elbow is reversed in the
    tree: q₂ = −β.
    """
    for driven in ("shoulder", "elbow"):
        solution = at_start(arm(driven), formalism)
        q, qd = np.array([0.4, 0.9]), np.array([1.1, -0.6])
        qdd = np.array(
            [
                solution.joint("shoulder").acceleration[0, 0],
                -solution.joint("elbow").acceleration[0, 0],
            ]
        )
        torque = two_link_torques(q, qd, qdd)
        given = {"shoulder": 2.3, "elbow": -1.7}[driven]
        k = 0 if driven == "shoulder" else 1
        assert qdd[k] == given
        sign = 1.0 if driven == "shoulder" else -1.0
        assert sign * solution.drive(f"{driven} drive").torque[0] == pytest.approx(
            torque[k], rel=1e-9
        )
        assert torque[1 - k] == pytest.approx(0.0, abs=1e-9)


def slider_crank() -> fm.Model:
    """Crank 0.2 m, rod 0.6 m, slider; the crank is driven."""
    model = fm.Model("slider-crank", gravity=(0, 0, 0))
    ends = {"crank": (-0.1, 0.1), "rod": (-0.3, 0.3)}
    for (name, (a, b)), m, inertia in zip(ends.items(), (1.0, 1.5), (0.02, 0.05)):
        model.add(
            fm.RigidBody(
                name, mass=m, inertia=(inertia,) * 3, frames={"in": (a, 0, 0), "out": (b, 0, 0)}
            )
        )
    model.add(fm.RigidBody("slider", mass=0.8, inertia=(0.01,) * 3))
    phi = 0.5
    psi = np.arcsin(0.2 * np.sin(phi) / 0.6)
    model.add(fm.Revolute("main", "ground", "crank/in", axis=(0, -1, 0), q0=phi))
    model.add(fm.Revolute("pin", "crank/out", "rod/in", axis=(0, -1, 0), q0=-psi - phi))
    model.add(fm.Revolute("wrist", "rod/out", "slider", axis=(0, -1, 0)))
    model.add(
        fm.Prismatic(
            "guide", "ground", "slider", axis="x", q0=0.2 * np.cos(phi) + 0.6 * np.cos(psi)
        )
    )
    model.add(fm.Drive("motor", "main", motion(phi, 3.0, -2.0)))
    return model


def reduced_inertia(phi: complex) -> complex:
    """I(φ) of T = ½ I φ̇²: crank about its end, rod, slider."""
    # of the rod's angle −ψ per φ
    rate = -0.2 * np.cos(phi) / (0.6 * np.sqrt(1 - (np.sin(phi) / 3) ** 2))
    sine = np.sin(phi) / 3
    x = -0.2 * np.sin(phi) + 0.3 * sine * rate  # of its centre
    z = 0.2 * np.cos(phi) + 0.3 * np.sqrt(1 - sine**2) * rate
    slider = -0.2 * np.sin(phi) + 0.6 * sine * rate
    return 0.02 + 1.0 * 0.1**2 + 1.5 * (x**2 + z**2) + 0.05 * rate**2 + 0.8 * slider**2


@every_formalism
def test_driven_crank_of_a_slider_crank(formalism: str) -> None:
    """τ = I φ̈ + ½ I′ φ̇², I′ by a complex step; the other coordinates close the loop."""
    solution = at_start(slider_crank(), formalism)
    slope = reduced_inertia(0.5 + 1e-30j).imag / 1e-30
    torque = reduced_inertia(0.5).real * -2.0 + 0.5 * slope * 9.0
    assert len(solution.compiled.system.prescribed.law) == 1
    assert solution.drive("motor").torque[0] == pytest.approx(torque, rel=1e-9)


@pytest.mark.parametrize(
    "make",
    [pendulum_on_slider, slider_crank, lambda: arm("elbow"), lambda: arm("shoulder", "elbow")],
)
def test_open_chain_with_explicit_time(make: Callable[[], fm.Model]) -> None:
    """B V = C η + v̄_rel, V = J s + v̄, V̇ = J ṡ + ā and the block system, by matrices, are those
    of the kernels' sweeps.
    """
    model = make()
    state = fm.state(model)
    chain = fm.matrices(model, start=state).open_chain
    explicit = chain.rheonomic
    compiled, now = in_coordinates(*consistent_state(model), "rheonomic")
    sd, lam = evaluate(
        compiled, FORMALISMS["recursive"](), 0.0, now.q, now.s, np.zeros(0), now.beta
    )
    there = State(compiled, 0.0, now.q, now.s, sd, lam, np.zeros(0), now.beta)
    V = chain.J @ state.s
    assert explicit.C.shape[1] == chain.C.shape[1] - len(model.drives)
    assert explicit.C.shape[1] == len(now.s)
    assert np.abs(explicit.v_rel).max() > 0.1
    assert explicit.J @ now.s + explicit.v_bar == pytest.approx(V, abs=1e-12)
    assert pytest.approx(explicit.C @ now.s + explicit.v_rel, abs=1e-12) == explicit.B @ V
    assert explicit.B @ explicit.a_bar == pytest.approx(explicit.a_rel, abs=1e-11)
    for i, name in enumerate(compiled.bodies):
        assert body_jacobian(there, name) == pytest.approx(explicit.J[6 * i : 6 * i + 6], abs=1e-12)
    assert bias_rates(there).ravel() == pytest.approx(explicit.a_bar, abs=1e-10)
    found = explicit.system.solve()
    assert found["η̇"] == pytest.approx(sd, abs=1e-8)
    assert found["ẏ"] == pytest.approx(explicit.J @ sd + explicit.a_bar, abs=1e-8)


@pytest.mark.parametrize("driven", [("shoulder",), ("elbow",), ("shoulder", "elbow")])
def test_inverse_dynamics_of_a_run(driven: tuple[str, ...]) -> None:
    """Drives without rows, and actuators in their place, as by one in joint coordinates; the elbow
    is reversed in the tree.
    """
    options = {
        "t_end": 0.1,
        "output_step": 0.05,
        "integrator": "dormand-prince",
        "rtol": 1e-10,
        "atol": 1e-12,
    }
    one, other = (
        fm.simulate(arm(*driven), coordinates=each, **options) for each in ("rheonomic", "joint")
    )
    for actuators in ((), ("shoulder", "elbow")):
        found, expected = (fm.inverse_dynamics(run, actuators=actuators) for run in (one, other))
        assert found.effort.keys() == expected.effort.keys()
        for name, effort in expected.effort.items():
            assert found.effort[name] == pytest.approx(effort, abs=1e-6)
            assert np.abs(effort).max() > 0.1 or name not in driven
        assert np.abs(found.remainder).max() < 1e-6
    for name in driven:
        torque = fm.inverse_dynamics(one).effort[f"{name} drive"][:, 0]
        assert torque == pytest.approx(one.drive(f"{name} drive").torque, abs=1e-6)


def test_drives_that_stay_rows_are_named() -> None:
    model = arm("shoulder", "elbow")
    model.add(fm.JointTorque("damper", "elbow", lambda t, x, v: -v))
    solution = fm.simulate(model, t_end=0.01, step=2e-3, coordinates="rheonomic")
    assert [
        note
        for note in solution.run.notes
        if "elbow drive (force damper acts on joint elbow)" in note
    ]
    assert solution.compiled.system.layout[2:4].tolist() == [1, 1]
    other = fm.simulate(model, t_end=0.01, step=2e-3)
    for name in model.drives:
        assert solution.drive(name).torque == pytest.approx(other.drive(name).torque, rel=1e-4)
    model.drives["shoulder drive"] = fm.Drive(
        "shoulder drive", "shoulder", fm.Ramp(rate=2.0, start=0.1, end=0.2, value0=0.4)
    )
    assert "velocity jumps" in str(
        in_coordinates(*consistent_state(model), "rheonomic")[0].topology.notes()
    )


def test_what_acts_on_a_driven_coordinate_keeps_its_row() -> None:
    """Forces, limits, rotors and couplings on the coordinate, rigid contacts anywhere; not on other
    coordinates.
    """

    def rows(*items: object) -> dict[str, str]:
        model = pendulum_on_slider()
        for item in items:
            model.add(item)  # type: ignore[call-overload]
        return topology(model, "rheonomic").rows

    assert rows() == {}
    assert rows(fm.JointTorque("motor", "hinge", lambda t, x, v: -x)) == {}
    assert rows(fm.JointTorque("motor", "slide", lambda t, x, v: -x)) == {
        "drive": "force motor acts on joint slide"
    }
    stop = fm.JointLimit(
        "stop", "slide", lower=-1.0, law=fm.HuntCrossley(stiffness=1e4, damping=0.1)
    )
    assert rows(stop) == {"drive": "contact stop acts on joint slide"}
    assert rows(fm.JointLimit("stop", "hinge", lower=-3.0)) == {"drive": "contact stop is rigid"}
    assert rows(fm.RotorInertia("rotor", "slide", inertia=0.1, ratio=3.0)) == {
        "drive": "rotor rotor acts on joint slide"
    }


def test_what_takes_no_functions_of_time_is_refused() -> None:
    model = pendulum_on_slider()
    with pytest.raises(
        fm.InputError,
        match="'rattle' does not support coordinates that are functions of time; use 'joint'",
    ):
        fm.simulate(model, t_end=0.1, step=1e-3, coordinates="rheonomic", integrator="rattle")
    with pytest.raises(fm.InputError, match="drives as rows; take 'joint', and open_chain"):
        fm.matrices(model, coordinates="rheonomic")
    event = fm.Event("passes", joint="slide")
    with pytest.raises(
        fm.InputError,
        match="prescribed by drive 'drive', a function of time; take coordinates = 'joint'",
    ):
        fm.simulate(model, t_end=0.1, step=1e-3, coordinates="rheonomic", events=[event])


def test_saved_motions_need_no_function(tmp_path: Path) -> None:
    """The file holds f, ḟ, f̈ and the torque of each output; the loaded solution has no function to
    call.
    """
    solution = fm.simulate(pendulum_on_slider(), t_end=0.05, step=5e-3, coordinates="rheonomic")
    solution.save(tmp_path / "run.h5")
    loaded = fm.Solution.load(tmp_path / "run.h5")
    assert loaded.drive("drive").torque == pytest.approx(solution.drive("drive").torque, rel=1e-12)
    for part in ("position", "velocity", "acceleration"):
        found, wanted = (getattr(each.body("bob"), part) for each in (loaded, solution))
        assert found == pytest.approx(wanted, abs=1e-10)
    assert loaded.energy.balance == pytest.approx(solution.energy.balance, abs=1e-12)


RUNS = [
    (formalism, method)
    for formalism, kind in FORMALISMS.items()
    for method, integrator in INTEGRATORS.items()
    if integrator.needs in kind.provides and integrator.takes_time
]


@pytest.mark.skipif(not COMPILED, reason="hundreds of steps: in compiled runs")
@pytest.mark.parametrize(("formalism", "method"), RUNS)
def test_runs_are_those_with_rows(formalism: str, method: str) -> None:
    """Motion, torques and works of explicit drives and of implicit rows; an arm of which all joints
    are driven has no state.
    """
    stepped = method in ("generalized-alpha", "moreau-jean")
    control = {"step": 5e-4} if stepped else {"rtol": 1e-9, "atol": 1e-11}
    for model in (pendulum_on_slider(), arm("elbow"), slider_crank(), arm("shoulder", "elbow")):
        options = {"t_end": 0.1, "output_step": 0.02, "coordinates": "rheonomic"}
        found = fm.simulate(model, formalism=formalism, integrator=method, **options, **control)
        wanted = fm.simulate(
            model, t_end=0.1, output_step=0.02, integrator="dormand-prince", rtol=1e-10, atol=1e-12
        )
        assert found.verdict == "PASS" or [
            check.title for check in found.audit if check.status != "PASS"
        ] == ["Redundancy"]
        tolerance = 2e-3 if method == "moreau-jean" else 1e-5 if stepped else 1e-7
        for name in model.bodies:
            assert found.body(name).position == pytest.approx(
                wanted.body(name).position, abs=tolerance
            )
        for name in model.drives:
            size = np.abs(wanted.drive(name).torque).max()
            if method != "moreau-jean":  # whose accelerations are those within the steps
                assert found.drive(name).torque == pytest.approx(
                    wanted.drive(name).torque, abs=1e2 * tolerance * size
                )
            assert found.drive(name).coordinate == pytest.approx(
                wanted.drive(name).coordinate, abs=1e-8
            )
        works = found.energy.work_of_drives, wanted.energy.work_of_drives
        assert works[0] == pytest.approx(works[1], abs=1e2 * tolerance * wanted.energy.scale)

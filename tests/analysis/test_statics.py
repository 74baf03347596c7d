"""Equilibria against closed forms, an independent solution of a deflected chain, and the full
finite-element model.
"""

import dataclasses

import numpy as np
import pytest
import scipy.optimize
from linkages import G, pendulum, slider_crank

import flexmbs as fm
import preprocess as pp
from flexmbs.studies.equilibrium import statics


@pytest.mark.parametrize("angle", [0.0, 1.0, 3.0, -1.5])
def test_pendulum_hangs(angle: float) -> None:
    found = fm.statics(pendulum(angle))
    assert np.sin(found.state.q[0]) == pytest.approx(-1.0, abs=1e-14)
    assert found.stable
    assert found.frequencies[0] == pytest.approx(np.sqrt(G / 1.1), rel=1e-9)
    np.testing.assert_allclose(found.reactions["hinge"].force[0], (0.0, G, 0.0), atol=1e-12)


def test_pendulum_started_upright_stands_and_is_unstable() -> None:
    found = fm.statics(pendulum(np.pi / 2))
    assert found.state.q[0] == pytest.approx(np.pi / 2)
    assert not found.stable


def test_chain_of_springs_bent_by_a_load() -> None:
    """Ten segments with a spring in each joint under a dead load P at the end, PL²/EI = 10: the end
    turns by 78°.

    Oracle: k (θ_i − θ_{i−1}) = P h Σ_{j ≥ i} cos θ_j solved by SciPy.
    """
    n, h, k, load = 10, 0.1, 10.0, 10.0
    model = fm.Model("chain", gravity=(0.0, 0.0, 0.0))
    end = model.ground
    for i in range(n):
        body = model.add(
            fm.RigidBody(f"b{i}", mass=0.1, inertia=(0.01,) * 3, frames={"end": (h, 0.0, 0.0)})
        )
        model.add(fm.Revolute(f"j{i}", end, body))
        model.add(fm.JointSpring(f"s{i}", f"j{i}", k=k))
        end = body["end"]
    model.add(fm.FrameForce("load", end, force=(0.0, load, 0.0)))

    def balance(theta: np.ndarray) -> np.ndarray:
        return k * np.diff(theta, prepend=0.0) - load * h * np.cumsum(np.cos(theta)[::-1])[::-1]

    expected = scipy.optimize.fsolve(balance, np.linspace(0.1, 1.3, n), xtol=1e-14)
    found = fm.statics(model)
    assert expected[-1] > 1.2
    np.testing.assert_allclose(np.cumsum(found.state.q), expected, atol=1e-11)
    assert found.load_steps > 1
    np.testing.assert_allclose(
        np.cumsum(fm.statics(model, load_steps=5).state.q), expected, atol=1e-11
    )


def test_weight_of_a_closed_loop_goes_into_the_ground() -> None:
    model = slider_crank()
    model.add(fm.JointSpring("spring", "main", k=40.0))
    found = fm.statics(model)
    force = sum(found.reactions[name].force[0] for name in ("main", "guide"))
    np.testing.assert_allclose(force, (0.0, 4.5 * G, 0.0), atol=1e-10)
    assert found.residual < 1e-10


def test_integral_of_a_controller_carries_the_weight() -> None:
    model = pendulum(0.3)
    model.add(fm.JointTorque("controller", "hinge", fm.PID(100.0, 50.0, 1.0, reference=0.2)))
    found = fm.statics(model)
    assert found.state.q[0] == pytest.approx(0.2, abs=1e-12)
    assert found.state.z[0] == pytest.approx(G * np.cos(0.2) / 50.0, rel=1e-12)
    run = fm.simulate(model, t_end=0.1, step=1e-3, start=found)
    assert np.abs(run.s).max() < 1e-9


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_run_from_an_equilibrium_stays(coordinates: str) -> None:
    model = slider_crank()
    model.add(fm.JointSpring("spring", "main", k=40.0))
    run = fm.simulate(model, t_end=0.1, step=1e-3, start=fm.statics(model), coordinates=coordinates)
    assert np.abs(run.joint("main").velocity).max() < 1e-8


def test_steady_motion_stretches_a_spring() -> None:
    """k x = m Ω² (r + x)"""
    model = fm.Model("governor", gravity=(0.0, 0.0, 0.0))
    arm = model.add(
        fm.RigidBody("arm", mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"r": (0.5, 0.0, 0.0)})
    )
    mass = model.add(fm.PointMass("mass", mass=2.0))
    model.add(fm.Revolute("shaft", model.ground, arm))
    model.add(fm.Prismatic("slide", arm["r"], mass))
    model.add(fm.JointSpring("spring", "slide", k=300.0))
    model.add(fm.Drive("motor", "shaft", fm.Ramp(0.0, 5.0)))
    found = fm.statics(model, steady=True, t=0.2)
    assert found.state.q[1] == pytest.approx(2.0 * 25.0 * 0.5 / (300.0 - 2.0 * 25.0), rel=1e-12)
    assert found.frequencies[0] == pytest.approx(np.sqrt(150.0 - 25.0), rel=1e-9)


def test_slow_lift_of_a_pendulum() -> None:
    """Torque m g l cos φ; its work is the gain in height."""
    model = pendulum(-1.0)
    model.add(fm.Drive("motor", "hinge", fm.SmoothStep(1.0, duration=2.0, initial=-1.0)))
    found = fm.quasi_static(model, np.linspace(0.0, 2.0, 101))
    drive = found.drive("motor")
    np.testing.assert_allclose(drive.torque, G * np.cos(drive.coordinate), atol=1e-10)
    assert found.energy.work_of_drives[-1] == pytest.approx(2.0 * G * np.sin(1.0), rel=1e-4)
    assert np.abs(found.energy.balance).max() < 1e-4 * found.energy.scale


@pytest.mark.parametrize(
    ("gravity", "text"),
    [((0, 0, 0), "unsupported: 'bob.vx'"), ((0, 0, -1.0), "'bob.vz' diverges")],
)
def test_free_body(gravity: tuple[float, ...], text: str) -> None:
    model = fm.Model("free", gravity=gravity)
    model.add(fm.RigidBody("bob", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    with pytest.raises(fm.SolverError) as error:
        fm.statics(model)
    assert text in str(error.value)
    assert "\n" not in str(error.value)


def test_hinge_that_is_unsupported() -> None:
    model = pendulum(0.3, gravity=0.0)
    with pytest.raises(fm.SolverError, match=r"unsupported: 'hinge\.0'; support it by"):
        fm.statics(model)
    found = fm.statics(model, allow_indifferent=True)
    assert found.indifferent == ("hinge.0",)
    assert found.state.q[0] == pytest.approx(0.3)


def test_start_of_another_model_is_rejected() -> None:
    with pytest.raises(
        fm.InputError, match="start: it belongs to a model with other bodies or joints"
    ):
        fm.simulate(slider_crank(), t_end=0.1, start=fm.statics(pendulum(0.0)))


def test_states_of_bodies_reduced_anew_are_rejected() -> None:
    """Their elastic coordinates are of other modes; those that are zero mean the same."""

    def bar(E: float) -> fm.Model:
        body = pp.reduce(
            pp.box_mesh((0.4, 0.02, 0.02), (4, 1, 1)),
            pp.Isotropic(E=E, nu=0.3, rho=7850.0),
            reference="root",
            interfaces={"root": pp.Rigid("x0")},
            method=pp.CraigBampton(modes=2),
            estimate=False,
        )
        model = fm.Model("bar")
        model.add(
            fm.Fixed("clamp", model.ground, model.add(fm.FlexibleBody("bar", data=body))["root"])
        )
        return model

    bent = fm.statics(bar(2e11))
    with pytest.raises(
        fm.InputError, match="start: body 'bar' has been reduced again since that state"
    ):
        fm.simulate(bar(1e11), start=bent, t_end=1e-4, step=1e-5)
    with pytest.raises(
        fm.InputError, match="start: body 'bar' has been reduced again since that state"
    ):
        fm.linearize(bar(1e11), start=bent)
    assert (
        fm.linearize(bar(1e11), start=fm.state(bar(2e11))).modes.frequency[0]
        < fm.linearize(bar(2e11)).modes.frequency[0]
    )


def test_nothing_can_move() -> None:
    model = fm.Model("post", gravity=(0.0, 0.0, -G))
    post = model.add(fm.RigidBody("post", mass=3.0, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Fixed("foot", model.ground, post))
    np.testing.assert_allclose(fm.statics(model).reactions["foot"].force[0], (0.0, 0.0, 3.0 * G))


def test_door_on_two_hinges() -> None:
    """Redundant: the sum of the forces is the weight, the
    single forces are reported as not unique.
    """
    model = fm.Model("door", gravity=(0.0, 0.0, -G), frames={"low": (0, 0, 0), "high": (0, 0, 1)})
    ends = {"low": (0, 0, 0), "high": (0, 0, 1)}
    door = model.add(
        fm.RigidBody("door", mass=3.0, inertia=(0.1, 0.1, 0.1), com=(0.4, 0, 0.5), frames=ends)
    )
    for name in ends:
        model.add(fm.Revolute(name, model.ground[name], door[name]))
    model.add(fm.JointSpring("closer", "low", k=2.0))
    found = fm.statics(model)
    np.testing.assert_allclose(
        sum(found.reactions[name].force[0] for name in ends), (0.0, 0.0, 3.0 * G), atol=1e-10
    )
    assert not found.reactions["low"].unique


def test_function_without_a_number_is_named() -> None:
    model = pendulum(0.2)
    model.add(fm.JointTorque("odd", "hinge", lambda t, x, v: float("nan") if x > 0.2001 else 0.0))
    with pytest.raises(fm.SolverError, match="odd: its function returned a non-finite value at"):
        fm.statics(model)


def test_other_objects_than_states_are_rejected() -> None:
    model = pendulum(-1.0)
    run = fm.simulate(model, t_end=0.1, step=1e-2)
    with pytest.raises(fm.InputError, match="start: Solution is not a state; use state"):
        fm.linearize(model, start=run)
    with pytest.raises(fm.InputError, match="start: Solution is not a state"):
        fm.simulate(model, t_end=0.1, start=run)


def test_springs_without_a_length_rest_in_the_declared_position() -> None:
    """Also for a state elsewhere: the force of the spring is k times its elongation relative to the
    declared length.
    """
    model = pendulum(-np.pi / 2, gravity=0.0)
    model.add(fm.PointSpring("spring", fm.FrameRef("ground"), fm.FrameRef("weight"), k=50.0))
    weight = model.add(fm.PointMass("weight", mass=1.0))
    model.add(fm.Prismatic("slide", model.ground, weight, axis="x", q0=0.5))
    state = fm.state(model, position={"slide": 0.7})
    assert state.sd[state.q.tolist().index(0.7)] == pytest.approx(-50.0 * 0.2)


def test_cantilever_whose_only_frame_carries_its_own() -> None:
    """No frame moves with the modes. Oracles: K_ff q = ∫ρ Φᵀ dV g; ρAgL⁴/(8EI) at the end;
    (1.8751/L)² √(EI/(ρA)) rad/s.
    """
    E, rho, L, h = 2.1e11, 7850.0, 1.0, 0.04
    mesh = pp.box_mesh((L, h, h), (8, 1, 1), "hex20", origin=(0.0, -h / 2, -h / 2))
    body = pp.reduce(
        mesh,
        pp.Isotropic(E=E, nu=0.3, rho=rho),
        interfaces={"root": pp.Rigid("x0")},
        method=pp.CraigBampton(modes=6),
        reference="root",
        name="beam",
    )
    model = fm.Model("cantilever", gravity=(0.0, -G, 0.0))
    beam = model.add(fm.FlexibleBody("beam", data=body))
    model.add(fm.Fixed("wall", model.ground, beam["root"]))
    found = fm.statics(model)
    end = int(np.argmax(body.surface.nodes[:, 0]))
    stiffness, mass = E * h**4 / 12.0, rho * h**2
    assert (body.surface.phi[end] @ found.state.q)[1] == pytest.approx(
        -mass * G * L**4 / (8.0 * stiffness), rel=0.03
    )
    np.testing.assert_allclose(
        found.state.q,
        np.linalg.solve(body.K_ff, body.S_bar.T @ model.gravity),
        rtol=1e-4,
        atol=1e-9,
    )
    first = (1.87510407 / L) ** 2 * np.sqrt(stiffness / mass)
    np.testing.assert_allclose(found.frequencies[:2], first, rtol=0.02)
    frequencies = fm.linearize(model, start=found).modes.frequency
    np.testing.assert_allclose(2.0 * np.pi * np.sort(frequencies)[:2], first, rtol=0.02)


def refusal(model: fm.Model) -> str:
    """Text of the error of statics, if there is one."""
    try:
        fm.statics(model)
    except fm.SolverError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("seed", [0, 5, 8, 11, 16, 19, 21, 23])
def test_beam_on_three_supports_of_any_stiffness(seed: int) -> None:
    """Oracle: (K + springs) u = M g of the elements. Springs on its axis leave the beam free to
    turn about it, where only the load gives a stiffness, of either sign.
    """
    random = np.random.default_rng(seed)
    k, h, turns = 10.0 ** (4 + 7 * seed / 23), random.uniform(0.003, 0.03), seed % 2 == 1
    x = np.column_stack([np.linspace(0, 1, 11), np.zeros((11, 2))])
    sets = {"left": [0], "middle": [5], "right": [10]}
    lines = {"line2": [(i, i + 1) for i in range(10)]}
    mesh = pp.Mesh.from_arrays(x, lines, node_sets=sets, element_sets={"beam": range(1, 11)})
    steel = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    section = pp.RectangularSection(h, h, orientation=(0, 1, 0))
    fe = pp.assemble(mesh, steel, sections={"beam": section})
    body = pp.reduce(
        fe,
        interfaces={name: pp.Rigid(name) for name in sets},
        method=pp.CraigBampton(modes=4),
        reference=("left", "middle", "mean axes")[random.integers(3)],
        stress=None,
        estimate=False,
    )
    model = fm.Model(
        "beam", gravity=(0, 0, -G), frames={name: x[node] for name, (node,) in sets.items()}
    )
    beam = model.add(fm.FlexibleBody("beam", data=body))
    model.add(fm.Free("free", model.ground["left"], beam["left"]))
    springs = (k, k, k, 0.0 if turns else 1e-3 * k, 0.0, 0.0)
    K = fe.K.toarray()
    for name, (node,) in sets.items():
        model.add(fm.Bushing(name, model.ground[name], beam[name], k=springs))
        places = 3 * node + np.array([0, 1, 2, 33, 34, 35])  # rotations follow the translations
        K[places, places] += springs
    K[33:, 33:] += np.eye(33) * (1e-3 if turns else 0.0)  # N m/rad, against turning about the axis
    weight = fe.M @ (fe.rigid_motion(x[0])[:, 2] * -G)
    sag = np.linalg.solve(K, weight)[[2, 17, 32]]
    assert not refusal(model) or (turns and "unsupported: 'free.3'" in refusal(model))
    found = fm.statics(model, allow_indifferent=turns)
    assert found.iterations < 12
    positions = [found.solution.frame(f"beam/{name}").position[0, 2] for name in sets]
    np.testing.assert_allclose(positions, sag, rtol=1e-5 + 100 * np.abs(sag).max())


def crane(opening: float) -> fm.Model:
    """A hydraulic cylinder lifts an arm on a spring: supply in one chamber, tank in the other."""
    model = fm.Model("crane", gravity=(0.0, -G, 0.0), frames={"base": (0.0, -0.6, 0.0)})
    arm = model.add(
        fm.RigidBody(
            "arm", mass=200.0, inertia=(20.0,) * 3, frames={"in": (-1.0, 0, 0), "at": (-0.5, 0, 0)}
        )
    )
    model.add(fm.Revolute("hinge", model.ground, arm["in"], axis="z", q0=0.2))
    model.add(fm.JointSpring("spring", "hinge", k=4e4))
    oil = {
        "volume_a": 1e-3,
        "volume_b": 1e-3,
        "bulk_modulus": 1e9,
        "supply": 2e7,
        "tank": 1e5,
        "valve": 2e-7,
    }
    pressures = {"pressure_a": 2e6, "pressure_b": 1e6}
    size = {"length": 0.85, "area_a": 2e-3, "area_b": 1.2e-3}
    model.add(
        fm.HydraulicCylinder(
            "cylinder", model.ground["base"], arm["at"], opening=opening, **size, **oil, **pressures
        )
    )
    return model


def test_open_valve_lifts_until_the_pressures_are_those_of_supply_and_tank() -> None:
    """(A_A p_S − A_B p_T) dl/dq = m g cos q + k q, l² = r² + h² + 2 r h sin q."""
    found = fm.statics(crane(1.0))

    def torque(q: float) -> float:
        length = np.sqrt(0.5**2 + 0.6**2 + 2.0 * 0.5 * 0.6 * np.sin(q))
        return (
            (2e-3 * 2e7 - 1.2e-3 * 1e5) * 0.5 * 0.6 * np.cos(q) / length
            - 200.0 * G * np.cos(q)
            - 4e4 * q
        )

    assert found.state.q[0] == pytest.approx(
        scipy.optimize.brentq(torque, -0.5, 1.0, xtol=1e-14), abs=1e-9
    )
    np.testing.assert_allclose(found.state.z * 2e7 + (2e6, 1e6), (2e7, 1e5), rtol=1e-6)


def test_oil_that_is_shut_in_follows_its_volume() -> None:
    """p = p₀ − β ln(V/V₀) in both chambers; the stiffness is that of the bulk modulus as well."""
    found = fm.statics(crane(0.0))

    def length(q: float) -> float:
        return float(np.sqrt(0.5**2 + 0.6**2 + 2.0 * 0.5 * 0.6 * np.sin(q)))

    def pressure(start: float, area: float, q: float) -> float:  # given at the start
        volumes = (1e-3 + area * (length(each) - 0.85) for each in (q, 0.2))
        return start - 1e9 * np.log(np.divide(*volumes))

    def torque(q: float) -> float:
        force = 2e-3 * pressure(2e6, 2e-3, q) - 1.2e-3 * pressure(1e6, -1.2e-3, q)
        return force * 0.5 * 0.6 * np.cos(q) / length(q) - 200.0 * G * np.cos(q) - 4e4 * q

    q = scipy.optimize.brentq(torque, 0.1, 0.3, xtol=1e-14)
    assert found.state.q[0] == pytest.approx(q, abs=1e-9)
    h = 1e-6
    inertia = 20.0 + 200.0
    assert found.frequencies[0] == pytest.approx(
        np.sqrt((torque(q - h) - torque(q + h)) / (2.0 * h * inertia)), rel=1e-6
    )


def test_oil_that_is_shut_in_and_leaks_has_no_equilibrium_of_its_own() -> None:
    model = crane(0.0)
    model.forces["cylinder"] = dataclasses.replace(model.forces["cylinder"], leakage=1e-12)
    with pytest.raises(
        fm.SolverError, match=r"rest does not determine the force states of 'forces\.cylinder'"
    ):
        fm.statics(model)


def motor(voltage: fm.Sine | float) -> fm.Model:
    """A motor with k n = 0.5 N m/A, 0.8 Ω, holds a pendulum of 1 kg m from the vertical."""
    model = pendulum(-np.pi / 2 + 0.1)
    model.add(
        fm.JointTorque(
            "motor", "hinge", fm.DCMotor(0.1, 0.8, inductance=0.02, ratio=5.0, voltage=voltage)
        )
    )
    return model


def test_current_of_a_motor_at_rest() -> None:
    """i = U/R, k n i = m g l cos q; without it the pendulum hangs straight down."""
    found = fm.statics(motor(3.0))
    assert found.state.z[0] == pytest.approx(3.0 / 0.8, rel=1e-12)
    assert np.cos(found.state.q[0]) == pytest.approx(0.5 * 3.0 / 0.8 / G, rel=1e-10)
    swung = fm.simulate(motor(3.0), t_end=0.05, step=1e-3, start=found)
    assert np.abs(swung.joint("hinge").velocity).max() < 1e-9


def test_current_of_a_motor_along_its_voltage() -> None:
    found = fm.quasi_static(motor(fm.Sine(3.0, 0.25)), np.linspace(0.0, 1.0, 6))
    torque = 0.5 * 3.0 * np.sin(0.5 * np.pi * found.t) / 0.8
    np.testing.assert_allclose(np.cos(found.joint("hinge").position[:, 0]), torque / G, atol=1e-10)


def test_relaxed_branches_carry_nothing() -> None:
    """From a state with a loaded Maxwell branch: k0 (q − x0) = −m g l cos q alone."""
    model = pendulum(-1.2)
    model.add(fm.JointTorque("branch", "hinge", fm.Maxwell(20.0, 0.05, k0=3.0, x0=0.2)))
    moving = fm.state_of(fm.simulate(model, t_end=0.1, step=1e-2), 0.1)
    assert abs(moving.z[0]) > 0.03
    found = fm.statics(model, start=moving)
    assert found.state.z[0] == pytest.approx(0.0, abs=1e-9)
    assert 3.0 * (found.state.q[0] - 0.2) == pytest.approx(-G * np.cos(found.state.q[0]), rel=1e-9)


def test_controller_that_is_too_weak_for_its_reference() -> None:
    """Holding the reference needs 9.6 N m; with more the integral carries the weight."""
    for upper, strong in ((5.0, False), (12.0, True)):
        model = pendulum(0.3)
        law = fm.LimitedPID(100.0, 50.0, kd=1.0, lower=-12.0, upper=upper, reference=0.2)
        model.add(fm.JointTorque("controller", "hinge", law))
        if strong:
            assert fm.statics(model).state.z[0] == pytest.approx(G * np.cos(0.2) / 50.0, rel=1e-9)
        else:
            with pytest.raises(fm.SolverError, match="no equilibrium found"):
                fm.statics(model)


def test_a_run_of_a_microsecond_from_an_equilibrium() -> None:
    """Of a flexible bar on a spring: as few steps as any run with default outputs, and nothing
    moves.
    """
    mesh, ends = (
        pp.box_mesh((0.4, 0.02, 0.02), (6, 1, 1)),
        {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")},
    )
    steel = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    model = fm.Model("bar")
    bar = model.add(
        fm.FlexibleBody(
            "bar", data=pp.reduce(mesh, steel, interfaces=ends, reference="root", estimate=False)
        )
    )
    hinge = model.add(fm.Revolute("hinge", model.ground, bar["root"], axis="y"))
    model.add(fm.JointSpring("spring", hinge, k=50.0))
    rest = fm.statics(model)
    solution = fm.simulate(model, start=rest, t_end=1e-6)
    assert solution.t[-1] == 1e-6
    assert solution.statistics["steps"] <= 100
    np.testing.assert_allclose(
        solution.q, np.broadcast_to(solution.q[0], solution.q.shape), rtol=0, atol=1e-9
    )


def test_works_of_loads_with_corners_between_outputs() -> None:
    """A load that a spring balances: their works are opposite, whatever the corners of the load
    are.
    """
    model = fm.Model("press", gravity=(0, 0, 0))
    ram = model.add(fm.RigidBody("ram", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Prismatic("guide", model.ground, ram, axis="x"))
    load = fm.Table((0.0, 0.25, 0.35, 1.0), (0.0, 0.0, 30.0, 10.0), interpolation="linear")
    model.add(fm.JointTorque("law", "guide", load))
    model.add(fm.JointSpring("spring", "guide", k=100.0))
    for outputs in (11, 41):
        path = fm.quasi_static(model, np.linspace(0.0, 1.0, outputs))
        assert np.abs(path.energy.work_of_forces).max() < 1e-12
        assert path.verdict == "PASS"


def test_works_of_a_drive_with_corners() -> None:
    """A drive lifts a weight: its work is that of gravity, but for h²/12 of it by the trapezoidal
    rule, h = 0.2 rad at most.
    """
    model = fm.Model("lift", gravity=(0, 0, -G))
    arm = model.add(fm.RigidBody("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0)))
    model.add(fm.Revolute("hinge", model.ground, arm, axis="y"))
    motion = fm.Table((0.0, 0.25, 0.35, 1.0), (0.0, 0.0, -0.8, 0.1), interpolation="linear")
    model.add(fm.Drive("drive", "hinge", motion))
    path = fm.quasi_static(model, np.linspace(0.0, 1.0, 41))
    assert path.verdict == "PASS"
    height = path.energy.potential - path.energy.potential[0]
    allowed = 1.01 * 0.2**2 / 12.0 * np.abs(height).max()
    np.testing.assert_allclose(path.energy.work_of_drives, height, rtol=0, atol=allowed)


def held(load: fm.Table | float, stiffness: float, spring: float = 0.0) -> fm.Model:
    """A block on a rail, held by bristles of at most 8 N and by a spring (N/m)."""
    model = fm.Model("held block", gravity=(0, 0, 0))
    block = model.add(fm.RigidBody("block", mass=1.0, inertia=(1, 1, 1)))
    rail = model.add(fm.Prismatic("rail", model.ground, block, axis="x"))
    model.add(fm.LuGreFriction("friction", rail, coulomb=8.0, stiffness=stiffness, damping=20.0))
    model.add(fm.JointTorque("load", rail, load))
    if spring:
        model.add(fm.JointSpring("spring", rail, k=spring))
    return model


@pytest.mark.parametrize("load", [5.0, 7.9])
def test_bristles_hold_loads_below_their_limit(load: float) -> None:
    """dz/dx = 1 − σ₀ z/F_c, hence x = −(F_c/σ₀) ln(1 − Q/F_c), and the model stays there."""
    found = fm.statics(held(load, 1e3))
    assert found.state.q[0] == pytest.approx(-8e-3 * np.log(1.0 - load / 8.0), rel=1e-9)
    assert found.verdict == "PASS"
    assert found.stable
    check = next(check for check in found.audit if check.title == "Bristles")
    assert f"carry {100.0 * load / 8.0:.3g} % of their limit 8 " in check.found
    stays = fm.simulate(held(load, 1e3), start=found, t_end=0.1, output_step=0.05)
    np.testing.assert_allclose(stays.q, found.state.q[0], atol=1e-9)


@pytest.mark.parametrize("load", [10.0, 1e4])
def test_bristles_that_are_overloaded_have_no_equilibrium(load: float) -> None:
    with pytest.raises(fm.SolverError, match=r"bristles of 'forces\.friction' carry at most 8"):
        fm.statics(held(load, 1e3))


def test_arm_that_slides_until_its_bristles_hold_it() -> None:
    """m g l cos q = F_c; it passes that position with its speed."""
    model = fm.Model("sliding arm", gravity=(0, 0, -10.0))
    arm = model.add(fm.RigidBody("arm", mass=2.0, com=(0.5, 0, 0), inertia=(0.001, 0.1, 0.1)))
    model.add(fm.Revolute("hinge", model.ground, arm, axis="-y"))
    model.add(fm.LuGreFriction("friction", "hinge", coulomb=8.0, stiffness=1e3, damping=10.0))
    with pytest.warns(fm.AuditWarning, match=r"carry 100 % of their limit"):
        found = fm.statics(model)
    assert found.state.q[0] == pytest.approx(-np.arccos(0.8), abs=1e-6)


@pytest.mark.parametrize("outputs", [11, 21])
def test_bristles_slide_along_a_path_of_equilibria(outputs: int) -> None:
    """k x = Q ∓ F_c after far sliding up to Q = 20 N and back."""
    load = fm.Table([0.0, 1.0, 2.0], [0.0, 20.0, 0.0], interpolation="linear")
    path = fm.quasi_static(held(load, 1e5, spring=1e3), np.linspace(0.0, 2.0, outputs))
    half = (outputs - 1) // 2
    np.testing.assert_allclose(path.q[[half, -1], 0], (0.012, 0.008), rtol=1e-6)
    friction = np.interp(path.t, (0, 1, 2), (0, 20, 0)) - 1e3 * path.q[:, 0]
    assert np.abs(friction).max() < 8.0 * (1.0 + 1e-9)
    assert path.verdict == "PASS"


def test_controller_at_its_limit_has_no_equilibrium() -> None:
    """With and without a derivative part: 52 N on 50 N."""
    for gains in ({"kd": 40.0}, {}):
        model = fm.Model("lift", gravity=(0, 0, -10.0))
        load = model.add(fm.RigidBody("load", mass=2.0, inertia=(1, 1, 1)))
        guide = model.add(fm.Prismatic("guide", model.ground, load, axis="z"))
        control = fm.LimitedPID(kp=100.0, ki=50.0, lower=-50.0, upper=50.0, **gains)
        model.add(fm.JointTorque("control", guide, control))
        model.add(fm.JointTorque("weight", guide, -32.0))
        with pytest.raises(fm.SolverError, match=r"'guide\.0'.*; support it by a joint, a drive"):
            fm.statics(model)


@pytest.mark.slow
def test_load_beyond_a_limited_controller_is_refused_within_few_searches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """3 N m of the controller on a weight of 4.9 N m: nothing holds it when the load lifts it."""
    counted: list[int] = []
    balance = statics.balance
    monkeypatch.setattr(statics, "balance", lambda *given: counted.append(1) or balance(*given))
    model = fm.Model("arm", gravity=(0, 0, -G))
    arm = model.add(fm.RigidBody("arm", mass=1.0, inertia=(0.01, 0.1, 0.1), com=(0.5, 0, 0)))
    model.add(fm.Revolute("hinge", model.ground, arm, axis="-y", q0=0.3))
    law = fm.LimitedPID(100.0, 50.0, kd=1.0, reference=0.2, lower=-3.0, upper=3.0)
    model.add(fm.JointTorque("controller", "hinge", law))
    model.add(fm.JointTorque("load", "hinge", fm.Ramp(0.0, rate=-20.0)))
    with pytest.raises(fm.SolverError, match=r"at t = 0\.5 s: .*'hinge\.0' diverges"):
        fm.quasi_static(model, [0.0, 0.25, 0.5, 0.75, 1.0], audit=False)
    assert len(counted) < 1500  # of about 2 ms


def test_friction_that_equilibria_omit_is_named() -> None:
    """Smooth friction of 10 N at rest, and where its joint moves; in inverse dynamics 10 tanh(½)."""
    model = held(fm.Ramp(0.0, rate=1.0), 1e3, spring=100.0)
    model.forces["friction"] = fm.JointFriction("friction", "rail", coulomb=10.0)
    found = fm.statics(model)
    check = next(check for check in found.audit if check.title == "Friction")
    assert check.found.startswith("dry friction of forces.friction (up to 10 N) is omitted")
    assert found.verdict == "PASS"
    with pytest.warns(fm.AuditWarning, match=r"\(up to 10 N\) is omitted, although its joint"):
        fm.quasi_static(model, [0.0, 1.0])
    del model.forces["load"]
    model.add(fm.Drive("drive", "rail", fm.Ramp(0.0, rate=5e-4)))
    with pytest.warns(fm.AuditWarning, match=r"forces\.friction is 4\.62 of 10 N"):
        slow = fm.kinematics(model, [0.0, 0.01])
    with pytest.warns(fm.AuditWarning, match=r"forces\.friction is 4\.62 of 10 N"):
        assert fm.inverse_dynamics(slow).effort["drive"][0, 0] == pytest.approx(10.0 * np.tanh(0.5))
    model.drives["drive"] = fm.Drive("drive", "rail", fm.Ramp(0.0, rate=0.1))
    assert fm.kinematics(model, [0.0, 0.01]).verdict == "PASS"
    model.drives["drive"] = fm.Drive("drive", "rail", 0.1)
    held_still = fm.kinematics(model, [0.0, 0.01])
    check = next(check for check in held_still.audit if check.title == "Sticking")
    assert "at rest is omitted: forces.friction (up to 10)" in check.found

"""Forces on frames that read the reactions of joints, against closed forms and an independent
integration.
"""

from typing import Any

import numba
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from test_loaded_friction import FORMS, INERTIA, MASS, MU, PIN, SLOW, G, pendulum, slide, swing

import flexmbs as fm

DEPTH, LENGTH, HEIGHT = 0.1, 0.6, 0.3


def sole(t: float, r: Any, A: Any, v: Any, w: Any, reactions: Any) -> list[float]:
    """Friction along x of what the guide carries: F_across + 2 M_bending/l."""
    load = np.hypot(reactions[0, 1], reactions[0, 2]) + 2.0 / LENGTH * np.hypot(
        reactions[0, 4], reactions[0, 5]
    )
    return [-MU * load * np.tanh(v[0] / 1e-4), 0.0, 0.0, 0.0, 0.0, 0.0]


@numba.njit
def fast_sole(t, r, A, v, w, reactions):  # type: ignore[no-untyped-def]
    load = np.hypot(reactions[0, 1], reactions[0, 2]) + 2.0 / LENGTH * np.hypot(
        reactions[0, 4], reactions[0, 5]
    )
    return -MU * load * np.tanh(v[0] / 1e-4), 0.0, 0.0, 0.0, 0.0, 0.0


@numba.njit
def fast_sole_of_the_ground(t, r, A, v, w, reactions):  # type: ignore[no-untyped-def]
    """The same from what the block does to the ground at its origin."""
    f, n = reactions[0, :3], reactions[0, 3:]
    on_block = -np.concatenate((f, n - np.cross(r + np.array([0.0, 0.0, DEPTH]), f))).reshape(1, 6)
    return fast_sole(t, r, A, v, w, on_block)


def block(function: Any, *, depth: float = DEPTH, turned: bool = False) -> fm.Model:
    """A block on a guide; friction at a depth below the guide, ``turned``: the guide is declared
    from the block to the ground.
    """
    model = fm.Model("block", gravity=(0, 0, -G))
    frames = {"sole": (0, 0, -depth)}
    body = model.add(
        fm.RigidBody("block", mass=MASS, inertia=(INERTIA,) * 3, com=(0, 0, HEIGHT), frames=frames)
    )
    ends = (body, model.ground) if turned else (model.ground, body)
    model.add(fm.Prismatic("guide", *ends, axis="x", v0=-2.0 if turned else 2.0))
    model.add(fm.UserForce("rubbing", "block/sole", function, reads=["guide"]))
    return model


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("formalism", "coordinates", "integrator"), FORMS)
def test_friction_below_a_guide(
    formalism: str, coordinates: str, integrator: str, turned: bool
) -> None:
    """F = μ (m g + 2 (h + d) F/l): the reaction depends on the friction by the acceleration and by
    its own moment.
    """
    options: Any = (
        {"step": 1e-3} if integrator == "generalized-alpha" else {"rtol": 1e-7, "atol": 1e-9}
    )
    chosen = {"formalism": formalism, "coordinates": coordinates, "integrator": integrator}
    function = fast_sole_of_the_ground if turned else fast_sole
    found = fm.simulate(
        block(function, turned=turned), t_end=0.3, output_step=0.05, **chosen, **options
    )
    slower = MU * G / (1.0 - 2.0 * MU * (HEIGHT + DEPTH) / LENGTH)
    assert np.abs(found.body("block").velocity[:, 0] - (2.0 - slower * found.t)).max() < 1e-6
    assert found.verdict == "PASS"


def test_plain_functions_do_as_compiled_ones() -> None:
    runs = [
        fm.simulate(block(function), t_end=0.1, output_step=0.05, rtol=1e-7)
        for function in (sole, fast_sole)
    ]
    np.testing.assert_allclose(runs[0].s, runs[1].s, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("integrator", ["esdirk", "dormand-prince", "generalized-alpha"])
@pytest.mark.parametrize("depth", [0.5, 2.0])
def test_what_locks_itself_stops_the_run(integrator: str, depth: float) -> None:
    """2 μ (h + d)/l > 1; of the second depth at any acceleration."""
    deep = block(fast_sole, depth=5.0 * depth)
    with pytest.raises(
        fm.InputError,
        match="no reactions are consistent with the friction 'rubbing' that they cause",
    ):
        fm.simulate(deep, t_end=0.3, output_step=0.05, integrator=integrator)


@numba.njit
def fast_pin(t, r, A, v, w, reactions):  # type: ignore[no-untyped-def]
    torque = -MU * PIN * np.hypot(reactions[0, 0], reactions[0, 2]) * np.tanh(w[1] / SLOW)
    return 0.0, 0.0, 0.0, 0.0, torque, 0.0


@pytest.mark.parametrize(("formalism", "coordinates", "integrator"), FORMS)
def test_pendulum_by_a_torque_on_its_body(
    formalism: str, coordinates: str, integrator: str
) -> None:
    """As `PinFriction`, and as an independent integration."""
    model = pendulum()
    del model.forces["rubbing"]
    model.add(fm.UserForce("rubbing", "bob", fast_pin, reads=["pin"]))
    options: Any = (
        {"step": 1e-3} if integrator == "generalized-alpha" else {"rtol": 1e-8, "atol": 1e-10}
    )
    chosen = {"formalism": formalism, "coordinates": coordinates, "integrator": integrator}
    found = fm.simulate(model, t_end=2.0, output_step=0.1, **chosen, **options)
    exact = solve_ivp(swing, (0, 2), [1.0, 0.0], rtol=1e-10, atol=1e-12, t_eval=found.t).y
    assert np.abs(found.joint("pin").position[:, 0] - exact[0]).max() < (
        2e-5 if integrator == "generalized-alpha" else 1e-7
    )
    assert found.verdict == "PASS"


@numba.njit
def braking(t, r, A, v, w, reactions):  # type: ignore[no-untyped-def]
    """A brake torque about y by the force that presses the wheel on its plane."""
    n = reactions[0, 2]
    return 0.0, 0.0, 0.0, 0.0, -0.05 * n * np.tanh(w[1] / 1e-3), 0.0


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_rolling_wheel_braked_by_its_contact(coordinates: str) -> None:
    """v̇ = −0.05 g/(R (1 + J/(m R²))): the relation is read like a joint."""
    R, J = 0.4, 0.3
    model = fm.Model("wheel", gravity=(0, 0, -G))
    model.add(fm.RigidBody("wheel", mass=MASS, inertia=(0.2, J, 0.2)))
    start = {"q0": (0, 0, R, 1, 0, 0, 0), "v0": (3.0, 0, 0, 0, 3.0 / R, 0)}
    model.add(fm.Free("free", model.ground, "wheel", **start))
    model.add(fm.RollingDisc("rolling", model.ground, "wheel", radius=R))
    model.add(fm.UserForce("brake", "wheel", braking, reads=["rolling"]))
    found = fm.simulate(
        model, t_end=0.5, output_step=0.1, coordinates=coordinates, rtol=1e-8, atol=1e-10
    )
    slower = 0.05 * G / (R * (1.0 + J / (MASS * R**2)))
    np.testing.assert_allclose(
        found.body("wheel").velocity[:, 0], 3.0 - slower * found.t, atol=1e-6
    )


def test_reading_is_checked() -> None:
    with pytest.raises(
        fm.InputError,
        match=r"^forces\.f\.function: the function must be f\(t, r, A, v, w, reactions\) -> 6 "
        r"numbers",
    ):
        fm.UserForce("f", "b", lambda t, r, A, v, w: [0.0] * 6, reads=["pin"])
    model = slide(0.3, 0.4)
    model.add(fm.UserForce("f", "block", sole, reads=["gide"]))
    assert "forces.f.reads: no joint 'gide'; did you mean 'guide'?" in model.check().errors[0]
    with pytest.raises(
        fm.InputError,
        match="takes no forces that depend on reactions; use one of generalized-alpha",
    ):
        fm.simulate(block(sole), t_end=0.1, integrator="rattle", step=1e-3)
    for study in (fm.linearize, fm.statics):
        with pytest.raises(fm.InputError, match="no forces on frames that read them"):
            study(block(sole))


@numba.njit
def by_moment(t, r, A, v, w, reactions):  # type: ignore[no-untyped-def]
    return -0.1 * reactions[0, 4], 0.0, 0.0, 0.0, -0.1 * reactions[0, 4], 0.0


@pytest.mark.parametrize("turned", [False, True])
def test_what_a_force_along_a_freedom_leaves_to_the_joint(turned: bool) -> None:
    """A joint force acts at the frame of the child, so that the moment of the constraint is the
    same in all coordinates.
    """
    model = fm.Model("slides", gravity=(0, 0, -G), frames={"post": (0, 0, 0.4)})
    model.add(fm.RigidBody("plate", mass=MASS, inertia=(INERTIA,) * 3, com=(0.1, 0, 0.2)))
    ends = ("plate", model.ground["post"]) if turned else (model.ground["post"], "plate")
    model.add(fm.Translation("slides", *ends, q0=(0.3, 0.0, -0.2)))
    model.add(fm.JointTorque("pull", "slides", 5.0, coordinate=0))
    model.add(fm.JointTorque("lift", "slides", 7.0, coordinate=2))
    model.add(fm.UserForce("reading", "plate", by_moment, reads=["slides"]))
    joint, absolute = (
        fm.simulate(
            model, t_end=0.1, output_step=0.05, coordinates=coordinates, rtol=1e-9, atol=1e-11
        )
        for coordinates in ("joint", "absolute")
    )
    np.testing.assert_allclose(
        joint.body("plate").acceleration, absolute.body("plate").acceleration, rtol=1e-6
    )
    assert joint.verdict == "PASS"


def test_functions_never_see_reactions_before_there_are_any() -> None:
    """A law that divides by the load runs from the first call on, which has the reaction without
    it, m g.
    """
    loads = []

    def dividing(t: float, r: Any, A: Any, v: Any, w: Any, reactions: Any) -> list[float]:
        loads.append(reactions[0, 2])
        return [-0.1 / reactions[0, 2], 0.0, 0.0, 0.0, 0.0, 0.0]

    for coordinates in ("joint", "absolute"):
        found = fm.simulate(block(dividing), t_end=0.01, step=1e-3, coordinates=coordinates)
        assert loads[0] == pytest.approx(MASS * G, rel=1e-9)
        np.testing.assert_allclose(
            found.body("block").acceleration[:, 0], -0.1 / MASS**2 / G, rtol=1e-6
        )
        loads.clear()


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("turned", [False, True])
def test_reactions_in_world_axes_are_those_of_the_solution(coordinates: str, turned: bool) -> None:
    """As `joint.force` and `joint.torque`, on a joint whose frames are turned; those of the child
    are these turned back.
    """
    given: dict[str, list[Any]] = {"world": [], "child": []}

    def recorder(axes: str) -> Any:
        def law(t: float, r: Any, A: Any, v: Any, w: Any, reactions: Any) -> list[float]:
            given[axes].append((t, np.array(reactions[0])))
            return [0.0] * 6

        return law

    model = fm.Model("arm", gravity=(0.5, -1.0, -G))
    frames = {"pin": fm.Frame((0.1, 0.0, 0.4), rotation=((1, 2, 3), 0.8)), "end": (0, 0, -0.5)}
    model.add(fm.RigidBody("arm", mass=MASS, inertia=(0.2, 0.3, 0.1), frames=frames))
    ends = ("arm/pin", "ground") if turned else ("ground", "arm/pin")
    model.add(fm.Revolute("pin", *ends, axis="y", q0=0.7, v0=2.0))
    for axes in given:
        model.add(fm.UserForce(axes, "arm/end", recorder(axes), reads=["pin"], axes=axes))
    found = fm.simulate(model, t_end=0.02, step=1e-3, coordinates=coordinates)
    joint = found.joint("pin")
    R = np.eye(3) if turned else found.frame("arm/pin").rotation[-1]
    for axes, turn in (("world", np.eye(3)), ("child", R.T)):
        # evaluations without multipliers, as of the audit, give none
        force, torque = np.split(
            [wrench for t, wrench in given[axes] if t == found.t[-1] and wrench.any()][-1], 2
        )
        np.testing.assert_allclose(
            force, turn @ joint.force[-1], atol=1e-6 * np.abs(joint.force).max()
        )
        np.testing.assert_allclose(
            torque, turn @ joint.torque[-1], atol=1e-6 * np.abs(joint.force).max()
        )


@pytest.mark.parametrize("integrator", ["esdirk", "generalized-alpha"])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("share", [0.8, -0.7])
def test_a_press_that_adds_a_share_of_what_the_guide_carries(
    share: float, coordinates: str, integrator: str
) -> None:
    """N = m g (1 + sin ωt)/(1 − share), m v̇ = μ N: iterations over N contract with the share,
    however short the steps; at −0.7 N vanishes during the run.
    """
    speed = 50.0

    def press(t: float, r: Any, A: Any, v: Any, w: Any, reactions: Any) -> tuple[float, ...]:
        carried = reactions[0, 2]
        added = -share * carried - MASS * G * np.sin(speed * t)
        return MU * carried, 0.0, added, 0.0, 0.0, 0.0

    model = fm.Model("pressed block", gravity=(0, 0, -G))
    body = model.add(fm.RigidBody("block", mass=MASS, inertia=(INERTIA,) * 3))
    guide = model.add(fm.Prismatic("guide", model.ground, body, axis="x"))
    model.add(fm.UserForce("press", body, press, reads=[guide]))
    found = fm.simulate(
        model, t_end=0.1, output_step=0.01, coordinates=coordinates, integrator=integrator
    )
    t = found.t
    carried = MASS * G * (1.0 + np.sin(speed * t)) / (1.0 - share)
    velocity = MU * G / (1.0 - share) * (t + (1.0 - np.cos(speed * t)) / speed)
    assert np.abs(found.body("block").velocity[:, 0] - velocity).max() < 3e-5 * velocity.max()
    assert np.abs(found.joint("guide").force[:, 2] - carried).max() < 3e-4 * carried.max()
    assert found.verdict == "PASS"
    assert found.statistics["steps"] < (200 if integrator == "esdirk" else 2000)


@pytest.mark.parametrize("integrator", ["esdirk", "dormand-prince", "generalized-alpha"])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_press_that_locks_during_the_run_stops_it(coordinates: str, integrator: str) -> None:
    """N = m g/(1 − 10 t), and no iteration finds N > 0 for t ≥ 0.1 s; the motion does not depend on
    it.
    """

    def press(t: float, r: Any, A: Any, v: Any, w: Any, reactions: Any) -> tuple[float, ...]:
        return 0.0, 0.0, -10.0 * t * reactions[0, 2], 0.0, 0.0, 0.0

    model = fm.Model("pressed block", gravity=(0, 0, -G))
    body = model.add(fm.RigidBody("block", mass=MASS, inertia=(INERTIA,) * 3))
    guide = model.add(fm.Prismatic("guide", model.ground, body, axis="x", v0=1.0))
    model.add(fm.UserForce("press", body, press, reads=[guide]))
    with pytest.raises(fm.SolverError, match=r"stopped at t = 0\.(0[89]|100)"):
        fm.simulate(model, t_end=0.2, coordinates=coordinates, integrator=integrator)

"""Friction that depends on reactions against closed forms, an independent integration, and the
other formalisms.
"""

from typing import Any

import bars
import numba
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmbs as fm

G = 9.81
FORMS = [
    ("multiplier", "joint", "generalized-alpha"),
    ("multiplier", "absolute", "generalized-alpha"),
    ("multiplier", "joint", "esdirk"),
    ("multiplier", "absolute", "esdirk"),
    ("recursive", "joint", "esdirk"),
    ("recursive", "joint", "dormand-prince"),
    ("multiplier", "absolute", "dormand-prince"),
    ("embedding", "absolute", "dormand-prince"),
    ("partitioning", "joint", "dormand-prince"),
]
MASS, ARM, INERTIA, MU, PIN, SLOW = 2.0, 0.5, 0.02, 0.2, 0.05, 1e-2


def pendulum() -> fm.Model:
    about = {"mass": MASS, "inertia": (INERTIA,) * 3, "com": (0, 0, -ARM)}
    model = bars.pendulum(hinge="pin", q0=1.0, **about)
    model.add(fm.PinFriction("rubbing", "pin", friction=MU, radius=PIN, regularization=SLOW))
    return model


def swing(t: float, y: np.ndarray) -> list[float]:
    """θ̈ by hand, with the load N = |m (a − g)| by iteration."""
    angle, rate = y
    torque = 0.0
    for _ in range(60):
        wd = (-MASS * G * ARM * np.sin(angle) + torque) / (MASS * ARM**2 + INERTIA)
        load = MASS * np.hypot(G * np.cos(angle) + ARM * rate**2, ARM * wd + G * np.sin(angle))
        torque = -MU * PIN * load * np.tanh(rate / SLOW)
    return [rate, wd]


@pytest.mark.parametrize(("formalism", "coordinates", "integrator"), FORMS)
def test_pendulum_on_a_pin(formalism: str, coordinates: str, integrator: str) -> None:
    options: Any = (
        {"step": 1e-3} if integrator == "generalized-alpha" else {"rtol": 1e-8, "atol": 1e-10}
    )
    chosen = {"formalism": formalism, "coordinates": coordinates, "integrator": integrator}
    found = fm.simulate(pendulum(), t_end=2.0, output_step=0.1, **chosen, **options)
    exact = solve_ivp(swing, (0, 2), [1.0, 0.0], rtol=1e-10, atol=1e-12, t_eval=found.t).y
    assert np.abs(found.joint("pin").position[:, 0] - exact[0]).max() < (
        2e-5 if integrator == "generalized-alpha" else 1e-7
    )
    force = found.joint("pin").wrench[:, :3]
    torque = -MU * PIN * np.hypot(force[:, 0], force[:, 2]) * np.tanh(exact[1] / SLOW)
    assert np.abs(found.joint("pin").effort[:, 0] - torque)[1:].max() < 1e-3 * np.abs(torque).max()
    assert found.verdict == "PASS"


def slide(height: float, length: float) -> fm.Model:
    """A block whose centre of mass is above its guide, so that its deceleration presses on the ends
    of the guide.
    """
    model = fm.Model("slide", gravity=(0, 0, -G))
    block = model.add(fm.RigidBody("block", mass=MASS, inertia=(INERTIA,) * 3, com=(0, 0, height)))
    model.add(fm.Prismatic("guide", model.ground, block, axis="x", v0=2.0))
    model.add(fm.GuideFriction("rubbing", "guide", friction=MU, length=length, regularization=1e-4))
    return model


@pytest.mark.parametrize(("formalism", "coordinates", "integrator"), FORMS)
def test_slide_with_a_high_centre_of_mass(
    formalism: str, coordinates: str, integrator: str
) -> None:
    """a = μ (g + 2 a h/l), so a = μ g/(1 − 2 μ h/l)."""
    options: Any = (
        {"step": 1e-3} if integrator == "generalized-alpha" else {"rtol": 1e-7, "atol": 1e-9}
    )
    chosen = {"formalism": formalism, "coordinates": coordinates, "integrator": integrator}
    found = fm.simulate(slide(0.3, 0.4), t_end=0.3, output_step=0.05, **chosen, **options)
    slower = MU * G / (1.0 - 2.0 * MU * 0.3 / 0.4)
    assert np.abs(found.joint("guide").velocity[:, 0] - (2.0 - slower * found.t)).max() < 1e-6


@pytest.mark.parametrize("integrator", ["esdirk", "dormand-prince", "generalized-alpha"])
def test_a_slide_that_locks_itself_stops_the_run(integrator: str) -> None:
    """2 μ h/l > 1: no deceleration agrees with the friction that it causes."""
    with pytest.raises(
        fm.InputError,
        match="no reactions are consistent with the friction 'rubbing' that they cause",
    ):
        fm.simulate(slide(0.3, 0.1), t_end=0.3, output_step=0.05, integrator=integrator)


def linkage(*, flexible: bool = False) -> fm.Model:
    """A crank and a rocker over a rod on ball joints, with pins that rub, under a torque."""
    model = fm.Model("linkage", gravity=(0, 0, -G), frames={"far": (0.8, 0, 0)})
    bar = {"mass": 0.5, "inertia": (1e-3, 1e-2, 1e-2)}
    crank = model.add(fm.RigidBody("crank", com=(0, 0, 0.1), frames={"end": (0, 0, 0.2)}, **bar))
    rod = model.add(fm.RigidBody("rod", com=(0.4, 0, 0), frames={"tip": (0.8, 0, 0)}, **bar))
    rocker = model.add(fm.RigidBody("rocker", com=(0, 0, 0.1), frames={"end": (0, 0, 0.3)}, **bar))
    model.add(fm.Revolute("main", model.ground, crank, axis="y", q0=0.3))
    model.add(fm.Spherical("ball", crank["end"], rod))
    model.add(fm.Universal("cross", rod["tip"], rocker["end"], axes=("y", "z")))
    model.add(fm.Revolute("foot", model.ground["far"], rocker, axis="y"))
    model.add(fm.JointTorque("motor", "main", 1.5))
    rubs = {"friction": 0.15, "radius": 0.03, "regularization": 0.05}
    model.add(fm.PinFriction("at main", "main", length=0.05, **rubs))
    model.add(
        fm.PinFriction(
            "at foot", "foot", preload=0.02, static=0.25, stribeck_velocity=0.3, arm=0.02, **rubs
        )
    )
    return model


def test_errors_of_generalized_alpha_fall_with_the_square_of_the_step() -> None:
    """Newton's method converges slowly along the reactions, by which friction follows them: it must
    not end early.
    """
    options = {
        "t_end": 0.1,
        "output_step": 0.02,
        "formalism": "multiplier",
        "coordinates": "absolute",
    }
    exact = fm.simulate(linkage(), **options, integrator="esdirk", rtol=1e-10, atol=1e-12)
    coarse, fine = (
        np.abs(
            fm.simulate(linkage(), **options, integrator="generalized-alpha", step=step).s - exact.s
        ).max()
        for step in (2.5e-4, 6.25e-5)
    )
    assert 12.0 < coarse / fine < 20.0


def test_formalisms_agree_on_a_closed_loop() -> None:
    model = linkage()
    runs = [
        fm.simulate(
            model,
            t_end=0.3,
            output_step=0.05,
            formalism=formalism,
            coordinates=coordinates,
            integrator=integrator,
            rtol=1e-7,
            atol=1e-9,
        )
        for formalism, coordinates, integrator in FORMS[2:]
    ]
    for run in runs[1:]:
        for joint in ("main", "foot"):
            assert np.abs(run.joint(joint).position - runs[0].joint(joint).position).max() < 3e-5
            assert (
                np.abs(run.joint(joint).effort[:, 0] - runs[0].joint(joint).effort[:, 0]).max()
                < 1e-2
            )
        assert np.abs(run.energy.balance).max() < 1e-5 * run.energy.scale
        assert run.energy.dissipated[-1] > 0.001
        assert run.verdict == "PASS"


def test_inverse_dynamics_gives_the_torque_of_the_run() -> None:
    """The same motion under a drive needs the motor's torque."""
    run = fm.simulate(linkage(), t_end=0.2, output_step=0.02, rtol=1e-8, atol=1e-10)
    for coordinates in ("joint", "absolute"):
        found = fm.inverse_dynamics(
            fm.simulate(linkage(), t_end=0.2, output_step=0.02, coordinates=coordinates),
            actuators="main",
        )
        assert np.abs(found.effort["main"][:, 0]).max() < 1e-2  # beside the motor of the model
    assert np.abs(run.joint("main").effort[:, 0]).max() > 1.0


@pytest.mark.parametrize("integrator", ["rattle", "moreau-jean", "event-driven"])
def test_methods_without_reactions_are_rejected(integrator: str) -> None:
    options: Any = {} if integrator == "event-driven" else {"step": 1e-3}
    with pytest.raises(
        fm.InputError,
        match="takes no forces that depend on reactions; use one of generalized-alpha",
    ):
        fm.simulate(pendulum(), t_end=0.1, integrator=integrator, **options)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            lambda: fm.PinFriction("f", "pin", friction=-0.1, radius=0.1),
            "forces.f.friction: must be >= 0, not -0.1",
        ),
        (lambda: fm.PinFriction("f", "pin", friction=0.1), "forces.f.radius: is missing"),
        (
            lambda: fm.PinFriction(
                "f", "pin", friction=0.1, radius=0.1, static=0.05, stribeck_velocity=1.0
            ),
            "forces.f.static: must be >= friction = 0.1, not 0.05",
        ),
        (
            lambda: fm.GuideFriction("f", "pin", friction=0.1, static=0.2),
            "forces.f.stribeck_velocity: is missing; static and stribeck_velocity must be "
            "given together",
        ),
    ],
)
def test_bad_values(item: Any, message: str) -> None:
    with pytest.raises(fm.InputError) as error:
        item()
    assert str(error.value).startswith(message)


def test_the_wrong_kind_of_freedom_is_rejected() -> None:
    model = pendulum()
    model.add(fm.GuideFriction("wrong", "pin", friction=0.1))
    assert model.check().errors == [
        "forces.wrong.coordinate: coordinate 0 of joint 'pin' is a rotation; use 'pin-friction'"
    ]


def test_undetermined_reactions_are_rejected() -> None:
    """A plane four-bar on revolutes has redundant constraints, whose reactions are not unique."""
    model = linkage()
    for name, joint in (
        ("ball", fm.Revolute("ball", "crank/end", "rod", axis="y")),
        ("cross", fm.Revolute("cross", "rod/tip", "rocker/end", axis="y")),
    ):
        model.joints[name] = joint
    model.joints["foot"] = fm.Revolute("foot", "ground/far", "rocker", axis="y")
    with pytest.raises(fm.InputError, match="undetermined, on which it depends"):
        fm.simulate(model, t_end=0.1)


def test_a_guide_declared_backwards() -> None:
    """The load is that at the declared child's frame: the rail on the block gives another arm than
    the block on the rail.
    """
    runs = []
    for parent, child, sign in (("ground", "block", 1.0), ("block", "ground", -1.0)):
        model = slide(0.3, 0.8)
        model.joints["guide"] = fm.Prismatic("guide", parent, child, axis="x", v0=sign * 2.0)
        for coordinates in ("joint", "absolute"):
            found = fm.simulate(
                model, t_end=0.2, output_step=0.1, coordinates=coordinates, rtol=1e-7, atol=1e-9
            )
            runs.append(found.body("block").position[:, 0])
        assert np.abs(runs[-1] - runs[-2]).max() < 1e-6
    assert np.abs(runs[0] - runs[-1]).max() > 1e-3


def test_joints_with_several_axes_and_screws_are_rejected() -> None:
    model = linkage()
    model.add(fm.PinFriction("third", "cross", friction=0.1, radius=0.1))
    body = model.add(fm.RigidBody("nut", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Screw("thread", model.ground, body, pitch=0.01))
    model.add(fm.PinFriction("fourth", "thread", friction=0.1, radius=0.1))
    found = model.check().errors
    assert len(found) == 2
    assert all(
        "friction from reactions needs a revolute, prismatic or cylindrical joint" in line
        for line in found
    )


def pin(t: float, x: float, v: float, loads: np.ndarray) -> float:
    """`PinFriction` of the pendulum."""
    return float(-MU * PIN * loads[0] * np.tanh(v / SLOW))


def guide(t: float, x: float, v: float, loads: np.ndarray) -> float:
    """`GuideFriction` of a slide of length 0.4 m."""
    return float(-MU * (loads[0] + 2.0 * loads[2] / 0.4) * np.tanh(v / 1e-4))


@numba.njit
def fast_pin(t, x, v, loads):  # type: ignore[no-untyped-def]
    return -MU * PIN * loads[0] * np.tanh(v / SLOW)


@numba.njit
def fast_guide(t, x, v, loads):  # type: ignore[no-untyped-def]
    return -MU * (loads[0] + 2.0 * loads[2] / 0.4) * np.tanh(v / 1e-4)


def with_function(model: fm.Model, joint: str, function: Any) -> fm.Model:
    """The model with the user function in place of its friction."""
    del model.forces["rubbing"]
    model.add(fm.UserFriction("rubbing", joint, function))
    return model


@pytest.mark.parametrize(("formalism", "coordinates", "integrator"), FORMS)
def test_a_pin_by_a_user_function(formalism: str, coordinates: str, integrator: str) -> None:
    """The same motion as an independent integration, energy and friction torque as those of the
    built-in pin.
    """
    options: Any = (
        {"step": 1e-3} if integrator == "generalized-alpha" else {"rtol": 1e-8, "atol": 1e-10}
    )
    chosen = {"formalism": formalism, "coordinates": coordinates, "integrator": integrator}
    built_in = fm.simulate(pendulum(), t_end=1.0, output_step=0.1, **chosen, **options)
    own = fm.simulate(
        with_function(pendulum(), "pin", fast_pin), t_end=1.0, output_step=0.1, **chosen, **options
    )
    exact = solve_ivp(swing, (0, 1), [1.0, 0.0], rtol=1e-10, atol=1e-12, t_eval=own.t).y
    assert np.abs(own.joint("pin").position[:, 0] - exact[0]).max() < (
        2e-5 if integrator == "generalized-alpha" else 1e-7
    )
    assert np.abs(own.joint("pin").effort - built_in.joint("pin").effort).max() < 1e-3
    assert (
        np.abs(own.energy.dissipated - built_in.energy.dissipated).max() < 1e-5 * own.energy.scale
    )
    assert own.verdict == "PASS"


@pytest.mark.parametrize("function", [guide, fast_guide])
def test_a_guide_by_a_user_function(function: Any) -> None:
    """a = μ g/(1 − 2 μ h/l); a plain function gives the same as a compiled one."""
    model = with_function(slide(0.3, 0.4), "guide", function)
    slower = MU * G / (1.0 - 2.0 * MU * 0.3 / 0.4)
    for coordinates in ("joint", "absolute"):
        found = fm.simulate(
            model, t_end=0.3, output_step=0.05, coordinates=coordinates, rtol=1e-7, atol=1e-9
        )
        assert np.abs(found.joint("guide").velocity[:, 0] - (2.0 - slower * found.t)).max() < 1e-6


def test_a_user_function_that_locks_its_guide_stops_the_run() -> None:
    model = with_function(slide(1.2, 0.4), "guide", fast_guide)  # 2 μ h/l = 1.2
    with pytest.raises(
        fm.InputError,
        match="no reactions are consistent with the friction 'rubbing' that they cause",
    ):
        fm.simulate(model, t_end=0.3, output_step=0.05)


def unread(t, x, v, loads):  # type: ignore[no-untyped-def]
    """What a joint does not carry along its own freedom is no load."""
    return -1e3 * loads[3]


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_forces_along_the_freedom_are_no_loads(coordinates: str) -> None:
    model = pendulum()
    del model.forces["rubbing"]
    model.add(fm.JointTorque("motor", "pin", 0.7))
    free = fm.simulate(model, t_end=0.2, coordinates=coordinates, rtol=1e-8, atol=1e-10)
    model.add(fm.UserFriction("none", "pin", unread))
    found = fm.simulate(model, t_end=0.2, coordinates=coordinates, rtol=1e-8, atol=1e-10)
    assert np.abs(found.joint("pin").position - free.joint("pin").position).max() < 1e-9


def test_user_functions_of_reactions_are_checked() -> None:
    with pytest.raises(
        fm.InputError, match=r"^forces\.f\.function: the function must be f\(t, x, v, loads\) -> Q"
    ):
        fm.UserFriction("f", "pin", lambda t, x, v: 0.0)
    model = linkage()
    model.add(fm.UserFriction("third", "cross", pin))
    assert (
        "friction from reactions needs a revolute, prismatic or cylindrical joint"
        in model.check().errors[0]
    )
    model = with_function(pendulum(), "pin", pin)
    with pytest.raises(
        fm.InputError,
        match="takes no forces that depend on reactions; use one of generalized-alpha",
    ):
        fm.simulate(model, t_end=0.1, integrator="rattle", step=1e-3)
    for study in (fm.linearize, fm.statics):
        with pytest.raises(fm.InputError, match="supports no user functions of reactions"):
            study(model)


@pytest.mark.parametrize("integrator", [fm.GeneralizedAlpha(step=1e-3), fm.ESDIRK(rtol=1e-7)])
def test_power_of_drives_beside_friction_and_jumps(integrator: Any) -> None:
    """Each sample of the controller is a jump of the forces, after which accelerations are settled.

    The power of the drive was counted twice in the step after it: 5 % of the work were missing.
    """
    model = fm.Model("arm", gravity=(0, 0, -G))
    shape = {"mass": 1.0, "inertia": (0.02, 0.1, 0.1), "com": (0.5, 0, 0)}
    upper = model.add(fm.RigidBody("upper", **shape, frames={"end": (1, 0, 0)}))
    lower = model.add(fm.RigidBody("lower", **shape))
    model.add(fm.Revolute("shoulder", model.ground, upper, axis="y", v0=1.0))
    model.add(fm.Revolute("elbow", upper["end"], lower, axis="y", q0=0.5, v0=0.0))
    model.add(fm.Drive("motor", "shoulder", fm.Ramp(0.0, 1.0)))
    model.add(fm.PinFriction("bearing", "elbow", friction=0.2, radius=0.05))
    servo = fm.DigitalPID(sample_time=0.01, kp=20.0, kd=1.0)
    model.add(fm.JointTorque("servo", "elbow", servo))
    run = fm.simulate(model, t_end=0.1, output_step=0.05, integrator=integrator)
    balance = next(check for check in run.audit if check.title == "Energy balance")
    assert balance.status == "PASS", str(balance)

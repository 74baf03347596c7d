"""The audit of results without integration: incomplete modes, manipulated states, ranges of
frequencies; no false alarms.
"""

import dataclasses
import warnings
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from draws import covering, drawn, slow

import flexmbs as fm
import preprocess as pp
from flexmbs.audit.modal_band import accurate_range
from flexmbs.audit.state_checks import audited_states
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.errors import AuditWarning
from flexmbs.results.state import State
from flexmbs.studies.states.state_sequence import solution_of

E, RHO, LENGTH, SPEED = 7e10, 2700.0, 1.0, 200.0


def bar(modes: int = 4, **options: Any) -> fm.FlexibleBodyData:
    """A bar with one interface at its root."""
    mesh = pp.box_mesh((LENGTH, 0.04, 0.04), (20, 1, 1), "hex20", origin=(0, -0.02, -0.02))
    return pp.reduce(
        mesh,
        pp.Isotropic(E=E, nu=0.0, rho=RHO),
        interfaces={"root": pp.Rigid("x0")},
        reference="root",
        method=pp.CraigBampton(modes=modes),
        **options,
    )


def spun(data: fm.FlexibleBodyData, speed: float = SPEED) -> fm.Model:
    model = fm.Model("spun", gravity=(0, 0, 0))
    body = model.add(fm.FlexibleBody("bar", data=data))
    model.add(fm.Revolute("hub", model.ground, body["root"], axis="z"))
    model.add(fm.Drive("motor", "hub", fm.Ramp(0.0, rate=speed)))
    return model


def test_a_spun_bar_that_cannot_stretch() -> None:
    """ρ Ω² L³/(3 E) at its end: with bending modes alone it is missing, and reported."""
    with pytest.warns(AuditWarning, match="FAIL: Modes of bar: miss"):
        found = fm.statics(spun(bar()), steady=True)
    assert found.verdict == "FAIL"
    run = fm.simulate(spun(bar()), t_end=0.01, step=1e-3, start=found, audit="none")
    with pytest.warns(AuditWarning, match="FAIL: Modes of bar: miss"):
        assert fm.inverse_dynamics(run).solution.verdict == "FAIL"
    data = bar(inertia_loads=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        good = fm.statics(spun(data), steady=True)
    end = int(np.argmax(data.surface.nodes[:, 0]))
    stretch = (data.surface.phi[end] @ good.solution.body("bar").elastic[0])[0]
    assert stretch == pytest.approx(RHO * SPEED**2 * LENGTH**3 / (3.0 * E), rel=1e-4)
    assert good.verdict == "PASS"


def test_frequencies_do_not_depend_on_a_stretch_that_is_missing() -> None:
    """0.5 mm in 1 m: of an equilibrium it is all of the
    displacement, of its small motions nothing.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fm.campbell(spun(bar()), [50.0, 100.0], drive="motor", modes=2).verdict == "PASS"


def test_frequencies_beyond_the_modes_of_a_body() -> None:
    """All modes of a model include those of the ends of its bases, which is stated; a warning where
    they are asked for.
    """
    data = bar(modes=4, inertia_loads=True)
    limit = accurate_range(data)
    assert limit is not None
    model = spun(data, 1.0)
    every = fm.linearize(model)
    assert every.verdict == "PASS"
    check = next(check for check in every.audit if check.title == "Frequencies of bar")
    above = every.modes.frequency > limit
    assert f"{int(above.sum())} of {len(above)} modes are beyond" in check.found
    with pytest.warns(AuditWarning, match="WARN: Frequencies of bar"):
        shown = fm.campbell(model, [1.0, 2.0], drive="motor", modes=int((~above).sum()) + 1)
    assert shown.verdict == "WARN"


def test_an_audit_that_is_switched_off(tmp_path: Path) -> None:
    model = spun(bar())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rest = fm.statics(model, steady=True, audit=False)
        assert rest.verdict == "NOT JUDGED"
        rest.solution.save(tmp_path / "rest.h5")
        kept = fm.Solution.load(tmp_path / "rest.h5")
        assert kept.verdict == "NOT JUDGED"
        assert "NOT JUDGED" in str(kept)
        kept.report(tmp_path / "rest.html")
        assert "the audit of this run was switched off" in (tmp_path / "rest.html").read_text(
            encoding="utf-8"
        )
        assert fm.linearize(model, start=rest, audit=False).verdict == "NOT JUDGED"
        assert fm.campbell(model, [1.0], drive="motor", audit=False).verdict == "NOT JUDGED"
        assert fm.kinematics(model, [0.0, 0.1], audit=False).verdict == "NOT JUDGED"
    with pytest.raises(fm.InputError, match="audit: must be True or False"):
        fm.statics(model, audit="none")  # type: ignore[arg-type]


def test_kinematics_of_a_body_that_would_bend() -> None:
    """A rod of 1 m that is shaken: ω̇ bends it by more than a hundredth of its length."""
    model = spun(bar())
    model.drives["motor"] = fm.Drive("motor", "hub", fm.Sine(0.5, 8.0))
    with pytest.warns(
        AuditWarning, match="WARN: Deformation of bar: its loads would displace it by"
    ):
        assert fm.kinematics(model, np.linspace(0.0, 0.125, 9)).verdict == "WARN"


def chain(seed: int, *, far: float = 0.0) -> fm.Model:
    """Links on skew revolute joints with springs, a follower force and a driven first joint with a
    vertical axis.
    """
    rng = np.random.default_rng(seed)
    model = fm.Model("chain", gravity=(0.0, 0.0, -9.81), frames={"foot": (far, -far, 0.0)})
    end: Any = model.ground["foot"]
    for k in range(3):
        at = {"end": tuple(rng.uniform(0.2, 0.6, 3))}
        body = model.add(
            fm.RigidBody(
                f"b{k}",
                mass=rng.uniform(0.5, 2.0),
                inertia=(0.1, 0.12, 0.14),
                com=(0.1, 0, 0.2),
                frames=at,
            )
        )
        axis = rng.normal(size=3) if k else np.array([0.0, 0.0, 1.0])
        model.add(fm.Revolute(f"j{k}", end, body, axis=tuple(axis / np.linalg.norm(axis))))
        if k:
            model.add(fm.JointSpring(f"s{k}", f"j{k}", k=rng.uniform(60.0, 300.0), c=0.5))
        end = body["end"]
    model.add(fm.FrameForce("push", end, force=tuple(rng.uniform(-9.0, 9.0, 3)), axes="follower"))
    model.add(fm.Drive("motor", "j0", fm.Ramp(0.1, rate=1.5)))
    return model


@pytest.mark.parametrize("seed", drawn(2, 40))
@pytest.mark.parametrize("far", [0.0, 1e4])
def test_correct_results_pass(seed: int, far: float) -> None:
    model = chain(seed, far=far)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for steady in (False, True):
            assert fm.statics(model, steady=steady).verdict == "PASS"
        assert fm.linearize(model, start=fm.statics(model, steady=True)).verdict == "PASS"
        assert fm.quasi_static(model, [0.0, 0.2]).verdict == "PASS"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AuditWarning)  # the drive has an initial rate
            run = fm.simulate(model, t_end=0.02, step=1e-3)
        assert fm.inverse_dynamics(run).solution.verdict == "PASS"
        assert fm.inverse_dynamics(run, actuators=["j1", "j2"]).solution.verdict == "PASS"


@pytest.mark.parametrize("axis", ["x", "z"])
def test_weight_on_a_turning_part_is_no_steady_load(axis: str) -> None:
    """A disc on springs in a turning table: on a horizontal axle its sag turns in the table."""
    model = fm.Model("rotor", gravity=(0.0, 0.0, -9.81))
    table = model.add(fm.RigidBody("table", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    disc = model.add(
        fm.RigidBody("disc", mass=2.0, inertia=(1.0, 1.0, 1.0), com=(1e-3, 1e-3, 1e-3))
    )
    model.add(fm.Revolute("axle", model.ground, table, axis=axis))
    slides = ("y", "z") if axis == "x" else ("x", "y")
    plane = model.add(
        fm.Chain("plane", table, disc, motions=tuple(fm.motions.Slide(each) for each in slides))
    )
    for k in (0, 1):
        model.add(fm.JointSpring(f"spring {k}", plane, k=800.0, coordinate=k))
    model.add(fm.Drive("motor", "axle", fm.Ramp(0.0, rate=50.0)))
    if axis == "z":
        assert fm.statics(model, steady=True).verdict == "PASS"
    else:
        with pytest.warns(AuditWarning, match="WARN: Steady motion"):
            assert fm.statics(model, steady=True).verdict == "WARN"


def broken(found: State, part: str) -> State:
    """The state with one thing wrong: by 1 %, or 1 mm."""
    if part == "position":
        return dataclasses.replace(found, q=found.q + np.array([0.0, 1e-3, 0.0]))
    if part == "multipliers":
        return dataclasses.replace(found, lam=1.01 * found.lam)
    system, bodies = found.compiled.system, found.compiled.system.bodies
    if part == "gravity":
        system = system._replace(gravity=1.01 * system.gravity)
    elif part == "mass":
        system = system._replace(bodies=bodies._replace(mass=1.01 * bodies.mass))
    else:
        system = system._replace(frames=system.frames._replace(x=1.01 * system.frames.x))
    return dataclasses.replace(found, compiled=dataclasses.replace(found.compiled, system=system))


@pytest.mark.parametrize("part", ["position", "multipliers", "gravity", "mass", "frames"])
@pytest.mark.parametrize("steady", [False, True])
def test_manipulated_states_do_not_pass(part: str, steady: bool) -> None:
    """Wrong states, and terms that are wrong in joint coordinates alone."""
    state = broken(fm.statics(chain(0), steady=steady).state, part)
    checks = audited_states(solution_of([state], options={}), balanced=True)
    assert {check.status for check in checks} & {"WARN", "FAIL"}
    if part not in ("position", "multipliers"):
        checks = audited_states(solution_of([state], options={}), balanced=False)
        assert {check.status for check in checks} & {"WARN", "FAIL"}


def jeffcott(
    rng: np.random.Generator,
    offset: float,
    carried: bool,
    *,
    unit: float = 1.0,
    hardening: float = 0.0,
) -> tuple[fm.Model, float]:
    """A disc with its mass off the axis on two springs, at rest or ``carried`` with its rotation;
    and m e Ω²/k over its size. hardening: share of the size at which the springs have twice their
    force.
    """
    mass, k, speed = rng.uniform(1.0, 5.0), rng.uniform(2e4, 5e4), rng.uniform(10.0, 40.0)
    model = fm.Model("rotor", gravity=(0, 0, 0))
    model.add(fm.RigidBody("hub", mass=1e-3, inertia=(1e-6 * unit**2,) * 3))
    disc = fm.RigidBody(
        "disc",
        mass=mass,
        inertia=(0.02 * unit**2,) * 3,
        com=(offset * unit, 0, 0),
        frames={"rim": (unit, 0, 0)},
    )
    model.add(disc)
    ends = ("hub", "disc") if carried else (model.ground, "hub")
    slides = fm.motions.Slide("x"), fm.motions.Slide("y")
    model.add(fm.Chain("plane", *ends, motions=slides))
    model.add(
        fm.Revolute("axle", *((model.ground, "hub") if carried else ("hub", "disc")), axis="z")
    )
    for axis in (0, 1):
        model.add(fm.JointSpring(f"spring {axis}", "plane", k=k, coordinate=axis))
        if hardening:
            cubic = k / (hardening * unit) ** 2
            law = partial(lambda c, t, x, v: -c * x**3, cubic)
            model.add(fm.JointTorque(f"stop {axis}", "plane", law, coordinate=axis))
    model.add(fm.Drive("motor", "axle", fm.Ramp(0.3, rate=speed)))
    return model, mass * offset * speed**2 / k


def motion_of(found: Any) -> Any:
    return next(check for check in found.audit if check.title == "Motion")


@pytest.mark.filterwarnings("ignore::flexmbs.errors.AuditWarning")
@pytest.mark.parametrize(
    ("seed", "unit", "hardening"),
    [
        *covering(product(range(2), (1.0, 1e3, 1e-3), (0.0, 1e-4))),
        *slow(product(range(2, 40), (1.0, 1e3, 1e-3), (0.0, 1e-4))),
    ],
)
def test_unbalance_is_a_finding_unless_it_rests_in_the_turning_part(
    seed: int, unit: float, hardening: float
) -> None:
    """The force of a later position, m e Ω² |r(0.3 rad) − r(0)|, over the stiffness; without it
    nothing to report, nor on springs that are linear, where the modes are the same there.
    """
    offset = 10.0 ** np.random.default_rng(seed).uniform(-4.0, 0.0)
    if hardening:
        model, _ = jeffcott(
            np.random.default_rng(seed), offset, False, unit=unit, hardening=hardening
        )
        found = fm.linearize(model, start=fm.statics(model, steady=True))
        status = "PASS" if found.leaving <= 1e-5 else "WARN" if found.leaving <= 0.05 else "FAIL"
        assert motion_of(found).status == status
        return
    model, size = jeffcott(np.random.default_rng(seed), offset, False, unit=unit)
    rest = fm.statics(model, steady=True)
    found = fm.linearize(model, start=rest)
    apart = np.array([np.cos(0.6) - np.cos(0.3), np.sin(0.6) - np.sin(0.3)])
    np.testing.assert_allclose(found.leaving, size * np.abs(apart).max(), rtol=1e-6)
    diagram = fm.campbell(model, [model.drives["motor"].motion.rate], drive="motor")
    assert motion_of(found).status == motion_of(diagram).status == "PASS"
    for balanced in (
        jeffcott(np.random.default_rng(seed), 0.0, False)[0],
        jeffcott(np.random.default_rng(seed), offset, True)[0],
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert fm.linearize(balanced, start=fm.statics(balanced, steady=True)).verdict == "PASS"


def test_a_linear_rotor_beside_its_equilibrium_has_its_modes() -> None:
    """Half a millimetre off, on springs without the force that would hold it there."""
    model, _ = jeffcott(np.random.default_rng(0), 0.0, False)
    model.add(fm.JointTorque("weight", "plane", 20.0, coordinate=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        beside = fm.linearize(model)
    assert beside.leaving > 4e-4
    assert beside.verdict == "PASS"
    assert "not steady" not in str(beside)
    settled = fm.linearize(model, start=fm.statics(model, steady=True))
    np.testing.assert_allclose(beside.modes.frequency, settled.modes.frequency, rtol=1e-9)


def test_states_that_change_are_a_finding_of_linearize() -> None:
    """Springs at rest and in a turning shaft of two stiffnesses; an arm beside its equilibrium. A
    satellite spins steadily.
    """
    model = fm.Model("shaft", gravity=(0, 0, 0))
    for name in ("bearing", "shaft", "disc"):
        model.add(fm.RigidBody(name, mass=1.0, inertia=(1.0, 1.0, 1.0)))
    slides = fm.motions.Slide("x"), fm.motions.Slide("y")
    model.add(fm.Chain("support", model.ground, "bearing", motions=slides))
    model.add(fm.Revolute("axle", "bearing", "shaft", axis="z"))
    model.add(fm.Chain("bending", "shaft", "disc", motions=slides))
    for joint, axis, k in (
        ("support", 0, 1e4),
        ("support", 1, 2e4),
        ("bending", 0, 1e4),
        ("bending", 1, 3e4),
    ):
        model.add(fm.JointSpring(f"{joint} {axis}", joint, k=k, coordinate=axis))
    model.add(fm.Drive("motor", "axle", fm.Ramp(0.0, rate=20.0)))
    arm = fm.Model("arm")
    arm.add(fm.RigidBody("arm", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1)))
    arm.add(fm.Revolute("hinge", arm.ground, "arm", axis="y", q0=0.7))
    top = fm.Model("spinning up", gravity=(0, 0, 0))
    top.add(fm.RigidBody("disc", mass=1.0, inertia=(1.0, 1.0, 2.0)))
    turns = (fm.motions.Rotate("x"), fm.motions.Rotate("y"), fm.motions.Rotate("z"))
    top.add(fm.Chain("gimbal", top.ground, "disc", motions=turns, v0=(0.0, 0.0, 20.0)))
    for axis in (0, 1):
        top.add(fm.JointSpring(f"spring {axis}", "gimbal", k=1e3, coordinate=axis))
    top.add(fm.JointTorque("motor", "gimbal", 10.0, coordinate=2))
    for changing in (model, arm, top):
        with pytest.warns(AuditWarning, match="WARN: Motion: is not steady"):
            assert fm.linearize(changing).verdict == "WARN"
    for drift in ((0.0, 0.0, 0.0), (1.0, 0.5, 0.2)):
        satellite = fm.Model("satellite", gravity=(0, 0, 0))
        satellite.add(fm.RigidBody("hull", mass=3.0, inertia=(1.0, 2.0, 2.5)))
        satellite.add(fm.Free("orbit", satellite.ground, "hull", v0=(*drift, 0, 0, 2.0)))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert fm.linearize(satellite).verdict == "PASS"


@numba.njit
def brake(t, r, A, v, w, reactions):  # type: ignore[no-untyped-def]
    """A torque by the force of a pin, and by the place."""
    return 0.0, 0.0, 0.0, 0.0, -0.02 * np.hypot(reactions[0, 0], reactions[0, 2]) - 0.3 * r[0], 0.0


@pytest.mark.parametrize("read", ["hinge", "strut", "by friction"])
def test_forces_that_depend_on_reactions_are_those_of_the_state(read: str) -> None:
    """A swinging arm braked by the reaction of a joint: no finding, unless accelerations are wrong
    by 1 %; no memory of loads.
    """
    model = fm.Model("arm", gravity=(0, 0, -9.81), frames={"far": (0.9, 0, 0.4)})
    model.add(
        fm.RigidBody(
            "arm", mass=2.0, com=(0.3, 0, 0.1), inertia=(0.1, 0.2, 0.3), frames={"end": (0.6, 0, 0)}
        )
    )
    model.add(
        fm.RigidBody(
            "rod", mass=1.0, com=(0.2, 0, 0), inertia=(0.1, 0.2, 0.3), frames={"end": (0.4, 0, 0)}
        )
    )
    model.add(fm.Revolute("hinge", model.ground, "arm", axis="y"))
    model.add(fm.Revolute("knee", "arm/end", "rod", axis="y", q0=0.5))
    for name, k in (("hinge", 200.0), ("knee", 100.0)):
        model.add(fm.JointSpring(f"spring of {name}", name, k=k, c=1.0))
    if read == "strut":
        model.add(fm.Distance("strut", model.ground["far"], "rod/end", length=0.7))
    if read in model.joints:
        model.add(fm.UserForce("brake", "rod", brake, reads=[read]))
    else:
        model.add(
            fm.PinFriction(
                "brake", "hinge", friction=0.3, radius=0.05, length=0.1, regularization=0.05
            )
        )
    run = fm.simulate(model, t_end=0.2, output_step=0.05, rtol=1e-8, atol=1e-10)
    assert run.verdict == "PASS", run.audit
    assert {check.status for check in audited_states(run, balanced=True)} == {"PASS"}
    manipulated = run.trajectory._replace(sd=1.01 * run.trajectory.sd)
    wrong = type(run)(run.compiled, manipulated, {}, run.run)
    assert {check.status for check in audited_states(wrong, balanced=True)} & {"WARN", "FAIL"}
    work = make_work(run.compiled.system, run.trajectory.beta[-1])
    first, again = (
        terms(run.compiled.system, work, 0.2, run.q[-1].copy(), run.s[-1].copy()).k
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, again)

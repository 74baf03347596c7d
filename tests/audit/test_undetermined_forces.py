"""Forces of contacts and of dry friction that are not unique are reported."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.audit.contact_states import changes_of_friction, states_of_contacts
from flexmbs.audit.undetermined_forces import TITLE, undetermined_forces
from flexmbs.results.impact_steps import outputs_between_impacts

pytestmark = pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
METHODS = ["event-driven", fm.MoreauJean(step=1e-3)]


def found(model: fm.Model, method: str | fm.MoreauJean) -> list[tuple[str, str]]:
    """Status and text of the findings of a short run."""
    run = fm.simulate(model, t_end=0.05, output_step=0.01, integrator=method)
    checks = undetermined_forces(run, states_of_contacts(run))
    assert [check for check in run.audit if check.title == TITLE] == checks
    return [(check.status, check.found) for check in checks]


def wheel(model: fm.Model, name: str, x: float = 0.0) -> str:
    """A wheel on a shaft through the ground at x."""
    body = model.add(fm.RigidBody(name, mass=1.0, inertia=(1, 1, 0.5)))
    ground = fm.FrameRef("ground", f"at {name}") if x else model.ground
    model.add(fm.Revolute(f"{name} shaft", ground, body, axis="z"))
    return f"{name} shaft"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_friction_on_both_shafts_of_a_gear(method: str | fm.MoreauJean, order: tuple) -> None:
    """Either shaft may hold the torque: the load of the gear is between zero and all of it."""
    model = fm.Model("gear", gravity=(0, 0, 0), frames={"at b": (0.3, 0, 0)})
    shafts = [wheel(model, "a"), wheel(model, "b", 0.3)]
    model.add(fm.Gear("gear", *shafts, ratio=2.0))
    for k in order:
        model.add(fm.DryFriction(f"brake {k}", shafts[k], coulomb=5.0))
    model.add(fm.JointTorque("load", shafts[1], 6.0))
    [(status, text)] = found(model, method)
    assert status == "WARN"
    assert "brake 0" in text
    assert "brake 1" in text


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("beside", [False, True])
def test_friction_in_a_driven_joint(method: str | fm.MoreauJean, beside: bool) -> None:
    """At rest the motor may carry the load alone, or against the friction; more contacts that close
    later, with more unknown forces while the joint turns, do not hide it."""
    model = fm.Model("held", gravity=(0, 0, -9.81))
    shaft = wheel(model, "a")
    model.add(fm.Drive("motor", shaft, fm.SmoothStep(0.5, start=0.02, duration=0.03)))
    model.add(fm.DryFriction("brake", shaft, coulomb=8.0))
    model.add(fm.JointTorque("load", shaft, -5.0))
    if beside:
        model.add(fm.PointMass("ball", mass=1.0))
        start = {"q0": (0, 3, 5e-3), "v0": (0, 0, -1.0)}
        model.add(fm.Translation("flight", model.ground, "ball", **start))
        model.add(fm.SpherePlane("floor", model.ground, "ball", friction=0.5))
    [(status, text)] = found(model, method)
    assert (status, "brake" in text) == ("WARN", True)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("feet", [3, 4])
@pytest.mark.parametrize("speed", [0.0, 0.4])
def test_feet(method: str | fm.MoreauJean, feet: int, speed: float) -> None:
    """Three feet that slide have unique forces; friction at rest, and a fourth foot, do not."""
    angles = 2.0 * np.pi * np.arange(feet) / feet
    frames = {f"f{k}": (np.cos(a), np.sin(a), -0.1) for k, a in enumerate(angles)}
    model = fm.Model("table")
    table = model.add(fm.RigidBody("table", mass=3.0, inertia=(1, 1, 1), frames=frames))
    start = (0, 0, 0.1, 1, 0, 0, 0)
    model.add(fm.Free("free", model.ground, table, q0=start, v0=(speed, 0, 0, 0, 0, 0)))
    for k in range(feet):
        model.add(fm.SpherePlane(f"foot {k}", model.ground, table[f"f{k}"], friction=0.3))
    checks = found(model, method)
    unique = feet == 3 and speed > 0.0
    assert [status for status, _ in checks] == ([] if unique else ["PASS"])


@pytest.mark.parametrize("method", METHODS)
def test_unique_forces(method: str | fm.MoreauJean) -> None:
    """Two links held by the friction of their pins, and a block that rests on a slope."""
    model = fm.Model("held", frames={"slope": (5.0, 0, 0)})
    below = model.ground
    for k in range(2):
        frames = {"end": (0.3, 0, 0)}
        link = model.add(
            fm.RigidBody(f"link {k}", mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1), frames=frames)
        )
        model.add(fm.Revolute(f"pin {k}", below, link, axis="y"))
        model.add(fm.DryFriction(f"brake {k}", f"pin {k}", coulomb=20.0))
        below = link["end"]
    block = model.add(fm.PointMass("block", mass=1.0))
    model.add(fm.Translation("way", "ground/slope", block))
    model.add(fm.SpherePlane("floor", "ground/slope", block, normal=(0.1, 0, 1), friction=0.3))
    assert found(model, method) == []


def sliding(coulomb: float, step: float) -> fm.Solution:
    """A block that dry friction stops after it has hit a stop."""
    model = fm.Model("block", gravity=(0, 0, -9.81))
    block = model.add(fm.RigidBody("block", mass=1.0, inertia=(0.01, 0.01, 0.01)))
    rail = model.add(fm.Prismatic("rail", model.ground, block, axis="x", v0=2.6))
    model.add(fm.DryFriction("brake", rail, coulomb=coulomb))
    model.add(fm.JointLimit("stop", rail, upper=0.2, restitution=0.3))
    return fm.simulate(model, t_end=0.8, step=step, output_step=8e-3, integrator="moreau-jean")


def test_instants_at_which_dry_friction_stops_are_no_errors_of_forces() -> None:
    """Friction jumps within the interval of outputs in which it stops the block, by 7.4 N. Friction
    that stops it at another time, or has another size, is compared.
    """
    run, finer, other = (sliding(*how) for how in ((7.4, 1e-3), (7.4, 5e-4), (6.0, 5e-4)))
    assert run.verdict == "PASS"
    for theirs in (finer, other):
        apart = np.abs(run.joint("rail").force - theirs.joint("rail").force)[:, 0]
        calm = outputs_between_impacts(run.t, 1e-3, [impact.t for impact in run.run.impacts])
        stops = changes_of_friction(run, theirs)[:, list(run.contacts).index("brake")]
        assert stops.sum() <= 2
        assert (apart[calm & stops].max(initial=0.0) > 1.0) == (theirs is finer)
        assert (apart[calm & ~stops].max() > 1.0) == (theirs is other)

"""Errors of reactions and accelerations are not hidden by other bodies, axes or contacts."""

import functools
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp
from flexmbs.audit.closed_contacts import forces_of_contacts
from flexmbs.audit.contact_states import states_of_contacts
from flexmbs.audit.friction_law import friction_law
from flexmbs.dynamics.work import make_work
from flexmbs.initial.initial_state import settle

pytestmark = pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
LENGTH, PIECES = 0.6, 16


@functools.cache
def link(modes: int) -> Any:
    """Beam clamped at its root, whose end bends faster than few modes can."""
    x = np.zeros((PIECES + 1, 3))
    x[:, 0] = np.linspace(0, LENGTH, PIECES + 1)
    elements = {"line2": [(i, i + 1) for i in range(PIECES)]}
    mesh = pp.Mesh.from_arrays(x, elements, node_sets={"root": [0]})
    section = pp.RectangularSection(0.02, 0.01, orientation=(0, 0, 1))
    fe = pp.assemble(mesh, pp.Isotropic(E=70e9, nu=0.33, rho=2700.0), sections=section)
    method = pp.CraigBampton(modes=modes)
    return pp.reduce(fe, interfaces={"root": pp.Rigid("root")}, method=method, reference="root")


def status(solution: fm.Solution, title: str) -> str:
    """Status of the check of this title."""
    [found] = [check.status for check in solution.audit if check.title == title]
    return found


def shaken(base_mass: float, beside: float = 0.0) -> fm.Model:
    """A link shaken by a drive on a base that slides, or on the ground, and a body beside it."""
    model = fm.Model("shaken", gravity=(0, 0, -9.81) if beside else (0, 0, 0))
    base = model.ground
    if base_mass:
        base = model.add(fm.RigidBody("base", mass=base_mass, inertia=(base_mass,) * 3))
        model.add(fm.Prismatic("rail", model.ground, base, axis="x"))
    body = model.add(fm.FlexibleBody("link", data=link(2)))
    model.add(fm.Revolute("hinge", base, body["root"], axis="y"))
    model.add(fm.Drive("motor", "hinge", fm.Sine(1e-4, 500.0)))
    if beside:
        block = model.add(fm.RigidBody("block", mass=beside, inertia=(beside,) * 3))
        model.add(fm.Fixed("bolts", model.ground, block))
    return model


@pytest.mark.parametrize("base, beside", [(0, 0), (1, 0), (1e3, 0), (1e5, 0), (0, 1e3)])
def test_a_heavy_body_hides_no_missing_reaction(base: float, beside: float) -> None:
    """All of the force at the hinge is missing: 17 N of 16 N, with 40 modes instead of two."""
    run = fm.simulate(shaken(base, beside), t_end=0.02, output_step=1e-4, rtol=1e-6)
    assert status(run, "Truncated modes") == "FAIL"


def shafts(turning: bool) -> fm.Model:
    """Two inertias on one axis: a soft spring to the ground, a stiff one between them."""
    model = fm.Model("shafts", gravity=(0, 0, 0))
    a = model.add(fm.RigidBody("a", mass=1e-2, inertia=(1e-2,) * 3))
    b = model.add(fm.RigidBody("b", mass=1e-3, inertia=(1e-3,) * 3))
    joint = fm.Revolute if turning else fm.Prismatic
    model.add(joint("A", model.ground, a, axis="z"))
    model.add(joint("B", a, b, axis="z"))
    model.add(fm.JointSpring("soft", "A", k=1.0))
    model.add(fm.JointSpring("stiff", "B", k=4e3))
    model.add(fm.JointTorque("load", "A", 0.1))
    return model


@pytest.mark.parametrize("integrator, step", [("moreau-jean", 1e-2), ("generalized-alpha", 3e-4)])
def test_turning_is_judged_as_sliding(integrator: str, step: float) -> None:
    """The vibration of 2000 rad/s is not resolved: the same equations, in rad and in m."""
    for turning in (True, False):
        options = {"t_end": 1.0, "step": step, "output_step": 1e-2, "integrator": integrator}
        run = fm.simulate(shafts(turning), **options)
        assert status(run, "Forces of the second run") != "PASS"


def arm(beside: bool) -> fm.Model:
    """A driven arm, with a ball at rest on a table beside it."""
    model = fm.Model("arm")
    body = model.add(fm.FlexibleBody("link", data=link(2)))
    model.add(fm.Revolute("hinge", model.ground, body["root"], axis="z"))
    model.add(fm.Drive("motor", "hinge", fm.Sine(1e-4, 500.0, phase=np.pi / 2)))
    if beside:
        model.add(fm.RigidBody("ball", mass=0.1, inertia=(4e-5,) * 3))
        model.add(fm.Free("place", model.ground, "ball", q0=(2.0, 0, 0.03, 1, 0, 0, 0)))
        model.add(fm.SpherePlane("table", model.ground, "ball", radius=0.03))
    return model


@pytest.mark.parametrize("integrator", ["event-driven", "moreau-jean"])
def test_a_closed_contact_hides_no_missing_reaction(integrator: str) -> None:
    for beside in (False, True):
        options = {"t_end": 0.01, "output_step": 5e-5, "integrator": integrator}
        if integrator == "moreau-jean":
            options["step"] = 5e-6
        run = fm.simulate(arm(beside), **options)
        assert status(run, "Truncated modes") == "FAIL"


@pytest.mark.parametrize("step", [None, 1e-4, 1e-5])
def test_what_dry_friction_holds_is_right(step: float | None) -> None:
    """The second run, disturbed by round-off, slips for an instant."""
    model = fm.Model("held")
    body = model.add(fm.RigidBody("arm", mass=1, inertia=(0.01,) * 3, com=(0.15, 0, 0)))
    model.add(fm.Revolute("hinge", model.ground, body, axis="y"))
    model.add(fm.DryFriction("brake", "hinge", coulomb=40.0))
    method = "event-driven" if step is None else fm.MoreauJean(step=step)
    with warnings.catch_warnings():
        warnings.simplefilter("error", fm.AuditWarning)
        run = fm.simulate(model, t_end=1e-3, output_step=1e-4, integrator=method)
    assert abs(run.joint("hinge").torque[:, 1]) == pytest.approx(9.81 * 0.15)


@pytest.mark.parametrize("factor, wanted", [(1.0, "PASS"), (0.8, "WARN"), (-1.0, "FAIL")])
def test_friction_that_is_not_that_of_coulomb(factor: float, wanted: str) -> None:
    """A block that slides on a floor, with friction multiplied by a factor in its results."""
    model = fm.Model("sliding")
    block = model.add(fm.RigidBody("block", mass=1.0, inertia=(1, 1, 1)))
    motions = tuple(fm.motions.Slide(axis) for axis in "xyz")
    model.add(fm.Chain("guide", model.ground, block, motions=motions, v0=(0.5, 0.3, 0)))
    model.add(fm.SpherePlane("floor", model.ground, block, friction=0.1))
    run = fm.simulate(model, t_end=0.3, output_step=0.01, integrator="event-driven", audit="none")
    contact = run.trajectory.contact.copy()
    contact[:, :, 1:] *= factor
    changed = replace(run, trajectory=run.trajectory._replace(contact=contact))
    [check] = friction_law(changed)
    assert check.status == wanted


def leaning(method: str | fm.MoreauJean) -> fm.Solution:
    """A rod that slides on a floor by its tip, with a force on its other end."""
    model = fm.Model("leaning")
    frames = {"tip": (0.5, 0, 0), "top": (-0.5, 0, 0.02)}
    rod = model.add(fm.RigidBody("rod", mass=2.0, inertia=(0.01, 0.17, 0.17), frames=frames))
    start = (0, 0, 0.5 * np.sin(0.5) + 0.02, np.cos(0.25), 0, np.sin(0.25), 0)
    model.add(fm.Free("flight", model.ground, rod, q0=start))
    model.add(fm.SpherePlane("floor", model.ground, rod["tip"], radius=0.02, friction=0.2))
    model.add(fm.FrameForce("push", rod["top"], force=(0, 0, -5.0)))
    return fm.simulate(model, t_end=0.2, output_step=0.01, integrator=method, audit="none")


@pytest.mark.parametrize("method", ["event-driven", fm.MoreauJean(step=1e-3)])
@pytest.mark.parametrize(
    "how, wanted", [("right", "PASS"), ("forces", "WARN"), ("both", "FAIL"), ("first", "FAIL")]
)
def test_forces_of_contacts_that_are_wrong(
    method: str | fm.MoreauJean, how: str, wanted: str
) -> None:
    """Forces of contacts changed by a third, alone or with the accelerations that follow from
    them, and those of the first output set to zero.
    """
    run = leaning(method)
    now = run.trajectory
    contact, sd = now.contact.copy(), now.sd.copy()
    if how != "right":
        chosen = slice(0, 1) if how == "first" else slice(None)
        contact[chosen] *= 0.0 if how == "first" else 0.67
    if how in ("both", "first"):
        work = make_work(run.compiled.system, now.beta[0])
        for k, t in enumerate(now.t):
            work.path.force[:] = contact[k]
            settled = settle(run.compiled, work, float(t), now.q[k].copy(), now.s[k].copy())
            sd[k] = settled.sd
    changed = replace(run, trajectory=now._replace(contact=contact, sd=sd))
    [check] = forces_of_contacts(changed, states_of_contacts(changed))
    assert check.status == wanted
    if how == "right":
        assert float(str(check).rpartition(" ")[2]) < 1e-3

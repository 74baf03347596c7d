"""Invariance: coordinates, step control, reference condition;
what stabilization does to the drift.
"""

import numpy as np
import pytest
from rods import double_pendulum, rod

import flexmbs as fm
import preprocess as pp

TIGHT = fm.DormandPrince(rtol=1e-10, atol=1e-12)


def test_joint_and_absolute_coordinates_give_one_motion():
    joint = fm.simulate(double_pendulum(), t_end=0.5, output_step=0.05, integrator=TIGHT)
    absolute = fm.simulate(
        double_pendulum(),
        t_end=0.5,
        output_step=0.05,
        coordinates="absolute",
        integrator=TIGHT,
        stabilization="projection",
    )
    for frame in ("upper/tip", "lower/tip"):
        one, other = joint.frame(frame), absolute.frame(frame)
        assert np.abs(one.position - other.position).max() < 1e-8
        assert np.abs(one.velocity - other.velocity).max() < 1e-7
        assert (
            np.abs(one.acceleration - other.acceleration).max()
            < 1e-6 * np.abs(one.acceleration).max()
        )
    for name in ("shoulder", "elbow"):
        one, other = joint.joint(name), absolute.joint(name)
        assert np.abs(one.wrench - other.wrench).max() < 1e-6 * np.abs(one.wrench).max()
        assert np.abs(one.position - other.position).max() < 1e-8


def test_controlled_steps_meet_their_tolerance():
    exact = (
        fm.simulate(double_pendulum(), t_end=0.5, output_step=0.05, integrator=TIGHT)
        .frame("lower/tip")
        .position
    )
    errors = []
    for rtol in (1e-3, 1e-5):
        found = fm.simulate(
            double_pendulum(), t_end=0.5, output_step=0.05, rtol=rtol, atol=1e-3 * rtol
        )
        errors.append(np.abs(found.frame("lower/tip").position - exact).max())
    assert errors[0] < 0.1
    assert errors[1] < 3e-3
    assert errors[1] < 0.2 * errors[0]


def closed_loop():
    """A crank of 0.2 m turns a rocker of 0.6 m over a soft rod: revolute, spherical, universal,
    revolute.
    """
    model = fm.Model("crank and rocker", frames={"far": (0.8, 0, 0)})
    bar = {"mass": 0.5, "inertia": (1e-3, 1e-2, 1e-2)}
    crank = model.add(fm.RigidBody("crank", com=(0, 0, 0.1), frames={"end": (0, 0, 0.2)}, **bar))
    coupler = model.add(fm.FlexibleBody("coupler", data=rod(bending=30.0), damping=0.02))
    rocker = model.add(fm.RigidBody("rocker", com=(0, 0, 0.3), frames={"end": (0, 0, 0.6)}, **bar))
    model.add(fm.Revolute("main", model.ground, crank, axis="y", v0=6.0))
    model.add(fm.Spherical("pin", crank["end"], coupler["root"]))
    model.add(fm.Universal("knee", coupler["tip"], rocker["end"], axes=("y", "z"), q0=(0.6, 0)))
    model.add(fm.Revolute("foot", model.ground["far"], rocker, axis="y", q0=0.2))
    return model


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_stabilization(coordinates):
    """Without stabilization the drift grows; Baumgarte's method bounds it; projection keeps it at
    round-off. All follow generalized-α."""
    drift, tips = {}, {}
    kinds = {"none": None, "baumgarte": fm.Baumgarte(50.0), "projection": fm.Projection()}
    for name, kind in kinds.items():
        how = {
            "formalism": fm.Multiplier(stabilization=kind),
            "integrator": fm.DormandPrince(rtol=1e-5, atol=1e-7),
        }
        solution = fm.simulate(
            closed_loop(), t_end=1.0, output_step=0.02, coordinates=coordinates, **how
        )
        drift[name], tips[name] = solution.drift[:, 0], solution.frame("coupler/tip").position
        assert np.ptp(solution.joint("main").position) > 5.0
    assert drift["none"][-1] > 2.0 * drift["none"][12]
    assert drift["none"][-1] > 2e-7
    assert drift["baumgarte"][-1] < 0.1 * drift["none"][-1]
    assert drift["projection"].max() < 2e-11
    assert max(np.abs(tips[name] - tips["projection"]).max() for name in tips) < 1e-4
    errors = []
    for step in (1e-3, 5e-4):
        alpha = fm.simulate(
            closed_loop(), t_end=1.0, output_step=0.02, step=step, coordinates=coordinates
        )
        assert alpha.drift[:, 0].max() < 5e-8  # the size of Newton's last correction
        errors.append(np.abs(alpha.frame("coupler/tip").position - tips["projection"]).max())
    assert errors[1] < 1e-4
    assert 3.0 < errors[0] / errors[1] < 5.0


def swinging_beam(reference):
    """A steel bar that swings on a hinge under gravity and a tip load, reduced with a reference
    condition.

    Undamped, as modal damping is another one for the modes of each reference.
    """
    mesh = pp.box_mesh((0.5, 0.03, 0.02), (8, 1, 1), "hex20")
    interfaces = {"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    steel = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    data = pp.reduce(
        mesh, steel, interfaces=interfaces, method=pp.CraigBampton(modes=4), reference=reference
    )
    model = fm.Model("bar")
    body = model.add(fm.FlexibleBody("bar", data=data))
    model.add(fm.Revolute("hinge", model.ground, body["hub"], axis="y"))
    model.add(
        fm.FrameForce(
            "tap",
            body["tip"],
            force=(0, 0, fm.SmoothStep(0.0, start=0.0, duration=0.05, initial=-50.0)),
        )
    )
    return model


def test_the_reference_condition_does_not_matter():
    """Attached at the hub, at the tip, or mean axes: one motion, up to the axial load N L²/EI =
    3e-3 that has no shape.
    """
    tips, bends = {}, {}
    for reference in ("hub", "tip", "mean axes"):
        solution = fm.simulate(swinging_beam(reference), t_end=0.1, output_step=0.005, step=2.5e-4)
        hub, tip = solution.frame("bar/hub"), solution.frame("bar/tip")
        tips[reference] = tip.position
        bends[reference] = np.einsum("tba,tb->ta", hub.rotation, tip.position - hub.position)[:, 2]
    size = np.ptp(bends["hub"])
    assert size > 2e-4
    assert np.ptp(tips["hub"][:, 2]) > 0.05
    for reference in ("tip", "mean axes"):
        assert np.abs(tips[reference] - tips["hub"]).max() < 1e-3 * size
        assert np.abs(bends[reference] - bends["hub"]).max() < 5e-3 * size

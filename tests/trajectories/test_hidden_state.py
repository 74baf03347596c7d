"""Regression tests of wrong results: omitted forces, turns of
angles by rejected steps or outputs.
"""

import numpy as np
import pytest

import flexmbs as fm


def chain(n: int, q0: float = 0.4) -> fm.Model:
    """Rigid bars on revolutes about y."""
    model = fm.Model(
        "chain", gravity=(0.0, 0.0, -9.81), frames={"floor": fm.Frame((0.0, 0.0, -0.6))}
    )
    end = model.ground
    for k in range(n):
        bar = model.add(
            fm.RigidBody(
                f"bar{k}",
                mass=1.0,
                inertia=(0.02, 0.1, 0.1),
                com=(0.5, 0, 0),
                frames={"tip": (1, 0, 0)},
            )
        )
        model.add(fm.Revolute(f"hinge{k}", end, bar, axis="y", q0=q0))
        end = bar["tip"]
    return model


@pytest.mark.parametrize("integrator", ["dormand-prince", "esdirk"])
def test_a_contact_law_acts_on_rigid_trees_in_the_recursion(integrator: str) -> None:
    """A bar swings down onto a plane: the recursion for rigid trees supports joint forces only and
    must not be used.
    """
    model = chain(1, 0.0)
    law = fm.HuntCrossley(1e5, damping=0.2)
    model.add(fm.SpherePlane("floor", "ground/floor", "bar0/tip", normal="z", radius=0.1, law=law))
    run = {"t_end": 0.6, "output_step": 0.05, "integrator": integrator}
    held = fm.simulate(model, **run, formalism="multiplier").frame("bar0/tip").position
    found = fm.simulate(model, **run, formalism="recursive").frame("bar0/tip").position
    assert -0.55 < held[:, 2].min() < -0.4  # it reaches the plane and does not fall through it
    np.testing.assert_allclose(found, held, atol=1e-4)


def stiff(coordinates: str) -> fm.Solution:
    """Three bars with a stiff spring in the last hinge and a controller on the second."""
    model = chain(3)
    model.add(fm.JointSpring("spring", "hinge2", k=1e4, c=1.0, x0=0.4))
    model.add(fm.JointTorque("servo", "hinge1", fm.PD(kp=40.0, kd=2.0, reference=0.0)))
    return fm.simulate(
        model, t_end=0.5, output_step=0.02, integrator="dormand-prince", coordinates=coordinates
    )


def test_rejected_steps_turn_no_joint() -> None:
    """Angles of cut joints follow accepted steps only: absolute and joint coordinates give one
    motion.
    """
    absolute, joint = stiff("absolute"), stiff("joint")
    assert absolute.statistics["rejected"] > 0
    apart = np.abs(absolute.frame("bar2/tip").position - joint.frame("bar2/tip").position).max()
    assert apart < 2e-4
    for name in ("hinge0", "hinge1", "hinge2"):
        np.testing.assert_allclose(
            absolute.joint(name).position, joint.joint(name).position, atol=5e-4
        )


def test_a_cut_joint_gains_no_turns_between_outputs() -> None:
    """A pendulum on a spring of 1.3e7 N m/rad vibrates many times between two outputs; its angle
    agrees with that of its body.
    """
    model = chain(1, 0.3)
    model.add(fm.JointSpring("spring", "hinge0", k=1.3e7, c=0.0, x0=0.0))
    found = fm.simulate(
        model, t_end=0.06, output_step=0.01, integrator="dormand-prince", coordinates="absolute"
    )
    angle = found.joint("hinge0").position[:, 0]
    assert np.abs(angle).max() < 0.301
    x, _, z = found.frame("bar0/tip").position.T
    np.testing.assert_allclose(angle, np.arctan2(-z, x), atol=1e-8)


def test_turns_are_counted_along_the_path() -> None:
    """A crank that turns fast enough to pass several turns between two outputs keeps its whole
    angle, loaded ones too.
    """
    turning = fm.Model("fast", gravity=(0, 0, 0))
    bar = turning.add(fm.RigidBody("bar", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    turning.add(fm.Revolute("axle", turning.ground, bar, axis="y", v0=100.0))
    for coordinates in ("joint", "absolute"):
        found = fm.simulate(turning, t_end=1.0, step=5e-3, output_step=0.5, coordinates=coordinates)
        np.testing.assert_allclose(
            found.joint("axle").position[:, 0], [0.0, 50.0, 100.0], rtol=1e-9
        )

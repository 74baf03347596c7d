"""Runs that are exported."""

import functools

import flexmbs as fm

ENDS = {"middle": (0.2, 0.0, 0.0), "tip": (0.4, 0.0, 0.0)}


@functools.cache
def machine() -> fm.Solution:
    """A driven arm, a ball on it, a mass on a rail with a limit; of joints angles, lengths and a quaternion."""
    model = fm.Model("machine")
    arm = model.add(fm.RigidBody("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.2, 0.0, 0.0), frames=ENDS))
    ball = model.add(fm.RigidBody("ball", mass=0.5, inertia=(0.01, 0.02, 0.03), com=(0.1, 0.0, 0.0)))
    cart = model.add(fm.PointMass("cart", mass=2.0))
    model.add(fm.Revolute("arm", model.ground, arm, axis="y"))
    model.add(fm.Spherical("socket", arm["tip"], ball))
    rail = model.add(fm.Prismatic("rail", model.ground, cart, axis="z", q0=1.0))
    model.add(fm.Drive("motor", "arm", fm.Ramp(0.0, 2.0)))
    model.add(fm.JointSpring("spring", rail, k=50.0, c=1.0))
    return fm.simulate(model, t_end=0.05, step=5e-3)

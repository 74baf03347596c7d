"""Runs that are exported."""

import functools

import flexmbs as fm
from preprocess import CraigBampton, Isotropic, Rigid, box_mesh, reduce

ENDS = {"middle": (0.2, 0.0, 0.0), "tip": (0.4, 0.0, 0.0)}


@functools.cache
def machine() -> fm.Solution:
    """A driven arm, a ball on it, a mass on a rail with a limit; of joints angles, lengths and a
    quaternion.
    """
    model = fm.Model("machine")
    arm = model.add(
        fm.RigidBody("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.2, 0.0, 0.0), frames=ENDS)
    )
    ball = model.add(
        fm.RigidBody("ball", mass=0.5, inertia=(0.01, 0.02, 0.03), com=(0.1, 0.0, 0.0))
    )
    cart = model.add(fm.PointMass("cart", mass=2.0))
    model.add(fm.Revolute("arm", model.ground, arm, axis="y"))
    model.add(fm.Spherical("socket", arm["tip"], ball))
    rail = model.add(fm.Prismatic("rail", model.ground, cart, axis="z", q0=1.0))
    model.add(fm.Drive("motor", "arm", fm.Ramp(0.0, 2.0)))
    model.add(fm.JointSpring("spring", rail, k=50.0, c=1.0))
    return fm.simulate(model, t_end=0.05, step=5e-3)


@functools.cache
def bending() -> fm.Solution:
    """A flexible arm on a hinge with a rigid tool, falling."""
    mesh = box_mesh((1.0, 0.06, 0.04), (6, 1, 1), "hex20", origin=(0.0, -0.03, -0.02))
    faces = {"base": Rigid("x0"), "tip": Rigid("x1")}
    steel = Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    data = reduce(
        mesh, steel, interfaces=faces, method=CraigBampton(modes=4), reference="base", name="arm"
    )
    model = fm.Model("bending")
    arm = model.add(fm.FlexibleBody("arm", data=data))
    tool = model.add(fm.RigidBody("tool", mass=2.0, inertia=(0.01, 0.01, 0.02)))
    model.add(fm.Revolute("hinge", model.ground, arm["base"], axis="y"))
    model.add(fm.Fixed("flange", arm["tip"], tool))
    return fm.simulate(model, t_end=0.005, output_step=5e-4)

"""Small models with a unilateral, a kinematic and a nonholonomic constraint."""

import numpy as np

import flexmbs as fm
from flexmbs.motions import Rotate, Slide

G, BOUNCE, HEIGHT, MU, STIFFNESS, BELT, LENGTH, LEAN = 9.81, 0.7, 1.0, 0.3, 40.0, 0.5, 1.0, 0.1


def ball() -> fm.Model:
    model = fm.Model("impact: bouncing ball", gravity=(0, 0, -G))
    model.add(fm.PointMass("ball", mass=1.0))
    model.add(fm.Chain("height", "ground", "ball", motions=(Slide("z"),), q0=HEIGHT))
    model.add(fm.SpherePlane("floor", "ground", "ball", restitution=BOUNCE))
    return model


def block() -> fm.Model:
    model = fm.Model("stick–slip: block on a belt", gravity=(0, 0, -G))
    model.add(fm.RigidBody("belt", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.PointMass("block", mass=1.0))
    model.add(fm.Prismatic("rollers", "ground", "belt"))
    model.add(fm.Drive("motor", "rollers", fm.Ramp(0.0, BELT)))
    model.add(
        fm.Chain("place", "ground", "block", motions=(Slide("x"), Slide("z")), v0=(BELT, 0.0))
    )
    model.add(fm.JointSpring("spring", "place", k=STIFFNESS))
    model.add(fm.SpherePlane("belt surface", "belt", "block", friction=MU))
    return model


def falling_rod() -> fm.Model:
    model = fm.Model("falling rod on a smooth floor", gravity=(0, 0, -G))
    about, foot = LENGTH**2 / 12.0, {"foot": (0, 0, -LENGTH / 2)}
    model.add(fm.RigidBody("rod", mass=1.0, inertia=(about, about, 1e-2), frames=foot))
    motions = (Slide("x"), Slide("z"), Rotate("y"))
    model.add(
        fm.Chain("plane", "ground", "rod", motions=motions, q0=(0, LENGTH / 2 * np.cos(LEAN), LEAN))
    )
    model.add(fm.SpherePlane("floor", "ground", "rod/foot"))
    return model


def skate() -> fm.Model:
    model = fm.Model("skate on ice, with a bead on a moving wire", gravity=(0, 0, -G))
    model.add(fm.RigidBody("skate", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.PointMass("bead", mass=1.0))
    model.add(fm.Planar("ice", "ground", "skate", v0=(1, 0, 0.5)))
    model.add(fm.KnifeEdge("blade", "ground", "skate"))
    model.add(fm.Translation("space", "ground", "bead"))
    model.add(
        fm.Holonomic(
            "wire",
            "ground",
            "bead",
            lambda t, x, A: [x[1], x[2] - 0.1 * np.sin(t)],
            equations=2,
            rheonomic=True,
        )
    )
    return model

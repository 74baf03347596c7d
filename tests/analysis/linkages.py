"""Mechanisms of the tests of statics, kinematics, inverse dynamics and linearisation."""

import numpy as np

import flexmbs as fm

CRANK, ROD = 0.2, 0.6
G = 9.81
BLOCK = (0.1, 0.1, 0.1)


def pendulum(angle: float, *, gravity: float = G, inertia: float = 0.1) -> fm.Model:
    """A bob of 1 kg, 1 m from a hinge about z; it hangs at −π/2."""
    model = fm.Model("pendulum", gravity=(0.0, -gravity, 0.0))
    bob = model.add(
        fm.RigidBody("bob", mass=1.0, inertia=(inertia,) * 3, frames={"hinge": (-1.0, 0.0, 0.0)})
    )
    model.add(fm.Revolute("hinge", model.ground, bob["hinge"], q0=angle))
    return model


def slider_crank(angle: float = 0.5) -> fm.Model:
    """Crank 0.2 m, rod 0.6 m, slider along x."""
    model = fm.Model("slider-crank", gravity=(0.0, -G, 0.0))
    ends = {"a": (0.0, 0.0, 0.0)}
    crank = model.add(
        fm.RigidBody(
            "crank",
            mass=1.0,
            inertia=BLOCK,
            com=(0.1, 0.0, 0.0),
            frames=ends | {"b": (CRANK, 0.0, 0.0)},
        )
    )
    rod = model.add(
        fm.RigidBody(
            "rod",
            mass=1.5,
            inertia=(0.1, 0.1, 0.2),
            com=(0.3, 0, 0),
            frames=ends | {"b": (ROD, 0, 0)},
        )
    )
    slider = model.add(fm.RigidBody("slider", mass=2.0, inertia=BLOCK))
    tilt, x = rod_angle(angle), slider_position(angle)
    model.add(fm.Revolute("main", model.ground, crank["a"], q0=angle))
    model.add(fm.Revolute("crank pin", crank["b"], rod["a"], q0=tilt - angle))
    model.add(fm.Prismatic("guide", model.ground, slider, q0=x))
    model.add(fm.Revolute("wrist pin", rod["b"], slider, q0=-tilt))
    return model


def rod_angle(angle: float) -> float:
    return -float(np.arcsin(CRANK / ROD * np.sin(angle)))


def slider_position(angle: float) -> float:
    return float(CRANK * np.cos(angle) + np.sqrt(ROD**2 - (CRANK * np.sin(angle)) ** 2))

"""Two small balls far apart that meet off centre."""

import math
from typing import NamedTuple

import numpy as np

import flexmbs as fm


class Meeting(NamedTuple):
    """A model without the contact of its bodies "first" and "second"; radius of both, speed of the
    first ball, a time long after they met, and the direction in which the second one is pushed."""

    model: fm.Model
    radius: float
    speed: float
    t_end: float
    n: np.ndarray


def meeting(seed, radii, speeds, sideways):
    """Radii and speeds by their powers of ten, how far aside at most over the radius."""
    rng = np.random.default_rng(seed)
    radius, speed, distance = (
        10.0 ** rng.uniform(*radii),
        10.0 ** rng.uniform(*speeds),
        10.0 ** rng.uniform(0, 1),
    )
    aside, late = rng.uniform(-sideways, sideways) * radius, rng.uniform(1.5, 60.0)
    model = fm.Model("pass", gravity=(0, 0, 0))
    for name, y, v in (("first", 0.0, speed), ("second", aside, 0.0)):
        model.add(fm.RigidBody(name, mass=1.0, inertia=(1e-4,) * 3))
        place = (0.0 if name == "first" else distance, y, 0, 1, 0, 0, 0)
        model.add(fm.Free(f"motion of {name}", model.ground, name, q0=place, v0=(v, 0, 0, 0, 0, 0)))
    n = np.array([math.sqrt(4 * radius**2 - aside**2), aside, 0.0]) / (2 * radius)
    return Meeting(model, radius, speed, late * distance / speed, n)

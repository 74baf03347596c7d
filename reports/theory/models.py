"""Bodies and mechanisms that several studies share."""

import numpy as np

import flexmbs as fm
from flexmbs.motions import Ball, Slide


def rod(name: str, length: float, mass: float = 1.0) -> fm.RigidBody:
    """A slender rod along x from its frame to its frame "end"."""
    about = mass * length**2 / 12.0
    inertia = (0.01 * about, about, about)
    return fm.RigidBody(name, mass=mass, inertia=inertia, com=(length / 2.0, 0, 0), frames={"end": (length, 0, 0)})


def ring(lengths: tuple[float, ...], angles: tuple[float, ...], rates: tuple[float, ...] = (), loose: int = 0) -> fm.Model:
    """A closed loop of n rods in the plane of x and z: hinge i from rod i − 1 to rod i, hinge n + 1 at the frame "foot".

    angles: of the rods from x, upwards; rates: of the rods, rad/s.  loose: number of the hinge that may also tilt and slide
    along y, two rows instead of five; 0: none, and three rows depend on the others.
    """
    n, angles, rates = len(lengths), (0.0, *angles), (0.0, *(rates or (0.0,) * len(angles)))
    points = np.cumsum([[a * np.cos(q), 0.0, a * np.sin(q)] for a, q in zip(lengths, angles[1:])], axis=0)
    model = fm.Model("loop", gravity=(0, 0, -9.81), frames={"foot": tuple(points[-1])})
    bodies = [model.ground, *(model.add(rod(f"rod {i}", length)) for i, length in enumerate(lengths, 1))]
    for i in range(1, n + 2):
        before = bodies[i - 1]["end"] if i > 1 else model.ground
        after, start = bodies[i] if i <= n else model.ground["foot"], {}
        if i <= n:
            start = {"q0": angles[i - 1] - angles[i]} | ({"v0": rates[i - 1] - rates[i]} if any(rates) else {})
        if i == loose:
            model.add(fm.Chain(f"hinge {i}", before, after, motions=(Slide("y"), Ball())))
        else:
            model.add(fm.Revolute(f"hinge {i}", before, after, axis="y", **start))
    return model


def dyad(tip: np.ndarray, foot: np.ndarray, first: float, second: float, side: float = 1.0) -> tuple[float, float]:
    """Angles of two rods, ``first`` m from a point ``tip`` and ``second`` m on to a point ``foot`` (x, z), bent to one side."""
    across = foot - tip
    span = float(np.hypot(*across))
    bend = side * np.arccos((span**2 + first**2 - second**2) / (2.0 * span * first))
    tilt = float(np.arctan2(across[1], across[0]) + bend)
    down = foot - tip - first * np.array([np.cos(tilt), np.sin(tilt)])
    return tilt, float(np.arctan2(down[1], down[0]))

"""Single loops of revolute joints that move although they have none or fewer degrees of freedom by
counting.

A loop is a table of Denavit–Hartenberg parameters (a, α, R), Π Rot_z(θ_i) Tr_z(R_i) Tr_x(a_i)
Rot_x(α_i) = 1. Conditions on the parameters: Bennett (1903), Engineering 76, 777; Goldberg (1943),
Trans. ASME 65, 649; Myard (1931), Bull. Soc. Math. France 59, 183; Bricard (1927), Leçons de
cinématique II, 7; Schatz, US patent 2 302 804 (1942); all in You and Chen (2011), Motion
Structures, chapter 3.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import flexmbs as fm

Table = tuple[tuple[float, float, float], ...]
RIGHT = np.pi / 2


@dataclass(frozen=True)
class Loop:
    """A linkage, its rank, the guess of a closed position, and
    whether its first joint turns fully.
    """

    table: Table
    guess: tuple[float, ...]
    turns: bool = True

    @property
    def rank(self) -> int:
        """Independent rows of the constraints of the loop in joint coordinates: one degree of
        freedom is left.
        """
        return len(self.table) - 2


def bennett(a: float = 0.2, b: float = 0.3, alpha: float = np.radians(40.0)) -> Table:
    """Opposite links are equal, a/sin α = b/sin β."""
    return ((a, alpha, 0.0), (b, float(np.arcsin(np.sin(alpha) * b / a)), 0.0)) * 2


def goldberg(
    a: float = 0.2, b: float = 0.3, c: float = 0.25, alpha: float = np.radians(40.0)
) -> Table:
    """Two Bennett linkages (a, b), (a, c), a link of each in line as one, the common link a left
    out.
    """
    beta, gamma = (float(np.arcsin(np.sin(alpha) * x / a)) for x in (b, c))
    return (
        (a, alpha, 0.0),
        (b, beta, 0.0),
        (c, gamma, 0.0),
        (a, alpha, 0.0),
        (b + c, beta + gamma, 0.0),
    )


def myard(b: float = 0.3, alpha: float = np.radians(50.0)) -> Table:
    """Two rectangular Bennett linkages that are mirror images, a = b sin α."""
    a = b * np.sin(alpha)
    return (
        (a, alpha, 0.0),
        (b, RIGHT, 0.0),
        (0.0, np.pi - 2 * alpha, 0.0),
        (b, RIGHT, 0.0),
        (a, np.pi - alpha, 0.0),
    )


def sarrus() -> Table:
    """Two chains of three parallel axes in planes at right angles: the platform moves straight up
    and down.
    """
    return (
        (0.1, 0.0, -0.5),
        (0.3, 0.0, 0.0),
        (0.0, RIGHT, 0.4),
        (0.4, 0.0, -0.45),
        (0.35, 0.0, 0.0),
        (0.0, -RIGHT, 0.5),
    )


def line_symmetric() -> Table:
    """Bricard's linkage with an axis of symmetry: the second three links equal the first."""
    d = np.radians
    return ((0.1, d(70.0), 0.1), (0.2, RIGHT, 0.05), (0.4, d(110.0), 0.05)) * 2


def plane_symmetric() -> Table:
    """Bricard's linkage with a plane of symmetry through two opposite axes."""
    (a, b, c), (x, y, z), (r, s) = (
        (0.3, 0.1, 0.4),
        (np.radians(50.0), RIGHT, np.radians(110.0)),
        (0.05, 0.05),
    )
    table = (
        (a, x, 0.0),
        (b, y, r),
        (c, z, s),
        (c, np.pi - z, 0.0),
        (b, np.pi - y, s),
        (a, np.pi - x, r),
    )
    return table[2:] + table[:2]  # the third joint turns fully: it comes first


def trihedral() -> Table:
    """Bricard's linkage with Σ a² of odd links equal to that of
    even ones, all twists right angles.
    """
    odd = (0.35, 0.2, float(np.sqrt(3 * 0.35**2 - 0.35**2 - 0.2**2)))
    return tuple(link for a in odd for link in ((a, RIGHT, 0.0), (0.35, 3 * RIGHT, 0.0)))


def schatz(a: float = 0.3, b: float = 0.1) -> Table:
    """Links a, a, a and √3 a, all axes at right angles but the two that are parallel."""
    arm = (a, RIGHT, 0.0)
    return (0.0, RIGHT, b), arm, arm, arm, (0.0, RIGHT, 0.0), (float(np.sqrt(3.0) * a), 0.0, -b)


LOOPS = {
    "Bennett": Loop(bennett(), (0.7, 2.88, -0.7, -2.88)),
    "Goldberg": Loop(goldberg(), (0.7, 2.88, -0.66, 0.26, 3.1)),
    "Myard": Loop(myard(), (0.7, 2.18, 1.22, -1.92, -2.18)),
    "Sarrus": Loop(sarrus(), (0.7, 1.09, -1.79, 1.0, 1.2, -1.5)),
    "line-symmetric Bricard": Loop(line_symmetric(), (-2.53, -0.61, 0.7, -2.53, -0.61, 0.7)),
    "plane-symmetric Bricard": Loop(plane_symmetric(), (3.12, -1.3, -0.15, 2.94, 0.7, 0.59)),
    "trihedral Bricard": Loop(trihedral(), (0.7, -1.75, 0.55, -2.01, 0.78, -2.32), turns=False),
    "Schatz": Loop(schatz(), (0.7, -2.29, -1.68, 1.45, 2.41, -0.54)),
}  # fmt: skip


def turned(angle: float, axis: str) -> np.ndarray:
    """Homogeneous rotation about x or z."""
    c, s, T, at = (
        np.cos(angle),
        np.sin(angle),
        np.eye(4),
        slice(0, 2) if axis == "z" else slice(1, 3),
    )
    T[at, at] = [[c, -s], [s, c]]
    return T


def link_end(a: float, alpha: float, R: float) -> np.ndarray:
    """Tr_z(R) Tr_x(a) Rot_x(α)"""
    T = turned(alpha, "x")
    T[:3, 3] = a, 0.0, R
    return T


def closure(table: Table, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(6,) position and rotation vector by which the chain misses its start, and the twists (6, n)
    of its joints there.
    """
    T, axes = np.eye(4), []
    for link, angle in zip(table, angles):
        axes.append(T.copy())
        T = T @ turned(angle, "z") @ link_end(*link)
    rotation = 0.5 * np.array([T[2, 1] - T[1, 2], T[0, 2] - T[2, 0], T[1, 0] - T[0, 1]])
    twists = [np.concatenate([np.cross(X[:3, 2], T[:3, 3] - X[:3, 3]), X[:3, 2]]) for X in axes]
    return np.concatenate([T[:3, 3], rotation]), np.array(twists).T


def closed(loop: Loop) -> np.ndarray:
    """The closed position near the guess, the first angle as given."""
    angles = np.array(loop.guess)
    for _ in range(30):
        miss, twists = closure(loop.table, angles)
        angles[1:] -= np.linalg.lstsq(twists[:, 1:], miss, rcond=1e-8)[0]
    return angles


def linkage(loop: Loop, rate: float) -> fm.Model:
    """The linkage without gravity, its first joint driven at a constant rate (rad/s) if it turns
    fully, else only at first.
    """
    angles, table = closed(loop), loop.table
    free = np.linalg.svd(closure(table, angles)[1])[2][-1]
    back = np.linalg.inv(link_end(*table[-1]))
    last = fm.Frame(position=tuple(back[:3, 3]), rotation=("x", -table[-1][1]))
    model = fm.Model("overconstrained linkage", gravity=(0, 0, 0), frames={"last": last})
    end: Any = model.ground
    for i, (a, alpha, R) in enumerate(table):
        start, speed = float(angles[i]), float(rate * free[i] / free[0])
        own = end
        if i < len(table) - 1:
            frames = {"end": fm.Frame(position=(a, 0, R), rotation=("x", alpha))}
            body = fm.RigidBody(
                f"link{i}",
                mass=1.0,
                com=(a / 2, 0, R / 2),
                inertia=(2e-3, 5e-3, 5e-3),
                frames=frames,
            )
            part = model.add(body)
            end = part["end"]
        else:
            part = model.ground["last"]
        model.add(fm.Revolute(f"joint{i}", own, part, axis="z", q0=start, v0=speed))
    if loop.turns:
        model.add(fm.Drive("motor", "joint0", fm.Ramp(float(angles[0]), rate=rate)))
    return model

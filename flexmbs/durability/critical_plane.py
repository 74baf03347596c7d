"""Damage on the worst plane across a surface.

On the plane across the surface at an angle θ the normal stress is, with in-plane stresses along
surface axes x and y,

    σ(θ) = ½ (σ_x + σ_y) + ½ (σ_x − σ_y) cos 2θ + τ_xy sin 2θ

The damage of all cycles of σ(θ) is found on planes 10° apart; from the largest ones a search with
halved steps goes on to `LAST`. A plane at a distance δ from that of a cycle has cos 2δ of its
amplitude, hence the damage on planes 10° apart is low by up to 1 − cos^k 10°, 7.4 % for shear at
the slope k = 5, after the search by k (1 − cos 2δ) < 2e-5 k.

Source: Socie and Marquis, Multiaxial Fatigue (2000), chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flexmbs.results.stress_values import FloatArray

PLANES = 18  # of the first search
LAST = np.radians(10 / 64)  # step between planes at the end
STARTS = 3  # planes from which the search goes on, by damage, and by amplitude, where all damage is below a limit
Cycle = tuple[float, float, float]
"""Damage of a history, and amplitude and mean of its most damaging cycle; compared in this
order."""


def in_plane(stress: FloatArray, normals: FloatArray) -> FloatArray:
    """½ (σ_x + σ_y), ½ (σ_x − σ_y) and τ_xy (nt, m, 3) of stress xx yy zz xy yz zx (nt, m, 6) in
    axes across normals (m, 3)."""
    x = np.cross(normals, np.eye(3)[np.argmin(np.abs(normals), axis=1)])
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.cross(normals, x)
    along_x, along_y, shear = (np.einsum("tmc,mc->tm", stress, _weights(*pair)) for pair in ((x, x), (y, y), (x, y)))
    return np.stack([0.5 * (along_x + along_y), 0.5 * (along_x - along_y), shear], axis=2)


def _weights(a: FloatArray, b: FloatArray) -> FloatArray:
    """(m, 6): a·σ·b of stress xx yy zz xy yz zx."""
    (ax, ay, az), (bx, by, bz) = a.T, b.T
    mixed = (ax * by + ay * bx, ay * bz + az * by, az * bx + ax * bz)
    return np.stack([ax * bx, ay * by, az * bz, *mixed], axis=1)


def worst_plane(judged: Callable[[FloatArray], Cycle], plane: FloatArray) -> Cycle:
    """The largest damage on a plane; judged: of the history (nt,) of a normal stress.

    plane (nt, 3): of `in_plane`."""

    def at(angle: float) -> Cycle:
        return judged(plane @ np.array([1.0, np.cos(2 * angle), np.sin(2 * angle)]))

    angles = np.pi / PLANES * np.arange(PLANES)
    coarse = [at(angle) for angle in angles]
    starts = set(_peaks([each[:2] for each in coarse])) | set(_peaks([each[1::-1] for each in coarse]))
    return max(_climbed(at, angles[k], coarse[k]) for k in sorted(starts))


def _peaks(values: list[tuple[float, ...]]) -> list[int]:
    """The largest values of a closed row that none of their neighbours exceeds."""
    n = len(values)
    found = [k for k in range(n) if values[k] >= max(values[k - 1], values[(k + 1) % n])]
    return sorted(found, key=lambda k: values[k], reverse=True)[:STARTS]


def _climbed(at: Callable[[float], Cycle], angle: float, value: Cycle) -> Cycle:
    """The largest value near an angle, by halved steps to both sides."""
    step = 0.5 * np.pi / PLANES
    while step >= LAST:
        value, angle = max(
            [
                (value, angle),
                *((at(angle + side * step), angle + side * step) for side in (-1.0, 1.0)),
            ]
        )
        step *= 0.5
    return value

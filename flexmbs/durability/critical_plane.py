"""Damage on the worst plane across a surface.

On the plane across the surface at an angle θ the normal stress is, with in-plane stresses along
surface axes x and y,

    σ(θ) = ½ (σ_x + σ_y) + ½ (σ_x − σ_y) cos 2θ + τ_xy sin 2θ

The damage of all cycles of σ(θ) is found on planes 2.5° apart; from each local maximum of the
damage and of the amplitude a search with halved steps goes on to `LAST`. A cycle whose own plane is
at a distance δ has at least cos 2δ of its amplitude, hence the damage of one that has no local
maximum of its own, beside a similar one, is low by up to k (1 − cos 2.5°), 1e-3 k at the slope k,
of others by k (1 − cos 2δ) < 2e-5 k.

An endurance limit makes damage zero on all planes but those near one. The plane of the largest
range of σ(θ), of which rainflow counting makes a cycle, is therefore another start. Its range on
the next of the planes is at least cos 2.5° of it; near planes with that range it is found to 0.13°.
Planes 0.25° apart around the worst one find those on which more cycles exceed the limit.

Source: Socie and Marquis, Multiaxial Fatigue (2000), chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flexmbs.results.stress_values import FloatArray

PLANES = 72  # of the first search
STEP = np.pi / PLANES
LAST = np.radians(10 / 64)  # step between planes at the end
NEAR = STEP * np.linspace(-1.0, 1.0, 21)  # planes around the worst one
FINE = STEP * np.linspace(-0.5, 0.5, 11)  # planes around one, in the search for the largest range
Cycle = tuple[float, float, float]
"""Damage of a history, and amplitude and mean of its most damaging cycle; compared in this
order."""


def in_plane(stress: FloatArray, normals: FloatArray) -> FloatArray:
    """½ (σ_x + σ_y), ½ (σ_x − σ_y) and τ_xy (nt, m, 3) of stress xx yy zz xy yz zx (nt, m, 6) in
    axes across normals (m, 3)."""
    x = np.cross(normals, np.eye(3)[np.argmin(np.abs(normals), axis=1)])
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.cross(normals, x)
    along_x, along_y, shear = (
        np.einsum("tmc,mc->tm", stress, _weights(*pair)) for pair in ((x, x), (y, y), (x, y))
    )
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
        return judged(plane @ _directions(angle))

    angles = STEP * np.arange(PLANES)
    coarse = [at(angle) for angle in angles]
    peaks = _peaks([each[:2] for each in coarse]) | _peaks([each[1::-1] for each in coarse])
    found = [_climbed(at, angles[k], coarse[k]) for k in sorted(peaks)]
    widest = _widest(plane, np.asarray(angles, float))
    value, angle = max(*found, _climbed(at, widest, at(widest)))
    return max(value, *(at(angle + turn) for turn in NEAR))


def _directions(angles: FloatArray | float) -> FloatArray:
    """(3, …): factors of the three components of `in_plane` in the normal stress at angles."""
    return np.stack([np.ones_like(angles), np.cos(2.0 * angles), np.sin(2.0 * angles)])


def _widest(plane: FloatArray, angles: FloatArray) -> float:
    """Angle of the largest range of the normal stress."""
    ranges = np.ptp(plane @ _directions(angles), axis=0)
    near = angles[ranges >= np.cos(STEP) * ranges.max()]
    fine = (near[:, None] + FINE).ravel()
    return float(fine[np.ptp(plane @ _directions(fine), axis=0).argmax()])


def _peaks(values: list[tuple[float, ...]]) -> set[int]:
    """The values of a closed row that none of their neighbours exceeds."""
    n = len(values)
    return {k for k in range(n) if values[k] >= max(values[k - 1], values[(k + 1) % n])}


def _climbed(at: Callable[[float], Cycle], angle: float, value: Cycle) -> tuple[Cycle, float]:
    """The largest value near an angle, by halved steps to both sides, and its angle."""
    step = 0.5 * STEP
    while step >= LAST:
        value, angle = max(
            [
                (value, angle),
                *((at(angle + side * step), angle + side * step) for side in (-1.0, 1.0)),
            ]
        )
        step *= 0.5
    return value, angle

"""Damage on the worst plane perpendicular to a surface.

On the plane perpendicular to the surface at an angle θ the normal stress is, with in-plane stresses
along surface axes x and y,


    σ(θ) = ½ (σ_x + σ_y) + ½ (σ_x − σ_y) cos 2θ + τ_xy sin 2θ

The damage of all cycles of σ(θ) is evaluated on planes 2.5° apart; from each local maximum of the
damage and of the amplitude a search with halved steps continues to `FINAL_STEP`. A cycle whose
worst plane is at a distance δ has at least cos 2δ of its amplitude. Therefore the damage of a cycle
without a local maximum, because of a similar cycle nearby, is too low by at most k (1 − cos 2.5°),
1e-3 k for the slope k, and of the others by k (1 − cos 2δ) < 2e-5 k.

An endurance limit makes the damage zero on all but a few planes. The plane of the largest range of
σ(θ), which rainflow counting turns into a cycle, is therefore another starting point. Its range on
the closest plane is at least cos 2.5° of the maximum; near planes with that range it is located to
0.13°. Planes 0.25° apart around the worst one find those on which more cycles exceed the limit.


Source: Socie and Marquis, Multiaxial Fatigue (2000), chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flexmbs.results.stress_values import FloatArray

PLANES = 72  # planes of the first search
STEP = np.pi / PLANES
FINAL_STEP = np.radians(10 / 64)  # final step between planes
NEAR_PLANES = STEP * np.linspace(-1.0, 1.0, 21)  # rad, planes around the worst one
FINE_PLANES = STEP * np.linspace(
    -0.5, 0.5, 11
)  # rad, planes around one plane in the search for the largest range
Cycle = tuple[float, float, float]
"""Damage of a history, and amplitude and mean of its most damaging cycle; compared in this
order."""


def in_plane(stress: FloatArray, normals: FloatArray) -> FloatArray:
    """Stress in a plane by mean, half difference and shear, in axes normal to ``normals``.

    ½ (σ_x + σ_y), ½ (σ_x − σ_y) and τ_xy (nt, m, 3) of the stress xx yy zz xy yz zx (nt, m, 6).
    """
    x = np.cross(normals, np.eye(3)[np.argmin(np.abs(normals), axis=1)])
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.cross(normals, x)
    along_x, along_y, shear = (
        np.einsum("tmc,mc->tm", stress, _weights(*pair)) for pair in ((x, x), (y, y), (x, y))
    )
    return np.stack([0.5 * (along_x + along_y), 0.5 * (along_x - along_y), shear], axis=2)


def _weights(a: FloatArray, b: FloatArray) -> FloatArray:
    """Weights (m, 6) by which stress components give the component a·σ·b."""
    (ax, ay, az), (bx, by, bz) = a.T, b.T
    mixed = (ax * by + ay * bx, ay * bz + az * by, az * bx + ax * bz)
    return np.stack([ax * bx, ay * by, az * bz, *mixed], axis=1)


def worst_plane(judged: Callable[[FloatArray], Cycle], plane: FloatArray) -> Cycle:
    """Largest damage over all planes, by the normal stress on them.

    judged: cycle with the damage of the history (nt,) of a normal stress.

    judged: cycle with the damage of the history (nt,) of a normal stress.

    plane (nt, 3): components of `in_plane`.
    """

    def at(angle: float) -> Cycle:
        """Cycle of the normal stress on the plane at an angle."""
        return judged(plane @ _directions(angle))

    angles = STEP * np.arange(PLANES)
    coarse = [at(angle) for angle in angles]
    peaks = _peaks([each[:2] for each in coarse]) | _peaks([each[1::-1] for each in coarse])
    found = [_refined_maximum(at, angles[k], coarse[k]) for k in sorted(peaks)]
    widest = _angle_of_largest_range(plane, np.asarray(angles, float))
    value, angle = max(*found, _refined_maximum(at, widest, at(widest)))
    return max(value, *(at(angle + turn) for turn in NEAR_PLANES))


def _directions(angles: FloatArray | float) -> FloatArray:
    """Factors (3, …) of the three components of `in_plane` in the normal stress at angles."""
    return np.stack([np.ones_like(angles), np.cos(2.0 * angles), np.sin(2.0 * angles)])


def _angle_of_largest_range(plane: FloatArray, angles: FloatArray) -> float:
    """Angle of the largest range of the normal stress."""
    ranges = np.ptp(plane @ _directions(angles), axis=0)
    near = angles[ranges >= np.cos(STEP) * ranges.max()]
    fine = (near[:, None] + FINE_PLANES).ravel()
    return float(fine[np.ptp(plane @ _directions(fine), axis=0).argmax()])


def _peaks(values: list[tuple[float, ...]]) -> set[int]:
    """Indices of the local maxima of a closed sequence."""
    n = len(values)
    return {k for k in range(n) if values[k] >= max(values[k - 1], values[(k + 1) % n])}


def _refined_maximum(
    at: Callable[[float], Cycle], angle: float, value: Cycle
) -> tuple[Cycle, float]:
    """(value, angle) of the maximum near an angle, by halved steps to both sides."""
    step = 0.5 * STEP
    while step >= FINAL_STEP:
        value, angle = max(
            [
                (value, angle),
                *((at(angle + side * step), angle + side * step) for side in (-1.0, 1.0)),
            ]
        )
        step *= 0.5
    return value, angle

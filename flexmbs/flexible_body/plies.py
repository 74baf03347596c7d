"""Plies of laminated shells.

Their stress from the stress at the two faces of the shell, and the Tsai–Wu failure index.

The strains ε = (ε₁₁, ε₂₂, γ₁₂) in laminate axes are linear through the thickness and follow from
the stress at the two faces. With the moduli Q̄ of the plies in these axes, Q̄_b of the lowest and
Q̄_t of the highest ply, and ζ from −1 to 1,


    ε(ζ) = ½ (1 − ζ) Q̄_b⁻¹ σ_b + ½ (1 + ζ) Q̄_t⁻¹ σ_t,    σ_k(ζ) = T_k Q̄_k ε(ζ)

where T_k is the rotation by the angle of the ply. The failure index is

    F = F₁ σ₁ + F₂ σ₂ + F₁₁ σ₁² + F₂₂ σ₂² + F₆₆ τ₁₂² + 2 F₁₂ σ₁ σ₂ F₁ = 1/X_t − 1/X_c,  F₁₁ = 1/(X_t
    X_c),  F₂ = 1/Y_t − 1/Y_c,  F₂₂ = 1/(Y_t Y_c),  F₆₆ = 1/S²,  F₁₂ = −½ √(F₁₁ F₂₂)

Source: Jones, Mechanics of Composite Materials, sections 2.9.4, 4.2; Tsai and Wu, J. Compos. Mater.
5 (1971) 58.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from flexmbs.errors import raise_problems
from flexmbs.flexible_body.components import FloatArray, IntArray, shape_problems

PLACES = ("bottom", "middle", "top")
_TENSOR = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2]])  # indices of xx yy zz xy yz zx in the tensor


class PlyPlaces(NamedTuple):
    """Points, plies and positions within these (bottom, middle, top as 0, 1, 2); (m,) each."""

    point: IntArray
    ply: IntArray
    place: IntArray


@dataclass(frozen=True, eq=False)
class Plies:
    """Plies of all laminates of a body, each laminate from its bottom, at p points of its shells.

    bottom, top (p,): rows of the body's stress at the faces of each point.  axes (p, 3, 3):
    laminate axes as rows, in body axes. laminate (p,): index of its laminate.  first (l + 1,): the
    plies of laminate i are first[i] up to first[i + 1] − 1. heights (n, 2): ζ of the bottom and the
    top of each ply.  angle (n,): angle of its first axis relative to the laminate [deg]. moduli (n,
    3, 3): plane-stress moduli in laminate axes [Pa].  strengths (n, 5): X_t, X_c, Y_t, Y_c, S [Pa];
    infinite if unknown. Raises InputError for wrong shapes and values.

    """

    bottom: IntArray
    top: IntArray
    axes: FloatArray
    laminate: IntArray
    first: IntArray
    heights: FloatArray
    angle: FloatArray
    moduli: FloatArray
    strengths: FloatArray

    def __post_init__(self) -> None:
        p, n, laminates = len(self.bottom), len(self.angle), len(self.first) - 1
        shapes: dict[str, tuple[int, ...]] = {
            "top": (p,),
            "axes": (p, 3, 3),
            "laminate": (p,),
            "heights": (n, 2),
            "moduli": (n, 3, 3),
            "strengths": (n, 5),
        }
        problems = shape_problems(self, "plies", shapes, ("axes", "heights", "angle", "moduli"))
        if not np.all(np.asarray(self.strengths) > 0):
            problems.append("plies.strengths: must be positive; infinite if unknown")
        if (
            laminates < 1
            or self.first[0] != 0
            or self.first[-1] != n
            or np.any(np.diff(self.first) < 1)
        ):
            problems.append("plies.first: must rise from 0 to the number of plies")
        if p and not 0 <= self.laminate.min() <= self.laminate.max() < laminates:
            problems.append(f"plies.laminate: refers to laminates outside 0..{laminates - 1}")
        raise_problems(problems)

    @property
    def known(self) -> bool:
        """True if any ply has known strengths."""
        return bool(np.isfinite(self.strengths).all(axis=1).any())

    def number(self, places: PlyPlaces) -> IntArray:
        """Numbers (m,) of the plies within their laminates, from 1 at the bottom."""
        return np.asarray(places.ply - self.first[self.laminate[places.point]] + 1)

    def places(self, points: IntArray) -> PlyPlaces:
        """The three positions in each ply at points (k,), from the bottom.

        ``point`` indexes ``points``.
        """
        start = self.first[self.laminate[points]]
        counts = self.first[self.laminate[points] + 1] - start
        point = np.repeat(np.arange(len(points)), counts)
        ply = np.arange(len(point)) - np.repeat(np.cumsum(counts) - counts, counts) + start[point]
        return PlyPlaces(np.repeat(point, 3), np.repeat(ply, 3), np.tile(np.arange(3), len(point)))

    def stress(
        self, points: IntArray, places: PlyPlaces, bottom: FloatArray, top: FloatArray
    ) -> FloatArray:
        """Stress σ₁, σ₂, τ₁₂ (…, m, 3) [Pa] along the axes of the plies at places.

        bottom, top (…, k, 6): stress at the faces in body axes.
        """
        start, end = self.first[self.laminate[points]], self.first[self.laminate[points] + 1] - 1
        low, high = (
            np.einsum(
                "kab,...kb->...ka",
                np.linalg.inv(self.moduli[ply]),
                in_plane(face, self.axes[points]),
            )
            for ply, face in ((start, bottom), (end, top))
        )
        zeta = self.heights[places.ply] @ np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]])
        share = 0.5 * (1 + zeta[np.arange(len(places.place)), places.place])[:, None]
        strain = (1 - share) * low[..., places.point, :] + share * high[..., places.point, :]
        turned = turn(self.angle)[places.ply] @ self.moduli[places.ply]
        return np.asarray(np.einsum("mab,...mb->...ma", turned, strain))


def joined_plies(parts: Sequence[tuple[Plies, IntArray]]) -> Plies:
    """Plies of several pieces in one record.

    Each piece has the row (n,) of the whole body for every row of its stress.
    """
    kinds = np.cumsum([0, *(len(plies.first) - 1 for plies, _ in parts)])
    plies_before = np.cumsum([0, *(len(plies.angle) for plies, _ in parts)])
    shifted: dict[str, list[FloatArray | IntArray]] = {
        "bottom": [place[plies.bottom] for plies, place in parts],
        "top": [place[plies.top] for plies, place in parts],
        "laminate": [plies.laminate + k for (plies, _), k in zip(parts, kinds)],
        "first": [
            *(plies.first[:-1] + k for (plies, _), k in zip(parts, plies_before)),
            plies_before[-1:],
        ],
    }
    same = {
        name: [getattr(plies, name) for plies, _ in parts]
        for name in ("axes", "heights", "angle", "moduli", "strengths")
    }
    return Plies(**{name: np.concatenate(values) for name, values in (shifted | same).items()})


def check_rows(plies: Plies, n: int) -> list[str]:
    """Problem of ply faces that are not among the n rows of stress; empty if none."""
    rows = np.concatenate([plies.bottom, plies.top])
    return (
        []
        if not len(rows) or 0 <= rows.min() <= rows.max() < n
        else [f"plies: faces refer to rows outside 0..{n - 1}"]
    )


def in_plane(stress: FloatArray, axes: FloatArray) -> FloatArray:
    """In-plane stress σ₁₁, σ₂₂, σ₁₂ (…, k, 3) along axes (k, 3, 3) from stress (…, k, 6)."""
    plane = axes[:, :2]
    local = np.einsum("kai,...kij,kbj->...kab", plane, stress[..., _TENSOR], plane, optimize=True)
    return np.stack([local[..., 0, 0], local[..., 1, 1], local[..., 0, 1]], axis=-1)


def turn(angle: FloatArray) -> FloatArray:
    """Rotation matrices T (n, 3, 3) of plane stress by angles (n,) [deg].

    σ₁, σ₂, τ₁₂ in the rotated axes from the stress in the original axes.
    """
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    return np.stack(
        [[c * c, s * s, 2 * c * s], [s * s, c * c, -2 * c * s], [-c * s, c * s, c * c - s * s]]
    ).transpose(2, 0, 1)


def tsai_wu_parts(stress: FloatArray, strengths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Linear and quadratic parts (…, m) of the Tsai–Wu failure index.

    For σ₁, σ₂, τ₁₂ (…, m, 3) and strengths (m, 5).
    """
    Xt, Xc, Yt, Yc, S = strengths.T
    s1, s2, t = np.moveaxis(stress, -1, 0)
    F11, F22 = 1 / (Xt * Xc), 1 / (Yt * Yc)
    linear = (1 / Xt - 1 / Xc) * s1 + (1 / Yt - 1 / Yc) * s2
    return linear, F11 * s1**2 + F22 * s2**2 + (t / S) ** 2 - np.sqrt(F11 * F22) * s1 * s2


def file_items(plies: Plies) -> dict[str, FloatArray | IntArray]:
    """Arrays of the plies by item of the file."""
    return {field.name: getattr(plies, field.name) for field in fields(plies)}

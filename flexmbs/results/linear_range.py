"""Checks that flexible bodies deform within the linear range of their own frames.

A body moves with displacements of second order in its frame (docs/theory.md, section 8); those of
third order are missing. Where its parts turn by up to θ against its frame, forces and positions are
wrong by shares of some θ². So the turn of all frames and of parts of the surface is compared with a
limit, and so is the displacement with the size of the body, which finds large strains. Compact bars
have wider limits than other bodies, of which thin curved sheets are the worst, whose bending and
torsion depend on each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexmbs.flexible_body.components import FloatArray, Surface
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.results.bodies import data_of
from flexmbs.results.output_selection import evenly, telling_outputs
from flexmbs.system.check import PASS, WARN, Check

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

# of a compact bar, twice its volume over its surface, relative to its second extent
THICKNESS = 0.2
MOST_PLACES, MOST_TIMES = 400, 200
FEW_PLACES, BLOCK = 20, 5000  # places by which those times are found, so many times at once
DEGREE = 4  # of the turn along a body


class Limits(NamedTuple):
    """Largest displacement over the size of a body or piece and turn against its frame [rad]; error
    of the largest force over the square of the turn."""

    displacement: float
    rotation: float
    error: float


COMPACT, OTHER = Limits(0.08, 0.16, 0.7), Limits(0.05, 0.08, 8.0)


class _Deflected(NamedTuple):
    """Largest elastic displacement over the size of a body or piece and turn against its frame
    [rad], their limits, what they are by these at the worst output, that output, the displacement
    [m], and how far it bends there over its length [rad]."""

    displacement: float
    turn: float
    limits: Limits
    share: float
    output: int
    metres: float
    bend: float


def linear_range(solution: SolutionData, name: str) -> Check | None:
    """The check of a body, of a divided one that of the piece nearest to its limits; None without
    elastic coordinates.
    """
    pieces = [
        _deflected(solution.elastic(piece), data)
        for piece, data in zip(solution.compiled.pieces_of(name), data_of(solution, name))
        if data.nf
    ]
    if not pieces:
        return None
    k, worst = max(enumerate(pieces, 1), key=lambda each: each[1].share)
    where = f"piece {k}: " if len(pieces) > 1 else ""
    text = (
        f"{where}{1e3 * worst.metres:.3g} mm ({100 * worst.displacement:.2g} % of its size), "
        f"{worst.turn:.2g} rad"
    )
    if worst.share <= 1.0:
        return Check(f"Deflection of {name}", PASS, text)
    text += f"; beyond the linear range at t = {solution.t[worst.output]:.4g} s"
    if worst.turn > worst.limits.rotation:
        text += (
            f", forces may be wrong by {100 * min(worst.limits.error * worst.turn**2, 1.0):.2g} %"
        )
    return Check(
        f"Deflection of {name}",
        WARN,
        text,
        _remedy(len(pieces), max(piece.bend for piece in pieces), worst),
    )


def _remedy(pieces: int, bend: float, worst: _Deflected) -> str:
    """Pieces of equal length turn within the limit if none bends more than this over its present
    length.
    """
    number = int(np.ceil(pieces * bend / worst.limits.rotation))
    if number <= pieces and worst.turn > worst.limits.rotation:
        return "it turns against its frame more than it bends: reduce it with another reference"
    if number <= pieces:
        return (
            "its strains are not small, which no division mends: check its loads and its stiffness"
        )
    if pieces > 1:
        return f"divide it into {number} pieces instead of {pieces}"
    return f"divide it into {number} pieces along its length, with pp.divide"


def _deflected(elastic: FloatArray, data: FlexibleBodyData) -> _Deflected:
    places, psi = _turning(data, MOST_PLACES)
    blocks = np.array_split(elastic, max(1, -(-len(elastic) // BLOCK)))
    few = _turning(data, FEW_PLACES)[1]
    rough = [
        np.stack([_largest(few, part), displacements(data, part, FEW_PLACES)[1]]) for part in blocks
    ]
    pick = telling_outputs(np.hstack(rough), MOST_TIMES)
    size, displacement = displacements(data, elastic[pick], MOST_PLACES)
    turn = _largest(psi, elastic[pick])
    limits, shares = OTHER, _shares(displacement / size, turn, OTHER)
    if shares.max() > 1.0 and data.surface is not None and is_compact(data.surface):
        limits, shares = COMPACT, _shares(displacement / size, turn, COMPACT)
    k = int(np.argmax(shares))
    largest = float(displacement.max())
    bend = _bend(places, psi @ elastic[pick[k]])
    return _Deflected(
        largest / size, float(turn.max()), limits, float(shares[k]), int(pick[k]), largest, bend
    )


def _shares(displacement: FloatArray, turn: FloatArray, limits: Limits) -> FloatArray:
    return np.maximum(displacement / limits.displacement, turn / limits.rotation)


def is_compact(surface: Surface) -> bool:
    """True if a surface encloses a bar rather than a sheet: its mean thickness, twice the volume over
    the surface, is at least a fifth of its second extent."""
    sides = np.sort(surface.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    if not len(sides) or (np.unique(sides, axis=0, return_counts=True)[1] != 2).any():
        return False
    a, b, c = (
        surface.nodes[surface.triangles[:, k]] - surface.nodes.mean(axis=0) for k in range(3)
    )
    volume = abs(float(np.einsum("nk,nk->", a, np.cross(b, c)))) / 6.0
    area = 0.5 * float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())
    corners = surface.nodes[np.unique(surface.triangles)]
    axes = np.linalg.svd(corners - corners.mean(axis=0), full_matrices=False)[2]
    second = float(np.sort(np.ptp(corners @ axes.T, axis=0))[1])
    return 2.0 * volume > THICKNESS * second * area


def _bend(places: FloatArray, turn: FloatArray) -> float:
    """Largest slope of the turn (n, 3) of the places (n, 3) along their longest axis, times their
    length, of polynomials.
    """
    x = places - places.mean(axis=0)
    along = x @ np.linalg.svd(x, full_matrices=False)[2][0]
    s = (along - along.min()) / (float(np.ptp(along)) or 1.0)
    powers = np.arange(DEGREE + 1)
    fitted = np.linalg.lstsq(s[:, None] ** powers, turn, rcond=None)[0]
    slope = np.linspace(0.0, 1.0, 21)[:, None] ** powers[:-1] @ (powers[1:, None] * fitted[1:])
    return float(np.linalg.norm(slope, axis=1).max())


def _largest(shapes: FloatArray, elastic: FloatArray) -> FloatArray:
    """Largest length (nt,) of vectors by their shapes (n, 3, nf)."""
    return np.asarray(
        np.linalg.norm(np.einsum("nak,tk->tna", shapes, elastic), axis=2).max(axis=1, initial=0.0)
    )


def _turning(data: FlexibleBodyData, most: int) -> tuple[FloatArray, FloatArray]:
    """Places (n, 3) of its frames, and of at most so many triangles of its surface, and how the
    modes turn them (n, 3, nf).
    """
    frames = list(data.frames.values())
    places = np.array([frame.x for frame in frames]).reshape(-1, 3)
    psi = np.array([frame.psi for frame in frames]).reshape(-1, 3, data.nf)
    if data.surface is None or not len(data.surface.triangles):
        return places, psi
    x, turned = _turns(data.surface, most)
    return np.concatenate([places, x]), np.concatenate([psi, turned])


def _turns(surface: Surface, most: int) -> tuple[FloatArray, FloatArray]:
    """Centres of triangles and their turns by the modes: ω = c − ½ n (n·c), c = Σ g_i × d_i, d_i
    the displacements of two corners relative to the third, g_i dual to these sides."""
    corners = surface.triangles[evenly(len(surface.triangles), most)]
    sides, moved = (
        np.stack([u[corners[:, i]] - u[corners[:, 0]] for i in (1, 2)], axis=1)
        for u in (surface.nodes, surface.phi)
    )
    area = np.cross(sides[:, 0], sides[:, 1])
    proper = np.linalg.norm(area, axis=1) > 1e-9 * np.square(sides).sum(axis=2).max(axis=1)
    sides, moved, area, corners = sides[proper], moved[proper], area[proper], corners[proper]
    twice = np.linalg.norm(area, axis=1)[:, None]
    n = area / twice
    dual = np.stack([np.cross(sides[:, 1], n), np.cross(n, sides[:, 0])], axis=1) / twice[:, None]
    c = np.cross(dual[..., None], moved, axis=2).sum(axis=1)
    return surface.nodes[corners].mean(axis=1), c - 0.5 * n[:, :, None] * np.einsum(
        "na,nak->nk", n, c
    )[:, None]


def displacements(
    data: FlexibleBodyData, elastic: FloatArray, most: int
) -> tuple[float, FloatArray]:
    """Size of the body, and its largest elastic displacement at each time, on a sample of at most
    so many nodes.
    """
    if data.surface is not None:
        pick = evenly(len(data.surface.nodes), most)
        nodes, phi = data.surface.nodes[pick], data.surface.phi[pick]
    else:
        nodes = np.array([np.zeros(3), *(frame.x for frame in data.frames.values())])
        phi = np.array([np.zeros((3, data.nf)), *(frame.phi for frame in data.frames.values())])
    size = float(np.linalg.norm(np.ptp(nodes, axis=0))) or 1.0
    return size, _largest(phi, elastic)

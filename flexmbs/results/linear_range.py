"""Checks that flexible bodies deform within the linear range of their frames.

Displacements in the body frame are of second order (docs/theory.md, section 8); third-order terms
are missing. Where parts turn by up to θ relative to the body frame, the relative error of forces
and positions is of order θ². The check therefore compares the rotation of all frames and parts of
the surface with a limit, and the displacement with the size of the body, which detects large
strains. Compact bars have wider limits than other bodies; the worst are thin curved sheets, whose
bending and torsion are coupled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexmbs.flexible_body.components import FloatArray, Surface
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.results.bodies import data_of
from flexmbs.results.output_selection import equally_spaced, outputs_with_extremes
from flexmbs.system.check import PASS, WARN, Check

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

# least mean thickness (twice volume over surface) of a compact bar, relative to its second extent
THICKNESS = 0.2
MOST_PLACES, MOST_TIMES = 400, 200
FEW_PLACES, BLOCK = 20, 5000  # places that select the times; times processed at once
DEGREE = 4  # degree of the polynomial of the rotation along a body


class LinearLimits(NamedTuple):
    """Limits of linear deformation.

    Largest displacement relative to the size of a body or piece, largest rotation relative to its
    frame [rad]; error of the largest force divided by the square of the rotation.
    """

    displacement: float
    rotation: float
    error: float


COMPACT, OTHER = LinearLimits(0.08, 0.16, 0.7), LinearLimits(0.05, 0.08, 8.0)


class _Deflection(NamedTuple):
    """Largest deflection of a body or piece.

    Elastic displacement relative to its size and rotation relative to its frame [rad], their
    limits, their largest share of the limits, the output where it occurs, the displacement [m]
    there, and the bending angle over the length [rad].
    """

    displacement: float
    turn: float
    limits: LinearLimits
    share: float
    output: int
    metres: float
    bend: float


def linear_range(solution: SolutionData, name: str) -> Check | None:
    """Check that the deflections of a body stay in the linear range.

    None without elastic coordinates.
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


def _remedy(pieces: int, bend: float, worst: _Deflection) -> str:
    """Remedy for deflections beyond the linear range, such as a number of pieces.

    Pieces of equal length stay within the limit if none bends more than ``bend`` over its present
    length.
    """
    number = int(np.ceil(pieces * bend / worst.limits.rotation))
    if number <= pieces and worst.turn > worst.limits.rotation:
        return (
            "it rotates relative to its frame more than it bends: reduce it with another reference"
        )
    if number <= pieces:
        return (
            "its strains are not small, and dividing it does not help: check its loads and "
            "stiffness"
        )
    if pieces > 1:
        return f"divide it into {number} pieces instead of {pieces}"
    return f"divide it into {number} pieces along its length, with pp.divide"


def _deflected(elastic: FloatArray, data: FlexibleBodyData) -> _Deflection:
    """Largest displacement and rotation of a body over outputs likely to contain extremes."""
    places, psi = _turning(data, MOST_PLACES)
    blocks = np.array_split(elastic, max(1, -(-len(elastic) // BLOCK)))
    few = _turning(data, FEW_PLACES)[1]
    rough = [
        np.stack([_largest(few, part), displacements(data, part, FEW_PLACES)[1]]) for part in blocks
    ]
    pick = outputs_with_extremes(np.hstack(rough), MOST_TIMES)
    size, displacement = displacements(data, elastic[pick], MOST_PLACES)
    turn = _largest(psi, elastic[pick])
    limits, shares = OTHER, _shares(displacement / size, turn, OTHER)
    if shares.max() > 1.0 and data.surface is not None and is_compact(data.surface):
        limits, shares = COMPACT, _shares(displacement / size, turn, COMPACT)
    k = int(np.argmax(shares))
    largest = float(displacement.max())
    bend = _bend(places, psi @ elastic[pick[k]])
    return _Deflection(
        largest / size, float(turn.max()), limits, float(shares[k]), int(pick[k]), largest, bend
    )


def _shares(displacement: FloatArray, turn: FloatArray, limits: LinearLimits) -> FloatArray:
    """Larger of displacement and rotation relative to their limits."""
    return np.maximum(displacement / limits.displacement, turn / limits.rotation)


def is_compact(surface: Surface) -> bool:
    """True if a surface encloses a bar rather than a sheet.

    Its mean thickness, twice the volume over the surface, is at least a fifth of its second extent.
    """
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
    """Largest slope of rotations (n, 3) along the longest axis of their positions.

    Times their length, from polynomials.
    """
    x = places - places.mean(axis=0)
    along = x @ np.linalg.svd(x, full_matrices=False)[2][0]
    s = (along - along.min()) / (float(np.ptp(along)) or 1.0)
    powers = np.arange(DEGREE + 1)
    fitted = np.linalg.lstsq(s[:, None] ** powers, turn, rcond=None)[0]
    slope = np.linspace(0.0, 1.0, 21)[:, None] ** powers[:-1] @ (powers[1:, None] * fitted[1:])
    return float(np.linalg.norm(slope, axis=1).max())


def _largest(shapes: FloatArray, elastic: FloatArray) -> FloatArray:
    """Largest length (nt,) of vectors given by shapes (n, 3, nf)."""
    return np.asarray(
        np.linalg.norm(np.einsum("nak,tk->tna", shapes, elastic), axis=2).max(axis=1, initial=0.0)
    )


def _turning(data: FlexibleBodyData, most: int) -> tuple[FloatArray, FloatArray]:
    """(positions (n, 3), rotation shapes (n, 3, nf)) of frames and surface parts.

    At most ``most`` triangles of the surface.
    """
    frames = list(data.frames.values())
    places = np.array([frame.x for frame in frames]).reshape(-1, 3)
    psi = np.array([frame.psi for frame in frames]).reshape(-1, 3, data.nf)
    if data.surface is None or not len(data.surface.triangles):
        return places, psi
    x, turned = _turns(data.surface, most)
    return np.concatenate([places, x]), np.concatenate([psi, turned])


def _turns(surface: Surface, most: int) -> tuple[FloatArray, FloatArray]:
    """(centres of triangles, their rotation shapes).

    ω = c − ½ n (n·c), c = Σ g_i × d_i, where d_i are the displacements of two corners relative to
    the third and g_i are dual to these sides.
    """
    corners = surface.triangles[equally_spaced(len(surface.triangles), most)]
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
    """(size of the body, largest elastic displacement at each time).

    On a sample of at most ``most`` nodes.
    """
    if data.surface is not None:
        pick = equally_spaced(len(data.surface.nodes), most)
        nodes, phi = data.surface.nodes[pick], data.surface.phi[pick]
    else:
        nodes = np.array([np.zeros(3), *(frame.x for frame in data.frames.values())])
        phi = np.array([np.zeros((3, data.nf)), *(frame.phi for frame in data.frames.values())])
    size = float(np.linalg.norm(np.ptp(nodes, axis=0))) or 1.0
    return size, _largest(phi, elastic)

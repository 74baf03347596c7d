"""Whether the two sides of the cuts of divided bodies fit, unless they are rigid.

At a cut the frames of both pieces are welded, for which they move with their mean over the nodes. What each node does beyond its
frame, w_n = φ_n q − (φ_f + ψ_f × (x_n − x_f)) q, is free on either side of an averaged cut; of a full one its mean by the force
patterns is the same. In slender parts w is the same on both sides; the warping of thin walls and the bending of wide plates would
be transmitted, so that the part is too soft where it is not. The largest difference of both sides is compared with the largest
displacement of the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flexmbs.flexible_body.parts import FloatArray, IntArray
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.flexible_body.welds import welds
from flexmbs.system.check import PASS, Check, graded
from flexmbs.system.sizes import model_size

if TYPE_CHECKING:
    from flexmbs.results.deformation import Deformation
    from flexmbs.results.solution import SolutionData

APART = (5e-3, 0.1)  # of the largest displacement: torsion of a strip and of an I is then too soft by 1 %
SMALL = 1e-7  # of the model's size: negligible displacements
MOST_NODES, MOST_TIMES = 200, 100


def cuts(solution: SolutionData, name: str) -> Check | None:
    """The check of a body; None of one in one piece or without a surface."""
    shape = solution.shape(name) if name in solution.compiled.pieces else None
    if shape is None or shape.linear:
        return None
    data = solution.compiled.pieces[name].data
    pick, times = _some(len(shape.surface.nodes), MOST_NODES), _some(len(solution.t), MOST_TIMES)
    size = float(np.linalg.norm(shape.displacement(pick, times), axis=2).max(initial=0.0))
    if not size > SMALL * model_size(solution.compiled):
        return Check(f"Cuts of {name}", PASS, "its displacements are negligible")
    found = [
        (*_apart(solution, name, shape, weld, times), weld[2])
        for weld in welds(data.frames_by_piece)
        if data.pieces[weld[0]].frames[weld[2]].kind == "averaged"
    ]
    if not found:
        return None
    apart, k, cut = max(found)
    status, t = graded(apart / size, APART), solution.t[times[k]]
    text = f"the sides of {cut} are {apart:.1e} m apart, {apart / size:.1e} of the displacement, at t = {t:.4g} s"
    remedy = "" if status == PASS else "too soft, because it warps there: use fewer pieces, or cut elsewhere"
    return Check(f"Cuts of {name}", status, text, remedy)


def _apart(
    solution: SolutionData, name: str, shape: Deformation, weld: tuple[int, int, str], times: IntArray
) -> tuple[float, int]:  # fmt: skip
    """Largest difference of w between the sides of a cut [m], and at which of the times."""
    names, data = solution.compiled.pieces[name]
    i, j, cut = weld
    _, *sides = np.intersect1d(shape.pieces[i].rows, shape.pieces[j].rows, return_indices=True)
    near = _nearest(data.pieces[i], sides[0], [each for a, b, each in welds(data.frames_by_piece) if (a, b) == (i, j)]) == cut
    one, two = (
        _beyond_frame(data.pieces[k], cut, solution.elastic(names[k])[times], side[near]) for k, side in zip((i, j), sides)
    )
    apart = np.linalg.norm(one - two, axis=2).max(axis=1, initial=0.0)
    return float(apart.max()), int(apart.argmax())


def _some(count: int, most: int) -> IntArray:
    """Numbers below ``count``, evenly."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def _nearest(piece: FlexibleBodyData, rows: IntArray, names: list[str]) -> np.ndarray:
    """Name (n,) of the nearest of some frames to each node in rows (n,) of the surface."""
    assert piece.surface is not None
    places = np.array([piece.frames[name].x for name in names])
    away = np.linalg.norm(piece.surface.nodes[rows][:, None] - places, axis=2)
    return np.array(names)[away.argmin(axis=1)]


def _beyond_frame(piece: FlexibleBodyData, cut: str, q: FloatArray, rows: IntArray) -> FloatArray:
    """w (nt, n, 3) of nodes in rows (n,) of the surface, in the axes of the frame of the cut."""
    assert piece.surface is not None
    frame, arms = piece.frames[cut], piece.surface.nodes[rows] - piece.frames[cut].x
    turned = np.cross(frame.psi.T[None], arms[:, None]).transpose(0, 2, 1)
    return np.asarray(np.einsum("nak,tk->tna", piece.surface.phi[rows] - frame.phi - turned, q) @ frame.R)

"""Check that both sides of the non-rigid cuts of divided bodies fit together.

At a cut the frames of both pieces are welded; they move with the mean of the cut's nodes. The
displacement of a node relative to its frame, w_n = φ_n q − (φ_f + ψ_f × (x_n − x_f)) q, is free on
either side of an averaged cut; at a full cut its mean weighted by the force patterns is equal on
both sides. In slender parts w agrees; the warping of thin walls and the bending of wide plates
should be transmitted, so a part with differing w is too soft. The largest difference between the
sides is compared with the largest displacement of the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flexmbs.flexible_body.components import FloatArray, IntArray
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.flexible_body.welds import welds
from flexmbs.results.output_selection import equally_spaced, outputs_with_extremes
from flexmbs.system.check import FAIL, PASS, Check, graded
from flexmbs.system.step_scales import model_size

if TYPE_CHECKING:
    from flexmbs.flexible_body.divided import DividedBodyData
    from flexmbs.results.deformation import Deformation
    from flexmbs.results.solution import SolutionData

# relative to the largest displacement (WARN, FAIL): at WARN, a strip or an
# I-section in torsion is too soft by 1 %
WELD_LIMITS = (5e-3, 0.1)
SMALL = 1e-7  # relative to the model's size: smaller displacements are negligible
MOST_NODES, MOST_TIMES = 200, 100
FEW_NODES, BLOCK = 20, 5000  # nodes that select the times; times processed at once


def cuts(solution: SolutionData, name: str) -> Check | None:
    """Check of the deformation continuity at the cuts of a divided body; None for others."""
    shape = solution.shape(name) if name in solution.compiled.pieces else None
    if shape is None or shape.linear:
        return None
    data = solution.compiled.pieces[name].data
    pick, times = (
        equally_spaced(len(shape.surface.nodes), MOST_NODES),
        outputs_with_extremes(_largest_displacement(shape, len(solution.t)), MOST_TIMES),
    )
    size = float(np.linalg.norm(shape.displacement(pick, times), axis=2).max(initial=0.0))
    if not size > SMALL * model_size(solution.compiled):
        return Check(f"Cuts of {name}", PASS, "its displacements are negligible")
    found = [
        _largest_difference(solution, name, shape, pair, cuts, times)
        for pair, cuts in _cuts_by_pieces(data).items()
        if data.pieces[pair[0]].frames[cuts[0]].kind == "averaged"
    ]
    if not found:
        return None
    apart, k, cut = max(found)
    if apart == np.inf:
        return Check(
            f"Cuts of {name}",
            FAIL,
            f"the two pieces of {cut} have no common node there",
            "use pieces from the same reduction",
        )
    status, t = graded(apart / size, WELD_LIMITS), solution.t[times[k]]
    text = (
        f"the sides of {cut} are {apart:.1e} m apart, {apart / size:.1e} of the displacement, "
        f"at t = {t:.4g} s"
    )
    remedy = (
        ""
        if status == PASS
        else "the part is too soft because it warps there: use fewer pieces or cut elsewhere"
    )
    return Check(f"Cuts of {name}", status, text, remedy)


def _cuts_by_pieces(data: DividedBodyData) -> dict[tuple[int, int], list[str]]:
    """Names of the cuts by pair of pieces."""
    found: dict[tuple[int, int], list[str]] = {}
    for i, j, cut in welds(data.frames_by_piece):
        found.setdefault((i, j), []).append(cut)
    return found


def _largest_difference(
    solution: SolutionData,
    name: str,
    shape: Deformation,
    pair: tuple[int, int],
    cuts: list[str],
    times: IntArray,
) -> tuple[float, int, str]:
    """Largest difference of w between the sides of the cuts of two pieces [m].

    Infinite without common nodes; with the index of its time, and the cut. A node belongs to the
    cut relative to whose frames its displacements differ least, because frames of coaxial cuts, as
    of two tubes, coincide.
    """
    names, data, _ = solution.compiled.pieces[name]
    i, j = pair
    _, *sides = np.intersect1d(shape.pieces[i].rows, shape.pieces[j].rows, return_indices=True)
    if not sides[0].size:
        return np.inf, 0, cuts[0]
    q = [solution.elastic(names[k])[times] for k in pair]
    w = [
        [
            _relative_displacement(data.pieces[k], cut, own, rows)
            for k, own, rows in zip(pair, q, sides)
        ]
        for cut in cuts
    ]
    differences = np.array([np.linalg.norm(one - other, axis=2) for one, other in w])
    own = differences.max(axis=1).argmin(axis=0)  # cut of each node
    apart = np.take_along_axis(differences, own[None, None], axis=0)[0]
    k, node = np.unravel_index(apart.argmax(), apart.shape)
    return float(apart[k, node]), int(k), cuts[own[node]]


def _largest_displacement(shape: Deformation, outputs: int) -> FloatArray:
    """Largest displacement (1, nt) [m] of a few nodes, to select outputs."""
    few = equally_spaced(len(shape.surface.nodes), FEW_NODES)
    parts = np.array_split(np.arange(outputs), -(-outputs // BLOCK))
    return np.concatenate(
        [np.linalg.norm(shape.displacement(few, part), axis=2).max(axis=1) for part in parts]
    )[None]


def _relative_displacement(
    piece: FlexibleBodyData, cut: str, q: FloatArray, rows: IntArray
) -> FloatArray:
    """Displacement w (nt, n, 3) of nodes in the axes of the frame of the cut.

    rows (n,): rows of the nodes in the surface.
    """
    assert piece.surface is not None
    frame, arms = piece.frames[cut], piece.surface.nodes[rows] - piece.frames[cut].x
    turned = np.cross(frame.psi.T[None], arms[:, None]).transpose(0, 2, 1)
    return np.asarray(
        np.einsum("nak,tk->tna", piece.surface.phi[rows] - frame.phi - turned, q) @ frame.R
    )

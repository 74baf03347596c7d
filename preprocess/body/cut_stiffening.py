"""Geometric stiffness that the pieces of a divided part do not represent.

The stress of a piece under loads at its interfaces is that of tractions linear over its cuts. The
additional force patterns of a full cut have no geometric stiffness: for example, the tension in a
wide plate that is pulled at the middle of an edge is uniform over the cuts. Under a unit force at
an interface, with the forces f̃ of the patterns at the cuts,

    missing = Σ φᵀ K0(A f̃) φ + ψᵀ W(f̃) ψ over the pieces,    whole = Σ φᵀ K0(u) φ,    both over φᵀKφ,

for the lowest modes of the whole part, φ and ψ for a piece from its body frame, with ψ the
rotations of its cuts; A is the free response of a piece, u the displacement of the whole part, W as
in `geometric_stiffness`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexmbs.errors import warn_caller
from flexmbs.flexible_body.components import FloatArray
from preprocess.body.cut_patterns import PartMotions, residual_cut_forces
from preprocess.body.geometric_stiffness import accelerations_of, stress_stiffness
from preprocess.body.unit_loads import rigid_acceleration
from preprocess.fe.assemble_pieces import AssembledPart
from preprocess.fe.fe_model import FEModel
from preprocess.fe.rotation_work import arms_of, rotation_work
from preprocess.inputs.warning import PreprocessWarning
from preprocess.reduction.accuracy import LOADS
from preprocess.reduction.interface_statics import InterfaceStatics

# number of lowest modes of the whole part for which the stiffening is compared, as in
# `cut_accuracy`
MODES = 6
# stiffening by a force relative to the largest of its interface; below it the force hardly stiffens
# the part, and its relative error does not matter
SMALL = 0.1
# relative error of the stiffening without a warning: 5 %, since stiffening itself is a correction
# of the stiffness
TOLERATED = 0.05


def missing_stiffness(
    whole: InterfaceStatics,
    undivided: AssembledPart,
    pieces: Sequence[InterfaceStatics],
    cuts: Sequence[tuple[int, int, str]],
    references: Sequence[str],
) -> dict[str, float]:
    """Missing geometric stiffness relative to that of the whole part, and the force that causes it.

    The worst of the lowest modes of the part, by the force at an interface. references: of the
    frames of the pieces; the whole part is held at the first.
    """
    names = [each.name for each in whole.interfaces]
    held = names.index(references[0])
    columns = [6 * k + axis for k in range(len(names)) if k != held for axis in range(3)]
    if not columns:
        return {}
    u = whole.held_response(whole.interface_loads[:, columns], held)
    count = min(MODES, whole.free_degrees_of_freedom - 6)
    modes = whole.modes((held,), count=count)
    motions = PartMotions(u, np.zeros_like(u), np.zeros((12, len(columns))))
    beyond: list[dict[str, FloatArray]] = [{} for _ in pieces]
    for i, j, cut in cuts:
        given = residual_cut_forces(whole, undivided, pieces, (i, j, cut), motions)
        beyond[i][cut], beyond[j][cut] = given[i], -given[j]
    lacking, effect = np.zeros((len(columns), count)), np.zeros((len(columns), count))
    for statics, P, forces, reference in zip(pieces, undivided.places, beyond, references):
        phi = P @ (modes.shapes / modes.omega)
        effect += _diagonals(statics.fe, P @ u, phi, np.zeros((statics.size, 1)))
        lacking += _missing(statics, forces, phi, reference)
    size = np.abs(effect).max(axis=1)
    most = np.repeat(size.reshape(-1, 3).max(axis=1), 3)
    share = np.abs(lacking).max(axis=1) / np.maximum(size, np.finfo(float).tiny)
    found = zip(columns, share, size > SMALL * most)
    return {f"{names[c // 6]} {LOADS[c % 6]}": float(each) for c, each, counts in found if counts}


def warn_of_stiffness(missing: dict[str, float]) -> None:
    """Warn of missing geometric stiffness above `TOLERATED`."""
    worst = max(missing, key=lambda load: missing[load], default="")
    if worst and missing[worst] > TOLERATED:
        warn_caller(
            f"divide: the stiffening by {worst} has a relative error of up to "
            f"{missing[worst]:.2g}: its stress varies over a cut, but the pieces are stiffened by "
            "the mean; cut elsewhere, or use fewer pieces, if such forces are large",
            PreprocessWarning,
        )


def _missing(
    statics: InterfaceStatics, forces: dict[str, FloatArray], phi: FloatArray, reference: str
) -> FloatArray:
    """Missing geometric stiffness φᵀ K0(A f̃) φ + ψᵀ W(f̃) ψ (k, m) of a piece.

    The forces at its cuts are f̃ (n, k), the shapes (n, m).
    """
    names = [each.name for each in statics.interfaces]
    frame = statics.interfaces[names.index(reference)]
    place = 6 * names.index(reference)
    relative = (
        phi
        - statics.fe.rigid_motion(frame.position) @ statics.interface_motion(phi)[place : place + 6]
    )
    motion = statics.interface_motion(relative)
    pulled = np.sum(list(forces.values()), axis=0)
    found = _diagonals(
        statics.fe, statics.free_response(pulled), relative, rigid_acceleration(statics, pulled)
    )
    for cut, f in forces.items():
        at = names.index(cut)
        interface, psi = statics.interfaces[at], motion[6 * at + 3 : 6 * at + 6]
        p = statics.fe.displacements(f)[interface.nodes]
        W = rotation_work(
            np.einsum(
                "ni,njk->kij", arms_of(interface.rigid_motion[: len(interface.nodes), :, 3:]), p
            )
        )
        found += np.einsum("am,kab,bm->km", psi, W, psi)
    return found


def _diagonals(
    fe: FEModel, displacements: FloatArray, shapes: FloatArray, acceleration: FloatArray
) -> FloatArray:
    """Geometric stiffness φᵀ K0 φ (k, m) of each of the shapes (n, m).

    K0 belongs to the stresses under ``displacements`` (n, k) and ``acceleration`` (n, k).
    """
    K0 = stress_stiffness(
        fe, displacements, shapes, lambda rows: accelerations_of(fe, acceleration, rows)
    )
    return np.asarray(np.einsum("kmm->km", K0))

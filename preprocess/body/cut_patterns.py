"""Force patterns of full cuts, transmitted besides the resultant force and moment.

The pieces of a part, welded by multipliers of some nodal force patterns p at a cut, pᵀ(u_a − u_b) =
0, move as the whole part in every motion whose true nodal forces at the cut lie in the span of the
patterns. These forces are taken from motions of the whole part, each with the strain energy ½ uᵀKu
= ½: static displacements under loads at the interfaces, the responses to the inertia loads of rigid
motions, and the lowest normal modes with the interfaces held,

    f = K_a u_a − (inertia forces of a) at the cut,    f̃ = f − L (Rᵀ f),

with L the unit loads of the cut's frame, R its rigid motion. Omitting a combination F̃ v of the
residual forces releases the energy ½ vᵀCv, C = F̃ᵀ (A_a + A_b) F̃ with A the static responses of
the pieces, frames of the cuts held. The eigenvectors of C with eigenvalues above `RELEASED` are
kept (interface reduction).

Source: Bernardi, Maday, Patera, Asymptotic and Numerical Methods for PDEs (1993) 269 (welds by
multipliers, mortar method); Castanier, Tan and Pierre, AIAA Journal 39 (2001) 1182 (characteristic
constraint modes, reduction of interfaces).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from preprocess.body.unit_loads import inertial_loads
from preprocess.fe.assemble_pieces import AssembledPart
from preprocess.fe.fe_model import FEModel
from preprocess.fe.freedoms import Indices, dofs_of
from preprocess.reduction.interface_statics import InterfaceStatics

# number of lowest normal modes of the whole part whose cut forces are transmitted, twice those that
# `cut_accuracy` compares
NORMAL_MODES = 12
# fraction of the strain energy of a motion that omitted patterns may release; frequencies then
# change by about 5e-5
RELEASED = 1e-4
# strain energy relative to that of the largest motion; below it there is only round-off
TINY = 1e-12

Patterns = dict[str, FloatArray]  # (n, m) nodal forces of a piece, by the name of the cut


class PartMotions(NamedTuple):
    """Motions u (n, k) of the whole part, normalised to uᵀKu = 1.

    Accelerations a (n, k) of the nodes, and factors (12, k) of the inertia loads that act in
    addition to loads at the interfaces.
    """

    u: FloatArray
    a: FloatArray
    inertial: FloatArray


def part_motions(whole: InterfaceStatics) -> PartMotions:
    """Motions of a part under interface loads and inertia loads, and its fixed-interface modes."""
    fe, n = whole.fe, whole.size
    u = [whole.constraint_modes() @ _energy_vectors(whole.interface_stiffness)]
    loads = inertial_loads(fe, fe.centre_of_mass, np.eye(3))
    responses = whole.response(loads)
    energy = np.einsum("ij,ij->j", responses, loads)
    strained = np.flatnonzero(energy > TINY * energy.max(initial=0.0))
    u.append(responses[:, strained] / np.sqrt(energy[strained]))
    modes = whole.modes(range(len(whole.interfaces)), count=min(NORMAL_MODES, whole.free_count))
    u.append(modes.shapes / modes.omega)
    first, last = u[0].shape[1], len(strained)
    a, inertial = (
        np.zeros((n, first + last + len(modes.omega))),
        np.zeros((loads.shape[1], first + last + len(modes.omega))),
    )
    inertial[strained, first + np.arange(last)] = 1.0 / np.sqrt(energy[strained])
    a[:, first + last :] = -modes.shapes * modes.omega
    return PartMotions(np.hstack(u), a, inertial)


def cut_patterns(
    whole: InterfaceStatics,
    undivided: AssembledPart,
    pieces: Sequence[InterfaceStatics],
    cuts: Sequence[tuple[int, int, str]],
) -> list[Patterns]:
    """Force patterns of each piece at its cuts, keyed by (piece, other piece, name).

    The two pieces of a cut have the same patterns. Raises InputError for cuts at nodes that follow
    connections.
    """
    motions = part_motions(whole)
    found: list[Patterns] = [{} for _ in pieces]
    for i, j, cut in cuts:
        given = residual_cut_forces(whole, undivided, pieces, (i, j, cut), motions)
        C = np.sum([forces.T @ pieces[k].response(forces) for k, forces in given.items()], axis=0)
        energy, V = scipy.linalg.eigh(0.5 * (C + C.T))
        V = V[:, energy > RELEASED][:, ::-1]
        size = np.abs(given[i] @ V).sum(axis=0)
        for k, forces in given.items():
            found[k][cut] = forces @ (V / size)
    return found


def residual_cut_forces(
    whole: InterfaceStatics,
    undivided: AssembledPart,
    pieces: Sequence[InterfaceStatics],
    cut: tuple[int, int, str],
    motions: PartMotions,
) -> dict[int, FloatArray]:
    """Forces f̃ at a cut on the first of its two pieces, in the degrees of freedom of each piece.

    Raises InputError for cuts at nodes that follow connections.
    """
    i, j, name = cut
    P, Q = undivided.places[i], undivided.places[j]
    shared = np.intersect1d(P.indices[_dofs_at(pieces[i].fe, name)], Q.indices)
    if np.isin(shared, whole.fe.constraints.dependent).any():
        raise InputError(
            f"{name}: nodes there follow a connection; cut elsewhere, or give cuts='rigid'"
        )
    f = _nodal_forces(pieces[i], P, motions, whole.fe.centre_of_mass)[shared]
    own = [each.name for each in pieces[i].interfaces].index(name)
    L = (P.T @ pieces[i].interface_loads[:, 6 * own : 6 * own + 6])[shared]
    f = f - L @ (whole.fe.rigid_motion(pieces[i].interfaces[own].position)[shared].T @ f)
    return {k: place @ _placed_rows(f, shared, whole.size) for k, place in ((i, P), (j, Q))}


def _energy_vectors(S: FloatArray) -> FloatArray:
    """Interface coordinates (6k, 6k − 6), orthonormal in the stiffness S.

    Those of the first interface are zero.
    """
    n = len(S) - 6
    L = scipy.linalg.cholesky(S[6:, 6:], lower=True)
    return np.vstack(
        [np.zeros((6, n)), scipy.linalg.solve_triangular(L, np.eye(n), lower=True, trans="T")]
    )


def _dofs_at(fe: FEModel, cut: str) -> Indices:
    """Degrees of freedom of the nodes of a cut."""
    rows = np.unique(fe.node_sets[cut])
    return dofs_of(
        np.concatenate([rows, fe.freedoms.rotation_blocks(rows[fe.freedoms.rotates(rows)])])
    )


def _nodal_forces(
    piece: InterfaceStatics, P: FloatArray, motions: PartMotions, centre: FloatArray
) -> FloatArray:
    """Forces (n, k) of the rest of the part on a piece, in the degrees of freedom of the part."""
    fe = piece.fe
    inertia = (
        fe.mass_product(P @ motions.a) - inertial_loads(fe, centre, np.eye(3)) @ motions.inertial
    )
    return np.asarray(P.T @ fe.loads(fe.stiffness_product(P @ motions.u) + inertia))


def _placed_rows(f: FloatArray, rows: FloatArray, n: int) -> FloatArray:
    """Array with n rows: the given ``rows``, zero elsewhere."""
    found = np.zeros((n, f.shape[1]))
    found[rows] = f
    return found

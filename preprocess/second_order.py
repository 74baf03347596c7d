"""Fields of second-order displacements from the static responses to the unit loads.

The second-order displacement ½ γ(q, q) of a body with the shapes φ q is its response, without momentum, to the forces that the
second-order strains of these shapes make. Their work with the response u_p to a unit load p is that of the stress of p on the
second-order strain, −K0_p. Galerkin's solution in the span of all u_p needs no other factorization,

    γ_kl = −Σ_pr u_p (E⁻¹)_pr K0_r,kl,   E_pr = u_pᵀ K u_r;

it is the nearest to γ in the energy norm, with exactly the displacements conjugate to all unit loads: moments over the mass, positions
and rotations of interfaces. Over the mass it is split into affine fields and a rest without any moment, of which the largest
principal fields are kept: what is left out has no part in terms of second order in q.
Source: Slaats, de Jongh and Sauren, Computers & Structures 54 (1995) 1155 (static second-order displacements as shapes).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexmbs.flexible_body import FloatArray
from flexmbs.flexible_body_second_order import NEGLIGIBLE, SecondOrderFields, affine_basis, principal_fields
from preprocess.fe_model import FEModel
from preprocess.invariants import shape_integrals
from preprocess.unit_loads import UnitLoads

INDEPENDENT = 1e-10  # of the energy of a unit load
KEPT = 0.1  # of the largest affine field, at modal amplitudes of one strain energy


class BodyShapes(NamedTuple):
    """Mass matrix m (N, N) of the nodes, their places x (N, 3) and the modes phi (N, 3, nf) in the axes (3, 3) of the body frame, and
    the stiffness K_ff (nf, nf)."""

    fe: FEModel
    x: FloatArray
    phi: FloatArray
    axes: FloatArray
    K_ff: FloatArray


def second_order_fields(body: BodyShapes, cases: UnitLoads, K0: FloatArray) -> SecondOrderFields:
    """Orthonormal fields and their amounts for the geometric stiffness K0 (k, nf, nf) of unit loads under mean axes."""
    basis, nu = _galerkin(cases, K0)
    n, nf = len(body.x), body.phi.shape[2]
    fields = np.einsum("ba,nbh->nah", body.axes, basis.reshape(n, 3, -1))
    w = np.hstack([np.ones((n, 1)), body.x])
    w = w @ affine_basis(w.T @ (body.fe.m @ w))
    moments = np.einsum("nh,nbg->hbg", body.fe.m @ w, fields)  # ∫w_h ψ_bg dm
    rest = fields - np.einsum("nh,hbg->nbg", w, moments)
    mixing, C, largest = principal_fields(np.tensordot(moments, nu, axes=1).reshape(-1, nf, nf), body.K_ff, NEGLIGIBLE)
    affine = np.einsum("nh,hbr->nbr", w, mixing.reshape(w.shape[1], 3, -1))
    gram = np.einsum("nbg,nbh->gh", rest, (body.fe.m @ rest.reshape(n, -1)).reshape(rest.shape))
    sizes, turn = np.linalg.eigh(gram)
    held = sizes > INDEPENDENT * sizes[-1]
    root = np.sqrt(sizes[held])
    more, C_rest, _ = principal_fields(np.tensordot(root[:, None] * turn[:, held].T, nu, axes=1), body.K_ff, KEPT, largest)
    psi = np.concatenate([affine, rest @ (turn[:, held] / root @ more)], axis=2)
    _, _, _, S_bar, xS, SS = shape_integrals(body.fe.m, body.x, np.concatenate([body.phi, psi], axis=2))
    return SecondOrderFields(np.concatenate([C, C_rest]), S_bar[:, nf:], xS[:, :, nf:], SS[:, :, :, nf:])


def _galerkin(cases: UnitLoads, K0: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Displacements (3N, h), orthonormal in energy, in mesh axes, and the coefficients (h, nf, nf) of γ in them."""
    E = cases.displacements.T @ cases.loads
    size = np.sqrt(np.maximum(np.diag(E), 0.0))
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
    values, vectors = np.linalg.eigh(0.5 * scale[:, None] * (E + E.T) * scale)
    held = values > INDEPENDENT * values[-1]
    W = scale[:, None] * vectors[:, held] / np.sqrt(values[held])
    return cases.displacements @ W, -np.tensordot(W.T, K0, axes=1)

"""Second-order displacements of a flexible body in a few fields.

A bent beam becomes shorter. To second order a point of the body is at

    u = x + φ q + Σ_r ψ_r z_r,   z_r = ½ qᵀ C_r q.

By virtual work the geometric stiffness of inertia loads gives the moments ∫γ dm and ∫x_a γ dm of
the second-order displacement ½ γ(q, q). Of all fields with these moments, the one of least kinetic
energy is affine,

    γ_b = Σ_α w_α ν_αb,   ν = G⁻¹ ∫w γ dm,   G = ∫w wᵀ dm,   w = (1, x, y, z),

and its shape integrals are those of the body itself. With it, the terms of second order in q
between a mode and a rigid-body motion are exact; those between modes, ∫φ·γ dm, are exact if φ or γ
is affine. In bars and frames they hardly matter; in curved sheets they do (docs/theory.md, section
9). Terms of higher order would also need the displacements of third order, which a reduced body
does not contain; a finer γ changes them by less than these missing terms (`reports/manifold`).
"""

from typing import NamedTuple

import numpy as np

from flexmbs.flexible_body.components import FloatArray, GeometricStiffness
from flexmbs.flexible_body.record import FlexibleBodyData

# of the largest second-order displacement, at modal amplitudes of one strain energy
NEGLIGIBLE = 1e-6
FLAT = 1e-10  # of the largest second moment: the body has no extent in this direction


class SecondOrderFields(NamedTuple):
    """Mass-orthonormal fields ψ (r), and their amplitudes z_r = ½ qᵀ C_r q by nf modes φ.

    C (r, nf, nf); S_bar ∫ψ dm (3, r); xS[a,b,r] = ∫x_a ψ_br dm (3, 3, r); SS[a,b,k,r] = ∫w_ak ψ_br
    dm of w = (φ, ψ), (3, 3, nf + r, r).
    """

    C: FloatArray
    S_bar: FloatArray
    xS: FloatArray
    SS: FloatArray

    def coordinates(
        self, q: FloatArray, qd: FloatArray, qdd: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """η = (q, z), η̇ and η̈ (nf + r,).

        z = ½ qᵀ C q, ż = qᵀ C q̇, z̈ = qᵀ C q̈ + q̇ᵀ C q̇.
        """
        Z = self.C @ q
        return (
            np.append(q, 0.5 * Z @ q),
            np.append(qd, Z @ qd),
            np.append(qdd, Z @ qdd + (self.C @ qd) @ qd),
        )

    def with_modes(self, data: FlexibleBodyData) -> tuple[FloatArray, FloatArray, FloatArray]:
        """S_bar (3, n), xS (3, 3, n) and SS (3, 3, n, n) of the n = nf + r fields [φ ψ]."""
        nf, n = data.nf, self.SS.shape[2]
        SS = np.zeros((3, 3, n, n))
        SS[:, :, :nf, :nf] = data.SS
        SS[:, :, :, nf:] = self.SS
        SS[:, :, nf:, :nf] = self.SS[:, :, :nf].transpose(1, 0, 3, 2)
        return (
            np.concatenate([data.S_bar, self.S_bar], axis=1),
            np.concatenate([data.xS, self.xS], axis=2),
            SS,
        )

    @property
    def mixed(self) -> FloatArray:
        """m_rk = ∫ψ_r·φ_k dm (r, nf)"""
        return np.asarray(np.einsum("aakr->rk", self.SS[:, :, : self.C.shape[1]]))

    def beside_modes(self, data: FlexibleBodyData) -> tuple[FloatArray, FloatArray, FloatArray]:
        """S_bar, xS and SS as of `with_modes`, for the fields [φ − ψ m, ψ].

        The part of the modes in the fields is removed.
        """
        nf, n = data.nf, self.SS.shape[2]
        B = np.eye(n)
        B[nf:, :nf] = -self.mixed
        S_bar, xS, SS = self.with_modes(data)
        return S_bar @ B, xS @ B, np.asarray(B.T @ SS @ B)


def second_order_fields(data: FlexibleBodyData) -> SecondOrderFields:
    """The fields of a body; none without geometric stiffness."""
    if data.geometric is None or data.nf == 0:
        return SecondOrderFields(
            np.zeros((0, data.nf, data.nf)),
            np.zeros((3, 0)),
            np.zeros((3, 3, 0)),
            np.zeros((3, 3, data.nf, 0)),
        )
    return _affine(data, data.geometric)


def _affine(data: FlexibleBodyData, geometric: GeometricStiffness) -> SecondOrderFields:
    """Coefficients of affine fields with given moments ∫γ dm and ∫x_a γ dm.

    The geometric stiffness determines the moments.
    """
    G = np.block(
        [
            [np.array([[data.mass]]), data.first_moment[None]],
            [data.first_moment[:, None], data.second_moment],
        ]
    )
    W = _orthonormal(G)
    # ∫w_a γ_b dm, (4, 3, nf, nf)
    moments = np.concatenate([geometric.acceleration[None], geometric.second_moments])
    nu = np.einsum("ah,abkl->hbkl", W, moments)
    mixing, C = _principal(nu.reshape(-1, data.nf, data.nf), data.K_ff)
    A = np.einsum("ah,hbr->abr", W, mixing.reshape(W.shape[1], 3, -1))  # ψ_b = Σ_a w_a A_abr
    moments = np.einsum("ac,cbr->abr", G, A)
    modes = np.einsum("cak,cbr->abkr", np.concatenate([data.S_bar[None], data.xS]), A)
    own = np.einsum("car,cbs->abrs", A, moments)
    return SecondOrderFields(C, moments[0], moments[1:], np.concatenate([modes, own], axis=2))


def _orthonormal(G: FloatArray) -> FloatArray:
    """W (4, h) with Wᵀ G W = 1 of G (4, 4).

    A flat body has fewer than four columns.
    """
    size = np.sqrt(np.maximum(np.diag(G), FLAT * max(np.diag(G)[1:].max(), np.finfo(float).tiny)))
    values, vectors = np.linalg.eigh(G / np.outer(size, size))
    held = values > FLAT
    return np.asarray(vectors[:, held] / np.sqrt(values[held]) / size[:, None])


def _principal(nu: FloatArray, K_ff: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Principal second-order fields: mixing (N, r) and coefficients C (r, nf, nf).

    ν (N, nf, nf). The combinations of the N orthonormal fields are the singular vectors of the
    coefficients, at modal amplitudes of equal strain energy.
    """
    omega2, modes = np.linalg.eigh(0.5 * (K_ff + K_ff.T))
    scaled = modes / np.sqrt(np.maximum(omega2, FLAT * omega2[-1] if omega2[-1] > 0.0 else 1.0))
    alike = np.einsum("ki,nkl,lj->nij", scaled, nu, scaled, optimize=True)
    u, sizes, _ = np.linalg.svd(alike.reshape(len(nu), -1), full_matrices=False)
    mixing = u[:, sizes > max(NEGLIGIBLE * sizes[0], np.finfo(float).tiny)]
    return mixing, np.tensordot(mixing.T, nu, axes=1)

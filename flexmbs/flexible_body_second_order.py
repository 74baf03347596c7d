"""Second-order displacements of a flexible body: a few fields whose amounts are quadratic in the elastic coordinates.

A bent beam is shorter. To second order a point of the body is at

    u = x + φ q + Σ_r ψ_r z_r,   z_r = ½ qᵀ C_r q

and every inertia term is that of a linear body with the modes [φ ψ]. From a finite-element model the fields are displacements under
unit loads (`preprocess.second_order`). Where only the geometric stiffness is known, that gives by virtual work the moments ∫γ dm and
∫x_a γ dm of the second-order displacement ½ γ(q, q); of all fields with these moments that of the least mass norm is affine,

    γ_b = Σ_α w_α ν_αb,   ν = G⁻¹ ∫w γ dm,   G = ∫w wᵀ dm,   w = (1, x, y, z).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError

if TYPE_CHECKING:
    from flexmbs.flexible_body import FlexibleBodyData, GeometricStiffness

FloatArray = NDArray[np.float64]

NEGLIGIBLE = 1e-6  # of the largest second-order displacement, at modal amplitudes of one strain energy
FLAT = 1e-10  # of the largest second moment: a body without extent that way


@dataclass(frozen=True, eq=False)
class SecondOrderFields:
    """Fields ψ (r) of second-order displacements and their amounts z_r = ½ qᵀ C_r q of nf modes φ.

    C (r, nf, nf), symmetric; S_bar ∫ψ dm (3, r); xS[a,b,r] = ∫x_a ψ_br dm (3, 3, r); SS[a,b,k,r] = ∫w_ak ψ_br dm of w = (φ, ψ),
    (3, 3, nf + r, r). Raises InputError for wrong shapes and values that are not finite.
    """

    C: FloatArray
    S_bar: FloatArray
    xS: FloatArray
    SS: FloatArray

    def __post_init__(self) -> None:
        r, nf = np.shape(self.C)[:2] if np.ndim(self.C) == 3 else (0, 0)
        shapes = {"C": (r, nf, nf), "S_bar": (3, r), "xS": (3, 3, r), "SS": (3, 3, nf + r, r)}
        for name, shape in shapes.items():
            array = np.ascontiguousarray(getattr(self, name), dtype=float)
            if array.shape != shape:
                raise InputError(f"geometric.fields.{name}: has shape {array.shape}; it must be {shape}")
            if not np.isfinite(array).all():
                raise InputError(f"geometric.fields.{name}: has {int(np.sum(~np.isfinite(array)))} values that are not finite")
            object.__setattr__(self, name, array)

    @property
    def count(self) -> int:
        """Number r of fields."""
        return int(self.C.shape[0])

    @property
    def nf(self) -> int:
        """Number of elastic coordinates."""
        return int(self.C.shape[1])

    def with_modes(self, data: FlexibleBodyData) -> tuple[FloatArray, FloatArray, FloatArray]:
        """S_bar (3, n), xS (3, 3, n), SS (3, 3, n, n) of the n = nf + r fields [φ ψ]."""
        n, nf = self.nf + self.count, self.nf
        SS = np.zeros((3, 3, n, n))
        SS[:, :, :nf, :nf] = data.SS
        SS[:, :, :, nf:] = self.SS
        SS[:, :, nf:, :nf] = self.SS[:, :, :nf].transpose(1, 0, 3, 2)
        return np.concatenate([data.S_bar, self.S_bar], axis=1), np.concatenate([data.xS, self.xS], axis=2), SS


def second_order_fields(data: FlexibleBodyData) -> SecondOrderFields | None:
    """The fields of a body with geometric stiffness, affine ones where its data have none; None without geometric stiffness."""
    if data.geometric is None or data.nf == 0:
        return None
    return data.geometric.fields or affine_fields(data, data.geometric)


def affine_fields(data: FlexibleBodyData, geometric: GeometricStiffness) -> SecondOrderFields:
    """Affine fields with the moments ∫γ dm and ∫x_a γ dm of the geometric stiffness of inertia loads."""
    G = np.block([[np.array([[data.mass]]), data.first_moment[None]], [data.first_moment[:, None], data.second_moment]])
    size = np.sqrt(np.maximum(np.diag(G), FLAT * max(np.diag(G)[1:].max(), np.finfo(float).tiny)))
    values, vectors = np.linalg.eigh(G / np.outer(size, size))
    held = values > FLAT
    W = vectors[:, held] / np.sqrt(values[held]) / size[:, None]  # (4, h), w W orthonormal over the mass
    moments = np.concatenate([geometric.acceleration[None], geometric.second_moments])  # (4, 3, nf, nf)
    nu = np.einsum("ah,abkl->hbkl", W, moments)
    mixing, C = principal_fields(nu.reshape(-1, data.nf, data.nf), data.K_ff)
    A = np.einsum("ah,hbr->abr", W, mixing.reshape(W.shape[1], 3, -1))  # ψ_b = Σ_a w_a A_abr
    with_w = np.einsum("ac,cbr->abr", G, A)  # ∫w_a ψ_b dm
    phi_w = np.concatenate([data.S_bar[None], data.xS])  # ∫w_c φ_ak dm
    modes = np.einsum("cak,cbr->abkr", phi_w, A)
    own = np.einsum("car,cbs->abrs", A, with_w)
    return SecondOrderFields(C, with_w[0], with_w[1:], np.concatenate([modes, own], axis=2))


def principal_fields(nu: FloatArray, K_ff: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mixing (N, r) and C (r, nf, nf) of the few orthonormal combinations that hold ν (N, nf, nf), coefficients of N orthonormal
    fields: its singular vectors, with modal amplitudes of one strain energy."""
    omega2, modes = np.linalg.eigh(0.5 * (K_ff + K_ff.T))
    scaled = modes / np.sqrt(np.maximum(omega2, FLAT * omega2[-1]))
    alike = np.einsum("ki,nkl,lj->nij", scaled, nu, scaled)
    u, sizes, _ = np.linalg.svd(alike.reshape(len(nu), -1), full_matrices=False)
    mixing = u[:, sizes > NEGLIGIBLE * max(sizes[0], np.finfo(float).tiny)]
    return mixing, np.einsum("nr,nkl->rkl", mixing, nu)

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
ORTHONORMAL = 1e-8
FLAT = 1e-10  # of the largest second moment: a body without extent that way


@dataclass(frozen=True, eq=False)
class SecondOrderFields:
    """Fields ψ (r) of second-order displacements, orthonormal over the mass, and their amounts z_r = ½ qᵀ C_r q of nf modes φ.

    C (r, nf, nf), symmetric; S_bar ∫ψ dm (3, r); xS[a,b,r] = ∫x_a ψ_br dm (3, 3, r); SS[a,b,k,r] = ∫w_ak ψ_br dm of w = (φ, ψ),
    (3, 3, nf + r, r). Raises InputError for wrong shapes, values that are not finite and fields that are not orthonormal.
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
        error = np.abs(np.einsum("aars->rs", self.SS[:, :, nf:]) - np.eye(r)).max(initial=0.0)
        if error > ORTHONORMAL:
            raise InputError(f"geometric.fields.SS: ∫ψ·ψ dm differs by {error:.2g} from the unit matrix")

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
    W = affine_basis(G)
    moments = np.concatenate([geometric.acceleration[None], geometric.second_moments])  # ∫w_a γ_b dm, (4, 3, nf, nf)
    nu = np.einsum("ah,abkl->hbkl", W, moments)
    mixing, C, _ = principal_fields(nu.reshape(-1, data.nf, data.nf), data.K_ff, NEGLIGIBLE)
    A = np.einsum("ah,hbr->abr", W, mixing.reshape(W.shape[1], 3, -1))  # ψ_b = Σ_a w_a A_abr
    moments = np.einsum("ac,cbr->abr", G, A)
    modes = np.einsum("cak,cbr->abkr", np.concatenate([data.S_bar[None], data.xS]), A)
    own = np.einsum("car,cbs->abrs", A, moments)
    return SecondOrderFields(C, moments[0], moments[1:], np.concatenate([modes, own], axis=2))


def affine_basis(G: FloatArray) -> FloatArray:
    """W (4, h) with Wᵀ G W = 1 of G = ∫w wᵀ dm (4, 4), w = (1, x, y, z); fewer than four for a flat body."""
    size = np.sqrt(np.maximum(np.diag(G), FLAT * max(np.diag(G)[1:].max(), np.finfo(float).tiny)))
    values, vectors = np.linalg.eigh(G / np.outer(size, size))
    held = values > FLAT
    return np.asarray(vectors[:, held] / np.sqrt(values[held]) / size[:, None])


def principal_fields(
    nu: FloatArray, K_ff: FloatArray, share: float, largest: float = 0.0
) -> tuple[FloatArray, FloatArray, float]:  # fmt: skip
    """Mixing (N, r), C (r, nf, nf) and the largest size of the combinations that hold all but a ``share`` of the coefficients ν
    (N, nf, nf) of N orthonormal fields: singular vectors at modal amplitudes of one strain energy."""
    omega2, modes = np.linalg.eigh(0.5 * (K_ff + K_ff.T))
    scaled = modes / np.sqrt(np.maximum(omega2, FLAT * omega2[-1]))
    alike = np.einsum("ki,nkl,lj->nij", scaled, nu, scaled, optimize=True)
    u, sizes, _ = np.linalg.svd(alike.reshape(len(nu), -1), full_matrices=False)
    largest = max(largest, float(sizes.max(initial=0.0)))
    mixing = u[:, sizes > share * max(largest, np.finfo(float).tiny)]
    return mixing, np.tensordot(mixing.T, nu, axes=1), largest

"""Moment matching: a basis that reproduces the transfer functions of the interfaces about given frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from flexmbs.errors import InputError, SolverError
from flexmbs.flexible_body import FloatArray
from preprocess.reduction.base import Basis, Progress, Reduction
from preprocess.reduction.eigen import Modes, modes_of
from preprocess.reduction.independent import orthonormal
from preprocess.reduction.statics import InterfaceStatics

_DEFLATED = 2.0  # modes below this multiple of the highest ω² are dealt with exactly
_TOLERANCE = 1e-12
_MAX_STEPS = 100


@dataclass(frozen=True)
class Krylov(Reduction):
    """Basis ``[X_1, X_2, …]`` about each frequency, ``X_1 = (K − σM)⁻¹ L, X_j = (K − σM)⁻¹ M X_{j−1}``, σ = (2πf)², for the unit
    loads L at the interfaces: the first 2·moments derivatives in ω² of the transfer function Lᵀ (K − ω²M)⁻¹ L are matched there.

    Shapes are elastic, the rigid-body part being exact in any basis. About f = 0 this is the Lanczos sequence of the
    inertia-relief responses. Raises SolverError where the shifted equations do not converge.
    Source: Su and Craig, J. Guidance 14 (1991) 260; Lehner and Eberhard, Multibody System Dynamics 16 (2006) 191.
    """

    _: KW_ONLY
    frequencies: Sequence[float] = (0.0,)
    moments: int = 2

    kind = "krylov"

    def __post_init__(self) -> None:
        try:
            points = tuple(float(f) for f in self.frequencies)
        except (TypeError, ValueError):
            raise InputError(f"method.frequencies: {self.frequencies!r:.60} is no list of frequencies in Hz") from None
        if not points or not all(np.isfinite(f) and f >= 0 for f in points):
            raise InputError(f"method.frequencies: {points}; give one or more frequencies in Hz, none negative")
        if isinstance(self.moments, bool) or self.moments != int(self.moments) or not 1 <= self.moments <= 100:
            raise InputError(f"method.moments: is {self.moments}; give a whole number from 1 to 100")
        object.__setattr__(self, "frequencies", points)

    def basis(self, statics: InterfaceStatics, progress: Progress) -> Basis:
        highest = (2 * np.pi * max(self.frequencies)) ** 2
        low = _low_modes(statics, highest)
        blocks: dict[str, FloatArray] = {}
        for number, f in enumerate(self.frequencies):
            progress(f"moments about {f:g} Hz", 0.0)
            found = self._sequence(statics, low, (2 * np.pi * f) ** 2)
            blocks[f"shapes about {f:g} Hz ({number + 1})"] = found
        return Basis(blocks, band=max(self.frequencies))

    def _sequence(self, statics: InterfaceStatics, low: Modes, shift: float) -> FloatArray:
        """Blocks X_1 … X_moments, each M-orthonormal to those before."""
        mass, loads = statics.fe.mass_product, statics.interface_loads
        found = np.zeros((statics.size, 0))
        for _ in range(self.moments):
            X = _shifted_response(statics, loads, low, shift)
            for _again in range(2):
                X = X - found @ (found.T @ mass(X))
            X = orthonormal(X, mass, np.sqrt(np.einsum("ik,ik->k", X, mass(X))))[1]
            if not X.shape[1]:
                break
            found, loads = np.hstack([found, X]), mass(X)
        return found


def _low_modes(statics: InterfaceStatics, highest: float) -> Modes:
    if not highest:
        return Modes(np.zeros(0), np.zeros((statics.size, 0)))
    limit = float(np.sqrt(_DEFLATED * highest))
    return modes_of(statics.free_response, statics.fe.mass_product, statics.size, omega_max=limit)


def _shifted_response(statics: InterfaceStatics, loads: FloatArray, low: Modes, shift: float) -> FloatArray:
    """Elastic part of (K − σM)⁻¹ f for loads (3N, k), by the factorization of K alone.

    The modes below 2σ are summed; among the others K − σM is positive definite, with a condition number of 2 once preconditioned
    by K⁻¹, and conjugate gradients converge in some twenty steps.
    """
    mass, modes = statics.fe.mass_product, low.shapes
    gap = low.omega**2 - shift
    gap = np.where(np.abs(gap) > 1e-9 * shift, gap, 1e-9 * max(shift, 1.0))
    amplitude = (modes.T @ loads) / gap[:, None] if low.omega.size else np.zeros((0, loads.shape[1]))

    def respond(f: FloatArray) -> FloatArray:
        return statics.free_response(f - mass(modes) @ (modes.T @ f))

    b = respond(loads)
    if not shift:
        return b
    # (1 − σ K⁺M) x = K⁺ f, self-adjoint in the K inner product
    x, r = b.copy(), shift * respond(mass(b))
    size = np.linalg.norm(b, axis=0)
    p, stiff = r.copy(), statics.fe.K @ r
    rho = np.einsum("ik,ik->k", r, stiff)
    for _ in range(_MAX_STEPS):
        if np.all(np.linalg.norm(r, axis=0) <= _TOLERANCE * size):
            return np.asarray(x + modes @ amplitude)
        q = p - shift * respond(mass(p))
        energy = np.einsum("ik,ik->k", q, statics.fe.K @ p)
        alpha = np.divide(rho, energy, out=np.zeros_like(rho), where=energy > 0)
        x, r = x + alpha * p, r - alpha * q
        new = np.einsum("ik,ik->k", r, statics.fe.K @ r)
        p, rho = r + np.divide(new, rho, out=np.zeros_like(rho), where=rho > 0) * p, new
    raise SolverError(
        f"moments about {np.sqrt(shift) / (2 * np.pi):g} Hz: not converged after {_MAX_STEPS} steps; move the frequency"
    )

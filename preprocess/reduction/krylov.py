"""Moment matching: Krylov bases for the interface transfer functions about given frequencies."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from flexmbs.errors import InputError, SolverError
from flexmbs.flexible_body.components import FloatArray
from preprocess.inputs.argument_checks import checked_arguments, integer
from preprocess.reduction.base import Basis, Progress, Reduction
from preprocess.reduction.independent_shapes import orthonormal
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.reduction.sturm_check import modes_below
from preprocess.solve.lanczos import Modes, Operator

HIGHEST = 1e9  # Hz, beyond the frequencies of any structure
MOST_BELOW = 500  # number of modes about and below a frequency; they are summed explicitly
# multiple of the highest ω² below which modes are summed explicitly: the condition number of the
# rest is then 2
_DEFLATED = 2.0
# relative distance of ω² from σ below which a mode counts as excited at resonance: the response
# would have no digits
_RESONANCE = 1e-9
# residual relative to the load, close to round-off; later blocks of the sequence amplify errors
_TOLERANCE = 1e-12
_MAX_STEPS = 100  # five times the twenty steps that the condition number 2 needs


@checked_arguments
@dataclass(frozen=True)
class Krylov(Reduction):
    """Krylov basis ``[X_1, X_2, …]`` that matches moments of the interface transfer function.

    ``X_1 = (K − σM)⁻¹ L, X_j = (K − σM)⁻¹ M X_{j−1}``, σ = (2πf)², about each frequency f, for the
    unit loads L at the interfaces: the first 2·moments derivatives in ω² of the transfer function
    Lᵀ (K − ω²M)⁻¹ L are matched there. frequencies: expansion points [Hz]. moments: number of
    blocks for each. The shapes are elastic, the rigid-body part being exact in any basis. About f =
    0 this is the Lanczos sequence of the inertia-relief responses. Raises SolverError if the
    shifted equations do not converge. Source: Su and Craig, J. Guidance 14 (1991) 260; Lehner and
    Eberhard, Multibody System Dynamics 16 (2006) 191.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> bar = pp.reduce(
    ...     mesh,
    ...     steel,
    ...     interfaces={"root": pp.Rigid("x0")},
    ...     method=pp.Krylov(moments=2),
    ...     reference="root",
    ... )
    >>> bar.nf  # two blocks of responses to six unit loads
    12
    """

    _: KW_ONLY
    frequencies: tuple[float, ...] = (0.0,)
    moments: int = 2

    kind = "krylov"
    exact_statics = True

    def __post_init__(self) -> None:
        try:
            points = tuple(float(f) for f in self.frequencies)
        except (TypeError, ValueError):
            raise InputError(
                f"method.frequencies: {self.frequencies!r:.60} is not a list of frequencies in Hz"
            ) from None
        if not points or not all(0 <= f <= HIGHEST for f in points):
            raise InputError(
                f"method.frequencies: {points}; give one or more frequencies in Hz, from "
                f"0 to {HIGHEST:g}"
            )
        if not 1 <= integer(self.moments, "method.moments") <= 100:
            raise InputError(f"method.moments: is {self.moments}; give an integer from 1 to 100")
        object.__setattr__(self, "frequencies", points)

    def basis(self, statics: InterfaceStatics, progress: Progress) -> Basis:
        """Krylov shapes about each frequency, beside the low modes."""
        highest = (2 * np.pi * max(self.frequencies)) ** 2
        low = _low_modes(statics, highest)
        blocks: dict[str, FloatArray] = {}
        for number, f in enumerate(self.frequencies):
            progress(f"moments about {f:g} Hz", 0.0)
            found = self._sequence(statics, low, (2 * np.pi * f) ** 2)
            blocks[f"shapes about {f:g} Hz ({number + 1})"] = found
        return Basis(blocks, band=max(self.frequencies))

    def _sequence(self, statics: InterfaceStatics, low: Modes, shift: float) -> FloatArray:
        """Blocks X_1 … X_moments, each M-orthonormal to the previous ones."""
        mass, loads = statics.fe.mass_product, statics.interface_loads
        found = np.zeros((statics.size, 0))
        for _ in range(self.moments):
            X = _shifted_response(statics, loads, low, shift)
            norms = np.sqrt(_products(X, mass(X)))
            for _again in range(2):
                X = X - found @ (found.T @ mass(X))
            X = orthonormal(X, statics.fe, norms)[1]
            if not X.shape[1]:
                break
            found, loads = np.hstack([found, X]), mass(X)
        return found


def _low_modes(statics: InterfaceStatics, highest: float) -> Modes:
    """Modes near and below the highest frequency. Raises `InputError` for too many."""
    if not highest:
        return Modes(np.zeros(0), np.zeros((statics.size, 0)))
    limit = float(np.sqrt(_DEFLATED * highest))
    count, frequency = modes_below(statics, limit**2, ()), np.sqrt(highest) / (2 * np.pi)
    if count > MOST_BELOW:
        raise InputError(
            f"method.frequencies: {count} modes are near and below {frequency:g} Hz; "
            f"lower it to fewer than {MOST_BELOW} modes"
        )
    return statics.modes((), omega_max=limit)


def _shifted_response(
    statics: InterfaceStatics, loads: FloatArray, low: Modes, shift: float
) -> FloatArray:
    """Elastic part of (K − σM)⁻¹ f for loads (3N, k), by the factorization of K only.

    The modes below 2σ are summed; on their complement K − σM is positive definite, with condition
    number 2 when preconditioned by K⁻¹, and conjugate gradients converge in about twenty steps.
    """
    mass, modes = statics.fe.mass_product, low.shapes
    if not shift:
        return statics.free_response(loads)
    gap = low.omega**2 - shift
    gap = np.where(np.abs(gap) > _RESONANCE * shift, gap, _RESONANCE * shift)

    def respond(f: FloatArray) -> FloatArray:
        """Static response to loads f without their part on the modes."""
        return statics.free_response(f - mass(modes) @ (modes.T @ f))

    return np.asarray(
        _iterated_remainder(statics, respond, respond(loads), shift)
        + modes @ ((modes.T @ loads) / gap[:, None])
    )


def _iterated_remainder(
    statics: InterfaceStatics, respond: Operator, b: FloatArray, shift: float
) -> FloatArray:
    """Solution x (3N, k) of ``(1 − σ K⁻¹ M) x = b`` by conjugate gradients.

    They use the inner product of K, in which the operator is symmetric.
    """
    mass, K = statics.fe.mass_product, statics.fe.K
    size = np.linalg.norm(b, axis=0)
    x, r = b.copy(), shift * respond(mass(b))
    p, rho = r.copy(), _products(r, K @ r)
    for _ in range(_MAX_STEPS):
        if np.all(np.linalg.norm(r, axis=0) <= _TOLERANCE * size):
            return x
        q = p - shift * respond(mass(p))
        step = _quotient(rho, _products(q, K @ p))
        x, r = x + step * p, r - step * q
        new = _products(r, K @ r)
        p, rho = r + _quotient(new, rho) * p, new
    at = np.sqrt(shift) / (2 * np.pi)
    raise SolverError(
        f"moments about {at:g} Hz: not converged after {_MAX_STEPS} steps; change the frequency"
    )


def _products(a: FloatArray, b: FloatArray) -> FloatArray:
    """Column-wise inner products."""
    return np.asarray(np.einsum("ik,ik->k", a, b))


def _quotient(a: FloatArray, b: FloatArray) -> FloatArray:
    """Quotient a / b by column, zero for converged columns."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)

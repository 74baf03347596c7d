"""Error estimates of a reduced body without another factorization.

The reference is its finite-element model.

Frequencies of the free body and with one interface held: the Ritz vectors w of the basis, ``K w = λ
M w`` in its span, are improved by one step of inverse iteration, and the corrections ``d = λ A M w
− w``, A the static response, extend the basis. The lowest eigenvalues λ̃ of the extended basis lie
between those of the full model and λ, much closer to the former, since a step of inverse iteration
reduces the component of a higher mode ω_j in w by λ/ω_j²: ``λ/λ̃`` estimates the error of λ, from
below. The corrections are the residuals ``K w − λ M w`` in the metric K⁻¹. Ritz vectors somewhat
above the band are improved as well, and static responses to interface and inertia loads are added,
for modes that are inaccurate or missing in the basis.

Compliance: the displacement of an interface under unit force or moment, another interface held,
which the interface stiffness S = ΨᵀKΨ gives exactly.

Source: Parlett, The Symmetric Eigenvalue Problem (1998), chapters 11 and 14; Kim, Boo and Lee,
Computers & Structures 139 (2014) 53 (estimate of a reduction's errors by residual flexibility).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from flexmbs.flexible_body.components import FloatArray
from preprocess.reduction.free_reduction import supported_pairs
from preprocess.reduction.independent_shapes import DEPENDENT, orthonormal
from preprocess.reduction.interface_statics import InterfaceStatics

FREE = "free"
LOADS = ("force x", "force y", "force z", "moment x", "moment y", "moment z")
# Ritz vectors that are improved: up to a multiple of the band, and this many more, since modes
# above the band decide about the highest in it
_BEYOND, _MORE = 1.5, 4


class FrequencyErrors(NamedTuple):
    """Frequencies (m,) [Hz] of the reduced body under a support and estimated relative errors.

    The support is "free" or "held at …".
    """

    support: str
    frequency: FloatArray
    error: FloatArray


class Accuracy(NamedTuple):
    """Accuracy of a reduced body.

    Estimated errors of the frequencies up to ``band`` [Hz] for each support, and relative errors of
    the compliance for each interface load, ``"tip force x"``, another interface held.
    """

    band: float
    frequencies: tuple[FrequencyErrors, ...]
    compliance: Mapping[str, float]

    @property
    def worst_frequency(self) -> float:
        """Largest relative error of a frequency."""
        return max((float(found.error.max(initial=0.0)) for found in self.frequencies), default=0.0)

    def facts(self) -> dict[str, str | float]:
        """Errors by name, for the provenance of a body."""
        found: dict[str, str | float] = {
            "accuracy: band [Hz]": self.band,
            "accuracy: frequencies": self.worst_frequency,
        }
        for errors in self.frequencies:
            pairs = [f"{f:.6g} Hz {error:.2g}" for f, error in zip(errors.frequency, errors.error)]
            found[f"accuracy: {errors.support}"] = ", ".join(pairs)
        if self.compliance:
            found["accuracy: compliance"] = max(self.compliance.values())
            found["accuracy: compliance by load"] = ", ".join(
                f"{load} {error:.2g}" for load, error in self.compliance.items()
            )
        return found

    def __str__(self) -> str:
        lines = [f"estimated errors against the finite-element model up to {self.band:.6g} Hz:"]
        for found in self.frequencies:
            worst = int(np.argmax(found.error))
            lines.append(
                f"  {found.support:<20} {len(found.error)} frequencies, largest error "
                f"{found.error[worst]:.2g} at "
                f"{found.frequency[worst]:.6g} Hz"
            )
        if self.compliance:
            load, error = max(self.compliance.items(), key=lambda item: item[1])
            lines.append(
                f"  {'static compliance':<20} {len(self.compliance)} loads, largest error "
                f"{error:.2g} ({load})"
            )
        return "\n".join(lines)


class ReducedModel(NamedTuple):
    """Finite-element model in the span of rigid-body motions and of elastic shapes.

    The shapes (3N, n) are M-orthonormal, with stiffness K.
    """

    statics: InterfaceStatics
    shapes: FloatArray
    K: FloatArray

    @classmethod
    def of(cls, statics: InterfaceStatics, shapes: FloatArray) -> ReducedModel:
        """Reduced model with given shapes."""
        K = statics.fe.engine.inner(shapes, statics.fe.stiffness_product(shapes))
        return cls(statics, shapes, 0.5 * (K + K.T))


def accuracy(statics: InterfaceStatics, shapes: FloatArray, band: float) -> Accuracy:
    """Estimated errors of a reduction (frequencies, compliances) up to ``band`` [Hz].

    At least three frequencies are included.
    """
    reduced, omega_max = ReducedModel.of(statics, shapes), 2 * np.pi * band
    held = range(len(statics.interfaces))
    found = tuple(frequency_errors(reduced, k, omega_max) for k in (None, *held))
    return Accuracy(band, found, compliance_errors(reduced))


def frequency_errors(
    reduced: ReducedModel, held: int | None, omega_max: float, at_least: int = 3
) -> FrequencyErrors:
    """Estimated relative errors of the frequencies up to ``omega_max`` [rad/s].

    And of the ``at_least`` lowest, of the body free or with interface ``held`` held.
    """
    moved, lam, V = ritz(reduced, held)
    m = max(int(np.sum(lam <= omega_max**2)), min(at_least, len(lam)))
    tried = min(max(int(np.sum(lam <= (_BEYOND * omega_max) ** 2)), m + _MORE), len(lam))
    support = FREE if held is None else f"held at {reduced.statics.interfaces[held].name}"
    improved = _improved(reduced.statics, moved @ V, lam, tried, held)[:m]
    error = np.sqrt(np.maximum(lam[:m] / improved, 1.0)) - 1.0
    return FrequencyErrors(support, np.sqrt(lam[:m]) / (2 * np.pi), error)


def ritz(reduced: ReducedModel, held: int | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shapes (3N, n) that satisfy the support, and the eigenpairs of (K, M) in their span.

    Eigenvalues (n,), ascending, and vectors (n, n).
    """
    statics, shapes = reduced.statics, reduced.shapes
    inner = statics.fe.engine.inner
    follow: FloatArray = np.zeros((6, len(reduced.K)))
    if held is not None:
        rows = slice(6 * held, 6 * held + 6)
        L, R = statics.interface_loads[:, rows], statics.rigid_modes
        follow = np.asarray(np.linalg.solve(inner(L, R), inner(L, shapes)), dtype=float)
        shapes = shapes - R @ follow
    lam, V = supported_pairs(reduced.K, follow)
    return shapes, np.maximum(lam, np.finfo(float).tiny), V


def _improved(
    statics: InterfaceStatics, W: FloatArray, lam: FloatArray, m: int, held: int | None
) -> FloatArray:
    """Lowest m eigenvalues in the span of Ritz vectors, m corrections and static responses.

    W (3N, n): the Ritz vectors.
    """
    mass, MW, engine = statics.fe.mass_product, statics.fe.mass_product(W), statics.fe.engine
    response = (
        statics.free_response(MW[:, :m]) if held is None else statics.held_response(MW[:, :m], held)
    )
    D = np.hstack([response * lam[:m] - W[:, :m], _static_shapes(statics, held)])
    for _ in range(2):
        D = D - W @ engine.inner(MW, D)
    size = np.sqrt(np.maximum(engine.squares(D, mass(D)), 0.0))
    D = D[:, size > DEPENDENT]
    if not D.shape[1]:
        return lam[:m]
    D = orthonormal(D, statics.fe, size[size > DEPENDENT])[1]
    KD = statics.fe.stiffness_product(D)
    coupling = engine.inner(W, KD)
    K = np.block([[np.diag(lam), coupling], [coupling.T, engine.inner(D, KD)]])
    found = supported_pairs(0.5 * (K + K.T), np.zeros((6, len(K))))[0][:m]
    return np.maximum(found, np.finfo(float).eps * lam[:m])  # those that are round-off are reported


def _static_shapes(statics: InterfaceStatics, held: int | None) -> FloatArray:
    """Responses (3N, n) to loads at the interfaces and, if held, to the inertia of the body.

    They have unit M-norm.
    """
    R, mass, engine = statics.rigid_modes, statics.fe.mass_product, statics.fe.engine
    Psi = statics.constraint_modes()
    if held is None:
        shapes = Psi[:, 6:] - R @ engine.inner(R, mass(Psi[:, 6:]))
    else:
        shapes = np.hstack(
            [
                np.delete(Psi, np.s_[6 * held : 6 * held + 6], axis=1),
                statics.held_response(mass(R), held),
            ]
        )
    return np.asarray(shapes / np.sqrt(engine.squares(shapes, mass(shapes))))


def compliance_errors(reduced: ReducedModel) -> dict[str, float]:
    """Relative errors of the displacement at each interface under its own unit loads.

    The first other interface is held.
    """
    interfaces = reduced.statics.interfaces
    if len(interfaces) < 2:
        return {}
    errors: dict[str, float] = {}
    for k, interface in enumerate(interfaces):
        held = 1 if k == 0 else 0
        full = np.diag(reduced.statics.interface_compliance(held))[6 * k : 6 * k + 6]
        found = np.diag(reduced_compliance(reduced, held))[6 * k : 6 * k + 6]
        relative = np.abs(full - found) / full
        errors |= {f"{interface.name} {load}": float(error) for load, error in zip(LOADS, relative)}
    return errors


def reduced_compliance(reduced: ReducedModel, held: int) -> FloatArray:
    """Displacements of the interface coordinates under their unit loads, interface ``held`` held.

    (6 × interfaces, 6 × interfaces).
    """
    moved, lam, V = ritz(reduced, held)
    E = reduced.statics.interface_motion(moved) @ V
    E[6 * held : 6 * held + 6] = 0.0
    return np.asarray((E / lam) @ E.T)

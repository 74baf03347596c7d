"""Certified reductions: choice of the basis, its proved bounds, and its inertia coverage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from preprocess.body.unit_loads import inertial_loads, inertial_names
from preprocess.inputs.argument_checks import number
from preprocess.reduction import Basis, CraigBampton, Progress, Reduction
from preprocess.reduction.certificate import AccuracyRequest, CertifiedReference
from preprocess.reduction.free_reduction import FreeReduction
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.reduction.smallest_basis import basis_reference, smallest_basis

# default relative error of frequencies: 0.1 %, an order below what meshes and material data usually
# reach
TOLERANCE = 1e-3
# strain energy of an inertia load relative to the largest of its kind; a load below it has no
# energy but round-off (squares of 1e-10)
NO_ENERGY = 1e-20


class ChosenBasis(NamedTuple):
    """Method with its basis, and the reference that proves it if it is known already."""

    method: Reduction
    basis: Basis
    proof: CertifiedReference | None = None


def request_of(
    band: float | None, tolerance: float | None, *, prestressed: bool
) -> AccuracyRequest | None:
    """Requested accuracy, or None. Raises InputError."""
    if band is None:
        if tolerance is not None:
            raise InputError(
                f"tolerance: given as {tolerance!r:.40} without a band; add band=f_max [Hz]"
            )
        return None
    limit, error = (
        number(band, "band"),
        TOLERANCE if tolerance is None else number(tolerance, "tolerance"),
    )
    if not (np.isfinite(limit) and limit > 0):
        raise InputError(f"band: is {limit} Hz; give a positive frequency limit")
    if not 0 < error < 1:
        raise InputError(
            f"tolerance: is {error}; give a relative error between 0 and 1, such as 1e-3"
        )
    if prestressed:
        raise InputError(
            "band: errors of a body with prestress cannot be proved; omit band or prestress"
        )
    return AccuracyRequest(limit, error)


def chosen_basis(
    method: Reduction | None,
    request: AccuracyRequest | None,
    statics: InterfaceStatics,
    progress: Progress,
) -> ChosenBasis:
    """Basis of the given method, the smallest proved basis, or the default.

    Raises InputError, SolverError.
    """
    if method is None and request is not None:
        return ChosenBasis(*smallest_basis(statics, request, progress))
    chosen = method or CraigBampton(modes=12)
    return ChosenBasis(chosen, chosen.basis(statics, progress))


def certificate_facts(
    statics: InterfaceStatics,
    shapes: FloatArray,
    request: AccuracyRequest,
    proof: CertifiedReference | None,
) -> Mapping[str, str | float]:
    """Proved bounds of elastic, M-orthonormal shapes (3N, n), for the provenance.

    Raises InputError if they exceed the tolerance.
    """
    reduced = FreeReduction.of(statics, shapes)
    found = (proof or basis_reference(statics, shapes, request)).certificate(reduced)
    if not found.proved:
        raise InputError(found.refusal())
    return found.facts() | inertia_coverage(statics, shapes, reduced.K)


def inertia_coverage(
    statics: InterfaceStatics, shapes: FloatArray, K: FloatArray
) -> dict[str, str | float]:
    """Fraction of the strain energy under each inertia load that elastic shapes represent.

    For the twelve inertia loads f of a rigid motion about each interface, held there, and elastic
    shapes Φ (3N, n) with stiffness K (n, n) it is ``fᵀ Φ K⁻¹ Φᵀ f / fᵀ A f``, at most one; one for
    a load without energy. The difference from one is the relative error of the energy (Galerkin), A
    being the static response of the full model.
    """
    L, R, found = statics.interface_loads, statics.rigid_modes, dict[str, str | float]()
    for k, interface in enumerate(statics.interfaces):
        rows = slice(6 * k, 6 * k + 6)
        loads = inertial_loads(statics.fe, interface.position, np.eye(3))
        whole = np.einsum("ik,ik->k", loads, statics.held_response(loads, k))
        follow = np.linalg.solve(L[:, rows].T @ R, L[:, rows].T @ shapes)
        moved = shapes.T @ loads - follow.T @ (R.T @ loads)
        # of the largest of its kind
        some = whole > NO_ENERGY * np.repeat(np.maximum.reduceat(whole, (0, 3, 6)), (3, 3, 6))
        share = np.where(
            some, np.einsum("ik,ik->k", moved, np.linalg.solve(K, moved)), 1.0
        ) / np.where(some, whole, 1.0)
        parts = [
            f"{name} {100 * each:.4g} %"
            for name, each in zip(inertial_names(), np.minimum(share, 1.0))
        ]
        found[f"certificate: energy of inertia loads, held at {interface.name}"] = "; ".join(parts)
    return found

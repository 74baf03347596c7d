"""Reference conditions: how the body frame follows the deforming body, and the modes that are left once it does.

A basis holds the six rigid-body motions; the body frame's own motion takes their place, so six conditions ``C q = 0`` remove
them. The modes are the eigenvectors of (K, M) among the motions that obey the conditions:

    attached at an interface:    C = E_j              its frame stands still in the body frame       → clamped modes
    mean axes:                   C = Rᵀ M Φ           no linear and angular momentum in the body frame → free–free modes
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.errors import InputError
from flexmbs.flexible_body import FloatArray
from preprocess.interfaces import BoundInterface

MEAN_AXES = "mean axes"


class RigidBody(NamedTuple):
    """Rigid-body properties of the mesh in mesh axes: centre of mass (3,) and RᵀMΦ, the momenta of the basis (6, n)."""

    com: FloatArray
    momenta: FloatArray


class BodyModes(NamedTuple):
    """Modes under a reference condition: shapes ``Φ V`` by V (n, nf), omega (nf,) [rad/s], the body frame's origin (3,) and axes
    (3, 3) in mesh axes; ``kind``: what the modes are called."""

    V: FloatArray
    omega: FloatArray
    origin: FloatArray
    axes: FloatArray
    kind: str


def body_modes(
    reference: str, K: FloatArray, M: FloatArray, motion: FloatArray, interfaces: Sequence[BoundInterface], rigid: RigidBody
) -> BodyModes:
    """Modes of the reduced (K, M) (n, n) under the reference condition: an interface's name or "mean axes".

    motion: (interfaces, 6, n) of the basis.  Raises InputError for an unknown reference.
    Source: Agrawal and Shabana, Computers & Structures 21 (1985) 1303 (reference conditions);
    Canavin and Likins, J. Spacecraft 14 (1977) 724 (mean axes).
    """
    if reference == MEAN_AXES:
        V, omega = constrained_modes(K, M, rigid.momenta)
        return BodyModes(V, omega, rigid.com, np.eye(3), "free-free")
    index = reference_index(reference, interfaces)
    V, omega = constrained_modes(K, M, motion[index])
    return BodyModes(V, omega, interfaces[index].position, interfaces[index].axes, "clamped")


def reference_index(reference: str, interfaces: Sequence[BoundInterface]) -> int:
    """Place of the interface named ``reference``. Raises InputError with close names."""
    names = [interface.name for interface in interfaces]
    if reference not in names:
        near = difflib.get_close_matches(reference, [*names, MEAN_AXES], n=3) or [*names, MEAN_AXES]
        raise InputError(f"reference: no interface {reference!r}; choose one of: {', '.join(near)}")
    return names.index(reference)


def constrained_modes(K: FloatArray, M: FloatArray, C: FloatArray) -> tuple[FloatArray, FloatArray]:
    """M-orthonormal modes V (n, n−c) and ω (n−c,) of ``K v = ω² M v`` with ``C v = 0``, C (c, n) of full rank, ascending; the
    largest component of a mode is positive."""
    scale = np.diag(M) ** -0.5
    rows = C * scale
    rows = rows / np.linalg.norm(rows, axis=1)[:, None]
    free = scale[:, None] * np.linalg.qr(rows.T, mode="complete")[0][:, len(C) :]
    omega2, y = scipy.linalg.eigh(_projected(K, free), _projected(M, free))
    V = free @ y
    largest = V[np.abs(V / scale[:, None]).argmax(axis=0), np.arange(V.shape[1])]
    return V * np.sign(largest), np.sqrt(np.maximum(omega2, 0.0))


def rigid_mode_count(K: FloatArray, M: FloatArray, rigid_quotient: float) -> int:
    """Number of motions of the reduced body without strain: ω² no larger than what the accuracy of K, told by ``rigid_quotient``
    (ω² of the rigid-body motions), and of the eigenvalues leaves of zero."""
    scale = np.diag(M) ** -0.5
    omega2 = scipy.linalg.eigh(scale[:, None] * K * scale, scale[:, None] * M * scale, eigvals_only=True)
    return int(np.sum(np.abs(omega2) <= 100 * rigid_quotient + 1e-12 * omega2[-1]))


def _projected(A: FloatArray, basis: FloatArray) -> FloatArray:
    B = basis.T @ A @ basis
    return np.asarray(0.5 * (B + B.T))

"""Modes of the body under a reference condition."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.flexible_body.parts import FloatArray
from preprocess.body.reference import Reference
from preprocess.reduction.statics import InterfaceStatics


class BodyModes(NamedTuple):
    """Modes under a reference condition: shapes ``Φ V − R c`` of elastic shapes Φ by V (n, nf) and rigid-body modes by c (6, nf),
    omega (nf,) [rad/s], the body frame's origin (3,) and axes (3, 3) in mesh axes; ``kind``: name of the modes."""

    V: FloatArray
    c: FloatArray
    omega: FloatArray
    origin: FloatArray
    axes: FloatArray
    kind: str

    def shapes(self, statics: InterfaceStatics, elastic: FloatArray) -> FloatArray:
        """Φ V − R c (3N, nf), in mesh axes."""
        return np.asarray(elastic @ self.V - statics.rigid_modes @ self.c)


def body_modes(reference: Reference, statics: InterfaceStatics, shapes: FloatArray) -> BodyModes:
    """Modes of the body in the span of elastic, M-orthonormal shapes Φ (3N, n), mass-normalised, ascending.

    With c = (C R)⁻¹ C Φ the mass matrix is ``1 + cᵀc`` and the stiffness that of Φ; the largest component of V is positive.
    Raises InputError.
    """
    origin, axes, C = reference.frame(statics)
    inner = statics.fe.engine.inner
    c = np.linalg.solve(inner(C.T, statics.rigid_modes), inner(C.T, shapes))
    K = inner(shapes, statics.fe.stiffness_product(shapes))
    omega2, V = scipy.linalg.eigh(0.5 * (K + K.T), np.eye(len(K)) + c.T @ c)
    V = V * np.sign(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])])
    return BodyModes(V, c @ V, np.sqrt(np.maximum(omega2, 0.0)), origin, axes, reference.modes)

"""Inertia invariants of Adams, Abaqus and MBDyn, from the shape integrals and back.

    Inv3 = ∫φ dm (3, n)      Inv4 = ∫x × φ dm (3, n)      Inv5[:, i, j] = ∫φ_i × φ_j dm (3, n, n)
    Inv8_j = ∫x̃ φ̃_jᵀ dm (3, 3, n)                          Inv9_ij = ∫φ̃_i φ̃_j dm (3, 3, n, n)

Inv8 has the sign of MBDyn, opposite to that of Adams.
Source: Masarati, MBDyn Theory and Developer's Manual, chapter "Modal element".
"""

from __future__ import annotations

import numpy as np

from flexmbs.flexible_body.components import FloatArray


def invariant_8(xS: FloatArray) -> FloatArray:
    """``∫x̃ φ̃_jᵀ dm = ∫(x·φ_j) 1 − φ_j xᵀ dm`` (3, 3, n) from xS[a, b, k] = ∫x_a φ_bk dm."""
    return np.asarray(np.einsum("ccj,ab->abj", xS, np.eye(3)) - xS.transpose(1, 0, 2))


def moments_of_shapes(inv8: FloatArray) -> FloatArray:
    """xS (3, 3, n) from invariant 8."""
    return np.asarray(0.5 * np.einsum("ccj,ab->abj", inv8, np.eye(3)) - inv8.transpose(1, 0, 2))


def invariant_5(SS: FloatArray) -> FloatArray:
    """``∫φ_i × φ_j dm`` (3, n, n) from SS[a, b, i, j] = ∫φ_ai φ_bj dm."""
    return np.asarray([SS[1, 2] - SS[2, 1], SS[2, 0] - SS[0, 2], SS[0, 1] - SS[1, 0]])


def invariant_9(SS: FloatArray) -> FloatArray:
    """``∫φ̃_i φ̃_j dm = ∫φ_j φ_iᵀ − (φ_i·φ_j) 1 dm`` (3, 3, n, n)."""
    return np.asarray(SS.transpose(0, 1, 3, 2) - np.einsum("ccij,ab->abij", SS, np.eye(3)))


def shape_products(inv9: FloatArray) -> FloatArray:
    """SS (3, 3, n, n) from invariant 9."""
    m_ff = -0.5 * np.einsum("aaij->ij", inv9)
    return np.asarray((inv9 + np.einsum("ij,ab->abij", m_ff, np.eye(3))).transpose(0, 1, 3, 2))

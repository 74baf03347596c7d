"""Standard input data (SID) of a flexible body, converted from and to the shape integrals.

Each block is a Taylor series in the elastic coordinates, ``A(q) = m0 + Σ_k m1[:, k, :] q_k``. With
φ, ψ the shape functions, x the undeformed position, ``C4_k = ∫(x·φ_k) 1 − φ_k xᵀ dm`` (invariant 8)
and ``Kr_c[i, j] = (∫φ_i × φ_j dm)_c``:

    mdCM = ∫x dm + S_bar q                       Me  = ∫φᵀφ dm
    J    = ∫x̃ᵀx̃ dm + (C4_k + C4_kᵀ) q_k          Gr  = 2 C4_k in block k;  m1: 2 ∫φ̃_jᵀ φ̃_k dm
    Ct   = ∫φᵀ dm + K0t_a q                      Ge  = 2 Kr_c[k, :]ᵀ in column c of block k
    Cr   = ∫(x × φ)ᵀ dm + (Kr_cᵀ + K0r_c) q      Oe  = −(C4 + C4ᵀ) halves on the diagonal;  m1: Kω_ab + K0ω_ab

with ``Kω_aa = SS[a,a] − Me`` and ``Kω_ab = SS[a,b] + SS[b,a]``, columns xx, yy, zz, xy, yz, xz. K0
are the geometric stiffnesses of unit accelerations, angular accelerations, products of ω, and of
forces and moments at a node (as −K0 in phi.m1 and psi.m1).

Source: Schwertassek and Wallrapp, Dynamik flexibler Mehrkörpersysteme, section 6.4; Wallrapp,
Standard Input Data of Flexible Members in Multibody Systems, in Advanced Multibody System Dynamics
(1993) 445.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from flexmbs.flexible_body.components import FloatArray, GeometricStiffness, x_cross_shapes
from preprocess.formats.inertia_invariants import invariant_5, invariant_8

PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))  # of ω in the columns of Oe
INERTIA = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # rows of J
BLOCKS = ("mdCM", "J", "Ct", "Cr", "Me", "Gr", "Ge", "Oe", "ksigma", "Ke", "De")
NODE_BLOCKS = ("origin", "phi", "psi", "AP")


class TaylorSeries(NamedTuple):
    """Taylor series ``m0 (rows, columns) + Σ_k m1[:, k, :] q_k``; m1 (rows, n, columns) or None."""

    m0: FloatArray
    m1: FloatArray | None = None


class SidNode(NamedTuple):
    """Node: name, position (3, 1), shapes of translation and rotation (3, n), axes (3, 3)."""

    name: str
    origin: TaylorSeries
    phi: TaylorSeries
    psi: TaylorSeries
    AP: TaylorSeries


class Sid(NamedTuple):
    """Standard input data.

    Mass [kg], names of the modes, nodes, blocks by name, comment of the first line.
    """

    mass: float
    modes: tuple[str, ...]
    nodes: tuple[SidNode, ...]
    blocks: dict[str, TaylorSeries]
    comment: str = ""


def shapes_of_blocks(n: int) -> dict[str, tuple[int, int]]:
    """Rows and columns of each block for n modes."""
    return {
        "mdCM": (3, 1),
        "J": (6, 1),
        "Ct": (n, 3),
        "Cr": (n, 3),
        "Me": (n, n),
        "Gr": (3, 3 * n),
        "Ge": (n, 3 * n),
        "Oe": (n, 6),
        "ksigma": (n, 1),
        "Ke": (n, n),
        "De": (n, n),
        "origin": (3, 1),
        "phi": (3, n),
        "psi": (3, n),
        "AP": (3, 3),
        "sigma": (6, 1),
    }


def centrifugal(SS: FloatArray) -> FloatArray:
    """Matrices Kω (n, n, 6) in the columns of `PAIRS`."""
    m_ff = np.einsum("aaij->ij", SS)
    return np.stack([SS[a, a] - m_ff if a == b else SS[a, b] + SS[b, a] for a, b in PAIRS], axis=-1)


def second_order_gyroscopic(SS: FloatArray) -> FloatArray:
    """First-order terms m1 of Gr (3, n, 3n).

    ``2 ∫φ̃_jᵀ φ̃_k dm = 2 (Me_jk 1 − ∫φ_k φ_jᵀ dm)`` for q_j in block k.
    """
    n = SS.shape[-1]
    m_ff = np.einsum("aaij->ij", SS)
    blocks = 2.0 * (np.einsum("kj,ab->akjb", m_ff, np.eye(3)) - SS.transpose(0, 2, 3, 1))
    return np.asarray(blocks.transpose(0, 2, 1, 3).reshape(3, n, 3 * n))


def shape_products(gyroscopic: FloatArray, m_ff: FloatArray) -> FloatArray:
    """Products SS (3, 3, n, n) from m1 of Gr, the inverse of `second_order_gyroscopic`."""
    n = len(m_ff)
    blocks = gyroscopic.reshape(3, n, n, 3).transpose(0, 2, 1, 3)
    return np.asarray(
        (np.einsum("kj,ab->akjb", m_ff, np.eye(3)) - 0.5 * blocks).transpose(0, 3, 1, 2)
    )


def shape_products_of(
    gyroscopic: FloatArray, centrifugal_: FloatArray, m_ff: FloatArray
) -> FloatArray:
    """Products SS (3, 3, n, n) from Kr (3, n, n), Kω (n, n, 6) and Me.

    Σ SS[a, a] = Me for any Kω.
    """
    n = len(m_ff)
    SS = np.zeros((3, 3, n, n))
    rest = centrifugal_[:, :, :3].sum(axis=2) + 2.0 * m_ff
    for column, (a, b) in enumerate(PAIRS):
        if a == b:
            SS[a, a] = centrifugal_[:, :, column] + m_ff - rest / 3.0
        else:
            c = 3 - a - b
            sign = 1.0 if (a, b) in ((0, 1), (1, 2)) else -1.0
            SS[a, b] = 0.5 * (centrifugal_[:, :, column] + sign * gyroscopic[c])
    for a in range(3):
        SS[a, a] = 0.5 * (SS[a, a] + SS[a, a].T)
    for a, b in PAIRS[3:]:
        SS[b, a] = SS[a, b].T
    return SS


def inertia_blocks(
    mass_moment: FloatArray, inertia: FloatArray, S_bar: FloatArray, xS: FloatArray, SS: FloatArray
) -> dict[str, TaylorSeries]:
    """Blocks mdCM … Oe of the shape integrals, without geometric stiffness."""
    n = S_bar.shape[1]
    C4, Kr = invariant_8(xS).transpose(2, 0, 1), invariant_5(SS)
    sym = C4 + C4.transpose(0, 2, 1)
    return {
        "mdCM": TaylorSeries(mass_moment[:, None], S_bar[:, :, None]),
        "J": TaylorSeries(_rows(inertia[None])[:, :1], _rows(sym)[:, :, None]),
        "Ct": TaylorSeries(S_bar.T),
        "Cr": TaylorSeries(x_cross_shapes(xS).T, Kr.transpose(2, 1, 0)),
        "Me": TaylorSeries(np.einsum("aaij->ij", SS)),
        "Gr": TaylorSeries(
            2.0 * C4.transpose(1, 0, 2).reshape(3, 3 * n), second_order_gyroscopic(SS)
        ),
        "Ge": TaylorSeries(2.0 * Kr.transpose(2, 1, 0).reshape(n, 3 * n)),
        "Oe": TaylorSeries(
            np.stack([-sym[:, a, b] * (0.5 if a == b else 1.0) for a, b in PAIRS], axis=1),
            centrifugal(SS),
        ),
    }


def with_geometric_stiffness(
    blocks: Mapping[str, TaylorSeries], K0: GeometricStiffness
) -> dict[str, TaylorSeries]:
    """Blocks Ct, Cr and Oe with geometric stiffness.

    They hold the geometric stiffness due to accelerations, angular accelerations and products of ω.
    """
    Ct, Cr, Oe = blocks["Ct"], blocks["Cr"], blocks["Oe"]
    assert Cr.m1 is not None
    assert Oe.m1 is not None
    return {
        "Ct": TaylorSeries(Ct.m0, K0.acceleration.transpose(1, 2, 0)),
        "Cr": TaylorSeries(Cr.m0, Cr.m1 + K0.angular_acceleration.transpose(1, 2, 0)),
        "Oe": TaylorSeries(Oe.m0, Oe.m1 + K0.rotation.transpose(1, 2, 0)),
    }


def _rows(tensors: FloatArray) -> FloatArray:
    """Symmetric tensors (k, 3, 3) as columns (6, k) in the order of `INERTIA`."""
    return np.array([tensors[:, a, b] for a, b in INERTIA])


def inertia_tensor(rows: FloatArray) -> FloatArray:
    """Symmetric tensor (3, 3) from six rows in the order of `INERTIA`."""
    tensor = np.zeros((3, 3))
    for value, (a, b) in zip(rows, INERTIA):
        tensor[a, b] = tensor[b, a] = value
    return tensor

"""Geometric stiffness of unit loads, projected on the shapes of a reduced body.

The stress σ0 of a load case does work on the second-order strain ½ ∇uᵀ∇u,

    K0_kl = ∫ Σ_c ∇φ_ck · σ0 · ∇φ_cl dV,     u = Σ_k φ_k q_k   (components c = x, y, z)

at the quadrature points of the stiffness. By virtual work −½ qᵀ K0 q is the second-order displacement conjugate to the load,
for example the shortening of a bent beam for an axial force.

A rigid interface rotating by θ = ψ q displaces its nodes by θ × r + ½ θ × (θ × r); the second part is not among the linear shapes
and does the work ½ θᵀ W θ with the forces p between interface and body, W = ½ Σ (r pᵀ + p rᵀ) − Σ (r·p) 1. With it K0 + ψᵀ W ψ
belongs to a face that rotates without stretching. For an averaged interface the same term, with its weights for p, makes the
rotation of the frame that of its nodes to second order. The same holds for the centre of a spider and its nodes.
Source: Wallrapp and Schwertassek, Archive of Applied Mechanics 61 (1991) 428; Bathe, Finite Element Procedures, section 6.2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flexmbs.flexible_body.parts import FloatArray, GeometricStiffness
from preprocess.body.reference import MEAN_AXES
from preprocess.body.unit_loads import INERTIAL, BodyLoads, UnitLoads
from preprocess.fe.initial_stress import initial_stress_stiffness
from preprocess.reduction.statics import InterfaceStatics


def geometric_stiffness(statics: InterfaceStatics, cases: UnitLoads, shapes: FloatArray, rotations: FloatArray) -> FloatArray:
    """K0 + ψᵀ W ψ (k, n, n) of all unit loads for ``shapes`` (n, m); ``rotations`` (interfaces, 3, m): ψ in mesh axes."""
    K0 = initial_stress_stiffness(statics.fe, cases.displacements, shapes)
    for structure in statics.fe.structures:
        K0 += structure.initial_stress_stiffness(cases.displacements, shapes)
    engine = statics.fe.engine
    loaded = engine.extent(cases.displacements) > 0.0  # else the reference condition carries the load
    for arms, psi, p in _turning(statics, cases, shapes, rotations):
        W = rotation_work(arms, p) * loaded[:, None, None]
        K0 += psi.T @ W @ psi
    return engine.total(K0)


def _turning(
    statics: InterfaceStatics, cases: UnitLoads, shapes: FloatArray, rotations: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Nodes that turn with an interface or the centre of a spider, each in one process: their rigid motion (n, 3, 6), ψ (3, m),
    and the forces p (n, 3, k) on them.

    These are K u less the inertia forces where the nodes follow, and the weights' share of the load where they are followed.
    """
    fe, left = statics.fe, statics.fe.stiffness_product(cases.displacements)
    left[:, :INERTIAL] -= cases.loads[:, :INERTIAL]
    if cases.balance is not None:
        left -= cases.balance
    applied = cases.loads.copy()
    applied[:, :INERTIAL] = 0.0
    for j, interface in enumerate(statics.interfaces):
        mine = np.zeros_like(left)
        mine[:, INERTIAL + 6 * j :][:, :6] = applied[:, INERTIAL + 6 * j :][:, :6]
        p = left if interface.drives_nodes else mine
        own = fe.owned_nodes(interface.nodes)
        yield interface.rigid_motion[: len(interface.nodes)][own], rotations[j], fe.displacements(p)[interface.nodes[own]]
    for arms in fe.arms.values():
        p = left if arms.led is None else -(arms.led.C.T @ (left - applied)[arms.led.dofs])
        own = fe.owned_nodes(arms.nodes)
        yield arms.rigid_motion[own], arms.turn @ shapes, fe.displacements(p)[arms.nodes[own]]


def rotation_work(rigid_motion: FloatArray, p: FloatArray) -> FloatArray:
    """W (k, 3, 3) = ½ Σ (r pᵀ + p rᵀ) − Σ (r·p) 1 over nodes with their rigid motion (n, 3, 6) and forces p (n, 3, k)."""
    r = rigid_motion[:, :, 3:]  # columns e × r
    arm = np.stack([r[:, 1, 2], r[:, 2, 0], r[:, 0, 1]], axis=1)
    W = np.einsum("na,nbk->kab", arm, p)
    W = 0.5 * (W + W.transpose(0, 2, 1))
    return np.asarray(W - np.trace(W, axis1=1, axis2=2)[:, None, None] * np.eye(3))


def reduced_geometric_stiffness(
    statics: InterfaceStatics, loads: BodyLoads, shapes: FloatArray, motion: FloatArray
) -> GeometricStiffness:
    """Geometric stiffness of all unit loads on the modes' ``shapes`` (3N, nf), with the ``motion`` (interfaces, 6, nf) of the
    interfaces; both in mesh axes.

    Whatever the reference condition of the linear shapes, the second-order displacements obey that of mean axes (loads are
    balanced by inertia), in which they have no momentum.
    """
    cases = loads.under(MEAN_AXES)
    K0 = geometric_stiffness(statics, cases, shapes, motion[:, 3:])
    frames = {each.name: K0[INERTIAL + 6 * j :][:6] for j, each in enumerate(statics.interfaces)}
    return GeometricStiffness(K0[:3], K0[3:6], K0[6:INERTIAL], frames)

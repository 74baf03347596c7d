"""Geometric stiffness: what the stress of a load adds to the stiffness, projected on the shapes of a reduced body.

A load case with the stress σ0 does work on the second-order strain ½ ∇uᵀ∇u,

    K0_kl = ∫ Σ_c ∇φ_ck · σ0 · ∇φ_cl dV,     u = Σ_k φ_k q_k   (components c = x, y, z)

at the quadrature points of the stiffness. By virtual work −½ qᵀ K0 q is the second-order displacement conjugate to the load,
the shortening of a bent beam for the force along it.

A rigid interface that turns by θ = ψ q moves its nodes by θ × r + ½ θ × (θ × r); the second part is not among the linear shapes
and does the work ½ θᵀ W θ with the forces p between interface and body, W = ½ Σ (r pᵀ + p rᵀ) − Σ (r·p) 1. With it K0 + ψᵀ W ψ
belongs to a face that turns without stretching. For an averaged interface the same term, with its weights for p, makes the frame
turn with its nodes to second order.
Source: Wallrapp and Schwertassek, Archive of Applied Mechanics 61 (1991) 428; Bathe, Finite Element Procedures, section 6.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg

from flexmbs.errors import InputError
from flexmbs.flexible_body import FloatArray, GeometricStiffness
from preprocess.arguments import instance, spelt
from preprocess.initial_stress import initial_stress_stiffness
from preprocess.interfaces import BoundInterface
from preprocess.reduction.statics import InterfaceStatics
from preprocess.reference import MEAN_AXES, BodyModes
from preprocess.unit_loads import INERTIAL, PRODUCTS, BodyLoads, UnitLoads


def geometric_stiffness(statics: InterfaceStatics, cases: UnitLoads, shapes: FloatArray, turns: FloatArray) -> FloatArray:
    """K0 + ψᵀ W ψ (k, n, n) of all unit loads for ``shapes`` (3N, n); ``turns`` (interfaces, 3, n): ψ in mesh axes."""
    K0 = initial_stress_stiffness(statics.fe, cases.displacements, shapes)
    forces = _forces_between(statics, cases)
    loaded = np.abs(cases.displacements).max(axis=0) > 0.0  # else the reference condition takes up the load
    for interface, psi, p in zip(statics.interfaces, turns, forces):
        W = _turning_work(interface, p) * loaded[:, None, None]
        K0 += psi.T @ W @ psi
    return K0


def _forces_between(statics: InterfaceStatics, cases: UnitLoads) -> list[FloatArray]:
    """Forces p (n, 3, k) on the nodes of each interface: K u less the inertia forces where it drives them, its weights else."""
    left = statics.fe.stiffness_product(cases.displacements)
    left[:, :INERTIAL] -= cases.loads[:, :INERTIAL]
    if cases.balance is not None:
        left -= cases.balance
    found = []
    for j, interface in enumerate(statics.interfaces):
        own = np.zeros_like(left)
        own[:, INERTIAL + 6 * j :][:, :6] = cases.loads[:, INERTIAL + 6 * j :][:, :6]
        p = left if interface.drives_nodes else own
        found.append(p.reshape(-1, 3, p.shape[1])[interface.nodes])
    return found


def _turning_work(interface: BoundInterface, p: FloatArray) -> FloatArray:
    """W (k, 3, 3) = ½ Σ (r pᵀ + p rᵀ) − Σ (r·p) 1 over the nodes of an interface, p (n, 3, k)."""
    r = interface.rigid_motion[:, :, 3:]  # columns e × r
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
    balanced by inertia): then they carry no momentum.
    """
    cases = loads.under(MEAN_AXES)
    K0 = geometric_stiffness(statics, cases, shapes, motion[:, 3:])
    frames = {each.name: K0[INERTIAL + 6 * j :][:6] for j, each in enumerate(statics.interfaces)}
    return GeometricStiffness(K0[:3], K0[3:6], K0[6:INERTIAL], frames)


@spelt
@dataclass(frozen=True)
class Prestress:
    """Constant loads that the part carries before any motion, and that the multibody model does not apply: bolts, a preload.

    wrenches: force x y z [N] and moment x y z [N m] on interfaces by name; rotation: angular velocity [rad/s], for a part that is
    used at one speed without turning in the model; both along the axes of the body frame. The reference condition balances them.
    """

    wrenches: Mapping[str, Sequence[float]] = field(default_factory=dict)
    rotation: Sequence[float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        instance(self.wrenches, Mapping, "prestress.wrenches", "a table, interface → three forces and three moments")
        given = {f"wrenches.{name}": (wrench, 6) for name, wrench in self.wrenches.items()} | {"rotation": (self.rotation, 3)}
        problems = [
            f"prestress.{item}: needs {size} finite numbers, has {value!r:.60}"
            for item, (value, size) in given.items()
            if np.shape(value) != (size,) or not np.all(np.isfinite(np.asarray(value, float)))
        ]
        if problems:
            raise InputError(*problems)

    def factors(self, interfaces: Sequence[str]) -> FloatArray:
        """How much of each unit load (k,). Raises InputError for a wrench on no interface."""
        unknown = [name for name in self.wrenches if name not in interfaces]
        if unknown:
            raise InputError(f"prestress.wrenches: there is no interface {unknown[0]!r}; there are: {', '.join(interfaces)}")
        products = [self.rotation[a] * self.rotation[b] for a, b in PRODUCTS]
        wrenches = [self.wrenches.get(name, np.zeros(6)) for name in interfaces]
        return np.concatenate([np.zeros(6), products, *wrenches])


def prestressed(statics: InterfaceStatics, cases: UnitLoads, modes: BodyModes, shapes: FloatArray, given: Prestress) -> BodyModes:
    """Modes of the prestressed body, ``(diag(ω²) + K0) v = ω'² v``, with the unit loads under its reference condition.

    Raises InputError for a part that buckles.
    """
    factors = given.factors([each.name for each in statics.interfaces])
    turns = (statics.interface_loads.T @ shapes).reshape(len(statics.interfaces), 6, -1)[:, 3:]
    K0 = np.tensordot(factors, geometric_stiffness(statics, cases, shapes, turns), axes=1)
    K = np.diag(modes.omega**2)
    least = scipy.linalg.eigh(K0, K, eigvals_only=True)[0]
    if not least > -1.0:
        raise InputError(f"prestress: the part buckles under {-1.0 / least:.3g} of it; lower the load")
    omega2, turn = np.linalg.eigh(K + K0)
    turn *= np.sign(turn[np.abs(turn).argmax(axis=0), np.arange(len(turn))])
    return modes._replace(V=modes.V @ turn, c=modes.c @ turn, omega=np.sqrt(omega2))

"""Reference conditions: how the body frame follows the deforming body, and the modes that are left once it does.

The body frame takes over the rigid-body motions R, so six conditions ``C u = 0`` remove them from the elastic shapes Φ:

    Φ' = Φ − R (C R)⁻¹ C Φ

    attached at an interface   C u = motion of its frame                              clamped modes
    attached at a node         C u = motion of the node and turn of its neighbours    clamped modes
    mean axes                  C u = Rᵀ M u, the momenta                              free–free modes
    principal axes             the same, in axes along those of inertia               free–free modes
    chord of two interfaces    C u = motion of the first but for its turn across      simply supported modes
                                     the chord, sideways motion of the second

The modes are the eigenvectors of (K, M) in the span of Φ'. The motions that the body can make are the same under every condition.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from flexmbs.errors import InputError
from flexmbs.flexible_body import FloatArray
from preprocess.arguments import instance, spelt, whole
from preprocess.interfaces import BoundInterface, interface_index, rigid_motion
from preprocess.reduction.statics import InterfaceStatics

MEAN_AXES, PRINCIPAL_AXES, CHORD = OTHERS = ("mean axes", "principal axes", "chord")


class BodyFrame(NamedTuple):
    """Body frame of a reference condition: origin (3,) and axes (3, 3) in mesh axes, and the conditions C (6, 3N)."""

    origin: FloatArray
    axes: FloatArray
    conditions: FloatArray | sp.csr_matrix


class Reference(ABC):
    """Rule by which the body frame follows the body; a new one is a class and one line in `REFERENCES`."""

    kind: ClassVar[str]
    modes: ClassVar[str]
    """What modes under the condition are called."""
    inertial: ClassVar[bool] = False
    """Held by the inertia of the body, not by forces at places."""

    @abstractmethod
    def frame(self, statics: InterfaceStatics) -> BodyFrame:
        """Body frame on the undeformed body. Raises InputError."""

    def held(self, statics: InterfaceStatics) -> int | None:
        """Place of the interface that carries the body frame, if one does."""
        return None


@spelt
@dataclass(frozen=True)
class AttachedInterface(Reference):
    """Body frame fixed to the frame of an interface.

    Source: Agrawal and Shabana, Computers & Structures 21 (1985) 1303.
    """

    interface: str

    kind = "interface"
    modes = "clamped"

    def __str__(self) -> str:
        return self.interface

    def held(self, statics: InterfaceStatics) -> int:
        names = [interface.name for interface in statics.interfaces]
        return interface_index(self.interface, names, "reference", OTHERS)

    def frame(self, statics: InterfaceStatics) -> BodyFrame:
        k = self.held(statics)
        held = statics.interfaces[k]
        return BodyFrame(held.position, held.axes, statics.interface_loads[:, 6 * k : 6 * k + 6].T)


@spelt
@dataclass(frozen=True)
class AttachedNode(Reference):
    """Body frame with its origin at a node, by its number, along mesh axes, turning with the least-squares rotation of the nodes
    that share an element with it: ``Σ r̃ᵀr̃ θ = Σ r × (u_j − u_node)``.

    Source: Agrawal and Shabana, Computers & Structures 21 (1985) 1303; least squares as in MSC Nastran, RBE3.
    """

    node: int

    kind = "node"
    modes = "clamped"

    def __str__(self) -> str:
        return f"{self.kind} {self.node}"

    def frame(self, statics: InterfaceStatics) -> BodyFrame:
        fe = statics.fe
        found = np.flatnonzero(fe.node_ids == whole(self.node, "reference: node"))
        if not found.size:
            raise InputError(
                f"reference: the mesh has no node {self.node}; its numbers are {fe.node_ids.min()}..{fe.node_ids.max()}"
            )
        row = int(found[0])
        near = np.setdiff1d(fe.K[3 * row : 3 * row + 3].indices // 3, row)
        turns = rigid_motion(fe.nodes[near] - fe.nodes[row])[:, :, 3:].reshape(-1, 3)
        gram = turns.T @ turns
        if not np.linalg.cond(gram) < 1e12:
            raise InputError(f"reference: node {self.node} has no neighbours around it that tell a rotation; take another node")
        fit = np.linalg.solve(gram, turns.T)
        C = sp.lil_matrix((6, statics.size))
        own = 3 * row + np.arange(3)
        C[:3, own] = np.eye(3)
        C[3:, (3 * near[:, None] + np.arange(3)).ravel()] = fit
        C[3:, own] = -fit.reshape(3, -1, 3).sum(axis=1)
        return BodyFrame(fe.nodes[row], np.eye(3), C.tocsr())


@spelt
@dataclass(frozen=True)
class MeanAxes(Reference):
    """Body frame at the centre of mass, along mesh axes, in which the deformation has no linear and no angular momentum.

    Source: Buckens, Proc. 19th Int. Astronautical Congress (1968); Canavin and Likins, J. Spacecraft 14 (1977) 724.
    """

    kind = MEAN_AXES
    modes = "free-free"
    inertial = True

    def __str__(self) -> str:
        return self.kind

    def frame(self, statics: InterfaceStatics) -> BodyFrame:
        return BodyFrame(statics.fe.centre_of_mass, np.eye(3), statics.fe.mass_product(statics.rigid_modes).T)


@spelt
@dataclass(frozen=True)
class PrincipalAxes(Reference):
    """Mean axes turned to the principal axes of inertia of the undeformed body, x that of the smallest moment.

    Each axis points to the side of the mesh axis that it is nearest to, z completes the right-handed frame.
    """

    kind = PRINCIPAL_AXES
    modes = "free-free"
    inertial = True

    def __str__(self) -> str:
        return self.kind

    def frame(self, statics: InterfaceStatics) -> BodyFrame:
        origin, _, conditions = MeanAxes().frame(statics)
        x = statics.fe.nodes - origin
        second_moment = x.T @ (statics.fe.m @ x)
        axes = np.linalg.eigh(second_moment)[1][:, ::-1]
        axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), range(3)])
        axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
        return BodyFrame(origin, axes, conditions)


@spelt
@dataclass(frozen=True)
class Chord(Reference):
    """Body frame with its origin at interface ``first``, x through interface ``second``, turning about x with the first; y is
    the axis of the first interface that is most nearly across the chord, made perpendicular to it.

    Conditions: u(first) = 0 (3), u_y(second) = u_z(second) = 0 (2), θ_x(first) = 0 (1).
    Source: Schwertassek, Wallrapp and Shabana, Nonlinear Dynamics 20 (1999) 361 (choice of frames, secant frame).
    """

    first: str
    second: str

    kind = CHORD
    modes = "simply supported"

    def __str__(self) -> str:
        return f"{self.kind} from {self.first} to {self.second}"

    def frame(self, statics: InterfaceStatics) -> BodyFrame:
        names = [interface.name for interface in statics.interfaces]
        i, j = (interface_index(name, names, "reference") for name in (self.first, self.second))
        axes = _chord_axes(statics.interfaces[i], statics.interfaces[j])
        first, second = (statics.interface_loads[:, 6 * k : 6 * k + 6].T for k in (i, j))
        sideways, twist = axes[:, 1:].T @ second[:3], axes[:, :1].T @ first[3:]
        return BodyFrame(statics.interfaces[i].position, axes, np.vstack([first[:3], sideways, twist]))


def _chord_axes(first: BoundInterface, second: BoundInterface) -> FloatArray:
    line = second.position - first.position
    length = np.linalg.norm(line)
    if not length > 1e-9 * max(np.abs(first.position).max(), np.abs(first.rigid_motion).max()):
        raise InputError(f"reference: interfaces {first.name} and {second.name} are at the same place; a chord needs two places")
    x = line / length
    across = first.axes[:, int(np.argmin(np.abs(first.axes.T @ x)))]
    y = across - x * (x @ across)
    y = y / np.linalg.norm(y)
    return np.column_stack([x, y, np.cross(x, y)])


REFERENCES: dict[str, type[Reference]] = {
    rule.kind: rule for rule in (AttachedInterface, AttachedNode, MeanAxes, PrincipalAxes, Chord)
}


def reference_of(given: str | Reference, names: Sequence[str]) -> Reference:
    """Reference by its name: an interface among ``names``, "mean axes", "principal axes", "node 17", or "chord" of two
    interfaces.

    Raises InputError.
    """
    if isinstance(given, Reference):
        return given
    instance(given, str, "reference", "the name of an interface, 'mean axes' or a Reference")
    word, _, number = given.partition(" ")
    if given in names:
        return AttachedInterface(given)
    if given in (MEAN_AXES, PRINCIPAL_AXES):
        return MeanAxes() if given == MEAN_AXES else PrincipalAxes()
    if given == CHORD:
        if len(names) != 2:
            raise InputError(f"reference: a chord joins two interfaces, the body has {len(names)}; give Chord(first, second)")
        return Chord(*names)
    if word == AttachedNode.kind and number.isdecimal() and len(number) < 19:
        return AttachedNode(int(number))
    interface_index(given, names, "reference", OTHERS)
    raise AssertionError


def referenced_response(reference: Reference, statics: InterfaceStatics, loads: FloatArray, held: FloatArray) -> FloatArray:
    """Displacements (3N, k) under nodal loads (3N, k) of the body held by the condition, ``K u = f − Cᵀλ, C u = 0``, from those
    with every interface ``held``, A f.

    The loads f − Cᵀλ are in equilibrium, and strain the body the same way wherever it is held; A Cᵀλ costs six solutions.
    """
    place = reference.held(statics)
    if place is not None:
        return statics.released(held, loads, place)
    C, R = reference.frame(statics).conditions, statics.rigid_modes
    factors = np.linalg.solve((C @ R).T, R.T @ loads)
    A_C = statics.response(np.asarray(C.T @ np.eye(len(factors))))
    u = statics.released(held - A_C @ factors, loads - C.T @ factors, 0)
    return np.asarray(u - R @ np.linalg.solve(C @ R, C @ u))


def reactions(reference: Reference, statics: InterfaceStatics, loads: FloatArray) -> FloatArray:
    """Cᵀλ (3N, k), what the condition takes up of nodal loads (3N, k), with ``Rᵀ(f − Cᵀλ) = 0``: forces at an interface or a
    node, or inertia forces of rigid-body acceleration."""
    C, R = reference.frame(statics).conditions, statics.rigid_modes
    return np.asarray(C.T @ np.linalg.solve((C @ R).T, R.T @ loads))


class BodyModes(NamedTuple):
    """Modes under a reference condition: shapes ``Φ V − R c`` of elastic shapes Φ by V (n, nf) and rigid-body modes by c (6, nf),
    omega (nf,) [rad/s], the body frame's origin (3,) and axes (3, 3) in mesh axes; ``kind``: what the modes are called."""

    V: FloatArray
    c: FloatArray
    omega: FloatArray
    origin: FloatArray
    axes: FloatArray
    kind: str


def body_modes(reference: Reference, statics: InterfaceStatics, shapes: FloatArray) -> BodyModes:
    """Modes of the body in the span of elastic, M-orthonormal shapes Φ (3N, n), mass-normalised, ascending.

    With c = (C R)⁻¹ C Φ the mass matrix is ``1 + cᵀc`` and the stiffness that of Φ; the largest component of V is positive.
    Raises InputError.
    """
    origin, axes, C = reference.frame(statics)
    c = np.linalg.solve(C @ statics.rigid_modes, C @ shapes)
    K = shapes.T @ statics.fe.stiffness_product(shapes)
    omega2, V = scipy.linalg.eigh(0.5 * (K + K.T), np.eye(len(K)) + c.T @ c)
    V = V * np.sign(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])])
    return BodyModes(V, c @ V, np.sqrt(np.maximum(omega2, 0.0)), origin, axes, reference.modes)


def rigid_mode_count(K: FloatArray, M: FloatArray, rigid_quotient: float) -> int:
    """Number of motions of the reduced body without strain: ω² no larger than what the accuracy of K, told by ``rigid_quotient``
    (ω² of the rigid-body motions), and of the eigenvalues leaves of zero."""
    scale = np.diag(M) ** -0.5
    omega2 = scipy.linalg.eigh(scale[:, None] * K * scale, scale[:, None] * M * scale, eigvals_only=True)
    return int(np.sum(np.abs(omega2) <= 100 * rigid_quotient + 1e-12 * omega2[-1]))

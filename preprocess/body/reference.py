"""Reference conditions of the body frame.

The body frame describes the rigid-body motion R, so six conditions ``C u = 0`` remove it from the
elastic shapes Φ:

    Φ' = Φ − R (C R)⁻¹ C Φ

    attached at an interface   C u = motion of its frame                              clamped modes
    attached at a node         C u = translation, and rotation of its neighbours      clamped modes
    mean axes                  C u = Rᵀ M u, the momenta                              free–free modes
    principal axes             the same, in axes along those of inertia               free–free modes
    chord of two interfaces    C u = translation of the first, its rotation about     simply supported modes
                                     the chord, transverse motion of the second

The modes are the eigenvectors of (K, M) in the span of Φ'. The space of possible motions is the
same under every condition.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from preprocess.fe.interfaces import BoundInterface, interface_index
from preprocess.inputs.argument_checks import checked_arguments, instance, integer
from preprocess.mesh.rigid_motion import rigid_motion
from preprocess.reduction.interface_statics import InterfaceStatics

MEAN_AXES, PRINCIPAL_AXES, CHORD = OTHERS = ("mean axes", "principal axes", "chord")


class BodyFrame(NamedTuple):
    """Body frame of a reference condition, in mesh axes.

    Origin (3,), axes (3, 3), and the conditions C (6, 3N).
    """

    origin: FloatArray
    axes: FloatArray
    conditions: FloatArray | sp.csr_matrix


class Reference(ABC):
    """Reference condition; a new one is a class and one line in `REFERENCES`."""

    kind: ClassVar[str]
    modes: ClassVar[str]
    """Name of the modes under the condition."""
    inertial: ClassVar[bool] = False
    """Satisfied by inertia forces instead of reactions at interfaces or nodes."""

    @abstractmethod
    def frame(self, statics: InterfaceStatics) -> BodyFrame:
        """Body frame of the undeformed body. Raises InputError."""

    def held(self, statics: InterfaceStatics) -> int | None:
        """Index of the interface that carries the body frame, or None."""
        return None


@checked_arguments
@dataclass(frozen=True)
class AttachedInterface(Reference):
    """Body frame fixed to the frame of an interface.

    interface: its name. Source: Agrawal and Shabana, Computers & Structures 21 (1985) 1303.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    >>> bar = pp.reduce(
    ...     mesh, steel, interfaces=ends, reference=pp.AttachedInterface("tip")
    ... )  # or "tip"
    >>> (
    ...     bar.frames["root"].x.round(6)[0].item(),
    ...     abs(bar.frames["tip"].phi).max().item() < 1e-9,
    ... )  # the tip does not move
    (-0.4, True)
    """

    interface: str

    kind = "interface"
    modes = "clamped"

    def __str__(self) -> str:
        return self.interface

    def held(self, statics: InterfaceStatics) -> int:
        """Index of the interface to which the frame is attached. Raises `InputError`."""
        names = [interface.name for interface in statics.interfaces]
        return interface_index(self.interface, names, "reference", OTHERS)

    def frame(self, statics: InterfaceStatics) -> BodyFrame:
        """Body frame at the interface, which does not move relative to it."""
        k = self.held(statics)
        held = statics.interfaces[k]
        return BodyFrame(held.position, held.axes, statics.interface_loads[:, 6 * k : 6 * k + 6].T)


@checked_arguments
@dataclass(frozen=True)
class AttachedNode(Reference):
    """Body frame with its origin at a node, along mesh axes, that rotates with the node.

    node: its number in the mesh. A node without a rotation gets the least-squares rotation of the
    nodes that share an element with it: ``Σ r̃ᵀr̃ θ = Σ r × (u_j − u_node)``. Source: Agrawal and
    Shabana, Computers & Structures 21 (1985) 1303; least squares as in MSC Nastran, RBE3.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> corner = mesh.node_ids[0].item()
    >>> bar = pp.reduce(
    ...     mesh, steel, interfaces={"tip": pp.Rigid("x1")}, reference=pp.AttachedNode(corner)
    ... )
    >>> (mesh.nodes[0] + bar.frames["tip"].x).round(6).tolist()
    [0.4, 0.01, 0.01]
    """

    node: int

    kind = "node"
    modes = "clamped"

    def __str__(self) -> str:
        return f"{self.kind} {self.node}"

    def frame(self, statics: InterfaceStatics) -> BodyFrame:
        """Body frame at the node, which does not move relative to it. Raises `InputError`."""
        fe = statics.fe
        found = np.flatnonzero(fe.node_ids == integer(self.node, "reference: node"))
        if not found.size:
            raise InputError(
                f"reference: the mesh has no node {self.node}; its node numbers are "
                f"{fe.node_ids.min()}..{fe.node_ids.max()}"
            )
        row = int(found[0])
        if fe.freedoms.rotates(found[:1])[0]:
            six = fe.freedoms.six(found[0])
            return BodyFrame(
                fe.nodes[row],
                np.eye(3),
                sp.csr_matrix((np.ones(6), (range(6), six)), shape=(6, statics.size)),
            )
        near = np.setdiff1d(
            fe.freedoms.node_of_block[fe.K[3 * row : 3 * row + 3].indices // 3], row
        )
        rotations = rigid_motion(fe.nodes[near] - fe.nodes[row])[:, :, 3:].reshape(-1, 3)
        gram = rotations.T @ rotations
        if not np.linalg.cond(gram) < 1e12:
            raise InputError(
                f"reference: node {self.node} has neighbours that do not define a "
                "rotation; choose another node"
            )
        fit = np.linalg.solve(gram, rotations.T)
        C = sp.lil_matrix((6, statics.size))
        own = 3 * row + np.arange(3)
        C[:3, own] = np.eye(3)
        C[3:, (3 * near[:, None] + np.arange(3)).ravel()] = fit
        C[3:, own] = -fit.reshape(3, -1, 3).sum(axis=1)
        return BodyFrame(fe.nodes[row], np.eye(3), C.tocsr())


@checked_arguments
@dataclass(frozen=True)
class MeanAxes(Reference):
    """Body frame at the centre of mass in which the deformation carries no momentum.

    The axes are parallel to those of the mesh. Linear and angular momentum both vanish. Source:
    Buckens, Proc. 19th Int. Astronautical Congress (1968); Canavin and Likins, J. Spacecraft 14
    (1977) 724.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> bar = pp.reduce(
    ...     mesh, steel, interfaces={"root": pp.Rigid("x0")}, reference=pp.MeanAxes()
    ... )  # or "mean axes"
    >>> abs(bar.S_bar).max().item() < 1e-9, bar.frames["root"].x.round(6)[0].item()  # ∫φ dm = 0
    (True, -0.2)
    """

    kind = MEAN_AXES
    modes = "free-free"
    inertial = True

    def __str__(self) -> str:
        return self.kind

    def frame(self, statics: InterfaceStatics) -> BodyFrame:
        """Body frame at the centre of mass without mean deformation (Tisserand conditions)."""
        return BodyFrame(
            statics.fe.centre_of_mass, np.eye(3), statics.fe.mass_product(statics.rigid_modes).T
        )


@checked_arguments
@dataclass(frozen=True)
class PrincipalAxes(Reference):
    """Mean axes along the principal axes of inertia of the undeformed body.

    x has the smallest moment of inertia. Each axis points along the nearest mesh axis, z completes
    the right-handed frame.

    Examples
    --------
    >>> import numpy as np
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.04), (8, 1, 2)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> bar = pp.reduce(
    ...     mesh, steel, interfaces={"root": pp.Rigid("x0")}, reference=pp.PrincipalAxes()
    ... )
    >>> J = np.trace(bar.second_moment) * np.eye(3) - bar.second_moment
    >>> abs(J - np.diag(np.diag(J))).max().item() < 1e-12  # no products of inertia
    True
    """

    kind = PRINCIPAL_AXES
    modes = "free-free"
    inertial = True

    def __str__(self) -> str:
        return self.kind

    def frame(self, statics: InterfaceStatics) -> BodyFrame:
        """Mean-axis body frame along the principal axes of inertia."""
        origin, _, conditions = MeanAxes().frame(statics)
        x = statics.fe.points - origin
        second_moment = statics.fe.engine.total(x.T @ (statics.fe.m @ x))
        axes = np.linalg.eigh(second_moment)[1][:, ::-1]
        axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), range(3)])
        axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
        return BodyFrame(origin, axes, conditions)


@checked_arguments
@dataclass(frozen=True)
class Chord(Reference):
    """Body frame with its x axis from interface ``first`` through interface ``second``.

    Its origin is at ``first``, and it rotates about x with that interface. Its y axis is the axis
    of the first interface closest to perpendicular to the chord, made perpendicular to it. first,
    second: names of two interfaces. Conditions: u(first) = 0 (3), u_y(second) = u_z(second) = 0
    (2), θ_x(first) = 0 (1). Source: Schwertassek, Wallrapp and Shabana, Nonlinear Dynamics 20
    (1999) 361 (choice of frames, secant frame).

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    >>> bar = pp.reduce(
    ...     mesh, steel, interfaces=ends, reference=pp.Chord("root", "tip")
    ... )  # or "chord"
    >>> abs(bar.frames["tip"].phi[1:]).max().item() < 1e-9  # the tip moves along the chord only
    True
    """

    first: str
    second: str

    kind = CHORD
    modes = "simply supported"

    def __str__(self) -> str:
        return f"{self.kind} from {self.first} to {self.second}"

    def frame(self, statics: InterfaceStatics) -> BodyFrame:
        """Body frame along the line between two interfaces."""
        names = [interface.name for interface in statics.interfaces]
        i, j = (interface_index(name, names, "reference") for name in (self.first, self.second))
        axes = _chord_axes(statics.interfaces[i], statics.interfaces[j])
        first, second = (statics.interface_loads[:, 6 * k : 6 * k + 6].T for k in (i, j))
        sideways, twist = axes[:, 1:].T @ second[:3], axes[:, :1].T @ first[3:]
        return BodyFrame(
            statics.interfaces[i].position, axes, np.vstack([first[:3], sideways, twist])
        )


def _chord_axes(first: BoundInterface, second: BoundInterface) -> FloatArray:
    """Axes with x along the line between two interfaces. Raises `InputError`."""
    line = second.position - first.position
    length = np.linalg.norm(line)
    if not length > 1e-9 * max(np.abs(first.position).max(), first.radius):
        raise InputError(
            f"reference: interfaces {first.name} and {second.name} are at the same "
            "position; a chord needs two positions"
        )
    x = line / length
    across = first.axes[:, int(np.argmin(np.abs(first.axes.T @ x)))]
    y = across - x * (x @ across)
    y = y / np.linalg.norm(y)
    return np.column_stack([x, y, np.cross(x, y)])


REFERENCES: dict[str, type[Reference]] = {
    rule.kind: rule for rule in (AttachedInterface, AttachedNode, MeanAxes, PrincipalAxes, Chord)
}


def reference_of(given: str | Reference, names: Sequence[str]) -> Reference:
    """Reference condition by name.

    An interface among ``names``, "mean axes", "principal axes", "node 17", or "chord" of two
    interfaces. Raises InputError.
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
            raise InputError(
                f"reference: a chord joins two interfaces, the body has {len(names)}; "
                "give Chord(first, second)"
            )
        return Chord(*names)
    if word == AttachedNode.kind and number.isdecimal() and len(number) < 19:
        return AttachedNode(int(number))
    interface_index(given, names, "reference", OTHERS)
    raise AssertionError


def referenced_response(
    reference: Reference, statics: InterfaceStatics, loads: FloatArray, held: FloatArray
) -> FloatArray:
    """Displacements (3N, k) of the body held by the reference condition under nodal loads (3N, k).

    They satisfy ``K u = f − Cᵀλ, C u = 0`` and follow from those with every interface ``held``, A
    f.

    The loads f − Cᵀλ are in equilibrium, hence the strain does not depend on the support; A Cᵀλ
    costs six solutions.
    """
    index = reference.held(statics)
    if index is not None:
        return statics.released(held, loads, index)
    C, R, inner = reference.frame(statics).conditions, statics.rigid_modes, statics.fe.engine.inner
    factors = np.linalg.solve(inner(C.T, R).T, inner(R, loads))
    A_C = statics.response(np.asarray(C.T @ np.eye(len(factors))))
    u = statics.released(held - A_C @ factors, loads - C.T @ factors, 0)
    return np.asarray(u - R @ np.linalg.solve(inner(C.T, R), inner(C.T, u)))


def reactions(reference: Reference, statics: InterfaceStatics, loads: FloatArray) -> FloatArray:
    """Reactions Cᵀλ (3N, k) of the condition to nodal loads (3N, k), with ``Rᵀ(f − Cᵀλ) = 0``.

    Forces at an interface or a node, or inertia forces of a rigid-body acceleration.
    """
    C, R, inner = reference.frame(statics).conditions, statics.rigid_modes, statics.fe.engine.inner
    return np.asarray(C.T @ np.linalg.solve(inner(C.T, R).T, inner(R, loads)))

"""Connections between nodes: rigid and averaging spiders, linear equations, and bushings.

    rigid spider       u_i = t + θ × (x_i − p),  θ_i = θ                the nodes follow the centre (RBE2)
    averaging spider   (t, θ) = (RᵀWR)⁻¹ RᵀW u                          the centre follows the nodes (RBE3)
    equation           Σ_j c_j u_j = 0                                   the first term follows the others (MPC)
    bushing            f = k (u_b − u_a − θ_a × (x_b − x_a)), m = κ (θ_b − θ_a)   springs between two nodes (CBUSH)

R are the rigid motions of the nodes about the centre p, W their weights; a force on the centre of an averaging spider becomes
forces ``W R (RᵀWR)⁻¹ f`` on the nodes, which have its resultant, add no stiffness, and do not depend on the elements.

Source: MSC Nastran, Quick Reference Guide, RBE2, RBE3, MPC, CBUSH.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from flexmbs.errors import InputError, shown
from flexmbs.flexible_body.parts import FloatArray, IntArray
from preprocess.fe.constraints import Dependence
from preprocess.fe.freedoms import Freedoms
from preprocess.fe.mass_points import spread
from preprocess.inputs.arguments import checked_arguments, floats, instance, vector
from preprocess.mesh.node_regions import NodeSets, Region, near_enough, region_of
from preprocess.mesh.rigid_motion import rigid_motion, rotation_of

ALL = "123456"
KINDS = "RigidSpider, AveragingSpider, Equation or Bushing"
Found = TypeVar("Found")
NO_NODES: IntArray = np.zeros(0, dtype=np.int64)


class Nodes(NamedTuple):
    """Nodes of a model: positions (N, 3), numbers (N,), named sets, degrees of freedom."""

    positions: FloatArray
    ids: IntArray
    sets: NodeSets
    freedoms: Freedoms


class Arms(NamedTuple):
    """A bound spider: its centre, the nodes (n,), their rigid motion about it (n, 3, 6), and G (6, size) with (t, θ) = G u where
    the centre follows the nodes, else None."""

    centre: int
    nodes: IntArray
    rigid_motion: FloatArray
    average: sp.csr_matrix | None


class Connection(ABC):
    """Declaration of a connection; a new one is a class and one line in `CONNECTIONS`."""

    kind: ClassVar[str]

    def centre(self, name: str, nodes: FloatArray, sets: NodeSets) -> FloatArray | None:
        """Position (3,) of the node that the connection adds to the model; None if it adds none. Raises InputError."""
        return None

    @abstractmethod
    def rotating(self, name: str, nodes: Nodes) -> IntArray:
        """Nodes that need a rotation."""

    def dependence(self, name: str, nodes: Nodes) -> Dependence | None:
        """Dependent degrees of freedom and their factors; None if there are none. Raises InputError."""
        return None

    def stiffness(self, name: str, nodes: Nodes) -> sp.csr_matrix | None:
        """Stiffness (size, size) that it adds; None if it adds none. Raises InputError."""
        return None

    def arms(self, name: str, nodes: Nodes) -> Arms | None:
        """What rotates with the connection; None if nothing does."""
        return None


@checked_arguments
@dataclass(frozen=True, eq=False)
class Spider(Connection):
    """A centre with six degrees of freedom, and the nodes connected to it.

    where: the nodes, by a set's name, a `Point` or a `Plane`.  reference: the centre, an existing node, by its number or a set
    that has only this node.  position (3,): of a new centre [m], by default the mean of the nodes; it is the node set with the
    connection's name.
    components: of the nodes that are connected, "1" to "3" translations x y z, "4" to "6" rotations (of nodes that have one).
    """

    where: str | Region
    _: KW_ONLY
    reference: str | int | None = None
    position: ArrayLike | None = None
    components: str = ALL

    def __post_init__(self) -> None:
        _check_components(self.components, "components")
        if self.reference is not None and self.position is not None:
            raise InputError("connection: has a reference and a position; give one of them")

    def centre(self, name: str, nodes: FloatArray, sets: NodeSets) -> FloatArray | None:
        if self.reference is not None:
            return None
        rows = region_of(self.where).rows(nodes, sets)
        position = nodes[rows].mean(axis=0) if self.position is None else vector(self.position, "position")
        near_enough(position, nodes, "position")
        return np.asarray(position)

    def rotating(self, name: str, nodes: Nodes) -> IntArray:
        return np.array([self._centre(name, nodes)])

    def _centre(self, name: str, nodes: Nodes) -> int:
        return one_node(nodes, name if self.reference is None else self.reference, "reference")

    def _feet(self, name: str, nodes: Nodes) -> tuple[int, IntArray]:
        """The centre and the connected nodes."""
        centre = self._centre(name, nodes)
        rows = region_of(self.where).rows(nodes.positions, nodes.sets)
        feet = rows[rows != centre]
        if not feet.size:
            raise InputError("has no node besides its centre; connect at least one")
        return centre, feet


@checked_arguments
@dataclass(frozen=True, eq=False)
class RigidSpider(Spider):
    """Nodes that follow a centre as a rigid body (RBE2, ``*KINEMATIC``); it stiffens the part.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    >>> fe = pp.assemble(mesh, steel, connections={"flange": pp.RigidSpider("x1", position=(0.5, 0.01, 0.01))})
    >>> bar = pp.reduce(fe, interfaces={"root": pp.Rigid("x0"), "tip": pp.Rigid("flange")}, reference="root")
    >>> bar.frames["tip"].x.round(6)[0].item()  # the centre, 0.1 m in front of the bar
    0.5
    """

    kind = "rigid-spider"

    def dependence(self, name: str, nodes: Nodes) -> Dependence:
        centre, feet = self._feet(name, nodes)
        own, motion = _feet_motion(nodes, centre, feet, self.components)
        return Dependence(name, own, spread(motion, nodes.freedoms.six(np.array([centre]))[0], nodes.freedoms.size))

    def arms(self, name: str, nodes: Nodes) -> Arms:
        centre, feet = self._feet(name, nodes)
        return Arms(centre, feet, rigid_motion(nodes.positions[feet] - nodes.positions[centre]), None)


@checked_arguments
@dataclass(frozen=True, eq=False)
class AveragingSpider(Spider):
    """A centre that follows the weighted mean motion of its nodes (RBE3, ``*DISTRIBUTING``); it adds no stiffness.

    weights (n,): of the nodes, in the order of their rows; by default equal.  Weights of rotations are these times the square of
    the nodes' mean distance from the centre.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    >>> fe = pp.assemble(mesh, steel, connections={"flange": pp.AveragingSpider("x1", position=(0.5, 0.01, 0.01))})
    >>> bar = pp.reduce(fe, interfaces={"root": pp.Rigid("x0"), "tip": pp.Averaged("flange")}, reference="root")
    >>> bar.frames["tip"].x.round(6)[0].item()
    0.5
    """

    components: str = "123"
    weights: Sequence[float] | None = None

    kind = "averaging-spider"

    def dependence(self, name: str, nodes: Nodes) -> Dependence:
        centre, feet = self._feet(name, nodes)
        return Dependence(name, nodes.freedoms.six(np.array([centre]))[0], self._average(nodes, centre, feet))

    def arms(self, name: str, nodes: Nodes) -> Arms:
        centre, feet = self._feet(name, nodes)
        arm = nodes.positions[feet] - nodes.positions[centre]
        return Arms(centre, feet, rigid_motion(arm), self._average(nodes, centre, feet))

    def _average(self, nodes: Nodes, centre: int, feet: IntArray) -> sp.csr_matrix:
        """G (6, size)."""
        own, motion = _feet_motion(nodes, centre, feet, self.components)
        weight = self._dof_weights(nodes, centre, feet, own)
        size = max(float(np.linalg.norm(nodes.positions[feet] - nodes.positions[centre], axis=1).mean()), 1e-300)
        scaled = motion / np.array([1.0, 1.0, 1.0, size, size, size])
        gram = (scaled.T * weight) @ scaled
        if not np.linalg.cond(gram) < 1e12:
            raise InputError(f"its {len(feet)} nodes do not define all motions of the centre; use nodes that are not collinear")
        fit = np.asarray(np.linalg.solve((motion.T * weight) @ motion, motion.T * weight), dtype=float)
        return spread(fit, own, nodes.freedoms.size)

    def _dof_weights(self, nodes: Nodes, centre: int, feet: IntArray, own: IntArray) -> FloatArray:
        """Weight of each connected degree of freedom."""
        given = np.ones(len(feet)) if self.weights is None else floats(self.weights, "weights")
        if given.shape != feet.shape or not given.min() > 0:
            raise InputError(f"weights: {given.size} given for {len(feet)} nodes; give one positive weight per node")
        distance = np.linalg.norm(nodes.positions[feet] - nodes.positions[centre], axis=1).mean()
        block = own // 3
        turns = block >= nodes.freedoms.nodes
        owner = nodes.freedoms.node_of_block[block]
        return np.asarray(given[np.searchsorted(feet, owner)] * np.where(turns, distance**2 or 1.0, 1.0))


@checked_arguments
@dataclass(frozen=True, eq=False)
class Equation(Connection):
    """Linear equation ``Σ_j c_j u_j = 0`` between degrees of freedom (MPC, ``*EQUATION``); that of the first term is dependent.

    terms: (node number, component 1 … 6, factor c_j) each; components 4 … 6 need a node with a rotation.
    A free body must be able to move rigidly under it.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    >>> a, b = (mesh.node_ids[rows[0]].item() for rows in (mesh.node_sets["y0"], mesh.node_sets["y1"]))
    >>> fe = pp.assemble(mesh, steel, connections={"clip": pp.Equation([(b, 2, 1.0), (a, 2, -1.0)])})
    >>> fe.constraints.dependent.size  # one degree of freedom follows another
    1
    """

    terms: Sequence[tuple[int, int, float]]

    kind = "equation"

    def __post_init__(self) -> None:
        rows = floats(self.terms, "connection: terms")
        good = rows.ndim == 2 and rows.shape[1:] == (3,) and len(rows) > 1
        if not good or (rows[:, :2] != np.floor(rows[:, :2])).any() or not ((rows[:, 1] >= 1) & (rows[:, 1] <= 6)).all():
            raise InputError(f"connection: terms: {shown(self.terms)}; give at least two (node number, component 1 to 6, factor)")
        if not rows[0, 2]:
            raise InputError("connection: terms: the first factor is zero; its degree of freedom is the dependent one")

    def rotating(self, name: str, nodes: Nodes) -> IntArray:
        return NO_NODES

    def dependence(self, name: str, nodes: Nodes) -> Dependence:
        table = np.asarray(self.terms, dtype=float)
        rows = [row_of(nodes, int(number), "terms") for number in table[:, 0]]
        dofs = np.array([_dof_of(nodes, row, int(component)) for row, component in zip(rows, table[:, 1])])
        if len(np.unique(dofs)) < len(dofs):
            raise InputError("terms: a degree of freedom occurs twice; add its factors")
        return Dependence(name, dofs[:1], spread(-table[None, 1:, 2] / table[0, 2], dofs[1:], nodes.freedoms.size))


@checked_arguments
@dataclass(frozen=True, eq=False)
class Bushing(Connection):
    """Six springs between two nodes with rotations; rigid motions of both are free of force.

    first, second: the nodes, each by its number or a set of one node.  translation, rotation (3,): stiffness along and about the
    axes [N/m, N m/rad].  axes (3, 3): columns in mesh axes, by default mesh axes.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    >>> joints = {
    ...     "eye": pp.RigidSpider("x1"),
    ...     "pin": pp.RigidSpider("x0"),
    ...     "rubber": pp.Bushing("pin", "eye", translation=(1e6, 1e6, 1e6), rotation=(10.0, 10.0, 10.0)),
    ... }
    >>> fe = pp.assemble(mesh, steel, connections=joints)
    >>> abs(fe.K @ fe.rigid_motion(fe.centre_of_mass)).max().item() < 1e-2  # of K up to 1e10
    True
    """

    first: str | int
    second: str | int
    _: KW_ONLY
    translation: ArrayLike = (0.0, 0.0, 0.0)
    rotation: ArrayLike = (0.0, 0.0, 0.0)
    axes: ArrayLike | None = None

    kind = "bushing"

    def __post_init__(self) -> None:
        for option in ("translation", "rotation"):
            if not vector(getattr(self, option), f"connection: {option}").min() >= 0:
                raise InputError(f"connection: {option}: {shown(getattr(self, option))}; give three stiffnesses, none negative")
        if self.axes is not None:
            rotation_of(self.axes)

    def rotating(self, name: str, nodes: Nodes) -> IntArray:
        return np.array(self._ends(nodes))

    def stiffness(self, name: str, nodes: Nodes) -> sp.csr_matrix:
        a, b = self._ends(nodes)
        if a == b:
            raise InputError("first and second are the same node; give two")
        axes = np.eye(3) if self.axes is None else rotation_of(self.axes)
        carried = np.vstack([rigid_motion((nodes.positions[b] - nodes.positions[a])[None])[0], np.eye(6)[3:]])
        relative = np.kron(np.eye(2), axes.T) @ np.hstack([-carried, np.eye(6)])
        B = spread(relative, nodes.freedoms.six(np.array([a, b])).ravel(), nodes.freedoms.size)
        k = np.concatenate([vector(self.translation, "translation"), vector(self.rotation, "rotation")])
        return sp.csr_matrix(B.T @ sp.diags(k) @ B)

    def _ends(self, nodes: Nodes) -> tuple[int, int]:
        return one_node(nodes, self.first, "first"), one_node(nodes, self.second, "second")


CONNECTIONS: dict[str, type[Connection]] = {each.kind: each for each in (RigidSpider, AveragingSpider, Equation, Bushing)}


class Connected(NamedTuple):
    """Nodes with the centres that connections add; what the connections constrain, stiffen and turn."""

    nodes: Nodes
    rows: tuple[Dependence, ...]
    stiffness: sp.csr_matrix
    arms: dict[str, Arms]


def connected(nodes: Nodes, connections: Mapping[str, Connection]) -> Connected:
    """All connections on the nodes of a model; ``nodes.freedoms.rotating`` are the nodes that elements rotate.

    Raises InputError listing the problems of every connection.
    """
    instance(connections, Mapping, "connections", f"{KINDS} by name")
    for name, each in connections.items():
        instance(each, Connection, f"connections.{name}", KINDS)
    nodes = _with_centres(nodes, connections)
    turned = _of_each(connections, lambda name, each: each.rotating(name, nodes)).values()
    rotating = np.unique(np.concatenate([nodes.freedoms.rotating, *turned])).astype(np.int64)
    nodes = nodes._replace(freedoms=Freedoms(len(nodes.positions), rotating))
    rows = _of_each(connections, lambda name, each: each.dependence(name, nodes))
    arms = _of_each(connections, lambda name, each: each.arms(name, nodes))
    springs = _of_each(connections, lambda name, each: each.stiffness(name, nodes))
    size = nodes.freedoms.size
    return Connected(
        nodes,
        tuple(each for each in rows.values() if each is not None),
        sum((K for K in springs.values() if K is not None), sp.csr_matrix((size, size))),
        {name: each for name, each in arms.items() if each is not None},
    )


def _with_centres(nodes: Nodes, connections: Mapping[str, Connection]) -> Nodes:
    """The nodes and, behind them, the new centres, each in a set with its connection's name."""
    found = _of_each(connections, lambda name, each: each.centre(name, nodes.positions, nodes.sets))
    new = {name: place for name, place in found.items() if place is not None}
    taken = [name for name in new if name in nodes.sets]
    if taken:
        raise InputError(*(f"connections.{name}: the mesh has a set of that name; choose another" for name in taken))
    if not new:
        return nodes
    first, count = len(nodes.positions), len(new)
    ids = np.concatenate([nodes.ids, nodes.ids.max(initial=0) + 1 + np.arange(count)])
    sets = {**nodes.sets, **{name: np.array([first + k]) for k, name in enumerate(new)}}
    freedoms = Freedoms(first + count, nodes.freedoms.rotating)
    return Nodes(np.vstack([nodes.positions, *new.values()]), ids, sets, freedoms)


def _of_each(connections: Mapping[str, Connection], found: Callable[[str, Connection], Found]) -> dict[str, Found]:
    """A result of each connection. Raises InputError with the problems of all."""
    results: dict[str, Found] = {}
    problems: list[str] = []
    for name, each in connections.items():
        try:
            results[name] = found(name, each)
        except InputError as error:
            problems += [f"connections.{name}: {problem}" for problem in error.problems]
    if problems:
        raise InputError(*problems)
    return results


def _feet_motion(nodes: Nodes, centre: int, feet: IntArray, components: str) -> tuple[IntArray, FloatArray]:
    """Connected degrees of freedom (n,) of the feet, and their motion (n, 6) with the centre."""
    chosen = np.array([int(c) - 1 for c in sorted(set(components))])
    arm = rigid_motion(nodes.positions[feet] - nodes.positions[centre])
    dofs, motion = [(3 * feet[:, None] + chosen[chosen < 3]).ravel()], [arm[:, chosen[chosen < 3]].reshape(-1, 6)]
    turned = feet[nodes.freedoms.rotates(feet)]
    if (chosen >= 3).any() and turned.size:
        dofs.append(nodes.freedoms.six(turned)[:, chosen[chosen >= 3]].ravel())
        motion.append(np.tile(np.eye(6)[chosen[chosen >= 3]], (len(turned), 1)))
    return np.concatenate(dofs), np.vstack(motion)


def one_node(nodes: Nodes, where: str | int, what: str) -> int:
    """Row of a node given by its number, or by a set that has only this node. Raises InputError."""
    if isinstance(where, int):
        return row_of(nodes, where, what)
    rows = region_of(where).rows(nodes.positions, nodes.sets)
    if len(rows) != 1:
        raise InputError(f"{what}: {where!r} has {len(rows)} nodes; give a set of one node, or its number")
    return int(rows[0])


def row_of(nodes: Nodes, number: int, what: str) -> int:
    """Row of the node with a number. Raises InputError."""
    found = np.flatnonzero(nodes.ids == number)
    if not found.size:
        raise InputError(f"{what}: the mesh has no node {number}; its node numbers are {nodes.ids.min()}..{nodes.ids.max()}")
    return int(found[0])


def _dof_of(nodes: Nodes, row: int, component: int) -> int:
    if component <= 3:
        return 3 * row + component - 1
    if not nodes.freedoms.rotates(np.array([row]))[0]:
        raise InputError(f"terms: node {nodes.ids[row]} has no rotation; use components 1 to 3")
    return int(nodes.freedoms.six(np.array([row]))[0, component - 1])


def _check_components(components: str, what: str) -> None:
    if not isinstance(components, str) or not components or set(components) - set(ALL):
        raise InputError(f"connection: {what}: {shown(components)}; give digits from 1 to 6, such as '123'")

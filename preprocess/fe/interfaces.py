"""Interfaces: where joints and forces are attached to a finite-element body.

An interface couples nodes to one frame with six coordinates, translation t and rotation θ of a
point p in mesh axes. The nodes of a `Rigid` interface follow the frame (RBE2): ``u_i = t + θ × (x_i
− p)``. The frame of an `Averaged` interface follows its nodes (RBE3), by the rigid motion that fits
them in weighted least squares. A rigid interface stiffens the part, an averaged one does not.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import InputError, raise_problems
from flexmbs.flexible_body.components import FloatArray
from preprocess.fe.freedoms import NONE, Freedoms, dofs_of
from preprocess.inputs.argument_checks import checked_arguments, floats, instance
from preprocess.mesh.node_regions import NodeRows, NodeSets, Region, check_distance, region_of
from preprocess.mesh.rigid_motion import rigid_motion, rotation_of

IntArray = NDArray[np.int64]
NO_TRIANGLES: IntArray = np.zeros((0, 3), np.int64)
# second over first singular value of the node positions; below it moments about the line would need
# forces a million times larger
_COLLINEAR = 1e-6
SAMPLE = "hub_face"


@dataclass(frozen=True, eq=False)
class BoundInterface:
    """Interface on a given mesh: node rows (n,), frame position (3,) and axes (3, 3).

    ``drives_nodes``: the nodes follow the frame (rigid), otherwise the frame follows the nodes
    (averaged). blocks (b,): translations of the nodes and, behind them, the rotations that are
    coupled; rigid_motion T (b, 3, 6): their motion with the frame; weights (b,): of least squares;
    weighted (b, 3, 6): the product W T of these; gram (6, 6): TᵀWT.
    """

    name: str
    kind: str
    drives_nodes: bool
    nodes: NodeRows
    position: FloatArray
    axes: FloatArray
    blocks: IntArray
    rigid_motion: FloatArray
    weights: FloatArray
    weighted: FloatArray
    gram: FloatArray

    @property
    def dofs(self) -> IntArray:
        """Degrees of freedom of the blocks, (3b,)."""
        return dofs_of(self.blocks)

    @property
    def radius(self) -> float:
        """Weighted root mean square distance of its nodes from the frame, m."""
        return float(np.sqrt(np.trace(self.gram[3:, 3:]) / np.trace(self.gram[:3, :3])))

    @property
    def average(self) -> FloatArray:
        """Motion of the frame from that of its nodes, ``(TᵀWT)⁻¹ TᵀW`` (6, 3b).

        T is the rigid motion of the blocks. Source: MSC Nastran, Quick Reference Guide, RBE3.
        """
        return np.asarray(np.linalg.solve(self.gram, self.weighted.reshape(-1, 6).T))


@checked_arguments
@dataclass(frozen=True, eq=False)
class Interface(ABC):
    """Declaration of an interface.

    where: its nodes, by a set's name, a `Point`, a `Plane` or a `face` of a CAD model. position (3,):
    of the frame [m]; by default the centroid of the face or of the surface between the nodes, or the
    mean of the nodes. axes (3, 3): of
    the frame, columns in mesh axes; by default mesh axes.
    """

    where: str | Region
    _: KW_ONLY
    position: ArrayLike | None = None
    axes: ArrayLike | None = None

    kind: ClassVar[str]
    drives_nodes: ClassVar[bool]

    @abstractmethod
    def node_weights(self, count: int) -> FloatArray:
        """Weights of the nodes, (count,). Raises InputError."""

    def bind(
        self,
        name: str,
        nodes: FloatArray,
        sets: NodeSets,
        triangles: IntArray = NO_TRIANGLES,
        freedoms: Freedoms | None = None,
    ) -> BoundInterface:
        """Bind the interface to a mesh: nodes, frame, weights and rigid motion.

        freedoms: of the nodes, by default translations only. Raises InputError naming it.
        """
        freedoms = freedoms or Freedoms(len(nodes))
        try:
            region = region_of(self.where)
            rows = region.rows(nodes, sets)
            turned = self._turned(nodes[rows], rows, freedoms)
            if self.position is not None:
                position = _vector(self.position)
            elif (centre := region.centre(nodes, sets)) is not None:
                position = centre
            else:
                position = surface_centroid(nodes, rows, triangles)
            check_distance(position, nodes, "position")
            axes = np.eye(3) if self.axes is None else rotation_of(self.axes)
            weights = self.node_weights(len(rows))
            blocks = np.concatenate([rows, freedoms.rotation_blocks(turned)])
            drives = self.drives_nodes and self._free(rows, blocks, freedoms)
        except InputError as error:
            raise InputError(
                *(f"interfaces.{name}: {problem}" for problem in error.problems)
            ) from None
        motion, weights = coupled_motion(nodes[rows] - position, rows, turned, weights)
        weighted = self._weighted(weights, motion)
        gram = weighted.reshape(-1, 6).T @ motion.reshape(-1, 6)
        return BoundInterface(
            name, self.kind, drives, rows, position, axes, blocks, motion, weights, weighted, gram
        )

    def _weighted(self, weights: FloatArray, motion: FloatArray) -> FloatArray:
        """Motion of the nodes (n, 3, 6) multiplied by their weights."""
        return np.asarray(weights[:, None, None] * motion)

    def _turned(self, points: FloatArray, rows: IntArray, freedoms: Freedoms) -> IntArray:
        """Nodes whose rotations are coupled to the interface.

        For a rigid interface all that have one; for an averaged interface only if the translations
        do not define the rotation of the frame. Raises InputError if nothing defines it.
        """
        turned = rows[freedoms.rotates(rows)]
        if turned.size and self.drives_nodes:
            return turned
        try:
            check_spread(points)
        except InputError:
            if not turned.size:
                raise
            return turned
        return NONE

    @staticmethod
    def _free(rows: IntArray, blocks: IntArray, freedoms: Freedoms) -> bool:
        """True if the nodes can follow the frame; False for a single dependent node.

        A single node that follows others carries the frame instead. Raises InputError for several
        nodes of which some follow others.
        """
        follow = np.isin(dofs_of(blocks), freedoms.dependent)
        if follow.any() and len(rows) > 1:
            raise InputError(
                f"{follow.sum()} of its degrees of freedom follow a connection; use the "
                "connection's centre, or Averaged"
            )
        return not follow.any()


class Rigid(Interface):
    """Interface whose nodes follow its frame as a rigid body (RBE2).

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    >>> bar = pp.reduce(mesh, steel, interfaces=ends, reference="root")
    >>> sorted(bar.frames), bar.frames["tip"].kind
    (['root', 'tip'], 'rigid')
    >>> bar.nf  # 12 normal modes by default, and 6 · 2 static shapes less 6 rigid motions
    18
    """

    kind = "rigid"
    drives_nodes = True

    def node_weights(self, count: int) -> FloatArray:
        """Equal weights of the nodes."""
        return np.ones(count)


@checked_arguments
@dataclass(frozen=True, eq=False)
class Averaged(Interface):
    """Interface whose frame follows the weighted mean motion of its nodes (RBE3).

    weights (n,): of the nodes, in the order of their rows; by default equal.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> ends = {"root": pp.Rigid("x0"), "tip": pp.Averaged("x1")}
    >>> bar = pp.reduce(mesh, steel, interfaces=ends, reference="root")
    >>> bar.frames["tip"].kind, (bar.frames["tip"].x - bar.frames["root"].x).round(6)[0].item()
    ('averaged', 0.4)
    """

    weights: Sequence[float] | None = None

    kind = "averaged"
    drives_nodes = False

    def node_weights(self, count: int) -> FloatArray:
        """Weights of the nodes, given or equal. Raises `InputError`."""
        weights = np.ones(count) if self.weights is None else floats(self.weights, "weights")
        if weights.shape != (count,) or not np.all(np.isfinite(weights)) or weights.min() <= 0:
            raise InputError(
                f"weights: {weights.size} given for {count} nodes; give one positive "
                "weight per node"
            )
        return weights


def coupled_motion(
    arm: FloatArray, rows: IntArray, turned: IntArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Rigid motion T (b, 3, 6) and weights (b,) of the blocks of a coupling, in least squares.

    The blocks are the translations of the nodes ``rows`` at ``arm`` (n, 3) with ``weights`` (n,),
    and the rotations of those of them in ``turned``, with weights of the same unit.
    """
    motion = np.concatenate(
        [rigid_motion(arm), np.broadcast_to(np.eye(6)[3:], (len(turned), 3, 6))]
    )
    size = float(np.linalg.norm(arm, axis=1).mean()) or 1.0
    return motion, np.concatenate([weights, weights[np.isin(rows, turned)] * size**2])


INTERFACES: dict[str, type[Interface]] = {
    interface.kind: interface for interface in (Rigid, Averaged)
}


def surface_centroid(nodes: FloatArray, rows: IntArray, triangles: IntArray) -> FloatArray:
    """Area-weighted centroid (3,) of the surface between the given nodes, or their mean.

    A triangle counts if all its corners are among the node rows. The mean of the nodes would be off
    the axis of a bore with a finer mesh on one side.
    """
    inside = np.zeros(len(nodes), bool)
    inside[rows] = True
    corners = nodes[triangles[inside[triangles].all(axis=1)]]
    if len(corners) == 0:
        return np.asarray(nodes[rows].mean(axis=0))
    areas = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    return np.asarray(np.average(corners.mean(axis=1), axis=0, weights=areas))


def bind_interfaces(
    interfaces: Mapping[str, Interface],
    nodes: FloatArray,
    sets: NodeSets,
    triangles: IntArray = NO_TRIANGLES,
    freedoms: Freedoms | None = None,
) -> list[BoundInterface]:
    """All interfaces on one mesh, see `Interface.bind`.

    Raises InputError listing every problem: sets, spread, shared nodes.
    """
    instance(interfaces, Mapping, "interfaces", "Rigid or Averaged by name")
    if not interfaces:
        raise InputError("interfaces: none given; declare at least one for the joints")
    bound: list[BoundInterface] = []
    problems: list[str] = []
    for name, interface in interfaces.items():
        try:
            if not isinstance(name, str) or not name or "/" in name or name == "." or "\0" in name:
                raise InputError(
                    f"interfaces: {name!r:.60} is not a frame name; give a string without '/'"
                )
            instance(
                interface,
                Interface,
                f"interfaces.{name}",
                f"Rigid or Averaged, such as Rigid({SAMPLE!r})",
            )
            bound.append(interface.bind(name, nodes, sets, triangles, freedoms))
        except InputError as error:
            problems.extend(error.problems)
    problems.extend(_overlaps(bound))
    raise_problems(problems)
    return bound


def interface_index(name: str, names: Sequence[str], where: str, others: Sequence[str] = ()) -> int:
    """Index of the interface ``name`` in ``names``.

    Raises InputError starting with ``where``, with close names, also of ``others``.
    """
    if not isinstance(name, str) or name not in names:
        near = difflib.get_close_matches(str(name), [*names, *others], n=3) or [*names, *others]
        raise InputError(f"{where}: no interface {name!r}; choose one of: {', '.join(near)}")
    return list(names).index(name)


def _overlaps(bound: Sequence[BoundInterface]) -> list[str]:
    """Problems of pairs of interfaces that share nodes of a rigid one, or have the same nodes."""
    problems: list[str] = []
    for k, second in enumerate(bound):
        for first in bound[:k]:
            shared = np.intersect1d(first.nodes, second.nodes).size
            same = shared == first.nodes.size == second.nodes.size
            if shared and (first.drives_nodes or second.drives_nodes or same):
                pair = f"{first.name} ({first.kind}) and {second.name} ({second.kind})"
                problems.append(
                    f"interfaces: {pair} share {shared} nodes; a node can follow only one "
                    "frame; make them disjoint"
                )
    return problems


def check_spread(points: FloatArray) -> None:
    """Raise InputError unless the points can carry moments about every axis.

    At least three points are needed, not collinear.
    """
    if len(points) < 3:
        raise InputError(
            f"has {len(points)} node(s), which cannot carry moments; use at least 3 that "
            "are not collinear"
        )
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    if not spread[1] > _COLLINEAR * spread[0]:
        raise InputError(
            f"its {len(points)} nodes are collinear and cannot carry moments; enlarge the set"
        )


def _vector(value: ArrayLike) -> FloatArray:
    """Position of three coordinates in m. Raises `InputError`."""
    if np.shape(value) != (3,) or not np.all(np.isfinite(point := floats(value, "position"))):
        raise InputError(
            f"position: {value!r:.60} is not a point; give three coordinates in metres"
        )
    return point

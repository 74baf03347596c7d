"""Interfaces: the places where joints and forces take hold of a finite-element body.

An interface gathers nodes into one frame with six coordinates, translation t and rotation θ of a point p in mesh axes.
`Rigid` nodes follow the frame (RBE2): ``u_i = t + θ × (x_i − p)``. The frame of `Averaged` nodes follows them (RBE3): the rigid
motion nearest to the nodes in weighted least squares. A rigid interface stiffens the part, an averaged one does not.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import InputError
from flexmbs.flexible_body import FloatArray
from preprocess.arguments import floats, instance, number, spelt, vector

NodeRows = NDArray[np.int64]
IntArray = NDArray[np.int64]
NodeSets = Mapping[str, IntArray]
NO_TRIANGLES: IntArray = np.zeros((0, 3), np.int64)
_COLLINEAR = 1e-6
FARTHEST = 100.0  # sizes of the part from its middle to what belongs to it
SAMPLE = "hub_face"


class Region(ABC):
    """Part of a mesh that a rule picks out."""

    @abstractmethod
    def rows(self, nodes: FloatArray, sets: NodeSets) -> NodeRows:
        """Rows of the nodes (N, 3) in the region. Raises InputError."""


@dataclass(frozen=True)
class NamedSet(Region):
    """Nodes of the mesh's set ``name``."""

    name: str

    def rows(self, nodes: FloatArray, sets: NodeSets) -> NodeRows:
        if self.name not in sets:
            near = difflib.get_close_matches(self.name, sets, n=3) or sorted(sets)[:10]
            raise InputError(f"the mesh has no set {self.name!r}; it has: {', '.join(near) or 'no named sets'}")
        return np.unique(np.asarray(sets[self.name], dtype=np.int64))


@spelt
@dataclass(frozen=True)
class Point(Region):
    """Nodes within ``radius`` of the point ``position`` [m]; the nearest node alone when no radius is given."""

    position: tuple[float, float, float]
    radius: float | None = None

    def rows(self, nodes: FloatArray, sets: NodeSets) -> NodeRows:
        distance = np.linalg.norm(nodes - vector(self.position, "point"), axis=1)
        if self.radius is None:
            near_enough(np.asarray(self.position, float), nodes, "point")
            return np.array([np.argmin(distance)])
        if not 0 <= number(self.radius, "radius") < np.inf:
            raise InputError(f"radius: {self.radius} m; give a length that is not negative")
        found = np.flatnonzero(distance <= self.radius)
        if not found.size:
            raise InputError(f"no node within {self.radius:g} m of {self.position}; the nearest is {distance.min():.4g} m away")
        return found


@spelt
@dataclass(frozen=True)
class Plane(Region):
    """Nodes on the plane through ``point`` [m] across ``normal``, within ``tolerance`` [m] (default 1e-6 of the mesh's size)."""

    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    tolerance: float | None = None

    def rows(self, nodes: FloatArray, sets: NodeSets) -> NodeRows:
        normal, point = vector(self.normal, "plane normal"), vector(self.point, "plane point")
        length = np.linalg.norm(normal)
        if self.tolerance is not None and not 0 <= number(self.tolerance, "tolerance") < np.inf:
            raise InputError(f"tolerance: {self.tolerance} m; give a length that is not negative")
        if not length > 0:
            raise InputError(f"plane normal {self.normal} has no length; give a direction")
        distance = np.abs((nodes - point) @ (normal / length))
        size = np.ptp(nodes, axis=0).max()
        found = np.flatnonzero(distance <= (1e-6 * size if self.tolerance is None else self.tolerance))
        if not found.size:
            raise InputError(f"no node on the plane through {self.point}; the nearest is {distance.min():.4g} m away")
        return found


@dataclass(frozen=True, eq=False)
class BoundInterface:
    """Interface on a given mesh: node rows (n,), frame position (3,) and axes (3, 3), least-squares weights (n,).

    ``drives_nodes``: the nodes follow the frame (rigid) rather than the frame the nodes (averaged).
    """

    name: str
    kind: str
    drives_nodes: bool
    nodes: NodeRows
    position: FloatArray
    axes: FloatArray
    rigid_motion: FloatArray
    weights: FloatArray

    @property
    def average(self) -> FloatArray:
        """Motion of the frame from that of its nodes, ``(TᵀWT)⁻¹ TᵀW`` with T the rigid motion of the nodes, (6, 3n).

        Source: MSC Nastran, Quick Reference Guide, RBE3.
        """
        T, w = self.rigid_motion.reshape(-1, 6), np.repeat(self.weights, 3)
        return np.asarray(np.linalg.solve((T.T * w) @ T, T.T * w))


@spelt
@dataclass(frozen=True, eq=False)
class Interface(ABC):
    """Declaration of an interface: ``where`` its nodes are (a set's name, `Point` or `Plane`), the frame's ``position`` [m]
    (default: centroid of the surface between the nodes, or their mean where they span none) and ``axes`` (3, 3), columns in mesh
    axes (default: mesh axes)."""

    where: str | Region
    _: KW_ONLY
    position: ArrayLike | None = None
    axes: ArrayLike | None = None

    kind: ClassVar[str]
    drives_nodes: ClassVar[bool]

    @abstractmethod
    def node_weights(self, count: int) -> FloatArray:
        """Weights of the nodes, (count,). Raises InputError."""

    def bind(self, name: str, nodes: FloatArray, sets: NodeSets, triangles: IntArray = NO_TRIANGLES) -> BoundInterface:
        """The interface on a mesh with nodes (N, 3), named sets, surface triangles (T, 3). Raises InputError naming it."""
        try:
            region = region_of(self.where)
            rows = region.rows(nodes, sets)
            _check_spread(nodes[rows])
            position = surface_centroid(nodes, rows, triangles) if self.position is None else _vector(self.position)
            near_enough(position, nodes, "position")
            axes = np.eye(3) if self.axes is None else _rotation(self.axes)
            weights = self.node_weights(len(rows))
        except InputError as error:
            raise InputError(*(f"interfaces.{name}: {problem}" for problem in error.problems)) from None
        motion = rigid_motion(nodes[rows] - position)
        return BoundInterface(name, self.kind, self.drives_nodes, rows, position, axes, motion, weights)


class Rigid(Interface):
    """Interface whose nodes follow its frame as a rigid body (RBE2)."""

    kind = "rigid"
    drives_nodes = True

    def node_weights(self, count: int) -> FloatArray:
        return np.ones(count)


@spelt
@dataclass(frozen=True, eq=False)
class Averaged(Interface):
    """Interface whose frame follows the weighted mean motion of its nodes (RBE3); ``weights`` in the order of the node rows."""

    weights: Sequence[float] | None = None

    kind = "averaged"
    drives_nodes = False

    def node_weights(self, count: int) -> FloatArray:
        weights = np.ones(count) if self.weights is None else floats(self.weights, "weights")
        if weights.shape != (count,) or not np.all(np.isfinite(weights)) or weights.min() <= 0:
            raise InputError(f"weights: {weights.size} given for {count} nodes; give one positive weight per node")
        return weights


INTERFACES: dict[str, type[Interface]] = {interface.kind: interface for interface in (Rigid, Averaged)}


def near_enough(point: FloatArray, nodes: FloatArray, what: str) -> None:
    """InputError for a point (3,) so far from the nodes (N, 3) that it must be in another unit."""
    centre, size = 0.5 * (nodes.min(axis=0) + nodes.max(axis=0)), float(np.linalg.norm(np.ptp(nodes, axis=0)))
    distance = float(np.linalg.norm(point - centre))
    if distance > FARTHEST * size:
        raise InputError(f"{what} {point.tolist()} is {distance:.4g} m from a part of {size:.4g} m; give it in metres")


def region_of(where: str | Region) -> Region:
    """The region that a set's name or a region stands for. Raises InputError."""
    return NamedSet(where) if isinstance(where, str) else instance(where, Region, "place", "the name of a set, Point or Plane")


def rigid_motion(arm: FloatArray) -> FloatArray:
    """Displacements of points at ``arm`` (n, 3) from the reference point under the six unit rigid motions, (n, 3, 6):
    ``u = t + θ × arm``."""
    motion = np.zeros((len(arm), 3, 6))
    motion[:, :, :3] = np.eye(3)
    x, y, z = arm.T
    motion[:, 0, 4], motion[:, 0, 5] = z, -y
    motion[:, 1, 3], motion[:, 1, 5] = -z, x
    motion[:, 2, 3], motion[:, 2, 4] = y, -x
    return motion


def surface_centroid(nodes: FloatArray, rows: IntArray, triangles: IntArray) -> FloatArray:
    """Area-weighted centroid (3,) of the surface triangles with all corners among the node rows, or the rows' mean.

    A mean of nodes would lie off the axis of a bore that is meshed more finely on one side.
    """
    inside = np.zeros(len(nodes), bool)
    inside[rows] = True
    corners = nodes[triangles[inside[triangles].all(axis=1)]]
    if len(corners) == 0:
        return np.asarray(nodes[rows].mean(axis=0))
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return np.asarray(np.average(corners.mean(axis=1), axis=0, weights=areas))


def bind_interfaces(
    interfaces: Mapping[str, Interface], nodes: FloatArray, sets: NodeSets, triangles: IntArray = NO_TRIANGLES
) -> list[BoundInterface]:
    """All interfaces on one mesh. Raises InputError listing every problem: sets, spread, nodes claimed twice."""
    instance(interfaces, Mapping, "interfaces", "Rigid or Averaged by name")
    if not interfaces:
        raise InputError("interfaces: none given; name at least one place where a joint can take hold")
    bound: list[BoundInterface] = []
    problems: list[str] = []
    for name, interface in interfaces.items():
        try:
            if not isinstance(name, str) or not name or "/" in name or name == "." or "\0" in name:
                raise InputError(f"interfaces: {name!r:.60} is no name of a frame; give a text without '/'")
            instance(interface, Interface, f"interfaces.{name}", f"Rigid or Averaged, such as Rigid({SAMPLE!r})")
            bound.append(interface.bind(name, nodes, sets, triangles))
        except InputError as error:
            problems.extend(error.problems)
    problems.extend(_overlaps(bound))
    if problems:
        raise InputError(*problems)
    return bound


def interface_index(name: str, names: Sequence[str], where: str, others: Sequence[str] = ()) -> int:
    """Place of the interface ``name`` among ``names``. Raises InputError, which begins with ``where`` and has close names, of
    ``others`` too."""
    if not isinstance(name, str) or name not in names:
        near = difflib.get_close_matches(str(name), [*names, *others], n=3) or [*names, *others]
        raise InputError(f"{where}: no interface {name!r}; choose one of: {', '.join(near)}")
    return list(names).index(name)


def _overlaps(bound: Sequence[BoundInterface]) -> list[str]:
    """Pairs that share nodes where one of them drives its nodes, or that have the same nodes."""
    problems: list[str] = []
    for k, second in enumerate(bound):
        for first in bound[:k]:
            shared = np.intersect1d(first.nodes, second.nodes).size
            same = shared == first.nodes.size == second.nodes.size
            if shared and (first.drives_nodes or second.drives_nodes or same):
                pair = f"{first.name} ({first.kind}) and {second.name} ({second.kind})"
                problems.append(f"interfaces: {pair} share {shared} nodes; a node can follow one frame only, make them disjoint")
    return problems


def _check_spread(points: FloatArray) -> None:
    """InputError unless the points carry moments about every axis: three at least, not on one line."""
    if len(points) < 3:
        raise InputError(f"has {len(points)} node(s), which cannot carry moments; take at least 3 that are not on one line")
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    if not spread[1] > _COLLINEAR * spread[0]:
        raise InputError(f"its {len(points)} nodes lie on one line and cannot carry moments; widen the set")


def _vector(value: ArrayLike) -> FloatArray:
    if np.shape(value) != (3,) or not np.all(np.isfinite(point := floats(value, "position"))):
        raise InputError(f"position: {value!r:.60} is not a point; give three coordinates in metres")
    return point


def _rotation(value: ArrayLike) -> FloatArray:
    axes = floats(value, "axes")
    good = axes.shape == (3, 3) and np.all(np.isfinite(axes))
    if not good or np.abs(axes.T @ axes - np.eye(3)).max() > 1e-6 or np.linalg.det(axes) < 0:
        raise InputError("axes: must be a right-handed orthonormal 3x3 matrix, one axis per column")
    u, _, v = np.linalg.svd(axes)
    return np.asarray(u @ v)

"""Regions of a mesh: its nodes in a named set, about a point or on a plane."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from preprocess.inputs.argument_checks import (
    checked_arguments,
    instance,
    nonzero_vector,
    not_negative,
    vector,
)

NodeRows = NDArray[np.int64]
NodeSets = Mapping[str, NDArray[np.int64]]
# distance of a point from the centre, in sizes of the part; a thousandfold one is a position in mm
# instead of m
FARTHEST = 100.0


class Region(ABC):
    """Base of the regions of a mesh."""

    @abstractmethod
    def rows(self, nodes: FloatArray, sets: NodeSets) -> NodeRows:
        """Rows of the nodes (N, 3) in the region. Raises InputError."""

    def centre(self, nodes: FloatArray, sets: NodeSets) -> FloatArray | None:
        """Exact centre (3,) of the region, m; None where only its nodes are known."""
        return None


@dataclass(frozen=True)
class NamedSet(Region):
    """Nodes of the mesh's set ``name``."""

    name: str

    def rows(self, nodes: FloatArray, sets: NodeSets) -> NodeRows:
        """Rows of the nodes in the set. Raises `InputError`."""
        if self.name not in sets:
            near = difflib.get_close_matches(self.name, sets, n=3) or sorted(sets)[:10]
            raise InputError(
                f"the mesh has no set {self.name!r}; its sets: {', '.join(near) or 'none'}"
            )
        return np.unique(np.asarray(sets[self.name], dtype=np.int64))


@checked_arguments
@dataclass(frozen=True)
class Point(Region):
    """Region of the nodes about a point.

    position (3,): of the point [m]. radius: m; only the nearest node if it is not given.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1))
    >>> ends = {
    ...     "root": pp.Rigid("x0"),
    ...     "tip": pp.Averaged(pp.Point((0.4, 0.01, 0.01), radius=0.011)),
    ... }
    >>> bar = pp.reduce(
    ...     mesh, pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0), interfaces=ends, reference="root"
    ... )
    >>> (bar.frames["tip"].x - bar.frames["root"].x).round(6)[0].item()
    0.4
    """

    position: tuple[float, float, float]
    radius: float | None = None

    def rows(self, nodes: FloatArray, sets: NodeSets) -> NodeRows:
        """Row of the nearest node, or of all nodes within the radius. Raises `InputError`."""
        distance = np.linalg.norm(nodes - vector(self.position, "point"), axis=1)
        if self.radius is None:
            check_distance(np.asarray(self.position, float), nodes, "point")
            return np.array([np.argmin(distance)])
        not_negative(self.radius, "radius", "give a length in m that is not negative")
        found = np.flatnonzero(distance <= self.radius)
        if not found.size:
            raise InputError(
                f"no node within {self.radius:g} m of {self.position}; the nearest is "
                f"{distance.min():.4g} m away"
            )
        return found


@checked_arguments
@dataclass(frozen=True)
class Plane(Region):
    """Region of the nodes on a plane.

    point (3,): on it [m]. normal (3,): its normal. tolerance: largest distance from it [m]; by
    default 1e-6 of the mesh's size.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1))
    >>> middle = pp.Rigid(pp.Plane(point=(0.2, 0, 0), normal=(1, 0, 0)))
    >>> bar = pp.reduce(
    ...     mesh,
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ...     interfaces={"middle": middle},
    ...     reference="middle",
    ... )
    >>> bar.frames["middle"].x.round(6).tolist()  # from the reference frame, which is there
    [0.0, 0.0, 0.0]
    """

    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    tolerance: float | None = None

    def rows(self, nodes: FloatArray, sets: NodeSets) -> NodeRows:
        """Rows of the nodes on the plane. Raises `InputError`."""
        normal, point = (
            nonzero_vector(self.normal, "plane normal", "give a direction"),
            vector(self.point, "plane point"),
        )
        if self.tolerance is not None:
            not_negative(self.tolerance, "tolerance", "give a length in m that is not negative")
        distance = np.abs((nodes - point) @ (normal / np.linalg.norm(normal)))
        size = np.ptp(nodes, axis=0).max()
        found = np.flatnonzero(
            distance <= (1e-6 * size if self.tolerance is None else self.tolerance)
        )
        if not found.size:
            raise InputError(
                f"no node on the plane through {self.point}; the nearest is "
                f"{distance.min():.4g} m away"
            )
        return found


def check_distance(point: FloatArray, nodes: FloatArray, what: str) -> None:
    """Raise InputError for a point (3,) implausibly far from the nodes (N, 3).

    The unit of such a point must be wrong.
    """
    centre, size = (
        0.5 * (nodes.min(axis=0) + nodes.max(axis=0)),
        float(np.linalg.norm(np.ptp(nodes, axis=0))),
    )
    distance = float(np.linalg.norm(point - centre))
    if distance > FARTHEST * size:
        raise InputError(
            f"{what} {point.tolist()} is {distance:.4g} m from a part of {size:.4g} m; "
            "give it in metres"
        )


def region_of(where: str | Region) -> Region:
    """Region of a set's name, or the region itself. Raises InputError."""
    return (
        NamedSet(where)
        if isinstance(where, str)
        else instance(where, Region, "where", "the name of a set, Point or Plane")
    )

"""Structural elements: contributions of a group of beams or shells to a model.

Every element has nodes with six degrees of freedom, ``u_e`` (6 nn,), in mesh axes. All
contributions are arrays linear in these, element by element: the stiffness, the motion of its mass
points and of its skin, and the stress at the points of the skin.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.flexible_body.free_body import skew
from preprocess.fe.freedoms import Freedoms
from preprocess.fe.mass_points import MovedPoints, concatenated_points
from preprocess.fe.material import Material
from preprocess.mesh.declarations import MassMatrix

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class ElementPoints(NamedTuple):
    """Points of the elements (ne, p, 3) and their motion per degree of freedom (ne, p, 3, 6 nn)."""

    positions: Array
    motion: Array


class PlyData(NamedTuple):
    """Data of n plies from the bottom.

    ζ of their bottom and top (n, 2), angles (n,) in degrees, plane-stress moduli (n, 3, 3) in
    laminate axes, strengths X_t, X_c, Y_t, Y_c, S (n, 5), infinite if unknown.
    """

    heights: Array
    angle: Array
    moduli: Array
    strengths: Array


class LaminatePoints(NamedTuple):
    """Laminate axes and plies at points of the skin.

    Axes (ne, p, 3, 3) as rows at p points of each element, first on the bottom and then on the top
    of the skin; and its plies.
    """

    axes: Array
    plies: PlyData


@dataclass(frozen=True, eq=False)
class StructuralElement(ABC):
    """Elements of one type, section and material.

    kind: element type; connectivity (ne, nn): nodes; ids (ne,): element numbers; numbers (ne, nn):
    node numbers; freedoms: of the model; x (ne, nn, 3): node positions; mass: its formulation.
    """

    kind: str
    connectivity: Indices
    ids: Indices
    numbers: Indices = field(repr=False)
    material: Material
    freedoms: Freedoms = field(repr=False)
    x: Array = field(repr=False)
    mass: MassMatrix = field(default="consistent", kw_only=True)
    rotates: ClassVar[bool] = True
    """Whether the nodes need a rotation."""

    @property
    def lumped(self) -> bool:
        """True for mass at the nodes."""
        return self.mass == "lumped"

    def within(self, rows: Indices, number: Indices, freedoms: Freedoms) -> StructuralElement:
        """Elements of some rows on renumbered nodes.

        (N,): new numbers; freedoms: of the new numbering.
        """
        table = number[self.connectivity[rows]]
        return replace(
            self,
            connectivity=table,
            ids=self.ids[rows],
            numbers=self.numbers[rows],
            x=self.x[rows],
            freedoms=freedoms,
        )

    @property
    def dofs(self) -> Indices:
        """Degrees of freedom of each element (ne, 6 nn)."""
        return self.freedoms.six(self.connectivity).reshape(len(self.connectivity), -1)

    def of_elements(self, u: Array) -> Array:
        """Values (ne, 6 nn, k) for each element from those of all degrees of freedom u (n, k)."""
        return np.asarray(u[self.dofs])

    @abstractmethod
    def stiffness(self) -> Array:
        """Stiffness (ne, 6 nn, 6 nn)."""

    @abstractmethod
    def mass_points(self) -> tuple[ElementPoints, Array]:
        """Points of the mass, and the mass (ne, p) at each, kg.

        Lumped mass is at the nodes, or at the ends of their rigid arms.
        """

    @abstractmethod
    def skin(self) -> tuple[ElementPoints, Indices]:
        """Points of the surface, and its triangles (t, 3) in one element, outward."""

    @abstractmethod
    def stress(self) -> Array:
        """Stress (ne, s, 6, 6 nn) at the points of the skin per degree of freedom [Pa].

        Components xx yy zz xy yz zx in mesh axes.

        (ne, s, 6, 6 nn).
        """

    @property
    def releases(self) -> bool:
        """True if degrees of freedom of element ends are released from the nodes."""
        return False

    def without_releases(self) -> Self:
        """Same elements without releases."""
        return self

    def laminate(self) -> LaminatePoints | None:
        """Laminate axes at the points of the skin, and the plies; None without plies."""
        return None

    @abstractmethod
    def initial_stress_stiffness(
        self, displacements: Array, shapes: Array, forces: Array | None = None
    ) -> Array:
        """Stiffness K0 (k, m, m) of the stresses under displacements (n, k) for shapes (n, m).

        forces (ne, p, 3, k): inertia forces on the mass points, by default none; their work on the
        second-order displacement ½ θ × (θ × r) of rotating points is part of K0.
        """


def lumped_mass(masses: Array, N: Array, *, linear: bool) -> Array:
    """Lumped masses (ne, nn) from those of points (ne, p) with the shape functions N (p, nn).

    linear: m_a = ∫ N_a dm, which keeps the centre of mass; otherwise, where these may be negative,
    m_a = M ∫ N_a² dm / Σ_b ∫ N_b² dm (Hinton, Rock, Zienkiewicz, Earthq. Eng. Struct. Dyn. 4 (1976)
    245).
    """
    if linear:
        return np.asarray(masses @ N)
    squares = masses @ N**2
    return np.asarray(squares * (masses.sum(axis=1) / squares.sum(axis=1))[:, None])


def points_on_arms(ends: Array, arms: Array) -> ElementPoints:
    """Points (ne, nn, 3) that move with the nodes on rigid arms (ne, nn, 3), one per node."""
    ne, nn = ends.shape[:2]
    motion = np.zeros((ne, nn, 3, nn, 6))
    for a in range(nn):
        motion[:, a, :, a, :3] = np.eye(3)
        motion[:, a, :, a, 3:] = -skew(arms[:, a])
    return ElementPoints(ends, motion.reshape(ne, nn, 3, 6 * nn))


class Skin(NamedTuple):
    """Surface of all structural elements: points, material index (s,), triangles (t, 3)."""

    points: MovedPoints
    material: Indices
    triangles: Indices


def stiffness_of(structures: Sequence[StructuralElement], size: int) -> sp.csr_matrix:
    """Stiffness K (size, size) of all structural elements."""
    rows, columns, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    for each in structures:
        n = each.dofs.shape[1]
        rows.append(np.repeat(each.dofs, n, axis=1).ravel())
        columns.append(np.tile(each.dofs, (1, n)).ravel())
        values.append(each.stiffness().ravel())
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    K = sp.csr_matrix(entries, shape=(size, size))
    return sp.csr_matrix(0.5 * (K + K.T))


def mass_of(structures: Sequence[StructuralElement], size: int) -> tuple[list[MovedPoints], Array]:
    """Mass points of all structural elements, and their masses."""
    points, masses = [], [np.zeros(0)]
    for each in structures:
        found, mass = each.mass_points()
        points.append(moved_points(each, found, size))
        masses.append(mass.ravel())
    return points, np.concatenate(masses)


def skin_of(
    structures: Sequence[StructuralElement], materials: Sequence[Material], size: int
) -> Skin:
    """Surface of all structural elements."""
    points, owner, triangles, first = [], [np.zeros(0, np.int64)], [np.zeros((0, 3), np.int64)], 0
    for each in structures:
        found, table = each.skin()
        ne, s = found.positions.shape[:2]
        points.append(moved_points(each, found, size))
        owner.append(
            np.full(
                ne * s, next(k for k, material in enumerate(materials) if material is each.material)
            )
        )
        triangles.append((first + s * np.arange(ne)[:, None, None] + table).reshape(-1, 3))
        first += ne * s
    none = MovedPoints(np.zeros((0, 3)), sp.csr_matrix((0, size)))
    return Skin(
        concatenated_points([none, *points]), np.concatenate(owner), np.concatenate(triangles)
    )


def moved_points(structure: StructuralElement, points: ElementPoints, size: int) -> MovedPoints:
    """Points of the elements as points of the model."""
    ne, p, _, n = points.motion.shape
    columns = np.broadcast_to(structure.dofs[:, None, None, :], points.motion.shape).ravel()
    rows = np.repeat(np.arange(ne * p * 3), n)
    motion = sp.csr_matrix((points.motion.ravel(), (rows, columns)), shape=(ne * p * 3, size))
    return MovedPoints(points.positions.reshape(-1, 3), motion)


def quadratic_form(weights: Array, a: Array, b: Array) -> Array:
    """Symmetric form Σ_p w_pk ½ (a_p b_pᵀ + b_p a_pᵀ), (k, m, m).

    For weights (p, k) and rows a, b (p, m).
    """
    K = np.stack([a.T @ (w[:, None] * b) for w in weights.T])
    return np.asarray(0.5 * (K + K.transpose(0, 2, 1)))


def rotated_stress(axes: Array) -> Array:
    """Matrix (…, 6, 6): stress xx yy zz xy yz zx in mesh axes from that along local axes.

    The local axes are the rows of axes (…, 3, 3).
    """
    pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
    T = np.empty((*axes.shape[:-2], 6, 6))
    for c, (i, j) in enumerate(pairs):
        for d, (p, q) in enumerate(pairs):
            both = axes[..., p, i] * axes[..., q, j]
            T[..., c, d] = both if p == q else both + axes[..., q, i] * axes[..., p, j]
    return T

"""Masses attached to regions of a finite-element model: point masses and rigid bodies.

A body with mass M, centre c and second moment S = ∫ (x-c)(x-c)ᵀ dm follows the affine field nearest to the displacements of its
nodes in least squares, a + G (x - c) with (a, G) = P u and P the pseudoinverse of the rows [1 | (x_i - c)ᵀ]. Its mass matrix is

    Δm = Pᵀ diag(M, S) P,

the same for the three components, so that M = m ⊗ 1₃ stays: a pseudo-rigid body. Rigid motions are affine: mass, first and
second moment, hence every inertia term of the moving body, are exact. Like an averaged interface it does not stiffen the part.

Source: Cohen and Muncaster, The Theory of Pseudo-rigid Bodies, Springer 1988, chapter 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import InputError
from preprocess.arguments import instance, number, spelt
from preprocess.fe_model import FEModel
from preprocess.interfaces import Region, near_enough, region_of

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

LAYERS = 3  # of elements round a region that is too flat to carry a second moment
MOST_NODES = 1500  # in one mass; its block of m is full
ADDED = 0.01  # weight of nodes round the region: they tell only what its own nodes leave open
EXACT = 1e-9


@spelt
@dataclass(frozen=True, eq=False)
class PointMass:
    """Mass (kg) on the nodes of ``where`` (a set's name, `Point` or `Plane`).

    inertia: about its centre of mass in mesh axes, kg m², (3, 3) or the three principal moments; none for a point.
    position: centre of mass in mesh axes, m; the mean of the nodes when not given.
    Raises InputError for a mass that is not positive and for an inertia that no body has.
    """

    where: str | Region
    mass: float
    _: KW_ONLY
    inertia: ArrayLike | None = None
    position: ArrayLike | None = None

    def __post_init__(self) -> None:
        problems: list[str] = []
        object.__setattr__(self, "mass", number(self.mass, "point mass"))
        if not 0 < self.mass < np.inf:
            problems.append(f"point mass {self.mass!r} kg is not positive and finite; give kilograms")
        if self.position is not None and not _finite(self.position, (3,)):
            problems.append(f"point mass: position {self.position!r:.60} is no point; give three coordinates in m")
        problems += _bad_inertia(self.inertia)
        if problems:
            raise InputError(*problems)

    @property
    def second_moment(self) -> Array:
        """S (3, 3) = tr(I)/2 1 - I, kg m²."""
        inertia = _matrix(np.zeros(3) if self.inertia is None else self.inertia)
        return np.asarray(np.trace(inertia) / 2 * np.eye(3) - inertia)


@spelt
def attach(fe: FEModel, masses: Iterable[PointMass]) -> FEModel:
    """The model with point masses added to its nodal mass m.

    A region without the extent that the second moment needs (one node, a line, a plane) is widened by the elements round it;
    the slope of the displacements across it is then the mean over these.
    Raises InputError for regions that are not there or cannot carry the mass.
    """
    instance(fe, FEModel, "model", "an FEModel, see assemble")
    masses = tuple(instance(masses, Iterable, "point masses", "a list of PointMass"))  # type: ignore[type-abstract]
    for mass in masses:
        instance(mass, PointMass, "point masses", "a list of PointMass")
    added = [_nodal_mass(fe, mass) for mass in masses]
    return replace(fe, m=sp.csr_matrix(sum(added, fe.m)), point_masses=fe.point_masses + masses)


def _nodal_mass(fe: FEModel, attached: PointMass) -> sp.csr_matrix:
    """Δm (N, N)."""
    try:
        rows = region_of(attached.where).rows(fe.nodes, fe.node_sets)
    except InputError as error:
        raise InputError(*(f"point mass: {problem}" for problem in error.problems)) from None
    centre = fe.nodes[rows].mean(axis=0) if attached.position is None else np.asarray(attached.position, dtype=float)
    near_enough(centre, fe.nodes, "point mass: position")
    block, own = None, rows
    for _ in range(1 + LAYERS):
        rows = rows[:: -(-len(rows) // MOST_NODES)]
        block = _block(fe.nodes[rows] - centre, np.where(np.isin(rows, own), 1.0, ADDED), attached)
        if block is not None:
            break
        rows = _widened(fe, rows)
    if block is None:
        raise InputError(f"point mass: the nodes of {attached.where!r} cannot carry it; take a wider region")
    place = np.repeat(rows, len(rows)), np.tile(rows, len(rows))
    return sp.csr_matrix((block.ravel(), place), shape=fe.m.shape)


def _block(arm: Array, weight: Array, attached: PointMass) -> Array | None:
    """Δm of nodes at arms (n, 3) from the centre, weights (n,); None when they cannot reproduce the moments."""
    size = float(np.abs(arm).max()) or 1.0
    D = np.zeros((4, 4))
    D[0, 0], D[1:, 1:] = attached.mass, attached.second_moment / size**2
    Q = np.column_stack([np.ones(len(arm)), arm / size])
    P = np.linalg.pinv(weight[:, None] * Q, rcond=1e-6) * weight
    seen = P @ Q
    if np.abs(seen.T @ D @ seen - D).max() > EXACT * np.abs(D).max():
        return None
    return np.asarray(P.T @ D @ P)


def _widened(fe: FEModel, rows: Indices) -> Indices:
    """The nodes and those that share an element with them."""
    return np.unique(fe.K[3 * rows].indices // 3).astype(np.int64)


def _finite(value: ArrayLike, shape: tuple[int, ...]) -> bool:
    return np.shape(value) == shape and np.asarray(value).dtype.kind in "iuf" and bool(np.isfinite(value).all())


def _matrix(inertia: ArrayLike) -> Array:
    given = np.asarray(inertia, dtype=float)
    return np.diag(given) if given.ndim == 1 else given


def _bad_inertia(inertia: ArrayLike | None) -> list[str]:
    """Why there is no body with such an inertia."""
    if inertia is None:
        return []
    if not (_finite(inertia, (3,)) or _finite(inertia, (3, 3))):
        return [f"point mass: inertia {inertia!r:.80} is not finite of shape (3,) or (3, 3)"]
    I = _matrix(inertia)
    if np.abs(I - I.T).max() > 1e-9 * np.abs(I).max():
        return ["point mass: inertia is not symmetric; give the matrix about the centre of mass"]
    moments = np.linalg.eigvalsh(I)
    if moments[0] < 0 or moments[2] > (moments[0] + moments[1]) * (1 + 1e-9):
        shown = ", ".join(f"{m:.4g}" for m in moments)
        return [f"point mass: principal moments {shown} kg m² belong to no body (the largest exceeds the sum of the others)"]
    return []

"""Attached point masses and rigid bodies.

A body with mass M, centre c and second moment S = ∫ (x-c)(x-c)ᵀ dm follows the mean motion of its
nodes: the rigid motion that is nearest to their displacements, in weighted least squares,

    (t, θ) = (TᵀWT)⁻¹ TᵀW u,    u(c) = t + θ × c,

with the rigid motions T of the nodes, as an averaged interface to which the body is welded. It adds
no stiffness. Its mass is that of points at c and c + l e_k, with the principal axes e_k of S, which
move with (t, θ):

    Δm = P diag(M, S_k) Pᵀ,    P = [1, 0; -1/l, 1/l].

Nodes whose rotations define the motion take part with these: a single node that rotates carries the
body rigidly, as do the nodes of a straight edge about the edge. A point mass at the mean of its
nodes follows their mean displacement, and is part of their nodal mass.

Source: MSC Nastran, Quick Reference Guide, RBE3 and CONM2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.fe.fe_model import CarriedBody, FEModel
from preprocess.fe.freedoms import dofs_of
from preprocess.fe.interfaces import check_spread, coupled_motion
from preprocess.fe.mass_points import MovedPoints, concatenated_points, nodes_as_points, spread
from preprocess.fe.point_mass import PointMass
from preprocess.inputs.argument_checks import checked_arguments, instance
from preprocess.mesh.node_regions import check_distance, region_of
from preprocess.mesh.rigid_motion import rigid_motion

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# largest number of layers of elements added to a region without the extent for a second moment;
# with more the mass would no longer be local
LAYERS = 3
MOST_NODES = 1000  # number of nodes per mass; its block of M is dense, 108 MB at this number
# weight of the nodes of added layers relative to those of the region, so that the region dominates
ADDED = 1e-4
# relative error of the rigid motion of an attached body, well above the round-off of the
# pseudoinverse
EXACT = 1e-9


@checked_arguments
def attach(fe: FEModel, masses: Iterable[PointMass]) -> FEModel:
    """Model with point masses added to its nodal mass m.

    fe: the model. masses: its `PointMass` items; each follows the mean motion of its nodes. Nodes of
    solids that do not define the rotation of a body (fewer than three, or on a line) are joined by
    those of adjacent elements. Raises InputError for regions that do not exist or cannot carry the
    mass.

    Examples
    --------
    >>> import preprocess as pp
    >>> fe = pp.assemble(
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    ... )
    >>> loaded = pp.attach(fe, [pp.PointMass("x1", 2.0)])
    >>> bar = pp.reduce(loaded, interfaces={"root": pp.Rigid("x0")}, reference="root")
    >>> round(bar.mass, 6)
    3.256
    """
    instance(fe, FEModel, "model", "an FEModel, see assemble")
    masses = tuple(instance(masses, Iterable, "point masses", "a list of PointMass"))  # type: ignore[type-abstract]
    for mass in masses:
        instance(mass, PointMass, "point masses", "a list of PointMass")
    for mass in masses:
        fe = _with_mass(fe, _rows(fe, mass), mass)
    return replace(fe, point_masses=fe.point_masses + masses)


def _rows(fe: FEModel, attached: PointMass) -> Indices:
    """Rows of the nodes that carry an attached point mass. Raises `InputError`."""
    try:
        return region_of(attached.where).rows(fe.nodes, fe.node_sets)
    except InputError as error:
        raise InputError(*(f"point mass: {problem}" for problem in error.problems)) from None


def _with_mass(fe: FEModel, rows: Indices, attached: PointMass) -> FEModel:
    """Model with a mass or body on its nodes."""
    mean = fe.nodes[rows].mean(axis=0)
    centre = mean if attached.position is None else np.asarray(attached.position, dtype=float)
    check_distance(centre, fe.nodes, "point mass: position")
    positions, block = _as_points(centre, attached)
    own, rows = rows, _thinned(rows)
    extent = float(np.ptp(fe.nodes, axis=0).max())
    if len(block) == 1 and np.abs(centre - fe.nodes[rows].mean(axis=0)).max() <= EXACT * extent:
        entries = np.repeat(rows, len(rows)), np.tile(rows, len(rows))
        share = np.full(len(rows) ** 2, attached.mass / len(rows) ** 2)
        return replace(fe, m=sp.csr_matrix(fe.m + sp.csr_matrix((share, entries), fe.m.shape)))
    for _ in range(1 + LAYERS):
        weights = np.where(np.isin(rows, own), 1.0, ADDED)
        carried = _with_body(fe, rows, weights, positions, block)
        if carried is not None:
            return carried
        if not len(rows := _thinned(_widened(fe, rows))):
            break
    raise InputError(
        f"point mass: the nodes of {attached.where!r} cannot carry it; choose a larger region"
    )


def _as_points(centre: Array, attached: PointMass) -> tuple[Array, Array]:
    """Mass points (p, 3) of a body, p from 1 to 4, and their mass matrix (p, p)."""
    moments, axes = np.linalg.eigh(attached.second_moment)
    # of an incomplete inertia they may be negative; those of a body without extent in a direction
    # are zero but for round-off
    extended = np.abs(moments) > EXACT * np.abs(moments).max(initial=0.0)
    moments, axes = moments[extended], axes.T[extended]
    length = float(np.sqrt(moments.sum() / attached.mass)) or 1.0
    P = np.eye(1 + len(moments))
    P[1:] = (P[1:] - P[0]) / length
    block = P.T @ np.diag([attached.mass, *moments]) @ P
    return centre + np.vstack([np.zeros((1, 3)), length * axes]), np.asarray(block)


def _with_body(
    fe: FEModel, rows: Indices, weights: Array, positions: Array, block: Array
) -> FEModel | None:
    """Model with mass points that follow the mean motion of nodes with weights (n,).

    None if the nodes do not define the motion of the points.
    """
    origin = fe.nodes[rows].mean(axis=0)
    levers, arms = fe.nodes[rows] - origin, positions - origin
    try:
        check_spread(levers)
        turned = rows[:0]
    except InputError:  # then only with rotations, if they have some
        turned = rows[fe.freedoms.rotates(rows)]
    T, weights = coupled_motion(levers, rows, turned, weights)
    T = T.reshape(-1, 6)
    # rotations relative to the size of the region: the columns are of order one
    size = np.repeat([1.0, float(np.abs(levers).max()) or 1.0], 3)
    root = np.sqrt(np.repeat(weights, 3))
    mean = (np.linalg.pinv(root[:, None] * T / size, rcond=1e-6) * root) / size[:, None]
    motion = rigid_motion(arms).reshape(-1, 6)
    if np.abs(motion @ mean @ T - motion).max(initial=0.0) > EXACT * np.abs(motion).max():
        return None
    dofs = dofs_of(np.concatenate([rows, fe.freedoms.rotation_blocks(turned)]))
    own = MovedPoints(positions, spread(motion @ mean, dofs, fe.freedoms.size))
    before = fe.mass_points or nodes_as_points(fe.nodes, fe.freedoms.size)
    turn = spread(mean[3:], dofs, fe.freedoms.size)
    body = CarriedBody(rows, levers, turn, len(before.positions), arms)
    return replace(
        fe,
        m=sp.block_diag([fe.m, block], format="csr"),
        mass_points=concatenated_points([before, own]),
        bodies=(*fe.bodies, body),
    )


def _thinned(rows: Indices) -> Indices:
    """Every n-th node of large regions, since their block of the mass matrix is dense."""
    return rows[:: -(-len(rows) // MOST_NODES)]


def _widened(fe: FEModel, rows: Indices) -> Indices:
    """Nodes and all nodes that share an element with them."""
    return np.unique(fe.freedoms.node_of_block[fe.K[3 * rows].indices // 3]).astype(np.int64)

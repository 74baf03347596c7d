"""Attached point masses and rigid bodies.

A body with mass M, centre c and second moment S = ∫ (x-c)(x-c)ᵀ dm follows the least-squares affine
fit to the displacements of its nodes, a + G (x - c) with (a, G) = P u and P the pseudoinverse of
the rows [1 | (x_i - c)ᵀ]. Its mass matrix is

    Δm = Pᵀ diag(M, S) P,

the same for the three components, so that M = m ⊗ 1₃ remains: a pseudo-rigid body. Rigid motions
are affine, so that mass, first and second moment, and hence every inertia term, are exact. Like an
averaged interface, such a body adds no stiffness. A single node with a rotation carries a rigid
body instead: Δm of four points c and c + l e_i that move rigidly with it.

Source: Cohen and Muncaster, The Theory of Pseudo-rigid Bodies, Springer 1988, chapter 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.fe.fe_model import CarriedBody, FEModel
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
MOST_NODES = 1500  # number of nodes per mass; its block of m is dense, 18 MB at this number
# weight of the nodes of added layers relative to those of the region, so that the region dominates
ADDED = 0.01
# relative error of mass, first and second moment of an attached body, well above the round-off of
# the pseudoinverse
EXACT = 1e-9


@checked_arguments
def attach(fe: FEModel, masses: Iterable[PointMass]) -> FEModel:
    """Model with point masses added to its nodal mass m.

    fe: the model. masses: its `PointMass` items. A region without the extent for the second moment
    (one node, a line, a plane) is extended by adjacent elements; the displacement gradient is then
    averaged over these. Raises InputError for regions that do not exist or cannot carry the mass.

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
        rows = _rows(fe, mass)
        if len(rows) == 1 and fe.freedoms.rotates(rows)[0]:
            fe = _with_body(fe, int(rows[0]), mass)
        else:
            fe = replace(fe, m=sp.csr_matrix(fe.m + _nodal_mass(fe, rows, mass)))
    return replace(fe, point_masses=fe.point_masses + masses)


def _rows(fe: FEModel, attached: PointMass) -> Indices:
    """Rows of the nodes that carry an attached point mass. Raises `InputError`."""
    try:
        return region_of(attached.where).rows(fe.nodes, fe.node_sets)
    except InputError as error:
        raise InputError(*(f"point mass: {problem}" for problem in error.problems)) from None


def _with_body(fe: FEModel, node: int, attached: PointMass) -> FEModel:
    """Model with a rigid body on a node that rotates: four more mass points."""
    centre = (
        fe.nodes[node] if attached.position is None else np.asarray(attached.position, dtype=float)
    )
    check_distance(centre, fe.nodes, "point mass: position")
    length = np.sqrt(np.trace(attached.second_moment) / attached.mass) or 1.0
    arm = np.vstack([np.zeros(3), length * np.eye(3)])
    block = _block(arm, np.ones(4), attached)
    assert block is not None  # four points represent every affine motion
    motion = rigid_motion(centre + arm - fe.nodes[node]).reshape(-1, 6)
    own = MovedPoints(
        centre + arm, spread(motion, fe.freedoms.six(np.array([node]))[0], fe.freedoms.size)
    )
    before = fe.mass_points or nodes_as_points(fe.nodes, fe.freedoms.size)
    body = CarriedBody(node, len(before.positions), centre + arm - fe.nodes[node])
    m = sp.block_diag([fe.m, block], format="csr")
    return replace(
        fe, m=m, mass_points=concatenated_points([before, own]), bodies=(*fe.bodies, body)
    )


def _nodal_mass(fe: FEModel, rows: Indices, attached: PointMass) -> sp.csr_matrix:
    """Additional nodal mass matrix Δm (P, P) of an attached mass."""
    centre = (
        fe.nodes[rows].mean(axis=0)
        if attached.position is None
        else np.asarray(attached.position, dtype=float)
    )
    check_distance(centre, fe.nodes, "point mass: position")
    block, own = None, rows
    for _ in range(1 + LAYERS):
        # every n-th node of large regions, since the block of m is dense
        rows = rows[:: -(-len(rows) // MOST_NODES)]
        block = _block(fe.nodes[rows] - centre, np.where(np.isin(rows, own), 1.0, ADDED), attached)
        if block is not None or not len(rows := _widened(fe, rows)):
            break
    if block is None:
        raise InputError(
            f"point mass: the nodes of {attached.where!r} cannot carry it; choose a larger region"
        )
    entries = np.repeat(rows, len(rows)), np.tile(rows, len(rows))
    return sp.csr_matrix((block.ravel(), entries), shape=fe.m.shape)


def _block(arm: Array, weight: Array, attached: PointMass) -> Array | None:
    """Added mass Δm of nodes at arms (n, 3) from the centre, weights (n,).

    None if these nodes cannot represent the moments.
    """
    # arms relative to the size of the region: the columns of Q are of order one
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
    """Nodes and all nodes that share an element with them."""
    return np.unique(fe.freedoms.node_of_block[fe.K[3 * rows].indices // 3]).astype(np.int64)

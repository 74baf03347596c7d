"""Rotations of nodes at which all beam ends are released.

If every beam at a node is pinned there, the rotation of the node has no stiffness about some
directions n and transmits no moment about them. It is then defined by the lines from the node to
the other nodes of its elements:

    n·θ = n·ω,    Σ_k |(1 − x_k x_kᵀ) ω − x_k × (u_k − u)/L_k|² minimal,    x_k towards the node k at the distance L_k

If all lines have one direction, the rotation about it is the mean rotation of these nodes. Rigid
motions satisfy these equations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import warn_caller
from flexmbs.flexible_body.free_body import skew
from preprocess.fe.connections import ConnectionEffects
from preprocess.fe.constraints import Dependence
from preprocess.fe.mass_points import spread
from preprocess.fe.structural_element import StructuralElement
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh.divide import CUT
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.rigid_motion import solved_directions

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
# stiffness of a rotation relative to that without releases, below which there is only round-off
FREE = 1e-9
IN_LINE = 1e-6  # squared sine of the angle between lines that count as one direction: 0.06°
SHOWN = 5  # number of nodes that a message lists


def rotations_of_pinned_nodes(
    mesh: Mesh, parts: Sequence[StructuralElement], joints: ConnectionEffects
) -> list[Dependence]:
    """Constraint rows for the rotations that no beam holds; a warning names their nodes.

    Those of nodes at cuts and of other connections remain free.
    """
    pinned = [each for each in parts if each.releases]
    if not pinned:
        return []
    freedoms = joints.nodes.freedoms
    touched = np.concatenate([np.zeros(0, np.int64), *(_dofs(row) for row in joints.rows)])
    cuts = np.concatenate(
        [
            np.zeros(0, np.int64),
            *(rows for name, rows in joints.nodes.sets.items() if name.startswith(CUT)),
        ]
    )
    ends = np.setdiff1d(np.concatenate([each.connectivity.ravel() for each in pinned]), cuts)
    ends = ends[~np.isin(freedoms.six(ends)[:, 3:], touched).any(axis=1)]
    turns = freedoms.six(ends)[:, 3:]
    held = np.zeros((len(ends), 3, 3))
    if joints.stiffness.nnz:
        held[:] = [joints.stiffness[rows][:, rows].toarray() for rows in turns]
    scale = np.zeros(len(ends))
    for part in parts:
        _add(part, ends, held)
        if part.releases:
            joined = np.zeros_like(held)
            _add(part.without_releases(), ends, joined)
            scale = np.maximum(scale, np.trace(joined, axis1=1, axis2=2))
    free = dict[int, Array]()
    for node, K in zip(ends, held / scale[:, None, None]):
        values, directions = np.linalg.eigh(K)
        if values[0] < FREE:
            free[int(node)] = directions.T[values < FREE]
    neighbours = _neighbours(mesh, np.array(list(free), dtype=np.int64))
    found = [
        row
        for node, directions in free.items()
        for row in _rows(node, directions, neighbours[node], joints)
    ]
    if found:
        names = sorted({int(row.name) for row in found})
        some = ", ".join(map(str, names[:SHOWN])) + (", …" if len(names) > SHOWN else "")
        warn_caller(
            f"{len(names)} pinned node(s), {some}: no beam holds their rotation, which "
            "follows the lines to the neighbouring nodes and transmits no moment except that of an "
            "interface there",
            PreprocessWarning,
        )
    return [row._replace(name=f"the pinned node {row.name}") for row in found]


def _dofs(row: Dependence) -> Indices:
    """Dependent and independent degrees of freedom of a connection."""
    return np.concatenate([row.dofs, row.C.indices]).astype(np.int64)


def _add(part: StructuralElement, ends: Indices, into: Array) -> None:
    """Add the stiffness about the axes at each of the nodes to ``into`` (n, 3, 3)."""
    if not part.rotates or not np.isin(part.connectivity, ends).any():
        return
    K = part.stiffness()
    for a, nodes in enumerate(part.connectivity.T):
        here = np.isin(nodes, ends)
        turn = slice(6 * a + 3, 6 * a + 6)
        np.add.at(into, np.searchsorted(ends, nodes[here]), K[here, turn, turn])


def _neighbours(mesh: Mesh, nodes: Indices) -> dict[int, Indices]:
    """Other nodes of the elements of each of the given nodes."""
    found = {int(node): [np.zeros(0, np.int64)] for node in nodes}
    for block in mesh.blocks.values():
        for row in block.connectivity[np.isin(block.connectivity, nodes).any(axis=1)]:
            for node in found.keys() & set(row.tolist()):
                found[node].append(row)
    return {node: np.setdiff1d(np.concatenate(rows), [node]) for node, rows in found.items()}


def _rows(
    node: int, directions: Array, neighbours: Indices, joints: ConnectionEffects
) -> Iterator[Dependence]:
    """Rows n·θ = n·ω for directions (k, 3)."""
    freedoms, places = joints.nodes.freedoms, joints.nodes.positions
    A, here, columns, factors = (
        np.zeros((3, 3)),
        3 * node + np.arange(3),
        list[Indices](),
        list[Array](),
    )
    neighbours = neighbours[(places[neighbours] != places[node]).any(axis=1)]
    for other in neighbours:
        length = float(np.linalg.norm(places[other] - places[node]))
        x = (places[other] - places[node]) / length
        A += np.eye(3) - np.outer(x, x)
        columns += [3 * other + np.arange(3), here]
        factors += [skew(x) / length, -skew(x) / length]
    values, axes = np.linalg.eigh(A)
    if values[0] < IN_LINE * values[-1]:
        axis = np.outer(axes[:, 0], axes[:, 0])
        A += axis
        turning = neighbours[freedoms.rotates(neighbours)]
        columns += list(freedoms.six(turning)[:, 3:])
        factors += [axis / len(turning)] * len(turning)
    omega, turn = np.linalg.solve(A, np.hstack(factors)), freedoms.six(np.array([node]))[0, 3:]
    for k, n in solved_directions(directions):
        own = np.where(np.arange(3) == k, 0.0, n)
        row = spread(
            np.concatenate([n @ omega, -own])[None], np.concatenate([*columns, turn]), freedoms.size
        )
        row.eliminate_zeros()
        yield Dependence(str(joints.nodes.ids[node]), turn[k : k + 1], row)

"""Nodes whose rotation no beam holds, because the ends there are released.

Where every beam at a node is pinned, its rotation has no stiffness about some directions n, and carries no moment about them. It
then follows the lines from the node to the other ends of its beams, which turn as well as translations of nodes can say:

    n·θ = n·ω,    Σ_k |(1 − x_k x_kᵀ) ω − x_k × (u_k − u)/L_k|² minimal,    x_k along the beam k

with the mean rotation of the other ends about the axis of beams that are all in one line. Rigid motions satisfy it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.flexible_body.free_body import skew
from preprocess.fe.connections import Connected
from preprocess.fe.constraints import Dependence
from preprocess.fe.mass_points import spread
from preprocess.fe.structure import Structure
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh.divide import CUT
from preprocess.mesh.rigid_motion import pivoted

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
FREE = 1e-9  # stiffness, of that without releases, that is none
IN_LINE = 1e-6  # squared sine of the angle between beams of one line
SHOWN = 5


class Line(NamedTuple):
    """The other end of a beam at a node, its direction, and its length."""

    other: int
    along: Array
    length: float


def rotations_of_pinned_nodes(parts: Sequence[Structure], joints: Connected) -> list[Dependence]:
    """Rows for the rotations that no beam holds; a warning names their nodes. Those of nodes at cuts and of other connections are
    free."""
    pinned = [each for each in parts if each.releases]
    if not pinned:
        return []
    freedoms = joints.nodes.freedoms
    touched = np.concatenate([np.zeros(0, np.int64), *(_dofs(row) for row in joints.rows)])
    cuts = np.concatenate([np.zeros(0, np.int64), *(rows for name, rows in joints.nodes.sets.items() if name.startswith(CUT))])
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
            _add(part.joined(), ends, joined)
            scale = np.maximum(scale, np.trace(joined, axis1=1, axis2=2))
    found = list[Dependence]()
    for node, K in zip(ends, held / scale[:, None, None]):
        values, directions = np.linalg.eigh(K)
        if values[0] < FREE:
            found += _rows(int(node), directions.T[values < FREE], list(_lines(int(node), parts)), joints)
    if found:
        names = sorted({int(row.name) for row in found})
        some = ", ".join(map(str, names[:SHOWN])) + (", …" if len(names) > SHOWN else "")
        warnings.warn(
            f"{len(names)} pinned node(s), {some}: no beam holds their rotation, which follows the lines to their neighbours;"
            " it carries no moment but that of an interface there",
            PreprocessWarning,
            stacklevel=5,
        )
    return [row._replace(name=f"the pinned node {row.name}") for row in found]


def _dofs(row: Dependence) -> Indices:
    return np.concatenate([row.dofs, row.C.indices]).astype(np.int64)


def _add(part: Structure, ends: Indices, into: Array) -> None:
    """Add the stiffness about the axes of each of the nodes to ``into`` (n, 3, 3)."""
    if not part.rotates or not np.isin(part.connectivity, ends).any():
        return
    K = part.stiffness()
    for a, nodes in enumerate(part.connectivity.T):
        here = np.isin(nodes, ends)
        turn = slice(6 * a + 3, 6 * a + 6)
        np.add.at(into, np.searchsorted(ends, nodes[here]), K[here, turn, turn])


def _lines(node: int, parts: Sequence[Structure]) -> Iterator[Line]:
    """Beams at a node."""
    for part in parts:
        if part.kind not in ("line2", "line3"):
            continue
        for end in (0, 1):
            for e in np.flatnonzero(part.connectivity[:, end] == node):
                apart = part.x[e, 1 - end] - part.x[e, end]
                length = float(np.linalg.norm(apart))
                yield Line(int(part.connectivity[e, 1 - end]), apart / length, length)


def _rows(node: int, directions: Array, lines: Sequence[Line], joints: Connected) -> Iterator[Dependence]:
    """n·θ = n·ω for directions (k, 3)."""
    freedoms = joints.nodes.freedoms
    A, here, columns, factors = np.zeros((3, 3)), 3 * node + np.arange(3), list[Indices](), list[Array]()
    for other, x, length in lines:
        A += np.eye(3) - np.outer(x, x)
        columns += [3 * other + np.arange(3), here]
        factors += [skew(x) / length, -skew(x) / length]
    values, axes = np.linalg.eigh(A)
    if values[0] < IN_LINE * values[-1]:
        axis = np.outer(axes[:, 0], axes[:, 0])
        A += axis
        turning = [each.other for each in lines if freedoms.rotates(np.array([each.other]))[0]]
        columns += [freedoms.six(np.array([other]))[0, 3:] for other in turning]
        factors += [axis / len(turning)] * len(turning)
    omega, turn = np.linalg.solve(A, np.hstack(factors)), freedoms.six(np.array([node]))[0, 3:]
    for k, n in pivoted(directions):
        own = np.where(np.arange(3) == k, 0.0, n)
        row = spread(np.concatenate([n @ omega, -own])[None], np.concatenate([*columns, turn]), freedoms.size)
        row.eliminate_zeros()
        yield Dependence(str(joints.nodes.ids[node]), turn[k : k + 1], row)

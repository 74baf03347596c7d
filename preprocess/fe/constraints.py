"""Linear constraints ``u = T z``: dependent degrees of freedom as combinations of the others.

Every connection gives rows ``u_d = C u``; systems of single equations are solved by elimination.
With A the identity except for these rows, T is the product A A … until no row depends on a
dependent degree of freedom: this resolves chains of connections. z has the same length as u; its
dependent entries are unused and zero.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import InputError, raise_problems

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

Columns = TypeVar("Columns", Array, sp.csr_matrix)  # dense or sparse

# factors of an equation relative to its largest: those that are round-off, and those for which it
# is not solved, since division would amplify errors
ROUND_OFF, SMALL = 1e-12, 1e-6
LONGEST = 100  # longest chain of connections that depend on each other; longer ones are cycles
# relative residual of rigid motions in an equation; factors in files of eight digits satisfy it
RIGID = 1e-8


class Dependence(NamedTuple):
    """Rows ``u_d = C u`` of one connection: dependent degrees of freedom (m,) and C (m, size)."""

    name: str
    dofs: Indices
    C: sp.csr_matrix


@dataclass(frozen=True, eq=False)
class Constraints:
    """Constraints ``u = T z`` with T (size, size) and the dependent degrees of freedom (m,).

    Without dependent degrees of freedom T is None. rows (size, size): those of the connections, u_d
    = C u, zero elsewhere; None without any.
    """

    T: sp.csr_matrix | None
    dependent: Indices
    rows: sp.csr_matrix | None = None

    def motion(self, z: Columns) -> Columns:
        """Displacements u = T z (size, k) of the independent degrees of freedom z."""
        return z if self.T is None else self.T @ z

    def loads(self, f: Columns) -> Columns:
        """Loads Tᵀ f on z (size, k)."""
        return f if self.T is None else self._transposed @ f

    def matrix(self, A: sp.csr_matrix) -> sp.csr_matrix:
        """Matrix Tᵀ A T, with a positive diagonal at the unused degrees of freedom."""
        if self.T is None:
            return A
        reduced = sp.csr_matrix(self._transposed @ (A @ self.T))
        unused = np.zeros(A.shape[0])
        unused[self.dependent] = max(float(np.abs(A.diagonal()).mean()), np.finfo(float).tiny)
        return (reduced + sp.diags(unused)).tocsr()

    def free_blocks(self, blocks: Indices) -> Indices:
        """Blocks of the given ones that have an independent degree of freedom."""
        used = np.ones(3 * (int(blocks.max(initial=-1)) + 1), dtype=bool)
        used[self.dependent[self.dependent < len(used)]] = False
        return blocks[used.reshape(-1, 3)[blocks].any(axis=1)]

    @functools.cached_property
    def _transposed(self) -> sp.csr_matrix:
        return sp.csr_matrix(self.T).T.tocsr()


UNCONSTRAINED = Constraints(None, np.zeros(0, dtype=np.int64))


def constraints_of(rows: Sequence[Dependence], R: Array, *, held: bool = False) -> Constraints:
    """Transformation T of all connections, with chained dependences eliminated.

    R (size, 6): rigid motions, which every connection must allow unless the part is held. Raises
    InputError naming connections that share a dependent degree of freedom, depend on themselves or
    hold the part.
    """
    if not rows:
        return UNCONSTRAINED
    rows = _eliminated(rows)
    _check_distinct(rows)
    dependent = np.concatenate([each.dofs for each in rows])
    C = sp.vstack([each.C for each in rows], format="csr")
    if not held:
        _check_rigid(rows, R)
    n = len(R)
    own = np.ones(n)
    own[dependent] = 0.0
    place = sp.csr_matrix(
        (np.ones(len(dependent)), (dependent, np.arange(len(dependent)))), shape=(n, len(dependent))
    )
    follow = (place @ C).tocsr()
    A = (sp.diags(own) + follow).tocsr()
    T = A
    for _ in range(LONGEST):
        T.eliminate_zeros()
        left = T[:, dependent]
        if not left.nnz:
            return Constraints(T, np.sort(dependent), follow)
        T = (T @ A).tocsr()
    stuck = [each.name for each in rows if T[each.dofs][:, dependent].nnz]
    raise InputError(
        f"connections: {', '.join(stuck)} depend on themselves; every dependent node must "
        "follow others"
    )


def _eliminated(rows: Sequence[Dependence]) -> Sequence[Dependence]:
    """Rows with single equations solved for degrees of freedom that no other equation moves.

    The degrees of freedom of the first terms are chosen if possible. Each equation is reduced by
    the previous ones, and they by it; one that follows from the others is omitted.
    """
    single = [each for each in rows if len(each.dofs) == 1]
    taken = {int(dof) for each in rows if len(each.dofs) > 1 for dof in each.dofs}
    solved: dict[int, tuple[str, dict[int, float]]] = {}  # dependent: name, the others
    users: dict[int, set[int]] = defaultdict(set)  # degree of freedom: dependent ones that it moves
    for each in single:
        C, first = each.C.tocoo(), int(each.dofs[0])
        row = {first: 1.0}
        for dof, factor in zip(C.coords[1].tolist(), C.data.tolist()):
            row[dof] = row.get(dof, 0.0) - factor
        size = max(map(abs, row.values()))
        for dof in [dof for dof in row if dof in solved]:
            factor = row.pop(dof)
            for other, share in solved[dof][1].items():
                row[other] = row.get(other, 0.0) + factor * share
        row = {dof: factor for dof, factor in row.items() if abs(factor) > ROUND_OFF * size}
        if not row:
            continue
        free = [dof for dof in row if dof not in taken]
        if not free:
            raise InputError(
                f"connections: {each.name}: all its degrees of freedom follow other "
                "connections; remove it"
            )
        pivot = (
            first
            if first in free and abs(row[first]) > SMALL * size
            else max(free, key=lambda dof: abs(row[dof]))
        )
        head = row.pop(pivot)
        own = {dof: -factor / head for dof, factor in row.items()}
        for user in users.pop(pivot, set()):
            factor = solved[user][1].pop(pivot)
            for dof, value in own.items():
                solved[user][1][dof] = solved[user][1].get(dof, 0.0) + factor * value
                users[dof].add(user)
        solved[pivot] = each.name, own
        for dof in own:
            users[dof].add(pivot)
    shape = 1, rows[0].C.shape[1]
    found = [
        Dependence(
            name,
            np.array([dof]),
            sp.csr_matrix((list(own.values()), ([0] * len(own), list(own))), shape=shape),
        )
        for dof, (name, own) in solved.items()
    ]
    return [*(each for each in rows if len(each.dofs) > 1), *found]


def _check_distinct(rows: Sequence[Dependence]) -> None:
    """Raise `InputError` if two connections move the same degree of freedom."""
    dofs, times = np.unique(np.concatenate([each.dofs for each in rows]), return_counts=True)
    rows = [each for each in rows if np.isin(each.dofs, dofs[times > 1]).any()]
    problems = []
    for k, second in enumerate(rows):
        for first in rows[:k]:
            shared = np.intersect1d(first.dofs, second.dofs)
            if shared.size:
                problems.append(
                    f"connections: {first.name} and {second.name} both move {shared.size} "
                    "degrees of freedom; "
                    "a node can follow only one of them"
                )
    raise_problems(problems)


def _check_rigid(rows: Sequence[Dependence], R: Array) -> None:
    """Raise InputError for rows that a rigid motion does not satisfy."""
    scale = np.abs(R).max(axis=0)
    for each in rows:
        residual = np.abs(each.C @ R - R[each.dofs]).max(axis=0) / scale
        if residual.max() > RIGID:
            raise InputError(
                f"connections.{each.name}: it does not allow rigid motions (residual "
                f"{residual.max():.2g}); "
                "a free body cannot be held: remove equations with the ground, or correct the "
                "factors"
            )

"""Factor of a matrix distributed over several processes, by MUMPS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np
import scipy.sparse as sp

from flexmbs.errors import InputError, MachineError
from flexmbs.flexible_body.components import FloatArray, IntArray
from preprocess.distributed.processes import Processes
from preprocess.fe.freedoms import dofs_of
from preprocess.solve.engine import BlockMatrix, Engine
from preprocess.solve.factorize import SINGULAR
from preprocess.solve.factors import Factor

if TYPE_CHECKING:
    from petsc4py import PETSc

# per cent of workspace beyond MUMPS's estimate, at first and at last: it is enlarged as long as
# MUMPS reports that it is too small
WORKSPACE, LARGEST = 30, 500
TOO_SMALL, NO_MEMORY, NO_PIVOT = (-8, -9, -17, -20), (-13, -19), (-6, -10)  # MUMPS's errors
ORDERINGS = ("AMD", "given", "AMF", "SCOTCH", "PORD", "METIS", "QAMD")
SHOWN = 5  # number of nodes that a message lists


@final
class MumpsFactor(Factor):
    """Factor L D Lᵀ of the sum of the contributions of all processes."""

    def __init__(self, engine: Engine, processes: Processes, matrix: BlockMatrix) -> None:
        """Factor a distributed matrix by MUMPS."""
        self._engine, self._processes, self._matrix = engine, processes, matrix
        free = np.zeros(len(matrix.places) * 3, dtype=bool)
        free[dofs_of(matrix.blocks)] = True
        owned = np.zeros(len(free), dtype=bool)
        owned[engine.owned] = free[engine.owned]
        self._rows = np.flatnonzero(owned)
        counts = processes.comm.allgather(len(self._rows))
        self._size, self._first = sum(counts), np.concatenate([[0], np.cumsum(counts)])
        self._A = _matrix(self._numbered(free), self._first, processes, matrix.A)
        self._factor = self._computed()
        if matrix.definite:
            self._check_regular()

    @property
    def nnz(self) -> int:
        """Number of entries of the factor."""
        found = int(self._factor.getMumpsInfog(29))
        return found if found >= 0 else -1_000_000 * found

    @property
    def facts(self) -> dict[str, float | str]:
        """Ordering, floating-point operations and number of entries of the factor."""
        used = int(self._factor.getMumpsInfog(7))
        return {
            "factor: ordering": ORDERINGS[used] if used < len(ORDERINGS) else str(used),
            "factor: operations": float(self._factor.getMumpsRinfog(3)),
            "factor: entries": float(self.nnz),
        }

    def solve(self, loads: FloatArray) -> FloatArray:
        """Solution for loads (n, k), zero at rows outside of the matrix."""
        from petsc4py import PETSc

        columns = loads.reshape(len(loads), -1)
        if not columns.shape[1]:
            return np.zeros(loads.shape)
        own = len(self._rows)
        B = PETSc.Mat().createDense(
            ((own, self._size), (PETSc.DECIDE, columns.shape[1])), comm=PETSc.COMM_WORLD
        )
        B.setUp()
        B.getDenseArray()[:] = columns[self._rows]
        B.assemble()
        X = B.duplicate()
        self._factor.matSolve(B, X)
        x = np.zeros(columns.shape)
        x[self._rows] = X.getDenseArray()
        B.destroy()
        X.destroy()
        return self._engine.assembled(x).reshape(loads.shape)

    def negative_pivots(self) -> int:
        """Number of negative pivots."""
        return int(self._factor.getMumpsInfog(12))

    def nearly_singular(self) -> bool:
        """True if the matrix has a motion with almost no stiffness."""
        return self._soft_motion() is not None

    def _numbered(self, free: np.ndarray) -> IntArray:
        """Global number of each local degree of freedom among the free ones, −1 for the others."""
        number = np.zeros((len(free), 1))
        number[self._rows, 0] = self._first[self._processes.rank] + np.arange(len(self._rows))
        return np.where(free, self._engine.assembled(number)[:, 0].astype(np.int64), -1)

    def _computed(self) -> PETSc.Mat:
        """Factor, with workspace enlarged as needed. Raises InputError, MachineError."""
        from petsc4py import PETSc

        workspace = WORKSPACE
        while True:
            pc = PETSc.PC().create(PETSc.COMM_WORLD)
            pc.setOperators(self._A)
            pc.setType("cholesky")
            pc.setFactorSolverType("mumps")
            pc.setFactorSetUpSolverType()
            factor = pc.getFactorMatrix()
            # METIS; where it is missing MUMPS chooses among those that it has
            factor.setMumpsIcntl(7, 5)
            factor.setMumpsIcntl(13, 1)  # negative pivots are counted in the last front too
            factor.setMumpsIcntl(14, workspace)
            pc.setUp()
            problem = int(factor.getMumpsInfog(1))
            if problem >= 0:
                self._pc = pc  # owns the factor
                return factor
            pc.destroy()
            if problem in TOO_SMALL and workspace < LARGEST:
                workspace *= 2
            elif problem in NO_PIVOT:
                raise InputError(
                    "stiffness: singular: parts of the mesh move freely; fix or connect them"
                )
            elif problem in NO_MEMORY or problem in TOO_SMALL:
                raise MachineError(
                    f"the factor of {self._size} degrees of freedom does not fit in "
                    "memory; start more processes"
                )
            else:
                raise MachineError(f"MUMPS stops with error {problem}, see its manual")

    def _check_regular(self) -> None:
        """Raise InputError naming nodes that move freely."""
        negative = self.negative_pivots()
        motion = self._soft_motion()
        if motion is None and not negative:
            return
        if motion is None:
            raise InputError(
                f"stiffness: has {negative} negative eigenvalues; correct material and elements"
            )
        limit = 0.05 * float(self._engine.extent(motion[:, None])[0])
        moving = np.unique(self._matrix.numbers[np.flatnonzero(np.abs(motion) > limit) // 3])
        labels = np.unique(self._engine.gathered(moving.astype(float))).astype(np.int64)
        shown = ", ".join(map(str, labels[:SHOWN])) + (", …" if len(labels) > SHOWN else "")
        raise InputError(
            f"stiffness: singular: {len(labels)} nodes move freely (node {shown}); fix or "
            "connect them"
        )

    def _soft_motion(self) -> FloatArray | None:
        """Near-null vector by two steps of inverse iteration.

        None if the matrix is regular to working accuracy.
        """
        engine, n = self._engine, 3 * len(self._matrix.places)
        size = float(engine.extent(self._matrix.A.data[:, None])[0])
        x = np.zeros((n, 1))
        x[self._rows, 0] = np.random.default_rng(self._processes.rank).standard_normal(
            len(self._rows)
        )
        x = engine.assembled(x)
        for _ in range(2):
            y = self.solve(x / np.sqrt(engine.squares(x, x)))
            growth = float(np.sqrt(engine.squares(y, y))[0])
            if not np.isfinite(growth) or growth * size > SINGULAR:
                return y[:, 0] if np.isfinite(growth) else np.ones(n)
            x = y
        return None


def _matrix(number: IntArray, first: IntArray, processes: Processes, A: sp.csr_matrix) -> Any:
    """Upper triangle, by owner of the rows, of the sum of all processes' contributions A (n, n)."""
    from petsc4py import PETSc

    entries = A.tocoo()
    rows, columns = number[entries.row], number[entries.col]
    used = (rows >= 0) & (columns >= rows)
    rows, columns, values = rows[used], columns[used], entries.data[used]
    owner = np.searchsorted(first, rows, side="right") - 1
    sent: list[tuple[IntArray, IntArray, FloatArray] | None] = [None] * processes.size
    for rank in range(processes.size):
        if rank != processes.rank:
            chosen = owner == rank
            sent[rank] = rows[chosen], columns[chosen], values[chosen]
    chosen = owner == processes.rank
    parts = [
        (rows[chosen], columns[chosen], values[chosen]),
        *(each for each in processes.comm.alltoall(sent) if each),
    ]
    low, own, size = (
        first[processes.rank],
        first[processes.rank + 1] - first[processes.rank],
        first[-1],
    )
    rows, columns, values = (np.concatenate(each) for each in zip(*parts))
    share = sp.csr_matrix((values, (rows - low, columns)), shape=(own, size))
    csr = share.indptr.astype(PETSc.IntType), share.indices.astype(PETSc.IntType), share.data
    return PETSc.Mat().createSBAIJ(((own, size), (own, size)), 1, csr=csr, comm=PETSc.COMM_WORLD)

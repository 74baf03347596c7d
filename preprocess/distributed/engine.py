"""Linear algebra in several processes.

Products by exchange, factors by MUMPS through PETSc, modes by block Lanczos iteration.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import scipy.sparse as sp

from flexmbs.flexible_body.components import FloatArray, IntArray
from preprocess.distributed.exchange import Exchange
from preprocess.distributed.factor import MumpsFactor
from preprocess.distributed.processes import Processes
from preprocess.solve.engine import BlockMatrix, Engine
from preprocess.solve.factors import Factor
from preprocess.solve.lanczos import Modes, Operator, modes_by_blocks
from preprocess.solve.tall_products import TallProducts
from preprocess.solve.threads import Threads


class PetscEngine(Engine):
    """Engine for fields of which each process has the rows of its elements.

    ``owner`` (b,): rank that owns each local block.
    """

    single_vectors = False
    facts: Mapping[str, float | str] = MappingProxyType({})
    """Size and ordering of the factor of the stiffness."""

    def __init__(self, processes: Processes, owner: IntArray, exchange: Exchange) -> None:
        self._processes, self._exchange, self.process = processes, exchange, processes.rank
        self._mine = np.repeat(owner == processes.rank, 3)
        self.owned = self._mine

    def total(self, x: FloatArray) -> FloatArray:
        """Sum of x over all processes."""
        return self._processes.total(x)

    def largest(self, x: FloatArray) -> FloatArray:
        """Entrywise maximum of x over all processes."""
        return self._processes.largest(x)

    def counted(self, f: FloatArray | sp.spmatrix) -> FloatArray | sp.spmatrix:
        """Rows owned by this process; zero in the others, so that sums count them once."""
        return (
            sp.diags(self._mine.astype(float)) @ f
            if sp.issparse(f)
            else np.where(self._mine[:, None], f, 0.0)
        )

    def gathered(self, rows: FloatArray) -> FloatArray:
        """Rows of all processes, concatenated."""
        return np.concatenate(self._processes.comm.allgather(rows))

    def assembled(self, f: FloatArray) -> FloatArray:
        """Field with the contributions of all processes to shared rows summed."""
        return self._exchange.summed(f)

    def factorize(self, matrix: BlockMatrix) -> Factor:
        """Distributed MUMPS factorization of a matrix."""
        factor = MumpsFactor(self, self._processes, matrix)
        if matrix.definite:
            self.facts = factor.facts
        return factor

    def modes(
        self,
        response: Operator,
        mass: Operator,
        size: int,
        *,
        count: int = 0,
        omega_max: float = 0.0,
    ) -> Modes:
        """Lowest modes from response and mass products over all processes."""
        with Threads() as threads:
            products = _SharedProducts(self, size, threads)
            return modes_by_blocks(response, mass, products, count=count, omega_max=omega_max)


class _SharedProducts(TallProducts):
    """Products of fields distributed over processes."""

    def __init__(self, engine: Engine, size: int, threads: Threads) -> None:
        super().__init__(size, threads)
        self._engine = engine

    def inner(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Inner products AᵀB over all processes."""
        return self._engine.total(super().inner(A, np.asarray(self._engine.counted(B))))

    def squares(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Column-wise inner products of A and B over all processes."""
        return self._engine.squares(A, B)

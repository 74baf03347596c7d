"""Sums over degrees of freedom that several processes share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from flexmbs.flexible_body.components import FloatArray, IntArray
from preprocess.fe.freedoms import dofs_of


@final
class Exchange:
    """Blocks of degrees of freedom shared with other processes.

    They are listed by rank of the other process, in the same order on both sides. times: number of
    exchanges; sent: bytes sent by this process.
    """

    def __init__(self, comm: Any, shared: Mapping[int, IntArray]) -> None:
        """Exchange of the rows shared with each other process."""
        self._comm, self.times, self.sent = comm, 0, 0
        self._rows = {
            rank: dofs_of(blocks) for rank, blocks in sorted(shared.items()) if len(blocks)
        }
        self._all = np.unique(np.concatenate([np.zeros(0, np.int64), *self._rows.values()]))
        self._at = {rank: np.searchsorted(self._all, rows) for rank, rows in self._rows.items()}

    def summed(self, f: FloatArray) -> FloatArray:
        """f (n, k) with the sum over all processes in the shared rows.

        Summed in the order of ranks, hence identical in every process.
        """
        from mpi4py import MPI

        mine = {rank: np.ascontiguousarray(f[rows]) for rank, rows in self._rows.items()}
        self.times, self.sent = (
            self.times + 1,
            self.sent + sum(each.nbytes for each in mine.values()),
        )
        theirs = {rank: np.empty_like(each) for rank, each in mine.items()}
        requests = [self._comm.Irecv(each, rank) for rank, each in theirs.items()]
        requests += [self._comm.Isend(each, rank) for rank, each in mine.items()]
        MPI.Request.Waitall(requests)
        own, sums = f[self._all], np.zeros((len(self._all), f.shape[1]))
        added = False
        for rank, each in theirs.items():
            if rank > self._comm.rank and not added:
                sums, added = sums + own, True
            sums[self._at[rank]] += each
        f[self._all] = sums if added else sums + own
        return f

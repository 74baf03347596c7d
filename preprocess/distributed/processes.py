"""Processes of an MPI run: values broadcast from the first, errors raised in all."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, final

import numpy as np

from flexmbs.errors import FlexmbsError, MachineError

Found = TypeVar("Found")

# seconds within which the other processes fail too if an error concerns all of them
PATIENCE = 10.0
HOW = "see the recipe 'Reduce a part on several machines'"


@final
class CollectiveError(Exception):
    """Error of all processes, reported by the first one.

    exit_code: of this process.
    """

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


@final
class Processes:
    """Processes started together by ``mpirun``.

    rank: number of this one, size: number of all; sums: number of sums so far.
    """

    def __init__(self, comm: Any) -> None:
        self.comm, self.rank, self.size = comm, int(comm.rank), int(comm.size)
        self._ends, self.sums = comm.Dup(), 0

    def from_first(self, function: Callable[[], Found]) -> Found:
        """Result of a function that only the first process calls.

        An error of the function is raised in all processes.
        """
        outcome: Any = None
        if self.rank == 0:
            outcome = _outcome(function)
        found, error = self.comm.bcast(outcome)
        if error is not None:
            raise error
        return found  # type: ignore[no-any-return]

    def together(self, function: Callable[[], Found]) -> Found:
        """Result of a function that every process calls.

        An error in one process is raised in all of them.
        """
        found, error = _outcome(function)
        errors = [each for each in self.comm.allgather(error) if each is not None]
        if errors:
            raise errors[0]
        return found

    def scattered(self, shares: Iterator[Any] | None) -> Any:
        """Item for this process, sent by the first one, which creates one item after the other."""
        if self.rank:
            return self.comm.recv(source=0)
        assert shares is not None
        own = next(shares)
        for target, share in enumerate(shares, 1):
            self.comm.send(share, target)
        return own

    def total(self, x: np.ndarray) -> np.ndarray:
        """Sum of an array over all processes, bitwise identical in each."""
        return self._reduced(x, "SUM")

    def largest(self, x: np.ndarray) -> np.ndarray:
        """Maximum over all processes, entry by entry."""
        return self._reduced(x, "MAX")

    def _reduced(self, x: np.ndarray, operation: str) -> np.ndarray:
        """Array combined over all processes, identical in each."""
        from mpi4py import MPI

        self.sums += 1
        mine = np.array(x, dtype=float, order="C")
        found = np.empty_like(mine)
        self.comm.Reduce(mine, found, getattr(MPI, operation))
        self.comm.Bcast(found)
        return found

    @contextmanager
    def ending_together(self) -> Iterator[None]:
        """Context in which an error ends all processes.

        A collective error is raised in the first process and ends the others quietly; an error of
        this process alone is printed in one line, and the others are aborted.
        """
        try:
            yield
        except Exception as error:
            code = getattr(
                error, "exit_code", MachineError.exit_code if isinstance(error, MemoryError) else 1
            )
            if os.environ.get("FLEXMBS_DEBUG"):
                traceback.print_exception(error)
            if not self._all_failed():
                what = (
                    error if isinstance(error, FlexmbsError) else f"{type(error).__name__}: {error}"
                )
                line = "; ".join(str(what).splitlines())
                print(
                    f"error: process {self.rank} of {self.size}: {line}",
                    file=sys.stderr,
                    flush=True,
                )
                self.comm.Abort(code)
            if self.rank == 0:
                raise
            raise CollectiveError(code) from None

    def _all_failed(self) -> bool:
        """True if every process reaches this point within `PATIENCE`."""
        request, until = self._ends.Ibarrier(), time.monotonic() + PATIENCE
        while not request.Test():
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True


def processes() -> Processes:
    """Processes of this run, with PETSc started.

    Raises MachineError if PETSc, SLEPc or MPI are missing.
    """
    try:
        import petsc4py

        petsc4py.init([])
        from mpi4py import MPI
        from petsc4py import PETSc
        from slepc4py import SLEPc

        version = SLEPc.Sys.getVersion()
    except (ImportError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise MachineError(f"engine: petsc is not available here: {reason}; {HOW}") from error
    if np.dtype(PETSc.ScalarType).kind == "c":
        raise MachineError(
            f"engine: this PETSc {version} is built for complex numbers; use one for real "
            f"numbers, {HOW}"
        )
    return Processes(MPI.COMM_WORLD)


def _outcome(function: Callable[[], Found]) -> tuple[Any, FlexmbsError | None]:
    """(result, None) of a function, or (None, its FlexmbsError)."""
    try:
        return function(), None
    except FlexmbsError as error:
        return None, error

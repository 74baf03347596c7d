"""Workers for batches.

Processes of this machine, threads, or any executor with the interface of `concurrent.futures`.
"""

import contextlib
import math
import multiprocessing
import os
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import Any

from flexmbs.console.spawn_context import spawn_context
from flexmbs.errors import AssemblyWarning, InputError, ModelWarning, shown
from flexmbs.studies.parameters.threads import RunThreads

KINDS = ("processes", "threads")
RUNNING, ENDED = "running", ("closing", "closed")  # of a client of dask.distributed
ASKED = 2.0  # s between two questions for its threads


class Workers:
    """An executor with the number of batches that it takes at a time.

    Its own executor is created anew if its processes die.
    """

    def __init__(self, make: Callable[[], Any], size: int, *, own: bool) -> None:
        self.make, self._size, self.own = make, size, own
        self.executor: Any = None

    @property
    def size(self) -> int:
        """Number of batches that run at a time."""
        return self._size

    def ended(self) -> bool:
        """True if pending futures will never be done."""
        return False

    def empty(self) -> bool:
        """True if no worker is available at present."""
        return False

    def submit(self, function: Callable[..., Any], *given: Any) -> "Future[Any]":
        """Future of a call. Raises the exceptions of the executor."""
        if self.executor is None:
            self.executor = self.make()
        return self.executor.submit(function, *given)  # type: ignore[no-any-return]

    def close(self, *, now: bool = False) -> list[int | None]:
        """Shut the executor down until the next call restarts it.

        Running calls are ended ``now``, or waited for. Returns the exit codes of its processes that
        have ended before.
        """
        executor, self.executor = self.executor, None
        if executor is None or not self.own:
            return []
        processes = list((getattr(executor, "_processes", None) or {}).values())
        codes = [process.exitcode for process in processes]
        # threads end with their batch
        executor.shutdown(wait=not (now and processes), cancel_futures=True)
        for process in processes if now else ():
            process.kill()
            process.join()
        return codes


class Cluster(Workers):
    """The threads of a client of dask.distributed, or a ``count`` of them.

    Workers may come and go while a sweep runs.
    """

    def __init__(self, client: Any, count: int | None) -> None:
        super().__init__(lambda: client.get_executor(pure=False, retries=0), count or 1, own=False)
        self.client, self.count, self.threads, self.asked = client, count, 0, -math.inf

    @property
    def size(self) -> int:
        return self.count or self._threads() or 1

    def ended(self) -> bool:
        """True if the connection to the scheduler has ended."""
        # what is submitted while it looks for a scheduler that is gone stays pending for ever
        return self.client.status in ENDED

    def empty(self) -> bool:
        """True if the connected cluster has no threads."""
        return not self._threads() and self.client.status == RUNNING

    def _threads(self) -> int:
        """Number of threads, determined now and then."""
        if time.monotonic() - self.asked > ASKED and self.client.status == RUNNING:
            with contextlib.suppress(Exception):  # its connection ends just now
                self.threads = sum(self.client.nthreads().values())
            self.asked = time.monotonic()
        return self.threads


def made_workers(given: Any, count: int | None, study: object) -> Workers:
    """Workers from a number, an executor or a cluster. Raises `InputError`."""
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise InputError(f"workers: must be a whole number ≥ 1, not {shown(count)}")
    n = count or available()
    if given == "processes":
        check_sent(study)
        return Workers(lambda: ProcessPoolExecutor(n, spawn_context(), _begin), n, own=True)
    if given == "threads":
        return Workers(lambda: RunThreads(n, "sweep"), n, own=True)
    if callable(getattr(given, "get_executor", None)):  # a client of dask.distributed
        return Cluster(given, count)
    if isinstance(given, Executor):
        return Workers(
            lambda: given, count or int(getattr(given, "_max_workers", n) or n), own=False
        )
    raise InputError(
        f"executor: unknown {shown(given)}; give {' or '.join(map(repr, KINDS))}, an "
        "executor of concurrent.futures, or a client "
        "of dask.distributed"
    )


def available() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_sent(study: object) -> None:
    """Raise `InputError` for a study that cannot be pickled for other processes."""
    try:
        pickle.dumps(study)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"executor: 'processes' cannot be sent the model or its outputs ({error}); "
            "define functions at the top of a module, "
            "or take executor='threads'"
        ) from None


def _begin() -> None:
    """Initialize a worker process.

    It leaves interrupts to its parent, ends with it, and does not repeat the warnings that results
    hold.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for kind in (AssemblyWarning, ModelWarning):
        warnings.simplefilter("ignore", kind)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Wait for the parent process and end this one after it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

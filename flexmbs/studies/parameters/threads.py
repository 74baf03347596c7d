"""Threads in which models run side by side."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

TURN = 5e-4  # s


class RunThreads(ThreadPoolExecutor):
    """Threads for runs: Python executes one of them at a time, kernels any number.

    A thread that comes back from a kernel waits for Python until another one pauses, at most
    `sys.getswitchinterval()`. Its 5 ms are longer than most of what a run does between two kernels;
    while there are such threads it is `TURN`.
    """

    _lock = threading.Lock()
    _open: ClassVar[set[RunThreads]] = set()
    _usual = TURN  # the interval without them

    def __init__(self, workers: int | None = None, name: str = "") -> None:
        super().__init__(workers, name)
        with self._lock:
            if not self._open:
                RunThreads._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(TURN, self._usual))
            self._open.add(self)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Shut the executor down; the last one restores the thread switch interval."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        with self._lock:
            if self._open == {self}:
                sys.setswitchinterval(self._usual)
            self._open.discard(self)

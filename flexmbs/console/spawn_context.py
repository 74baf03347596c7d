"""Multiprocessing context whose processes import nothing from the current folder.

They end without a traceback if they are interrupted. A spawned interpreter runs ``python -c``, whose
first import path is the current folder: a file ``signal.py`` there would be executed.
PYTHONSAFEPATH omits that path; the import paths of the parent are restored afterwards. Interrupts
are blocked until its own program runs: Python would print the traceback of its start.
"""

import contextlib
import os
import signal
from collections.abc import Iterator
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

VARIABLE = "PYTHONSAFEPATH"


def spawn_context() -> SpawnContext:
    """Multiprocessing context that starts processes and resource tracker safely."""
    if os.name == "posix":
        with _safe_path():
            resource_tracker.ensure_running()
    return _Context()


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Context that sets PYTHONSAFEPATH for interpreters started in it."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        _restore(before)


def _restore(value: str | None) -> None:
    """Set PYTHONSAFEPATH to a value, or remove it."""
    if value is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = value


@contextlib.contextmanager
def _blocked_interrupts() -> Iterator[None]:
    """Context that blocks interrupts in this thread and in processes started in it."""
    if os.name != "posix":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_by_interrupts() -> None:
    """Let interrupts, also those that were blocked, end this process unless they are ignored."""
    if os.name != "posix":
        return
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


class _Process(SpawnProcess):
    """Process started with a safe import path and blocked interrupts.

    It runs with its parent's value of the variable.
    """

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._variable = os.environ.get(VARIABLE)

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        """Start a process with a safe import path and blocked interrupts."""
        with _safe_path(), _blocked_interrupts():
            return SpawnProcess._Popen(process_obj)  # type: ignore[attr-defined]

    def run(self) -> None:
        """Run the target."""
        _restore(self._variable)
        _end_by_interrupts()
        super().run()


class _Context(SpawnContext):
    """Start method "spawn" with `_Process`."""

    Process = _Process  # type: ignore[assignment]

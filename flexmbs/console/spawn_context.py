"""Multiprocessing context whose processes import nothing from the current folder.

A spawned interpreter runs ``python -c``, whose first import path is the current folder: a file
``signal.py`` there would be executed. PYTHONSAFEPATH omits that path; the import paths of the
parent are restored afterwards.
"""

import contextlib
import os
from collections.abc import Iterator
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

VARIABLE = "PYTHONSAFEPATH"


def spawn_context() -> SpawnContext:
    """Context for processes and executors, with a resource tracker that is started in the same
    way."""
    if os.name == "posix":
        with _safe_path():
            resource_tracker.ensure_running()
    return _Context()


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Set the variable for interpreters started in the block."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        _restore(before)


def _restore(value: str | None) -> None:
    """Set the variable to a value, or remove it."""
    if value is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = value


class _Process(SpawnProcess):
    """Process that is started with the variable set and runs with its parent's value."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._variable = os.environ.get(VARIABLE)

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        with _safe_path():
            return SpawnProcess._Popen(process_obj)  # type: ignore[attr-defined]

    def run(self) -> None:
        """Run the target."""
        _restore(self._variable)
        super().run()


class _Context(SpawnContext):
    """Start method "spawn" with `_Process`."""

    Process = _Process  # type: ignore[assignment]

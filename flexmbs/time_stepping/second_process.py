"""Other processes that compile kernels for runs that begin here, from the last one back, where the
disk has none yet.

Each takes what the others have not begun (`flexmbs._jit.locks`) and loads what they made, so that
the first run of a formalism with an integrator waits about half as long. They are not of
`multiprocessing`, which would run the user's script again.
"""

import atexit
import contextlib
import contextvars
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from flexmbs._jit import CACHE

OFF = "FLEXMBS_ONE_PROCESS"  # environment variable: no second process
PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from flexmbs.studies.run.warmup import compile_backwards
for formalism, integrator in json.loads(sys.argv[2]):
    compile_backwards(formalism, integrator)
"""
MOST = 4  # processes: a comparison has few kernels that take long
_STARTED = contextvars.ContextVar("started", default=False)


def compile_in_second_process(formalism: str, integrator: str) -> None:
    """Start it, where it helps, for the kernels of a pair that never ran to its end here."""
    if not _STARTED.get():
        _start([(formalism, integrator)])


@contextlib.contextmanager
def compiling_ahead(pairs: Sequence[tuple[str, str]]) -> Iterator[None]:
    """While the block runs these pairs of formalism and integrator one after the other, other
    processes compile their kernels from the last pair back; its runs start none of their own."""
    token = _STARTED.set(True)
    try:
        _start(list(dict.fromkeys(pairs)))
        yield
    finally:
        _STARTED.reset(token)


def _start(pairs: Sequence[tuple[str, str]]) -> None:
    """Start helper processes, each with pairs of its own first."""
    wanted = [pair for pair in pairs if CACHE is not None and not _marker(*pair).exists()][::-1]
    count = min(_processors() - 1, len(wanted), MOST)
    none = subprocess.DEVNULL
    for k in range(count if wanted and _allowed() else 0):
        own = [pair for first in range(count) for pair in wanted[(k + first) % count :: count]]
        command = [sys.executable, "-I", "-c", PROGRAM, json.dumps(sys.path), json.dumps(own)]
        try:
            atexit.register(_end, subprocess.Popen(command, stdin=none, stdout=none, stderr=none))
        except OSError:  # no more processes: those there are do all
            return


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a helper process; what it has compiled stays."""
    if process.poll() is None:
        process.terminate()
        process.wait()


def all_compiled(formalism: str, integrator: str) -> None:
    """Remember that the kernels of a pair are on the disk."""
    if CACHE is None:
        return
    marker = _marker(formalism, integrator)
    try:
        marker.parent.mkdir(mode=0o700, exist_ok=True)
        marker.touch()
    except OSError:
        return


def _marker(formalism: str, integrator: str) -> Path:
    return Path(CACHE or "", "pairs", f"{formalism}-{integrator}")


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _allowed() -> bool:
    """True if this is the first process and its Python can be started again."""
    started = multiprocessing.parent_process() is not None or bool(os.environ.get(OFF))
    return (
        not getattr(sys, "frozen", False)
        and Path(sys.executable or "").name.startswith("python")
        and not started
    )

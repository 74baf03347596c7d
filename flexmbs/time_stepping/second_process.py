"""Further processes that compile the kernels of a run, starting from the last kernel.

They are started when a kernel is not cached on disk. Each process takes kernels that no other
process is compiling (`flexmbs._jit.locks`) and loads those compiled by others, so that the first
run of a formalism with an integrator takes about half as long. `multiprocessing` is not used for
them, since it would run the user's script again.
"""

import atexit
import contextlib
import contextvars
import functools
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from flexmbs._jit.address import before_compilation

OFF = "FLEXMBS_ONE_PROCESS"  # environment variable that disables second processes
PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from flexmbs.studies.run.warmup import compile_backwards
for formalism, integrator in json.loads(sys.argv[2]):
    compile_backwards(formalism, integrator)
"""
MOST = 4  # processes; more do not help, since few kernels of a comparison take long
_STARTED = contextvars.ContextVar("started", default=False)


def compile_in_second_process(formalism: str, integrator: str) -> None:
    """Start a second process for a pair of formalism and integrator.

    Only if the first of its kernels is not on the disk.
    """
    if not _STARTED.get():
        before_compilation(functools.partial(_start, [(formalism, integrator)]))


def all_compiled() -> None:
    """Mark the kernels as compiled, so that no further process is started."""
    if not _STARTED.get():
        before_compilation(None)


@contextlib.contextmanager
def compiling_ahead(pairs: Sequence[tuple[str, str]]) -> Iterator[None]:
    """Context in which other processes compile these (formalism, integrator) pairs.

    Other processes compile their kernels from the last pair backwards; the runs start none of their
    own.
    """
    token = _STARTED.set(True)
    before_compilation(functools.partial(_start, list(dict.fromkeys(pairs))))
    try:
        yield
    finally:
        before_compilation(None)
        _STARTED.reset(token)


def _start(pairs: Sequence[tuple[str, str]]) -> None:
    """Start as many processes as are useful, each with different pairs first."""
    wanted = pairs[::-1]
    count = min(_processors() - 1, len(wanted), MOST)
    none = subprocess.DEVNULL
    for k in range(count if wanted and _allowed() else 0):
        own = [pair for first in range(count) for pair in wanted[(k + first) % count :: count]]
        command = [sys.executable, "-I", "-c", PROGRAM, json.dumps(sys.path), json.dumps(own)]
        try:
            atexit.register(_end, subprocess.Popen(command, stdin=none, stdout=none, stderr=none))
        except OSError:  # no more processes: the existing ones compile all
            return


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a second process together with this one; its compiled kernels stay on the disk."""
    if process.poll() is None:
        process.terminate()
        process.wait()


def _processors() -> int:
    """Number of processors available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _allowed() -> bool:
    """True if this is the first process and Python can be started again."""
    started = multiprocessing.parent_process() is not None or bool(os.environ.get(OFF))
    return (
        not getattr(sys, "frozen", False)
        and Path(sys.executable or "").name.startswith("python")
        and not started
    )

"""A second process that compiles kernels for a run that begins here, from the last one back, where the disk has none yet.

Each takes what the other has not begun (`flexmbs._jit.locks`) and loads what it made, so that the first run of a formalism with
an integrator waits about half as long. The process is not of `multiprocessing`, which would run the user's script again.
"""

import atexit
import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

from flexmbs._jit import CACHE

OFF = "FLEXMBS_ONE_PROCESS"  # environment variable: no second process
PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from flexmbs.studies.warmup import compile_backwards
compile_backwards(*sys.argv[2:])
"""


def compile_in_second_process(formalism: str, integrator: str) -> None:
    """Start it, where it helps, for the kernels of a pair that never ran to its end here."""
    if CACHE is None or _marker(formalism, integrator).exists() or not _helps():
        return
    command = [sys.executable, "-I", "-c", PROGRAM, json.dumps(sys.path), formalism, integrator]
    none = subprocess.DEVNULL
    try:
        atexit.register(_end, subprocess.Popen(command, stdin=none, stdout=none, stderr=none))
    except OSError:  # no more processes: this one does all
        return


def _end(process: subprocess.Popen[bytes]) -> None:
    """It does not outlive this process; what it has compiled stays."""
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


def _helps() -> bool:
    """Whether there is a processor for it, and Python is a program that starts again."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    started = multiprocessing.parent_process() is not None or bool(os.environ.get(OFF))
    python = not getattr(sys, "frozen", False) and Path(sys.executable or "").name.startswith("python")
    return cores > 1 and python and not started

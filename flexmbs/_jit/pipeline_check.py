"""Test of the pipelines for parts and for kernels that run seldom with the installed Numba.

`flexmbs._jit.numba_pipelines` extends private classes of Numba's. Here each pipeline compiles a
small kernel, once per version of Numba; if one fails, parts or seldom kernels are compiled as
ordinary kernels, which takes longer.
"""

import contextlib
import pathlib
import platform
from collections.abc import Callable
from typing import Any

import llvmlite
import numba


def working_pipelines(folder: str | None) -> tuple[Any, Any]:
    """Numba pipelines for parts and rare kernels; None for one that fails here.

    folder: where the verdict is stored for the next process.
    """
    try:
        from flexmbs._jit import numba_pipelines

        made = numba_pipelines.make_pipelines()
    except (ImportError, AttributeError, TypeError):
        return None, None
    name = f"pipelines-{platform.python_version()}-{numba.__version__}-{llvmlite.__version__}"
    kept = pathlib.Path(folder, name) if folder else None
    try:
        verdict = kept.read_text(encoding="ascii") if kept else ""
    except (OSError, ValueError):
        verdict = ""
    if len(verdict) != 2 or not set(verdict) <= set("01"):
        part, seldom = made
        parts_work = _works(lambda: _tried(part, None))
        verdict = f"{parts_work:d}{_works(lambda: _tried(part if parts_work else None, seldom)):d}"
        with contextlib.suppress(OSError):
            if kept:
                kept.write_text(verdict, encoding="ascii")
    return made[0] if verdict[0] == "1" else None, made[1] if verdict[1] == "1" else None


def _works(call: Callable[[], float]) -> bool:
    """True if a test call that uses Numba internals gives the expected 6."""
    try:
        return call() == 6.0
    except Exception:  # whatever changed internals may raise
        return False


def _tried(part: Any, seldom: Any) -> float:
    """Result (6 if correct) of a test kernel and a part, compiled by these pipelines."""
    inner_options = {"_nrt": False, "pipeline_class": part} if part else {}

    @numba.njit(error_model="numpy", nogil=True, **inner_options)
    def twice(x: float) -> float:
        """Test function 2 x, called by another compiled function."""
        return 2.0 * x

    @numba.njit(error_model="numpy", nogil=True, **({"pipeline_class": seldom} if seldom else {}))
    def total(n: int) -> float:
        """Test function: 2 n as the sum of n calls."""
        s = 0.0
        for _ in range(n):
            s += twice(1.0)
        return s

    return float(total(3))

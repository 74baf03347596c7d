"""Parts of kernels: functions compiled for use inside other kernels only.

Numba optimises and emits machine code for every function by itself, then again for each caller into
which it is linked. In a deep call graph most of the compile time goes there. A part is typed and
lowered once and linked unoptimised; the kernel at the top optimises the whole. Measured on the
equations of motion: half the compile time, same machine code quality, nothing to cache per part.

This reaches into Numba's compiler (`flexmbs._jit.passes`): `compilers` tries out what it made, once
per version, and where Numba's inside is another, parts and seldom kernels are ordinary ones, which
take longer to compile.
"""

import contextlib
import gc
import pathlib
import platform
from collections.abc import Callable
from typing import Any

import llvmlite
import numba
from numba.core import event

from flexmbs._jit.passes import make_compilers


def compilers(folder: str | None) -> tuple[Any, Any]:
    """Compiler classes for parts and for kernels that run seldom, None for one that fails with the
    installed Numba.

    ``folder``: where the verdict is kept for the next process.
    """
    try:
        made = make_compilers()
    except (ImportError, AttributeError, TypeError):
        return None, None
    name = f"compilers-{platform.python_version()}-{numba.__version__}-{llvmlite.__version__}"
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
    """Whether a call that reaches into Numba gives 6."""
    try:
        return call() == 6.0
    except Exception:  # whatever an inside that has changed may raise
        return False


def _tried(part: Any, seldom: Any) -> float:
    """2 + 2 + 2 from a small kernel that calls a part three times, compiled with these compilers."""
    inner_options = {"_nrt": False, "pipeline_class": part} if part else {}

    @numba.njit(error_model="numpy", nogil=True, **inner_options)
    def twice(x: float) -> float:
        return 2.0 * x

    @numba.njit(error_model="numpy", nogil=True, **({"pipeline_class": seldom} if seldom else {}))
    def total(n: int) -> float:
        s = 0.0
        for _ in range(n):
            s += twice(1.0)
        return s

    return float(total(3))


def without_literals(dispatcher: Any) -> Any:
    """The same dispatcher, typed by ``int64`` where a call has a literal: Numba would compile a
    copy for each literal.
    """
    template = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        plain = {key: numba.types.unliteral(value) for key, value in kws.items()}
        return template(tuple(numba.types.unliteral(arg) for arg in args), plain)

    dispatcher.get_call_template = get_call_template
    return dispatcher


class WithoutCollection(event.Listener):
    """Holds Python's garbage collector while Numba compiles: millions of objects, little garbage (a
    fifth of the time).
    """

    def __init__(self) -> None:
        self.depth = 0
        self.was_enabled = False

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.was_enabled = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0 and self.was_enabled:
            gc.enable()

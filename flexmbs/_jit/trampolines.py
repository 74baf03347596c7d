"""Pool of trampolines: machine code that calls a compiled user function and reports its failure.

The code that Numba compiles for a user function contains no address of a report, so that it serves
every run of a process. A trampoline, a few instructions made without Numba, reads the addresses of
the function and of the report of one run from a row of a table; after the run it is used again.
"""

from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir

AT_ONCE = 16  # trampolines compiled together, in 19 ms; reserving one takes 3 µs


class Trampoline:
    """Function ``void f(x, out)`` at ``address``, reserved until this object is deleted."""

    def __init__(self, free: list[tuple[int, np.ndarray]], checked: int, report: int) -> None:
        self._free, self._own = free, _take_trampoline(free)
        self.address, targets = self._own
        targets[:] = checked, report

    def __del__(self) -> None:
        self._free.append(self._own)


_free: list[tuple[int, np.ndarray]] = []  # addresses and their rows of the table
# never deleted: collected in one cycle with a trampoline, an engine would free its code too early
_engines: list[Any] = []


def reported(checked: int, report: int) -> tuple[int, Any]:
    """(address of a trampoline ``void f(x, out)``, object that reserves it).

    It calls ``long checked(x, out)`` and, if that is not 0, ``void report(x, out)``, given by their
    addresses; x and out are addresses.
    """
    made = Trampoline(_free, checked, report)
    return made.address, made


def _take_trampoline(free: list[tuple[int, np.ndarray]]) -> tuple[int, np.ndarray]:
    """Take a free trampoline, or make new ones."""
    try:
        return free.pop()
    except IndexError:
        own, *others = _compiled_trampolines()
        free.extend(others)
        return own


def _compiled_trampolines() -> list[tuple[int, np.ndarray]]:
    """Compile a set of trampolines: the address of each and its row of the table of targets."""
    llvmlite.binding.initialize_native_target()
    llvmlite.binding.initialize_native_asmprinter()
    word, void = ir.IntType(64), ir.VoidType()
    module = ir.Module("reported")
    module.triple = llvmlite.binding.get_process_triple()
    table = np.zeros((AT_ONCE, 2), np.int64)
    for k, row in enumerate(table):
        function = ir.Function(module, ir.FunctionType(void, [word, word]), f"reported{k}")
        builder = ir.IRBuilder(function.append_basic_block())
        place = row.__array_interface__["data"][0]
        bad = _call(builder, place, word, function.args)
        with builder.if_then(builder.icmp_signed("!=", bad, word(0)), likely=False):
            _call(builder, place + row.itemsize, void, function.args)
        builder.ret_void()
    machine = llvmlite.binding.Target.from_triple(module.triple).create_target_machine(jit=True)
    engine = llvmlite.binding.create_mcjit_compiler(
        llvmlite.binding.parse_assembly(str(module)), machine
    )
    engine.finalize_object()
    _engines.append(engine)
    return [(int(engine.get_function_address(f"reported{k}")), row) for k, row in enumerate(table)]


def _call(builder: Any, place: int, result: Any, arguments: Any) -> Any:
    """Emit the call of the function whose address is stored at a place."""
    word = ir.IntType(64)
    address = builder.load(builder.inttoptr(word(place), word.as_pointer()))
    return builder.call(
        builder.inttoptr(address, ir.FunctionType(result, [word, word]).as_pointer()), arguments
    )

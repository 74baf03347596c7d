"""A compiled function with a report of its own, in machine code: a few instructions, made without Numba in a millisecond.

What Numba compiled takes its report's address nowhere, so that it serves every run of a process.
"""

from typing import Any

import llvmlite.binding
from llvmlite import ir


def reported(checked: int, report: int) -> tuple[int, Any]:
    """Address of ``void f(x, out)`` and what keeps it alive: calls ``long checked(x, out)`` and, where that is not 0, ``void
    report(x, out)``, both given by their addresses; x and out are addresses."""
    word, void = ir.IntType(64), ir.VoidType()
    module = ir.Module("reported")
    module.triple = llvmlite.binding.get_process_triple()
    function = ir.Function(module, ir.FunctionType(void, [word, word]), "reported")
    builder = ir.IRBuilder(function.append_basic_block())
    bad = _call(builder, checked, word, function.args)
    with builder.if_then(builder.icmp_signed("!=", bad, word(0)), likely=False):
        _call(builder, report, void, function.args)
    builder.ret_void()
    machine = llvmlite.binding.Target.from_triple(module.triple).create_target_machine(jit=True)
    engine = llvmlite.binding.create_mcjit_compiler(llvmlite.binding.parse_assembly(str(module)), machine)
    engine.finalize_object()
    return int(engine.get_function_address("reported")), engine


def _call(builder: Any, address: int, result: Any, arguments: Any) -> Any:
    word = ir.IntType(64)
    pointer = ir.FunctionType(result, [word, word]).as_pointer()
    return builder.call(builder.inttoptr(word(address), pointer), arguments)

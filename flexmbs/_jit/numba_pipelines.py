"""Compiler pipelines of Numba's with own passes: for parts, and for kernels that run seldom.

Numba optimises and emits machine code for every function by itself, then again for each caller into
which it is linked. In a deep call graph most of the compile time goes there. A part is typed and
lowered once and linked unoptimised; the kernel at the top optimises the whole.

The classes are made in functions, since their bases are private classes of Numba's: a version
without one of them raises here, and `flexmbs._jit.pipeline_check` falls back to ordinary kernels.
"""

import functools
from collections.abc import Container
from typing import Any

import llvmlite
import numba
from numba.core import codegen

from flexmbs._jit.bitcode_cache import make_entry, symbol_number

# passes for features that no part uses: closures, contexts, expressions of whole arrays, reference
# counts
_NEEDLESS = (
    "WithLifting",
    "InlineClosureLikes",
    "MakeFunctionToJitFunction",
    "InlineInlinables",
    "FindLiterallyCalls",
    "LiteralUnroll",
    "LiteralPropagationSubPipelinePass",
    "InlineOverloads",
    "NopythonRewrites",
    "NoPythonSupportedFeatureValidation",
    "IRLegalization",
    "DumpParforDiagnostics",
)


def make_pipelines() -> tuple[Any, Any]:
    """Pipelines for parts and for kernels that run seldom."""
    from numba.core.typed_passes import NativeLowering

    library = _part_library()
    parts = _compiler({NativeLowering: _part_lowering(library)}, _NEEDLESS)
    parts.library, parts.stand_in = library, staticmethod(_stand_in)
    return parts, _compiler({NativeLowering: _seldom_lowering()})


def _compiler(exchanged: dict[Any, Any], needless: Container[str] = ()) -> Any:
    """Numba compiler class with passes replaced or left out."""
    from numba.core.compiler import Compiler

    class Exchanged(Compiler):  # type: ignore[misc]
        def define_pipelines(self) -> list[Any]:
            """Pipelines of Numba without needless passes and with passes exchanged."""
            pipelines: list[Any] = super().define_pipelines()
            for pipeline in pipelines:
                pipeline._finalized = False
                kept = [(p, text) for p, text in pipeline.passes if p.__name__ not in needless]
                pipeline.passes = [(exchanged.get(p, p), text) for p, text in kept]
                pipeline.finalize()
            return pipelines

    return Exchanged


def _optimize_lightly(library: Any, module: Any) -> None:
    """Run Numba's function passes, lightly, on the functions that are defined in a module only.

    Half of its functions are declarations for calls.
    """
    module.data_layout = library._codegen._data_layout
    light = functools.partial(
        library._codegen._function_pass_manager, opt=1, loop_vectorize=False, slp_vectorize=False
    )
    try:
        light()
    except TypeError:  # passes belong to a module: Numba 0.60 and 0.61
        codegen.JITCodeLibrary._optimize_functions(library, module)
        return
    for function in module.functions:
        if not function.is_declaration:
            passes, builder = light()
            passes.run(function, builder)


@functools.cache
def _light_machine(generator: Any) -> Any:
    """LLVM target machine with cheap instruction selection."""
    options: dict[str, Any] = {"opt": 1}
    generator._customize_tm_options(options)
    return llvmlite.binding.Target.from_triple(
        llvmlite.binding.get_process_triple()
    ).create_target_machine(**options)


def _part_library() -> Any:
    """Code library class for parts, which keeps bitcode and links nothing."""
    from llvmlite.binding import Linkage

    class PartLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
        """Lowered code of a part, for the kernel into which it is linked."""

        key = ""  # of its file in `flexmbs._jit.bitcode_cache`
        _bitcode = b""

        def set_bitcode(self, bitcode: bytes) -> None:
            """Set the bitcode of a part loaded from the disk."""
            self._bitcode, self._finalized = bitcode, True

        def finalize(self) -> None:
            """Link nothing: the kernel links a part and those that it calls, each once.

            A part is never loaded by itself.
            """
            self._finalize_dynamic_globals()
            self._finalized = True

        def _optimize_functions(self, module: Any) -> None:
            """Optimize the functions of a module lightly."""
            _optimize_lightly(self, module)

        def _get_module_for_linking(self) -> Any:
            """LLVM module of the part itself, without a copy."""
            if self._shared_module is None and self._bitcode:
                self._shared_module = llvmlite.binding.parse_bitcode(self._bitcode)
            if self._shared_module is None:
                for function in self._final_module.functions:
                    if not function.is_declaration and function.linkage == Linkage.external:
                        function.linkage = Linkage.linkonce_odr
                self._shared_module = self._final_module
            return self._shared_module

        def with_called(self) -> list[Any]:
            """The libraries of the part and of all functions that it calls."""
            found: dict[Any, None] = {self: None}
            for library in self._linking_libraries:
                found.update(
                    dict.fromkeys(
                        library.with_called() if isinstance(library, PartLibrary) else [library]
                    )
                )
            return list(found)

    return PartLibrary


@functools.cache
def _stand_in() -> tuple[Any, Any]:
    """(compiled placeholder function that represents parts in Python, its address).

    It is compiled with the first part; called with arguments it raises TypeError.
    """

    @numba.njit
    def not_callable() -> int:
        """Placeholder function that returns 0."""
        return 0

    not_callable()
    compiled: Any = next(iter(not_callable.overloads.values()))
    return compiled, codegen.JITCodeLibrary.get_pointer_to_function(
        compiled.library, compiled.fndesc.llvm_cpython_wrapper_name
    )


def _part_lowering(library_class: Any) -> Any:
    """Numba pass that lowers a part to bitcode."""
    from numba.core.compiler import _LowerResult
    from numba.core.compiler_machinery import register_pass
    from numba.core.typed_passes import NativeLowering

    @register_pass(mutates_CFG=True, analysis_only=False)
    class PartLowering(NativeLowering):  # type: ignore[misc]
        """Lowering without wrappers and without machine code."""

        _name = "part_lowering"

        def run_pass(self, state: Any) -> bool:
            """Lower a function into a library of bitcode, with a stable symbol number."""
            library = library_class(state.targetctx.codegen(), state.func_id.func_qualname)
            library.enable_object_caching()
            state.library = library
            state.flags.no_compile = state.flags.no_cpython_wrapper = (
                state.flags.no_cfunc_wrapper
            ) = True
            number = symbol_number(state.func_id.func)
            if number is not None:
                state.func_id.unique_id = number
            super().run_pass(state)
            low = state["cr"]
            entry = make_entry(low.fndesc, low.env, _stand_in(), library)
            state.targetctx.insert_user_function(entry, low.fndesc, library.with_called())
            state["cr"] = _LowerResult(low.fndesc, low.call_helper, cfunc=entry, env=low.env)
            return True

    return PartLowering


def _seldom_lowering() -> Any:
    """Numba pass that lowers a rarely called kernel with little optimization."""
    from numba.core.compiler_machinery import register_pass
    from numba.core.typed_passes import NativeLowering

    class SeldomLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
        """Lightly optimised code: inlined and simplified, not vectorised, simple instructions."""

        def _optimize_functions(self, module: Any) -> None:
            """Optimize the functions of a module lightly."""
            _optimize_lightly(self, module)

        def _optimize_final_module(self) -> None:
            """Optimize the module at level 1 without vectorization."""
            passes, builder = self._codegen._module_pass_manager(
                loop_vectorize=False, slp_vectorize=False, opt=1, cost="cheap"
            )
            passes.run(self._final_module, builder)

        def _finalize_final_module(self) -> None:
            """Emit the object code with cheap code generation, then finalize."""
            code = _light_machine(self._codegen).emit_object(self._final_module)
            self._compiled_object = code
            super()._finalize_final_module()
            self._compiled_object, self._compiled = code, True

    @register_pass(mutates_CFG=True, analysis_only=False)
    class SeldomLowering(NativeLowering):  # type: ignore[misc]
        """Lowering into a lightly optimised library."""

        _name = "seldom_lowering"

        def run_pass(self, state: Any) -> bool:
            """Lower a rarely called function into a lightly optimized library."""
            state.library = SeldomLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            if not state.flags.no_cpython_wrapper:  # for Python, not for calls by address
                state.flags.no_cfunc_wrapper = True
            return bool(super().run_pass(state))

    return SeldomLowering

"""Parts of kernels: functions compiled for use inside other kernels only.

Numba optimises and emits machine code for every function by itself, then again for each caller into which it is linked. In
a deep call graph most of the compile time goes there. A part is typed and lowered once and linked unoptimised; the kernel at
the top optimises the whole. Measured on the equations of motion: half the compile time, same machine code quality, nothing to
cache per part.

This reaches into Numba's compiler: `compilers` tries out what it made, once per version, and where Numba's inside is another,
parts and seldom kernels are ordinary ones, which take longer to compile.
"""

import contextlib
import functools
import gc
import pathlib
import platform
from collections.abc import Callable, Container, Iterator
from typing import Any

import llvmlite
import numba
from numba.core import event, types

from flexmbs._jit.kept_parts import SYMBOL, is_kept, make_entry

_NEEDLESS = (  # passes for what no part has: closures, contexts, expressions of whole arrays, counted references
    "WithLifting", "InlineClosureLikes", "MakeFunctionToJitFunction", "InlineInlinables", "FindLiterallyCalls", "LiteralUnroll",
    "LiteralPropagationSubPipelinePass", "InlineOverloads", "NopythonRewrites", "NoPythonSupportedFeatureValidation",
    "IRLegalization", "DumpParforDiagnostics",
)  # fmt: skip
_signatures: dict[Any, Any] = {}


def compilers(folder: str | None) -> tuple[Any, Any]:
    """Compiler classes for parts and for kernels that run seldom, None for one that fails with the installed Numba.

    ``folder``: where the verdict is kept for the next process.
    """
    try:
        made = _make()
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


def _make() -> tuple[Any, Any]:
    from llvmlite.binding import Linkage
    from numba.core import codegen
    from numba.core.compiler import Compiler, _LowerResult
    from numba.core.compiler_machinery import register_pass
    from numba.core.typed_passes import NativeLowering, NopythonTypeInference

    class PartLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
        """Lowered code that waits for the kernel it is linked into."""

        key = ""  # of its file
        _bitcode = b""

        def set_bitcode(self, bitcode: bytes) -> None:
            """What it is where it comes from the disk."""
            self._bitcode, self._finalized = bitcode, True

        def finalize(self) -> None:
            """Nothing is linked into it: the kernel links it and what it calls, each once. Never loaded by itself."""
            self._finalize_dynamic_globals()
            self._finalized = True

        def _optimize_functions(self, module: Any) -> None:
            """As Numba does, but lightly and for what is defined here only: half of the functions are declared for calls."""
            module.data_layout = self._codegen._data_layout
            light = functools.partial(self._codegen._function_pass_manager, opt=1, loop_vectorize=False, slp_vectorize=False)
            try:
                light()
            except TypeError:  # passes belong to a module: Numba 0.60 and 0.61
                super()._optimize_functions(module)
                return
            for function in module.functions:
                if not function.is_declaration:
                    passes, builder = light()
                    passes.run(function, builder)

        def _get_module_for_linking(self) -> Any:
            """Its own module, not a copy of it: nothing else needs that one."""
            if self._shared_module is None and self._bitcode:
                self._shared_module = llvmlite.binding.parse_bitcode(self._bitcode)
            if self._shared_module is None:
                for function in self._final_module.functions:
                    if not function.is_declaration and function.linkage == Linkage.external:
                        function.linkage = Linkage.linkonce_odr
                self._shared_module = self._final_module
            return self._shared_module

        def with_called(self) -> list[Any]:
            """It and all that it calls."""
            found: dict[Any, None] = {self: None}
            for library in self._linking_libraries:
                found.update(dict.fromkeys(library.with_called() if isinstance(library, PartLibrary) else [library]))
            return list(found)

    @functools.cache
    def stand_in() -> tuple[Any, Any]:
        """What stands for a part in Python, compiled with the first part: called with arguments it raises TypeError."""

        @numba.njit
        def not_callable() -> int:
            return 0

        not_callable()
        compiled: Any = next(iter(not_callable.overloads.values()))
        return compiled, pointer(compiled.library, compiled.fndesc.llvm_cpython_wrapper_name)

    pointer = codegen.JITCodeLibrary.get_pointer_to_function

    @register_pass(mutates_CFG=True, analysis_only=False)
    class PartLowering(NativeLowering):  # type: ignore[misc]
        """Lowering without wrappers and without machine code."""

        _name = "part_lowering"

        def run_pass(self, state: Any) -> bool:
            library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            library.enable_object_caching()
            state.library = library
            state.flags.no_compile = state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
            if is_kept(state.func_id.func):
                state.func_id.unique_id = SYMBOL
            super().run_pass(state)
            low = state["cr"]
            entry = make_entry(low.fndesc, low.env, stand_in(), library)
            state.targetctx.insert_user_function(entry, low.fndesc, library.with_called())
            state["cr"] = _LowerResult(low.fndesc, low.call_helper, cfunc=entry, env=low.env)
            return True

    class SeldomLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
        """Code optimised lightly: inlined and simplified, not vectorised."""

        def _optimize_final_module(self) -> None:
            passes, builder = self._codegen._module_pass_manager(loop_vectorize=False, slp_vectorize=False, opt=1, cost="cheap")
            passes.run(self._final_module, builder)

    @register_pass(mutates_CFG=True, analysis_only=False)
    class SeldomLowering(NativeLowering):  # type: ignore[misc]
        """Lowering into a lightly optimised library."""

        _name = "seldom_lowering"

        def run_pass(self, state: Any) -> bool:
            state.library = SeldomLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            return bool(super().run_pass(state))

    @register_pass(mutates_CFG=True, analysis_only=False)
    class PartTyping(NopythonTypeInference):  # type: ignore[misc]
        """Type inference that asks once what numbers give."""

        _name = "part_typing"

        def run_pass(self, state: Any) -> bool:
            with _remembering(state.typingctx):
                return bool(super().run_pass(state))

    def compiler(exchanged: dict[Any, Any], needless: Container[str] = ()) -> Any:
        """Numba's compiler with passes exchanged or left out."""

        class Exchanged(Compiler):  # type: ignore[misc]
            def define_pipelines(self) -> list[Any]:
                pipelines: list[Any] = super().define_pipelines()
                for pipeline in pipelines:
                    pipeline._finalized = False
                    kept = [(p, text) for p, text in pipeline.passes if p.__name__ not in needless]
                    pipeline.passes = [(exchanged.get(p, p), text) for p, text in kept]
                    pipeline.finalize()
                return pipelines

        return Exchanged

    parts = compiler({NativeLowering: PartLowering, NopythonTypeInference: PartTyping}, _NEEDLESS)
    parts.library, parts.stand_in = PartLibrary, staticmethod(stand_in)
    return parts, compiler({NativeLowering: SeldomLowering})


@contextlib.contextmanager
def _remembering(context: Any) -> Iterator[None]:
    """What operators and functions of Numba's give of numbers is found once, not at each place: a fifth of type inference."""
    if "resolve_function_type" in vars(context):  # a part that calls a part
        yield
        return
    resolve = context.resolve_function_type

    def remembered(function: Any, arguments: Any, named: Any) -> Any:
        if type(function) is not types.Function or named or not all(isinstance(each, types.Number) for each in arguments):
            return resolve(function, arguments, named)
        key = function, arguments
        if key not in _signatures:
            _signatures[key] = resolve(function, arguments, named)
        return _signatures[key]

    context.resolve_function_type = remembered
    try:
        yield
    finally:
        del context.resolve_function_type


def without_literals(dispatcher: Any) -> Any:
    """The same dispatcher, typed by ``int64`` where a call has a literal: Numba would compile a copy for each literal."""
    template = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        plain = {key: numba.types.unliteral(value) for key, value in kws.items()}
        return template(tuple(numba.types.unliteral(arg) for arg in args), plain)

    dispatcher.get_call_template = get_call_template
    return dispatcher


class WithoutCollection(event.Listener):
    """Holds Python's garbage collector while Numba compiles: millions of objects, little garbage (a fifth of the time)."""

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

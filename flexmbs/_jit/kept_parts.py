"""Parts on the disk: typed and lowered once, whatever process compiles the kernels that call them.

Half of the time to compile a kernel goes into its parts, and kernels of other formalisms and
integrators call the same ones. A part is kept as LLVM's bitcode with the keys of the parts that it
calls. Its symbol has no number of this process in it, so that parts of several processes go
together; hence only what its module, name and line distinguish from all others is kept: functions
of this project at the top of a module, or bound to such.
"""

import contextlib
import hashlib
import os
import pathlib
import pickle
import tempfile
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import serialize, sigutils
from numba.core.compiler import compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import Environment

SYMBOL = 0  # stands in symbols instead of Numba's count of functions

_functions: set[Callable[..., Any]] = set()
_libraries: dict[str, Any] = {}  # by key, of this process


def is_kept(function: Callable[..., Any]) -> bool:
    """Whether the parts made of this function are kept."""
    return function in _functions


def make_entry(fndesc: Any, environment: Any, stand_in: tuple[Any, Any], library: Any) -> Any:
    """What stands for a part in Python and as the key of its symbol; ``stand_in``: compiled
    function and its address.
    """
    name = fndesc.qualname.split(".")[-1]
    compiled, address = stand_in
    return _dynfunc.make_function(
        fndesc.lookup_module(), name, "part of kernels", address, environment, (library, compiled)
    )


def kept_on_disk(dispatcher: Any, folder: str, compiler: Any) -> Any:
    """The same dispatcher, whose parts are searched for in the folder before they are compiled;
    ``compiler``: that of parts.
    """
    function = dispatcher.py_func
    identity = f"{function.__module__} {function.__qualname__} {function.__code__.co_firstlineno}"
    _functions.add(function)
    compile_new = dispatcher.compile

    def compile_or_load(signature: Any) -> Any:
        arguments = tuple(sigutils.normalize_signature(signature)[0])
        with global_compiler_lock:
            if arguments not in dispatcher.overloads:
                context = dispatcher.targetctx
                key = hashlib.sha256(
                    f"{identity} {arguments} {context.codegen().magic_tuple()}".encode()
                ).hexdigest()[:32]
                if not _load(dispatcher, context, pathlib.Path(folder), key, arguments, compiler):
                    compile_new(signature)
                    _save(dispatcher.overloads[arguments], pathlib.Path(folder), key, arguments)
            return dispatcher.overloads[arguments].entry_point

    dispatcher.compile = compile_or_load
    return dispatcher


def _save(made: Any, folder: pathlib.Path, key: str, arguments: tuple[Any, ...]) -> None:
    """A compiled part into its file, where it and what it calls can be kept."""
    library = made.library
    library.key = key
    _libraries[key] = library
    called: dict[str, None] = {}
    others = []
    for each in dict.fromkeys(library._linking_libraries):
        if getattr(each, "key", None):
            called[each.key] = None
        else:
            others.append(each)
    if (
        library.has_dynamic_globals
        or made.environment.consts
        or any(hasattr(each, "key") for each in others)
    ):
        return
    module = library._get_module_for_linking()
    # functions of Numba's own: within the part, for their symbols have numbers of this process
    if others:
        own = {function.name for function in module.functions if not function.is_declaration}
        module = module.clone()
        for each in others:
            module.link_in(each._get_module_for_linking(), preserve=True)
        for function in module.functions:
            if not function.is_declaration and function.name not in own:
                function.linkage = llvm.Linkage.internal
    fndesc = made.fndesc
    fndesc.typemap = fndesc.calltypes = None
    reload = tuple(getattr(library, "_reload_init", ()))
    content = serialize.dumps(
        (arguments, fndesc, made.signature, reload, library.name, list(called), module.as_bitcode())
    )
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        number, name = tempfile.mkstemp(dir=folder)
        with os.fdopen(number, "wb") as file:
            file.write(content)
        os.replace(name, folder / key)


def _load(
    dispatcher: Any,
    context: Any,
    folder: pathlib.Path,
    key: str,
    arguments: tuple[Any, ...],
    compiler: Any,
) -> bool:
    """The part of that key from the disk into the dispatcher; False where it, or one that it calls,
    is not there.
    """
    content = _content(folder, key)
    if content is None or content[0] != arguments:
        return False
    _, fndesc, signature, reload, _, _, _ = content
    library = _library(context, folder, key, content, compiler)
    if library is None:
        return False
    environment = Environment.from_fndesc(fndesc)
    point = make_entry(fndesc, environment, compiler.stand_in(), library)
    context.insert_user_function(point, fndesc, library.with_called())
    dispatcher.add_overload(
        compile_result(
            typing_context=dispatcher.typingctx,
            target_context=context,
            entry_point=point,
            library=library,
            fndesc=fndesc,
            environment=environment,
            signature=signature,
            objectmode=False,
            lifted=(),
            reload_init=reload,
        )
    )
    return True


def _content(folder: pathlib.Path, key: str) -> Any:
    """What a file holds, or None."""
    try:
        return pickle.loads((folder / key).read_bytes())  # from a folder of this user's alone
    except Exception:  # not there, cut short, of another version
        return None


def _library(context: Any, folder: pathlib.Path, key: str, content: Any, compiler: Any) -> Any:
    """The code of a part with that of those it calls, or None where one is missing."""
    if key in _libraries:
        return _libraries[key]
    content = content or _content(folder, key)
    if content is None:
        return None
    _, _, _, reload, name, called, bitcode = content
    library = compiler.library(context.codegen(), name)
    for each in called:
        inner = _library(context, folder, each, None, compiler)
        if inner is None:
            return None
        library._linking_libraries.append(inner)
    for function in reload:
        function()
    if reload:
        library._reload_init.update(reload)
    library.set_bitcode(bitcode)
    library.key = key
    _libraries[key] = library
    return library

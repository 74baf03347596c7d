"""Bitcode of the parts of kernels on the disk, so that each part is typed and lowered once.

Half of the time to compile a kernel goes into its parts, and kernels of different formalisms and
integrators call the same ones. A part is stored as LLVM's bitcode with the keys of the parts that
it calls. Its key is made of the fingerprint of its code and the types of its arguments. The
fingerprint also replaces Numba's counter of functions in the symbol of a part, so that parts
compiled by different processes can be linked.

The classes of Numba's that are used here belong to the pipeline of parts; where that is not
available (`flexmbs._jit.pipeline_check`), parts are not stored.
"""

import contextlib
import hashlib
import pathlib
import pickle
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import serialize, sigutils
from numba.core.compiler import compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import Environment

from flexmbs._jit import may_be_kept
from flexmbs._jit.by_reference import fields_of_types
from flexmbs._jit.fingerprints import fingerprint
from flexmbs._jit.object_cache import write

_fingerprints: dict[Callable[..., Any], str] = {}  # of the functions whose parts are stored
_libraries: dict[str, Any] = {}  # parts loaded or stored by this process, by key


def symbol_number(function: Callable[..., Any]) -> int | None:
    """Number in the symbol of a stored part, None for other functions."""
    found = _fingerprints.get(function)
    return None if found is None else int(found[:15], 16)


def make_entry(fndesc: Any, environment: Any, stand_in: tuple[Any, Any], library: Any) -> Any:
    """Numba dispatcher entry that represents a part in Python, with its symbol.

    stand_in: a compiled function and its address.
    """
    name = fndesc.qualname.split(".")[-1]
    compiled, address = stand_in
    return _dynfunc.make_function(
        fndesc.lookup_module(), name, "part of kernels", address, environment, (library, compiled)
    )


def parts_on_disk(dispatcher: Any, folder: str, compiler: Any) -> Any:
    """Dispatcher that searches the folder for a compiled part before it compiles it.

    compiler: the one of parts. A function without a fingerprint is compiled as usual.
    """
    function = dispatcher.py_func
    identity = fingerprint(function)
    if identity is None:
        return dispatcher
    _fingerprints[function] = identity
    compile_new = dispatcher.compile

    def compile_or_load(signature: Any) -> Any:
        """Load the bitcode for a signature from the disk, or compile and store it."""
        arguments = tuple(sigutils.normalize_signature(signature)[0])
        with global_compiler_lock:
            if arguments not in dispatcher.overloads:
                context = dispatcher.targetctx
                inline = dispatcher.targetoptions.get("forceinline")
                kinds = f"{inline} {arguments} {fields_of_types(arguments)}"
                key = hashlib.sha256(
                    f"{identity} {kinds} {context.codegen().magic_tuple()}".encode()
                ).hexdigest()[:32]
                if not _load(dispatcher, context, pathlib.Path(folder), key, arguments, compiler):
                    compile_new(signature)
                    if may_be_kept(function, identity):
                        _save(dispatcher.overloads[arguments], pathlib.Path(folder), key, arguments)
            return dispatcher.overloads[arguments].entry_point

    dispatcher.compile = compile_or_load
    return dispatcher


def _save(made: Any, folder: pathlib.Path, key: str, arguments: tuple[Any, ...]) -> None:
    """Write a compiled part to the cache if all that it calls can be stored."""
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
    # functions of Numba's own are stored within the part: their symbols contain this process's
    # counter
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
        write(folder / key, content)


def _load(
    dispatcher: Any,
    context: Any,
    folder: pathlib.Path,
    key: str,
    arguments: tuple[Any, ...],
    compiler: Any,
) -> bool:
    """Load a part into the dispatcher; False if it, or one that it calls, is not on the disk."""
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
    """Content of a cache file; None if it is missing or damaged."""
    try:
        return pickle.loads((folder / key).read_bytes())  # from a folder of this user's alone
    except Exception:  # whatever pickle raises for a file that is cut short
        return None


def _library(context: Any, folder: pathlib.Path, key: str, content: Any, compiler: Any) -> Any:
    """Code library of a part with those that it calls; None if one is missing."""
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

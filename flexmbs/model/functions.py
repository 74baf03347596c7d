"""User functions: Python callables, written in files as ``module:name``.

Importing a module runs its code, so names in files are imported only with the user's consent.

"""

import contextlib
import contextvars
import dataclasses
import importlib
import importlib.machinery
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import NestedError, shown
from flexmbs.errors import InputError
from flexmbs.model.fields import optional

# names in the user's own script are trusted
_MAY_IMPORT = contextvars.ContextVar("may_import", default=True)


@contextlib.contextmanager
def imports_allowed(allowed: bool) -> Iterator[None]:
    """Context in which ``module:name`` may be imported, in this thread, if ``allowed``.

    Otherwise names are problems of the file.
    """
    token = _MAY_IMPORT.set(allowed)
    try:
        yield
    finally:
        _MAY_IMPORT.reset(token)


def function_text(function: Callable[..., Any]) -> str:
    """Name ``module:name`` under which a function can be found again.

    Raises ValueError if there is none.
    """
    module = getattr(function, "__module__", None)
    qualname = getattr(function, "__qualname__", None)
    text = f"{module}:{qualname}"
    if not module or not qualname or module == "__main__":
        raise ValueError(
            f"{shown(function)} has no name in an importable module; define it in a "
            "module and give 'module:name'"
        )
    try:
        found = named_function(text)
    except ValueError:
        found = None
    if found is not function:
        raise ValueError(
            f"{text} cannot be found by that name; define it at the top level of a module"
        )
    return text


def named_function(text: str) -> Callable[..., Any]:
    """Function named by ``module:name``; the module is imported, nothing is evaluated."""
    module, colon, attribute = text.partition(":")
    parts = module.split(".") + attribute.split(".")
    if not colon or not all(part.isidentifier() for part in parts):
        raise ValueError(
            f"must be a function or its name 'module:name', not {shown(text)} "
            "(expressions are not evaluated)"
        )
    if not _MAY_IMPORT.get():
        raise ValueError(
            f"{shown(text)} is code and is not imported by default; if you trust it, set "
            "allow_code=True (--allow-code)"
        )
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError:
        raise ValueError(
            f"no module '{module}' on Python's path or in the model's folder"
        ) from None
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"module '{module}' cannot be imported: {type(error).__name__}: {shown(str(error))}"
        ) from None
    _check_origin(module.partition(".")[0])
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"module '{module}' has no '{attribute}'")
        found = getattr(found, part)
    return function(found)


def _check_origin(module: str) -> None:
    """Raise ValueError if the loaded module is not the one that Python's path finds now."""
    spec = importlib.machinery.PathFinder.find_spec(module)
    loaded = getattr(sys.modules[module], "__file__", None)
    if spec is None or not spec.origin or not loaded:
        return
    if Path(spec.origin).resolve() != Path(loaded).resolve():
        raise ValueError(
            f"another module '{module}' is loaded from {loaded}, not {spec.origin}; "
            "rename one of them"
        )


_STAND_INS = contextvars.ContextVar("stand_ins", default=False)


@contextlib.contextmanager
def missing_functions_allowed() -> Iterator[None]:
    """Context in which missing functions become placeholders, in this thread.

    Nothing is imported.
    """
    token = _STAND_INS.set(True)
    try:
        yield
    finally:
        _STAND_INS.reset(token)


@dataclasses.dataclass(frozen=True)
class MissingFunction:
    """Placeholder for a function of which a solution file contains only the name.

    It cannot be called. text: the name.
    """

    text: str

    def __call__(self, *args: Any) -> Any:
        raise InputError(f"function '{self.text}': {NOT_THERE}")


NOT_THERE = (
    "a solution file contains no user functions; load it with the model, Solution.load(path, "
    "model=...)"
)


def function(value: object) -> Callable[..., Any]:
    """Validate a callable, or import it from ``module:name``."""
    if isinstance(value, str):
        return MissingFunction(value) if _STAND_INS.get() else named_function(value)
    if not callable(value):
        raise ValueError(f"must be a function or its name 'module:name', not {shown(value)}")
    return value


def parameter_count(function: Callable[..., Any]) -> int | None:
    """Number of positional parameters without default; None if unknown."""
    try:
        parameters = inspect.signature(getattr(function, "py_func", function)).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return sum(
        p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
        for p in parameters
    )


def function_of(count: int, signature: str) -> Callable[[Any], Any]:
    """Validator of a function with ``count`` arguments.

    ``signature`` describes them in messages.
    """

    def check(value: Any) -> Any:
        """Validate a function with ``count`` arguments. Raises ValueError."""
        given = count if value is None else parameter_count(value)
        if given not in (count, None):
            raise ValueError(
                f"the function must be {signature}, with {count} arguments, not {given}"
            )
        return value

    return check


def require_arguments(
    function: Any, count: int, signature: str, parameters: tuple[float, ...] = ()
) -> None:
    """Raise `NestedError` unless a function takes ``count`` arguments.

    Followed by ``parameters`` if there are any.
    """
    if parameters:
        count, signature = count + 1, signature.replace(")", ", parameters)", 1)
    try:
        function_of(count, signature)(function)
    except ValueError as error:
        raise NestedError.at(("function",), str(error)) from None


def takes_parameters(count: int, signature: str) -> Any:
    """Validator that the function of a declaration takes ``count`` arguments.

    Its ``parameters`` are passed as a further argument.
    """

    def check(declared: Any) -> Any:
        """Validate that the function takes the declared parameters."""
        require_arguments(declared.function, count, signature, declared.parameters)
        return declared

    return model_validator(mode="after")(check)


UserFunction = Annotated[Any, BeforeValidator(function)]
OptionalFunction = Annotated[Any, BeforeValidator(optional(function))]

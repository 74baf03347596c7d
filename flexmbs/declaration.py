"""`Declaration`: base class of everything a user declares.

Declarations are frozen, validated, and registered under their name in files.

They are frozen, validated, and registered under their name in files.
"""

import abc
import dataclasses
import difflib
import functools
import inspect
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self, dataclass_transform

from pydantic import ConfigDict, ValidationError
from pydantic.dataclasses import dataclass, rebuild_dataclass

from flexmbs.errors import InputError
from flexmbs.errors import shown as shown

SAFE = re.compile(r"[\w +-]+")


class Problem(NamedTuple):
    """Problem of an item: its path (section, item, key, ...) and the message."""

    path: tuple[str, ...]
    message: str

    def __str__(self) -> str:
        parts = [part if SAFE.fullmatch(part) else shown(part) for part in self.path]
        return f"{'.'.join(parts)}: {self.message}" if parts else self.message


class NestedError(ValueError):
    """Problems inside a nested declaration (a law in a force, a frame in a body).

    They are passed on with their paths.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(map(str, self.problems)))

    @classmethod
    def at(cls, path: tuple[str, ...], message: str) -> Self:
        """Error with one problem at a path."""
        return cls([Problem(path, message)])


def raise_nested(problems: Iterable[Problem]) -> None:
    """Raise NestedError with all problems, if there are any."""
    if found := tuple(problems):
        raise NestedError(found)


def close_names(name: str, names: Iterable[str]) -> str:
    """Hint for a name that is not among ``names``: the closest one, else the list of all."""
    known = list(names)
    close = difflib.get_close_matches(name[:100], known, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"known: {', '.join(sorted(known)[:30])}" if known else "there are none"


def require_known(name: object, names: Collection[Any], problem: str) -> None:
    """Raise InputError with a problem and the closest name unless a name is among ``names``."""
    if name not in names:
        raise InputError(f"{problem}; {close_names(str(name), names)}")


def _message(error: Any, names: Iterable[str]) -> str:
    """One-line message of a pydantic error."""
    match error["type"]:
        case "unexpected_keyword_argument" | "extra_forbidden":
            return f"unknown key; {close_names(str(error['loc'][-1]), names)}"
        case "missing" | "missing_argument":
            return "is missing"
        case "unexpected_positional_argument":
            return (
                f"argument {error['loc'][0] + 1}, {shown(error['input'])}, must be given by keyword"
            )
        case "multiple_argument_values":
            return "given twice"
        case "value_error":
            return str(error["ctx"]["error"])
        case _:
            return f"{error['msg'][0].lower()}{error['msg'][1:]}, not {shown(error['input'])}"


def _named(loc: tuple[int | str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """Key path of a pydantic error; a leading number is a positional argument."""
    if loc and isinstance(loc[0], int):
        loc = (names[loc[0]], *loc[1:]) if loc[0] < len(names) else loc[1:]
    return tuple(map(str, loc))


def problems_of(
    error: ValidationError, names: Iterable[str], path: tuple[str, ...] = ()
) -> list[Problem]:
    """All problems in a pydantic error, with paths below ``path``.

    ``names`` are the existing keys.
    """
    found: list[Problem] = []
    for item in error.errors(include_url=False):
        where = path + (
            ()
            if item["type"] == "unexpected_positional_argument"
            else _named(item["loc"], tuple(names))
        )
        cause = item.get("ctx", {}).get("error")
        if isinstance(cause, NestedError):
            found.extend(Problem(where + inner.path, inner.message) for inner in cause.problems)
        else:
            found.append(Problem(where, _message(item, names)))
    return found


PARAMETERS = "Parameters\n----------"
RAISES = (
    "Raises\n------\nInputError\n    For missing, unknown or wrong values, with one line for "
    "each.\n"
)
EXAMPLES = "Examples\n--------\n"


class DeclarationMeta(abc.ABCMeta):
    """Metaclass of declarations; hides internals of dataclasses and pydantic from dir and help.

    It turns them into dataclasses and builds their validators on the first instance: an import
    declares all kinds, a model uses few. Validators must not exist before the abstract methods have
    been collected, because Python then inspects all attributes, including them.
    """

    __pydantic_complete__: bool
    __signature__: inspect.Signature

    def __init__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: str
    ) -> None:
        super().__init__(name, bases, namespace)
        made: Any = cls
        if bases:
            config = ConfigDict(
                extra="forbid",
                validate_default=True,
                arbitrary_types_allowed=True,
                defer_build=True,
            )
            # `Declaration` defines these methods for all kinds
            dataclass(kw_only=True, repr=False, eq=False, config=config)(made)
            _describe(made)

    def __call__(cls: Any, *args: Any, **given: Any) -> Any:
        """Make a declaration.

        Raises `InputError`, one line per problem, instead of pydantic's error.
        """
        cls.complete()
        try:
            return super().__call__(*args, **given)
        except ValidationError as error:
            raise InputError(
                *map(str, problems_of(error, cls.field_names(), _path(cls, args, given)))
            ) from None

    def complete(cls: Any) -> None:
        """Build the validator, once; pydantic would also set its own signature."""
        if not cls.__pydantic_complete__:
            signature = cls.__signature__
            rebuild_dataclass(cls)
            cls.__signature__ = signature

    def __dir__(cls) -> list[str]:
        return [
            name for name in super().__dir__() if not name.startswith("__") or name == "__doc__"
        ]


class TypeText(str):
    """Type of a parameter with its unit, shown in a signature without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(dataclasses.field,)
)
class Declaration(metaclass=DeclarationMeta):
    """Frozen, validated record of plain values.

    A subclass with ``section`` opens a family with its own registry ``kinds``; a subclass with
    ``kind`` is a member of the family under that name in model files. Fields are keyword-only
    except those marked ``field(kw_only=False)``.
    """

    kind: ClassVar[str] = ""
    section: ClassVar[str] = ""
    kinds: ClassVar[dict[str, type["Declaration"]]] = {}
    _texts: ClassVar[dict[str, tuple[str, str]]] = {}
    __pydantic_validator__: ClassVar[Any]

    def __repr__(self) -> str:
        given = ", ".join(
            f"{f.name}={getattr(self, f.name)!r}"
            for f in dataclasses.fields(self)  # type: ignore[arg-type]
            if f.repr
        )
        return f"{type(self).__qualname__}({given})"

    def __eq__(self, other: object) -> bool:
        return (
            self._compared() == other._compared() if type(self) is type(other) else NotImplemented
        )  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self._compared())

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def _compared(self) -> tuple[Any, ...]:
        """Values of the fields that take part in comparisons."""
        return tuple(getattr(self, f.name) for f in dataclasses.fields(self) if f.compare)  # type: ignore[arg-type]

    def __init_subclass__(cls, *, kind: str = "", section: str = "") -> None:
        super().__init_subclass__()
        if section:
            cls.section, cls.kinds = section, {}
        if kind:
            if kind in cls.kinds:
                raise TypeError(
                    f"{cls.section} kind '{kind}' is registered twice: "
                    f"{cls.kinds[kind].__name__} and {cls.__name__}"
                )
            cls.kind = kind
            cls.kinds[kind] = cls

    @classmethod
    @functools.cache
    def field_names(cls) -> tuple[str, ...]:
        """Names of the fields, in the order of arguments."""
        return tuple(f.name for f in cls.ordered_fields())

    @classmethod
    def ordered_fields(cls) -> "list[dataclasses.Field[Any]]":
        """Fields in the order of arguments: keyword-only fields of a base class come last."""
        return sorted(dataclasses.fields(cls), key=lambda f: bool(f.kw_only))  # type: ignore[arg-type]

    @classmethod
    def read(cls, table: Mapping[str, object]) -> Self:
        """Make the declaration from a table of a file.

        Raises `NestedError` with every problem in it.
        """
        cls.complete()
        try:
            made: Self = cls.__pydantic_validator__.validate_python(dict(table))
        except ValidationError as error:
            raise NestedError(problems_of(error, cls.field_names())) from None
        return made

    @classmethod
    def read_kind(cls, table: Mapping[str, object], default: str = "") -> Any:
        """Make the member of this family named by ``table["kind"]`` from the other keys."""
        kind = table.get("kind", default)
        if not isinstance(kind, str) or kind not in cls.kinds:
            if "kind" in table:
                raise NestedError(
                    [
                        Problem(
                            ("kind",),
                            f"unknown kind {shown(kind)}; {close_names(str(kind), cls.kinds)}",
                        )
                    ]
                )
            raise NestedError(
                [Problem(("kind",), f"is missing; one of: {', '.join(sorted(cls.kinds))}")]
            )
        return cls.kinds[kind].read({key: value for key, value in table.items() if key != "kind"})


def described(doc: str) -> dict[str, tuple[str, str]]:
    """Types and texts of the parameters documented in a docstring, by name."""
    found: dict[str, tuple[str, str]] = {}
    name = ""
    for line in (
        doc.partition(EXAMPLES)[0].partition(RAISES)[0].partition(PARAMETERS)[2].splitlines()
    ):
        if line.startswith(" "):
            kind, text = found[name]
            found[name] = kind, f"{text}{line}\n"
        elif " : " in line:
            name, _, kind = line.partition(" : ")
            found[name] = kind, ""
    return found


def _describe(cls: type[Declaration]) -> None:
    """Set the signature of a class from its fields and append the fields to its docstring.

    The signature contains their documented types and defaults.
    """
    doc = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    own = described(doc)
    cls._texts = texts = {
        key: text
        for base in reversed(cls.__mro__)
        for key, text in getattr(base, "_texts", {}).items()
    } | own
    parameters, entries = [], []
    for field in cls.ordered_fields():
        kind, text = texts.get(field.name, ("", ""))
        default = field.default_factory() if callable(field.default_factory) else field.default
        given = default is dataclasses.MISSING
        how = (
            inspect.Parameter.KEYWORD_ONLY
            if field.kw_only
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        unset = inspect.Parameter.empty
        parameters.append(
            inspect.Parameter(
                field.name,
                how,
                default=unset if given else default,
                annotation=TypeText(kind) if kind else unset,
            )
        )
        if kind:
            entries.append(
                f"{field.name} : {kind}{'' if given else f', default {default!r}'}\n{text}"
            )
    cls.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    if entries and doc and not doc.startswith(f"{cls.__name__}("):
        text, examples, shown = doc.partition(EXAMPLES)
        head = text.partition(PARAMETERS)[0].rstrip()
        cls.__doc__ = (
            f"{head}\n\n{PARAMETERS}\n{''.join(entries).rstrip()}\n\n{RAISES}\n{examples}{shown}".rstrip()
            + "\n"
        )


def description(cls: type[Declaration]) -> list[str]:
    """Paragraphs that describe a declaration, without parameters, examples and sources."""
    text = (cls.__doc__ or "").partition(PARAMETERS)[0].partition(EXAMPLES)[0]
    found = [" ".join(each.split()).partition("Source: ")[0].strip() for each in text.split("\n\n")]
    return [each for each in found if each]


def _path(
    cls: type[Declaration], args: tuple[Any, ...], given: Mapping[str, Any]
) -> tuple[str, ...]:
    """Path of a declaration made in a script: (section, name), or its class if it has neither."""
    if not cls.section or "name" not in cls.field_names():
        return (cls.__name__,)
    return (cls.section, str(args[0] if args else given.get("name", "?")))

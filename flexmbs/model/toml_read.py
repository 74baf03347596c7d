"""Reader of a model from its TOML file.

Nothing is evaluated; all problems are reported together, with line numbers.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from flexmbs.declaration import Declaration, NestedError, Problem, close_names, shown
from flexmbs.model.check_references import declared_frames, reference_problems
from flexmbs.model.check_topology import topology_problems
from flexmbs.model.frames import GROUND
from flexmbs.model.functions import imports_allowed
from flexmbs.model.model import SECTIONS, ModelData, ModelHeader
from flexmbs.model.run import Run
from flexmbs.model.toml_write import FORMAT
from flexmbs.toml.document import (
    MOST_PROBLEMS,
    Locator,
    ProblemCollector,
    TomlDocument,
    read_document,
)

M = TypeVar("M", bound=ModelData)
KEYS = ("format", *ModelHeader.field_names(), *SECTIONS, "run")


def read(path: Path, make: type[M], *, allow_outside: bool = False, allow_code: bool = False) -> M:
    """Read the model in a file.

    Raises `InputError` with every problem, one per line: ``file:line: item.key: what``.
    """
    return of_document(
        read_document(path), make, allow_outside=allow_outside, allow_code=allow_code
    )


def of_document(
    document: TomlDocument, make: type[M], *, allow_outside: bool = False, allow_code: bool = False
) -> M:
    """Model of the text of a file. Raises `InputError` as `read`."""
    path = document.path
    with imports_allowed(allow_code), importable(path.parent if allow_code else None):
        model, problems = model_of(document.table, Locator(path.parent, allow_outside), make)
    if problems:
        raise document.refusal(problems)
    model.folder = path.parent
    return model


@contextmanager
def importable(folder: Path | None) -> Iterator[None]:
    """Context in which imports from the model's folder are possible."""
    if folder is None:
        yield
        return
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.path.remove(entry)


def model_of(table: Mapping[str, Any], locator: Locator, make: type[M]) -> tuple[M, list[Problem]]:
    """(model, problems) of the table of a model file."""
    notes = ProblemCollector()
    _check_format(table, notes)
    header_table = {key: table[key] for key in ModelHeader.field_names() if key in table}
    given_header = notes.attempt((), lambda: ModelHeader.read(_located(header_table, locator)))
    header = given_header or ModelHeader(name="?")
    model = make(**{key: getattr(header, key) for key in ModelHeader.field_names()})
    for section, family in SECTIONS.items():
        _add_items(model, section, family, table.get(section, {}), locator, notes)
    if "run" in table:
        model.run = notes.attempt(("run",), lambda: Run.read(_as_table(table["run"])))
    unread = {
        section: set(_as_given(table, section)) - set(model.items(section)) for section in SECTIONS
    }
    unread_frames = unread["bodies"] if given_header else {*unread["bodies"], GROUND}
    frames = {**declared_frames(model), **dict.fromkeys(unread_frames)}
    topology = [] if notes.problems else topology_problems(model)
    return model, [*notes.problems, *reference_problems(model, frames, unread["joints"]), *topology]


def _as_given(table: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    """Table of a section; empty if it is not a table."""
    given = table.get(section)
    return given if isinstance(given, Mapping) else {}


def _check_format(table: Mapping[str, Any], notes: ProblemCollector) -> None:
    """Collect problems of the format and section names of a model file."""
    if "format" not in table:
        notes.problems.append(
            Problem(("format",), f'is missing; a model file begins with format = "{FORMAT}"')
        )
    elif table["format"] != FORMAT:
        notes.problems.append(
            Problem(("format",), f"is {shown(table['format'])}; this version reads '{FORMAT}'")
        )
    unknown = [key for key in table if key not in KEYS]
    notes.problems += [
        Problem((key,), f"unknown key; {close_names(key, KEYS)}")
        for key in unknown[: MOST_PROBLEMS + 1]
    ]


def _as_table(value: object) -> Mapping[str, Any]:
    """Raise `NestedError` unless a value is a table."""
    if not isinstance(value, Mapping):
        raise NestedError.at((), f"must be a table, not {shown(value)}")
    return value


def _located(table: Mapping[str, Any], locator: Locator) -> Mapping[str, Any]:
    """The table with absolute paths of its file and of the files of its shapes."""
    shapes = table.get("shapes")
    if not isinstance(shapes, list):
        return locator.located(table)
    found = []
    for k, shape in enumerate(shapes):
        try:
            found.append(locator.located(shape) if isinstance(shape, Mapping) else shape)
        except NestedError as error:
            where = ("shapes", str(k))
            raise NestedError(
                Problem(where + inner.path, inner.message) for inner in error.problems
            ) from None
    return locator.located({**table, "shapes": found})


def _add_items(
    model: ModelData,
    section: str,
    family: type[Declaration],
    given: object,
    locator: Locator,
    notes: ProblemCollector,
) -> None:
    """Read one section into the model."""
    default = next(iter(family.kinds)) if len(family.kinds) == 1 else ""

    def made(name: str, value: object) -> Any:
        """Item with a name from its table. Raises `NestedError`."""
        table = _located(_as_table(value), locator)
        if "name" in table:
            raise NestedError.at(
                ("name",), f"unknown key; the table's title gives the name, {shown(name)}"
            )
        return family.read_kind({**table, "name": name}, default)

    for name, value in (notes.attempt((section,), lambda: _as_table(given)) or {}).items():
        item = notes.attempt((section, name), lambda name=name, value=value: made(name, value))  # type: ignore[misc]
        if item is not None:
            model.add(item)

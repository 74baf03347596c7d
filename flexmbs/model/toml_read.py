"""Reading a model from its TOML file: nothing is evaluated, every problem is found at once and told with its line."""

import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flexmbs.errors import InputError
from flexmbs.model.check_references import declared_frames, reference_problems
from flexmbs.model.check_topology import topology_problems
from flexmbs.model.declaration import Declaration, NestedError, Problem, close_names, shown
from flexmbs.model.frames import GROUND
from flexmbs.model.model import SECTIONS, Header, Model
from flexmbs.model.run import Run
from flexmbs.model.toml_guard import check_nesting
from flexmbs.model.toml_lines import line_of
from flexmbs.model.toml_write import FORMAT

LARGEST_FILE = 5_000_000
MOST_PROBLEMS = 50
KEYS = ("format", "name", "gravity", "cuts", "frames", *SECTIONS, "run")


def read(path: Path, *, allow_outside: bool = False, allow_code: bool = False) -> Model:
    """The model in a file. Raises `InputError` with every problem, one line each: ``file:line: item.key: what``."""
    text = _text(path)
    table = _table(text, path)
    with _importable(path.parent if allow_code else None):
        model, problems = _model(table, Locator(path.parent, allow_outside))
    if problems:
        raise InputError(*_told(problems, text, path))
    model.folder = path.parent
    return model


def _text(path: Path) -> str:
    """The text of a file of reasonable size."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{path}: cannot be read: {reason}") from None
    if len(data) > LARGEST_FILE:
        raise InputError(f"{path}: larger than {LARGEST_FILE // 1_000_000} MB; this is no model file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}:{line}: byte {error.start} is not UTF-8 text; save the file as UTF-8") from None


def _table(text: str, path: Path) -> dict[str, Any]:
    """The TOML document."""
    check_nesting(text, str(path))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}:{_decode_message(str(error), text)}") from None
    except ValueError:
        raise InputError(f"{path}: a whole number has thousands of digits") from None


def _decode_message(message: str, text: str) -> str:
    """``line: what`` from the parser's message ``what (at line 3, column 5)``."""
    what, _, place = message.rpartition(" (at ")
    number = place.removeprefix("line ").partition(",")[0]
    return f"{number if number.isdigit() else text.count(chr(10)) + 1}: not TOML: {what}"


class Locator:
    """Paths in a model file: relative to its folder and inside it, unless the user allows others."""

    def __init__(self, folder: Path, allow_outside: bool) -> None:
        self.folder = folder.resolve()
        self.allow_outside = allow_outside

    def located(self, table: Mapping[str, Any]) -> Mapping[str, Any]:
        """The table of a body with the absolute path of its file."""
        if not isinstance(table.get("file"), str):
            return table
        return {**table, "file": str(self.path(table["file"]))}

    def path(self, file: str) -> Path:
        """The absolute path. Raises `NestedError` for one outside the folder (symbolic links resolved)."""
        try:
            if "://" in file:
                raise ValueError(f"{shown(file)} is an address; only files are read")
            path = (self.folder / file).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise NestedError([Problem(("file",), f"{shown(file)} is no path: {error}")]) from None
        if not self.allow_outside and (Path(file).is_absolute() or not path.is_relative_to(self.folder)):
            text = f"{shown(file)} is not inside the model's folder; move it there, or allow_outside=True (--allow-outside)"
            raise NestedError([Problem(("file",), text)])
        return path


@contextmanager
def _importable(folder: Path | None) -> Iterator[None]:
    """Let Python import modules from the model's folder meanwhile."""
    if folder is None:
        yield
        return
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.path.remove(entry)


class Collector:
    """Collects problems with the place they stand at."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def attempt(self, path: tuple[str, ...], make: Callable[[], Any]) -> Any:
        """What ``make`` returns, or None with its problems noted under ``path``."""
        try:
            return make()
        except NestedError as error:
            self.problems += [Problem(path + inner.path, inner.message) for inner in error.problems]
        except InputError as error:
            self.problems += [Problem((), problem) for problem in error.problems]
        return None


def _model(table: Mapping[str, Any], locator: Locator) -> tuple[Model, list[Problem]]:
    """The model and everything wrong with the table; the model is complete if nothing is."""
    notes = Collector()
    _check_format(table, notes)
    header_table = {key: table[key] for key in Header.field_names() if key in table}
    given_header = notes.attempt((), lambda: Header.read(header_table))
    header = given_header or Header(name="?")
    model = Model(header.name, gravity=header.gravity, frames=header.frames, cuts=header.cuts)
    for section, family in SECTIONS.items():
        _add_items(model, section, family, table.get(section, {}), locator, notes)
    if "run" in table:
        model.run = notes.attempt(("run",), lambda: Run.read(_as_table(table["run"])))
    unread = {section: set(_as_given(table, section)) - set(model.items(section)) for section in SECTIONS}
    unread_frames = unread["bodies"] if given_header else {*unread["bodies"], GROUND}
    frames = {**declared_frames(model), **dict.fromkeys(unread_frames)}
    topology = [] if notes.problems else topology_problems(model)
    return model, [*notes.problems, *reference_problems(model, frames, unread["joints"]), *topology]


def _as_given(table: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    """A section's table; empty if it is none."""
    given = table.get(section)
    return given if isinstance(given, Mapping) else {}


def _check_format(table: Mapping[str, Any], notes: Collector) -> None:
    """The first line and the names of the sections."""
    if "format" not in table:
        notes.problems.append(Problem(("format",), f'is missing; a model file begins with format = "{FORMAT}"'))
    elif table["format"] != FORMAT:
        notes.problems.append(Problem(("format",), f"is {shown(table['format'])}; this version reads '{FORMAT}'"))
    unknown = [key for key in table if key not in KEYS]
    notes.problems += [Problem((key,), f"unknown key; {close_names(key, KEYS)}") for key in unknown[: MOST_PROBLEMS + 1]]


def _as_table(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise NestedError([Problem((), f"must be a table, not {shown(value)}")])
    return value


def _add_items(model: Model, section: str, family: type[Declaration], given: object, locator: Locator, notes: Collector) -> None:
    """Read one section into the model."""
    default = next(iter(family.kinds)) if len(family.kinds) == 1 else ""

    def made(name: str, value: object) -> Any:
        table = locator.located(_as_table(value))
        if "name" in table:
            raise NestedError([Problem(("name",), f"unknown key; the table's title gives the name, {shown(name)}")])
        return family.read_kind({**table, "name": name}, default)

    for name, value in (notes.attempt((section,), lambda: _as_table(given)) or {}).items():
        item = notes.attempt((section, name), lambda name=name, value=value: made(name, value))  # type: ignore[misc]
        if item is not None:
            model.add(item)


def _told(problems: list[Problem], text: str, path: Path) -> list[str]:
    """The problems in the order of their lines, as the user reads them."""
    first = problems[:MOST_PROBLEMS]
    lines = line_of(text, [problem.path for problem in first])
    told = sorted(zip(lines, map(str, first)), key=lambda pair: pair[0] or 0)
    more = len(problems) - MOST_PROBLEMS
    last = [f"{path}: and {'more' if more == 1 else f'{more} more'}"] if more > 0 else []
    return [f"{path}:{line}: {problem}" if line else f"{path}: {problem}" for line, problem in told] + last

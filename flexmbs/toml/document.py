"""Untrusted TOML files: limited size, paths restricted to their folder.

Problems are reported with line numbers.
"""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from flexmbs.declaration import NestedError, Problem, shown
from flexmbs.errors import InputError
from flexmbs.files.inputs import open_regular
from flexmbs.files.path_policy import PathPolicy
from flexmbs.toml.line_numbers import line_of
from flexmbs.toml.nesting_guard import check_nesting

LARGEST_FILE = 5_000_000
MOST_PROBLEMS = 50


class TomlDocument(NamedTuple):
    """Text of a file and the table parsed from it."""

    path: Path
    text: str
    table: dict[str, Any]

    def refusal(self, problems: list[Problem]) -> InputError:
        """Error with the problems in the order of their lines, ``file:line: key: what``."""
        first = problems[:MOST_PROBLEMS]
        lines = line_of(self.text, [problem.path for problem in first])
        ordered = sorted(zip(lines, map(str, first)), key=lambda pair: pair[0] or 0)
        more = len(problems) - MOST_PROBLEMS
        last = [f"{self.path}: and {'more' if more == 1 else f'{more} more'}"] if more > 0 else []
        places = (
            f"{self.path}:{line}: {problem}" if line else f"{self.path}: {problem}"
            for line, problem in ordered
        )
        return InputError(*places, *last)


def read_document(path: Path, what: str = "model") -> TomlDocument:
    """Document in a file of type ``what``.

    Raises `InputError` if it is not a file, not text or not TOML.
    """
    return document_of(document_text(path, what), path)


def document_of(text: str, path: Path) -> TomlDocument:
    """Document of a text, with the path of its file for messages.

    Raises `InputError` if it is not TOML.
    """
    return TomlDocument(path, text, _table(text, path))


def document_text(path: Path, what: str = "model") -> str:
    """Text of a file of limited size. Raises `InputError` if it is not a file or not text."""
    try:
        with open_regular(path) as file:
            data = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{path}: cannot be read: {reason}") from None
    if len(data) > LARGEST_FILE:
        raise InputError(
            f"{path}: larger than {LARGEST_FILE // 1_000_000} MB; this is not a {what} file"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}:{line}: byte {error.start} is not UTF-8 text; save the file as UTF-8"
        ) from None


def _table(text: str, path: Path) -> dict[str, Any]:
    """Parsed TOML document. Raises `InputError`."""
    check_nesting(text, str(path))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}:{_decode_message(str(error), text)}") from None
    except ValueError:
        raise InputError(f"{path}: an integer has thousands of digits") from None


def _decode_message(message: str, text: str) -> str:
    """``line: what`` from the parser's message ``what (at line 3, column 5)``."""
    what, _, place = message.rpartition(" (at ")
    number = place.removeprefix("line ").partition(",")[0]
    return f"{number if number.isdigit() else text.count(chr(10)) + 1}: not TOML: {what}"


class Locator:
    """Resolver of paths: relative to a folder and inside it, unless the user allows others."""

    def __init__(self, folder: Path, allow_outside: bool, what: str = "model") -> None:
        self.reach = PathPolicy(folder.resolve(), allow_outside, what=what)

    def located(self, table: Mapping[str, Any], key: str = "file") -> Mapping[str, Any]:
        """The table with the absolute path of the file under ``key``, if it names one."""
        if not isinstance(table.get(key), str):
            return table
        return {**table, key: str(self.path(table[key], key))}

    def path(self, file: str, key: str = "file") -> Path:
        """Absolute path.

        Raises `NestedError` if it is outside the folder after resolving symbolic links.
        """
        try:
            if "://" in file:
                raise ValueError(f"{shown(file)} is a URL; only files are read")
            return self.reach.path(file)
        except ValueError as error:
            raise NestedError.at((key,), str(error)) from None


class ProblemCollector:
    """Collects problems with their paths."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def attempt(self, path: tuple[str, ...], make: Callable[[], Any]) -> Any:
        """The result of ``make``, or None with its problems recorded under ``path``."""
        try:
            return make()
        except NestedError as error:
            self.problems += [Problem(path + inner.path, inner.message) for inner in error.problems]
        except InputError as error:
            self.problems += [Problem((), problem) for problem in error.problems]
        return None

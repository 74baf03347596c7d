"""Places of the values in a TOML text, so that one changes and all the rest stays as it is."""

import re
import tomllib
from collections.abc import Mapping

Path = tuple[str, ...]
Span = tuple[int, int]
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"""[ \t]*([A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*')[ \t]*(\.)?""")
_TEXT = re.compile(
    r'"{3}(?:[^\\]|\\.)*?"{3,5}(?!")|\'{3}.*?\'{3,5}(?!\')|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'',
    re.DOTALL,
)
_BARE = re.compile(r"\d{4}-\d\d-\d\d \d\d:[^\s,\]}#]+|[^\s,\]}#]+")  # a date may have a space


class ValuePlaces:
    """Places in a valid TOML text, by path; elements of arrays are named by their numbers.

    values: start and end of each value. tables: end of the last line of each table with a header,
    where a key can be added; () is the table before the first header.
    """

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.values: dict[Path, Span] = {}
        self.tables: dict[Path, int] = {(): 0}
        self._counts: dict[Path, int] = {}  # elements so far of arrays of tables
        self._document()

    def _document(self) -> None:
        """Read the lines of the text."""
        table: Path = ()
        while self._next():
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self.tables[table] = self.at

    def _next(self) -> str:
        """Skip spaces, line ends and comments; the character there, "" at the end."""
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def _header(self) -> Path:
        """Path of the table whose header begins here."""
        several = self.text.startswith("[[", self.at)
        self.at += 2 if several else 1
        *outer, name = self._key()
        self.at += 2 if several else 1
        path: Path = ()
        for key in outer:
            path = self._element((*path, key))
        path = (*path, name)
        if several:
            self._counts[path] = self._counts.get(path, -1) + 1
            return self._element(path)
        return path

    def _element(self, path: Path) -> Path:
        """The path, or that of the last element of an array of tables."""
        return (*path, str(self._counts[path])) if path in self._counts else path

    def _key(self) -> list[str]:
        """Parts of the key that begins here."""
        parts, dot = [], "."
        while dot and (match := _KEY.match(self.text, self.at)):
            bare, dot, self.at = match[1], match[2] or "", match.end()
            parts.append(next(iter(tomllib.loads(f"{bare} = 0"))))
        return parts

    def _pair(self, table: Path) -> None:
        """Read a key and its value."""
        path = (*table, *self._key())
        self.at = self.text.index("=", self.at) + 1
        self._value(path)

    def _value(self, path: Path) -> None:
        """Read a value, with those within it."""
        first = self._next()
        start = self.at
        if not first:
            raise ValueError("the text ends within a value")
        if first == "[":
            self._inner("]", path)
        elif first == "{":
            self._inner("}", path)
        elif match := (_TEXT if first in "\"'" else _BARE).match(self.text, self.at):
            self.at = match.end()
        self.values[path] = (start, self.at)

    def _inner(self, end: str, path: Path) -> None:
        """Read the elements of an array, or the pairs of an inline table."""
        self.at += 1
        k = 0
        while self._next() != end:
            if end == "]":
                self._value((*path, str(k)))
            else:
                self._pair(path)
            k += 1
            if self._next() == ",":
                self.at += 1
        self.at += 1


def with_values(text: str, replaced: Mapping[Path, str], added: Mapping[Path, str]) -> str:
    """TOML text with some values replaced, and with keys added at the ends of their tables.

    Everything else is unchanged: comments, order, spaces. Raises `KeyError` for a value to replace
    that is not in the text, and for a table without a header.
    """
    places = ValuePlaces(text)
    edits = [(*places.values[path], value) for path, value in replaced.items()]
    line = "\r\n" if "\r\n" in text else "\n"
    for (*table, key), value in added.items():
        at = text.find("\n", places.tables[tuple(table)])  # behind the comment of the last line
        at = len(text) if at < 0 else at - (line == "\r\n")
        edits.append((at, at, f"{line}{key} = {value}"))
    for start, end, value in sorted(edits, key=lambda edit: edit[0], reverse=True):
        text = text[:start] + value + text[end:]
    return text

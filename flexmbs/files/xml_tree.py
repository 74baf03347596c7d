"""XML elements read without document types, entities or other files."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from flexmbs.errors import InputError
from flexmbs.files.inputs import open_regular

MOST_BYTES = 20_000_000
MOST_ELEMENTS = 200_000
DEEPEST = 50


@dataclass(frozen=True)
class XmlElement:
    """Element with its line in the file."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list["XmlElement"] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    path: Path = Path()

    @property
    def text(self) -> str:
        """Text of the element itself, stripped."""
        return "".join(self.pieces).strip()

    @property
    def place(self) -> str:
        """File and line, for messages."""
        return f"{self.path}:{self.line}"

    def all(self, tag: str) -> list["XmlElement"]:
        """Children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> "XmlElement | None":
        """First child with a tag."""
        return next(iter(self.all(tag)), None)


def read_xml(
    path: Path, *, most_bytes: int = MOST_BYTES, most_elements: int = MOST_ELEMENTS
) -> XmlElement:
    """Root element of a file.

    Raises `InputError` for invalid XML and for files that are too large, too deeply nested or have
    a document type.
    """
    try:
        with open_regular(path) as file:
            data = file.read(min(most_bytes, os.fstat(file.fileno()).st_size) + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > most_bytes:
        raise InputError(f"{path}: larger than {most_bytes // 1_000_000} MB; reduce it")
    parser, count = expat.ParserCreate(), 0
    stack: list[XmlElement] = []
    roots: list[XmlElement] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        """Append a starting element to its parent. Raises `InputError` for too many."""
        nonlocal count
        count += 1
        if count > most_elements or len(stack) >= DEEPEST:
            limit = f"{most_elements} elements" if count > most_elements else f"{DEEPEST} levels"
            raise InputError(f"{path}:{parser.CurrentLineNumber}: more than {limit}")
        element = XmlElement(tag, attributes, parser.CurrentLineNumber, path=path)
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def refuse(*_: object) -> None:
        """Raise `InputError` for a document type."""
        raise InputError(
            f"{path}:{parser.CurrentLineNumber}: declares a document type (DTD); entities "
            "are not read: remove <!DOCTYPE …>"
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: stack.pop()
    parser.CharacterDataHandler = lambda text: stack[-1].pieces.append(text)
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InputError(
            f"{path}:{error.lineno}: is not XML: {expat.errors.messages[error.code]}"
        ) from None
    except (ValueError, LookupError) as error:
        raise InputError(f"{path}: is not XML in a known encoding: {error}") from None
    return roots[0]

"""Writer of a model as a TOML file.

One table per item, one line per key, floats with all their digits.
"""

import dataclasses
import json
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexmbs.declaration import Declaration, Problem
from flexmbs.errors import InputError
from flexmbs.files.output import write_text
from flexmbs.model.fields import AXES
from flexmbs.model.frames import IDENTITY, Frame, FrameRef
from flexmbs.model.functions import MissingFunction, function_text

if TYPE_CHECKING:
    from flexmbs.model.model import ModelData

FORMAT = "flexmbs-model/1"
SECTIONS = ("bodies", "joints", "forces", "drives", "couplings", "contacts", "rotors")
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def model_text(
    model: "ModelData", folder: Path, *, complete: bool = True, allow_outside: bool = True
) -> str:
    """Text of the model file in ``folder``.

    Raises `InputError` for content that a file cannot represent, if ``complete``.
    """
    writer = TomlWriter(folder.resolve(), complete, allow_outside)
    lines = [
        f'format = "{FORMAT}"',
        f"name = {text_of(model.name)}",
        f"gravity = {writer.value(model.gravity)}",
    ]
    if model.cuts:
        lines.append(f"cuts = {writer.value(model.cuts)}")
    if model.shapes:
        writer.path = ("shapes",)
        lines.append(f"shapes = {writer.value(model.shapes)}")
    if model.frames:
        lines += [
            "",
            "[frames]",
            *(f"{key(name)} = {writer.value(frame)}" for name, frame in model.frames.items()),
        ]
    for section in SECTIONS:
        for item in model.items(section).values():
            lines += ["", f"[{section}.{key(item.name)}]", *writer.item(item)]
    if model.run is not None:
        lines += ["", "[run]", *writer.pairs(model.run, ("run",))]
    if writer.problems and complete:
        raise InputError(*dict.fromkeys(map(str, writer.problems)))
    return "\n".join(lines) + "\n"


def save(model: "ModelData", path: Path, *, allow_outside: bool = False) -> None:
    """Write the file of a model atomically. Raises `InputError`, `MachineError`."""
    write_text(path, model_text(model, path.parent, allow_outside=allow_outside))


def key(name: str) -> str:
    """Key of a TOML file, quoted if required."""
    return name if BARE_KEY.fullmatch(name) else text_of(name)


def text_of(value: str) -> str:
    """Text quoted as a TOML basic string."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


class TomlWriter:
    """Values as TOML; collects content that a file cannot represent."""

    def __init__(self, folder: Path, complete: bool, allow_outside: bool) -> None:
        """Writer of a model file in ``folder``; paths are written relative to it."""
        self.folder = folder
        self.complete = complete
        self.allow_outside = allow_outside
        self.problems: list[Problem] = []
        self.path: tuple[str, ...] = ()

    def item(self, item: Any) -> list[str]:
        """Lines of the table of one item."""
        self.path = (item.section, item.name)
        return [f"kind = {text_of(item.kind)}", *self.pairs(item, self.path)]

    def pairs(self, item: Declaration, path: tuple[str, ...]) -> list[str]:
        """Lines ``key = value`` of the fields that differ from their defaults."""
        lines = []
        for name, value in written_fields(item):
            self.path = (*path, name)
            lines.append(f"{name} = {self.field(name, value)}")
        return lines

    def field(self, name: str, value: Any) -> str:
        """Value of one field; ``file`` is a path."""
        return self.path_text(value) if name == "file" else self.value(value)

    def value(self, value: Any) -> str:
        """TOML text of a value."""
        match value:
            case str():
                return text_of(value)
            case bool():
                return "true" if value else "false"
            case int() | float():
                return repr(value)
            case FrameRef():
                return text_of(str(value))
            case Frame() if value.rotation == IDENTITY:
                return self.value(value.position)
            case Declaration():
                kind = {"kind": text_of(value.kind)} if value.kind else {}
                own = {name: self.field(name, each) for name, each in written_fields(value)}
                return self.table({**kind, **own})
            case Mapping():
                return self.table({name: self.value(item) for name, item in value.items()})
            case tuple():
                return f"[{', '.join(self.value(item) for item in value)}]"
            case _:
                return self.other(value)

    def table(self, table: Mapping[str, str]) -> str:
        """An inline table of written values."""
        return "{ " + ", ".join(f"{key(name)} = {item}" for name, item in table.items()) + " }"

    def path_text(self, file: str) -> str:
        """Path of a file relative to the model's folder, with forward slashes."""
        absolute = Path(file).resolve()
        relative = Path(os.path.relpath(absolute, self.folder))
        if relative.parts[:1] == ("..",) and not self.allow_outside:
            text = f"'{file}' is outside the folder of the model file, {self.folder}"
            text += "; copy it there or save with allow_outside=True"
            self.problems.append(Problem(self.path, text))
        return text_of(relative.as_posix())

    def other(self, value: Any) -> str:
        """TOML text of a function; reports other values as problems."""
        if isinstance(value, MissingFunction) and (not self.complete or ":" in value.text):
            return text_of(value.text)
        if reason := getattr(value, "not_in_files", ""):
            self.problems.append(Problem((), str(reason)))
            return text_of(f"<function {type(value).__name__}>")
        if callable(value):
            try:
                return text_of(function_text(value))
            except ValueError as error:
                self.problems.append(Problem(self.path, str(error)))
                return text_of(f"<function {getattr(value, '__qualname__', type(value).__name__)}>")
        text = "is in memory only; save the body (data.save('body.h5')) and give its file"
        self.problems.append(Problem(self.path, text))
        return text_of(f"<in memory: {getattr(value, 'name', type(value).__name__)}>")


def written_fields(item: Declaration) -> Iterator[tuple[str, Any]]:
    """Name and value of the fields that differ from their defaults, in short form if possible."""
    for field in item.ordered_fields():
        value = getattr(item, field.name)
        if field.name == "name" or value is None or _is_default(item, field):
            continue
        yield field.name, SHORT[field.name](value) if field.name in SHORT else value


def _axis(value: tuple[float, ...]) -> Any:
    """Letter of a coordinate axis such as "x"; other vectors unchanged."""
    return next((letter for letter, axis in AXES.items() if axis == value), value)


def _one_number(value: tuple[float, ...]) -> Any:
    """The number of a tuple of length one, otherwise the tuple."""
    return value[0] if len(value) == 1 else value


SHORT: dict[str, Callable[[Any], Any]] = {
    "axis": _axis,
    "normal": _axis,
    "direction": _axis,
    "q0": _one_number,
    "v0": _one_number,
}


def _is_default(item: Declaration, field: "dataclasses.Field[Any]") -> bool:
    """True if the item made without this field is the same item."""
    if field.default_factory is not dataclasses.MISSING:
        return not getattr(item, field.name)
    if field.default is dataclasses.MISSING:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return bool(dataclasses.replace(item, **{field.name: field.default}) == item)  # type: ignore[type-var]
        except InputError:
            return False

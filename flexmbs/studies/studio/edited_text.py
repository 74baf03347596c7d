"""Changed numbers of a model in the text of its file, which stays as it is elsewhere."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from flexmbs.api.model import Model
from flexmbs.errors import InputError
from flexmbs.model.laws import Constant
from flexmbs.model.model import SECTIONS
from flexmbs.model.toml_read import of_document
from flexmbs.model.toml_write import SHORT, TomlWriter
from flexmbs.studies.parameters.parameter_paths import DISTINCT, PAIRS, changed, located
from flexmbs.toml.document import TomlDocument, document_of
from flexmbs.toml.value_places import Path, with_values


class EditedText(NamedTuple):
    """Text of a file with other values, and the keys whose whole values were written anew."""

    text: str
    rewritten: tuple[str, ...]


def edited_text(
    document: TomlDocument, model: Model, values: Mapping[str, float], access: Mapping[str, bool]
) -> EditedText:
    """Text of the file of a model with other numbers at the given paths.

    Only the numbers change. Where the file has none, such as a default or an axis given by its
    letter, the value of the key is written anew, or a line with the key is added. The new text is
    read again: it gives the changed model, or it is refused. Raises `InputError`.
    """
    other = changed(model, values)
    replaced: dict[Path, str] = {}
    added: dict[Path, str] = {}
    for path, value in values.items():
        steps = located(model, path)
        places = _places(document.table, steps)
        replaced |= dict.fromkeys(places, repr(float(value)))
        if not places:
            key = tuple(name for _, name in steps[: 3 if steps[0][1] in SECTIONS else 2])
            key = key if key[0] in SECTIONS or key[0] == "run" else key[:1]
            (replaced if _value_at(document.table, key) is not None else added)[key] = _written(
                other, key, document
            )
    whole = [key for key in replaced if replaced[key][:1] in '[{"']
    for key in [key for key in replaced if any(key[: len(w)] == w != key for w in whole)]:
        del replaced[key]  # within a value that is written anew
    try:
        text = with_values(document.text, replaced, added)
        kept = of_document(document_of(text, document.path), Model, **access) == other
    except (InputError, KeyError, ValueError, StopIteration):
        kept = False
    if not kept:
        names = ", ".join(values)
        raise InputError(
            f"{document.path}: {names} cannot be changed without rewriting more of the file, which "
            "would lose its layout; change it in an editor"
        )
    return EditedText(text, tuple(".".join(key) for key in (*whole, *added)))


def _places(table: Any, steps: Sequence[tuple[Any, str]]) -> list[Path]:
    """Paths of the number at the end of ``steps`` in the table of a file; empty if it has none."""
    found: list[tuple[Path, Any]] = [((), table)]
    for container, key in steps:
        found = [
            (path + rest, inner)
            for path, value in found
            for rest, inner in _within(value, container, key)
        ]
    ends = [end for path, value in found for end in _number(path, value)]
    return ends


def _within(value: Any, container: Any, key: str) -> Iterable[tuple[Path, Any]]:
    """Paths and values in a file for a key of the container that was made of ``value``."""
    if isinstance(value, dict):
        return [((key,), value[key])] if key in value else []
    if not isinstance(value, list):  # a single number for a tuple of length one
        return [((), value)] if isinstance(container, tuple) and len(container) == 1 else []
    if key in PAIRS:
        if len(value) == 3 and all(isinstance(row, list) for row in value):
            ends = {PAIRS[key], PAIRS[key][::-1]}
            return [((str(i), str(k)), value[i][k]) for i, k in sorted(ends)]
        k = DISTINCT.index(key)
        return [((str(k),), value[k])] if k < len(value) else []
    if not isinstance(container, tuple):  # a frame given by its position
        return [((), value)] if key == "position" else []
    k = "xyz".find(key) if key in "xyz" else int(key)
    return [((str(k),), value[k])] if k < len(value) else []


def _number(path: Path, value: Any) -> list[Path]:
    """The path of a number: that of the value, its only element, or its constant value."""
    if isinstance(value, list) and len(value) == 1:
        return _number((*path, "0"), value[0])
    if isinstance(value, dict) and value.get("kind") == Constant.kind and "value" in value:
        return _number((*path, "value"), value["value"])
    return [path] if isinstance(value, int | float) and not isinstance(value, bool) else []


def _value_at(table: Any, path: Path) -> Any:
    """Value of a table at a path; None if there is none."""
    for key in path:
        table = table.get(key) if isinstance(table, dict) else None
    return table


def _written(model: Model, key: Path, document: TomlDocument) -> str:
    """TOML text of the value of a key of a model: section, item, name; or run, name; or name."""
    holder: Any = model
    if key[0] in SECTIONS:
        holder = model.items(key[0])[key[1]]
    elif key[0] == "run":
        holder = model.run
    value = getattr(holder, key[-1])
    writer = TomlWriter(document.path.parent.resolve(), True, True)
    return writer.field(key[-1], SHORT[key[-1]](value) if key[-1] in SHORT else value)

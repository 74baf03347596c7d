"""Line numbers of keys in a TOML text, for messages."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

Path = tuple[str, ...]
BARE_KEY = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")
LONGEST_LINE = 2000


def line_of(text: str, paths: Sequence[Path]) -> list[int | None]:
    """Line of each key path in a TOML text, or of its longest prefix; None if unknown."""
    lines = {path: number for number, path in reversed(list(_keys(text)))}
    return [
        next((lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in lines), None)
        for path in paths
    ]


def _keys(text: str) -> Iterator[tuple[int, Path]]:
    """Line and path of every table header and of every key at the start of a line."""
    table: Path = ()
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare or bare[0] in "#]}":
            continue
        simple = BARE_KEY.match(line)
        if simple:
            yield number, (*table, simple[1])
        elif len(bare) > LONGEST_LINE:
            continue
        elif bare[0] == "[":
            found = _path(bare)
            if found:
                table = found
                yield from ((number, table[:n]) for n in range(1, len(table) + 1))
        elif "=" in bare:
            found = _path(bare.partition("=")[0] + "= 0")
            if found:
                yield number, table + found


def _path(line: str) -> Path:
    """Keys of a one-line TOML document, outermost first."""
    try:
        value: Any = tomllib.loads(line)
    except (ValueError, RecursionError):
        return ()
    path: list[str] = []
    while isinstance(value, (dict, list)) and value:
        if isinstance(value, list):
            value = value[0]
            continue
        key = next(iter(value))
        path.append(key)
        value = value[key]
    return tuple(path)

"""Player as code of a page: its modules joined to one script, its style, and its scene as text."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from pathlib import Path
from typing import Any

from flexmbs.page.html import PageCode, powers

HERE = Path(__file__).parent
_IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=const|class|function|async)", re.MULTILINE)


def scene_text(table: dict[str, Any]) -> str:
    """JSON text for an HTML page, in which no character ends or starts an element.

    Numbers in notes are formatted as on the page.
    """
    table = with_formatted_notes(table)
    text = json.dumps(table, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def with_formatted_notes(table: dict[str, Any]) -> dict[str, Any]:
    """Table of a scene whose notes have their numbers formatted as on the page."""
    if "notes" not in table:
        return table
    return table | {"notes": [powers(line) for line in table["notes"]]}


@functools.cache
def player_code() -> PageCode:
    """(style, script) of the player with the plots."""
    return _code("main", "player")


@functools.cache
def studio_code() -> PageCode:
    """(style, script) of the page on which a model is edited, which asks its server."""
    return dataclasses.replace(_code("studio", "player", "studio"), asks=True)


def _code(first: str, *styles: str) -> PageCode:
    """Script that begins with a module, and styles."""
    style = "".join(
        HERE.joinpath("templates", f"{name}.css").read_text(encoding="utf-8") for name in styles
    )
    return PageCode(style, joined_modules(HERE / "js", first), "flexmbs.player")


def joined_modules(folder: Path, first: str) -> str:
    """Join a JavaScript module ``first`` and all modules it imports into one.

    Imported modules come first, and import and export lines are removed. Top-level names of the
    modules must be unique.
    """
    texts: dict[str, str] = {}

    def add(name: str) -> None:
        """Append a JavaScript module after those that it imports."""
        if name in texts:
            return
        source = folder.joinpath(f"{name}.js").read_text(encoding="utf-8")
        for needed in _IMPORT.findall(source):
            add(needed)
        texts[name] = _EXPORT.sub("", _IMPORT.sub("", source))

    add(first)
    return "\n".join(texts.values())

"""Pages of recipes as programs: their blocks run one after the other, and a block of text is the
output of the one before it.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import flexmbs as fm
from flexmbs.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A block of a page: its language, text, and place in the page."""

    language: str
    text: str
    start: int
    end: int


def blocks(page: str) -> list[Block]:
    """All blocks of a page."""
    return [Block(at[1], at[2], at.start(2), at.end(2)) for at in BLOCK.finditer(page)]


def differences(page: str, folder: Path) -> list[tuple[Block, str]]:
    """Run a page in an empty folder: the blocks of text that are not the output of the block before
    them, with that output.
    """
    names: dict[str, Any] = {"__name__": "recipe"}
    kinds: dict[str, Callable[[str], str]] = {
        "python": lambda text: _python(text, names),
        "sh": _shell,
        "toml": _file,
    }
    kinds["console"] = lambda text: ""  # for the shell of the reader only
    found, output = [], ""
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("error", fm.AuditWarning)  # a run that is not PASS must say so
        for block in blocks(page):
            if block.language != "text":
                output = kinds[block.language](block.text)
            elif not doctest.OutputChecker().check_output(block.text, output, FLAGS):
                found.append((block, output))
    return found


def _python(text: str, names: dict[str, Any]) -> str:
    if at := re.match(r"# file: (\S+)\n", text):
        return _written(at[1], text)
    with contextlib.redirect_stdout(io.StringIO()) as told:
        exec(compile(text, "recipe", "exec"), names)
    return told.getvalue()


def _shell(text: str) -> str:
    """Commands of the two programs; a comment tells an exit code other than 0."""
    told = io.StringIO()
    for line in text.splitlines():
        command, _, comment = line.partition("#")
        program, *arguments = shlex.split(command)
        expected = int(re.findall(r"exit code (\d)", comment)[0]) if "exit code" in comment else 0
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            code = _exit_code(["preprocess"] * (program == "preprocess") + arguments)
        assert code == expected, f"{line}: exit code {code}\n{told.getvalue()}"
    return told.getvalue()


def _exit_code(arguments: list[str]) -> int:
    os.environ["COLUMNS"] = "120"
    try:
        main(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def _file(text: str) -> str:
    at = re.match(r"# file: (\S+)\n", text)
    return _written(at[1], text) if at else ""


def _written(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return ""

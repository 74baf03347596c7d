"""Every command that a page names exists and takes the arguments that it has there."""

import ast
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from flexmbs.command_line import app as flexmbs
from preprocess.command_line import app as preprocess

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "docs" / "howto").glob("*.md"),
    *(ROOT / "docs" / "formats").glob("*.md"),
    *(ROOT / "docs" / "dev").glob("*.md"),
    *(ROOT / "reports").rglob("README.md"),
]
PROGRAMS = {"flexmbs": flexmbs, "preprocess": preprocess}


def commands() -> list[tuple[str, str]]:
    """(page, command): in the text, and lines of blocks of the shell."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        lines = [
            line
            for block in re.findall(r"```(?:sh|bash)\n(.*?)```", text, re.DOTALL)
            for line in block.splitlines()
        ]
        lines += re.findall(r"^    (.*)$", text, re.MULTILINE)  # an indented block
        lines += re.findall(r"`([^`\n]+)`", text)
        found += [
            (str(page.relative_to(ROOT)), line)
            for line in lines
            if re.match(r"(flexmbs|preprocess) [\w-]", line)
        ]
    return sorted(set(found))


def left_over(words: list[str]) -> list[str]:
    """What the parser of a command does not take. Raises what it raises for options that do not
    exist.
    """
    command: Any = get_command(PROGRAMS[words[0]])
    context, rest = command.make_context(words[0], [], resilient_parsing=True), words[1:]
    while rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest[0]]
        context, rest = (
            command.make_context(rest[0], [], parent=context, resilient_parsing=True),
            rest[1:],
        )
    return list(command.make_parser(context).parse_args(list(rest))[1])


@pytest.mark.parametrize(("page", "line"), commands())
def test_a_command_takes_its_arguments(page: str, line: str) -> None:
    assert left_over(shlex.split(line, comments=True)) == []


def test_what_a_command_does_not_take_is_found() -> None:
    assert left_over(["flexmbs", "export", "run.h5", "folder"]) == ["folder"]
    assert left_over(["flexmbs", "exports"]) == ["exports"]
    assert len(commands()) > 60


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_command_uses_all_of_its_options(program: str) -> None:
    tree = ast.parse((ROOT / program / "command_line.py").read_text(encoding="utf-8"))
    commands = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert len(commands) > 3
    for command in commands:
        used = {
            node.id
            for statement in command.body
            for node in ast.walk(statement)
            if isinstance(node, ast.Name)
        }
        given = {argument.arg for argument in (*command.args.args, *command.args.kwonlyargs)}
        assert given <= used, command.name

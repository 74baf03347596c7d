"""Case control of Nastran files: commands before BEGIN BULK that concern a body.

Source: MSC Nastran, Quick Reference Guide, case control commands SET, MPC, K2GG.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from flexmbs.errors import InputError
from flexmbs.files.inputs import read_text
from preprocess.mesh_files.claims import Claims
from preprocess.mesh_files.include import Includes
from preprocess.mesh_files.nastran_cards import included_name, listed_numbers


def case_control(path: Path, lines: list[str], includes: Includes) -> list[str]:
    """Lines before BEGIN BULK, including those of included files. Raises InputError."""
    return list(_lines(path, lines, includes))


def follow_nastran(path: Path, includes: Includes) -> None:
    """Open the files that are included anywhere, as far as they exist."""
    _follow(path, read_text(path).splitlines(), includes)


def _follow(path: Path, lines: list[str], includes: Includes) -> None:
    """Open the files that lines include; those after the end of the data may be missing."""
    for number, text in enumerate(lines, 1):
        name = included_name(text)
        if name is not None:
            with contextlib.suppress(InputError):
                _follow(path, includes.lines(f"{path}:{number}", name), includes)
                includes.close()


def _lines(path: Path, lines: list[str], includes: Includes) -> Iterator[str]:
    """Lines of the case control section, following includes."""
    for number, text in enumerate(lines, 1):
        included = included_name(text)
        if included is not None:
            yield from _lines(path, includes.lines(f"{path}:{number}", included), includes)
            includes.close()
        else:
            yield text


def sets_of(path: Path, lines: Iterable[str], claims: Claims) -> dict[str, list[int]]:
    """Sets SET n = 1, 2, 5 THRU 9, continued after a comma.

    Other kinds of SET are skipped.
    """
    sets: dict[str, list[int]] = {}
    for match in re.finditer(
        r"^\s*SET\s+(\d{1,9})\s*=\s*([\d\sTHRUthru,]+?)(?<!,)$", _without_comments(lines), re.M
    ):
        sets[f"SET {match.group(1)}"] = listed_numbers(
            re.split(r"[,\s]+", match.group(2).strip()), f"{path}: SET {match.group(1)}", claims
        )
    return sets


def selected_equations(path: Path, lines: Iterable[str]) -> int:
    """Number in MPC = n, 0 if none is selected.

    Raises InputError if subcases select different ones.
    """
    found = {
        int(number)
        for number in re.findall(
            r"^\s*MPC\s*=\s*(\d{1,9})\s*$", _without_comments(lines), re.M | re.I
        )
    }
    if len(found) > 1:
        numbers = ", ".join(map(str, sorted(found)))
        raise InputError(
            f"{path}: the case control selects MPC = {numbers} in different subcases; keep one"
        )
    return found.pop() if found else 0


def selected_matrices(path: Path, lines: Iterable[str]) -> None:
    """Raise InputError for matrices of the file that are added to those of the elements.

    K2GG, M2GG, B2GG, K42GG, TFL.
    """
    found = re.findall(
        r"^\s*([KMBA]2(?:GG|PP)|K42GG|TFL)\s*=", _without_comments(lines), re.M | re.I
    )
    if found:
        raise InputError(
            f"{path}: {found[0].upper()} of the case control adds a matrix, which is not "
            "supported; remove it"
        )


def _without_comments(lines: Iterable[str]) -> str:
    """Text without comments."""
    return "\n".join(line.partition("$")[0].rstrip() for line in lines)

"""Command ``preprocess compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexmbs.console.messages import progress_bar, put, put_json
from flexmbs.errors import InputError

if TYPE_CHECKING:
    from preprocess.comparison import Comparison, Structure

PART = ".toml"


def compare(
    path: Path, other: Path | None, *, modes: int, as_json: bool, allow_outside: bool
) -> None:
    """Print the comparison of a flexible body with its full model or another body of the same mesh.

    Raises InputError, SolverError.
    """
    from preprocess.comparison import compare as compared

    against = other or path.with_suffix(PART)
    if other is None and not against.is_file():
        raise InputError(
            f"{against}: no such file; give the part file or another flexible body to "
            f"compare {path} with"
        )
    first = _body(path)
    with progress_bar("comparing", memory=True) as progress:
        progress(0.1, "full model" if against.suffix.lower() == PART else "comparing")
        found = compared(first, _structure(against, allow_outside), modes=modes)
    if as_json:
        put_json(_facts(found))
    else:
        put(str(found))


def _structure(path: Path, allow_outside: bool) -> Structure:
    """Full model of a part file, or reduced body of a body file."""
    from preprocess.comparison import FullModel
    from preprocess.part_file import read_part

    if path.suffix.lower() != PART:
        return _body(path)
    part = read_part(path, allow_outside=allow_outside)
    fe = part.model()
    with part.located():
        return FullModel(fe, part.interfaces_on(fe.mesh), f"full model of {path}")


def _body(path: Path) -> Structure:
    """Reduced body of a body file."""
    from flexmbs.flexible_body.divided import in_one_piece, load_body
    from preprocess.comparison import ReducedBody

    return ReducedBody(in_one_piece(load_body(path)), str(path))


def _facts(found: Comparison) -> dict[str, Any]:
    """Comparison as a dictionary for JSON."""
    return {
        "first": found.first,
        "second": found.second,
        "modes": {held: [pair._asdict() for pair in pairs] for held, pairs in found.modes.items()},
        "compliance": [
            each._asdict() | {"first": each.first.tolist(), "second": each.second.tolist()}
            for each in found.compliances
        ],
    }

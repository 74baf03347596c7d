"""Command ``preprocess reduce``."""

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flexmbs.console.memory import peak_memory
from flexmbs.console.messages import progress_bar, put
from flexmbs.errors import InputError
from flexmbs.files.file_types import BODY
from flexmbs.files.reserved_outputs import reserved
from preprocess.command.outcome import costs, print_warnings

if TYPE_CHECKING:
    from flexmbs.flexible_body.record import FlexibleBodyData


def reduce_file(
    path: Path,
    output: Path | None,
    *,
    engine: str,
    force: bool,
    allow_outside: bool,
    allow_large: bool,
    keep: Path | None,
) -> None:
    """Write the flexible body of a part file with an engine of `ENGINES`.

    Raises InputError, SolverError, MachineError.
    """
    if engine not in ENGINES:
        raise InputError(f"--engine: {engine!r} is unknown; choose one of {', '.join(ENGINES)}")
    ENGINES[engine](
        path, output, force=force, allow_outside=allow_outside, allow_large=allow_large, keep=keep
    )


def reduce_serially(
    path: Path,
    output: Path | None,
    *,
    force: bool,
    allow_outside: bool,
    allow_large: bool,
    keep: Path | None,
) -> None:
    """Write the flexible body of a part file, unless an existing file has the same inputs.

    Raises InputError, SolverError, MachineError.
    """
    target = output or path.with_suffix(".h5")
    with reserved((target, BODY)):
        _reduce(
            path,
            target,
            force=force,
            allow_outside=allow_outside,
            allow_large=allow_large,
            keep=keep,
        )


def _reduce(
    path: Path,
    target: Path,
    *,
    force: bool,
    allow_outside: bool,
    allow_large: bool,
    keep: Path | None,
) -> None:
    """Reduce a part file and write the body in this process."""
    from flexmbs.flexible_body.divided import DividedBodyData
    from preprocess.command.inspect import described, described_pieces
    from preprocess.part_file import read_part
    from preprocess.part_file.digest import stored_digest

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        part = read_part(path, allow_outside=allow_outside)
        stored = None if force else stored_digest(target)
        if stored and stored == part.digest():
            put(f"unchanged: {target} (--force reduces it again)")
            return
        if part.division is not None and keep is not None:
            raise InputError("--keep: a divided part has one factor per piece; omit it")
        with progress_bar("read and assemble", memory=True) as progress:
            data: FlexibleBodyData | DividedBodyData
            if part.division is not None:
                data = part.reduce_divided(
                    progress=lambda step, fraction: progress(fraction, step),
                    allow_large=allow_large,
                )
            else:
                data = part.reduce(
                    progress=lambda step, fraction: progress(fraction, step),
                    allow_large=allow_large,
                    keep=keep,
                )
    print_warnings(caught)
    data.save(target)
    if isinstance(data, DividedBodyData):
        put(described_pieces(data))
        put(costs(_summed(piece.provenance for piece in data.pieces), peak_memory()))
    else:
        put(described(data))
        put(costs(data.provenance, peak_memory()))
    put(f"flexible body: {target}")


def _summed(pieces: Iterable[Mapping[str, str | float]]) -> dict[str, float]:
    """Times of all pieces together, by step."""
    total: dict[str, float] = {}
    for facts in pieces:
        for key, value in facts.items():
            if key.startswith("time "):
                total[key] = total.get(key, 0.0) + float(value)
    return total


def _together(
    engine: str,
    path: Path,
    output: Path | None,
    *,
    force: bool,
    allow_outside: bool,
    allow_large: bool,
    keep: Path | None,
) -> None:
    """Reduce a part file in all MPI processes."""
    from preprocess.command.reduce_together import reduce_together

    if keep is not None:
        raise InputError(f"--keep: the engine {engine} does not store factors; omit it")
    reduce_together(path, output, engine, force=force, allow_outside=allow_outside)


ENGINES: dict[str, Callable[..., None]] = {
    "serial": reduce_serially,
    **{name: functools.partial(_together, name) for name in ("petsc", "slepc")},
}

"""Command ``mpirun -n N preprocess reduce --engine petsc``."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import typer

from flexmbs.console.memory import peak_memory
from flexmbs.console.messages import progress_bar, put
from flexmbs.files.file_types import BODY
from flexmbs.files.reserved_outputs import reserved
from preprocess.body.build import Steps
from preprocess.command.inspect import described
from preprocess.command.outcome import costs, print_warnings
from preprocess.distributed.processes import CollectiveError, Processes, processes
from preprocess.distributed.reduce import reduce_together as reduced
from preprocess.part_file import Part, read_part
from preprocess.part_file.digest import INPUTS, stored_digest


def reduce_together(
    path: Path, output: Path | None, engine: str, *, force: bool, allow_outside: bool
) -> None:
    """Write the flexible body of a part file, reduced by all processes.

    The first process reads and writes. Raises InputError, SolverError, MachineError.
    """
    try:
        _reduce_together(
            processes(),
            engine,
            path,
            output or path.with_suffix(".h5"),
            force=force,
            allow_outside=allow_outside,
        )
    except CollectiveError as error:
        raise typer.Exit(error.exit_code) from None


def _reduce_together(
    group: Processes, engine: str, path: Path, target: Path, *, force: bool, allow_outside: bool
) -> None:
    """Reduce a part file by MPI processes; the first one writes the body."""
    with (
        group.ending_together(),
        contextlib.ExitStack() as lock,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        group.from_first(lambda: lock.enter_context(reserved((target, BODY))))
        part: list[Part] = []

        def unchanged() -> bool:
            """True if the file already contains the body of this part file."""
            part.append(read_part(path, allow_outside=allow_outside))
            stored = None if force else stored_digest(target)
            return bool(stored) and stored == part[0].digest()

        if group.from_first(unchanged):
            group.from_first(lambda: put(f"unchanged: {target} (--force reduces it again)"))
            return
        with _steps(group) as steps:
            data = reduced(group, lambda: part[0].job(), steps, engine)

        def write() -> None:
            """Save the body with its provenance."""
            assert data is not None
            origin: dict[str, str | float] = {"part file": str(part[0].document.path)}
            body = replace(
                data,
                provenance={**origin, **data.provenance, **steps.times, INPUTS: part[0].digest()},
            )
            print_warnings(caught)
            body.save(target)
            put(described(body))
            put(costs(body.provenance, peak_memory()))
            put(f"flexible body: {target}")

        group.from_first(write)


@contextlib.contextmanager
def _steps(group: Processes) -> Iterator[Steps]:
    """Progress steps, shown by the first process only."""
    if group.rank:
        yield Steps(None)
        return
    with progress_bar("read and divide", memory=True) as progress:
        yield Steps(lambda step, fraction: progress(fraction, step))

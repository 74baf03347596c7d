"""Runs that survive interruptions: a folder from which a run continues bitwise equal.

It has the model, the outputs so far and the last checkpoint.

    model.toml  run.json  outputs.log  checkpoint.npz  solution.h5

The path of the data. The compiled loop writes outputs into the arrays of the run; between batches,
about every quarter of a second, new rows are appended to the log (`flexmbs.results.output_log`),
which survives the end of the process, and about every second the log is flushed to the disk, which
survives a power cut. A checkpoint is the state of the run (`flexmbs.time_stepping.run_state`) in an
NPZ file; it replaces the last one atomically, after the log is on the disk: it never tells of
outputs that are not there. Resuming compares model, parts, the code of user functions, files that
these name, options and versions with those in run.json, reads the rows, restores the state and goes
on; rows behind the checkpoint are computed again and must be the same. The solution is written at
the end from the rows of the log.
"""

import contextlib
import copy
import dataclasses
import hashlib
import io
import json
import os
import pathlib
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

from flexmbs.api.solution import Solution
from flexmbs.checked_arguments import checked_arguments
from flexmbs.console.interrupts import ENDING, heeded
from flexmbs.errors import InputError, MachineError, SolverError, shown
from flexmbs.files.append_log import write_bytes
from flexmbs.files.inputs import open_regular
from flexmbs.files.output import atomic_file, ensure_folder, remove_drafts, write_text
from flexmbs.files.reserved_outputs import locked_by
from flexmbs.integrators.integrator import is_number
from flexmbs.integrators.run_context import DONE, Counts
from flexmbs.model.argument_checks import require_switch
from flexmbs.model.function_code import code_digest, contents_named, functions_of
from flexmbs.results.output_log import LoggedRows, OutputLog, fields_of, read_rows, row_bytes, rows
from flexmbs.studies.parameters.fingerprint import (
    FILES,
    differences,
    mesh_digests,
    require_same,
    versions,
)
from flexmbs.studies.run.run_setup import Prepared
from flexmbs.system.names import velocity_names
from flexmbs.system.trajectory import provenance
from flexmbs.time_stepping.outcome import INTERRUPTED
from flexmbs.time_stepping.run import Progress, Run
from flexmbs.time_stepping.run_state import RunState, State

FORMAT = "flexmbs-run/1"
MODEL, RECORD, LOG, CHECKPOINT, SOLUTION, LOCK = (
    "model.toml", "run.json", "outputs.log", "checkpoint.npz", "solution.h5", ".run.lock",
)  # fmt: skip
FLUSHED = 1.0  # s between two times at which the log is on the disk
SECONDS = "run.seconds"  # in the checkpoint: time of the run so far
COPIES = 3.0  # of the outputs: in the log, in the solution and while that is written


@checked_arguments
@dataclass(frozen=True)
class RunFolder:
    """A folder that keeps a run while it is computed, and from which it is resumed.

    Continued runs are bitwise the same, given that user functions depend on their arguments, and on
    files that they name, alone. Ctrl-C, and SIGTERM in the command line, end the run after the
    present step, with a checkpoint.

    Parameters
    ----------
    path : path
        The folder; it is made if it is not there.
    resume : bool
        Continue the run in the folder from its checkpoint; where there is none it begins. The
        model, its parts, the options and the versions of the programs must be those of the run.
    force : bool
        Continue it though model, parts, functions or versions differ, which is told; options may
        not.
    checkpoint : float [s]
        Time between two checkpoints.
    tell : function, optional
        Called with lines about the folder, such as the space that the run needs.

    Raises
    ------
    InputError
        For options of wrong kinds.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("throw")
    >>> stone = model.add(fm.PointMass("stone", mass=0.2))
    >>> whole = fm.simulate(model, t_end=2.0, step=0.01, folder=fm.RunFolder("run"))
    >>> again = fm.simulate(model, t_end=2.0, step=0.01, folder=fm.RunFolder("run", resume=True))
    >>> bool((again.q == whole.q).all())
    True
    """

    path: str | os.PathLike[str]
    resume: bool = False
    force: bool = False
    checkpoint: float = 30.0
    tell: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, os.PathLike)) or not str(self.path):
            raise InputError(f"folder: {shown(self.path)} is not a path; give the name of a folder")
        for key in ("resume", "force"):
            require_switch(f"folder.{key}", getattr(self, key))
        if not (is_number(self.checkpoint) and self.checkpoint > 0.0):
            raise InputError(
                f"folder.checkpoint: {shown(self.checkpoint)} is not positive; give a "
                "time in seconds"
            )
        if self.tell is not None and not callable(self.tell):
            raise InputError(f"folder.tell: {shown(self.tell)} is not a function of a line of text")

    @contextlib.contextmanager
    def opened(self) -> Iterator["OpenFolder"]:
        """Context of the folder, created if necessary and locked.

        Raises InputError where it holds something else or is in use.
        """
        folder = pathlib.Path(self.path)
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: is a file; give the name of a folder")
        ensure_folder(folder)
        with locked_by(folder / LOCK, folder):
            remove_drafts(folder)
            there = (folder / RECORD).exists()
            if there and not self.resume:
                raise InputError(
                    f"{folder}: holds a run; continue it with --resume (resume=True), or "
                    "choose another folder"
                )
            if not there and any(
                entry.name not in (LOCK, LOG, MODEL) for entry in folder.iterdir()
            ):
                raise InputError(f"{folder}: holds other files and no run; choose another folder")
            yield OpenFolder(self, folder)


class OpenFolder:
    """A run folder while this process holds it."""

    def __init__(self, options: RunFolder, folder: pathlib.Path) -> None:
        self.options, self.folder = options, folder
        self.before = 0.0  # s of the run in other processes

    def integrate(self, ready: Prepared, progress: Progress | None) -> tuple[int, int]:
        """Run from the checkpoint, if any, and store outputs and checkpoints.

        Raises InputError, and MachineError where the folder cannot be written.
        """
        run, mine = ready.run, identity(ready)
        begins = not (self.folder / RECORD).exists()
        if not begins:
            self._require(mine, ready)
        there = read_rows(self.folder / LOG)
        if there is not None and there.fields != fields_of(run.out):
            there = None
        reached = self._restored(ready, there)
        self._check_space(run, reached)
        if begins or self.options.force:
            self._record(ready, mine)
        kept = reached if self.options.force or there is None else len(there.values)
        keeper = Keeper(
            self, run, OutputLog(self.folder / LOG, run.out, there, kept), there, reached
        )
        with contextlib.closing(keeper), stopped_by_signals(run) as signals:
            run.keep = keeper.keep
            try:
                status, written = run.integrate(progress)
                keeper.finish(
                    written, whole=status == DONE or (status == INTERRUPTED and signals.clean)
                )
            except MachineError as error:
                raise MachineError(
                    f"{error}; {keeper.log.n} outputs are kept, "
                    f"{self._need(run, keeper.log.n)} more"
                ) from error
            finally:
                run.keep = None
        return status, written

    def _require(self, mine: dict[str, Any], ready: Prepared) -> None:
        """Raise `InputError` if the folder contains another run, unless forced.

        Except for the options: its state and its outputs belong to these.
        """
        path = self.folder / RECORD
        if not self.options.force:
            return require_same(path, mine, FORMAT, "run")
        found = differences(path, mine, FORMAT, "run")
        options = [f"{path}: {each}" for each in found if each.name.startswith("options.")]
        if options:
            options[-1] += (
                "; not even --force (force=True) changes options of a run; begin another "
                "folder, with start= its solution"
            )
            raise InputError(*options)
        ready.warned.extend(f"forced, though {each}" for each in found)
        return None

    def conclude(self, solution: Solution) -> None:
        """Save the solution of the finished run. Raises MachineError."""
        if solution.run.finished:
            solution.save(self.folder / SOLUTION)

    def _record(self, ready: Prepared, mine: dict[str, Any]) -> None:
        """Write model.toml and run.json. Raises MachineError."""
        write_text(self.folder / MODEL, ready.model.to_toml(complete=False))
        shown = {
            "name": ready.model.name,
            "t_end": mine["options"]["t_end"],
            "velocities": velocity_names(ready.run.compiled),
        }
        record = {"format": FORMAT, "of": mine, "shown": shown, "provenance": provenance()}
        write_text(self.folder / RECORD, json.dumps(record, indent=1) + "\n")

    def _restored(self, ready: Prepared, there: LoggedRows | None) -> int:
        """Restore the checkpoint and the outputs before it into the run.

        Returns the number of these.
        """
        run, path = ready.run, self.folder / CHECKPOINT
        state = read_checkpoint(path)
        if state is None or there is None:
            return 0
        counts = state.get("context.counts")
        reached = 0 if counts is None else Counts(counts).reached
        if reached > len(there.values):
            self._tell(f"{path}: is ahead of the log, which was damaged; the run starts again")
            return 0
        self.before = float(state.pop(SECONDS, np.zeros(1))[0])
        RunState(run).restore(state)
        for name, values in there.columns().items():
            getattr(run.out, name)[:reached] = values[:reached]
        ready.warned.append(f"resumed from the checkpoint at t = {run.context.clock.time:.6g} s")
        return reached

    def _check_space(self, run: Run, reached: int) -> None:
        """Report the required space. Raises MachineError if the disk is too full."""
        need, free = self._bytes(run, reached), shutil.disk_usage(self.folder).free
        text = f"{self.folder}: {self._need(run, reached)}, {_size(free)} are free"
        self._tell(f"{text}; checkpoint every {self.options.checkpoint:g} s")
        if need > free:
            raise MachineError(f"{text}; free some, or choose a longer output_step or another disk")

    def _bytes(self, run: Run, reached: int) -> float:
        """Bytes required for remaining outputs, solution and two checkpoints."""
        n = len(run.context.times)
        return row_bytes(run.out) * (COPIES * n - reached) + 2.0 * sum(
            array.nbytes for array in RunState(run).saved().values()
        )

    def _need(self, run: Run, reached: int) -> str:
        """Text with the size on disk that the run needs."""
        return f"the run needs {_size(self._bytes(run, reached))}"

    def _tell(self, line: str) -> None:
        """Pass a line to the listener, if there is one."""
        if self.options.tell:
            self.options.tell(line)


class Keeper:
    """Outputs into the log, and checkpoints, while a run is computed.

    Rows that the log already has are compared.
    """

    def __init__(
        self, place: OpenFolder, run: Run, log: OutputLog, there: LoggedRows | None, reached: int
    ) -> None:
        self.place, self.run, self.log, self.there, self.compared = place, run, log, there, reached
        self.state = RunState(run)
        self.begun = self.flushed = self.stored = time.monotonic()

    def keep(self, reached: int) -> None:
        """Store new outputs, and now and then a checkpoint; called between batches.

        Raises MachineError, and SolverError for rows that differ from those in the log.
        """
        self._compare(reached)
        self.log.write(reached)
        now = time.monotonic()
        if now - self.stored > self.place.options.checkpoint:
            self._store()
        elif now - self.flushed > FLUSHED:
            self.log.flush()
            self.flushed = now

    def finish(self, written: int, *, whole: bool) -> None:
        """Write the last outputs up to the first non-finite one.

        And a checkpoint if the state is that after a ``whole`` step.
        """
        good = np.isfinite(rows(self.run.out, 0, written)).all(axis=1)
        reached = written if good.all() else int(np.argmin(good))
        self._compare(reached)
        self.log.write(reached)
        if whole and reached == written:
            self._store()
        else:
            self.log.flush()

    def close(self) -> None:
        """Close the log."""
        self.log.close()

    def _compare(self, reached: int) -> None:
        """Compare repeated outputs with those in the log. Raises `SolverError`."""
        if self.there is None or self.place.options.force:
            return
        first, last = self.compared, min(reached, len(self.there.values))
        if first >= last:
            return
        same = (
            rows(self.run.out, first, last).view(np.int64)
            == self.there.values[first:last].view(np.int64)
        ).all(axis=1)
        if not same.all():
            t = float(self.run.out.t[first + int(np.argmin(same))])
            raise SolverError(
                f"{self.place.folder}: the outputs at t = {t:.6g} s differ from "
                "those before; resume where it ran, with user "
                "functions that depend on their arguments alone, or continue from the "
                "checkpoint with --force"
            )
        self.compared = last

    def _store(self) -> None:
        """Write a checkpoint after the log has reached the disk."""
        self.log.flush()
        seconds = self.place.before + time.monotonic() - self.begun
        write_checkpoint(
            self.place.folder / CHECKPOINT, self.state.saved() | {SECONDS: np.array([seconds])}
        )
        self.flushed = self.stored = time.monotonic()


class Signals:
    """Signals during a run.

    The first one ends it after the present step, a second one acts as before.
    """

    def __init__(self, run: Run, given: dict[int, Callable[..., Any]]) -> None:
        self.run, self.given, self.received = run, given, 0

    @property
    def clean(self) -> bool:
        """True if the run ended after a whole step."""
        return self.received == 1

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.received += 1
        if self.received == 1:
            heeded.append(number)
            self.run.stop()
        else:
            self.given[number](number, frame)


@contextlib.contextmanager
def stopped_by_signals(run: Run) -> Iterator[Signals]:
    """Context in which Ctrl-C, SIGTERM and SIGHUP end the run after the present step.

    Signals without a handler keep their default action.
    """
    numbers = ENDING if threading.current_thread() is threading.main_thread() else ()
    given = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}
    signals = Signals(run, {int(number): handler for number, handler in given.items()})
    for number in given:
        signal.signal(number, signals)
    try:
        yield signals
    finally:
        for number, handler in given.items():
            signal.signal(number, handler)


def identity(ready: Prepared) -> dict[str, Any]:
    """Record that identifies a run: model, options, versions.

    Digests of the model, its parts, its start and the program, options, versions.
    """
    run, model = ready.run, copy.copy(ready.model)
    model.run = None  # its options are below
    start = run.begun
    assert start is not None
    digest = hashlib.sha256(
        b"".join(
            array.tobytes() for array in (start.q, start.s, start.beta, start.z, start.contact)
        )
    )
    return {
        "model": hashlib.sha256(model.to_toml(complete=False).encode()).hexdigest(),
        **{f"part of body '{name}'": data.digest for name, data in run.compiled.data.items()},
        **mesh_digests(model),
        **{f"function {place}": code_digest(function) for place, function in functions_of(model)},
        FILES: contents_named(
            [
                *(function for _, function in functions_of(model)),
                *(event.function for event in run.declared),
            ]
        ),
        "start": digest.hexdigest(),
        "options": options_of(ready),
        "versions": versions(),
    }


def options_of(ready: Prepared) -> dict[str, Any]:
    """All options of a run as a record; functions by their code."""
    chosen = ready.chosen
    events = [
        ", ".join(f"{name} {text}" for name, text in _texts(event).items())
        for event in ready.run.declared
    ]
    return {
        "t_end": float(chosen["t_end"]),
        "output_step": chosen["output_step"],
        "coordinates": chosen["coordinates"],
        "events": events,
        **_options("formalism", ready.form),
        **_options("integrator", ready.method),
    }


def _options(key: str, of: Any) -> dict[str, str]:
    """Name and options of a formalism or an integrator."""
    return {key: of.name} | {f"{key}.{name}": text for name, text in _texts(of).items()}


def _texts(of: Any) -> dict[str, str]:
    """Values of a declaration as text; functions by their code."""
    values = {field.name: getattr(of, field.name) for field in dataclasses.fields(of)}
    return {
        name: code_digest(value) if callable(value) else repr(value)
        for name, value in values.items()
    }


def write_checkpoint(path: pathlib.Path, state: State) -> None:
    """Replace the checkpoint atomically. Raises MachineError."""
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **state)  # type: ignore[arg-type]
    with atomic_file(path) as draft:
        write_bytes(draft, content.getvalue())


def read_checkpoint(path: pathlib.Path) -> State | None:
    """The arrays of a checkpoint; None without one. Raises InputError where it is damaged."""
    if not path.exists():
        return None
    try:
        with open_regular(path) as file, np.load(file, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except InputError:
        raise
    except Exception as error:  # of damaged headers NumPy raises errors of many kinds
        raise InputError(
            f"{path}: is damaged ({' '.join(str(error).split())}); remove it: the run then starts "
            "again"
        ) from None


def _size(count: float) -> str:
    """Number of bytes as text in MB or GB."""
    return f"{count / 1e9:.3g} GB" if count >= 1e9 else f"{count / 1e6:.3g} MB"

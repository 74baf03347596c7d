"""The folder of a sweep: the truth about which cases are done.

    sweep.json                 what all cases have in common
    cases/SESSION-NUMBER-….log results, a log for each batch, written where the batch runs
    cases.log                  results of all batches of sweeps that came to their end
    solutions/DIGEST.h5        if solutions are kept
    parts/DIGEST.h5            flexible bodies that the model had in memory, and those reduced for parameters of parts
    table.csv                  all cases with parameters and outputs

A result is done when it is in a log; nobody is told before that log is on the disk. A session is
one call of `fm.sweep`: workers that outlive it write into logs that nobody else writes to. A lock
refuses a second writer.
"""

import contextlib
import json
import os
import pathlib
import secrets
from collections.abc import Iterable, Iterator
from typing import Any

from flexmbs.errors import InputError
from flexmbs.files.append_log import frame_bytes
from flexmbs.files.output import atomic_file, ensure_folder, remove_drafts, write_text
from flexmbs.files.reserved_outputs import locked_by
from flexmbs.studies.parameters.fingerprint import FingerprintDifference, differences, require_same
from flexmbs.studies.sweeps.batch import Record, packed_record, read_log

FORMAT = "flexmbs-sweep-folder/1"
RECORD, LOGS, ALL, SOLUTIONS, PARTS, TABLE, LOCK = (
    "sweep.json", "cases", "cases.log", "solutions", "parts", "table.csv", ".sweep.lock",
)  # fmt: skip
OF_CASES = ("point", "parameters")  # in the record: by their values cases are known


class SweepFolder:
    """The folder of a sweep while this process holds it."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.session, self.batches = folder, secrets.token_hex(6), 0

    @staticmethod
    @contextlib.contextmanager
    def opened(folder: pathlib.Path, *, resume: bool) -> Iterator["SweepFolder"]:
        """Context of the folder, created if necessary and locked.

        Raises InputError where it holds something else or is in use.
        """
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: is a file; give the name of a folder")
        ensure_folder(folder)
        with locked_by(folder / LOCK, folder):
            remove_drafts(folder)
            there = (folder / RECORD).exists()
            if there and not resume:
                raise InputError(
                    f"{folder}: holds a sweep; continue it with --resume (resume=True), "
                    "or choose another folder"
                )
            if not there and any(entry.name not in (LOCK, PARTS) for entry in folder.iterdir()):
                raise InputError(f"{folder}: holds other files and no sweep; choose another folder")
            yield SweepFolder(folder)

    def begin(self, mine: dict[str, Any], *, force: bool) -> None:
        """Write the record that all cases share, or compare it with the stored one.

        Raises InputError where the folder has another one, MachineError.

        ``force``: results are kept though they are of another one, which is among their findings,
        but those of other outputs of the same name.
        """
        path = self.folder / RECORD
        if path.exists() and not force:
            require_same(path, mine, FORMAT, "sweep")
        else:
            if path.exists():
                self._mark(differences(path, mine, FORMAT, "sweep"))
            write_text(path, json.dumps({"format": FORMAT, "of": mine}, indent=1) + "\n")
        for name in (LOGS, SOLUTIONS):
            ensure_folder(self.folder / name)

    def _mark(self, changes: Iterable[FingerprintDifference]) -> None:
        """Convert stored results to the parameters and outputs of this call.

        Raises InputError, OSError, MachineError.
        """
        changes = [each for each in changes if each.name not in OF_CASES]
        outputs = {
            each.name.removeprefix("outputs.")
            for each in changes
            if each.name.startswith("outputs.")
        }
        others = [f"forced: {each}" for each in changes if not each.name.startswith("outputs.")]
        if changes:
            kept = (
                record for record in self.records().values() if outputs.isdisjoint(record.outputs)
            )
            self.gather([record.marked(others) for record in kept])

    def next_batch(self) -> str:
        """Prefix of the file names of a new batch."""
        self.batches += 1
        return f"{self.session}-{self.batches:06d}"

    def results(self, batch: str) -> tuple[dict[str, Record], set[str]]:
        """Results of a batch and all cases that it has begun. Raises InputError, OSError."""
        done: dict[str, Record] = {}
        begun: set[str] = set()
        for log in logs_in(self.folder, f"{batch}-"):
            for each in read_log(log):
                if isinstance(each, Record):
                    done[each.case] = each
                else:
                    begun.add(each)
        return done, begun

    def records(self) -> dict[str, Record]:
        """All results by case. Raises InputError, OSError."""
        return records_in(self.folder)

    def gather(self, records: Iterable[Record]) -> None:
        """Merge all results into one file, which replaces those of the batches.

        Raises MachineError.
        """
        read = logs_in(self.folder)
        with atomic_file(self.folder / ALL) as draft, open(draft, "wb") as file:
            for record in records:
                file.write(frame_bytes(packed_record(record)))
        for log in read:
            log.unlink(missing_ok=True)


def logs_in(folder: pathlib.Path, begin: str = "") -> list[pathlib.Path]:
    """Paths of the batch logs whose names start with ``begin``."""
    logs = folder / LOGS
    names = os.listdir(logs) if logs.is_dir() else []
    return [
        logs / name for name in sorted(names) if name.startswith(begin) and name.endswith(".log")
    ]


def records_in(folder: pathlib.Path) -> dict[str, Record]:
    """Latest record of each case in a folder.

    One that failed never replaces another.
    """
    found: dict[str, Record] = {}
    whole = folder / ALL
    for log in [*([whole] if whole.exists() else []), *logs_in(folder)]:
        for each in read_log(log, complete=log == whole):  # replaced atomically by `gather`
            if isinstance(each, Record) and (
                not each.failure or each.case not in found or found[each.case].failure
            ):
                found[each.case] = each
    return found

"""Runs of a changed model in a worker process: their progress, and their results for the page."""

import contextlib
import json
import os
import tempfile
import threading
import time
import warnings
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

from flexmbs.api.model import Model
from flexmbs.errors import AuditWarning, FlexmbsError, InputError
from flexmbs.model.toml_read import of_document
from flexmbs.player.markup import with_formatted_notes
from flexmbs.player.plots import plots
from flexmbs.report.explorer import chosen_signals
from flexmbs.scene.scene import scene
from flexmbs.studies.parameters.parameter_paths import changed
from flexmbs.studies.run.simulate import simulate
from flexmbs.studies.sweeps.workers import made_workers
from flexmbs.system.check import NOT_JUDGED, PASS
from flexmbs.toml.document import TomlDocument

KEPT = 4  # runs whose results are kept
ENDING = 30.0  # s, within which a process that is killed has ended
MOST_TEXT = 2000  # characters of a message


class RunJob(NamedTuple):
    """A run: file of the model, other values in it, what the file may do, file for the progress."""

    document: TomlDocument
    values: dict[str, float]
    access: dict[str, bool]
    progress: Path


class StudioRuns:
    """One run at a time, in a process that stays for the next one."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="flexmbs-studio-")
        self._workers = made_workers("processes", 1, None)
        self._lock = threading.RLock()
        self._future: Future[str] | None = None
        self._stopped = False
        self._number = 0
        self.results: dict[int, str] = {}
        self.problem = ""  # of the last run

    def prepare(self) -> None:
        """Start the process, which imports while the reader looks at the page."""
        self._workers.submit(_ready)

    def start(
        self, document: TomlDocument, values: dict[str, float], access: dict[str, bool]
    ) -> int:
        """Start a run; its number. Raises `InputError` while another one is running."""
        with self._lock:
            if self._gathered():
                raise InputError("run: another run is in progress; wait for it or stop it")
            self._number += 1
            with contextlib.suppress(OSError):
                self._progress.unlink()
            job = RunJob(document, values, access, self._progress)
            self._stopped, self.problem = False, ""
            try:
                self._future = self._workers.submit(run_job, job)
            except BrokenProcessPool:
                self._workers.close(now=True)
                self._future = self._workers.submit(run_job, job)
            return self._number

    def state(self) -> dict[str, Any]:
        """Number of the last run, its progress, problem, and the runs whose results are kept."""
        with self._lock:
            running = self._gathered()
            fraction, text = self._told() if running else (1.0, "")
            return {
                "run": self._number,
                "running": running,
                "fraction": fraction,
                "text": text,
                "problem": self.problem,
                "kept": list(self.results),
            }

    def stop(self) -> None:
        """End the run in progress; its process is started anew for the next one."""
        with self._lock:
            if self._gathered():
                self._stopped = True
                self._workers.close(now=True)
                self._gathered(wait=True)
                self.prepare()

    def close(self) -> None:
        """End the worker process and remove the temporary folder."""
        self._workers.close(now=True)
        self._folder.cleanup()

    @property
    def _progress(self) -> Path:
        """File in which the worker reports."""
        return Path(self._folder.name, "progress.json")

    def _told(self) -> tuple[float, str]:
        """Fraction and text that the worker last reported."""
        try:
            fraction, text = json.loads(self._progress.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return 0.0, "starting; kernels that are new are compiled once"
        return float(fraction), str(text)

    def _gathered(self, *, wait: bool = False) -> bool:
        """True while a run is in progress; the result of one that has ended is kept."""
        future = self._future
        if future is None or not (wait or future.done()):
            return future is not None
        self._future = None
        try:
            self.results[self._number] = future.result(timeout=ENDING)
        except (BrokenProcessPool, CancelledError):
            self.problem = (
                "run: stopped"
                if self._stopped
                else "run: its process was ended from outside, perhaps for want of memory"
            )
            self._workers.close(now=True)
        except Exception as error:  # of the model, or of a function of the user
            self.problem = message(error)
        while len(self.results) > KEPT:
            del self.results[min(self.results)]
        return False


def message(error: BaseException) -> str:
    """Text of an error; one line with its class if it is from outside of flexmbs."""
    if isinstance(error, FlexmbsError):
        return str(error)[:MOST_TEXT]
    return " ".join(f"{type(error).__name__}: {error}".split())[:MOST_TEXT]


def _ready() -> None:
    """Nothing: a process that has called it has imported this module."""


def run_job(job: RunJob) -> str:
    """JSON text of the result of a run; of its first part if it stops.

    Raises `InputError`, and exceptions of user functions before the first output.
    """
    model = changed(of_document(job.document, Model, **job.access), job.values)
    begun, problem = time.perf_counter(), ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AuditWarning)  # in the result
        try:
            solution = simulate(model, progress=lambda done, text: _tell(job.progress, done, text))
        except (Exception, SystemExit) as error:  # of the solver, or of a function of the user
            part = getattr(error, "solution", None)
            if part is None or len(part.t) < 2:
                raise InputError(*message(error).splitlines()) from None
            solution, problem = part, message(error)
    findings = [
        f"{check.status}: {check}"
        for check in solution.audit
        if check.status not in (PASS, NOT_JUDGED)
    ]
    result: Mapping[str, Any] = {
        "values": job.values,
        "verdict": solution.verdict if not problem else "FAIL",
        "findings": [problem, *findings] if problem else findings,
        "seconds": time.perf_counter() - begun,
        "scene": with_formatted_notes(scene(solution)),
        "plots": plots({}, chosen_signals(solution)),
    }
    return json.dumps(result, allow_nan=False, separators=(",", ":"))


def _tell(path: Path, fraction: float, text: str) -> None:
    """Report the progress of a run."""
    with contextlib.suppress(OSError):  # the program has ended, or the disk is full
        draft = path.with_suffix(".new")
        draft.write_text(json.dumps([fraction, text]), encoding="utf-8")
        os.replace(draft, path)

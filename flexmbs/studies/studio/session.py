"""A model file under edit."""

import hashlib
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flexmbs.api.model import Model
from flexmbs.declaration import shown
from flexmbs.errors import InputError, raise_problems
from flexmbs.files.output import atomic_file
from flexmbs.model.fields import LARGEST
from flexmbs.model.toml_read import of_document
from flexmbs.player.markup import with_formatted_notes
from flexmbs.report.model_at_start import start_of
from flexmbs.scene.scene import Extras, scene
from flexmbs.studies.parameters.described_parameters import described_parameters
from flexmbs.studies.parameters.parameter_paths import (
    changed,
    number_at,
    parameters,
    run_numbers,
)
from flexmbs.studies.studio.edited_text import edited_text
from flexmbs.studies.studio.runs import StudioRuns, message
from flexmbs.toml.document import TomlDocument, document_of, document_text

MOST_CHANGES = 10_000
BOM = "\ufeff"


class StaleText(InputError):
    """The page, or the file on the disk, has another text than the session."""


class StudioSession:
    """A model file, whose numbers change in memory until they are saved."""

    def __init__(self, path: Path, access: dict[str, bool]) -> None:
        """Session of a TOML model. Raises `InputError` if it cannot be read."""
        self.path, self.access = path, access
        self._lock = threading.RLock()
        self.document, self.model = self._read(document_text(path))
        self.runs = StudioRuns()

    def close(self) -> None:
        """End the runs."""
        self.runs.close()

    @property
    def digest(self) -> str:
        """Digest of the text, by which pages know it."""
        return hashlib.sha256(self.document.text.encode()).hexdigest()[:16]

    def opened(self) -> dict[str, Any]:
        """Contents of a new page, from the file as it is now. Raises `InputError`."""
        with self._lock:
            text = document_text(self.path)
            if text != self.document.text:
                self.document, self.model = self._read(text)
            described = [
                {**each._asdict(), "range": list(each.range)}
                for each in described_parameters(self.model)
            ]
            return {
                "name": self.model.name,
                "file": self.digest,
                "parameters": described,
                "state": self.runs.state(),
                "check": self.check({}, self.digest),
            }

    def check(self, given: object, file: object) -> dict[str, Any]:
        """Findings of `Model.check` for other values, and the scene at the start.

        Raises `StaleText` for a page of another text.
        """
        with self._lock:
            self._require(file)
            found: dict[str, Any] = {"errors": [], "warnings": [], "freedoms": [], "scene": None}
            found["disk"] = self._problem_on_disk()
            try:
                model = changed(self.model, self._values(given))
                report = model.check()
                found["errors"], found["warnings"] = report.errors, report.warnings
                found["freedoms"] = report.sections.get("degrees of freedom", [])
                if not report.errors:
                    start = start_of(model)
                    extras = Extras(notes=start.notes, forces=False)
                    found["scene"] = with_formatted_notes(scene(start.solution, extras))
            except InputError as error:
                found["errors"] = list(error.problems)
            except (Exception, SystemExit) as error:  # of a function of the model
                found["errors"] = [message(error)]
            return found

    def start(self, given: object, file: object) -> dict[str, Any]:
        """Start a run with other values. Raises `InputError`."""
        with self._lock:
            self._require(file)
            values = self._values(given)
            if self.model.run is None:
                raise InputError(
                    f"run.t_end: {self.path} has no [run] table; add it with an end time, such as "
                    "t_end = 1.0"
                )
            changed(self.model, values)
            return {"run": self.runs.start(self.document, values, self.access)}

    def stop(self, *_: object) -> dict[str, Any]:
        """End the run in progress; state of the runs."""
        self.runs.stop()
        return self.runs.state()

    def save(self, given: object, file: object) -> dict[str, Any]:
        """Write other values into the file. Raises `InputError`, `MachineError`.

        Raises `StaleText` if the file on the disk has changed.
        """
        with self._lock:
            self._require(file)
            values = self._values(given)
            if problem := self._problem_on_disk():
                raise StaleText(f"{problem}; nothing was saved")
            edited = edited_text(self.document, self.model, values, self.access)
            target = self.path.resolve()  # a link stays one
            mark = BOM if target.read_bytes().startswith(BOM.encode()) else ""
            with atomic_file(target) as draft:
                draft.write_bytes(f"{mark}{edited.text}".encode())
                shutil.copymode(target, draft)
            self.document, self.model = self._read(edited.text)
            note = f"; written anew: {', '.join(edited.rewritten)}" if edited.rewritten else ""
            return {
                "file": self.digest,
                "values": {**run_numbers(self.model), **parameters(self.model)},
                "message": f"saved {self.path}: {', '.join(values)}{note}",
            }

    def _read(self, text: str) -> tuple[TomlDocument, Model]:
        """Document and model of a text of the file. Raises `InputError`."""
        document = document_of(text, self.path)
        return document, of_document(document, Model, **self.access)

    def _require(self, file: object) -> None:
        """Raise `StaleText` for a page of another text."""
        if file != self.digest:
            raise StaleText(
                f"{self.path}: has been read again or saved by another page; reload this page"
            )

    def _problem_on_disk(self) -> str:
        """Why the file on the disk is not the text of the session; empty if it is."""
        try:
            text = document_text(self.path)
            if text == self.document.text:
                return ""
            document_of(text, self.path)
        except InputError as error:
            return error.problems[0]
        return f"{self.path}: has changed on the disk; reload the page to use its values"

    def _values(self, given: object) -> dict[str, float]:
        """Values by path from a request. Raises `InputError` for others than numbers."""
        if not isinstance(given, Mapping) or len(given) > MOST_CHANGES:
            raise InputError(
                'values: give a table of numbers by path, as {"bodies.tool.mass": 1.0}'
            )
        problems: list[str] = []
        for path, value in given.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                problems.append(f"{path}: must be a number, not {shown(value)}")
            elif not abs(value) <= LARGEST:  # also NaN
                problems.append(f"{path}: must be within ±{LARGEST:g}, not {shown(value)}")
            else:
                try:
                    number_at(self.model, path)
                except InputError as error:
                    problems += error.problems
        raise_problems(problems)
        return {path: float(value) for path, value in given.items()}

"""Interface of an importer: it reads a file into a part in SI units and a report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.fe.fe_model import FEModel
from preprocess.inputs.units import SI, Units

ImportedPart = FEModel | FlexibleBodyData


class Finding(NamedTuple):
    """One line of a report.

    Its kind is "found" for content, "ok" for a passed check, "warning" for a failed one.
    """

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind:<8} {self.text}"


@dataclass(frozen=True, eq=False)
class ImportReport:
    """Findings of an importer; prints one line each."""

    source: str
    format: str
    findings: list[Finding] = field(default_factory=list)

    def found(self, text: str) -> None:
        """Add a line about the content."""
        self.findings.append(Finding("found", text))

    def check(self, holds: bool, text: str) -> None:
        """Add a check and its result."""
        self.findings.append(Finding("ok" if holds else "warning", text))

    def agree(
        self,
        text: str,
        given: FloatArray,
        expected: FloatArray,
        tolerance: float,
        scale: float = 0.0,
    ) -> bool:
        """Add and return the check that arrays agree to a tolerance.

        The tolerance is relative to their largest entry or to ``scale``.
        """
        largest = max(
            float(np.abs(expected).max(initial=0.0)),
            float(np.abs(given).max(initial=0.0)),
            scale,
            1e-300,
        )
        error = float(np.abs(given - expected).max(initial=0.0)) / largest
        self.check(error < tolerance, f"{text} ({error:.2g})")
        return error < tolerance

    @property
    def warnings(self) -> list[str]:
        """Texts of the failed checks."""
        return [finding.text for finding in self.findings if finding.kind == "warning"]

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.source} ({self.format})", *(f"  {finding}" for finding in self.findings)]
        )


@dataclass(frozen=True)
class ImportRequest:
    """Import request: the file, and the data that its format does not specify.

    units: of the file. mass, nodes: companion files, by default found by name. frames: node numbers
    that become frames, by name; None leaves the choice to the format.
    """

    path: Path
    units: Units = SI
    mass: Path | None = None
    nodes: Path | None = None
    frames: Mapping[str, int] | None = None

    def companion(self, given: Path | None, *suffixes: str) -> Path:
        """The given file, or the file of the same name with the first suffix that exists.

        Raises InputError.
        """
        if given is not None:
            return given
        candidates = [self.path.with_suffix(suffix) for suffix in suffixes]
        found = next((path for path in candidates if path.is_file()), None)
        if found is None:
            names = " or ".join(path.name for path in candidates)
            raise InputError(
                f"{self.path}: needs {names} in the same folder; copy it there or give its path"
            )
        return found


class Imported(NamedTuple):
    """The part (`FEModel` or `FlexibleBodyData`) and the report of its import."""

    part: ImportedPart
    report: ImportReport


class Importer(ABC):
    """Reader of one format; a new one is a class in its own file and one line in `FORMATS`.

    kind: its name. suffixes: of its files. signature: text near the start of the file that
    identifies it among formats of the same suffix.
    """

    kind: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    signature: ClassVar[bytes] = b""

    @abstractmethod
    def read(self, request: ImportRequest, report: ImportReport) -> ImportedPart:
        """Read a file: finite-element model or reduced body in SI units.

        Raises InputError, and MachineError if an optional package is missing.
        """

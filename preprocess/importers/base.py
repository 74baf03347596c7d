"""What an importer is: a file of another program in, a part in SI units and a report of what was found out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple

from flexmbs.errors import InputError
from flexmbs.flexible_body import FlexibleBodyData
from preprocess.fe_model import FEModel
from preprocess.importers.units import SI, Units

ImportedPart = FEModel | FlexibleBodyData


class Finding(NamedTuple):
    """One line of a report: "found" tells what is there, "ok" a check that holds, "doubtful" one that does not."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind:<8} {self.text}"


@dataclass(frozen=True, eq=False)
class ImportReport:
    """What an importer found in a file; prints one line each."""

    source: str
    format: str
    findings: list[Finding] = field(default_factory=list)

    def found(self, text: str) -> None:
        """Add what is there."""
        self.findings.append(Finding("found", text))

    def check(self, holds: bool, text: str) -> None:
        """Add a check and whether it holds."""
        self.findings.append(Finding("ok" if holds else "doubtful", text))

    @property
    def doubts(self) -> list[str]:
        """Texts of the checks that do not hold."""
        return [finding.text for finding in self.findings if finding.kind == "doubtful"]

    def __str__(self) -> str:
        return "\n".join([f"{self.source} ({self.format})", *(f"  {finding}" for finding in self.findings)])


@dataclass(frozen=True)
class Request:
    """What the user asks for: the file, and what its format leaves open.

    units: of the file.  mass, nodes: companion files, found by their names when None.  frames: node numbers of the places that
    become frames, by name; None leaves the choice to the format.
    """

    path: Path
    units: Units = SI
    mass: Path | None = None
    nodes: Path | None = None
    frames: Mapping[str, int] | None = None

    def companion(self, given: Path | None, *suffixes: str) -> Path:
        """The given file, or the file of the same name with the first suffix that exists. Raises InputError."""
        if given is not None:
            return given
        candidates = [self.path.with_suffix(suffix) for suffix in suffixes]
        found = next((path for path in candidates if path.is_file()), None)
        if found is None:
            names = " or ".join(path.name for path in candidates)
            raise InputError(f"{self.path}: needs {names} beside it; put it there or name the file")
        return found


class Imported(NamedTuple):
    """The part (`FEModel` or `FlexibleBodyData`) and the report of its import."""

    part: ImportedPart
    report: ImportReport


class Importer(ABC):
    """Reader of one format; a new one is a class in its own file and one line in `FORMATS`.

    kind: its name.  suffixes: of files that are taken for it.  signature: text near the start of a file that tells it from others
    of the same suffix.  gives: what comes out, in words.
    """

    kind: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    signature: ClassVar[bytes] = b""
    gives: ClassVar[str]

    @abstractmethod
    def read(self, request: Request, report: ImportReport) -> ImportedPart:
        """ImportedPart in SI units. Raises InputError, MachineError where an extra is missing."""

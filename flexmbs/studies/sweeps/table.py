"""`SweepResult`: the cases of a sweep as one table."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.errors import InputError
from flexmbs.exports.data_frames import optional
from flexmbs.files.output import spreadsheet_cell, write_text
from flexmbs.files.paths import file_path
from flexmbs.report.sweep_page import SweepCases, sweep_page
from flexmbs.studies.sweeps.batch import Record
from flexmbs.studies.sweeps.folder import RECORD, SOLUTIONS, records_in
from flexmbs.system.check import FAIL, STATUSES
from flexmbs.system.trajectory import provenance

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import Dataset

FAILED = "failed"
WORST = (FAILED, *reversed(STATUSES))


@dataclass(frozen=True, eq=False)
class SweepResult:
    """Parameters and outputs of all n cases of a sweep, as arrays by name.

    Parameters
    ----------
    parameters : mapping of names to arrays (n,)
        Values of the parameters.
    outputs : mapping of names to arrays (n,)
        Values of the outputs, NaN of cases that failed.
    units : mapping of names to texts
        Units of outputs that are those of channels.
    verdict : n texts
        Verdict of the audit of each case, "NOT JUDGED" without one, or "failed".
    findings : n tuples of texts
        Checks of the audit that are not PASS, and declared values that were not kept.
    failure : n texts
        Message of a case that failed, empty for the others.
    seconds : array (n,) [s]
        Time that each case took.
    case : n texts
        Digests of the cases, the names of kept solutions.
    folder : path, optional
        The folder of the sweep.

    Examples
    --------
    >>> import flexmbs as fm
    >>> falling = fm.Model("falling", gravity=(0, 0, -10.0), run=fm.Run(t_end=1.0, step=0.01))
    >>> stone = falling.add(fm.PointMass("stone", mass=2.0))
    >>> outputs = {"depth": "min body stone position z"}
    >>> found = fm.sweep(
    ...     falling,
    ...     {"gravity.z": [-10.0, -20.0]},
    ...     outputs=outputs,
    ...     executor="threads",
    ...     folder="falls",
    ... )
    >>> fm.SweepResult.load("falls").outputs["depth"].round(6).tolist()  # −g t²/2
    [-5.0, -10.0]
    """

    parameters: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]
    units: dict[str, str]
    verdict: tuple[str, ...]
    findings: tuple[tuple[str, ...], ...]
    failure: tuple[str, ...]
    seconds: np.ndarray
    case: tuple[str, ...]
    folder: Path | None = field(default=None)

    @staticmethod
    def load(folder: str | os.PathLike[str]) -> SweepResult:
        """All cases in the folder of a sweep so far, also while it runs. Raises `InputError`."""
        path = file_path(folder, "folder")
        if not (path / RECORD).exists():
            raise InputError(f"{path}: holds no sweep; give the folder of one")
        return result_of(list(records_in(path).values()), path)

    def __len__(self) -> int:
        return len(self.case)

    @property
    def good(self) -> np.ndarray:
        """(n,) whether a case has outputs and its verdict is not FAIL."""
        return np.array([verdict not in (FAILED, FAIL) for verdict in self.verdict], bool)

    def solution_file(self, k: int) -> Path:
        """The solution of case k, if solutions were kept. Raises `InputError`."""
        path = None if self.folder is None else self.folder / SOLUTIONS / f"{self.case[k]}.h5"
        if path is None or not path.exists():
            raise InputError(
                f"case {k}: its solution was not kept; sweep with keep=True and a folder"
            )
        return path

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dictionary of parameters, outputs and verdict for each case."""
        for k in range(len(self)):
            yield {
                **{name: values[k] for name, values in self.parameters.items()},
                **{name: values[k] for name, values in self.outputs.items()},
                "verdict": self.verdict[k],
                "seconds": self.seconds[k],
                "failure": self.failure[k],
                "case": self.case[k],
            }

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """The table as CSV, units in the headings. Raises `MachineError`."""
        text = io.StringIO()
        writer = csv.writer(text)
        heads = [
            *self.parameters,
            *(self._heading(name) for name in self.outputs),
            "verdict",
            "seconds",
            "failure",
            "case",
        ]
        writer.writerow([spreadsheet_cell(head) for head in heads])
        for row in self.rows():
            writer.writerow([_cell(value) for value in row.values()])
        write_text(path, text.getvalue())

    def to_dataframe(self) -> DataFrame:
        """Data frame with a row for each case.

        ``attrs["units"]`` maps outputs to units; ``.to_parquet(path)`` saves it. Raises
        `MachineError` without pandas.
        """
        pandas = optional("pandas", "to_dataframe")
        columns: dict[str, Any] = {**self.parameters, **self.outputs}
        columns |= {
            "verdict": self.verdict,
            "seconds": self.seconds,
            "failure": self.failure,
            "case": self.case,
        }
        frame: DataFrame = pandas.DataFrame(columns)
        frame.attrs["units"] = dict(self.units)
        return frame

    def to_xarray(self) -> Dataset:
        """Outputs over the dimension ``case``, the parameters as its coordinates.

        Raises `MachineError` without xarray.
        """
        xarray = optional("xarray", "to_xarray")
        coordinates = {name: ("case", values) for name, values in self.parameters.items()}
        outputs: dict[str, Any] = {
            name: ("case", values, {"units": self.units[name]} if self.units.get(name) else {})
            for name, values in self.outputs.items()
        }
        outputs |= {
            "verdict": ("case", list(self.verdict)),
            "seconds": ("case", self.seconds, {"units": "s"}),
        }
        outputs |= {"failure": ("case", list(self.failure))}
        result: Dataset = xarray.Dataset(
            outputs, {**coordinates, "digest": ("case", list(self.case))}
        )
        return result

    def report(self, path: str | os.PathLike[str], *, name: str = "") -> None:
        """Write a page with parallel coordinates, scatter plots, response surfaces and the table.

        With messages, at ``path``.

        name: its heading, by default that of the folder. Raises `InputError`, `MachineError`.
        """
        text = [
            failure or next(iter(found), "") for failure, found in zip(self.failure, self.findings)
        ]
        heading = name or (self.folder.resolve().name if self.folder else "Sweep")
        cases = SweepCases(
            heading,
            self.parameters,
            self.outputs,
            self.units,
            self.verdict,
            text,
            self.seconds,
            self.counts(),
        )
        origin = provenance()
        write_text(path, sweep_page(cases, version=origin["flexmbs"], date=origin["date"]))

    def counts(self) -> dict[str, int]:
        """Number of cases by verdict, the worst first."""
        return {
            verdict: self.verdict.count(verdict) for verdict in WORST if verdict in self.verdict
        }

    def _heading(self, name: str) -> str:
        """Heading "name [unit]" of a column."""
        return f"{name} [{self.units[name].replace('²', '2')}]" if self.units.get(name) else name

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {verdict}" for verdict, n in self.counts().items())
        return (
            f"<SweepResult: {len(self)} cases ({counts}), {', '.join(self.parameters)} → "
            f"{', '.join(self.outputs)}>"
        )


def result_of(records: Sequence[Record], folder: Path | None) -> SweepResult:
    """Table of results from the records of the cases."""
    names = list(dict.fromkeys(name for record in records for name in record.inputs))
    outputs = list(dict.fromkeys(name for record in records for name in record.outputs))
    units = {name: unit for record in records for name, (_, unit) in record.outputs.items()}
    return SweepResult(
        parameters={
            name: _column([record.inputs.get(name) for record in records]) for name in names
        },
        outputs={
            name: np.array([record.outputs.get(name, (math.nan,))[0] for record in records])
            for name in outputs
        },
        units=units,
        verdict=tuple(record.verdict or FAILED for record in records),
        findings=tuple(record.findings for record in records),
        failure=tuple(record.failure for record in records),
        seconds=np.array([record.seconds for record in records]),
        case=tuple(record.case for record in records),
        folder=folder,
    )


def _column(values: Iterable[Any]) -> np.ndarray:
    """Array of values: floats for numbers, objects otherwise."""
    listed = list(values)
    numbers = all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in listed
    )
    return np.array(listed, float if numbers else object)


def _cell(value: Any) -> str:
    """Value as a cell of a CSV file; empty for numbers that are not finite."""
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else ""
    return spreadsheet_cell(" ".join(str(value).split()))

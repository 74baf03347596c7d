"""Tables of a solution as CSV: one row per output time, one column per quantity, full digits."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from flexmbs.files.output import cell, slug, write_text
from flexmbs.results.channels import channels
from flexmbs.results.solution import SolutionData
from flexmbs.results.stress_summary import stress_reports, table_columns
from flexmbs.results.views import FloatArray

Column = tuple[str, FloatArray]


def write_tables(solution: SolutionData, folder: Path) -> list[Path]:
    """bodies.csv, frames.csv, joints.csv, drives.csv, couplings.csv, contacts.csv, energy.csv, and the hot spots of bodies with
    stress modes, in a folder; empty tables are not written. Raises MachineError."""
    written = []
    for name, table in channels(solution).items():
        columns = [(channel.heading, channel.values) for channel in table]
        written.append(folder / f"{name}.csv")
        write_text(written[-1], table_text([("t [s]", solution.t), *columns]))
    for each in stress_reports(solution):
        written.append(folder / f"hot-spots-{slug(each.body)}.csv")
        write_text(written[-1], table_text(list(table_columns(each.spots).items())))
    return written


def table_text(columns: Sequence[Column]) -> str:
    """The text of a CSV file (RFC 4180), headings safe for spreadsheets, numbers with full precision."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_MINIMAL, lineterminator="\r\n")
    writer.writerow([cell(heading) for heading, _ in columns])
    writer.writerows(np.column_stack([values for _, values in columns]).tolist())
    return text.getvalue()

"""Tables of a solution as CSV: one row per output time, one column per quantity, full digits."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from flexmbs.files.output import cell, slug, write_text
from flexmbs.results.solution import SolutionData
from flexmbs.results.stress_summary import stress_reports, table_columns
from flexmbs.results.views import FloatArray

Column = tuple[str, FloatArray]


def write_tables(solution: SolutionData, folder: Path) -> list[Path]:
    """frames.csv, joints.csv, bodies.csv, drives.csv, couplings.csv, energy.csv, and the hot spots of each body with stress
    modes, in a folder; empty tables are not written. Raises MachineError."""
    tables = {
        "bodies.csv": _bodies(solution), "frames.csv": _frames(solution), "joints.csv": _joints(solution),
        "drives.csv": _drives(solution), "couplings.csv": _couplings(solution), "energy.csv": _energy(solution),
    }  # fmt: skip
    written = []
    for name, columns in tables.items():
        made = list(columns)
        if made:
            write_text(folder / name, table_text([("t [s]", solution.t), *made]))
            written.append(folder / name)
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


def _parts(heading: str, values: FloatArray, names: Sequence[str]) -> Iterator[Column]:
    for k, name in enumerate(names):
        yield f"{heading} {name}", values[:, k]


def _frames(solution: SolutionData) -> Iterator[Column]:
    for name in solution.frames:
        view = solution.frame(name)
        yield from _parts(f"{name} position", view.position, ("x [m]", "y [m]", "z [m]"))
        yield from _parts(f"{name} velocity", view.velocity, ("x [m/s]", "y [m/s]", "z [m/s]"))
        yield from _parts(f"{name} acceleration", view.acceleration, ("x [m/s2]", "y [m/s2]", "z [m/s2]"))


def _bodies(solution: SolutionData) -> Iterator[Column]:
    for name in solution.bodies:
        view = solution.body(name)
        yield from _parts(f"{name} position", view.position, ("x [m]", "y [m]", "z [m]"))
        axes = [f"A{a}{b}" for a in "xyz" for b in "xyz"]
        yield from _parts(f"{name} rotation", view.rotation.reshape(-1, 9), axes)
        yield from _parts(f"{name} angular velocity", view.angular_velocity, ("x [rad/s]", "y [rad/s]", "z [rad/s]"))
        yield from ((f"{name}.mode{k + 1}", view.elastic[:, k]) for k in range(view.elastic.shape[1]))


def _joints(solution: SolutionData) -> Iterator[Column]:
    for name in solution.joints:
        view = solution.joint(name)
        for what in ("position", "velocity", "acceleration", "effort"):
            values = getattr(view, what)
            yield from ((f"{name}.{k} {what}", values[:, k]) for k in range(values.shape[1]))
        yield from _parts(f"{name} force", view.force, ("x [N]", "y [N]", "z [N]"))
        yield from _parts(f"{name} moment", view.torque, ("x [N m]", "y [N m]", "z [N m]"))


def _drives(solution: SolutionData) -> Iterator[Column]:
    for name in solution.drives:
        view = solution.drive(name)
        yield from ((f"{name} {what}", getattr(view, what)) for what in ("coordinate", "rate", "torque", "power"))


def _couplings(solution: SolutionData) -> Iterator[Column]:
    for name in solution.couplings:
        view = solution.coupling(name)
        yield from ((f"{name} {what}", getattr(view, what)) for what in ("value", "multiplier", "power"))
        yield from ((f"{name} effort on {coordinate}", values) for coordinate, values in view.effort.items())


def _energy(solution: SolutionData) -> Iterator[Column]:
    energy = solution.energy
    names = ("kinetic", "strain", "potential", "total", "work_of_forces", "work_of_drives", "dissipated", "balance")
    yield from ((f"{name.replace('_', ' ')} [J]", getattr(energy, name)) for name in names)

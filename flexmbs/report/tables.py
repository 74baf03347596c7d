"""Tables of a solution as CSV: one row per output time, one column per quantity, full digits."""

from pathlib import Path

from flexmbs.files.output import slug, write_text
from flexmbs.results.channels import channels
from flexmbs.results.solution import SolutionData
from flexmbs.results.stress_summary import stress_reports, table_columns
from flexmbs.results.tables import table_text


def write_tables(solution: SolutionData, folder: Path) -> list[Path]:
    """Write CSV tables of bodies, frames, joints and other items into a folder.

    Files bodies.csv, frames.csv, joints.csv, drives.csv, couplings.csv, contacts.csv, energy.csv
    and the hot spots of bodies with stress modes; empty tables are not written. Raises
    MachineError.
    """
    written = []
    for name, table in channels(solution).items():
        columns = [(channel.heading, channel.values) for channel in table]
        written.append(folder / f"{name}.csv")
        write_text(written[-1], table_text([("t [s]", solution.t), *columns]))
    for each in stress_reports(solution):
        written.append(folder / f"hot-spots-{slug(each.body)}.csv")
        write_text(written[-1], table_text(list(table_columns(each.spots).items())))
    return written

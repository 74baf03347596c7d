"""Stress histories as tables for fatigue programs."""

import os

from flexmbs.files.output import write_text
from flexmbs.results.stress_values import NodalStress
from flexmbs.results.tables import table_text

COMPONENTS = ("xx", "yy", "zz", "xy", "yz", "zx")


def write_histories(history: NodalStress, path: str | os.PathLike[str]) -> None:
    """Write time [s], six components and von Mises stress of each node [Pa] as CSV. Raises `InputError`, `MachineError`."""
    columns = [("t [s]", history.t)]
    for k, node in enumerate(history.node_ids):
        columns += [(f"node {node} {name} [Pa]", history.stress[:, k, c]) for c, name in enumerate(COMPONENTS)]
        columns.append((f"node {node} von Mises [Pa]", history.von_mises[:, k]))
    write_text(path, table_text(columns))

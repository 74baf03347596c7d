"""Stress histories for fatigue programs."""

import os

import numpy as np

from flexmbs.files.output import write_text
from flexmbs.files.universal import (
    TIME,
    TIME_RESPONSE,
    NodalDirection,
    NodalFunction,
    write_functions,
)
from flexmbs.results.stress_values import NodalStress
from flexmbs.results.tables import table_text

COMPONENTS = ("xx", "yy", "zz", "xy", "yz", "zx")


def write_histories(history: NodalStress, path: str | os.PathLike[str]) -> None:
    """Write time [s], six components and von Mises stress [Pa] of each node as CSV.

    Raises `InputError`, `MachineError`.
    """
    columns = [("t [s]", history.t)]
    for k, node in enumerate(history.node_ids):
        columns += [
            (f"node {node} {name} [Pa]", history.stress[:, k, c])
            for c, name in enumerate(COMPONENTS)
        ]
        columns.append((f"node {node} von Mises [Pa]", history.von_mises[:, k]))
    write_text(path, table_text(columns))


def write_universal(history: NodalStress, path: str | os.PathLike[str], model: str) -> None:
    """Write six components and von Mises stress [Pa] of each node as functions of a universal file.

    Raises `InputError`, `MachineError`.
    """
    functions = []
    for k, node in enumerate(history.node_ids.tolist()):
        columns = zip(
            (*COMPONENTS, "von Mises"), (*history.stress[:, k].T, history.von_mises[:, k])
        )
        functions += [
            NodalFunction(
                f"stress {name} node {node}",
                TIME_RESPONSE,
                TIME,
                history.t,
                np.array(values),
                NodalDirection("Pa", node),
            )
            for name, values in columns
        ]
    write_functions(path, model, functions)

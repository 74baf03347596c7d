"""Inputs and outputs of a linearised model, named by tuples.

Inputs: ("effort", joint[, coordinate]), ("force", frame, axis), ("torque", frame, axis), ("drive",
drive). Outputs: ("coordinate", joint[, coordinate]), ("rate", joint[, coordinate]), ("position",
frame, axis).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexmbs.declaration import require_known, shown
from flexmbs.errors import InputError
from flexmbs.flexible_body.free_body import skew
from flexmbs.initial.analysis_arguments import coordinate_index
from flexmbs.model.model import ModelData
from flexmbs.results.state import State
from flexmbs.studies.states.jacobians import AXES, frame_jacobian, joint_row
from flexmbs.studies.states.tangent import Tangents

Port = tuple[str | int, ...]


class LinearInputs(NamedTuple):
    """Generalized forces per effort (ns, n) with their names, and constraint rows of driven inputs.

    With the names of driven inputs; units of both.
    """

    names: list[str]
    forces: np.ndarray
    drives: list[str]
    rows: list[int]
    units: list[str]
    drive_units: list[str]

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names of all inputs: efforts, then coordinates, rates and accelerations of the drives."""
        return (
            *self.names,
            *(
                f"drive {name}{suffix}"
                for suffix in ("", " rate", " acceleration")
                for name in self.drives
            ),
        )

    @property
    def all_units(self) -> tuple[str, ...]:
        """Units of `all_names`."""
        return (
            *self.units,
            *(f"{unit}{suffix}" for suffix in ("", "/s", "/s²") for unit in self.drive_units),
        )


class LinearOutputs(NamedTuple):
    """Outputs = position (n, ns) δ + rate (n, ns) δs, with their units."""

    names: list[str]
    position: np.ndarray
    rate: np.ndarray
    units: list[str]


def read_inputs(state: State, ports: Sequence[Port]) -> LinearInputs:
    """Requested inputs of a linearization. Raises `InputError`."""
    found = LinearInputs([], np.zeros((len(state.s), 0)), [], [], [], [])
    columns = []
    for port in _listed(ports, "inputs"):
        kind = _kind(port, "input", ("effort", "force", "torque", "drive"))
        if kind == "drive":
            if len(port) > 2:
                raise InputError(f"inputs: {port!r}: a drive takes its name only")
            drives = list(state.compiled.model.drives)
            name = str(port[1])
            require_known(name, drives, f"inputs: drive '{name}' is not in the model")
            found.drives.append(name)
            found.rows.append(int(state.compiled.system.drives.row[drives.index(name)]))
            found.drive_units.append(
                coordinate_unit(
                    state.compiled.model, *state.compiled.model.drives[name].coordinate_used()
                )
            )
            continue
        found.names.append(_label(port))
        turns = kind == "torque" or (kind == "effort" and _unit(state, port) == "rad")
        found.units.append("N m" if turns else "N")
        columns.append(
            _joint(state, port) if kind == "effort" else _frame(state, port, 3 * (kind == "torque"))
        )
    return found._replace(forces=np.array(columns).reshape(len(columns), len(state.s)).T)


def read_outputs(state: State, ports: Sequence[Port], slopes: Tangents) -> LinearOutputs:
    """Requested outputs of a linearization with their rows. Raises `InputError`."""
    nothing = np.zeros(len(state.s))
    names, position, rate, units = [], [], [], []
    for port in _listed(ports, "outputs"):
        kind = _kind(port, "output", ("coordinate", "rate", "position"))
        names.append(_label(port))
        if kind == "position":
            position.append(_frame(state, port, 0))
            rate.append(nothing)
        elif kind == "coordinate":
            position.append(_joint(state, port))
            rate.append(nothing)
        else:
            position.append(_cut_slope(state, port, slopes))
            rate.append(_joint(state, port))
        units.append("m" if kind == "position" else _unit(state, port) + "/s" * (kind == "rate"))
    shape = (len(names), len(state.s))
    return LinearOutputs(
        names, np.array(position).reshape(shape), np.array(rate).reshape(shape), units
    )


def _unit(state: State, port: Port) -> str:
    """Unit of the joint coordinate of a port."""
    return coordinate_unit(state.compiled.model, str(port[1]), _coordinate(port))


def coordinate_unit(model: ModelData, joint: str, coordinate: int) -> str:
    """``rad`` or ``m``: unit of a coordinate of a joint.

    For a free motion the first three are lengths. Raises `InputError`.
    """
    require_known(joint, model.joints, f"joint '{joint}' is not in the model")
    units: list[str] = []
    for motion in model.joints[joint].motions:
        one = "rad" if motion.turns else "m"
        units += (
            ["m", "m", "m", "rad", "rad", "rad"]
            if motion.freedoms == 6
            else motion.freedoms * [one]
        )
    if not 0 <= coordinate < len(units):
        raise InputError(f"joint '{joint}': no coordinate {coordinate}, it has {len(units)}")
    return units[coordinate]


def displacement_rates(state: State, values: np.ndarray) -> np.ndarray:
    """Matrix A (ns, ns) of δs = δ̇ + A δ for given velocities.

    ω × for rotations, ad(V) for free motions.
    """
    A = np.zeros((len(values), len(values)))
    for i, primary in enumerate(state.compiled.topology.tree):
        at = int(state.compiled.system.tree.s_at[i])
        for motion in primary.motions:
            if motion.nv == 3:
                A[at : at + 3, at : at + 3] = skew(values[at : at + 3])
            elif motion.nv == 6:
                v, w = skew(values[at : at + 3]), skew(values[at + 3 : at + 6])
                A[at : at + 6, at : at + 6] = np.block([[w, v], [np.zeros((3, 3)), w]])
            at += motion.nv
    return A


def _listed(ports: Sequence[Port], key: str) -> Sequence[Port]:
    """Ports as a list. Raises `InputError` unless it is a list of tuples."""
    if (
        isinstance(ports, str)
        or not isinstance(ports, Sequence)
        or (ports and isinstance(ports[0], str))
    ):
        raise InputError(f"{key}: must be a list of tuples, not {shown(ports)}")
    return ports


def _kind(port: Port, what: str, kinds: tuple[str, ...]) -> str:
    """Kind of a port, its first item. Raises `InputError`."""
    if not isinstance(port, tuple) or len(port) < 2 or port[0] not in kinds:
        raise InputError(
            f"{what}s: unknown {what} {port!r}; give a tuple that starts with one of: "
            f"{', '.join(kinds)}"
        )
    return str(port[0])


def _label(port: Port) -> str:
    """Label of a port: its items separated by spaces."""
    return " ".join(str(part) for part in port)


def _joint(state: State, port: Port) -> np.ndarray:
    """Row of the velocity of the joint coordinate of a port. Raises `InputError`."""
    if len(port) > 3:
        raise InputError(f"{port!r}: give a joint and the index of one of its coordinates")
    return joint_row(state, str(port[1]), _coordinate(port))


def _coordinate(port: Port) -> int:
    """Number of the joint coordinate of a port."""
    return coordinate_index(port[2], f"{port!r}") if len(port) > 2 else 0


def _frame(state: State, port: Port, row: int) -> np.ndarray:
    """Row of the Jacobian of a frame along one world axis. Raises `InputError`."""
    if len(port) != 3 or port[2] not in AXES:
        raise InputError(f"{port!r}: give a frame and one of the world axes 'x', 'y', 'z'")
    return np.asarray(frame_jacobian(state, str(port[1]))[1][row + AXES.index(str(port[2]))])


def _cut_slope(state: State, port: Port, slopes: Tangents) -> np.ndarray:
    """Derivative ∂η/∂δ of a joint rate by displacements: zero in the tree."""
    place = state.compiled.places.get(str(port[1]))
    if place is None or place.cut < 0:
        return np.zeros(len(state.s))
    return np.asarray(slopes.q.eta[:, place.cut, _coordinate(port)])

"""Inputs and outputs of a `Stepper` by name.

Forces that are held in force states, and state functions.
"""

import copy
import math
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from flexmbs.api.model import Model
from flexmbs.declaration import require_known, shown
from flexmbs.errors import InputError
from flexmbs.initial.analysis_arguments import coordinate_index
from flexmbs.integrators.integrator import is_number
from flexmbs.model.forces import JointTorque
from flexmbs.model.frames import FrameRef, ItemHandle
from flexmbs.model.inputs import HeldEffort, HeldWrench
from flexmbs.studies.run.present_quantities import AXES, QUANTITIES, Port
from flexmbs.studies.states.linear_ports import coordinate_unit
from flexmbs.time_stepping.event import Event
from flexmbs.time_stepping.outcome import HUGE

Ports = Mapping[str, Port] | Sequence[Port]
Alone = AbstractContextManager[Any]  # within which one thread has the arrays of a run
OF_INPUTS = {"effort": "joint", "force": "frame", "torque": "frame"}
OF_OUTPUTS = {"coordinate": "joint", "rate": "joint", "position": "frame"}
# units of components in world axes
OF_AXES = {"force": "N", "torque": "N m", "position": "m"} | {
    kind: unit for kind, (_, unit) in QUANTITIES.items()
}
OF_STEPPER = OF_OUTPUTS | {kind: item for kind, (item, _) in QUANTITIES.items()}


class Held(NamedTuple):
    """An input: the force that applies it, and which of the force's states it is."""

    item: str
    component: int


class StepperInputs(MutableMapping[str, float]):
    """Inputs by name: ``inputs["motor"] = 3.0`` acts from the present time on.

    units: of each, N or N m.
    """

    def __init__(self, units: Mapping[str, str], places: Mapping[str, int], given: np.ndarray):
        self.units, self._places = dict(units), dict(places)
        self._order = {name: k for k, name in enumerate(places)}
        self._given: Any = given.data  # a number is set in a third of the time of an array

    def __getitem__(self, name: str) -> float:
        return float(self._given[self._number(name)])

    def __setitem__(self, name: str, value: float) -> None:
        k = self._order.get(name)
        if k is None or type(value) is not float or not math.isfinite(value):
            self.place(name, value)  # validates them
            k = self._order[name]
        self._given[k] = value

    def __delitem__(self, name: str) -> None:
        raise InputError(f"inputs.{name}: cannot be removed; set it to 0")

    def __contains__(self, name: object) -> bool:
        return name in self._order

    def __iter__(self) -> Iterator[str]:
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)

    def place(self, name: str, value: float) -> int:
        """Index of an input among the force states; validates its value.

        Raises `InputError` for one that is not a finite number.
        """
        self._number(name)
        if not (is_number(value) and math.isfinite(value)):
            raise InputError(
                f"inputs.{name}: {shown(value)} is not a finite number; give {self.units[name]}"
            )
        return self._places[name]

    def validate(self) -> None:
        """Raise `InputError` for an input that is not finite, as controls may be."""
        for name in self._order:
            self.place(name, self[name])

    def overwhelming(self) -> str:
        """Text on the largest input if it is implausibly large; else ""."""
        largest = max(self._order, key=lambda name: abs(self[name]), default="")
        if not largest or abs(self[largest]) < HUGE:
            return ""
        return (
            f"inputs.{largest}: {self[largest]:g} {self.units[largest]} is more than the "
            "bodies can follow; give less"
        )

    def _number(self, name: str) -> int:
        """Number of an input. Raises `InputError`."""
        require_known(name, self._order, f"inputs: no '{name}'")
        return self._order[name]


class StepperOutputs(Mapping[str, float]):
    """Outputs by name at the present state; all are evaluated when the first of them is read.

    units: SI units of each. old: the state has changed since they were evaluated. read: since the
    last step, then they are evaluated together with the next one.
    """

    def __init__(
        self,
        units: Mapping[str, str],
        values: np.ndarray,
        evaluate: Callable[[], None],
        alone: Alone,
    ) -> None:
        self.units, self._order = dict(units), {name: k for k, name in enumerate(units)}
        self._values, self._view, self._evaluate = values, values.data, evaluate
        self._alone, self.old, self.read = alone, True, False

    def __getitem__(self, name: str) -> float:
        if name not in self._order:
            require_known(name, self._order, f"outputs: no '{name}'")
        with self._alone:
            self._update()
            return float(self._view[self._order[name]])

    def __contains__(self, name: object) -> bool:
        return name in self._order

    def __iter__(self) -> Iterator[str]:
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)

    def vector(self) -> np.ndarray:
        """Values of all outputs in their order, a copy."""
        with self._alone:
            self._update()
            return self._values.copy()

    def _update(self) -> None:
        """Evaluate the outputs if the state has changed."""
        if self.old:
            self._evaluate()
            self.old = False
        self.read = True


def named(ports: Ports, key: str, kinds: Mapping[str, str]) -> dict[str, Port]:
    """Ports by name; a list is named by its items. Raises `InputError`."""
    if isinstance(ports, Mapping):
        pairs = list(ports.items())
    elif (
        isinstance(ports, str)
        or not isinstance(ports, Sequence)
        or (ports and isinstance(ports[0], str))
    ):
        raise InputError(
            f"{key}: must be a mapping of names to tuples, or a list of tuples, not {shown(ports)}"
        )
    else:
        pairs = [
            (" ".join(map(str, port)) if isinstance(port, tuple) else shown(port), port)
            for port in ports
        ]
    pairs = [(name, _port_of_names(port)) for name, port in pairs]
    for name, port in pairs:
        _check(f"{key}.{name}", name, port, kinds)
    if len(dict(pairs)) < len(pairs):
        raise InputError(f"{key}: a port is given twice; name each by a mapping")
    return dict(pairs)


def _port_of_names(port: Any) -> Any:
    """Port with names in place of the handles that ``Model.add`` returned."""
    if not isinstance(port, tuple):
        return port
    return tuple(str(each) if isinstance(each, FrameRef | ItemHandle) else each for each in port)


def _check(item: str, name: object, port: object, kinds: Mapping[str, str]) -> None:
    """Raise `InputError` for an invalid name or port of the stepper."""
    if not isinstance(name, str) or not name:
        raise InputError(f"{item}: its name must be a text, not {shown(name)}")
    if "effort" in kinds and isinstance(port, tuple) and port[:1] == ("drive",):
        raise InputError(
            f"{item}: {shown(port)}: a drive prescribes rate and acceleration too, which "
            "a held value does not have; "
            "give the drive a law of time, or the joint an ('effort', joint) from a controller"
        )
    if (
        not isinstance(port, tuple)
        or len(port) < 2
        or port[0] not in kinds
        or not isinstance(port[1], str)
    ):
        raise InputError(
            f"{item}: {shown(port)} is not a port; give a tuple that starts with one of: "
            f"{', '.join(kinds)}, and a name"
        )
    if port[0] in OF_AXES and (len(port) != 3 or port[2] not in AXES):
        raise InputError(
            f"{item}: {shown(port)}: give a {kinds[port[0]]} and one of the world axes 'x', 'y', "
            "'z'"
        )
    if port[0] not in OF_AXES and len(port) > 3:
        raise InputError(
            f"{item}: {shown(port)}: give a joint and the index of one of its coordinates"
        )


def _coordinate(item: str, port: Port) -> int:
    """Number of the joint coordinate of a port."""
    return coordinate_index(port[2], item) if len(port) > 2 else 0


def units_of(model: Model, ports: Mapping[str, Port]) -> dict[str, str]:
    """Units of measurement of ports by name. Raises `InputError`."""
    return {name: _unit(model, name, port) for name, port in ports.items()}


def _unit(model: Model, item: str, port: Port) -> str:
    """SI unit of the quantity of a port."""
    if port[0] in OF_AXES:
        return OF_AXES[str(port[0])]
    unit = coordinate_unit(model, str(port[1]), _coordinate(item, port))
    return {"effort": {"m": "N", "rad": "N m"}[unit], "coordinate": unit, "rate": f"{unit}/s"}[
        str(port[0])
    ]


def with_inputs(model: Model, ports: Mapping[str, Port]) -> tuple[Model, dict[str, Held]]:
    """Copy of the model with a force for each input, and the places of the inputs.

    Raises `InputError`.
    """
    if not ports:
        return model, {}
    driven, held = copy.copy(model), {}
    driven.forces = dict(model.forces)
    for k, (name, port) in enumerate(ports.items()):
        force = f"input {k}"  # names of ports may have characters that those of items have not
        if port[0] == "effort":
            driven.add(
                JointTorque(
                    force, port[1], HeldEffort(), coordinate=_coordinate(f"inputs.{name}", port)
                )
            )
        else:
            driven.add(HeldWrench(force, port[1]))
        component = (
            0 if port[0] == "effort" else AXES.index(str(port[2])) + 3 * (port[0] == "torque")
        )
        held[name] = Held(f"forces.{force}", component)
    return driven, held


def places(held: Mapping[str, Held], force_states: Sequence[str]) -> dict[str, int]:
    """Places of the inputs among the force states, which are named by their items."""
    return {
        name: list(force_states).index(each.item) + each.component for name, each in held.items()
    }


def state_functions(ports: Mapping[str, Port]) -> list[Event]:
    """Event functions that evaluate the outputs of q and s. Raises `InputError`."""
    return [_state_function(name, port) for name, port in ports.items() if port[0] in OF_OUTPUTS]


def _state_function(name: str, port: Port) -> Event:
    """Event function that evaluates the quantity of a port."""
    if port[0] == "position":
        return Event(name, frame=port[1], axis=str(port[2]))
    return Event(
        name,
        joint=port[1],
        coordinate=_coordinate(f"outputs.{name}", port),
        velocity=port[0] == "rate",
    )

"""The inside of a unit that `export_fmu` has written: a `Stepper` behind the functions of FMI."""

import io
import json
import math
from collections.abc import Callable
from functools import cached_property, partial
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from flexmbs.api.model import load
from flexmbs.errors import InputError
from flexmbs.exports.derivatives_library import MARK
from flexmbs.results.state import State
from flexmbs.studies.cosimulation.state_slopes import (
    Coordinates,
    named_coordinates,
    present_state,
    slopes,
)
from flexmbs.studies.run.stepper import Stepper
from flexmbs.studies.states.linear_ports import Port

MODEL, OPTIONS = "model.toml", "unit.json"
AT = 1e-9  # of the time, by which an importing program may round it
# of FMI 2
LISTS = {
    "Output": "Outputs",
    "ContinuousStateDerivative": "Derivatives",
    "InitialUnknown": "InitialUnknowns",
}
SI = {  # powers of base units
    "N": {"kg": 1, "m": 1, "s": -2},
    "N m": {"kg": 1, "m": 2, "s": -2},
    "m": {"m": 1},
    "rad": {"rad": 1},
    "m/s": {"m": 1, "s": -1},
    "rad/s": {"rad": 1, "s": -1},
}


class LinearTerms:
    """States, their rates and derivatives at one state of the run, computed on demand."""

    def __init__(self, here: State, chosen: Coordinates, outputs: list[Port]) -> None:
        self._here, self._chosen, self._outputs = here, chosen, outputs

    @cached_property
    def x(self) -> np.ndarray:
        """(n,) the states."""
        return self._chosen.values(self._here)

    @cached_property
    def rates(self) -> np.ndarray:
        """(n,) their derivatives."""
        return self._chosen.rates(self._here)

    @cached_property
    def slopes(self) -> np.ndarray:
        """Slopes as of `state_slopes.slopes`."""
        return slopes(self._here, self._chosen, self._outputs)


class SlaveUnit:
    """Variables, steps and states of a unit.

    The class of PythonFMU next to it connects them with C.
    """

    def __init__(self, **kwargs: Any) -> None:
        """Unit for co-simulation from the model and options in its resources."""
        super().__init__(**kwargs)
        self._folder = Path(str(kwargs["resources"]))
        facts = json.loads((self._folder / OPTIONS).read_text(encoding="utf-8"))
        self._version, self._options, self._last = (
            facts["version"],
            facts["stepper"],
            facts["experiment"]["t_end"],
        )
        for key in ("inputs", "outputs"):
            self._options[key] = {name: tuple(port) for name, port in self._options[key].items()}
        self._units: dict[str, str] = facts["units"]
        self._given = dict.fromkeys(self._options["inputs"], 0.0)
        self._begun, self._wrong, self._refused, self._entered = 0.0, "", "", False
        self._states: dict[str, Any] | None = facts["states"]
        self._names: list[str] = self._states["variables"] if self._states else []
        self._accepted = 0  # changes of the state so far
        self._present: tuple[Any, LinearTerms] | None = None
        self.description = facts["description"]
        self._register(facts["experiment"])

    def _register(self, experiment: dict[str, Any]) -> None:
        """Register the variables of the unit: inputs, outputs and parameters."""
        package = "pythonfmu" if self._version == 2 else "pythonfmu3"
        tools, enums = import_module(package), import_module(f"{package}.enums")
        real = tools.Real if self._version == 2 else tools.Float64
        causality, variability = (
            getattr(enums, f"Fmi{self._version}{each}") for each in ("Causality", "Variability")
        )
        initial = getattr(enums, f"Fmi{self._version}Initial")
        self._failed = getattr(enums, f"Fmi{self._version}Status").error
        known = {
            "start_time": 0.0,
            "stop_time": experiment["t_end"],
            "step_size": experiment["communication_step"],
        }
        self.default_experiment = tools.DefaultExperiment(**known)
        continuous = {"variability": variability.continuous}
        if self._version == 3:
            more = continuous | {"getter": lambda: self._begun}
            self.register_variable(  # type: ignore[attr-defined]
                real("time", causality=causality.independent, **more), nested=False
            )
        for name in self._options["inputs"]:
            ends: dict[str, Any] = {"getter": partial(self._given.__getitem__, name)}
            self.register_variable(  # type: ignore[attr-defined]
                real(name, causality=causality.input, **continuous, **ends), nested=False
            )
        for name in self._options["outputs"]:
            ends = {
                "getter": lambda name=name: self.stepper.outputs[name],
                "initial": initial.calculated,
            }
            self.register_variable(  # type: ignore[attr-defined]
                real(name, causality=causality.output, **continuous, **ends), nested=False
            )
        inner = continuous | {"causality": causality.local, "initial": initial.calculated}
        for pattern, values in (("{}", "x"), ("der({})", "rates")):
            for k, name in enumerate(self._names):
                ends = {"getter": lambda k=k, values=values: getattr(self._linear(), values)[k]}
                self.register_variable(real(pattern.format(name), **inner, **ends), nested=False)  # type: ignore[attr-defined]

    def _places(self) -> dict[str, list[int]]:
        """Value references of time, inputs, outputs, states and their derivatives."""
        sizes = [
            self._version - 2,
            len(self._given),
            len(self._options["outputs"]),
            len(self._names),
            len(self._names),
        ]
        ends = list(accumulate(sizes, initial=0))
        return {
            key: list(range(a, b))
            for key, a, b in zip(("time", "inputs", "outputs", "states", "rates"), ends, ends[1:])
        }

    def to_xml(self, *options: Any) -> Any:
        """Model description with units and dependencies of the variables."""
        root = super().to_xml(*options)  # type: ignore[misc]
        self._add_units(root)
        kind, given = root.find("CoSimulation"), bool(self._states)
        kind.set(
            "providesDirectionalDerivative"
            if self._version == 2
            else "providesDirectionalDerivatives",
            str(given).lower(),
        )
        variables, at = root.findall("ModelVariables/*"), self._places()
        first = 1 if self._version == 2 else 0  # of the indices by which FMI 2 names variables
        for state, rate in zip(at["states"], at["rates"]):
            typed = variables[rate] if self._version == 3 else variables[rate].find("Real")
            typed.set("derivative", str(first + state))
        structure = root.find("ModelStructure")
        structure.clear()
        begun = at["time"] if given else []
        inner = [*begun, *at["inputs"]]
        lists = {
            "Output": {each: [*begun, *at["states"]] for each in at["outputs"]},
            "ContinuousStateDerivative": {each: [*inner, *at["states"]] for each in at["rates"]},
            "InitialUnknown": {
                **{each: begun for each in at["outputs"]}, **{each: [] for each in at["states"]},
                **{each: inner for each in at["rates"]},
            },
        }  # fmt: skip
        for name, unknowns in lists.items():
            parent, tag, key = structure, name, "valueReference"
            if self._version == 2 and unknowns:
                parent, tag, key = SubElement(structure, LISTS[name]), "Unknown", "index"
            for unknown, by in unknowns.items():
                dependencies = " ".join(str(first + each) for each in sorted(by))
                SubElement(parent, tag, {key: str(first + unknown), "dependencies": dependencies})
        return root

    def _add_units(self, root: Element) -> None:
        """Add units of measurement and their SI definition to the model description.

        The definition follows the kind of the unit.
        """
        units = {name: unit for name, unit in self._units.items() if unit in SI}
        for variable in root.findall("ModelVariables/*"):
            typed = variable if self._version == 3 else variable.find("Real")
            if typed is not None and variable.get("name") in units:
                typed.set("unit", units[variable.get("name", "")])
        definitions = Element("UnitDefinitions")
        for unit in dict.fromkeys(units.values()):
            powers = {base: str(power) for base, power in SI[unit].items()}
            SubElement(SubElement(definitions, "Unit", name=unit), "BaseUnit", powers)
        if len(definitions):
            root.insert([each.tag for each in root].index("CoSimulation") + 1, definitions)

    @cached_property
    def stepper(self) -> Stepper:
        """The run, made when it is needed first."""
        return Stepper(load(self._folder / MODEL), **self._options)

    def _linear(self) -> "LinearTerms":
        """States x, ẋ and their derivatives at the present state."""
        key = (self._accepted, tuple(self._given.values()))
        if self._present is None or self._present[0] != key:
            assert self._states is not None
            here = present_state(self.stepper, self._given)
            ports = list(self._options["outputs"].values())
            self._present = (
                key,
                LinearTerms(here, named_coordinates(here.compiled, self._states), ports),
            )
        return self._present[1]

    def get_real(self, references: list[int]) -> list[float]:
        """Values of variables, or the answer to a question of the library in front (FMI 2)."""
        return self._answer(references, super().get_real)  # type: ignore[misc]

    def get_float64(self, references: list[int]) -> list[float]:
        """Values of variables, or the answer to a question of the library in front (FMI 3)."""
        return self._answer(references, super().get_float64)  # type: ignore[misc]

    def _answer(
        self, references: list[int], known: Callable[[list[int]], list[float]]
    ) -> list[float]:
        """Values of variables by reference, NaN if there are none; the next step is then refused.

        To a question a status and the answer: an exception here would end the unit, and perhaps the
        program.
        """
        try:
            if references[:1] != [MARK]:
                return known(references)
            rows, columns = references[1:3]
            values = (
                known(references[3:])
                if columns == MARK
                else self._along(np.array(references[1:], np.int32))
            )
            return [0.0, *values, *[0.0] * (len(references) - 1 - rows)]
        except Exception as error:
            told = (
                f"value reference {error}: is not a variable of the unit"
                if isinstance(error, KeyError)
                else str(error)
            )
            self.log(told, self._failed)  # type: ignore[attr-defined]
            if references[:1] == [MARK]:
                return [1.0] * len(references)
            self._refused = told
            return [math.nan] * len(references)

    def set_real(self, references: list[int], values: list[float]) -> None:
        """Set inputs (FMI 2)."""
        self._take(references, values)

    def set_float64(self, references: list[int], values: list[float]) -> None:
        """Set inputs (FMI 3)."""
        self._take(references, values)

    def _take(self, references: list[int], values: list[float]) -> None:
        """Store values of inputs; invalid ones make the next step fail.

        An exception here would end the unit.
        """
        inputs = dict(zip(self._places()["inputs"], self._given))
        for reference, value in zip(references, values):
            if reference in inputs:
                self._given[inputs[reference]] = value
            else:
                self._refused = f"value reference {reference}: is not an input, and cannot be set"
                self.log(self._refused, self._failed)  # type: ignore[attr-defined]

    def _along(self, words: np.ndarray) -> np.ndarray:
        """Directional derivatives of unknowns for seeds of the known variables.

        Numbers of both, value references, halves of the seeds.
        """
        rows, columns = int(words[0]), int(words[1])
        unknown, known, halves = np.split(words[2:], [rows, rows + columns])
        if self._states is None or not self._entered:
            raise InputError(
                "derivatives: this unit has none"
                if self._entered
                else "derivatives: initialize the unit first"
            )
        at = self._places()
        row = {each: k for k, each in enumerate([*at["rates"], *at["outputs"], *at["states"]])}
        column = {each: k for k, each in enumerate([*at["states"], *at["inputs"], *at["time"]])}
        for which, places, text in ((unknown, row, "unknown"), (known, column, "known")):
            for each in which:
                if int(each) not in places:
                    raise InputError(
                        f"derivatives: value reference {int(each)} is not one of the {text}s of the "
                        "unit; see its ModelStructure"
                    )
        matrix = self._linear().slopes
        whole = np.vstack([matrix, np.eye(len(at["states"]), matrix.shape[1])])
        return np.asarray(
            whole[np.ix_([row[int(k)] for k in unknown], [column[int(k)] for k in known])]
            @ halves.view(float)
        )

    def enter_initialization_mode(self) -> None:
        """Enter initialization mode; derivatives may be requested from then on."""
        self._entered = True

    def setup_experiment(
        self, start_time: float, stop_time: float | None = None, tolerance: float | None = None
    ) -> None:
        """Check the start time, which must be zero, and the stop time."""
        if start_time != 0.0:
            self._wrong = f"start time: must be 0 s, not {start_time:g}"
        elif stop_time is not None and stop_time > self._last * (1.0 + AT):
            self._wrong = (
                f"stop time: this unit ends at {self._last:g} s; export it with a longer t_end"
            )

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Advance to current_time + step_size.

        A failure is reported in the log, since an exception here ends the program.
        """
        try:
            self._step(current_time, step_size)
        except Exception as error:
            self.log(str(error), self._failed)  # type: ignore[attr-defined]
            return False
        return True

    def _step(self, current_time: float, step_size: float) -> None:
        """Advance the stepper by a communication step. Raises `InputError`."""
        here = self.stepper.t
        wrong, self._refused = self._wrong or self._refused, ""
        if wrong:
            raise InputError(wrong)
        if abs(current_time - here) > AT * (1.0 + here):
            raise InputError(
                f"step from {current_time:g} s: the unit is at {here:g} s; start there, "
                "or put a state back"
            )
        self._accepted += 1
        self.stepper.inputs.update(self._given)  # here, since an exception of a setter is fatal
        self._begun = self.stepper.advance(current_time + step_size)

    def _get_fmu_state(self) -> dict[str, Any]:
        """State of the unit; empty, and not restorable, if the run cannot begin."""
        try:
            return {"stepper": self.stepper.state, "given": dict(self._given), "begun": self._begun}
        except Exception as error:
            self.log(str(error), self._failed)  # type: ignore[attr-defined]
            return {}

    def _set_fmu_state(self, state: dict[str, Any]) -> None:
        """Restore a state; if that fails the next step is refused."""
        self._accepted += 1
        try:
            if not state:
                raise InputError(
                    "state: is none of this unit, or damaged; get one from a unit that runs"
                )
            self.stepper.state = state["stepper"]
        except Exception as error:
            self._refused = str(error)
            self.log(self._refused, self._failed)  # type: ignore[attr-defined]
            return
        self._given.update(state["given"])
        self._begun = state["begun"]

    @staticmethod
    def _fmu_state_to_bytes(state: dict[str, Any]) -> bytes:
        """Serialize a state of the unit."""
        file = io.BytesIO()
        rest = json.dumps({key: state[key] for key in ("given", "begun") if key in state})
        np.savez(file, allow_pickle=False, _rest=np.array(rest), **state.get("stepper", {}))
        return file.getvalue()

    @staticmethod
    def _fmu_state_from_bytes(state: bytes) -> dict[str, Any]:
        """State of the unit from its serialized form."""
        try:
            with np.load(io.BytesIO(state), allow_pickle=False) as arrays:
                rest = json.loads(str(arrays["_rest"]))
                return (
                    {
                        "stepper": {name: arrays[name] for name in arrays.files if name != "_rest"},
                        **rest,
                    }
                    if rest
                    else {}
                )
        except Exception:  # of other bytes, whatever NumPy raises
            return {}

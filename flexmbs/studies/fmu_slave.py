"""The inside of a unit that `export_fmu` has written: a `Stepper` behind the functions of FMI."""

import io
import json
from copy import deepcopy
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from flexmbs.api.model import load
from flexmbs.errors import FlexmbsError, InputError
from flexmbs.studies.stepper import Stepper

MODEL, OPTIONS = "model.toml", "unit.json"
AT = 1e-9  # of the time, by which an importing program may round it
SI = {  # powers of base units
    "N": {"kg": 1, "m": 1, "s": -2}, "N m": {"kg": 1, "m": 2, "s": -2}, "m": {"m": 1}, "rad": {"rad": 1},
    "m/s": {"m": 1, "s": -1}, "rad/s": {"rad": 1, "s": -1},
}  # fmt: skip


class Unit:
    """Variables, steps and states of a unit; the class of PythonFMU beside it connects them with C."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._folder = Path(str(kwargs["resources"]))
        facts = json.loads((self._folder / OPTIONS).read_text(encoding="utf-8"))
        self._version, self._options, self._last = facts["version"], facts["stepper"], facts["experiment"]["t_end"]
        for key in ("inputs", "outputs"):
            self._options[key] = {name: tuple(port) for name, port in self._options[key].items()}
        self._units: dict[str, str] = facts["units"]
        self._given = dict.fromkeys(self._options["inputs"], 0.0)
        self._begun, self._wrong = 0.0, ""
        self.description = facts["description"]
        self._register(facts["experiment"])

    def _register(self, experiment: dict[str, Any]) -> None:
        package = "pythonfmu" if self._version == 2 else "pythonfmu3"
        tools, enums = import_module(package), import_module(f"{package}.enums")
        real = tools.Real if self._version == 2 else tools.Float64
        causality, variability = (getattr(enums, f"Fmi{self._version}{each}") for each in ("Causality", "Variability"))
        initial = getattr(enums, f"Fmi{self._version}Initial")
        self._failed = getattr(enums, f"Fmi{self._version}Status").error
        known = {"start_time": 0.0, "stop_time": experiment["t_end"], "step_size": experiment["communication_step"]}
        self.default_experiment = tools.DefaultExperiment(**known)
        continuous = {"variability": variability.continuous}
        if self._version == 3:
            more = continuous | {"getter": lambda: self._begun}
            self.register_variable(real("time", causality=causality.independent, **more), nested=False)  # type: ignore[attr-defined]
        for name in self._options["inputs"]:
            ends = {"getter": partial(self._given.__getitem__, name), "setter": partial(self._given.__setitem__, name)}
            self.register_variable(real(name, causality=causality.input, **continuous, **ends), nested=False)  # type: ignore[attr-defined]
        for name in self._options["outputs"]:
            ends = {"getter": lambda name=name: self.stepper.outputs[name], "initial": initial.calculated}
            self.register_variable(real(name, causality=causality.output, **continuous, **ends), nested=False)  # type: ignore[attr-defined]

    def to_xml(self, *options: Any) -> Any:
        """The description with units, in FMI 2 with the outputs among the initial unknowns, which PythonFMU leaves out."""
        root = super().to_xml(*options)  # type: ignore[misc]
        self._add_units(root)
        outputs = root.find("ModelStructure/Outputs")
        if self._version == 2 and outputs is not None:
            SubElement(root.find("ModelStructure"), "InitialUnknowns").extend(deepcopy(list(outputs)))
        return root

    def _add_units(self, root: Element) -> None:
        """Units of the variables, and their definition from those of SI, which comes behind the kind of the unit."""
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

    def setup_experiment(self, start_time: float, stop_time: float | None = None, tolerance: float | None = None) -> None:
        """The times of the importing program; runs begin at zero."""
        if start_time != 0.0:
            self._wrong = f"start time: must be 0 s, not {start_time:g}"
        elif stop_time is not None and stop_time > self._last * (1.0 + AT):
            self._wrong = f"stop time: this unit ends at {self._last:g} s; export it with a longer t_end"

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Steps to current_time + step_size; where that fails it says so in the log, since an exception here ends the program."""
        try:
            self._step(current_time, step_size)
        except FlexmbsError as error:
            self.log(str(error), self._failed)  # type: ignore[attr-defined]
            return False
        return True

    def _step(self, current_time: float, step_size: float) -> None:
        here = self.stepper.t
        if self._wrong:
            raise InputError(self._wrong)
        if abs(current_time - here) > AT * (1.0 + here):
            raise InputError(f"step from {current_time:g} s: the unit is at {here:g} s; start there, or put a state back")
        self.stepper.inputs.update(self._given)  # here, since an exception of a setter is fatal
        self._begun = self.stepper.advance(current_time + step_size)

    def _get_fmu_state(self) -> dict[str, Any]:
        return {"stepper": self.stepper.state, "given": dict(self._given), "begun": self._begun}

    def _set_fmu_state(self, state: dict[str, Any]) -> None:
        self.stepper.state = state["stepper"]
        self._given.update(state["given"])
        self._begun = state["begun"]

    @staticmethod
    def _fmu_state_to_bytes(state: dict[str, Any]) -> bytes:
        file = io.BytesIO()
        rest = json.dumps({key: state[key] for key in ("given", "begun")})
        np.savez(file, allow_pickle=False, _rest=np.array(rest), **state["stepper"])
        return file.getvalue()

    @staticmethod
    def _fmu_state_from_bytes(state: bytes) -> dict[str, Any]:
        with np.load(io.BytesIO(state), allow_pickle=False) as arrays:
            rest = json.loads(str(arrays["_rest"]))
            return {"stepper": {name: arrays[name] for name in arrays.files if name != "_rest"}, **rest}

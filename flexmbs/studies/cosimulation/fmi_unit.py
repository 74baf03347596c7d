"""A functional mock-up unit for co-simulation, loaded by FMPy.

After an error a unit can be freed only, after a fatal one no function may be called, since its
memory is not to be trusted. Source: Functional Mock-up Interface 2.0.5, sections 2.1.3 and 4.2.4;
3.0.2, sections 2.2.4 and 4.2.
"""

import math
import numbers
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from flexmbs.declaration import require_known, shown
from flexmbs.errors import InputError, SolverError
from flexmbs.exports.data_frames import optional
from flexmbs.files.archives import check_archive
from flexmbs.integrators.integrator import is_number

REAL = ("Real", "Float64", "Float32")
WHOLE = {  # smallest and largest number
    "Integer": (-(2**31), 2**31 - 1),
    "Int8": (-(2**7), 2**7 - 1),
    "Int16": (-(2**15), 2**15 - 1),
    "Int32": (-(2**31), 2**31 - 1),
    "Int64": (-(2**63), 2**63 - 1),
    "UInt8": (0, 2**8 - 1),
    "UInt16": (0, 2**16 - 1),
    "UInt32": (0, 2**32 - 1),
    "UInt64": (0, 2**64 - 1),
}
ERROR, FATAL = 3, 4  # states of FMI
ROUND_OFF = 1e-9  # of a communication step


class Scale(NamedTuple):
    """Conversion of a variable: SI value = factor · value + offset.

    With the exponents of kg, m, s, A, K, mol, cd that it may have, {} if unknown.
    """

    factor: float = 1.0
    offset: float = 0.0
    exponents: frozenset[tuple[int, ...]] = frozenset()


class FmiUnit:
    """A unit of the name ``name``; it runs after `initialize`."""

    def __init__(self, name: str, path: Path, folder: Path) -> None:
        fmpy = optional("fmpy", "cosimulate")
        self.name, self._worst, self._runs = name, 0, False
        try:
            check_archive(path, "modelDescription.xml")
            about = fmpy.read_model_description(str(path))
            if about.coSimulation is None or str(about.fmiVersion)[0] not in "23":
                raise InputError(
                    f"{path.name} is not a unit for co-simulation of FMI 2 or 3; export it as one"
                )
            self.variables = {each.name: each for each in about.modelVariables}
            self.version = 2 if str(about.fmiVersion).startswith("2") else 3
            self.own_step = float(about.coSimulation.fixedInternalStepSize or 0.0)  # s, 0 for none
            self._scales = {unit.name: _scale(unit) for unit in about.unitDefinitions}
            self._place = str(fmpy.extract(str(path), str(folder)))
            self._fmu = self._instance(about)
        except InputError as error:
            raise InputError(*(f"units.{name}: {problem}" for problem in error.problems)) from None
        except Exception as error:
            raise InputError(
                f"units.{name}: {path}: FMPy cannot load it: {' '.join(str(error).split())}"
            ) from error

    def _instance(self, about: Any) -> Any:
        """Instantiated unit of FMI 2 or 3."""
        from fmpy.fmi2 import FMU2Slave
        from fmpy.fmi3 import FMU3Slave

        kind = FMU2Slave if self.version == 2 else FMU3Slave
        more = {"modelIdentifier": about.coSimulation.modelIdentifier, "instanceName": self.name}
        unit = kind(guid=about.guid, unzipDirectory=self._place, **more)
        unit.instantiate()
        return unit

    def initialize(self, parameters: Mapping[str, Any], t: float, t_end: float) -> None:
        """Start the unit at time t (s) with parameters. Raises `InputError`, `SolverError`."""
        for key, value in parameters.items():
            self._set_parameter(key, value)
        if self.version == 2:
            self._called(
                "fmi2SetupExperiment", self._fmu.setupExperiment, startTime=t, stopTime=t_end
            )
            self._called("fmi2EnterInitializationMode", self._fmu.enterInitializationMode)
        else:
            self._called(
                "fmi3EnterInitializationMode",
                self._fmu.enterInitializationMode,
                startTime=t,
                stopTime=t_end,
            )
        self._called("exit of the initialization", self._fmu.exitInitializationMode)
        self._runs = True

    def _set_parameter(self, key: str, value: Any) -> None:
        """Set a start value of the unit. Raises `InputError`."""
        item = f"parameters.{self.name}.{key}"
        variable = self.variable(key, item)
        if variable.start is None or variable.variability == "constant":
            raise InputError(
                f"{item}: the unit computes it; set a parameter or another variable with "
                "a start value"
            )
        kind = str(variable.type)
        given = _value(kind, value)
        if given is None:
            raise InputError(f"{item}: {shown(value)} is not a value of a variable of type {kind}")
        self._called(item, getattr(self._fmu, f"set{kind}"), [variable.valueReference], [given])

    def variable(self, key: str, item: str) -> Any:
        """Variable description with this name. Raises `InputError`."""
        require_known(key, self.variables, f"{item}: unit '{self.name}' has no variable '{key}'")
        return self.variables[key]

    def scale(self, key: str, item: str, causality: str) -> Scale:
        """Scale from the values of an input or output to SI units. Raises `InputError`."""
        variable = self.variable(key, item)
        if variable.causality != causality:
            raise InputError(
                f"{item}: '{self.name}.{key}' is of causality {variable.causality}, not {causality}"
            )
        if variable.type not in REAL or variable.shape:
            raise InputError(
                f"{item}: '{self.name}.{key}' is not a real number but of type {variable.type}"
            )
        declared = variable.declaredType
        found = self._scales.get(variable.unit or (declared.unit if declared else None), Scale())
        relative = variable.relativeQuantity or (declared is not None and declared.relativeQuantity)
        return found._replace(offset=0.0) if relative else found

    def read(self, key: str) -> float:
        """The value of a real variable."""
        variable = self.variables[key]
        return float(
            self._called(key, getattr(self._fmu, f"get{variable.type}"), [variable.valueReference])[
                0
            ]
        )

    def set(self, key: str, value: float) -> None:
        """Set a real variable."""
        variable = self.variables[key]
        self._called(
            key, getattr(self._fmu, f"set{variable.type}"), [variable.valueReference], [value]
        )

    def go_on(self, t: float, h: float) -> None:
        """Perform one communication step. Raises `SolverError`."""
        done = self._called(f"step at t = {t:g} s", self._fmu.doStep, t, h)
        if done is not None:
            _, ended, early, last = done
            if ended or (early and last < t + h * (1.0 - ROUND_OFF)):
                raise SolverError(
                    f"units.{self.name}: requests the end of the simulation at t =  "
                    f"{last if early else t + h:g} s"
                )

    def close(self) -> None:
        """Terminate and free the unit."""
        if self._runs and self._worst < ERROR:
            with suppress(SolverError):  # a unit may refuse to
                self._called("end", self._fmu.terminate)
        if self._worst < FATAL:
            with suppress(Exception):
                self._fmu.freeInstance()

    def _called(self, what: str, function: Any, *given: Any, **named: Any) -> Any:
        """Call a function of the unit. Raises `SolverError` if it fails."""
        try:
            return function(*given, **named)
        except Exception as error:  # FMPy raises its own for each status that is not OK
            self._worst = max(self._worst, int(getattr(error, "status", ERROR)))
            told = " ".join(str(error).split())
            raise SolverError(
                f"units.{self.name}: {what}: the unit failed: {told}; see its own messages"
            ) from error


def _value(kind: str, value: Any) -> Any:
    """Value converted to an FMI type; None if it does not fit."""
    if kind in WHOLE:
        low, high = WHOLE[kind]
        fits = (
            isinstance(value, numbers.Integral)
            and not isinstance(value, bool)
            and low <= int(value) <= high
        )
        return int(value) if fits else None
    if kind in REAL:
        return float(value) if is_number(value) and math.isfinite(value) else None
    return value if isinstance(value, {"Boolean": bool, "String": str}.get(kind, ())) else None


def _scale(unit: Any) -> Scale:
    """Scale factor to SI of a unit of measurement in an FMU."""
    base = unit.baseUnit
    if base is None:
        return Scale()
    rest = (base.A, base.K, base.mol, base.cd)
    return Scale(
        float(base.factor), float(base.offset), frozenset({(base.kg, base.m, base.s, *rest)})
    )

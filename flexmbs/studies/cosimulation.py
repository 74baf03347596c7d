"""`cosimulate`: a `Stepper` and functional mock-up units of other programs, coupled at communication points.

At each point all outputs are read, then all inputs are set and held, then all go on to the next point, the model by as many steps
as it needs: nobody is asked for a step that is then rejected, and the order of the units does not matter. The error of the
coupling is of first order in the communication step. Sources: Functional Mock-up Interface 3.0.2 and 2.0.5, Modelica Association;
Gomes et al., Co-simulation: a survey, ACM Computing Surveys 51 (2018), section 4 (Jacobi scheme).
"""

import math
import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexmbs.declaration import close_names, shown
from flexmbs.errors import InputError, SolverError
from flexmbs.exports.data_frames import optional
from flexmbs.files.paths import file_path
from flexmbs.integrators.integrator import is_number
from flexmbs.studies.stepper import Stepper
from flexmbs.studies.stepper_ports import Port

Units = Mapping[str, str | os.PathLike[str]]
REAL = ("Real", "Float64")
SETTERS = {
    "Real": "setReal", "Integer": "setInteger", "Boolean": "setBoolean", "String": "setString", "Float64": "setFloat64",
    "Float32": "setFloat32", "Int32": "setInt32", "Int64": "setInt64", "UInt32": "setUInt32", "UInt64": "setUInt64",
}  # fmt: skip


def _exponents(*given: tuple[int, int, int]) -> frozenset[tuple[int, ...]]:
    return frozenset((*each, 0, 0, 0, 0) for each in given)


FORCE, TORQUE = (1, 1, -2), (1, 2, -2)
DIMENSIONS = {  # of the ports of a stepper, those of joints in m or rad
    "effort": _exponents(FORCE, TORQUE), "force": _exponents(FORCE), "torque": _exponents(TORQUE),
    "coordinate": _exponents((0, 1, 0), (0, 0, 0)), "rate": _exponents((0, 1, -1), (0, 0, -1)), "position": _exponents((0, 1, 0)),
}  # fmt: skip


class Scale(NamedTuple):
    """SI value = factor · value + offset of a variable; which exponents of kg, m, s, A, K, mol, cd it may have, {} unknown."""

    factor: float = 1.0
    offset: float = 0.0
    exponents: frozenset[tuple[int, ...]] = frozenset()


class Loaded:
    """A unit for co-simulation, loaded by FMPy and initialized at the time t."""

    def __init__(self, name: str, path: Path, folder: Path, parameters: Mapping[str, Any], t: float, t_end: float) -> None:
        fmpy = optional("fmpy", "cosimulate")
        self.name, self.path = name, path
        try:
            about = fmpy.read_model_description(str(path))
            if about.coSimulation is None or str(about.fmiVersion)[0] not in "23":
                raise InputError(f"units.{name}: {path.name} is no unit for co-simulation of FMI 2 or 3; export it as one")
            self.variables = {each.name: each for each in about.modelVariables}
            self.version = 2 if str(about.fmiVersion).startswith("2") else 3
            self._scales = {unit.name: _scale(unit) for unit in about.unitDefinitions}
            self._place = str(fmpy.extract(str(path), str(folder / name)))
            self._fmu = self._instance(about)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"units.{name}: {path}: FMPy cannot load it: {' '.join(str(error).split())}") from error
        self._initialize(parameters, t, t_end)

    def _instance(self, about: Any) -> Any:
        from fmpy.fmi2 import FMU2Slave
        from fmpy.fmi3 import FMU3Slave

        kind = FMU2Slave if self.version == 2 else FMU3Slave
        more = {"modelIdentifier": about.coSimulation.modelIdentifier, "instanceName": self.name}
        unit = kind(guid=about.guid, unzipDirectory=self._place, **more)
        unit.instantiate()
        return unit

    def _initialize(self, parameters: Mapping[str, Any], t: float, t_end: float) -> None:
        for key, value in parameters.items():
            self._set_parameter(key, value)
        if self.version == 2:
            self._called("fmi2SetupExperiment", self._fmu.setupExperiment, startTime=t, stopTime=t_end)
            self._called("fmi2EnterInitializationMode", self._fmu.enterInitializationMode)
        else:
            self._called("fmi3EnterInitializationMode", self._fmu.enterInitializationMode, startTime=t, stopTime=t_end)
        self._called("exit of the initialization", self._fmu.exitInitializationMode)

    def _set_parameter(self, key: str, value: Any) -> None:
        variable = self.variable(key, f"parameters.{self.name}.{key}")
        setter = SETTERS.get(str(variable.type))
        if setter is None or not isinstance(value, str if variable.type == "String" else bool | int | float):
            raise InputError(f"parameters.{self.name}.{key}: {shown(value)} is no value of a variable of type {variable.type}")
        self._called(f"parameters.{self.name}.{key}", getattr(self._fmu, setter), [variable.valueReference], [value])

    def variable(self, key: str, item: str) -> Any:
        """The variable of a name. Raises `InputError`."""
        if key not in self.variables:
            raise InputError(f"{item}: unit '{self.name}' has no variable '{key}'; {close_names(key, self.variables)}")
        return self.variables[key]

    def scale(self, key: str, item: str, causality: str) -> Scale:
        """How the values of an input or output relate to SI units. Raises `InputError`."""
        variable = self.variable(key, item)
        if variable.causality != causality:
            raise InputError(f"{item}: '{self.name}.{key}' is of causality {variable.causality}, not {causality}")
        if variable.type not in REAL or variable.shape:
            raise InputError(f"{item}: '{self.name}.{key}' is no real number but of type {variable.type}")
        unit = variable.unit or (variable.declaredType.unit if variable.declaredType else None)
        return self._scales.get(unit, Scale())

    def read(self, key: str) -> float:
        """The value of a real variable."""
        getter = self._fmu.getReal if self.version == 2 else self._fmu.getFloat64
        return float(self._called(key, getter, [self.variables[key].valueReference])[0])

    def set(self, key: str, value: float) -> None:
        """Set a real variable."""
        setter = self._fmu.setReal if self.version == 2 else self._fmu.setFloat64
        self._called(key, setter, [self.variables[key].valueReference], [value])

    def go_on(self, t: float, h: float) -> None:
        """One communication step. Raises `SolverError` if the unit does not reach its end."""
        done = self._called(f"step at t = {t:g} s", self._fmu.doStep, t, h)
        if done is not None:
            _, ended, early, last = done
            if ended or (early and last < t + h * (1.0 - 1e-9)):
                raise SolverError(f"units.{self.name}: asked to end the simulation at t = {last if early else t + h:g} s")

    def close(self) -> None:
        """End the unit."""
        with suppress(Exception):  # a unit that failed may refuse to
            self._fmu.terminate()
        with suppress(Exception):
            self._fmu.freeInstance()

    def _called(self, what: str, function: Any, *given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except Exception as error:  # FMPy raises its own for each status that is not OK
            told = " ".join(str(error).split())
            raise SolverError(f"units.{self.name}: {what}: the unit failed: {told}; see its own messages") from error


def cosimulate(
    stepper: Stepper, units: Units, *, connections: Mapping[str, str], communication_step: float, t_end: float | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Run a model together with functional mock-up units of FMI 2 and 3: forces and controllers of other programs.

    Between communication points inputs are held; all outputs are read at a point before any input is set there, so that the
    result does not depend on the order of the units, and is of first order in the communication step: halve it to see the error.
    Units of measurement that the files declare are converted to SI. There is no audit: judge the model and its steps by a run of
    `simulate`. A file is a program of its author: load those only that you trust.

    Parameters
    ----------
    stepper : Stepper
        The model with its inputs [N, N m] and outputs [m, rad, m/s, rad/s], at its present state.
    units : mapping of names to paths
        Files ``.fmu`` for co-simulation, loaded by FMPy.
    connections : mapping of inputs to outputs
        {"motor": "controller.torque", "controller.angle": "angle"}: inputs and outputs of the stepper by their names, those of
        units as ``unit.variable``.
    communication_step : float [s]
        Time between communication points.
    t_end : float [s], optional
        The end, of the stepper by default; a whole number of communication steps from its present time.
    parameters : mapping, optional
        Values of variables of the units, before they are initialized: {"controller.kp": 3.0}.

    Returns
    -------
    dict of arrays
        ``t`` (n,) and, at each communication point, what is connected: outputs, and inputs as they are held from then on.

    Raises
    ------
    InputError
        For names, types, units of measurement and times that do not fit, and files that cannot be loaded.
    SolverError
        For a step that a unit or the model does not take.
    MachineError
        Without FMPy, the extra ``flexmbs[fmu]``.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("turntable")
    >>> axle = fm.Revolute("axle", "ground", model.add(fm.RigidBody("table", mass=1.0, inertia=(0.1, 0.1, 0.2))), axis="z")
    >>> brake = model.add(fm.JointSpring("brake", model.add(axle), c=2.0))
    >>> twin = fm.linearize(model, inputs=[("effort", "axle")], outputs=[("rate", "axle")]).export("Twin.fmu")
    >>> ports = {"inputs": {"motor": ("effort", "axle")}, "outputs": {"speed": ("rate", "axle")}}
    >>> stepper = fm.Stepper(model, t_end=1.0, step=0.01, **ports)
    >>> wires = {"motor": "twin.rate axle", "twin.effort axle": "speed"}
    >>> run = fm.cosimulate(stepper, {"twin": twin}, connections=wires, communication_step=0.01)
    >>> len(run["t"])
    101
    """
    n, h = _points(stepper, communication_step, t_end)
    if not isinstance(units, Mapping) or not units:
        raise InputError(f"units: must be a mapping of names to files .fmu, not {shown(units)}")
    own = _by_unit(parameters or {}, units)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        loaded: dict[str, Loaded] = {}
        for name, path in units.items():
            file = file_path(path, f"units.{name}")
            if not file.is_file():
                raise InputError(f"units.{name}: {file}: no such file")
            loaded[name] = Loaded(name, file, folder, own.get(name, {}), stepper.t, stepper.t + n * h)
            stack.callback(loaded[name].close)
        wires = _wires(stepper, loaded, connections)
        return _run(stepper, loaded, wires, n, h)


class Wire(NamedTuple):
    """An output and the input that it is held in: value = factor · output + offset. A name of no unit is the stepper's."""

    source: tuple[str, str]
    target: tuple[str, str]
    factor: float
    offset: float


def _run(stepper: Stepper, units: Mapping[str, Loaded], wires: list[Wire], n: int, h: float) -> dict[str, np.ndarray]:
    """The coupled run of n communication steps."""
    sources, begun = list(dict.fromkeys(wire.source for wire in wires)), stepper.t
    found: dict[str, np.ndarray] = {_name(end): np.empty(n + 1) for wire in wires for end in (wire.source, wire.target)}
    found["t"] = begun + h * np.arange(n + 1)
    for k in range(n + 1):
        read = {end: units[end[0]].read(end[1]) if end[0] else stepper.outputs[end[1]] for end in sources}
        for end, value in read.items():
            if not math.isfinite(value):
                raise SolverError(f"{_name(end)}: is {value} at t = {found['t'][k]:g} s")
            found[_name(end)][k] = value
        for wire in wires:
            value = found[_name(wire.target)][k] = wire.factor * read[wire.source] + wire.offset
            if wire.target[0]:
                units[wire.target[0]].set(wire.target[1], value)
            else:
                stepper.inputs[wire.target[1]] = value
        if k < n:
            t = stepper.t
            stepper.advance(begun + (k + 1) * h)
            for unit in units.values():
                unit.go_on(t, stepper.t - t)
    return found


def _points(stepper: Stepper, step: float, t_end: float | None) -> tuple[int, float]:
    """How many communication steps, and their length (s). Raises `InputError`."""
    if not isinstance(stepper, Stepper):
        raise InputError(f"stepper: must be a Stepper, not {type(stepper).__name__}")
    t_end = stepper.t_end if t_end is None else t_end
    if not is_number(t_end) or not stepper.t < t_end <= stepper.t_end:
        raise InputError(f"t_end: must be after t = {stepper.t:g} s and at most {stepper.t_end:g} s, not {shown(t_end)}")
    length = t_end - stepper.t
    if not is_number(step) or not 0.0 < step <= length * (1.0 + 1e-9):
        raise InputError(f"communication_step: must be within 0 … {length:g} s, not {shown(step)}")
    n = round(length / step)
    if abs(n * step - length) > 1e-6 * step:
        raise InputError(f"communication_step: {step:g} s does not divide the {length:g} s to t_end; take {length / n:g} s")
    return n, length / n


def _by_unit(parameters: Mapping[str, Any], units: Units) -> dict[str, dict[str, Any]]:
    """Parameters of each unit. Raises `InputError`."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in parameters.items():
        unit, dot, key = str(name).partition(".")
        if not dot or unit not in units:
            raise InputError(f"parameters: '{name}' is not 'unit.variable' of a unit; {close_names(unit, units)}")
        found.setdefault(unit, {})[key] = value
    return found


def _wires(stepper: Stepper, units: Mapping[str, Loaded], connections: Mapping[str, str]) -> list[Wire]:
    """The connections. Raises `InputError` for ends that do not fit each other."""
    if not isinstance(connections, Mapping) or not connections:
        raise InputError(f"connections: must be a mapping of inputs to outputs, not {shown(connections)}")
    wires = []
    for to, of in connections.items():
        item = f"connections.{to}"
        target, into = _end(to, item, units, stepper.inputs.ports, "input")
        source, out = _end(of, item, units, stepper.outputs.ports, "output")
        if into.exponents and out.exponents and not into.exponents & out.exponents:
            raise InputError(f"{item}: '{to}' and '{of}' differ in their units of measurement")
        wires.append(Wire(source, target, out.factor / into.factor, (out.offset - into.offset) / into.factor))
    unheard = sorted({name for name in units} - {wire.source[0] for wire in wires} - {wire.target[0] for wire in wires})
    if unheard:
        raise InputError(f"units.{unheard[0]}: has no connection; connect it or leave it out")
    return wires


def _end(
    name: str, item: str, units: Mapping[str, Loaded], ports: Mapping[str, Port], causality: str
) -> tuple[tuple[str, str], Scale]:
    """An end of a connection, and the scale of its values. Raises `InputError`."""
    if name in ports:
        return ("", name), Scale(exponents=DIMENSIONS[str(ports[name][0])])
    unit, dot, key = str(name).partition(".")
    if not dot or unit not in units:
        known = [*ports, *(f"{each}." for each in units)]
        raise InputError(
            f"{item}: {shown(name)} is no {causality} of the stepper nor 'unit.variable'; {close_names(str(name), known)}"
        )
    return (unit, key), units[unit].scale(key, item, causality)


def _name(end: tuple[str, str]) -> str:
    return f"{end[0]}.{end[1]}" if end[0] else end[1]


def _scale(unit: Any) -> Scale:
    """Of a unit in the description of an FMU."""
    base = unit.baseUnit
    if base is None:
        return Scale()
    rest = (base.A, base.K, base.mol, base.cd)
    return Scale(float(base.factor), float(base.offset), frozenset({(base.kg, base.m, base.s, *rest)}))

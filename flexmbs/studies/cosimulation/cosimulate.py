"""`cosimulate`: a `Stepper` coupled with functional mock-up units of other programs.

They are coupled at communication points.

At each point all outputs are read, then all inputs are set and held, then all go on to the next
point, the model by as many steps as it needs: nobody is asked for a step that is then rejected, and
the order of the units does not matter. The error of the coupling is of first order in the
communication step. Sources: Functional Mock-up Interface 3.0.2 and 2.0.5, Modelica Association;
Gomes et al., Co-simulation: a survey, ACM Computing Surveys 51 (2018), section 4 (Jacobi scheme).
"""

import math
import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np

from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import close_names, shown
from flexmbs.errors import InputError, SolverError
from flexmbs.files.output import temporary_folder
from flexmbs.files.paths import file_path
from flexmbs.integrators.integrator import is_number
from flexmbs.studies.cosimulation.fmi_unit import ROUND_OFF, FmiUnit, Scale
from flexmbs.studies.run.stepper import Stepper

Units = Mapping[str, str | os.PathLike[str]]
EXPONENTS = {  # of kg, m, s in the units of a stepper's ports
    "N": (1, 1, -2),
    "N m": (1, 2, -2),
    "m": (0, 1, 0),
    "rad": (0, 0, 0),
    "m/s": (0, 1, -1),
    "rad/s": (0, 0, -1),
}


@checked_arguments
def cosimulate(
    stepper: Stepper,
    units: Units,
    *,
    connections: Mapping[str, str],
    communication_step: float,
    t_end: float | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> dict[str, np.ndarray]:
    """Run a model together with functional mock-up units of FMI 2 and 3.

    The units are forces and controllers of other programs.

    Between communication points inputs are held; all outputs are read at a point before any input
    is set there, so that the result does not depend on the order of the units, and is of first
    order in the communication step: halve it to see the error. Units of measurement that the files
    declare are converted to SI. There is no audit: judge the model and its steps by a run of
    `simulate`. A file is a program of its author: load those only that you trust.

    Parameters
    ----------
    stepper : Stepper
        The model with its inputs [N, N m] and outputs [m, rad, m/s, rad/s], at its present state.
    units : mapping of names to paths
        Files ``.fmu`` for co-simulation, loaded by FMPy; names without a dot.
    connections : mapping of inputs to outputs
        {"motor": "controller.torque", "controller.angle": "angle"}: inputs and outputs of the
        stepper by their names, those of units as ``unit.variable``.
    communication_step : float [s]
        Time between communication points; a multiple of the internal step that a unit declares.
    t_end : float [s], optional
        The end, of the stepper by default; a whole number of communication steps from its present
        time.
    parameters : mapping, optional
        Values of variables of the units, before they are initialized, in the units of measurement
        of the file: {"controller.kp": 3.0}.

    Returns
    -------
    dict of arrays
        ``t`` (n,) and, at each communication point, what is connected: outputs, and inputs as they
        are held from then on.

    Raises
    ------
    InputError
        For names, types, units of measurement and times that do not fit, and files that cannot be
        loaded.
    SolverError
        For a step that a unit or the model does not take.
    MachineError
        Without FMPy, the extra ``flexmbs[fmu]``.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("turntable")
    >>> axle = fm.Revolute(
    ...     "axle",
    ...     "ground",
    ...     model.add(fm.RigidBody("table", mass=1.0, inertia=(0.1, 0.1, 0.2))),
    ...     axis="z",
    ... )
    >>> brake = model.add(fm.JointSpring("brake", model.add(axle), c=2.0))
    >>> twin = fm.linearize(model, inputs=[("effort", "axle")], outputs=[("rate", "axle")]).export(
    ...     "Twin.fmu"
    ... )
    >>> ports = {"inputs": {"motor": ("effort", "axle")}, "outputs": {"speed": ("rate", "axle")}}
    >>> stepper = fm.Stepper(model, t_end=1.0, step=0.01, **ports)
    >>> wires = {"motor": "twin.rate axle", "twin.effort axle": "speed"}
    >>> run = fm.cosimulate(stepper, {"twin": twin}, connections=wires, communication_step=0.01)
    >>> len(run["t"])
    101
    """
    n, h = _points(stepper, communication_step, t_end)
    _check_names(units)
    own = _by_unit(parameters or {}, units)
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder("units"))
        loaded: dict[str, FmiUnit] = {}
        for k, (name, path) in enumerate(units.items()):
            file = file_path(path, f"units.{name}")
            if not file.is_file():
                raise InputError(f"units.{name}: {file}: no such file")
            loaded[name] = FmiUnit(name, file, folder / str(k))
            stack.callback(loaded[name].close)
            _check_step(loaded[name], h)
            loaded[name].initialize(own.get(name, {}), stepper.t, stepper.t + n * h)
        wires = _wires(stepper, loaded, connections)
        return _run(stepper, loaded, wires, n, h)


class Wire(NamedTuple):
    """An output and the input that it is held in: value = factor · output + offset.

    A name of no unit is the stepper's.
    """

    source: tuple[str, str]
    target: tuple[str, str]
    factor: float
    offset: float


def _run(
    stepper: Stepper, units: Mapping[str, FmiUnit], wires: list[Wire], n: int, h: float
) -> dict[str, np.ndarray]:
    """Run n coupled communication steps of length h."""
    sources, begun = list(dict.fromkeys(wire.source for wire in wires)), stepper.t
    found: dict[str, np.ndarray] = {
        _name(end): np.empty(n + 1) for wire in wires for end in (wire.source, wire.target)
    }
    found["t"] = begun + h * np.arange(n + 1)
    for k in range(n + 1):
        read = {
            end: units[end[0]].read(end[1]) if end[0] else stepper.outputs[end[1]]
            for end in sources
        }
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
            stepper.advance(begun + (k + 1) * h)
            for unit in units.values():
                unit.go_on(float(found["t"][k]), h)
    return found


def _points(stepper: Stepper, step: float, t_end: float | None) -> tuple[int, float]:
    """(number, length in s) of the communication steps. Raises `InputError`."""
    if not isinstance(stepper, Stepper):
        raise InputError(f"stepper: must be a Stepper, not {type(stepper).__name__}")
    t_end = stepper.t_end if t_end is None else t_end
    if not is_number(t_end) or not stepper.t < t_end <= stepper.t_end:
        raise InputError(
            f"t_end: must be after t = {stepper.t:g} s and at most {stepper.t_end:g} s, "
            f"not {shown(t_end)}"
        )
    length = t_end - stepper.t
    if not is_number(step) or not 0.0 < step <= length * (1.0 + 1e-9):
        raise InputError(f"communication_step: must be within 0 … {length:g} s, not {shown(step)}")
    n = round(length / step)
    if abs(n * step - length) > 1e-6 * step:
        raise InputError(
            f"communication_step: {step:g} s does not divide the {length:g} s to t_end; "
            f"take {length / n:g} s"
        )
    return n, length / n


def _check_names(units: Units) -> None:
    """Raise `InputError` for objects that are not units and for invalid names."""
    if not isinstance(units, Mapping) or not units:
        raise InputError(f"units: must be a mapping of names to files .fmu, not {shown(units)}")
    for name in units:
        if not isinstance(name, str) or not name or "." in name:
            raise InputError(f"units: {shown(name)} is not a name; give a text without a dot")


def _check_step(unit: FmiUnit, h: float) -> None:
    """Raise `InputError` unless a communication step is a multiple of the unit's fixed step."""
    own = unit.own_step
    if own > 0.0 and (round(h / own) < 1 or abs(h - round(h / own) * own) > ROUND_OFF * h):
        raise InputError(
            f"communication_step: {h:g} s is not a multiple of {own:g} s, the internal step "
            f"of unit '{unit.name}'"
        )


def _by_unit(parameters: Mapping[str, Any], units: Units) -> dict[str, dict[str, Any]]:
    """Parameter values sorted by unit. Raises `InputError`."""
    if not isinstance(parameters, Mapping):
        raise InputError(
            f"parameters: must be a mapping of 'unit.variable' to values, not {shown(parameters)}"
        )
    found: dict[str, dict[str, Any]] = {}
    for name, value in parameters.items():
        unit, dot, key = str(name).partition(".")
        if not dot or unit not in units:
            raise InputError(
                f"parameters: '{name}' is not 'unit.variable' of a unit; {close_names(unit, units)}"
            )
        found.setdefault(unit, {})[key] = value
    return found


def _wires(
    stepper: Stepper, units: Mapping[str, FmiUnit], connections: Mapping[str, str]
) -> list[Wire]:
    """Connections between units and stepper, checked. Raises `InputError`."""
    if not isinstance(connections, Mapping) or not connections:
        raise InputError(
            f"connections: must be a mapping of inputs to outputs, not {shown(connections)}"
        )
    wires = []
    for to, of in connections.items():
        item = f"connections.{to}"
        target, into = _end(to, item, units, stepper.inputs.units, "input")
        source, out = _end(of, item, units, stepper.outputs.units, "output")
        if into.exponents and out.exponents and not into.exponents & out.exponents:
            raise InputError(f"{item}: '{to}' and '{of}' differ in their units of measurement")
        wires.append(
            Wire(source, target, out.factor / into.factor, (out.offset - into.offset) / into.factor)
        )
    both = {wire.source for wire in wires} & {wire.target for wire in wires}
    for end in both:
        raise InputError(
            f"connections: '{_name(end)}' is an input and an output of the stepper; give "
            "one another name"
        )
    unheard = sorted(
        {name for name in units}
        - {wire.source[0] for wire in wires}
        - {wire.target[0] for wire in wires}
    )
    if unheard:
        raise InputError(f"units.{unheard[0]}: has no connection; connect it or leave it out")
    return wires


def _end(
    name: str, item: str, units: Mapping[str, FmiUnit], ports: Mapping[str, str], causality: str
) -> tuple[tuple[str, str], Scale]:
    """(unit, variable, scale) of one end of a connection. Raises `InputError`."""
    if name in ports:
        return ("", name), Scale(exponents=frozenset({(*EXPONENTS[ports[name]], 0, 0, 0, 0)}))
    unit, dot, key = str(name).partition(".")
    if not dot or unit not in units:
        known = [*ports, *(f"{each}." for each in units)]
        raise InputError(
            f"{item}: {shown(name)} is not an {causality} of the stepper nor 'unit.variable'; "
            f"{close_names(str(name), known)}"
        )
    return (unit, key), units[unit].scale(key, item, causality)


def _name(end: tuple[str, str]) -> str:
    """Name "unit.variable" of an end of a connection."""
    return f"{end[0]}.{end[1]}" if end[0] else end[1]

"""`export_fmu`: a model as a functional mock-up unit for co-simulation, with a `Stepper` inside.

Such a unit is coupled to its tool: it holds the model, not its equations, and runs where Python
with flexmbs is installed (``needsExecutionTool``). Its binary, which calls Python, is that of
PythonFMU. Units that need nothing are those of linearized models, `Linearization.export`. Source:
Functional Mock-up Interface 3.0.2 and 2.0.5, Modelica Association.
"""

import dataclasses
import json
import keyword
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flexmbs.api.model import Model
from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import shown
from flexmbs.errors import InputError, MachineError, ModelWarning, raise_problems, warn_caller
from flexmbs.exports.derivatives_library import with_derivatives
from flexmbs.exports.linear_code import required_compiler, unused_name
from flexmbs.files.output import atomic_file, temporary_folder
from flexmbs.files.paths import file_path
from flexmbs.integrators.integrator import is_number
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.function_code import functions_of
from flexmbs.studies.cosimulation.fmu_slave import MODEL, OPTIONS
from flexmbs.studies.cosimulation.state_slopes import coordinates_of
from flexmbs.studies.run.stepper import Stepper
from flexmbs.studies.run.stepper_ports import OF_INPUTS, OF_OUTPUTS, Port, Ports, named

SCRIPT = '''"""The unit {name}, coupled to flexmbs."""

from {package} import Fmi{version}Slave

from flexmbs.studies.cosimulation.fmu_slave import SlaveUnit


# the binary of PythonFMU 0.7 gives back one reference to these names, which it does not own, at each instantiation
kept = globals().setdefault("kept", [])
kept += [globals(), globals()]


class {name}(SlaveUnit, Fmi{version}Slave):
    """A model of flexmbs."""
'''
COMMUNICATIONS = 1000  # within t_end, where neither they nor the steps are given
PACKAGES = {2: "pythonfmu", 3: "pythonfmu3"}


@checked_arguments
def export_fmu(
    model: Model,
    path: str | Path,
    *,
    inputs: Ports = (),
    outputs: Ports = (),
    step: float | None = None,
    t_end: float | None = None,
    communication_step: float | None = None,
    formalism: str | None = None,
    coordinates: str | None = None,
    integrator: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    version: int = 3,
    derivatives: bool | None = None,
) -> Path:
    """Write a model as a co-simulation unit of FMI 3 or 2.

    It runs wherever Python with flexmbs and PythonFMU's binary do.

    path: ends with ``.fmu``; its stem is the name of the unit.  inputs, outputs, step, formalism,
    coordinates, integrator, rtol, atol: as of `Stepper`; names of ports are those of the variables,
    blanks and dots become underscores.  t_end (s): the last time that can be reached.
    communication_step (s): the one suggested to the importing program, ``step`` by default, of
    controlled steps a thousandth of t_end. version: of FMI, 3 or 2. Inputs are held within
    communication steps. States of the unit can be taken, put back and serialized, bitwise. Returns
    the path. derivatives: the unit shows its independent states ``states.hinge_0``,
    ``states.hinge_0_rate`` … with their derivatives, and gives directional derivatives of these and
    of the outputs along states, inputs and (FMI 3) time: A, B, C and D of `linearize` at its
    present state. Its binary is compiled and runs on Linux on x86-64 alone; False: a unit without,
    for all systems of PythonFMU. By default with derivatives where they can be had, else a
    `ModelWarning` says why not: there is no C compiler, or the model has rigid contacts, discrete
    controllers, functions of reactions, or loops of ball joints without single freedoms. Raises
    `InputError`, also for functions and kinds of your own, which a unit does not hold,
    `MachineError` without the extra ``flexmbs[fmu]``.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("slide")
    >>> box = model.add(fm.RigidBody("box", mass=2.0, inertia=(0.1, 0.1, 0.1)))
    >>> rail = model.add(fm.Prismatic("rail", model.ground, box, axis="x"))
    >>> ports = {"inputs": {"push": ("effort", "rail")}, "outputs": {"x": ("coordinate", "rail")}}
    >>> fm.export_fmu(model, "Slide.fmu", step=1e-3, t_end=1.0, **ports).name
    'Slide.fmu'
    """
    path = file_path(path)
    if isinstance(version, bool) or not isinstance(version, int) or version not in PACKAGES:
        raise InputError(f"version: must be 2 or 3 (FMI), not {shown(version)}")
    if path.suffix != ".fmu":
        raise InputError(f"path: must end with '.fmu', not {shown(str(path))}")
    name = identifier(path.stem)
    options: dict[str, Any] = {
        "step": step,
        "t_end": t_end,
        "formalism": formalism,
        "coordinates": coordinates,
        "integrator": integrator,
    }
    options |= {"rtol": rtol, "atol": atol}
    found: dict[str, Any] = {
        "inputs": variables(inputs, "inputs", OF_INPUTS),
        "outputs": variables(outputs, "outputs", OF_OUTPUTS),
    }
    if not found["outputs"]:
        raise InputError(
            "outputs: a unit needs at least one; give, for example, {'angle': "
            "('coordinate', 'hinge')}"
        )
    both = set(found["inputs"]) & set(found["outputs"])
    if both:
        raise InputError(f"outputs.{sorted(both)[0]}: is also the name of an input; rename one")
    stepper = Stepper(model, **options, **found)  # raises for options that cannot run
    _check_code(model)
    states = _states(stepper, derivatives)
    suggested = _communication_step(
        communication_step, step or stepper.t_end / COMMUNICATIONS, stepper.t_end
    )
    builder = _builder(version)
    with temporary_folder("fmu") as place:
        content = place / "content"
        content.mkdir()
        _with_files(model, content).save(content / MODEL)
        experiment = {"t_end": stepper.t_end, "communication_step": suggested}
        units = {**stepper.inputs.units, **stepper.outputs.units}
        facts = {
            "stepper": options | found,
            "experiment": experiment,
            "units": units,
            "version": version,
            "description": model.name,
            "states": states,
        }
        (content / OPTIONS).write_text(json.dumps(facts, indent=1), encoding="utf-8")
        # one process may import it of units of both versions
        script = place / f"flexmbs_{name}_{version}.py"
        script.write_text(
            SCRIPT.format(name=name, package=PACKAGES[version], version=version), encoding="utf-8"
        )
        abilities = {"canGetAndSetFMUstate": True, "canSerializeFMUstate": True}
        # as FMI 3 spells them
        abilities |= {key.replace("state", "State"): True for key in abilities}
        known = list(sys.path)
        try:
            made = builder.build_FMU(
                script, place, project_files=sorted(content.iterdir()), **abilities
            )
        finally:
            sys.path[:] = known  # the builder adds the folder, which is removed
            sys.modules.pop(script.stem, None)
        if states:
            with_derivatives(made, name, version, path)
        else:
            with atomic_file(path) as target:
                shutil.copyfile(made, target)
    return path


def _check_code(model: Model) -> None:
    """Raise `InputError` if the model contains user code, which a unit cannot carry.

    The code would not be available where the unit is run, and would end the program that runs it.
    """
    problems = [
        f"{place}: is your own code, which a unit does not hold; make it an input"
        for place, _ in functions_of(model)
    ]
    raise_problems(problems)


def _states(stepper: Stepper, wanted: bool | None) -> dict[str, Any] | None:
    """Description of the continuous states of the unit; None without derivatives.

    Raises `InputError` and `MachineError` where they are wanted and cannot be had.
    """
    if wanted is not None and not isinstance(wanted, bool):
        raise InputError(f"derivatives: must be True, False or None, not {shown(wanted)}")
    if wanted is False:
        return None
    try:
        required_compiler()
        chosen, compiled = coordinates_of(stepper)
    except (InputError, MachineError) as error:
        text = f"derivatives: {error}"
        if wanted:
            raise type(error)(text) from None
        warn_caller(f"export_fmu: the unit has no directional derivatives: {error}", ModelWarning)
        return None
    stored = chosen.stored(compiled)
    names: list[str] = []
    for name in stored["names"]:
        names.append(unused_name("states." + re.sub(r"\W", "_", name, flags=re.ASCII), names, "_"))
    return stored | {"variables": names}


def _communication_step(given: float | None, default: float, t_end: float) -> float:
    """Suggested communication step (s). Raises `InputError`."""
    if given is None:
        return default
    if not is_number(given) or not 0.0 < given <= t_end:
        raise InputError(
            f"communication_step: must be within 0 … t_end = {t_end:g} s, not {shown(given)}"
        )
    return float(given)


def _builder(version: int) -> Any:
    """FMU builder of PythonFMU. Raises `MachineError` if it is not installed."""
    try:
        if version == 2:
            from pythonfmu.builder import FmuBuilder
        else:
            from pythonfmu3.builder import FmuBuilder
    except ImportError:
        raise MachineError(
            f"export_fmu: needs the package '{PACKAGES[version]}'; pip install flexmbs[fmu]"
        ) from None
    return FmuBuilder


def identifier(text: str) -> str:
    """Text as an identifier of C and Python. Raises `InputError`."""
    found = re.sub(r"\W", "_", text, flags=re.ASCII)
    if not re.match(r"[A-Za-z]", found) or keyword.iskeyword(found):
        raise InputError(
            f"name {shown(text)}: must begin with a letter of A to Z and be no keyword; rename it"
        )
    return found


def variables(ports: Ports, key: str, kinds: Mapping[str, str]) -> dict[str, Port]:
    """Ports by the names of the unit's variables. Raises `InputError`."""
    found: dict[str, Port] = {}
    for name, port in named(ports, key, kinds).items():
        own = identifier(name)
        if own in found or own == "time":
            raise InputError(f"{key}.{name}: a variable '{own}' is there already; rename it")
        found[own] = port
    return found


def _with_files(model: Model, folder: Path) -> Model:
    """Copy of the model whose flexible bodies are stored as files in a folder, without shapes."""
    made = model.without_items()
    made.run, made.shapes, made.folder = model.run, (), Path()
    for section in ("bodies", "joints", "forces", "drives", "couplings", "contacts", "rotors"):
        made.items(section).update(model.items(section))
    for name, body in model.bodies.items():
        made.bodies[name] = body.without_shapes()
    flexible = [
        (name, body) for name, body in model.bodies.items() if isinstance(body, FlexibleBody)
    ]
    for k, (name, body) in enumerate(flexible):
        file = folder / f"body{k + 1}.h5"
        if body.file is None:
            body.data.save(file)
        else:
            shutil.copyfile(model.folder / body.file, file)
        made.bodies[name] = dataclasses.replace(body, file=str(file), data=None, shapes=())
    return made

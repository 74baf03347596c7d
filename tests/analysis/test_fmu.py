"""Units of FMI 2 and 3 through FMPy: valid, equal to the run inside, controlled from outside, with
states.
"""

import sys
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import bars
import numpy as np
import pytest

import flexmbs as fm
from flexmbs.model.declared_values import model_values

sys.path.insert(0, str(Path(__file__).parents[1] / "contract"))
from any_models import any_model
from random_models import driven_coordinates

fmpy = pytest.importorskip("fmpy")
fmi2, fmi3, validation = (
    pytest.importorskip(f"fmpy.{each}") for each in ("fmi2", "fmi3", "validation")
)
pytest.importorskip("pythonfmu")
pytest.importorskip("pythonfmu3")

UNITS = {"motor": "N m", "angle": "rad", "rate": "rad/s"}
PORTS: dict[str, Any] = {
    "inputs": {"motor": ("effort", "hinge")},
    "outputs": {"angle": ("coordinate", "hinge"), "rate": ("rate", "hinge")},
}
KP, KD = 20.0, 2.0


def pendulum(q0: float = 0.4) -> fm.Model:
    return bars.pendulum(q0=q0, com=(0, 0, 0), frames={"pin": (0, 0, 1.0)})


class Slave:
    """A unit in FMPy, with the calls of both versions."""

    def __init__(
        self, file: Path, folder: Path, names: tuple[str, ...] = ("motor", "angle", "rate")
    ) -> None:
        description = fmpy.read_model_description(str(file))
        self.version = int(description.fmiVersion[0])
        place = fmpy.extract(str(file), str(folder / f"unpacked{self.version}"))
        kind = fmi2.FMU2Slave if self.version == 2 else fmi3.FMU3Slave
        self.fmu = kind(
            guid=description.guid,
            unzipDirectory=place,
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName="one",
        )
        refs = {variable.name: variable.valueReference for variable in description.modelVariables}
        self.motor, self.angle, self.rate = (refs[name] for name in names)
        self.fmu.instantiate()
        if self.version == 2:
            self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()

    def step(self, t: float, h: float, motor: float = 0.0) -> None:
        (self.fmu.setReal if self.version == 2 else self.fmu.setFloat64)([self.motor], [motor])
        self.fmu.doStep(t, h)

    def outputs(self) -> tuple[float, float]:
        get = self.fmu.getReal if self.version == 2 else self.fmu.getFloat64
        angle, rate = get([self.angle, self.rate])
        return angle, rate


@pytest.fixture(scope="module", params=[2, 3])
def unit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("unit") / f"Pendulum{request.param}.fmu"
    return fm.export_fmu(
        pendulum(),
        file,
        step=1e-3,
        t_end=2.0,
        communication_step=1e-2,
        version=request.param,
        **PORTS,
    )


@pytest.fixture
def slave(unit: Path, tmp_path: Path) -> Iterator[Slave]:
    made = Slave(unit, tmp_path)
    yield made
    made.fmu.terminate()
    made.fmu.freeInstance()


def test_the_unit_is_valid_and_says_that_it_needs_its_tool(unit: Path) -> None:
    assert validation.validate_fmu(str(unit)) == []
    description = fmpy.read_model_description(str(unit))
    ports = [each for each in description.modelVariables if each.causality in ("input", "output")]
    assert {each.name: each.unit for each in ports} == UNITS
    newton_metre = next(each.baseUnit for each in description.unitDefinitions if each.name == "N m")
    assert (newton_metre.kg, newton_metre.m, newton_metre.s, newton_metre.rad) == (1, 2, -2, 0)
    assert description.coSimulation.needsExecutionTool
    assert description.coSimulation.canGetAndSetFMUstate
    assert float(description.defaultExperiment.stepSize) == pytest.approx(1e-2)


def test_without_inputs_it_is_the_run_of_simulate_bitwise(unit: Path) -> None:
    found = fmpy.simulate_fmu(str(unit), stop_time=1.0, step_size=1e-2, output_interval=1e-2)
    wanted = fm.simulate(pendulum(), t_end=1.0, step=1e-3, output_step=1e-2).joint("hinge")
    assert np.array_equal(found["angle"], wanted.position[:, 0])
    assert np.array_equal(found["rate"], wanted.velocity[:, 0])


def test_with_inputs_and_asked_for_derivatives_it_is_the_stepper_bitwise(slave: Slave) -> None:
    stepper = fm.Stepper(pendulum(), t_end=2.0, step=1e-3, **PORTS)
    for k in range(50):
        stepper.inputs["motor"] = motor = float(np.sin(0.3 * k))
        slave.step(0.01 * k, 0.01, motor)
        slave.fmu.getDirectionalDerivative([slave.angle], [slave.motor], [1.0])
        stepper.advance(0.01 * k + 0.01)
        assert slave.outputs() == (stepper.outputs["angle"], stepper.outputs["rate"])


@pytest.mark.parametrize("plain", [False, True])
def test_libcosim_runs_units_of_fmi_2_as_fmpy_does(plain: bool, tmp_path: Path) -> None:
    """Another importer, with FMI Library: a coupled unit bitwise, a linearized one but for the
    rounding of its steps.
    """
    execution, slaves, observers, manipulators = (
        pytest.importorskip(f"libcosimpy.Cosim{each}")
        for each in ("Execution", "Slave", "Observer", "Manipulator")
    )
    file, names = tmp_path / "Pendulum.fmu", ("motor", "angle", "rate")
    if plain:
        ports = {key: list(PORTS[key].values()) for key in PORTS}
        system = fm.linearize(pendulum(), start=fm.statics(pendulum()), **ports)
        system.export(file, version=2)
        names = (*system.inputs, *system.outputs)
    else:
        fm.export_fmu(pendulum(), file, step=1e-3, t_end=1.0, version=2, **PORTS)
    other = Slave(file, tmp_path, names)
    run = execution.CosimExecution.from_step_size(10_000_000)  # ns
    unit = run.add_local_slave(slaves.CosimLocalSlave(fmu_path=str(file), instance_name="one"))
    seen, given = (
        observers.CosimObserver.create_last_value(),
        manipulators.CosimManipulator.create_override(),
    )
    run.add_observer(seen)
    run.add_manipulator(given)
    refs = {each.name.decode(): each.reference for each in run.slave_variables(unit)}
    motor, *read = (refs[name] for name in names)
    for k, value in enumerate(np.random.default_rng(1).normal(size=30).tolist()):
        given.slave_real_values(unit, [motor], [value])
        assert run.step()
        other.step(0.01 * k, 0.01, value)
        assert np.abs(np.subtract(seen.last_real_values(unit, read), other.outputs())).max() <= (
            1e-15 if plain else 0.0
        )


def test_states_are_put_back_and_serialized_bitwise(slave: Slave) -> None:
    for k in range(10):
        slave.step(0.01 * k, 0.01, 0.5)
    kept = (slave.fmu.getFMUstate if slave.version == 2 else slave.fmu.getFMUState)()
    serialize = slave.fmu.serializeFMUstate if slave.version == 2 else slave.fmu.serializeFMUState
    data = serialize(kept)
    slave.step(0.1, 0.05, -1.0)
    wanted = slave.outputs()
    for state in (
        kept,
        (slave.fmu.deSerializeFMUstate if slave.version == 2 else slave.fmu.deserializeFMUState)(
            data
        ),
    ):
        slave.step(0.15, 0.05, 3.0)
        assert slave.outputs() != wanted
        (slave.fmu.setFMUstate if slave.version == 2 else slave.fmu.setFMUState)(state)
        slave.step(0.1, 0.05, -1.0)
        assert slave.outputs() == wanted


def test_an_external_controller_converges_to_the_run_in_one_piece(
    unit: Path, tmp_path: Path
) -> None:
    """A controller that samples with the communication step delays its torque: an error of first
    order.
    """
    whole = pendulum()
    whole.add(fm.JointTorque("servo", "hinge", fm.PD(KP, KD, reference=0.1)))
    wanted = fm.simulate(whole, t_end=0.8, rtol=1e-9, atol=1e-11).joint("hinge").position[-1, 0]
    errors = []
    for k, h in enumerate((0.02, 0.01, 0.005)):
        slave = Slave(unit, tmp_path / str(k))
        for i in range(round(0.8 / h)):
            angle, rate = slave.outputs()
            slave.step(i * h, h, KP * (0.1 - angle) - KD * rate)
        errors.append(abs(slave.outputs()[0] - wanted))
        slave.fmu.terminate()
        slave.fmu.freeInstance()
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.3)
    assert errors[1] / errors[2] == pytest.approx(2.0, abs=0.3)


class Variables:
    """Value references of a unit by causality, and its calls."""

    def __init__(self, file: Path, folder: Path) -> None:
        self.description = fmpy.read_model_description(str(file))
        about = self.description
        names = [each.name for each in about.modelVariables if each.causality == "output"][:1] * 3
        self.slave = Slave(file, folder, (names[0], names[0], names[0]))
        self.fmu, self.version = self.slave.fmu, self.slave.version
        of = {each.name: each.valueReference for each in about.modelVariables}
        self.inputs = [
            each.valueReference for each in about.modelVariables if each.causality == "input"
        ]
        self.outputs = [each.variable.valueReference for each in about.outputs]
        self.rates = [each.variable.valueReference for each in about.derivatives]
        self.states = [each.variable.derivative.valueReference for each in about.derivatives]
        self.of = of

    def get(self, references: list[int]) -> np.ndarray:
        return (
            np.array((self.fmu.getReal if self.version == 2 else self.fmu.getFloat64)(references))
            if references
            else np.zeros(0)
        )

    def set(self, values: np.ndarray) -> None:
        if self.inputs:
            (self.fmu.setReal if self.version == 2 else self.fmu.setFloat64)(
                self.inputs, values.tolist()
            )

    def kept(self) -> Any:
        return (self.fmu.getFMUstate if self.version == 2 else self.fmu.getFMUState)()

    def put_back(self, state: Any) -> None:
        (self.fmu.setFMUstate if self.version == 2 else self.fmu.setFMUState)(state)

    def slopes(self, unknown: list[int], known: list[int]) -> np.ndarray:
        """∂unknown/∂known, column by column."""
        columns = [self.fmu.getDirectionalDerivative(unknown, [each], [1.0]) for each in known]
        return np.array(columns).reshape(len(known), len(unknown)).T

    def close(self) -> None:
        self.fmu.terminate()
        self.fmu.freeInstance()


def capability(file: Path) -> str | None:
    """Whether the description promises derivatives; adjoint ones it never does."""
    with zipfile.ZipFile(file) as unit:
        given = ElementTree.fromstring(unit.read("modelDescription.xml")).find("CoSimulation")
    assert given is not None
    assert given.get("providesAdjointDerivatives") is None
    found = [
        value
        for key, value in given.attrib.items()
        if key.startswith("providesDirectionalDerivative")
    ]
    return found[0] if len(found) == 1 else None


def test_the_structure_names_what_depends_on_what(unit: Path) -> None:
    about = fmpy.read_model_description(str(unit))
    assert capability(unit) == "true"
    states = {"states.hinge_0", "states.hinge_0_rate"}
    time = {"time"} if about.fmiVersion[0] == "3" else set()
    for unknown in about.outputs:
        assert {each.name for each in unknown.dependencies} == states | time
    for unknown in about.derivatives:
        assert {each.name for each in unknown.dependencies} == states | time | {"motor"}
        assert unknown.variable.name == f"der({unknown.variable.derivative.name})"


def test_derivatives_are_those_of_linearize_and_of_the_pendulum(unit: Path, tmp_path: Path) -> None:
    """At the lower position A, B, C of `linearize`; in motion φ̈ = (M − m g l sin φ)/J."""
    one = Variables(unit, tmp_path)
    for k in range(5):
        one.set(np.array([0.7]))
        one.fmu.doStep(0.1 * k, 0.1)
        phi, J = one.get(one.states)[0], 1.01
        wanted = np.array(
            [
                [0.0, 1.0, 0.0],
                [-9.81 / J * np.cos(phi), 0.0, 1.0 / J],
                [1.0, 0.0, 0.0],
                [0.0, 1.0, 0.0],
            ]
        )
        found = one.slopes([*one.rates, *one.outputs], [*one.states, *one.inputs])
        assert np.abs(found - wanted).max() < 1e-9
        assert one.get(one.rates) == pytest.approx(
            [one.get(one.states)[1], (0.7 - 9.81 * np.sin(phi)) / J], rel=1e-9
        )
    one.close()
    model = pendulum(0.0)
    file = fm.export_fmu(
        model, tmp_path / "Rest.fmu", step=1e-3, t_end=1.0, version=one.version, **PORTS
    )
    ports = {key: list(PORTS[key].values()) for key in PORTS}
    linear = fm.linearize(model, **ports)
    still = Variables(file, tmp_path / "rest")
    found = still.slopes([*still.rates, *still.outputs], [*still.states, *still.inputs])
    assert np.allclose(
        found, np.block([[linear.A, linear.B], [linear.C, linear.feedthrough]]), rtol=0.0, atol=1e-9
    )
    still.close()


def suitable(model: fm.Model) -> bool:
    """No user functions, which no file of the tests holds; no rigid contacts and no friction by
    reactions.
    """
    if any(callable(value) for _, value in model_values(model)) or any(
        each.rigid for each in model.contacts.values()
    ):
        return False
    return not any(
        isinstance(force, fm.PinFriction | fm.GuideFriction | fm.DryFriction)
        for force in model.forces.values()
    )


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("seed", [0, 5, 12, 16, 18, 20, 24, 25, 27, 28])
def test_derivatives_of_random_models_are_differences_through_the_unit(
    seed: int, version: int, tmp_path: Path
) -> None:
    """Along inputs by small changes of these; along the motion ẍ = A ẋ + ∂f/∂t and ẏ = C ẋ + ∂g/∂t
    by small steps.
    """
    model = any_model(seed, fits=suitable).model
    ports: dict[str, Any] = {"inputs": {}, "outputs": {}}
    for name, joint in model.joints.items():
        for v, _ in driven_coordinates(joint):
            ports["inputs"][f"m {name} {v}"] = ("effort", name, v)
            ports["outputs"] |= {
                f"x {name} {v}": ("coordinate", name, v),
                f"v {name} {v}": ("rate", name, v),
            }
    for name in model.bodies:
        ports["inputs"][f"f {name}"], ports["outputs"][f"r {name}"] = (
            ("force", name, "y"),
            ("position", name, "z"),
        )
    h = 1e-4
    file = fm.export_fmu(
        model, tmp_path / "Any.fmu", step=h, t_end=0.1, version=version, derivatives=True, **ports
    )
    assert validation.validate_fmu(str(file)) == []
    one, rng = Variables(file, tmp_path), np.random.default_rng(seed)
    unknown, known = [*one.rates, *one.outputs], [*one.states, *one.inputs]
    time = [one.of["time"]] if version == 3 else []
    for k in range(3):
        given = rng.normal(size=len(one.inputs))
        one.set(given)
        one.fmu.doStep(0.01 * k, 0.01)
        found = one.slopes(unknown, [*known, *time])
        n, m = len(one.states), len(one.inputs)
        for i in range(m):
            values = []
            for sign in (1.0, -1.0):
                one.set(given + sign * 1e-2 * np.eye(m)[i])
                values.append(one.get(unknown))
            wanted = (values[0] - values[1]) / 2e-2
            assert np.abs(wanted - found[:, n + i]).max() < 1e-6 * (1.0 + np.abs(wanted).max())
        one.set(given)
        if version == 2:  # time is not a variable
            continue
        before, rate, state = one.get(unknown), one.get(one.rates), one.kept()
        one.fmu.doStep(0.01 * (k + 1), h)
        after, rate_after = one.get(unknown), one.get(one.rates)
        later = one.slopes(unknown, [*known, *time])
        one.put_back(state)
        both = ((found, rate), (later, rate_after))
        along = sum(
            0.5 * (each[:, :n] @ rates + each[:, n + m :].sum(axis=1)) for each, rates in both
        )
        scale = np.abs(found[:, :n]) @ np.abs(rate) + 1.0
        assert (np.abs((after - before) / h - along) / scale).max() < 1e-4
        assert np.array_equal(one.get(unknown), before)
    one.close()


def test_inputs_that_are_no_numbers_stop_the_step_only(slave: Slave) -> None:
    for value in (np.nan, np.inf):
        with pytest.raises(Exception, match="DoStep failed"):
            slave.step(0.0, 0.01, value)
    slave.step(0.0, 0.01, 1.0)
    assert slave.outputs()[1] != 0.0


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("derivatives", [False, True])
def test_a_unit_that_cannot_begin_tells_it_and_ends_no_program(
    version: int, derivatives: bool, tmp_path: Path
) -> None:
    """Whatever is asked first, in any order: no call is fatal, values are errors or NaN, no step is
    taken.
    """
    whole, file = tmp_path / "Whole.fmu", tmp_path / "Damaged.fmu"
    fm.export_fmu(
        pendulum(), whole, step=1e-3, t_end=1.0, version=version, derivatives=derivatives, **PORTS
    )
    with zipfile.ZipFile(whole) as before, zipfile.ZipFile(file, "w") as after:
        for each in before.namelist():
            after.writestr(each, before.read(each).replace(b"mass = 1.0", b"mass = -1.0"))
    one = Variables(file, tmp_path)
    rng, told = np.random.default_rng(version), list[tuple[int, str]]()
    calls = [
        lambda: one.get([*one.outputs, *one.states, *one.rates]),
        lambda: one.get([99]),
        lambda: one.put_back(one.kept()),
        lambda: one.set(np.ones(1)),
        lambda: one.fmu.doStep(0.0, 0.01),
    ]
    for k in rng.permutation(5 * list(range(len(calls)))):
        try:
            found = calls[k]()
        except Exception as error:
            told.append((k, str(error)))
        else:
            assert found is None or np.isnan(found).all()
    assert [k for k, _ in told].count(len(calls) - 1) == 5
    assert not any("fatal" in text for _, text in told)
    one.close()


def test_a_state_of_other_bytes_and_a_variable_that_is_none_refuse_the_next_step(
    slave: Slave,
) -> None:
    deserialize, put_back = (
        getattr(slave.fmu, name)
        for name in (
            ("deSerializeFMUstate", "setFMUstate")
            if slave.version == 2
            else ("deserializeFMUState", "setFMUState")
        )
    )
    get = slave.fmu.getReal if slave.version == 2 else slave.fmu.getFloat64
    slave.step(0.0, 0.01, 1.0)
    put_back(deserialize(b"no state"))
    with pytest.raises(Exception, match="discard"):
        slave.step(0.01, 0.01, 1.0)
    with pytest.raises(Exception, match="error"):
        get([99])
    slave.step(0.01, 0.01, 1.0)
    assert slave.outputs()[1] != 0.0


def test_steps_from_elsewhere_and_beyond_the_end_are_refused(slave: Slave) -> None:
    with pytest.raises(Exception, match="fmi"):
        slave.step(0.5, 0.01)
    slave.step(0.0, 0.01)
    with pytest.raises(Exception, match="fmi"):
        slave.step(0.01, 5.0)


def test_controlled_steps_have_a_communication_step_too(tmp_path: Path) -> None:
    file = fm.export_fmu(pendulum(), tmp_path / "Controlled.fmu", rtol=1e-6, t_end=2.0, **PORTS)
    assert float(
        fmpy.read_model_description(str(file)).defaultExperiment.stepSize
    ) == pytest.approx(2e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 1}, "version: must be 2 or 3 (FMI), not 1"),
        ({"version": [3]}, "version: must be 2 or 3"),
        (
            {"communication_step": -1.0},
            "communication_step: must be within 0 … t_end = 1 s, not -1.0",
        ),
        ({"communication_step": float("nan")}, "communication_step: must be within 0"),
        ({"communication_step": "fast"}, "communication_step: must be within 0"),
        ({"communication_step": 2.0}, "communication_step: must be within 0"),
        ({"derivatives": "yes"}, "derivatives: must be True, False or None, not 'yes'"),
        ({"path": "unit.zip"}, "path: must end with '.fmu'"),
        ({"path": "1st.fmu"}, "name '1st': must begin with a letter"),
        ({"outputs": {}}, "outputs: a unit needs at least one"),
        ({"outputs": {"motor": ("rate", "hinge")}}, "outputs.motor: is also the name of an input"),
        (
            {"outputs": {"a b": ("rate", "hinge"), "a.b": ("rate", "hinge")}},
            "a variable 'a_b' is there already",
        ),
        ({"inputs": {"motor": ("effort", "knee")}}, "knee"),
    ],
)
def test_bad_arguments(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {"path": "Unit.fmu", "step": 1e-3, "t_end": 1.0, **PORTS} | change
    path = tmp_path / given.pop("path")
    with pytest.raises(fm.InputError) as error:
        fm.export_fmu(pendulum(), path, **given)
    assert message in str(error.value)
    assert not path.exists()


def wind(t: float) -> float:
    return 0.1 * t


def test_code_of_the_user_is_refused(tmp_path: Path) -> None:
    """Also functions that a model file names: in the unit they are not read, which ended the
    importing program.
    """
    model = pendulum()
    model.add(fm.JointTorque("wind", "hinge", fm.Function(wind)))
    with pytest.raises(
        fm.InputError,
        match=r"^forces\.wind\.law\.function: is your own code, which a unit does not hold",
    ):
        fm.export_fmu(model, tmp_path / "Unit.fmu", step=1e-3, t_end=1.0, **PORTS)


def test_without_a_compiler_the_unit_says_that_it_has_no_derivatives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexmbs.exports.linear_code.compiler", lambda: None)
    given: dict[str, Any] = {"step": 1e-3, "t_end": 1.0, **PORTS}
    with pytest.warns(fm.ModelWarning, match="no directional derivatives: a C compiler"):
        file = fm.export_fmu(pendulum(), tmp_path / "Plain.fmu", **given)
    about = fmpy.read_model_description(str(file))
    assert capability(file) == "false"
    assert [each.dependencies for each in about.outputs] == [[], []]
    assert validation.validate_fmu(str(file)) == []
    assert len(fmpy.simulate_fmu(str(file), stop_time=0.1)) > 1
    with pytest.raises(fm.MachineError, match="derivatives: a C compiler"):
        fm.export_fmu(pendulum(), tmp_path / "Plain.fmu", derivatives=True, **given)


def test_models_without_slopes_are_named(tmp_path: Path) -> None:
    model = pendulum()
    model.add(fm.JointLimit("stop", "hinge", lower=-1.0))
    given: dict[str, Any] = {"step": 1e-3, "t_end": 1.0, "integrator": "moreau-jean", **PORTS}
    with pytest.warns(fm.ModelWarning, match=r"no directional derivatives: contacts\.stop"):
        fm.export_fmu(model, tmp_path / "Stop.fmu", **given)
    with pytest.raises(fm.InputError, match=r"derivatives: contacts\.stop"):
        fm.export_fmu(model, tmp_path / "Stop.fmu", derivatives=True, **given)
    with zipfile.ZipFile(
        fm.export_fmu(model, tmp_path / "Stop.fmu", derivatives=False, **given)
    ) as unit:
        assert sum(name.startswith("binaries/") for name in unit.namelist()) > 1  # for all systems


def test_what_is_no_unknown_or_known_is_an_error_and_no_more(unit: Path, tmp_path: Path) -> None:
    description = fmpy.read_model_description(str(unit))
    one = Variables(unit, tmp_path)
    for unknown, known in (
        ([99], one.inputs),
        (one.outputs, [99]),
        (one.inputs, one.states),
        (one.outputs, one.outputs),
    ):
        with pytest.raises(Exception, match="error"):
            one.fmu.getDirectionalDerivative(unknown, known, [1.0] * len(known))
    with pytest.raises(Exception, match="error"):
        one.get([99])
    for reference in (99, one.outputs[0], one.states[0]):  # told in the log, and by the next step
        (one.fmu.setReal if one.version == 2 else one.fmu.setFloat64)([reference], [1.0])
        with pytest.raises(Exception, match="DoStep failed"):
            one.fmu.doStep(0.0, 0.01)
    one.fmu.doStep(0.0, 0.01)
    assert one.slopes(one.outputs, one.inputs).tolist() == [[0.0], [0.0]]
    one.close()
    kind = fmi2.FMU2Slave if one.version == 2 else fmi3.FMU3Slave
    early = kind(
        guid=description.guid,
        unzipDirectory=one.fmu.unzipDirectory,
        modelIdentifier=description.coSimulation.modelIdentifier,
    )
    early.instantiate()
    with pytest.raises(Exception, match="error"):
        early.getDirectionalDerivative(one.outputs, one.inputs, [1.0])
    early.freeInstance()


def test_units_of_both_versions_and_of_one_name_run_beside_each_other_in_threads(
    tmp_path: Path,
) -> None:
    """Their libraries and modules are told apart; each instance has its own state."""
    both: list[Variables] = []
    for version in (2, 3):
        file = tmp_path / str(version) / "Arm.fmu"
        file.parent.mkdir()
        fm.export_fmu(pendulum(), file, step=1e-3, t_end=1.0, version=version, **PORTS)
        both += [Variables(file, tmp_path / f"{version} {k}") for k in range(2)]

    def run(k: int) -> np.ndarray:
        one, rows = both[k], []
        for i in range(20):
            one.set(np.array([float(k)]))
            one.fmu.doStep(0.01 * i, 0.01)
            rows.append(one.slopes(one.rates, [*one.states, *one.inputs]))
        return np.array(rows)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(run, range(4)))
    for k, one in enumerate(both):
        phi = one.get(one.states)[0]
        assert found[k][-1, 1, 0] == pytest.approx(-9.81 / 1.01 * np.cos(phi), rel=1e-9)
        one.close()
    assert not np.array_equal(found[0], found[1])


def test_what_a_model_file_cannot_hold_is_named(tmp_path: Path) -> None:
    model = pendulum()
    model.add(fm.JointTorque("own", "hinge", lambda t, x, v: -x))
    with pytest.raises(fm.InputError, match=r"forces\.own"):
        fm.export_fmu(model, tmp_path / "Unit.fmu", step=1e-3, t_end=1.0, **PORTS)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The unit of the command is valid and has the ports; a wrong port is named."""
    from flexmbs.__main__ import main

    pendulum().save(tmp_path / "pendulum.toml")
    given = [
        "fmu",
        str(tmp_path / "pendulum.toml"),
        "--step",
        "1e-3",
        "--t-end",
        "1",
        "--in",
        "motor=effort,hinge",
    ]
    with pytest.raises(SystemExit) as ended:
        main([*given, "--out", "angle=coordinate,hinge,0", "--out", "z = position, bob/pin, z"])
    assert not ended.value.code
    assert capsys.readouterr().out.strip() == str(tmp_path / "pendulum.fmu")
    description = fmpy.read_model_description(str(tmp_path / "pendulum.fmu"))
    assert {"motor", "angle", "z"} <= {variable.name for variable in description.modelVariables}
    with pytest.raises(SystemExit) as ended:
        main([*given, "--out", "coordinate,hinge"])
    assert ended.value.code == 2
    assert "--out: 'coordinate,hinge' is not a port; give NAME=KIND,ITEM" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main([*given, "--out", "angle=coordinate,hinge", "--out", "angle=rate,hinge"])
    assert ended.value.code == 2
    assert "--out: 'angle' is used twice; give each port its own name" in capsys.readouterr().err

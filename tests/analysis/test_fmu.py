"""Units of FMI 2 and 3 through FMPy: valid, equal to the run inside, controlled from outside, with states."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexmbs as fm

fmpy = pytest.importorskip("fmpy")
fmi2, fmi3, validation = (pytest.importorskip(f"fmpy.{each}") for each in ("fmi2", "fmi3", "validation"))
pytest.importorskip("pythonfmu")
pytest.importorskip("pythonfmu3")

UNITS = {"motor": "N m", "angle": "rad", "rate": "rad/s"}
PORTS: dict[str, Any] = {
    "inputs": {"motor": ("effort", "hinge")}, "outputs": {"angle": ("coordinate", "hinge"), "rate": ("rate", "hinge")},
}  # fmt: skip
KP, KD = 20.0, 2.0


def pendulum() -> fm.Model:
    model = fm.Model("pendulum")
    bob = model.add(fm.RigidBody("bob", mass=1.0, inertia=(0.01, 0.01, 0.01), frames={"pin": (0, 0, 1.0)}))
    model.add(fm.Revolute("hinge", model.ground, bob["pin"], axis="y", q0=0.4))
    return model


class Slave:
    """A unit in FMPy, with the calls of both versions."""

    def __init__(self, file: Path, folder: Path, names: tuple[str, ...] = ("motor", "angle", "rate")) -> None:
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
    return fm.export_fmu(pendulum(), file, step=1e-3, t_end=2.0, communication_step=1e-2, version=request.param, **PORTS)


@pytest.fixture
def slave(unit: Path, tmp_path: Path) -> Iterator[Slave]:
    made = Slave(unit, tmp_path)
    yield made
    made.fmu.terminate()
    made.fmu.freeInstance()


def test_the_unit_is_valid_and_says_that_it_needs_its_tool(unit: Path) -> None:
    assert validation.validate_fmu(str(unit)) == []
    description = fmpy.read_model_description(str(unit))
    assert {each.name: each.unit for each in description.modelVariables if each.name != "time"} == UNITS
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


def test_with_inputs_it_is_the_stepper_bitwise(slave: Slave) -> None:
    stepper = fm.Stepper(pendulum(), t_end=2.0, step=1e-3, **PORTS)
    for k in range(50):
        stepper.inputs["motor"] = motor = float(np.sin(0.3 * k))
        slave.step(0.01 * k, 0.01, motor)
        stepper.advance(0.01 * k + 0.01)
        assert slave.outputs() == (stepper.outputs["angle"], stepper.outputs["rate"])


@pytest.mark.parametrize("plain", [False, True])
def test_libcosim_runs_units_of_fmi_2_as_fmpy_does(plain: bool, tmp_path: Path) -> None:
    """Another importer, with FMI Library: a coupled unit bitwise, a linearized one but for the rounding of its steps."""
    execution, slaves, observers, manipulators = (
        pytest.importorskip(f"libcosimpy.Cosim{each}") for each in ("Execution", "Slave", "Observer", "Manipulator")
    )
    file, names = tmp_path / "Pendulum.fmu", ("motor", "angle", "rate")
    if plain:
        ports = {key: list(PORTS[key].values()) for key in PORTS}
        system = fm.linearize(pendulum(), at=fm.statics(pendulum()), **ports)
        system.export(file, version=2)
        names = (*system.inputs, *system.outputs)
    else:
        fm.export_fmu(pendulum(), file, step=1e-3, t_end=1.0, version=2, **PORTS)
    other = Slave(file, tmp_path, names)
    run = execution.CosimExecution.from_step_size(10_000_000)  # ns
    unit = run.add_local_slave(slaves.CosimLocalSlave(fmu_path=str(file), instance_name="one"))
    seen, given = observers.CosimObserver.create_last_value(), manipulators.CosimManipulator.create_override()
    run.add_observer(seen)
    run.add_manipulator(given)
    refs = {each.name.decode(): each.reference for each in run.slave_variables(unit)}
    motor, *read = (refs[name] for name in names)
    for k, value in enumerate(np.random.default_rng(1).normal(size=30).tolist()):
        given.slave_real_values(unit, [motor], [value])
        assert run.step()
        other.step(0.01 * k, 0.01, value)
        assert np.abs(np.subtract(seen.last_real_values(unit, read), other.outputs())).max() <= (1e-15 if plain else 0.0)


def test_states_are_put_back_and_serialized_bitwise(slave: Slave) -> None:
    for k in range(10):
        slave.step(0.01 * k, 0.01, 0.5)
    kept = (slave.fmu.getFMUstate if slave.version == 2 else slave.fmu.getFMUState)()
    serialize = slave.fmu.serializeFMUstate if slave.version == 2 else slave.fmu.serializeFMUState
    data = serialize(kept)
    slave.step(0.1, 0.05, -1.0)
    wanted = slave.outputs()
    for state in (kept, (slave.fmu.deSerializeFMUstate if slave.version == 2 else slave.fmu.deserializeFMUState)(data)):
        slave.step(0.15, 0.05, 3.0)
        assert slave.outputs() != wanted
        (slave.fmu.setFMUstate if slave.version == 2 else slave.fmu.setFMUState)(state)
        slave.step(0.1, 0.05, -1.0)
        assert slave.outputs() == wanted


def test_an_external_controller_converges_to_the_run_in_one_piece(unit: Path, tmp_path: Path) -> None:
    """A controller that samples with the communication step delays its torque: an error of first order."""
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


def test_inputs_that_are_no_numbers_stop_the_step_only(slave: Slave) -> None:
    for value in (np.nan, np.inf):
        with pytest.raises(Exception, match="DoStep failed"):
            slave.step(0.0, 0.01, value)
    slave.step(0.0, 0.01, 1.0)
    assert slave.outputs()[1] != 0.0


def test_steps_from_elsewhere_and_beyond_the_end_are_refused(slave: Slave) -> None:
    with pytest.raises(Exception, match="fmi"):
        slave.step(0.5, 0.01)
    slave.step(0.0, 0.01)
    with pytest.raises(Exception, match="fmi"):
        slave.step(0.01, 5.0)


def test_controlled_steps_have_a_communication_step_too(tmp_path: Path) -> None:
    file = fm.export_fmu(pendulum(), tmp_path / "Controlled.fmu", rtol=1e-6, t_end=2.0, **PORTS)
    assert float(fmpy.read_model_description(str(file)).defaultExperiment.stepSize) == pytest.approx(2e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 1}, "version: FMI has the versions 2 and 3, not 1"),
        ({"version": [3]}, "version: FMI has the versions 2 and 3"),
        ({"communication_step": -1.0}, "communication_step: must be within 0 … t_end = 1 s, not -1.0"),
        ({"communication_step": float("nan")}, "communication_step: must be within 0"),
        ({"communication_step": "fast"}, "communication_step: must be within 0"),
        ({"communication_step": 2.0}, "communication_step: must be within 0"),
        ({"path": "unit.zip"}, "path: must end with '.fmu'"),
        ({"path": "1st.fmu"}, "name '1st': must begin with a letter"),
        ({"outputs": {}}, "outputs: a unit needs at least one"),
        ({"outputs": {"motor": ("rate", "hinge")}}, "outputs.motor: is also the name of an input"),
        ({"outputs": {"a b": ("rate", "hinge"), "a.b": ("rate", "hinge")}}, "a variable 'a_b' is there already"),
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


def test_what_a_model_file_cannot_hold_is_named(tmp_path: Path) -> None:
    model = pendulum()
    model.add(fm.JointTorque("own", "hinge", lambda t, x, v: -x))
    with pytest.raises(fm.InputError, match=r"forces\.own"):
        fm.export_fmu(model, tmp_path / "Unit.fmu", step=1e-3, t_end=1.0, **PORTS)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The unit of the command is valid and has the ports; a wrong port is named."""
    from flexmbs.__main__ import main

    pendulum().save(tmp_path / "pendulum.toml")
    given = ["fmu", str(tmp_path / "pendulum.toml"), "--step", "1e-3", "--t-end", "1", "--in", "motor=effort,hinge"]
    with pytest.raises(SystemExit) as ended:
        main([*given, "--out", "angle=coordinate,hinge,0", "--out", "z = position, bob/pin, z"])
    assert not ended.value.code
    assert capsys.readouterr().out.strip() == str(tmp_path / "pendulum.fmu")
    description = fmpy.read_model_description(str(tmp_path / "pendulum.fmu"))
    assert {"motor", "angle", "z"} <= {variable.name for variable in description.modelVariables}
    with pytest.raises(SystemExit) as ended:
        main([*given, "--out", "coordinate,hinge"])
    assert ended.value.code == 2
    assert "--out: 'coordinate,hinge' is no port; give NAME=KIND,ITEM" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main([*given, "--out", "angle=coordinate,hinge", "--out", "angle=rate,hinge"])
    assert ended.value.code == 2
    assert "--out: 'angle' occurs twice; give each port its own name" in capsys.readouterr().err

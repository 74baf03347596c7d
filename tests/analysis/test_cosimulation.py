"""Units of other programs coupled with a stepper: a controller made with PythonFMU, and units in
plain C.
"""

import gc
import shutil
import zipfile
from pathlib import Path
from typing import Any

import bars
import numpy as np
import pytest

import flexmbs as fm

pytest.importorskip("fmpy")
builder = pytest.importorskip("pythonfmu.builder")

KP, KD = 20.0, 2.0
CONTROLLER = """
from pythonfmu import Fmi2Causality, Fmi2Slave, Integer, Real

class PD(Fmi2Slave):
    def __init__(self, **given):
        super().__init__(**given)
        self.kp, self.kd, self.angle, self.rate, self.torque, self.count, self.h = 20.0, 2.0, 0.0, 0.0, 0.0, 0, None
        self.register_variable(Integer("count", causality=Fmi2Causality.parameter, variability=FIXED))
        for name in ("kp", "kd"):
            self.register_variable(Real(name, causality=Fmi2Causality.parameter, variability=FIXED))
        for name in ("angle", "rate"):
            self.register_variable(Real(name, causality=Fmi2Causality.input))
        self.register_variable(Real("torque", causality=Fmi2Causality.output))

    def do_step(self, t, h):
        if t > 0.345 and self.kp < 0.0:
            if self.kp < -1.5:
                raise RuntimeError("broken")
            return False
        self.h = self.h or h
        self.torque = -self.kp * self.angle - self.kd * self.rate
        return self.h == h
""".replace("FIXED", "__import__('pythonfmu').enums.Fmi2Variability.tunable")
WIRES = {"motor": "pd.torque", "pd.angle": "angle", "pd.rate": "rate"}
PORTS: dict[str, Any] = {
    "inputs": {"motor": ("effort", "hinge")},
    "outputs": {"angle": ("coordinate", "hinge"), "rate": ("rate", "hinge")},
}


@pytest.fixture(name="unit", scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pd")
    (folder / "pd.py").write_text(CONTROLLER)
    return Path(builder.FmuBuilder.build_FMU(folder / "pd.py", folder))


def pendulum(law: Any = None) -> fm.Model:
    model = bars.pendulum(q0=0.4, com=(0, 0, 0), frames={"pin": (0, 0, 1.0)})
    if law is not None:
        model.add(fm.JointTorque("servo", "hinge", law))
    return model


def stepper(**changes: Any) -> fm.Stepper:
    return fm.Stepper(pendulum(), **{"t_end": 1.0, "step": 1e-3, **PORTS, **changes})


def coupled(unit: Path, h: float, **changes: Any) -> dict[str, np.ndarray]:
    given: dict[str, Any] = {"connections": WIRES, "communication_step": h, **changes}
    return fm.cosimulate(stepper(), {"pd": unit}, **given)


def test_the_run_is_that_of_the_same_controller_by_hand(unit: Path) -> None:
    run, own, torque = coupled(unit, 0.01), stepper(), 0.0
    for k in range(100):
        assert (run["angle"][k], run["rate"][k], run["motor"][k]) == (
            own.outputs["angle"],
            own.outputs["rate"],
            torque,
        )
        own.inputs["motor"], seen = torque, (own.outputs["angle"], own.outputs["rate"])
        own.advance(0.01 * (k + 1))
        torque = -KP * seen[0] - KD * seen[1]
    assert np.array_equal(run["pd.torque"], run["motor"])
    assert len(run["t"]) == 101


def test_the_error_is_of_first_order(unit: Path) -> None:
    whole = (
        fm.simulate(pendulum(fm.PD(KP, KD)), t_end=1.0, rtol=1e-9, atol=1e-11, output_step=1.0)
        .joint("hinge")
        .position[-1, 0]
    )
    errors = [abs(coupled(unit, h)["angle"][-1] - whole) for h in (4e-3, 2e-3, 1e-3)]
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx([1.0, 1.0], abs=0.1)


def test_parameters_and_two_units_in_any_order(unit: Path) -> None:
    """Each has half of the gains; a stepper of its own turns both the pendulum's twin."""
    half = {
        f"{name}.{gain}": 0.5 * value
        for name in ("a", "b")
        for gain, value in (("kp", KP), ("kd", KD))
    }
    ports = {
        "inputs": {"one": ("effort", "hinge"), "two": ("effort", "hinge")},
        "outputs": PORTS["outputs"],
    }
    wires = {"one": "a.torque", "two": "b.torque"} | {
        f"{u}.{x}": x for u in ("a", "b") for x in ("angle", "rate")
    }
    options: dict[str, Any] = {"connections": wires, "communication_step": 0.01, "parameters": half}
    runs = [
        fm.cosimulate(stepper(**ports), dict.fromkeys(order, unit), **options)
        for order in ("ab", "ba")
    ]
    assert all(np.array_equal(runs[0][key], runs[1][key]) for key in runs[0])
    assert runs[0]["angle"] == pytest.approx(coupled(unit, 0.01)["angle"], abs=1e-12)


def rewritten(file: Path, **changes: str) -> Path:
    """A unit with other text in its description."""
    other = file.with_name("other.fmu")
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "modelDescription.xml":
                text = data.decode()
                for before, after in changes.values():
                    assert before in text
                    text = text.replace(before, after)
                data = text.encode()
            new.writestr(name, data)
    return other


def measured(file: Path, variable: str, unit: str, base: str) -> Path:
    """A unit one of whose variables is declared with a unit of measurement."""
    declared = (
        f'<UnitDefinitions><Unit name="{unit}">{base}</Unit></UnitDefinitions><DefaultExperiment'
    )
    return rewritten(
        file,
        a=("<DefaultExperiment", declared),
        b=(f'name="{variable}"', f'name="{variable}" unit="{unit}"'),
    )


@pytest.fixture(name="plain")
def unit_in_c(tmp_path: Path) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    model = pendulum(fm.PD(KP, KD))
    system = fm.linearize(
        model,
        start=fm.statics(model),
        inputs=[("effort", "hinge")],
        outputs=[("coordinate", "hinge")],
    )
    return system.export(tmp_path / "plain.fmu")


def test_declared_units_of_measurement(plain: Path) -> None:
    options: dict[str, Any] = {
        "communication_step": 0.01,
        "connections": {"c.effort hinge": "angle"},
    }

    def input_of(given: Path) -> np.ndarray:
        return fm.cosimulate(stepper(), {"c": given}, **options)["c.effort hinge"]

    degree, newton = (
        '<BaseUnit rad="1" factor="0.017453292519943295"/>',
        '<BaseUnit kg="1" m="1" s="-2"/>',
    )
    assert input_of(measured(plain, "effort hinge", "deg", degree)) == pytest.approx(
        np.degrees(input_of(plain)), rel=1e-14
    )
    with pytest.raises(
        fm.InputError, match=r"'c.effort hinge' and 'angle' differ in their units of measurement"
    ):
        input_of(measured(plain, "effort hinge", "N", newton))
    options["connections"] = {"motor": "c.coordinate hinge"}
    # N on a joint that turns
    with pytest.raises(fm.InputError, match=r"'motor' and 'c.coordinate hinge' differ"):
        input_of(measured(plain, "coordinate hinge", "N", newton))


def test_a_unit_with_steps_of_its_own(plain: Path) -> None:
    own = rewritten(plain, a=("<CoSimulation", '<CoSimulation fixedInternalStepSize="0.004"'))
    options: dict[str, Any] = {"connections": {"motor": "c.coordinate hinge"}, "t_end": 0.6}
    with pytest.raises(
        fm.InputError,
        match=r"communication_step: 0.01 s is not a multiple of 0.004 s, the internal step of "
        r"unit 'c'",
    ):
        fm.cosimulate(stepper(), {"c": own}, communication_step=0.01, **options)
    assert len(fm.cosimulate(stepper(), {"c": own}, communication_step=0.012, **options)["t"]) == 51


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"connections": {"motr": "pd.torque"}},
            "connections.motr: 'motr' is not an input of the stepper nor 'unit.variable'; "
            "did you mean",
        ),
        (
            {"connections": {"motor": "pd.tork"}},
            "connections.motor: unit 'pd' has no variable 'tork'; did you mean 'torque'",
        ),
        ({"connections": {"motor": "pd.angle"}}, "'pd.angle' is of causality input, not output"),
        ({"connections": {}}, "connections: must be a mapping of inputs to outputs"),
        (
            {"connections": {"motor": "angle"}},
            "connections.motor: 'motor' and 'angle' differ in their units",
        ),
        (
            {"communication_step": 0.3},
            "communication_step: 0.3 s does not divide the 1 s to t_end; take 0.333",
        ),
        ({"communication_step": -1.0}, "communication_step: must be within 0 … 1 s, not -1.0"),
        ({"t_end": 2.0}, "t_end: must be after t = 0 s and at most 1 s, not 2.0"),
        ({"parameters": {"kp": 1.0}}, "parameters: 'kp' is not 'unit.variable' of a unit"),
        ({"parameters": {"pd.kq": 1.0}}, "parameters.pd.kq: unit 'pd' has no variable 'kq'"),
        (
            {"parameters": {"pd.kp": "much"}},
            "parameters.pd.kp: 'much' is not a value of a variable of type Real",
        ),
        (
            {"parameters": {"pd.kp": np.nan}},
            "parameters.pd.kp: nan is not a value of a variable of type Real",
        ),
        (
            {"parameters": {"pd.count": 2**32}},
            "parameters.pd.count: 4294967296 is not a value of a variable of type Integer",
        ),
        (
            {"parameters": {"pd.count": 1.5}},
            "parameters.pd.count: 1.5 is not a value of a variable of type Integer",
        ),
        ({"parameters": {"pd.torque": 1.0}}, "parameters.pd.torque: the unit computes it"),
        ({"parameters": [1.0]}, "parameters: must be a mapping of 'unit.variable' to values"),
    ],
)
def test_wrong_input(unit: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(fm.InputError) as told:
        coupled(
            unit,
            **{"h": 0.01}
            | {{"communication_step": "h"}.get(key, key): value for key, value in changes.items()},
        )
    assert message in str(told.value)


def test_files_that_are_no_units(tmp_path: Path) -> None:
    with pytest.raises(fm.InputError, match=r"units.pd: .*none.fmu: no such file"):
        coupled(tmp_path / "none.fmu", 0.01)
    (tmp_path / "text.fmu").write_text("no archive")
    with pytest.raises(fm.InputError, match=r"units.pd: .*FMPy cannot load it"):
        coupled(tmp_path / "text.fmu", 0.01)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            {"modelDescription.xml": b"0" * 150_000_000},
            "1 files of 150 MB, packed 0.1 MB; reduce them",
        ),
        (
            {"../evil": b"x", "modelDescription.xml": b"<fmiModelDescription/>"},
            "contains '../evil', which is outside",
        ),
        (
            {
                "modelDescription.xml": b"<!DOCTYPE f [<!ENTITY a SYSTEM 'file:///etc/hostname'>]><f>&a;</f>"
            },
            "its modelDescription.xml declares a document type (DTD)",
        ),
        (
            {"other.xml": b"<f/>"},
            "FMPy cannot load it: \"There is no item named 'modelDescription.xml'",
        ),
    ],
)
def test_hostile_archives(tmp_path: Path, entries: dict[str, bytes], message: str) -> None:
    with zipfile.ZipFile(tmp_path / "bad.fmu", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    with pytest.raises(fm.InputError) as told:
        coupled(tmp_path / "bad.fmu", 0.01)
    assert f"units.pd: {tmp_path / 'bad.fmu'}: {message}" in str(told.value)


def test_a_unit_without_connection(unit: Path) -> None:
    with pytest.raises(
        fm.InputError, match=r"units.b: has no connection; connect it or leave it out"
    ):
        fm.cosimulate(
            stepper(), {"pd": unit, "b": unit}, connections=WIRES, communication_step=0.01
        )


def test_a_unit_that_fails(unit: Path) -> None:
    with pytest.raises(fm.SolverError, match=r"units.pd: step at t = 0.35 s: the unit failed"):
        coupled(unit, 0.01, parameters={"pd.kp": -1.0})


def test_a_unit_that_fails_for_good(unit: Path) -> None:
    """FMI allows no call of a unit after a fatal error: one would end this process."""
    for _ in range(2):
        with pytest.raises(
            fm.SolverError, match=r"units.pd: step at t = 0.35 s: the unit failed: .*fatal"
        ):
            coupled(unit, 0.01, parameters={"pd.kp": -2.0})
        gc.collect()
    assert np.isfinite(coupled(unit, 0.01, parameters={"pd.count": np.int64(3)})["angle"]).all()


@pytest.mark.parametrize("name", ["a.b", "", "../up", 1])
def test_names_of_units(unit: Path, name: Any) -> None:
    with pytest.raises(fm.InputError, match=r"units: .* is not a name; give a text without a dot"):
        fm.cosimulate(stepper(), {name: unit}, connections=WIRES, communication_step=0.01)


def test_one_name_for_an_input_and_an_output(unit: Path) -> None:
    ports = {
        "inputs": {"hinge": ("effort", "hinge")},
        "outputs": {"hinge": ("coordinate", "hinge")},
    }
    with pytest.raises(
        fm.InputError,
        match=r"connections: 'hinge' is an input and an output of the stepper; give one another",
    ):
        fm.cosimulate(
            stepper(**ports),
            {"pd": unit},
            connections={"hinge": "pd.torque", "pd.angle": "hinge"},
            communication_step=0.01,
        )

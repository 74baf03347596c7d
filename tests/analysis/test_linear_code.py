"""Linearized models for other programs: C compiled and run, units in FMPy, texts read back."""

import re
import shutil
import subprocess
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from draws import drawn
from scipy.linalg import expm
from scipy.signal import cont2discrete, lti

import flexmbs as fm
from flexmbs.exports.linear_code import LinearSystem, balance, write_linear

COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")


def crane(driven: bool = False) -> fm.Model:
    model = fm.Model('crane "1" * %{x}')
    trolley = model.add(fm.RigidBody("trolley", mass=5.0, inertia=(0.1, 0.1, 0.1)))
    load = model.add(
        fm.RigidBody("load", mass=2.0, inertia=(1e-3, 1e-3, 1e-3), frames={"hook": (0, 0, 1.0)})
    )
    rail = model.add(fm.Prismatic("rail", model.ground, trolley, axis="x"))
    cable = model.add(fm.Revolute("cable", trolley, load["hook"], axis="y"))
    model.add(fm.JointSpring("damping", rail, c=2.0))
    model.add(fm.JointTorque("brake", cable, fm.Maxwell(k=3.0, relaxation_time=0.2, c0=0.5)))
    if driven:
        model.add(fm.Drive("motor", rail, 0.0))
    return model


def linear(driven: bool = False) -> fm.Linearization:
    inputs: list[Any] = (
        [("drive", "motor")] if driven else [("effort", "rail"), ("torque", "load", "y")]
    )
    return fm.linearize(
        crane(driven), inputs=inputs, outputs=[("position", "load", "x"), ("rate", "cable")]
    )


def discrete(system: fm.Linearization, h: float) -> tuple[np.ndarray, ...]:
    found = cont2discrete((system.A, system.B, system.C, system.feedthrough), h)
    return tuple(np.asarray(each) for each in found[:4])


def held(system: fm.Linearization, h: float, inputs: np.ndarray) -> np.ndarray:
    """Outputs at the ends of steps with held inputs, by SciPy."""
    A, B, C, D, x = *discrete(system, h), np.zeros(len(system.A))
    out = []
    for u in inputs:
        x = A @ x + B @ u
        out.append(C @ x + D @ u)
    return np.array(out)


def described(file: Path) -> list[str]:
    """Names of the variables in the description of a unit."""
    with zipfile.ZipFile(file) as unit:
        root = ElementTree.fromstring(unit.read("modelDescription.xml"))
    return [each.attrib["name"] for each in root.find("ModelVariables")]  # type: ignore[union-attr]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", ['say "hop"', "<b> & 'c'", "ä * {%}", "a (m) (N)"])
def test_any_names_and_ports_that_are_twice_there_make_valid_descriptions(
    name: str, version: int, tmp_path: Path
) -> None:
    model = fm.Model(name)
    load = model.add(fm.RigidBody(name, mass=2.0, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Prismatic(name, model.ground, load, axis="x"))
    ports: Any = {
        "inputs": [("effort", name)] * 2,
        "outputs": [("coordinate", name), ("coordinate", name), ("position", load, "x")],
    }
    names = described(fm.linearize(model, **ports).export(tmp_path / "unit.fmu", version=version))
    # the time is a variable of FMI 3
    assert len(set(names)) == len(names) == (version == 3) + 2 + 3 + 2
    assert f"effort {name}" in names


@pytest.mark.parametrize(
    "word",
    ["end.mo", "model.mo", "while.m", "equations.ssc", "A.mo", "x.mo", "ss.m", "D.m", "x1.ssc"],
)
def test_keywords_and_names_within_the_files_are_no_names(word: str, tmp_path: Path) -> None:
    with pytest.raises(
        fm.InputError, match="is a keyword of that language or a name within the file; rename it"
    ):
        linear().export(tmp_path / word)


@pytest.mark.parametrize("driven", [False, True])
def test_compiled_c_has_the_step_response(driven: bool, tmp_path: Path) -> None:
    system = linear(driven)
    file = system.export(tmp_path / "crane.c")
    assert COMPILER
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-DMAIN"]
    subprocess.run([COMPILER, *strict, str(file), "-o", str(tmp_path / "crane"), "-lm"], check=True)
    printed = subprocess.run(
        [str(tmp_path / "crane"), "0.05", "100"], capture_output=True, text=True, check=True
    ).stdout
    found = np.array([[float(each) for each in line.split()] for line in printed.splitlines()])
    wanted = held(system, 0.05, np.ones((100, len(system.inputs))))
    np.testing.assert_allclose(found[1:, 1:], wanted, atol=1e-11 * np.abs(wanted).max())
    np.testing.assert_allclose(found[:, 0], 0.05 * np.arange(101), atol=1e-12)


@needs_compiler
@pytest.mark.parametrize("version", [2, 3])
def test_units_in_plain_c_run_in_fmpy(version: int, tmp_path: Path) -> None:
    fmpy = pytest.importorskip("fmpy")
    fmi2, fmi3, validation = (
        pytest.importorskip(f"fmpy.{each}") for each in ("fmi2", "fmi3", "validation")
    )
    system = linear()
    file = system.export(tmp_path / "Crane.fmu", version=version)
    assert validation.validate_fmu(str(file)) == []
    description = fmpy.read_model_description(str(file))
    assert not description.coSimulation.needsExecutionTool
    kind = fmi2.FMU2Slave if version == 2 else fmi3.FMU3Slave
    place, unit = (
        fmpy.extract(str(file), str(tmp_path / "unit")),
        description.coSimulation.modelIdentifier,
    )
    slave = kind(
        guid=description.guid, unzipDirectory=place, modelIdentifier=unit, instanceName="one"
    )
    refs = {each.name: each.valueReference for each in description.modelVariables}
    slave.instantiate()
    slave.enterInitializationMode()
    slave.exitInitializationMode()
    get, put = (
        (slave.getReal, slave.setReal) if version == 2 else (slave.getFloat64, slave.setFloat64)
    )
    inputs = np.random.default_rng(1).normal(size=(40, 2))
    found = []
    for k, u in enumerate(inputs):
        put([refs[name] for name in system.inputs], list(u))
        slave.doStep(0.03 * k, 0.03)
        found.append(get([refs[name] for name in system.outputs]))
        if k == 20:  # away and back
            state = slave.getFMUstate() if version == 2 else slave.getFMUState()
            data = (
                slave.serializeFMUstate(state) if version == 2 else slave.serializeFMUState(state)
            )
            slave.doStep(0.03 * k + 0.03, 0.5)
            kept = (
                slave.deSerializeFMUstate(data) if version == 2 else slave.deserializeFMUState(data)
            )
            (slave.setFMUstate if version == 2 else slave.setFMUState)(kept)
    wanted = held(system, 0.03, inputs)
    np.testing.assert_allclose(found, wanted, atol=1e-11 * np.abs(wanted).max())
    unknown, known = [refs[name] for name in system.outputs], [refs[system.inputs[0]]]
    slope = slave.getDirectionalDerivative(unknown, known, [1.0])
    np.testing.assert_allclose(slope, system.feedthrough[:, 0], atol=1e-15)
    slave.terminate()
    slave.freeInstance()


def any_system(seed: int) -> LinearSystem:
    """Of any numbers of states, inputs and outputs, also none, in units far apart."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(0, 9)), int(rng.integers(0, 4))
    p = int(rng.integers(0 if n + m else 1, 4))
    size = 10.0 ** rng.uniform(-6, 6, n)
    A, B = (
        rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-2, 4),
        rng.normal(size=(n, m)) * 10.0 ** rng.uniform(-3, 6),
    )
    names = [
        [f"{letter}{k} (m)" for k in range(count)]
        for letter, count in (("x", n), ("u", m), ("y", p))
    ]
    scaled = (
        size[:, None] * A / size,
        size[:, None] * B,
        rng.normal(size=(p, n)) / size,
        rng.normal(size=(p, m)),
    )
    return LinearSystem(f"any {seed}", *scaled, *names)


@needs_compiler
@pytest.mark.parametrize("seed", drawn((0, 3, 8, 20, 27, 33), 60))
def test_random_systems(seed: int, tmp_path: Path) -> None:
    """Compiled C against the matrix exponential of SciPy; descriptions of units are valid."""
    system, rng = any_system(seed), np.random.default_rng(seed)
    n, m = system.B.shape
    h = float(
        10.0 ** rng.uniform(-2, 0) / (np.abs(np.linalg.eigvals(system.A)).max(initial=0.0) or 1.0)
    )
    write_linear(system, tmp_path / "any.c")
    assert COMPILER
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-DMAIN"]
    subprocess.run([COMPILER, *strict, "any.c", "-o", "any", "-lm"], cwd=tmp_path, check=True)
    printed = subprocess.run(
        [str(tmp_path / "any"), repr(h), "10"], capture_output=True, text=True, check=True
    ).stdout
    found = np.array([[float(each) for each in line.split()[1:]] for line in printed.splitlines()])
    T = np.array(balance(system.A, system.B))
    E = (
        expm(h * np.block([[system.A, system.B], [np.zeros((m, n + m))]]) * T / T[:, None])
        * T[:, None]
        / T
    )
    z, wanted = np.concatenate([np.zeros(n), np.ones(m)]), []
    for _ in range(11):
        wanted.append(np.hstack([system.C, system.D]) @ z)
        z = E @ z
    np.testing.assert_allclose(
        found, np.array(wanted), rtol=1e-9, atol=1e-9 * np.abs(wanted).max(initial=0.0)
    )
    validation = pytest.importorskip("fmpy.validation")
    for version in (2, 3):
        assert (
            validation.validate_fmu(
                str(write_linear(system, tmp_path / "Any.fmu", version=version))
            )
            == []
        )


@needs_compiler
@pytest.mark.parametrize("version", [2, 3])
def test_units_in_threads_do_not_disturb_each_other(version: int, tmp_path: Path) -> None:
    """Each step with another size, for which the exponential is computed anew, beside another unit
    that does the same.
    """
    fmpy = pytest.importorskip("fmpy")
    fmi2, fmi3 = (pytest.importorskip(f"fmpy.{each}") for each in ("fmi2", "fmi3"))
    rng, n = np.random.default_rng(0), 24
    A, B, C = (
        rng.normal(size=(n, n)) - 6.0 * np.eye(n),
        rng.normal(size=(n, 1)),
        rng.normal(size=(1, n)),
    )
    system = LinearSystem(
        "any", A, B, C, np.zeros((1, 1)), [f"x{k}" for k in range(n)], ["u"], ["y"]
    )
    file = write_linear(system, tmp_path / "Any.fmu", version=version)
    description = fmpy.read_model_description(str(file))
    kind, place = (
        fmi2.FMU2Slave if version == 2 else fmi3.FMU3Slave,
        fmpy.extract(str(file), str(tmp_path / "unit")),
    )

    def outputs(number: int) -> list[float]:
        slave = kind(
            guid=description.guid,
            unzipDirectory=place,
            modelIdentifier="Any",
            instanceName=f"unit {number}",
        )
        slave.instantiate()
        slave.enterInitializationMode()
        slave.exitInitializationMode()
        get, put = (
            (slave.getReal, slave.setReal) if version == 2 else (slave.getFloat64, slave.setFloat64)
        )
        put([1], [1.0])
        t, found = 0.0, []
        for k in range(400):
            h = 0.01 * (1 + (k + number) % 3)
            slave.doStep(t, h)
            t += h
            found += get([2])
        slave.terminate()
        slave.freeInstance()
        return found

    alone = [outputs(number) for number in range(2)]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(outputs, range(2))) == alone


@needs_compiler
def test_a_free_motion_from_given_states(tmp_path: Path) -> None:
    fmpy = pytest.importorskip("fmpy")
    system = linear()
    file = system.export(tmp_path / "Crane.fmu")
    start = {"cable.0 (state)": 0.3}
    options: dict[str, Any] = {
        "stop_time": 2.0,
        "step_size": 0.1,
        "output_interval": 0.1,
        "output": list(system.outputs),
    }
    found = fmpy.simulate_fmu(str(file), start_values=start, **options)
    free = lti(system.A, system.B, system.C, system.feedthrough)
    x0 = 0.3 * np.eye(len(system.A))[system.coordinates.index("cable.0")]
    _, wanted, _ = free.output(np.zeros((21, 2)), 0.1 * np.arange(21), X0=x0)
    for k, name in enumerate(system.outputs):
        np.testing.assert_allclose(found[name], wanted[:, k], atol=1e-10)


def test_matlab_modelica_and_simscape_texts_hold_the_same_numbers(tmp_path: Path) -> None:
    system = linear()
    wanted = np.concatenate(
        [each.ravel() for each in (system.A, system.B, system.C, system.feedthrough)]
    )
    number = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
    matlab = system.export(tmp_path / "crane.m").read_text()
    blocks = re.findall(r"^[ABCD] = \[(.*?)\];", matlab, re.MULTILINE | re.DOTALL)
    found = [float(each) for block in blocks for each in re.findall(number, block)]
    assert np.array_equal(found, wanted)
    modelica = system.export(tmp_path / "crane.mo").read_text()
    blocks = re.findall(r"= (\{\{.*\}\});", modelica)
    found = [float(each) for block in blocks for each in re.findall(number, block)]
    assert np.array_equal(found, wanted)
    simscape = system.export(tmp_path / "crane.ssc").read_text()
    rows = re.findall(r"der\(x\d+\) == \{1, '1/s'\} \* \((.*)\);", simscape)
    x, u = np.random.default_rng(0).normal(size=len(system.A)), np.array([0.7, -0.4])
    names = {f"x{k + 1}": v for k, v in enumerate(x)} | {f"u{k + 1}": v for k, v in enumerate(u)}
    np.testing.assert_allclose(
        [eval(row, names) for row in rows], system.A @ x + system.B @ u, rtol=1e-12
    )
    for text in (matlab, modelica, simscape):
        assert "crane  1      x " in text


@pytest.mark.skipif(shutil.which("octave") is None, reason="needs GNU Octave")
def test_octave_reads_the_matrices(tmp_path: Path) -> None:
    system = linear()
    system.export(tmp_path / "crane.m")
    script = "[~, A, B, C, D] = crane(); printf('%.17g ', A', B', C', D');"
    printed = subprocess.run(
        ["octave", "-q", "--eval", script], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    found = np.array([float(each) for each in printed.split()])
    assert np.array_equal(
        found,
        np.concatenate(
            [each.ravel() for each in (system.A, system.B, system.C, system.feedthrough)]
        ),
    )


@pytest.mark.skipif(shutil.which("omc") is None, reason="needs OpenModelica")
def test_openmodelica_checks_the_model(tmp_path: Path) -> None:
    linear().export(tmp_path / "crane.mo")
    (tmp_path / "check.mos").write_text(
        'loadFile("crane.mo"); checkModel(crane); getErrorString();'
    )
    printed = subprocess.run(
        ["omc", "check.mos"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert "Check of crane completed successfully" in printed


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("crane.txt", "path: must end with one of .c, .mo, .m, .ssc, .fmu, not 'crane.txt'"),
        ("1.c", "path: the name '1' must start with a letter"),
    ],
)
def test_bad_paths(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(fm.InputError, match=re.escape(message)):
        linear().export(tmp_path / name)


def test_bad_version_and_motion(tmp_path: Path) -> None:
    with pytest.raises(fm.InputError, match=r"version: must be 2 or 3 \(FMI\), not 1"):
        linear().export(tmp_path / "a.fmu", version=1)
    moving = fm.state(crane(), position={"cable": 0.4}, velocity={"cable": 1.0})
    system = fm.linearize(
        crane(), start=moving, inputs=[("effort", "rail")], outputs=[("rate", "rail")]
    )
    with pytest.raises(fm.InputError, match="export: the model does not rest"):
        system.export(tmp_path / "a.c")

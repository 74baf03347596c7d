"""The command line: exit codes, messages, files, and what it imports."""

import itertools
import json
import signal
import subprocess
import sys
import time
import tomllib
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.__main__ import main
from flexmbs.api.solution import Solution
from flexmbs.command.item_help import example, keys
from flexmbs.command.listing import all_kinds
from flexmbs.console.interrupts import ENDING
from flexmbs.console.messages import put
from flexmbs.declaration import Declaration

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and streams")

MODEL = """format = "flexmbs-model/1"
name = "pendulum"
[bodies.rod]
kind = "rigid"
mass = 1.0
inertia = [0.01, 0.1, 0.1]
com = [0.5, 0.0, 0.0]
frames = { tip = [1.0, 0.0, 0.0] }
[joints.hinge]
kind = "revolute"
parent = "ground"
child = "rod"
axis = "y"
"""
RUN = """[run]
t_end = 0.05
step = 0.01
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "pendulum.toml"
    path.write_text(MODEL + RUN)
    return path


def call(*arguments: object) -> int:
    """Exit code of the command line in this process."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


def test_help_imports_no_numpy() -> None:
    code = (
        "import sys, flexmbs.__main__ as m\n"
        "try: m.main(['--help'])\n"
        "except SystemExit as stop: assert not stop.code\n"
        "heavy = {'numpy', 'scipy', 'numba', 'matplotlib', 'h5py', 'pydantic', 'jinja2'} "
        "& set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    for command in (
        "demo",
        "examples",
        "check",
        "run",
        "report",
        "view",
        "export",
        "list",
        "schema",
        "warmup",
        "preprocess",
    ):
        assert command in done.stdout


def test_run_report_export(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = model.parent
    assert call("run", model, "-o", folder / "out.h5", "--report", folder / "out.html") == 0
    told = capsys.readouterr()
    assert told.out.splitlines()[-1] == "PASS"
    assert told.err == ""
    assert (folder / "out.summary.json").exists()
    np.testing.assert_allclose(Solution.load(folder / "out.h5").t, np.arange(6) * 0.01, atol=1e-15)
    assert call("report", folder / "out.h5", "-o", folder / "again.html") == 0
    assert "<h1>pendulum</h1>" in (folder / "again.html").read_text()
    capsys.readouterr()
    assert call("report", folder / "out.h5", "-o", folder / "report.docx") == 2
    assert "use the suffix .html or .pdf, not .docx" in capsys.readouterr().err
    assert not (folder / "report.docx").exists()
    assert call("export", folder / "out.h5") == 0
    assert (
        (folder / "out" / "joints.csv")
        .read_text()
        .startswith("t [s],hinge.0 position [rad],hinge.0 velocity [rad/s],")
    )
    assert call("export", folder / "out.h5", "--no-csv") == 2
    assert (
        call(
            "export",
            folder / "out.h5",
            "-o",
            folder / "more",
            "--no-csv",
            "--mat",
            "--vtkhdf",
            "--gltf",
            "--instants",
            "3",
        )
        == 0
    )
    assert {path.name for path in (folder / "more").iterdir()} == {
        "out.mat",
        "out.vtkhdf",
        "out.glb",
    }


def test_options_replace_the_run_table(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = (
        "--t-end",
        "0.04",
        "--step",
        "0.02",
        "--coordinates",
        "absolute",
        "--integrator",
        "dormand-prince",
        "--rtol",
        "1e-7",
    )
    assert call("run", model, *given, "--json") == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["t_end"] == 0.04
    assert numbers["statistics"]["steps"] == 2
    assert numbers["files"]["solution"] == str(model.with_suffix(".h5"))
    told = {key: numbers["options"][key] for key in ("coordinates", "integrator", "rtol")}
    assert told == {"coordinates": "absolute", "integrator": "dormand-prince", "rtol": 1e-7}


def test_check(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("check", model) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "ready to run"
    assert call("check", model, "--json") == 0
    assert json.loads(capsys.readouterr().out)["ready"] is True
    model.write_text(MODEL.replace('"rod"', '"rot"').replace("mass = 1.0", "mas = 1.0"))
    assert call("check", model) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3  # the unknown key, the missing mass, the unknown body: all together
    assert all(line.startswith(f"error: {model}") for line in lines)
    assert any("mas: unknown key; did you mean 'mass'?" in line for line in lines)
    assert call("check", model, "--json") == 2
    assert len(json.loads(capsys.readouterr().out)["errors"]) == 3


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("run", "missing.toml"),
            2,
            "error: missing.toml: cannot be read: No such file or directory",
        ),
        (("run", "{model}", "--t-end", "-1"), 2, "t_end"),
        (("run", "{model}", "--step", "9"), 2, "must not exceed t_end"),
        (
            ("run", "{model}", "--formalism", "magic"),
            2,
            "formalism: unknown choice 'magic'; known: embedding",
        ),
        (("run", "{model}", "--integrator", "euler"), 2, "integrator: unknown choice 'euler'"),
        (("run", "{model}", "--rtol", "1e-20"), 2, "rtol"),
        (("run", "{model}", "--t-end", "soon"), 2, "--t-end"),
        (("run", "{model}", "-o", "{folder}/nowhere/x.h5"), 2, "the folder"),
        (("report", "{model}"), 2, "is not an HDF5 file; create one with flexmbs run"),
        (("list", "gadgets"), 2, "list: unknown family or kind 'gadgets'; families: bodies"),
        (("list", "revolut"), 2, "did you mean 'revolute'?"),
        (("frobnicate",), 2, "No such command 'frobnicate'"),
        (("preprocess", "inspect", "{model}"), 2, "is not an HDF5 file"),
        (
            ("preprocess", "reduce", "{model}"),
            2,
            "format: is 'flexmbs-model/1'; a part file starts with format = \"flexmbs-part/1\"",
        ),
    ],
)
def test_bad_input(
    arguments: tuple[str, ...],
    code: int,
    message: str,
    model: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    filled = [argument.format(model=model, folder=model.parent) for argument in arguments]
    assert call(*filled) == code
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told


def test_model_without_run_table_needs_an_end(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model.write_text(MODEL)
    assert call("run", model) == 2
    assert (
        "error: run.t_end: model 'pendulum' has no [run] table; give the end time, --t-end 1.0"
        in capsys.readouterr().err
    )


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("list", "--json") == 0
    kinds = json.loads(capsys.readouterr().out)
    assert {"rigid", "flexible", "point-mass"} <= kinds["bodies"].keys()
    assert {"revolute", "spherical", "screw"} <= kinds["joints"].keys()
    assert "multiplier" in kinds["formalisms"]
    assert "generalized-alpha" in kinds["integrators"]
    assert all(line for family in kinds.values() for line in family.values())
    assert call("list", "joints") == 0
    assert "revolute" in capsys.readouterr().out


def test_list_of_one_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("list", "revolute") == 0
    told = capsys.readouterr().out
    assert told.startswith("revolute (joints)\n\nRotation about an axis; one coordinate in rad.\n")
    assert (
        "\n  v0 : float, floats or None [m/s, rad/s], default None\n      Initial velocities"
        in told
    )
    assert '[joints.my-revolute]\nkind = "revolute"\nparent = "link/tip"\n' in told
    assert call("list", "screw") == 0  # a joint, a motion and a coupling
    assert [
        line for line in capsys.readouterr().out.splitlines() if line.startswith("screw (")
    ] == [
        "screw (joints)",
        "screw (motions)",
        "screw (couplings)",
    ]
    assert call("list", "generalized-alpha", "--json") == 0
    assert "rho_inf: spectral radius" in json.loads(capsys.readouterr().out)["integrators"]


KINDS = [
    (family, kind)
    for family, kinds in all_kinds().items()
    for kind, cls in kinds.items()
    if issubclass(cls, Declaration)
]


@pytest.mark.parametrize(("family", "kind"), KINDS)
def test_the_example_of_every_kind_is_read(
    family: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = all_kinds()[family][kind]
    (tmp_path / "my_module.py").write_text("def function(*arguments):\n    return 0.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_module", raising=False)
    text = example(cls)
    table: Any = tomllib.loads(text if text.startswith("[") else f"item = {text}")
    while "kind" not in table:
        (name, table), *others = table.items()
        assert not others
    given = {key: value for key, value in table.items() if key != "kind"}
    made = cls.read(given | ({"name": name} if "name" in cls.field_names() else {}))
    assert made.kind == table["kind"] == kind
    assert all(f"  {key} : " in keys(cls) for key in cls.field_names() if key != "name")


def test_every_kind_of_the_package_is_listed() -> None:
    def below(cls: type[Any]) -> list[type[Any]]:
        return [each for child in type.__subclasses__(cls) for each in (child, *below(child))]

    kinds = {
        each
        for each in below(Declaration)
        if vars(each).get("kind") and each.__module__.startswith("flexmbs.")
    }
    listed = {cls for family in all_kinds().values() for cls in family.values()}
    assert kinds - listed == set()
    assert len(kinds) > 80


def test_help_shows_whole_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (("--help",), ("preprocess", "--help")):
        assert call(*arguments) == 0
        commands = capsys.readouterr().out.partition("Commands:")[2].splitlines()
        assert len(commands) > 5
        assert not any(line.endswith("...") for line in commands)


Captured = pytest.CaptureFixture[str]


def test_solver_stop_keeps_what_was_computed(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    import flexmbs.studies.run.simulate as analysis

    whole = analysis.simulate

    def stopping(*given: object, **options: object) -> object:
        raise fm.SolverError("stuck at t = 0.05 s", whole(*given, **options))  # type: ignore[arg-type]

    monkeypatch.setattr(analysis, "simulate", stopping)
    assert call("run", model) == 3
    assert "error: stuck at t = 0.05 s" in capsys.readouterr().err
    assert len(Solution.load(model.with_suffix(".h5")).t) == 6


@pytest.mark.parametrize(("error", "code"), [(MemoryError(), 4), (KeyError("x"), 1)])
def test_other_failures(
    error: Exception, code: int, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    import flexmbs.studies.run.simulate as analysis

    def failing(*given: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(analysis, "simulate", failing)
    assert call("run", model) == code
    message = capsys.readouterr().err
    assert {4: "memory", 1: "internal error: KeyError"}[code] in message
    assert "Traceback" not in message


def test_own_function_fails_with_its_traceback(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (model.parent / "own_law_of_test.py").write_text("def push(t):\n    return 1.0 / (t - t)\n")
    law = '{ kind = "function", function = "own_law_of_test:push" }'
    push = f'[forces.push]\nkind = "joint-torque"\njoint = "hinge"\nlaw = {law}\n'
    model.write_text(MODEL + push + RUN)
    assert call("run", model, "--allow-code") == 2
    told = capsys.readouterr().err
    assert "own_law_of_test.py" in told
    assert told.splitlines()[-1].startswith(
        "error: ZeroDivisionError in the function of forces.push at t = "
    )


@pytest.mark.parametrize("number", ENDING)
def test_interrupt(number: signal.Signals, model: Path) -> None:
    started = model.parent / "started"
    (model.parent / "telling_law_of_test.py").write_text(
        f"import pathlib\ndef push(t):\n    pathlib.Path({str(started)!r}).touch()\n    "
        "return 0.0\n"
    )
    law = '{ kind = "function", function = "telling_law_of_test:push" }'
    model.write_text(
        MODEL + f'[forces.push]\nkind = "joint-torque"\njoint = "hinge"\nlaw = {law}\n' + RUN
    )
    options = ["--t-end", "1e4", "--step", "1e-3", "--output-step", "10", "--allow-code"]
    arguments = [sys.executable, "-m", "flexmbs", "run", str(model), *options]
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while not started.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(number)
    _, told = process.communicate(timeout=180)  # the kernels may have to be compiled first
    assert process.returncode == 128 + number, told
    assert "interrupted" in told
    assert "Traceback" not in told


@POSIX
def test_a_current_folder_that_was_removed_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert call("view", "part.step") == 4
    assert capsys.readouterr().err == (
        "error: the current folder: No such file or directory; change to a folder that exists\n"
    )


HALF_MADE = """
import os, signal, typer
from flexmbs.console.program import run
class Half:
    def __del__(self):
        raise AttributeError("_as_parameter_")
kept, app = [], typer.Typer()
@app.command()
def stopped():
    kept.append(Half())
    os.kill(os.getpid(), signal.SIGTERM)
try:
    run(app, "program", [])
finally:
    kept.clear()
"""


def test_objects_that_an_interrupt_left_half_made_say_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HALF_MADE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "interrupted\n")


@pytest.mark.parametrize("place", range(1, 9))
def test_no_interrupt_is_lost_at_the_border_of_a_user_function(
    place: int, model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal before or behind the function, in preparation and in the loop: Python would print
    its exception and go on.
    """
    (model.parent / f"quiet_law_{place}_of_test.py").write_text("def push(t):\n    return 0.0\n")
    law = f'{{ kind = "function", function = "quiet_law_{place}_of_test:push" }}'
    model.write_text(
        MODEL + f'[forces.push]\nkind = "joint-torque"\njoint = "hinge"\nlaw = {law}\n' + RUN
    )
    readings, dropped = itertools.count(1), []

    def clock() -> float:  # the callback itself reads it before and behind each of its first calls
        if next(readings) == place:
            signal.raise_signal(signal.SIGTERM)
        return time.perf_counter()

    monkeypatch.setattr("flexmbs.system.callbacks.time", types.SimpleNamespace(perf_counter=clock))
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)
    assert call("run", model, "--allow-code") == 143
    assert next(readings) > place
    assert dropped == []
    assert "interrupted" in capsys.readouterr().err


def test_an_interrupt_in_a_destructor_ends_the_run(model: Path) -> None:
    """Python drops the exception of the handler there, as in callbacks of libraries (LLVM's cache
    of object code).
    """
    (model.parent / "last_words.py").write_text(
        "import os, signal\nclass Last:\n    def __del__(self):\n        "
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "        sum(range(100))\nlast = [Last()]\ndef push(t):\n    last.clear()\n    return 0.0\n"
    )
    law = '{ kind = "function", function = "last_words:push" }'
    model.write_text(
        MODEL + f'[forces.push]\nkind = "joint-torque"\njoint = "hinge"\nlaw = {law}\n' + RUN
    )
    options = ["--t-end", "1e4", "--step", "1e-3", "--output-step", "10", "--allow-code"]
    arguments = [sys.executable, "-m", "flexmbs", "run", str(model), *options]
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 143, ended.stderr
    assert ended.stderr.splitlines()[-1] == "interrupted"
    assert "Traceback" not in ended.stderr  # which Python prints of exceptions it drops


def test_a_wrong_result_ends_with_exit_code_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An oscillator of 3.2 Hz with three steps a period."""
    model = fm.Model("ball", gravity=(0.0, 0.0, 0.0))
    ball = model.add(fm.RigidBody("ball", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Prismatic("guide", model.ground, ball, axis="x", q0=0.1))
    model.add(fm.JointSpring("spring", "guide", k=400.0))
    model.save(tmp_path / "ball.toml")
    assert call("run", tmp_path / "ball.toml", "--t-end", 2.0, "--step", 0.1) == 3
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("FAIL: Energy balance: ")
    solution = Solution.load(tmp_path / "ball.h5")
    assert solution.verdict == "FAIL"
    assert [check.status for check in solution.audit if check.title == "Energy balance"] == ["FAIL"]


@POSIX
@pytest.mark.parametrize("number", ENDING)
def test_an_interrupt_during_imports_is_one_line(number: signal.Signals, model: Path) -> None:
    """The program sends itself the signal at the first import of the commands; Python printed a
    traceback.
    """
    code = (
        "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Finder:\n    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == 'flexmbs.command_line': os.kill(os.getpid(), {int(number)})\n"
        "sys.meta_path.insert(0, Finder())\nfrom flexmbs.__main__ import "
        "main\nmain(['check', sys.argv[1]])"
    )
    done = subprocess.run([sys.executable, "-c", code, model], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "interrupted\n")


@POSIX
def test_an_ignored_signal_stays_ignored(model: Path) -> None:
    """As after nohup and in jobs of shells."""
    (model.parent / "law_of_nohup.py").write_text(
        "import os, signal\ndef push(t):\n    os.kill(os.getpid(), signal.SIGINT)\n    return 0.0\n"
    )
    law = '{ kind = "function", function = "law_of_nohup:push" }'
    model.write_text(
        MODEL + f'[forces.push]\nkind = "joint-torque"\njoint = "hinge"\nlaw = {law}\n' + RUN
    )
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); from "
        "flexmbs.__main__ import main; main(sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", model, "--allow-code"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] in ("PASS", "WARN")


@POSIX
@pytest.mark.parametrize(("closed", "code"), [("<&-", 0), ("2>&-", 0), (">&-", 4), (">&- 2>&-", 4)])
def test_closed_streams(closed: str, code: int, model: Path) -> None:
    command = f'"{sys.executable}" -m flexmbs check "{model}" {closed}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == code
    assert done.stderr == (
        "error: standard output is closed; redirect it to a file, or to /dev/null\n"
        if closed == ">&-"
        else ""
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize("name", ["check", "run"])
def test_exit_codes_on_a_full_disk(name: str, tmp_path: Path) -> None:
    """An error that could not be told became an internal error."""
    command = f'"{sys.executable}" -m flexmbs {name} "{tmp_path / "missing.toml"}" 2>/dev/full'
    assert subprocess.run(["sh", "-c", command]).returncode == 2


@POSIX
def test_a_current_folder_that_was_removed(model: Path, tmp_path: Path) -> None:
    """Files with absolute names are read; others are one line."""
    (tmp_path / "gone").mkdir()
    script = f'cd gone && rmdir ../gone && "{sys.executable}" -m flexmbs "$@"'
    for arguments, code in (
        (["check", model], 0),
        (["check", "x.toml"], 2),
        (["run", model, "-o", "x.h5"], 4),
    ):
        done = subprocess.run(
            ["sh", "-c", script, "sh", *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == code, done.stderr
        assert len(done.stderr.splitlines()) == (1 if code else 0)
        (tmp_path / "gone").mkdir(exist_ok=True)


def test_names_in_files_do_not_command_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither in results nor in errors."""
    path = tmp_path / "named.toml"
    path.write_text('name = "a\\u001b[31mred\\u0007"\n')
    call("check", path)
    put("set \x1b[31mred\x07, µm\n\tnext")
    told = capsys.readouterr()
    assert told.out.endswith("set \ufffd[31mred\ufffd, µm\n\tnext\n")
    assert "\x1b" not in told.out + told.err


def test_demo_of_a_robot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An arm of six axes with a flexible link under computed torque, from the files of the wheel."""
    monkeypatch.chdir(tmp_path)
    assert call("demo", "robot") == 0
    told = capsys.readouterr().out
    assert "PASS  Deviation of the tool: up to 1.44 mm from the path of the rigid arm" in told
    files = {"link.h5", "robot.toml", "robot.h5", "robot.html"}
    assert files <= {path.name for path in (tmp_path / "flexmbs-demo").iterdir()}

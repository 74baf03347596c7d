"""Study files and ``flexmbs sweep``: what is read, what is refused, exit codes."""

import json
import pathlib
import tomllib
from typing import Any

import numpy as np
import pytest
from swinging import pendulum

import flexmbs as fm
from flexmbs.__main__ import main
from flexmbs.command.schema import schema
from flexmbs.studies.sweeps.study_file import read_study, sweep_schema

STUDY = """
format = "flexmbs-sweep/1"
model = "pendulum.toml"
[parameters]
joints.hinge.q0 = { low = 0.1, high = 0.3, count = 3 }
"bodies.bob.mass" = [1.0, 2.0]
[outputs]
speed = "peak joint hinge.0 velocity"
[run]
t_end = 0.05
step = 1e-3
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """No second runs; the model's file is there."""
    monkeypatch.setattr("flexmbs.audit.audit.second_run", lambda *_: [])
    pendulum().save(tmp_path / "pendulum.toml")


def written(folder: pathlib.Path, *changes: tuple[str, str]) -> pathlib.Path:
    """The study with replaced texts."""
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_study_is_the_arguments_of_sweep(tmp_path: pathlib.Path) -> None:
    study = read_study(
        written(tmp_path, ("[outputs]", '[design]\nkind = "sobol"\ncount = 8\n[outputs]'))
    )
    assert study.parameters == {
        "joints.hinge.q0": fm.Range(0.1, 0.3, count=3),
        "bodies.bob.mass": (1.0, 2.0),
    }
    assert study.design == fm.Sobol(count=8)
    assert study.run == fm.Run(t_end=0.05, step=1e-3)
    assert study.model == pendulum()
    assert read_study(written(tmp_path)).design == fm.Grid()


def call(*arguments: Any) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def test_level_of_the_audit(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The option replaces the level of the study, in the table and on the page too."""
    page = tmp_path / "page.html"
    path = written(tmp_path)
    assert call("sweep", path, "--threads", "--audit", "none", "--report", page) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "6 cases: 6 NOT JUDGED"
    rows = fm.SweepResult.load(tmp_path / "study").rows()
    assert {row["verdict"] for row in rows} == {"NOT JUDGED"}
    assert "NOT JUDGED" in page.read_text(encoding="utf-8")
    given = written(tmp_path, ("t_end = 0.05", 't_end = 0.05\naudit = "none"'))
    folder = tmp_path / "judged"
    assert call("sweep", given, "--threads", "--audit", "standard", "-o", folder) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "6 cases: 6 PASS"


def test_the_command(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path)
    assert call("sweep", path, "--threads", "--keep") == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("speed: 0.0")
    assert told[-1] == "6 cases: 6 PASS"
    found = fm.SweepResult.load(tmp_path / "study")
    assert len(list((tmp_path / "study" / "solutions").iterdir())) == 6
    assert call("sweep", path, "--threads") == 2
    assert "continue it with --resume" in capsys.readouterr().err
    path = written(tmp_path, ("count = 3", "count = 5"))
    assert call("sweep", path, "--threads", "--resume", "--json") == 0
    table = json.loads(capsys.readouterr().out)
    assert (table["cases"], table["verdicts"]) == (10, {"PASS": 10})
    again = fm.SweepResult.load(tmp_path / "study")
    kept = dict(zip(again.case, again.seconds))
    assert [kept[case] for case in found.case] == found.seconds.tolist()
    np.testing.assert_array_equal(
        sorted(row["speed"] for row in table["rows"]), np.sort(again.outputs["speed"])
    )


def test_exit_code_of_failed_cases(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "laws_of_sweep.py").write_text(
        "def value(solution):\n    return 1.0 / int(solution.q[0, 0] > 0.15)\n"
    )
    output = ("speed = ", 'late = "laws_of_sweep:value"\nspeed = ')
    assert call("sweep", written(tmp_path, output), "--threads") == 2
    assert "is code and is not imported by default" in capsys.readouterr().err
    assert call("sweep", written(tmp_path, output), "--threads", "--allow-code") == 3
    told = capsys.readouterr()
    assert "case 0: ZeroDivisionError: " in told.err
    assert told.out.splitlines()[-1] == "6 cases: 2 failed, 4 PASS"


@pytest.mark.parametrize(
    "change, text",
    [
        (
            ("flexmbs-sweep/1", "flexmbs-sweep/2"),
            "study.toml:2: format: is 'flexmbs-sweep/2'; this version reads 'flexmbs-sweep/1'",
        ),
        (("[outputs]", "[output]"), "study.toml:7: output: unknown key; did you mean 'outputs'?"),
        (
            ('model = "pendulum.toml"', ""),
            'study.toml: model: names no model file; give one, model = "arm.toml"',
        ),
        (("pendulum.toml", "../pendulum.toml"), "is not inside the study's folder"),
        (("pendulum.toml", "other.toml"), "other.toml: cannot be read: No such file or directory"),
        (
            ("count = 3", "number = 3"),
            "study.toml:5: parameters.joints.hinge.q0.number: unknown key; known: count, "
            "high, log, low",
        ),
        (
            ("low = 0.1", "low = 1.0"),
            "study.toml:5: parameters.joints.hinge.q0.high: must be above low = 1, not 0.3",
        ),
        (
            ("[1.0, 2.0]", "[]"),
            "study.toml:6: parameters.'bodies.bob.mass': has no values; give at least one",
        ),
        (("[1.0, 2.0]", "[1.0, nan]"), "its value 2 is nan; give finite numbers"),
        (("[1.0, 2.0]", "2.0"), "2.0 is not a list of values"),
        (
            ("[outputs]", '[design]\nkind = "cube"\n[outputs]'),
            "study.toml:8: design.kind: unknown kind 'cube'; known: grid, ",
        ),
        (("peak joint", "top joint"), "outputs.speed: 'top' begins no output"),
        (
            ("step = 1e-3", "stp = 1e-3"),
            "study.toml:11: run.stp: unknown key; did you mean 'step'?",
        ),
        (
            ("bodies.bob", "bodies.bop"),
            "bodies.bop.mass: 'bop' is not in bodies; did you mean 'bob'?",
        ),
        (
            ('"bodies.bob.mass" = ', '"joints.hinge.q0" = '),
            "parameters.'joints.hinge.q0': is given twice; keep one",
        ),
    ],
)
def test_wrong_studies(
    change: tuple[str, str], text: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("sweep", written(tmp_path, change), "--threads") == 2
    assert text in capsys.readouterr().err
    assert not (tmp_path / "study").exists()


def test_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(sweep_schema())
    validator.check_schema(validator.schema)
    table = tomllib.loads(STUDY)
    validator.validate(table)
    for key, value in (
        ("design", {"kind": "sobol"}),
        ("outputs", {"a": "top x"}),
        ("parameters", {}),
        ("other", 1),
        ("run", {"step": 1.0}),
        ("parameters", {"a.b": {"low": 0.0, "hihg": 1.0}}),
    ):
        assert not validator.is_valid(table | {key: value}), key
    schema("sweep", None)
    assert json.loads(capsys.readouterr().out) == sweep_schema()

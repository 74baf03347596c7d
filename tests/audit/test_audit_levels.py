"""Levels of the audit: whatever shows a verdict shows NOT
JUDGED without one; "full" has no limits.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from audited_models import found, oscillator, other_equations, pendulums

import flexmbs as fm
from flexmbs.__main__ import main
from flexmbs.audit import second_run
from flexmbs.studies.run.stepper import Stepper
from flexmbs.system.check import FAIL, NOT_JUDGED, PASS

QUIET = pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
COARSE = {"t_end": 2.0, "step": 0.2}  # of the oscillator: FAIL


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code of the command line in this process, and what it wrote."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    written = capsys.readouterr()
    return int(stop.value.code or 0), written.out, written.err


def test_without_an_audit_nothing_is_judged(tmp_path):
    """Not even a run that is wrong; it warns of nothing, and nothing of it reads PASS."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = fm.simulate(oscillator(), **COARSE, audit="none")
    run.save(tmp_path / "run.h5")
    for each in (run, fm.Solution.load(tmp_path / "run.h5"), run.at([0.1, 0.3])):
        assert each.verdict == NOT_JUDGED
        assert [check.title for check in each.audit] == ["Audit"]
        assert each.run.options["audit"] == "none"
        assert "verdict   NOT JUDGED" in str(each)
    run.report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    assert '<span class="badge NOT JUDGED">NOT JUDGED</span>' in page
    assert "badge PASS" not in page
    assert json.loads((tmp_path / "run.summary.json").read_text())["verdict"] == NOT_JUDGED
    run.compare(run, tmp_path / "both.html")
    assert "badge PASS" not in (tmp_path / "both.html").read_text()


@QUIET
def test_levels_are_kept_with_the_solution(tmp_path):
    for level in ("standard", "full"):
        run = fm.simulate(oscillator(), t_end=1.0, step=0.005, audit=level)
        run.save(tmp_path / f"{level}.h5")
        read = fm.Solution.load(tmp_path / f"{level}.h5")
        assert read.run.options["audit"] == level
        assert (read.verdict, read.audit) == (PASS, run.audit)


def test_a_run_that_does_not_reach_its_end_fails_without_an_audit_too():
    model = oscillator()
    model.add(fm.JointTorque("end", "guide", lambda t, x, v: 0.0 if t < 0.1 else float("nan")))
    with pytest.raises(fm.SolverError) as caught:
        fm.simulate(model, t_end=1.0, step=0.01, audit="none")
    part = caught.value.solution
    assert [check.title for check in part.audit] == ["Outcome", "Audit"]
    assert part.verdict == FAIL


@pytest.mark.parametrize("level", ["ful", "", False, 2, ["none"]], ids=str)
def test_unknown_levels_are_one_clear_line(level):
    for ask in (
        lambda: fm.simulate(oscillator(), t_end=1.0, audit=level),
        lambda: fm.Stepper(oscillator(), t_end=1.0, audit=level),
        lambda: fm.sweep(oscillator(), {"gravity.z": [1.0]}, outputs={}, audit=level),
        lambda: fm.Run(t_end=1.0, audit=level),
    ):
        with pytest.raises(fm.InputError, match="audit: unknown") as caught:
            ask()
        assert len(str(caught.value).splitlines()) == 1


def test_strictness_needs_an_audit():
    with pytest.raises(fm.InputError, match="strict: needs an audit"):
        fm.simulate(oscillator(), t_end=1.0, audit="none", strict=True)


def test_the_level_of_a_model_and_of_a_call(tmp_path):
    model = oscillator()
    model.run = fm.Run(t_end=1.0, step=0.005, audit="none")
    model.save(tmp_path / "model.toml")
    assert 'audit = "none"' in (tmp_path / "model.toml").read_text()
    read = fm.load(tmp_path / "model.toml")
    assert fm.simulate(read).verdict == NOT_JUDGED
    assert fm.simulate(read, audit="standard").verdict == PASS
    assert fm.simulate(read, t_end=0.5, step=0.005).verdict == PASS  # options of the call alone
    rate = fm.sensitivities(read, ["joints.guide.q0"], ["last joint guide.0 position"])
    assert rate.solution.verdict == NOT_JUDGED


def test_the_command_line(tmp_path, capsys):
    model = oscillator()
    model.run = fm.Run(t_end=2.0, step=0.2)
    path = tmp_path / "model.toml"
    model.save(path)
    assert call(capsys, "run", path, "-o", tmp_path / "a.h5")[0] == 3
    code, out, _ = call(capsys, "run", path, "--audit", "none", "-o", tmp_path / "b.h5")
    assert (code, out.splitlines()[-1].split(":")[0]) == (0, NOT_JUDGED)
    assert "PASS" not in out
    code, out, _ = call(capsys, "run", path, "--audit", "none", "--json", "-o", tmp_path / "c.h5")
    assert (code, json.loads(out)["verdict"]) == (0, NOT_JUDGED)
    call(capsys, "report", tmp_path / "b.h5", "-o", tmp_path / "b.html")
    assert "badge NOT JUDGED" in (tmp_path / "b.html").read_text()
    code, _, error = call(capsys, "run", path, "--audit", "half")
    assert (code, len(error.splitlines())) == (2, 1)
    assert "audit: unknown" in error


def test_sweeps(tmp_path, capsys):
    model = oscillator()
    model.run = fm.Run(t_end=2.0, step=0.2)
    given = {"outputs": {"x": "last joint guide.0 position"}, "executor": "threads"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = fm.sweep(
            model, {"joints.guide.q0": [0.1, 0.2]}, audit="none", folder=tmp_path / "swept", **given
        )
    assert result.verdict == (NOT_JUDGED, NOT_JUDGED)
    assert result.counts() == {NOT_JUDGED: 2}
    assert result.good.all()
    assert result.findings == ((), ())
    assert "2 NOT JUDGED" in repr(result)
    result.report(tmp_path / "page.html")
    assert "badge NOT JUDGED" in (tmp_path / "page.html").read_text()
    assert (tmp_path / "swept" / "table.csv").read_text().count(NOT_JUDGED) == 2
    again = {"folder": tmp_path / "swept", "resume": True}
    with pytest.raises(fm.InputError, match="audit was 'none', is 'standard'"):
        fm.sweep(model, {"joints.guide.q0": [0.1, 0.2]}, **again, **given)
    with pytest.warns(fm.AuditWarning, match="2 FAIL"):
        fm.sweep(model, {"joints.guide.q0": [0.1, 0.2]}, **given)
    model.save(tmp_path / "model.toml")
    study = tmp_path / "study.toml"
    study.write_text(
        'format = "flexmbs-sweep/1"\nmodel = "model.toml"\n[parameters]\n'
        'joints.guide.q0 = [0.1, 0.2]\n[outputs]\nx = "last joint guide.0 position"\n'
    )
    code, out, _ = call(capsys, "sweep", study, "--threads", "--audit", "none")
    assert (code, out.splitlines()[-1]) == (0, "2 cases: 2 NOT JUDGED")


@QUIET
@pytest.mark.parametrize("integrator", ["generalized-alpha", "esdirk"])
def test_a_full_audit_has_no_limits(integrator, monkeypatch):
    """The whole time and finer steps, where the standard audit ends within a part."""
    for limit in ("MOST", "WHOLE"):
        monkeypatch.setattr(second_run, limit, 1e-3)
    options = {"step": 5e-3} if integrator == "generalized-alpha" else {}
    standard, full = (
        found(
            fm.simulate(pendulums(), t_end=2.0, integrator=integrator, audit=level, **options),
            "Second run",
        ).found
        for level in ("standard", "full")
    )
    assert "the rest was not checked" in standard
    assert "the rest was not checked" not in full
    finer = "steps of 0.0025 s" if options else "rtol = 1e-07"
    assert finer not in standard
    assert finer in full


def test_a_run_in_a_folder_may_be_audited_again(tmp_path):
    """The level is not a part of a run."""
    for level, verdict in (("none", NOT_JUDGED), ("standard", PASS)):
        folder = fm.RunFolder(tmp_path / "run", resume=True)
        run = fm.simulate(oscillator(), t_end=1.0, step=0.005, audit=level, folder=folder)
        assert run.verdict == verdict
        assert fm.Solution.load(tmp_path / "run" / "solution.h5").verdict == verdict


def test_a_stepper_verifies_its_states(monkeypatch):
    """Its verdict is never PASS, as the errors of its steps are not known; wrong equations fail."""

    def led(**options) -> Stepper:
        given = {"inputs": {"push": ("effort", "hinge1")}} | options
        stepper = fm.Stepper(pendulums(), t_end=1.0, step=1e-3, **given)
        assert stepper.verdict == NOT_JUDGED  # before the first step
        for k in range(1, 101):
            stepper.inputs["push"] = np.sin(0.3 * k)
            stepper.advance(0.01 * k)
        return stepper

    good = led()
    assert [check.status for check in good.audit] == [PASS, NOT_JUDGED]
    assert good.verdict == NOT_JUDGED
    assert [check.title for check in led(audit="none").audit] == ["Audit"]

    other_equations(monkeypatch, lambda system: system._replace(gravity=0.9 * system.gravity))
    assert led().verdict == FAIL
    assert led(audit="none").verdict == NOT_JUDGED


def test_levels_of_the_documentation():
    """The schema, the help and the page of verdicts name all levels."""
    page = Path(__file__).parents[2] / "docs" / "howto" / "verdict.md"
    for level in ("full", "standard", "none"):
        assert f'audit="{level}"' in page.read_text()

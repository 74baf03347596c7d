"""Rows 28 to 31: runs that must stop, with partial results and without NaN."""

import math
import time
from pathlib import Path

import numpy as np
import pytest
from mechanisms import all_finite, call, pendulum, pulled, slider_crank, with_torque

import flexmbs as fm

Captured = pytest.CaptureFixture[str]
METHODS = [
    {"step": 0.01},
    {},
    {"integrator": "dormand-prince"},
    {"integrator": "dormand-prince", "step": 0.01},
    {"coordinates": "absolute"},
]
named = pytest.mark.parametrize(
    "options",
    METHODS,
    ids=["alpha", "alpha controlled", "explicit controlled", "explicit", "absolute"],
)


def stop(model: fm.Model, **options: object) -> tuple[str, fm.Solution]:
    """Message and partial solution of a run that stops."""
    with pytest.raises(fm.SolverError) as stopped:
        fm.simulate(model, **options)  # type: ignore[arg-type]
    solution = stopped.value.solution
    assert isinstance(solution, fm.Solution)
    assert stopped.value.exit_code == 3
    assert str(stopped.value) == solution.run.outcome
    assert all_finite(solution)
    return str(stopped.value), solution


@named
def test_28_end_of_reach_reports_time_and_joint(options: dict) -> None:
    """The slider is pulled until crank and rod are in line, at a time known from 0.6 cos φ = x."""
    model, reached = pulled()
    explicit = options.get("integrator") == "dormand-prince"
    message, solution = stop(
        model,
        t_end=0.5,
        output_step=0.01,
        stabilization="projection" if explicit else "none",
        **options,
    )
    assert "near a singular position, where rows of '" in message
    t = float(message.split("t = ")[1].split(" s")[0])
    assert reached - 0.011 < t < reached + (0.011 if explicit and "step" in options else 1e-6)
    assert solution.t[-1] <= t


def test_28_last_good_state_is_in_the_file(tmp_path: Path, capsys: Captured) -> None:
    from mechanisms import saved

    model, reached = pulled()
    path = saved(model, tmp_path, "t_end = 0.5\noutput_step = 0.01")
    assert call("run", path) == 3
    told = capsys.readouterr().err.splitlines()
    assert told[-1].startswith(f"error: stopped at t = {reached:.4f}"[:-1])
    solution = fm.Solution.load(path.with_suffix(".h5"))
    assert solution.t[-1] == pytest.approx(0.14)
    assert not solution.run.finished
    assert all_finite(solution)


def test_28_a_branching_position_passed_at_speed_is_no_stop() -> None:
    """The crank of the equal-armed slider-crank is driven through π/2; the slider follows 0.6 cos
    φ.
    """
    model = slider_crank(1.2)
    model.add(fm.Drive("motor", "main", fm.Ramp(1.2, 2.0)))
    solution = fm.simulate(model, t_end=0.4, step=0.01)
    np.testing.assert_allclose(
        solution.joint("guide").position[:, 0], 0.6 * np.cos(1.2 + 2 * solution.t), atol=1e-9
    )


def test_29_step_too_large_stops_without_nan() -> None:
    """An explicit method with a fixed step of 30 times its limit of stability grows until it
    overflows.
    """
    model = pendulum()
    model.add(fm.JointSpring("stop", "hinge", k=1e8))
    message, solution = stop(model, t_end=1.0, step=0.01, integrator="dormand-prince")
    assert "worst at body 'rod'" in message
    assert "take a smaller step" in message
    assert 0 < len(solution.t) < 101


def test_29_force_that_jumps_at_every_step_ends_the_run() -> None:
    """The error of a random force does not decrease with the step."""
    model = pendulum()
    rng = np.random.default_rng(0)
    model.add(
        fm.JointTorque(
            "noise", "hinge", lambda t, x, v: 1e30 * rng.standard_normal() if t > 0.02 else 0.0
        )
    )
    message, solution = stop(model, t_end=0.05)
    assert message.startswith("stopped at t = 0.02")
    assert "body 'rod'" in message
    assert solution.t[-1] <= 0.0201


@named
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_30_function_that_gives_no_number_is_named_with_its_arguments(
    value: str, options: dict
) -> None:
    def push(t: float, x: float, v: float) -> float:
        return float(value) if t > 0.02 else 0.0

    model = pendulum()
    model.add(fm.JointTorque("push", "hinge", push))
    message, solution = stop(model, t_end=0.05, output_step=0.01, **options)
    head, _, text = message.partition("push(t = ")
    assert head.endswith("s: the function of forces.push returned a non-finite number at ")
    assert text.endswith("); correct the function")
    t, x, v = (float(part.split("= ")[-1]) for part in text.split(")")[0].split(", "))
    assert 0.02 <= t < 0.0301
    assert math.isfinite(x)
    assert v > 0  # the arm falls
    assert 0.01 < solution.t[-1] <= 0.02


def test_30_wrench_and_drive_are_named_too() -> None:
    def wind(
        t: float, r: np.ndarray, A: np.ndarray, v: np.ndarray, w: np.ndarray
    ) -> tuple[float, ...]:
        return (0.0, 0.0, math.nan if t > 0.02 else 0.0, 0.0, 0.0, 0.0)

    model = pendulum()
    model.add(fm.UserForce("wind", "rod/end", wind))
    message, _ = stop(model, t_end=0.05, step=0.01)
    assert (
        "the function of forces.wind returned a non-finite number at wind(t = 0.03, x = 0.59"
        in message
    )
    model = pendulum()
    model.add(fm.Drive("motor", "hinge", lambda t: math.nan if t > 0.02 else 0.1 * t))
    message, solution = stop(model, t_end=0.05, step=0.01)
    assert (
        "the function of drives.motor returned a non-finite number at <lambda>(t = 0.03)" in message
    )
    assert solution.t[-1] <= 0.02


@pytest.mark.parametrize(("kind", "item"), [("torque", "forces.push"), ("drive", "drives.motor")])
def test_30_nothing_runs_where_the_first_value_is_none(kind: str, item: str) -> None:
    model = pendulum()
    model.add(
        fm.JointTorque("push", "hinge", lambda t: math.nan)
        if kind == "torque"
        else fm.Drive("motor", "hinge", lambda t: math.nan)
    )
    with pytest.raises(fm.InputError) as refused:
        fm.simulate(model, t_end=0.05)
    line = (
        f"{item}: its function returned a non-finite value at <lambda>(t = 0); correct the function"
    )
    assert refused.value.problems == (line,)
    assert model.check().errors == [line]


def test_30_command_line_keeps_the_good_part(tmp_path: Path, capsys: Captured) -> None:
    path = with_torque(tmp_path, "return math.nan if t > 0.02 else 0.0")
    assert call("run", path, "--allow-code") == 3
    told = capsys.readouterr().err
    assert (
        "error: stopped at t = 0.02 s: the function of forces.push returned a non-finite number "
        "at push(t = 0.03, x = " in told
    )
    solution = fm.Solution.load(path.with_suffix(".h5"))
    np.testing.assert_allclose(solution.t, [0.0, 0.01, 0.02])
    assert all_finite(solution)


@named
@pytest.mark.parametrize("start", [-1.0, 0.02])
def test_31_exception_of_a_function_comes_out_with_its_own_traceback(
    start: float, options: dict
) -> None:
    def push(t: float, x: float, v: float) -> float:
        if t > start:
            raise LookupError("no torque in the table")
        return 0.0

    model = pendulum()
    model.add(fm.JointTorque("push", "hinge", push))
    with pytest.raises(LookupError, match="no torque in the table") as raised:
        fm.simulate(model, t_end=0.05, output_step=0.01, **options)
    assert raised.traceback[-1].name == "push"
    note = raised.value.__notes__[0]
    assert note.startswith("in the function of forces.push at t = ")
    assert max(start, 0.0) <= float(note.split("= ")[1].split()[0]) < max(start, 0.0) + 0.011


def test_31_exception_later_in_a_run_from_the_command_line(
    tmp_path: Path, capsys: Captured
) -> None:
    path = with_torque(tmp_path, "return 0.0 if t < 0.025 else {}['torque']")
    assert call("run", path, "--allow-code") == 3
    told = capsys.readouterr().err
    assert "line 5, in push" in told
    assert (
        told.splitlines()[-1]
        == "error: KeyError in the function of forces.push at t = 0.03 s: 'torque'"
    )
    solution = fm.Solution.load(path.with_suffix(".h5"))
    np.testing.assert_allclose(solution.t, [0.0, 0.01, 0.02])
    assert "the function of forces.push raised KeyError (" in solution.run.outcome


def test_31_exception_keeps_what_was_computed() -> None:
    def push(t: float, x: float, v: float) -> float:
        if t > 0.025:
            raise LookupError("no torque in the table")
        return 0.0

    model = pendulum()
    model.add(fm.JointTorque("push", "hinge", push))
    with pytest.raises(LookupError) as raised:
        fm.simulate(model, t_end=0.05, step=0.01)
    np.testing.assert_allclose(raised.value.solution.t, [0.0, 0.01, 0.02])  # type: ignore[attr-defined]
    assert all_finite(raised.value.solution)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("start", "kept"), [(-1.0, 0), (0.025, 3)])
@pytest.mark.parametrize("leave", ["sys.exit(0)", "exit()", "(_ for _ in ()).throw(GeneratorExit)"])
def test_60_leaving_python_is_an_error_of_the_function(
    leave: str, start: float, kept: int, tmp_path: Path, capsys: Captured
) -> None:
    path = with_torque(tmp_path, f"import sys\n    return 0.0 if t < {start} else {leave}")
    assert call("run", path, "--allow-code") == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith(
        "error: GeneratorExit (" if "Generator" in leave else "error: SystemExit ("
    )
    assert " in the function of forces.push at t = " in lines[-1]
    assert len([line for line in lines if line.startswith("error")]) == 1
    assert path.with_suffix(".h5").exists() == (kept > 0)
    if kept:
        assert len(fm.Solution.load(path.with_suffix(".h5")).t) == kept


def test_60_leaving_python_while_a_constraint_is_evaluated(
    tmp_path: Path, capsys: Captured
) -> None:
    path = with_torque(tmp_path, "return 0.0")
    module = next(tmp_path.glob("torque_*.py"))
    module.write_text(module.read_text() + "\n\ndef g(t, x, A):\n    raise SystemExit(0)\n")
    rod = (
        '[joints.rod]\nkind = "holonomic"\nparent = "ground"\nchild = "rod/end"\nfunction = '
        f'"{module.stem}:g"\n'
    )
    path.write_text(path.read_text() + rod)
    for command in ("check", "run"):
        assert call(command, path, "--allow-code") == 2
        told = capsys.readouterr()
        assert "joints.rod.function: raises SystemExit" in told.out + told.err


def test_31_wrong_number_of_results_is_reported() -> None:
    model = pendulum()
    model.add(fm.UserForce("wind", "rod/end", lambda t, r, A, v, w: (1.0, 2.0)))
    with pytest.raises(
        fm.InputError, match=r"^forces\.wind: its function gives 2 numbers; return 6 numbers"
    ) as raised:
        fm.simulate(model, t_end=0.05)
    assert raised.value.__notes__ == ["in the function of forces.wind at t = 0 s"]


def test_31_slow_function_is_noted() -> None:
    def heavy(t: float, x: float, v: float) -> float:
        time.sleep(2e-3)
        return 0.0

    model = pendulum()
    model.add(fm.JointTorque("push", "hinge", heavy))
    model.add(fm.JointTorque("light", "hinge", lambda t, x, v: 0.0))
    notes = fm.simulate(model, t_end=0.01, step=0.005).run.notes
    assert [note.split(" takes ")[0] for note in notes] == ["the function of forces.push"]
    assert notes[0].endswith(" ms a call; compile it with numba.njit, or give a table")


def test_31_changed_arguments_change_nothing() -> None:
    """A function that writes to its arguments does not modify the state."""

    def clumsy(
        t: float, r: np.ndarray, A: np.ndarray, v: np.ndarray, w: np.ndarray
    ) -> tuple[float, ...]:
        for array in (r, A, v, w):
            array[:] = 7.0
        return (0.0,) * 6

    model = pendulum()
    model.add(fm.UserForce("clumsy", "rod/end", clumsy))
    plain = fm.simulate(pendulum(), t_end=0.05, step=0.01)
    np.testing.assert_allclose(fm.simulate(model, t_end=0.05, step=0.01).q, plain.q, rtol=1e-12)

"""Sweeps: each case is the run of `simulate`, bitwise; what is done is done once; failures are
rows.
"""

import csv
import errno
import itertools
import math
import os
import pathlib
import sys
from typing import Any

import numpy as np
import pytest
from swinging import (
    RUN,
    SPEED,
    bar,
    broken,
    growing,
    kinetic,
    last_angle,
    nothing,
    pendulum,
    rail,
    refusing,
)

import flexmbs as fm
from flexmbs.studies.parameters.threads import TURN, RunThreads
from flexmbs.studies.sweeps import sweep as module

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "trajectories"))
from disks import Failing

ANGLES = [0.1, 0.2, 0.3]
LINUX = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No second runs."""
    monkeypatch.setattr("flexmbs.audit.audit.second_run", lambda *_: [])


def sweep(
    parameters: dict[str, Any] | None = None, model: Any = None, **options: Any
) -> fm.SweepResult:
    """A small sweep in threads."""
    given = {"outputs": SPEED, "executor": "threads", "workers": 2} | options
    return fm.sweep(
        pendulum() if model is None else model, parameters or {"joints.hinge.q0": ANGLES}, **given
    )


@pytest.mark.parametrize(
    "options", [{"step": 2e-3}, {"t_end": 0.3}, {"integrator": "dormand-prince", "rtol": 1e-8}]
)
def test_options_are_those_of_simulate(options: dict[str, Any]) -> None:
    """Given options override those of the model as in `simulate`."""
    model = pendulum()
    found = sweep({"gravity.z": [model.gravity[2]]}, model, outputs={"end": last_angle}, **options)
    assert found.outputs["end"][0] == last_angle(fm.simulate(model, **options))


def test_each_case_is_the_run_of_simulate(tmp_path: pathlib.Path) -> None:
    found = sweep(
        {"joints.hinge.q0": ANGLES, "bodies.bob.mass": [1.0, 2.0]},
        outputs=SPEED | {"end": last_angle},
        keep=True,
        folder=tmp_path / "s",
    )
    assert found.verdict == 6 * ("PASS",)
    assert found.units == {"speed": "rad/s", "end": ""}
    for k, (angle, mass) in enumerate(itertools.product(ANGLES, (1.0, 2.0))):
        alone = fm.simulate(pendulum(angle, mass))
        assert (found.parameters["joints.hinge.q0"][k], found.parameters["bodies.bob.mass"][k]) == (
            angle,
            mass,
        )
        assert found.outputs["end"][k] == alone.q[-1, 0]
        assert found.outputs["speed"][k] == alone.joint("hinge").velocity[-1, 0]
        kept = fm.Solution.load(found.solution_file(k))
        for name, values in kept.trajectory._asdict().items():
            assert values.tobytes() == getattr(alone.trajectory, name).tobytes(), name


def test_threads_take_short_turns_while_there_are_some() -> None:
    usual = sys.getswitchinterval()
    with RunThreads(1) as one:
        with RunThreads(1), pytest.raises(ZeroDivisionError):
            one.submit(lambda: 1 // 0).result()
        assert one.submit(sys.getswitchinterval).result() == pytest.approx(TURN)
        one.shutdown()
        assert sys.getswitchinterval() == usual  # once, whoever shuts them down
    assert sys.getswitchinterval() == usual
    sys.setswitchinterval(TURN / 2)
    try:
        with RunThreads(1):
            assert sys.getswitchinterval() == pytest.approx(TURN / 2)
    finally:
        sys.setswitchinterval(usual)


def test_functions_build_models_and_paths_change_them() -> None:
    found = sweep(
        {"q0": [0.1, 0.2], "forces.motor.law.kp": [1.0, 3.0]},
        pendulum,
        design="list",
        outputs={"end": last_angle},
    )
    for k, (angle, gain) in enumerate(((0.1, 1.0), (0.2, 3.0))):
        model = pendulum(angle)
        model.forces["motor"] = fm.JointTorque(
            "motor", "hinge", fm.PD(kp=gain, kd=0.1, reference=0.3)
        )
        assert found.outputs["end"][k] == fm.simulate(model).q[-1, 0]


def points(design: Any, **axes: Any) -> np.ndarray:
    return np.array(design.points(axes), float)


def test_designs() -> None:
    grid = points(fm.Grid(), a=(1.0, 2.0), b=fm.Range(0.0, 1.0, count=3))
    np.testing.assert_array_equal(grid, [(1, 0), (1, 0.5), (1, 1), (2, 0), (2, 0.5), (2, 1)])
    ratios = points(fm.Listed(), a=fm.Range(1.0, 100.0, count=3, log=True))[:, 0]
    np.testing.assert_allclose(ratios, [1.0, 10.0, 100.0], rtol=1e-15)
    n = 10
    latin = points(fm.LatinHypercube(count=n, seed=3), a=fm.Range(2.0, 4.0), b=(5.0, 6.0))
    np.testing.assert_array_equal(
        np.sort(((latin[:, 0] - 2.0) / 2.0 * n).astype(int)), np.arange(n)
    )
    assert (latin[:, 1] == 5.0).sum() == n // 2  # both values equally often
    np.testing.assert_array_equal(
        latin, points(fm.LatinHypercube(count=n, seed=3), a=fm.Range(2.0, 4.0), b=(5.0, 6.0))
    )
    few, many = (
        points(fm.Sobol(count=count), a=fm.Range(0.0, 1.0), b=fm.Range(0.0, 1.0))
        for count in (16, 64)
    )
    np.testing.assert_array_equal(few, many[:16])
    assert points(fm.Grid(), a=fm.Range(1e-60, 1e60, count=3, log=True))[:, 0] == pytest.approx(
        [1e-60, 1.0, 1e60]
    )
    assert points(fm.Grid(), a=fm.Range(-1e59, 1e59, count=3))[:, 0] == pytest.approx(
        [-1e59, 0.0, 1e59]
    )
    cells = {(int(4 * a), int(4 * b)) for a, b in few}
    assert len(cells) == 16  # one point in each cell


BAD: list[tuple[dict[str, Any], str]] = [
    ({"joints.hing.q0": [1.0]}, r"joints.hing.q0: 'hing' is not in joints; did you mean 'hinge'\?"),
    (
        {"joints.hinge.angle": [1.0]},
        r"joints.hinge.angle: 'angle' is not in joints.hinge; (did you mean|known)",
    ),
    ({"joint.hinge.q0": [1.0]}, r"'joint' is not in model 'pendulum'; did you mean 'joints'\?"),
    ({"joints.hinge": [1.0]}, "joints.hinge: is not an argument of an item"),
    ({"bodies.bob.com.3": [1.0]}, "bodies.bob.com.3: '3' is not in bodies.bob.com"),
    ({"bodies.bob.mass": [1.0, "heavy"]}, "bodies.bob.mass: must be a number, not 'heavy'"),
    ({"bodies.bob.mass": [1.0, -2.0]}, "bodies.bob.mass: must be >= 0, not -2"),
    (
        {"bodies.bob.mass": [1.0, math.nan]},
        "parameters.bodies.bob.mass: its value 2 is nan; give finite numbers",
    ),
    ({"bodies.bob.mass": []}, "parameters.bodies.bob.mass: has no values; give at least one"),
    (
        {"bodies.bob.mass": 3.0},
        r"3.0 is not a list of values; give \[1.0, 2.0\], or fm.Range\(1.0, 2.0\)",
    ),
    ({"bodies.bob.mass": [None]}, "its value 1 is None; give numbers"),
    (
        {"bodies.bob.mass": fm.Range(1.0, 2.0)},
        "a grid needs the number of values of the range; give it a count",
    ),
    ({"bodies.bob.mass": [10**400]}, "its value 1 is a whole number beyond"),
    (
        {"joints.hinge.axis": ["x"], "joints.hinge.axis.x": [1.0]},
        "joints.hinge.axis.x: is not in 'x', the value of",
    ),
    (
        {"bodies.bob.com.x": [0.0], "bodies.bob.com.0": [0.1]},
        "bodies.bob.com.0: is the same number as bodies.bob.com.x",
    ),
    ({3: [1.0]}, "parameters: 3 is not a name"),
    ({"q0": [1.0]}, "q0: 'q0' is not in model 'pendulum'"),
    ({"run.t_end": [1.0, 0.0]}, r"run.t_end: must be > 0"),
    ({"speed": [1.0]}, "outputs.speed: has the name of a parameter; choose another"),
]


@pytest.mark.parametrize("parameters, text", BAD, ids=[text[:40] for _, text in BAD])
def test_wrong_parameters(parameters: dict[str, Any], text: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(fm.InputError, match=text) as found:
        sweep(parameters, folder=tmp_path / "s")
    assert len(found.value.problems) == 1
    assert not (tmp_path / "s").exists()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"outputs": {}}, "outputs: give at least one by its name"),
    (
        {"outputs": {"a": "largest joint hinge.0 velocity"}},
        "outputs.a: 'largest' begins no output; ",
    ),
    ({"outputs": {"a": "max"}}, "outputs.a: names no channel"),
    ({"outputs": {"a": "at 0.5"}}, "outputs.a: names no channel"),
    ({"outputs": {"a": 3}}, "outputs.a: 3 is neither a text such as"),
    ({"outputs": {"": "max x"}}, "outputs: '' is not a name"),
    (
        {"outputs": {"a": "max joint hing.0 velocity"}},
        r"outputs.a: signal: .* did you mean 'joint hinge.0 velocity'\?",
    ),
    ({"design": "sobol"}, r"design: 'sobol' needs a number of cases; give fm.Sobol\(count=64\)"),
    ({"design": "gird"}, "design: unknown 'gird'; did you mean 'grid'?"),
    ({"executor": "cloud"}, "executor: unknown 'cloud'; give 'processes' or 'threads'"),
    ({"workers": 0}, "workers: must be a whole number"),
    ({"run": {"t_end": 1.0}}, "run: .* is not a Run"),
    ({"keep": True}, "keep: solutions are kept in a folder"),
    ({"resume": 1}, "resume: must be True or False"),
    (
        {"executor": "processes", "outputs": {"a": lambda solution: 1.0}},
        "executor: 'processes' cannot be sent the model",
    ),
]


@pytest.mark.parametrize("options, text", WRONG, ids=[text[:40] for _, text in WRONG])
def test_wrong_options(options: dict[str, Any], text: str) -> None:
    with pytest.raises(fm.InputError, match=text):
        sweep(**options)


def test_wrong_designs_and_models() -> None:
    for make, text in (
        (lambda: fm.Range(2.0, 1.0), "Range.high: must be above low = 2, not 1"),
        (
            lambda: fm.Range(0.0, 1.0, log=True),
            "Range.low: must be > 0 in a logarithmic range, not 0",
        ),
        (lambda: fm.Range(0.0, math.inf), "Range.high: must be finite"),
        (
            lambda: fm.LatinHypercube(count=0),
            "LatinHypercube.count: must be within 1 … 1000000, not 0",
        ),
        (
            lambda: fm.Sobol(count=100),
            "must be a power of two, in which Sobol points are balanced, not 100: 64 or 128",
        ),
        (
            lambda: sweep({"q0": [1.0], "b": [1.0, 2.0]}, pendulum, design="list"),
            "b: has 2 values, 'q0' has 1; a list needs",
        ),
        (
            lambda: sweep({"angle": [1.0]}, pendulum),
            r"parameters: pendulum\(angle\): got an unexpected .* arguments",
        ),
        (
            lambda: sweep({"a": [1.0]}, lambda a: 3),
            "build: the function gave 3; it must give a Model",
        ),
        (lambda: sweep(model=3), "model: 3 is not a Model"),
        (
            lambda: sweep(
                {"joints.hinge.q0": list(range(1001)), "bodies.bob.mass": list(range(1001))}
            ),
            "1002001 cases; at most",
        ),
        (lambda: fm.SweepResult.load("nowhere"), "nowhere: holds no sweep"),
    ):
        with pytest.raises(fm.InputError, match=text):
            make()


@LINUX
@pytest.mark.parametrize("lasting", [True, False])
def test_only_logs_of_a_folder_wait_for_the_disk(
    lasting: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, sync = [], os.fsync

    def recorded(file: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{file}"))
        sync(file)

    monkeypatch.setattr(os, "fsync", recorded)
    sweep(folder=tmp_path / "s" if lasting else None)
    assert any("/cases/" in name for name in synced) == lasting


def test_an_output_that_ends_the_program_is_a_failure() -> None:
    with pytest.warns(fm.AuditWarning, match="of 1 cases 1 failed"):
        assert sweep(
            {"joints.hinge.q0": [0.1]}, outputs={"y": lambda solution: sys.exit(3)}
        ).failure == ("SystemExit: 3",)


def test_failures_are_rows_with_their_messages() -> None:
    with pytest.warns(
        fm.AuditWarning,
        match=r"sweep: of 3 cases 1 failed; case 2: RuntimeError: no pendulum at 0.3",
    ):
        found = sweep({"q0": ANGLES}, refusing)
    assert found.verdict == ("PASS", "PASS", "failed")
    assert found.failure == ("", "", "RuntimeError: no pendulum at 0.3")
    assert np.isnan(found.outputs["speed"]).tolist() == [False, False, True]
    with pytest.warns(
        fm.AuditWarning, match=r"1 failed; case 1: .*smaller steps|1 failed; case 1: "
    ):
        found = sweep({"forces.motor.law.kd": [0.1, -1e9]})
    assert found.verdict[0] == "PASS"
    with pytest.warns(fm.AuditWarning, match="'a' is nan; it must be a finite number"):
        assert sweep(outputs={"a": nothing}).counts() == {"failed": 3}


def test_what_is_done_is_not_done_again(tmp_path: pathlib.Path) -> None:
    first = sweep(folder=tmp_path / "s")
    with pytest.raises(fm.InputError, match="holds a sweep; continue it with --resume"):
        sweep(folder=tmp_path / "s")
    more = sweep({"joints.hinge.q0": [*ANGLES, 0.4]}, folder=tmp_path / "s", resume=True)
    np.testing.assert_array_equal(more.seconds[:3], first.seconds)  # the same runs
    np.testing.assert_array_equal(more.outputs["speed"][:3], first.outputs["speed"])
    assert len(fm.SweepResult.load(tmp_path / "s")) == 4
    with pytest.warns(fm.AuditWarning):
        failed = sweep({"q0": ANGLES}, refusing, folder=tmp_path / "f")
    with pytest.warns(fm.AuditWarning):
        again = sweep({"q0": ANGLES}, refusing, folder=tmp_path / "f", resume=True)
    assert again.seconds.tolist() == failed.seconds.tolist()
    with pytest.warns(fm.AuditWarning):
        retried = sweep({"q0": ANGLES}, refusing, folder=tmp_path / "f", resume=True, retry=True)
    assert retried.seconds[0] == failed.seconds[0]


def test_a_folder_is_not_taken_for_another_sweep(tmp_path: pathlib.Path) -> None:
    sweep(folder=tmp_path / "s")
    with pytest.raises(
        fm.InputError, match=r"model was .* resume with what the sweep began with, or with --force"
    ):
        sweep(model=pendulum(mass=2.0), folder=tmp_path / "s", resume=True)
    with pytest.raises(fm.InputError, match=r"outputs.speed was"):
        sweep(outputs={"speed": "max joint hinge.0 velocity"}, folder=tmp_path / "s", resume=True)
    with pytest.raises(fm.InputError, match="model was"):
        sweep(run=fm.Run(t_end=0.04, step=1e-3), folder=tmp_path / "s", resume=True)
    sweep(model=pendulum(q0=0.7), folder=tmp_path / "s", resume=True)  # its value is a parameter's
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(fm.InputError, match="holds other files and no sweep"):
        sweep(folder=tmp_path / "other")
    with pytest.raises(fm.InputError, match="is a file"):
        sweep(folder=tmp_path / "other" / "notes.txt")
    with (
        module.SweepFolder.opened(tmp_path / "s", resume=True),
        pytest.raises(fm.InputError, match="another run is writing it"),
    ):
        sweep(folder=tmp_path / "s", resume=True)


def test_a_record_that_is_nested_too_deep_is_none(tmp_path: pathlib.Path) -> None:
    sweep(folder=tmp_path / "s")
    (tmp_path / "s" / "sweep.json").write_text("[" * 100_000)
    with pytest.raises(fm.InputError, match=r"sweep\.json: is not a record of a sweep"):
        sweep(folder=tmp_path / "s", resume=True)


def test_what_is_forced_is_a_finding_of_the_results_that_were_there(tmp_path: pathlib.Path) -> None:
    """Not of those that the forced sweep adds; and no value is taken for that of another output of
    the same name.
    """
    sweep({"joints.hinge.q0": ANGLES[:1]}, pendulum(), folder=tmp_path / "s")
    heavy: dict[str, Any] = {"model": pendulum(mass=2.0), "folder": tmp_path / "s", "resume": True}
    with pytest.warns(fm.AuditWarning, match="forced: model was"):
        found = sweep({"joints.hinge.q0": ANGLES[:2]}, force=True, **heavy)
    assert found.verdict == ("WARN", "PASS")
    with pytest.warns(fm.AuditWarning, match="forced: model was"):
        assert sweep({"joints.hinge.q0": ANGLES[:2]}, **heavy).verdict == ("WARN", "PASS")
    other = {"speed": "min joint hinge.0 velocity"}
    forced = sweep({"joints.hinge.q0": ANGLES[:2]}, outputs=other, force=True, **heavy)
    alone = sweep({"joints.hinge.q0": ANGLES[:2]}, model=pendulum(mass=2.0), outputs=other)
    assert forced.verdict == ("PASS", "PASS")
    assert forced.outputs["speed"].tolist() == alone.outputs["speed"].tolist()


def test_results_of_other_values_of_the_model_are_not_taken(tmp_path: pathlib.Path) -> None:
    """Cases are known by their parameters: a folder holds one set of these, in which the rest of
    the model is the same.
    """
    sweep({"bodies.bob.mass": [1.0, 2.0]}, pendulum(), folder=tmp_path / "s")
    with pytest.raises(
        fm.InputError, match=r"parameters was \['bodies.bob.mass'\], is \['joints.hinge.q0'\]"
    ):
        sweep({"joints.hinge.q0": ANGLES}, pendulum(mass=7.0), folder=tmp_path / "s", resume=True)


@pytest.mark.parametrize(
    "by", ["path of the model", "argument of a function", "argument of a part"]
)
def test_cases_follow_the_content_of_files_that_they_name(by: str, tmp_path: pathlib.Path) -> None:
    """Only the case of the changed file is run again, and has one row in the folder."""
    files = [str(tmp_path / f"{name}.h5") for name in "ab"]
    for file, mass in zip(files, (1.0, 2.0)):
        bar(mass).save(file)
    base, name = {
        "path of the model": (rail(files[0]), "bodies.bar.file"),
        "argument of a function": (rail, "file"),
        "argument of a part": (
            fm.ModelWithParts(rail(files[0]), {"a": fm.FlexibleBodyData.load}),
            "parts.a.path",
        ),
    }[by]
    given: dict[str, Any] = {
        "model": base,
        "folder": tmp_path / "s",
        "outputs": {"energy": kinetic},
    }
    first = sweep({name: files}, **given)
    bar(5.0).save(files[1])
    again = sweep({name: files}, resume=True, **given)
    assert first.outputs["energy"] == pytest.approx([0.5, 1.0])
    assert again.outputs["energy"] == pytest.approx([0.5, 2.5])
    assert again.seconds[0] == first.seconds[0]
    both = {name: files, "run.integrator": ["generalized-alpha"]}
    ordered = [
        sweep(dict(pairs), **given | {"folder": tmp_path / "o"}, resume=True)
        for pairs in (both.items(), reversed(both.items()))
    ]
    assert ordered[0].seconds.tolist() == ordered[1].seconds.tolist()
    assert sorted(fm.SweepResult.load(tmp_path / "s").outputs["energy"]) == pytest.approx(
        [0.5, 2.5]
    )


def test_a_folder_follows_the_content_of_files_that_functions_name(tmp_path: pathlib.Path) -> None:
    """A function that builds the model from a file, and an output that compares with one."""
    masses, measured = str(tmp_path / "masses.csv"), str(tmp_path / "measured.csv")

    def built(angle: float) -> fm.Model:
        return pendulum(angle, float(np.loadtxt(masses)))

    def error(solution: fm.Solution) -> float:
        return float(solution.q[-1, 0]) - float(np.loadtxt(measured))

    files = [tmp_path / "masses.csv", tmp_path / "measured.csv"]
    given: dict[str, Any] = {"folder": tmp_path / "s", "outputs": {"error": error}, "resume": True}
    for file in files:
        file.write_text("1.0")
    first = sweep({"angle": ANGLES[:2]}, built, **given)
    assert sweep({"angle": ANGLES[:2]}, built, **given).seconds.tolist() == first.seconds.tolist()
    for file in files:
        file.write_text("2.0")
        with pytest.raises(
            fm.InputError, match=rf"sweep.json: files\.\S*{file.name} was '[0-9a-f.]+', is "
        ):
            sweep({"angle": ANGLES[:2]}, built, **given)
        file.write_text("1.0")


def test_cases_without_the_wanted_outputs_are_run_again(tmp_path: pathlib.Path) -> None:
    sweep(folder=tmp_path / "s")
    angle = {"angle": "last joint hinge.0 position"}
    found = sweep(outputs=angle, folder=tmp_path / "s", resume=True, force=True)
    assert list(found.outputs) == ["angle"]
    assert np.isfinite(found.outputs["angle"]).all()
    assert np.isfinite(fm.SweepResult.load(tmp_path / "s").outputs["angle"]).all()


@pytest.mark.parametrize("rails", [[2, 0, 1], [0, 0, 2, 0]])
def test_channels_that_some_cases_have_not(rails: list[int]) -> None:
    with pytest.warns(fm.AuditWarning, match="'joint rail 0.0 position' is not in the solution"):
        found = sweep({"rails": rails}, growing, outputs={"way": "last joint rail 0.0 position"})
    assert [verdict == "failed" for verdict in found.verdict] == [each == 0 for each in rails]
    with pytest.raises(fm.InputError, match=r"'joint rial 0\.0 position' is not in the solution"):
        sweep({"rails": rails}, growing, outputs={"way": "last joint rial 0.0 position"})


def test_errors_of_functions_are_told_as_they_are() -> None:
    with pytest.warns(fm.AuditWarning, match="TypeError: unsupported operand"):
        sweep(outputs={"y": broken})


SLOW = [pytest.param(number, marks=pytest.mark.slow) for number in (errno.EIO, errno.EROFS)]


@LINUX
@pytest.mark.parametrize("number", [errno.ENOSPC, *SLOW])
def test_disks_that_fail_at_any_call(number: int, tmp_path: pathlib.Path) -> None:
    """From its k-th call on the disk fails, for every k: one message, what was told stays, and the
    sweep goes on later.
    """
    whole = sweep(workers=1)
    for k in itertools.count(1):
        folder, error, told = tmp_path / f"s{k}", None, [0]
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            Failing(folder, patch, k, number)
            try:
                sweep(
                    folder=folder,
                    workers=1,
                    progress=lambda part, text, told=told: told.append(round(3 * part)),
                )
            except fm.MachineError as found:
                error = str(found)
        if error is None:
            break
        assert os.strerror(number) in error
        if (folder / "sweep.json").exists():
            assert len(fm.SweepResult.load(folder)) >= max(told)
        np.testing.assert_array_equal(
            sweep(folder=folder, resume=True).outputs["speed"], whole.outputs["speed"]
        )
    assert k > 10


def test_tables(tmp_path: pathlib.Path) -> None:
    with pytest.warns(fm.AuditWarning):
        found = sweep({"q0": ANGLES}, refusing, folder=tmp_path / "s")
    with open(tmp_path / "s" / "table.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["q0"]) for row in rows] == ANGLES
    assert [row["speed [rad/s]"] for row in rows] == [
        repr(float(found.outputs["speed"][0])),
        repr(float(found.outputs["speed"][1])),
        "",
    ]
    assert rows[2]["failure"] == "RuntimeError: no pendulum at 0.3"
    assert "3 cases (1 failed, 2 PASS), q0 → speed" in repr(found)
    with pytest.raises(fm.InputError, match="case 0: its solution was not kept"):
        found.solution_file(0)


def test_tables_of_other_packages() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    found = sweep()
    frame = found.to_dataframe()
    np.testing.assert_array_equal(frame["speed"], found.outputs["speed"])
    assert frame.attrs["units"] == {"speed": "rad/s"}
    data = found.to_xarray()
    np.testing.assert_array_equal(data["joints.hinge.q0"], ANGLES)
    assert data["speed"].attrs == {"units": "rad/s"}


def test_bodies_in_memory_are_written_once(tmp_path: pathlib.Path) -> None:
    import preprocess as pp

    bar = pp.reduce(
        pp.box_mesh((0.4, 0.02, 0.02), (4, 1, 1)), pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
        interfaces={"root": pp.Rigid("x0")}, method=pp.CraigBampton(modes=2), reference="root",
    )  # fmt: skip

    def beam(stiffening: bool = True) -> fm.Model:
        model = fm.Model("beam", run=RUN)
        body = model.add(fm.FlexibleBody("bar", data=bar, stiffening=stiffening))
        model.add(fm.Revolute("hinge", model.ground, body["root"], axis="y"))
        return model

    found = sweep(
        {"bodies.bar.stiffening": [True, False]},
        beam(),
        folder=tmp_path / "s",
        outputs={"end": last_angle},
    )
    assert [path.name for path in (tmp_path / "s" / "parts").iterdir()] == [f"{bar.digest}.h5"]
    for k, value in enumerate((True, False)):
        assert found.outputs["end"][k] == fm.simulate(beam(value)).q[-1, 0]

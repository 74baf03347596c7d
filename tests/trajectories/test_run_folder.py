"""Runs in folders: killed, stopped, on disks that fail or lose their power, they go on bitwise
equal, and no row is lost.
"""

import errno
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

import h5py
import numpy as np
import pytest
from disks import Failing, Power
from draws import drawn

import flexmbs as fm
from flexmbs.files.append_log import frame_bytes, frames
from flexmbs.results.output_log import read_rows
from flexmbs.studies.run.run_folder import CHECKPOINT, LOG, RECORD, SOLUTION
from flexmbs.studies.sweeps.folder import SweepFolder

T_END = 0.1
SHORT: dict[str, Any] = {"t_end": T_END, "output_step": T_END / 2, "rtol": 1e-4, "atol": 1e-6}
LINUX = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")


def pendulum(**changes: Any) -> fm.Model:
    """With a sampled controller with delay, and a stop with a force law."""
    model = fm.Model("pendulum", frames={"stop": (0.0, 0.0, -0.3)})
    bar = model.add(
        fm.RigidBody(
            "bar",
            **({"mass": 1.0, "inertia": (0.02, 0.1, 0.1), "com": (0.5, 0, 0)} | changes),
            frames={"tip": (1.0, 0, 0)},
        )
    )
    hinge = model.add(fm.Revolute("hinge", model.ground, bar, axis="y", q0=0.2, v0=0.5))
    model.add(
        fm.SpherePlane(
            "stop",
            "ground/stop",
            "bar/tip",
            normal="z",
            radius=0.02,
            law=fm.HuntCrossley(1e4, damping=0.2),
        )
    )
    model.add(
        fm.JointTorque(
            "push",
            hinge,
            fm.DigitalPID(15.0, 1.0, 0.2, sample_time=0.02, delay=0.03, reference=0.1),
        )
    )
    return model


def run(folder: pathlib.Path, model: fm.Model | None = None, **options: Any) -> fm.Solution:
    """A short run in the folder, begun or continued, with a checkpoint at every output."""
    kept = fm.RunFolder(folder, **({"resume": True, "checkpoint": 1e-9} | options))
    return fm.simulate(
        model or pendulum(), t_end=T_END, output_step=T_END / 5, rtol=1e-5, atol=1e-7, folder=kept
    )


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No second runs, and a report after every output."""
    monkeypatch.setattr("flexmbs.audit.audit.second_run", lambda *_: [])
    monkeypatch.setattr("flexmbs.time_stepping.run.BATCH_SECONDS", 0.0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> fm.Solution:
    """The run in one piece."""
    return fm.simulate(pendulum(), t_end=T_END, output_step=T_END / 5, rtol=1e-5, atol=1e-7)


def same(found: fm.Solution, whole: fm.Solution) -> None:
    """All numbers of two solutions, bitwise."""
    for name, values in whole.trajectory._asdict().items():
        assert values.tobytes() == getattr(found.trajectory, name).tobytes(), name
    counts = ("steps", "rejected", "iterations", "factorizations", "evaluations")
    assert [found.statistics[key] for key in counts] == [whole.statistics[key] for key in counts]


def rows(folder: pathlib.Path) -> np.ndarray:
    """Output times in the log."""
    there = read_rows(folder / LOG)
    return np.zeros(0) if there is None else there.columns()["t"]


def test_the_folder_holds_the_run(tmp_path: pathlib.Path, whole: fm.Solution) -> None:
    told: list[str] = []
    found = run(tmp_path / "run", tell=told.append)
    same(found, whole)
    np.testing.assert_array_equal(rows(tmp_path / "run"), whole.t)
    same(fm.Solution.load(tmp_path / "run" / SOLUTION), whole)
    assert "run: the run needs 0." in told[0]
    assert "checkpoint every 1e-09 s" in told[0]
    again = run(tmp_path / "run")
    same(again, whole)
    assert any(
        note.startswith("resumed from the checkpoint at t = 0.1 s") for note in again.run.notes
    )
    (tmp_path / "run" / CHECKPOINT).unlink()  # everything is computed again and compared
    same(run(tmp_path / "run"), whole)


def test_an_edited_user_function_is_named(tmp_path: pathlib.Path) -> None:
    """Its name is the same, what it computes is not."""

    def pushed(stiffness: float) -> fm.Model:
        model = pendulum()
        model.add(fm.JointTorque("spring", "hinge", fm.Function(lambda t: -stiffness * t)))
        return model

    run(tmp_path / "run", pushed(3.0))
    assert run(tmp_path / "run", pushed(3.0)).run.finished
    with pytest.raises(
        fm.InputError, match=r"run.json: function forces\.spring\.law\S* was '[0-9a-f.]+', is "
    ):
        run(tmp_path / "run", pushed(4.0))


def test_an_edited_file_that_a_function_names_is_named(tmp_path: pathlib.Path) -> None:
    """Values of a function that reads a table; a file that appears later may be what it writes."""
    table, written = str(tmp_path / "table.csv"), str(tmp_path / "written.csv")

    def pushed() -> fm.Model:
        model = pendulum()
        model.add(
            fm.JointTorque(
                "spring",
                "hinge",
                fm.Function(lambda t: t * float(np.loadtxt(table)) + 0.0 * len(written)),
            )
        )
        return model

    pathlib.Path(table).write_text("3.0")
    run(tmp_path / "run", pushed())
    pathlib.Path(written).write_text("1.0")
    assert run(tmp_path / "run", pushed()).run.finished
    pathlib.Path(table).write_text("4.0")
    with pytest.raises(fm.InputError, match=r"run.json: files\.\S*table.csv was '[0-9a-f.]+', is "):
        run(tmp_path / "run", pushed())
    assert any(
        "forced, though files." in note
        for note in run(tmp_path / "run", pushed(), force=True).run.notes
    )


def test_options_are_those_of_the_run_though_it_is_forced(tmp_path: pathlib.Path) -> None:
    """The checkpoint has the end, the steps and the memory of the method: with others it would end
    where the first run did.
    """
    fm.simulate(pendulum(), **SHORT, folder=fm.RunFolder(tmp_path / "run"))
    forced = fm.RunFolder(tmp_path / "run", resume=True, force=True)
    for name, value in (
        ("t_end", 2 * T_END),
        ("rtol", 1e-5),
        ("output_step", T_END / 4),
        ("integrator", "dormand-prince"),
    ):
        with pytest.raises(
            fm.InputError,
            match=rf"(?s)options\.\S*{name} was .* is .*not even --force .* begin another folder",
        ):
            fm.simulate(pendulum(), **SHORT | {name: value}, folder=forced)
    assert fm.simulate(
        pendulum(), **SHORT, folder=fm.RunFolder(tmp_path / "run", resume=True)
    ).run.finished


def rising(t: float, r: Any, A: Any, v: Any, w: Any) -> float:
    return float(r[2])


def test_other_events_are_other_options(tmp_path: pathlib.Path) -> None:
    """Of the same name, each of another state function."""
    tip, hinge = {"frame": "bar/tip"}, {"joint": "hinge"}
    given = [
        tip | {"axis": "x"},
        tip | {"axis": "z"},
        {"frame": "bar", "axis": "z"},
        hinge | {"velocity": True},
        hinge,
        tip | {"function": rising},
        tip | {"function": lambda t, r, A, v, w: float(r[0])},
    ]
    for k, (before, after) in enumerate(itertools.pairwise(given)):
        kept = fm.RunFolder(tmp_path / str(k), resume=True)
        for event in (before, before):
            fm.simulate(pendulum(), **SHORT, folder=kept, events=[fm.Event("e", **event)])
        with pytest.raises(fm.InputError, match=r"options\.events was .*name 'e'"):
            fm.simulate(pendulum(), **SHORT, folder=kept, events=[fm.Event("e", **after)])


def test_a_folder_is_not_taken_for_another_run(tmp_path: pathlib.Path) -> None:
    """Row 41: what differs is named; a run is not overwritten, nor other files."""
    run(tmp_path / "run")
    with pytest.raises(fm.InputError, match="holds a run; continue it with --resume"):
        run(tmp_path / "run", resume=False)
    with pytest.raises(
        fm.InputError,
        match=r"run.json: model was '[0-9a-f.]+', is .*resume with what the run began with",
    ) as found:
        run(tmp_path / "run", pendulum(mass=1.1))
    assert "versions" not in str(found.value)
    record = tmp_path / "run" / RECORD
    text = record.read_text()
    record.write_text(text.replace(f'"numpy": "{np.__version__}"', '"numpy": "0.9"'))
    with pytest.raises(fm.InputError, match=r"versions.numpy was '0.9', is"):
        run(tmp_path / "run")
    forced = run(tmp_path / "run", force=True)
    assert forced.run.finished
    assert any("forced, though versions.numpy was '0.9', is" in each for each in forced.run.notes)
    assert run(tmp_path / "run").run.finished  # what it was forced to is its record now
    record.write_text("{}")
    with pytest.raises(fm.InputError, match="not a record of a run"):
        run(tmp_path / "run")
    record.unlink()
    record.mkdir()
    with pytest.raises(fm.InputError, match=r"run.json: is a folder; only regular files are read"):
        run(tmp_path / "run")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(fm.InputError, match="holds other files and no run"):
        run(tmp_path / "other")
    with pytest.raises(fm.InputError, match="is a file"):
        run(tmp_path / "other" / "notes.txt")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"resume": 1}, "resume"),
        ({"checkpoint": 0.0}, "checkpoint"),
        ({"checkpoint": "x"}, "checkpoint"),
        ({"force": 1}, "force"),
        ({"tell": 3}, "tell"),
    ],
)
def test_wrong_options(options: dict[str, Any], text: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(fm.InputError, match=f"folder.{text}: "):
        fm.RunFolder(tmp_path, **options)
    with pytest.raises(fm.InputError, match="folder: 3 is not a path"):
        fm.RunFolder(3)  # type: ignore[arg-type]
    with pytest.raises(
        fm.InputError, match=r"folder: 'run' is not a RunFolder; give fm.RunFolder\(path\)"
    ):
        fm.simulate(pendulum(), t_end=T_END, folder="run")  # type: ignore[arg-type]


def test_a_locked_folder_names_the_process(tmp_path: pathlib.Path) -> None:
    """Row 40."""
    text = rf"another run is writing it \(process {os.getpid()} since"
    with fm.RunFolder(tmp_path / "run").opened(), pytest.raises(fm.InputError, match=text):
        run(tmp_path / "run")
    assert run(tmp_path / "run").run.finished


def test_outputs_that_are_computed_otherwise_are_reported(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows behind the checkpoint have to be the same: a function of the environment, which no
    digest sees.
    """
    monkeypatch.setenv("GAIN", "1.0")

    def law(t: float, x: float, v: float) -> float:
        return -float(os.environ["GAIN"]) * v

    model = pendulum()
    model.add(fm.JointTorque("mine", "hinge", law))
    run(tmp_path / "run", model)
    (tmp_path / "run" / CHECKPOINT).unlink()
    monkeypatch.setenv("GAIN", "1.1")
    with pytest.raises(
        fm.SolverError,
        match=r"the outputs at t = 0 s differ from those before; resume where it ran",
    ):
        run(tmp_path / "run", model)


def test_a_user_function_that_raises_keeps_what_was_computed(tmp_path: pathlib.Path) -> None:
    def law(t: float, x: float, v: float) -> float:
        if t > 0.07:
            raise RuntimeError("too late")
        return 0.0

    model = pendulum()
    model.add(fm.JointTorque("mine", "hinge", law))
    with pytest.raises(RuntimeError, match="too late") as found:
        run(tmp_path / "run", model)
    assert len(rows(tmp_path / "run")) == 4
    np.testing.assert_array_equal(found.value.solution.t, rows(tmp_path / "run"))  # type: ignore[attr-defined]


def test_a_full_disk_is_known_before(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 37: how much is needed."""
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    with pytest.raises(
        fm.MachineError, match=r"the run needs 0\.\d+ MB, 0.001 MB are free; free some"
    ):
        run(tmp_path / "run")


SLOW = [pytest.param(number, marks=pytest.mark.slow) for number in (errno.EIO, errno.EROFS)]


@LINUX
@pytest.mark.parametrize("number", [errno.ENOSPC, *SLOW])
def test_disks_that_fail_at_any_call(number: int, tmp_path: pathlib.Path) -> None:
    """From its k-th call on the disk fails, for every k: one message, rows that were on it stay,
    and the run goes on later.
    """
    short = fm.simulate(pendulum(), **SHORT)
    for k in itertools.count(1):
        folder, error = tmp_path / f"run{k}", None
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            disk = Failing(folder, patch, k, number)
            try:
                fm.simulate(pendulum(), folder=fm.RunFolder(folder, checkpoint=1e-9), **SHORT)
            except fm.MachineError as found:
                error = str(found)
        if error is None:
            break
        assert os.strerror(number) in error
        there = rows(folder)
        assert len(there) >= disk.flushed
        np.testing.assert_array_equal(there, short.t[: len(there)])
        same(fm.simulate(pendulum(), folder=fm.RunFolder(folder, resume=True), **SHORT), short)
        shutil.rmtree(folder)
    assert disk.count == k - 1 > 25


def test_drafts_of_a_killed_process_are_no_other_files(
    tmp_path: pathlib.Path, whole: fm.Solution
) -> None:
    """A kill while the first file is written leaves ``.model.toml.….tmp`` alone in the folder."""
    folder = tmp_path / "run"
    folder.mkdir()
    for name in (".model.toml.0123456789ab.tmp", ".run.json.ba9876543210.tmp"):
        (folder / name).write_text("half")
    same(run(folder), whole)
    assert not list(folder.glob(".*.tmp"))
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / ".sweep.json.0123456789ab.tmp").write_text("half")
    with SweepFolder.opened(tmp_path / "sweep", resume=False):
        assert not list((tmp_path / "sweep").glob(".sweep.json.*"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".notes.tmp").write_text("mine")
    with pytest.raises(fm.InputError, match="holds other files and no run"):
        run(tmp_path / "other")


@pytest.mark.parametrize("seed", drawn(3, 40))
def test_a_flipped_bit_is_no_torn_end(seed: int, tmp_path: pathlib.Path) -> None:
    """Frames behind a damaged one were cut off by the next
    writer; only the last frame may be torn.
    """
    rng, path = np.random.default_rng(seed), tmp_path / "log"
    contents = [rng.bytes(int(n)) for n in rng.integers(0, 3000, size=8)]
    data = b"".join(map(frame_bytes, contents))
    starts = np.cumsum([0, *(len(frame_bytes(content)) for content in contents)])
    for place in rng.integers(len(data), size=100):
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        hit = int(np.searchsorted(starts, place, side="right")) - 1
        found = frames(path)
        assert [next(found).content for _ in range(hit)] == contents[:hit]
        if hit == len(contents) - 1:
            assert list(found) == []
        else:
            text = (
                f"damaged at byte {starts[hit]}; {hit} frames before and {7 - hit} after it "
                "are intact"
            )
            with pytest.raises(fm.InputError, match=text):
                next(found)
    for end in rng.integers(len(data), size=50):
        path.write_bytes(data[:end])
        assert [each.content for each in frames(path)] == contents[
            : int(np.searchsorted(starts, end, side="right")) - 1
        ]


def test_a_damaged_run_is_refused(tmp_path: pathlib.Path, whole: fm.Solution) -> None:
    """Any flipped bit of the log of a run: named, or of the last frame, which is computed again."""
    run(tmp_path / "run")
    log = tmp_path / "run" / LOG
    data, rng = log.read_bytes(), np.random.default_rng(1)
    for place in rng.integers(len(data), size=12):
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        log.write_bytes(damaged)
        told = ""
        try:
            same(run(tmp_path / "run"), whole)
        except fm.InputError as error:
            told = str(error)
        if told:
            assert told.startswith(f"{log}: is damaged at byte ")
            assert log.read_bytes() == bytes(damaged)
        log.write_bytes(data)


@LINUX
def test_power_cuts(tmp_path: pathlib.Path, whole: fm.Solution) -> None:
    """After each call of the system only what was synchronized is left, or with it a torn end of
    the log.
    """
    folder = tmp_path / "run"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        power = Power(folder, patch)
        run(folder)
    log = (folder / LOG).read_bytes()
    assert len(power.cuts) > 30
    known: list[dict[str, bytes]] = []
    for cut in power.cuts:
        if cut in known:
            continue
        known.append(cut)
        for torn in (b"", log[len(cut.get(LOG, b"")) :][:100] + bytes(50)):
            after = tmp_path / "after"
            after.mkdir()
            for name, content in cut.items():
                (after / name).write_bytes(content + (torn if name == LOG else b""))
            same(run(after), whole)
            shutil.rmtree(after)
    assert len(known) > 8


MODEL = """
format = "flexmbs-model/1"
name = "pendulum"
bodies.bar = {kind = "rigid", mass = 1.0, inertia = [0.02, 0.1, 0.1], com = [0.5, 0.0, 0.0]}
joints.hinge = {kind = "revolute", parent = "ground", child = "bar", axis = "y", q0 = 0.3}
run = {t_end = 40.0, output_step = 0.01, step = 2e-5}
"""


@pytest.fixture
def program(tmp_path: pathlib.Path) -> list[str]:
    """The command that begins or continues a run of some seconds in the folder ``run``."""
    (tmp_path / "pendulum.toml").write_text(MODEL)
    return [
        sys.executable,
        "-m",
        "flexmbs",
        "run",
        str(tmp_path / "pendulum.toml"),
        "-o",
        f"{tmp_path}/run/",
        "--resume",
        "--checkpoint",
        "0.1",
    ]


def until(folder: pathlib.Path, count: int, process: "subprocess.Popen[bytes]") -> None:
    """Wait for so many rows."""
    while len(rows(folder)) < count:
        assert process.poll() is None
        time.sleep(0.02)


def arrays(path: pathlib.Path) -> dict[str, bytes]:
    """Contents of the arrays of a solution file."""
    found: dict[str, bytes] = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, item: found.update(
                {name: item[()].tobytes()} if isinstance(item, h5py.Dataset) else {}
            )
        )
    return {name: content for name, content in found.items() if name != "run"}


def test_kills_and_a_signal_of_the_queue(program: list[str], tmp_path: pathlib.Path) -> None:
    """Rows 38 and 39: kill -9 twice, SIGTERM, and the same bits at the end."""
    folder, before = tmp_path / "run", 0
    for number, code in ((signal.SIGKILL, -9), (signal.SIGKILL, -9), (signal.SIGTERM, 143)):
        process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        until(folder, before + 300, process)
        process.send_signal(number)
        _, text = process.communicate(timeout=60)
        assert process.returncode == code
        assert len(rows(folder)) >= before + 300
        before = len(rows(folder))
    assert b"interrupted at t = " in text
    assert b"continue it with --resume" in text
    assert (folder / CHECKPOINT).exists()
    assert not (folder / SOLUTION).exists()
    subprocess.run(program, check=True, capture_output=True)
    shutil.copytree(folder, tmp_path / "resumed")
    shutil.rmtree(folder)
    subprocess.run(program, check=True, capture_output=True)
    assert arrays(folder / SOLUTION) == arrays(tmp_path / "resumed" / SOLUTION)


def test_another_mesh_of_a_shape_is_another_run(tmp_path: pathlib.Path) -> None:
    """The model text has its path only; mass and inertia follow from the contents."""
    rows = "0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"
    mesh = tmp_path / "wedge.off"
    model = fm.Model("m")
    wedge = model.add(fm.RigidBody("w", shapes=[fm.MeshShape(mesh)], density=6.0))
    model.add(fm.Revolute("hinge", model.ground, wedge, axis="y"))
    mesh.write_text(f"OFF\n4 4 0\n{rows}")
    run(tmp_path / "run", model)
    mesh.write_text(f"OFF\n4 4 0\n{rows.replace('0 0 1', '0 0 2', 1)}")
    with pytest.raises(fm.InputError, match="mesh 0 of body 'w' was '"):
        run(tmp_path / "run", model)

"""Sweeps in processes that are killed: workers, the process that started them, everything; nothing
that was told is lost.
"""

import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from swinging import SPEED, deadly, deadly_once, pendulum

import flexmbs as fm
from flexmbs.studies.sweeps.folder import logs_in

HERE = pathlib.Path(__file__).parent
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
N = 8
ANGLES = [round(0.1 + 0.02 * k, 3) for k in range(N)]
SCRIPT = """
import signal
import sys
sys.path.insert(0, {here!r})
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in jobs of a shell
import flexmbs as fm
from swinging import SPEED, slow

def told(part, text):
    print(round(part * {n}), flush=True)

if __name__ == "__main__":
    fm.sweep(slow, {{"q0": {angles}}}, outputs=SPEED, folder={folder!r}, resume=True, workers=2, progress=told)
"""


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """Processes import the machine of the tests, and need no second runs here."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("SWEEP_MARKS", str(tmp_path))


def started(folder: pathlib.Path) -> "subprocess.Popen[str]":
    """The sweep as a program of its own, in its own session."""
    script = folder.with_suffix(".py")
    script.write_text(SCRIPT.format(here=str(HERE), n=N, angles=ANGLES, folder=str(folder)))
    return subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def children(process: int) -> list[int]:
    """The processes below one that run batches."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            text = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == process and b"spawn_main" in text:
            found.append(int(path.parent.name))
    return found


def ended(process: int) -> bool:
    """Whether a process has ended, waiting for it."""
    for _ in range(200):
        try:
            if (
                pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
                == "Z"
            ):
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


@POSIX
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
@pytest.mark.parametrize(
    "whom", ["workers", pytest.param("scheduler", marks=pytest.mark.slow), "everything"]
)
def test_killed(whom: str, tmp_path: pathlib.Path) -> None:
    """After some cases were told: killed, then resumed; what was told is there, and the table is
    that of single runs.
    """
    folder = tmp_path / "s"
    process = started(folder)
    assert process.stdout
    told = int(process.stdout.readline())
    workers = children(process.pid)
    assert len(workers) == 2
    match whom:
        case "workers":
            os.kill(workers[0], signal.SIGKILL)
        case "scheduler":
            os.kill(process.pid, signal.SIGKILL)
        case "everything":
            os.killpg(process.pid, signal.SIGKILL)
    if whom == "workers":
        assert process.wait(300) == 0
    else:
        process.wait(60)
        # they end with the process that started them
        assert all(ended(worker) for worker in workers)
        there = fm.SweepResult.load(folder)
        assert N > len(there) >= told
        kept = dict(zip(there.parameters["q0"], there.seconds))
        second = started(folder)
        assert second.wait(300) == 0
        again = fm.SweepResult.load(folder)
        # not done again
        assert {q0: s for q0, s in zip(again.parameters["q0"], again.seconds) if q0 in kept} == kept
    found = fm.SweepResult.load(folder)
    assert len(found) == N
    assert not logs_in(folder)
    alone = {q0: fm.simulate(pendulum(q0)).joint("hinge").velocity[-1, 0] for q0 in ANGLES}
    assert dict(zip(found.parameters["q0"], found.outputs["speed"])) == alone


@POSIX
def test_a_case_that_kills_its_process_is_a_failure() -> None:
    with pytest.warns(
        fm.AuditWarning, match=r"1 failed; case 2: its process ended 3 times without a result"
    ):
        found = fm.sweep(deadly, {"q0": [0.1, 0.2, 0.3, 0.4]}, outputs=SPEED, workers=2)
    assert found.verdict == ("PASS", "PASS", "failed", "PASS")


@POSIX
def test_an_executor_of_the_user_that_breaks_ends_the_sweep(tmp_path: pathlib.Path) -> None:
    """What was done is in the folder; a new one goes on."""
    angles, folder = [0.1, 0.2, 0.3, 0.4], tmp_path / "s"
    with (
        ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool,
        pytest.raises(
            fm.MachineError,
            match=r"executor: .*; results so far are kept, continue with resume and a new one",
        ),
    ):
        fm.sweep(deadly, {"q0": angles}, outputs=SPEED, executor=pool, folder=folder)
    there = fm.SweepResult.load(folder).parameters["q0"].tolist()
    assert 0.3 not in there
    with pytest.warns(fm.AuditWarning, match=r"1 failed; case 2: its process ended 3 times"):
        found = fm.sweep(
            deadly, {"q0": angles}, outputs=SPEED, workers=1, folder=folder, resume=True
        )
    assert found.verdict == ("PASS", "PASS", "failed", "PASS")


@POSIX
def test_a_case_whose_process_was_killed_once_is_run_again() -> None:
    found = fm.sweep(deadly_once, {"q0": [0.1, 0.2]}, outputs=SPEED, workers=1)
    assert found.verdict == ("PASS", "PASS")


def test_a_script_without_its_guard_is_told(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        SCRIPT.format(here=str(HERE), n=N, angles=[0.1], folder=str(tmp_path / "s")).replace(
            '"__main__"', "__name__"
        )
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 1
    assert "A script needs the line  if __name__ == '__main__':" in run.stderr.splitlines()[-1]


@POSIX
def test_interrupted(tmp_path: pathlib.Path) -> None:
    """Ctrl-C ends it at once and leaves no process; what was told is there."""
    process = started(tmp_path / "s")
    assert process.stdout
    told = int(process.stdout.readline())
    workers = children(process.pid)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(60) != 0
    assert all(ended(worker) for worker in workers)
    assert N > len(fm.SweepResult.load(tmp_path / "s")) >= told


def test_processes_give_what_threads_give(tmp_path: pathlib.Path) -> None:
    one, other = (
        fm.sweep(
            pendulum(), {"joints.hinge.q0": [0.1, 0.2]}, outputs=SPEED, workers=2, executor=executor
        )
        for executor in ("processes", "threads")
    )
    np.testing.assert_array_equal(one.outputs["speed"], other.outputs["speed"])


@POSIX
def test_a_process_interrupted_at_its_start_prints_nothing(tmp_path: pathlib.Path) -> None:
    """Ctrl-C reaches it while Python imports its own modules, or later."""
    script = tmp_path / "start.py"
    script.write_text(
        "import os, signal, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from flexmbs.console.spawn_context import spawn_context\n"
        "if __name__ == '__main__':\n"
        "    for k in range(8):\n"
        "        process = spawn_context().Process(target=time.sleep, args=(60,))\n"
        "        process.start()\n"
        "        time.sleep(0.02 * k)\n"
        "        os.kill(process.pid, signal.SIGINT)\n"
        "        process.join()\n"
        "        print(process.exitcode)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == ([str(-signal.SIGINT)] * 8, "")

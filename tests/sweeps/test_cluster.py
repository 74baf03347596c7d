"""Sweeps on dask.distributed: workers and schedulers that are killed; what was told is in the
folder.
"""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future

import numpy as np
import pytest
from swinging import SPEED, pendulum, slow

import flexmbs as fm
from flexmbs.studies.sweeps.workers import made_workers

distributed, dask = pytest.importorskip("distributed"), pytest.importorskip("dask")

HERE = pathlib.Path(__file__).parent
ANGLES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers import the machine of the tests."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]))


def same_as_alone(found: fm.SweepResult) -> None:
    alone = [fm.simulate(pendulum(q0)).joint("hinge").velocity[-1, 0] for q0 in ANGLES]
    np.testing.assert_array_equal(found.outputs["speed"], alone)


def test_a_killed_worker(tmp_path: pathlib.Path) -> None:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = list(client.run(os.getpid).values())

        def told(part: float, text: str) -> None:
            if workers:
                os.kill(workers.pop(), signal.SIGKILL)
                workers.clear()

        same_as_alone(
            fm.sweep(
                slow,
                {"q0": ANGLES},
                outputs=SPEED,
                executor=client,
                folder=tmp_path / "s",
                progress=told,
            )
        )
        assert not workers


@pytest.fixture
def scheduler(tmp_path: pathlib.Path) -> Iterator[tuple[int, pathlib.Path]]:
    """A scheduler with two workers, each a process of its own: its number and its file."""
    file = tmp_path / "scheduler.json"
    where = ["--scheduler-file", str(file)]
    commands = [
        ["scheduler", *where, "--port", "0", "--no-dashboard"],
        [
            "worker",
            *where,
            "--nworkers",
            "2",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--death-timeout",
            "60",
        ],
    ]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{name}", *arguments],
            stderr=subprocess.DEVNULL,
        )
        for name, *arguments in commands
    ]
    yield started[0].pid, file
    for process in started:
        process.terminate()
    for process in started:
        process.wait(60)


def test_a_killed_scheduler(scheduler: tuple[int, pathlib.Path], tmp_path: pathlib.Path) -> None:
    """The sweep ends with one message; another executor runs what is missing."""
    process, file = scheduler
    counted: list[float] = []
    begun = time.monotonic()
    while not file.exists():
        assert time.monotonic() < begun + 120.0, "the scheduler does not start"
        time.sleep(0.1)
    with dask.config.set({"distributed.comm.timeouts.connect": "3s"}):
        # also how long it looks for one that is gone
        client = distributed.Client(scheduler_file=str(file), timeout=8)
        client.wait_for_workers(2, timeout=120)

        def told(part: float, text: str) -> None:
            if not counted:
                os.kill(process, signal.SIGKILL)
            counted.append(part)

        with pytest.raises(fm.MachineError, match="results so far are kept, continue with resume"):
            fm.sweep(
                slow,
                {"q0": ANGLES},
                outputs=SPEED,
                executor=client,
                folder=tmp_path / "s",
                progress=told,
            )
        client.close(timeout=1)
    there = fm.SweepResult.load(tmp_path / "s")
    assert len(there) >= round(counted[-1] * len(ANGLES)) >= 1
    kept = dict(zip(there.case, there.seconds))
    found = fm.sweep(
        slow, {"q0": ANGLES}, outputs=SPEED, executor="threads", folder=tmp_path / "s", resume=True
    )
    assert {case: s for case, s in zip(found.case, found.seconds) if case in kept} == kept
    same_as_alone(found)


def test_a_client_that_has_ended(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was submitted while it looked for a scheduler that is gone stays pending for ever."""
    monkeypatch.setattr("flexmbs.studies.sweeps.schedule.PATIENCE", 0.05)

    class Client:
        status = "connecting"

        def nthreads(self) -> dict[str, int]:
            return {"worker": 2}

        def get_executor(self, **_: object) -> "Client":
            return self

        def submit(self, *_: object) -> "Future[None]":
            Client.status = "closing"
            return Future()

    with pytest.raises(
        fm.MachineError,
        match="its client is closed, or has lost the scheduler; results so far are kept, continue",
    ):
        fm.sweep(slow, {"q0": ANGLES}, outputs=SPEED, executor=Client(), folder=tmp_path / "s")


def test_a_cluster_that_has_lost_its_workers(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """dask.distributed begins no other one for a worker that dies while it starts: the sweep says
    for what it waits, and takes those that come."""
    monkeypatch.setattr("flexmbs.studies.sweeps.schedule.PATIENCE", 0.05)
    monkeypatch.setattr("flexmbs.studies.sweeps.workers.ASKED", 0.0)
    with (
        distributed.LocalCluster(
            n_workers=0, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        known = made_workers(client, None, None)
        assert (known.size, made_workers(client, 3, None).size) == (1, 3)
        timer = threading.Timer(2.0, cluster.scale, (2,))
        timer.start()
        with pytest.warns(
            RuntimeWarning,
            match=r"executor: has had no workers for 0.6 s, .*; start workers, or interrupt it",
        ):
            same_as_alone(
                fm.sweep(
                    slow, {"q0": ANGLES}, outputs=SPEED, executor=client, folder=tmp_path / "s"
                )
            )
        timer.join()
        client.wait_for_workers(2, timeout=60)
        assert known.size == 2
        client.close()
        with pytest.raises(
            fm.MachineError,
            match="executor: its client is closed, or has lost the scheduler; results so far are",
        ):
            fm.sweep(slow, {"q0": ANGLES}, outputs=SPEED, executor=client)

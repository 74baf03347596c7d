"""A stepper and its controller in two processes: bitwise the run in one, in real time with its
delay, and what can go wrong.
"""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.studies.cosimulation.loop_memory import BODY, HEADER, MAGIC

CONTROLLER = """
import sys
import flexmbs as fm
with fm.LoopController(sys.argv[1]) as plant:
    for outputs in plant:
        plant.answer({"motor": 20.0 * (0.5 - outputs["angle"]) - 4.0 * outputs["rate"]})
"""


def stepper(**changes: Any) -> fm.Stepper:
    model = fm.Model("arm")
    link = model.add(fm.RigidBody("link", mass=1.0, com=(0.3, 0, 0), inertia=(0.001, 0.03, 0.03)))
    model.add(fm.Revolute("hinge", model.ground, link, axis="z"))
    ports = {"inputs": {"motor": ("effort", "hinge"), "push": ("force", link, "y")}}
    ports |= {"outputs": {"angle": ("coordinate", "hinge"), "rate": ("rate", "hinge")}}
    return fm.Stepper(model, **{"t_end": 0.2, "step": 1e-3, **ports, **changes})


def answer(outputs: dict[str, float]) -> float:
    return 20.0 * (0.5 - outputs["angle"]) - 4.0 * outputs["rate"]


def by_hand(n: int, period: float, delayed: bool) -> dict[str, Any]:
    """The state after n samples in one process."""
    own = stepper()
    before = answer(dict(own.outputs))
    for k in range(n):
        now = answer(dict(own.outputs))
        if not delayed or k:
            own.inputs["motor"] = before if delayed else now
        before = now
        own.advance((k + 1) * period)
    return own.state


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)


def test_the_run_is_that_of_one_process(tmp_path: Path) -> None:
    loop = fm.ControlLoop(stepper(), tmp_path / "arm.loop", period=0.01)
    with subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, str(tmp_path / "arm.loop")]
    ) as controller:
        timing = loop.run(0.2, real_time=False, timeout=60.0)
    assert controller.returncode == 0
    assert (timing.samples, timing.late, len(timing.response)) == (20, 0, 19)
    assert same(loop.stepper.state, by_hand(20, 0.01, delayed=False))
    assert list(tmp_path.iterdir()) == []


def test_in_real_time_answers_act_a_period_later(tmp_path: Path) -> None:
    for _ in range(5):  # a busy machine may answer late
        loop = fm.ControlLoop(stepper(), tmp_path / "arm.loop", period=0.02)
        with subprocess.Popen([sys.executable, "-c", CONTROLLER, str(tmp_path / "arm.loop")]):
            timing = loop.run(0.2, timeout=60.0)
        assert timing.samples == len(timing.jitter) == 10
        assert (timing.jitter >= 0.0).all()
        assert f"10 samples, {timing.late} late, jitter " in str(timing)
        if not timing.late:
            assert same(loop.stepper.state, by_hand(10, 0.02, delayed=True))
            return
    pytest.skip("the machine is too busy")


def controlled(path: Path, told: list[Exception], give: dict[str, Any]) -> threading.Thread:
    def control() -> None:
        try:
            with fm.LoopController(path) as plant:
                for _ in plant:
                    plant.answer(give)
        except fm.InputError as error:
            told.append(error)

    thread = threading.Thread(target=control)
    thread.start()
    return thread


def test_inputs_that_are_not_named_stay(tmp_path: Path) -> None:
    own = stepper()
    loop = fm.ControlLoop(own, tmp_path / "arm.loop", period=0.01)
    thread = controlled(tmp_path / "arm.loop", [], {"push": 3.0})
    loop.run(0.05, real_time=False)
    thread.join()
    assert dict(own.inputs) == {"motor": 0.0, "push": 3.0}


@pytest.mark.parametrize(
    ("give", "message"),
    [
        ({"moter": 1.0}, "answer: no input 'moter'; did you mean 'motor'"),
        ({"motor": np.nan}, "answer: motor = nan is not a finite number"),
    ],
)
def test_wrong_answers(tmp_path: Path, give: dict[str, Any], message: str) -> None:
    loop, told = fm.ControlLoop(stepper(), tmp_path / "arm.loop", period=0.01), list[Exception]()
    thread = controlled(tmp_path / "arm.loop", told, give)
    with pytest.raises(
        fm.SolverError, match=r"no answer to sample 0 within 0.5 s; start the controller"
    ):
        loop.run(0.05, real_time=False, timeout=0.5)
    thread.join()
    assert message in str(told[0])
    assert list(tmp_path.iterdir()) == []


def test_a_controller_that_dies(tmp_path: Path) -> None:
    """In step the loop ends; in real time it goes on with the last answer."""
    once = CONTROLLER.replace('outputs["rate"]})', 'outputs["rate"]})\n        break')
    for real_time in (False, True):
        loop = fm.ControlLoop(stepper(), tmp_path / "arm.loop", period=0.01)
        with subprocess.Popen([sys.executable, "-c", once, str(tmp_path / "arm.loop")]):
            if real_time:
                # the first answer acts at the second of ten samples
                assert loop.run(0.1, timeout=60.0).late == 8
            else:
                with pytest.raises(fm.SolverError, match="no answer to sample 1 within"):
                    loop.run(0.1, real_time=False, timeout=20.0)


def test_times_that_are_no_whole_periods(tmp_path: Path) -> None:
    loop = fm.ControlLoop(stepper(), tmp_path / "arm.loop", period=3e-3)
    with pytest.raises(
        fm.InputError, match=r"run: from 0 to 0.2 s are no whole periods of 0.003 s; take 0.201 s"
    ):
        loop.run(0.2)
    loop.close()


@pytest.mark.parametrize("end", [0.2 * (1.0 - 1e-9), 0.2, 0.2 * (1.0 + 1e-9)])
def test_an_end_that_is_a_whole_period_but_for_its_digits(end: float, tmp_path: Path) -> None:
    own = stepper(t_end=end)
    loop = fm.ControlLoop(own, tmp_path / "arm.loop", period=0.01)
    thread = controlled(tmp_path / "arm.loop", [], {"motor": 1.0})
    assert loop.run(end, real_time=False).samples == 20
    thread.join()
    assert own.t == pytest.approx(min(end, 0.2), rel=1e-12)


def test_a_controller_of_a_loop_that_is_closed_ends(tmp_path: Path) -> None:
    """At once, without a sample; what has left a loop answers no more."""
    loop = fm.ControlLoop(stepper(), tmp_path / "arm.loop", period=0.01)
    with fm.LoopController(tmp_path / "arm.loop", timeout=60.0) as plant:
        loop.close()
        assert list(plant) == []
    with pytest.raises(
        fm.InputError, match=r"arm.loop: this controller has left the loop; make another one"
    ):
        plant.answer({"motor": 1.0})
    with pytest.raises(
        fm.InputError, match=r"arm.loop: this controller has left the loop; make another one"
    ):
        next(iter(plant))


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_file_that_is_removed_ends_the_loop(spoil: Any, tmp_path: Path) -> None:
    loop = fm.ControlLoop(stepper(), tmp_path / "arm.loop", period=0.01)
    spoil(tmp_path / "arm.loop")
    with pytest.raises(
        fm.SolverError,
        match=r"arm.loop: cannot be mapped \(.*\); leave it alone, and make a new loop",
    ):
        loop.run(0.1)


def test_a_controller_needs_no_compiler() -> None:
    """Its process starts at once."""
    told = (
        "import sys, flexmbs as fm; fm.LoopController; print([name for name in ('numba', "
        "'scipy') if name in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", told], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


def test_a_second_controller(tmp_path: Path) -> None:
    """Only after the first one has ended: then it keeps the inputs that it does not name."""
    loop, path = (
        fm.ControlLoop(stepper(), tmp_path / "arm.loop", period=0.01),
        tmp_path / "arm.loop",
    )

    def control() -> None:
        with fm.LoopController(path) as plant:
            for _ in plant:
                with pytest.raises(
                    fm.InputError, match=r"arm.loop: the loop has a controller; end that first"
                ):
                    fm.LoopController(path)
                plant.answer({"motor": 2.0, "push": 3.0})
                break
        with fm.LoopController(path) as plant:
            seen = [plant.t for _ in plant if plant.answer({"motor": 1.0}) is None]
        times.extend(seen)

    times: list[float] = []
    thread = threading.Thread(target=control)
    thread.start()
    loop.run(0.05, real_time=False, timeout=60.0)
    thread.join()
    assert dict(loop.stepper.inputs) == {"motor": 1.0, "push": 3.0}
    assert times[-1] == pytest.approx(0.04)


@pytest.mark.parametrize(
    "whole", [b"flexloop", b"flexloop" + bytes([1, 0, 0, 0, 1, 0, 0, 0]) + bytes(80)]
)
def test_a_damaged_file(tmp_path: Path, whole: bytes) -> None:
    (tmp_path / "arm.loop").write_bytes(whole)
    with pytest.raises(fm.InputError, match=r"arm.loop: is damaged; remove it and start again"):
        fm.LoopController(tmp_path / "arm.loop")


def test_names_that_are_nested_too_deep(tmp_path: Path) -> None:
    head = HEADER.pack(MAGIC, 1, 1, 0.01, 0, 0, 0, 0).ljust(BODY, b"\0")
    (tmp_path / "arm.loop").write_bytes(head + bytes(8 * 2 * 3) + b"[" * 100_000)
    with pytest.raises(fm.InputError, match=r"arm.loop: is damaged; remove it and start again"):
        fm.LoopController(tmp_path / "arm.loop")


def test_a_number_of_samples_that_none_is(tmp_path: Path) -> None:
    path = tmp_path / "arm.loop"
    names = json.dumps({"inputs": ["motor"], "outputs": ["angle"]}).encode()
    head = HEADER.pack(MAGIC, 1, 1, 0.01, 2**63 + 1, 0, 0, 0)
    path.write_bytes(head.ljust(BODY, b"\0") + bytes(8 * 2 * 3) + names)
    with (
        fm.LoopController(path, timeout=0.1) as plant,
        pytest.raises(fm.InputError, match=r"arm.loop: is damaged; remove it and start again"),
    ):
        next(iter(plant))


@pytest.mark.parametrize("timeout", [0.0, -1.0, np.nan, "long", None])
def test_wrong_timeouts(tmp_path: Path, timeout: Any) -> None:
    loop = fm.ControlLoop(stepper(), tmp_path / "arm.loop", period=0.01)
    with pytest.raises(fm.InputError, match=r"timeout: must be a positive time in s, not"):
        loop.run(0.1, timeout=timeout)
    loop.close()
    with pytest.raises(fm.InputError, match=r"timeout: must be a positive time in s, not"):
        fm.LoopController(tmp_path / "arm.loop", timeout=timeout)


def test_wrong_loops(tmp_path: Path) -> None:
    (tmp_path / "text.loop").write_text("other")
    with pytest.raises(fm.InputError, match=r"text.loop: is there already"):
        fm.ControlLoop(stepper(), tmp_path / "text.loop", period=0.01)
    with pytest.raises(fm.InputError, match=r"text.loop: is not a file of a ControlLoop"):
        fm.LoopController(tmp_path / "text.loop")
    with pytest.raises(fm.InputError, match=r"none.loop: no loop has begun within 0.1 s"):
        fm.LoopController(tmp_path / "none.loop", timeout=0.1)
    with pytest.raises(fm.InputError, match="period: must be a positive time in s, not 0"):
        fm.ControlLoop(stepper(), tmp_path / "arm.loop", period=0)
    with pytest.raises(fm.InputError, match="stepper: has no inputs"):
        fm.ControlLoop(stepper(inputs={}), tmp_path / "arm.loop", period=0.01)
    loop = fm.ControlLoop(stepper(), tmp_path / "arm.loop", period=0.01)
    with pytest.raises(fm.InputError, match=r"run: t = 3.0 is not within 0.01 … 0.2 s"):
        loop.run(3.0)
    loop.close()
    assert [path.name for path in tmp_path.iterdir()] == ["text.loop"]

"""A `Stepper` in one process with its controller in another.

Samples and answers pass through a mapped file, see `loop_memory`.

Theory: docs/theory.md, sections 39 and 44 (inputs held between samples).
"""

import contextlib
import dataclasses
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import shown
from flexmbs.errors import InputError, SolverError
from flexmbs.files.output import unwritable
from flexmbs.files.paths import file_path
from flexmbs.integrators.integrator import is_number
from flexmbs.studies.cosimulation.loop_memory import (
    ANSWERED,
    BODY,
    HEADER,
    MAGIC,
    OVER,
    SAMPLE,
    SPIN,
    START,
    WHEN,
    LoopMemory,
    check_timeout,
    waited,
)
from flexmbs.studies.run.stepper import Stepper

ROUND_OFF = 1e-6  # of a period


@dataclasses.dataclass(frozen=True, eq=False)
class LoopTiming:
    """Timing statistics of a `ControlLoop`.

    samples: how many; late: how many were not answered in time; jitter (samples,): by how much each
    was behind its instant (s, zero where the loop waits for its controller); response: from a
    sample to its answer (s), of the samples answered
    """

    samples: int
    late: int
    jitter: np.ndarray
    response: np.ndarray

    def __str__(self) -> str:
        figures = [f"{self.samples} samples, {self.late} late"]
        for name, values in (("jitter", self.jitter), ("response", self.response)):
            if len(values):
                middle, most = 1e6 * np.percentile(values, (50, 99))
                figures.append(
                    f"{name} {middle:.0f} µs (99 % within {most:.0f} µs, at most "
                    f"{1e6 * values.max():.0f} µs)"
                )
        return ", ".join(figures)


@checked_arguments
class ControlLoop:
    """A model that runs in real time, or as fast as its controller in another process.

    At sample k, at t_k = k·period, the outputs are shown to the controller. In real time its answer
    acts from t_{k+1} on, if it is there by then; a sample whose answer is not there counts as late,
    and the inputs stay as they are. Without real time the model waits for the answer, which acts
    from t_k on: the run is that of one process, bitwise. Nothing is sent over a network.

    Parameters
    ----------
    stepper : Stepper
        The model with its inputs and outputs.
    path : path
        A file that both processes map, new, removed at the end; in /dev/shm or another folder that
        only you can write to.
    period : float [s]
        Time between samples.

    Raises
    ------
    InputError
        For an existing file, a stepper without outputs or inputs, and a period that is not
        positive.

    Examples
    --------
    >>> import threading
    >>> import flexmbs as fm
    >>> model = fm.Model("turntable")
    >>> axle = fm.Revolute(
    ...     "axle",
    ...     "ground",
    ...     model.add(fm.RigidBody("table", mass=1.0, inertia=(0.1, 0.1, 0.2))),
    ...     axis="z",
    ... )
    >>> motor, speed = {"motor": ("effort", model.add(axle).name)}, {"speed": ("rate", "axle")}
    >>> def control():  # in another process
    ...     with fm.LoopController("turntable.loop") as plant:
    ...         for outputs in plant:
    ...             plant.answer({"motor": 2.0 * (3.0 - outputs["speed"])})
    >>> loop = fm.ControlLoop(
    ...     fm.Stepper(model, t_end=2.0, step=1e-3, inputs=motor, outputs=speed),
    ...     "turntable.loop",
    ...     period=0.01,
    ... )
    >>> threading.Thread(target=control).start()
    >>> loop.run(2.0, real_time=False).samples, round(loop.stepper.outputs["speed"], 6)
    (200, 3.0)
    """

    def __init__(self, stepper: Stepper, path: str | os.PathLike[str], *, period: float) -> None:
        """Loop of a stepper with a controller in another process, by a shared file."""
        if not isinstance(stepper, Stepper):
            raise InputError(f"stepper: must be a Stepper, not {type(stepper).__name__}")
        if not is_number(period) or not 0.0 < period < float("inf"):
            raise InputError(f"period: must be a positive time in s, not {shown(period)}")
        for key, ports in (("inputs", stepper.inputs), ("outputs", stepper.outputs)):
            if not len(ports):
                raise InputError(
                    f"stepper: has no {key}; a loop needs some, as Stepper(model, "
                    f"{key}={{...}}, ...)"
                )
        self.stepper, self.period = stepper, float(period)
        self.path: Path | None = _new_file(file_path(path), stepper, period)

    def run(self, t: float, *, real_time: bool = True, timeout: float = 10.0) -> LoopTiming:
        """Run to the time ``t`` (s) and end the loop.

        timeout (s): how long to wait for the controller, which comes first.

        ``t`` is a whole number of periods from the present time. Raises `SolverError` if no
        controller comes, or if one that is waited for does not answer; else as `Stepper.advance`.
        """
        if self.path is None:
            raise InputError("run: the loop is over; make a new one")
        check_timeout(timeout)
        n = self._samples(t)
        with self._mapped() as memory:
            self._show(memory, 0)
            self._wait(memory, 1, timeout, START)  # for the controller
            return self._in_real_time(memory, n) if real_time else self._in_step(memory, n, timeout)

    def _samples(self, t: float) -> int:
        """Number of samples up to the time ``t`` (s). Raises `InputError`."""
        now, end, period = self.stepper.t, self.stepper.t_end, self.period
        if not is_number(t) or not now + 0.5 * period < t <= end * (1.0 + 1e-12):
            raise InputError(f"run: t = {shown(t)} is not within {now + period:g} … {end:g} s")
        n = round((t - now) / period)
        if abs(now + n * period - t) > ROUND_OFF * period:
            raise InputError(
                f"run: from {now:g} to {t:g} s are no whole periods of {period:g} s; take "
                f"{now + n * period:g} s"
            )
        return n

    def close(self) -> None:
        """End the loop: notify the controller, remove the shared file."""
        if self.path is not None:
            with contextlib.suppress(OSError), self.path.open("r+b") as file:
                file.seek(4 * OVER)
                file.write(b"\1")
            self.path.unlink(missing_ok=True)
            self.path = None

    @contextlib.contextmanager
    def _mapped(self) -> Iterator[LoopMemory]:
        """Shared memory of the loop, unmapped at the end. Raises `SolverError`."""
        assert self.path is not None
        try:
            with self.path.open("r+b") as file:
                memory = LoopMemory(file, len(self.stepper.inputs), len(self.stepper.outputs))
        except (OSError, ValueError) as error:
            raise SolverError(
                f"{self.path}: cannot be mapped ({error}); leave it alone, and make a new loop"
            ) from error
        try:
            yield memory
        finally:
            memory.close()
            self.close()

    def _show(self, memory: LoopMemory, k: int) -> int:
        """Publish sample k to the controller; time (ns) of publication."""
        half = memory.outputs[k % 2]
        half[0] = self.stepper.t
        for i, value in enumerate(self.stepper.outputs.values()):
            half[1 + i] = value
        now = time.monotonic_ns()
        memory.counts[SAMPLE] = k + 1
        return now

    def _wait(self, memory: LoopMemory, samples: int, timeout: float, *pause: float) -> None:
        """Wait until the controller has answered a number of samples. Raises on timeout."""
        if not waited(lambda: memory.counts[ANSWERED] >= 2 * samples, timeout, *pause):
            mend = "start the controller" if samples == 1 else "has the controller ended?"
            raise SolverError(
                f"{self.path}: no answer to sample {samples - 1} within {timeout:g} s; {mend}"
            )

    def _take(self, memory: LoopMemory) -> int:
        """Set the inputs from the latest answer; number of answered samples."""
        answered, half = divmod(memory.counts[ANSWERED], 2)
        for i, name in enumerate(self.stepper.inputs):
            self.stepper.inputs[name] = memory.inputs[half][i]
        return answered

    def _in_step(self, memory: LoopMemory, n: int, timeout: float) -> LoopTiming:
        """Run n periods, each after the controller has answered."""
        begun, response = self.stepper.t, []
        for k in range(n):
            at = self._show(memory, k)
            self._wait(memory, k + 1, timeout)
            response.append(memory.counts[WHEN] - at)
            self._take(memory)
            self.stepper.advance(min(begun + (k + 1) * self.period, self.stepper.t_end))
        # the first one has been shown before
        return LoopTiming(n, 0, np.zeros(n), 1e-9 * np.array(response[1:]))

    def _in_real_time(self, memory: LoopMemory, n: int) -> LoopTiming:
        """Run n periods at the pace of the clock; late answers are counted."""
        begun, first = self.stepper.t, time.monotonic_ns() + round(1e9 * self.period)
        jitter, response, late, at = np.empty(n), [], 0, 0
        for k in range(n):
            due = first + round(1e9 * self.period * k)
            _wait_until(due)
            if k:
                answered = self._take(memory)
                late += answered < k
                if answered == k > 1:  # the first one has been answered before
                    response.append(memory.counts[WHEN] - at)
            at = self._show(memory, k)
            jitter[k] = at - due
            self.stepper.advance(min(begun + (k + 1) * self.period, self.stepper.t_end))
        return LoopTiming(n, late, 1e-9 * jitter, 1e-9 * np.array(response))


def _new_file(path: Path, stepper: Stepper, period: float) -> Path:
    """Create the shared file of a loop. Raises `InputError` if it exists."""
    names = json.dumps({"inputs": list(stepper.inputs), "outputs": list(stepper.outputs)}).encode()
    head = HEADER.pack(MAGIC, len(stepper.inputs), len(stepper.outputs), period, 0, 0, 0, 0)
    whole = (
        head
        + bytes(BODY - len(head) + 8 * 2 * (1 + len(stepper.outputs) + len(stepper.inputs)))
        + names
    )
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with open(descriptor, "wb") as file:
            file.write(whole)
        os.link(draft, path)  # whole at once, and never over another file
    except FileExistsError as error:
        raise InputError(
            f"{path}: is there already, perhaps from another loop; choose another name, "
            "or remove it"
        ) from error
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        draft.unlink(missing_ok=True)
    return path


def _wait_until(due: int) -> None:
    """Sleep, then spin, until a time of the monotonic clock (ns)."""
    while (left := 1e-9 * (due - time.monotonic_ns())) > 0.0:
        if left > SPIN:
            time.sleep(left - SPIN)

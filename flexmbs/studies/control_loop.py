"""A `Stepper` in one process, its controller in another: samples and answers pass through a mapped file.

The file begins with `HEADER`; then come time and outputs in two halves, the inputs in two halves, all of 8 bytes, and the names
of inputs and outputs as JSON text. Sample k = 0, 1, … is written into half k mod 2, then k + 1 into "sample": it stays whole for
a period after the next one is there. An answer to it is written into the half of the inputs that is not in use, then 2(k + 1)
plus the half into "answered". Any program that maps a file can be the controller. Theory: docs/theory.md, sections 39 and 44
(inputs held between samples).
"""

import contextlib
import dataclasses
import json
import mmap
import os
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.declaration import close_names, shown
from flexmbs.errors import InputError, SolverError
from flexmbs.files.output import unwritable
from flexmbs.files.paths import file_path
from flexmbs.files.reserve import acquired
from flexmbs.integrators.integrator import is_number
from flexmbs.studies.stepper import Stepper

HEADER = struct.Struct("<8sIIdQQqI")  # MAGIC, inputs, outputs, period (s), sample, answered, when (ns), 1 after the end
MAGIC = b"flexloop"
SAMPLE, ANSWERED, WHEN, OVER = 3, 4, 5, 12  # places in units of 8 bytes, of OVER in units of 4
BODY = 56  # bytes up to the samples
SPIN = 2e-4  # s before an instant during which the processor is not given away
ROUND_OFF = 1e-6  # of a period
PATIENCE = 50  # looks in vain after which it is


@dataclasses.dataclass(frozen=True, eq=False)
class LoopTiming:
    """How well a `ControlLoop` kept time.

    samples: how many; late: how many were not answered in time; jitter (samples,): by how much each was behind its instant (s,
    zero where the loop waits for its controller); response: from a sample to its answer (s), of the samples answered
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
                figures.append(f"{name} {middle:.0f} µs (99 % within {most:.0f} µs, at most {1e6 * values.max():.0f} µs)")
        return ", ".join(figures)


class _Memory:
    """The mapped file: both halves of outputs and inputs, and the counters."""

    def __init__(self, file: Any, n_inputs: int, n_outputs: int) -> None:
        self.map = mmap.mmap(file.fileno(), 0)
        whole = memoryview(self.map)
        numbers = 8 * 2 * (1 + n_outputs + n_inputs)
        self.counts, self.flags = whole[: BODY - 8].cast("Q"), whole[:BODY].cast("I")
        values = whole[BODY : BODY + numbers].cast("d")
        m, n = 1 + n_outputs, n_inputs
        self.outputs = [values[:m], values[m : 2 * m]]  # time and outputs
        self.inputs = [values[2 * m : 2 * m + n], values[2 * m + n :]]
        self._views: list[memoryview[Any]] = [*self.inputs, *self.outputs, values, self.flags, self.counts, whole]

    @property
    def over(self) -> bool:
        return bool(self.flags[OVER])

    def close(self) -> None:
        for view in self._views:
            view.release()
        self.map.close()


class ControlLoop:
    """A model that runs in real time, or as fast as its controller, with the controller in another process.

    At sample k, at t_k = k·period, the outputs are shown to the controller. In real time its answer acts from t_{k+1} on, if it
    is there by then; a sample whose answer is not there counts as late, and the inputs stay as they are. Without real time the
    model waits for the answer, which acts from t_k on: the run is that of one process, bitwise. Nothing is sent over a network.

    Parameters
    ----------
    stepper : Stepper
        The model with its inputs and outputs.
    path : path
        A file that both processes map, new, removed at the end; in /dev/shm or another folder that only you can write to.
    period : float [s]
        Time between samples.

    Raises
    ------
    InputError
        For an existing file, a stepper without outputs or inputs, and a period that is not positive.

    Examples
    --------
    >>> import threading
    >>> import flexmbs as fm
    >>> model = fm.Model("turntable")
    >>> axle = fm.Revolute("axle", "ground", model.add(fm.RigidBody("table", mass=1.0, inertia=(0.1, 0.1, 0.2))), axis="z")
    >>> motor, speed = {"motor": ("effort", model.add(axle).name)}, {"speed": ("rate", "axle")}
    >>> def control():  # in a process of its own, elsewhere
    ...     with fm.LoopController("turntable.loop") as plant:
    ...         for outputs in plant:
    ...             plant.answer({"motor": 2.0 * (3.0 - outputs["speed"])})
    >>> loop = fm.ControlLoop(fm.Stepper(model, t_end=2.0, step=1e-3, inputs=motor, outputs=speed), "turntable.loop", period=0.01)
    >>> threading.Thread(target=control).start()
    >>> loop.run(2.0, real_time=False).samples, round(loop.stepper.outputs["speed"], 6)
    (200, 3.0)
    """

    def __init__(self, stepper: Stepper, path: str | os.PathLike[str], *, period: float) -> None:
        if not isinstance(stepper, Stepper):
            raise InputError(f"stepper: must be a Stepper, not {type(stepper).__name__}")
        if not is_number(period) or not 0.0 < period < float("inf"):
            raise InputError(f"period: must be a positive time in s, not {shown(period)}")
        for key, ports in (("inputs", stepper.inputs), ("outputs", stepper.outputs)):
            if not len(ports):
                raise InputError(f"stepper: has no {key}; a loop needs some, as Stepper(model, {key}={{...}}, ...)")
        self.stepper, self.period = stepper, float(period)
        self.path: Path | None = _new_file(file_path(path), stepper, period)

    def run(self, t: float, *, real_time: bool = True, timeout: float = 10.0) -> LoopTiming:
        """Run to the time ``t`` (s) and end the loop. timeout (s): how long to wait for the controller, which comes first.

        ``t`` is a whole number of periods from the present time. Raises `SolverError` if no controller comes, or if one that is
        waited for does not answer; else as `Stepper.advance`.
        """
        if self.path is None:
            raise InputError("run: the loop is over; make a new one")
        _check_timeout(timeout)
        n = self._samples(t)
        with self._mapped() as memory:
            self._show(memory, 0)
            self._wait(memory, 1, timeout)  # for the controller
            return self._in_real_time(memory, n) if real_time else self._in_step(memory, n, timeout)

    def _samples(self, t: float) -> int:
        """How many samples there are up to the time ``t`` (s). Raises `InputError`."""
        now, end, period = self.stepper.t, self.stepper.t_end, self.period
        if not is_number(t) or not now + 0.5 * period < t <= end * (1.0 + 1e-12):
            raise InputError(f"run: t = {shown(t)} is not within {now + period:g} … {end:g} s")
        n = round((t - now) / period)
        if abs(now + n * period - t) > ROUND_OFF * period:
            raise InputError(f"run: from {now:g} to {t:g} s are no whole periods of {period:g} s; take {now + n * period:g} s")
        return n

    def close(self) -> None:
        """End the loop without a run: the file is removed."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
            self.path = None

    @contextlib.contextmanager
    def _mapped(self) -> Iterator[_Memory]:
        assert self.path is not None
        with self.path.open("r+b") as file:
            memory = _Memory(file, len(self.stepper.inputs), len(self.stepper.outputs))
        try:
            yield memory
        finally:
            memory.flags[OVER] = 1
            memory.close()
            self.close()

    def _show(self, memory: _Memory, k: int) -> int:
        """Show sample k; the instant (ns)."""
        half = memory.outputs[k % 2]
        half[0] = self.stepper.t
        for i, value in enumerate(self.stepper.outputs.values()):
            half[1 + i] = value
        now = time.monotonic_ns()
        memory.counts[SAMPLE] = k + 1
        return now

    def _wait(self, memory: _Memory, samples: int, timeout: float) -> None:
        """Until so many samples are answered."""
        if not _waited(lambda: memory.counts[ANSWERED] >= 2 * samples, timeout):
            mend = "start the controller" if samples == 1 else "has the controller ended?"
            raise SolverError(f"{self.path}: no answer to sample {samples - 1} within {timeout:g} s; {mend}")

    def _take(self, memory: _Memory) -> int:
        """The latest answer as inputs; how many samples have been answered."""
        answered, half = divmod(memory.counts[ANSWERED], 2)
        for i, name in enumerate(self.stepper.inputs):
            self.stepper.inputs[name] = memory.inputs[half][i]
        return answered

    def _in_step(self, memory: _Memory, n: int, timeout: float) -> LoopTiming:
        begun, response = self.stepper.t, []
        for k in range(n):
            at = self._show(memory, k)
            self._wait(memory, k + 1, timeout)
            response.append(memory.counts[WHEN] - at)
            self._take(memory)
            self.stepper.advance(begun + (k + 1) * self.period)
        return LoopTiming(n, 0, np.zeros(n), 1e-9 * np.array(response[1:]))  # the first one has been shown before

    def _in_real_time(self, memory: _Memory, n: int) -> LoopTiming:
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
            self.stepper.advance(begun + (k + 1) * self.period)
        return LoopTiming(n, late, 1e-9 * jitter, 1e-9 * np.array(response))


class LoopController:
    """The other end of a `ControlLoop`: iterate over samples, answer each.

    A sample is a dictionary of the outputs by name; its time is ``t`` (s). In real time samples that come while one is answered
    are left out, the newest one comes next. A loop has one controller at a time; where one ended, another can go on.

    Parameters
    ----------
    path : path
        The file of the loop.
    timeout : float [s]
        How long to wait for the loop to begin, and for a sample.

    Raises
    ------
    InputError
        For a file that is none of a loop, of one that does not begin in time, and of one that has a controller.

    Examples
    --------
    >>> import threading
    >>> import flexmbs as fm
    >>> model = fm.Model("turntable")
    >>> axle = fm.Revolute("axle", "ground", model.add(fm.RigidBody("table", mass=1.0, inertia=(0.1, 0.1, 0.2))), axis="z")
    >>> motor, speed = {"motor": ("effort", model.add(axle).name)}, {"speed": ("rate", "axle")}
    >>> loop = fm.ControlLoop(fm.Stepper(model, t_end=2.0, step=1e-3, inputs=motor, outputs=speed), "axle.loop", period=0.01)
    >>> threading.Thread(target=loop.run, args=(2.0,), kwargs={"real_time": False}).start()  # in another process, elsewhere
    >>> with fm.LoopController("axle.loop") as plant:
    ...     for outputs in plant:
    ...         plant.answer({"motor": 2.0 * (3.0 - outputs["speed"])})
    >>> round(plant.t, 6), round(outputs["speed"], 6)
    (1.99, 3.0)
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 10.0) -> None:
        _check_timeout(timeout)
        self._path, self._timeout = file_path(path), timeout
        if not _waited(lambda: _is_whole(self._path), timeout):
            raise InputError(f"{self._path}: no loop has begun within {timeout:g} s; start it, a ControlLoop")
        self._file = self._path.open("r+b")
        try:
            self.period, self._inputs, self._outputs = _description(self._file.read(), self._path)
            if not acquired(self._file.fileno(), wait=False):
                raise InputError(f"{self._path}: the loop has a controller; end that first")
            self._memory = _Memory(self._file, len(self._inputs), len(self._outputs))
        except BaseException:
            self._file.close()
            raise
        self.t, self._sample = 0.0, 0
        self._half = self._memory.counts[ANSWERED] % 2  # of a controller before this one

    def __enter__(self) -> "LoopController":
        return self

    def __exit__(self, *error: object) -> None:
        self._memory.close()
        self._file.close()

    def __iter__(self) -> Iterator[dict[str, float]]:
        memory = self._memory
        while True:
            come = _waited(lambda: memory.counts[SAMPLE] > self._sample or memory.over, self._timeout)
            if not come:
                raise SolverError(f"{self._path}: no sample within {self._timeout:g} s; has the loop been killed?")
            if memory.over:
                return
            values, new = list[float](), 0
            while new != memory.counts[SAMPLE]:  # else it was written over while it was read
                new = memory.counts[SAMPLE]
                values = list(memory.outputs[(new - 1) % 2])
            self._sample, self.t = new, values[0]
            yield dict(zip(self._outputs, values[1:], strict=True))

    def answer(self, inputs: Mapping[str, float]) -> None:
        """Inputs [N, N m] by name for the present sample; those that are not named stay. Raises `InputError`."""
        memory, old = self._memory, self._memory.inputs[self._half]
        values = dict(zip(self._inputs, old, strict=True))
        for name, value in inputs.items():
            if name not in values:
                raise InputError(f"answer: no input '{name}'; {close_names(str(name), values)}")
            if not is_number(value) or not np.isfinite(value):
                raise InputError(f"answer: {name} = {shown(value)} is no finite number; give N or N m")
            values[name] = float(value)
        self._half = 1 - self._half
        for i, value in enumerate(values.values()):
            memory.inputs[self._half][i] = value
        memory.counts[WHEN] = time.monotonic_ns()
        memory.counts[ANSWERED] = 2 * self._sample + self._half


def _new_file(path: Path, stepper: Stepper, period: float) -> Path:
    """The file of a loop, made. Raises `InputError` if one is there."""
    names = json.dumps({"inputs": list(stepper.inputs), "outputs": list(stepper.outputs)}).encode()
    head = HEADER.pack(MAGIC, len(stepper.inputs), len(stepper.outputs), period, 0, 0, 0, 0)
    whole = head + bytes(BODY - len(head) + 8 * 2 * (1 + len(stepper.outputs) + len(stepper.inputs))) + names
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with open(descriptor, "wb") as file:
            file.write(whole)
        os.link(draft, path)  # whole at once, and never over another file
    except FileExistsError as error:
        raise InputError(f"{path}: is there already, perhaps from another loop; choose another name, or remove it") from error
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        draft.unlink(missing_ok=True)
    return path


def _is_whole(path: Path) -> bool:
    """Whether a file is there and is a loop's. Raises `InputError` for another one."""
    try:
        with path.open("rb") as file:
            begun = file.read(len(MAGIC))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if begun != MAGIC:
        raise InputError(f"{path}: is no file of a ControlLoop; give the path of one")
    return True


def _description(whole: bytes, path: Path) -> tuple[float, list[str], list[str]]:
    """Period (s), names of inputs and of outputs in a file. Raises `InputError` for a damaged one."""
    try:
        _, n_inputs, n_outputs, period, *_ = HEADER.unpack_from(whole)
        names = json.loads(whole[BODY + 8 * 2 * (1 + n_outputs + n_inputs) :])
        inputs, outputs = list(names["inputs"]), list(names["outputs"])
        if (len(inputs), len(outputs)) == (n_inputs, n_outputs):
            return period, inputs, outputs
    except (struct.error, ValueError, LookupError, TypeError):
        pass
    raise InputError(f"{path}: is damaged; remove it and begin anew")


def _check_timeout(timeout: float) -> None:
    if not is_number(timeout) or not timeout > 0.0:
        raise InputError(f"timeout: must be a positive time in s, not {shown(timeout)}")


def _waited(there: Callable[[], bool], timeout: float) -> bool:
    """Whether something was there in time; soon looked for less often, so that others have the processor."""
    until, looks = time.monotonic() + timeout, 0
    while not there():
        looks += 1
        if looks > PATIENCE:
            if time.monotonic() > until:
                return False
            time.sleep(SPIN / 4.0)
    return True


def _wait_until(due: int) -> None:
    """Until an instant of the monotonic clock (ns): asleep but for the end."""
    while (left := 1e-9 * (due - time.monotonic_ns())) > 0.0:
        if left > SPIN:
            time.sleep(left - SPIN)

"""The controller's end of a `ControlLoop`.

It needs neither the model nor the compiler, so that its process starts at once.
"""

import json
import math
import numbers
import os
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import require_known, shown
from flexmbs.errors import InputError, SolverError
from flexmbs.files.paths import file_path
from flexmbs.files.reserved_outputs import acquired
from flexmbs.studies.cosimulation.loop_memory import (
    ANSWERED,
    BODY,
    HEADER,
    MAGIC,
    SAMPLE,
    START,
    WHEN,
    LoopMemory,
    check_timeout,
    waited,
)

MOST_SAMPLES = 2**62  # their doubles, the numbers of answers, have 64 bits


@checked_arguments
class LoopController:
    """The other end of a `ControlLoop`: iterate over samples, answer each.

    A sample is a dictionary of the outputs by name; its time is ``t`` (s). In real time samples
    that arrive while one is answered are skipped; the newest one comes next. A loop has one
    controller at a time; where one ended, another can go on.

    Parameters
    ----------
    path : path
        The file of the loop.
    timeout : float [s]
        How long to wait for the loop to begin, and for a sample.

    Raises
    ------
    InputError
        For a file that is none of a loop, of one that does not begin in time, and of one that has a
        controller.

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
    >>> loop = fm.ControlLoop(
    ...     fm.Stepper(model, t_end=2.0, step=1e-3, inputs=motor, outputs=speed),
    ...     "axle.loop",
    ...     period=0.01,
    ... )
    >>> threading.Thread(
    ...     target=loop.run, args=(2.0,), kwargs={"real_time": False}
    ... ).start()  # in another process, elsewhere
    >>> with fm.LoopController("axle.loop") as plant:
    ...     for outputs in plant:
    ...         plant.answer({"motor": 2.0 * (3.0 - outputs["speed"])})
    >>> round(plant.t, 6), round(outputs["speed"], 6)
    (1.99, 3.0)
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 10.0) -> None:
        """Controller side of a loop; waits until the loop has begun."""
        check_timeout(timeout)
        self._path, self._timeout = file_path(path), timeout
        if not waited(lambda: _is_whole(self._path), timeout, START):
            raise InputError(
                f"{self._path}: no loop has begun within {timeout:g} s; start it, a ControlLoop"
            )
        self._file = self._path.open("r+b")
        try:
            self.period, self._inputs, self._outputs = _description(self._file.read(), self._path)
            if not acquired(self._file.fileno(), wait=False):
                raise InputError(f"{self._path}: the loop has a controller; end that first")
            self._memory = LoopMemory(self._file, len(self._inputs), len(self._outputs))
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
        memory = self._present()
        while True:
            come = waited(
                lambda: memory.counts[SAMPLE] > self._sample or memory.over, self._timeout
            )
            if not come:
                raise SolverError(
                    f"{self._path}: no sample within {self._timeout:g} s; has the loop been killed?"
                )
            if memory.over:
                return
            values, new = list[float](), 0
            while new != memory.counts[SAMPLE]:  # else it was written over while it was read
                new = memory.counts[SAMPLE]
                values = list(memory.outputs[(new - 1) % 2])
            if new > MOST_SAMPLES:
                raise InputError(f"{self._path}: is damaged; remove it and start again")
            self._sample, self.t = new, values[0]
            yield dict(zip(self._outputs, values[1:], strict=True))

    def _present(self) -> LoopMemory:
        """Shared memory of the loop. Raises `InputError` after the ``with`` block."""
        if self._memory.map.closed:
            raise InputError(f"{self._path}: this controller has left the loop; make another one")
        return self._memory

    def answer(self, inputs: Mapping[str, float]) -> None:
        """Write inputs [N, N m] by name as answer to the present sample; others keep their value.

        Raises `InputError`.
        """
        memory = self._present()
        old = memory.inputs[self._half]
        values = dict(zip(self._inputs, old, strict=True))
        for name, value in inputs.items():
            require_known(name, values, f"answer: no input '{name}'")
            if (
                not isinstance(value, numbers.Real)
                or isinstance(value, bool)
                or not math.isfinite(value)
            ):
                raise InputError(
                    f"answer: {name} = {shown(value)} is not a finite number; give N or N m"
                )
            values[name] = float(value)
        self._half = 1 - self._half
        for i, value in enumerate(values.values()):
            memory.inputs[self._half][i] = value
        memory.counts[WHEN] = time.monotonic_ns()
        memory.counts[ANSWERED] = 2 * self._sample + self._half


def _is_whole(path: Path) -> bool:
    """True if a file is a complete loop file. Raises `InputError` for another file."""
    try:
        with path.open("rb") as file:
            begun = file.read(len(MAGIC))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if begun != MAGIC:
        raise InputError(f"{path}: is not a file of a ControlLoop; give the path of one")
    return True


def _description(whole: bytes, path: Path) -> tuple[float, list[str], list[str]]:
    """(period in s, input names, output names) stored in a loop file.

    Raises `InputError` for a damaged one.
    """
    try:
        _, n_inputs, n_outputs, period, *_ = HEADER.unpack_from(whole)
        names = json.loads(whole[BODY + 8 * 2 * (1 + n_outputs + n_inputs) :])
        inputs, outputs = list(names["inputs"]), list(names["outputs"])
        if (len(inputs), len(outputs)) == (n_inputs, n_outputs):
            return period, inputs, outputs
    except (struct.error, ValueError, LookupError, TypeError, RecursionError):
        pass
    raise InputError(f"{path}: is damaged; remove it and start again")

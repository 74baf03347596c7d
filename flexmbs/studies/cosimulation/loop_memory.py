"""File through which a `ControlLoop` and its controller exchange samples and answers.

It is mapped into the memory of both processes.

The file begins with `HEADER`; then come time and outputs in two halves, the inputs in two halves,
all of 8 bytes, and the names of inputs and outputs as JSON text. Sample k = 0, 1, … is written into
half k mod 2, then k + 1 into "sample": it stays whole for a period after the next one is there. An
answer to it is written into the half of the inputs that is not in use, then 2(k + 1) plus the half
into "answered". Any program that maps a file can be the controller.
"""

import mmap
import numbers
import struct
import time
from collections.abc import Callable
from typing import Any

from flexmbs.declaration import shown
from flexmbs.errors import InputError

# MAGIC, inputs, outputs, period (s), sample, answered, when (ns), 1 after the end
HEADER = struct.Struct("<8sIIdQQqI")
MAGIC = b"flexloop"
SAMPLE, ANSWERED, WHEN, OVER = 3, 4, 5, 12  # places in units of 8 bytes, of OVER in units of 4
BODY = 56  # bytes up to the samples
SPIN = 2e-4  # s before an instant during which the processor is not given away
PATIENCE = 50  # unsuccessful checks after which it is
START = 2e-3  # s between checks for a process that starts


class LoopMemory:
    """The mapped file: both halves of outputs and inputs, and the counters."""

    def __init__(self, file: Any, n_inputs: int, n_outputs: int) -> None:
        """Views of counters, outputs and inputs in a memory-mapped file."""
        self.map = mmap.mmap(file.fileno(), 0)
        whole = memoryview(self.map)
        numbers = 8 * 2 * (1 + n_outputs + n_inputs)
        self.counts, self.flags = whole[: BODY - 8].cast("Q"), whole[:BODY].cast("I")
        values = whole[BODY : BODY + numbers].cast("d")
        m, n = 1 + n_outputs, n_inputs
        self.outputs = [values[:m], values[m : 2 * m]]  # time and outputs
        self.inputs = [values[2 * m : 2 * m + n], values[2 * m + n :]]
        self._views: list[memoryview[Any]] = [
            *self.inputs,
            *self.outputs,
            values,
            self.flags,
            self.counts,
            whole,
        ]

    @property
    def over(self) -> bool:
        return bool(self.flags[OVER])

    def close(self) -> None:
        """Release the views and unmap the file."""
        for view in self._views:
            view.release()
        self.map.close()


def check_timeout(timeout: float) -> None:
    """Raise `InputError` for a timeout that is not positive."""
    if not isinstance(timeout, numbers.Real) or isinstance(timeout, bool) or not timeout > 0.0:
        raise InputError(f"timeout: must be a positive time in s, not {shown(timeout)}")


def waited(there: Callable[[], bool], timeout: float, pause: float = SPIN / 4.0) -> bool:
    """True if the condition became true before the timeout (s).

    Pauses between the tests leave the processor to others.
    """
    until, looks = time.monotonic() + timeout, 0
    while not there():
        looks += 1
        if looks > PATIENCE:
            if time.monotonic() > until:
                return False
            time.sleep(pause)
    return True

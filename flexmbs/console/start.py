"""Start of a command line.

Interrupts during its imports, which take a few tenths of a second, also end it with one line.
"""

import contextlib
import importlib
import os
import signal
import sys
from types import FrameType

from flexmbs.console.interrupts import ending_signals


def start(module: str, arguments: list[str] | None) -> None:
    """Import the module of a command line and call its ``main``.

    Signals ignored by the parent stay ignored.
    """
    _open_streams()
    given = {number: signal.signal(number, _end) for number in ending_signals()}
    try:
        importlib.import_module(module).main(arguments)
    finally:
        for number, handler in given.items():
            signal.signal(number, handler)


def _end(number: int, frame: FrameType | None) -> None:
    """Signal handler that ends the process immediately; no work has begun."""
    with contextlib.suppress(OSError):  # of a terminal that is closed
        os.write(2, b"interrupted\n")
    os._exit(128 + number)


def _open_streams() -> None:
    """Reopen closed standard streams, whose descriptors files would otherwise get.

    A closed stdout ends the program with a one-line message.
    """
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115  takes the lowest free descriptor
    if "stdout" in closed:
        print(
            "error: standard output is closed; redirect it to a file, or to /dev/null",
            file=sys.stderr,
        )
        sys.exit(4)

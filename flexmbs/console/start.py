"""Start of a command line: interrupts during its imports, which take a few tenths of a second, end
it in one line too.
"""

import importlib
import os
import signal
import sys
from types import FrameType

from flexmbs.console.interrupts import ending_signals


def start(module: str, arguments: list[str] | None) -> None:
    """Import the module of a command line and call its ``main``; a signal that the parent set to be
    ignored stays ignored.
    """
    _open_streams()
    given = {number: signal.signal(number, _end) for number in ending_signals()}
    try:
        importlib.import_module(module).main(arguments)
    finally:
        for number, handler in given.items():
            signal.signal(number, handler)


def _end(number: int, frame: FrameType | None) -> None:
    """End the process at once; nothing has begun."""
    os.write(2, b"interrupted\n")
    os._exit(128 + number)


def _open_streams() -> None:
    """Open closed standard streams, whose numbers files would get; results without an output end in
    one line.
    """
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115  the lowest free number
    if "stdout" in closed:
        print(
            "error: standard output is closed; redirect it to a file, or to /dev/null",
            file=sys.stderr,
        )
        sys.exit(4)

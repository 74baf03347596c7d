"""Start of a command line: interrupts during its imports, which take a few tenths of a second, end it in one line too."""

import importlib
import os
import signal
import sys
import threading
from types import FrameType


def start(module: str, arguments: list[str] | None) -> None:
    """Import the module of a command line and call its ``main``; a signal that the parent set to be ignored stays ignored."""
    _open_streams()
    given = {}
    if threading.current_thread() is threading.main_thread():
        given = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in given.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _end)
    try:
        importlib.import_module(module).main(arguments)
    finally:
        for number, handler in given.items():
            signal.signal(number, handler)


def _end(number: int, frame: FrameType | None) -> None:
    """Nothing has begun: end at once."""
    os.write(2, b"interrupted\n")
    os._exit(128 + number)


def _open_streams() -> None:
    """Open closed standard streams, whose numbers files would get; results without an output end in one line."""
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115  the lowest free number
    if "stdout" in closed:
        print("error: standard output is closed; redirect it to a file, or to /dev/null", file=sys.stderr)
        sys.exit(4)

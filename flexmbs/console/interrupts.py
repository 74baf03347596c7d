"""Interrupts (Ctrl-C, SIGTERM, SIGHUP) received by the command line.

Python drops an exception raised by a signal handler at the boundary of a C callback or in a
destructor. The handler therefore also records the signal here, and loops check the record; at the
boundary of a callback it records the signal without raising.
"""

import signal
import threading
from types import FrameType

CALLBACKS = "flexmbs.system.callbacks"
BORDER = ("timed", "call", "view", "lost", "_text")  # functions of the callback wrapper itself
# Ctrl-C, the end by another program or the system, a closed terminal
ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
received: list[int] = []  # numbers of the signals received
heeded: list[int] = []  # numbers of the signals that stop a run after its current step


def raise_received() -> None:
    """Raise `KeyboardInterrupt` if a signal was received."""
    if received:
        raise KeyboardInterrupt


def at_border(frame: FrameType | None) -> bool:
    """True if a frame belongs to the callback wrapper.

    Exceptions of the user function are caught in its ``call``.
    """
    own = frame
    while own is not None and own.f_globals.get("__name__") != CALLBACKS:
        own = own.f_back
    return (
        own is not None
        and own.f_code.co_name in BORDER
        and (own is frame or own.f_code.co_name != "call")
    )


def ending_signals() -> list[int]:
    """Signals that end a command line.

    There are none in threads; those that nohup or the shell made the process ignore are not among
    them.
    """
    if threading.current_thread() is not threading.main_thread():
        return []
    return [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]


def exit_code() -> int:
    """128 plus the signal number, as reported by shells.

    130 for an interrupt that was not caused by a signal.
    """
    return 128 + (*received, *heeded, signal.SIGINT)[0]

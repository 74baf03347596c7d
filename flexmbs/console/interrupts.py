"""Interrupts (Ctrl-C, SIGTERM) that the command line received.

Python drops an exception that a signal handler raises at the border of a C callback or in a
destructor. The handler leaves the signal here too, and loops read it; at the border of a callback
it leaves it without an exception.
"""

import signal
import threading
from types import FrameType

CALLBACKS = "flexmbs.system.callbacks"
BORDER = ("timed", "call", "view", "lost", "_text")  # the callback's own functions
received: list[int] = []  # numbers of the signals
heeded: list[int] = []  # of those that a run ends for after its present step


def raise_received() -> None:
    """Raise `KeyboardInterrupt` if a signal was received."""
    if received:
        raise KeyboardInterrupt


def at_border(frame: FrameType | None) -> bool:
    """True if a frame belongs to a callback itself; exceptions of the user function are caught in its
    ``call``.
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
    """Signals that end a command line: none in threads; nohup and jobs of shells ignore SIGINT,
    which stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        return []
    return [
        number
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) is not signal.SIG_IGN
    ]


def exit_code() -> int:
    """128 and the number of the signal, as shells report it; 130 for an interrupt of another
    origin.
    """
    return 128 + (*received, *heeded, signal.SIGINT)[0]

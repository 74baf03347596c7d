"""Interrupts (Ctrl-C, SIGTERM) that the command line received.

Python drops an exception that a signal handler raises at the border of a C callback or in a destructor. The handler leaves the
signal here too, and loops read it.
"""

received: list[int] = []  # numbers of the signals


def raise_received() -> None:
    """Raise `KeyboardInterrupt` if a signal was received."""
    if received:
        raise KeyboardInterrupt

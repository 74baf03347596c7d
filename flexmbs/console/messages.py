"""Progress on stderr and results on stdout."""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

Report = Callable[[float, str], None]
# names in files may contain sequences that command a terminal
CONTROLS = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)], "\ufffd")


class Progress(Protocol):
    """Progress function, called with the completed fraction and a description."""

    def __call__(self, fraction: float, text: str) -> None:
        """Update the bar."""

    def put(self, text: str) -> None:
        """Print a result on stdout while the work continues."""


class _Silent:
    """Progress without display, for a stderr that is not a terminal."""

    def __call__(self, fraction: float, text: str) -> None:
        """Display nothing."""

    def put(self, text: str) -> None:
        """Print a text."""
        put(text)


@contextmanager
def progress_bar(title: str, *, memory: bool = False) -> Iterator[Progress]:
    """Context that shows a progress bar on stderr.

    The bar shows elapsed time and, if ``memory``, the memory used; ``report(fraction, text)``
    updates it.

    Silent if stderr is not a terminal.
    """
    if not sys.stderr.isatty():
        yield _Silent()
        return
    from flexmbs.console.progress_bar import bar_on_terminal

    with bar_on_terminal(title, memory=memory) as report:
        yield report


def note(line: str) -> None:
    """Print a message on stderr, without control characters.

    One that stderr does not take, for example on a full disk, is dropped with all later ones: the
    exit code remains.
    """
    try:
        print(line.translate(CONTROLS), file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Let a stream lead nowhere: Python would try again at exit and change the exit code."""
    with contextlib.suppress(OSError, ValueError):  # a stream without a descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def put(text: str) -> None:
    """Print a result on stdout, without control characters."""
    print(text.translate(CONTROLS), flush=True)


def put_json(value: Any) -> None:
    """Print a result on stdout as JSON."""
    print(json.dumps(value, indent=2, default=str))

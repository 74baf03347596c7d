"""Progress on stderr, results on stdout."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

Report = Callable[[float, str], None]


class Progress(Protocol):
    """Progress function, called with the completed fraction and a text."""

    def __call__(self, fraction: float, text: str) -> None:
        """Move the bar."""

    def put(self, text: str) -> None:
        """A result on stdout while the work goes on."""


class _Silent:
    """Progress that is not displayed, for a stderr that is not a terminal."""

    def __call__(self, fraction: float, text: str) -> None:
        """There is no bar."""

    def put(self, text: str) -> None:
        put(text)


@contextmanager
def progress_bar(title: str, *, memory: bool = False) -> Iterator[Progress]:
    """A bar on stderr while the block runs, with elapsed time and, optionally, ``memory`` used;
    ``report(fraction, text)`` moves it.

    Silent if stderr is not a terminal.
    """
    if not sys.stderr.isatty():
        yield _Silent()
        return
    from flexmbs.console.progress_bar import bar_on_terminal

    with bar_on_terminal(title, memory=memory) as report:
        yield report


def note(line: str) -> None:
    """A message on stderr."""
    print(line, file=sys.stderr)


def put(text: str) -> None:
    """A result on stdout."""
    print(text, flush=True)


def put_json(value: Any) -> None:
    """A result on stdout as JSON."""
    print(json.dumps(value, indent=2, default=str))

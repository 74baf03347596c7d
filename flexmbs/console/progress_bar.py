"""Progress bar on a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from flexmbs.console.memory import peak_memory, used_memory

messages = Console(stderr=True, highlight=False)


class MemoryColumn(ProgressColumn):
    """Current and peak memory of the process."""

    def render(self, task: Task) -> Text:
        """Text with the current and peak memory in GB."""
        return Text(f"{used_memory() / 1e9:.2f} GB, at most {peak_memory() / 1e9:.2f}")


class TerminalBar:
    """Bar that only moves forward; results are printed above it."""

    def __init__(self, shown: Progress, title: str) -> None:
        self.shown, self.title, self.done, self.audits = shown, title, 0.0, False
        self.task = shown.add_task(title, total=1.0)

    def __call__(self, fraction: float, text: str) -> None:
        """Move it."""
        audits = text.startswith("audit")
        self.done = max(self.done, fraction) if audits == self.audits else fraction
        self.audits = audits
        self.shown.update(self.task, completed=self.done, description=text or self.title)

    def put(self, text: str) -> None:
        """Print a result on stdout, above the bar."""
        self.shown.stop()
        print(text, flush=True)
        self.shown.start()


@contextmanager
def bar_on_terminal(title: str, *, memory: bool) -> Iterator[TerminalBar]:
    """See `flexmbs.console.messages.progress_bar`."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=28),
        TextColumn("{task.percentage:>3.0f} %"),
    )
    last = (TimeElapsedColumn(), MemoryColumn()) if memory else (TimeElapsedColumn(),)
    disable = not messages.is_terminal
    with Progress(*columns, *last, console=messages, transient=True, disable=disable) as shown:
        yield TerminalBar(shown, title)

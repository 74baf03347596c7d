"""A bar of progress on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from flexmbs.console.memory import peak_memory, used_memory

messages = Console(stderr=True, highlight=False)


class MemoryColumn(ProgressColumn):
    """Current and peak memory of the process."""

    def render(self, task: Task) -> Text:
        return Text(f"{used_memory() / 1e9:.2f} GB, at most {peak_memory() / 1e9:.2f}")


@contextmanager
def bar_on_terminal(title: str, *, memory: bool) -> Iterator[Callable[[float, str], None]]:
    """See `flexmbs.console.messages.progress_bar`."""
    columns = TextColumn("{task.description}", markup=False), BarColumn(bar_width=28), TextColumn("{task.percentage:>3.0f} %")
    last = (TimeElapsedColumn(), MemoryColumn()) if memory else (TimeElapsedColumn(),)
    bar = Progress(*columns, *last, console=messages, transient=True, disable=not messages.is_terminal)
    with bar:
        task = bar.add_task(title, total=1.0)
        done = 0.0

        def report(fraction: float, text: str) -> None:
            nonlocal done
            done = max(done, fraction)
            bar.update(task, completed=done, description=text or title)

        yield report

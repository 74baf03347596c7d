"""Tasks on several threads, each with single-threaded dense linear algebra."""

import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

from preprocess.solve.memory import retain_freed_memory

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

BLOCK = 4096 // 3 * 3  # number of rows of a task, a multiple of the three of a node
_ENCLOSING: ContextVar[int] = ContextVar("threads", default=0)


@functools.cache
def _count() -> int:
    """Number of threads of the dense linear algebra, measured at the first call."""
    return Threads().count


def by_rows(function: Callable[[int, int], None], n: int) -> None:
    """Apply a compiled function of rows low … high − 1 to blocks of n rows on several threads."""
    if _count() == 1 or n <= BLOCK:
        function(0, n)
        return
    parallel_map(function, [(low, min(low + BLOCK, n)) for low in range(0, n, BLOCK)])


def parallel_map(function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]]) -> list[Result]:
    """Results of the function for the arguments of each task, in order.

    The threads end with the last task.
    """
    if _count() == 1 or len(tasks) == 1:
        return [function(*task) for task in tasks]
    with ThreadPoolExecutor(_count()) as pool:
        return list(pool.map(lambda task: function(*task), tasks))


class Threads:
    """Pool of as many threads as the dense linear algebra uses.

    Dense linear algebra is limited to one thread while the pool exists, since multithreaded calls
    for small fronts take several times as long. A nested pool has the size of the enclosing one.
    """

    def __init__(self) -> None:
        self._blas = ThreadpoolController().select(user_api="blas")
        self.count = _ENCLOSING.get() or max(
            (library["num_threads"] for library in self._blas.info()), default=1
        )

    def __enter__(self) -> "Threads":
        self._limit = self._blas.limit(limits=1)
        self._before = _ENCLOSING.set(self.count)
        self._pool = ThreadPoolExecutor(self.count) if self.count > 1 else None
        return self

    def __exit__(self, *_: object) -> None:
        self._limit.restore_original_limits()
        _ENCLOSING.reset(self._before)
        if self._pool is not None:
            self._pool.shutdown()

    def parallel_map(
        self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]
    ) -> list[Any]:
        """Results of the function for the arguments of each task, in order."""
        if self._pool is None:
            return [function(*task) for task in tasks]
        return list(self._pool.map(lambda task: function(*task), tasks))

    def ahead(
        self, function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]]
    ) -> Iterator[Result]:
        """Results of the function for each task, in order, computed ahead by the threads.

        The next ones are computed while one is used.
        """
        waiting = deque[Future[Result]]()
        for task in tasks:
            if self._pool is None:
                yield function(*task)
                continue
            waiting.append(self._pool.submit(function, *task))
            if len(waiting) >= self.count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def in_dependency_order(
        self, function: Callable[[int], None], before: Sequence[Sequence[int]]
    ) -> None:
        """Call the function for each k = 0 … n − 1 after the calls for before[k] have finished."""
        left = [len(each) for each in before]
        after: list[list[int]] = [[] for _ in before]
        for k, each in enumerate(before):
            for j in each:
                after[j].append(k)
        ready = [k for k, count in enumerate(left) if not count]
        running: dict[Future[None], int] = {}
        while ready or running:
            if self._pool is None:
                done = [ready.pop()]
                function(done[0])
            else:
                running |= {self._pool.submit(function, k): k for k in ready}
                ready = []
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                done = [running.pop(future) for future in finished if future.result() is None]
            for k in (k for j in done for k in after[j]):
                left[k] -= 1
                if not left[k]:
                    ready.append(k)


def on_threads(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorator: single-threaded dense linear algebra and retained memory during a call.

    The other threads are free for tasks.
    """

    @functools.wraps(function)
    def enclosed(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Call the function with threads and memory retained."""
        with Threads(), retain_freed_memory():
            return function(*args, **kwargs)

    return enclosed

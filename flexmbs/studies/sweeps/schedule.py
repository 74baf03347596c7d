"""Open cases into batches, until none are open; workers that die, and cases that kill them.

A batch has as many cases as take about `BATCH_SECONDS`, so that making a log durable costs little
beside it. What a batch has done is read from its log, never from the executor. Where a worker dies,
cases that were begun are suspects and run alone; one whose worker dies `MOST_DEATHS` times is a
failure.
"""

import itertools
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from typing import NamedTuple

from flexmbs.api.model import Model
from flexmbs.errors import MachineError, warn_caller
from flexmbs.files.append_log import AppendLog
from flexmbs.studies.sweeps.batch import Record, packed_record, run_batch
from flexmbs.studies.sweeps.folder import LOGS, SOLUTIONS, SweepFolder
from flexmbs.studies.sweeps.named_outputs import UnknownChannel
from flexmbs.studies.sweeps.study import Case, Study
from flexmbs.studies.sweeps.workers import Workers

BATCH_SECONDS = 0.5  # s: long compared with making a log durable
AHEAD = 2  # batches per worker that are submitted
MOST_CASES = 500  # of a batch
MOST_DEATHS = 3
MOST_STARTS = 10  # of workers that are killed before they begin a case
MOST_TRIALS = 2  # of a user's executor, which restarts its workers itself
FAILED = 1  # exit code of a process that cannot import the script
LOST = (
    "executor: its client is closed, or has lost the scheduler; results so far are kept, "
    "continue with resume"
)
PATIENCE = 5.0  # s between two checks of an executor
LONELY = 12  # checks of an executor without workers, until it is given up


class Batch(NamedTuple):
    """Cases, and the prefix of the names of their logs."""

    cases: tuple[Case, ...]
    name: str


class Schedule:
    """The open cases of a sweep."""

    def __init__(
        self,
        place: SweepFolder,
        study: Study,
        workers: Workers,
        cases: Sequence[Case],
        *,
        good: bool,
    ) -> None:
        """Schedule of the cases of a study on workers."""
        self.place, self.study, self.workers = place, study, workers
        self.open = deque(cases)
        self.suspects: deque[Case] = deque()
        self.running: dict[Future[None], Batch] = {}
        self.deaths: Counter[str] = Counter()
        self.began = False  # whether a worker has begun a case, since one died
        self.in_vain = 0  # deaths of workers before they began a case
        self.pace = 0.0  # s of a case
        self.good = good  # whether a case has outputs
        self.lonely = 0  # looks at an executor without workers
        self.strangers = 0  # batches of which no case has all channels
        # with these, since functions build others
        self.patience = 0 if isinstance(study.base, Model) else AHEAD * workers.size

    def run(self, tell: Callable[[Record], None]) -> None:
        """Run all cases. Raises `MachineError`, `InputError`; finished cases are kept."""
        try:
            while self.open or self.suspects or self.running:
                self._fill()
                done, _ = wait(self.running, PATIENCE, FIRST_COMPLETED)
                if not done:
                    self._look()
                lost = [
                    error for future in done if (error := self._ended(future, tell)) is not None
                ]
                if lost:
                    self._recover(lost[0], tell)
        except BaseException:
            self.workers.close(now=True)
            raise
        self.workers.close()

    def _look(self) -> None:
        """Check after a time without results that workers exist. Raises `MachineError`.

        Raises `MachineError`.
        """
        if self.workers.ended():
            raise MachineError(LOST)
        self.lonely = self.lonely + 1 if self.workers.empty() else 0
        if self.lonely == LONELY:
            waits = (
                f"executor: has had no workers for {LONELY * PATIENCE:g} s, for which the "
                "sweep waits"
            )
            warn_caller(
                f"{waits}; start workers, or interrupt it and continue with resume", RuntimeWarning
            )

    def _fill(self) -> None:
        """Submit batches to idle workers; cases suspected of crashes alone."""
        if self.suspects:
            if not self.running and self._submit((self.suspects[0],)):
                self.suspects.popleft()
            return
        while self.open and len(self.running) < AHEAD * self.workers.size:
            cases = tuple(itertools.islice(self.open, self._size()))
            if not self._submit(cases):
                return
            for _ in cases:
                self.open.popleft()

    def _size(self) -> int:
        """Number of cases of the next batch."""
        if not self.pace:
            return 1
        share = -(-len(self.open) // (AHEAD * self.workers.size))
        return max(1, min(int(BATCH_SECONDS / self.pace), share, MOST_CASES))

    def _submit(self, cases: tuple[Case, ...]) -> bool:
        """Submit a batch; False if a worker has just died. Raises `MachineError`."""
        folder = self.place.folder.absolute()
        batch = Batch(cases, self.place.next_batch())
        try:
            future = self.workers.submit(
                run_batch,
                self.study,
                cases,
                str(folder / LOGS / batch.name),
                str(folder / SOLUTIONS),
            )
        except BrokenExecutor as error:
            if not self.running:  # else their futures report it
                if not self.workers.own:  # it is not restarted
                    raise MachineError(
                        f"executor: {error}; results so far are kept, continue with "
                        "resume and a new one"
                    ) from error
                self.workers.close(now=True)
            return False
        except Exception as error:
            raise (
                MachineError(LOST) if self.workers.ended() else _executor_failed(error)
            ) from error
        self.running[future] = batch
        return True

    def _ended(
        self, future: "Future[None]", tell: Callable[[Record], None]
    ) -> BaseException | None:
        """Store the results of a batch; the error if its worker was lost.

        Raises as `run`.
        """
        batch = self.running.pop(future)
        try:
            error = future.exception()
        except CancelledError as cancelled:
            error = cancelled
        done, begun = self.place.results(batch.name)
        for record in done.values():
            tell(record)
        if done:
            seconds = sum(record.seconds for record in done.values()) / len(done)
            self.pace = 0.5 * (self.pace or seconds) + 0.5 * seconds
        self.good = self.good or any(not record.failure for record in done.values())
        if isinstance(error, UnknownChannel):
            self.strangers += 1
            # other cases may have it
            if self.good or (self.strangers <= self.patience and (self.open or self.running)):
                error = None
        if isinstance(error, MachineError | UnknownChannel | KeyboardInterrupt):
            raise error
        left = [case for case in batch.cases if case.digest not in done]
        if error is None and left:
            raise MachineError(
                f"{self.place.folder}: has not all cases that a worker ran; put the "
                "folder where all workers write to it"
            )
        self.began = self.began or bool(begun)
        self.suspects.extend(case for case in left if case.digest in begun)
        self.open.extendleft(reversed([case for case in left if case.digest not in begun]))
        self.deaths.update(begun - done.keys())
        return error

    def _recover(self, error: BaseException, tell: Callable[[Record], None]) -> None:
        """Restart the workers after some died, and requeue their cases.

        Raises `MachineError` where they end at once.
        """
        wait(self.running, PATIENCE)
        for future in [future for future in self.running if future.done()]:
            self._ended(future, tell)
        codes = self.workers.close(now=True)
        self.in_vain = 0 if self.began else self.in_vain + 1
        if self.in_vain and (
            FAILED in codes or self.in_vain > (MOST_STARTS if self.workers.own else MOST_TRIALS)
        ):
            raise _executor_failed(error)
        self.began = False
        guilty = [case for case in self.suspects if self.deaths[case.digest] >= MOST_DEATHS]
        if guilty:
            self.suspects = deque(case for case in self.suspects if case not in guilty)
            self._fail(guilty, tell)

    def _fail(self, cases: Sequence[Case], tell: Callable[[Record], None]) -> None:
        """Record cases whose workers died as failures. Raises `MachineError`."""
        log = AppendLog(self.place.folder / LOGS / f"{self.place.next_batch()}-0.log", 0)
        try:
            for case in cases:
                text = (
                    f"its process ended {MOST_DEATHS} times without a result: it was killed, "
                    "crashed or had too little memory"
                )
                record = Record(case.digest, case.inputs, {}, failure=text)
                log.append(packed_record(record))
                tell(record)
            log.flush()
        finally:
            log.close()


def _executor_failed(error: BaseException) -> MachineError:
    """Error for an executor whose workers end before they begin."""
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    return MachineError(
        f"executor: its workers end before they begin a case ({text}); results so far are "
        "kept, continue with resume. "
        "A script needs the line  if __name__ == '__main__':  above its call of sweep"
    )

"""A batch: some cases, run one after the other.

Each result is appended to the log of the batch before the next case begins.

A frame of the log is a JSON text: ``{"begun": digest}`` before a case, its `Record` after it. When
`run_batch` returns the log is on the disk, unless the folder ends with the sweep.
"""

import json
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from flexmbs.api.solution import Solution
from flexmbs.errors import FlexmbsError, InputError, MachineError
from flexmbs.files.append_log import AppendLog, frames
from flexmbs.studies.run.options import requested_options
from flexmbs.studies.run.run_setup import RunStart, prepared
from flexmbs.studies.run.simulate import finished_solution
from flexmbs.studies.sweeps.named_outputs import UnknownChannel, evaluated
from flexmbs.studies.sweeps.study import Case, Study
from flexmbs.system.check import NOT_JUDGED, PASS, WARN
from flexmbs.time_stepping.outcome import INTERRUPTED

NOTHING: dict[str, Any] = dict.fromkeys(
    (
        "t_end",
        "step",
        "output_step",
        "formalism",
        "coordinates",
        "integrator",
        "stabilization",
        "rtol",
        "atol",
        "rho_inf",
        "audit",
    )
)
MOST_TEXT = 2000  # characters of a message


class Record(NamedTuple):
    """Results of a case that are stored."""

    case: str
    inputs: dict[str, Any]
    outputs: dict[str, tuple[float, str]]  # values and units; empty for a case that failed
    verdict: str = ""
    findings: tuple[str, ...] = ()  # checks that are not PASS, declared values that were not kept
    seconds: float = 0.0
    failure: str = ""

    def marked(self, findings: Sequence[str]) -> "Record":
        """The record with further findings, which exclude the verdict PASS."""
        more = tuple(each[:MOST_TEXT] for each in findings if each[:MOST_TEXT] not in self.findings)
        verdict = WARN if more and self.verdict in (PASS, NOT_JUDGED) else self.verdict
        return self._replace(verdict=verdict, findings=more + self.findings)


def run_batch(study: Study, cases: Sequence[Case], logs: str, solutions: str) -> None:
    """Run the cases in order and append each result to a new log ``<logs>-<random>.log``.

    Raises `MachineError`; other errors are results.

    Raises `UnknownChannel` at the end if it was the result of every case. The log is new: a cluster
    that takes a worker for dead runs its batch again, perhaps beside it.
    """
    unknown: list[UnknownChannel] = []
    with closing(
        AppendLog(Path(f"{logs}-{secrets.token_hex(4)}.log"), 0, kept=study.lasting)
    ) as into:
        for case in cases:
            into.append(json.dumps({"begun": case.digest}).encode())
            into.append(packed_record(recorded(study, case, solutions, unknown)))
        into.flush()
    if len(unknown) == len(cases):
        raise unknown[0]


def recorded(study: Study, case: Case, solutions: str, unknown: list[UnknownChannel]) -> Record:
    """Record of one case: its outputs, or the error.

    ``unknown``: gathers outputs that are not in its solution. Raises `MachineError`.
    """
    begun = time.perf_counter()
    try:
        solution = solved(study, case)
        outputs = evaluated(study.outputs, solution)
    except MachineError:
        raise
    except (Exception, SystemExit) as error:  # functions of users
        unknown += [error] if isinstance(error, UnknownChannel) else []
        return Record(
            case.digest,
            case.inputs,
            {},
            failure=_message(error),
            seconds=time.perf_counter() - begun,
        )
    if study.keep:
        solution.save(Path(solutions) / f"{case.digest}.h5")
    found = [
        f"{check.status}: {check}"
        for check in solution.audit
        if check.status not in (PASS, NOT_JUDGED)
    ]
    found += [f"assembly moved {moved}" for moved in solution.run.moved]
    seconds = time.perf_counter() - begun
    return Record(
        case.digest,
        case.inputs,
        outputs,
        solution.verdict,
        tuple(text[:MOST_TEXT] for text in found),
        seconds,
    )


def solved(study: Study, case: Case) -> Solution:
    """Simulated solution of a case."""
    model = study.model(case.inputs)
    ready = prepared(model, requested_options(model, NOTHING), RunStart(), (), None)
    begun = time.perf_counter()
    status, written = ready.run.integrate(None)
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    return finished_solution(ready, status, written, time.perf_counter() - begun)


def _message(error: BaseException) -> str:
    """Text of an error, with its class if it is from outside of flexmbs."""
    text = str(error) if isinstance(error, FlexmbsError) else f"{type(error).__name__}: {error}"
    return text[:MOST_TEXT]


def packed_record(record: Record) -> bytes:
    """JSON text of a record of a case."""
    return json.dumps(record._asdict(), ensure_ascii=False).encode()


def read_log(log: Path, *, complete: bool = False) -> Iterator[Record | str]:
    """(records, digests of the cases that were begun) of a log.

    complete: as in `frames`. Raises `InputError`, OSError.
    """
    for content, _ in frames(log, complete=complete):
        try:
            table = json.loads(content)
            yield str(table["begun"]) if "begun" in table else _record(table)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise InputError(
                f"{log}: contains a result that is not one of a sweep; remove it: its cases are "
                "then run again"
            ) from None


def _record(table: Any) -> Record:
    """Record of a case from its stored table."""
    inputs = dict(table["inputs"])
    for value in inputs.values():
        if not isinstance(value, str):
            float(value)
    return Record(
        case=str(table["case"]),
        inputs=inputs,
        outputs={
            name: (float(value), str(unit)) for name, (value, unit) in table["outputs"].items()
        },
        verdict=str(table["verdict"]),
        findings=tuple(map(str, table["findings"])),
        seconds=float(table["seconds"]),
        failure=str(table["failure"]),
    )

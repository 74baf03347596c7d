"""``flexmbs sweep``"""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from flexmbs.console.messages import note, progress_bar, put, put_json
from flexmbs.errors import AuditWarning, MachineError, SolverError
from flexmbs.files.file_types import PAGE
from flexmbs.files.reserved_outputs import reserved

if TYPE_CHECKING:
    from flexmbs.studies.parameters.parameter_paths import Build
    from flexmbs.studies.sweeps.study_file import StudyFile
    from flexmbs.studies.sweeps.table import SweepResult

SHOWN = 10  # number of messages of cases that are printed


class SweepOptions(NamedTuple):
    """Options of a sweep, and its treatment of existing results."""

    resume: bool = False
    retry: bool = False
    force: bool = False
    keep: bool = False
    threads: bool = False
    workers: int | None = None
    scheduler: str | None = None
    report: Path | None = None
    audit: str | None = None


def sweep(
    path: Path, folder: Path | None, how: SweepOptions, *, as_json: bool, access: dict[str, bool]
) -> int:
    """Run the study into its folder; the exit code.

    Return the exit code, which is that of a `SolverError` if cases failed or have the verdict FAIL.
    """
    from flexmbs.studies.sweeps.study_file import read_study
    from flexmbs.studies.sweeps.sweep import sweep as run
    from flexmbs.studies.sweeps.table import FAILED
    from flexmbs.system.check import FAIL

    study, target = read_study(path, **access), folder or path.with_suffix("")
    executor = (
        _client(how.scheduler) if how.scheduler else "threads" if how.threads else "processes"
    )
    with (
        reserved((how.report, PAGE)),
        progress_bar(f"sweep {path.stem}") as progress,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", AuditWarning)  # reported with the results
        result = run(
            _model(study, access["allow_outside"]),
            study.parameters,
            design=study.design,
            outputs=study.outputs,
            run=study.run,
            audit=how.audit,
            folder=target,
            resume=how.resume,
            retry=how.retry,
            force=how.force,
            keep=how.keep,
            executor=executor,
            workers=how.workers,
            progress=progress,
        )
        if how.report is not None:
            result.report(how.report, name=path.stem)
    _print(result, target, as_json=as_json)
    if study.design.kind == "saltelli" and not as_json:
        from flexmbs.studies.sweeps.indices import sobol_indices

        put(str(sobol_indices(result)))
    return SolverError.exit_code if {FAILED, FAIL} & set(result.counts()) else 0


def _model(study: "StudyFile", allow_outside: bool) -> "Build":
    """Model of a study, with its parts if there are any. Raises `InputError`."""
    from flexmbs.studies.parameters.model_with_parts import ModelWithParts

    if not study.parts:
        return study.model
    from preprocess.part_file import read_part

    parts = {
        name: read_part(part, allow_outside=allow_outside) if isinstance(part, Path) else part
        for name, part in study.parts.items()
    }
    return ModelWithParts(study.model, parts)


def _client(address: str) -> Any:
    """Dask client of the scheduler at an address. Raises `MachineError` without dask."""
    try:
        from distributed import Client
    except ImportError:
        raise MachineError(
            "--scheduler: needs dask.distributed; install it: pip install 'flexmbs[cluster]'"
        ) from None
    try:
        return Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise MachineError(
            f"--scheduler: {address} cannot be reached ({error}); start it with: dask scheduler"
        ) from None


def _print(result: "SweepResult", folder: Path, *, as_json: bool) -> None:
    """Print the numbers of the sweep and the failed cases."""
    from flexmbs.studies.sweeps.folder import TABLE

    table = folder / TABLE
    if as_json:
        put_json(
            {
                "cases": len(result),
                "verdicts": result.counts(),
                "table": str(table),
                "rows": list(result.rows()),
            }
        )
        return
    told = [(k, text) for k, text in enumerate(result.failure) if text]
    told += [(k, found[0]) for k, found in enumerate(result.findings) if found]
    for k, text in told[:SHOWN]:
        note(f"case {k}: {text}")
    if len(told) > SHOWN:
        note(f"and {len(told) - SHOWN} more cases with messages: see the table")
    put(
        "\n".join(
            _span(name, values, result.units.get(name, ""))
            for name, values in result.outputs.items()
        )
    )
    put(f"table: {table}")
    put(
        f"{len(result)} cases: "
        f"{', '.join(f'{n} {verdict}' for verdict, n in result.counts().items())}"
    )


def _span(name: str, values: Any, unit: str) -> str:
    """Text with the smallest and largest value of an output and their cases."""
    import numpy as np

    if not np.isfinite(values).any():
        return f"{name}: not available in any case"
    low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
    unit = f" {unit}" if unit else ""
    return f"{name}: {values[low]:.6g}{unit} (case {low}) … {values[high]:.6g}{unit} (case {high})"

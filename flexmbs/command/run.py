"""``flexmbs run``"""

import contextlib
import dataclasses
import os
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from flexmbs.console.interrupts import exit_code
from flexmbs.console.messages import note, progress_bar, put, put_json
from flexmbs.errors import AuditWarning, InputError, MachineError, SolverError
from flexmbs.files.file_types import PAGE, PDF, SOLUTION, report_kind
from flexmbs.files.reserved_outputs import reserved

if TYPE_CHECKING:
    from flexmbs.api.model import Model
    from flexmbs.api.solution import Solution
    from flexmbs.model.run import Run
    from flexmbs.results.state import State
    from flexmbs.studies.run.run_folder import RunFolder


class RunOutputs(NamedTuple):
    """Output files of a run: solution file or run folder, and report.

    Also states how an existing folder is resumed.
    """

    output: str | None
    resume: bool = False
    force: bool = False
    checkpoint: float = 30.0
    report: Path | None = None

    def folder(self) -> "RunFolder | None":
        """Run folder, if the output ends with a slash or is a folder. Raises InputError."""
        from flexmbs.studies.run.run_folder import RunFolder

        if self.output is not None and (
            self.output.endswith(("/", os.sep)) or Path(self.output).is_dir()
        ):
            return RunFolder(
                self.output,
                resume=self.resume,
                force=self.force,
                checkpoint=self.checkpoint,
                tell=note,
            )
        if self.resume or self.force:
            raise InputError(
                "--resume, --force: need the folder of the run to continue; give it with -o run/"
            )
        return None

    def report_kind(self) -> str:
        """Kind of the report; checked before the run.

        Raises MachineError if it cannot be written.
        """
        if self.report is None or report_kind(self.report) == PAGE:
            return PAGE
        from flexmbs.report.pdf import typesetter

        typesetter()
        return PDF


def run(
    path: Path, given: dict[str, Any], kept: RunOutputs, *, as_json: bool, access: dict[str, bool]
) -> int:
    """Simulate a model, save and report; the exit code.

    Return the exit code, which is that of a `SolverError` if the verdict is FAIL. Partial results
    are kept.
    """
    from flexmbs.robots.any_file import load_model
    from flexmbs.studies.run.run_folder import SOLUTION as IN_FOLDER
    from flexmbs.system.check import FAIL

    folder, kind = kept.folder(), kept.report_kind()
    model = load_model(path, allow_outside=access["allow_outside"], allow_code=access["allow_code"])
    options = run_options(model, given)
    target = (
        Path(folder.path) / IN_FOLDER
        if folder
        else Path(kept.output)
        if kept.output
        else path.with_suffix(".h5")
    )
    with reserved(*([] if folder else [(target, SOLUTION)]), (kept.report, kind)):
        try:
            with progress_bar(f"simulating {model.name}") as progress:
                solution = simulated(model, options, progress, folder)
        except Exception as error:  # of the solver, or of a user function
            _keep_part(error, target, kept.report, as_json=as_json)
            raise
        if folder and not solution.run.finished:
            note(f"{solution.run.outcome}; continue it with --resume")
            return exit_code()
        _keep(solution, target, kept.report, as_json=as_json, saved=folder is not None)
    if solution.run.outcome.startswith("interrupted"):
        return exit_code()
    return SolverError.exit_code if solution.verdict == FAIL else 0


def run_options(model: "Model", given: dict[str, Any]) -> "Run":
    """The model's [run] table, overridden by the given options. Raises InputError."""
    from flexmbs.model.run import Run

    if model.run is None and "t_end" not in given:
        raise InputError(
            f"run.t_end: model '{model.name}' has no [run] table; give the end time, --t-end 1.0"
        )
    if model.run is None:
        return Run(**given)
    return dataclasses.replace(model.run, **(_unfit(given) | given))


def _unfit(given: dict[str, Any]) -> dict[str, None]:
    """Names of the options of the [run] table that the selected integrator does not have."""
    from flexmbs.integrators import INTEGRATORS
    from flexmbs.model.run import OF_INTEGRATOR
    from flexmbs.studies.run.options import has_option

    method = INTEGRATORS.get(given.get("integrator", ""))
    return (
        {}
        if method is None
        else {key: None for key in OF_INTEGRATOR if not has_option(method, key)}
    )


def simulated(
    model: "Model",
    options: "Run",
    progress: Any,
    folder: "RunFolder | None" = None,
    start: "State | None" = None,
) -> "Solution":
    """Run the simulation with the options, from the declared state or ``start``."""
    from flexmbs.studies.run.simulate import simulate

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AuditWarning)  # reported with the results
        return simulate(
            model,
            start=start,
            t_end=options.t_end,
            step=options.step,
            output_step=options.output_step,
            formalism=options.formalism,
            coordinates=options.coordinates,
            integrator=options.integrator,
            stabilization=options.stabilization,
            rtol=options.rtol,
            atol=options.atol,
            rho_inf=options.rho_inf,
            audit=options.audit,
            progress=progress,
            folder=folder,
        )


def _keep_part(error: Exception, target: Path, report: Path | None, *, as_json: bool) -> None:
    """Save the solution attached to an error, if there is one.

    A failure to save is reported without hiding the original error.
    """
    solution: Solution | None = getattr(error, "solution", None)
    if solution is None or len(solution.t) == 0:
        return
    try:
        _keep(solution, target, report, as_json=as_json)
    except Exception as second:
        note(
            f"error: {second}"
            if isinstance(second, MachineError)
            else f"error: the partial solution could not be saved: {second}"
        )


def _keep(
    solution: "Solution", target: Path, report: Path | None, *, as_json: bool, saved: bool = False
) -> None:
    """Write the files (the solution unless already ``saved``) and print the results.

    Raises MachineError at the end, naming the files that could not be written.
    """
    from flexmbs.results.summary import summary

    files: dict[str, str] = {}
    failed: list[str] = []
    try:
        if not saved:
            solution.save(target)
        files["solution"] = str(target)
    except (InputError, MachineError) as error:
        # InputError if another file has appeared there meanwhile
        elsewhere = _saved_elsewhere(solution, target.name)
        failed.append(f"{error}; saved as {elsewhere} instead" if elsewhere else str(error))
        files |= {"solution": str(elsewhere)} if elsewhere else {}
    try:
        if report is not None:
            solution.report(report)
            files["report"] = str(report)
    except (InputError, MachineError) as error:
        failed.append(str(error))
    _print_results(solution, summary(solution), files, as_json=as_json)
    if failed:
        raise MachineError("\n".join(failed))


def _saved_elsewhere(solution: "Solution", name: str) -> Path | None:
    """Save the solution in a new temporary folder; its path, or None."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="flexmbs-"))
    except OSError:
        return None
    try:
        solution.save(folder / name)
    except MachineError:
        with contextlib.suppress(OSError):
            folder.rmdir()
        return None
    return folder / name


def _print_results(
    solution: "Solution", numbers: dict[str, Any], files: dict[str, str], *, as_json: bool
) -> None:
    """Print notes, audit and numbers of a run, or all as JSON."""
    from flexmbs.system.check import PASS

    if as_json:
        put_json(numbers | {"files": files})
        return
    for line in solution.run.notes:
        note(f"note: {line}")
    put("\n".join(f"{check.status}  {check}" for check in solution.audit))
    put("\n".join(f"{what}: {file}" for what, file in files.items()))
    worst = next(check for check in solution.audit if check.status == solution.verdict)
    put(PASS if solution.verdict == PASS else f"{solution.verdict}: {worst}")

"""`sweep`: one model, many runs with other values of its parameters."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flexmbs.api.model import Model, load
from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import shown
from flexmbs.errors import (
    AssemblyWarning,
    AuditWarning,
    InputError,
    ModelWarning,
    raise_problems,
    warn_caller,
)
from flexmbs.files.inputs import read_bytes
from flexmbs.files.output import ensure_folder, temporary_folder
from flexmbs.files.paths import file_path
from flexmbs.model.argument_checks import require_switch
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.function_code import code_digest, contents_named, functions_of
from flexmbs.model.run import STANDARD, Run, run_with, stated
from flexmbs.studies.parameters.fingerprint import FILES, MOST, mesh_digests, versions
from flexmbs.studies.parameters.model_with_parts import ModelWithParts
from flexmbs.studies.parameters.outputs import Wanted
from flexmbs.studies.parameters.parameter_paths import Build, ModelSource, changed
from flexmbs.studies.run.options import LONGEST, by_name, check_progress, requested_options
from flexmbs.studies.run.run_setup import RunStart, prepared
from flexmbs.studies.sweeps.batch import NOTHING, Record
from flexmbs.studies.sweeps.designs import Design, Grid, Listed
from flexmbs.studies.sweeps.folder import PARTS, RECORD, TABLE, SweepFolder
from flexmbs.studies.sweeps.named_outputs import checked_outputs, described
from flexmbs.studies.sweeps.ranges import Axis, Spread, Values, axis_of
from flexmbs.studies.sweeps.schedule import Schedule
from flexmbs.studies.sweeps.study import Case, Study, case_of, known_by
from flexmbs.studies.sweeps.table import SweepResult, result_of
from flexmbs.studies.sweeps.workers import made_workers
from flexmbs.system.check import NOT_JUDGED, PASS
from flexmbs.time_stepping.run import Progress

MOST_CHECKED = 200  # values of a parameter that are checked before the first run
MOST_TRIED = 3  # first cases, of which one must be able to run
DESIGNS: dict[str, type[Design]] = {"grid": Grid, "list": Listed}  # those without options, by name


@checked_arguments
def sweep(
    model: Build | str | os.PathLike[str],
    parameters: Mapping[str, Sequence[Any] | Spread],
    *,
    outputs: Mapping[str, Wanted],
    design: str | Design = "grid",
    t_end: float | None = None,
    step: float | None = None,
    output_step: float | None = None,
    formalism: str | None = None,
    coordinates: str | None = None,
    integrator: str | None = None,
    stabilization: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    rho_inf: float | None = None,
    audit: str | None = None,
    run: Run | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    retry: bool = False,
    force: bool = False,
    keep: bool = False,
    executor: Any = "processes",
    workers: int | None = None,
    progress: Progress | None = None,
) -> SweepResult:
    """Run a model with many parameter values in parallel; table of the outputs.

    The outputs of all runs form one table.

    Each case is the run that `simulate` makes of it, bitwise, with its audit. Cases that fail are
    rows of the table with their messages. In a ``folder`` what is done is never done again: after a
    kill, a power cut or a full disk ``resume`` runs the rest; with another design or more values of
    the same parameters it runs those cases that are new, and those whose values name a file, a
    function or a part that has changed. Files that functions name count as well; what else they
    read is taken to stay.

    Parameters
    ----------
    model : Model, path, function or ModelWithParts
        A model, the path of its file, or a function that returns one; parameters without a dot are
        its arguments. With its parts: parameters of these too.
    parameters : mapping of names to lists of values, `Range`, `Normal` or `LogNormal`
        Names are paths of keys as in model files: "joints.elbow.q0", "bodies.tool.mass",
        "bodies.tool.com.z", "forces.motor.law.kp", "gravity.z", "run.step",
        "parts.link.material.E"; see `parameters`.
    outputs : mapping of names to texts or functions
        "max joint elbow.0 effort": words and channels as of `sensitivities`: first, last, min, max,
        peak, range, mean … of what `Solution.signal` knows; or a function of the `Solution` that
        returns a number.
    design : 'grid', 'list', Grid, Listed, LatinHypercube, Sobol, MonteCarlo or Saltelli
        Which values belong to one case.
    t_end, step, output_step, formalism, coordinates, integrator, stabilization, rtol, atol, \
rho_inf, audit : optional
        Options of the runs, as of `simulate`; by default those of the model. Formalisms and
        integrators by name.
    run : Run, optional
        Options of the runs as one object; arguments override them.
    folder : path, optional
        Folder that keeps the results; without one they are lost if the sweep does not come to its
        end.
    resume : bool
        Run what is missing of the sweep in the folder; where there is none it begins.
    retry : bool
        With ``resume``: also the cases that failed.
    force : bool
        With ``resume``: though model, outputs or versions are others than those in the folder,
        which is then a finding of the results that it has; those without the wanted outputs are run
        again.
    keep : bool
        Keep the solution of each case in the folder; see `SweepResult.solution_file`.
    executor : 'processes', 'threads', executor or client
        Where the cases run: in processes or threads of this machine, by an executor of
        `concurrent.futures`, or by a client of ``dask.distributed`` whose workers share the folder.
    workers : int, optional
        Number of processes or threads; that of the processors by default.
    progress : function, optional
        Called with the completed fraction and a text.

    Returns
    -------
    SweepResult
        Parameters and outputs of all cases, with an `AuditWarning` if some failed or are not PASS.

    Raises
    ------
    InputError
        For parameters, values, outputs and options that cannot be run.
    MachineError
        For a folder that cannot be written, and workers that cannot be started; results so far are
        kept.

    Examples
    --------
    >>> import flexmbs as fm
    >>> pendulum = fm.Model("pendulum", run=fm.Run(t_end=1.0, step=1e-3))
    >>> bob = pendulum.add(
    ...     fm.RigidBody("bob", mass=1.0, inertia=(0.01, 0.01, 0.01), frames={"pin": (0, 0, 1.0)})
    ... )
    >>> hinge = pendulum.add(fm.Revolute("hinge", pendulum.ground, bob["pin"], axis="y", q0=0.1))
    >>> swings = fm.sweep(
    ...     pendulum,
    ...     {"joints.hinge.q0": [0.1, 0.2]},
    ...     outputs={"speed": "peak joint hinge.0 velocity"},
    ...     executor="threads",
    ... )
    >>> swings.outputs["speed"].round(3)
    array([0.312, 0.622])
    """
    check_progress(progress)
    for key, value in (("resume", resume), ("retry", retry), ("force", force), ("keep", keep)):
        require_switch(key, value)
    if keep and folder is None:
        raise InputError("keep: solutions are kept in a folder; give folder='sweep'")
    if not isinstance(run, Run | None):
        raise InputError(f"run: {shown(run)} is not a Run; give fm.Run(t_end=1.0)")
    options = stated(
        t_end=t_end, step=step, output_step=output_step, formalism=formalism,
        coordinates=coordinates, integrator=integrator, stabilization=stabilization, rtol=rtol,
        atol=atol, rho_inf=rho_inf, audit=audit,
    )  # fmt: skip
    run_with(run or Run(t_end=LONGEST), options)  # checks them
    axes = _axes(parameters, outputs)
    study = Study(_base(model), checked_outputs(outputs), run, keep, options=options)
    content = functools.cache(study.content)
    cases = [case_of(list(axes), values, content) for values in _design(design).points(axes)]
    _check_values(study, axes, cases[:MOST_TRIED])
    with contextlib.ExitStack() as stack:
        given = None if folder is None else file_path(folder, "folder")
        path = given or stack.enter_context(temporary_folder("sweep"))
        place = stack.enter_context(SweepFolder.opened(path, resume=resume))
        stack.enter_context(warnings.catch_warnings())
        for kind in (AssemblyWarning, ModelWarning):  # they are among the findings of the cases
            warnings.simplefilter("ignore", kind)
        study = dataclasses.replace(
            study, base=_stored(study.base, path / PARTS), lasting=given is not None
        )
        pool = made_workers(executor, workers, study)
        place.begin(_identity(place, study, _prepared(study, cases)), force=force)
        there = place.records()
        left = {
            case.digest: case
            for case in cases
            if _is_open(there.get(case.digest), study, retry=retry)
        }
        good = any(not record.failure for record in there.values())
        schedule = Schedule(place, study, pool, list(left.values()), good=good)
        schedule.run(Teller(progress, len(cases), len(cases) - len(left)).tell)
        there = place.records()
        of_values = {known_by(case.inputs): case.digest for case in cases}
        place.gather(
            each
            for each in there.values()
            if of_values.get(known_by(each.inputs), each.case) == each.case
        )
        result = result_of([there[case.digest] for case in cases], given)
        if given is not None:
            result.to_csv(given / TABLE)
    _report(result)
    return result


class Teller:
    """Progress of a sweep as fraction and text."""

    def __init__(self, progress: Progress | None, n: int, done: int) -> None:
        self.progress, self.n, self.done, self.before, self.failed = progress, n, done, done, 0
        self.begun = time.perf_counter()

    def tell(self, record: Record) -> None:
        """Report a finished case to the progress callback."""
        self.done += 1
        self.failed += bool(record.failure)
        if self.progress:
            pace = (self.done - self.before) / max(time.perf_counter() - self.begun, 1e-9)
            failed = f", {self.failed} failed" if self.failed else ""
            self.progress(
                self.done / self.n, f"{self.done} of {self.n} cases{failed}, {pace:.3g}/s"
            )


def _base(model: object) -> Build:
    """Model from its file, or the object that builds it. Raises `InputError`."""
    if isinstance(model, Model | ModelSource):
        return model
    if isinstance(model, str | os.PathLike):
        return load(model)  # type: ignore[arg-type]
    if callable(model):
        return model
    raise InputError(
        f"model: {shown(model)} is not a Model, no path of a model file and no function that "
        "returns a model"
    )


def _axes(parameters: object, outputs: object) -> dict[str, Axis]:
    """Values or distribution of each parameter. Raises `InputError`."""
    if not isinstance(parameters, Mapping) or not parameters:
        raise InputError(
            'parameters: give at least one with its values, as {"joints.elbow.q0": [0.1, 0.2]}'
        )
    for name in parameters:
        if not isinstance(name, str) or not name:
            raise InputError(
                f"parameters: {shown(name)} is not a name; give a path such as 'joints.elbow.q0'"
            )
        if isinstance(outputs, Mapping) and name in outputs:
            raise InputError(f"outputs.{name}: has the name of a parameter; choose another")
    return {name: axis_of(name, values) for name, values in parameters.items()}


def _design(given: object) -> Design:
    """Design of experiments by name or object. Raises `InputError`."""
    if isinstance(given, Design):
        return given
    if isinstance(given, str) and given in Design.kinds and given not in DESIGNS:
        kind = Design.kinds[given]
        raise InputError(
            f"design: '{given}' needs a number of cases; give fm.{kind.__name__}(count=64)"
        )
    made: Design = by_name("design", given, DESIGNS)()
    return made


def _check_values(study: Study, axes: Mapping[str, Axis], first: Sequence[Case]) -> None:
    """Raise `InputError` for unknown parameters and unsuitable values.

    For random values, of which some may not fit, only if none of the first cases fits.
    """
    build, of_parts = study.base, dict[str, Any]()
    if isinstance(build, ModelWithParts):
        # a function may need them
        of_parts = {name: value for name, value in first[0].inputs.items() if build.owns(name)}
        study, build = dataclasses.replace(study, base=build.unreduced()), build.model
    problems: dict[str, None] = {}
    for case in first:
        try:
            study.model(case.inputs)
        except InputError as error:
            problems = problems or dict.fromkeys(error.problems)
        else:
            problems = {}
            break
    if isinstance(build, Model):
        for name, axis in axes.items():
            values: Values = axis.checked if isinstance(axis, Spread) else axis[:MOST_CHECKED]
            for value in dict.fromkeys(values):
                try:
                    study.model(of_parts | {name: value})
                except InputError as error:
                    problems |= dict.fromkeys(error.problems)
    raise_problems(problems)


def _stored(base: Build, folder: Path) -> Build:
    """Model with its flexible bodies moved from memory to files in the folder.

    Raises MachineError.
    """
    if isinstance(base, ModelWithParts):
        return base.stored_in(folder, _stored(base.model, folder))
    if not isinstance(base, Model):
        return base
    made = base
    for name, body in base.bodies.items():
        if isinstance(body, FlexibleBody) and body.data is not None:
            path = ensure_folder(folder).absolute() / f"{body.data.digest}.h5"
            if not path.exists():
                body.data.save(path)
            made = changed(
                made, {f"bodies.{name}": dataclasses.replace(body, data=None, file=str(path))}
            )
    return made


def _prepared(study: Study, cases: Sequence[Case]) -> Case:
    """First case whose run can be prepared; compiles the kernels once for all cases.

    Its kernels are compiled once, for all cases. Raises `InputError` if none of the first cases can
    begin.
    """
    errors = []
    for case in cases[:MOST_TRIED]:
        try:
            model = study.model(case.inputs)
            prepared(model, requested_options(model, NOTHING), RunStart(), (), None)
            return case
        except InputError as error:
            errors.append(error)
    raise errors[0]


def _identity(place: SweepFolder, study: Study, first: Case) -> dict[str, Any]:
    """Record of what determines the results besides the parameters.

    A digest of the model at one point, of its parts, functions, versions.

    The point is that of the record in the folder, if there is one.
    """
    inputs = first.inputs
    if (place.folder / RECORD).exists():
        with contextlib.suppress(ValueError, KeyError, TypeError, InputError, RecursionError):
            inputs = dict(json.loads(read_bytes(place.folder / RECORD, MOST))["of"]["point"])
    model, base = study.model(inputs), study.base
    parts = base.parts if isinstance(base, ModelWithParts) else {}
    build = base.model if isinstance(base, ModelWithParts) else base
    bodies = {
        name: body.whole().digest
        for name, body in model.bodies.items()
        if isinstance(body, FlexibleBody)
    }
    functions = list(functions_of(model))
    level = model.run.audit if model.run else STANDARD
    if model.run:  # the level is given by its name
        model.run = dataclasses.replace(model.run, audit=STANDARD)
    return {
        "point": inputs,
        "parameters": sorted(first.inputs),
        "model": hashlib.sha256(model.to_toml(complete=False).encode()).hexdigest(),
        **{f"part of body '{name}'": digest for name, digest in bodies.items()},
        **mesh_digests(model),
        **{f"part '{name}'": part.digest() for name, part in parts.items()},
        **{f"function {place}": code_digest(function) for place, function in functions},
        "function": "" if isinstance(build, Model) else code_digest(build),  # type: ignore[arg-type]
        FILES: contents_named(
            [build, *(function for _, function in functions), *study.outputs.values()]
        ),
        "audit": level,
        "outputs": {name: described(output) for name, output in study.outputs.items()},
        "versions": versions(),
    }


def _is_open(record: Record | None, study: Study, *, retry: bool) -> bool:
    """True if a case must be run: new, failed and retried, or with other outputs."""
    if record is None or record.failure:
        return record is None or retry
    return record.outputs.keys() != study.outputs.keys()


def _report(result: SweepResult) -> None:
    """Issue an `AuditWarning` about cases that are not PASS."""
    counts = result.counts()
    for status in (PASS, NOT_JUDGED):
        counts.pop(status, None)
    if counts:
        k = next(k for k, verdict in enumerate(result.verdict) if verdict in counts)
        text = result.failure[k] or next(iter(result.findings[k]), "")
        found = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
        warn_caller(f"sweep: of {len(result)} cases {found}; case {k}: {text}", AuditWarning)

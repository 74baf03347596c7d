"""`simulate`: a model, a formalism and an integrator become a solution."""

import dataclasses
import math
import numbers
import time
from typing import Any

import numpy as np

from flexmbs.analysis.assemble import redundancy_text
from flexmbs.analysis.initial import consistent_state, in_coordinates
from flexmbs.analysis.march import state
from flexmbs.analysis.march.run import INTEGRATORS, Integrator, Progress, Run, statistics
from flexmbs.analysis.rank import DEPENDENT, pivots, singular_position
from flexmbs.analysis.state import HasState, given_state, started
from flexmbs.analysis.stop import INTERRUPTED, outcome
from flexmbs.errors import InputError, SolverError
from flexmbs.formalisms import FORMALISMS
from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.stabilization import STABILIZATIONS
from flexmbs.model.check import declaration_report
from flexmbs.model.model import Model
from flexmbs.results.solution import Solution
from flexmbs.results.trajectory import RunInfo, Trajectory
from flexmbs.system.topology import COORDINATES


def simulate(
    model: Model,
    *,
    t_end: float,
    start: HasState | None = None,
    step: float | None = None,
    output_step: float | None = None,
    formalism: str | Formalism = "multiplier",
    coordinates: str = "joint",
    integrator: str | Integrator = "generalized-alpha",
    stabilization: str = "none",
    rtol: float | None = None,
    atol: float | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Motion of a model from its initial values at t = 0 to ``t_end`` (s).

    start: a state or an equilibrium of this model, or of one with the same bodies and joints, instead of the declared values.
    step: fixed step (s); without it the steps follow the local error within ``rtol`` and ``atol``.
    output_step: distance of the output times (s), default ``step`` or t_end/200.
    formalism: a name of `FORMALISMS` or an object with options; coordinates: "joint" or "absolute".
    integrator: "generalized-alpha", "dormand-prince", or an object with options (then ``step`` … are its own).
    stabilization: of explicit integrators on constraints: "none", "baumgarte" or "projection".
    progress: called with the fraction done and a text about four times a second.
    Ctrl-C ends the run at the last output; the solution's ``run.outcome`` says so.

    Raises `InputError` for what is wrong before the first step, `SolverError` with the partial solution when the run stops.
    """
    method = _integrator(integrator, step, rtol, atol)
    form = _formalism(formalism, stabilization, coordinates, method)
    times = output_times(t_end, method.step, output_step)
    report = declaration_report(model)
    report.raise_errors()
    begun = time.perf_counter()
    if progress:
        progress(0.0, "assembling")
    joint, first_state = consistent_state(model)
    if start is not None:
        first_state = started(joint, given_state("start", start))
    singular = singular_position(joint, first_state)
    compiled, first_state = in_coordinates(joint, first_state, coordinates)
    regular = in_coordinates(joint, singular.near, coordinates)[1] if singular else first_state
    if compiled is not joint:
        compiled.system.forces.spring_value[:] = joint.system.forces.spring_value
    run = Run(compiled, method, form, times, first_state)
    first = pivots(compiled, regular.q, regular.s, regular.beta)
    redundant = first.dependent(DEPENDENT)
    if progress:
        progress(0.0, "compiling (once)")
    prepared = time.perf_counter()
    status, reached = run.march(progress)
    status, reached = _finite(status, reached, run.out)
    finished = time.perf_counter()
    notes = [
        *report.warnings,
        *(redundancy_text(name, rows) for name, rows in redundant),
        *(f"assembly moved {m}" for m in first_state.moved),
        *([str(singular)] if singular else []),
        *compiled.callbacks.slow_notes(),
        *form.notes(compiled, run.room),
    ]
    options = {
        "t_end": t_end, "formalism": form.name, "coordinates": coordinates, "integrator": method.name, "step": method.step,
        "stabilization": form.treatment, "rtol": method.rtol, "atol": method.atol,
    }  # fmt: skip
    ended = outcome(status, compiled, run.now, run.work, first)
    counts = statistics(run.now, prepared - begun, finished - prepared)
    solution = Solution(
        compiled=compiled, trajectory=Trajectory(*(array[:reached] for array in run.out)), statistics=counts,
        run=RunInfo(
            options=options, outcome=ended, redundant=redundant, moved=[str(m) for m in first_state.moved], notes=notes
        ),
    )  # fmt: skip
    if status not in (state.DONE, INTERRUPTED):
        compiled.callbacks.raise_error()
        raise SolverError(ended, solution)
    return solution


def _finite(status: int, reached: int, out: Trajectory) -> tuple[int, int]:
    """Status and number of outputs before the first one that holds a number that is not finite."""
    good = np.ones(reached, bool)
    for values in out:
        good &= np.isfinite(values[:reached].reshape(reached, -1)).all(axis=1)
    return (status, reached) if good.all() else (state.NOT_FINITE if status == state.DONE else status, int(np.argmin(good)))


def output_times(t_end: float, step: float | None, output_step: float | None) -> np.ndarray:
    """0, Δ, 2Δ, …, t_end. Raises `InputError` for times that are not positive, not finite or too many."""
    for key, value in (("t_end", t_end), ("step", step), ("output_step", output_step)):
        if value is not None and not (isinstance(value, numbers.Real) and math.isfinite(value) and value > 0.0):
            raise InputError(f"{key}: {value!r} is not a positive time in seconds")
    for key, value in (("step", step), ("output_step", output_step)):
        if value is not None and value > t_end * (1.0 + 1e-12):
            raise InputError(f"{key}: {value} s is longer than t_end = {t_end} s")
    interval = output_step or step or t_end / 200.0
    count = math.ceil(t_end / interval - 1e-9)
    if count > 5_000_000:
        raise InputError(f"output_step: {interval} s gives {count} outputs up to t_end = {t_end} s; choose a longer one")
    return np.minimum(np.arange(count + 1) * interval, t_end)


def _integrator(given: Any, step: float | None, rtol: float | None, atol: float | None) -> Integrator:
    if isinstance(given, tuple(INTEGRATORS.values())):
        if (step, rtol, atol) != (None, None, None):
            raise InputError("integrator: give step, rtol and atol to the integrator object, not beside it")
        return given  # type: ignore[return-value]
    if given not in INTEGRATORS:
        raise InputError(f"integrator: no '{given}'; there are {', '.join(INTEGRATORS)}")
    options: dict[str, Any] = {key: value for key, value in (("step", step), ("rtol", rtol), ("atol", atol)) if value is not None}
    return INTEGRATORS[given](**options)


def _formalism(given: Any, stabilization: str, coordinates: str, method: Integrator) -> Formalism:
    if isinstance(given, Formalism):
        if stabilization != "none":
            raise InputError("stabilization: give it to the formalism object, not beside it")
        form = given
    elif given not in FORMALISMS:
        raise InputError(f"formalism: no '{given}'; there are {', '.join(FORMALISMS)}")
    else:
        form = _with_stabilization(FORMALISMS[given], stabilization)
    if method.needs not in form.provides:
        pairs = [f"{f.name} with {i.name}" for f in FORMALISMS.values() for i in INTEGRATORS.values() if i.needs in f.provides]
        raise InputError(f"integrator: '{method.name}' does not go with '{form.name}'; these do: {'; '.join(pairs)}")
    if coordinates in COORDINATES and coordinates not in form.coordinates:
        raise InputError(
            f"coordinates: '{form.name}' works in {' or '.join(form.coordinates)} coordinates, not in '{coordinates}'"
        )
    if form.treatment != "none" and method.needs == "residual":
        raise InputError(f"stabilization: '{method.name}' fulfils g = 0 by itself; leave it 'none' or take 'dormand-prince'")
    return form


def _with_stabilization(form: type[Formalism], stabilization: str) -> Formalism:
    """The formalism by name with a stabilization by name."""
    if stabilization not in STABILIZATIONS:
        raise InputError(f"stabilization: no '{stabilization}'; there are {', '.join(STABILIZATIONS)}")
    kind = STABILIZATIONS[stabilization]
    if kind is None:
        return form()
    if "stabilization" not in {field.name for field in dataclasses.fields(form)}:  # type: ignore[arg-type]
        raise InputError(f"stabilization: '{form.name}' keeps its constraints by itself; leave it 'none'")
    return form(stabilization=kind())  # type: ignore[call-arg]

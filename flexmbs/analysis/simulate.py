"""`simulate`: a model, a formalism and an integrator become a solution."""

import math
import numbers
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from flexmbs.analysis import loops
from flexmbs.analysis.assemble import redundancy_text
from flexmbs.analysis.initial import consistent_state, in_coordinates, settle
from flexmbs.analysis.rank import DEPENDENT, pivots, singular_position
from flexmbs.analysis.stop import INTERRUPTED, outcome
from flexmbs.dynamics.work import make_work
from flexmbs.errors import InputError, MachineError, SolverError
from flexmbs.formalisms.multiplier import Baumgarte, Multiplier, Projection
from flexmbs.integrators import dormand_prince as dp
from flexmbs.integrators.dormand_prince import DormandPrince
from flexmbs.integrators.generalized_alpha import GeneralizedAlpha
from flexmbs.model.check import declaration_report
from flexmbs.model.model import Model
from flexmbs.results.solution import Solution
from flexmbs.results.trajectory import RunInfo, Trajectory
from flexmbs.system.compile import Compiled
from flexmbs.system.records import PARENT, System, Work

Progress = Callable[[float, str], None]
FORMALISMS: dict[str, type[Multiplier]] = {Multiplier.name: Multiplier}
INTEGRATORS: dict[str, type[GeneralizedAlpha] | type[DormandPrince]] = {i.name: i for i in (GeneralizedAlpha, DormandPrince)}
STABILIZATIONS: dict[str, Callable[[], Baumgarte | Projection | None]] = {
    "none": lambda: None, "baumgarte": Baumgarte, "projection": Projection,
}  # fmt: skip
BATCH_SECONDS = 0.25  # between two calls of the progress function


def simulate(
    model: Model,
    *,
    t_end: float,
    step: float | None = None,
    output_step: float | None = None,
    formalism: str | Multiplier = "multiplier",
    coordinates: str = "joint",
    integrator: str | GeneralizedAlpha | DormandPrince = "generalized-alpha",
    stabilization: str = "none",
    rtol: float | None = None,
    atol: float | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Motion of a model from its initial values at t = 0 to ``t_end`` (s).

    step: fixed step (s); without it the steps follow the local error within ``rtol`` and ``atol``.
    output_step: distance of the output times (s), default ``step`` or t_end/200.
    formalism: "multiplier" or `Multiplier` with options; coordinates: "joint" or "absolute".
    integrator: "generalized-alpha", "dormand-prince", or an object with options (then ``step`` … are its own).
    stabilization: of explicit integrators on constraints: "none", "baumgarte" or "projection".
    progress: called with the fraction done and a text about four times a second.
    Ctrl-C ends the run at the last output; the solution's ``run.outcome`` says so.

    Raises `InputError` for what is wrong before the first step, `SolverError` with the partial solution when the run stops.
    """
    method = _integrator(integrator, step, rtol, atol)
    form = _formalism(formalism, stabilization, method)
    times = output_times(t_end, method.step, output_step)
    report = declaration_report(model)
    report.raise_errors()
    started = time.perf_counter()
    if progress:
        progress(0.0, "assembling")
    joint, start = consistent_state(model)
    singular = singular_position(joint, start)
    compiled, start = in_coordinates(joint, start, coordinates)
    regular = in_coordinates(joint, singular.near, coordinates)[1] if singular else start
    if compiled is not joint:
        compiled.system.forces.spring_value[:] = joint.system.forces.spring_value
    run = _Run(compiled, method, form, times, start.q, start.s, start.beta)
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
        *(f"assembly moved {m}" for m in start.moved),
        *([str(singular)] if singular else []),
        *compiled.callbacks.slow_notes(),
    ]
    options = {
        "t_end": t_end, "formalism": form.name, "coordinates": coordinates, "integrator": method.name, "step": method.step,
        "stabilization": getattr(form.stabilization, "name", "none"), "rtol": method.rtol, "atol": method.atol,
    }  # fmt: skip
    ended = outcome(status, compiled, run.now, run.work, first)
    statistics = _statistics(run.now, prepared - started, finished - prepared)
    solution = Solution(
        compiled=compiled, trajectory=Trajectory(*(array[:reached] for array in run.out)), statistics=statistics,
        run=RunInfo(
            options=options, outcome=ended, redundant=redundant, moved=[str(m) for m in start.moved], notes=notes
        ),
    )  # fmt: skip
    if status not in (loops.DONE, INTERRUPTED):
        compiled.callbacks.raise_error()
        raise SolverError(ended, solution)
    return solution


def _finite(status: int, reached: int, out: Trajectory) -> tuple[int, int]:
    """Status and number of outputs before the first one that holds a number that is not finite."""
    good = np.ones(reached, bool)
    for values in out:
        good &= np.isfinite(values[:reached].reshape(reached, -1)).all(axis=1)
    return (status, reached) if good.all() else (loops.NOT_FINITE if status == loops.DONE else status, int(np.argmin(good)))


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


def _check_memory(outputs: int, numbers: int) -> None:
    """MachineError when the outputs of so many numbers each cannot fit in the machine's memory."""
    need, there = 8.0 * outputs * (numbers + 7), memory()
    if need > there:
        raise MachineError(
            f"output_step: {outputs} outputs of {numbers} numbers need {need / 1e9:.3g} GB, "
            f"the machine has {there / 1e9:.3g} GB; choose a longer output_step"
        )


def memory() -> float:
    """Bytes of memory of the machine; infinity where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _integrator(given: Any, step: float | None, rtol: float | None, atol: float | None) -> GeneralizedAlpha | DormandPrince:
    if isinstance(given, (GeneralizedAlpha, DormandPrince)):
        if (step, rtol, atol) != (None, None, None):
            raise InputError("integrator: give step, rtol and atol to the integrator object, not beside it")
        return given
    if given not in INTEGRATORS:
        raise InputError(f"integrator: no '{given}'; there are {', '.join(INTEGRATORS)}")
    options: dict[str, Any] = {key: value for key, value in (("step", step), ("rtol", rtol), ("atol", atol)) if value is not None}
    return INTEGRATORS[given](**options)


def _formalism(given: Any, stabilization: str, method: GeneralizedAlpha | DormandPrince) -> Multiplier:
    if isinstance(given, Multiplier):
        if stabilization != "none":
            raise InputError("stabilization: give it to the formalism object, not beside it")
        form = given
    elif given not in FORMALISMS:
        raise InputError(f"formalism: no '{given}'; there are {', '.join(FORMALISMS)}")
    elif stabilization not in STABILIZATIONS:
        raise InputError(f"stabilization: no '{stabilization}'; there are {', '.join(STABILIZATIONS)}")
    else:
        form = FORMALISMS[given](stabilization=STABILIZATIONS[stabilization]())
    if method.needs not in form.provides:
        pairs = [f"{f.name} with {i.name}" for f in FORMALISMS.values() for i in INTEGRATORS.values() if i.needs in f.provides]
        raise InputError(f"integrator: '{method.name}' does not go with '{form.name}'; these do: {'; '.join(pairs)}")
    if form.stabilization is not None and method.needs == "residual":
        raise InputError(f"stabilization: '{method.name}' fulfils g = 0 by itself; leave it 'none' or take 'dormand-prince'")
    return form


class _Run:
    """State of one run, marched in batches of outputs."""

    def __init__(
        self, compiled: Compiled, method: GeneralizedAlpha | DormandPrince, form: Multiplier, times: np.ndarray, q: np.ndarray,
        s: np.ndarray, beta: np.ndarray,
    ) -> None:  # fmt: skip
        system: System = compiled.system
        _, nq, ns, nc, nz = (int(n) for n in system.layout)
        self.compiled, self.system, self.method, self.form, self.times = compiled, system, method, form, times
        self.work: Work = make_work(system, beta)
        self.now = loops.make_now(nq, ns, nc, nz)
        _check_memory(len(times), int(system.layout[1:].sum()) + ns)
        self.out = loops.make_trajectory(times, nq, ns, nc, nz)
        self.now.q[:], self.now.s[:] = q, s
        settled = settle(compiled, self.work, 0.0, self.now.q, self.now.s)
        if settled.status < 0:
            body = compiled.bodies[-1 - settled.status]
            raise InputError(
                f"bodies.{body}: nothing gives its motion inertia (mass matrix not positive definite); give it mass or a joint"
            )
        self.now.sd[:], self.now.lam[:], self.now.a[:] = settled.sd, settled.lam, settled.sd
        self.now.clock[1] = method.step or min(1e-3, float(times[-1]) / 100.0)

    def march(self, progress: Progress | None) -> tuple[int, int]:
        """Run to the end. Returns the last status and the number of outputs reached."""
        reached, batch, n = 0, 2, len(self.times)
        while reached < n:
            begun = time.perf_counter()
            last = min(n, reached + batch)
            try:
                with self.compiled.callbacks.interrupts_kept():
                    status, reached = self._batch(reached, last)
            except KeyboardInterrupt:
                self.compiled.callbacks.error = None
                return INTERRUPTED, reached
            if isinstance(self.compiled.callbacks.error, KeyboardInterrupt):
                self.compiled.callbacks.error = None
                return INTERRUPTED, reached
            if status != loops.DONE or self.compiled.callbacks.error is not None:
                return (loops.NOT_FINITE if status == loops.DONE else status), reached
            if progress:
                progress(reached / n, f"t = {self.now.clock[0]:.4g} s")
            seconds = time.perf_counter() - begun
            batch = int(min(max(1.0, batch * BATCH_SECONDS / max(seconds, 1e-3)), 4.0 * batch)) if last - 2 > 0 else batch
        return loops.DONE, n

    def _batch(self, first: int, last: int) -> tuple[int, int]:
        m = self.method
        fixed = m.step or 0.0
        if isinstance(m, GeneralizedAlpha):
            found = loops.march_alpha(
                self.system, self.work, self.now, m.parameters(), fixed, m.rtol, m.atol, m.newton_tolerance, m.max_iterations,
                bool((self.system.tree[:, PARENT] < 0).all()), self.times, first, last, self.out,
            )  # fmt: skip
        else:
            kind = self.form.stabilization
            rate = kind.rate if isinstance(kind, Baumgarte) else 0.0
            tolerance = kind.tolerance if isinstance(kind, Projection) else 0.0
            found = loops.march_explicit(
                self.system, self.work, self.now, dp.A, dp.C, dp.ERROR, fixed, m.rtol, m.atol, rate, isinstance(kind, Projection),
                tolerance, self.times, first, last, self.out,
            )  # fmt: skip
        return int(found[0]), int(found[1])


def _statistics(now: loops.Now, prepare: float, march: float) -> dict[str, Any]:
    names = ("steps", "rejected", "iterations", "factorizations", "evaluations", "dependent_rows")
    counts = {name: int(now.statistics[k]) for k, name in enumerate(names)}
    return {**counts, "prepare_seconds": prepare, "solve_seconds": march}

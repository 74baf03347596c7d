"""`simulate`: time integration of a model with a formalism and an integrator."""

import contextlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from flexmbs.api.model import Model
from flexmbs.api.solution import Solution
from flexmbs.audit import audited, report_findings
from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError, SolverError, shown
from flexmbs.flexible_body.body_cache import reading_once
from flexmbs.formalisms.formalism import Formalism
from flexmbs.initial.assembly import Assemble
from flexmbs.integrators import Integrator
from flexmbs.integrators.run_context import DONE, NOT_FINITE
from flexmbs.model.argument_checks import require_switch
from flexmbs.model.run import NONE
from flexmbs.results.state import HasState
from flexmbs.studies.run.options import check_progress, requested_options
from flexmbs.studies.run.run_folder import RunFolder
from flexmbs.studies.run.run_setup import Prepared, RunStart, notes_of, prepared
from flexmbs.system.trajectory import AT_EVENT, RunInfo, Trajectory
from flexmbs.time_stepping.event import Event, checked_events
from flexmbs.time_stepping.outcome import INTERRUPTED, outcome
from flexmbs.time_stepping.records import statistics
from flexmbs.time_stepping.run import Progress


@checked_arguments
def simulate(
    model: Model,
    *,
    t_end: float | None = None,
    start: HasState | None = None,
    step: float | None = None,
    output_step: float | None = None,
    formalism: str | Formalism | None = None,
    coordinates: str | None = None,
    integrator: str | Integrator | None = None,
    stabilization: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    rho_inf: float | None = None,
    audit: str | None = None,
    events: Sequence[Event] = (),
    initial: Assemble | None = None,
    strict: bool = False,
    progress: Progress | None = None,
    folder: RunFolder | None = None,
) -> Solution:
    """Simulate a model from its initial values at t = 0 to ``t_end``.

    According to its ``run`` if no ``t_end`` is given.

    Ctrl-C ends the run at the last output; see the solution's ``run.outcome``.

    Parameters
    ----------
    model : Model
        The model.
    t_end : float [s], optional
        End time.
    start : state, equilibrium or Solution, optional
        A state of this model, or of one with the same bodies and joints, instead of the declared
        values; its time becomes t = 0, with an `AssemblyWarning` if the model has laws of time.
    step : float [s], optional
        Fixed step; without it the steps are controlled by the local error, ``rtol`` and ``atol``.
        Controlled steps end at the points of tables and at the ends of ramps and smooth steps;
        changes of a function within a fiftieth of the run may be missed.
    output_step : float [s], optional
        Interval of the output times, default ``step`` or t_end/200; outputs are interpolated within
        the steps.
    formalism : str or formalism, optional
        A name of ``flexmbs list formalisms``, or an object with options; by default "recursive" for
        trees in joint coordinates, else "multiplier".
    coordinates : 'joint', 'absolute' or 'rheonomic', optional
        "absolute": a point mass on a joint keeps that joint's, with a note; "rheonomic": those of
        "joint" without the driven ones of the tree, which are functions of time (notes name the
        drives that stay rows).
    integrator : str or integrator, optional
        A name of ``flexmbs list integrators``, or an object with options (``step`` … are then its
        own); by default "generalized-alpha" for a fixed step, else "esdirk", or "dormand-prince"
        with a formalism that supports only that, with a note.
    stabilization : 'none', 'baumgarte' or 'projection', optional
        Of explicit integrators on constraints.
    rtol, atol : float, optional
        Relative and absolute tolerance of controlled steps.
    rho_inf : float, optional
        Spectral radius of generalized-α at infinite frequency, 0 … 1.
    audit : 'full', 'standard' or 'none', optional
        How the run is judged; "standard" by default. Its repeated runs, with other steps, are
        limited by counted evaluations: those of long runs end early, which the findings say, and
        verdicts are the same on every machine. "full" has no limit of work: the whole run is made
        again, always with finer steps too, and reactions of truncated modes are found at each step.
        With "none" nothing is judged, and the verdict is NOT JUDGED.
    events : sequence of Event
        State functions whose changes of sign are located; terminal ones end the run.
    initial : Assemble, optional
        Options for consistent initial values: locked joints, weights, deformation of bodies,
        strictness.
    strict : bool
        An `AuditError` if the audit of the run is not PASS; else each of its findings is an
        `AuditWarning`.
    progress : function, optional
        Called with the completed fraction and a text, after batches of outputs of about a quarter
        of a second; then with the fraction of the audit and a text that begins with "audit".
    folder : RunFolder, optional
        Keeps outputs and checkpoints on disk while the run is computed, from which it can be
        resumed.

    Returns
    -------
    Solution
        States at the output times, with views of bodies, frames, joints and energies, and the audit
        of the run.

    Raises
    ------
    InputError
        Before the first step, for a model or options that cannot be run.
    SolverError
        If the run stops; ``solution`` has the part before.
    AuditError
        With ``strict``, if the audit is not PASS; ``solution`` is the whole run.
    Exception
        Those of user functions; with the partial solution as ``solution``.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum")
    >>> rod = model.add(
    ...     fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001))
    ... )
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, rod, axis="y", q0=1.5))
    >>> solution = fm.simulate(model, t_end=1.0, step=1e-3)
    >>> solution.verdict, solution.joint("hinge").position.shape
    ('PASS', (1001, 1))
    >>> bool(abs(solution.energy.balance).max() < 1e-3)  # J
    True
    """
    check_progress(progress)
    require_switch("strict", strict)
    given: dict[str, Any] = {
        "t_end": t_end,
        "step": step,
        "output_step": output_step,
        "formalism": formalism,
        "coordinates": coordinates,
        "integrator": integrator,
        "stabilization": stabilization,
        "rtol": rtol,
        "atol": atol,
        "rho_inf": rho_inf,
        "audit": audit,
    }
    if not isinstance(folder, RunFolder | None):
        raise InputError(f"folder: {shown(folder)} is not a RunFolder; give fm.RunFolder(path)")
    with reading_once(), folder.opened() if folder else contextlib.nullcontext() as place:
        chosen = requested_options(model, given)
        if strict and chosen["audit"] == NONE:
            raise InputError("strict: needs an audit; take audit='standard', or omit strict")
        ready = prepared(model, chosen, RunStart(start, initial), checked_events(events), progress)
        begun = time.perf_counter()
        status, written = (
            place.integrate(ready, progress) if place else ready.run.integrate(progress)
        )
        seconds = time.perf_counter() - begun + (place.before if place else 0.0)
        solution = finished_solution(ready, status, written, seconds, progress)
        if place:
            place.conclude(solution)
    report_findings(solution, strict=strict)
    return solution


def finished_solution(
    ready: Prepared, status: int, written: int, seconds: float, progress: Progress | None = None
) -> Solution:
    """Audited solution of a run that ended with this status.

    With its audit unless that is "none". Raises as `unaudited`.
    """
    solution = unaudited(ready, status, written, seconds)
    if ready.chosen["audit"] == NONE:
        return solution
    return solution.with_checks(audited(solution, ready.run, progress))


def unaudited(ready: Prepared, status: int, written: int, seconds: float) -> Solution:
    """Solution of a run that ended with this status, without audit.

    Raises `SolverError`, and exceptions of user functions, with what was computed.
    """
    run, compiled = ready.run, ready.run.compiled
    status, reached = _finite(status, written, Trajectory(*run.out))
    good = Trajectory(*(array[:reached] for array in run.out))
    if reached < written:
        run.context.clock.time = run.out.t[reached]
    ended = outcome(
        status, compiled, ready.method, run.context, run.work, ready.first, ready.singular, good
    )
    if run.ending is not None and status == DONE:
        ended = f"{AT_EVENT}'{run.ending.name}' at t = {run.ending.t:.6g} s"
    solution = Solution(
        compiled=compiled,
        trajectory=good,
        statistics=statistics(run.context, ready.seconds, seconds),
        run=RunInfo(
            options=_options_of_run(ready.chosen, ready.form, ready.method),
            outcome=ended,
            events=tuple(run.found),
            redundant=ready.redundant,
            impacts=tuple(run.impacts),
            moved=ready.moved,
            notes=notes_of(ready, good),
        ),
    )
    if status not in (DONE, INTERRUPTED):
        compiled.callbacks.raise_error(solution if reached else None)
        raise SolverError(ended, solution)
    return solution


def _options_of_run(chosen: dict[str, Any], form: Formalism, method: Integrator) -> dict[str, Any]:
    """Record of the options used, including defaults."""
    return {
        "t_end": chosen["t_end"],
        "formalism": form.name,
        "coordinates": chosen["coordinates"],
        "integrator": method.name,
        "step": method.step,
        "stabilization": form.stabilization_name,
        "rtol": method.rtol,
        "atol": method.atol,
        "audit": chosen["audit"],
    }


def _finite(status: int, reached: int, out: Trajectory) -> tuple[int, int]:
    """Status and number of outputs before the first one with a non-finite value."""
    good = np.ones(reached, bool)
    for values in out:
        good &= np.isfinite(values[:reached].reshape(reached, values[:1].size)).all(axis=1)
    return (
        (status, reached)
        if good.all()
        else (NOT_FINITE if status == DONE else status, int(np.argmin(good)))
    )

"""All checks of a run that evaluate the equations or use the integrator's records."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from flexmbs.audit.audit_samples import instants_of_samples, sampled
from flexmbs.audit.check_user_functions import functions_that_change
from flexmbs.audit.closed_contacts import forces_of_contacts
from flexmbs.audit.coupling_rates import contact_rates, coupling_rates
from flexmbs.audit.cross_check import second_opinion
from flexmbs.audit.event_steps import event_steps
from flexmbs.audit.force_differences import Scales
from flexmbs.audit.friction_law import friction_law
from flexmbs.audit.impacts import (
    contact_duration,
    impact_order,
    lifts_without_reason,
    several_at_once,
)
from flexmbs.audit.initial_rates import initial_rates
from flexmbs.audit.load_resolution import forcing
from flexmbs.audit.range_of_laws import range_of_laws
from flexmbs.audit.reduction import reduction
from flexmbs.audit.second_run import second_run
from flexmbs.audit.spectrum import load_spectrum
from flexmbs.audit.step_error import step_error
from flexmbs.audit.truncation import TITLE, truncation
from flexmbs.audit.undetermined_forces import undetermined_forces
from flexmbs.audit.unresolved_modes import unresolved_modes
from flexmbs.audit.work_in_steps import work_within_steps
from flexmbs.errors import AuditError, AuditWarning, shown, warn_caller
from flexmbs.results.bodies import data_of, flexible_bodies
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import NOT_JUDGED, PASS, WARN, Check
from flexmbs.system.trajectory import Trajectory
from flexmbs.time_stepping.run import Progress, Run

UNKNOWN = Check(
    "Error of the steps",
    NOT_JUDGED,
    "not known for a run that is advanced step by step",
    "verify model and steps by a run with simulate",
)


def audited(
    solution: SolutionData, run: Run, progress: Progress | None = None
) -> tuple[Check, ...]:
    """All audit checks of a finished solution with at least one output.

    progress: called with the share that is done, and what is checked.
    """
    begun, scales, found = time.perf_counter(), Scales(solution, run), list[Check]()
    parts: dict[str, Callable[[], Sequence[Check]]] = {
        "step errors": lambda: step_error(solution, run),
        "work within steps": lambda: work_within_steps(solution, run),
        "forcing": lambda: forcing(solution),
        "impacts": lambda: [
            *contact_duration(solution, run),
            *impact_order(solution),
            *several_at_once(run),
            *lifts_without_reason(run),
            *friction_law(solution),
            *event_steps(solution, run),
            *_attempted(
                "Forces of contacts", lambda: forces_of_contacts(solution, scales.contacts)
            ),
            *_attempted(
                "Sharing of contact forces", lambda: undetermined_forces(solution, scales.contacts)
            ),
        ],
        "data of bodies": lambda: _failed_data(solution),
        "range of laws": lambda: range_of_laws(solution, lambda: scales.mine),
        "initial rates": lambda: initial_rates(solution, run),
        "user functions": lambda: [
            *functions_that_change(solution),
            *instants_of_samples(solution),
            *_attempted("Functions of constraints", lambda: coupling_rates(solution)),
            *_attempted("Functions of contacts", lambda: contact_rates(solution)),
        ],
        "second opinion": lambda: _attempted(
            "Second opinion", lambda: _by_other_equations(solution, run, scales)
        ),
        "second run": lambda: _attempted("Second run", lambda: second_run(solution, run, scales)),
        "unresolved modes": lambda: _attempted(
            "Unresolved modes", lambda: unresolved_modes(solution, run, scales)
        ),
    }
    for done, (name, checks) in enumerate(parts.items()):
        if progress:
            progress(done / len(parts), f"audit: {name}")
        found += checks()
    if progress:
        progress(1.0, "audit")
    solution.statistics["audit_seconds"] = time.perf_counter() - begun
    return tuple(found)


def _failed_data(solution: SolutionData) -> list[Check]:
    """A WARN for each flexible body whose data fail a check."""
    return [
        Check(f"Data of {name}", WARN, f"fail a check: {data.failed[0]}", "correct the body")
        for name in flexible_bodies(solution)
        for data in data_of(solution, name)
        if data.failed
    ]


def audited_steps(solution: SolutionData, run: Run) -> tuple[Check, ...]:
    """Checks of a run that the user advances step by step.

    At states stored by the run; the errors of its steps are not estimated. solution: its start and
    its present state.
    """
    mine = sampled(solution, run)
    found = [*functions_that_change(solution), *instants_of_samples(solution)]
    if len(mine.t):
        order = np.argsort(mine.t)
        rows = (
            np.concatenate([outer[:1], own[order], outer[1:]])
            for outer, own in zip(solution.trajectory, mine.trajectory)
        )
        whole = SolutionData(solution.compiled, Trajectory(*rows), {}, solution.run)
        found += _attempted("Second opinion", lambda: second_opinion(whole, mine, run))
        found += _attempted("Reduction", lambda: reduction(mine))
    return (*found, UNKNOWN)


def _by_other_equations(solution: SolutionData, run: Run, scales: Scales) -> list[Check]:
    """Checks of sampled states by other formulations of the equations."""
    found = [
        *second_opinion(solution, scales.mine, run),
        *reduction(scales.loaded),
        *load_spectrum(solution),
    ]
    return [*found, *_attempted(TITLE, lambda: truncation(scales))]


def _attempted(title: str, checks: Callable[[], list[Check]]) -> list[Check]:
    """The checks, or a WARN with the reason if they could not be evaluated.

    A user function may be undefined at a state, or a mass matrix not positive definite.
    """
    try:
        return checks()
    except KeyboardInterrupt:  # the results are kept
        return [Check(title, WARN, "was interrupted")]
    except Exception as error:
        return [
            Check(title, WARN, f"was not possible: {type(error).__name__}: {shown(str(error))}")
        ]


class Audited(Protocol):
    """A result with checks: a solution, an equilibrium, branches of modes."""

    @property
    def audit(self) -> tuple[Check, ...]:
        """The checks."""


def report_findings(solution: Audited, *, strict: bool = False) -> None:
    """Issue an `AuditWarning` for each check that is not PASS.

    strict: raise an `AuditError` for all of them instead.
    """
    found = [check for check in solution.audit if check.status not in (PASS, NOT_JUDGED)]
    if strict and found:
        raise AuditError("\n".join(f"{check.status}: {check}" for check in found), solution)
    for check in found:
        warn_caller(f"{check.status}: {check}", AuditWarning)

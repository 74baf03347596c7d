"""All checks of a run that take the equations or the integrator's memory, within a share of the run's time."""

import time
import warnings

from flexmbs.analysis.audit.event_steps import event_steps
from flexmbs.analysis.audit.forcing import forcing
from flexmbs.analysis.audit.impacts import contact_duration, impact_order
from flexmbs.analysis.audit.reduction import reduction
from flexmbs.analysis.audit.second_opinion import sampled, second_opinion
from flexmbs.analysis.audit.spectrum import load_spectrum
from flexmbs.analysis.audit.step_error import step_error
from flexmbs.analysis.audit.work_within import work_within_steps
from flexmbs.analysis.run import Run
from flexmbs.errors import AuditError, AuditWarning, shown
from flexmbs.results.check import PASS, WARN, Check
from flexmbs.results.solution import Solution

SHARE, LEAST = 0.05, 0.02  # of the run's time; seconds


def audited(solution: Solution, run: Run) -> tuple[Check, ...]:
    """The checks of a solution with at least one output."""
    budget = max(LEAST, SHARE * float(solution.statistics["solve_seconds"]))
    found = [*step_error(solution, run), *work_within_steps(solution, run), *forcing(solution)]
    found += [*contact_duration(solution), *impact_order(solution), *event_steps(solution, run)]
    found += [
        Check(f"Data of {name}", WARN, f"fail their check: {data.failed[0]}", "mend the body")
        for name, data in solution.compiled.data.items()
        if data.failed
    ]
    begun = time.perf_counter()
    try:
        mine = sampled(solution, run)
        found += second_opinion(solution, mine, run, budget)
        found += reduction(mine)
        found += load_spectrum(solution)
    except Exception as error:  # a function of the user that is not defined at a state, an indefinite mass matrix
        found.append(Check("Second opinion", WARN, f"was not possible: {type(error).__name__}: {shown(str(error))}"))
    solution.statistics["audit_seconds"] = time.perf_counter() - begun
    return tuple(found)


def report_findings(solution: Solution, *, strict: bool) -> None:
    """An `AuditWarning` for each check that is not PASS; with ``strict`` an `AuditError` for all of them."""
    found = [check for check in solution.audit if check.status != PASS]
    if strict and found:
        raise AuditError("\n".join(f"{check.status}: {check}" for check in found), solution)
    for check in found:
        warnings.warn(f"{check.status}: {check}", AuditWarning, stacklevel=3)

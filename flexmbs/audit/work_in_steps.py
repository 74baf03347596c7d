"""Work of applied forces and of dissipation within steps, by two quadratures.

By the method, and by a rule with other points. A force that varies much faster than the steps, or
acts during a part of a step, does work that the method does not see at its own points. The works
are compared if they are significant for the energy of the run.
"""

import math

import numpy as np

from flexmbs.integrators.step_samples import BY_GAUSS, BY_METHOD, SAMPLED_H
from flexmbs.results.solution import SolutionData
from flexmbs.results.summary import energy_at_rest, exchangeable_energy
from flexmbs.system.check import PASS, Check, graded
from flexmbs.time_stepping.run import Run

LEAST_STEPS = 8
STEADILY = 0.9  # of the steps are judged: corners of forces occur in few
MATTERS = 1e-3  # of the largest change of an energy or work
# of the size of the model, or rad: displacements that steps and their dense output do not resolve
UNRESOLVED = 1e-6
FIXED = (0.15, 0.5)  # six steps and three in a period of the force
CONTROLLED = (0.5, math.inf)  # their error is estimated at points within the step too


def work_within_steps(solution: SolutionData, run: Run) -> list[Check]:
    """Check of the works in the sampled steps by a second quadrature rule.

    For forces or dissipation, the larger.
    """
    rows = run.context.samples.work
    rows = rows[(rows[:, SAMPLED_H] > 0.0) & np.isfinite(rows).all(axis=1)]
    if len(rows) < LEAST_STEPS:
        return []
    run_time = float(solution.t[-1] - solution.t[0])
    energy = solution.energy
    parts = (
        energy.kinetic,
        energy.strain,
        energy.potential,
        energy.work_of_forces,
        energy.work_of_drives,
        energy.dissipated,
    )
    scale = max(float(np.ptp(each)) for each in parts)
    if scale <= energy_at_rest(solution):
        return []
    unresolved = UNRESOLVED * exchangeable_energy(solution)
    worst, what = 0.0, ""
    # their dissipation is counted separately
    impacts = bool((solution.compiled.system.contacts.law_kernel < 0).any())
    for c, name in enumerate(("forces",) if impacts else ("forces", "losses")):
        ours, theirs = rows[:, BY_METHOD + c], rows[:, BY_GAUSS + c]
        kept = np.argsort(np.abs(ours - theirs))[: math.ceil(STEADILY * len(rows))]
        done = float(np.maximum(np.abs(ours[kept]), np.abs(theirs[kept])).sum())
        if done / float(rows[kept, SAMPLED_H].sum()) * run_time <= max(MATTERS * scale, unresolved):
            continue
        share = float(np.abs(ours - theirs)[kept].sum()) / done
        if share > worst:
            worst, what = share, name
    if not what:
        return []
    fixed = solution.run.options["step"]
    status = graded(worst, FIXED if fixed else CONTROLLED)
    text = (
        f"that of {what} in {len(rows)} steps differs by {worst:.1e} from an independent quadrature"
    )
    return [Check("Work within steps", status, text, "" if status == PASS else "use smaller steps")]

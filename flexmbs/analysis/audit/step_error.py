"""How far the errors of single steps may have moved the positions by the end of a run.

The method's estimate of the error of each step (an embedded formula or the jump of accelerations) is summed by size over the
steps for each coordinate, as a displacement: in m, rotations times the size of the model, modes by what they displace. No
coordinate can be further off than twice its range. Ranges are those beside a steady travel or turning; each error is measured by
the range of its own coordinate, or by a part of the largest one where that is more. How an unstable or chaotic motion lets errors
grow is not in it.
"""

import numpy as np

from flexmbs.algebra.blocks import SIZE
from flexmbs.analysis.run import Run
from flexmbs.results.check import PASS, Check, graded
from flexmbs.results.solution import Solution
from flexmbs.system.records import NF, QF_AT, SF_AT
from flexmbs.system.sizes import displacement_sizes, model_size

MOTION = (1e-2, 1e-1)  # of the largest motion
NO_MOTION = 1e-9  # of the model's size
STEADY = 3e-3  # of a steady travel or turning: errors of coordinates that do nothing else are measured by it
MINOR = 0.03  # of the largest range: errors of coordinates that move less are measured by it


def step_error(solution: Solution, run: Run) -> list[Check]:
    """The estimated error of positions over the motion, for methods that estimate that of a step."""
    spent = run.course.spent
    if not spent.any():
        return []
    compiled = solution.compiled
    sizes = displacement_sizes(compiled)
    ranges, beside = (each / sizes for each in _ranges(solution))
    own = np.maximum(beside, STEADY * ranges)
    if float(own.max(initial=0.0)) <= NO_MOTION:
        return []
    errors = np.minimum(spent / sizes, 2.0 * ranges)
    shares = errors / np.maximum(own, max(MINOR * float(beside.max()), NO_MOTION))
    worst = int(shares.argmax())
    share = float(shares[worst])
    status = graded(share, MOTION)
    length = model_size(compiled)
    place = f"{errors[worst] * length:.1e} m at body {_body(solution, worst)}"
    text = f"about {share:.1e} of the motion, summed without their growth, {place}"
    fixed = solution.run.options["step"]
    mend = f"take a smaller step than {fixed:g} s, or leave it out" if fixed else "lower rtol and atol"
    return [Check("Error of the steps", status, text, "" if status == PASS else mend)]


def _ranges(solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """(ns,) range of each velocity coordinate's integral, of modes that of their amplitude; the same beside a steady travel."""
    t, s = solution.t, solution.s
    travelled = np.zeros_like(s)
    travelled[1:] = np.cumsum(0.5 * (s[1:] + s[:-1]) * np.diff(t)[:, None], axis=0)
    for row in solution.compiled.system.tree:
        nf, to, at = int(row[NF]), int(row[SF_AT]), int(row[QF_AT])
        travelled[:, to : to + nf] = solution.q[:, at : at + nf]
    steady = np.outer((t - t[0]) / max(float(t[-1] - t[0]), 1e-300), travelled[-1] - travelled[0])
    return np.ptp(travelled, axis=0), np.ptp(travelled - steady, axis=0)


def _body(solution: Solution, coordinate: int) -> str:
    """The body that a velocity coordinate belongs to."""
    bodies = solution.compiled.bodies
    ends = np.cumsum(solution.compiled.system.elimination.node[: len(bodies), SIZE])
    return bodies[int(np.searchsorted(ends, coordinate, "right"))]

"""How errors grow: the run again with other steps.

Errors of single steps do not show how an unstable or chaotic motion, a switch or an impact amplifies them. The same equations
are run again with the same method: with fixed steps doubled, those of explicit methods halved, or the tolerance multiplied by
ten; a long run only in its first part. With the difference d of the positions the error of the run is about d / (2ᵖ − 1), 4 d / 3
or d / 9 (Hairer, Nørsett and Wanner 1993, Solving Ordinary Differential Equations I, II.4). Once both runs are uncorrelated, d is
as large as the motion, and the estimate only shows that the run is not reliable.

Reactions and accelerations are compared too, by the root mean square over time, since contacts and switches shift their peaks in
time: times √2 it is the amplitude of an error that oscillates.
"""

import dataclasses
import math
import time
from typing import NamedTuple

import numpy as np

from flexmbs.audit.force_differences import Scales, force_differences, part_of
from flexmbs.audit.step_error import MOTION, Measure, place_of
from flexmbs.dynamics.work import make_work
from flexmbs.integrators.integrator import Integrator
from flexmbs.integrators.run_context import DONE, NEXT
from flexmbs.results.between_outputs import quaternion_product, rotation_vectors
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, WARN, Check, graded
from flexmbs.system.compile import Compiled
from flexmbs.system.records import rows_of
from flexmbs.time_stepping.outcome import INTERRUPTED
from flexmbs.time_stepping.run import Run

MOST = 500_000  # evaluations times coordinates, up to 0.1 s: longer runs are run again up to there
SLOWEST = 1.0  # s, with slow user functions
SECONDS, MOST_OF_RUN = 0.2, 2.0  # s, or of the run's time: time limit of the second run
MOST_OUTPUTS = 1000
EXPLOSIVE = 10.0  # growth over half of the time that indicates an unstable motion
# of comparable coordinates, per step: perturbation of the initial velocities, by which the second run leaves unstable positions
DISTURBED = 1e-12
UNDISTURBED = 1e-3  # of the motion over the run: upper limit of the perturbation
AT_REST = 1e-3  # of the model's size: smallest displacement of interest, and scale of runs at rest
FACTOR, COARSER = 2.0, 10.0  # of steps, of tolerances
COARSEST = 1e-2  # tolerance
FEW = 3  # outputs do not show forces over time
REMEDY = "use smaller steps or tolerances; for an unstable or chaotic motion they only extend the reliable time"


class Other(NamedTuple):
    """A second run of the same equations: its method, its cost relative to the first one, and the fraction of the difference
    that is the error of the first."""

    method: Integrator
    cost: float
    share: float


def second_run(solution: SolutionData, run: Run) -> list[Check]:
    """The difference of a second run relative to the motion, an estimate of the error with its growth."""
    if run.begun is None or not (solution.run.finished and solution.t[-1] > 0.0 and solution.s.shape[1]):
        return []
    other = another(run.method)
    picked = _outputs(solution, other.cost)
    if len(picked) < 2:
        return [Check("Second run", PASS, "none, because the run was long: the growth of its step errors is not known")]
    measure = Measure.of(solution)
    motion = np.full_like(measure.motion, AT_REST) if measure.still else measure.motion
    times = solution.t[picked]
    again = Run(solution.compiled, other.method, run.form, times, make_work(solution.compiled.system, run.begun.beta))
    again.connect()
    rate = min(DISTURBED / float(again.context.clock[NEXT]), UNDISTURBED * float(motion.min(initial=1.0)) / solution.t[-1])
    again.deadline = time.perf_counter() + max(SECONDS, MOST_OF_RUN * solution.statistics["solve_seconds"])
    again.begin(dataclasses.replace(run.begun, s=run.begun.s + rate * measure.sizes))
    status, reached = again.integrate(None)
    solution.compiled.callbacks.raise_error()
    method = other.method
    what = f"steps of {method.step:g} s" if method.step else f"rtol = {method.rtol:g}"
    difference = np.abs(displacements(solution.compiled, solution.q[picked[:reached]], again.out.q[:reached]))
    if status not in (DONE, INTERRUPTED) or reached < 2 or not np.isfinite(difference).all():
        return [Check("Second run", PASS, f"none: it stopped with {what}")]
    errors = other.share * difference / measure.sizes
    found = errors / motion
    shares = np.maximum.accumulate(found.max(axis=1))
    seen = float(errors.max()) > AT_REST
    checks = [_judged(solution, times[:reached], shares, seen, f"with {what}", int(found.max(axis=0).argmax()))]
    if solution.run.impacts or reached < FEW or not solution.compiled.places:
        return checks
    parts = part_of(solution, solution.trajectory, picked[:reached]), part_of(solution, again.out, np.arange(reached))
    apart = force_differences(Scales.of(solution, run), *parts, lambda d: other.share * math.sqrt(2.0 * float(np.mean(d**2))))
    return [*checks, apart.check("Forces of the second run", f"with {what}")]


def _judged(solution: SolutionData, t: np.ndarray, shares: np.ndarray, seen: bool, what: str, worst: int) -> Check:
    """The check of the largest relative errors so far at times t; ``seen``: some displacement is not negligible."""
    status = graded(float(shares[-1]), MOTION if seen else (MOTION[0], math.inf))
    text = f"{what} the estimated error of positions is {shares[-1]:.1e} of the motion"
    if t[-1] < solution.t[-1]:
        text += f" up to t = {t[-1]:.4g} s, the rest was not checked"
        if status == PASS and _extrapolated(t, shares, float(solution.t[-1])) > MOTION[0]:
            return Check("Second run", WARN, f"{text}; errors grow exponentially, to the size of the motion by the end", REMEDY)
    if status == PASS:
        return Check("Second run", status, text)
    good = float(t[max(int(np.searchsorted(shares, MOTION[0])) - 1, 0)])
    text += f", largest {place_of(solution, worst)}, above {MOTION[0]:g} after t = {good:.4g} s"
    return Check("Second run", status, text, REMEDY)


def _extrapolated(t: np.ndarray, shares: np.ndarray, end: float) -> float:
    """The relative error at the end if it grows exponentially, by a factor r and then r² over doubled times; else 0."""
    early, middle, last = (float(np.interp(part * t[-1], t, shares)) for part in (0.25, 0.5, 1.0))
    if early <= 0.0 or middle <= early or last < EXPLOSIVE * middle or math.log(last / middle) < 1.5 * math.log(middle / early):
        return 0.0
    rate = math.log(last / middle) / (0.5 * t[-1])
    return last * math.exp(min(rate * (end - t[-1]), 100.0))


def _outputs(solution: SolutionData, cost: float) -> np.ndarray:
    """Indices of the outputs that are compared: for a long run those of its first part."""
    counts = solution.statistics
    work = cost * counts["evaluations"] * (4 + solution.s.shape[1]) / MOST
    part = min(1.0, 1.0 / max(work, cost * counts["solve_seconds"] / SLOWEST, 1e-300))
    within = np.flatnonzero(solution.t <= part * solution.t[-1] * (1.0 + 1e-12))
    return within[np.unique(np.linspace(0, len(within) - 1, min(len(within), MOST_OUTPUTS)).round().astype(int))]


def another(method: Integrator) -> Other:
    """The method with steps twice as long, of explicit ones half as long, or with a tolerance ten times as large."""
    if method.step is not None:
        order = 1 if method.contacts else 2
        if method.explicit:
            return Other(dataclasses.replace(method, step=method.step / FACTOR), FACTOR, 1.0 / (1.0 - FACTOR**-order))  # type: ignore[type-var]
        return Other(dataclasses.replace(method, step=FACTOR * method.step), 1.0 / FACTOR, 1.0 / (FACTOR**order - 1.0))  # type: ignore[type-var]
    rtol, atol = float(method.rtol or 0.0), float(method.atol or 0.0)
    factor = max(min(COARSER, COARSEST / rtol), math.sqrt(COARSER))
    return Other(dataclasses.replace(method, rtol=factor * rtol, atol=factor * atol), 0.7, 1.0 / (factor - 1.0))  # type: ignore[type-var]


def displacements(compiled: Compiled, q: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(n, ns) δ with other = q ⊕ δ, of every row."""
    tree = compiled.system.tree
    out = np.zeros((len(q), int(compiled.system.layout[2])))
    for row, primary in zip(rows_of(tree), compiled.topology.tree):
        at, to = int(row.q_at), int(row.s_at)
        for motion in primary.motions:
            if motion.nq == motion.nv:
                out[:, to : to + motion.nv] = other[:, at : at + motion.nq] - q[:, at : at + motion.nq]
            else:  # Euler parameters last
                shift = motion.nq - 4
                out[:, to : to + shift] = other[:, at : at + shift] - q[:, at : at + shift]
                p, p_other = (each[:, at + shift : at + motion.nq] for each in (q, other))
                out[:, to + shift : to + motion.nv] = rotation_vectors(quaternion_product(p * [1.0, -1.0, -1.0, -1.0], p_other))
            at, to = at + motion.nq, to + motion.nv
        nf, at, to = int(row.nf), int(row.qf_at), int(row.sf_at)
        out[:, to : to + nf] = other[:, at : at + nf] - q[:, at : at + nf]
    return out

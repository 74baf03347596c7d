"""Growth of errors: the run again with other steps.

Errors of single steps do not show how an unstable or chaotic motion, a switch or an impact
amplifies them. The same equations are run again with the same method: with fixed steps doubled,
those of explicit methods halved, or the tolerance multiplied by ten; a long run only in its first
part, or as a whole if errors grow there so fast that they may reach the size of the motion. With
the difference d of the positions the error of the run is about d / (2ᵖ − 1), 4 d / 3 or d / 9
(Hairer, Nørsett and Wanner 1993, Solving Ordinary Differential Equations I, II.4). Once both runs
are uncorrelated, d is as large as the motion, and the estimate only shows that the run is not
reliable. Where d itself is above a limit, the run is repeated once more, with steps halved or a
tenth of the tolerance, and that is judged.

Reactions and accelerations are compared too, by the root mean square over time: times √2 it is the
amplitude of an error that oscillates. Short transients vanish in it, while the largest reaction may
be one: reactions are also compared at every output, except jumps that contacts and switches shift
in time.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from flexmbs.audit.audit_samples import evenly_spaced
from flexmbs.audit.contact_states import changes_of_friction
from flexmbs.audit.counted_work import full, most_evaluations, work_of
from flexmbs.audit.force_differences import (
    ACCELERATIONS,
    REACTIONS,
    Differences,
    Scales,
    force_differences,
    part_of,
    rerun,
)
from flexmbs.audit.mechanisms import bodies_with_contacts, body_of_velocities
from flexmbs.audit.step_error import MOTION, Measure, place_of
from flexmbs.integrators.integrator import Integrator
from flexmbs.results.between_outputs import quaternion_product, rotation_vectors
from flexmbs.results.impact_steps import outputs_between_impacts
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, WARN, Check, graded
from flexmbs.system.compile import Compiled
from flexmbs.system.records import rows_of
from flexmbs.system.step_scales import displacement_sizes, model_size
from flexmbs.time_stepping.run import Run

MOST = 1.0  # units of work: runs that take more are run again up to there
# units: longer runs whose errors grow fast in the first part are not run again as a whole
WHOLE = 600.0
MOST_OUTPUTS = 1000
EXPLOSIVE = 10.0  # growth over half of the time that indicates an unstable motion
# of comparable coordinates, per step: perturbation of the initial velocities, by which the second
# run leaves unstable positions
DISTURBED = 1e-12
# of the largest acceleration over a step: perturbation of bodies with contacts
STOPPED = 1e-3
UNDISTURBED = 1e-3  # of the motion over the run: upper limit of the perturbation
AT_REST = 1e-3  # of the model's size: smallest displacement of interest, and scale of runs at rest
FACTOR, COARSER = 2.0, 10.0  # of steps, of tolerances
COARSEST = 1e-2  # tolerance
# of the largest speed: below it a small disturbance decides about the branch at a singular position
SLOW = 1e-2
FEW = 3  # outputs do not show forces over time
REMEDY = (
    "use smaller steps or tolerances; for an unstable or chaotic motion they only extend the "
    "reliable time"
)


class Other(NamedTuple):
    """A second run of the same equations.

    Its method, its cost relative to the first one, and the fraction of the difference that is the
    error of the first run.
    """

    method: Integrator
    cost: float
    share: float

    @property
    def what(self) -> str:
        """Text of the steps or tolerance of the second run."""
        method = self.method
        return f"steps of {method.step:g} s" if method.step else f"rtol = {method.rtol:g}"


class Compared(NamedTuple):
    """Comparison with a second run up to times t (n,).

    errors (n, ns): relative errors of positions. seen: one of them is not negligible. forces:
    errors of forces.
    """

    other: Other
    t: np.ndarray
    errors: np.ndarray
    seen: bool
    forces: Differences | None

    @property
    def doubtful(self) -> bool:
        """True if the estimated error at the end is above a limit.

        Vibrations out of phase with each other, or damped in the second run only, differ by their
        amplitude, and a third of it is not a bound of the error: 0.029 of the largest acceleration
        for an actual error of 0.075.
        """
        found = [(float(self.errors.max()), MOTION)]
        if self.forces is not None:
            found += [(self.forces.reaction, REACTIONS), (self.forces.acceleration, ACCELERATIONS)]
        return any(not value / min(self.other.share, 1.0) <= limits[0] for value, limits in found)


def second_run(solution: SolutionData, run: Run, scales: Scales) -> list[Check]:
    """Checks of the errors by a second run with other steps or tolerance, and of its branch.

    The difference relative to the motion, an estimate of the error and its growth.
    """
    found = _compared_and_judged(solution, run, scales)
    return found.checks + _branches(solution, run, found)


class _Judged(NamedTuple):
    """Checks of a second run, and the time [s] up to which it agrees on the positions."""

    checks: list[Check]
    agrees: float = -math.inf


def _branches(solution: SolutionData, run: Run, found: _Judged) -> list[Check]:
    """Check of the branch that the motion takes at singular positions, if it passes any.

    Inertia carries the motion straight on, along the tangent of its branch. That is not reliable
    where the model hardly moves, nor where no second run, with other initial velocities by
    round-off, takes the same branch.
    """
    if not run.passed:
        return []
    speed = np.abs(solution.s / displacement_sizes(solution.compiled)).max(axis=1, initial=0.0)
    doubtful = [
        passage
        for passage in run.passed
        if passage.t > found.agrees
        or float(np.interp(passage.t, solution.t, speed)) < SLOW * speed.max()
    ]
    if not doubtful:
        text = f"passed {len(run.passed)}; a second run takes the same branch"
        return [Check("Singular positions", PASS, text)]
    more = f", and {len(doubtful) - 1} more" if len(doubtful) > 1 else ""
    remedy = "vary the initial velocities and the lengths, or exclude the other branch"
    return [Check("Singular positions", WARN, f"{doubtful[0]}{more}", remedy)]


def _compared_and_judged(solution: SolutionData, run: Run, scales: Scales) -> _Judged:
    """Checks of a second run."""
    if run.begun is None or not (
        solution.run.finished and solution.t[-1] > 0.0 and solution.s.shape[1]
    ):
        return _Judged([])
    other, shorter = with_other_steps(run.method), refined(run.method)
    picked = _outputs(solution, other.cost)
    if len(picked) < 2:
        text = "none, because the run was long: the growth of its step errors is not known"
        return _Judged([Check("Second run", PASS, text)])
    found = _compared(scales, other, picked)
    if found is None:  # longer steps may stop where those of the run do not
        found = None if shorter == other else _compared(scales, shorter, picked)
        if found is None:
            text = f"runs with {other.what}" + f" and {shorter.what}" * (shorter != other)
            text = f"none: {text} stop, errors are not known"
            return _Judged([Check("Second run", WARN, text, REMEDY)])
    if len(found.t) < 2:
        return _Judged([Check("Second run", PASS, "none, because a step needs too much work")])
    unrefined = not run.method.explicit and found.other != shorter
    if unrefined and (found.doubtful or full(solution)):
        finer = _compared(scales, shorter, picked[: len(found.t)])
        found = finer if finer is not None and len(finer.t) == len(found.t) else found
    if _suspected(solution, found) and _work(solution, found.other.cost) <= WHOLE:
        whole = _compared(
            scales, found.other, evenly_spaced(np.arange(len(solution.t)), MOST_OUTPUTS)
        )
        found = whole if whole is not None and len(whole.t) >= 2 else found
    checks = [_error_check(solution, found)]
    if found.forces is not None:
        checks.append(found.forces.check("Forces of the second run", f"with {found.other.what}"))
    return _Judged(checks, float(found.t[-1]) if checks[0].status == PASS else -math.inf)


def _suspected(solution: SolutionData, found: Compared) -> bool:
    """True if errors are small where they are known and may become too large beyond."""
    shares, end = np.maximum.accumulate(found.errors.max(axis=1)), float(solution.t[-1])
    return found.t[-1] < end and float(shares[-1]) <= MOTION[0] < _extrapolated(
        found.t, shares, end, sped_up=False
    )


def _compared(scales: Scales, other: Other, picked: np.ndarray) -> Compared | None:
    """Differences to a run with another method, as far as the work limit permits.

    None if that run fails.
    """
    solution, measure = scales.solution, Measure.of(scales.solution)
    motion = np.full_like(measure.motion, AT_REST) if measure.still else measure.motion
    step = float(np.median(solution.trajectory.step[1:]))
    slowest = float(motion.min(initial=1.0)) / float(solution.t[-1])
    nudge = min(DISTURBED / max(step, 1e-300), UNDISTURBED * slowest) * measure.sizes
    # contacts and dry friction stop it within a step
    stopped = bodies_with_contacts(solution.compiled, solution.contacts)
    most_stopped = STOPPED * step * scales.acceleration / model_size(solution.compiled)
    held = np.isin(body_of_velocities(solution.compiled), list(stopped))
    nudge[held] = np.minimum(nudge, most_stopped * measure.sizes)[held]
    most = most_evaluations(solution, max(other.cost, 1.0))
    theirs, good = rerun(scales, other.method, solution.t[picked], most, nudge=nudge)
    reached = len(theirs.t)
    mine = part_of(solution, solution.trajectory, picked[:reached])
    apart = np.abs(displacements(solution.compiled, mine.q, theirs.q))
    errors = other.share * apart / measure.sizes
    if not good or not np.isfinite(errors).all():
        return None
    if reached < 2:
        return Compared(other, mine.t, errors, False, None)
    forces = None
    if reached >= FEW and solution.compiled.places:
        impacts = [*solution.run.impacts, *theirs.run.impacts]
        hit = bodies_with_contacts(solution.compiled, {impact.contact for impact in impacts})
        last = np.maximum(mine.trajectory.step, theirs.trajectory.step)
        calm = outputs_between_impacts(mine.t, last, [impact.t for impact in impacts])
        scales = scales if calm.sum() >= FEW else scales.without(hit)
        if scales.judged:
            # without the first output, which has no error of steps, and where the perturbation of
            # velocities opens contacts, or moves what dry friction holds, for an instant
            forces = force_differences(
                scales,
                mine,
                theirs,
                lambda d: other.share * math.sqrt(2.0 * float(np.mean(d[1:] ** 2))),
                share=other.share,
                at=slice(1, None),
                hit=hit,
                outputs=_compared_outputs(mine, theirs, hit, calm),
            )
            if not forces.joint and not forces.frame:  # no forces beside those of impacts
                forces = None
    return Compared(other, mine.t, errors / motion, float(errors.max()) > AT_REST, forces)


def _compared_outputs(
    mine: SolutionData, theirs: SolutionData, hit: frozenset[str], calm: np.ndarray
) -> Callable[[Iterable[str]], np.ndarray]:
    """Mask (nt,) of the outputs at which forces on given bodies are compared.

    Those between impacts for bodies that are ``hit``, and those without a jump of dry friction.
    """
    changed = changes_of_friction(mine, theirs)
    rubbed = {
        int(k): bodies_with_contacts(mine.compiled, {mine.contacts[k]})
        for k in np.flatnonzero(changed.any(axis=0))
    }

    def outputs(bodies: Iterable[str]) -> np.ndarray:
        """Outputs of these bodies; with few left, those beside jumps, too."""
        names = list(bodies)
        chosen = np.ones(len(mine.t), bool) if hit.isdisjoint(names) else calm
        jumps = [k for k, each in rubbed.items() if not each.isdisjoint(names)]
        steady = chosen & ~changed[:, jumps].any(axis=1)
        return steady if steady.sum() >= FEW else chosen

    return outputs


def _error_check(solution: SolutionData, found: Compared) -> Check:
    """Check of the largest relative errors found so far."""
    t, shares = found.t, np.maximum.accumulate(found.errors.max(axis=1))
    worst = int(found.errors.max(axis=0).argmax())
    status = graded(float(shares[-1]), MOTION if found.seen else (MOTION[0], math.inf))
    text = f"with {found.other.what} the estimated error of positions is"
    text += f" {shares[-1]:.1e} of the motion"
    if t[-1] < solution.t[-1]:
        text += f" up to t = {t[-1]:.4g} s, the rest was not checked"
        if status == PASS and _extrapolated(t, shares, float(solution.t[-1])) > MOTION[0]:
            return Check(
                "Second run",
                WARN,
                f"{text}; at the rate of its second half errors grow to the size of the motion",
                REMEDY,
            )
    if status == PASS:
        return Check("Second run", status, text)
    good = float(t[max(int(np.searchsorted(shares, MOTION[0])) - 1, 0)])
    text += f", largest {place_of(solution, worst)}, above {MOTION[0]:g} after t = {good:.4g} s"
    return Check("Second run", status, text, REMEDY)


def _extrapolated(t: np.ndarray, shares: np.ndarray, end: float, *, sped_up: bool = True) -> float:
    """Relative error at the end if it grows exponentially at the rate of the second half.

    It grows there by `EXPLOSIVE` at least; 0 if it grows less, or, ``sped_up``, if growth by a
    factor r was not followed by about r² over the doubled time.
    """
    early, middle, last = (float(np.interp(part * t[-1], t, shares)) for part in (0.25, 0.5, 1.0))
    if early <= 0.0 or middle <= early or last < EXPLOSIVE * middle:
        return 0.0
    if sped_up and math.log(last / middle) < 1.5 * math.log(middle / early):
        return 0.0
    rate = math.log(last / middle) / (0.5 * t[-1])
    return last * math.exp(min(rate * (end - t[-1]), 100.0))


def _outputs(solution: SolutionData, cost: float) -> np.ndarray:
    """Indices of the outputs to compare: of a long run only its first part."""
    part = 1.0 if full(solution) else min(1.0, MOST / max(_work(solution, cost), 1e-300))
    within = np.flatnonzero(solution.t <= part * solution.t[-1] * (1.0 + 1e-12))
    return evenly_spaced(within, MOST_OUTPUTS)


def _work(solution: SolutionData, cost: float) -> float:
    """Work of a run that costs ``cost`` times the evaluations of this one."""
    return work_of(solution.compiled, cost * solution.statistics["evaluations"])


def with_other_steps(method: Integrator) -> Other:
    """The method with steps twice as long, or a tolerance ten times as large.

    Explicit methods get steps half as long.
    """
    if method.step is not None:
        if method.explicit:
            return refined(method)
        coarser = dataclasses.replace(method, step=FACTOR * method.step)  # type: ignore[type-var]
        return Other(coarser, 1.0 / FACTOR, 1.0 / (FACTOR ** _order(method) - 1.0))
    factor = max(min(COARSER, COARSEST / float(method.rtol or 0.0)), math.sqrt(COARSER))
    return Other(_controlled(method, factor), 0.7, 1.0 / (factor - 1.0))


def refined(method: Integrator) -> Other:
    """The method with steps half as long, or a tenth of the tolerance.

    `with_other_steps` if the method has no tolerance so small.
    """
    if method.step is not None:
        finer = dataclasses.replace(method, step=method.step / FACTOR)  # type: ignore[type-var]
        return Other(finer, FACTOR, 1.0 / (1.0 - FACTOR ** -_order(method)))
    if float(method.rtol or 0.0) < COARSER * method.finest:
        return with_other_steps(method)
    return Other(_controlled(method, 1.0 / COARSER), FACTOR, 1.0 / (1.0 - 1.0 / COARSER))


def _order(method: Integrator) -> int:
    """Order of convergence assumed of a method: 1 with contacts, otherwise 2."""
    return 1 if method.contacts else 2


def _controlled(method: Integrator, factor: float) -> Integrator:
    """The method with its tolerances multiplied by a factor."""
    rtol, atol = factor * float(method.rtol or 0.0), factor * float(method.atol or 0.0)
    return dataclasses.replace(method, rtol=rtol, atol=atol)  # type: ignore[type-var,no-any-return]


def displacements(compiled: Compiled, q: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Displacements δ (n, ns) between coordinates, other = q ⊕ δ, row by row."""
    tree = compiled.system.tree
    out = np.zeros((len(q), int(compiled.system.layout[2])))
    for row, primary in zip(rows_of(tree), compiled.topology.tree):
        at, to = int(row.q_at), int(row.s_at)
        for motion in primary.motions:
            if motion.nq == motion.nv:
                out[:, to : to + motion.nv] = (
                    other[:, at : at + motion.nq] - q[:, at : at + motion.nq]
                )
            else:  # Euler parameters last
                shift = motion.nq - 4
                out[:, to : to + shift] = other[:, at : at + shift] - q[:, at : at + shift]
                p, p_other = (each[:, at + shift : at + motion.nq] for each in (q, other))
                out[:, to + shift : to + motion.nv] = rotation_vectors(
                    quaternion_product(p * [1.0, -1.0, -1.0, -1.0], p_other)
                )
            at, to = at + motion.nq, to + motion.nv
        nf, at, to = int(row.nf), int(row.qf_at), int(row.sf_at)
        out[:, to : to + nf] = other[:, at : at + nf] - q[:, at : at + nf]
    return out

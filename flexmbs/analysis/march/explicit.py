"""The time loop of Dormand–Prince over a formalism, with nothing allocated inside."""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from flexmbs._jit import bound, bound_part, part, seldom
from flexmbs.analysis.march.march import March
from flexmbs.analysis.march.state import (
    ACCEPTED_GAP,
    BEGUN,
    DISTANCE,
    DONE,
    EVALUATIONS,
    FACTORIZATIONS,
    INDEFINITE,
    NO_CONVERGENCE,
    NOT_FINITE,
    PAUSE,
    RATE,
    REJECTED,
    SMALLEST_STEP,
    STEP,
    STEP_TOO_SMALL,
    STEPPED,
    STEPS,
    TIME,
    ahead,
    next_step,
    pack,
    record,
    take,
    unpack,
)  # fmt: skip
from flexmbs.dynamics.kinematics import normalize_positions, rates
from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.formalism import unchanged as accepted
from flexmbs.formalisms.kkt import independence
from flexmbs.formalisms.multiplier import accelerations
from flexmbs.integrators import dormand_prince as dp

FAR = 0.3  # distances from a singular position that do not matter
NOISE = 1e-15  # round-off of a state; near a singular position it comes out divided by the square of the distance


def derivative(system, work, room, now, t, yd):
    """ẏ of y = (q, s, z, work) at the running state; leaves ṡ and λ in it."""
    status = accelerations(system, work, room, t, now.q, now.s, now.z, now.sd, now.lam)
    now.statistics[EVALUATIONS] += 1
    now.statistics[FACTORIZATIONS] += 1
    nq = now.q.shape[0]
    ns = now.s.shape[0]
    nz = now.z.shape[0]
    rates(system.tree, system.joints, now.q, now.s, yd)
    for a in range(ns):
        yd[nq + a] = now.sd[a]
    for a in range(nz):
        yd[nq + ns + a] = work.force_rate[a]
    for a in range(3):
        yd[nq + ns + nz + a] = work.power[a]
    return status


def output(system, work, room, now, t):
    """The formalism's correction of the state asked for, ṡ and λ there."""
    at = now.at
    normalize_positions(system.tree, system.joints, at.q)
    accepted(system, work, room, t, at.q, at.s)
    accelerations(system, work, room, t, at.q, at.s, at.z, at.sd, at.lam)


@part
def within_step(now, dense, t):
    """The state at time t of the last step, of order 4."""
    at, clock = now.at, now.clock
    if t >= clock[TIME]:
        take(now, at)
        return
    h = clock[TIME] - clock[BEGUN]
    dp.within(dense, h, (t - clock[BEGUN]) / h, now.y, now.k, now.y1)
    unpack(now.y1, at.q, at.s, at.z, at.work)


@seldom
def state_within(system, now, dense, t):
    """`within_step` for Python."""
    within_step(now, dense, t)
    normalize_positions(system.tree, system.joints, now.at.q)


@part
def straddling(h, distance, rate):
    """The step h, shortened where a singular position ahead would lie near a stage of Dormand–Prince at 0.2 … 0.3 or 0.8 … 1.

    Accelerations are not determined at a singular position and noisy beside it, but the motion goes on smoothly: a step that has
    it between two stages passes it. ``distance`` falls linearly with ``rate`` to 0 there.
    """
    if rate >= 0.0 or distance >= FAR:
        return h
    left = -distance / rate
    if 0.12 * h < left < 0.38 * h:
        return left / 0.55
    if 0.72 * h < left < 1.3 * h:
        return left / 1.8
    return h


@part
def approach(now, h, independent):
    """Distance from a singular position after a step h, and its rate."""
    distance = math.sqrt(independent)
    now.clock[RATE] = (distance - now.clock[DISTANCE]) / h if now.clock[DISTANCE] > 0.0 else 0.0
    now.clock[DISTANCE] = distance


def march_explicit(system, work, room, now, watched, method, fixed, rtol, atol, times, first, last, out):
    """Dormand–Prince on the index-1 form to the outputs first … last−1. Returns (status, outputs reached).

    ``accelerations`` and ``accepted`` are those of the formalism the loop is bound to. Outputs are taken within the steps.
    """
    y, y1, k, clock = now.y, now.y1, now.k, now.clock
    n = now.q.shape[0] + now.s.shape[0] + now.z.shape[0]
    end = times[times.shape[0] - 1]
    for i in range(first, last):
        while ahead(now, fixed, times[i]):
            h = next_step(clock, fixed, end)
            if fixed <= 0.0:
                h = straddling(h, clock[DISTANCE], clock[RATE])
            t = clock[TIME]
            pack(now, y)
            status = 0
            independent = 1.0
            for j in range(dp.STAGES):
                dp.stage(method.tableau, j, h, y, k, y1)
                unpack(y1, now.q, now.s, now.z, now.work)
                status = min(status, derivative(system, work, room, now, t + method.nodes[j] * h, k[j]))
                independent = min(independent, independence(work, now.s.shape[0]))
            error = dp.error_norm(method.weights, h, k, y, y1, n, rtol, atol + NOISE / independent)
            finite = error < 1e30
            good = finite and status >= 0 and (fixed > 0.0 or error <= 1.0)
            left = 0.0
            if good:
                normalize_positions(system.tree, system.joints, now.q)
                left = accepted(system, work, room, t + h, now.q, now.s)
            if good and left <= ACCEPTED_GAP:
                clock[TIME] = t + h
                clock[BEGUN] = t
                now.statistics[STEPS] += 1
                approach(now, h, independence(work, now.s.shape[0]))
                proposed = h * min(5.0, max(0.2, 0.9 * math.pow(max(error, 1e-10), -0.2)))
                clock[STEP] = max(proposed, clock[STEP]) if h < 0.9 * clock[STEP] else proposed
                if watched or now.statistics[STEPS] % PAUSE == 0:
                    return STEPPED, i
                continue
            unpack(y, now.q, now.s, now.z, now.work)
            now.statistics[REJECTED] += 1
            failure = STEP_TOO_SMALL if finite else NOT_FINITE
            if good:  # the constraints cannot be met there
                failure = NO_CONVERGENCE
            if status < 0:  # a stage may leave the region where M is definite: a shorter step may not
                work.status[0] = -1 - status
                failure = INDEFINITE
            if fixed > 0.0:
                return failure, i
            clock[STEP] = h * (max(0.2, 0.9 * math.pow(error, -0.2)) if finite and status >= 0 and not good else 0.1)
            if clock[STEP] < SMALLEST_STEP * (1.0 + abs(t)):
                return failure, i
        within_step(now, method.dense, times[i])
        output(system, work, room, now, times[i])
        record(now, work, out, times[i], i)
    return DONE, last


@functools.cache
def explicit_loop(formalism: type[Formalism]) -> Any:
    """The compiled loop over a formalism."""
    parts = {"accelerations": formalism.accelerations, "accepted": formalism.accepted}
    rate = bound_part(derivative, accelerations=formalism.accelerations)
    return bound(march_explicit, formalism.name, accepted=formalism.accepted, derivative=rate, output=bound_part(output, **parts))


class Method(NamedTuple):
    """Coefficients of the method."""

    tableau: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray
    dense: np.ndarray


METHOD = Method(dp.A, dp.C, dp.ERROR, dp.DENSE)


class Explicit(March):
    """Dormand–Prince."""

    def outputs(self, first: int, last: int) -> tuple[int, int]:
        c, m = self.course, self.course.method
        assert isinstance(m, dp.DormandPrince)
        march = explicit_loop(type(c.form))
        return march(  # type: ignore[no-any-return]
            c.system, c.work, c.room, c.now, self.watched, METHOD, float(m.step or 0.0), float(m.rtol), float(m.atol), c.times,
            first, last, c.out,
        )  # fmt: skip

    def look_at(self, t: float) -> None:
        state_within(self.course.system, self.course.now, dp.DENSE, t)

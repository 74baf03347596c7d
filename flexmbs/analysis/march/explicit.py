"""The time loop of Dormand–Prince over a formalism, from one output time to the next, with nothing allocated inside."""

import functools
import math
from typing import Any

from flexmbs._jit import bound, bound_part, part
from flexmbs.analysis.march.state import (
    ACCEPTED_GAP,
    DONE,
    EVALUATIONS,
    FACTORIZATIONS,
    INDEFINITE,
    NO_CONVERGENCE,
    NOT_FINITE,
    REJECTED,
    SMALLEST_STEP,
    STEP_TOO_SMALL,
    STEPS,
    next_step,
    record,
)  # fmt: skip
from flexmbs.dynamics.kinematics import normalize_positions, rates
from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.formalism import unchanged as accepted
from flexmbs.formalisms.multiplier import accelerations
from flexmbs.integrators import dormand_prince as dp


@part
def _pack(now, y):
    nq = now.q.shape[0]
    ns = now.s.shape[0]
    nz = now.z.shape[0]
    for a in range(nq):
        y[a] = now.q[a]
    for a in range(ns):
        y[nq + a] = now.s[a]
    for a in range(nz):
        y[nq + ns + a] = now.z[a]
    for a in range(3):
        y[nq + ns + nz + a] = now.work[a]


@part
def _unpack(now, y):
    nq = now.q.shape[0]
    ns = now.s.shape[0]
    nz = now.z.shape[0]
    for a in range(nq):
        now.q[a] = y[a]
    for a in range(ns):
        now.s[a] = y[nq + a]
    for a in range(nz):
        now.z[a] = y[nq + ns + a]
    for a in range(3):
        now.work[a] = y[nq + ns + nz + a]


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


def march_explicit(system, work, room, now, tableau, nodes, weights, fixed, rtol, atol, times, first, last, out):
    """Dormand–Prince on the index-1 form to the outputs first … last−1. Returns (status, outputs reached).

    ``accelerations`` and ``accepted`` are those of the formalism the loop is bound to.
    """
    y, y1, k = now.y, now.y1, now.k
    n = now.q.shape[0] + now.s.shape[0] + now.z.shape[0]
    for i in range(first, last):
        while now.clock[0] < times[i] - 1e-12 * (1.0 + abs(times[i])):
            left = times[i] - now.clock[0]
            h = next_step(fixed, now.clock[1], left)
            t = now.clock[0]
            _pack(now, y)
            status = 0
            for j in range(dp.STAGES):
                dp.stage(tableau, j, h, y, k, y1)
                _unpack(now, y1)
                status = min(status, derivative(system, work, room, now, t + nodes[j] * h, k[j]))
            error = dp.error_norm(weights, h, k, y, y1, n, rtol, atol)
            finite = error < 1e30
            good = finite and status >= 0 and (fixed > 0.0 or error <= 1.0)
            left = 0.0
            if good:
                normalize_positions(system.tree, system.joints, now.q)
                left = accepted(system, work, room, t + h, now.q, now.s)
            if good and left <= ACCEPTED_GAP:
                now.clock[0] = t + h
                now.statistics[STEPS] += 1
                proposed = h * min(5.0, max(0.2, 0.9 * math.pow(max(error, 1e-10), -0.2)))
                now.clock[1] = max(proposed, now.clock[1]) if h < 0.9 * now.clock[1] else proposed
                continue
            _unpack(now, y)
            now.statistics[REJECTED] += 1
            failure = STEP_TOO_SMALL if finite else NOT_FINITE
            if good:  # the constraints cannot be met there
                failure = NO_CONVERGENCE
            if status < 0:  # a stage may leave the region where M is definite: a shorter step may not
                work.status[0] = -1 - status
                failure = INDEFINITE
            if fixed > 0.0:
                return failure, i
            now.clock[1] = h * (max(0.2, 0.9 * math.pow(error, -0.2)) if finite and status >= 0 and not good else 0.1)
            if now.clock[1] < SMALLEST_STEP * (1.0 + abs(t)):
                return failure, i
        accelerations(system, work, room, now.clock[0], now.q, now.s, now.z, now.sd, now.lam)
        now.clock[0] = times[i]
        record(now, work, out, i)
    return DONE, last


@functools.cache
def explicit_loop(formalism: type[Formalism]) -> Any:
    """The compiled loop over a formalism."""
    rate = bound_part(derivative, accelerations=formalism.accelerations)
    return bound(
        march_explicit, formalism.name, accelerations=formalism.accelerations, accepted=formalism.accepted, derivative=rate
    )

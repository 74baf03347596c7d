"""The compiled time loops: an integrator over a formalism, from one output time to the next, with nothing allocated inside.

Python is entered once per batch of outputs. ``status`` tells how a batch ended.
"""

import math
from typing import NamedTuple

import numpy as np

from flexmbs._jit import kernel, part
from flexmbs.algebra.blocks import solve
from flexmbs.dynamics.equations import residual
from flexmbs.dynamics.kinematics import displace, normalize_positions, rates
from flexmbs.formalisms.multiplier import accelerations, iteration_matrix, largest, project
from flexmbs.integrators import dormand_prince as dp
from flexmbs.integrators import generalized_alpha as ga
from flexmbs.results.trajectory import Trajectory
from flexmbs.system.records import G_POSITION, G_VELOCITY

DONE, NO_CONVERGENCE, NOT_FINITE, INDEFINITE, STEP_TOO_SMALL = range(5)
STEPS, REJECTED, ITERATIONS, FACTORIZATIONS, EVALUATIONS, DEPENDENT = range(6)

REFACTOR_RATE = 0.1  # contraction slower than this is worth a new factorization
SMALLEST_STEP = 1e-13
ACCEPTED_GAP = 1e-6  # m or rad, left by the projection
ACCELERATION_TOLERANCE = 1e3  # accelerations and multipliers to this times the tolerance of displacements
ROUND_OFF = 1e-14  # of corrections to coordinates of order one
STAGNATION = 1e-11  # corrections below this that no longer shrink are round-off


class Now(NamedTuple):
    """The running state and vectors of the integrator."""

    clock: np.ndarray  # (4,) time, step, step of the factorization (0 none), largest |correction| of the run
    q: np.ndarray
    s: np.ndarray
    sd: np.ndarray
    lam: np.ndarray
    z: np.ndarray
    a: np.ndarray
    work: np.ndarray  # (3,)
    q0: np.ndarray
    s0: np.ndarray
    sd0: np.ndarray
    lam0: np.ndarray
    z0: np.ndarray
    zd0: np.ndarray
    power0: np.ndarray
    delta: np.ndarray
    a1: np.ndarray
    travel: np.ndarray
    path: np.ndarray
    zero: np.ndarray
    y: np.ndarray  # (nq + ns + nz + 3,)
    y1: np.ndarray
    k: np.ndarray  # (7, nq + ns + nz + 3)
    statistics: np.ndarray  # (8,) int64


def make_now(nq: int, ns: int, nc: int, nz: int) -> Now:
    """Zeroed running state."""
    z = np.zeros
    ny = nq + ns + nz + 3
    return Now(
        clock=z(4), q=z(nq), s=z(ns), sd=z(ns), lam=z(nc), z=z(nz), a=z(ns), work=z(3), q0=z(nq), s0=z(ns), sd0=z(ns), lam0=z(nc),
        z0=z(nz), zd0=z(nz), power0=z(3), delta=z(ns), a1=z(ns), travel=z(ns), path=z(ns), zero=z(ns), y=z(ny), y1=z(ny),
        k=z((dp.STAGES, ny)), statistics=z(8, np.int64),
    )  # fmt: skip


def make_trajectory(times: np.ndarray, nq: int, ns: int, nc: int, nz: int) -> Trajectory:
    """Room for the outputs."""
    n = len(times)
    z = np.zeros
    return Trajectory(times.copy(), z((n, nq)), z((n, ns)), z((n, ns)), z((n, nc)), z((n, nz)), z((n, 3)), z((n, 2)), z(n))


@part
def record(now, work, out, i):
    """Copy the running state to output i."""
    out.t[i] = now.clock[0]
    out.step[i] = now.clock[1]
    for a in range(now.q.shape[0]):
        out.q[i, a] = now.q[a]
    for a in range(now.s.shape[0]):
        out.s[i, a] = now.s[a]
        out.sd[i, a] = now.sd[a]
    for a in range(now.lam.shape[0]):
        out.lam[i, a] = now.lam[a]
    for a in range(now.z.shape[0]):
        out.z[i, a] = now.z[a]
    for a in range(3):
        out.work[i, a] = now.work[a]
    out.drift[i, 0] = largest(work.gs[G_POSITION])
    out.drift[i, 1] = largest(work.gs[G_VELOCITY])


@part
def alpha_step(system, work, now, p, h, tolerance, iterations):
    """One step of generalized-α from the running state; returns the status, the old state stays in q0, s0, ….

    Modified Newton: the factorization is kept while corrections contract well and the step does not change.
    """
    q, s, sd, lam, z = now.q, now.s, now.sd, now.lam, now.z
    ns = s.shape[0]
    t1 = now.clock[0] + h
    for a in range(q.shape[0]):
        now.q0[a] = q[a]
    for a in range(ns):
        now.s0[a] = s[a]
        now.sd0[a] = sd[a]
    for a in range(lam.shape[0]):
        now.lam0[a] = lam[a]
    for a in range(z.shape[0]):
        now.z0[a] = z[a]
        now.zd0[a] = work.force_rate[a]
    for a in range(3):
        now.power0[a] = work.power[a]
    ga.predict(p, h, s, sd, now.a, now.a1, now.delta)
    c_sd, c_s = ga.factors(p, h)
    before = 0.0
    fresh = False
    slow = False
    growths = 0
    x = work.x
    for _ in range(iterations):
        displace(system.tree, system.joints, now.q0, now.delta, q)
        for a in range(z.shape[0]):
            z[a] = now.z0[a] + 0.5 * h * (now.zd0[a] + work.force_rate[a])
        renew = now.clock[2] != h or slow
        residual(system, work, t1, q, s, sd, lam, z, renew, work.r)
        now.statistics[EVALUATIONS] += 1
        if renew:
            status = iteration_matrix(system, work, q, c_sd, c_s)
            now.statistics[FACTORIZATIONS] += 1
            if status < 0:
                now.clock[2] = 0.0
                work.status[0] = -1 - status
                return INDEFINITE
            now.statistics[DEPENDENT] = max(now.statistics[DEPENDENT], status)
            now.clock[2] = h
            fresh = True
            slow = False
            before = 0.0
        for a in range(ns):
            x[a] = -work.r[a]
        for a in range(lam.shape[0]):
            x[ns + a] = -work.gs[G_POSITION, a]
        solve(system.elimination, work.values, x)
        size = ga.correct(c_sd, c_s, x, now.delta, s, sd)
        for a in range(lam.shape[0]):
            lam[a] -= x[ns + a]
        now.statistics[ITERATIONS] += 1
        if not size < 1e30:
            now.clock[2] = 0.0
            return NOT_FINITE
        goal = tolerance * min(largest(now.delta), ACCELERATION_TOLERANCE * largest(sd) / c_sd) + ROUND_OFF
        if size <= 1e-3 * goal:
            return DONE
        if before > 0.0:
            rate = size / before
            slowest = rate if fresh else max(rate, REFACTOR_RATE)  # an old factor may hide its slow directions in the first ratio
            if slowest < 1.0 and size * slowest / (1.0 - slowest) <= goal:
                return DONE
            if rate > 0.5 and size <= STAGNATION:
                return DONE
            if rate > REFACTOR_RATE and not fresh:
                slow = True
            if rate > 2.0 and fresh:
                growths += 1
                if growths > 2:
                    break
        before = size
    now.clock[2] = 0.0
    return NO_CONVERGENCE


@part
def restore(now, work):
    """Back to the state before the step."""
    for a in range(now.q.shape[0]):
        now.q[a] = now.q0[a]
    for a in range(now.s.shape[0]):
        now.s[a] = now.s0[a]
        now.sd[a] = now.sd0[a]
    for a in range(now.lam.shape[0]):
        now.lam[a] = now.lam0[a]
    for a in range(now.z.shape[0]):
        now.z[a] = now.z0[a]
        work.force_rate[a] = now.zd0[a]
    for a in range(3):
        work.power[a] = now.power0[a]


@part
def accept(p, now, work, h):
    """Accelerations, account of work and clock after a converged step."""
    for i in range(now.a.shape[0]):
        now.a1[i] = now.a[i]
        now.path[i] += now.delta[i]
        now.travel[i] = max(now.travel[i], abs(now.path[i]))
    ga.finish(p, now.sd, now.sd0, now.a)
    for k in range(3):
        now.work[k] += 0.5 * h * (now.power0[k] + work.power[k])
    now.clock[0] += h
    now.statistics[STEPS] += 1


@part
def next_step(fixed, proposed, left):
    """Step to take: the fixed or the proposed one, shortened so that the output time is met; few steps ahead are made equal."""
    h = fixed if fixed > 0.0 else proposed
    count = np.ceil(left / h * (1.0 - 1e-9))
    if fixed > 0.0:
        return h if count > 1.0 or left > h * (1.0 - 1e-9) else left
    return left / max(count, 1.0) if count < 8.0 else h


@kernel
def march_alpha(system, work, now, p, fixed, rtol, atol, tolerance, iterations, keep, times, first, last, out):
    """Generalized-α to the outputs first … last−1. Returns (status, outputs reached).

    ``keep``: factorizations serve following steps too. In absolute coordinates the matrix hardly changes along the motion; in
    joint coordinates it follows the configuration, and a stale factor leaves errors in the directions of small inertia.
    """
    for i in range(first, last):
        while now.clock[0] < times[i] - 1e-12 * (1.0 + abs(times[i])):
            h = next_step(fixed, now.clock[1], times[i] - now.clock[0])
            if not keep:
                now.clock[2] = 0.0
            status = alpha_step(system, work, now, p, h, tolerance, iterations)
            error = 0.0
            if status == DONE and fixed <= 0.0:
                for a in range(now.a.shape[0]):
                    now.a1[a] = now.a[a]
                ga.finish(p, now.sd, now.sd0, now.a1)
                error = ga.error_norm(p, h, now.a1, now.a, now.travel, rtol, atol)
            if status == DONE and error <= 1.0:
                accept(p, now, work, h)
                if fixed <= 0.0:
                    now.clock[1] = ga.proposed_step(now.clock[1], h, error)
                continue
            restore(now, work)
            if fixed > 0.0 or status == INDEFINITE:
                return status, i
            now.statistics[REJECTED] += 1
            now.clock[1] = h * max(0.25, 0.8 * math.pow(error, -1.0 / 3.0)) if status == DONE else 0.25 * h
            if now.clock[1] < SMALLEST_STEP * (1.0 + abs(now.clock[0])):
                return (STEP_TOO_SMALL if status == DONE else status), i
        now.clock[0] = times[i]
        record(now, work, out, i)
    return DONE, last


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


@part
def derivative(system, work, now, t, rate, yd):
    """ẏ of y = (q, s, z, work) at the running state; leaves ṡ and λ in it."""
    status = accelerations(system, work, t, now.q, now.s, now.z, rate, now.zero, now.sd, now.lam)
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


@kernel
def march_explicit(
    system, work, now, tableau, nodes, weights, fixed, rtol, atol, rate, projected, tolerance, times, first, last, out
):
    """Dormand–Prince on the index-1 form to the outputs first … last−1. Returns (status, outputs reached)."""
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
                status = min(status, derivative(system, work, now, t + nodes[j] * h, rate, k[j]))
            error = dp.error_norm(weights, h, k, y, y1, n, rtol, atol)
            finite = error < 1e30
            good = finite and status >= 0 and (fixed > 0.0 or error <= 1.0)
            left = 0.0
            if good:
                normalize_positions(system.tree, system.joints, now.q)
                if projected:
                    left = project(system, work, t + h, now.q, now.s, now.zero, tolerance, 8)
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
        accelerations(system, work, now.clock[0], now.q, now.s, now.z, rate, now.zero, now.sd, now.lam)
        now.clock[0] = times[i]
        record(now, work, out, i)
    return DONE, last

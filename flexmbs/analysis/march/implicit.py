"""The time loop of generalized-α over a formalism, with nothing allocated inside."""

import functools
import math
from typing import Any

from flexmbs._jit import bound, bound_part, part
from flexmbs.analysis.march.between import between, state_between
from flexmbs.analysis.march.march import March
from flexmbs.analysis.march.state import (
    BEGUN,
    DEPENDENT,
    DONE,
    EVALUATIONS,
    FACTOR,
    FACTORIZATIONS,
    INDEFINITE,
    ITERATIONS,
    NO_CONVERGENCE,
    NOT_FINITE,
    PAUSE,
    REJECTED,
    SMALLEST_STEP,
    STEP,
    STEP_TOO_SMALL,
    STEPPED,
    STEPS,
    TIME,
    ahead,
    next_step,
    record,
)  # fmt: skip
from flexmbs.dynamics.constraints import velocity_gaps
from flexmbs.dynamics.equations import kinematics, residual
from flexmbs.dynamics.kinematics import displace
from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.kkt import largest
from flexmbs.formalisms.multiplier import correction, iteration_matrix
from flexmbs.integrators import generalized_alpha as ga
from flexmbs.integrators.generalized_alpha import GeneralizedAlpha
from flexmbs.system.records import CO_LAW, G_POSITION, JF_KIND, JOINT_FRICTION, JOINT_STOP, PARENT

REFACTOR_RATE = 0.1  # contraction slower than this is worth a new factorization
BENT_RATE = 0.3  # contraction slower than this with a new factor is worth another one where forces bend within the step
ACCELERATION_TOLERANCE = 1e3  # accelerations to this times the tolerance of displacements
MULTIPLIER_TOLERANCE = 1e-6  # of the largest multiplier
ROUND_OFF = 1e-14  # of corrections to coordinates of order one
STAGNATION = 1e-11  # corrections below this that no longer shrink are round-off


@part
def forces_bend(system):
    """True with friction in joints, stops or contacts with laws. Elsewhere Newton's method fails with a new factor only near
    singular positions, and has to: more factors would carry it to some other solution."""
    joint, contacts = system.forces.joint, system.contacts.info
    found = False
    for f in range(joint.shape[0]):
        found = found or joint[f, JF_KIND] == JOINT_FRICTION or joint[f, JF_KIND] == JOINT_STOP
    for k in range(contacts.shape[0]):
        found = found or contacts[k, CO_LAW] >= 0
    return found


def alpha_step(system, work, room, now, p, h, tolerance, iterations):
    """One step of generalized-α from the running state; returns the status, the old state stays in q0, s0, ….

    Modified Newton: the factorization is kept while corrections contract well and the step does not change.
    """
    q, s, sd, lam, z = now.q, now.s, now.sd, now.lam, now.z
    ns = s.shape[0]
    t1 = now.clock[TIME] + h
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
    bends = forces_bend(system)
    x = work.x
    for _ in range(iterations):
        displace(system.tree, system.joints, now.q0, now.delta, q)
        for a in range(z.shape[0]):
            z[a] = now.z0[a] + 0.5 * h * (now.zd0[a] + work.force_rate[a])
        renew = now.clock[FACTOR] != h or slow
        residual(system, work, t1, q, s, sd, lam, z, renew, work.r)
        now.statistics[EVALUATIONS] += 1
        if renew:
            status = iteration_matrix(system, work, room, q, c_sd, c_s)
            now.statistics[FACTORIZATIONS] += 1
            if status < 0:
                now.clock[FACTOR] = 0.0
                work.status[0] = -1 - status
                return INDEFINITE
            now.statistics[DEPENDENT] = max(now.statistics[DEPENDENT], status)
            now.clock[FACTOR] = h
            if not fresh:
                before = 0.0
            fresh = True
            slow = False
        for a in range(ns):
            x[a] = -work.r[a]
        for a in range(lam.shape[0]):
            x[ns + a] = -work.gs[G_POSITION, a]
        velocity_gaps(system.cuts, work.gs, c_s, x, ns)
        correction(system, work, room, q, x)
        size = ga.correct(c_sd, c_s, x, now.delta, s, sd)
        change = 0.0
        for a in range(lam.shape[0]):
            lam[a] -= x[ns + a]
            change = max(change, abs(x[ns + a]))
        forces = MULTIPLIER_TOLERANCE * largest(lam)
        now.statistics[ITERATIONS] += 1
        if not size < 1e30:
            now.clock[FACTOR] = 0.0
            return NOT_FINITE
        goal = tolerance * min(largest(now.delta), ACCELERATION_TOLERANCE * largest(sd) / c_sd) + ROUND_OFF
        if size <= 1e-3 * goal and change <= forces:
            return DONE
        if before > 0.0:
            rate = size / before
            slowest = rate if fresh else max(rate, REFACTOR_RATE)  # an old factor may hide its slow directions in the first ratio
            left = slowest / (1.0 - slowest)
            if slowest < 1.0 and size * left <= goal and change * left <= forces:
                return DONE
            if rate > 0.5 and size <= STAGNATION:
                return DONE
            slow = (bends and rate > BENT_RATE) if fresh else rate > REFACTOR_RATE
            if rate > 2.0 and fresh:
                growths += 1
                if growths > 2:
                    break
        before = size
    now.clock[FACTOR] = 0.0
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
    now.clock[BEGUN] = now.clock[TIME]
    now.clock[TIME] += h
    now.statistics[STEPS] += 1


def march_alpha(system, work, room, now, watched, p, fixed, rtol, atol, tolerance, iterations, keep, times, first, last, out):
    """Generalized-α to the outputs first … last−1. Returns (status, outputs reached).

    ``iteration_matrix`` and ``correction`` are those of the formalism the loop is bound to. Outputs are taken within the steps.
    ``keep``: factorizations serve following steps too. In absolute coordinates the matrix hardly changes along the motion; in
    joint coordinates it follows the configuration, and a stale factor leaves errors in the directions of small inertia.
    """
    clock = now.clock
    end = times[times.shape[0] - 1]
    for i in range(first, last):
        while ahead(now, fixed, times[i]):
            h = next_step(clock, fixed, end)
            if not keep:
                clock[FACTOR] = 0.0
            status = alpha_step(system, work, room, now, p, h, tolerance, iterations)
            error = 0.0
            if status == DONE and fixed <= 0.0:
                for a in range(now.a.shape[0]):
                    now.a1[a] = now.a[a]
                ga.finish(p, now.sd, now.sd0, now.a1)
                error = ga.error_norm(p, h, now.a1, now.a, now.travel, rtol, atol)
            if status == DONE and error <= 1.0:
                accept(p, now, work, h)
                if fixed <= 0.0:
                    clock[STEP] = ga.proposed_step(clock[STEP], h, error)
                if watched or now.statistics[STEPS] % PAUSE == 0:
                    return STEPPED, i
                continue
            restore(now, work)
            if fixed > 0.0:
                return status, i
            now.statistics[REJECTED] += 1
            clock[STEP] = h * max(0.25, 0.8 * math.pow(error, -1.0 / 3.0)) if status == DONE else 0.25 * h
            if clock[STEP] < SMALLEST_STEP * (1.0 + abs(clock[TIME])):
                return (STEP_TOO_SMALL if status == DONE else status), i
        between(system, now, work, times[i])
        kinematics(system, work, times[i], now.at.q, now.at.s, work.zero)
        record(now, work, out, times[i], i)
    return DONE, last


@functools.cache
def alpha_loop(formalism: type[Formalism]) -> Any:
    """The compiled loop over a formalism."""
    step = bound_part(alpha_step, iteration_matrix=formalism.iteration_matrix, correction=formalism.correction)
    return bound(march_alpha, formalism.name, alpha_step=step)


class Implicit(March):
    """Generalized-α."""

    def outputs(self, first: int, last: int) -> tuple[int, int]:
        c, m = self.course, self.course.method
        assert isinstance(m, GeneralizedAlpha)
        absolute = bool((c.system.tree[:, PARENT] < 0).all())
        march = alpha_loop(type(c.form))
        return march(  # type: ignore[no-any-return]
            c.system, c.work, c.room, c.now, self.watched, m.parameters(), float(m.step or 0.0), float(m.rtol), float(m.atol),
            float(m.newton_tolerance), int(m.max_iterations), absolute, c.times, first, last, c.out,
        )  # fmt: skip

    def look_at(self, t: float) -> None:
        state_between(self.course.system, self.course.now, self.course.work, t)

"""The time loop of RATTLE over a formalism, with nothing allocated inside; the equations are in `flexmbs.integrators.rattle`."""

import functools
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
    STEPPED,
    STEPS,
    TIME,
    ahead,
    copy,
    next_step,
    record,
)  # fmt: skip
from flexmbs.dynamics.constraints import drive_power
from flexmbs.dynamics.equations import inward, kinematics, residual
from flexmbs.dynamics.inertia import inertia_force
from flexmbs.dynamics.kinematics import displace, outward
from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.kkt import largest
from flexmbs.formalisms.multiplier import correction, iteration_matrix
from flexmbs.integrators import rattle
from flexmbs.system.records import (
    BALL,
    CHAIN_AT,
    CHAIN_END,
    CLOSED_ROWS,
    CUT_CLOSED,
    CUT_ROW,
    FREE,
    G_ACCELERATION,
    G_POSITION,
    G_VELOCITY,
    JOINT,
    K_FF,
    NF,
    PARENT,
    POWER_DRIVES,
    QF_AT,
    S_AT,
    SF_AT,
    SHIFT,
)  # fmt: skip

ROUND_OFF = 1e-15  # of displacements of order one
STAGNATION = 1e-11  # corrections below this that no longer shrink are round-off


@part
def momentum(system, work, still, q, s, p):
    """p = M(q) s by sweeps: inertia forces of the accelerations s at rest, without weight and elastic forces."""
    tree = system.tree
    for a in range(p.shape[0]):
        p[a] = 0.0
    outward(tree, system.frames, system.joints, still, work.motion, q, work.zero, s)
    for i in range(tree.shape[0]):
        inertia_force(system.bodies, tree, work.motion, i, q, work.zero, s, work.U, p)
        to = tree[i, SF_AT]
        for k in range(tree[i, NF]):
            for l in range(tree[i, NF]):
                p[to + k] -= system.bodies.matrices[i, K_FF, l, k] * q[tree[i, QF_AT] + l]
    inward(tree, system.frames, work.motion, q, p)


@part
def group_terms(system, delta, p, d, e0, e1):
    """e₀ += B, e₁ −= B for the motions of all joints that do not commute."""
    tree, joints = system.tree, system.joints
    for i in range(tree.shape[0]):
        at = tree[i, S_AT]
        j = tree[i, JOINT]
        for m in range(joints.chain[j, CHAIN_AT], joints.chain[j, CHAIN_END]):
            code = joints.code[m]
            if code in (FREE, BALL):
                v, f, df = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
                to = at
                if code == FREE:
                    v = (delta[at], delta[at + 1], delta[at + 2])
                    f = (p[at], p[at + 1], p[at + 2])
                    df = (d[at], d[at + 1], d[at + 2])
                    to = at + 3
                w = (delta[to], delta[to + 1], delta[to + 2])
                n, dn = (p[to], p[to + 1], p[to + 2]), (d[to], d[to + 1], d[to + 2])
                bf, bn = rattle.group_term(v, w, f, n, df, dn)
                for a in range(3):
                    e0[to + a] += bn[a]
                    e1[to + a] -= bn[a]
                    if code == FREE:
                        e0[at + a] += bf[a]
                        e1[at + a] -= bf[a]
                at = to + 3
            elif code != SHIFT:
                at += 1


@part
def variation(system, work, now, h, places, weights, constant):
    """e₀ and e₁ of the step from q0 to q with the velocity a = Δ. ``now.at`` is scratch."""
    at, e0, e1, speed = now.at, now.e0, now.e1, now.a
    ns = speed.shape[0]
    for a in range(ns):
        e0[a] = 0.0
        e1[a] = 0.0
    d, p = now.path, now.travel
    momentum(system, work, now.still, now.q0, speed, p)
    if constant:
        for a in range(ns):
            d[a] = 0.0
        group_terms(system, now.delta, p, d, e0, e1)
        return
    momentum(system, work, now.still, now.q, speed, at.sd)
    for a in range(ns):
        d[a] = 0.5 * (at.sd[a] - p[a])
        p[a] += d[a]
    group_terms(system, now.delta, p, d, e0, e1)
    size = largest(speed)
    if size == 0.0:
        return
    time = rattle.DISPLACEMENT / size
    for end in range(2):
        base = now.q0 if end == 0 else now.q
        e = e0 if end == 0 else e1
        for j in range(places.shape[0]):
            for a in range(ns):
                at.s[a] = places[j] * time * speed[a]
            displace(system.tree, system.joints, base, at.s, at.q)
            momentum(system, work, now.still, at.q, speed, at.sd)
            for a in range(ns):
                e[a] -= 0.5 * h * weights[j] / time * at.sd[a]
        for a in range(ns):
            e[a] += d[a]


@part
def keep_gap(cuts, cut, gs, gap, rows):
    """g at the end of the step, and the closed directions T that it is told in."""
    copy(gs[G_POSITION], gap)
    for k in range(cuts.shape[0]):
        for r in range(cuts[k, CUT_CLOSED]):
            for e in range(6):
                rows[cuts[k, CUT_ROW] + r, e] = cut[k, CLOSED_ROWS + 6 * r + e]


@part
def gap_at_start(cuts, cut, gap, rows, gs):
    """That gap in the closed directions at the start, T₀ T₁ᵀ g: the basis may be another one at the end of the step."""
    copy(gap, gs[G_POSITION])
    for k in range(cuts.shape[0]):
        at = cuts[k, CUT_ROW]
        for r in range(cuts[k, CUT_CLOSED]):
            gs[G_POSITION, at + r] = 0.0
            for c in range(cuts[k, CUT_CLOSED]):
                same = 0.0
                for e in range(6):
                    same += cut[k, CLOSED_ROWS + 6 * r + e] * rows[at + c, e]
                gs[G_POSITION, at + r] += same * gap[at + c]


def rattle_step(system, work, room, now, h, tolerance, iterations, places, weights, constant):
    """One step from the running state; returns the status, the old state stays in q0, s0, …."""
    q, s, sd, lam, z, x = now.q, now.s, now.sd, now.lam, now.z, work.x
    ns, nz = s.shape[0], z.shape[0]
    t0 = now.clock[TIME]
    copy(q, now.q0)
    copy(s, now.s0)
    copy(sd, now.sd0)
    copy(lam, now.lam0)
    copy(z, now.z0)
    copy(work.force_rate, now.zd0)
    copy(work.power, now.power0)
    if now.clock[FACTOR] == 0.0:
        kinematics(system, work, t0, q, s, sd)
        status = iteration_matrix(system, work, room, q, 1.0, -1.0)
        if status < 0:
            work.status[0] = -1 - status
            return INDEFINITE
        now.clock[FACTOR] = 1.0
    for a in range(ns):
        now.a[a] = s[a] + 0.5 * h * sd[a]
    before = 0.0
    converged = False
    for _ in range(iterations):
        for a in range(ns):
            now.delta[a] = h * now.a[a]
        displace(system.tree, system.joints, now.q0, now.delta, q)
        variation(system, work, now, h, places, weights, constant)
        kinematics(system, work, t0 + h, q, work.zero, work.zero)
        keep_gap(system.cuts, work.cut, work.gs, now.gap, now.rows)
        for a in range(ns):
            sd[a] = 2.0 / h * (now.a[a] - now.s0[a])
        residual(system, work, t0, now.q0, now.a, sd, lam, now.z0, False, work.r)
        now.statistics[EVALUATIONS] += 1
        now.statistics[ITERATIONS] += 1
        for a in range(ns):
            x[a] = -work.r[a] - 2.0 / h * now.e0[a]
        gap_at_start(system.cuts, work.cut, now.gap, now.rows, work.gs)
        for a in range(lam.shape[0]):
            x[ns + a] = -2.0 / (h * h) * work.gs[G_POSITION, a]
        correction(system, work, room, q, x)
        size = 0.0
        for a in range(ns):
            now.a[a] += 0.5 * h * x[a]
            each = 0.5 * h * h * abs(x[a])
            if each > size or each != each:
                size = each
        for a in range(lam.shape[0]):
            lam[a] -= x[ns + a]
        if not size < 1e30:
            return NOT_FINITE
        if size <= tolerance * largest(now.delta) + ROUND_OFF or (size <= STAGNATION and 0.0 < before <= 2.0 * size):
            converged = True
            break
        before = size
    if not converged:
        return NO_CONVERGENCE
    for a in range(ns):
        now.delta[a] = h * now.a[a]
    displace(system.tree, system.joints, now.q0, now.delta, q)
    variation(system, work, now, h, places, weights, constant)
    for a in range(lam.shape[0]):
        lam[a] = 0.0
    for _ in range(2 if nz > 0 else 1):
        residual(system, work, t0 + h, q, now.a, work.zero, lam, z, False, work.r)
        for a in range(nz):
            z[a] = now.z0[a] + 0.5 * h * (now.zd0[a] + work.force_rate[a])
    status = iteration_matrix(system, work, room, q, 1.0, -1.0)
    now.statistics[FACTORIZATIONS] += 1
    if status < 0:
        work.status[0] = -1 - status
        return INDEFINITE
    now.statistics[DEPENDENT] = max(now.statistics[DEPENDENT], status)
    for a in range(ns):
        x[a] = -work.r[a] - 2.0 / h * now.e1[a]
    for a in range(lam.shape[0]):
        x[ns + a] = -2.0 / h * work.gs[G_VELOCITY, a]
    correction(system, work, room, q, x)
    for a in range(ns):
        s[a] = now.a[a] + 0.5 * h * x[a]
    settle_accelerations(system, work, room, now, t0 + h)
    return DONE


def settle_accelerations(system, work, room, now, t):
    """ṡ, λ and the power account of the running state, with the factor of M and G that stands."""
    x = work.x
    ns = now.s.shape[0]
    residual(system, work, t, now.q, now.s, work.zero, now.lam, now.z, False, work.r)
    now.statistics[EVALUATIONS] += 2
    for a in range(ns):
        x[a] = -work.r[a]
    for a in range(now.lam.shape[0]):
        x[ns + a] = -work.gs[G_ACCELERATION, a]
    correction(system, work, room, now.q, x)
    for a in range(ns):
        now.sd[a] = x[a]
    for a in range(now.lam.shape[0]):
        now.lam[a] = -x[ns + a]
    work.power[POWER_DRIVES] = drive_power(system.drives, system.laws, work.io, t, now.lam)


def march_rattle(system, work, room, now, watched, h, tolerance, iterations, places, weights, constant, times, first, last, out):
    """RATTLE to the outputs first … last−1. Returns (status, outputs reached). Outputs are taken within the steps."""
    clock = now.clock
    end = times[times.shape[0] - 1]
    for i in range(first, last):
        while ahead(now, h, times[i]):
            now_h = next_step(clock, h, end)
            status = rattle_step(system, work, room, now, now_h, tolerance, iterations, places, weights, constant)
            if status != DONE:
                copy(now.q0, now.q)
                copy(now.s0, now.s)
                return status, i
            for a in range(3):
                now.work[a] += 0.5 * now_h * (now.power0[a] + work.power[a])
            clock[BEGUN] = clock[TIME]
            clock[TIME] += now_h
            now.statistics[STEPS] += 1
            if watched or now.statistics[STEPS] % PAUSE == 0:
                return STEPPED, i
        between(system, now, work, times[i])
        kinematics(system, work, times[i], now.at.q, now.at.s, work.zero)
        record(now, work, out, times[i], i)
    return DONE, last


@functools.cache
def rattle_loop(formalism: type[Formalism]) -> Any:
    """The compiled loop over a formalism."""
    settle = bound_part(settle_accelerations, correction=formalism.correction)
    parts = {"iteration_matrix": formalism.iteration_matrix, "correction": formalism.correction}
    step = bound_part(rattle_step, settle_accelerations=settle, **parts)
    return bound(march_rattle, formalism.name, rattle_step=step)


class Variational(March):
    """RATTLE."""

    def outputs(self, first: int, last: int) -> tuple[int, int]:
        c, m = self.course, self.course.method
        assert isinstance(m, rattle.Rattle)
        constant = bool((c.system.tree[:, PARENT] < 0).all()) and not c.compiled.data and not c.compiled.system.tree[:, NF].any()
        constant = constant and c.compiled.topology.coordinates == "absolute"
        march = rattle_loop(type(c.form))
        return march(  # type: ignore[no-any-return]
            c.system, c.work, c.room, c.now, self.watched, float(m.step or 0.0), float(m.newton_tolerance), int(m.max_iterations),
            rattle.PLACES, rattle.WEIGHTS, constant, c.times, first, last, c.out,
        )  # fmt: skip

    def look_at(self, t: float) -> None:
        state_between(self.course.system, self.course.now, self.course.work, t)

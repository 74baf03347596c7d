"""The time loop of Moreau and Jean over a formalism; the equations are in `flexmbs.integrators.moreau_jean`."""

import functools
from typing import Any, NamedTuple

import numpy as np

from flexmbs._jit import bound, bound_part, part, seldom
from flexmbs.analysis.march.march import Course, March
from flexmbs.analysis.march.state import (
    BEGUN,
    DEPENDENT,
    DONE,
    EVALUATIONS,
    FACTORIZATIONS,
    INDEFINITE,
    ITERATIONS,
    NO_CONVERGENCE,
    NOT_FINITE,
    PAUSE,
    STEPPED,
    STEPS,
    TIME,
    UNSOLVED,
    ahead,
    copy,
    next_step,
    record,
    take,
)  # fmt: skip
from flexmbs.dynamics.blocks import transmission
from flexmbs.dynamics.contacts import contact_kinematics, contact_rows
from flexmbs.dynamics.equations import kinematics, residual
from flexmbs.dynamics.kinematics import displace, midpoint
from flexmbs.errors import InputError
from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.kkt import largest, project
from flexmbs.formalisms.multiplier import correction, iteration_matrix
from flexmbs.integrators.contact_problem import NO_SOLUTION, impact
from flexmbs.integrators.moreau_jean import MoreauJean
from flexmbs.integrators.redundant_contacts import Room, make_room
from flexmbs.results.trajectory import Impact
from flexmbs.system.compile import Compiled
from flexmbs.system.records import (
    BESIDE,
    CO_E,
    CO_ET,
    CO_LAW,
    CO_MU,
    CO_POISSON,
    G_ACCELERATION,
    GAP,
    GAP_RATE,
    POWER_LOSS,
    System,
)  # fmt: skip

ROUND_OFF = 1e-12  # m or rad
SMOOTH = 1e-14  # of velocity corrections of order one
CLOSED = 1e-10  # m or rad, of the loops after a step
PROJECTIONS = 4
CANNOT_YIELD = 1e-13  # of |w|² over the largest mass: normal compliance of a contact that nothing moves
GAINED = 1e-9  # of the work of the impulses: energy that is round-off
HALVINGS = 25
MOST_LOGGED = 1000  # impacts kept until Python takes them
OVERLAP = 1e-6  # m or rad, allowed at the start
NEAR = 1e-9  # of a step: as good as its end

# places in Touch.counts; columns of Touch.log
LOGGED, LOWERED, SWEEPS = range(3)
LOG_CONTACT, LOG_TIME, LOG_IMPULSE, LOG_LOST = 0, 1, 2, 5


class Touch(NamedTuple):
    """Contacts of a run: their state at the start of the step, impulses, and the contact problem of the closed ones."""

    gap: np.ndarray  # (n,)
    rate: np.ndarray  # (n, 3)
    beside: np.ndarray  # (n,)
    p: np.ndarray  # (n, 3) impulses of the last step
    closed: np.ndarray  # (n,) int64, did it carry an impulse
    row: np.ndarray  # (n,) int64, contacts that take part
    W: np.ndarray  # (3n, ns) rows of velocities, at the end of the step
    F: np.ndarray  # (3n, ns) rows of forces, at q_θ
    Y: np.ndarray  # (3n, ns) velocities of unit impulses
    reaction: np.ndarray  # (3n, nc) multipliers of unit impulses
    D: np.ndarray  # (3n, 3n) W Y
    G: np.ndarray  # (3n, 3n) ½ F Y
    mean: np.ndarray  # (3n,) ½ F (v + v₀) without impulses: the work of impulses p is p·(mean + G p)
    free: np.ndarray  # (3n,) U without impulses
    c: np.ndarray  # (3n,)
    expansion: np.ndarray  # (n,) e of Poisson's law, 0 where no impact is
    room: Room
    mu: np.ndarray  # (n,)
    least: np.ndarray  # (n,)
    x: np.ndarray  # (3n,) impulses of the contacts that take part
    log: np.ndarray  # (MOST_LOGGED, 6)
    counts: np.ndarray  # (3,) int64


def make_touch(system: System) -> Touch:
    """Zeroed room for the contacts of a run."""
    n, ns, nc = len(system.contacts.info), int(system.layout[2]), int(system.layout[3])
    z = np.zeros
    return Touch(
        gap=z(n), rate=z((n, 3)), beside=z(n), p=z((n, 3)), closed=z(n, np.int64), row=z(n, np.int64), W=z((3 * n, ns)),
        F=z((3 * n, ns)), Y=z((3 * n, ns)), reaction=z((3 * n, nc)), D=z((3 * n, 3 * n)), G=z((3 * n, 3 * n)), mean=z(3 * n),
        free=z(3 * n), c=z(3 * n), expansion=z(n), room=make_room(n), mu=z(n), least=z(n), x=z(3 * n),
        log=z((MOST_LOGGED, 6)), counts=z(3, np.int64),
    )  # fmt: skip


@part
def look_at_contacts(system, work, touch, t, q, s):
    """Gaps and velocities of a state."""
    kinematics(system, work, t, q, s, work.zero)
    contact_kinematics(system, work, q, s)
    for k in range(touch.gap.shape[0]):
        touch.gap[k] = work.contact[k, GAP]
        touch.beside[k] = work.contact[k, BESIDE]
        for c in range(3):
            touch.rate[k, c] = work.contact[k, GAP_RATE + c]


@seldom
def first_contacts(system, work, touch, t, q, s):
    """`look_at_contacts` for Python."""
    look_at_contacts(system, work, touch, t, q, s)


@part
def fall_of_a_step(system, h):
    """Velocity that weight gives within the step."""
    g = system.gravity
    return h * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) ** 0.5


@part
def foreseen(system, touch, h):
    """Contacts that take part in the step: g + ½ h γ ≤ 0. Returns their number.

    One that carried an impulse takes part up to the gap that weight would close within the step, else round-off opens it and it
    falls into an overlap.
    """
    m = 0
    fall = 0.5 * h * fall_of_a_step(system, h)
    for k in range(touch.gap.shape[0]):
        near = max(fall, ROUND_OFF) if touch.closed[k] == 1 else ROUND_OFF
        closes = touch.gap[k] + 0.5 * h * touch.rate[k, 0] <= near
        if closes and touch.beside[k] == 0.0 and system.contacts.info[k, CO_LAW] < 0:
            touch.row[m] = k
            touch.mu[m] = system.contacts.value[k, CO_MU]
            for c in range(3):
                touch.x[3 * m + c] = touch.p[k, c]
            m += 1
    return m


@part
def heaviest(system, work):
    """Largest diagonal entry of the bodies' mass matrices."""
    size = 0.0
    for i in range(system.tree.shape[0]):
        for a in range(6):
            size = max(size, abs(work.M[i, a, a]))
    return size


@part
def rows_of_contacts(system, work, touch, m, q, s, rows):
    """Rows of the contacts that take part; the kinematics of (q, s) stand."""
    contact_kinematics(system, work, q, s)
    transmission(system.tree, system.frames, work.motion, q, work.E, work.X, work.B)
    for b in range(m):
        contact_rows(system, work, touch.row[b], q, rows[3 * b : 3 * b + 3])


def delassus(system, work, room, touch, m, q, scale):
    """D = W Y and the velocities Y of unit impulses, with the factor that stands; ``scale``: velocity per displacement."""
    x = work.x
    ns = touch.W.shape[1]
    for j in range(3 * m):
        for i in range(3 * m):
            touch.D[i, j] = 0.0
            touch.G[i, j] = 0.0
        if j % 3 > 0 and touch.mu[j // 3] == 0.0:
            continue
        for a in range(ns):
            x[a] = touch.F[j, a]
        for a in range(touch.reaction.shape[1]):
            x[ns + a] = 0.0
        correction(system, work, room, q, x)
        for a in range(ns):
            touch.Y[j, a] = scale * x[a]
        for a in range(touch.reaction.shape[1]):
            touch.reaction[j, a] = -x[ns + a]
        for i in range(3 * m):
            if i % 3 == 0 or touch.mu[i // 3] > 0.0:
                for a in range(ns):
                    touch.D[i, j] += touch.W[i, a] * touch.Y[j, a]
                    touch.G[i, j] += 0.5 * touch.F[i, a] * touch.Y[j, a]
    heavy = heaviest(system, work)
    for b in range(m):
        size = 0.0
        for a in range(ns):
            size += touch.W[3 * b, a] ** 2
        touch.least[b] = CANNOT_YIELD * size / heavy


@part
def restitution(system, touch, m, h, share):
    """What the laws of impact demand, their coefficients times ``share``: c of Newton's, the expansion of Poisson's, this in
    steps in which a contact approaches faster than weight makes it within the step.

    Tangents have restitution in impacts only: in contacts that stay closed it would turn the slip back in every step.
    """
    hard = False
    for b in range(m):
        k = touch.row[b]
        hard = hard or touch.rate[k, 0] < -fall_of_a_step(system, h)
        poisson = system.contacts.info[k, CO_POISSON] == 1
        e = 0.0 if poisson else share * system.contacts.value[k, CO_E]
        touch.expansion[b] = share * system.contacts.value[k, CO_E] if poisson else 0.0
        touch.c[3 * b] = touch.free[3 * b] + e * min(touch.rate[k, 0], 0.0)
        strikes = touch.closed[k] == 0 and touch.rate[k, 0] < 0.0
        e = share * system.contacts.value[k, CO_ET] if strikes else 0.0
        for c in range(1, 3):
            touch.c[3 * b + c] = touch.free[3 * b + c] + e * touch.rate[k, c]
    if not hard:
        for b in range(m):
            touch.expansion[b] = 0.0


@part
def solve_contacts(system, work, touch, m, h, share, tolerance, sweeps):
    """Impulses of the contacts that take part, their restitution times ``share``; returns (status, energy they add, its size)."""
    restitution(system, touch, m, h, share)
    used, worst = impact(m, touch.D, touch.c, touch.expansion, touch.mu, touch.least, tolerance, sweeps, touch.x, touch.room)
    touch.counts[SWEEPS] = max(touch.counts[SWEEPS], used)
    if used == NO_SOLUTION or used >= sweeps:
        work.status[0] = touch.row[worst]
        work.status[1] = used
        return UNSOLVED, 0.0, 0.0
    gain = 0.0
    work_done = 0.0
    for i in range(3 * m):
        each = touch.mean[i]
        for j in range(3 * m):
            each += touch.G[i, j] * touch.x[j]
        gain += touch.x[i] * each
        work_done += abs(touch.x[i] * each)
    return DONE, gain, work_done


@part
def restituted(touch, m):
    """Does restitution matter in this step?"""
    change = 0.0
    speed = 0.0
    for j in range(3 * m):
        change = max(change, abs(touch.c[j] - touch.free[j]))
        speed = max(speed, abs(touch.free[j]))
    expands = False
    for b in range(m):
        expands = expands or touch.expansion[b] > 0.0
    return expands or change > GAINED * speed


@part
def impacts(system, work, touch, m, h, tolerance, sweeps):
    """Impulses of the step. Where restitution with friction would add energy (Kane and Levinson 1985), restitution is
    lowered until none is added. Returns the status."""
    status, gain, size = solve_contacts(system, work, touch, m, h, 1.0, tolerance, sweeps)
    if status != DONE or gain <= GAINED * size or not restituted(touch, m):
        return status
    low = 0.0
    high = 1.0
    for _ in range(HALVINGS):
        share = 0.5 * (low + high)
        status, gain, size = solve_contacts(system, work, touch, m, h, share, tolerance, sweeps)
        if status != DONE:
            return status
        if gain > 0.0:
            high = share
        else:
            low = share
    touch.counts[LOWERED] += 1
    status, gain, size = solve_contacts(system, work, touch, m, h, low, tolerance, sweeps)
    return status


@part
def finish_contacts(system, work, touch, now, m, t0, h):
    """Impulses of all contacts, what they cost, and the impacts of the step into the log."""
    n = touch.gap.shape[0]
    lost = 0.0
    for k in range(n):
        for c in range(3):
            touch.p[k, c] = 0.0
    for b in range(m):
        k = touch.row[b]
        cost = 0.0
        for c in range(3):
            touch.p[k, c] = touch.x[3 * b + c]
            for a in range(now.s.shape[0]):
                cost -= 0.5 * touch.p[k, c] * touch.F[3 * b + c, a] * (now.s[a] + now.s0[a])
        lost += cost
        approach = touch.rate[k, 0]
        if touch.closed[k] == 0 and touch.p[k, 0] > 0.0 and approach < 0.0:
            at = touch.counts[LOGGED]
            touch.log[at, LOG_CONTACT] = k
            touch.log[at, LOG_TIME] = t0 + min(max(-touch.gap[k] / approach, 0.0), h)
            for c in range(3):
                touch.log[at, LOG_IMPULSE + c] = touch.p[k, c]
            touch.log[at, LOG_LOST] = cost
            touch.counts[LOGGED] = at + 1
    for k in range(n):
        touch.closed[k] = 1 if touch.p[k, 0] > 0.0 else 0
    now.work[POWER_LOSS] += lost


def nonsmooth_step(system, work, room, touch, now, h, theta, tolerance, iterations, impulse_tolerance, sweeps):
    """One step from the running state; returns the status, the old state stays in q0, s0, ….

    Newton's method on the smooth equations; in each iteration the impulses for the velocities that it would reach.
    """
    q, s, sd, lam, z, x = now.q, now.s, now.sd, now.lam, now.z, work.x
    at = now.at
    ns, nc, nz = s.shape[0], lam.shape[0], z.shape[0]
    t0 = now.clock[TIME]
    copy(q, now.q0)
    copy(s, now.s0)
    copy(sd, now.sd0)
    copy(lam, now.lam0)
    copy(z, now.z0)
    m = foreseen(system, touch, h)
    c_mass = 1.0 / (theta * theta * h * h)
    converged = False
    before = 0.0
    for it in range(iterations):
        for a in range(ns):
            now.a[a] = theta * s[a] + (1.0 - theta) * now.s0[a]
            now.delta[a] = h * now.a[a]
            sd[a] = (s[a] - now.s0[a]) / h
        midpoint(system.tree, system.joints, now.delta)
        for a in range(ns):
            now.e0[a] = theta * now.delta[a]
        if m > 0:
            displace(system.tree, system.joints, now.q0, now.delta, q)
            kinematics(system, work, t0 + h, q, s, work.zero)
            rows_of_contacts(system, work, touch, m, q, s, touch.W)
        displace(system.tree, system.joints, now.q0, now.e0, at.q)
        for a in range(nz):
            at.z[a] = now.z0[a] + theta * h * work.force_rate[a]
        renew = it == 0 or it % 4 == 3
        residual(system, work, t0 + theta * h, at.q, now.a, sd, lam, at.z, renew, work.r)
        now.statistics[EVALUATIONS] += 1
        now.statistics[ITERATIONS] += 1
        if renew:
            status = iteration_matrix(system, work, room, at.q, c_mass, 1.0 / (theta * h))
            now.statistics[FACTORIZATIONS] += 1
            if status < 0:
                work.status[0] = -1 - status
                return INDEFINITE
            now.statistics[DEPENDENT] = max(now.statistics[DEPENDENT], status)
        for a in range(ns):
            x[a] = -work.r[a]
        for a in range(nc):
            x[ns + a] = -work.gs[G_ACCELERATION, a] / c_mass
        correction(system, work, room, at.q, x)
        for a in range(ns):
            now.e1[a] = s[a] + c_mass * h * x[a]  # velocities without impulses
        for a in range(nc):
            lam[a] -= x[ns + a]
        if m > 0:
            rows_of_contacts(system, work, touch, m, at.q, now.a, touch.F)
            delassus(system, work, room, touch, m, at.q, c_mass)
            for j in range(3 * m):
                touch.free[j] = 0.0
                touch.mean[j] = 0.0
                for a in range(ns):
                    touch.free[j] += touch.W[j, a] * now.e1[a]
                    touch.mean[j] += 0.5 * touch.F[j, a] * (now.e1[a] + now.s0[a])
            status = impacts(system, work, touch, m, h, impulse_tolerance, sweeps)
            if status != DONE:
                return status
            for j in range(3 * m):
                y = touch.x[j]
                if y != 0.0:
                    for a in range(ns):
                        now.e1[a] += touch.Y[j, a] * y
                    for a in range(nc):
                        lam[a] += touch.reaction[j, a] * y / h
        size = 0.0
        for a in range(ns):
            each = abs(now.e1[a] - s[a])
            if each > size or each != each:
                size = each
            s[a] = now.e1[a]
        if not size < 1e30:
            return NOT_FINITE
        if size <= tolerance * largest(s) + SMOOTH or (it > 2 and size <= 1e3 * tolerance * largest(s) and size >= 0.5 * before):
            converged = True
            break
        before = size
    if not converged:
        return NO_CONVERGENCE
    finish_contacts(system, work, touch, now, m, t0, h)
    for a in range(ns):
        now.delta[a] = h * (theta * s[a] + (1.0 - theta) * now.s0[a])
    midpoint(system.tree, system.joints, now.delta)
    displace(system.tree, system.joints, now.q0, now.delta, q)
    for a in range(nz):
        z[a] = now.z0[a] + h * work.force_rate[a]
    for a in range(3):
        now.work[a] += h * work.power[a]
    if nc > 0:
        project(system, work, t0 + h, q, s, CLOSED, PROJECTIONS)
    for a in range(ns):
        sd[a] = (s[a] - now.s0[a]) / h
    look_at_contacts(system, work, touch, t0 + h, q, s)
    return DONE


@part
def between_ends(system, now, t):
    """The state at time t of the last step: velocities linear in time, positions their integral."""
    at, clock = now.at, now.clock
    take(now, at)
    h = clock[TIME] - clock[BEGUN]
    if t >= clock[TIME] - NEAR * h:
        return
    x = (t - clock[BEGUN]) / h
    for a in range(now.s.shape[0]):
        at.s[a] = x * now.delta[a] + 0.5 * h * x * (x - 1.0) * (now.s[a] - now.s0[a])
    displace(system.tree, system.joints, now.q0, at.s, at.q)
    for a in range(now.s.shape[0]):
        at.s[a] = now.s0[a] + x * (now.s[a] - now.s0[a])
    for a in range(now.z.shape[0]):
        at.z[a] = now.z0[a] + x * (now.z[a] - now.z0[a])


@seldom
def state_between_ends(system, now, t):
    """`between_ends` for Python."""
    between_ends(system, now, t)


def march_nonsmooth(
    system, work, room, touch, now, watched, h, theta, tolerance, iterations, impulse_tolerance, sweeps, times, first, last, out
):  # fmt: skip
    """Moreau and Jean to the outputs first … last−1. Returns (status, outputs reached)."""
    clock = now.clock
    end = times[times.shape[0] - 1]
    n = touch.gap.shape[0]
    for i in range(first, last):
        while ahead(now, h, times[i]):
            now_h = next_step(clock, h, end)
            status = nonsmooth_step(
                system, work, room, touch, now, now_h, theta, tolerance, iterations, impulse_tolerance, sweeps
            )
            if status != DONE:
                copy(now.q0, now.q)
                copy(now.s0, now.s)
                return status, i
            clock[BEGUN] = clock[TIME]
            clock[TIME] += now_h
            now.statistics[STEPS] += 1
            if watched or now.statistics[STEPS] % PAUSE == 0 or touch.counts[LOGGED] + n > touch.log.shape[0]:
                return STEPPED, i
        between_ends(system, now, times[i])
        kinematics(system, work, times[i], now.at.q, now.at.s, work.zero)
        record(now, work, out, times[i], i)
        step = max(clock[TIME] - clock[BEGUN], 1e-300)
        for k in range(n):
            for c in range(3):
                out.contact[i, k, c] = touch.p[k, c] / step
    return DONE, last


@functools.cache
def nonsmooth_loop(formalism: type[Formalism]) -> Any:
    """The compiled loop over a formalism."""
    operator = bound_part(delassus, correction=formalism.correction)
    parts = {"iteration_matrix": formalism.iteration_matrix, "correction": formalism.correction}
    step = bound_part(nonsmooth_step, delassus=operator, **parts)
    return bound(march_nonsmooth, formalism.name, nonsmooth_step=step)


def refuse_overlaps(compiled: Compiled, gap: np.ndarray) -> None:
    """Raise `InputError` for rigid contacts that overlap at the start."""
    overlaps = [
        f"contacts.{name}: overlaps by {-g:.4g} (m or rad) at the start; move its bodies apart with q0, "
        "or mend its normal, radius or bounds"
        for name, g, law in zip(compiled.contacts, gap, compiled.system.contacts.info[:, CO_LAW])
        if g < -OVERLAP and law < 0
    ]
    if overlaps:
        raise InputError(*overlaps)


class Nonsmooth(March):
    """Moreau's and Jean's time stepping."""

    def __init__(self, course: Course) -> None:
        super().__init__(course)
        self.touch = make_touch(course.system)
        now = course.now
        first_contacts(course.system, course.work, self.touch, 0.0, now.q, now.s)
        refuse_overlaps(course.compiled, self.touch.gap)

    def outputs(self, first: int, last: int) -> tuple[int, int]:
        c, m = self.course, self.course.method
        assert isinstance(m, MoreauJean)
        march = nonsmooth_loop(type(c.form))
        status, reached = march(
            c.system, c.work, c.room, self.touch, c.now, self.watched, float(m.step or 0.0), float(m.theta),
            float(m.newton_tolerance), int(m.max_iterations), float(m.impulse_tolerance), int(m.max_sweeps), c.times, first, last,
            c.out,
        )  # fmt: skip
        self._take_impacts()
        return status, reached

    def _take_impacts(self) -> None:
        """Impacts from the log."""
        for row in self.touch.log[: self.touch.counts[LOGGED]]:
            name = self.course.compiled.contacts[int(row[LOG_CONTACT])]
            impulse = (float(row[LOG_IMPULSE]), float(row[LOG_IMPULSE + 1]), float(row[LOG_IMPULSE + 2]))
            self.impacts.append(Impact(name, float(row[LOG_TIME]), impulse, float(row[LOG_LOST])))
        self.touch.counts[LOGGED] = 0

    def notes(self) -> list[str]:
        lowered = int(self.touch.counts[LOWERED])
        if not lowered:
            return []
        text = "restitution was lowered where it would have added energy, with friction"
        return [f"contacts: in {lowered} steps {text}; in Newton's law a tangential_restitution equal to restitution avoids it"]

    def look_at(self, t: float) -> None:
        state_between_ends(self.course.system, self.course.now, t)

"""Time stepping of Moreau and Jean for unilateral contacts with friction and impacts.

Over a step h, with v_θ = θ v + (1 − θ) v₀ and q_θ = q₀ ⊕ θh v_θ, velocities and impulses p of the contacts obey

    M(q_θ) (v − v₀) = h k(t₀ + θh, q_θ, v_θ) + h Gᵀ λ + W_θᵀ p,   q = q₀ ⊕ h v_θ,   U = W v,
    U⁺ = U_free + D p,   D = W (M + θh D_d + θ²h² K)⁻¹ W_θᵀ,

with the rows W of the contacts at the end of the step, W_θ those at q_θ and the damping D_d; constraint rows G border the inverse
on acceleration level. A contact takes part where its gap, foreseen by half a step, is closed: g₀ + ½ h γ_N ≤ 0. The
impulses p solve the contact problem (`flexmbs.integrators.contact_problem`). Velocities are those at the end of the step, forces
act at q_θ like all others: forces of closed contacts then balance weights without error of order h. For free motions ⊕ is the
midpoint rule's (Cayley's map): with θ = ½ free flight keeps energy, and momentum where no weight acts, whatever the spin.

Theory: docs/theory.md, section 42. Moreau (1988), Unilateral contact and dry friction in finite freedom dynamics; Jean (1999),
Comput. Methods Appl. Mech. Eng. 177, 235; Acary and Brogliato, Numerical Methods for Nonsmooth Dynamical Systems (2008), chapters
10 (time stepping for mechanical systems) and 13 (frictional contact problem).
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs._jit.address import call, entry
from flexmbs.algebra.small import largest
from flexmbs.errors import InputError
from flexmbs.integrators.between import between_linear
from flexmbs.integrators.contact_calls import IMPACT, Problem, make_problem, solve, solver_of
from flexmbs.integrators.contact_problem import NO_SOLUTION
from flexmbs.integrators.impacts import (
    LOG_WIDTH,
    LOGGED,
    MOST_LOGGED,
    REDUCED,
    SWEEPS,
    log_impact,
    reduction_notes,
    taken_impacts,
)
from flexmbs.integrators.integrator import (
    Facts,
    Integrator,
    MethodCalls,
    check_iterations,
    check_step,
    check_tolerance,
    is_number,
)  # fmt: skip
from flexmbs.integrators.run_context import (
    AT,
    COMMON,
    CONTACTS,
    CORRECTION,
    DISPLACE,
    DONE,
    HOLDS,
    ITERATIONS,
    MATRIX,
    NO_CONVERGENCE,
    NOT_FINITE,
    OPEN,
    PAUSED,
    PROJECT,
    ROWS,
    START,
    STATE,
    STICKS,
    TAKING,
    TIME,
    UNSOLVED,
    copy,
    correction,
    displace,
    displace_by_midpoint,
    iteration_matrix,
    residual,
)  # fmt: skip

ROUND_OFF = 1e-12  # m or rad
SMOOTH = 1e-14  # of velocity corrections of order one
CANNOT_YIELD = 1e-13  # of |w|² over the largest mass: normal compliance of a contact that nothing moves
GAINED = 1e-9  # of the work of the impulses: energy that is round-off
HALVINGS = 25
SMOOTH_ERROR = 1.0 / 12.0  # of h³ times the third derivative: local error of the positions
WITHIN = 0.25  # of a step: how far from where it is taken an impact is in the mean; accelerations jump there and back


@dataclass(frozen=True)
class MoreauJean(Integrator):
    """Time stepping with a fixed ``step`` (s) through impacts, for rigid contacts and joint limits (theory, section 42).

    theta: ½ (order 2 where smooth, keeps the energy of linear vibrations) … 1 (damps them). Impacts are passed, not located:
    errors are of order h; the overlap of a contact stays below h times its speed of approach.
    impulse_tolerance: of the contact problem, relative to its velocities; max_sweeps: of its iterations.
    """

    step: float | None = None
    theta: float = 0.5
    newton_tolerance: float = 1e-10
    max_iterations: int = 50
    impulse_tolerance: float = 1e-13
    max_sweeps: int = 5000

    rtol: None = field(default=None, init=False)
    atol: None = field(default=None, init=False)
    name: ClassVar[str] = "moreau-jean"
    uses: ClassVar[tuple[int, ...]] = (MATRIX, CORRECTION, DISPLACE, CONTACTS, ROWS, PROJECT)
    needs: ClassVar[str] = "residual"
    contacts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.step is None:
            raise InputError("integrator.step: 'moreau-jean' has no control of its steps; give a fixed step (s)")
        check_step("step", self.step)
        if not (is_number(self.theta) and 0.5 <= self.theta <= 1.0):
            raise InputError(f"integrator.theta: {self.theta!r} is not within 0.5 … 1")
        for key in ("newton_tolerance", "impulse_tolerance"):
            check_tolerance(key, getattr(self, key))
        for key in ("max_iterations", "max_sweeps"):
            check_iterations(key, getattr(self, key))

    def memory(self, facts: Facts) -> "Memory":
        return make_memory(self, facts)

    @property
    def calls(self) -> MethodCalls:
        return MethodCalls(step_at, finish_at, between_linear)

    def impacts(self, memory: "Memory") -> list[tuple[int, float, tuple[float, float, float], float]]:
        return taken_impacts(memory.log, memory.counts)

    def notes(self, memory: "Memory") -> list[str]:
        return reduction_notes(memory.counts, "steps")


class Memory(NamedTuple):
    """Options, the contact problem of the contacts that take part, and impacts not yet taken by Python."""

    theta: float
    tolerance: float
    iterations: int
    impulse_tolerance: float
    sweeps: int
    W: np.ndarray  # (3n, ns) rows of velocities, at the end of the step
    F: np.ndarray  # (3n, ns) rows of forces, at q_θ
    Y: np.ndarray  # (3n, ns) velocities of unit impulses
    reaction: np.ndarray  # (3n, nc) multipliers of unit impulses
    problem: Problem  # D = W Y, impulses of the contacts that take part
    solver: np.ndarray  # (1,) int64 address of the solver
    G: np.ndarray  # (3n, 3n) ½ F Y
    mean: np.ndarray  # (3n,) ½ F (v + v₀) without impulses: the work of impulses p is p·(mean + G p)
    free: np.ndarray  # (3n,) U without impulses
    v: np.ndarray  # (ns,) velocities of an iterate
    taking: np.ndarray  # (1,) int64 number of contacts that take part
    taken: np.ndarray  # (1,) int64 that in the step before
    gap: np.ndarray  # (n,) at the start of the step
    rate: np.ndarray  # (n, 3)
    log: np.ndarray  # (MOST_LOGGED, 6)
    counts: np.ndarray  # (3,) int64


def make_memory(method: MoreauJean, facts: Facts) -> Memory:
    """Zeroed workspace for the contacts of a run."""
    n, ns, nc, z = facts.contacts, facts.ns, facts.nc, np.zeros
    problem = make_problem(n)
    return Memory(
        float(method.theta), float(method.newton_tolerance), int(method.max_iterations), float(method.impulse_tolerance),
        int(method.max_sweeps), W=z((3 * n, ns)), F=z((3 * n, ns)), Y=z((3 * n, ns)), reaction=z((3 * n, nc)), problem=problem,
        solver=solver_of(problem), G=z((3 * n, 3 * n)), mean=z(3 * n), free=z(3 * n), v=z(ns), taking=z(1, np.int64),
        taken=z(1, np.int64), gap=z(n), rate=z((n, 3)), log=z((MOST_LOGGED, LOG_WIDTH)), counts=z(3, np.int64),
    )  # fmt: skip


@part
def foreseen(memory, contact, h):
    """Contacts that take part in the step: g + ½ h γ_N ≤ 0. Returns their number (theory, section 42).

    One that carried an impulse takes part up to the gap that weight would close within the step, else round-off opens it and it
    falls into an overlap.
    """
    m = 0
    fall = 0.5 * h * h * contact.scale[0]
    for k in range(contact.gap.shape[0]):
        near = max(fall, ROUND_OFF) if contact.impulse[k, 0] > 0.0 else ROUND_OFF
        closes = contact.gap[k] + 0.5 * h * contact.rate[k, 0] <= near
        if closes and contact.outside[k] == 0.0 and contact.rigid[k] == 1:
            contact.row[m] = k
            memory.problem.mu[m] = contact.mu[k]
            for c in range(3):
                memory.problem.x[3 * m + c] = contact.impulse[k, c]
            m += 1
    return m


@part
def rows_of_contacts(context, point, t, m, rows):
    """rows (3m, ns) ← W of the contacts that take part, at a point."""
    records = context.records
    call(context.calls[ROWS], records[COMMON], records[point], records[point], t, 1.0 * m, 0.0)
    for j in range(3 * m):
        for a in range(rows.shape[1]):
            rows[j, a] = context.contact.rows[j, a]


@part
def delassus(memory, context, m, scale):
    """D = W Y (1/kg) and the velocities Y = (M + θh D_d + θ²h² K)⁻¹ W_θᵀ of unit impulses, with the current factor.

    ``scale``: velocity per displacement, 1/(θ²h²). G = ½ W_θ Y gives the work of the impulses (theory, section 42).
    """
    x = context.exchange.x
    ns = memory.W.shape[1]
    for j in range(3 * m):
        for i in range(3 * m):
            memory.problem.D[i, j] = 0.0
            memory.G[i, j] = 0.0
        # tangents without friction have no impulse: their columns stay zero
        if j % 3 > 0 and memory.problem.mu[j // 3] == 0.0:
            continue
        for a in range(ns):
            x[a] = memory.F[j, a]
        for a in range(memory.reaction.shape[1]):
            x[ns + a] = 0.0
        correction(context, AT)
        for a in range(ns):
            memory.Y[j, a] = scale * x[a]
        for a in range(memory.reaction.shape[1]):
            memory.reaction[j, a] = -x[ns + a]
        for i in range(3 * m):
            if i % 3 == 0 or memory.problem.mu[i // 3] > 0.0:
                for a in range(ns):
                    memory.problem.D[i, j] += memory.W[i, a] * memory.Y[j, a]
                    memory.G[i, j] += 0.5 * memory.F[i, a] * memory.Y[j, a]
    for b in range(m):
        size = 0.0
        for a in range(ns):
            size += memory.W[3 * b, a] ** 2
        memory.problem.least[b] = CANNOT_YIELD * size / context.contact.scale[1]


@part
def restitution(memory, contact, m, h, share):
    """What the laws of impact demand, their coefficients times ``share``: c of Newton's, U_free + e U⁻, and the expansion of
    Poisson's, this in steps in which a contact approaches faster than weight makes it within the step.

    Tangents have restitution in impacts only: in contacts that stay closed it would turn the slip back in every step.
    """
    hard = False
    for b in range(m):
        k = contact.row[b]
        hard = hard or memory.rate[k, 0] < -h * contact.scale[0]
        poisson = contact.poisson[k] == 1
        e = 0.0 if poisson else share * contact.e[k]
        memory.problem.expansion[b] = share * contact.e[k] if poisson else 0.0
        memory.problem.c[3 * b] = memory.free[3 * b] + e * min(memory.rate[k, 0], 0.0)
        strikes = not contact.impulse[k, 0] > 0.0 and memory.rate[k, 0] < 0.0
        e = share * contact.e_t[k] if strikes else 0.0
        for c in range(1, 3):
            memory.problem.c[3 * b + c] = memory.free[3 * b + c] + e * memory.rate[k, c]
    if not hard:
        for b in range(m):
            memory.problem.expansion[b] = 0.0


@part
def solve_contacts(memory, context, m, h, share):
    """Impulses of the contacts that take part, their restitution times ``share``; returns (status, energy they add, its
    size) (J).
    """
    contact = context.contact
    restitution(memory, contact, m, h, share)
    used, worst = solve(memory.solver[0], memory.problem, IMPACT, m, memory.impulse_tolerance, memory.sweeps)
    memory.counts[SWEEPS] = max(memory.counts[SWEEPS], used)
    if used == NO_SOLUTION or used >= memory.sweeps:
        context.exchange.status[0] = contact.row[worst]
        context.exchange.status[1] = used
        return UNSOLVED, 0.0, 0.0
    gain = 0.0
    work_done = 0.0
    for i in range(3 * m):
        each = memory.mean[i]
        for j in range(3 * m):
            each += memory.G[i, j] * memory.problem.x[j]
        gain += memory.problem.x[i] * each
        work_done += abs(memory.problem.x[i] * each)
    return DONE, gain, work_done


@part
def restituted(memory, m):
    """True where restitution matters in this step."""
    change = 0.0
    speed = 0.0
    for j in range(3 * m):
        change = max(change, abs(memory.problem.c[j] - memory.free[j]))
        speed = max(speed, abs(memory.free[j]))
    expands = False
    for b in range(m):
        expands = expands or memory.problem.expansion[b] > 0.0
    return expands or change > GAINED * speed


@part
def impulses_of_step(memory, context, m, h):
    """Impulses of the step. Where restitution with friction would add energy (Kane and Levinson 1985), restitution is
    reduced until none is added. Returns the status (theory, section 42).
    """
    status, gain, size = solve_contacts(memory, context, m, h, 1.0)
    if status != DONE or gain <= GAINED * size or not restituted(memory, m):
        return status
    low = 0.0
    high = 1.0
    for _ in range(HALVINGS):
        share = 0.5 * (low + high)
        status, gain, size = solve_contacts(memory, context, m, h, share)
        if status != DONE:
            return status
        # the part with e = 0 never adds energy, so that the interval always holds an answer
        if gain > 0.0:
            high = share
        else:
            low = share
    memory.counts[REDUCED] += 1
    status, gain, size = solve_contacts(memory, context, m, h, low)
    return status


@part
def velocities_with_impulses(memory, context, m, h, c_mass):
    """The velocities ``memory.v`` without impulses become v + Y p with the impulses of the contacts that take part; λ by p/h."""
    state, start, at = context.state, context.start, context.at
    ns = memory.v.shape[0]
    # forces act at q_θ, velocities count at the end of the step: D has two sets of rows
    rows_of_contacts(context, AT, context.clock[TIME] + memory.theta * h, m, memory.F)
    delassus(memory, context, m, c_mass)
    for j in range(3 * m):
        memory.free[j] = 0.0
        memory.mean[j] = 0.0
        for a in range(ns):
            memory.free[j] += memory.W[j, a] * memory.v[a]
            memory.mean[j] += 0.5 * memory.F[j, a] * (memory.v[a] + start.s[a])
    status = impulses_of_step(memory, context, m, h)
    if status != DONE:
        return status
    for j in range(3 * m):
        y = memory.problem.x[j]
        if y != 0.0:
            for a in range(ns):
                memory.v[a] += memory.Y[j, a] * y
            for a in range(at.lam.shape[0]):
                state.lam[a] += memory.reaction[j, a] * y / h
    return DONE


@part
def evaluate_middle(memory, context, h):
    """``at``: q_θ = q₀ ⊕ θh v_θ, v_θ and force states at t₀ + θh of the iterate ``state``.

    Accelerations (v − v₀)/h of the step.
    """
    state, start, at = context.state, context.start, context.at
    theta = memory.theta
    for a in range(state.s.shape[0]):
        at.s[a] = theta * state.s[a] + (1.0 - theta) * start.s[a]
        state.d[a] = h * at.s[a]
        at.sd[a] = (state.s[a] - start.s[a]) / h
    displace_by_midpoint(context, STATE, START)
    for a in range(state.s.shape[0]):
        at.d[a] = theta * state.d[a]
    displace(context, AT, START)
    for a in range(state.z.shape[0]):
        at.z[a] = start.z[a] + theta * h * at.zd[a]
    copy(state.lam, at.lam)


@part
def solve_step(memory, context, h, m):
    """Newton's method on the smooth equations; in each iteration the impulses for the velocities that it would reach.

    K_b has the factors 1/(θ²h²) of M and 1/(θh) of D_d; a displacement δ changes v by δ/(θ²h). Theory, section 42.
    """
    state, x = context.state, context.exchange.x
    ns, nc = state.s.shape[0], state.lam.shape[0]
    t0 = context.clock[TIME]
    c_mass = 1.0 / (memory.theta * memory.theta * h * h)
    copy(context.start.zd, context.at.zd)
    before = 0.0
    for it in range(memory.iterations):
        evaluate_middle(memory, context, h)
        if m > 0:
            rows_of_contacts(context, STATE, t0 + h, m, memory.W)
        # slopes of forces and M change with q_θ: an old factor slows the iteration down before it fails
        renew = it == 0 or it % 4 == 3
        residual(context, AT, t0 + memory.theta * h, renew)
        context.counts[ITERATIONS] += 1
        if renew:
            status = iteration_matrix(context, AT, c_mass, 1.0 / (memory.theta * h))
            if status != DONE:
                return status
        for a in range(ns):
            x[a] = -context.exchange.r[a]
        for a in range(nc):
            x[ns + a] = -context.exchange.gdd[a] / c_mass
        correction(context, AT)
        for a in range(ns):
            memory.v[a] = state.s[a] + c_mass * h * x[a]
        for a in range(nc):
            state.lam[a] -= x[ns + a]
        if m > 0:
            status = velocities_with_impulses(memory, context, m, h, c_mass)
            if status != DONE:
                return status
        size = 0.0
        for a in range(ns):
            each = abs(memory.v[a] - state.s[a])
            if each > size or each != each:
                size = each
            state.s[a] = memory.v[a]
        if not size < 1e30:
            return NOT_FINITE
        speed = largest(state.s)
        if size <= memory.tolerance * speed + SMOOTH or (
            it > 2 and size <= 1e3 * memory.tolerance * speed and size >= 0.5 * before
        ):
            return DONE
        before = size
    return NO_CONVERGENCE


@entry
def step_at(memory, context, same, h, _a, _b):
    """One step through its impacts (theory, section 42)."""
    state, start, at, contact = context.state, context.start, context.at, context.contact
    t0 = context.clock[TIME]
    call(context.calls[CONTACTS], context.records[COMMON], context.records[START], context.records[START], t0, 0.0, 0.0)
    copy(contact.gap, memory.gap)
    for k in range(contact.gap.shape[0]):
        for c in range(3):
            memory.rate[k, c] = contact.rate[k, c]
    m = foreseen(memory, contact, h)
    memory.taking[0] = m
    context.counts[TAKING] = m
    status = solve_step(memory, context, h, m)
    if status != DONE:
        return status
    for a in range(state.s.shape[0]):
        state.d[a] = h * (memory.theta * state.s[a] + (1.0 - memory.theta) * start.s[a])
        context.local[a] = state.d[a]
    displace_by_midpoint(context, STATE, START)
    for a in range(state.s.shape[0]):
        context.local[a] -= state.d[a]  # of a turn hω the midpoint rule takes 2 atan ½hω
    for a in range(state.z.shape[0]):
        state.z[a] = start.z[a] + h * at.zd[a]
    for a in range(3):
        state.w[a] = start.w[a] + h * at.power[a]
    state.w[1] += lost_energy(memory, context)
    copy(at.zd, state.zd)
    copy(state.lam, at.lam)
    # the equations hold at t₀ + θh, in ``at``: the audit evaluates there
    context.clock[HOLDS] = memory.theta
    if state.lam.shape[0] > 0:
        # constraints hold on acceleration level in the step: what they drift by is taken out at its end
        call(context.calls[PROJECT], context.records[COMMON], context.records[STATE], context.records[STATE], t0 + h, 0.0, 0.0)
    for a in range(state.s.shape[0]):
        state.sd[a] = (state.s[a] - start.s[a]) / h
    local_error(memory, context, h)
    return DONE


@part
def local_error(memory, context, h):
    """context.local ← error of the positions: h² (1/12 Δṡ + (θ − ½) ṡ), beside that of the midpoint rule; 1/4 for 1/12 in
    steps with impacts, which change velocities somewhere in their step.
    """
    state, start = context.state, context.start
    strikes = memory.taking[0] > 0 or memory.taken[0] > 0
    share = WITHIN if strikes else SMOOTH_ERROR
    for a in range(state.s.shape[0]):
        context.local[a] += h * h * (share * (state.sd[a] - start.sd[a]) + (memory.theta - 0.5) * state.sd[a])


@part
def lost_energy(memory, context):
    """Energy that the impulses of the step take: −½ p · (W_θ (v + v₀)) (J) (theory, section 49)."""
    lost = 0.0
    for j in range(3 * memory.taking[0]):
        for a in range(context.state.s.shape[0]):
            lost -= 0.5 * memory.problem.x[j] * memory.F[j, a] * (context.state.s[a] + context.start.s[a])
    return lost


@entry
def finish_at(memory, context, same, h, _a, _b):
    """Impulses of the accepted step onto the path, its impacts into the log."""
    state, start, contact = context.state, context.start, context.contact
    t0 = context.clock[TIME] - h
    for b in range(memory.taking[0]):
        k = contact.row[b]
        approach = memory.rate[k, 0]
        if not contact.impulse[k, 0] > 0.0 and memory.problem.x[3 * b] > 0.0 and approach < 0.0:
            cost = 0.0
            for c in range(3):
                for a in range(state.s.shape[0]):
                    cost -= 0.5 * memory.problem.x[3 * b + c] * memory.F[3 * b + c, a] * (state.s[a] + start.s[a])
            t = t0 + min(max(-memory.gap[k] / approach, 0.0), h)
            p = (memory.problem.x[3 * b], memory.problem.x[3 * b + 1], memory.problem.x[3 * b + 2])
            log_impact(memory.log, memory.counts, k, t, p, cost)
    for k in range(contact.impulse.shape[0]):
        contact.mode[k] = OPEN
        for c in range(3):
            contact.impulse[k, c] = 0.0
            contact.force[k, c] = 0.0
    memory.taken[0] = memory.taking[0]
    for b in range(memory.taking[0]):
        if memory.problem.x[3 * b] > 0.0:
            contact.mode[contact.row[b]] = STICKS
        for c in range(3):
            contact.impulse[contact.row[b], c] = memory.problem.x[3 * b + c]
    for k in range(contact.impulse.shape[0]):
        for c in range(3):
            contact.output[k, c] = contact.impulse[k, c] / h
    if memory.counts[LOGGED] + contact.gap.shape[0] > memory.log.shape[0]:
        context.counts[PAUSED] = 1
    return 0

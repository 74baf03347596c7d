"""Time stepping of Moreau and Jean for unilateral contacts with friction and impacts.

Over a step h, with v_θ = θ v + (1 − θ) v₀ and q_θ = q₀ ⊕ θh v_θ, velocities and impulses p of the
contacts obey

    M(q_θ) (v − v₀) = h k(t₀ + θh, q_θ, v_θ) + h Gᵀ λ + W_θᵀ p,   q = q₀ ⊕ h v_θ,   U = W v + w,
    U⁺ = U_free + D p,   D = W (M + θh D_d + θ²h² K)⁻¹ W_θᵀ,

with the rows W of the contacts at the end of the step, the part w of U of bounds that move in time,
the rows W_θ at q_θ and the damping D_d; constraint rows G border the inverse on acceleration level.
A contact takes part if its gap, predicted for half a step, is closed: g₀ + ½ h γ_N ≤ 0. The
impulses p solve the contact problem (`flexmbs.integrators.contact_problem`). Velocities are those
at the end of the step, forces act at q_θ like all others: forces of closed contacts then balance
weights without error of order h. Means over the step, its accelerations, reactions and contact
forces belong to its middle; outputs have those of their own time (`output_at`). For free motions ⊕
is the midpoint rule (Cayley's map): with θ = ½ free flight conserves energy, and momentum if no
weight acts, whatever the spin.

Theory: docs/theory.md, section 42. Moreau (1988), Unilateral contact and dry friction in finite
freedom dynamics; Jean (1999), Comput. Methods Appl. Mech. Eng. 177, 235; Acary and Brogliato,
Numerical Methods for Nonsmooth Dynamical Systems (2008), chapters 10 (time stepping for mechanical
systems) and 13 (frictional contact problem).
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs._jit.address import entry, invoke, seldom_entry
from flexmbs.algebra.small import largest
from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError
from flexmbs.integrators.contact_calls import (
    DIFFERENCE,
    ContactProblem,
    make_problem,
    solve,
    solver_of,
)
from flexmbs.integrators.dense_output import between_linear, part_of_step
from flexmbs.integrators.fast_contacts import (
    begin_impact,
    count_strikes,
    fast_contacts,
    first_closing,
)  # fmt: skip
from flexmbs.integrators.impacts import (
    LOG_WIDTH,
    MOST_LOGGED,
    TOO_MANY,
    ImpactCounts,
    Undecided,
    check_multiple,
    log_impact,
    note_undecided,
    reduction_notes,
    taken_impacts,
    undecided_impacts,
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
from flexmbs.integrators.missed_contacts import RECENT, evaluate_contacts
from flexmbs.integrators.run_context import (
    AT,
    DONE,
    NO_CONVERGENCE,
    NOT_FINITE,
    OPEN,
    SLIPS,
    START,
    STATE,
    STICKS,
    UNSOLVED,
    RunContext,
    call_common,
    copy,
    correction,
    displace,
    displace_by_midpoint,
    implicit_states,
    iteration_matrix,
    residual,
    settle_accelerations,
)  # fmt: skip
from flexmbs.integrators.step_impulses import foreseen, rows_of_contacts, velocities_with_impulses

SMOOTH = 1e-14  # of velocity corrections of order one
SMOOTH_ERROR = 1.0 / 12.0  # of h³ times the third derivative: local error of the positions
# an impact is a change of velocity by this multiple of that due to forces in a step, and by this
# fraction of the velocities
JOLT, FELT = 20.0, 0.05
BESIDE = 1e-6  # of a step, beyond round-off: corners of laws this close to its end count as there
SMALLEST = 1e-300  # least speed of slip (m/s), against division by zero
PASSED_ON = 1e-3  # of the fastest approach: change of velocity of a contact that passes it on
ROUND_OFF = 1e-9  # of the fastest normal velocity of a contact: an approach that is round-off
OF_SLIP = 1e-13  # of the velocity of slip of the contact: likewise
# of a step: its beginning, whose average forces are those at the start, with 1e-3 of their change
# in a step; shorter ones add round-off of velocities over their length
BEGINNING = 1e-3
AT_LIMIT = 1.0 - 1e-12  # of the limit of dry friction: above it the joint slides
AT_CONE = 1.0 - 1e-9  # of μ N, with the tolerance of impulses: above it a contact slips
# of the force of a contact: a larger change from step to step is a transition, and is not continued
# to the time of an output
CONTINUED = 0.5
# of a step: mean distance of an impact from the point at which the method takes it, where
# accelerations jump there and back
WITHIN = 0.25


@checked_arguments
@dataclass(frozen=True)
class MoreauJean(Integrator):
    """Time stepping with a fixed ``step`` (s) through impacts, for rigid contacts.

    Joint limits are rigid contacts too.

    theta: ½ (order 2 where smooth, keeps the energy of linear vibrations) … 1 (damps them). Impacts
    are passed, not located: errors are of order h; the overlap of a contact stays below h times its
    speed of approach. Forces and accelerations of an output are means over its step if that
    contains an impact, impulse/h for contacts. multiple_impacts: law where several contacts act at once, 'simultaneous' (one
    problem with all of them) or 'sequential' (one after the other, the fastest first); None:
    simultaneous, and the audit warns where the other law gives other velocities. impulse_tolerance:
    of the contact problem, relative to its velocities; max_sweeps: of its iterations. Raises
    `InputError` for options outside of their ranges. Source: docs/theory.md, section 42; Jean,
    Comput. Methods Appl. Mech. Eng. 177 (1999) 235.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("block that slides to rest", gravity=(0, 0, -10.0))
    >>> block = model.add(fm.PointMass("block", mass=1.0))
    >>> slide = model.add(fm.Translation("slide", model.ground, block, v0=(2.0, 0, 0)))
    >>> floor = model.add(fm.SpherePlane("floor", model.ground, block, friction=0.4))
    >>> run = fm.simulate(model, t_end=1.0, integrator=fm.MoreauJean(step=0.01))
    >>> round(run.body("block").position[-1, 0].item(), 2)  # v²/(2 μ g)
    0.5
    """

    step: float | None = None
    theta: float = 0.5
    newton_tolerance: float = 1e-10
    max_iterations: int = 50
    impulse_tolerance: float = 1e-13
    max_sweeps: int = 5000
    multiple_impacts: str | None = None

    rtol: None = field(default=None, init=False)
    atol: None = field(default=None, init=False)
    name: ClassVar[str] = "moreau-jean"
    has_reactions: ClassVar[bool] = False
    uses: ClassVar[tuple[str, ...]] = (
        "matrix",
        "correction",
        "displace",
        "contacts",
        "rows",
        "project",
    )
    needs: ClassVar[str] = "residual"
    contacts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.step is None:
            raise InputError(
                "integrator.step: 'moreau-jean' has no control of its steps; give a fixed step (s)"
            )
        check_step("step", self.step)
        if not (is_number(self.theta) and 0.5 <= self.theta <= 1.0):
            raise InputError(f"integrator.theta: {self.theta!r} is not within 0.5 … 1")
        for key in ("newton_tolerance", "impulse_tolerance"):
            check_tolerance(key, getattr(self, key))
        for key in ("max_iterations", "max_sweeps"):
            check_iterations(key, getattr(self, key))
        check_multiple(self.multiple_impacts)

    def memory(self, facts: Facts) -> "Memory":
        """Memory of the method, see `make_memory`."""
        return make_memory(self, facts)

    def begin(self, memory: "Memory", context: RunContext) -> None:
        """Initialize the contacts at the initial state."""
        own, at = int(context.records.memory), int(context.records.context)
        h = float(context.clock.next)
        invoke(begin_at.address(memory, context, context), own, at, at, h)

    @property
    def calls(self) -> MethodCalls:
        return MethodCalls(step_at, finish_at, within_at, jump_at, output_at)

    def impacts(
        self, memory: "Memory"
    ) -> list[tuple[int, float, tuple[float, float, float], float]]:
        """Logged impacts of the run."""
        return taken_impacts(memory.log, memory.counts)

    def undecided(self, memory: "Memory") -> Undecided | None:
        """First impact whose result depends on the order of contacts; None if there is none."""
        return undecided_impacts(memory.counts, memory.undecided, self.multiple_impacts)

    def lifted(self, memory: "Memory") -> tuple[int, float]:
        """Number and largest size of the penetrations that were removed."""
        return memory.counts.lifted, float(memory.lifted[0])

    def notes(self, memory: "Memory") -> list[str]:
        """Notes on steps solved with reduced contact problems."""
        return reduction_notes(memory.counts, "steps")


class Memory(NamedTuple):
    """Memory of the method.

    Options, the contact problem of the active contacts, and impacts not yet collected by Python.
    """

    theta: float
    tolerance: float
    iterations: int
    impulse_tolerance: float
    sweeps: int
    W: np.ndarray  # (3n, ns) rows of velocities, at the end of the step
    F: np.ndarray  # (3n, ns) rows of forces, at q_θ
    Y: np.ndarray  # (3n, ns) velocities of unit impulses
    reaction: np.ndarray  # (3n, nc) multipliers of unit impulses
    problem: ContactProblem  # D = W Y, impulses of the contacts that take part
    solver: np.ndarray  # (1,) int64 address of the solver
    G: np.ndarray  # (3n, 3n) ½ F Y
    moving: np.ndarray  # (3n,) w of U = W v + w at the end of the step
    moving_middle: np.ndarray  # (3n,) the same at q_θ
    # (3n,) ½ F (v + v₀) + w without impulses: the energy that impulses p add is p·(mean + G p)
    mean: np.ndarray
    free: np.ndarray  # (3n,) U without impulses
    v: np.ndarray  # (ns,) velocities of an iterate
    taking: np.ndarray  # (1,) int64 number of active contacts
    taken: np.ndarray  # (1,) int64 number in the previous step, without dry friction
    gap: np.ndarray  # (n,) at the start of the step
    rate: np.ndarray  # (n, 3)
    fast: np.ndarray  # (n,) int64 1: takes no part, its closing is located
    arrives: np.ndarray  # (n,) int64 1: closes at the end of the step, which was located
    strikes: np.ndarray  # (n,) int64 1: strikes in a step of its own
    often: np.ndarray  # (n,) int64 such impacts since the last whole step
    bounds: np.ndarray  # (n,) workspace of `fast_contacts`
    until: np.ndarray  # (n,)
    seen: np.ndarray  # (n, 6) gaps, rates and speeds at two times of the step
    total: np.ndarray  # (n, 3) impulses since the last whole step
    span: np.ndarray  # (1,) time (s) since then
    average: np.ndarray  # (n, 3) forces over this time
    smooth: np.ndarray  # (1,) int64 1: no impact since then
    carries: np.ndarray  # (n,) int64 OPEN, STICKS or SLIPS in the last step
    before: np.ndarray  # (n, 3) forces in the whole step before that
    carried: np.ndarray  # (n,) int64 OPEN, STICKS or SLIPS there
    steady: np.ndarray  # (n,) int64 1: and also before it, without impact or jump of forces
    middles: np.ndarray  # (2,) middle times (s) of both
    given: np.ndarray  # (n, 3) forces at an output
    z: np.ndarray  # (nz,) force states at the end of the last step, before samples taken there
    log: np.ndarray  # (MOST_LOGGED, 6)
    counts: ImpactCounts
    undecided: np.ndarray  # (2,) of `note_undecided`
    lifted: np.ndarray  # (1,) time of the first contact that `lifts_off`


def make_memory(method: MoreauJean, facts: Facts) -> Memory:
    """Allocate the memory of the method for the contacts of a run."""
    n, ns, nc, z = facts.contacts, facts.ns, facts.nc, np.zeros
    problem = make_problem(n, method.multiple_impacts)
    return Memory(
        float(method.theta),
        float(method.newton_tolerance),
        int(method.max_iterations),
        float(method.impulse_tolerance),
        int(method.max_sweeps),
        W=z((3 * n, ns)),
        F=z((3 * n, ns)),
        Y=z((3 * n, ns)),
        reaction=z((3 * n, nc)),
        problem=problem,
        solver=solver_of(problem),
        G=z((3 * n, 3 * n)),
        moving=z(3 * n),
        moving_middle=z(3 * n),
        mean=z(3 * n),
        free=z(3 * n),
        v=z(ns),
        taking=z(1, np.int64),
        taken=z(1, np.int64),
        gap=z(n),
        rate=z((n, 3)),
        fast=z(n, np.int64),
        arrives=z(n, np.int64),
        strikes=z(n, np.int64),
        often=z(n, np.int64),
        bounds=z(n),
        until=z(n),
        seen=z((n, RECENT)),
        total=z((n, 3)),
        span=z(1),
        average=z((n, 3)),
        smooth=z(1, np.int64),
        carries=z(n, np.int64),
        before=z((n, 3)),
        carried=z(n, np.int64),
        steady=z(n, np.int64),
        middles=z(2),
        given=z((n, 3)),
        z=z(facts.nz),
        log=z((MOST_LOGGED, LOG_WIDTH)),
        counts=ImpactCounts(),
        undecided=z(2),
        lifted=z(1),
    )


@part
def evaluate_middle(memory, context, h):
    """``at`` ← positions, velocities and force states at the point θh of the step.

    Its accelerations are (v − v₀)/h.
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
    """Newton's method for the end of a step; contact impulses are solved in each iteration.

    The impulses are those for the velocities that the iteration would reach. K_b has the factors
    1/(θ²h²) of M and 1/(θh) of D_d; a displacement δ changes v by δ/(θ²h). Theory, section 42.
    """
    state, at, x = context.state, context.at, context.exchange.x
    ns, nc = state.s.shape[0], state.lam.shape[0]
    t0 = context.clock.time
    c_mass = 1.0 / (memory.theta * memory.theta * h * h)
    copy(context.start.zd, context.at.zd)
    before = 0.0
    for it in range(memory.iterations):
        evaluate_middle(memory, context, h)
        if m > 0:
            rows_of_contacts(context, STATE, t0 + h, m, memory.W, memory.moving)
        # slopes of forces and M change with q_θ: an old factor slows the iteration down before it
        # fails
        renew = it == 0 or it % 4 == 3
        implicit_states(context, memory.theta * h, context.start.z, 0)
        residual(context, AT, t0 + memory.theta * h, renew)
        implicit_states(context, 0.0, context.start.z, 0)
        context.counts.iterations += 1
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
        change = 0.0
        for a in range(nc):
            change = max(change, abs(state.lam[a] - at.lam[a]))
        if it == 0 and change > memory.tolerance * largest(at.lam):
            # the power of drives is that of λ, which the next evaluation has: it differs from the
            # last step's by impulses in one of them
            continue
        if size <= memory.tolerance * speed + SMOOTH or (
            it > 2 and size <= 1e3 * memory.tolerance * speed and size >= 0.5 * before
        ):
            return DONE
        before = size
    return NO_CONVERGENCE


@part
def end_of_step(memory, context, h):
    """``state`` ← end of a step of length h with the contacts active in it.

    Returns a status (theory, section 42).
    """
    state, start, at, contact = context.state, context.start, context.at, context.contact
    t0 = context.clock.time
    m = foreseen(memory, contact, h, context.clock.fixed)
    memory.taking[0] = m
    context.counts.taking = m
    status = solve_step(memory, context, h, m)
    if status != DONE:
        return status
    for a in range(state.s.shape[0]):
        state.d[a] = h * (memory.theta * state.s[a] + (1.0 - memory.theta) * start.s[a])
        context.local[a] = state.d[a]
    displace_by_midpoint(context, STATE, START)
    for a in range(state.s.shape[0]):
        context.local[a] -= state.d[a]  # the midpoint rule gives 2 atan ½hω of a turn hω
    for a in range(state.z.shape[0]):
        state.z[a] = start.z[a] + h * at.zd[a]
    for a in range(3):
        state.w[a] = start.w[a] + h * at.power[a]
    state.works.loss += lost_energy(memory, context)
    for j in range(3 * m):
        state.works.drives -= memory.problem.x[j] * memory.moving_middle[j]
    copy(at.zd, state.zd)
    copy(state.lam, at.lam)
    # the equations hold at t₀ + θh, in ``at``: the audit evaluates there
    context.clock.holds = memory.theta
    if state.lam.shape[0] > 0:
        # constraints hold on acceleration level in the step: what they drift by is taken out at its
        # end
        call_common(context, context.calls.project, STATE, t0 + h, 0.0)
    for a in range(state.s.shape[0]):
        state.sd[a] = (state.s[a] - start.s[a]) / h
    local_error(memory, context, h)
    return DONE


@part
def keep_start(memory, context):
    """Store gaps and velocities of the contacts at the start of the step.

    Returns a status.
    """
    contact = context.contact
    status = evaluate_contacts(context, START, context.clock.time)
    for k in range(contact.gap.shape[0]):
        memory.gap[k] = contact.gap[k]
        for c in range(3):
            memory.rate[k, c] = contact.rate[k, c]
    return status


@part
def after_impact(context):
    """Restore the multipliers and accelerations of the start after a located impact.

    They are not those of the neighbouring steps.
    """
    state, start = context.state, context.start
    copy(start.lam, state.lam)
    copy(start.sd, state.sd)
    for a in range(context.local.shape[0]):
        context.local[a] = 0.0


@entry
def step_at(memory, context, /, h):
    """Kernel of a Moreau–Jean step, divided at the impacts located within it.

    Or its part up to the first fast contact, or the impact there (theory, section 42).
    """
    status = keep_start(memory, context)
    if status != DONE:
        return status
    fast = fast_contacts(memory, context, h)
    length = begin_impact(memory, context, h)
    often = count_strikes(memory, context)
    if often >= 0:
        context.exchange.status[0], context.exchange.status[1] = often, TOO_MANY
        return UNSOLVED
    status = end_of_step(memory, context, length)
    if status != DONE or fast == 0:
        return status
    if length < h:
        after_impact(context)
    else:
        evaluate_contacts(context, START, context.clock.time)
        length = first_closing(memory, context, h)
        context.clock.holds = -memory.theta  # ``at`` was workspace
        if length < h:
            copy(context.start.y, context.state.y)
            copy(context.start.lam, context.state.lam)
            evaluate_contacts(context, START, context.clock.time)
            status = end_of_step(memory, context, length)
    context.clock.taken = length
    return status


@part
def struck(memory, context):
    """True if active contacts strike in the step."""
    fastest = largest(memory.rate[:, 0])
    for b in range(memory.taking[0]):
        if strikes(memory, context.contact, b, ROUND_OFF * fastest):
            return True
    return jolts(memory, context)


@part
def slips(memory, contact, b):
    """True if active contact b slips in the step: its friction is at the limit."""
    problem, o = memory.problem, 3 * b
    if contact.dry[contact.row[b]] == 1:
        return abs(problem.x[o + 1]) >= AT_LIMIT * problem.held[b]
    friction = math.sqrt(problem.x[o + 1] ** 2 + problem.x[o + 2] ** 2)
    return problem.mu[b] > 0.0 and friction >= AT_CONE * problem.mu[b] * problem.x[o]


@part
def first_forces(memory, context, h):
    """Initial contact forces, multipliers and accelerations.

    Those of the beginning of its first step, of length h, which is solved and undone. If there is
    an impact in it, they exclude the forces of contacts, which close later.
    """
    state, start, contact = context.state, context.start, context.contact
    h *= BEGINNING
    copy(state.y, start.y)
    copy(state.lam, start.lam)
    status = keep_start(memory, context)
    for k in range(memory.fast.shape[0]):
        memory.fast[k] = memory.strikes[k] = 0
    memory.taking[0] = m = foreseen(memory, contact, h, context.clock.fixed)
    context.counts.taking = m
    memory.span[0], memory.smooth[0], memory.middles[0] = 0.0, 1, context.clock.time
    copy(state.z, memory.z)
    if status != DONE or m == 0:
        return status
    solved = solve_step(memory, context, h, m) == DONE and not struck(memory, context)
    for a in range(state.s.shape[0]):
        if solved:
            state.sd[a] = (state.s[a] - start.s[a]) / h
    for b in range(m):
        k = contact.row[b]
        if solved and memory.problem.x[3 * b] > 0.0:
            memory.carries[k] = memory.carried[k] = SLIPS if slips(memory, contact, b) else STICKS
        for c in range(3):
            if solved:
                memory.average[k, c] = memory.problem.x[3 * b + c] / h
                contact.output[k, c] = memory.average[k, c]
    copy(start.y, state.y)
    if not solved:
        copy(start.lam, state.lam)
    return DONE


@seldom_entry
def begin_at(memory, context, /, h):
    """Kernel at the start of a run: initial contact forces."""
    return first_forces(memory, context, h)


@seldom_entry
def jump_at(memory, context, /, t):
    """Kernel at a jump of forces: renews the initial forces after the first samples only.

    Later ones are those of the step before a jump.
    """
    if context.counts.steps > 0:
        return DONE
    status = settle_accelerations(context, STATE, context.state, t, False)
    return first_forces(memory, context, context.clock.next) if status == DONE else status


@part
def unilateral(memory, contact):
    """Number of contacts in the step without those of dry friction."""
    count = 0
    for b in range(memory.taking[0]):
        count += 1 - contact.dry[contact.row[b]]
    return count


@part
def local_error(memory, context, h):
    """context.local ← error h² (1/12 Δṡ + (θ − ½) ṡ) of the positions of the step.

    Relative to the midpoint rule; 1/4 instead of 1/12 in steps with impacts, which change
    velocities somewhere in their step.
    """
    state, start = context.state, context.start
    strikes = unilateral(memory, context.contact) > 0 or memory.taken[0] > 0
    share = WITHIN if strikes else SMOOTH_ERROR
    before = context.clock.time - context.clock.begun
    # velocities that changed within a shorter step before it moved bodies by a part of that step
    # only
    part_of = (before / h) ** 2 if 0.0 < before < h else 1.0
    for a in range(state.s.shape[0]):
        context.local[a] += (
            h
            * h
            * (share * (state.sd[a] - part_of * start.sd[a]) + (memory.theta - 0.5) * state.sd[a])
        )


@part
def lost_energy(memory, context):
    """Energy −p · (½ W_θ (v + v₀) + w) (J) that the impulses of the step dissipate.

    Theory, section 49.
    """
    lost = 0.0
    for j in range(3 * memory.taking[0]):
        lost -= memory.problem.x[j] * memory.moving_middle[j]
        for a in range(context.state.s.shape[0]):
            lost -= (
                0.5
                * memory.problem.x[j]
                * memory.F[j, a]
                * (context.state.s[a] + context.start.s[a])
            )
    return lost


@entry
def within_at(memory, context, /, t):
    """Kernel of dense output: state at time t of the last step, at its fraction θ.

    Impulses that act evenly over the step have dissipated −p · (θ (W_θ v₀ + w) + ½ θ² W_θ (v − v₀))
    by then, since velocities are linear in time.
    """
    x = between_linear(context, t)
    for j in range(3 * memory.taking[0]):
        for a in range(context.state.s.shape[0]):
            change = context.state.s[a] - context.start.s[a]
            context.at.works.loss += (
                0.5 * x * (1.0 - x) * memory.problem.x[j] * memory.F[j, a] * change
            )
    return 0


@part
def impact_cost(memory, context, b):
    """Energy that the impulse of active contact b dissipates (J)."""
    cost = 0.0
    for c in range(3):
        j = 3 * b + c
        cost -= memory.problem.x[j] * memory.moving_middle[j]
        for a in range(context.state.s.shape[0]):
            cost -= (
                0.5
                * memory.problem.x[j]
                * memory.F[j, a]
                * (context.state.s[a] + context.start.s[a])
            )
    return cost


@part
def log_contact(memory, context, b, t):
    """Log an impact of active contact b."""
    p = (memory.problem.x[3 * b], memory.problem.x[3 * b + 1], memory.problem.x[3 * b + 2])
    log_impact(
        memory.log, memory.counts, context.contact.row[b], t, p, impact_cost(memory, context, b)
    )


@part
def change_by_forces(memory, contact):
    """Largest change of a velocity of the active contacts by the forces of the step."""
    forced = 0.0
    for i in range(3 * memory.taking[0]):
        if memory.problem.held[i // 3] > 0.0:
            continue  # dry friction is no impact
        forced = max(forced, abs(memory.free[i] - memory.rate[contact.row[i // 3], i % 3]))
    return forced


@part
def strikes(memory, contact, b, round_off):
    """True if active contact b closes in the step, faster than by round-off."""
    k = contact.row[b]
    slip = max(abs(memory.rate[k, 1]), abs(memory.rate[k, 2]))
    return (
        not contact.impulse[k, 0] > 0.0
        and memory.problem.x[3 * b] > 0.0
        and memory.rate[k, 0] < -max(round_off, OF_SLIP * slip)
    )


@part
def strike_time(memory, k, t0, h):
    """Time within the step of length h from t₀ at which contact k, which approaches, closes."""
    return t0 + min(max(-memory.gap[k] / memory.rate[k, 0], 0.0), h)


@part
def passes_on(memory, contact, b, least):
    """True if active contact b, which does not close itself, transmits an impact of others.

    Its impulse grows by more than alone would change its normal velocity by ``least`` (m/s).
    """
    problem = memory.problem
    growth = problem.x[3 * b] - contact.impulse[contact.row[b], 0]
    return problem.held[b] == 0.0 and growth * problem.D[3 * b, 3 * b] > least


@part
def lifts_off(memory, contact, b):
    """True if active contact b lifts off as it slides although Coulomb's law has a second solution.

    It does not separate at the start, and forces press it the more, the more it resists, D_NN − μ
    D_NT · t < 0, so that it might jam instead.
    """
    problem, k, o = memory.problem, contact.row[b], 3 * b
    u, v = memory.rate[k, 1], memory.rate[k, 2]
    speed = math.sqrt(u * u + v * v)
    if problem.x[o] > 0.0 or problem.held[b] > 0.0 or memory.rate[k, 0] > ROUND_OFF * speed:
        return False
    along = (problem.D[o, o + 1] * u + problem.D[o, o + 2] * v) / max(speed, SMALLEST)
    return speed > 0.0 and problem.D[o, o] - problem.mu[b] * along < 0.0


@part
def jolts(memory, context):
    """True if impulses change velocities of contacts far more than the forces of the step do.

    This is an impact without collision.
    """
    problem, contact = memory.problem, context.contact
    m = memory.taking[0]
    forced, change, speed = change_by_forces(memory, contact), 0.0, 0.0
    for i in range(3 * m):
        if problem.held[i // 3] > 0.0:
            continue  # dry friction is no impact
        jump = 0.0
        for j in range(3 * m):
            jump += problem.D[i, j] * problem.x[j]
        rate = memory.rate[contact.row[i // 3], i % 3]
        change, speed = max(change, abs(jump)), max(speed, abs(rate))
    return change > max(JOLT * forced, FELT * speed)


@part
def log_impacts(memory, context, t0, h):
    """Log the impacts of the accepted step from t₀.

    Simultaneous impacts are compared by both laws.
    """
    contact = context.contact
    hard, when, fastest, falls = 0.0, t0, 0.0, False
    for k in range(memory.rate.shape[0]):
        fastest = max(fastest, abs(memory.rate[k, 0]))
    for b in range(memory.taking[0]):
        k = contact.row[b]
        approach = memory.rate[k, 0]
        if strikes(memory, contact, b, ROUND_OFF * fastest):
            falls = falls or -approach > h * contact.weight[k]
            if -approach > hard:
                hard, when = -approach, strike_time(memory, k, t0, h)
    least = max(PASSED_ON * hard, change_by_forces(memory, contact))
    for b in range(memory.taking[0]):
        if strikes(memory, contact, b, ROUND_OFF * fastest):
            log_contact(memory, context, b, strike_time(memory, contact.row[b], t0, h))
        elif hard > 0.0 and passes_on(memory, contact, b, least):
            log_contact(memory, context, b, when)
    if falls and memory.taking[0] > 1:
        solve(
            memory.solver[0],
            memory.problem,
            DIFFERENCE,
            memory.taking[0],
            memory.impulse_tolerance,
            memory.sweeps,
        )
        note_undecided(memory.counts, memory.undecided, t0, memory.problem.spread[0], hard)
    for b in range(memory.taking[0]):
        if lifts_off(memory, contact, b):
            memory.lifted[0] = t0 if memory.counts.lifted == 0 else memory.lifted[0]
            memory.counts.lifted += 1
    if hard == 0.0 and memory.taking[0] > 0 and jolts(memory, context):
        for b in range(memory.taking[0]):
            if memory.problem.x[3 * b] > 0.0 and memory.problem.held[b] == 0.0:
                log_contact(memory, context, b, t0)


@part
def differ(values, others):
    """True if a value of two arrays of the same length differs."""
    found = False
    for a in range(values.shape[0]):
        found = found or values[a] != others[a]
    return found


@part
def keep_forces(memory, context, fresh):
    """Keep the forces of the contacts in the last whole step when the next one is accepted.

    fresh: a whole step begins with the accepted one, else it is a further part.
    """
    impact = memory.taking[0] > 0 and struck(memory, context)
    if fresh:
        # samples and inputs at the start of this step make forces jump
        jump = differ(context.start.z, memory.z)
        memory.middles[1] = memory.middles[0]
        for k in range(memory.carries.shape[0]):
            now, then = memory.carries[k], memory.carried[k]
            # friction in a step in which slip ends is the mean of both, that at its limit is not
            same = now == then or (now == SLIPS and then == STICKS)
            memory.steady[k] = 1 if same and memory.smooth[0] == 1 and not jump else 0
            memory.carried[k] = now
            for c in range(3):
                memory.before[k, c] = memory.average[k, c]
    memory.smooth[0] = 1 if not impact and (fresh or memory.smooth[0] == 1) else 0


@entry
def finish_at(memory, context, /, h):
    """Store the impulses of the accepted step in the path variables, its impacts in the log."""
    contact = context.contact
    fresh = context.clock.next >= context.clock.fixed * (1.0 - 1e-9)
    keep_forces(memory, context, fresh)
    log_impacts(memory, context, context.clock.time - h, h)
    for k in range(contact.impulse.shape[0]):
        contact.mode[k] = memory.carries[k] = OPEN
        for c in range(3):
            contact.impulse[k, c] = 0.0
            contact.force[k, c] = 0.0
    memory.span[0] = h + (0.0 if fresh else memory.span[0])
    memory.middles[0] = context.clock.time - 0.5 * memory.span[0]
    copy(context.state.z, memory.z)
    memory.taken[0] = unilateral(memory, contact)
    for b in range(memory.taking[0]):
        k = contact.row[b]
        if memory.problem.x[3 * b] > 0.0:
            memory.carries[k] = SLIPS if slips(memory, contact, b) else STICKS
            # friction without jump of its limit depends on the mode of dry friction alone
            contact.mode[k] = memory.carries[k] if contact.dry[k] == 1 else STICKS
        for c in range(3):
            contact.impulse[k, c] = memory.problem.x[3 * b + c]
    for k in range(contact.impulse.shape[0]):
        for c in range(3):
            memory.total[k, c] = contact.impulse[k, c] + (0.0 if fresh else memory.total[k, c])
            memory.average[k, c] = memory.total[k, c] / memory.span[0]
            contact.output[k, c] = memory.average[k, c]
    if memory.counts.logged + contact.gap.shape[0] > memory.log.shape[0]:
        context.counts.paused = 1
    return 0


@part
def continued(memory, contact, k, share):
    """memory.given[k] ← force of contact k, from its averages f over this and the last step.

    f + (f − f_before) ``share``, of second order, where the contact stays closed and keeps sticking
    or slipping; f elsewhere. Friction where it slips keeps its direction, which is that of the end
    of the step.
    """
    f, before, given = memory.average[k], memory.before[k], memory.given[k]
    for c in range(3):
        given[c] = f[c]
    change = f[0] - before[0]
    same = memory.carries[k] != OPEN and memory.carries[k] == memory.carried[k]
    if not same or memory.steady[k] == 0 or abs(change) > CONTINUED * f[0]:
        return
    given[0] += share * change
    # the limit of dry friction is its normal force
    limit = given[0] * (1.0 if contact.dry[k] == 1 else contact.mu[k])
    if memory.carries[k] == STICKS:
        given[1] += share * (f[1] - before[1])
        given[2] += share * (f[2] - before[2])
    friction = math.sqrt(given[1] ** 2 + given[2] ** 2)
    if friction > limit or memory.carries[k] == SLIPS:
        given[1] *= limit / friction
        given[2] *= limit / friction


@part
def forces_jump(memory, context):
    """True if forces may jump in the last two steps or at their end, while contacts carry forces.

    At samples of controllers, new inputs and corners of laws: contact forces do not show there yet.
    """
    clock, closed = context.clock, False
    for k in range(memory.carries.shape[0]):
        closed = closed or memory.carries[k] != OPEN or memory.carried[k] != OPEN
    jump = differ(context.state.z, memory.z)
    since, until = memory.middles[1] - clock.taken, clock.time + BESIDE * clock.taken
    for k in range(context.corners.shape[0] - 1):  # the last one is the end of the run
        jump = jump or since < context.corners[k] <= until
    return closed and jump


@entry
def output_at(memory, context, /, t):
    """Kernel of an output at time t of the last step: its forces of contacts, ṡ and λ in ``at``.

    The averages of the step are those of its middle. Those at t follow from the equations there, by
    one correction with the iteration matrix of a step, which keeps vibrations out that steps do not
    resolve. After impacts, and with closed contacts after jumps of forces, the averages remain
    (theory, section 42).
    """
    at, contact, x = context.at, context.contact, context.exchange.x
    if memory.span[0] == 0.0:
        return DONE  # no step since the start
    ns, n = at.s.shape[0], contact.force.shape[0]
    for k in range(n):
        for c in range(3):
            contact.output[k, c] = memory.average[k, c]
    if memory.smooth[0] == 0 or forces_jump(memory, context):
        return DONE
    _, h = part_of_step(context, t)
    between = memory.middles[0] - memory.middles[1]
    share = (t - memory.middles[0]) / between if between > 0.0 else 0.0
    for k in range(n):
        continued(memory, contact, k, share)
        for c in range(3):
            contact.force[k, c] = memory.given[k, c] if contact.rigid[k] == 1 else 0.0
    c_mass = 1.0 / (memory.theta * memory.theta * h * h)
    residual(context, AT, t, True)
    status = iteration_matrix(context, AT, c_mass, 1.0 / (memory.theta * h))
    for k in range(n):
        for c in range(3):
            contact.force[k, c] = 0.0
    if status != DONE:
        return DONE
    for a in range(ns):
        x[a] = -context.exchange.r[a]
    for a in range(at.lam.shape[0]):
        x[ns + a] = -context.exchange.gdd[a] / c_mass
    correction(context, AT)
    for a in range(ns):
        at.sd[a] += c_mass * x[a]
    for a in range(at.lam.shape[0]):
        at.lam[a] -= x[ns + a]
    for k in range(n):
        for c in range(3):
            contact.output[k, c] = memory.given[k, c]
    return DONE

"""Integration from event to event for models with few rigid contacts.

Impacts are located and solved; closed contacts hold. Between events the equations of motion are
integrated by Dormand and Prince's method, with forces of the closed contacts for which their
accelerations obey

    0 ≤ A_N ⊥ N ≥ 0;   T = −μ N γ_T/|γ_T| where they slip,   |T| ≤ μ N with A_T = 0 where they stick,

each with the terms of `flexmbs.integrators.closed_contacts` that damp errors of gaps and
velocities. A gap that closes is an impact: U⁺ = U⁻ + D p with U_N⁺ = −e U_N⁻ and Coulomb's law of
impulses.

Theory: docs/theory.md, section 43. Pfeiffer and Glocker, Multibody Dynamics with Unilateral
Contacts (1996), the chapters on stick-slip transitions and on impacts; Acary and Brogliato,
Numerical Methods for Nonsmooth Dynamical Systems (2008), chapter 8 (event-driven schemes); Hairer,
Nørsett and Wanner, Solving Ordinary Differential Equations I (1993), section II.6.
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs._jit.address import entry, invoke, seldom_entry
from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError
from flexmbs.integrators import dormand_prince as dp
from flexmbs.integrators.closed_contacts import (
    EXACT,
    SWEEPS,
    Closed,
    held_forces,
    make_closed,
    no_forces,
    solve_impact,
)  # fmt: skip
from flexmbs.integrators.contact_calls import DIFFERENCE, solve
from flexmbs.integrators.contact_events import UNDEFINED, first_event, state_in_step
from flexmbs.integrators.contact_problem import NO_SOLUTION
from flexmbs.integrators.dense_output import part_of_step
from flexmbs.integrators.impacts import (
    LOG_WIDTH,
    MOST_LOGGED,
    TOO_MANY,
    ImpactCounts,
    ImpactRow,
    Undecided,
    check_multiple,
    log_impact,
    note_undecided,
    reduction_notes,
    taken_impacts,
    undecided_impacts,
)  # fmt: skip
from flexmbs.integrators.integrator import (
    Facts,
    Integrator,
    MethodCalls,
    check_tolerances,
    is_number,
)
from flexmbs.integrators.missed_contacts import evaluate_contacts
from flexmbs.integrators.run_context import (
    AT,
    DONE,
    INDEFINITE,
    NOT_FINITE,
    OPEN,
    SLIPPING,
    SLIPS,
    STATE,
    STICKS,
    UNSOLVED,
    Control,
    RunContext,
    copy,
    derivative,
)  # fmt: skip

TOUCHING = 1e-9  # of the size of the model, or rad: smaller gaps are closed
CROWD, CROWDED = (
    500,
    1e-5,
)  # so many impacts within so short a time (s, relative beyond 1 s) would never end
LATER = 1e-6  # s
SETTLING = 1e-6  # m/s or rad/s, if none is given: a ball that rises 5e-14 m rests
# of the fastest approach; rebounds of a height of 1e-14 of the first fall are round-off in any unit
OF_FASTEST = 1e-7
JAMMED = 1e-9  # s, beside the time: a step without forces that is not shortened
REJECTED_ERROR = 1e4  # over the tolerance, in place of an error: a fifth of the step


@checked_arguments
@dataclass(frozen=True)
class EventDriven(Integrator):
    """Error-controlled steps of order 5 between located impacts, for few contacts.

    With ``rtol`` and ``atol``.

    settling: speed of approach (m/s or rad/s) below which a contact closes without rebound: so
    infinitely many impacts in a finite time are passed; of a bouncing ball it neglects a time of 2
    settling/(g (1 − e)). None: 1e-7 of the fastest approach of this contact so far, at least 1e-6,
    so that a model in millimetres comes to rest as in metres. multiple_impacts: law where several
    contacts act at once, 'simultaneous' (one problem with all of them) or 'sequential' (one after
    the other, the fastest first); None: simultaneous, and the audit warns where the other law gives
    other velocities. Raises `InputError` for options outside of their ranges. Source: docs/theory.md, section 43; Pfeiffer
    and Glocker, Multibody Dynamics with Unilateral Contacts (1996).

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("bouncing ball", gravity=(0, 0, -8.0))
    >>> ball = model.add(fm.PointMass("ball", mass=0.1))
    >>> flight = model.add(fm.Translation("flight", model.ground, ball, q0=(0, 0, 1.0)))
    >>> floor = model.add(fm.SpherePlane("floor", model.ground, ball, restitution=0.5))
    >>> run = fm.simulate(model, t_end=1.6, integrator=fm.EventDriven(rtol=1e-10))
    >>> [round(impact.t, 4) for impact in run.run.impacts[:3]]  # each flight lasts half as long
    [0.5, 1.0, 1.25]
    """

    rtol: float = 1e-9
    atol: float = 1e-11
    settling: float | None = None
    multiple_impacts: str | None = None

    step: None = field(default=None, init=False)
    name: ClassVar[str] = "event-driven"
    has_reactions: ClassVar[bool] = False
    control: ClassVar[Control] = Control(0.2)
    evaluated: ClassVar[bool] = True
    uses: ClassVar[tuple[str, ...]] = ("derivative", "contacts", "rows")
    needs: ClassVar[str] = "accelerations"
    stabilizations: ClassVar[tuple[str, ...]] = ("none", "baumgarte", "projection")
    contacts: ClassVar[bool] = True
    sees_contacts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_tolerances(self.rtol, self.atol)
        if self.settling is not None and not (is_number(self.settling) and self.settling > 0.0):
            raise InputError(
                f"integrator.settling: {self.settling!r} is not positive; give a speed "
                "(m/s or rad/s)"
            )
        check_multiple(self.multiple_impacts)

    def memory(self, facts: Facts) -> "Memory":
        """Memory of the method: tableau of Dormand–Prince, stages, contact states, impact log."""
        n, ny, z = facts.contacts, facts.nq + facts.ns + facts.nz + 3, np.zeros
        least, share = (SETTLING, OF_FASTEST) if self.settling is None else (self.settling, 0.0)
        return Memory(
            dp.A,
            dp.C,
            dp.ERROR_WEIGHTS,
            dp.DENSE,
            np.array([self.rtol, self.atol, least, share]),
            z(n),
            z((dp.STAGES, ny)),
            z(n, np.int64),
            z((n, 2)),
            z(n, np.int64),
            z(n, np.int64),
            z(n),
            z(n),
            z(n),
            z(n),
            z(CROWD),
            z(1, np.int64),
            z(1),
            make_closed(n, facts.ns, facts.nc, ny, self.multiple_impacts),
            z((MOST_LOGGED, LOG_WIDTH)),
            ImpactCounts(),
            z(2),
            z(2),
        )

    def begin(self, memory: "Memory", context: RunContext) -> None:
        """Resolve impacts and contacts at the initial state without counting their work."""
        own, at, works = (
            int(context.records.memory),
            int(context.records.context),
            context.state.w.copy(),
        )
        invoke(finish_at.address(memory, context, context), own, at, at, 0.0, 1.0)
        context.state.w[:] = works  # works are counted from the state after an impact at the start

    @property
    def calls(self) -> MethodCalls:
        return MethodCalls(step_at, finish_at, within_at)

    def impacts(self, memory: "Memory") -> list[ImpactRow]:
        """Logged impacts of the run."""
        return taken_impacts(memory.log, memory.counts)

    def undecided(self, memory: "Memory") -> Undecided | None:
        """First impact whose result depends on the order of contacts; None if there is none."""
        return undecided_impacts(memory.counts, memory.undecided, self.multiple_impacts)

    def notes(self, memory: "Memory") -> list[str]:
        """Notes on impacts solved with reduced contact problems."""
        return reduction_notes(memory.counts, "impacts")


class Memory(NamedTuple):
    """Memory of the method.

    Coefficients and options, slopes of the last step, modes of the contacts in it, events at its
    end.
    """

    tableau: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray
    dense: np.ndarray
    # (4,) rtol, atol, settling speed, its least share of the fastest approach
    control: np.ndarray
    fastest: np.ndarray  # (n,) largest speed of approach (m/s or rad/s) of each contact so far
    k: np.ndarray  # (STAGES, n)
    mode: np.ndarray  # (n,) int64 in the last step
    slip: np.ndarray  # (n, 2)
    struck: np.ndarray  # (n,) int64 contacts that strike at the end of the step
    turned: np.ndarray  # (n,) int64 contacts whose slip turns back there
    first: np.ndarray  # (n,) values of a state function at two times
    last: np.ndarray
    until: np.ndarray  # (n,) fraction of the step at which a contact was found closed, else −1
    # (n,) gap at the start of the step of contacts that part there below zero, else 0
    sunk: np.ndarray
    recent: np.ndarray  # (CROWD,) times of the last impacts
    crowd: np.ndarray  # (1,) int64 number of impacts so far
    whole: np.ndarray  # (1,) length of the step before an event cut it short
    closed: Closed
    log: np.ndarray
    counts: ImpactCounts
    undecided: np.ndarray  # (2,) of `note_undecided`
    singular: np.ndarray  # (2,) distance from a singular position, its rate


@part
def derivative_with_forces(memory, context, t, mode, slip):
    """ẏ of ``state`` with the forces (N) of the closed contacts; returns a status.

    The forces are left in contact.force.
    """
    contact, closed, state = context.contact, memory.closed, context.state
    m = 0
    for k in range(mode.shape[0]):
        if mode[k] != OPEN:
            contact.row[m] = k
            m += 1
    if m == 0:
        no_forces(contact)
        return INDEFINITE if derivative(context, STATE, t) < 0 else DONE
    status = held_forces(context, closed, t, m, mode, slip)
    if status != DONE:
        return status
    lost = driven = 0.0
    for b in range(m):
        for c in range(3):
            force = closed.problem.x[3 * b + c]
            contact.force[contact.row[b], c] = force
            lost -= force * closed.before[b, c]
            driven -= force * contact.moving[contact.row[b], c]
    if derivative(context, STATE, t) < 0:
        return INDEFINITE
    # contact forces are not applied forces: their work counts as loss
    state.powers.loss += lost
    state.powers.drives += driven
    return DONE


@part
def jams(context, status):
    """True if the status says that no forces keep a contact closed (Painlevé's paradox)."""
    return status == UNSOLVED and context.exchange.status[1] == NO_SOLUTION


@part
def shorter_or_impact(memory, context, h):
    """Reject a step for which no contact forces exist; try a shorter one or an impact.

    The shortest ends at its start, where the contact strikes without collision (theory, section
    43). Returns a status.
    """
    clock, state = context.clock, context.state
    if h > JAMMED * (1.0 + clock.time):
        clock.error = REJECTED_ERROR
        return DONE
    copy(context.start.y, state.y)
    copy(context.start.yd, state.yd)
    for k in range(memory.struck.shape[0]):
        memory.struck[k] = memory.turned[k] = 0
    k = context.exchange.status[0]
    memory.struck[k] = memory.closed.presses[k] = 1
    for j in range(memory.k.shape[0]):
        for i in range(memory.k.shape[1]):
            memory.k[j, i] = 0.0
    for a in range(context.local.shape[0]):
        context.local[a] = 0.0
    memory.whole[0] = h
    return DONE


@entry
def step_at(memory, context, /, h):
    """Kernel of a step that ends at its end or at the first contact event in it."""
    state, start, clock, contact = context.state, context.start, context.clock, context.contact
    t = clock.time
    h = dp.straddling(h, memory.singular[0], memory.singular[1])
    clock.taken = h
    independent = 1.0
    for k in range(memory.mode.shape[0]):
        memory.mode[k] = contact.mode[k]
        memory.slip[k, 0] = contact.slip[k, 0]
        memory.slip[k, 1] = contact.slip[k, 1]
    for j in range(dp.STAGES):
        dp.stage(memory.tableau, j, h, start.y, memory.k, state.y)
        status = derivative_with_forces(
            memory, context, t + memory.nodes[j] * h, memory.mode, memory.slip
        )
        if jams(context, status):
            return shorter_or_impact(memory, context, h)
        if status != DONE:
            return status
        copy(state.yd, memory.k[j])
        independent = min(independent, context.exchange.gauge.independent)
    dp.stage(memory.tableau, dp.STAGES - 1, h, start.y, memory.k, state.y)
    error = dp.error_norm(memory, context, h, memory.control[1] + dp.NOISE / independent)
    clock.error = error
    dp.local_error(memory.weights, h, memory.k, start.q.shape[0], context.local)
    if not error <= 1.0:
        return DONE
    memory.whole[0] = h
    until = first_event(memory, context, h)
    if until == UNDEFINED:
        return NOT_FINITE
    if until < 1.0:
        clock.taken = until * h
        state_in_step(memory, context, until, h)
        copy(context.at.y, state.y)
        derivative_with_forces(memory, context, t + until * h, memory.mode, memory.slip)
    return DONE


@part
def touches(memory, context, k):
    """True if contact k is open, its gap closed up to round-off, and it does not separate.

    Gaps and velocities must be up to date.
    """
    contact = context.contact
    near = (
        contact.gap[k] <= TOUCHING * contact.length[k]
        and contact.rate[k, 0] <= memory.control[2]
        and contact.dry[k] == 0
    )
    return near and contact.outside[k] == 0.0 and contact.rigid[k] == 1 and contact.mode[k] == OPEN


@part
def set_mode(contact, k, parts, u, v):
    """Mode of contact k: open if it ``parts``, else sticking or slipping.

    (u, v): slip velocity (m/s).
    """
    speed = math.sqrt(u * u + v * v)
    contact.mode[k] = OPEN if parts else SLIPS if speed > SLIPPING else STICKS
    if contact.mode[k] == SLIPS:
        contact.slip[k, 0] = u / speed
        contact.slip[k, 1] = v / speed


@part
def note_event(memory, t):
    """Record an event among the last `CROWD`."""
    memory.recent[memory.crowd[0] % CROWD] = t
    memory.crowd[0] += 1


@part
def crowded(memory, context, k, t):
    """True if the last `CROWD` events have no time between them.

    The present event is that of contact k.
    """
    if memory.crowd[0] < CROWD or t - memory.recent[memory.crowd[0] % CROWD] >= CROWDED * (1.0 + t):
        return False
    context.exchange.status[0] = k
    context.exchange.status[1] = TOO_MANY
    return True


@part
def pressed_contact(memory, m, contact):
    """Index among the m contacts of an impact of one marked as pressing; −1 if there is none.

    Its mark is removed.
    """
    found = -1
    for b in range(m):
        found = b if memory.closed.presses[contact.row[b]] == 1 else found
        memory.closed.presses[contact.row[b]] = 0
    return found


@part
def without_collision(closed, m):
    """True if none of the m contacts of an impact approaches."""
    approaches = False
    for b in range(m):
        approaches = approaches or closed.before[b, 0] < -closed.settling[b]
    return not approaches


@part
def jolts(closed, b, after):
    """True if the impact changes a velocity of contact b noticeably.

    after: its velocities after the impact.
    """
    change = 0.0
    for c in range(3):
        change = max(change, abs(after[c] - closed.before[b, c]))
    return change > closed.settling[b]


@part
def velocity_after(closed, m, b, c):
    """Velocity component c of contact b after an impact of m contacts."""
    after = closed.before[b, c]
    for j in range(3 * m):
        after += closed.problem.D[3 * b + c, j] * closed.problem.x[j]
    return after


@part
def velocities_after(closed, m, b):
    """Normal and both tangential velocities of contact b after the impact of m contacts."""
    return (
        velocity_after(closed, m, b, 0),
        velocity_after(closed, m, b, 1),
        velocity_after(closed, m, b, 2),
    )


@part
def energy_lost(closed, b, after):
    """Energy −½ p · (U⁻ + U⁺) (J) of contact b in the impact.

    after: its velocities after the impact.
    """
    lost = 0.0
    for c in range(3):
        lost -= 0.5 * closed.problem.x[3 * b + c] * (closed.before[b, c] + after[c])
    return lost


@part
def log_struck(memory, contact, t, m):
    """Log the contacts of an impact whose impulse alone would change their normal velocity.

    Those of the m contacts that strike, and those that transmit the impact.
    """
    closed = memory.closed
    p = closed.problem.x
    for b in range(m):
        if p[3 * b] * closed.problem.D[3 * b, 3 * b] > closed.settling[b]:
            u = velocities_after(closed, m, b)
            impulse = (p[3 * b], p[3 * b + 1], p[3 * b + 2])
            log_impact(
                memory.log, memory.counts, contact.row[b], t, impulse, energy_lost(closed, b, u)
            )


@part
def compare_laws(memory, t, m):
    """Note a simultaneous impact whose velocities depend on the law for such impacts."""
    closed = memory.closed
    speed = 0.0
    for b in range(m):
        speed = max(speed, -closed.before[b, 0])
    solve(closed.solver[0], closed.problem, DIFFERENCE, m, EXACT, SWEEPS)
    note_undecided(memory.counts, memory.undecided, t, closed.problem.spread[0], speed)


@part
def collide(memory, context, t):
    """Resolve the impact of the contacts that struck; further ones follow if contacts jam.

    If no forces keep a contact closed after it, another impact without collision follows. Returns a
    status.
    """
    status = strike(memory, context, t)
    for _ in range(memory.mode.shape[0] + 1):
        if status != DONE:
            return status
        status = shortened(
            memory, context, t
        )  # includes the forces of the contacts that stay closed
        if not jams(context, status):
            return status
        memory.closed.presses[context.exchange.status[0]] = 1
        status = strike(memory, context, t)
    return status


@part
def strike(memory, context, t):
    """Compute and apply the impulses of an impact with all closed contacts: s ← s + Y p.

    They separate or stay closed. Returns a status.
    """
    state, contact, closed = context.state, context.contact, memory.closed
    evaluate_contacts(context, STATE, t)
    m = 0
    for k in range(memory.struck.shape[0]):
        # dry friction is finite and does not affect an impact
        if contact.dry[k] == 0 and (
            memory.struck[k] == 1 or contact.mode[k] != OPEN or touches(memory, context, k)
        ):
            contact.row[m] = k
            closed.settling[m] = max(memory.control[2], memory.control[3] * memory.fastest[k])
            m += 1
    if m == 0:
        return DONE
    status = solve_impact(context, closed, memory.counts, t, m)
    pressed = pressed_contact(memory, m, contact)
    if status != DONE:
        return status
    if pressed >= 0 and not closed.problem.x[3 * pressed] > 0.0:
        context.exchange.status[0], context.exchange.status[1] = contact.row[pressed], NO_SOLUTION
        return UNSOLVED
    hard = False
    without = without_collision(closed, m)
    for b in range(m):
        k = contact.row[b]
        memory.fastest[k] = max(memory.fastest[k], -closed.before[b, 0])
        u = velocities_after(closed, m, b)
        for c in range(3):
            state.works.drives -= closed.problem.x[3 * b + c] * contact.moving[k, c]
        state.works.loss += energy_lost(closed, b, u)
        strikes = closed.before[b, 0] < -closed.settling[b] or (without and jolts(closed, b, u))
        if strikes and closed.problem.x[3 * b] > 0.0:
            hard = True
            note_event(memory, t)
        set_mode(contact, k, u[0] > 0.5 * closed.settling[b], u[1], u[2])
    if hard:
        log_struck(memory, contact, t, m)
    if hard and m > 1:
        compare_laws(memory, t, m)
    for j in range(3 * m):
        for i in range(state.s.shape[0]):
            state.s[i] += closed.Y[j, i] * closed.problem.x[j]
        for a in range(state.lam.shape[0]):
            state.works.drives += (
                closed.problem.x[j] * closed.reaction[j, a] * context.exchange.drive_rate[a]
            )
    if memory.counts.logged + memory.mode.shape[0] > memory.log.shape[0]:
        context.counts.paused = 1
    if not hard:  # without impulse it still counts as an event
        note_event(memory, t)
    if crowded(memory, context, contact.row[0], t):
        return UNSOLVED
    return DONE


@part
def shortened(memory, context, t):
    """Limit the next step to the expected duration of flights that begin after an impact.

    Gaps are then evaluated before they close again.
    """
    state, at, contact = context.state, context.at, context.contact
    status = derivative_with_forces(memory, context, t, contact.mode, contact.slip)
    if status != DONE:
        return status
    evaluate_contacts(context, STATE, t)
    for k in range(contact.mode.shape[0]):
        memory.first[k] = contact.rate[k, 0]
    for i in range(state.y.shape[0]):
        at.y[i] = state.y[i] + LATER * state.yd[i]
    evaluate_contacts(context, AT, t + LATER)
    for k in range(contact.mode.shape[0]):
        if contact.rigid[k] == 1 and contact.mode[k] == OPEN:
            u = memory.first[k]
            fall = (contact.rate[k, 0] - u) / LATER
            near = TOUCHING * contact.length[k] + LATER * (abs(u) + contact.length[k])
            if fall < 0.0 < u and contact.gap[k] <= near:
                # 2 u/fall is the duration of the flight
                context.clock.next = min(context.clock.next, -2.2 * u / fall)
    return DONE


@part
def change_modes(memory, context, t):
    """Update contact modes: open where contacts separate; slip or stick elsewhere.

    The direction of slip is that at the start of the step: over many steps slip may turn by any
    angle.
    """
    contact = context.contact
    shut = False
    for k in range(contact.mode.shape[0]):
        shut = shut or contact.mode[k] != OPEN or contact.dry[k] == 1
    if not shut:
        return
    evaluate_contacts(context, STATE, t)
    for k in range(contact.mode.shape[0]):
        if contact.mode[k] == OPEN and contact.dry[k] == 0:
            continue
        if contact.dry[k] == 1 and memory.turned[k] == 1 and memory.mode[k] == STICKS:
            # it broke away: the event is the slip rate, reached up to round-off
            contact.mode[k] = SLIPS
            contact.slip[k, 0] = 1.0 if contact.rate[k, 1] > 0.0 else -1.0
            contact.slip[k, 1] = 0.0
            continue
        # a contact with a force must not open because of round-off in its velocity
        if (contact.rate[k, 0] > 1e-9 and contact.force[k, 0] <= 0.0) or contact.outside[k] != 0.0:
            contact.mode[k] = OPEN
        else:
            set_mode(contact, k, False, contact.rate[k, 1], contact.rate[k, 2])


@part
def change_dry_modes(context, t):
    """Set slip or stick of dry friction at a start by the coordinate rates."""
    contact = context.contact
    evaluate_contacts(context, STATE, t)
    for k in range(contact.mode.shape[0]):
        if contact.dry[k] == 1:
            set_mode(contact, k, False, contact.rate[k, 1], 0.0)


@seldom_entry
def finish_at(memory, context, /, h, start):
    """Kernel after an accepted step: resolve impacts, set contact modes of the next step.

    start: not 0 at the start of the run, where contacts that touch strike or stay closed.
    """
    t = context.clock.time
    if start != 0.0:
        for k in range(memory.struck.shape[0]):
            memory.struck[k] = 0
            memory.turned[k] = 0
        status = collide(memory, context, t)
        if status == DONE:
            change_dry_modes(context, t)
        return status
    dp.approach(memory, context, h)
    hit = False
    turned = -1
    for k in range(memory.struck.shape[0]):
        hit = hit or memory.struck[k] == 1
        turned = k if memory.turned[k] == 1 else turned
    status = DONE
    if hit:
        status = collide(memory, context, t)
    elif turned >= 0:
        note_event(memory, t)
        if crowded(memory, context, turned, t):
            return UNSOLVED
    if status == DONE:
        change_modes(memory, context, t)
    return status


@entry
def within_at(memory, context, /, t):
    """Kernel of dense output: state at time t of the last step with its contact forces."""
    contact, state, at = context.contact, context.state, context.at
    x, _ = part_of_step(context, t)
    copy(state.y, memory.closed.kept)
    copy(state.yd, memory.closed.kept_rate)
    if x == 1.0:
        status = derivative_with_forces(memory, context, t, contact.mode, contact.slip)
    else:
        h = memory.whole[0]
        state_in_step(memory, context, (t - context.clock.begun) / h, h)
        copy(at.y, state.y)
        status = derivative_with_forces(memory, context, t, memory.mode, memory.slip)
    copy(state.y, at.y)
    copy(memory.closed.kept, state.y)
    copy(memory.closed.kept_rate, state.yd)
    for k in range(contact.output.shape[0]):
        for c in range(3):
            contact.output[k, c] = contact.force[k, c]
    return status

"""Forces of closed contacts and impulses of impacts.

They follow from the formalism's accelerations under given contact forces. ṡ is affine in these,
with the rows W of the contacts' velocities,

    Y_j = ṡ(e_j) − ṡ(0),   D = W Y,   A = D F + a,
    0 ≤ A_N + 2κ γ_N + κ² g ⊥ N ≥ 0,   A_T + κ γ_T = −α T where a contact sticks or begins to slip,   κ = 20 1/s.

Theory: docs/theory.md, sections 42 and 43. Pfeiffer and Glocker, Multibody Dynamics with Unilateral
Contacts (1996), the chapters on stick-slip transitions and on impacts; Acary and Brogliato,
Numerical Methods for Nonsmooth Dynamical Systems (2008), chapter 8.
"""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs.algebra.small import largest
from flexmbs.integrators.contact_calls import (
    FORCES,
    IMPACT,
    ContactProblem,
    make_problem,
    solve,
    solver_of,
)
from flexmbs.integrators.contact_problem import NO_SOLUTION
from flexmbs.integrators.impacts import rough
from flexmbs.integrators.missed_contacts import evaluate_contacts
from flexmbs.integrators.run_context import (
    AT,
    DONE,
    INDEFINITE,
    SLIPS,
    STATE,
    UNSOLVED,
    call_common,
    derivative,
    friction_limit,
    normalize,
)  # fmt: skip
from flexmbs.integrators.step_impulses import held_apart

# s, divided by the largest velocity if that is above 1: step of the differences of order 4 for
# accelerations of contacts
ACROSS = 1e-4
HOLD = 20.0  # 1/s: rate at which errors of gaps and velocities of closed contacts decay
EXACT = 1e-13  # of the forces: tolerance
SWEEPS = 10_000
HALVINGS = 40
GAINED = 1e-12  # of the energy: smaller gains are round-off
PRESSED = 1e-9  # of the velocities: infinitesimal approach of a contact for which no force exists


class Closed(NamedTuple):
    """Workspace for the contacts that are closed."""

    Y: np.ndarray  # (3n, ns)
    reaction: np.ndarray  # (3n, nc) multipliers of unit impulses
    lam: np.ndarray  # (nc,) multipliers without contact forces
    problem: ContactProblem  # for forces c are accelerations, for impulses velocities
    free: np.ndarray  # ẏ without contact forces
    y: np.ndarray  # a state
    kept: np.ndarray  # another one, and its rates
    kept_rate: np.ndarray
    before: np.ndarray  # (n, 3) velocities
    settling: np.ndarray  # (n,) speed of approach below which a contact closes without rebound
    presses: np.ndarray  # (n,) int64 1: no force exists, an impact without collision
    solver: np.ndarray  # (1,) int64 its address


def make_closed(n: int, ns: int, nc: int, ny: int, multiple: str | None = None) -> Closed:
    """Allocate the workspace of n contacts; ``multiple``: law for simultaneous impacts."""
    z, problem = np.zeros, make_problem(n, multiple)
    return Closed(
        z((3 * n, ns)),
        z((3 * n, nc)),
        z(nc),
        problem,
        z(ny),
        z(ny),
        z(ny),
        z(ny),
        z((n, 3)),
        z(n),
        z(n, np.int64),
        solver_of(problem),
    )


@part
def no_forces(contact):
    """Zero the forces of all contacts."""
    for k in range(contact.force.shape[0]):
        for c in range(3):
            contact.force[k, c] = 0.0


@part
def operator(context, closed, t, m):
    """closed.free ← ẏ of ``state`` without contact forces; assemble Y, D of the m contacts.

    The contacts are those in contact.row; rows of tangents without friction are zero. Returns a
    status (theory, section 43).
    """
    state, contact = context.state, context.contact
    ns = state.s.shape[0]
    # evaluations may project the state on the constraints: the given one is saved and restored at
    # the end
    no_forces(contact)
    for i in range(state.y.shape[0]):
        closed.y[i] = state.y[i]
    if derivative(context, STATE, t) < 0:
        return INDEFINITE
    for i in range(state.y.shape[0]):
        closed.free[i] = state.yd[i]
    for a in range(state.lam.shape[0]):
        closed.lam[a] = state.lam[a]
    call_common(context, context.calls.rows, STATE, t, 1.0 * m)
    first = state.q.shape[0]
    for b in range(m):
        k = contact.row[b]
        closed.problem.mu[b] = contact.mu[k]
        for c in range(3):
            j = 3 * b + c
            for i in range(3 * m):
                closed.problem.D[i, j] = 0.0
            if (c > 0 and contact.mu[k] == 0.0) or (c != 1 and contact.dry[k] == 1):
                for i in range(ns):
                    closed.Y[j, i] = 0.0
                for a in range(state.lam.shape[0]):
                    closed.reaction[j, a] = 0.0
                continue
            contact.force[k, c] = 1.0
            if derivative(context, STATE, t) < 0:
                return INDEFINITE
            contact.force[k, c] = 0.0
            for i in range(ns):
                closed.Y[j, i] = state.sd[i] - closed.free[first + i]
            for a in range(state.lam.shape[0]):
                closed.reaction[j, a] = state.lam[a] - closed.lam[a]
            for i in range(3 * m):
                if i % 3 == 0 or contact.mu[contact.row[i // 3]] > 0.0:
                    x = 0.0
                    for e in range(ns):
                        x += contact.rows[i, e] * closed.Y[j, e]
                    closed.problem.D[i, j] = x
    for i in range(state.y.shape[0]):
        state.y[i] = closed.y[i]
        state.yd[i] = closed.free[i]
    for a in range(state.lam.shape[0]):
        state.lam[a] = closed.lam[a]
    return DONE


@part
def accelerations_of_contacts(context, closed, t, m):
    """closed.problem.c ← a_N + 2κ γ_N + κ² g and a_T + κ γ_T of the free motion.

    It starts from ``state``.

    ``closed.before``: velocities of the contacts. ``at`` is workspace. Differences of fourth order
    of γ along y + τ ẏ: the rates of the rows W need no formulas of their own. Theory, section 43.
    """
    state, at, contact = context.state, context.at, context.contact
    for j in range(3 * m):
        closed.problem.c[j] = 0.0
    h = ACROSS / max(1.0, largest(state.s))
    for place in range(4):
        x = (-2.0 if place == 0 else -1.0 if place == 1 else 1.0 if place == 2 else 2.0) * h
        weight = (1.0 if place == 0 else -8.0 if place == 1 else 8.0 if place == 2 else -1.0) / (
            12.0 * h
        )
        for i in range(state.y.shape[0]):
            at.y[i] = state.y[i] + x * closed.free[i]
        normalize(context, AT)
        evaluate_contacts(context, AT, t + x)
        for b in range(m):
            for c in range(3):
                closed.problem.c[3 * b + c] += weight * contact.rate[contact.row[b], c]
    evaluate_contacts(context, STATE, t)
    for b in range(m):
        k = contact.row[b]
        for c in range(3):
            closed.before[b, c] = contact.rate[k, c]
            closed.problem.c[3 * b + c] += HOLD * contact.rate[k, c]
        closed.problem.c[3 * b] += HOLD * (contact.rate[k, 0] + HOLD * contact.gap[k])


@part
def held_forces(context, closed, t, m, mode, slip):
    """closed.problem.x ← forces (N) that keep m contacts closed, sticking or slipping.

    The contacts are those in contact.row.

    ``closed.before``: their velocities. Slipping contacts keep the direction ``slip`` (n, 2) while
    their slip reverses. Returns a status. Theory, section 43.
    """
    contact = context.contact
    status = operator(context, closed, t, m)
    if status != DONE:
        return status
    accelerations_of_contacts(context, closed, t, m)
    largest = 0.0
    for j in range(3 * m):
        closed.problem.x[j] = 0.0
        largest = max(largest, abs(closed.problem.D[j, j]))
    for b in range(m):
        k = contact.row[b]
        closed.problem.mu[b] = contact.mu[k]
        closed.problem.least[b] = 1e-13 * largest
        closed.problem.slides[b] = 1 if mode[k] == SLIPS or contact.mu[k] == 0.0 else 0
        u, v = closed.before[b, 1], closed.before[b, 2]
        speed = (u * u + v * v) ** 0.5
        along = (slip[k, 0], slip[k, 1])
        if speed > 0.0 and u * along[0] + v * along[1] > 0.5 * speed:
            along = (u / speed, v / speed)
        closed.problem.slip[b, 0], closed.problem.slip[b, 1] = along
        closed.problem.held[b] = 0.0
        if contact.dry[k] == 1:
            closed.problem.held[b] = friction_limit(contact, k, mode[k], u)
            closed.problem.c[3 * b] = held_apart(closed.problem, closed.problem.c, b)
    used, worst = solve(closed.solver[0], closed.problem, FORCES, m, EXACT, SWEEPS)
    if used in (NO_SOLUTION, SWEEPS):
        context.exchange.status[0] = contact.row[worst]
        context.exchange.status[1] = used
        return UNSOLVED
    return DONE


@part
def impulses_of_impact(context, closed, m, share):
    """closed.problem.x ← impulses of an impact; restitution is multiplied by ``share``.

    D and ``closed.before`` must be up to date. c = U⁻ + e U⁻ for contacts that strike by Newton's
    law, Poisson's expansion e_N p_CN (theory, section 42). A contact that presses gets an
    infinitesimal approach; its impulse, that of an impact without collision, is finite. Returns a
    status.
    """
    contact, problem = context.contact, closed.problem
    speed = 0.0
    for b in range(m):
        for c in range(3):
            speed = max(speed, abs(closed.before[b, c]))
    fast = False
    largest = 0.0
    for b in range(m):
        fast = fast or closed.before[b, 0] < -closed.settling[b]
    for j in range(3 * m):
        closed.problem.x[j] = 0.0
        largest = max(largest, abs(closed.problem.D[j, j]))
    for b in range(m):
        k = contact.row[b]
        strikes = closed.before[b, 0] < -closed.settling[b]
        poisson = contact.poisson[k] == 1
        closed.problem.mu[b] = contact.mu[k]
        closed.problem.held[b] = 0.0
        closed.problem.least[b] = 1e-13 * largest
        closed.problem.expansion[b] = share * contact.e[k] if poisson and fast else 0.0
        # in a sequence of collisions, contacts at rest may strike later
        problem.e[b] = 0.0 if poisson else share * contact.e[k]
        problem.e_t[b] = share * contact.e_t[k]
        for c in range(3):
            e = problem.e[b] if c == 0 else problem.e_t[b]
            problem.before[3 * b + c] = problem.free[3 * b + c] = closed.before[b, c]
            problem.c[3 * b + c] = closed.before[b, c] + (
                e * closed.before[b, c] if strikes else 0.0
            )
        if closed.presses[k] == 1:
            problem.c[3 * b] = problem.free[3 * b] = min(problem.c[3 * b], -PRESSED * speed)
    used, worst = solve(closed.solver[0], closed.problem, IMPACT, m, EXACT, SWEEPS)
    if used in (NO_SOLUTION, SWEEPS):
        context.exchange.status[0] = contact.row[worst]
        context.exchange.status[1] = used
        return UNSOLVED
    return DONE


@part
def gain_of_impact(closed, m):
    """Energy ½ p · (U⁻ + U⁺) (J) that the impulses add, and the size of its terms.

    Theory, section 49.
    """
    total = 0.0
    size = 0.0
    for i in range(3 * m):
        before, change = 2.0 * closed.before[i // 3, i % 3], 0.0
        for j in range(3 * m):
            change += closed.problem.D[i, j] * closed.problem.x[j]
        total += 0.5 * closed.problem.x[i] * (before + change)
        size += 0.5 * abs(closed.problem.x[i]) * (abs(before) + abs(change))
    return total, size


@part
def solve_impact(context, closed, counts, t, m):
    """closed.problem.x ← impulses (N s) of an impact of the m contacts in contact.row.

    At ``state``. If restitution with friction would add energy, restitution is reduced until none
    is added, and the impact is counted. Returns a status (theory, section 42).
    """
    contact = context.contact
    status = operator(context, closed, t, m)
    if status != DONE:
        return status
    evaluate_contacts(context, STATE, t)
    for b in range(m):
        for c in range(3):
            closed.before[b, c] = contact.rate[contact.row[b], c]
    status = impulses_of_impact(context, closed, m, 1.0)
    if status != DONE:
        return status
    gain, size = gain_of_impact(closed, m)
    if gain <= GAINED * size:
        return DONE
    counts.reduced += 1
    counts.frictionless += 0 if rough(contact, m) else 1
    low = 0.0
    high = 1.0
    for _ in range(HALVINGS):
        share = 0.5 * (low + high)
        status = impulses_of_impact(context, closed, m, share)
        if status != DONE:
            return status
        gain, size = gain_of_impact(closed, m)
        if gain > 0.0:
            high = share
        else:
            low = share
    return impulses_of_impact(context, closed, m, low)

"""Impulses of the contacts in a step of Moreau and Jean's time stepping.

D and U_free of the step, the law of impact, energy:

    U⁺ = U_free + D p,   U_free = W v_free + w,   D = W Y,   Y = (M + θh D_d + θ²h² K)⁻¹ W_θᵀ

for the contacts whose gap, predicted for half a step, is closed. The records are
`flexmbs.integrators.moreau_jean.Memory` and `flexmbs.integrators.run_context.RunContext`. Theory:
docs/theory.md, section 42. Moreau (1988), Unilateral contact and dry friction in finite freedom
dynamics; Kane and Levinson (1985), Dynamics: Theory and Applications, for impacts that add energy.
"""

from flexmbs._jit import part
from flexmbs.integrators.contact_calls import IMPACT, solve
from flexmbs.integrators.contact_problem import NO_SOLUTION
from flexmbs.integrators.impacts import rough
from flexmbs.integrators.run_context import (
    AT,
    DONE,
    UNSOLVED,
    call_common,
    correction,
    friction_limit,
)

ROUND_OFF = 1e-12  # m or rad
# of |w|² over the largest mass: normal compliance of a contact that cannot move
CANNOT_YIELD = 1e-13
GAINED = 1e-9  # of the work of the impulses: smaller gains of energy are round-off
HALVINGS = 25


@part
def foreseen(memory, contact, h, whole):
    """Select the contacts that may close in the step; returns their number.

    Those that strike, and others with g + ½ h γ_N ≤ 0 that are not fast. A contact that carried an
    impulse takes part up to the gap that weight would close within a whole step; otherwise
    round-off would open it and it would fall into an overlap. Theory, section 42.
    """
    m = 0
    for k in range(contact.gap.shape[0]):
        memory.problem.held[m] = 0.0
        if contact.dry[k] == 1:
            memory.problem.held[m] = h * friction_limit(
                contact, k, contact.mode[k], contact.rate[k, 1]
            )
        fall = 0.5 * whole * whole * contact.weight[k]
        near = max(fall, ROUND_OFF) if contact.impulse[k, 0] > 0.0 else ROUND_OFF
        closes = contact.gap[k] + 0.5 * h * contact.rate[k, 0] <= near
        closes = memory.strikes[k] == 1 or (closes and memory.fast[k] == 0)
        if closes and contact.outside[k] == 0.0 and contact.rigid[k] == 1:
            contact.row[m] = k
            memory.problem.mu[m] = contact.mu[k]
            for c in range(3):
                memory.problem.x[3 * m + c] = contact.impulse[k, c]
            m += 1
    return m


@part
def rows_of_contacts(context, point, t, m, rows, moving):
    """rows (3m, ns) ← W of the active contacts at a point; moving (3m,) ← w.

    Their velocities are W v + w.
    """
    call_common(context, context.calls.rows, point, t, 1.0 * m)
    for j in range(3 * m):
        for a in range(rows.shape[1]):
            rows[j, a] = context.contact.rows[j, a]
        moving[j] = context.contact.moving[context.contact.row[j // 3], j % 3]


@part
def delassus(memory, context, m, scale):
    """D = W Y (1/kg) and Y = (M + θh D_d + θ²h² K)⁻¹ W_θᵀ with the current factor.

    Y are the velocities by unit impulses. scale: velocity per displacement, 1/(θ²h²). G = ½ W_θ Y
    gives the work of the impulses (theory, section 42).
    """
    x = context.exchange.x
    ns = memory.W.shape[1]
    for j in range(3 * m):
        for i in range(3 * m):
            memory.problem.D[i, j] = 0.0
            memory.G[i, j] = 0.0
        # of another contact in an earlier step; given impulses of dry friction multiply them, too
        for a in range(ns):
            memory.Y[j, a] = 0.0
        for a in range(memory.reaction.shape[1]):
            memory.reaction[j, a] = 0.0
        # tangents without friction have no impulse, dry friction has none but that of one tangent:
        # their columns stay zero
        k = context.contact.row[j // 3]
        if (j % 3 > 0 and memory.problem.mu[j // 3] == 0.0) or (
            j % 3 != 1 and context.contact.dry[k] == 1
        ):
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
        memory.problem.least[b] = CANNOT_YIELD * size / context.contact.mass[0]


@part
def held_apart(problem, free, b):
    """Velocity c_N that keeps the normal direction of dry friction out of the problem.

    Its normal impulse is then the given one.
    """
    return problem.held[b] * problem.D[3 * b + 1, 3 * b + 1] + abs(free[3 * b + 1]) + 1e-300


@part
def restitution(memory, contact, m, h, share):
    """Set the impact terms of the contact problem, with restitution times ``share``.

    c of Newton's law, U_free + e U⁻, and the expansion of Poisson's law, the latter in steps in
    which a contact approaches faster than its weight accelerates it within the step. Tangents have
    restitution in impacts only: in contacts that stay closed it would reverse the slip in every
    step.
    """
    hard = False
    for b in range(m):
        k = contact.row[b]
        if contact.dry[k] == 1:
            memory.problem.expansion[b] = 0.0
            memory.free[3 * b] = held_apart(memory.problem, memory.free, b)
        hard = hard or memory.rate[k, 0] < -h * contact.weight[k]
        poisson = contact.poisson[k] == 1
        e = 0.0 if poisson else share * contact.e[k]
        memory.problem.e[b] = e
        memory.problem.expansion[b] = share * contact.e[k] if poisson else 0.0
        memory.problem.c[3 * b] = memory.free[3 * b] + e * min(memory.rate[k, 0], 0.0)
        strikes = not contact.impulse[k, 0] > 0.0 and memory.rate[k, 0] < 0.0
        e = share * contact.e_t[k] if strikes else 0.0
        memory.problem.e_t[b] = share * contact.e_t[k]
        for c in range(3):
            memory.problem.before[3 * b + c] = memory.rate[k, c]
            memory.problem.free[3 * b + c] = memory.free[3 * b + c]
        for c in range(1, 3):
            memory.problem.c[3 * b + c] = memory.free[3 * b + c] + e * memory.rate[k, c]
    if not hard:
        for b in range(m):
            memory.problem.expansion[b] = 0.0


@part
def solve_contacts(memory, context, m, h, share):
    """Impulses of the active contacts with restitution times ``share``.

    Returns (status, energy that they add, its size) (J).
    """
    contact = context.contact
    restitution(memory, contact, m, h, share)
    used, worst = solve(
        memory.solver[0], memory.problem, IMPACT, m, memory.impulse_tolerance, memory.sweeps
    )
    memory.counts.sweeps = max(memory.counts.sweeps, used)
    if used == NO_SOLUTION or used >= memory.sweeps:
        context.exchange.status[0] = contact.row[worst]
        context.exchange.status[1] = used
        return UNSOLVED, 0.0, 0.0
    gain = 0.0
    work_done = 0.0
    for i in range(3 * m):
        change = 0.0
        for j in range(3 * m):
            change += memory.G[i, j] * memory.problem.x[j]
        gain += memory.problem.x[i] * (memory.mean[i] + change)
        work_done += abs(memory.problem.x[i]) * (abs(memory.mean[i]) + abs(change))
    return DONE, gain, work_done


@part
def restituted(memory, m):
    """True if restitution changes the impulses of the m contacts in this step."""
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
    """Solve the contact impulses of the step without energy gain; returns a status.

    If restitution with friction would add energy (Kane and Levinson 1985), restitution is reduced
    until none is added. Theory, section 42.
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
        # e = 0 never adds energy, so that the interval always contains a solution
        if gain > 0.0:
            high = share
        else:
            low = share
    memory.counts.reduced += 1
    memory.counts.frictionless += 0 if rough(context.contact, m) else 1
    status, gain, size = solve_contacts(memory, context, m, h, low)
    return status


@part
def velocities_with_impulses(memory, context, m, h, c_mass):
    """Add the impulses of the active contacts: ``memory.v`` ← v + Y p.

    λ changes by p/h.
    """
    state, start, at = context.state, context.start, context.at
    ns = memory.v.shape[0]
    # forces act at q_θ, velocities count at the end of the step: D has two sets of rows
    rows_of_contacts(
        context, AT, context.clock.time + memory.theta * h, m, memory.F, memory.moving_middle
    )
    delassus(memory, context, m, c_mass)
    for j in range(3 * m):
        memory.free[j] = memory.moving[j]
        memory.mean[j] = memory.moving_middle[j]
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

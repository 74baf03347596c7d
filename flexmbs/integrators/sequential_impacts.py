"""Simultaneous impacts as a sequence of collisions of single contacts.

And the difference of its result from that of one problem. If several contacts act at once, laws of
impact of single contacts do not determine the velocities after it (Glocker 2004). The sequence
takes the contact that approaches fastest, U_N < 0, and changes the velocities by its own law alone,

    U ← U + D_·k Δp_k,   U_Nk⁺ = −e U_Nk⁻,   |Δp_T| ≤ μ Δp_N,

until no contact approaches: the limit of small gaps between the bodies. Approaches that remain
after many collisions, as of bodies that touch in a closed chain, are solved as one problem without
restitution.

Theory: docs/theory.md, section 42. Ivanov (1995), On multiple impact, J. Appl. Math. Mech. 59, 887;
Glocker (2004), Concepts for modeling impacts without friction, Acta Mechanica 168, 1; Liu, Zhao and
Brogliato (2008), Frictionless multiple impacts in multibody systems, Proc. R. Soc. A 464, 3193, for
laws that share energy along a chain.
"""

from flexmbs._jit import called, part
from flexmbs.integrators.contact_problem import (
    NO_SOLUTION,
    ContactBlock,
    impact,
    impulses,
    one_contact,
)
from flexmbs.integrators.natural_map import Inclusion

COLLISIONS = 200  # per contact; then one problem without restitution is solved
SETTLED = 1e-12  # of the fastest approach: slower ones do not count


@part
def fastest(n, problem):
    """(contact, U_N) of the contact that approaches fastest with the impulses so far."""
    D, p, free = problem.D, problem.x, problem.free
    worst, least = -1, 0.0
    for k in range(n):
        u = free[3 * k]
        for j in range(3 * n):
            u += D[3 * k, j] * p[j]
        if u < least:
            worst, least = k, u
    return worst, least


@part
def collision(n, problem, k):
    """(Δp_N, Δp_T1, Δp_T2, found): impulses of contact k alone by its law of impact.

    At the velocities with the impulses so far.
    """
    D, p, o = problem.D, problem.x, 3 * k
    u = (problem.free[o], problem.free[o + 1], problem.free[o + 2])
    for j in range(3 * n):
        u = (u[0] + D[o, j] * p[j], u[1] + D[o + 1, j] * p[j], u[2] + D[o + 2, j] * p[j])
    # forces of the step change velocities without restitution
    approach = min(u[0] - problem.free[o] + problem.before[o], 0.0)
    slip = (
        u[1] - problem.free[o + 1] + problem.before[o + 1],
        u[2] - problem.free[o + 2] + problem.before[o + 2],
    )
    e, e_t = problem.e[k], problem.e_t[k] if approach < 0.0 else 0.0
    law = ContactBlock(
        D, o, u[0] + e * approach, u[1] + e_t * slip[0], u[2] + e_t * slip[1], problem.mu[k]
    )
    p0, p1, p2, found = one_contact(law, problem.least[k], 0.0)
    bound = problem.expansion[k] * p0
    if found and bound > 0.0:
        r0 = u[0] + D[o, o] * p0 + D[o, o + 1] * p1 + D[o, o + 2] * p2
        r1 = u[1] + D[o + 1, o] * p0 + D[o + 1, o + 1] * p1 + D[o + 1, o + 2] * p2
        r2 = u[2] + D[o + 2, o] * p0 + D[o + 2, o + 1] * p1 + D[o + 2, o + 2] * p2
        q0, q1, q2, found = one_contact(
            ContactBlock(D, o, r0, r1, r2, problem.mu[k]), problem.least[k], bound
        )
        p0, p1, p2 = p0 + q0, p1 + q1, p2 + q2
    return p0, p1, p2, found


@called
def sequence(n, problem, limits):
    """Solve an impact as a sequence of single collisions: impulses problem.x (3n,).

    Returns like `impulses` (theory, section 42).
    """
    D, p, workspace = problem.D, problem.x, problem.workspace
    bound, drag, later, more = workspace.bound, workspace.drag, workspace.later, workspace.more
    for j in range(3 * n):
        p[j] = 0.0
    k, speed = fastest(n, problem)
    limit = SETTLED * speed
    dry = False
    for b in range(n):
        dry = dry or problem.held[b] > 0.0
    for turn in range(COLLISIONS * n):
        k, u = fastest(n, problem)
        if k < 0 or u >= limit:
            if dry:
                break  # dry friction of joints acts over the step, not in collisions
            return turn + 1, 0
        p0, p1, p2, found = collision(n, problem, k)
        if not found:
            return NO_SOLUTION, k
        p[3 * k], p[3 * k + 1], p[3 * k + 2] = p[3 * k] + p0, p[3 * k + 1] + p1, p[3 * k + 2] + p2
    for i in range(3 * n):
        later[i] = problem.free[i]
        more[i] = 0.0
        for j in range(3 * n):
            later[i] += D[i, j] * p[j]
    for b in range(n):
        bound[b], drag[b, 0], drag[b, 1] = problem.held[b], 0.0, 0.0
    used, worst = impulses(
        Inclusion(n, D, later, problem.mu, drag, bound, workspace.rho),
        problem.least,
        limits,
        more,
        workspace,
    )
    for i in range(3 * n):
        p[i] += more[i]
    return used, worst


@part
def solve_impact_law(n, problem, limits):
    """Solve an impact by its law: all contacts at once or one after the other."""
    return (
        sequence(n, problem, limits) if problem.sequential[0] == 1 else impact(n, problem, limits)
    )


@called
def difference(n, problem, limits):
    """problem.spread[0] ← largest difference (m/s) between the results of both laws of impact.

    Of the impulses problem.x that were found and those of the other law; 0 if only one contact
    acts.
    """
    D, kept, p = problem.D, problem.kept, problem.x
    problem.spread[0] = 0.0
    acting = 0
    for k in range(n):
        acting += 1 if p[3 * k] > 0.0 and problem.held[k] == 0.0 else 0
    for j in range(3 * n):
        kept[j] = p[j]
    other = 1 - problem.sequential[0]
    used, _ = sequence(n, problem, limits) if other == 1 else impact(n, problem, limits)
    for k in range(n):
        acting += 1 if p[3 * k] > 0.0 and not kept[3 * k] > 0.0 else 0
    if acting > 1 and used != NO_SOLUTION and used < limits.sweeps:
        for i in range(3 * n):
            change = 0.0
            for j in range(3 * n):
                change += D[i, j] * (p[j] - kept[j])
            problem.spread[0] = max(problem.spread[0], abs(change))
    for j in range(3 * n):
        p[j] = kept[j]
    return used, 0

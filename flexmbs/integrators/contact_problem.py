"""The contact problem in numbers: impulses of unilateral contacts with Coulomb friction.

With the laws of impact of Newton and of Poisson. Velocities U (3 rows per contact: normal, two
tangents) after impulses p are U⁺ = U_free + D p, with the Delassus operator D. By Newton

    ξ_N = U_N⁺ + e_N U_N⁻ ≥ 0,  p_N ≥ 0,  ξ_N p_N = 0;   |p_T| ≤ μ p_N,  ξ_T = U_T⁺ + e_T U_T⁻ = −α p_T,  α ≥ 0,

where α > 0 only at |p_T| = μ p_N. Dry friction of a joint coordinate has the rows of only one
tangent, and p_N = b is its limit (``held``): as nothing moves along its normal and c_N > 0, p_N
keeps this value. By Poisson an impact has two phases: compression, the same with e = 0, with
impulses p_C; then expansion from there, with impulses p_E of at least the part e_N of compression,

    U_N ≥ 0,  p_EN ≥ e_N p_CN,  U_N (p_EN − e_N p_CN) = 0;   |p_ET| ≤ μ p_EN,  U_T = −α p_ET;   p = p_C + p_E.

Both are ξ = D p + c with p_N ≥ b instead of p_N ≥ 0. They are solved by sweeps over the contacts,
each of which is solved exactly; where sweeps converge slowly, as for more contacts than degrees of
freedom, by `flexmbs.integrators.redundant_contacts`. Some problems have no solution: a drive that
presses through a contact, a body wedged so that friction withstands every velocity that restitution
demands.

Theory: docs/theory.md, sections 42 and 43. Moreau (1988), Unilateral contact and dry friction in
finite freedom dynamics; Pfeiffer and Glocker, Multibody Dynamics with Unilateral Contacts (1996),
chapter 8 (impacts with friction by Poisson's law); Acary and Brogliato, Numerical Methods for
Nonsmooth Dynamical Systems (2008), chapter 13; Jean (1999), for sweeps over the contacts.
"""

import math
from typing import NamedTuple

import numpy as np

from flexmbs._jit import called, part
from flexmbs.integrators.natural_map import (
    Inclusion,
    compliances,
    largest_velocity,
    natural_map,
    velocities,
)
from flexmbs.integrators.redundant_contacts import solve_redundant

NO_SOLUTION = -1
ARCS, FINEST = 12, 1200  # number of arcs in which the direction of slip is searched
BISECTIONS = 55
ROUNDED = 1e-13  # of the largest velocity
PLANAR = 1e-12  # of the largest compliance of a contact: no motion along a stiffer tangent
FIRST = 10  # number of sweeps before contacts count as redundant
LAST = 500  # number of sweeps if no solution seems to exist
# of the velocities: accuracy that suffices for contacts that are redundant except for round-off
NEARLY = 1e-6
ENDLESS = 1e12  # of the velocities: sweeps that diverge
# m/s or m/s², and of the velocities of a contact: smaller slip along a tangent that cannot move is
# round-off, as that across the plane of a planar model
STILL, ACROSS = 1e-12, 1e-11
UNKNOWN = -1.0  # the normal impulse is not given


class IterationLimits(NamedTuple):
    """Criteria that end the iterations."""

    tolerance: float  # of the natural map, relative to the velocities
    sweeps: int


class ContactBlock(NamedTuple):
    """ξ = A p + r of one contact, for given impulses of the others.

    A is the block (3×3) of D at o.
    """

    D: np.ndarray  # (3n, 3n)
    o: int
    r0: float
    r1: float
    r2: float
    mu: float


@part
def least_compliance(contact):
    """Compliance (1/kg) at or below which nothing moves along a tangent of a contact.

    Along one of them in planar models, along both where drives prescribe the slip.
    """
    D, o = contact.D, contact.o
    return PLANAR * max(D[o, o], D[o + 1, o + 1], D[o + 2, o + 2])


@part
def moving_tangents(contact):
    """(True, True) by tangent that impulses can move, and True if the others do not slip either.

    A driven slider slips along a tangent that cannot move: it never sticks.
    """
    D, o, r1, r2 = contact.D, contact.o, contact.r1, contact.r2
    small = least_compliance(contact)
    first, second = D[o + 1, o + 1] > small, D[o + 2, o + 2] > small
    least = STILL + ACROSS * (abs(contact.r0) + abs(r1) + abs(r2))
    return first, second, (first or abs(r1) <= least) and (second or abs(r2) <= least)


@part
def sticking(contact):
    """Impulses p of a sticking contact: A p + r = 0; a tangent without motion is omitted.

    p_N < 0 if A is singular, or slip along a tangent is prescribed.
    """
    D, o, r0, r1, r2 = contact.D, contact.o, contact.r0, contact.r1, contact.r2
    a00, a01, a02 = D[o, o], D[o, o + 1], D[o, o + 2]
    f1, f2 = D[o + 1, o] / a00, D[o + 2, o] / a00
    a11, a22 = D[o + 1, o + 1], D[o + 2, o + 2]
    small = least_compliance(contact)
    first, second, sticks = moving_tangents(contact)
    if not sticks:
        return -1.0, 0.0, 0.0
    s11, s12, s21, s22 = (
        a11 - f1 * a01,
        D[o + 1, o + 2] - f1 * a02,
        D[o + 2, o + 1] - f2 * a01,
        a22 - f2 * a02,
    )
    h1, h2 = r1 - f1 * r0, r2 - f2 * r0
    p1 = 0.0
    p2 = 0.0
    if first and second:
        det = s11 * s22 - s12 * s21
        if det <= small * small:
            return -1.0, 0.0, 0.0
        p1 = (s12 * h2 - s22 * h1) / det
        p2 = (s21 * h1 - s11 * h2) / det
    elif first and s11 > small:
        p1 = -h1 / s11
    elif second and s22 > small:
        p2 = -h2 / s22
    else:
        return -1.0, 0.0, 0.0
    return -(r0 + a01 * p1 + a02 * p2) / a00, p1, p2


@part
def slip_at(contact, d1, d2, given):
    """(p_N, velocity along d, velocity across d) of a contact that slips in direction d.

    p_T = −μ p_N d, with ξ_N = 0 or p_N given. With ξ_N = 0, p_N = −r₀/(A_00 − μ A_0T · d); p_N < 0
    for a denominator ≤ 0: friction jams the contact.
    """
    D, o, r0, r1, r2, mu = contact.D, contact.o, contact.r0, contact.r1, contact.r2, contact.mu
    p0 = given
    if given < 0.0:
        stiffness = D[o, o] - mu * (D[o, o + 1] * d1 + D[o, o + 2] * d2)
        if stiffness <= 0.0:
            return -1.0, 0.0, 0.0
        p0 = -r0 / stiffness
    p1, p2 = -mu * p0 * d1, -mu * p0 * d2
    x1 = r1 + D[o + 1, o] * p0 + D[o + 1, o + 1] * p1 + D[o + 1, o + 2] * p2
    x2 = r2 + D[o + 2, o] * p0 + D[o + 2, o + 1] * p1 + D[o + 2, o + 2] * p2
    return p0, x1 * d1 + x2 * d2, x2 * d1 - x1 * d2


@part
def given_slip(contact, given):
    """(p, found) of a contact whose slip no impulse changes, as that of a driven slider.

    Friction opposes the slip, or is taken as zero if there is none.
    """
    D, o, mu = contact.D, contact.o, contact.mu
    share = max(given, 0.0)
    h1, h2 = contact.r1 + D[o + 1, o] * share, contact.r2 + D[o + 2, o] * share
    slip = math.sqrt(h1 * h1 + h2 * h2)
    d1 = 0.0
    d2 = 0.0
    if slip > STILL:
        d1, d2 = h1 / slip, h2 / slip
    p0, _, _ = slip_at(contact, d1, d2, given)
    return p0, -mu * p0 * d1, -mu * p0 * d2, p0 >= 0.0


@part
def planar_slip(contact, first):
    """(p, found) of a slipping contact with only one moving tangent, ``first`` or second."""
    mu = contact.mu
    for k in range(2):
        d = 1.0 if k == 0 else -1.0
        d1, d2 = (d, 0.0) if first else (0.0, d)
        p0, along, _ = slip_at(contact, d1, d2, UNKNOWN)
        if p0 >= 0.0 and along >= 0.0:
            return p0, -mu * p0 * d1, -mu * p0 * d2, True
    return 0.0, 0.0, 0.0, False


@called
def slip_among(contact, given, arcs):
    """(p, found) of a slipping contact; the slip angle is searched by bisection in ``arcs`` arcs.

    By bisection of its angle, starting from slip without friction.
    """
    D, o, r0, r1, r2, mu = contact.D, contact.o, contact.r0, contact.r1, contact.r2, contact.mu
    f = r0 / D[o, o] if given < 0.0 else -given
    start = math.atan2(r2 - D[o + 2, o] * f, r1 - D[o + 1, o] * f)
    width = 2.0 * math.pi / arcs
    for k in range(arcs):
        # alternating on both sides of the slip without friction, near which the direction mostly is
        j = (k + 1) // 2 if k % 2 == 1 else -(k // 2)
        low = start + (j - 0.5) * width
        high = low + width
        p0, _, across_low = slip_at(contact, math.cos(low), math.sin(low), given)
        q0, _, across_high = slip_at(contact, math.cos(high), math.sin(high), given)
        if p0 < 0.0 or q0 < 0.0 or across_low * across_high > 0.0:
            continue
        along = 0.0
        d1 = 0.0
        d2 = 0.0
        for _ in range(BISECTIONS):
            angle = 0.5 * (low + high)
            d1, d2 = math.cos(angle), math.sin(angle)
            p0, along, across = slip_at(contact, d1, d2, given)
            if across * across_low > 0.0:
                low = angle
            else:
                high = angle
        if p0 >= 0.0 and along >= 0.0:
            return p0, -mu * p0 * d1, -mu * p0 * d2, True
    return 0.0, 0.0, 0.0, False


@part
def slipping(contact, given):
    """(p, found) of a slipping contact, searched in finer arcs if an arc has two directions."""
    arcs = ARCS
    while arcs <= FINEST:
        p0, p1, p2, found = slip_among(contact, given, arcs)
        if found:
            return p0, p1, p2, True
        arcs *= 10
    return 0.0, 0.0, 0.0, False


@part
def any_slip(contact, given):
    """(p, found) of a slipping contact, p_T = −μ p_N ξ_T/|ξ_T|, with two, one or no moving tangent.

    given: normal impulse, or `UNKNOWN` (then ξ_N = 0).
    """
    first, second, others_still = moving_tangents(contact)
    if (first and second) or ((first or second) and not others_still):
        return slipping(contact, given)
    if first or second:
        return planar_slip(contact, first)
    return given_slip(contact, given)


@part
def dragged(contact, given):
    """(p_T1, p_T2, found) of a contact with the given normal impulse.

    Sticking, ξ_T = 0, or slipping, |p_T| = μ p_N.
    """
    D, o, r1, r2, mu = contact.D, contact.o, contact.r1, contact.r2, contact.mu
    if mu == 0.0 or given == 0.0:
        return 0.0, 0.0, True
    a11, a12, a21, a22 = D[o + 1, o + 1], D[o + 1, o + 2], D[o + 2, o + 1], D[o + 2, o + 2]
    h1, h2 = r1 + D[o + 1, o] * given, r2 + D[o + 2, o] * given
    small = least_compliance(contact)
    first, second, others_still = moving_tangents(contact)
    p1 = 0.0
    p2 = 0.0
    if (first or second) and not others_still:
        _, p1, p2, found = any_slip(contact, given)
        return p1, p2, found
    if first and second:
        det = a11 * a22 - a12 * a21
        if det <= small * small:
            return 0.0, 0.0, False
        p1 = (a12 * h2 - a22 * h1) / det
        p2 = (a21 * h1 - a11 * h2) / det
    elif first:  # in one direction the limited impulse is the solution
        return min(max(-h1 / a11, -mu * given), mu * given), 0.0, True
    elif second:
        return 0.0, min(max(-h2 / a22, -mu * given), mu * given), True
    else:
        _, p1, p2, _ = given_slip(contact, given)
        return p1, p2, True
    if p1 * p1 + p2 * p2 <= mu * mu * given * given:
        return p1, p2, True
    _, p1, p2, found = any_slip(ContactBlock(D, o, 0.0, r1, r2, mu), given)
    return p1, p2, found


@part
def one_contact(contact, least, bound):
    """(p, found) of a single contact: p_N = bound, or closed (ξ_N = 0), sticking or slipping.

    ``least``: normal compliance A_NN (1/kg) at or below which the contact cannot yield. Theory,
    section 42.
    """
    D, o, r0, mu = contact.D, contact.o, contact.r0, contact.mu
    # first the bound: an open contact, or one at its part of compression, needs no solution
    p1, p2, found = dragged(contact, bound)
    if found and r0 + D[o, o] * bound + D[o, o + 1] * p1 + D[o, o + 2] * p2 >= 0.0:
        return bound, p1, p2, True
    if D[o, o] <= least:
        return 0.0, 0.0, 0.0, False
    p0, p1, p2 = sticking(contact)
    if p0 >= bound and p1 * p1 + p2 * p2 <= mu * mu * p0 * p0:
        return p0, p1, p2, True
    p0, p1, p2, found = any_slip(contact, UNKNOWN)
    return p0, p1, p2, found and p0 >= bound


@part
def dragged_contact(contact, drag, least, bound):
    """(p, found) of a single contact with p_T = p_N times ``drag`` (2,)."""
    D, o, r0 = contact.D, contact.o, contact.r0
    compliance = D[o, o] + D[o, o + 1] * drag[0] + D[o, o + 2] * drag[1]
    p0 = bound
    if r0 + compliance * bound < 0.0:
        if compliance <= least:
            return 0.0, 0.0, 0.0, False
        p0 = -r0 / compliance
    return p0, drag[0] * p0, drag[1] * p0, True


@called
def sweep_over_contacts(law, least, limits, p, workspace):
    """Solve the contact problem by block Gauss–Seidel sweeps over contacts, from p.

    A_kk p_k + r_k = ξ_k of each contact is solved exactly. Returns like `impulses`. Theory, section
    43.
    """
    n, D, c, bound, x = law.n, law.D, law.c, law.bound, workspace.newton.x
    speed = largest_velocity(law)
    worst = 0
    for sweep in range(limits.sweeps):
        largest = 0.0
        for k in range(n):
            o = 3 * k
            r0, r1, r2 = c[o], c[o + 1], c[o + 2]
            for b in range(3 * n):
                if b < o or b > o + 2:
                    r0 += D[o, b] * p[b]
                    r1 += D[o + 1, b] * p[b]
                    r2 += D[o + 2, b] * p[b]
            # a contact that nothing can move must not demand an impulse for round-off: it would
            # have no solution; dry friction, whose normal impulse is its bound, never demands one
            if D[o, o] <= least[k] and r0 < 0.0 and (bound[k] > 0.0 or r0 >= -ROUNDED * speed):
                r0 = 0.0
            contact = ContactBlock(D, o, r0, r1, r2, law.mu[k])
            if contact.mu > 0.0:
                p0, p1, p2, found = one_contact(contact, least[k], bound[k])
            else:
                p0, p1, p2, found = dragged_contact(contact, law.drag[k], least[k], bound[k])
            if not found:
                return NO_SOLUTION, k
            change = max(
                abs(p0 - p[o]) * D[o, o],
                abs(p1 - p[o + 1]) * D[o + 1, o + 1],
                abs(p2 - p[o + 2]) * D[o + 2, o + 2],
            )
            p[o], p[o + 1], p[o + 2] = p0, p1, p2
            if change > largest or change != change:
                largest = change
                worst = k
        if n == 1:
            return 1, 0
        if not largest < ENDLESS * speed:
            return NO_SOLUTION, worst
        if largest <= limits.tolerance * speed:
            compliances(law)
            velocities(law, p, x)
            # small changes may also mean slow convergence: check the law itself
            if natural_map(law, p, x, workspace.newton.r) <= limits.tolerance * speed + round_off(
                law, p
            ):
                return sweep + 1, worst
    return limits.sweeps, worst


@part
def round_off(law, p):
    """Velocity below which the natural map is zero up to round-off."""
    n, rho = law.n, law.rho
    most = 0.0
    for k in range(n):
        most = max(
            most, abs(p[3 * k]) / rho[k], abs(p[3 * k + 1]) / rho[k], abs(p[3 * k + 2]) / rho[k]
        )
    return ROUNDED * most


@called
def impulses(law, least, limits, p, workspace):
    """Solve an `Inclusion`: impulses p (3n,) in N s of its contacts; several methods in turn.

    The natural map must be within ``limits.tolerance`` of the velocities. Sweeps over the contacts
    from the given p; if these converge slowly, `redundant_contacts`, then more sweeps. Returns
    (steps or `NO_SOLUTION`, contact that has none or changed most); ``limits.sweeps`` steps: not
    converged. Theory, section 43.
    """
    tolerance, sweeps = limits.tolerance, limits.sweeps
    first = min(sweeps, FIRST)
    used, worst = sweep_over_contacts(law, least, IterationLimits(tolerance, first), p, workspace)
    if (
        law.n == 1
        or 0 < used < first
        or (used == NO_SOLUTION and law.D[3 * worst, 3 * worst] <= least[worst])
    ):
        return used, worst
    speed = largest_velocity(law)
    steps, exists = solve_redundant(law, tolerance * speed, NEARLY * speed, p, workspace)
    if steps > 0:
        return min(first + steps, sweeps - 1), worst
    # impulses that grow without bound show that there is no solution: sweeps only confirm it
    last = sweeps if exists else min(sweeps, LAST)
    used, worst = sweep_over_contacts(law, least, IterationLimits(tolerance, last), p, workspace)
    if used >= last and not exists:
        return NO_SOLUTION, worst
    return used, worst


@part
def impact(n, problem, limits):
    """Solve an impact of n contacts, p_N ≥ 0, with Poisson's expansion phase, into problem.x.

    The latter if some ``problem.expansion`` (n,), Poisson's e_N, is not zero. Returns like
    `impulses` (theory, section 42).
    """
    p, workspace = problem.x, problem.workspace
    D, mu, drag, bound, rho = problem.D, problem.mu, workspace.drag, workspace.bound, workspace.rho
    later, more = workspace.later, workspace.more
    for k in range(n):
        bound[k], drag[k, 0], drag[k, 1] = problem.held[k], 0.0, 0.0
    used, worst = impulses(
        Inclusion(n, D, problem.c, mu, drag, bound, rho), problem.least, limits, p, workspace
    )
    expands = False
    for k in range(n):
        bound[k] = problem.expansion[k] * p[3 * k]
        expands = expands or bound[k] > 0.0
    if not expands or used == NO_SOLUTION or used >= limits.sweeps:
        return used, worst
    for i in range(3 * n):
        later[i] = problem.c[i]
        more[i] = 0.0
        for j in range(3 * n):
            later[i] += D[i, j] * p[j]
    used, worst = impulses(
        Inclusion(n, D, later, mu, drag, bound, rho), problem.least, limits, more, workspace
    )
    for i in range(3 * n):
        p[i] += more[i]
    return used, worst


@part
def closed_forces(n, problem, limits):
    """Solve for the forces problem.x (3n,) of n closed contacts, accelerations D f + c.

    The contact law at acceleration level: A_N ≥ 0, f_N ≥ 0, A_N f_N = 0. Sliding contacts,
    ``problem.slides`` (n,) not 0, along ``problem.slip`` (n, 2): f_T = −μ f_N slip; others stick or
    begin to slip: |f_T| ≤ μ f_N, A_T = −α f_T. Begins at the given f. Returns like `impulses`.
    Theory, sections 40 and 43.
    """
    mu, slip, workspace = problem.mu, problem.slip, problem.workspace
    bound, drag, cone = workspace.bound, workspace.drag, workspace.cone
    for k in range(n):
        bound[k], drag[k, 0], drag[k, 1] = problem.held[k], 0.0, 0.0
        cone[k] = mu[k]
        if problem.slides[k] != 0:
            cone[k] = 0.0
            drag[k, 0], drag[k, 1] = -mu[k] * slip[k, 0], -mu[k] * slip[k, 1]
    law = Inclusion(n, problem.D, problem.c, cone, drag, bound, workspace.rho)
    return impulses(law, problem.least, limits, problem.x, workspace)

"""Redundant contacts by an interior-point method.

The law of `flexmbs.integrators.contact_problem`, p_N ≥ b, is followed along the path

    ξ_N = u,  u (p_N − b) = τ;   ξ_T = −λ w,  w = p_T/(μ p_N),  λ σ = τ,  σ = ½ μ p_N (1 − |w|²),   τ → 0,

the path of the second-order cone program of De Saxcé's correction ξ_N + μ|ξ_T| but for a factor of 1 … 2 in τ. Its steps solve
with D + B, B the barriers' block diagonal, regular where D is not. Near the end Newton's method on the natural map takes over.

Theory: docs/theory.md, section 43. De Saxcé and Feng (1998), Math. Comput. Modelling 28, 225; Acary, Brémond and Huber (2018), On
solving contact problems with Coulomb friction; Wright, Primal-Dual Interior-Point Methods (1997), chapter 6.
"""

from flexmbs._jit import called, part
from flexmbs.algebra.pivoting import lu, lu_solve
from flexmbs.integrators.natural_map import (
    LESS,
    POLISH,
    PROXIMAL,
    compliances,
    dragged_rows,
    largest_velocity,
    natural_map,
    newton,
    velocities,
)

SHRINK, LARGEST_SHRINK = 0.02, 0.5  # of τ in a step
TO_BOUNDARY = 0.995
UNEVEN = 1e-4  # least product over their mean
GROWTH = 10.0  # of the residual in a step
CUTS, CUT = 8, 0.6
ARC = 1e-2  # of the velocities: residual below which steps follow the edge of the cone
TURN = 0.5  # of the direction of slip in such a step


@part
def edge(mu, p, o):
    """σ = ½ μ p_N (1 − |w|²) of a contact, as ½ (μ p_N − |p_T|)(μ p_N + |p_T|)/(μ p_N): without cancellation."""
    radius = mu * p[o]
    size = (p[o + 1] * p[o + 1] + p[o + 2] * p[o + 2]) ** 0.5
    return max(0.5 * (radius - size) * (radius + size) / radius, 1e-17 * radius)


@part
def mismatch(n, x, mu, p, u, lam):
    """|(ξ_N − u, ξ_T + λ w)|² of all contacts: what is left of the equations of the path beside its products."""
    each = 0.0
    for k in range(n):
        o = 3 * k
        each += (x[o] - u[k]) ** 2
        if mu[k] > 0.0:
            f = lam[k] / (mu[k] * p[o])
            each += (x[o + 1] + f * p[o + 1]) ** 2 + (x[o + 2] + f * p[o + 2]) ** 2
    return each


@part
def products(n, mu, bound, p, u, lam):
    """Mean and least of u (p_N − b) and λ σ."""
    total = 0.0
    least = 1e300
    count = 0
    for k in range(n):
        each = u[k] * (p[3 * k] - bound[k])
        total += each
        least = min(least, each)
        count += 1
        if mu[k] > 0.0:
            each = lam[k] * edge(mu[k], p, 3 * k)
            total += each
            least = min(least, each)
            count += 1
    return total / count, least


@called
def barrier_step(n, D, x, mu, drag, bound, rho, tau, p, u, lam, step, du, dlam, dsigma, workspace):
    """Newton's step (step, du, dlam) towards τ, and the change dsigma of σ; returns False where it is not found.

    Linearized: ξ_N = u, ξ_T = −λ w, u (p_N − b) = τ, λ σ = τ; u and λ eliminated, (D + B) Δp = −ξ + (τ/(p_N − b), −w τ/σ).
    """
    J = workspace.matrix
    for k in range(n):
        o = 3 * k
        for a in range(o, o + 3):
            for b in range(3 * n):
                J[a, b] = D[a, b]
            J[a, a] += PROXIMAL / rho[k]
            step[a] = -x[a]
        v = p[o] - bound[k]
        J[o, o] += u[k] / v
        step[o] += tau / v
        if mu[k] == 0.0:
            dragged_rows(o, 1.0 / rho[k], drag[k], n, J)
            step[o + 1] = (drag[k, 0] * p[o] - p[o + 1]) / rho[k]
            step[o + 2] = (drag[k, 1] * p[o] - p[o + 2]) / rho[k]
            continue
        radius = mu[k] * p[o]
        w1, w2 = p[o + 1] / radius, p[o + 2] / radius
        sigma = edge(mu[k], p, o)
        f, g = lam[k] / radius, lam[k] / sigma
        h = f * mu[k] + g * 0.5 * mu[k] * (1.0 + w1 * w1 + w2 * w2)
        J[o + 1, o] -= h * w1
        J[o + 2, o] -= h * w2
        J[o + 1, o + 1] += f + g * w1 * w1
        J[o + 1, o + 2] += g * w1 * w2
        J[o + 2, o + 1] += g * w1 * w2
        J[o + 2, o + 2] += f + g * w2 * w2
        step[o + 1] -= w1 * tau / sigma
        step[o + 2] -= w2 * tau / sigma
    if lu(J, 3 * n, workspace.order) == 0.0:
        return False
    lu_solve(J, 3 * n, workspace.order, step)
    for k in range(n):
        o = 3 * k
        v = p[o] - bound[k]
        du[k] = (tau - u[k] * (v + step[o])) / v
        dlam[k] = 0.0
        dsigma[k] = 0.0
        if mu[k] > 0.0:
            radius = mu[k] * p[o]
            w1, w2 = p[o + 1] / radius, p[o + 2] / radius
            sigma = edge(mu[k], p, o)
            dsigma[k] = 0.5 * mu[k] * step[o] * (1.0 + w1 * w1 + w2 * w2) - w1 * step[o + 1] - w2 * step[o + 2]
            dlam[k] = (tau - lam[k] * (sigma + dsigma[k])) / sigma
    return True


@called
def longest(n, mu, bound, arc, p, u, lam, step, du, dlam, dsigma):
    """Part of the step that stays within the barriers; ``arc``: the edge of the cone is followed, its direction turns little."""
    part_of = 1.0 / TO_BOUNDARY
    turn = 1.0
    for k in range(n):
        o = 3 * k
        if step[o] < 0.0:
            part_of = min(part_of, (bound[k] - p[o]) / step[o])
        if du[k] < 0.0:
            part_of = min(part_of, -u[k] / du[k])
        if mu[k] == 0.0:
            continue
        if dlam[k] < 0.0:
            part_of = min(part_of, -lam[k] / dlam[k])
        m = mu[k]
        sigma = edge(m, p, o)
        if arc:
            if dsigma[k] < 0.0:
                part_of = min(part_of, -sigma / dsigma[k])
            f = step[o] / p[o]
            e1, e2 = step[o + 1] - f * p[o + 1], step[o + 2] - f * p[o + 2]
            turned = (e1 * e1 + e2 * e2) ** 0.5 / (m * p[o])
            if turned > TURN:
                turn = min(turn, TURN / turned)
        else:
            A = step[o + 1] ** 2 + step[o + 2] ** 2 - (m * step[o]) ** 2
            B = p[o + 1] * step[o + 1] + p[o + 2] * step[o + 2] - m * m * p[o] * step[o]
            C = 2.0 * sigma * m * p[o]
            if B * B + A * C >= 0.0:
                root = B + (B * B + A * C) ** 0.5
                if root > 0.0:
                    part_of = min(part_of, C / root)
    return min(turn, TO_BOUNDARY * part_of)


@called
def moved(n, mu, arc, part_of, p, u, lam, step, du, dlam, dsigma, q, u1, lam1):
    """q, u1, lam1 ← p, u, lam after a part of the step; ``arc``: p_T within the edge by the σ foreseen."""
    for k in range(n):
        o = 3 * k
        for a in range(o, o + 3):
            q[a] = p[a] + part_of * step[a]
        u1[k] = u[k] + part_of * du[k]
        lam1[k] = lam[k] + part_of * dlam[k]
        if arc and mu[k] > 0.0:
            radius = mu[k] * q[o]
            within = min(edge(mu[k], p, o) + part_of * dsigma[k], 0.5 * radius)
            most = max(radius * (radius - 2.0 * within), 0.0) ** 0.5
            size = (q[o + 1] * q[o + 1] + q[o + 2] * q[o + 2]) ** 0.5
            if size > most:
                q[o + 1] *= most / size
                q[o + 2] *= most / size


@called
def interior_point(n, D, c, mu, drag, bound, begin, goal, iterations, p, workspace):
    """The interior-point method from p_N = b + ``begin`` ρ times the velocities; p (3n,) becomes the best found.

    Returns (largest entry of Φ/ρ, steps). Theory, section 43.
    """
    line = workspace.line
    x, r, q, step, y, best = line[0], line[1], line[2], line[3], line[4], line[5]
    rho, u, lam = line[6, :n], line[6, n : 2 * n], line[6, 2 * n : 3 * n]
    du, dlam, dsigma = line[7, :n], line[7, n : 2 * n], line[7, 2 * n : 3 * n]
    u1, lam1 = line[8, :n], line[8, n : 2 * n]
    compliances(n, D, rho)
    speed = largest_velocity(n, D, c, bound)
    for k in range(n):
        p0 = bound[k] + begin * rho[k] * speed
        p[3 * k], p[3 * k + 1], p[3 * k + 2] = p0, drag[k, 0] * p0, drag[k, 1] * p0
        u[k], lam[k] = speed, speed
    least = 1e300
    attempt = POLISH * speed
    shrink = 0.1
    for it in range(iterations):
        velocities(n, D, c, p, x)
        worst = natural_map(n, x, mu, drag, bound, rho, p, r)
        if not worst < 1e300:
            break
        if worst < least:
            least = worst
            for a in range(3 * n):
                best[a] = p[a]
        if least > goal and worst < attempt:
            attempt = LESS * worst
            for a in range(3 * n):
                y[a] = p[a]
            # Newton's method on the natural map converges quadratically where the path only approaches
            polished = newton(n, D, c, mu, drag, bound, rho, goal, y, x, r, q, step, workspace)
            if polished < least:
                least = polished
                for a in range(3 * n):
                    best[a] = y[a]
            velocities(n, D, c, p, x)
        if least <= goal:
            for a in range(3 * n):
                p[a] = best[a]
            return least, it + 1
        arc = worst < ARC * speed
        mean, _ = products(n, mu, bound, p, u, lam)
        before = mismatch(n, x, mu, p, u, lam)
        if not barrier_step(n, D, x, mu, drag, bound, rho, shrink * mean, p, u, lam, step, du, dlam, dsigma, workspace):
            break
        part_of = longest(n, mu, bound, arc, p, u, lam, step, du, dlam, dsigma)
        for _ in range(CUTS):
            moved(n, mu, arc, part_of, p, u, lam, step, du, dlam, dsigma, q, u1, lam1)
            velocities(n, D, c, q, x)
            mean, smallest = products(n, mu, bound, q, u1, lam1)
            if smallest >= UNEVEN * mean and mismatch(n, x, mu, q, u1, lam1) <= GROWTH * GROWTH * before:
                break
            part_of *= CUT
        for a in range(3 * n):
            p[a] = q[a]
        for k in range(n):
            u[k], lam[k] = u1[k], lam1[k]
        # a step that reached far allows τ to fall fast: shrink is the part that the barriers cut off
        shrink = min(LARGEST_SHRINK, max(SHRINK, 1.0 - part_of))
    for a in range(3 * n):
        p[a] = best[a]
    return least, it + 1

"""Impulses of redundant contacts: an interior-point method on the law of contact and friction, then Newton's on its natural map.

Contacts on more points than a body has freedoms make D singular: impulses are not unique, and sweeps over the contacts converge
slowly or turn in circles. The law of `flexmbs.integrators.contact_problem`, p_N ≥ b, is here followed along the path
    ξ_N = u,  u (p_N − b) = τ;   ξ_T = −λ w,  w = p_T/(μ p_N),  λ σ = τ,  σ = ½ μ p_N (1 − |w|²),   τ → 0,
the path of the second-order cone program of De Saxcé's correction ξ_N + μ|ξ_T| but for a factor of 1 … 2 in τ. Its steps solve
with D + B, B the barriers' block diagonal, regular where D is not. Near the end Newton's method takes over, on
    Φ = p − P(p − ρ ξ),  P_N = max(b, ·),  P_T onto the disc of radius μ max(b, p_N),   ρ = 1/mean D_kk.
A contact with μ = 0 has p_T = p_N times a given ``drag`` (2,), that of a slip whose direction is known.
Both add a small multiple of the step's own diagonal to D: a proximal term that leaves the solution as it is.

Alart and Curnier (1991) Comput. Methods Appl. Mech. Eng. 92, 353; De Saxcé and Feng (1998) Math. Comput. Modelling 28, 225;
Acary, Brémond and Huber (2018), On solving contact problems with Coulomb friction; Wright (1997), Primal-Dual Interior-Point
Methods, ch. 6; Carpentier, Le Lidec and Montaut (2024), From compliant to rigid contact simulation.
"""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import called, part
from flexmbs._jit.address import address_of, call, seldom_entry
from flexmbs.algebra.pivoting import lu, lu_solve

PROXIMAL = 1e-10  # of the mean compliance
SHRINK, LARGEST_SHRINK = 0.02, 0.5  # of τ in a step
TO_BOUNDARY = 0.995
UNEVEN = 1e-4  # least product over their mean
GROWTH = 10.0  # of the residual in a step
CUTS, CUT = 8, 0.6
ARC = 1e-2  # of the velocities: residual below which steps follow the edge of the cone
TURN = 0.5  # of the direction of slip in such a step
POLISH, LESS = 1e-4, 0.1  # of the velocities: residual at which Newton's method is tried, and tried again
NEWTON, HALVINGS = 12, 12
INTERIOR, FARTHER, SPLITTINGS = 60, 100.0, 2000
ENOUGH = 1e-3  # of what is nearly solved: not worth the slow iteration
NO_END, NO_BOUND = -1, 1e5  # impulses that grow without bound, times their compliance over the velocities
FIRST_WEIGHT, SPLIT_PROXIMAL = 0.01, 1e-6


class Room(NamedTuple):
    """Scratch of the contact problem, and the problem of redundant contacts that is handed over."""

    drag: np.ndarray  # (n, 2)
    cone: np.ndarray  # (n,)
    bound: np.ndarray  # (n,)
    line: np.ndarray  # (14, 3n)
    matrix: np.ndarray  # (3n, 3n)
    order: np.ndarray  # (3n,) int64
    D: np.ndarray  # (3n, 3n)
    c: np.ndarray  # (3n,)
    mu: np.ndarray  # (n,)
    p: np.ndarray  # (3n,)
    solver: np.ndarray  # (1,) int64 address of `redundant_at`
    result: np.ndarray  # (2,) int64 steps, whether impulses exist


def make_room(n: int) -> Room:
    """Scratch for n contacts."""
    z = np.zeros
    return Room(
        z((n, 2)), z(n), z(n), z((14, 3 * n)), z((3 * n, 3 * n)), z(3 * n, np.int64), z((3 * n, 3 * n)), z(3 * n), z(n), z(3 * n),
        z(1, np.int64), z(2, np.int64),
    )  # fmt: skip


def connected(room: Room) -> Room:
    """Room that knows the kernel of redundant contacts, where there are contacts."""
    if len(room.cone):
        room.solver[0] = redundant_at.address(room, room, room)
    return room


@part
def compliances(n, D, rho):
    """ρ (n,) = 1/mean D_kk of each contact."""
    most = 0.0
    for a in range(3 * n):
        most = max(most, D[a, a])
    for k in range(n):
        o = 3 * k
        mean = (D[o, o] + D[o + 1, o + 1] + D[o + 2, o + 2]) / 3.0
        rho[k] = 1.0 / mean if mean > 1e-12 * most else 1.0 / max(most, 1e-300)


@part
def largest_velocity(n, D, c, bound):
    """Largest of c, and of the velocities that the impulses ``bound`` alone make at their contacts."""
    most = 0.0
    for a in range(3 * n):
        most = max(most, abs(c[a]))
    for k in range(n):
        most = max(most, bound[k] * D[3 * k, 3 * k])
    return most


@part
def velocities(n, D, c, p, x):
    """x ← D p + c"""
    for a in range(3 * n):
        each = c[a]
        for b in range(3 * n):
            each += D[a, b] * p[b]
        x[a] = each


@called
def natural_map(n, x, mu, drag, bound, rho, p, r):
    """r ← Φ(p)/ρ for the velocities x of p; returns its largest entry, a velocity."""
    worst = 0.0
    for k in range(n):
        o = 3 * k
        s = rho[k]
        r[o] = min((p[o] - bound[k]) / s, x[o])
        t1, t2 = p[o + 1] - s * x[o + 1], p[o + 2] - s * x[o + 2]
        radius = mu[k] * max(bound[k], p[o])
        size = (t1 * t1 + t2 * t2) ** 0.5
        if mu[k] == 0.0:
            r[o + 1], r[o + 2] = (p[o + 1] - drag[k, 0] * p[o]) / s, (p[o + 2] - drag[k, 1] * p[o]) / s
        elif size > radius:
            r[o + 1], r[o + 2] = (p[o + 1] - t1 * radius / size) / s, (p[o + 2] - t2 * radius / size) / s
        else:
            r[o + 1], r[o + 2] = x[o + 1], x[o + 2]
        for a in range(o, o + 3):
            if abs(r[a]) > worst or r[a] != r[a]:
                worst = abs(r[a])
    return worst


@part
def dragged_rows(o, size, drag, n, J):
    """Rows of p_T − drag p_N, times ``size``."""
    for a in range(2):
        for b in range(3 * n):
            J[o + 1 + a, b] = 0.0
        J[o + 1 + a, o + 1 + a] = size
        J[o + 1 + a, o] = -size * drag[a]


@called
def derivative(n, D, x, mu, drag, bound, rho, p, J):
    """J ← ∂(Φ/ρ)/∂p with the proximal term."""
    for k in range(n):
        o = 3 * k
        s = rho[k]
        for a in range(o, o + 3):
            for b in range(3 * n):
                J[a, b] = D[a, b]
            J[a, a] += PROXIMAL / s
        if p[o] - s * x[o] < bound[k]:
            for b in range(3 * n):
                J[o, b] = 0.0
            J[o, o] = 1.0 / s
        if mu[k] == 0.0:
            dragged_rows(o, 1.0 / s, drag[k], n, J)
            continue
        t1, t2 = p[o + 1] - s * x[o + 1], p[o + 2] - s * x[o + 2]
        radius = mu[k] * max(bound[k], p[o])
        size = (t1 * t1 + t2 * t2) ** 0.5
        if size <= radius and radius > 0.0:
            continue
        d1, d2 = (t1 / size, t2 / size) if size > 0.0 else (0.0, 0.0)
        part_of = radius / size if size > 0.0 else 0.0
        q11, q12, q22 = part_of * (1.0 - d1 * d1), -part_of * d1 * d2, part_of * (1.0 - d2 * d2)
        for b in range(3 * n):
            f, g = J[o + 1, b], J[o + 2, b]
            J[o + 1, b], J[o + 2, b] = q11 * f + q12 * g, q12 * f + q22 * g
        J[o + 1, o + 1] += (1.0 - q11) / s
        J[o + 1, o + 2] -= q12 / s
        J[o + 2, o + 1] -= q12 / s
        J[o + 2, o + 2] += (1.0 - q22) / s
        if p[o] > bound[k]:
            J[o + 1, o] -= mu[k] * d1 / s
            J[o + 2, o] -= mu[k] * d2 / s


@part
def squares(n, r):
    """|r|²"""
    each = 0.0
    for a in range(3 * n):
        each += r[a] * r[a]
    return each


@called
def newton(n, D, c, mu, drag, bound, rho, goal, p, x, r, q, y, room):
    """Newton's method on the natural map from p, which it improves; returns the largest entry of Φ/ρ. x, r, q, y: scratch."""
    velocities(n, D, c, p, x)
    worst = natural_map(n, x, mu, drag, bound, rho, p, r)
    for _ in range(NEWTON):
        if worst <= goal:
            break
        derivative(n, D, x, mu, drag, bound, rho, p, room.matrix)
        if lu(room.matrix, 3 * n, room.order) == 0.0:
            break
        before = squares(n, r)
        lu_solve(room.matrix, 3 * n, room.order, r)
        part_of = 1.0
        better = False
        for _ in range(HALVINGS):
            for a in range(3 * n):
                q[a] = p[a] - part_of * r[a]
            velocities(n, D, c, q, x)
            worst = natural_map(n, x, mu, drag, bound, rho, q, y)
            if squares(n, y) < (1.0 - 1e-4 * part_of) * before:
                better = True
                break
            part_of *= 0.5
        if not better:
            break
        for a in range(3 * n):
            p[a] = q[a]
            r[a] = y[a]
    velocities(n, D, c, p, x)
    return natural_map(n, x, mu, drag, bound, rho, p, r)


@part
def edge(mu, p, o):
    """σ of a contact, without cancellation."""
    radius = mu * p[o]
    size = (p[o + 1] * p[o + 1] + p[o + 2] * p[o + 2]) ** 0.5
    return max(0.5 * (radius - size) * (radius + size) / radius, 1e-17 * radius)


@part
def mismatch(n, x, mu, p, u, lam):
    """|(ξ_N − u, ξ_T + λ w)|²"""
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
def barrier_step(n, D, x, mu, drag, bound, rho, tau, p, u, lam, step, du, dlam, dsigma, room):
    """Newton's step (step, du, dlam) towards τ, and the change dsigma of σ; returns False where it is not found."""
    J = room.matrix
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
    if lu(J, 3 * n, room.order) == 0.0:
        return False
    lu_solve(J, 3 * n, room.order, step)
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
def interior_point(n, D, c, mu, drag, bound, begin, goal, iterations, p, room):
    """The interior-point method from p_N = b + ``begin`` ρ times the velocities; p becomes the best found.

    Returns (largest entry of Φ/ρ, steps).
    """
    line = room.line
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
            polished = newton(n, D, c, mu, drag, bound, rho, goal, y, x, r, q, step, room)
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
        if not barrier_step(n, D, x, mu, drag, bound, rho, shrink * mean, p, u, lam, step, du, dlam, dsigma, room):
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
        shrink = min(LARGEST_SHRINK, max(SHRINK, 1.0 - part_of))
    for a in range(3 * n):
        p[a] = best[a]
    return least, it + 1


@part
def nearest(m, b, f0, f1, f2):
    """The point nearest to (f0, f1, f2) with p_N ≥ b and |p_T| ≤ μ p_N."""
    size = (f1 * f1 + f2 * f2) ** 0.5
    normal, radius = f0, size
    if size > m * f0:
        normal = (f0 + m * size) / (1.0 + m * m) if m * size > -f0 else 0.0
        radius = m * normal
    if normal < b:
        normal, radius = b, min(size, m * b)
    scale = radius / size if size > 0.0 else 0.0
    return normal, scale * f1, scale * f2


@part
def split_matrix(n, D, rho, weight, room):
    """Factors of D + (weight + PROXIMAL) diag(1/ρ); False where it has none."""
    for k in range(n):
        for a in range(3 * k, 3 * k + 3):
            for b in range(3 * n):
                room.matrix[a, b] = D[a, b]
            room.matrix[a, a] += (weight + SPLIT_PROXIMAL) / rho[k]
    return lu(room.matrix, 3 * n, room.order) > 0.0


@called
def splitting(n, D, c, mu, drag, bound, goal, iterations, p, room):
    """Proximal ADMM on the cone program, De Saxcé's correction from the last iterate: slow but sure. p becomes the best found.

    Returns (largest entry of Φ/ρ, iterations).
    """
    line = room.line
    x, r, q, y, z, best = line[0], line[1], line[2], line[3], line[4], line[5]
    rho, s = line[6, :n], line[7]
    compliances(n, D, rho)
    speed = largest_velocity(n, D, c, bound)
    for a in range(3 * n):
        x[a], y[a], best[a], z[a] = 0.0, 0.0, 0.0, c[a]
    least = 1e300
    attempt = POLISH * speed
    weight = FIRST_WEIGHT
    if not split_matrix(n, D, rho, weight, room):
        return least, 0
    for it in range(iterations):
        for k in range(n):
            o = 3 * k
            f = weight / rho[k]
            for a in range(o, o + 3):
                x[a] = z[a] - c[a] + SPLIT_PROXIMAL / rho[k] * x[a] + f * y[a]
            x[o] -= mu[k] * (z[o + 1] * z[o + 1] + z[o + 2] * z[o + 2]) ** 0.5
            x[o] += drag[k, 0] * z[o + 1] + drag[k, 1] * z[o + 2]
        lu_solve(room.matrix, 3 * n, room.order, x)
        primal, dual, large, fast = 0.0, 0.0, 0.0, speed
        for k in range(n):
            o = 3 * k
            f = weight / rho[k]
            f0, f1, f2 = x[o] - z[o] / f, x[o + 1] - z[o + 1] / f, x[o + 2] - z[o + 2] / f
            if mu[k] > 0.0:
                f0, f1, f2 = nearest(mu[k], bound[k], f0, f1, f2)
            else:
                d1, d2 = drag[k, 0], drag[k, 1]
                f0 = max(bound[k], (f0 + d1 * f1 + d2 * f2) / (1.0 + d1 * d1 + d2 * d2))
                f1, f2 = d1 * f0, d2 * f0
            for a in range(o, o + 3):
                new = f0 if a == o else f1 if a == o + 1 else f2
                primal = max(primal, abs(x[a] - new) / rho[k])
                dual = max(dual, f * abs(new - y[a]))
                y[a] = new
                z[a] -= f * (x[a] - new)
                large = max(large, abs(new) / rho[k])
                fast = max(fast, abs(z[a]))
        if it % 10 < 9:
            continue
        velocities(n, D, c, y, s)
        for a in range(3 * n):
            fast = max(fast, abs(s[a]))
        worst = natural_map(n, s, mu, drag, bound, rho, y, r)
        if not worst < 1e300:
            break
        if large > NO_BOUND * fast:
            return least, NO_END
        if worst < least:
            least = worst
            for a in range(3 * n):
                best[a] = y[a]
        fresh = True
        if least > goal and worst < attempt:
            attempt = LESS * worst
            for a in range(3 * n):
                q[a] = y[a]
            polished = newton(n, D, c, mu, drag, bound, rho, goal, q, s, r, line[8], line[12], room)
            fresh = False
            if polished < least:
                least = polished
                for a in range(3 * n):
                    best[a] = q[a]
        if least <= goal:
            break
        off, still = primal * fast, dual * large
        if off > 5.0 * still or still > 5.0 * off:
            weight *= 2.0 if off > still else 0.5
            fresh = False
        if not fresh and not split_matrix(n, D, rho, weight, room):
            break
    for a in range(3 * n):
        p[a] = best[a]
    return least, it + 1


@called
def redundant(n, D, c, mu, drag, bound, goal, nearly, p, room):
    """Impulses p with Φ/ρ within ``goal``, or ``nearly`` where redundancy is broken by little more than round-off.

    Returns (steps, or 0: not found; whether impulses exist).
    """
    kept = room.line[13]
    least = 1e300
    steps = 0
    for attempt in range(3):
        if attempt < 2:
            begin = 1.0 if attempt == 0 else FARTHER
            found, used = interior_point(n, D, c, mu, drag, bound, begin, goal, INTERIOR, p, room)
        else:
            found, used = splitting(n, D, c, mu, drag, bound, goal, SPLITTINGS, p, room)
            if used == NO_END and least > nearly:
                return 0, False
        steps += used
        if found < least:
            least = found
            for a in range(3 * n):
                kept[a] = p[a]
        if least <= goal or (attempt == 1 and least <= ENOUGH * nearly):
            break
    for a in range(3 * n):
        p[a] = kept[a]
    return (steps if least <= nearly else 0), True


@seldom_entry
def redundant_at(room, first, second, m, goal, nearly):
    """`redundant` on the problem of the first m contacts that was handed over."""
    steps, exists = redundant(int(m), room.D, room.c, room.mu, room.drag, room.bound, goal, nearly, room.p, room)
    room.result[0] = steps
    room.result[1] = 1 if exists else 0
    return 0


@part
def solve_redundant(n, D, c, mu, goal, nearly, p, room):
    """`redundant` by address, with the bounds and drags of ``room``."""
    for a in range(3 * n):
        room.c[a] = c[a]
        room.p[a] = p[a]
        for b in range(3 * n):
            room.D[a, b] = D[a, b]
    for k in range(n):
        room.mu[k] = mu[k]
    place = address_of(room)
    call(room.solver[0], place, place, place, 1.0 * n, goal, nearly)
    for a in range(3 * n):
        p[a] = room.p[a]
    return room.result[0], room.result[1] == 1

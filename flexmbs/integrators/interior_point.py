"""Redundant contacts by an interior-point method.

The law of `flexmbs.integrators.contact_problem`, p_N ≥ b, is followed along the path

    ξ_N = u,  u (p_N − b) = τ;   ξ_T = −λ w,  w = p_T/(μ p_N),  λ σ = τ,  σ = ½ μ p_N (1 − |w|²),   τ → 0,

the path of the second-order cone program of De Saxcé's correction ξ_N + μ|ξ_T| but for a factor of
1 … 2 in τ. Its steps solve with D + B, B the barriers' block diagonal, regular where D is not. Near
the end Newton's method on the natural map takes over.

Theory: docs/theory.md, section 43. De Saxcé and Feng (1998), Math. Comput. Modelling 28, 225;
Acary, Brémond and Huber (2018), On solving contact problems with Coulomb friction; Wright,
Primal-Dual Interior-Point Methods (1997), chapter 6.
"""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import called, part
from flexmbs.algebra.pivoting import lu, lu_solve
from flexmbs.integrators.natural_map import (
    LESS,
    POLISH,
    PROXIMAL,
    compliances,
    dragged_rows,
    keep_better,
    largest_velocity,
    natural_map,
    polish,
    velocities,
)  # fmt: skip

SHRINK, LARGEST_SHRINK = 0.02, 0.5  # factors of τ in a step
TO_BOUNDARY = 0.995  # share of the step to the boundary, the usual choice of interior-point methods
UNEVEN = 1e-4  # least product over their mean
GROWTH = 10.0  # largest growth of the residual in a step
CUTS, CUT = 8, 0.6
ARC = 1e-2  # of the velocities: residual below which steps follow the edge of the cone
TURN = 0.5  # largest turn of the direction of slip in such a step


class Iterate(NamedTuple):
    """Unknowns of the path."""

    p: np.ndarray  # (3n,)
    u: np.ndarray  # (n,)
    lam: np.ndarray  # (n,) λ


class InteriorPointStep(NamedTuple):
    """Newton step of the unknowns, and the change of σ."""

    p: np.ndarray  # (3n,)
    u: np.ndarray  # (n,)
    lam: np.ndarray  # (n,)
    sigma: np.ndarray  # (n,)


@part
def edge(mu, p, o):
    """Distance σ = ½ μ p_N (1 − |w|²) of a friction force from the edge of its cone.

    As ½ (μ p_N − |p_T|)(μ p_N + |p_T|)/(μ p_N).
    """
    radius = mu * p[o]
    size = (p[o + 1] * p[o + 1] + p[o + 2] * p[o + 2]) ** 0.5
    return max(0.5 * (radius - size) * (radius + size) / radius, 1e-17 * radius)


@part
def mismatch(law, x, iterate):
    """Squared residual |(ξ_N − u, ξ_T + λ w)|² of the optimality conditions of all contacts.

    The residual of the path equations other than its products.
    """
    mu, p, u, lam = law.mu, iterate.p, iterate.u, iterate.lam
    each = 0.0
    for k in range(law.n):
        o = 3 * k
        each += (x[o] - u[k]) ** 2
        if mu[k] > 0.0:
            f = lam[k] / (mu[k] * p[o])
            each += (x[o + 1] + f * p[o + 1]) ** 2 + (x[o + 2] + f * p[o + 2]) ** 2
    return each


@part
def products(law, iterate):
    """Mean and least complementarity products u (p_N − b) and λ σ of all contacts."""
    mu, bound, p, u, lam = law.mu, law.bound, iterate.p, iterate.u, iterate.lam
    total = 0.0
    least = 1e300
    count = 0
    for k in range(law.n):
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


@part
def barrier_system(law, tau, iterate, workspace):
    """Assemble the Newton system of the interior-point step towards barrier parameter τ."""
    n, D, mu, drag, rho = law.n, law.D, law.mu, law.drag, law.rho
    p, u, lam, right, J, x = (
        iterate.p,
        iterate.u,
        iterate.lam,
        workspace.step.p,
        workspace.newton.matrix,
        workspace.newton.x,
    )
    for k in range(n):
        o = 3 * k
        for a in range(o, o + 3):
            for b in range(3 * n):
                J[a, b] = D[a, b]
            J[a, a] += PROXIMAL / rho[k]
            right[a] = -x[a]
        v = p[o] - law.bound[k]
        J[o, o] += u[k] / v
        right[o] += tau / v
        if mu[k] == 0.0:
            dragged_rows(o, 1.0 / rho[k], drag[k], n, J)
            right[o + 1] = (drag[k, 0] * p[o] - p[o + 1]) / rho[k]
            right[o + 2] = (drag[k, 1] * p[o] - p[o + 2]) / rho[k]
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
        right[o + 1] -= w1 * tau / sigma
        right[o + 2] -= w2 * tau / sigma


@called
def barrier_step(law, tau, iterate, workspace):
    """workspace.step ← Newton step towards τ from an iterate; False if it is not found.

    workspace.newton.x: velocities of the iterate. The change of σ is computed too. Linearized: ξ_N
    = u, ξ_T = −λ w, u (p_N − b) = τ, λ σ = τ; with u and λ eliminated, (D + B) Δp = −ξ + (τ/(p_N −
    b), −w τ/σ).
    """
    n, mu, p, u, lam, step = law.n, law.mu, iterate.p, iterate.u, iterate.lam, workspace.step
    J, order, dp = workspace.newton.matrix, workspace.newton.order, step.p
    barrier_system(law, tau, iterate, workspace)
    if lu(J, 3 * n, order) == 0.0:
        return False
    lu_solve(J, 3 * n, order, dp)
    for k in range(n):
        o = 3 * k
        v = p[o] - law.bound[k]
        step.u[k] = (tau - u[k] * (v + dp[o])) / v
        step.lam[k] = 0.0
        step.sigma[k] = 0.0
        if mu[k] > 0.0:
            radius = mu[k] * p[o]
            w1, w2 = p[o + 1] / radius, p[o + 2] / radius
            sigma = edge(mu[k], p, o)
            step.sigma[k] = (
                0.5 * mu[k] * dp[o] * (1.0 + w1 * w1 + w2 * w2) - w1 * dp[o + 1] - w2 * dp[o + 2]
            )
            step.lam[k] = (tau - lam[k] * (sigma + step.sigma[k])) / sigma
    return True


@called
def longest(law, arc, iterate, step):
    """Largest part of the step that keeps the iterate inside of the barriers.

    arc: the edge of the cone is followed, and the direction turns only a little.
    """
    mu, bound, p, u, lam, dp = law.mu, law.bound, iterate.p, iterate.u, iterate.lam, step.p
    part_of = 1.0 / TO_BOUNDARY
    turn = 1.0
    for k in range(law.n):
        o = 3 * k
        if dp[o] < 0.0:
            part_of = min(part_of, (bound[k] - p[o]) / dp[o])
        if step.u[k] < 0.0:
            part_of = min(part_of, -u[k] / step.u[k])
        if mu[k] == 0.0:
            continue
        if step.lam[k] < 0.0:
            part_of = min(part_of, -lam[k] / step.lam[k])
        m = mu[k]
        sigma = edge(m, p, o)
        if arc:
            if step.sigma[k] < 0.0:
                part_of = min(part_of, -sigma / step.sigma[k])
            f = dp[o] / p[o]
            e1, e2 = dp[o + 1] - f * p[o + 1], dp[o + 2] - f * p[o + 2]
            turned = (e1 * e1 + e2 * e2) ** 0.5 / (m * p[o])
            if turned > TURN:
                turn = min(turn, TURN / turned)
        else:
            A = dp[o + 1] ** 2 + dp[o + 2] ** 2 - (m * dp[o]) ** 2
            B = p[o + 1] * dp[o + 1] + p[o + 2] * dp[o + 2] - m * m * p[o] * dp[o]
            C = 2.0 * sigma * m * p[o]
            if B * B + A * C >= 0.0:
                root = B + (B * B + A * C) ** 0.5
                if root > 0.0:
                    part_of = min(part_of, C / root)
    return min(turn, TO_BOUNDARY * part_of)


@called
def moved(law, iterate, step, part_of, arc, trial):
    """trial ← the iterate after a part of the step.

    arc: p_T stays within the edge by the predicted σ.
    """
    mu, p, q = law.mu, iterate.p, trial.p
    for k in range(law.n):
        o = 3 * k
        for a in range(o, o + 3):
            q[a] = p[a] + part_of * step.p[a]
        trial.u[k] = iterate.u[k] + part_of * step.u[k]
        trial.lam[k] = iterate.lam[k] + part_of * step.lam[k]
        if arc and mu[k] > 0.0:
            radius = mu[k] * q[o]
            within = min(edge(mu[k], p, o) + part_of * step.sigma[k], 0.5 * radius)
            most = max(radius * (radius - 2.0 * within), 0.0) ** 0.5
            size = (q[o + 1] * q[o + 1] + q[o + 2] * q[o + 2]) ** 0.5
            if size > most:
                q[o + 1] *= most / size
                q[o + 2] *= most / size


@part
def start_of_path(law, begin, speed, iterate):
    """iterate ← start of the interior-point iteration with large normal impulses.

    speed: the largest velocity.
    """
    p, drag = iterate.p, law.drag
    for k in range(law.n):
        p0 = law.bound[k] + begin * law.rho[k] * speed
        p[3 * k], p[3 * k + 1], p[3 * k + 2] = p0, drag[k, 0] * p0, drag[k, 1] * p0
        iterate.u[k], iterate.lam[k] = speed, speed


@part
def advance(law, arc, before, workspace):
    """Move the iterate by the largest admissible part of the step; returns that part.

    Its products must remain even and its `mismatch` near ``before``.
    """
    iterate, trial, x = workspace.iterate, workspace.trial, workspace.newton.x
    part_of = longest(law, arc, iterate, workspace.step)
    for _ in range(CUTS):
        moved(law, iterate, workspace.step, part_of, arc, trial)
        velocities(law, trial.p, x)
        mean, smallest = products(law, trial)
        if smallest >= UNEVEN * mean and mismatch(law, x, trial) <= GROWTH * GROWTH * before:
            break
        part_of *= CUT
    for a in range(3 * law.n):
        iterate.p[a] = trial.p[a]
    for k in range(law.n):
        iterate.u[k], iterate.lam[k] = trial.u[k], trial.lam[k]
    return part_of


@called
def interior_point(law, begin, goal, iterations, p, workspace):
    """Solve the contact problem by an interior-point method, from large normal impulses.

    p (3n,) becomes the best iterate. Returns (largest entry of Φ/ρ, steps). Theory, section 43.
    """
    iterate, x, best = workspace.iterate, workspace.newton.x, workspace.best
    compliances(law)
    speed = largest_velocity(law)
    start_of_path(law, begin, speed, iterate)
    least = 1e300
    attempt = POLISH * speed
    shrink = 0.1
    steps = 0
    for it in range(iterations):
        steps = it + 1
        velocities(law, iterate.p, x)
        worst = natural_map(law, iterate.p, x, workspace.newton.r)
        if not worst < 1e300:
            break
        least = keep_better(law.n, worst, iterate.p, least, best)
        if least > goal and worst < attempt:
            # Newton's method on the natural map converges quadratically where the path only
            # approaches
            attempt = LESS * worst
            least = polish(law, goal, iterate.p, least, workspace)
            velocities(law, iterate.p, x)
        if least <= goal:
            break
        mean, _ = products(law, iterate)
        before = mismatch(law, x, iterate)
        if not barrier_step(law, shrink * mean, iterate, workspace):
            break
        # a step that reached far allows τ to fall fast: shrink is the part that the barriers cut
        # off
        shrink = min(
            LARGEST_SHRINK, max(SHRINK, 1.0 - advance(law, worst < ARC * speed, before, workspace))
        )
    for a in range(3 * law.n):
        p[a] = best[a]
    return least, steps

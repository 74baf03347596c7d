"""Redundant contacts by the alternating direction method of multipliers.

It is slow but reliable, for the problems that the interior-point method leaves unsolved.

    (D + (η + ε)/ρ) x = z − c − s(z) + (ε/ρ) x + (η/ρ) y,   y = P(x − ρ z/η),   z ← z − (η/ρ)(x − y),   s = (μ |z_T|, 0, 0),

with P the nearest point of the friction cone, s De Saxcé's correction, η a weight that balances
both residuals. Theory: docs/theory.md, section 43. Carpentier, Le Lidec and Montaut (2024), From
compliant to rigid contact simulation; De Saxcé and Feng (1998), Math. Comput. Modelling 28, 225.
"""

from flexmbs._jit import called, part
from flexmbs.algebra.pivoting import lu, lu_solve
from flexmbs.integrators.natural_map import (
    LESS,
    POLISH,
    compliances,
    keep_better,
    largest_velocity,
    natural_map,
    polish,
    velocities,
)  # fmt: skip

# larger impulses, times their compliance over the velocities, grow without bound
NO_END, NO_BOUND = -1, 1e5
FIRST_WEIGHT, SPLIT_PROXIMAL = 0.01, 1e-6


@part
def nearest(m, b, f0, f1, f2):
    """Project (f0, f1, f2) onto the friction cone {p_N ≥ b, |p_T| ≤ μ p_N}, μ = ``m``."""
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
def nearest_of(law, k, f0, f1, f2):
    """Project the force on the friction cone of contact k; with μ = 0 on p_T = p_N drag."""
    if law.mu[k] > 0.0:
        return nearest(law.mu[k], law.bound[k], f0, f1, f2)
    d1, d2 = law.drag[k, 0], law.drag[k, 1]
    f0 = max(law.bound[k], (f0 + d1 * f1 + d2 * f2) / (1.0 + d1 * d1 + d2 * d2))
    return f0, d1 * f0, d2 * f0


@part
def split_matrix(law, weight, newton):
    """Factor D + (η + `SPLIT_PROXIMAL`) diag(1/ρ), η = ``weight``; False if it is not regular."""
    n, D, rho = law.n, law.D, law.rho
    for k in range(n):
        for a in range(3 * k, 3 * k + 3):
            for b in range(3 * n):
                newton.matrix[a, b] = D[a, b]
            newton.matrix[a, a] += (weight + SPLIT_PROXIMAL) / rho[k]
    return lu(newton.matrix, 3 * n, newton.order) > 0.0


@part
def free_impulses(law, weight, workspace):
    """x ← minimizer of the quadratic term in an ADMM iteration, from x, y and z."""
    c, mu, drag, rho, x, y, z = (
        law.c,
        law.mu,
        law.drag,
        law.rho,
        workspace.x,
        workspace.y,
        workspace.z,
    )
    for k in range(law.n):
        o = 3 * k
        f = weight / rho[k]
        for a in range(o, o + 3):
            x[a] = z[a] - c[a] + SPLIT_PROXIMAL / rho[k] * x[a] + f * y[a]
        x[o] -= mu[k] * (z[o + 1] * z[o + 1] + z[o + 2] * z[o + 2]) ** 0.5
        x[o] += drag[k, 0] * z[o + 1] + drag[k, 1] * z[o + 2]
    lu_solve(workspace.newton.matrix, 3 * law.n, workspace.newton.order, x)


@part
def projected_impulses(law, weight, speed, workspace):
    """y ← projection on the cones, z ← multipliers of an ADMM iteration; its residuals.

    The largest entries of (x − y)/ρ, of η Δy/ρ, of y/ρ, and of z and ``speed``.
    """
    rho, x, y, z = law.rho, workspace.x, workspace.y, workspace.z
    primal, dual, large, fast = 0.0, 0.0, 0.0, speed
    for k in range(law.n):
        o = 3 * k
        f = weight / rho[k]
        f0, f1, f2 = nearest_of(
            law, k, x[o] - z[o] / f, x[o + 1] - z[o + 1] / f, x[o + 2] - z[o + 2] / f
        )
        for a in range(o, o + 3):
            new = f0 if a == o else f1 if a == o + 1 else f2
            primal = max(primal, abs(x[a] - new) / rho[k])
            dual = max(dual, f * abs(new - y[a]))
            y[a] = new
            z[a] -= f * (x[a] - new)
            large = max(large, abs(new) / rho[k])
            fast = max(fast, abs(z[a]))
    return primal, dual, large, fast


@called
def splitting(law, goal, iterations, p, workspace):
    """Solve the contact problem by proximal ADMM on the friction cones, from p.

    p (3n,) becomes the best iterate. Returns (largest entry of Φ/ρ, iterations). Theory, section
    43.
    """
    n, x, y, z, best, velocity = (
        law.n,
        workspace.x,
        workspace.y,
        workspace.z,
        workspace.best,
        workspace.newton.x,
    )
    compliances(law)
    speed = largest_velocity(law)
    for a in range(3 * n):
        x[a], y[a], best[a], z[a] = 0.0, 0.0, 0.0, law.c[a]
    least = 1e300
    attempt = POLISH * speed
    weight = FIRST_WEIGHT
    if not split_matrix(law, weight, workspace.newton):
        return least, 0
    for it in range(iterations):
        free_impulses(law, weight, workspace)
        primal, dual, large, fast = projected_impulses(law, weight, speed, workspace)
        # the natural map costs a further product with D: evaluate it in every tenth iteration
        if it % 10 < 9:
            continue
        velocities(law, y, velocity)
        for a in range(3 * n):
            fast = max(fast, abs(velocity[a]))
        worst = natural_map(law, y, velocity, workspace.newton.r)
        if not worst < 1e300:
            break
        if large > NO_BOUND * fast:
            return least, NO_END
        least = keep_better(n, worst, y, least, best)
        fresh = True
        if least > goal and worst < attempt:
            attempt = LESS * worst
            least = polish(law, goal, y, least, workspace)
            fresh = False
        if least <= goal:
            break
        off, still = primal * fast, dual * large
        # the weight balances the residuals of x = y and of the velocities
        if off > 5.0 * still or still > 5.0 * off:
            weight *= 2.0 if off > still else 0.5
            fresh = False
        if not fresh and not split_matrix(law, weight, workspace.newton):
            break
    for a in range(3 * n):
        p[a] = best[a]
    return least, it + 1

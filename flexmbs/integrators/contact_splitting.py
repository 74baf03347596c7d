"""Redundant contacts by the alternating direction method of multipliers: slow and sure, for what the interior point leaves.

    (D + (η + ε)/ρ) x = z − c − s(z) + (ε/ρ) x + (η/ρ) y,   y = P(x − ρ z/η),   z ← z − (η/ρ)(x − y),   s = (μ |z_T|, 0, 0),

with P the nearest point of the friction cone, s De Saxcé's correction, η a weight that balances both residuals. Theory:
docs/theory.md, section 43. Carpentier, Le Lidec and Montaut (2024), From compliant to rigid contact simulation; De Saxcé and Feng
(1998), Math. Comput. Modelling 28, 225.
"""

from flexmbs._jit import called, part
from flexmbs.algebra.pivoting import lu, lu_solve
from flexmbs.integrators.natural_map import LESS, POLISH, compliances, largest_velocity, natural_map, newton, velocities

NO_END, NO_BOUND = -1, 1e5  # impulses that grow without bound, times their compliance over the velocities
FIRST_WEIGHT, SPLIT_PROXIMAL = 0.01, 1e-6


@part
def nearest(m, b, f0, f1, f2):
    """The point of {p_N ≥ b, |p_T| ≤ μ p_N} nearest to (f0, f1, f2), μ = ``m``."""
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
def split_matrix(n, D, rho, weight, workspace):
    """Factors of D + (η + `SPLIT_PROXIMAL`) diag(1/ρ), η = ``weight``; False where it has none."""
    for k in range(n):
        for a in range(3 * k, 3 * k + 3):
            for b in range(3 * n):
                workspace.matrix[a, b] = D[a, b]
            workspace.matrix[a, a] += (weight + SPLIT_PROXIMAL) / rho[k]
    return lu(workspace.matrix, 3 * n, workspace.order) > 0.0


@called
def splitting(n, D, c, mu, drag, bound, goal, iterations, p, workspace):
    """Proximal ADMM on the cone program, De Saxcé's correction from the last iterate. p (3n,) becomes the best found.

    Returns (largest entry of Φ/ρ, iterations). Theory, section 43.
    """
    line = workspace.line
    x, r, q, y, z, best = line[0], line[1], line[2], line[3], line[4], line[5]
    rho, s = line[6, :n], line[7]
    compliances(n, D, rho)
    speed = largest_velocity(n, D, c, bound)
    for a in range(3 * n):
        x[a], y[a], best[a], z[a] = 0.0, 0.0, 0.0, c[a]
    least = 1e300
    attempt = POLISH * speed
    weight = FIRST_WEIGHT
    if not split_matrix(n, D, rho, weight, workspace):
        return least, 0
    for it in range(iterations):
        for k in range(n):
            o = 3 * k
            f = weight / rho[k]
            for a in range(o, o + 3):
                x[a] = z[a] - c[a] + SPLIT_PROXIMAL / rho[k] * x[a] + f * y[a]
            x[o] -= mu[k] * (z[o + 1] * z[o + 1] + z[o + 2] * z[o + 2]) ** 0.5
            x[o] += drag[k, 0] * z[o + 1] + drag[k, 1] * z[o + 2]
        lu_solve(workspace.matrix, 3 * n, workspace.order, x)
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
        # the natural map costs a product with D more: it is evaluated in every tenth iteration
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
            polished = newton(n, D, c, mu, drag, bound, rho, goal, q, s, r, line[8], line[12], workspace)
            fresh = False
            if polished < least:
                least = polished
                for a in range(3 * n):
                    best[a] = q[a]
        if least <= goal:
            break
        off, still = primal * fast, dual * large
        # the weight balances what the constraint x = y and what the velocities are off by
        if off > 5.0 * still or still > 5.0 * off:
            weight *= 2.0 if off > still else 0.5
            fresh = False
        if not fresh and not split_matrix(n, D, rho, weight, workspace):
            break
    for a in range(3 * n):
        p[a] = best[a]
    return least, it + 1

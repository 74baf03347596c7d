"""The law of contact and friction as an equation: its natural map, and Newton's method on it.

For impulses p with velocities ξ = D p + c,

    Φ = p − P(p − ρ ξ),   P_N = max(b, ·),   P_T onto the disc of radius μ max(b, p_N),   ρ = 1/mean D_kk,

is zero where p obeys the law of `flexmbs.integrators.contact_problem`. A contact with μ = 0 has p_T
= p_N times a given ``drag`` (2,), that of a slip whose direction is known. Theory: docs/theory.md,
section 43. Alart and Curnier (1991), Comput. Methods Appl. Mech. Eng. 92, 353; Acary and Brogliato,
Numerical Methods for Nonsmooth Dynamical Systems (2008), chapter 13.
"""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import called, part
from flexmbs.algebra.pivoting import lu, lu_solve

# of the mean compliance, added to D: a proximal term that leaves the solution as it is
PROXIMAL = 1e-10
NEWTON, HALVINGS = 12, 12
# of the velocities: residual at which Newton's method is tried after another method, and reduction
# after which it is tried again
POLISH, LESS = 1e-4, 0.1


class Inclusion(NamedTuple):
    """ξ = D p + c of n contacts, and the data of their law.

    Arrays may be longer than n contacts need.
    """

    n: int
    D: np.ndarray  # (3n, 3n) Delassus operator (1/kg)
    c: np.ndarray  # (3n,) velocities without impulses
    mu: np.ndarray  # (n,)
    drag: np.ndarray  # (n, 2) p_T/p_N of contacts with μ = 0
    bound: np.ndarray  # (n,) b
    rho: np.ndarray  # (n,) ρ (kg), from `compliances`


class NewtonWorkspace(NamedTuple):
    """Vectors and matrix of Newton's method on the natural map."""

    x: np.ndarray  # (3n,) velocities of an iterate
    r: np.ndarray  # (3n,) its Φ/ρ, then the step
    trial: np.ndarray  # (3n,)
    trial_r: np.ndarray  # (3n,) Φ/ρ of the trial
    matrix: np.ndarray  # (3n, 3n)
    order: np.ndarray  # (3n,) int64


@part
def compliances(law):
    """law.rho ← ρ (n,) = 1/mean D_kk (kg), scale between velocities and impulses of a contact."""
    n, D, rho = law.n, law.D, law.rho
    most = 0.0
    for a in range(3 * n):
        most = max(most, D[a, a])
    for k in range(n):
        o = 3 * k
        mean = (D[o, o] + D[o + 1, o + 1] + D[o + 2, o + 2]) / 3.0
        rho[k] = 1.0 / mean if mean > 1e-12 * most else 1.0 / max(most, 1e-300)


@part
def largest_velocity(law):
    """Scale of velocities: largest of c and of the velocities by the impulses b alone."""
    n, D, c, bound = law.n, law.D, law.c, law.bound
    most = 0.0
    for a in range(3 * n):
        most = max(most, abs(c[a]))
    for k in range(n):
        most = max(most, bound[k] * D[3 * k, 3 * k])
    return most


@part
def velocities(law, p, x):
    """x ← ξ = D p + c, the contact velocities after impulses p."""
    n, D, c = law.n, law.D, law.c
    for a in range(3 * n):
        each = c[a]
        for b in range(3 * n):
            each += D[a, b] * p[b]
        x[a] = each


@called
def natural_map(law, p, x, r):
    """r ← Φ(p)/ρ (3n,) for the velocities x = ξ of p; returns its largest entry, a velocity.

    Theory, section 43.
    """
    n, mu, drag, bound, rho = law.n, law.mu, law.drag, law.bound, law.rho
    worst = 0.0
    for k in range(n):
        o = 3 * k
        s = rho[k]
        r[o] = min((p[o] - bound[k]) / s, x[o])
        t1, t2 = p[o + 1] - s * x[o + 1], p[o + 2] - s * x[o + 2]
        radius = mu[k] * max(bound[k], p[o])
        size = (t1 * t1 + t2 * t2) ** 0.5
        if mu[k] == 0.0:
            r[o + 1], r[o + 2] = (
                (p[o + 1] - drag[k, 0] * p[o]) / s,
                (p[o + 2] - drag[k, 1] * p[o]) / s,
            )
        elif size > radius:
            r[o + 1], r[o + 2] = (
                (p[o + 1] - t1 * radius / size) / s,
                (p[o + 2] - t2 * radius / size) / s,
            )
        else:
            r[o + 1], r[o + 2] = x[o + 1], x[o + 2]
        for a in range(o, o + 3):
            if abs(r[a]) > worst or r[a] != r[a]:
                worst = abs(r[a])
    return worst


@part
def dragged_rows(o, size, drag, n, J):
    """J ← rows of p_T − drag p_N of contact o, times ``size``."""
    for a in range(2):
        for b in range(3 * n):
            J[o + 1 + a, b] = 0.0
        J[o + 1 + a, o + 1 + a] = size
        J[o + 1 + a, o] = -size * drag[a]


@called
def derivative(law, p, x, J):
    """J (3n, 3n) ← ∂(Φ/ρ)/∂p with the proximal term; x = ξ of p.

    Generalized derivative of Alart and Curnier 1991.
    """
    n, D, mu, drag, bound, rho = law.n, law.D, law.mu, law.drag, law.bound, law.rho
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
    """Sum of squares |r|² of the first n numbers."""
    each = 0.0
    for a in range(3 * n):
        each += r[a] * r[a]
    return each


@called
def newton(law, goal, p, workspace):
    """Newton's method on the natural map, until Φ/ρ is within ``goal``; returns its largest entry.

    p is improved in place. Steps are halved until |Φ/ρ|² falls (Armijo's rule); workspace: a
    `NewtonWorkspace`. Theory, section 43.
    """
    n, x, r, trial, trial_r = law.n, workspace.x, workspace.r, workspace.trial, workspace.trial_r
    velocities(law, p, x)
    worst = natural_map(law, p, x, r)
    for _ in range(NEWTON):
        if worst <= goal:
            break
        derivative(law, p, x, workspace.matrix)
        if lu(workspace.matrix, 3 * n, workspace.order) == 0.0:
            break
        before = squares(n, r)
        lu_solve(workspace.matrix, 3 * n, workspace.order, r)
        part_of = 1.0
        better = False
        for _ in range(HALVINGS):
            for a in range(3 * n):
                trial[a] = p[a] - part_of * r[a]
            velocities(law, trial, x)
            worst = natural_map(law, trial, x, trial_r)
            if squares(n, trial_r) < (1.0 - 1e-4 * part_of) * before:
                better = True
                break
            part_of *= 0.5
        if not better:
            break
        for a in range(3 * n):
            p[a] = trial[a]
            r[a] = trial_r[a]
    velocities(law, p, x)
    return natural_map(law, p, x, r)


@part
def keep_better(n, worst, p, least, best):
    """best ← p (3n,) if ``worst`` is below the ``least`` so far; returns the lower one.

    worst: largest entry of Φ/ρ of p.
    """
    if not worst < least:
        return least
    for a in range(3 * n):
        best[a] = p[a]
    return worst


@part
def polish(law, goal, p, least, workspace):
    """Improve p (3n,) by Newton's method; p is unchanged if this fails.

    `keep_better` of its result into ``workspace.best``.
    """
    polished = workspace.polished
    for a in range(3 * law.n):
        polished[a] = p[a]
    worst = newton(law, goal, polished, workspace.newton)
    return keep_better(law.n, worst, polished, least, workspace.best)

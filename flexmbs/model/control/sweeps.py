"""Recursions over a rigid tree of axes in link axes, compiled into controllers and robot terms.

    A_k = R_k exp(q_k ñ_k),   r_k = x_k + q_k R_k d_k          pose of link k in its parent,
    ω_k = A_kᵀ ω_p + n q̇,    ω̇_k = A_kᵀ ω̇_p + n q̈ + (A_kᵀ ω_p) × n q̇,
    a_k = A_kᵀ [a_p + ω̇_p × r + ω_p × (ω_p × r + 2 R d q̇)] + d q̈    with −g at the ground,
    F_k = m a + ω̇ × c + ω × (ω × c),   N_k = J ω̇ + ω × J ω + c × a,
    τ_k = n·N_k + d·F_k,   F_p += A_k F_k,   N_p += A_k N_k + r_k × A_k F_k.

Luh, Walker, Paul, J. Dyn. Sys. Meas. Control 102 (1980) 69. The mass matrix follows from the
inertia of the subtree behind each axis: Featherstone, Rigid Body Dynamics Algorithms (2008),
section 6.2. Rotors: `flexmbs.dynamics.rotors`.

Matrices lie row by row in flat arrays, so that parameters of a law can be used without copies.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexmbs.algebra.vectors import add, cross, dot, load3, load9, mul, scale, store3, sub, tmul
from flexmbs.law_kernel import LawPart

if TYPE_CHECKING:
    from flexmbs.model.control.tree import RobotTree

WORK_NUMBERS = 27  # of one link in `LinkMotions`


class FlatTree(NamedTuple):
    """Tree of n axes in flat arrays."""

    parent: np.ndarray  # (n)
    R: np.ndarray  # (9 n) R,
    RK: np.ndarray  # (9 n) R ñ,
    RKK: np.ndarray  # (9 n) R ñ²
    x: np.ndarray  # (3 n)
    turn: np.ndarray  # (3 n)
    slide: np.ndarray  # (3 n)
    mass: np.ndarray  # (n)
    moment: np.ndarray  # (3 n) mass times mass centre
    inertia: np.ndarray  # (9 n) about the origin
    armature: np.ndarray  # (n) inertia of motors reflected to the axis
    viscous: np.ndarray  # (n) friction per unit rate
    coulomb: np.ndarray  # (n) friction at positive rates
    reverse: np.ndarray  # (n) friction at negative rates
    rotor_axis: np.ndarray  # (r) axis that drives the rotor
    rotor_link: np.ndarray  # (r) link that carries it
    spin: np.ndarray  # (3 r) ratio times inertia, axes of the link


class LinkMotions(NamedTuple):
    """Workspace of a recursion over n links, in axes of each link."""

    A: np.ndarray  # (9 n) rotation from the link to its parent
    r: np.ndarray  # (3 n) origin in the parent
    w: np.ndarray  # (3 n) angular velocity
    wd: np.ndarray  # (3 n) angular acceleration
    a: np.ndarray  # (3 n) acceleration of the origin, less gravity
    F: np.ndarray  # (3 n) force
    N: np.ndarray  # (3 n) moment about the origin


def flat_numbers(tree: "RobotTree") -> np.ndarray:
    """Numbers of a tree in the order of `flat_tree`."""
    parts = (
        tree.parent, tree.R, tree.RK, tree.RKK, tree.x, tree.turn, tree.slide, tree.mass,
        tree.first, tree.inertia, tree.rotors.reflected, *tree.friction.T,
        tree.rotors.coordinate, tree.rotors.node, tree.rotors.spin,
    )  # fmt: skip
    return np.concatenate([np.ravel(each).astype(float) for each in parts])


@LawPart
def flat_tree(p, at, n, rotors):
    """(`FlatTree` of n axes, end) whose numbers begin at p[at]."""
    R = at + n
    RK = R + 9 * n
    RKK = RK + 9 * n
    x = RKK + 9 * n
    turn = x + 3 * n
    slide = turn + 3 * n
    mass = slide + 3 * n
    moment = mass + n
    inertia = moment + 3 * n
    armature = inertia + 9 * n
    viscous = armature + n
    coulomb = viscous + n
    reverse = coulomb + n
    axis = reverse + n
    link = axis + rotors
    spin = link + rotors
    end = spin + 3 * rotors
    tree = FlatTree(
        p[at:R], p[R:RK], p[RK:RKK], p[RKK:x], p[x:turn], p[turn:slide], p[slide:mass],
        p[mass:moment], p[moment:inertia], p[inertia:armature],
        p[armature:viscous], p[viscous:coulomb], p[coulomb:reverse], p[reverse:axis],
        p[axis:link], p[link:spin], p[spin:end],
    )  # fmt: skip
    return tree, end


@LawPart
def link_motions(u, at, n):
    """`LinkMotions` of n links in the workspace u[at:at + 27 n]."""
    r = at + 9 * n
    w = r + 3 * n
    wd = w + 3 * n
    a = wd + 3 * n
    F = a + 3 * n
    N = F + 3 * n
    return LinkMotions(u[at:r], u[r:w], u[w:wd], u[wd:a], u[a:F], u[F:N], u[N : N + 3 * n])


@LawPart
def place_link(tree, q, k, links):
    """A_k and r_k of link k in its parent; returns R d (3)."""
    s = math.sin(q[k])
    h = math.sin(0.5 * q[k])
    h = 2.0 * h * h
    for a in range(9 * k, 9 * k + 9):
        links.A[a] = tree.R[a] + s * tree.RK[a] + h * tree.RKK[a]
    along = mul(load9(tree.R, 9 * k), load3(tree.slide, 3 * k))
    store3(links.r, 3 * k, add(load3(tree.x, 3 * k), scale(q[k], along)))
    return along


@LawPart
def newton_euler(tree, q, qd, qdd, g, links, tau):
    """τ (n) of the motion q, q̇, q̈ (n) under gravity g (3)."""
    for k in range(len(tree.parent)):
        p, i = int(tree.parent[k]), 3 * k
        along = place_link(tree, q, k, links)
        A, r = load9(links.A, 3 * i), load3(links.r, i)
        if p < 0:
            wp, wdp, ap = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), scale(-1.0, g)
        else:
            wp, wdp, ap = load3(links.w, 3 * p), load3(links.wd, 3 * p), load3(links.a, 3 * p)
        ap = add(ap, add(cross(wdp, r), cross(wp, add(cross(wp, r), scale(2.0 * qd[k], along)))))
        spin = scale(qd[k], load3(tree.turn, i))
        wp = tmul(A, wp)
        w = add(wp, spin)
        wd = add(tmul(A, wdp), add(scale(qdd[k], load3(tree.turn, i)), cross(wp, spin)))
        a = add(tmul(A, ap), scale(qdd[k], load3(tree.slide, i)))
        store3(links.w, i, w)
        store3(links.wd, i, wd)
        store3(links.a, i, a)
        c, J = load3(tree.moment, i), load9(tree.inertia, 3 * i)
        store3(links.F, i, add(scale(tree.mass[k], a), add(cross(wd, c), cross(w, cross(w, c)))))
        store3(links.N, i, add(mul(J, wd), add(cross(w, mul(J, w)), cross(c, a))))
        tau[k] = tree.armature[k] * qdd[k]
    for j in range(len(tree.rotor_axis)):
        k, i = int(tree.rotor_axis[j]), 3 * int(tree.rotor_link[j])
        spin = load3(tree.spin, 3 * j)
        tau[k] += dot(spin, load3(links.wd, i))
        moment = add(scale(qdd[k], spin), scale(qd[k], cross(load3(links.w, i), spin)))
        store3(links.N, i, add(load3(links.N, i), moment))
    forces_inward(tree, links, tau)


@LawPart
def add_friction(tree, qd, tau):
    """Add viscous and Coulomb friction at the rates q̇ to τ (n); none at rest."""
    for k in range(len(tree.parent)):
        tau[k] += tree.viscous[k] * qd[k]
        if qd[k] > 0.0:
            tau[k] += tree.coulomb[k]
        elif qd[k] < 0.0:
            tau[k] -= tree.reverse[k]


@LawPart
def forces_inward(tree, links, tau):
    """τ_k += n·N_k + d·F_k, forces and moments summed towards the ground."""
    n = len(tree.parent)
    for j in range(n):
        k = n - 1 - j
        i, p = 3 * k, 3 * int(tree.parent[k])
        F, N = load3(links.F, i), load3(links.N, i)
        tau[k] += dot(load3(tree.turn, i), N) + dot(load3(tree.slide, i), F)
        if p >= 0:
            A = load9(links.A, 3 * i)
            F = mul(A, F)
            N = add(mul(A, N), cross(load3(links.r, i), F))
            store3(links.F, p, add(load3(links.F, p), F))
            store3(links.N, p, add(load3(links.N, p), N))


class Subtrees(NamedTuple):
    """Workspace of the mass matrix: inertia of the links behind each axis, about its origin."""

    A: np.ndarray  # (9 n) as in `LinkMotions`
    r: np.ndarray  # (3 n)
    mass: np.ndarray  # (n)
    moment: np.ndarray  # (3 n)
    inertia: np.ndarray  # (9 n)


@LawPart
def subtrees(u, at, n):
    """`Subtrees` of n links in the workspace u[at:]."""
    r = at + 9 * n
    mass = r + 3 * n
    moment = mass + n
    inertia = moment + 3 * n
    return Subtrees(
        u[at:r], u[r:mass], u[mass:moment], u[moment:inertia], u[inertia : inertia + 9 * n]
    )


@LawPart
def add_to_parent(links, k, p):
    """Add the inertia of link k to that of its parent p, about its origin, in its axes."""
    A, r, m = load9(links.A, 9 * k), load3(links.r, 3 * k), links.mass[k]
    J, c = load9(links.inertia, 9 * k), mul(A, load3(links.moment, 3 * k))
    half = add(c, scale(0.5 * m, r))
    both = 2.0 * dot(r, half)
    for a in range(3):
        row = mul(A, mul(J, load3(links.A, 9 * k + 3 * a)))
        for b in range(3):
            shift = both if a == b else 0.0
            links.inertia[9 * p + 3 * a + b] += row[b] + shift - r[a] * half[b] - half[a] * r[b]
    links.mass[p] += m
    store3(links.moment, 3 * p, add(load3(links.moment, 3 * p), add(c, scale(m, r))))


@LawPart
def mass_matrix(tree, q, links, D):
    """D (n²) ← mass matrix at q (n), row by row."""
    n = len(tree.parent)
    for k in range(n):
        place_link(tree, q, k, links)
        links.mass[k] = tree.mass[k]
        for a in range(3 * k, 3 * k + 3):
            links.moment[a] = tree.moment[a]
        for a in range(9 * k, 9 * k + 9):
            links.inertia[a] = tree.inertia[a]
        for j in range(n):
            D[n * k + j] = 0.0
    for j in range(n):
        k = n - 1 - j
        p = int(tree.parent[k])
        if p >= 0:
            add_to_parent(links, k, p)
        turn, slide = load3(tree.turn, 3 * k), load3(tree.slide, 3 * k)
        c = load3(links.moment, 3 * k)
        F = add(scale(links.mass[k], slide), cross(turn, c))
        N = add(mul(load9(links.inertia, 9 * k), turn), cross(c, slide))
        D[n * k + k] = tree.armature[k] + dot(turn, N) + dot(slide, F)
        i = k
        while p >= 0:
            A = load9(links.A, 9 * i)
            F = mul(A, F)
            N = add(mul(A, N), cross(load3(links.r, 3 * i), F))
            D[n * k + p] = dot(load3(tree.turn, 3 * p), N) + dot(load3(tree.slide, 3 * p), F)
            D[n * p + k] = D[n * k + p]
            i, p = p, int(tree.parent[p])
    for j in range(len(tree.rotor_axis)):
        k, i = int(tree.rotor_axis[j]), int(tree.rotor_link[j])
        spin = load3(tree.spin, 3 * j)
        while i >= 0:
            coupling = dot(spin, load3(tree.turn, 3 * i))
            D[n * k + i] += coupling
            D[n * i + k] += coupling
            spin = mul(load9(links.A, 9 * i), spin)
            i = int(tree.parent[i])


@LawPart
def world_poses(tree, q, links, R, o):
    """R (9 n) and o (3 n) ← rotations and origins of all links in the world."""
    for k in range(len(tree.parent)):
        place_link(tree, q, k, links)
        p = int(tree.parent[k])
        if p < 0:
            for a in range(9 * k, 9 * k + 9):
                R[a] = links.A[a]
            store3(o, 3 * k, load3(links.r, 3 * k))
        else:
            P = load9(R, 9 * p)
            store3(o, 3 * k, add(load3(o, 3 * p), mul(P, load3(links.r, 3 * k))))
            for a in range(3):
                row = tmul(load9(links.A, 9 * k), (P[3 * a], P[3 * a + 1], P[3 * a + 2]))
                store3(R, 9 * k + 3 * a, row)


@LawPart
def point_twist(tree, R, o, k, x):
    """Velocity of a point x (3) and angular velocity (3) per unit rate of axis k, in the world."""
    P = load9(R, 9 * k)
    turn, slide = mul(P, load3(tree.turn, 3 * k)), mul(P, load3(tree.slide, 3 * k))
    return add(cross(turn, sub(x, load3(o, 3 * k))), slide), turn


@LawPart
def point_jacobian(tree, R, o, link, x, rows, J):
    """J (rows · n) ← velocity of a point x (3) of a link, with 6 rows angular velocity, per rate."""
    n = len(tree.parent)
    for a in range(rows * n):
        J[a] = 0.0
    k = link
    while k >= 0:
        v, w = point_twist(tree, R, o, k, x)
        for a in range(3):
            J[n * a + k] = v[a]
            if rows > 3:
                J[n * (3 + a) + k] = w[a]
        k = int(tree.parent[k])


@LawPart
def factor_definite(D, n):
    """Cholesky factor of a symmetric positive definite D (n²) in place, lower triangle.

    Returns the smallest pivot relative to its diagonal element; 0.0 if one is not positive.
    """
    least = 1.0
    for k in range(n):
        pivot = D[n * k + k]
        for j in range(k):
            for i in range(j):
                D[n * k + j] -= D[n * k + i] * D[n * j + i]
            D[n * k + j] /= D[n * j + j]
            pivot -= D[n * k + j] * D[n * k + j]
        if not pivot > 0.0:
            return 0.0
        least = min(least, pivot / D[n * k + k])
        D[n * k + k] = math.sqrt(pivot)
    return least


@LawPart
def solve_factored(D, n, b, at):
    """b[at:at + n] ← D⁻¹ b[at:at + n] by the factor of `factor_definite`."""
    for k in range(n):
        for j in range(k):
            b[at + k] -= D[n * k + j] * b[at + j]
        b[at + k] /= D[n * k + k]
    for i in range(n):
        k = n - 1 - i
        b[at + k] /= D[n * k + k]
        for j in range(k):
            b[at + j] -= D[n * k + j] * b[at + k]

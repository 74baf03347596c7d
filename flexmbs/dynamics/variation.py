"""Terms of a variational step on the group.

Momenta, the change of momentum due to the variation of the mass matrix, gaps at both ends. The
discrete Lagrangian of the trapezoidal rule on a Lie group with a configuration-dependent mass
matrix needs, besides the forces at both ends,

    e₀ = d − ½ h 𝒟M₀ Δ + b,   e₁ = d − ½ h 𝒟M₁ Δ − b,   d = ½ (M₁ − M₀) Δ,
    b = (½ x coth ½ x − 1) ½ (M₀ + M₁) Δ − ½ x d,   x = ad*_{hΔ},

with the derivative 𝒟 along Δ, for constant Δ, and p = M s. `flexmbs.integrators.rattle` uses them.

Theory: docs/theory.md, section 48. Hante and Arnold (2021), J. Comput. Appl. Math. 387, 112492
(RATTLE on Lie groups); Hairer, Lubich and Wanner, Geometric Numerical Integration (2006), section
VI.6 (variational integrators).
"""

import math
from typing import NamedTuple

import numpy as np

from flexmbs._jit import called, part
from flexmbs.algebra.small import add, cross, largest_over, scale
from flexmbs.dynamics.equations import clear_energies, inward, kinematics, motion_of_bodies
from flexmbs.dynamics.inertia import inertia_force
from flexmbs.dynamics.kinematics import displace
from flexmbs.dynamics.rotors import apply_rotors, rotor_loads
from flexmbs.system.records import Evaluation

DEPENDENT = 1e-9  # of the length of a row: remainder of a dependent row due to round-off
# of comparable displacements: distance of the points of the fourth-order differences for 𝒟M Δ
DISPLACEMENT = 1e-3


class Variation(NamedTuple):
    """Workspace of a variational step."""

    d: np.ndarray  # (ns,)
    p: np.ndarray  # (ns,)
    other: np.ndarray  # (ns,)
    step: np.ndarray  # (ns,)
    q: np.ndarray  # (nq,)
    gap: np.ndarray  # (nc,) at the end of the step; for cuts along the rows below
    rows: np.ndarray  # (nc, 6) orthonormal basis of the closed directions at the end of the step
    sizes: np.ndarray  # (ns,) comparable displacements


def make_variation(nq: int, nc: int, sizes: np.ndarray) -> Variation:
    """Allocate the workspace of variational integrators."""
    z, ns = np.zeros, len(sizes)
    return Variation(z(ns), z(ns), z(ns), z(ns), z(nq), z(nc), z((nc, 6)), sizes)


@part
def coadjoint(v, w, f, n):
    """ad*_V p = ad(V)ᵀ p = (f × ω, n × ω + f × v) of the momentum p = (f, n), V = (v, w).

    The rate of a constant spatial momentum seen from a body with the twist V (theory, section 48).
    """
    return cross(f, w), add(cross(n, w), cross(f, v))


@part
def group_term(v, w, f, n, df, dn):
    """b = (½ x coth ½ x − 1) p − ½ x d with x = ad*_V: correction of momenta on the group.

    p = (f, n), d = (df, dn). ½ x coth ½ x = 1 + x²/12 − x⁴/720 + x⁶/30240 − x⁸/1209600 +
    x¹⁰/47900160 − … (theory, section 48).
    """
    bf, bn = coadjoint(v, w, df, dn)
    bf, bn = scale(-0.5, bf), scale(-0.5, bn)
    for j in range(5):
        f, n = coadjoint(v, w, f, n)
        f, n = coadjoint(v, w, f, n)
        if j == 0:
            c = 1.0 / 12.0
        elif j == 1:
            c = -1.0 / 720.0
        elif j == 2:
            c = 1.0 / 30240.0
        elif j == 3:
            c = -1.0 / 1209600.0
        else:
            c = 1.0 / 47900160.0
        bf, bn = add(bf, scale(c, f)), add(bn, scale(c, n))
    return bf, bn


@called
def momentum(system, work, q, s, p):
    """p ← M(q) s (ns,), generalized momentum by sweeps.

    Inertia forces of the accelerations s at rest, without weight and elastic forces.
    """
    tree = system.tree
    for a in range(p.shape[0]):
        p[a] = 0.0
    geared = system.rotors.body.shape[0] > 0
    if geared:
        # weight does not enter relative or angular accelerations
        kinematics(system, work, 0.0, q, work.zero, s)
        rotor_loads(system, work, Evaluation(q, work.zero, s, work.zero, work.zero, p))
    motion_of_bodies(system, work, 0.0, (q, work.zero, s), 1.0)
    for i in range(tree.parent.shape[0]):
        inertia_force(system, work, i, Evaluation(q, work.zero, s, work.zero, work.zero, p), work.U)
        to = tree.sf_at[i]
        for k in range(tree.nf[i]):
            for l in range(tree.nf[i]):
                # `inertia_force` includes K_ff q_f, which is not a momentum
                p[to + k] -= system.bodies.k_ff[i, l, k] * q[tree.qf_at[i] + l]
    if geared:
        clear_energies(system, work)
        apply_rotors(system, work, q)
        for a in range(p.shape[0]):
            p[a] -= work.force[a]
        for i in range(tree.parent.shape[0]):
            for a in range(6):
                work.motion.wrench[i, a] -= work.motion.applied[i, a]
    inward(tree, work.frames, work.motion, q, p)


@part
def group_terms(system, delta, p, d, e0, e1):
    """e₀ += b, e₁ −= b for the joint motions that do not commute: balls and free motions."""
    tree, joints = system.tree, system.joints
    for i in range(tree.parent.shape[0]):
        at = tree.s_at[i]
        j = tree.joint[i]
        for m in range(joints.first[j], joints.end[j]):
            nv = joints.motion_nv[m]
            if nv >= 3:
                v, f, df = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
                to = at
                if nv == 6:
                    v = (delta[at], delta[at + 1], delta[at + 2])
                    f = (p[at], p[at + 1], p[at + 2])
                    df = (d[at], d[at + 1], d[at + 2])
                    to = at + 3
                w = (delta[to], delta[to + 1], delta[to + 2])
                n, dn = (p[to], p[to + 1], p[to + 2]), (d[to], d[to + 1], d[to + 2])
                bf, bn = group_term(v, w, f, n, df, dn)
                for a in range(3):
                    e0[to + a] += bn[a]
                    e1[to + a] -= bn[a]
                    if nv == 6:
                        e0[at + a] += bf[a]
                        e1[at + a] -= bf[a]
                at = to + 3
            else:
                at += nv


@part
def variation(system, work, scratch, points, h, constant, terms):
    """e₀ and e₁ (ns,): derivatives of the discrete action of a step h between two points.

    The step leads from the positions of the first point to those of the second, with the velocity Δ
    and the displacement hΔ of the second. constant: M does not depend on q, e = ±b. The derivative
    along Δ is computed by differences of fourth order. Theory, section 48.
    """
    start, end = points
    e0, e1 = terms
    speed = end.s
    ns = speed.shape[0]
    for a in range(ns):
        e0[a] = 0.0
        e1[a] = 0.0
    d, p, other, moved = scratch.d, scratch.p, scratch.other, scratch.q
    momentum(system, work, start.q, speed, p)
    if constant:
        for a in range(ns):
            d[a] = 0.0
        group_terms(system, end.d, p, d, e0, e1)
        return
    momentum(system, work, end.q, speed, other)
    for a in range(ns):
        d[a] = 0.5 * (other[a] - p[a])
        p[a] += d[a]
    group_terms(system, end.d, p, d, e0, e1)
    size = largest_over(speed, scratch.sizes)
    if size == 0.0:
        return
    # the points of the difference lie at equal distances along the motion, so that its errors do
    # not depend on the speed
    time = DISPLACEMENT / size
    for side in range(2):
        base = start.q if side == 0 else end.q
        e = e0 if side == 0 else e1
        for j in range(4):
            place = -2.0 if j == 0 else -1.0 if j == 1 else 1.0 if j == 2 else 2.0
            weight = (1.0 if j == 0 else -8.0 if j == 1 else 8.0 if j == 2 else -1.0) / 12.0
            for a in range(ns):
                scratch.step[a] = place * time * speed[a]
            displace(system.tree, system.joints, base, scratch.step, moved)
            momentum(system, work, moved, speed, other)
            for a in range(ns):
                e[a] -= 0.5 * h * weight / time * other[a]
        for a in range(ns):
            e[a] += d[a]


@part
def keep_gap(cuts, cut, gs, gap, rows):
    """Store the constraint values g at the end of the step for the rows of a cut.

    The basis U spans the rows of 𝒯₁; U w = e where 𝒯₁ w = g. Gram-Schmidt on the rows of 𝒯₁ with
    their g: the rows of relations and of user functions have arbitrary length and are not
    orthogonal. A row that depends on the rows before it adds no direction.
    """
    for a in range(gap.shape[0]):
        gap[a] = gs.position[a]
    for k in range(cuts.row.shape[0]):
        at = cuts.row[k]
        for r in range(cuts.closed[k]):
            for e in range(6):
                rows[at + r, e] = cut.covectors[k, 6 * r + e]
            whole = rows_product(rows, at + r, at + r)
            for _ in range(2):  # the second pass removes the round-off of the first
                for b in range(r):
                    share = rows_product(rows, at + r, at + b)
                    gap[at + r] -= share * gap[at + b]
                    for e in range(6):
                        rows[at + r, e] -= share * rows[at + b, e]
            left = rows_product(rows, at + r, at + r)
            factor = 1.0 / math.sqrt(left) if left > DEPENDENT * DEPENDENT * whole else 0.0
            gap[at + r] *= factor
            for e in range(6):
                rows[at + r, e] *= factor


@part
def rows_product(rows, a, b):
    """Product of two rows of six numbers."""
    product = 0.0
    for e in range(6):
        product += rows[a, e] * rows[b, e]
    return product


@part
def gap_at_start(cuts, cut, gap, rows, gs):
    """Transform the gap of a cut to the closed directions at the start of the step.

    The basis may differ at the end of the step. If rows are multiplied by a factor, their gap is
    multiplied by the same factor. Orthonormal rows give 𝒯₀ 𝒯₁ᵀ g.
    """
    for a in range(gap.shape[0]):
        gs.position[a] = gap[a]
    for k in range(cuts.row.shape[0]):
        at = cuts.row[k]
        for r in range(cuts.closed[k]):
            gs.position[at + r] = 0.0
            for c in range(cuts.closed[k]):
                same = 0.0
                for e in range(6):
                    same += cut.covectors[k, 6 * r + e] * rows[at + c, e]
                gs.position[at + r] += same * gap[at + c]

"""Cut joints, drives and couplers: constraint equations, their rates, rows and wrenches.

A cut joint is described by the same chain as a primary one. Its coordinates β are those whose pose
X_J(β) is closest to the actual relative pose X of its frames (Gauss-Newton from those of the last
accepted step, so that angles count turns). With the remaining error pose e = (Δx, log ΔR), the free
directions C, an orthonormal basis 𝒯 of their complement, 𝒯 C = 0, and the left inverse C⁺ of C,

    g = 𝒯 e,   ġ = 𝒯 V_rel,   g̈ = 𝒯 (V̇_rel − Ċ η),   η = C⁺ V_rel,   V_rel = V_b − Ad(X⁻¹) V_a,

in the axes of the child's frame b. A driven coordinate adds the row g = β_k − f(t) with γ̄ = −ḟ, γ
= f̈. Multipliers make the wrench 𝒯ᵀ λ on b and its reaction on a; that of a drive is its force or
torque (N, N m). A coupler adds the row g = Σ a_i β_i − b(t) over coordinates of any joints, with γ̄
= −ḃ, γ = b̈ and the forces a_i λ along them.

Theory: docs/theory.md, sections 13 and 14. Featherstone, Rigid Body Dynamics Algorithms (2008),
sections 8.2 (loop constraint equations) and 8.4 (loop joint forces); Haug, Computer Aided
Kinematics and Dynamics of Mechanical Systems (1989), for joints as constraint equations and their
right-hand sides.
"""

import math

from flexmbs._jit import called, part
from flexmbs.algebra.se3 import bracket, twist_to_child
from flexmbs.algebra.small import ZERO3, add, dot, load3_at, scale, store3_at, sub, tmatmul, tmul
from flexmbs.algebra.so3 import log_so3
from flexmbs.dynamics.cut_rows import cut_rows
from flexmbs.dynamics.frames import (
    apply_pair,
    frame_pose,
    frame_rates,
    keep_poses,
    pose_between,
    world_pose,
)
from flexmbs.dynamics.joints import (
    displace_joint,
    joint_directions,
    joint_pose,
    prescribe,
    prescribed_direction,
    relative_pose,
    relative_twist,
)
from flexmbs.dynamics.laws import law_of_time
from flexmbs.system.cut_directions import ALIKE, PARALLEL
from flexmbs.system.records import OF_CHAIN, SPARE

CLOSEST_TOLERANCE = 1e-13  # rad or m: last correction, a few hundred units of round-off
CLOSEST_ITERATIONS = 25
# Of products of two rows: the next iteration of `continued_complement`, which squares it, is exact
NEARLY_ORTHONORMAL = 1e-8
# Rows within 89 degrees of their projections become orthonormal in 14 iterations. Steps that turn
# the directions further take the basis of the unit vectors.
ORTHONORMAL_ITERATIONS = 14


@part
def six_dot(a, i, o, b, l):
    """Product of the six-vectors at a[i, o…] and b[i, l…] (one row of one array or of two)."""
    return (
        a[i, o] * b[i, l] + a[i, o + 1] * b[i, l + 1] + a[i, o + 2] * b[i, l + 2]
        + a[i, o + 3] * b[i, l + 3] + a[i, o + 4] * b[i, l + 4] + a[i, o + 5] * b[i, l + 5]
    )  # fmt: skip


@part
def six_increase(a, i, o, f, l):
    """a[i, o…o+5] += f a[i, l…l+5]: add a multiple of a six-vector within a row."""
    for c in range(6):
        a[i, o + c] += f * a[i, l + c]


@part
def six_normalize(a, i, o):
    """Scale the six-vector at a[i, o…] to unit length."""
    f = 1.0 / math.sqrt(six_dot(a, i, o, a, o))
    for c in range(6):
        a[i, o + c] *= f


@part
def six_apply(a, i, o, v, w):
    """Scalar product of the covector a[i, o…o+5] and a twist (v, w)."""
    return (
        a[i, o] * v[0]
        + a[i, o + 1] * v[1]
        + a[i, o + 2] * v[2]
        + a[i, o + 3] * w[0]
        + a[i, o + 4] * w[1]
        + a[i, o + 5] * w[2]
    )


@part
def left_inverse(directions, inverse, k, n):
    """C⁺ (n, 6), C⁺ C = 1, of the n free directions.

    Each row is the wrench with the least |f|, and among these the least |n|, which does not depend
    on the units of length (theory, section 14).

    Gram-Schmidt on the rotations gives the span of its rows: couples about the axes, and forces
    along the translations orthogonal to any rotation. Gauss-Jordan elimination gives C⁺ from these;
    all leading minors are regular, so that no pivoting is needed.
    """
    for a in range(n):
        row = 6 * a
        for c in range(6):
            inverse[k, row + c] = directions[k, row + c]
        for _ in range(2):
            for b in range(a):
                other = 6 * b
                w = load3_at(inverse, k, other + 3)
                six_increase(inverse, k, row, -dot(w, load3_at(inverse, k, row + 3)), other)
        v, w = load3_at(inverse, k, row), load3_at(inverse, k, row + 3)
        turn = math.sqrt(dot(w, w))
        if turn > PARALLEL or dot(v, v) == 0.0:
            for c in range(6):
                inverse[k, row + c] /= turn
        else:
            store3_at(inverse, k, row + 3, ZERO3)
    for a in range(n):
        row = 6 * a
        w = load3_at(inverse, k, row + 3)
        if dot(w, w) > 0.0:
            store3_at(inverse, k, row, ZERO3)
    for a in range(n):
        row = 6 * a
        f = 1.0 / six_dot(inverse, k, row, directions, row)
        for c in range(6):
            inverse[k, row + c] *= f
        for b in range(n):
            if b != a:
                other = 6 * b
                six_increase(inverse, k, other, -six_dot(inverse, k, other, directions, row), row)


@part
def remainder(covectors, k, closed, a, e):
    """Part 1 − |…|² of unit vector e outside of the free directions and ``closed`` rows."""
    left = 1.0
    for b in range(6):
        if b >= closed or b < a:
            left -= covectors[k, 6 * b + e] ** 2
    return left


@part
def span(directions, covectors, k, n):
    """An orthonormal basis of the n free directions into the last n of six ``covectors``."""
    closed = 6 - n
    for a in range(n):
        row = 6 * (closed + a)
        for c in range(6):
            covectors[k, row + c] = directions[k, 6 * a + c]
        for _ in range(2):
            for b in range(a):
                other = 6 * (closed + b)
                six_increase(
                    covectors, k, row, -six_dot(covectors, k, row, covectors, other), other
                )
        six_normalize(covectors, k, row)


@part
def complement(directions, covectors, k, n):
    """𝒯 (6−n, 6): an orthonormal basis of the complement of the n free directions.

    By Gram-Schmidt from the unit vectors, those with the largest remainders first
    (`flexmbs.system.cut_directions`; theory, section 14).
    """
    closed = 6 - n
    span(directions, covectors, k, n)
    for a in range(closed):
        most = 0.0
        for e in range(6):
            most = max(most, remainder(covectors, k, closed, a, e))
        best = 0
        while remainder(covectors, k, closed, a, best) <= most - ALIKE:
            best += 1
        row = 6 * a
        for c in range(6):
            covectors[k, row + c] = 1.0 if c == best else 0.0
        for _ in range(2):
            for b in range(6):
                if b >= closed or b < a:
                    other = 6 * b
                    six_increase(
                        covectors, k, row, -six_dot(covectors, k, row, covectors, other), other
                    )
        six_normalize(covectors, k, row)


@part
def directions(cuts, joints, cut, beta, k):
    """Free directions C and left inverse C⁺ of cut joint k; returns Ċ η.

    The velocities η are cut.eta[k].
    """
    _, _, bv, bw = joint_directions(
        joints, cuts.joint[k], beta, cuts.beta_at[k], cut.eta[k], 0, cut.directions, k
    )
    left_inverse(cut.directions, cut.inverse, k, cuts.nv[k])
    return bv, bw


@part
def continued_complement(cut, before, k, n):
    """𝒯 (6−n, 6) closest to the basis ``before``; returns False if that is nearly perpendicular.

    The projection A = 𝒯₀ (1 − C̃ C̃ᵀ) with an orthonormal basis C̃ of the free directions is made
    orthonormal symmetrically, (A Aᵀ)^(−1/2) A, by A ← ½ (3 − A Aᵀ) A (Newton and Schulz). Unlike
    `complement` it does not jump along a motion, so that multipliers of two positions can be
    combined. Björck and Bowie, SIAM J. Numer. Anal. 8 (1971) 358–364.
    """
    rows, scratch, closed = cut.covectors, cut.scratch, 6 - n
    span(cut.directions, rows, k, n)
    for a in range(closed):
        for c in range(6):
            rows[k, 6 * a + c] = before[k, 6 * a + c]
        for _ in range(2):
            for b in range(closed, 6):
                six_increase(rows, k, 6 * a, -six_dot(rows, k, 6 * a, rows, 6 * b), 6 * b)
    for _ in range(ORTHONORMAL_ITERATIONS):
        apart = 0.0
        for a in range(closed):
            for b in range(closed):
                product = six_dot(rows, k, 6 * a, rows, 6 * b)
                apart = max(apart, abs(product - (1.0 if a == b else 0.0)))
                scratch[k, 6 * a + b] = (1.5 if a == b else 0.0) - 0.5 * product
        for c in range(6 * closed):
            scratch[k, 36 + c] = rows[k, c]
            rows[k, c] = 0.0
        for a in range(closed):
            for b in range(closed):
                for c in range(6):
                    rows[k, 6 * a + c] += scratch[k, 6 * a + b] * scratch[k, 36 + 6 * b + c]
        if apart < NEARLY_ORTHONORMAL:
            return True
    return False


@part
def constraint_covectors(cuts, drives, cut, before, k):
    """Constraint rows of cut joint k: those of 𝒯, then C⁺ of driven coordinates.

    before: rows of the cut joints at the last accepted step, which 𝒯 continues. Zero outside of
    runs, where 𝒯 depends on the coordinates alone.
    """
    n = cuts.nv[k]
    began = six_dot(before, k, 0, before, 0) > 0.0
    if not (began and continued_complement(cut, before, k, n)):
        complement(cut.directions, cut.covectors, k, n)
    for d in range(drives.row.shape[0]):
        if drives.cut[d] == k:
            to = 6 * (drives.row[d] - cuts.row[k])
            for e in range(6):
                cut.covectors[k, to + e] = cut.inverse[k, 6 * drives.v[d] + e]


@part
def closest_coordinates(cuts, joints, start, cut, beta, k):
    """Coordinates β of cut joint k closest to its relative pose, by Newton from ``start``.

    Returns the error pose (Δx, θ) in m and rad. Gauss-Newton: Δx = R_Jᵀ (x − x_J), θ = log(R_Jᵀ R),
    β ← β ⊕ C⁺ (Δx, θ), to 1e-13 (theory, section 14).
    """
    j = cuts.joint[k]
    at = cuts.beta_at[k]
    n = cuts.nv[k]
    for a in range(joints.nq[j]):
        beta[at + a] = start[at + a]
    for a in range(n):
        cut.eta[k, a] = 0.0
    spare = beta.shape[0] - SPARE
    Rr, xr = pose_between(cut.pair, k)
    dx = ZERO3
    th = ZERO3
    for _ in range(CLOSEST_ITERATIONS):
        Rj, xj = joint_pose(joints, j, beta, at)
        dx = tmul(Rj, sub(xr, xj))
        th = log_so3(tmatmul(Rj, Rr))
        if cuts.constant[k] == 0:
            directions(cuts, joints, cut, beta, k)
        size = 0.0
        for a in range(n):
            beta[spare + a] = six_apply(cut.inverse, k, 6 * a, dx, th)
            size = max(size, abs(beta[spare + a]))
        if size < CLOSEST_TOLERANCE:
            break
        displace_joint(joints, j, beta, beta, at, beta, spare)
    return dx, th


@part
def cut_joint(system, work, k, t, here):
    """Kinematics of cut joint k, and its constraint values into work.gs.

    g = 𝒯 e, ġ = 𝒯 V_rel, g̈ = 𝒯 (V̇_rel − Ċ η) with V̇_rel = V̇_b − Ad(X⁻¹) V̇_a + ad(V_rel)
    Ad(X⁻¹) V_a; at ṡ = 0 the third is −γ. Relations and user functions have kernels of their own.
    Theory, section 14.
    """
    cuts, constant, joints, drives = system.cuts, system.constant, work.joints, system.drives
    cut, beta, gs = work.cut, work.beta, work.gs
    a = cuts.frame_p[k]
    b = cuts.frame_c[k]
    Ra, xa = frame_pose(work.frames, a, here.q)
    Rb, xb = frame_pose(work.frames, b, here.q)
    RA, rA = world_pose(work.frames, work.motion, a, Ra, xa)
    RB, rB = world_pose(work.frames, work.motion, b, Rb, xb)
    va, wa, ava, awa = frame_rates(work, system.gravity, a, (Ra, xa), here)
    vb, wb, avb, awb = frame_rates(work, system.gravity, b, (Rb, xb), here)
    Rr, xr = relative_pose(RA, rA, RB, rB)
    keep_poses(cut.pair, k, (Ra, xa), (Rb, xb), (Rr, xr))
    v, w, cv, cw = relative_twist(Rr, xr, va, wa, vb, wb)
    av, aw = twist_to_child(Rr, xr, ava, awa)
    kv, kw = bracket(v, w, cv, cw)
    av = add(sub(avb, av), kv)
    aw = add(sub(awb, aw), kw)
    if cuts.kernel[k] != OF_CHAIN:
        cut_rows(system, work, k, t, here, (v, w), (av, aw))
        return
    # C, C⁺ and 𝒯 of hinges, slides and fixed joints do not depend on β: taken from the compiled
    # model
    if cuts.constant[k] == 1:
        for c in range(36):
            cut.directions[k, c] = constant.directions[k, c]
            cut.inverse[k, c] = constant.inverse[k, c]
            cut.covectors[k, c] = constant.covectors[k, c]
    dx, th = closest_coordinates(cuts, joints, work.path.beta, cut, beta, k)
    for c in range(cuts.nv[k]):
        cut.eta[k, c] = six_apply(cut.inverse, k, 6 * c, v, w)
    if cuts.constant[k] == 0:
        # evaluated again, now with η: Ċ η, and C at the final coordinates
        bv, bw = directions(cuts, joints, cut, beta, k)
        av = sub(av, bv)
        aw = sub(aw, bw)
        constraint_covectors(cuts, drives, cut, work.path.covectors, k)
    row = cuts.row[k]
    for c in range(cuts.closed[k]):
        gs.position[row + c] = six_apply(cut.covectors, k, 6 * c, dx, th)
        gs.velocity[row + c] = six_apply(cut.covectors, k, 6 * c, v, w)
        gs.acceleration[row + c] = six_apply(cut.covectors, k, 6 * c, av, aw)
    for c in range(cuts.nv[k]):
        cut.etad[k, c] = six_apply(cut.inverse, k, 6 * c, av, aw)


@part
def coordinate(system, work, here, body, cut, place):
    """(β, η, η̇) of a joint coordinate, from the state or from a cut joint.

    Of the primary joint of ``body`` or, if that is −1, of cut joint ``cut``. place: indices
    (velocity, position) within the joint.
    """
    v, q = place
    if body >= 0:
        at = system.tree.s_at[body] + v
        return here.q[system.tree.q_at[body] + q], here.s[at], here.sd[at]
    return work.beta[system.cuts.beta_at[cut] + q], work.cut.eta[cut, v], work.cut.etad[cut, v]


@called
def drive_values(system, work, t, here):
    """Values g, ġ, g̈ of the drive constraints β = f(t), and the rates ḟ.

    Theory, section 14.
    """
    drives, gs = system.drives, work.gs
    for d in range(drives.row.shape[0]):
        row = drives.row[d]
        x, v, a = coordinate(
            system, work, here, drives.body[d], drives.cut[d], (drives.v[d], drives.q[d])
        )
        f, fd, fdd = law_of_time(system.laws, drives.law[d], t, work.io)
        work.drive_rate[row] = fd
        gs.position[row] = x - f
        gs.velocity[row] = v - fd
        gs.acceleration[row] = a - fdd


@called
def prescribed_motions(system, work, t):
    """work.joints ← poses, ḟ and f̈ of the prescribed motions of primary joints at t.

    Theory, section 18.
    """
    rows, given, here = system.prescribed, system.joints, work.joints
    if rows.law.shape[0] > 0:  # scratch does not persist between evaluations
        for m in range(given.rate.shape[0]):
            for a in range(given.R.shape[1]):
                here.R[m, a] = given.R[m, a]
            for a in range(given.x.shape[1]):
                here.x[m, a] = given.x[m, a]
            for a in range(given.rate.shape[1]):
                here.rate[m, a] = given.rate[m, a]
    for d in range(rows.law.shape[0]):
        prescribe(work.joints, rows.motion[d], law_of_time(system.laws, rows.law[d], t, work.io))


@part
def prescribed_effort(system, work, q, d, wrench):
    """u · f^p: force or torque of the prescribed coordinate d, by inverse dynamics.

    wrench: (f, n) through its joint at the child's frame, in axes of that frame (theory, section
    20).
    """
    rows, tree = system.prescribed, system.tree
    i = rows.body[d]
    f, n = wrench
    v, w = prescribed_direction(work.joints, tree.joint[i], rows.motion[d], q, tree.q_at[i])
    return dot(v, f) + dot(w, n)


@called
def prescribed_power(system, work, q):
    """Σ f^p · u ḟ (W): power of the drives of prescribed coordinates (theory, section 49)."""
    rows, through = system.prescribed, work.motion.through
    power = 0.0
    for d in range(rows.law.shape[0]):
        wrench = load3_at(through, rows.body[d], 0), load3_at(through, rows.body[d], 3)
        power += prescribed_effort(system, work, q, d, wrench) * work.joints.rate[rows.motion[d], 0]
    return power


@part
def constraint_wrench(cuts, cut, k, lam):
    """(f, n) = 𝒯ᵀ λ of cut joint k (N, N m), driven coordinates included.

    In axes of the child's frame.
    """
    return wrench_of_rows(cuts, cut, k, lam, cuts.rows[k])


@part
def wrench_of_rows(cuts, cut, k, lam, count):
    """(f, n) = 𝒯ᵀ λ of the first ``count`` rows of cut joint k.

    The rows that close the joint come before those of its drives.
    """
    f = ZERO3
    n = ZERO3
    for a in range(count):
        y = lam[cuts.row[k] + a]
        f = add(f, scale(y, load3_at(cut.covectors, k, 6 * a)))
        n = add(n, scale(y, load3_at(cut.covectors, k, 6 * a + 3)))
    return f, n


@part
def coupler_covector(terms, factor, cut, i):
    """a C⁺_v of term i on a cut joint: its row on the relative twist.

    In axes of the child's frame.
    """
    k = terms.cut[i]
    at = 6 * terms.v[i]
    a = factor[i]
    return scale(a, load3_at(cut.inverse, k, at)), scale(a, load3_at(cut.inverse, k, at + 3))


@part
def with_couplers(couplers, factor, cut, k, lam, wrench):
    """(f, n) + Σ λ a C⁺_v of the couplers' coordinates of cut joint k.

    wrench: (f, n) of the joint's own rows.
    """
    f, n = wrench
    for c in range(couplers.first.shape[0]):
        f, n = with_terms(
            (couplers.terms, factor),
            (couplers.first[c], couplers.end[c]),
            (cut, k),
            lam[couplers.row[c]],
            (f, n),
        )
    return f, n


@part
def with_terms(given, span, place, y, wrench):
    """(f, n) + y Σ a C⁺_v of the terms ``span`` (first, end) on cut joint ``place``.

    given: the terms, with factors a.
    """
    f, n = wrench
    terms, factor = given
    cut, k = place
    for i in range(span[0], span[1]):
        if terms.cut[i] == k:
            cf, cn = coupler_covector(terms, factor, cut, i)
            f = add(f, scale(y, cf))
            n = add(n, scale(y, cn))
    return f, n


@part
def turning(cuts, k):
    """True if the free directions of cut joint k, and its rows 𝒯, turn relative to the child."""
    return cuts.kernel[k] == OF_CHAIN and cuts.constant[k] == 0


@part
def canonical_multipliers(cuts, cut, lam):
    """λ of the last evaluated point for the rows 𝒯 of its coordinates alone, as outside of runs.

    In a run 𝒯 continues that of the last step, and both are bases of the same wrenches: λ ←
    𝒯 𝒯_runᵀ λ.
    """
    for k in range(cuts.row.shape[0]):
        if not turning(cuts, k):
            continue
        f, n = wrench_of_rows(cuts, cut, k, lam, cuts.closed[k])
        for c in range(36):
            cut.scratch[k, c] = cut.covectors[k, c]
        complement(cut.directions, cut.covectors, k, cuts.nv[k])
        for c in range(cuts.closed[k]):
            lam[cuts.row[k] + c] = six_apply(cut.covectors, k, 6 * c, f, n)
        for c in range(36):
            cut.covectors[k, c] = cut.scratch[k, c]


@called
def apply_constraint_forces(system, work, q, lam):
    """Add Gᵀ λ of cut joints, drives and couplers to the applied wrenches and generalized forces.

    lam (nc,). Theory, sections 14 and 22.
    """
    tree, drives, couplers, terms = (
        system.tree,
        system.drives,
        system.couplers,
        system.couplers.terms,
    )
    for k in range(system.cuts.row.shape[0]):
        f, n = constraint_wrench(system.cuts, work.cut, k, lam)
        apply_pair(work, work.cut.pair, k, q, f, n)
    for d in range(drives.row.shape[0]):
        i = drives.body[d]
        if i >= 0:
            work.force[tree.s_at[i] + drives.v[d]] += lam[drives.row[d]]
    for j in range(terms.body.shape[0]):
        y = lam[couplers.row[terms.coupler[j]]]
        i = terms.body[j]
        if i >= 0:
            work.force[tree.s_at[i] + terms.v[j]] += work.factor[j] * y
        else:
            f, n = coupler_covector(terms, work.factor, work.cut, j)
            apply_pair(work, work.cut.pair, terms.cut[j], q, scale(y, f), scale(y, n))


@part
def drive_power(rate, lam):
    """Ẇ_drives = Σ λ ḟ (W): power that drives and couplers put into the system.

    rate (nc,): ḟ, which must be up to date (theory, section 49).
    """
    power = 0.0
    for a in range(rate.shape[0]):
        power += lam[a] * rate[a]
    return power

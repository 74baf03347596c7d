"""Blocks of the bordered matrix: mass M, stiffness K, damping D and constraint rows G, each pushed along the tree.

E_i maps a body's own velocities to its y_i = (V_i, q̇_f,i), X_i those of its parent to V_i:

    y_i = X_i y_p + E_i s_i,   E_i = [[Ad(X_cm) C, −Ad(X_cm) Φ_cm], [0, 1]],   X_i = [Ad(X_pi⁻¹), Ad(X_cm) Ad(X_J⁻¹) Φ_pm],
    M_ji = E_jᵀ X_jkᵀ ⋯ X_iᵀ 𝓜ᶜ_i E_i,   𝓜ᶜ_p = 𝓜_p + Σ_i X_iᵀ 𝓜ᶜ_i X_i,

with the composite mass matrix 𝓜ᶜ_i of body i and all that it carries. A row of G is a covector on the relative twist of two
frames, carried to their bodies by Ad and on along the tree by X_iᵀ and E_iᵀ in the same way.

Theory: docs/theory.md, sections 18, 21, 22 and 26. Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.2 (composite-
rigid-body algorithm) and section 8.2 (loop constraint equations); Walker and Orin (1982), J. Dyn. Syst. Meas. Control 104, 205.
"""

from flexmbs._jit import called, part
from flexmbs.algebra.blocks import DIAGONAL, SIZE, add_block
from flexmbs.algebra.se3 import twist_to_parent, wrench_to_parent
from flexmbs.algebra.small import ZERO3, add, cross, load3_at, load9_at, matmul, mul, neg, store3_at, tmul
from flexmbs.dynamics.frames import frame_pose, modal_rows, world_pose
from flexmbs.dynamics.inertia import mass_matrix
from flexmbs.dynamics.joints import relative_pose
from flexmbs.dynamics.kinematics import parent_to_child


@part
def times(A, B, rows, inner, columns, out):
    """out[:rows, :columns] = A B."""
    for a in range(rows):
        for c in range(columns):
            out[a, c] = 0.0
        for b in range(inner):
            f = A[a, b]
            if f != 0.0:
                for c in range(columns):
                    out[a, c] += f * B[b, c]


@part
def transposed_times(A, B, rows, inner, columns, out):
    """out[:rows, :columns] = Aᵀ B."""
    for a in range(rows):
        for c in range(columns):
            out[a, c] = 0.0
    for b in range(inner):
        for a in range(rows):
            f = A[b, a]
            if f != 0.0:
                for c in range(columns):
                    out[a, c] += f * B[b, c]


@part
def unit(b):
    """b-th unit vector"""
    return (1.0 if b == 0 else 0.0, 1.0 if b == 1 else 0.0, 1.0 if b == 2 else 0.0)


@part
def adjoint(R, x, factor, P):
    """P (6×6) = factor · Ad(X): v' = R v + x × (R ω), ω' = R ω (theory, section 2)."""
    for b in range(3):
        v, w = twist_to_parent(R, x, ZERO3, unit(b))
        for a in range(3):
            P[a, b] = factor * w[a]
            P[3 + a, b] = 0.0
            P[a, 3 + b] = factor * v[a]
            P[3 + a, 3 + b] = factor * w[a]


@part
def adjoint_inverse(R, x, P):
    """P (6×6) = Ad(X⁻¹): v' = Rᵀ (v + ω × x), ω' = Rᵀ ω (theory, section 2)."""
    for b in range(3):
        c = tmul(R, unit(b))
        m = tmul(R, cross(unit(b), x))
        for a in range(3):
            P[a, b] = c[a]
            P[3 + a, b] = 0.0
            P[a, 3 + b] = m[a]
            P[3 + a, 3 + b] = c[a]


@part
def own_velocities(tree, frames, motion, i, q, E, P, B):
    """E_i (6+nf, n): (V, q̇_f) of body i per its own velocities (η, q̇_f), [[Ad(X_cm) C, −Ad(X_cm) Φ_cm], [0, 1]].

    Theory, section 18.
    """
    nv = tree.nv[i]
    nf = tree.nf[i]
    Rc = load9_at(motion.Rc, i, 0)
    xc = load3_at(motion.xc, i, 0)
    for k in range(nv):
        at = 6 * k
        v, w = twist_to_parent(Rc, xc, load3_at(motion.directions, i, at), load3_at(motion.directions, i, at + 3))
        for a in range(3):
            E[a, k] = v[a]
            E[3 + a, k] = w[a]
        for a in range(nf):
            E[6 + a, k] = 0.0
    for a in range(6):
        for k in range(nf):
            B[a, 6 + k] = 0.0
    fc = tree.frame_c[i]
    if frames.elastic[fc] == 1:
        adjoint(Rc, xc, -1.0, P)
        modal_rows(frames, fc, Rc, q, P, 6, B)
    for k in range(nf):
        for a in range(6):
            E[a, nv + k] = B[a, 6 + k]
        for a in range(nf):
            E[6 + a, nv + k] = 1.0 if a == k else 0.0


@part
def parent_velocities(tree, frames, motion, i, q, X, P, B):
    """X_i (6, 6+nf_p): twist V_i of body i per the parent's (V_p, q̇_f,p), [Ad(X_pi⁻¹), Ad(X_cm) Ad(X_J⁻¹) Φ_pm].

    Theory, section 18.
    """
    nf = tree.nf[tree.parent[i]]
    R, x = parent_to_child(motion, i)
    Rc = load9_at(motion.Rc, i, 0)
    Rt = (Rc[0], Rc[3], Rc[6], Rc[1], Rc[4], Rc[7], Rc[2], Rc[5], Rc[8])
    R = matmul(R, Rt)  # child body in the parent body: X_pm X_J X_cm⁻¹
    x = add(x, neg(mul(R, load3_at(motion.xc, i, 0))))
    adjoint_inverse(R, x, X)
    for a in range(6):
        for k in range(nf):
            B[a, 6 + k] = 0.0
    fp = tree.frame_p[i]
    if nf > 0 and frames.elastic[fp] == 1:
        R = matmul(load9_at(motion.Rj, i, 0), Rt)  # child body in the parent's frame: X_J X_cm⁻¹
        x = add(load3_at(motion.xj, i, 0), neg(mul(R, load3_at(motion.xc, i, 0))))
        adjoint_inverse(R, x, P)
        modal_rows(frames, fp, load9_at(motion.Rp, i, 0), q, P, 6, B)
    for a in range(6):
        for k in range(nf):
            X[a, 6 + k] = B[a, 6 + k]


@called
def transmission(tree, frames, motion, q, E, X, B):
    """E and X of all bodies; where the velocities of a body are its twist, E = 1 is not formed."""
    for i in range(tree.parent.shape[0]):
        if tree.plain[i] == 0:
            own_velocities(tree, frames, motion, i, q, E[i], B[0], B[1])
        if tree.parent[i] >= 0:
            parent_velocities(tree, frames, motion, i, q, X[i], B[0], B[1])


@called
def mass_blocks(bodies, tree, e, q, E, X, M, B, U, values, factor):
    """factor · M(q) into the blocks: M_ji = E_jᵀ Xᵀ⋯Xᵀ 𝓜ᶜ_i E_i with the composite bodies, leaves to root.

    Theory, section 22; composite-rigid-body algorithm, Featherstone 2008, section 6.2. M (nb, 6+F, 6+F) is workspace for 𝓜ᶜ.
    """
    B1, B2, B3 = B[0], B[1], B[2]
    for i in range(tree.parent.shape[0]):
        mass_matrix(bodies, tree, i, q, U, M)
    for back in range(tree.parent.shape[0]):
        i = tree.parent.shape[0] - 1 - back
        nk = 6 + tree.nf[i]
        n = e.node[i, SIZE]
        p = tree.parent[i]
        # a body that hangs on the ground by a free joint at its origin: E = 1, no ancestors
        if tree.plain[i] == 1:
            add_block(e, values, i, i, M[i], factor)
            continue
        times(M[i], E[i], nk, nk, n, B1)
        transposed_times(E[i], B1, n, nk, n, B2)
        add_block(e, values, i, i, B2, factor)
        child = i
        while p >= 0:  # wrench of the composite body, carried to each ancestor
            np_ = 6 + tree.nf[p]
            transposed_times(X[child], B1, np_, 6, n, B2)
            if tree.plain[p] == 1:
                add_block(e, values, p, i, B2, factor)
            else:
                transposed_times(E[p], B2, e.node[p, SIZE], np_, n, B3)
                add_block(e, values, p, i, B3, factor)
            for a in range(6):
                for c in range(n):
                    B1[a, c] = B2[a, c]
            child = p
            p = tree.parent[p]
        p = tree.parent[i]
        if p >= 0:  # composite mass of the parent
            np_ = 6 + tree.nf[p]
            times(M[i], X[i], 6, 6, np_, B1)
            transposed_times(X[i], B1, np_, 6, np_, B2)
            for a in range(np_):
                for c in range(np_):
                    M[p, a, c] += B2[a, c]


@part
def frame_rows(tree, frames, e, m, Rm, xm, q, P, n, sign, top, E, X, B1, B2, rows):
    """rows[:n] += sign · P ∂V_m/∂s for n covectors P (n, 6) on the twist of frame m, its axes, up to the body ``top``.

    P Ad(X_m⁻¹) and P Φ_m at the body, then P E_i into the rows and P ← P X_i to the parent (theory, section 21).
    """
    i = frames.body[m]
    if i < 0:
        return
    for r in range(n):
        f, t = wrench_to_parent(Rm, xm, load3_at(P, r, 0), load3_at(P, r, 3))
        store3_at(B1, r, 0, f)
        store3_at(B1, r, 3, t)
        for k in range(tree.nf[i]):
            B1[r, 6 + k] = 0.0
    modal_rows(frames, m, Rm, q, P, n, B1)
    while i >= 0:
        nf = tree.nf[i]
        at = tree.s_at[i]
        for r in range(n):
            for b in range(6 + nf):
                f = sign * B1[r, b]
                if f != 0.0:
                    if tree.plain[i] == 1:
                        rows[r, at + b] += f
                    else:
                        for c in range(e.node[i, SIZE]):
                            rows[r, at + c] += f * E[i, b, c]
        # above the common ancestor of two frames their parts cancel: its own share is the last
        if i == top:
            return
        p = tree.parent[i]
        if p >= 0:
            width = 6 + tree.nf[p]
            times(B1, X[i], n, 6, width, B2)
            for r in range(n):
                for c in range(width):
                    B1[r, c] = B2[r, c]
        i = p


@called
def relative_rows(tree, frames, e, paths, first, last, top, a, Ra, xa, b, Rb, xb, Rr, xr, q, P, n, E, X, B, rows):
    """rows[:n] = P ∂V_rel/∂s, V_rel = V_b − Ad(X_rel⁻¹) V_a in axes of b, over the bodies of the path.

    Theory, sections 14 and 21.
    """
    for k in range(first, last):
        i = paths[k]
        for r in range(n):
            for c in range(e.node[i, SIZE]):
                rows[r, tree.s_at[i] + c] = 0.0
    frame_rows(tree, frames, e, b, Rb, xb, q, P, n, 1.0, top, E, X, B[0], B[1], rows)
    Q = B[2]  # covectors on a: P Ad(X_rel⁻¹)
    for r in range(n):
        f, m = wrench_to_parent(Rr, xr, load3_at(P, r, 0), load3_at(P, r, 3))
        store3_at(Q, r, 0, f)
        store3_at(Q, r, 3, m)
    frame_rows(tree, frames, e, a, Ra, xa, q, Q, n, -1.0, top, E, X, B[0], B[1], rows)


@part
def cut_rows(tree, frames, e, cuts, paths, cut, k, q, E, X, B, rows):
    """rows (n, ns) = G of cut joint k over its path: 𝒯 ∂V_rel/∂s with the closed directions 𝒯 (theory, section 21)."""
    n = cuts.rows[k]
    P = B[3]
    for r in range(n):
        for c in range(6):
            P[r, c] = cut.covectors[k, 6 * r + c]
    relative_rows(
        tree, frames, e, paths, cuts.path[k], cuts.path_end[k], cuts.top[k], cuts.frame_p[k],
        load9_at(cut.Ra, k, 0), load3_at(cut.xa, k, 0), cuts.frame_c[k], load9_at(cut.Rb, k, 0), load3_at(cut.xb, k, 0),
        load9_at(cut.R, k, 0), load3_at(cut.x, k, 0), q, P, n, E, X, B, rows,
    )  # fmt: skip


@called
def constraint_blocks(tree, frames, e, cuts, drives, paths, cut, q, E, X, B, rows, values):
    """G of all cut joints and drives into the blocks; a drive of a primary joint has the single entry 1 (theory, section 14)."""
    B1 = B[0]
    for k in range(cuts.row.shape[0]):
        cut_rows(tree, frames, e, cuts, paths, cut, k, q, E, X, B, rows)
        for h in range(cuts.path[k], cuts.path_end[k]):
            i = paths[h]
            for r in range(cuts.rows[k]):
                for c in range(e.node[i, SIZE]):
                    B1[r, c] = rows[r, tree.s_at[i] + c]
            add_block(e, values, cuts.node[k], i, B1, 1.0)
    for d in range(drives.row.shape[0]):
        i = drives.body[d]
        if i >= 0:
            for c in range(e.node[i, SIZE]):
                B1[0, c] = 0.0
            B1[0, drives.v[d]] = 1.0
            add_block(e, values, drives.node[d], i, B1, 1.0)


@called
def stiffness_blocks(tree, bodies, e, joint_forces, joint_slope, values, damping):
    """K_ff + damping · D_ff and the slopes −∂τ/∂β − damping · ∂τ/∂η of joint forces into the diagonal blocks.

    Theory, sections 7, 39.
    """
    for i in range(tree.parent.shape[0]):
        n = e.node[i, SIZE]
        first = e.node[i, DIAGONAL] + tree.nv[i] * (n + 1)
        for a in range(tree.nf[i]):
            for b in range(a, tree.nf[i]):
                values[first + a * n + b] += bodies.k_ff[i, a, b] + damping * bodies.d_ff[i, a, b]
    for f in range(joint_forces.body.shape[0]):
        i = joint_forces.body[f]
        if i >= 0:
            slope = joint_slope[f, 0] + damping * joint_slope[f, 1]
            # negative slopes would take the definiteness that the factorization without pivoting needs; Newton's method does
            # without them
            values[e.node[i, DIAGONAL] + joint_forces.v[f] * (e.node[i, SIZE] + 1)] += max(slope, 0.0)


@called
def coupling_blocks(tree, frames, e, couplings, paths, motion, slopes, q, E, X, B, rows, values, damping):
    """Jᵀ (K + damping · D) J of springs, bushings and forces in cut joints; J (6, ns) the relative twist of their frames."""
    P = B[3]
    for k in range(couplings.a.shape[0]):
        a = couplings.a[k]
        b = couplings.b[k]
        Ra, xa = frame_pose(frames, a, q)
        Rb, xb = frame_pose(frames, b, q)
        RA, rA = world_pose(frames, motion, a, Ra, xa)
        RB, rB = world_pose(frames, motion, b, Rb, xb)
        Rr, xr = relative_pose(RA, rA, RB, rB)
        for r in range(6):
            for c in range(6):
                P[r, c] = 1.0 if r == c else 0.0
        first = couplings.path[k]
        last = couplings.path_end[k]
        relative_rows(tree, frames, e, paths, first, last, couplings.top[k], a, Ra, xa, b, Rb, xb, Rr, xr, q, P, 6, E, X, B, rows)
        for r in range(6):
            for c in range(6):
                P[r, c] = slopes[k, r, c] + damping * slopes[k, 6 + r, c]
        for h in range(first, last):
            j = paths[h]
            # bodies of a path are sorted, and the matrix is symmetric: one triangle
            for l in range(first, h + 1):
                i = paths[l]
                rank_six(rows, tree.s_at[i], e.node[i, SIZE], tree.s_at[j], e.node[j, SIZE], P, B[0], B[1])
                add_block(e, values, i, j, B[1], 1.0)


@part
def rank_six(rows, i, ni, j, nj, P, KJ, out):
    """out (n_i, n_j) = J_iᵀ P J_j for the columns i … i+n_i and j … j+n_j of the six rows J; P (6, 6)."""
    for a in range(6):
        for c in range(nj):
            x = 0.0
            for b in range(6):
                x += P[a, b] * rows[b, j + c]
            KJ[a, c] = x
    for a in range(ni):
        for c in range(nj):
            x = 0.0
            for b in range(6):
                x += rows[b, i + a] * KJ[b, c]
            out[a, c] = x

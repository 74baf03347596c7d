"""Blocks of the bordered matrix: mass M, stiffness K, damping D and constraint rows G.

They are propagated along the tree. E_i maps a body's own velocities to its y_i = (V_i, q̇_f,i), X_i
those of its parent to V_i:

    y_i = X_i y_p + E_i s_i,   E_i = [[Ad(X_cm) C, −Ad(X_cm) Φ_cm], [0, 1]],   X_i = [Ad(X_pi⁻¹), Ad(X_cm) Ad(X_J⁻¹) Φ_pm],
    M_ji = E_jᵀ X_jkᵀ ⋯ X_iᵀ 𝓜ᶜ_i E_i,   𝓜ᶜ_p = 𝓜_p + Σ_i X_iᵀ 𝓜ᶜ_i X_i,

with the composite mass matrix 𝓜ᶜ_i of body i and all that it carries. A row of G is a covector on
the relative twist of two frames, carried to their bodies by Ad and on along the tree by X_iᵀ and
E_iᵀ in the same way.

Theory: docs/theory.md, sections 18, 21, 22 and 26. Featherstone, Rigid Body Dynamics Algorithms
(2008), section 6.2 (composite-rigid-body algorithm) and section 8.2 (loop constraint equations);
Walker and Orin (1982), J. Dyn. Syst. Meas. Control 104, 205.
"""

from flexmbs._jit import called, part
from flexmbs.algebra.blocks import add_block
from flexmbs.algebra.se3 import twist_to_parent, wrench_to_parent
from flexmbs.algebra.small import (
    ZERO3,
    add,
    cross,
    load3_at,
    load9_at,
    matmul,
    mul,
    neg,
    store3_at,
    tmul,
)
from flexmbs.dynamics.constraints import coupler_covector
from flexmbs.dynamics.joint_forces import add_slopes
from flexmbs.dynamics.frames import (
    end_pose,
    frame_pose,
    keep_poses,
    modal_rows,
    pose_between,
    world_pose,
)
from flexmbs.dynamics.inertia import mass_matrix
from flexmbs.dynamics.joints import relative_pose
from flexmbs.dynamics.kinematics import parent_to_child

ON_A, ON_B = 2, 3  # places in Work.B of the covectors on the frames of a pair


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
    """b-th unit vector as a tuple of three numbers."""
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
def own_velocities(system, work, i, q):
    """E_i (6+nf, n): (V, q̇_f) of body i per its own velocities (η, q̇_f).

    E_i = [[Ad(X_cm) C, −Ad(X_cm) Φ_cm], [0, 1]] (theory, section 18).
    """
    tree, frames, motion = system.tree, work.frames, work.motion
    E, P, B = work.E[i], work.B[0], work.B[1]
    nv = tree.nv[i]
    nf = tree.nf[i]
    Rc = load9_at(motion.Rc, i, 0)
    xc = load3_at(motion.xc, i, 0)
    for k in range(nv):
        at = 6 * k
        v, w = twist_to_parent(
            Rc, xc, load3_at(motion.directions, i, at), load3_at(motion.directions, i, at + 3)
        )
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
def parent_velocities(system, work, i, q):
    """X_i (6, 6+nf_p): twist V_i of body i per the parent's (V_p, q̇_f,p).

    X_i = [Ad(X_pi⁻¹), Ad(X_cm) Ad(X_J⁻¹) Φ_pm] (theory, section 18).
    """
    tree, frames, motion = system.tree, work.frames, work.motion
    X, P, B = work.X[i], work.B[0], work.B[1]
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
def transmission(system, work, q):
    """E and X of all bodies into ``work``: own and parent velocities to twists.

    E = 1 is not formed for a body whose velocities are its twist.
    """
    tree = system.tree
    for i in range(tree.parent.shape[0]):
        if tree.plain[i] == 0:
            own_velocities(system, work, i, q)
        if tree.parent[i] >= 0:
            parent_velocities(system, work, i, q)


@called
def mass_blocks(system, work, q, factor):
    """factor · M(q) into the blocks: M_ji = E_jᵀ Xᵀ⋯Xᵀ 𝓜ᶜ_i E_i.

    The composite bodies are formed from leaves to root; work.M (nb, 6+F, 6+F) holds 𝓜ᶜ. Theory,
    section 22; composite-rigid-body algorithm, Featherstone 2008, section 6.2.
    """
    tree, e, E, X, M, values = system.tree, system.elimination, work.E, work.X, work.M, work.values
    B1, B2, B3 = work.B[0], work.B[1], work.B[2]
    for i in range(tree.parent.shape[0]):
        mass_matrix(system.bodies, tree, i, q, work.U, M)
    for back in range(tree.parent.shape[0]):
        i = tree.parent.shape[0] - 1 - back
        nk = 6 + tree.nf[i]
        n = e.size[i]
        p = tree.parent[i]
        # a body attached to the ground by a free joint at its origin: E = 1, no ancestors
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
                transposed_times(E[p], B2, e.size[p], np_, n, B3)
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
def frame_rows(system, work, pair, k, end, q, rows):
    """rows += P ∂V_b/∂s (``end`` 0) or rows −= P ∂V_a/∂s (``end`` 1) of a frame of pair k.

    P (n, 6): covectors on the twist of the frame, in its axes. rows (n, ns): up to the body
    pair.top[k]. P Ad(X_m⁻¹) and P Φ_m at the body, then P E_i into the rows and P ← P X_i to the
    parent (theory, section 21).
    """
    tree, e, E, X = system.tree, system.elimination, work.E, work.X
    B1, B2 = work.B[0], work.B[1]
    P, m, sign = (work.B[ON_B], pair.b[k], 1.0) if end == 0 else (work.B[ON_A], pair.a[k], -1.0)
    n = rows.shape[0]
    i = work.frames.body[m]
    if i < 0:
        return
    Rm, xm = end_pose(pair, k, end)
    for r in range(n):
        f, t = wrench_to_parent(Rm, xm, load3_at(P, r, 0), load3_at(P, r, 3))
        store3_at(B1, r, 0, f)
        store3_at(B1, r, 3, t)
        for c in range(tree.nf[i]):
            B1[r, 6 + c] = 0.0
    modal_rows(work.frames, m, Rm, q, P, n, B1)
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
                        for c in range(e.size[i]):
                            rows[r, at + c] += f * E[i, b, c]
        # above the common ancestor of the two frames their parts cancel: it is the last body
        if i == pair.top[k]:
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
def relative_rows(system, work, pair, k, q, rows):
    """rows (n, ns) += P ∂V_rel/∂s, V_rel = V_b − Ad(X_ab⁻¹) V_a of pair k in axes of b.

    The covectors P (n, 6) are in work.B[3]. Theory, sections 14 and 21.
    """
    P, Q = work.B[ON_B], work.B[ON_A]
    frame_rows(system, work, pair, k, 0, q, rows)
    Rr, xr = pose_between(pair, k)
    for r in range(rows.shape[0]):  # on a: P Ad(X_ab⁻¹)
        f, m = wrench_to_parent(Rr, xr, load3_at(P, r, 0), load3_at(P, r, 3))
        store3_at(Q, r, 0, f)
        store3_at(Q, r, 3, m)
    frame_rows(system, work, pair, k, 1, q, rows)


@part
def clear_rows(system, rows, first, end):
    """Zero ``rows`` (n, ns) in the columns of the bodies system.paths[first:end]."""
    for h in range(first, end):
        i = system.paths[h]
        for r in range(rows.shape[0]):
            for c in range(system.elimination.size[i]):
                rows[r, system.tree.s_at[i] + c] = 0.0


@part
def cut_rows(system, work, k, q):
    """work.rows (n, ns) = G of cut joint k over its path.

    𝒯 ∂V_rel/∂s with the constrained directions 𝒯 (theory, section 21).
    """
    cuts = system.cuts
    n = cuts.rows[k]
    rows = work.rows[:n]
    for r in range(n):
        for c in range(6):
            work.B[ON_B, r, c] = work.cut.covectors[k, 6 * r + c]
    clear_rows(system, rows, cuts.path[k], cuts.path_end[k])
    relative_rows(system, work, work.cut.pair, k, q, rows)


@part
def coupler_row(system, work, k, q):
    """work.rows[0] = G of coupler k over its path.

    a for velocities of primary joints, a C⁺_v ∂V_rel/∂s for those of cut joints.
    """
    couplers = system.couplers
    rows = work.rows[:1]
    clear_rows(system, rows, couplers.path[k], couplers.path_end[k])
    add_terms(
        system, work, q, (couplers.terms, work.factor), (couplers.first[k], couplers.end[k]), rows
    )


@part
def add_terms(system, work, q, given, span, rows):
    """rows[0] += ∂/∂s Σ a ẋ of the terms ``span`` (first, end) of ``given``, with factors a."""
    terms, factor = given
    for j in range(span[0], span[1]):
        if terms.body[j] >= 0:
            rows[0, system.tree.s_at[terms.body[j]] + terms.v[j]] += factor[j]
        else:
            f, n = coupler_covector(terms, factor, work.cut, j)
            store3_at(work.B[ON_B], 0, 0, f)
            store3_at(work.B[ON_B], 0, 3, n)
            relative_rows(system, work, work.cut.pair, terms.cut[j], q, rows)


@part
def row_blocks(system, work, node, first, end, n):
    """First n of work.rows into the blocks of a ``node`` with bodies system.paths[first:end]."""
    e, B1 = system.elimination, work.B[0]
    for h in range(first, end):
        i = system.paths[h]
        for r in range(n):
            for c in range(e.size[i]):
                B1[r, c] = work.rows[r, system.tree.s_at[i] + c]
        add_block(e, work.values, node, i, B1, 1.0)


@called
def constraint_blocks(system, work, q):
    """G of all cut joints, couplers and drives into the blocks.

    A drive of a primary joint has the single entry 1 (theory, section 14).
    """
    e, cuts, couplers, drives, values = (
        system.elimination,
        system.cuts,
        system.couplers,
        system.drives,
        work.values,
    )
    B1 = work.B[0]
    for k in range(cuts.row.shape[0]):
        cut_rows(system, work, k, q)
        row_blocks(system, work, cuts.node[k], cuts.path[k], cuts.path_end[k], cuts.rows[k])
    for k in range(couplers.row.shape[0]):
        coupler_row(system, work, k, q)
        row_blocks(system, work, couplers.node[k], couplers.path[k], couplers.path_end[k], 1)
    for d in range(drives.row.shape[0]):
        i = drives.body[d]
        if i >= 0:
            for c in range(e.size[i]):
                B1[0, c] = 0.0
            B1[0, drives.v[d]] = 1.0
            add_block(e, values, drives.node[d], i, B1, 1.0)


@called
def stiffness_blocks(system, work, damping):
    """Add modal matrices and slopes of joint forces to the diagonal blocks.

    K_ff + damping · D_ff, and −∂τ/∂β − damping · ∂τ/∂η. Theory, sections 7 and 39.
    """
    tree, bodies, e, values, slopes = (
        system.tree,
        system.bodies,
        system.elimination,
        work.values,
        work.rows,
    )
    for a in range(slopes.shape[1]):
        slopes[0, a] = 0.0
    add_slopes(system, work, damping, 0, slopes)
    for i in range(tree.parent.shape[0]):
        n = e.size[i]
        first = e.diagonal[i] + tree.nv[i] * (n + 1)
        for a in range(tree.nf[i]):
            for b in range(a, tree.nf[i]):
                values[first + a * n + b] += bodies.k_ff[i, a, b] + damping * bodies.d_ff[i, a, b]
        for a in range(tree.nv[i]):
            values[e.diagonal[i] + a * (n + 1)] += slopes[0, tree.s_at[i] + a]


@part
def coupling_poses(work, k, q):
    """work.coupling ← poses of the frames of coupling k.

    The kinematics of q must be up to date.
    """
    a, b = work.coupling.a[k], work.coupling.b[k]
    Ra, xa = frame_pose(work.frames, a, q)
    Rb, xb = frame_pose(work.frames, b, q)
    RA, rA = world_pose(work.frames, work.motion, a, Ra, xa)
    RB, rB = world_pose(work.frames, work.motion, b, Rb, xb)
    keep_poses(work.coupling, k, (Ra, xa), (Rb, xb), relative_pose(RA, rA, RB, rB))


@called
def coupling_blocks(system, work, q, damping):
    """Jᵀ (K + damping · D) J of springs, bushings and forces in cut joints.

    J (6, ns): relative twist of their frames per velocity.
    """
    couplings, paths, e = system.couplings, system.paths, system.elimination
    P = work.B[ON_B]
    for k in range(couplings.a.shape[0]):
        coupling_poses(work, k, q)
        for r in range(6):
            for c in range(6):
                P[r, c] = 1.0 if r == c else 0.0
        first = couplings.path[k]
        last = couplings.path_end[k]
        clear_rows(system, work.rows, first, last)
        relative_rows(system, work, work.coupling, k, q, work.rows)
        for r in range(6):
            for c in range(6):
                P[r, c] = work.slopes[k, r, c] + damping * work.slopes[k, 6 + r, c]
        for h in range(first, last):
            j = paths[h]
            # bodies of a path are sorted, and the matrix is symmetric: one triangle
            for l in range(first, h + 1):
                i = paths[l]
                rank_six(system, work, i, j)
                add_block(e, work.values, i, j, work.B[1], 1.0)


@part
def rank_six(system, work, i, j):
    """work.B[1] (n_i, n_j) = J_iᵀ P J_j for the columns of bodies i and j.

    J: six rows in work.rows. P (6, 6): work.B[3].
    """
    rows, KJ, P, out = work.rows, work.B[0], work.B[ON_B], work.B[1]
    at, to = system.tree.s_at[i], system.tree.s_at[j]
    ni, nj = system.elimination.size[i], system.elimination.size[j]
    for a in range(6):
        for c in range(nj):
            x = 0.0
            for b in range(6):
                x += P[a, b] * rows[b, to + c]
            KJ[a, c] = x
    for a in range(ni):
        for c in range(nj):
            x = 0.0
            for b in range(6):
                x += rows[b, at + a] * KJ[b, c]
            out[a, c] = x

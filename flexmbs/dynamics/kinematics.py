"""Outward sweep over the tree: poses, twists and twist rates of all bodies.

Between the parent's and the child's frames (pm, cm) of the primary joint, which may both move with
the modes,

    V_cm = Ad(X_J⁻¹) V_pm + V_rel,   V̇_cm = Ad(X_J⁻¹) V̇_pm − ad(V_rel) Ad(X_J⁻¹) V_pm + C η̇ + ā_rel,   V_rel = C η + v̄_rel,

and from the frame back to its body, with v = Φ_cm q̇_f,

    V = Ad(X_cm) (V_cm − v),   V̇ = Ad(X_cm) (V̇_cm − v̇ + ad(v) V_cm).

Gravity enters as the acceleration −g of the ground. At η̇ = q̈_f = 0 the rates are ā = J̇ s of V̇ =
J ṡ + ā, with gravity.

Theory: docs/theory.md, sections 2, 11 and 18. Featherstone, Rigid Body Dynamics Algorithms (2008),
section 5.3 (the outward sweep of the recursive Newton-Euler algorithm, where gravity is the
acceleration of the base as well).
"""

from flexmbs._jit import called, part
from flexmbs.algebra.se3 import bracket, twist_to_child, twist_to_parent
from flexmbs.algebra.small import (
    add,
    load3_at,
    load9_at,
    matmul,
    mul,
    scale,
    store3_at,
    store9_at,
    sub,
)
from flexmbs.dynamics.frames import frame_pose, frame_rates, modal_motion, world_pose
from flexmbs.dynamics.joints import (
    displace_joint,
    joint_directions,
    joint_pose,
    joint_rates,
    midpoint_joint,
    normalize_joint,
)


@called
def outward(system, work, gravity, here):
    """Compute poses, twists V and rates V̇ of all bodies by a sweep from root to leaves.

    here: the state (q, s, ṡ). The shapes of the frames and the prescribed motions of the joints
    must be up to date. Bodies are ordered parents first. The columns C of each joint (child's
    frame, its axes) and the poses X_pm, X_J, X_cm are kept for the inward sweep and the matrices.
    Theory, section 18.
    """
    tree, joints, frames, motion = system.tree, work.joints, work.frames, work.motion
    q, s, sd = here.q, here.s, here.sd
    for i in range(tree.parent.shape[0]):
        j = tree.joint[i]
        fp = tree.frame_p[i]
        fc = tree.frame_c[i]
        at = tree.s_at[i]
        Rp, xp = frame_pose(frames, fp, q)
        A, r = world_pose(frames, motion, fp, Rp, xp)
        pv, pw, av, aw = frame_rates(work, gravity, fp, (Rp, xp), here)
        Rj, xj = joint_pose(joints, j, q, tree.q_at[i])
        jv, jw, bv, bw = joint_directions(joints, j, q, tree.q_at[i], s, at, motion.directions, i)
        r = add(r, mul(A, xj))
        A = matmul(A, Rj)
        cv, cw = twist_to_child(Rj, xj, pv, pw)
        av, aw = twist_to_child(Rj, xj, av, aw)
        kv, kw = bracket(jv, jw, cv, cw)
        av = add(sub(av, kv), bv)
        aw = add(sub(aw, kw), bw)
        for k in range(tree.nv[i]):
            f = sd[at + k]
            av = add(av, scale(f, load3_at(motion.directions, i, 6 * k)))
            aw = add(aw, scale(f, load3_at(motion.directions, i, 6 * k + 3)))
        cv = add(cv, jv)
        cw = add(cw, jw)
        # from the child's frame to the body frame
        Rc, xc = frame_pose(frames, fc, q)
        v, w, vd, wd = modal_motion(frames, fc, Rc, q, s, sd)
        kv, kw = bracket(v, w, cv, cw)
        V, W = twist_to_parent(Rc, xc, sub(cv, v), sub(cw, w))
        Vd, Wd = twist_to_parent(Rc, xc, add(sub(av, vd), kv), add(sub(aw, wd), kw))
        # the frame's rotation is A_cm = A R_cm in the world, hence A = A_cm R_cmᵀ
        A = matmul(A, (Rc[0], Rc[3], Rc[6], Rc[1], Rc[4], Rc[7], Rc[2], Rc[5], Rc[8]))
        store9_at(motion.A, i, 0, A)
        store3_at(motion.x, i, 0, sub(r, mul(A, xc)))
        store3_at(motion.twist, i, 0, V)
        store3_at(motion.twist, i, 3, W)
        store3_at(motion.acceleration, i, 0, Vd)
        store3_at(motion.acceleration, i, 3, Wd)
        store9_at(motion.Rp, i, 0, Rp)
        store3_at(motion.xp, i, 0, xp)
        store9_at(motion.Rj, i, 0, Rj)
        store3_at(motion.xj, i, 0, xj)
        store9_at(motion.Rc, i, 0, Rc)
        store3_at(motion.xc, i, 0, xc)


@part
def displace(tree, joints, q0, d, q):
    """q ← q₀ ⊕ d: displace all joint coordinates (theory, section 2).

    d (ns,): displacement in velocity coordinates, a velocity times a unit of time.
    """
    for i in range(tree.parent.shape[0]):
        displace_joint(joints, tree.joint[i], q0, q, tree.q_at[i], d, tree.s_at[i])
        for k in range(tree.nf[i]):
            q[tree.qf_at[i] + k] = q0[tree.qf_at[i] + k] + d[tree.sf_at[i] + k]


@part
def midpoint(tree, joints, d):
    """Convert d so that `displace` gives the midpoint rule.

    d: displacement from the velocities at the middle of a step.
    """
    for i in range(tree.parent.shape[0]):
        midpoint_joint(joints, tree.joint[i], d, tree.s_at[i])


@part
def rates(tree, joints, q, s, qd):
    """qd ← H(q) s: position rates from velocities.

    ½ p ∘ (0, ω) for Euler parameters, A v for the origin of a free motion, s otherwise. Theory,
    section 3.
    """
    for i in range(tree.parent.shape[0]):
        joint_rates(joints, tree.joint[i], q, tree.q_at[i], s, tree.s_at[i], qd)
        for k in range(tree.nf[i]):
            qd[tree.qf_at[i] + k] = s[tree.sf_at[i] + k]


@part
def normalize_positions(tree, joints, q):
    """p ← p/|p| for all Euler parameters in q (nq,).

    The update preserves pᵀp = 1 up to round-off (theory, section 3).
    """
    for i in range(tree.parent.shape[0]):
        normalize_joint(joints, tree.joint[i], q, tree.q_at[i])


@part
def parent_to_child(motion, i):
    """Pose X_pm X_J of the child's joint frame in the parent body."""
    Rp = load9_at(motion.Rp, i, 0)
    return matmul(Rp, load9_at(motion.Rj, i, 0)), add(
        load3_at(motion.xp, i, 0), mul(Rp, load3_at(motion.xj, i, 0))
    )

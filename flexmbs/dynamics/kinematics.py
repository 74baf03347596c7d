"""Outward sweep over the tree: poses, twists and twist rates of all bodies.

Between the parent's and the child's frames (pm, cm) of the primary joint, which may both move with the modes,

    V_cm = Ad(X_J⁻¹) V_pm + C η,   V̇_cm = Ad(X_J⁻¹) V̇_pm − ad(C η) Ad(X_J⁻¹) V_pm + C η̇ + Ċ η,

and from the frame back to its body, with v = Φ_cm q̇_f,

    V = Ad(X_cm) (V_cm − v),   V̇ = Ad(X_cm) (V̇_cm − v̇ + ad(v) V_cm).

Gravity enters as the acceleration −g of the ground. At η̇ = q̈_f = 0 the rates are ā = J̇ s of V̇ = J ṡ + ā, with gravity.

Theory: docs/theory.md, sections 2, 11 and 18. Featherstone, Rigid Body Dynamics Algorithms (2008), section 5.3 (the outward
sweep of the recursive Newton-Euler algorithm, where gravity is the acceleration of the base as well).
"""

from flexmbs._jit import called, part
from flexmbs.algebra.se3 import bracket, twist_to_child, twist_to_parent
from flexmbs.algebra.small import add, load3_at, load9_at, matmul, mul, scale, store3_at, store9_at, sub
from flexmbs.dynamics.frames import frame_pose, frame_rates, modal_motion, world_pose
from flexmbs.dynamics.joints import displace_joint, joint_directions, joint_pose, joint_rates, midpoint_joint, normalize_joint
from flexmbs.system.records import (
    ACC, FRAME_C, FRAME_P, FREE_DIRECTIONS, JOINT, NF, NV, POS, Q_AT, QF_AT, RC, RJ, ROT, RP, S_AT, SF_AT, VEL, XC, XJ, XP,
)  # fmt: skip


@called
def outward(tree, frames, joints, gravity, motion, q, s, sd):
    """Fill ``motion`` with poses, twists V (m/s, rad/s) and rates V̇ of all bodies for (q, s, ṡ).

    The shapes of the frames are up to date. Bodies are ordered parents first. The columns C of each joint (child's frame, its
    axes) and the poses X_pm, X_J, X_cm are kept: the inward sweep and the matrices need them. Theory, section 18.
    """
    for i in range(tree.shape[0]):
        j = tree[i, JOINT]
        fp = tree[i, FRAME_P]
        fc = tree[i, FRAME_C]
        at = tree[i, S_AT]
        Rp, xp = frame_pose(frames, fp, q)
        A, r = world_pose(frames, motion, fp, Rp, xp)
        pv, pw, av, aw = frame_rates(frames, gravity, motion, fp, Rp, xp, q, s, sd)
        Rj, xj = joint_pose(joints, j, q, tree[i, Q_AT])
        jv, jw, bv, bw = joint_directions(joints, j, q, tree[i, Q_AT], s, at, motion, i, FREE_DIRECTIONS)
        r = add(r, mul(A, xj))
        A = matmul(A, Rj)
        cv, cw = twist_to_child(Rj, xj, pv, pw)
        av, aw = twist_to_child(Rj, xj, av, aw)
        kv, kw = bracket(jv, jw, cv, cw)
        av = add(sub(av, kv), bv)
        aw = add(sub(aw, kw), bw)
        for k in range(tree[i, NV]):
            f = sd[at + k]
            av = add(av, scale(f, load3_at(motion, i, FREE_DIRECTIONS + 6 * k)))
            aw = add(aw, scale(f, load3_at(motion, i, FREE_DIRECTIONS + 6 * k + 3)))
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
        store9_at(motion, i, ROT, A)
        store3_at(motion, i, POS, sub(r, mul(A, xc)))
        store3_at(motion, i, VEL, V)
        store3_at(motion, i, VEL + 3, W)
        store3_at(motion, i, ACC, Vd)
        store3_at(motion, i, ACC + 3, Wd)
        store9_at(motion, i, RP, Rp)
        store3_at(motion, i, XP, xp)
        store9_at(motion, i, RJ, Rj)
        store3_at(motion, i, XJ, xj)
        store9_at(motion, i, RC, Rc)
        store3_at(motion, i, XC, xc)


@part
def displace(tree, joints, q0, d, q):
    """q = q₀ ⊕ d (theory, section 2); d (ns,) in velocity coordinates is a displacement, a velocity times a unit of time."""
    for i in range(tree.shape[0]):
        displace_joint(joints, tree[i, JOINT], q0, q, tree[i, Q_AT], d, tree[i, S_AT])
        for k in range(tree[i, NF]):
            q[tree[i, QF_AT] + k] = q0[tree[i, QF_AT] + k] + d[tree[i, SF_AT] + k]


@part
def midpoint(tree, joints, d):
    """d ← the displacement with which `displace` is the midpoint rule, d given by velocities at the middle of a step."""
    for i in range(tree.shape[0]):
        midpoint_joint(joints, tree[i, JOINT], d, tree[i, S_AT])


@part
def rates(tree, joints, q, s, qd):
    """q̇ = H(q) s (nq,): ½ p ∘ (0, ω) for Euler parameters, A v for the origin of a free motion, 1 elsewhere.

    Theory, section 3.
    """
    for i in range(tree.shape[0]):
        joint_rates(joints, tree[i, JOINT], q, tree[i, Q_AT], s, tree[i, S_AT], qd)
        for k in range(tree[i, NF]):
            qd[tree[i, QF_AT] + k] = s[tree[i, SF_AT] + k]


@part
def normalize_positions(tree, joints, q):
    """p ← p/|p| for all Euler parameters in q (nq,): pᵀp = 1 is kept by the update but for round-off (theory, section 3)."""
    for i in range(tree.shape[0]):
        normalize_joint(joints, tree[i, JOINT], q, tree[i, Q_AT])


@part
def parent_to_child(motion, i):
    """Pose X_pm X_J of the child's joint frame in the parent body."""
    Rp = load9_at(motion, i, RP)
    return matmul(Rp, load9_at(motion, i, RJ)), add(load3_at(motion, i, XP), mul(Rp, load3_at(motion, i, XJ)))

"""Joints as chains of elementary motions: pose, free directions, velocity-product terms, coordinate updates.

Pose X_J(β) = X_1 X_2 …; twist of the child's frame relative to the parent's, child axes: V_J = C(β) η, column k of C is
Ad(X_tail⁻¹) S_k with X_tail the motions behind it; Ċ η = −Σ_k ad(V_tail,k) C_k η_k  (Featherstone 2008, §4.4).
"""

import math

from flexmbs._jit import part
from flexmbs.algebra.se3 import bracket, exp_se3, twist_to_child
from flexmbs.algebra.small import EYE3, ZERO3, add, dot, load3_at, load9_at, matmul, mul, scale, store3_at, tmatmul, tmul
from flexmbs.algebra.so3 import exp_so3, matrix_of, quaternion_exp, quaternion_product
from flexmbs.system.records import BALL, FREE, ROTATE, FIXED_TRANSLATION, SLIDE, SCREW


@part
def motion_pose(joints, m, q, at):
    """Pose (R, x) of elementary motion m, positions from q[at]; number of positions and velocities used."""
    code = joints.code[m]
    axis = load3_at(joints.axis, m, 0)
    if code == ROTATE:
        return exp_so3(scale(q[at], axis)), ZERO3, 1, 1
    if code == SLIDE:
        return EYE3, scale(q[at], axis), 1, 1
    if code == SCREW:
        return exp_so3(scale(q[at], axis)), scale(joints.pitch[m] * q[at], axis), 1, 1
    if code == BALL:
        return matrix_of(q[at], q[at + 1], q[at + 2], q[at + 3]), ZERO3, 4, 3
    if code == FREE:
        return matrix_of(q[at + 3], q[at + 4], q[at + 5], q[at + 6]), (q[at], q[at + 1], q[at + 2]), 7, 6
    return load9_at(joints.rotation, m, 0), axis, 0, 0


@part
def unit_twist(joints, m, k):
    """S_k of elementary motion m."""
    code = joints.code[m]
    axis = load3_at(joints.axis, m, 0)
    if code == ROTATE:
        return ZERO3, axis
    if code == SLIDE:
        return axis, ZERO3
    if code == SCREW:
        return scale(joints.pitch[m], axis), axis
    e = (1.0 if k % 3 == 0 else 0.0, 1.0 if k % 3 == 1 else 0.0, 1.0 if k % 3 == 2 else 0.0)
    if code == BALL or k >= 3:
        return ZERO3, e
    return e, ZERO3


@part
def joint_pose(joints, j, q, at):
    """X_J(β)"""
    R = EYE3
    x = ZERO3
    for m in range(joints.first[j], joints.end[j]):
        Rm, xm, nq, _ = motion_pose(joints, m, q, at)
        x = add(x, mul(R, xm))
        R = matmul(R, Rm)
        at += nq
    return R, x


@part
def joint_directions(joints, j, q, q_at, s, s_at, out, i):
    """Columns of C as six-vectors into out[i], and (V_J, Ċ η), child axes; velocities from s[s_at]."""
    Rt = EYE3  # pose of the child's frame in the frame behind the motion at hand
    xt = ZERO3
    v = ZERO3
    w = ZERO3
    bv = ZERO3
    bw = ZERO3
    k = joints.nv[j]
    at = q_at + joints.nq[j]
    first = joints.first[j]
    for back in range(joints.end[j] - first):
        m = joints.end[j] - 1 - back
        code = joints.code[m]
        if code == BALL:
            nq, nv = 4, 3
        elif code == FREE:
            nq, nv = 7, 6
        elif code == FIXED_TRANSLATION:
            nq, nv = 0, 0
        else:
            nq, nv = 1, 1
        k -= nv
        at -= nq
        dv = ZERO3
        dw = ZERO3
        for a in range(nv):
            sv, sw = unit_twist(joints, m, a)
            sv, sw = twist_to_child(Rt, xt, sv, sw)
            store3_at(out, i, 6 * (k + a), sv)
            store3_at(out, i, 6 * (k + a) + 3, sw)
            rate = s[s_at + k + a]
            dv = add(dv, scale(rate, sv))
            dw = add(dw, scale(rate, sw))
        cv, cw = bracket(v, w, dv, dw)
        bv = add(bv, scale(-1.0, cv))
        bw = add(bw, scale(-1.0, cw))
        v = add(v, dv)
        w = add(w, dw)
        if back + 1 < joints.end[j] - first:
            Rm, xm, _, _ = motion_pose(joints, m, q, at)
            xt = add(xm, mul(Rm, xt))
            Rt = matmul(Rm, Rt)
    return v, w, bv, bw


@part
def displace_joint(joints, j, q0, q, at, d, d_at):
    """q[at…] = q0[at…] ⊕ d : sums for angles and lengths, group products for rotations and free motions."""
    for m in range(joints.first[j], joints.end[j]):
        code = joints.code[m]
        if code == BALL:
            p = quaternion_product(
                (q0[at], q0[at + 1], q0[at + 2], q0[at + 3]), quaternion_exp((d[d_at], d[d_at + 1], d[d_at + 2]))
            )
            for a in range(4):
                q[at + a] = p[a]
            normalize(q, at)
            at += 4
            d_at += 3
        elif code == FREE:
            v = (d[d_at], d[d_at + 1], d[d_at + 2])
            w = (d[d_at + 3], d[d_at + 4], d[d_at + 5])
            _, x = exp_se3(v, w)
            dx = mul(matrix_of(q0[at + 3], q0[at + 4], q0[at + 5], q0[at + 6]), x)
            p = quaternion_product((q0[at + 3], q0[at + 4], q0[at + 5], q0[at + 6]), quaternion_exp(w))
            for a in range(3):
                q[at + a] = q0[at + a] + dx[a]
            for a in range(4):
                q[at + 3 + a] = p[a]
            normalize(q, at + 3)
            at += 7
            d_at += 6
        elif code != FIXED_TRANSLATION:
            q[at] = q0[at] + d[d_at]
            at += 1
            d_at += 1


@part
def midpoint_joint(joints, j, d, at):
    """d[at…] of a free motion ← what `displace_joint` needs for the midpoint rule: R = R₀ cay(w), x = x₀ + R₀ exp(½φ) v.

    φ = 2 atan(½|w|) about w. With body-axes velocities, v₁ + ½ w×v₁ = v₀ − ½ w×v₀, it keeps linear momentum, and uniform gravity
    at half the rotation does the work of the displacement (Austin, Krishnaprasad and Wang 1993, J. Comput. Phys. 107, 105).
    """
    for m in range(joints.first[j], joints.end[j]):
        code = joints.code[m]
        if code == FREE:
            v = (d[at], d[at + 1], d[at + 2])
            w = (d[at + 3], d[at + 4], d[at + 5])
            t2 = dot(w, w)
            if t2 > 0.0:
                t = math.sqrt(t2)
                shorter = 2.0 * math.atan(0.5 * t) / t
                longer = shorter * math.sqrt(1.0 + 0.25 * t2)
                along = (1.0 - longer) * dot(w, v) / t2
                for a in range(3):
                    d[at + a] = longer * v[a] + along * w[a]
                    d[at + 3 + a] = shorter * w[a]
            at += 6
        elif code == BALL:
            at += 3
        elif code != FIXED_TRANSLATION:
            at += 1


@part
def normalize(q, at):
    """Unit length of the Euler parameters at q[at]."""
    n = math.sqrt(q[at] ** 2 + q[at + 1] ** 2 + q[at + 2] ** 2 + q[at + 3] ** 2)
    for a in range(4):
        q[at + a] /= n


@part
def joint_rates(joints, j, q, at, s, s_at, qd):
    """β̇ = H(β) η; for Euler parameters ṗ = ½ p ∘ (0, ω)."""
    for m in range(joints.first[j], joints.end[j]):
        code = joints.code[m]
        if code == FREE:
            v = (s[s_at], s[s_at + 1], s[s_at + 2])
            rd = mul(matrix_of(q[at + 3], q[at + 4], q[at + 5], q[at + 6]), v)
            for a in range(3):
                qd[at + a] = rd[a]
            at += 3
            s_at += 3
        if code in (BALL, FREE):
            pd = quaternion_product(
                (q[at], q[at + 1], q[at + 2], q[at + 3]), (0.0, 0.5 * s[s_at], 0.5 * s[s_at + 1], 0.5 * s[s_at + 2])
            )
            for a in range(4):
                qd[at + a] = pd[a]
            at += 4
            s_at += 3
        elif code != FIXED_TRANSLATION:
            qd[at] = s[s_at]
            at += 1
            s_at += 1


@part
def normalize_joint(joints, j, q, at):
    """Unit Euler parameters of the joint's rotations."""
    for m in range(joints.first[j], joints.end[j]):
        code = joints.code[m]
        if code == BALL:
            normalize(q, at)
            at += 4
        elif code == FREE:
            normalize(q, at + 3)
            at += 7
        elif code != FIXED_TRANSLATION:
            at += 1


@part
def relative_pose(Ra, ra, Rb, rb):
    """Pose of frame b in frame a from poses in a common frame."""
    d = (rb[0] - ra[0], rb[1] - ra[1], rb[2] - ra[2])
    return tmatmul(Ra, Rb), tmul(Ra, d)


@part
def relative_twist(Rr, xr, va, wa, vb, wb):
    """V_b − Ad(X_ab⁻¹) V_a in axes of b, and the carried twist of a."""
    ca, cw = twist_to_child(Rr, xr, va, wa)
    return (vb[0] - ca[0], vb[1] - ca[1], vb[2] - ca[2]), (wb[0] - cw[0], wb[1] - cw[1], wb[2] - cw[2]), ca, cw

"""Joints as chains of elementary motions.

Pose, free directions, velocity-product terms, coordinate updates:

    X_J(β) = X_1 X_2 …,   V_rel = C(β) η,   C_k = Ad(X_tail⁻¹) S_k,   Ċ η = −Σ_k ad(V_tail,k) C_k η_k,   β̇ = H(β) η,

in the axes of the child's frame: S_k is the unit twist of motion k, X_tail the pose of the motions
behind it, V_tail,k their twist. Elementary motions are a rotation (rad), a slide (m), a screw (rad,
with a pitch in m/rad), a ball (Euler parameters and ω) and a free motion (position in the parent's
axes, Euler parameters; twist in its own axes).

Theory: docs/theory.md, sections 2, 3 and 11. Featherstone, Rigid Body Dynamics Algorithms (2008),
section 4.4 (joint models); Brüls, Cardona and Arnold (2012), Mech. Mach. Theory 48, 121, for the
update q ⊕ d on the group.
"""

import math

from flexmbs._jit import part
from flexmbs.algebra.se3 import bracket, exp_se3, twist_to_child
from flexmbs.algebra.small import (
    EYE3,
    ZERO3,
    add,
    dot,
    load3_at,
    load9_at,
    matmul,
    mul,
    scale,
    store3_at,
    store9_at,
    tmatmul,
    tmul,
)
from flexmbs.algebra.so3 import exp_so3, matrix_of, quaternion_exp, quaternion_product


@part
def motion_pose(joints, m, q, at):
    """Pose (R, x) of elementary motion m, and its numbers of positions and velocities.

    Its positions are taken from q[at] on.
    """
    nv = joints.motion_nv[m]
    if nv == 1:
        return (
            exp_so3(scale(q[at], load3_at(joints.unit_twist, m, 3))),
            scale(q[at], load3_at(joints.unit_twist, m, 0)),
            1,
            1,
        )
    if nv == 3:
        return matrix_of(q[at], q[at + 1], q[at + 2], q[at + 3]), ZERO3, 4, 3
    if nv == 6:
        return (
            matrix_of(q[at + 3], q[at + 4], q[at + 5], q[at + 6]),
            (q[at], q[at + 1], q[at + 2]),
            7,
            6,
        )
    return load9_at(joints.R, m, 0), load3_at(joints.x, m, 0), 0, 0


@part
def unit_twist(joints, m, k):
    """S_k = (v, ω): k-th column of the free directions of elementary motion m, in its axes."""
    nv = joints.motion_nv[m]
    if nv == 1:
        return load3_at(joints.unit_twist, m, 0), load3_at(joints.unit_twist, m, 3)
    e = (1.0 if k % 3 == 0 else 0.0, 1.0 if k % 3 == 1 else 0.0, 1.0 if k % 3 == 2 else 0.0)
    if nv == 3 or k >= 3:
        return ZERO3, e
    return e, ZERO3


@part
def joint_pose(joints, j, q, at):
    """Pose X_J(β) = X_1 X_2 … (R, x) of the child frame in the parent frame.

    β is taken from q[at] on.
    """
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
    """Columns C_k = Ad(X_tail⁻¹) S_k as six-vectors, from out[i, o] on, in child axes.

    Returns C η + v̄_rel and Ċ η + ā_rel, with η from s[s_at] on; v̄_rel and the f̈ of ā_rel belong
    to prescribed motions. The chain is traversed from its end, so that the pose and the twist of
    the motions behind the current one are known: Ċ η collects −ad(V_tail) C_k η_k. Theory, sections
    11 and 18; Featherstone 2008, section 4.4.
    """
    Rt = EYE3  # pose of the child's frame in the frame behind the current motion
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
        nv = joints.motion_nv[m]
        nq = nv if nv < 3 else nv + 1
        k -= nv
        at -= nq
        dv = ZERO3
        dw = ZERO3
        if nv == 0 and (joints.rate[m, 0] != 0.0 or joints.rate[m, 1] != 0.0):
            # a prescribed motion: S ḟ is in v̄_rel, S f̈ in ā_rel
            sv, sw = twist_to_child(
                Rt, xt, load3_at(joints.unit_twist, m, 0), load3_at(joints.unit_twist, m, 3)
            )
            dv = scale(joints.rate[m, 0], sv)
            dw = scale(joints.rate[m, 0], sw)
            bv = add(bv, scale(joints.rate[m, 1], sv))
            bw = add(bw, scale(joints.rate[m, 1], sw))
        for a in range(nv):
            sv, sw = unit_twist(joints, m, a)
            sv, sw = twist_to_child(Rt, xt, sv, sw)
            store3_at(out, i, 6 * (k + a), sv)
            store3_at(out, i, 6 * (k + a) + 3, sw)
            rate = s[s_at + k + a]
            dv = add(dv, scale(rate, sv))
            dw = add(dw, scale(rate, sw))
        # the columns of a motion rotate only with the motions behind it: its own twist is added
        # after the bracket
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
def prescribe(joints, m, values):
    """Store pose and rates of the prescribed motion m in the records of motions.

    values: (f, ḟ, f̈). The motion has no coordinate.
    """
    f, fd, fdd = values
    store9_at(joints.R, m, 0, exp_so3(scale(f, load3_at(joints.unit_twist, m, 3))))
    store3_at(joints.x, m, 0, scale(f, load3_at(joints.unit_twist, m, 0)))
    joints.rate[m, 0] = fd
    joints.rate[m, 1] = fdd


@part
def prescribed_direction(joints, j, m, q, at):
    """Ad(X_tail⁻¹) S of the prescribed motion m of joint j, in child axes.

    β is taken from q[at] on.
    """
    v = load3_at(joints.unit_twist, m, 0)
    w = load3_at(joints.unit_twist, m, 3)
    for k in range(joints.first[j], joints.end[j]):
        Rm, xm, nq, _ = motion_pose(joints, k, q, at)
        if k > m:
            v, w = twist_to_child(Rm, xm, v, w)
        at += nq
    return v, w


@part
def displace_joint(joints, j, q0, q, at, d, d_at):
    """q[at…] ← q₀[at…] ⊕ d: displace the coordinates of joint j.

    Sums for angles and lengths, p ∘ exp(½ d) for rotations, X exp(d) with the twist d for free
    motions. Theory, sections 2 and 3; Brüls, Cardona and Arnold (2012).
    """
    for m in range(joints.first[j], joints.end[j]):
        nv = joints.motion_nv[m]
        if nv == 3:
            p = quaternion_product(
                (q0[at], q0[at + 1], q0[at + 2], q0[at + 3]),
                quaternion_exp((d[d_at], d[d_at + 1], d[d_at + 2])),
            )
            for a in range(4):
                q[at + a] = p[a]
            normalize(q, at)
            at += 4
            d_at += 3
        elif nv == 6:
            v = (d[d_at], d[d_at + 1], d[d_at + 2])
            w = (d[d_at + 3], d[d_at + 4], d[d_at + 5])
            _, x = exp_se3(v, w)
            dx = mul(matrix_of(q0[at + 3], q0[at + 4], q0[at + 5], q0[at + 6]), x)
            p = quaternion_product(
                (q0[at + 3], q0[at + 4], q0[at + 5], q0[at + 6]), quaternion_exp(w)
            )
            for a in range(3):
                q[at + a] = q0[at + a] + dx[a]
            for a in range(4):
                q[at + 3 + a] = p[a]
            normalize(q, at + 3)
            at += 7
            d_at += 6
        elif nv == 1:
            q[at] = q0[at] + d[d_at]
            at += 1
            d_at += 1


@part
def midpoint_joint(joints, j, d, at):
    """Convert d of a free motion so that `displace_joint` gives the midpoint rule.

        R = R₀ cay(w),   x = x₀ + R₀ exp(½φ) v,   d = (v, w),   φ = 2 atan(½|w|) about w

    With body-axes velocities, v₁ + ½ w×v₁ = v₀ − ½ w×v₀, it conserves linear momentum, and uniform
    gravity at half the rotation does the work of the displacement. Theory, section 42; Austin,
    Krishnaprasad and Wang (1993), J. Comput. Phys. 107, 105.
    """
    for m in range(joints.first[j], joints.end[j]):
        nv = joints.motion_nv[m]
        if nv == 6:
            v = (d[at], d[at + 1], d[at + 2])
            w = (d[at + 3], d[at + 4], d[at + 5])
            t2 = dot(w, w)
            if t2 > 0.0:
                t = math.sqrt(t2)
                shorter = 2.0 * math.atan(0.5 * t) / t
                # what is stored is the logarithm of the wanted motion: exp of it gives the chord
                # exp(½φ) v, whose part along w stays as it is
                longer = shorter * math.sqrt(1.0 + 0.25 * t2)
                along = (1.0 - longer) * dot(w, v) / t2
                for a in range(3):
                    d[at + a] = longer * v[a] + along * w[a]
                    d[at + 3 + a] = shorter * w[a]
            at += 6
        elif nv == 3:
            at += 3
        elif nv == 1:
            at += 1


@part
def normalize(q, at):
    """Normalize the Euler parameters q[at : at + 4]."""
    n = math.sqrt(q[at] ** 2 + q[at + 1] ** 2 + q[at + 2] ** 2 + q[at + 3] ** 2)
    for a in range(4):
        q[at + a] /= n


@part
def joint_rates(joints, j, q, at, s, s_at, qd):
    """β̇ = H(β) η into qd[at…].

    ṙ = R v and ṗ = ½ p ∘ (0, ω) for free motions and balls, β̇ = η otherwise (theory, section 3).
    """
    for m in range(joints.first[j], joints.end[j]):
        nv = joints.motion_nv[m]
        if nv == 6:
            v = (s[s_at], s[s_at + 1], s[s_at + 2])
            rd = mul(matrix_of(q[at + 3], q[at + 4], q[at + 5], q[at + 6]), v)
            for a in range(3):
                qd[at + a] = rd[a]
            at += 3
            s_at += 3
        if nv >= 3:
            pd = quaternion_product(
                (q[at], q[at + 1], q[at + 2], q[at + 3]),
                (0.0, 0.5 * s[s_at], 0.5 * s[s_at + 1], 0.5 * s[s_at + 2]),
            )
            for a in range(4):
                qd[at + a] = pd[a]
            at += 4
            s_at += 3
        elif nv == 1:
            qd[at] = s[s_at]
            at += 1
            s_at += 1


@part
def normalize_joint(joints, j, q, at):
    """Unit Euler parameters of the rotations of joint j, positions from q[at] on."""
    for m in range(joints.first[j], joints.end[j]):
        nv = joints.motion_nv[m]
        if nv >= 3:
            normalize(q, at + nv - 3)
            at += 1
        at += nv


@part
def relative_pose(Ra, ra, Rb, rb):
    """X_ab = (R_aᵀ R_b, R_aᵀ (r_b − r_a)): pose of frame b in frame a.

    Ra, ra, Rb, rb: their poses in a common frame.
    """
    d = (rb[0] - ra[0], rb[1] - ra[1], rb[2] - ra[2])
    return tmatmul(Ra, Rb), tmul(Ra, d)


@part
def relative_twist(Rr, xr, va, wa, vb, wb):
    """V_rel = V_b − Ad(X_ab⁻¹) V_a in axes of b, and the carried Ad(X_ab⁻¹) V_a.

    As (v, ω, v_a, ω_a) (theory, section 14).
    """
    ca, cw = twist_to_child(Rr, xr, va, wa)
    return (
        (vb[0] - ca[0], vb[1] - ca[1], vb[2] - ca[2]),
        (wb[0] - cw[0], wb[1] - cw[1], wb[2] - cw[2]),
        ca,
        cw,
    )

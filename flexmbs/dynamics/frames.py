"""Frames on bodies: pose, twist and twist rate of a frame that moves with the modes, and the dual maps.

Position x + φ q, orientation exp(ψ q) R. In the frame's own axes V_m = Ad(X_m⁻¹) V + v with v = Φ q̇,
Φ = [R_mᵀ φ; Rᵀ T(ψq) ψ], and V̇_m = Ad(X_m⁻¹) V̇ − ad(v) Ad(X_m⁻¹) V + Φ q̈ + Φ̇ q̇.
"""

from flexmbs._jit import part
from flexmbs.algebra.se3 import bracket, twist_to_child, wrench_to_parent
from flexmbs.algebra.small import ZERO3, add, cross, increase3_at, load3_at, load9_at, matmul, mul, neg, scale, sub, tmul
from flexmbs.algebra.so3 import exp_so3, tangent, tangent_rate, tangent_transposed
from flexmbs.system.records import ACC, APPLIED, F_BODY, F_ELASTIC, F_NF, F_QF, F_R, F_SF, F_X, POS, ROT, VEL


@part
def modal3(frames, m, row, x, at):
    """Σ_k shape[m, row:row+3, k] x[at + k]; row 0 translations φ, row 3 rotations ψ."""
    a = 0.0
    b = 0.0
    c = 0.0
    for k in range(frames.info[m, F_NF]):
        f = x[at + k]
        a += frames.shape[m, row, k] * f
        b += frames.shape[m, row + 1, k] * f
        c += frames.shape[m, row + 2, k] * f
    return (a, b, c)


@part
def frame_pose(frames, m, q):
    """Pose of frame m in its body."""
    R = load9_at(frames.place, m, F_R)
    x = load3_at(frames.place, m, F_X)
    if frames.info[m, F_ELASTIC] == 0:
        return R, x
    at = frames.info[m, F_QF]
    return matmul(exp_so3(modal3(frames, m, 3, q, at)), R), add(x, modal3(frames, m, 0, q, at))


@part
def modal_motion(frames, m, Rm, q, s, sd):
    """v = Φ q̇ and v̇ = Φ q̈ + Φ̇ q̇ in the frame's axes."""
    if frames.info[m, F_ELASTIC] == 0:
        return ZERO3, ZERO3, ZERO3, ZERO3
    to = frames.info[m, F_SF]
    th = modal3(frames, m, 3, q, frames.info[m, F_QF])
    thd = modal3(frames, m, 3, s, to)
    R0 = load9_at(frames.place, m, F_R)
    v = tmul(Rm, modal3(frames, m, 0, s, to))
    w = tmul(R0, tangent(th, thd))
    a = sub(tmul(Rm, modal3(frames, m, 0, sd, to)), cross(w, v))
    return v, w, a, tmul(R0, add(tangent(th, modal3(frames, m, 3, sd, to)), tangent_rate(th, thd)))


@part
def modal_force(frames, m, Rm, q, f, t, out, factor):
    """out[modal rows] += factor Φᵀ (f, t) for a wrench in the frame's axes."""
    if frames.info[m, F_ELASTIC] == 0:
        return
    at = frames.info[m, F_SF]
    th = modal3(frames, m, 3, q, frames.info[m, F_QF])
    a = scale(factor, mul(Rm, f))
    b = scale(factor, tangent_transposed(th, mul(load9_at(frames.place, m, F_R), t)))
    h = frames.shape
    for k in range(frames.info[m, F_NF]):
        out[at + k] += (
            h[m, 0, k] * a[0] + h[m, 1, k] * a[1] + h[m, 2, k] * a[2] + h[m, 3, k] * b[0] + h[m, 4, k] * b[1] + h[m, 5, k] * b[2]
        )


@part
def modal_rows(frames, m, Rm, q, P, n, B):
    """B[:n, 6:6+nf] += P Φ for n covectors P (n, 6) in the frame's axes."""
    if frames.info[m, F_ELASTIC] == 0:
        return
    th = modal3(frames, m, 3, q, frames.info[m, F_QF])
    R0 = load9_at(frames.place, m, F_R)
    h = frames.shape
    for r in range(n):
        a = mul(Rm, load3_at(P, r, 0))
        b = tangent_transposed(th, mul(R0, load3_at(P, r, 3)))
        for k in range(frames.info[m, F_NF]):
            B[r, 6 + k] += (
                h[m, 0, k] * a[0]
                + h[m, 1, k] * a[1]
                + h[m, 2, k] * a[2]
                + h[m, 3, k] * b[0]
                + h[m, 4, k] * b[1]
                + h[m, 5, k] * b[2]
            )


@part
def ground_acceleration(gravity, Rm):
    """Twist rate of a frame at rest on the ground: −gravity in the frame's axes."""
    return neg(tmul(Rm, (gravity[0], gravity[1], gravity[2])))


@part
def frame_rates(frames, gravity, motion, m, Rm, xm, q, s, sd):
    """Twist and twist rate of frame m, own axes, the rate including −gravity."""
    i = frames.info[m, F_BODY]
    if i < 0:
        return ZERO3, ZERO3, ground_acceleration(gravity, Rm), ZERO3
    v, w, vd, wd = modal_motion(frames, m, Rm, q, s, sd)
    cv, cw = twist_to_child(Rm, xm, load3_at(motion, i, VEL), load3_at(motion, i, VEL + 3))
    av, aw = twist_to_child(Rm, xm, load3_at(motion, i, ACC), load3_at(motion, i, ACC + 3))
    kv, kw = bracket(v, w, cv, cw)
    return add(cv, v), add(cw, w), add(sub(av, kv), vd), add(sub(aw, kw), wd)


@part
def world_pose(frames, motion, m, Rm, xm):
    """World pose of frame m from its pose in the body."""
    i = frames.info[m, F_BODY]
    if i < 0:
        return Rm, xm
    A = load9_at(motion, i, ROT)
    return matmul(A, Rm), add(load3_at(motion, i, POS), mul(A, xm))


@part
def frame_twist(frames, motion, m, q, s):
    """World pose, pose in the body and twist (own axes) of frame m: what forces need."""
    Rm, xm = frame_pose(frames, m, q)
    A, r = world_pose(frames, motion, m, Rm, xm)
    i = frames.info[m, F_BODY]
    if i < 0:
        return A, r, Rm, xm, ZERO3, ZERO3
    v, w, _, _ = modal_motion(frames, m, Rm, q, s, s)
    cv, cw = twist_to_child(Rm, xm, load3_at(motion, i, VEL), load3_at(motion, i, VEL + 3))
    return A, r, Rm, xm, add(cv, v), add(cw, w)


@part
def apply_wrench(frames, motion, force, m, Rm, xm, q, f, n):
    """Add the wrench (f, n), frame axes, at frame m to the applied wrench of its body and to its modal forces."""
    i = frames.info[m, F_BODY]
    if i < 0:
        return
    fb, nb = wrench_to_parent(Rm, xm, f, n)
    increase3_at(motion, i, APPLIED, fb)
    increase3_at(motion, i, APPLIED + 3, nb)
    modal_force(frames, m, Rm, q, f, n, force, 1.0)


@part
def apply_pair(frames, motion, force, a, Ra, xa, b, Rb, xb, Rr, xr, q, f, n):
    """Wrench (f, n), axes of b, on frame b and its reaction on frame a."""
    apply_wrench(frames, motion, force, b, Rb, xb, q, f, n)
    fa, na = wrench_to_parent(Rr, xr, f, n)
    apply_wrench(frames, motion, force, a, Ra, xa, q, neg(fa), neg(na))

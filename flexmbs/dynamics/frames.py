"""Frames on bodies: pose, twist and twist rate of a frame that moves with the modes.

Frame m of a body is at a node with the shapes φ (translations, m per unit of q_f) and ψ (rotations,
rad per unit) and the geometric stiffness K0 of unit forces and moments on it (zero without
second-order displacements):

    x_m = x + φ q_f − ½ q_fᵀ K0 q_f,   R_m = exp(ϑ̃) R_0,   ϑ = ψ q_f − ½ q_fᵀ K0 q_f,
    V_m = Ad(X_m⁻¹) V + v,   v = Φ_m q̇_f,   Φ_m = [R_mᵀ (φ − K0 q_f); R_0ᵀ T(ϑ) (ψ − K0 q_f)],
    V̇_m = Ad(X_m⁻¹) V̇ − ad(v) Ad(X_m⁻¹) V + Φ_m q̈_f + Φ̇_m q̇_f,

all in the frame's own axes. A wrench W at the frame acts as Ad(X_m⁻¹)ᵀ W on the body and as Φ_mᵀ W
on its modes. Under a load λ the transposed shapes φᵀ − (K0 q_f)ᵀ make K0 λ a stiffness: the
geometric stiffening by forces on the frame.

Theory: docs/theory.md, sections 2, 3 and 10. Shabana, Dynamics of Multibody Systems (2020), chapter
5; Wallrapp (1994), Mech. Struct. Mach. 22, 283, for the data of a node, Wallrapp and Schwertassek
(1991), Arch. Appl. Mech. 61, 428, for K0.
"""

import numpy as np

from flexmbs._jit import called, part
from flexmbs.algebra.se3 import bracket, twist_to_child, wrench_to_parent
from flexmbs.algebra.small import (
    ZERO3,
    add,
    cross,
    increase3_at,
    load3_at,
    load9_at,
    matmul,
    mul,
    neg,
    scale,
    store3_at,
    store9_at,
    sub,
    tmul,
)
from flexmbs.algebra.so3 import exp_so3, tangent, tangent_rate, tangent_transposed
from flexmbs.system.records import Frames


def places_in_body(frames: Frames, m: int, q: np.ndarray) -> np.ndarray:
    """Position x + φ q_f − ½ q_fᵀ K0 q_f of frame m in its body, m.

    q (…, nf): elastic coordinates.
    """
    n, j = int(frames.nf[m]), int(frames.second_at[m])
    x = frames.x[m] + q @ frames.shape[m, :3, :n].T
    if j < 0:
        return np.asarray(x)
    K0 = frames.second[j, :n].reshape(n, 6, -1)[:, :3, :n]
    return np.asarray(x - 0.5 * np.einsum("...k,kal,...l->...a", q, K0, q))


@part
def current_shapes(frames, q, s):
    """Store current shapes φ − K0 q_f of all frames, 6 nf numbers each.

    frames.current ← (φ − K0 q_f, ψ − K0 q_f), frames.rate ← −(K0 q̇_f) (theory, section 10).
    Nothing is done if no body has second-order displacements: ``frames.current`` is the constant
    array of shapes then.
    """
    if frames.second.shape[0] == 0:
        return
    width = frames.current.shape[1]
    for m in range(frames.body.shape[0]):
        j = frames.second_at[m]
        for k in range(width):
            frames.current[m, k] = frames.shape[m, k]
        if j >= 0:
            for k in range(width):
                frames.rate[m, k] = 0.0
            n = frames.nf[m]
            subtract_rows(frames.second[j], n, q, frames.qf_at[m], frames.current[m])
            subtract_rows(frames.second[j], n, s, frames.sf_at[m], frames.rate[m])


@part
def subtract_rows(Q, n, x, at, U):
    """U[:] −= Σ_l x[at + l] Q[l] for the n rows of Q (n, 6 nf).

    Four rows at a time: U is read and written a quarter as often.
    """
    whole = n - n % 4
    for l in range(0, whole, 4):
        a, b, c, d = x[at + l], x[at + l + 1], x[at + l + 2], x[at + l + 3]
        for k in range(U.shape[0]):
            U[k] -= (a * Q[l, k] + b * Q[l + 1, k]) + (c * Q[l + 2, k] + d * Q[l + 3, k])
    for l in range(whole, n):
        a = x[at + l]
        for k in range(U.shape[0]):
            U[k] -= a * Q[l, k]


@part
def modal3(shape, m, n, row, x, at):
    """Σ_k shape[m, row:row+3, k] x[at + k]: three components of a modal sum.

    row: 0 for translations φ, 3 for rotations ψ.
    """
    F = shape.shape[1] // 6
    o = row * F
    a = 0.0
    b = 0.0
    c = 0.0
    for k in range(n):
        f = x[at + k]
        a += shape[m, o + k] * f
        b += shape[m, o + F + k] * f
        c += shape[m, o + 2 * F + k] * f
    return (a, b, c)


@part
def displacement(frames, m, row, q):
    """Displacement of a frame by the modes, in axes of the body.

    φ q_f − ½ q_fᵀ K0 q_f in m (``row`` 0) or ϑ = ψ q_f − ½ q_fᵀ K0 q_f in rad (``row`` 3).
    """
    n = frames.nf[m]
    at = frames.qf_at[m]
    a = modal3(frames.current, m, n, row, q, at)
    if frames.second_at[m] < 0:
        return a
    # the current shapes contain K0 q, the quadratic part needs half of it: take the mean with the
    # constant shapes
    return scale(0.5, add(a, modal3(frames.shape, m, n, row, q, at)))


@part
def velocity(frames, m, row, s):
    """Velocity of a frame by the modes, in axes of the body.

    (φ − K0 q_f) q̇_f in m/s (``row`` 0) or ϑ̇ = (ψ − K0 q_f) q̇_f in rad/s (``row`` 3).
    """
    return modal3(frames.current, m, frames.nf[m], row, s, frames.sf_at[m])


@part
def acceleration(frames, m, row, s, sd):
    """Acceleration of a frame by the modes, in axes of the body.

    (φ − K0 q_f) q̈_f − q̇_fᵀ K0 q̇_f in m/s² (``row`` 0) or ϑ̈ in rad/s² (``row`` 3).
    """
    a = velocity(frames, m, row, sd)
    if frames.second_at[m] < 0:
        return a
    return add(a, modal3(frames.rate, m, frames.nf[m], row, s, frames.sf_at[m]))


@part
def frame_pose(frames, m, q):
    """Pose (R_m, x_m) of frame m in its body.

    R_m = exp(ϑ̃) R_0 (nine numbers, row-major), x_m = x + φ q_f − ½ q_fᵀ K0 q_f (m).
    """
    R = load9_at(frames.R, m, 0)
    x = load3_at(frames.x, m, 0)
    if frames.elastic[m] == 0:
        return R, x
    return matmul(exp_so3(displacement(frames, m, 3, q)), R), add(x, displacement(frames, m, 0, q))


@part
def modal_motion(frames, m, Rm, q, s, sd):
    """v = Φ_m q̇_f and v̇ = Φ_m q̈_f + Φ̇_m q̇_f of frame m, in its axes.

    Returned as (v, ω, v̇, ω̇) in m/s, rad/s, m/s², rad/s². v = R_mᵀ u̇ and v̇ = R_mᵀ ü − ω × v with
    u = φ q_f − ½ q_fᵀ K0 q_f; ω = R_0ᵀ T(ϑ) ϑ̇ and ω̇ = R_0ᵀ (T(ϑ) ϑ̈ + Ṫ ϑ̇).
    """
    if frames.elastic[m] == 0:
        return ZERO3, ZERO3, ZERO3, ZERO3
    th = displacement(frames, m, 3, q)
    thd = velocity(frames, m, 3, s)
    R0 = load9_at(frames.R, m, 0)
    v = tmul(Rm, velocity(frames, m, 0, s))
    w = tmul(R0, tangent(th, thd))
    a = sub(tmul(Rm, acceleration(frames, m, 0, s, sd)), cross(w, v))
    return (
        v,
        w,
        a,
        tmul(R0, add(tangent(th, acceleration(frames, m, 3, s, sd)), tangent_rate(th, thd))),
    )


@part
def modal_force(frames, m, Rm, q, wrench, out, factor):
    """out[modal rows] += factor · Φ_mᵀ (f, t) for a wrench (f, t) (N, N m) in the frame's axes.

    Φ_mᵀ (f, t) = (φ − K0 q_f)ᵀ R_m f + (ψ − K0 q_f)ᵀ T(ϑ)ᵀ R_0 t (theory, section 10).
    """
    if frames.elastic[m] == 0:
        return
    f, t = wrench
    at = frames.sf_at[m]
    th = displacement(frames, m, 3, q)
    a = scale(factor, mul(Rm, f))
    b = scale(factor, tangent_transposed(th, mul(load9_at(frames.R, m, 0), t)))
    h = frames.current
    F = h.shape[1] // 6
    for k in range(frames.nf[m]):
        out[at + k] += (
            h[m, k] * a[0] + h[m, F + k] * a[1] + h[m, 2 * F + k] * a[2]
            + h[m, 3 * F + k] * b[0] + h[m, 4 * F + k] * b[1] + h[m, 5 * F + k] * b[2]
        )  # fmt: skip


@part
def modal_rows(frames, m, Rm, q, P, n, B):
    """B[:n, 6:6+nf] += P Φ_m: modal columns of n covectors P (n, 6) on frame m.

    In axes of the frame.
    """
    if frames.elastic[m] == 0:
        return
    th = displacement(frames, m, 3, q)
    R0 = load9_at(frames.R, m, 0)
    h = frames.current
    F = h.shape[1] // 6
    for r in range(n):
        a = mul(Rm, load3_at(P, r, 0))
        b = tangent_transposed(th, mul(R0, load3_at(P, r, 3)))
        for k in range(frames.nf[m]):
            B[r, 6 + k] += (
                h[m, k] * a[0] + h[m, F + k] * a[1] + h[m, 2 * F + k] * a[2]
                + h[m, 3 * F + k] * b[0] + h[m, 4 * F + k] * b[1] + h[m, 5 * F + k] * b[2]
            )  # fmt: skip


@part
def ground_acceleration(gravity, Rm):
    """V̇ of a frame at rest on the ground: −R_mᵀ g (m/s²).

    With it gravity acts on all bodies through the outward sweep.
    """
    return neg(tmul(Rm, (gravity[0], gravity[1], gravity[2])))


@part
def frame_rates(work, gravity, m, pose, here):
    """Twist V_m and rate V̇_m of frame m in its axes, as (v, ω, v̇, ω̇).

    The rate contains the −g of the ground. V_m = Ad(X_m⁻¹) V + v, V̇_m = Ad(X_m⁻¹) V̇ − ad(v)
    Ad(X_m⁻¹) V + v̇ (theory, sections 2 and 10). pose: X_m = (R_m, x_m) in the body. here: state
    with q, s and ṡ.
    """
    frames, motion = work.frames, work.motion
    Rm, xm = pose
    i = frames.body[m]
    if i < 0:
        return ZERO3, ZERO3, ground_acceleration(gravity, Rm), ZERO3
    v, w, vd, wd = modal_motion(frames, m, Rm, here.q, here.s, here.sd)
    cv, cw = twist_to_child(Rm, xm, load3_at(motion.twist, i, 0), load3_at(motion.twist, i, 3))
    av, aw = twist_to_child(
        Rm, xm, load3_at(motion.acceleration, i, 0), load3_at(motion.acceleration, i, 3)
    )
    kv, kw = bracket(v, w, cv, cw)
    return add(cv, v), add(cw, w), add(sub(av, kv), vd), add(sub(aw, kw), wd)


@part
def world_pose(frames, motion, m, Rm, xm):
    """Pose (A R_m, r + A x_m) of frame m in the inertial frame from its pose in the body."""
    i = frames.body[m]
    if i < 0:
        return Rm, xm
    A = load9_at(motion.A, i, 0)
    return matmul(A, Rm), add(load3_at(motion.x, i, 0), mul(A, xm))


@called
def frame_twist(frames, motion, m, q, s):
    """World pose, pose in the body, and twist of frame m, as force laws need them.

    V_m = Ad(X_m⁻¹) V + Φ_m q̇_f, in the frame's own axes.
    """
    Rm, xm = frame_pose(frames, m, q)
    A, r = world_pose(frames, motion, m, Rm, xm)
    i = frames.body[m]
    if i < 0:
        return A, r, Rm, xm, ZERO3, ZERO3
    v, w, _, _ = modal_motion(frames, m, Rm, q, s, s)
    cv, cw = twist_to_child(Rm, xm, load3_at(motion.twist, i, 0), load3_at(motion.twist, i, 3))
    return A, r, Rm, xm, add(cv, v), add(cw, w)


@part
def apply_wrench(work, m, pose, q, f, n):
    """Add the wrench (f, n) at frame m, in its axes, to the applied forces of its body.

    Ad(X_m⁻¹)ᵀ (f, n) on the body, Φ_mᵀ (f, n) on its modes (N, N m; theory, section 10). pose: X_m
    = (R_m, x_m) in the body.
    """
    i = work.frames.body[m]
    if i < 0:
        return
    Rm, xm = pose
    fb, nb = wrench_to_parent(Rm, xm, f, n)
    increase3_at(work.motion.applied, i, 0, fb)
    increase3_at(work.motion.applied, i, 3, nb)
    modal_force(work.frames, m, Rm, q, (f, n), work.force, 1.0)


@part
def keep_poses(pair, k, pose_a, pose_b, pose):
    """Store the poses of pair k: frames a and b in their bodies, and b in a."""
    store9_at(pair.Ra, k, 0, pose_a[0])
    store3_at(pair.xa, k, 0, pose_a[1])
    store9_at(pair.Rb, k, 0, pose_b[0])
    store3_at(pair.xb, k, 0, pose_b[1])
    store9_at(pair.R, k, 0, pose[0])
    store3_at(pair.x, k, 0, pose[1])


@part
def end_pose(pair, k, end):
    """Pose (R, x) of frame b (``end`` 0) or a (``end`` 1) of pair k in its body."""
    if end == 0:
        return load9_at(pair.Rb, k, 0), load3_at(pair.xb, k, 0)
    return load9_at(pair.Ra, k, 0), load3_at(pair.xa, k, 0)


@part
def pose_between(pair, k):
    """Pose X_ab = (R, x) of frame b in frame a of pair k."""
    return load9_at(pair.R, k, 0), load3_at(pair.x, k, 0)


@called
def apply_pair(work, pair, k, q, f, n):
    """Apply the wrench W = (f, n) to frame b of pair k, and its reaction to frame a.

    W is in axes of b; the reaction is −Ad(X_ab⁻¹)ᵀ W.
    """
    apply_wrench(work, pair.b[k], end_pose(pair, k, 0), q, f, n)
    Rr, xr = pose_between(pair, k)
    fa, na = wrench_to_parent(Rr, xr, f, n)
    apply_wrench(work, pair.a[k], end_pose(pair, k, 1), q, neg(fa), neg(na))

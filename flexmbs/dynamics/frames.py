"""Frames on bodies: pose, twist and twist rate of a frame that moves with the modes, and the dual maps.

Position x + φ q, orientation exp(ψ q) R. In the frame's own axes V_m = Ad(X_m⁻¹) V + v with v = Φ q̇,
Φ = [R_mᵀ φ; Rᵀ T(ψq) ψ], and V̇_m = Ad(X_m⁻¹) V̇ − ad(v) Ad(X_m⁻¹) V + Φ q̈ + Φ̇ q̇.

With geometric stiffness K0 of a unit force or moment on the frame, its displacement is φ q − ½ qᵀ K0 q, with the shapes
φ − K0 q and their rate −K0 q̇; likewise its rotation vector. The transposed shapes make K0 λ a stiffness under a load λ.
"""

import numpy as np

from flexmbs._jit import called, part
from flexmbs.algebra.se3 import bracket, twist_to_child, wrench_to_parent
from flexmbs.algebra.small import ZERO3, add, cross, increase3_at, load3_at, load9_at, matmul, mul, neg, scale, sub, tmul
from flexmbs.algebra.so3 import exp_so3, tangent, tangent_rate, tangent_transposed
from flexmbs.system.records import Frames


def places_in_body(frames: Frames, m: int, q: np.ndarray) -> np.ndarray:
    """Positions (…, 3) of frame m in its body at elastic coordinates (…, nf): x + φ q − ½ qᵀ K0 q."""
    n, j = int(frames.nf[m]), int(frames.second_at[m])
    x = frames.x[m] + q @ frames.shape[m, :3, :n].T
    if j < 0:
        return np.asarray(x)
    K0 = frames.second[j, :n].reshape(n, 6, -1)[:, :3, :n]
    return np.asarray(x - 0.5 * np.einsum("...k,kal,...l->...a", q, K0, q))


@part
def shapes_now(frames, q, s):
    """Shapes φ − K0 q and ψ − K0 q of all frames and their rates −K0 q̇, where some have second-order displacements."""
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
    """U −= Σ_l x[at + l] Q[l], four rows at a time"""
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
    """Σ_k shape[m, row:row+3, k] x[at + k] of flat rows; row 0 translations φ, row 3 rotations ψ."""
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
    """φ q − ½ qᵀ K0 q (row 0) or ψ q − ½ qᵀ K0 q (row 3)"""
    n = frames.nf[m]
    at = frames.qf_at[m]
    a = modal3(frames.current, m, n, row, q, at)
    if frames.second_at[m] < 0:
        return a
    return scale(0.5, add(a, modal3(frames.shape, m, n, row, q, at)))


@part
def velocity(frames, m, row, s):
    """(φ − K0 q) q̇ (row 0) or (ψ − K0 q) q̇ (row 3)"""
    return modal3(frames.current, m, frames.nf[m], row, s, frames.sf_at[m])


@part
def acceleration(frames, m, row, s, sd):
    """(φ − K0 q) q̈ − q̇ᵀ K0 q̇ (row 0) or the same of ψ (row 3)"""
    a = velocity(frames, m, row, sd)
    if frames.second_at[m] < 0:
        return a
    return add(a, modal3(frames.rate, m, frames.nf[m], row, s, frames.sf_at[m]))


@part
def frame_pose(frames, m, q):
    """Pose of frame m in its body."""
    R = load9_at(frames.R, m, 0)
    x = load3_at(frames.x, m, 0)
    if frames.elastic[m] == 0:
        return R, x
    return matmul(exp_so3(displacement(frames, m, 3, q)), R), add(x, displacement(frames, m, 0, q))


@part
def modal_motion(frames, m, Rm, q, s, sd):
    """v = Φ q̇ and v̇ = Φ q̈ + Φ̇ q̇ in the frame's axes."""
    if frames.elastic[m] == 0:
        return ZERO3, ZERO3, ZERO3, ZERO3
    th = displacement(frames, m, 3, q)
    thd = velocity(frames, m, 3, s)
    R0 = load9_at(frames.R, m, 0)
    v = tmul(Rm, velocity(frames, m, 0, s))
    w = tmul(R0, tangent(th, thd))
    a = sub(tmul(Rm, acceleration(frames, m, 0, s, sd)), cross(w, v))
    return v, w, a, tmul(R0, add(tangent(th, acceleration(frames, m, 3, s, sd)), tangent_rate(th, thd)))


@part
def modal_force(frames, m, Rm, q, f, t, out, factor):
    """out[modal rows] += factor Φᵀ (f, t) for a wrench in the frame's axes."""
    if frames.elastic[m] == 0:
        return
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
    """B[:n, 6:6+nf] += P Φ for n covectors P (n, 6) in the frame's axes."""
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
    """Twist rate of a frame at rest on the ground: −gravity in the frame's axes."""
    return neg(tmul(Rm, (gravity[0], gravity[1], gravity[2])))


@part
def frame_rates(frames, gravity, motion, m, Rm, xm, q, s, sd):
    """Twist and twist rate of frame m, own axes, the rate including −gravity."""
    i = frames.body[m]
    if i < 0:
        return ZERO3, ZERO3, ground_acceleration(gravity, Rm), ZERO3
    v, w, vd, wd = modal_motion(frames, m, Rm, q, s, sd)
    cv, cw = twist_to_child(Rm, xm, load3_at(motion.twist, i, 0), load3_at(motion.twist, i, 3))
    av, aw = twist_to_child(Rm, xm, load3_at(motion.acceleration, i, 0), load3_at(motion.acceleration, i, 3))
    kv, kw = bracket(v, w, cv, cw)
    return add(cv, v), add(cw, w), add(sub(av, kv), vd), add(sub(aw, kw), wd)


@part
def world_pose(frames, motion, m, Rm, xm):
    """World pose of frame m from its pose in the body."""
    i = frames.body[m]
    if i < 0:
        return Rm, xm
    A = load9_at(motion.A, i, 0)
    return matmul(A, Rm), add(load3_at(motion.x, i, 0), mul(A, xm))


@called
def frame_twist(frames, motion, m, q, s):
    """World pose, pose in the body and twist (own axes) of frame m: what forces need."""
    Rm, xm = frame_pose(frames, m, q)
    A, r = world_pose(frames, motion, m, Rm, xm)
    i = frames.body[m]
    if i < 0:
        return A, r, Rm, xm, ZERO3, ZERO3
    v, w, _, _ = modal_motion(frames, m, Rm, q, s, s)
    cv, cw = twist_to_child(Rm, xm, load3_at(motion.twist, i, 0), load3_at(motion.twist, i, 3))
    return A, r, Rm, xm, add(cv, v), add(cw, w)


@part
def apply_wrench(frames, motion, force, m, Rm, xm, q, f, n):
    """Add the wrench (f, n), frame axes, at frame m to the applied wrench of its body and to its modal forces."""
    i = frames.body[m]
    if i < 0:
        return
    fb, nb = wrench_to_parent(Rm, xm, f, n)
    increase3_at(motion.applied, i, 0, fb)
    increase3_at(motion.applied, i, 3, nb)
    modal_force(frames, m, Rm, q, f, n, force, 1.0)


@called
def apply_pair(frames, motion, force, a, Ra, xa, b, Rb, xb, Rr, xr, q, f, n):
    """Wrench (f, n), axes of b, on frame b and its reaction on frame a."""
    apply_wrench(frames, motion, force, b, Rb, xb, q, f, n)
    fa, na = wrench_to_parent(Rr, xr, f, n)
    apply_wrench(frames, motion, force, a, Ra, xa, q, neg(fa), neg(na))

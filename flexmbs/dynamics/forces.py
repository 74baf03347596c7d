"""Applied forces: joint forces, frame forces, springs, bushings. Each adds to the applied wrenches, to the power account and,
when ``slopes`` is asked for, to the stiffness and damping that the iteration matrix uses."""

import math

from flexmbs._jit import call_address, called, part
from flexmbs.algebra.small import ZERO3, add, dot, load3_at, mul, neg, scale, sub, tmul
from flexmbs.algebra.so3 import log_so3, tangent_inverse_transposed
from flexmbs.dynamics.constraints import cut_wrench
from flexmbs.dynamics.contact_laws import hunt_crossley, hunt_crossley_slopes
from flexmbs.dynamics.friction import joint_friction, joint_friction_slope
from flexmbs.dynamics.frames import apply_pair, apply_wrench, frame_twist
from flexmbs.dynamics.joints import relative_pose, relative_twist
from flexmbs.dynamics.laws import force_law, law_of_time
from flexmbs.system.records import (
    CUT_BETA, ETA, FF_FOLLOWER, FF_FRAME, FF_LAWS, FF_USER, INVERSE, JF_BODY, JF_COUPLING, JF_CUT, JF_KIND, JF_LAW, JF_Q,
    JF_STATE, JF_V, JOINT_FRICTION, JOINT_LAW, JOINT_PID, JOINT_SPRING, JOINT_STOP, LAW_ADDRESS, POWER_FORCES, POWER_LOSS, Q_AT,
    SPRING_A, SPRING_B, SPRING_C, SPRING_K, SPRING_LAW, SPRING_LENGTH, STOP_BOUND, STOP_DAMPING, STOP_EXPONENT, STOP_SIGN,
    STOP_STIFFNESS, S_AT,
)  # fmt: skip

SLOPE_STEP = 1e-6


@part
def joint_force_value(forces, laws, io, force_rate, f, t, x, v, z):
    """(τ, dissipative part of τ) of joint force f at coordinate x and rate v."""
    p = forces.joint_value
    kind = forces.joint[f, JF_KIND]
    law = forces.joint[f, JF_LAW]
    if kind == JOINT_SPRING:
        return -p[f, 0] * (x - p[f, 2]) - p[f, 1] * v + p[f, 3], -p[f, 1] * v
    if kind == JOINT_LAW:
        return force_law(laws, law, t, x, v, io), 0.0
    if kind == JOINT_FRICTION:
        tau = joint_friction(p, f, v)
        return tau, tau
    if kind == JOINT_STOP:
        sign = p[f, STOP_SIGN]
        gap = sign * (x - p[f, STOP_BOUND])
        normal, elastic = hunt_crossley(p[f, STOP_STIFFNESS], p[f, STOP_EXPONENT], p[f, STOP_DAMPING], gap, sign * v)
        return sign * normal, sign * (normal - elastic)
    ref, refd, _ = law_of_time(laws, law, t, io)
    tau = p[f, 0] * (ref - x) + p[f, 1] * (refd - v)
    if kind == JOINT_PID:
        state = forces.joint[f, JF_STATE]
        tau += p[f, 2] * z[state]
        force_rate[state] = ref - x
    return tau, 0.0


@part
def joint_force_slopes(forces, laws, io, force_rate, f, t, x, v, z, slope):
    """slope[f] = (−∂τ/∂x, −∂τ/∂v): parameters of springs and controllers, central differences of other laws."""
    if forces.joint[f, JF_KIND] == JOINT_FRICTION:
        slope[f, 0] = 0.0
        slope[f, 1] = joint_friction_slope(forces.joint_value, f, v)
        return
    if forces.joint[f, JF_KIND] == JOINT_STOP:
        p = forces.joint_value
        sign = p[f, STOP_SIGN]
        gap = sign * (x - p[f, STOP_BOUND])
        kg, kr = hunt_crossley_slopes(p[f, STOP_STIFFNESS], p[f, STOP_EXPONENT], p[f, STOP_DAMPING], gap, sign * v)
        slope[f, 0] = kg
        slope[f, 1] = kr
        return
    if forces.joint[f, JF_KIND] != JOINT_LAW:
        slope[f, 0] = forces.joint_value[f, 0]
        slope[f, 1] = forces.joint_value[f, 1]
        return
    for a in range(2):
        h = SLOPE_STEP * (1.0 + abs(x if a == 0 else v))
        hx, hv = (h, 0.0) if a == 0 else (0.0, h)
        up, _ = joint_force_value(forces, laws, io, force_rate, f, t, x + hx, v + hv, z)
        low, _ = joint_force_value(forces, laws, io, force_rate, f, t, x - hx, v - hv, z)
        slope[f, a] = (low - up) / (2.0 * h)


@called
def joint_forces(system, work, t, q, s, z, slopes):
    """Generalized forces τ on joint coordinates; across a cut joint the wrench (C⁺)ᵀ τ."""
    jf = system.forces.joint
    cut = work.cut
    for f in range(jf.shape[0]):
        i = jf[f, JF_BODY]
        k = jf[f, JF_CUT]
        c = jf[f, JF_V]
        if i >= 0:
            x = q[system.tree[i, Q_AT] + jf[f, JF_Q]]
            v = s[system.tree[i, S_AT] + c]
        else:
            x = work.beta[system.cuts[k, CUT_BETA] + jf[f, JF_Q]]
            v = cut[k, ETA + c]
        tau, loss = joint_force_value(system.forces, system.laws, work.io, work.force_rate, f, t, x, v, z)
        work.power[POWER_FORCES] += (tau - loss) * v
        work.power[POWER_LOSS] -= loss * v
        row = INVERSE + 6 * c
        if i >= 0:
            work.force[system.tree[i, S_AT] + c] += tau
        else:
            force = scale(tau, load3_at(cut, k, row))
            moment = scale(tau, load3_at(cut, k, row + 3))
            cut_wrench(system.cuts, work.frames, work.motion, work.force, cut, k, q, force, moment)
        if slopes:
            joint_force_slopes(system.forces, system.laws, work.io, work.force_rate, f, t, x, v, z, work.joint_slope)
            if i < 0:
                at = jf[f, JF_COUPLING]
                for a in range(6):
                    for b in range(6):
                        h = cut[k, row + a] * cut[k, row + b]
                        work.slopes[at, a, b] = work.joint_slope[f, 0] * h
                        work.slopes[at, 6 + a, b] = work.joint_slope[f, 1] * h


@called
def frame_forces(ff, laws, frames, motion, generalized, io, power, t, q, s):
    """Forces and torques on frames in world or follower axes, and user forces F(t, r, A, v, ω) in world axes."""
    for f in range(ff.shape[0]):
        m = ff[f, FF_FRAME]
        A, r, Rm, xm, v, w = frame_twist(frames, motion, m, q, s)
        if ff[f, FF_USER] >= 0:
            vw = mul(A, v)
            ww = mul(A, w)
            io[0, 0] = t
            for a in range(3):
                io[0, 1 + a] = r[a]
                io[0, 13 + a] = vw[a]
                io[0, 16 + a] = ww[a]
            for a in range(9):
                io[0, 4 + a] = A[a]
            call_address(laws.info[ff[f, FF_USER], LAW_ADDRESS], io[0], io[1])
        else:
            for a in range(6):
                value, _, _ = law_of_time(laws, ff[f, FF_LAWS + a], t, io)
                io[1, 8 + a] = value
            for a in range(6):
                io[1, a] = io[1, 8 + a]
        force = load3_at(io, 1, 0)
        torque = load3_at(io, 1, 3)
        if ff[f, FF_FOLLOWER] == 0:
            force = tmul(A, force)
            torque = tmul(A, torque)
        power[POWER_FORCES] += dot(force, v) + dot(torque, w)
        apply_wrench(frames, motion, generalized, m, Rm, xm, q, force, torque)


@part
def spring_tension(forces, laws, io, f, t, x, rate):
    """(tension, its dissipative part): k x + c ẋ, or a law F(t, x, ẋ)."""
    law = forces.spring[f, SPRING_LAW]
    if law >= 0:
        return force_law(laws, law, t, x, rate, io), 0.0
    loss = forces.spring_value[f, SPRING_C] * rate
    return forces.spring_value[f, SPRING_K] * x + loss, loss


@part
def spring_slopes(forces, laws, io, f, t, x, rate):
    """(∂F/∂x, ∂F/∂ẋ)"""
    if forces.spring[f, SPRING_LAW] < 0:
        return forces.spring_value[f, SPRING_K], forces.spring_value[f, SPRING_C]
    h = SLOPE_STEP * (1.0 + abs(x))
    hv = SLOPE_STEP * (1.0 + abs(rate))
    a, _ = spring_tension(forces, laws, io, f, t, x + h, rate)
    b, _ = spring_tension(forces, laws, io, f, t, x - h, rate)
    c, _ = spring_tension(forces, laws, io, f, t, x, rate + hv)
    d, _ = spring_tension(forces, laws, io, f, t, x, rate - hv)
    return (a - b) / (2.0 * h), (c - d) / (2.0 * hv)


@called
def spring_forces(forces, laws, frames, motion, generalized, io, power, stiffness, t, q, s, slopes):
    """Tension along the line between two frames: its reaction acts at the other end, no moments."""
    for f in range(forces.spring.shape[0]):
        a = forces.spring[f, SPRING_A]
        b = forces.spring[f, SPRING_B]
        RA, rA, Ra, xa, va, _ = frame_twist(frames, motion, a, q, s)
        RB, rB, Rb, xb, vb, _ = frame_twist(frames, motion, b, q, s)
        Rr, xr = relative_pose(RA, rA, RB, rB)
        d = tmul(Rr, xr)  # from a to b, axes of b
        length = math.sqrt(dot(d, d))
        if length < 1e-14:
            continue
        u = scale(1.0 / length, d)
        rate = dot(u, sub(vb, tmul(Rr, va)))
        x = length - forces.spring_value[f, SPRING_LENGTH]
        tension, loss = spring_tension(forces, laws, io, f, t, x, rate)
        power[POWER_FORCES] -= (tension - loss) * rate
        power[POWER_LOSS] += loss * rate
        apply_wrench(frames, motion, generalized, b, Rb, xb, q, scale(-tension, u), ZERO3)
        apply_wrench(frames, motion, generalized, a, Ra, xa, q, scale(tension, mul(Rr, u)), ZERO3)
        if slopes:
            k, c = spring_slopes(forces, laws, io, f, t, x, rate)
            across = max(tension, 0.0) / length
            for i in range(3):
                for j in range(3):
                    unit = 1.0 if i == j else 0.0
                    stiffness[f, i, j] = k * u[i] * u[j] + across * (unit - u[i] * u[j])
                    stiffness[f, 6 + i, j] = c * u[i] * u[j]


@called
def bushing_forces(bushing, value, frames, motion, generalized, power, stiffness, first, q, s, slopes):
    """F = −k δ − c δ̇ of the displacement and rotation vector θ of frame b in frame a, axes of a.

    The elastic moment is T(θ)⁻ᵀ k θ, the gradient of ½ θᵀ k θ, so that the bushing is conservative at large rotations.
    """
    for f in range(bushing.shape[0]):
        a = bushing[f, 0]
        b = bushing[f, 1]
        RA, rA, Ra, xa, va, wa = frame_twist(frames, motion, a, q, s)
        RB, rB, Rb, xb, vb, wb = frame_twist(frames, motion, b, q, s)
        Rr, xr = relative_pose(RA, rA, RB, rB)
        v, w, _, _ = relative_twist(Rr, xr, va, wa, vb, wb)
        v = mul(Rr, v)  # velocities of b relative to a, axes of a
        w = mul(Rr, w)
        th = log_so3(Rr)
        k = load3_at(value, f, 0)
        kr = load3_at(value, f, 3)
        c = load3_at(value, f, 6)
        cr = load3_at(value, f, 9)
        ef = (k[0] * xr[0], k[1] * xr[1], k[2] * xr[2])
        en = mul(Rr, tangent_inverse_transposed(th, (kr[0] * th[0], kr[1] * th[1], kr[2] * th[2])))
        lf = (c[0] * v[0], c[1] * v[1], c[2] * v[2])
        ln = (cr[0] * w[0], cr[1] * w[1], cr[2] * w[2])
        power[POWER_FORCES] -= dot(ef, v) + dot(en, w)
        power[POWER_LOSS] += dot(lf, v) + dot(ln, w)
        fb = neg(tmul(Rr, add(ef, lf)))
        nb = neg(tmul(Rr, add(en, ln)))
        apply_pair(frames, motion, generalized, a, Ra, xa, b, Rb, xb, Rr, xr, q, fb, nb)
        if slopes:
            for i in range(6):
                for j in range(6):
                    if i // 3 == j // 3:
                        o = 3 * (i // 3)
                        ks = 0.0
                        ds = 0.0
                        for e in range(3):
                            h = Rr[3 * e + i - o] * Rr[3 * e + j - o]
                            ks += h * value[f, o + e]
                            ds += h * value[f, 6 + o + e]
                        stiffness[first + f, i, j] = ks
                        stiffness[first + f, 6 + i, j] = ds


@part
def apply_forces(system, work, t, q, s, z, slopes):
    """All applied forces into the bodies' wrenches and the generalized forces, their power into work.power."""
    forces = system.forces
    if slopes:
        for k in range(work.slopes.shape[0]):
            for a in range(12):
                for b in range(6):
                    work.slopes[k, a, b] = 0.0
    joint_forces(system, work, t, q, s, z, slopes)
    if forces.frame.shape[0] > 0:
        frame_forces(forces.frame, system.laws, work.frames, work.motion, work.force, work.io, work.power, t, q, s)
    if forces.spring.shape[0] > 0:
        spring_forces(
            forces, system.laws, work.frames, work.motion, work.force, work.io, work.power, work.slopes, t, q, s, slopes
        )
    if forces.bushing.shape[0] > 0:
        bushing_forces(
            forces.bushing, forces.bushing_value, work.frames, work.motion, work.force, work.power, work.slopes,
            forces.spring.shape[0], q, s, slopes,
        )  # fmt: skip

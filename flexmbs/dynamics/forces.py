"""Applied forces: one loop for each kind of element on which a force acts.

No kind of force is named here. A loop computes the motion, calls the law of the force
(`flexmbs.dynamics.law_calls`), adds its result to the applied wrenches and to the powers and, if
``slopes`` is requested, computes its stiffness and damping for the iteration matrix:

    joint coordinate   see `flexmbs.dynamics.joint_forces`,
    frame              F(t, r, A, v, ω) in world axes,
    line               tension F along u from a to b: −F u on b, F u on a;   K = k u uᵀ + (F/l) (1 − u uᵀ),  D = c u uᵀ,
    two frames         force e_x and moment n = T(ϑ)⁻ᵀ e_ϑ on b, conjugate to the displacement x and rotation vector ϑ of b in a.

Theory: docs/theory.md, section 39. Schiehlen and Eberhard, Applied Dynamics (2014), for force
elements; Géradin and Cardona, Flexible Multibody Dynamics (2001), for the tangent operator T of
rotations.
"""

import math

from flexmbs._jit import called, part
from flexmbs._jit.address import entry
from flexmbs.algebra.small import ZERO3, add, dot, mul, scale, sub, tmul
from flexmbs.algebra.so3 import log_so3, tangent_inverse_transposed
from flexmbs.dynamics.force_laws import (
    SLOPE_STEP,
    give_readings,
    give_states,
    reads_unknown,
    scalar_law,
    scalar_slopes,
    take_no_rates,
    take_rates,
)
from flexmbs.dynamics.frames import apply_pair, apply_wrench, frame_twist, keep_poses
from flexmbs.dynamics.joint_forces import apply_joint_forces
from flexmbs.dynamics.joints import relative_pose, relative_twist
from flexmbs.dynamics.law_calls import call_law, given_values
from flexmbs.dynamics.shared_calls import call_shared
from flexmbs.system.callbacks import FRAME_ARGUMENTS


@called
def frame_forces(system, work, t, here):
    """Apply forces and torques (N, N m) on frames by laws of time and frame motion.

    W_c are the reactions that they read (theory, section 39).
    """
    rows, workspace = system.forces.frame, work.laws
    for f in range(rows.coupling.shape[0]):
        if reads_unknown(
            rows, f, work.loads.read
        ):  # in the first iteration the reactions are those without this force
            take_no_rates(rows.law, f, work.force_rate)
            continue
        m = rows.a[f]
        A, r, Rm, xm, v, w = frame_twist(work.frames, work.motion, m, here.q, here.s)
        x = workspace.x
        vw = mul(A, v)
        ww = mul(A, w)
        x[0] = t
        for a in range(3):
            x[1 + a] = r[a]
            x[13 + a] = vw[a]
            x[16 + a] = ww[a]
        for a in range(9):
            x[4 + a] = A[a]
        n = give_readings(system, work, here.q, rows, f, x, FRAME_ARGUMENTS)
        give_states(rows.law, f, here.z, work.path.stage, x, n)
        given_values(rows.law, f, system.laws, workspace, work.io, n)
        call_law(rows.law.kernel_index[f], rows.value[f], workspace, 6 + rows.law.n_states[f], 0.0)
        out = workspace.out
        take_rates(rows.law, f, out, 6, work.force_rate)
        force = tmul(A, (out[0], out[1], out[2]))
        torque = tmul(A, (out[3], out[4], out[5]))
        work.power.forces += dot(force, v) + dot(torque, w)
        apply_wrench(work, m, (Rm, xm), here.q, force, torque)


@called
def line_forces(system, work, t, here, slopes):
    """Apply tension forces F(t, l − l₀, l̇) along the line between two frames.

    At l = 0 there is no direction and no force; if l₀ = 0 its stiffness is that of −k r, K = k 1.
    Theory, section 39.
    """
    rows, frames, motion, q, s = system.forces.line, work.frames, work.motion, here.q, here.s
    for f in range(rows.coupling.shape[0]):
        a = rows.a[f]
        b = rows.b[f]
        RA, rA, Ra, xa, va, _ = frame_twist(frames, motion, a, q, s)
        RB, rB, Rb, xb, vb, _ = frame_twist(frames, motion, b, q, s)
        Rr, xr = relative_pose(RA, rA, RB, rB)
        d = tmul(Rr, xr)  # from a to b, axes of b
        length = math.sqrt(dot(d, d))
        together = length < 1e-14
        if together and rows.value[f, rows.value.shape[1] - 1] > 0.0:
            take_no_rates(rows.law, f, work.force_rate)
            continue
        u = scale(0.0 if together else 1.0 / length, d)
        rate = dot(u, sub(vb, tmul(Rr, va)))
        given = (t, length - rows.value[f, rows.value.shape[1] - 1], rate)
        give_states(rows.law, f, here.z, work.path.stage, work.laws.x, 3)
        tension, loss = scalar_law(system, work, rows, f, given)
        take_rates(rows.law, f, work.laws.out, 2, work.force_rate)
        work.power.forces -= (tension - loss) * rate
        work.power.loss += loss * rate
        apply_wrench(work, b, (Rb, xb), q, scale(-tension, u), ZERO3)
        apply_wrench(work, a, (Ra, xa), q, scale(tension, mul(Rr, u)), ZERO3)
        if slopes:
            k, c = scalar_slopes(system, work, rows, f, given, 1.0)
            stiffness = work.slopes[rows.coupling[f]]
            # tension also stiffens the line laterally; compression would soften it, but the matrix
            # must stay definite
            across = max(k, 0.0) if together else max(tension, 0.0) / length
            for i in range(3):
                for j in range(3):
                    unit = 1.0 if i == j else 0.0
                    stiffness[i, j] = k * u[i] * u[j] + across * (unit - u[i] * u[j])
                    stiffness[6 + i, j] = c * u[i] * u[j]


@called
def pair_forces(system, work, t, here, slopes):
    """Apply forces and torques between two frames, such as bushings.

    Elastic e, conjugate to the displacement x and rotation vector ϑ of b in a; dissipative d,
    conjugate to the velocities. The elastic moment is T(ϑ)⁻ᵀ e_ϑ: with ω = T ϑ̇, n · ω = e_ϑ · ϑ̇,
    so that the gradient of a potential of (x, ϑ) is conservative at large rotations. Theory,
    section 39.
    """
    rows, workspace, power = system.forces.pair, work.laws, work.power
    for f in range(rows.coupling.shape[0]):
        RA, rA, Ra, xa, va, wa = frame_twist(work.frames, work.motion, rows.a[f], here.q, here.s)
        RB, rB, Rb, xb, vb, wb = frame_twist(work.frames, work.motion, rows.b[f], here.q, here.s)
        Rr, xr = relative_pose(RA, rA, RB, rB)
        v, w, _, _ = relative_twist(Rr, xr, va, wa, vb, wb)
        v = mul(Rr, v)  # velocities of b relative to a, axes of a
        w = mul(Rr, w)
        th = log_so3(Rr)
        x = workspace.x
        x[0] = t
        for i in range(3):
            x[1 + i] = xr[i]
            x[4 + i] = th[i]
            x[7 + i] = v[i]
            x[10 + i] = w[i]
        give_states(
            rows.law,
            f,
            here.z,
            work.path.stage,
            x,
            give_readings(system, work, here.q, rows, f, x, 13),
        )
        given_values(rows.law, f, system.laws, workspace, work.io, 1)
        call_law(rows.law.kernel_index[f], rows.value[f], workspace, 12 + rows.law.n_states[f], 0.0)
        out = workspace.out
        take_rates(rows.law, f, out, 12, work.force_rate)
        ef = (out[0], out[1], out[2])
        en = mul(Rr, tangent_inverse_transposed(th, (out[3], out[4], out[5])))
        lf = (out[6], out[7], out[8])
        ln = (out[9], out[10], out[11])
        power.forces += dot(ef, v) + dot(en, w)
        power.loss -= dot(lf, v) + dot(ln, w)
        k = rows.coupling[f]
        keep_poses(work.coupling, k, (Ra, xa), (Rb, xb), (Rr, xr))
        apply_pair(work, work.coupling, k, here.q, tmul(Rr, add(ef, lf)), tmul(Rr, add(en, ln)))
        if slopes:
            pair_slopes(rows, f, workspace, Rr, work.slopes[k])


@part
def pair_slopes(rows, f, workspace, Rr, stiffness):
    """Stiffness and damping (6×6) of a force between frames, in axes of b.

    From the law itself or by central differences.
    """
    if rows.law.has_slopes[f] == 1:
        call_law(rows.law.kernel_index[f], rows.value[f], workspace, 72, 1.0)
    else:
        pair_differences(rows, f, workspace, stiffness)
    for part_of in range(2):
        for i in range(6):
            for j in range(6):
                o = 3 * (i // 3)
                p = 3 * (j // 3)
                total = 0.0
                for e in range(3):
                    for g in range(3):
                        slope = workspace.out[36 * part_of + 6 * (o + e) + p + g]
                        if slope != 0.0:
                            total += Rr[3 * e + i - o] * Rr[3 * g + j - p] * slope
                stiffness[6 * part_of + i, j] = total


@part
def pair_differences(rows, f, workspace, columns):
    """Stiffness and damping of a force between frames by central differences.

    They go into workspace.out; ``columns`` (12, 6) is workspace.
    """
    for c in range(12):
        x = workspace.x[1 + c]
        h = SLOPE_STEP * (1.0 + abs(x))
        for side in range(2):
            workspace.x[1 + c] = x + h if side == 0 else x - h
            call_law(rows.law.kernel_index[f], rows.value[f], workspace, 12, 0.0)
            for a in range(6):
                total = workspace.out[a] + workspace.out[6 + a]
                columns[c, a] = total if side == 0 else (total - columns[c, a]) / (2.0 * h)
        workspace.x[1 + c] = x
    for c in range(12):
        for a in range(6):
            workspace.out[36 * (c // 6) + 6 * a + c % 6] = columns[c, a]


@entry
def frame_forces_at(model, here, /, t, slopes):
    """Kernel of all forces on frames, along lines and between two frames.

    Theory, section 39.
    """
    system, work, forces = model.system, model.work, model.system.forces
    if forces.frame.coupling.shape[0] > 0:
        frame_forces(system, work, t, here)
    if forces.line.coupling.shape[0] > 0:
        line_forces(system, work, t, here, slopes != 0.0)
    if forces.pair.coupling.shape[0] > 0:
        pair_forces(system, work, t, here, slopes != 0.0)
    return 0


@part
def apply_forces(system, work, t, here, slopes, which):
    """Evaluate all applied forces into body wrenches and generalized forces.

    Their power (W) goes into work.power. which: see `joint_forces_at`. Theory, section 39.
    """
    if slopes:
        for k in range(work.slopes.shape[0]):
            for a in range(12):
                for b in range(6):
                    work.slopes[k, a, b] = 0.0
    apply_joint_forces(system, work, t, here, slopes, which)
    if work.calls.frame_forces >= 0:
        call_shared(system, work, work.calls.frame_forces, here, t, 1.0 if slopes else 0.0, 0.0)

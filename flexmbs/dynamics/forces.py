"""Applied forces: one loop for each kind of element on which a force acts; no kind of force is named here.

A loop finds the motion, calls the law of the force (`flexmbs.dynamics.law_calls`), adds its result to the applied wrenches and to
the powers and, when ``slopes`` is asked for, its stiffness and damping, which the iteration matrix uses:

    joint coordinate   τ(t, β, η, z) to the generalized force, or the wrench C⁺ᵀ τ across a cut joint; several of them likewise,
    frame              F(t, r, A, v, ω) in world axes,
    line               tension F along u from a to b: −F u on b, F u on a;   K = k u uᵀ + (F/l) (1 − u uᵀ),  D = c u uᵀ,
    two frames         force e_x and moment n = T(ϑ)⁻ᵀ e_ϑ on b, conjugate to the displacement x and rotation vector ϑ of b in a.

Theory: docs/theory.md, section 39. Schiehlen and Eberhard, Applied Dynamics (2014), for force elements; Géradin and Cardona,
Flexible Multibody Dynamics (2001), for the tangent operator T of rotations.
"""

import math

from flexmbs._jit import called, part
from flexmbs._jit.address import address_of, call, entry, memory_of
from flexmbs.algebra.small import ZERO3, add, dot, load3_at, mul, scale, sub, tmul
from flexmbs.algebra.so3 import log_so3, tangent_inverse_transposed
from flexmbs.dynamics.frames import apply_pair, apply_wrench, frame_twist, keep_poses
from flexmbs.dynamics.joints import relative_pose, relative_twist
from flexmbs.dynamics.joint_loads import loads_of_cut, loads_of_primary
from flexmbs.dynamics.law_calls import call_law, given_values
from flexmbs.system.callbacks import FRAME_ARGUMENTS
from flexmbs.system.records import FRAME_FORCES, JOINT_FORCES, POWER_FORCES, POWER_LOSS, Equations

SLOPE_STEP = 1e-6
LOADED_ARGUMENTS = 7  # t, x, v and the loads of the joint, for functions that take them
# joint forces: all by the loads that are there; those of cut joints by λ, without those loaded by the reactions of primary
# joints; these alone
ALL, WITH_REACTIONS, BY_PRIMARY = 0.0, 1.0, 2.0


@part
def scalar_law(system, work, rows, f, given):
    """(force, its dissipative part) of force f of ``rows``, ``given`` (t, x, v): at coordinate x with rate v; its force states
    are in the workspace, their rates stay there.
    """
    workspace = work.laws
    for a in range(3):
        workspace.x[a] = given[a]
    given_values(rows.law, f, system.laws, workspace, work.io, LOADED_ARGUMENTS)
    call_law(rows.law.kernel_index[f], rows.value[f], workspace, 2 + rows.law.n_states[f], 0.0)
    return workspace.out[0], workspace.out[1]


@part
def scalar_slopes(system, work, rows, f, given, sign):
    """``sign`` · (∂F/∂x, ∂F/∂v), given by the law itself (with its sign), or by central differences; ``given`` (t, x, v)."""
    if rows.law.has_slopes[f] == 1:
        call_law(rows.law.kernel_index[f], rows.value[f], work.laws, 2, 1.0)
        return work.laws.out[0], work.laws.out[1]
    t, x, v = given
    h = SLOPE_STEP * (1.0 + abs(x))
    hv = SLOPE_STEP * (1.0 + abs(v))
    a, _ = scalar_law(system, work, rows, f, (t, x + h, v))
    b, _ = scalar_law(system, work, rows, f, (t, x - h, v))
    c, _ = scalar_law(system, work, rows, f, (t, x, v + hv))
    d, _ = scalar_law(system, work, rows, f, (t, x, v - hv))
    return sign * (a - b) / (2.0 * h), sign * (c - d) / (2.0 * hv)


@part
def give_states(law, f, z, x, n):
    """x[n:] ← force states of force f"""
    for i in range(law.n_states[f]):
        x[n + i] = z[law.state[f] + i]


@part
def give_readings(rows, f, read, x, n):
    """x[n:] ← constraint wrenches that force f reads, six numbers each. Returns where they end."""
    for i in range(rows.n_readings[f]):
        for a in range(6):
            x[n + 6 * i + a] = read[rows.reading[f] + i, a]
    return n + 6 * rows.n_readings[f]


@part
def take_rates(law, f, out, n, rate):
    """Rates of the force states of force f ← out[n:], and zero of those that are held"""
    for i in range(law.n_states[f]):
        rate[law.state[f] + i] = out[n + i]
    for i in range(law.n_states[f], law.n_states[f] + law.n_held[f]):
        rate[law.state[f] + i] = 0.0


@part
def take_no_rates(law, f, rate):
    """Force states of force f stand"""
    for i in range(law.n_states[f]):
        rate[law.state[f] + i] = 0.0


@part
def joint_force_value(system, work, f, given, z):
    """(τ, dissipative part of τ) of joint force f, ``given`` (t, x, v); rates of its states into work.force_rate."""
    rows = system.forces.joint
    if rows.loaded[f] > 0:
        for a in range(4):
            work.laws.x[3 + a] = work.loads.joint[f, a]
    give_states(rows.law, f, z, work.laws.x, 3)
    tau, loss = scalar_law(system, work, rows, f, given)
    take_rates(rows.law, f, work.laws.out, 2, work.force_rate)
    return tau, loss


@part
def coordinate_at(system, work, at, here):
    """(x, v) of the joint coordinate ``at``: body of a primary joint or −1, cut joint or −1, its velocity and position."""
    i, k, c, p = at
    if i >= 0:
        return here.q[system.tree.q_at[i] + p], here.s[system.tree.s_at[i] + c]
    return work.beta[system.cuts.beta_at[k] + p], work.cut.eta[k, c]


@part
def apply_at(system, work, at, here, tau):
    """τ on the joint coordinate ``at``; across a cut joint the wrench C⁺ᵀ τ (theory, section 39)."""
    i, k, c, _ = at
    if i >= 0:
        work.force[system.tree.s_at[i] + c] += tau
    else:
        force = scale(tau, load3_at(work.cut.inverse, k, 6 * c))
        moment = scale(tau, load3_at(work.cut.inverse, k, 6 * c + 3))
        apply_pair(work, work.cut.pair, k, here.q, force, moment)


@part
def couple_at(work, at, coupling, slopes):
    """``slopes`` (−∂τ/∂β, −∂τ/∂η) of a force across a cut joint as C⁺ᵀ (…) C⁺ (6×6) on the relative twist of its frames."""
    i, k, c, _ = at
    if i >= 0:
        return
    kx, kv = slopes
    row = 6 * c
    for a in range(6):
        for b in range(6):
            h = work.cut.inverse[k, row + a] * work.cut.inverse[k, row + b]
            work.slopes[coupling, a, b] = kx * h
            work.slopes[coupling, 6 + a, b] = kv * h


@part
def joint_place(rows, f):
    """Where joint force f acts"""
    return rows.body[f], rows.cut[f], rows.v[f], rows.q[f]


@part
def joints_place(rows, f, a):
    """Where force f on several coordinates acts on the one with number a"""
    return rows.body[f, a], rows.cut[f, a], rows.v[f, a], rows.q[f, a]


@entry
def joint_forces_at(model, here, none, t, slopes, which):
    """Generalized forces τ (N, N m) on joint coordinates; across a cut joint the wrench C⁺ᵀ τ (theory, section 39).

    ``which``: `ALL`, `WITH_REACTIONS` or `BY_PRIMARY`, of which r takes the forces too: r ← r − τ.
    """
    system, work = model.system, model.work
    rows = system.forces.joint
    for f in range(rows.body.shape[0]):
        by_primary = rows.loaded[f] > 0 and rows.body[f] >= 0
        if which != ALL and by_primary != (which == BY_PRIMARY):
            continue
        a = system.tree.s_at[rows.body[f]] + rows.v[f]
        before = work.force[a]
        if which == BY_PRIMARY:
            loads_of_primary(system, work, f)
        elif which == WITH_REACTIONS and rows.loaded[f] > 0:
            loads_of_cut(system, work, f, here.lam)
        joint_force(system, work, t, here, f, slopes != 0.0)
        if which == BY_PRIMARY:
            here.r[a] -= work.force[a] - before
    if which != BY_PRIMARY and system.forces.joints.n.shape[0] > 0:
        joints_forces(system, work, t, here, slopes != 0.0)
    return 0


@entry
def frame_forces_at(model, here, none, t, slopes, _b):
    """Forces on frames, along lines between two, and of one frame relative to another (theory, section 39)."""
    system, work, forces = model.system, model.work, model.system.forces
    if forces.frame.coupling.shape[0] > 0:
        frame_forces(system, work, t, here)
    if forces.line.coupling.shape[0] > 0:
        line_forces(system, work, t, here, slopes != 0.0)
    if forces.pair.coupling.shape[0] > 0:
        pair_forces(system, work, t, here, slopes != 0.0)
    return 0


@part
def joint_force(system, work, t, here, f, slopes):
    """Joint force f (theory, section 39). Slopes −∂τ/∂β and −∂τ/∂η by joint, of a cut joint see `couple_at`."""
    rows = system.forces.joint
    at = joint_place(rows, f)
    x, v = coordinate_at(system, work, at, here)
    given = (t, x, v)
    tau, loss = joint_force_value(system, work, f, given, here.z)
    work.power[POWER_FORCES] += (tau - loss) * v
    work.power[POWER_LOSS] -= loss * v
    apply_at(system, work, at, here, tau)
    if slopes:
        kx, kv = scalar_slopes(system, work, rows, f, given, -1.0)
        work.joint_slope[f, 0] = kx
        work.joint_slope[f, 1] = kv
        couple_at(work, at, rows.coupling[f], (kx, kv))


@part
def transmitted_motion(system, work, f, here):
    """(x, v) of the combination Σ aᵢ βᵢ on which force f acts"""
    rows = system.forces.joints
    x = 0.0
    v = 0.0
    for a in range(rows.n[f]):
        own_x, own_v = coordinate_at(system, work, joints_place(rows, f, a), here)
        x += rows.factor[f, a] * own_x
        v += rows.factor[f, a] * own_v
    return x, v


@part
def joints_law(system, work, f, here, t):
    """τ (n) of force f on n coordinates into work.joints_force, rates of its force states into work.force_rate. Returns its power
    (W), elastic and dissipated."""
    rows, workspace = system.forces.joints, work.laws
    n = rows.n[f]
    if rows.combined[f] == 1:
        x, v = transmitted_motion(system, work, f, here)
        give_states(rows.law, f, here.z, workspace.x, 3)
        tau, loss = scalar_law(system, work, rows, f, (t, x, v))
        take_rates(rows.law, f, workspace.out, 2, work.force_rate)
        for a in range(n):
            work.joints_force[f, a] = rows.factor[f, a] * tau
        return (tau - loss) * v, -loss * v
    workspace.x[0] = t
    for a in range(n):
        x, v = coordinate_at(system, work, joints_place(rows, f, a), here)
        workspace.x[1 + a] = x
        workspace.x[1 + n + a] = v
    give_states(rows.law, f, here.z, workspace.x, 1 + 2 * n)
    joints_value(system, work, f, n)
    take_rates(rows.law, f, workspace.out, 2 * n, work.force_rate)
    power = 0.0
    lost = 0.0
    for a in range(n):
        tau, loss, v = workspace.out[a], workspace.out[n + a], workspace.x[1 + n + a]
        work.joints_force[f, a] = tau
        power += (tau - loss) * v
        lost -= loss * v
    return power, lost


@part
def joints_value(system, work, f, n):
    """out of the law of force f for the arguments in work.laws.x"""
    rows, workspace = system.forces.joints, work.laws
    given_values(rows.law, f, system.laws, workspace, work.io, 1 + 2 * n)
    call_law(rows.law.kernel_index[f], rows.value[f], workspace, 2 * n + rows.law.n_states[f], 0.0)


@called
def joints_forces(system, work, t, here, slopes):
    """Generalized forces (N, N m) on several joint coordinates, τᵢ(t, β, η, z) of all of them or aᵢ τ(t, Σ aⱼ βⱼ, Σ aⱼ ηⱼ, z)
    (theory, section 39)."""
    rows = system.forces.joints
    for f in range(rows.n.shape[0]):
        power, lost = joints_law(system, work, f, here, t)
        work.power[POWER_FORCES] += power
        work.power[POWER_LOSS] += lost
        if slopes:
            joints_slopes(system, work, f, here, t)
        for a in range(rows.n[f]):
            apply_at(system, work, joints_place(rows, f, a), here, work.joints_force[f, a])


@part
def joints_slopes(system, work, f, here, t):
    """−∂τᵢ/∂βᵢ and −∂τᵢ/∂ηᵢ of force f on several coordinates, from the law itself or by central differences."""
    rows, workspace, slope = system.forces.joints, work.laws, work.joints_slope
    n = rows.n[f]
    if rows.combined[f] == 1:
        x, v = transmitted_motion(system, work, f, here)
        kx, kv = scalar_slopes(system, work, rows, f, (t, x, v), -1.0)
        for a in range(n):
            square = rows.factor[f, a] * rows.factor[f, a]
            slope[f, a, 0] = square * kx
            slope[f, a, 1] = square * kv
    elif rows.law.has_slopes[f] == 1:
        call_law(rows.law.kernel_index[f], rows.value[f], workspace, 2 * n, 1.0)
        for a in range(n):
            slope[f, a, 0] = workspace.out[a]
            slope[f, a, 1] = workspace.out[n + a]
    else:
        for c in range(2 * n):
            a, of_rate = c % n, c // n
            x = workspace.x[1 + c]
            h = SLOPE_STEP * (1.0 + abs(x))
            workspace.x[1 + c] = x + h
            joints_value(system, work, f, n)
            above = workspace.out[a]
            workspace.x[1 + c] = x - h
            joints_value(system, work, f, n)
            slope[f, a, of_rate] = (workspace.out[a] - above) / (2.0 * h)
            workspace.x[1 + c] = x
    for a in range(n):
        couple_at(work, joints_place(rows, f, a), rows.coupling[f, a], (slope[f, a, 0], slope[f, a, 1]))


@part
def add_slopes(system, work, damping, row, diagonal):
    """Row ``row`` of ``diagonal`` (…, ns) += −∂τ/∂β − damping · ∂τ/∂η of forces on the coordinates of primary joints, where that
    is positive: pivots have to stay positive, and Newton's method does without the rest."""
    joint, joints, at = system.forces.joint, system.forces.joints, system.tree.s_at
    for f in range(joint.body.shape[0]):
        if joint.body[f] >= 0:
            slope = work.joint_slope[f, 0] + damping * work.joint_slope[f, 1]
            diagonal[row, at[joint.body[f]] + joint.v[f]] += max(slope, 0.0)
    for f in range(joints.n.shape[0]):
        for a in range(joints.n[f]):
            if joints.body[f, a] >= 0:
                slope = work.joints_slope[f, a, 0] + damping * work.joints_slope[f, a, 1]
                diagonal[row, at[joints.body[f, a]] + joints.v[f, a]] += max(slope, 0.0)


@called
def frame_forces(system, work, t, here):
    """Forces and torques F(t, r, A, v, ω, W_c …) on frames, in world axes (N, N m), with the reactions that they read (theory,
    section 39)."""
    rows, workspace = system.forces.frame, work.laws
    for f in range(rows.coupling.shape[0]):
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
        n = give_readings(rows, f, work.loads.read, x, FRAME_ARGUMENTS)
        give_states(rows.law, f, here.z, x, n)
        given_values(rows.law, f, system.laws, workspace, work.io, n)
        call_law(rows.law.kernel_index[f], rows.value[f], workspace, 6 + rows.law.n_states[f], 0.0)
        out = workspace.out
        take_rates(rows.law, f, out, 6, work.force_rate)
        force = tmul(A, (out[0], out[1], out[2]))
        torque = tmul(A, (out[3], out[4], out[5]))
        work.power[POWER_FORCES] += dot(force, v) + dot(torque, w)
        apply_wrench(work, m, (Rm, xm), here.q, force, torque)


@called
def line_forces(system, work, t, here, slopes):
    """Tension F(t, l − l₀, l̇) along the line between two frames: −F u on b, F u on a, no moments (theory, section 39)."""
    rows, frames, motion, q, s = system.forces.line, work.frames, work.motion, here.q, here.s
    for f in range(rows.coupling.shape[0]):
        a = rows.a[f]
        b = rows.b[f]
        RA, rA, Ra, xa, va, _ = frame_twist(frames, motion, a, q, s)
        RB, rB, Rb, xb, vb, _ = frame_twist(frames, motion, b, q, s)
        Rr, xr = relative_pose(RA, rA, RB, rB)
        d = tmul(Rr, xr)  # from a to b, axes of b
        length = math.sqrt(dot(d, d))
        if length < 1e-14:
            take_no_rates(rows.law, f, work.force_rate)
            continue
        u = scale(1.0 / length, d)
        rate = dot(u, sub(vb, tmul(Rr, va)))
        given = (t, length - rows.value[f, rows.value.shape[1] - 1], rate)
        give_states(rows.law, f, here.z, work.laws.x, 3)
        tension, loss = scalar_law(system, work, rows, f, given)
        take_rates(rows.law, f, work.laws.out, 2, work.force_rate)
        work.power[POWER_FORCES] -= (tension - loss) * rate
        work.power[POWER_LOSS] += loss * rate
        apply_wrench(work, b, (Rb, xb), q, scale(-tension, u), ZERO3)
        apply_wrench(work, a, (Ra, xa), q, scale(tension, mul(Rr, u)), ZERO3)
        if slopes:
            k, c = scalar_slopes(system, work, rows, f, given, 1.0)
            stiffness = work.slopes[rows.coupling[f]]
            # tension also holds the line straight; pressure would bend it out, and the matrix has to stay definite
            across = max(tension, 0.0) / length
            for i in range(3):
                for j in range(3):
                    unit = 1.0 if i == j else 0.0
                    stiffness[i, j] = k * u[i] * u[j] + across * (unit - u[i] * u[j])
                    stiffness[6 + i, j] = c * u[i] * u[j]


@called
def pair_forces(system, work, t, here, slopes):
    """Force and torque on frame b in axes of a: elastic e conjugate to the displacement x and rotation vector ϑ of b in a,
    dissipative d conjugate to the velocities (theory, section 39).

    The elastic moment is T(ϑ)⁻ᵀ e_ϑ: with ω = T ϑ̇, n · ω = e_ϑ · ϑ̇, so that the gradient of a potential of (x, ϑ) is
    conservative at large rotations.
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
        give_states(rows.law, f, here.z, x, give_readings(rows, f, work.loads.read, x, 13))
        given_values(rows.law, f, system.laws, workspace, work.io, 1)
        call_law(rows.law.kernel_index[f], rows.value[f], workspace, 12 + rows.law.n_states[f], 0.0)
        out = workspace.out
        take_rates(rows.law, f, out, 12, work.force_rate)
        ef = (out[0], out[1], out[2])
        en = mul(Rr, tangent_inverse_transposed(th, (out[3], out[4], out[5])))
        lf = (out[6], out[7], out[8])
        ln = (out[9], out[10], out[11])
        power[POWER_FORCES] += dot(ef, v) + dot(en, w)
        power[POWER_LOSS] -= dot(lf, v) + dot(ln, w)
        k = rows.coupling[f]
        keep_poses(work.coupling, k, (Ra, xa), (Rb, xb), (Rr, xr))
        apply_pair(work, work.coupling, k, here.q, tmul(Rr, add(ef, lf)), tmul(Rr, add(en, ln)))
        if slopes:
            pair_slopes(rows, f, workspace, Rr, work.slopes[k])


@part
def pair_slopes(rows, f, workspace, Rr, stiffness):
    """Stiffness and damping (6×6) of a force between frames, turned to axes of b, from the law's own or central differences."""
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
    """−∂(e + d)/∂(x, ϑ) and −∂(e + d)/∂(velocities) into workspace.out by central differences.

    ``columns`` (12, 6) is workspace.
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


@part
def apply_forces(system, work, t, here, slopes, which):
    """All applied forces into the bodies' wrenches and the generalized forces, their power (W) into work.power.

    ``which`` joint forces: see `joint_forces_at`. Theory, section 39.
    """
    if slopes:
        for k in range(work.slopes.shape[0]):
            for a in range(12):
                for b in range(6):
                    work.slopes[k, a, b] = 0.0
    apply_joint_forces(system, work, t, here, slopes, which)
    if work.calls[FRAME_FORCES] >= 0:
        model, given = memory_of(work.memory, Equations(system, work)), address_of(here)
        call(work.calls[FRAME_FORCES], model, given, given, t, 1.0 if slopes else 0.0, 0.0)


@part
def apply_joint_forces(system, work, t, here, slopes, which):
    """`joint_forces_at`, where there are any."""
    if work.calls[JOINT_FORCES] >= 0:
        model, given = memory_of(work.memory, Equations(system, work)), address_of(here)
        call(work.calls[JOINT_FORCES], model, given, given, t, 1.0 if slopes else 0.0, which)

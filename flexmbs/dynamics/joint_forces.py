"""Forces on joint coordinates: τ(t, β, η, z) as generalized forces.

Across a cut joint they act as the wrench C⁺ᵀ τ. Theory: docs/theory.md, section 39. Schiehlen and
Eberhard, Applied Dynamics (2014), for force elements.
"""

import numpy as np

from flexmbs._jit import called, part
from flexmbs._jit.address import entry
from flexmbs.algebra.small import load3_at, scale
from flexmbs.dynamics.force_laws import (
    SLOPE_STEP,
    give_states,
    scalar_law,
    scalar_slopes,
    take_rates,
)
from flexmbs.dynamics.frames import apply_pair
from flexmbs.dynamics.joint_loads import loads_of_cut, loads_of_primary
from flexmbs.dynamics.law_calls import call_law, given_values
from flexmbs.dynamics.shared_calls import call_shared
from flexmbs.system.records import System

# joint forces to apply: all, with the stored loads; those that do not depend on the reactions of
# primary joints; only those that do
ALL, WITH_REACTIONS, BY_PRIMARY = 0.0, 1.0, 2.0


@part
def joint_force_value(system, work, f, given, z):
    """(τ, dissipative part of τ) of joint force f.

    given: (t, x, v). The rates of its states go into work.force_rate.
    """
    rows = system.forces.joint
    if rows.loaded[f] > 0:
        for a in range(4):
            # loads in place of force states, which loaded laws do not have
            work.laws.x[3 + a] = work.loads.joint[f, a]
    else:
        give_states(rows.law, f, z, work.path.stage, work.laws.x, 3)
    tau, loss = scalar_law(system, work, rows, f, given)
    take_rates(rows.law, f, work.laws.out, 2, work.force_rate)
    return tau, loss


@part
def coordinate_at(system, work, at, here):
    """Value and rate (x, v) of a joint coordinate.

    at: body of a primary joint or −1, cut joint or −1, its velocity and position.
    """
    i, k, c, p = at
    if i >= 0:
        return here.q[system.tree.q_at[i] + p], here.s[system.tree.s_at[i] + c]
    return work.beta[system.cuts.beta_at[k] + p], work.cut.eta[k, c]


@part
def apply_at(system, work, at, here, tau):
    """Apply force or torque τ to a joint coordinate.

    Across a cut joint the wrench C⁺ᵀ τ (theory, section 39).
    """
    i, k, c, _ = at
    if i >= 0:
        work.force[system.tree.s_at[i] + c] += tau
    else:
        force = scale(tau, load3_at(work.cut.inverse, k, 6 * c))
        moment = scale(tau, load3_at(work.cut.inverse, k, 6 * c + 3))
        apply_pair(work, work.cut.pair, k, here.q, force, moment)


@part
def couple_at(work, at, coupling, slopes):
    """Add stiffness and damping C⁺ᵀ (…) C⁺ of a force on a coordinate of a cut joint.

    They act on the relative twist of its frames. slopes: (−∂τ/∂β, −∂τ/∂η).
    """
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
    """Joint coordinate (body, cut, indices) on which joint force f acts."""
    return rows.body[f], rows.cut[f], rows.v[f], rows.q[f]


@part
def joints_place(rows, f, a):
    """Joint coordinate on which force f acts with its component a."""
    return rows.body[f, a], rows.cut[f, a], rows.v[f, a], rows.q[f, a]


@part
def joint_force(system, work, t, here, f, slopes):
    """Apply joint force f; returns τ.

    Theory, section 39. Slopes −∂τ/∂β and −∂τ/∂η by joint; for cut joints see `couple_at`.
    """
    rows = system.forces.joint
    at = joint_place(rows, f)
    x, v = coordinate_at(system, work, at, here)
    given = (t, x, v)
    tau, loss = joint_force_value(system, work, f, given, here.z)
    work.power.forces += (tau - loss) * v
    work.power.loss -= loss * v
    apply_at(system, work, at, here, tau)
    if slopes:
        kx, kv = scalar_slopes(system, work, rows, f, given, -1.0)
        work.joint_slope[f, 0] = kx
        work.joint_slope[f, 1] = kv
        couple_at(work, at, rows.coupling[f], (kx, kv))
    return tau


@part
def transmitted_motion(system, work, f, here):
    """(x, v) of the linear combination Σ aᵢ βᵢ on which force f acts."""
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
    """work.joints_force ← τ (n) of force f on n coordinates.

    The rates of its force states go into work.force_rate. Returns its power (W), elastic and
    dissipated.
    """
    rows, workspace = system.forces.joints, work.laws
    n = rows.n[f]
    if rows.combined[f] == 1:
        x, v = transmitted_motion(system, work, f, here)
        give_states(rows.law, f, here.z, work.path.stage, workspace.x, 3)
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
    give_states(rows.law, f, here.z, work.path.stage, workspace.x, 1 + 2 * n)
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
    """Result of the law of force f for the arguments in work.laws.x."""
    rows, workspace = system.forces.joints, work.laws
    given_values(rows.law, f, system.laws, workspace, work.io, 1 + 2 * n)
    call_law(rows.law.kernel_index[f], rows.value[f], workspace, 2 * n + rows.law.n_states[f], 0.0)


@called
def joints_forces(system, work, t, here, slopes):
    """Generalized forces (N, N m) on several joint coordinates.

    τᵢ(t, β, η, z) of all of them, or aᵢ τ(t, Σ aⱼ βⱼ, Σ aⱼ ηⱼ, z) (theory, section 39).
    """
    rows = system.forces.joints
    for f in range(rows.n.shape[0]):
        power, lost = joints_law(system, work, f, here, t)
        work.power.forces += power
        work.power.loss += lost
        if slopes:
            joints_slopes(system, work, f, here, t)
        for a in range(rows.n[f]):
            apply_at(system, work, joints_place(rows, f, a), here, work.joints_force[f, a])


@part
def joints_slopes(system, work, f, here, t):
    """−∂τᵢ/∂βᵢ and −∂τᵢ/∂ηᵢ of force f on several coordinates.

    From the law itself or by central differences.
    """
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
        every = work.joints_slopes
        for c in range(2 * n):
            x = workspace.x[1 + c]
            h = SLOPE_STEP * (1.0 + abs(x))
            workspace.x[1 + c] = x + h
            joints_value(system, work, f, n)
            for a in range(n):
                every[f, a, c] = -workspace.out[a]
            workspace.x[1 + c] = x - h
            joints_value(system, work, f, n)
            for a in range(n):
                every[f, a, c] = (every[f, a, c] + workspace.out[a]) / (2.0 * h)
            workspace.x[1 + c] = x
            slope[f, c % n, c // n] = every[f, c % n, c]
    for a in range(n):
        couple_at(
            work, joints_place(rows, f, a), rows.coupling[f, a], (slope[f, a, 0], slope[f, a, 1])
        )


@part
def add_slopes(system, work, damping, row, diagonal):
    """Row ``row`` of ``diagonal`` (…, ns) += −∂τ/∂β − damping · ∂τ/∂η of forces on primary joints.

    Only positive values are added: the pivots must stay positive, and Newton's method converges
    without the others.
    """
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


@part
def coupled_slopes(system, work, force, component, damping, C):
    """C (m, m) ← −∂τ_i/∂β_j − damping · ∂τ_i/∂η_j of the coordinates of forces on several ones.

    Less what `add_slopes` adds. force, component (m,): the forces and their coordinates.
    """
    rows, every = system.forces.joints, work.joints_slopes
    for i in range(force.shape[0]):
        f, a = force[i], component[i]
        n = rows.n[f]
        for j in range(force.shape[0]):
            C[i, j] = 0.0
            if force[j] == f:
                b = component[j]
                C[i, j] = every[f, a, b] + damping * every[f, a, n + b]
        C[i, i] = min(C[i, i], 0.0)


def coupled_coordinates(system: System) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocities (m,) of primary joints on which a law without slopes acts with others.

    With the numbers (m,) of the forces and of their coordinates.
    """
    rows = system.forces.joints
    found = [
        (system.tree.s_at[body] + v, f, a)
        for f, n in enumerate(rows.n.tolist())
        if n > 1 and rows.combined[f] == 0 and rows.law.has_slopes[f] == 0
        for a, (body, v) in enumerate(zip(rows.body[f, :n].tolist(), rows.v[f, :n].tolist()))
        if body >= 0
    ]
    return tuple(np.array(found, np.int64).reshape(-1, 3).T.copy())  # type: ignore[return-value]


@entry
def joint_forces_at(model, here, /, t, slopes, which):
    """Kernel of the generalized forces τ (N, N m) on joint coordinates.

    Across a cut joint the wrench C⁺ᵀ τ (theory, section 39). which: `ALL`, `WITH_REACTIONS` or
    `BY_PRIMARY`, whose forces are also subtracted from r: r ← r − τ.
    """
    system, work = model.system, model.work
    rows = system.forces.joint
    for f in range(rows.body.shape[0]):
        by_primary = rows.loaded[f] > 0 and rows.body[f] >= 0
        if which != ALL and by_primary != (which == BY_PRIMARY):
            continue
        if which == BY_PRIMARY:
            loads_of_primary(system, work, f)
        elif which == WITH_REACTIONS and rows.loaded[f] > 0:
            loads_of_cut(system, work, f, here.lam)
        tau = joint_force(system, work, t, here, f, slopes != 0.0)
        if which == BY_PRIMARY:
            here.r[system.tree.s_at[rows.body[f]] + rows.v[f]] -= tau
    if which != BY_PRIMARY and system.forces.joints.n.shape[0] > 0:
        joints_forces(system, work, t, here, slopes != 0.0)
    return 0


@part
def apply_joint_forces(system, work, t, here, slopes, which):
    """Call `joint_forces_at` if there are joint forces."""
    if work.calls.joint_forces >= 0:
        call_shared(system, work, work.calls.joint_forces, here, t, 1.0 if slopes else 0.0, which)

"""Kinematics, wrenches and energies at all output times: compiled loops over the states of a trajectory."""

from flexmbs._jit import kernel
from flexmbs.algebra.se3 import bracket, twist_to_child, wrench_to_parent
from flexmbs.algebra.small import add, cross, load3, load3_at, load9, mul, neg, scale, store3_at, sub
from flexmbs.dynamics.constraints import constraint_wrench
from flexmbs.dynamics.equations import residual
from flexmbs.dynamics.forces import joint_force_value
from flexmbs.dynamics.frames import frame_motion
from flexmbs.dynamics.inertia import body_energy
from flexmbs.dynamics.joints import joint_directions
from flexmbs.dynamics.kinematics import outward


@kernel
def frame_history(system, work, m, q, s, sd, out):
    """out[i] = (A, r, ṙ, ω, r̈, ω̇) of frame m in world axes at output i, (nt, 24); r̈ = A (v̇ + ω × v) + g."""
    g = (system.gravity[0], system.gravity[1], system.gravity[2])
    for i in range(q.shape[0]):
        outward(system, work.motion, q[i], s[i], sd[i])
        A, r, _, _, v, w, vd, wd = frame_motion(system, work.motion, m, q[i], s[i], sd[i])
        for a in range(9):
            out[i, a] = A[a]
        store3_at(out, i, 9, r)
        store3_at(out, i, 12, mul(A, v))
        store3_at(out, i, 15, mul(A, w))
        store3_at(out, i, 18, add(mul(A, add(vd, cross(w, v))), g))
        store3_at(out, i, 21, mul(A, wd))


@kernel
def joint_history(system, work, t, q, s, sd, lam, z, primary, cut, effort, beta, eta, etad):
    """Wrenches through all joints on the child at its frame, child axes, and coordinates of the cut joints.

    primary (nt, nb, 6), cut (nt, ncut, 6): wrenches with those of drives and joint forces; effort (nt, nb + ncut, 6): Cᵀ of them;
    beta (nt, nβ), eta and etad (nt, ncut, 6): coordinates, velocities, accelerations of the cut joints.
    """
    motion = work.motion
    nb = primary.shape[1]
    for i in range(q.shape[0]):
        residual(system, work, t[i], q[i], s[i], sd[i], lam[i], z[i], False, work.r)
        for b in range(nb):
            for a in range(6):
                primary[i, b, a] = motion.Wj[b, a]
            for k in range(system.tree.nv[b]):
                for a in range(6):
                    effort[i, b, k] += motion.C[b, k, a] * motion.Wj[b, a]
        for a in range(beta.shape[1]):
            beta[i, a] = work.cut.beta[a]
        for k in range(cut.shape[1]):
            _cut_joint(system, work, k, t[i], q[i], s[i], sd[i], lam[i], z[i], cut[i], effort[i, nb + k], eta[i], etad[i])


@kernel
def _cut_joint(system, work, k, t, q, s, sd, lam, z, wrench, effort, eta, etad):
    """Wrench (C⁺)ᵀ τ + Tᵀ λ and rates η, η̇ = C⁺ (V̇_rel − Ċ η) of cut joint k."""
    cuts = system.cuts
    work_cut = work.cut
    f, n = constraint_wrench(system, work, k, lam)
    jf = system.joint_forces
    P = work_cut.P
    for j in range(jf.kind.shape[0]):
        if jf.cut[j] == k:
            c = jf.coordinate[j]
            x = work_cut.beta[cuts.beta_at[k] + jf.position[j]]
            tau, _ = joint_force_value(system, work, j, t, x, work_cut.eta[k, c], z)
            f = add(f, scale(tau, (P[k, c, 0], P[k, c, 1], P[k, c, 2])))
            n = add(n, scale(tau, (P[k, c, 3], P[k, c, 4], P[k, c, 5])))
    store3_at(wrench, k, 0, f)
    store3_at(wrench, k, 3, n)
    _, _, _, _, va, wa, ava, awa = frame_motion(system, work.motion, cuts.frame_p[k], q, s, sd)
    _, _, _, _, vb, wb, avb, awb = frame_motion(system, work.motion, cuts.frame_c[k], q, s, sd)
    Rr, xr = load9(work_cut.Rr, k), load3(work_cut.xr, k)
    cv, cw = twist_to_child(Rr, xr, va, wa)
    av, aw = twist_to_child(Rr, xr, ava, awa)
    kv, kw = bracket(sub(vb, cv), sub(wb, cw), cv, cw)
    joint = cuts.joint[k]
    at = cuts.beta_at[k]
    _, _, bv, bw = joint_directions(system.joints, joint, work_cut.beta, at, work_cut.eta[k], 0, work_cut.C, k)
    dv = sub(add(sub(avb, av), kv), bv)
    dw = sub(add(sub(awb, aw), kw), bw)
    for a in range(system.joints.nv[joint]):
        eta[k, a] = work_cut.eta[k, a]
        for e in range(3):
            etad[k, a] += P[k, a, e] * dv[e] + P[k, a, 3 + e] * dw[e]
            effort[a] += work_cut.C[k, a, e] * f[e] + work_cut.C[k, a, 3 + e] * n[e]


@kernel
def opposite_wrench(system, work, b, q, s, sd, wrench, out):
    """out[i]: reaction of wrench[i] through the primary joint of body b on its parent, at the parent's frame and in its axes."""
    for i in range(q.shape[0]):
        outward(system, work.motion, q[i], s[i], sd[i])
        R, x = load9(work.motion.Rj, b), load3(work.motion.xj, b)
        f, n = wrench_to_parent(R, x, load3_at(wrench, i, 0), load3_at(wrench, i, 3))
        store3_at(out, i, 0, neg(f))
        store3_at(out, i, 3, neg(n))


@kernel
def energy_history(system, work, q, s, sd, out):
    """out[i] = kinetic, strain and gravity energy of all bodies at output i, (nt, 3)."""
    for i in range(q.shape[0]):
        outward(system, work.motion, q[i], s[i], sd[i])
        for b in range(system.tree.parent.shape[0]):
            kinetic, strain, potential = body_energy(system, work.motion, b, q[i], s[i], work.U)
            out[i, 0] += kinetic
            out[i, 1] += strain
            out[i, 2] += potential

"""The equations of motion by sweeps: the residual r = M ṡ − k − Gᵀ λ (ns,).

Inward sweep over bodies i, leaves to root, with the wrench W of inertia less applied forces on the
body frame:

    W_cm = Ad(X_cm)ᵀ W,   r_η += Cᵀ W_cm,   r_f,i −= Φ_cmᵀ W_cm,   W_pm = Ad(X_J⁻¹)ᵀ W_cm,   r_f,p += Φ_pmᵀ W_pm,
    W_p += Ad(X_pm⁻¹)ᵀ W_pm,

the dual of the outward sweep. At ṡ = 0 and λ = 0 the residual is −k, with Q_v, elastic forces,
damping and gravity in it.

Theory: docs/theory.md, sections 19, 22 and 23. Featherstone, Rigid Body Dynamics Algorithms (2008),
section 5.3 (recursive Newton-Euler algorithm); Luh, Walker and Paul (1980), J. Dyn. Syst. Meas.
Control 102, 69; Shabana, Dynamics of Multibody Systems (2020), chapter 5, for the equations of a
flexible body.
"""

import math

from flexmbs.algebra.works import clear_works
from flexmbs._jit import called, part
from flexmbs._jit.address import entry
from flexmbs.algebra.se3 import wrench_to_child, wrench_to_parent
from flexmbs.algebra.small import dot, increase3_at, load3_at, load9_at, store3_at
from flexmbs.dynamics.constraints import (
    apply_constraint_forces,
    cut_joint,
    drive_power,
    prescribed_motions,
    prescribed_power,
)
from flexmbs.dynamics.contacts import apply_contact_forces
from flexmbs.dynamics.couplers import joint_rows
from flexmbs.dynamics.forces import apply_forces
from flexmbs.dynamics.joint_forces import ALL, BY_PRIMARY, WITH_REACTIONS, apply_joint_forces
from flexmbs.dynamics.frames import modal_force, current_shapes
from flexmbs.dynamics.inertia import inertia_force
from flexmbs.dynamics.joint_loads import any_loaded, loads_settled, read_cuts, read_primary, runaway
from flexmbs.dynamics.kinematics import outward
from flexmbs.dynamics.piece_damping import damp_pieces
from flexmbs.dynamics.rotors import apply_rotors, rotor_loads
from flexmbs.dynamics.shared_calls import call_shared
from flexmbs.system.records import (
    LOADINGS,
    Evaluation,
)

REACTIONS = 2.0  # value of `gathered` with forces loaded by reactions


@entry
def kinematics_at(model, here, /, t, bodies_alone, weightless):
    """Kernel that calls `kinematics`: motion of all bodies and constraint values.

    bodies_alone: omit g, G s + γ̄ and G ṡ − γ of the constraints. weightless: omit the acceleration
    −g of the ground.
    """
    system, work = model.system, model.work
    gravity = work.zero if weightless != 0.0 else system.gravity
    current_shapes(work.frames, here.q, here.s)
    if system.prescribed.law.shape[0] > 0:
        prescribed_motions(system, work, t)
    outward(system, work, gravity, here)
    if bodies_alone != 0.0:
        return 0
    for k in range(system.cuts.row.shape[0]):
        cut_joint(system, work, k, t, here)
    joint_rows(system, work, t, here)
    return 0


@entry
def residual_at(model, here, /, t, slopes, gathered):
    """Kernel that calls `residual`: r = M ṡ − k − Gᵀ λ.

    gathered: 0 to leave the wrenches and forces of the single bodies without Gᵀ λ; `REACTIONS` to
    load the forces that depend on reactions by those of ṡ and λ. r is NaN if no loads agree with
    the forces that they cause.
    """
    system, work = model.system, model.work
    kinematics(system, work, t, here.q, here.s, here.sd)
    if gathered != REACTIONS or system.readings.body.shape[0] == 0:
        balance(system, work, t, here, (slopes != 0.0, gathered != 0.0, gathered == REACTIONS))
        return 0
    read_cuts(system, work, here.lam)
    for turn in range(LOADINGS):
        balance(system, work, t, here, (slopes != 0.0, True, True))
        if read_primary(system, work, turn):
            return 0
        if runaway(work):
            break
    for a in range(here.r.shape[0]):
        here.r[a] = math.nan
    return 0


@called
def balance(system, work, t, here, flags):
    """Residual r of the equations of motion, with kinematics that are up to date.

    flags: with slopes, gathered, with forces loaded by reactions.
    """
    slopes, gathered, with_reactions = flags
    tree, motion = system.tree, work.motion
    q, s, r = here.q, here.s, here.r
    clear_energies(system, work)
    for a in range(r.shape[0]):
        r[a] = 0.0
    apply_forces(system, work, t, here, slopes, WITH_REACTIONS if with_reactions else ALL)
    apply_contact_forces(system, work, t, here, slopes)
    if system.rotors.body.shape[0] > 0:
        rotor_loads(system, work, here)
        apply_rotors(system, work, q)
    if system.pieces_damping.size.shape[0] > 0:
        work.power.loss += damp_pieces(system, work, s)
    if gathered:
        apply_constraint_forces(system, work, q, here.lam)
    for i in range(tree.parent.shape[0]):
        # shape products are stored by body, for the factorization of the recursive formalism
        inertia_force(system, work, i, here, work.products[i])
        for a in range(6):
            motion.wrench[i, a] -= motion.applied[i, a]
    for a in range(r.shape[0]):
        r[a] -= work.force[a]
    if gathered:
        inward(tree, work.frames, motion, q, r)
        if with_reactions:
            apply_joint_forces(system, work, t, here, slopes, BY_PRIMARY)
        work.power.drives += drive_power(work.drive_rate, here.lam)
        if system.prescribed.law.shape[0] > 0:
            work.power.drives += prescribed_power(system, work, q)
    work.power.loss += modal_dissipation(tree, system.bodies, s)


@part
def kinematics(system, work, t, q, s, sd):
    """Evaluate the motion of all bodies and the constraint values work.gs (3, nc).

    g(q, t), G s + γ̄ and G ṡ − γ. Theory, section 13.
    """
    call_shared(
        system,
        work,
        work.calls.kinematics,
        Evaluation(q, s, sd, work.zero, work.zero, work.zero),
        t,
        0.0,
        0.0,
    )


@part
def body_motion(system, work, t, q, s, sd):
    """work.motion ← r, A, V and V̇ of all bodies for (t, q, s, ṡ)."""
    motion_of_bodies(system, work, t, (q, s, sd), 0.0)


@part
def motion_of_bodies(system, work, t, state, weightless):
    """Evaluate the motion of all bodies for the ``state``, with or without gravity.

    weightless: omit the acceleration −g of the ground.
    """
    q, s, sd = state
    call_shared(
        system,
        work,
        work.calls.kinematics,
        Evaluation(q, s, sd, work.zero, work.zero, work.zero),
        t,
        1.0,
        weightless,
    )


@part
def residual(system, work, t, here, slopes):
    """r = M ṡ − k − Gᵀ λ (ns,) into here.r.

    Also fills kinematics, constraint values, joint wrenches and powers. Theory, sections 19 and 23;
    recursive Newton-Euler algorithm, Featherstone 2008, section 5.3.
    """
    call_shared(system, work, work.calls.residual, here, t, 1.0 if slopes else 0.0, 1.0)


@part
def power_of_drives(system, work, t, here):
    """work.power ← power (W) of the drives for ṡ and λ.

    Prescribed coordinates need inverse dynamics, a residual at ṡ (theory, section 49).
    """
    if system.prescribed.law.shape[0] > 0:
        residual(
            system, work, t, Evaluation(here.q, here.s, here.sd, here.lam, here.z, work.r), False
        )
    else:
        work.power.drives += drive_power(work.drive_rate, here.lam)


@part
def residual_with_reactions(system, work, t, here, slopes):
    """`residual` with joint forces loaded by the reactions of ṡ and λ (theory, section 39)."""
    call_shared(system, work, work.calls.residual, here, t, 1.0 if slopes else 0.0, REACTIONS)


@part
def balanced(system, work, t, here, turns):
    """True if the joint loads agree with those from which ṡ and λ were computed.

    Stores the loads for the next iteration. ṡ becomes NaN if the loads have not converged within
    `LOADINGS` iterations, or those of the given ṡ and λ alone have not. Theory, section 39.
    """
    if not any_loaded(system):
        return True
    residual_with_reactions(
        system, work, t, Evaluation(here.q, here.s, here.sd, here.lam, here.z, work.r), False
    )
    inconsistent = work.r.shape[0] > 0 and work.r[0] != work.r[0]
    if loads_settled(work, turns) and not inconsistent:
        return True
    if inconsistent or turns >= LOADINGS or runaway(work):
        for a in range(here.sd.shape[0]):
            here.sd[a] = math.nan
        return True
    return False


@part
def body_forces(system, work, t, q, s, z):
    """Wrenches and generalized forces r of the single bodies for ṡ = 0, λ = 0, not gathered.

    They are the loads of the articulated sweeps: M ā less applied, elastic and quadratic velocity
    forces. Shape products are kept by body.
    """
    call_shared(
        system,
        work,
        work.calls.residual,
        Evaluation(q, s, work.zero, work.zero, z, work.r),
        t,
        0.0,
        0.0,
    )


@part
def clear_energies(system, work):
    """Zero the applied forces and powers."""
    for a in range(work.force.shape[0]):
        work.force[a] = 0.0
    for i in range(system.tree.parent.shape[0]):
        for a in range(6):
            work.motion.applied[i, a] = 0.0
    clear_works(work.power)


@called
def inward(tree, frames, motion, q, r):
    """Gather body wrenches into the generalized residual r by a sweep from leaves to root.

    Jᵀ W by the dual of the outward sweep. W_cm, the wrench that passes through the primary joint,
    stays in ``motion``: the reaction of the joint. Theory, section 19.
    """
    for back in range(tree.parent.shape[0]):
        i = tree.parent.shape[0] - 1 - back
        Rc = load9_at(motion.Rc, i, 0)
        f, n = wrench_to_child(
            Rc,
            load3_at(motion.xc, i, 0),
            load3_at(motion.wrench, i, 0),
            load3_at(motion.wrench, i, 3),
        )
        store3_at(motion.through, i, 0, f)
        store3_at(motion.through, i, 3, n)
        for k in range(tree.nv[i]):
            at = 6 * k
            r[tree.s_at[i] + k] += dot(load3_at(motion.directions, i, at), f) + dot(
                load3_at(motion.directions, i, at + 3), n
            )
        modal_force(frames, tree.frame_c[i], Rc, q, (f, n), r, -1.0)
        p = tree.parent[i]
        if p >= 0:
            f, n = wrench_to_parent(load9_at(motion.Rj, i, 0), load3_at(motion.xj, i, 0), f, n)
            Rp = load9_at(motion.Rp, i, 0)
            modal_force(frames, tree.frame_p[i], Rp, q, (f, n), r, 1.0)
            f, n = wrench_to_parent(Rp, load3_at(motion.xp, i, 0), f, n)
            increase3_at(motion.wrench, p, 0, f)
            increase3_at(motion.wrench, p, 3, n)


@part
def modal_dissipation(tree, bodies, s):
    """Ḋ = q̇_fᵀ D_ff q̇_f of all bodies (W) (theory, sections 7 and 49)."""
    power = 0.0
    for i in range(tree.parent.shape[0]):
        at = tree.sf_at[i]
        diagonal = bodies.diagonal[i] == 1
        for k in range(tree.nf[i]):
            first, last = (k, k + 1) if diagonal else (0, tree.nf[i])
            for l in range(first, last):
                power += s[at + k] * bodies.d_ff[i, k, l] * s[at + l]
    return power

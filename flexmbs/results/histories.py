"""Kinematics, wrenches and energies at all output times.

Compiled loops over the states of a trajectory.
"""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs._jit.address import packed
from flexmbs.algebra.se3 import wrench_to_parent
from flexmbs.algebra.small import add, cross, load3_at, load9_at, mul, neg, scale, store3_at
from flexmbs.dynamics.constraints import (
    constraint_wrench,
    prescribed_effort,
    six_apply,
    with_couplers,
    with_terms,
)
from flexmbs.dynamics.contacts import (
    contact_kinematics,
    given_contact_forces,
    law_forces,
    own_row,
)
from flexmbs.dynamics.equations import (
    body_motion,
    clear_energies,
    kinematics,
    residual_with_reactions,
)
from flexmbs.dynamics.forces import apply_forces
from flexmbs.dynamics.frames import frame_pose, frame_rates, world_pose
from flexmbs.dynamics.inertia import body_energy
from flexmbs.dynamics.joint_forces import (
    ALL,
    coordinate_at,
    joint_force_value,
    joint_place,
    joints_law,
)
from flexmbs.dynamics.laws import law_of_time
from flexmbs.dynamics.rotors import rotor_energy, rotor_loads
from flexmbs.system.records import OF_BOUND, OF_FRICTION, Evaluation
from flexmbs.system.trajectory import Trajectory


class MotionHistory(NamedTuple):
    """Times, positions, velocities and accelerations, one row per output."""

    t: np.ndarray  # (nt,)
    q: np.ndarray  # (nt, nq)
    s: np.ndarray  # (nt, ns)
    sd: np.ndarray


class StateHistory(NamedTuple):
    """States, one row per output."""

    t: np.ndarray  # (nt,)
    q: np.ndarray  # (nt, nq)
    s: np.ndarray  # (nt, ns)
    sd: np.ndarray
    lam: np.ndarray  # (nt, nc)
    z: np.ndarray  # (nt, nz)
    contact: np.ndarray  # (nt, n, 3) forces of rigid contacts; may be empty
    beta: np.ndarray  # (nt, nβ) coordinates of the cut joints along the motion; may be empty


def states_of(trajectory: Trajectory, beta: np.ndarray) -> StateHistory:
    """States of a trajectory; ``beta`` (nt, nβ): coordinates of the cut joints."""
    now = trajectory
    return StateHistory(now.t, now.q, now.s, now.sd, now.lam, now.z, now.contact, beta)


@packed()
def frames_history(system, work, numbers, motions, out):
    """out ← motion of the frames ``numbers`` at all outputs.

    out[k, i] = (A, r, ṙ, ω, r̈ = A (v̇ + ω × v) + g, ω̇) of frame numbers[k] at output i.

    In world axes, (n, nt, 24).
    """
    frames, gravity, motion = work.frames, system.gravity, work.motion
    g = (gravity[0], gravity[1], gravity[2])
    for i in range(motions.q.shape[0]):
        here = Evaluation(
            motions.q[i], motions.s[i], motions.sd[i], work.zero, work.zero, work.zero
        )
        body_motion(system, work, motions.t[i], here.q, here.s, here.sd)
        for k in range(numbers.shape[0]):
            Rm, xm = frame_pose(frames, numbers[k], here.q)
            A, r = world_pose(frames, motion, numbers[k], Rm, xm)
            v, w, vd, wd = frame_rates(work, gravity, numbers[k], (Rm, xm), here)
            for a in range(9):
                out[k, i, a] = A[a]
            store3_at(out[k], i, 9, r)
            store3_at(out[k], i, 12, mul(A, v))
            store3_at(out[k], i, 15, mul(A, w))
            store3_at(out[k], i, 18, add(mul(A, add(vd, cross(w, v))), g))
            store3_at(out[k], i, 21, mul(A, wd))


@packed()
def joint_history(system, work, states, found):
    """found ← wrenches through all joints and cut joint coordinates at all outputs.

    Wrenches act on the child at its frame, in child axes. ``found`` has primary (nt, nb, 6) and cut
    (nt, ncut, 6): wrenches including drives, couplings and joint forces; effort (nt, nb + ncut, 6):
    their projections with Cᵀ; beta (nt, nβ), eta and etad (nt, ncut, 6): coordinates, velocities,
    accelerations of the cut joints; prescribed (nt, np, 4): f, ḟ, f̈ and effort of prescribed
    coordinates.
    """
    primary, cut, effort = found.primary, found.cut, found.effort
    nb = primary.shape[1]
    for i in range(states.q.shape[0]):
        set_path(work, states, i)
        here = Evaluation(
            states.q[i], states.s[i], states.sd[i], states.lam[i], states.z[i], work.r
        )
        residual_with_reactions(system, work, states.t[i], here, False)
        for b in range(nb):
            for a in range(6):
                primary[i, b, a] = work.motion.through[b, a]
            for k in range(system.tree.nv[b]):
                for a in range(6):
                    effort[i, b, k] += work.motion.directions[b, 6 * k + a] * primary[i, b, a]
        for d in range(found.prescribed.shape[1]):
            f, fd, fdd = law_of_time(system.laws, system.prescribed.law[d], states.t[i], work.io)
            found.prescribed[i, d, 0] = f
            found.prescribed[i, d, 1] = fd
            found.prescribed[i, d, 2] = fdd
            b = system.prescribed.body[d]
            wrench = load3_at(work.motion.through, b, 0), load3_at(work.motion.through, b, 3)
            found.prescribed[i, d, 3] = prescribed_effort(system, work, here.q, d, wrench)
        for a in range(found.beta.shape[1]):
            found.beta[i, a] = work.beta[a]
        for k in range(cut.shape[1]):
            f, n = constraint_wrench(system.cuts, work.cut, k, here.lam)
            f, n = with_couplers(system.couplers, work.factor, work.cut, k, here.lam, (f, n))
            f, n = with_joint_forces(system, work, k, states.t[i], here, (f, n))
            f, n = with_coordinate_contacts(system.contacts, work, k, (f, n))
            store3_at(cut[i], k, 0, f)
            store3_at(cut[i], k, 3, n)
            for a in range(system.cuts.nv[k]):
                found.eta[i, k, a] = work.cut.eta[k, a]
                found.etad[i, k, a] = work.cut.etad[k, a]
                effort[i, nb + k, a] = six_apply(work.cut.directions, k, 6 * a, f, n)


@packed()
def cut_rows_history(system, work, states, out):
    """out (nt, ncut, 36) ← constraint rows 𝒯 of the cut joints at all outputs, child's axes."""
    for i in range(states.q.shape[0]):
        set_path(work, states, i)
        kinematics(system, work, states.t[i], states.q[i], states.s[i], work.zero)
        for k in range(out.shape[1]):
            for c in range(out.shape[2]):
                out[i, k, c] = work.cut.covectors[k, c]


@part
def set_path(work, states, i):
    """Load contact forces and cut joint coordinates of output i into work.path.

    If the states have them.
    """
    if states.contact.shape[0] > 0:
        for k in range(states.contact.shape[1]):
            for c in range(3):
                work.path.force[k, c] = states.contact[i, k, c]
    for a in range(states.beta.shape[1]):
        work.path.beta[a] = states.beta[i, a]


CONTACT_NUMBERS = 17  # of each contact in `contact_history`


@packed()
def contact_history(system, work, states, out):
    """out (nt, n, 17) ← gaps, velocities and forces of all contacts at all outputs.

    Gap, velocities along normal and tangents, force in world axes on the second body and along
    normal and tangents, 1 if outside its bounds, angular velocities and moments about normal and
    tangents.
    """
    for i in range(states.q.shape[0]):
        set_path(work, states, i)
        q, s = states.q[i], states.s[i]
        kinematics(system, work, states.t[i], q, s, work.zero)
        given_contact_forces(system, work)
        contact_kinematics(system, work, states.t[i], q, s)
        law_forces(system, work, False)
        for k in range(out.shape[1]):
            out[i, k, 0] = work.contact.gap[k]
            out[i, k, 10] = work.contact.beside[k]
            for c in range(3):
                out[i, k, 1 + c] = work.contact.velocity[k, c]
                out[i, k, 7 + c] = work.contact.force[k, c]
                out[i, k, 11 + c] = work.contact.turning[k, c]
                out[i, k, 14 + c] = work.contact.moment[k, c]
            m = system.contacts.b[k]
            if m >= 0:
                Rm, xm = frame_pose(work.frames, m, q)
                A, _ = world_pose(work.frames, work.motion, m, Rm, xm)
                f = (0.0, 0.0, 0.0)
                for c in range(3):
                    f = add(
                        f,
                        scale(work.contact.force[k, c], load3_at(work.contact.covectors, k, 6 * c)),
                    )
                store3_at(out[i], k, 4, mul(A, f))


@part
def with_coordinate_contacts(contacts, work, k, wrench):
    """Wrench (f, n) of cut joint k plus that of rigid contacts on its coordinates.

    N a C⁺_v of unilateral functions of its coordinates, C⁺_v N of its stops and C⁺_v Q of its dry
    friction. wrench: (f, n) of the other forces.
    """
    f, n = wrench
    given, place = (contacts.terms, work.contact.factor), (work.cut, k)
    for c in range(contacts.first.shape[0]):
        f, n = with_terms(
            given, (contacts.first[c], contacts.end[c]), place, work.contact.force[c, 0], (f, n)
        )
        kernel = contacts.geometry_kernel[c]
        # elastic stops are joint forces
        if contacts.cut[c] == k and (
            kernel == OF_FRICTION or (kernel == OF_BOUND and contacts.law_kernel[c] < 0)
        ):
            row = own_row(contacts, c)
            force, covectors = work.contact.force[c, row], work.contact.covectors
            f = add(f, scale(force, load3_at(covectors, c, 6 * row)))
            n = add(n, scale(force, load3_at(covectors, c, 6 * row + 3)))
    return f, n


@part
def with_joint_forces(system, work, k, t, here, wrench):
    """Wrench (f, n) of cut joint k plus (C⁺)ᵀ τ of its joint forces and rotors.

    wrench: (f, n) of its constraints.
    """
    forces, several = system.forces.joint, system.forces.joints
    for j in range(forces.cut.shape[0]):
        if forces.cut[j] == k:
            x, v = coordinate_at(system, work, joint_place(forces, j), here)
            tau, _ = joint_force_value(system, work, j, (t, x, v), here.z)
            wrench = _with_effort(work, k, forces.v[j], tau, wrench)
    for j in range(several.n.shape[0]):
        evaluated = False
        for a in range(several.n[j]):
            if several.cut[j, a] == k:
                if not evaluated:
                    joints_law(system, work, j, here, t)
                evaluated = True
                wrench = _with_effort(work, k, several.v[j, a], work.joints_force[j, a], wrench)
    for j in range(system.rotors.cut.shape[0]):
        if system.rotors.cut[j] == k:
            wrench = _with_effort(work, k, system.rotors.v[j], -work.rotor.load[j, 0], wrench)
    return wrench


@part
def _with_effort(work, k, v, tau, wrench):
    """Wrench (f, n) plus (C⁺)ᵀ τ of an effort on velocity v of cut joint k."""
    f, n = wrench
    return add(f, scale(tau, load3_at(work.cut.inverse, k, 6 * v))), add(
        n, scale(tau, load3_at(work.cut.inverse, k, 6 * v + 3))
    )


@packed()
def opposite_wrench(system, work, b, motions, wrench, out):
    """out ← reaction wrenches on the parent through the primary joint of body b.

    At the parent's frame and in its axes.
    """
    for i in range(motions.q.shape[0]):
        body_motion(system, work, motions.t[i], motions.q[i], motions.s[i], motions.sd[i])
        R, x = load9_at(work.motion.Rj, b, 0), load3_at(work.motion.xj, b, 0)
        f, n = wrench_to_parent(R, x, load3_at(wrench, i, 0), load3_at(wrench, i, 3))
        store3_at(out, i, 0, neg(f))
        store3_at(out, i, 3, neg(n))


@packed()
def energy_history(system, work, motions, out):
    """out (nt, 3) ← kinetic, strain and gravity energy at all outputs.

    motions: `StateHistory`.
    """
    for i in range(motions.q.shape[0]):
        if system.rotors.body.shape[0] > 0:
            # with the rates of cut joints
            set_path(work, motions, i)
            kinematics(system, work, motions.t[i], motions.q[i], motions.s[i], motions.sd[i])
        else:
            body_motion(system, work, motions.t[i], motions.q[i], motions.s[i], motions.sd[i])
        for k in range(system.rotors.body.shape[0]):
            out[i, 0] += rotor_energy(system, work, k, motions.q[i], motions.s[i])
        for b in range(system.tree.parent.shape[0]):
            kinetic, strain, potential = body_energy(system, work, b, motions.q[i], motions.s[i])
            out[i, 0] += kinetic
            out[i, 1] += strain
            out[i, 2] += potential


@packed()
def rotor_history(system, work, states, out):
    """out (nt, n, 3) ← moments that rotors take from their carrier frames.

    In axes of that frame.
    """
    for i in range(states.q.shape[0]):
        set_path(work, states, i)
        here = Evaluation(states.q[i], states.s[i], states.sd[i], work.zero, work.zero, work.zero)
        kinematics(system, work, states.t[i], here.q, here.s, here.sd)
        rotor_loads(system, work, here)
        for k in range(out.shape[1]):
            store3_at(out[i], k, 0, load3_at(work.rotor.load, k, 1))


@packed()
def reaction_history(system, work, states, out):
    """out (nt, nr, 6) ← constraint wrenches of the joints read by forces.

    On the child at its frame, in child axes.
    """
    for i in range(states.q.shape[0]):
        set_path(work, states, i)
        here = Evaluation(
            states.q[i], states.s[i], states.sd[i], states.lam[i], states.z[i], work.r
        )
        residual_with_reactions(system, work, states.t[i], here, False)
        for r in range(out.shape[1]):
            for a in range(6):
                out[i, r, a] = work.loads.read[r, a]


@packed()
def applied_history(system, work, states, reactions, out):
    """out (nt, nb, 6) ← wrenches of the applied forces on the bodies, in body axes.

    About the origin of its frame. reactions (nt, nr, 6): wrenches read by forces.
    """
    for i in range(states.q.shape[0]):
        clear_energies(system, work)
        for r in range(reactions.shape[1]):
            for a in range(6):
                work.loads.read[r, a] = reactions[i, r, a]
        here = Evaluation(states.q[i], states.s[i], states.sd[i], work.zero, states.z[i], work.zero)
        body_motion(system, work, states.t[i], here.q, here.s, here.sd)
        apply_forces(system, work, states.t[i], here, False, ALL)
        for b in range(out.shape[1]):
            for a in range(6):
                out[i, b, a] = work.motion.applied[b, a]

"""Rotors geared to joint coordinates: contribution of their spin to the inertia of the bodies.

A rotor on frame p spins at n q̇ about a, fixed there; at rest it is a part of the body that carries
it. With ω of frame p

    T = ½ n² I q̇² + q̇ b·ω,   b = n I a,
    τ = n² I q̈ + b·ω̇   on the coordinate,   n = q̈ b + ω × q̇ b   on the carrier,

the inertia forces, and M += n² I J_qᵀJ_q + J_qᵀ bᵀJ_ω + J_ωᵀ b J_q with q̇ = J_q s, ω = J_ω s.
Frame p may be on a flexible body, and q may be a coordinate of a cut joint.

Theory: docs/theory.md, section 56. Siciliano, Sciavicco, Villani and Oriolo, Robotics (2009),
section 7.1.1 (motors in the kinetic energy of a manipulator).
"""

from flexmbs._jit import called, part
from flexmbs.algebra.blocks import add_block
from flexmbs.algebra.small import ZERO3, add, cross, dot, load3_at, neg, scale, store3_at, store9_at
from flexmbs.dynamics.blocks import ON_B, clear_rows, frame_rows, relative_rows
from flexmbs.dynamics.frames import (
    apply_pair,
    apply_wrench,
    end_pose,
    frame_pose,
    frame_rates,
    frame_twist,
)


@part
def rotor_rate(system, work, k, s):
    """q̇ of the coordinate of rotor k; for a cut joint that of the last kinematics."""
    i, v = system.rotors.body[k], system.rotors.v[k]
    return s[system.tree.s_at[i] + v] if i >= 0 else work.cut.eta[system.rotors.cut[k], v]


@part
def rotor_growth(system, work, k, here):
    """q̈ of the coordinate of rotor k; for a cut joint that of the last kinematics."""
    i, v = system.rotors.body[k], system.rotors.v[k]
    if i >= 0:
        return here.sd[system.tree.s_at[i] + v]
    return work.cut.etad[system.rotors.cut[k], v]


@called
def rotor_loads(system, work, here):
    """τ = n² I q̈ + b·ω̇ and n = q̈ b + ω × q̇ b of all rotors, into work.rotor.

    The kinematics of ``here`` must be up to date.
    """
    rotors, rotor = system.rotors, work.rotor
    for k in range(rotors.body.shape[0]):
        rate, growth = rotor_rate(system, work, k, here.s), rotor_growth(system, work, k, here)
        m = rotors.frame[k]
        R, x = frame_pose(work.frames, m, here.q)
        store9_at(rotor.pair.Rb, k, 0, R)
        store3_at(rotor.pair.xb, k, 0, x)
        _, w, _, wd = frame_rates(work, system.gravity, m, (R, x), here)
        b = load3_at(rotors.spin, k, 0)
        rotor.load[k, 0] = rotors.reflected[k] * growth + dot(b, wd)
        store3_at(rotor.load, k, 1, add(scale(growth, b), cross(w, scale(rate, b))))


@called
def apply_rotors(system, work, q):
    """Subtract the inertia forces of the rotors from the applied forces."""
    rotors, rotor, cut = system.rotors, work.rotor, work.cut
    for k in range(rotors.body.shape[0]):
        tau = -rotor.load[k, 0]
        i, v = rotors.body[k], rotors.v[k]
        if i >= 0:
            work.force[system.tree.s_at[i] + v] += tau
        else:
            c = rotors.cut[k]
            force, moment = load3_at(cut.inverse, c, 6 * v), load3_at(cut.inverse, c, 6 * v + 3)
            apply_pair(work, cut.pair, c, q, scale(tau, force), scale(tau, moment))
        apply_wrench(
            work,
            rotors.frame[k],
            end_pose(rotor.pair, k, 0),
            q,
            ZERO3,
            neg(load3_at(rotor.load, k, 1)),
        )


@called
def rotor_blocks(system, work, q, factor):
    """factor (n² I J_qᵀJ_q + J_qᵀ bᵀJ_ω + J_ωᵀ b J_q) of all rotors into the blocks.

    `transmission` must be up to date.
    """
    rotors, e, P, out = system.rotors, system.elimination, work.B[ON_B], work.B[1]
    for k in range(rotors.body.shape[0]):
        first, last = rotors.path[k], rotors.path_end[k]
        body, v = rotors.body[k], rotors.v[k]
        rows = work.rows[:2]
        clear_rows(system, rows, first, last)
        if body >= 0:
            rows[0, system.tree.s_at[body] + v] = 1.0
        else:
            c = rotors.cut[k]
            for a in range(6):
                P[0, a] = work.cut.inverse[c, 6 * v + a]
            relative_rows(system, work, work.cut.pair, c, q, work.rows[:1])
        R, x = frame_pose(work.frames, rotors.frame[k], q)
        store9_at(work.rotor.pair.Rb, k, 0, R)
        store3_at(work.rotor.pair.xb, k, 0, x)
        store3_at(P, 0, 0, ZERO3)
        store3_at(P, 0, 3, load3_at(rotors.spin, k, 0))
        if dot(load3_at(P, 0, 3), load3_at(P, 0, 3)) > 0.0:
            frame_rows(system, work, work.rotor.pair, k, 0, q, work.rows[1:2])
        reflected = factor * rotors.reflected[k]
        for h in range(first, last):
            j = system.paths[h]
            to = system.tree.s_at[j]
            for l in range(first, h + 1):
                i = system.paths[l]
                # a coordinate of the tree belongs to one body: M couples it with the others, not
                # these with each other
                if body >= 0 and i != body and j != body:
                    continue
                at = system.tree.s_at[i]
                for a in range(e.size[i]):
                    for d in range(e.size[j]):
                        x0, y0 = rows[0, at + a], rows[0, to + d]
                        out[a, d] = reflected * x0 * y0 + factor * (
                            x0 * rows[1, to + d] + rows[1, at + a] * y0
                        )
                add_block(e, work.values, i, j, out, 1.0)


@part
def rotor_energy(system, work, k, q, s):
    """½ n² I q̇² + q̇ b·ω (J) of rotor k.

    Its kinetic energy less that which is part of its body's.
    """
    rate = rotor_rate(system, work, k, s)
    _, _, _, _, _, w = frame_twist(work.frames, work.motion, system.rotors.frame[k], q, s)
    return (
        0.5 * system.rotors.reflected[k] * rate + dot(load3_at(system.rotors.spin, k, 0), w)
    ) * rate

"""Contacts: gaps, their rates, rows and forces.

Between two frames a contact is three covectors on their relative twist V_rel (axes of frame b):
with the direction d (normal n, tangents t₁, t₂) and the position c of the contact point on b,

    γ_d = d · (v + ω × c) = (d, c × d) · V_rel = W_d s,   ġ = γ_N,   wrench on b: Σ_d (F_d d, F_d c × d + M_d d),

and its reaction on a, for a force (N, T₁, T₂) and the moments M_d of rolling and torsional
friction. A bound of a joint coordinate β is g = ±(β − bound) with γ = ±η.

User functions give g(X, t) of the relative pose X, or g(x, t) of joint coordinates x, and the row
(a | a₀) of γ_N = a · V_rel + a₀ or a · ẋ + a₀; a₀ = ∂g/∂t is the part w of γ = W s + w that does
not depend on s.

Theory: docs/theory.md, section 40. Acary and Brogliato, Numerical Methods for Nonsmooth Dynamical
Systems (2008), chapter 3; Pfeiffer and Glocker, Multibody Dynamics with Unilateral Contacts (1996),
the chapter on contact kinematics.
"""

import math

from flexmbs._jit import call_address, called, part
from flexmbs._jit.address import entry
from flexmbs.algebra.blocks import add_block
from flexmbs.algebra.small import ZERO3, add, cross, dot, load3_at, scale, store3_at, tmul
from flexmbs.dynamics.blocks import ON_B, add_terms, relative_rows
from flexmbs.dynamics.constraints import coupler_covector, six_apply
from flexmbs.dynamics.contact_laws import law_force, law_slopes
from flexmbs.dynamics.frames import apply_pair, end_pose, frame_twist, keep_poses, pose_between
from flexmbs.dynamics.joints import relative_pose, relative_twist
from flexmbs.dynamics.law_calls import call_law
from flexmbs.dynamics.shared_calls import call_shared
from flexmbs.dynamics.user_rows import call_with_pose
from flexmbs.system.records import (
    OF_BOUND,
    OF_COORDINATES,
    OF_FRICTION,
    OF_POSE,
)


@part
def motion_between(system, work, k, q, s):
    """Relative pose (R, r) and twist (v, ω) of the frames a and b of contact k.

    Motion of b relative to a in axes of b. The poses of the frames are stored.
    """
    contacts = system.contacts
    RA, rA, Ra, xa, va, wa = frame_twist(work.frames, work.motion, contacts.a[k], q, s)
    RB, rB, Rb, xb, vb, wb = frame_twist(work.frames, work.motion, contacts.b[k], q, s)
    Rr, xr = relative_pose(RA, rA, RB, rB)
    v, w, _, _ = relative_twist(Rr, xr, va, wa, vb, wb)
    keep_poses(work.contact.pair, k, (Ra, xa), (Rb, xb), (Rr, xr))
    return Rr, xr, v, w


@called
def between_frames(system, work, k, q, s):
    """Gap (m), velocities (γ_N, γ_T1, γ_T2) (m/s) and covectors (d, c × d) of a contact of frames.

    The kernel of its geometry (`flexmbs.model.contacts.contact.FrameContact`) gives g, n, t₁ and c
    in axes of a; t₂ = n × t₁. Theory, section 40.
    """
    contacts, contact, workspace = system.contacts, work.contact, work.laws
    Rr, xr, v, w = motion_between(system, work, k, q, s)
    for c in range(3):
        workspace.x[c] = xr[c]
    for c in range(9):
        workspace.x[3 + c] = Rr[c]
    call_law(contacts.geometry_index[k], contacts.geometry[k], workspace, 11, 0.0)
    out = workspace.out
    contact.gap[k] = out[0]
    contact.beside[k] = out[1]
    n = tmul(Rr, (out[2], out[3], out[4]))
    t = tmul(Rr, (out[5], out[6], out[7]))
    point = tmul(Rr, (out[8], out[9], out[10]))
    for c in range(3):
        d = n if c == 0 else t if c == 1 else cross(n, t)
        store3_at(contact.covectors, k, 6 * c, d)
        store3_at(contact.covectors, k, 6 * c + 3, cross(point, d))
        contact.velocity[k, c] = six_apply(contact.covectors, k, 6 * c, v, w)
        contact.turning[k, c] = dot(d, w)


@part
def own_row(contacts, k):
    """Local row of contact k on a joint coordinate: 0 for a bound, 1 for dry friction.

    Dry friction acts along the first tangent.
    """
    return 1 if contacts.geometry_kernel[k] == OF_FRICTION else 0


@called
def bounded_coordinate(system, work, k, q, s):
    """Gap ±(β − bound) and rate ±η of a bounded coordinate.

    For a cut joint also the covector ±C⁺ on the relative twist of its frames. For dry friction the
    gap is 0, and η and C⁺ are those of the first tangent.
    """
    contacts, contact, cut = system.contacts, work.contact, work.cut
    i = contacts.body[k]
    sign = system.contacts.sign[k]
    row = own_row(contacts, k)
    if i >= 0:
        x = q[system.tree.q_at[i] + contacts.q[k]]
        rate = s[system.tree.s_at[i] + contacts.v[k]]
    else:
        j = contacts.cut[k]
        x = work.beta[system.cuts.beta_at[j] + contacts.q[k]]
        rate = cut.eta[j, contacts.v[k]]
        keep_poses(
            contact.pair,
            k,
            end_pose(cut.pair, j, 1),
            end_pose(cut.pair, j, 0),
            pose_between(cut.pair, j),
        )
        for c in range(18):
            contact.covectors[k, c] = 0.0
        for c in range(6):
            contact.covectors[k, 6 * row + c] = sign * cut.inverse[j, 6 * contacts.v[k] + c]
    contact.gap[k] = sign * (x - system.contacts.bound[k]) if row == 0 else 0.0
    contact.velocity[k, row] = sign * rate


@called
def function_of_pose(system, work, k, t, q, s):
    """Gap, velocities and covectors of contact k by user functions of the relative pose.

    The functions give g, the row (d, m | a₀) of γ_N on (v, ω) in axes of a, and the rows of the
    slip. The latter are multiplied by |d|, so that Coulomb's law holds for the normal force N |d|.
    """
    contacts, contact, io = system.contacts, work.contact, work.io
    R, x, v, w = motion_between(system, work, k, q, s)
    call_with_pose(system.laws, io, contacts.function[k], t, (R, x))
    contact.gap[k] = io[1, 0]
    call_with_pose(system.laws, io, contacts.row_function[k], t, (R, x))
    rate_row(contact, k, 0, R, io, 0, 1.0)
    d = load3_at(contact.covectors, k, 0)
    size = math.sqrt(dot(d, d))
    if contacts.slip_function[k] >= 0:
        call_with_pose(system.laws, io, contacts.slip_function[k], t, (R, x))
        rate_row(contact, k, 1, R, io, 0, size)
        rate_row(contact, k, 2, R, io, 7, size)
    for c in range(3):
        contact.velocity[k, c] = six_apply(contact.covectors, k, 6 * c, v, w) + contact.moving[k, c]


@part
def rate_row(contact, k, c, R, io, at, factor):
    """Row c of contact k from a user function, as a covector in the axes of b.

    ``factor`` times (d, m | a₀) of io[1, at …], given in axes of a.
    """
    store3_at(contact.covectors, k, 6 * c, scale(factor, tmul(R, load3_at(io, 1, at))))
    store3_at(contact.covectors, k, 6 * c + 3, scale(factor, tmul(R, load3_at(io, 1, at + 3))))
    contact.moving[k, c] = factor * io[1, at + 6]


@called
def function_of_coordinates(system, work, k, t, q, s):
    """Gap g(t, x), rate a · ẋ + a₀ and factors a of contact k by user functions.

    x: joint coordinates.
    """
    contacts, contact, terms, io = system.contacts, work.contact, system.contacts.terms, work.io
    first, n = contacts.first[k], contacts.end[k] - contacts.first[k]
    io[0, 0] = t
    for i in range(n):
        body, cut = terms.body[first + i], terms.cut[first + i]
        if body >= 0:
            io[0, 1 + i] = q[system.tree.q_at[body] + terms.q[first + i]]
        else:
            io[0, 1 + i] = work.beta[system.cuts.beta_at[cut] + terms.q[first + i]]
    call_address(system.laws.address[contacts.function[k]], io[0], io[1])
    contact.gap[k] = io[1, 0]
    call_address(system.laws.address[contacts.row_function[k]], io[0], io[1])
    contact.moving[k, 0] = io[1, n]
    contact.velocity[k, 0] = io[1, n]
    for i in range(n):
        contact.factor[first + i] = io[1, i]
        body, cut = terms.body[first + i], terms.cut[first + i]
        if body >= 0:
            contact.velocity[k, 0] += io[1, i] * s[system.tree.s_at[body] + terms.v[first + i]]
        else:
            contact.velocity[k, 0] += io[1, i] * work.cut.eta[cut, terms.v[first + i]]


@called
def contact_kinematics(system, work, t, q, s):
    """g, γ_N, γ_T and covectors of all contacts, into work.contact.

    The kinematics of (q, s) at t must be up to date. Theory, section 40.
    """
    for k in range(system.contacts.a.shape[0]):
        # frictionless contacts have no slip velocity; bounds that do not move have no own velocity
        for c in range(3):
            work.contact.velocity[k, c] = work.contact.moving[k, c] = 0.0
        kernel = system.contacts.geometry_kernel[k]
        if kernel >= 0:
            between_frames(system, work, k, q, s)
        elif kernel == OF_POSE:
            function_of_pose(system, work, k, t, q, s)
        elif kernel == OF_COORDINATES:
            function_of_coordinates(system, work, k, t, q, s)
        else:
            bounded_coordinate(system, work, k, q, s)


@called
def contact_force(system, work, k, q):
    """Add the force (N, T₁, T₂) and the moments of contact k to the applied forces.

    They are taken from work.contact: Σ_d (F_d d, F_d c × d + M_d d) on b. The covectors must be up
    to date.
    """
    contacts, contact, terms = system.contacts, work.contact, system.contacts.terms
    for j in range(contacts.first[k], contacts.end[k]):
        y = contact.force[k, 0]
        if terms.body[j] >= 0:
            work.force[system.tree.s_at[terms.body[j]] + terms.v[j]] += contact.factor[j] * y
        else:
            cf, cn = coupler_covector(terms, contact.factor, work.cut, j)
            apply_pair(work, work.cut.pair, terms.cut[j], q, scale(y, cf), scale(y, cn))
    if contacts.geometry_kernel[k] == OF_COORDINATES:
        return
    i = contacts.body[k]
    if i >= 0:
        work.force[system.tree.s_at[i] + contacts.v[k]] += (
            system.contacts.sign[k] * contact.force[k, own_row(contacts, k)]
        )
        return
    f = ZERO3
    n = ZERO3
    for c in range(3):
        y = contact.force[k, c]
        f = add(f, scale(y, load3_at(contact.covectors, k, 6 * c)))
        n = add(n, scale(y, load3_at(contact.covectors, k, 6 * c + 3)))
        if contacts.turn_rate[k] > 0.0:
            n = add(n, scale(contact.moment[k, c], load3_at(contact.covectors, k, 6 * c)))
    apply_pair(work, contact.pair, k, q, f, n)


@part
def law_forces(system, work, slopes):
    """Forces of the contacts with laws, into work.contact.

    Their kinematics must be up to date. The force of a stop acts as a joint force.
    """
    contacts = system.contacts
    for k in range(contacts.a.shape[0]):
        if contacts.law_kernel[k] >= 0:
            forces, loss = work.power.forces, work.power.loss
            law_force(system.contacts, work.contact, work.laws, work.power, k)
            if contacts.geometry_kernel[k] == OF_BOUND:
                # the joint force of a stop adds its own power, in `flexmbs.dynamics.joint_forces`
                work.power.forces = forces
                work.power.loss = loss
                continue
            # power input by the moving bound of a user function: N γ_N minus N w acts on the bodies
            for c in range(3):
                work.power.drives -= work.contact.force[k, c] * work.contact.moving[k, c]
            if slopes:
                law_slopes(system.contacts, work.contact, work.laws, work.slopes, k)


@part
def given_contact_forces(system, work):
    """work.contact ← forces of rigid contacts stored in the path variables.

    Returns True if a contact may have a force.
    """
    acting = False
    for k in range(system.contacts.a.shape[0]):
        acting = acting or system.contacts.law_kernel[k] >= 0
        for c in range(3):
            work.contact.force[k, c] = work.path.force[k, c]
            acting = acting or work.path.force[k, c] != 0.0
    return acting


@entry
def contact_forces_at(model, here, /, t, slopes):
    """Kernel that adds the forces (N, T₁, T₂) of all contacts to the applied forces.

    Forces of rigid contacts are given, those of others follow from their laws.
    """
    system, work = model.system, model.work
    if given_contact_forces(system, work):
        contact_kinematics(system, work, t, here.q, here.s)
        law_forces(system, work, slopes != 0.0)
        for k in range(system.contacts.a.shape[0]):
            if system.contacts.law_kernel[k] < 0 or system.contacts.geometry_kernel[k] != OF_BOUND:
                contact_force(system, work, k, here.q)
    return 0


@part
def apply_contact_forces(system, work, t, here, slopes):
    """Call `contact_forces_at` if there are contacts."""
    if work.calls.contact_forces >= 0:
        call_shared(system, work, work.calls.contact_forces, here, t, 1.0 if slopes else 0.0, 0.0)


@part
def row_of_coordinates(system, work, k, q, rows):
    """rows[0] += ∂γ_N/∂s = Σ aᵢ ∂ẋᵢ/∂s of contact k by user functions of joint coordinates."""
    contacts = system.contacts
    add_terms(
        system,
        work,
        q,
        (contacts.terms, work.contact.factor),
        (contacts.first[k], contacts.end[k]),
        rows[:1],
    )


@called
def contact_rows(system, work, k, q, rows):
    """rows (3, ns) = W = ∂(γ_N, γ_T1, γ_T2)/∂s of contact k.

    Its covectors and the transmission of the bodies must be up to date. Theory, section 40.
    """
    contacts, contact = system.contacts, work.contact
    for c in range(3):
        for a in range(rows.shape[1]):
            rows[c, a] = 0.0
    if contacts.geometry_kernel[k] == OF_COORDINATES:
        row_of_coordinates(system, work, k, q, rows)
        return
    i = contacts.body[k]
    if i >= 0:
        rows[own_row(contacts, k), system.tree.s_at[i] + contacts.v[k]] = system.contacts.sign[k]
        return
    for c in range(3):
        for a in range(6):
            work.B[ON_B, c, a] = contact.covectors[k, 6 * c + a]
    relative_rows(system, work, contact.pair, k, q, rows)


@called
def function_blocks(system, work, q, damping):
    """Add stiffness and damping of user-defined contacts to the blocks: Jᵀ (k + damping k_r) J.

    For contacts by user functions of joint coordinates with a force law.
    """
    contacts, paths, e, tree = system.contacts, system.paths, system.elimination, system.tree
    block, rows = work.B[1], work.rows[:3]
    for k in range(contacts.a.shape[0]):
        if contacts.geometry_kernel[k] != OF_COORDINATES or contacts.law_kernel[k] < 0:
            continue
        slope = work.contact.slope[k, 0] + damping * work.contact.slope[k, 1]
        contact_rows(system, work, k, q, rows)
        for h in range(contacts.path[k], contacts.path_end[k]):
            j = paths[h]
            for l in range(contacts.path[k], h + 1):
                i = paths[l]
                for a in range(e.size[i]):
                    for c in range(e.size[j]):
                        block[a, c] = slope * rows[0, tree.s_at[i] + a] * rows[0, tree.s_at[j] + c]
                add_block(e, work.values, i, j, block, 1.0)

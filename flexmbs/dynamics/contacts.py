"""Contacts: gaps, their rates, rows and forces.

Between two frames a contact is three covectors on their relative twist V_rel (axes of frame b): with the direction d (normal n,
tangents t₁, t₂) and the position c of the contact point on b,

    γ_d = d · (v + ω × c) = (d, c × d) · V_rel = W_d s,   ġ = γ_N,   wrench on b: Σ_d F_d (d, c × d),

and its reaction on a, for a force (N, T₁, T₂). A bound of a joint coordinate β is g = ±(β − bound) with γ = ±η.

Theory: docs/theory.md, section 40. Acary and Brogliato, Numerical Methods for Nonsmooth Dynamical Systems (2008), chapter 3;
Pfeiffer and Glocker, Multibody Dynamics with Unilateral Contacts (1996), the chapter on contact kinematics.
"""

from flexmbs._jit import called, part
from flexmbs.algebra.small import ZERO3, add, cross, load3_at, scale, store3_at, tmul
from flexmbs.dynamics.blocks import ON_B, relative_rows
from flexmbs.dynamics.constraints import six_apply
from flexmbs.dynamics.contact_laws import law_force, law_slopes
from flexmbs.dynamics.frames import apply_pair, end_pose, frame_twist, keep_poses, pose_between
from flexmbs.dynamics.joints import relative_pose, relative_twist
from flexmbs.dynamics.law_calls import call_law
from flexmbs.system.records import POWER_FORCES, POWER_LOSS


@called
def between_frames(system, work, k, q, s):
    """Gap (m), velocities (γ_N, γ_T1, γ_T2) (m/s) and covectors (d, c × d) of contact k between frames (theory, section 40).

    The kernel of its geometry (`flexmbs.model.contacts.contact.FrameContact`) gives g, n, t₁ and c in axes of a; t₂ = n × t₁.
    """
    contacts, contact, workspace = system.contacts, work.contact, work.laws
    RA, rA, Ra, xa, va, wa = frame_twist(work.frames, work.motion, contacts.a[k], q, s)
    RB, rB, Rb, xb, vb, wb = frame_twist(work.frames, work.motion, contacts.b[k], q, s)
    Rr, xr = relative_pose(RA, rA, RB, rB)
    v, w, _, _ = relative_twist(Rr, xr, va, wa, vb, wb)
    keep_poses(contact.pair, k, (Ra, xa), (Rb, xb), (Rr, xr))
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


@called
def bounded_coordinate(system, work, k, q, s):
    """Gap ±(β − bound) and its rate ±η of a bounded coordinate; of a cut joint the covector ±C⁺ on its frames' relative twist."""
    contacts, contact, cut = system.contacts, work.contact, work.cut
    i = contacts.body[k]
    sign = system.contacts.sign[k]
    if i >= 0:
        x = q[system.tree.q_at[i] + contacts.q[k]]
        rate = s[system.tree.s_at[i] + contacts.v[k]]
    else:
        j = contacts.cut[k]
        x = work.beta[system.cuts.beta_at[j] + contacts.q[k]]
        rate = cut.eta[j, contacts.v[k]]
        keep_poses(contact.pair, k, end_pose(cut.pair, j, 1), end_pose(cut.pair, j, 0), pose_between(cut.pair, j))
        for c in range(6):
            contact.covectors[k, c] = sign * cut.inverse[j, 6 * contacts.v[k] + c]
    contact.gap[k] = sign * (x - system.contacts.bound[k])
    contact.velocity[k, 0] = sign * rate


@called
def contact_kinematics(system, work, q, s):
    """g, γ_N, γ_T and covectors of all contacts into work.contact; the kinematics of (q, s) are up to date.

    Theory, section 40.
    """
    for k in range(system.contacts.a.shape[0]):
        if system.contacts.geometry_kernel[k] < 0:
            bounded_coordinate(system, work, k, q, s)
        else:
            between_frames(system, work, k, q, s)


@called
def contact_force(system, work, k, q):
    """Add the force (N, T₁, T₂) of contact k in work.contact to the applied forces: Σ_d F_d (d, c × d) on b.

    Its covectors are up to date.
    """
    contacts, contact = system.contacts, work.contact
    i = contacts.body[k]
    if i >= 0:
        work.force[system.tree.s_at[i] + contacts.v[k]] += system.contacts.sign[k] * contact.force[k, 0]
        return
    f = ZERO3
    n = ZERO3
    for c in range(3):
        y = contact.force[k, c]
        f = add(f, scale(y, load3_at(contact.covectors, k, 6 * c)))
        n = add(n, scale(y, load3_at(contact.covectors, k, 6 * c + 3)))
    apply_pair(work, contact.pair, k, q, f, n)


@part
def law_forces(system, work, slopes):
    """Forces of the contacts with laws into work.contact; their kinematics are up to date.

    That of a stop acts as a joint force.
    """
    contacts = system.contacts
    for k in range(contacts.a.shape[0]):
        if contacts.law_kernel[k] >= 0:
            forces, loss = work.power[POWER_FORCES], work.power[POWER_LOSS]
            law_force(system.contacts, work.contact, work.laws, work.power, k)
            if contacts.geometry_kernel[k] < 0:
                # the joint force of a stop adds its own power, in `flexmbs.dynamics.forces.joint_forces`
                work.power[POWER_FORCES] = forces
                work.power[POWER_LOSS] = loss
            elif slopes:
                law_slopes(system.contacts, work.contact, work.laws, work.slopes, k)


@part
def given_contact_forces(system, work):
    """The forces of rigid contacts that the path of the motion holds, into work.contact; true where a contact may have one."""
    acting = False
    for k in range(system.contacts.a.shape[0]):
        acting = acting or system.contacts.law_kernel[k] >= 0
        for c in range(3):
            work.contact.force[k, c] = work.path.force[k, c]
            acting = acting or work.path.force[k, c] != 0.0
    return acting


@called
def apply_contact_forces(system, work, q, s, slopes):
    """Forces (N, T₁, T₂) of the contacts into the applied forces: of rigid ones those given, of others by their laws."""
    if given_contact_forces(system, work):
        contact_kinematics(system, work, q, s)
        law_forces(system, work, slopes)
        for k in range(system.contacts.a.shape[0]):
            if system.contacts.law_kernel[k] < 0 or system.contacts.geometry_kernel[k] >= 0:
                contact_force(system, work, k, q)


@called
def contact_rows(system, work, k, q, rows):
    """rows (3, ns) = W = ∂(γ_N, γ_T1, γ_T2)/∂s of contact k.

    Its covectors and the transmission of the bodies are up to date. Theory, section 40.
    """
    contacts, contact = system.contacts, work.contact
    for c in range(3):
        for a in range(rows.shape[1]):
            rows[c, a] = 0.0
    i = contacts.body[k]
    if i >= 0:
        rows[0, system.tree.s_at[i] + contacts.v[k]] = system.contacts.sign[k]
        return
    for c in range(3):
        for a in range(6):
            work.B[ON_B, c, a] = contact.covectors[k, 6 * c + a]
    relative_rows(system, work, contact.pair, k, q, rows)

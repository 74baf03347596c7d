"""Inertia of one body from its shape integrals.

With u = x + φ q_f in body axes, c = ∫u dm, P = ∫u uᵀ dm and 𝒩 = ∫u u̇ᵀ dm, the mass matrix in y =
(v, ω, q̇_f) is

    𝓜 = [[m 1, −c̃, S̄], [c̃, Θ, Ī_f], [S̄ᵀ, Ī_fᵀ, m_ff]],  Θ = tr(P) 1 − P,  S̄ = ∫φ dm,  Ī_f = ∫ũ
    φ dm,  m_ff = ∫φᵀφ dm,

and the inertia wrench (f, n) and modal forces r are, with a = v̇ + ω × v,

    f   = m a + ω̇ × c + ω × (ω × c) + 2 ω × S̄ q̇_f + S̄ q̈_f,
    n   = c × a + Θ ω̇ + ω × Θ ω + 2 (tr(𝒩) ω − 𝒩ᵀ ω) + Ī_f q̈_f,
    r_k = S̄_k · a + Ī_fk · ω̇ + ∫φ_k · (ω × (ω × u)) dm + 2 ∫φ_k · (ω × u̇) dm + (m_ff q̈_f)_k.

Without the terms of v̇, ω̇ and q̈_f these are −Q_v, the quadratic velocity vector. All that depends
on q_f is in the products U[(3a+b) F + k] = ∫u_a φ_bk dm = ∫x_a φ_bk dm + Σ_l q_l ∫φ_al φ_bk dm,
formed once per evaluation: no loop over nodes.

Second-order displacements make it u = x + φ q_f + ψ z(q_f), with z quadratic in q_f: the body moves
on a quadratic manifold in the space of the modes [φ ψ]. All terms are those of a linear body with
these modes at η = (q_f, z), projected by J = ∂η/∂q_f, M = Jᵀ M(η) J and r = Jᵀ r(η): a Gram matrix,
and positive definite, at any deflection (`flexmbs.dynamics.second_order`). The forces are
Lagrange's of this kinetic energy, hence the energy balance is exact. Sums over k below are over all
columns [φ ψ].

Theory: docs/theory.md, sections 4 to 8. Shabana, Dynamics of Multibody Systems (2020), chapter 5
(mass matrix and quadratic velocity vector of the floating frame of reference); Wallrapp (1994),
Mech. Struct. Mach. 22, 283 (shape integrals); Wallrapp and Schwertassek (1991), Arch. Appl. Mech.
61, 428 (second-order displacements); Jain, Tiso, Rutzmoser and Rixen (2017), Computers & Structures
188, 80 (equations of motion projected on a quadratic manifold).
"""

from flexmbs._jit import part
from flexmbs.algebra.small import add, cross, dot, load3_at, load9_at, mul, scale, store3_at, sub
from flexmbs.dynamics.second_order import (
    add_field_mass,
    add_rows,
    field_amounts,
    field_rates,
    fold_rigid_rows,
    folded,
    places,
    rigid_coupling,
)
from flexmbs.system.records import CENTRE, GYROSCOPIC, MOMENT


@part
def shape_products(bodies, i, n, q, at, U):
    """Shape products of body i into U, with c = ∫u dm (kg m) and Θ (kg m²).

    U ← η, then U[(3a+b) F + k] = ∫u_a φ_bk dm; Θ = tr(P) 1 − P. ``q`` holds the n elastic
    coordinates from q[at] on. Theory, sections 5 and 8.
    """
    F = bodies.quadratic.shape[1]
    of = bodies.integrals[i]
    c = load3_at(bodies.first, i, 0)
    P = load9_at(bodies.second, i, 0)
    if n > 0:
        eta, _, _, _, _, _ = places(bodies)
        columns = n + bodies.n_fields[i]
        for k in range(n):
            U[eta + k] = q[at + k]
        if columns > n:
            field_amounts(bodies, i, n, U)
        for j in range(MOMENT * F):
            U[j] = bodies.linear[of, j]
        add_rows(bodies.quadratic[of], columns, U, eta, (0, MOMENT * F), 0)
        c, P = moments(bodies, i, columns, U, c, P)
    o = CENTRE * F
    U[o], U[o + 1], U[o + 2] = c[0], c[1], c[2]
    xx, xy, xz, _, yy, yz, _, _, zz = P
    U[o + 3], U[o + 4], U[o + 5] = yy + zz, -xy, -xz
    U[o + 6], U[o + 7], U[o + 8] = -xy, xx + zz, -yz
    U[o + 9], U[o + 10], U[o + 11] = -xz, -yz, xx + yy


@part
def moments(bodies, i, columns, U, c, P):
    """Moments c and P of the deformed body i from its modes and shape integrals.

    c + Σ_k η_k ∫φ_k dm and P_ab + ½ Σ_k η_k ∫((x_a + u_a) φ_bk + (x_b + u_b) φ_ak) dm: half the sum
    of the products with x and with u = x + w gives x wᵀ, w xᵀ and w wᵀ.
    """
    eta, _, _, _, _, _ = places(bodies)
    F = bodies.quadratic.shape[1]
    of = bodies.integrals[i]
    xx, xy, xz, _, yy, yz, _, _, zz = P
    c0, c1, c2 = c
    for k in range(columns):
        f = U[eta + k]
        h = 0.5 * f
        c0 += f * bodies.linear[of, MOMENT * F + k]
        c1 += f * bodies.linear[of, (MOMENT + 1) * F + k]
        c2 += f * bodies.linear[of, (MOMENT + 2) * F + k]
        xx += f * (bodies.linear[of, k] + U[k])
        xy += h * (
            bodies.linear[of, 1 * F + k]
            + bodies.linear[of, 3 * F + k]
            + U[1 * F + k]
            + U[3 * F + k]
        )
        xz += h * (
            bodies.linear[of, 2 * F + k]
            + bodies.linear[of, 6 * F + k]
            + U[2 * F + k]
            + U[6 * F + k]
        )
        yy += f * (bodies.linear[of, 4 * F + k] + U[4 * F + k])
        yz += h * (
            bodies.linear[of, 5 * F + k]
            + bodies.linear[of, 7 * F + k]
            + U[5 * F + k]
            + U[7 * F + k]
        )
        zz += f * (bodies.linear[of, 8 * F + k] + U[8 * F + k])
    return (c0, c1, c2), (xx, xy, xz, xy, yy, yz, xz, yz, zz)


@part
def centre_and_inertia(bodies, U):
    """c = ∫u dm (3) in kg m and Θ (nine numbers, row-major) in kg m², from U.

    `shape_products` has stored them there.
    """
    o = CENTRE * bodies.quadratic.shape[1]
    theta = (
        U[o + 3],
        U[o + 4],
        U[o + 5],
        U[o + 6],
        U[o + 7],
        U[o + 8],
        U[o + 9],
        U[o + 10],
        U[o + 11],
    )
    return (U[o], U[o + 1], U[o + 2]), theta


@part
def shape_rates(bodies, tree, i, s, sd, U):
    """Rates of body i into U, as gyroscopic forces need them.

    η̇ and η̈, the sums Σ_l η̇_l ∫φ_l × φ_k dm, and the loads of the fields' own mass.
    """
    n, to = tree.nf[i], tree.sf_at[i]
    F = bodies.quadratic.shape[1]
    of = bodies.integrals[i]
    _, rates, accelerations, loads, _, _ = places(bodies)
    for k in range(n):
        U[rates + k] = s[to + k]
        U[accelerations + k] = sd[to + k]
        U[loads + k] = 0.0
    columns = n + bodies.n_fields[i]
    if columns > n:
        field_rates(bodies, i, n, U)
    for j in range(GYROSCOPIC * F, CENTRE * F):
        U[j] = 0.0
    add_rows(bodies.quadratic[of], columns, U, rates, (GYROSCOPIC * F, CENTRE * F), 0)


@part
def modal_matrices(bodies, tree, i, here):
    """here.r += m_ff q̈_f + D_ff q̇_f + K_ff q_f of body i.

    The matrices (nf, nf) are symmetric (theory, section 7).
    """
    n, at, to = tree.nf[i], tree.qf_at[i], tree.sf_at[i]
    q, s, sd, r = here.q, here.s, here.sd, here.r
    if bodies.diagonal[i] == 1:
        for k in range(n):
            r[to + k] += (
                bodies.m_ff[i, k, k] * sd[to + k]
                + bodies.d_ff[i, k, k] * s[to + k]
                + bodies.k_ff[i, k, k] * q[at + k]
            )
        return
    for l in range(n):
        for k in range(n):
            r[to + k] += (
                bodies.m_ff[i, l, k] * sd[to + l]
                + bodies.d_ff[i, l, k] * s[to + l]
                + bodies.k_ff[i, l, k] * q[at + l]
            )


@part
def deformation_sums(bodies, i, columns, U, frame):
    """Sums 𝒩, S̄ q̇, S̄ q̈ and Ī_f q̈ over the modes of body i, and modal loads into U.

        S̄_k·a + Ī_fk·ω̇ + ∫φ_k·(ω×(ω×u)) + 2∫φ_k·(ω×u̇)

    columns: number of modes and fields. frame: (ω, ω̇, a). Theory, sections 6 to 8.
    """
    F = bodies.quadratic.shape[1]
    of = bodies.integrals[i]
    w, wd, a = frame
    _, rates, accelerations, loads, _, _ = places(bodies)
    w2 = dot(w, w)
    # ω × (ω × u) = (ω ωᵀ − ω² 1) u: one symmetric matrix serves the centrifugal forces of all modes
    xx, xy, xz = w[0] * w[0] - w2, w[0] * w[1], w[0] * w[2]
    yy, yz, zz = w[1] * w[1] - w2, w[1] * w[2], w[2] * w[2] - w2
    n0, n1, n2, n3, n4, n5, n6, n7, n8 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    fx, fy, fz, mx, my, mz, vx, vy, vz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(columns):
        qd = U[rates + k]
        qdd = U[accelerations + k]
        n0 += U[k] * qd
        n1 += U[1 * F + k] * qd
        n2 += U[2 * F + k] * qd
        n3 += U[3 * F + k] * qd
        n4 += U[4 * F + k] * qd
        n5 += U[5 * F + k] * qd
        n6 += U[6 * F + k] * qd
        n7 += U[7 * F + k] * qd
        n8 += U[8 * F + k] * qd
        S0, S1, S2 = (
            bodies.linear[of, MOMENT * F + k],
            bodies.linear[of, (MOMENT + 1) * F + k],
            bodies.linear[of, (MOMENT + 2) * F + k],
        )
        I0, I1, I2 = (
            U[5 * F + k] - U[7 * F + k],
            U[6 * F + k] - U[2 * F + k],
            U[1 * F + k] - U[3 * F + k],
        )
        vx += S0 * qd
        vy += S1 * qd
        vz += S2 * qd
        fx += S0 * qdd
        fy += S1 * qdd
        fz += S2 * qdd
        mx += I0 * qdd
        my += I1 * qdd
        mz += I2 * qdd
        centrifugal = (
            xx * U[k]
            + yy * U[4 * F + k]
            + zz * U[8 * F + k]
            + xy * (U[1 * F + k] + U[3 * F + k])
            + xz * (U[2 * F + k] + U[6 * F + k])
            + yz * (U[5 * F + k] + U[7 * F + k])
        )
        g = GYROSCOPIC * F + k
        # ∫φ_k·(ω × u̇) dm = ω · ∫u̇ × φ_k dm, the sums that `shape_rates` has formed
        turning = 2.0 * (w[0] * U[g] + w[1] * U[g + F] + w[2] * U[g + 2 * F])
        U[loads + k] += (
            S0 * a[0]
            + S1 * a[1]
            + S2 * a[2]
            + I0 * wd[0]
            + I1 * wd[1]
            + I2 * wd[2]
            + centrifugal
            + turning
        )
    return (n0, n1, n2, n3, n4, n5, n6, n7, n8), (vx, vy, vz), (fx, fy, fz), (mx, my, mz)


@part
def inertia_force(system, work, i, here, U):
    """Inertia wrench (f, n) of body i into work.motion, and modal forces into here.r.

    𝓜 (V̇, q̈_f) − Q_v, plus the elastic forces K_ff q_f + D_ff q̇_f:

        f = m a + ω̇×c + ω×(ω×c) + 2ω×S̄q̇ + S̄q̈,   a = v̇ + ω×v
        n = c×a + Θω̇ + ω×Θω + 2(tr(𝒩)ω − 𝒩ᵀω) + Ī_f q̈
        r_k = S̄_k·a + Ī_fk·ω̇ + ∫φ_k·(ω×(ω×u)) + 2∫φ_k·(ω×u̇) + m_ff q̈

    With fields ψ everything is in η, and the modal forces are Jᵀ r. N and N m about the origin of
    the body frame, body axes; v̇ contains the −g of the ground, so that weight is included in f, n
    and r. Theory, sections 6 to 8; Shabana, Dynamics of Multibody Systems (2020), chapter 5.
    """
    bodies, tree, motion, r = system.bodies, system.tree, work.motion, here.r
    at = tree.qf_at[i]
    to = tree.sf_at[i]
    n = tree.nf[i]
    w = load3_at(motion.twist, i, 3)
    wd = load3_at(motion.acceleration, i, 3)
    a = add(load3_at(motion.acceleration, i, 0), cross(w, load3_at(motion.twist, i, 0)))
    shape_products(bodies, i, n, here.q, at, U)
    c, theta = centre_and_inertia(bodies, U)
    f = add(scale(bodies.mass[i], a), add(cross(wd, c), cross(w, cross(w, c))))
    m = add(cross(c, a), add(mul(theta, wd), cross(w, mul(theta, w))))
    if n > 0:
        _, _, _, loads, _, _ = places(bodies)
        shape_rates(bodies, tree, i, here.s, here.sd, U)
        N, moving, pushing, turning = deformation_sums(
            bodies, i, n + bodies.n_fields[i], U, (w, wd, a)
        )
        for k in range(n):
            r[to + k] += U[loads + k]
        # loads on the fields act on the modes through z(q): Jᵀ r = r_φ + Tᵀ r_ψ
        if bodies.n_fields[i] > 0:
            folded(bodies, i, n, U, loads + n, r, to)
        modal_matrices(bodies, tree, i, here)
        tr = N[0] + N[4] + N[8]
        nw = (
            N[0] * w[0] + N[3] * w[1] + N[6] * w[2], N[1] * w[0] + N[4] * w[1] + N[7] * w[2],
            N[2] * w[0] + N[5] * w[1] + N[8] * w[2],
        )  # fmt: skip
        f = add(f, add(scale(2.0, cross(w, moving)), pushing))
        m = add(m, add(scale(2.0, sub(scale(tr, w), nw)), turning))
    store3_at(motion.wrench, i, 0, f)
    store3_at(motion.wrench, i, 3, m)


@part
def mass_matrix(bodies, tree, i, q, U, M):
    """𝓜 of body i, M[i, :6+nf, :6+nf] in (V, q̇_f).

        [[m 1, −c̃, S̄], [c̃, Θ, Ī_f], [S̄ᵀ, Ī_fᵀ, m_ff]]

    With second-order displacements M_ff = m_ff − mᵀm + TᵀT, and the coupling to the twist is M[:6,
    φ] + M[:6, ψ] T. Theory, sections 5 and 8.
    """
    n = tree.nf[i]
    shape_products(bodies, i, n, q, tree.qf_at[i], U)
    rigid_mass_rows(bodies, tree, i, U, M)
    for k in range(n):
        for l in range(n):
            M[i, 6 + k, 6 + l] = bodies.m_rest[i, k, l]
    if bodies.n_fields[i] > 0:
        add_field_mass(bodies, i, n, 1.0, U, M)
    for k in range(n):
        for a in range(6 + k):
            M[i, 6 + k, a] = M[i, a, 6 + k]


@part
def rigid_mass_rows(bodies, tree, i, U, M):
    """The six upper rows of 𝓜 of body i, [m 1, −c̃, S̄] and [c̃, Θ, Ī_f].

    From its shape products U (theory, section 5).
    """
    n = tree.nf[i]
    c, theta = centre_and_inertia(bodies, U)
    for a in range(3):
        for b in range(3):
            M[i, a, b] = bodies.mass[i] if a == b else 0.0
            M[i, 3 + a, 3 + b] = theta[3 * a + b]
    ct = (0.0, -c[2], c[1], c[2], 0.0, -c[0], -c[1], c[0], 0.0)
    for a in range(3):
        for b in range(3):
            M[i, 3 + a, b] = ct[3 * a + b]
            M[i, b, 3 + a] = ct[3 * a + b]
    for a in range(6):
        for k in range(n):
            M[i, a, 6 + k] = rigid_coupling(bodies, i, a, k, U)
    if bodies.n_fields[i] > 0:
        fold_rigid_rows(bodies, i, n, M, U)


@part
def body_energy(system, work, i, q, s):
    """Kinetic, strain and gravity energy (J) of body i.

    T = ½ yᵀ𝓜 y, ½ q_fᵀ K_ff q_f and −g·(m r + A c) (theory, section 7).
    """
    bodies, tree, motion, gravity, U = (
        system.bodies,
        system.tree,
        work.motion,
        system.gravity,
        work.U,
    )
    at = tree.qf_at[i]
    to = tree.sf_at[i]
    n = tree.nf[i]
    v = load3_at(motion.twist, i, 0)
    w = load3_at(motion.twist, i, 3)
    shape_products(bodies, i, n, q, at, U)
    c, theta = centre_and_inertia(bodies, U)
    kinetic = 0.5 * bodies.mass[i] * dot(v, v) + dot(v, cross(w, c)) + 0.5 * dot(w, mul(theta, w))
    strain = 0.0
    if n > 0:
        _, rates, _, _, _, _ = places(bodies)
        # accelerations do not matter here: the velocities are passed in their place
        shape_rates(bodies, tree, i, s, s, U)
        columns = n + bodies.n_fields[i]
        for k in range(columns):
            for a in range(3):
                kinetic += U[rates + k] * rigid_coupling(bodies, i, a, k, U) * v[a]
                kinetic += U[rates + k] * rigid_coupling(bodies, i, 3 + a, k, U) * w[a]
        for k in range(n):
            for l in range(n):
                kinetic += 0.5 * s[to + k] * bodies.m_rest[i, k, l] * s[to + l]
                strain += 0.5 * q[at + k] * bodies.k_ff[i, k, l] * q[at + l]
        for k in range(n, columns):
            kinetic += 0.5 * U[rates + k] * U[rates + k]
    world = add(scale(bodies.mass[i], load3_at(motion.x, i, 0)), mul(load9_at(motion.A, i, 0), c))
    g = (gravity[0], gravity[1], gravity[2])
    return kinetic, strain, -dot(g, world)

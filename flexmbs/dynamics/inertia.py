"""Inertia of one body from its shape integrals (theory §1; Shabana 2020, ch. 5; Wallrapp 1994).

With u = x + φ q in body axes: U[(3a+b) F + k] = ∫u_a φ_bk dm carries everything that depends on q:
P = ∫u uᵀ dm, Θ = tr(P) 1 − P, Īf = ∫ũ φ dm, N = ∫u u̇ᵀ dm. No loop over nodes.

Geometric stiffness makes it u = x + φ q + ψ z(q), z_r = ½ qᵀ C_r q: the second-order displacement that goes with q (a bent beam is
shorter) in a few fields ψ. With Z_rk = (C_r q)_k the body moves on a quadratic manifold in the space of the modes [φ ψ]:
∂u/∂q_k = φ_k + Σ_r ψ_r Z_rk stands for φ_k throughout, and ü has the term ψ_r q̇ᵀ C_r q̇. All terms are those of a linear body with
the modes [φ ψ] at η = (q, z), projected by J = [1; Z], M = Jᵀ M(η) J: a Gram matrix at any deflection, hence positive definite. All
forces follow from this kinetic energy by Lagrange's equations, and the energy balance is exact (`second_order`).
Sources: Wallrapp and Schwertassek, Archive of Applied Mechanics 61 (1991) 428, for the second-order displacements; Jain, Tiso,
Rutzmoser and Rixen, Computers & Structures 188 (2017) 80, for equations of motion projected on a quadratic manifold.
"""

from flexmbs._jit import part
from flexmbs.algebra.small import add, cross, dot, load3_at, load9_at, mul, scale, store3_at, sub
from flexmbs.dynamics.second_order import (
    add_field_mass, add_products, field_energy, field_forces, field_products, fold_products, places,
)  # fmt: skip
from flexmbs.system.records import (
    ACC, CENTRE, D_FF, DIAGONAL_MODES, FIELDS, FIRST, GYROSCOPIC, K_FF, M_FF, MASS, MOMENT, NF, POS, QF_AT, ROT, SECOND, SF_AT,
    VEL, WRENCH,
)  # fmt: skip


@part
def shape_products(bodies, i, n, q, at, U):
    """U[(3a+b) F + k] = ∫u_a ∂u_b/∂q_k dm,  U[(9+a) F + k] = ∫∂u_a/∂q_k dm;  c = ∫u dm and Θ behind them"""
    F = bodies.quadratic.shape[1]
    c = load3_at(bodies.rigid, i, FIRST)
    P = load9_at(bodies.rigid, i, SECOND)
    if n > 0:
        fields = int(bodies.rigid[i, FIELDS])
        for j in range(GYROSCOPIC * F):
            U[j] = bodies.linear[i, j]
        add_products(bodies.quadratic[i], 0, n, q, at, 0, MOMENT * F, U, 0)
        if fields > 0:
            field_products(bodies, i, n, q, at, U)
            _, _, amounts, _, _, _ = places(bodies)
            c, P = moments(bodies, i, n, fields, U, amounts, U, c, P)
        c, P = moments(bodies, i, 0, n, q, at, U, c, P)
        if fields > 0:
            fold_products(bodies, i, n, U)
    o = CENTRE * F
    U[o], U[o + 1], U[o + 2] = c[0], c[1], c[2]
    xx, xy, xz, _, yy, yz, _, _, zz = P
    U[o + 3], U[o + 4], U[o + 5] = yy + zz, -xy, -xz
    U[o + 6], U[o + 7], U[o + 8] = -xy, xx + zz, -yz
    U[o + 9], U[o + 10], U[o + 11] = -xz, -yz, xx + yy


@part
def moments(bodies, i, first, n, x, at, U, c, P):
    """c + Σ_k x_k ∫φ_k dm,  P_ab + ½ Σ_k x_k ∫(x_a + u_a) φ_bk dm, symmetric,  over n columns φ from the ``first`` one on"""
    F = bodies.quadratic.shape[1]
    xx, xy, xz, _, yy, yz, _, _, zz = P
    c0, c1, c2 = c
    for l in range(n):
        k = first + l
        f = x[at + l]
        h = 0.5 * f
        c0 += f * bodies.linear[i, MOMENT * F + k]
        c1 += f * bodies.linear[i, (MOMENT + 1) * F + k]
        c2 += f * bodies.linear[i, (MOMENT + 2) * F + k]
        xx += f * (bodies.linear[i, k] + U[k])
        xy += h * (bodies.linear[i, 1 * F + k] + bodies.linear[i, 3 * F + k] + U[1 * F + k] + U[3 * F + k])
        xz += h * (bodies.linear[i, 2 * F + k] + bodies.linear[i, 6 * F + k] + U[2 * F + k] + U[6 * F + k])
        yy += f * (bodies.linear[i, 4 * F + k] + U[4 * F + k])
        yz += h * (bodies.linear[i, 5 * F + k] + bodies.linear[i, 7 * F + k] + U[5 * F + k] + U[7 * F + k])
        zz += f * (bodies.linear[i, 8 * F + k] + U[8 * F + k])
    return (c0, c1, c2), (xx, xy, xz, xy, yy, yz, xz, yz, zz)


@part
def centre_and_inertia(bodies, U):
    """c = ∫u dm and Θ from the shape products of a body"""
    o = CENTRE * bodies.quadratic.shape[1]
    return (U[o], U[o + 1], U[o + 2]), (
        U[o + 3], U[o + 4], U[o + 5], U[o + 6], U[o + 7], U[o + 8], U[o + 9], U[o + 10], U[o + 11],
    )  # fmt: skip


@part
def gyroscopic_sums(bodies, i, n, F, s, to, U):
    """Σ_l q̇_l ∫φ_l × φ_k dm into U behind the shape products"""
    x = GYROSCOPIC * F
    for j in range(x, x + 3 * F):
        U[j] = 0.0
    add_products(bodies.quadratic[i], 0, n, s, to, MOMENT * F, GYROSCOPIC * F, U, (GYROSCOPIC - MOMENT) * F)


@part
def modal_matrices(bodies, i, n, q, at, s, sd, to, r):
    """r += m_ff q̈ + D_ff q̇ + K_ff q of body i"""
    m = bodies.matrices
    if bodies.rigid[i, DIAGONAL_MODES] == 1.0:
        for k in range(n):
            r[to + k] += m[i, M_FF, k, k] * sd[to + k] + m[i, D_FF, k, k] * s[to + k] + m[i, K_FF, k, k] * q[at + k]
        return
    for l in range(n):
        for k in range(n):
            r[to + k] += m[i, M_FF, l, k] * sd[to + l] + m[i, D_FF, l, k] * s[to + l] + m[i, K_FF, l, k] * q[at + l]


@part
def inertia_force(bodies, tree, motion, i, q, s, sd, U, r):
    """Inertial wrench W[i] and modal forces r of body i: M (V̇, q̈) − Q_v, plus elastic K_ff q + D_ff q̇.

    f = m a + ω̇×c + ω×(ω×c) + 2ω×Sq̇ + Sq̈,  n = c×a + Θω̇ + ω×Θω + 2(tr(N)ω − Nᵀω) + Īf q̈,
    r_k = S_k·a + Īf_k·ω̇ + ∫φ_k·(ω×(ω×u)) + 2∫φ_k·(ω×u̇) + m_ff q̈;  a = v̇ + ω×v;  with fields ψ besides: `field_forces`.
    """
    at = tree[i, QF_AT]
    to = tree[i, SF_AT]
    n = tree[i, NF]
    F = bodies.quadratic.shape[1]
    w = load3_at(motion, i, VEL + 3)
    wd = load3_at(motion, i, ACC + 3)
    a = add(load3_at(motion, i, ACC), cross(w, load3_at(motion, i, VEL)))
    shape_products(bodies, i, n, q, at, U)
    c, theta = centre_and_inertia(bodies, U)
    f = add(scale(bodies.rigid[i, MASS], a), add(cross(wd, c), cross(w, cross(w, c))))
    m = add(cross(c, a), add(mul(theta, wd), cross(w, mul(theta, w))))
    if n > 0:
        w2 = dot(w, w)
        xx, xy, xz = w[0] * w[0] - w2, w[0] * w[1], w[0] * w[2]
        yy, yz, zz = w[1] * w[1] - w2, w[1] * w[2], w[2] * w[2] - w2
        n0, n1, n2, n3, n4, n5, n6, n7, n8 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        fx, fy, fz, mx, my, mz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        gyroscopic_sums(bodies, i, n, F, s, to, U)
        if bodies.rigid[i, FIELDS] > 0.0:
            (fx, fy, fz), (mx, my, mz) = field_forces(bodies, i, n, w, s, sd, to, U, r)
        vx, vy, vz = 0.0, 0.0, 0.0
        for k in range(n):
            qd = s[to + k]
            qdd = sd[to + k]
            n0 += U[k] * qd
            n1 += U[1 * F + k] * qd
            n2 += U[2 * F + k] * qd
            n3 += U[3 * F + k] * qd
            n4 += U[4 * F + k] * qd
            n5 += U[5 * F + k] * qd
            n6 += U[6 * F + k] * qd
            n7 += U[7 * F + k] * qd
            n8 += U[8 * F + k] * qd
            S0, S1, S2 = U[MOMENT * F + k], U[(MOMENT + 1) * F + k], U[(MOMENT + 2) * F + k]
            I0, I1, I2 = U[5 * F + k] - U[7 * F + k], U[6 * F + k] - U[2 * F + k], U[1 * F + k] - U[3 * F + k]
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
                xx * U[k] + yy * U[4 * F + k] + zz * U[8 * F + k]
                + xy * (U[1 * F + k] + U[3 * F + k]) + xz * (U[2 * F + k] + U[6 * F + k]) + yz * (U[5 * F + k] + U[7 * F + k])
            )  # fmt: skip
            g = GYROSCOPIC * F + k
            turning = 2.0 * (w[0] * U[g] + w[1] * U[g + F] + w[2] * U[g + 2 * F])
            r[to + k] += S0 * a[0] + S1 * a[1] + S2 * a[2] + I0 * wd[0] + I1 * wd[1] + I2 * wd[2] + centrifugal + turning
        modal_matrices(bodies, i, n, q, at, s, sd, to, r)
        tr = n0 + n4 + n8
        nw = (n0 * w[0] + n3 * w[1] + n6 * w[2], n1 * w[0] + n4 * w[1] + n7 * w[2], n2 * w[0] + n5 * w[1] + n8 * w[2])
        f = add(f, add(scale(2.0, cross(w, (vx, vy, vz))), (fx, fy, fz)))
        m = add(m, add(scale(2.0, sub(scale(tr, w), nw)), (mx, my, mz)))
    store3_at(motion, i, WRENCH, f)
    store3_at(motion, i, WRENCH + 3, m)


@part
def mass_matrix(bodies, tree, i, q, U, M):
    """M[i, :6+nf, :6+nf] in (V, q̇_f): [[m 1, −c̃, S], [c̃, Θ, Īf], [Sᵀ, Īfᵀ, m_ff]]"""
    n = tree[i, NF]
    shape_products(bodies, i, n, q, tree[i, QF_AT], U)
    rigid_mass_rows(bodies, tree, i, U, M)
    for k in range(n):
        for l in range(n):
            M[i, 6 + k, 6 + l] = bodies.matrices[i, M_FF, k, l]
    if bodies.rigid[i, FIELDS] > 0.0:
        add_field_mass(bodies, i, n, 1.0, U, M)
    for k in range(n):
        for a in range(6 + k):
            M[i, 6 + k, a] = M[i, a, 6 + k]


@part
def rigid_mass_rows(bodies, tree, i, U, M):
    """The six upper rows of the mass matrix of body i from its shape products U."""
    n = tree[i, NF]
    F = bodies.quadratic.shape[1]
    c, theta = centre_and_inertia(bodies, U)
    for a in range(3):
        for b in range(3):
            M[i, a, b] = bodies.rigid[i, MASS] if a == b else 0.0
            M[i, 3 + a, 3 + b] = theta[3 * a + b]
    ct = (0.0, -c[2], c[1], c[2], 0.0, -c[0], -c[1], c[0], 0.0)
    for a in range(3):
        for b in range(3):
            M[i, 3 + a, b] = ct[3 * a + b]
            M[i, b, 3 + a] = ct[3 * a + b]
    for k in range(n):
        M[i, 3, 6 + k] = U[5 * F + k] - U[7 * F + k]
        M[i, 4, 6 + k] = U[6 * F + k] - U[2 * F + k]
        M[i, 5, 6 + k] = U[1 * F + k] - U[3 * F + k]
        for a in range(3):
            M[i, a, 6 + k] = U[(MOMENT + a) * F + k]


@part
def body_energy(bodies, tree, gravity, motion, i, q, s, U):
    """Kinetic, strain and gravity energy of body i."""
    at = tree[i, QF_AT]
    to = tree[i, SF_AT]
    n = tree[i, NF]
    F = bodies.quadratic.shape[1]
    v = load3_at(motion, i, VEL)
    w = load3_at(motion, i, VEL + 3)
    shape_products(bodies, i, n, q, at, U)
    c, theta = centre_and_inertia(bodies, U)
    kinetic = 0.5 * bodies.rigid[i, MASS] * dot(v, v) + dot(v, cross(w, c)) + 0.5 * dot(w, mul(theta, w))
    strain = 0.0
    if bodies.rigid[i, FIELDS] > 0.0:
        kinetic += field_energy(bodies, i, n, s, to, U)
    for k in range(n):
        qd = s[to + k]
        kinetic += qd * (U[MOMENT * F + k] * v[0] + U[(MOMENT + 1) * F + k] * v[1] + U[(MOMENT + 2) * F + k] * v[2])
        kinetic += qd * (
            (U[5 * F + k] - U[7 * F + k]) * w[0] + (U[6 * F + k] - U[2 * F + k]) * w[1] + (U[1 * F + k] - U[3 * F + k]) * w[2]
        )
        for l in range(n):
            kinetic += 0.5 * qd * bodies.matrices[i, M_FF, k, l] * s[to + l]
            strain += 0.5 * q[at + k] * bodies.matrices[i, K_FF, k, l] * q[at + l]
    world = add(scale(bodies.rigid[i, MASS], load3_at(motion, i, POS)), mul(load9_at(motion, i, ROT), c))
    g = (gravity[0], gravity[1], gravity[2])
    return kinetic, strain, -dot(g, world)

"""Inertia of one body from its shape integrals (theory §1; Shabana 2020, ch. 5; Wallrapp 1994).

With u = x + φ q in body axes: U[(3a+b) F + k] = ∫u_a φ_bk dm carries everything that depends on q:
P = ∫u uᵀ dm, Θ = tr(P) 1 − P, Īf = ∫ũ φ dm, N = ∫u u̇ᵀ dm. No loop over nodes.

Geometric stiffness makes it u = x + φ q + ½ γ(q, q): the second-order displacement that goes with q (a bent beam is shorter).
Then φ_k stands for ∂u/∂q_k = φ_k + γ_k q throughout, S = ∫∂u/∂q dm depends on q too, ü has the term γ(q̇, q̇), and terms of third
order in q are left out, among them those of m_ff. All forces follow from this kinetic energy by Lagrange's equations, hence the
energy balance holds as without γ (Wallrapp and Schwertassek 1991).
"""

from flexmbs._jit import part
from flexmbs.algebra.small import add, cross, dot, load3_at, load9_at, mul, scale, store3_at, sub
from flexmbs.system.records import (
    ACC, D_FF, DIAGONAL_MODES, FIRST, GYROSCOPIC, K_FF, M_FF, MASS, MOMENT, NF, POS, QF_AT, ROT, SECOND, SF_AT, STIFFENED,
    TURNING, VEL, WRENCH,
)  # fmt: skip


@part
def add_products(Q, n, x, at, low, high, U):
    """U[low:high] += Σ_l x[at + l] Q[l, low:high], four rows at a time: U is read and written a quarter as often."""
    whole = n - n % 4
    for l in range(0, whole, 4):
        a, b, c, d = x[at + l], x[at + l + 1], x[at + l + 2], x[at + l + 3]
        for j in range(low, high):
            U[j] += (a * Q[l, j] + b * Q[l + 1, j]) + (c * Q[l + 2, j] + d * Q[l + 3, j])
    for l in range(whole, n):
        a = x[at + l]
        for j in range(low, high):
            U[j] += a * Q[l, j]


@part
def shape_products(bodies, i, n, q, at, U):
    """U[(3a+b) F + k] = ∫x_a φ_bk dm + Σ_l q_l ∫(φ_al φ_bk + x_a γ_bkl) dm,  U[(9+a) F + k] = ∫φ_ak dm + Σ_l q_l ∫γ_akl dm"""
    if n == 0:
        return
    F = bodies.matrices.shape[3]
    for j in range(GYROSCOPIC * F):
        U[j] = bodies.linear[i, j]
    add_products(bodies.quadratic[i], n, q, at, 0, F * (MOMENT if bodies.rigid[i, STIFFENED] == 0.0 else GYROSCOPIC), U)


@part
def first_moment(bodies, i, n, q, at, U):
    """c = ∫u dm"""
    F = bodies.matrices.shape[3]
    a, b, c = load3_at(bodies.rigid, i, FIRST)
    x = MOMENT * F
    y = x + F
    z = y + F
    for k in range(n):
        f = 0.5 * q[at + k]
        a += f * (bodies.linear[i, x + k] + U[x + k])
        b += f * (bodies.linear[i, y + k] + U[y + k])
        c += f * (bodies.linear[i, z + k] + U[z + k])
    return (a, b, c)


@part
def inertia_tensor(bodies, i, n, q, at, U):
    """Θ = tr(P) 1 − P,  P_ab = ∫u_a u_b dm"""
    F = bodies.matrices.shape[3]
    xx, xy, xz, _, yy, yz, _, _, zz = load9_at(bodies.rigid, i, SECOND)
    for k in range(n):
        f = q[at + k]
        xx += f * (bodies.linear[i, k] + U[k])
        xy += 0.5 * f * (bodies.linear[i, 1 * F + k] + bodies.linear[i, 3 * F + k] + U[1 * F + k] + U[3 * F + k])
        xz += 0.5 * f * (bodies.linear[i, 2 * F + k] + bodies.linear[i, 6 * F + k] + U[2 * F + k] + U[6 * F + k])
        yy += f * (bodies.linear[i, 4 * F + k] + U[4 * F + k])
        yz += 0.5 * f * (bodies.linear[i, 5 * F + k] + bodies.linear[i, 7 * F + k] + U[5 * F + k] + U[7 * F + k])
        zz += f * (bodies.linear[i, 8 * F + k] + U[8 * F + k])
    return (yy + zz, -xy, -xz, -xy, xx + zz, -yz, -xz, -yz, xx + yy)


@part
def gyroscopic(bodies, i, n, F, s, to, w, U, r):
    """r_k += 2 ω·Σ_l q̇_l ∫φ_l × φ_k dm; the sums are gathered in U behind the shape products."""
    x = GYROSCOPIC * F
    y = x + F
    z = y + F
    for j in range(x, x + 3 * F):
        U[j] = 0.0
    add_products(bodies.quadratic[i], n, s, to, x, x + 3 * F, U)
    for k in range(n):
        r[to + k] += 2.0 * (w[0] * U[x + k] + w[1] * U[y + k] + w[2] * U[z + k])


@part
def second_order_rates(bodies, i, n, F, s, to):
    """∫ü dm and ∫x×ü dm at q̈ = 0: Σ_kl q̇_k q̇_l ∫γ_kl dm, Σ_kl q̇_k q̇_l ∫x×γ_kl dm"""
    f0, f1, f2, m0, m1, m2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    f = MOMENT * F
    m = TURNING * F
    for l in range(n):
        for k in range(n):
            x = s[to + l] * s[to + k]
            f0 += x * bodies.quadratic[i, l, f + k]
            f1 += x * bodies.quadratic[i, l, f + F + k]
            f2 += x * bodies.quadratic[i, l, f + 2 * F + k]
            m0 += x * bodies.quadratic[i, l, m + k]
            m1 += x * bodies.quadratic[i, l, m + F + k]
            m2 += x * bodies.quadratic[i, l, m + 2 * F + k]
    return (f0, f1, f2), (m0, m1, m2)


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
    r_k = S_k·a + Īf_k·ω̇ + ∫φ_k·(ω×(ω×u)) + 2∫φ_k·(ω×u̇) + m_ff q̈;  a = v̇ + ω×v;  f, n with γ: + ∫γ(q̇,q̇) dm, ∫x×γ(q̇,q̇) dm.
    """
    at = tree[i, QF_AT]
    to = tree[i, SF_AT]
    n = tree[i, NF]
    F = bodies.matrices.shape[3]
    w = load3_at(motion, i, VEL + 3)
    wd = load3_at(motion, i, ACC + 3)
    a = add(load3_at(motion, i, ACC), cross(w, load3_at(motion, i, VEL)))
    shape_products(bodies, i, n, q, at, U)
    c = first_moment(bodies, i, n, q, at, U)
    theta = inertia_tensor(bodies, i, n, q, at, U)
    f = add(scale(bodies.rigid[i, MASS], a), add(cross(wd, c), cross(w, cross(w, c))))
    m = add(cross(c, a), add(mul(theta, wd), cross(w, mul(theta, w))))
    if n > 0:
        w2 = dot(w, w)
        xx, xy, xz = w[0] * w[0] - w2, w[0] * w[1], w[0] * w[2]
        yy, yz, zz = w[1] * w[1] - w2, w[1] * w[2], w[2] * w[2] - w2
        n0, n1, n2, n3, n4, n5, n6, n7, n8 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if bodies.rigid[i, STIFFENED] == 1.0:
            (fx, fy, fz), (mx, my, mz) = second_order_rates(bodies, i, n, F, s, to)
        else:
            fx, fy, fz, mx, my, mz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
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
            r[to + k] += S0 * a[0] + S1 * a[1] + S2 * a[2] + I0 * wd[0] + I1 * wd[1] + I2 * wd[2] + centrifugal
        gyroscopic(bodies, i, n, F, s, to, w, U, r)
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
    rigid_mass_rows(bodies, tree, i, q, U, M)
    for k in range(n):
        for a in range(6):
            M[i, 6 + k, a] = M[i, a, 6 + k]
        for l in range(n):
            M[i, 6 + k, 6 + l] = bodies.matrices[i, M_FF, k, l]


@part
def rigid_mass_rows(bodies, tree, i, q, U, M):
    """The six upper rows of the mass matrix of body i from its shape products U."""
    at = tree[i, QF_AT]
    n = tree[i, NF]
    F = bodies.matrices.shape[3]
    c = first_moment(bodies, i, n, q, at, U)
    theta = inertia_tensor(bodies, i, n, q, at, U)
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
    F = bodies.matrices.shape[3]
    v = load3_at(motion, i, VEL)
    w = load3_at(motion, i, VEL + 3)
    shape_products(bodies, i, n, q, at, U)
    c = first_moment(bodies, i, n, q, at, U)
    theta = inertia_tensor(bodies, i, n, q, at, U)
    kinetic = 0.5 * bodies.rigid[i, MASS] * dot(v, v) + dot(v, cross(w, c)) + 0.5 * dot(w, mul(theta, w))
    strain = 0.0
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

"""Second-order displacements ψ z(q), z_r = ½ qᵀ C_r q, of one body: what they add to its inertia (see `inertia`).

The products U of a body with r fields ψ have the columns [φ ψ] of its n modes and r fields until the columns of the fields are
folded into those of the modes by J = [1; Z], Z_rk = (C_r q)_k. Behind the products lie c = ∫u dm and Θ, then Z, room of the same
size, and the amounts z, their rates Z q̇ and their accelerations Z q̈ + q̇ᵀ C q̇.
"""

from flexmbs._jit import called, part
from flexmbs.system.records import BEHIND, CENTRE, FIELDS, GYROSCOPIC, MOMENT, Bodies


def products_width(bodies: Bodies) -> int:
    """How many numbers the shape products of a body take."""
    fields, modes = bodies.mixed.shape[1], bodies.matrices.shape[3]
    return CENTRE * bodies.quadratic.shape[1] + BEHIND + 2 * fields * modes + 3 * fields


@part
def add_products(Q, row, n, x, at, low, high, U, to):
    """U[to + j] += Σ_l x[at + l] Q[row + l, j], low ≤ j < high, four rows at a time: U is read and written a quarter as often."""
    whole = n - n % 4
    for l in range(0, whole, 4):
        a, b, c, d = x[at + l], x[at + l + 1], x[at + l + 2], x[at + l + 3]
        r = row + l
        for j in range(low, high):
            U[to + j] += (a * Q[r, j] + b * Q[r + 1, j]) + (c * Q[r + 2, j] + d * Q[r + 3, j])
    for l in range(whole, n):
        a = x[at + l]
        for j in range(low, high):
            U[to + j] += a * Q[row + l, j]


@part
def places(bodies):
    """Where Z, the room behind it, z, ż and z̈ begin in the products, and the length of a row of Z."""
    modes = bodies.matrices.shape[3]
    fields = bodies.mixed.shape[1]
    slopes = CENTRE * bodies.quadratic.shape[1] + BEHIND
    room = slopes + fields * modes
    amounts = room + fields * modes
    return slopes, room, amounts, amounts + fields, amounts + 2 * fields, modes


@called
def field_products(bodies, i, n, q, at, U):
    """Z = C q and z = ½ Z q; U += Σ_r z_r ∫ψ_r (φ, ψ) dm"""
    slopes, _, amounts, _, _, width = places(bodies)
    fields = int(bodies.rigid[i, FIELDS])
    for j in range(slopes, slopes + fields * width):
        U[j] = 0.0
    add_products(bodies.curvature[i], 0, n, q, at, 0, fields * width, U, slopes)
    for r in range(fields):
        z = 0.0
        for k in range(n):
            z += U[slopes + r * width + k] * q[at + k]
        U[amounts + r] = 0.5 * z
    add_products(bodies.quadratic[i], n, fields, U, amounts, 0, MOMENT * bodies.quadratic.shape[1], U, 0)


@called
def fold_products(bodies, i, n, U):
    """U_k += Σ_r U_r Z_rk: ∂u/∂q_k = φ_k + Σ_r ψ_r Z_rk in the place of φ_k"""
    slopes, _, _, _, _, width = places(bodies)
    F = bodies.quadratic.shape[1]
    for row in range(GYROSCOPIC):
        for r in range(int(bodies.rigid[i, FIELDS])):
            f = U[row * F + n + r]
            z = slopes + r * width
            for k in range(n):
                U[row * F + k] += f * U[z + k]


@called
def field_forces(bodies, i, n, w, s, sd, to, U, r):
    """The modes' forces Zᵀ(2 ω·∫ψ × u̇ dm + ∫ψ·(φ q̈ + ψ z̈) dm) + ∫φ·ψ z̈ dm into r, ż into the sums of the gyroscopic forces.

    Returns ∫ü dm and ∫u × ü dm of the accelerations q̇ᵀ C q̇ of the fields.
    """
    slopes, room, _, rates, loads, width = places(bodies)
    F = bodies.quadratic.shape[1]
    fields = int(bodies.rigid[i, FIELDS])
    for j in range(room, room + fields * width):
        U[j] = 0.0
    add_products(bodies.curvature[i], 0, n, s, to, 0, fields * width, U, room)
    f0, f1, f2, m0, m1, m2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for e in range(fields):
        zd, own, zdd = 0.0, 0.0, 0.0
        for k in range(n):
            zd += U[slopes + e * width + k] * s[to + k]
            own += U[room + e * width + k] * s[to + k]
            zdd += U[slopes + e * width + k] * sd[to + k]
        U[rates + e] = zd
        U[loads + e] = own + zdd
        k = n + e
        f0 += own * U[MOMENT * F + k]
        f1 += own * U[(MOMENT + 1) * F + k]
        f2 += own * U[(MOMENT + 2) * F + k]
        m0 += own * (U[5 * F + k] - U[7 * F + k])
        m1 += own * (U[6 * F + k] - U[2 * F + k])
        m2 += own * (U[1 * F + k] - U[3 * F + k])
    add_products(bodies.mixed[i], 0, fields, U, loads, 0, n, r, to)
    add_products(bodies.quadratic[i], n, fields, U, rates, MOMENT * F, GYROSCOPIC * F, U, (GYROSCOPIC - MOMENT) * F)
    x = GYROSCOPIC * F + n
    for e in range(fields):
        load = 2.0 * (w[0] * U[x + e] + w[1] * U[x + F + e] + w[2] * U[x + 2 * F + e])
        for k in range(n):
            load += bodies.mixed[i, e, k] * sd[to + k]
        for k in range(fields):
            load += bodies.mixed[i, e, n + k] * U[loads + k]
        U[room + e] = load
    for e in range(fields):
        z = slopes + e * width
        load = U[room + e]
        for k in range(n):
            r[to + k] += load * U[z + k]
    return (f0, f1, f2), (m0, m1, m2)


@called
def add_field_mass(bodies, i, n, factor, U, A):
    """A_ff += factor (Zᵀ Y + Yᵀ Z), Y = ∫ψ·φ dm + ½ ∫ψ·ψ dm Z: with m_ff it is ∫∂u/∂q·∂u/∂q dm (upper triangle)"""
    slopes, room, _, _, _, width = places(bodies)
    fields = int(bodies.rigid[i, FIELDS])
    for e in range(fields):
        y = room + e * width
        for k in range(n):
            U[y + k] = factor * bodies.mixed[i, e, k]
        for o in range(fields):
            f = 0.5 * factor * bodies.mixed[i, e, n + o]
            z = slopes + o * width
            for k in range(n):
                U[y + k] += f * U[z + k]
    for k in range(n):
        for e in range(fields):
            z = slopes + e * width
            y = room + e * width
            a, b = U[z + k], U[y + k]
            for l in range(k, n):
                A[i, 6 + k, 6 + l] += a * U[y + l] + b * U[z + l]


@part
def field_energy(bodies, i, n, s, to, U):
    """∫u̇·u̇/2 dm beyond that of the modes alone: ½ żᵀ ∫ψ·ψ dm ż + żᵀ ∫ψ·φ dm q̇"""
    slopes, _, _, rates, _, width = places(bodies)
    fields = int(bodies.rigid[i, FIELDS])
    energy = 0.0
    for e in range(fields):
        z = 0.0
        for k in range(n):
            z += U[slopes + e * width + k] * s[to + k]
        U[rates + e] = z
    for e in range(fields):
        for k in range(n):
            energy += U[rates + e] * bodies.mixed[i, e, k] * s[to + k]
        for o in range(fields):
            energy += 0.5 * U[rates + e] * bodies.mixed[i, e, n + o] * U[rates + o]
    return energy

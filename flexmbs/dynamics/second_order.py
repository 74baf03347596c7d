"""Second-order displacements ψ z(q), z_r = ½ qᵀ C_r q, of one body: its coordinates η = (q, z) in the space of the modes [φ ψ].

    Z_rk = (C_r q)_k,   ż = Z q̇,   z̈ = Z q̈ + q̇ᵀ C q̇,   J = [1; Z],   M = Jᵀ M(η) J,   forces Jᵀ r(η, η̇, η̈)

The fields ψ are orthonormal over the mass. The scratch U of a body holds its shape products and the sums of its gyroscopic forces,
c = ∫u dm and Θ, then η, η̇, η̈ and loads on η, then Z and room of its size; without second order η = q.
"""

from flexmbs._jit import called, part
from flexmbs.system.records import BEHIND, CENTRE, FIELDS, Bodies


def scratch_width(bodies: Bodies) -> int:
    """Length of the scratch U of a body."""
    return (CENTRE + 4) * bodies.quadratic.shape[1] + BEHIND + 2 * bodies.mixed.shape[1]


@part
def places(bodies):
    """Where η, η̇, η̈, the loads, Z and the room behind it begin in U."""
    F = bodies.quadratic.shape[1]
    eta = CENTRE * F + BEHIND
    return eta, eta + F, eta + 2 * F, eta + 3 * F, eta + 4 * F, eta + 4 * F + bodies.mixed.shape[1]


@part
def add_rows(Q, row, n, x, first, low, high, U, to):
    """U[to + j] += Σ_l x[first + l] Q[row + l, j], low ≤ j < high, l < n.

    Four rows at a time: U is read and written a quarter as often.
    """
    whole = n - n % 4
    for l in range(0, whole, 4):
        a, b, c, d = x[first + l], x[first + l + 1], x[first + l + 2], x[first + l + 3]
        r = row + l
        for j in range(low, high):
            U[to + j] += (a * Q[r, j] + b * Q[r + 1, j]) + (c * Q[r + 2, j] + d * Q[r + 3, j])
    for l in range(whole, n):
        a = x[first + l]
        for j in range(low, high):
            U[to + j] += a * Q[row + l, j]


@part
def folded(bodies, i, n, U, first, out, to):
    """out[to + k] += Σ_r Z_rk U[first + r], three fields at a time"""
    N = bodies.matrices.shape[3]
    z = CENTRE * bodies.quadratic.shape[1] + BEHIND + 4 * bodies.quadratic.shape[1]
    fields = int(bodies.rigid[i, FIELDS])
    whole = fields - fields % 3
    for r in range(0, whole, 3):
        a, b, c = U[first + r], U[first + r + 1], U[first + r + 2]
        o = z + r * N
        for k in range(n):
            out[to + k] += a * U[o + k] + b * U[o + N + k] + c * U[o + 2 * N + k]
    for r in range(whole, fields):
        a = U[first + r]
        o = z + r * N
        for k in range(n):
            out[to + k] += a * U[o + k]


@part
def curvature_times(bodies, i, n, U, first, to):
    """U[to + r N + k] = (C_r x)_k of x = U[first …]"""
    used = int(bodies.rigid[i, FIELDS]) * bodies.matrices.shape[3]
    for j in range(used):
        U[to + j] = 0.0
    add_rows(bodies.curvature[i], 0, n, U, first, 0, used, U, to)


@called
def field_amounts(bodies, i, n, U):
    """Z = C q and z = ½ Z q"""
    eta, _, _, _, slopes, _ = places(bodies)
    curvature_times(bodies, i, n, U, eta, slopes)
    for r in range(int(bodies.rigid[i, FIELDS])):
        z = 0.0
        o = slopes + r * bodies.matrices.shape[3]
        for k in range(n):
            z += U[o + k] * U[eta + k]
        U[eta + n + r] = 0.5 * z


@called
def field_rates(bodies, i, n, U):
    """ż = Z q̇ and z̈ = Z q̈ + q̇ᵀ C q̇; the loads are those of the masses ∫ψ·φ dm and 1 of the fields: ∫φ·ψ dm z̈, ∫ψ·φ dm q̈ + z̈"""
    _, rates, accelerations, loads, slopes, room = places(bodies)
    curvature_times(bodies, i, n, U, rates, room)
    for r in range(int(bodies.rigid[i, FIELDS])):
        o = r * bodies.matrices.shape[3]
        zd, zdd, load = 0.0, 0.0, 0.0
        for k in range(n):
            zd += U[slopes + o + k] * U[rates + k]
            zdd += U[slopes + o + k] * U[accelerations + k] + U[room + o + k] * U[rates + k]
            load += bodies.mixed[i, o + k] * U[accelerations + k]
        U[rates + n + r] = zd
        U[accelerations + n + r] = zdd
        U[loads + n + r] = load + zdd
        for k in range(n):
            U[loads + k] += zdd * bodies.mixed[i, o + k]


@called
def fold_rigid_rows(bodies, i, n, M, U):
    """M[i, :6, 6:6+n] += M[i, :6, ψ] Z, the columns of ψ being those behind"""
    _, _, _, loads, _, _ = places(bodies)
    for a in range(6):
        for r in range(int(bodies.rigid[i, FIELDS])):
            U[loads + r] = rigid_coupling(bodies, i, a, n + r, U)
        folded(bodies, i, n, U, loads, M[i, a], 6)


@part
def rigid_coupling(bodies, i, a, k, U):
    """Entry (a, 6 + k) of [∫φ dm; ∫u × φ dm] from the shape products"""
    F = bodies.quadratic.shape[1]
    if a < 3:
        return bodies.linear[i, (9 + a) * F + k]
    if a == 3:
        return U[5 * F + k] - U[7 * F + k]
    if a == 4:
        return U[6 * F + k] - U[2 * F + k]
    return U[1 * F + k] - U[3 * F + k]


@called
def add_field_mass(bodies, i, n, factor, U, A):
    """A_ff += factor (Zᵀ Y + Yᵀ Z), Y = ∫ψ·φ dm + ½ Z: with m_ff it is ∫∂u/∂q·∂u/∂q dm (upper triangle)"""
    _, _, _, _, slopes, room = places(bodies)
    N = bodies.matrices.shape[3]
    fields = int(bodies.rigid[i, FIELDS])
    for j in range(fields * N):
        U[room + j] = factor * (bodies.mixed[i, j] + 0.5 * U[slopes + j])
    whole = fields - fields % 3
    for e in range(0, whole, 3):
        z, y = slopes + e * N, room + e * N
        for k in range(n):
            a, b, c = U[z + k], U[z + N + k], U[z + 2 * N + k]
            d, f, g = U[y + k], U[y + N + k], U[y + 2 * N + k]
            for l in range(k, n):
                A[i, 6 + k, 6 + l] += (
                    (a * U[y + l] + b * U[y + N + l]) + (c * U[y + 2 * N + l] + d * U[z + l])
                    + (f * U[z + N + l] + g * U[z + 2 * N + l])
                )  # fmt: skip
    for e in range(whole, fields):
        z, y = slopes + e * N, room + e * N
        for k in range(n):
            a, d = U[z + k], U[y + k]
            for l in range(k, n):
                A[i, 6 + k, 6 + l] += a * U[y + l] + d * U[z + l]

"""Second-order displacements ψ z(q_f) of one body, with coordinates η = (q_f, z).

η are the coordinates in the space of the modes [φ ψ]. The fields ψ are orthonormal over the mass,
∫ψ_r·ψ_s dm = δ_rs, and the modes φ beside them are those of the body without their part in ψ, φ ← φ
− ψ m, which is contained in z instead:

    z_r = m_r·q + ½ qᵀ C_r q,   T_rk = ∂z_r/∂q_k = m_rk + (C_r q)_k,   ż = T q̇,   z̈ = T q̈ + q̇ᵀ C q̇,   m_rk = ∫ψ_r·φ_k dm,

    J = [1; T],   M = Jᵀ M(η) J,   M_ff = m_ff − mᵀm + Tᵀ T,   forces Jᵀ r(η, η̇, η̈) = r_φ + Tᵀ r_ψ.

Units: ψ in 1/√kg, z in m √kg. The workspace U of a body holds its shape products and the sums of
its gyroscopic forces, c = ∫u dm and Θ, then η, η̇, η̈ and loads on η, then T and workspace of its
size. Bodies without second-order displacements have η = q_f.

Theory: docs/theory.md, sections 8 and 9. Wallrapp and Schwertassek (1991), Arch. Appl. Mech. 61,
428; Jain, Tiso, Rutzmoser and Rixen (2017), Computers & Structures 188, 80.
"""

from flexmbs._jit import called, part
from flexmbs.system.records import BEHIND, CENTRE, MOMENT, Bodies


def scratch_width(bodies: Bodies) -> int:
    """Length of the workspace U of a body."""
    return (CENTRE + 4) * bodies.quadratic.shape[1] + BEHIND + 2 * bodies.mixed.shape[1]


@part
def places(bodies):
    """First indices of the parts of the workspace U: η, η̇, η̈, loads, T, scratch."""
    F = bodies.quadratic.shape[1]
    eta = CENTRE * F + BEHIND
    return eta, eta + F, eta + 2 * F, eta + 3 * F, eta + 4 * F, eta + 4 * F + bodies.mixed.shape[1]


@part
def add_rows(Q, n, U, first, columns, to):
    """U[to + j] += Σ_{l < n} U[first + l] Q[l, j] for low ≤ j < high.

    columns: (low, high). Four rows at a time, so that U is read and written a quarter as often.
    """
    low, high = columns
    whole = n - n % 4
    for l in range(0, whole, 4):
        a, b, c, d = U[first + l], U[first + l + 1], U[first + l + 2], U[first + l + 3]
        for j in range(low, high):
            U[to + j] += (a * Q[l, j] + b * Q[l + 1, j]) + (c * Q[l + 2, j] + d * Q[l + 3, j])
    for l in range(whole, n):
        a = U[first + l]
        for j in range(low, high):
            U[to + j] += a * Q[l, j]


@part
def folded(bodies, i, n, U, first, out, to):
    """out[to + k] += Σ_r T_rk U[first + r]: loads on second-order fields mapped to the n modes.

    Three fields at a time.
    """
    N = bodies.m_ff.shape[2]
    _, _, _, _, slopes, _ = places(bodies)
    fields = bodies.n_fields[i]
    whole = fields - fields % 3
    for r in range(0, whole, 3):
        a, b, c = U[first + r], U[first + r + 1], U[first + r + 2]
        o = slopes + r * N
        for k in range(n):
            out[to + k] += a * U[o + k] + b * U[o + N + k] + c * U[o + 2 * N + k]
    for r in range(whole, fields):
        a = U[first + r]
        o = slopes + r * N
        for k in range(n):
            out[to + k] += a * U[o + k]


@called
def field_amounts(bodies, i, n, U):
    """Amounts z and derivatives T of the second-order fields of body i into U.

    T = m + C q (fields, n) and z = ½ (m + T) q = m q + ½ qᵀ C q (fields,).
    """
    eta, _, _, _, slopes, _ = places(bodies)
    fields, N = bodies.n_fields[i], bodies.m_ff.shape[2]
    of = bodies.integrals[i]
    for j in range(fields * N):
        U[slopes + j] = bodies.mixed[of, j]
    add_rows(bodies.curvature[of], n, U, eta, (0, fields * N), slopes)
    for r in range(fields):
        z = 0.0
        o = r * N
        for k in range(n):
            z += (bodies.mixed[of, o + k] + U[slopes + o + k]) * U[eta + k]
        U[eta + n + r] = 0.5 * z


@called
def field_rates(bodies, i, n, U):
    """ż = T q̇ and z̈ = T q̈ + q̇ᵀ C q̇ into U, and their loads.

    The loads are z̈ on the fields, whose mass is 1, and −mᵀ m q̈ on the modes. The modes beside the
    fields have the mass m_ff − mᵀm; `flexmbs.dynamics.inertia.modal_matrices` adds m_ff q̈ later.
    """
    _, rates, accelerations, loads, slopes, workspace = places(bodies)
    fields, N = bodies.n_fields[i], bodies.m_ff.shape[2]
    of = bodies.integrals[i]
    for j in range(fields * N):
        U[workspace + j] = 0.0
    add_rows(bodies.curvature[of], n, U, rates, (0, fields * N), workspace)
    for r in range(fields):
        o = r * N
        zd, own, zdd, part_of_modes = 0.0, 0.0, 0.0, 0.0
        for k in range(n):
            zd += U[slopes + o + k] * U[rates + k]
            own += U[workspace + o + k] * U[rates + k]
            zdd += U[slopes + o + k] * U[accelerations + k]
            part_of_modes += bodies.mixed[of, o + k] * U[accelerations + k]
        U[rates + n + r] = zd
        U[accelerations + n + r] = own + zdd
        U[loads + n + r] = own + zdd
        for k in range(n):
            U[loads + k] -= part_of_modes * bodies.mixed[of, o + k]


@called
def fold_rigid_rows(bodies, i, n, M, U):
    """Map mass rows of second-order fields to the modes: M[i, :6, 6:6+n] += M[i, :6, ψ] T.

    The coupling of the twist to the fields, projected by J = [1; T].
    """
    _, _, _, loads, _, _ = places(bodies)
    for a in range(6):
        for r in range(bodies.n_fields[i]):
            U[loads + r] = rigid_coupling(bodies, i, a, n + r, U)
        folded(bodies, i, n, U, loads, M[i, a], 6)


@part
def rigid_coupling(bodies, i, a, k, U):
    """Entry (a, k) of [S̄; Ī_f] = [∫φ dm; ∫ũ φ dm] (6, columns) from the shape products U.

    The columns are [φ ψ].
    """
    F = bodies.quadratic.shape[1]
    if a < 3:
        return bodies.linear[bodies.integrals[i], (MOMENT + a) * F + k]
    if a == 3:
        return U[5 * F + k] - U[7 * F + k]
    if a == 4:
        return U[6 * F + k] - U[2 * F + k]
    return U[1 * F + k] - U[3 * F + k]


@called
def add_field_mass(bodies, i, n, factor, U, A):
    """A_ff += factor · Tᵀ T (upper triangle) of body i.

    Six fields at a time.
    """
    _, _, _, _, t, _ = places(bodies)
    N = bodies.m_ff.shape[2]
    fields = bodies.n_fields[i]
    whole = fields - fields % 6
    for e in range(0, whole, 6):
        o = t + e * N
        for k in range(n):
            a, b, c = factor * U[o + k], factor * U[o + N + k], factor * U[o + 2 * N + k]
            d, f, g = (
                factor * U[o + 3 * N + k],
                factor * U[o + 4 * N + k],
                factor * U[o + 5 * N + k],
            )
            for l in range(k, n):
                A[i, 6 + k, 6 + l] += (
                    (a * U[o + l] + b * U[o + N + l])
                    + (c * U[o + 2 * N + l] + d * U[o + 3 * N + l])
                    + (f * U[o + 4 * N + l] + g * U[o + 5 * N + l])
                )
    for e in range(whole, fields):
        o = t + e * N
        for k in range(n):
            a = factor * U[o + k]
            for l in range(k, n):
                A[i, 6 + k, 6 + l] += a * U[o + l]

"""Articulated inertia of a tree of rigid and flexible bodies.

Body i moves by

    V_i = Ṽ_i + C_i η_i − Φ̄_i q̇_f,i,   Ṽ_i = Ad(X_pi⁻¹) (V_p + Ψ_i q̇_f,p):

C_i are the columns of its joint, Φ̄_i the modes of its own frame, Ψ_i those of the parent's frame,
all as twists at the origin of the body whose modes they are, in its axes. From leaves to root the
modes, then the joint velocities are eliminated,

    N_i = C_iᵀ M*_i C_i + K_β,   Λ_i = 1 − M*_i C_i N_i⁻¹ C_iᵀ,
    M*_p = M_p + Σ_i [1 Ψ_i]ᵀ Ad(X_pi⁻¹)ᵀ Λ_i M*_i Ad(X_pi⁻¹) [1 Ψ_i],

one joint velocity after the other, by Cholesky's method. What is left is the articulated inertia
M*_i that the parent feels through the joint. Driven velocities are known, not eliminated. In
iteration matrices M stands for c M + c' D + K.

Theory: docs/theory.md, section 20. Featherstone, Rigid Body Dynamics Algorithms (2008), sections
7.1 to 7.3 (articulated-body inertia and algorithm); Bae and Haug (1987), Mech. Struct. Mach. 15,
359 (recursive formulation, open loops); with modes Jain and Rodriguez (1992), J. Guid. Control Dyn.
15, 1453.
"""

import math

from flexmbs._jit import called, part
from flexmbs.algebra.se3 import twist_to_parent
from flexmbs.algebra.small import (
    add,
    cross,
    dot,
    load3_at,
    load9_at,
    matmul,
    mul,
    scale,
    store3_at,
    store9_at,
    sub,
    tmul,
)
from flexmbs.algebra.so3 import tangent_transposed
from flexmbs.dynamics.articulated_modes import eliminate_modes, modes_on_a_spring, to_own_frame
from flexmbs.dynamics.articulated_work import (
    CARRIER,
    COLUMNS,
    DENSE,
    L_CARRIER,
    L_CHILD,
    L_NF,
    L_NV,
    L_OWN,
    L_PARENT,
    L_ROTOR,
    L_S,
    NO_ROTOR,
    ON_CHILD,
    ON_PARENT,
    OWN,
    PASSED,
    PIVOT,
    POSE,
    SLOPE,
)
from flexmbs.dynamics.frames import displacement
from flexmbs.dynamics.inertia import rigid_mass_rows
from flexmbs.dynamics.kinematics import parent_to_child
from flexmbs.dynamics.second_order import add_field_mass


@part
def frame_columns(frames, m, x, q, Psi):
    """Psi (6, nf) ← twists at the body's origin, in its axes, of frame m due to its modes.

        [φ + x̃ w; w]   with w = T(ϑ)ᵀ ψ

    That is Ad(X_m) Φ_m: R_m = exp(ϑ̃) R_0 turns R_0ᵀ T(ϑ) ψ into exp(ϑ̃) T(ϑ) ψ = T(ϑ)ᵀ ψ. ``x`` is
    the position of the frame (m).
    """
    th = displacement(frames, m, 3, q)
    h = frames.current
    F = h.shape[1] // 6
    a = tangent_transposed(th, (1.0, 0.0, 0.0))
    b = tangent_transposed(th, (0.0, 1.0, 0.0))
    c = tangent_transposed(th, (0.0, 0.0, 1.0))
    for k in range(frames.nf[m]):
        u, v, w = h[m, 3 * F + k], h[m, 4 * F + k], h[m, 5 * F + k]
        wx = a[0] * u + b[0] * v + c[0] * w
        wy = a[1] * u + b[1] * v + c[1] * w
        wz = a[2] * u + b[2] * v + c[2] * w
        Psi[0, k] = h[m, k] + x[1] * wz - x[2] * wy
        Psi[1, k] = h[m, F + k] + x[2] * wx - x[0] * wz
        Psi[2, k] = h[m, 2 * F + k] + x[0] * wy - x[1] * wx
        Psi[3, k] = wx
        Psi[4, k] = wy
        Psi[5, k] = wz


@called
def joint_geometry(tree, frames, art, motion, i, q):
    """Store the geometry of the primary joint of body i in ``art``.

    The pose X_pi = X_pm X_J X_cm⁻¹ of the body in its parent, the columns Ad(X_cm) C_i of its
    joint, and the modes Φ̄_i and Ψ_i.
    """
    body = art.body
    R, x = parent_to_child(motion, i)
    Rc = load9_at(motion.Rc, i, 0)
    xc = load3_at(motion.xc, i, 0)
    R = matmul(R, (Rc[0], Rc[3], Rc[6], Rc[1], Rc[4], Rc[7], Rc[2], Rc[5], Rc[8]))
    store9_at(body, i, POSE, R)
    store3_at(body, i, POSE + 9, sub(x, mul(R, xc)))
    for k in range(tree.nv[i]):
        at = 6 * k
        v, w = twist_to_parent(
            Rc, xc, load3_at(motion.directions, i, at), load3_at(motion.directions, i, at + 3)
        )
        store3_at(body, i, COLUMNS + 6 * k, v)
        store3_at(body, i, COLUMNS + 6 * k + 3, w)
    if art.link[i, L_OWN] == 1:
        frame_columns(frames, tree.frame_c[i], xc, q, art.modes[i, OWN : OWN + 6])
    if art.link[i, L_CARRIER] == 1:
        frame_columns(
            frames,
            tree.frame_p[i],
            load3_at(motion.xp, i, 0),
            q,
            art.modes[i, CARRIER : CARRIER + 6],
        )


@called
def tree_rotors(tree, art, motion, c_mass):
    """Add c_mass times the inertia of the rotors on primary joints to the tree.

    n² I goes into the slopes, b in the axes of the body for U = M* c + b.

    With ω̃ of the parent's twist Ṽ at the body T = ½ κ η² + η b·ω̃, κ = n² I on the parent and n² I
    + 2 b·c_ω on the child, which turns by c_ω η itself; since b takes part in cᵀU, the slope is κ −
    b·c_ω (theory, section 56).
    """
    for a in range(art.reflected.shape[0]):
        art.velocity[SLOPE, a] += c_mass * art.reflected[a]
    for i in range(tree.parent.shape[0]):
        if art.link[i, L_ROTOR] != NO_ROTOR:
            b = scale(c_mass, load3_at(art.spin, i, 0))
            if art.link[i, L_ROTOR] == ON_PARENT:
                b = tmul(load9_at(motion.Rj, i, 0), b)
            b = mul(load9_at(motion.Rc, i, 0), b)
            store3_at(art.spin, i, 3, b)
            turned = dot(b, load3_at(art.body, i, COLUMNS + 3))
            art.velocity[SLOPE, art.link[i, L_S]] += (
                turned if art.link[i, L_ROTOR] == ON_CHILD else -turned
            )


@called
def body_matrix(system, A, i, U, factors, diagonal):
    """A[i] ← c_mass 𝓜_i, plus K_ff + c_damping D_ff in its modal block.

    factors: (c_mass, c_damping); K_ff and D_ff are omitted for c_damping < 0. 𝓜_i (theory, section
    5) in (V, q̇_f). Filled are the rows of the twist and the upper triangle of the modal block, or
    only its ``diagonal``.
    """
    bodies = system.bodies
    c_mass, c_damping = factors
    n = system.tree.nf[i]
    rigid_mass_rows(bodies, system.tree, i, U, A)
    if c_mass != 1.0:
        for a in range(6):
            for b in range(6 + n):
                A[i, a, b] *= c_mass
    for k in range(n):
        for l in range(k, k + 1 if diagonal else n):
            x = c_mass * bodies.m_rest[i, k, l]
            # a negative factor marks a matrix for accelerations, where the elastic forces are in k
            if c_damping >= 0.0:
                x += bodies.k_ff[i, k, l] + c_damping * bodies.d_ff[i, k, l]
            A[i, 6 + k, 6 + l] = x
    if bodies.n_fields[i] > 0:
        add_field_mass(bodies, i, n, c_mass, U, A)


@part
def inertia_times(A, i, v, w):
    """Wrench M* V = A[i, :6, :6] (v, w) as (f, n)."""
    f = (
        A[i, 0, 0] * v[0]
        + A[i, 0, 1] * v[1]
        + A[i, 0, 2] * v[2]
        + A[i, 0, 3] * w[0]
        + A[i, 0, 4] * w[1]
        + A[i, 0, 5] * w[2],
        A[i, 1, 0] * v[0]
        + A[i, 1, 1] * v[1]
        + A[i, 1, 2] * v[2]
        + A[i, 1, 3] * w[0]
        + A[i, 1, 4] * w[1]
        + A[i, 1, 5] * w[2],
        A[i, 2, 0] * v[0]
        + A[i, 2, 1] * v[1]
        + A[i, 2, 2] * v[2]
        + A[i, 2, 3] * w[0]
        + A[i, 2, 4] * w[1]
        + A[i, 2, 5] * w[2],
    )
    n = (
        A[i, 3, 0] * v[0]
        + A[i, 3, 1] * v[1]
        + A[i, 3, 2] * v[2]
        + A[i, 3, 3] * w[0]
        + A[i, 3, 4] * w[1]
        + A[i, 3, 5] * w[2],
        A[i, 4, 0] * v[0]
        + A[i, 4, 1] * v[1]
        + A[i, 4, 2] * v[2]
        + A[i, 4, 3] * w[0]
        + A[i, 4, 4] * w[1]
        + A[i, 4, 5] * w[2],
        A[i, 5, 0] * v[0]
        + A[i, 5, 1] * v[1]
        + A[i, 5, 2] * v[2]
        + A[i, 5, 3] * w[0]
        + A[i, 5, 4] * w[1]
        + A[i, 5, 5] * w[2],
    )
    return f, n


@called
def eliminate_joint(art, i):
    """Eliminate the joint velocities of body i in turn; False if a pivot is not positive.

    With the column c of velocity k: D = cᵀ M* c + κ, U = M* c/√D, M* ← M* − U Uᵀ, from the last
    velocity to the first; κ is the slope of forces on the coordinate. For driven velocities U = M*
    c of what is left. Theory, section 20; Featherstone 2008, section 7.3.
    """
    drive, body, A, velocity = art.drive, art.body, art.A, art.velocity
    to = art.link[i, L_S]
    nv = art.link[i, L_NV]
    for back in range(nv):
        k = nv - 1 - back
        if drive[to + k] >= 0:
            continue
        v = load3_at(body, i, COLUMNS + 6 * k)
        w = load3_at(body, i, COLUMNS + 6 * k + 3)
        f, n = inertia_times(A, i, v, w)
        if art.link[i, L_ROTOR] != NO_ROTOR:
            n = add(n, load3_at(art.spin, i, 3))
        pivot = dot(v, f) + dot(w, n) + velocity[SLOPE, to + k]
        # also true for NaN: a model with one must not pass as definite
        if not pivot > 0.0:
            return False
        inverse = 1.0 / math.sqrt(pivot)
        velocity[PIVOT, to + k] = inverse
        f = scale(inverse, f)
        n = scale(inverse, n)
        store3_at(body, i, PASSED + 6 * k, f)
        store3_at(body, i, PASSED + 6 * k + 3, n)
        for a in range(6):
            x = body[i, PASSED + 6 * k + a]
            A[i, a, 0] -= x * f[0]
            A[i, a, 1] -= x * f[1]
            A[i, a, 2] -= x * f[2]
            A[i, a, 3] -= x * n[0]
            A[i, a, 4] -= x * n[1]
            A[i, a, 5] -= x * n[2]
    # driven velocities come last: their inertia has all free velocities of the joint eliminated
    for k in range(nv):
        if drive[to + k] >= 0:
            f, n = inertia_times(
                A, i, load3_at(body, i, COLUMNS + 6 * k), load3_at(body, i, COLUMNS + 6 * k + 3)
            )
            if art.link[i, L_ROTOR] != NO_ROTOR:
                n = add(n, load3_at(art.spin, i, 3))
            store3_at(body, i, PASSED + 6 * k, f)
            store3_at(body, i, PASSED + 6 * k + 3, n)
    return True


@part
def load_block(A, i, a, b):
    """3×3 block of A[i] at (a, b), as nine numbers in row-major order."""
    return (
        A[i, a, b],
        A[i, a, b + 1],
        A[i, a, b + 2],
        A[i, a + 1, b],
        A[i, a + 1, b + 1],
        A[i, a + 1, b + 2],
        A[i, a + 2, b],
        A[i, a + 2, b + 1],
        A[i, a + 2, b + 2],
    )


@part
def turned_block(R, A, i, a, b):
    """R B Rᵀ of the 3×3 block B of A[i] at (a, b)."""
    return matmul(
        matmul(R, load_block(A, i, a, b)), (R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8])
    )


@part
def tilde_times(x, B):
    """Product x̃ B of a skew-symmetric matrix and a 3×3 matrix."""
    a = cross(x, (B[0], B[3], B[6]))
    b = cross(x, (B[1], B[4], B[7]))
    c = cross(x, (B[2], B[5], B[8]))
    return (a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2])


@part
def times_tilde(B, x):
    """Product B x̃ of a 3×3 matrix and a skew-symmetric matrix."""
    a = cross((B[0], B[1], B[2]), x)
    b = cross((B[3], B[4], B[5]), x)
    c = cross((B[6], B[7], B[8]), x)
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


@part
def difference(A, B):
    """Difference A − B of 3×3 matrices."""
    return (
        A[0] - B[0],
        A[1] - B[1],
        A[2] - B[2],
        A[3] - B[3],
        A[4] - B[4],
        A[5] - B[5],
        A[6] - B[6],
        A[7] - B[7],
        A[8] - B[8],
    )


@part
def carried_inertia(body, A, i, T):
    """T[:, :6] ← Ad(X⁻¹)ᵀ M*_i Ad(X⁻¹): articulated inertia transformed to the parent.

    It refers to the axes and the origin of the parent body. With the blocks M, H, J of M*_i turned
    by R and d = x: G = H − M x̃ and J − Hᵀ x̃ + x̃ G (Featherstone 2008, chapter 2, on spatial
    inertia, in the order force, moment).
    """
    R = load9_at(body, i, POSE)
    x = load3_at(body, i, POSE + 9)
    M = turned_block(R, A, i, 0, 0)
    H = turned_block(R, A, i, 0, 3)
    J = turned_block(R, A, i, 3, 3)
    Mx = times_tilde(M, x)
    G = (
        H[0] - Mx[0],
        H[1] - Mx[1],
        H[2] - Mx[2],
        H[3] - Mx[3],
        H[4] - Mx[4],
        H[5] - Mx[5],
        H[6] - Mx[6],
        H[7] - Mx[7],
        H[8] - Mx[8],
    )
    Hx = times_tilde((H[0], H[3], H[6], H[1], H[4], H[7], H[2], H[5], H[8]), x)
    xG = tilde_times(x, G)
    for a in range(3):
        for b in range(3):
            T[a, b] = M[3 * a + b]
            T[a, 3 + b] = G[3 * a + b]
            T[3 + b, a] = G[3 * a + b]
            T[3 + a, 3 + b] = J[3 * a + b] - Hx[3 * a + b] + xG[3 * a + b]


@called
def hand_to_parent(art, i):
    """Add the articulated inertia of body i to its parent: A[p] += [1 Ψ]ᵀ B [1 Ψ].

    Ψ are the modes of its frame on the parent p. B is left in art.carried. The modal block of p is
    omitted if p has a semiseparable factor, which uses B and Ψ themselves.
    """
    link, A, modes, T = art.link, art.A, art.modes, art.T
    p = link[i, L_PARENT]
    n = link[p, L_NF]
    # a parent with a semiseparable factor takes the inertia of its one child from its own row
    B = art.carried[p if link[p, L_CHILD] == i else i]
    carried_inertia(art.body, A, i, B)
    for a in range(6):
        for b in range(6):
            A[p, a, b] += B[a, b]
    if link[i, L_CARRIER] != 1:
        return
    for a in range(6):
        b0, b1, b2, b3, b4, b5 = B[a, 0], B[a, 1], B[a, 2], B[a, 3], B[a, 4], B[a, 5]
        for k in range(n):
            x = (
                b0 * modes[i, CARRIER, k]
                + b1 * modes[i, CARRIER + 1, k]
                + b2 * modes[i, CARRIER + 2, k]
            )
            x += (
                b3 * modes[i, CARRIER + 3, k]
                + b4 * modes[i, CARRIER + 4, k]
                + b5 * modes[i, CARRIER + 5, k]
            )
            T[a, k] = x
        for k in range(n):
            A[p, a, 6 + k] += T[a, k]
    if link[p, L_CHILD] != DENSE:
        return
    for k in range(n):
        a, b, c = modes[i, CARRIER, k], modes[i, CARRIER + 1, k], modes[i, CARRIER + 2, k]
        d, e, f = modes[i, CARRIER + 3, k], modes[i, CARRIER + 4, k], modes[i, CARRIER + 5, k]
        for l in range(k, n):
            A[p, 6 + k, 6 + l] += (
                a * T[0, l] + b * T[1, l] + c * T[2, l] + d * T[3, l] + e * T[4, l] + f * T[5, l]
            )


@part
def articulate(art):
    """Eliminate joints and modes of all bodies, leaves to root; 0, or −1 − body if indefinite.

    art.A holds their matrices. Returns 0, or −1 − body for an indefinite one. O(nb) bodies; a body
    with nf modes costs O(nf³), or O(nf) if its modal block is diagonal except for one child on its
    modes (`modes_on_a_spring`).

    Source: theory, section 20; Featherstone 2008, section 7.3; with modes Jain and Rodriguez
    (1992).
    """
    # bodies are numbered parents first: backwards is from the leaves to the root
    link = art.link
    for back in range(link.shape[0]):
        i = link.shape[0] - 1 - back
        n = link[i, L_NF]
        if n > 0:
            if link[i, L_OWN] == 1:
                to_own_frame(art.A, art.modes, i, n, art.T)
            if link[i, L_CHILD] == DENSE:
                definite = eliminate_modes(art.A, i, n)
            else:
                definite = modes_on_a_spring(art, i)
            if not definite:
                return -1 - i
        if not eliminate_joint(art, i):
            return -1 - i
        if link[i, L_PARENT] >= 0:
            hand_to_parent(art, i)
    return 0

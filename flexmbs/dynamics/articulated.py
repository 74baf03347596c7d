"""Articulated inertia of a tree of rigid and flexible bodies, and the sweeps that solve with it (theory §3).

Body i moves by V_i = Ṽ_i + C s_η − Φ̄ q̇_f, Ṽ_i = Ad(X_pi⁻¹)(V_p + Ψ q̇_p): C are the columns of its joint, Φ̄ the modes of its own
frame, Ψ those of the parent's frame, all as twists at the origin of the body whose modes they are, in its axes. From leaves to
root the modes, then the joint velocities are eliminated, N_i = Eᵀ M*_i E = L Lᵀ; what is left is the articulated inertia M*_i
that the parent feels through the joint (Featherstone 2008, ch. 7; with modes Jain & Rodriguez 1992). Driven velocities are known,
not eliminated.
"""

import math

from flexmbs._jit import part
from flexmbs.algebra.se3 import twist_to_child, twist_to_parent, wrench_to_parent
from flexmbs.algebra.small import (
    add, cross, dot, increase3_at, load3_at, load9_at, matmul, mul, scale, store3_at, store9_at, sub,
)  # fmt: skip
from flexmbs.algebra.so3 import tangent_transposed
from flexmbs.dynamics.articulated_work import (
    CARRIER, COLUMNS, HALF, JOINT_WRENCH, L_CARRIER, L_NF, L_NV, L_OWN, L_PARENT, L_S, LOAD, OWN, PASSED, PIVOT, POSE, SLOPE,
    TAU, TWIST,
)  # fmt: skip
from flexmbs.dynamics.frames import modal3
from flexmbs.dynamics.inertia import mass_of_products
from flexmbs.dynamics.kinematics import parent_to_child
from flexmbs.system.records import D_FF, F_NF, F_QF, FRAME_C, FRAME_P, FREE_DIRECTIONS, K_FF, NF, NV, RC, XC, XP


@part
def frame_columns(frames, m, x, q, i, row, Psi):
    """Psi[i, row:row+6] (6, nf): twists of frame m at the body's origin by its modes, v = φ + x×w, w = T(ψq)ᵀ ψ; body axes."""
    th = modal3(frames, m, 3, q, frames.info[m, F_QF])
    h = frames.shape
    a = tangent_transposed(th, (1.0, 0.0, 0.0))
    b = tangent_transposed(th, (0.0, 1.0, 0.0))
    c = tangent_transposed(th, (0.0, 0.0, 1.0))
    for k in range(frames.info[m, F_NF]):
        u, v, w = h[m, 3, k], h[m, 4, k], h[m, 5, k]
        wx = a[0] * u + b[0] * v + c[0] * w
        wy = a[1] * u + b[1] * v + c[1] * w
        wz = a[2] * u + b[2] * v + c[2] * w
        Psi[i, row, k] = h[m, 0, k] + x[1] * wz - x[2] * wy
        Psi[i, row + 1, k] = h[m, 1, k] + x[2] * wx - x[0] * wz
        Psi[i, row + 2, k] = h[m, 2, k] + x[0] * wy - x[1] * wx
        Psi[i, row + 3, k] = wx
        Psi[i, row + 4, k] = wy
        Psi[i, row + 5, k] = wz


@part
def joint_geometry(tree, frames, art, motion, i, q):
    """Pose of body i in its parent, columns of its joint and modes of both frames."""
    body = art.body
    R, x = parent_to_child(motion, i)
    Rc = load9_at(motion, i, RC)
    xc = load3_at(motion, i, XC)
    R = matmul(R, (Rc[0], Rc[3], Rc[6], Rc[1], Rc[4], Rc[7], Rc[2], Rc[5], Rc[8]))
    store9_at(body, i, POSE, R)
    store3_at(body, i, POSE + 9, sub(x, mul(R, xc)))
    for k in range(tree[i, NV]):
        at = FREE_DIRECTIONS + 6 * k
        v, w = twist_to_parent(Rc, xc, load3_at(motion, i, at), load3_at(motion, i, at + 3))
        store3_at(body, i, COLUMNS + 6 * k, v)
        store3_at(body, i, COLUMNS + 6 * k + 3, w)
    if art.link[i, L_OWN] == 1:
        frame_columns(frames, tree[i, FRAME_C], xc, q, i, OWN, art.modes)
    if art.link[i, L_CARRIER] == 1:
        frame_columns(frames, tree[i, FRAME_P], load3_at(motion, i, XP), q, i, CARRIER, art.modes)


@part
def body_matrix(bodies, tree, A, i, q, U, c_mass, c_damping):
    """A[i] = c_mass 𝓜_i, plus K_ff + c_damping D_ff in its modal block (none for c_damping < 0)."""
    n = 6 + tree[i, NF]
    mass_of_products(bodies, tree, i, q, U, A)
    if c_mass != 1.0:
        for a in range(n):
            for b in range(n):
                A[i, a, b] *= c_mass
    if c_damping >= 0.0:
        for a in range(n - 6):
            for b in range(n - 6):
                A[i, 6 + a, 6 + b] += bodies.matrices[i, K_FF, a, b] + c_damping * bodies.matrices[i, D_FF, a, b]


@part
def to_own_frame(A, Phi, i, n, T):
    """Modes that move the own frame: A_rf −= A_rr Φ̄, A_ff −= Φ̄ᵀ(A_rf − A_rr Φ̄) + A_fr Φ̄ (upper triangle)."""
    for a in range(6):
        for k in range(n):
            T[a, k] = A[i, a, 6 + k]
        for b in range(6):
            f = A[i, a, b]
            for k in range(n):
                T[a, k] -= f * Phi[i, b, k]
    for b in range(6):
        for k in range(n):
            f = Phi[i, b, k]
            g = A[i, b, 6 + k]
            for l in range(k, n):
                A[i, 6 + k, 6 + l] -= f * T[b, l] + g * Phi[i, b, l]
    for a in range(6):
        for k in range(n):
            A[i, a, 6 + k] = T[a, k]


@part
def eliminate_modes(A, i, n):
    """A_ff = L Lᵀ (Lᵀ above the diagonal, reciprocal pivots on it), Y = A_rf L⁻ᵀ, A_rr −= Y Yᵀ; False where indefinite."""
    for j in range(6, 6 + n):
        pivot = A[i, j, j]
        if not pivot > 0.0:
            return False
        inverse = 1.0 / math.sqrt(pivot)
        A[i, j, j] = inverse
        for c in range(j + 1, 6 + n):
            A[i, j, c] *= inverse
        for r in range(j + 1, 6 + n):
            f = A[i, j, r]
            for c in range(r, 6 + n):
                A[i, r, c] -= f * A[i, j, c]
        for a in range(6):
            f = A[i, a, j] * inverse
            A[i, a, j] = f
            for c in range(j + 1, 6 + n):
                A[i, a, c] -= f * A[i, j, c]
    for a in range(6):
        for b in range(a, 6):
            x = A[i, a, b]
            for k in range(6, 6 + n):
                x -= A[i, a, k] * A[i, b, k]
            A[i, a, b] = x
            A[i, b, a] = x
    return True


@part
def inertia_times(A, i, v, w):
    """A_rr (v, w)"""
    f = (
        A[i, 0, 0] * v[0] + A[i, 0, 1] * v[1] + A[i, 0, 2] * v[2] + A[i, 0, 3] * w[0] + A[i, 0, 4] * w[1] + A[i, 0, 5] * w[2],
        A[i, 1, 0] * v[0] + A[i, 1, 1] * v[1] + A[i, 1, 2] * v[2] + A[i, 1, 3] * w[0] + A[i, 1, 4] * w[1] + A[i, 1, 5] * w[2],
        A[i, 2, 0] * v[0] + A[i, 2, 1] * v[1] + A[i, 2, 2] * v[2] + A[i, 2, 3] * w[0] + A[i, 2, 4] * w[1] + A[i, 2, 5] * w[2],
    )
    n = (
        A[i, 3, 0] * v[0] + A[i, 3, 1] * v[1] + A[i, 3, 2] * v[2] + A[i, 3, 3] * w[0] + A[i, 3, 4] * w[1] + A[i, 3, 5] * w[2],
        A[i, 4, 0] * v[0] + A[i, 4, 1] * v[1] + A[i, 4, 2] * v[2] + A[i, 4, 3] * w[0] + A[i, 4, 4] * w[1] + A[i, 4, 5] * w[2],
        A[i, 5, 0] * v[0] + A[i, 5, 1] * v[1] + A[i, 5, 2] * v[2] + A[i, 5, 3] * w[0] + A[i, 5, 4] * w[1] + A[i, 5, 5] * w[2],
    )
    return f, n


@part
def eliminate_joint(link, drive, body, A, velocity, i):
    """One joint velocity after the other: U = M* c/√D, D = c·M* c + κ, M* −= U Uᵀ; for driven ones U = M* c of what is left."""
    to = link[i, L_S]
    nv = link[i, L_NV]
    for back in range(nv):
        k = nv - 1 - back
        if drive[to + k] >= 0:
            continue
        v = load3_at(body, i, COLUMNS + 6 * k)
        w = load3_at(body, i, COLUMNS + 6 * k + 3)
        f, n = inertia_times(A, i, v, w)
        pivot = dot(v, f) + dot(w, n) + velocity[SLOPE, to + k]
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
    for k in range(nv):
        if drive[to + k] >= 0:
            f, n = inertia_times(A, i, load3_at(body, i, COLUMNS + 6 * k), load3_at(body, i, COLUMNS + 6 * k + 3))
            store3_at(body, i, PASSED + 6 * k, f)
            store3_at(body, i, PASSED + 6 * k + 3, n)
    return True


@part
def load_block(A, i, a, b):
    """3×3 block of A[i] at (a, b)."""
    return (
        A[i, a, b], A[i, a, b + 1], A[i, a, b + 2], A[i, a + 1, b], A[i, a + 1, b + 1], A[i, a + 1, b + 2],
        A[i, a + 2, b], A[i, a + 2, b + 1], A[i, a + 2, b + 2],
    )  # fmt: skip


@part
def turned_block(R, A, i, a, b):
    """R B Rᵀ of the 3×3 block B of A[i] at (a, b)."""
    return matmul(matmul(R, load_block(A, i, a, b)), (R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8]))


@part
def tilde_times(x, B):
    """x̃ B"""
    a = cross(x, (B[0], B[3], B[6]))
    b = cross(x, (B[1], B[4], B[7]))
    c = cross(x, (B[2], B[5], B[8]))
    return (a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2])


@part
def times_tilde(B, x):
    """B x̃"""
    a = cross((B[0], B[1], B[2]), x)
    b = cross((B[3], B[4], B[5]), x)
    c = cross((B[6], B[7], B[8]), x)
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


@part
def difference(A, B):
    """A − B of 3×3 matrices"""
    return (
        A[0] - B[0], A[1] - B[1], A[2] - B[2], A[3] - B[3], A[4] - B[4], A[5] - B[5], A[6] - B[6], A[7] - B[7], A[8] - B[8],
    )  # fmt: skip


@part
def carried_inertia(body, A, i, T):
    """T[:, :6] = Ad(X⁻¹)ᵀ M*_i Ad(X⁻¹): the articulated inertia in the axes of the parent body, at its origin."""
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


@part
def hand_to_parent(body, A, modes, i, p, n, elastic, B, T):
    """A[p] += [1 Ψ]ᵀ M [1 Ψ] with the carried inertia M of body i and the modes Ψ of the parent's frame (n of them)."""
    carried_inertia(body, A, i, B)
    for a in range(6):
        for b in range(6):
            A[p, a, b] += B[a, b]
    if not elastic:
        return
    for a in range(6):
        for k in range(n):
            T[a, k] = 0.0
        for b in range(6):
            f = B[a, b]
            for k in range(n):
                T[a, k] += f * modes[i, CARRIER + b, k]
        for k in range(n):
            A[p, a, 6 + k] += T[a, k]
    for k in range(n):
        a, b, c = modes[i, CARRIER, k], modes[i, CARRIER + 1, k], modes[i, CARRIER + 2, k]
        d, e, f = modes[i, CARRIER + 3, k], modes[i, CARRIER + 4, k], modes[i, CARRIER + 5, k]
        for l in range(k, n):
            A[p, 6 + k, 6 + l] += a * T[0, l] + b * T[1, l] + c * T[2, l] + d * T[3, l] + e * T[4, l] + f * T[5, l]


@part
def articulate(link, drive, body, A, modes, velocity, B, T):
    """Eliminate all bodies from leaves to root; A holds their matrices. Returns 0, or −1 − body where one is indefinite."""
    for back in range(link.shape[0]):
        i = link.shape[0] - 1 - back
        n = link[i, L_NF]
        if n > 0:
            if link[i, L_OWN] == 1:
                to_own_frame(A, modes, i, n, T)
            if not eliminate_modes(A, i, n):
                return -1 - i
        if not eliminate_joint(link, drive, body, A, velocity, i):
            return -1 - i
        p = link[i, L_PARENT]
        if p >= 0:
            hand_to_parent(body, A, modes, i, p, link[p, L_NF], link[i, L_CARRIER] == 1, B, T)
    return 0


@part
def modal_load(P, i, row, k, f, n):
    """P[i, row:row+6, k] · (f, n)"""
    return (
        P[i, row, k] * f[0] + P[i, row + 1, k] * f[1] + P[i, row + 2, k] * f[2]
        + P[i, row + 3, k] * n[0] + P[i, row + 4, k] * n[1] + P[i, row + 5, k] * n[2]
    )  # fmt: skip


@part
def inward_modes(A, i, n, half, at):
    """half[at …] ← L⁻¹ half; returns the wrench Y half that goes on."""
    a0, a1, a2, a3, a4, a5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    y = at - 6
    for j in range(6, 6 + n):
        x = half[y + j] * A[i, j, j]
        half[y + j] = x
        for c in range(j + 1, 6 + n):
            half[y + c] -= x * A[i, j, c]
        a0 += A[i, 0, j] * x
        a1 += A[i, 1, j] * x
        a2 += A[i, 2, j] * x
        a3 += A[i, 3, j] * x
        a4 += A[i, 4, j] * x
        a5 += A[i, 5, j] * x
    return (a0, a1, a2), (a3, a4, a5)


@part
def inward_body(link, drive, body, A, modes, velocity, i, given, known, half, at):
    """half[at …] = L⁻¹ of the loads on body i (wrench in LOAD, generalized in TAU); hands the rest to its parent.

    At driven velocities the generalized load of what the body carries; ``known`` 1.0: they have the values ``given``, 0.0: none.
    """
    to = link[i, L_S]
    nv = link[i, L_NV]
    n = link[i, L_NF]
    f = load3_at(body, i, LOAD)
    m = load3_at(body, i, LOAD + 3)
    if n > 0:
        for k in range(n):
            half[at + nv + k] = velocity[TAU, to + nv + k]
        if link[i, L_OWN] == 1:
            for k in range(n):
                half[at + nv + k] -= modal_load(modes, i, OWN, k, f, m)
        v, w = inward_modes(A, i, n, half, at + nv)
        f = sub(f, v)
        m = sub(m, w)
    driven = False
    for back in range(nv):
        k = nv - 1 - back
        if drive[to + k] >= 0:
            driven = True
            continue
        c = COLUMNS + 6 * k
        x = velocity[PIVOT, to + k] * (velocity[TAU, to + k] + dot(load3_at(body, i, c), f) + dot(load3_at(body, i, c + 3), m))
        half[at + k] = x
        f = sub(f, scale(x, load3_at(body, i, PASSED + 6 * k)))
        m = sub(m, scale(x, load3_at(body, i, PASSED + 6 * k + 3)))
    if driven:
        v, w = f, m
        for k in range(nv):
            if drive[to + k] >= 0:
                c = COLUMNS + 6 * k
                half[at + k] = velocity[TAU, to + k] + dot(load3_at(body, i, c), v) + dot(load3_at(body, i, c + 3), w)
                x = known * given[to + k]
                f = sub(f, scale(x, load3_at(body, i, PASSED + 6 * k)))
                m = sub(m, scale(x, load3_at(body, i, PASSED + 6 * k + 3)))
    store3_at(body, i, LOAD, f)
    store3_at(body, i, LOAD + 3, m)
    p = link[i, L_PARENT]
    if p >= 0:
        f, m = wrench_to_parent(load9_at(body, i, POSE), load3_at(body, i, POSE + 9), f, m)
        increase3_at(body, p, LOAD, f)
        increase3_at(body, p, LOAD + 3, m)
        if link[i, L_CARRIER] == 1:
            o = link[p, L_S] + link[p, L_NV]
            for k in range(link[p, L_NF]):
                velocity[TAU, o + k] += modal_load(modes, i, CARRIER, k, f, m)


@part
def inward_loads(link, drive, body, A, modes, velocity, given):
    """HALF = L⁻¹ of all loads; ``given`` holds the values of driven velocities."""
    for back in range(link.shape[0]):
        i = link.shape[0] - 1 - back
        inward_body(link, drive, body, A, modes, velocity, i, given, 1.0, velocity[HALF], link[i, L_S])


@part
def modal_twist(P, i, row, n, x, at):
    """Σ_k P[i, row:row+6, k] x[at + k]"""
    a0, a1, a2, a3, a4, a5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(n):
        f = x[at + k]
        a0 += P[i, row, k] * f
        a1 += P[i, row + 1, k] * f
        a2 += P[i, row + 2, k] * f
        a3 += P[i, row + 3, k] * f
        a4 += P[i, row + 4, k] * f
        a5 += P[i, row + 5, k] * f
    return (a0, a1, a2), (a3, a4, a5)


@part
def outward_modes(A, i, n, v, w, half, x, at):
    """x[at …] = L⁻ᵀ(half − Yᵀ V)"""
    for k in range(n):
        x[at + k] = half[at + k] - (
            A[i, 0, 6 + k] * v[0] + A[i, 1, 6 + k] * v[1] + A[i, 2, 6 + k] * v[2]
            + A[i, 3, 6 + k] * w[0] + A[i, 4, 6 + k] * w[1] + A[i, 5, 6 + k] * w[2]
        )  # fmt: skip
    for back in range(n):
        r = n - 1 - back
        y = x[at + r]
        for c in range(r + 1, n):
            y -= A[i, 6 + r, 6 + c] * x[at + c]
        x[at + r] = y * A[i, 6 + r, 6 + r]


@part
def outward_driven(link, drive, body, velocity, i, v, w, x, ns):
    """Adds the driven velocities to V = (v, w); their multipliers −λ go to x[ns + row]."""
    to = link[i, L_S]
    for k in range(link[i, L_NV]):
        if drive[to + k] >= 0:
            v = add(v, scale(x[to + k], load3_at(body, i, COLUMNS + 6 * k)))
            w = add(w, scale(x[to + k], load3_at(body, i, COLUMNS + 6 * k + 3)))
    for k in range(link[i, L_NV]):
        row = drive[to + k]
        if row >= 0:
            y = dot(load3_at(body, i, PASSED + 6 * k), v) + dot(load3_at(body, i, PASSED + 6 * k + 3), w)
            x[ns + row] = velocity[HALF, to + k] - y - velocity[SLOPE, to + k] * x[to + k]
    return v, w


@part
def outward_solution(link, drive, body, A, modes, velocity, x, ns):
    """x[:ns] ← L⁻ᵀ HALF, outward; driven entries are known, their multipliers −λ go to x[ns + row].

    JOINT_WRENCH becomes M*_i Ṽ_i minus what the loads pass on: the wrench of the joint on body i for the rates x.
    """
    for i in range(link.shape[0]):
        to = link[i, L_S]
        nv = link[i, L_NV]
        n = link[i, L_NF]
        p = link[i, L_PARENT]
        v = (0.0, 0.0, 0.0)
        w = (0.0, 0.0, 0.0)
        if p >= 0:
            v = load3_at(body, p, TWIST)
            w = load3_at(body, p, TWIST + 3)
            if link[i, L_CARRIER] == 1:
                dv, dw = modal_twist(modes, i, CARRIER, link[p, L_NF], x, link[p, L_S] + link[p, L_NV])
                v = add(v, dv)
                w = add(w, dw)
            v, w = twist_to_child(load9_at(body, i, POSE), load3_at(body, i, POSE + 9), v, w)
        f, m = inertia_times(A, i, v, w)
        store3_at(body, i, JOINT_WRENCH, sub(f, load3_at(body, i, LOAD)))
        store3_at(body, i, JOINT_WRENCH + 3, sub(m, load3_at(body, i, LOAD + 3)))
        v, w = outward_driven(link, drive, body, velocity, i, v, w, x, ns)
        for k in range(nv):
            if drive[to + k] < 0:
                y = dot(load3_at(body, i, PASSED + 6 * k), v) + dot(load3_at(body, i, PASSED + 6 * k + 3), w)
                y = (velocity[HALF, to + k] - y) * velocity[PIVOT, to + k]
                x[to + k] = y
                v = add(v, scale(y, load3_at(body, i, COLUMNS + 6 * k)))
                w = add(w, scale(y, load3_at(body, i, COLUMNS + 6 * k + 3)))
        if n > 0:
            outward_modes(A, i, n, v, w, velocity[HALF], x, to + nv)
            if link[i, L_OWN] == 1:
                dv, dw = modal_twist(modes, i, OWN, n, x, to + nv)
                v = sub(v, dv)
                w = sub(w, dw)
        store3_at(body, i, TWIST, v)
        store3_at(body, i, TWIST + 3, w)

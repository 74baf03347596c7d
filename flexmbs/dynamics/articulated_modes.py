"""Elimination of the modes of one body, and products with the factor of its modal block.

    A_ff = L Lᵀ,   Y = A_rf L⁻ᵀ,   A_rr ← A_rr − Y Yᵀ = A_rr − A_rf A_ff⁻¹ A_fr,

the Schur complement of the elastic block. L has two forms: a full one, and for diagonal modal
matrices with one child on the modes a semiseparable one, a diagonal plus the strictly lower
triangle of a product of rank six, which costs O(nf) instead of O(nf³).

Theory: docs/theory.md, sections 20 and 24. Jain and Rodriguez (1992), J. Guid. Control Dyn. 15,
1453, for the recursion with modes; Golub and Van Loan, Matrix Computations, the chapter on special
linear systems, for Cholesky's method; Vandebril, Van Barel and Mastronardi, Matrix Computations and
Semiseparable Matrices I (2008), for factors of this structure.
"""

import math

from flexmbs._jit import called, part
from flexmbs.dynamics.articulated_work import CARRIER, DENSE, HALF, L_CHILD, L_NF, L_NV, L_S


@called
def to_own_frame(A, Phi, i, n, T):
    """Transform the matrix of body i to the twist of its own frame.

    For modes that move this frame, V = Ṽ − Φ̄ q̇_f: the congruence [[1, −Φ̄], [0, 1]]ᵀ A [[1, −Φ̄],
    [0, 1]], that is A_rf ← A_rf − A_rr Φ̄, A_ff ← A_ff − Φ̄ᵀ (A_rf − A_rr Φ̄) − A_fr Φ̄ (upper
    triangle). T (6, nf) is workspace.
    """
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


@called
def eliminate_modes(A, i, n):
    """Eliminate n modes: A_ff = L Lᵀ, A_rr ← A_rr − Y Yᵀ; False if A_ff is indefinite.

    Lᵀ is stored above the diagonal, the reciprocal pivots on it.
    """
    for j in range(6, 6 + n):
        pivot = A[i, j, j]
        if not pivot > 0.0:
            return False
        inverse = 1.0 / math.sqrt(pivot)
        # reciprocal pivot: the sweeps multiply and need no division
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
    for k in range(6, 6 + n):
        less_square_of(A[i], k)
    return True


@called
def modes_on_a_spring(art, i):
    """Eliminate modes with A_ff = D + Ψᵀ M Ψ (one elastic joint frame) in O(nf).

    D is diagonal, M (6×6) the inertia of one child.

    L = diag(l) + tril(Ψᵀ G, −1): u = P ψ_k, l_k² = d_k + ψ_k·u, g_k = u/l_k, P ← P − g_k g_kᵀ from
    P = M; Y = A_rf L⁻ᵀ: z = a_k − Wᵀψ_k, y_k = z/l_k, W ← W + g_k y_kᵀ from W = 0; A_rr −= y_k
    y_kᵀ. Row 6 + k of A keeps g_k and 1/l_k. L is semiseparable: products with its inverse pass one
    wrench along the modes. M is in art.carried, W in art.T.

    Everything is done in one loop, so that the processor updates W and A_rr while it waits for the
    next pivot, which depends on the previous ones through P alone. For the same reason P is kept in
    variables (its upper triangle), sums are formed in pairs, and no root occurs in the update of P.
    """
    modes, n, child = art.modes, art.link[i, L_NF], art.link[i, L_CHILD]
    w, M, W = art.A[i], art.carried[i], art.T
    p00, p01, p02, p03, p04, p05 = M[0, 0], M[0, 1], M[0, 2], M[0, 3], M[0, 4], M[0, 5]
    p11, p12, p13, p14, p15 = M[1, 1], M[1, 2], M[1, 3], M[1, 4], M[1, 5]
    p22, p23, p24, p25 = M[2, 2], M[2, 3], M[2, 4], M[2, 5]
    p33, p34, p35, p44, p45, p55 = M[3, 3], M[3, 4], M[3, 5], M[4, 4], M[4, 5], M[5, 5]
    for a in range(6):
        for b in range(6):
            W[a, b] = 0.0
    for k in range(6, 6 + n):
        u0, u1, u2, u3, u4, u5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        a, b, c, d, e, f = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if child >= 0:
            a, b, c = (
                modes[child, CARRIER, k - 6],
                modes[child, CARRIER + 1, k - 6],
                modes[child, CARRIER + 2, k - 6],
            )
            d, e, f = (
                modes[child, CARRIER + 3, k - 6],
                modes[child, CARRIER + 4, k - 6],
                modes[child, CARRIER + 5, k - 6],
            )
            u0 = (p00 * a + p01 * b) + (p02 * c + p03 * d) + (p04 * e + p05 * f)
            u1 = (p01 * a + p11 * b) + (p12 * c + p13 * d) + (p14 * e + p15 * f)
            u2 = (p02 * a + p12 * b) + (p22 * c + p23 * d) + (p24 * e + p25 * f)
            u3 = (p03 * a + p13 * b) + (p23 * c + p33 * d) + (p34 * e + p35 * f)
            u4 = (p04 * a + p14 * b) + (p24 * c + p34 * d) + (p44 * e + p45 * f)
            u5 = (p05 * a + p15 * b) + (p25 * c + p35 * d) + (p45 * e + p55 * f)
        pivot = w[k, k] + ((u0 * a + u1 * b) + (u2 * c + u3 * d) + (u4 * e + u5 * f))
        if not pivot > 0.0:
            return False
        share = 1.0 / pivot
        inverse = math.sqrt(share)
        w[k, k] = inverse
        if child >= 0:
            for r in range(6):
                w[r, k] -= (
                    (W[0, r] * a + W[1, r] * b)
                    + (W[2, r] * c + W[3, r] * d)
                    + (W[4, r] * e + W[5, r] * f)
                )
            a, b, c, d, e, f = (
                u0 * share,
                u1 * share,
                u2 * share,
                u3 * share,
                u4 * share,
                u5 * share,
            )
            p00, p01, p02, p03, p04, p05 = (
                p00 - u0 * a,
                p01 - u0 * b,
                p02 - u0 * c,
                p03 - u0 * d,
                p04 - u0 * e,
                p05 - u0 * f,
            )
            p11, p12, p13, p14, p15 = (
                p11 - u1 * b,
                p12 - u1 * c,
                p13 - u1 * d,
                p14 - u1 * e,
                p15 - u1 * f,
            )
            p22, p23, p24, p25 = p22 - u2 * c, p23 - u2 * d, p24 - u2 * e, p25 - u2 * f
            p33, p34, p35 = p33 - u3 * d, p34 - u3 * e, p35 - u3 * f
            p44, p45, p55 = p44 - u4 * e, p45 - u4 * f, p55 - u5 * f
            for r in range(6):
                z = w[r, k]
                W[0, r] += a * z
                W[1, r] += b * z
                W[2, r] += c * z
                W[3, r] += d * z
                W[4, r] += e * z
                W[5, r] += f * z
            w[k, 0], w[k, 1], w[k, 2] = u0 * inverse, u1 * inverse, u2 * inverse
            w[k, 3], w[k, 4], w[k, 5] = u3 * inverse, u4 * inverse, u5 * inverse
        for r in range(6):
            w[r, k] *= inverse
        less_square_of(w, k)
    return True


@part
def less_square_of(w, k):
    """A_rr ← A_rr − y yᵀ with the column y = w[:6, k], kept in registers."""
    y0, y1, y2, y3, y4, y5 = w[0, k], w[1, k], w[2, k], w[3, k], w[4, k], w[5, k]
    for r in range(6):
        f = w[r, k]
        w[r, 0] -= f * y0
        w[r, 1] -= f * y1
        w[r, 2] -= f * y2
        w[r, 3] -= f * y3
        w[r, 4] -= f * y4
        w[r, 5] -= f * y5


@part
def modal_load(P, i, row, k, f, n):
    """Generalized load P[i, row:row+6, k] · (f, n) of mode k by a wrench (f, n)."""
    return (
        P[i, row, k] * f[0] + P[i, row + 1, k] * f[1] + P[i, row + 2, k] * f[2]
        + P[i, row + 3, k] * n[0] + P[i, row + 4, k] * n[1] + P[i, row + 5, k] * n[2]
    )  # fmt: skip


@part
def inward_modes(A, i, n, half, at):
    """half[at …] ← L⁻¹ half by forward substitution.

    Returns the wrench Y L⁻¹ half, which is subtracted from the load that is passed on.
    """
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
def inward_along_modes(art, i, half, at):
    """Pass modal loads to the body as `inward_modes` does, for L of modes on a spring, O(nf).

    The wrench Σ_l g_l x_l of the preceding modes is passed along.
    """
    modes, n, child = art.modes, art.link[i, L_NF], art.link[i, L_CHILD]
    a0, a1, a2, a3, a4, a5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    f = (0.0, 0.0, 0.0)
    t = (0.0, 0.0, 0.0)
    w = art.A[i]
    for k in range(6, 6 + n):
        x = half[at + k - 6]
        if child >= 0:
            x -= modal_load(modes, child, CARRIER, k - 6, f, t)
        x *= w[k, k]
        half[at + k - 6] = x
        f = (f[0] + w[k, 0] * x, f[1] + w[k, 1] * x, f[2] + w[k, 2] * x)
        t = (t[0] + w[k, 3] * x, t[1] + w[k, 4] * x, t[2] + w[k, 5] * x)
        a0 += w[0, k] * x
        a1 += w[1, k] * x
        a2 += w[2, k] * x
        a3 += w[3, k] * x
        a4 += w[4, k] * x
        a5 += w[5, k] * x
    return (a0, a1, a2), (a3, a4, a5)


@part
def modal_twist(P, i, row, n, x, at):
    """Twist Σ_k P[i, row:row+6, k] x[at + k] of a frame by its modes, as (v, ω)."""
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
def outward_along_modes(art, i, x, at):
    """x[at …] ← L⁻ᵀ x, for L of modes on a spring, in O(nf).

    The twist Σ_l ψ_l x_l of the later modes is passed along.
    """
    modes, n, child = art.modes, art.link[i, L_NF], art.link[i, L_CHILD]
    v = (0.0, 0.0, 0.0)
    t = (0.0, 0.0, 0.0)
    w = art.A[i]
    for back in range(n):
        k = n - 1 - back
        r = 6 + k
        y = x[at + k] - (
            w[r, 0] * v[0]
            + w[r, 1] * v[1]
            + w[r, 2] * v[2]
            + w[r, 3] * t[0]
            + w[r, 4] * t[1]
            + w[r, 5] * t[2]
        )
        y *= w[r, r]
        x[at + k] = y
        if child >= 0:
            o = CARRIER
            v = (
                v[0] + modes[child, o, k] * y,
                v[1] + modes[child, o + 1, k] * y,
                v[2] + modes[child, o + 2, k] * y,
            )
            t = (
                t[0] + modes[child, o + 3, k] * y,
                t[1] + modes[child, o + 4, k] * y,
                t[2] + modes[child, o + 5, k] * y,
            )


@part
def outward_modes(art, i, twist, x):
    """Accelerations x = L⁻ᵀ (half − Yᵀ V) of the modes of body i.

    V = (v, ω): ``twist`` of the frame.
    """
    A, half, n = art.A, art.velocity[HALF], art.link[i, L_NF]
    at = art.link[i, L_S] + art.link[i, L_NV]
    v, w = twist
    for k in range(n):
        x[at + k] = half[at + k] - (
            A[i, 0, 6 + k] * v[0] + A[i, 1, 6 + k] * v[1] + A[i, 2, 6 + k] * v[2]
            + A[i, 3, 6 + k] * w[0] + A[i, 4, 6 + k] * w[1] + A[i, 5, 6 + k] * w[2]
        )  # fmt: skip
    if art.link[i, L_CHILD] != DENSE:
        outward_along_modes(art, i, x, at)
        return
    for back in range(n):
        r = n - 1 - back
        y = x[at + r]
        for c in range(r + 1, n):
            y -= A[i, 6 + r, 6 + c] * x[at + c]
        x[at + r] = y * A[i, 6 + r, 6 + r]

"""Elimination of the modes of one body: A_ff = L Lᵀ, Y = A_rf L⁻ᵀ, A_rr −= Y Yᵀ, and products with L⁻¹ and L⁻ᵀ.

Two forms of L: a full one, and for diagonal modal matrices with one child on the modes a semiseparable one, that costs O(n).
"""

import math

from flexmbs._jit import part
from flexmbs.dynamics.articulated_work import CARRIER, DENSE


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
    less_square(A, i, n)
    return True


@part
def modes_on_a_spring(A, modes, i, n, child, P):
    """As `eliminate_modes` for A_ff = D + Ψᵀ M Ψ with a diagonal D and the inertia M (6×6) of one child, in O(n).

    L = diag(l) + tril(Ψᵀ G, −1): l_k² = d_k + ψ_k·P ψ_k, g_k = P ψ_k / l_k, P ← P − g_k g_kᵀ from P = M. Row 6 + k of A keeps
    g_k and 1/l_k. L is semiseparable: products with its inverse pass one wrench along the modes.
    """
    w = A[i]
    for k in range(6, 6 + n):
        a, b, c, d, e, f = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        pivot = w[k, k]
        if child >= 0:
            p0, p1, p2 = modes[child, CARRIER, k - 6], modes[child, CARRIER + 1, k - 6], modes[child, CARRIER + 2, k - 6]
            p3, p4, p5 = modes[child, CARRIER + 3, k - 6], modes[child, CARRIER + 4, k - 6], modes[child, CARRIER + 5, k - 6]
            a = P[0, 0] * p0 + P[0, 1] * p1 + P[0, 2] * p2 + P[0, 3] * p3 + P[0, 4] * p4 + P[0, 5] * p5
            b = P[1, 0] * p0 + P[1, 1] * p1 + P[1, 2] * p2 + P[1, 3] * p3 + P[1, 4] * p4 + P[1, 5] * p5
            c = P[2, 0] * p0 + P[2, 1] * p1 + P[2, 2] * p2 + P[2, 3] * p3 + P[2, 4] * p4 + P[2, 5] * p5
            d = P[3, 0] * p0 + P[3, 1] * p1 + P[3, 2] * p2 + P[3, 3] * p3 + P[3, 4] * p4 + P[3, 5] * p5
            e = P[4, 0] * p0 + P[4, 1] * p1 + P[4, 2] * p2 + P[4, 3] * p3 + P[4, 4] * p4 + P[4, 5] * p5
            f = P[5, 0] * p0 + P[5, 1] * p1 + P[5, 2] * p2 + P[5, 3] * p3 + P[5, 4] * p4 + P[5, 5] * p5
            pivot += a * p0 + b * p1 + c * p2 + d * p3 + e * p4 + f * p5
        if not pivot > 0.0:
            return False
        inverse = 1.0 / math.sqrt(pivot)
        w[k, k] = inverse
        a, b, c, d, e, f = a * inverse, b * inverse, c * inverse, d * inverse, e * inverse, f * inverse
        w[k, 0], w[k, 1], w[k, 2], w[k, 3], w[k, 4], w[k, 5] = a, b, c, d, e, f
        if child >= 0:
            for r in range(6):
                x = w[k, r]
                P[r, 0] -= x * a
                P[r, 1] -= x * b
                P[r, 2] -= x * c
                P[r, 3] -= x * d
                P[r, 4] -= x * e
                P[r, 5] -= x * f
    return True


@part
def coupling_of_modes(A, modes, i, n, child, W):
    """Y = A_rf L⁻ᵀ with the semiseparable L, A_rr −= Y Yᵀ; ``W`` (6, 6) is scratch."""
    w = A[i]
    for a in range(6):
        for b in range(6):
            W[a, b] = 0.0
    for k in range(6, 6 + n):
        y0, y1, y2, y3, y4, y5 = w[0, k], w[1, k], w[2, k], w[3, k], w[4, k], w[5, k]
        if child >= 0:
            for c in range(6):
                f = modes[child, CARRIER + c, k - 6]
                y0 -= f * W[c, 0]
                y1 -= f * W[c, 1]
                y2 -= f * W[c, 2]
                y3 -= f * W[c, 3]
                y4 -= f * W[c, 4]
                y5 -= f * W[c, 5]
        f = w[k, k]
        y0, y1, y2, y3, y4, y5 = f * y0, f * y1, f * y2, f * y3, f * y4, f * y5
        w[0, k], w[1, k], w[2, k], w[3, k], w[4, k], w[5, k] = y0, y1, y2, y3, y4, y5
        if child >= 0:
            for c in range(6):
                f = w[k, c]
                W[c, 0] += f * y0
                W[c, 1] += f * y1
                W[c, 2] += f * y2
                W[c, 3] += f * y3
                W[c, 4] += f * y4
                W[c, 5] += f * y5
    less_square(A, i, n)


@part
def less_square(A, i, n):
    """A_rr −= Y Yᵀ, one mode after the other: its six numbers stay in registers."""
    w = A[i]
    for k in range(6, 6 + n):
        y0, y1, y2, y3, y4, y5 = w[0, k], w[1, k], w[2, k], w[3, k], w[4, k], w[5, k]
        for a in range(6):
            f = w[a, k]
            w[a, 0] -= f * y0
            w[a, 1] -= f * y1
            w[a, 2] -= f * y2
            w[a, 3] -= f * y3
            w[a, 4] -= f * y4
            w[a, 5] -= f * y5


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
def inward_along_modes(A, modes, i, n, child, half, at):
    """As `inward_modes` with the semiseparable L."""
    a0, a1, a2, a3, a4, a5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    f = (0.0, 0.0, 0.0)
    t = (0.0, 0.0, 0.0)
    w = A[i]
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
def outward_along_modes(A, modes, i, n, child, x, at):
    """x[at …] ← L⁻ᵀ x with the semiseparable L."""
    v = (0.0, 0.0, 0.0)
    t = (0.0, 0.0, 0.0)
    w = A[i]
    for back in range(n):
        k = n - 1 - back
        r = 6 + k
        y = x[at + k] - (w[r, 0] * v[0] + w[r, 1] * v[1] + w[r, 2] * v[2] + w[r, 3] * t[0] + w[r, 4] * t[1] + w[r, 5] * t[2])
        y *= w[r, r]
        x[at + k] = y
        if child >= 0:
            o = CARRIER
            v = (v[0] + modes[child, o, k] * y, v[1] + modes[child, o + 1, k] * y, v[2] + modes[child, o + 2, k] * y)
            t = (t[0] + modes[child, o + 3, k] * y, t[1] + modes[child, o + 4, k] * y, t[2] + modes[child, o + 5, k] * y)


@part
def outward_modes(A, modes, i, n, child, v, w, half, x, at):
    """x[at …] = L⁻ᵀ(half − Yᵀ V)"""
    for k in range(n):
        x[at + k] = half[at + k] - (
            A[i, 0, 6 + k] * v[0] + A[i, 1, 6 + k] * v[1] + A[i, 2, 6 + k] * v[2]
            + A[i, 3, 6 + k] * w[0] + A[i, 4, 6 + k] * w[1] + A[i, 5, 6 + k] * w[2]
        )  # fmt: skip
    if child != DENSE:
        outward_along_modes(A, modes, i, n, child, x, at)
        return
    for back in range(n):
        r = n - 1 - back
        y = x[at + r]
        for c in range(r + 1, n):
            y -= A[i, 6 + r, 6 + c] * x[at + c]
        x[at + r] = y * A[i, 6 + r, 6 + r]

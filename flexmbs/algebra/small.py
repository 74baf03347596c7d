"""3-vectors and 3×3 matrices as tuples, which stay in registers and allocate no memory.

A matrix is (xx, xy, xz, yx, yy, yz, zx, zy, zz), row major.
"""

from flexmbs._jit import as_part, part
from flexmbs.algebra import vectors

add, sub, scale, dot, cross = map(
    as_part, (vectors.add, vectors.sub, vectors.scale, vectors.dot, vectors.cross)
)
mul, tmul = as_part(vectors.mul), as_part(vectors.tmul)

ZERO3 = (0.0, 0.0, 0.0)
EYE3 = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@part
def load3_at(a, i, o):
    """Read a vector from entries o … o+2 of row i."""
    return (a[i, o], a[i, o + 1], a[i, o + 2])


@part
def store3_at(a, i, o, v):
    """Write a vector to entries o … o+2 of row i."""
    a[i, o] = v[0]
    a[i, o + 1] = v[1]
    a[i, o + 2] = v[2]


@part
def increase3_at(a, i, o, v):
    """Add a vector to entries o … o+2 of row i."""
    a[i, o] += v[0]
    a[i, o + 1] += v[1]
    a[i, o + 2] += v[2]


@part
def load9_at(a, i, o):
    """Read a 3×3 matrix from entries o … o+8 of row i."""
    return (
        a[i, o],
        a[i, o + 1],
        a[i, o + 2],
        a[i, o + 3],
        a[i, o + 4],
        a[i, o + 5],
        a[i, o + 6],
        a[i, o + 7],
        a[i, o + 8],
    )


@part
def store9_at(a, i, o, m):
    """Write a matrix to entries o … o+8 of row i."""
    a[i, o] = m[0]
    a[i, o + 1] = m[1]
    a[i, o + 2] = m[2]
    a[i, o + 3] = m[3]
    a[i, o + 4] = m[4]
    a[i, o + 5] = m[5]
    a[i, o + 6] = m[6]
    a[i, o + 7] = m[7]
    a[i, o + 8] = m[8]


@part
def neg(a):
    """−a for a tuple of three numbers."""
    return (-a[0], -a[1], -a[2])


@part
def matmul(A, B):
    """Product A B of 3×3 matrices given as nine numbers."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@part
def tmatmul(A, B):
    """Product Aᵀ B of 3×3 matrices given as nine numbers."""
    return (
        A[0] * B[0] + A[3] * B[3] + A[6] * B[6],
        A[0] * B[1] + A[3] * B[4] + A[6] * B[7],
        A[0] * B[2] + A[3] * B[5] + A[6] * B[8],
        A[1] * B[0] + A[4] * B[3] + A[7] * B[6],
        A[1] * B[1] + A[4] * B[4] + A[7] * B[7],
        A[1] * B[2] + A[4] * B[5] + A[7] * B[8],
        A[2] * B[0] + A[5] * B[3] + A[8] * B[6],
        A[2] * B[1] + A[5] * B[4] + A[8] * B[7],
        A[2] * B[2] + A[5] * B[5] + A[8] * B[8],
    )


@part
def largest(x):
    """Largest absolute value max |x|; NaN if an entry of x is NaN."""
    size = 0.0
    for a in range(x.shape[0]):
        each = abs(x[a])
        if each > size or each != each:
            size = each
    return size


@part
def largest_over(x, sizes):
    """Largest |x|/size over the leading entries that have sizes; NaN if any entry is NaN."""
    size = 0.0
    for a in range(sizes.shape[0]):
        each = abs(x[a]) / sizes[a]
        if each > size or each != each:
            size = each
    return size


@part
def split_solution(x, sd, lam):
    """ṡ and λ from the solution x = (ṡ, −λ) of [[M, Gᵀ], [G, 0]] x = (k, γ)."""
    ns = sd.shape[0]
    for a in range(ns):
        sd[a] = x[a]
    for a in range(lam.shape[0]):
        lam[a] = -x[ns + a]

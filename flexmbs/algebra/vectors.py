"""Vectors and matrices as tuples, for law kernels (`flexmbs.law_kernel`) and all others."""

import math

from flexmbs.law_kernel import LawPart


@LawPart
def load3(a, o):
    """Read a vector from entries o … o+2."""
    return (a[o], a[o + 1], a[o + 2])


@LawPart
def load9(a, o):
    """Read a 3×3 matrix from entries o … o+8."""
    return (a[o], a[o + 1], a[o + 2], a[o + 3], a[o + 4], a[o + 5], a[o + 6], a[o + 7], a[o + 8])


@LawPart
def store3(a, o, v):
    """Write a vector to entries o … o+2."""
    a[o] = v[0]
    a[o + 1] = v[1]
    a[o + 2] = v[2]


@LawPart
def add(a, b):
    """a + b for tuples of three numbers."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@LawPart
def sub(a, b):
    """a − b for tuples of three numbers."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@LawPart
def scale(s, a):
    """s a for a number and a tuple of three numbers."""
    return (s * a[0], s * a[1], s * a[2])


@LawPart
def dot(a, b):
    """Scalar product a · b of tuples of three numbers."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@LawPart
def cross(a, b):
    """Cross product a × b of tuples of three numbers."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@LawPart
def mul(A, x):
    """Product A x of a 3×3 matrix (nine numbers) and a vector."""
    return (
        A[0] * x[0] + A[1] * x[1] + A[2] * x[2],
        A[3] * x[0] + A[4] * x[1] + A[5] * x[2],
        A[6] * x[0] + A[7] * x[1] + A[8] * x[2],
    )


@LawPart
def tmul(A, x):
    """Product Aᵀ x of a transposed 3×3 matrix (nine numbers) and a vector."""
    return (
        A[0] * x[0] + A[3] * x[1] + A[6] * x[2],
        A[1] * x[0] + A[4] * x[1] + A[7] * x[2],
        A[2] * x[0] + A[5] * x[1] + A[8] * x[2],
    )


@LawPart
def across(n):
    """Unit vector perpendicular to n and to the coordinate axis farthest from n."""
    a, b, c = abs(n[0]), abs(n[1]), abs(n[2])
    e = (0.0, 0.0, 1.0)
    if a <= b and a <= c:
        e = (1.0, 0.0, 0.0)
    elif b <= c:
        e = (0.0, 1.0, 0.0)
    t = cross(n, e)
    return scale(1.0 / math.sqrt(dot(t, t)), t)

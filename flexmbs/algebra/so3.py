"""Rotations: exponential, logarithm, tangent operator, unit Euler parameters (scalar first).

Rotation vector θ, R = exp(θ̃); the tangent operator T(θ) maps θ̇ to the angular velocity in the
rotated axes, ω = T(θ) θ̇ with T = 1 − b θ̃ + c θ̃², b = (1 − cos θ)/θ², c = (θ − sin θ)/θ³ (Brüls,
Cardona, Arnold 2012, eq. A.12).
"""

import math

import numpy as np

from flexmbs._jit import part
from flexmbs.algebra.small import add, cross, dot, scale

SMALL = 1e-2  # rad², θ²: the series are exact to round-off below, the closed forms above


@part
def exp_coefficients(t2):
    """(sin θ/θ, (1 − cos θ)/θ², (θ − sin θ)/θ³) from θ²."""
    if t2 < SMALL:
        a = 1.0 - t2 / 6.0 * (1.0 - t2 / 20.0 * (1.0 - t2 / 42.0 * (1.0 - t2 / 72.0)))
        b = 0.5 - t2 / 24.0 * (1.0 - t2 / 30.0 * (1.0 - t2 / 56.0 * (1.0 - t2 / 90.0)))
        c = 1.0 / 6.0 - t2 / 120.0 * (1.0 - t2 / 42.0 * (1.0 - t2 / 72.0 * (1.0 - t2 / 110.0)))
        return a, b, c
    t = math.sqrt(t2)
    a = math.sin(t) / t
    half = math.sin(0.5 * t)
    return a, 2.0 * half * half / t2, (1.0 - a) / t2


@part
def exp_so3(v):
    """Rotation matrix R = exp(ṽ) of a rotation vector."""
    a, b, _ = exp_coefficients(dot(v, v))
    x, y, z = v
    return (
        1.0 - b * (y * y + z * z),
        b * x * y - a * z,
        b * x * z + a * y,
        b * x * y + a * z,
        1.0 - b * (x * x + z * z),
        b * y * z - a * x,
        b * x * z - a * y,
        b * y * z + a * x,
        1.0 - b * (x * x + y * y),
    )


@part
def log_so3(R):
    """Rotation vector of R, angle in [0, π]."""
    ax = (0.5 * (R[7] - R[5]), 0.5 * (R[2] - R[6]), 0.5 * (R[3] - R[1]))
    s = math.sqrt(dot(ax, ax))
    c = 0.5 * (R[0] + R[4] + R[8] - 1.0)
    if c > -0.9:
        if s < 1e-8:
            return ax
        return scale(math.atan2(s, c) / s, ax)
    p = quaternion_of(R)
    n = math.sqrt(p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    f = 2.0 * math.atan2(n, p[0]) / n
    return (f * p[1], f * p[2], f * p[3])


@part
def tangent(th, x):
    """T(θ) x: angular velocity in rotated axes from the rate x of the rotation vector."""
    _, b, c = exp_coefficients(dot(th, th))
    tx = cross(th, x)
    ttx = cross(th, tx)
    return (
        x[0] - b * tx[0] + c * ttx[0],
        x[1] - b * tx[1] + c * ttx[1],
        x[2] - b * tx[2] + c * ttx[2],
    )


@part
def tangent_transposed(th, x):
    """Product T(θ)ᵀ x = x + b θ̃x + c θ̃²x of the transposed tangent operator."""
    _, b, c = exp_coefficients(dot(th, th))
    tx = cross(th, x)
    ttx = cross(th, tx)
    return (
        x[0] + b * tx[0] + c * ttx[0],
        x[1] + b * tx[1] + c * ttx[1],
        x[2] + b * tx[2] + c * ttx[2],
    )


@part
def tangent_inverse_transposed(th, x):
    """T(θ)⁻ᵀ x = x − ½ θ̃x + e θ̃²x,  e = (1 − a/(2b))/θ²,  |θ| < 2π.

    a = sin θ/θ, b = (1 − cos θ)/θ².
    """
    t2 = dot(th, th)
    if t2 < SMALL:
        e = 1.0 / 12.0 + t2 / 720.0 * (1.0 + t2 / 42.0 * (1.0 + t2 / 40.0))
    else:
        a, b, _ = exp_coefficients(t2)
        e = (1.0 - 0.5 * a / b) / t2
    tx = cross(th, x)
    ttx = cross(th, tx)
    return (
        x[0] - 0.5 * tx[0] + e * ttx[0],
        x[1] - 0.5 * tx[1] + e * ttx[1],
        x[2] - 0.5 * tx[2] + e * ttx[2],
    )


@part
def tangent_rate(th, thd):
    """Rate Ṫ(θ) θ̇ of the tangent operator times the rate of the rotation vector.

    −ḃ θ×θ̇ + ċ θ×(θ×θ̇) + c θ̇×(θ×θ̇); the term −b θ̇×θ̇ vanishes
    """
    t2 = dot(th, th)
    _, b, c = exp_coefficients(t2)
    if t2 < SMALL:
        db = -1.0 / 12.0 + t2 / 180.0 * (1.0 - 3.0 * t2 / 112.0 * (1.0 - 2.0 * t2 / 135.0))
        dc = -1.0 / 60.0 + t2 / 1260.0 * (1.0 - t2 / 48.0 * (1.0 - 2.0 * t2 / 165.0))
    else:
        a, _, _ = exp_coefficients(t2)
        db = (a - 2.0 * b) / t2
        dc = (b - 3.0 * c) / t2
    rate = dot(th, thd)
    w = cross(th, thd)
    return add(add(scale(-db * rate, w), scale(dc * rate, cross(th, w))), scale(c, cross(thd, w)))


@part
def matrix_of(p0, p1, p2, p3):
    """Rotation matrix of the Euler parameters p/|p|.

    They are normalized since |p| differs from 1 in the stages of explicit methods.
    """
    f = 2.0 / (p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3)
    return (
        1.0 - f * (p2 * p2 + p3 * p3),
        f * (p1 * p2 - p0 * p3),
        f * (p1 * p3 + p0 * p2),
        f * (p1 * p2 + p0 * p3),
        1.0 - f * (p1 * p1 + p3 * p3),
        f * (p2 * p3 - p0 * p1),
        f * (p1 * p3 - p0 * p2),
        f * (p2 * p3 + p0 * p1),
        1.0 - f * (p1 * p1 + p2 * p2),
    )


@part
def quaternion_of(R):
    """Unit Euler parameters of R, p0 ≥ 0 (Shepperd's choice of the largest component)."""
    tr = R[0] + R[4] + R[8]
    if tr > R[0] and tr > R[4] and tr > R[8]:
        p0, p1, p2, p3 = 1.0 + tr, R[7] - R[5], R[2] - R[6], R[3] - R[1]
    elif R[0] > R[4] and R[0] > R[8]:
        p0, p1, p2, p3 = R[7] - R[5], 1.0 + 2.0 * R[0] - tr, R[1] + R[3], R[2] + R[6]
    elif R[4] > R[8]:
        p0, p1, p2, p3 = R[2] - R[6], R[1] + R[3], 1.0 + 2.0 * R[4] - tr, R[5] + R[7]
    else:
        p0, p1, p2, p3 = R[3] - R[1], R[2] + R[6], R[5] + R[7], 1.0 + 2.0 * R[8] - tr
    n = math.sqrt(p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3)
    if p0 < 0.0:
        n = -n
    return (p0 / n, p1 / n, p2 / n, p3 / n)


def rotation_matrix(p):
    """Rotation matrices (3, 3, …) of unit Euler parameters (4, …), without compilation."""
    return np.array(getattr(matrix_of, "py_func", matrix_of)(*p)).reshape(3, 3, *np.shape(p)[1:])


def euler_parameters(R):
    """Unit Euler parameters (4,) of a rotation matrix, without compilation."""
    return np.array(getattr(quaternion_of, "py_func", quaternion_of)(np.ravel(R)))


@part
def quaternion_product(a, b):
    """Product a ∘ b of quaternions."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@part
def quaternion_exp(v):
    """Unit Euler parameters of exp(ṽ)."""
    t2 = 0.25 * dot(v, v)
    a, _, _ = exp_coefficients(t2)
    return (math.cos(math.sqrt(t2)), 0.5 * a * v[0], 0.5 * a * v[1], 0.5 * a * v[2])

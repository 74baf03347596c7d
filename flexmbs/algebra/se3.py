"""Poses, twists and wrenches.

A pose (R, x) maps child coordinates to parent coordinates, y_parent = R y + x. A twist (v, w) is
the velocity of the frame's origin and its angular velocity, both in the frame's own axes; a wrench
(f, n) is its dual.
"""

from flexmbs._jit import part
from flexmbs.algebra.small import add, cross, mul, sub, tmul
from flexmbs.algebra.so3 import exp_coefficients, exp_so3


@part
def twist_to_child(R, x, v, w):
    """Ad(X⁻¹) V: twist of the parent's rigid motion at the child frame, in child axes."""
    return tmul(R, add(v, cross(w, x))), tmul(R, w)


@part
def twist_to_parent(R, x, v, w):
    """Ad(X) V: twist of the child's rigid motion at the parent frame, in parent axes."""
    wp = mul(R, w)
    return add(mul(R, v), cross(x, wp)), wp


@part
def wrench_to_parent(R, x, f, n):
    """Ad(X⁻¹)ᵀ W: wrench transferred from the child frame to the parent frame and axes."""
    fp = mul(R, f)
    return fp, add(mul(R, n), cross(x, fp))


@part
def wrench_to_child(R, x, f, n):
    """Ad(X)ᵀ W: wrench transferred from the parent frame to the child frame and axes."""
    return tmul(R, f), tmul(R, sub(n, cross(x, f)))


@part
def bracket(v1, w1, v2, w2):
    """Lie bracket ad(V1) V2 = (ω1×v2 + v1×ω2, ω1×ω2)."""
    return add(cross(w1, v2), cross(v1, w2)), cross(w1, w2)


@part
def exp_se3(v, w):
    """Pose (R, x) reached by a constant body twist (v, w) over unit time.

    x = (1 + b w̃ + c w̃²) v
    """
    t2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    _, b, c = exp_coefficients(t2)
    wv = cross(w, v)
    wwv = cross(w, wv)
    return exp_so3(w), (
        v[0] + b * wv[0] + c * wwv[0],
        v[1] + b * wv[1] + c * wwv[1],
        v[2] + b * wv[2] + c * wwv[2],
    )

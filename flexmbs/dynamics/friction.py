"""Friction as a smooth function of the sliding velocity."""

import math

from flexmbs._jit import part
from flexmbs.system.records import COULOMB, REGULARIZATION, STATIC, STRIBECK, VISCOUS

CHORD = 0.6  # part of the chord's slope: from 0.5 on Newton's method does not swing to and fro about standstill


@part
def joint_friction(p, f, v):
    """τ = −[F_c + (F_s − F_c) exp(−(η/v_s)²)] tanh(η/v_r) − c η of the rate η"""
    x = v / p[f, STRIBECK]
    size = p[f, COULOMB] + (p[f, STATIC] - p[f, COULOMB]) * math.exp(-x * x)
    return -size * math.tanh(v / p[f, REGULARIZATION]) - p[f, VISCOUS] * v


@part
def joint_friction_slope(p, f, v):
    """−∂τ/∂η, or that part of the chord −τ/η that keeps the iteration from overshooting where the law bends to standstill."""
    x = v / p[f, STRIBECK]
    rise = (p[f, STATIC] - p[f, COULOMB]) * math.exp(-x * x)
    size = p[f, COULOMB] + rise
    vr = p[f, REGULARIZATION]
    y = v / vr
    if abs(y) < 1e-4:
        return size / vr + p[f, VISCOUS]
    th = math.tanh(y)
    tangent = size * (1.0 - th * th) / vr - 2.0 * x / p[f, STRIBECK] * rise * th
    return max(tangent, CHORD * size * th / v) + p[f, VISCOUS]

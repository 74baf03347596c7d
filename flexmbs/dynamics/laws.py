"""Scalar laws of time f(t), with ḟ and f̈, in compiled code.

    ramp       f = f₀ + r (t − t₀) within t₀ … t₁, constant outside,
    smooth     f = f₀ + (f₁ − f₀) (10 u³ − 15 u⁴ + 6 u⁵),  u = (t − t₀)/T: velocity and acceleration vanish at both ends,
    sine       f = c + a sin(2π ν t + φ),
    table      piecewise cubic, constant outside.

User functions are called by address (15 ns when compiled). Theory: docs/theory.md, sections 14 and
39, where drives and forces use them.
"""

import math

from flexmbs._jit import as_part, call_address, called, part
from flexmbs.algebra.intervals import interval
from flexmbs.system.records import (
    LAW_CONSTANT,
    LAW_FUNCTION,
    LAW_RAMP,
    LAW_SINE,
    LAW_SMOOTH,
    LAW_TABLE,
)

interval_of = as_part(interval)


@called
def law_of_time(laws, k, t, io):
    """io ← (f, ḟ, f̈)(t) of law k.

    io (2, 48): workspace for user functions.
    """
    kind = laws.kind[k]
    at = laws.at[k]
    p = laws.value
    if kind == LAW_CONSTANT:
        return p[at], 0.0, 0.0
    if kind == LAW_RAMP:
        value, rate, start, end = p[at], p[at + 1], p[at + 2], p[at + 3]
        # right-continuous: a step that begins at a corner has the rate after it
        if t < start:
            return value, 0.0, 0.0
        if t >= end:
            return value + rate * (end - start), 0.0, 0.0
        return value + rate * (t - start), rate, 0.0
    if kind == LAW_SMOOTH:
        value, start, duration, initial = p[at], p[at + 1], p[at + 2], p[at + 3]
        u = (t - start) / duration
        if u <= 0.0:
            return initial, 0.0, 0.0
        if u >= 1.0:
            return value, 0.0, 0.0
        d = value - initial
        f = initial + d * u * u * u * (10.0 + u * (-15.0 + 6.0 * u))
        fd = d * 30.0 * u * u * (1.0 - u) * (1.0 - u) / duration
        return f, fd, d * 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / (duration * duration)
    if kind == LAW_SINE:
        amplitude, omega, phase, offset = p[at], 2.0 * math.pi * p[at + 1], p[at + 2], p[at + 3]
        a = omega * t + phase
        return (
            offset + amplitude * math.sin(a),
            amplitude * omega * math.cos(a),
            -amplitude * omega * omega * math.sin(a),
        )
    if kind == LAW_TABLE:
        return _table(p, at, t)
    if kind == LAW_FUNCTION:
        io[0, 0] = t
        call_address(laws.address[k], io[0], io[1])
        return io[1, 0], io[1, 1], io[1, 2]
    return math.nan, math.nan, math.nan


@part
def _table(p, at, t):
    """Piecewise cubic (f, ḟ, f̈)(t), constant outside.

    Parameters: count, knots (n), coefficients (n−1, 4) from the highest power.
    """
    n = int(p[at])
    knots = at + 1
    coefficients = knots + n
    first, end = p[knots], p[knots + n - 1]
    outside = t < first or t > end
    t = min(max(t, first), end)
    k = interval_of(p, knots, n, t)
    u = t - p[knots + k]
    c = coefficients + 4 * k
    f = ((p[c] * u + p[c + 1]) * u + p[c + 2]) * u + p[c + 3]
    if outside:
        return f, 0.0, 0.0
    return f, (3.0 * p[c] * u + 2.0 * p[c + 1]) * u + p[c + 2], 6.0 * p[c] * u + 2.0 * p[c + 1]

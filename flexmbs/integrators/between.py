"""States within a step of a method that knows its two ends: the dense output of generalized-α and of RATTLE.

Velocities are cubic in time, s(θ) from s and ṡ at both ends; displacements are their integral, corrected to meet the end of
the step: q(θ) = q_n ⊕ (h ∫₀^θ s + θ³ (hΔ − h ∫₀¹ s)), with q_{n+1} = q_n ⊕ hΔ. The error is of order h⁴ in q, h⁴ in s.
"""

from flexmbs._jit import part
from flexmbs._jit.address import entry
from flexmbs.algebra.hermite import cubic, cubic_integral
from flexmbs.integrators.course import AT, BEGUN, START, TIME, displace, take

NEAR = 1e-9  # of a step: as good as its end


@part
def part_of_step(course, t):
    """(θ, h) of a time within the last step; θ is 1 where the time is as good as its end."""
    h = course.clock[TIME] - course.clock[BEGUN]
    if t >= course.clock[TIME] - NEAR * h:
        return 1.0, h
    return (t - course.clock[BEGUN]) / h, h


@entry
def between_ends(memory, course, same, t, a, b):
    """The state at time t of the last step, into ``at``; ``now.d`` is hΔ."""
    start, now, at = course.start, course.now, course.at
    x, h = part_of_step(course, t)
    if x == 1.0:
        take(now, at)
        return 0
    for i in range(now.s.shape[0]):
        s0, s1, d0, d1 = start.s[i], now.s[i], h * start.sd[i], h * now.sd[i]
        whole = h * cubic_integral(s0, s1, d0, d1, 1.0)
        at.d[i] = h * cubic_integral(s0, s1, d0, d1, x) + x * x * x * (now.d[i] - whole)
        at.s[i] = cubic(s0, s1, d0, d1, x)
        at.sd[i] = start.sd[i] + x * (now.sd[i] - start.sd[i])
    displace(course, AT, START)
    for i in range(now.lam.shape[0]):
        at.lam[i] = start.lam[i] + x * (now.lam[i] - start.lam[i])
    for i in range(now.z.shape[0]):
        at.z[i] = cubic(start.z[i], now.z[i], h * start.zd[i], h * now.zd[i], x)
    for i in range(3):
        p0, p1 = start.power[i], now.power[i]
        left = (1.0 - x) * p0 + 0.5 * (1.0 - x * x) * (p1 - p0)
        at.w[i] = now.w[i] - h * left
    return 0


@entry
def between_linear(memory, course, same, t, a, b):
    """The state at time t of the last step, into ``at``: velocities linear in time, positions their integral."""
    start, now, at = course.start, course.now, course.at
    take(now, at)
    x, h = part_of_step(course, t)
    if x == 1.0:
        return 0
    for i in range(now.s.shape[0]):
        at.d[i] = x * now.d[i] + 0.5 * h * x * (x - 1.0) * (now.s[i] - start.s[i])
        at.s[i] = start.s[i] + x * (now.s[i] - start.s[i])
    displace(course, AT, START)
    for i in range(now.z.shape[0]):
        at.z[i] = start.z[i] + x * (now.z[i] - start.z[i])
    return 0


@entry
def nothing_kept(memory, course, same, h, a, b):
    """A method without memory beyond the state."""
    return 0

"""States within the last step of a method that knows its two ends: the dense output of generalized-α and of RATTLE.

Velocities are cubic in time, s(θ) from s and ṡ at both ends; displacements are their integral, corrected to meet the end of
the step: q(θ) = q_n ⊕ (h ∫₀^θ s + θ³ (hΔ − h ∫₀¹ s)), with q_{n+1} = q_n ⊕ hΔ. The error is of order h⁴ in q, h⁴ in s.
"""

from flexmbs._jit import part, seldom
from flexmbs.algebra.hermite import cubic, cubic_integral
from flexmbs.analysis.march.state import BEGUN, TIME, take
from flexmbs.dynamics.kinematics import displace

NEAR = 1e-9  # of a step: as good as its end


@part
def between(system, now, work, t):
    """The state at time t of the last step."""
    at, clock = now.at, now.clock
    h = clock[TIME] - clock[BEGUN]
    if t >= clock[TIME] - NEAR * h:
        take(now, at)
        return
    x = (t - clock[BEGUN]) / h
    for a in range(now.s.shape[0]):
        s0, s1, d0, d1 = now.s0[a], now.s[a], h * now.sd0[a], h * now.sd[a]
        whole = h * cubic_integral(s0, s1, d0, d1, 1.0)
        at.s[a] = h * cubic_integral(s0, s1, d0, d1, x) + x * x * x * (now.delta[a] - whole)
    displace(system.tree, system.joints, now.q0, at.s, at.q)
    for a in range(now.s.shape[0]):
        at.s[a] = cubic(now.s0[a], now.s[a], h * now.sd0[a], h * now.sd[a], x)
        at.sd[a] = now.sd0[a] + x * (now.sd[a] - now.sd0[a])
    for a in range(now.lam.shape[0]):
        at.lam[a] = now.lam0[a] + x * (now.lam[a] - now.lam0[a])
    for a in range(now.z.shape[0]):
        at.z[a] = cubic(now.z0[a], now.z[a], h * now.zd0[a], h * work.force_rate[a], x)
    for a in range(3):
        p0, p1 = now.power0[a], work.power[a]
        left = (1.0 - x) * p0 + 0.5 * (1.0 - x * x) * (p1 - p0)
        at.work[a] = now.work[a] - h * left


@seldom
def state_between(system, now, work, t):
    """`between` for Python."""
    between(system, now, work, t)

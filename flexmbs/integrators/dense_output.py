"""States within a step of a method that knows its two ends.

The dense output of generalized-α and of RATTLE. Velocities are cubic in time, s(θ) from s and ṡ at
both ends; displacements are their integral, corrected to match the end of the step:

    q(θ) = q_n ⊕ (h ∫₀^θ s + θ³ (hΔ − h ∫₀¹ s)),   q_{n+1} = q_n ⊕ hΔ,   0 ≤ θ ≤ 1.

The error is of order h⁴ in q and in s. Theory: docs/theory.md, sections 44 and 46. Hairer, Nørsett
and Wanner, Solving Ordinary Differential Equations I (1993), section II.6 (dense output, Hermite
interpolation).
"""

from flexmbs._jit import part
from flexmbs._jit.address import entry
from flexmbs.algebra.hermite import cubic, cubic_integral
from flexmbs.integrators.run_context import AT, START, displace, take

NEAR = 1e-9  # of a step: times this close to its end count as the end


@part
def part_of_step(context, t):
    """(θ, h): fraction θ of the last step, of length h, at time t; 1 at its end up to round-off."""
    h = context.clock.time - context.clock.begun
    if t >= context.clock.time - NEAR * h:
        return 1.0, h
    return (t - context.clock.begun) / h, h


@entry
def between_ends(memory, context, /, t):
    """``at`` ← state at time t of the last step, by Hermite interpolation of the velocities.

    ``state.d`` is hΔ. Powers are linear in time.
    """
    start, state, at = context.start, context.state, context.at
    x, h = part_of_step(context, t)
    if x == 1.0:
        take(state, at)
        return 0
    for i in range(state.s.shape[0]):
        s0, s1, d0, d1 = start.s[i], state.s[i], h * start.sd[i], h * state.sd[i]
        whole = h * cubic_integral(s0, s1, d0, d1, 1.0)
        # the cubic term brings the integral of s to hΔ: the dense output is continuous at the end
        # of the step
        at.d[i] = h * cubic_integral(s0, s1, d0, d1, x) + x * x * x * (state.d[i] - whole)
        at.s[i] = cubic(s0, s1, d0, d1, x)
        at.sd[i] = start.sd[i] + x * (state.sd[i] - start.sd[i])
    displace(context, AT, START)
    for i in range(state.lam.shape[0]):
        at.lam[i] = start.lam[i] + x * (state.lam[i] - start.lam[i])
    for i in range(state.z.shape[0]):
        at.z[i] = cubic(start.z[i], state.z[i], h * start.zd[i], h * state.zd[i], x)
    for i in range(3):
        p0, p1 = start.power[i], state.power[i]
        left = (1.0 - x) * p0 + 0.5 * (1.0 - x * x) * (p1 - p0)
        at.w[i] = state.w[i] - h * left
    return 0


@part
def between_linear(context, t):
    """``at`` ← state at time t of the last step, by linear velocities; returns θ.

    Force states and works are linear too; positions are the integral of velocities, d(θ) = θ hΔ + ½
    h θ (θ − 1) (s_{n+1} − s_n).
    """
    start, state, at = context.start, context.state, context.at
    take(state, at)
    x, h = part_of_step(context, t)
    if x == 1.0:
        return x
    for i in range(state.s.shape[0]):
        at.d[i] = x * state.d[i] + 0.5 * h * x * (x - 1.0) * (state.s[i] - start.s[i])
        at.s[i] = start.s[i] + x * (state.s[i] - start.s[i])
    displace(context, AT, START)
    for i in range(state.z.shape[0]):
        at.z[i] = start.z[i] + x * (state.z[i] - start.z[i])
    for i in range(3):
        at.w[i] = start.w[i] + x * (state.w[i] - start.w[i])
    return x


@entry
def nothing_kept(memory, context, /):
    """Placeholder for a method without memory beyond the state."""
    return 0

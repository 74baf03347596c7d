"""A stage of the ESDIRK method by Newton's method, and the projection on the constraints.

    s_i = base + hγ ṡ_i,   q_i = base + hγ H(q_i) s_i,   c = 1/(hγ),
    [[c² M + c D + K, Gᵀ], [G, 0]] (δ, −δλ) = −(r, (G ṡ − γ)/c²),   δṡ = c² δ.

Both use the same factor. ``memory`` is the Memory of `flexmbs.integrators.esdirk`. Theory:
docs/theory.md, section 47; Hairer and Wanner, Solving Ordinary Differential Equations II (1996),
section IV.8 (simplified Newton iterations, their stopping criterion).
"""

import math

from flexmbs._jit import called, part
from flexmbs.algebra.small import largest
from flexmbs.integrators.run_context import (
    DONE,
    NO_CONVERGENCE,
    NOT_FINITE,
    STATE,
    copy,
    correction,
    displace,
    evaluate_constraints,
    implicit_states,
    iteration_matrix,
    position_rates,
    residual,
)  # fmt: skip

# of the tolerance of a step: errors that Newton's method may leave, which add up over the steps
NEWTON = 1e-3
NEWTON_NEAR = 5e-2  # the same near a singular position, where corrections are noisy
SLOW = 0.2  # a slower contraction justifies a new factorization
TURNS = 8  # largest number of fixed-point iterations for q
ROUND_OFF = 1e-15  # of positions
GAP = 1e-2  # of atol: remaining error of the constraints
PROJECTIONS = 6
NEAR = 0.03  # of the largest pivot of a constraint row; below it, stages are projected too
STAGNATION = 1e-11  # smaller corrections that no longer shrink are round-off
# ratio of two corrections from which they no longer shrink; with forces that depend on the reactions
# they cause, any smaller ratio is the contraction of those
STALLED, STALLED_LOADED = 0.5, 1.0
# of the largest multiplier: bounds of its last correction, `LOADS_OF_TOLERANCE` times rtol between
# them: reactions have the accuracy of the run, and loose runs cost no more iterations
LEAST_LOADS, LOADS, LOADS_OF_TOLERANCE = 1e-5, 1e-3, 10.0


@part
def size_of_velocities(memory, x, c):
    """Σ (c x / tolerance)² of velocity changes c x."""
    total = 0.0
    for i in range(memory.fast.shape[0]):
        total += (c * x[i] / memory.fast[i]) ** 2
    return total


@part
def share_of_states(memory, state, rate, other, c):
    """Largest difference c (ż − other) of the force states relative to their tolerances."""
    size = 0.0
    for a in range(other.shape[0]):
        each = (
            c * abs(rate[a] - other[a]) / (memory.control[1] + memory.control[0] * abs(state.z[a]))
        )
        if each > size or each != each:
            size = each
    return size


@part
def take_rates(memory, context, hg):
    """Set s, z and q of the stage in ``state`` from ṡ and ż, with the factor hg = h γ.

    s = base + hγ ṡ, z = base + hγ ż, q = base + hγ H(q) s by iteration. Returns the sum of squares
    of the change of q over its tolerances, negative if the iteration does not converge.
    """
    state, base = context.state, memory.base
    nq, ns = state.q.shape[0], state.s.shape[0]
    for i in range(ns):
        state.s[i] = base[nq + i] + hg * state.sd[i]
    for a in range(state.z.shape[0]):
        state.z[a] = base[nq + ns + a] + hg * state.zd[a]
    total = 0.0
    for turn in range(TURNS):
        position_rates(context, STATE)
        change = 0.0
        for i in range(nq):
            q = base[i] + hg * state.qd[i]
            each = abs(q - state.q[i])
            if turn == 0:
                total += (each / memory.near[i]) ** 2
            change = max(change, each)
            state.q[i] = q
        if change <= ROUND_OFF:
            return total
    return total if change <= 0.1 * memory.control[1] else -1.0


@part
def stage_correction(context, hg):
    """One Newton correction of ṡ and λ in ``state``, δṡ = c² δ.

    The residual of ``state`` must be up to date. The displacement δ remains in exchange.x.
    """
    state, x, gdd = context.state, context.exchange.x, context.exchange.gdd
    ns = state.s.shape[0]
    for a in range(ns):
        x[a] = -context.exchange.r[a]
    for a in range(state.lam.shape[0]):
        x[ns + a] = -gdd[a] * hg * hg
    correction(context, STATE)
    for a in range(ns):
        state.sd[a] += x[a] / (hg * hg)
    for a in range(state.lam.shape[0]):
        state.lam[a] -= x[ns + a]
    context.counts.iterations += 1


@part
def renewed(memory, context, h, hg):
    """Factor the iteration matrix at ``state``; returns a status of `RunContext`.

    The residual with slopes must be up to date.
    """
    memory.last[1] = 0.0
    status = iteration_matrix(context, STATE, 1.0 / (hg * hg), 1.0 / hg)
    if status == DONE:
        memory.last[1] = h
        memory.last[2] = SLOW
        memory.singular[0] = context.exchange.gauge.independent
    return status


@part
def longest(x, first, n):
    """Largest absolute value of n numbers of x from the first."""
    size = 0.0
    for i in range(first, first + n):
        size = max(size, abs(x[i]))
    return size


@called
def close(memory, context, point, here, t):
    """Project positions and velocities of a point on the constraints with the current factor.

    Returns the largest remaining |g| (m or rad). Newton's steps G δ = −g and G Δs = −(G s + γ̄),
    least in the norm of c² M + c D + K (theory, section 47).
    """
    x, g, gd = context.exchange.x, context.exchange.g, context.exchange.gd
    ns, nc = here.s.shape[0], here.lam.shape[0]
    left = 0.0
    for _ in range(PROJECTIONS):
        evaluate_constraints(context, point, t)
        before = left
        left = max(largest(g), largest(gd) / (1.0 + largest(here.s)))
        if left <= GAP * memory.control[1] * memory.singular[0] or (
            before > 0.0 and left > 0.8 * before
        ):
            return largest(g)
        for velocities in range(2):
            for i in range(ns):
                x[i] = 0.0
            for a in range(nc):
                # nonholonomic rows have no positions: g of theirs is zero, and the correction may
                # not move along them
                holds = velocities == 1 or context.exchange.nonholonomic[a] == 0
                x[ns + a] = -(gd[a] if velocities == 1 else g[a]) if holds else 0.0
            correction(context, point)
            for i in range(ns):
                if velocities == 1:
                    here.s[i] += x[i]
                else:
                    here.d[i] = x[i]
        displace(context, point, point)
    evaluate_constraints(context, point, t)
    return largest(g)


@called
def solve_stage(memory, context, i, h, t):
    """Newton's method for ṡ and λ of stage i in ``state``.

    The matrix is factored again if corrections contract slowly. The iteration ends when size ·
    rate/(1 − rate), the sum of the further corrections, is below its share of the tolerance (Hairer
    and Wanner 1996, section IV.8), and when λ has converged too: rows that have rotated with a body
    by θ since the factorization span the same forces, so that positions and velocities are right
    while λ is corrected by Rᵀ(θ), with a relative error of 2 sin(θ/2). Forces that depend on the
    reactions they cause are not in the matrix: λ contracts with a rate that no step length and no
    factorization improves, for which there are more iterations. Returns a status of `RunContext`.
    """
    state, x = context.state, context.exchange.x
    hg = memory.tableau[i, i] * h
    ns, nc = state.s.shape[0], state.lam.shape[0]
    unknowns = state.q.shape[0] + ns
    before = 0.0
    load_before = 0.0
    before_fresh = False
    ended = False
    factored = False
    growths = 0
    near = memory.singular[0] < NEAR
    slow = memory.last[1] != h or memory.keeps == 0 or near
    loaded = context.exchange.loaded[0]
    stalled = STALLED if loaded == 0.0 else STALLED_LOADED
    moved = take_rates(memory, context, hg)
    for turn in range(memory.iterations + int(loaded)):
        fresh = slow
        factored = factored or fresh
        if moved < 0.0:
            return NO_CONVERGENCE
        if near:
            close(memory, context, STATE, state, t)
        copy(state.zd, memory.zd)
        implicit_states(context, hg, memory.base, unknowns)
        residual(context, STATE, t, slow)
        implicit_states(context, 0.0, memory.base, unknowns)
        if slow:
            status = renewed(memory, context, h, hg)
            if status != DONE:
                return status
            before = 0.0
            load_before = 0.0
        stage_correction(context, hg)
        moved = take_rates(memory, context, hg)
        size = math.sqrt((moved + size_of_velocities(memory, x, 1.0 / hg)) / max(unknowns, 1))
        size = max(size, share_of_states(memory, state, state.zd, memory.zd, hg))
        if not size < 1e30:
            return NOT_FINITE
        if not ended:
            # the first correction of a stage has no ratio: that of earlier stages with this factor
            # serves
            rate = size / before if before > 0.0 else memory.last[2]
            if before > 0.0:
                # a single small ratio must not end the next stages too early
                memory.last[2] = max(rate, 0.3 * memory.last[2])
            slowest = max(rate, memory.contraction)
            ended = slowest < 1.0 and size * slowest <= (NEWTON_NEAR if near else NEWTON) * (
                1.0 - slowest
            )
            # corrections that no longer shrink and are this small are round-off of the residual
            ended = ended or (rate > stalled and longest(x, 0, ns) <= STAGNATION)
            slow = rate > SLOW and before > 0.0 and not (loaded > 0.0 and factored)
            if turn >= memory.iterations and rate >= 1.0:
                return NO_CONVERGENCE
            if rate > 2.0:
                growths += 1
                if growths > 2:
                    return NO_CONVERGENCE
            before = size
        load = longest(x, ns, nc)
        if ended:
            largest_load = max(largest(state.lam), largest(context.start.lam))
            share = min(LOADS, max(LEAST_LOADS, LOADS_OF_TOLERANCE * memory.control[0]))
            ratio = load / load_before if load_before > 0.0 else 0.0
            following = ratio / (1.0 - ratio) if loaded > 0.0 and 0.5 < ratio < 1.0 else 1.0
            if load * following <= share * largest_load or load <= memory.noise[0]:
                return DONE
            # with a factor of this very state the next correction is round-off of the residual
            noisy = factored and load <= LOADS * largest_load if loaded > 0.0 else before_fresh
            if not fresh and noisy and ratio > stalled:
                memory.noise[0] = load
                return DONE
            slow = ratio > SLOW and not (loaded > 0.0 and factored)
        before_fresh = fresh
        load_before = load
    return NO_CONVERGENCE

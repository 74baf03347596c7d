"""Implicit Runge–Kutta method of order 5 on the index-1 equations: an ESDIRK pair.

Its steps are controlled by the error.

    y_i = y_n + h Σ_j a_ij ẏ_j,   ẏ = (H(q) s, ṡ, ż),   M ṡ_i − k − Gᵀ λ_i = 0,  G ṡ_i = γ  at (t_i, y_i):

the order is that for an ordinary differential equation. The constraints themselves are satisfied by
a projection at the end of each step, nearest in the norm of the iteration matrix, which moves stiff
coordinates least. The unknown of Newton's method is a displacement δ: δṡ = c² δ, δs = c δ with c =
1/(γh), and its matrix is [[c² M + c D + K, Gᵀ], [G, 0]] in every stage. Rates of force states and
Euler parameters are found by fixed-point iteration alongside.

Error: the difference e of the two orders, in positions e_q and velocities e_s, with stiff parts
filtered by the same matrix,

    (M + hγ D + h²γ² K) e'_s = M e_s − hγ K e_q,   e'_q = e_q + hγ e'_s.

For a coordinate held by a spring much faster than the step, positions retain their order,
velocities have order two and forces one (Lubich 1993), and the filter hides it: velocities are
therefore monitored unfiltered too, and so is the work of forces.

Theory: docs/theory.md, section 47. Kennedy and Carpenter (2019), Appl. Numer. Math. 146, 221;
Hairer and Wanner, Solving Ordinary Differential Equations II (1996), sections IV.6 (diagonally
implicit methods) and IV.8 (implementation, filtered error); Shampine (1984), BIT 24, 558; Lubich
(1993), ZAMP 44, 1022.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from flexmbs._jit import called, part
from flexmbs._jit.address import entry
from flexmbs.algebra.small import largest
from flexmbs.checked_arguments import checked_arguments
from flexmbs.integrators.dense_output import part_of_step
from flexmbs.integrators.esdirk_stage import NEAR, close, size_of_velocities, solve_stage
from flexmbs.integrators.esdirk_tableau import AHEAD, DENSE, GUESS, STAGES, WEIGHTS, A, C
from flexmbs.integrators.integrator import (
    ATOL,
    RTOL,
    Facts,
    Integrator,
    MethodCalls,
    check_iterations,
    check_step,
    check_tolerances,
)  # fmt: skip
from flexmbs.integrators.run_context import (
    AT,
    DONE,
    NO_CONVERGENCE,
    START,
    STATE,
    Control,
    RunContext,
    copy,
    correction,
    displace,
    normalize,
    position_rates,
    residual,
    settle_accelerations,
    take,
)  # fmt: skip

SHARE = 0.2  # of the tolerance that the error of a step may have: errors of steps add up
# times the tolerance: for velocities of stiff coordinates, which are of lower order (Lubich, ZAMP
# 44 (1993) 1022)
STIFF = 100.0
WORK = 10.0  # times the tolerance: for the work of stiff forces, whose rates are off in the stages
LATE = 1.5  # largest number of steps by which rates of the last step are extrapolated
OPEN = 1e-6  # m or rad: with a larger |g| the loops count as open
FAR = 0.3  # larger distances from a singular position do not matter


@checked_arguments
@dataclass(frozen=True)
class ESDIRK(Integrator):
    """L-stable implicit Runge–Kutta method of order 5 with an embedded order 4.

    Controlled steps with ``rtol`` and ``atol``.

    For stiff and for smooth models, with constraints, in all coordinates. step: fixed step (s), or
    None for steps controlled by the error; of fixed steps rtol and atol set the tolerance of
    Newton's method. max_step: longest controlled step (s). Raises `InputError` for options outside
    of their ranges. Source: docs/theory.md, section 47; Kennedy and Carpenter, Appl. Numer. Math.
    146 (2019) 221.

    Examples
    --------
    >>> import math
    >>> import flexmbs as fm
    >>> model = fm.Model("block dropped on a mount", gravity=(0, 0, -10.0))
    >>> block = model.add(fm.RigidBody("block", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    >>> mount = model.add(
    ...     fm.Bushing("mount", model.ground, block, k=(1.0, 1.0, math.pi**2, 1.0, 1.0, 1.0))
    ... )
    >>> run = fm.simulate(
    ...     model, t_end=1.0, output_step=0.1, integrator=fm.ESDIRK(rtol=1e-8, atol=1e-10)
    ... )
    >>> lowest = run.body("block").position[-1, 2]
    >>> (
    ...     round(lowest.item(), 6),
    ...     round(-2 * 10.0 / math.pi**2, 6),
    ... )  # −2 m g/k, half a period after the start
    (-2.026424, -2.026424)
    """

    step: float | None = None
    rtol: float = RTOL
    atol: float = ATOL
    max_step: float | None = None
    max_iterations: int = 20

    name: ClassVar[str] = "esdirk"
    uses: ClassVar[tuple[str, ...]] = ("matrix", "correction", "displace", "rates")
    needs: ClassVar[str] = "residual"
    projects_last: ClassVar[bool] = True
    control: ClassVar[Control] = Control(0.2, 0.2, 4.0, steady=True)

    def __post_init__(self) -> None:
        check_step("step", self.step)
        check_step("max_step", self.max_step)
        check_tolerances(self.rtol, self.atol)
        check_iterations("max_iterations", self.max_iterations)

    def memory(self, facts: Facts) -> "Memory":
        """Memory of the method: Butcher tableau, tolerances, stages and Newton matrix."""
        n, nz, z = facts.ns, facts.nz, np.zeros
        whole = facts.nq + n + nz + 3
        return Memory(
            A,
            C,
            WEIGHTS,
            DENSE,
            GUESS,
            AHEAD,
            np.array([self.rtol, self.atol]),
            int(self.max_iterations),
            int(facts.free_bodies),
            facts.contraction,
            z((STAGES, whole)),
            z((STAGES, facts.nc)),
            z(whole),
            z(nz),
            z(facts.nq),
            z(facts.nq),
            z(n),
            z(1),
            z(facts.nq),
            z(n),
            z(n),
            z(n),
            z(3),
            np.array([1.0, 0.0, 0.0]),
            z(1),
        )

    def begin(self, memory: Any, context: RunContext) -> None:
        """Store the initial coordinates."""
        memory.first[:] = context.state.q

    @property
    def calls(self) -> MethodCalls:
        return MethodCalls(step_at, finish_at, within_at, jump_at)

    @property
    def longest_step(self) -> float:
        return math.inf if self.max_step is None else self.max_step


class Memory(NamedTuple):
    """Coefficients, options, rates of the stages, sizes of the motion so far."""

    tableau: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray  # (3, STAGES)
    dense: np.ndarray
    guess: np.ndarray
    ahead: np.ndarray
    control: np.ndarray  # (2,) rtol, atol
    iterations: int
    keeps: int  # 1: factorizations are used in following stages and steps
    contraction: float  # with a new factor, at least
    k: np.ndarray  # (STAGES, n) ẏ
    lam: np.ndarray  # (STAGES, nc)
    base: np.ndarray  # (n,) y of a stage without its own rate
    zd: np.ndarray  # (nz,) rates of force states before an evaluation
    first: np.ndarray  # (nq,) positions at the start of the run
    travel: np.ndarray  # (nq,) largest distance from them
    speed: np.ndarray  # (ns,) largest velocity
    work: np.ndarray  # (1,) largest work
    near: np.ndarray  # (nq,) tolerances of positions in this step
    fast: np.ndarray  # (ns,) tolerances of velocities
    e_q: np.ndarray  # (ns,) errors of the step
    e_s: np.ndarray  # (ns,)
    # (3,) length of the last step, step of the factorization that stands, 0 none; contraction
    last: np.ndarray
    # (3,) independence of the constraints at the last factor, distance from a singular position,
    # its rate
    singular: np.ndarray
    noise: np.ndarray  # (1,) size of corrections of multipliers that are round-off


@part
def measure(memory, start, h):
    """Set the tolerances of positions and velocities for a step from ``start`` of length h.

    atol + rtol · distance from the first position, and likewise for velocities.
    """
    rtol, atol = memory.control[0], memory.control[1]
    for i in range(start.q.shape[0]):
        memory.near[i] = atol + rtol * max(memory.travel[i], abs(h * start.qd[i]))
    for i in range(start.s.shape[0]):
        memory.fast[i] = atol + rtol * max(memory.speed[i], abs(start.s[i]))


@part
def first_guess(memory, context, h):
    """Guess ṡ and λ of the second stage from the previous step.

    The rates of the last step extrapolated, unless that step was much shorter.
    """
    state, start = context.state, context.start
    nq = start.q.shape[0]
    last = memory.last[0]
    if last == 0.0 or h > LATE * last:
        copy(start.sd, state.sd)
        copy(start.lam, state.lam)
        return
    x = 1.0 + memory.nodes[1] * h / last
    for i in range(state.sd.shape[0]):
        state.sd[i] = 0.0
    for a in range(state.lam.shape[0]):
        state.lam[a] = 0.0
    for j in range(memory.k.shape[0]):
        w = 0.0
        for p in range(memory.ahead.shape[1]):
            w = x * w + memory.ahead[j, memory.ahead.shape[1] - 1 - p]
        for i in range(state.sd.shape[0]):
            state.sd[i] += w * memory.k[j, nq + i]
        for a in range(state.lam.shape[0]):
            state.lam[a] += w * memory.lam[j, a]


@part
def guess(memory, context, i):
    """Guess ṡ, λ and force rates of stage i by extrapolating the stages before."""
    state, yd = context.state, context.state.yd
    for m in range(yd.shape[0]):
        f = 0.0
        for j in range(i):
            f += memory.guess[i, j] * memory.k[j, m]
        yd[m] = f
    for a in range(state.lam.shape[0]):
        f = 0.0
        for j in range(i):
            f += memory.guess[i, j] * memory.lam[j, a]
        state.lam[a] = f


@part
def set_base(memory, context, i, h):
    """Base y_n + h Σ_j a_ij ẏ_j, j < i, of stage i: its state without its own rate."""
    y = context.start.y
    for m in range(y.shape[0]):
        f = 0.0
        for j in range(i):
            f += memory.tableau[i, j] * memory.k[j, m]
        memory.base[m] = y[m] + h * f


@part
def combine(memory, row, c, out):
    """out ← c Σ_j w_j ṡ_j over the stages, with row ``row`` of the weights.

    b − b̂ for velocities, (b − b̂) A for displacements.
    """
    at = memory.k.shape[1] - 3 - memory.zd.shape[0] - out.shape[0]
    for i in range(out.shape[0]):
        f = 0.0
        for j in range(memory.k.shape[0]):
            f += memory.weights[row, j] * memory.k[j, at + i]
        out[i] = c * f


@called
def error_of_step(memory, context, h):
    """Norm of the filtered local error of the step relative to the tolerances.

    That of positions, e'_q = e_q + hγ e'_s, goes into context.local. Theory, section 47.
    """
    state, at, x = context.state, context.at, context.exchange.x
    ns, nz = state.s.shape[0], state.z.shape[0]
    c_s = 1.0 / (memory.tableau[1, 1] * h)
    combine(memory, 0, h, memory.e_s)
    combine(memory, 1, h * h, memory.e_q)
    take(state, at)
    for i in range(ns):
        at.d[i] = -memory.e_q[i]
        at.sd[i] = state.sd[i] + c_s * memory.e_s[i]
    displace(context, AT, STATE)
    # at q ⊕ (−e_q) and ṡ + c e_s the residual is M c e_s − K e_q to first order: the filter needs
    # no product with K
    residual(context, AT, context.clock.time + h, False)
    for i in range(ns):
        x[i] = context.exchange.r[i]
    for a in range(state.lam.shape[0]):
        x[ns + a] = 0.0
    correction(context, AT)
    for i in range(ns):
        context.local[i] = memory.e_q[i] + x[i]
        at.d[i] = context.local[i]
    displace(context, AT, STATE)
    # unfiltered velocities at a hundred times the tolerance: the filter hides those of stiff
    # coordinates
    total = max(
        size_of_velocities(memory, x, c_s), size_of_velocities(memory, memory.e_s, 1.0 / STIFF)
    )
    for i in range(state.q.shape[0]):
        total += ((at.q[i] - state.q[i]) / memory.near[i]) ** 2
    error = math.sqrt(total / max(state.q.shape[0] + ns, 1))
    at_z = state.y.shape[0] - 3 - nz
    work = largest(state.w)
    for a in range(nz + 3):
        e = 0.0
        for j in range(memory.k.shape[0]):
            e += memory.weights[0, j] * memory.k[j, at_z + a]
        allowed = (
            abs(state.z[a]) * memory.control[0]
            if a < nz
            else WORK * max(work, memory.work[0]) * memory.control[0]
        )
        error = max(error, h * abs(e) / (memory.control[1] + allowed))
    return error


@part
def straddling(h, distance, rate):
    """Step length h, shortened if a stage would be near a singular position ahead.

    The position then lies half way between two stages. ``distance`` falls linearly with ``rate`` to
    0 there.
    """
    if rate >= 0.0 or distance >= FAR:
        return h
    left = -distance / rate
    if 0.05 * h < left < 0.42 * h:
        return 2.0 * left
    if 0.58 * h < left < 1.3 * h:
        return left / 1.5
    return h


@entry
def step_at(memory, context, /, h):
    """Kernel of an ESDIRK step of length h, whose end is in ``state``.

    Its error over the tolerance goes into the clock (theory, section 47).
    """
    state, start, clock = context.state, context.start, context.clock
    t = clock.time
    if clock.fixed <= 0.0:
        h = straddling(h, memory.singular[1], memory.singular[2])
        clock.taken = h
    if memory.singular[0] < NEAR:
        # near a singular position those of the last stage are off by what the projection moved,
        # over the distance from it
        status = settle_accelerations(context, START, start, t, False)
        memory.last[1] = 0.0
        if status != DONE:
            return status
    # the first stage is explicit: its rates are those at the start
    position_rates(context, START)
    measure(memory, start, h)
    first_guess(memory, context, h)
    # a step that fails leaves stages that are no guess for the next attempt; `finish_at` sets it
    # again
    memory.last[0] = 0.0
    copy(start.yd, memory.k[0])
    copy(start.lam, memory.lam[0])
    for i in range(1, memory.k.shape[0]):
        if i > 1:
            guess(memory, context, i)
        set_base(memory, context, i, h)
        status = solve_stage(memory, context, i, h, t + memory.nodes[i] * h)
        if status != DONE:
            memory.last[1] = 0.0
            return status
        copy(state.yd, memory.k[i])
        copy(state.lam, memory.lam[i])
    last = memory.base.shape[0] - 3
    for m in range(3):
        state.w[m] = memory.base[last + m] + memory.tableau[1, 1] * h * state.power[m]
    normalize(context, STATE)
    error = error_of_step(memory, context, h)
    if clock.fixed <= 0.0:
        clock.error = error / SHARE
    if close(memory, context, STATE, state, t + h) > OPEN:
        return NO_CONVERGENCE
    return DONE


@entry
def finish_at(memory, context, /, h):
    """Kernel after an accepted step: update step length, travel and distance from singularity."""
    state = context.state
    memory.last[0] = h
    distance = math.sqrt(memory.singular[0])
    memory.singular[2] = (distance - memory.singular[1]) / h if memory.singular[1] > 0.0 else 0.0
    memory.singular[1] = distance
    for i in range(state.q.shape[0]):
        memory.travel[i] = max(memory.travel[i], abs(state.q[i] - memory.first[i]))
    for i in range(state.s.shape[0]):
        memory.speed[i] = max(memory.speed[i], abs(state.s[i]))
    memory.work[0] = max(memory.work[0], largest(state.w))
    return 0


@entry
def jump_at(memory, context, /, t):
    """ṡ, λ, rates and powers of ``state`` after a jump of forces.

    Those before it are not used as a guess for the next step.
    """
    memory.last[0] = memory.last[1] = 0.0
    return settle_accelerations(context, STATE, context.state, t, False)


@part
def polynomial(dense, j, x):
    """(b_j(x), b_j′(x)): weight of stage j in dense output, and its derivative."""
    value = 0.0
    slope = 0.0
    last = dense.shape[1] - 1
    for p in range(dense.shape[1]):
        value = x * value + dense[j, last - p]
        slope = x * slope + (last - p + 1.0) * dense[j, last - p]
    return x * value, slope


@entry
def within_at(memory, context, /, t):
    """Kernel of dense output: state at time t of the last step, order 4, on the constraints.

    ṡ and λ by the slopes of b_j.
    """
    start, state, at = context.start, context.state, context.at
    x, h = part_of_step(context, t)
    if x == 1.0:
        take(state, at)
        return DONE
    copy(start.y, at.y)
    for m in range(at.yd.shape[0]):
        at.yd[m] = 0.0
    for m in range(at.lam.shape[0]):
        at.lam[m] = 0.0
    for j in range(memory.k.shape[0]):
        f, slope = polynomial(memory.dense, j, x)
        for m in range(at.y.shape[0]):
            at.y[m] += h * f * memory.k[j, m]
            at.yd[m] += slope * memory.k[j, m]
        for m in range(at.lam.shape[0]):
            at.lam[m] += slope * memory.lam[j, m]
    normalize(context, AT)
    if at.lam.shape[0] > 0:
        close(memory, context, AT, at, t)
    return DONE

"""Generalized-α on a Lie group, index 3:

    q_{n+1} = q_n ⊕ hΔ,   Δ = s_n + h ((½ − β) a_n + β a_{n+1}),   s_{n+1} = s_n + h ((1 − γ) a_n + γ a_{n+1}),
    (1 − α_m) a_{n+1} + α_m a_n = (1 − α_f) ṡ_{n+1} + α_f ṡ_n,
    α_m = (2ρ∞ − 1)/(ρ∞ + 1),   α_f = ρ∞/(ρ∞ + 1),   γ = ½ + α_f − α_m,   β = ¼ (γ + ½)²,

with M ṡ = k + Gᵀ λ and g(q) = 0 (nonholonomic rows: G s + γ̄ = 0) fulfilled at t_{n+1}. Newton's
unknown is δ, the change of hΔ; δs = γ/(βh) δ, δṡ = (1 − α_m)/(βh² (1 − α_f)) δ, and K_b (δ, −δλ) =
−(r, g).

With constraints a_n approximates ṡ(t_n + (α_m − α_f) h), and G s_n leaves its exact value by h² κ,
so that the step from there ends on g = 0. Both start so and are shifted where the step changes,
else multipliers and accelerations have errors of order h at first that fade slowly (order
reduction). Local error: h² (β − 1/6) (a_{n+1} − a_n).

Theory: docs/theory.md, section 46. Chung and Hulbert (1993), J. Appl. Mech. 60, 371 (parameters);
Arnold and Brüls (2007), Multibody Syst. Dyn. 18, 185 (index 3, convergence); Brüls, Cardona and
Arnold (2012), Mech. Mach. Theory 48, 121 (Lie group); Arnold, Brüls and Cardona (2015), Multibody
Syst. Dyn. 34, 53 (order reduction); Zienkiewicz and Xie (1991), Earthquake Eng. Struct. Dyn. 20,
871 (error); Géradin and Cardona, Flexible Multibody Dynamics (2001), on time integration.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs._jit.address import entry, invoke
from flexmbs.algebra.small import largest, largest_over
from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError
from flexmbs.integrators.dense_output import between_ends
from flexmbs.integrators.integrator import (
    ATOL,
    RTOL,
    Facts,
    Integrator,
    MethodCalls,
    check_iterations,
    check_step,
    check_tolerance,
    check_tolerances,
    is_number,
)  # fmt: skip
from flexmbs.integrators.run_context import (
    AT,
    DONE,
    NO_CONVERGENCE,
    NOT_FINITE,
    START,
    STATE,
    Control,
    RunContext,
    copy,
    correction,
    displace,
    evaluate_constraints,
    implicit_states,
    iteration_matrix,
    residual,
    settle_accelerations,
    settle_loads,
    take,
)  # fmt: skip

REFACTOR_RATE = 0.02  # a slower contraction justifies a new factorization
# a slower contraction with a new factor justifies another one if slopes of forces change within the
# step
NONLINEAR_RATE = 0.3
ACCELERATION_TOLERANCE = 1e3  # tolerance of accelerations over that of displacements
SAME_TOLERANCE = 1e-4  # of the run, which a step has too
SHARE = 1.0 / 15.0  # of the tolerance of the run: errors of steps grow until its end
NEWTON_SHARE = 1e-3  # of SHARE rtol: residual errors of Newton's method add up over the steps
MULTIPLIER_TOLERANCE = 1e-6  # of the largest multiplier
LOADS = 1e2  # times that: round-off of multipliers, with forces that depend on reactions
# times those without the error of the step: multipliers that locked friction leaves undetermined
LOCKED = 1e3
ROUND_OFF = 1e-14  # of corrections relative to comparable displacements
# relative change of s̈ and κ in a step above which they are not used for other steps
SMOOTH = 2.0
# of a step, for s̈ by differences: the second shows whether the first is constant over a step
JERK_STEPS = (0.05, 1.0)
SMOOTH_JERK = 0.5  # of their difference
FADING = 0.8  # decay of a size from step to step
SAME = 1e-6  # of a step: changes of its length that do not matter
# relative to comparable displacements and positions: smaller corrections that no longer shrink are
# round-off
STAGNATION = 1e-11
# indices into Memory.last: length of the last step; how constant κ and s̈ were from step to step, 0
# … 1; their sizes lately
LENGTH, CONSTANT, KAPPA, JERK, LAST = range(5)


@checked_arguments
@dataclass(frozen=True)
class GeneralizedAlpha(Integrator):
    """Implicit method of order 2 on the index-3 equations with numerical dissipation.

    rho_inf: spectral radius at infinite frequency, 1 no dissipation … 0 asymptotic annihilation.
    step: fixed step (s), or None for steps controlled by the local error, so that errors of the run
    follow ``rtol``, ``atol``. newton_tolerance: size of the last correction relative to the
    displacement of the step, of controlled ones at most rtol/15000. Raises `InputError` for options
    outside of their ranges. Source: docs/theory.md, section 46; Chung and Hulbert, J. Appl. Mech.
    60 (1993) 371; Arnold and Brüls, Multibody Syst. Dyn. 18 (2007) 185.

    Examples
    --------
    >>> import math
    >>> import flexmbs as fm
    >>> model = fm.Model("block dropped on a mount", gravity=(0, 0, -10.0))
    >>> block = model.add(fm.RigidBody("block", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    >>> mount = model.add(
    ...     fm.Bushing("mount", model.ground, block, k=(1.0, 1.0, math.pi**2, 1.0, 1.0, 1.0))
    ... )
    >>> run = fm.simulate(model, t_end=1.0, integrator=fm.GeneralizedAlpha(step=0.01, rho_inf=0.9))
    >>> lowest = run.body("block").position[-1, 2]
    >>> (
    ...     round(lowest.item(), 3),
    ...     round(-2 * 10.0 / math.pi**2, 3),
    ... )  # −2 m g/k, half a period after the start
    (-2.026, -2.026)
    """

    rho_inf: float = 0.8
    step: float | None = None
    rtol: float = RTOL
    atol: float = ATOL
    newton_tolerance: float = 1e-9
    max_iterations: int = 40

    name: ClassVar[str] = "generalized-alpha"
    uses: ClassVar[tuple[str, ...]] = ("matrix", "correction", "displace")
    needs: ClassVar[str] = "residual"
    # a new step costs a new factorization
    control: ClassVar[Control] = Control(1.0 / 3.0, 0.25, 3.0, 0.95, 1.6)
    begins_with_jerk: ClassVar[bool] = True
    # below it round-off in the many steps of a method of order 2 counts
    finest: ClassVar[float] = 1e-7

    def __post_init__(self) -> None:
        if not (is_number(self.rho_inf) and 0.0 <= self.rho_inf <= 1.0):
            raise InputError(f"integrator.rho_inf: {self.rho_inf!r} is not in 0 … 1")
        check_step("step", self.step)
        check_tolerances(self.rtol, self.atol)
        if self.step is None and self.rtol < self.finest:
            raise InputError(
                f"integrator.rtol: {self.rtol!r} is below {self.finest:g}, the limit of "
                "'generalized-alpha'; use 'esdirk'"
            )
        check_tolerance("newton_tolerance", self.newton_tolerance)
        check_iterations("max_iterations", self.max_iterations)

    def memory(self, facts: Facts) -> "Memory":
        """Memory of the method: coefficients, tolerances and Newton matrix."""
        # in absolute coordinates the matrix hardly changes along the motion; in joint coordinates
        # it follows the configuration, and a stale factor leaves errors in the directions of small
        # inertia
        n, z = facts.ns, np.zeros
        newton = (
            self.newton_tolerance
            if self.step
            else min(self.newton_tolerance, NEWTON_SHARE * SHARE * self.rtol)
        )
        return Memory(
            self.parameters(),
            float(newton),
            int(self.max_iterations),
            int(facts.free_bodies),
            int(facts.strongly_nonlinear),
            facts.contraction,
            self.tolerances(),
            z(1),
            z(n),
            z(n),
            z(n),
            z(n),
            z(n),
            z(n),
            z(facts.nc),
            z(LAST),
            z(facts.nz),
            facts.sizes,
            facts.places,
            z(2),
        )

    def begin(self, memory: Any, context: RunContext) -> None:
        """Initialize accelerations, jerk and Newton matrix at the initial state."""
        memory.a[:], memory.jerk[:] = context.state.sd, context.local
        memory.kappa[:] = memory.last[:] = memory.factor[:] = 0.0
        if memory.jerk.any():
            memory.last[CONSTANT] = 1.0
            own, at = int(context.records.memory), int(context.records.context)
            invoke(
                begin_at.address(memory, context, context), own, at, at, float(context.clock.next)
            )

    @property
    def calls(self) -> MethodCalls:
        return MethodCalls(step_at, finish_at, between_ends, jump_at)

    def tolerances(self) -> np.ndarray:
        """(rtol, atol) of the local error of a step, from those of the run.

        With a tolerance τ for the local error, of order h³, the error over a run is of order
        τ^(2/3): for one that falls with a share r of rtol itself, τ = r^(3/2).
        """
        share = SHARE * math.sqrt(min(SHARE * self.rtol / SAME_TOLERANCE, 1.0))
        return share * np.array([self.rtol, self.atol])

    def parameters(self) -> np.ndarray:
        """(α_m, α_f, β, γ) for the wanted ρ∞.

        α_m = (2ρ∞ − 1)/(ρ∞ + 1), α_f = ρ∞/(ρ∞ + 1), γ = ½ + α_f − α_m, β = ¼ (γ + ½)². Second
        order, unconditional stability and the largest dissipation of high frequencies (Chung and
        Hulbert 1993).
        """
        r = self.rho_inf
        am, af = (2.0 * r - 1.0) / (r + 1.0), r / (r + 1.0)
        gamma = 0.5 + af - am
        return np.array([am, af, 0.25 * (gamma + 0.5) ** 2, gamma])


@part
def factors(p, h):
    """Derivatives (∂ṡ/∂δ, ∂s/∂δ) = ((1 − α_m)/(βh² (1 − α_f)), γ/(βh)) of the Newton unknowns.

    The factors of M and D in K_b (1/s², 1/s).
    """
    return (1.0 - p[0]) / (h * h * p[2] * (1.0 - p[1])), p[3] / (h * p[2])


@part
def predict(memory, state, h):
    """Predict the end of the step h in ``state`` with constant ṡ.

    a_{n+1} = (ṡ_n − α_m a_n)/(1 − α_m), s_{n+1} in place, hΔ (theory, section 46).
    """
    p, a, a_new, s, sd, delta = memory.p, memory.a0, memory.a1, state.s, state.sd, state.d
    am, af, beta, gamma = p[0], p[1], p[2], p[3]
    for i in range(s.shape[0]):
        a_new[i] = ((1.0 - af) * sd[i] + af * sd[i] - am * a[i]) / (1.0 - am)
        delta[i] = h * (s[i] + h * ((0.5 - beta) * a[i] + beta * a_new[i]))
        s[i] += h * ((1.0 - gamma) * a[i] + gamma * a_new[i])


@part
def correct(c_sd, c_s, x, sizes, delta, s, sd):
    """Add a Newton correction x: hΔ += x, s += c_s x, ṡ += c_sd x.

    Returns the size of x relative to comparable displacements, NaN if x has one.
    """
    for i in range(s.shape[0]):
        delta[i] += x[i]
        s[i] += c_s * x[i]
        sd[i] += c_sd * x[i]
    return largest_over(x, sizes)


@part
def finish(p, sd, sd_old, a):
    """a ← a_{n+1}, the acceleration-like variable of the method, from the converged ṡ."""
    am, af = p[0], p[1]
    for i in range(a.shape[0]):
        a[i] = ((1.0 - af) * sd[i] + af * sd_old[i] - am * a[i]) / (1.0 - am)


@part
def local_error(p, h, a_new, a_old, error):
    """error ← h² (β − 1/6) (a_{n+1} − a_n), the local error of the displacements.

    Zienkiewicz and Xie 1991; theory, section 46.
    """
    for i in range(error.shape[0]):
        error[i] = h * h * (p[2] - 1.0 / 6.0) * (a_new[i] - a_old[i])


@part
def without_stiff(h, a_new, a_old, s_new, s_old, error):
    """Reduce the error of stiff modes: divide by 1 + (hω)²/4, ω = |Δa|/|Δs|.

    Accelerations of vibrations faster than the step jump, but their error is at most their small
    amplitude (Shampine 1984, BIT 24, 558).
    """
    for i in range(error.shape[0]):
        jump = h * abs(a_new[i] - a_old[i])
        change = abs(s_new[i] - s_old[i])
        error[i] *= change * change / (change * change + 0.25 * jump * jump + 1e-300)


@part
def error_norm(error, travel, rtol, atol):
    """Weighted error: root mean square over atol + rtol · distance travelled."""
    total = 0.0
    for i in range(error.shape[0]):
        e = error[i] / (atol + rtol * travel[i])
        total += e * e
    return math.sqrt(total / max(error.shape[0], 1))


class Memory(NamedTuple):
    """Memory of the method.

    Coefficients and options, algorithmic accelerations, distances travelled, the step of the
    factor.
    """

    p: np.ndarray  # (4,) α_m, α_f, β, γ
    tolerance: float
    iterations: int
    keeps: int  # 1: factorizations are used in following steps
    strongly_nonlinear: int  # 1: slopes of forces change within a step
    contraction: float  # with a new factor, at least
    control: np.ndarray  # (2,) rtol, atol
    factor: np.ndarray  # (1,) step of the factorization that stands, 0 none
    a: np.ndarray  # (ns,)
    a1: np.ndarray  # (ns,) at the end of the step
    travel: np.ndarray  # (ns,) largest distance from the start
    path: np.ndarray  # (ns,) distance from the start
    a0: np.ndarray  # (ns,) a for the length of this step
    jerk: np.ndarray  # (ns,) s̈ of the last step, of constrained motions
    kappa: np.ndarray  # (nc,) what G s leaves its exact value by, over h²
    last: np.ndarray  # (LAST,)
    base: np.ndarray  # (nz,) force states without the rate at the end of the step
    sizes: np.ndarray  # (ns,) comparable displacements
    places: np.ndarray  # (nq,) of positions
    known: np.ndarray  # (2,) λ and ṡ up to which forces that depend on reactions are determined


@part
def constancy(change, size):
    """Weight 0 … 1 of how constant a quantity is: 1 if ``change`` is small against ``size``.

    Linear between.
    """
    return min(max(2.0 - 2.0 * change / (SMOOTH * size + 1e-300), 0.0), 1.0)


@part
def suit(memory, context, h):
    """Rescale the initial values of a step in ``state`` and memory.a0 for another length h.

    Returns a status of `RunContext`. a_n + (α_m − α_f)(h − h_last) s̈, and s_n + Δs with G Δs = (h²
    − h_last²) κ (theory, section 46; Arnold, Brüls and Cardona 2015).
    """
    state, x = context.state, context.exchange.x
    ns, nc, last = state.s.shape[0], state.lam.shape[0], memory.last[LENGTH]
    share = memory.last[CONSTANT]
    changed = nc > 0 and share > 0.0 and abs(h - last) > SAME * h
    shift = share * (memory.p[0] - memory.p[1]) * (h - last) if changed else 0.0
    for i in range(ns):
        memory.a0[i] = memory.a[i] + shift * memory.jerk[i]
    if not changed:
        return DONE
    # the shift of s needs [[…, Gᵀ], [G, 0]]⁻¹: any factor near the state serves, as κ is small
    if memory.factor[0] == 0.0:
        residual(context, STATE, context.clock.time, True)
        c_sd, c_s = factors(memory.p, h)
        status = iteration_matrix(context, STATE, c_sd, c_s)
        if status != DONE:
            return status
    for i in range(ns):
        x[i] = 0.0
    for a in range(nc):
        x[ns + a] = (
            0.0
            if context.exchange.nonholonomic[a] == 1
            else share * (h * h - last * last) * memory.kappa[a]
        )
    correction(context, STATE)
    for i in range(ns):
        state.s[i] += x[i]
    return DONE


@part
def evaluate_end(memory, context, h, c_sd, c_s, renew):
    """r and g of the iterate ``state`` at the end of the step; returns a status.

    renew: factor K_b too.
    """
    state, start = context.state, context.start
    displace(context, STATE, START)
    for a in range(state.z.shape[0]):
        # force states by the trapezoidal rule, of the order of the method
        memory.base[a] = start.z[a] + 0.5 * h * start.zd[a]
        state.z[a] = memory.base[a] + 0.5 * h * state.zd[a]
    implicit_states(context, 0.5 * h, memory.base, 0)
    residual(context, STATE, context.clock.time + h, renew)
    implicit_states(context, 0.0, memory.base, 0)
    if renew:
        memory.factor[0] = 0.0
        status = iteration_matrix(context, STATE, c_sd, c_s)
        if status != DONE:
            return status
        memory.factor[0] = h
    return DONE


@part
def correct_end(memory, context, c_sd, c_s):
    """Correct the iterate ``state`` by K_b (δ, −δλ) = −(r, g); returns the sizes of δ and δλ."""
    state, exchange = context.state, context.exchange
    x, lam, ns = exchange.x, state.lam, state.s.shape[0]
    for a in range(ns):
        x[a] = -exchange.r[a]
    for a in range(lam.shape[0]):
        # a nonholonomic row has no g: G s + γ̄ = 0 is met through δs = c_s δ
        x[ns + a] = -exchange.g[a] if exchange.nonholonomic[a] == 0 else -exchange.gd[a] / c_s
    correction(context, STATE)
    size = correct(c_sd, c_s, x, memory.sizes, state.d, state.s, state.sd)
    change = 0.0
    for a in range(lam.shape[0]):
        lam[a] -= x[ns + a]
        change = max(change, abs(x[ns + a]))
    context.counts.iterations += 1
    return size, change


@part
def solve_step(memory, context, h):
    """Newton's method for the end of the step, in ``state``, K_b (δ, −δλ) = −(r, g).

    The factorization is kept while the corrections converge well and the step does not change.
    Returns a status of `RunContext` (theory, section 46).
    """
    state = context.state
    status = suit(memory, context, h)
    if status != DONE:
        return status
    predict(memory, state, h)
    c_sd, c_s = factors(memory.p, h)
    before = 0.0
    fresh = False
    slow = memory.keeps == 0
    growths = 0
    # forces that depend on the reactions they cause are not in the matrix: they contract with a rate
    # below 1 that no shorter step and no new factor improves
    loaded = context.exchange.loaded[0]
    change_before = 0.0
    for turn in range(memory.iterations + int(loaded)):
        renew = memory.factor[0] != h or slow
        status = evaluate_end(memory, context, h, c_sd, c_s, renew)
        if status != DONE:
            return status
        if renew:
            if not fresh:
                before = 0.0
            fresh = True
            slow = False
        size, change = correct_end(memory, context, c_sd, c_s)
        if not size < 1e30:
            return NOT_FINITE
        # the second bound keeps accelerations accurate in short steps, where they change by δ/h²
        goal = (
            memory.tolerance
            * min(
                largest_over(state.d, memory.sizes),
                ACCELERATION_TOLERANCE * largest_over(state.sd, memory.sizes) / c_sd,
            )
            + ROUND_OFF
        )
        forces = MULTIPLIER_TOLERANCE * largest(state.lam)
        if size <= 1e-3 * goal and change <= forces:
            return DONE
        if before > 0.0:
            rate = size / before
            # an old factor may hide its slow directions in the first ratio
            slowest = max(
                rate, memory.contraction if fresh else max(memory.contraction, REFACTOR_RATE)
            )
            # size · slowest/(1 − slowest): what the corrections to come add up to
            ahead = 1.0 - slowest
            if (
                ahead > 0.0
                and size * slowest <= ahead * goal
                and change * slowest <= ahead * forces
            ):
                return DONE
            noise = STAGNATION * max(1.0, largest_over(state.q, memory.places))
            if loaded > 0.0 and size <= noise:
                # where only λ is left, which contracts by itself, or grows if friction locks
                ratio = change / change_before if change_before > 0.0 else 1.0
                if rate >= 1.0 and (
                    change * ratio <= (1.0 - ratio) * forces
                    or (ratio >= 1.0 and change <= LOADS * forces)
                ):
                    return DONE
                if min(rate, ratio) >= 1.0 and turn >= memory.iterations:
                    return NO_CONVERGENCE
                change_before = change
                before = size
                continue
            if rate > 0.5 and size <= noise:
                return DONE
            slow = (
                (memory.strongly_nonlinear == 1 and rate > NONLINEAR_RATE)
                if fresh
                else rate > REFACTOR_RATE
            )
            if rate > 2.0 and fresh:
                growths += 1
                if growths > 2:
                    return NO_CONVERGENCE
            if turn >= memory.iterations and rate >= 1.0:
                return NO_CONVERGENCE
        change_before = change
        before = size
    return NO_CONVERGENCE


@part
def determined(memory, context, h):
    """True if forces that depend on reactions determine accelerations and λ at the end of a step.

    Where such friction locks, friction and reactions of any size balance up to round-off. The
    iteration for given positions and velocities then does not converge, or to much smaller λ. Tried
    where λ or ṡ have doubled.
    """
    state, at, known = context.state, context.at, memory.known
    if context.exchange.loaded[0] == 0.0 or (
        largest(state.lam) <= 2.0 * known[0] and largest(state.sd) <= 2.0 * known[1]
    ):
        return True
    memory.factor[0] = 0.0
    take(state, at)
    residual(context, AT, context.clock.time + h, False)
    if iteration_matrix(context, AT, 1.0, -1.0) != DONE:
        return False
    settle_loads(context, AT, at, context.clock.time + h)
    if not largest_over(at.sd, memory.sizes) < math.inf:
        return False
    if known[0] > 0.0 and largest(state.lam) > LOCKED * max(known[0], largest(at.lam)):
        return False
    known[0], known[1] = max(known[0], largest(state.lam)), max(known[1], largest(state.sd))
    return True


@entry
def step_at(memory, context, /, h):
    """Kernel of a generalized-α step of length h, whose end is in ``state``.

    Its error over the tolerance goes into the clock (theory, section 46).
    """
    state, start = context.state, context.start
    status = solve_step(memory, context, h)
    if status != DONE:
        memory.factor[0] = 0.0
        return status
    # the last iterate was corrected once more after its evaluation
    displace(context, STATE, START)
    if not determined(memory, context, h):
        return NO_CONVERGENCE
    copy(memory.a0, memory.a1)
    finish(memory.p, state.sd, start.sd, memory.a1)
    for k in range(3):
        state.w[k] = start.w[k] + 0.5 * h * (start.power[k] + state.power[k])
    local_error(memory.p, h, memory.a1, memory.a0, context.local)
    if context.clock.fixed <= 0.0:
        context.clock.error = error_norm(
            context.local, memory.travel, memory.control[0], memory.control[1]
        )
    # after the norm: the step control uses the whole error, the audit leaves out vibrations that
    # their amplitude bounds
    without_stiff(h, memory.a1, memory.a0, state.s, start.s, context.local)
    return DONE


@part
def begin_kappa(memory, context, h):
    """Initialize the constraint multiplier κ = −g/h³ of positions from ``state``.

    A step of length h with exact velocities would end at g, one with G s changed by −g/h ends at 0
    (theory, section 46).
    """
    state, at, p = context.state, context.at, memory.p
    ahead = (p[0] - p[1]) * h
    for i in range(state.s.shape[0]):
        a0 = memory.a[i] + ahead * memory.jerk[i]
        at.d[i] = h * (state.s[i] + h * ((0.5 - p[2]) * a0 + p[2] * (a0 + h * memory.jerk[i])))
        at.s[i] = state.s[i] + h * state.sd[i]
    displace(context, AT, STATE)
    evaluate_constraints(context, AT, context.clock.time + h)
    for k in range(memory.kappa.shape[0]):
        memory.kappa[k] = -context.exchange.g[k] / (h * h * h)
    evaluate_constraints(context, STATE, context.clock.time)


@entry
def begin_at(memory, context, /, h):
    """Kernel at the start of a run: initialize κ and the jerk."""
    begin_kappa(memory, context, h)
    return DONE


@part
def find_jerk(memory, context, t, h):
    """memory.jerk ← s̈ at ``state``, by a forward difference of accelerations.

    Zero if it is not constant over a step. Returns a status.
    """
    state, at = context.state, context.at
    size = 0.0
    change = 0.0
    for i in range(state.s.shape[0]):
        memory.jerk[i] = 0.0
    for part_of in JERK_STEPS:
        ahead = part_of * h
        for i in range(state.s.shape[0]):
            at.d[i] = ahead * (
                state.s[i] + ahead * (0.5 * state.sd[i] + ahead / 6.0 * memory.jerk[i])
            )
            at.s[i] = state.s[i] + ahead * (state.sd[i] + 0.5 * ahead * memory.jerk[i])
        for a in range(state.z.shape[0]):
            at.z[a] = state.z[a] + ahead * state.zd[a]
        displace(context, AT, STATE)
        status = settle_accelerations(context, AT, at, t + ahead, False)
        if status != DONE:
            return status
        for i in range(state.s.shape[0]):
            jerk = (at.sd[i] - state.sd[i]) / ahead
            if part_of < 1.0:
                memory.jerk[i] = jerk
            else:
                change = max(change, abs(jerk - memory.jerk[i]))
                size = max(size, abs(jerk))
    share = constancy(SMOOTH / SMOOTH_JERK * change, size)
    for i in range(state.s.shape[0]):
        memory.jerk[i] *= share
    return DONE


@entry
def jump_at(memory, context, /, t):
    """Kernel after a jump of forces: new ṡ, λ, rates and powers; a_n jumps as ṡ does.

    Constrained motions begin anew: G s + γ̄ = 0, s̈ and κ as at the start of a run (theory, section
    46).
    """
    state, x = context.state, context.exchange.x
    ns = state.s.shape[0]
    copy(state.sd, memory.a1)
    memory.factor[0] = 0.0
    status = settle_accelerations(context, STATE, state, t, False)
    if memory.kappa.shape[0] == 0 or status != DONE:
        for i in range(ns):
            memory.a[i] += state.sd[i] - memory.a1[i]
        return status
    for i in range(ns):
        x[i] = 0.0
    for k in range(memory.kappa.shape[0]):
        x[ns + k] = -context.exchange.gd[k]
    correction(context, STATE)
    for i in range(ns):
        state.s[i] += x[i]
    status = settle_accelerations(context, STATE, state, t, True)
    h = context.clock.next
    if status == DONE:
        status = find_jerk(memory, context, t, h)
    for i in range(ns):
        memory.a[i] = state.sd[i]
    for k in range(memory.last.shape[0]):
        memory.last[k] = 0.0
    memory.last[CONSTANT] = 1.0
    begin_kappa(memory, context, h)
    return status


@entry
def finish_at(memory, context, /, h):
    """Kernel after an accepted step: store step length, travelled distance and κ."""
    memory.last[LENGTH] = h
    memory.last[CONSTANT] = 1.0
    size = 0.0
    change = 0.0
    for a in range(memory.kappa.shape[0]):
        # what the end of a step leaves of G s + γ̄ is h² κ of the next one
        kappa = context.exchange.gd[a] / (h * h)
        size = max(size, abs(kappa))
        change = max(change, abs(kappa - memory.kappa[a]))
        memory.kappa[a] = kappa
    memory.last[KAPPA] = max(size, FADING * memory.last[KAPPA])
    memory.last[CONSTANT] = min(memory.last[CONSTANT], constancy(change, memory.last[KAPPA]))
    size = 0.0
    change = 0.0
    for i in range(memory.a.shape[0]):
        jerk = (memory.a1[i] - memory.a0[i]) / h
        size = max(size, abs(jerk))
        change = max(change, abs(jerk - memory.jerk[i]))
        memory.jerk[i] = jerk
        memory.a[i] = memory.a1[i]
        memory.path[i] += context.state.d[i]
        memory.travel[i] = max(memory.travel[i], abs(memory.path[i]))
    memory.last[JERK] = max(size, FADING * memory.last[JERK])
    memory.last[CONSTANT] = min(memory.last[CONSTANT], constancy(change, memory.last[JERK]))
    return 0

"""RATTLE on a Lie group with a configuration-dependent mass matrix.

A variational integrator with constraints, of order 2. The discrete Lagrangian of the trapezoidal
rule is L_d(q₀, q₁) = ½ h (L(q₀, Δ) + L(q₁, Δ)) with q₁ = q₀ ⊕ hΔ. With d = ½ (M₁ − M₀) Δ, 𝒟 the
derivative along Δ for constant Δ, c the gyroscopic terms and

    e₀ = d − ½ h 𝒟M₀ Δ + b,   e₁ = d − ½ h 𝒟M₁ Δ − b,   b = (½ x coth ½ x − 1) ½ (M₀ + M₁) Δ − ½ x d,   x = ad*_{hΔ},

a step is

    M₀ (Δ − s₀) + ½ h (c(q₀, Δ) − f(q₀)) + e₀ = ½ h G₀ᵀ λ₀⁺,   g(q₁) = 0,
    M₁ (s₁ − Δ) + ½ h (c(q₁, Δ) − f(q₁)) + e₁ = ½ h G₁ᵀ λ₁⁻,   G₁ s₁ + γ̄ = 0.

For vector coordinates and constant M these are the equations of Andersen (1983); for constant M on
a group those of Hante and Arnold (2021). Without e₀ and e₁ the method is only of order 2 and
symmetric; e is of order h².

Theory: docs/theory.md, section 48. Andersen (1983), J. Comput. Phys. 52, 24; Hante and Arnold
(2021), J. Comput. Appl. Math. 387, 112492; Hairer, Lubich and Wanner, Geometric Numerical
Integration (2006), sections VI.6 (variational integrators) and VII.1 (constrained mechanical
systems); Hairer and Wanner, Solving Ordinary Differential Equations II (1996), section VII.8.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs._jit.address import call, entry
from flexmbs.algebra.small import largest_over
from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError
from flexmbs.integrators.integrator import (
    Facts,
    Integrator,
    MethodCalls,
    check_iterations,
    check_step,
    check_tolerance,
)
from flexmbs.integrators.run_context import (
    AT,
    DONE,
    NO_CONVERGENCE,
    NOT_FINITE,
    START,
    STATE,
    copy,
    correction,
    displace,
    evaluate_constraints,
    implicit_states,
    iteration_matrix,
    residual,
    settle_accelerations,
)  # fmt: skip

ROUND_OFF = 1e-15  # relative to comparable displacements
ERROR_CONSTANT = 1.0 / 12.0  # of h³ times the third derivative: local error of the positions
# relative to comparable displacements and positions: smaller corrections that no longer shrink are
# round-off
STAGNATION = 1e-11


@checked_arguments
@dataclass(frozen=True)
class Rattle(Integrator):
    """Variational method of order 2 with a fixed ``step`` (s).

    It satisfies g = 0 and G s + γ̄ = 0 to round-off.

    Symplectic, hence no drift of the energy over long times, where forces are conservative,
    constraints do not depend on time, and the step stays below 2/ω of the fastest vibration: in
    joint and in absolute coordinates, rigid and flexible, up to Newton's tolerance and the
    differences (fourth order, relative error 1e-12) by which the change of M along a step is taken.
    With damping, controllers, drives or other forces that depend on time or velocity it is
    symmetric to second order only. Raises `InputError` for options outside of their ranges. Source:
    docs/theory.md, section 48; Andersen, J. Comput. Phys. 52 (1983) 24.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum")
    >>> rod = model.add(
    ...     fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001))
    ... )
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, rod, axis="y", q0=1.5))
    >>> run = fm.simulate(model, t_end=1.0, integrator=fm.Rattle(step=0.01), coordinates="absolute")
    >>> run.drift.max().item() < 1e-12  # the hinge is closed to round-off
    True
    """

    step: float | None = None
    newton_tolerance: float = 1e-14
    max_iterations: int = 100

    rtol: None = field(default=None, init=False)
    atol: None = field(default=None, init=False)
    name: ClassVar[str] = "rattle"
    has_reactions: ClassVar[bool] = False
    # its variation of the kinetic energy holds for scleronomic coordinates
    takes_time: ClassVar[bool] = False
    explicit: ClassVar[bool] = True
    uses: ClassVar[tuple[str, ...]] = ("matrix", "correction", "displace", "variation")
    needs: ClassVar[str] = "residual"
    keeps_velocity_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.step is None:
            raise InputError(
                "integrator.step: 'rattle' has no control of its steps; give a fixed step (s)"
            )
        check_step("step", self.step)
        check_tolerance("newton_tolerance", self.newton_tolerance)
        check_iterations("max_iterations", self.max_iterations)

    def memory(self, facts: Facts) -> "Memory":
        """Memory of the method: Newton tolerance, iteration limit and scales."""
        return Memory(
            float(self.newton_tolerance),
            int(self.max_iterations),
            int(facts.constant_mass),
            np.zeros(1),
            facts.sizes,
            facts.places,
        )

    @property
    def calls(self) -> MethodCalls:
        return MethodCalls(step_at, jump=jump_at)


class Memory(NamedTuple):
    """Options, and whether there is a factorization."""

    tolerance: float
    iterations: int
    constant: int  # M does not depend on positions
    factor: np.ndarray  # (1,)
    sizes: np.ndarray  # (ns,) comparable displacements
    places: np.ndarray  # (nq,) of positions


@part
def variation(context, h, memory):
    """e₀, e₁: derivatives of the discrete action of the step, and the gap at its end.

    Δ is in ``state.s``.
    """
    call(
        context.calls.variation,
        context.records.common,
        context.points[STATE],
        context.points[START],
        context.clock.time + h,
        h,
        1.0 * memory.constant,
    )


@part
def start_gap(context):
    """exchange.g ← constraint gap at the end of the step, in the closed directions at its start."""
    call(
        context.calls.variation,
        context.records.common,
        context.points[STATE],
        context.points[START],
        0.0,
        0.0,
        -1.0,
    )


@part
def middle(memory, context, h):
    """Newton's method for the step's velocity Δ and the multipliers λ₀⁺ at its start.

    Δ goes into ``state.s``, q₁ into ``state.q``. The residual at (q₀, Δ) with ṡ = 2 (Δ − s₀)/h,
    plus 2 e₀/h, vanishes; the matrix is [[M, Gᵀ], [G, 0]] (theory, section 48).
    """
    state, start, at, x = context.state, context.start, context.at, context.exchange.x
    ns = state.s.shape[0]
    t0 = context.clock.time
    for a in range(ns):
        state.s[a] = start.s[a] + 0.5 * h * start.sd[a]
    before = 0.0
    for _ in range(memory.iterations):
        for a in range(ns):
            state.d[a] = h * state.s[a]
        displace(context, STATE, START)
        variation(context, h, memory)
        copy(start.q, at.q)
        copy(start.z, at.z)
        copy(state.lam, at.lam)
        for a in range(ns):
            at.s[a] = state.s[a]
            at.sd[a] = 2.0 / h * (state.s[a] - start.s[a])
        residual(context, AT, t0, False)
        context.counts.iterations += 1
        for a in range(ns):
            x[a] = -context.exchange.r[a] - 2.0 / h * context.exchange.e0[a]
        # rows of G₀ are those of the factor: g(q₁) has to be given in the closed directions at the
        # start
        start_gap(context)
        for a in range(state.lam.shape[0]):
            x[ns + a] = -2.0 / (h * h) * context.exchange.g[a]
        correction(context, AT)
        size = 0.0
        for a in range(ns):
            state.s[a] += 0.5 * h * x[a]
            each = 0.5 * h * h * abs(x[a]) / memory.sizes[a]
            if each > size or each != each:
                size = each
        for a in range(state.lam.shape[0]):
            state.lam[a] -= x[ns + a]
        if not size < 1e30:
            return NOT_FINITE
        if size <= memory.tolerance * largest_over(state.d, memory.sizes) + ROUND_OFF or (
            size <= STAGNATION * max(1.0, largest_over(state.q, memory.places))
            and 0.0 < before <= 2.0 * size
        ):
            return DONE
        before = size
    return NO_CONVERGENCE


@entry
def step_at(memory, context, /, h):
    """Kernel of a RATTLE step of length h: positions, then velocities s₁ at its end.

    Also the accelerations and multipliers there. Theory, section 48.
    """
    state, start, at, x = context.state, context.start, context.at, context.exchange.x
    ns = state.s.shape[0]
    t0 = context.clock.time
    if memory.factor[0] == 0.0:
        evaluate_constraints(context, STATE, t0)
        status = iteration_matrix(context, STATE, 1.0, -1.0)
        if status != DONE:
            return status
        memory.factor[0] = 1.0
    status = middle(memory, context, h)
    if status != DONE:
        memory.factor[0] = 0.0
        return status
    for a in range(ns):
        state.d[a] = h * state.s[a]
    displace(context, STATE, START)
    variation(context, h, memory)
    copy(state.q, at.q)
    copy(state.s, at.s)
    # the first guess of the rates of the force states at the end
    copy(start.zd, at.zd)
    for a in range(ns):
        at.sd[a] = 0.0
    for a in range(state.lam.shape[0]):
        at.lam[a] = 0.0
    # rates of force states depend on the states themselves: one correction of their trapezoidal
    # rule
    for _ in range(2 if state.z.shape[0] > 0 else 1):
        for a in range(state.z.shape[0]):
            state.z[a] = start.z[a] + 0.5 * h * start.zd[a]
            at.z[a] = state.z[a] + 0.5 * h * at.zd[a]
        implicit_states(context, 0.5 * h, state.z, 0)
        residual(context, AT, t0 + h, False)
        implicit_states(context, 0.0, state.z, 0)
    for a in range(state.z.shape[0]):
        state.z[a] = start.z[a] + 0.5 * h * (start.zd[a] + at.zd[a])
    status = iteration_matrix(context, AT, 1.0, -1.0)
    if status != DONE:
        memory.factor[0] = 0.0
        return status
    for a in range(ns):
        x[a] = -context.exchange.r[a] - 2.0 / h * context.exchange.e1[a]
    for a in range(state.lam.shape[0]):
        x[ns + a] = -2.0 / h * context.exchange.gd[a]
    correction(context, AT)
    for a in range(ns):
        state.s[a] += 0.5 * h * x[a]
    settle_accelerations(context, STATE, context.state, t0 + h, True)
    for a in range(ns):
        context.local[a] = ERROR_CONSTANT * h * h * (state.sd[a] - start.sd[a])
    for a in range(3):
        state.w[a] = start.w[a] + 0.5 * h * (start.power[a] + state.power[a])
    return DONE


@entry
def jump_at(memory, context, /, t):
    """Kernel after a jump of forces: ṡ, λ, rates and powers of ``state``."""
    return settle_accelerations(context, STATE, context.state, t, False)

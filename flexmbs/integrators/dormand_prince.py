"""Explicit Runge–Kutta method of Dormand and Prince.

Order 5 with an embedded order 4 and a continuous order 4:

    k_j = ẏ(t + c_j h, y + h Σ_l a_jl k_l),   j = 1 … 7,   y_new = y + h Σ_j b_j k_j,   y = (q, s, z, w),
    e = √(1/n Σ_i (h Σ_j d_j k_ji / (atol + rtol max(|y_i|, |y_new,i|)))²),   d = b − b̂,   works w not counted,
    y(t + θh) = y + h Σ_j k_j Σ_p D_jp θ^p.

Theory: docs/theory.md, section 45. Dormand and Prince (1980), J. Comput. Appl. Math. 6, 19; Hairer,
Nørsett and Wanner, Solving Ordinary Differential Equations I (1993), sections II.4 to II.6 (error
estimate, DOPRI5, dense output).
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs._jit.address import entry
from flexmbs.checked_arguments import checked_arguments
from flexmbs.integrators.dense_output import part_of_step
from flexmbs.integrators.integrator import (
    ATOL,
    RTOL,
    Facts,
    Integrator,
    MethodCalls,
    check_step,
    check_tolerances,
)
from flexmbs.integrators.run_context import (
    DONE,
    INDEFINITE,
    NOT_FINITE,
    STATE,
    Control,
    copy,
    derivative,
    take,
)  # fmt: skip

FAR = 0.3  # larger distances from a singular position do not matter
# round-off of a state; near a singular position it is divided by the square of the distance
NOISE = 1e-15

STAGES = 7
C = np.array([0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
A = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1 / 5, 0.0, 0.0, 0.0, 0.0, 0.0],
        [3 / 40, 9 / 40, 0.0, 0.0, 0.0, 0.0],
        [44 / 45, -56 / 15, 32 / 9, 0.0, 0.0, 0.0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0.0, 0.0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0.0],
        [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
# y(t + θh) = y + h Σ_j k_j Σ_p DENSE[j, p] θ^(p+1)  (Shampine 1986; Hairer, Nørsett & Wanner 1993,
# II.6)
DENSE = np.array(
    [
        [1.0, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
        [0.0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
        [0.0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
        [0.0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
        [0.0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
    ]
)
# of the tolerance that the error of a step may have: errors of steps add up
SHARE = 0.4
ERROR_WEIGHTS = np.array(
    [71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]
)


@checked_arguments
@dataclass(frozen=True)
class DormandPrince(Integrator):
    """Explicit Runge–Kutta method of order 5 with controlled or fixed steps.

    Error-controlled steps with ``rtol`` and ``atol``, or a fixed ``step`` (s). Raises `InputError`
    for options outside of their ranges. Source: docs/theory.md, section 45; Dormand and Prince, J.
    Comput. Appl. Math. 6 (1980) 19.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("throw")
    >>> stone = model.add(fm.RigidBody("stone", mass=0.2, inertia=(1e-4, 2e-4, 3e-4)))
    >>> flight = model.add(fm.Free("flight", model.ground, stone, v0=(0, 0, 9.81, 1.0, 20.0, 1.0)))
    >>> run = fm.simulate(model, t_end=2.0, integrator=fm.DormandPrince(rtol=1e-8, atol=1e-10))
    >>> abs(
    ...     run.body("stone").position[-1]
    ... ).max().item() < 1e-6  # back at the start after 2 v/g, however it tumbles
    True
    """

    step: float | None = None
    rtol: float = RTOL
    atol: float = ATOL

    name: ClassVar[str] = "dormand-prince"
    explicit: ClassVar[bool] = True
    uses: ClassVar[tuple[str, ...]] = ("derivative",)
    needs: ClassVar[str] = "accelerations"
    stabilizations: ClassVar[tuple[str, ...]] = ("none", "baumgarte", "projection")
    control: ClassVar[Control] = Control(0.2)
    evaluated: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_step("step", self.step)
        check_tolerances(self.rtol, self.atol)

    def memory(self, facts: Facts) -> "Memory":
        """Memory of the method: Butcher tableau, tolerances and stage slopes."""
        n = facts.nq + facts.ns + facts.nz + 3
        tolerances = np.array([max(SHARE * self.rtol, self.finest), SHARE * self.atol])
        return Memory(A, C, ERROR_WEIGHTS, DENSE, tolerances, np.zeros((STAGES, n)), np.zeros(2))

    @property
    def calls(self) -> MethodCalls:
        return MethodCalls(step_at, finish_at, within_at)


@part
def stage(tableau, j, h, y, k, out):
    """out ← y + h Σ_l a_jl k_l, l < j: the argument of stage j of the Runge–Kutta method."""
    for i in range(y.shape[0]):
        f = 0.0
        for l in range(j):
            f += tableau[j, l] * k[l, i]
        out[i] = y[i] + h * f


@part
def error_norm(memory, context, h, atol):
    """Weighted error of the step: root mean square of h Σ_j d_j k_j over the tolerances.

    y: start of the step, y_new: its end; theory, section 45.
    """
    y, y_new, weights, k, rtol = (
        context.start.y,
        context.state.y,
        memory.weights,
        memory.k,
        memory.control[0],
    )
    n = y_new.shape[0] - context.state.w.shape[0]
    total = 0.0
    for i in range(n):
        e = 0.0
        for j in range(k.shape[0]):
            e += weights[j] * k[j, i]
        scale = atol + rtol * max(abs(y[i]), abs(y_new[i]))
        total += (h * e / scale) ** 2
    return math.sqrt(total / max(n, 1))


@part
def local_error(weights, h, k, first, error):
    """error ← h² Σ_j d_j k_j, the local error of the positions of the step.

    Velocities follow the first ``first`` unknowns.
    """
    for i in range(error.shape[0]):
        e = 0.0
        for j in range(k.shape[0]):
            e += weights[j] * k[j, first + i]
        error[i] = h * h * e


@part
def within(dense, h, x, y, k, out):
    """out ← y(t + x h), the continuous method at the fraction x of the step."""
    for i in range(y.shape[0]):
        f = 0.0
        for j in range(k.shape[0]):
            f += (
                x
                * (dense[j, 0] + x * (dense[j, 1] + x * (dense[j, 2] + x * dense[j, 3])))
                * k[j, i]
            )
        out[i] = y[i] + h * f


class Memory(NamedTuple):
    """Memory of the method.

    Coefficients, options, slopes of the last step; distance from a singular position and its rate.
    """

    tableau: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray
    dense: np.ndarray
    control: np.ndarray  # (2,) rtol, atol
    k: np.ndarray  # (STAGES, n)
    singular: np.ndarray  # (2,) distance (1 at its largest), its rate


@part
def straddling(h, distance, rate):
    """Step length h, shortened if a stage would be near a singular position ahead.

    Near is at 0.2 … 0.3 or 0.8 … 1. Accelerations are not determined at a singular position and
    noisy near it, but the motion is smooth: a step with the position between two stages passes it.
    ``distance`` falls linearly with ``rate`` to 0 there.
    """
    if rate >= 0.0 or distance >= FAR:
        return h
    left = -distance / rate
    if 0.12 * h < left < 0.38 * h:
        return left / 0.55
    if 0.72 * h < left < 1.3 * h:
        return left / 1.8
    return h


@entry
def step_at(memory, context, /, h):
    """Kernel of a Runge–Kutta step of length h, or a shorter one across a singular position.

    Theory, sections 31 and 45.
    """
    state, start, clock = context.state, context.start, context.clock
    if clock.fixed <= 0.0:
        h = straddling(h, memory.singular[0], memory.singular[1])
        clock.taken = h
    status = 0
    independent = 1.0
    for j in range(STAGES):
        stage(memory.tableau, j, h, start.y, memory.k, state.y)
        found = derivative(context, STATE, clock.time + memory.nodes[j] * h)
        status = min(status, found)
        copy(state.yd, memory.k[j])
        independent = min(independent, context.exchange.gauge.independent)
    # near a singular position noise of the state enters ṡ divided by the square of the distance:
    # steps must not follow it
    atol = memory.control[1] + NOISE / independent
    error = error_norm(memory, context, h, atol)
    if not error < 1e30:
        return NOT_FINITE if status >= 0 else INDEFINITE
    if status < 0:  # a stage may leave the region where M is definite; a shorter step may not
        context.exchange.status[0] = -1 - status
        return INDEFINITE
    clock.error = error
    local_error(memory.weights, h, memory.k, start.q.shape[0], context.local)
    return DONE


@part
def approach(memory, context, h):
    """Measure the distance to a singular position and its rate after a step of length h."""
    distance = math.sqrt(context.exchange.gauge.independent)
    memory.singular[1] = (distance - memory.singular[0]) / h if memory.singular[0] > 0.0 else 0.0
    memory.singular[0] = distance


@entry
def finish_at(memory, context, /, h):
    """Kernel after an accepted step: measure the approach to a singular position."""
    approach(memory, context, h)
    return 0


@entry
def within_at(memory, context, /, t):
    """Kernel of dense output: state at time t of the last step, order 4."""
    x, h = part_of_step(context, t)
    if x == 1.0:
        take(context.state, context.at)
    else:
        within(memory.dense, h, x, context.start.y, memory.k, context.at.y)
    return 0

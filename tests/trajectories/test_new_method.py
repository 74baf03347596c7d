"""A new one-step method is one file: the classical Runge–Kutta method, with dense output and events
like all others.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import bars
import numpy as np

import flexmbs as fm
from flexmbs._jit.address import entry
from flexmbs.integrators import INTEGRATORS, Integrator
from flexmbs.integrators.dense_output import between_ends, nothing_kept
from flexmbs.integrators.integrator import Facts, MethodCalls, check_step
from flexmbs.integrators.run_context import (
    DONE,
    INDEFINITE,
    STATE,
    derivative,
)


class Memory(NamedTuple):
    """Slopes of the four stages."""

    k: np.ndarray


@entry
def step_at(memory, context, /, h):
    """k₁ … k₄ at 0, ½, ½ and 1; y₁ = y₀ + h (k₁ + 2 k₂ + 2 k₃ + k₄)/6."""
    state, start = context.state, context.start
    for j in range(5):
        part = 0.0 if j == 0 else 0.5 if j < 3 else 1.0
        for i in range(state.y.shape[0]):
            slope = part * memory.k[j - 1, i] if j > 0 else 0.0
            if j == 4:
                slope = (
                    memory.k[0, i] + 2.0 * memory.k[1, i] + 2.0 * memory.k[2, i] + memory.k[3, i]
                ) / 6.0
            state.y[i] = start.y[i] + h * slope
        if derivative(context, STATE, context.clock.time + part * h) < 0:
            return INDEFINITE
        if j == 0:
            for i in range(start.yd.shape[0]):
                start.yd[i] = state.yd[i]
        if j < 4:
            for i in range(state.y.shape[0]):
                memory.k[j, i] = state.yd[i]
    for i in range(state.s.shape[0]):
        state.d[i] = h / 6.0 * (start.s[i] * 6.0) + h * h / 6.0 * (
            memory.k[0, state.q.shape[0] + i]
            + memory.k[1, state.q.shape[0] + i]
            + memory.k[2, state.q.shape[0] + i]
        )
    return DONE


@dataclass(frozen=True)
class RungeKutta(Integrator):
    """The classical method of order 4 with a fixed ``step`` (s)."""

    step: float = 1e-2
    rtol: None = field(default=None, init=False)
    atol: None = field(default=None, init=False)
    name: ClassVar[str] = "rk4"
    needs: ClassVar[str] = "accelerations"
    evaluated: ClassVar[bool] = True
    uses: ClassVar[tuple[str, ...]] = ("derivative", "displace")

    def __post_init__(self) -> None:
        check_step("step", self.step)

    def memory(self, facts: Facts) -> Memory:
        return Memory(np.zeros((4, facts.nq + facts.ns + facts.nz + 3)))

    @property
    def calls(self) -> MethodCalls:
        return MethodCalls(step_at, nothing_kept, between_ends)


def pendulum() -> fm.Model:
    return bars.pendulum("bar", inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0))


def test_it_runs_with_order_four_within_steps_and_at_events() -> None:
    exact = fm.simulate(
        pendulum(), t_end=1.0, output_step=0.07, integrator=fm.DormandPrince(rtol=1e-12, atol=1e-13)
    )
    errors = []
    for step in (0.02, 0.01):
        found = fm.simulate(
            pendulum(),
            t_end=1.0,
            output_step=0.07,
            integrator=RungeKutta(step),
            formalism="recursive",
            events=[fm.Event("down", joint="hinge", value=1.5, terminal=False)],
        )
        errors.append(np.abs(found.joint("hinge").position - exact.joint("hinge").position).max())
        assert [event.name for event in found.run.events] == ["down"]
    assert 12.0 < errors[0] / errors[1] < 20.0
    assert errors[1] < 1e-7


def test_a_line_makes_it_known(monkeypatch) -> None:
    monkeypatch.setitem(INTEGRATORS, RungeKutta.name, RungeKutta)
    found = fm.simulate(pendulum(), t_end=0.5, step=0.01, integrator="rk4")
    assert found.run.options["integrator"] == "rk4"

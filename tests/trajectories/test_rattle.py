"""RATTLE: order, constraints at round-off, the symplectic form, and the energy over many steps."""

import numpy as np
import pytest
from bars import pendulum as hinged
from rods import double_pendulum, rod

import flexmbs as fm
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.initial.initial_state import consistent_state
from flexmbs.integrators import Rattle

BAR = {"mass": 1.0, "inertia": (0.1, 0.2, 0.1), "com": (0, 0.1, -0.5)}


def pendulum() -> fm.Model:
    return hinged("bar", q0=1.0, **BAR)


def free_top() -> fm.Model:
    model = fm.Model("top", gravity=(0, 0, 0))
    top = model.add(fm.RigidBody("top", mass=1.0, inertia=(0.1, 0.17, 0.25)))
    # near the unstable axis
    model.add(fm.Free("air", model.ground, top, v0=(0.3, 0.1, 0.2, 0.1, 3.0, 0.2)))
    return model


def bars(q=(0.3, 0.8, -0.5), v=(0.0, 0.0, 0.0)) -> fm.Model:
    """Two bars on a revolute and a universal joint: the mass
    matrix depends on the configuration.
    """
    model = fm.Model("bars")
    upper = model.add(fm.RigidBody("upper", frames={"end": (0, 0, -1)}, **BAR))
    lower = model.add(fm.RigidBody("lower", mass=2.0, inertia=(0.1, 0.3, 0.25), com=(0.2, 0, -0.3)))
    model.add(fm.Revolute("hinge", model.ground, upper, axis="y", q0=q[0], v0=v[0]))
    model.add(
        fm.Universal("knee", upper["end"], lower, axes=("x", "y"), q0=tuple(q[1:]), v0=tuple(v[1:]))
    )
    return model


def floating_rod() -> fm.Model:
    model = fm.Model("rod", gravity=(0, 0, 0))
    body = model.add(fm.FlexibleBody("rod", data=rod(), qf0=(0.02, 0, -0.02, 0)))
    model.add(fm.Free("air", model.ground, body, v0=(0.1, 0.2, 0.0, 0.5, 1.0, 2.0)))
    return model


# model, coordinates, step, number of steps (fewer where the mass matrix changes), largest energy
# error over the scale
CASES = {
    "pendulum": (pendulum, "absolute", 0.01, 12_000, 2e-3),
    "free top": (free_top, "absolute", 0.02, 12_000, 2e-3),
    "bars": (bars, "joint", 0.01, 4_000, 2e-2),
    "bars, absolute": (bars, "absolute", 0.005, 4_000, 2e-2),
    "floating rod": (floating_rod, "joint", 0.004, 4_000, 2e-3),
}


@pytest.mark.parametrize(
    ("model", "coordinates", "step", "count", "size"), list(CASES.values()), ids=list(CASES)
)
def test_energy_stays_bounded_over_many_steps(model, coordinates, step, count, size):
    """No trend in the energy error, constraints at round-off."""
    solution = fm.simulate(
        model(),
        t_end=count * step,
        output_step=8 * step,
        integrator=Rattle(step=step),
        coordinates=coordinates,
    )
    assert solution.statistics["steps"] == count
    error = solution.energy.balance / solution.energy.scale
    assert np.abs(error).max() < size
    first, last = error[: len(error) // 4], error[-len(error) // 4 :]
    assert abs(last.mean() - first.mean()) < 0.05 * np.abs(error).max()
    assert np.abs(last).max() < 1.2 * np.abs(first).max()
    assert solution.drift[:, 0].max(initial=0.0) < 1e-12
    assert solution.drift[:, 1].max(initial=0.0) < 1e-11


def test_a_step_is_a_symplectic_map():
    """JᵀΩJ = Ω for (q, p = M s) of a step of 0.05 s, by fourth-order differences."""

    def mass(q):
        compiled, start = consistent_state(bars(q))
        return terms(
            compiled.system, make_work(compiled.system, start.beta), 0.0, start.q, start.s
        ).M

    def step(x):
        solution = fm.simulate(
            bars(x[:3], np.linalg.solve(mass(x[:3]), x[3:])),
            t_end=0.05,
            integrator=Rattle(step=0.05),
        )
        return np.concatenate([solution.q[-1], mass(solution.q[-1]) @ solution.s[-1]])

    x, e = np.array([0.3, 0.8, -0.5, 2.0, 3.0, -1.5]), 1e-3
    columns = [
        (8 * (step(x + e * u) - step(x - e * u)) - step(x + 2 * e * u) + step(x - 2 * e * u))
        / (12 * e)
        for u in np.eye(6)
    ]
    J, form = np.array(columns).T, np.kron([[0, 1], [-1, 0]], np.eye(3))
    assert np.abs(J - np.eye(6)).max() > 0.5
    assert np.abs(J.T @ form @ J - form).max() < 1e-8


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_order_two(coordinates):
    exact = fm.simulate(
        double_pendulum(),
        t_end=0.4,
        output_step=0.4,
        integrator=fm.DormandPrince(rtol=1e-11, atol=1e-12),
    )
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        found = fm.simulate(
            double_pendulum(),
            t_end=0.4,
            output_step=0.4,
            coordinates=coordinates,
            integrator=Rattle(step=step),
        )
        tips = [solution.frame("lower/tip") for solution in (found, exact)]
        errors.append(
            [
                np.abs(getattr(tips[0], key)[-1] - getattr(tips[1], key)[-1]).max()
                for key in ("position", "velocity")
            ]
        )
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.all((orders > 1.8) & (orders < 2.2))


def test_a_step_is_needed():
    with pytest.raises(
        fm.InputError,
        match=r"integrator\.step: 'rattle' has no control of its steps; give a fixed step",
    ):
        fm.simulate(pendulum(), t_end=1.0, integrator="rattle")

"""Row 31: user functions whose results are not numbers."""

import math

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.system.callbacks import SIGNATURE, Callbacks


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (None, "gives None; return 6 numbers"), ("text", "gives 'text'; return 6 numbers"), (1.0, "gives 1.0; return 6 numbers"),
        ((0.0,) * 5, "gives 5 numbers; return 6 numbers"), ((0.0, 0.0, 1j, 0.0, 0.0, 0.0), "return 6 numbers"),
    ],
)  # fmt: skip
def test_31_results_that_are_no_numbers(result: object, told: str) -> None:
    model = fm.Model("rod")
    rod = model.add(fm.RigidBody("rod", mass=2.0, inertia=(1.0,) * 3))
    model.add(fm.Free("free", model.ground, rod))
    model.add(fm.UserForce("push", rod, lambda t, r, A, v, w: result))
    with pytest.raises(fm.InputError, match=r"forces\.push: its function gives") as raised:
        fm.simulate(model, t_end=0.1, step=0.05)
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("result", "told"), [(None, "None"), ("text", "'text'"), ((1.0, 2.0), "(1.0, 2.0)")]
)
def test_31_events_that_are_no_numbers(result: object, told: str) -> None:
    model = fm.Model("rod")
    rod = model.add(fm.RigidBody("rod", mass=2.0, inertia=(1.0,) * 3))
    model.add(fm.Free("free", model.ground, rod))
    event = fm.Event("low", lambda t, r, A, v, w: result, frame="rod")
    with pytest.raises(fm.InputError) as raised:
        fm.simulate(model, t_end=0.1, step=0.05, events=[event])
    assert str(raised.value) == f"events.low: its function gives {told}; return a number"


@pytest.mark.parametrize("result", [None, "text", (1.0, 2.0), np.zeros(2)])
def test_31_laws_that_give_no_numbers(result: object) -> None:
    for law in (lambda t: result, lambda t, x, v: result):
        model = fm.Model("rod")
        rod = model.add(fm.RigidBody("rod", mass=2.0, inertia=(1.0,) * 3))
        model.add(fm.Revolute("hinge", model.ground, rod))
        model.add(fm.JointTorque("motor", "hinge", fm.Function(law)))
        with pytest.raises(
            fm.InputError, match=r"forces\.motor.*: its function gives .*; return a number"
        ):
            fm.simulate(model, t_end=0.1, step=0.05)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("count", [1, 2, 3, 6])
@pytest.mark.parametrize("place", range(3))
def test_31_functions_are_given_finite_numbers(bad: float, place: int, count: int) -> None:
    """At the end of a trial step that ran away a function is not asked, however many results it
    has: they are no numbers, and the step is rejected."""
    given: list[tuple[float, ...]] = []

    def push(t: float, x: float, v: float) -> float:
        given.append((t, x, v))
        return 2.0 * x

    callbacks = Callbacks()
    call = SIGNATURE(
        callbacks.address(
            "forces.push", push, lambda function, x: (function(*x),) * count, 3, count
        )
    )
    arguments, result = np.array([0.1, 0.2, 0.3]), np.zeros(count)
    call(arguments.ctypes.data, result.ctypes.data)
    assert (result == 0.4).all()
    arguments[place] = bad
    call(arguments.ctypes.data, result.ctypes.data)
    assert np.isnan(result).all()
    assert given == [(0.1, 0.2, 0.3)]
    assert callbacks.error is None
    assert callbacks.where is None  # no fault of the function


def test_overflow_in_a_function_is_an_infinite_result() -> None:
    """``v**3`` of a trial step that ran away: an exception in Python, infinite in compiled code."""

    def brake(t: float, x: float, v: float) -> float:
        return -(v**3)

    model = fm.Model("rod")
    rod = model.add(fm.RigidBody("rod", mass=2.0, inertia=(1.0,) * 3))
    hinge = model.add(fm.Revolute("hinge", model.ground, rod, v0=80.0))
    model.add(fm.JointTorque("motor", hinge, brake))
    with pytest.raises(fm.SolverError, match=r"forces\.motor returned a non-finite number"):
        fm.simulate(model, t_end=0.2, integrator=fm.DormandPrince(step=0.05))
    run = fm.simulate(model, t_end=0.2, output_step=0.1)  # the step is controlled
    speed = 80.0 / np.sqrt(1.0 + 2.0 * 80.0**2 * run.t)  # v̇ = −v³
    np.testing.assert_allclose(run.joint("hinge").velocity[:, 0], speed, rtol=1e-4)

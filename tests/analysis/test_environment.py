"""Environments of gymnasium: its own checker, and the run of the stepper."""

import math
import warnings
from typing import Any

import numpy as np
import pytest

import flexmbs as fm

pytest.importorskip("gymnasium")


def cart() -> fm.Model:
    """A pole on a cart."""
    model = fm.Model("cart and pole")
    body = model.add(fm.RigidBody("cart", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    pole = model.add(fm.RigidBody("pole", mass=0.1, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0.001)))
    rail = model.add(fm.Prismatic("rail", model.ground, body, axis="x"))
    model.add(fm.Revolute("hinge", body, pole, axis="y", q0=0.05))
    assert rail is not None
    return model


OUTPUTS = {"x": ("coordinate", "rail"), "angle": ("coordinate", "hinge"), "rate": ("rate", "hinge")}
GIVEN: dict[str, Any] = {
    "inputs": {"push": ("effort", "rail")},
    "outputs": OUTPUTS,
    "limits": {"push": (-10.0, 10.0)},
    "period": 0.02,
    "t_end": 0.2,
    "step": 5e-3,
    "reward": lambda outputs, inputs: 1.0 - outputs["angle"] ** 2 - 1e-3 * inputs["push"] ** 2,
}


def test_the_checker_of_gymnasium() -> None:
    from gymnasium.utils.env_checker import check_env

    env = fm.environment(
        cart(),
        **GIVEN,
        vary={"bodies.pole.mass": fm.Range(0.05, 0.2), "joints.hinge.q0": fm.Normal(0.0, 0.05)},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # advice on spaces without limits
        check_env(env, skip_render_check=True)


def test_options_of_the_model_hold() -> None:
    model = cart()
    model.run = fm.Run(t_end=5.0, integrator="rattle", formalism="multiplier", step=1e-3)
    ports = {"inputs": GIVEN["inputs"], "outputs": OUTPUTS}
    stepper = fm.Stepper(
        cart(), t_end=0.2, step=1e-3, integrator="rattle", formalism="multiplier", **ports
    )
    stepper.advance(0.02)
    given = {key: value for key, value in GIVEN.items() if key != "step"}
    env = fm.environment(model, **given)
    env.reset(seed=1)
    assert env.step([0.0])[0].tolist() == list(stepper.outputs.values())


def test_an_episode_is_the_run_of_the_stepper() -> None:
    env = fm.environment(cart(), **GIVEN, ended=lambda outputs: abs(outputs["x"]) > 0.02)
    stepper = fm.Stepper(cart(), t_end=0.2, step=5e-3, inputs=GIVEN["inputs"], outputs=OUTPUTS)
    observed, info = env.reset(seed=3)
    assert (observed.tolist(), info) == ([0.0, 0.05, 0.0], {"t": 0.0})
    for k in range(10):
        given = 20.0 if k == 0 else -1.0
        stepper.inputs["push"] = min(given, 10.0)
        stepper.advance(min(0.02 * (k + 1), 0.2))
        observed, gained, terminated, truncated, info = env.step(np.array([given]))
        np.testing.assert_allclose(observed, list(stepper.outputs.values()), rtol=1e-12)
        assert gained == pytest.approx(1.0 - observed[1] ** 2 - 1e-3 * min(given, 10.0) ** 2)
        assert terminated == (abs(observed[0]) > 0.02)
        assert truncated == (k == 9)


def test_parameters_are_drawn_at_each_reset() -> None:
    env = fm.environment(cart(), **GIVEN, vary={"joints.hinge.q0": fm.Range(0.1, 0.3)})
    angles = [env.reset(seed=seed)[0][1] for seed in (1, 2, 1)]
    assert angles[0] == angles[2] != angles[1]
    assert all(0.1 <= angle <= 0.3 for angle in angles)
    assert env.reset()[1]["joints.hinge.q0"] == env.stepper.outputs["angle"]


def test_an_episode_has_its_number_of_periods() -> None:
    """Times are sums of inexact periods; after the last period there is no other."""
    env = fm.environment(cart(), **{**GIVEN, "period": 1 / 30, "t_end": 1.0})
    env.reset(seed=1)
    truncated = [env.step([0.0])[3] for _ in range(30)]
    assert truncated == 29 * [False] + [True]
    with pytest.raises(fm.InputError, match="step: the episode is over; reset the environment"):
        env.step([0.0])


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "limits": ({"limits": {}}, "limits.push: needs both, {'push': (-1.0, 1.0)}"),
    "limit": ({"limits": {"push": (0.0, None)}}, "limits.push: needs both"),
    "name": ({"limits": {"pull": (0.0, 1.0)}}, "limits: 'pull' is not among the inputs"),
    "inputs": ({"inputs": {}}, "inputs: give at least one"),
    "port": ({"inputs": {"push": ("effort", "axle")}}, "axle"),
    "period": ({"period": 1.0}, "period: must be within 0 … t_end = 0.2 s, not 1"),
    "vary": ({"vary": {"gravity.z": 3.0}}, "vary.gravity.z: 3.0 is not a distribution"),
    "varied": ({"vary": ["gravity.z"]}, "vary: ['gravity.z'] is not a mapping"),
    "path": ({"vary": {"bodies.pol.mass": fm.Range(1.0, 2.0)}}, "did you mean 'pole'?"),
    "value": (
        {"vary": {"bodies.pole.mass": fm.Range(-2.0, -1.0)}},
        "bodies.pole.mass: must be >= 0, not -2",
    ),
    "reward": ({"reward": 1.0}, "reward: 1.0 is not a function of the outputs"),
    "ended": ({"ended": True}, "ended: True is not a function of the outputs"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_argument_is_named(what: str) -> None:
    changes, text = WRONG[what]
    with pytest.raises(fm.InputError) as error:
        fm.environment(cart(), **{**GIVEN, **changes})
    assert text in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("action", [[1.0, 2.0], [], "push", None, [np.nan], [[None]]])
def test_a_wrong_action_is_named(action: Any) -> None:
    env = fm.environment(cart(), **GIVEN)
    env.reset(seed=1)
    with pytest.raises(
        fm.InputError,
        match=r"action: .*; give 1 numbers, in the order push|inputs\.push: nan is not a finite",
    ):
        env.step(action)


@pytest.mark.parametrize("gained", [None, "much", np.nan, np.inf])
def test_a_wrong_reward_is_named(gained: Any) -> None:
    env = fm.environment(cart(), **{**GIVEN, "reward": lambda outputs, inputs: gained})
    env.reset(seed=1)
    with pytest.raises(fm.InputError, match=r"reward at t = 0\.02 s: must be"):
        env.step([1.0])


@pytest.mark.parametrize("given", [math.nan, "no", np.array([True, False])])
def test_an_end_that_is_no_truth_is_named(given: Any) -> None:
    env = fm.environment(cart(), **{**GIVEN, "ended": lambda outputs: given})
    with pytest.raises(fm.InputError, match=r"ended at t = 0\.02 s: must be True or False, not"):
        env.step([0.0])

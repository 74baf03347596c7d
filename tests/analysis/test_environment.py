"""Environments of gymnasium: its own checker, and the run of the stepper."""

import math
import warnings
from typing import Any

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.formalisms import FORMALISMS
from flexmbs.integrators import INTEGRATORS

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


PAIRS = [
    (form, coordinates, integrator)
    for form, kind in FORMALISMS.items()
    for coordinates in kind.coordinates
    for integrator, method in INTEGRATORS.items()
    if method.needs in kind.provides and (coordinates != "rheonomic" or method.takes_time)
]


@pytest.mark.parametrize(("formalism", "coordinates", "integrator"), PAIRS)
def test_every_method_passes_the_checker(formalism: str, coordinates: str, integrator: str) -> None:
    """By names and by objects: the same observations, also after a reset."""
    from gymnasium.utils.env_checker import check_env

    options = {} if integrator in ("esdirk", "dormand-prince", "event-driven") else {"step": 5e-3}
    given = {key: value for key, value in GIVEN.items() if key != "step"}
    given["coordinates"] = coordinates
    named = fm.environment(cart(), **given, formalism=formalism, integrator=integrator, **options)
    objects = {
        "formalism": FORMALISMS[formalism](),
        "integrator": INTEGRATORS[integrator](**options),
    }
    other = fm.environment(cart(), **given, **objects)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # advice on spaces without limits
        check_env(named, skip_render_check=True)
    for env in (named, other, named):
        env.reset(seed=1)
        found = [env.step([u])[0].tolist() for u in (5.0, -3.0, 0.0)]
        if env is named:
            wanted = found
        assert found == wanted


BALL: dict[str, Any] = {
    "inputs": {"lift": ("force", "ball", "z")},
    "outputs": {"z": ("position", "ball", "z"), "floor": ("contact force", "floor", "z")},
    "limits": {"lift": (-5.0, 5.0)},
    "period": 0.05,
    "t_end": 0.5,
    "reward": lambda outputs, inputs: 0.0,
}


@pytest.mark.parametrize(
    "options",
    [
        {"integrator": "moreau-jean", "step": 1e-3},
        {"integrator": fm.MoreauJean(step=1e-3)},
        {"integrator": "event-driven"},
    ],
    ids=str,
)
def test_rigid_contacts(options: dict[str, Any]) -> None:
    """A ball falls 0.1 m in 0.143 s and lies on the floor, which carries its weight."""
    model = fm.Model("ball", gravity=(0.0, 0.0, -9.81))
    ball = model.add(fm.RigidBody("ball", mass=2.0, inertia=(1, 1, 1)))
    model.add(fm.Translation("flight", model.ground, ball, q0=(0, 0, 0.1)))
    model.add(fm.SpherePlane("floor", model.ground, ball, friction=0.3, restitution=0.0))
    with pytest.raises(fm.InputError, match="use 'moreau-jean' or 'event-driven'"):
        fm.environment(model, **BALL, step=1e-3)
    env = fm.environment(model, **BALL, **options)
    assert (env.action_names, env.observation_names) == (("lift",), ("z", "floor"))
    for _ in range(2):
        observed, _ = env.reset(seed=1)
        assert observed.tolist() == [0.1, 0.0]
        heights = [env.step([0.0])[0] for _ in range(8)]
        np.testing.assert_allclose(heights[1][0], 0.1 - 0.5 * 9.81 * 0.1**2, atol=1e-9)
        for (height, force), lift in ((heights[-1], 0.0), (env.step([5.0])[0], 5.0)):
            # m: Moreau-Jean closes the contact up to one step of 1.4 m/s late
            assert height == pytest.approx(0.0, abs=1.5e-3)
            assert force == pytest.approx(2.0 * 9.81 - lift, abs=1e-6)


@pytest.mark.filterwarnings("error")
def test_a_run_that_stops_truncates_the_episode() -> None:
    """Explicit steps of a spring that is too stiff for them; the next episode is as the first."""
    model = fm.Model("spring", gravity=(0, 0, 0))
    block = model.add(fm.PointMass("block", mass=1.0))
    guide = model.add(fm.Prismatic("guide", model.ground, block, axis="x", q0=1.0))
    model.add(fm.JointSpring("spring", guide, k=1e9))
    env = fm.environment(
        model,
        inputs={"push": ("effort", "guide")},
        outputs={"x": ("coordinate", "guide")},
        limits={"push": (-1.0, 1.0)},
        period=0.05,
        t_end=2.0,
        integrator="dormand-prince",
        step=0.01,
        reward=lambda outputs, inputs: inputs["push"],
        ended=lambda outputs: not abs(outputs["x"]) < math.inf,
    )
    ends = []
    for _ in range(2):
        seen, _ = env.reset(seed=1)
        truncated = False
        while not truncated:
            last = seen
            seen, reward, terminated, truncated, info = env.step([0.5])
        assert info["stopped"].startswith("stopped at t = ")
        assert (seen.tolist(), reward, terminated) == (last.tolist(), 0.5, False)
        ends.append((info, seen.tolist()))
        with pytest.raises(fm.InputError, match="the episode is over; reset the environment"):
            env.step([0.0])
    assert ends[0] == ends[1]


def test_the_end_is_that_of_the_model() -> None:
    model = cart()
    given = {key: value for key, value in GIVEN.items() if key not in ("t_end", "step")}
    with pytest.raises(fm.InputError, match="t_end: give the end of an episode"):
        fm.environment(model, **given)
    model.run = fm.Run(t_end=0.06, step=5e-3)
    env = fm.environment(model, **given)
    env.reset(seed=1)
    assert [env.step([0.0])[3] for _ in range(3)] == [False, False, True]


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

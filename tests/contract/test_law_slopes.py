"""Tangents of the equations against extrapolated differences: every kind of force and of joint law,
in random models.
"""

import contextlib
import dataclasses
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from any_models import any_model, registered

import flexmbs as fm
from flexmbs.diagnosis.rank import displaced
from flexmbs.model.forces import Force
from flexmbs.model.laws import JointLaw
from flexmbs.results.state import State
from flexmbs.studies.states.tangent import Tangents, evaluate, tangents

# `linearize` takes no user functions of reactions
KINDS = [
    label
    for label in registered()
    if label.split(" ")[0] in ("forces", "joint") and label != "forces user-friction"
]
SEEDS = 200
HALVINGS = 6


def extrapolated(
    function: Callable[[float], np.ndarray], h: float
) -> tuple[np.ndarray, np.ndarray]:
    """f'(0) by Richardson extrapolation of central differences with the steps h, h/2, …, and its
    error (Ridders 1982).
    """
    last: list[np.ndarray] = []
    best, error = np.zeros(0), np.full(1, np.inf)
    for k in range(HALVINGS):
        step = h / 2**k
        row = [(function(step) - function(-step)) / (2.0 * step)]
        for j, before in enumerate(last):
            row.append(row[j] + (row[j] - before) / (4.0 ** (j + 1) - 1.0))
            change = np.maximum(np.abs(row[-1] - row[j]), np.abs(row[-1] - before))
            best = row[-1] if not best.size else np.where(change < error, row[-1], best)
            error = np.minimum(error, change)
        last = row
    return best, error


def results(state: State) -> np.ndarray:
    found = evaluate(state)
    return np.concatenate([found.r, found.force_rate, found.gs.velocity, found.gs.acceleration])


def of_results(found: Tangents) -> np.ndarray:
    """(directions q, s, z, results)"""
    parts = [
        np.hstack([each.r, each.force_rate, each.gs.velocity, each.gs.acceleration])
        for each in (found.q, found.s, found.z)
    ]
    return np.vstack(parts)


def changed(state: State, direction: int, step: float) -> State:
    ns = len(state.s)
    if direction < ns:
        q, delta = state.q.copy(), np.zeros(ns)
        delta[direction] = step
        displaced(state.compiled.system, state.q, delta, q)
        return dataclasses.replace(state, q=q)
    both = np.concatenate([state.s, state.z])
    both[direction - ns] += step
    return dataclasses.replace(state, s=both[:ns], z=both[ns:])


def without_contacts(kind: str) -> fm.Model:
    """The first random model with a kind that can be linearized as a whole."""

    def fits(model: fm.Model) -> bool:
        unfit = (
            isinstance(force, fm.UserFriction) or force.row().reads
            for force in model.forces.values()
        )
        return not model.contacts and not any(unfit)

    for seed in range(SEEDS):
        with contextlib.suppress(ValueError):  # no model of this seed
            return any_model(7000 + seed, kind, fits).model
    raise ValueError(f"no model with {kind} in {SEEDS} seeds")


def slider(force: Force | Callable[..., float], **start: float) -> fm.Model:
    model = fm.Model("slider", gravity=(0.0, 0.0, 0.0))
    model.add(fm.RigidBody("body", mass=1.0, inertia=(0.02,) * 3))
    model.add(fm.Prismatic("slide", "ground", "body", axis="x", **start))
    model.add(force if isinstance(force, Force) else fm.JointTorque("law", "slide", force))
    return model


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda t, x, v: -0.02 * np.tanh(v / 1e-6) - 7.0 * x, (-7.0, -2e4)),
        (lambda t, x, v: -3.0 * v * abs(v) + np.sin(20.0 * x), (20.0, 0.0)),
        (lambda t, x, v: 1e3 - 2.0 * max(x - 1e-5, 0.0) - 5.0 * max(1e-5 - x, 0.0), (5.0, 0.0)),
        (lambda t, x, v: np.exp(v) - x * x * abs(x), (0.0, 1.0)),
    ],
    ids=["narrow", "drag", "corner beside", "smooth"],
)
def test_user_functions(function: Callable[..., float], expected: tuple[float, float]) -> None:
    np.testing.assert_allclose(fm.linearize(slider(function)).A[1], expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("force", "text"),
    [
        (lambda t, x, v: -3.0 * max(x, 0.0), "'law' has no slope along its coordinate"),
        (lambda t, x, v: -float(np.sign(v)), "'law' has no slope along its rate"),
        (
            fm.LimitedPID(10.0, 0.0, lower=-1.0, upper=0.01, reference=1e-3),
            "'law' has no slope along its coordinate .*, 0 to|-0 to",
        ),
    ],
    ids=["corner", "jump", "limit"],
)
def test_corners_are_refused_by_name(force: object, text: str) -> None:
    with pytest.raises(fm.InputError, match=text):
        fm.linearize(slider(force))


def test_bristles_at_rest() -> None:
    """∂ż/∂η = 1 ∓ σ₀ z/F_c of LuGre friction to both sides of η = 0, hence of −(Q − σ₀ z)/σ₁, too;
    the tangents name the corner and have the mean."""
    state = fm.state(
        slider(fm.LuGreFriction("law", "slide", coulomb=2.0, stiffness=50.0, damping=3.0))
    )
    state = dataclasses.replace(state, z=np.array([0.01]))
    for way in (1.0, -1.0):
        moved = dataclasses.replace(state, s=np.array([way * 1e-7]))
        rates = (evaluate(moved).force_rate - evaluate(state).force_rate) / (way * 1e-7)
        np.testing.assert_allclose(rates, 1.0 - way * 0.25, rtol=1e-6)
    found = tangents(state)
    assert [corner.force for corner in found.corners] == ["law"]
    np.testing.assert_allclose(found.s.force_rate, [[1.0]], rtol=1e-6)
    np.testing.assert_allclose(found.s.r, [[3.0]], rtol=1e-6)


def test_equilibrium_at_a_corner_warns() -> None:
    model = slider(lambda t, x, v: -2.0 * x - 3.0 * max(x, 0.0))
    with pytest.warns(fm.ModelWarning, match="force 'law' has no slope"):
        fm.statics(model)


@pytest.mark.parametrize("seed", range(6))
def test_a_pressed_stop(seed: int) -> None:
    """N = k δⁿ (1 + d δ̇) at the lower or upper limit of a joint, and nothing away from it."""
    rng = np.random.default_rng(seed)
    k, n, d, deep, rate = (
        rng.uniform(5.0, 90.0),
        rng.uniform(1.0, 2.5),
        rng.uniform(0.0, 0.5),
        rng.uniform(0.01, 0.2),
        0.4,
    )
    sign = (-1.0) ** seed
    model = fm.Model("pressed", gravity=(0.0, 0.0, 0.0))
    model.add(fm.PointMass("mass", mass=2.0))
    model.add(
        fm.Prismatic("rail", "ground", "mass", axis="x", q0=sign * (1.0 + deep), v0=sign * rate)
    )
    law = fm.HuntCrossley(k, exponent=n, damping=d)
    model.add(fm.JointLimit("stop", "rail", lower=-1.0, upper=1.0, law=law))
    expected = [-k * n * deep ** (n - 1.0) * (1.0 + d * rate), -k * deep**n * d]
    np.testing.assert_allclose(2.0 * fm.linearize(model).A[1], expected, rtol=1e-9, atol=1e-12)
    model.joints["rail"] = dataclasses.replace(model.joints["rail"], q0=sign * (1.0 - deep))
    np.testing.assert_allclose(fm.linearize(model).A[1], 0.0)


@pytest.mark.parametrize("length", [0.02, 0.5])
def test_springs_shorter_than_the_model(length: float) -> None:
    """K = k r² of a stretched spring across the end of an arm of the length r: l² = r² (1 − cos a)²
    + (L − r sin a)², l'' = 0.
    """
    arm, k = 10.0, 100.0
    model = fm.Model("arm", gravity=(0.0, 0.0, 0.0), frames={"top": (arm, length, 0.0)})
    model.add(
        fm.RigidBody("arm", mass=3.0, inertia=(1.0, 2.0, 3.0), frames={"tip": (arm, 0.0, 0.0)})
    )
    model.add(fm.Revolute("hinge", "ground", "arm", axis="z"))
    model.add(fm.PointSpring("spring", "ground/top", "arm/tip", k=k, length=0.5 * length))
    np.testing.assert_allclose(fm.linearize(model).K, k * arm**2, rtol=1e-7)


def test_all_kinds_are_compared() -> None:
    assert len(KINDS) == len(Force.kinds) - 1 + len(JointLaw.kinds)


@pytest.mark.parametrize("kind", KINDS)
def test_tangents_are_those_of_small_steps(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.AssemblyWarning)
        state = fm.state(without_contacts(kind))
    rng = np.random.default_rng(5)
    # `linearize` takes friction of reactions at rest alone
    loaded = state.compiled.system.forces.joint.loaded.any()
    s = 0.0 * state.s if loaded else state.s
    # at rest |η| of the bristles has a corner, which the test below has
    if kind == "forces lugre-friction":
        s = s + rng.uniform(0.3, 0.9, len(s))
    state = dataclasses.replace(state, s=s, z=0.1 * rng.normal(size=len(state.z)))
    found = tangents(state)
    assert not found.corners
    assert not found.rough.any()
    slopes = list(of_results(found))
    round_off = 1e-10 * max(float(np.abs(slope).max()) for slope in slopes)
    for direction, slope in enumerate(slopes):
        expected, error = extrapolated(
            lambda step, k=direction: results(changed(state, k, step)), 2e-3
        )
        scale = np.abs(expected).max() + np.abs(results(state)).max()
        np.testing.assert_allclose(
            slope, expected, rtol=1e-6, atol=float(1e-7 * scale + 10.0 * error.max() + round_off)
        )
        assert error.max() < 1e-4 * scale + round_off

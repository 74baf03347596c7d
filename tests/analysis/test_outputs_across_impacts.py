"""Outputs of runs with impacts: smooth functions of the times of these, with the derivatives of the
motion.
"""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.studies.parameters.outputs import WORDS, pieces, values_at

G, E, T = 9.81, 0.5, 0.45  # one impact within T


def ball(q0: float = 0.3) -> fm.Model:
    model = fm.Model("ball", gravity=(0, 0, -G))
    body = model.add(fm.PointMass("body", mass=1.0))
    way = model.add(fm.Prismatic("way", model.ground, body, axis="z", q0=q0))
    model.add(fm.JointLimit("floor", way, lower=0.0, restitution=E))
    return model


def exact(word: str, q0: float) -> float:
    """Outputs of a ball that falls from q0 and bounces once."""
    fall = np.sqrt(2.0 * q0 / G)
    first, second = np.linspace(0.0, fall, 20001), np.linspace(0.0, T - fall, 20001)
    up = E * G * fall
    v = -G * first, up - G * second
    z = q0 - 0.5 * G * first**2, up * second - 0.5 * G * second**2
    end = up - G * (T - fall)
    squares = G * G * fall**3 / 3.0 + (up**3 - end**3) / (3.0 * G)
    return {
        "mean velocity": (z[1][-1] - q0) / T,
        "max velocity": up,
        "min velocity": -G * fall,
        "last velocity": v[1][-1],
        "rms velocity": np.sqrt(squares / T),
        "range velocity": up + G * fall,
        "at 0.25 velocity": up - G * (0.25 - fall),
        "integral position": q0 * fall
        - G * fall**3 / 6.0
        + 0.5 * up * (T - fall) ** 2
        - G * (T - fall) ** 3 / 6.0,
        "min position": 0.0,
    }[word]


NAMES = (
    "mean velocity",
    "max velocity",
    "min velocity",
    "last velocity",
    "rms velocity",
    "range velocity",
    "at 0.25 velocity",
    "integral position",
)


def test_derivatives_are_those_of_the_motion_with_its_impact() -> None:
    outputs = {
        name: f"{name.rpartition(' ')[0]} joint way.0 {name.rpartition(' ')[2]}" for name in NAMES
    }
    found = fm.sensitivities(
        ball(),
        ["joints.way.q0"],
        outputs,
        run=fm.Run(t_end=T, output_step=0.01, integrator="event-driven"),
        accuracy=1e-5,
    )
    for k, name in enumerate(NAMES):
        wanted = (exact(name, 0.301) - exact(name, 0.299)) / 0.002
        assert found.values[k] == pytest.approx(exact(name, 0.3), rel=1e-6), name
        assert found.gradient[k, 0] == pytest.approx(wanted, rel=1e-4), name


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_contacts_that_close_at_the_ends_of_steps_have_no_derivatives() -> None:
    run = fm.Run(t_end=T, step=0.01, integrator="moreau-jean")
    for study in (
        lambda: fm.sensitivities(ball(), ["joints.way.q0"], "last joint way.0 velocity", run=run),
        lambda: fm.optimize(ball(), ["joints.way.q0"], "last joint way.0 velocity", run=run),
        lambda: fm.identify(
            ball(),
            ["joints.way.q0"],
            {"joint way.0 position [m]": ([0.1, 0.2, 0.3], [0.2, 0.1, 0.1])},
            run=run,
        ),
    ):
        with pytest.raises(
            fm.InputError,
            match=r"contacts\.floor.*: 'moreau-jean' closes contacts at the ends of steps",
        ):
            study()


@pytest.mark.parametrize("seed", range(20))
def test_random_courses_with_jumps(seed: int) -> None:
    """Cubic pieces between jumps anywhere: integrals and values at times are exact."""
    rng = np.random.default_rng(seed)
    t = np.sort(np.concatenate([[0.0, 1.0], rng.uniform(0.0, 1.0, 60)]))
    at = np.sort(rng.uniform(0.15, 0.85, rng.integers(0, 4)))
    at = at[[True, *(np.diff(at) > 0.2)]] if len(at) else at
    curves = [np.polynomial.Polynomial(rng.normal(size=4)) for _ in range(len(at) + 1)]
    x = np.array([curves[np.searchsorted(at, each)](each) for each in t])
    parts = pieces(t, x, at)
    ends = [0.0, *at, 1.0]
    wanted = sum(curve.integ()(b) - curve.integ()(a) for curve, a, b in zip(curves, ends, ends[1:]))
    assert WORDS["integral"](parts) == pytest.approx(wanted, abs=2e-3)
    times = rng.uniform(0.0, 1.0, 30)
    np.testing.assert_allclose(
        values_at(parts, times),
        [curves[np.searchsorted(at, each)](each) for each in times],
        atol=1e-9,
    )


def test_impacts_between_two_outputs_leave_a_line() -> None:
    t = np.array([0.0, 1.0, 2.0, 3.0])
    parts = pieces(t, np.array([0.0, 1.0, 10.0, 10.0]), np.array([1.2, 1.4, 1.8]))
    assert [len(part[0]) for part in parts] == [3, 2, 2, 3]
    assert all(np.isfinite(part[1]).all() for part in parts)
    assert WORDS["max"](parts) == 10.0


def oscillator(f: float) -> fm.Model:
    model = fm.Model("oscillator", gravity=(0, 0, 0))
    body = model.add(fm.PointMass("body", mass=1.0))
    way = model.add(fm.Prismatic("way", model.ground, body, q0=0.1))
    model.add(fm.JointSpring("spring", way, k=(2.0 * np.pi * f) ** 2))
    return model


def test_outputs_too_far_apart_are_told() -> None:
    run = fm.Run(t_end=1.0, step=1e-3, output_step=0.05)
    with pytest.warns(fm.ModelWarning, match="rms .*: the outputs are too far apart"):
        found = fm.sensitivities(
            oscillator(7.3), ["forces.spring.k"], ["rms joint way.0 velocity"], run=run
        )
    assert "too far apart" in found.notes[-1]


def test_measured_signals_are_compared_at_fine_outputs_whatever_the_run_asks_for() -> None:
    """A spline through coarse outputs made the stiffness wrong by several of its standard
    deviations.
    """
    t = np.linspace(0.0, 0.5, 101)
    measured = {"joint way.0 position [m]": (t, 0.1 * np.cos(2.0 * np.pi * 20.0 * t))}
    for run in (
        fm.Run(t_end=0.5, output_step=0.25),
        fm.Run(t_end=0.5, step=2e-4, output_step=0.25),
    ):
        found = fm.identify(oscillator(19.9), ["forces.spring.k"], measured, run=run)
        assert found.values[0] == pytest.approx((2.0 * np.pi * 20.0) ** 2, rel=1e-3)


def wrong_type(run: fm.Solution) -> float:
    return None + 1.0  # type: ignore[operator]


def test_exceptions_of_functions_are_their_own() -> None:
    with pytest.raises(TypeError, match="NoneType"):
        fm.sensitivities(oscillator(1.0), ["forces.spring.k"], wrong_type, t_end=0.1, step=0.01)


@pytest.mark.parametrize("given", ["3.5", True, None, 1j, np.ones(3), np.ones(1), [1.0]])
def test_functions_give_one_number(given: object) -> None:
    with pytest.raises(fm.InputError, match="return one number"):
        fm.sensitivities(
            oscillator(1.0), ["forces.spring.k"], lambda run: given, t_end=0.1, step=0.01
        )


@pytest.mark.parametrize(
    ("measured", "message"),
    [
        ({}, "is not a measurement"),
        (
            {
                "joint way.0 position [m]": ([0, 1], [1, 2]),
                "joint way.0 position [mm]": ([0, 1], [1, 2]),
            },
            "is there twice",
        ),
    ],
)
def test_measurements_that_are_none_or_twice_there(measured: object, message: str) -> None:
    with pytest.raises(fm.InputError, match=message):
        fm.identify(oscillator(1.0), ["forces.spring.k"], measured, step=0.01)


@pytest.mark.parametrize(
    "twice", [("gravity.x", "gravity.0"), ("joints.way.q0", "joints.way.q0.0")]
)
def test_two_names_of_one_number_are_refused(twice: tuple[str, str]) -> None:
    with pytest.raises(fm.InputError, match=f"{twice[1]}: is the same number as {twice[0]}"):
        fm.sensitivities(
            oscillator(1.0), list(twice), "last joint way.0 position", t_end=0.1, step=0.01
        )

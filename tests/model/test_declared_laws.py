"""Laws: values against closed forms, rates and accelerations against differences of the values, bad
input.
"""

import math

import numpy as np
import pytest
import user_functions
from declared import problems_of
from scipy.interpolate import PchipInterpolator

import flexmbs as fm
from flexmbs.formalisms import FORMALISMS
from flexmbs.integrators import INTEGRATORS
from flexmbs.model import run
from flexmbs.model.interpolation import INTERPOLATIONS

SMOOTH = [
    fm.Constant(3.0),
    fm.Ramp(1.0, 2.0, start=0.2, end=0.9),
    fm.SmoothStep(2.0, start=0.1, duration=0.7, initial=-1.0),
    fm.Sine(0.3, 2.0, phase=0.4, offset=1.0),
    fm.Table((0, 0.3, 0.7, 1.1), (0, 1, -1, 2)),
    fm.Table((0, 0.3, 0.7, 1.1), (0, 1, -1, 2), interpolation="spline"),
    fm.Table((0, 0.3, 0.7, 1.1), (0, 1, -1, 2), interpolation="linear"),
    fm.Function(user_functions.swing),
    fm.Function(user_functions.swing_with_rates),
]


@pytest.mark.parametrize("law", SMOOTH, ids=lambda law: law.kind)
def test_rate_and_acceleration_are_the_derivatives(law) -> None:
    h = 1e-4
    for t in (-0.5, 0.11, 0.25, 0.5, 0.77, 1.05, 2.3):
        value, rate, acceleration = law.state(t)
        assert value == law(t)
        assert rate == pytest.approx((law(t + h) - law(t - h)) / (2 * h), abs=2e-5)
        assert acceleration == pytest.approx(
            (law(t + h) - 2 * law(t) + law(t - h)) / h**2, abs=2e-4
        )


def test_values_in_closed_form() -> None:
    assert fm.Ramp(1.0, 2.0, start=1.0, end=3.0)(2.0) == 3.0
    assert fm.Ramp(1.0, 2.0, start=1.0, end=3.0)(9.0) == 5.0
    assert fm.Ramp(0.0, 1.0)(1e6) == 1e6
    assert fm.SmoothStep(2.0, start=1.0, duration=2.0)(2.0) == 1.0
    assert fm.SmoothStep(2.0, start=1.0, duration=2.0).state(2.0)[1] == 2.0 * 1.875 / 2.0
    assert [fm.SmoothStep(2.0, duration=1.0, initial=1.0)(t) for t in (-1.0, 5.0)] == [1.0, 2.0]
    assert fm.SmoothStep(2.0, duration=1e60).state(1.0)[2] < 1e-170
    assert fm.SmoothStep(2.0, duration=1e-60).state(1.0) == (2.0, 0.0, 0.0)
    assert fm.Sine(2.0, 0.25, offset=1.0)(1.0) == pytest.approx(3.0, abs=1e-15)


def test_spline_through_a_cubic_is_the_cubic() -> None:
    times = (0.0, 0.4, 1.0, 1.3, 2.0)
    law = fm.Table(times, [t**3 - 2 * t for t in times], interpolation="spline")
    for t in np.linspace(0, 2, 17):
        np.testing.assert_allclose(law.state(t), (t**3 - 2 * t, 3 * t**2 - 2, 6 * t), atol=1e-12)


def test_a_table_never_leaves_the_values_of_neighbouring_points_unless_asked_to() -> None:
    """A spline through these four points overshoots from −38 to +38."""
    times, values = (0, 1, 1.01, 2), (0, 0, 1, 1)
    law = fm.Table(times, values)
    found = np.array([law(t) for t in np.linspace(0, 2, 401)])
    assert found.min() == 0.0
    assert found.max() == 1.0
    spline = fm.Table(times, values, interpolation="spline")
    assert min(spline(t) for t in np.linspace(0, 1, 101)) < -38.0


@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_monotone_tables_are_those_of_scipy(n) -> None:
    """PCHIP of another program, for points with plateaus and changes of sign."""
    rng = np.random.default_rng(n)
    for digits in (0, 1, 5):
        times, values = np.cumsum(rng.uniform(0.01, 1.0, n)), np.round(rng.normal(size=n), digits)
        c = PchipInterpolator(times, values).c
        np.testing.assert_allclose(
            fm.Table(times, values).coefficients(), c, atol=1e-13 * np.abs(c).max()
        )


def test_cubics_of_a_table_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    table, same = (fm.Table((0, 1, 2), (1, 5, 4)) for _ in range(2))
    first = table.coefficients()
    monkeypatch.setitem(INTERPOLATIONS, "monotone", None)
    table.state(0.5)
    assert table.coefficients() is first
    assert not first.flags.writeable
    assert table == same
    assert hash(table) == hash(same)
    assert repr(table) == repr(same)


def test_table_holds_its_ends() -> None:
    law = fm.Table((0, 1, 2), (1, 5, 4))
    assert law.state(-1.0) == (1.0, 0.0, 0.0)
    assert law.state(3.0) == (4.0, 0.0, 0.0)
    assert law(2.0) == pytest.approx(4.0, abs=1e-14)


def test_numbers_and_functions_are_laws() -> None:
    assert fm.Drive("d", "j", 0.3).motion == fm.Constant(0.3)
    assert fm.Drive("d", "j", user_functions.swing).motion == fm.Function(user_functions.swing)
    assert fm.Drive("d", "j", "user_functions:swing").motion == fm.Function(user_functions.swing)
    assert fm.JointTorque("t", "j", user_functions.friction).law == fm.Function(
        user_functions.friction
    )
    assert fm.FrameForce("f", "b", force=(1, 2, math.sin)).force[2] == fm.Function(math.sin)
    assert fm.PD(1.0).reference == fm.Constant(0.0)
    assert fm.Function(user_functions.friction).parameters == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fm.Ramp(0, 1, start=2, end=1), "Ramp.end: must not be before start = 2, not 1"),
        (lambda: fm.SmoothStep(1, duration=0), "SmoothStep.duration: must be > 0, not 0"),
        (lambda: fm.SmoothStep(1), "SmoothStep.duration: is missing"),
        (lambda: fm.Table((0, 1), (1,)), "Table.values: must have 2 numbers, one per time, not 1"),
        (lambda: fm.Table((0, 0), (1, 2)), "Table.times: must increase; 0 follows 0"),
        (lambda: fm.Table((0,), (1,)), "Table.times: must have at least 2 points, not 1"),
        (
            lambda: fm.Table((0, 1), (1, 2), interpolation="cubic"),
            "Table.interpolation: must be 'monotone', 'spline' or 'linear', not 'cubic'",
        ),
        (lambda: fm.PD("stiff", 1), "PD.kp: must be a number, not 'stiff'"),
        (
            lambda: fm.Drive("d", "j", fm.PD(1, 2)),
            "drives.d.motion: must be a law of time, not a pd law",
        ),
        (
            lambda: fm.Drive("d", "j", lambda t, x: 0),
            "drives.d.motion: the function must take one argument t, not 2",
        ),
        (
            lambda: fm.JointTorque("t", "j", lambda t, x: 0),
            "forces.t.law: the function must take (t) or (t, x, v), not 2 arguments",
        ),
        (
            lambda: fm.JointTorque("t", "j", {"kind": "pdd"}),
            "forces.t.law.kind: unknown law kind 'pdd'; did you mean 'pd'?",
        ),
        (
            lambda: fm.JointTorque("t", "j", {"kp": 1}),
            "forces.t.law.kind: is missing; one of: affine-actuator",
        ),
        (
            lambda: fm.JointTorque("t", "j", {"kind": "pd", "kp": 1, "kdd": 2}),
            "forces.t.law.kdd: unknown key; did you mean 'kd'?",
        ),
        (
            lambda: fm.JointTorque("t", "j", [1]),
            "forces.t.law: must be a law, a number or a function",
        ),
        (
            lambda: fm.JointTorque("t", fm.Model("m").ground, 1),
            "forces.t.joint: must be a joint (its handle or name)",
        ),
        (
            lambda: fm.JointTorque("t", "j", 1, coordinate=-1),
            "forces.t.coordinate: must be a whole number >= 0, not -1",
        ),
        (
            lambda: fm.FrameForce("f", "b", force=(1, 2)),
            "forces.f.force: must be three laws or numbers",
        ),
        (
            lambda: fm.FrameForce("f", "b", force=(1, 2, "x")),
            "forces.f.force.2.function: must be a function or its name 'module:name'",
        ),
        (
            lambda: fm.FrameForce("f", "b", axes="body"),
            "forces.f.axes: must be 'world' or 'follower'",
        ),
        (lambda: fm.PointSpring("s", "b/x", "b/x"), "forces.s.frame_b: is frame_a itself ('b/x')"),
        (lambda: fm.PointSpring("s", "a", "b", length=-1), "forces.s.length: must be >= 0, not -1"),
        (
            lambda: fm.PointSpring("s", "a", "b", law=lambda t: t),
            "forces.s.law: the function must be f(t, elongation, rate) -> tension",
        ),
        (lambda: fm.Bushing("s", "a", "b", k=(1, 2, 3)), "forces.s.k: must have 6 numbers"),
        (
            lambda: fm.Bushing("s", "a", "b", k=(1, 2, 3, 4, 5, -6)),
            "forces.s.k: must be >= 0, not -6",
        ),
        (
            lambda: fm.UserForce("u", "b", lambda t: t),
            "forces.u.function: the function must be f(t, r, A, v, w) -> 6 numbers",
        ),
    ],
)
def test_bad_law_or_force(make, message) -> None:
    assert problems_of(make)[0].startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        "2*t + sin(t)",
        "__import__('os').system('true')",
        "math:nothing",
        "no_such_module:f",
        "math",
        "math:",
        "lambda t: t",
        "math:pi",
    ],
)
def test_expressions_are_never_evaluated(text) -> None:
    (problem,) = problems_of(lambda: fm.Drive("d", "j", text))
    assert problem.startswith("drives.d.motion.function: ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"t_end": 0}, "Run.t_end: must be > 0, not 0"),
        ({"t_end": -1}, "Run.t_end: must be > 0, not -1"),
        ({}, "Run.t_end: is missing"),
        ({"t_end": 1, "output_step": 2}, "Run.output_step: must not exceed t_end = 1, not 2"),
        ({"t_end": 1, "step": 2}, "Run.step: must not exceed t_end = 1, not 2"),
        ({"t_end": 1, "step": 0}, "Run.step: must be > 0, not 0"),
        ({"t_end": 1, "rtol": 1e-20}, "Run.rtol: must be within 1e-14 … 1"),
        ({"t_end": 1, "atol": 0}, "Run.atol: must be > 0, not 0"),
        ({"t_end": 1, "rho_inf": 1.2}, "Run.rho_inf: must be within 0 … 1, not 1.2"),
        (
            {"t_end": 1, "coordinates": "joints"},
            "Run.coordinates: unknown choice 'joints'; did you mean 'joint'?",
        ),
        ({"t_end": 1, "integrator": "rk4"}, "Run.integrator: unknown choice 'rk4'; known: dormand"),
        (
            {"t_end": 1, "formalism": "multiplyer"},
            "Run.formalism: unknown choice 'multiplyer'; did you mean 'multiplier'?",
        ),
        ({"t_end": 1, "stabilization": 1}, "Run.stabilization: unknown choice 1; known: "),
        ({"t_end": 1, "tol": 1}, "Run.tol: unknown key; did you mean"),
    ],
)
def test_bad_run_options(options, message) -> None:
    assert problems_of(lambda: fm.Run(**options))[0].startswith(message)


def test_names_of_methods_are_those_of_the_registries() -> None:
    assert tuple(INTEGRATORS) == run.INTEGRATOR_NAMES
    assert tuple(FORMALISMS) == run.FORMALISM_NAMES

"""Options of a run: from the call, from the model, and incompatible ones."""

from collections.abc import Callable

import bars
import numpy as np
import pytest

import flexmbs as fm
from flexmbs._jit import COMPILED
from flexmbs.integrators.dormand_prince import step_at
from flexmbs.integrators.stepper import integrate
from flexmbs.studies.run.options import output_times


def pendulum(run: fm.Run | None = None) -> fm.Model:
    return bars.pendulum("bar", run=run, inertia=(0.1, 0.1, 0.1), com=(0, 0, 0))


def test_the_model_says_how_to_run() -> None:
    run = fm.Run(t_end=0.2, step=0.01, output_step=0.1, coordinates="absolute", integrator="rattle")
    solution = fm.simulate(pendulum(run))
    np.testing.assert_allclose(solution.t, [0.0, 0.1, 0.2])
    asked = {key: solution.run.options[key] for key in ("coordinates", "integrator", "step")}
    assert asked == {"coordinates": "absolute", "integrator": "rattle", "step": 0.01}
    other = fm.simulate(pendulum(run), integrator="dormand-prince")
    assert (other.run.options["step"], len(other.t)) == (None, 3)
    assert fm.simulate(pendulum(run), t_end=0.1).run.options["coordinates"] == "joint"


def test_one_set_of_tolerances() -> None:
    for integrator in ("generalized-alpha", "dormand-prince", "esdirk"):
        options = fm.simulate(pendulum(), t_end=0.01, integrator=integrator).run.options
        assert (options["rtol"], options["atol"]) == (1e-6, 1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "t_end: give the end time (s), or set model.run = Run(t_end=1.0) for the model " "'pendulum'"),
        (
            {"t_end": 1.0, "integrator": "dormand-prince", "rho_inf": 0.5},
            "rho_inf: integrator 'dormand-prince' has no such option; omit it, or use one " "of generalized-alpha",
        ),
        ({"t_end": 1.0, "integrator": "rattle", "step": 0.1, "rtol": 0.1}, "rtol: integrator 'rattle' has no such option"),
        ({"t_end": 1.0, "integrator": fm.ESDIRK(), "atol": 0.1}, "integrator: pass atol to the integrator object instead"),
        ({"t_end": 1.0, "integrator": "esdirk", "stabilization": "projection"}, "stabilization: 'esdirk' satisfies g"),
        (
            {"t_end": 1.0, "integrator": "rattle", "step": 0.1, "stabilization": "baumgarte"},
            "stabilization: 'rattle' satisfies g",
        ),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_reported(options: dict, message: str) -> None:
    with pytest.raises(fm.InputError) as refused:
        fm.simulate(pendulum(), **options)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("options", [{"rtol": 0.0}, {"atol": 2.0}, {"max_step": 0.0}])
def test_options_of_controlled_integrators_are_checked(options: dict) -> None:
    with pytest.raises(fm.InputError, match=r"integrator\."):
        fm.ESDIRK(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formalism": fm.Recursive}, "formalism: Recursive is a class; give an instance"),
        (
            {"formalism": ["recursive"]},
            "formalism: unknown ['recursive']; did you mean 'recursive'?",
        ),
        ({"integrator": ["esdirk"]}, "integrator: unknown ['esdirk']; did you mean 'esdirk'?"),
        (
            {"stabilization": fm.Projection()},
            "stabilization: pass the object to the formalism, or give its name here: 'projection'",
        ),
        (
            {"stabilization": ["projection"]},
            "stabilization: unknown ['projection']; did you mean 'projection'?",
        ),
        ({"step": "small"}, "integrator.step: 'small' is not positive; give a time in seconds"),
        ({"step": True}, "integrator.step: True is not positive"),
        ({"rtol": "small"}, "integrator.rtol: 'small' is not in 1e-14"),
        ({"atol": [1e-8]}, "integrator.atol: [1e-08] is not above 0 and below 1"),
        ({"rho_inf": "0.5"}, "integrator.rho_inf: '0.5' is not in 0"),
        ({"events": fm.Event("top", frame="bar", axis="z")}, "events: Event("),
        ({"events": ["top"]}, "events: 'top' is not an Event"),
    ],
)
def test_options_of_another_type_are_named(options: dict, message: str) -> None:
    with pytest.raises(fm.InputError) as refused:
        fm.simulate(pendulum(), **{"t_end": 1.0, **options})
    assert str(refused.value).startswith(message)


def test_a_file_is_no_model() -> None:
    with pytest.raises(
        fm.InputError, match=r"model: 'arm.toml' is not a Model; load\('model.toml'\) reads one"
    ):
        fm.simulate("arm.toml", t_end=1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fm.Baumgarte("20"), "Baumgarte.rate: must be a number, not '20'"),
        (lambda: fm.Baumgarte(np.inf), "Baumgarte.rate: must be finite"),
        (lambda: fm.Projection(0.0), "Projection.tolerance: 0.0 is not above 0"),
        (
            lambda: fm.Partitioning(tolerance=None),
            "partitioning.tolerance: must be a number, not None",
        ),
        (
            lambda: fm.Partitioning(independent=3),
            "partitioning.independent: 3 is not a list of names",
        ),
        (
            lambda: fm.Rattle(step=0.1, max_iterations=0),
            "integrator.max_iterations: 0 is not a whole number above 0",
        ),
        (
            lambda: fm.GeneralizedAlpha(max_iterations=2.5),
            "integrator.max_iterations: 2.5 is not a whole number above 0",
        ),
    ],
)
def test_options_of_objects_are_checked(make: Callable[[], object], message: str) -> None:
    with pytest.raises(fm.InputError) as refused:
        make()
    assert str(refused.value).startswith(message)


def test_whole_numbers_run_in_the_kernels_of_other_numbers() -> None:
    """A second kernel for integers would take minutes to compile."""
    assert output_times(2, 1, None).dtype == np.float64
    assert output_times(2, None, 1).dtype == np.float64
    for step in (1, 1.0):
        solution = fm.simulate(pendulum(), t_end=2, step=step, integrator="dormand-prince")
        np.testing.assert_array_equal(solution.t, [0.0, 1.0, 2.0])
    if COMPILED:
        assert {len(kernel.compiled) for kernel in (step_at, integrate)} == {1}

"""Options of a run: from the call, from the model, and those that do not go together."""

import numpy as np
import pytest

import flexmbs as fm


def pendulum(run: fm.Run | None = None) -> fm.Model:
    model = fm.Model("pendulum", run=run)
    model.add(fm.Revolute("hinge", model.ground, model.add(fm.RigidBody("bar", mass=1.0, inertia=(0.1, 0.1, 0.1))), axis="y"))
    return model


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
    for integrator in ("generalized-alpha", "dormand-prince", "radau", "bdf"):
        options = fm.simulate(pendulum(), t_end=0.01, integrator=integrator).run.options
        assert (options["rtol"], options["atol"]) == (1e-6, 1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "t_end: give the end time (s), or the model 'pendulum' options of a run"),
        (
            {"t_end": 1.0, "integrator": "dormand-prince", "rho_inf": 0.5},
            "rho_inf: integrator 'dormand-prince' has no such option; leave it out, or take one of generalized-alpha",
        ),
        ({"t_end": 1.0, "integrator": "radau", "step": 0.1}, "step: integrator 'radau' has no such option; leave it out"),
        ({"t_end": 1.0, "integrator": "rattle", "step": 0.1, "rtol": 0.1}, "rtol: integrator 'rattle' has no such option"),
        ({"t_end": 1.0, "integrator": fm.Radau(), "atol": 0.1}, "integrator: give atol to the integrator object, not beside it"),
        ({"t_end": 1.0, "integrator": "bdf", "stabilization": "projection"}, "stabilization: 'bdf' cannot move the states"),
        ({"t_end": 1.0, "integrator": "rattle", "step": 0.1, "stabilization": "baumgarte"}, "stabilization: 'rattle' fulfils g"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_said(options: dict, message: str) -> None:
    with pytest.raises(fm.InputError) as refused:
        fm.simulate(pendulum(), **options)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("options", [{"rtol": 0.0}, {"atol": 2.0}, {"max_step": 0.0}])
def test_options_of_stiff_integrators_are_checked(options: dict) -> None:
    with pytest.raises(fm.InputError, match=r"integrator\."):
        fm.BDF(**options)

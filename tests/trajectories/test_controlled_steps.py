"""Error-controlled methods on every form of the multiplier equations: the error of a run follows
the tolerance.

Generalized-α is of order two, its local error of order h³: a step's tolerance is that of the run to
the power 3/2.
"""

import importlib.util
import pathlib
import sys

import numpy as np
import pytest

import flexmbs as fm

STUDY = pathlib.Path(__file__).parents[2] / "reports" / "integrators" / "models.py"
BAR = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1), "com": (0, 0, -0.5), "frames": {"end": (0, 0, -1)}}


def driven() -> fm.Model:
    """A double pendulum whose second hinge a drive moves."""
    model = fm.Model("driven")
    upper, lower = (model.add(fm.RigidBody(name, **BAR)) for name in ("upper", "lower"))
    model.add(fm.Revolute("shoulder", model.ground, upper, axis="y", q0=0.5))
    model.add(fm.Revolute("elbow", upper["end"], lower, axis="y", q0=0.7))
    model.add(fm.Drive("motor", "elbow", fm.Sine(0.3, 1.5, offset=0.7)))
    return model


def redundant() -> fm.Model:
    """A planar four-bar on four parallel hinges: three of its rows depend on the others."""
    model = fm.Model("four bars", frames={"far": (0.9, 0, 0)})
    left, right = (model.add(fm.RigidBody(name, **BAR)) for name in ("left", "right"))
    rod = model.add(
        fm.RigidBody(
            "rod", mass=1.0, inertia=(1e-3, 0.1, 0.1), com=(0.45, 0, 0), frames={"end": (0.9, 0, 0)}
        )
    )
    model.add(fm.Revolute("A", model.ground, left, axis="y", q0=0.8))
    model.add(fm.Revolute("B", model.ground["far"], right, axis="y", q0=0.8))
    model.add(fm.Revolute("C", left["end"], rod, axis="y", q0=-0.8))
    model.add(fm.Revolute("D", rod["end"], right["end"], axis="y", q0=0.8))
    return model


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("model", [driven, redundant])
def test_the_error_follows_the_tolerance(model, coordinates):
    body = list(model().bodies)[-1]
    tight = fm.DormandPrince(rtol=1e-10, atol=1e-12)
    exact = fm.simulate(
        model(), t_end=1.0, output_step=0.07, integrator=tight, stabilization="projection"
    ).frame(body)
    errors = []
    for tolerance in (1e-4, 1e-5, 1e-6, 1e-7):
        solution = fm.simulate(
            model(),
            t_end=1.0,
            output_step=0.07,
            coordinates=coordinates,
            rtol=tolerance,
            atol=0.01 * tolerance,
            integrator="generalized-alpha",
        )
        found = solution.frame(body)
        errors.append(
            [
                np.abs(getattr(found, key) - getattr(exact, key)).max()
                for key in ("position", "velocity")
            ]
        )
        assert solution.drift[:, 0].max() < tolerance  # of outputs within steps
        assert errors[-1][0] < 1.5 * tolerance
    assert bool(solution.run.redundant) == (model is redundant)
    # at 1e-7 round-off shows in absolute coordinates
    slopes = np.log10(np.array(errors[0]) / errors[2]) / 2
    assert np.all((slopes > 0.8) & (slopes < 1.2))


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("model", [driven, redundant])
def test_errors_of_the_esdirk_method_stay_below_the_tolerance(model, coordinates):
    body = list(model().bodies)[-1]
    tight = fm.DormandPrince(rtol=1e-11, atol=1e-13)
    exact = fm.simulate(
        model(), t_end=1.0, output_step=0.07, integrator=tight, stabilization="projection"
    ).frame(body)
    for tolerance in (1e-4, 1e-6, 1e-8):
        method = fm.ESDIRK(rtol=tolerance, atol=0.01 * tolerance)
        solution = fm.simulate(
            model(), t_end=1.0, output_step=0.07, coordinates=coordinates, integrator=method
        )
        found = solution.frame(body)
        assert np.abs(found.position - exact.position).max() < tolerance
        assert np.abs(found.velocity - exact.velocity).max() < 10.0 * tolerance
        assert solution.drift[:, 0].max() < tolerance


@pytest.mark.parametrize("method", ["dormand-prince", "esdirk", "generalized-alpha"])
@pytest.mark.parametrize("name", ["spinning top", "rolling disc", "light body"])
def test_errors_within_thirty_times_the_tolerance(name, method):
    """The hardest of the ten models of the study: they let errors of the steps grow."""
    spec = importlib.util.spec_from_file_location("models_of_study", STUDY)
    study = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = study
    spec.loader.exec_module(study)
    case = study.CASES[name]
    model, run = case.make(), {"t_end": case.t_end, "output_step": case.t_end / 40}

    def places(**options):
        if case.constrained and options["integrator"] == "dormand-prince":
            options["stabilization"] = "projection"
        solution = fm.simulate(model, **run, **options)
        return np.stack(
            [
                np.concatenate([b.position[:, :, None], b.rotation], axis=2)
                for b in map(solution.body, solution.bodies)
            ]
        )

    exact = places(integrator="dormand-prince", rtol=1e-12, atol=1e-14)
    size = np.abs(exact - exact[:, :1]).max()
    for tolerance in (1e-4, 1e-5, 1e-6, 1e-7):
        found = places(integrator=method, rtol=tolerance, atol=tolerance / 100)
        assert np.abs(found - exact).max() / size < 30.0 * tolerance


def test_generalized_alpha_rejects_what_it_does_not_reach():
    with pytest.raises(
        fm.InputError, match=r"^integrator\.rtol: 1e-08 is below 1e-07.*use 'esdirk'$"
    ):
        fm.GeneralizedAlpha(rtol=1e-8)
    assert fm.GeneralizedAlpha(rtol=1e-8, step=1e-3).rtol == 1e-8

"""Parameters from signals: exact data, noise, intervals, what cannot be determined, units and
files.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.studies.fitting import identify as identification
from flexmbs.studies.fitting.measurements import factor, read_measured

STIFFNESS, DAMPING, MASS = 50.0, 0.5, 2.0
TRUE = {"forces.spring.k": STIFFNESS, "forces.spring.c": DAMPING}
START = {"forces.spring.k": 35.0, "forces.spring.c": 1.5}
T = np.linspace(0.02, 2.0, 100)
PLACE, FORCE = "joint guide.0 position", "joint guide.0 effort"


def oscillator():
    model = fm.Model("oscillator", gravity=(0, 0, 0))
    mass = model.add(fm.PointMass("mass", mass=MASS))
    guide = model.add(fm.Prismatic("guide", model.ground, mass, axis="x", q0=0.1))
    model.add(fm.JointSpring("spring", guide, k=STIFFNESS, c=DAMPING))
    return model


def displacement(t=T, k=STIFFNESS, c=DAMPING):
    decay = c / (2.0 * MASS)
    omega = np.sqrt(k / MASS - decay * decay)
    return 0.1 * np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t))


def test_exact_data_give_the_exact_parameters():
    found = fm.identify(oscillator(), START, {f"{PLACE} [m]": (T, displacement())})
    np.testing.assert_allclose(found.values, list(TRUE.values()), rtol=1e-6)
    assert found.model.forces["spring"].k == found.values[0]
    assert found.solution.verdict == "PASS"
    assert not found.notes


def test_the_run_of_the_model_is_the_one_that_is_fitted():
    """Data of a run with coarse steps are fitted exactly by runs with the same steps only."""
    model = oscillator()
    model.run = fm.Run(t_end=2.0, step=2e-2)
    solution = fm.simulate(model)
    data = {f"{PLACE} [m]": (solution.t, solution.signal(PLACE).values)}
    np.testing.assert_allclose(
        fm.identify(model, START, data).values, list(TRUE.values()), rtol=1e-6
    )
    assert abs(fm.identify(model, START, data, t_end=2.0).values[0] / STIFFNESS - 1.0) > 1e-4


def test_deviations_are_those_of_the_closed_form():
    """σ²(JᵀJ)⁻¹ with the exact J, by the complex step of the closed form."""
    sigma = 1e-3
    noisy = displacement() + sigma * np.random.default_rng(2).normal(size=len(T))
    found = fm.identify(oscillator(), START, {f"{PLACE} [m]": (T, noisy)}, noise={PLACE: sigma})
    k, c = found.values
    J = (
        np.array([displacement(k=k + 1e-30j, c=c).imag, displacement(k=k, c=c + 1e-30j).imag]).T
        / 1e-30
    )
    C = sigma**2 * np.linalg.inv(J.T @ J)
    np.testing.assert_allclose(found.deviation, np.sqrt(np.diag(C)), rtol=1e-3)
    assert found.correlation[0, 1] == pytest.approx(
        C[0, 1] / math.sqrt(C[0, 0] * C[1, 1]), abs=1e-3
    )
    np.testing.assert_allclose(
        found.interval[:, 1] - found.values, 1.959964 * found.deviation, rtol=1e-6
    )
    np.testing.assert_allclose(found.residuals[PLACE], noisy - displacement(k=k, c=c), atol=1e-6)


def test_noise_of_each_channel_is_found():
    rng = np.random.default_rng(5)
    solution = fm.simulate(oscillator(), t_end=2.0, rtol=1e-9, atol=1e-12).at(T)
    force = solution.signal(FORCE).values + 0.2 * rng.normal(size=len(T))
    data = {
        f"{PLACE} [m]": (T, displacement() + 1e-3 * rng.normal(size=len(T))),
        f"{FORCE} [N]": (T, force),
    }
    found = fm.identify(oscillator(), START, data)
    assert found.noise[PLACE] == pytest.approx(1e-3, rel=0.2)
    assert found.noise[FORCE] == pytest.approx(0.2, rel=0.2)
    assert (np.abs(found.values - [STIFFNESS, DAMPING]) < 4.0 * found.deviation).all()


def test_a_parameter_without_effect_is_named_and_stays():
    model = oscillator()
    model.add(fm.PointMass("aside", mass=3.0))
    with pytest.warns(fm.ModelWarning, match=r"bodies\.aside\.mass has no effect"):
        found = fm.identify(
            model, {**START, "bodies.aside.mass": 3.0}, {f"{PLACE} [m]": (T, displacement())}
        )
    np.testing.assert_allclose(found.values[:2], list(TRUE.values()), rtol=1e-6)
    assert found.values[2] == 3.0
    assert math.isinf(found.deviation[2])


def test_parameters_with_the_same_effect_are_named():
    """Only k/m and c/m act on a free oscillation: of k, c and m two combinations can be found."""
    start = {"forces.spring.k": 55.0, "forces.spring.c": 0.5, "bodies.mass.mass": 2.0}
    with pytest.warns(fm.ModelWarning, match="cannot be distinguished"):
        found = fm.identify(oscillator(), start, {f"{PLACE} [m]": (T, displacement())})
    k, c, m = found.values
    assert k / m == pytest.approx(STIFFNESS / MASS, rel=1e-5)
    assert c / m == pytest.approx(DAMPING / MASS, rel=1e-4)
    assert np.isinf(found.deviation).all()


def test_a_bound_is_kept_and_named():
    with pytest.warns(fm.ModelWarning, match=r"forces\.spring\.k ends at its bound 45"):
        found = fm.identify(
            oscillator(),
            {"forces.spring.k": 40.0},
            {f"{PLACE} [m]": (T, displacement())},
            bounds={"forces.spring.k": (None, 45.0)},
        )
    assert found.values[0] == pytest.approx(45.0, rel=1e-6)


def test_a_start_far_away_does_not_pass_as_a_result():
    """Twenty times the stiffness: the search ends in another valley or not at all; residuals far
    above the noise tell.
    """
    sigma = 1e-3
    noisy = displacement() + sigma * np.random.default_rng(2).normal(size=len(T))
    try:
        noise = fm.identify(
            oscillator(), {"forces.spring.k": 1000.0}, {f"{PLACE} [m]": (T, noisy)}, step=5e-3
        ).noise[PLACE]
    except fm.SolverError:
        noise = math.inf
    assert noise > 10.0 * sigma


def test_residuals_that_are_no_independent_noise_are_told():
    """A minimum far from the measurements, a wrong model, a noise that is too small; white noise is
    not.
    """
    noisy = displacement() + 1e-3 * np.random.default_rng(3).normal(size=len(T))
    data = {f"{PLACE} [m]": (T, noisy)}
    assert not fm.identify(oscillator(), START, data, step=2e-3, noise={PLACE: 1e-3}).notes
    with pytest.warns(
        fm.ModelWarning,
        match="residuals of joint guide.0 position follow each other, correlation 0.9",
    ):
        fm.identify(oscillator(), {"forces.spring.k": 250.0}, data, step=5e-3)
    wrong = {f"{PLACE} [m]": (T, noisy + 5e-3 * np.sin(3.0 * T))}
    with pytest.warns(fm.ModelWarning, match="follow each other"):
        fm.identify(oscillator(), START, wrong, step=2e-3)
    with pytest.warns(
        fm.ModelWarning,
        match=r"residuals of joint guide.0 position are 2\.\d* times the noise that was given",
    ):
        fm.identify(oscillator(), START, data, step=2e-3, noise={PLACE: 4e-4})


def test_white_residuals_are_hardly_ever_doubted():
    rng, doubted = np.random.default_rng(0), 0
    for n in range(10, 1010):
        fit = SimpleNamespace(parts=lambda values: {"x": values}, data=np.ones(n))
        found = SimpleNamespace(residuals=0.3 * rng.normal(size=n))
        doubted += bool(identification._doubts(fit, found, {"x": 0.3}))
    assert doubted <= 2


def test_a_file_with_other_units(tmp_path):
    path = tmp_path / "measured.csv"
    rows = [f"{1e3 * t:.9g},{1e3 * x:.9g}," for t, x in zip(T, displacement())]
    path.write_text(
        "\n".join([f"t [ms],{PLACE} [mm],{FORCE} [kN]", *rows, "1000,,-0.002", "1100,,-0.001"])
    )
    signals = read_measured(path)
    assert [each.name for each in signals] == [PLACE, FORCE]
    assert len(signals[1].t) == 2
    path.write_text("\n".join([f"t [ms],{PLACE} [mm]", *(row[:-1] for row in rows)]))
    found = fm.identify(oscillator(), START, path, t_end=2.0)
    np.testing.assert_allclose(found.values, list(TRUE.values()), rtol=1e-5)


@pytest.mark.parametrize(
    "unit, wanted, value",
    [
        ("mm", "m", 1e-3),
        ("deg/s", "rad/s", math.pi / 180),
        ("kN mm", "N m", 1.0),
        ("Nm", "N m", 1.0),
        ("m/ms²", "m/s²", 1e6),
        ("m", "m", 1),
    ],
)
def test_units(unit, wanted, value):
    assert factor(unit, wanted) == pytest.approx(value, rel=1e-15)


def csv(text):
    return lambda folder: (folder / "data.csv").write_text(text) and folder / "data.csv"


WRONG = {
    "no channel": (
        dict(measured={"joint guid.0 position [m]": (T, T)}),
        "'joint guid.0 position' is not in the solution; did",
    ),
    "unit": (
        dict(measured={f"{PLACE} [N]": (T, T)}),
        f"'{PLACE}' is in N, the solution in m; give it as '{PLACE} [m]'",
    ),
    "no unit": (dict(measured={PLACE: (T, T)}), f"give it as '{PLACE} [m]'"),
    "lengths": (
        dict(measured={f"{PLACE} [m]": (T, T[:-1])}),
        "has 100 times and 99 values; give as many",
    ),
    "no pair": (dict(measured={f"{PLACE} [m]": T}), "must be two arrays, times and values"),
    "nothing": (dict(measured=[]), "measured: [] is not a measurement"),
    "not increasing": (
        dict(measured={f"{PLACE} [m]": (T[::-1], T)}),
        "each later than the one before",
    ),
    "after the end": (dict(t_end=1.0), "t = 1.02 s is outside of the run, 0 … 1 s"),
    "too few": (
        dict(measured={f"{PLACE} [m]": (T[:2], T[:2])}),
        "2 values cannot determine 2 parameters",
    ),
    "confidence": (dict(confidence=95.0), "confidence: must be within 0 … 1, not 95"),
    "bounds": (
        dict(bounds={"forces.spring.k": (60.0, 40.0)}),
        "bounds.forces.spring.k: the lower limit 60 must be below",
    ),
    "outside": (
        dict(bounds={"forces.spring.k": (60.0, 90.0)}),
        "the start 35 is not within 60 … 90",
    ),
    "bounds of another": (
        dict(bounds={"k": (1.0, 2.0)}),
        "bounds: 'k' is not among the parameters",
    ),
    "no bounds": (dict(bounds={"forces.spring.k": 3.0}), "must be two numbers (low, high)"),
    "noise": (
        dict(noise={"x": 1.0}),
        f"noise: give a standard deviation for each measured channel: {PLACE}",
    ),
    "negative noise": (dict(noise={PLACE: -1.0}), f"noise.{PLACE}: must be > 0, not -1"),
    "no file": (dict(measured="nowhere.csv"), "measured: there is no file 'nowhere.csv'"),
    "no rows": (dict(measured=csv("t [s]\n1\n2\n")), "has no measurements"),
    "no number": (
        dict(measured=csv(f"t [s],{PLACE} [m]\n0.1,1\n0.2,x\n")),
        f"row 3, '{PLACE} [m]': 'x' at '0.2' is not a number",
    ),
    "cells": (
        dict(measured=csv(f"t [s],{PLACE} [m]\n0.1,1\n0.2\n")),
        "row 3 has 1 cells, the heading 2",
    ),
    "time unit": (
        dict(measured=csv(f"t [m],{PLACE} [m]\n0.1,1\n0.2,2\n")),
        "the first column is the time; 't [m]' is in m",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_argument_is_named_in_one_line(what, tmp_path):
    given, message = WRONG[what]
    arguments = {"measured": {f"{PLACE} [m]": (T, displacement())}} | given
    measured = arguments.pop("measured")
    with pytest.raises(fm.FlexmbsError) as error:
        fm.identify(
            oscillator(), START, measured(tmp_path) if callable(measured) else measured, **arguments
        )
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_the_table():
    found = fm.identify(oscillator(), START, {f"{PLACE} [m]": (T, displacement())})
    text = str(found).splitlines()
    assert text[0].split() == ["parameter", "value", "deviation", "low", "high"]
    assert text[1].startswith("forces.spring.k  50")
    pytest.importorskip("pandas")
    assert list(found.to_dataframe()["value"]) == list(found.values)

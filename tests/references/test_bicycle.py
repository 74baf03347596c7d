"""The benchmark bicycle against the published linear equations of its lean and steer."""

import dataclasses

import numpy as np
import pytest
from bicycle import BENCHMARK, bicycle
from scipy.optimize import brentq

import flexmbs as fm


def test_degrees_of_freedom() -> None:
    """Four bodies: 24 − 3·5 − 2 holonomic equations, 4 nonholonomic ones."""
    report = bicycle(5.0).check()
    assert report.sections["degrees of freedom"][0].startswith("f = 6·4 − 17 = 7 ")
    assert (
        "κ = 4 nonholonomic equations: 3 velocity degrees of freedom"
        in report.sections["degrees of freedom"]
    )
    assert "7 degrees of freedom in position, 3 in velocity" in report.sections["system"]
    assert (
        "front contact  rolling-disc  2 rows  nonholonomic  scleronomic  bilateral  "
        "geometric  implicit" in report.classes
    )


@pytest.mark.parametrize("speed", range(11))
def test_eigenvalues(speed: int) -> None:
    """The four of lean and steer as published; place, heading, speed and the wheels' angles are
    ignorable: zeros.
    """
    published = np.array([complex(*pair) for pair in BENCHMARK["eigenvalues"][str(speed)]])
    linear = fm.linearize(bicycle(float(speed)))
    assert (len(linear.coordinates), len(linear.velocities), linear.steady) == (7, 3, True)
    found = np.linalg.eigvals(linear.A)
    nearest = np.argmin(np.abs(found[:, None] - published), axis=0)
    assert len(set(nearest)) == 4
    np.testing.assert_allclose(found[nearest], published, atol=1e-9)
    assert np.abs(np.delete(found, nearest)).max() < 1e-5


def test_weave_and_capsize_speeds() -> None:
    """Self-stable between them."""

    def weave(speed: float) -> float:
        values = np.linalg.eigvals(fm.linearize(bicycle(speed)).A)
        return float(values[np.argmax(values.imag)].real)

    def capsize(speed: float) -> float:
        """An eigenvalue of lean and steer is zero where their stiffness is singular."""
        linear = fm.linearize(bicycle(speed))
        angles = ("frame.4", "steering.0")
        rows, columns = (
            [names.index(name) for name in angles]
            for names in (linear.velocities, linear.coordinates)
        )
        return float(np.linalg.det(linear.K[np.ix_(rows, columns)]))

    assert brentq(weave, 4.2, 4.4, xtol=1e-9) == pytest.approx(BENCHMARK["weave speed"], abs=1e-8)
    assert brentq(capsize, 6.0, 6.1, xtol=1e-9) == pytest.approx(
        BENCHMARK["capsize speed"], abs=1e-8
    )


def test_swings_of_the_free_bicycle() -> None:
    """The lean after a push at 5 m/s follows the published equations."""
    model, push = bicycle(5.0), 1e-5
    model.joints["frame"] = dataclasses.replace(model.joints["frame"], v0=(5.0, 0, 0, 0, push, 0))
    found = fm.simulate(
        model, t_end=1.0, output_step=0.02, integrator=fm.DormandPrince(rtol=1e-11, atol=1e-13)
    )
    angles = np.column_stack(
        [found.joint("frame").position[:, 4], found.joint("steering").position[:, 0]]
    )
    M, C1, K0, K2 = (np.array(BENCHMARK[key]) for key in ("M", "C1", "K0", "K2"))
    g, v = BENCHMARK["parameters"]["g"], 5.0
    A = np.block(
        [
            [np.zeros((2, 2)), np.eye(2)],
            [-np.linalg.solve(M, g * K0 + v * v * K2), -np.linalg.solve(M, v * C1)],
        ]
    )
    value, vector = np.linalg.eig(A)
    start = np.concatenate(
        [angles[0], found.joint("frame").velocity[0, 4:5], found.joint("steering").velocity[0]]
    )
    expected = (vector[:2] * np.linalg.solve(vector, start)) @ np.exp(np.outer(value, found.t))
    np.testing.assert_allclose(angles, expected.real.T, atol=2e-4 * np.abs(angles).max())

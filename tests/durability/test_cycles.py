"""Rainflow cycles of the examples of ASTM E1049-85, and S–N curves in closed form."""

import sys

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.durability.cycles import turning_points

ASTM = [-2.0, 1.0, -3.0, 5.0, -1.0, 3.0, -4.0, 4.0, -2.0]  # figure 6: points A … I


def test_example_of_astm_e1049() -> None:
    """Ranges and cycles that the standard lists for the history of its figure 6."""
    pytest.importorskip("rainflow")
    found = fm.rainflow(ASTM)
    table = {size: found.count[found.range == size].sum() for size in np.unique(found.range)}
    assert table == {3.0: 0.5, 4.0: 1.5, 6.0: 0.5, 8.0: 1.0, 9.0: 0.5}
    whole = found.count == 1.0
    assert (found.range[whole].tolist(), found.mean[whole].tolist()) == ([4.0], [1.0])  # E–F
    counts, edges = found.histogram(9)
    np.testing.assert_array_equal(edges, np.arange(10.0))
    np.testing.assert_array_equal(counts, [0.0, 0.0, 0.0, 0.5, 1.5, 0.0, 0.5, 0.0, 1.5])


def test_points_between_the_extremes_do_not_matter() -> None:
    pytest.importorskip("rainflow")
    dense = np.interp(np.linspace(0.0, 8.0, 161), np.arange(9.0), ASTM)
    plateaus = np.repeat(dense, 3)
    np.testing.assert_allclose(turning_points(plateaus), ASTM)
    for values in (dense, plateaus):
        np.testing.assert_allclose(
            np.sort(fm.rainflow(values).range), np.sort(fm.rainflow(ASTM).range)
        )


def test_a_constant_has_no_cycles() -> None:
    pytest.importorskip("rainflow")
    assert len(fm.rainflow([2.0, 2.0, 2.0]).count) == 0


STEEL = {"amplitude": 200e6, "cycles": 2e6, "slope": 5.0}


@pytest.mark.parametrize(
    "below, cycles", [(np.inf, np.inf), (5.0, 2e6 * 2.0**5), (9.0, 2e6 * 2.0**9)]
)
def test_miners_rules_below_the_endurance_limit(below: float, cycles: float) -> None:
    curve = fm.SNCurve(**STEEL, slope_below=below)
    found = curve.cycles_to_failure(np.array([400e6, 200e6, 100e6, 0.0]))
    np.testing.assert_allclose(found, [2e6 / 2.0**5, 2e6, cycles, np.inf])


def test_mean_stress() -> None:
    """σ_a = 150 MPa at σ_m = 100 and −100 MPa, R_m = 500 MPa."""
    expected = {
        "none": (150.0, 150.0), "goodman": (150.0 / 0.8, 150.0), "gerber": (150.0 / 0.96, 150.0),
        "swt": (np.sqrt(250.0 * 150.0), np.sqrt(50.0 * 150.0)),
    }  # fmt: skip
    for kind, values in expected.items():
        curve = fm.SNCurve(**STEEL, ultimate=500e6, mean_stress=kind)
        found = curve.reversed_amplitude(np.full(2, 150e6), np.array([100e6, -100e6]))
        np.testing.assert_allclose(found, np.array(values) * 1e6)
    broken = fm.SNCurve(**STEEL, ultimate=500e6, mean_stress="goodman")
    assert broken.cycles_to_failure(np.array([1.0]), np.array([500e6]))[0] == 0.0
    assert broken.damage(np.array([1.0]), np.array([500e6]), np.array([1.0])) == np.inf
    assert (
        fm.SNCurve(**STEEL, mean_stress="swt").reversed_amplitude(
            np.array([1e8]), np.array([-2e8])
        )[0]
        == 0.0
    )


def test_sum_of_palmgren_and_miner() -> None:
    """1000 cycles of 400 MPa and 2e5 of 250 MPa."""
    found = fm.SNCurve(**STEEL).damage(np.array([400e6, 250e6]), np.zeros(2), np.array([1e3, 2e5]))
    assert found == pytest.approx(1e3 / (2e6 / 2.0**5) + 2e5 / (2e6 / 1.25**5))


BAD = {
    "amplitude: must be a positive number": {"amplitude": -1.0},
    "slope: must be finite": {"slope": np.inf},
    "slope_below: 3 must not be less than the slope 5": {"slope_below": 3.0},
    "mean_stress: must be one of": {"mean_stress": "soderberg"},
    "ultimate: 'goodman' needs the tensile strength": {"mean_stress": "goodman"},
    r"ultimate: 1e\+08 must be above the amplitude 2e\+08": {"ultimate": 1e8},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_curves(message: str) -> None:
    with pytest.raises(fm.InputError, match=message):
        fm.SNCurve(**(STEEL | BAD[message]))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (([np.nan], [0.0], [1.0]), "amplitude: nan is not allowed"), (([-1e8], [0.0], [1.0]), r"amplitude: -1e\+08 is not"),
        (([1e8], [0.0], [-1.0]), "count: -1 is not allowed"), ((["a"], [0.0], [1.0]), "amplitude: must be a list of numbers"),
        (([1e8, 1e8], [0.0], [1.0, 1.0, 1.0]), "amplitude and mean and count: must have equal lengths"),
    ],
)  # fmt: skip
def test_cycles_that_are_none(values: tuple, message: str) -> None:
    """They do no damage of zero."""
    with pytest.raises(fm.InputError, match=message):
        fm.SNCurve(**STEEL).damage(*values)


def test_cycles_that_do_not_occur_do_no_damage() -> None:
    broken = fm.SNCurve(**STEEL, ultimate=500e6, mean_stress="goodman")
    assert broken.damage([1e8, 1e8], [600e6, 0.0], [0.0, 1.0]) == 0.0
    assert fm.SNCurve(np.float32(2e8), np.int64(10**6), 5).cycles_to_failure(2e8) == 1e6


def test_small_cycles_are_cycles() -> None:
    """Products of their ranges underflow."""
    pytest.importorskip("rainflow")
    np.testing.assert_array_equal(
        fm.rainflow([0.0, 1e-200, -1e-200, 2e-200]).range, [1e-200, 2e-200, 3e-200]
    )
    with pytest.raises(fm.InputError, match=r"values: 1e\+308 is not allowed"):
        fm.rainflow([0.0, 1e308, -1e308])


@pytest.mark.parametrize("bins", [0, -3, "auto", 2.5])
def test_classes_of_no_number(bins: object) -> None:
    pytest.importorskip("rainflow")
    with pytest.raises(fm.InputError, match="bins: must be a whole number from 1"):
        fm.rainflow(ASTM).histogram(bins)  # type: ignore[arg-type]


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rainflow", None)
    with pytest.raises(
        fm.MachineError, match=r"^rainflow: needs the package rainflow; install it: pip install "
    ):
        fm.rainflow(ASTM)

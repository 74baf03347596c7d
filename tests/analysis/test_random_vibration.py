"""Random vibration of linearized models against the closed forms of white noise."""

import numpy as np
import pytest

import flexmbs as fm

M, C, K = 2.0, 6.0, 5e3
FN = np.sqrt(K / M) / (2.0 * np.pi)


def oscillator(c: float = C) -> fm.Model:
    model = fm.Model("oscillator", gravity=(0.0, 0.0, 0.0))
    base, block = (model.add(fm.PointMass(name, mass=M)) for name in ("base", "block"))
    model.add(fm.Prismatic("shaker", model.ground, base))
    model.add(fm.Prismatic("mount", base, block))
    model.add(fm.JointSpring("spring", "mount", k=K, c=c))
    model.add(fm.Drive("table", "shaker", 0.0))
    return model


def linear(c: float = C) -> fm.Linearization:
    inputs = [("effort", "mount"), ("drive", "table")]
    return fm.linearize(
        oscillator(c), inputs=inputs, outputs=[("coordinate", "mount"), ("rate", "mount")]
    )


@pytest.mark.parametrize("c", [0.2, 6.0, 60.0])
def test_white_noise_force(c: float) -> None:
    """σ_x² = π S₀/(c k), σ_v² = π S₀/(c m) for the two-sided S₀ per rad/s, here G₀ = 4π S₀ per Hz
    over a wide band.
    """
    G0 = 0.3
    found = linear(c).random_response(
        {"effort mount": fm.Psd([1e-3, 4e4 * FN], [G0, G0], unit="N")}
    )
    S0 = G0 / (4.0 * np.pi)
    assert found.rms["coordinate mount"] == pytest.approx(np.sqrt(np.pi * S0 / (c * K)), rel=1e-3)
    assert found.rms["rate mount"] == pytest.approx(np.sqrt(np.pi * S0 / (c * M)), rel=2e-3)
    assert found["coordinate mount"].unit == "m"
    if c < 1.0:
        assert found["coordinate mount"].crossing_rate == pytest.approx(FN, rel=5e-3)


def test_white_noise_acceleration_of_the_base() -> None:
    """σ² = π S₀/(2 ζ ω³) of the relative displacement."""
    G0, omega = 0.04, 2.0 * np.pi * FN
    found = linear().random_response(
        {"drive table acceleration": fm.Psd([1e-3, 4e4 * FN], [G0, G0], unit="m/s²")}
    )
    zeta = C / (2.0 * np.sqrt(K * M))
    expected = np.sqrt(np.pi * G0 / (4.0 * np.pi) / (2.0 * zeta * omega**3))
    assert found.rms["coordinate mount"] == pytest.approx(expected, rel=1e-3)


def test_uncorrelated_inputs_add_their_squares() -> None:
    system = linear()
    force, shake = (
        {"effort mount": fm.Psd([1.0, 100.0], [0.3, 0.1], unit="N")},
        {("drive", "table"): fm.Psd([2.0, 50.0], [1e-8, 1e-9], unit="m")},
    )
    parts = [system.random_response(each).rms["coordinate mount"] for each in (force, shake)]
    both = system.random_response({**force, **shake}).rms["coordinate mount"]
    assert both == pytest.approx(np.hypot(*parts), rel=1e-3)


def test_one_cause_has_one_density() -> None:
    """Two densities of one motion or force would add as if they were independent, or one would be
    dropped.
    """
    force, shake = (
        fm.Psd([1.0, 100.0], [0.3, 0.1], unit="N"),
        fm.Psd([1.0, 100.0], [1.0, 1.0], unit="m/s²"),
    )
    with pytest.raises(fm.InputError, match="inputs: has 'effort mount' twice"):
        linear().random_response({"effort mount": force, ("effort", "mount"): force})
    table = fm.Psd([1.0, 100.0], [1e-8, 1e-8], unit="m")
    with pytest.raises(
        fm.InputError, match="inputs: has 'drive table' and 'drive table acceleration', one motion"
    ):
        linear().random_response({("drive", "table"): table, "drive table acceleration": shake})


def test_it_is_the_density_of_a_simulated_signal() -> None:
    """Noise drives the equation of motion in SciPy; Welch's estimate of its response is |H|² times
    that of the force.
    """
    rng, step = np.random.default_rng(3), 2e-3
    force = rng.normal(0.0, 5.0, 20_000)
    w = 2.0 * np.pi * FN
    system = linear(60.0)
    H = system.response(
        np.array([5.0, 8.0, 12.0]), inputs=["effort mount"], outputs=["coordinate mount"]
    ).values[:, 0, 0]
    from scipy.signal import StateSpace, lsim

    t = step * np.arange(len(force))
    x = lsim(
        StateSpace([[0.0, 1.0], [-(w**2), -60.0 / M]], [[0.0], [1.0 / M]], [[1.0, 0.0]], [[0.0]]),
        force,
        t,
    )[1]
    measured, given = (fm.Signal(t, values).psd(segment=1000) for values in (x, force))
    rows = [int(np.argmin(np.abs(measured.f - f))) for f in (5.0, 8.0, 12.0)]
    np.testing.assert_allclose(measured.values[rows] / given.values[rows], np.abs(H) ** 2, rtol=0.1)


def test_what_has_no_stationary_response_is_refused() -> None:
    white = fm.Psd([1.0, 100.0], [1.0, 1.0], unit="N")
    with pytest.raises(
        fm.InputError, match="mode 0 is not damped, so that no response is stationary"
    ):
        linear(0.0).random_response({"effort mount": white})
    with pytest.raises(
        fm.InputError,
        match=r"'effort mount' is in N, its density in \(m\)²/Hz; convert it to \(N\)²/Hz",
    ):
        linear().random_response({"effort mount": fm.Psd([1.0, 2.0], [1.0, 1.0], unit="m")})
    with pytest.raises(fm.InputError, match="inputs: must be a mapping"):
        linear().random_response(white)
    with pytest.raises(fm.InputError, match=r"needs a fm.Psd, not float"):
        linear().random_response({"effort mount": 1.0})


@pytest.mark.parametrize("width", [0.1, 1e-2, 1e-4])
def test_a_narrow_band_beside_a_wide_one(width: float) -> None:
    """The RMS value of a stiff mount is |H| √(G Δf) of the narrow band, whatever frequencies the
    other input has.
    """
    system, f = linear(), 3.1
    narrow, wide = (
        fm.Psd([f, f + width], [0.2, 0.2], unit="N"),
        fm.Psd([0.0, 2000.0], [1e-30, 1e-30], unit="m"),
    )
    found = system.random_response({"effort mount": narrow, ("drive", "table"): wide}).rms[
        "coordinate mount"
    ]
    middle = system.response([f + 0.5 * width])["coordinate mount", "effort mount"][0]
    assert found == pytest.approx(abs(middle) * np.sqrt(0.2 * width), rel=2e-3)

"""Lecture notes 002, end of section 5.4.3.1: normal form of the shopping cart at v = 0, its closed
orbits and their frequency.
"""

import numpy as np
from matplotlib.figure import Figure
from models import M1, M2, L, cart, sigmas, steady_forces
from page import Study, difference, vanishes
from scipy.integrate import quad
from scipy.optimize import brentq

import flexmbs as fm

OMEGA, MU, H = 0.9, M2 / (M1 + M2), 0.1
SCALE = np.sqrt(2.0 * MU)
ALPHA, FORCES = SCALE * OMEGA, steady_forces(0.0, OMEGA)
PRECISE = fm.DormandPrince(rtol=1e-11, atol=1e-12)


def well(x: float) -> float:
    """V of ẍ = −V′(x) with x = ln(σ₂/ω)."""
    return MU * OMEGA**2 * (0.5 * np.exp(2.0 * x) - x)


def period(top: float) -> tuple[float, float]:
    """Period and amplitude ½(x_max − x_min) of the orbit through x = top, where ẋ = 0."""
    low = brentq(lambda x: well(x) - well(top), -8.0, -1e-9)
    mean, half = 0.5 * (top + low), 0.5 * (top - low)

    def time(a: float) -> float:
        return half * np.cos(a) / np.sqrt(2.0 * (well(top) - well(mean + half * np.sin(a))))

    return 2.0 * quad(time, -0.5 * np.pi, 0.5 * np.pi, epsabs=1e-12, epsrel=1e-12)[0], half


def rates(u: float, w: float) -> np.ndarray:
    """(u̇, ẇ) with σ₁ = √(2μ) u, σ₂ = ω + w/l, from `fm.gibbs`."""
    sigma = fm.gibbs(
        cart(SCALE * u, OMEGA + w / L, FORCES), velocities=["floor.0", "floor.2"]
    ).rates
    return np.array([sigma[0] / SCALE, sigma[1] * L])


def study() -> Study:
    tops = np.array([0.1, 0.25, 0.4, 0.55])
    periods, a = np.array([period(x) for x in tops]).T
    frequency = 2.0 * np.pi / periods / ALPHA
    runs = [
        fm.simulate(
            cart(0.0, OMEGA * np.exp(x), FORCES), t_end=T, output_step=T / 80, integrator=PRECISE
        )
        for x, T in zip(tops, periods)
    ]
    # exact: of second order
    (f11, f21), (f13, f23) = ((rates(*d) + rates(*-d)) / (2.0 * H**2) for d in H * np.eye(2))
    f12, f22 = (rates(H, H) - rates(H, -H) - rates(-H, H) + rates(-H, -H)) / (4.0 * H**2)
    delta = ((f21 + f23) * f22 - (f11 + f13) * f12 + 2.0 * f11 * f21 - 2.0 * f13 * f23) / (
        8.0 * ALPHA
    )
    start = np.polynomial.Polynomial.fit(a**2, (frequency - 1.0) / a**2, 3, domain=(-1, 1))(0.0)
    identities = {
        "f13 = √(μ/2)/l, f22 = −√(2μ)/l": difference([f13, f22], [np.sqrt(MU / 2) / L, -SCALE / L]),
        "f11 = f12 = f21 = f23 = 0": vanishes([f11, f12, f21, f23], f13),
        "δ = 0": vanishes(delta, f13, f22),
        "orbits close after the period of ẍ = −μω²(e²ˣ − 1)": max(
            vanishes(sigmas(run)[0][-1], sigmas(run)[0]) for run in runs
        ),
        "frequency / √(2μ)ω = 1 − a²/6 + …, extrapolated to a = 0": difference(start, -1.0 / 6.0),
    }
    numbers = {
        "amplitudes a of ln(σ₂/ω)": a,
        "frequency / √(2μ)ω": frequency,
        "β = −√(2μ)/(6 l² ω) (1/(m² s))": -ALPHA / (6.0 * L**2 * OMEGA**2),
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for run, size in zip(runs, a):
            left.plot(*sigmas(run), label=f"a = {size:.2f}")
        left.set(xlabel="σ₁ (m/s)", ylabel="σ₂ (rad/s)", title="Closed orbits", xlim=(-0.5, 0.8))
        left.legend()
        line = np.linspace(0.0, 0.8, 60)
        right.plot(line, 1.0 - line**2 / 6.0, label="1 − a²/6")
        right.plot(a, frequency, "o", label="periods of the runs")
        right.set(xlabel="amplitude a of ln(σ₂/ω)", title="Frequency / √(2μ)ω", ylim=(0.88, 1.01))
        right.legend()

    return Study(identities, numbers, draw, 3.4)

"""Lecture notes 002, end of section 5.4.3.1: steady motions of the shopping cart and their
stability.
"""

import numpy as np
from matplotlib.figure import Figure
from models import M1, M2, L, cart, sigmas, steady_forces
from page import Study, difference, vanishes

import flexmbs as fm

OMEGA, MU = 0.9, M2 / (M1 + M2)
PRECISE = fm.DormandPrince(rtol=1e-11, atol=1e-12)


def near(v: float, push: float, t_end: float) -> fm.Solution:
    """A run under the forces of the steady motion (v, ω) that starts with σ₂ = ω + push."""
    return fm.simulate(
        cart(v, OMEGA + push, steady_forces(v, OMEGA)),
        t_end=t_end,
        output_step=0.05,
        integrator=PRECISE,
    )


def study() -> Study:
    speeds = np.linspace(0.0, 3.0, 31)
    roots = np.array([np.roots([1.0, v / L, 2.0 * MU * OMEGA**2]) for v in speeds])
    linear = [fm.linearize(cart(v, OMEGA, steady_forces(v, OMEGA))) for v in speeds]
    every = [np.linalg.eigvals(each.A) for each in linear]
    pairs = np.array(
        [
            [values[np.argmin(np.abs(values - root))] for root in both]
            for values, both in zip(every, roots)
        ]
    )
    blocks = [[[0.0, 2.0 * MU * L * OMEGA], [-OMEGA / L, -v / L]] for v in speeds]
    centre, focus, node = (
        [near(0.0, push, 8.0) for push in (0.1, 0.25, 0.4)],
        near(0.6, 0.4, 20.0),
        near(2.0, 0.4, 20.0),
    )
    integral = [
        0.5 * u**2 + MU * L**2 * (0.5 * w**2 - OMEGA**2 * np.log(w)) for u, w in map(sigmas, centre)
    ]
    still = [
        fm.gibbs(each.state.compiled.model, velocities=["floor.0", "floor.2"]).rates
        for each in linear
    ]
    identities = {
        "σ̇ = 0 at σ = (v, ω) under F₁ = −m₂lω², F₂ = m₂vω": vanishes(still),
        "A of linearize: σ̇₁ = 2μlω δσ₂, σ̇₂ = −(ω δσ₁ + v δσ₂)/l": difference(
            [each.A[3:, 3:] for each in linear], blocks
        ),
        "λ² + (v/l)λ + 2μω² = 0": float(
            np.abs(pairs**2 + speeds[:, None] / L * pairs + 2.0 * MU * OMEGA**2).max()
        ),
        "I = ½σ₁² + μl²(½σ₂² − ω² ln σ₂) along runs at v = 0": max(
            difference(x, x[0]) for x in integral
        ),
    }
    numbers = {
        "eigenvalue at v = 0, imaginary part (1/s)": abs(pairs[0, 0].imag),
        "real parts at v = 3 m/s (1/s)": np.sort(pairs[-1].real),
        "focus for v below 2√(2μ)ωl (m/s)": 2.0 * np.sqrt(2.0 * MU) * OMEGA * L,
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for part, color, name in (
            (np.real, "C0", "real"),
            (lambda x: np.abs(np.imag(x)), "C1", "imaginary"),
        ):
            left.plot(speeds, np.sort(part(roots)), color=color, label=f"{name} part")
            left.plot(speeds, np.sort(part(pairs)), "o", color=color, markersize=3)
        left.set(xlabel="v (m/s)", title="Eigenvalues (1/s): closed form, linearize (dots)")
        handles, labels = left.get_legend_handles_labels()
        left.legend(handles[::2], labels[::2])
        for run in centre:
            right.plot(*sigmas(run), color="C0", linewidth=1.2)
        right.plot(*sigmas(focus), color="C1", linewidth=1.2)
        right.plot(*sigmas(node), color="C2", linewidth=1.2)
        for x, text in ((0.0, "v = 0:\ncentre"), (0.6, "v = 0.6:\nfocus"), (2.0, "v = 2:\nnode")):
            right.plot(x, OMEGA, ".", color="#1d2733")
            right.text(x, 0.25, text, ha="center")
        right.set(
            xlabel="σ₁ (m/s)",
            ylabel="σ₂ (rad/s)",
            title="Phase portraits",
            ylim=(0.15, 1.4),
            xlim=(-0.6, 2.6),
        )

    return Study(identities, numbers, draw, 3.4)

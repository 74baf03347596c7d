"""Lecture notes 000, example of singular explicit closing conditions: G_d of a four-bar linkage
over its crank angle.
"""

import re

import numpy as np
from matplotlib.figure import Figure
from models import dyad, ring
from page import Study, difference, vanishes
from scipy.optimize import brentq

import flexmbs as fm

CRANK, COUPLER, ROCKER, FOOT = 0.4, 0.9, 0.8, np.array([1.0, 0.0])
CHOICES = {"hinge 1": "crank", "hinge 2": "coupler on crank", "hinge 4": "rocker"}


def angles(crank: float) -> tuple[float, float, float]:
    """Of crank, coupler and rocker from x."""
    tip = CRANK * np.array([np.cos(crank), np.sin(crank)])
    return crank, *dyad(tip, FOOT, COUPLER, ROCKER)


def linkage(crank: float, rate: float = 0.0) -> fm.Model:
    """Crank and rocker on the base; the hinge between coupler and rocker is cut, two rows."""
    model = ring((CRANK, COUPLER, ROCKER), angles(crank), loose=3)
    model.joints["hinge 1"] = fm.Revolute(
        "hinge 1", model.ground, "rod 1", axis="y", q0=-crank, v0=-rate
    )
    return model


def determinants(crank: float) -> list[float]:
    """|det G_d| with each of the three hinges as the independent one, from `fm.matrices`."""
    terms = fm.matrices(linkage(crank))
    rest = [
        [k for k, name in enumerate(terms.velocities) if name != f"{choice}.0"]
        for choice in CHOICES
    ]
    return [abs(float(np.linalg.det(terms.G[:, columns]))) for columns in rest]


def closed_form(crank: float) -> list[float]:
    """Columns of G: where a rotation of the rods beyond a hinge moves the cut point."""
    e = [
        length * np.exp(1j * angle)
        for length, angle in zip((CRANK, COUPLER, ROCKER), angles(crank))
    ]
    columns = {"hinge 1": e[0] + e[1], "hinge 2": e[1], "hinge 4": e[2]}
    pairs = [[columns[name] for name in columns if name != choice] for choice in CHOICES]
    return [abs((a.conjugate() * b).imag) for a, b in pairs]


def study() -> Study:
    turn = np.linspace(0.0, 2.0 * np.pi, 73)
    found, exact = (
        np.array([determinants(x) for x in turn]),
        np.array([closed_form(x) for x in turn]),
    )
    options = {
        "t_end": 1.0,
        "output_step": 0.01,
        "integrator": fm.DormandPrince(rtol=1e-10, atol=1e-12),
    }
    model = linkage(1.5, 12.0)
    run = fm.simulate(
        model, formalism=fm.Partitioning(independent=["hinge 4"], limit=20.0), **options
    )
    other = fm.simulate(model, formalism="multiplier", stabilization="projection", **options)
    crank = -run.joint("hinge 1").position[:, 0]
    (note,) = (each for each in run.run.notes if each.startswith("independent coordinates from"))
    change = float(re.search(r"t = (\S+) s", note)[1])
    dead = brentq(lambda x: np.sin(angles(x)[1] - x), 3.0, 5.0)
    identities = {
        "g = 0 along the run": vanishes(run.drift[:, 0]),
        "det G_d, closed form": difference(found, exact),
        "crank angle with the new choice, against multipliers": difference(
            crank, -other.joint("hinge 1").position[:, 0]
        ),
    }
    numbers = {
        "smallest |det G_d| over a turn (m²) with crank, coupler, rocker independent": found.min(
            axis=0
        ),
        "crank angle of the dead centre (rad)": dead,
        "crank angle of the new choice (rad)": float(np.interp(change, run.t, crank)),
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for k, name in enumerate(CHOICES.values()):
            left.plot(np.degrees(turn), found[:, k], label=f"σ: {name}")
        left.set(
            xlabel="crank angle (degrees)",
            title="|det G_d| (m²)",
            xticks=range(0, 361, 90),
            ylim=(0.0, 1.15),
        )
        left.legend(loc="upper center", ncol=3, fontsize=8)
        right.plot(run.t, np.degrees(crank), label="crank angle")
        right.axhline(
            np.degrees(dead), color="C2", linestyle=":", label="dead centre of the rocker"
        )
        right.axvline(change, color="C3", label=f"{change:.3f} s: {note.partition(' s: ')[2]}")
        right.set(xlabel="time (s)", title="Partitioning that starts with the rocker (degrees)")
        right.legend(loc="upper right")
        right.set_ylim(0, 1400)

    return Study(identities, numbers, draw, 3.4)

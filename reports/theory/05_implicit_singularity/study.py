"""Lecture notes 000, example of singular implicit closing conditions: a parallelogram linkage
through the position in line.
"""

import numpy as np
from matplotlib.figure import Figure
from models import ring
from page import Study, difference, vanishes
from scipy.integrate import solve_ivp

import flexmbs as fm

CRANK, BASE, G = 0.5, 1.0, 9.81
BRANCHES = ("parallelogram", "antiparallelogram")
PRECISE = fm.DormandPrince(rtol=1e-10, atol=1e-12)


def rods(crank: float, branch: str) -> np.ndarray:
    """The rods as complex numbers: crank, coupler of the length of the base, rocker of the length
    of the crank.
    """
    first = CRANK * np.exp(1j * crank)
    coupler = BASE if branch == "parallelogram" else BASE * np.exp(2j * np.angle(BASE - first))
    return np.array([first, coupler, BASE - first - coupler])


def linkage(crank: float, branch: str, rate: float = 0.0) -> fm.Model:
    """Closed on one of its two branches at a crank angle; the hinge between coupler and rocker is
    cut.
    """
    model = ring((CRANK, BASE, CRANK), tuple(np.angle(rods(crank, branch))), loose=3)
    model.joints["hinge 1"] = fm.Revolute(
        "hinge 1", model.ground, "rod 1", axis="y", q0=-crank, v0=-rate
    )
    return model


def columns(crank: float, branch: str) -> np.ndarray:
    """G (2, 3) in world axes: rotations about hinges 1 and 2 move the end of the coupler, about
    hinge 4 that of the rocker.
    """
    first, coupler, rocker = rods(crank, branch)
    moved = 1j * np.array([first + coupler, coupler, rocker])
    return np.array([moved.real, moved.imag])


def study() -> Study:
    turn = np.linspace(0.05, 2.0 * np.pi - 0.05, 60)
    found, exact = (
        np.array([[np.linalg.svd(matrix(x, branch))[1] for x in turn] for branch in BRANCHES])
        for matrix in (lambda x, branch: fm.matrices(linkage(x, branch)).G, columns)
    )
    options = {
        "t_end": 0.42,
        "output_step": 0.01,
        "integrator": PRECISE,
        "stabilization": "projection",
    }
    runs = [fm.simulate(linkage(1.2, branch, -4.0), **options) for branch in BRANCHES]
    crank, rocker = (
        np.array([run.joint(name).position[:, 0] for run in runs])
        for name in ("hinge 1", "hinge 4")
    )
    swing = solve_ivp(
        lambda t, y: (y[1], -1.2 * G / CRANK * np.cos(y[0])),
        (0, 0.42),
        (1.2, -4.0),
        t_eval=runs[0].t,
        rtol=1e-12,
        atol=1e-12,
    )
    flat = fm.matrices(linkage(0.0, BRANCHES[0]))
    identities = {
        "singular values of G, closed form": difference(found, exact),
        "rank lost in line: σ₂ = 0": vanishes(np.linalg.svd(flat.G)[1][1]),
        "5/3 m l² φ̈ = −2 m g l cos φ of the parallelogram, through the line": difference(
            -crank[0], swing.y[0]
        ),
        "energy of both runs": max(
            difference(run.energy.total, run.energy.total[0]) for run in runs
        ),
    }
    times = [
        float(note.split("t = ")[1].split(" s")[0])
        for run in runs
        for note in run.run.notes
        if "passed a singular" in note
    ]
    numbers = {
        "free directions in line, elsewhere one": flat.J_loop.shape[1],
        "times at which the runs report the singular position (s)": times,
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for k, branch in enumerate(BRANCHES):
            left.plot(np.degrees(turn), found[k, :, 1], label=branch)
            angle = np.linspace(-np.pi / 2, np.pi / 2, 181)
            other = np.unwrap([np.angle(-rods(x, branch)[2]) for x in angle])
            right.plot(
                np.degrees(angle), np.degrees(other), linewidth=1, color=f"C{k}", label=branch
            )
            path = np.angle(-np.exp(1j * rocker[k]))
            right.plot(
                -np.degrees(crank[k]),
                np.degrees(path),
                "o",
                markersize=3,
                color=f"C{k}",
                label="run",
            )
        left.set(
            xlabel="crank angle (degrees)",
            title="Smallest singular value of G (m)",
            xticks=range(0, 361, 90),
            ylim=(0, 0.8),
        )
        right.set(
            xlabel="crank angle (degrees)",
            title="Rocker angle (degrees): the branches cross",
            xlim=(-75, 75),
            ylim=(-130, 170),
        )
        for axes in (left, right):
            axes.legend(loc="upper center", ncol=2)

    return Study(identities, numbers, draw, 3.4)

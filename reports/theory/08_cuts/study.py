"""Lecture notes 001, rules for independent loops: the same mechanism with every possible choice of
cuts.
"""

import itertools

import numpy as np
from matplotlib.figure import Figure
from models import CUTS, HINGES, seven_bodies
from page import Study, difference

import flexmbs as fm


def is_tree(cuts: tuple[tuple[int, int], ...]) -> bool:
    """Whether the joints left connect the seven bodies with the ground."""
    kept = [pair for pair in HINGES if pair not in cuts]
    incidence = np.array([[(k == b) - (k == a) for k in range(1, 8)] for a, b in kept])
    return len(kept) == 7 and abs(np.linalg.det(incidence)) > 0.5


def named(cuts: tuple[tuple[int, int], ...]) -> tuple[str, ...]:
    return tuple(f"{a}-{b}" for a, b in cuts)


def accelerations(terms: object) -> np.ndarray:
    """V̇ of K1 … K7."""
    found = (terms.J @ terms.state.sd + terms.a_bar).reshape(-1, 6)
    return found[[terms.bodies.index(f"K{k}") for k in range(1, 8)]]


def microseconds(cuts: tuple[str, ...]) -> float:
    """Time of one evaluation of the accelerations with multipliers, from 2000 steps of seven
    stages.
    """
    integrator = fm.DormandPrince(step=5e-5)
    run = fm.simulate(
        seven_bodies(cuts),
        t_end=0.1,
        output_step=0.1,
        formalism="multiplier",
        integrator=integrator,
    )
    return 1e6 * run.statistics["solve_seconds"] / (7.0 * run.statistics["steps"])


def study() -> Study:
    choices = [cuts for cuts in itertools.combinations(HINGES, 3) if is_tree(cuts)]
    terms = [fm.matrices(seven_bodies(named(cuts))) for cuts in choices]
    chosen = fm.matrices(seven_bodies())
    rows = np.array([len(each.G) for each in terms])
    filled = np.array(
        [
            np.count_nonzero(np.abs(each.G) > 1e-12) + np.count_nonzero(np.abs(each.M) > 1e-12)
            for each in terms
        ]
    )
    own = choices.index(tuple(CUTS.values()))
    cheap = np.flatnonzero(rows == rows.min())
    worst = int(np.lexsort((filled, rows))[-1])
    identities = {
        "V̇ of all bodies with any cuts": max(
            difference(accelerations(each), accelerations(chosen)) for each in terms
        ),
        "the program cuts where the notes do": 0.0
        if set(chosen.constraints) == set(named(choices[own]))
        else 1.0,
    }
    numbers = {
        "trees of the graph": len(choices),
        "b_s of the cuts of the notes, least and most": [rows[own], rows.min(), rows.max()],
        "entries of M̂ and G^ℓ, cuts of the notes and worst": [filled[own], filled[worst]],
        "choices with the least b_s": len(cheap),
    }
    times = {
        f"one evaluation, cuts {', '.join(named(choices[k]))} (µs)": microseconds(named(choices[k]))
        for k in (own, worst)
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.1))
        left.plot(rows, filled, "o", alpha=0.5, label="a choice of cuts")
        left.plot(
            rows[own], filled[own], "s", color="C3", label="cuts of the notes and of the program"
        )
        left.set(
            xlabel="closing conditions b_s",
            title="Entries of M̂ and G^ℓ",
            xlim=(5, 16),
            ylim=(20, 230),
        )
        left.legend(loc="upper left")
        terms[worst].system.plot(right)
        right.set_title(f"Worst cuts: {', '.join(named(choices[worst]))}")

    return Study(identities, numbers, draw, 3.8, times=times)

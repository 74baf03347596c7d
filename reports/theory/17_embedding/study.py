"""Lecture notes 003, eqs. (12), (14) and (15): multipliers and embedding of hinged chains, fill,
time and agreement.
"""

import numpy as np
from matplotlib.figure import Figure
from models import rod
from page import Study, difference, vanishes

import flexmbs as fm
from flexmbs.page.style import decades
from flexmbs.studies.states.evaluate import evaluate

SIZES = (2, 4, 8, 16, 32)
FORMALISMS = {"multipliers, (12)": fm.Multiplier(), "embedding, (15)": fm.Embedding()}


def chain(n: int) -> fm.Model:
    """n rods on hinges about y and z in turn, in motion."""
    model = fm.Model("chain", gravity=(0, 0, -9.81))
    end = model.ground
    for i in range(n):
        body = model.add(rod(f"K{i}", 0.5))
        model.add(fm.Revolute(f"joint {i}", end, body, axis="yz"[i % 2], q0=0.2, v0=0.5))
        end = body["end"]
    return model


def microseconds(n: int, formalism: object) -> float:
    """Time of one evaluation in absolute coordinates, from 200 steps of seven stages."""
    options = {
        "t_end": 0.02,
        "output_step": 0.02,
        "integrator": fm.DormandPrince(step=1e-4),
        "coordinates": "absolute",
    }
    run = fm.simulate(chain(n), formalism=formalism, **options)
    return 1e6 * run.statistics["solve_seconds"] / (7.0 * run.statistics["steps"])


def study() -> Study:
    every = [fm.matrices(chain(n), coordinates="absolute") for n in SIZES]
    terms = every[2]
    names = [f"K{i}.w{'yz'[i % 2]}" for i in range(SIZES[2])]
    chosen = fm.matrices(chain(SIZES[2]), coordinates="absolute", independent=names)
    columns = [chosen.velocities.index(name) for name in names]
    rest = np.setdiff1d(np.arange(len(chosen.M)), columns)
    G_d, G_i, B = chosen.G[:, rest], chosen.G[:, columns], np.zeros_like(chosen.J_loop)
    B[columns], B[rest] = np.eye(len(columns)), -np.linalg.solve(G_d, G_i)
    found = {
        name: evaluate(
            terms.state.compiled, form, 0.0, terms.state.q, terms.state.s, beta=terms.state.beta
        )
        for name, form in FORMALISMS.items()
    }
    (sd, lam), (embedded, again) = found.values()
    identities = {
        "B_di = [1; −G_d⁻¹G_i]": difference(chosen.J_loop, B),
        "η̿ = [0; G_d⁻¹γ̿]": difference(chosen.p[rest], np.linalg.solve(G_d, chosen.gamma)),
        "M_ii = B_diᵀMB_di": difference(B.T @ chosen.M @ B, chosen.M_ii),
        "Q_i = B_diᵀ(k − Mη̿)": difference(B.T @ (chosen.k - chosen.M @ chosen.p), chosen.Q_i),
        "B_diᵀGᵀ = 0": vanishes(B.T @ chosen.G.T, B, chosen.G),
        "M_ii q̈_i = Q_i gives the q̈ of (12)": difference(
            B @ np.linalg.solve(chosen.M_ii, chosen.Q_i) + chosen.p, sd
        ),
        "both formalisms of the program: q̈": difference(embedded, sd),
        "both formalisms of the program: λ": difference(again, lam),
    }
    full = {
        "(12)": [np.count_nonzero(np.abs(x.system.matrix) > 1e-12) for x in every],
        "(15)": [np.count_nonzero(np.abs(x.M_ii) > 1e-12) for x in every],
    }
    sizes = {"(12)": [len(x.system.matrix) for x in every], "(15)": [len(x.M_ii) for x in every]}
    share = {name: np.array(full[name]) / np.array(sizes[name]) ** 2 for name in full}
    times = {
        f"{name}, {n} bodies (µs)": microseconds(n, form)
        for name, form in FORMALISMS.items()
        for n in SIZES
    }
    numbers = {
        f"share of entries that are not zero, {name}, 2 … 32 bodies": share[name] for name in share
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for name in share:
            left.loglog(SIZES, share[name], "o-", label=name)
        left.set(xlabel="bodies", title="Share of entries that are not zero")
        for name in FORMALISMS:
            right.loglog(
                SIZES, [times[f"{name}, {n} bodies (µs)"] for n in SIZES], "o-", label=name
            )
        right.set(xlabel="bodies", title="Time of one evaluation (µs)")
        for axes in (left, right):
            axes.legend()
            decades(axes.xaxis)
            decades(axes.yaxis)

    return Study(identities, numbers, draw, 3.4, times=times)

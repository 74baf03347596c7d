"""Lecture notes 003, eqs. (11) to (13) and "Numerikus eljárások": partitioned solution and drift of
three numerical schemes.
"""

import numpy as np
from matplotlib.figure import Figure
from models import Beam, rod
from page import Study, difference, vanishes

import flexmbs as fm
from flexmbs.motions import Ball, Slide
from flexmbs.page.style import decades

STEP, END = 1e-3, 5.0
SCHEMES = {
    "1: integrate everything": fm.Multiplier(),
    "2: independent coordinates only": fm.Partitioning(),
    "3: correct the dependent ones": fm.Multiplier(stabilization=fm.Projection()),
}


def slider_crank() -> fm.Model:
    """Crank 0.3 m at 6 rad/s, flexible connecting rod 1 m,
    slider along x, in the plane of x and y.
    """
    model = fm.Model("slider-crank", gravity=(0, -9.81, 0))
    crank = model.add(rod("crank", 0.3))
    link = model.add(fm.FlexibleBody("link", data=Beam().data("link", 1e-3)))
    slider = model.add(fm.RigidBody("slider", mass=1.0, inertia=(0.01, 0.01, 0.01)))
    model.add(fm.Revolute("shaft", model.ground, crank, v0=6.0))
    model.add(fm.Revolute("pin", crank["end"], link))
    model.add(fm.Prismatic("guide", model.ground, slider, q0=1.3))
    model.add(fm.Chain("wrist", link["tip"], slider, motions=(Slide("z"), Ball())))
    return model


def study() -> Study:
    model = slider_crank()
    fixed = {"t_end": END, "output_step": 0.02, "integrator": fm.DormandPrince(step=STEP)}
    runs = {name: fm.simulate(model, formalism=form, **fixed) for name, form in SCHEMES.items()}
    terms = fm.matrices(
        model, start=fm.state_of(runs["3: correct the dependent ones"], 1.0), coordinates="absolute"
    )
    state, r, f = terms.state, terms.reference, terms.elastic
    whole = np.block([[terms.M, terms.G.T], [terms.G, np.zeros((len(terms.G),) * 2)]])
    inverse = np.block([[terms.M_qq, terms.M_ql], [terms.M_ql.T, terms.M_ll]])
    parts = np.block([
        [terms.m_rr, terms.m_rf, terms.G_r.T],
        [terms.m_rf.T, terms.m_ff, terms.G_f.T],
        [terms.G_r, terms.G_f, np.zeros((len(terms.G),) * 2)],
    ])  # fmt: skip
    identities = {
        "partition by reference and elastic coordinates, (11)": difference(
            parts, terms.system.matrix
        ),
        "M_λ q_λ = F̄, (12), with −λ": difference(
            whole @ np.concatenate([state.sd, -state.lam]), np.concatenate([terms.k, terms.gamma])
        ),
        "M̄ M_λ = 1": difference(inverse @ whole, np.eye(len(whole))),
        "q̈ = M̄_qq F_q + M̄_qλ F_λ, (13)": difference(
            terms.M_qq @ terms.k + terms.M_ql @ terms.gamma, state.sd
        ),
        "−λ = M̄_λq F_q + M̄_λλ F_λ, (13)": difference(
            terms.M_ql.T @ terms.k + terms.M_ll @ terms.gamma, -state.lam
        ),
        "G_r q̇_r + G_f q̇_f + γ̄ = 0": vanishes(
            terms.G_r @ state.s[r] + terms.G_f @ state.s[f] + terms.gamma_bar
        ),
        "Q_f = (Q_t)_f + (Q_v)_f − K_ff q_f": difference(terms.k[f], (terms.k_c + terms.k_t)[f]),
    }
    numbers = {
        "reaction of the wrist in the plane at 1 s (N)": np.linalg.norm(
            state.lam[terms.rows["wrist"]]
        )
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(0.9, 1.1))
        terms.system.plot(left)
        left.set_title("M_λ in absolute coordinates")
        for name, run in runs.items():
            right.semilogy(run.t[1:], np.maximum(run.drift[1:, 0], 1e-17), label=name)
        decades(right.yaxis)
        right.set(xlabel="time (s)", title="Position errors |g| (m, rad)", ylim=(1e-18, 1e-2))
        right.legend(loc="upper center", fontsize=8)

    return Study(identities, numbers, draw, 4.0, str(terms.system))

"""Lecture notes 000, section on one loop: closing conditions of a driven five-bar linkage, implicit
and explicit.
"""

import dataclasses

import numpy as np
from matplotlib.figure import Figure
from models import dyad, ring
from page import Study, difference, vanishes

import flexmbs as fm
from flexmbs.studies.states.balance import moved
from flexmbs.studies.states.tangent import dense

LENGTHS, FOOT = (0.5, 0.8, 0.7, 0.4), np.array([1.1, 0.0])
MOTOR = fm.Sine(0.4, 0.5, phase=0.7, offset=-1.9)  # coordinate of hinge 5: angle of rod 4 from x
H = 1e-3


def five_bar() -> fm.Model:
    """Rods 1 and 4 turn on the base, rods 2 and 3 join them at hinge 3, which is cut; the motor
    drives rod 4.
    """
    first, last = 2.0, MOTOR.state(0.0)[0]
    tip = LENGTHS[0] * np.array([np.cos(first), np.sin(first)])
    knee = FOOT - LENGTHS[3] * np.array([np.cos(last), np.sin(last)])
    model = ring(LENGTHS, (first, *dyad(tip, knee, *LENGTHS[1:3]), last), loose=3)
    model.joints["hinge 1"] = fm.Revolute(
        "hinge 1", model.ground, "rod 1", axis="y", q0=-first, v0=-1.5
    )
    model.add(fm.Drive("motor", "hinge 5", MOTOR))
    return model


def bias_by_differences(state: object) -> np.ndarray:
    """d/dt (G η + γ̄) at constant η along the motion, which is γ̿ = −γ: central differences of
    fourth order.
    """
    at = [
        dense(dataclasses.replace(moved(state, k * H * state.s), t=state.t + k * H)).gd
        for k in (-2, -1, 1, 2)
    ]
    return (8.0 * (at[2] - at[1]) - (at[3] - at[0])) / (12.0 * H)


def study() -> Study:
    model = five_bar()
    run = fm.simulate(model, t_end=0.5, output_step=0.0125, rtol=1e-9, atol=1e-11)
    terms = [
        fm.matrices(model, start=fm.state_of(run, t), independent=["hinge 1.0"]) for t in run.t
    ]
    at = terms[16]
    tree, s = at.open_chain, at.state.s
    i, d = [0], [1, 2, 3]
    G_i, G_d = at.G[:, i], at.G[:, d]
    identities = {
        "g^ℓ(β, t) = 0": vanishes(at.g),
        "G^ℓη + γ̄^ℓ = 0": vanishes(at.G @ s + at.gamma_bar, at.G, s),
        "G^ℓη̇ + γ̿^ℓ = 0": vanishes(at.G @ at.state.sd - at.gamma, at.gamma),
        "G^ℓ = G^s J": difference(tree.G_s @ at.J, at.G),
        "γ̄^ℓ = G^s v̄ + γ̄^s": difference(tree.G_s @ at.v_bar + tree.gamma_bar_s, at.gamma_bar),
        "γ̿^ℓ = G^s ā + γ̿^s": difference(tree.G_s @ at.a_bar - tree.gamma_s, -at.gamma),
        "γ̿^ℓ = Ġ^ℓη + γ̄̇^ℓ (by differences)": difference(bias_by_differences(at.state), -at.gamma),
        "J^ℓ = [1; −G_d⁻¹G_i]": difference(
            np.vstack([[[1.0]], -np.linalg.solve(G_d, G_i)]), at.J_loop
        ),
        "η̄ = [0; −G_d⁻¹γ̄]": difference([0.0, *-np.linalg.solve(G_d, at.gamma_bar)], at.s_bar),
        "η̿ = [0; −G_d⁻¹γ̿]": difference([0.0, *np.linalg.solve(G_d, at.gamma)], at.p),
        "G^ℓJ^ℓ = 0": vanishes(at.G @ at.J_loop, at.G, at.J_loop),
        "η = J^ℓσ + η̄ along the run": max(
            difference(x.J_loop @ x.state.s[i] + x.s_bar, x.state.s) for x in terms
        ),
        "η̇ = J^ℓσ̇ + η̿ along the run": max(
            difference(x.J_loop @ x.state.sd[i] + x.p, x.state.sd) for x in terms
        ),
        "q̇ = H̄σ + h̄: 1 and 0": max(difference(at.H_bar, 1.0), vanishes(at.h_bar)),
    }
    numbers = {
        "J^ℓ of hinges 1, 2, 5, 4 at 0.2 s": at.J_loop[:, 0],
        "η̄ of hinges 1, 2, 5, 4 at 0.2 s (rad/s)": at.s_bar,
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.15))
        for k, light in ((0, 1.0), (20, 0.5), (40, 0.25)):
            for n in (1, 2, 3, 4):
                ends = np.array(
                    [run.body(f"rod {n}").position[k], run.frame(f"rod {n}/end").position[k]]
                )
                left.plot(
                    ends[:, 0],
                    ends[:, 2],
                    "o-",
                    color="C0" if n in (1, 4) else "C1",
                    alpha=light,
                    linewidth=3,
                )
            left.plot(
                *run.frame("rod 2/end").position[k][[0, 2]],
                "s",
                color="C3",
                alpha=light,
                markersize=9,
            )
        left.set(
            aspect="equal",
            xlabel="x (m)",
            ylabel="z (m)",
            title="Primary hinges (dots), cut hinge 3 (square)",
        )
        left.margins(0.1)
        for n, name in enumerate(at.velocities):
            right.plot(
                run.t, [x.state.s[n] for x in terms], color=f"C{n}", label=name.removesuffix(".0")
            )
            right.plot(
                run.t[::4],
                [(x.J_loop @ x.state.s[i] + x.s_bar)[n] for x in terms][::4],
                "o",
                color=f"C{n}",
                markersize=3,
            )
            right.plot(run.t, [x.s_bar[n] for x in terms], ":", color=f"C{n}", linewidth=1)
        right.set(xlabel="time (s)", title="η (rad/s): run, J^ℓσ + η̄ (dots), η̄ (dotted)")
        right.legend(ncol=2)

    return Study(identities, numbers, draw, 4.0, str(at.open_chain.system))

"""Lecture notes 001, eqs. (3) to (18): the example of seven bodies and three loops, cut between 3
and 4, 2 and 7, 4 and 6.
"""

import numpy as np
from matplotlib.figure import Figure
from models import CUTS, HINGES, seven_bodies
from page import Study, difference, vanishes

import flexmbs as fm


def study() -> Study:
    terms = fm.matrices(seven_bodies(), formalism="recursive")
    tree, s, sd = terms.open_chain, terms.state.s, terms.state.sd
    body = {
        k: slice(6 * terms.bodies.index(f"K{k}"), 6 * terms.bodies.index(f"K{k}") + 6)
        for k in range(1, 8)
    }
    rows = {loop: terms.rows[f"{a}-{b}"] for loop, (a, b) in CUTS.items()}
    block = {
        (loop, k): tree.G_s[np.ix_(at, range(42)[body[k]])]
        for loop, at in rows.items()
        for k in body
    }
    by_loops = [sum(block[loop, k] @ terms.J[body[k]] for k in pair) for loop, pair in CUTS.items()]
    dense, lam = tree.system.solve(), terms.state.lam
    f_s, f_k = tree.G_s.T @ lam, tree.M @ dense["ẏ"] - tree.f_c - tree.f_t
    f_p = np.linalg.solve(tree.B.T, f_k - f_s)
    reduced = np.block([[terms.M, -terms.G.T], [-terms.G, np.zeros((6, 6))]])
    eta_lam = np.linalg.solve(reduced, np.concatenate([terms.k_c + terms.k_t, -terms.gamma]))
    largest = {k: float(np.abs(f_s[body[k]]).max()) for k in body}
    identities = {
        "G^s: no blocks but those of the two bodies of a cut": max(
            vanishes(x, tree.G_s) for (loop, k), x in block.items() if k not in CUTS[loop]
        ),
        "G^ℓ_I = G^s_3,I J_3 + G^s_4,I J_4 and so on": difference(
            np.vstack(by_loops), terms.G[np.concatenate([*rows.values()])]
        ),
        "γ̄^ℓ = G^s v̄ + γ̄^s": vanishes(terms.gamma_bar - tree.G_s @ terms.v_bar - tree.gamma_bar_s),
        "γ̿^ℓ = G^s ā + γ̿^s": difference(tree.gamma_s - tree.G_s @ terms.a_bar, terms.gamma),
        "(8), (9): BV = Cη, BV̇ = Cη̇ + ā_rel": difference(
            tree.B @ dense["ẏ"], tree.C @ dense["η̇"] + tree.a_rel
        ),
        "(11), (12): G^sV = 0, G^sV̇ = −γ̿^s": max(
            vanishes(tree.G_s @ terms.J @ s), difference(tree.G_s @ dense["ẏ"], tree.gamma_s)
        ),
        "(16) against the recursive formalism: η̇, λ": max(
            difference(dense["η̇"], sd), difference(dense["λ"], lam)
        ),
        "(18) against the recursive formalism: η̇, λ": difference(
            eta_lam, np.concatenate([sd, lam])
        ),
        "f^s = 0 on bodies 1 and 5": max(largest[1], largest[5]) / max(largest.values()),
        "f^s on body 4 of two loops": difference(
            f_s[body[4]], sum(block[n, 4].T @ lam[rows[n]] for n in ("I", "III"))
        ),
        "f^p = B⁻ᵀ(f^k − f^s) against (16)": difference(f_p, dense["f^p"]),
        "Cᵀf^p = 0, (5)": vanishes(tree.C.T @ f_p, tree.C, f_p),
    }
    numbers = {f"λ of loop {loop} (N)": lam[at] for loop, at in rows.items()} | {
        "freedoms, 7 − b_s": len(s) - len(lam)
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.1))
        for k in range(1, 8):
            x, z = np.array([place for pair, place in HINGES.items() if k in pair]).T
            left.fill(x, z, color=f"C{k - 1}", alpha=0.35, linewidth=4, joinstyle="round")
            left.text(x.mean(), z.mean(), f"K{k}", ha="center", va="center", fontweight="bold")
        for pair, place in HINGES.items():
            left.plot(
                *place,
                "s" if pair in CUTS.values() else "o",
                color="#9a3f55" if pair in CUTS.values() else "#1d2733",
            )
        for loop, pair in CUTS.items():
            left.annotate(
                loop,
                HINGES[pair],
                xytext=(6, 5),
                textcoords="offset points",
                color="#9a3f55",
                fontweight="bold",
            )
        left.set(
            aspect="equal",
            xlabel="x (m)",
            ylabel="z (m)",
            title="Seven bodies, three cuts (squares)",
        )
        tree.system.plot(right)
        right.set_title("System of notes 001 (16)")

    return Study(identities, numbers, draw, 4.2, str(tree.system))

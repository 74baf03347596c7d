"""Lecture notes 000, eqs. (3) to (18): an open chain of three bodies, its block system and its
elimination.
"""

import numpy as np
from matplotlib.figure import Figure
from models import rod
from page import Study, arrow, difference, vanishes

import flexmbs as fm

LENGTH = 0.8


def chain() -> fm.Model:
    model = fm.Model("three bodies", gravity=(0, 0, -9.81))
    K1, K2, K3 = (
        model.add(rod(f"K{i}", LENGTH, mass)) for i, mass in ((1, 3.0), (2, 2.0), (3, 1.0))
    )
    model.add(fm.Revolute("joint 1", model.ground, K1, axis="y", q0=1.1, v0=1.0))
    model.add(
        fm.Universal("joint 2", K1["end"], K2, axes=("y", "x"), q0=(-0.8, 0.0), v0=(-2.0, 1.5))
    )
    model.add(fm.Revolute("joint 3", K2["end"], K3, axis="y", q0=1.2, v0=3.0))
    return model


def eliminated(
    M: list, f: list, C: list, B: list, a: list
) -> tuple[list, list, list, list, list, list]:
    """Notes 000, steps 2 to 4: M*, f*, N inward, η̇, V̇, f^p outward; B[i] carries the parent's
    twist to body i.
    """
    M, f, N = list(M), list(f), [np.zeros(0)] * len(M)
    for i in reversed(range(len(M))):
        N[i] = C[i].T @ M[i] @ C[i]
        if i:
            pass_on = B[i].T @ (np.eye(6) - M[i] @ C[i] @ np.linalg.inv(N[i]) @ C[i].T)
            M[i - 1], f[i - 1] = (
                M[i - 1] + pass_on @ M[i] @ B[i],
                f[i - 1] + pass_on @ (f[i] - M[i] @ a[i]),
            )
    rates, V, wrench, before = [], [], [], np.zeros(6)
    for i in range(len(M)):
        rates.append(np.linalg.solve(N[i], C[i].T @ (f[i] - M[i] @ (B[i] @ before + a[i]))))
        before = B[i] @ before + C[i] @ rates[i] + a[i]
        V.append(before)
        wrench.append(M[i] @ before - f[i])
    return M, f, N, rates, V, wrench


def study() -> Study:
    terms = fm.matrices(chain(), formalism="recursive")
    tree, at = terms.open_chain, [slice(6 * i, 6 * i + 6) for i in range(3)]
    C = [tree.C[rows][:, terms.columns[f"joint {i + 1}"]] for i, rows in enumerate(at)]
    B = [np.zeros((6, 6))] + [-tree.B[at[i], at[i - 1]] for i in (1, 2)]
    f_tc, a_rel = tree.f_c + tree.f_t, tree.a_rel
    M, f, N, rates, V, wrench = eliminated(
        [tree.M[k, k] for k in at], [f_tc[k] for k in at], C, B, [a_rel[k] for k in at]
    )
    dense, recursion = tree.system.solve(), [terms.recursion[name] for name in terms.bodies]
    loads = [f[i] - M[i] @ terms.a_bar[k] for i, k in enumerate(at)]  # of the part V̇ − ā
    identities = {
        "J = B⁻¹C, (11)": difference(np.linalg.solve(tree.B, tree.C), terms.J),
        "ā = B⁻¹ā_rel": difference(np.linalg.solve(tree.B, tree.a_rel), terms.a_bar),
        "elimination against (14): η̇": difference(np.concatenate(rates), dense["η̇"]),
        "elimination against (14): V̇": difference(np.concatenate(V), dense["ẏ"]),
        "elimination against (14): f^p": difference(np.concatenate(wrench), dense["f^p"]),
        "M* of the recursive formalism": max(difference(a, b.M_star) for a, b in zip(M, recursion)),
        "f* − M*ā of the recursive formalism": max(
            difference(a, b.f_star) for a, b in zip(loads, recursion)
        ),
        "N of the recursive formalism": max(difference(a, b.N) for a, b in zip(N, recursion)),
        "Cᵀf^p = 0, (12)": vanishes(tree.C.T @ dense["f^p"], tree.C, dense["f^p"]),
        "Jᵀf^k = 0, f^k = Bᵀf^p, (13)": vanishes(
            terms.J.T @ tree.B.T @ dense["f^p"], terms.J, dense["f^p"]
        ),
        "JᵀMJ η̇ = Jᵀ(f^tc − Mā)": difference(terms.M @ terms.state.sd, terms.k_c + terms.k_t),
    }
    numbers = {
        "η̇ of joints 1, 2, 2, 3 (rad/s²)": np.concatenate(rates),
        "masses along x as the joints feel them, M*_i[0, 0] (kg), of K1, K2, K3": [
            each[0, 0] for each in M
        ],
        "largest eigenvalues of N_1, N_2, N_3 (kg m²)": [
            np.linalg.eigvalsh(each)[-1] for each in N
        ],
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
        motion = fm.simulate(chain(), t_end=1e-3, step=1e-3)
        for i, name in enumerate(terms.bodies):
            A, r, tip = (
                motion.body(name).rotation[0],
                motion.body(name).position[0],
                motion.frame(f"{name}/end").position[0],
            )
            left.plot(
                [r[0], tip[0]],
                [r[2], tip[2]],
                "o-",
                linewidth=6,
                color=f"C{i}",
                markersize=7,
                solid_capstyle="round",
            )
            left.text(*(0.5 * (r + tip))[[0, 2]] + (0.05, 0.06), name, color=f"C{i}", fontsize=11)
            force = 0.015 * (A @ wrench[i][:3])[[0, 2]]
            arrow(
                left,
                r[[0, 2]],
                force,
                f"joint {i + 1}: {np.linalg.norm(wrench[i][:3]):.1f} N",
                "#1d2733",
            )
        left.set(
            aspect="equal",
            xlim=(-0.6, 1.8),
            ylim=(-1.9, 0.8),
            xlabel="x (m)",
            ylabel="z (m)",
            title="Forces of the joints",
        )
        tree.system.plot(right)
        right.set_title("Block system, notes 000 (14)")

    return Study(identities, numbers, draw, 4.2, str(tree.system))

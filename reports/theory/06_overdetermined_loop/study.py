"""Lecture notes 000 and 001: overdetermined loops, a planar four-bar linkage in space and Bricard's
mechanism.
"""

import numpy as np
from matplotlib.figure import Figure
from models import dyad, ring
from page import Study, difference, vanishes

import flexmbs as fm
from flexmbs.page.style import decades

POINTS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)


def four_bar(loose: int) -> fm.Model:
    """Crank 0.4 m, coupler 0.9 m, rocker 0.8 m; all hinges are parallel, and the last one may be
    free to tilt and slide.
    """
    angles = 1.0, *dyad(0.4 * np.array([np.cos(1.0), np.sin(1.0)]), np.array([1.0, 0.0]), 0.9, 0.8)
    return ring((0.4, 0.9, 0.8), angles, loose=loose)


def bricard() -> fm.Model:
    """Five rods along the edges of a cube on six hinges, each about an edge; mechanism A04 of the
    IFToMM library.
    """
    model = fm.Model("Bricard's mechanism", gravity=(0, -9.81, 0), frames={"P5": tuple(POINTS[5])})
    end = model.ground
    for i, way in enumerate(np.diff(POINTS, axis=0)):
        inertia = tuple(np.where(way == 0.0, 1.01, 0.02) / 12)
        part = model.add(
            fm.RigidBody(
                f"rod{i}", mass=1.0, inertia=inertia, com=tuple(way / 2), frames={"end": tuple(way)}
            )
        )
        model.add(fm.Revolute(f"P{i}", end, part, axis="yzxyz"[i]))
        end = part["end"]
    model.add(fm.Revolute("P5", end, model.ground["P5"], axis="x"))
    return model


def counted(G: np.ndarray, hinges: int) -> list[int]:
    """b_s, b_sr = b_s − rank G and f = Σ f_i − 6 n_h + b_sr of one loop of hinges."""
    redundant = len(G) - int(np.linalg.matrix_rank(G, 1e-9))
    return [len(G), redundant, hinges - 6 + redundant]


def study() -> Study:
    stiff, loose = fm.matrices(four_bar(0)), fm.matrices(four_bar(3))
    null = np.linalg.svd(stiff.G.T)[2][2:]  # multipliers without any generalized force
    options = {
        "t_end": 4.0,
        "output_step": 0.05,
        "integrator": fm.DormandPrince(rtol=1e-10, atol=1e-12),
    }
    run = fm.simulate(bricard(), stabilization="projection", **options)
    others = fm.simulate(
        bricard(),
        coordinates="absolute",
        formalism="multiplier",
        stabilization="projection",
        **options,
    )
    every = [fm.matrices(bricard(), start=fm.state_of(run, t)) for t in run.t]
    values = np.array([np.linalg.svd(each.G)[1] for each in every])
    pushed = fm.simulate(four_bar(0), t_end=0.01)
    identities = {
        "four-bar: η̇ with redundant rows = η̇ without": difference(stiff.state.sd, loose.state.sd),
        "four-bar: Gᵀλ = Gᵀ(λ + λ₀), λ₀ of a null space of three": vanishes(
            stiff.G.T @ null.T, stiff.G
        ),
        "Bricard: σ₅(G) = 0 along the run": vanishes(values[:, 4], values[:, 0]),
        "Bricard: motion in absolute coordinates": difference(
            run.frame("rod2/end").position, others.frame("rod2/end").position
        ),
    }
    numbers = {
        "four-bar: b_s, b_sr, f": counted(stiff.G, 4),
        "Bricard: b_s, b_sr, f": counted(every[0].G, 6),
        "four-bar: hinges with unique reactions, of 4": sum(
            pushed.joint(f"hinge {i}").unique for i in (1, 2, 3, 4)
        ),
        "Bricard: smallest σ₄(G) of the run": values[:, 3].min(),
    }

    def draw(figure: Figure) -> None:
        left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
        for k, light in ((0, 1.0), (12, 0.55), (24, 0.25)):
            ends = np.vstack(
                [np.zeros(3), *(run.frame(f"rod{i}/end").position[k] for i in range(5))]
            )
            left.plot(
                *ends[:, [0, 2, 1]].T, "o-", color="C0", alpha=light, linewidth=3, markersize=4
            )
        left.set(
            title="Bricard's mechanism at 0, 0.6 and 1.2 s", xlabel="x", ylabel="z", zlabel="y"
        )
        for k in range(5):
            right.semilogy(run.t, np.maximum(values[:, k], 1e-17), label=f"σ{k + 1}")
        decades(right.yaxis)
        right.set(xlabel="time (s)", title="Singular values of its G", ylim=(1e-18, 1e3))
        right.legend(ncol=5, loc="upper center")

    return Study(identities, numbers, draw, 3.6)

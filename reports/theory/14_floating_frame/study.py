"""Lecture notes 003, eqs. (6) and (7): mass matrix by blocks and quadratic velocity vector of a
beam that is spun up.
"""

import numpy as np
from matplotlib.figure import Figure
from models import Beam
from page import Study, difference

import flexmbs as fm
from flexmbs.page.style import decades
from flexmbs.studies.states.balance import moved
from flexmbs.studies.states.tangent import dense

BEAM, H = Beam(), 1e-3


def spun() -> fm.Model:
    """The beam on a hinge about z at its origin under a torque; its weight bends it along z."""
    model = fm.Model("spin-up", gravity=(0, 0, -9.81))
    model.add(fm.FlexibleBody("beam", data=BEAM.data("beam", damping=1e-3)))
    model.add(fm.Revolute("hinge", model.ground, "beam", v0=0.5))
    model.add(fm.JointTorque("motor", "hinge", fm.SmoothStep(8.0, duration=0.2)))
    return model


def by_points(qf: np.ndarray, rate: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mass matrix and Q_v in (v, ω, q̇_f) as sums over the masses: Lᵀ m L with L = [1, −ũ, φ], and
    (7) of the notes.
    """
    mass, force = np.zeros((9, 9)), np.zeros(9)
    for x, phi in zip(BEAM.x, BEAM.phi):
        u, ud = x + phi @ qf, phi @ rate
        L = np.hstack([np.eye(3), np.cross(np.eye(3), u).T, phi])
        mass += BEAM.m * L.T @ L
        force -= BEAM.m * L.T @ (np.cross(w, np.cross(w, u)) + 2.0 * np.cross(w, ud))
    return mass, force


def lagrange(state: object) -> np.ndarray:
    """−Ṁ q̇ + ∂(½ q̇ᵀ M q̇)/∂q by central differences of fourth order, in the coordinates angle and
    q_f.
    """
    s, weights = state.s, ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0))
    slope = [
        sum(c * dense(moved(state, k * H * e)).M for k, c in weights) / (12.0 * H)
        for e in np.eye(len(s))
    ]
    return -sum(rate * M for rate, M in zip(s, slope)) @ s + np.array(
        [0.5 * s @ M @ s for M in slope]
    )


def study() -> Study:
    model = spun()
    run = fm.simulate(
        model, t_end=1.0, output_step=0.02, integrator=fm.DormandPrince(rtol=1e-9, atol=1e-11)
    )
    terms = [fm.matrices(model, start=fm.state_of(run, t)) for t in run.t]
    bodies, s = [each.body("beam") for each in terms], np.array([each.state.s for each in terms])
    q = np.array([each.state.q for each in terms])
    sums = [by_points(a[1:], b[1:], np.array([0.0, 0.0, b[0]])) for a, b in zip(q, s)]
    last, parts, expected = (
        terms[-1],
        np.array([each.Q_v for each in bodies]),
        np.array([force for _, force in sums]),
    )
    body, J = bodies[-1], last.open_chain.J
    elastic = last.forces.Q_k + last.forces.Q_d
    identities = {
        "blocks m_TT … m_ff, sums over the masses": max(
            difference(a.M, b[0]) for a, b in zip(bodies, sums)
        ),
        "(Q_v)_T = −∫(ω̃²u + 2ω̃u̇) dm along the run": difference(parts[:, :3], expected[:, :3]),
        "(Q_v)_R = −∫ũ(ω̃²u + 2ω̃u̇) dm": difference(parts[:, 3:6], expected[:, 3:6]),
        "(Q_v)_f = −∫φᵀ(ω̃²u + 2ω̃u̇) dm": difference(parts[:, 6:], expected[:, 6:]),
        "(6): Q_v = −Ṁq̇ + ∂(½q̇ᵀMq̇)/∂q (by differences)": difference(lagrange(last.state), last.Q_v),
        "Q_v of the joint coordinates = Jᵀ(Q_v − Mā)": difference(
            J.T @ (body.Q_v - body.M @ last.open_chain.a_bar), last.Q_v
        ),
        "(7a): Mq̈ + K_ff q_f + D_ff q̇_f = Q_v + Q_t": difference(
            last.M @ last.state.sd - elastic, last.Q_v + last.k_t - elastic
        ),
    }
    numbers = {"parts T, R, f of Q_v at 1 s (N, N m, N)": body.Q_v, "spin at 1 s (rad/s)": s[-1, 0]}

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(0.8, 1.0))
        left.grid(visible=False)
        left.imshow(np.log10(np.abs(body.M) + 1e-12), cmap="Blues", vmin=-4, vmax=1)
        left.set(
            xticks=(1, 4, 7),
            yticks=(1, 4, 7),
            title="log |M| of the beam at 1 s",
            xticklabels="TRf",
            yticklabels="TRf",
        )
        left.hlines((2.5, 5.5), -0.5, 8.5, color="#1d2733", linewidth=0.8)
        left.vlines((2.5, 5.5), -0.5, 8.5, color="#1d2733", linewidth=0.8)
        for name, part in (
            ("T (N)", parts[:, :3]),
            ("R (N m)", parts[:, 3:6]),
            ("f (N per unit)", parts[:, 6:]),
        ):
            right.semilogy(run.t, np.linalg.norm(part, axis=1), label=f"(Q_v) {name}")
        right.semilogy(
            run.t,
            np.linalg.norm(q[:, 1:] @ BEAM.K, axis=1),
            "--",
            color="#5d6b7a",
            label="K_ff q_f (N per unit)",
        )
        right.semilogy(run.t, s[:, 0], ":", color="#1d2733", label="spin (rad/s)")
        right.set(xlabel="time (s)", title="Sizes of the terms", ylim=(1e-3, 3e3))
        decades(right.yaxis)
        right.legend(loc="upper left", ncol=2)

    return Study(identities, numbers, draw, 3.6)

"""Lecture notes 004: a point on a moving surface, its blocked and free directions, explicit and
implicit constraint forces.
"""

import numpy as np
from matplotlib.figure import Figure
from page import Study, difference, vanishes

import flexmbs as fm

M, WEIGHT = 0.5, np.array([0.0, 0.0, -0.5 * 9.81])


def surface(x: float, y: float, t: float) -> tuple[float, float, float]:
    """Height h of a bowl with a travelling wave, sine and cosine of the wave."""
    s, c = np.sin(2.0 * x - 3.0 * t), np.cos(2.0 * x - 3.0 * t)
    return 0.3 * (x * x + y * y) + 0.1 * s, s, c


def on_surface(t: float, r: np.ndarray, A: np.ndarray) -> list[float]:
    """g(r, t) = z − h(x, y, t)"""
    return [r[2] - surface(r[0], r[1], t)[0]]


def bowl() -> fm.Model:
    model = fm.Model("bowl", gravity=(0, 0, -9.81))
    model.add(fm.PointMass("point", mass=M))
    model.add(
        fm.Translation("place", "ground", "point", q0=(0.8, -0.3, surface(0.8, -0.3, 0.0)[0]))
    )
    model.add(fm.Holonomic("surface", "ground", "point", on_surface, rheonomic=True))
    return model


def by_hand(r: np.ndarray, v: np.ndarray, t: float) -> tuple[np.ndarray, ...]:
    """G, γ̄, γ̿ and J, v̄, ā of r = (x, y, h(x, y, t)) with q = (x, y)."""
    _, s, c = surface(*r[:2], t)
    slope, rate = np.array([0.6 * r[0] + 0.2 * c, 0.6 * r[1]]), -0.3 * c
    bend = (0.6 - 0.4 * s) * v[0] ** 2 + 0.6 * v[1] ** 2 + 1.2 * s * v[0] - 0.9 * s  # ḧ without q̈
    G, J = np.array([[*-slope, 1.0]]), np.vstack([np.eye(2), slope])
    return (
        G,
        np.array([-rate]),
        np.array([-bend]),
        J,
        np.array([0.0, 0.0, rate]),
        np.array([0.0, 0.0, bend]),
    )


def study() -> Study:
    model = bowl()
    run = fm.simulate(model, t_end=2.0, output_step=0.02, rtol=1e-9, atol=1e-11)
    at = fm.state_of(run, 1.0)
    terms = fm.matrices(model, start=at, independent=["place.0", "place.1"])
    G, rate, bias, J, v_bar, a_bar = by_hand(at.q, at.s, at.t)
    force = terms.G.T @ at.lam
    rates = np.linalg.solve(J.T @ J * M, J.T @ (WEIGHT - M * a_bar))
    identities = {
        "g(r, t) = 0": vanishes(on_surface(at.t, at.q, np.eye(3))),
        "G = ∂g/∂r": difference(terms.G, G),
        "γ̄ = ∂g/∂t": difference(terms.gamma_bar, rate),
        "γ̿ = Ġv + γ̄̇": difference(-terms.gamma, bias),
        "J = ∂r/∂q": difference(terms.J_free[:3], J),
        "v̄ = ∂r/∂t": difference(terms.v_free[:3], v_bar),
        "ā = J̇q̇ + v̄̇": difference(terms.a_free[:3], a_bar),
        "GJ = 0": vanishes(terms.G @ terms.J_free[:3], G, J),
        "Gv̄ + γ̄ = 0": vanishes(terms.G @ terms.v_free[:3] + terms.gamma_bar, rate),
        "Gā + γ̿ = 0": vanishes(terms.G @ terms.a_free[:3] - terms.gamma, bias),
        "v̇ = Jq̈ + ā with JᵀMJ q̈ = Jᵀ(F^t − Mā)": difference(at.sd, J @ rates + a_bar),
        "M v̇ = F^t + F^k, F^k = Gᵀλ": difference(M * at.sd, WEIGHT + force),
        "JᵀF^k = 0": vanishes(terms.J_free[:3].T @ force, J, force),
    }
    numbers = {"G at 1 s": G[0], "v̄ at 1 s (m/s)": v_bar, "F^k at 1 s (N)": force}

    def draw(figure: Figure) -> None:
        left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
        x, y = np.meshgrid(np.linspace(-1.0, 1.0, 31), np.linspace(-0.7, 0.7, 25))
        left.plot_surface(x, y, surface(x, y, 1.0)[0], color="#a9c6de", alpha=0.3, linewidth=0)
        left.plot(*run.body("point").position.T, color="#5d6b7a", linewidth=1)
        for along, color in (
            (0.3 * G[0], "C3"),
            (0.3 * J[:, 0], "C0"),
            (0.3 * J[:, 1], "C0"),
            (2.0 * v_bar, "C1"),
        ):
            left.quiver(*at.q, *along, color=color, linewidth=2)
        left.set(
            title="Row of G (red), columns of J (blue), 2v̄",
            xlabel="x",
            ylabel="y",
            xticks=(-1, 0, 1),
            yticks=(-0.5, 0.5),
        )
        right.plot(run.t, run.lam[:, 0], label="λ = F^k along z (N)")
        right.plot(run.t, run.body("point").velocity, label=["v_x (m/s)", "v_y", "v_z"])
        right.set(xlabel="time (s)", title="Multiplier and velocity")
        right.legend()

    return Study(identities, numbers, draw, 3.8)

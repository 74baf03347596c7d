"""Lecture notes 003, eqs. (1) to (5): two flexible bodies, the relative position of two of whose
points is prescribed.
"""

import numpy as np
from matplotlib.figure import Figure
from models import Beam
from page import Study, difference, vanishes

import flexmbs as fm
from flexmbs.motions import Ball, Slide

# shapes at the tip
BEAM, TIP = Beam(), np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
F = [fm.Sine(0.25, 0.5, phase=0.5 * np.pi), fm.Sine(0.25, 0.5), fm.Sine(0.1, 1.0, phase=0.3)]


def beams(prescribed: bool) -> fm.Model:
    """Two floating beams; at the tip of j a ball that keeps the world's axes, in which r_i − r_j =
    f(t), or a spherical joint.
    """
    model = fm.Model("two beams", gravity=(0, 0, 0))
    for name in "ij":
        model.add(
            fm.FlexibleBody(
                name, data=BEAM.data(name, 1e-3), qf0=(0.03, -0.01, 0.02), qf_dot0=(0.3, 0.2, -0.4)
            )
        )
    model.add(
        fm.Free(
            "place j",
            "ground",
            "j",
            q0=(0, 0, 0, np.cos(0.2), 0, 0, np.sin(0.2)),
            v0=(0.4, 0.1, 0, 0.5, -0.3, 0.8),
        )
    )
    if not prescribed:
        model.add(fm.Spherical("joint", "j/tip", "i/tip"))
        return model
    model.add(fm.RigidBody("ball", mass=0.1, inertia=(1e-4, 1e-4, 1e-4)))
    model.add(fm.Translation("world axes", "ground", "ball"))
    model.add(fm.Spherical("seat", "j/tip", "ball"))
    model.add(
        fm.Chain("offset", "ball", "i/tip", motions=(Slide("x"), Slide("y"), Slide("z"), Ball()))
    )
    for k, law in enumerate(F):
        model.add(fm.Drive(f"f{k}", "offset", law, coordinate=k))
    return model


def point(
    run: fm.Solution, k: int, name: str, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position of the tip, L = [A, −Aũ, Aφ], and the part of its acceleration without ẏ, for y =
    (v, ω, q̇_f) in body axes.
    """
    body, (v, w, rate) = run.body(name), np.split(y, [3, 6])
    A, qf = body.rotation[k], body.elastic[k]
    u = np.array([1.0, 0.0, 0.0]) + TIP @ qf
    bias = np.cross(w, v) + np.cross(w, np.cross(w, u)) + 2.0 * np.cross(w, TIP @ rate)
    return (
        body.position[k] + A @ u,
        A @ np.hstack([np.eye(3), np.cross(np.eye(3), u).T, TIP]),
        A @ bias,
    )


def study() -> Study:
    model, k = beams(True), 70
    run = fm.simulate(
        model, t_end=2.0, output_step=0.02, rtol=1e-9, atol=1e-11, formalism="multiplier"
    )
    terms = fm.matrices(model, start=fm.state_of(run, run.t[k]), coordinates="absolute")
    y = {name: terms.state.s[terms.columns[name]] for name in "ij"}
    (r_i, L_i, b_i), (r_j, L_j, b_j) = (point(run, k, name, y[name]) for name in "ij")
    f, fd, fdd = np.array([law.state(run.t[k]) for law in F]).T
    drives, seat = np.concatenate([terms.rows[f"f{n}"] for n in range(3)]), terms.rows["seat"]
    # the ball drops out
    G, gamma, gamma_bar = (x[drives] + x[seat] for x in (terms.G, terms.gamma, terms.gamma_bar))
    identities = {
        "g = r_i − r_j − f(t) = 0, (1)": vanishes(r_i - r_j - f),
        "G = [L_i, −L_j], (3)": difference(
            G[:, [*terms.columns["i"], *terms.columns["j"]]], np.hstack([L_i, -L_j])
        ),
        "L_i y_i − L_j y_j = ḟ, (4)": difference(L_i @ y["i"] - L_j @ y["j"], fd),
        "γ̄ = −∂f/∂t": difference(gamma_bar, -fd),
        "γ̿ of (5)": difference(gamma, fdd - b_i + b_j),
    }
    ball, terms = (
        fm.simulate(beams(False), t_end=1e-3),
        fm.matrices(beams(False), coordinates="absolute"),
    )
    L_i, L_j = (point(ball, 0, name, terms.state.s[terms.columns[name]])[1] for name in "ij")
    L, G = np.hstack([L_i, -L_j]), terms.G[:, [*terms.columns["i"], *terms.columns["j"]]]
    Q = G @ np.linalg.pinv(L)
    identities["f = 0: rows of a spherical joint, G = Q [L_i, −L_j]"] = difference(Q @ L, G)
    identities["QᵀQ = 1"] = difference(Q.T @ Q, np.eye(3))
    tips = run.frame("i/tip").position - run.frame("j/tip").position

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for k, light in ((0, 1.0), (40, 0.6), (80, 0.3)):
            for n, body in enumerate(map(run.body, "ij")):
                x, qf = np.linspace(0.0, 1.0, 30), body.elastic[k]
                line = (
                    body.position[k]
                    + np.column_stack([x, qf[0] * x**2 + qf[1] * x**3, qf[2] * x**2])
                    @ body.rotation[k].T
                )
                left.plot(*line.T[:2], color=f"C{n}", linewidth=3, alpha=light)
            left.plot(
                *np.array([run.frame(f"{name}/tip").position[k] for name in "ij"]).T[:2],
                "o-",
                color="C3",
                alpha=light,
            )
        left.set(
            aspect="equal",
            xlabel="x (m)",
            ylabel="y (m)",
            title="i (blue), j at 0, 0.8, 1.6 s",
            xlim=(-0.8, 1.8),
        )
        right.plot(
            run.t, [[law.state(t)[0] for law in F] for t in run.t], label=["f_x", "f_y", "f_z"]
        )
        right.plot(run.t[::5], tips[::5], "o", markersize=3, color="#1d2733")
        right.set(
            xlabel="time (s)",
            title="Prescribed f(t), r_i − r_j of the run (dots) (m)",
            ylim=(-0.28, 0.36),
        )
        right.legend(ncol=3)

    return Study(identities, {"γ̿ at 1.4 s (m/s²)": gamma}, draw, 3.8)

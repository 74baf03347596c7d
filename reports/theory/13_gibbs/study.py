"""Lecture notes 002, section 5.4.3 with eqs. (5.6) to (5.13): a rigid body by Gibbs' function;
heavy top in quasi-velocities.
"""

import numpy as np
from matplotlib.figure import Figure
from page import Study, difference
from scipy.integrate import solve_ivp

import flexmbs as fm
from flexmbs.motions import Rotate

# C: centre of mass from the tip; Θ about the centre
M, C, THETA, G = 2.0, 0.3, np.array([0.25, 0.25, 0.04]), 9.81
ABOUT_TIP = THETA + M * C**2 * np.array([1.0, 1.0, 0.0])
Q0, ETA0, END = (0.0, 0.7, 0.0), (0.0, 0.0, 80.0), 2.0


def B_sigma(q: np.ndarray, t: float) -> np.ndarray:
    """Angular velocity in the axes of the top over the rates of precession, nutation and spin."""
    _, nutation, spin = q
    s, c = np.sin(nutation), np.cos(nutation)
    return np.array(
        [
            [s * np.sin(spin), np.cos(spin), 0.0],
            [s * np.cos(spin), -np.sin(spin), 0.0],
            [c, 0.0, 1.0],
        ]
    )


def top() -> fm.Model:
    """Its tip on the ground by three rotations about z, x, z."""
    model = fm.Model("heavy top", gravity=(0, 0, -G))
    model.add(fm.RigidBody("top", mass=M, inertia=tuple(THETA), com=(0, 0, C)))
    model.add(fm.Chain("tip", "ground", "top", motions=[Rotate(a) for a in "zxz"], q0=Q0, v0=ETA0))
    return model


def euler(t: float, x: np.ndarray) -> np.ndarray:
    """(β, σ)˙ by Newton–Euler: β̇ = B_σ⁻¹ σ, Θ ω̇ + ω × Θω = c × Aᵀ m g."""
    q, w = x[:3], x[3:]
    # the axis of precession is vertical
    torque = np.cross([0.0, 0.0, C], -M * G * B_sigma(q, t)[:, 0])
    return np.concatenate(
        [np.linalg.solve(B_sigma(q, t), w), (torque - np.cross(w, ABOUT_TIP * w)) / ABOUT_TIP]
    )


def study() -> Study:
    v, w, force, moment = (
        np.array(x)
        for x in ((0.4, -0.3, 0.8), (3.0, -2.0, 5.0), (4.0, 1.0, -2.0), (0.3, -0.6, 0.2))
    )
    model = fm.Model("free body", gravity=(0, 0, 0))
    model.add(fm.RigidBody("body", mass=M, inertia=tuple(THETA)))
    model.add(fm.Free("motion", "ground", "body", v0=(*v, *w)))
    model.add(
        fm.FrameForce("pull", "body", force=tuple(force), torque=tuple(moment), axes="follower")
    )
    S, rates = fm.gibbs(model), np.array([1.0, -2.0, 0.5, 0.7, 1.5, -0.4])  # any (v̇, ω̇)
    a, eps = rates[:3] + np.cross(w, v), rates[3:]
    spin = np.cross(w, THETA * w)
    value = (
        0.5 * M * (a @ a - np.cross(w, v) @ np.cross(w, v)) + 0.5 * eps @ (THETA * eps) + eps @ spin
    )
    options = {
        "t_end": END,
        "output_step": 0.01,
        "integrator": fm.DormandPrince(rtol=1e-11, atol=1e-12),
    }
    quasi = fm.simulate(top(), formalism=fm.Embedding(quasi_velocities=B_sigma), **options)
    plain = fm.simulate(top(), **options)
    x0 = [*Q0, *(B_sigma(np.array(Q0), 0.0) @ ETA0)]
    hand = solve_ivp(euler, (0, END), x0, method="DOP853", t_eval=quasi.t, rtol=1e-12, atol=1e-12).y
    q, s = quasi.joint("tip").position, quasi.joint("tip").velocity
    sigma = np.array([B_sigma(a, 0.0) @ b for a, b in zip(q, s)])
    identities = {
        "S = ½ m a_S² + ½ ε·Θε + ε·(ω × Θω) + …": difference(
            S.value(rates) - S.value(0.0 * rates), value
        ),
        "∂S/∂a_S = m a_S": difference(S.derivative(rates)[:3], M * a),
        "∂S/∂ε = Θε + ω × Θω": difference(S.derivative(rates)[3:], THETA * eps + spin),
        "Π = (F, M_S)": difference(S.quasi_forces, [*force, *moment]),
        "m a_S = F, Θε + ω × Θω = M_S at σ̇ of the motion": difference(
            S.derivative(S.rates), [*force, *moment]
        ),
        "top, embedding in σ = B_σ(q)β̇ against Newton–Euler by hand": difference(q, hand[:3].T),
        "top, joint coordinates against Newton–Euler by hand": difference(
            plain.joint("tip").position, hand[:3].T
        ),
        "σ = B_σ(q)β̇ of the run is ω in body axes": difference(sigma, hand[3:].T),
    }
    numbers = {"angles at 2 s (rad)": q[-1], "ω at 2 s, body axes (rad/s)": sigma[-1]}

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(0.8, 1.0))
        for angles, style, name in (
            (hand[:3].T, "-", "Newton–Euler"),
            (q[::4], ".", "embedding in σ"),
        ):
            left.plot(
                np.sin(angles[:, 1]) * np.sin(angles[:, 0]),
                -np.sin(angles[:, 1]) * np.cos(angles[:, 0]),
                style,
                label=name,
            )
        left.set(aspect="equal", xlabel="x", ylabel="y", title="Axis of the top from above")
        left.legend(loc="lower left", fontsize=8)
        for k, name in enumerate("xy"):
            right.plot(quasi.t, sigma[:, k], label=f"σ{k + 1} = ω_{name}")
        right.set(xlabel="time (s)", title="Quasi-velocities (rad/s), σ3 is constant", ylim=(-5, 6))
        right.legend(ncol=3)

    return Study(identities, numbers, draw, 3.8)

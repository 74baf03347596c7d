"""Lecture notes 002, section 5.4.3.1: the shopping cart by Lagrange's equations of the first kind,
Routh–Voss, Appell–Gibbs.
"""

import numpy as np
from matplotlib.figure import Figure
from models import M1, M2, L, cart, cart_of_points
from page import Study, difference
from scipy.integrate import solve_ivp

import flexmbs as fm

F1, F2, V, OMEGA, ANGLE, END = -1.2, 3.0, 1.3, 0.9, 0.4, 6.0
PRECISE = fm.DormandPrince(rtol=1e-12, atol=1e-12)
T = np.linspace(0.0, END, 61)


def first_kind(t: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rates of (r₁, r₂, ṙ₁, ṙ₂) and (λ, μ): rod ½(d² − l²) = 0 and wheel (k × d)·ṙ₁ = 0 with d = r₂
    − r₁, by NumPy.
    """
    v = x[4:].reshape(2, 2)
    d, dd = x[2:4] - x[:2], v[1] - v[0]
    across, turning = np.array([-d[1], d[0]]), np.array([-dd[1], dd[0]])
    G = np.array([[*-d, *d], [*across, 0.0, 0.0]])
    whole = np.block([[np.diag([M1, M1, M2, M2]), -G.T], [G, np.zeros((2, 2))]])
    found = np.linalg.solve(
        whole, np.concatenate([F1 * d / L, F2 * across / L, [-dd @ dd, -turning @ v[0]]])
    )
    return np.concatenate([x[4:], found[:4]]), found[4:]


def appell_gibbs(t: float, x: np.ndarray) -> list[float]:
    """Rates of (x₁, y₁, φ, σ₁, σ₂): the last two lines of the notes."""
    _, _, angle, u, w = x
    return [
        u * np.cos(angle),
        u * np.sin(angle),
        w,
        (M2 * L * w**2 + F1) / (M1 + M2),
        F2 / (M2 * L) - u * w / L,
    ]


def quasi_velocities(q: np.ndarray, t: float) -> np.ndarray:
    """B_σ(q): σ₁ along the rod, σ₂ = φ̇."""
    return np.array([[np.cos(q[2]), np.sin(q[2]), 0.0], [0.0, 0.0, 1.0]])


def study() -> Study:
    e, n = np.array([[np.cos(ANGLE), np.sin(ANGLE)], [-np.sin(ANGLE), np.cos(ANGLE)]])
    how = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-13, "t_eval": T}
    points = solve_ivp(
        lambda t, x: first_kind(t, x)[0],
        (0, END),
        [0, 0, *L * e, *V * e, *(V * e + OMEGA * L * n)],
        **how,
    ).y
    multipliers = np.array([first_kind(0.0, x)[1] for x in points.T])
    sigma = solve_ivp(appell_gibbs, (0, END), [0, 0, ANGLE, V, OMEGA], **how).y
    model, run = (
        cart(V, OMEGA, (F1, F2), ANGLE),
        {"t_end": END, "output_step": T[1], "integrator": PRECISE},
    )
    routh = fm.simulate(model, formalism="multiplier", **run)
    embedded = fm.simulate(model, formalism=fm.Embedding(quasi_velocities=quasi_velocities), **run)
    q, s, tip = routh.joint("floor").position, routh.joint("floor").velocity, routh.frame("rod/end")
    along = np.column_stack([np.cos(q[:, 2]), np.sin(q[:, 2])])
    rod_force = M2 * np.einsum("ti,ti->t", tip.acceleration[:, :2], along)
    free, first = (
        fm.simulate(m, **run)
        for m in (cart(V, OMEGA, (0, 0), ANGLE), cart_of_points(V, OMEGA, ANGLE))
    )
    S = fm.gibbs(model, velocities=["floor.0", "floor.2"])
    identities = {
        "Routh–Voss against Appell–Gibbs by hand: x₁, y₁, φ": difference(q, sigma[:3].T),
        "Embedding in σ = B_σ(q)q̇ against Appell–Gibbs by hand": difference(
            embedded.joint("floor").position, sigma[:3].T
        ),
        "first kind by hand: r₁": difference(points[:2].T, q[:, :2]),
        "first kind by hand: r₂": difference(points[2:4].T, tip.position[:, :2]),
        "free cart, first kind in the program: r₂": difference(
            first.q[:, 3:5], free.frame("rod/end").position[:, :2]
        ),
        "free cart: μl of the first kind = μ of Routh–Voss": difference(
            first.coupling("wheel").multiplier * L, free.lam[:, 0]
        ),
        "σ₁ = ẋ₁ cos φ + ẏ₁ sin φ, σ₂ = φ̇": difference(
            [np.sum(s[:, :2] * along, axis=1), s[:, 2]], sigma[3:]
        ),
        "wheel force: μl of the first kind = μ of Routh–Voss": difference(
            multipliers[:, 1] * L, routh.lam[:, 0]
        ),
        "rod force: λl of the first kind = m₂ a₂ along the rod": difference(
            multipliers[:, 0] * L, rod_force
        ),
        "∂S/∂σ̇ = Π = (F₁/cos φ, F₂ l) of σ = (ẋ₁, φ̇)": difference(
            S.derivative(S.rates), [F1 / np.cos(ANGLE), F2 * L]
        ),
    }
    numbers = {
        "place of the wheel and heading at 6 s (m, m, rad)": q[-1],
        "μ at 0 and 6 s (N)": routh.lam[[0, -1], 0],
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        left.plot(*q.T[:2], label="wheel, Routh–Voss")
        left.plot(
            *embedded.joint("floor").position.T[:2, ::4],
            "o",
            markersize=4,
            label="wheel, embedding in σ",
        )
        left.plot(*points[2:4], color="C2", label="second mass, first kind")
        left.set(aspect="equal", xlabel="x (m)", ylabel="y (m)", title="Paths")
        left.legend()
        right.plot(T, routh.lam[:, 0], label="μ, Routh–Voss")
        right.plot(T[::3], L * multipliers[::3, 1], "o", markersize=4, label="μl, first kind")
        right.plot(T, rod_force, label="rod, m₂ a₂ along it")
        right.plot(T[::3], L * multipliers[::3, 0], "o", markersize=4, label="λl, first kind")
        right.legend()
        right.set(xlabel="time (s)", title="Forces of wheel and rod (N)")

    return Study(identities, numbers, draw, 3.8)

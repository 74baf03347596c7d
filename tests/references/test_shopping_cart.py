"""The shopping cart: two masses on a rod, the first on a wheel that rolls along the rod; pushed
along and across the rod.

(m₁ + m₂) σ̇₁ − m₂ l σ₂² = F₁,  m₂ l σ₁ σ₂ + m₂ l² σ̇₂ = F₂ l,  ẋ₁ = σ₁ cos φ, ẏ₁ = σ₁ sin φ, φ̇ =
σ₂ (Appell–Gibbs), F₁ along the rod on the first mass, F₂ across it on the second. Steady at σ₁ = v,
σ₂ = ω with F₁ = −m₂ l ω², F₂ = m₂ v ω.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmbs as fm

M1, M2, L = 2.0, 3.0, 0.7
WHOLE = M1 + M2
TIGHT = fm.DormandPrince(rtol=1e-12, atol=1e-12)


def cart(v: float, omega: float, forces: tuple[float, float], *, angle: float = 0.4) -> fm.Model:
    """One rigid rod with both masses: Routh–Voss in x₁, y₁, φ."""
    model = fm.Model("cart", gravity=(0.0, 0.0, 0.0))
    about = M1 * M2 / WHOLE * L**2
    rod = fm.RigidBody(
        "rod",
        mass=WHOLE,
        com=(M2 * L / WHOLE, 0, 0),
        inertia=(0, about, about),
        frames={"end": (L, 0, 0)},
    )
    model.add(rod)
    v0 = (v * np.cos(angle), v * np.sin(angle), omega)
    model.add(fm.Planar("floor", "ground", "rod", q0=(0, 0, angle), v0=v0))
    model.add(fm.KnifeEdge("wheel", "ground", "rod"))
    model.add(fm.FrameForce("along", "rod", force=(forces[0], 0, 0), axes="follower"))
    model.add(fm.FrameForce("across", "rod/end", force=(0, forces[1], 0), axes="follower"))
    return model


def appell_gibbs(t: float, x: np.ndarray, F1: float, F2: float) -> list[float]:
    """(x₁, y₁, φ, σ₁, σ₂)˙"""
    _, _, angle, u, w = x
    return [
        u * np.cos(angle),
        u * np.sin(angle),
        w,
        (M2 * L * w**2 + F1) / WHOLE,
        F2 / (M2 * L) - u * w / L,
    ]


def first_kind(t: float, x: np.ndarray, F1: float, F2: float) -> np.ndarray:
    """(r₁, r₂, ṙ₁, ṙ₂)˙ of two point masses with λ of the rod |r₂ − r₁|² = l² and μ of the wheel (k
    × d)·ṙ₁ = 0, d = r₂ − r₁.
    """
    r, v = x[:4].reshape(2, 2), x[4:].reshape(2, 2)
    d, dd = r[1] - r[0], v[1] - v[0]
    across, turning = np.array([-d[1], d[0]]), np.array([-dd[1], dd[0]])
    G = np.array([[*-d, *d], [*across, 0.0, 0.0]])
    gamma = np.array([-dd @ dd, -turning @ v[0]])
    M = np.diag([M1, M1, M2, M2])
    k = np.concatenate([F1 * d, F2 * across]) / L
    whole = np.block([[M, -G.T], [G, np.zeros((2, 2))]])
    return np.concatenate([x[4:], np.linalg.solve(whole, np.concatenate([k, gamma]))[:4]])


FORCES, START, END = (1.1, 0.7), (1.3, 0.9), 3.0


@pytest.mark.parametrize("formalism", ["multiplier", "embedding"])
def test_three_formulations_give_one_motion(formalism: str) -> None:
    """Lagrange's equations of the first kind on points, Routh–Voss or the embedding on the rod,
    Appell–Gibbs in σ.
    """
    options = {
        "method": "DOP853",
        "rtol": 1e-13,
        "atol": 1e-14,
        "t_eval": np.linspace(0.0, END, 31),
    }
    (v, omega), angle = START, 0.4
    e = np.array([np.cos(angle), np.sin(angle)])
    n = np.array([-e[1], e[0]])
    gibbs = solve_ivp(appell_gibbs, (0.0, END), [0, 0, angle, v, omega], args=FORCES, **options).y
    points = solve_ivp(
        first_kind,
        (0.0, END),
        [0, 0, *(L * e), *(v * e), *(v * e + omega * L * n)],
        args=FORCES,
        **options,
    ).y
    found = fm.simulate(
        cart(*START, FORCES), t_end=END, output_step=0.1, formalism=formalism, integrator=TIGHT
    )
    np.testing.assert_allclose(found.joint("floor").position.T, gibbs[:3], atol=1e-10)
    np.testing.assert_allclose(points[:2], gibbs[:2], atol=1e-10)
    np.testing.assert_allclose(
        points[2:4], gibbs[:2] + L * np.array([np.cos(gibbs[2]), np.sin(gibbs[2])]), atol=1e-10
    )


@pytest.mark.parametrize(("v", "omega"), [(1.3, 0.9), (2.0, -0.6), (0.0, 0.9)])
def test_steady_motion_and_its_eigenvalues(v: float, omega: float) -> None:
    """λ² + (v/l) λ + 2 m₂ ω²/(m₁ + m₂) = 0 about it, a centre at v = 0; three zeros or ±iω of place
    and heading.
    """
    model = cart(v, omega, (-M2 * L * omega**2, M2 * v * omega))
    linear = fm.linearize(model)
    u, w = fm.matrices(model).velocities, fm.state(model)
    assert len(u) == 3
    assert abs(w.sd[2]) < 1e-13
    assert np.hypot(*w.sd[:2]) == pytest.approx(abs(v * omega), abs=1e-13)
    assert linear.steady
    assert linear.velocities == ("floor.vx", "floor.wz")
    np.testing.assert_allclose(
        linear.A[3:, 3:], [[0.0, 2.0 * M2 * L * omega / WHOLE], [-omega / L, -v / L]], atol=1e-9
    )
    expected = np.concatenate(
        [np.roots([1.0, v / L, 2.0 * M2 * omega**2 / WHOLE]), [0.0, 1j * omega, -1j * omega]]
    )
    found = np.linalg.eigvals(linear.A)
    np.testing.assert_allclose(
        np.sort_complex(found.round(9)), np.sort_complex(expected.round(9)), atol=1e-8
    )


def test_another_force_is_not_steady() -> None:
    model = cart(1.3, 0.9, (-M2 * L * 0.81 + 0.5, M2 * 1.3 * 0.9))
    assert fm.state(model).sd[2] == pytest.approx(0.0, abs=1e-13)
    assert not fm.linearize(model).steady


def test_centre_without_forward_speed() -> None:
    """At v = 0 the cart swings about turning on the spot, with the period of the linear centre, and
    neither grows nor decays to first order in its amplitude."""
    omega, push = 0.9, 1e-3
    model = cart(push, omega, (-M2 * L * omega**2, 0.0))
    rate = np.sqrt(2.0 * M2 / WHOLE) * omega
    periods = 5
    found = fm.simulate(
        model,
        t_end=periods * 2.0 * np.pi / rate,
        output_step=2.0 * np.pi / rate / 40,
        integrator=TIGHT,
    )
    angle, velocity = found.joint("floor").position[:, 2], found.joint("floor").velocity
    forward = velocity[:, 0] * np.cos(angle) + velocity[:, 1] * np.sin(angle)
    np.testing.assert_allclose(forward, push * np.cos(rate * found.t), atol=3.0 * push**2 * periods)
    sizes = [np.abs(forward[40 * k : 40 * k + 41]).max() for k in range(periods)]
    assert max(sizes) / min(sizes) - 1.0 < 30.0 * push

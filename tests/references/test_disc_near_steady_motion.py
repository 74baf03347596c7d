"""Small motions of a thin rolling disc about steady ones: upright, and leaning on a circle.

Upright with spin ω: −λ² = 12/5 ω² − 4g/(5r) of the lean. Leaning: Newton's and Euler's equations in
the frame that does not spin (e₁ along the track, e₂ up the disc's plane, e₃ the axle), with the
force at the contact eliminated: d/dt(Iω) + m r e₂ × (v̇ + g k) = 0, v = r ω × e₂, k = sin θ e₂ +
cos θ e₃, θ̇ = ω₁, Ω = (ω₁, ω₂, ω₂ cot θ).
"""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.motions import Rotate, Slide

G, RADIUS = 9.81, 0.5
INERTIA = np.array([RADIUS**2 / 4, RADIUS**2 / 4, RADIUS**2 / 2])


def disc(centre: tuple[float, float, float], lean: float, velocity: tuple[float, ...]) -> fm.Model:
    """Axle along y of the disc, yaw, lean about the track and spin behind each other; 1 kg."""
    model = fm.Model("disc", gravity=(0.0, 0.0, -G))
    model.add(fm.RigidBody("disc", mass=1.0, inertia=INERTIA[[0, 2, 1]]))
    motions = [Slide(a) for a in "xyz"] + [Rotate(a) for a in "zxy"]
    model.add(
        fm.Chain(
            "place", "ground", "disc", motions=motions, q0=(*centre, 0.0, lean, 0.3), v0=velocity
        )
    )
    model.add(fm.RollingDisc("contact", "ground", "disc", radius=RADIUS))
    return model


@pytest.mark.parametrize("spin", [0.0, 2.0, 3.0, 8.0])
def test_upright(spin: float) -> None:
    linear = fm.linearize(disc((0.0, 0.0, RADIUS), 0.0, (spin * RADIUS, 0.0, 0.0, 0.0, 0.0, spin)))
    assert (len(linear.coordinates), len(linear.velocities), linear.steady) == (5, 3, True)
    squared = -12.0 / 5.0 * spin**2 + 4.0 * G / (5.0 * RADIUS)
    expected = np.sqrt(complex(squared)) * np.array([1.0, -1.0])
    found = np.linalg.eigvals(linear.A)
    nearest = np.argmin(np.abs(found[:, None] - expected), axis=0)
    np.testing.assert_allclose(found[nearest], expected, atol=1e-8)
    assert np.abs(np.delete(found, nearest)).max() < 1e-5


def rates(x: np.ndarray) -> np.ndarray:
    """(θ, ω₁, ω₂, ω₃)˙"""
    theta, w = x[0], x[1:]
    frame = np.array([w[0], w[1], w[1] / np.tan(theta)])
    e2, k = np.array([0.0, RADIUS, 0.0]), np.array([0.0, np.sin(theta), np.cos(theta)])

    def balance(wd: np.ndarray) -> np.ndarray:
        v, vd = np.cross(w, e2), np.cross(wd, e2)
        return (
            INERTIA * wd
            + np.cross(frame, INERTIA * w)
            + np.cross(e2, vd + np.cross(frame, v) + G * k)
        )

    rest = balance(np.zeros(3))
    M = np.column_stack([balance(e) - rest for e in np.eye(3)])
    return np.array([w[0], *np.linalg.solve(M, -rest)])


@pytest.mark.parametrize(("lean", "circle"), [(20.0, 2.0), (35.0, 0.8)])
def test_leaning_on_a_circle(lean: float, circle: float) -> None:
    """Ω² = g tan α/(3c/2 + r sin α/4), α the lean, c the radius of the centre's circle."""
    a = np.radians(lean)
    turn = np.sqrt(G * np.tan(a) / (1.5 * circle + 0.25 * RADIUS * np.sin(a)))
    spin = turn * circle / RADIUS  # about the axle, the part of the turn along it included
    velocity = (turn * circle, 0.0, 0.0, turn, 0.0, spin + turn * np.sin(a))
    linear = fm.linearize(disc((0.0, -circle, RADIUS * np.cos(a)), -a, velocity))
    assert linear.steady
    steady = np.array([np.pi / 2 - a, 0.0, -turn * np.cos(a), spin])
    assert np.abs(rates(steady)).max() < 1e-12
    h = 1e-4
    near = [[rates(steady + k * h * e) for k in (1, -1, 2, -2)] for e in np.eye(4)]
    expected = np.linalg.eigvals(
        np.array([(8 * (a - b) - c + d) / (12 * h) for a, b, c, d in near]).T
    )
    expected = expected[np.abs(expected) > 1e-3]
    assert len(expected) == 2
    found = np.linalg.eigvals(linear.A)
    np.testing.assert_allclose(
        found[np.argmin(np.abs(found[:, None] - expected), axis=0)], expected, atol=1e-7
    )

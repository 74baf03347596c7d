"""Lecture notes 004, classes of constraints: what the program tells of one model each, and three
unilateral examples.
"""

import numpy as np
from contact_models import (
    BELT,
    BOUNCE,
    HEIGHT,
    LEAN,
    LENGTH,
    MU,
    STIFFNESS,
    G,
    ball,
    block,
    falling_rod,
    skate,
)
from matplotlib.figure import Figure
from page import Study, difference

import flexmbs as fm


def bounces(t: np.ndarray) -> np.ndarray:
    """Height of the ball: parabolas between impacts, each with the speed e times that before."""
    start, speed, z = np.sqrt(2.0 * HEIGHT / G), np.sqrt(2.0 * HEIGHT * G), HEIGHT - 0.5 * G * t**2
    while start < t[-1]:
        speed *= BOUNCE
        z = np.where(t > start, speed * (t - start) - 0.5 * G * (t - start) ** 2, z)
        start += 2.0 * speed / G
    return z


def sliding(t: np.ndarray) -> np.ndarray:
    """Place of the block: with the belt up to x_s = μg/ω², then a swing about x_s with the
    amplitude v/ω.
    """
    omega = np.sqrt(STIFFNESS)
    x_s = MU * G / omega**2
    return np.where(t < x_s / BELT, BELT * t, x_s + BELT / omega * np.sin(omega * (t - x_s / BELT)))


def study() -> Study:
    models = {"ball": (ball(), 2.2), "block": (block(), 1.0), "rod": (falling_rod(), 0.55)}
    method = fm.EventDriven(rtol=1e-10, atol=1e-12)
    runs = {
        name: fm.simulate(model, t_end=t, output_step=t / 220, integrator=method)
        for name, (model, t) in models.items()
    }
    z, x, angle = runs["ball"].q[:, 0], runs["block"].q[:, 1], runs["rod"].q[:, 2]
    rate = 12.0 * G / LENGTH * (np.cos(LEAN) - np.cos(angle)) / (1.0 + 3.0 * np.sin(angle) ** 2)
    identities = {
        "ball: parabolas with γ⁺ = −eγ⁻ at each impact": difference(z, bounces(runs["ball"].t)),
        "block: sticks up to kx = μmg, then swings": difference(x, sliding(runs["block"].t)),
        "rod: φ̇² = 12g/l (cos φ₀ − cos φ)/(1 + 3 sin²φ)": difference(
            runs["rod"].s[:, 2] ** 2, rate
        ),
        "rod: g = z − ½ l cos φ = 0": difference(runs["rod"].q[:, 1], 0.5 * LENGTH * np.cos(angle)),
    }
    v, lines = runs["ball"].s[:, 0], []
    impacts = int(np.sum((v[:-1] < 0.0) & (v[1:] > 0.0)))
    for model in (ball(), block(), falling_rod(), skate()):
        lines += [model.name, *(f"  {line}" for line in model.check().classes)]

    def draw(figure: Figure) -> None:
        left, middle, right = figure.subplots(1, 3)
        left.plot(runs["ball"].t, z)
        left.set(xlabel="time (s)", title="Impact: height of a ball (m)")
        middle.plot(runs["block"].t, 1e3 * x, label="block")
        middle.plot(runs["block"].t[:60], 1e3 * BELT * runs["block"].t[:60], ":", label="belt")
        middle.set(xlabel="time (s)", title="Stick, then slip: place (mm)", ylim=(-20, 220))
        middle.legend()
        for k in range(0, 221, 44):
            tip = 0.5 * LENGTH * np.array([np.sin(angle[k]), np.cos(angle[k])])
            right.plot(
                [-tip[0], tip[0]],
                [0.0, 2.0 * tip[1]],
                "o-",
                color="C0",
                markersize=3,
                alpha=0.3 + 0.7 * k / 220,
            )
        right.set(aspect="equal", xlabel="x (m)", title="Falling rod, 0 … 0.55 s")

    return Study(
        identities, {"impacts of the ball within 2.2 s": impacts}, draw, 3.0, "\n".join(lines)
    )

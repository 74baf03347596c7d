"""Four-bar with two flexible links, under every formalism, against SciPy on the dense equations."""

import functools

import numpy as np
import pytest
from rods import rod
from scipy.integrate import solve_ivp

import flexmbs as fm
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.formalisms import FORMALISMS
from flexmbs.initial.initial_state import consistent_state
from flexmbs.motions import Ball, Slide

T_END = 0.5
EXPLICIT = fm.DormandPrince(rtol=1e-9, atol=1e-9)
IMPLICIT = fm.GeneralizedAlpha(rho_inf=0.9, step=1e-4, newton_tolerance=1e-10)
CRANK, ROD, ROCKER, BASE = 0.25, 0.8, 0.6, 0.7


def four_bar() -> fm.Model:
    """Rigid crank, soft rod and rocker in the x-y plane, the last pin without redundant rows; the
    crank starts with 6 rad/s.
    """
    model = fm.Model("flexible four-bar", gravity=(0, -9.81, 0), frames={"far": (BASE, 0, 0)})
    crank = fm.RigidBody(
        "crank",
        mass=0.5,
        inertia=(1e-4, 3e-3, 3e-3),
        com=(CRANK / 2, 0, 0),
        frames={"end": (CRANK, 0, 0)},
    )
    parts = [model.add(crank)]
    for name, length, mass in (("rod", ROD, 0.8), ("rocker", ROCKER, 0.6)):
        data = rod(mass=mass, length=length, bending=6.0)
        parts.append(model.add(fm.FlexibleBody(name, data=data)))
    angle, rod_angle, rocker_angle = positions(1.2)
    model.add(fm.Revolute("main", model.ground, parts[0], q0=angle, v0=6.0))
    model.add(fm.Revolute("pin", parts[0]["end"], parts[1]["root"], q0=rod_angle - angle))
    turn = rocker_angle - rod_angle
    ball = (0.0, np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2))
    model.add(fm.Revolute("foot", model.ground["far"], parts[2]["root"], q0=rocker_angle))
    model.add(
        fm.Chain("knee", parts[1]["tip"], parts[2]["tip"], motions=(Slide("z"), Ball()), q0=ball)
    )
    model.add(fm.JointSpring("brake", "foot", c=0.05))
    return model


def positions(angle: float) -> tuple[float, float, float]:
    """Angles of crank, rod and rocker of the undeformed four-bar."""
    tip = CRANK * np.array([np.cos(angle), np.sin(angle)])
    way = np.array([BASE, 0.0]) - tip
    span = np.hypot(*way)
    rod_angle = np.arctan2(way[1], way[0]) + np.arccos(
        (ROD**2 + span**2 - ROCKER**2) / (2 * ROD * span)
    )
    knee = tip + ROD * np.array([np.cos(rod_angle), np.sin(rod_angle)])
    return angle, float(rod_angle), float(np.arctan2(knee[1], knee[0] - BASE))


@functools.cache
def dense_solution() -> dict[str, np.ndarray]:
    """Final coordinates of the tree by joint and of the modes by body: ẏ from the dense bordered
    matrix, DOP853 at 1e-11.
    """
    compiled, start = consistent_state(four_bar())
    work = make_work(compiled.system, start.beta)
    n = len(start.q)
    assert n == len(start.s)  # the tree has revolute joints only: q̇ = s

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        e = terms(compiled.system, work, t, y[:n], y[n:])
        matrix = np.block([[e.M, -e.G.T], [e.G, np.zeros((len(e.g), len(e.g)))]])
        return np.concatenate([y[n:], np.linalg.solve(matrix, np.concatenate([e.k, e.gamma]))[:n]])

    found = solve_ivp(
        rate,
        (0.0, T_END),
        np.concatenate([start.q, start.s]),
        method="DOP853",
        rtol=1e-11,
        atol=1e-11,
    )
    end = found.y[:n, -1]
    parts, at = {}, 0
    for primary in compiled.topology.tree:
        size = 0 if primary.body not in compiled.data else compiled.data[primary.body].nf
        parts[str(primary.joint)], parts[primary.body] = (
            end[at : at + 1],
            end[at + 1 : at + 1 + size],
        )
        at += 1 + size
    return parts


def check(solution: fm.Solution, tolerance: float) -> None:
    expected = dense_solution()
    for joint in ("main", "pin", "foot"):
        np.testing.assert_allclose(
            solution.joint(joint).position[-1], expected[joint], rtol=0.0, atol=tolerance
        )
    for body in ("rod", "rocker"):
        assert np.abs(expected[body]).max() > 1e-3
        np.testing.assert_allclose(
            solution.body(body).elastic[-1], expected[body], rtol=0.0, atol=tolerance
        )
    assert np.abs(solution.energy.balance).max() < 10.0 * tolerance * solution.energy.scale


def choices(needs: str) -> list[tuple[str, str]]:
    return [
        (name, each)
        for name, form in FORMALISMS.items()
        for each in form.coordinates
        if needs in form.provides
    ]


@pytest.mark.parametrize(("formalism", "coordinates"), choices("accelerations"))
def test_explicit_steps(formalism: str, coordinates: str) -> None:
    options = {"formalism": formalism, "coordinates": coordinates, "integrator": EXPLICIT}
    check(fm.simulate(four_bar(), t_end=T_END, output_step=0.01, **options), 1e-6)


@pytest.mark.parametrize(("formalism", "coordinates"), choices("residual"))
def test_implicit_steps(formalism: str, coordinates: str) -> None:
    options = {"formalism": formalism, "coordinates": coordinates, "integrator": IMPLICIT}
    check(fm.simulate(four_bar(), t_end=T_END, output_step=0.01, **options), 1e-4)

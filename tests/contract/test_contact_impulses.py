"""The contact problem in numbers: the law of impact and friction holds, no impulse adds energy, the
woodpecker of Glocker.
"""

import json
import math
import pathlib

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from flexmbs._jit import kernel
from flexmbs.integrators.contact_calls import ContactProblem, make_problem
from flexmbs.integrators.contact_problem import NO_SOLUTION, IterationLimits, impact, impulses
from flexmbs.integrators.natural_map import Inclusion
from flexmbs.integrators.redundant_contacts import connected

unit = st.floats(0.0, 1.0)
DATA = pathlib.Path(__file__).parents[1] / "references" / "data" / "woodpecker.json"


LIMITS = IterationLimits(1e-14, 20000)


@kernel
def among(n, problem, limits):
    workspace = problem.workspace
    law = Inclusion(
        n, problem.D, problem.c, problem.mu, workspace.drag, workspace.bound, workspace.rho
    )
    return impulses(law, problem.least, limits, problem.x, workspace)


@kernel
def struck(n, problem, limits):
    return impact(n, problem, limits)


def problem_of(D: np.ndarray, c: np.ndarray, mu: np.ndarray) -> ContactProblem:
    made = make_problem(len(mu))
    connected(made.workspace)
    made.D[:], made.c[:], made.mu[:] = D, c, mu
    return made


def solved(
    D: np.ndarray,
    c: np.ndarray,
    mu: np.ndarray,
    bound: float | np.ndarray = 0.0,
    start: float = 0.0,
) -> np.ndarray:
    problem = problem_of(D, c, mu)
    problem.x[:] = start
    problem.workspace.bound[:] = bound
    sweeps, _ = among(len(mu), problem, LIMITS)
    assert 0 < sweeps < LIMITS.sweeps
    return problem.x


def poisson(D: np.ndarray, c: np.ndarray, e: np.ndarray, mu: np.ndarray) -> np.ndarray:
    problem = problem_of(D, c, mu)
    problem.expansion[:] = e
    sweeps, _ = struck(len(mu), problem, LIMITS)
    assert 0 < sweeps < LIMITS.sweeps
    return problem.x


def violation(
    D: np.ndarray, c: np.ndarray, mu: np.ndarray, p: np.ndarray, bound: np.ndarray | None = None
) -> float:
    """Largest part of ξ and p against the inclusion; ξ_T of slip must be along −p_T."""
    found = 0.0
    least = np.zeros(len(mu)) if bound is None else bound
    for k, friction in enumerate(mu):
        xi, q = (D @ p + c)[3 * k : 3 * k + 3], p[3 * k : 3 * k + 3]
        size, slip = float(np.hypot(*q[1:])), float(np.hypot(*xi[1:]))
        found = max(
            found, -xi[0], least[k] - q[0], abs(xi[0] * (q[0] - least[k])), size - friction * q[0]
        )
        if friction > 0.0 and size < friction * q[0] * (1.0 - 1e-9):
            found = max(found, slip)
        if friction > 0.0 and q[0] > 0.0:
            found = max(found, float(np.hypot(*(friction * q[0] * xi[1:] + slip * q[1:]))))
    return found


@st.composite
def problems(draw, most: int = 3):
    """Masses and rows of random contacts of a body system with n degrees of freedom; friction below
    jamming.
    """
    n, contacts = draw(st.integers(3, 7)), draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    A = rng.normal(size=(n, n))
    W = rng.normal(size=(3 * contacts, n))
    return (
        np.linalg.inv(A @ A.T + n * np.eye(n)),
        W,
        rng.uniform(0.0, 0.5, contacts),
        rng.normal(size=n),
        rng.uniform(0.0, 1.0),
    )


@hypothesis.given(problems(most=1))
@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
def test_one_contact_obeys_its_law(given) -> None:
    inverse, W, mu, v, _ = given
    D, c = W @ inverse @ W.T, W @ v
    assert violation(D, c, mu, solved(D, c, mu)) < 1e-11


def test_slip_is_found_where_two_directions_lie_close_together() -> None:
    """A tumbling box on one corner, μ = 3: slip at 126° would run against itself, that at 142° is
    the answer.
    """
    D = np.array([[1.0254, 0.6145, 0.5715], [0.602, 2.5717, -0.6609], [0.575, -0.6554, 2.4029]])
    c, mu = np.array([-0.1755, -1.0, 0.6807]), np.array([3.0])
    p = solved(D, c, mu)
    assert violation(D, c, mu, p) < 1e-11
    assert math.degrees(math.atan2(-p[2], -p[1])) == pytest.approx(142.5, abs=0.5)


@hypothesis.given(problems())
@hypothesis.settings(max_examples=40, deadline=None, derandomize=True)
def test_impacts_with_friction_never_add_energy(given) -> None:
    """Moreau's law with one coefficient for all contacts and directions (Leine and van de Wouw
    2008, theorem 5.3).
    """
    inverse, W, mu, v, e = given
    D = W @ inverse @ W.T
    c = (1.0 + e) * W @ v
    p = solved(D, c, mu)
    assert violation(D, c, mu, p) < 1e-9
    after = v + inverse @ W.T @ p
    mass = np.linalg.inv(inverse)
    assert after @ mass @ after <= v @ mass @ v * (1.0 + 1e-10)


@hypothesis.given(problems())
@hypothesis.settings(max_examples=40, deadline=None, derandomize=True)
def test_contacts_that_are_pressed_at_least(given) -> None:
    """The phase of expansion: p_N ≥ b, friction within μ p_N where the contact parts too."""
    inverse, W, mu, v, part = given
    D, c = W @ inverse @ W.T, W @ v
    bound = part * np.abs(W @ v)[::3]
    assert violation(D, c, mu, solved(D, c, mu, bound), bound) < 1e-9


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_rod_that_rests_on_one_end_and_strikes_with_the_other(e: float) -> None:
    """Uniform rod, m = 1, end A strikes with −v while B rests, D = [[4, −2], [−2, 4]]: compression
    gives (v/3, v/6). With e_A = 0 Poisson's expansion e v/6 at B throws B up with e v/2, and A is
    pressed by e v/12 more; by Newton B would stay."""
    D, c = np.zeros((6, 6)), np.zeros(6)
    D[::3, ::3] = [[4.0, -2.0], [-2.0, 4.0]]
    c[0] = -3.0
    p = poisson(D, c, np.array([0.0, e]), np.zeros(2))
    np.testing.assert_allclose(p[::3], [1.0 + 0.25 * e, 0.5 * (1.0 + e)], rtol=1e-13)
    np.testing.assert_allclose((D @ p + c)[::3], [0.0, 1.5 * e], atol=1e-13)


@pytest.mark.parametrize(("slip", "mu"), [(1.0, 0.1), (0.2, 0.4), (0.6, 0.1)])
def test_expansion_of_a_ball_that_slips_or_rolls(slip: float, mu: float) -> None:
    """Sphere, m = 1, D = diag(1, 3.5, 3.5), U⁻ = (−1, slip, 0): slip is reduced by 3.5 μ in
    compression and 3.5 μ e in expansion until it rolls."""
    e = 0.5
    p = poisson(
        np.diag([1.0, 3.5, 3.5]), np.array([-1.0, slip, 0.0]), np.array([e]), np.array([mu])
    )
    np.testing.assert_allclose(
        p, [1.0 + e, -min(slip / 3.5, mu * (1.0 + e)), 0.0], rtol=1e-13, atol=1e-15
    )


@hypothesis.given(problems(), unit)
@hypothesis.settings(max_examples=40, deadline=None, derandomize=True)
def test_expansion_without_friction_adds_no_energy(given, e: float) -> None:
    """Poisson's law with any coefficients, no friction (Pfeiffer and Glocker 1996, sect. 8.3)."""
    inverse, W, mu, v, part = given
    D = W @ inverse @ W.T
    p = poisson(D, W @ v, np.linspace(e, part, len(mu)), np.zeros(len(mu)))
    after, mass = v + inverse @ W.T @ p, np.linalg.inv(inverse)
    assert after @ mass @ after <= v @ mass @ v * (1.0 + 1e-10)


def test_two_blocks_of_closed_form() -> None:
    """A ball on a floor, μ = 0.3: slides with p_T = μ p_N, sticks when slow; D = diag(1, 3.5,
    3.5)/m of a full sphere.
    """
    D, mu = np.diag([1.0, 3.5, 3.5]) / 2.0, np.array([0.3])
    np.testing.assert_allclose(
        solved(D, np.array([-1.0, 3.0, 4.0]), mu), [2.0, -0.36, -0.48], rtol=1e-14
    )
    np.testing.assert_allclose(
        solved(D, np.array([-1.0, 0.3, 0.4]), mu), [2.0, -0.6 / 3.5, -0.8 / 3.5], rtol=1e-14
    )
    np.testing.assert_allclose(solved(D, np.array([1.0, 3.0, 4.0]), mu), 0.0)


def test_more_contacts_than_degrees_of_freedom() -> None:
    """A table on four legs: the sum of the impulses and their moments are determined, each impulse
    is not.
    """
    places = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    rows = np.zeros((12, 3))
    rows[::3] = np.column_stack([np.ones(4), places])
    D, c = rows @ rows.T, rows @ np.array([-1.0, 0.1, -0.05])
    p = solved(D, c, np.zeros(4))
    np.testing.assert_allclose(rows.T @ p, [1.0, -0.1, 0.05], atol=1e-11)
    assert p.min() >= 0.0


def test_a_contact_that_cannot_yield_has_no_solution() -> None:
    D = np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    c = np.array([-1.0, 0.0, 0.0, -1.0, 0.0, 0.0])
    assert among(2, problem_of(D, c, np.full(2, 0.3)), IterationLimits(1e-12, 100)) == (
        NO_SOLUTION,
        1,
    )


class Woodpecker:
    """Glocker's toy (1995): sleeve and woodpecker on a pole, q = (y, φM, φS), with linear
    kinematics. Siconos tutorials.
    """

    rO, rM, hM, lM, lG, hS, lS = 0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.02, 0.0201
    mM, mS, JM, JS, c, g = 0.0003, 0.0045, 5e-9, 7e-7, 0.0056, 9.81

    def __init__(self) -> None:
        arm = np.array([1.0, self.lM, self.lG])
        self.M = self.mS * np.outer(arm, arm) + np.diag([self.mM, self.JM, self.JS])
        self.K = self.c * np.array([[0, 0, 0], [0, 1, -1], [0, -1, 1]])
        self.F = -self.g * (self.mS * arm + np.array([self.mM, 0, 0]))
        self.N = np.array([[0, 0, -self.hS], [0, self.hM, 0], [0, -self.hM, 0]])
        self.T = np.array([[1, self.lM, self.lG - self.lS], [1, self.rM, 0], [1, self.rM, 0]])
        self.g0 = np.array(
            [self.lM + self.lG - self.lS - self.rO, self.rM - self.rO, self.rM - self.rO]
        )

    def run(self, t_end: float, h: float) -> np.ndarray:
        """Rows (q, v) after every step of Moreau and Jean's scheme, θ = ½."""
        q, v = np.array([0.0, -0.1036, -0.2788]), np.array([-0.3411, 0.0, -7.4583])
        inverse = np.linalg.inv(self.M + 0.25 * h * h * self.K)
        rows = [np.concatenate([q, v])]
        for _ in range(round(t_end / h)):
            free = v + inverse @ (h * (self.F - self.K @ q) - 0.5 * h * h * (self.K @ v))
            closed = np.flatnonzero(self.g0 + self.N @ (q + 0.5 * h * v) <= 0.0)
            if len(closed):
                W = np.stack(
                    [self.N[closed], self.T[closed], np.zeros((len(closed), 3))], axis=1
                ).reshape(-1, 3)
                c = W @ free
                c[::3] += np.array([0.5, 0.0, 0.0])[closed] * (self.N[closed] @ v)
                free = free + inverse @ W.T @ solved(
                    W @ inverse @ W.T, c, np.full(len(closed), 0.3)
                )
            q, v = q + 0.5 * h * (v + free), free
            rows.append(np.concatenate([q, v]))
        return np.array(rows)


def test_woodpecker_of_the_same_scheme() -> None:
    """Siconos' reference file (Apache-2), h = 2e-5 s, through sticking, slip and the beak's first
    impact at 0.081 s.
    """
    reference = json.loads(DATA.read_text())
    samples = np.array([row for row in reference["samples"] if row[0] <= 0.1 + 1e-9])
    found = Woodpecker().run(0.1, 2e-5)[np.round(samples[:, 0] / 2e-5).astype(int)]
    assert len(samples) == 21
    np.testing.assert_allclose(found[:, :3], samples[:, 1::2], atol=1e-8)
    np.testing.assert_allclose(found[:, 3:], samples[:, 2::2], atol=1e-8)
    assert math.isclose(found[-1, 0], -7.0800975e-3, rel_tol=1e-7)


@pytest.mark.parametrize("mu", [0.0, 0.4])
def test_start_of_the_iteration_does_not_matter(mu: float) -> None:
    rng = np.random.default_rng(7)
    W = rng.normal(size=(6, 6))
    D, c = W @ W.T + np.eye(6), rng.normal(size=6) - 1.0
    both = [solved(D, c, np.full(2, mu), start=start) for start in (0.0, 3.0)]
    np.testing.assert_allclose(*both, atol=1e-12)

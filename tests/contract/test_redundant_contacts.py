"""A thousand redundant contact problems: the law holds, failures only without guaranteed solution,
velocities as by sweeps.
"""

import numpy as np
import pytest
from contact_problems import KINDS, Problem, problem
from scipy.optimize import linprog

from flexmbs._jit import COMPILED, kernel
from flexmbs.integrators.contact_calls import ContactProblem as Contacts
from flexmbs.integrators.contact_calls import make_problem
from flexmbs.integrators.contact_problem import (
    NO_SOLUTION,
    IterationLimits,
    closed_forces,
    impact,
    sweep_over_contacts,
)
from flexmbs.integrators.natural_map import Inclusion
from flexmbs.integrators.redundant_contacts import (
    RedundantWorkspace,
    connected,
    make_workspace,
    redundant,
)

COUNT = 1000 if COMPILED else 15
SWEEPS = 5000
LIMITS = IterationLimits(1e-13, SWEEPS)
# of the velocities, where the contacts are redundant but for tilts that are hardly more than
# round-off
NEARLY = 1e-6


@kernel
def solve(n, problem, limits):
    return impact(n, problem, limits)


@kernel
def swept(law, least, limits, p, workspace):
    return sweep_over_contacts(law, least, limits, p, workspace)


@kernel
def inner(law, goal, p, workspace):
    return redundant(law, goal, goal, p, workspace)


@kernel
def forces(n, problem, limits):
    return closed_forces(n, problem, limits)


def contacts(
    D: np.ndarray, c: np.ndarray, mu: np.ndarray, least: np.ndarray | None = None
) -> Contacts:
    """The problem as the methods of integration give it."""
    made = make_problem(len(mu))
    connected(made.workspace)
    made.D[:], made.c[:], made.mu[:] = D, c, mu
    made.least[:] = 1e-13 * np.diag(D).max() if least is None else least
    return made


def violation(
    D: np.ndarray,
    c: np.ndarray,
    mu: np.ndarray,
    p: np.ndarray,
    bound: np.ndarray,
    drag: np.ndarray | None = None,
) -> float:
    """Natural map of the law in velocities, scaled by the largest of them: independent of the
    solvers.
    """
    x, worst, size = D @ p + c, 0.0, float(np.abs(c).max())
    for k, friction in enumerate(mu):
        o = slice(3 * k, 3 * k + 3)
        xi, q, s = x[o], p[o], 1.0 / np.diag(D)[o].max()
        size = max(size, D[3 * k, 3 * k] * bound[k], 1e-7 * np.abs(q).max() / s)
        held = q[1:] - s * xi[1:]
        slip, most = float(np.hypot(*held)), friction * q[0]
        if drag is not None and friction == 0.0:
            held = drag[k] * q[0]
        elif slip > most:
            held = held * (most / slip)
        worst = max(
            worst, abs(q[0] - max(bound[k], q[0] - s * xi[0])) / s, np.abs(q[1:] - held).max() / s
        )
    return worst / size


def opening(W: np.ndarray, c: np.ndarray, mu: np.ndarray, facets: int = 32) -> float:
    """Largest t ≤ 1 with U_N ≥ μ|U_T| + t for some U = W v + c; where it is positive a solution
    exists (Acary et al. 2011).
    """
    angles = np.arange(facets) * 2.0 * np.pi / facets
    cone = np.stack([-np.ones(facets), np.cos(angles), np.sin(angles)], axis=1)
    parts = [cone * [1.0, friction, friction] for friction in mu]
    A = np.concatenate([part @ W[3 * k : 3 * k + 3] for k, part in enumerate(parts)])
    b = (
        np.concatenate([-part @ c[3 * k : 3 * k + 3] for k, part in enumerate(parts)])
        / np.abs(c).max()
    )
    n = W.shape[1]
    found = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.column_stack([A, np.ones(len(A))]),
        b_ub=b,
        bounds=[(None, None)] * n + [(None, 1)],
    )
    return -float(found.fun)


def solved(given: Problem) -> tuple[int, np.ndarray, np.ndarray]:
    """Steps, impulses of compression, of expansion."""
    made = contacts(given.D, given.c, given.mu)
    made.expansion[:] = given.expansion
    used, _ = solve(len(given.mu), made, LIMITS)
    more = (
        made.workspace.more.copy() if given.expansion.any() and used > 0 else np.zeros(len(made.x))
    )
    return used, made.x - more, more


def test_random_boxes_and_rows() -> None:
    exact, jammed, worst = 0, 0, 0.0
    for seed in range(COUNT):
        given = problem(seed)
        used, p, more = solved(given)
        if not 0 < used < SWEEPS:
            assert opening(given.W, given.c, given.mu) < 1e-9, seed
            assert KINDS[seed % 5] not in ("plane", "stack")
            jammed += 1
            continue
        none = np.zeros(len(given.mu))
        error = violation(given.D, given.c, given.mu, p, none)
        if more.any():
            error = max(
                error,
                violation(given.D, given.c + given.D @ p, given.mu, more, given.expansion * p[::3]),
            )
        assert error < 2.0 * NEARLY, (seed, error)
        exact += error < 1e-11
        worst = max(worst, error)
    assert exact + jammed >= 0.96 * COUNT
    assert jammed <= 0.03 * COUNT


def test_impacts_without_restitution_add_no_energy() -> None:
    for seed in range(COUNT // 4):
        given = problem(seed)
        c = given.W @ given.v
        used, p, _ = solved(given._replace(c=c, expansion=0.0 * given.mu))
        assert 0 < used < SWEEPS
        after, mass = given.v + given.inverse @ given.W.T @ p, np.linalg.inv(given.inverse)
        before = given.v @ mass @ given.v
        assert after @ mass @ after <= before * (1.0 + 1e-6), seed


def test_without_friction_the_velocities_are_those_of_the_sweeps() -> None:
    """Without friction velocities are unique; with it, two solvers may find two solutions."""
    compared = 0
    for seed in range(COUNT // 5):
        given = problem(seed)
        n, workspace = len(given.mu), connected(make_workspace(len(given.mu)))
        D, none = given.D.copy(), np.zeros(n)
        D[1::3], D[2::3], D[:, 1::3], D[:, 2::3] = 0.0, 0.0, 0.0, 0.0
        p, q = np.zeros(3 * n), np.zeros(3 * n)
        law = Inclusion(n, D, given.c, none, workspace.drag, none, workspace.rho)
        used, _ = swept(law, none, LIMITS, p, workspace)
        if not 0 < used < SWEEPS:
            continue
        size = np.abs(given.c).max()
        steps, exists = inner(law, 1e-12 * size, q, workspace)
        assert exists
        if steps > 0:
            compared += 1
            np.testing.assert_allclose(D @ q, D @ p, atol=1e-8 * size, err_msg=str(seed))
    assert compared >= 0.9 * (COUNT // 5)


@pytest.mark.parametrize("friction", [0.1, 0.3])
def test_forces_of_closed_contacts(friction: float) -> None:
    """Sticking and sliding, redundant or not. With large friction sliding may have no solution
    (Painlevé); here it is small.
    """
    unsolved = 0
    for seed in range(COUNT // 4):
        given, rng = problem(seed), np.random.default_rng(seed)
        n = len(given.mu)
        mu = friction * (given.mu > 0.0)
        along = (given.W @ rng.normal(size=given.W.shape[1])).reshape(-1, 3)[:, 1:]
        slip = along / np.linalg.norm(along, axis=1)[:, None]
        slides = rng.integers(0, 2, n) if seed % 3 else np.full(n, seed % 2)
        a = given.W @ rng.normal(size=given.W.shape[1])
        a[np.repeat(mu == 0.0, 3) & (np.arange(3 * n) % 3 > 0)] = 0.0
        made = contacts(given.D, a, mu)
        made.slides[:], made.slip[:] = slides, slip
        used, _ = forces(n, made, LIMITS)
        if not 0 < used < SWEEPS:
            unsolved += 1
            continue
        drag = -(mu * (slides != 0))[:, None] * slip
        assert (
            violation(given.D, a, np.where(slides != 0, 0.0, mu), made.x, np.zeros(n), drag)
            < 2.0 * NEARLY
        ), seed
    assert unsolved <= 0.01 * COUNT


def test_wedged_between_walls_that_both_demand_rebound() -> None:
    """Two opposite walls: impulses would grow without bound."""
    W = np.zeros((6, 3))
    W[0, 0], W[3, 0], W[1, 1], W[4, 1], W[2, 2], W[5, 2] = 1.0, -1.0, 1.0, 1.0, 1.0, 1.0
    c = np.array([-1.0, 0.0, 0.0, -1.0, 0.0, 0.0])
    assert solve(2, contacts(W @ W.T, c, np.full(2, 0.3), np.zeros(2)), LIMITS)[0] == NO_SOLUTION


def test_scratch_is_sized_by_the_contacts() -> None:
    workspace = make_workspace(3)
    assert isinstance(workspace, RedundantWorkspace)
    assert workspace.newton.matrix.shape == (9, 9)

"""The contact problem ξ = D p + c of `flexmbs.integrators.contact_problem`, called by address.

The solvers are long, and compiled once for all methods. Theory: docs/theory.md, section 43.
"""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs._jit.address import address_of, call, entry
from flexmbs.integrators.contact_problem import IterationLimits, closed_forces
from flexmbs.integrators.impacts import SEQUENTIAL
from flexmbs.integrators.redundant_contacts import RedundantWorkspace, connected, make_workspace
from flexmbs.integrators.sequential_impacts import difference, solve_impact_law

IMPACT, FORCES, DIFFERENCE = range(3)  # Problem.kind


class ContactProblem(NamedTuple):
    """Data and solution of a problem of at most n contacts."""

    D: np.ndarray  # (3n, 3n) Delassus operator
    c: np.ndarray  # (3n,) velocities or accelerations without impulses or forces
    x: np.ndarray  # (3n,) impulses or forces, starting from the last ones
    before: np.ndarray  # (3n,) velocities before the impact
    free: np.ndarray  # (3n,) velocities without impulses: after the other forces of the step
    e: np.ndarray  # (n,) coefficients of restitution of Newton's law
    e_t: np.ndarray  # (n,)
    expansion: np.ndarray  # (n,) Poisson's e
    mu: np.ndarray  # (n,)
    held: np.ndarray  # (n,) given normal impulse or force; for dry friction its limit
    least: np.ndarray  # (n,) normal compliance at or below which a contact cannot yield
    slides: np.ndarray  # (n,) int64
    slip: np.ndarray  # (n, 2)
    kind: np.ndarray  # (1,) int64 IMPACT, FORCES or DIFFERENCE
    sequential: np.ndarray  # (1,) int64 1: impacts of several contacts are a sequence of collisions
    kept: np.ndarray  # (3n,)
    spread: np.ndarray  # (1,) difference (m/s) between the laws for simultaneous impacts
    result: np.ndarray  # (2,) int64 sweeps used or `NO_SOLUTION`, the worst contact
    workspace: RedundantWorkspace


def make_problem(n: int, multiple: str | None = None) -> ContactProblem:
    """Allocate a contact problem of n contacts; ``multiple``: law for simultaneous impacts."""
    z = np.zeros
    sequential = np.array([int(multiple == SEQUENTIAL)], np.int64)
    return ContactProblem(
        z((3 * n, 3 * n)),
        z(3 * n),
        z(3 * n),
        z(3 * n),
        z(3 * n),
        z(n),
        z(n),
        z(n),
        z(n),
        z(n),
        z(n),
        z(n, np.int64),
        z((n, 2)),
        z(1, np.int64),
        sequential,
        z(3 * n),
        z(1),
        z(2, np.int64),
        make_workspace(n),
    )


@entry
def solved_at(problem, /, m, tolerance, sweeps):
    """Kernel that solves the problem of the first m contacts: impulses, forces or `difference`."""
    n, limits, kind = int(m), IterationLimits(tolerance, int(sweeps)), problem.kind[0]
    if kind == IMPACT:
        used, worst = solve_impact_law(n, problem, limits)
    elif kind == DIFFERENCE:
        used, worst = difference(n, problem, limits)
    else:
        used, worst = closed_forces(n, problem, limits)
    problem.result[0] = used
    problem.result[1] = worst
    return 0


def solver_of(problem: ContactProblem) -> np.ndarray:
    """Address (1,) of `solved_at`, 0 without contacts.

    The kernel of redundant contacts is compiled too.
    """
    connected(problem.workspace)
    found = np.array(
        [solved_at.address(problem, problem, problem) if len(problem.mu) else 0], np.int64
    )
    found.flags.writeable = False
    return found


@part
def solve(address, problem, kind, m, tolerance, sweeps):
    """Solve the problem of the first m contacts by the kernel at an address.

    Impulses (N s) or forces (N) in ``problem.x``. Returns (sweeps or `NO_SOLUTION`, the worst
    contact).
    """
    place = address_of(problem)
    problem.kind[0] = kind
    call(address, place, place, place, 1.0 * m, tolerance, 1.0 * sweeps)
    return problem.result[0], problem.result[1]

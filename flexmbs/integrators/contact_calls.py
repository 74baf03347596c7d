"""The contact problem behind an address: the solvers are long, and compiled once for all methods."""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs._jit.address import address_of, call, entry
from flexmbs.integrators.contact_problem import closed_forces, impact
from flexmbs.integrators.redundant_contacts import Room, make_room


class Problem(NamedTuple):
    """Data and solution of a problem of at most n contacts."""

    D: np.ndarray  # (3n, 3n) Delassus operator
    c: np.ndarray  # (3n,) velocities or accelerations without impulses or forces
    x: np.ndarray  # (3n,) impulses or forces, from the last ones
    expansion: np.ndarray  # (n,) Poisson's e
    mu: np.ndarray  # (n,)
    least: np.ndarray  # (n,) normal compliance at or below which a contact cannot yield
    slides: np.ndarray  # (n,) int64
    slip: np.ndarray  # (n, 2)
    result: np.ndarray  # (2,) int64 sweeps used or `NO_SOLUTION`, the worst contact
    room: Room


def make_problem(n: int) -> Problem:
    """Zeroed room."""
    z = np.zeros
    return Problem(
        z((3 * n, 3 * n)), z(3 * n), z(3 * n), z(n), z(n), z(n), z(n, np.int64), z((n, 2)), z(2, np.int64), make_room(n)
    )  # fmt: skip


@entry
def impact_at(problem, first, second, m, tolerance, sweeps):
    """`impact` of the first m contacts."""
    used, worst = impact(
        int(m), problem.D, problem.c, problem.expansion, problem.mu, problem.least, tolerance, int(sweeps), problem.x,
        problem.room,
    )  # fmt: skip
    problem.result[0] = used
    problem.result[1] = worst
    return 0


@entry
def forces_at(problem, first, second, m, tolerance, sweeps):
    """`closed_forces` of the first m contacts."""
    used, worst = closed_forces(
        int(m), problem.D, problem.c, problem.slides, problem.slip, problem.mu, problem.least, tolerance, int(sweeps),
        problem.x, problem.room,
    )  # fmt: skip
    problem.result[0] = used
    problem.result[1] = worst
    return 0


@part
def solve(address, problem, m, tolerance, sweeps):
    """The problem of the first m contacts by the kernel at an address. Returns (sweeps or `NO_SOLUTION`, the worst contact)."""
    place = address_of(problem)
    call(address, place, place, place, 1.0 * m, tolerance, 1.0 * sweeps)
    return problem.result[0], problem.result[1]

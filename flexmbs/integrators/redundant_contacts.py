"""Impulses of redundant contacts: an interior-point method first, then splitting; a kernel of its own.

Contacts on more points than a body has freedoms make D singular: impulses are not unique, and sweeps over the contacts converge
slowly or turn in circles.
"""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import called, part
from flexmbs._jit.address import address_of, call, seldom_entry
from flexmbs.integrators.contact_splitting import NO_END, splitting
from flexmbs.integrators.interior_point import interior_point

INTERIOR, FARTHER, SPLITTINGS = 60, 100.0, 2000
ENOUGH = 1e-3  # of what is nearly solved: not worth the slow iteration


class Room(NamedTuple):
    """Scratch of the contact problem, and the problem of redundant contacts that is handed over."""

    drag: np.ndarray  # (n, 2)
    cone: np.ndarray  # (n,)
    bound: np.ndarray  # (n,)
    line: np.ndarray  # (14, 3n)
    matrix: np.ndarray  # (3n, 3n)
    order: np.ndarray  # (3n,) int64
    D: np.ndarray  # (3n, 3n)
    c: np.ndarray  # (3n,)
    mu: np.ndarray  # (n,)
    p: np.ndarray  # (3n,)
    solver: np.ndarray  # (1,) int64 address of `redundant_at`
    result: np.ndarray  # (2,) int64 steps, whether impulses exist


def make_room(n: int) -> Room:
    """Scratch for n contacts."""
    z = np.zeros
    return Room(
        z((n, 2)), z(n), z(n), z((14, 3 * n)), z((3 * n, 3 * n)), z(3 * n, np.int64), z((3 * n, 3 * n)), z(3 * n), z(n), z(3 * n),
        z(1, np.int64), z(2, np.int64),
    )  # fmt: skip


def connected(room: Room) -> Room:
    """Room that knows the kernel of redundant contacts, where there are contacts."""
    if len(room.cone):
        room.solver[0] = redundant_at.address(room, room, room)
    return room


@called
def redundant(n, D, c, mu, drag, bound, goal, nearly, p, room):
    """Impulses p with Φ/ρ within ``goal``, or ``nearly`` where redundancy is broken by little more than round-off.

    Returns (steps, or 0: not found; whether impulses exist).
    """
    kept = room.line[13]
    least = 1e300
    steps = 0
    for attempt in range(3):
        if attempt < 2:
            begin = 1.0 if attempt == 0 else FARTHER
            found, used = interior_point(n, D, c, mu, drag, bound, begin, goal, INTERIOR, p, room)
        else:
            found, used = splitting(n, D, c, mu, drag, bound, goal, SPLITTINGS, p, room)
            if used == NO_END and least > nearly:
                return 0, False
        steps += used
        if found < least:
            least = found
            for a in range(3 * n):
                kept[a] = p[a]
        if least <= goal or (attempt == 1 and least <= ENOUGH * nearly):
            break
    for a in range(3 * n):
        p[a] = kept[a]
    return (steps if least <= nearly else 0), True


@seldom_entry
def redundant_at(room, first, second, m, goal, nearly):
    """`redundant` on the problem of the first m contacts that was handed over."""
    steps, exists = redundant(int(m), room.D, room.c, room.mu, room.drag, room.bound, goal, nearly, room.p, room)
    room.result[0] = steps
    room.result[1] = 1 if exists else 0
    return 0


@part
def solve_redundant(n, D, c, mu, goal, nearly, p, room):
    """`redundant` by address, with the bounds and drags of ``room``."""
    for a in range(3 * n):
        room.c[a] = c[a]
        room.p[a] = p[a]
        for b in range(3 * n):
            room.D[a, b] = D[a, b]
    for k in range(n):
        room.mu[k] = mu[k]
    place = address_of(room)
    call(room.solver[0], place, place, place, 1.0 * n, goal, nearly)
    for a in range(3 * n):
        p[a] = room.p[a]
    return room.result[0], room.result[1] == 1

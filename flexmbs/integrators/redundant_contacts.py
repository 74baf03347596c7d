"""Impulses of redundant contacts: an interior-point method first, then splitting.

They have a kernel of their own. Contacts at more points than a body has degrees of freedom make D =
W M⁻¹ Wᵀ singular: impulses are not unique, and sweeps over the contacts converge slowly or cycle.
Theory: docs/theory.md, section 43.
"""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import called, part
from flexmbs._jit.address import address_of, call, seldom_entry
from flexmbs.integrators.contact_splitting import NO_END, splitting
from flexmbs.integrators.interior_point import InteriorPointStep, Iterate, interior_point
from flexmbs.integrators.natural_map import Inclusion, NewtonWorkspace

INTERIOR, FARTHER, SPLITTINGS = 60, 100.0, 2000
ENOUGH = 1e-3  # residual at which the slow iteration is not worthwhile


class RedundantWorkspace(NamedTuple):
    """Workspace of the contact problem, and the problem of redundant contacts that is passed on."""

    drag: np.ndarray  # (n, 2)
    cone: np.ndarray  # (n,)
    bound: np.ndarray  # (n,)
    rho: np.ndarray  # (n,)
    newton: NewtonWorkspace
    iterate: Iterate  # of the interior-point method
    trial: Iterate
    step: InteriorPointStep
    x: np.ndarray  # (3n,) x, y, z of `splitting`
    y: np.ndarray
    z: np.ndarray
    polished: np.ndarray  # (3n,) impulses that Newton's method improves
    best: np.ndarray  # (3n,) best impulses of a method
    kept: np.ndarray  # (3n,) best impulses of all methods
    later: np.ndarray  # (3n,) c of the phase of expansion
    more: np.ndarray  # (3n,) its impulses
    D: np.ndarray  # (3n, 3n)
    c: np.ndarray  # (3n,)
    mu: np.ndarray  # (n,)
    p: np.ndarray  # (3n,)
    solver: np.ndarray  # (1,) int64 address of `redundant_at`
    result: np.ndarray  # (2,) int64 steps, whether impulses exist


def make_workspace(n: int) -> RedundantWorkspace:
    """Allocate the workspace for n redundant contacts."""
    z, m = np.zeros, 3 * n
    return RedundantWorkspace(
        z((n, 2)),
        z(n),
        z(n),
        z(n),
        NewtonWorkspace(z(m), z(m), z(m), z(m), z((m, m)), z(m, np.int64)),
        Iterate(z(m), z(n), z(n)),
        Iterate(z(m), z(n), z(n)),
        InteriorPointStep(z(m), z(n), z(n), z(n)),
        z(m),
        z(m),
        z(m),
        z(m),
        z(m),
        z(m),
        z(m),
        z(m),
        z((m, m)),
        z(m),
        z(n),
        z(m),
        z(1, np.int64),
        z(2, np.int64),
    )


def connected(workspace: RedundantWorkspace) -> RedundantWorkspace:
    """The workspace with the address of the solver of redundant contacts, if there are contacts."""
    if len(workspace.cone):
        workspace.solver[0] = redundant_at.address(workspace, workspace, workspace)
    workspace.solver.flags.writeable = False
    return workspace


@called
def redundant(law, goal, nearly, p, workspace):
    """Solve redundant contacts for impulses p (3n,), natural map within ``goal``.

    Or within ``nearly`` if the contacts are redundant except for little more than round-off.
    Returns (steps, or 0: not found; whether impulses exist). Theory, section 43.
    """
    kept = workspace.kept
    least = 1e300
    steps = 0
    for attempt in range(3):
        if attempt < 2:
            begin = 1.0 if attempt == 0 else FARTHER
            found, used = interior_point(law, begin, goal, INTERIOR, p, workspace)
        else:
            found, used = splitting(law, goal, SPLITTINGS, p, workspace)
            if used == NO_END and least > nearly:
                return 0, False
        steps += used
        if found < least:
            least = found
            for a in range(3 * law.n):
                kept[a] = p[a]
        if least <= goal or (attempt == 1 and least <= ENOUGH * nearly):
            break
    for a in range(3 * law.n):
        p[a] = kept[a]
    return (steps if least <= nearly else 0), True


@seldom_entry
def redundant_at(workspace, /, m, goal, nearly):
    """Kernel of `redundant` for the first m contacts of the stored problem."""
    law = Inclusion(
        int(m),
        workspace.D,
        workspace.c,
        workspace.mu,
        workspace.drag,
        workspace.bound,
        workspace.rho,
    )
    steps, exists = redundant(law, goal, nearly, workspace.p, workspace)
    workspace.result[0] = steps
    workspace.result[1] = 1 if exists else 0
    return 0


@part
def solve_redundant(law, goal, nearly, p, workspace):
    """Call `redundant` by its address.

    The bounds and drags of ``law`` are those of ``workspace``.
    """
    n, D, c, mu = law.n, law.D, law.c, law.mu
    for a in range(3 * n):
        workspace.c[a] = c[a]
        workspace.p[a] = p[a]
        for b in range(3 * n):
            workspace.D[a, b] = D[a, b]
    for k in range(n):
        workspace.mu[k] = mu[k]
    place = address_of(workspace)
    call(workspace.solver[0], place, place, place, 1.0 * n, goal, nearly)
    for a in range(3 * n):
        p[a] = workspace.p[a]
    return workspace.result[0], workspace.result[1] == 1

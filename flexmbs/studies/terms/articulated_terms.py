"""Articulated terms of the recursive formalism at a state.

M*_i, f*_i and N_i of the tree, as its sweeps leave them:

    N_i = C_iᵀ M*_i C_i + n² I,   f^p_i = M*_i V̇_i − f*_i:

M*_i and f*_i are what body i with all that it carries is to the joint on which it hangs, modes
eliminated; cut joints open. Theory: docs/theory.md, section 20; Featherstone, Rigid Body Dynamics
Algorithms (2008), section 7.3.
"""

from dataclasses import dataclass

import numpy as np

from flexmbs._jit.address import packed
from flexmbs.dynamics.articulated_sweeps import inward_loads
from flexmbs.dynamics.articulated_work import (
    COLUMNS,
    HALF,
    L_NV,
    L_ROTOR,
    L_S,
    LOAD,
    NO_ROTOR,
    PASSED,
    SLOPE,
    TAU,
    Articulated,
)
from flexmbs.dynamics.equations import body_forces
from flexmbs.errors import SolverError
from flexmbs.formalisms.recursive import Recursive, factor
from flexmbs.results.state import State
from flexmbs.system.records import Evaluation


@dataclass(frozen=True, eq=False)
class ArticulatedTerms:
    """Articulated terms of a body at its origin, in its axes.

    M_star (6, 6), f_star (6,), N (nv, nv), and the columns C (6, nv) of its joint.

    f_star is the load that goes with the linear part V̇ − ā of the accelerations, f*_i − M*_i ā_i
    in the notation of section 20. ``driven`` velocities are known: N has no rows for them.
    """

    M_star: np.ndarray
    f_star: np.ndarray
    N: np.ndarray
    C: np.ndarray
    driven: np.ndarray  # (nv,) bool


@packed(int)
def eliminated(system, work, workspace, t, here):
    """Factor the open tree and sweep its loads inward.

    As in `recursive.general_accelerations`.
    """
    art = workspace.factors.art
    body_forces(system, work, t, here.q, here.s, here.z)
    status = factor(system, work, workspace, here.q, (1.0, -1.0), 1.0)
    if status < 0:
        return status
    x = art.x
    for a in range(x.shape[0]):
        x[a] = 0.0
    for a in range(here.s.shape[0]):
        art.velocity[TAU, a] = -work.r[a]
    for d in range(system.drives.row.shape[0]):
        i = system.drives.body[d]
        if i >= 0:
            x[system.tree.s_at[i] + system.drives.v[d]] = -work.gs.acceleration[
                system.drives.row[d]
            ]
    for i in range(system.tree.parent.shape[0]):
        for a in range(6):
            art.body[i, LOAD + a] = -work.motion.wrench[i, a]
    inward_loads(art, x)
    return 0


def articulated(state: State) -> tuple[Articulated, tuple[ArticulatedTerms, ...]]:
    """Articulated quantities at a state in joint coordinates, and the terms of each body.

    Raises `SolverError` where the mass matrix is not definite.
    """
    compiled, work = state.compiled, state.work()
    workspace = Recursive().workspace(compiled)
    here = Evaluation(state.q, state.s, work.zero, work.zero, state.z, work.r)
    status = eliminated(compiled.system, work, workspace, state.t, here)
    compiled.callbacks.raise_error()
    if status < 0:
        raise SolverError(
            f"the mass matrix of body '{compiled.bodies[-1 - status]}' is not definite; "
            "check masses and deflections"
        )
    art: Articulated = workspace.factors.art
    return art, tuple(_terms(art, i) for i in range(len(art.link)))


def _terms(art: Articulated, i: int) -> ArticulatedTerms:
    """Articulated inertia M*_i and force f*_i of body i before its joint is eliminated.

    Its contribution is added back, Σ U Uᵀ and Σ U h.
    """
    nv, to = int(art.link[i, L_NV]), int(art.link[i, L_S])
    C = art.body[i, COLUMNS : COLUMNS + 6 * nv].reshape(nv, 6).T
    U = art.body[i, PASSED : PASSED + 6 * nv].reshape(nv, 6).T
    driven = art.drive[to : to + nv] >= 0
    free = ~driven
    M = np.tril(art.A[i, :6, :6])
    M = M + np.tril(M, -1).T + U[:, free] @ U[:, free].T
    h = np.where(driven, art.x[to : to + nv], art.velocity[HALF, to : to + nv])
    f = art.body[i, LOAD : LOAD + 6] + U @ h
    N = C[:, free].T @ M @ C[:, free] + np.diag(art.velocity[SLOPE, to : to + nv][free])
    if art.link[i, L_ROTOR] != NO_ROTOR:
        N += C[3:, free].T @ art.spin[i, 3:, None]
    return ArticulatedTerms(M, f, N, C, driven)

"""`matrices`: the matrices of a model at a state, by name: for teaching, verification and user-defined methods."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexmbs.api.model import Model
from flexmbs.initial.contradiction import row_owners
from flexmbs.initial.initial_state import InitialState, in_coordinates
from flexmbs.results.state import HasState, State, settled_state, started, state_about
from flexmbs.studies.balance import free_directions
from flexmbs.studies.jacobians import body_jacobian, kinematic_matrix, partition
from flexmbs.studies.tangent import dense
from flexmbs.system.names import velocity_names
from flexmbs.system.sizes import displacement_sizes


@dataclass(frozen=True, eq=False)
class Matrices:
    """M ṡ = k + Gᵀλ, G ṡ = γ, ġ = G s + γ̄ and the velocity transformations of a model at a state (docs/theory.md,
    sections 16, 23 and 27).

    velocities: names of the columns.  constraints: joint or drive of each row.  M (ns, ns), k (ns,), G (nc, ns), gamma (nc,),
    g (nc,), gamma_bar (nc,).
    J (6 nb, ns): twists of the bodies in their own axes, V = J s, in the order of ``bodies``.
    J_loop (ns, f), s_bar (ns,): explicit loop closure s = J_loop σ + s_bar, G J_loop = 0, of the independent velocities σ
    named ``independent``:  J_loop = [1; −G_d⁻¹ G_i],  s_bar = [0; −G_d⁻¹ γ̄].
    H (nq, ns): q̇ = H s.  H_bar = H_i J_loop, h_bar = H_i s_bar for the positions of the independent velocities; 1 and 0 if
    these are rotations about and translations along axes.
    """

    state: State
    velocities: tuple[str, ...]
    constraints: tuple[str, ...]
    bodies: tuple[str, ...]
    M: np.ndarray
    k: np.ndarray
    G: np.ndarray
    gamma: np.ndarray
    g: np.ndarray
    gamma_bar: np.ndarray
    J: np.ndarray
    independent: tuple[str, ...]
    J_loop: np.ndarray
    s_bar: np.ndarray
    H: np.ndarray
    H_bar: np.ndarray
    h_bar: np.ndarray


def matrices(
    model: Model, *, at: HasState | None = None, coordinates: str = "joint", independent: Sequence[str] = ()
) -> Matrices:  # fmt: skip
    """The matrices at the declared state of a model or at a given one, in ``coordinates`` "joint" or "absolute".

    independent: names of the independent velocities σ, chosen by pivoting by default. Raises `InputError`.
    """
    here = _in(state_about(model, at), coordinates)
    known, H = dense(here), kinematic_matrix(here)
    names = velocity_names(here.compiled)
    N, P = free_directions(known.M, known.G)
    chosen = partition(N, names, independent, displacement_sizes(here.compiled))
    J_loop = N @ np.linalg.inv(N[chosen])
    gamma_bar = known.gd - known.G @ here.s
    s_bar = -(P - J_loop @ P[chosen]) @ gamma_bar
    rows = np.flatnonzero(np.abs(H[:, chosen]).max(axis=1, initial=0.0) > 0.0)
    bodies = here.compiled.bodies
    return Matrices(
        here, tuple(names), tuple(row_owners(here.compiled)), bodies, known.M, known.k, known.G, known.gamma, known.g, gamma_bar,
        np.vstack([body_jacobian(here, body) for body in bodies]), tuple(names[k] for k in chosen), J_loop, s_bar, H,
        H[rows] @ J_loop, H[rows] @ s_bar,
    )  # fmt: skip


def _in(here: State, coordinates: str) -> State:
    """The state in other coordinates."""
    start: InitialState = started(here.compiled, here, here.t)
    compiled, start = in_coordinates(here.compiled, start, coordinates)
    if compiled is here.compiled:
        return here
    return settled_state(compiled, here.t, start.q, start.s, start.beta, here.z)

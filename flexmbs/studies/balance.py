"""Equilibrium R(q, λ, z) = F, g(q, t) = 0, ż = 0 as equations: one linearisation, its free directions, and a step from it.

δ = δ_p + N y with G N = 0: the particular part closes the constraints, Nᵀ K N y = −Nᵀ (R + K δ_p) balances the free ones, and
λ, z follow from the residual (least norm if constraints are redundant). N is orthonormal in the mass matrix, so that the
eigenvalues of NᵀKN are squares of frequencies (rad/s)².
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from flexmbs.diagnosis.rank import displaced
from flexmbs.dynamics.dense import terms
from flexmbs.results.state import State
from flexmbs.studies.tangent import Tangents, evaluate, tangents
from flexmbs.system.records import SPARE
from flexmbs.system.sizes import displacement_sizes

RANK = 1e-10
ROUND_OFF = 1e-14  # of lengths in m and of unit vectors
NOT_HELD = 1e-6  # (rad/s)²: slower than a period of two hours
NOISE = 1e-13  # of the largest squared frequency


@dataclass(frozen=True, eq=False)
class Balance:
    """The linearised equilibrium at a state.

    r (ns,), g (n,): imbalance and gaps, force states' rates under g; K (ns, ns): ∂R/∂δ; forces (ns, n): columns Gᵀ and −∂R/∂z;
    N (ns, f): free directions; P (ns, n): δ_p = −P g; stiffness (f, f): NᵀKN.
    """

    state: State
    r: np.ndarray
    g: np.ndarray
    K: np.ndarray
    forces: np.ndarray
    N: np.ndarray
    P: np.ndarray
    sizes: np.ndarray
    tangents: Tangents

    @property
    def stiffness(self) -> np.ndarray:
        """(f, f) reduced stiffness."""
        return np.asarray(self.N.T @ self.K @ self.N)

    @property
    def held(self) -> float:
        """Squared frequency (rad/s)² below which a direction counts as unsupported."""
        return NOT_HELD + NOISE * float(np.abs(self.stiffness).max(initial=0.0))

    def free(self) -> tuple[np.ndarray, np.ndarray]:
        """Squared frequencies (f,), ascending, and directions (ns, f) of the symmetric part of the reduced stiffness."""
        value, vector = np.linalg.eigh(0.5 * (self.stiffness + self.stiffness.T))
        return value, self.N @ vector

    def step(self, load: np.ndarray, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """(δ, change of (λ, z)) towards R = ``load``, with ``shift`` added to the reduced stiffness, and 1 (rad/s)² in
        unsupported directions."""
        closing, out, A = -self.P @ self.g, self.r - load, self.stiffness
        value, vector = np.linalg.eigh(0.5 * (A + A.T))
        loose = vector[:, np.abs(value) <= self.held]
        A = A + shift * np.eye(len(A)) + loose @ loose.T
        delta = closing - self.N @ np.linalg.lstsq(A, self.N.T @ (out + self.K @ closing), rcond=None)[0]
        return delta, np.linalg.lstsq(self.forces, out + self.K @ delta, rcond=RANK)[0]

    def fall(self) -> float:
        """Largest acceleration along unsupported directions, rad/s² or relative to the size of the model."""
        value, vector = self.free()
        loose = vector[:, np.abs(value) <= self.held]
        return self.span(loose @ (loose.T @ self.r))

    def span(self, delta: np.ndarray) -> float:
        """Largest component of a displacement in rad, or relative to the size of the model."""
        return float(np.abs(delta / self.sizes).max(initial=0.0))


def balance(state: State) -> Balance:
    """The linearisation at a state; its velocities and accelerations are fixed."""
    work = state.work()
    known = terms(state.compiled.system, work, state.t, state.q, state.s, state.z)
    state = replace(state, beta=work.beta[:-SPARE].copy())
    values, slopes = evaluate(state), tangents(state)
    used = np.abs(slopes.z.r).max(axis=1, initial=0.0) > 0.0
    rows = np.vstack([known.G, slopes.q.force_rate.T[used]])
    forces = np.hstack([known.G.T, -slopes.z.r.T])
    g = np.concatenate([values.gs.position, values.force_rate[used]])
    N, P = free_directions(known.M, rows)
    return Balance(state, values.r, g, slopes.q.r.T, forces, N, P, displacement_sizes(state.compiled), slopes)


def free_directions(M: np.ndarray, G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """N (ns, f) with G N = 0, NᵀMN = 1, and P (ns, nc) with G P = 1 and least mass-weighted columns."""
    try:
        L = cholesky(M, lower=True)
    except np.linalg.LinAlgError:
        L = np.eye(len(M))
    u, size, vt = np.linalg.svd(solve_triangular(L, G.T, lower=True).T)
    # entries of G at round-off of lengths and unit vectors are no directions, however light what they act on
    rank = int((size > max(RANK * size.max(initial=0.0), ROUND_OFF / np.diag(L).min(initial=1.0))).sum())
    N = solve_triangular(L.T, vt[rank:].T)
    return N, solve_triangular(L.T, (vt[:rank].T / size[:rank]) @ u[:, :rank].T)


def moved(state: State, delta: np.ndarray, change: np.ndarray | None = None) -> State:
    """The state at q ⊕ δ, with λ and z changed."""
    system, q = state.compiled.system, state.q.copy()
    displaced(system.tree, system.joints, state.q, delta, q)
    lam, z = state.lam, state.z
    if change is not None:
        lam, z = lam + change[: len(lam)], z + change[len(lam) :]
    return replace(state, q=q, lam=lam, z=z)

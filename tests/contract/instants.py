"""Models at one instant: consistent states in either coordinates, and the accelerations,
multipliers and wrenches there.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

import flexmbs as fm
from flexmbs.diagnosis.rank import redundant_rows
from flexmbs.dynamics.dense import Terms, multipliers_of_least_norm, terms
from flexmbs.dynamics.work import make_work
from flexmbs.initial.initial_state import InitialState, consistent_state, in_coordinates
from flexmbs.system.compile import Compiled
from flexmbs.system.trajectory import RunInfo, Trajectory

# smaller singular values of G M^(−1/2) are zero; lengths and masses are of order one
DEPENDENT = 1e-9


class Answer(NamedTuple):
    """Accelerations ṡ (ns,) and multipliers λ (nc,)."""

    sd: np.ndarray
    lam: np.ndarray


@dataclass(frozen=True)
class Instant:
    """A model at t = 0: consistent q, s, force states z and coordinates β of its cut joints."""

    compiled: Compiled
    q: np.ndarray
    s: np.ndarray
    z: np.ndarray
    beta: np.ndarray

    def terms(self) -> Terms:
        """Dense M, k, G, γ."""
        return terms(
            self.compiled.system,
            make_work(self.compiled.system, self.beta),
            0.0,
            self.q,
            self.s,
            self.z,
        )

    def nothing(self) -> Answer:
        """No accelerations, no multipliers."""
        return Answer(np.zeros(len(self.s)), np.zeros(self.compiled.n_constraints))

    def solution(self, answer: Answer) -> fm.Solution:
        """The views of one output with given accelerations and multipliers."""
        rows = (
            np.zeros(1),
            *(each[None] for each in (self.q, self.s, answer.sd, answer.lam, self.z)),
        )
        redundant = redundant_rows(self.compiled, self.q, self.s, self.beta)
        trajectory = Trajectory(*rows, np.zeros((1, 3)), np.zeros((1, 2)), np.zeros(1))
        return fm.Solution(self.compiled, trajectory, {}, RunInfo(redundant=redundant))


def instants(model: fm.Model) -> dict[str, Instant]:
    """The model in joint, absolute and rheonomic coordinates, the integrals of its controllers at
    any value.
    """
    return instants_of(*consistent_state(model))


def instants_of(joint: Compiled, start: InitialState) -> dict[str, Instant]:
    """The same of a model that is assembled already."""
    found = {}
    for coordinates in ("joint", "absolute", "rheonomic"):
        compiled, now = in_coordinates(joint, start, coordinates)
        found[coordinates] = _instant(compiled, now)
    return found


def _instant(compiled: Compiled, now: InitialState) -> Instant:
    z = 0.1 + 0.2 * np.arange(int(compiled.system.layout[4]))
    return Instant(compiled, now.q, now.s, z, now.beta)


def scaled_constraints(t: Terms) -> tuple[np.ndarray, np.ndarray]:
    """(L, G L⁻ᵀ) with M = L Lᵀ."""
    L = cholesky(t.M, lower=True)
    return L, solve_triangular(L, t.G.T, lower=True).T


def reference(t: Terms) -> Answer:
    """ṡ = a + M^(−1/2) (G M^(−1/2))⁺ (γ − G a) with a = M⁻¹ k, and λ of least norm.

    Source: Udwadia & Kalaba, A new perspective on constrained motion, Proc. R. Soc. Lond. A 439
    (1992), equation (2.5).
    """
    L, A = scaled_constraints(t)
    free = solve_triangular(L.T, solve_triangular(L, t.k, lower=True))
    u, size, v = np.linalg.svd(A, full_matrices=False)
    kept = size > DEPENDENT
    change = v[kept].T @ ((u[:, kept].T @ (t.gamma - t.G @ free)) / size[kept])
    sd = free + solve_triangular(L.T, change)
    return Answer(
        sd, multipliers_of_least_norm(t.G, np.linalg.lstsq(t.G.T, L @ change, rcond=1e-10)[0])
    )

"""A formalism from outside the package, one class, keeps the contract: penalties with an augmented
Lagrangian.

(M + α GᵀG) ṡ = k + α Gᵀ γ' + Gᵀ λ,  λ ← λ + α (γ' − G ṡ) until convergence, γ' = γ − 2 μ Ω ġ − Ω²
g. Redundant constraints need no special treatment: λ starts from zero and stays in the range of G,
hence is the one of least norm. Source: Bayo, García de Jalón & Serna, A modified Lagrangian
formulation for the dynamic analysis of constrained mechanical systems, Computer Methods in Applied
Mechanics and Engineering 71 (1988), equations (18)-(20).
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
from formalism_contract import MOVING, FormalismContract

from flexmbs._jit import COMPILED, part
from flexmbs.dynamics.dense import dense_equations
from flexmbs.dynamics.equations import power_of_drives
from flexmbs.formalisms.formalism import Formalism
from flexmbs.system.compile import Compiled

MOST_ITERATIONS = 50
SETTLED = 1e-13


class PenaltyWorkspace(NamedTuple):
    """Options (α, Ω, μ) and dense matrices."""

    options: np.ndarray
    M: np.ndarray  # (ns, ns)
    G: np.ndarray  # (nc, ns)
    A: np.ndarray  # (ns, ns) M + α GᵀG, then its Cholesky factor
    none: np.ndarray  # (nc,) zeros
    c: np.ndarray  # (nc,) γ' − G ṡ
    y: np.ndarray  # (ns,)


@part
def cholesky(A):
    """Lower factor in place; False where A is not definite."""
    n = A.shape[0]
    for i in range(n):
        for j in range(i + 1):
            f = A[i, j]
            for l in range(j):
                f -= A[i, l] * A[j, l]
            if i > j:
                A[i, j] = f / A[j, j]
            elif f > 0.0:
                A[i, i] = math.sqrt(f)
            else:
                return False
    return True


@part
def substitute(L, y):
    """y ← (L Lᵀ)⁻¹ y"""
    n = y.shape[0]
    for i in range(n):
        for l in range(i):
            y[i] -= L[i, l] * y[l]
        y[i] /= L[i, i]
    for back in range(n):
        i = n - 1 - back
        for l in range(i + 1, n):
            y[i] -= L[l, i] * y[l]
        y[i] /= L[i, i]


@part
def penalized(M, G, alpha, A):
    """A = M + α GᵀG"""
    for i in range(M.shape[0]):
        for j in range(M.shape[0]):
            A[i, j] = M[i, j]
            for l in range(G.shape[0]):
                A[i, j] += alpha * G[l, i] * G[l, j]


@part
def iteration(workspace, gs, r, sd, lam):
    """One correction of ṡ and λ; returns the largest change of ṡ relative to the largest
    acceleration.
    """
    alpha, omega, mu = workspace.options[0], workspace.options[1], workspace.options[2]
    M, G, c, y = workspace.M, workspace.G, workspace.c, workspace.y
    for l in range(lam.shape[0]):
        c[l] = (
            -gs.acceleration[l] - 2.0 * mu * omega * gs.velocity[l] - omega * omega * gs.position[l]
        )
        for i in range(sd.shape[0]):
            c[l] -= G[l, i] * sd[i]
        lam[l] += alpha * c[l]
    for i in range(sd.shape[0]):
        y[i] = -r[i]
        for j in range(sd.shape[0]):
            y[i] -= M[i, j] * sd[j]
        for l in range(lam.shape[0]):
            y[i] += G[l, i] * lam[l]
    substitute(workspace.A, y)
    for l in range(lam.shape[0]):
        for i in range(sd.shape[0]):
            lam[l] -= alpha * G[l, i] * y[i]
    change = 0.0
    size = 0.0
    for i in range(sd.shape[0]):
        sd[i] += y[i]
        change = max(change, abs(y[i]))
        size = max(size, abs(sd[i]))
    return change / max(size, 1e-300)


@part
def accelerations(system, work, workspace, t, here):
    """ṡ and λ by iteration from zero."""
    sd, lam = here.sd, here.lam
    for a in range(sd.shape[0]):
        sd[a] = 0.0
        for b in range(sd.shape[0]):
            workspace.M[a, b] = 0.0
    for l in range(lam.shape[0]):
        lam[l] = 0.0
        for a in range(sd.shape[0]):
            workspace.G[l, a] = 0.0
    dense_equations(system, work, t, here, workspace.M, workspace.G)
    penalized(workspace.M, workspace.G, workspace.options[0], workspace.A)
    if not cholesky(workspace.A):
        return -1
    change = 1.0
    count = 0
    while change > SETTLED and count < MOST_ITERATIONS:
        change = iteration(workspace, work.gs, work.r, sd, lam)
        count += 1
    power_of_drives(system, work, t, here)
    return 0


@dataclass(frozen=True)
class Penalty(Formalism):
    """Penalties α (kg) on the constraints with frequency Ω (rad/s) and damping ratio μ, exact by an
    augmented Lagrangian.
    """

    alpha: float = 1e6
    omega: float = 10.0
    mu: float = 1.0

    name: ClassVar[str] = "penalty"
    accelerations = staticmethod(accelerations)

    def workspace(self, compiled: Compiled) -> PenaltyWorkspace:
        ns, nc = int(compiled.system.layout[2]), int(compiled.system.layout[3])
        z = np.zeros
        options = np.array([self.alpha, self.omega, self.mu])
        return PenaltyWorkspace(options, z((ns, ns)), z((nc, ns)), z((ns, ns)), z(nc), z(nc), z(ns))


class TestPenalty(FormalismContract):
    """The contract; compiled without the time loops, which are not kept on disk for parts from
    outside the package.
    """

    formalism = Penalty()

    @pytest.mark.skipif(
        COMPILED, reason="half a minute of compilation in every run; the interpreted run has it"
    )
    @pytest.mark.parametrize("name", MOVING)
    def test_short_motion(self, name: str, coordinates: str) -> None:
        super().test_short_motion(name, coordinates)

"""Tangents and adjoints of the steps of generalized-α.

The equations of the step from n to n + 1 (`flexmbs.integrators.generalized_alpha`, docs/theory.md,
section 46) are linear in the variations Y = (θ, δs, δa, δṡ, δλ, δx, δẋ) of its ends, with θ in q ⊕
θ and x = (z, w) of force states and works:

    θ' = P θ + T δ(hΔ),   δ(hΔ) = h δs + h² ((½ − β) δa + β δa'),   δs' = δs + h ((1 − γ) δa + γ δa'),
    (1 − α_m) δa' + α_m δa = (1 − α_f) δṡ' + α_f δṡ,   δx' = δx + h/2 (δẋ + δẋ'),
    r_q θ' + r_s δs' + M δṡ' − Gᵀ δλ' + r_z δz' + r_p δp = 0,   g_q θ' + g_p δp = 0   (nonholonomic rows: those of G s + γ̄),
    δẋ' = ẋ_q θ' + ẋ_s δs' + ẋ_ṡ δṡ' + ẋ_λ δλ' + ẋ_z δz' + ẋ_p δp,

in short E Y' + F Y + R δp = 0. The tangent is Y' = −E⁻¹ (F Y + R), one column for each parameter.
The adjoint of numbers y with slopes ȳₙ by Yₙ goes backwards, Eₙᵀ νₙ = ȳₙ − Fₙ₊₁ᵀ νₙ₊₁, one column
for each y: dy/dp = (ȳ₀ − F₁ᵀ ν₁)ᵀ dY₀/dp − Σ νₙᵀ Rₙ. The converged step alone counts: how Newton's
method came there does not matter. States are kept, matrices are made block by block.

Theory: docs/theory.md, section 57. Brüls and Eberhard (2008), Int. J. Numer. Meth. Eng. 74, 1909
(sensitivities of generalized-α); Cao, Li, Petzold and Serban (2003), SIAM J. Sci. Comput. 24, 1076
(adjoints).
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from flexmbs.algebra.differences import PLACES
from flexmbs.initial.assembly import holonomic_rows
from flexmbs.integrators import GeneralizedAlpha
from flexmbs.signals.signal_arguments import FloatArray
from flexmbs.studies.fitting.initial_runs import Begun, Variants, difference
from flexmbs.studies.fitting.perturbed_solutions import Varied
from flexmbs.studies.fitting.trajectory_equations import (
    POWERS,
    TrajectoryPoints,
    slopes_along,
    values_along,
)
from flexmbs.studies.fitting.trajectory_kernels import displacements
from flexmbs.system.compile import Compiled

BLOCK = 64  # steps whose matrices are there at the same time
TURN = 1e-2  # rad and m, steps of differences of q ⊕ d


class UnknownLayout(NamedTuple):
    """Indices of the parts of Y, and its number of entries."""

    q: slice
    s: slice
    a: slice
    sd: slice
    lam: slice
    x: slice
    xd: slice
    size: int


def layout_of(compiled: Compiled) -> UnknownLayout:
    """Index ranges of the parts of the unknowns Y of a step."""
    _, _, ns, nc, nz = (int(n) for n in compiled.system.layout)
    ends = np.cumsum([0, ns, ns, ns, ns, nc, nz + POWERS, nz + POWERS]).tolist()
    q, s, a, sd, lam, x, xd = (slice(first, last) for first, last in itertools.pairwise(ends))
    return UnknownLayout(q, s, a, sd, lam, x, xd, ends[-1])


def moved(compiled: Compiled, q: FloatArray, d: FloatArray) -> FloatArray:
    """q ⊕ d (n, nq) for the rows of q (n, nq) and d (n, ns)."""
    out = np.zeros_like(q)
    displacements(
        compiled.system.tree,
        compiled.system.joints,
        np.ascontiguousarray(q),
        np.ascontiguousarray(d),
        out,
    )
    return out


def basis(compiled: Compiled, q: FloatArray) -> FloatArray:
    """H (n, nq, ns) of δq = H θ, the derivative of q ⊕ θ at θ = 0."""
    return _by_displacement(compiled, q, np.zeros((len(q), int(compiled.system.layout[2]))))


def _by_displacement(compiled: Compiled, q: FloatArray, d: FloatArray) -> FloatArray:
    """∂(q ⊕ d)/∂d (n, nq, ns)."""
    return _slopes(lambda step: moved(compiled, q, d + step), d.shape[1])


def _by_position(compiled: Compiled, q: FloatArray, d: FloatArray) -> FloatArray:
    """∂((q ⊕ θ) ⊕ d)/∂θ (n, nq, ns) at θ = 0."""
    return _slopes(lambda step: moved(compiled, moved(compiled, q, step + 0.0 * d), d), d.shape[1])


def _slopes(of: Callable[[FloatArray], FloatArray], ns: int) -> FloatArray:
    """Derivatives of positions (n, nq) with respect to displacements, by differences."""
    found = [
        difference(np.array([of(c * TURN * unit) for c in PLACES]), TURN) for unit in np.eye(ns)
    ]
    return np.stack(found, axis=2) if found else np.zeros((*of(np.zeros(ns)).shape, 0))


class StepBlock(NamedTuple):
    """E, F (n, k, k) and R (n, k, m) of steps that end at the points first + 1 … first + n."""

    first: int
    E: FloatArray
    F: FloatArray
    R: FloatArray


class ImplicitSteps:
    """Steps of a run by generalized-α.

    They are linear in the variations of their ends and of parameters.
    """

    def __init__(self, base: Begun, points: TrajectoryPoints, beside: list[Variants]) -> None:
        """Derivatives of implicit steps at the points of a trajectory, by perturbed runs."""
        self.compiled, self.work = base.compiled, base.ready.run.work
        self.points, self.method = points, base.ready.method
        self.at = layout_of(self.compiled)
        self.rows = holonomic_rows(self.compiled)
        along = [
            each.slope(lambda run: values_along(run.compiled, run.ready.run.work, points)[:, 0])
            for each in beside
        ]
        by_parameters = np.stack(along, axis=2)
        self.by_parameters = self._equations(by_parameters)
        self.output, self.start = self._start(beside, by_parameters[0])

    def _equations(self, found: FloatArray) -> FloatArray:
        """Active rows: g of holonomic constraints and ġ of nonholonomic ones."""
        ns, nc = self.at.s.stop - self.at.s.start, len(self.rows)
        r, g, gd, xd = np.split(found, np.cumsum([ns, nc, nc]), axis=1)
        return np.concatenate([r, np.where(self.rows[:, None], g, gd), xd], axis=1)

    def _start(
        self, beside: list[Variants], by_parameters: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Derivatives dY₀/dp of the initial state, for outputs and for the first step.

        With θ and δs on the differenced constraints: their errors would appear in accelerations
        divided by h² and h.
        """
        q, s, began, a, sd, lam, x, xd = (
            np.stack([each.slope(lambda run, k=k: run.start[k]) for each in beside], axis=1)  # type: ignore[misc]
            for k in range(8)
        )
        ns, nc = len(s), len(self.rows)
        _, g_p, gd_p, _ = np.split(by_parameters, np.cumsum([ns, nc, nc]))
        slopes = slopes_along(self.compiled, self.work, self.points.part(0, 1))[0]
        G, gd_q = -slopes[:ns, 3 * ns : 3 * ns + nc].T, slopes[ns + nc : ns + 2 * nc, :ns]
        theta = np.linalg.pinv(basis(self.compiled, self.points.q[:1])[0]) @ q
        theta -= np.linalg.pinv(G[self.rows]) @ (G @ theta + g_p)[self.rows]
        off = np.linalg.pinv(G) @ (gd_q @ theta + G @ s + gd_p)
        first, step = (
            np.concatenate([theta, v - off, acceleration, sd, lam, x, xd])
            for v, acceleration in ((s, sd), (began, a))
        )
        return first, step

    def blocks(self, *, backwards: bool = False) -> Iterator[StepBlock]:
        """Iterate over the matrices of all steps in blocks, also backwards."""
        firsts = range(0, len(self.points.t) - 1, BLOCK)
        for first in reversed(firsts) if backwards else firsts:
            yield self._block(first, min(first + BLOCK, len(self.points.t) - 1))

    def _block(self, first: int, last: int) -> StepBlock:
        """Matrices of the steps to the points first + 1 … last."""
        at, points, method = self.at, self.points.part(first, last + 1), self.method
        assert isinstance(method, GeneralizedAlpha)
        am, af, beta, gamma = method.parameters()
        n, k, m = last - first, at.size, self.by_parameters.shape[2]
        h = np.diff(points.t)[:, None, None]
        E, F, R = np.zeros((n, k, k)), np.zeros((n, k, k)), np.zeros((n, k, m))
        eye, eye_x = np.eye(at.s.stop - at.s.start), np.eye(at.x.stop - at.x.start)
        P, T = self._displaced(points)
        E[:, at.q, at.q], F[:, at.q, at.q] = eye, -P
        E[:, at.q, at.a] = -h * h * beta * T
        F[:, at.q, at.s], F[:, at.q, at.a] = -h * T, -h * h * (0.5 - beta) * T
        E[:, at.s, at.s], E[:, at.s, at.a] = eye, -h * gamma * eye
        F[:, at.s, at.s], F[:, at.s, at.a] = -eye, -h * (1.0 - gamma) * eye
        E[:, at.a, at.a], E[:, at.a, at.sd] = (1.0 - am) * eye, (af - 1.0) * eye
        F[:, at.a, at.a], F[:, at.a, at.sd] = am * eye, -af * eye
        E[:, at.x, at.x], E[:, at.x, at.xd] = eye_x, -0.5 * h * eye_x
        F[:, at.x, at.x], F[:, at.x, at.xd] = -eye_x, -0.5 * h * eye_x
        slopes = self._equations(slopes_along(self.compiled, self.work, points.part(1, n + 1)))
        there, by = slice(at.sd.start, at.lam.stop), self.by_parameters[first + 1 : last + 1]
        held = there.stop - there.start
        columns = np.r_[at.q, at.s, at.sd, at.lam, at.x.start : at.x.stop - POWERS]
        E[:, there, columns] = slopes[:, :held]
        E[:, at.lam, at.q] = self._by_rows(E)
        E[:, at.xd, columns] = -slopes[:, held:]
        E[:, at.xd, at.xd] = eye_x
        R[:, there], R[:, at.xd] = by[:, :held], -by[:, held:]
        return StepBlock(first, *self._scaled(h, E, F, R))

    def _by_rows(self, E: FloatArray) -> FloatArray:
        """Constraint Jacobian ∂g/∂θ from the coefficients −Gᵀ of the multipliers.

        Its round-off is smaller there; the other rows are kept.
        """
        return np.where(
            self.rows[:, None],
            -E[:, self.at.sd, self.at.lam].swapaxes(1, 2),
            E[:, self.at.lam, self.at.q],
        )

    def _scaled(self, h: FloatArray, *matrices: FloatArray) -> list[FloatArray]:
        """Multiply the rows of the equations of motion by h² for equal scales."""
        rows = np.ones((len(h), self.at.size, 1))
        rows[:, self.at.a] = rows[:, self.at.sd] = h * h
        return [rows * each for each in matrices]

    def _displaced(self, points: TrajectoryPoints) -> tuple[FloatArray, FloatArray]:
        """Derivatives P and T (n, ns, ns) of the positions over a step.

        Unity if positions are sums of displacements.
        """
        ns = points.s.shape[1]
        if points.q.shape[1] == ns:
            return np.eye(ns), np.eye(ns)
        q, d = points.q[:-1], points.d[1:]
        H = np.linalg.pinv(basis(self.compiled, moved(self.compiled, q, d)))
        return H @ _by_position(self.compiled, q, d), H @ _by_displacement(self.compiled, q, d)

    def varied(self, numbers: FloatArray) -> Varied:
        """Variations of the states by each parameter at the points with these numbers."""
        at, Y = self.at, self.tangent(numbers)
        q = basis(self.compiled, self.points.q[numbers]) @ Y[:, at.q]
        z, work = np.split(Y[:, at.x], [self.points.z.shape[1]], axis=1)
        return Varied(q, Y[:, at.s], Y[:, at.sd], Y[:, at.lam], z, work)

    def tangent(self, wanted: FloatArray) -> FloatArray:
        """Derivatives of Y (n, k, m) by parameters at the points ``wanted``.

        The start is one of them.
        """
        kept = {0: self.output}
        asked, Y = set(wanted.tolist()), self.start
        for block in self.blocks():
            # not by E⁻¹F, in which round-off would not cancel between θ and δp
            for n in range(len(block.E)):
                Y = np.linalg.solve(block.E[n], -(block.F[n] @ Y + block.R[n]))
                if block.first + n + 1 in asked:
                    kept[block.first + n + 1] = Y
        return np.array([kept[n] for n in wanted.tolist()])

    def adjoint(self, slopes: Mapping[int, FloatArray]) -> FloatArray:
        """Derivatives dy/dp (outputs, m) by the adjoint method, from ∂y/∂Yₙ."""
        shape = self.at.size, next(iter(slopes.values())).shape[1]
        total, carried = np.zeros((shape[1], self.start.shape[1])), np.zeros(shape)
        for block in self.blocks(backwards=True):
            for i in reversed(range(len(block.E))):
                nu = np.linalg.solve(block.E[i].T, carried + slopes.get(block.first + i + 1, 0.0))
                total -= nu.T @ block.R[i]
                carried = -block.F[i].T @ nu
        return np.asarray(total + carried.T @ self.start)

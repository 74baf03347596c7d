"""`Equilibrium`: a state in equilibrium with its stability.

The stability follows from the eigenvalues of its linearization.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from flexmbs.api.solution import Solution
from flexmbs.errors import InputError, SolverError
from flexmbs.page.notebook import Table, card
from flexmbs.report.cards import checks_as_tables
from flexmbs.results.state import State
from flexmbs.results.views import JointView
from flexmbs.studies.linear.linearize import linearize, modes_about
from flexmbs.studies.linear.modes import Modes
from flexmbs.studies.states.state_sequence import solution_of, with_state_checks
from flexmbs.studies.states.tangent import Tangents
from flexmbs.system.check import PASS, WARN, Check


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A state at rest (or in steady motion) in equilibrium: −k(q) − Gᵀλ = 0, g(q, t) = 0.

    state: joint coordinates, multipliers, force states; the start of a run by ``simulate(model,
    start=equilibrium)``. residual: largest unbalanced generalized force (N, N m).  load_steps,
    iterations: cost. indifferent: names of unsupported coordinates, kept at their initial values.
    """

    state: State
    residual: float
    load_steps: int
    iterations: int
    indifferent: tuple[str, ...]
    loose: int = field(repr=False)
    slowest: float = field(repr=False)
    slopes: Tangents = field(repr=False)
    judge: bool = field(default=True, repr=False)
    checks: tuple[Check, ...] = field(default=(), repr=False)

    @cached_property
    def modes(self) -> Modes:
        """Complex modes of small motions about the state, those of `linearize` there.

        Of the pencil with mass, gyroscopic and damping terms, and a stiffness that need not be
        symmetric.
        """
        return modes_about(self.state, self.slopes)

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues λ (m,) [1/s] of the modes, one of each conjugate pair, slowest first.

        Those of unsupported coordinates are zero.
        """
        return np.where(self._neutral, 0.0, self.modes.eigenvalue)

    @property
    def frequencies(self) -> np.ndarray:
        """Frequencies |λ| (rad/s), ascending, of modes that oscillate or grow.

        It is negative for a mode that grows, and 0 for each unsupported coordinate.

        Without damping and non-conservative forces these are ±√|κ| of the eigenvalues κ of the
        stiffness over the mass matrix. Motions that decay without oscillation have none.
        """
        value, growing = self.eigenvalues, self._growing
        shown = ~self._neutral & (growing | (value.imag > 0.0))
        found = np.where(growing, -1.0, 1.0)[shown] * np.abs(value[shown])
        return np.sort(np.concatenate([found, np.zeros(self.loose)]))

    @property
    def stable(self) -> bool:
        """True if no mode grows, Re λ ≤ 0 within round-off (`Modes.growing`).

        Unsupported coordinates are disregarded.
        """
        return not self._growing.any()

    @property
    def diverges(self) -> bool:
        """True if a mode grows without oscillation."""
        return bool((self._growing & (self.modes.eigenvalue.imag == 0.0)).any())

    @cached_property
    def _neutral(self) -> np.ndarray:
        """Eigenvalues (m,) of unsupported coordinates, at most two for each.

        They are below the frequency that counts as support.
        """
        size = np.abs(self.modes.eigenvalue)
        return np.asarray((size <= self.slowest) & (np.arange(len(size)) < 2 * self.loose))

    @property
    def _growing(self) -> np.ndarray:
        return np.asarray(self.modes.growing & ~self._neutral)

    @cached_property
    def solution(self) -> Solution:
        """A solution with this one state: views by body, frame, joint and drive, and its audit."""
        options = {"analysis": "statics", "t": self.state.t}
        found = solution_of([self.state], options=options, at_rest=not self.state.s.any())
        more = [*self.checks, self._stability] if self.judge else []
        return with_state_checks(found, audit=self.judge, balanced=True, more=more)

    @property
    def audit(self) -> tuple[Check, ...]:
        """Checks of the equilibrium, as of a run.

        Modes of its bodies, linear range, second opinion.
        """
        return self.solution.audit

    @property
    def verdict(self) -> str:
        """The worst of the `audit`: "PASS", "WARN" or "FAIL"; "NOT JUDGED" without one."""
        return self.solution.verdict

    @property
    def _stability(self) -> Check:
        """Check that states whether the equilibrium is stable; never FAIL."""
        if self._periodic:
            text = (
                "not known: the matrices of small motions change with time, and stable, "
                "frequencies and eigenvalues are those of this instant"
            )
            return Check("Stability", WARN, text, "simulate a motion beside it")
        if self.stable:
            return Check("Stability", PASS, "stable: no mode grows")
        fastest = float(self.eigenvalues.real.max())
        return Check("Stability", PASS, f"unstable: a mode grows by {fastest:.3g} 1/s")

    @property
    def _periodic(self) -> bool:
        """True if small motions about a steady motion have matrices that change with time."""
        if not self.state.s.any():
            return False
        try:
            model = self.state.compiled.declared
            return not linearize(model, start=self.state, audit=False).invariant  # type: ignore[arg-type]
        except (InputError, SolverError):  # contacts, controllers: modes are not computed either
            return False

    @cached_property
    def reactions(self) -> dict[str, JointView]:
        """Wrench through each joint, arrays with one row."""
        return {name: self.solution.joint(name) for name in self.solution.joints}

    def _repr_html_(self) -> str:
        """Card of the equilibrium in a notebook: verdict, reactions, modes, checks."""
        rows = [
            (name, *(f"{value:.5g}" for value in (*view.force[0], *view.torque[0])))
            for name, view in self.reactions.items()
        ]
        heads = (
            "joint",
            *(f"F{axis} [N]" for axis in "xyz"),
            *(f"M{axis} [N m]" for axis in "xyz"),
        )
        tables = [Table("Reactions, in world axes", heads, rows), self.modes.table()]
        tables += checks_as_tables(self.audit)
        return card(str(self), verdict=self.verdict, tables=tables)

    def __str__(self) -> str:
        kind = "stable" if self.stable else "unstable"
        text = (
            f"{kind} equilibrium at t = {self.state.t:g} s: residual {self.residual:.1e}, "
            f"{self.load_steps} load steps"
        )
        return f"{text}, {self.iterations} iterations"

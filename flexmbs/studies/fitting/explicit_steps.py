"""Tangents of the fixed steps of explicit methods.

A step y' = Φ(y; p), y = (q, s, z, w), is an explicit formula of evaluations, with what the
formalism does to its end. Its derivative along a variation of y and p together is a difference of
fourth order of *this one step*,

    δy' = d/dε Φ(y + ε δy; p + ε) at ε = 0,

from the states of the run, so that neither the length of the run nor its round-off enters the steps
of the differences.
"""

from collections.abc import Iterator

import numpy as np

from flexmbs.algebra.differences import PLACES
from flexmbs.formalisms import calls as equations
from flexmbs.signals.signal_arguments import FloatArray
from flexmbs.studies.fitting.initial_runs import Begun, Variants, difference, step_of
from flexmbs.studies.fitting.perturbed_solutions import Varied
from flexmbs.studies.fitting.trajectory_equations import TrajectoryPoints


class ExplicitSteps:
    """Steps of a run by an explicit method, differentiated one by one.

    The perturbed runs are consumed.
    """

    def __init__(
        self, points: TrajectoryPoints, states: FloatArray, beside: list[Variants]
    ) -> None:
        self.points, self.states, self.beside = points, states, beside

    def varied(self, numbers: FloatArray) -> Varied:
        """Variations of the states by each parameter at the points with these numbers."""
        found = [np.array(list(self._along(each, set(numbers.tolist())))) for each in self.beside]
        found = [each[np.searchsorted(np.unique(numbers), numbers)] for each in found]
        q, s, z = (part.shape[1] for part in (self.points.q, self.points.s, self.points.z))
        ends = np.cumsum([q, s, z, 3, s])
        q_part, s_part, z_part, w, sd, lam = np.split(np.stack(found, axis=2), ends, axis=1)
        return Varied(q_part, s_part, sd, lam, z_part, w)

    def _along(self, each: Variants, numbers: set[int]) -> Iterator[FloatArray]:
        """Variations (δy, δṡ, δλ) by one parameter at the requested points."""
        change = difference(np.array([run.ready.run.state.y for run in each.runs]), each.step)
        for n, y in enumerate(self.states):
            beside = [(run, y + c * each.step * change) for c, run in zip(PLACES, each.runs)]
            if n in numbers:
                rates = [
                    accelerations(run, moved, float(self.points.t[n])) for run, moved in beside
                ]
                yield np.concatenate([change, difference(np.array(rates), each.step)])
            if n + 1 < len(self.states):
                for run, moved in beside:
                    run.ready.run.state.y[:] = moved
                    step_of(run.ready.run)
                change = difference(
                    np.array([run.ready.run.state.y for run in each.runs]), each.step
                )


def accelerations(run: Begun, y: FloatArray, t: float) -> FloatArray:
    """ṡ and λ of a state, as the formalism gives them."""
    of, packed = run.ready.run, run.ready.run.packed
    at = of.context.at
    at.y[:] = y
    equations.of_formalism(type(of.form)).derivative(packed.model, packed.at, packed.at, t)  # type: ignore[misc]
    of.compiled.callbacks.raise_error()
    return np.concatenate([at.sd, at.lam])

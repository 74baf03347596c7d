"""Derivatives of runs as `fm.sensitivities` gives them.

By tangents or adjoints, compared with differences of runs.
"""

from collections.abc import Sequence

import numpy as np

from flexmbs.algebra.differences import PLACES
from flexmbs.api.solution import Solution
from flexmbs.errors import InputError, SolverError
from flexmbs.signals.signal_arguments import FloatArray
from flexmbs.studies.fitting.adjoint import adjoint_derivative
from flexmbs.studies.fitting.derivatives import KINK, NOISY, QUICK, Gradient, jacobian, noise_of
from flexmbs.studies.fitting.parameter_runs import Runs, Values
from flexmbs.studies.fitting.step_tangents import Tangent, channels
from flexmbs.studies.parameters.outputs import Output

SAME = 1e-4  # relative difference to differences of runs that is an error
NOTHING = 1e-7  # part of an output that is nothing


class Slopes:
    """Jacobians of runs for iterations: by tangents if available, else by differences of runs.

    Differences are also used where bodies are reduced anew: from one reduction to the next, modes
    of equal frequency turn and others change their sign, so that the same elastic coordinates are
    another state.

    ``count``: number of runs so far, those beside a run of tangents included, which are begun only.
    """

    def __init__(self, runs: Runs, scales: Values, *, level: int = QUICK, workers: int) -> None:
        self.runs, self.scales, self.level, self.workers, self.count = (
            runs,
            scales,
            level,
            workers,
            0,
        )
        self.exact = True

    def __call__(self, values: Values) -> FloatArray:
        """∂y/∂p (n, m) at values of the parameters. Raises `InputError`, `SolverError`."""
        if self.exact:
            try:
                tangent = Tangent(self.runs, values, self.scales, workers=self.workers, quick=True)
                self.exact = not tangent.reduced_anew
                found = tangent.jacobian() if self.exact else np.zeros(0)
            except (InputError, SolverError):  # at a bound, say, or everywhere
                self.exact = False
            if self.exact:
                self.count += 2 + 2 * len(values)
                return found
        self.count += 2 * len(values)
        return jacobian(self.runs, values, self.scales, level=self.level, workers=self.workers)


def exact_gradient(
    runs: Runs,
    solution: Solution,
    outputs: Sequence[Output],
    scales: Values,
    *,
    method: str,
    workers: int,
) -> Gradient:
    """Derivatives of the outputs by "tangent" or "adjoint", NaN at kinks.

    Raises `InputError` where there are none, `SolverError` where differences of runs contradict
    them.
    """
    tangent = Tangent(runs, {}, scales, workers=workers)
    seen = channels(outputs, solution)
    adjoint = method == "adjoint"
    found = (
        adjoint_derivative(tangent, solution, outputs)
        if adjoint
        else tangent.derivative(solution, seen)
    )
    direction, expected, doubt, jump = tangent.along(seen, workers)
    apart = np.abs(found.derivative @ direction - expected)
    allowed = SAME * (np.abs(found.derivative) @ np.abs(direction)) + NOTHING * np.abs(found.values)
    smooth = ~found.kink.any(axis=1)
    unclear = KINK * np.abs(expected) + NOISY * (doubt + NOTHING * np.abs(found.values))
    wrong, bent = (apart > allowed + doubt) & smooth, (jump > unclear) & smooth
    if wrong.any() or bent.any():  # of outputs that are round-off, say
        noise = NOISY * noise_of(runs, runs.base, runs(runs.base)) / tangent.compared
        wrong, bent = wrong & (apart > allowed + doubt + noise), bent & (jump > noise)
    if bent.any():
        i = int(np.argmax(bent))
        raise SolverError(
            f"method: '{outputs[i].name}' has a kink at this very value: its slopes along "
            "a direction of all parameters and back "
            f"differ by {jump[i]:.3g} of {abs(expected[i]):.6g}; take "
            "method='differences', which identifies it"
        )
    if wrong.any():
        i = int(np.argmax(wrong))
        body = tangent.reduced_anew
        why = (
            f"modes of body '{body}', reduced anew, turn or change their sign"
            if body
            else "something in it is not smooth"
        )
        raise SolverError(
            f"method: the derivative of '{outputs[i].name}' along a direction of all parameters is "
            f"{(found.derivative @ direction)[i]:.6g} by steps, {expected[i]:.6g} by "
            f"differences of runs: {why}; take "
            "method='differences'"
        )
    notes = tuple(
        f"{each.name}: no derivative of {kinks.sum()} of {len(kinks)} outputs: a kink at "
        "this very value"
        for each, kinks in zip(tangent.beside, found.kink.T)
        if kinks.any()
    )
    error = found.error + apart[:, None] / np.abs(direction)
    return Gradient(
        found.values,
        np.where(found.kink, np.nan, found.derivative),
        np.where(found.kink, np.inf, error),
        notes,
        2 + len(PLACES) * (1 + len(tangent.beside)),
    )

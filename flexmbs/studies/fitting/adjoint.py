"""Derivatives of outputs of channels by the discrete adjoint.

One backward pass, whatever the number of parameters:

    y = Y(x₁, …, x_n),   x_i = x(state at tᵢ; p),   dy/dp = Σ_i ∂Y/∂x_i (∂x_i/∂p + ∂x_i/∂state · dstate_i/dp),

where ȳ_i = ∂Y/∂x_i ∂x_i/∂state drives the adjoint of the steps
(`flexmbs.studies.fitting.implicit_steps`). A channel at a time depends on the state at that time
alone, hence one change of a coordinate at all times gives all its slopes.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from flexmbs.algebra.differences import PLACES
from flexmbs.api.solution import Solution
from flexmbs.errors import InputError
from flexmbs.signals.signal_arguments import FloatArray
from flexmbs.studies.fitting.implicit_steps import ImplicitSteps, basis
from flexmbs.studies.fitting.initial_runs import difference
from flexmbs.studies.fitting.perturbed_solutions import perturbed_solution
from flexmbs.studies.fitting.step_tangents import Exact, Tangent, channels, step_numbers
from flexmbs.studies.fitting.trajectory_equations import STEP
from flexmbs.studies.parameters.outputs import Output, concluded, observed
from flexmbs.system.step_scales import displacement_sizes

FINE = 1e-5  # step of single values of a channel, over the largest one
PEAK = 1e-2  # and over the difference of the largest one to its neighbours
FIELDS = ("s", "sd", "lam", "z", "work")


def adjoint_derivative(tangent: Tangent, solution: Solution, outputs: Sequence[Output]) -> Exact:
    """Outputs of the run and their derivatives by the adjoint method.

    Raises `InputError` for outputs that are functions of the whole solution, and for steps without
    an adjoint.
    """
    steps = tangent.steps
    for output in outputs:
        if output.of is None:
            raise InputError(
                f"method: output '{output.name}' is a function of the solution, whose "
                "slopes by states are not known; name a "
                "channel, or take method='tangent'"
            )
    if not isinstance(steps, ImplicitSteps):
        raise InputError(
            f"method: '{tangent.base.ready.method.name}' has no adjoint; take method='tangent'"
        )
    weights = _weights(outputs, solution)
    numbers = step_numbers(tangent.points, solution.t)
    slopes = np.zeros((len(solution.t), steps.at.size, len(outputs)))
    for at, slope in _by_states(tangent, steps, solution, outputs, numbers):
        slopes[:, at] = weights.T * slope.T
    by_number = {int(n): slopes[i] for i, n in enumerate(numbers)}
    first = by_number.pop(0).T @ steps.output
    seen = channels(outputs, solution)
    explicit = np.array(
        [
            _parts(
                each.slope(lambda run: seen.of(perturbed_solution(solution, run.compiled, {}))),
                len(outputs),
            )
            for each in tangent.beside
        ]
    )
    found = first + steps.adjoint(by_number) + np.einsum("on,mon->om", weights, explicit)
    none = np.zeros_like(found)
    return Exact(seen.outputs(seen.of(solution)), found, none, none.astype(bool))


def _weights(outputs: Sequence[Output], solution: Solution) -> FloatArray:
    """Derivatives ∂Y/∂x(t_i) (outputs, nt) of outputs by their channels, by differences."""
    t, found = solution.t, []
    for output, x in zip(outputs, observed(outputs, solution)):
        step = min(FINE * (float(np.abs(x).max()) or 1.0), PEAK * _flatness(x))
        around = [
            [concluded([output], t, [x + c * step * unit])[0] for unit in np.eye(len(x))]
            for c in PLACES
        ]
        found.append(difference(np.array(around), step))
    return np.array(found)


def _flatness(x: FloatArray) -> float:
    """Smallest difference between an extreme value of a channel and its neighbours.

    Infinite if there is none. Changes of single values must not make another one the largest.
    """
    apart = np.abs(np.diff(x))
    near = [
        apart[max(k - 1, 0) : k + 1]
        for k in (int(np.argmax(x)), int(np.argmin(x)), int(np.argmax(np.abs(x))))
    ]
    found = np.concatenate(near)
    return float(found[found > 0.0].min(initial=math.inf))


def _by_states(
    tangent: Tangent,
    steps: ImplicitSteps,
    solution: Solution,
    outputs: Sequence[Output],
    numbers: FloatArray,
) -> Iterator[tuple[int, FloatArray]]:
    """(indices in Y, derivatives (outputs, n) of the channels) for relevant states.

    These are the coordinates of the state on which channels depend.
    """
    compiled, now = tangent.base.compiled, solution.trajectory
    H = basis(compiled, tangent.points.q[numbers])
    for k, size in enumerate(displacement_sizes(compiled)):
        yield (
            steps.at.q.start + k,
            _slope(tangent, solution, outputs, "q", H[:, :, k], STEP * float(size)),
        )
    places = dict(zip(FIELDS, (steps.at.s, steps.at.sd, steps.at.lam, steps.at.x, steps.at.x)))
    for name in FIELDS:
        values = getattr(now, name)
        start = places[name].start + (now.z.shape[1] if name == "work" else 0)
        for k, unit in enumerate(np.eye(values.shape[1])):
            size = STEP * (1.0 + float(np.abs(values[:, k]).max()))
            yield (
                start + k,
                _slope(tangent, solution, outputs, name, np.broadcast_to(unit, values.shape), size),
            )


def _slope(
    tangent: Tangent,
    solution: Solution,
    outputs: Sequence[Output],
    name: str,
    direction: FloatArray,
    size: float,
) -> FloatArray:
    """Derivatives (outputs, n) of the channels along a direction of a trajectory field."""
    values = [
        np.array(
            observed(
                outputs,
                perturbed_solution(solution, tangent.base.compiled, {name: c * size * direction}),
            )
        )
        for c in PLACES
    ]
    return difference(np.array(values), size)


def _parts(values: FloatArray, outputs: int) -> FloatArray:
    """Values (outputs, n), one row for each output."""
    return values.reshape(outputs, -1)

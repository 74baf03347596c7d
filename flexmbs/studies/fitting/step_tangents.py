"""Derivatives of the outputs of runs by the tangents of their steps.

Instead of differences of runs:

    dy/dp = d/dε y(p + ε, q + ε δq, s + ε δs, ṡ + ε δṡ, λ + ε δλ, x + ε δx) at ε = 0

with the variations of the states at the output times (`flexmbs.studies.fitting.implicit_steps`): an
output is evaluated on perturbed trajectories, without a run. The derivative along one random
direction of all parameters is compared with differences of whole runs, which the tangents have not
produced.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from flexmbs.algebra.differences import PLACES, narrow_and_wide
from flexmbs.api.solution import Solution
from flexmbs.errors import InputError
from flexmbs.integrators import DormandPrince, GeneralizedAlpha
from flexmbs.model.forces import loaded_by_reactions
from flexmbs.signals.signal_arguments import FloatArray
from flexmbs.studies.fitting.derivatives import KINK, NOISY, STAYS
from flexmbs.studies.fitting.explicit_steps import ExplicitSteps
from flexmbs.studies.fitting.implicit_steps import ImplicitSteps
from flexmbs.studies.fitting.initial_runs import PART, Begun, begun, difference, recorded, variants
from flexmbs.studies.fitting.parameter_runs import Runs, Values
from flexmbs.studies.fitting.perturbed_solutions import perturbed_solution
from flexmbs.studies.fitting.trajectory_equations import TrajectoryPoints
from flexmbs.studies.parameters.outputs import Output, concluded, observed
from flexmbs.studies.parameters.threads import RunThreads
from flexmbs.studies.run.simulate import unaudited
from flexmbs.time_stepping.outcome import INTERRUPTED

METHODS = (GeneralizedAlpha.name, DormandPrince.name)
NEAR = 1e-6  # of a step: an output time is as good as its end
FINE = 1e-6  # step of outputs along the slopes of what they are made of, in sizes of parameters
# step of runs along one direction, over the sizes of parameters where those beside the run have
# `PART`
COMPARED = 5e-4
SEED = 1  # of the direction of this comparison


class Exact(NamedTuple):
    """Values (n,) of outputs and their derivatives (n, m) by parameters.

    With the errors of these, and where there is a kink.
    """

    values: FloatArray
    derivative: FloatArray
    error: FloatArray
    kink: np.ndarray


class Observed(NamedTuple):
    """Observed quantities of runs, and the outputs that follow from them.

    The quantities are smooth functions of the states, such as channels.
    """

    of: Callable[[Solution], FloatArray]
    outputs: Callable[[FloatArray], FloatArray]
    # which of the former are outputs themselves, of functions that may have a kink
    single: np.ndarray


def everything(runs: Runs) -> Observed:
    """Observation function that returns the output values themselves."""
    return Observed(runs.evaluate, lambda values: values, np.ones(1, bool))


def channels(outputs: Sequence[Output], solution: Solution) -> Observed:
    """Channels of the outputs, from which the outputs follow."""
    parts = observed(outputs, solution)
    ends = np.cumsum([len(part) for part in parts])[:-1]
    single = np.concatenate(
        [np.full(len(part), output.of is None) for output, part in zip(outputs, parts)]
    )
    return Observed(
        lambda other: np.concatenate(observed(outputs, other)),
        lambda values: concluded(outputs, solution.t, np.split(values, ends)),
        single,
    )


def require_exact(runs: Runs, base: Begun) -> None:
    """Raise `InputError` for runs whose steps have no exact tangent."""
    method, run = base.ready.method, base.ready.run
    remedy = "take method='differences'"
    if runs.events:
        raise InputError(f"method: event '{runs.events[0].name}' has no tangent; {remedy}")
    if method.name not in METHODS or method.step is None:
        names = " and ".join(f"'{name}'" for name in METHODS)
        steps = "fixed" if method.step else "controlled"
        raise InputError(
            f"method: fixed steps of {names} have tangents, not {steps} ones of "
            f"'{method.name}'; {remedy}"
        )
    compiled = run.compiled
    if (run.context.contact.rigid == 1).any():
        name = compiled.contacts[int(np.argmax(run.context.contact.rigid))]
        raise InputError(f"method: rigid contact '{name}' has no tangent; {remedy}")
    if len(run.sampled.first):
        raise InputError(f"method: discrete controllers have no tangent; {remedy}")
    for name in loaded_by_reactions(compiled.model.forces.values()):
        raise InputError(
            f"method: force '{name}', which depends on reactions, has no tangent; {remedy}"
        )
    if run.jumps:
        raise InputError(
            f"method: the drive whose motion jumps at t = {run.jumps[0]:.6g} s has no "
            f"tangent; {remedy}"
        )
    if base.ready.redundant:
        names = ", ".join(f"'{name}'" for name, _ in base.ready.redundant)
        raise InputError(
            f"method: multipliers of redundant constraints ({names}) have no tangent; {remedy}"
        )
    t_end = float(base.ready.chosen["t_end"])
    if (
        run.facts.nc
        and not method.explicit
        and abs(t_end / method.step - round(t_end / method.step)) > NEAR
    ):
        raise InputError(
            f"method: t_end = {t_end:g} s is not a multiple of the step {method.step:g} s; "
            f"make it one, or {remedy}"
        )


def step_numbers(points: TrajectoryPoints, t: FloatArray) -> FloatArray:
    """Numbers of the points at the output times. Raises `InputError` for outputs within steps."""
    found = np.clip(
        np.searchsorted(points.t, t - NEAR * float(np.diff(points.t).max())), 0, len(points.t) - 1
    )
    within = np.abs(points.t[found] - t) > NEAR * float(np.diff(points.t).max())
    if within.any():
        time = float(t[int(np.argmax(within))])
        raise InputError(
            f"method: the output at t = {time:.6g} s is not at the end of a step; make "
            "output_step a multiple of step, "
            "or take method='differences'"
        )
    return np.asarray(found)


class Tangent:
    """A run, its points, and a perturbed run for each parameter."""

    def __init__(
        self, runs: Runs, at: Values, scales: Values, *, workers: int = 1, quick: bool = False
    ) -> None:
        """Derivatives of a run at parameter values, from its steps and perturbed initial runs."""
        self.runs = dataclasses.replace(runs, base={**runs.base, **at})
        self.base = begun(self.runs, {})
        require_exact(runs, self.base)
        self.points, states = recorded(self.base)
        with RunThreads(workers) as pool:
            self.beside = [
                variants(
                    self.runs,
                    self.base,
                    name,
                    scales.get(name, abs(value) or 1.0),
                    quick=quick,
                    mapped=pool.map,
                )
                for name, value in self.runs.base.items()
            ]
        explicit = self.base.ready.method.explicit
        self.steps = (
            ExplicitSteps(self.points, states, self.beside)
            if explicit
            else ImplicitSteps(self.base, self.points, self.beside)
        )

    @property
    def reduced_anew(self) -> str:
        """Name of the first flexible body that differs in a perturbed run; empty if none does."""
        known = self.base.compiled.data
        others = (
            (name, known[name], data)
            for each in self.beside
            for name, data in each.runs[0].compiled.data.items()
        )
        found = (
            name for name, own, data in others if data is not own and data.digest != own.digest
        )
        return next(map(self.base.compiled.whole_of, found), "")

    def derivative(self, solution: Solution, seen: Observed) -> Exact:
        """(outputs of the run, their derivatives by the tangent method)."""
        middle = seen.of(solution)
        columns = [
            _concluded(seen, middle, values, each.step, FINE * each.scale)[:3]
            for each, values in zip(self.beside, self._seen(solution, seen.of))
        ]  # fmt: skip
        return Exact(seen.outputs(middle), *(np.array(part).T for part in zip(*columns)))

    def jacobian(self) -> FloatArray:
        """dy/dp (n, m) of the outputs of the runs, for iterations: without errors and kinks."""
        solution = concluded_run(begun(self.runs, {}))
        seen = self._seen(solution, self.runs.evaluate)
        return np.array(
            [difference(values, each.step) for each, values in zip(self.beside, seen)]
        ).T

    def _seen(
        self, solution: Solution, of: Callable[[Solution], FloatArray]
    ) -> Iterator[FloatArray]:
        """Observed quantities of the perturbed solutions, parameter by parameter."""
        varied = self.steps.varied(step_numbers(self.points, solution.t))
        for k, each in enumerate(self.beside):
            values = []
            for c, run in zip(PLACES, each.runs):
                changes = {
                    name: c * each.step * part[:, :, k] for name, part in varied._asdict().items()
                }
                values.append(of(perturbed_solution(solution, run.compiled, changes)))
            yield np.array(values)

    @property
    def compared(self) -> float:
        """Step of runs along one direction, over the sizes of parameters."""
        return COMPARED * min(each.step / (PART * each.scale) for each in self.beside)

    def along(
        self, seen: Observed, workers: int
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Directional derivative along all parameters (m,) by differences of five runs.

        With the direction, the error (n,) of the derivative, and the difference of the one-sided
        slopes at a kink (n,).
        """
        signs = np.random.default_rng(SEED).choice([-1.0, 1.0], len(self.beside))
        sizes = np.array([each.scale for each in self.beside]) * signs / math.sqrt(len(self.beside))

        def run(c: float) -> FloatArray:
            """Outputs of a run with all parameters moved by c times their scale."""
            moved = {
                each.name: self.runs.base[each.name] + c * self.compared * size
                for each, size in zip(self.beside, sizes)
            }
            return seen.of(concluded_run(begun(self.runs, moved)))

        with RunThreads(workers) as pool:
            middle, *values = pool.map(run, (0.0, *PLACES))
        derivative, error, _, jump = _concluded(seen, middle, np.array(values), self.compared, FINE)
        return sizes, derivative, error, jump


def concluded_run(run: Begun) -> Solution:
    """The solution of a run from its start, not audited. Raises `SolverError`."""
    status, written = run.ready.run.integrate(None)
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    return unaudited(run.ready, status, written, 0.0)


def _concluded(
    seen: Observed, middle: FloatArray, values: FloatArray, step: float, fine: float
) -> tuple[FloatArray, FloatArray, np.ndarray, FloatArray]:  # fmt: skip
    """Derivatives of outputs with errors, kinks and jumps of the slope.

    From observed values (4, n) at `PLACES` times a step and in the middle. The last array is the
    difference of the derivatives to both sides, where the observed values have a kink.

    The outputs are differenced along the slope of what is seen, with a step of their own, ``fine``.
    """
    slope, slope_error, bend = _differentiated(values, middle, step)
    slope = np.where((bend > 0.0) & seen.single, math.nan, slope)
    here = seen.outputs(middle)
    around = np.array([seen.outputs(middle + c * fine * slope) for c in PLACES])
    found, error, bent = _differentiated(around, here, fine)
    error += np.abs(seen.outputs(middle + fine * (slope + slope_error)) - around[0]) / fine
    return (
        found,
        error,
        (bent > 0.0) | np.isnan(found),
        np.abs(seen.outputs(middle + fine * bend) - here) / fine,
    )


def _differentiated(
    values: FloatArray, middle: FloatArray, step: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Derivative, its error, and the difference of the one-sided slopes.

    From values (4, n) at `PLACES` times a step and in the middle. The difference is zero where
    there is no kink.

    The error of D₄ is about the square of the relative difference of D(h) and D(2h), and round-off;
    at a kink the slopes to both sides differ by a part that does not fall with the step.
    """
    near, far = narrow_and_wide(values, step)
    found = (4.0 * near - far) / 3.0
    change, size = np.abs(near - far), np.maximum(np.abs(found), 1e-300)
    round_off = np.spacing(np.abs(values).max(axis=0)) / step
    bend, further = (
        np.abs(values[k] - 2.0 * middle + values[k + 1]) / (PLACES[k] * step) for k in (0, 2)
    )
    kink = (bend > STAYS * further) & (bend > KINK * size) & (bend > NOISY * round_off)
    return found, change * np.minimum(change / size, 1.0) + round_off, np.where(kink, bend, 0.0)

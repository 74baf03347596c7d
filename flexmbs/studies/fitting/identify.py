"""`identify`: parameters of a model from measured signals.

By least squares, with confidence intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexmbs.api.model import Model
from flexmbs.api.solution import Solution
from flexmbs.checked_arguments import checked_arguments
from flexmbs.console.columns import aligned
from flexmbs.errors import FlexmbsError, InputError, ModelWarning, SolverError, warn_caller
from flexmbs.exports.data_frames import optional
from flexmbs.model.run import Run
from flexmbs.signals.signal_arguments import FloatArray, whole_number
from flexmbs.studies.fitting.derivatives import checked_scales, gradient, noise_of, quick_level
from flexmbs.studies.fitting.gradients import Slopes
from flexmbs.studies.fitting.measurements import Measured, in_units_of, read_measured
from flexmbs.studies.fitting.parameter_bounds import (
    Limits,
    read_limits,
    read_number,
    require_within,
    sizes,
)
from flexmbs.studies.fitting.parameter_runs import Runs, Values, prepared_runs, run_options
from flexmbs.studies.parameters.parameter_paths import Build
from flexmbs.time_stepping.event import Event

if TYPE_CHECKING:
    from pandas import DataFrame

HEADINGS = ("parameter", "value", "deviation", "low", "high")
PASSES = 10  # at most, with weights from the residuals of the pass before
FINER = 4.0  # outputs of controlled steps between two measured values
SETTLED = 0.01  # relative change of the weights at which they are
TOLERANCE = 1e-9  # of least_squares
NO_EFFECT = 1e-6  # relative to the parameter of most effect
# singular value relative to the largest, below which a combination of parameters has no effect, at
# least
DEPENDENT = 1e-5
NOISY = 10.0  # times the noise of derivatives, below which singular values are none
ACCURACY = 1e-4  # of the derivatives in the covariance
CLOSE, EXACT = 0.05, 1e-6  # the step that is left, in standard deviations or in sizes of parameters
# relative change of a parameter in such a combination, over the largest one, from which on it is
# named
SHARE = 0.1
ROUGH = 1e-7  # of a channel: residuals below are round-off, or errors of tight steps
UNLIKELY, CHANCE = 4.0, 3e-5  # standard deviations of chance, and its probability
ALIKE = 0.99  # correlation above which two parameters are hardly distinguishable
ATTEMPTS = 3  # of a search, each from where the one before ended
REFUSED = 1e3  # times the size of the residuals: what stands for a run that is not possible


@dataclass(frozen=True, eq=False)
class Identification:
    """Parameters p of a model that fit measured signals best.

    parameters: names.  values (m,): p.  deviation (m,): standard deviations, infinite for
    parameters that the signals do not determine.  interval (m, 2): the confidence interval of each.
    correlation (m, m): of the estimates.  residuals: measured minus computed values by channel, in
    units of the solution.  noise: standard deviation of each channel, as found or as given. model:
    with these values.  solution: its audited run.  notes: what limits the result, one line each.
    runs: number of runs.
    """

    parameters: tuple[str, ...]
    values: FloatArray
    deviation: FloatArray
    interval: FloatArray
    correlation: FloatArray
    residuals: dict[str, FloatArray] = field(repr=False)
    noise: dict[str, float]
    model: Model = field(repr=False)
    solution: Solution = field(repr=False)
    notes: tuple[str, ...]
    runs: int

    def rows(self) -> list[tuple[str, float, float, float, float]]:
        """(parameter, value, standard deviation, low, high) of every parameter."""
        return [
            (name, float(value), float(deviation), float(low), float(high))
            for name, value, deviation, (low, high) in zip(
                self.parameters, self.values, self.deviation, self.interval
            )
        ]

    def to_dataframe(self) -> DataFrame:
        """A pandas data frame with a row for each parameter. Raises MachineError without pandas."""
        pandas = optional("pandas", "to_dataframe")
        frame: DataFrame = pandas.DataFrame(self.rows(), columns=list(HEADINGS))
        return frame

    def __str__(self) -> str:
        table = aligned(
            [
                HEADINGS,
                *((name, *(f"{number:.6g}" for number in rest)) for name, *rest in self.rows()),
            ]
        )
        noise = [f"noise of {name}: {value:.3g}" for name, value in self.noise.items()]
        return "\n".join([*table, *noise, *(f"note: {note}" for note in self.notes)])


@checked_arguments
def identify(
    model: Build,
    parameters: Sequence[str] | Mapping[str, float],
    measured: Any,
    *,
    t_end: float | None = None,
    step: float | None = None,
    run: Run | None = None,
    events: Sequence[Event] = (),
    bounds: Mapping[str, Any] | None = None,
    noise: Mapping[str, float] | None = None,
    confidence: float = 0.95,
    scales: Mapping[str, float] | None = None,
    workers: int = 1,
) -> Identification:  # fmt: skip
    """Parameters with which a run fits measured signals best.

    With confidence intervals and correlations.

    Least squares of (measured − computed)/σ by `scipy.optimize.least_squares`. Noise σ that is not
    given is estimated for each channel from its own residuals. Derivatives are tangents
    (`sensitivities`) where the runs have them, else differences of runs. Intervals follow from the
    covariance σ²(JᵀJ)⁻¹ and Student's t: they are valid for independent noise and a correct model;
    notes name channels whose residuals follow each other, or exceed a given noise. The run with the
    result is audited. Source: Seber and Wild, Nonlinear Regression (1989), sections 2.1 and 5.1.

    Parameters
    ----------
    model : Model, function or ModelWithParts
        The model, or a function that builds one: parameters without dots are its arguments, by
        keyword; or with its parts.
    parameters : list of paths, or dict of values
        Paths in the model such as ``bodies.tool.mass``; with a dict the values at which the search
        begins, instead of those of the model.
    measured : CSV file, Signal, list of Signal, or dict
        A file whose first column is the time, with headings such as ``joint elbow.0 effort [N m]``,
        the names of `Solution.signal`; or signals with such names and their units; or a dict of
        headings with (times, values). Units such as mm, deg, kN and ms are converted.
    t_end : float [s], optional
        End time, by default that of the model's run, or the last measured one.
    step : float [s], optional
        Fixed step; without it steps are controlled, by default with rtol = 1e-9 and atol = 1e-11.
    run : Run, optional
        Other options of the run, by default the model's.
    events : sequence of Event
        As of `simulate`.
    bounds : dict of pairs, optional
        Lower and upper bounds of parameters, None for no bound.
    noise : dict of floats, optional
        Known standard deviations of channels, in units of the solution.
    confidence : float
        Probability of the intervals.
    scales : dict of floats, optional
        Sizes of parameters, by which steps are chosen; by default the absolute values at the start.
    workers : int
        Number of runs at the same time, in threads.

    Returns
    -------
    Identification
        Values with deviations, intervals, correlations, residuals; printed as a table. A
        `ModelWarning` names parameters that the signals do not determine.

    Raises
    ------
    InputError
        For parameters, measurements, models and options that are not possible.
    SolverError
        If the run at the start stops, or the search does not converge.

    Examples
    --------
    The stiffness of an oscillator of 1 kg from its measured motion, x = 0.1 cos 12 t:

    >>> import flexmbs as fm
    >>> import numpy as np
    >>> model = fm.Model("oscillator", gravity=(0, 0, 0))
    >>> block = model.add(fm.PointMass("block", mass=1.0))
    >>> rail = model.add(fm.Prismatic("rail", model.ground, block, q0=0.1))
    >>> spring = model.add(fm.JointSpring("spring", rail, k=100.0))
    >>> t = np.linspace(0.0, 0.5, 51)
    >>> measured = {"joint rail.0 position [m]": (t, 0.1 * np.cos(12.0 * t))}
    >>> found = fm.identify(model, ["forces.spring.k"], measured, step=1e-3)
    >>> found.values.round().tolist()  # 12² · 1 kg
    [144.0]
    """
    confidence = read_number(confidence, "confidence")
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence: must be within 0 … 1, not {confidence:g}")
    workers = whole_number(workers, "workers", least=1, most=1000)
    signals = read_measured(measured)
    # of splines through the outputs
    options = run_options(run, t_end, step) | {"output_step": None}
    last = max(float(each.t[-1]) for each in signals)
    runs = prepared_runs(model, parameters, options, events, lambda solution: np.zeros(0), end=last)
    if runs.options["step"] is None:
        runs = runs.with_outputs(min(float(np.diff(each.t).min()) for each in signals) / FINER)
    limits = read_limits(bounds, "bounds", list(runs.base))
    require_within(runs.base, limits)
    scale = sizes(runs.base, checked_scales(scales, runs.base), limits)
    fit = Fit(runs, in_units_of(signals, runs.solution(runs.base)), scale, limits, workers)
    return _identified(fit, _read_noise(noise, fit.channels), confidence)


class Fit:
    """A problem of least squares: runs, measured channels, sizes and bounds of parameters."""

    def __init__(
        self,
        runs: Runs,
        measured: list[Measured],
        scale: dict[str, float],
        bounds: dict[str, Limits],
        workers: int,
    ) -> None:
        """Least-squares problem of runs and measured signals in scaled parameters."""
        self.runs = runs.evaluating(self.computed)
        self.measured, self.workers, self.count = measured, workers, 0
        self.known: dict[tuple[str, bytes], FloatArray] = {}
        self.names, self.scale = list(runs.base), scale
        self.start = np.array([runs.base[name] / scale[name] for name in self.names])
        low, high = np.array([bounds.get(name, (-np.inf, np.inf)) for name in self.names]).T
        size = np.array([scale[name] for name in self.names])
        self.bounds = low / size, high / size
        self.channels = [each.channel for each in measured]
        self.ends = np.cumsum([len(each.t) for each in measured])
        self.data = np.concatenate([each.values for each in measured])
        middle = self.runs(runs.base)
        middle.course.require_smooth()
        noise = float(
            np.linalg.norm(noise_of(self.runs, runs.base, middle))
            / (np.linalg.norm(middle.values) or 1.0)
        )
        self.level = quick_level(noise)
        self.derivatives = Slopes(self.runs, scale, level=self.level, workers=workers)
        self.dependent = max(DEPENDENT, NOISY * noise / 0.5**self.level)

    def computed(self, solution: Solution) -> FloatArray:
        """Outputs of a solution at the measured times."""
        return np.concatenate([each.of(solution) for each in self.measured])

    def values(self, x: FloatArray) -> Values:
        """Parameter values by name from scaled parameters x."""
        return {name: float(value) * self.scale[name] for name, value in zip(self.names, x)}

    def residuals(self, x: FloatArray) -> FloatArray:
        """Measured minus computed values. Raises `InputError`, `SolverError`."""
        return self._once("residuals", x, self._residuals)

    def slopes(self, x: FloatArray) -> FloatArray:
        """Jacobian of the residuals with respect to the scaled parameters."""
        return self._once("slopes", x, self._slopes)

    def _once(self, what: str, x: FloatArray, of: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Cache of evaluations shared by reweighted passes."""
        key = what, x.tobytes()
        if key not in self.known:
            self.known[key] = of(x)
        return self.known[key]

    def _residuals(self, x: FloatArray) -> FloatArray:
        """Differences between data and run at scaled parameters x."""
        self.count += 1
        return self.data - self.runs(self.values(x)).values

    def _slopes(self, x: FloatArray) -> FloatArray:
        """Jacobian of the residuals with respect to scaled parameters x."""
        before = self.derivatives.count
        J = self.derivatives(self.values(x))
        self.count += self.derivatives.count - before
        return -J * np.array([self.scale[name] for name in self.names])

    def refined(self, found: Estimate) -> tuple[Estimate, tuple[str, ...]]:
        """Estimate with accurate derivatives, and notes on their accuracy."""
        exact = gradient(
            self.runs, self.scale, accuracy=ACCURACY, workers=self.workers, at=self.values(found.x)
        )
        self.count += exact.count
        J = -exact.derivative * np.array([self.scale[name] for name in self.names])
        return found._replace(slopes=np.where(np.isfinite(J), J, found.slopes)), exact.notes

    def parts(self, values: FloatArray) -> dict[str, FloatArray]:
        """Split values into those of each channel."""
        return dict(zip(self.channels, np.split(values, self.ends[:-1])))

    def spread(self, noise: Mapping[str, float]) -> FloatArray:
        """Standard deviation of the noise of every value."""
        return np.concatenate([np.full(len(each.t), noise[each.channel]) for each in self.measured])


class SearchDirections(NamedTuple):
    """Singular value decomposition J = left · singular · right · size.

    lost: parameters without effect. keep: combinations with effect.
    """

    left: FloatArray
    singular: FloatArray
    right: FloatArray
    size: FloatArray
    lost: np.ndarray
    keep: np.ndarray

    @property
    def effective(self) -> FloatArray:
        """Jacobian without ineffective directions, extended by rows of zero residuals.

        The derivatives of these residuals keep a search from changing combinations of parameters
        without effect. Without these rows it would change them arbitrarily, as J does not have full
        rank.
        """
        J = (self.left[:, self.keep] * self.singular[self.keep]) @ self.right[self.keep]
        held = self.right[~self.keep].T @ self.right[~self.keep]
        return np.vstack([J, self.singular[0] * held]) * self.size


def directions(J: FloatArray, least: float) -> SearchDirections:
    """Singular values of J (n, m) with columns of unit length.

    Those below ``least`` of the largest have no effect.
    """
    size = np.linalg.norm(J, axis=0)
    lost = size <= NO_EFFECT * size.max(initial=0.0)
    size = np.where(lost, 1.0, size)
    left, singular, right = np.linalg.svd(np.where(lost, 0.0, J / size), full_matrices=False)
    return SearchDirections(left, singular, right, size, lost, singular > least * singular[0])


class Estimate(NamedTuple):
    """Result of a search: relative parameters, residuals, their derivatives."""

    x: FloatArray
    residuals: FloatArray
    slopes: FloatArray


def _identified(fit: Fit, known: dict[str, float], confidence: float) -> Identification:
    """Parameters with noise levels and confidence intervals, from repeated fits."""
    if len(fit.data) <= len(fit.names):
        raise InputError(
            f"measured: {len(fit.data)} values cannot determine {len(fit.names)} "
            "parameters and their errors; give more"
        )
    noise = known or _first_noise(fit)
    found = _search(fit, fit.start, noise)
    for _ in range(PASSES):
        if known:
            break
        before, noise = noise, _noise(fit, found)
        if len(fit.channels) == 1 or all(
            abs(noise[name] / before[name] - 1.0) < SETTLED for name in noise
        ):
            break
        found = _search(fit, found.x, noise)
    found, limits = fit.refined(found)
    deviation, correlation, notes = _statistics(fit, found, noise)
    notes += limits
    values = fit.values(found.x)
    half = deviation * _quantile(confidence, None if known else len(fit.data) - len(fit.names))
    at = np.array(list(values.values()))
    notes += _doubts(fit, found, known)
    notes += [
        f"{name} ends at its bound {values[name]:.6g}: its interval is not valid"
        for name in _at_bounds(fit, found.x)
    ]
    if notes:
        warn_caller("; ".join(notes), ModelWarning)
    return Identification(
        tuple(fit.names),
        at,
        deviation,
        np.stack([at - half, at + half], axis=1),
        correlation,
        fit.parts(found.residuals),
        noise,
        fit.runs.model(values),
        fit.runs.audited(values),
        tuple(notes),
        fit.count,
    )


def _search(fit: Fit, start: FloatArray, noise: Mapping[str, float]) -> Estimate:
    """Least-squares estimate with these noise levels as weights. Raises `SolverError`."""
    from scipy.optimize import least_squares

    spread = fit.spread(noise)
    first = fit.residuals(start) / spread
    impossible = np.full(len(first), REFUSED * (1.0 + np.abs(first).max()))

    held = np.zeros(len(start))

    def residuals(x: FloatArray) -> FloatArray:
        """Weighted residuals and regularization; constants for a failed run."""
        try:
            return np.concatenate([fit.residuals(x) / spread, held])
        except FlexmbsError:
            return np.concatenate([impossible, held])

    at = start
    for _ in range(ATTEMPTS):
        found = least_squares(
            residuals,
            at,
            lambda x: directions(fit.slopes(x) / spread[:, None], fit.dependent).effective,
            fit.bounds,
            ftol=TOLERANCE,
            xtol=TOLERANCE,
            gtol=TOLERANCE,
        )
        at, f, J = found.x, found.fun[: len(spread)], found.jac[: len(spread)]
        if found.success and _small_step_left(fit, at, f, J):
            return Estimate(at, f * spread, J * spread[:, None])
    values = ", ".join(f"{name} = {value:.6g}" for name, value in fit.values(found.x).items())
    raise SolverError(
        f"identify: the search does not converge, last at {values}; begin nearer, or set bounds"
    )


def _small_step_left(fit: Fit, x: FloatArray, residuals: FloatArray, J: FloatArray) -> bool:
    """True if the remaining Gauss–Newton step is small.

    Relative to the deviations or to the parameters.
    """
    free = ~np.isin(fit.names, _at_bounds(fit, x))
    if not free.any() or not J[:, free].any():
        return True
    of = directions(J[:, free], fit.dependent)
    left, singular, right = of.left[:, of.keep], of.singular[of.keep], of.right[of.keep]
    step = right.T @ (left.T @ residuals / singular) / of.size
    unit = (
        np.sqrt(np.mean(residuals**2))
        * np.sqrt(np.sum((right.T / singular) ** 2, axis=1))
        / of.size
    )
    return bool((np.abs(step) <= np.maximum(CLOSE * unit, EXACT)).all())


def _first_noise(fit: Fit) -> dict[str, float]:
    """Root mean square of each channel, as noise level of the first pass."""
    sizes = {
        name: float(np.sqrt(np.mean(values**2))) for name, values in fit.parts(fit.data).items()
    }
    return {name: size or 1.0 for name, size in sizes.items()}


def _noise(fit: Fit, found: Estimate) -> dict[str, float]:
    """Standard deviation of each channel from its residuals.

    Each channel has its share of the degrees of freedom.
    """
    share = 1.0 - len(fit.names) / len(fit.data)
    least = 1e-12 * np.abs(fit.data).max(initial=1e-300)
    return {
        name: max(float(np.sqrt(np.mean(values**2) / share)), float(least))
        for name, values in fit.parts(found.residuals).items()
    }


def _statistics(
    fit: Fit, found: Estimate, noise: Mapping[str, float]
) -> tuple[FloatArray, FloatArray, list[str]]:
    """Standard deviations and correlations of the parameters.

    And combinations that the signals do not determine.
    """
    of = directions(found.slopes / fit.spread(noise)[:, None], DEPENDENT)
    lost = of.lost.copy()
    notes = [
        f"{name} has no effect on the measured signals"
        for name, gone in zip(fit.names, lost)
        if gone
    ]
    for row in of.right[~of.keep]:
        change = np.where(of.lost | (np.abs(row) < DEPENDENT), 0.0, np.abs(row) / of.size)
        named = [name for name, part in zip(fit.names, change) if part > SHARE * change.max()]
        if named:
            lost |= np.isin(fit.names, named)
            notes.append(
                f"{' and '.join(named)} cannot be distinguished: a combined change of them "
                "has no effect on the signals"
            )
    C = (of.right[of.keep].T / of.singular[of.keep] ** 2) @ of.right[of.keep]
    variance = np.diag(C)
    outer = np.sqrt(np.outer(variance, variance))
    correlation = np.divide(C, outer, out=np.eye(len(C)), where=outer > 0.0)
    for i, k in zip(*np.triu_indices(len(C), 1)):
        if abs(correlation[i, k]) > ALIKE and not (lost[i] or lost[k]):
            notes.append(
                f"{fit.names[i]} and {fit.names[k]} are nearly indistinguishable, correlation "
                f"{correlation[i, k]:.4f}"
            )
    scale = np.array([fit.scale[name] for name in fit.names])
    deviation = np.where(lost, np.inf, scale * np.sqrt(variance) / of.size)
    return deviation, correlation, notes


def _doubts(fit: Fit, found: Estimate, known: Mapping[str, float]) -> list[str]:
    """Notes on channels whose residuals are correlated or exceed the known noise.

    For independent noise, neighbours are uncorrelated within 1/√n, and Σ r²/σ² is distributed as χ²
    with n degrees of freedom.
    """
    from scipy.stats import chi2

    notes = []
    for (name, r), data in zip(fit.parts(found.residuals).items(), fit.parts(fit.data).values()):
        total = float(r @ r)
        if total <= len(r) * (ROUGH * np.abs(data).max()) ** 2:
            continue
        alike = float(r[1:] @ r[:-1]) / total
        if alike * np.sqrt(len(r)) > UNLIKELY:
            notes.append(
                f"residuals of {name} follow each other, correlation {alike:.2f}, and "
                "intervals hold for independent noise: "
                "model, steps or the start of the search may be wrong"
            )
        if known and total > known[name] ** 2 * chi2.isf(CHANCE, len(r)):
            notes.append(
                f"residuals of {name} are {np.sqrt(total / len(r)) / known[name]:.3g} "
                "times the noise that was given"
            )
    return notes


def _quantile(confidence: float, freedoms: int | None) -> float:
    """Half width of an interval in standard deviations.

    Student's t, or the normal distribution for known noise.
    """
    from scipy.stats import norm, t

    q = 0.5 + 0.5 * confidence
    return float(norm.ppf(q) if freedoms is None else t.ppf(q, freedoms))


def _at_bounds(fit: Fit, x: FloatArray) -> list[str]:
    """Names of the parameters at a bound."""
    low, high = fit.bounds
    near = (x - low < 1e-6) | (high - x < 1e-6)
    return [name for name, at in zip(fit.names, near) if at]


def _read_noise(given: Any, channels: Sequence[str]) -> dict[str, float]:
    """Known noise of all channels, or nothing. Raises `InputError`."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or set(given) != set(channels):
        raise InputError(
            f"noise: give a standard deviation for each measured channel: {', '.join(channels)}"
        )
    found = {name: read_number(given[name], f"noise.{name}") for name in channels}
    for name, value in found.items():
        if value <= 0.0:
            raise InputError(f"noise.{name}: must be > 0, not {value:g}")
    return found

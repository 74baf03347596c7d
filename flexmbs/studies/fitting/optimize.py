"""`optimize`: values of parameters for which an output of a run is smallest.

Within bounds and limits of other outputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexmbs.api.model import Model
from flexmbs.api.solution import Solution
from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import shown
from flexmbs.errors import FlexmbsError, InputError, ModelWarning, SolverError, warn_caller
from flexmbs.exports.data_frames import optional
from flexmbs.model.run import Run
from flexmbs.signals.signal_arguments import FloatArray, whole_number
from flexmbs.studies.fitting.derivatives import checked_scales
from flexmbs.studies.fitting.gradients import Slopes
from flexmbs.studies.fitting.parameter_bounds import Limits, read_limits, require_within, sizes
from flexmbs.studies.fitting.parameter_runs import Runs, Values, prepared_runs, run_options
from flexmbs.studies.parameters.outputs import Output, coarse, evaluated, read_outputs
from flexmbs.studies.parameters.parameter_paths import Build
from flexmbs.studies.parameters.threads import RunThreads
from flexmbs.time_stepping.event import Event

if TYPE_CHECKING:
    from pandas import DataFrame

METHODS = ("gradient", "global")
TOLERANCE = 1e-9  # of the scaled objective of SLSQP
FLAT = 1e-10  # relative derivatives of an objective that is stationary
CLOSE = 1e-6  # violation of a limit, relative to the size of its output, that is none
NEAR = 1e-3  # of the size of a parameter, from an end to a run that is not possible
REFUSED = 1e6  # what stands for the outputs of a run that is not possible
SEED = 1  # of differential evolution: the same search each time


@dataclass(frozen=True, eq=False)
class Optimum:
    """The values of parameters with which an output is smallest.

    parameters: names.  values (m,): at the optimum.  outputs: names of the objective and of what is
    limited.  results (n,): their values there.  history (k, m + n): parameters and outputs of all
    runs of the search, NaN for runs that were not possible. feasible: whether all limits hold.
    message: how the search ended.  model: with these values.  solution: its audited run. notes:
    what is to be known, one line each.  runs: number of runs, those for derivatives included.
    """

    parameters: tuple[str, ...]
    values: FloatArray
    outputs: tuple[str, ...]
    results: FloatArray
    history: FloatArray = field(repr=False)
    feasible: bool
    message: str
    model: Model = field(repr=False)
    solution: Solution = field(repr=False)
    notes: tuple[str, ...]
    runs: int

    def to_dataframe(self) -> DataFrame:
        """The history as a pandas data frame, a row for each run.

        Raises MachineError without pandas.
        """
        pandas = optional("pandas", "to_dataframe")
        frame: DataFrame = pandas.DataFrame(self.history, columns=[*self.parameters, *self.outputs])
        return frame

    def __str__(self) -> str:
        lines = [
            *(f"{name} = {value:.6g}" for name, value in zip(self.parameters, self.values)),
            *(f"{name}: {value:.6g}" for name, value in zip(self.outputs, self.results)),
            f"{self.runs} runs; {self.message}",
        ]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


@checked_arguments
def optimize(
    model: Build,
    parameters: Sequence[str] | Mapping[str, float],
    minimize: Any,
    *,
    t_end: float | None = None,
    step: float | None = None,
    run: Run | None = None,
    events: Sequence[Event] = (),
    bounds: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    method: str = "gradient",
    scales: Mapping[str, float] | None = None,
    most: int = 100,
    workers: int = 1,
) -> Optimum:  # fmt: skip
    """Values of parameters for which an output of a run is smallest.

    Other outputs remain within limits.

    "gradient" is SLSQP of `scipy.optimize.minimize` with derivatives by tangents where the runs
    have them, else by differences, for smooth outputs: it finds a minimum near the start. "global"
    is `scipy.optimize.differential_evolution`, for outputs with jumps or many minima; it needs
    bounds of all parameters. The run at the optimum is audited. Sources: Kraft, DFVLR-FB 88-28
    (1988); Storn and Price, J. Global Optimization 11 (1997) 341.

    Parameters
    ----------
    model : Model, function or ModelWithParts
        The model, or a function that builds one: parameters without dots are its arguments, by
        keyword; or with its parts.
    parameters : list of paths, or dict of values
        Paths in the model such as ``bodies.tool.mass``; with a dict the values at which the search
        begins, instead of those of the model.
    minimize : text or function
        The output to be minimized, as for `sensitivities`, or the name of one in ``outputs``.
    t_end : float [s], optional
        End time.
    step : float [s], optional
        Fixed step; without it steps are controlled, by default with rtol = 1e-9 and atol = 1e-11.
    run : Run, optional
        Other options of the run, by default the model's.
    events : sequence of Event
        As of `simulate`.
    bounds : dict of pairs, optional
        Lower and upper bounds of parameters, None for no bound.
    limits : dict of pairs, optional
        Smallest and largest allowed values of outputs, None for no limit, by texts of outputs or
        names in ``outputs``.
    outputs : dict of texts or functions, optional
        Outputs with names.
    method : 'gradient' or 'global'
        The search.
    scales : dict of floats, optional
        Sizes of parameters, by which steps are chosen; by default the absolute values at the start.
    most : int
        Number of iterations, or of generations, at most.
    workers : int
        Number of runs at the same time, in threads.

    Returns
    -------
    Optimum
        Values, outputs and the history of the search. A `ModelWarning` if limits are not kept or
        the search did not end.

    Raises
    ------
    InputError
        For parameters, outputs, models and options that are not possible.
    SolverError
        If the run at the start stops.

    Examples
    --------
    The initial velocity with which a block on a spring is at its rest position after 0.1 s,
    0 = x₀ cos ω t + v₀/ω sin ω t:

    >>> import flexmbs as fm
    >>> model = fm.Model("oscillator", gravity=(0, 0, 0))
    >>> block = model.add(fm.PointMass("block", mass=1.0))
    >>> rail = model.add(fm.Prismatic("rail", model.ground, block, q0=0.1, v0=0.0))
    >>> spring = model.add(fm.JointSpring("spring", rail, k=100.0))
    >>> def distance(run):
    ...     return 1e3 * float(run.joint("rail").position[-1, 0]) ** 2
    >>> found = fm.optimize(model, ["joints.rail.v0"], distance, t_end=0.1, step=1e-3)
    >>> found.values.round(3).tolist()  # −x₀ ω cot ω t
    [-0.642]
    """
    if method not in METHODS:
        raise InputError(f"method: must be 'gradient' or 'global', not {shown(method)}")
    most, workers = (
        whole_number(most, "most", least=1, most=10**6),
        whole_number(workers, "workers", least=1, most=1000),
    )
    allowed = read_limits(limits, "limits")
    wanted = _requested_outputs(minimize, allowed, outputs)
    runs = prepared_runs(
        model,
        parameters,
        run_options(run, t_end, step),
        events,
        lambda solution: evaluated(wanted, solution),
    )
    within = read_limits(bounds, "bounds", list(runs.base))
    require_within(runs.base, within)
    search = PointSearch(
        runs, sizes(runs.base, checked_scales(scales, runs.base), within), within, workers
    )
    constraints = [allowed[output.name] for output in wanted[1:]]
    values, message = (_descent if method == "gradient" else _evolution)(search, constraints, most)
    return _optimum(search, wanted, constraints, values, message)


class ConstraintSide(NamedTuple):
    """One-sided constraint sign · (output − limit) ≥ 0 of a row of the outputs.

    Relative to their sizes.
    """

    row: int
    sign: float
    limit: float


class PointSearch:
    """Runs at points x of scaled parameters, each computed once, with their history."""

    def __init__(
        self, runs: Runs, scale: dict[str, float], bounds: dict[str, Limits], workers: int
    ) -> None:
        """Search in scaled parameters within bounds."""
        self.runs, self.scale, self.workers = runs, scale, workers
        self.names, self.size = list(runs.base), np.array(list(scale.values()))
        self.start = np.array(list(runs.base.values())) / self.size
        self.bounds = (
            np.array([bounds.get(name, (-math.inf, math.inf)) for name in self.names])
            / self.size[:, None]
        )
        self.derivatives = Slopes(runs, scale, workers=workers)
        result = runs(runs.base)
        self.first, self.course = result.values, result.course
        self.level = np.where(self.first == 0.0, 1.0, np.abs(self.first))
        self.known: dict[bytes, FloatArray] = {self.start.tobytes(): self.first}
        self.slopes: dict[bytes, FloatArray] = {}
        self.history: list[FloatArray] = [np.concatenate([self.start * self.size, self.first])]
        self.count = 1

    def values(self, x: FloatArray) -> Values:
        """Parameter values by name from scaled parameters x."""
        return dict(zip(self.names, (x * self.size).tolist()))

    def relative(self, x: FloatArray) -> FloatArray:
        """Outputs at a point relative to their sizes at the start; NaN where the run failed."""
        key = x.tobytes()
        if key not in self.known:
            self.count += 1
            try:
                found = self.runs(self.values(x)).values
            except FlexmbsError:
                found = np.full(len(self.first), math.nan)
            self.known[key] = found
            self.history.append(np.concatenate([x * self.size, found]))
        return self.known[key] / self.level

    def objective(self, x: FloatArray) -> float:
        """Objective at a point, relative to its size at the start."""
        return float(np.nan_to_num(self.relative(x)[0], nan=REFUSED))

    def kept(self, x: FloatArray, side: ConstraintSide) -> float:
        """Relative constraint margin; large and negative for a failed run."""
        return float(
            np.nan_to_num(side.sign * (self.relative(x)[side.row] - side.limit), nan=-REFUSED)
        )

    def slope(self, x: FloatArray) -> FloatArray:
        """Derivatives of the relative outputs. Raises `SolverError`."""
        key = x.tobytes()
        if key not in self.slopes:
            before = self.derivatives.count
            try:
                J = self.derivatives(self.values(x))
            except SolverError as error:
                raise SolverError(
                    f"optimize: {error}; set bounds that keep the search from there, or "
                    "method='global'"
                ) from None
            self.count += self.derivatives.count - before
            # SLSQP of SciPy 1.17 reads on in memory
            self.slopes[key] = np.ascontiguousarray(J * self.size / self.level[:, None])
        return self.slopes[key]


def _requested_outputs(minimize: Any, limits: Mapping[str, Limits], named: Any) -> list[Output]:
    """Outputs to evaluate: the objective first, then the limited ones. Raises `InputError`."""
    if named is not None and not isinstance(named, Mapping):
        raise InputError(f"outputs: {shown(named)} is not a dict of outputs, {{'name': function}}")
    named = dict(named or {})
    name = minimize if isinstance(minimize, str) else getattr(minimize, "__name__", "objective")
    found = read_outputs(
        {name: named.get(name, minimize) if isinstance(minimize, str) else minimize}, "minimize"
    )
    for limited in limits:
        found += read_outputs({limited: named.get(limited, limited)}, "limits")
    unused = [name for name in named if name not in {output.name for output in found}]
    if unused:
        raise InputError(
            f"outputs: '{unused[0]}' is neither minimized nor limited; name it there, or "
            "leave it out"
        )
    return found


def _sides(search: PointSearch, constraints: Sequence[Limits]) -> Iterator[ConstraintSide]:
    """One-sided constraints (output, bound, sign) of the limited outputs."""
    for row, (low, high) in enumerate(constraints, 1):
        for sign, limit in ((1.0, low), (-1.0, high)):
            if math.isfinite(limit):
                yield ConstraintSide(row, sign, limit / float(search.level[row]))


def _descent(
    search: PointSearch, constraints: Sequence[Limits], most: int
) -> tuple[FloatArray, str]:
    """Run SLSQP from the start; (point reached, message)."""
    from scipy.optimize import minimize

    search.course.require_smooth()
    sides = [
        {
            "type": "ineq",
            "fun": lambda x, side=side: search.kept(x, side),
            "jac": lambda x, side=side: side.sign * search.slope(x)[side.row],
        }
        for side in _sides(search, constraints)
    ]
    found = minimize(
        search.objective, search.start, jac=lambda x: search.slope(x)[0], bounds=search.bounds,
        constraints=sides, method="SLSQP", options={"maxiter": most, "ftol": TOLERANCE},
    )  # fmt: skip
    return np.asarray(
        found.x
    ), "the search has converged" if found.success else f"not converged: {found.message}"


def _evolution(
    search: PointSearch, constraints: Sequence[Limits], most: int
) -> tuple[FloatArray, str]:
    """Run differential evolution; (point, message). Raises `InputError` without bounds."""
    from scipy.optimize import NonlinearConstraint, differential_evolution

    for name, pair in zip(search.names, search.bounds):
        if not np.isfinite(pair).all():
            raise InputError(
                f"bounds.{name}: method 'global' needs both bounds of every parameter, "
                f"{{'{name}': (low, high)}}"
            )
    sides = list(_sides(search, constraints))
    kept = (
        NonlinearConstraint(lambda x: [search.kept(x, side) for side in sides], 0.0, np.inf)
        if sides
        else ()
    )
    with RunThreads(search.workers) as pool:

        def mapped(function: Any, points: Iterable[FloatArray]) -> list[Any]:
            """Values of a function at points, computed by the pool."""
            return list(pool.map(function, points))

        found = differential_evolution(
            search.objective,
            search.bounds,
            x0=search.start,
            constraints=kept,
            maxiter=most,
            seed=SEED,
            workers=mapped,
            updating="deferred",
            polish=False,
        )
    return np.asarray(
        found.x
    ), "the search has converged" if found.success else f"not converged: {found.message}"


def _optimum(
    search: PointSearch,
    wanted: Sequence[Output],
    constraints: Sequence[Limits],
    x: FloatArray,
    message: str,
) -> Optimum:
    """Result at the point x, with limits that are not kept."""
    results = search.relative(x) * search.level
    broken = [
        f"{output.name} = {value:.6g} is not within its limits {low:g} … {high:g}"
        for output, value, size, (low, high) in zip(
            wanted[1:], results[1:], search.level[1:], constraints
        )
        if not low - CLOSE * size <= value <= high + CLOSE * size
    ]
    values = search.values(x)
    ends = [f"{name} is at its bound {values[name]:.6g}" for name in _at_bounds(search, x)]
    failed = [row[: len(x)] / search.size for row in search.history if np.isnan(row).any()]
    if any(np.abs(each - x).max() < NEAR for each in failed):
        ends.append(
            "runs next to it are not possible: it may be the limit of feasible values, not a minimum"
        )
    slope = search.slopes.get(x.tobytes())
    if np.array_equal(x, search.start) and slope is not None and np.abs(slope[0]).max() <= FLAT:
        ends.append(
            f"{wanted[0].name} has no slope at the start, which may be no minimum: begin "
            "elsewhere too"
        )
    solution = search.runs.audited(values)
    rough = coarse(wanted, solution)
    doubts = ([message] if message.startswith("not") else []) + broken + rough
    if doubts:
        warn_caller(f"optimize: {'; '.join(doubts)}", ModelWarning)
    return Optimum(
        tuple(search.names),
        x * search.size,
        tuple(output.name for output in wanted),
        results,
        np.array(search.history),
        not broken,
        message,
        search.runs.model(values),
        solution,
        (*broken, *ends, *rough),
        search.count,
    )


def _at_bounds(search: PointSearch, x: FloatArray) -> list[str]:
    """Names of the parameters at a bound."""
    low, high = search.bounds.T
    return [name for name, at in zip(search.names, (x - low < CLOSE) | (high - x < CLOSE)) if at]

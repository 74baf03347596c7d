"""`sensitivities`: derivatives of the outputs of a run by parameters of its model.

With error estimates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.api.solution import Solution
from flexmbs.checked_arguments import checked_arguments
from flexmbs.console.columns import aligned
from flexmbs.declaration import require_known, shown
from flexmbs.errors import InputError, ModelWarning, warn_caller
from flexmbs.exports.data_frames import optional
from flexmbs.model.run import Run
from flexmbs.signals.signal_arguments import FloatArray, whole_number
from flexmbs.studies.fitting.derivatives import checked_scales, gradient
from flexmbs.studies.fitting.gradients import exact_gradient
from flexmbs.studies.fitting.parameter_bounds import read_number
from flexmbs.studies.fitting.parameter_runs import prepared_runs, run_options
from flexmbs.studies.parameters.outputs import Output, coarse, evaluated, read_outputs, units
from flexmbs.studies.parameters.parameter_paths import Build
from flexmbs.time_stepping.event import Event

if TYPE_CHECKING:
    from pandas import DataFrame

METHODS = ("differences", "tangent", "adjoint")
HEADINGS = ("output", "parameter", "derivative", "error", "relative")


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """Derivatives ∂y/∂p of outputs y by parameters p.

    ``found["output", "parameter"]`` is one of them.

    outputs, units (n,): names of the outputs.  values (n,): their values.  parameters (m,): names.
    at (m,): values of the parameters.  gradient (n, m): ∂y/∂p, NaN where there is none, see
    ``notes``.  error (n, m): estimates of its errors. solution: the audited run at these values.
    notes: what limits the derivatives, one line each.  runs: number of runs.
    """

    outputs: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray
    parameters: tuple[str, ...]
    at: FloatArray
    gradient: FloatArray
    error: FloatArray
    solution: Solution = field(repr=False)
    notes: tuple[str, ...]
    runs: int

    @property
    def relative(self) -> FloatArray:
        """Relative sensitivities (p/y) ∂y/∂p (n, m); NaN where y is zero."""
        y = np.where(self.values == 0.0, np.nan, self.values)[:, None]
        return self.at * self.gradient / y

    def __getitem__(self, pair: tuple[str, str]) -> float:
        """∂y/∂p of (output, parameter). Raises InputError for names that are not there."""
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InputError(f"sensitivities: take [output, parameter], not {pair!r}")
        for name, known in zip(pair, (self.outputs, self.parameters)):
            require_known(name, known, f"sensitivities: '{name}' is not there")
        return float(self.gradient[self.outputs.index(pair[0]), self.parameters.index(pair[1])])

    def rows(self) -> list[tuple[str, str, float, float, float]]:
        """(output, parameter, derivative, error, relative sensitivity) of every pair."""
        return [
            (y, p, *(float(array[i, k]) for array in (self.gradient, self.error, self.relative)))  # type: ignore[misc]
            for i, y in enumerate(self.outputs)
            for k, p in enumerate(self.parameters)
        ]

    def to_dataframe(self) -> DataFrame:
        """A pandas data frame with a row for each output and parameter.

        Raises MachineError without pandas.
        """
        pandas = optional("pandas", "to_dataframe")
        frame: DataFrame = pandas.DataFrame(self.rows(), columns=list(HEADINGS))
        return frame

    def __str__(self) -> str:
        table = aligned(
            [
                HEADINGS,
                *((y, p, f"{d:.6g}", f"{e:.1e}", f"{r:.4g}") for y, p, d, e, r in self.rows()),
            ]
        )
        return "\n".join([*table, *(f"note: {note}" for note in self.notes)])


@checked_arguments
def sensitivities(
    model: Build,
    parameters: Sequence[str] | Mapping[str, float],
    outputs: Any,
    *,
    t_end: float | None = None,
    step: float | None = None,
    run: Run | None = None,
    events: Sequence[Event] = (),
    method: str = "differences",
    accuracy: float = 1e-6,
    scales: Mapping[str, float] | None = None,
    workers: int = 1,
) -> Sensitivities:  # fmt: skip
    """Derivatives of outputs of a run by parameters of its model, with error estimates.

    "differences": central differences of whole runs, extrapolated to the step zero. Steps are
    halved until the estimated errors are below ``accuracy``, or noise prevents it; noise is
    measured by runs that differ by rounding or in their tolerances. Runs that take another course,
    with other events, impacts, states of rigid contacts or another end, are not differentiated
    across: where smaller steps find no others, the derivative is NaN, as it is of outputs with a
    kink. Outputs take account of the times of impacts with ``integrator="event-driven"``; time
    stepping, which closes contacts at the ends of steps, is refused.

    "tangent": the steps of the run are differentiated, of generalized-α or Dormand and Prince with
    a fixed step. The equations of a step are exact, the terms of the equations of motion in them
    are differenced in single evaluations, or explicit steps one by one, never runs; relative errors
    are about 1e-9. One direction is compared with differences of runs. What is not smooth is
    refused: events, rigid contacts, discrete controllers, friction that depends on reactions, jumps
    of drives, kinks. All runs here solve implicit steps to 1e-13; differences of own ones, which
    `simulate` solves to 1e-9, are less exact.

    "adjoint": the same steps of generalized-α backwards, one pass for all outputs, which are those
    of channels.

    The run at the given values is audited.

    Parameters
    ----------
    model : Model, function or ModelWithParts
        The model, or a function that builds one: parameters without dots are its arguments, by
        keyword; or with its parts.
    parameters : list of paths, or dict of values
        Paths in the model such as ``bodies.tool.mass`` (`parameters` lists them); with a dict the
        values at which to differentiate, instead of those of the model.
    outputs : text, function, list or dict of them
        ``"max joint elbow.0 effort"``: first, last, min, max, peak, range, mean, integral, rms, or
        ``at 0.5`` (s), then the name of a channel of `Solution.signal`; or functions of the
        solution that return a number.
    t_end : float [s], optional
        End time.
    step : float [s], optional
        Fixed step; without it steps are controlled, by default with rtol = 1e-9 and atol = 1e-11.
    run : Run, optional
        Other options of the run, by default the model's.
    events : sequence of Event
        As of `simulate`.
    method : 'differences', 'tangent' or 'adjoint'
        How derivatives are found.
    accuracy : float
        Wanted relative error of the derivatives by differences.
    scales : dict of floats, optional
        Sizes of parameters, of which the first steps are a hundredth; by default their absolute
        values, 1 for a zero.
    workers : int
        Number of runs at the same time, in threads.

    Returns
    -------
    Sensitivities
        Values, derivatives, errors and relative sensitivities; printed as a table.

    Raises
    ------
    InputError
        For parameters, outputs, models and options that are not possible.
    SolverError
        If the run at the given values stops, or differences of runs contradict the steps.

    Source: docs/theory.md, section 57.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("oscillator", gravity=(0, 0, 0))
    >>> mass = model.add(fm.PointMass("mass", mass=2.0))
    >>> guide = model.add(fm.Prismatic("guide", model.ground, mass, axis="x", q0=0.1))
    >>> spring = model.add(fm.JointSpring("spring", guide, k=50.0))
    >>> found = fm.sensitivities(
    ...     model, ["joints.guide.q0"], ["max joint guide.0 velocity"], t_end=2.0, step=1e-3
    ... )
    >>> round(found["max joint guide.0 velocity", "joints.guide.q0"], 4)
    5.0
    """
    if method not in METHODS:
        raise InputError(f"method: must be one of {', '.join(METHODS)}, not {shown(method)}")
    wanted = read_outputs(outputs)
    accuracy = read_number(accuracy, "accuracy")
    if not 1e-12 <= accuracy < 1.0:
        raise InputError(f"accuracy: must be within 1e-12 … 1, not {accuracy:g}")
    workers = whole_number(workers, "workers", least=1, most=1000)
    runs = prepared_runs(
        model,
        parameters,
        run_options(run, t_end, step),
        events,
        lambda solution: evaluated(wanted, solution),
    )
    sizes = checked_scales(scales, runs.base)
    solution = runs.audited(runs.base)
    if method == "differences":
        found = gradient(runs, sizes, accuracy=accuracy, workers=workers)
    else:
        found = exact_gradient(runs, solution, wanted, sizes, method=method, workers=workers)
    rough = coarse(wanted, solution)
    lost = [note for note in found.notes if "no derivative" in note] + rough
    if lost:
        warn_caller("; ".join(lost), ModelWarning)
    return Sensitivities(
        _names(wanted),
        units(wanted, solution),
        found.values,
        tuple(runs.base),
        np.array(list(runs.base.values())),
        found.derivative,
        found.error,
        solution,
        (*found.notes, *rough),
        found.count,
    )


def _names(outputs: Sequence[Output]) -> tuple[str, ...]:
    """Names of the outputs."""
    return tuple(output.name for output in outputs)

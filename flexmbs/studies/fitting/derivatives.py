"""Derivatives of the outputs of runs by differences.

Their steps are refined to the wanted accuracy or to the noise.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexmbs.declaration import require_known, shown
from flexmbs.errors import InputError, SolverError
from flexmbs.signals.signal_arguments import FloatArray
from flexmbs.studies.fitting.extrapolation import extrapolated
from flexmbs.studies.fitting.parameter_bounds import read_number
from flexmbs.studies.fitting.parameter_runs import Result, Runs, Values
from flexmbs.studies.parameters.threads import RunThreads

FIRST = 0.01  # step relative to the size of the parameter
LEVELS = 9  # at most, each with half the step
QUICK = 7  # halvings at most of the one step with which iterations are content
ROUNDING = 1e-14  # relative disturbances whose effect is the noise of fixed steps
# ratio of the differences of one-sided slopes for half the step and the full step, at a kink
STAYS = 0.8
KINK = 1e-3  # difference of these slopes over the derivative, below which there is no kink
SAMPLES = 3  # of these disturbances
LOOSER = 4.0  # tolerances of controlled steps with which the noise is measured
NOISY = 100.0  # times the noise, below which a difference of slopes is none
SIDES = (1.0, -1.0)


@dataclass
class DerivativeColumn:
    """Derivatives by one parameter.

    Steps and differences so far, results, and findings on the way.
    """

    name: str
    scale: float
    sides: tuple[float, ...] = SIDES
    steps: list[float] = field(default_factory=list)
    differences: list[FloatArray] = field(default_factory=list)
    bends: list[FloatArray] = field(default_factory=list)  # differences of the slopes to both sides
    level: int = 0
    changed: tuple[float, str] | None = None  # the last step with another course, and which
    refused: str = ""
    done: bool = False

    @property
    def step(self) -> float:
        """The present step."""
        return FIRST * self.scale * 0.5**self.level

    @property
    def kinks(self) -> np.ndarray:
        """Mask (n,) of outputs whose one-sided derivatives differ.

        Elsewhere their difference is halved.
        """
        if len(self.bends) < 2:
            return np.zeros(len(self.differences[0]), bool)
        return (self.bends[-1] > STAYS * self.bends[-2]) & (
            self.bends[-1] > KINK * np.abs(self.differences[-1])
        )

    @property
    def notes(self) -> list[str]:
        """Notes on failed runs and inaccurate derivatives."""
        if not self.steps:
            return [
                f"{self.name}: no derivative: "
                f"{self.refused or f'a change by {self.changed[0]:.2g} gives {self.changed[1]}'}"  # type: ignore[index]
            ]
        found = (
            [f"{self.name}: derivative to one side: {self.refused}"] if len(self.sides) == 1 else []
        )
        if self.kinks.any():
            found.append(
                f"{self.name}: no derivative of {self.kinks.sum()} of {len(self.kinks)} "
                "outputs: a kink at this very value"
            )
        if self.changed:
            found.append(
                f"{self.name}: the derivative holds for changes below "
                f"{self.changed[0]:.2g}, which gives {self.changed[1]}"
            )
        return found


@dataclass(frozen=True)
class Gradient:
    """Values (n,) of the outputs and their derivatives (n, m).

    With the errors (n, m) of these, notes by parameter, number of runs.
    """

    values: FloatArray
    derivative: FloatArray
    error: FloatArray
    notes: tuple[str, ...]
    count: int


def gradient(
    runs: Runs,
    scales: Mapping[str, float],
    *,
    accuracy: float,
    workers: int,
    at: Values | None = None,
) -> Gradient:
    """Derivatives of the outputs with errors, by extrapolated differences.

    Raises `InputError`, `SolverError` where the model itself does not run.
    """
    base, runs = {**runs.base, **(at or {})}, runs.solving()
    with RunThreads(workers) as pool:
        middle = runs(base)
        middle.course.require_smooth()
        noise = noise_of(runs, base, middle, pool.map)
        columns = [
            DerivativeColumn(name, scales.get(name, abs(value) or 1.0))
            for name, value in base.items()
        ]
        count = 1 + SAMPLES
        while open_columns := [column for column in columns if not column.done]:
            asked = [(column, side) for column in open_columns for side in column.sides]
            found = list(pool.map(lambda task: _tried(runs, base, *task), asked))
            count += len(asked)
            for column in open_columns:
                sides = {
                    side: result for (each, side), result in zip(asked, found) if each is column
                }
                _advance(column, middle, sides, noise, accuracy)
    results = [_result(column, noise) for column in columns]
    notes = tuple(note for column in columns for note in column.notes)
    return Gradient(
        middle.values,
        np.array([value for value, _ in results]).T,
        np.array([error for _, error in results]).T,
        notes,
        count,
    )


def noise_of(
    runs: Runs, base: Values, middle: Result, mapped: Callable[..., Iterable[Any]] = map
) -> FloatArray:
    """Noise (n,) of the outputs: largest changes in runs disturbed by round-off.

    Round-off, or the tolerance of controlled steps.
    """
    disturbed: list[Callable[[], Result]] = []
    for k in range(SAMPLES):
        factors = np.random.default_rng(k).uniform(-ROUNDING, ROUNDING, len(base))
        values = {
            name: value * (1.0 + factor) for (name, value), factor in zip(base.items(), factors)
        }
        disturbed.append(lambda values=values: runs(values))  # type: ignore[misc]
    tolerances = {
        key: LOOSER * runs.options[key] for key in ("rtol", "atol") if runs.options[key] is not None
    }
    if tolerances and runs.options["step"] is None:
        disturbed[-1] = lambda: runs(base, **tolerances)
    apart = [
        np.abs(result.values - middle.values) for result in mapped(lambda run: run(), disturbed)
    ]
    return np.asarray(np.max(apart, axis=0) + np.spacing(np.abs(middle.values)))


def _tried(runs: Runs, base: Values, column: DerivativeColumn, side: float) -> Result | str:
    """Result of a perturbed run, or the reason why there is none."""
    try:
        return runs({**base, column.name: base[column.name] + side * column.step})
    except (InputError, SolverError) as error:
        return str(error).partition("\n")[0]


def _advance(
    column: DerivativeColumn,
    middle: Result,
    sides: Mapping[float, Result | str],
    noise: FloatArray,
    accuracy: float,
) -> None:
    """Add the runs of one step size to a column, and mark whether it needs another step size."""
    refused = {side: text for side, text in sides.items() if isinstance(text, str)}
    others = {
        side: middle.course.difference(run.course)
        for side, run in sides.items()
        if not isinstance(run, str)
    }
    changed = [text for text in others.values() if text]
    step = column.step
    column.level += 1
    if refused:
        column.refused = next(iter(refused.values()))
        if column.level > 2 and len(refused) < len(column.sides):  # a bound at this very value
            column.sides = tuple(side for side in column.sides if side not in refused)
            column.level = 0
            column.steps, column.differences, column.bends = [], [], []
    elif changed:
        column.changed = step, changed[0]
    else:
        values = [run.values for run in sides.values() if not isinstance(run, str)]
        ends = values if len(values) == 2 else [values[0], middle.values]
        width = step * len(column.sides) * column.sides[0]
        column.steps.append(step)
        column.differences.append((ends[0] - ends[1]) / width)
        if len(values) == 2:
            bend = np.abs(values[0] - 2.0 * middle.values + values[1]) / step
            column.bends.append(np.where(bend > NOISY * noise / step, bend, 0.0))
        _, error = _result(column, noise)
        wanted = accuracy * np.maximum(
            np.abs(column.differences[-1]), 1e-3 * np.abs(middle.values) / column.scale
        )
        column.done = bool((error <= wanted).all()) or (
            len(column.steps) > 2 and bool((noise / column.step > error).all())
        )
    column.done |= column.level >= LEVELS


def _result(column: DerivativeColumn, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Derivatives and errors for a parameter from the runs so far.

    None if its steps gave no runs of the same course.
    """
    if not column.steps:
        return np.full(len(noise), math.nan), np.full(len(noise), math.inf)
    steps, differences = np.array(column.steps), np.array(column.differences)
    value, error = extrapolated(steps, differences, noise, central=len(column.sides) == 2)
    return np.where(column.kinks, math.nan, value), np.where(column.kinks, math.inf, error)


def checked_scales(given: Any, names: Iterable[str]) -> dict[str, float]:
    """Sizes of parameters, by which steps are chosen. Raises `InputError`."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            f"scales: {shown(given)} is not a dict of sizes of parameters, "
            f"{{'bodies.tool.mass': 0.1}}"
        )
    known = list(names)
    for name in given:
        require_known(name, known, f"scales: '{name}' is not among the parameters")
    found = {str(name): read_number(value, f"scales.{name}") for name, value in given.items()}
    for name, value in found.items():
        if value <= 0.0:
            raise InputError(f"scales.{name}: must be > 0, not {value:g}")
    return found


def quick_level(noise: float) -> int:
    """Number of halvings of the first step, for central differences.

    With errors h² + ε/h by the relative noise ε: least at h = ∛(ε/2).
    """
    return int(np.clip(round(math.log2(FIRST / max(noise / 2.0, 1e-300) ** (1.0 / 3.0))), 0, QUICK))


def jacobian(
    runs: Runs, base: Values, scales: Mapping[str, float], *, level: int = QUICK, workers: int
) -> FloatArray:  # fmt: skip
    """∂y/∂p (n, m) for iterations, by central differences with one step.

    The first step is halved a number of times; at a bound the differences are one-sided. Raises
    `InputError`, and `SolverError` if neither side runs.
    """
    columns = [DerivativeColumn(name, scales[name], level=level) for name in base]
    with RunThreads(workers) as pool:
        found = list(
            pool.map(
                lambda task: _tried(runs, base, *task),
                ((column, side) for column in columns for side in SIDES),
            )
        )
    slopes = []
    for column, ahead, behind in zip(columns, found[::2], found[1::2]):
        steps = [
            side * column.step
            for side, run in zip(SIDES, (ahead, behind))
            if not isinstance(run, str)
        ]
        values = [run.values for run in (ahead, behind) if not isinstance(run, str)]
        if not values:
            raise SolverError(f"{column.name} = {base[column.name]:.6g}: no derivative: {ahead}")
        if len(values) == 1:
            steps, values = [*steps, 0.0], [*values, runs(base).values]
        slopes.append((values[0] - values[1]) / (steps[0] - steps[1]))
    return np.array(slopes).T

"""`reliability`: the probability that an output leaves its limits, to a given relative error.

Independent cases until ``k`` of them fail: of the number n that this takes, p = (k − 1)/(n − 1) is
an unbiased estimate of the probability, with a standard deviation of less than p/√(k − 2). Hence k
follows from the wanted error, n from the probability. Source: Haldane, Biometrika 33 (1945) 222.
"""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import require_known
from flexmbs.errors import AuditWarning, InputError, ModelWarning, warn_caller
from flexmbs.files.output import temporary_folder
from flexmbs.model.run import Run
from flexmbs.signals.signal_arguments import whole_number
from flexmbs.studies.fitting.parameter_bounds import Limits, read_limits, read_number
from flexmbs.studies.parameters.outputs import Wanted
from flexmbs.studies.parameters.parameter_paths import Build
from flexmbs.studies.sweeps.designs import MonteCarlo
from flexmbs.studies.sweeps.named_outputs import checked_outputs
from flexmbs.studies.sweeps.ranges import MOST_CASES, Spread
from flexmbs.studies.sweeps.sweep import sweep
from flexmbs.studies.sweeps.table import SweepResult
from flexmbs.system.check import FAIL, NOT_JUDGED
from flexmbs.time_stepping.run import Progress

FIRST = 64  # cases of the first round
GROWTH = 8  # largest ratio of the cases of two rounds


class ReliabilityEstimate(NamedTuple):
    """Probability with its confidence interval, from n cases of which k failed.

    And whether k reaches the requested number.
    """

    probability: float
    low: float
    high: float
    n: int
    k: int
    reached: bool


@dataclass(frozen=True, eq=False)
class Reliability:
    """The probability that a limit is not kept.

    Parameters
    ----------
    probability : float
        Its estimate.
    interval : tuple of floats
        Its confidence interval.
    error : float
        The relative standard deviation of the estimate, infinite without any failure.
    cases : int
        Number of cases that the estimate is of.
    failures : int
        Those in which a limit was not kept.
    by_output : mapping of names to ints
        Number of cases in which the limits of this output were not kept.
    result : SweepResult
        All cases that were run.
    notes : texts
        What is to be known, one line each.

    Examples
    --------
    >>> import flexmbs as fm
    >>> falling = fm.Model("falling", run=fm.Run(t_end=1.0, step=0.1))
    >>> stone = falling.add(fm.PointMass("stone", mass=2.0))
    >>> given = {
    ...     "outputs": {"end": "last body stone position z"},
    ...     "limits": {"end": (-4.0, None)},
    ...     "executor": "threads",
    ... }
    >>> found = fm.reliability(falling, {"gravity.z": fm.Normal(-7.0, 1.0)}, error=0.5, **given)
    >>> isinstance(found, fm.Reliability), found.interval[0] < 0.15866 < found.interval[1]  # Φ(−1)
    (True, True)
    """

    probability: float
    interval: tuple[float, float]
    error: float
    cases: int
    failures: int
    by_output: dict[str, int]
    result: SweepResult = field(repr=False)
    notes: tuple[str, ...]

    def __str__(self) -> str:
        low, high = self.interval
        by = ", ".join(f"{name}: {n}" for name, n in self.by_output.items())
        lines = [
            f"probability {self.probability:.4g}, within {low:.3g} … {high:.3g}",
            f"{self.failures} of {self.cases} cases ({by})",
        ]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


@checked_arguments
def reliability(
    model: Build | str | os.PathLike[str],
    parameters: Mapping[str, Spread],
    *,
    outputs: Mapping[str, Wanted],
    limits: Mapping[str, Any],
    error: float = 0.1,
    confidence: float = 0.95,
    most: int = 100_000,
    seed: int = 0,
    run: Run | None = None,
    audit: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    executor: Any = "processes",
    workers: int | None = None,
    progress: Progress | None = None,
) -> Reliability:
    """Probability that an output of a run leaves its limits, by Monte Carlo simulation.

    With as many cases as the wanted error needs.

    Independent random cases are run, by `sweep`, until k = 2 + 1/error² of them fail; of the n
    cases up to the last of these (k − 1)/(n − 1) is an unbiased estimate with a relative standard
    deviation below ``error``. A probability of 1 % takes some 10 000 cases for an error of 10 %. A
    case whose run is not possible counts as failed. Source: Haldane, Biometrika 33 (1945) 222.

    Parameters
    ----------
    model : Model, path, function or ModelWithParts
        As of `sweep`.
    parameters : mapping of names to Normal, LogNormal or Range
        Distributions of the parameters, which are independent.
    outputs : mapping of names to texts or functions
        As of `sweep`.
    limits : mapping of names to pairs
        Smallest and largest allowed values of outputs, None for no limit.
    error : float
        Wanted relative standard deviation of the probability.
    confidence : float
        Probability of the interval.
    most : int
        Largest number of cases: if fewer failures are found, the estimate is their share, with a
        warning.
    seed : int
        Of the random numbers.
    run, audit, folder, resume, executor, workers, progress : optional
        As of `sweep`.

    Returns
    -------
    Reliability
        The probability with its interval; printable.

    Raises
    ------
    InputError
        For parameters, limits and options that cannot be run.
    MachineError
        As of `sweep`.

    Examples
    --------
    >>> import flexmbs as fm
    >>> falling = fm.Model("falling", run=fm.Run(t_end=1.0, step=0.1))
    >>> stone = falling.add(fm.PointMass("stone", mass=2.0))
    >>> given = {
    ...     "outputs": {"end": "last body stone position z"},
    ...     "limits": {"end": (-5.0, None)},
    ...     "executor": "threads",
    ... }
    >>> found = fm.reliability(
    ...     falling, {"gravity.z": fm.Range(-11.0, -9.0)}, error=0.2, confidence=0.99, **given
    ... )
    >>> (
    ...     found.error < 0.2,
    ...     found.interval[0] < 0.5 < found.interval[1],
    ... )  # the probability of g > 10 m/s²
    (True, True)
    """
    known = checked_outputs(outputs)
    allowed = read_limits(limits, "limits")
    wanted = _failures_for(read_number(error, "error"))
    _check(parameters, known, allowed, confidence)
    most = whole_number(most, "most", least=1, most=MOST_CASES)
    with contextlib.ExitStack() as stack:
        place = folder or stack.enter_context(temporary_folder("reliability"))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", AuditWarning)  # told below
        n = min(FIRST, most)
        while True:
            design = MonteCarlo(count=n, seed=seed)
            result = sweep(
                model,
                parameters,
                outputs=known,
                design=design,
                run=run,
                audit=audit,
                folder=place,
                resume=resume,
                executor=executor,
                workers=workers,
                progress=progress,
            )
            failed = failures(result, allowed)
            any_failed = np.any(failed, axis=0)
            found = estimate(any_failed, wanted, confidence)
            if found.reached or n == most:
                break
            n, resume = min(_cases_of_next_round(n, int(any_failed.sum()), wanted), most), True
    return _reliability(result, dict(zip(allowed, failed[:, : found.n])), found)


def _check(
    parameters: Any, outputs: Mapping[str, Wanted], limits: Mapping[str, Limits], confidence: float
) -> None:
    """Raise `InputError` for parameters, outputs or limits that are unsuitable here."""
    for name, values in parameters.items() if isinstance(parameters, Mapping) else ():
        if not isinstance(values, Spread):
            raise InputError(
                f"parameters.{name}: needs a distribution; give fm.Normal(mean, "
                "deviation), fm.LogNormal or fm.Range"
            )
    if not limits:
        raise InputError('limits: give at least one, as {"sag": (-1e-3, None)}')
    for name, pair in limits.items():
        require_known(name, outputs, f"limits: '{name}' is not among the outputs")
        if not any(map(math.isfinite, pair)):
            raise InputError(
                f"limits.{name}: every value is within them; give a lower or an upper one"
            )
    if not 0.0 < read_number(confidence, "confidence") < 1.0:
        raise InputError(f"confidence: must be within 0 … 1, not {confidence:g}")


def _failures_for(error: float) -> int:
    """Number of failures k = 2 + 1/ε² needed for a relative standard deviation ε."""
    if not 0.0 < error < 1.0:
        raise InputError(f"error: must be within 0 … 1, not {error:g}")
    return 2 + math.ceil(1.0 / error**2)


def _cases_of_next_round(n: int, failed: int, wanted: int) -> int:
    """Number of cases of the next round, from the failures so far."""
    likely = n * (wanted + 2.0 * math.sqrt(wanted)) / failed if failed else math.inf
    return math.ceil(min(likely, GROWTH * n)) + 1


def failures(result: SweepResult, limits: Mapping[str, Limits]) -> np.ndarray:
    """Mask (limited outputs, cases) of failures: limit exceeded or no output."""
    nothing = np.full(len(result), math.nan)
    values = {name: result.outputs.get(name, nothing) for name in limits}
    return np.array(
        [~((low <= values[name]) & (values[name] <= high)) for name, (low, high) in limits.items()]
    )


def estimate(failed: np.ndarray, wanted: int, confidence: float) -> ReliabilityEstimate:
    """Probability of failure with confidence interval from independent cases (n,).

    They end with the failure that reaches the wanted number.

    With fewer failures: their share among all cases, with the interval of Clopper and Pearson,
    Biometrika 26 (1934) 404.
    """
    from scipy.stats import beta

    tail = 0.5 * (1.0 - confidence)
    at = np.flatnonzero(failed)
    if len(at) < wanted:
        n, k = len(failed), len(at)
        low = float(beta.ppf(tail, k, n - k + 1)) if k else 0.0
        high = float(beta.ppf(1.0 - tail, k + 1, n - k)) if k < n else 1.0
        return ReliabilityEstimate(k / n, low, high, n, k, False)
    n, k = int(at[wanted - 1]) + 1, wanted
    low = float(beta.ppf(tail, k, n - k + 1))
    high = float(beta.ppf(1.0 - tail, k, n - k)) if n > k else 1.0
    return ReliabilityEstimate((k - 1) / (n - 1), low, high, n, k, True)


def _reliability(
    result: SweepResult, failed: Mapping[str, np.ndarray], found: ReliabilityEstimate
) -> Reliability:
    """Result object with estimate and notes.

    Warns of an error that is not reached and of cases not to be trusted.
    """
    p, n, k = found.probability, found.n, found.k
    error = math.sqrt((1.0 - p) / (k - 2 if found.reached else k)) if k else math.inf
    notes = (
        []
        if found.reached
        else [f"the wanted error is not reached: {k} failures in {n} cases; allow more by most="]
    )
    for what, number in (
        ("have no outputs and count as failed", sum(map(bool, result.failure[:n]))),
        ("are FAIL: see the result's findings", result.verdict[:n].count(FAIL)),
    ):
        notes += [f"{number} of {n} cases {what}"] if number else []
    if notes:
        warn_caller(f"reliability: {'; '.join(notes)}", ModelWarning)
    if unjudged := result.verdict[:n].count(NOT_JUDGED):
        notes.append(f"{unjudged} of {n} cases are {NOT_JUDGED}")
    counts = {name: int(each.sum()) for name, each in failed.items()}
    return Reliability(p, (found.low, found.high), error, n, k, counts, result, tuple(notes))

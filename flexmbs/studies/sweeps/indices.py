"""`sobol_indices`: which part of the variance of an output is due to which parameter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.checked_arguments import checked_arguments
from flexmbs.console.columns import aligned
from flexmbs.declaration import shown
from flexmbs.errors import InputError, ModelWarning, warn_caller
from flexmbs.exports.data_frames import optional
from flexmbs.signals.signal_arguments import FloatArray
from flexmbs.studies.fitting.parameter_bounds import read_number
from flexmbs.studies.sweeps.table import SweepResult
from flexmbs.system.check import FAIL

if TYPE_CHECKING:
    from pandas import DataFrame

HEADINGS = ("output", "parameter", "first", "±", "total", "±")
RESAMPLES = 1000  # of the bootstrap
SEED = 1
FEWEST = 8  # points of one set: fewer vary too little under resampling to estimate an error


@dataclass(frozen=True, eq=False)
class SobolIndices:
    """Parts of the variance of n outputs that are due to m parameters.

    Parameters
    ----------
    outputs, parameters : texts
        Their names, n and m.
    first : array (n, m)
        First-order indices S = Var(E(y | p))/Var(y): due to a parameter alone. They add up to no
        more than 1.
    total : array (n, m)
        Total indices T = E(Var(y | all but p))/Var(y): due to a parameter alone and with others.
    first_error, total_error : arrays (n, m)
        Half widths of their confidence intervals.
    result : SweepResult
        The cases.

    Examples
    --------
    >>> import flexmbs as fm
    >>> falling = fm.Model("falling", gravity=(0, 0, -10.0), run=fm.Run(t_end=1.0, step=0.1))
    >>> stone = falling.add(fm.PointMass("stone", mass=2.0))
    >>> ranges = {"gravity.x": fm.Range(0.0, 1.0), "gravity.y": fm.Range(0.0, 2.0)}
    >>> def speed(solution):
    ...     return float(solution.body("stone").velocity[-1, :2].sum())
    >>> result = fm.sweep(
    ...     falling,
    ...     ranges,
    ...     outputs={"speed": speed},
    ...     design=fm.Saltelli(count=32),
    ...     executor="threads",
    ... )
    >>> indices = fm.sobol_indices(result)
    >>> (
    ...     isinstance(indices, fm.SobolIndices),
    ...     indices.total[0].round(1).tolist(),
    ... )  # 1 : 2² of the variances
    (True, [0.2, 0.8])
    """

    outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    first: FloatArray
    first_error: FloatArray
    total: FloatArray
    total_error: FloatArray
    result: SweepResult = field(repr=False)

    def rows(self) -> list[tuple[str, str, float, float, float, float]]:
        """(output, parameter, index, error, total index, error) of every pair.

        The indices are of first order and total.
        """
        arrays = (self.first, self.first_error, self.total, self.total_error)
        return [
            (y, p, *(float(array[i, k]) for array in arrays))  # type: ignore[misc]
            for i, y in enumerate(self.outputs)
            for k, p in enumerate(self.parameters)
        ]

    def to_dataframe(self) -> DataFrame:
        """A pandas data frame with a row for each output and parameter.

        Raises MachineError without pandas.
        """
        pandas = optional("pandas", "to_dataframe")
        names = ["output", "parameter", "first", "first error", "total", "total error"]
        frame: DataFrame = pandas.DataFrame(self.rows(), columns=names)
        return frame

    def __str__(self) -> str:
        return "\n".join(
            aligned(
                [
                    HEADINGS,
                    *((y, p, *(f"{number:.3f}" for number in rest)) for y, p, *rest in self.rows()),
                ]
            )
        )


@checked_arguments
def sobol_indices(result: SweepResult, *, confidence: float = 0.95) -> SobolIndices:
    """Sobol indices of the outputs of a sweep with the design `Saltelli`.

    With confidence intervals by bootstrap.

    Parameters are taken for independent, over the whole of their ranges or distributions. The
    estimates are those of SALib; they hold for the outputs computed, whatever the verdict of a
    case: a `ModelWarning` states how many are FAIL. Sources: Saltelli et al., Computer Physics
    Communications 181 (2010) 259; Herman and Usher, J. Open Source Softw. 2 (2017) 97.

    Parameters
    ----------
    result : SweepResult
        What `sweep` returned; of a folder sweep once more with ``resume``, for the order of the
        cases.
    confidence : float
        Probability of the intervals.

    Returns
    -------
    SobolIndices
        First-order and total indices with half widths of their intervals; printed as a table.

    Raises
    ------
    InputError
        For cases that are not those of such a design, with a ``count`` of 8 or more, or that
        failed, and outputs that do not vary.
    MachineError
        Without SALib, the extra ``flexmbs[sensitivity]``.

    Examples
    --------
    Of a weight m g by its two factors, which are distributed alike:

    >>> import flexmbs as fm
    >>> turning = fm.Model("turning", gravity=(0, 0, -1.0), run=fm.Run(t_end=0.1, step=0.1))
    >>> stone = turning.add(fm.PointMass("stone", mass=2.0))
    >>> ranges = {"bodies.stone.mass": fm.Range(1.0, 2.0), "gravity.z": fm.Range(1.0, 2.0)}
    >>> def weight(solution):
    ...     return solution.model.bodies["stone"].mass * solution.body("stone").acceleration[-1, 2]
    >>> result = fm.sweep(
    ...     turning,
    ...     ranges,
    ...     outputs={"weight": weight},
    ...     design=fm.Saltelli(count=32),
    ...     executor="threads",
    ... )
    >>> fm.sobol_indices(result).first.round(1).tolist()  # μ²σ²/(2μ²σ² + σ⁴), μ = 3/2, σ² = 1/12
    [[0.5, 0.5]]
    """
    if not isinstance(result, SweepResult):
        raise InputError(
            f"result: {shown(result)} is not a result of a sweep; give that of sweep(…, "
            "design=Saltelli(count=…))"
        )
    confidence = read_number(confidence, "confidence")
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence: must be within 0 … 1, not {confidence:g}")
    _check_design(result)
    _check_cases(result)
    analyze = optional("SALib.analyze.sobol", "sobol_indices").analyze
    names, m = list(result.parameters), len(result.parameters)
    problem = {"num_vars": m, "names": names, "bounds": [[0.0, 1.0]] * m}
    found = [
        analyze(
            problem,
            values,
            calc_second_order=False,
            num_resamples=RESAMPLES,
            conf_level=confidence,
            seed=SEED,
        )
        for values in result.outputs.values()
    ]
    first, first_error, total, total_error = (
        np.array([each[key] for each in found]) for key in ("S1", "S1_conf", "ST", "ST_conf")
    )
    return SobolIndices(
        tuple(result.outputs), tuple(names), first, first_error, total, total_error, result
    )


def _check_design(result: SweepResult) -> None:
    """Raise `InputError` unless the cases are in the order of the design.

    Points of A, of A with one column of B, and of B, by turns.
    """
    m = len(result.parameters)
    groups = [
        values.reshape(-1, m + 2) if len(values) % (m + 2) == 0 else None
        for values in result.parameters.values()
    ]
    for k, group in enumerate(groups):
        if group is None or not all(
            (group[:, row + 1] == group[:, -1 if row == k else 0]).all() for row in range(m)
        ):
            raise InputError(
                "result: has other cases than a design Saltelli, in its order; give that "
                "of sweep(…, design=Saltelli(…))"
            )


def _check_cases(result: SweepResult) -> None:
    """Raise `InputError` for outputs that are missing or do not vary.

    Warns of those that are not reliable.
    """
    failed = [k for k, text in enumerate(result.failure) if text]
    if failed:
        first = f"case {failed[0]}: {result.failure[failed[0]]}"
        raise InputError(
            f"result: {len(failed)} of {len(result)} cases have no outputs, {first}; take "
            "ranges in which all run"
        )
    for name, values in result.outputs.items():
        if np.ptp(values) == 0.0:
            raise InputError(
                f"result: output '{name}' is {values[0]:g} in all cases; no parameter has "
                "an effect on it"
            )
    count = len(result) // (len(result.parameters) + 2)
    if count < FEWEST:
        raise InputError(
            f"result: its design Saltelli has a count of {count}, too few for errors of "
            f"indices; take {FEWEST} or more"
        )
    wrong = result.counts().get(FAIL, 0)
    if wrong:
        warn_caller(f"sobol_indices: {wrong} of {len(result)} cases are FAIL", ModelWarning)

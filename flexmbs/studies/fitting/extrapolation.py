"""Differences with several steps, extrapolated to the step zero, with error estimates.

Central differences D(h) = [f(p + h) − f(p − h)]/2h = f′ + c₂h² + c₄h⁴ + …, one-sided ones f′ + c₁h
+ c₂h² + …; Neville's scheme removes one term after the other. Of each entry the element of the
scheme with the smallest error is taken, which is the larger one of its differences to its two
predecessors, plus what the noise of f makes of it. Source: Ridders, Adv. Eng. Software 4 (1982) 75;
Press et al., Numerical Recipes (2007), section 5.7.
"""

import numpy as np

from flexmbs.signals.signal_arguments import FloatArray

GAIN = 2.0  # of noise in extrapolated differences, by steps that are halved


def extrapolated(
    steps: FloatArray, differences: FloatArray, noise: FloatArray, *, central: bool
) -> tuple[FloatArray, FloatArray]:
    """Richardson extrapolation of differences (m, n): derivatives and errors (n,).

    With decreasing steps (m,).

    noise (n,): of f.  Errors are infinite with one step only.
    """
    power = 2 if central else 1
    best, error = differences[0].copy(), np.full(differences.shape[1], np.inf)
    before = differences[:1]
    for i in range(1, len(steps)):
        row = [differences[i]]
        for j in range(1, i + 1):
            ratio = (steps[i - j] / steps[i]) ** power
            row.append(row[-1] + (row[-1] - before[j - 1]) / (ratio - 1.0))
            apart = (
                np.maximum(np.abs(row[j] - row[j - 1]), np.abs(row[j] - before[j - 1]))
                + GAIN * noise / steps[i]
            )
            better = apart < error
            best[better], error[better] = row[j][better], apart[better]
        before = np.array(row)
    return best, error

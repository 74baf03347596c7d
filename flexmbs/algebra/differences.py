"""Central differences of fourth order: f′ ≈ (8 f(h) − 8 f(−h) − f(2h) + f(−2h)) / (12 h)."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# places in steps and weights of the values
STENCIL = ((1.0, 8.0 / 12.0), (-1.0, -8.0 / 12.0), (2.0, -1.0 / 12.0), (-2.0, 1.0 / 12.0))
PLACES, WEIGHTS = np.array(STENCIL).T


def narrow_and_wide(values: FloatArray, step: float | FloatArray) -> tuple[FloatArray, FloatArray]:
    """Differences D(h) and D(2h) of second order from values (4, …) at `PLACES` times a step.

    D₄ = (4 D(h) − D(2h)) / 3 has order four; its error is about the square of the relative
    difference of D(h) and D(2h).
    """
    near, far = ((values[k] - values[k + 1]) / (2.0 * PLACES[k] * step) for k in (0, 2))
    return near, far

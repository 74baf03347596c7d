"""Piecewise cubics through points.

Coefficients c (4, n − 1), x = Σ_k c[k, i] (t − t_i)^(3 − k) between t_i and the next point.
"""

from collections.abc import Callable

import numpy as np

Coefficients = Callable[[np.ndarray, np.ndarray], np.ndarray]


def straight_lines(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Polynomial coefficients (4, n − 1) of piecewise linear interpolation."""
    result = np.zeros((4, len(t) - 1))
    result[2] = np.diff(x) / np.diff(t)
    result[3] = x[:-1]
    return result


def monotone(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Polynomial coefficients (4, n − 1) of monotone cubics (Fritsch and Butland, PCHIP).

    SIAM J. Sci. Stat. Comput. 5 (1984) 300.

    They do not overshoot between two points; the rate is continuous, the acceleration jumps at the
    points.

    """
    h, d = np.diff(t), np.diff(x) / np.diff(t)
    m = _slopes(h, d)
    return np.array(
        [(m[:-1] + m[1:] - 2.0 * d) / h**2, (3.0 * d - 2.0 * m[:-1] - m[1:]) / h, m[:-1], x[:-1]]
    )


def spline(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Polynomial coefficients (4, n − 1) of a cubic spline (not-a-knot); it may overshoot."""
    from scipy.interpolate import CubicSpline  # import on demand: a third of a second

    return np.ascontiguousarray(CubicSpline(t, x).c)


INTERPOLATIONS: dict[str, Coefficients] = {
    "monotone": monotone,
    "spline": spline,
    "linear": straight_lines,
}


def _slopes(h: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Slopes (n,) of a monotone cubic at the points: weighted harmonic means.

    From distances h and slopes d (n − 1,).
    """
    if len(d) == 1:
        return np.repeat(d, 2)
    before, after = d[:-1], d[1:]
    same = before * after > 0.0
    w1, w2 = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
    inner = np.zeros(len(before))
    inner[same] = (w1 + w2)[same] / (w1[same] / before[same] + w2[same] / after[same])
    return np.array([_end(h[0], h[1], d[0], d[1]), *inner, _end(h[-1], h[-2], d[-1], d[-2])])


def _end(h0: float, h1: float, d0: float, d1: float) -> float:
    """Slope of a monotone cubic at an end, from a parabola, limited."""
    m = ((2.0 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
    if m * d0 <= 0.0:
        return 0.0
    return float(3.0 * d0) if d0 * d1 <= 0.0 and abs(m) > abs(3.0 * d0) else float(m)


def excess(t: np.ndarray, c: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Overshoot (n − 1,) of each cubic beyond the values at its two ends; positive above them."""
    low, high, h = np.minimum(x[:-1], x[1:]), np.maximum(x[:-1], x[1:]), np.diff(t)
    a, b, r = 3.0 * c[0], 2.0 * c[1], c[2]
    found = np.zeros(len(h))
    with np.errstate(divide="ignore", invalid="ignore"):
        half = -0.5 * (b + np.copysign(np.sqrt(b * b - 4.0 * a * r), b))
        for u in (half / a, r / half):  # zeros of the rate; NaN if there is none
            value = ((c[0] * u + c[1]) * u + c[2]) * u + c[3]
            over = np.maximum(value - high, 0.0) + np.minimum(value - low, 0.0)
            found = np.where((u > 0.0) & (u < h) & (np.abs(over) > np.abs(found)), over, found)
    return found


def jumps(t: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Jumps (n − 2,) of the rate and of the acceleration at the inner points."""
    h = np.diff(t)[:-1]
    rate = c[2, 1:] - ((3.0 * c[0, :-1] * h + 2.0 * c[1, :-1]) * h + c[2, :-1])
    return rate, 2.0 * c[1, 1:] - (6.0 * c[0, :-1] * h + 2.0 * c[1, :-1])

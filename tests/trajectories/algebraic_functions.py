"""User functions with algebraic unknowns that files can name."""

import math
from typing import Any

import numba

import flexmbs as fm

U, R, KAPPA, DROP, SATURATION = 12.0, 2.0, 0.3, 0.5, 1e-3


def with_diode(t: float, x: float, v: float, y: Any) -> tuple[float]:
    """R i + U_d ln(1 + i/i_s) + κ ω − U = 0 of the current i = y."""
    return (
        R * y[0]
        + DROP * math.log(1.0 + max(y[0], -0.999 * SATURATION) / SATURATION)
        + KAPPA * v
        - U,
    )


@fm.algebraic(with_diode, guess=1.0)
def diode(t: float, x: float, v: float, y: Any) -> float:
    """The torque κ i."""
    return float(KAPPA * y[0])


@fm.algebraic(numba.njit(with_diode), guess=1.0)
@numba.njit
def fast_diode(t, x, v, y):  # type: ignore[no-untyped-def]
    """The torque κ i."""
    return KAPPA * y[0]

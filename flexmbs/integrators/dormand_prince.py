"""Explicit Runge–Kutta method of Dormand & Prince (1980), order 5 with an embedded order 4, and a PI step control."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from flexmbs._jit import part
from flexmbs.errors import InputError

STAGES = 7
C = np.array([0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
A = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1 / 5, 0.0, 0.0, 0.0, 0.0, 0.0],
        [3 / 40, 9 / 40, 0.0, 0.0, 0.0, 0.0],
        [44 / 45, -56 / 15, 32 / 9, 0.0, 0.0, 0.0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0.0, 0.0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0.0],
        [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
ERROR = np.array([71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])


@dataclass(frozen=True)
class DormandPrince:
    """Options: error-controlled steps with ``rtol`` and ``atol``, or a fixed ``step`` (s)."""

    step: float | None = None
    rtol: float = 1e-6
    atol: float = 1e-8

    name: ClassVar[str] = "dormand-prince"
    needs: ClassVar[str] = "accelerations"

    def __post_init__(self) -> None:
        if self.step is not None and not self.step > 0.0:
            raise InputError(f"integrator.step: {self.step} is not positive")
        for key in ("rtol", "atol"):
            if not 1e-14 <= getattr(self, key) < 1.0:
                raise InputError(f"integrator.{key}: {getattr(self, key)} is not in 1e-14 … 1")


@part
def stage(tableau, j, h, y, k, out):
    """out = y + h Σ_l A[j, l] k_l"""
    for i in range(y.shape[0]):
        f = 0.0
        for l in range(j):
            f += tableau[j, l] * k[l, i]
        out[i] = y[i] + h * f


@part
def error_norm(weights, h, k, y, y_new, n, rtol, atol):
    """RMS over the first n unknowns of the difference of the two orders."""
    total = 0.0
    for i in range(n):
        e = 0.0
        for j in range(k.shape[0]):
            e += weights[j] * k[j, i]
        scale = atol + rtol * max(abs(y[i]), abs(y_new[i]))
        total += (h * e / scale) ** 2
    return math.sqrt(total / max(n, 1))

"""Explicit Runge–Kutta method of Dormand & Prince (1980), order 5 with an embedded order 4 and a continuous order 4."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from flexmbs._jit import part
from flexmbs.integrators.integrator import ATOL, RTOL, Integrator, check_step, check_tolerance

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
# y(t + θh) = y + h Σ_j k_j Σ_p DENSE[j, p] θ^(p+1)  (Shampine 1986; Hairer, Nørsett & Wanner 1993, II.6)
DENSE = np.array(
    [
        [1.0, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
        [0.0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
        [0.0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
        [0.0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
        [0.0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
    ]
)
ERROR = np.array([71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])


@dataclass(frozen=True)
class DormandPrince(Integrator):
    """Explicit Runge–Kutta of order 5: error-controlled steps with ``rtol`` and ``atol``, or a fixed ``step`` (s)."""

    step: float | None = None
    rtol: float = RTOL
    atol: float = ATOL

    name: ClassVar[str] = "dormand-prince"
    needs: ClassVar[str] = "accelerations"
    treatments: ClassVar[tuple[str, ...]] = ("none", "baumgarte", "projection")

    def __post_init__(self) -> None:
        check_step("step", self.step)
        check_tolerance("rtol", self.rtol)
        check_tolerance("atol", self.atol)


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


@part
def within(dense, h, x, y, k, out):
    """out = y(t + x h) of the continuous method, 0 ≤ x ≤ 1."""
    for i in range(y.shape[0]):
        f = 0.0
        for j in range(k.shape[0]):
            f += x * (dense[j, 0] + x * (dense[j, 1] + x * (dense[j, 2] + x * dense[j, 3]))) * k[j, i]
        out[i] = y[i] + h * f

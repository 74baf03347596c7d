"""Generalized-α on a Lie group, index 3 (Chung & Hulbert 1993; Arnold & Brüls 2007; Brüls, Cardona & Arnold 2012).

q_{n+1} = q_n ⊕ h Δ,  Δ = s_n + h ((½ − β) a_n + β a_{n+1}),  s_{n+1} = s_n + h ((1 − γ) a_n + γ a_{n+1}),
(1 − α_m) a_{n+1} + α_m a_n = (1 − α_f) ṡ_{n+1} + α_f ṡ_n, with the equations of motion and g(q) = 0 fulfilled at t_{n+1}.
Unknown of Newton's method is δ = δ(hΔ); then δs = (γ/βh) δ and δṡ = (1 − α_m)/(βh²(1 − α_f)) δ. Numbers in, numbers out.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from flexmbs._jit import part
from flexmbs.errors import InputError
from flexmbs.integrators.integrator import (
    ATOL,
    RTOL,
    Integrator,
    check_iterations,
    check_step,
    check_tolerance,
    is_number,
)  # fmt: skip


@dataclass(frozen=True)
class GeneralizedAlpha(Integrator):
    """Implicit method of order 2 on the index-3 equations with numerical dissipation.

    rho_inf: spectral radius at infinite frequency, 1 no dissipation … 0 asymptotic annihilation.
    step: fixed step (s), or None for steps controlled by the local error with ``rtol`` and ``atol``.
    newton_tolerance: size of the last correction relative to the displacement of the step.
    """

    rho_inf: float = 0.8
    step: float | None = None
    rtol: float = RTOL
    atol: float = ATOL
    newton_tolerance: float = 1e-9
    max_iterations: int = 20

    name: ClassVar[str] = "generalized-alpha"
    needs: ClassVar[str] = "residual"

    def __post_init__(self) -> None:
        if not (is_number(self.rho_inf) and 0.0 <= self.rho_inf <= 1.0):
            raise InputError(f"integrator.rho_inf: {self.rho_inf!r} is not in 0 … 1")
        check_step("step", self.step)
        check_tolerance("rtol", self.rtol)
        check_tolerance("atol", self.atol)
        check_tolerance("newton_tolerance", self.newton_tolerance)
        check_iterations("max_iterations", self.max_iterations)

    def parameters(self) -> np.ndarray:
        """(α_m, α_f, β, γ) of Chung and Hulbert for the wanted ρ∞."""
        r = self.rho_inf
        am, af = (2.0 * r - 1.0) / (r + 1.0), r / (r + 1.0)
        gamma = 0.5 + af - am
        return np.array([am, af, 0.25 * (gamma + 0.5) ** 2, gamma])


@part
def factors(p, h):
    """(∂ṡ/∂δ, ∂s/∂δ)"""
    return (1.0 - p[0]) / (h * h * p[2] * (1.0 - p[1])), p[3] / (h * p[2])


@part
def predict(p, h, s, sd, a, a_new, delta):
    """First guess of the step with ṡ kept: a_{n+1}, s_{n+1} in place, hΔ."""
    am, af, beta, gamma = p[0], p[1], p[2], p[3]
    for i in range(s.shape[0]):
        a_new[i] = ((1.0 - af) * sd[i] + af * sd[i] - am * a[i]) / (1.0 - am)
        delta[i] = h * (s[i] + h * ((0.5 - beta) * a[i] + beta * a_new[i]))
        s[i] += h * ((1.0 - gamma) * a[i] + gamma * a_new[i])


@part
def correct(c_sd, c_s, x, delta, s, sd):
    """Apply the correction x to hΔ, s and ṡ; returns its size, NaN where one of x is."""
    size = 0.0
    for i in range(s.shape[0]):
        delta[i] += x[i]
        s[i] += c_s * x[i]
        sd[i] += c_sd * x[i]
        each = abs(x[i])
        if each > size or each != each:
            size = each
    return size


@part
def finish(p, sd, sd_old, a):
    """a ← a_{n+1} from the converged ṡ."""
    am, af = p[0], p[1]
    for i in range(a.shape[0]):
        a[i] = ((1.0 - af) * sd[i] + af * sd_old[i] - am * a[i]) / (1.0 - am)


@part
def error_norm(p, h, a_new, a_old, travel, rtol, atol):
    """RMS of the local error h² (β − 1/6) (a_{n+1} − a_n) over atol + rtol · distance travelled (Zienkiewicz & Xie 1991)."""
    total = 0.0
    n = a_new.shape[0]
    for i in range(n):
        e = h * h * (p[2] - 1.0 / 6.0) * (a_new[i] - a_old[i]) / (atol + rtol * travel[i])
        total += e * e
    return math.sqrt(total / max(n, 1))


@part
def proposed_step(current, h, error):
    """Next step: kept while the error asks for little change, since a new step costs a new factorization."""
    factor = 0.9 * math.pow(max(error, 1e-6), -1.0 / 3.0)
    if factor < 0.95:
        return h * max(factor, 0.5)
    if factor > 1.6 and h > 0.5 * current:
        return current * min(factor, 3.0)
    return current

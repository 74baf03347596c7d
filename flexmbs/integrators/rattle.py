"""RATTLE on a Lie group with a configuration-dependent mass matrix: a variational integrator with constraints, order 2.

Discrete Lagrangian of the trapezoidal rule, L_d(q₀, q₁) = h/2 (L(q₀, Δ) + L(q₁, Δ)) with q₁ = q₀ ⊕ hΔ. For vector
coordinates and constant M these are the equations of Andersen (1983); for constant M on a group those of RATTLie (Hante &
Arnold 2021). With p = M s the momentum, d = ½ (M₁ − M₀) Δ, D the derivative along Δ with Δ kept, c the gyroscopic terms and

    e₀ = d − ½ h D M₀ Δ + B,  e₁ = d − ½ h D M₁ Δ − B,  B = (½ x coth ½ x − 1) ½ (M₀ + M₁) Δ − ½ x d,  x = ad*_{hΔ},

a step is                 M₀ (Δ − s₀) + ½ h (c(q₀, Δ) − f(q₀)) + e₀ = ½ h G₀ᵀ λ₀⁺,  g(q₁) = 0,
and                       M₁ (s₁ − Δ) + ½ h (c(q₁, Δ) − f(q₁)) + e₁ = ½ h G₁ᵀ λ₁⁻,  G₁ s₁ = 0.

Without e₀ and e₁ the method is of order 2 and symmetric only; e is of order h². Numbers in, numbers out.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from flexmbs._jit import part
from flexmbs.algebra.small import add, cross, scale
from flexmbs.errors import InputError
from flexmbs.integrators.integrator import Integrator, check_iterations, check_step, check_tolerance

DISPLACEMENT = 1e-3  # m or rad between the points of the differences that give D M Δ
WEIGHTS = np.array([1.0, -8.0, 8.0, -1.0]) / 12.0  # of the differences at −2, −1, 1, 2 times the displacement
PLACES = np.array([-2.0, -1.0, 1.0, 2.0])


@dataclass(frozen=True)
class Rattle(Integrator):
    """Variational method of order 2 with a fixed ``step`` (s) that keeps g = 0 and G s = 0 to round-off.

    Symplectic, hence no drift of the energy over long times, where forces are conservative, constraints do not depend on time,
    and the step stays below 2/ω of the fastest vibration: in joint and in absolute coordinates, rigid and flexible, up to
    Newton's tolerance and the differences (fourth order, relative error 1e-12) by which the change of M along a step is taken.
    With damping, controllers, drives or other forces that depend on time or velocity it is symmetric to second order only.
    """

    step: float | None = None
    newton_tolerance: float = 1e-14
    max_iterations: int = 100

    rtol: None = field(default=None, init=False)
    atol: None = field(default=None, init=False)
    name: ClassVar[str] = "rattle"
    needs: ClassVar[str] = "residual"
    keeps_velocity_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.step is None:
            raise InputError("integrator.step: 'rattle' has no control of its steps; give a fixed step (s)")
        check_step("step", self.step)
        check_tolerance("newton_tolerance", self.newton_tolerance)
        check_iterations("max_iterations", self.max_iterations)


@part
def coadjoint(v, w, f, n):
    """ad*_V p = (f × w, n × w + f × v), the rate of a constant spatial momentum seen from a body with the twist V."""
    return cross(f, w), add(cross(n, w), cross(f, v))


@part
def group_term(v, w, f, n, df, dn):
    """B = (½ x coth ½ x − 1) p − ½ x d with x = ad*_V, by Bernoulli's series to x¹⁰; p = (f, n), d = (df, dn)."""
    bf, bn = coadjoint(v, w, df, dn)
    bf, bn = scale(-0.5, bf), scale(-0.5, bn)
    for j in range(5):
        f, n = coadjoint(v, w, f, n)
        f, n = coadjoint(v, w, f, n)
        if j == 0:
            c = 1.0 / 12.0
        elif j == 1:
            c = -1.0 / 720.0
        elif j == 2:
            c = 1.0 / 30240.0
        elif j == 3:
            c = -1.0 / 1209600.0
        else:
            c = 1.0 / 47900160.0
        bf, bn = add(bf, scale(c, f)), add(bn, scale(c, n))
    return bf, bn

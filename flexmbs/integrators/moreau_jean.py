"""Time stepping of Moreau and Jean for unilateral contacts with friction and impacts, and its contact problem in numbers.

Over a step h, with v_θ = θ v + (1 − θ) v₀ and q_θ = q₀ ⊕ θ h v_θ, velocities and impulses p of the contacts obey
    M(q_θ) (v − v₀) = h k(t₀ + θh, q_θ, v_θ) + h Gᵀλ + Wᵀ p,   q = q₀ ⊕ h v_θ.
A contact takes part where its gap, foreseen by half a step, is closed: g₀ + ½ h γ₀ ≤ 0. With U = W v the law of impact and
friction is the inclusion
    ξ_N = U_N + e_N U_N⁻ ≥ 0,  p_N ≥ 0,  ξ_N p_N = 0;   |p_T| ≤ μ p_N,  ξ_T = U_T + e_T U_T⁻ = −α p_T,  α ≥ 0,
where α > 0 only at |p_T| = μ p_N; ξ = D p + c with the Delassus operator D = W (M + θhD + θ²h²K)⁻¹ Wᵀ. Velocities are those at
the end of the step, forces act at q_θ like all others: forces of closed contacts then balance weights without error of order h.

Jean (1999) Comput. Methods Appl. Mech. Eng. 177, 235; Acary and Brogliato (2008), Numerical Methods for Nonsmooth Dynamical
Systems, ch. 10 and 13; Moreau (1988), Unilateral contact and dry friction in finite freedom dynamics.
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar

from flexmbs._jit import part
from flexmbs.errors import InputError
from flexmbs.integrators.integrator import Integrator, check_iterations, check_step, check_tolerance, is_number

NO_SOLUTION = -1
ARCS = 12  # in which the direction of slip is sought
BISECTIONS = 55
ROUNDED = 1e-13  # of the largest velocity
PLANAR = 1e-12  # of the stiffer tangent: no motion along the other


@dataclass(frozen=True)
class MoreauJean(Integrator):
    """Time stepping with a fixed ``step`` (s) through impacts, for rigid contacts and joint limits.

    theta: ½ (order 2 where smooth, keeps the energy of linear vibrations) … 1 (damps them). Impacts are passed, not located:
    errors are of order h; the overlap of a contact stays below h times its speed of approach.
    impulse_tolerance: of the contact problem, relative to its velocities; max_sweeps: of its block Gauss–Seidel iteration.
    """

    step: float | None = None
    theta: float = 0.5
    newton_tolerance: float = 1e-10
    max_iterations: int = 50
    impulse_tolerance: float = 1e-13
    max_sweeps: int = 5000

    rtol: None = field(default=None, init=False)
    atol: None = field(default=None, init=False)
    name: ClassVar[str] = "moreau-jean"
    needs: ClassVar[str] = "residual"
    contacts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.step is None:
            raise InputError("integrator.step: 'moreau-jean' has no control of its steps; give a fixed step (s)")
        check_step("step", self.step)
        if not (is_number(self.theta) and 0.5 <= self.theta <= 1.0):
            raise InputError(f"integrator.theta: {self.theta!r} is not within 0.5 … 1")
        for key in ("newton_tolerance", "impulse_tolerance"):
            check_tolerance(key, getattr(self, key))
        for key in ("max_iterations", "max_sweeps"):
            check_iterations(key, getattr(self, key))


@part
def sticking(D, o, r0, r1, r2):
    """p with A p + r = 0 for the block A of D at o; a tangent without motion is left out. p_N < 0 where A is singular."""
    a00, a01, a02 = D[o, o], D[o, o + 1], D[o, o + 2]
    f1, f2 = D[o + 1, o] / a00, D[o + 2, o] / a00
    a11, a22 = D[o + 1, o + 1], D[o + 2, o + 2]
    small = PLANAR * max(a11, a22)
    s11, s12, s21, s22 = a11 - f1 * a01, D[o + 1, o + 2] - f1 * a02, D[o + 2, o + 1] - f2 * a01, a22 - f2 * a02
    h1, h2 = r1 - f1 * r0, r2 - f2 * r0
    p1 = 0.0
    p2 = 0.0
    if a11 > small and a22 > small:
        det = s11 * s22 - s12 * s21
        if det <= small * small:
            return -1.0, 0.0, 0.0
        p1 = (s12 * h2 - s22 * h1) / det
        p2 = (s21 * h1 - s11 * h2) / det
    elif a11 > small and s11 > small:
        p1 = -h1 / s11
    elif a22 > small and s22 > small:
        p2 = -h2 / s22
    else:
        return -1.0, 0.0, 0.0
    return -(r0 + a01 * p1 + a02 * p2) / a00, p1, p2


@part
def slip_at(D, o, r0, r1, r2, mu, d1, d2):
    """(p_N, velocity along, velocity across) of slip in direction d, p_T = −μ p_N d, ξ_N = 0; p_N < 0 where it jams."""
    stiffness = D[o, o] - mu * (D[o, o + 1] * d1 + D[o, o + 2] * d2)
    if stiffness <= 0.0:
        return -1.0, 0.0, 0.0
    p0 = -r0 / stiffness
    p1, p2 = -mu * p0 * d1, -mu * p0 * d2
    x1 = r1 + D[o + 1, o] * p0 + D[o + 1, o + 1] * p1 + D[o + 1, o + 2] * p2
    x2 = r2 + D[o + 2, o] * p0 + D[o + 2, o + 1] * p1 + D[o + 2, o + 2] * p2
    return p0, x1 * d1 + x2 * d2, x2 * d1 - x1 * d2


@part
def planar_slip(D, o, r0, r1, r2, mu, first):
    """(p, found) of slip along the only tangent along which anything moves."""
    for k in range(2):
        d = 1.0 if k == 0 else -1.0
        d1, d2 = (d, 0.0) if first else (0.0, d)
        p0, along, _ = slip_at(D, o, r0, r1, r2, mu, d1, d2)
        if p0 >= 0.0 and along >= 0.0:
            return p0, -mu * p0 * d1, -mu * p0 * d2, True
    return 0.0, 0.0, 0.0, False


@part
def slipping(D, o, r0, r1, r2, mu):
    """(p, found) of slip: the direction whose slip velocity is along it, by bisection, from slip without friction on."""
    f = r0 / D[o, o]
    start = math.atan2(r2 - D[o + 2, o] * f, r1 - D[o + 1, o] * f)
    width = 2.0 * math.pi / ARCS
    for k in range(ARCS):
        j = (k + 1) // 2 if k % 2 == 1 else -(k // 2)
        low = start + (j - 0.5) * width
        high = low + width
        p0, _, across_low = slip_at(D, o, r0, r1, r2, mu, math.cos(low), math.sin(low))
        q0, _, across_high = slip_at(D, o, r0, r1, r2, mu, math.cos(high), math.sin(high))
        if p0 < 0.0 or q0 < 0.0 or across_low * across_high > 0.0:
            continue
        along = 0.0
        d1 = 0.0
        d2 = 0.0
        for _ in range(BISECTIONS):
            angle = 0.5 * (low + high)
            d1, d2 = math.cos(angle), math.sin(angle)
            p0, along, across = slip_at(D, o, r0, r1, r2, mu, d1, d2)
            if across * across_low > 0.0:
                low = angle
            else:
                high = angle
        if p0 >= 0.0 and along >= 0.0:
            return p0, -mu * p0 * d1, -mu * p0 * d2, True
    return 0.0, 0.0, 0.0, False


@part
def one_contact(D, o, r0, r1, r2, mu, least):
    """(p, found) of one contact with ξ = A p + r, A the block of D at o: open, frictionless, sticking or slipping.

    ``least``: normal compliance A_NN at or below which the contact cannot yield.
    """
    if r0 >= 0.0:
        return 0.0, 0.0, 0.0, True
    if D[o, o] <= least:
        return 0.0, 0.0, 0.0, False
    if mu == 0.0:
        return -r0 / D[o, o], 0.0, 0.0, True
    p0, p1, p2 = sticking(D, o, r0, r1, r2)
    if p0 >= 0.0 and p1 * p1 + p2 * p2 <= mu * mu * p0 * p0:
        return p0, p1, p2, True
    least_tangent = PLANAR * max(D[o + 1, o + 1], D[o + 2, o + 2])
    if D[o + 1, o + 1] <= least_tangent or D[o + 2, o + 2] <= least_tangent:
        return planar_slip(D, o, r0, r1, r2, mu, D[o + 1, o + 1] > least_tangent)
    return slipping(D, o, r0, r1, r2, mu)


@part
def impulses(n, D, c, mu, least, tolerance, sweeps, p):
    """Impulses p (3n,) of n contacts: block Gauss–Seidel from the given p, each contact solved exactly.

    Returns (sweeps or `NO_SOLUTION`, contact that has none or changed most); as many as ``sweeps``: not converged.
    """
    speed = 0.0
    for a in range(3 * n):
        speed = max(speed, abs(c[a]))
    worst = 0
    for sweep in range(sweeps):
        largest = 0.0
        for k in range(n):
            o = 3 * k
            r0, r1, r2 = c[o], c[o + 1], c[o + 2]
            for b in range(3 * n):
                if b < o or b > o + 2:
                    r0 += D[o, b] * p[b]
                    r1 += D[o + 1, b] * p[b]
                    r2 += D[o + 2, b] * p[b]
            if -ROUNDED * speed <= r0 < 0.0 and D[o, o] <= least[k]:
                r0 = 0.0
            p0, p1, p2, found = one_contact(D, o, r0, r1, r2, mu[k], least[k])
            if not found:
                return NO_SOLUTION, k
            change = max(abs(p0 - p[o]) * D[o, o], abs(p1 - p[o + 1]) * D[o + 1, o + 1], abs(p2 - p[o + 2]) * D[o + 2, o + 2])
            p[o], p[o + 1], p[o + 2] = p0, p1, p2
            if change > largest or change != change:
                largest = change
                worst = k
        if largest <= tolerance * speed:
            return sweep + 1, worst
        if n == 1:
            return 1, 0
    return sweeps, worst

"""Time stepping of Moreau and Jean for unilateral contacts with friction and impacts.

Over a step h, with v_θ = θ v + (1 − θ) v₀ and q_θ = q₀ ⊕ θ h v_θ, velocities and impulses p of the contacts obey
    M(q_θ) (v − v₀) = h k(t₀ + θh, q_θ, v_θ) + h Gᵀλ + Wᵀ p,   q = q₀ ⊕ h v_θ.
A contact takes part where its gap, foreseen by half a step, is closed: g₀ + ½ h γ₀ ≤ 0. The impulses p solve the contact problem
(`flexmbs.integrators.contact_problem`) with D = W (M + θhD + θ²h²K)⁻¹ Wᵀ. Velocities are those at the end of the step, forces act
at q_θ like all others: forces of closed contacts then balance weights without error of order h. For free motions ⊕ is the
midpoint rule's (Cayley's map): with θ = ½ free flight keeps energy, and momentum where no weight acts, whatever the spin.

Jean (1999) Comput. Methods Appl. Mech. Eng. 177, 235; Acary and Brogliato (2008), Numerical Methods for Nonsmooth Dynamical
Systems, ch. 10 and 13; Moreau (1988), Unilateral contact and dry friction in finite freedom dynamics.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from flexmbs.errors import InputError
from flexmbs.integrators.integrator import Integrator, check_iterations, check_step, check_tolerance, is_number


@dataclass(frozen=True)
class MoreauJean(Integrator):
    """Time stepping with a fixed ``step`` (s) through impacts, for rigid contacts and joint limits.

    theta: ½ (order 2 where smooth, keeps the energy of linear vibrations) … 1 (damps them). Impacts are passed, not located:
    errors are of order h; the overlap of a contact stays below h times its speed of approach.
    impulse_tolerance: of the contact problem, relative to its velocities; max_sweeps: of its iterations.
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

"""Integration from event to event for models with few rigid contacts: impacts are located and solved, closed contacts hold.

Between events the equations of motion are integrated by Dormand & Prince's method, with forces of the closed contacts for which
their accelerations obey a_N ≥ 0, F_N ≥ 0, a_N F_N = 0; F_T = −μ F_N γ_T/|γ_T| where they slip, |F_T| ≤ μ F_N with a_T = 0 where
they stick. A gap that closes is an impact: U⁺ = U⁻ + D p with U_N⁺ = −e U_N⁻ and Coulomb's law of impulses.
Pfeiffer and Glocker (1996), Multibody Dynamics with Unilateral Contacts, ch. 5 and 8; Acary and Brogliato (2008), ch. 8.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from flexmbs.errors import InputError
from flexmbs.integrators.course import CONTACTS, DERIVATIVE
from flexmbs.integrators.integrator import Facts, Integrator, check_tolerance, is_number

TOO_MANY = -2  # impacts, in place of a number of sweeps


@dataclass(frozen=True)
class EventDriven(Integrator):
    """Error-controlled steps of order 5 with ``rtol`` and ``atol`` between impacts that are located in time, for few contacts.

    settling: speed of approach (m/s or rad/s) below which a contact closes without rebound: so infinitely many impacts in a
    finite time are passed; of a bouncing ball it neglects a time of 2 settling/(g (1 − e)).
    """

    rtol: float = 1e-9
    atol: float = 1e-11
    settling: float = 1e-6

    step: None = field(default=None, init=False)
    name: ClassVar[str] = "event-driven"
    uses: ClassVar[tuple[int, ...]] = (DERIVATIVE, CONTACTS)
    needs: ClassVar[str] = "accelerations"
    treatments: ClassVar[tuple[str, ...]] = ("none", "baumgarte", "projection")
    contacts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_tolerance("rtol", self.rtol)
        check_tolerance("atol", self.atol)
        if not (is_number(self.settling) and self.settling > 0.0):
            raise InputError(f"integrator.settling: {self.settling!r} is not positive; give a speed (m/s or rad/s)")

    def memory(self, facts: Facts) -> Any:
        raise NotImplementedError

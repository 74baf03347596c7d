"""`ConstraintClass`: class of the constraints of a joint, a drive or another item."""

from typing import NamedTuple


class ConstraintClass(NamedTuple):
    """The number of constraint rows of an item and their class by physical properties.

    holonomic: g(q, t) = 0 restricts positions; else A(q, t) s + a₀ = 0 restricts velocities only.
    scleronomic: time does not appear; else rheonomic.  bilateral: equations; else unilateral,
    inequalities g ≥ 0.  active: kinematic, a motion is prescribed; else geometric (passive), by the
    shape of the parts.  Whether a constraint is explicit (positions given by independent
    coordinates) or implicit (equations between coordinates) is a choice of formulation. Source:
    Schiehlen and Eberhard, Applied Dynamics, ch. 2.
    """

    rows: int
    holonomic: bool = True
    scleronomic: bool = True
    bilateral: bool = True
    active: bool = False

    @property
    def words(self) -> tuple[str, str, str, str]:
        """The four properties in words."""
        return (
            "holonomic" if self.holonomic else "nonholonomic",
            "scleronomic" if self.scleronomic else "rheonomic",
            "bilateral" if self.bilateral else "unilateral",
            "kinematic" if self.active else "geometric",
        )

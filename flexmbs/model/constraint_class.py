"""`ConstraintClass`: class of the constraints of a joint, a drive or another item."""

from typing import NamedTuple


class ConstraintClass(NamedTuple):
    """Number of constraint rows of an item and their class by physical properties.

    holonomic: g(q, t) = 0 restricts positions; else A(q, t) s + a₀ = 0 restricts velocities only.
    scleronomic: independent of time; else rheonomic.  bilateral: equations; else unilateral,
    inequalities g ≥ 0.  active: kinematic, a motion is prescribed; else geometric (passive), due to
    the shape of the parts.  A constraint may be formulated explicitly (positions given by
    independent coordinates) or implicitly (equations between coordinates). Source: Schiehlen and
    Eberhard, Applied Dynamics, ch. 2.
    """

    rows: int
    holonomic: bool = True
    scleronomic: bool = True
    bilateral: bool = True
    active: bool = False

    @property
    def words(self) -> tuple[str, str, str, str]:
        """Names of the four properties."""
        return (
            "holonomic" if self.holonomic else "nonholonomic",
            "scleronomic" if self.scleronomic else "rheonomic",
            "bilateral" if self.bilateral else "unilateral",
            "kinematic" if self.active else "geometric",
        )

    @property
    def remarks(self) -> str:
        """Properties in which the class differs from that of most joints, in plain words."""
        names = {
            "nonholonomic": not self.holonomic,
            "time-dependent": not self.scleronomic,
            "unilateral": not self.bilateral,
        }
        return ", ".join(name for name, holds in names.items() if holds)

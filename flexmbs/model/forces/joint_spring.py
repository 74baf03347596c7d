"""Spring and damper on a joint coordinate."""

from flexmbs.law_kernel import Row
from flexmbs.model.fields import Nonnegative, Number
from flexmbs.model.forces.force import JointForce
from flexmbs.model.laws import spring_damper


class JointSpring(JointForce, kind="joint-spring"):
    """Q = −k·(x − x0) − c·v on one degree of freedom of a joint.

    Parameters
    ----------
    k : float [N/m or N m/rad]
        Stiffness.
    c : float [N s/m or N m s/rad]
        Damping.
    x0 : float [m or rad]
        Coordinate of the unloaded spring.
    """

    k: Nonnegative = 0.0
    c: Nonnegative = 0.0
    x0: Number = 0.0

    def row(self) -> Row:
        return Row(spring_damper, (self.k, self.c, self.x0, 0.0))

"""Spring and damper on a joint coordinate."""

from flexmbs.law_kernel import Row
from flexmbs.model.fields import Nonnegative, Number
from flexmbs.model.forces.force import JointForce
from flexmbs.model.laws import spring_damper


class JointSpring(JointForce, kind="joint-spring"):
    """Q = −k·(x − x0) − c·v on one degree of freedom of a joint.

    Source: docs/theory.md, section 39.

    Parameters
    ----------
    k : float [N/m or N m/rad]
        Stiffness.
    c : float [N s/m or N m s/rad]
        Damping.
    x0 : float [m or rad]
        Coordinate of the unloaded spring.

    Examples
    --------
    >>> import math
    >>> import flexmbs as fm
    >>> model = fm.Model("balance wheel")
    >>> wheel = model.add(fm.RigidBody("wheel", mass=1e-4, inertia=(1e-9, 1e-9, 2e-9)))
    >>> staff = model.add(fm.Revolute("staff", model.ground, wheel, axis="z"))
    >>> spiral = model.add(fm.JointSpring("spiral", staff, k=2e-9 * (2 * math.pi * 4.0) ** 2))
    >>> round(fm.linearize(model).modes.frequency[0].item(), 6)  # √(k/J)/2π, in Hz
    4.0
    """

    k: Nonnegative = 0.0
    c: Nonnegative = 0.0
    x0: Number = 0.0

    def row(self) -> Row:
        """Kernel and parameters k, c, x0 of the spring and damper."""
        return Row(spring_damper, (self.k, self.c, self.x0, 0.0))

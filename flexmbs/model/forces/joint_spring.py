"""Spring and damper on a joint coordinate."""

from flexmbs.law_kernel import law_kernel
from flexmbs.model.fields import Nonnegative, Number
from flexmbs.model.forces.force import JointForce, Row


@law_kernel
def spring_damper(p, u, x, out):
    """τ = F − k (x − x₀) − c η, p = (k, c, x₀, F)"""
    out[0] = -p[0] * (x[1] - p[2]) - p[1] * x[2] + p[3]
    out[1] = -p[1] * x[2]


@spring_damper.slopes
def spring_damper_slopes(p, u, x, out):
    """(k, c)"""
    out[0] = p[0]
    out[1] = p[1]


class JointSpring(JointForce, kind="joint-spring"):
    """Q = −k·(x − x0) − c·v on one freedom of a joint; k in N/m or N m/rad, c in N s/m or N m s/rad."""

    k: Nonnegative = 0.0
    c: Nonnegative = 0.0
    x0: Number = 0.0

    def row(self) -> Row:
        return Row(spring_damper, (self.k, self.c, self.x0, 0.0))

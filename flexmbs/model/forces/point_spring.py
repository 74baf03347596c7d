"""Spring and damper between two points."""

from typing import Annotated

from pydantic import AfterValidator

from flexmbs.law_kernel import Row, law_kernel
from flexmbs.model.fields import Nonnegative, OptionalNonnegative
from flexmbs.model.forces.force import AlongLine
from flexmbs.model.functions import OptionalFunction, function_of
from flexmbs.model.laws import first_two

TensionFunction = Annotated[
    OptionalFunction, AfterValidator(function_of(3, "f(t, elongation, rate) -> tension"))
]


@law_kernel
def linear(p, u, x, out):
    """Kernel of a linear spring and damper, F = k e + c ė, p = (k, c)."""
    out[1] = p[1] * x[2]
    out[0] = p[0] * x[1] + out[1]


linear.slopes(first_two)


@law_kernel
def given_tension(p, u, x, out):
    """Kernel of a tension given by a user function, F = u(t, e, ė)."""
    out[0] = u[0]


class PointSpring(AlongLine, kind="point-spring"):
    """Spring and damper on the line between two frames: tension = k·(l − length) + c·dl/dt.

    Source: docs/theory.md, section 39.

    Parameters
    ----------
    k : float [N/m]
        Stiffness.
    c : float [N s/m]
        Damping.
    length : float or None [m]
        Unloaded length; None: the initial distance. For 0 the force is k r, which balances a
        weight in every position.
    law : function or None
        ``law(t, elongation, rate)`` returns the tension [N] and replaces k and c.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("hanging mass", gravity=(0, 0, -10.0))
    >>> mass = model.add(fm.PointMass("mass", mass=2.0))
    >>> line = model.add(fm.Translation("line", model.ground, mass, q0=(0, 0, -0.5)))
    >>> spring = model.add(fm.PointSpring("spring", model.ground, mass, k=400.0, length=0.4))
    >>> fm.statics(model).state.q.round(6).tolist()  # length + m g/k
    [0.0, 0.0, -0.45]
    """

    k: Nonnegative = 0.0
    c: Nonnegative = 0.0
    length: OptionalNonnegative = None
    law: TensionFunction = None

    def unloaded_length(self) -> float | None:
        """Length at which the spring force is zero, m; None for the initial distance."""
        return self.length

    def row(self) -> Row:
        """Kernel of the linear spring and damper, or of the law of the tension."""
        return (
            Row(linear, (self.k, self.c))
            if self.law is None
            else Row(given_tension, laws=(self.law,))
        )

"""Couplings by user functions of any joint coordinates.

g(q, t) = 0 on positions, a(q, t) · q̇ + a₀(q, t) = 0 on velocities.

With the named coordinates x, ġ = a · ẋ + a₀, a = ∂g/∂x and a₀ = ∂g/∂t, the multiplier λ produces
the torque or force aᵢ λ on each coordinate. Coordinates of points are provided by a joint `Pose`,
which constrains nothing. Lurie, Analytical Mechanics (2002), chapter 1 (constraints g(r₁ … r_n, t)
= 0 and A q̇ + a₀ = 0).

"""

import dataclasses
from typing import Annotated, Any, Protocol

import numpy as np
from pydantic import AfterValidator

from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.couplings import Coordinates, Coupling, Term
from flexmbs.model.fields import Switch
from flexmbs.model.functions import OptionalFunction, UserFunction, function_of

CoordinateFunction = Annotated[UserFunction, AfterValidator(function_of(2, "f(t, x)"))]
OptionalCoordinateFunction = Annotated[OptionalFunction, AfterValidator(function_of(2, "f(t, x)"))]


class CoordinateEquation(Protocol):
    """Base of couplings and contacts by user functions f(t, x) of joint coordinates x."""

    @property
    def section(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def of(self) -> tuple[str, ...]: ...
    @property
    def function(self) -> Any: ...
    @property
    def rheonomic(self) -> bool: ...


class GeneralCoupling(Coupling):
    """Equation between joint coordinates by a user function.

    The function takes the time t and the array x of their values.

    Parameters
    ----------
    of : list of coordinates
        The coordinates, ``joint`` or ``'joint.number'``, in the order of x.
    """

    of: Coordinates = dataclasses.field(kw_only=False)
    function: CoordinateFunction = dataclasses.field(kw_only=False)
    rheonomic: Switch = False

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(Term("of", coordinate, 1.0) for coordinate in self.of)


class HolonomicCoupling(GeneralCoupling, kind="holonomic"):
    """Constraint g(t, x) = 0 by a user function.

    Derivatives that are not given are computed by complex steps, or by differences if the function
    does not support complex numbers. Source: docs/theory.md, section 14.

    Parameters
    ----------
    function : function
        ``function(t, x)`` returns g.
    gradient : function or None
        ``gradient(t, x)`` returns ∂g/∂x, one number per coordinate, followed by ∂g/∂t if
        ``rheonomic``.
    rheonomic : bool
        True if g depends on time.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("plotter", gravity=(0, 0, 0))
    >>> pen = model.add(fm.RigidBody("pen", mass=0.1, inertia=(1e-5, 1e-5, 1e-5)))
    >>> slides = (fm.motions.Slide("x"), fm.motions.Slide("y"))
    >>> table = model.add(
    ...     fm.Chain("table", model.ground, pen, motions=slides, q0=(0.5, 0.25), v0=(2.0, 2.0))
    ... )
    >>> parabola = model.add(
    ...     fm.HolonomicCoupling("parabola", ["table.0", "table.1"], lambda t, x: x[0] ** 2 - x[1])
    ... )
    >>> now = fm.state(model)
    >>> round((now.sd[1] - 2 * 0.5 * now.sd[0]).item(), 6)  # ÿ = 2 ẋ² + 2 x ẍ
    8.0
    """

    gradient: OptionalCoordinateFunction = None

    @property
    def equation(self) -> str:
        return f"g({', '.join((*self.of, *(['t'] if self.rheonomic else [])))}) = 0"

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """One holonomic row."""
        return (ConstraintClass(1, scleronomic=not self.rheonomic, active=self.rheonomic),)


class VelocityCoupling(GeneralCoupling, kind="velocity"):
    """Nonholonomic constraint a(t, x) · ẋ + a₀(t, x) = 0 by a user function.

    Source: docs/theory.md, section 14.

    Parameters
    ----------
    function : function
        ``function(t, x)`` returns a, one number per coordinate, followed by a₀ if there is one.
    rheonomic : bool
        True if a or a₀ depends on time.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("steered point", gravity=(0, 0, 0))
    >>> cart = model.add(fm.RigidBody("cart", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    >>> slides = (fm.motions.Slide("x"), fm.motions.Slide("y"))
    >>> plane = model.add(fm.Chain("plane", model.ground, cart, motions=slides, v0=(3.0, 1.5)))
    >>> course = model.add(
    ...     fm.VelocityCoupling("course", ["plane.0", "plane.1"], lambda t, x: (0.5, -1.0))
    ... )
    >>> bool(abs(fm.matrices(model).G @ (3.0, 1.5)).max() < 1e-12)  # 0.5 ẋ − ẏ = 0
    True
    """

    @property
    def equation(self) -> str:
        return f"a · d/dt ({', '.join(self.of)}) + a₀ = 0"

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """One nonholonomic row."""
        return (
            ConstraintClass(
                1, holonomic=False, scleronomic=not self.rheonomic, active=self.rheonomic
            ),
        )


def nonholonomic_couplings(couplings: dict[str, Coupling]) -> list[str]:
    """Names of the couplings that constrain velocities only."""
    return [name for name, coupling in couplings.items() if isinstance(coupling, VelocityCoupling)]


def probe_of(n: int) -> tuple[float, np.ndarray]:
    """Generic time and coordinates (n) at which user functions are tested."""
    return 0.3, 0.2 + 0.37 * np.arange(1, n + 1) % 1.1

"""Unilateral constraints between joint coordinates by user functions, g(t, x) ≥ 0."""

import dataclasses

from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.contacts.contact import UnilateralContact
from flexmbs.model.couplings import Coordinates, Term
from flexmbs.model.fields import Switch
from flexmbs.model.general_couplings import CoordinateFunction, OptionalCoordinateFunction


class UnilateralCoupling(UnilateralContact, kind="unilateral-coupling"):
    """Condition g(t, x) ≥ 0 on any joint coordinates x by a user function, without friction.

    With ġ = a · ẋ + a₀, a = ∂g/∂x and a₀ = ∂g/∂t, the force N ≥ 0 produces the torque or force aᵢ N
    on each coordinate, and an impact by Newton's law changes ġ by −(1 + e) ġ. Coordinates of points
    are provided by a joint `Pose`, which constrains nothing. Derivatives that are not given are
    computed by complex steps, or by differences if the function does not support complex numbers.
    Lurie,

    Analytical Mechanics (2002), chapter 1; Pfeiffer and Glocker, Multibody Dynamics with Unilateral
    Contacts (1996).

    Parameters
    ----------
    of : list of coordinates
        The coordinates, ``joint`` or ``'joint.number'``, in the order of x.
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
    >>> model = fm.Model("two wagons")
    >>> for name, x, v in (("first", 0.0, 0.0), ("second", -0.5, 2.0)):
    ...     wagon = model.add(fm.RigidBody(name, mass=1000.0, inertia=(900.0, 900.0, 900.0)))
    ...     track = model.add(
    ...         fm.Prismatic(f"track {name}", model.ground, wagon, axis="x", q0=x, v0=v)
    ...     )
    >>> gap = lambda t, x: x[0] - x[1] - 0.1
    >>> buffers = model.add(
    ...     fm.UnilateralCoupling("buffers", ["track first", "track second"], gap, restitution=0.5)
    ... )
    >>> run = fm.simulate(model, t_end=0.5, integrator="event-driven")
    >>> run.s[-1].round(6).tolist()  # (1 ± e) v/2
    [1.5, 0.5]
    """

    of: Coordinates = dataclasses.field(kw_only=False)
    function: CoordinateFunction = dataclasses.field(kw_only=False)
    gradient: OptionalCoordinateFunction = None
    rheonomic: Switch = False

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(Term("of", coordinate, 1.0) for coordinate in self.of)

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """One unilateral row; none with a force law."""
        timed = self.rheonomic
        return (
            (ConstraintClass(1, scleronomic=not timed, bilateral=False, active=timed),)
            if self.rigid
            else ()
        )

"""Limits of a joint coordinate."""

import math

from pydantic import model_validator

from flexmbs.declaration import NestedError
from flexmbs.model.contacts.contact import CoordinateContact
from flexmbs.model.fields import OptionalNumber


class JointLimit(CoordinateContact, kind="joint-limit"):
    """Limits of one degree of freedom of a joint: lower ≤ q ≤ upper, each with ``restitution``.

    Source: docs/theory.md, section 40.

    Parameters
    ----------
    lower : float or None [m or rad]
        Lower limit; None: no limit.
    upper : float or None [m or rad]
        Upper limit; None: no limit.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("buffer")
    >>> wagon = model.add(fm.RigidBody("wagon", mass=1000.0, inertia=(900.0, 900.0, 900.0)))
    >>> track = model.add(fm.Prismatic("track", model.ground, wagon, axis="x", v0=2.0))
    >>> buffer = model.add(fm.JointLimit("buffer", track, upper=0.5, restitution=0.3))
    >>> run = fm.simulate(model, t_end=0.5, integrator="event-driven")
    >>> run.joint("track").velocity[-1].round(6).tolist()  # −e v
    [-0.6]
    """

    lower: OptionalNumber = None
    upper: OptionalNumber = None

    def bounds(self) -> dict[str, tuple[float, float]]:
        """(sign of the free side, bound) by name of the given bounds."""
        given = {"lower": (1.0, self.lower), "upper": (-1.0, self.upper)}
        return {key: (sign, bound) for key, (sign, bound) in given.items() if bound is not None}

    @property
    def size(self) -> float:
        return (
            math.inf if self.lower is None or self.upper is None else float(self.upper - self.lower)
        )

    @model_validator(mode="after")
    def _ordered(self) -> "JointLimit":
        """Raise `NestedError` unless there is a bound and lower < upper."""
        if self.lower is None and self.upper is None:
            raise NestedError.at(("lower",), "and upper are missing; give at least one of them")
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise NestedError.at(
                ("upper",), f"must be above lower = {self.lower:g}, not {self.upper:g}"
            )
        return self

"""Limits of a joint coordinate."""

from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import NestedError, Problem
from flexmbs.model.contacts.contact import CoordinateContact
from flexmbs.model.fields import number


def _optional_number(value: object) -> Any:
    return None if value is None else number(value)


OptionalNumber = Annotated[Any, BeforeValidator(_optional_number)]


class JointLimit(CoordinateContact, kind="joint-limit"):
    """Limits of one degree of freedom of a joint: lower ≤ q ≤ upper, each with ``restitution``.

    Parameters
    ----------
    lower : float or None [m or rad]
        Lower limit; None: no limit.
    upper : float or None [m or rad]
        Upper limit; None: no limit.
    """

    lower: OptionalNumber = None
    upper: OptionalNumber = None

    def bounds(self) -> dict[str, tuple[float, float]]:
        given = {"lower": (1.0, self.lower), "upper": (-1.0, self.upper)}
        return {key: (sign, bound) for key, (sign, bound) in given.items() if bound is not None}

    @model_validator(mode="after")
    def _ordered(self) -> "JointLimit":
        if self.lower is None and self.upper is None:
            raise NestedError([Problem(("lower",), "and upper are missing; give at least one of them")])
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise NestedError([Problem(("upper",), f"must be above lower = {self.lower:g}, not {self.upper:g}")])
        return self

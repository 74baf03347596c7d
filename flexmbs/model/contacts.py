"""Contacts: unilateral constraints g(q) ≥ 0 between simple shapes on frames, and limits of joint coordinates."""

import dataclasses
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import NestedError, Problem, shown
from flexmbs.law_kernel import Row
from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.contact_laws import OptionalContactLaw
from flexmbs.model.fields import Axis, Index, Nonnegative, OptionalPositive, number
from flexmbs.model.frames import FrameLike, JointLike
from flexmbs.model.item import CoordinateUse, Item

RESTITUTION_LAWS = ("newton", "poisson")
SQUARE = 1e-9  # cosine of the angle between a normal and a direction across it


def _coefficient(value: object) -> float:
    result = number(value)
    if not 0.0 <= result <= 1.0:
        raise ValueError(f"must be within 0 … 1 (an impact adds no energy), not {result:g}")
    return result


def _restitution_law(value: object) -> str:
    if value not in RESTITUTION_LAWS:
        raise ValueError(f"must be 'newton' or 'poisson', not {shown(value)}")
    return str(value)


def _optional_number(value: object) -> Any:
    return None if value is None else number(value)


Coefficient = Annotated[float, BeforeValidator(_coefficient)]
OptionalNumber = Annotated[Any, BeforeValidator(_optional_number)]


class Contact(Item, section="contacts"):
    """A unilateral constraint g(q) ≥ 0: open while g > 0, closed it only presses.

    ``restitution``: coefficient e_N, 0 … 1, of the law of impact by Newton, γ⁺ = −e_N γ⁻, or by Poisson (impulse of expansion e_N
    times that of compression).  ``law``: a law of its force (`HuntCrossley`) instead of the constraint, for every integrator; it
    has a restitution of its own.
    """

    restitution: Coefficient = 0.0
    restitution_law: Annotated[str, BeforeValidator(_restitution_law)] = "newton"
    law: OptionalContactLaw = None

    @property
    def rigid(self) -> bool:
        """True where no force law gives the contact's forces, but the constraint itself."""
        return self.law is None

    @model_validator(mode="after")
    def _one_restitution(self) -> "Contact":
        if self.law is not None and self.restitution:
            raise NestedError([Problem(("restitution",), "is of rigid contacts; give it to the law")])
        return self

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """One unilateral row; none where a force law stands for it."""
        return (ConstraintClass(1, bilateral=False),) if self.rigid else ()


class FrameContact(Contact):
    """Contact of a shape on frame ``child`` with a shape on frame ``parent`` of another body, or of the ground.

    tangential_restitution: the like coefficient e_T along the plane of contact, of Newton's law alone.
    friction: Coulomb's coefficient μ ≥ 0.
    """

    parent: FrameLike = dataclasses.field(kw_only=False)
    child: FrameLike = dataclasses.field(kw_only=False)
    tangential_restitution: Coefficient = 0.0
    friction: Nonnegative = 0.0

    @model_validator(mode="after")
    def _newton_along(self) -> "FrameContact":
        if self.tangential_restitution and self.restitution_law == "poisson":
            text = f"{self.tangential_restitution:g} is for Newton's law; leave it 0, or take restitution_law 'newton'"
            raise NestedError([Problem(("tangential_restitution",), text)])
        return self

    @model_validator(mode="after")
    def _two_bodies(self) -> "FrameContact":
        if self.law is not None and self.tangential_restitution:
            raise NestedError([Problem(("tangential_restitution",), "is of rigid contacts; the law has none")])
        if self.parent.body == self.child.body:
            text = f"is a frame of '{self.parent.body}' like the parent; a contact needs frames of two bodies"
            raise NestedError([Problem(("child",), text)])
        return self


class SpherePlane(FrameContact, kind="sphere-plane"):
    """Sphere of ``radius`` (m) about frame ``child`` over the plane through frame ``parent``, g = n·r − radius.

    ``normal``: outward normal n of the plane in axes of the parent's frame. Radius 0 is a point on a plane.
    """

    normal: Axis = "z"
    radius: Nonnegative = 0.0


class SphereSphere(FrameContact, kind="sphere-sphere"):
    """Two spheres outside of each other, g = |r| − radius_parent − radius_child, about the frames' origins; radii in m."""

    radius_parent: Nonnegative
    radius_child: Nonnegative


class CornerLine(FrameContact, kind="corner-line"):
    """Corner (the origin of frame ``child``) over an edge of a body in planar motion, g = n·r where the edge is.

    The edge begins at the origin of frame ``parent`` and runs ``length`` (m; None: both ways without end) in ``direction``;
    ``normal``: its outward normal, across it; both in axes of that frame. Beside the edge the contact is open.
    """

    normal: Axis = "y"
    direction: Axis = "x"
    length: OptionalPositive = None

    @model_validator(mode="after")
    def _across(self) -> "CornerLine":
        cosine = sum(a * b for a, b in zip(self.normal, self.direction))
        if abs(cosine) > SQUARE:
            raise NestedError([Problem(("direction",), f"must be perpendicular to the normal, but their cosine is {cosine:g}")])
        return self


class JointLimit(Contact, kind="joint-limit"):
    """Stops of one freedom of a joint: lower ≤ q ≤ upper (rad or m), each with ``restitution``; None where there is no stop."""

    joint: JointLike = dataclasses.field(kw_only=False)
    coordinate: Index = 0
    lower: OptionalNumber = None
    upper: OptionalNumber = None

    def coordinate_used(self) -> CoordinateUse:
        return CoordinateUse(self.joint, self.coordinate)

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        rows = (self.lower is not None) + (self.upper is not None)
        return (ConstraintClass(rows, bilateral=False),) if self.rigid else ()

    def stops(self) -> list[Row]:
        """Records of the forces of its stops, if a law gives them."""
        if self.law is None:
            return []
        return [self.law.stop(bound, sign) for sign, bound in ((1.0, self.lower), (-1.0, self.upper)) if bound is not None]

    @model_validator(mode="after")
    def _bounds(self) -> "JointLimit":
        if self.lower is None and self.upper is None:
            raise NestedError([Problem(("lower",), "is missing, and upper too; give at least one of them")])
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise NestedError([Problem(("upper",), f"must be above lower = {self.lower:g}, not {self.upper:g}")])
        return self

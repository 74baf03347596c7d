"""Base of all contacts.

Unilateral constraints g(q) ≥ 0 between shapes on two frames, and bounds of joint coordinates.

A kind of contact defines only its geometry: between frames by a kernel
(`flexmbs.law_kernel.LawKernel`) in the file of its declaration.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import BeforeValidator, model_validator

from flexmbs.algebra.vectors import store3
from flexmbs.declaration import NestedError, shown
from flexmbs.law_kernel import LawKernel, LawPart, Row
from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.contact_laws import OptionalContactLaw
from flexmbs.model.couplings import Term, coordinate_of
from flexmbs.model.fields import Index, Nonnegative, Switch, number
from flexmbs.model.frames import FrameLike, JointLike
from flexmbs.model.item import CoordinateUse, Item

if TYPE_CHECKING:
    from flexmbs.model.joints import Joint

RESTITUTION_LAWS = ("newton", "poisson")


def _coefficient(value: object) -> float:
    """Validate a coefficient of restitution, 0 … 1. Raises ValueError."""
    result = number(value)
    if not 0.0 <= result <= 1.0:
        raise ValueError(f"must be within 0 … 1 (an impact adds no energy), not {result:g}")
    return result


def _restitution_law(value: object) -> str:
    """Validate the impact law, "newton" or "poisson". Raises ValueError."""
    if value not in RESTITUTION_LAWS:
        raise ValueError(f"must be 'newton' or 'poisson', not {shown(value)}")
    return str(value)


Coefficient = Annotated[float, BeforeValidator(_coefficient)]


class Contact(Item, section="contacts"):
    """Base of the constraints that methods with set-valued forces solve simultaneously.

    Unilateral constraints and dry friction.
    """

    # message if the gap is NaN
    undefined: ClassVar[str] = "its gap is not a number; check its geometry"
    named: ClassVar[str] = "rigid contacts"  # in messages

    @property
    def rigid(self) -> bool:
        """True for a constraint or set-valued force, False for a force law."""
        return True

    @property
    def size(self) -> float:
        """Length (m) or angle of its shapes, the reference for small penetrations.

        Infinite if it has no shapes.
        """
        return math.inf

    @property
    def terms(self) -> tuple[Term, ...]:
        """Joint coordinates between which it acts, if any."""
        return ()

    def coordinates(self, joints: "Mapping[str, Joint]") -> list[CoordinateUse]:
        """Joint coordinates between which the contact acts, as (joint, number)."""
        return [coordinate_of(term.coordinate, joints) for term in self.terms]


class UnilateralContact(Contact):
    """Unilateral constraint g(q) ≥ 0: open if g > 0; a closed contact transmits pressure only.

    Parameters
    ----------
    restitution : float
        Coefficient of restitution e_N, 0 … 1.
    restitution_law : 'newton' or 'poisson'
        γ⁺ = −e_N γ⁻, or expansion impulse e_N times the compression impulse.
    law : contact law or None
        Force law (`HuntCrossley`, with its own restitution) that replaces the constraint, for every
        integrator.
    preloaded : bool
        Allow an initial overlap of a contact with a ``law`` that exceeds static loads.
    """

    restitution: Coefficient = 0.0
    restitution_law: Annotated[str, BeforeValidator(_restitution_law)] = "newton"
    law: OptionalContactLaw = None
    preloaded: Switch = False

    @property
    def rigid(self) -> bool:
        """True if the contact is a constraint, not a force law."""
        return self.law is None

    @model_validator(mode="after")
    def _one_restitution(self) -> "UnilateralContact":
        """Raise `NestedError` for restitution with a law, or a preload without one."""
        if self.law is not None and self.restitution:
            raise NestedError.at(
                ("restitution",), "applies to rigid contacts; give it to the law instead"
            )
        if self.law is None and self.preloaded:
            raise NestedError.at(
                ("preloaded",), "applies to contacts with a law; a rigid contact cannot overlap"
            )
        return self

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """One unilateral row; none if a force law replaces it."""
        return (ConstraintClass(1, bilateral=False),) if self.rigid else ()


class FrameContact(UnilateralContact):
    """Contact of a shape on frame ``child`` with a shape on frame ``parent``.

    The parent is another body or the ground.

    Geometry kernel: x = (r (3), R (9, by rows)), the position of the child relative to the parent
    and R child → parent, in parent axes → out = (g, beside, n (3), t (3), c (3)): the gap, 1 if the
    point is outside the bounds of the shape and cannot close, the normal, the first tangent (the
    second is n × t), and the position of the contact point relative to the child frame. The rate of
    g is n · (v + ω × c). `touching` writes them.


    Parameters
    ----------
    parent : frame
        Frame of one body or the ground.
    child : frame
        Frame of another body.
    tangential_restitution : float
        Coefficient of restitution e_T in the contact plane, for Newton's law only.
    friction : float
        Coulomb coefficient μ ≥ 0.
    rolling_friction : float [m]
        Arm ρ_r ≥ 0 of rolling friction, the moment ρ_r N against the angular velocity in the plane
        of contact; with a law.
    torsional_friction : float [m]
        Arm ρ_t ≥ 0 of torsional friction, the moment ρ_t N against the angular velocity about the
        normal; with a law.
    """

    parent: FrameLike = dataclasses.field(kw_only=False)
    child: FrameLike = dataclasses.field(kw_only=False)
    tangential_restitution: Coefficient = 0.0
    friction: Nonnegative = 0.0
    rolling_friction: Nonnegative = 0.0
    torsional_friction: Nonnegative = 0.0

    @model_validator(mode="after")
    def _turns_with_a_law(self) -> "FrameContact":
        """Raise `NestedError` for rolling or torsional friction without a force law."""
        for key in ("rolling_friction", "torsional_friction"):
            if getattr(self, key) and self.law is None:
                raise NestedError.at(
                    (key,), "applies to contacts with a force law; give a law, or set it to 0"
                )
        return self

    @model_validator(mode="after")
    def _newton_along(self) -> "FrameContact":
        """Raise `NestedError` for tangential restitution with Poisson's law."""
        if self.tangential_restitution and self.restitution_law == "poisson":
            text = (
                f"{self.tangential_restitution:g} requires Newton's law; set it to 0, or use "
                "restitution_law 'newton'"
            )
            raise NestedError.at(("tangential_restitution",), text)
        return self

    @model_validator(mode="after")
    def _two_bodies(self) -> "FrameContact":
        """Raise `NestedError` unless the frames belong to two different bodies."""
        if self.law is not None and self.tangential_restitution:
            raise NestedError.at(
                ("tangential_restitution",),
                "applies to rigid contacts only; omit it with a force law",
            )
        if self.parent.body == self.child.body:
            text = (
                f"is a frame of '{self.parent.body}' like the parent; a contact needs frames "
                "of two different bodies"
            )
            raise NestedError.at(("child",), text)
        return self

    def shape(self) -> tuple[LawKernel, tuple[float, ...]]:
        """Kernel of the gap geometry, and its parameters."""
        raise NotImplementedError


class CoordinateContact(UnilateralContact):
    """Bounds of one degree of freedom of a joint, with gaps g = σ (x − bound).

    Parameters
    ----------
    joint : joint
        The joint, by handle or name.
    coordinate : int
        Index of the degree of freedom of the joint, from 0.
    """

    joint: JointLike = dataclasses.field(kw_only=False)
    coordinate: Index = 0

    def bounds(self) -> dict[str, tuple[float, float]]:
        """(sign σ, bound) of each gap, by row name."""
        raise NotImplementedError

    def coordinate_used(self) -> CoordinateUse:
        """Joint coordinate on which the contact acts."""
        return CoordinateUse(self.joint, self.coordinate)

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """One unilateral row for each bound; none with a force law."""
        return (ConstraintClass(len(self.bounds()), bilateral=False),) if self.rigid else ()

    def stops(self) -> list[Row]:
        """Kernel records of the forces at the bounds, if there is a force law."""
        return (
            []
            if self.law is None
            else [self.law.stop(bound, sign) for sign, bound in self.bounds().values()]
        )


@LawPart
def touching(out, g, beside, n, t, c):
    """Write gap, normal, tangent and contact point to the results of a geometry kernel."""
    out[0] = g
    out[1] = beside
    store3(out, 2, n)
    store3(out, 5, t)
    store3(out, 8, c)


def declared_contact(contacts: Mapping[str, Contact], name: str) -> Contact:
    """Contact among the declared ones of which ``name`` is one, or a bound, as "stop.upper"."""
    return contacts.get(name) or contacts[name.rpartition(".")[0]]

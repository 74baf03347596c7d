"""`Item`: a named member of a model that connects or acts between bodies: joints, forces, drives."""

import dataclasses
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from flexmbs.declaration import Declaration, Problem
from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.fields import Name
from flexmbs.model.frames import ItemHandle

if TYPE_CHECKING:
    from flexmbs.model.joints import Joint
    from flexmbs.model.motions import Motion


class CoordinateUse(NamedTuple):
    """A degree of freedom of a joint, with its position coordinate, that an item refers to."""

    joint: str
    coordinate: int


class Item(Declaration):
    """A joint, force, contact or drive, referred to by its name.

    Parameters
    ----------
    name : str
        Unique name within its section of the model.
    """

    name: Name = dataclasses.field(kw_only=False)

    # parameters: frames that carry a shape larger than a point
    extended: ClassVar[tuple[str, ...]] = ()

    def handle(self) -> ItemHandle:
        """Handle that ``model.add`` returns."""
        return ItemHandle(self.section, self.name)

    def coordinate_used(self) -> CoordinateUse | None:
        """The degree of freedom of a joint on which it acts, if any."""
        return None

    def unfit_for(self, joint: "Joint", motion: "Motion") -> str:
        """Why the degree of freedom of this motion of the joint is not one on which it can act, or
        nothing.
        """
        return ""

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """Its constraint rows by class; none for a force."""
        return ()

    def warnings(self) -> list[Problem]:
        """Unusual values of the item that are probably mistakes."""
        return []

"""`Item`: named member of a model that connects bodies or acts between them.

Joints, forces, drives.
"""

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
    """Degree of freedom of a joint, with its position coordinate, to which an item refers."""

    joint: str
    coordinate: int


class Item(Declaration):
    """Joint, force, contact or drive, referred to by its name.

    Parameters
    ----------
    name : str
        Unique name within its section of the model.
    """

    name: Name = dataclasses.field(kw_only=False)

    # parameters: frames that carry a shape larger than a point
    extended: ClassVar[tuple[str, ...]] = ()

    def handle(self) -> ItemHandle:
        """Handle returned by ``model.add``."""
        return ItemHandle(self.section, self.name)

    def coordinate_used(self) -> CoordinateUse | None:
        """Joint coordinate on which the item acts, if any."""
        return None

    def unfit_for(self, joint: "Joint", motion: "Motion") -> str:
        """Reason why the item cannot act on a joint coordinate; "" if it can.

        The degree of freedom is that of this motion of the joint.
        """
        return ""

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """Constraint rows by class; empty for a force."""
        return ()

    def warnings(self) -> list[Problem]:
        """Warnings of unusual values that are probably mistakes."""
        return []

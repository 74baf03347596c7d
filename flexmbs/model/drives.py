"""Drives: prescribed joint coordinates."""

import dataclasses

from flexmbs.model.declaration import Declaration
from flexmbs.model.fields import Index, Name
from flexmbs.model.frames import ItemHandle, JointLike
from flexmbs.model.laws import LawOfTime


class Drive(Declaration, section="drives", kind="drive"):
    """Prescribes one coordinate of a joint: q = motion(t) (rad or m); its torque or force is the matching multiplier.

    ``motion`` is a law of time, a number or a function of t; ``coordinate`` is the index of the freedom.
    """

    name: Name = dataclasses.field(kw_only=False)
    joint: JointLike = dataclasses.field(kw_only=False)
    motion: LawOfTime = dataclasses.field(kw_only=False)
    coordinate: Index = 0

    def handle(self) -> ItemHandle:
        """What ``model.add`` returns."""
        return ItemHandle(self.section, self.name)

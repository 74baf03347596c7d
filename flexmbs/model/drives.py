"""Drives: prescribed joint coordinates."""

import dataclasses

from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.fields import Index
from flexmbs.model.frames import JointLike
from flexmbs.model.item import CoordinateUse, Item
from flexmbs.model.laws import Constant, LawOfTime


class Drive(Item, section="drives", kind="drive"):
    """Prescribes one coordinate of a joint, q = motion(t); its torque or force is the multiplier of this constraint.

    In rheonomic coordinates the coordinate is explicitly that function of time, and the torque follows by inverse dynamics.

    Parameters
    ----------
    joint : joint
        The joint, by handle or name.
    motion : law of time, float or function [m or rad]
        Prescribed coordinate.
    coordinate : int
        Index of the degree of freedom of the joint, from 0.
    """

    joint: JointLike = dataclasses.field(kw_only=False)
    motion: LawOfTime = dataclasses.field(kw_only=False)
    coordinate: Index = 0

    def coordinate_used(self) -> CoordinateUse:
        """The degree of freedom that it prescribes."""
        return CoordinateUse(self.joint, self.coordinate)

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """One rheonomic row; scleronomic if the coordinate is held constant."""
        return (ConstraintClass(1, scleronomic=isinstance(self.motion, Constant), active=True),)

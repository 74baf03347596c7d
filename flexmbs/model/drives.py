"""Drives: prescribed joint coordinates."""

import dataclasses

from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.fields import Index
from flexmbs.model.frames import JointLike
from flexmbs.model.item import CoordinateUse, Item
from flexmbs.model.laws import Constant, LawOfTime


class Drive(Item, section="drives", kind="drive"):
    """Prescribe one coordinate of a joint, q = motion(t).

    The torque or force is the multiplier of this constraint.

    In rheonomic coordinates the coordinate is replaced by this function of time, and the torque
    follows by inverse dynamics. Source: docs/theory.md, section 14.


    Parameters
    ----------
    joint : joint
        The joint, by handle or name.
    motion : law of time, float or function [m or rad]
        Prescribed coordinate.
    coordinate : int
        Index of the degree of freedom of the joint, from 0.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("crane", gravity=(0, 0, -9.81))
    >>> load = model.add(fm.RigidBody("load", mass=2.0, inertia=(0.1, 0.1, 0.1)))
    >>> lift = model.add(fm.Prismatic("lift", model.ground, load, axis="z"))
    >>> hoist = model.add(fm.Drive("hoist", lift, fm.SmoothStep(1.0, duration=1.0)))
    >>> solution = fm.kinematics(model, [0.0, 0.25, 0.5])
    >>> fm.inverse_dynamics(solution).effort["hoist"][:, 0].round(
    ...     3
    ... ).tolist()  # m (g + ẍ); at its largest, ẍ = 5.625 m/s²
    [19.62, 30.87, 19.62]
    """

    joint: JointLike = dataclasses.field(kw_only=False)
    motion: LawOfTime = dataclasses.field(kw_only=False)
    coordinate: Index = 0

    def coordinate_used(self) -> CoordinateUse:
        """Joint coordinate that the drive prescribes."""
        return CoordinateUse(self.joint, self.coordinate)

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """One rheonomic row; scleronomic if the coordinate is held constant."""
        return (ConstraintClass(1, scleronomic=isinstance(self.motion, Constant), active=True),)

"""Constraints between two frames that are no joints: knife edges and rolling without slip.

They have no coordinates of their own; bodies keep those of their joints, or of a free one. The parent frame is the ground that
the child glides or rolls on: the plane through its origin.
"""

import abc
from collections.abc import Iterable
from typing import ClassVar

from pydantic import model_validator

from flexmbs.declaration import NestedError, Problem
from flexmbs.model.fields import Axis, Nonnegative, Positive
from flexmbs.model.joints import Joint
from flexmbs.model.motions import Motion


class Relation(Joint):
    """Equations between the poses and twists of two frames: first ``position_rows`` on positions, the others on velocities."""

    carries: ClassVar[bool] = False

    @property
    def motions(self) -> tuple[Motion, ...]:
        return ()

    @property
    def among_equals(self) -> str:
        return self.kind

    @property
    @abc.abstractmethod
    def rows(self) -> int:
        """Number of constraint equations."""

    @property
    @abc.abstractmethod
    def position_rows(self) -> int:
        """How many of them constrain positions."""


def nonholonomic(joints: Iterable[Joint]) -> list[str]:
    """Names of those with constraints on velocities alone."""
    return [joint.name for joint in joints if joint.position_rows < joint.rows]


class KnifeEdge(Relation, kind="knife-edge"):
    """A blade or skate: its frame, the child, does not move along its own ``axis`` relative to the parent, d · v = 0.

    One nonholonomic equation and nothing more: what holds the blade on its plane is another joint.
    """

    axis: Axis = "y"

    @property
    def rows(self) -> int:
        return 1

    @property
    def position_rows(self) -> int:
        return 0


class Rolling(Relation):
    """Rolling without slip: one holonomic equation (contact), two nonholonomic ones (no slip in the plane)."""

    @property
    def rows(self) -> int:
        return 3

    @property
    def position_rows(self) -> int:
        return 1


class RollingDisc(Rolling, kind="rolling-disc"):
    """A wheel that rolls without slip on the plane through the parent's origin.

    The child frame is the wheel's centre, ``axis`` its axle there; ``normal`` (parent's axes) points out of the plane to the
    wheel's side. ``radius`` (m) is the largest distance of the tread from the axle, ``rim`` that of its round cross-section, 0 a
    sharp edge. One holonomic equation (contact), two nonholonomic ones (no slip along and across the track).
    """

    radius: Positive
    rim: Nonnegative = 0.0
    axis: Axis = "y"
    normal: Axis = "z"

    @model_validator(mode="after")
    def _round_within(self) -> "RollingDisc":
        if self.rim > self.radius:
            text = f"{self.rim:g} is larger than the radius {self.radius:g}; the cross-section of the rim is a part of the wheel"
            raise NestedError([Problem(("rim",), text)])
        return self


class RollingSphere(Rolling, kind="rolling-sphere"):
    """A sphere about the child frame's origin that rolls without slip on the plane through the parent's origin.

    ``normal`` (parent's axes) points out of the plane to the sphere's side, ``radius`` in m. One holonomic equation, two
    nonholonomic ones; turning about the normal is free.
    """

    radius: Positive
    normal: Axis = "z"

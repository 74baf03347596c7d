"""Rotors behind gears, such as those of motors."""

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import NestedError, Problem
from flexmbs.model.bodies import PointMass, RigidBody
from flexmbs.model.fields import Index, Positive, Switch, Vector, number, optional, unit_axis
from flexmbs.model.frames import JointLike
from flexmbs.model.item import CoordinateUse, Item

if TYPE_CHECKING:
    from flexmbs.model.joints import Joint
    from flexmbs.model.model import ModelData


def _ratio(value: object) -> float:
    """Validate a gear ratio other than zero."""
    found = number(value)
    if found == 0.0:
        raise ValueError("must not be 0: the rotor would not turn")
    return found


class RotorInertia(Item, section="rotors", kind="rotor-inertia"):
    """Rotor on the parent of a joint that spins at n q̇ relative to it, geared to the coordinate q.

    T = ½ n² I q̇² + n I q̇ a·ω, with the angular velocity ω of the joint's parent frame: the
    kinetic energy due to the spin, in addition to ½ I (a·ω)² of the locked rotor. The mass and the
    inertia of the locked rotor belong to the body that carries it. Without the gyroscopic term T =
    ½ n² I q̇², an armature. Siciliano et al., Robotics (2009), section 7.1.1; docs/theory.md,
    section 56.


    Parameters
    ----------
    joint : joint
        The joint, by handle or name; the rotor is on its parent.
    inertia : float [kg m²]
        Moment of inertia I of the rotor about its axis.
    ratio : float [1 or rad/m]
        Gear ratio n, spin of the rotor divided by the rate of the coordinate; negative if it turns
        the other way.
    axis : "x" … "-z", 3 floats or None
        Axis of spin in the joint's parent frame; by default the axis of the joint.
    gyroscopic : bool
        Include the gyroscopic effect of the angular momentum n I q̇ a on the parent; needs a joint
        with one coordinate.
    coordinate : int
        Index of the degree of freedom of the joint, from 0.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("geared joint")
    >>> link = model.add(fm.RigidBody("link", mass=2.0, inertia=(0.1, 0.1, 0.2)))
    >>> joint = model.add(fm.Revolute("joint", model.ground, link, axis="z"))
    >>> rotor = model.add(fm.RotorInertia("rotor", joint, inertia=1e-4, ratio=100.0))
    >>> fm.matrices(model).M.round(6).tolist()  # J + n² I
    [[1.2]]
    """

    joint: JointLike = dataclasses.field(kw_only=False)
    inertia: Positive
    ratio: Annotated[float, BeforeValidator(_ratio)] = 1.0
    axis: Annotated[Any, BeforeValidator(optional(unit_axis))] = None
    gyroscopic: Switch = True
    coordinate: Index = 0

    @model_validator(mode="after")
    def _axis_is_used(self) -> "RotorInertia":
        """Raise `NestedError` for an axis without gyroscopic effects."""
        if self.axis is not None and not self.gyroscopic:
            raise NestedError.at(
                ("axis",), "has no meaning without gyroscopic = true; remove one of them"
            )
        return self

    @property
    def reflected(self) -> float:
        """Reflected inertia n² I (kg m², for a translation kg)"""
        return float(self.ratio**2 * self.inertia)

    def coordinate_used(self) -> CoordinateUse:
        """Joint coordinate to which the rotor is geared."""
        return CoordinateUse(self.joint, self.coordinate)

    def spin_axis(self, joint: "Joint") -> Vector:
        """Unit vector of the spin axis in the joint's parent frame."""
        if self.axis is not None:
            given: Vector = self.axis
            return given
        R = np.eye(3)
        for motion in joint.motions:
            if motion.nv:
                v, w = np.split(np.array(motion.unit_twist), 2)
                return tuple(float(x) for x in R @ (w if w.any() else v))
            R = R @ np.array(motion.rotation)
        raise ValueError(f"joint '{joint.name}' has no motion")


def rotor_problems(model: "ModelData") -> list[Problem]:
    """Problems of gyroscopic rotors on unsuitable joints or bodies."""
    found = []
    for name, rotor in model.rotors.items():
        joint = model.joints.get(rotor.joint)
        if joint is None or not rotor.gyroscopic:
            continue
        path = ("rotors", name, "joint")
        if joint.nv > 1:
            text = (
                f"joint '{joint.name}' has {joint.nv} coordinates: the part that carries "
                "the rotor is ambiguous"
            )
            found.append(
                Problem(
                    path,
                    f"{text}; use a body between joints of one coordinate, or gyroscopic = false",
                )
            )
        elif isinstance(model.bodies.get(joint.parent.body), PointMass):
            text = (
                f"its carrier '{joint.parent.body}' is a point mass, which has no angular velocity"
            )
            found.append(Problem(path, f"{text}; use a rigid body, or gyroscopic = false"))
    return found


def rotor_warnings(model: "ModelData") -> list[Problem]:
    """Warnings of rotors with more inertia than the bodies that contain them."""
    found = []
    for name, rotor in model.rotors.items():
        joint = model.joints[rotor.joint]
        body = model.bodies.get(joint.parent.body)
        if not rotor.gyroscopic or not isinstance(body, RigidBody):
            continue
        a = np.array(
            body.frames[joint.parent.frame].rotation if joint.parent.frame else np.eye(3)
        ) @ rotor.spin_axis(joint)
        own = float(a @ body.mass_properties.inertia @ a)
        if rotor.inertia > own * (1.0 + 1e-9):
            text = (
                f"{rotor.inertia:g} kg m² exceeds the inertia {own:.4g} of its carrier "
                f"'{body.name}' about the axis"
            )
            found.append(
                Problem(
                    ("rotors", name, "inertia"),
                    f"{text}; the locked rotor is part of that body: add its inertia there",
                )
            )
    return found

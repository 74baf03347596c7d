"""Robots: ordinary models from Denavit–Hartenberg tables and URDF files.

With kinematics, dynamic terms, paths, input shapers and controllers.
"""

from flexmbs.model.control.controllers import (
    ComputedTorque,
    Controller,
    Impedance,
    OperationalSpace,
    PDFeedforward,
    PDGravity,
)
from flexmbs.model.control.paths import DelayedPath, Motion, Path, Quintic, SplinePath, Trapezoid
from flexmbs.model.control.rigid_terms import RigidTerms
from flexmbs.robots.control import controlled
from flexmbs.robots.flexible import FlexibleLink
from flexmbs.robots.inverse import Found
from flexmbs.robots.links import Link, Motor
from flexmbs.robots.paths import Line
from flexmbs.robots.puma import puma560
from flexmbs.robots.robot import Robot
from flexmbs.robots.shaping import Shaped, Shaper, zero_vibration, zero_vibration_derivative
from flexmbs.robots.urdf import model_from_urdf
from flexmbs.robots.visual_elements import Visual

__all__ = [  # noqa: RUF022
    "Robot",
    "Link",
    "Motor",
    "FlexibleLink",
    "Found",
    "Visual",
    "puma560",
    "model_from_urdf",
    "Path",
    "Motion",
    "Quintic",
    "Trapezoid",
    "Line",
    "SplinePath",
    "DelayedPath",
    "Shaped",
    "Shaper",
    "zero_vibration",
    "zero_vibration_derivative",
    "Controller",
    "ComputedTorque",
    "PDFeedforward",
    "PDGravity",
    "Impedance",
    "OperationalSpace",
    "RigidTerms",
    "controlled",
]

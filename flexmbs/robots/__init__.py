"""Robots: Denavit–Hartenberg tables and URDF files as ordinary models, kinematics, terms, paths, input shapers, controllers."""

from flexmbs.robots.control import ComputedTorque, Controller, PDFeedforward, PDGravity, controlled
from flexmbs.robots.flexible import FlexibleLink
from flexmbs.robots.inverse import Found
from flexmbs.robots.links import Link, Motor
from flexmbs.robots.paths import Line, Motion, Path, Quintic, Trapezoid
from flexmbs.robots.puma import puma560
from flexmbs.robots.robot import Robot
from flexmbs.robots.shaping import Shaped, Shaper, zero_vibration, zero_vibration_derivative
from flexmbs.robots.urdf import model_from_urdf
from flexmbs.robots.visuals import Visual

__all__ = [  # noqa: RUF022
    "Robot", "Link", "Motor", "FlexibleLink", "Found", "Visual", "puma560", "model_from_urdf",
    "Path", "Motion", "Quintic", "Trapezoid", "Line", "Shaped", "Shaper", "zero_vibration", "zero_vibration_derivative",
    "Controller", "ComputedTorque", "PDFeedforward", "PDGravity", "controlled",
]  # fmt: skip

"""Joint forces of a robot from its controller."""

import dataclasses
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from pydantic import model_validator

from flexmbs.declaration import NestedError
from flexmbs.errors import InputError
from flexmbs.law_kernel import Row
from flexmbs.model.argument_checks import real_array
from flexmbs.model.control.controllers import AnyController, Controller, PathController
from flexmbs.model.forces.force import OnJoints
from flexmbs.model.forces.user_joint_forces import as_given


class RobotControl(OnJoints, kind="robot-control"):
    """Generalized forces τ = f(t, q, q̇) on the joint coordinates of a robot.

    They are given by a controller of all coordinates.

    `flexmbs.robots.controlled` adds them to a robot's model, with the inertia and friction of its
    motors. Source: docs/theory.md, section 40.

    Parameters
    ----------
    controller : controller
        `ComputedTorque`, `PDGravity`, `PDFeedforward`, `Impedance`, `OperationalSpace`, or an
        object of a user-defined subclass of `Controller`, which files cannot hold.

    Examples
    --------
    >>> import flexmbs as fm
    >>> from flexmbs.robots import PDGravity, Quintic
    >>> arm = fm.Robot.from_dh(
    ...     [fm.robots.Link(a=0.4, mass=2.0, com=(-0.2, 0, 0), inertia=(0, 0.03, 0.03))]
    ... )
    >>> model = arm.started([0.3]).model
    >>> hold = PDGravity(arm, Quintic([0.3], [0.3], 1.0), kp=100.0, kd=10.0)
    >>> control = model.add(fm.RobotControl("control", arm.coordinates, hold))
    >>> bool(abs(fm.state(model).sd).max() < 1e-12)  # it rests
    True
    """

    controller: AnyController = dataclasses.field(kw_only=False)

    @model_validator(mode="after")
    def _same_coordinates(self) -> Self:
        """Raise `NestedError` unless the coordinates are those of the robot in order.

        A controller takes arrays of them.
        """
        if isinstance(self.controller, PathController):
            known = self.controller.robot.coordinates
            if [name.removesuffix(".0") for name in known] != [
                name.removesuffix(".0") for name in self.of
            ]:
                text = (
                    f"its robot has the coordinates {', '.join(known)}, and 'of' names "
                    f"{', '.join(self.of)}"
                )
                raise NestedError.at(
                    ("controller",), f"{text}; use the same names in the same order"
                )
        return self

    def row(self) -> Row:
        """Kernel of the controller, or one that applies the forces that a user's one returns."""
        if isinstance(self.controller, PathController) and (row := self.controller.row()):
            return row
        n = len(self.of)
        return Row(as_given, (float(n),), laws=(_checked(self.controller, n),), gives=n)


def _checked(controller: Controller, n: int) -> Callable[..., np.ndarray]:
    """Function of a controller's forces, checked to be n finite numbers. Raises `InputError`."""

    def forces(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Joint forces of the controller as an array (n,). Raises `InputError`."""
        item = f"{type(controller).__name__}.forces at t = {t:g} s"
        given: Any = controller.forces(t, q, qd)
        found = real_array(item, given)
        if found.shape != (n,):
            raise InputError(f"{item}: must be {n} joint forces, not shape {found.shape}")
        return found

    return forces

"""Controllers: joint forces of a robot from its coordinates and rates."""

import abc
import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Self, final

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import Declaration, NestedError, shown
from flexmbs.model.control.paths import AnyPath, one_or_each, require_each
from flexmbs.model.control.rigid_terms import AnyTerms
from flexmbs.model.fields import nonnegative

Gains = Annotated[Any, BeforeValidator(one_or_each(nonnegative))]


class Controller(abc.ABC):
    """Joint forces τ (n,) = f(t, q, q̇) of a robot's motors.

    They must depend only on these arguments.
    """

    robot: Any  # object with the names of the ``coordinates``: a `Robot`, or its `RigidTerms`
    not_in_files = (
        "a model file cannot hold a user-defined controller; save robot.model, and call "
        "controlled(robot, controller)"
    )

    @abc.abstractmethod
    def forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Joint forces τ (n,) at time t (s), coordinates q and rates q̇ (n,)."""


class PathController(Declaration, Controller, section="controllers"):
    """Controller that makes a robot follow a path.

    Parameters
    ----------
    robot : robot
        Robot whose terms are used, with a payload if the controller is to account for it: a
        `Robot`, whose `RigidTerms` are stored.
    path : path of coordinates
        The path.
    kp : float, floats
        Gains for the errors of the coordinates.
    kd : float, floats
        Gains for the errors of the rates.
    """

    robot: AnyTerms = dataclasses.field(kw_only=False)
    path: AnyPath = dataclasses.field(kw_only=False)
    kp: Gains = dataclasses.field(kw_only=False)
    kd: Gains = dataclasses.field(kw_only=False)

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        """Raise `NestedError` unless path and gains have one value for each joint."""
        n = self.robot.n
        if self.path.n != n:
            raise NestedError.at(("path",), f"has {self.path.n} coordinates and the robot {n}")
        require_each(self, ("kp", "kd"), n)
        return self

    def errors(
        self, t: float, q: np.ndarray, qd: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Kp e, Kd ė and desired accelerations q̈_d at time t."""
        wanted = self.path.at(t)
        return self.kp * (wanted.q - q), self.kd * (wanted.qd - qd), wanted.qdd


@final
class ComputedTorque(PathController, kind="computed-torque"):
    """τ = D(q) (q̈_d + Kd ė + Kp e) + C q̇ + g + friction with e = q_d − q.

    The error obeys ë + Kd ė + Kp e = 0.

    It couples all joints, but the iteration matrix of implicit steps includes only the slopes of
    each joint alone; if they do not converge, use smaller steps or ``PDFeedforward``. Luh,
    Walker, Paul, IEEE Trans. Automatic Control 25 (1980) 468.

    Parameters
    ----------
    kp : float, floats [1/s²]
        Gains Kp.
    kd : float, floats [1/s]
        Gains Kd.
    """

    def forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Joint forces of inverse dynamics with the corrected accelerations."""
        stiff, damped, wanted = self.errors(t, q, qd)
        return np.asarray(self.robot.inverse_dynamics(q, qd, wanted + damped + stiff))


class PDController(PathController):
    """Controller with the terms Kp e + Kd ė, e = q_d − q.

    Parameters
    ----------
    kp : float, floats [N m/rad or N/m]
        Gains Kp.
    kd : float, floats [N m s/rad or N s/m]
        Gains Kd.
    """


@final
class PDGravity(PDController, kind="pd-gravity"):
    """τ = Kp e + Kd ė + g(q) with e = q_d − q: asymptotically stable about rest.

    Takegaki, Arimoto, J. Dyn. Sys. Meas. Control 103 (1981) 119.
    """

    def forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Joint forces of PD control plus the gravity forces."""
        stiff, damped, _ = self.errors(t, q, qd)
        return np.asarray(stiff + damped + self.robot.gravity_forces(q))


@final
class PDFeedforward(PDController, kind="pd-feedforward"):
    """τ = τ_d(t) + Kp e + Kd ė with e = q_d − q and inverse dynamics τ_d of the path.

    τ_d = D(q_d) q̈_d + C q̇_d + g + friction.

    An, Atkeson, Hollerbach, Model-Based Control of a Robot Manipulator (1988).
    """

    def forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Joint forces of inverse dynamics along the path plus PD control."""
        stiff, damped, _ = self.errors(t, q, qd)
        return np.asarray(self.robot.inverse_dynamics(*self.path.at(t)) + stiff + damped)


def any_controller(value: object) -> Any:
    """Validate a controller, or read it from a table."""
    if isinstance(value, Mapping):
        return PathController.read_kind(value)
    if not isinstance(value, Controller):
        raise ValueError(f"must be of the class Controller, not {shown(value)}")
    return value


AnyController = Annotated[Any, BeforeValidator(any_controller)]

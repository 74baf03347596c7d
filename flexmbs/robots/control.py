"""Controllers: joint forces of a robot from its coordinates and rates, and models with them.

A joint force of a model is a function of its own coordinate. A controller of the whole robot needs all of them: the list of
forces starts with the sensors, one per coordinate, joint forces of zero that store their arguments, followed by the actuators;
joint forces are evaluated in the order of their declaration, all of them, then for wrenches those of one joint again. For slopes
in the iteration matrix each function is called again with its own coordinate or rate changed: sensors keep their first value,
actuators add their slope times the change.
"""

import abc
import functools
from collections.abc import Callable
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.api.model import Model
from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.model.forces import JointSpring, JointTorque
from flexmbs.model.rotors import RotorInertia
from flexmbs.robots.arguments import checked_kind, copy_of, real_array
from flexmbs.robots.links import Motor
from flexmbs.robots.paths import Path
from flexmbs.robots.robot import Robot

NOT_IN_FILES = "a model file does not hold a robot's controller; save robot.model, and call controlled(robot, controller) again"
SLIDING = 1e-3  # rad/s or m/s, at which Coulomb friction in a model reaches tanh(1) of its value


class Controller(abc.ABC):
    """Joint forces τ (n,) = f(t, q, q̇) of a robot's motors."""

    robot: Robot

    @abc.abstractmethod
    def forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """τ (n,) at time t (s), coordinates q and rates q̇ (n,)."""

    def slopes(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(−∂τ_i/∂q_i, −∂τ_i/∂q̇_i), zero by default: used in the iterations of implicit steps, whose result they do not
        change."""
        return np.zeros(len(q)), np.zeros(len(q))


class PathController(Controller):
    """Controller that makes a robot follow a ``path`` with gains kp and kd: numbers or one per coordinate. Raises
    `InputError`."""

    def __init__(self, robot: Robot, path: Path, kp: ArrayLike, kd: ArrayLike) -> None:
        self.robot, self.path = checked_kind("robot", Robot, robot), _fitting(path, robot)
        self.kp, self.kd = _gains(robot, kp=kp, kd=kd)


@final
class ComputedTorque(PathController):
    """τ = D(q) (q̈_d + Kd ė + Kp e) + C q̇ + g + friction with e = q_d − q: the error obeys ë + Kd ė + Kp e = 0.

    robot: whose terms it uses, with payload if the controller is to account for it.  kp (1/s²), kd (1/s): numbers or one per
    coordinate. It couples all joints, but the iteration matrix of implicit steps includes only the slopes of each joint by
    itself; if they do not converge, use smaller steps or ``PDFeedforward``.
    Luh, Walker, Paul, IEEE Trans. Automatic Control 25 (1980) 468.
    """

    def forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        wanted = self.path.at(t)
        return self.robot.inverse_dynamics(q, qd, wanted.qdd + self.kd * (wanted.qd - qd) + self.kp * (wanted.q - q))

    def slopes(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The diagonals of D(q) Kp and D(q) Kd."""
        own = np.diagonal(self.robot.mass_matrix(q))
        return self.kp * own, self.kd * own


@final
class PDGravity(PathController):
    """τ = Kp e + Kd ė + g(q) with e = q_d − q: asymptotically stable about rest.

    Takegaki, Arimoto, J. Dyn. Sys. Meas. Control 103 (1981) 119.
    kp (N m/rad or N/m), kd (N m s/rad or N s/m): numbers or one per coordinate.
    """

    def forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        wanted = self.path.at(t)
        return np.asarray(self.kp * (wanted.q - q) + self.kd * (wanted.qd - qd) + self.robot.gravity_forces(q))

    def slopes(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.kp, self.kd


@final
class PDFeedforward(PathController):
    """τ = τ_d(t) + Kp e + Kd ė with e = q_d − q and the inverse dynamics τ_d = D(q_d) q̈_d + C q̇_d + g + friction of the path.

    An, Atkeson, Hollerbach, Model-Based Control of a Robot Manipulator (1988).
    kp (N m/rad or N/m), kd (N m s/rad or N s/m): numbers or one per coordinate.
    """

    def forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        wanted = self.path.at(t)
        known = self.robot.inverse_dynamics(wanted.q, wanted.qd, wanted.qdd)
        return np.asarray(known + self.kp * (wanted.q - q) + self.kd * (wanted.qd - qd))

    def slopes(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.kp, self.kd


def controlled(robot: Robot, controller: Controller) -> Model:
    """A copy of the robot's model with the controller's forces and the inertia and friction of its motors, for `simulate`.

    The controller may use another robot with the same coordinates, such as the rigid one of a flexible model. Coulomb friction
    acts as T tanh(q̇/10⁻³), inertia as a `RotorInertia` without gyroscopic part. Raises `InputError`.
    """
    known = checked_kind("controller", Controller, controller).robot.coordinates
    if known != checked_kind("robot", Robot, robot).coordinates:
        raise InputError(f"controller: its coordinates are {', '.join(known)}, not {', '.join(robot.coordinates)}")
    model, loop = copy_of(robot.model), _Loop(controller, robot.n)
    ends = list(enumerate(robot.tree.coordinates))
    for i, (joint, number) in ends:
        model.add(JointTorque(f"sensor {robot.coordinates[i]}", joint, _of_controller(loop.sense, i), coordinate=number))
    for i, (joint, number) in ends:
        model.add(JointTorque(f"motor {robot.coordinates[i]}", joint, _of_controller(loop.act, i), coordinate=number))
    for i, (joint, number) in ends:
        motor = robot.motors.get(joint, Motor())
        if motor.inertia and motor.gear:
            name, J, n = f"rotor {robot.coordinates[i]}", motor.inertia, motor.gear
            model.add(RotorInertia(name, joint, inertia=J, ratio=n, gyroscopic=False, coordinate=number))
        if motor.viscous:
            c = motor.gear**2 * motor.viscous
            model.add(JointSpring(f"viscous friction {robot.coordinates[i]}", joint, c=c, coordinate=number))
        if any(motor.coulomb):
            law = _of_controller(_coulomb, *(abs(motor.gear * T) for T in motor.coulomb))
            model.add(JointTorque(f"friction {robot.coordinates[i]}", joint, law, coordinate=number))
    return model


class _Loop:
    """Values of the sensors in one evaluation, and the controller's forces for them."""

    def __init__(self, controller: Controller, n: int) -> None:
        self.controller = controller
        self.q, self.qd = np.zeros(n), np.zeros(n)
        self.seen: set[int] = set()
        self.t = 0.0
        self.known: np.ndarray | None = None
        self.last: tuple[tuple[float, ...], np.ndarray] | None = None
        self.slopes: tuple[np.ndarray, np.ndarray] | None = None

    def sense(self, i: int, t: float, x: float, v: float) -> float:
        """Store the first values of coordinate i in this evaluation.

        A new evaluation starts after the actuators of the last one, or at another time if that was interrupted.
        """
        if self.known is not None or t != self.t:
            self.seen, self.known, self.slopes = set(), None, None
        if i not in self.seen:
            self.seen.add(i)
            self.t, self.q[i], self.qd[i] = t, x, v
        return 0.0

    def act(self, i: int, t: float, x: float, v: float) -> float:
        """Force of coordinate i."""
        if self.known is None:
            self.known = self._known(t)
        if x == self.q[i] and v == self.qd[i]:
            return float(self.known[i])
        if self.slopes is None:
            self.slopes = self.controller.slopes(self.q.copy())
        stiffness, damping = self.slopes
        return float(self.known[i] - stiffness[i] * (x - self.q[i]) - damping[i] * (v - self.qd[i]))

    def _known(self, t: float) -> np.ndarray:
        """Forces for the sensor values, or of the last complete evaluation if only one joint is evaluated again."""
        now = (t, *self.q, *self.qd)
        complete, self.seen = len(self.seen) == len(self.q) and t == self.t, set()
        if complete:
            self.last = now, self._forces(t)
        elif self.last is None or now != self.last[0]:
            raise RuntimeError("the sensors of a controller were not evaluated before its actuators")
        return self.last[1]

    def _forces(self, t: float) -> np.ndarray:
        item = f"{type(self.controller).__name__}.forces at t = {t:g} s"
        found = real_array(item, self.controller.forces(t, self.q.copy(), self.qd.copy()))
        if found.shape != self.q.shape:
            raise InputError(f"{item}: must be {len(self.q)} joint forces, not the shape {found.shape}")
        return found


def _of_controller(function: Callable[..., float], *given: Any) -> Callable[..., float]:
    """A function with its first arguments, and why a model file does not hold it."""
    made = functools.partial(function, *given)
    made.not_in_files = NOT_IN_FILES  # type: ignore[attr-defined]
    return made


def _coulomb(up: float, down: float, t: float, x: float, v: float) -> float:
    return -(up if v > 0.0 else down) * float(np.tanh(v / SLIDING))


def _gains(robot: Robot, **given: ArrayLike) -> tuple[np.ndarray, ...]:
    found = []
    for key, value in given.items():
        gain = real_array(key, value)
        if gain.shape not in ((), (robot.n,)) or not (gain >= 0.0).all():
            raise InputError(f"{key}: must be one number >= 0 or {robot.n} of them, not {shown(value)}")
        found.append(np.broadcast_to(gain, robot.n))
    return tuple(found)


def _fitting(path: Path, robot: Robot) -> Path:
    if checked_kind("path", Path, path).n != robot.n:
        raise InputError(f"path: has {path.n} coordinates and the robot {robot.n}")
    return path

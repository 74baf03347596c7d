"""Controllers: joint forces of a robot from its coordinates and rates."""

import abc
import dataclasses
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Self, final

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexmbs.algebra.intervals import interval
from flexmbs.declaration import Declaration, NestedError, shown
from flexmbs.law_kernel import LawKernel, LawPart, Row
from flexmbs.model.control.paths import (
    AnyPath,
    DeclaredPath,
    DelayedPath,
    one_or_each,
    require_each,
)
from flexmbs.model.control.rigid_terms import AnyTerms
from flexmbs.model.control.sweeps import (
    WORK_NUMBERS,
    FlatTree,
    add_friction,
    flat_numbers,
    flat_tree,
    link_motions,
    newton_euler,
)  # fmt: skip
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


class ControllerData(NamedTuple):
    """Parameters p of the law of a path controller."""

    kp: np.ndarray  # (n)
    kd: np.ndarray  # (n)
    g: np.ndarray  # (3) gravity
    tree: FlatTree
    pieces: int  # number of pieces of the path
    knots: int  # place of its knots in p
    powers: int  # place of their coefficients


class Desired(NamedTuple):
    """Motion of the path at the present time (n)."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


@LawPart
def controller_data(p):
    """`ControllerData` in the parameters of a law, see `PathController.row`."""
    n = int(p[0])
    kd = 3 + n
    g = kd + n
    tree, knots = flat_tree(p, g + 3, n, int(p[1]))
    powers = knots + int(p[2]) + 1
    return ControllerData(p[3:kd], p[kd:g], p[g : g + 3], tree, int(p[2]), knots, powers)


@LawPart
def desired_motion(p, data, t, u):
    """`Desired` motion of the path at time t, in the workspace u behind that of the links."""
    n = len(data.kp)
    at = WORK_NUMBERS * n
    wanted = Desired(u[at : at + n], u[at + n : at + 2 * n], u[at + 2 * n : at + 3 * n])
    inside = min(max(t, p[data.knots]), p[data.knots + data.pieces])
    i = interval(p, data.knots, data.pieces + 1, inside)
    h = inside - p[data.knots + i]
    for k in range(n):
        c = data.powers + 6 * (i * n + k)
        f, fd, fdd = p[c], 0.0, 0.0
        for a in range(1, 6):
            fdd = fdd * h + 2.0 * fd
            fd = fd * h + f
            f = f * h + p[c + a]
        wanted.q[k] = f
        wanted.qd[k] = fd if inside == t else 0.0
        wanted.qdd[k] = fdd if inside == t else 0.0
    return wanted


def workspace(p: Any) -> int:
    """Count of numbers that a law of a path controller needs: links, path, and zero rates."""
    return (WORK_NUMBERS + 4) * int(p[0])


def _controller_law(value: Callable[..., None]) -> LawKernel:
    """Decorate the law of a path controller."""
    return LawKernel(value, workspace=workspace)


@_controller_law
def computed_torque(p, u, x, out):
    """Kernel of `ComputedTorque`."""
    data = controller_data(p)
    n = len(data.kp)
    wanted = desired_motion(p, data, x[0], u)
    for k in range(n):
        error, rate = wanted.q[k] - x[1 + k], wanted.qd[k] - x[1 + n + k]
        wanted.qdd[k] += data.kp[k] * error + data.kd[k] * rate
    q, qd = x[1 : 1 + n], x[1 + n : 1 + 2 * n]
    newton_euler(data.tree, q, qd, wanted.qdd, data.g, link_motions(u, 0, n), out)
    add_friction(data.tree, qd, out)


@_controller_law
def pd_gravity(p, u, x, out):
    """Kernel of `PDGravity`."""
    data = controller_data(p)
    n = len(data.kp)
    wanted = desired_motion(p, data, x[0], u)
    at = (WORK_NUMBERS + 3) * n
    rest = u[at : at + n]
    for k in range(n):
        rest[k] = 0.0
    newton_euler(data.tree, x[1 : 1 + n], rest, rest, data.g, link_motions(u, 0, n), out)
    add_errors(data, wanted, x, out)


@_controller_law
def pd_feedforward(p, u, x, out):
    """Kernel of `PDFeedforward`."""
    data = controller_data(p)
    wanted = desired_motion(p, data, x[0], u)
    links = link_motions(u, 0, len(data.kp))
    newton_euler(data.tree, wanted.q, wanted.qd, wanted.qdd, data.g, links, out)
    add_friction(data.tree, wanted.qd, out)
    add_errors(data, wanted, x, out)


@LawPart
def add_errors(data, wanted, x, out):
    """Add Kp e + Kd ė to τ (n)."""
    n = len(data.kp)
    for k in range(n):
        out[k] += data.kp[k] * (wanted.q[k] - x[1 + k])
        out[k] += data.kd[k] * (wanted.qd[k] - x[1 + n + k])


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

    _law: ClassVar[LawKernel]  # τ from t, q and q̇
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

    def row(self) -> Row | None:
        """Law of the controller for compiled runs; None for a path that is a user's function."""
        path = self.path
        while isinstance(path, DelayedPath):
            path = path.path
        if not isinstance(path, DeclaredPath):
            return None
        tree, pieces, n = self.robot.tree, self.path.pieces, self.robot.n
        head = n, len(tree.rotors.node), len(pieces.powers)
        gains = (np.broadcast_to(np.asarray(k, float), n) for k in (self.kp, self.kd))
        numbers = *gains, tree.gravity, flat_numbers(tree), pieces.knots, pieces.powers.ravel()
        parameters = tuple(np.concatenate([head, *numbers]).tolist())
        return Row(self._law, parameters, gives=n, corners=tuple(pieces.knots.tolist()))

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

    Luh, Walker, Paul, IEEE Trans. Automatic Control 25 (1980) 468.

    Parameters
    ----------
    kp : float, floats [1/s²]
        Gains Kp.
    kd : float, floats [1/s]
        Gains Kd.
    """

    _law = computed_torque

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

    _law = pd_gravity

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

    _law = pd_feedforward

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

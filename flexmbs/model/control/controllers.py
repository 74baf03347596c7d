"""Controllers: joint forces of a robot from its coordinates and rates."""

import abc
import dataclasses
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, final

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexmbs.algebra.intervals import interval
from flexmbs.algebra.vectors import add, cross, dot, load3, load9, mul, scale, sub
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
    factor_definite,
    flat_numbers,
    flat_tree,
    link_motions,
    mass_matrix,
    newton_euler,
    point_jacobian,
    point_twist,
    solve_factored,
    subtrees,
    world_poses,
)  # fmt: skip
from flexmbs.model.fields import Vector3, nonnegative

# of the largest admittance S of its kind: directions in which the point hardly moves are left to
# the joints; errors of others are of this order
DAMPED = 1e-9
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
    """Count of numbers that a law of a path controller needs.

    Links, path, zero rates, poses, and of `OperationalSpace` D, J, D⁻¹Jᵀ, S, q̈ and r.
    """
    n = int(p[0])
    return (WORK_NUMBERS + 4 + 12 + 13) * n + n * n + 42


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
    gravity_and_errors(data, desired_motion(p, data, x[0], u), u, x, out)


@_controller_law
def pd_feedforward(p, u, x, out):
    """Kernel of `PDFeedforward`."""
    data = controller_data(p)
    wanted = desired_motion(p, data, x[0], u)
    links = link_motions(u, 0, len(data.kp))
    newton_euler(data.tree, wanted.q, wanted.qd, wanted.qdd, data.g, links, out)
    add_friction(data.tree, wanted.qd, out)
    add_errors(data, wanted, x, out)


class PointMotion(NamedTuple):
    """Motion of a point of a link, in the world."""

    R: tuple[float, ...]  # (9) rotation of the link
    x: tuple[float, ...]  # (3) position
    v: tuple[float, ...]  # (3) velocity
    w: tuple[float, ...]  # (3) angular velocity of the link
    rotations: np.ndarray  # (9 n) of all links, in the workspace
    origins: np.ndarray  # (3 n)


@LawPart
def point_motion(tree, q, qd, link, point, u):
    """`PointMotion` of a point (3) of a link, with the workspace u."""
    n = len(tree.parent)
    at = (WORK_NUMBERS + 4) * n
    R, o = u[at : at + 9 * n], u[at + 9 * n : at + 12 * n]
    world_poses(tree, q, link_motions(u, 0, n), R, o)
    own = load9(R, 9 * link)
    x = add(load3(o, 3 * link), mul(own, point))
    v, w = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    k = link
    while k >= 0:
        unit_v, unit_w = point_twist(tree, R, o, k, x)
        v, w = add(v, scale(qd[k], unit_v)), add(w, scale(qd[k], unit_w))
        k = int(tree.parent[k])
    return PointMotion(own, x, v, w, R, o)


@LawPart
def apply_at_point(tree, link, here, force, moment, tau):
    """τ += Jᵀ (force, moment) at the point of a link with the `PointMotion` ``here``."""
    k = link
    while k >= 0:
        v, w = point_twist(tree, here.rotations, here.origins, k, here.x)
        tau[k] += dot(v, force) + dot(w, moment)
        k = int(tree.parent[k])


@LawPart
def turned(A, B):
    """½ Σ a_i × b_i (3) of the columns of two rotations: sin of the angle from A to B, times axis."""
    total = (0.0, 0.0, 0.0)
    for i in range(3):
        total = add(total, cross((A[i], A[3 + i], A[6 + i]), (B[i], B[3 + i], B[6 + i])))
    return scale(0.5, total)


@_controller_law
def impedance(p, u, x, out):
    """Kernel of `Impedance`, p = (…, link, point (3), stiffness (6), damping (6))."""
    data = controller_data(p)
    tree, n = data.tree, len(data.kp)
    at = data.powers + 6 * n * data.pieces
    link, point = int(p[at]), load3(p, at + 1)
    wanted = desired_motion(p, data, x[0], u)
    goal = point_motion(tree, wanted.q, wanted.qd, link, point, u)
    q, qd = x[1 : 1 + n], x[1 + n : 1 + 2 * n]
    here = point_motion(tree, q, qd, link, point, u)
    e, ed = sub(goal.x, here.x), sub(goal.v, here.v)
    r, rd = turned(here.R, goal.R), sub(goal.w, here.w)
    K, D = at + 4, at + 10
    force = (
        p[K] * e[0] + p[D] * ed[0], p[K + 1] * e[1] + p[D + 1] * ed[1],
        p[K + 2] * e[2] + p[D + 2] * ed[2],
    )  # fmt: skip
    moment = (
        p[K + 3] * r[0] + p[D + 3] * rd[0], p[K + 4] * r[1] + p[D + 4] * rd[1],
        p[K + 5] * r[2] + p[D + 5] * rd[2],
    )  # fmt: skip
    gravity_and_errors(data, wanted, u, x, out)
    apply_at_point(tree, link, here, force, moment, out)


@LawPart
def point_acceleration(tree, q, qd, qdd, link, point, R, u, tau):
    """Acceleration of a point of a link, and of its angular velocity, in the world."""
    links = link_motions(u, 0, len(tree.parent))
    newton_euler(tree, q, qd, qdd, (0.0, 0.0, 0.0), links, tau)
    w, wd = load3(links.w, 3 * link), load3(links.wd, 3 * link)
    a = add(load3(links.a, 3 * link), add(cross(wd, point), cross(w, cross(w, point))))
    return mul(R, a), mul(R, wd)


@_controller_law
def operational_space(p, u, x, out):
    """Kernel of `OperationalSpace`, p = (…, link, point (3), kp (6), kd (6), rows).

    q̈ = q̈₀ + D⁻¹Jᵀ S⁻¹ r, S = J D⁻¹Jᵀ, r = a − J̇q̇ − J q̈₀.
    """
    data = controller_data(p)
    tree, n = data.tree, len(data.kp)
    at = data.powers + 6 * n * data.pieces
    link, point, rows = int(p[at]), load3(p, at + 1), int(p[at + 16])
    end = (WORK_NUMBERS + 4 + 12) * n
    D, J = u[end : end + n * n], u[end + n * n : end + n * n + 6 * n]
    end += n * n + 6 * n
    Y, S, r = u[end : end + 6 * n], u[end + 6 * n : end + 6 * n + 36], u[end + 6 * n + 36 :]
    qdd = u[end + 6 * n + 42 : end + 7 * n + 42]
    wanted = desired_motion(p, data, x[0], u)
    goal = point_motion(tree, wanted.q, wanted.qd, link, point, u)
    ahead, turning = point_acceleration(
        tree, wanted.q, wanted.qd, wanted.qdd, link, point, goal.R, u, out
    )
    q, qd = x[1 : 1 + n], x[1 + n : 1 + 2 * n]
    here = point_motion(tree, q, qd, link, point, u)
    for k in range(n):
        qdd[k] = 0.0
    bias, bias_turning = point_acceleration(tree, q, qd, qdd, link, point, here.R, u, out)
    e, ed = sub(goal.x, here.x), sub(goal.v, here.v)
    f, fd = turned(here.R, goal.R), sub(goal.w, here.w)
    for a in range(3):
        r[a] = ahead[a] + p[at + 4 + a] * e[a] + p[at + 10 + a] * ed[a] - bias[a]
        r[3 + a] = turning[a] + p[at + 7 + a] * f[a] + p[at + 13 + a] * fd[a] - bias_turning[a]
    for k in range(n):
        qdd[k] = wanted.qdd[k] + data.kp[k] * (wanted.q[k] - q[k])
        qdd[k] += data.kd[k] * (wanted.qd[k] - qd[k])
    mass_matrix(tree, q, subtrees(u, 0, n), D)
    factor_definite(D, n)
    point_jacobian(tree, here.rotations, here.origins, link, here.x, rows, J)
    for a in range(rows):
        for k in range(n):
            Y[n * a + k] = J[n * a + k]
            r[a] -= J[n * a + k] * qdd[k]
        solve_factored(D, n, Y, n * a)
    for b in range(2):  # lengths and rotations, which have other units
        largest = 0.0
        for a in range(3 * b, min(3 * b + 3, rows)):
            for c in range(rows):
                S[rows * a + c] = 0.0
                for k in range(n):
                    S[rows * a + c] += J[n * a + k] * Y[n * c + k]
            largest = max(largest, S[rows * a + a])
        for a in range(3 * b, min(3 * b + 3, rows)):
            S[rows * a + a] += DAMPED * largest + 1e-300
    factor_definite(S, rows)
    solve_factored(S, rows, r, 0)
    for a in range(rows):
        for k in range(n):
            qdd[k] += Y[n * a + k] * r[a]
    newton_euler(tree, q, qd, qdd, data.g, link_motions(u, 0, n), out)
    add_friction(tree, qd, out)


@LawPart
def gravity_and_errors(data, wanted, u, x, out):
    """τ (n) ← g(q) + Kp e + Kd ė."""
    n = len(data.kp)
    rest = u[(WORK_NUMBERS + 3) * n : (WORK_NUMBERS + 4) * n]
    for k in range(n):
        rest[k] = 0.0
    newton_euler(data.tree, x[1 : 1 + n], rest, rest, data.g, link_motions(u, 0, n), out)
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
        parameters = tuple(np.concatenate([head, *numbers, self._more()]).tolist())
        return Row(self._law, parameters, gives=n, corners=tuple(pieces.knots.tolist()))

    def _more(self) -> np.ndarray:
        """Further parameters of the law."""
        return np.zeros(0)

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


class PointController(PathController):
    """Controller of a point of a link along the path.

    Parameters
    ----------
    link : int
        Number of the link of the point, in the order of the coordinates; −1: the last one.
    point : 3 floats [m]
        Position of the point in axes of the link, by default its origin.
    """

    kp: Gains = dataclasses.field(default=0.0, kw_only=False)
    kd: Gains = dataclasses.field(default=0.0, kw_only=False)
    link: int = -1
    point: Vector3 = (0.0, 0.0, 0.0)

    gains: ClassVar[tuple[str, str]]  # fields of one number or six along and about the world axes

    @model_validator(mode="after")
    def _of_a_link(self) -> Self:
        """Raise `NestedError` unless the link exists and there are 1 or 6 gains."""
        if not -1 <= self.link < self.robot.n:
            text = f"must be the number of a link, 0 … {self.robot.n - 1}, or -1, not {self.link}"
            raise NestedError.at(("link",), text)
        require_each(self, self.gains, 6)
        return self

    def _more(self) -> np.ndarray:
        six = (np.broadcast_to(np.asarray(getattr(self, key), float), 6) for key in self.gains)
        return np.concatenate([[self.link % self.robot.n], self.point, *six])


@final
class Impedance(PointController, kind="impedance"):
    """τ = Jᵀ (K e + D ė) + g(q) + Kp e_q + Kd ė_q: a spring and damper between tool and path.

    e: position and rotation of a point of a link from that on the path of coordinates, in world
    axes, the rotation as sin of its angle along its axis; J its Jacobian. A force F at the point
    moves it by K⁻¹ F. Hogan, J. Dyn. Sys. Meas. Control 107 (1985) 1; Siciliano et al., Robotics
    (2009), sections 3.7 and 9.2.

    Parameters
    ----------
    stiffness : float, floats [N/m, N m/rad]
        K along and about the world axes, one number or six.
    damping : float, floats [N s/m, N m s/rad]
        D along and about the world axes, one number or six.
    kp : float, floats [N m/rad or N/m]
        Gains Kp for the coordinates, such as those of a redundant arm.
    kd : float, floats [N m s/rad or N s/m]
        Gains Kd for their rates.
    """

    _law = impedance
    gains: ClassVar[tuple[str, str]] = "stiffness", "damping"
    stiffness: Gains
    damping: Gains

    def forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Joint forces of the spring and damper at the point, gravity and the joint gains."""
        kernels, link, point = self.robot.tree.kernels, self.link % self.robot.n, self.point
        wanted, K, D = self.path.at(t), np.broadcast_to(self.stiffness, 6), self.damping
        (R, x), (A, y) = (
            (R[link], R[link] @ point + o[link])
            for R, o in (kernels.poses(wanted.q), kernels.poses(q))
        )
        J, goal = kernels.jacobian(q, link, point), kernels.jacobian(wanted.q, link, point)
        e = np.concatenate([x - y, 0.5 * np.cross(A, R, axis=0).sum(axis=1)])
        stiff, damped, _ = self.errors(t, q, qd)
        task = J.T @ (K * e + D * (goal @ wanted.qd - J @ qd))
        return np.asarray(task + stiff + damped + self.robot.gravity_forces(q))


@final
class OperationalSpace(PointController, kind="operational-space"):
    """Inverse dynamics of q̈ with the acceleration a = a_d + Kd ė + Kp e of a point of a link.

    Its error obeys ë + Kd ė + Kp e = 0 where the Jacobian has full rank. Of all q̈ with J q̈ + J̇ q̇ =
    a the nearest one, by the mass matrix D, to that of computed torque with the gains kp and kd
    for the coordinates: τ = D q̈ + C q̇ + g + friction. e as for `Impedance`. Khatib, IEEE J.
    Robotics and Automation 3 (1987) 43.

    Parameters
    ----------
    stiffness : float, floats [1/s²]
        Gains Kp along and about the world axes, one number or six.
    damping : float, floats [1/s]
        Gains Kd along and about the world axes, one number or six.
    task : str
        "pose", or "position" alone.
    kp : float, floats [1/s²]
        Gains for the coordinates, in motions that leave the point where it is.
    kd : float, floats [1/s]
        Gains for their rates.
    """

    _law = operational_space
    gains: ClassVar[tuple[str, str]] = "stiffness", "damping"
    stiffness: Gains
    damping: Gains
    task: Literal["pose", "position"] = "pose"

    def _more(self) -> np.ndarray:
        return np.append(super()._more(), 6.0 if self.task == "pose" else 3.0)

    @model_validator(mode="after")
    def _declared_path(self) -> Self:
        """Raise `NestedError` for a path that is a user's function."""
        if self.row() is None:
            raise NestedError.at(
                ("path",), "must be of a class that model files can hold, such as Quintic"
            )
        return self

    def forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Joint forces of inverse dynamics with the acceleration of the point."""
        row, out = self.row(), np.zeros(2 * self.robot.n)
        assert row is not None
        p = np.array(row.parameters)
        row.law.value(p, np.zeros(row.law.workspace(p)), np.concatenate([[t], q, qd]), out)
        return out[: self.robot.n]


def any_controller(value: object) -> Any:
    """Validate a controller, or read it from a table."""
    if isinstance(value, Mapping):
        return PathController.read_kind(value)
    if not isinstance(value, Controller):
        raise ValueError(f"must be of the class Controller, not {shown(value)}")
    return value


AnyController = Annotated[Any, BeforeValidator(any_controller)]

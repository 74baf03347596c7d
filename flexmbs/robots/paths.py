"""Reference motions of the joint coordinates: values, rates and accelerations (n,) over time, and laws for drives and forces."""

import abc
import functools
from typing import NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline, make_interp_spline
from scipy.spatial.transform import Rotation

from flexmbs.errors import InputError, SolverError
from flexmbs.model.fields import number, positive
from flexmbs.model.frames import FrameRef
from flexmbs.model.laws import Function, SmoothStep, Table, TimeLaw
from flexmbs.robots.arguments import checked, checked_count, checked_kind, given_poses, real_array
from flexmbs.robots.robot import Robot

QUINTIC = 5
MOST_STEPS = 1_000_000
NO_WAY = 1e-150  # m, rad: a coordinate that moves less is at rest
SHORTEST = 1e-100  # s


class Motion(NamedTuple):
    """Coordinates, rates and accelerations (n,) at one time."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


class Path(abc.ABC):
    """A motion of n coordinates; it rests before ``start`` and after ``end`` (s)."""

    start: float
    end: float

    @property
    @abc.abstractmethod
    def n(self) -> int:
        """Number of coordinates."""

    @abc.abstractmethod
    def at(self, t: float) -> Motion:
        """Coordinates, rates and accelerations at time t (s)."""

    def table(self, times: ArrayLike) -> Motion:
        """Coordinates, rates and accelerations (nt, n) at many times."""
        rows = [self.at(float(t)) for t in real_array("times", times).ravel()]
        return Motion(*(np.array([row[k] for row in rows]).reshape(-1, self.n) for k in range(3)))

    def laws(self) -> tuple[TimeLaw, ...]:
        """A law of time per coordinate, for drives and references of controllers: functions of this path."""
        return tuple(Function(functools.partial(_component, self, i)) for i in range(self.n))

    def tables(self, step: float) -> tuple[Table, ...]:
        """Cubic splines through the path every ``step`` (s), one per coordinate: laws that can be saved in model files.

        Raises `InputError`, also for more than a million steps.
        """
        step = checked("step", positive, step)
        if self.end - self.start > MOST_STEPS * step:
            raise InputError(
                f"step: {step:g} s divides the path of {self.end - self.start:g} s into more than {MOST_STEPS} pieces"
            )
        count = max(2, 1 + round((self.end - self.start) / step))
        times = np.linspace(self.start, max(self.end, self.start + step), count)
        return tuple(Table(times, values, interpolation="spline") for values in self.table(times).q.T)


def _component(path: Path, i: int, t: float) -> tuple[float, float, float]:
    q, qd, qdd = path.at(t)
    return float(q[i]), float(qd[i]), float(qdd[i])


@final
class Quintic(Path):
    """The polynomial of fifth degree with given values, rates and accelerations at both ends; at rest there by default.

    q0, q1 (n,) at ``start`` and ``start + duration`` (s); v0, v1, a0, a1: rates and accelerations. Craig (1989) §7.3.
    """

    def __init__(
        self, q0: ArrayLike, q1: ArrayLike, duration: float, *, start: float = 0.0, v0: ArrayLike = 0.0, v1: ArrayLike = 0.0,
        a0: ArrayLike = 0.0, a1: ArrayLike = 0.0,
    ) -> None:  # fmt: skip
        self.start, T = checked("start", number, start), _duration(duration)
        self.end = self.start + T
        p0, p1 = _ends(q0, q1)
        given = {"v0": v0, "a0": a0, "v1": v1, "a1": a1}
        r0, g0, r1, g1 = (_each(key, value, len(p0)) for key, value in given.items())
        ends = (p0, r0, g0, p1, r1, g1)
        self._rest = not any(np.any(x) for x in (r0, g0, r1, g1))
        powers = np.array([[_falling(k, d) * t ** max(k - d, 0) for k in range(6)] for t in (0.0, 1.0) for d in range(3)])
        scaled = np.array([x * T ** (i % 3) for i, x in enumerate(ends)])
        self._T, self._c, self._ends = T, np.linalg.solve(powers, scaled), (p0, p1)

    @property
    def n(self) -> int:
        return int(self._c.shape[1])

    def at(self, t: float) -> Motion:
        t = checked("t", number, t)
        if not self.start <= t <= self.end:
            held = self._ends[t > self.end].copy()
            return Motion(held, np.zeros_like(held), np.zeros_like(held))
        tau, k = (t - self.start) / self._T, np.arange(6)
        first, second = k * tau ** np.maximum(k - 1, 0), k * (k - 1) * tau ** np.maximum(k - 2, 0)
        return Motion(tau**k @ self._c, first @ self._c / self._T, second @ self._c / self._T**2)

    def laws(self) -> tuple[TimeLaw, ...]:
        """`SmoothStep` laws, which are compiled, for motions from rest to rest."""
        if not self._rest:
            return super().laws()
        return tuple(
            SmoothStep(value, start=self.start, duration=self._T, initial=initial)
            for initial, value in zip(*(np.asarray(end).tolist() for end in self._ends))
        )


def _falling(k: int, d: int) -> float:
    """d-th derivative's factor k (k − 1) … of x^k."""
    return float(np.prod([k - i for i in range(d)])) if k >= d else 0.0


@final
class Trapezoid(Path):
    """Constant acceleration, constant rate, constant deceleration; all coordinates start and end together.

    q0, q1 (n,); rate, acceleration: limits of each coordinate, one number or n; a rate may be infinite. The slowest
    coordinate determines the duration; if it does not reach its rate, the trapezoid is a triangle. Siciliano et al. (2009) §4.2.
    """

    def __init__(self, q0: ArrayLike, q1: ArrayLike, *, rate: ArrayLike, acceleration: ArrayLike, start: float = 0.0) -> None:
        self._q0, q1 = _ends(q0, q1)
        self._way = q1 - self._q0
        v, a = _each("rate", rate, self.n, finite=False), _each("acceleration", acceleration, self.n)
        if not ((v > 0.0) & (a > 0.0)).all():
            raise InputError("rate and acceleration: must be > 0 for every coordinate")
        moving = np.abs(self._way) > NO_WAY
        way, v, a = np.abs(self._way[moving]), v[moving], a[moving]
        # over the common path s = 0 … 1 the smallest of all coordinates' limits applies
        self._a = float((a / way).min(initial=np.inf))
        self._v = min(float((v / way).min(initial=np.inf)), float(np.sqrt(self._a)))
        self._rise = self._v / self._a if len(way) else 0.0
        self.start = checked("start", number, start)
        self._T = 1.0 / self._v + self._rise if len(way) else 0.0
        self.end = self.start + self._T

    @property
    def n(self) -> int:
        return len(self._way)

    def at(self, t: float) -> Motion:
        tau = min(max(checked("t", number, t) - self.start, 0.0), self._T)
        left = self._T - tau
        if tau == 0.0 or left == 0.0:
            s, v, a = float(tau > 0.0), 0.0, 0.0
        elif tau < self._rise:
            s, v, a = 0.5 * self._a * tau**2, self._a * tau, self._a
        elif left < self._rise:
            s, v, a = 1.0 - 0.5 * self._a * left**2, self._a * left, -self._a
        else:
            s, v, a = self._v * (tau - 0.5 * self._rise), self._v, 0.0
        return Motion(self._q0 + s * self._way, v * self._way, a * self._way)


@final
class Line(Path):
    """A straight line of a frame with rotation about one axis (slerp), from rest to rest by the quintic step.

    robot; q0 (n,): coordinates at the start; pose (4, 4): final pose of the frame; ``duration`` (s); frame: default the tool.
    Coordinates follow by inverse kinematics at ``points`` poses, each starting from the previous one, interpolated by a spline of
    fifth degree. Raises `SolverError` if the line leaves the reach or the limits of the robot.
    """

    def __init__(
        self, robot: Robot, q0: ArrayLike, pose: ArrayLike, duration: float, *, frame: str | FrameRef | None = None,
        start: float = 0.0, points: int = 61,
    ) -> None:  # fmt: skip
        self.start, T = checked("start", number, start), _duration(duration)
        self.end = self.start + T
        tau = np.linspace(0.0, 1.0, checked_count("points", points, 7))
        s = tau**3 * (10.0 - 15.0 * tau + 6.0 * tau**2)
        first, last = checked_kind("robot", Robot, robot).pose(q0, frame), given_poses(pose)
        if first.ndim != 2 or last.ndim != 2:
            raise InputError(
                f"q0 and pose: must be one state and one matrix, not {first.shape[:-2]} and {last.shape[:-2]} of them"
            )
        turn = Rotation.from_matrix(first[:3, :3].T @ last[:3, :3]).as_rotvec()
        q = [real_array("q0", q0)]
        for k in range(1, len(s)):
            wanted = np.eye(4)
            wanted[:3, :3] = first[:3, :3] @ Rotation.from_rotvec(s[k] * turn).as_matrix()
            wanted[:3, 3] = first[:3, 3] + s[k] * (last[:3, 3] - first[:3, 3])
            found = robot.inverse_kinematics(wanted, frame, start=q[-1] + (q[-1] - q[-2] if k > 1 else 0.0), starts=1)
            if not found.success or np.abs(found.q - q[-1]).max() > 1.0:
                raise SolverError(
                    f"line: the robot cannot follow it beyond {100.0 * s[k - 1]:.3g} %; check "
                    f"reach, limits and singular positions"
                )
            q.append(found.q)
        rest = [(d, np.zeros(robot.n)) for d in (1, 2)]
        self._spline: BSpline = make_interp_spline(self.start + T * tau, np.array(q), k=QUINTIC, bc_type=(rest, rest))
        self._rates = self._spline.derivative(1), self._spline.derivative(2)
        self._n = robot.n

    @property
    def n(self) -> int:
        return self._n

    def at(self, t: float) -> Motion:
        t = checked("t", number, t)
        inside = min(max(t, self.start), self.end)
        moving = float(inside == t)
        return Motion(self._spline(inside), moving * self._rates[0](inside), moving * self._rates[1](inside))


def _ends(q0: ArrayLike, q1: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    first, last = np.atleast_1d(real_array("q0", q0)), np.atleast_1d(real_array("q1", q1))
    if first.ndim != 1 or first.shape != last.shape or not first.size:
        raise InputError(f"q0 and q1: must be as many numbers, at least one, not the shapes {first.shape} and {last.shape}")
    return first, last


def _each(key: str, value: ArrayLike, n: int, *, finite: bool = True) -> np.ndarray:
    """A number for each coordinate, from one or n. Raises `InputError`."""
    given = real_array(key, value, finite=finite)
    if given.shape not in ((), (n,)):
        raise InputError(f"{key}: must be one number or {n}, not the shape {given.shape}")
    return np.broadcast_to(given, n)


def _duration(value: float) -> float:
    T = checked("duration", positive, value)
    if not SHORTEST < T < 1.0 / SHORTEST:
        raise InputError(f"duration: must be in {SHORTEST:g} … {1.0 / SHORTEST:g} s, not {T:g}")
    return T

"""Laws of time: prescribed motions, references of controllers, components of forces."""

import abc
import bisect
import dataclasses
import functools
import math
import numbers
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import Declaration, NestedError, Problem, close_names, raise_nested, shown
from flexmbs.errors import InputError
from flexmbs.law_kernel import Row, StateName, law_kernel
from flexmbs.model.fields import AnyVector, Number, Positive, Time, optional
from flexmbs.model.functions import UserFunction, parameter_count
from flexmbs.model.interpolation import INTERPOLATIONS

State = tuple[float, float, float]
INTEGRAL = (StateName("integral of the error", "{x} s"),)
DIFFERENCE = 1e-4  # s, step of the differences for rates that functions do not return


class TimeLaw(Declaration, abc.ABC, section="laws"):
    """Law of time x(t); ``law(t)`` is its value, ``law.state(t)`` value, rate and acceleration."""

    @abc.abstractmethod
    def state(self, t: float) -> State:
        """Value, rate and acceleration at time ``t`` (s)."""

    def corners(self) -> tuple[float, ...]:
        """Times (s) at which controlled steps end, so that short events are not missed.

        Beginning, end and points of reduced smoothness, and points between them.
        """
        return ()

    def __call__(self, t: float) -> float:
        return self.state(t)[0]


class Constant(TimeLaw, kind="constant"):
    """x = value.

    Parameters
    ----------
    value : float
        Constant value, in the unit of the quantity.

    Examples
    --------
    >>> import flexmbs as fm
    >>> fm.Constant(2.5).state(1.0)  # value, rate, acceleration at t = 1 s
    (2.5, 0.0, 0.0)
    """

    value: Number = dataclasses.field(default=0.0, kw_only=False)

    def state(self, t: float) -> State:
        """The value, with zero rate and acceleration."""
        return self.value, 0.0, 0.0


class Ramp(TimeLaw, kind="ramp"):
    """x = value0 + rate·(t − start) between start and end, constant before and after.

    Parameters
    ----------
    value0 : float
        Value up to ``start``.
    rate : float [1/s]
        Slope, in the unit of the value per second.
    start : float [s]
        Start of the ramp.
    end : float [s]
        End of the ramp.

    Examples
    --------
    >>> import flexmbs as fm
    >>> run_up = fm.Ramp(1.0, rate=3.0, start=0.5, end=2.5)
    >>> [run_up(t) for t in (0.0, 1.5, 4.0)]
    [1.0, 4.0, 7.0]
    """

    value0: Number = dataclasses.field(kw_only=False)
    rate: Number = dataclasses.field(kw_only=False)
    start: Number = 0.0
    end: Time = math.inf

    @model_validator(mode="after")
    def _order(self) -> "Ramp":
        """Raise `NestedError` unless start ≤ end."""
        if self.end < self.start:
            raise NestedError.at(
                ("end",), f"must not be before start = {self.start:g}, not {self.end:g}"
            )
        return self

    def corners(self) -> tuple[float, ...]:
        """Start, middle and end of the ramp (s), at which controlled steps end."""
        return self.start, 0.5 * (self.start + self.end), self.end

    def state(self, t: float) -> State:
        """Value, rate and acceleration at time t of the ramp, constant outside of it."""
        inside = min(max(t, self.start), self.end)
        return (
            self.value0 + self.rate * (inside - self.start),
            self.rate if self.start <= t < self.end else 0.0,
            0.0,
        )


class SmoothStep(TimeLaw, kind="smooth-step"):
    """Step from ``initial`` to ``value`` with continuous rate and acceleration.

    x = initial + (value − initial)(10τ³ − 15τ⁴ + 6τ⁵), τ = (t − start)/duration within 0 … 1.

    Parameters
    ----------
    value : float
        Value after the step.
    start : float [s]
        Start of the step.
    duration : float [s]
        Duration of the step.
    initial : float
        Value before the step.

    Examples
    --------
    >>> import flexmbs as fm
    >>> step = fm.SmoothStep(3.0, start=1.0, duration=2.0)
    >>> step.state(2.0)  # half way: half the height, rate 15/8 of height over duration
    (1.5, 2.8125, 0.0)
    """

    value: Number = dataclasses.field(kw_only=False)
    start: Number = 0.0
    duration: Positive
    initial: Number = 0.0

    def corners(self) -> tuple[float, ...]:
        """Start, middle and end of the step (s), at which controlled steps end."""
        return self.start, self.start + 0.5 * self.duration, self.start + self.duration

    def state(self, t: float) -> State:
        """Value, rate and acceleration at time t of a fifth-degree step."""
        tau = min(max((t - self.start) / self.duration, 0.0), 1.0)
        rise = self.value - self.initial
        return (
            self.initial + rise * tau**3 * (10.0 + tau * (-15.0 + 6.0 * tau)),
            rise * 30.0 * tau**2 * (1.0 - tau) ** 2 / self.duration,
            rise * 60.0 * tau * (1.0 - tau) * (1.0 - 2.0 * tau) / self.duration / self.duration,
        )


class Sine(TimeLaw, kind="sine"):
    """x = offset + amplitude·sin(2π·frequency·t + phase).

    Parameters
    ----------
    amplitude : float
        Amplitude.
    frequency : float [Hz]
        Frequency.
    phase : float [rad]
        Phase at t = 0.
    offset : float
        Mean value.

    Examples
    --------
    >>> import flexmbs as fm
    >>> shake = fm.Sine(0.2, frequency=5.0, offset=1.0)
    >>> [round(x, 6) for x in shake.state(0.05)]  # at the crest: offset + A, 0, −A (2π f)²
    [1.2, 0.0, -197.392088]
    """

    amplitude: Number = dataclasses.field(kw_only=False)
    frequency: Number = dataclasses.field(kw_only=False)
    phase: Number = 0.0
    offset: Number = 0.0

    def state(self, t: float) -> State:
        """Value, rate and acceleration at time t of the sine."""
        omega = 2.0 * math.pi * self.frequency
        s, c = math.sin(omega * t + self.phase), math.cos(omega * t + self.phase)
        return (
            self.offset + self.amplitude * s,
            self.amplitude * omega * c,
            -self.amplitude * omega**2 * s,
        )


def _table_kind(value: object) -> str:
    """Validate the interpolation of a table. Raises ValueError."""
    if not isinstance(value, str) or value not in INTERPOLATIONS:
        raise ValueError(f"must be 'monotone', 'spline' or 'linear', not {shown(value)}")
    return value


class Table(TimeLaw, kind="table"):
    """x interpolated between given points, constant outside.

    Monotone cubics do not overshoot and have continuous rates (Fritsch & Butland 1984). The cubic
    spline (not-a-knot) has continuous accelerations as well, as required for the motion of a drive,
    but may overshoot between unevenly spaced points. `Model.check` warns about both.

    Parameters
    ----------
    times : floats [s]
        Increasing times of the points.
    values : floats
        Values at these times.
    interpolation : 'monotone', 'spline' or 'linear'
        Kind of interpolation.

    Examples
    --------
    >>> import flexmbs as fm
    >>> heat = fm.Table((0.0, 1.0, 3.0), (0.0, 2.0, 2.0))
    >>> heat(1.0), heat(2.0), heat(9.0)
    (2.0, 2.0, 2.0)
    >>> fm.Table((0.0, 1.0, 3.0), (0.0, 2.0, 2.0), interpolation="linear")(0.25)
    0.5
    """

    times: AnyVector = dataclasses.field(kw_only=False)
    values: AnyVector = dataclasses.field(kw_only=False)
    interpolation: Annotated[str, BeforeValidator(_table_kind)] = "monotone"

    @model_validator(mode="after")
    def _shape(self) -> "Table":
        """Raise `NestedError` unless times increase and there is one value for each."""
        if len(self.times) < 2:
            raise NestedError.at(("times",), f"must have at least 2 points, not {len(self.times)}")
        if len(self.times) != len(self.values):
            raise NestedError.at(
                ("values",),
                f"must have {len(self.times)} numbers, one per time, not {len(self.values)}",
            )
        for before, after in zip(self.times, self.times[1:]):
            if after <= before:
                raise NestedError.at(("times",), f"must increase; {after:g} follows {before:g}")
        return self

    def coefficients(self) -> np.ndarray:
        """Polynomial coefficients (4, n − 1) of the intervals.

        x = Σ_k c[k, i] (t − times[i])^(3 − k) between times[i] and times[i + 1].
        """
        return self._coefficients

    @functools.cached_property
    def _coefficients(self) -> np.ndarray:
        """Coefficients (4, n) of the cubic polynomials of the intervals."""
        found = INTERPOLATIONS[self.interpolation](np.array(self.times), np.array(self.values))
        found.flags.writeable = False
        return found

    def corners(self) -> tuple[float, ...]:
        """Times of the table, and middles of the intervals in which the values change."""
        values, times = self.values, self.times
        within = [
            0.5 * (times[i] + times[i + 1])
            for i in range(len(times) - 1)
            if values[i] != values[i + 1]
        ]
        return *times, *within

    def state(self, t: float) -> State:
        """Value, rate and acceleration at time t by interpolation; constant outside."""
        if t < self.times[0]:
            return self.values[0], 0.0, 0.0
        if t > self.times[-1]:
            return self.values[-1], 0.0, 0.0
        i = min(bisect.bisect_right(self.times, t), len(self.times) - 1) - 1
        a, b, c, d = self._coefficients[:, i].tolist()
        s = t - self.times[i]
        return d + s * (c + s * (b + s * a)), c + s * (2.0 * b + s * 3.0 * a), 2.0 * b + 6.0 * a * s


class Function(TimeLaw, kind="function"):
    """User function, or its name ``module:name``.

    As a law of time: f(t) → value, or f(t) → (value, rate, acceleration); rates that are not given
    are computed by central differences. As the law of a joint force: f(t, x, v) → force, with the
    joint coordinate x and its rate v. The results must depend only on the arguments: integrators
    call it at trial states and in rejected steps.

    Parameters
    ----------
    function : function or 'module:name'
        The function.

    Examples
    --------
    >>> import flexmbs as fm
    >>> fall = fm.Function(lambda t: -4.905 * t**2)
    >>> [round(x, 4) for x in fall.state(2.0)]  # rates by differences
    [-19.62, -19.62, -9.81]
    """

    function: UserFunction = dataclasses.field(kw_only=False)

    @property
    def parameters(self) -> int | None:
        """Number of arguments of the function: 1 (t) or 3 (t, x, v); None if unknown."""
        return parameter_count(self.function)

    def state(self, t: float) -> State:
        """Value, rate and acceleration at time t of the user function."""
        return function_state(self.function, t)


def function_state(function: Callable[..., Any], t: float) -> State:
    """Value, rate and acceleration of a user function of time.

    f(t) → (value, rate, acceleration), or f(t) → value with central differences of order 4: rates
    of a sine of 1 kHz are accurate to 1 %, of 100 Hz to 1e-6.
    """
    result = function(t)
    if not isinstance(result, numbers.Real):
        try:
            value, rate, acceleration = (float(part) for part in result)
        except (TypeError, ValueError):
            raise InputError(
                f"gives {shown(result)}; return a number, or value, rate and acceleration"
            ) from None
        return value, rate, acceleration
    h = (t + DIFFERENCE) - t  # difference of the rounded times
    middle, before, after, earlier, later = (
        float(result),
        *(float(function(t + k * h)) for k in (-1, 1, -2, 2)),
    )
    rate = (8.0 * (after - before) - (later - earlier)) / (12.0 * h)
    return (
        middle,
        rate,
        (16.0 * (after + before) - (later + earlier) - 30.0 * middle) / (12.0 * h**2),
    )


def _read_law(table: Mapping[str, object], families: tuple[type[Declaration], ...]) -> Any:
    """Law of time from a table with ``kind``."""
    kind = table.get("kind")
    for family in families:
        if isinstance(kind, str) and kind in family.kinds:
            return family.read_kind(table)
    known = [name for family in families for name in family.kinds]
    if kind is None:
        raise NestedError.at(("kind",), f"is missing; one of: {', '.join(sorted(known))}")
    raise NestedError.at(
        ("kind",), f"unknown law kind {shown(kind)}; {close_names(str(kind), known)}"
    )


def _simple_law(value: object) -> TimeLaw:
    """Law of time from a number or a user function."""
    if isinstance(value, numbers.Real):
        return Constant.read({"value": value})
    if callable(value) or isinstance(value, str):
        return Function.read({"function": value})
    raise ValueError(f"must be a law, a number or a function, not {shown(value)}")


def time_law(value: object) -> TimeLaw:
    """Validate a law of time: law, table, number or function of t."""
    if isinstance(value, Mapping):
        value = _read_law(value, (TimeLaw,))
    if not isinstance(value, TimeLaw):
        if isinstance(value, JointLaw):
            raise ValueError(f"must be a law of time, not a {value.kind} law")
        value = _simple_law(value)
    if isinstance(value, Function) and value.parameters not in (1, None):
        raise ValueError(f"the function must take one argument t, not {value.parameters}")
    return value


LawOfTime = Annotated[Any, BeforeValidator(time_law)]
OptionalLaw = Annotated[Any, BeforeValidator(optional(time_law))]


@law_kernel
def spring_damper(p, u, x, out):
    """Kernel of a spring and damper, τ = F − k (x − x₀) − c η, p = (k, c, x₀, F)."""
    out[0] = -p[0] * (x[1] - p[2]) - p[1] * x[2] + p[3]
    out[1] = -p[1] * x[2]


@law_kernel
def pd(p, u, x, out):
    """Kernel of PD control, τ = k_p (r − x) + k_d (ṙ − η), p = (k_p, k_d)."""
    out[0] = p[0] * (u[0] - x[1]) + p[1] * (u[1] - x[2])


@law_kernel
def pid(p, u, x, out):
    """Kernel of PID control, τ = k_p (r − x) + k_d (ṙ − η) + k_i z, ż = r − x."""
    out[0] = p[0] * (u[0] - x[1]) + p[1] * (u[1] - x[2]) + p[2] * x[3]
    out[2] = u[0] - x[1]


@spring_damper.slopes
@pd.slopes
@pid.slopes
def first_two(p, u, x, out):
    """Kernel of the slopes of a linear law: its first two parameters are stiffness and damping."""
    out[0] = p[0]
    out[1] = p[1]


class JointLaw(Declaration, section="joint laws"):
    """Law for the generalized force on a joint coordinate x with rate v.

    See `flexmbs.model.forces.JointForce`.
    """

    def row(self) -> Row:
        """Record of the law kernel and its parameters."""
        raise NotImplementedError


class PD(JointLaw, kind="pd"):
    """Q = kp·(r − x) + kd·(ṙ − v) with the reference r(t).

    Source: docs/theory.md, section 39.

    Parameters
    ----------
    kp : float [N/m or N m/rad]
        Proportional gain.
    kd : float [N s/m or N m s/rad]
        Derivative gain.
    reference : law of time or float [m or rad]
        Reference r(t) of the coordinate.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("servo", gravity=(0, -9.81, 0))
    >>> arm = model.add(fm.RigidBody("arm", mass=1.0, com=(0.2, 0, 0), inertia=(0.0, 0.01, 0.01)))
    >>> axis = model.add(fm.Revolute("axis", model.ground, arm, axis="z"))
    >>> servo = model.add(fm.JointTorque("servo", axis, fm.PD(kp=100.0, kd=5.0)))
    >>> fm.statics(model).state.q.round(
    ...     4
    ... ).tolist()  # without an integral it sags: kp φ = −m g l cos φ
    [-0.0196]
    """

    kp: Number = dataclasses.field(kw_only=False)
    kd: Number = dataclasses.field(default=0.0, kw_only=False)
    reference: LawOfTime = 0.0

    def row(self) -> Row:
        """Kernel and parameters of PD control, with the law of the reference."""
        return Row(pd, (self.kp, self.kd), (self.reference,), gives=2)


class PID(JointLaw, kind="pid"):
    """Q = kp·(r − x) + ki·∫(r − x)dt + kd·(ṙ − v) with the reference r(t).

    The integral starts at zero.

    Source: docs/theory.md, section 39.

    Parameters
    ----------
    kp : float [N/m or N m/rad]
        Proportional gain.
    ki : float [N/(m s) or N m/(rad s)]
        Integral gain.
    kd : float [N s/m or N m s/rad]
        Derivative gain.
    reference : law of time or float [m or rad]
        Reference r(t) of the coordinate.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("servo", gravity=(0, -9.81, 0))
    >>> arm = model.add(fm.RigidBody("arm", mass=1.0, com=(0.2, 0, 0), inertia=(0.0, 0.01, 0.01)))
    >>> axis = model.add(fm.Revolute("axis", model.ground, arm, axis="z"))
    >>> servo = model.add(
    ...     fm.JointTorque("servo", axis, fm.PID(kp=100.0, ki=400.0, kd=5.0, reference=0.3))
    ... )
    >>> rest = fm.statics(model)
    >>> rest.state.q.round(6).tolist()  # the integral holds the weight: no error is left
    [0.3]
    """

    kp: Number = dataclasses.field(kw_only=False)
    ki: Number = dataclasses.field(kw_only=False)
    kd: Number = dataclasses.field(default=0.0, kw_only=False)
    reference: LawOfTime = 0.0

    def row(self) -> Row:
        """Kernel and parameters of PID control; the integral of the error is a state."""
        return Row(
            pid,
            (self.kp, self.kd, self.ki),
            (self.reference,),
            gives=2,
            states=1,
            names=INTEGRAL,
        )


class SpringDamper(JointLaw, kind="spring-damper"):
    """Q = preload − k·(x − x0) − c·v.

    Source: docs/theory.md, section 39.

    Parameters
    ----------
    k : float [N/m or N m/rad]
        Stiffness.
    c : float [N s/m or N m s/rad]
        Damping.
    x0 : float [m or rad]
        Coordinate of the unloaded spring.
    preload : float [N or N m]
        Force at x = x0.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("door")
    >>> door = model.add(fm.RigidBody("door", mass=20.0, inertia=(3.0, 1.0, 4.0)))
    >>> hinges = model.add(fm.Revolute("hinges", model.ground, door, axis="z", q0=0.5, v0=-1.0))
    >>> closer = model.add(
    ...     fm.JointTorque("closer", hinges, fm.SpringDamper(k=10.0, c=6.0, preload=-3.0))
    ... )
    >>> fm.state(model).sd.round(6).tolist()  # (F₀ − k φ − c φ̇)/J
    [-0.5]
    """

    k: Number = 0.0
    c: Number = 0.0
    x0: Number = 0.0
    preload: Number = 0.0

    def row(self) -> Row:
        """Kernel and parameters k, c, x0 and preload."""
        return Row(spring_damper, (self.k, self.c, self.x0, self.preload))


def joint_law(value: object) -> JointLaw | TimeLaw:
    """Validate a law of a joint force: law, table, number, or function of t or of (t, x, v)."""
    if isinstance(value, JointLaw):
        return value
    if isinstance(value, Mapping):
        value = _read_law(value, (JointLaw, TimeLaw))
    if isinstance(value, JointLaw):
        return value
    law = value if isinstance(value, TimeLaw) else _simple_law(value)
    if isinstance(law, Function) and law.parameters not in (1, 3, None):
        raise ValueError(f"the function must take (t) or (t, x, v), not {law.parameters} arguments")
    return law


def three_laws(value: object) -> tuple[TimeLaw, TimeLaw, TimeLaw]:
    """Validate three laws of time, one per axis."""
    if not isinstance(value, (list, tuple, np.ndarray)) or len(value) != 3:
        raise ValueError(f"must be three laws or numbers, not {shown(value)}")
    made: list[TimeLaw] = []
    problems: list[Problem] = []
    for axis, item in enumerate(value):
        try:
            made.append(time_law(item))
        except NestedError as error:
            problems.extend(
                Problem((str(axis), *inner.path), inner.message) for inner in error.problems
            )
        except ValueError as error:
            problems.append(Problem((str(axis),), str(error)))
    raise_nested(problems)
    return made[0], made[1], made[2]


JointForceLaw = Annotated[Any, BeforeValidator(joint_law)]
ThreeLaws = Annotated[Any, BeforeValidator(three_laws)]

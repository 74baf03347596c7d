"""Discrete controllers of a joint coordinate.

They are sampled at multiples of a time, with their output held in between.
"""

import dataclasses
import math

from pydantic import model_validator

from flexmbs.declaration import NestedError, Problem, raise_nested
from flexmbs.law_kernel import Row, Sampler, StateName, law_kernel
from flexmbs.model.fields import AnyVector, Nonnegative, Number, OptionalNumber, Positive
from flexmbs.model.functions import UserFunction, takes_parameters
from flexmbs.model.laws import INTEGRAL, JointLaw, LawOfTime

MOST_PERIODS = 100  # sample times of a delay: every delayed sample is a force state

ARGUMENTS = 4, "f(memory, t, x, v) -> (output, memory)"


@law_kernel
def held(p, u, x, out):
    """Kernel of the held output τ = u_k; the state y counts down to the next sample."""
    out[0] = x[3]
    out[3] = -1.0


@held.slopes
def no_slopes(p, u, x, out):
    """Kernel of zero slopes: between samples the force is constant."""


@law_kernel
def digital_pid(p, u, x, out):
    """Kernel of a discrete PID controller, limited to p[4] … p[5].

    u_k = k_p e_k + k_i I_k + k_d (e_k − e_{k−1})/T

    e = r − x, I_k = I_{k−1} + T e_k.

    p = (k_p, k_i, k_d, T, limits), x = (t, x, v, I, e_{k−1}, 0 before the first sample). I is held
    while it would drive u_k further beyond a limit.

    """
    error = u[0] - x[1]
    rate = (error - x[4]) / p[3] if x[5] > 0.0 else 0.0
    total = x[3] + p[3] * error
    wanted = p[0] * error + p[1] * total + p[2] * rate
    out[0] = min(max(wanted, p[4]), p[5])
    beyond = (wanted > p[5] and p[1] * error > 0.0) or (wanted < p[4] and p[1] * error < 0.0)
    out[1] = x[3] if beyond else total
    out[2] = error
    out[3] = 1.0


@law_kernel
def digital_function(p, u, x, out):
    """Kernel of a user-defined discrete controller: output u_k and memory.

    p = (size of the memory)
    """
    for a in range(int(p[0])):
        out[a] = u[a]


class SampledLaw(JointLaw):
    """Common part of the discrete controllers.

    Parameters
    ----------
    sample_time : float [s]
        Sample time T: samples at k T from the start of the run.
    delay : float [s]
        Delay d of the sensor, not necessarily a multiple of T: a sample takes x(kT − d). Before the
        start the coordinate is held at its initial value.
    computing_time : float [s]
        Time from a sample to its output, not necessarily a multiple of T. The force is zero before
        the first output.
    """

    sample_time: Positive
    delay: Nonnegative = 0.0
    computing_time: Nonnegative = 0.0

    @model_validator(mode="after")
    def _few(self) -> "SampledLaw":
        """Raise `NestedError` for delays of too many sample times."""
        problems = [
            Problem(
                (key,),
                f"must be at most {MOST_PERIODS} sample times of {self.sample_time:g} s, "
                f"not {value:g} s",
            )
            for key, value in (("delay", self.delay), ("computing_time", self.computing_time))
            if value > MOST_PERIODS * self.sample_time
        ]
        raise_nested(problems)
        return self

    def sampler(self) -> Sampler:
        """Record of the sampled controller: kernel, sample time, delays, memory."""
        raise NotImplementedError

    def row(self) -> Row:
        """Kernel that holds the output of the sampler between sample times."""
        names = StateName("output", "{Q}"), StateName("time to the next sample", "s")
        return Row(held, states=2, sampler=self.sampler(), names=names)


class DigitalPID(SampledLaw, kind="digital-pid"):
    """Discrete PID controller: Q = u_k within ``lower`` … ``upper``, held from sample to sample,

    u_k = kp·e_k + ki·I_k + kd·(e_k − e_{k−1})/T, e_k = r(kT) − x(kT − d), I_k = I_{k−1} + T·e_k.

    The first difference is zero. Anti-windup: I is held while u is at a limit and the error drives
    it further. Source: Åström and Wittenmark, Computer-Controlled Systems (1997), section 8.5.

    Parameters
    ----------
    kp : float [N/m or N m/rad]
        Proportional gain.
    ki : float [N/(m s) or N m/(rad s)]
        Integral gain.
    kd : float [N s/m or N m s/rad]
        Derivative gain.
    lower : float or None [N or N m]
        Smallest force; None: no limit.
    upper : float or None [N or N m]
        Largest force; None: no limit.
    reference : law of time or float [m or rad]
        Reference r(t) of the coordinate.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("servo", gravity=(0, 0, 0))
    >>> arm = model.add(fm.RigidBody("arm", mass=1.0, inertia=(0.03, 0.03, 0.05)))
    >>> axis = model.add(fm.Revolute("axis", model.ground, arm, axis="z"))
    >>> servo = model.add(
    ...     fm.JointTorque("servo", axis, fm.DigitalPID(kp=2.0, sample_time=0.01, reference=0.1))
    ... )
    >>> run = fm.simulate(model, t_end=0.01, step=0.001)
    >>> run.joint("axis").velocity[-1].round(6).tolist()  # kp r/J · T: held over the first sample
    [0.04]
    """

    kp: Number = dataclasses.field(kw_only=False)
    ki: Number = dataclasses.field(default=0.0, kw_only=False)
    kd: Number = dataclasses.field(default=0.0, kw_only=False)
    lower: OptionalNumber = None
    upper: OptionalNumber = None
    reference: LawOfTime = 0.0

    @model_validator(mode="after")
    def _order(self) -> "DigitalPID":
        """Raise `NestedError` unless lower < upper."""
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise NestedError.at(
                ("upper",), f"must be above lower = {self.lower:g}, not {self.upper:g}"
            )
        return self

    def sampler(self) -> Sampler:
        """Discrete PID kernel with parameters, sample time, delays and memory."""
        limits = (
            -math.inf if self.lower is None else self.lower,
            math.inf if self.upper is None else self.upper,
        )
        parameters = self.kp, self.ki, self.kd, self.sample_time, *limits
        memory, given = (0.0, 0.0, 0.0), (self.reference,)
        times = self.sample_time, self.delay, self.computing_time
        return Sampler(
            digital_pid, parameters, *times, memory, given, keys=("reference",), names=INTEGRAL
        )


class DigitalController(SampledLaw, kind="digital-controller"):
    """Discrete controller by a user function: Q = u_k, held from sample to sample.

    Parameters
    ----------
    function : function or 'module:name'
        f(memory, t, x, v) → (output, memory): called at t = kT with the coordinate and its rate
        measured at kT − d, and the memory that it returned at the previous sample. Its results must
        depend only on its arguments.
    memory : floats
        Memory at the first sample; if empty, the function returns (output, ()).
    parameters : floats
        Numbers passed to the function as an array after its other arguments.

    Examples
    --------
    >>> import flexmbs as fm
    >>> def bang_bang(memory, t, x, v):
    ...     return (0.5 if x < 1.0 else -0.5), memory
    >>> model = fm.Model("servo", gravity=(0, 0, 0))
    >>> arm = model.add(fm.RigidBody("arm", mass=1.0, inertia=(0.03, 0.03, 0.05)))
    >>> axis = model.add(fm.Revolute("axis", model.ground, arm, axis="z"))
    >>> control = model.add(
    ...     fm.JointTorque("control", axis, fm.DigitalController(bang_bang, sample_time=0.01))
    ... )
    >>> run = fm.simulate(model, t_end=0.1, step=0.01)
    >>> run.joint("axis").velocity[-1].round(6).tolist()  # τ t/J
    [1.0]
    """

    function: UserFunction = dataclasses.field(kw_only=False)
    memory: AnyVector = ()
    parameters: AnyVector = ()

    _arguments = takes_parameters(*ARGUMENTS)

    def sampler(self) -> Sampler:
        """User function called at sample times, with its memory and delays."""
        times, n = (self.sample_time, self.delay, self.computing_time), 1 + len(self.memory)
        memory, key = tuple(self.memory), ("function",)
        return Sampler(
            digital_function, (float(n),), *times, memory, (self.function,), n, key, self.parameters
        )

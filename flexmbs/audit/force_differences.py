"""Differences of reactions and accelerations between two runs, relative to the largest ones."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from flexmbs.audit.audit_samples import greatest, sampled
from flexmbs.dynamics.work import make_work
from flexmbs.integrators.integrator import Integrator
from flexmbs.integrators.run_context import DONE, LIMIT
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import FAIL, PASS, WARN, Check, graded
from flexmbs.system.compile import Compiled
from flexmbs.system.step_scales import model_size
from flexmbs.system.trajectory import RunInfo, Trajectory
from flexmbs.time_stepping.outcome import INTERRUPTED
from flexmbs.time_stepping.run import Run

# Of the largest reaction, and of the largest acceleration, in which vibrations have a larger part.
# Arms of one or two flexible links, ζ = 0 … 2 %, generalized-α with steps of 1e-3 … 1e-5 s and
# ESDIRK, against a tolerance of 1e-8:
# estimates are 0.96 … 1.8 times actual errors of reactions above 2e-3 (26 runs), and 0.84 … 1.7
# times those of accelerations above 0.02 (30 runs). Each run with PASS is within 0.5 % and 2.7 %
REACTIONS = (0.02, 0.2)
ACCELERATIONS = (0.04, 0.4)
# of all masses times the largest acceleration, and of their moments of inertia times the largest
# angular one over the size of the model: reactions below it are negligible
WEIGHTLESS = 0.1
# of the model's size over the square of the time: accelerations of no interest, as residuals of a
# model at rest
STILL = 1e-6
# accelerations of no interest: of ω² times the model's size, as vibrations beside a spin; of |v|
# |ω| of a body that flies, whose velocity turns in its axes, and with it the errors of
# interpolation
SPINNING, FLYING = 1e-5, 1e-3
REMEDY = (
    "use smaller steps, error control or damping of the modes; start in equilibrium, or "
    "switch loads on smoothly"
)


class Differences(NamedTuple):
    """Differences relative to the largest reaction and acceleration, with the joint and the frame
    where they are largest.
    """

    reaction: float
    joint: str
    acceleration: float
    frame: str

    def check(self, title: str, what: str) -> Check:
        """The worse of both."""
        states = graded(self.reaction, REACTIONS), graded(self.acceleration, ACCELERATIONS)
        places = [
            f", at {place}" if state != PASS else ""
            for state, place in zip(states, (f"joint {self.joint}", self.frame))
        ]
        text = (
            f"{what} the estimated errors are {self.reaction:.1e} of the largest "
            f"reaction{places[0]}"
        )
        text += f" and {self.acceleration:.1e} of the largest acceleration{places[1]}"
        status = max(states, key=(PASS, WARN, FAIL).index)
        return Check(title, status, text, "" if status == PASS else REMEDY)


@dataclass(frozen=True)
class Scales:
    """Largest acceleration [m/s²] and reaction [N] of a run, and the states ``mine`` stored for its
    audit.
    """

    solution: SolutionData
    run: Run

    @cached_property
    def mine(self) -> SolutionData:
        """The states stored by the run."""
        return sampled(self.solution, self.run)

    @cached_property
    def acceleration(self) -> float:
        """Largest acceleration of a frame, at least gravity or that of a negligible motion [m/s²]."""
        solution, duration = self.solution, float(self.solution.t[-1] - self.solution.t[0])
        least = STILL * model_size(solution.compiled) / max(duration, 1e-150) ** 2
        gravity = float(np.linalg.norm(solution.model.gravity))
        most = max(_largest_acceleration(each) for each in self._states)
        size, steady = model_size(solution.compiled), 0.0
        for view in (each.body(name) for each in self._states for name in solution.compiled.bodies):
            v, omega = greatest(view.velocity), greatest(view.angular_velocity)
            steady = max(steady, SPINNING * omega * omega * size, FLYING * v * omega)
        return max(most, gravity, least, steady, np.finfo(float).tiny)

    @cached_property
    def reaction(self) -> float:
        """Largest joint force, or moment over the size of the model, at least a fraction of inertia
        forces [N].
        """
        bodies, size = self.solution.compiled.system.bodies, model_size(self.solution.compiled)
        turning = max(_largest_turning(each) for each in self._states)
        moment = float(bodies.second[:, ::4].sum()) * turning
        weight = WEIGHTLESS * (float(bodies.mass.sum()) * self.acceleration + moment / size)
        return max(weight, *(largest_load(joint_loads(each)) for each in self._states))

    @property
    def _states(self) -> list[SolutionData]:
        return [each for each in (self.solution, self.mine) if len(each.t)]


def _constrained(compiled: Compiled) -> list[str]:
    """Joints and relations with reactions, unlike those that leave all six motions free."""
    return [
        name
        for name, place in compiled.places.items()
        if sum(motion.nv for motion in place.motions) < 6
    ]


def joint_loads(solution: SolutionData) -> dict[str, np.ndarray]:
    """(nt, 2, 3) force and moment over the size of the model [N] of each joint whose wrench is
    unique.
    """
    length = model_size(solution.compiled)
    views = {name: solution.joint(name) for name in _constrained(solution.compiled)}
    return {
        name: np.stack([view.force, view.torque / length], axis=1)
        for name, view in views.items()
        if view.unique
    }


def largest_load(loads: dict[str, np.ndarray]) -> float:
    """Largest force, or moment over the size of the model [N]."""
    return max(
        (float(np.linalg.norm(each, axis=2).max(initial=0.0)) for each in loads.values()),
        default=0.0,
    )


def load_differences(mine: SolutionData, theirs: SolutionData) -> dict[str, np.ndarray]:
    """(nt, 2) differences of forces and of moments over the size [N] of joints that are unique in
    both, while both last.
    """
    ours, others = joint_loads(mine), joint_loads(theirs)
    n = min(len(mine.t), len(theirs.t))
    return {
        name: np.linalg.norm(ours[name][:n] - others[name][:n], axis=2)
        for name in ours
        if name in others
    }


def force_differences(
    scales: Scales, mine: SolutionData, theirs: SolutionData, norm: Callable[[np.ndarray], float]
) -> Differences:
    """Differences by a ``norm`` over time, relative to the largest values."""
    compiled, reaction, joint = mine.compiled, 0.0, ""
    for name, apart in load_differences(mine, theirs).items():
        size = max(norm(part) for part in apart.T) / scales.reaction
        reaction, joint = max((reaction, joint), (size, compiled.owner_of(name)))
    acceleration, frame = 0.0, ""
    for ref in compiled.frames:
        if ref.body in compiled.bodies:
            a, b = mine.frame(ref).acceleration, theirs.frame(ref).acceleration
            place = compiled.whole_of(ref.body) + (f"/{ref.frame}" if ref.frame else "")
            size = norm(np.linalg.norm(a - b, axis=1)) / scales.acceleration
            acceleration, frame = max((acceleration, frame), (size, place))
    return Differences(reaction, joint, acceleration, frame)


def _largest_acceleration(solution: SolutionData) -> float:
    frames = [ref for ref in solution.compiled.frames if ref.body in solution.compiled.bodies]
    return max(greatest(solution.frame(ref).acceleration) for ref in frames)


def _largest_turning(solution: SolutionData) -> float:
    """Largest angular acceleration of a body [rad/s²]."""
    return max(
        greatest(solution.body(name).angular_acceleration) for name in solution.compiled.bodies
    )


def again(
    scales: Scales,
    method: Integrator,
    times: np.ndarray,
    most: int,
    *,
    nudge: float | np.ndarray = 0.0,
) -> tuple[SolutionData, bool]:
    """The run from its start with a method, at other output times, up to ``most``
    evaluations, 0: without limit; and whether it did not fail.

    nudge: (ns,) change of its initial velocities.
    """
    solution, run = scales.solution, scales.run
    assert run.begun is not None
    compiled = solution.compiled
    repeated = Run(compiled, method, run.form, times, make_work(compiled.system, run.begun.beta))
    repeated.connect()
    repeated.context.counts[LIMIT] = most
    repeated.begin(dataclasses.replace(run.begun, s=run.begun.s + nudge))
    status, reached = repeated.integrate(None)
    compiled.callbacks.raise_error()
    return part_of(solution, repeated.out, np.arange(reached)), status in (DONE, INTERRUPTED)


def part_of(
    solution: SolutionData, outputs: tuple[np.ndarray, ...], picked: np.ndarray
) -> SolutionData:
    """A solution of some outputs (n,), with reactions as computed."""
    nt = len(outputs[0])
    values = Trajectory(
        *(np.ascontiguousarray(each[picked]) if len(each) == nt else each for each in outputs)
    )
    return SolutionData(solution.compiled, values, {}, RunInfo(redundant=solution.run.redundant))

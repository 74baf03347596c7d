"""Differences of reactions and accelerations between two runs, relative to the largest ones."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flexmbs.audit.samples import greatest, sampled
from flexmbs.dynamics.work import make_work
from flexmbs.integrators.integrator import Integrator
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import FAIL, PASS, WARN, Check, graded
from flexmbs.system.sizes import model_size
from flexmbs.system.trajectory import RunInfo, Trajectory
from flexmbs.time_stepping.run import Run

REACTIONS = (0.02, 0.2)  # of the largest reaction
ACCELERATIONS = (0.04, 0.4)  # of the largest acceleration, in which vibrations have a larger part than in reactions
# of all masses times the largest acceleration, and of their moments of inertia times the largest
# angular one over the size of the model: reactions below it are negligible
WEIGHTLESS = 0.1
STILL = 1e-6  # of the model's size over the square of the time: accelerations of no interest, as residuals of a model at rest
REMEDY = "use smaller steps, error control or damping of the modes; start in equilibrium, or switch loads on smoothly"


class Differences(NamedTuple):
    """Differences relative to the largest reaction and acceleration, with the joint and the frame where they are largest."""

    reaction: float
    joint: str
    acceleration: float
    frame: str

    def check(self, title: str, what: str) -> Check:
        """The worse of both."""
        states = graded(self.reaction, REACTIONS), graded(self.acceleration, ACCELERATIONS)
        places = [f", at {place}" if state != PASS else "" for state, place in zip(states, (f"joint {self.joint}", self.frame))]
        text = f"{what} the estimated errors are {self.reaction:.1e} of the largest reaction{places[0]}"
        text += f" and {self.acceleration:.1e} of the largest acceleration{places[1]}"
        status = max(states, key=(PASS, WARN, FAIL).index)
        return Check(title, status, text, "" if status == PASS else REMEDY)


class Scales(NamedTuple):
    """Largest acceleration [m/s²] and reaction [N] of a run."""

    acceleration: float
    reaction: float

    @classmethod
    def of(cls, solution: SolutionData, run: Run) -> "Scales":
        """Largest values at the outputs and at the states stored for the audit."""
        states = [each for each in (solution, sampled(solution, run)) if len(each.t)]
        most = max(_largest_acceleration(each) for each in states)
        least = STILL * model_size(solution.compiled) / max(float(solution.t[-1] - solution.t[0]), 1e-150) ** 2
        most = max(most, float(np.linalg.norm(solution.model.gravity)), least, np.finfo(float).tiny)
        bodies, size = solution.compiled.system.bodies, model_size(solution.compiled)
        moment = float(bodies.second[:, ::4].sum()) * max(_largest_turning(each) for each in states)
        weight = WEIGHTLESS * (float(bodies.mass.sum()) * most + moment / size)
        return cls(most, max(*(_largest_reaction(each) for each in states), weight))


def force_differences(
    scales: Scales, mine: SolutionData, theirs: SolutionData, norm: Callable[[np.ndarray], float]
) -> Differences:
    """Differences by a ``norm`` over time, relative to the largest values."""
    compiled, length, (most, scale) = mine.compiled, model_size(mine.compiled), scales
    reaction, joint = 0.0, ""
    for name in compiled.places:
        one, other = mine.joint(name), theirs.joint(name)
        if one.unique:
            force, moment = (np.linalg.norm(a - b, axis=1) for a, b in ((one.force, other.force), (one.torque, other.torque)))
            reaction, joint = max((reaction, joint), (max(norm(force), norm(moment) / length) / scale, compiled.owner_of(name)))
    acceleration, frame = 0.0, ""
    for ref in compiled.frames:
        if ref.body in compiled.bodies:
            a, b = mine.frame(ref).acceleration, theirs.frame(ref).acceleration
            place = compiled.whole_of(ref.body) + (f"/{ref.frame}" if ref.frame else "")
            acceleration, frame = max((acceleration, frame), (norm(np.linalg.norm(a - b, axis=1)) / most, place))
    return Differences(reaction, joint, acceleration, frame)


def _largest_reaction(solution: SolutionData) -> float:
    """Largest joint force, or moment over the size of the model [N]; of joints whose wrench is unique."""
    views, length = (
        [solution.joint(name) for name in solution.compiled.places],
        model_size(solution.compiled),
    )
    values = (max(greatest(view.force), greatest(view.torque) / length) for view in views if view.unique)
    return max(values, default=0.0)


def _largest_acceleration(solution: SolutionData) -> float:
    frames = [ref for ref in solution.compiled.frames if ref.body in solution.compiled.bodies]
    return max(greatest(solution.frame(ref).acceleration) for ref in frames)


def _largest_turning(solution: SolutionData) -> float:
    """Largest angular acceleration of a body [rad/s²]."""
    return max(greatest(solution.body(name).angular_acceleration) for name in solution.compiled.bodies)


def again(solution: SolutionData, run: Run, method: Integrator, times: np.ndarray, deadline: float) -> SolutionData:
    """The run from its start with a method, at other output times, up to a ``deadline`` of time.perf_counter()."""
    assert run.begun is not None
    repeated = Run(
        solution.compiled,
        method,
        run.form,
        times,
        make_work(solution.compiled.system, run.begun.beta),
    )
    repeated.connect()
    repeated.deadline = deadline
    repeated.begin(run.begun)
    _, reached = repeated.integrate(None)
    solution.compiled.callbacks.raise_error()
    return part_of(solution, repeated.out, np.arange(reached))


def part_of(solution: SolutionData, outputs: tuple[np.ndarray, ...], picked: np.ndarray) -> SolutionData:
    """A solution of some outputs (n,), with reactions as computed."""
    nt = len(outputs[0])
    values = Trajectory(*(np.ascontiguousarray(each[picked]) if len(each) == nt else each for each in outputs))
    return SolutionData(solution.compiled, values, {}, RunInfo(redundant=solution.run.redundant))

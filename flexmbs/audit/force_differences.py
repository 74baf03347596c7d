"""Differences of reactions and accelerations between two runs, relative to the largest ones."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from flexmbs.audit.audit_samples import evenly_spaced, largest_row, sampled
from flexmbs.audit.contact_states import StatesOfContacts, states_of_contacts
from flexmbs.audit.mechanisms import (
    bodies_with_contacts,
    ends_of,
    mechanism_sizes,
    mechanisms_of_joints,
    sizes_of_joints,
)
from flexmbs.dynamics.work import make_work
from flexmbs.integrators.integrator import Integrator
from flexmbs.integrators.run_context import DONE
from flexmbs.results.impact_steps import outputs_without_impacts
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import FAIL, PASS, WARN, Check, graded
from flexmbs.system.compile import Compiled
from flexmbs.system.step_scales import model_size
from flexmbs.system.trajectory import Impact, RunInfo, Trajectory
from flexmbs.time_stepping.outcome import INTERRUPTED
from flexmbs.time_stepping.run import Run

# Of the largest reaction, and of the largest acceleration, in which vibrations have a larger part.
# Arms of one or two flexible links, ζ = 0 … 2 %, generalized-α with steps of 1e-3 … 2.5e-5 s
# against a tolerance of 1e-7: estimates are 0.6 … 2.2 times the largest errors of reactions above
# 3e-3 in nine of ten of 145 runs, 0.32 … 3.4 in all, and 0.55 … 1.7 times lasting errors of
# accelerations above 0.02. Each run with PASS is within 1.7 % and, for accelerations, 2.7 %
REACTIONS = (0.02, 0.2)
ACCELERATIONS = (0.04, 0.4)
# of the mass of a body times its largest acceleration, and of its moments of inertia times the
# largest angular one over the size of the model: reactions below it are negligible
WEIGHTLESS = 0.1
# of a run with closed contacts, whose loads are examined: the 16 states stored for the audit of
# other runs are at ends of steps, these may miss a peak
MOST_OUTPUTS = 64
# of the model's size over the square of the time: accelerations of no interest, as residuals of a
# model at rest
STILL = 1e-6
# accelerations of no interest: of ω² times the model's size, as vibrations beside a spin; of |v|
# |ω| of a body that flies, whose velocity turns in its axes, and with it the errors of
# interpolation
SPINNING, FLYING = 1e-4, 1e-3
REMEDY = (
    "use smaller steps, error control or damping of the modes; start in equilibrium, or "
    "switch loads on smoothly"
)


class Differences(NamedTuple):
    """Differences relative to the largest reaction and acceleration.

    With the joint, near time t [s], and the frame where they are largest; for reactions also the
    largest at an instant.
    """

    reaction: float
    at_instant: float
    joint: str
    t: float
    acceleration: float
    frame: str

    def check(self, title: str, what: str) -> Check:
        """Check of the differences of accelerations and reactions; the worse one counts."""
        states = graded(self.reaction, REACTIONS), graded(self.acceleration, ACCELERATIONS)
        places = [
            f", at {place}" if state != PASS else ""
            for state, place in zip(
                states, (f"joint {self.joint} near t = {self.t:.4g} s", self.frame)
            )
        ]
        text = (
            f"{what} the estimated errors are {self.reaction:.1e} of the largest "
            f"reaction{places[0]}"
        )
        text += f" and {self.acceleration:.1e} of the largest acceleration{places[1]}"
        status = max(states, key=(PASS, WARN, FAIL).index)
        return Check(title, status, text, "" if status == PASS else REMEDY)


class LargestRates(NamedTuple):
    """Largest values of a body over the outputs.

    Acceleration [m/s²] of its frames, at least one of no interest beside its motion; angular
    acceleration [rad/s²] and velocity [rad/s].
    """

    acceleration: float
    turning: float
    spin: float


@dataclass(frozen=True)
class Scales:
    """Largest accelerations [m/s², rad/s²] and reactions [N] of a run.

    mine: the states stored for its audit. left_out: bodies that are not judged, with their joints.
    """

    solution: SolutionData
    run: Run
    left_out: frozenset[str] = frozenset()

    def without(self, bodies: frozenset[str]) -> "Scales":
        """Scales of the model without some bodies."""
        return dataclasses.replace(self, left_out=bodies) if bodies != self.left_out else self

    @cached_property
    def judged(self) -> list[str]:
        """Names of the bodies that are judged."""
        return [name for name in self.solution.compiled.bodies if name not in self.left_out]

    def judges(self, joint: str) -> bool:
        """True if a joint is judged: it connects no body that is left out."""
        return self.left_out.isdisjoint(ends_of(self.solution.compiled, joint))

    @cached_property
    def mine(self) -> SolutionData:
        """The states stored by the run."""
        return sampled(self.solution, self.run)

    @cached_property
    def loaded(self) -> SolutionData:
        """States for estimates from loads: those of `mine`.

        If rigid contacts or dry friction hold at some of the stored states, outputs of the run,
        where the forces of these are known.
        """
        samples = self.run.context.samples
        if not ((samples.t >= 0.0) & (samples.closed > 0)).any():
            return self.mine
        pick = evenly_spaced(np.arange(len(self.solution.t)), MOST_OUTPUTS)
        return part_of(self.solution, self.solution.trajectory, pick)

    @cached_property
    def acceleration(self) -> float:
        """Largest acceleration of a frame [m/s²].

        At least gravity, or that of a negligible motion.
        """
        return max(self._own_acceleration, self._gravity)

    @cached_property
    def turning(self) -> float:
        """Largest angular acceleration of a body [rad/s²].

        At least the largest acceleration over the size of the model, with a small fraction of
        gravity: a pendulum at rest is disturbed in the second run.
        """
        own = [self._bodies[name] for name in self.judged]
        most = max(max(each.turning, SPINNING * each.spin**2) for each in own)
        least = max(self._own_acceleration, STILL * self._gravity)
        return max(most, least / model_size(self.solution.compiled))

    @cached_property
    def _own_acceleration(self) -> float:
        """Largest acceleration of a frame, or of a negligible motion [m/s²]."""
        most = max(self._bodies[name].acceleration for name in self.judged)
        return max(most, self._negligible, np.finfo(float).tiny)

    @cached_property
    def _negligible(self) -> float:
        """Acceleration of no interest [m/s²]."""
        duration = float(self.solution.t[-1] - self.solution.t[0])
        return STILL * model_size(self.solution.compiled) / max(duration, 1e-150) ** 2

    @cached_property
    def reaction(self) -> dict[str, float]:
        """Largest force, or moment over its size [N], of each joint's mechanism.

        A mechanism are the bodies that joints connect, without the ground. At least a fraction of
        the inertia forces of the lighter one of the two bodies: those of a light link on a heavy
        base are not negligible beside those of the base.
        """
        compiled, sizes = self.solution.compiled, mechanism_sizes(self.solution.compiled)
        bodies, inertia = compiled.system.bodies, dict[str, float]()
        for i, name in enumerate(compiled.bodies):
            own = self._bodies[name]
            moment = float(bodies.second[i, ::4].sum()) * own.turning
            most = max(own.acceleration, self._gravity, self._negligible)
            inertia[name] = float(bodies.mass[i]) * most + moment / sizes[name]
        number, largest = mechanisms_of_joints(compiled), dict[int, float]()
        for states in self._states:
            for name, load in joint_loads(states).items():
                k, rows = number[name], self._rows(states, ends_of(compiled, name))
                largest[k] = max(largest.get(k, 0.0), largest_load({name: load[rows]}))
        every = sum(inertia.values())
        found = {}
        for name, k in number.items():
            moved = [inertia[body] for body in ends_of(compiled, name) if inertia.get(body)]
            least = WEIGHTLESS * min(moved, default=every)
            found[name] = max(largest.get(k, 0.0), least, np.finfo(float).tiny)
        return found

    def reaction_of(self, body: str) -> float | None:
        """Least scale [N] of the reactions of the joints of a body; None if it has none."""
        compiled = self.solution.compiled
        own = [name for name in self.reaction if body in ends_of(compiled, name)]
        return min((self.reaction[name] for name in own), default=None)

    @property
    def _gravity(self) -> float:
        return float(np.linalg.norm(self.solution.model.gravity))

    @cached_property
    def _bodies(self) -> dict[str, LargestRates]:
        """Largest values of each body."""
        compiled, size = self.solution.compiled, model_size(self.solution.compiled)
        found = dict.fromkeys(compiled.bodies, LargestRates(0.0, 0.0, 0.0))
        for states in self._states:
            frames = dict.fromkeys(compiled.bodies, 0.0)
            for ref in compiled.frames:
                if ref.body in frames:
                    rows = self._rows(states, [ref.body])
                    most = largest_row(states.frame(ref).acceleration[rows])
                    frames[ref.body] = max(frames[ref.body], most)
            for name, most in frames.items():
                view, rows = states.body(name), self._rows(states, [name])
                v, omega = largest_row(view.velocity), largest_row(view.angular_velocity)
                steady = max(SPINNING * omega * omega * size, FLYING * v * omega)
                turning = largest_row(view.angular_acceleration[rows])
                found[name] = LargestRates(
                    *map(max, found[name], (max(most, steady), turning, omega))
                )
        return found

    @cached_property
    def contacts(self) -> StatesOfContacts:
        """States of the contacts at the outputs."""
        return states_of_contacts(self.solution)

    @cached_property
    def hit(self) -> frozenset[str]:
        """Bodies to which impacts of the run are transmitted."""
        struck = {impact.contact for impact in self.solution.run.impacts}
        return bodies_with_contacts(self.solution.compiled, struck)

    @cached_property
    def _calm(self) -> np.ndarray:
        """Outputs (nt,) whose forces are not impulses over the length of a step."""
        return outputs_without_impacts(self.solution)

    def _rows(self, states: SolutionData, bodies: Iterable[str]) -> np.ndarray | slice:
        """Outputs of the states at which forces on the bodies are not those of impacts."""
        hit = states is self.solution and not self.hit.isdisjoint(bodies)
        return self._calm if hit else slice(None)

    @property
    def _states(self) -> list[SolutionData]:
        return [each for each in (self.solution, self.mine) if len(each.t)]


def _constrained(compiled: Compiled) -> list[str]:
    """Names of the joints and relations that can transmit reactions."""
    return [
        name
        for name, place in compiled.places.items()
        if sum(motion.nv for motion in place.motions) < 6
    ]


def joint_loads(solution: SolutionData) -> dict[str, np.ndarray]:
    """Joint loads (nt, 2, 3) [N]: force, and moment over the size of the mechanism.

    By joint, for those with a unique wrench.
    """
    length = sizes_of_joints(solution.compiled)
    views = {name: solution.joint(name) for name in _constrained(solution.compiled)}
    return {
        name: np.stack([view.force, view.torque / length[name]], axis=1)
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
    """Differences (nt, 2) [N] of forces and of moments over the size of the model.

    For joints that are unique in both runs, while both last.
    """
    return {
        name: np.linalg.norm(ours - others, axis=2)
        for name, ours, others in _common_loads(mine, theirs)
    }


def _common_loads(
    mine: SolutionData, theirs: SolutionData
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Joint loads (nt, 2, 3) of both runs, as in `load_differences`."""
    ours, others = joint_loads(mine), joint_loads(theirs)
    n = min(len(mine.t), len(theirs.t))
    for name in ours:
        if name in others:
            yield name, ours[name][:n], others[name][:n]


def force_differences(
    scales: Scales,
    mine: SolutionData,
    theirs: SolutionData,
    norm: Callable[[np.ndarray], float],
    *,
    share: float = 1.0,
    at: np.ndarray | slice = slice(None),
    hit: frozenset[str] = frozenset(),
    outputs: Callable[[Iterable[str]], np.ndarray | slice] = lambda _: slice(None),
) -> Differences:
    """Differences of what ``scales`` judge relative to the largest values, by a ``norm`` over time.

    Those of reactions also by a ``share`` of the largest of the outputs ``at``. Forces on bodies
    are compared at their ``outputs``; accelerations of bodies that are ``hit`` by impacts not at
    all: these jump where a contact opens, sticks or slides.
    """
    compiled, reaction, at_instant, joint, t = mine.compiled, 0.0, 0.0, "", 0.0
    for name, ours, others in _common_loads(mine, theirs):
        if not scales.judges(name):
            continue
        scale, chosen = scales.reaction[name], outputs(ends_of(compiled, name))
        times = mine.t[: len(ours)][chosen][at]
        for a, b in zip(ours[chosen].swapaxes(0, 1), others[chosen].swapaxes(0, 1)):
            lasting = norm(np.linalg.norm(a - b, axis=1))
            instants = share * at_instants(a[at], b[at])
            k = int(np.nan_to_num(instants, nan=np.inf).argmax())
            at_instant = max(at_instant, float(instants[k]) / scale)
            size = max(lasting, float(instants[k])) / scale
            if not size <= reaction:
                reaction, joint, t = size, compiled.owner_of(name), float(times[k])
    acceleration, frame = 0.0, ""
    judged = [name for name in scales.judged if name not in hit]
    for ref in compiled.frames:
        if ref.body in judged:
            chosen = outputs([ref.body])
            a, b = (each.frame(ref).acceleration[chosen] for each in (mine, theirs))
            place = compiled.whole_of(ref.body) + (f"/{ref.frame}" if ref.frame else "")
            size = norm(np.linalg.norm(a - b, axis=1)) / scales.acceleration
            acceleration, frame = max((acceleration, frame), (size, place))
    for name in judged:
        if compiled.whole_of(name) != name:  # axes of the pieces of a divided body
            continue
        chosen = outputs([name])
        a, b = (each.body(name).angular_acceleration[chosen] for each in (mine, theirs))
        size = norm(np.linalg.norm(a - b, axis=1)) / scales.turning
        acceleration, frame = max((acceleration, frame), (size, compiled.whole_of(name)))
    return Differences(reaction, at_instant, joint, t, acceleration, frame)


def at_instants(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Differences (nt,) of two histories (nt, 3), apart from shifts of jumps in time.

    A switch or contact located earlier or later puts an output on the other side of a jump: its
    value is between neighbouring ones of the other history, and those beside it agree.
    """
    apart = np.linalg.norm(a - b, axis=1)
    beside = np.zeros(len(a))
    beside[:-1] = np.minimum(apart[1:], apart[:-1])
    beside[1:] = np.maximum(beside[1:], beside[:-1])
    return np.asarray(
        np.maximum.reduce([beside, _distances_from_path(a, b), _distances_from_path(b, a)])
    )


def _distances_from_path(points: np.ndarray, path: np.ndarray) -> np.ndarray:
    """Distances (nt,) of points (nt, 3) from the neighbouring segments of a path."""
    d = np.diff(path, axis=0)
    square = np.maximum(np.einsum("ti,ti->t", d, d), np.finfo(float).tiny)
    found = np.linalg.norm(points - path, axis=1)
    for own in (slice(None, -1), slice(1, None)):
        along = np.einsum("ti,ti->t", points[own] - path[:-1], d) / square
        foot = path[:-1] + np.clip(along, 0.0, 1.0)[:, None] * d
        found[own] = np.minimum(found[own], np.linalg.norm(points[own] - foot, axis=1))
    return found


def rerun(
    scales: Scales,
    method: Integrator,
    times: np.ndarray,
    most: int,
    *,
    nudge: float | np.ndarray = 0.0,
) -> tuple[SolutionData, bool]:
    """(solution repeated with another method, True if it did not fail), with limited work.

    times: other output times. most: largest number of evaluations, 0 for no limit. nudge (ns,):
    change of its initial velocities.
    """
    solution, run = scales.solution, scales.run
    assert run.begun is not None
    compiled = solution.compiled
    repeated = Run(compiled, method, run.form, times, make_work(compiled.system, run.begun.beta))
    repeated.connect()
    repeated.context.counts.limit = most
    repeated.begin(dataclasses.replace(run.begun, s=run.begun.s + nudge))
    status, reached = repeated.integrate(None)
    compiled.callbacks.raise_error()
    again = part_of(solution, repeated.out, np.arange(reached), tuple(repeated.impacts))
    return again, status in (DONE, INTERRUPTED)


def part_of(
    solution: SolutionData,
    outputs: tuple[np.ndarray, ...],
    picked: np.ndarray,
    impacts: Sequence[Impact] = (),
) -> SolutionData:
    """Solution reduced to some of its outputs (n,), with reactions as computed."""
    nt = len(outputs[0])
    values = Trajectory(
        *(np.ascontiguousarray(each[picked]) if len(each) == nt else each for each in outputs)
    )
    run = RunInfo(redundant=solution.run.redundant, impacts=impacts)
    return SolutionData(solution.compiled, values, {}, run)

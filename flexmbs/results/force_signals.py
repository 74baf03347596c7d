"""Signals of forces and controllers: efforts, tensions, states such as motor currents, references.

The laws are evaluated again at the outputs by their kernels, without the compiler.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexmbs.errors import InputError
from flexmbs.model.actuators import DCMotor
from flexmbs.model.forces import Force, JointForce, OnCombination
from flexmbs.model.forces.force import AlongLine, BetweenFrames
from flexmbs.model.laws import TimeLaw
from flexmbs.results.applied_wrenches import single_wrenches
from flexmbs.results.views import FloatArray
from flexmbs.system.records import Forces

if TYPE_CHECKING:
    from flexmbs.law_kernel import Row, StateName
    from flexmbs.model.motions import Motion
    from flexmbs.results.solution import SolutionData

RESULTS = 64  # numbers that a kernel may write: more than any law of one coordinate or line
# units of laws of time by their parameter; {x} and {Q} as in `StateName`
LAWS = {"reference": "{x}", "voltage": "V", "command": "", "opening": "", "load": "N"}


class ForceSignal(NamedTuple):
    """Name, unit and values (nt,) of a signal of a force."""

    name: str
    unit: str
    values: FloatArray


def force_signals(solution: SolutionData) -> Iterator[ForceSignal]:
    """Signals of all forces of a solution.

    Those of user functions are left out if the solution comes from a file, which has none.
    """
    compiled = solution.compiled
    first = _first_states(solution)
    wrenches = _wrenches(solution)
    for name in solution.model.forces:
        force = compiled.model.forces[name]
        states = _states(solution, force, first[name])
        coordinate, angle = None, False
        if isinstance(force, JointForce):
            coordinate, angle = _coordinate(solution, force.joint, force.coordinate)
        elif isinstance(force, OnCombination):
            coordinate, angle = _combination(solution, force)
        elif isinstance(force, AlongLine):
            coordinate = _length(solution, force)
            yield ForceSignal(f"{name} length", "m", coordinate[0])
        units = {"x": "rad" if angle else "m", "Q": "N m" if angle else "N"}
        if coordinate is not None:
            what = "tension" if isinstance(force, AlongLine) else "effort"
            effort = _effort(solution, force, coordinate, states)
            if effort is not None:
                yield ForceSignal(f"{name} {what}", units["Q"], effort)
                yield from _without_inductance(name, force, effort)
        elif name in wrenches:
            for kind, unit, values in zip(("force", "moment"), ("N", "N m"), wrenches[name]):
                for k, axis in enumerate("xyz"):
                    yield ForceSignal(f"{name} {kind} {axis}", unit, values[:, k])
        for key, values in _laws(solution, force):
            yield ForceSignal(f"{name} {key}", LAWS[key].format(**units), values)
        for state, values in _named(force.row(), states):
            unit = state.unit.format(**units)
            yield ForceSignal(f"{name} {state.name}", unit, state.offset + state.scale * values)


def _first_states(solution: SolutionData) -> dict[str, int]:
    """Number of the first force state of each force."""
    compiled = solution.compiled
    found: dict[str, int] = {}
    for place in Forces._fields:
        rows = getattr(compiled.system.forces, place).law.state
        names = [name for name, each in compiled.model.forces.items() if each.place == place]
        found |= dict(zip(names, map(int, rows)))
    return found


def _states(solution: SolutionData, force: Force, first: int) -> FloatArray:
    """States (nt, n) of a force, with those that a discrete controller stores."""
    law = getattr(solution.compiled.system.forces, force.place).law
    k = int(np.flatnonzero(law.state == first)[-1])
    count = int(law.n_states[k] + law.n_held[k])
    return np.asarray(solution.trajectory.z[:, first : first + count])


def _coordinate(
    solution: SolutionData, joint: str, number: int
) -> tuple[tuple[FloatArray, FloatArray], bool]:
    """Coordinate of a joint and its rate, (nt,) each; True for an angle."""
    view = solution.joint(joint)
    q = v = 0
    for motion in solution.model.joints[joint].motions:
        if v <= number < v + motion.nv:
            place = q + number - v if motion.nq == motion.nv else q
            return (view.position[:, place], view.velocity[:, number]), _is_angle(
                motion, number - v
            )
        q, v = q + motion.nq, v + motion.nv
    raise InputError(f"joint '{joint}' has no coordinate {number}")


def _is_angle(motion: Motion, number: int) -> bool:
    """True if velocity ``number`` of a motion is one of rotation."""
    return motion.turns if motion.nv != 6 else number >= 3


def _combination(
    solution: SolutionData, force: OnCombination
) -> tuple[tuple[FloatArray, FloatArray], bool]:
    """Linear combination of joint coordinates and its rate; True if all are angles."""
    uses = force.coordinates(solution.model.joints)
    parts = [_coordinate(solution, *use) for use in uses]
    x, v = (
        sum(term.factor * part[k] for term, (part, _) in zip(force.terms, parts)) for k in (0, 1)
    )
    return (np.asarray(x), np.asarray(v)), all(angle for _, angle in parts)


def states_of(solution: SolutionData, force: Force) -> FloatArray:
    """States (nt, n) of a force."""
    return _states(solution, force, _first_states(solution)[force.name])


def stretch(solution: SolutionData, force: AlongLine) -> FloatArray:
    """Distance (nt,) of the frames of a force less its unloaded length."""
    return _length(solution, force)[0] - _unloaded_length(solution, force)


def _unloaded_length(solution: SolutionData, force: AlongLine) -> float:
    """Length (m) at which the elongation is zero."""
    records = solution.compiled.system.forces.line
    names = [n for n, f in solution.compiled.model.forces.items() if f.place == "line"]
    return float(records.value[names.index(force.name), -1])  # the last parameter


def _length(solution: SolutionData, force: AlongLine) -> tuple[FloatArray, FloatArray]:
    """Distance of two frames and its rate."""
    a, b = (solution.frame(ref) for ref in force.frames())
    d, v = b.position - a.position, b.velocity - a.velocity
    length = np.linalg.norm(d, axis=1)
    return length, np.einsum("ti,ti->t", d, v) / np.maximum(length, 1e-300)


def _effort(
    solution: SolutionData,
    force: Force,
    coordinate: tuple[FloatArray, FloatArray],
    states: FloatArray,
) -> FloatArray | None:
    """Force (nt,) of a law; None if it needs reactions or functions that are not available."""
    row = force.row()
    if row.loaded or row.reads:
        return None
    start = _unloaded_length(solution, force) if isinstance(force, AlongLine) else 0.0
    parameters = np.array(row.parameters, float)
    found = np.zeros(len(solution.t))
    try:
        for k, (t, x, v) in enumerate(zip(solution.t.tolist(), *coordinate)):
            x = float(x) - start
            z = states[k, : row.states]
            given = _given(row, t, x, float(v))
            out = np.zeros(RESULTS)
            motion = np.array([t, x, float(v), *z, *z, 0.0])
            row.law.value(parameters, given, motion, out)
            found[k] = out[0]
    except Exception:  # a user function that is missing in a file, or that fails
        return None
    return found


def _given(row: Row, t: float, x: float, v: float) -> np.ndarray:
    """Values of the laws of time and user functions of a law."""
    found: list[float] = []
    for law in row.laws:
        if isinstance(law, TimeLaw):
            found += law.state(t)[: row.gives]
        else:
            found += np.atleast_1d(_called(law, t, x, v))[: row.gives].tolist()
    return np.array(found)


def _called(law: Any, *given: float) -> Any:
    """Value of a user function."""
    function = getattr(law, "function", law)
    return function(*given)


def _without_inductance(name: str, force: Force, effort: FloatArray) -> Iterator[ForceSignal]:
    """Current of a motor of which it is no state, i = Q/(n k)."""
    law = getattr(force, "law", None)
    if isinstance(law, DCMotor) and law.inductance == 0.0:
        yield ForceSignal(f"{name} current", "A", effort / (law.constant * law.ratio))


def _laws(solution: SolutionData, force: Force) -> Iterator[tuple[str, FloatArray]]:
    """References, voltages and other laws of time of a force, by parameter."""
    for item in (force, getattr(force, "law", None)):
        if not dataclasses.is_dataclass(item):
            continue
        for key in LAWS:
            law = getattr(item, key, None)
            if isinstance(law, TimeLaw):
                try:
                    values = np.array([law(t) for t in solution.t.tolist()], float)
                except Exception:  # as above
                    continue
                yield key, values


def _named(row: Row, states: FloatArray) -> Iterator[tuple[StateName, FloatArray]]:
    """Named states of a law, and of the memory of its discrete controller."""
    yield from zip(row.names, states[:, : row.states].T)
    if row.sampler is not None and row.sampler.names:
        memory = states[:, states.shape[1] - len(row.sampler.memory) :]
        yield from zip(row.sampler.names, memory.T)


def _wrenches(solution: SolutionData) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Force and moment (nt, 3) in world axes of forces on a frame or between two frames, on b."""
    found: dict[str, tuple[FloatArray, FloatArray]] = {}
    forces = solution.compiled.model.forces.values()
    if not any(f.place == "frame" or _between(f) for f in forces):
        return found
    try:
        for name, frame, wrench in single_wrenches(solution.compiled, solution.trajectory):
            force = solution.compiled.model.forces[name]
            if str(force.frames()[-1]) != frame or isinstance(force, AlongLine):
                continue
            A = solution.body(frame.partition("/")[0]).rotation
            found[name] = (
                np.einsum("tij,tj->ti", A, wrench[:, :3]),
                np.einsum("tij,tj->ti", A, wrench[:, 3:]),
            )
    except Exception:  # as above
        return {}
    return found


def _between(force: Force) -> bool:
    """True for a force and moment between two frames."""
    return isinstance(force, BetweenFrames) and not isinstance(force, AlongLine)

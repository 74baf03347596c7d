"""Wrenches of applied forces at the frames of flexible bodies.

The equations of motion need only their sum on a body; stresses, and modes outside the basis that
move the frames, need each point of action. The
forces are evaluated one at a time along the trajectory, and the wrench on the body at each end is
moved to the frame of that end.
"""

from collections.abc import Iterator

import numpy as np

from flexmbs.dynamics.frames import places_in_body
from flexmbs.dynamics.work import make_work
from flexmbs.results.histories import applied_history, reaction_history, states_of
from flexmbs.results.views import FloatArray
from flexmbs.system.compile import Compiled
from flexmbs.system.records import Forces, some_rows
from flexmbs.system.trajectory import Trajectory

ON_JOINTS = ("joint", "joints")  # points of action other than frames


def applied_wrenches(compiled: Compiled, trajectory: Trajectory) -> dict[str, FloatArray]:
    """Applied force and moment (nt, 6) at each frame, in body axes.

    By frame ``body/frame``. A force between two frames of one body is omitted: its resultant is
    zero.
    """
    stressed = {
        compiled.bodies.index(name)
        for name, data in compiled.data.items()
        if data.stress is not None or (data.residual is not None and data.residual.moves_frames)
    }
    names = {number: ref for ref, number in compiled.frames.items()}
    owner = compiled.system.frames.body
    found: dict[str, FloatArray] = {}
    reactions = _reactions(compiled, trajectory)
    for forces, ends in _single_forces(compiled.system.forces):
        bodies = [int(owner[m]) for m in ends]
        if not stressed.intersection(bodies) or (len(ends) == 2 and bodies[0] == bodies[1]):
            continue
        sums = _on_bodies(compiled, trajectory, reactions, forces)
        for m, body in zip(ends, bodies):
            if body in stressed:
                key = str(names[m])
                found[key] = found.get(key, 0.0) + _about(compiled, trajectory, m, sums[:, body])
    return found


def single_wrenches(
    compiled: Compiled, trajectory: Trajectory
) -> Iterator[tuple[str, str, FloatArray]]:
    """Name of each force on frames, its frame ``body/frame``, and its wrench (nt, 6) there.

    Force and moment about the position of the frame, in body axes. A force between two frames of
    one body is omitted.
    """
    numbers = {number: ref for ref, number in compiled.frames.items()}
    owner = compiled.system.frames.body
    by_place = {
        place: [n for n, force in compiled.model.forces.items() if force.place == place]
        for place in Forces._fields
    }
    names = [name for place, found in by_place.items() if place not in ON_JOINTS for name in found]
    reactions = _reactions(compiled, trajectory)
    for name, (forces, ends) in zip(names, _single_forces(compiled.system.forces), strict=True):
        bodies = [int(owner[m]) for m in ends]
        if len(ends) == 2 and bodies[0] == bodies[1]:
            continue
        sums = _on_bodies(compiled, trajectory, reactions, forces)
        for m, body in zip(ends, bodies):
            if body >= 0:
                yield name, str(numbers[m]), _about(compiled, trajectory, m, sums[:, body])


def _single_forces(forces: Forces) -> Iterator[tuple[Forces, tuple[int, ...]]]:
    """(record with one force alone, its frames) for each force on frames."""
    none = Forces(*(some_rows(rows, slice(0)) for rows in forces))
    for place, rows in forces._asdict().items():
        for k in range(0 if place in ON_JOINTS else len(rows.value)):
            yield (
                none._replace(**{place: some_rows(rows, slice(k, k + 1))}),
                tuple(int(m[k]) for m in (rows.a, rows.b) if m[k] >= 0),
            )


def _reactions(compiled: Compiled, given: Trajectory) -> FloatArray:
    """Constraint wrenches (nt, nr, 6) read by forces."""
    system = compiled.system
    out = np.zeros((len(given.t), len(system.readings.body), 6))
    if out.size:
        reaction_history(system, make_work(system), states_of(given, given.beta), out)
        compiled.callbacks.raise_error()
    return out


def _on_bodies(
    compiled: Compiled, given: Trajectory, reactions: FloatArray, forces: Forces
) -> FloatArray:
    """Applied wrench (nt, nb, 6) on all bodies about their origins, in body axes."""
    system = compiled.system._replace(forces=forces)
    out = np.zeros((len(given.t), len(compiled.bodies), 6))
    applied_history(system, make_work(system), states_of(given, given.beta), reactions, out)
    compiled.callbacks.raise_error()
    return out


def _about(
    compiled: Compiled, trajectory: Trajectory, frame: int, wrench: FloatArray
) -> FloatArray:
    """Wrench (nt, 6) moved from the body origin to the position x + φ q of a frame."""
    records, at = (
        compiled.system.frames,
        int(compiled.system.tree.qf_at[compiled.system.frames.body[frame]]),
    )
    x = places_in_body(records, frame, trajectory.q[:, at : at + int(records.nf[frame])])
    moment = wrench[:, 3:] - np.cross(x, wrench[:, :3])
    return np.concatenate([wrench[:, :3], moment], axis=1)

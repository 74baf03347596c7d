"""Forces → flat records, and the pairs of frames that they couple."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from flexmbs.errors import InputError
from flexmbs.law_kernel import Row, Sampler
from flexmbs.model.contacts import CoordinateContact, FrameContact
from flexmbs.model.forces import AlongLine, Force, JointForce, OnCombination, OnSeveral
from flexmbs.model.frames import FrameRef
from flexmbs.model.item import CoordinateUse
from flexmbs.model.laws import TimeLaw
from flexmbs.model.model import ModelData
from flexmbs.model.motions import Motion, PrescribedMotion
from flexmbs.system.compile_laws import LawTable
from flexmbs.system.records import (
    Couplings,
    ForceLaws,
    Forces,
    FrameForces,
    JointForces,
    JointsForces,
    Readings,
    Samplers,
    columns,
)
from flexmbs.system.topology import Topology


SAME = 1e-9  # of a sample time: smaller differences of times are round-off


class JointPlace(NamedTuple):
    """Place of a joint of the model in the system: primary joint of a body, or cut joint."""

    body: int
    cut: int
    reversed: bool
    motions: tuple[Motion, ...]

    def coordinate(self, item: str, number: int) -> tuple[int, int]:
        """(velocity, position) index of degree of freedom ``number`` within the joint.

        Raises `InputError` if it has no coordinate.
        """
        v = q = count = 0
        n = sum(m.freedoms for m in self.motions)
        for motion in self.motions:
            if count == self._declared(number, n):
                if isinstance(motion, PrescribedMotion):
                    raise InputError(
                        f"{item}.coordinate: {number} is prescribed by drive "
                        f"'{motion.drive}', a function of time; "
                        "take coordinates = 'joint'"
                    )
                if motion.nv == 1:
                    return v, q
            v, q, count = v + motion.nv, q + motion.nq, count + motion.freedoms
        raise InputError(
            f"{item}.coordinate: {number} is not a rotation about or a translation along "
            "an axis of the joint, "
            f"which has {n} degrees of freedom"
        )

    def _declared(self, number: int, n: int) -> int:
        """Number of a degree of freedom in the chain; counted from the end if reversed."""
        return n - 1 - number if self.reversed else number


class _Acting(NamedTuple):
    """Parameters of a force law, its item, and the joint coordinates or frames on which it acts."""

    item: str
    row: Row
    on: tuple[CoordinateUse, ...] = ()
    together: bool = False  # its law takes arrays of all coordinates
    factors: tuple[float, ...] = ()  # of the linear combination on which it depends
    frames: tuple[FrameRef, ...] = ()
    length: float = 0.0


def compile_forces(
    model: ModelData,
    shape: Topology,
    places: dict[str, JointPlace],
    frame: Callable[[FrameRef], int],
    laws: LawTable,
    paths: list[int],
) -> tuple[Forces, Readings, Samplers, Couplings, list[int], list[str]]:
    """Records of all forces and of what belongs to them.

    Forces, joints whose reactions they read, discrete controllers, couplings, extended paths, names
    of the force states. Couplings are forces along lines, forces between frames, joint forces on
    cut joints, and contacts with force laws.
    """
    acting: dict[str, list[_Acting]] = {place: [] for place in Forces._fields}
    for name, force in model.forces.items():
        acting[force.place].append(_acting(f"forces.{name}", force, model))
    acting["joint"] += [
        _Acting(f"contacts.{name}", row, (contact.coordinate_used(),))
        for name, contact in model.contacts.items()
        if isinstance(contact, CoordinateContact)
        for row in contact.stops()
    ]
    states: list[str] = []
    numbers = {
        place: [_law_columns(each, laws, states) for each in rows] for place, rows in acting.items()
    }
    pairs: list[tuple[FrameRef, FrameRef]] = []

    def coupling(a: FrameRef, b: FrameRef) -> int:
        """Number of the pair of frames, appended to the list."""
        pairs.append((a, b))
        return len(pairs) - 1

    ends = {
        place: [tuple(map(frame, each.frames)) for each in acting[place]]
        for place in ("frame", "line", "pair")
    }
    coupled = {
        place: [coupling(*each.frames) for each in acting[place]] for place in ("line", "pair")
    } | {"frame": []}

    def on_coordinate(item: str, use: CoordinateUse) -> tuple[int, ...]:
        """Place (coupling, body, cut, velocity, position) of a force on a coordinate."""
        place = places[use.joint]
        ends_of = model.joints[use.joint].parent, model.joints[use.joint].child
        return (
            coupling(*ends_of) if place.cut >= 0 else -1,
            place.body,
            place.cut,
            *place.coordinate(item, use.coordinate),
        )

    on_joint = [on_coordinate(each.item, each.on[0]) for each in acting["joint"]]
    loaded = [
        int(each.row.loaded) * (1 + int(places[each.on[0].joint].reversed))
        for each in acting["joint"]
    ]
    counts = np.array([len(each.on) for each in acting["joints"]], np.int64)
    on_joints = np.full((5, len(counts), int(counts.max(initial=0))), -1)
    for k, each in enumerate(acting["joints"]):
        for a, use in enumerate(each.on):
            on_joints[:, k, a] = on_coordinate(each.item, use)
    combined = np.array([len(each.factors) > 0 for each in acting["joints"]], np.int64)
    factor = np.zeros(on_joints.shape[1:])
    for k, each in enumerate(acting["joints"]):
        factor[k, : len(each.factors)] = each.factors
    first, bodies, cuts, vs, qs = on_joints
    pairs += law_contact_frames(model)
    couplings, paths = _couplings(shape, pairs, frame, paths)
    laws_of = {place: columns(ForceLaws, numbers[place]) for place in Forces._fields}
    values = {place: _values(rows, lengths=place == "line") for place, rows in acting.items()}
    coupled_at, body, cut, v, q = np.array(on_joint, np.int64).reshape(-1, 5).T.copy()
    forces = Forces(
        joint=JointForces(
            laws_of["joint"],
            coupled_at,
            body,
            cut,
            v,
            q,
            np.array(loaded, np.int64),
            values["joint"],
        ),
        joints=JointsForces(
            laws_of["joints"],
            counts,
            combined,
            factor,
            first,
            bodies,
            cuts,
            vs,
            qs,
            values["joints"],
        ),
        **{
            place: FrameForces(
                laws_of[place], *_ends(coupled[place], ends[place]), *reading, values[place]
            )
            for place, reading in _counted({place: acting[place] for place in ends}).items()
        },
    )
    read = [joint for place in ends for each in acting[place] for joint in each.row.reads]
    readings = _readings([(places[joint], frame(model.joints[joint].child)) for joint in read])
    return (
        forces,
        readings,
        _samplers(acting["joint"], laws, laws_of["joint"].state),
        couplings,
        paths,
        states,
    )


def _counted(
    acting: dict[str, list[_Acting]],
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """First reading, number of readings and axes flag of each force, by its place."""
    counts = {
        place: np.array([len(each.row.reads) for each in rows], np.int64)
        for place, rows in acting.items()
    }
    begun = np.cumsum([0, *(n.sum() for n in counts.values())])
    world = {
        place: np.array([int(each.row.world_axes) for each in rows], np.int64)
        for place, rows in acting.items()
    }
    return {
        place: (first + np.cumsum(n) - n, n, world[place])
        for first, (place, n) in zip(begun, counts.items())
    }


def _readings(places: list[tuple[JointPlace, int]]) -> Readings:
    """Joints whose reactions are read, with the frames of their children, force by force."""
    return columns(
        Readings, [(place.body, place.cut, int(place.reversed), frame) for place, frame in places]
    )


def _samplers(acting: list[_Acting], laws: LawTable, first: np.ndarray) -> Samplers:
    """Records of the discrete controllers among the joint forces.

    first: their first force states.
    """
    found = [(f, each, each.row.sampler) for f, each in enumerate(acting) if each.row.sampler]
    numbers, times, counts = [], [], []
    for f, each, sampler in found:
        clock = clock_of(sampler)
        numbers.append(_numbers(each, sampler, laws, (first[f], 0, 0)))
        times.append((clock.measured, 0.0, clock.output))
        counts.append((clock.n_measured, clock.n_coming, len(sampler.memory)))
    n_measured, n_coming, n_memory = np.array(counts, np.int64).reshape(-1, 3).T.copy()
    return Samplers(
        columns(ForceLaws, numbers),
        np.array([f for f, _, _ in found], np.int64),
        n_measured,
        n_coming,
        n_memory,
        np.array([sampler.period for _, _, sampler in found]),
        np.array(times).reshape(-1, 3),
        table([sampler.memory for _, _, sampler in found]),
        table([sampler.parameters for _, _, sampler in found]),
    )


class Clock(NamedTuple):
    """Phases of measurement and output within a period (s), and numbers of stored values."""

    measured: float
    n_measured: int
    output: float
    n_coming: int


def clock_of(sampler: Sampler) -> Clock:
    """Clock of a discrete controller.

    A delay is n periods less a phase φ, 0 ≤ φ < T. Times within round-off of a multiple of the
    period T are taken as that multiple.
    """
    T = sampler.period
    n, m = math.ceil(sampler.delay / T - SAME), math.floor(sampler.computing_time / T + SAME)
    measured, output = n * T - sampler.delay, sampler.computing_time - m * T
    measured, output = (0.0 if phase < SAME * T else phase for phase in (measured, output))
    return Clock(measured, n if measured else n + 1, output, m + 1)


def _acting(item: str, force: Force, model: ModelData) -> _Acting:
    """Record of a force with its place of action."""
    if force.place not in Forces._fields:
        raise InputError(
            f"{item}: kind '{force.kind}' acts at '{force.place}', which is not known to "
            "the equations"
        )
    if force.place == "pair" and not all(isinstance(law, TimeLaw) for law in force.row().laws):
        raise InputError(
            f"{item}: a law between two frames takes laws of time, no user-defined function"
        )
    if isinstance(force, JointForce):
        return _Acting(item, force.row(), (force.coordinate_used(),))
    if isinstance(force, OnSeveral):
        factors = (
            tuple(term.factor for term in force.terms) if isinstance(force, OnCombination) else ()
        )
        return _Acting(
            item,
            force.row(),
            tuple(force.coordinates(model.joints)),
            together=not factors,
            factors=factors,
        )
    length = force.unloaded_length() if isinstance(force, AlongLine) else 0.0
    return _Acting(
        item, force.row(), frames=force.frames(), length=math.nan if length is None else length
    )


def _law_columns(each: _Acting, laws: LawTable, states: list[str]) -> tuple[int, ...]:
    """Columns of `ForceLaws` of a law; the names of its force states are appended to ``states``."""
    row, first = each.row, len(states)
    laws.corners.update(row.corners)
    held = n_stored(row.sampler) if row.sampler else 0
    states += [each.item] * (row.states + held)
    return _numbers(each, row, laws, (first, row.states, held))


def n_stored(sampler: Sampler) -> int:
    """Number of values stored by a discrete controller.

    Its output and the time to its next sample are not counted.
    """
    clock = clock_of(sampler)
    return 2 * clock.n_measured + clock.n_coming + len(sampler.memory)


def _numbers(
    each: _Acting, row: Row | Sampler, laws: LawTable, states: tuple[int, int, int]
) -> tuple[int, ...]:
    """Columns of a law; its laws of time and user functions get consecutive numbers."""
    keys = row.keys or ("",) * len(row.laws)
    numbers = [
        _number(f"{each.item}.{key}" if key else each.item, law, each, laws, row)
        for key, law in zip(keys, row.laws)
    ]
    first, law = numbers[0] if numbers else -1, row.law
    slopes, bent = int(law.derivatives is not None), int(law.strongly_nonlinear)
    return law.number, first, len(numbers), row.gives, slopes, bent, laws.place(), *states


def _number(item: str, law: Any, each: _Acting, laws: LawTable, row: Row | Sampler) -> int:
    """Number of a law of time, or of a user function with the arguments of its place."""
    if isinstance(law, TimeLaw):
        return laws.number(item, law)
    if isinstance(row, Sampler):
        return laws.sampled(item, law, len(row.memory), row.constants)
    if row.loaded:
        return laws.loaded(item, law, row.constants)
    if each.together:
        return laws.joints(item, law, len(each.on), row.constants)
    return (
        laws.wrench(item, law, len(row.reads), row.constants)
        if len(each.frames) == 1
        else laws.force(item, law)
    )


def law_contact_frames(model: ModelData) -> list[tuple[FrameRef, FrameRef]]:
    """Pairs of frames of the contacts with force laws."""
    return [
        (c.parent, c.child)
        for c in model.contacts.values()
        if isinstance(c, FrameContact) and c.law is not None
    ]


def _ends(
    coupled: list[int], ends: list[tuple[int, ...]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices of couplings and of the two frames of each force; −1 if there is none."""
    two = np.array([(*each, -1)[:2] for each in ends], np.int64).reshape(-1, 2)
    return np.array(coupled or [-1] * len(ends), np.int64), *two.T.copy()


def _values(acting: list[_Acting], *, lengths: bool) -> np.ndarray:
    """Table of the law parameters of all forces; for line forces the unloaded length last.

    For forces along lines the unloaded length comes last.
    """
    value = table([each.row.parameters for each in acting])
    if lengths:
        value = np.column_stack([value, [each.length for each in acting]])
    return np.ascontiguousarray(value, float)


def table(rows: Sequence[Sequence[float]]) -> np.ndarray:
    """Array of the rows, short ones padded with zeros."""
    value = np.zeros((len(rows), max(map(len, rows), default=0)))
    for k, row in enumerate(rows):
        value[k, : len(row)] = row
    return value


def _couplings(
    shape: Topology,
    pairs: list[tuple[FrameRef, FrameRef]],
    frame: Callable[[FrameRef], int],
    paths: list[int],
) -> tuple[Couplings, list[int]]:
    """Pairs of coupled frames, with the bodies that move them."""
    paths = list(paths)
    rows = []
    for a, b in pairs:
        path, top = shape.common_path(a.body, b.body)
        at = len(paths)
        paths += path
        rows.append((frame(a), frame(b), top, at, len(paths)))
    return columns(Couplings, rows), paths

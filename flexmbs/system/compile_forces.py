"""Forces → flat records, and the pairs of frames they couple."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from flexmbs.errors import InputError
from flexmbs.model.contacts import Contact, FrameContact, JointLimit
from flexmbs.model.forces import Bushing, FrameForce, JointFriction, JointSpring, JointTorque, PointSpring, UserForce
from flexmbs.model.frames import FrameRef
from flexmbs.model.laws import PD, PID, Function, SpringDamper
from flexmbs.model.model import Model
from flexmbs.model.motions import Motion
from flexmbs.system.compile_laws import LawTable
from flexmbs.system.records import JOINT_FRICTION, JOINT_LAW, JOINT_PD, JOINT_PID, JOINT_SPRING, JOINT_STOP, Forces
from flexmbs.system.topology import Topology


class JointPlace(NamedTuple):
    """Where a joint of the model is in the system: primary joint of a body, or cut joint."""

    body: int
    cut: int
    reversed: bool
    motions: tuple[Motion, ...]

    def coordinate(self, item: str, number: int) -> tuple[int, int]:
        """(velocity, position) place of freedom ``number`` within the joint. Raises `InputError` for what has no coordinate."""
        v = q = count = 0
        n = sum(m.nv for m in self.motions)
        for motion in self.motions:
            if v == self._declared(number, n) and motion.nv == 1:
                return v, q
            v, q, count = v + motion.nv, q + motion.nq, count + 1
        raise InputError(
            f"{item}.coordinate: {number} is not a rotation about or a translation along an axis of the joint, "
            f"which has {n} freedoms"
        )

    def _declared(self, number: int, n: int) -> int:
        """A reversed chain counts its coordinates from the other end."""
        return n - 1 - number if self.reversed else number


class _JointForceRow(NamedTuple):
    name: str
    joint: str
    coordinate: int
    kind: int
    value: tuple[float, ...]
    law: int
    integral: bool


def compile_forces(
    model: Model,
    shape: Topology,
    places: dict[str, JointPlace],
    frame: Callable[[FrameRef], int],
    laws: LawTable,
    paths: list[int],
) -> tuple[Forces, np.ndarray, list[int], list[str]]:
    """Records of all forces, the couplings they make, the paths lengthened by theirs, names of force states."""
    rows: list[_JointForceRow] = []
    frame_rows: list[list[int]] = []
    springs: list[PointSpring] = []
    bushings: list[Bushing] = []
    for name, force in model.forces.items():
        item = f"forces.{name}"
        match force:
            case JointTorque():
                rows.append(_joint_torque(item, force, laws))
            case JointSpring():
                rows.append(
                    _JointForceRow(
                        item, force.joint, force.coordinate, JOINT_SPRING, (force.k, force.c, force.x0, 0.0), -1, False
                    )
                )
            case JointFriction():
                rows.append(_joint_friction(item, force))
            case FrameForce():
                numbers = [laws.number(f"{item}.{key}", law) for key in ("force", "torque") for law in getattr(force, key)]
                frame_rows.append([frame(force.frame), int(force.axes == "follower"), -1, *numbers])
            case UserForce():
                frame_rows.append([frame(force.frame), 0, laws.wrench(item, force.function), *[-1] * 6])
            case PointSpring():
                springs.append(force)
            case Bushing():
                bushings.append(force)
            case _:
                raise InputError(f"{item}: kind '{force.kind}' is not known to the equations")
    rows += [row for contact in model.contacts.values() for row in _stops(contact)]
    pairs = [(f.frame_a, f.frame_b) for f in (*springs, *bushings)]
    pairs += [(model.joints[row.joint].parent, model.joints[row.joint].child) for row in rows if places[row.joint].cut >= 0]
    pairs += lawful(model)
    couplings, paths = _couplings(shape, pairs, frame, paths)
    joint, joint_value, states = _joint_record(rows, places, len(springs) + len(bushings))
    spring = [
        (frame(s.frame_a), frame(s.frame_b), -1 if s.law is None else laws.force(f"forces.{s.name}", s.law)) for s in springs
    ]
    forces = Forces(
        joint=joint, joint_value=joint_value, frame=_integers(frame_rows, 9), spring=_integers(spring, 3),
        spring_value=_floats([(s.k, s.c, math.nan if s.length is None else s.length) for s in springs], 3),
        bushing=_integers([(frame(b.frame_a), frame(b.frame_b)) for b in bushings], 2),
        bushing_value=_floats([(*b.k, *b.c) for b in bushings], 12),
    )  # fmt: skip
    return forces, couplings, paths, states


def _integers(rows: Any, width: int) -> np.ndarray:
    return np.array(rows, np.int64).reshape(-1, width)


def _floats(rows: Any, width: int) -> np.ndarray:
    return np.array(rows, float).reshape(-1, width)


def _joint_torque(item: str, force: JointTorque, laws: LawTable) -> _JointForceRow:
    law: Any = force.law
    match law:
        case PD():
            return _JointForceRow(
                item, force.joint, force.coordinate, JOINT_PD, (law.kp, law.kd, 0.0, 0.0), laws.number(item, law.reference), False
            )
        case PID():
            return _JointForceRow(
                item,
                force.joint,
                force.coordinate,
                JOINT_PID,
                (law.kp, law.kd, law.ki, 0.0),
                laws.number(item, law.reference),
                True,
            )
        case SpringDamper():
            return _JointForceRow(
                item, force.joint, force.coordinate, JOINT_SPRING, (law.k, law.c, law.x0, law.preload), -1, False
            )
        case Function() if law.parameters == 3:
            return _JointForceRow(
                item, force.joint, force.coordinate, JOINT_LAW, (0.0,) * 4, laws.force(item, law.function), False
            )
    return _JointForceRow(item, force.joint, force.coordinate, JOINT_LAW, (0.0,) * 4, laws.number(item, law), False)


def _joint_friction(item: str, force: JointFriction) -> _JointForceRow:
    static = force.coulomb if force.static is None else force.static
    value = (force.coulomb, static, force.stribeck_velocity or 1.0, force.viscous, force.regularization)
    return _JointForceRow(item, force.joint, force.coordinate, JOINT_FRICTION, value, -1, False)


def _stops(contact: Contact) -> list[_JointForceRow]:
    """Joint forces of the stops of a limit with a law."""
    if not isinstance(contact, JointLimit) or contact.law is None:
        return []
    law, item = contact.law, f"contacts.{contact.name}"
    return [
        _JointForceRow(
            item, contact.joint, contact.coordinate, JOINT_STOP,
            (law.stiffness, law.exponent, law.dissipation, bound, sign), -1, False,
        )
        for sign, bound in ((1.0, contact.lower), (-1.0, contact.upper)) if bound is not None
    ]  # fmt: skip


def lawful(model: Model) -> list[tuple[FrameRef, FrameRef]]:
    """Pairs of frames of the contacts between frames with laws of force."""
    return [(c.parent, c.child) for c in model.contacts.values() if isinstance(c, FrameContact) and c.law is not None]


def _joint_record(
    rows: list[_JointForceRow], places: dict[str, JointPlace], first_coupling: int
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    states = [row.name for row in rows if row.integral]
    on_cut = [row for row in rows if places[row.joint].cut >= 0]
    integers = [
        (
            places[row.joint].body, places[row.joint].cut, *places[row.joint].coordinate(row.name, row.coordinate), row.kind,
            row.law, states.index(row.name) if row.integral else -1, first_coupling + on_cut.index(row) if row in on_cut else -1,
        )
        for row in rows
    ]  # fmt: skip
    return _integers(integers, 8), _floats([(*row.value, 0.0)[:5] for row in rows], 5), states


def _couplings(
    shape: Topology, pairs: list[tuple[FrameRef, FrameRef]], frame: Callable[[FrameRef], int], paths: list[int]
) -> tuple[np.ndarray, list[int]]:
    """Springs, bushings, joint forces on cut joints, then contacts with laws: who moves their frames."""
    paths = list(paths)
    rows = []
    for a, b in pairs:
        path, top = shape.common_path(a.body, b.body)
        at = len(paths)
        paths += path
        rows.append((frame(a), frame(b), top, at, len(paths)))
    return _integers(rows, 5), paths

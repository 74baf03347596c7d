"""Rigid tree of a model as flat arrays, for vectorized evaluation at many positions.

Every joint is split into axes with one coordinate each; a node is the frame that moves with an
axis. Bodies on fixed joints are lumped into their node; flexible bodies are rigid in their
undeformed shape.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from flexmbs.api.model import Model
from flexmbs.errors import InputError
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.model.bodies import Body, BodyWithFrames, FlexibleBody, PointMass, RigidBody
from flexmbs.model.control.tree import NodePose, RobotTree, TreeCoordinate, TreeRotors, axis_arrays
from flexmbs.model.frames import GROUND, Frame, FrameRef
from flexmbs.model.motions import Motion
from flexmbs.system.topology import PrimaryJoint, topology


class _LinkInertia(NamedTuple):
    """Mass, first moment and inertia of a body about its frame's origin."""

    mass: float
    first: np.ndarray
    inertia: np.ndarray


def tree_of(model: Model) -> RobotTree:
    """Rigid tree of a model.

    Raises `InputError` for closed loops and for ball joints, free joints and bodies without joint.
    """
    shape = topology(model, "joint")
    if shape.cuts:
        raise InputError(
            f"model '{model.name}': a robot must be an open chain or tree; remove "
            f"{', '.join(shape.cuts)}, which closes a loop"
        )
    data = {
        name: body.whole() for name, body in model.bodies.items() if isinstance(body, FlexibleBody)
    }
    frames = {FrameRef(GROUND): NodePose(-1, np.eye(3), np.zeros(3))}
    _add_frames(frames, GROUND, _declared(model.frames))
    axes: list[tuple[TreeCoordinate, int, np.ndarray, np.ndarray, Motion]] = []
    for primary in shape.tree:
        node, R, x = frames[_frame_of_body(primary.frame_p)]
        place = _through(primary, NodePose(node, R, x), axes)
        own = _frames_of(model.bodies[primary.body], data)
        R, x = own.get(primary.frame_c.frame, (np.eye(3), np.zeros(3)))
        frames[FrameRef(primary.body)] = place.then(R.T, -R.T @ x)
        _add_frames(frames, primary.body, own)
    n = len(axes)
    mass, first, inertia = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    for name, body in model.bodies.items():
        node, R, x = frames[FrameRef(name)]
        if node >= 0:
            part = _inertia_about(_inertia(body, data), R, x)
            mass[node] += part.mass
            first[node] += part.first
            inertia[node] += part.inertia
    parent = np.array([axis[1] for axis in axes], int)
    turn, slide = (
        np.array([rate(axis[4]) for axis in axes]).reshape(n, 3) for rate in (_turn, _slide)
    )
    R, x = (
        np.array([axis[2] for axis in axes]).reshape(n, 3, 3),
        np.array([axis[3] for axis in axes]).reshape(n, 3),
    )
    coordinates = tuple(axis[0] for axis in axes)
    return RobotTree(
        coordinates=coordinates,
        parent=parent,
        R=R,
        x=x,
        turn=turn,
        slide=slide,
        mass=mass,
        first=first,
        inertia=inertia,
        gravity=np.array(model.gravity),
        friction=np.zeros((n, 3)),
        rotors=_rotors(model, coordinates, frames),
        frames=frames,
        before={primary.body: primary.frame_p.body for primary in shape.tree},
        **axis_arrays(parent, R, turn),
    )


def _rotors(
    model: Model, coordinates: tuple[TreeCoordinate, ...], frames: Mapping[FrameRef, NodePose]
) -> TreeRotors:
    """Reflected inertias and spinning rotors of the joints."""
    reflected, rows, spins = np.zeros(len(coordinates)), [], []
    for rotor in model.rotors.values():
        joint = model.joints[rotor.joint]
        k = coordinates.index(TreeCoordinate(rotor.joint, rotor.coordinate))
        reflected[k] += rotor.reflected
        carrier = frames[_frame_of_body(joint.parent)]
        if rotor.gyroscopic and carrier.node >= 0:
            rows.append((k, carrier.node))
            spins.append(rotor.ratio * rotor.inertia * carrier.R @ rotor.spin_axis(joint))
    coordinate, node = np.array(rows, int).reshape(-1, 2).T
    return TreeRotors(reflected, coordinate, node, np.array(spins).reshape(-1, 3))


def _through(
    primary: PrimaryJoint,
    place: NodePose,
    axes: list[tuple[TreeCoordinate, int, np.ndarray, np.ndarray, Motion]],
) -> NodePose:
    """Pose of the child frame of a joint in the tree; adds an axis per coordinate."""
    count = sum(motion.nq for motion in primary.motions)
    number = 0
    for motion in primary.motions:
        if motion.nq > 1 or primary.joint is None:
            raise InputError(
                f"joint '{primary.label}': robot terms need single rotations and "
                f"translations, not '{motion.kind}'; "
                "use the analyses of the model instead"
            )
        if motion.nq == 0:
            place = place.then(*_constant(motion))
            continue
        coordinate = TreeCoordinate(
            primary.joint, count - 1 - number if primary.reversed else number
        )
        axes.append((coordinate, place.node, place.R, place.x, motion))
        place = NodePose(len(axes) - 1, np.eye(3), np.zeros(3))
        number += 1
    return place


def _constant(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and displacement of a constant motion."""
    return np.array(motion.rotation), np.array(motion.translation)


def _turn(motion: Motion) -> np.ndarray:
    """Rotation axis of a motion; zero for a translation."""
    return np.array(motion.unit_twist[3:])


def _slide(motion: Motion) -> np.ndarray:
    """Translation axis of a motion; zero for a rotation."""
    return np.array(motion.unit_twist[:3])


def _frame_of_body(ref: FrameRef) -> FrameRef:
    """Reference without joint-specific axes."""
    return FrameRef(ref.body, ref.frame)


def _declared(frames: Mapping[str, Frame]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Rotation and position of declared frames as arrays, by name."""
    return {
        name: (np.array(frame.rotation), np.array(frame.position)) for name, frame in frames.items()
    }


def _frames_of(
    body: Body, data: Mapping[str, FlexibleBodyData | DividedBodyData]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Rotation and position of the frames of a rigid or flexible body, by name."""
    if isinstance(body, BodyWithFrames):
        return _declared(body.frames)
    return {name: (frame.R, frame.x) for name, frame in data[body.name].frames.items()}


def _add_frames(
    frames: dict[FrameRef, NodePose], body: str, own: Mapping[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    """Add the poses of the frames of a body relative to its link."""
    for name, (R, x) in own.items():
        frames[FrameRef(body, name)] = frames[FrameRef(body)].then(R, x)


def _inertia(body: Body, data: Mapping[str, FlexibleBodyData | DividedBodyData]) -> _LinkInertia:
    """Mass, first moment and inertia of a body about its frame."""
    match body:
        case RigidBody():
            mass, com, inertia = body.mass_properties
            return _LinkInertia(
                mass, mass * com, inertia + mass * (com @ com * np.eye(3) - np.outer(com, com))
            )
        case PointMass():
            return _LinkInertia(body.mass, np.zeros(3), np.zeros((3, 3)))
        case _:
            known = data[body.name]
            second = np.asarray(known.second_moment)
            return _LinkInertia(
                float(known.mass),
                np.asarray(known.first_moment),
                np.trace(second) * np.eye(3) - second,
            )


def _inertia_about(part: _LinkInertia, R: np.ndarray, x: np.ndarray) -> _LinkInertia:
    """Inertia of a body moved to another origin and other axes."""
    first = R @ part.first
    cross = x @ first * np.eye(3) - np.outer(x, first)
    shifted = part.mass * (x @ x * np.eye(3) - np.outer(x, x)) + cross + cross.T
    return _LinkInertia(part.mass, first + part.mass * x, R @ part.inertia @ R.T + shifted)

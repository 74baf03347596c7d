"""Models from URDF files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexmbs.api.model import Model
from flexmbs.declaration import shown
from flexmbs.errors import InputError, ModelWarning, raise_problems, warn_caller
from flexmbs.model.bodies import RigidBody
from flexmbs.model.couplings import LinearCoupling
from flexmbs.model.frames import Frame, FrameRef
from flexmbs.model.joints import Fixed, Free, Joint
from flexmbs.model.rotors import RotorInertia
from flexmbs.robots.links import Motor
from flexmbs.robots.urdf_read import (
    JOINTS,
    MOST_SHOWN,
    ONE_COORDINATE,
    Inertial,
    Mimic,
    Urdf,
    UrdfJoint,
    item_name,
    read_urdf,
)
from flexmbs.robots.visual_elements import Visual

BASES = ("fixed", "floating")


class UrdfModel(NamedTuple):
    """Model of a URDF file, with frames of its links, limits and motors.

    Frames by their names in the file, limits and motors by joint of the model.
    """

    model: Model
    frames: dict[str, FrameRef]
    limits: dict[str, tuple[float, float]]
    motors: dict[str, Motor]
    tip: FrameRef
    visuals: tuple[Visual, ...]


def model_from_urdf(
    path: str | Path,
    *,
    base: str = "fixed",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    allow_outside: bool = False,
    package_path: str | Path | Iterable[str | Path] = (),
    unphysical: str = "warn",
) -> Model:
    """Import a model from a URDF file with joints of all types.

    base: "fixed" or "floating" root link. Like `Robot.from_urdf`, but without motors: a
    `ModelWarning` names the joints whose damping or friction is left out. Joints with <mimic> get a
    `LinearCoupling` of the same name, joints with a transmission that states a rotor inertia
    (drake:rotor_inertia, drake:gear_ratio) a `RotorInertia`.

    """
    urdf = read_urdf(
        path, allow_outside=allow_outside, package_path=package_path, unphysical=unphysical
    )
    built = urdf_model(urdf, base=base, gravity=gravity)
    rubbing = [name for name, motor in built.motors.items() if motor.viscous or any(motor.coulomb)]
    if rubbing:
        text = (
            "damping and friction of "
            f"{', '.join(rubbing[:MOST_SHOWN])}{' …' if len(rubbing) > MOST_SHOWN else ''}"
        )
        remedy = "add JointSpring and JointFriction, or use Robot.from_urdf"
        warn_caller(f"{path}: left out: {text}; {remedy}", ModelWarning)
    return built.model


def urdf_model(urdf: Urdf, *, base: str, gravity: Sequence[float]) -> UrdfModel:
    """Model with a body for each link with inertia or a moving joint.

    Other links are frames on the supporting body.
    """
    if base not in BASES:
        raise InputError(f"base: must be 'fixed' or 'floating', not {shown(base)}")
    order, stands = urdf.outward(), _joint_frames(urdf)
    places = _places(urdf, order, base)
    frames: dict[str, dict[str, Frame]] = {"": {}}
    for link in order:
        body, pose = places[link]
        own = frames.setdefault(body, {})
        if body != link:
            own[item_name(link)] = pose
        held = [joint for joint in urdf.children[link] if places[joint.child][0] == joint.child]
        own.update({stands[joint.name]: _then(pose, joint.origin) for joint in held})
    model = Model(item_name(urdf.name), gravity=gravity, frames=frames[""])
    bodies: dict[str, Any] = {"": model.ground}
    for link in order:
        if places[link][0] == link:
            bodies[link] = model.add(_body(link, urdf.links[link], frames[link]))
            carrier = urdf.joints.get(link)
            parent = bodies["" if carrier is None else places[carrier.parent][0]]
            model.add(
                _root_joint(base, parent, bodies[link])
                if carrier is None
                else _joint(carrier, parent[stands[carrier.name]], bodies[link])
            )
    for name, (inertia, ratio) in urdf.rotors.items():
        geared = item_name(name)
        model.add(RotorInertia(geared, geared, inertia=inertia, ratio=ratio, gyroscopic=False))
    _couple_mimics(model, urdf)
    where = {
        link: FrameRef(bodies[body].body, "" if body == link else item_name(link))
        for link, (body, _) in places.items()
    }
    leaves = [link for link in order if not urdf.children[link]]
    moving = {
        item_name(joint.name): joint
        for joint in urdf.joints.values()
        if places[joint.child][0] == joint.child
    }
    return UrdfModel(
        model,
        where,
        {name: joint.limits for name, joint in moving.items()},
        {name: joint.motor for name, joint in moving.items() if joint.motor},
        where[leaves[-1]],
        urdf.visuals,
    )


def _couple_mimics(model: Model, urdf: Urdf) -> None:
    """Couple the joints with <mimic>: q − multiplier q_joint = offset.

    Their initial positions follow. Raises `InputError`.
    """
    joints = {joint.name: joint for joint in urdf.joints.values()}
    mimics = {name: joint.mimic for name, joint in joints.items() if joint.mimic}
    problems = [
        f"{urdf.path}:{joints[name].line}: joint '{name}'.mimic: {text}"
        for name, mimic in mimics.items()
        if (text := _mimic_problem(name, mimic, joints))
    ]
    raise_problems(problems)
    for name, mimic in mimics.items():
        own, start = item_name(name), _start(mimic, mimics)
        if start:
            model.joints[own] = replace(model.joints[own], q0=start)
        others = {item_name(mimic.joint): -mimic.multiplier} if mimic.multiplier else {}
        model.add(LinearCoupling(own, {own: 1.0, **others}, offset=mimic.offset))


def _start(mimic: Mimic, mimics: Mapping[str, Mimic]) -> float:
    """Initial position of a joint with <mimic>."""
    position, factor, at = 0.0, 1.0, mimic
    while True:
        position, factor = position + factor * at.offset, factor * at.multiplier
        if at.joint not in mimics:
            return position
        at = mimics[at.joint]


def _mimic_problem(name: str, mimic: Mimic, joints: Mapping[str, UrdfJoint]) -> str:
    """Problem of a <mimic>; "" if there is none."""
    for each in (name, mimic.joint):
        if joints[each].kind not in ONE_COORDINATE:
            return (
                f"joint '{each}' is {joints[each].kind}; only {', '.join(ONE_COORDINATE)} "
                "joints can be coupled"
            )
    seen, at = [name], mimic
    while at.joint not in seen:
        seen.append(at.joint)
        following = joints[at.joint].mimic
        if following is None:
            return ""
        at = following
    if at.joint != name:
        return ""  # reported for a joint of the ring
    return f"follows itself, {' → '.join([*seen, name])}; remove one <mimic>"


def _joint_frames(urdf: Urdf) -> dict[str, str]:
    """Name of the frame on the parent, by joint.

    The joint's name, unless a link, which may also be a frame there, has that name.
    """
    names: dict[str, str] = {}
    links = {item_name(link) for link in urdf.links}
    taken = {*links, *(item_name(joint.name) for joint in urdf.joints.values())}
    for joint in urdf.joints.values():
        name = own = item_name(joint.name)
        while name in (links if name == own else taken):
            name += " joint"
        names[joint.name] = name
        taken.add(name)
    return names


def _places(urdf: Urdf, order: Sequence[str], base: str) -> dict[str, tuple[str, Frame]]:
    """(carrying body, pose on it) of each link; massless fixed links are on their parent."""
    places: dict[str, tuple[str, Frame]] = {}
    for link in order:
        joint = urdf.joints.get(link)
        if urdf.links[link] is None and (
            base == "fixed" if joint is None else joint.kind == "fixed"
        ):
            body, pose = ("", Frame()) if joint is None else places[joint.parent]
            places[link] = (body, Frame() if joint is None else _then(pose, joint.origin))
        else:
            places[link] = (link, Frame())
    return places


def _then(first: Frame, second: Frame) -> Frame:
    """Frame that results from two successive transformations."""
    R = np.array(first.rotation)
    return Frame(
        np.array(first.position) + R @ np.array(second.position), R @ np.array(second.rotation)
    )


def _body(link: str, inertial: Inertial | None, frames: dict[str, Frame]) -> RigidBody:
    """Rigid body of a link; without mass if it has no inertial."""
    if inertial is None:
        return RigidBody(item_name(link), mass=0.0, inertia=(0.0, 0.0, 0.0), frames=frames)
    return RigidBody(
        item_name(link),
        mass=inertial.mass,
        com=inertial.com,
        inertia=inertial.inertia,
        frames=frames,
        unphysical=not inertial.physical,
    )


def _root_joint(base: str, ground: Any, body: Any) -> Joint:
    """Joint between the ground and the base: free or fixed."""
    name = f"{body.body} base"
    return Free(name, ground, body) if base == "floating" else Fixed(name, ground, body)


def _joint(joint: UrdfJoint, place: Any, child: Any) -> Joint:
    """Joint of the model for a URDF joint."""
    kind = JOINTS[joint.kind]
    if kind in (Fixed, Free):
        return kind(item_name(joint.name), place, child)
    return kind(item_name(joint.name), place, child, axis=joint.axis)  # type: ignore[call-arg]

"""Replacement of rigid links by flexible bodies, whose interfaces carry the same joints."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator
from scipy.spatial.transform import Rotation

from flexmbs.api.model import Model
from flexmbs.declaration import Declaration, close_names, shown
from flexmbs.errors import InputError, ModelWarning, warn_caller
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.model.bodies import FlexibleBody, RigidBody
from flexmbs.model.fields import Nonnegative
from flexmbs.model.frames import Frame, FrameRef, frame
from flexmbs.model.joints import Chain, Joint
from flexmbs.model.motions import FixedRotation, FixedTranslation, Motion
from flexmbs.model.rotors import RotorInertia

ROUND_OFF = 1e-12  # m, rad: smaller constant motions are omitted
COINCIDENT = 1e-6  # m: closer points count as the same
MASS_TOLERANCE = 0.1  # relative difference in mass and centre of mass that triggers a warning
TOOL = "tool"

Constant = tuple[np.ndarray, np.ndarray]  # rotation (3, 3) and displacement (3,)


class FlexibleLink(Declaration):
    """Flexible body that replaces a rigid link.

    body: `FlexibleBodyData` or `DividedBodyData`, or the path of its file.  frames: joint, or frame
    of the link such as "tool" → interface of the body; by default the interface of the same name.
    pose: pose of the undeformed body's axes in the link's frame. offset (m): largest distance of a
    joint from its interface; the connection between them is rigid.
    """

    body: Any = dataclasses.field(kw_only=False)
    frames: dict[str, str] = dataclasses.field(default_factory=dict, kw_only=False)
    pose: Annotated[Any, BeforeValidator(frame)] = (0.0, 0.0, 0.0)
    offset: Nonnegative = COINCIDENT

    def declared(self, name: str) -> FlexibleBody:
        """Flexible-body declaration with the link's name."""
        if isinstance(self.body, (FlexibleBodyData, DividedBodyData)):
            return FlexibleBody(name, data=self.body)
        return FlexibleBody(name, self.body)


def with_flexible_links(
    model: Model, links: Mapping[str, Any], tool: FrameRef
) -> tuple[Model, FrameRef]:
    """Copy of a model of rigid links with some of them flexible, and its new tool frame.

    Raises `InputError`.

    A joint whose frames differ from the interfaces keeps its axis: constant motions in its chain
    connect them.
    """
    if not isinstance(links, Mapping):
        raise InputError(
            "links: must be a mapping, link → FlexibleLink or path of a flexible body, not "
            f"{shown(links)}"
        )
    unknown = [name for name in links if name not in model.bodies]
    if unknown:
        raise InputError(
            *(
                f"links: no link {shown(name)}; {close_names(str(name), model.bodies)}"
                for name in unknown
            )
        )
    chosen = {
        name: link if isinstance(link, FlexibleLink) else FlexibleLink(link)
        for name, link in links.items()
    }
    made = model.without_items()
    replaced = {}
    for name, body in model.bodies.items():
        made.add(chosen[name].declared(name) if name in chosen else body)
        if name in chosen:
            replaced[name] = _ReplacedLink(
                name,
                chosen[name],
                {key: _pose(value) for key, value in body.frames.items()},  # type: ignore[attr-defined]
            )
            if isinstance(body, RigidBody):
                replaced[name].compare(body)
    for joint in model.joints.values():
        made.add(_joint_between_interfaces(joint, replaced))
    for force in model.forces.values():
        made.add(force)
    for coupling in model.couplings.values():
        made.add(coupling)
    for rotor in model.rotors.values():
        made.add(_rotor_in_interface_axes(rotor, model.joints[rotor.joint], replaced))
    return made, _tool(made, replaced[tool.body], tool) if tool.body in replaced else tool


def _tool(model: Model, link: "_ReplacedLink", tool: FrameRef) -> FrameRef:
    """Tool frame on an interface of the last link, or on a massless body fixed to it."""
    place, (R, x) = link.frame(tool.frame or TOOL, tool.frame)
    motions = _constants(R, x)
    if not motions:
        return place
    body = model.add(RigidBody(f"{tool.body} {TOOL}", mass=0.0, inertia=(0.0, 0.0, 0.0)))
    model.add(Chain(f"{tool.body} {TOOL}", place, body, motions=motions))
    return FrameRef(body.body)


class _ReplacedLink:
    """Frames of a rigid link on the flexible body that replaces it."""

    def __init__(self, name: str, link: FlexibleLink, frames: Mapping[str, Constant]) -> None:
        self.name, self.link, self.frames = name, link, frames
        self.data = link.declared(name).whole()

    def compare(self, rigid: RigidBody) -> None:
        """Warn if mass or centre of mass differ from the rigid link."""
        data, (A, r) = self.data, _pose(self.link.pose)
        mass, rigid_com, _ = rigid.mass_properties
        if abs(data.mass - mass) > MASS_TOLERANCE * mass:
            text = f"links.{self.name}: has {data.mass:.4g} kg, the rigid link {mass:.4g} kg"
            warn_caller(
                f"{text}; correct its density or units, or add the missing mass as a body",
                ModelWarning,
            )
            return
        com = r + A @ (data.first_moment / data.mass)
        size = max(
            float(np.linalg.norm(x))
            for x in (np.ptp([f.x for f in data.frames.values()], axis=0), rigid_com, com)
        )
        if float(np.linalg.norm(com - rigid_com)) > MASS_TOLERANCE * size:
            at, other = (", ".join(f"{c:.3g}" for c in x) for x in (com, rigid_com))
            text = (
                f"links.{self.name}: has its centre of mass at ({at}) m in the frame of the "
                f"link, the rigid one at ({other}) m"
            )
            warn_caller(
                f"{text}; correct its pose, or add the missing mass as a body", ModelWarning
            )

    def frame(self, key: str, frame: str) -> tuple[FrameRef, Constant]:
        """(interface, pose relative to it) for a joint ``key`` or its ``frame``.

        Raises `InputError`.
        """
        item = f"links.{self.name}"
        interface = self.link.frames.get(key) or self.link.frames.get(frame, key)
        if interface not in self.data.frames:
            hint = f"the body has: {', '.join(self.data.frames)}"
            raise InputError(
                f"{item}.frames: '{key}' needs an interface, but '{interface}' does not exist; "
                f"{hint}"
            )
        A, r = _pose(self.link.pose)
        place = self.data.frames[interface]
        R, x = A @ place.R, r + A @ place.x
        wanted, at = self.frames.get(frame, (np.eye(3), np.zeros(3)))
        apart = R.T @ (at - x)
        distance = float(np.linalg.norm(apart))
        if distance > self.link.offset:
            raise InputError(
                f"{item}: '{key}' is {distance:.4g} m from interface '{interface}'; correct "
                f"pose or frames, or give offset if rigid"
            )
        return FrameRef(self.name, interface), (R.T @ wanted, apart)


def _joint_between_interfaces(joint: Joint, replaced: Mapping[str, _ReplacedLink]) -> Joint:
    """Copy of a joint attached to the interfaces of flexible links."""
    ends = {"parent": joint.parent, "child": joint.child}
    before: tuple[Motion, ...] = ()
    after: tuple[Motion, ...] = ()
    if joint.parent.body in replaced:
        ends["parent"], (R, x) = replaced[joint.parent.body].frame(joint.name, joint.parent.frame)
        before = _constants(R, x)
    if joint.child.body in replaced:
        ends["child"], (R, x) = replaced[joint.child.body].frame(joint.name, joint.child.frame)
        after = _constants(R.T, -R.T @ x)
    if not before and not after:
        return dataclasses.replace(joint, **ends)
    motions: tuple[Motion, ...] = (*before, *joint.motions, *after)
    return Chain(joint.name, **ends, motions=motions, q0=joint.q0, v0=joint.v0)  # type: ignore[arg-type]


def _rotor_in_interface_axes(
    rotor: RotorInertia, joint: Joint, replaced: Mapping[str, _ReplacedLink]
) -> RotorInertia:
    """Rotor with its axis expressed in the axes of the interface."""
    if rotor.axis is None or joint.parent.body not in replaced:
        return rotor
    _, (R, _) = replaced[joint.parent.body].frame(joint.name, joint.parent.frame)
    return dataclasses.replace(rotor, axis=tuple(R @ rotor.axis))


def _constants(R: np.ndarray, x: np.ndarray) -> tuple[Motion, ...]:
    """Constant motions that produce a pose; none for the identity."""
    turned = Rotation.from_matrix(R).as_rotvec()
    angle = float(np.linalg.norm(turned))
    moved = (FixedTranslation(tuple(x)),) if float(np.abs(x).max()) > ROUND_OFF else ()
    return (*moved, FixedRotation(tuple(turned / angle), angle)) if angle > ROUND_OFF else moved


def _pose(place: Frame) -> Constant:
    """Rotation and position of a frame as arrays."""
    return np.array(place.rotation), np.array(place.position)

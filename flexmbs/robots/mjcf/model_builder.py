"""Model under construction: frames of its bodies first, then the items that use them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from flexmbs.api.model import Model
from flexmbs.declaration import Declaration
from flexmbs.model.bodies import RigidBody
from flexmbs.model.contacts import JointLimit
from flexmbs.model.forces import Bushing, FrameForce, JointFriction, JointSpring
from flexmbs.model.frames import GROUND, Frame, FrameRef
from flexmbs.model.item import CoordinateUse
from flexmbs.model.joints import Chain, Fixed, Free, Joint, Prismatic, Revolute, Spherical
from flexmbs.model.motions import Ball, FixedTranslation, Motion, Rotate, Slide
from flexmbs.model.rotors import RotorInertia
from flexmbs.robots.import_result import ImportLog, add_frame, free_name
from flexmbs.robots.mjcf.tree import FREEDOMS, BodyTree, MjBody, MjJoint
from flexmbs.robots.mjcf.values import Compiler, RigidPose
from flexmbs.robots.urdf_read import item_name

NEAR = 1e-14  # m: closer points are identical up to round-off


class ModelBuilder:
    """Frames by body, and items in the order in which they are added to the model."""

    def __init__(self, tree: BodyTree, compiler: Compiler, report: ImportLog) -> None:
        """Empty model draft for the bodies of a tree."""
        self.tree, self.compiler, self.report = tree, compiler, report
        self.places: dict[MjBody, tuple[str, RigidPose]] = {}
        self.frames: dict[str, dict[str, Frame]] = {GROUND: {}}
        self.items: list[Declaration] = []
        self.used: dict[str, set[str]] = {}
        self.coordinates: dict[str, CoordinateUse] = {}
        self.refs: dict[str, FrameRef] = {}
        self.limits: dict[str, tuple[float, float]] = {}
        self.tendons: dict[str, dict[str, float]] = {}  # fixed tendons: factors by joint
        for body in tree.bodies:
            self._place(body)
        for body in tree.bodies:
            for site, pose in body.sites.items():
                self.refs.setdefault(site, self.frame(body, pose, site))

    def _place(self, body: MjBody) -> None:
        """Attach bodies without joint and mass, and fixed bodies, as frames to their carrier."""
        above = None if body.parent is None else self.places[body.parent]
        if above is None:
            self.places[body] = (GROUND, body.pose)
        elif not body.joints and (above[0] == GROUND or body.lump is None):
            self.places[body] = (above[0], above[1].then(body.pose))
            self.refs[body.name] = self.frame(body, RigidPose(np.eye(3), np.zeros(3)), body.name)
        else:
            own = item_name(body.name)
            self.places[body], self.frames[own] = (own, RigidPose(np.eye(3), np.zeros(3))), {}
            self.refs[body.name] = FrameRef(own)

    def is_model_body(self, body: MjBody) -> bool:
        """True if it is a body of the model, not a frame on another body."""
        return body.parent is not None and self.places[body][0] == item_name(body.name)

    def frame(self, body: MjBody, pose: RigidPose, name: str) -> FrameRef:
        """Frame at a pose on a body; the body frame itself if they coincide."""
        carrier, place = self.places[body]
        at = place.then(pose)
        if np.abs(at.o).max() < NEAR and np.abs(at.R - np.eye(3)).max() < NEAR:
            return FrameRef(carrier)
        return FrameRef(
            carrier, add_frame(self.frames[carrier], item_name(name), Frame(at.o, at.R))
        )

    def tendon(self, name: str) -> dict[str, float]:
        """Factors of the joint coordinates in a fixed tendon, by joint."""
        uses = {joint: self.coordinates[joint] for joint in self.tendons[name]}
        return {
            f"{use.joint}.{use.coordinate}": factor
            for use, factor in zip(uses.values(), self.tendons[name].values())
            if factor
        }

    def tendon_sum(self, name: str, of: Callable[[MjJoint], float]) -> float:
        """Sum Σ aᵢ of(joint) over a fixed tendon.

        For ``ref`` it is its length minus the length in model coordinates.
        """
        joints = [(self.tree.joint(joint), factor) for joint, factor in self.tendons[name].items()]
        return float(sum(factor * of(found[1]) for found, factor in joints if found))

    def name(self, section: str, wanted: str) -> str:
        """Unused name in a section of the model."""
        found = free_name(wanted, self.used.setdefault(section, set()))
        self.used[section].add(found)
        return found

    def add(self, item: Declaration) -> None:
        """Append a declaration to the items of the model being built."""
        self.items.append(item)

    def model(self, name: str, gravity: np.ndarray) -> Model:
        """Finished model with all items."""
        model = Model(item_name(name), gravity=gravity, frames=self.frames[GROUND])
        for body in self.tree.bodies:
            carrier, _ = self.places[body]
            if not self.is_model_body(body):
                continue
            mass, com, inertia = body.lump or (0.0, np.zeros(3), np.zeros((3, 3)))
            model.add(
                RigidBody(carrier, mass=mass, com=com, inertia=inertia, frames=self.frames[carrier])
            )
        for item in self.items:
            model.add(item)  # type: ignore[call-overload]
        return model


def add_joints(draft: ModelBuilder, body: MjBody) -> None:
    """Add the joint between a body and its parent, one chain of all its joints.

    Nothing for a frame on another body.
    """
    if not draft.is_model_body(body):
        return
    single = len(body.joints) == 1
    name = draft.name("joints", item_name(body.joints[0].name if single else body.name))
    number = 0
    for each in body.joints:
        draft.coordinates[each.name] = CoordinateUse(name, number)
        number += FREEDOMS[each.kind]
    draft.add(_joint(draft, body, name))


def _joint(draft: ModelBuilder, body: MjBody, name: str) -> Joint:
    """Joint of the model between a body and its parent, from all its MuJoCo joints."""
    assert body.parent is not None
    joints = body.joints
    if joints and joints[0].kind == "free":
        x, y, z, w = Rotation.from_matrix(body.pose.R).as_quat()
        return Free(
            name, FrameRef(GROUND), FrameRef(draft.places[body][0]), q0=(*body.pose.o, w, x, y, z)
        )
    first, last = (joints[0].pos, joints[-1].pos) if joints else (np.zeros(3), np.zeros(3))
    mark = f"{name} joint"
    parent = draft.frame(body.parent, body.pose.then(RigidPose(np.eye(3), first)), mark)
    child = draft.frame(body, RigidPose(np.eye(3), last), mark)
    if not joints:
        return Fixed(name, parent, child)
    if len(joints) > 1:
        return Chain(name, parent, child, motions=_motions(joints))
    if joints[0].kind == "ball":
        return Spherical(name, parent, child)
    kind = Revolute if joints[0].kind == "hinge" else Prismatic
    return kind(name, parent, child, axis=joints[0].axis)


def _motions(joints: list[MjJoint]) -> tuple[Motion, ...]:
    """Motions of successive MuJoCo joints, with the displacements between them."""
    found: list[Motion] = []
    at = joints[0].pos
    for joint in joints:
        if np.abs(joint.pos - at).max() > 0.0:
            found.append(FixedTranslation(joint.pos - at))
        at = joint.pos
        found.append(
            {"hinge": Rotate, "slide": Slide}[joint.kind](joint.axis)
            if joint.kind != "ball"
            else Ball()
        )
    return tuple(found)


def add_passive(
    draft: ModelBuilder, body: MjBody, joint: MjJoint, off: set[str], *, limits: bool
) -> None:
    """Add springs, dampers, armature, friction and limits of a joint.

    Those in ``off`` are disabled in the file.
    """
    given = joint.given
    k, c = (given.numbers(key, (0.0, 0.0, 0.0), 1) for key in ("stiffness", "damping"))
    for key, value in (("stiffness", k), ("damping", c)):
        if value[1:].any():
            draft.report.note(f"joint '{joint.name}': non-constant {key}")
    if given.numbers("springdamper", (0.0, 0.0)).any():
        draft.report.note(f"joint '{joint.name}': springdamper (spring given by its time constant)")
    values = {
        "spring": 0.0 if "spring" in off else float(k[0]),
        "damper": 0.0 if "damper" in off else float(c[0]),
        "armature": given.number("armature", 0.0),
        "frictionloss": 0.0 if "frictionloss" in off else given.number("frictionloss", 0.0),
    }
    for key, number in values.items():
        if number < 0.0:
            given.problem(f"{key}: must be >= 0, not {number:g}")
            return
    one = _on_coordinate if FREEDOMS[joint.kind] == 1 else _on_pose
    one(draft, body, joint, values)
    found = joint.limits(draft.compiler)
    if found and "limit" not in off:
        draft.limits[joint.name] = found
        if limits:
            use = draft.coordinates[joint.name]
            name = draft.name("contacts", item_name(joint.name))
            draft.add(
                JointLimit(
                    name, use.joint, lower=found[0], upper=found[1], coordinate=use.coordinate
                )
            )
    elif joint.limited(draft.compiler) and FREEDOMS[joint.kind] == 3 and "limit" not in off:
        draft.report.note(f"joint '{joint.name}': limit of a ball joint")


def _on_coordinate(
    draft: ModelBuilder, body: MjBody, joint: MjJoint, values: dict[str, float]
) -> None:
    """Add springs, dampers, friction and limits on the coordinate of a hinge or slide."""
    on: dict[str, Any] = dict(zip(("joint", "coordinate"), draft.coordinates[joint.name]))
    own = item_name(joint.name)
    if values["spring"] or values["damper"]:
        x0 = (
            joint.unit * joint.given.number("springref", 0.0) - joint.ref
            if values["spring"]
            else 0.0
        )
        draft.add(
            JointSpring(
                draft.name("forces", own), k=values["spring"], c=values["damper"], x0=x0, **on
            )
        )
    if values["frictionloss"]:
        draft.add(
            JointFriction(
                draft.name("forces", f"{own} friction"), coulomb=values["frictionloss"], **on
            )
        )
    if values["armature"]:
        draft.add(
            RotorInertia(
                draft.name("rotors", own), inertia=values["armature"], gyroscopic=False, **on
            )
        )


def _on_pose(draft: ModelBuilder, body: MjBody, joint: MjJoint, values: dict[str, float]) -> None:
    """Add springs and dampers of a ball or free joint, of equal stiffness about all axes."""
    for key in ("armature", "frictionloss"):
        if values[key]:
            draft.report.note(f"joint '{joint.name}' ({joint.kind}): {key}")
    if not (values["spring"] or values["damper"]):
        return
    if len(body.joints) > 1:
        draft.report.note(
            f"joint '{joint.name}' ({joint.kind}): springs and dampers together with other "
            "joints of its body"
        )
        return
    assert body.parent is not None
    along = float(joint.kind == "free")
    start = body.pose.then(RigidPose(np.eye(3), joint.pos * (1.0 - along)))
    own = f"{joint.name} joint"
    a, b = (
        draft.frame(body.parent, start, own),
        draft.frame(body, RigidPose(np.eye(3), joint.pos * (1.0 - along)), own),
    )
    k, c = ((along * values[key],) * 3 + (values[key],) * 3 for key in ("spring", "damper"))
    draft.add(Bushing(draft.name("forces", item_name(joint.name)), a, b, k=k, c=c))


def add_gravity_compensation(draft: ModelBuilder, body: MjBody, gravity: np.ndarray) -> None:
    """Add the force −gravcomp m g at the centre of mass."""
    share = body.given.number("gravcomp", 0.0)
    if share and body.lump and draft.places[body][0] != GROUND:
        at = draft.frame(body, RigidPose(np.eye(3), body.lump.com), f"{body.name} centre of mass")
        force = -share * body.lump.mass * gravity
        draft.add(
            FrameForce(
                draft.name("forces", f"{item_name(body.name)} gravcomp"), at, force=tuple(force)
            )
        )

"""`from_mujoco`: model from an MJCF file."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.files.path_policy import path_policy_of
from flexmbs.files.paths import file_path
from flexmbs.files.xml_tree import XmlElement
from flexmbs.model.argument_checks import checked, checked_kind
from flexmbs.model.fields import switch
from flexmbs.model.joints import Joint
from flexmbs.model.xml_numbers import numbers
from flexmbs.robots.import_result import ImportedModel, ImportLog
from flexmbs.robots.mjcf.actuators import add_actuators
from flexmbs.robots.mjcf.attributes import note_unread
from flexmbs.robots.mjcf.document import Defaults, read_document
from flexmbs.robots.mjcf.equalities import add_equalities, read_tendons
from flexmbs.robots.mjcf.model_builder import (
    ModelBuilder,
    add_gravity_compensation,
    add_joints,
    add_passive,
)
from flexmbs.robots.mjcf.tree import read_tree
from flexmbs.robots.mjcf.values import ElementValues, compiler_of, quaternion_rotation
from flexmbs.robots.mjcf.visuals import MjcfVisuals

DOWN = (0.0, 0.0, -9.81)
FLUID = ("density", "viscosity", "wind")
POSITIONS = {"hinge": 1, "slide": 1, "ball": 4, "free": 7}
LEFT_OUT = {"deformable": "deformable bodies", "extension": "plugins"}


@checked_arguments
def from_mujoco(
    path: str | Path,
    *,
    keyframe: str | int | None = None,
    commands: Mapping[str, Any] | None = None,
    limits: bool = False,
    strict: bool = False,
    allow_outside: bool = False,
) -> ImportedModel:
    """Import a model from an MJCF file of MuJoCo.

    Read are bodies with inertia, given or from geoms; hinges, slides, balls and free joints,
    several per body if needed; springs, dampers, armature, friction and gravity compensation;
    actuators (general, motor, position, velocity, damper) with ranges and lag; equality constraints
    of bodies, joints and fixed tendons; default classes, frames and included files. A coordinate is
    qpos − ref. Equality constraints hold exactly, and friction is modelled by `JointFriction`. All
    other content (contacts of geoms, spatial tendons, muscles, fluids, attributes that are not read
    or misspelt) is listed in ``notes`` and one `ModelWarning`.

    keyframe: name or number of the keyframe whose positions, velocities and commands are the
    initial ones.  commands: laws of time or numbers by actuator; by default those of the keyframe,
    or zero. limits: True to add a `JointLimit` contact for each joint limit. strict: raise
    `InputError` for content that is left out.  allow_outside: True to allow referenced files
    outside the folder of the file. Raises `InputError` with every problem and its line. Source:
    MuJoCo documentation, XML reference.


    Examples
    --------
    >>> import flexmbs as fm
    >>> from pathlib import Path
    >>> body = '<body><joint name="pin" axis="0 1 0"/><geom size="0.1" pos="0 0 -1"/></body>'
    >>> _ = Path("pendulum.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    >>> fm.from_mujoco("pendulum.xml").model
    <Model 'pendulum': 1 bodies, 1 joints, 0 forces, 0 drives>
    """
    path, allow_outside = file_path(path), checked("allow_outside", switch, allow_outside)
    limits, strict = checked("limits", switch, limits), checked("strict", switch, strict)
    given_commands = checked_kind("commands", Mapping, commands or {})
    reach = path_policy_of(path, allow_outside=allow_outside)
    root, report = read_document(path, reach), ImportLog(path)
    compiler, defaults = compiler_of(root, report), Defaults(root, report)
    options = _options(root, report)
    off = {
        key
        for flag in _elements(root, "option", "flag")
        for key, value in flag.attributes.items()
        if value == "disable"
    }
    gravity = np.zeros(3) if "gravity" in off else options.vector("gravity", DOWN)
    if "passive" in off:  # flag of versions before 3.4
        off |= {"spring", "damper"}
    disabled = {int(each) for each in numbers(options.text("actuatorgroupdisable"))}
    looks = MjcfVisuals(root, defaults, report, reach)
    draft = ModelBuilder(read_tree(root, defaults, compiler, looks), compiler, report)
    for body in draft.tree.bodies:
        add_joints(draft, body)
    for body in draft.tree.bodies:
        for joint in body.joints:
            add_passive(draft, body, joint, off, limits=limits)
        if not {"spring", "damper"} <= off:  # which disable all passive forces
            add_gravity_compensation(draft, body, gravity)
    for section in root.all("tendon"):
        read_tendons(draft, section, defaults, off)
    closing: list[str] = []
    for section in [] if {"equality", "constraint"} & off else root.all("equality"):
        closing += add_equalities(draft, section, defaults)
    key = None if keyframe is None else _keyframe(root, keyframe, report)
    known: dict[str, Any] = {}
    start = (
        np.zeros(0)
        if key is None
        else key.numbers("ctrl", (0.0,) * len(key.text("ctrl").split()), 0)
    )
    for section in [] if "actuation" in off else root.all("actuator"):
        add_actuators(draft, section, defaults, given_commands, start, known, off, disabled)
    if key is not None and len(start) > len(known) and "actuation" not in off:
        key.problem(f"ctrl: has {len(start)} numbers for {len(known)} actuators")
    _note_rest(root, options, draft, limits=limits)
    if not report.problems:
        model = draft.model(root.attributes.get("model") or path.stem, gravity)
        if key is not None:
            _start(model.joints, draft, key)
        model.cuts = closing
    notes = report.finish(strict=strict)
    return ImportedModel(
        model, draft.coordinates, draft.refs, draft.limits, notes, tuple(draft.tree.visuals)
    )


def _elements(root: XmlElement, section: str, tag: str) -> list[XmlElement]:
    """Elements with a tag in all sections of a name."""
    return [element for each in root.all(section) for element in each.all(tag)]


def _options(root: XmlElement, report: ImportLog) -> ElementValues:
    """Attributes of all <option> elements."""
    attributes: dict[str, str] = {}
    for element in root.all("option"):
        attributes |= element.attributes
    return ElementValues(next(iter(root.all("option")), root), attributes, report)


def _note_rest(
    root: XmlElement, options: ElementValues, draft: ModelBuilder, *, limits: bool
) -> None:
    """Note the number of elements that the model does not represent."""
    report = draft.report
    note_unread(root, report)
    if draft.tree.touching > 1:
        report.note(
            f"contacts between {draft.tree.touching} geoms; add the relevant ones, such "
            "as fm.SpherePlane"
        )
    if draft.limits and not limits:
        report.note(
            f"limits of {len(draft.limits)} joint{'s' * (len(draft.limits) > 1)}; limits=True adds them"
        )
    fluid = [key for key in FLUID if key in options and options.text(key).strip("0. ")]
    if fluid and (draft.tree.fluid_shapes or fluid != ["wind"]):
        report.note(f"forces of a fluid (option {', '.join(fluid)})")
    pairs = len(_elements(root, "contact", "pair"))
    if pairs:
        report.note(f"{pairs} contact pairs; add the relevant ones, such as fm.SpherePlane")
    for tag, what in LEFT_OUT.items():
        if any(section.children for section in root.all(tag)):
            report.note(what)
    for body in draft.tree.bodies:
        for joint in body.joints:
            if "actuatorfrcrange" in joint.given and joint.given.switch("actuatorfrclimited", True):
                report.note(f"actuatorfrcrange of joint '{joint.name}'")


def _keyframe(root: XmlElement, wanted: str | int, report: ImportLog) -> ElementValues:
    """Keyframe with a name or number. Raises `InputError`."""
    keys = _elements(root, "keyframe", "key")
    names = [each.attributes.get("name", str(k)) for k, each in enumerate(keys)]
    k = names.index(wanted) if wanted in names else wanted
    if not isinstance(k, int) or isinstance(k, bool) or not 0 <= k < len(keys):
        raise InputError(
            f"keyframe: no {shown(wanted)}; the file has: {', '.join(names) or 'none'}"
        )
    return ElementValues(keys[k], keys[k].attributes, report)


def _start(joints: dict[str, Joint], draft: ModelBuilder, key: ElementValues) -> None:
    """Set the initial positions and velocities of a keyframe."""
    every = [(body, joint) for body in draft.tree.bodies for joint in body.joints]
    nq = sum(POSITIONS[joint.kind] for _, joint in every)
    nv = sum({"ball": 3, "free": 6}.get(joint.kind, 1) for _, joint in every)
    rest = [
        _reference_value(
            body.pose.o, joints[draft.coordinates[joint.name].joint], joint.kind, joint.ref
        )
        for body, joint in every
    ]
    qpos = key.numbers("qpos", tuple(np.concatenate(rest)) if rest else (), nq)
    qvel = key.numbers("qvel", (0.0,) * nv, nv)
    position: dict[str, list[float]] = {}
    velocity: dict[str, list[float]] = {}
    i = j = 0
    for _, joint in every:
        name = draft.coordinates[joint.name].joint
        q, v = (
            qpos[i : i + POSITIONS[joint.kind]],
            qvel[j : j + {"ball": 3, "free": 6}.get(joint.kind, 1)],
        )
        i, j = i + len(q), j + len(v)
        q, v = from_mujoco_coordinates(joint.kind, joint.ref, q, v)
        position.setdefault(name, []).extend(q)
        velocity.setdefault(name, []).extend(v)
    for name, found in position.items():
        joints[name] = replace(joints[name], q0=tuple(found), v0=tuple(velocity[name]))


def _reference_value(place: np.ndarray, joint: Joint, kind: str, ref: float) -> np.ndarray:
    """Reference value (qpos0) of a joint."""
    if kind == "free":
        return np.array(joint.initial_position)
    return np.array([1.0, 0.0, 0.0, 0.0]) if kind == "ball" else np.array([ref])


def from_mujoco_coordinates(
    kind: str, ref: float, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of a joint from those of MuJoCo.

    There a free joint has its velocity in world axes.
    """
    if kind == "ball":
        return _unit(q), v
    if kind == "free":
        quat = _unit(q[3:])
        return np.concatenate([q[:3], quat]), np.concatenate(
            [quaternion_rotation(quat).T @ v[:3], v[3:]]
        )
    return q - ref, v


def _unit(quat: np.ndarray) -> np.ndarray:
    """Unit quaternion; the identity for zero."""
    length = float(np.linalg.norm(quat))
    return quat / length if length > 0.0 else np.array([1.0, 0.0, 0.0, 0.0])

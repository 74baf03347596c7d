"""References between items: every frame, joint and coordinate named by an item must exist."""

import itertools
from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexmbs.declaration import Problem, close_names
from flexmbs.model.contacts import Contact
from flexmbs.model.couplings import ConstantCoupling, Coupling
from flexmbs.model.forces import Force, OnSeveral, WheelCreep
from flexmbs.model.frames import GROUND, FrameRef, frames_used
from flexmbs.model.item import CoordinateUse, Item
from flexmbs.model.motions import Motion
from flexmbs.model.relations import RollingDisc
from flexmbs.model.relations.relation import Relation
from flexmbs.model.rotors import rotor_problems

if TYPE_CHECKING:
    from flexmbs.model.joints import Joint
    from flexmbs.model.model import ModelData

FrameNames = dict[str, tuple[str, ...] | None]
DEPENDENT = 1e-10  # relative to the largest factor of a coupling: smaller residuals mean dependence


def declared_frames(model: "ModelData") -> FrameNames:
    """Frame names of every body, None for frames stored in a file."""
    return {body.name: body.known_frames() for body in model.bodies.values()}


def reference_problems(
    model: "ModelData", frames: FrameNames, unread: Set[str] = frozenset()
) -> Iterator[Problem]:
    """Problems of references to bodies, frames, joints and coordinates.

    unread: joints that exist but were not read.
    """
    known = {GROUND: tuple(model.frames), **frames}
    sections = (model.joints, model.forces, model.drives, model.contacts, model.rotors)
    named: list[Item] = [item for section in sections for item in section.values()]
    for item in named:
        for key, ref in frames_used(item).items():
            yield from _frame_problem((item.section, item.name, key), ref, known)
        if isinstance(item, Force):
            yield from _reading_problems(item, model.joints, unread)
        use = item.coordinate_used()
        if use is not None and use.joint not in unread:
            yield from _coordinate_problems(item, use, model.joints)
    for cut in model.cuts:
        if cut not in model.joints and cut not in unread:
            yield Problem(("cuts",), f"no joint '{cut}'; {close_names(cut, model.joints)}")
    yield from _driven_twice(model)
    yield from rotor_problems(model)
    on_several = [force for force in model.forces.values() if isinstance(force, OnSeveral)]
    coupled: list[Coupling | Contact | OnSeveral] = [
        *model.couplings.values(),
        *model.contacts.values(),
        *on_several,
    ]
    wrong = [
        problem for each in coupled for problem in _coupling_problems(each, model.joints, unread)
    ]
    yield from wrong or _dependent_couplings(model)


def unknown_bodies(model: "ModelData") -> Iterator[Problem]:
    """Problems of joints that refer to unknown bodies."""
    known: FrameNames = {GROUND: None, **dict.fromkeys(model.bodies)}
    for joint in model.joints.values():
        for key, ref in frames_used(joint).items():
            yield from _frame_problem((joint.section, joint.name, key), ref, known)


def _frame_problem(path: tuple[str, ...], ref: FrameRef, known: FrameNames) -> Iterator[Problem]:
    """Problem of a reference to an unknown body or frame."""
    if ref.body not in known:
        yield Problem(path, f"no body '{ref.body}'; {close_names(ref.body, known)}")
        return
    frames = known[ref.body]
    if ref.frame and frames is not None and ref.frame not in frames:
        yield Problem(
            path,
            f"body '{ref.body}' has no frame '{ref.frame}'; {close_names(ref.frame, frames)}",
        )


def _reading_problems(
    force: Force, joints: "Mapping[str, Joint]", unread: Set[str]
) -> Iterator[Problem]:
    """Problems of the joints whose reactions a force reads."""
    path = (force.section, force.name, "contact" if isinstance(force, WheelCreep) else "reads")
    for name in force.row().reads:
        if name in unread:
            continue
        if name not in joints:
            yield Problem(path, f"no joint '{name}'; {close_names(name, joints)}")
        elif isinstance(force, WheelCreep) and (why := _another_contact(force, joints[name])):
            yield Problem(path, why)


def _another_contact(wheel: WheelCreep, contact: "Joint") -> str:
    """Reason why a joint is not the contact of a wheel, or ""."""
    if contact.child != wheel.frame_b:
        text = (
            f"the child of '{contact.name}' is '{contact.child}', not frame_b = '{wheel.frame_b}'"
        )
        return f"{text}; read the contact of this wheel"
    if not isinstance(contact, Relation):
        return (
            f"'{contact.name}' is a joint ({contact.kind}); read the relation of the contact, "
            "such as disc-on-plane"
        )
    if isinstance(contact, RollingDisc):
        for key in (
            "radius",
            "rim",
            "axis",
            *(["normal"] if contact.parent == wheel.frame_a else []),
        ):
            there, here = getattr(contact, key), getattr(wheel, key)
            if there != here:
                return (
                    f"'{contact.name}' has {key} {there}, this wheel {here}; give "
                    "both the same value"
                )
    return ""


def _coordinate_problems(
    item: Item, use: CoordinateUse, joints: "dict[str, Joint]"
) -> Iterator[Problem]:
    """Problems of the use of a coordinate of an unknown joint or number."""
    joint, path = joints.get(use.joint), (item.section, item.name)
    if joint is None:
        yield Problem((*path, "joint"), f"no joint '{use.joint}'; {close_names(use.joint, joints)}")
    elif use.coordinate >= joint.nv:
        known = f"0 … {joint.nv - 1}" if joint.nv else "none"
        yield Problem(
            (*path, "coordinate"),
            f"joint '{use.joint}' has no coordinate {use.coordinate}; it has: {known}",
        )
    elif not has_position(joint, use.coordinate):
        text = (
            f"coordinate {use.coordinate} of joint '{use.joint}' ({joint.kind}) has a "
            "velocity but no position"
        )
        yield Problem(
            (*path, "coordinate"),
            f"{text}; use a joint or a chain of single motions (revolute, prismatic, ...)",
        )
    elif why := item.unfit_for(joint, motion_of(joint, use.coordinate)):
        yield Problem(
            (*path, "coordinate"), f"coordinate {use.coordinate} of joint '{use.joint}' {why}"
        )


def _coupling_problems(
    coupling: "Coupling | Contact | OnSeveral", joints: "Mapping[str, Joint]", unread: Set[str]
) -> Iterator[Problem]:
    """Problems of the coordinates of a coupling or force.

    They do not exist, are ambiguous, of the wrong type, or named twice.
    """
    seen: dict[CoordinateUse, str] = {}
    for term, use in zip(coupling.terms, coupling.coordinates(joints)):
        path = (coupling.section, coupling.name, term.key)
        joint = joints.get(use.joint)
        if use.joint in unread:
            continue
        if joint is None:
            yield Problem(path, f"no joint '{use.joint}'; {close_names(use.joint, joints)}")
        elif term.coordinate == use.joint and joint.nv > 1:
            known = ", ".join(f"'{use.joint}.{k}'" for k in range(joint.nv))
            yield Problem(
                path, f"joint '{use.joint}' has {joint.nv} coordinates; name one of {known}"
            )
        elif use.coordinate >= joint.nv:
            known = f"0 … {joint.nv - 1}" if joint.nv else "none"
            yield Problem(
                path, f"joint '{use.joint}' has no coordinate {use.coordinate}; it has: {known}"
            )
        elif not has_position(joint, use.coordinate):
            text = (
                f"coordinate {use.coordinate} of joint '{use.joint}' ({joint.kind}) has a "
                "velocity but no position"
            )
            yield Problem(
                path, f"{text}; use a joint or a chain of single motions (revolute, prismatic, ...)"
            )
        elif term.angle is not None and motion_of(joint, use.coordinate).turns != term.angle:
            found, needed = ("an angle", "a length") if not term.angle else ("a length", "an angle")
            text = (
                f"coordinate {use.coordinate} of joint '{use.joint}' ({joint.kind}) is "
                f"{found}, not {needed}"
            )
            yield Problem(
                path,
                f"{text}; name a {'revolute' if term.angle else 'prismatic'} joint or use "
                "a linear coupling",
            )
        elif use in seen:
            text = (
                f"'{term.coordinate}' and '{seen[use]}' are the same coordinate; combine them "
                "into one"
            )
            yield Problem(
                path,
                text
                if seen[use] != term.coordinate
                else f"coordinate '{term.coordinate}' appears twice",
            )
        seen.setdefault(use, term.coordinate)


def _dependent_couplings(model: "ModelData") -> Iterator[Problem]:
    """Problems of couplings whose motion drives already prescribe.

    Rows without time dependence may depend on each other, as those of several planet gears do.
    """
    rows = [
        _PrescribedRow(f"drive '{drive.name}'", {drive.coordinate_used(): 1.0}, True)
        for drive in model.drives.values()
    ]
    for coupling in model.couplings.values():
        if not isinstance(coupling, ConstantCoupling):
            continue
        row = dict(
            zip(coupling.coordinates(model.joints), (term.factor for term in coupling.terms))
        )
        own = _PrescribedRow(
            f"coupling '{coupling.name}'", row, not coupling.constraint_classes()[0].scleronomic
        )
        known = _combination(rows, row)
        if known is None:
            rows.append(own)
        elif own.timed or any(each.timed for each in known):
            text = (
                f"{', '.join(each.item for each in known)} already prescribe the same motion; "
                "remove "
                "one of them"
            )
            yield Problem((coupling.section, coupling.name), text)


class _PrescribedRow(NamedTuple):
    """Drive or coupling with its factors; timed: it prescribes a motion."""

    item: str
    factors: dict[CoordinateUse, float]
    timed: bool


def _combination(
    rows: list[_PrescribedRow], wanted: dict[CoordinateUse, float]
) -> list[_PrescribedRow] | None:
    """Coefficients of independent rows that add up to ``wanted``, or None."""
    place = {
        use: k
        for k, use in enumerate(
            dict.fromkeys(
                use for factors in (wanted, *(row.factors for row in rows)) for use in factors
            )
        )
    }
    matrix = np.zeros((len(rows) + 1, len(place)))
    for values, factors in zip(matrix, (wanted, *(row.factors for row in rows))):
        for use, factor in factors.items():
            values[place[use]] = factor / max(map(abs, factors.values()))
    weights = np.linalg.lstsq(matrix[1:].T, matrix[0], rcond=None)[0]
    if np.abs(matrix[0] - weights @ matrix[1:]).max() > DEPENDENT:
        return None
    return [row for row, weight in zip(rows, weights) if abs(weight) > DEPENDENT]


def motion_of(joint: "Joint", index: int) -> Motion:
    """Motion to which a degree of freedom of a joint belongs."""
    ends = itertools.accumulate(motion.nv for motion in joint.motions)
    return next(motion for motion, end in zip(joint.motions, ends) if index < end)


def has_position(joint: "Joint", index: int) -> bool:
    """True if the degree of freedom belongs to a motion with one coordinate and one velocity."""
    motion = motion_of(joint, index)
    return motion.nq == motion.nv


def _driven_twice(model: "ModelData") -> Iterator[Problem]:
    """Problems of coordinates that two drives prescribe."""
    seen: dict[tuple[Any, ...], str] = {}
    for drive in model.drives.values():
        key = (drive.joint, drive.coordinate)
        if key in seen:
            text = (
                f"coordinate {drive.coordinate} of joint '{drive.joint}' is prescribed by "
                f"drive '{seen[key]}' already"
            )
            yield Problem(("drives", drive.name, "joint"), text)
        seen.setdefault(key, drive.name)

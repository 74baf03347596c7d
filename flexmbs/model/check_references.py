"""References between items: every frame, joint and coordinate an item names must exist."""

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, Any

from flexmbs.declaration import Problem, close_names
from flexmbs.model.frames import GROUND, FrameRef, frames_used
from flexmbs.model.item import CoordinateUse, Item
from flexmbs.model.rotors import rotor_problems

if TYPE_CHECKING:
    from flexmbs.model.joints import Joint
    from flexmbs.model.model import ModelData

FrameNames = dict[str, tuple[str, ...] | None]


def declared_frames(model: "ModelData") -> FrameNames:
    """Frame names of every body, None for those stored in a file."""
    return {body.name: body.known_frames() for body in model.bodies.values()}


def reference_problems(model: "ModelData", frames: FrameNames, unread: Set[str] = frozenset()) -> Iterator[Problem]:
    """References to bodies, frames, joints and coordinates that do not exist; joints in ``unread`` exist but were not read."""
    known = {GROUND: tuple(model.frames), **frames}
    sections = (model.joints, model.forces, model.drives, model.contacts, model.rotors)
    named: list[Item] = [item for section in sections for item in section.values()]
    for item in named:
        for key, ref in frames_used(item).items():
            yield from _frame_problem((item.section, item.name, key), ref, known)
        use = item.coordinate_used()
        if use is not None and use.joint not in unread:
            yield from _coordinate_problems((item.section, item.name), use, model.joints)
    for cut in model.cuts:
        if cut not in model.joints and cut not in unread:
            yield Problem(("cuts",), f"no joint '{cut}'; {close_names(cut, model.joints)}")
    yield from _driven_twice(model)
    yield from rotor_problems(model)


def _frame_problem(path: tuple[str, ...], ref: FrameRef, known: FrameNames) -> Iterator[Problem]:
    if ref.body not in known:
        yield Problem(path, f"no body '{ref.body}'; {close_names(ref.body, known)}")
        return
    frames = known[ref.body]
    if ref.frame and frames is not None and ref.frame not in frames:
        yield Problem(path, f"body '{ref.body}' has no frame '{ref.frame}'; it has: {', '.join(frames) or 'none'}")


def _coordinate_problems(path: tuple[str, ...], use: CoordinateUse, joints: "dict[str, Joint]") -> Iterator[Problem]:
    joint = joints.get(use.joint)
    if joint is None:
        yield Problem((*path, "joint"), f"no joint '{use.joint}'; {close_names(use.joint, joints)}")
    elif use.coordinate >= joint.nv:
        known = f"0 … {joint.nv - 1}" if joint.nv else "none"
        yield Problem((*path, "coordinate"), f"joint '{use.joint}' has no coordinate {use.coordinate}; it has: {known}")
    elif not has_position(joint, use.coordinate):
        text = f"coordinate {use.coordinate} of joint '{use.joint}' ({joint.kind}) has a velocity but no position"
        yield Problem((*path, "coordinate"), f"{text}; use a joint or a chain of single motions (revolute, prismatic, ...)")


def has_position(joint: "Joint", index: int) -> bool:
    """True if the degree of freedom belongs to a motion with one coordinate and one velocity."""
    first = 0
    for motion in joint.motions:
        if index < first + motion.nv:
            return motion.nq == motion.nv
        first += motion.nv
    return False


def _driven_twice(model: "ModelData") -> Iterator[Problem]:
    seen: dict[tuple[Any, ...], str] = {}
    for drive in model.drives.values():
        key = (drive.joint, drive.coordinate)
        if key in seen:
            text = f"coordinate {drive.coordinate} of joint '{drive.joint}' is prescribed by drive '{seen[key]}' already"
            yield Problem(("drives", drive.name, "joint"), text)
        seen.setdefault(key, drive.name)

"""References between items: every frame, joint and coordinate an item names must exist."""

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, Any

from flexmbs.declaration import Problem, close_names
from flexmbs.model.frames import GROUND, FrameRef, frames_used
from flexmbs.model.item import CoordinateUse, Item

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
    named: list[Item] = [*model.joints.values(), *model.forces.values(), *model.drives.values(), *model.contacts.values()]
    for item in named:
        for key, ref in frames_used(item).items():
            yield from _frame_problem((item.section, item.name, key), ref, known)
        use = item.coordinate_used()
        if use is not None and use.joint not in unread:
            yield from _coordinate_problems(item, use, model.joints)
    for cut in model.cuts:
        if cut not in model.joints and cut not in unread:
            yield Problem(("cuts",), f"no joint '{cut}'; {close_names(cut, model.joints)}")
    yield from _driven_twice(model)


def _frame_problem(path: tuple[str, ...], ref: FrameRef, known: FrameNames) -> Iterator[Problem]:
    if ref.body not in known:
        yield Problem(path, f"no body '{ref.body}'; {close_names(ref.body, known)}")
        return
    frames = known[ref.body]
    if ref.frame and frames is not None and ref.frame not in frames:
        yield Problem(path, f"body '{ref.body}' has no frame '{ref.frame}'; it has: {', '.join(frames) or 'none'}")


def _coordinate_problems(item: Item, use: CoordinateUse, joints: "dict[str, Joint]") -> Iterator[Problem]:
    joint, path = joints.get(use.joint), (item.section, item.name)
    if joint is None:
        yield Problem((*path, "joint"), f"no joint '{use.joint}'; {close_names(use.joint, joints)}")
    elif use.coordinate >= joint.nv:
        known = f"0 … {joint.nv - 1}" if joint.nv else "none"
        yield Problem((*path, "coordinate"), f"joint '{use.joint}' has no coordinate {use.coordinate}; it has: {known}")
    elif not has_position(joint, use.coordinate):
        text = f"coordinate {use.coordinate} of joint '{use.joint}' ({joint.kind}) has a velocity but no position"
        yield Problem((*path, "coordinate"), f"{text}; use a joint or a chain of single motions (revolute, prismatic, ...)")
    elif why := item.unfit_for(joint, _motion_of(joint, use.coordinate)):
        yield Problem((*path, "coordinate"), f"coordinate {use.coordinate} of joint '{use.joint}' {why}")


def _motion_of(joint: "Joint", index: int) -> Any:
    """The motion of a degree of freedom with a position."""
    return [motion for motion in joint.motions for _ in range(motion.nv)][index]


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

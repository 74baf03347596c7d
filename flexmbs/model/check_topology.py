"""Graph of bodies and joints.

Joints of a body to itself, duplicate joints, free bodies, loops, number of degrees of freedom.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from flexmbs.declaration import Problem
from flexmbs.model.chain_twists import translations
from flexmbs.model.frames import GROUND, FrameRef, frames_used
from flexmbs.model.general_couplings import nonholonomic_couplings

if TYPE_CHECKING:
    from flexmbs.model.bodies import Body
    from flexmbs.model.item import Item
    from flexmbs.model.joints import Joint
    from flexmbs.model.model import ModelData


def topology_problems(model: "ModelData") -> Iterator[Problem]:
    """Problems of the graph of bodies and joints.

    Empty model, joints of a body to itself, several joints between the same two frames, free bodies
    without inertia.
    """
    if not model.bodies:
        yield Problem(("bodies",), "the model has no body; add at least one")
    seen: dict[frozenset[str], str] = {}
    for joint in model.joints.values():
        path = ("joints", joint.name, "child")
        if joint.parent.body == joint.child.body:
            yield Problem(
                path,
                f"connects '{joint.child.body}' to itself; parent and child must be "
                "different bodies",
            )
            continue
        pair = frozenset((str(joint.parent), str(joint.child), joint.among_equals))
        if pair in seen:
            yield Problem(
                path,
                f"joint '{seen[pair]}' connects {joint.parent} and {joint.child} already; "
                "merge them into one joint",
            )
        seen.setdefault(pair, joint.name)
    yield from _massless_left_free(model)


def _massless_left_free(model: "ModelData") -> Iterator[Problem]:
    """Problems of bodies without mass or inertia that can move freely."""
    connected = joints_by_body(model)
    for body in model.bodies.values():
        if body.has_mass and body.has_inertia:
            continue
        joints = connected[body.name]
        carrying = [joint for joint in joints if joint.carries]
        path = ("bodies", body.name)
        if not body.has_mass and len(joints) < 2 and all(joint.rows < 6 for joint in joints):
            yield Problem(
                (*path, "mass"),
                "is 0 and no other body moves with it; give it a mass or fix it to a body with "
                "mass",
            )
        elif len(joints) == 1 and _turns_about_itself(model, joints[0], body.name):
            text = (
                f"has no rotational inertia, and joint '{joints[0].name}' leaves its rotation free"
            )
            yield Problem(path, f"{text}; use a translation joint, or a rigid body with inertia")
        elif len(carrying) > 1 and all(_rotations(joint) >= 3 for joint in carrying):
            text = "has no rotational inertia, and its joints leave its rotation free"
            yield Problem(
                path,
                f"{text}; add a translation joint to the ground, or use a rigid body with inertia",
            )
        elif joints and not carrying and (body.kind != "point-mass" or (arm := _arm(joints, body))):
            text = "has no rotational inertia, and is held only by rods and relations"
            where = "" if body.kind != "point-mass" else f" at its frame '{arm}' away from the mass"
            yield Problem(
                path,
                f"{text}{where}; attach them to the mass itself, or use a rigid body with inertia",
            )


def _arm(joints: list["Joint"], body: "Body") -> str:
    """Text of a frame off the mass by which a joint holds the body, else ""."""
    frames = (
        end.frame
        for joint in joints
        for end in (joint.parent, joint.child)
        if end.body == body.name
    )
    return next((frame for frame in frames if any(body.frame_position(frame))), "")


def _turns_about_itself(model: "ModelData", joint: "Joint", body: str) -> bool:
    """True if rotations of the joint do not move the centre of mass of the body.

    About an axis through it, or all three rotations about one point.
    """
    rotations = _rotations(joint)
    own = joint.child if joint.child.body == body else joint.parent
    offset = any(model.bodies[body].lever(own.frame))
    if any(motion.moves_along for motion in joint.motions):
        return False
    return rotations >= 3 or (rotations > 0 and not offset)


def _rotations(joint: "Joint") -> int:
    """Number of rotational motions of a joint."""
    return sum(motion.rotations for motion in joint.motions)


def joints_by_body(model: "ModelData") -> dict[str, list["Joint"]]:
    """Joints connected to each body and to the ground."""
    found: dict[str, list[Joint]] = {name: [] for name in (GROUND, *model.bodies)}
    for joint in model.joints.values():
        for body in dict.fromkeys((joint.parent.body, joint.child.body)):
            found.setdefault(body, []).append(joint)
    return found


def components(model: "ModelData") -> list[list[str]]:
    """Groups of bodies connected by joints; the ground is in the first group."""
    return groups(model, model.joints.values())


def groups(model: "ModelData", joints: "Iterable[Joint]") -> list[list[str]]:
    """Groups of bodies connected by the given joints; the ground is in the first group."""
    group = {name: {name} for name in (GROUND, *model.bodies)}
    for joint in joints:
        a, b = group[joint.parent.body], group[joint.child.body]
        if a is not b:
            large, small = (a, b) if len(a) >= len(b) else (b, a)
            large |= small
            for name in small:
                group[name] = large
    distinct: dict[int, list[str]] = {}
    for name, members in group.items():
        distinct.setdefault(id(members), []).append(name)
    return list(distinct.values())


def topology_warnings(model: "ModelData") -> Iterator[Problem]:
    """Warnings of bodies without connection to the ground and of lost moments.

    Such moments are due to forces and contacts away from point masses whose axes do not turn.
    """
    connected = joints_by_body(model)
    free = [
        body
        for body in model.bodies.values()
        if body.kind == "point-mass" and not any(joint.carries for joint in connected[body.name])
    ]
    acting: dict[str, list[tuple[Item, FrameRef]]] = {body.name: [] for body in free}
    for item in (*model.forces.values(), *model.contacts.values()) if free else ():
        for end in frames_used(item).values():
            acting.get(end.body, []).append((item, end))
    for body in free:
        for item, end in acting[body.name]:
            if any(body.frame_position(end.frame)):
                text = (
                    f"acts at frame '{end.frame}' away from point mass '{body.name}', whose axes "
                    "do not rotate: its moment is lost"
                )
                yield Problem(
                    (item.section, item.name),
                    f"{text}; use a rigid body with inertia, or the mass itself",
                )
    loose = [name for group in components(model) if GROUND not in group for name in group]
    if loose:
        shown = ", ".join(loose[:10]) + (", ..." if len(loose) > 10 else "")
        yield Problem(
            ("bodies",),
            f"not connected to the ground by joints: {shown}; they move freely, statics "
            "is impossible",
        )


def degree_of_freedom_lines(model: "ModelData", modes: int, planar: str = "") -> list[str]:
    """Lines of the report that count degrees of freedom and constraints.

    f = 6n − b, velocity degrees of freedom, drives, couplings, elastic coordinates, loops. The
    count of a planar mechanism comes first, because for bodies in space even a simple four-bar
    linkage has f = −2.
    """
    n = len(model.bodies)
    held = Counter(
        ref.body
        for joint in model.joints.values()
        if joint.carries
        for ref in (joint.parent, joint.child)
    )
    lone_points = [
        body for body in model.bodies.values() if body.kind == "point-mass" and not held[body.name]
    ]
    b = sum(joint.position_rows for joint in model.joints.values()) + 3 * len(lone_points)
    lines = [planar] if planar else []
    f = 6 * n - b
    redundant = -f - modes  # more rows than velocities cannot be independent
    note = (
        f"at least {redundant} of the constraints redundant"
        if redundant > 0
        else "redundant constraints not considered"
    )
    lines.append(f"f = 6·{n} − {b} = {_signed(f)} rigid-body degrees of freedom (6n − b, {note})")
    if all(body.kind == "point-mass" for body in model.bodies.values()):
        held_back = sum(
            3 - _translations_of_child(joint) if joint.carries else joint.position_rows
            for joint in model.joints.values()
        )
        lines.append(
            f"point masses only: f = 3·{n} − {held_back} = {_signed(3 * n - held_back)} (3n − b)"
        )
    if lone_points:
        lines.append(
            "point masses without a joint have 3 translations: "
            f"{', '.join(body.name for body in lone_points)}"
        )
    own = len(nonholonomic_couplings(model.couplings))
    kappa = sum(joint.rows - joint.position_rows for joint in model.joints.values()) + own
    if kappa:
        lines.append(
            f"κ = {kappa} nonholonomic equation{'' if kappa == 1 else 's'}: "
            f"{6 * n - b - kappa} velocity degrees of freedom"
        )
    left = 6 * n - b - len(model.drives)
    if model.drives:
        lines.append(f"{len(model.drives)} prescribed by drives{_remaining(left, planar)}")
    if m := len(model.couplings) - own:
        equations = f"{m} equation{'' if m == 1 else 's'} of couplings"
        lines.append(f"{equations}{_remaining(left - m, planar)}")
    if modes:
        lines.append(f"{modes} elastic coordinate{'' if modes == 1 else 's'}")
    lines.append(_loops_line(model))
    return lines


def _remaining(count: int, planar: str) -> str:
    """Number of degrees of freedom left, unless redundant constraints make it meaningless."""
    return "" if planar or count < 0 else f", {count} remaining"


def _signed(count: int) -> str:
    """Integer as text with a typographic minus sign."""
    return f"−{-count}" if count < 0 else str(count)


def _translations_of_child(joint: "Joint") -> int:
    """Number of translations that the joint leaves to its child.

    To the parent if the child is the ground.
    """
    if joint.child.body == GROUND:
        return translations(tuple(motion.inverse() for motion in reversed(joint.motions)))
    return translations(joint.motions)


def _loops_line(model: "ModelData") -> str:
    """Line of the report with the number of loops n_h = n_c − n.

    A floating part is attached to the ground by a separate free joint.
    """
    carrying = [joint for joint in model.joints.values() if joint.carries]
    n, floating = len(model.bodies), len(groups(model, carrying)) - 1
    joints = len(carrying) + floating
    loops = joints - n
    added = f" with {floating} free" if floating else ""
    return (
        f"{loops} closed loop{'' if loops == 1 else 's'}: n_h = n_c − n = {joints} "
        f"joints{added} − {n} bodies"
    )

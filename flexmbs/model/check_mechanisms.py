"""Warnings about declarations that are valid but probably describe an unintended mechanism."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from flexmbs.declaration import Problem
from flexmbs.model.check_topology import groups
from flexmbs.model.couplings import Coupling

if TYPE_CHECKING:
    from flexmbs.model.joints import Joint
    from flexmbs.model.model import ModelData


def mechanism_warnings(model: "ModelData", flexible: Collection[str]) -> Iterator[Problem]:
    """Warnings of gears without common carrier and of shapes on flexible bodies."""
    for coupling in model.couplings.values():
        if coupling.on_one_carrier:
            yield from _different_carriers(model, coupling)
    for item in (*model.joints.values(), *model.contacts.values()):
        for key in item.extended:
            frame = getattr(item, key)
            if frame.body in flexible:
                text = (
                    f"its shape is rigid and moves with frame {frame}; deflections of the flexible "
                    f"body '{frame.body}' away from this frame are not included"
                )
                remedy = "use a frame near the point of contact, or divide the body there"
                yield Problem((item.section, item.name, key), f"{text}; {remedy}")


def _different_carriers(model: "ModelData", coupling: Coupling) -> Iterator[Problem]:
    """Warning of a gear between coordinates without common carrier; None if fine.

    q₁ + i q₂ = b is the rolling condition only if both coordinates are relative to the part that
    carries both axes. Angles may also be relative to different parts that cannot rotate, lengths to
    different parts that cannot move relative to each other.
    """
    joints = [model.joints[use.joint] for use in coupling.coordinates(model.joints)]
    angles_only = all(term.angle for term in coupling.terms)
    rigid = [
        joint for joint in model.joints.values() if joint.carries and _holds(joint, angles_only)
    ]
    number = {name: k for k, group in enumerate(groups(model, rigid)) for name in group}
    ends = [{number[joint.parent.body], number[joint.child.body]} for joint in joints]
    if set.intersection(*ends):
        return
    named = " and ".join(
        f"'{joint.name}' ({joint.parent.body} → {joint.child.body})" for joint in joints
    )
    remedy = (
        "measure all coordinates from the body that carries the wheels, or use a LinearCoupling "
        "that contains the angle of the carrier"
    )
    text = f"joints {named} have no body in common, so the equation is not a rolling condition"
    yield Problem((coupling.section, coupling.name), f"{text}; {remedy}")


def _holds(joint: "Joint", rotations_only: bool) -> bool:
    """True if the joint allows no relative motion, or with ``rotations_only`` no rotation."""
    return joint.nv == 0 or (
        rotations_only and not any(motion.rotations for motion in joint.motions)
    )

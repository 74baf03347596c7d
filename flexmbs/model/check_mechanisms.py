"""Warnings about declarations that are valid but probably describe an unintended mechanism."""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.declaration import Problem
from flexmbs.model.check_topology import groups
from flexmbs.model.couplings import Coupling
from flexmbs.model.frames import GROUND

if TYPE_CHECKING:
    from flexmbs.model.joints import Joint
    from flexmbs.model.model import ModelData


PARALLEL = 0.99  # cosine of 8°: axes beyond it are those of bevel gears
ACROSS = 0.14  # cosine of 82°: axes beyond it are not across each other


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
    """Warning of a gear between coordinates without common carrier, or of opposite signs.

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
    named = " and ".join(
        f"'{joint.name}' ({joint.parent.body} → {joint.child.body})" for joint in joints
    )
    if set.intersection(*ends):
        if angles_only and (body := _measured_in_opposite_directions(model, joints)):
            text = (
                f"joints {named} turn in opposite directions relative to '{body}', so the equation "
                "has the sign of gears that turn in the same direction (and with internal of "
                "those that turn in opposite ones)"
            )
            remedy = f"declare both with '{body}' as parent, or both as child, and about equal axes"
            yield Problem((coupling.section, coupling.name), f"{text}; {remedy}")
        yield from _unfit_axes(model, coupling, joints)
        return
    remedy = (
        "measure all coordinates from the body that carries the wheels, or use a LinearCoupling "
        "that contains the angle of the carrier"
    )
    text = f"joints {named} have no body in common, so the equation is not a rolling condition"
    yield Problem((coupling.section, coupling.name), f"{text}; {remedy}")


def _measured_in_opposite_directions(model: "ModelData", joints: "Sequence[Joint]") -> str:
    """Carrier relative to which one of the angles has the opposite sign, "" if none has.

    An angle is that of a gear relative to the carrier if the carrier is the parent, and that of the
    carrier relative to the gear if it is the child. Both point along the same direction if the axes
    are parallel in the carrier; of other axes, of bevel gears, it is not known.
    """
    common = set.intersection(*({joint.parent.body, joint.child.body} for joint in joints))
    for body in sorted(common):
        axes = [_axis_on(model, joint, body) for joint in joints]
        first, others = axes[0], axes[1:]
        if first is not None and any(
            axis is not None and float(first @ axis) < -PARALLEL for axis in others
        ):
            return body
    return ""


def _unfit_axes(
    model: "ModelData", coupling: Coupling, joints: "Sequence[Joint]"
) -> Iterator[Problem]:
    """Warning of axes that are not as the coupling needs them: parallel, or across each other."""
    if not coupling.axes:
        return
    common = set.intersection(*({joint.parent.body, joint.child.body} for joint in joints))
    for body in sorted(common):
        a, b = (_axis_on(model, joint, body) for joint in joints)
        if a is None or b is None:
            return
        angle = abs(float(a @ b))
        if (angle < PARALLEL) if coupling.axes == "parallel" else (angle > ACROSS):
            text = (
                f"the axes of joints '{joints[0].name}' and '{joints[1].name}' are at "
                f"{np.degrees(np.arccos(min(angle, 1.0))):.3g}° on '{body}', but it needs axes "
                f"{'that are parallel' if coupling.axes == 'parallel' else 'across each other'}"
            )
            yield Problem((coupling.section, coupling.name), f"{text}; correct the axes")
            return


def _axis_on(model: "ModelData", joint: "Joint", body: str) -> np.ndarray | None:
    """Direction of positive motion of the other body relative to ``body``, in its axes.

    Of rotation if the joint is a hinge, of translation if it is a slider. None for other joints, and
    if the axes of its frame are in a file.
    """
    ref = joint.parent if joint.parent.body == body else joint.child
    frames = model.frames if body == GROUND else getattr(model.bodies[body], "frames", {})
    if len(joint.motions) != 1 or (ref.frame and ref.frame not in frames):
        return None
    twist = np.array(joint.motions[0].unit_twist)  # the same in both frames
    axis = twist[3:] if twist[3:].any() else twist[:3]
    turned = np.array(frames[ref.frame].rotation) @ axis if ref.frame else axis
    return np.asarray(turned if ref is joint.parent else -turned)


def _holds(joint: "Joint", rotations_only: bool) -> bool:
    """True if the joint allows no relative motion, or with ``rotations_only`` no rotation."""
    return joint.nv == 0 or (
        rotations_only and not any(motion.rotations for motion in joint.motions)
    )

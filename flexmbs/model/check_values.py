"""Warnings of values that are valid but probably of another unit or at a wrong place."""

import math
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from flexmbs.declaration import Problem
from flexmbs.model.check_references import motion_of
from flexmbs.model.contacts import JointLimit
from flexmbs.model.declared_values import nested_values
from flexmbs.model.forces import JointSpring
from flexmbs.model.forces.force import BetweenFrames
from flexmbs.model.frames import GROUND
from flexmbs.model.item import CoordinateUse, Item
from flexmbs.model.laws import Constant, Sine, SmoothStep, Table, TimeLaw
from flexmbs.model.motions import degrees_text

if TYPE_CHECKING:
    from flexmbs.model.joints import Joint
    from flexmbs.model.model import ModelData

DEGREES = 5  # °: angles of limits and motions in degrees are mostly multiples of it
# m/s²: on the surfaces of planets and moons; those of small bodies below are rare
LEAST_GRAVITY, MOST_GRAVITY = 0.1, 100.0


def value_warnings(model: "ModelData", flexible: Collection[str]) -> Iterator[Problem]:
    """Warnings of gravity, angles, and forces within one rigid body.

    flexible: names of the bodies with modes.
    """
    yield from _gravity(model)
    for item in (*model.drives.values(), *model.forces.values(), *model.contacts.values()):
        use = item.coordinate_used()
        if use is not None and _is_angle(model.joints, use):
            yield from _turns(item)
    for force in model.forces.values():
        if isinstance(force, BetweenFrames) and force.frame_a.body == force.frame_b.body:
            body = force.frame_a.body
            if body in flexible:
                continue
            place = "the ground" if body == GROUND else f"the rigid body '{body}'"
            yield Problem(
                (force.section, force.name),
                f"both ends, {force.frame_a} and {force.frame_b}, are on {place}: it moves "
                "nothing; attach one of them to another body",
            )


def _gravity(model: "ModelData") -> Iterator[Problem]:
    """Warning of a gravity that is not that of a planet in m/s²."""
    size = math.hypot(*model.gravity)
    if size > MOST_GRAVITY:
        hint = f"in mm/s² it would be {size / 1000.0:.4g} m/s²"
    elif 0.0 < size < LEAST_GRAVITY:
        hint = "give 0 for none, or ignore this on a small body"
    else:
        return
    yield Problem(("gravity",), f"{size:.4g} m/s² is unusual; models are in SI units: {hint}")


def _is_angle(joints: "dict[str, Joint]", use: CoordinateUse) -> bool:
    """True if a coordinate is an angle."""
    return bool(motion_of(joints[use.joint], use.coordinate).turns)


def _turns(item: Item) -> Iterator[Problem]:
    """Warning of an angle of a drive, a limit, a spring or the reference of a controller.

    Limits and motions of several turns are rarely multiples of 5 rad; those in degrees are of 5°.
    """
    path = (item.section, item.name)
    given: list[tuple[tuple[str, ...], float]] = []
    if isinstance(item, JointLimit):
        given += [((key,), x) for key, (_, x) in item.bounds().items() if x % DEGREES == 0]
    if isinstance(item, JointSpring):
        given.append((("x0",), item.x0))
    for place, law in nested_values(item):
        if place[-1] in ("motion", "reference") and isinstance(law, TimeLaw):
            given += [(place, angle) for angle in _angles(law)]
    for place, angle in given:
        if text := degrees_text(angle):
            yield Problem((*path, *place), text)
            return


def _angles(law: TimeLaw) -> tuple[float, ...]:
    """Angle of a constant law; multiples of 5 among the angles of a motion."""
    match law:
        case Constant():
            return (law.value,)
        case SmoothStep():
            found: tuple[Any, ...] = (law.value, law.initial)
        case Sine():
            found = (law.amplitude, law.offset)
        case Table():
            found = (max(law.values), min(law.values))
        case _:
            return ()
    return tuple(angle for angle in found if angle % DEGREES == 0)

"""Groups of bodies that joints connect without the ground, and those that contacts act on."""

from collections.abc import Iterable

import numpy as np

from flexmbs.model.check_topology import groups
from flexmbs.model.contacts.contact import Contact, declared_contact
from flexmbs.model.frames import GROUND, frames_used
from flexmbs.system.compile import Compiled
from flexmbs.system.step_scales import size_of_bodies


def mechanisms(compiled: Compiled) -> dict[str, int]:
    """Number of the mechanism of each body: joints connect bodies, the ground does not."""
    inner = [
        joint
        for joint in compiled.model.joints.values()
        if GROUND not in (joint.parent.body, joint.child.body)
    ]
    return {body: k for k, group in enumerate(groups(compiled.model, inner)) for body in group}


def ends_of(compiled: Compiled, joint: str) -> tuple[str, str]:
    """Names of the two bodies of a joint."""
    declared = compiled.model.joints[joint]
    return declared.parent.body, declared.child.body


def mechanisms_of_joints(compiled: Compiled) -> dict[str, int]:
    """Number of the mechanism of each joint."""
    number = mechanisms(compiled)
    ends = {name: ends_of(compiled, name) for name in compiled.model.joints}
    return {
        name: number[next((end for end in pair if end != GROUND), GROUND)]
        for name, pair in ends.items()
    }


def body_of_velocities(compiled: Compiled) -> np.ndarray:
    """(ns,) name of the body of each velocity coordinate."""
    sizes = compiled.system.elimination.size[: len(compiled.bodies)]
    return np.repeat(compiled.bodies, sizes)


def mechanism_sizes(compiled: Compiled) -> dict[str, float]:
    """Size (m) of the mechanism of each body and of the ground."""
    number = mechanisms(compiled)
    members: dict[int, set[str]] = {}
    for body, k in number.items():
        members.setdefault(k, set()).add(body)
    sizes = {k: size_of_bodies(compiled, names) for k, names in members.items()}
    return {body: sizes[k] for body, k in number.items()}


def sizes_of_joints(compiled: Compiled) -> dict[str, float]:
    """Size (m) of the mechanism of each joint."""
    sizes = mechanism_sizes(compiled)
    return {
        name: sizes[next((end for end in ends_of(compiled, name) if end != GROUND), GROUND)]
        for name in compiled.model.joints
    }


def bodies_with_contacts(compiled: Compiled, names: Iterable[str]) -> frozenset[str]:
    """Bodies to which forces of contacts are transmitted: by joints and by couplings.

    names: of the contacts, as in ``compiled.contacts``.
    """
    number, model = mechanisms(compiled), compiled.model
    for coupling in model.couplings.values():
        uses = coupling.coordinates(model.joints)
        ends = [end for use in uses for end in ends_of(compiled, use.joint) if end != GROUND]
        joined = {number[end] for end in ends}
        number = {body: min(joined) if k in joined else k for body, k in number.items()}
    hit = {
        number[body]
        for name in names
        for body in _bodies(compiled, declared_contact(model.contacts, name))
    }
    return frozenset(body for body, k in number.items() if k in hit and body != GROUND)


def _bodies(compiled: Compiled, contact: Contact) -> set[str]:
    """Bodies of a contact, without the ground."""
    uses = list(contact.coordinates(compiled.model.joints))
    if used := contact.coordinate_used():
        uses.append(used)
    found = {ref.body for ref in frames_used(contact).values()}
    found |= {end for use in uses for end in ends_of(compiled, use.joint)}
    return found - {GROUND}

"""Forces at every instant as vectors in world axes at frames.

Joint reactions, applied forces and contact forces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.contacts import FrameContact, Rope, declared_contact
from flexmbs.results.applied_wrenches import single_wrenches

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

FloatArray = NDArray[np.float64]
MOST_FORCES = 60


class Arrow(NamedTuple):
    """Vector (nt, 3) in world axes at a frame ``body/frame``.

    Group "reaction", "load" (of a force on one frame), "force" (between two frames) or "contact";
    turns: True for a moment.
    """

    name: str
    group: str
    frame: str
    vector: FloatArray
    turns: bool = False


class ContactMark(NamedTuple):
    """Contact: name, frame where it is shown, mask of the instants when it is closed, impacts.

    Mask (nt,), times of its impacts.
    """

    name: str
    frame: str
    closed: NDArray[np.bool_]
    impacts: list[float]


def arrows_of(solution: SolutionData) -> tuple[list[Arrow], list[str]]:
    """All vectors, and notes.

    Forces by user functions are evaluated again; a note reports a failure.
    """
    found = list(_reactions(solution))
    forces = [force for force in solution.model.forces.values() if force.frames()]
    if len(forces) > MOST_FORCES:
        return found, [
            f"arrows of forces: {len(forces)} forces, more than {MOST_FORCES}; not shown"
        ]
    notes: list[str] = []
    for made in (_contact_forces, _applied):
        try:
            found += made(solution)
        except Exception as error:  # a failing user function must not prevent the page
            notes.append(f"arrows of forces are not shown: {error}")
    return found, notes


def _reactions(solution: SolutionData) -> Iterator[Arrow]:
    """Arrows of the joint reactions."""
    for name in solution.joints:
        view = solution.joint(name)
        label = name if view.unique else f"{name} (not unique)"
        yield Arrow(label, "reaction", str(solution.model.joints[name].child), view.force)


def _contact_forces(solution: SolutionData) -> list[Arrow]:
    """Arrows of the contact forces."""
    contacts = [item for item in solution.model.contacts.values() if isinstance(item, FrameContact)]
    return [
        Arrow(item.name, "contact", str(item.child), solution.contact(item.name).force)
        for item in contacts
    ]


def _applied(solution: SolutionData) -> list[Arrow]:
    """Arrows of the applied forces at their frames."""
    found: list[Arrow] = []
    for name, frame, wrench in single_wrenches(solution.compiled, solution.trajectory):
        A = solution.body(frame.partition("/")[0]).rotation
        force, moment = (
            np.einsum("tij,tj->ti", A, part) for part in (wrench[:, :3], wrench[:, 3:])
        )
        single = len(solution.model.forces[name].frames()) == 1
        found.append(Arrow(name, "load" if single else "force", frame, force))
        if single:
            found.append(Arrow(name, "load", frame, moment, turns=True))
    return found


def contact_marks(solution: SolutionData) -> tuple[list[ContactMark], list[str]]:
    """(marks of contacts and joint bounds, notes); ropes, which are drawn, have none."""
    try:
        ropes = [n for n, each in solution.model.contacts.items() if isinstance(each, Rope)]
        return [_touch(solution, name) for name in solution.contacts if name not in ropes], []
    except Exception as error:  # as above
        return [], [f"contacts are not shown: {error}"]


def _touch(solution: SolutionData, name: str) -> ContactMark:
    """Frame and times at which a contact is closed, with its impacts."""
    view = solution.contact(name)
    declared = declared_contact(solution.model.contacts, name)
    if isinstance(declared, FrameContact):
        frame = str(declared.child)
    else:
        frame = str(solution.model.joints[declared.joint].child)  # type: ignore[attr-defined]
    return ContactMark(
        name, frame, np.abs(view.normal) > 0.0, [impact.t for impact in view.impacts]
    )

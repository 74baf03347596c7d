"""Forces at every instant: reactions of joints, applied forces, contacts; vectors in world axes at frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.contacts import FrameContact
from flexmbs.results.applied import single_wrenches

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

FloatArray = NDArray[np.float64]
MOST_FORCES = 60


class Arrow(NamedTuple):
    """A vector (nt, 3) in world axes at a frame ``body/frame``; group "reaction", "force" or "contact"."""

    name: str
    group: str
    frame: str
    vector: FloatArray


class Touch(NamedTuple):
    """A contact: its name, the frame where it is shown, whether it is closed (nt,), times of its impacts."""

    name: str
    frame: str
    closed: NDArray[np.bool_]
    impacts: list[float]


def arrows_of(solution: SolutionData) -> tuple[list[Arrow], list[str]]:
    """All vectors, and remarks."""
    found: list[Arrow] = []
    for name in solution.joints:
        view = solution.joint(name)
        label = name if view.unique else f"{name} (not unique)"
        found.append(Arrow(label, "reaction", str(solution.model.joints[name].child), view.force))
    for name, contact in solution.model.contacts.items():
        if isinstance(contact, FrameContact):
            found.append(Arrow(name, "contact", str(contact.child), solution.contact(name).force))
    forces = [force for force in solution.model.forces.values() if force.frames()]
    if len(forces) > MOST_FORCES:
        return found, [f"arrows of forces: {len(forces)} forces, more than {MOST_FORCES}; not shown"]
    return [*found, *_applied(solution)], []


def _applied(solution: SolutionData) -> list[Arrow]:
    """Applied forces at each of their frames on bodies."""
    found: list[Arrow] = []
    for name, frame, wrench in single_wrenches(solution.compiled, solution.trajectory):
        A = solution.body(frame.partition("/")[0]).rotation
        found.append(Arrow(name, "force", frame, np.einsum("tij,tj->ti", A, wrench[:, :3])))
    return found


def touches_of(solution: SolutionData) -> list[Touch]:
    """Contacts between frames and bounds of joints."""
    found: list[Touch] = []
    for name in solution.contacts:
        view = solution.contact(name)
        declared = solution.model.contacts.get(name) or solution.model.contacts[name.rpartition(".")[0]]
        if isinstance(declared, FrameContact):
            frame = str(declared.child)
        else:
            frame = str(solution.model.joints[declared.joint].child)  # type: ignore[attr-defined]
        found.append(Touch(name, frame, np.abs(view.normal) > 0.0, [impact.t for impact in view.impacts]))
    return found

"""States of rigid contacts at the outputs of a run: pressing, touching, without slip."""

from typing import NamedTuple

import numpy as np

from flexmbs.audit.audit_samples import largest_row
from flexmbs.results.solution import SolutionData
from flexmbs.system.records import OF_FRICTION
from flexmbs.system.step_scales import contact_sizes, gaps_in_metres, model_size

LOADED = 1e-3  # of the largest normal force of the contact: smaller ones do not count as pressing
# of the mass of the model times its largest acceleration, and times its size for moments: forces of
# balls that hang side by side are smaller
ROUND_OFF = 1e-12
# of the size of the contact: smaller gaps count as touching. Of its largest speed and its size over
# the time of the run: slower contacts count as touching, or sticking
TOUCHES = 1e-7


class StatesOfContacts(NamedTuple):
    """Masks (nt, n) of contacts at outputs; those of dry friction neither press nor touch."""

    pressed: np.ndarray  # with a normal force
    touching: np.ndarray  # pressed, or without gap and speed of approach
    slow: np.ndarray  # without slip


def states_of_contacts(solution: SolutionData) -> StatesOfContacts:
    """States of the contacts at all outputs; none press, touch or stick in a single one."""
    t, contacts = solution.t, solution.compiled.system.contacts
    if not len(solution.contacts) or len(t) < 2:
        return StatesOfContacts(*np.zeros((3, len(t), len(solution.contacts)), bool))
    rigid = (contacts.law_kernel < 0) & (contacts.geometry_kernel != OF_FRICTION)
    views = [solution.contact(name) for name in solution.contacts]
    gap, rate, normal = (
        np.column_stack([getattr(view, key) for view in views]) for key in ("gap", "rate", "normal")
    )
    slip = np.column_stack([np.linalg.norm(view.slip, axis=1) for view in views])
    size_of_model = model_size(solution.compiled)
    size = contact_sizes(solution.compiled, size_of_model)
    duration = max(float(t[-1] - t[0]), 1e-300)
    slow = TOUCHES * (np.hypot(rate, slip).max(axis=0, initial=0.0) + size / duration)
    if not normal[:, rigid].any():
        none = np.zeros(normal.shape, bool)
        return StatesOfContacts(none, none, slip <= slow)
    least = (
        ROUND_OFF
        * _inertial_force(solution)
        * np.where(gaps_in_metres(solution.compiled), 1.0, size_of_model)
    )
    pressed = rigid & (normal > np.maximum(LOADED * normal.max(axis=0, initial=0.0), least))
    # contacts that never press may be a little open
    near = rigid & (np.abs(gap) <= TOUCHES * size) & (np.abs(rate) <= slow)
    touching = pressed | (near & pressed.any(axis=0))
    return StatesOfContacts(pressed, touching, slip <= slow)


def _inertial_force(solution: SolutionData) -> float:
    """Mass of the model times gravity or the largest acceleration of a body [N]."""
    largest = max(largest_row(solution.body(name).acceleration) for name in solution.bodies)
    mass = float(solution.compiled.system.bodies.mass.sum())
    return mass * max(largest, float(np.linalg.norm(solution.model.gravity)))


def held_contacts(solution: SolutionData, found: StatesOfContacts) -> np.ndarray:
    """Velocities (n, 3) of contacts that are zero at all outputs: normal and tangential ones.

    Of rigid contacts that press, and of dry friction that holds its coordinate.
    """
    dry = solution.compiled.system.contacts.geometry_kernel == OF_FRICTION
    pressed = found.pressed.all(axis=0)
    sticks = found.slow.all(axis=0) & (pressed | dry)
    return np.stack([pressed, sticks, sticks & ~dry], axis=1)


def changes_of_friction(mine: SolutionData, theirs: SolutionData) -> np.ndarray:
    """Mask (nt, n): dry friction stops or turns in the interval before, in both runs or beside it.

    Its force jumps there, at an instant that differs between the runs by less than an interval: its
    direction agrees at the outputs before and after. At the output the force is a mean over the
    last step, or that of one side.
    """
    if not (mine.compiled.system.contacts.geometry_kernel == OF_FRICTION).any():
        return np.zeros((len(mine.t), len(mine.contacts)), bool)
    runs = [_directions(each) for each in (mine, theirs)]
    found = np.zeros(runs[0].shape, bool)
    for each in runs:
        found[1:] |= each[1:] != each[:-1]
    apart = runs[0] != runs[1]
    found[1:] &= ~apart[:-1]
    found[:-1] &= ~apart[1:]
    return found


def _directions(solution: SolutionData) -> np.ndarray:
    """Direction of slip (nt, n) of dry friction, 0 without slip; 0 for other contacts."""
    dry = solution.compiled.system.contacts.geometry_kernel == OF_FRICTION
    slip = np.zeros((len(solution.t), len(solution.contacts)))
    for k, name in enumerate(solution.contacts):
        if dry[k]:
            slip[:, k] = solution.contact(name).slip[:, 0]
    return np.where(states_of_contacts(solution).slow, 0.0, np.sign(slip))


def lasting(mask: np.ndarray) -> np.ndarray:
    """The mask (nt, n) where it is set at the outputs before and after, too."""
    found = mask.copy()
    found[1:] &= mask[:-1]
    found[:-1] &= mask[1:]
    return found

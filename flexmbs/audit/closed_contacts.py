"""Forces of closed rigid contacts and of dry friction at outputs, by equations and kinematics.

They are right if the accelerations follow from them and the contacts stay closed:

    M ṡ = k + Gᵀλ + Wᵀ F,    d γ_N/dt = 0 where N > 0,    d γ_T/dt = 0 where it sticks.

The first is solved by multipliers in the other coordinates. The derivatives are central differences
of γ along the motion (q ⊕ (δ s + ½ δ² ṡ), s + δ ṡ), which share no code with the contact problem;
their scale is what they would be without the forces of the contacts. Forces of redundant contacts
are verified as far as motions depend on them.

Theory: docs/theory.md, sections 40 and 43.
"""

from typing import NamedTuple

import numpy as np

from flexmbs.audit.audit_samples import evenly_spaced, states_as_solution
from flexmbs.audit.coupling_rates import STEP, contacts_along, time_of_motion
from flexmbs.audit.cross_check import Difference, differences, states_in_both_coordinates
from flexmbs.dynamics.work import make_work, start_from
from flexmbs.initial.initial_state import settle
from flexmbs.results.drive_jumps import near_jumps
from flexmbs.results.joints import path_coordinates
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, Check, graded
from flexmbs.system.records import OF_FRICTION
from flexmbs.system.step_scales import contact_sizes, displacement_sizes, model_size
from flexmbs.system.trajectory import Trajectory

TITLE = "Forces of contacts"
STATES = 16
LOADED = 1e-3  # of the largest normal force of the contact: smaller ones do not count as pressing
# of the size of the contact: smaller gaps count as touching. Of its largest speed and its size over
# the time of the run: slower contacts count as touching, or sticking
TOUCHES = 1e-7
# of the accelerations without contact forces. Forces of Moreau–Jean at outputs are of second order
# in the step, 1e-6 … 3e-3 of 1 ms in random models
LIMITS = (0.02, 0.2)
REMEDY = "use smaller steps, or compare with the other method"


class ClosedContacts(NamedTuple):
    """Outputs (k,) to examine, and masks (k, n) of rigid contacts, as at the outputs beside them."""

    outputs: np.ndarray
    pressed: np.ndarray  # with a normal force
    touching: np.ndarray  # pressed, or without gap and speed of approach
    sticking: np.ndarray


def forces_of_contacts(solution: SolutionData) -> list[Check]:
    """Check of accelerations and reactions with closed contacts, and of their forces."""
    found = _closed_contacts(solution)
    chosen = found.outputs
    if not len(chosen):
        return []
    beta = path_coordinates(solution.compiled, solution.trajectory)
    at = Trajectory(*(each[chosen] for each in solution.trajectory._replace(beta=beta)))
    mine = states_as_solution(solution.compiled, at, solution)
    theirs = states_in_both_coordinates(mine)
    errors = [(_parting(solution, at, found), "the acceleration of contact")]
    if theirs is not None:
        accelerations, reactions = differences(solution, mine, theirs)
        errors += [(accelerations, "accelerations at body"), (reactions, "reactions at joint")]
    worst, what = max(errors, key=lambda each: each[0].share)
    status = graded(worst.share, LIMITS)
    text = f"{len(chosen)} outputs with closed contacts or dry friction: errors of up to {worst.share:.1e}"
    if status == PASS:
        return [Check(TITLE, status, text)]
    text += f" of {what} {worst.item}, t = {worst.t:.4g} s"
    return [Check(TITLE, status, text, REMEDY)]


def _closed_contacts(solution: SolutionData) -> ClosedContacts:
    """Closed rigid contacts, and outputs at which they or dry friction act.

    Without impacts, reversals of dry friction and jumps of drives at neighbouring outputs.
    """
    t, (rigid, dry) = solution.t, _kinds(solution)
    if len(t) < 2 or not (rigid | dry).any():
        return ClosedContacts(np.zeros(0, int), *np.zeros((3, len(t), len(rigid)), bool))
    pressed, touching, sticking = _states_of(solution, rigid)
    before, after = np.concatenate([t[:1], t[:-1]]), np.concatenate([t[1:], t[-1:]])
    impacts = np.sort([impact.t for impact in solution.run.impacts])
    struck = np.searchsorted(impacts, after, "right") > np.searchsorted(impacts, before, "left")
    masks = _lasting(pressed), _lasting(touching), _lasting(pressed & sticking)
    friction = np.sign(solution.trajectory.contact[:, dry, 1])
    reverses = np.diff(friction, axis=0).any(axis=1)
    settled = ~(np.concatenate([[False], reverses]) | np.concatenate([reverses, [False]]))
    acting = masks[1].any(axis=1) | friction.any(axis=1)
    usable = acting & settled & ~struck & ~near_jumps(solution, t)
    outputs = evenly_spaced(np.flatnonzero(usable), STATES)
    return ClosedContacts(outputs, *(mask[outputs] for mask in masks))


def held_contacts(solution: SolutionData) -> np.ndarray:
    """Velocities (n, 3) of contacts that are zero at all outputs: normal and tangential ones.

    Of rigid contacts that press, and of dry friction that holds its coordinate.
    """
    held, (rigid, dry) = np.zeros((len(solution.contacts), 3), bool), _kinds(solution)
    if (rigid | dry).any():
        pressed, _, sticking = _states_of(solution, rigid)
        held[:, 0] = pressed.all(axis=0)
        held[:, 1] = sticking.all(axis=0) & (held[:, 0] | dry)
        held[:, 2] = held[:, 1] & rigid
    return held


def _kinds(solution: SolutionData) -> tuple[np.ndarray, np.ndarray]:
    """Masks (n,) of rigid contacts, and of dry friction."""
    contacts = solution.compiled.system.contacts
    dry = contacts.geometry_kernel == OF_FRICTION
    return (contacts.law_kernel < 0) & ~dry, dry


def _states_of(
    solution: SolutionData, rigid: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Masks (nt, n) of contacts that press, touch, or do not slide at the outputs."""
    views = [solution.contact(name) for name in solution.contacts]
    gap, rate, normal = (
        np.column_stack([getattr(view, key) for view in views]) for key in ("gap", "rate", "normal")
    )
    slip = np.column_stack([np.linalg.norm(view.slip, axis=1) for view in views])
    size = contact_sizes(solution.compiled, model_size(solution.compiled))
    duration = max(float(solution.t[-1] - solution.t[0]), 1e-300)
    slow = TOUCHES * (np.hypot(rate, slip).max(axis=0, initial=0.0) + size / duration)
    pressed = rigid & (normal > LOADED * normal.max(axis=0, initial=0.0))
    touching = pressed | (rigid & (np.abs(gap) <= TOUCHES * size) & (np.abs(rate) <= slow))
    return pressed, touching, slip <= slow


def _lasting(mask: np.ndarray) -> np.ndarray:
    """The mask (nt, n) where it is set at the outputs before and after, too."""
    found = mask.copy()
    found[1:] &= mask[:-1]
    found[:-1] &= mask[1:]
    return found


def _parting(solution: SolutionData, at: Trajectory, closed: ClosedContacts) -> Difference:
    """Errors of the accelerations of closed contacts.

    Normal ones of contacts that press, approaching ones of all that touch, and tangential ones of
    contacts that stick; relative to the largest change of each by the contact forces.
    """
    compiled, free = solution.compiled, at.sd.copy()
    work = make_work(compiled.system, at.beta[0])
    for k, t in enumerate(at.t):
        start_from(work, at.beta[k])
        work.path.force[:] = 0.0
        free[k] = settle(compiled, work, float(t), at.q[k].copy(), at.s[k].copy(), at.z[k]).sd
    fastest = float(np.abs(free / displacement_sizes(compiled)).max(initial=0.0))
    h = min(time_of_motion(solution, at.s), np.sqrt(STEP / max(fastest, 1e-150)))
    own, without = (
        (contacts_along(solution, each, h) - contacts_along(solution, each, -h))[:, :, 1:4]
        / (2.0 * h)
        for each in (at, at._replace(sd=free))
    )
    scale = np.linalg.norm(own - without, axis=2).max(axis=0, initial=0.0)
    # contacts without any force, held by others, have the scale of the largest one
    scale = np.where(scale > 0.0, scale, scale.max(initial=0.0))
    off = np.where(closed.pressed, np.abs(own[:, :, 0]), np.maximum(-own[:, :, 0], 0.0))
    off = np.where(closed.sticking, np.linalg.norm(own, axis=2), off)
    share = np.where(closed.touching, off / np.maximum(scale, 1e-300), 0.0)
    if not share.size:
        return Difference(0.0, "", 0.0)
    k, c = map(int, np.unravel_index(share.argmax(), share.shape))
    return Difference(float(share[k, c]), compiled.contacts[c], float(at.t[k]))

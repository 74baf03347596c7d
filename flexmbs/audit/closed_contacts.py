"""Forces of closed rigid contacts and of dry friction at outputs, by equations and kinematics.

They are right if the accelerations follow from them, the velocities from these, and the contacts
stay closed:

    M ṡ = k + Gᵀλ + Wᵀ F,   Δs = ∫ ṡ dt,   d γ_N/dt = 0 where N > 0,   d γ_T/dt = 0 where it sticks.

The first is solved by multipliers in the other coordinates, the second by Simpson's rule. The
derivatives are central differences of γ along the motion (q ⊕ (δ s + ½ δ² ṡ), s + δ ṡ), which share
no code with the contact problem; their scale is what they would be without the forces of the
contacts. Forces of redundant contacts are verified as far as motions depend on them.

Theory: docs/theory.md, sections 40 and 43.
"""

from typing import NamedTuple

import numpy as np

from flexmbs.audit.audit_samples import evenly_spaced, largest_row, states_as_solution
from flexmbs.audit.coupling_rates import AT_LEAST, STEP, contacts_along, time_of_motion
from flexmbs.audit.cross_check import Difference, differences, states_in_both_coordinates
from flexmbs.dynamics.work import make_work, start_from
from flexmbs.initial.initial_state import settle
from flexmbs.results.drive_jumps import near_jumps
from flexmbs.results.joints import path_coordinates
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, Check, graded
from flexmbs.system.records import OF_FRICTION
from flexmbs.system.step_scales import contact_sizes, displacement_sizes, gaps_in_metres, model_size
from flexmbs.system.trajectory import Trajectory

TITLE = "Forces of contacts"
STATES = 16
LOADED = 1e-3  # of the largest normal force of the contact: smaller ones do not count as pressing
# of the mass of the model times its largest acceleration, and times its size for moments: forces of
# balls that hang side by side are smaller
ROUND_OFF = 1e-12
# of the size of the contact: smaller gaps count as touching. Of its largest speed and its size over
# the time of the run: slower contacts count as touching, or sticking
TOUCHES = 1e-7
# of the accelerations without contact forces. Forces of Moreau–Jean at outputs are of second order
# in the step, 1e-6 … 3e-3 of 1 ms in random models
LIMITS = (0.02, 0.2)
EVEN = 1e-6  # of both intervals: difference of their lengths for Simpson's rule
# of the change of velocity: larger differences between the rules show vibrations that outputs do
# not resolve
SMOOTH = 0.1
NO_CHANGE = 1e-6  # of the largest change of a velocity: that of a body at rest is round-off
SLOW = 1e-2  # of the largest velocity over the time of the run: smaller changes are not judged
REMEDY = "use smaller steps, or compare with the other method"


class StatesOfContacts(NamedTuple):
    """Masks (nt, n) of contacts at outputs; those of dry friction neither press nor touch."""

    pressed: np.ndarray  # with a normal force
    touching: np.ndarray  # pressed, or without gap and speed of approach
    slow: np.ndarray  # without slip


def forces_of_contacts(solution: SolutionData) -> list[Check]:
    """Check of accelerations and reactions with closed contacts, and of their forces."""
    if not len(solution.contacts) or len(solution.t) < 2:
        return []
    found = states_of_contacts(solution)
    # sticking contacts press, and slip before and after neither
    steady = StatesOfContacts(*map(lasting, (found.pressed, found.touching, found.slow)))
    chosen = _examined(solution, steady)
    if not len(chosen):
        return []
    beta = path_coordinates(solution.compiled, solution.trajectory)
    at = Trajectory(*(each[chosen] for each in solution.trajectory._replace(beta=beta)))
    mine = states_as_solution(solution.compiled, at, solution)
    theirs = states_in_both_coordinates(mine)
    closed = StatesOfContacts(*(mask[chosen] for mask in steady))
    free = _without_contacts(solution, at)
    errors = [(_parting(solution, at, closed, free), "the acceleration of contact")]
    if theirs is not None:
        accelerations, reactions = differences(solution, mine, theirs)
        errors += [(accelerations, "accelerations at body"), (reactions, "reactions at joint")]
    errors.append((_unexplained(solution, chosen, free), "the change of velocity at body"))
    worst, what = max(errors, key=lambda each: each[0].share)
    status = graded(worst.share, LIMITS)
    text = f"{len(chosen)} outputs with closed contacts or dry friction: "
    text += f"errors of up to {worst.share:.1e}"
    if status == PASS:
        return [Check(TITLE, status, text)]
    text += f" of {what} {worst.item}, t = {worst.t:.4g} s"
    return [Check(TITLE, status, text, REMEDY)]


def _unexplained(solution: SolutionData, chosen: np.ndarray, free: np.ndarray) -> Difference:
    """Changes of velocities over two intervals that accelerations do not explain.

    By Simpson's rule, where it differs little from the midpoint and the trapezoidal rules;
    relative to the largest change of the velocities of the body, with contacts or without
    (``free``: ṡ), and at two outputs at least.
    """
    out, compiled = solution.trajectory, solution.compiled
    inner = chosen[(chosen > 0) & (chosen < len(out.t) - 1)]
    first, second = out.t[inner] - out.t[inner - 1], out.t[inner + 1] - out.t[inner]
    inner = inner[np.abs(second - first) < EVEN * (first + second)]
    worst = Difference(0.0, "", 0.0)
    if len(inner) < AT_LEAST:
        return worst
    span = (out.t[inner + 1] - out.t[inner - 1])[:, None]
    sizes, tree = displacement_sizes(compiled), compiled.system.tree
    before, now, after = (out.sd[inner + d] / sizes for d in (-1, 0, 1))
    simpson = span * (before + 4.0 * now + after) / 6.0
    change = (out.s[inner + 1] - out.s[inner - 1]) / sizes
    least = NO_CHANGE * float(np.abs(simpson).max(initial=0.0))
    for i, body in enumerate(compiled.bodies):
        # elastic coordinates vibrate between outputs
        own = slice(int(tree.s_at[i]), int(tree.s_at[i] + tree.nv[i]))
        off, curved, needed, found = (
            np.linalg.norm(each[:, own], axis=1)
            for each in (change - simpson, simpson - span * now, simpson, change)
        )
        speed = np.linalg.norm(out.s[:, own] / sizes[own], axis=1).max(initial=0.0)
        slowest = SLOW * float(speed) * span[:, 0] / float(out.t[-1] - out.t[0])
        loaded = float(np.linalg.norm(free[:, own] / sizes[own], axis=1).max())
        slowest = np.maximum(slowest, loaded * span[:, 0])
        scale = np.maximum(max(float(needed.max()), float(found.max()), least), slowest)
        share = np.where(3.0 * curved < SMOOTH * scale, off / np.maximum(scale, 1e-300), 0.0)
        k = int(np.argsort(share)[-AT_LEAST])
        if share[k] > worst.share:
            worst = Difference(float(share[k]), body, float(out.t[inner[k]]))
    return worst


def states_of_contacts(solution: SolutionData) -> StatesOfContacts:
    """States of the contacts at all outputs."""
    t, contacts = solution.t, solution.compiled.system.contacts
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


def _examined(solution: SolutionData, found: StatesOfContacts) -> np.ndarray:
    """Outputs at which closed contacts or dry friction act.

    Without impacts, reversals of dry friction and jumps of drives at neighbouring outputs.
    """
    t, kernels = solution.t, solution.compiled.system.contacts.geometry_kernel
    before, after = np.concatenate([t[:1], t[:-1]]), np.concatenate([t[1:], t[-1:]])
    impacts = np.sort([impact.t for impact in solution.run.impacts])
    struck = np.searchsorted(impacts, after, "right") > np.searchsorted(impacts, before, "left")
    friction = np.sign(solution.trajectory.contact[:, kernels == OF_FRICTION, 1])
    reverses = np.diff(friction, axis=0).any(axis=1)
    settled = ~(np.concatenate([[False], reverses]) | np.concatenate([reverses, [False]]))
    acting = found.touching.any(axis=1) | friction.any(axis=1)
    usable = acting & settled & ~struck & ~near_jumps(solution, t)
    return evenly_spaced(np.flatnonzero(usable), STATES)


def held_contacts(solution: SolutionData) -> np.ndarray:
    """Velocities (n, 3) of contacts that are zero at all outputs: normal and tangential ones.

    Of rigid contacts that press, and of dry friction that holds its coordinate.
    """
    held = np.zeros((len(solution.contacts), 3), bool)
    if len(held):
        found = states_of_contacts(solution)
        dry = solution.compiled.system.contacts.geometry_kernel == OF_FRICTION
        held[:, 0] = found.pressed.all(axis=0)
        held[:, 1] = found.slow.all(axis=0) & (held[:, 0] | dry)
        held[:, 2] = held[:, 1] & ~dry
    return held


def lasting(mask: np.ndarray) -> np.ndarray:
    """The mask (nt, n) where it is set at the outputs before and after, too."""
    found = mask.copy()
    found[1:] &= mask[:-1]
    found[:-1] &= mask[1:]
    return found


def _without_contacts(solution: SolutionData, at: Trajectory) -> np.ndarray:
    """Accelerations ṡ (nt, ns) without the forces of rigid contacts and of dry friction."""
    compiled, free = solution.compiled, at.sd.copy()
    work = make_work(compiled.system, at.beta[0])
    for k, t in enumerate(at.t):
        start_from(work, at.beta[k])
        work.path.force[:] = 0.0
        free[k] = settle(compiled, work, float(t), at.q[k].copy(), at.s[k].copy(), at.z[k]).sd
    return free


def _parting(
    solution: SolutionData, at: Trajectory, closed: StatesOfContacts, free: np.ndarray
) -> Difference:
    """Errors of the accelerations of closed contacts.

    Normal ones of contacts that press, approaching ones of all that touch, and tangential ones of
    contacts that stick; relative to the largest change of each by the contact forces.
    """
    compiled = solution.compiled
    fastest = float(np.abs(free / displacement_sizes(compiled)).max(initial=0.0))
    h = min(time_of_motion(solution, at.s), np.sqrt(STEP / max(fastest, 1e-150)))
    own, without = (
        (contacts_along(solution, each, h) - contacts_along(solution, each, -h))[:, :, 1:4]
        / (2.0 * h)
        for each in (at, at._replace(sd=free))
    )
    scale = np.linalg.norm(own - without, axis=2).max(axis=0, initial=0.0)
    off = np.where(closed.pressed, np.abs(own[:, :, 0]), np.maximum(-own[:, :, 0], 0.0))
    off = np.where(closed.pressed & closed.slow, np.linalg.norm(own, axis=2), off)
    share = np.where(closed.touching & (scale > 0.0), off / np.maximum(scale, 1e-300), 0.0)
    k, c = map(int, np.unravel_index(share.argmax(), share.shape))
    return Difference(float(share[k, c]), compiled.contacts[c], float(at.t[k]))

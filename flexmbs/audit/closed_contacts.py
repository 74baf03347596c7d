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

import numpy as np

from flexmbs.audit.audit_samples import evenly_spaced, states_as_solution
from flexmbs.audit.contact_states import StatesOfContacts, lasting
from flexmbs.audit.coupling_rates import AT_LEAST, STEP, contacts_along, time_of_motion
from flexmbs.audit.cross_check import Difference, differences, states_in_both_coordinates
from flexmbs.dynamics.work import make_work, start_from
from flexmbs.initial.initial_state import settle
from flexmbs.results.drive_jumps import near_jumps
from flexmbs.results.impact_steps import outputs_between_impacts
from flexmbs.results.joints import path_coordinates
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, Check, graded
from flexmbs.system.compile import Compiled
from flexmbs.system.records import OF_FRICTION, Work
from flexmbs.system.step_scales import displacement_sizes
from flexmbs.system.trajectory import Trajectory

TITLE = "Forces of contacts"
STATES = 16
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


def forces_of_contacts(solution: SolutionData, found: StatesOfContacts) -> list[Check]:
    """Check of accelerations and reactions with closed contacts, and of their forces.

    found: states of the contacts.
    """
    if not len(solution.contacts) or len(solution.t) < 2:
        return []
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
    compiled, none = solution.compiled, np.zeros((len(solution.contacts), 3))
    work = make_work(compiled.system, at.beta[0])
    free = np.array([accelerations_with(compiled, work, at, k, none) for k in range(len(at.t))])
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


def _examined(solution: SolutionData, found: StatesOfContacts) -> np.ndarray:
    """Outputs at which closed contacts or dry friction act.

    Without impacts, reversals of dry friction and jumps of drives at neighbouring outputs.
    """
    t, kernels = solution.t, solution.compiled.system.contacts.geometry_kernel
    calm = outputs_between_impacts(t, 0.0, [impact.t for impact in solution.run.impacts])
    friction = np.sign(solution.trajectory.contact[:, kernels == OF_FRICTION, 1])
    reverses = np.diff(friction, axis=0).any(axis=1)
    settled = ~(np.concatenate([[False], reverses]) | np.concatenate([reverses, [False]]))
    acting = found.touching.any(axis=1) | friction.any(axis=1)
    usable = acting & settled & calm & ~near_jumps(solution, t)
    return evenly_spaced(np.flatnonzero(usable), STATES)


def accelerations_with(
    compiled: Compiled, work: Work, at: Trajectory, k: int, force: np.ndarray
) -> np.ndarray:
    """Accelerations ṡ (ns,) at state k with given forces (n, 3) of rigid contacts."""
    start_from(work, at.beta[k])
    work.path.force[:] = force
    q, s, z = at.q[k].copy(), at.s[k].copy(), at.z[k]
    return settle(compiled, work, float(at.t[k]), q, s, z).sd


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

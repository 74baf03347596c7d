"""Outcome of a run in one line: when, where, why, and the remedy."""

import numpy as np

from flexmbs.diagnosis.rank import NEARLY, Pivots, Singular, lost_on_the_way, pivots
from flexmbs.diagnosis.singular_positions import ahead_of, is_beside
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.errors import shown
from flexmbs.initial.dependent_motions import NEARLY_DEPENDENT, dependent_motions
from flexmbs.initial.initial_state import line_length
from flexmbs.initial.locked_friction import locked_friction
from flexmbs.initial.undefined_forces import undefined_contacts
from flexmbs.initial.undefined_rows import NEARLY_UNDEFINED, undefined_relations
from flexmbs.integrators.contact_problem import NO_SOLUTION
from flexmbs.integrators.impacts import TOO_MANY
from flexmbs.integrators.integrator import Integrator
from flexmbs.integrators.run_context import (
    DONE,
    INDEFINITE,
    NO_CONVERGENCE,
    NOT_FINITE,
    STEP_TOO_SMALL,
    UNSOLVED,
    RunContext,
)  # fmt: skip
from flexmbs.model.forces.force import AlongLine
from flexmbs.model.joints import Joint
from flexmbs.results.joints import path_coordinates
from flexmbs.system.compile import Compiled
from flexmbs.system.records import SPARE, Work
from flexmbs.system.trajectory import Trajectory

INTERRUPTED = -1
HUGE = 1e12  # m, rad and their rates: beyond it positions have no meaning


def outcome(
    status: int,
    compiled: Compiled,
    method: Integrator,
    context: RunContext,
    work: Work,
    first: Pivots,
    singular: Singular | None,
    good: Trajectory,
) -> str:
    """Text of the outcome: "finished", or why the run stopped.

    first: the constraints at the start, or near it if it is ``singular``. good: the outputs that
    were reached.
    """
    t, h = context.clock.time, context.clock.taken
    if status == DONE:
        return "finished"
    if status == INTERRUPTED:
        return f"interrupted at t = {t:.6g} s"
    cause = (
        _function(compiled)
        or "".join(undefined_contacts(compiled, work)[:1])
        or _contact(status, compiled, method, work)
        or _undefined(compiled, context, work)
        or _dependent(compiled, context, work, good)
        or _singular(compiled, context, work, first, singular)
        or _passed(compiled, context, work, first, good)
        or _ended(compiled, context, work)
        or _locked(status, compiled)
        or _numbers(_seen(status, work), compiled, context, h)
    )
    return f"stopped at t = {t:.6g} s: {cause}"


def _ended(compiled: Compiled, context: RunContext, work: Work) -> str:
    """Message on a force along a line whose law ends in the last good state, or ""."""
    q, s, z = context.state.q, context.state.s, context.state.z
    line = compiled.system.forces.line
    if not len(line.value) or not _sensible(q, s, z):
        return ""
    here = make_work(compiled.system, work.path.beta)
    terms(compiled.system, here, context.clock.time, q, s, z)
    forces = [each for each in compiled.model.forces.values() if isinstance(each, AlongLine)]
    causes = (
        force.end_of_validity(
            line_length(compiled, here, q, f) - line.value[f, -1],
            z[line.law.state[f] : line.law.state[f] + line.law.n_states[f]].tolist(),
        )
        for f, force in enumerate(forces)
    )
    return next(filter(None, causes), "")


def _locked(status: int, compiled: Compiled) -> str:
    """Message on reaction-dependent friction without consistent accelerations, or ""."""
    return (
        locked_friction(compiled.model)
        if status in (NOT_FINITE, NO_CONVERGENCE, STEP_TOO_SMALL)
        else ""
    )


def _function(compiled: Compiled) -> str:
    """Message on a user function that raised or was not finite, or ""."""
    call, error = compiled.callbacks.where, compiled.callbacks.error
    if call is None:
        return ""
    did = (
        "returned a non-finite number"
        if error is None
        else f"raised {type(error).__name__} ({shown(str(error))})"
    )
    return f"the function of {call.item} {did} at {call.text}; correct the function"


def _sensible(*values: np.ndarray) -> bool:
    """True for finite numbers of a plausible size."""
    return all(bool((np.abs(each) < HUGE).all()) for each in values)


def _undefined(compiled: Compiled, context: RunContext, work: Work) -> str:
    """Message on relations that became undefined, such as fallen wheels, or ""."""
    if compiled.n_constraints == 0 or not _sensible(context.state.q, context.state.s):
        return ""
    here = make_work(compiled.system, work.path.beta)
    terms(compiled.system, here, 0.0, context.state.q, context.state.s)
    found = undefined_relations(compiled, here, NEARLY_UNDEFINED)
    if not found:
        return ""
    lost = found[0].lost
    return lost.format(
        names=", ".join(repr(relation.name) for relation in found if relation.lost == lost)
    )


def _dependent(compiled: Compiled, context: RunContext, work: Work, good: Trajectory) -> str:
    """Message on joints with dependent motions where the run stopped, or ""."""
    found: list[Joint] = []
    if _sensible(context.state.q, work.path.beta):
        found = dependent_motions(compiled, context.state.q, work.path.beta, NEARLY_DEPENDENT)
    if not found and len(good.t) and _sensible(good.q[-1], good.s[-1]):
        here = make_work(compiled.system, path_coordinates(compiled, good)[-1])
        terms(compiled.system, here, float(good.t[-1]), good.q[-1], good.s[-1])
        found = dependent_motions(compiled, good.q[-1], here.beta[:-SPARE], NEARLY_DEPENDENT)
    if not found:
        return ""
    names = ", ".join(f"'{joint.name}'" for joint in found)
    return (
        f"the motions of {names} nearly depend on each other (angles near their pole); choose "
        "other axes or use a ball joint"
    )


def _contact(status: int, compiled: Compiled, method: Integrator, work: Work) -> str:
    """Message on the contact whose impulses were not found, or ""."""
    if status != UNSOLVED:
        return ""
    contact = f"contact '{compiled.contacts[int(work.status[0])]}'"
    if work.status[1] == TOO_MANY:
        cause = f"impacts of {contact}, or reversals of its slip, follow each other without end"
        rebounds = compiled.system.contacts.e[int(work.status[0])] > 0.0
        if method.step is not None:
            return (
                f"{cause} within a step; take smaller "
                f"steps{', or lower the restitution' if rebounds else ''}"
            )
        return (
            f"{cause}; raise the integrator's settling, "
            f"{'lower the restitution, ' if rebounds else ''}or take 'moreau-jean'"
        )
    if work.status[1] == NO_SOLUTION:
        driven = bool(compiled.model.drives)
        cause = (
            f"no impulses keep {contact} closed: "
            f"{'a drive presses through it, or ' if driven else ''}it jams by friction"
        )
        return (
            f"{cause}; {'free the drive, or ' if driven else ''}lower the friction or the "
            "restitution"
        )
    remedy = (
        "lower the "
        f"friction{', or raise max_sweeps of the integrator' if hasattr(method, 'max_sweeps') else ''}"
    )
    return f"the impulses of {contact} did not converge in {int(work.status[1])} sweeps; {remedy}"


def _singular(
    compiled: Compiled, context: RunContext, work: Work, first: Pivots, singular: Singular | None
) -> str:
    """Message on a singular position near the last good state, or ""."""
    t, q, s, beta = context.clock.time, context.state.q, context.state.s, work.path.beta
    if compiled.n_constraints == 0 or not _sensible(q, s):
        return ""
    beside = singular is not None and is_beside(
        compiled, singular.near, first.rank(NEARLY), t, q, s, beta
    )
    item = (
        singular.names
        if singular and beside
        else lost_on_the_way(first, pivots(compiled, q, s, beta))
    )
    if not item:
        return ""
    cause = (
        f"near a singular position, where rows of {item} depend on others (dead centre or end "
        "of reach)"
    )
    return f"{cause}; end the motion before it, or start on its other side"


def _passed(
    compiled: Compiled, context: RunContext, work: Work, first: Pivots, good: Trajectory
) -> str:
    """Message on a singular position passed after the last output, or ""."""
    if (
        compiled.n_constraints == 0
        or len(good.t) == 0
        or not _sensible(good.q[-1], good.s[-1], good.sd[-1])
    ):
        return ""
    reach = max(float(context.clock.time - good.t[-1]), 0.0) + 2.0 * context.clock.taken
    state_there = float(good.t[-1]), good.q[-1], good.s[-1], good.sd[-1]
    ahead = ahead_of(compiled, work.path.beta, first.rank(NEARLY), *state_there, reach)
    if ahead is None:
        return ""
    cause = (
        f"the singular position at t = {ahead.t:.5g} s, where rows of {ahead.names} depend on "
        "others, was not passed"
    )
    return (
        f"{cause}; take error-controlled steps and stabilization 'projection', or end the "
        "motion before it"
    )


def _seen(status: int, work: Work) -> int:
    """Status, replaced by `NOT_FINITE` if bodies have left all bounds."""
    return (
        status
        if status != INDEFINITE or _sensible(work.motion.x, work.motion.twist)
        else NOT_FINITE
    )


def _numbers(status: int, compiled: Compiled, context: RunContext, h: float) -> str:
    """Message of a numerical failure with body, step size and remedy."""
    where = f"body '{fastest_body(compiled, context)}'"
    jump = "increase rtol and atol, or remove a jump in the forces"
    check = "take a smaller step or check forces and initial values"
    return {
        INDEFINITE: f"the mass matrix lost definiteness, worst at {where}; take a smaller step or "
        "check the masses",
        STEP_TOO_SMALL: f"the step shrank to {h:.3g} s, fastest at {where}; {jump}",
        NOT_FINITE: f"the state is no longer finite, worst at {where}; {check}",
        NO_CONVERGENCE: f"Newton's method does not converge with the step {h:.3g} s, worst at {where}; "
        "take a smaller step",
    }[status]


def fastest_body(compiled: Compiled, context: RunContext) -> str:
    """Name of the body whose velocities change fastest."""
    sizes = compiled.system.elimination.size[: len(compiled.bodies)]
    rates = np.nan_to_num(np.abs(context.state.sd), nan=np.inf)
    ends = np.cumsum(sizes)
    largest = [rates[end - size : end].max(initial=0.0) for size, end in zip(sizes, ends)]
    return compiled.bodies[int(np.argmax(largest))]

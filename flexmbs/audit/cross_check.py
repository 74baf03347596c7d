"""Independent verification of a run by Lagrange multipliers in the other coordinates.

Accelerations, reactions and joint angles are computed from the state only. At sampled ends of
steps, including that of the largest accelerations, the model compiled in the other coordinates
solves M ṡ = k + Gᵀλ, G ṡ = γ by its block-sparse factorization: without recursion, independent
coordinates or memory of the run. An omission of a fast path or a wrong path variable shows as a
difference of accelerations. Accelerations of methods whose velocities drift off the constraints are
projected first, since errors of steps would mask others; the change by the projection is judged by
itself.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flexmbs.audit.audit_samples import largest_row, states_as_solution
from flexmbs.audit.force_differences import joint_loads, largest_load, load_differences
from flexmbs.audit.second_run import displacements
from flexmbs.dynamics.dense import elastic_velocities, terms
from flexmbs.dynamics.work import make_work, start_from
from flexmbs.flexible_body.free_body import central_inertia
from flexmbs.formalisms.multiplier import project_accelerations
from flexmbs.initial.initial_state import InitialState, converted, settle
from flexmbs.integrators.integrator import Integrator
from flexmbs.results.joints import declared_coordinates, joint_histories, start_coordinates
from flexmbs.results.solution import SolutionData
from flexmbs.results.state import joint_values
from flexmbs.results.views import BodyView
from flexmbs.system.check import FAIL, PASS, Check, graded
from flexmbs.system.compile import Compiled, compile_model
from flexmbs.system.records import SPARE, Evaluation, copied
from flexmbs.system.step_scales import displacement_sizes, model_size
from flexmbs.system.trajectory import Trajectory
from flexmbs.time_stepping.records import facts, make_outputs
from flexmbs.time_stepping.run import Run

LIMITS = (1e-4, 1e-2)  # of the largest acceleration or force
# of the largest force, times the relative tolerance, for methods that project the end of a step
# after its accelerations and multipliers: where constraint axes turn with a body, these are off by
# up to 3.2; and its largest value, for fixed steps too
PROJECTED, MOST_PROJECTED = 5.0, 5e-3
# violations of G ṡ = γ: with index 3 they are errors of the steps, at instants up to 2.1 times the
# lasting ones that `ACCELERATIONS` limits: 3.4e-2 for 2.0e-2, 0.16 for 0.094. Beyond a third
# accelerations alternate from step to step
VIOLATED = (0.06, 0.3)
# at states within steps of methods that satisfy constraints at their ends, and where velocities
# drift: ṡ of fixed steps has the tolerance of Newton's method over β h², 8e-4 of the largest
# acceleration with 1e-5 s
WITHIN = (2e-3, 3e-2)
REMEDY = "report the model if the difference persists"
SMALLER = "use smaller steps"
# error control follows fast decays after a jump of forces
CONTROLLED = "use error control, without a step, or smaller steps"
# of the largest acceleration over the size of the model: angular accelerations below it are
# negligible
NO_TURNING = 1e-3
WEIGHTLESS = 0.1  # of all masses times the largest acceleration: forces below it are negligible
# of the joint forces over all masses: smaller accelerations are residuals of forces in equilibrium
PRELOAD = 1e-3
# of the largest moment of inertia of a piece: lower bound of the least, since that of a wire would
# make its angular accelerations negligible about all axes
SLENDER = 0.1
MINOR = 1e-3  # of the largest accelerations of all bodies: lower bound of the scale of a body
SMALLEST = 1e-9  # of the size over the duration squared: largest accelerations of a model at rest
AT_REST = 1e-9  # of the size of the model, rad: largest motion within a run of a model at rest
# of the accelerations of a model at rest, which are residuals of its solver: the others may be as
# large
RESIDUAL = 3e4
# of a turn: limit of the difference between the change of an angle between outputs and the integral
# of its rate
WHOLE = 0.8
HALF_TURN = 0.5  # of a turn: largest recommended change of an angle in a step
# rad: change by the difference of the rates between two outputs, above which turns cannot be
# counted
STEADY = 0.5


class Difference(NamedTuple):
    """The largest difference over the largest value, and where it is."""

    share: float
    item: str
    t: float


def second_opinion(solution: SolutionData, mine: SolutionData, run: Run) -> list[Check]:
    """Checks of accelerations, reactions and angles by equations in other coordinates."""
    turns = lost_turns(solution) or uncounted_turns(solution, run)
    if len(solution.t) < 2:
        return turns
    if not len(mine.t):
        text = "not available: no stored state is without closed contacts, dry friction that holds "
        return [Check("Second opinion", PASS, text + "and jumps of drives"), *turns]
    theirs = states_in_both_coordinates(mine)
    if theirs is None:
        text = "not available: a state has no equivalent in other coordinates"
        return [Check("Second opinion", PASS, text), *turns]
    bodies, rest, sizes, largest = _scales(solution, mine)
    text = (
        f"{len(theirs.t)} states: the equations in {theirs.compiled.topology.coordinates} "
        "coordinates"
    )
    limits, fulfilled = WITHIN, mine
    violated = Difference(0.0, "", 0.0)
    if not run.context.clock.holds:
        fulfilled = _projected(solution, mine)
        violated = _accelerations(mine, fulfilled, bodies, sizes, rest)
        if violated.share <= LIMITS[0]:
            limits = LIMITS
    projected = {name: fulfilled.body(name) for name in bodies}
    worst = _accelerations(fulfilled, theirs, projected, sizes, rest)
    reactions = _reactions(fulfilled, theirs, largest)
    status = graded(worst.share, limits)
    remedy = f"{CONTROLLED if run.context.clock.fixed > 0.0 else SMALLER}; {REMEDY}"
    place = (
        f" at body {mine.compiled.whole_of(worst.item)}, t = {worst.t:.4g} s"
        if status != PASS
        else ""
    )
    found = (
        f"{text} differ by {worst.share:.1e} of the largest "
        f"acceleration{place}{'; the model is at rest' if rest else ''}"
    )
    checks = [Check("Second opinion", status, found, "" if status == PASS else remedy)]
    if not violated.share <= VIOLATED[0]:
        found = f"violate the constraints by {violated.share:.1e} of the largest one at body"
        found += f" {mine.compiled.whole_of(violated.item)}, t = {violated.t:.4g} s"
        checks.append(Check("Accelerations", graded(violated.share, VIOLATED), found, CONTROLLED))
    allowed = _of_reactions(run.method, limits)
    if not reactions.share <= allowed[0]:
        found = (
            f"{text} differ by {reactions.share:.1e} of the largest force at joint "
            f"{reactions.item}, t = {reactions.t:.4g} s"
        )
        checks.append(Check("Reactions", graded(reactions.share, allowed), found, remedy))
    return [*checks, *turns]


def differences(
    solution: SolutionData, mine: SolutionData, theirs: SolutionData
) -> tuple[Difference, Difference]:
    """Differences of accelerations and of reactions at states of a run in two coordinates."""
    bodies, rest, sizes, largest = _scales(solution, mine)
    return _accelerations(mine, theirs, bodies, sizes, rest), _reactions(mine, theirs, largest)


class AccelerationScales(NamedTuple):
    """Motions of the bodies at states, and the scales of their accelerations."""

    bodies: dict[str, BodyView]
    rest: bool  # True if the model is at rest
    sizes: dict[str, tuple[float, float]]  # m/s², rad/s²
    largest: float  # m/s², without the welds of divided bodies


def _scales(solution: SolutionData, mine: SolutionData) -> AccelerationScales:
    """Scales of the accelerations at states of a run."""
    bodies = {name: mine.body(name) for name in mine.compiled.bodies}
    rest = _at_rest(solution, mine)
    sizes = _sizes(mine, bodies, float(solution.t[-1] - solution.t[0]), rest)
    largest = max(size for size, _ in sizes.values())
    return AccelerationScales(bodies, rest, _of_pieces(mine, sizes), largest)


def _of_reactions(method: Integrator, limits: tuple[float, float]) -> tuple[float, float]:
    """Limits for the differences of reactions with a method.

    Those of accelerations, or those of the accuracy that the method promises.
    """
    if not method.projects_last:
        return limits
    tolerance = PROJECTED * float(method.rtol or 0.0) if method.step is None else np.inf
    share = min(tolerance, MOST_PROJECTED)
    return max(limits[0], share), max(limits[1], 10.0 * share)


def _projected(solution: SolutionData, mine: SolutionData) -> SolutionData:
    """The states with accelerations corrected to satisfy G ṡ = γ.

    The given states if velocities do not drift.
    """
    if not solution.drift[:, 1].any():
        return mine
    compiled, out = mine.compiled, mine.trajectory
    sd, lam, work = mine.sd.copy(), mine.lam.copy(), make_work(compiled.system, out.beta[0])
    for k, t in enumerate(mine.t):
        start_from(work, out.beta[k])
        q, s, z = mine.q[k].copy(), mine.s[k].copy(), out.z[k].copy()
        here = Evaluation(q, s, sd[k], lam[k], z, work.r)
        project_accelerations(compiled.system, work, float(t), here)
    compiled.callbacks.raise_error()
    return states_as_solution(compiled, out._replace(sd=sd, lam=lam), mine)


def states_in_both_coordinates(mine: SolutionData) -> SolutionData | None:
    """The states converted to the other set of coordinates; None if one cannot be.

    All of them, since verdicts must not depend on the machine.
    """
    source = mine.compiled
    other = "absolute" if source.topology.coordinates == "joint" else "joint"
    target = compile_model(source.declared, other).with_initial_constants(source.initial_constants)
    first = start_coordinates(target)
    state_at, work = converted_to(mine, target), make_work(target.system, first)
    out = Trajectory(*make_outputs(mine.t, facts(target), len(first)))
    for k, t in enumerate(mine.t):
        state = state_at(k)
        start_from(work, state.beta)
        work.path.force[:] = out.contact[k] = mine.trajectory.contact[k]
        settled = settle(target, work, float(t), state.q, state.s, state.z)
        if settled.status < 0:
            return None
        out.q[k], out.s[k], out.sd[k], out.lam[k] = state.q, state.s, settled.sd, settled.lam
        out.z[k], out.beta[k] = state.z, work.beta[:-SPARE]
    return states_as_solution(target, out, mine)


def converted_to(mine: SolutionData, target: Compiled) -> Callable[[int], InitialState]:
    """The states in the coordinates of ``target``."""
    compiled, z = mine.compiled, mine.trajectory.z
    if compiled.topology.coordinates != "joint":
        values = joint_values(target, mine, range(len(mine.t)))
        return lambda k: InitialState(*values[k], z=z[k])
    work = make_work(compiled.system, mine.trajectory.beta[0])

    def state(k: int) -> InitialState:
        """State of output k in the coordinates of ``target``."""
        start_from(work, mine.trajectory.beta[k])
        terms(compiled.system, work, float(mine.t[k]), mine.q[k], mine.s[k], z[k], matrices=False)
        eta = work.cut.eta.copy()
        here = InitialState(
            mine.q[k], mine.s[k], work.beta[:-SPARE].copy(), (), copied(work.motion), eta, z[k]
        )
        return converted(compiled, here, target)

    return state


def _at_rest(solution: SolutionData, mine: SolutionData) -> bool:
    """True if no coordinate changes during the run, except for round-off.

    Outputs alone would not show it: they may be at multiples of a period.
    """
    q, s = (
        np.concatenate([getattr(each, name) for each in (solution, mine)]) for name in ("q", "s")
    )
    moved = np.abs(displacements(solution.compiled, np.repeat(q[:1], len(q), axis=0), q)).max(
        axis=0
    )
    moved = np.maximum(moved, float(solution.t[-1] - solution.t[0]) * np.abs(s).max(axis=0))
    return bool((moved <= AT_REST * displacement_sizes(solution.compiled)).all())


def _sizes(
    mine: SolutionData, bodies: dict[str, BodyView], duration: float, rest: bool
) -> dict[str, tuple[float, float]]:
    """Scales (m/s², rad/s²) for acceleration errors of each body.

    Its own accelerations, gravity, those that would change its speed within the run, and small
    fractions of those by the joint forces and of the largest of all bodies. At ``rest`` its own
    accelerations are residuals, and the scale is larger.
    """
    own_share = RESIDUAL if rest else 1.0
    length, gravity = model_size(mine.compiled), float(np.linalg.norm(mine.model.gravity))
    held = (
        PRELOAD
        * max((largest_row(mine.joint(name).force) for name in mine.compiled.places), default=0.0)
        / _mass(mine)
    )
    own = {}
    for name, body in bodies.items():
        spin = largest_row(body.angular_velocity)
        turning = own_share * largest_row(body.angular_acceleration) + spin**2
        speed = max(largest_row(body.velocity), length * spin) / max(duration, 1e-300)
        smallest = SMALLEST * length / max(duration, 1e-300) ** 2
        own[name] = (
            max(
                gravity,
                own_share * largest_row(body.acceleration),
                length * turning,
                held,
                speed,
                smallest,
            ),
            turning,
        )
    most, fastest = (max(values) for values in zip(*own.values()))
    return {
        name: (
            max(linear, MINOR * most),
            max(turning, MINOR * fastest, NO_TURNING * max(linear, MINOR * most) / length),
        )
        for name, (linear, turning) in own.items()
    }


def _of_pieces(
    mine: SolutionData, sizes: dict[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """Scales, for pieces of divided bodies at least the accelerations by the forces of their welds.

    These forces balance but for the acceleration of a piece, which is therefore no more accurate
    than a share of what the largest of them alone would give a piece of the body.
    """
    found = dict(sizes)
    for own in mine.compiled.pieces.values():
        linear = turning = 0.0
        for name, joint in mine.compiled.model.joints.items():
            inside = {joint.parent.body, joint.child.body}.intersection(own.names)
            if inside:
                view = mine.joint(name)
                force, torque = largest_row(view.force), largest_row(view.torque)
            for piece in inside:
                data = mine.compiled.data[piece]
                moments = np.linalg.eigvalsh(central_inertia(data))
                moment = max(float(moments[0]), SLENDER * float(moments[-1]))
                arm = np.sqrt(moments[-1] / data.mass)
                linear = max(linear, force / data.mass)
                turning = max(turning, (torque + force * arm) / moment)
        for piece in own.names:
            a, alpha = found[piece]
            found[piece] = max(a, linear), max(alpha, turning)
    return found


def _accelerations(
    mine: SolutionData,
    theirs: SolutionData,
    bodies: dict[str, BodyView],
    sizes: dict[str, tuple[float, float]],
    rest: bool,
) -> Difference:
    """Relative differences of accelerations, angular accelerations and modal accelerations."""
    n = len(theirs.t)
    apart = []
    for name, a in bodies.items():
        b, (linear, turning) = theirs.body(name), sizes[name]
        apart.append((name, np.linalg.norm(a.acceleration[:n] - b.acceleration, axis=1) / linear))
        apart.append(
            (
                name,
                np.linalg.norm(a.angular_acceleration[:n] - b.angular_acceleration, axis=1)
                / turning,
            )
        )
        if name in mine.compiled.data:
            one, other = _elastic(mine, name), _elastic(theirs, name)
            size = max(
                RESIDUAL * largest_row(one) if rest else largest_row(one),
                _restoring(mine.compiled, name, a.elastic),
            )
            size = max(
                size,
                SMALLEST
                * linear
                / model_size(mine.compiled)
                * float(_mode_sizes(mine.compiled, name).min()),
            )
            apart.append((name, np.linalg.norm(one[:n] - other, axis=1) / size))
    return _largest(apart, theirs.t)


def _mass(solution: SolutionData) -> float:
    """Total mass of the bodies, kg."""
    return float(solution.compiled.system.bodies.mass.sum())


def _elastic(solution: SolutionData, name: str) -> np.ndarray:
    """Accelerations (nt, nf) of the modes."""
    tree, i = solution.compiled.system.tree, solution.compiled.bodies.index(name)
    return np.asarray(solution.sd[:, tree.sf_at[i] :][:, : tree.nf[i]])


def _mode_sizes(compiled: Compiled, name: str) -> np.ndarray:
    """(nf,) amplitudes of the modes that move a frame by the size of the model."""
    tree, i = compiled.system.tree, compiled.bodies.index(name)
    return displacement_sizes(compiled)[tree.sf_at[i] :][: tree.nf[i]]


def _restoring(compiled: Compiled, name: str, elastic: np.ndarray) -> float:
    """Largest accelerations of the modes in free vibration."""
    data = compiled.data[name]
    return (
        largest_row(elastic * (np.diagonal(data.K_ff) / np.diagonal(data.m_ff))) if data.nf else 0.0
    )


def _reactions(mine: SolutionData, theirs: SolutionData, largest: float) -> Difference:
    """Relative differences of unique joint forces and moments.

    largest: acceleration. Along free directions reactions are differences of inertia and applied
    forces, of which they cannot be more accurate than a share.
    """
    absolute = theirs if theirs.compiled.topology.coordinates == "absolute" else mine
    size = max(
        WEIGHTLESS * _mass(mine) * largest,
        largest_load(joint_loads(mine)),
        _largest_applied(absolute),
    )
    size = size or 1.0
    return _largest(
        [
            (name, apart.max(axis=1) / size)
            for name, apart in load_differences(mine, theirs).items()
        ],
        theirs.t,
    )


def _largest_applied(states: SolutionData) -> float:
    """Largest force on a body but for reactions, or moment over the size of the model [N].

    states: in absolute coordinates.
    """
    compiled, out, found = states.compiled, states.trajectory, 0.0
    rigid = np.ones(states.s.shape[1])
    rigid[elastic_velocities(compiled.system)] = 0.0
    per_newton = rigid * displacement_sizes(compiled) / model_size(compiled)
    work = make_work(compiled.system, out.beta[0])
    for k, t in enumerate(states.t):
        start_from(work, out.beta[k])
        q, s, z = states.q[k].copy(), states.s[k].copy(), out.z[k].copy()
        forces = terms(compiled.system, work, float(t), q, s, z, matrices=False).k
        found = max(found, float(np.abs(forces * per_newton).max(initial=0.0)))
    return found


def _largest(shares: list[tuple[str, np.ndarray]], t: np.ndarray) -> Difference:
    """Largest of named relative differences over time, with its name and time."""
    found = Difference(0.0, "", 0.0)
    for name, values in shares:
        k = int(np.nan_to_num(values, nan=np.inf).argmax())
        if not values[k] <= found.share:
            found = Difference(float(values[k]), name, float(t[k]))
    return found


def lost_turns(solution: SolutionData) -> list[Check]:
    """Angles of cut joints whose change between two outputs misses whole turns.

    The change is compared with the integral of the rates. Angles of primary joints are states and
    lose no turns.
    """
    dt = np.diff(solution.t)
    # multipliers are not used here
    histories = joint_histories(solution.compiled, solution.trajectory, redundant=False)
    for name in solution.joints:
        if name not in solution.compiled.topology.cuts:
            continue
        joint = declared_coordinates(solution.compiled, solution.trajectory, histories, name)
        motions = solution.compiled.model.joints[name].motions
        if any(motion.nq != motion.nv for motion in motions):
            continue
        axes = [motion for motion in motions for _ in range(motion.nq)]
        for c, motion in enumerate(axes):
            if not motion.turns:
                continue
            p, v = joint.position[:, c], joint.velocity[:, c]
            off = np.diff(p) - 0.5 * dt * (v[1:] + v[:-1])
            # below half a turn
            countable = (np.abs(np.diff(v)) * dt < STEADY) & (
                np.abs(v[1:] + v[:-1]) * dt < 2.0 * np.pi
            )
            jumps = np.flatnonzero(countable & (np.abs(off) > WHOLE * 2.0 * np.pi))
            if len(jumps):
                k = int(jumps[0])
                text = (
                    f"joint {name} turns by {off[k]:.3g} rad more than the integral of its "
                    f"rate at t = {solution.t[k + 1]:.4g} s"
                )
                return [Check("Joint angles", FAIL, text, "report it")]
    return []


def uncounted_turns(solution: SolutionData, run: Run) -> list[Check]:
    """Angles of cut joints that change by half a turn or more in one step.

    The angle of a cut joint is known up to whole turns, and the step takes the nearer of the two
    directions; couplings, forces, drives and limits that use the angle follow it.
    """
    compiled, change = solution.compiled, run.work.path.change
    size = np.abs(change[:, 0]) * change[:, 1]
    for k, name in enumerate(compiled.topology.cuts):
        motions, at = compiled.model.joints[name].motions, int(compiled.system.cuts.beta_at[k])
        if any(motion.nq != motion.nv for motion in motions):
            continue
        turns = [
            at + c
            for c, motion in enumerate(motion for motion in motions for _ in range(motion.nq))
            if motion.turns
        ]
        worst = max(turns, key=lambda place: size[place], default=-1)
        if worst >= 0 and size[worst] >= np.pi:
            rate, step = abs(change[worst, 0]), change[worst, 1]
            text = (
                f"joint {name} turns at {rate:.4g} rad/s, by half a turn or more in a step of "
                f"{step:.3g} s: turns are lost"
            )
            return [
                Check(
                    "Joint angles", FAIL, text, f"take steps below {HALF_TURN * np.pi / rate:.2g} s"
                )
            ]
    return []

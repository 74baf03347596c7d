"""Key numbers of a solution and its verdict.

For the report, its summary.json and the command line.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexmbs.algebra.so3 import euler_parameters
from flexmbs.diagnosis.rank import own_sizes
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work, start_from
from flexmbs.model.forces.force import BetweenFrames
from flexmbs.model.relations.relation import FunctionRows, Relation
from flexmbs.model.run import NONE
from flexmbs.results.between_outputs import rotation_vectors
from flexmbs.results.bodies import flexible_bodies
from flexmbs.results.check_cuts import cuts
from flexmbs.results.creep import creep_check
from flexmbs.results.drive_jumps import jump_check, near_jumps
from flexmbs.results.impact_steps import outputs_without_impacts
from flexmbs.results.linear_range import linear_range
from flexmbs.results.output_selection import equally_spaced, outputs_with_extremes
from flexmbs.results.stress_summary import most_used, stress_numbers, stressed_bodies, worst_ply
from flexmbs.system.check import FAIL, PASS, SWITCHED_OFF, WARN, Check, graded, verdict
from flexmbs.system.step_scales import (
    contact_sizes,
    displacement_sizes,
    extent,
    gaps_in_metres,
    model_size,
)

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

# limits of (PASS, WARN); beyond the second a check fails
ENERGY = (1e-3, 5e-2)  # energy error over the largest energy or work
AT_REST = 1e-18  # relative to mass (size/duration)²: energy below which a system is at rest
# relative to the work of forces over the size of the model: energies at round-off
ROUND_OFF = 1e-11
EXCHANGING = 5  # outputs at which that work is evaluated
AT_REST_ANALYSES = ("statics", "quasi-static")  # without velocities, which cannot jump
# round-off errors of the largest energy or work: for the run, and for each step
ROUNDED, IN_STEP = 10, 4
# |g| relative to the change of g by displacements of the model's size, or of 1 rad
POSITION_DRIFT = (1e-6, 1e-4)
# outputs at which the drift is judged; largest number of matrix entries for all of them
DRIFT_STATES, DRIFT_NUMBERS = 24, 2e7
# displacement over the run, in sizes of the model or rad, below which a model is at rest
STILL = 1e-3
OVERLAP = 1e-6  # penetration of rigid contacts, in sizes of the model or rad; FAIL above ten times
# m: for smaller models the tolerances of loop closure and of contact velocities are too large
SMALLEST = 1e-5
# relative to the model's size: lasting penetration, and the penetration added to one step at the
# approach speed with fixed steps
LASTING = 1e-3
# relative to the size of a contact: above the 0.02 left by unlocated impacts of fixed steps
DEEP = 0.05
VELOCITY_DRIFT = (1e-3, 1e-1)  # relative to the largest velocity
HALF_TURN = np.pi
LARGE_TURN = 0.95 * HALF_TURN  # rad, rotation between the frames of a bushing
REJECTED = 0.5  # fraction of the attempted steps: above, the step control struggles
REDUNDANCY = "Redundancy"  # title of a check


def checks(solution: SolutionData) -> list[Check]:
    """All checks that need only the outputs, in the order of the report.

    For a run that is not audited only its outcome, unless it has finished.
    """
    if solution.run.options.get("audit") == NONE:
        return [SWITCHED_OFF] if solution.run.finished else [_outcome(solution), SWITCHED_OFF]
    found = [
        _outcome(solution),
        _energy(solution),
        *_drifts(solution),
        _redundancy(solution),
        _steps(solution),
    ]
    found += (
        [] if solution.run.options.get("analysis") in AT_REST_ANALYSES else jump_check(solution)
    )
    found += [_overlap(solution)] if solution.overlaps else []
    found += _scale(solution)
    found += creep_check(solution)
    if unseen := int(solution.statistics.get("unseen_contacts", 0)):
        found.append(
            Check(
                "Missed contacts",
                FAIL,
                f"{unseen} closed and opened within one step, without contact force: see the notes",
            )
        )
    found += [
        check
        for name in solution.compiled.model.forces
        if (check := _rotation_between(solution, name))
    ]
    found += [
        check for name in flexible_bodies(solution) if (check := linear_range(solution, name))
    ]
    found += [check for name in flexible_bodies(solution) if (check := cuts(solution, name))]
    limits = (
        limit(solution, name)
        for name in stressed_bodies(solution)
        for limit in (_yield_check, _ply_check)
    )
    return found + [check for check in limits if check]


def _outcome(solution: SolutionData) -> Check:
    """Check that the run finished."""
    t_end = f"t = {solution.t[-1]:.6g} s"
    if solution.run.finished:
        return Check(
            "Outcome",
            PASS,
            f"finished at {t_end}" if solution.run.outcome == "finished" else solution.run.outcome,
        )
    return Check("Outcome", FAIL, f"{solution.run.outcome}; last output at {t_end}")


def _energy(solution: SolutionData) -> Check:
    """Check of the energy balance against the works of the forces."""
    if uncounted := _uncounted_work(solution):
        text = f"not judged: the work of the time-dependent {', '.join(uncounted)} is not included"
        return Check("Energy balance", PASS, text)
    energy = solution.energy
    missing = float(np.abs(energy.balance).max())
    if analysis := solution.run.options.get("analysis"):
        text = (
            f"not judged: works of {analysis} are sums over its outputs, {missing:.2e} J from "
            "the energies"
        )
        return Check("Energy balance", PASS, text)
    beyond = max(0.0, missing - _energy_round_off(solution))
    share = beyond / max(energy.scale, energy_at_rest(solution))
    return Check(
        "Energy balance",
        graded(share, ENERGY),
        f"balance error {missing:.2e} J, {share:.1e} of the largest energy or work",
    )


def _energy_round_off(solution: SolutionData) -> float:
    """Round-off error (J) of the energy balance.

    Per step an error of the largest energy, or of the exchangeable energy.
    """
    energy = solution.energy
    largest = max(
        energy.scale, float(np.abs(energy.potential).max()), exchangeable_energy(solution)
    )
    return (
        float(np.finfo(float).eps)
        * (ROUNDED + IN_STEP * int(solution.statistics.get("steps", 0)))
        * largest
    )


def energy_at_rest(solution: SolutionData) -> float:
    """Energy (J) below which a system is at rest or its energies are constant, within round-off."""
    mass = float(solution.compiled.system.bodies.mass.sum())
    size, duration = model_size(solution.compiled), float(solution.t[-1] - solution.t[0])
    slow = AT_REST * mass * (size / duration) ** 2 if duration else 0.0
    return max(slow, ROUND_OFF * exchangeable_energy(solution), 1e-300)


def exchangeable_energy(solution: SolutionData) -> float:
    """Reference energy (J) that a motion exchanges.

    Work of the weight, or of the forces k of M ṡ = k + Gᵀ λ, over the size of the model or 1 rad,
    or the kinetic energy. Forces that balance each other or do no work exchange none of it, except
    through round-off of the positions.
    """
    system, out, sizes = (
        solution.compiled.system,
        solution.trajectory,
        displacement_sizes(solution.compiled),
    )
    mass, gravity = float(system.bodies.mass.sum()), float(np.linalg.norm(solution.model.gravity))
    works = [
        mass * gravity * model_size(solution.compiled),
        float(solution.energy.kinetic.max(initial=0.0)),
    ]
    work = make_work(system, out.beta[0])
    for k in equally_spaced(len(out.t), EXCHANGING):
        start_from(work, out.beta[k])
        q, s = out.q[k].copy(), out.s[k].copy()
        forces = terms(system, work, float(out.t[k]), q, s, out.z[k], matrices=False).k
        works.append(float(np.abs(forces * sizes).max(initial=0.0)))
    return max(each for each in works if np.isfinite(each))


def _uncounted_work(solution: SolutionData) -> list[str]:
    """Names of time-dependent user constraints, whose work is not counted."""
    relations = (
        (name, joint.row())
        for name, joint in solution.model.joints.items()
        if isinstance(joint, Relation)
    )
    return [name for name, row in relations if isinstance(row, FunctionRows) and row.rheonomic]


class Drift(NamedTuple):
    """Errors of constraints relative to the change of the same rows by comparable displacements.

    These have the model's size, or 1 rad. gap: for positions. rate: for velocities (1/s). speed:
    the largest velocity in this measure (1/s).
    """

    gap: float
    rate: float
    speed: float


def _drifts(solution: SolutionData) -> list[Check]:
    """Checks of the constraint errors of positions and velocities."""
    if solution.drift.size == 0 or solution.compiled.n_constraints == 0:
        return [Check("Constraints", PASS, "there are no constraints")]
    largest, rate = (float(values.max(initial=0.0)) for values in solution.drift.T)
    drift = relative_drift(solution)
    share = drift.rate / drift.speed
    return [
        Check(
            "Position drift",
            graded(drift.gap, POSITION_DRIFT),
            f"largest |g| = {largest:.1e}, {drift.gap:.1e} of the model's size",
        ),
        Check(
            "Velocity drift",
            graded(share, VELOCITY_DRIFT),
            f"largest |Gs + γ̄| = {rate:.1e}, {share:.1e} of the largest speed",
        ),
    ]


def relative_drift(solution: SolutionData) -> Drift:
    """Constraint errors of the worst row relative to its motion: |g|/ρ and |G s + γ̄|/ρ.

    d: displacements of the model's size, or of 1 rad. Neither depends on the unit of length or on a
    scaling of the row. ρ is the largest value of the run, since rows vanish at singular positions;
    for frames at least the value for free displacements of the frames, which the tree may not
    allow. Evaluated at the outputs with the largest drift, and at others.
    """
    if not (np.isfinite(solution.drift).all() and np.isfinite(solution.s).all()):
        return Drift(np.inf, np.inf, 1.0)
    system, out, sizes = (
        solution.compiled.system,
        solution.trajectory,
        displacement_sizes(solution.compiled),
    )
    states = int(np.clip(DRIFT_NUMBERS / max(len(sizes), 1) ** 2, 2, DRIFT_STATES))
    work, calm, found = make_work(system, out.beta[0]), ~near_jumps(solution, out.t), []
    for k in outputs_with_extremes(out.drift.T, states):
        start_from(work, out.beta[k])
        here = terms(system, work, float(out.t[k]), out.q[k].copy(), out.s[k].copy(), out.z[k])
        counted = calm[k] and out.drift[k, 1] > 0.0
        rows = np.maximum(
            np.linalg.norm(here.G * sizes, axis=1), own_sizes(solution.compiled, work, len(here.g))
        )
        found.append((np.abs(here.g), counted * np.abs(here.gd), rows))
    g, gd, rows = (np.max(each, axis=0) for each in zip(*found))
    rows = np.where(rows > 0.0, rows, np.inf)
    duration = float(out.t[-1] - out.t[0])
    speed = max(
        float(np.abs(out.s / sizes).max(initial=0.0)), STILL / duration if duration else 1.0
    )
    # the stored drift may be larger between these outputs
    stored, largest = (
        out.drift[calm].max(axis=0, initial=0.0),
        np.array([each.max(initial=0.0) for each in (g, gd)]),
    )
    shares = np.array([float((each / rows).max(initial=0.0)) for each in (g, gd)])
    least = stored / float(rows[np.isfinite(rows)].max(initial=1e-300))
    gap, rate = np.where(
        largest > 0.0, shares * np.maximum(stored / np.maximum(largest, 1e-300), 1.0), least
    )
    return Drift(float(gap), float(rate), speed)


def _overlap(solution: SolutionData) -> Check:
    """Check of the penetration of rigid contacts against a small fraction of the model's size.

    With fixed steps the penetration of one step at the approach speed is added, and h² times the
    largest acceleration, bounded by a larger fraction of the contact's size.
    """
    length = extent(
        solution.compiled, np.array([solution.body(name).position[0] for name in solution.bodies])
    )
    sizes = dict(zip(solution.contacts, np.where(gaps_in_metres(solution.compiled), length, 1.0)))
    allowed = {name: OVERLAP * size for name, size in sizes.items()}
    if step := solution.run.options.get("step"):
        fastest = max(
            float(np.abs(solution.body(name).acceleration).max()) for name in solution.bodies
        )
        for name, own in zip(solution.contacts, contact_sizes(solution.compiled, length)):
            rate = float(np.abs(solution.contact(name).rate).max())
            allowed[name] += min(step * (rate + step * fastest), DEEP * own)
    name, depth = max(
        solution.overlaps.items(), key=lambda each: float(each[1].max()) / allowed[each[0]]
    )
    k = int(depth.argmax())
    status = graded(float(depth[k]) / allowed[name], (1.0, 10.0))
    lasting = max(float(each[-2:].min()) for each in solution.overlaps.values())
    if lasting > LASTING * model_size(solution.compiled) and status == PASS:
        text = (
            f"penetration at the end of the run {lasting:.1e} (m, rad): impacts occur a "
            "fraction of a step late"
        )
        return Check("Rigid contacts", WARN, text, "use smaller steps")
    text = "no penetration"
    if depth[k] != 0.0:
        text = f"largest penetration {depth[k]:.1e} (m, rad) of {name} at t = {solution.t[k]:.4g} s"
    return Check("Rigid contacts", status, text, "" if status == PASS else "use smaller steps")


def _scale(solution: SolutionData) -> list[Check]:
    """Check for models so small that tolerances in metres are no longer small."""
    if not (solution.overlaps or solution.compiled.n_constraints):
        return []
    places = np.concatenate([solution.body(name).position for name in solution.bodies])
    size = extent(solution.compiled, places)
    if size >= SMALLEST:
        return []
    text = (
        f"the model has a size of {size:.1e} m; tolerances of loops and contacts are 1e-9 … "
        "1e-6 in m and s"
    )
    return [
        Check(
            "Scale", WARN, text, "describe it in millimetres or micrometres, with consistent units"
        )
    ]


def _rotation_between(solution: SolutionData, name: str) -> Check | None:
    """Check that the rotation between the frames of a force stays small.

    For forces that depend on the rotation vector, which jumps to −θ at half a turn.
    """
    force = solution.compiled.model.forces[name]
    if (
        not isinstance(force, BetweenFrames)
        or force.place != BetweenFrames.place
        or force.turns_freely
    ):
        return None
    A, B = (solution.frame(ref).rotation for ref in force.frames())
    theta = rotation_vectors(np.array([euler_parameters(R) for R in np.swapaxes(A, 1, 2) @ B]))
    angle = np.linalg.norm(theta, axis=1)
    jumped = np.flatnonzero((theta[1:] * theta[:-1]).sum(axis=1) < -(HALF_TURN**2) / 8.0)
    k = int(jumped[0]) if len(jumped) else int(angle.argmax())
    if angle[k] < LARGE_TURN and not len(jumped):
        return None
    text = (
        f"its frames rotated by {angle[k]:.3g} rad at t = {solution.t[k]:.4g} s; its moment "
        "jumps at half a turn"
    )
    return Check(f"Rotation of {name}", FAIL, f"{text}: use a JointSpring instead")


def _redundancy(solution: SolutionData) -> Check:
    """Check that warns of redundant constraints."""
    redundant = solution.run.redundant
    if not redundant:
        text = "no redundant constraints"
        if any(contact.rigid for contact in solution.model.contacts.values()):
            text += "; contacts that act together are not examined, their forces may not be unique"
        return Check(REDUNDANCY, PASS, text)
    named = ", ".join(f"{name} ({rows} row{'' if rows == 1 else 's'})" for name, rows in redundant)
    return Check(
        REDUNDANCY,
        WARN,
        f"redundant constraints: {named}; the reactions of their loops are not unique",
    )


def _steps(solution: SolutionData) -> Check:
    """Check of the number of rejected steps.

    The error of fixed steps is estimated by other checks.
    """
    steps, rejected = (int(solution.statistics.get(key, 0)) for key in ("steps", "rejected"))
    if analysis := solution.run.options.get("analysis"):
        return Check("Steps", PASS, f"none: {steps} state{'s' * (steps != 1)} of {analysis}")
    if fixed := solution.run.options.get("step"):
        return Check(
            "Steps",
            PASS,
            f"{steps} steps of {fixed:g} s, fixed; their error is estimated, not controlled",
        )
    share = rejected / max(steps + rejected, 1)
    return Check(
        "Steps",
        PASS if share <= REJECTED else WARN,
        f"{steps} steps, {rejected} rejected ({100 * share:.0f} %)",
    )


def _yield_check(solution: SolutionData, name: str) -> Check | None:
    """Check of the largest von Mises stress against the yield stress, if known."""
    view = solution.body(name).stress.glance
    used = float(view.utilization.max(initial=0.0))
    return (
        Check(f"Stress of {name}", WARN if used > 1.0 else PASS, most_used(view))
        if used > 0.0
        else None
    )


def _ply_check(solution: SolutionData, name: str) -> Check | None:
    """Check of the largest Tsai–Wu failure index in the plies, if their strengths are known."""
    view = solution.body(name).stress.glance
    if not view.has_strengths:
        return None
    failed = bool(view.plies.envelope.tsai_wu.max() > 1.0)
    return Check(f"Plies of {name}", WARN if failed else PASS, worst_ply(view))


def summary(solution: SolutionData) -> dict[str, Any]:
    """Verdict, checks and key numbers as plain values."""
    found = solution.audit
    energy = solution.energy
    end = {
        key: float(getattr(energy, key)[-1]) for key in ("kinetic", "strain", "potential", "total")
    }
    # the work of a controller is part of the work of forces
    done = ("work_of_forces", *(["work_of_drives"] if solution.drives else []), "dissipated")
    works = {key: float(getattr(energy, key)[-1]) for key in done}
    joints = {name: _joint_numbers(solution, name) for name in solution.joints}
    return {
        "model": solution.compiled.model.name,
        "verdict": verdict(found),
        "checks": [asdict(check) for check in found],
        "t_end": float(solution.t[-1]),
        "outputs": len(solution.t),
        "bodies": len(solution.bodies),
        "elastic_coordinates": int(sum(data.nf for data in solution.compiled.data.values())),
        "coordinates": int(solution.q.shape[1]),
        "constraints": solution.compiled.n_constraints,
        "energy_at_end": end | works,
        "energy_missing": float(np.abs(energy.balance).max()),
        "drift": [float(value) for value in solution.drift.max(axis=0, initial=0.0)],
        "joints": joints,
        "stress": stress_numbers(solution),
        "statistics": solution.statistics,
        "options": solution.run.options,
        "events": [{"name": event.name, "t": event.t} for event in solution.events],
        "redundant": [list(pair) for pair in solution.run.redundant],
        "moved": [str(line) for line in solution.run.moved],
        "notes": [str(line) for line in solution.run.notes],
        "provenance": solution.run.provenance,
    }


def _joint_numbers(solution: SolutionData, name: str) -> dict[str, Any]:
    """Largest force and torque of a joint, and whether they are unique."""
    joint, calm = solution.joint(name), outputs_without_impacts(solution)
    force, torque = (
        float(np.linalg.norm(part[calm], axis=1).max()) for part in (joint.force, joint.torque)
    )
    return {"largest_force": force, "largest_torque": torque, "unique": joint.unique}

"""Creep of friction laws that are smooth at rest, where dry friction would stick.

A smooth law F(v), F(0) = 0, balances no force at rest: below its limit F_c a joint moves on at the
rate at which F(v) equals the applied force, |v| ≈ v_r Q/F_c. With the rate v_c at which the law
reaches 99 % of its limit,

    C = ∫ |v| dt over the times with |v| < v_c

is the creep distance. A reversal with acceleration a passes v_c within v_c²/a, which is small
compared with a motion at rates ≫ v_c. Source: docs/theory.md, section 39.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexmbs.model.contacts import FrameContact
from flexmbs.model.forces.force import JointForce
from flexmbs.model.forces.joint_friction import REACHED
from flexmbs.results.joint_friction import coordinate_position, dry_limits, friction_of
from flexmbs.system.check import PASS, WARN, Check
from flexmbs.system.step_scales import extent

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData
    from flexmbs.results.views import FloatArray

OF_MOTION = 1e-3  # creep relative to the total motion that changes results by at most 0.1 %
LEAST = 1e-4  # rad, or relative to the model's size (at most 1 m): invisible creep
JOINTS = "use DryFriction, which sticks, or a smaller regularization"
CONTACTS = "use a contact without law, which sticks, or a smaller slip_velocity"
SELDOM = 0.1  # of the outputs in motion: reversals take a smaller share
REACHES = "smooth friction reaches its limit, except about reversals"
SLOWLY = "use LuGreFriction, or a smaller regularization"
# analyses of given motions, in which friction causes efforts instead of motions
PRESCRIBED = ("kinematics", "inverse dynamics")
TURNS = "use a smaller turn_velocity of the law"


class Creep(NamedTuple):
    """Creep distance and total distance (m or rad) of a friction.

    allowed: negligible creep.
    """

    name: str
    distance: float
    travel: float
    allowed: float
    unit: str
    time: float  # s, duration of the creep
    remedy: str


def creeps(solution: SolutionData) -> list[Creep]:
    """Creep distances of all regularized frictions in joints and contacts."""
    places = np.array([solution.body(name).position[0] for name in solution.bodies])
    length = LEAST * min(1.0, extent(solution.compiled, places - places.mean(axis=0)))
    found = []
    for force in solution.model.forces.values():
        if isinstance(force, JointForce) and force.creep_rate > 0.0:
            found.append(_of_joint(solution, force, length))
    for name, contact in solution.model.contacts.items():
        if isinstance(contact, FrameContact) and contact.friction and creep_rate_of(contact) > 0.0:
            found.append(_of_contact(solution, name, contact, length))
        if isinstance(contact, FrameContact) and contact.law is not None:
            turns = {"rolling": contact.rolling_friction, "torsional": contact.torsional_friction}
            found += [
                _of_turning(solution, name, contact, kind) for kind, arm in turns.items() if arm
            ]
    return found


def creep_check(solution: SolutionData) -> list[Check]:
    """Check that regularized friction, which should stick, creeps little.

    Empty for a model without smooth friction or motion.
    """
    analysis = solution.run.options.get("analysis")
    if analysis in PRESCRIBED:
        return _sliding_check(solution)
    found = creeps(solution) if len(solution.t) > 1 and not analysis else []
    if not found:
        return []
    worst = max(found, key=lambda each: each.distance / each.allowed)
    text = (
        f"{worst.name} moved {worst.distance:.2e} {worst.unit} at rates at which it should "
        "have stuck"
    )
    if worst.distance <= worst.allowed:
        return [
            Check(
                "Sticking", PASS, f"{text}, negligible" if worst.distance else "no friction crept"
            )
        ]
    share = (
        f"{worst.distance / max(worst.travel, worst.distance):.2g} of its path, in "
        f"{worst.time:.3g} s"
    )
    return [Check("Sticking", WARN, f"{text}, {share}", worst.remedy)]


def _sliding_check(solution: SolutionData) -> list[Check]:
    """Check that smooth frictions reach their limits in a prescribed motion, WARN where not.

    The effort of a slow motion lacks what is missing.
    """
    frictions = [
        force
        for force in solution.model.forces.values()
        if isinstance(force, JointForce) and force.creep_rate > 0.0
    ]
    texts = [text for force in frictions if (text := _missing(solution, force))]
    if len(solution.t) > 1:
        crept = (each for each in creeps(solution) if each.remedy != JOINTS)
        texts += [each.name for each in crept if each.distance > each.allowed]
    if texts:
        text = f"{', '.join(texts)}: smooth friction is below its limit at such low rates"
        return [Check("Sticking", WARN, text, SLOWLY)]
    rests = [
        f"forces.{force.name} (up to {dry_limits(solution, force).max():.3g})"
        for force in frictions
        if not solution.joint(force.joint).velocity[:, force.coordinate].any()
    ]
    text = f"dry friction at rest is omitted: {', '.join(rests)} N or N m" if rests else REACHES
    return [Check("Sticking", PASS, text)] if frictions else []


def _missing(solution: SolutionData, force: JointForce) -> str:
    """Text with a smooth friction and its limit at low rates; "" if these are seldom."""
    rate = np.abs(solution.joint(force.joint).velocity[:, force.coordinate])
    slow = (rate > 0.0) & (rate < force.creep_rate)
    if np.count_nonzero(slow) <= SELDOM * np.count_nonzero(rate):
        return ""
    limit, own = dry_limits(solution, force), np.abs(friction_of(solution, force).force)
    k = int(np.where(slow, limit - own, -np.inf).argmax())
    turns, _ = coordinate_position(solution.model.joints[force.joint], force.coordinate)
    of = f"{own[k]:.3g} of {limit[k]:.3g} {'N m' if turns else 'N'}"
    return f"forces.{force.name} is {of} at t = {solution.t[k]:.4g} s"


def creep_rate_of(contact: FrameContact) -> float:
    """Slip velocity (m/s) below which contact friction is regularized; 0 if rigid."""
    return 0.0 if contact.law is None else float(contact.law.creep_rate)


def _of_joint(solution: SolutionData, force: JointForce, length: float) -> Creep:
    """Creep distance and time of the friction in a joint."""
    turns, q = coordinate_position(solution.model.joints[force.joint], force.coordinate)
    view = solution.joint(force.joint)
    speed, moved = np.abs(view.velocity[:, force.coordinate]), np.abs(np.diff(view.position[:, q]))
    # outputs at turning points only would hide the motion between them
    slow = moved <= force.creep_rate * np.diff(view.t) * (1.0 + 1e-9)
    distance, time = _creep_distance(view.t, speed, slow & _at_both_ends(speed < force.creep_rate))
    travel = float(np.trapezoid(speed, view.t))
    allowed = max(OF_MOTION * (travel - distance), LEAST if turns else length)
    return Creep(
        f"forces.{force.name}", distance, travel, allowed, "rad" if turns else "m", time, JOINTS
    )


def _of_contact(solution: SolutionData, name: str, contact: FrameContact, length: float) -> Creep:
    """Creep distance and time of the friction in a contact."""
    view, slip = solution.contact(name), np.linalg.norm(solution.contact(name).slip, axis=1)
    sticks = _at_both_ends((slip < creep_rate_of(contact)) & (view.normal > 0.0))
    distance, time = _creep_distance(view.t, slip, sticks)
    a, b = solution.frame(contact.parent), solution.frame(contact.child)
    relative = b.velocity - a.velocity - np.cross(a.angular_velocity, b.position - a.position)
    travel = float(np.trapezoid(np.maximum(np.linalg.norm(relative, axis=1), slip), view.t))
    return Creep(
        f"contacts.{name}",
        distance,
        travel,
        max(OF_MOTION * (travel - distance), length),
        "m",
        time,
        CONTACTS,
    )


def _of_turning(solution: SolutionData, name: str, contact: FrameContact, kind: str) -> Creep:
    """Creep of the rolling or torsional friction of a contact."""
    view = solution.contact(name)
    rate = (
        np.abs(view.turning[:, 0])
        if kind == "torsional"
        else np.linalg.norm(view.turning[:, 1:], axis=1)
    )
    slow = rate < REACHED * contact.law.turn_rate
    distance, time = _creep_distance(view.t, rate, _at_both_ends(slow & (view.normal > 0.0)))
    travel = float(np.trapezoid(rate, view.t))
    allowed = max(OF_MOTION * (travel - distance), LEAST)
    return Creep(
        f"{kind} friction of contacts.{name}", distance, travel, allowed, "rad", time, TURNS
    )


def _at_both_ends(at: np.ndarray) -> np.ndarray:
    """Mask (nt − 1,) of the intervals with a condition true at both ends."""
    return at[1:] & at[:-1]


def _creep_distance(t: FloatArray, speed: FloatArray, sticks: np.ndarray) -> tuple[float, float]:
    """Distance and duration of the intervals in which a friction should have stuck."""
    dt = np.diff(t)
    return float((0.5 * (speed[1:] + speed[:-1]) * dt)[sticks].sum()), float(dt[sticks].sum())

"""Friction in joints over a run: generalized force and dissipated power of each friction."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexmbs.model.contacts import DryFriction
from flexmbs.model.forces import LuGreFriction
from flexmbs.model.forces.force import JointForce
from flexmbs.model.model import ModelData
from flexmbs.results.views import FloatArray, JointView

if TYPE_CHECKING:
    from flexmbs.model.joints import Joint
    from flexmbs.results.solution import SolutionData

KINDS = ("joint-friction", "lugre-friction", "pin-friction", "guide-friction", "user-friction")


class FrictionHistory(NamedTuple):
    """Friction Q (nt,) in a degree of freedom of a joint, and dissipated power −Q η (nt,) [W].

    unit: that of Q, "N" or "N m".
    """

    name: str
    kind: str
    joint: str
    unit: str
    force: FloatArray
    power: FloatArray

    def lost(self, t: FloatArray) -> float:
        """Energy lost by friction (J), by the trapezoidal rule."""
        return float(np.trapezoid(self.power, t))


def joint_frictions(solution: SolutionData) -> tuple[list[FrictionHistory], list[str]]:
    """(friction histories of all joints, notes on failed functions).

    From coordinates, rates and reactions at the outputs.
    """
    found, notes = [], []
    for force in solution.model.forces.values():
        if isinstance(force, JointForce) and force.kind in KINDS:
            try:
                found.append(friction_of(solution, force))
            except Exception as error:  # a failing user function must not prevent the page
                notes.append(f"{force.name} is not shown: {error}")
    found += [
        _dry(solution, each)
        for each in solution.model.contacts.values()
        if isinstance(each, DryFriction)
    ]
    return found, notes


def bristle_frictions(model: ModelData) -> list[LuGreFriction]:
    """Frictions of a model that hold by bristles up to a limit."""
    return [force for force in model.forces.values() if isinstance(force, LuGreFriction)]


def _dry(solution: SolutionData, friction: DryFriction) -> FrictionHistory:
    """Force and power of dry friction with sticking."""
    view = solution.contact(friction.name)
    turns, _ = coordinate_position(solution.model.joints[friction.joint], friction.coordinate)
    unit, force = "N m" if turns else "N", view.friction[:, 0]
    return FrictionHistory(
        friction.name, friction.kind, friction.joint, unit, force, -force * view.slip[:, 0]
    )


def _states(solution: SolutionData, force: JointForce) -> FloatArray:
    """Force states (nt, n) of a joint force."""
    joint_forces = [
        each.name for each in solution.model.forces.values() if each.place == force.place
    ]
    law, k = solution.compiled.system.forces.joint.law, joint_forces.index(force.name)
    return solution.trajectory.z[:, law.state[k] : law.state[k] + law.n_states[k]]


def friction_of(solution: SolutionData, force: JointForce) -> FrictionHistory:
    """Force and power of a friction force, evaluated again at the outputs."""
    rate = solution.joint(force.joint).velocity[:, force.coordinate]
    effort = _at_rates(solution, force, rate)
    turns, _ = coordinate_position(solution.model.joints[force.joint], force.coordinate)
    return FrictionHistory(
        force.name, force.kind, force.joint, "N m" if turns else "N", effort, -effort * rate
    )


def _at_rates(solution: SolutionData, force: JointForce, rate: FloatArray) -> FloatArray:
    """Friction (nt,) at the outputs, at their own or other rates of its coordinate."""
    joint, view = solution.model.joints[force.joint], solution.joint(force.joint)
    row = force.row()
    loads = _loads(joint, force.coordinate, view) if row.loaded else _states(solution, force)
    constants = [np.array(row.constants)] if row.constants else []
    beyond = [0.0] * (row.states + 1)  # no implicit stage
    _, q = coordinate_position(joint, force.coordinate)
    effort, out = np.zeros(len(view.t)), np.zeros(8)
    for i, t in enumerate(view.t):
        x = [float(t), float(view.position[i, q]), float(rate[i])]
        u = [float(law(*x, loads[i], *constants)) for law in row.laws]
        out[:] = 0.0
        row.law.value(row.parameters, u, [*x, *loads[i].tolist(), *beyond], out)
        effort[i] = out[0]
    return effort


def dry_limits(solution: SolutionData, force: JointForce) -> FloatArray:
    """Limits (nt,) of a smooth friction at the outputs, in the direction with the larger one.

    Of slow motions: at its creep rate a smooth law reaches 99 % of it.
    """
    rate = np.full(len(solution.t), force.creep_rate)
    sides = [np.abs(_at_rates(solution, force, sign * rate)) for sign in (1.0, -1.0)]
    return np.asarray(np.maximum(*sides) / 0.99)


def bristle_shares(solution: SolutionData, friction: LuGreFriction) -> FloatArray:
    """Shares (nt,) of its limit that the bristles of a friction carry at the outputs."""
    deflection = _states(solution, friction)[:, 0]
    return np.asarray(np.abs(friction.stiffness * deflection) / friction.limit)


def coordinate_position(joint: Joint, number: int) -> tuple[bool, int]:
    """(True for a rotation, position index) of a degree of freedom of a joint."""
    q = v = 0
    for motion in joint.motions:
        if v <= number < v + motion.nv:
            return motion.turns, q + number - v
        q, v = q + motion.nq, v + motion.nv
    raise ValueError(f"joint '{joint.name}' has no degree of freedom {number}")


def _loads(joint: Joint, number: int, view: JointView) -> FloatArray:
    """Joint loads (nt, 4) for friction, zero if the joint does not carry load.

    Force across and along the axis, and moment across and about it; the axis has the same
    components in parent and child.
    """
    motion = [each for each in joint.motions if each.nv][number]
    v, w = np.array(motion.unit_twist).reshape(2, 3)
    a = (w if w.any() else v) / np.linalg.norm(w if w.any() else v)
    force, moment = view.wrench[:, :3], view.wrench[:, 3:]
    along, torsion = force @ a, moment @ a
    single = joint.nv == 1
    return np.column_stack(
        [
            np.linalg.norm(force - along[:, None] * a, axis=1),
            np.abs(along) * (single and motion.turns),
            np.linalg.norm(moment - torsion[:, None] * a, axis=1),
            np.abs(torsion) * (single and not motion.turns),
        ]
    )

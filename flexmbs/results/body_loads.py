"""Loads of one flexible body over a run, as factors of its unit loads.

    ζ = (a − g, ω̇, ω_x², ω_y², ω_z², ω_xω_y, ω_yω_z, ω_zω_x, then force and moment on each interface)

in body axes. a is the acceleration of the origin of the body frame. The wrench on an interface is
the sum over all joints, drives, springs and forces there, with the moments of rotors, about the
current position of the interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexmbs.model.frames import frame_ref
from flexmbs.results.views import FloatArray

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData


class LoadFactors(NamedTuple):
    """Factors ζ (nt, 12 + 6k) of the unit loads of a body.

    uncorrected: loaded frames without unit loads. open_joints: joints on the body whose wrench is
    not unique because of redundant constraints.
    """

    factors: FloatArray
    uncorrected: tuple[str, ...]
    open_joints: tuple[str, ...] = ()


def body_loads(solution: SolutionData, body: str, interfaces: Sequence[str]) -> LoadFactors:
    """Load factors over time of a body with unit loads at ``interfaces``."""
    wrenches = frame_wrenches(solution, body)
    nothing = np.zeros((len(solution.t), 6))
    columns = [
        inertia_factors(solution, body),
        *(wrenches.get(name, nothing) for name in interfaces),
    ]
    others = tuple(
        f"{solution.compiled.whole_of(body)}/{name}"
        for name in wrenches
        if name and name not in interfaces
    )
    joints = solution.compiled.model.joints.items()
    touching = [name for name, joint in joints if body in (joint.parent.body, joint.child.body)]
    open_joints = tuple(
        name for name in touching if solution.run.redundant and not solution.joint(name).unique
    )
    return LoadFactors(np.concatenate(columns, axis=1), others, open_joints)


def inertia_factors(solution: SolutionData, body: str) -> FloatArray:
    """Factors (a − g, ω̇, products of ω) in body axes, (nt, 12)."""
    motion = solution.body(body)
    gravity = np.asarray(solution.compiled.model.gravity, float)
    a, alpha, omega = (
        np.einsum("tji,tj->ti", motion.rotation, vector)
        for vector in (
            motion.acceleration - gravity,
            motion.angular_acceleration,
            motion.angular_velocity,
        )
    )
    x, y, z = omega.T
    return np.concatenate(
        [a, alpha, np.stack([x * x, y * y, z * z, x * y, y * z, z * x], axis=1)], axis=1
    )


def frame_wrenches(solution: SolutionData, body: str) -> dict[str, FloatArray]:
    """Force and moment (nt, 6) on each loaded frame of a body.

    About the position of the frame, in body axes.
    """
    found: dict[str, FloatArray] = {}
    for name, joint in solution.compiled.model.joints.items():
        view = solution.joint(name)
        if joint.child.body == body:
            _add(found, joint.child.frame, _in_body(solution, body, view.force, view.torque))
        if joint.parent.body == body:
            arm = solution.frame(joint.child).position - solution.frame(joint.parent).position
            moment = view.torque + np.cross(arm, view.force)
            _add(found, joint.parent.frame, _in_body(solution, body, -view.force, -moment))
    for name, torque in solution.rotor_moments.items():
        carrier = solution.compiled.model.joints[solution.compiled.model.rotors[name].joint].parent
        if carrier.body == body:
            world = np.einsum("tij,tj->ti", solution.frame(carrier).rotation, torque)
            _add(found, carrier.frame, _in_body(solution, body, np.zeros_like(world), world))
    frames, number = solution.compiled.system.frames, solution.compiled.bodies.index(body)
    for name, wrench in solution.applied.items():
        ref = frame_ref(name)
        if frames.body[solution.compiled.frames[ref]] == number:
            _add(found, ref.frame, wrench)
    return found


def _add(found: dict[str, FloatArray], frame: str, wrench: FloatArray) -> None:
    """Add a wrench to the sum at a frame."""
    found[frame] = found.get(frame, 0.0) + wrench


def _in_body(
    solution: SolutionData, body: str, force: FloatArray, moment: FloatArray
) -> FloatArray:
    """Wrench (nt, 6) in the axes of a body, from force and moment in world axes."""
    A = solution.body(body).rotation
    return np.concatenate([np.einsum("tji,tj->ti", A, part) for part in (force, moment)], axis=1)

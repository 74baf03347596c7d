"""Flexible multibody dynamics in the floating frame of reference."""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "flexmbs.model.model": "Model load",
    "flexmbs.model.frames": "Frame FrameRef",
    "flexmbs.model.bodies": "FlexibleBody PointMass RigidBody",
    "flexmbs.model.joints": (
        "Chain Cylindrical Distance Fixed Free Planar Prismatic Revolute Screw Spherical Translation Universal"
    ),
    "flexmbs.model.relations": "Holonomic KnifeEdge RollingDisc RollingSphere VelocityRows",
    "flexmbs.model.motions": "Ball FreeMotion Rotate Shift Slide Turn Twist",
    "flexmbs.model.laws": "PD PID Constant Function Ramp Sine SmoothStep SpringDamper Table",
    "flexmbs.model.forces": "Bushing FrameForce JointFriction JointSpring JointTorque PointSpring UserForce",
    "flexmbs.model.drives": "Drive",
    "flexmbs.model.contact_laws": "HuntCrossley",
    "flexmbs.model.contacts": "CornerLine JointLimit SpherePlane SphereSphere",
    "flexmbs.model.run": "Run",
    "flexmbs.flexible_body": "FlexibleBodyData FlexibleFrame",
    "flexmbs.errors": "AssemblyWarning AuditError AuditWarning FlexmbsError InputError MachineError ModelWarning SolverError",
    "flexmbs.analysis.simulate": "simulate",
    "flexmbs.analysis.assemble": "assemble",
    "flexmbs.analysis.compare": "compare",
    "flexmbs.analysis.state": "state state_of",
    "flexmbs.analysis.statics": "quasi_static statics",
    "flexmbs.analysis.kinematics": "kinematics",
    "flexmbs.analysis.inverse_dynamics": "inverse_dynamics",
    "flexmbs.analysis.linearize": "linearize",
    "flexmbs.analysis.matrices": "matrices",
    "flexmbs.analysis.closing": "Assemble",
    "flexmbs.results": "Solution",
    "flexmbs.formalisms.embedding": "Embedding",
    "flexmbs.formalisms.multiplier": "Multiplier",
    "flexmbs.formalisms.recursive": "Recursive",
    "flexmbs.formalisms.partitioning": "Partitioning",
    "flexmbs.formalisms.stabilization": "Baumgarte Projection",
    "flexmbs.analysis.event": "Event",
    "flexmbs.robots.robot": "Robot",
    "flexmbs.integrators": "DormandPrince ESDIRK EventDriven GeneralizedAlpha MoreauJean Rattle",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

if TYPE_CHECKING:
    from flexmbs.analysis.assemble import assemble
    from flexmbs.analysis.closing import Assemble
    from flexmbs.analysis.compare import compare
    from flexmbs.analysis.event import Event
    from flexmbs.analysis.inverse_dynamics import inverse_dynamics
    from flexmbs.analysis.kinematics import kinematics
    from flexmbs.analysis.linearize import linearize
    from flexmbs.analysis.matrices import matrices
    from flexmbs.analysis.simulate import simulate
    from flexmbs.analysis.state import state, state_of
    from flexmbs.analysis.statics import quasi_static, statics
    from flexmbs.errors import (
        AssemblyWarning,
        AuditError,
        AuditWarning,
        FlexmbsError,
        InputError,
        MachineError,
        ModelWarning,
        SolverError,
    )
    from flexmbs.flexible_body import FlexibleBodyData, FlexibleFrame
    from flexmbs.formalisms.embedding import Embedding
    from flexmbs.formalisms.multiplier import Multiplier
    from flexmbs.formalisms.partitioning import Partitioning
    from flexmbs.formalisms.recursive import Recursive
    from flexmbs.formalisms.stabilization import Baumgarte, Projection
    from flexmbs.integrators import ESDIRK, DormandPrince, EventDriven, GeneralizedAlpha, MoreauJean, Rattle
    from flexmbs.model.bodies import FlexibleBody, PointMass, RigidBody
    from flexmbs.model.contact_laws import HuntCrossley
    from flexmbs.model.contacts import CornerLine, JointLimit, SpherePlane, SphereSphere
    from flexmbs.model.drives import Drive
    from flexmbs.model.forces import Bushing, FrameForce, JointFriction, JointSpring, JointTorque, PointSpring, UserForce
    from flexmbs.model.frames import Frame, FrameRef
    from flexmbs.model.joints import (
        Chain,
        Cylindrical,
        Distance,
        Fixed,
        Free,
        Planar,
        Prismatic,
        Revolute,
        Screw,
        Spherical,
        Translation,
        Universal,
    )
    from flexmbs.model.laws import PD, PID, Constant, Function, Ramp, Sine, SmoothStep, SpringDamper, Table
    from flexmbs.model.model import Model, load
    from flexmbs.model.motions import Ball, FreeMotion, Rotate, Shift, Slide, Turn, Twist
    from flexmbs.model.relations import Holonomic, KnifeEdge, RollingDisc, RollingSphere, VelocityRows
    from flexmbs.model.run import Run
    from flexmbs.results import Solution
    from flexmbs.robots.robot import Robot

__all__ = [  # noqa: RUF022
    "Model", "load", "Frame", "FrameRef",
    "FlexibleBody", "PointMass", "RigidBody", "FlexibleBodyData", "FlexibleFrame",
    "Chain", "Cylindrical", "Distance", "Fixed", "Free", "Planar", "Prismatic", "Revolute", "Screw", "Spherical", "Translation",
    "Universal", "KnifeEdge", "RollingDisc", "RollingSphere", "Holonomic", "VelocityRows",
    "Ball", "FreeMotion", "Rotate", "Shift", "Slide", "Turn", "Twist",
    "PD", "PID", "Constant", "Function", "Ramp", "Sine", "SmoothStep", "SpringDamper", "Table",
    "Bushing", "FrameForce", "JointFriction", "JointSpring", "JointTorque", "PointSpring", "UserForce", "Drive",
    "SpherePlane", "SphereSphere", "CornerLine", "JointLimit", "HuntCrossley",
    "Robot", "Run", "simulate", "compare", "assemble", "Assemble", "Solution", "Event",
    "state", "state_of", "statics", "quasi_static", "kinematics", "inverse_dynamics", "linearize", "matrices",
    "Multiplier", "Embedding", "Partitioning", "Recursive", "Baumgarte", "Projection", "GeneralizedAlpha", "DormandPrince",
    "ESDIRK", "EventDriven", "Rattle", "MoreauJean",
    "FlexmbsError", "InputError", "MachineError", "SolverError", "AssemblyWarning", "AuditWarning", "AuditError", "ModelWarning",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Public names are imported when first used, so that the command line starts without numpy."""
    if name not in _HOME:
        raise AttributeError(f"module 'flexmbs' has no attribute '{name}'")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

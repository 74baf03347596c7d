"""Inputs of a stepper as forces.

u is a force state with ż = 0, so it is part of the state and held until it is set again.

They are not registered: a `Stepper` adds them to its copy of a model, and files do not contain
them.
"""

from flexmbs.law_kernel import Row, StateName, law_kernel
from flexmbs.model.forces.force import OnFrame
from flexmbs.model.laws import JointLaw

INPUTS = (("force", "N"), ("moment", "N m"))
MOTION = 19  # numbers of time and motion of a frame, which precede its force states


@law_kernel
def held_effort(p, u, x, out):
    """Kernel of a joint force that is held as force state, τ = z, ż = 0."""
    out[0] = x[3]


@held_effort.slopes
def no_slopes(p, u, x, out):
    """Kernel of zero slopes: the force does not depend on the motion."""


@law_kernel
def held_wrench(p, u, x, out):
    """Kernel of a force and torque held as force states in world axes, ż = 0."""
    for a in range(6):
        out[a] = x[MOTION + a]


@held_wrench.slopes
def no_wrench_slopes(p, u, x, out):
    """Kernel of zero slopes of a held force and torque."""


class HeldEffort(JointLaw):
    """Generalized force Q = z (N or N m), one force state."""

    def row(self) -> Row:
        """Kernel of a joint force held constant between inputs, as a state."""
        return Row(held_effort, states=1, names=(StateName("input", "{Q}"),))


class HeldWrench(OnFrame):
    """Force (N) and torque (N m) on a frame in world axes, six force states."""

    def row(self) -> Row:
        """Kernel of a force and torque held constant between inputs, as six states."""
        names = [StateName(f"input {kind} {a}", u) for kind, u in INPUTS for a in "xyz"]
        return Row(held_wrench, states=6, names=tuple(names))

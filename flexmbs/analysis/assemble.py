"""`assemble`: consistent initial positions and velocities, and what had to move for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from flexmbs.analysis.arguments import instant
from flexmbs.analysis.closing import Assemble, Weight
from flexmbs.analysis.initial import InitialState, Moved, consistent_state, joint_coordinates
from flexmbs.analysis.rank import Singular, redundant_rows, singular_position
from flexmbs.model.check import declaration_report
from flexmbs.model.model import Model
from flexmbs.system.compile import Compiled


@dataclass(frozen=True)
class JointState:
    """Coordinates and velocities of one joint."""

    position: np.ndarray
    velocity: np.ndarray


@dataclass(frozen=True)
class Assembly:
    """Consistent initial state: every joint's coordinates, what moved from the declared values, redundant constraints."""

    joints: dict[str, JointState]
    moved: tuple[Moved, ...]
    redundant: list[tuple[str, int]]
    compiled: Compiled = field(repr=False)
    state: InitialState = field(repr=False)
    singular: Singular | None = field(default=None, repr=False)

    def __str__(self) -> str:
        lines = [f"{name}: q = {_numbers(joint.position)}, v = {_numbers(joint.velocity)}" for name, joint in self.joints.items()]
        lines += [f"moved: {moved}" for moved in self.moved]
        lines += [redundancy_text(name, rows) for name, rows in self.redundant]
        lines += [str(self.singular)] if self.singular else []
        return "\n".join(lines)


def assemble(
    model: Model, *, t: float = 0.0, locked: str | Sequence[str] = (), weights: Mapping[str, Weight] | None = None
) -> Assembly:
    """The initial state that fulfils all joints and drives at time ``t`` with the least change of the declared one.

    The change of tree joints counts with the mass matrix; of cut joints those take part whose ``q0`` or ``v0`` is given, so that
    they choose between positions in which a loop closes. ``locked`` joints are held exactly; ``weights`` (joint → number, or one
    per freedom) make joints harder (> 1) or easier (< 1) to move. Positions by damped Newton steps, then velocities.
    Raises `InputError` that names the joint and the gap where a loop does not close, and locked joints that contradict.
    """
    declaration_report(model).raise_errors()
    return assembly(model, instant(t), Assemble(locked, weights or {}))


def assembly(model: Model, t: float, how: Assemble | None = None) -> Assembly:
    """The initial state of a model whose declarations have been checked; redundancy is judged beside a singular start."""
    compiled, start = consistent_state(model, t=t, how=how)
    joints = {name: JointState(*joint_coordinates(compiled, start, name)) for name in model.joints}
    singular = singular_position(compiled, start)
    regular = singular.near if singular else start
    redundant = redundant_rows(compiled, regular.q, regular.s, regular.beta)
    return Assembly(joints, start.moved, redundant, compiled, start, singular)


def redundancy_text(joint: str, rows: int) -> str:
    """One line that names a joint with dependent constraints."""
    count = "1 constraint depends" if rows == 1 else f"{rows} constraints depend"
    return (
        f"joint '{joint}': {count} on the others; the motion is unique, reactions are not (least-norm multipliers are reported)"
    )


def _numbers(values: np.ndarray) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in values) + ")"

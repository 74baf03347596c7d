"""`assemble`: consistent initial positions and velocities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from flexmbs.checked_arguments import checked_arguments
from flexmbs.diagnosis.rank import Singular, redundant_rows, singular_position
from flexmbs.initial.analysis_arguments import instant
from flexmbs.initial.assembly import Assemble, Weight
from flexmbs.initial.initial_state import (
    InitialState,
    Moved,
    initial_state,
    joint_coordinates,
    warn_of_moved,
)
from flexmbs.model.check import declaration_report
from flexmbs.model.model import ModelData
from flexmbs.system.compile import Compiled


@dataclass(frozen=True)
class JointState:
    """Coordinates and velocities of one joint."""

    position: np.ndarray
    velocity: np.ndarray


@dataclass(frozen=True)
class Assembly:
    """Consistent initial state.

    Coordinates of every joint, changes of the declared values, redundant constraints.
    """

    joints: dict[str, JointState]
    moved: tuple[Moved, ...]
    redundant: list[tuple[str, int]]
    compiled: Compiled = field(repr=False)
    state: InitialState = field(repr=False)
    singular: Singular | None = field(default=None, repr=False)

    def __str__(self) -> str:
        lines = [
            f"{name}: q = {_numbers(joint.position)}, v = {_numbers(joint.velocity)}"
            for name, joint in self.joints.items()
        ]
        lines += [f"moved: {moved}" for moved in self.moved]
        lines += [redundancy_text(self.compiled.model, name, rows) for name, rows in self.redundant]
        lines += [str(self.singular)] if self.singular else []
        return "\n".join(lines)


@checked_arguments
def assemble(
    model: ModelData,
    *,
    t: float = 0.0,
    locked: str | Sequence[str] = (),
    weights: Mapping[str, Weight] | None = None,
    elastic: bool = False,
    strict: bool = False,
) -> Assembly:
    """Consistent initial state at time ``t`` that keeps the declared values.

    It satisfies all joints, drives and couplings. locked: joints held exactly. weights: joint →
    number, or one per degree of freedom, to make joints harder (> 1) or easier (< 1) to move.
    elastic: bodies deform with the least strain energy if loops do not close otherwise. strict:
    declared values that cannot be kept are an error.

    Joints whose ``q0`` or ``v0`` is given keep it if the constraints allow it, tree and cut joints
    alike; the others move by the least change in the metric of the mass matrix. Declared values
    that cannot be kept change as little as possible, with an `AssemblyWarning`, or an `InputError`
    if ``strict``. Bodies keep their declared deformation unless ``elastic``. Prescribed motions are
    always satisfied. Raises `InputError` that names the joint and the gap if a loop does not close,
    and locked joints that are inconsistent. Source: docs/theory.md, section 50.

    Examples
    --------
    >>> import math
    >>> import flexmbs as fm
    >>> model = fm.Model("roof", frames={"right wall": (0.6, 0, 0)})
    >>> for name, x in (("left", 0.5), ("right", -0.5)):
    ...     beam = model.add(
    ...         fm.RigidBody(name, mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"top": (x, 0, 0)})
    ...     )
    >>> one = model.add(fm.Revolute("one", model.ground, "left", axis="-y", q0=math.acos(0.6)))
    >>> other = model.add(fm.Revolute("other", model.ground["right wall"], "right", axis="y"))
    >>> ridge = model.add(fm.Revolute("ridge", "left/top", "right/top", axis="y"))
    >>> fm.assemble(model).joints["other"].position.round(4).tolist()  # arccos(0.3/0.5), too
    [0.9273]
    """
    declaration_report(model).raise_errors()
    found = assembly(
        model,
        instant(t),
        Assemble(locked, {} if weights is None else weights, elastic=elastic, strict=strict),
    )
    if t == 0.0:
        warn_of_moved(found.state)
    return found


def assembly(model: ModelData, t: float, how: Assemble | None = None) -> Assembly:
    """Consistent initial state of a model whose declarations have been checked.

    Redundancy is judged near the initial position if that is singular.
    """
    compiled, start = initial_state(model, t=t, how=how)
    joints = {name: JointState(*joint_coordinates(compiled, start, name)) for name in model.joints}
    singular = singular_position(compiled, start)
    regular = singular.near if singular else start
    redundant = redundant_rows(compiled, regular.q, regular.s, regular.beta)
    return Assembly(joints, start.moved, redundant, compiled, start, singular)


def redundancy_text(model: ModelData, name: str, rows: int) -> str:
    """One line that names a joint, drive or coupling with dependent constraints."""
    kind = "joint" if name in model.joints else "drive" if name in model.drives else "coupling"
    count = "1 constraint depends" if rows == 1 else f"{rows} constraints depend"
    return (
        f"{kind} '{name}': {count} on the others; the motion is unique, reactions are not "
        "(those of least norm are reported)"
    )


def _numbers(values: np.ndarray) -> str:
    """Numbers in parentheses as text, with six digits."""
    return "(" + ", ".join(f"{value:.6g}" for value in values) + ")"

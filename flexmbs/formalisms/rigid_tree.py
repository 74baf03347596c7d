"""Recursion of rigid trees under gravity and joint forces: the articulated-body algorithm.

M ṡ = τ + k in O(n). `Recursive` uses it if nothing else acts (`is_rigid_tree`) and an explicit
method asks for accelerations. Equations: `flexmbs.dynamics.articulated_rigid`. Theory:
docs/theory.md, section 20; Featherstone, Rigid Body Dynamics Algorithms (2008), section 7.3.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from flexmbs.algebra.works import clear_works
from flexmbs._jit import part
from flexmbs.dynamics.articulated_rigid import rigid_accelerations
from flexmbs.dynamics.articulated_work import RigidChild, make_rigid
from flexmbs.dynamics.joint_forces import ALL, apply_joint_forces
from flexmbs.formalisms.formalism import Formalism
from flexmbs.system.compile import Compiled
from flexmbs.system.records import Evaluation, System, depends_on_reactions


class RigidWorkspace(NamedTuple):
    """Workspace of one run."""

    rigid: RigidChild


@part
def accelerations(system, work, workspace, t, here):
    """ṡ (ns,) of a rigid tree under gravity and joint forces (theory, section 20).

    Returns 0, or −1 − body.
    """
    for a in range(here.s.shape[0]):
        work.force[a] = 0.0
    clear_works(work.power)
    state = Evaluation(here.q, here.s, here.sd, here.lam, here.z, work.r)
    apply_joint_forces(system, work, t, state, False, ALL)
    return rigid_accelerations(system, workspace.rigid, here, work.force)


class RigidTree(Formalism):
    """Form of `Recursive` for rigid trees under joint forces."""

    name: ClassVar[str] = "recursive"
    coordinates: ClassVar[tuple[str, ...]] = ("joint", "rheonomic")
    accelerations = staticmethod(accelerations)

    def workspace(self, compiled: Compiled) -> RigidWorkspace:
        """Workspace of one run."""
        return RigidWorkspace(make_rigid(compiled.system))


# records that it takes into account; all others must be empty
KNOWN = (
    "tree",
    "bodies",
    "frames",
    "joints",
    "laws",
    "elimination",
    "gravity",
    "layout",
    "forces.joint",
    "forces.joints",
    "samplers",
    "rotors",
    "paths",
)


def is_rigid_tree(system: System) -> bool:
    """True if only gravity and joint forces act on rigid bodies.

    No other record has an entry, and no force depends on reactions.
    """
    if depends_on_reactions(system):
        return False
    return not system.tree.nf.any() and not any(
        array.size for name, array in _arrays(system, "") if not name.startswith(KNOWN)
    )


def _arrays(record: Any, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """(name, array) of all arrays within nested records."""
    for key, value in record._asdict().items():
        full = f"{name}.{key}" if name else key
        if isinstance(value, tuple):
            yield from _arrays(value, full)
        else:
            yield full, value

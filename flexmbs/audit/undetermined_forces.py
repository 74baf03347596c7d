"""Forces of contacts and of dry friction on whose sharing no motion depends.

The unknown forces F of closed contacts and of joints that friction holds act as M ṡ = k + Gᵀλ + Wᵀ
F. They are unique if the accelerations N (NᵀMN)⁻¹NᵀWᵀ, N a basis of the motions with G N = 0, of
unit forces are linearly independent: four feet on a floor, friction in two shafts of a gear, or in
a joint that is also driven are not.

Theory: docs/theory.md, section 43.
"""

import numpy as np

from flexmbs.audit.audit_samples import evenly_spaced
from flexmbs.audit.closed_contacts import accelerations_with
from flexmbs.audit.contact_states import StatesOfContacts, lasting
from flexmbs.dynamics.work import make_work
from flexmbs.model.contacts import DryFriction, declared_contact
from flexmbs.results.drive_jumps import near_jumps
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, WARN, Check
from flexmbs.system.records import OF_FRICTION
from flexmbs.system.step_scales import displacement_sizes, model_size

TITLE = "Sharing of contact forces"
EXAMINED = 60  # unknown forces at an output: each takes a solution of the equations
SETS = 5  # sets of unknown forces that are examined, the most frequent ones
FEW = 3  # outputs with each of them
# of the largest acceleration by a unit force, or of the model as one body: smaller ones, and
# smaller singular values of unit columns, are round-off of the solution
INDEPENDENT = 1e-7
INVOLVED = 1e-3  # component of a force in a combination that moves nothing


def undetermined_forces(solution: SolutionData, found: StatesOfContacts) -> list[Check]:
    """Report forces of closed contacts and of dry friction that no motion depends on.

    Those of contacts that stick or press, and of joints that friction holds, whose accelerations
    depend on each other linearly; those of a joint that is also driven have none. found: states of
    the contacts.
    """
    t, contacts = solution.t, solution.compiled.system.contacts
    if not len(contacts.a) or len(t) < 2:
        return []
    held, directions = _unknown_forces(solution, found)
    count = held.sum(axis=(1, 2))
    most, freedom = int(count.max(initial=0)), int(solution.compiled.system.layout[2])
    usable = np.flatnonzero((count <= EXAMINED) & (count > 0) & ~near_jumps(solution, t))
    names: dict[str, float] = {}
    for k in _examined_outputs(held[usable].reshape(len(usable), held[0].size)):
        k = int(usable[k])
        for c in _dependent(solution, k, held[k], directions[k]):
            names.setdefault(solution.contacts[c], float(t[k]))
    if not names and most > EXAMINED:
        known = "are not" if most > freedom else "may not be"
        return [
            Check(TITLE, PASS, f"{most} forces of contacts {known} unique; too many to examine")
        ]
    if not names:
        return []
    text = (
        f"of {', '.join(names)} are not unique at t = {next(iter(names.values())):.4g} s: the motion "
        "does not depend on how they share the load"
    )
    if not _loads_joints(solution, list(names)):
        return [Check(TITLE, PASS, text)]
    text += "; reactions and efforts of drives that balance them are not unique either"
    remedy = "model the stiffness that decides, or remove all but one"
    return [Check(TITLE, WARN, text, remedy)]


def _examined_outputs(held: np.ndarray) -> list[int]:
    """Few outputs for each set of unknown forces (nt, n), unless another one contains the set.

    Forces that depend on each other also do so among more forces.
    """
    sets, member, times = np.unique(held, axis=0, return_inverse=True, return_counts=True)
    common = sets.astype(int) @ sets.T.astype(int)
    alone = (common == sets.sum(axis=1)[:, None]).sum(axis=1) == 1
    chosen = sorted(np.flatnonzero(alone), key=lambda k: -int(times[k]))[:SETS]
    return [
        int(row) for k in chosen for row in evenly_spaced(np.flatnonzero(member.ravel() == k), FEW)
    ]


def _loads_joints(solution: SolutionData, names: list[str]) -> bool:
    """True if the sharing among contacts changes reactions of joints or efforts of drives.

    Dry friction changes them, unless it shares with the stops of its own joint alone.
    """
    items = [declared_contact(solution.model.contacts, name) for name in names]
    joints = {str(getattr(item, "joint", "")) for item in items}
    dry = any(isinstance(item, DryFriction) for item in items)
    return dry and (len(items) == 1 or len(joints) > 1)


def _unknown_forces(
    solution: SolutionData, closed: StatesOfContacts
) -> tuple[np.ndarray, np.ndarray]:
    """Mask (nt, n, 3) of the independent forces of contacts, and their directions (nt, n, 3, 3).

    The normal force of a contact that slides carries its friction along.
    """
    contacts, force = solution.compiled.system.contacts, solution.trajectory.contact
    dry = contacts.geometry_kernel == OF_FRICTION
    # at rest before and after: friction at its limit may rest, too
    sticks = lasting(closed.slow)
    held = np.zeros(force.shape, bool)
    held[:, :, 0] = closed.pressed
    rough = closed.pressed & (contacts.mu > 0.0)
    held[:, :, 1] = sticks & (rough | dry)
    held[:, :, 2] = sticks & rough
    directions = np.broadcast_to(np.eye(3), (*force.shape, 3)).copy()
    slides = closed.pressed & ~sticks
    directions[slides, 0, 1:] = force[slides, 1:] / force[slides, :1]
    return held, directions


def _dependent(
    solution: SolutionData, k: int, held: np.ndarray, directions: np.ndarray
) -> list[int]:
    """Numbers of contacts with forces at output k that no motion depends on."""
    compiled, out = solution.compiled, solution.trajectory
    at, forces = np.argwhere(held), np.zeros((1 + held.sum(), *held.shape))
    for j, (c, row) in enumerate(at, 1):
        forces[j, c] = directions[c, row]
    work = make_work(compiled.system, out.beta[k])
    sd = np.array([accelerations_with(compiled, work, out, k, force) for force in forces])
    sd /= displacement_sizes(compiled)
    columns = (sd[1:] - sd[0]).T
    length = np.linalg.norm(columns, axis=0)
    size = model_size(compiled)
    least = 1.0 / (float(compiled.system.bodies.mass.sum()) * size * max(size, 1.0))
    moving = length > INDEPENDENT * max(float(length.max(initial=0.0)), least)
    # friction across a plane in which joints guide the motion is absent, not undetermined
    dry = compiled.system.contacts.geometry_kernel[at[:, 0]] == OF_FRICTION
    considered = moving | dry | (at[:, 1] == 0)
    units = np.where(moving, columns / np.maximum(length, 1e-300), 0.0)[:, considered]
    _, values, right = np.linalg.svd(units)
    rank = int((values > INDEPENDENT).sum())
    involved = np.abs(right[rank:]).max(axis=0, initial=0.0) > INVOLVED
    return sorted({int(c) for c in at[considered][involved, 0]})

"""Rheonomic coordinates: driven coordinates of the tree as functions of time instead of unknowns.

A drive on a joint of the spanning tree gives its coordinate explicitly, β = f(t): the pose of the
joint depends on time, its relative twist and the rate of the twist contain the terms v̄_rel and
ā_rel, and there is no velocity, row or multiplier (theory, section 18). A drive remains a
constraint row if this would not describe the whole motion: on a cut joint; if forces, couplings,
contacts or rotors act on its coordinate; if its velocity jumps, which changes all momenta; and with
rigid contacts, whose impacts load it.
"""

from flexmbs.model.drives import Drive
from flexmbs.model.forces import JointForce, joints_read
from flexmbs.model.laws import Function
from flexmbs.model.model import ModelData
from flexmbs.model.motions import Motion, PrescribedMotion

WHOLE = -1  # every degree of freedom of a joint
JUMP = 1e-6  # of the largest rate at the corners of a law


def reasons_for_rows(model: ModelData, tree_joints: set[str]) -> dict[str, str]:
    """Drives that are constraint rows in rheonomic coordinates, with the reason.

    The others prescribe their coordinates explicitly.
    """
    used = _users(model)
    rigid = next((name for name, contact in model.contacts.items() if contact.rigid), None)
    found = {}
    for name, drive in model.drives.items():
        if drive.joint not in tree_joints:
            found[name] = f"joint {drive.joint} is cut"
        elif user := used.get((drive.joint, drive.coordinate)) or used.get((drive.joint, WHOLE)):
            found[name] = f"{user} acts on joint {drive.joint}"
        elif rigid is not None:
            found[name] = f"contact {rigid} is rigid"
        elif _jumps(drive):
            found[name] = "its velocity jumps"
    return found


def rheonomic_motions(
    motions: tuple[Motion, ...], drives: dict[int, str], is_reversed: bool
) -> tuple[Motion, ...]:
    """Chain of a joint of the tree with prescribed motions.

    drives: the prescribing drives, by declared degree of freedom.
    """
    n = sum(motion.nv for motion in motions)
    chain: list[Motion] = []
    count = 0
    for motion in motions:
        drive = drives.get(n - 1 - count if is_reversed else count)
        chain.append(
            PrescribedMotion(motion, drive) if drive is not None and motion.nv == 1 else motion
        )
        count += motion.nv
    return tuple(chain)


def explicit_drives(model: ModelData, rows: dict[str, str]) -> dict[str, dict[int, str]]:
    """Joint → its drives without rows, by degree of freedom."""
    found: dict[str, dict[int, str]] = {}
    for name, drive in model.drives.items():
        if name not in rows:
            found.setdefault(drive.joint, {})[drive.coordinate] = name
    return found


def _users(model: ModelData) -> dict[tuple[str, int], str]:
    """Names of the items that act on each coordinate, by (joint, degree of freedom).

    The degree of freedom is `WHOLE` for an item that depends on the whole joint.
    """
    found: dict[tuple[str, int], str] = {}
    for name, force in model.forces.items():
        found |= {(joint, WHOLE): f"force {name}" for joint in joints_read(force)}
        if isinstance(force, JointForce):
            found[force.joint, force.coordinate] = f"force {name}"
    for name, contact in model.contacts.items():
        found |= {
            (use.joint, use.coordinate): f"contact {name}"
            for use in contact.coordinates(model.joints)
        }
        if use := contact.coordinate_used():
            found[use.joint, use.coordinate] = f"contact {name}"
    found |= {(rotor.joint, WHOLE): f"rotor {name}" for name, rotor in model.rotors.items()}
    for name, coupling in model.couplings.items():
        found |= {
            (use.joint, use.coordinate): f"coupling {name}"
            for use in coupling.coordinates(model.joints)
        }
    return found


def _jumps(drive: Drive) -> bool:
    """True if the rate of the motion jumps at a corner.

    Always False for a user function, whose corners are unknown.
    """
    if isinstance(drive.motion, Function):
        return False
    corners = drive.motion.corners()
    span = (max(corners) - min(corners)) if corners else 0.0
    rates = [
        [drive.motion.state(t + side * 1e-9 * (1.0 + abs(t) + span))[1] for side in (-1, 1)]
        for t in corners
        if t > 0.0
    ]
    largest = max((abs(rate) for pair in rates for rate in pair), default=0.0)
    return any(abs(after - before) > JUMP * largest for before, after in rates)

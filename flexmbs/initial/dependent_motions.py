"""Joints with dependent motions at a position: parallel axes of a chain, two angles at their pole.

The chain then has fewer free directions than velocities, rank C < nv: its velocities are not
determined by the motion, and the complement of C does not give the constraints of the joint.
"""

import numpy as np

from flexmbs.errors import InputError
from flexmbs.model.chain_twists import chain_twists
from flexmbs.model.joints import Joint
from flexmbs.system.compile import Compiled
from flexmbs.system.step_scales import model_size

# smallest singular value of C with unit columns; lengths are relative to the size of the model
DEPENDENT = 1e-6
NEARLY_DEPENDENT = 0.05  # the same at the end of a run that stopped


def dependent_motions(
    compiled: Compiled, q: np.ndarray, beta: np.ndarray, least: float = DEPENDENT
) -> list[Joint]:
    """Joints whose motions are (nearly) dependent at coordinates q and β of cut joints."""
    found, length = [], model_size(compiled)
    for name, place in compiled.places.items():
        if sum(motion.nv > 0 for motion in place.motions) < 2:  # a single motion is independent
            continue
        cut = place.cut >= 0
        at = int(
            compiled.system.cuts.beta_at[place.cut]
            if cut
            else compiled.system.tree.q_at[place.body]
        )
        nq = sum(motion.nq for motion in place.motions)
        C = chain_twists(place.motions, (beta if cut else q)[at : at + nq])
        C[:3] /= length
        C = C / np.linalg.norm(C, axis=0)
        if np.linalg.svd(C, compute_uv=False)[-1] < least:
            found.append(compiled.model.joints[name])
    return found


def require_independent_motions(compiled: Compiled, q: np.ndarray, beta: np.ndarray) -> None:
    """Raise `InputError` with a line for each joint with dependent motions at this position."""
    if found := dependent_motions(compiled, q, beta):
        raise InputError(*(_dependence(joint) for joint in found))


def _dependence(joint: Joint) -> str:
    """Message that the motions of a joint are dependent at the start."""
    cause = "its motions are dependent in this position (parallel axes, or angles at their pole)"
    return (
        f"joints.{joint.name}: {cause}; start elsewhere with q0, choose other axes, or use a "
        "ball joint"
    )

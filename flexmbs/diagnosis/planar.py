"""Planar mechanisms: joints that let all bodies move in parallel planes only.

Three of the six conditions of each body are then satisfied identically.
"""

import numpy as np

from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.initial.initial_state import InitialState
from flexmbs.model.bodies import FlexibleBody, PointMass
from flexmbs.model.frames import FrameRef
from flexmbs.model.general_couplings import nonholonomic_couplings
from flexmbs.system.compile import Compiled
from flexmbs.system.records import rows_of

PARALLEL = 1e-9  # sine of the angle between unit axes: directions from files have nine digits
INDEPENDENT = 1e-6  # smallest singular value of unit axes taken as independent; far above PARALLEL


def planar_line(compiled: Compiled, start: InitialState) -> str:
    """Count f = 3n − b for planar motion, 2n_p − b for point masses only, else "".

    b counts the holonomic rows of joints; nonholonomic ones reduce the velocity degrees of freedom
    only, drives and couplings are listed separately.
    """
    if plane_normal(compiled, start) is None:
        return ""
    bodies, tree = compiled.model.bodies.values(), compiled.topology.tree
    closing, velocity = _closing_rows(compiled, start)
    n, b = (
        len(bodies),
        sum(3 - sum(motion.nv for motion in primary.motions) for primary in tree) + closing,
    )
    left = f", {3 * n - b - velocity} in velocity" if velocity else ""
    if (
        held := len(compiled.model.drives)
        + len(compiled.model.couplings)
        - len(nonholonomic_couplings(compiled.model.couplings))
    ):
        left += f", {3 * n - b - held} left by drives and couplings"
    if all(isinstance(body, PointMass) for body in bodies):
        return f"points in a plane: f = 2·{n} − {b - n} = {3 * n - b} (2n_p − b){left}"
    return f"planar motion: f = 3·{n} − {b} = {3 * n - b} (3n − b){left}"


def _closing_rows(compiled: Compiled, start: InitialState) -> tuple[int, int]:
    """Numbers of independent rows of the cut joints for planar motion.

    On positions, and on velocities only, counted joint by joint.
    """
    G = terms(compiled.system, make_work(compiled.system, start.beta), 0.0, start.q, start.s).G
    positions = both = 0
    for cut in rows_of(compiled.system.cuts):
        rows = G[cut.row : cut.row + cut.closed]
        positions += _rank(rows[: cut.positions])
        both += _rank(rows)
    return positions, both - positions


def _rank(rows: np.ndarray) -> int:
    """Numerical rank of rows; 0 if there are none."""
    return int(np.linalg.matrix_rank(rows, tol=INDEPENDENT)) if len(rows) else 0


def plane_normal(compiled: Compiled, start: InitialState) -> np.ndarray | None:
    """Unit normal of a planar mechanism, else None.

    All rotations of the tree are parallel to it and all translations perpendicular; loop closure
    then preserves the planes. None also if a body floats or is flexible, or if all bodies move
    along one line.
    """
    if any(isinstance(body, FlexibleBody) for body in compiled.model.bodies.values()):
        return None
    if any(primary.joint is None for primary in compiled.topology.tree):
        return None
    turns, slides = _axes(compiled, start)
    if np.isnan(turns).any():
        return None
    if turns:
        normal = turns[0]
    else:
        _, size, across = np.linalg.svd(np.array(slides).reshape(-1, 3))
        if len(size) < 2 or size[1] < INDEPENDENT:
            return None
        normal = across[2]
    off = [np.linalg.norm(np.cross(normal, axis)) for axis in turns] + [
        abs(normal @ axis) for axis in slides
    ]
    return None if max(off) > PARALLEL else normal


def _axes(compiled: Compiled, start: InitialState) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """World axes of the rotations and translations of the tree.

    A motion of another kind gives a rotation axis of NaN. The rotations that precede a motion in
    its chain are omitted: in a planar joint they preserve the normal.
    """
    turns: list[np.ndarray] = []
    slides: list[np.ndarray] = []
    for name in compiled.topology.real_tree:
        joint = compiled.model.joints[name]
        A = _frame_axes(compiled, start, joint.parent)
        for motion in joint.motions:
            A = A @ np.asarray(motion.rotation)
            if motion.slides:
                slides.append(A @ motion.unit_twist[:3])
            elif motion.nv:
                turns.append(
                    A @ motion.unit_twist[3:]
                    if motion.nv == motion.rotations == 1
                    else np.full(3, np.nan)
                )
    return turns, slides


def _frame_axes(compiled: Compiled, start: InitialState, ref: FrameRef) -> np.ndarray:
    """World axes of a frame of a rigid body or of the ground."""
    own = compiled.system.frames.R[compiled.frames[ref]].reshape(3, 3)
    if ref.body not in compiled.bodies:
        return np.asarray(own)
    assert start.motion is not None
    return np.asarray(start.motion.A[compiled.bodies.index(ref.body)].reshape(3, 3) @ own)

"""The body responsible for a mass matrix that is not positive definite.

It is the one moved by a motion without kinetic energy.
"""

import numpy as np

from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.system.compile import Compiled


def body_without_inertia(compiled: Compiled, status: int, q: np.ndarray, beta: np.ndarray) -> str:
    """Name of the body with the largest twist V(v) in the motion v of least vᵀ M v.

    It does not depend on the node at which the elimination failed. status: −1 − node of a
    factorization, whose body is named if the motion is one of elastic coordinates.
    """
    system, work, zero = (
        compiled.system,
        make_work(compiled.system, beta),
        np.zeros(int(compiled.system.layout[2])),
    )
    M = terms(system, work, 0.0, q.copy(), zero.copy()).M
    at_rest = work.motion.twist.copy()  # twists due to prescribed motions
    size = np.sqrt(np.maximum(np.abs(np.diagonal(M)), 1e-300))
    scaled = M / np.outer(size, size)
    if not np.isfinite(scaled).all():
        return compiled.bodies[-1 - status]
    motion = np.linalg.eigh(scaled)[1][:, 0] / size
    terms(system, work, 0.0, q.copy(), motion / np.abs(motion).max())
    twist = np.abs(work.motion.twist - at_rest).max(axis=1)
    return compiled.bodies[int(twist.argmax()) if twist.max() > 0.0 else -1 - status]

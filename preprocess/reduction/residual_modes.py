"""Lowest modes of a body outside a basis, all interfaces held.

    V₀ = {R a + Φ b at rest at all interfaces},    P = 1 − V₀ V₀ᵀ M,    P A Pᵀ M φ = φ / ω²,

R rigid-body modes, Φ the basis, both M-orthonormal, A the static response with the interfaces held.
For Craig–Bampton's basis V₀ consists of its normal modes, and the φ are the next ones. A basis with
exact static responses to loads at the interfaces contains the constraint modes, to which the φ are
K-orthogonal: together they span the response to the motion of the interfaces. Source: Craig and
Kurdila, Fundamentals of Structural Dynamics (2006), sections 17.3 and 17.6.
"""

from __future__ import annotations

import numpy as np

from flexmbs.flexible_body.components import FloatArray
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.solve.lanczos import Modes

FEWEST, MOST = (
    8,
    24,
    # modes: a beam has about as many up to twice the frequency of its eighth one, at the cost of
    # that basis
)
# singular value relative to the largest below which a shape does not move the interfaces
STILL = 1e-9


def residual_modes(statics: InterfaceStatics, shapes: FloatArray, wanted: int) -> Modes:
    """About ``wanted`` modes, ascending, in the complement of elastic, M-orthonormal shapes.

    shapes (3N, n): these.

    None if the shapes span all modes. Raises SolverError.
    """
    fe = statics.fe
    inside = _still_shapes(statics, shapes)
    count = min(max(wanted, FEWEST), MOST, statics.free_count - inside.shape[1])
    if count <= 0:
        return Modes(np.zeros(0), np.zeros((statics.size, 0)))
    found = statics.modes(range(len(statics.interfaces)), count=count, beside=inside).shapes
    K = fe.engine.inner(found, fe.stiffness_product(found))
    lam, V = np.linalg.eigh(0.5 * (K + K.T))
    return Modes(np.sqrt(np.maximum(lam, 0.0)), found @ V)


def _still_shapes(statics: InterfaceStatics, shapes: FloatArray) -> FloatArray:
    """M-orthonormal combinations (3N, m) of rigid-body modes and shapes with interfaces at rest."""
    R = statics.rigid_modes
    rigid, elastic = statics.interface_motion(R), statics.interface_motion(shapes)
    # rotations as large as displacements
    motion = np.hstack([rigid, elastic]) / np.linalg.norm(rigid, axis=1)[:, None]
    _, size, V = np.linalg.svd(motion)
    still = V[int(np.sum(size > STILL * size[0])) :].T
    return np.asarray(R @ still[:6] + shapes @ still[6:])

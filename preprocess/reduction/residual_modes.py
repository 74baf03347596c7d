"""Modes of a body outside a basis, all interfaces held, that reactions may need.

    V₀ = {R a + Φ b at rest at all interfaces},    P = 1 − V₀ V₀ᵀ M,    P A Pᵀ M φ = φ / ω²,

R rigid-body modes, Φ the basis, both M-orthonormal, A the static response with the interfaces held.
For Craig–Bampton's basis V₀ consists of its normal modes, and the φ are the next ones. A basis with
exact static responses to loads at the interfaces contains the constraint modes, to which the φ are
K-orthogonal: together they span the response to the motion of the interfaces.

The lowest modes of a slender part are all of bending: its first mode along or about the axis may be
far above them, and yet be the one that an axial load excites. The Ritz vectors of P A M Ψ, the
static responses to the inertia forces of the constraint modes Ψ, contain each kind of motion that
the interfaces excite; their frequencies are upper bounds. Source: Craig and Kurdila, Fundamentals
of Structural Dynamics (2006), sections 17.3 and 17.6; Wilson, Yuan and Dickens, Dynamic analysis by
direct superposition of Ritz vectors (1982).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

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
# Ritz vectors, as many as the constraint modes of a part with two interfaces: those with the largest
# shares of the inertia of a motion of the interfaces
ADDED = 12
# of the response: what is left of it outside known modes, above the errors of these
LEFT = 1e-6


def residual_modes(statics: InterfaceStatics, shapes: FloatArray, wanted: int) -> Modes:
    """About ``wanted`` lowest modes and the Ritz vectors, ascending, outside of shapes (3N, n).

    The shapes are elastic and M-orthonormal. None if they span all modes. Raises SolverError.
    """
    inside = _still_shapes(statics, shapes)
    count = min(max(wanted, FEWEST), MOST, statics.free_count - inside.shape[1])
    if count <= 0:
        return Modes(np.zeros(0), np.zeros((statics.size, 0)))
    found = statics.modes(range(len(statics.interfaces)), count=count, beside=inside).shapes
    lowest = _ritz(statics, found)
    more = _inertial(statics, np.hstack([inside, found]))
    omega = np.concatenate([lowest.omega, more.omega])
    order = np.argsort(omega, kind="stable")
    return Modes(omega[order], np.hstack([lowest.shapes, more.shapes])[:, order])


def _ritz(statics: InterfaceStatics, shapes: FloatArray) -> Modes:
    """M-orthonormal combinations of shapes (3N, n) that are K-orthogonal to each other."""
    K, M = (
        statics.fe.engine.inner(shapes, product(shapes))
        for product in (statics.fe.stiffness_product, statics.fe.mass_product)
    )
    lam, V = scipy.linalg.eigh(0.5 * (K + K.T), 0.5 * (M + M.T))
    return Modes(np.sqrt(np.maximum(lam, 0.0)), shapes @ V)


def _inertial(statics: InterfaceStatics, known: FloatArray) -> Modes:
    """Ritz vectors of the static responses to the inertia of the constraint modes.

    M-orthogonal to ``known`` M-orthonormal shapes (3N, m); at most `ADDED`.
    """
    fe, inner = statics.fe, statics.fe.engine.inner
    Psi = statics.constraint_modes()
    inertia = fe.mass_product(Psi)
    x = statics.response(inertia)
    x = x / np.sqrt(np.maximum(_squares(statics, x), np.finfo(float).tiny))
    against = fe.mass_product(known)
    for _ in range(2):  # twice is enough: the second removes the round-off of the first
        x = x - known @ inner(against, x)
    lam, V = np.linalg.eigh(inner(x, fe.mass_product(x)))
    left = lam > LEFT**2
    if not left.any():
        return Modes(np.zeros(0), np.zeros((statics.size, 0)))
    modes = _ritz(statics, x @ (V[:, left] / np.sqrt(lam[left])))
    size = np.sqrt(np.maximum(_squares(statics, Psi), np.finfo(float).tiny))
    shares = np.abs(inner(modes.shapes, inertia) / size).max(axis=1)
    most = np.argsort(-shares, kind="stable")[:ADDED]
    return Modes(modes.omega[most], modes.shapes[:, most])


def _squares(statics: InterfaceStatics, shapes: FloatArray) -> FloatArray:
    """Products (n,) uᵀ M u of each shape (3N, n) with itself."""
    return np.diagonal(statics.fe.engine.inner(shapes, statics.fe.mass_product(shapes)))


def _still_shapes(statics: InterfaceStatics, shapes: FloatArray) -> FloatArray:
    """M-orthonormal combinations (3N, m) of rigid-body modes and shapes with interfaces at rest."""
    R = statics.rigid_modes
    rigid, elastic = statics.interface_motion(R), statics.interface_motion(shapes)
    # rotations as large as displacements
    motion = np.hstack([rigid, elastic]) / np.linalg.norm(rigid, axis=1)[:, None]
    _, size, V = np.linalg.svd(motion)
    still = V[int(np.sum(size > STILL * size[0])) :].T
    return np.asarray(R @ still[:6] + shapes @ still[6:])

"""Modes of a body outside a basis, that reactions may need.

    V₀ = {R a + Φ b at rest at all interfaces},    P = 1 − V₀ V₀ᵀ M,    P A Pᵀ M φ = φ / ω²,

R rigid-body modes, Φ the basis, both M-orthonormal, A the static response with the interfaces held.
For Craig–Bampton's basis V₀ consists of its normal modes, and the φ are the next ones. A basis with
exact static responses to loads at the interfaces contains the constraint modes Ψ, to which the φ
are K-orthogonal: together they span the response to the motion of the interfaces. To the modes of
another basis the parts of Ψ outside it are added, which move the interfaces.

The lowest modes of a slender part are all of bending: its first mode along or about the axis may be
far above them, and yet be the one that an axial load excites. The Ritz vectors of P A M Ψ and of P
A f, the static responses to the inertia forces of the constraint modes and to the products f of
angular velocities, contain each kind of motion that the interfaces excite; their frequencies are
upper bounds. Source: Craig and Kurdila, Fundamentals of Structural Dynamics (2006), sections 17.3
and 17.6; Wilson, Yuan and Dickens, Dynamic analysis by direct superposition of Ritz vectors (1982).
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
# of the inertia of a load: Ritz vectors with smaller shares of each load are omitted. They would
# change no reaction by more than a fifth of the limit of the audit, 2 %
NEGLIGIBLE = 4e-3
# Ritz vectors at most: those of the twelve directions of two interfaces and of six products of
# angular velocities; of more, those with the largest shares
ADDED = 18
# of the response: what is left of it outside known modes, above the errors of these
LEFT = 1e-6


def residual_modes(
    statics: InterfaceStatics, shapes: FloatArray, wanted: int, *, exact: bool, spin: FloatArray
) -> Modes:
    """About ``wanted`` lowest modes and the Ritz vectors, ascending, outside of shapes (3N, n).

    The shapes are elastic and M-orthonormal. exact: they contain the static responses to loads at
    the interfaces. spin (3N, 6): inertia loads of products of angular velocities. None if the
    shapes span all modes. Raises SolverError.
    """
    inside = _still_shapes(statics, shapes)
    count = min(max(wanted, FEWEST), MOST, statics.free_count - inside.shape[1])
    lowest = Modes(np.zeros(0), np.zeros((statics.size, 0)))
    if count > 0:
        held = range(len(statics.interfaces))
        lowest = _ritz(statics, statics.modes(held, count=count, beside=inside).shapes)
    more = _inertial(statics, np.hstack([inside, lowest.shapes]), spin)
    omega = np.concatenate([lowest.omega, more.omega])
    found = np.hstack([lowest.shapes, more.shapes])
    if not exact:
        outside = _outside(
            statics,
            np.hstack([statics.rigid_modes, shapes]),
            np.hstack([statics.constraint_modes(), found]),
        )
        return _ritz(statics, outside)
    order = np.argsort(omega, kind="stable")
    return Modes(omega[order], found[:, order])


def _ritz(statics: InterfaceStatics, shapes: FloatArray) -> Modes:
    """M-orthonormal combinations of shapes (3N, n) that are K-orthogonal to each other."""
    if not shapes.shape[1]:
        return Modes(np.zeros(0), shapes)
    K, M = (
        statics.fe.engine.inner(shapes, product(shapes))
        for product in (statics.fe.stiffness_product, statics.fe.mass_product)
    )
    lam, V = scipy.linalg.eigh(0.5 * (K + K.T), 0.5 * (M + M.T))
    return Modes(np.sqrt(np.maximum(lam, 0.0)), shapes @ V)


def _outside(statics: InterfaceStatics, known: FloatArray, shapes: FloatArray) -> FloatArray:
    """M-orthonormal basis (3N, k) of the parts of shapes (3N, n) outside ``known`` (3N, m).

    The latter are M-orthonormal. Parts below `LEFT` of their shape are round-off.
    """
    mass, inner = statics.fe.mass_product, statics.fe.engine.inner
    x = shapes / np.sqrt(np.maximum(_squares(statics, shapes), np.finfo(float).tiny))
    against = mass(known)
    for _ in range(2):  # twice is enough: the second removes the round-off of the first
        x = x - known @ inner(against, x)
    lam, V = np.linalg.eigh(inner(x, mass(x)))
    left = lam > LEFT**2
    return np.asarray(x @ (V[:, left] / np.sqrt(lam[left])))


def _inertial(statics: InterfaceStatics, known: FloatArray, spin: FloatArray) -> Modes:
    """Ritz vectors of the static responses to inertia loads.

    Those of the constraint modes, and ``spin`` (3N, 6). M-orthogonal to ``known`` M-orthonormal
    shapes (3N, m).
    """
    fe, inner = statics.fe, statics.fe.engine.inner
    Psi = statics.constraint_modes()
    loads = np.hstack([fe.mass_product(Psi), spin])
    modes = _ritz(statics, _outside(statics, known, statics.response(loads)))
    # the share of a mode φ in a load f = M a is (φᵀf)²/(aᵀM a), where Σ (φᵀf)² is a bound of aᵀM a
    parts, before = inner(modes.shapes, loads) ** 2, inner(known, spin) ** 2
    sums = before.sum(axis=0) + parts[:, Psi.shape[1] :].sum(axis=0)
    whole = np.maximum(np.concatenate([_squares(statics, Psi), sums]), np.finfo(float).tiny)
    shares = (parts / whole).max(axis=1, initial=0.0)
    most = np.argsort(-shares, kind="stable")[:ADDED]
    most = most[shares[most] > NEGLIGIBLE]
    return Modes(modes.omega[most], modes.shapes[:, most])


def _squares(statics: InterfaceStatics, shapes: FloatArray) -> FloatArray:
    """Products (n,) uᵀ M u of each shape (3N, n) with itself."""
    return statics.fe.engine.squares(shapes, statics.fe.mass_product(shapes))


def _still_shapes(statics: InterfaceStatics, shapes: FloatArray) -> FloatArray:
    """M-orthonormal combinations (3N, m) of rigid-body modes and shapes with interfaces at rest."""
    R = statics.rigid_modes
    rigid, elastic = statics.interface_motion(R), statics.interface_motion(shapes)
    # rotations as large as displacements
    motion = np.hstack([rigid, elastic]) / np.linalg.norm(rigid, axis=1)[:, None]
    _, size, V = np.linalg.svd(motion)
    still = V[int(np.sum(size > STILL * size[0])) :].T
    return np.asarray(R @ still[:6] + shapes @ still[6:])

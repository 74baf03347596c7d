"""Free reduced body: rigid-body motions r and elastic coordinates q.

r has six components, translation and rotation.

Its mass matrix is [M_rr, L; Lᵀ, m_ff]; a frame j moves by T_j r + [φ_j; ψ_j] q.

"""

from __future__ import annotations

import numpy as np

from flexmbs.flexible_body.components import FlexibleFrame, FloatArray
from flexmbs.flexible_body.record import FlexibleBodyData


def skew(c: FloatArray) -> FloatArray:
    """Matrices c̃ (…, 3, 3) of vectors c (…, 3): c̃ x = c × x."""
    upper = np.zeros((*np.shape(c), 3))
    upper[..., 0, 1], upper[..., 0, 2], upper[..., 1, 2] = -c[..., 2], c[..., 1], -c[..., 0]
    return upper - np.swapaxes(upper, -1, -2)


def rigid_mass_matrix(mass: float, c: FloatArray, inertia: FloatArray) -> FloatArray:
    """Mass matrix M_rr (6, 6) of the rigid-body motions.

    M_rr = [m 1, −c̃; c̃, I] with the first moment c = ∫x dm (3,) and the inertia tensor I (3, 3)
    about the origin.
    """
    return np.block([[mass * np.eye(3), -skew(c)], [skew(c), inertia]])


def mass_matrix(body: FlexibleBodyData) -> FloatArray:
    """Mass matrix of (r, q) of the undeformed body, (6 + nf, 6 + nf)."""
    L = np.vstack([body.S_bar, body.x_cross_S])
    return np.block(
        [[rigid_mass_matrix(body.mass, body.first_moment, body.inertia), L], [L.T, body.m_ff]]
    )


def rigid_frame_motion(frame: FlexibleFrame) -> FloatArray:
    """Matrix T (6, 6): motion of a frame under the rigid motions of the body.

    Translation t + θ × x and rotation θ.
    """
    T = np.eye(6)
    T[:3, 3:] = -skew(frame.x)
    return T


def elastic_frame_motion(frame: FlexibleFrame) -> FloatArray:
    """Matrix [φ; ψ] (6, nf): translation and rotation of a frame for each mode."""
    return np.vstack([frame.phi, frame.psi])


def central_inertia(body: FlexibleBodyData) -> FloatArray:
    """Inertia tensor (3, 3) of the undeformed body about its centre of mass.

    ``I − m (c·c 1 − c cᵀ)``
    """
    c = body.com
    return np.asarray(body.inertia - body.mass * (c @ c * np.eye(3) - np.outer(c, c)))

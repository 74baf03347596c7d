"""Work of forces on points that rotate rigidly, to second order.

A point at r from the centre of a rotation θ moves by θ × r + ½ θ × (θ × r); a force f there does
the work ½ θᵀ W θ on the second part, with the dyad A = r fᵀ:

    W = ½ (A + Aᵀ) − tr(A) 1

Source: Argyris, Comput. Methods Appl. Mech. Eng. 32 (1982) 85 (finite rotations by the rotation
vector).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rotation_work(dyads: Array) -> Array:
    """Matrices W (…, 3, 3) of the sums of dyads A = r fᵀ (…, 3, 3)."""
    symmetric = 0.5 * (dyads + np.swapaxes(dyads, -1, -2))
    return np.asarray(symmetric - np.trace(dyads, axis1=-2, axis2=-1)[..., None, None] * np.eye(3))


def turning_work(rotations: Array, dyads: Array) -> Array:
    """Sums Σ θᵀ W θ (k, m, m) of rotations θ (n, 3, m).

    Each rotation has the dyads A (n, k, 3, 3) of its forces in k load cases.
    """
    n, _, m = rotations.shape
    flat = rotations.reshape(3 * n, m)
    K = np.stack(
        [
            flat.T @ (W @ rotations).reshape(3 * n, m)
            for W in np.swapaxes(rotation_work(dyads), 0, 1)
        ]
    )
    return np.asarray(0.5 * (K + K.transpose(0, 2, 1)))


def arms_of(motion: Array) -> Array:
    """Arms r (…, 3) of points from their displacements θ × r per rotation, (…, 3, 3)."""
    return np.stack([motion[..., 1, 2], motion[..., 2, 0], motion[..., 0, 1]], axis=-1)

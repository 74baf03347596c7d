"""Terms of the equations of motion of a tree, D q̈ + C q̇ + g = τ, for many states at once."""

from collections.abc import Sequence

import numpy as np

from flexmbs.errors import SolverError
from flexmbs.model.control.tree import RobotTree

SINGULAR = 1e-14  # smallest eigenvalue of D scaled to unit diagonal, below which D is singular


def newton_euler(
    tree: RobotTree,
    q: np.ndarray,
    qd: np.ndarray,
    qdd: np.ndarray,
    *,
    gravity: np.ndarray | None = None,
    friction: bool = False,
) -> np.ndarray:
    """Joint forces τ (..., n) of motions q, q̇, q̈ (..., n): `flexmbs.model.control.sweeps`."""
    g = tree.gravity if gravity is None else gravity
    if not q.shape == qd.shape == qdd.shape:
        q, qd, qdd = np.broadcast_arrays(q, qd, qdd)
    return tree.kernels.joint_forces(q, qd, qdd, g, friction=friction)


def gravity_forces(tree: RobotTree, q: np.ndarray) -> np.ndarray:
    """Joint forces g (..., n) that balance gravity at rest."""
    rest = np.zeros(q.shape)
    return newton_euler(tree, q, rest, rest)


def accelerations(D: np.ndarray, forces: np.ndarray, coordinates: Sequence[str]) -> np.ndarray:
    """Accelerations q̈ (..., n) = D⁻¹ forces.

    Raises `SolverError` naming a coordinate that moves no mass, alone or with others.
    """
    size = np.sqrt(np.diagonal(D, axis1=-2, axis2=-1))
    if not size.all():
        raise SolverError(_without_mass(coordinates[int(np.argwhere(size == 0.0)[0, -1])]))
    least, shapes = np.linalg.eigh(D / (size[..., :, None] * size[..., None, :]))
    if (least[..., :1] < SINGULAR).any():
        worst = np.argwhere(least[..., 0] < SINGULAR)[0]
        raise SolverError(
            _without_mass(coordinates[int(np.abs(shapes[(*worst, slice(None), 0)]).argmax())])
        )
    return np.asarray(np.linalg.solve(D, forces[..., None])[..., 0])


def _without_mass(coordinate: str) -> str:
    """Message that the mass matrix is singular in a coordinate."""
    return (
        f"forward dynamics: D is singular, {coordinate} moves no mass; give its links mass or "
        "its motor inertia"
    )


def coriolis_matrix(tree: RobotTree, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Matrix C (..., n, n) from Christoffel symbols, C_ij = Σ_k Γ_ijk q̇_k.

    Γ_ijk = ½(∂D_ij/∂q_k + ∂D_ik/∂q_j − ∂D_jk/∂q_i).

    The velocity forces h(q, q̇) = C q̇ are quadratic in q̇, so Γ, symmetric in j and k, follows by
    polarization without derivatives: column j is ¼[h(q̇ + e_j) − h(q̇ − e_j)].

    """
    n = len(tree.parent)
    q, unit = np.broadcast_to(q[..., None, :], (*q.shape[:-1], n, n)), np.eye(n)
    none, rest = np.zeros(3), np.zeros(q.shape)
    up, low = (
        newton_euler(tree, q, qd[..., None, :] + sign * unit, rest, gravity=none)
        for sign in (1.0, -1.0)
    )
    return np.asarray(np.swapaxes(0.25 * (up - low), -1, -2))

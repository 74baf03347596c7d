"""Couplings between the coordinates of a robot, A q = b, and the admissible rates q̇ = N u.

A N = 0
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular

from flexmbs.api.model import Model
from flexmbs.errors import InputError
from flexmbs.model.control.tree import TreeCoordinate
from flexmbs.model.couplings import ConstantCoupling
from flexmbs.model.laws import Constant

INDEPENDENT = 1e-10  # relative to the largest pivot: smaller pivots are round-off


class CoordinateCouplings(NamedTuple):
    """Couplings A q = b, m rows.

    N has the identity in the rows of the ``independent`` coordinates.
    """

    A: np.ndarray  # (m, n)
    b: np.ndarray  # (m,)
    N: np.ndarray  # (n, f)
    independent: np.ndarray  # (f,)

    def nearest(self, q: np.ndarray) -> np.ndarray:
        """Smallest change of the coordinates q (..., n) that satisfies A q = b.

        Uncoupled ones stay.
        """
        return np.asarray(q - (q @ self.A.T - self.b) @ np.linalg.pinv(self.A).T)


def couplings_of(model: Model, coordinates: Sequence[TreeCoordinate]) -> CoordinateCouplings:
    """Linear couplings A q = b of the coordinates, from the couplings of a model.

    Raises `InputError` for couplings by user functions or with time dependence.
    """
    n = len(coordinates)
    A, b = np.zeros((len(model.couplings), n)), np.zeros(len(model.couplings))
    for k, (name, coupling) in enumerate(model.couplings.items()):
        uses = coupling.coordinates(model.joints)
        if not isinstance(coupling, ConstantCoupling):
            raise InputError(
                f"couplings.{name}: is a user function; robot terms need "
                "couplings with constant factors"
            )
        for use, term in zip(uses, coupling.terms):
            A[k, coordinates.index(TreeCoordinate(*use))] += term.factor
        if coupling.offset is None:
            start = [model.joints[use.joint].initial_position[use.coordinate] for use in uses]
            b[k] = sum(term.factor * x for term, x in zip(coupling.terms, start))
        elif isinstance(coupling.offset, Constant):
            b[k] = coupling.offset.value
        else:
            raise InputError(
                f"couplings.{name}.offset: depends on time; robot terms need a constant offset"
            )
    return CoordinateCouplings(A, b, *_allowed(A))


def _allowed(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Admissible rates N and the independent coordinates, by pivoted elimination.

    A P = Q (R₁ R₂), N = P (−R₁⁻¹R₂, 1).
    """
    n = A.shape[1]
    if not len(A):
        return np.eye(n), np.arange(n)
    _, R, order = qr(A, mode="economic", pivoting=True)
    pivots = np.abs(np.diagonal(R))
    rank = int((pivots > INDEPENDENT * pivots.max()).sum())
    independent = np.sort(order[rank:])
    N = np.zeros((n, n - rank))
    N[order[:rank]] = -solve_triangular(R[:rank, :rank], R[:rank, rank:])[
        :, np.argsort(order[rank:])
    ]
    N[independent] = np.eye(n - rank)
    return N, independent

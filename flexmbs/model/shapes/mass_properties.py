"""Mass, centre of mass and inertia of rigid things, and their sum."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class MassProperties(NamedTuple):
    """Mass [kg], centre of mass (3,) [m] and inertia (3, 3) about it [kg m²], in the same axes.

    Of a shape with the density one: volume [m³], its centre and its inertia [m⁵].
    """

    mass: float
    com: FloatArray
    inertia: FloatArray

    def scaled(self, factor: float) -> "MassProperties":
        """Properties with all densities multiplied by a factor."""
        return MassProperties(factor * self.mass, self.com, factor * self.inertia)

    def placed(self, R: FloatArray, o: FloatArray) -> "MassProperties":
        """Properties in outer axes: x = R x' + o."""
        return MassProperties(self.mass, o + R @ self.com, R @ self.inertia @ R.T)


def combined(pieces: Iterable[MassProperties]) -> MassProperties:
    """Properties of several pieces together.

    m = Σ m_i, m c = Σ m_i c_i, J = Σ J_i + m_i (d_iᵀd_i 1 − d_i d_iᵀ) with d_i = c_i − c. Without
    mass, the centre is the origin.
    """
    pieces = list(pieces)
    mass = sum(each.mass for each in pieces)
    if not mass:
        return MassProperties(0.0, np.zeros(3), sum((p.inertia for p in pieces), np.zeros((3, 3))))
    com = sum((each.mass * each.com for each in pieces), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for each in pieces:
        d = each.com - com
        inertia += each.inertia + each.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return MassProperties(mass, com, inertia)

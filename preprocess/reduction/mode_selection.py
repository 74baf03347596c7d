"""Smallest number of normal modes with estimated frequency errors in a band within a tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from preprocess.reduction.accuracy import ReducedModel, frequency_errors
from preprocess.reduction.independent_shapes import elastic_shapes
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.solve.lanczos import Modes

# frequency limits of the modes tried, as multiples of the band
_FIRST, _GROWTH, _HIGHEST = 1.5, 1.6, 10.0


def fewest_modes(
    statics: InterfaceStatics,
    static: Mapping[str, FloatArray],
    held: Sequence[int],
    normal: str,
    omega: float,
    tolerance: float,
) -> Modes:
    """Lowest modes with the interfaces ``held`` that are sufficient for a tolerance.

    With the ``static`` shapes, the estimated relative error of every frequency up to ``omega``
    [rad/s], free and with each interface held, is at most ``tolerance``; all modes in the band are
    included. Raises InputError if the body has no mode in the band, or if the modes up to ten times
    the band do not suffice.
    """
    limit = _FIRST
    while True:
        pool = statics.modes(held, omega_max=limit * omega)
        worst = _worst(statics, static, normal, pool, len(pool.omega), omega)
        if worst <= tolerance:
            break
        limit *= _GROWTH
        if limit > _HIGHEST:
            raise InputError(
                f"method.tolerance: the error is still {worst:.2g} with {len(pool.omega)} "
                f"{normal} modes; increase it above "
                f"{tolerance:g}, reduce the band, or choose another reduction, such as Rubin"
            )
    return _bisected(statics, static, normal, pool, omega, tolerance)


def _bisected(
    statics: InterfaceStatics,
    static: Mapping[str, FloatArray],
    normal: str,
    pool: Modes,
    omega: float,
    tolerance: float,
) -> Modes:
    """Smallest number of modes within the tolerance, by bisection."""
    low, high = int(np.sum(pool.omega <= omega)), len(pool.omega)
    while low < high:
        middle = (low + high) // 2
        if _worst(statics, static, normal, pool, middle, omega) <= tolerance:
            high = middle
        else:
            low = middle + 1
    return Modes(pool.omega[:high], pool.shapes[:, :high])


def _worst(
    statics: InterfaceStatics,
    static: Mapping[str, FloatArray],
    normal: str,
    pool: Modes,
    count: int,
    omega: float,
) -> float:
    """Largest estimated error in the band with the first ``count`` modes.

    Infinite without shapes.
    """
    blocks = dict(static)
    if count:
        blocks[f"{normal} modes"] = pool.shapes[:, :count]
    if not blocks:
        return float("inf")
    shapes = elastic_shapes(statics, blocks).shapes
    supports = (None, *range(len(statics.interfaces)))
    reduced = ReducedModel.of(statics, shapes)
    found = [frequency_errors(reduced, held, omega, at_least=0) for held in supports]
    if count == len(pool.omega) and not any(errors.frequency.size for errors in found):
        raise InputError(
            f"method.band: the body has no mode up to {omega / (2 * np.pi):g} Hz; raise the band"
        )
    return max(float(errors.error.max(initial=0.0)) for errors in found)

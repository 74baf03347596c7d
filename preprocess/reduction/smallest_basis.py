"""Smallest Craig–Bampton or Rubin basis with a proved accuracy.

The number of modes of either kind is free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.file import MAX_MODES
from preprocess.reduction.base import Basis, Progress, Reduction
from preprocess.reduction.certificate import (
    AccuracyRequest,
    Certificate,
    CertifiedReference,
    MissingModes,
)
from preprocess.reduction.craig_bampton import CraigBampton
from preprocess.reduction.craig_chang import CraigChang
from preprocess.reduction.free_reduction import FreeReduction
from preprocess.reduction.guyan import Guyan, constraint_shapes
from preprocess.reduction.independent_shapes import DEPENDENT, elastic_shapes
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.reduction.rubin import Rubin
from preprocess.reduction.trial_space import TrialSpace
from preprocess.solve.lanczos import Modes

# frequency limits of the modes tried, as multiples of the band
_FIRST, _GROWTH, _HIGHEST = 1.6, 1.6, 7.0

_NOT_FOUND = "band: the modes up to {:g} Hz with interfaces held are not all found; lower it"


class BasisFamily(NamedTuple):
    """Static shapes (3N, n) by name, and normal modes of which the lowest are kept.

    The family also has the method for each number.
    """

    method: Callable[[int], Reduction]
    static: Mapping[str, FloatArray]
    normal: str
    modes: Modes

    @property
    def static_size(self) -> int:
        """Number of static shapes."""
        return sum(shapes.shape[1] for shapes in self.static.values())

    @property
    def size(self) -> int:
        """Number of all shapes."""
        return self.static_size + len(self.modes.omega)

    def basis(self, count: int, band: float) -> Basis:
        """Basis with ``count`` normal modes."""
        shapes = {**self.static, f"{self.normal} modes": self.modes.shapes[:, :count]}
        return Basis(shapes, self.modes.omega[:count] / (2 * np.pi), band)


class _ProvedBasis(NamedTuple):
    """Proved basis with its number of shapes, method and reference.

    If none is proved, the number exceeds that of any basis.
    """

    size: int
    method: Reduction | None = None
    basis: Basis | None = None
    reference: CertifiedReference | None = None


def smallest_basis(
    statics: InterfaceStatics, request: AccuracyRequest, progress: Progress
) -> tuple[Reduction, Basis, CertifiedReference]:
    """Method and basis with the fewest shapes that is proved, and the reference that proves it.

    Raises InputError if no basis with modes up to seven times the band is proved.
    """
    limit, problem, best = _FIRST, "", _ProvedBasis(MAX_MODES + 1)
    while limit < _HIGHEST:
        progress("modes for the certificate", 0.1)
        families = _families(statics, limit * request.omega)
        limit *= _GROWTH
        try:
            reference = trial_reference(
                statics, [shapes for each in families for shapes in _shapes(each)], request
            )
        except MissingModes:
            problem = _NOT_FOUND.format(request.band)
            continue
        progress("smallest basis", 0.6)
        found = [_smallest(statics, reference, each) for each in families]
        best = min([best, *found], key=lambda each: each.size)
        if best.basis is not None and all(
            each.basis or family.size >= best.size for each, family in zip(found, families)
        ):
            break
        problem = _best(reference, families).refusal()
    if best.method is None or best.basis is None or best.reference is None:
        raise InputError(problem)
    return best.method, best.basis, best.reference


def trial_reference(
    statics: InterfaceStatics, shapes: list[FloatArray], request: AccuracyRequest
) -> CertifiedReference:
    """Reference used to certify bases spanned by given shapes (3N, …). Raises `MissingModes`."""
    return CertifiedReference(TrialSpace(statics, np.hstack(shapes)), request)


def basis_reference(
    statics: InterfaceStatics, shapes: FloatArray, request: AccuracyRequest
) -> CertifiedReference:
    """Reference used to certify one basis of elastic shapes (3N, n). Raises InputError."""
    limit = _FIRST
    while limit < _HIGHEST:
        free, attached = (
            _free_modes(statics, limit * request.omega),
            statics.free_response(statics.interface_loads),
        )
        try:
            return trial_reference(statics, [attached, free.shapes, shapes], request)
        except MissingModes:
            limit *= _GROWTH
    raise InputError(_NOT_FOUND.format(request.band))


def _families(statics: InterfaceStatics, omega: float) -> tuple[BasisFamily, BasisFamily]:
    """Craig–Bampton and Rubin bases with all modes up to ω."""
    fixed = statics.modes(range(len(statics.interfaces)), omega_max=omega)
    free, attached = _free_modes(statics, omega), statics.free_response(statics.interface_loads)
    return (
        BasisFamily(_craig_bampton, constraint_shapes(statics), "fixed-interface", fixed),
        BasisFamily(_rubin, {"attachment modes": attached}, "free-interface", free),
    )


def _craig_bampton(count: int) -> Reduction:
    """Craig–Bampton method with a number of modes; Guyan for none."""
    return CraigBampton(modes=count) if count else Guyan()


def _rubin(count: int) -> Reduction:
    """Rubin's method with a number of modes; Craig–Chang for none."""
    return Rubin(modes=count) if count else CraigChang()


def _free_modes(statics: InterfaceStatics, omega: float) -> Modes:
    """Modes of the free body up to ω."""
    return statics.modes((), omega_max=omega)


def _shapes(family: BasisFamily) -> list[FloatArray]:
    """Static shapes and modes of a family."""
    return [*family.static.values(), family.modes.shapes]


def _smallest(
    statics: InterfaceStatics, reference: CertifiedReference, family: BasisFamily
) -> _ProvedBasis:
    """Smallest basis of a family that is proved within the tolerance, by bisection."""
    coordinates = [reference.space.coordinates(shapes) for shapes in _shapes(family)]
    low, high = 0 if family.static_size else 1, len(family.modes.omega)
    if high < low or not reference.proves(_reduction(reference, coordinates, high)):
        return _ProvedBasis(MAX_MODES + 1)
    while low < high:
        middle = (low + high) // 2
        if reference.proves(_reduction(reference, coordinates, middle)):
            high = middle
        else:
            low = middle + 1
    for count in range(high, len(family.modes.omega) + 1):
        basis = family.basis(count, reference.request.band)
        shapes = elastic_shapes(statics, basis.shapes).shapes
        if reference.proves(FreeReduction.of(statics, shapes)):
            return _ProvedBasis(shapes.shape[1], family.method(count), basis, reference)
    return _ProvedBasis(MAX_MODES + 1)


def _reduction(
    reference: CertifiedReference, coordinates: list[FloatArray], count: int
) -> FreeReduction:
    """Reduction to static shapes and ``count`` modes, by their coordinates in the trial space."""
    columns = np.hstack([*coordinates[:-1], coordinates[-1][:, :count]])
    sizes = np.linalg.norm(columns, axis=0)
    Q, kept, _ = np.linalg.svd(columns / np.where(sizes > 0, sizes, 1.0), full_matrices=False)
    return reference.space.reduction.within(Q[:, kept > DEPENDENT])


def _best(reference: CertifiedReference, families: tuple[BasisFamily, ...]) -> Certificate:
    """Error bounds of the family nearest to the tolerance with all its modes."""
    found = []
    for each in (family for family in families if family.size):
        coordinates = [reference.space.coordinates(shapes) for shapes in _shapes(each)]
        found.append(
            reference.certificate(_reduction(reference, coordinates, len(each.modes.omega)))
        )
    return min(found, key=lambda each: max(each.frequency_error, each.transfer.as_frequency))

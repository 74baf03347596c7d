"""Reduction methods: bases of a finite-element body with interfaces."""

from preprocess.reduction.base import Basis, Progress, Reduction
from preprocess.reduction.clamped_modes import ClampedModes
from preprocess.reduction.craig_bampton import CraigBampton
from preprocess.reduction.craig_chang import CraigChang
from preprocess.reduction.free_modes import FreeModes
from preprocess.reduction.guyan import Guyan
from preprocess.reduction.krylov import Krylov
from preprocess.reduction.rubin import Rubin
from preprocess.reduction.user_basis import GivenShapes

REDUCTIONS: dict[str, type[Reduction]] = {
    method.kind: method
    for method in (
        CraigBampton,
        Guyan,
        Rubin,
        CraigChang,
        Krylov,
        FreeModes,
        ClampedModes,
        GivenShapes,
    )
}

__all__ = [
    "REDUCTIONS",
    "Basis",
    "ClampedModes",
    "CraigBampton",
    "CraigChang",
    "FreeModes",
    "GivenShapes",
    "Guyan",
    "Krylov",
    "Progress",
    "Reduction",
    "Rubin",
]

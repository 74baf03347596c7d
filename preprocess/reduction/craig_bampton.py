"""Craig–Bampton reduction: static constraint modes and fixed-interface normal modes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from flexmbs.errors import InputError
from preprocess.reduction.base import Basis, Progress, Reduction
from preprocess.reduction.eigen import Modes, modes_of
from preprocess.reduction.statics import InterfaceStatics


@dataclass(frozen=True)
class CraigBampton(Reduction):
    """Basis ``[Ψ | Φ]``: six constraint modes Ψ per interface, and fixed-interface normal modes Φ, either the ``modes`` lowest or
    all up to ``frequency`` [Hz].

    Source: Craig and Bampton, AIAA Journal 6 (1968) 1313.
    """

    _: KW_ONLY
    modes: int | None = None
    frequency: float | None = None

    kind = "craig-bampton"

    def __post_init__(self) -> None:
        if (self.modes is None) == (self.frequency is None):
            raise InputError("method: CraigBampton takes either modes=n or frequency=f_max [Hz]")
        if self.modes is not None and (self.modes != int(self.modes) or self.modes < 1):
            raise InputError(f"method.modes: is {self.modes}; ask for at least one fixed-interface mode")
        if self.frequency is not None and not (np.isfinite(self.frequency) and self.frequency > 0):
            raise InputError(f"method.frequency: is {self.frequency} Hz; give a positive limit")

    def basis(self, statics: InterfaceStatics, progress: Progress) -> Basis:
        constraint = statics.constraint_modes()
        progress("fixed-interface modes", 0.0)
        normal = self._normal_modes(statics)
        n, m = constraint.shape[1], normal.shapes.shape[1]
        motion = np.hstack([np.eye(n), np.zeros((n, m))]).reshape(n // 6, 6, n + m)
        return Basis(np.hstack([constraint, normal.shapes]), motion, normal.omega / (2 * np.pi))

    def _normal_modes(self, statics: InterfaceStatics) -> Modes:
        free = statics.free_count
        if self.modes is not None and self.modes > free:
            raise InputError(
                f"method.modes: {self.modes} asked for; the body has {free} degrees of freedom between its interfaces"
            )
        omega_max = 2 * np.pi * self.frequency if self.frequency else 0.0
        found = modes_of(statics.response, statics.fe.mass_product, statics.size, count=self.modes or 0, omega_max=omega_max)
        if not found.omega.size:
            raise InputError(f"method.frequency: no fixed-interface mode up to {self.frequency} Hz; raise the limit")
        return found

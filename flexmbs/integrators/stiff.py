"""Implicit methods for stiff ordinary differential equations, marched by SciPy: Radau IIA and BDF.

For minimal coordinates: the equations are y' = f(t, y) with y = (q, s, force states, works). Constraints are kept as the
formalism keeps them, by its own correction or by Baumgarte's stabilization.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from flexmbs.integrators.integrator import ATOL, RTOL, Integrator, check_step, check_tolerance


@dataclass(frozen=True)
class Stiff(Integrator):
    """Options of both methods: tolerances ``rtol`` and ``atol``, and a longest step ``max_step`` (s)."""

    rtol: float = RTOL
    atol: float = ATOL
    max_step: float | None = None

    needs: ClassVar[str] = "accelerations"
    treatments: ClassVar[tuple[str, ...]] = ("none", "baumgarte")
    step: ClassVar[None] = None  # type: ignore[misc]

    def __post_init__(self) -> None:
        check_tolerance("rtol", self.rtol)
        check_tolerance("atol", self.atol)
        check_step("max_step", self.max_step)

    @property
    def longest_step(self) -> float:
        return math.inf if self.max_step is None else self.max_step


@dataclass(frozen=True)
class Radau(Stiff):
    """Radau IIA of order 5 with controlled steps (Hairer & Wanner 1996, IV.8), for stiff minimal coordinates."""

    name: ClassVar[str] = "radau"


@dataclass(frozen=True)
class BDF(Stiff):
    """Backward differentiation of variable order 1 to 5 (Shampine & Reichelt 1997), for stiff minimal coordinates."""

    name: ClassVar[str] = "bdf"

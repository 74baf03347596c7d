"""What an integrator is: a value with the options of a method.

``needs`` says what a formalism must provide for it, "residual" or "accelerations". Its time loop is bound to the formalism in
a file of `flexmbs.analysis.march`, named by a line of `MARCHES` there.
"""

import abc
import math
from typing import ClassVar

from flexmbs.errors import InputError

RTOL, ATOL = 1e-6, 1e-8  # tolerances where none are given


class Integrator(abc.ABC):
    """Options of a method: fixed ``step`` (s) or None for steps controlled by the error within ``rtol`` and ``atol``.

    treatments: stabilizations of constraints that go with it.
    """

    name: ClassVar[str]
    needs: ClassVar[str]
    treatments: ClassVar[tuple[str, ...]] = ("none",)
    step: float | None
    rtol: float | None
    atol: float | None

    @property
    def longest_step(self) -> float:
        """Upper bound of controlled steps (s)."""
        return math.inf


def check_step(key: str, value: float | None) -> None:
    """Raise InputError for a step that is not positive."""
    if value is not None and not value > 0.0:
        raise InputError(f"integrator.{key}: {value} is not positive")


def check_tolerance(key: str, value: float) -> None:
    """Raise InputError for a tolerance beyond double precision or not below 1."""
    if not 1e-14 <= value < 1.0:
        raise InputError(f"integrator.{key}: {value} is not in 1e-14 … 1")

"""What an integrator is: a value with the options of a method.

``needs`` says what a formalism must provide for it, "residual" or "accelerations". Its time loop is bound to the formalism in
a file of `flexmbs.analysis.march`, named by a line of `MARCHES` there.
"""

import abc
import math
import numbers
from typing import ClassVar

from flexmbs.errors import InputError

RTOL, ATOL = 1e-6, 1e-8  # tolerances where none are given


class Integrator(abc.ABC):
    """Options of a method: fixed ``step`` (s) or None for steps controlled by the error within ``rtol`` and ``atol``.

    treatments: stabilizations of constraints that go with it. keeps_velocity_rows: whether constraints may be nonholonomic.
    contacts: does it know rigid contacts?
    """

    name: ClassVar[str]
    needs: ClassVar[str]
    treatments: ClassVar[tuple[str, ...]] = ("none",)
    keeps_velocity_rows: ClassVar[bool] = True
    contacts: ClassVar[bool] = False
    step: float | None
    rtol: float | None
    atol: float | None

    @property
    def longest_step(self) -> float:
        """Upper bound of controlled steps (s)."""
        return math.inf


def is_number(value: object) -> bool:
    """A real number, and no truth value."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_step(key: str, value: float | None) -> None:
    """Raise InputError for a step that is no positive number."""
    if value is not None and not (is_number(value) and value > 0.0):
        raise InputError(f"integrator.{key}: {value!r} is not positive; give a time in seconds")


def check_tolerance(key: str, value: float) -> None:
    """Raise InputError for a tolerance beyond double precision or not below 1."""
    if not (is_number(value) and 1e-14 <= value < 1.0):
        raise InputError(f"integrator.{key}: {value!r} is not in 1e-14 … 1")


def check_iterations(key: str, value: int) -> None:
    """Raise InputError for a number of iterations that is no whole number above zero."""
    if not (isinstance(value, numbers.Integral) and not isinstance(value, bool) and value > 0):
        raise InputError(f"integrator.{key}: {value!r} is no whole number above 0")

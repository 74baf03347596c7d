"""Kernels that stand in the file of their declaration, plain functions until a run needs them compiled: laws of forces and of
contacts, rows of relations, geometries of contacts.

To import a declaration imports no compiler. `flexmbs._jit` knows the files with such kernels by their import of
``flexmbs.law_kernel``: an edit of one is seen.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

LAW_KERNELS: "list[LawKernel]" = []
KEPT, ROW = 3, 9  # numbers that a relation keeps, and those of each of its rows behind them


class LawPart:
    """A function of numbers that kernels of laws call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.__name__, self.__doc__ = function, function.__name__, function.__doc__

    def __call__(self, *given: Any) -> Any:
        return self.function(*given)


class LawKernel:
    """A law ``value(p, u, x, out)``, known to the records by its ``number``.

    p: the parameters of its record.  u: what its laws of time and functions of the user give, or what a relation kept.  x: the
    time and the motion of the place where it acts.  out: what it gives, zero before.  ``strongly_nonlinear``: its slopes
    change within a step, and Newton's matrix is renewed.
    """

    def __init__(self, value: Callable[..., None], *, strongly_nonlinear: bool = False) -> None:
        self.value, self.strongly_nonlinear, self.number = value, strongly_nonlinear, len(LAW_KERNELS)
        self.derivatives: Callable[..., None] | None = None
        LAW_KERNELS.append(self)

    def slopes(self, function: Callable[..., None]) -> Callable[..., None]:
        """The stiffness and damping of the law, ``function(p, u, x, out)``; without it they are central differences."""
        self.derivatives = function
        return function


def law_kernel(value: Callable[..., None]) -> LawKernel:
    """Decorator of a law."""
    return LawKernel(value)


def nonlinear_law(value: Callable[..., None]) -> LawKernel:
    """Decorator of a strongly nonlinear law, whose slopes change within a step."""
    return LawKernel(value, strongly_nonlinear=True)


class Row(NamedTuple):
    """The record of a law: its kernel with parameters p, and the laws of time or functions of the user that give u.

    gives: how many numbers each of them adds to u: its value; 2 with its rate; of a function of the user its first ones.
    keys: where they stand in the declaration, for messages.  integral: the law has a force state.
    """

    law: LawKernel
    parameters: tuple[float, ...] = ()
    laws: tuple[Any, ...] = ()
    gives: int = 1
    keys: tuple[str, ...] = ()
    integral: bool = False

"""Kernels in the file of their declaration, plain functions until a run compiles them: laws of
forces and of contacts, rows of relations, geometries of contacts.

Importing a declaration does not import the compiler. `flexmbs._jit` identifies the files with such
kernels by their import of ``flexmbs.law_kernel``, so that edits are detected.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

LAW_KERNELS: "list[LawKernel]" = []
KEPT, ROW = 3, 9  # memory of a relation (numbers), followed by the numbers of each of its rows


class LawPart:
    """A function of numbers called by law kernels."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.__name__, self.__doc__ = function, function.__name__, function.__doc__

    def __call__(self, *given: Any) -> Any:
        return self.function(*given)


class LawKernel:
    """A law ``value(p, u, x, out)``, identified in the records by its ``number``.

    p: the parameters of its record.  u: values of its laws of time and user functions, or the
    memory of a relation.  x: time and motion of its point of action.  out: results, initially zero.
    ``strongly_nonlinear``: its slopes change within a step, and the iteration matrix is updated.
    """

    def __init__(self, value: Callable[..., None], *, strongly_nonlinear: bool = False) -> None:
        self.value, self.strongly_nonlinear, self.number = (
            value,
            strongly_nonlinear,
            len(LAW_KERNELS),
        )
        self.derivatives: Callable[..., None] | None = None
        LAW_KERNELS.append(self)

    def slopes(self, function: Callable[..., None]) -> Callable[..., None]:
        """The stiffness and damping of the law, ``function(p, u, x, out)``; by default central
        differences.
        """
        self.derivatives = function
        return function


def law_kernel(value: Callable[..., None]) -> LawKernel:
    """Decorator of a law."""
    return LawKernel(value)


def nonlinear_law(value: Callable[..., None]) -> LawKernel:
    """Decorator of a strongly nonlinear law, whose slopes change within a step."""
    return LawKernel(value, strongly_nonlinear=True)


class Sampler(NamedTuple):
    """The discrete part of a law: at t_k = k ``period`` (s) its kernel gives the output and the
    memory from what was measured.

    Kernel: x = (t_k, coordinate and rate at t_k − ``delay``, memory) → out = (output, memory). The
    output acts from t_k + ``computing_time`` on and is held. laws, gives, keys, constants: as in
    `Row`; user functions are f(memory, t, x, v) → (output, memory).
    """

    law: LawKernel
    parameters: tuple[float, ...]
    period: float
    delay: float = 0.0
    computing_time: float = 0.0
    memory: tuple[float, ...] = ()
    laws: tuple[Any, ...] = ()
    gives: int = 1
    keys: tuple[str, ...] = ()
    constants: tuple[float, ...] = ()


class Row(NamedTuple):
    """The record of a law: its kernel with parameters p, and the laws of time or user functions
    that give u.

    x holds, behind the force states z, their bases c and the weight a of an implicit stage, z = c +
    a ż, a = 0 elsewhere: a law that switches or is stiff may solve this for ż itself. gives: how
    many numbers each of them adds to u: 1, its value; 2 with its rate; the first ones of a user
    function. keys: their keys in the declaration, for messages.  states: number of its force states
    z, which follow the motion in x; their rates follow the forces in out.  sampler: what sets them
    at instants.  loaded: it takes the loads of its joint, which its reaction gives.  reads: joints
    whose constraint wrenches a law on a frame takes, six numbers each behind the motion, in the
    axes of the child's frame, or with ``world_axes`` in those of the world.  constants: numbers
    that its user functions take as an array behind all other arguments.
    """

    law: LawKernel
    parameters: tuple[float, ...] = ()
    laws: tuple[Any, ...] = ()
    gives: int = 1
    keys: tuple[str, ...] = ()
    states: int = 0
    sampler: Sampler | None = None
    loaded: bool = False
    reads: tuple[str, ...] = ()
    world_axes: bool = False
    constants: tuple[float, ...] = ()

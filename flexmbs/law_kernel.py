"""Kernels in the file of their declaration, plain functions until a run compiles them: force and
contact laws, rows of relations, contact geometries.

They are plain functions in the file of the declaration until a run compiles them, so that importing
a declaration does not import the compiler.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

LAW_KERNELS: "list[LawKernel]" = []
KEPT, ROW = 3, 9  # numbers in the memory of a relation, and in each of its rows that follow


class LawPart:
    """Function of numbers, called by law kernels."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.__name__, self.__doc__ = function, function.__name__, function.__doc__

    def __call__(self, *given: Any) -> Any:
        return self.function(*given)


class LawKernel:
    """Law ``value(p, u, x, out)``, identified in the records by its ``number``.

    p: the parameters of its record.  u: values of its laws of time and user functions, or the
    memory of a relation.  x: time and motion at its point of action.  out: results, initially zero.
    ``strongly_nonlinear``: its slopes change within a step, so the iteration matrix is updated.
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
        """Register the stiffness and damping of the law, ``function(p, u, x, out)``; the default is
        central differences.
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
    """Discrete part of a law: at t_k = k ``period`` (s) its kernel gives the output and the memory
    from the measured values.

    Its kernel maps x = (t_k, coordinate and rate at t_k − ``delay``, memory) to out = (output,
    memory). The output acts from t_k + ``computing_time`` on and is held. laws, gives, keys,
    constants: as in `Row`; user functions are f(memory, t, x, v) → (output, memory).
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
    """Record of a law: its kernel with parameters p, and the laws of time or user functions that
    give u.

    x contains, after the force states z, their base values c and the weight a of an implicit stage,
    z = c + a ż, with a = 0 elsewhere: a law that switches or is stiff may solve this for ż itself.
    gives: how many numbers each function adds to u: 1, its value; 2 with its rate; the first ones
    of a user function. keys: their keys in the declaration, for messages.  states: number of force
    states z, which follow the motion in x; their rates follow the forces in out.  sampler: discrete
    part that sets them at instants.  loaded: the law takes the loads of its joint, from the joint
    reaction.  reads: joints whose constraint wrenches a law on a frame takes, six numbers each
    after the motion, in the axes of the child's frame, or in world axes with ``world_axes``.
    constants: numbers passed to its user functions as an array after all other arguments.
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

"""Kernels of declarations: laws of forces and contacts, rows of relations, geometries of contacts.

They are plain functions in the file of the declaration until a run compiles them, so that importing
a declaration does not import the compiler.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

LAW_KERNELS: "list[LawKernel]" = []
KEPT, ROW = 3, 9  # numbers in the memory of a relation: of the relation itself, and of each row


class LawPart:
    """Function of numbers that law kernels call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.__name__, self.__doc__ = function, function.__name__, function.__doc__

    def __call__(self, *given: Any) -> Any:
        return self.function(*given)


class LawKernel:
    """Law ``value(p, u, x, out)``, identified in the records by its ``number``.

    p: parameters of its record.  u: values of its laws of time and user functions, or the memory of
    a relation.  x: time and motion of its point of action.  out: results, initially zero.
    strongly_nonlinear: its slopes change within a step, so the iteration matrix is updated.
    workspace: count of numbers behind the values in u that the law may use, for parameters p.
    """

    def __init__(
        self,
        value: Callable[..., None],
        *,
        strongly_nonlinear: bool = False,
        workspace: Callable[[Any], int] = lambda p: 0,
    ) -> None:
        self.workspace = workspace
        self.value, self.strongly_nonlinear, self.number = (
            value,
            strongly_nonlinear,
            len(LAW_KERNELS),
        )
        self.derivatives: Callable[..., None] | None = None
        LAW_KERNELS.append(self)

    def slopes(self, function: Callable[..., None]) -> Callable[..., None]:
        """Decorate the function (p, u, x, out) for stiffness and damping of the law.

        The default is central differences.
        """
        self.derivatives = function
        return function


def law_kernel(value: Callable[..., None]) -> LawKernel:
    """Decorator of the kernel (p, u, x, out) of a force law."""
    return LawKernel(value)


def nonlinear_law(value: Callable[..., None]) -> LawKernel:
    """Decorator of a strongly nonlinear law, whose slopes change within a step."""
    return LawKernel(value, strongly_nonlinear=True)


class StateName(NamedTuple):
    """Name and unit of a force state as a signal, ``offset`` + ``scale`` · z.

    In the unit, {x} stands for that of the coordinate, m or rad, {Q} for that of the force, N or
    N m.
    """

    name: str
    unit: str = ""
    scale: float = 1.0
    offset: float = 0.0


class Sampler(NamedTuple):
    """Discrete part of a law, evaluated at the samples t_k = k ``period`` (s).

    Its kernel maps x = (t_k, coordinate and rate at t_k − ``delay``, memory) to out = (output,
    memory). The output acts from t_k + ``computing_time`` on and is held. laws, gives, keys,
    constants: as in `Row`; user functions are f(memory, t, x, v) → (output, memory). names: of
    the first numbers of the memory.
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
    names: tuple[StateName, ...] = ()


class Row(NamedTuple):
    """Record of a law: its kernel with parameters p, and the laws of time or user functions for u.

    After the force states z, x holds their bases c and the weight a of an implicit stage, z = c +
    a ż, a = 0 elsewhere: a law that switches or is stiff may solve this equation for ż itself.

    laws: laws of time and user functions.  gives: count of numbers that each of them adds to u: 1
    for its value, 2 with its rate; of a user function the first ones.  keys: their keys in the
    declaration, for messages.  states: number of force states z, which follow the motion in x;
    their rates follow the forces in out.  sampler: the discrete part that sets force states.
    loaded: True if the law takes the loads of its joint from the joint's reaction.  reads: joints
    whose constraint wrenches a law on a frame takes, six numbers each after the motion, in the axes
    of the child frame, or with ``world_axes`` in those of the world.  constants: numbers that its
    user functions take as an array after all other arguments.  names: of the force states.
    corners: times (s) at which controlled steps end, beside those of the laws of time.
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
    names: tuple[StateName, ...] = ()
    corners: tuple[float, ...] = ()

"""Interface of an integrator: a value with the options of a method.

``needs`` states what a formalism must provide for it, "residual" or "accelerations". Its step is a
kernel that meets the formalism through the calls of `flexmbs.integrators.run_context`; a new method
is one file and a line of `INTEGRATORS`. The methods and their orders: docs/theory.md, section 44.
"""

import abc
import math
import numbers
from typing import Any, ClassVar, NamedTuple

import numpy as np

from flexmbs._jit.address import Entry
from flexmbs.errors import InputError
from flexmbs.integrators.dense_output import between_ends, nothing_kept
from flexmbs.integrators.impacts import Undecided
from flexmbs.integrators.run_context import Control, RunContext

RTOL, ATOL = 1e-6, 1e-8  # default tolerances
FINEST = 1e-14  # rtol: 45 units of round-off; smaller errors cannot be estimated


class Facts(NamedTuple):
    """Facts of the equations for a method.

    Numbers of positions, velocities, force states, constraint rows and contacts; properties.
    """

    nq: int
    ns: int
    nz: int
    nc: int
    contacts: int
    free_bodies: bool  # True: no body is connected to another body by a joint of the tree
    constant_mass: bool  # True: all bodies are free and rigid
    # forces whose slopes change within a step: friction, joint limits, contacts
    strongly_nonlinear: bool
    loaded: bool  # True: forces depend on reactions, whose slopes are not in the iteration matrix
    sizes: np.ndarray  # (ns,) displacements that are alike, in m, rad or modal amplitudes
    places: np.ndarray  # (nq,) of positions

    @property
    def contraction(self) -> float:
        """Contraction of Newton's method with a new matrix that few corrections may not show.

        Friction follows the reactions only by a share of the friction coefficient.
        """
        return 0.5 if self.loaded else 0.0


class MethodCalls(NamedTuple):
    """Kernels of a method, each called with (memory, context, context, t).

    The step of length t, the actions after its acceptance, the state at time t of the last step,
    the actions at a jump of forces at time t, before the next step, and those at an output at time
    t, which is in ``at``.
    """

    step: Entry
    finish: Entry = nothing_kept
    between: Entry = between_ends
    jump: Entry = nothing_kept
    output: Entry = nothing_kept


class Integrator(abc.ABC):
    """Options of a method.

    ``step`` (s) is fixed, or None where the error within ``rtol`` and ``atol`` controls the step.

    stabilizations: stabilizations of constraints that go with it. keeps_velocity_rows: whether
    constraints may be nonholonomic. has_reactions: whether forces may depend on reactions.
    takes_time: whether poses may depend on time beside the coordinates. contacts: whether it treats
    rigid contacts. sees_contacts: it detects contacts that close and open within its steps.
    control: of its steps. evaluated: the formalism gives ṡ and λ of outputs, else the method does.
    projects_last: the end of a step is projected on the constraints after its ṡ and λ are known.
    begins_with_jerk: it finds s̈ of constrained motions in ``context.local`` when it begins.
    explicit: steps beyond a limit are unstable. finest: smallest rtol of controlled steps. uses:
    names in `Calls` of the equations it calls.
    """

    name: ClassVar[str]
    needs: ClassVar[str]
    stabilizations: ClassVar[tuple[str, ...]] = ("none",)
    keeps_velocity_rows: ClassVar[bool] = True
    has_reactions: ClassVar[bool] = True
    takes_time: ClassVar[bool] = True
    contacts: ClassVar[bool] = False
    sees_contacts: ClassVar[bool] = False
    control: ClassVar[Control] = Control(0.5)
    uses: ClassVar[tuple[str, ...]]
    evaluated: ClassVar[bool] = False
    projects_last: ClassVar[bool] = False
    begins_with_jerk: ClassVar[bool] = False
    explicit: ClassVar[bool] = False
    finest: ClassVar[float] = FINEST
    step: float | None
    rtol: float | None
    atol: float | None

    @abc.abstractmethod
    def memory(self, facts: Facts) -> Any:
        """Options and memory of the method beyond q, s, z: a NamedTuple of arrays and numbers."""

    def begin(self, memory: Any, context: RunContext) -> None:
        """Initialize the memory at the consistent initial state ``context.state``."""
        return

    @property
    def calls(self) -> MethodCalls:
        """The kernels of the method."""
        raise NotImplementedError

    def impacts(self, memory: Any) -> list[Any]:
        """(contact, time, impulse, energy lost) of impacts since the last call."""
        return []

    def undecided(self, memory: Any) -> Undecided | None:
        """Impacts whose velocities depend on the law for simultaneous impacts."""
        return None

    def lifted(self, memory: Any) -> tuple[int, float]:
        """Number and first time (s) of steps in which a contact lifts off that could also jam."""
        return 0, 0.0

    def notes(self, memory: Any) -> list[str]:
        """Notes for the user after a run, one line each."""
        return []

    @property
    def longest_step(self) -> float:
        """Upper bound of controlled steps (s)."""
        return math.inf


def is_number(value: object) -> bool:
    """True for a real number that is not a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_step(key: str, value: float | None) -> None:
    """Raise InputError for a step that is not a positive number."""
    if value is not None and not (is_number(value) and value > 0.0):
        raise InputError(f"integrator.{key}: {value!r} is not positive; give a time in seconds")


def check_tolerance(key: str, value: float, finest: float = FINEST) -> None:
    """Raise InputError for a relative tolerance below ``finest`` or not below 1."""
    if not (is_number(value) and finest <= value < 1.0):
        raise InputError(f"integrator.{key}: {value!r} is not in {finest:g} … 1")


def check_tolerances(rtol: float, atol: float, finest: float = FINEST) -> None:
    """Raise InputError for tolerances out of range.

    An rtol below ``finest``, an atol that is not positive, or one of them not below 1. atol has the
    unit of positions: no value above zero is too small for every size of model.
    """
    check_tolerance("rtol", rtol, finest)
    if not (is_number(atol) and 0.0 < atol < 1.0):
        raise InputError(f"integrator.atol: {atol!r} is not above 0 and below 1")


def check_iterations(key: str, value: int) -> None:
    """Raise InputError for a number of iterations that is not a whole number above zero."""
    if not (isinstance(value, numbers.Integral) and not isinstance(value, bool) and value > 0):
        raise InputError(f"integrator.{key}: {value!r} is not a whole number above 0")

"""Interface of a formalism.

A formalism combines the terms M, k, G, γ of the equations of motion

    M ṡ = k + Gᵀ λ,   G ṡ = γ;   ẋ = Ψ(x, t),   x = (q, s, z),   q̇ = H(q) s

at a state. It is a value with options. Its kernels are `part`s with one signature each, bound into
the time loop; it states what it provides ("residual" for implicit methods, "accelerations" for
explicit ones) and in which coordinates it works. A new one is a class of this kind in a file of its
own and a line in `flexmbs.formalisms.FORMALISMS`.

Theory: docs/theory.md, sections 23, 26 and 33.
"""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs.system.compile import Compiled
from flexmbs.system.records import Work


@part
def unchanged(system, work, workspace, t, q, s):
    """Placeholder of the correction of accepted states: there is none."""
    return 0.0


@part
def no_matrix(system, work, workspace, q, c_mass, c_damping):
    """Placeholder of the iteration matrix for formalisms without "residual"."""
    return -1


@part
def no_correction(system, work, workspace, x):
    """Placeholder of the solution for formalisms without "residual"."""


class NoWorkspace(NamedTuple):
    """Workspace of formalisms that need none."""

    options: np.ndarray


class Formalism(abc.ABC):
    """Combination of M, k, G, γ to accelerations and multipliers: M ṡ = k + Gᵀ λ, G ṡ = γ.

    Theory, sections 23 and 33.

    accelerations(system, work, workspace, t, here) → number of dependent rows, or −1 − body.
        The latter if M is not positive definite. ``here`` has q, s, the force states z, ṡ and λ (at
        least the fields q, s, sd, lam, z of `Evaluation`). Fills here.sd (ns,) and here.lam (nc,),
        the rates of the force states and the powers; may move here.q and here.s onto the
        constraints that it satisfies. Leaves g and G s + γ̄ of the state in ``work.gs``.
    accepted(system, work, workspace, t, q, s) → largest remaining |g| (m or rad).
        Corrects an accepted state.
    keep(system, work, workspace, t, q, s): writes the path variables of the formalism.
        To ``work.path``, at the start and after accepted steps; the other kernels only read them.
        Workspace is not used by later calls, except that of `iteration_matrix` by `correction`.
    iteration_matrix(system, work, workspace, q, c_mass, c_damping) → as above: factors
        K_b = [[c_mass M + K + c_damping D, Gᵀ], [G, 0]] (theory, section 26).
    correction(system, work, workspace, x): x (ns + nc,) ← K_b⁻¹ x with that factor.
    """

    name: ClassVar[str]
    provides: ClassVar[tuple[str, ...]] = ("accelerations",)
    coordinates: ClassVar[tuple[str, ...]] = ("joint", "absolute", "rheonomic")
    accelerations: ClassVar[Callable[..., Any]]
    accepted: ClassVar[Callable[..., Any]] = staticmethod(unchanged)
    keep: ClassVar[Callable[..., Any]] = staticmethod(unchanged)
    iteration_matrix: ClassVar[Callable[..., Any]] = staticmethod(no_matrix)
    correction: ClassVar[Callable[..., Any]] = staticmethod(no_correction)

    @abc.abstractmethod
    def workspace(self, compiled: Compiled) -> Any:
        """Workspace arrays and options of one run, a NamedTuple allocated once.

        Raises `InputError` for options that do not fit.
        """

    def fitting(self, compiled: Compiled, needs: str) -> "Formalism":
        """The formalism itself, or a simpler form of it for this model.

        needs: the one of ``provides`` that is required.
        """
        return self

    def begin(self, compiled: Compiled, work: Work, q: np.ndarray, s: np.ndarray) -> None:
        """Check options that depend on the consistent initial state (q, s).

        Raises `InputError`.
        """
        return

    def has_path(self, compiled: Compiled) -> bool:
        """True if the formalism has path variables in this model, which `keep` writes."""
        return type(self).keep is not unchanged

    def notes(self, compiled: Compiled, workspace: Any) -> list[str]:
        """Notes for the user after a run, one line each."""
        return []

    @property
    def stabilization_name(self) -> str:
        """Treatment of constraint drift with explicit integrators: "none", or its name."""
        return "none"

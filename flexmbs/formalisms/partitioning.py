"""Generalized-coordinate partitioning: only independent coordinates are integrated freely.

At every state the dependent positions follow from g(q, t) = 0 by Newton's method, the dependent
velocities from G s + γ̄ = 0,

    q ← q ⊕ δ,  δ_i = 0,  G_d δ_d = −g;   s_d ← s_d − G_d⁻¹ (G s + γ̄),

then ṡ and λ from the bordered equations of the multiplier form. The independent coordinates are
chosen by complete pivoting on G, or named by the user; they are re-selected, between two steps,
when G_d becomes ill-conditioned.

Theory: docs/theory.md, sections 27, 28 and 30. Wehage and Haug (1982), J. Mech. Des. 104, 247;
Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems (1989), on generalized coordinate
partitioning.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from flexmbs.checked_arguments import checked_arguments
from flexmbs.algebra.small import largest
from flexmbs._jit import called, part
from flexmbs.declaration import close_names
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.equations import kinematics
from flexmbs.dynamics.kinematics import displace
from flexmbs.errors import InputError
from flexmbs.formalisms.coordinate_choice import (
    DEPENDENT,
    MADE,
    NAMED,
    RANK,
    ROUND_OFF,
    SINGULAR,
    CoordinateChoice,
    choice_notes,
    choose,
    constraint_matrix,
    dependent_solution,
    factor_dependent,
    maintain,
    make_choice,
    recall,
    settle_choice,
)  # fmt: skip
from flexmbs.formalisms.formalism import Formalism
from flexmbs.dynamics.kkt import project
from flexmbs.formalisms.multiplier import bordered_accelerations
from flexmbs.formalisms.stabilization import checked_option
from flexmbs.system.compile import Compiled, frozen
from flexmbs.system.names import full_name, velocity_names
from flexmbs.system.records import Work

TOLERANCE, LIMIT = range(2)  # places in the options
ITERATIONS = 12
SLOW = 0.2  # a larger contraction needs a new factor of G_d
GAP = 1e-8  # m or rad: with a larger |g| the loops count as open


class PartitioningWorkspace(NamedTuple):
    """Workspace and options of one run."""

    options: np.ndarray  # (2,)
    choice: CoordinateChoice


@part
def largest_of_rows(choice, b):
    """Largest |b| on the rows of G_d, NaN where one is."""
    size = 0.0
    for a in range(choice.numbers[RANK]):
        each = abs(b[choice.row[a]])
        if each > size or each != each:
            size = each
    return size


@called
def dependent_state(system, work, workspace, t, q, s):
    """Dependent positions and velocities from the independent ones, in place.

    q ← q ⊕ δ, δ_i = 0, G_d δ_d = −g; s_d ← s_d − G_d⁻¹ (G s + γ̄), until |g| and |G s + γ̄|/(1 +
    |s|) are below the tolerance. The factor of G_d of the given state is used as long as it
    contracts by 0.2 or better. Returns the largest remaining |g| on the rows of G_d. Theory,
    section 30.
    """
    choice, tolerance = workspace.choice, workspace.options[TOLERANCE]
    before = 1e300
    size = 1e300
    for it in range(ITERATIONS):
        kinematics(system, work, t, q, s, work.zero)
        left = largest_of_rows(choice, work.gs.position)
        rate = largest_of_rows(choice, work.gs.velocity) / (1.0 + largest(s))
        size = max(left, rate)
        if size <= tolerance:
            return left
        # also true for NaN
        if not size < 1e30:
            break
        if it > 0 and size > SLOW * before:
            # the factor from the start of the evaluation contracts too slowly: factor at the
            # present position
            constraint_matrix(system, work, q, 0.0, choice.G)
            if not factor_dependent(choice) > SINGULAR:
                break
        before = size
        dependent_solution(choice, work.gs.position, choice.d)
        displace(system.tree, system.joints, q, choice.d, q)
        dependent_solution(choice, work.gs.velocity, choice.d)
        for a in range(s.shape[0]):
            s[a] += choice.d[a]
    return size


@part
def accelerations(system, work, workspace, t, here):
    """ṡ and λ at the independent coordinates of ``here``.

    The dependent coordinates are corrected in place. If they are not found, the state keeps those
    that it has, and `accepted` judges the step. Theory, section 30.
    """
    choice, q, s = workspace.choice, here.q, here.s
    if here.lam.shape[0] > 0:
        for a in range(q.shape[0]):
            choice.q[a] = q[a]
        for a in range(s.shape[0]):
            choice.s[a] = s[a]
        recall(work.path, choice)
        kinematics(system, work, t, q, s, work.zero)
        constraint_matrix(system, work, q, 0.0, choice.G)
        if choice.numbers[MADE] == 0 or not factor_dependent(choice) > SINGULAR:
            choose(system, work, choice, q)
        # Newton's method may diverge far from the constraints
        if not dependent_state(system, work, workspace, t, q, s) <= GAP:
            for a in range(q.shape[0]):
                q[a] = choice.q[a]
            for a in range(s.shape[0]):
                s[a] = choice.s[a]
    return bordered_accelerations(system, work, 0.0, t, here)


@part
def accepted(system, work, workspace, t, q, s):
    """Correct an accepted state with a choice that is suitable there.

    Returns the largest remaining |g| (m or rad).
    """
    choice = workspace.choice
    if work.gs.position.shape[0] == 0:
        return 0.0
    kinematics(system, work, t, q, s, work.zero)
    recall(work.path, choice)
    maintain(system, work, choice, q, workspace.options[LIMIT])
    for a in range(q.shape[0]):
        choice.q[a] = q[a]
    for a in range(s.shape[0]):
        choice.s[a] = s[a]
    # near a singular position: project by the least change
    if not dependent_state(system, work, workspace, t, q, s) <= GAP:
        for a in range(q.shape[0]):
            q[a] = choice.q[a]
        for a in range(s.shape[0]):
            s[a] = choice.s[a]
        project(system, work, t, q, s, workspace.options[TOLERANCE], ITERATIONS)
    return largest(work.gs.position)


@part
def keep(system, work, workspace, t, q, s):
    """Choose the independent coordinates for the next step."""
    if work.gs.position.shape[0] > 0:
        kinematics(system, work, t, q, s, work.zero)
        settle_choice(system, work, workspace.choice, t, q, workspace.options[LIMIT])


def named_coordinates(compiled: Compiled, names: Sequence[str]) -> list[int]:
    """Indices in s of the coordinates named by the user.

    Raises `InputError` with a list of the existing names.
    """
    known = velocity_names(compiled)
    names = [full_name(name, known) for name in names]
    problems = [
        f"no coordinate '{name}'; {close_names(name, known)}"
        for name in dict.fromkeys(names)
        if name not in known
    ]
    problems += [
        f"'{name}' is named twice" for name in dict.fromkeys(names) if list(names).count(name) > 1
    ]
    if problems:
        raise InputError(*(f"partitioning.independent: {problem}" for problem in problems))
    return [known.index(name) for name in names]


@checked_arguments
@dataclass(frozen=True)
class Partitioning(Formalism):
    """Partitioning into independent and dependent coordinates.

    independent: names of the independent coordinates of the start (``crank.0``, ``hip.1``,
    ``rod.mode2``, ``rod.vx``), or None: chosen by complete pivoting on G.  tolerance: |g| of the
    dependent positions (m or rad). limit: largest entry of G_d⁻¹G_i, in the scale of inertia,
    before others are chosen. Raises `InputError`. Source: docs/theory.md, section 30; Wehage and
    Haug, J. Mech. Des. 104 (1982) 247.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum")
    >>> rod = model.add(
    ...     fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001))
    ... )
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, rod, axis="y", q0=0.1))
    >>> run = fm.simulate(
    ...     model,
    ...     t_end=0.1,
    ...     formalism=fm.Partitioning(independent=["rod.wy"]),
    ...     coordinates="absolute",
    ... )
    >>> run.drift.max().item() < 1e-10  # dependent positions are on g = 0
    True
    """

    independent: Sequence[str] | None = None
    tolerance: float = 1e-11
    limit: float = 2.0

    name: ClassVar[str] = "partitioning"
    provides: ClassVar[tuple[str, ...]] = ("accelerations",)
    accelerations = staticmethod(accelerations)
    accepted = staticmethod(accepted)
    keep = staticmethod(keep)

    def __post_init__(self) -> None:
        for key, least in (("tolerance", 0.0), ("limit", 1.0)):
            checked_option(f"{self.name}.{key}", getattr(self, key), least)
        if self.independent is not None:
            given = self.independent
            if (
                isinstance(given, str)
                or not isinstance(given, Sequence)
                or not all(isinstance(name, str) for name in given)
            ):
                raise InputError(f"{self.name}.independent: {given!r} is not a list of names")
            object.__setattr__(self, "independent", tuple(self.independent))

    def workspace(self, compiled: Compiled) -> PartitioningWorkspace:
        """Workspace of one run, with the independent coordinates named by the user, if any."""
        choice = make_choice(compiled)
        if self.independent is not None:
            ns = len(choice.column)
            independent = named_coordinates(compiled, self.independent)
            choice.start[-ns:] = [*(c for c in range(ns) if c not in independent), *independent]
            choice.start[NAMED] = ns - len(independent)
        frozen(choice.start)
        return PartitioningWorkspace(frozen(np.array([self.tolerance, self.limit])), choice)

    def begin(self, compiled: Compiled, work: Work, q: np.ndarray, s: np.ndarray) -> None:
        """Raise `InputError` unless the named coordinates are independent at the start."""
        if self.independent is None:
            return
        independent = named_coordinates(compiled, self.independent)
        G = terms(compiled.system, work, 0.0, q, s).G
        least = max(DEPENDENT * np.linalg.norm(G, axis=1).max(initial=0.0), ROUND_OFF)
        rank = np.linalg.matrix_rank(G, least) if len(G) else 0
        degrees = G.shape[1] - int(rank)
        if len(independent) != degrees:
            raise InputError(
                f"partitioning.independent: {len(independent)} names for {degrees} "
                "independent coordinates; "
                f"name {degrees} of {', '.join(velocity_names(compiled))}"
            )
        # the columns of the dependent coordinates must have the rank of G
        rest = np.delete(G, independent, axis=1)
        if rank and np.linalg.matrix_rank(rest, least) < rank:
            raise InputError(
                f"partitioning.independent: {', '.join(self.independent)} do not "
                "determine the other coordinates at the start; "
                f"name {degrees} others of {', '.join(velocity_names(compiled))}, or none"
            )

    def notes(self, compiled: Compiled, workspace: PartitioningWorkspace) -> list[str]:
        """Notes on changes of the independent coordinates."""
        return choice_notes(compiled, workspace.choice)

    @property
    def stabilization_name(self) -> str:
        return self.name

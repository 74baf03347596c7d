"""Embedding of the constraints: as many equations as the system has degrees of freedom.

With the independent velocities σ = s_i, G B = 0 and G p = γ,

    B = [1; −G_d⁻¹G_i],   s = B σ + b with G b = −γ̄,   ṡ = B σ̇ + p,
    BᵀMB σ̇ = Bᵀ (k − M p),   M_ii = BᵀMB,   Q_i = Bᵀ (k − M p),

and the constraint forces follow from the dependent rows of M ṡ = k + Gᵀ λ: G_dᵀ λ = (M ṡ − k)_d.
Velocities satisfy the constraints exactly; positions drift unless they are projected after each
step.

Theory: docs/theory.md, sections 16, 27, 29 and 36. Shabana, Computational Dynamics (2010), on the
embedding technique; Shabana, Dynamics of Multibody Systems (2020), chapter 3; Blajer (1997),
Multibody Syst. Dyn. 1, 3 (projection of constrained systems); with quasi-velocities Appell (1904),
Papastavridis (2002), Analytical Mechanics.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from flexmbs._jit import call_address, called, part
from flexmbs.algebra.pivoting import cholesky, cholesky_solve, lu_solve_transposed
from flexmbs.checked_arguments import checked_arguments
from flexmbs.dynamics.dense import dense_mass, terms
from flexmbs.dynamics.equations import kinematics, power_of_drives, residual
from flexmbs.errors import InputError
from flexmbs.formalisms.coordinate_choice import (
    LIMIT,
    MADE,
    NAMED,
    RANK,
    SINGULAR,
    CoordinateChoice,
    choice_notes,
    choose,
    chosen_constraints,
    dependence,
    dependent_solution,
    factor_dependent,
    make_choice,
    recall,
    settle_choice,
)  # fmt: skip
from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.quasi_velocities import (
    forces_in_quasi_velocities,
    mass_in_quasi_velocities,
    quasi_velocities,
    require_regular,
    rest,
    velocities_of,
)  # fmt: skip
from flexmbs.formalisms.stabilization import Projection, projected, stabilization_options
from flexmbs.system.compile import Compiled, frozen
from flexmbs.system.records import Evaluation, Work

LIMIT_OF_CHOSEN = 1e3  # the same if the user chose the coordinates


class EmbeddingWorkspace(NamedTuple):
    """Workspace of one run."""

    options: np.ndarray  # (2,) of the stabilization
    limit: np.ndarray  # (1,)
    choice: CoordinateChoice
    M: np.ndarray  # (ns, ns)
    MB: np.ndarray  # (ns, ns)
    H: np.ndarray  # (ns, ns) BᵀMB
    h: np.ndarray  # (ns,)
    sigma: np.ndarray  # (ns,)
    # (1,) int64 address of T(t, q) for quasi-velocities that depend on the position, or 0
    quasi: np.ndarray
    given: np.ndarray  # (1 + nq,) its arguments


@part
def present_quasi_velocities(workspace, t, q):
    """Evaluate the transformation T (s = T w) of user-defined quasi-velocities at q, t.

    Theory, section 34.
    """
    if workspace.quasi[0] != 0:
        workspace.given[0] = t
        for a in range(q.shape[0]):
            workspace.given[1 + a] = q[a]
        call_address(workspace.quasi[0], workspace.given, workspace.choice.T)


@called
def reduced_mass(choice, M, MB, H):
    """H (f, f) = M_ii = BᵀMB with B = [1; −X] and X = G_d⁻¹G_i unscaled.

    B is ordered (independent; dependent). M (ns, ns); MB (ns, ns) is workspace that keeps M B.
    Theory, section 29.
    """
    n = choice.numbers[RANK]
    free = choice.column.shape[0] - n
    column, X = choice.column, choice.X
    for a in range(M.shape[0]):
        for b in range(free):
            MB[a, b] = M[a, column[n + b]]
        for k in range(n):
            f = M[a, column[k]]
            if f != 0.0:
                for b in range(free):
                    MB[a, b] -= f * X[k, b]
    for a in range(free):
        for b in range(free):
            H[a, b] = MB[column[n + a], b]
    for k in range(n):
        for a in range(free):
            f = X[k, a]
            if f != 0.0:
                for b in range(free):
                    H[a, b] -= f * MB[column[k], b]


@part
def reduced_velocities(choice):
    """X = G_d⁻¹G_i (rank, ns − rank) in the units of the coordinates.

    s_d = −X s_i − G_d⁻¹ γ̄ (theory, section 27).
    """
    n = choice.numbers[RANK]
    dependence(choice)
    for a in range(n):
        for b in range(choice.column.shape[0] - n):
            choice.X[a, b] *= choice.weight[choice.column[a]] / choice.weight[choice.column[n + b]]


@called
def reduced_accelerations(workspace, r, sd):
    """ṡ from BᵀMB σ̇ = Bᵀ (k − M p), ṡ = B σ̇ + p.

    r = −k, and sd enters as p. Returns −1, or the index in σ at which BᵀMB is not positive
    definite. Theory, section 29.
    """
    choice, M, h, sigma = workspace.choice, workspace.M, workspace.h, workspace.sigma
    n = choice.numbers[RANK]
    column, X = choice.column, choice.X
    free = column.shape[0] - n
    reduced_mass(choice, M, workspace.MB, workspace.H)
    for a in range(M.shape[0]):
        h[a] = -r[a]
        for k in range(n):
            h[a] -= M[a, column[k]] * sd[column[k]]
    for b in range(free):
        sigma[b] = h[column[n + b]]
    for k in range(n):
        for b in range(free):
            sigma[b] -= X[k, b] * h[column[k]]
    bad = cholesky(workspace.H, free)
    if bad >= 0:
        return bad
    cholesky_solve(workspace.H, free, sigma)
    for b in range(free):
        sd[column[n + b]] = sigma[b]
    for k in range(n):
        for b in range(free):
            sd[column[k]] -= X[k, b] * sigma[b]
    return -1


@called
def constraint_forces(workspace, r, sd, lam):
    """λ (nc,) of the rows of G_d from G_dᵀ λ = (M ṡ − k)_d, 0 for the rows left out.

    Theory, section 29.
    """
    choice, M = workspace.choice, workspace.M
    n = choice.numbers[RANK]
    x = choice.x
    for k in range(n):
        c = choice.column[k]
        f = r[c]
        for a in range(M.shape[0]):
            f += M[c, a] * sd[a]
        x[k] = f * choice.weight[c]
    lu_solve_transposed(choice.factor, n, choice.order, x)
    for a in range(lam.shape[0]):
        lam[a] = 0.0
    for k in range(n):
        lam[choice.row[k]] = x[k] * choice.length[choice.row[k]]


@called
def velocity_constraints(system, work, workspace, t, q, s):
    """Factor of G_d at q, and the dependent velocities s_d = −G_d⁻¹ (G_i s_i + γ̄) in place.

    M is left in ``work.values``.
    """
    choice = workspace.choice
    recall(work.path, choice)
    present_quasi_velocities(workspace, t, q)
    kinematics(system, work, t, q, s, work.zero)
    chosen_constraints(system, work, choice, q, 1.0)
    if choice.numbers[MADE] == 0 or not factor_dependent(choice) > SINGULAR:
        choose(system, work, choice, q)
    dependent_solution(choice, work.gs.velocity, choice.d)
    if choice.T.shape[0] > 0:
        velocities_of(choice.T, choice.d, workspace.h)
    for a in range(s.shape[0]):
        s[a] += choice.d[a]


@part
def accelerations(system, work, workspace, t, here):
    """ṡ and λ of the embedded equations; dependent velocities are corrected in place.

    Returns the number of dependent rows, or −1 − body if the reduced mass matrix is not positive
    definite. Theory, sections 29 and 34.
    """
    choice, sd, lam = workspace.choice, here.sd, here.lam
    # first, since the forces in the residual depend on the corrected velocities
    velocity_constraints(system, work, workspace, t, here.q, here.s)
    dense_mass(system.elimination, work.values, workspace.M)
    for a in range(lam.shape[0]):
        lam[a] = 0.0
    residual(system, work, t, Evaluation(here.q, here.s, work.zero, lam, here.z, work.r), False)
    if choice.T.shape[0] > 0:
        # G is in quasi-velocities since `velocity_constraints`
        mass_in_quasi_velocities(choice.T, workspace.M, workspace.MB)
        forces_in_quasi_velocities(choice.T, work.r, workspace.h)
    reduced_velocities(choice)
    # gs is −γ at ṡ = 0, and the right-hand side is −b: G_d p_d = γ
    dependent_solution(choice, work.gs.acceleration, sd)
    bad = reduced_accelerations(workspace, work.r, sd)
    if bad >= 0:
        place = choice.column[choice.numbers[RANK] + bad]
        i = system.tree.parent.shape[0] - 1
        while system.tree.s_at[i] > place:  # approximate for quasi-velocities
            i -= 1
        return -1 - i
    constraint_forces(workspace, work.r, sd, lam)
    if choice.T.shape[0] > 0:
        velocities_of(choice.T, sd, workspace.h)
    power_of_drives(system, work, t, here)
    return lam.shape[0] - choice.numbers[RANK]


@part
def keep(system, work, workspace, t, q, s):
    """Choose the independent velocities for the next step."""
    if work.gs.position.shape[0] > 0:
        present_quasi_velocities(workspace, t, q)
        kinematics(system, work, t, q, s, work.zero)
        settle_choice(system, work, workspace.choice, t, q, workspace.limit[0])


@checked_arguments
@dataclass(frozen=True)
class Embedding(Formalism):
    """Embedding with independent velocities chosen by pivoting on G, or with quasi-velocities.

    stabilization: None, or `Projection` of the drifting positions. Raises `InputError` for another
    one. quasi_velocities: the independent σ = B_σ s (method of Appell and Gibbs; theory, sections
    34 and 36), as many as the system has degrees of freedom: names of joint and body velocities
    (``crank.0``, ``hip.1``, ``cart.vx``, ``rod.mode2``), mappings {name: factor}, a matrix (f, ns),
    or a function B_σ(q, t) that returns one, velocities in the order of `Matrices.velocities`.
    Where they no longer determine the motion others of the full set are taken, which the notes of
    the run report. Source: docs/theory.md, section 29; Shabana, Computational Dynamics (2010).

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum")
    >>> rod = model.add(
    ...     fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001))
    ... )
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, rod, axis="y", q0=0.1))
    >>> terms = fm.matrices(model, formalism=fm.Embedding(), coordinates="absolute")
    >>> terms.system.matrix.shape, terms.independent  # one equation is left of six
    ((1, 1), ('rod.wy',))
    """

    stabilization: Projection | None = None
    quasi_velocities: Any = None

    name: ClassVar[str] = "embedding"
    provides: ClassVar[tuple[str, ...]] = ("accelerations",)
    accelerations = staticmethod(accelerations)
    accepted = staticmethod(projected)
    keep = staticmethod(keep)

    def __post_init__(self) -> None:
        if self.stabilization is not None and not isinstance(self.stabilization, Projection):
            raise InputError(
                f"{self.name}.stabilization: {self.stabilization!r}; its velocities need "
                "none: take Projection() or None"
            )

    def workspace(self, compiled: Compiled) -> EmbeddingWorkspace:
        """Workspace of one run, with the choice of independent velocities."""
        ns = int(compiled.system.layout[2])
        z, address = np.zeros, 0
        options = stabilization_options(self.name, self.stabilization)
        if self.quasi_velocities is None:
            choice, limit = make_choice(compiled), LIMIT
        else:
            own = quasi_velocities(compiled, self.quasi_velocities)
            choice, limit = make_choice(compiled, own.T), LIMIT_OF_CHOSEN
            choice.start[NAMED], address = ns - own.chosen, own.address
        frozen((options, choice.start) if address else (options, choice.T, choice.start))
        return EmbeddingWorkspace(
            options,
            frozen(np.array([limit])),
            choice,
            z((ns, ns)),
            z((ns, ns)),
            z((ns, ns)),
            z(ns),
            z(ns),
            frozen(np.array([address])),
            z(1 + int(compiled.system.layout[1])),
        )

    def begin(self, compiled: Compiled, work: Work, q: np.ndarray, s: np.ndarray) -> None:
        """Check that the chosen quasi-velocities are regular at the initial state."""
        if self.quasi_velocities is not None:
            G = terms(compiled.system, work, 0.0, q, s).G
            require_regular(quasi_velocities(compiled, self.quasi_velocities, q), G)

    def notes(self, compiled: Compiled, workspace: EmbeddingWorkspace) -> list[str]:
        """Notes on changes of the independent coordinates."""
        if self.quasi_velocities is None:
            return choice_notes(compiled, workspace.choice)
        own = quasi_velocities(compiled, self.quasi_velocities, rest(compiled), regular=False)
        return choice_notes(compiled, workspace.choice, own.names)

    @property
    def stabilization_name(self) -> str:
        return "none" if self.stabilization is None else self.stabilization.name

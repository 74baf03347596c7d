"""Lagrange multipliers, in joint or absolute coordinates.

    [[M, Gᵀ], [G, 0]] (ṡ, −λ) = (k, γ − 2α (G s + γ̄) − α² g)

Implicit methods use the index-3 form: residual M ṡ − k − Gᵀ λ = 0 with g = 0, iteration matrix c M
+ K + c' D bordered by G. Explicit methods use the index-1 form: accelerations and multipliers at a
state, in one of the classical numerical schemes:

    (1)    integrate everything (``stabilization=None``, the drift is visible)
    (1b)   Baumgarte's stabilization (`Baumgarte`, rate α)
    (3)    predictor–corrector: projection after each step (`Projection`)

Scheme (2), partitioning of the coordinates, is the formalism `Partitioning`. With nonholonomic rows
these are the equations of Routh and Voss.

Theory: docs/theory.md, sections 23, 25, 32 and 35. Shabana, Dynamics of Multibody Systems (2020),
chapters 3 and 5 (Lagrange multipliers, augmented formulation); Haug, Computer Aided Kinematics and
Dynamics of Mechanical Systems (1989); Hairer and Wanner, Solving Ordinary Differential Equations II
(1996), sections VII.1 and VII.2 (index and its reduction); Baumgarte (1972), Comput. Methods Appl.
Mech. Eng. 1, 1.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs._jit.address import packed
from flexmbs.algebra.blocks import solve
from flexmbs.algebra.small import split_solution
from flexmbs.checked_arguments import checked_arguments
from flexmbs.dynamics.equations import balanced, power_of_drives, residual
from flexmbs.dynamics.joint_loads import without_loads
from flexmbs.dynamics.kkt import independence, kkt_matrix, project
from flexmbs.formalisms.coordinate_choice import (
    CoordinateChoice,
    keep_rows,
    make_row_choice,
    redundant,
)
from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.stabilization import (
    NEAR,
    NEAR_TOLERANCE,
    PROJECTION_STEPS,
    RATE,
    TOLERANCE,
    Stabilization,
    projected,
    stabilization_options,
)
from flexmbs.system.compile import Compiled, frozen
from flexmbs.system.records import Evaluation


@part
def bordered_accelerations(system, work, rate, t, here):
    """ṡ (ns,) and λ (nc,) of M ṡ = k + Gᵀ λ, G ṡ = γ − 2α (G s + γ̄) − α² g.

    rate: Baumgarte's α (1/s), 0 for none. Returns the number of dependent rows, or −1 − node of an
    indefinite mass matrix. Theory, sections 23 and 32.
    """
    sd, lam = here.sd, here.lam
    for a in range(lam.shape[0]):
        lam[a] = 0.0
    # at ṡ = 0 and λ = 0 the residual is −k and the third row of gs −γ
    residual(system, work, t, Evaluation(here.q, here.s, work.zero, lam, here.z, work.r), False)
    status = kkt_matrix(system, work, here.q, 1.0, -1.0)
    if status < 0:
        return status
    ns = sd.shape[0]
    x = work.x
    for a in range(ns):
        x[a] = -work.r[a]
    gs = work.gs
    for a in range(lam.shape[0]):
        x[ns + a] = -gs.acceleration[a] - 2.0 * rate * gs.velocity[a] - rate * rate * gs.position[a]
    solve(system.elimination, work.values, x)
    split_solution(x, sd, lam)
    power_of_drives(system, work, t, here)
    return status


@part
def accelerations(system, work, workspace, t, here):
    """ṡ and λ of the bordered equations.

    With a stabilization, near a singular position those of the projected state: errors of the state
    appear in ṡ divided by the distance from the position (theory, section 31).
    """
    status = bordered_accelerations(system, work, workspace.options[RATE], t, here)
    treated = workspace.options[TOLERANCE] > 0.0 or workspace.options[RATE] > 0.0
    if status >= 0 and treated and independence(work, here.s.shape[0]) < NEAR:
        project(system, work, t, here.q, here.s, NEAR_TOLERANCE, PROJECTION_STEPS)
        status = bordered_accelerations(system, work, workspace.options[RATE], t, here)
    return status


@part
def iteration_matrix(system, work, workspace, q, c_mass, c_damping):
    """Factor of K_b = [[c_mass M + K + c_damping D, Gᵀ], [G, 0]] by blocks (theory, section 26)."""
    return kkt_matrix(system, work, q, c_mass, c_damping)


@part
def correction(system, work, workspace, x):
    """Solve with the iteration matrix: x (ns + nc,) ← K_b⁻¹ x."""
    solve(system.elimination, work.values, x)


@part
def keep(system, work, workspace, t, q, s):
    """Choose the independent rows for the next step if some rows are redundant.

    The factor of the present step may still be used.
    """
    kept = workspace.values
    for a in range(kept.shape[0]):
        kept[a] = work.values[a]
    keep_rows(system, work, workspace.choice, t, q, s)
    for a in range(kept.shape[0]):
        work.values[a] = kept[a]


class MultiplierWorkspace(NamedTuple):
    """Workspace and options of one run."""

    options: np.ndarray  # (2,) of the stabilization
    choice: CoordinateChoice  # of independent rows, empty if none are redundant
    values: np.ndarray  # values of the blocks, or empty


@checked_arguments
@dataclass(frozen=True)
class Multiplier(Formalism):
    """Lagrange multipliers.

    stabilization: for explicit integrators None (scheme 1), `Baumgarte` (1b) or `Projection` (3).
    Source: docs/theory.md, sections 23 and 32; Shabana, Dynamics of Multibody Systems (2020),
    chapters 3 and 5.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum")
    >>> rod = model.add(
    ...     fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001))
    ... )
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, rod, axis="y"))
    >>> run = fm.simulate(
    ...     model, t_end=0.1, step=0.01, formalism=fm.Multiplier(), coordinates="absolute"
    ... )
    >>> run.s.shape[1], run.lam.shape[1]  # six velocities, five multipliers of the hinge
    (6, 5)
    >>> run.joint("hinge").force[-1].round(4).tolist()  # m g
    [0.0, 0.0, 29.43]
    """

    stabilization: Stabilization = None

    name: ClassVar[str] = "multiplier"
    provides: ClassVar[tuple[str, ...]] = ("residual", "accelerations")
    accelerations = staticmethod(accelerations)
    accepted = staticmethod(projected)
    iteration_matrix = staticmethod(iteration_matrix)
    correction = staticmethod(correction)
    keep = staticmethod(keep)

    def __post_init__(self) -> None:
        stabilization_options(self.name, self.stabilization)

    def workspace(self, compiled: Compiled) -> MultiplierWorkspace:
        """Workspace of one run, with the choice of independent constraint rows."""
        options = frozen(stabilization_options(self.name, self.stabilization))
        values = np.zeros(
            int(compiled.system.elimination.n_values[0]) if redundant(compiled) else 0
        )
        return MultiplierWorkspace(options, make_row_choice(compiled), values)

    def has_path(self, compiled: Compiled) -> bool:
        """True if constraints are redundant: the choice of rows is part of the state."""
        return redundant(compiled)

    @property
    def stabilization_name(self) -> str:
        return "none" if self.stabilization is None else self.stabilization.name


@packed(int)
def consistent(system, work, t, here, tolerance, iterations, left):
    """Project ``here`` onto the constraints, then compute ṡ and λ.

    left[0]: the largest remaining |g|. Returns the number of dependent rows, or −1 − node of an
    indefinite mass matrix. Theory, sections 32 and 50.
    """
    left[0] = project(system, work, t, here.q, here.s, tolerance, iterations)
    without_loads(work)
    status = bordered_accelerations(system, work, 0.0, t, here)
    turns = 0
    while status >= 0 and not balanced(system, work, t, here, turns):
        status = bordered_accelerations(system, work, 0.0, t, here)
        turns += 1
    without_loads(work)
    return status


@packed(int)
def project_accelerations(system, work, t, here):
    """ṡ ← ṡ + M⁻¹ Gᵀ δλ and λ ← λ + δλ with G ṡ = γ, at a state on the constraints.

    Returns the number of dependent rows or −1 − node of an indefinite mass matrix.
    """
    residual(system, work, t, here, False)
    status = kkt_matrix(system, work, here.q, 1.0, -1.0)
    if status < 0:
        return status
    x, ns = work.x, here.sd.shape[0]
    for a in range(ns):
        x[a] = 0.0
    for a in range(here.lam.shape[0]):
        x[ns + a] = -work.gs.acceleration[a]
    solve(system.elimination, work.values, x)
    for a in range(ns):
        here.sd[a] += x[a]
    for a in range(here.lam.shape[0]):
        here.lam[a] -= x[ns + a]
    return status

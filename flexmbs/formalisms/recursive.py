"""Recursive formalism: O(n) sweeps over the tree, Schur complement for loops and couplers.

    N_i = C_iᵀ M*_i C_i,   M*_p = M_p + Σ_i Ad(X_pi⁻¹)ᵀ Λ_i M*_i Ad(X_pi⁻¹),   ṡ = L⁻ᵀ (L⁻¹ k + L⁻¹Gᵀ λ),   M = L Lᵀ,
    S λ = γ − G M⁻¹ k,   S = G M⁻¹ Gᵀ.

Outward: motion of all bodies and their forces at ṡ = 0. Inward: articulated inertias, with joint
and modal velocities eliminated together, and the remaining loads at each joint. With cut joints S
by the same sweeps with unit loads, then λ. Outward: ṡ and the wrenches of the joints. Rigid trees
under joint forces use the articulated-body algorithm, see `rigid_tree`.

Theory: docs/theory.md, sections 20, 24, 25 and 32. Featherstone, Rigid Body Dynamics Algorithms
(2008), section 7.3 and chapter 8; Bae and Haug (1987-88), Mech. Struct. Mach. 15, 359 and 481; Jain
and Rodriguez (1992), J. Guid. Control Dyn. 15, 1453.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from flexmbs.checked_arguments import checked_arguments
from flexmbs.algebra.se3 import wrench_to_child
from flexmbs.algebra.small import largest, load3_at, load9_at, split_solution
from flexmbs._jit import called, part
from flexmbs._jit.address import address_of, call, entry, memory_of
from flexmbs._jit.record_layout import words
from flexmbs.dynamics.articulated import articulate, body_matrix, joint_geometry, tree_rotors
from flexmbs.dynamics.articulated_sweeps import inward_loads, outward_solution
from flexmbs.dynamics.articulated_work import (
    DENSE,
    JOINT_WRENCH,
    L_CHILD,
    LOAD,
    ROW,
    ROWS,
    SLOPE,
    TAU,
    Articulated,
    SchurComplement,
    make_articulated,
    make_schur,
)
from flexmbs.dynamics.schur import (
    loop_multipliers,
    constraint_nodes,
    coupler_loads,
    coupling_loads,
    cut_loads,
    pieces_loads,
    rotor_rows,
    schur_complement,
    set_loads,
)
from flexmbs.dynamics.constraints import drive_power, prescribed_effort
from flexmbs.dynamics.equations import body_forces, kinematics
from flexmbs.dynamics.joint_forces import add_slopes
from flexmbs.dynamics.inertia import shape_products
from flexmbs.dynamics.work import unconnected
from flexmbs.formalisms.coordinate_choice import (
    CoordinateChoice,
    keep_rows,
    make_row_choice,
    redundant,
)
from flexmbs.formalisms.formalism import Formalism
from flexmbs.dynamics.kkt import correct, error_of_constraints, independence, on_constraints
from flexmbs.formalisms.rigid_tree import RigidTree, is_rigid_tree
from flexmbs.formalisms.stabilization import (
    NEAR,
    PROJECTION_STEPS,
    RATE,
    TOLERANCE,
    Stabilization,
    stabilization_options,
)
from flexmbs.system.compile import Compiled, frozen
from flexmbs.system.records import Equations, Evaluation

FACTOR, SCHUR, SOLVE = range(3)  # places in Workspace.calls


class Factors(NamedTuple):
    """The eliminated tree and the closed loops."""

    art: Articulated
    cuts: SchurComplement  # the rows of the cut joints and couplers
    coupled: SchurComplement  # the same and those of the couplings, for iteration matrices
    with_couplings: np.ndarray  # (1,) int64 1: the last factor includes the couplings


class RecursiveWorkspace(NamedTuple):
    """Workspace of one run."""

    factors: Factors
    options: np.ndarray  # (2,) of the stabilization
    # (3,) int64 addresses of `factor_at`, `schur_at` (only with loops) and `solve_at`
    calls: np.ndarray
    memory: np.ndarray  # words of ``factors``
    choice: CoordinateChoice  # of independent rows, empty if none are redundant


@called
def eliminate_tree(system, work, art, q, factors, fresh):
    """Factor the articulated matrices of c_mass M + K + c_damping D over the tree.

    factors: (c_mass, c_damping). fresh: the shape products belong to q. Theory, section 20.
    """
    tree = system.tree
    for i in range(tree.parent.shape[0]):
        joint_geometry(tree, work.frames, art, work.motion, i, q)
        if not fresh:
            shape_products(system.bodies, i, tree.nf[i], q, tree.qf_at[i], work.products[i])
        diagonal = art.link[i, L_CHILD] != DENSE
        body_matrix(system, art.A, i, work.products[i], factors, diagonal)
    if system.rotors.body.shape[0] > 0:
        tree_rotors(tree, art, work.motion, factors[0])
    return articulate(art)


@entry
def factor_at(equations, factors, here, fresh, c_mass, c_damping):
    """Kernel that factors the articulated matrices of the tree.

    `factor_at`, `schur_at` and `solve_at` are called from several kernels and compiled once.
    """
    system, work, art, q = equations.system, equations.work, factors.art, here.q
    for a in range(art.velocity.shape[1]):
        art.velocity[SLOPE, a] = 0.0
    if c_damping >= 0.0:
        add_slopes(system, work, c_damping, SLOPE, art.velocity)
    factors.with_couplings[0] = 1 if c_damping >= 0.0 else 0
    return eliminate_tree(system, work, art, q, (c_mass, c_damping), fresh != 0.0)


@entry
def schur_at(equations, factors, here, /, c_mass, c_damping):
    """Kernel that assembles and factors the Schur complement of the closed loops.

    Theory, section 25.
    """
    system, work, art, q = equations.system, equations.work, factors.art, here.q
    schur = factors.coupled if c_damping >= 0.0 else factors.cuts
    cut_loads(system, work, art, schur, q)
    coupler_loads(system, work, art, schur, q)
    if schur.rotor.shape[0] > 0:
        rotor_rows(system, work, art, schur, q, c_mass)
    if c_damping >= 0.0:
        pieces_loads(system, art, schur, c_damping)
        coupling_loads(work, art, schur, q, c_damping)
    status = schur_complement(art, schur, work.path.left_out)
    if status < 0:
        # only a row of negative compliance can fail: the body lacks the inertia of its rotor
        failed = -1 - status - constraint_nodes(system)
        rotor = schur.rotor[failed // 2]
        return -1 - work.frames.body[system.rotors.frame[rotor]]
    share_pivots(system, work, schur)
    return status


@entry
def solve_at(equations, factors, here, /):
    """Kernel of `solve` for the residual of a point."""
    system, art, x = equations.system, factors.art, here.r
    schur = factors.coupled if factors.with_couplings[0] == 1 else factors.cuts
    ns = art.velocity.shape[1]
    drives = system.drives
    # the row of a drive on a primary joint prescribes the rate of that velocity
    for d in range(drives.row.shape[0]):
        i = drives.body[d]
        if i >= 0:
            x[system.tree.s_at[i] + drives.v[d]] = x[ns + drives.row[d]]
    inward_loads(art, x)
    if schur.node.shape[0] > 0:
        loop_multipliers(art, schur, constraint_nodes(system), x)
    outward_solution(art, x)
    return 0


@part
def factor(system, work, workspace, q, factors, fresh):
    """Factor of K_b = [[c_mass M + K + c_damping D, Gᵀ], [G, 0]].

    factors: (c_mass, c_damping); c_damping < 0 for M and G alone. fresh: 1.0 if the shape products
    belong to q. Returns the number of dependent rows or −1 − body. Theory, sections 20, 25 and 26.
    """
    c_mass, c_damping = factors
    here = address_of(Evaluation(q, work.zero, work.zero, work.zero, work.zero, work.r))
    equations = memory_of(work.memory, Equations(system, work))
    tree = memory_of(workspace.memory, workspace.factors)
    status = call(workspace.calls[FACTOR], equations, tree, here, fresh, c_mass, c_damping)
    schur = workspace.factors.coupled if c_damping >= 0.0 else workspace.factors.cuts
    # loads of the loop closure pass through the factor of the tree, which therefore comes first
    if status >= 0 and schur.node.shape[0] > 0:
        status = call(workspace.calls[SCHUR], equations, tree, here, c_mass, c_damping, 0.0)
    return status


@part
def solve(system, work, workspace, x):
    """x ← solution of K_b for the loads f* and τ in the factors; x[ns …] ← −λ.

    x[ns …] holds the prescribed G ṡ.
    """
    here = address_of(Evaluation(work.zero, work.zero, work.zero, work.zero, work.zero, x))
    equations = memory_of(work.memory, Equations(system, work))
    call(
        workspace.calls[SOLVE],
        equations,
        memory_of(workspace.memory, workspace.factors),
        here,
        0.0,
        0.0,
        0.0,
    )


@part
def accelerations(system, work, workspace, t, here):
    """ṡ and λ by the articulated-body algorithm; with projection those of a projected state.

    Returns the number of dependent rows or −1 − body.
    """
    status = general_accelerations(system, work, workspace, t, here)
    if (
        status >= 0
        and workspace.options[TOLERANCE] > 0.0
        and independence(work, here.s.shape[0]) < NEAR
    ):
        projected(system, work, workspace, t, here.q, here.s)
        status = general_accelerations(system, work, workspace, t, here)
    return status


@part
def share_pivots(system, work, schur):
    """Pass the pivots of the loop constraints to `independence`.

    Driven primary coordinates have none.
    """
    node = schur.node
    ns = work.r.shape[0]
    for a in range(ns, work.stiffness.shape[0]):
        work.stiffness[a] = 0.0
    for k in range(constraint_nodes(system)):
        for row in range(node[k, ROW], node[k, ROW] + node[k, ROWS]):
            work.stiffness[ns + row] = schur.stiffness[row]


@called
def general_accelerations(system, work, workspace, t, here):
    """ṡ (ns,), λ (nc,) and the wrenches of the primary joints of any tree with any loops.

    Theory, sections 20, 25 and 32.
    """
    art, sd, lam = workspace.factors.art, here.sd, here.lam
    ns = sd.shape[0]
    rate = workspace.options[RATE]
    gs = work.gs
    # forces of the single bodies: the sweeps gather them together with the inertias
    body_forces(system, work, t, here.q, here.s, here.z)
    status = factor(system, work, workspace, here.q, (1.0, -1.0), 1.0)
    if status < 0:
        return status
    x = art.x
    for a in range(lam.shape[0]):
        x[ns + a] = -gs.acceleration[a] - 2.0 * rate * gs.velocity[a] - rate * rate * gs.position[a]
    for a in range(ns):
        art.velocity[TAU, a] = -work.r[a]
    # loads are minus the residual at ṡ = 0
    for i in range(system.tree.parent.shape[0]):
        for a in range(6):
            art.body[i, LOAD + a] = -work.motion.wrench[i, a]
    solve(system, work, workspace, x)
    split_solution(x, sd, lam)
    work.power.drives += drive_power(work.drive_rate, lam)
    if system.prescribed.law.shape[0] > 0:
        work.power.drives += power_of_prescribed(system, work, art, here.q)
    return status


@called
def power_of_prescribed(system, work, art, q):
    """Σ f^p · u ḟ (W) from the joint wrenches of the last outward sweep.

    Theory, section 20.
    """
    rows, motion, body = system.prescribed, work.motion, art.body
    power = 0.0
    for d in range(rows.law.shape[0]):
        i = rows.body[d]
        f, n = load3_at(body, i, JOINT_WRENCH), load3_at(body, i, JOINT_WRENCH + 3)
        wrench = wrench_to_child(load9_at(motion.Rc, i, 0), load3_at(motion.xc, i, 0), f, n)
        power += prescribed_effort(system, work, q, d, wrench) * work.joints.rate[rows.motion[d], 0]
    return power


@part
def iteration_matrix(system, work, workspace, q, c_mass, c_damping):
    """Factor of K_b = [[c_mass M + K + c_damping D, Gᵀ], [G, 0]].

    c_damping < 0 for M and G alone (theory, section 26).
    """
    return factor(system, work, workspace, q, (c_mass, c_damping), 0.0)


@part
def correction(system, work, workspace, x):
    """x (ns + nc,) ← K_b⁻¹ x with the last factor."""
    set_loads(workspace.factors.art, x)
    solve(system, work, workspace, x)


@called
def projected(system, work, workspace, t, q, s):
    """Project positions, then velocities, onto the constraints by the least mass-weighted change.

    Returns the largest remaining |g|. Theory, section 32.
    """
    x = workspace.factors.art.x
    ns = s.shape[0]
    nc = work.gs.position.shape[0]
    left = 0.0
    velocities = nc == 0 or workspace.options[TOLERANCE] == 0.0
    it = 0
    while not velocities:
        kinematics(system, work, t, q, s, work.zero)
        before = left
        left = largest(work.gs.position)
        before = before if it > 0 else np.inf
        velocities = it >= PROJECTION_STEPS or on_constraints(
            work, ns, workspace.options[TOLERANCE], left, before
        )
        it += 1
        # as in `flexmbs.dynamics.kkt.project`, with the factor of the recursion
        iteration_matrix(system, work, workspace, q, 1.0, -1.0)
        error_of_constraints(work, x, ns, velocities)
        correction(system, work, workspace, x)
        correct(system, q, s, x, velocities)
    return left


@part
def keep(system, work, workspace, t, q, s):
    """Choose the independent rows for the next step if some rows are redundant."""
    keep_rows(system, work, workspace.choice, t, q, s)


@checked_arguments
@dataclass(frozen=True)
class Recursive(Formalism):
    """Recursive formalism in O(n).

    stabilization: for explicit integrators None, `Baumgarte` or `Projection`. wrenches: leave the
    wrenches of the primary joints of every evaluation in the workspace, for rigid trees too.
    Source: docs/theory.md, section 20; Featherstone, Rigid Body Dynamics Algorithms (2008),
    chapters 7 and 8.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("chain of 20 rods")
    >>> above = model.ground
    >>> for k in range(20):
    ...     rod = fm.RigidBody(
    ...         f"rod {k}",
    ...         mass=1.0,
    ...         com=(0, 0, -0.1),
    ...         inertia=(0.01,) * 3,
    ...         frames={"end": (0, 0, -0.2)},
    ...     )
    ...     rod = model.add(rod)
    ...     hinge = model.add(fm.Revolute(f"hinge {k}", above, rod, axis="y"))
    ...     above = rod["end"]
    >>> run = fm.simulate(model, t_end=0.1, step=0.05, formalism=fm.Recursive())
    >>> run.joint("hinge 0").force[-1].round(4).tolist()  # the weight of all
    [0.0, 0.0, 196.2]
    """

    stabilization: Stabilization = None
    wrenches: bool = False

    name: ClassVar[str] = "recursive"
    provides: ClassVar[tuple[str, ...]] = ("residual", "accelerations")
    coordinates: ClassVar[tuple[str, ...]] = ("joint", "rheonomic")
    accelerations = staticmethod(accelerations)
    accepted = staticmethod(projected)
    iteration_matrix = staticmethod(iteration_matrix)
    correction = staticmethod(correction)
    keep = staticmethod(keep)

    def __post_init__(self) -> None:
        stabilization_options(self.name, self.stabilization)

    def workspace(self, compiled: Compiled) -> RecursiveWorkspace:
        """Workspace of one run with the factors of the articulated-body algorithm."""
        system = compiled.system
        art = make_articulated(system)
        options = stabilization_options(self.name, self.stabilization)
        factors = Factors(
            art,
            make_schur(system, art, False),
            make_schur(system, art, True),
            np.zeros(1, np.int64),
        )
        equations, one = Equations(system, unconnected(system)), Evaluation(*[np.zeros(0)] * 6)
        kernels = factor_at, schur_at if len(factors.coupled.node) else None, solve_at
        calls = [kernel.address(equations, factors, one) if kernel else 0 for kernel in kernels]
        frozen(constants := (options, np.array(calls, np.int64), words(factors)))
        return RecursiveWorkspace(factors, *constants, make_row_choice(compiled))

    def has_path(self, compiled: Compiled) -> bool:
        """True if constraints are redundant: the choice of rows is part of the state."""
        return redundant(compiled)

    def fitting(self, compiled: Compiled, needs: str) -> Formalism:
        """`RigidTree` if only accelerations of a rigid tree are needed, otherwise this one."""
        short = needs == "accelerations" and not self.wrenches and is_rigid_tree(compiled.system)
        return RigidTree() if short else self

    @property
    def stabilization_name(self) -> str:
        return "none" if self.stabilization is None else self.stabilization.name

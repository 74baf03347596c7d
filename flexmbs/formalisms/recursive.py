"""Recursive formalism: O(n) sweeps over the tree, loops by the Schur complement on the cut joints (theory §3).

Outward: motion of all bodies and their forces at ṡ = 0. Inward: articulated inertias, joint and modal velocities eliminated
together, and what the loads leave at each joint. With cut joints G M⁻¹Gᵀ by the same sweeps with unit loads, then λ. Outward: ṡ
and the wrenches of the joints. Rigid trees under joint forces take the shortest way, the articulated-body algorithm: see
`rigid_tree`.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from flexmbs.algebra.small import largest
from flexmbs._jit import called, part
from flexmbs._jit.address import address_of, call, entry, memory_of, words_of
from flexmbs.dynamics.articulated import articulate, body_matrix, joint_geometry
from flexmbs.dynamics.articulated_sweeps import inward_loads, outward_solution
from flexmbs.dynamics.articulated_work import (
    DENSE, L_CHILD, LOAD, ROW, ROWS, SLOPE, TAU, Articulated, SchurComplement, make_articulated, make_schur,
)  # fmt: skip
from flexmbs.dynamics.schur import loop_multipliers, coupling_loads, cut_loads, schur_complement, set_loads
from flexmbs.dynamics.constraints import drive_power
from flexmbs.dynamics.equations import body_forces, kinematics
from flexmbs.dynamics.inertia import shape_products
from flexmbs.dynamics.kinematics import displace
from flexmbs.dynamics.work import unconnected
from flexmbs.formalisms.formalism import Formalism
from flexmbs.dynamics.kkt import independence
from flexmbs.formalisms.rigid_tree import RigidTree, is_rigid_tree
from flexmbs.formalisms.stabilization import NEAR, PROJECTION_STEPS, RATE, TOLERANCE, Stabilization, stabilization_options
from flexmbs.system.compile import Compiled, frozen
from flexmbs.system.records import POWER_DRIVES, Equations, Evaluation

FACTOR, SCHUR, SOLVE = range(3)  # places in Workspace.calls


class Factors(NamedTuple):
    """The eliminated tree and the closed loops."""

    art: Articulated
    cuts: SchurComplement  # the rows of the cut joints
    coupled: SchurComplement  # and of the couplings, for iteration matrices
    with_couplings: np.ndarray  # (1,) int64 the last factor has the couplings


class Workspace(NamedTuple):
    """Scratch of one run."""

    factors: Factors
    options: np.ndarray  # (2,) of the stabilization
    calls: np.ndarray  # (3,) int64 addresses of `factor_at`, `schur_at` and `solve_at`, the second where there are loops
    memory: np.ndarray  # words of ``factors``


@called
def eliminate_tree(system, work, art, q, c_mass, c_damping, fresh):
    """Articulated matrices of c_mass M + K + c_damping D; ``fresh``: the shape products belong to q."""
    tree = system.tree
    for i in range(tree.parent.shape[0]):
        joint_geometry(tree, work.frames, art, work.motion, i, q)
        if not fresh:
            shape_products(system.bodies, i, tree.nf[i], q, tree.qf_at[i], work.products[i])
        diagonal = art.link[i, L_CHILD] != DENSE
        body_matrix(system.bodies, tree, art.A, i, work.products[i], c_mass, c_damping, diagonal)
    return articulate(art.link, art.drive, art.body, art.A, art.modes, art.velocity, art.carried, art.T)


@entry
def factor_at(equations, factors, here, fresh, c_mass, c_damping):
    """The factor of the tree; it, `schur_at` and `solve_at` are called from several kernels and compiled once."""
    system, work, art, q = equations.system, equations.work, factors.art, here.q
    forces = system.forces.joint
    for a in range(art.velocity.shape[1]):
        art.velocity[SLOPE, a] = 0.0
    if c_damping >= 0.0:
        for f in range(forces.body.shape[0]):
            if forces.body[f] >= 0:
                slope = work.joint_slope[f, 0] + c_damping * work.joint_slope[f, 1]
                art.velocity[SLOPE, system.tree.s_at[forces.body[f]] + forces.v[f]] += max(slope, 0.0)
    factors.with_couplings[0] = 1 if c_damping >= 0.0 else 0
    return eliminate_tree(system, work, art, q, c_mass, c_damping, fresh != 0.0)


@entry
def schur_at(equations, factors, here, t, a, c_damping):
    """The Schur complement of the closed loops on the factor of the tree, and its factor."""
    system, work, art, q = equations.system, equations.work, factors.art, here.q
    n_cuts = system.cuts.row.shape[0]
    schur = factors.coupled if c_damping >= 0.0 else factors.cuts
    cut_loads(work.frames, art, schur, system.cuts, work.cut, q)
    if c_damping >= 0.0:
        coupling_loads(work.frames, art, schur, n_cuts, system.couplings, work.motion, work.slopes, q, c_damping)
    status = schur_complement(art.link, art.drive, art.A, art.velocity, schur, n_cuts)
    share_pivots(system, work, schur)
    return status


@entry
def solve_at(equations, factors, here, t, a, b):
    """`solve` by address: x is the residual of ``here``."""
    system, art, x = equations.system, factors.art, here.r
    schur = factors.coupled if factors.with_couplings[0] == 1 else factors.cuts
    ns = art.velocity.shape[1]
    drives = system.drives
    for d in range(drives.row.shape[0]):
        i = drives.body[d]
        if i >= 0:
            x[system.tree.s_at[i] + drives.v[d]] = x[ns + drives.row[d]]
    inward_loads(art.link, art.drive, art.body, art.A, art.modes, art.velocity, x)
    if schur.node.shape[0] > 0:
        loop_multipliers(art.link, art.drive, art.body, art.velocity, schur, system.cuts.row.shape[0], x, ns)
    outward_solution(art.link, art.drive, art.body, art.A, art.modes, art.velocity, x, ns)
    return 0


@part
def factor(system, work, workspace, q, c_mass, c_damping, fresh):
    """Factor of [[c_mass M + K + c_damping D, Gᵀ], [G, 0]]; c_damping < 0: of M and G alone; ``fresh``: 1.0 where the shape
    products belong to q. Returns the number of dependent rows or −1 − body."""
    here = address_of(Evaluation(q, work.zero, work.zero, work.zero, work.zero, work.r))
    equations = memory_of(work.memory, Equations(system, work))
    factors = memory_of(workspace.memory, workspace.factors)
    status = call(workspace.calls[FACTOR], equations, factors, here, fresh, c_mass, c_damping)
    schur = workspace.factors.coupled if c_damping >= 0.0 else workspace.factors.cuts
    if status >= 0 and schur.node.shape[0] > 0:
        status = call(workspace.calls[SCHUR], equations, factors, here, 0.0, 0.0, c_damping)
    return status


@part
def solve(system, work, workspace, x):
    """x ← solution for the loads in LOAD and TAU and the prescribed G ṡ in x[ns …]; x[ns …] ← −λ."""
    here = address_of(Evaluation(work.zero, work.zero, work.zero, work.zero, work.zero, x))
    equations = memory_of(work.memory, Equations(system, work))
    call(workspace.calls[SOLVE], equations, memory_of(workspace.memory, workspace.factors), here, 0.0, 0.0, 0.0)


@part
def accelerations(system, work, workspace, t, q, s, z, sd, lam):
    """ṡ and λ; with projection also of the states near a singular position. Returns the number of dependent rows or −1 − body."""
    status = general_accelerations(system, work, workspace, t, q, s, z, sd, lam)
    if status >= 0 and workspace.options[TOLERANCE] > 0.0 and independence(work, s.shape[0]) < NEAR:
        projected(system, work, workspace, t, q, s)
        status = general_accelerations(system, work, workspace, t, q, s, z, sd, lam)
    return status


@part
def share_pivots(system, work, schur):
    """Pivots of the rows of cut joints for `independence`; driven primary coordinates have none."""
    node = schur.node
    ns = work.r.shape[0]
    for a in range(ns, work.stiffness.shape[0]):
        work.stiffness[a] = 0.0
    for k in range(system.cuts.row.shape[0]):
        for row in range(node[k, ROW], node[k, ROW] + node[k, ROWS]):
            work.stiffness[ns + row] = schur.stiffness[row]


@called
def general_accelerations(system, work, workspace, t, q, s, z, sd, lam):
    """ṡ, λ and the wrenches of the primary joints of any tree with any loops."""
    art = workspace.factors.art
    ns = sd.shape[0]
    rate = workspace.options[RATE]
    gs = work.gs
    body_forces(system, work, t, q, s, z)
    status = factor(system, work, workspace, q, 1.0, -1.0, 1.0)
    if status < 0:
        return status
    x = art.x
    for a in range(lam.shape[0]):
        x[ns + a] = -gs.acceleration[a] - 2.0 * rate * gs.velocity[a] - rate * rate * gs.position[a]
    for a in range(ns):
        art.velocity[TAU, a] = -work.r[a]
    for i in range(system.tree.parent.shape[0]):
        for a in range(6):
            art.body[i, LOAD + a] = -work.motion.wrench[i, a]
    solve(system, work, workspace, x)
    for a in range(ns):
        sd[a] = x[a]
    for a in range(lam.shape[0]):
        lam[a] = -x[ns + a]
    work.power[POWER_DRIVES] = drive_power(system.drives, work.drive_rate, lam)
    return status


@part
def iteration_matrix(system, work, workspace, q, c_mass, c_damping):
    """Factor of [[c_mass M + K + c_damping D, Gᵀ], [G, 0]]; c_damping < 0: of M and G alone."""
    return factor(system, work, workspace, q, c_mass, c_damping, 0.0)


@part
def correction(system, work, workspace, q, x):
    """x ← [[c M + K + c' D, Gᵀ], [G, 0]]⁻¹ x with the last factor."""
    set_loads(workspace.factors.art, x)
    solve(system, work, workspace, x)


@called
def projected(system, work, workspace, t, q, s):
    """Positions, then velocities onto the constraints by the least mass-weighted change; returns the largest |g| left."""
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
        wanted = workspace.options[TOLERANCE]
        enough = left <= wanted * independence(work, ns) or (it > 0 and left <= wanted and left > 0.1 * before)
        velocities = enough or it >= PROJECTION_STEPS
        it += 1
        iteration_matrix(system, work, workspace, q, 1.0, -1.0)
        for a in range(ns):
            x[a] = 0.0
        for a in range(nc):
            x[ns + a] = -work.gs.velocity[a] if velocities else -work.gs.position[a]
        correction(system, work, workspace, q, x)
        if velocities:
            for a in range(ns):
                s[a] += x[a]
        else:
            displace(system.tree, system.joints, q, x, q)
    return left


@dataclass(frozen=True)
class Recursive(Formalism):
    """Recursive formalism in O(n). ``stabilization`` (explicit integrators): None, `Baumgarte` or `Projection`.

    ``wrenches``: leave the wrenches of the primary joints of every evaluation in the workspace, for rigid trees too.
    """

    stabilization: Stabilization = None
    wrenches: bool = False

    name: ClassVar[str] = "recursive"
    provides: ClassVar[tuple[str, ...]] = ("residual", "accelerations")
    coordinates: ClassVar[tuple[str, ...]] = ("joint",)
    accelerations = staticmethod(accelerations)
    accepted = staticmethod(projected)
    iteration_matrix = staticmethod(iteration_matrix)
    correction = staticmethod(correction)

    def __post_init__(self) -> None:
        stabilization_options(self.name, self.stabilization)

    def workspace(self, compiled: Compiled) -> Workspace:
        system = compiled.system
        art = make_articulated(system)
        options = stabilization_options(self.name, self.stabilization)
        factors = Factors(art, make_schur(system, art, False), make_schur(system, art, True), np.zeros(1, np.int64))
        memory: list[int] = []
        words_of(factors, memory)
        equations, one = Equations(system, unconnected(system)), Evaluation(*[np.zeros(0)] * 6)
        kernels = factor_at, schur_at if len(factors.coupled.node) else None, solve_at
        calls = [kernel.address(equations, factors, one) if kernel else 0 for kernel in kernels]
        frozen(constants := (options, np.array(calls, np.int64), np.array(memory, np.int64)))
        return Workspace(factors, *constants)

    def fitting(self, compiled: Compiled, needs: str) -> Formalism:
        short = needs == "accelerations" and not self.wrenches and is_rigid_tree(compiled.system)
        return RigidTree() if short else self

    @property
    def stabilization_name(self) -> str:
        return "none" if self.stabilization is None else self.stabilization.name

"""Geometric stiffness of unit loads, projected on the shapes of a reduced body.

The stress σ0 of a load case does work on the second-order strain ½ ∇uᵀ∇u,

    K0_kl = ∫ Σ_c ∇φ_ck · σ0 · ∇φ_cl dV,     u = Σ_k φ_k q_k   (components c = x, y, z)

at the quadrature points of the stiffness. By virtual work −½ qᵀ K0 q is the second-order
displacement conjugate to the load, for example the shortening of a bent beam for an axial force.

A rotation θ = ψ q displaces the points attached to it by θ × r + ½ θ × (θ × r). The linear shapes
do not contain the second term; it does, with the forces p that accelerate or hold a point, the work
½ θᵀ W θ, W = ½ Σ (r pᵀ + p rᵀ) − Σ (r·p) 1, which ψᵀ W ψ adds to K0 (`rotation_work`):

    mass points off their node     p the inertia force m a, that of the balance too; sections of beams and directors of shells
    carried bodies                 p the inertia forces of their mass points, less those distributed over their nodes
    offsets of beams and shells    p the forces between node and element (`StructuralElement.initial_stress_stiffness`)
    points of bushings             p the forces of the bushing (`link_work`), which turn with its ends; springs, with their line
    nodes of a rigid interface     p the forces between interface and body: the face rotates without stretching
    nodes of a rigid spider        p the forces between centre and nodes, with those on what follows the nodes
    nodes tied beside a face       p the forces on them, distributed over the nodes of the face
    averaged interface or centre   p the load, distributed by the weights of the nodes: the frame rotates with its nodes

Source: Wallrapp and Schwertassek, Archive of Applied Mechanics 61 (1991) 428; Bathe, Finite Element
Procedures, section 6.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from flexmbs.flexible_body.components import FloatArray, GeometricStiffness, IntArray
from preprocess.body.reference import MEAN_AXES
from preprocess.body.unit_loads import INERTIAL, BodyLoads, UnitLoads, unit_accelerations
from preprocess.fe.fe_model import FEModel
from preprocess.fe.initial_stress import initial_stress_stiffness
from preprocess.fe.rotation_work import arms_of, turning_work
from preprocess.reduction.interface_statics import InterfaceStatics


def geometric_stiffness(
    statics: InterfaceStatics, cases: UnitLoads, shapes: FloatArray, rotations: FloatArray
) -> FloatArray:
    """Geometric stiffness K0 + Σ ψᵀ W ψ (k, n, n) of all unit loads.

    For ``shapes`` (n, m); ``rotations`` (interfaces, 3, m): ψ in mesh axes.
    """
    fe = statics.fe
    loaded = ~cases.carried  # a load may have no displacement, and yet pull at what rotations carry

    def accelerations(rows: slice) -> FloatArray:
        """Accelerations (n, 3, loads) of mass points for unit motions of the body."""
        found = np.zeros((rows.stop - rows.start, 3, len(loaded)))
        found[:, :, :INERTIAL] = unit_accelerations(fe.points[rows], cases.origin, cases.axes)
        if cases.relief is not None:
            found += accelerations_of(fe, cases.relief, rows)
        return found * loaded

    K0 = stress_stiffness(fe, cases.displacements, shapes, accelerations)
    left = _transmitted_forces(statics, cases)
    for arms, psi, p in _turning_nodes(statics, cases, shapes, rotations, left):
        K0 += turning_work(psi[None], np.einsum("ni,njk->kij", arms, p * loaded)[None])
    for each in fe.turned:
        own = each.of_rows(fe.owned_nodes(each.dofs[:, 0] // 3))
        dyads = -np.einsum("nijc,nck->nkij", own.dyads, left[own.dofs] * loaded)
        K0 += turning_work((own.turn @ shapes).reshape(-1, 3, shapes.shape[1]), dyads)
    return fe.engine.total(K0)


def stress_stiffness(
    fe: FEModel,
    displacements: FloatArray,
    shapes: FloatArray,
    accelerations: Callable[[slice], FloatArray],
) -> FloatArray:
    """Initial-stress stiffness K0 (k, m, m) of the elements under displacements (n, k).

    Includes the work of inertia forces on mass points that rotate with the nodes. accelerations: of
    some mass points (p, 3, k).
    """
    K0 = initial_stress_stiffness(fe, displacements, shapes)

    def inertia_forces(first: int, count: int) -> FloatArray:
        """Inertia forces of ``count`` mass points from ``first`` on, per unit motion."""
        rows = slice(first, first + count)
        a = accelerations(rows)
        return np.asarray(-(fe.m[rows, rows] @ a.reshape(count, -1)).reshape(a.shape))

    for link in fe.links:
        K0 += link.initial_stress_stiffness(displacements, shapes)
    first = len(fe.nodes)  # the nodes themselves are mass points, too
    for structure in fe.structures:
        shape = structure.mass_points()[1].shape
        forces = inertia_forces(first, shape[0] * shape[1])
        K0 += structure.initial_stress_stiffness(
            displacements, shapes, forces.reshape(*shape, *forces.shape[1:])
        )
        first += shape[0] * shape[1]
    for body in fe.bodies:
        forces = inertia_forces(body.first, len(body.arms))
        assert fe.mass_points is not None
        points = slice(3 * body.first, 3 * (body.first + len(body.arms)))
        held = fe.mass_points.motion[points].T @ forces.reshape(-1, forces.shape[2])
        dyads = np.einsum("ni,njk->kij", body.arms, forces)
        dyads -= np.einsum("ni,njk->kij", body.levers, _forces_on(fe, held, body.nodes))
        K0 -= turning_work((body.turn @ shapes)[None], dyads[None])
    return K0


def accelerations_of(fe: FEModel, u: FloatArray, rows: slice) -> FloatArray:
    """Accelerations (p, 3, k) of some mass points from those of the degrees of freedom (n, k)."""
    if fe.mass_points is None:
        return u[3 * rows.start : 3 * rows.stop].reshape(rows.stop - rows.start, 3, -1)
    return np.asarray(fe.mass_points.motion[3 * rows.start : 3 * rows.stop] @ u).reshape(
        rows.stop - rows.start, 3, -1
    )


def _transmitted_forces(statics: InterfaceStatics, cases: UnitLoads) -> FloatArray:
    """Forces K u less the loads (n, k), with those transmitted from dependent nodes.

    Without the loads on frames whose nodes follow them.
    """
    left = statics.fe.stiffness_product(cases.displacements) - cases.loads
    if cases.balance is not None:
        left -= cases.balance
    for j, interface in enumerate(statics.interfaces):
        if interface.drives_nodes:  # what acts on its frame is among the forces p
            columns = slice(INERTIAL + 6 * j, INERTIAL + 6 * j + 6)
            left[:, columns] += cases.loads[:, columns]
    return statics.fe.transmitted(left)


def _turning_nodes(
    statics: InterfaceStatics,
    cases: UnitLoads,
    shapes: FloatArray,
    rotations: FloatArray,
    left: FloatArray,
) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Nodes that rotate with an interface or the centre of a spider, each in one process.

    Their arms (n, 3), ψ (3, m), and the forces p (n, 3, k) on them: those ``left`` if the nodes
    follow, the share of the load by the weights if they are followed.
    """
    fe = statics.fe
    for j, interface in enumerate(statics.interfaces):
        columns = slice(INERTIAL + 6 * j, INERTIAL + 6 * j + 6)
        p = left
        if not interface.drives_nodes:
            p = np.zeros_like(left)
            p[:, columns] = cases.loads[:, columns]
        own = fe.owned_nodes(interface.nodes)
        yield (
            arms_of(interface.rigid_motion[: len(interface.nodes)][own][..., 3:]),
            rotations[j],
            _forces_on(fe, p, interface.nodes[own]),
        )
    for arms in fe.arms.values():
        p = left if arms.led is None else -(arms.led.C.T @ left[arms.led.dofs])
        own = fe.owned_nodes(arms.nodes)
        yield (
            arms_of(arms.rigid_motion[own][..., 3:]),
            arms.turn @ shapes,
            _forces_on(fe, p, arms.nodes[own]),
        )


def _forces_on(fe: FEModel, p: FloatArray, nodes: IntArray) -> FloatArray:
    """Forces (n, 3, k) on some nodes."""
    return fe.displacements(p)[nodes]


def reduced_geometric_stiffness(
    statics: InterfaceStatics, loads: BodyLoads, shapes: FloatArray, motion: FloatArray
) -> GeometricStiffness:
    """Geometric stiffness of all unit loads on the modes' ``shapes`` (3N, nf).

    ``motion`` (interfaces, 6, nf): of the interfaces; both in mesh axes. Whatever the reference
    condition of the linear shapes, the second-order displacements obey that of mean axes, in which
    they have no momentum, since the loads are balanced by inertia.
    """
    cases = loads.under(MEAN_AXES)
    K0 = geometric_stiffness(statics, cases, shapes, motion[:, 3:])
    frames = {each.name: K0[INERTIAL + 6 * j :][:6] for j, each in enumerate(statics.interfaces)}
    return GeometricStiffness(K0[:3], K0[3:6], K0[6:INERTIAL], frames)

"""Workspace and factors of the recursive formalism, allocated once per run.

What the arrays hold is stated with the columns below; the equations are those of
`flexmbs.dynamics.articulated`, `flexmbs.dynamics.articulated_rigid` and `flexmbs.dynamics.schur`.
Theory: docs/theory.md, sections 20 and 25.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from flexmbs.algebra.blocks import Elimination
from flexmbs.system.compile import frozen
from flexmbs.system.elimination import symbolic
from flexmbs.system.records import Joints, System, Tree, rows_of

# columns of Articulated.link: the tree; 1 if the own frame, or the parent's frame, moves with
# modes; the only child on the modes, −1 if there is none, DENSE if the modal block is full; the
# body that carries a rotor with gyroscopic part
L_PARENT, L_NV, L_NF, L_S, L_OWN, L_CARRIER, L_CHILD, L_ROTOR = range(8)
DENSE = -2
NO_ROTOR, ON_PARENT, ON_CHILD = range(3)
# columns of Articulated.body: pose in the parent body, columns of the joint, U = M* c/√D, load,
# twist, wrench of the joint on the body; at the body's origin, body axes
POSE, COLUMNS, PASSED, LOAD, TWIST, JOINT_WRENCH, BODY_WIDTH = 0, 12, 48, 84, 90, 96, 102
# rows of Articulated.modes
OWN, CARRIER = 0, 6
# rows of Articulated.velocity: 1/√D, stiffness of forces on joint coordinates, loads, L⁻¹ loads
PIVOT, SLOPE, TAU, HALF = range(4)
# columns of SchurComplement.node: its bodies in SchurComplement.path, first row of the Schur
# complement, number of rows, their compliance: 0 for cut joints and couplers, else 1, or −1 for the
# row of a rotor whose square is subtracted
PATH, PATH_END, ROW, ROWS, COMPLIANCE = range(5)
MOST_ROWS = 6  # per node
# columns of SchurComplement.path: body, its index in SchurComplement.half
PATH_BODY, PATH_PLACE = range(2)
# columns of SchurComplement.product: two nodes, body, indices of its columns in their rows, index
# of the block that it adds to
ONE, OTHER, SHARED, PLACE_ONE, PLACE_OTHER, TARGET = range(6)
# columns of RigidChild.body and kinds of joints; B_JOINS: 1 if children other than the next body
# pass on their inertia in RigidChild.state
B_PARENT, B_KIND, B_JOINT, B_NV, B_Q, B_S, B_JOINS, B_ROTOR = range(8)
REVOLUTE, PRISMATIC, GENERAL = range(3)
# columns of RigidChild.place: joint's frame at rest in the frame of the parent's joint, inertia in
# the own frame
P_R, P_X, P_MASS, P_FIRST, P_INERTIA, P_WIDTH = 0, 9, 12, 13, 16, 22
# columns of RigidChild.state: rotation, shift from the parent's origin, angular velocity,
# velocity-product accelerations; articulated inertia and bias wrench from the children; U, 1/D and
# u of the joint; accelerations
A_R, A_D, A_W, A_CR, A_CL, A_J, A_H, A_M, A_PN, A_PF, A_UN, A_UF, A_DINV, A_V, A_WD, A_WIDTH = (
    0, 9, 12, 15, 18, 21, 27, 36, 42, 45, 48, 51, 54, 55, 56, 62,
)  # fmt: skip
# columns of RigidChild.column: six columns of a general joint (w, v), their U, their 1/D and u
C_U, C_DINV, C_WIDTH = 36, 72, 84


class Articulated(NamedTuple):
    """Articulated matrices, and the loads and solutions that pass through them.

    Theory, section 20.
    """

    link: np.ndarray  # (nb, 8) int64
    drive: np.ndarray  # (ns,) constraint row that drives a velocity, or −1
    body: np.ndarray  # (nb, 102)
    A: np.ndarray  # (nb, 6+F, 6+F) matrix of a body, then M*, Y and L
    modes: np.ndarray  # (nb, 12, F) Φ̄ of the own frame, Ψ of the parent's frame
    velocity: np.ndarray  # (4, ns)
    carried: np.ndarray  # (nb, 6, 6) articulated inertia of a child in the axes of its parent
    T: np.ndarray  # (6, max(F, 6)) scratch
    x: np.ndarray  # (ns + nc,)
    reflected: np.ndarray  # (ns,) Σ n² I of the rotors at each velocity
    # (nb, 6) Σ n I a of the rotors of the joint: in the axes of its frame, then of the body, times
    # c_mass
    spin: np.ndarray


class RigidChild(NamedTuple):
    """Rigid trees without cut joints: constants and workspace of the articulated-body algorithm.

    Featherstone 2008, section 7.3.
    """

    body: np.ndarray  # (nb, 8)
    place: np.ndarray  # (nb, 22)
    state: np.ndarray  # (nb, 62)
    column: np.ndarray  # (nb, 84)
    reflected: np.ndarray  # (ns,) Σ n² I of the rotors at each velocity
    # (nb, 9) b = Σ n I a of the rotors of the joint: axes of the carrier, world axes; moment ω × q̇
    # b
    spin: np.ndarray


class SchurComplement(NamedTuple):
    """Rows of the loop closure, and the Schur complement S = G M⁻¹ Gᵀ by blocks.

    L⁻¹Gᵀ is stored by the bodies on the paths to the root. Theory, section 25.
    """

    node: np.ndarray  # (nk, 5)
    # (n,) rotors on cut joints; the k-th has the nodes 2 k and 2 k + 1 after those of the couplers
    rotor: np.ndarray
    path: np.ndarray  # (n, 2) bodies by node, outermost first
    product: np.ndarray  # (n, 6)
    half: np.ndarray  # rows by node and body
    load: np.ndarray  # (n, 36) wrenches that the unit loads pass on, by body of the path and row
    elimination: Elimination
    values: np.ndarray
    stiffness: np.ndarray
    x: np.ndarray


def make_articulated(system: System) -> Articulated:
    """Allocate the factors and workspace of the articulated-body algorithm."""
    nb, _, ns, nc, _ = (int(n) for n in system.layout)
    F = system.bodies.m_ff.shape[2]
    z = np.zeros
    drive = np.full(ns, -1, np.int64)
    on_body = system.drives.body >= 0
    drive[system.tree.s_at[system.drives.body[on_body]] + system.drives.v[on_body]] = (
        system.drives.row[on_body]
    )
    tree, elastic = system.tree, system.frames.elastic
    own, carrier = elastic[tree.frame_c], elastic[tree.frame_p]
    reflected, b, carries = rotors_of_tree(system)
    link = [
        tree.parent,
        tree.nv,
        tree.nf,
        tree.s_at,
        own,
        carrier,
        _children(system, own, carrier),
        carries,
    ]
    spin = np.concatenate([b, z((nb, 3))], axis=1)
    return Articulated(
        link=frozen(np.stack(link, axis=1)), drive=frozen(drive), body=z((nb, BODY_WIDTH)),
        A=z((nb, 6 + F, 6 + F)), modes=z((nb, 12, F)),
        velocity=z((4, ns)), carried=z((nb, 6, 6)), T=z((6, max(F, 6))), x=z(ns + nc),
        reflected=frozen(reflected), spin=spin,
    )  # fmt: skip


def rotors_of_tree(system: System) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inertias of the rotors on primary joints.

    Σ n² I (ns,) at the velocities of the joints, Σ n I a (nb, 3) in the axes of the joint's frame
    on the carrier, and the body that carries them (nb,): `NO_ROTOR` if b is zero.
    """
    tree, rotors = system.tree, system.rotors
    reflected, b = np.zeros(int(system.layout[2])), np.zeros((len(tree.parent), 3))
    carries = np.full(len(tree.parent), NO_ROTOR)
    for row in rows_of(rotors):
        if row.body >= 0:
            reflected[tree.s_at[row.body] + row.v] += row.reflected
            b[row.body] += row.spin
            if row.spin.any():
                carries[row.body] = ON_CHILD if row.reversed else ON_PARENT
    return reflected, b, carries


def _children(system: System, own: np.ndarray, carrier: np.ndarray) -> np.ndarray:
    """Index of the only child on the modes of each body; negative if its matrix is full.

    −1 if there is none, −2 if the modal block is full.
    """
    found = np.full(len(own), -1, np.int64)
    bodies = system.bodies
    # a moving own frame, full modal matrices or second-order fields fill the modal block, so that
    # the semiseparable factor does not apply
    found[(own == 1) | (bodies.diagonal == 0) | (bodies.n_fields > 0)] = DENSE
    for i, p in enumerate(system.tree.parent):
        if carrier[i] == 1 and p >= 0:
            found[p] = i if found[p] == -1 else DENSE
    return found


def make_rigid(system: System) -> RigidChild:
    """Constants of the rigid-tree algorithm, each body described at its joint frame.

    z is the axis of a revolute or prismatic joint. Inertia about that origin: ∫x xᵀ dm − x_c cᵀ − c
    x_cᵀ + m x_c x_cᵀ (parallel axes), then tr(P) 1 − P.
    """
    tree, frames, joints = system.tree, system.frames, system.joints
    nb = len(tree.parent)
    z = np.zeros
    reflected, b, carries = rotors_of_tree(system)
    rigid = RigidChild(
        z((nb, 8), np.int64),
        z((nb, P_WIDTH)),
        z((nb, A_WIDTH)),
        z((nb, C_WIDTH)),
        frozen(reflected),
        z((nb, 9)),
    )
    joins = {int(p) for i, p in enumerate(tree.parent) if i > p + 1}
    axes, origins = np.zeros((nb, 3, 3)), np.zeros((nb, 3))  # of the joint's frame, in the body
    for i, row in enumerate(rows_of(tree)):
        first, end = joints.first[row.joint], joints.end[row.joint]
        # joints with gyroscopic rotors count as general: the others need not check for rotors
        plain = end == first + 1 and carries[i] == NO_ROTOR
        kind, axis = _kind(joints, first) if plain else (GENERAL, None)
        turn = np.eye(3) if axis is None else _axes_about(axis)
        Rc, xc = frames.R[row.frame_c].reshape(3, 3), frames.x[row.frame_c]
        Rp, xp = frames.R[row.frame_p].reshape(3, 3), frames.x[row.frame_p]
        carrier = Rc if carries[i] == ON_CHILD else Rp
        axes[i], origins[i] = Rc @ turn, xc
        p = row.parent
        if p >= 0:
            Rp, xp = axes[p].T @ Rp, axes[p].T @ (xp - origins[p])
        mass, c, S = system.bodies.mass[i], system.bodies.first[i], system.bodies.second[i]
        S = S.reshape(3, 3) - np.outer(xc, c) - np.outer(c, xc) + mass * np.outer(xc, xc)
        J = axes[i].T @ (np.trace(S) * np.eye(3) - S) @ axes[i]
        rigid.body[i] = (
            p,
            kind,
            row.joint,
            row.nv,
            row.q_at,
            row.s_at,
            i in joins,
            carries[i],
        )
        rigid.spin[i, :3] = (
            (axes[i] if carries[i] == ON_CHILD else np.eye(3) if p < 0 else axes[p]).T
            @ carrier
            @ b[i]
        )
        rigid.place[i] = [
            *(Rp @ turn).ravel(),
            *xp,
            mass,
            *(axes[i].T @ (c - mass * xc)),
            *J[np.triu_indices(3)],
        ]
    frozen((rigid.body, rigid.place))
    return rigid


def _kind(joints: Joints, m: int) -> tuple[int, np.ndarray | None]:
    """(kind, axis) of a joint of one elementary motion: revolute, prismatic or general.

    Revolute or prismatic with its axis, or general.
    """
    v, w = np.split(joints.unit_twist[m], 2)
    if joints.motion_nv[m] != 1 or (v.any() and w.any()):
        return GENERAL, None
    return (REVOLUTE, w) if w.any() else (PRISMATIC, v)


def _axes_about(axis: np.ndarray) -> np.ndarray:
    """A rotation matrix with the unit vector ``axis`` as third column."""
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    across /= np.linalg.norm(across)
    return np.column_stack([across, np.cross(axis, across), axis])


def make_schur(system: System, art: Articulated, coupled: bool) -> SchurComplement:
    """Symbolic Schur complement S = G M⁻¹ Gᵀ.

    Its nodes are the cut joints, the couplers, the rotors on cut joints and, if ``coupled``, the
    damping of divided bodies across their pieces and the couplings, in this order. Two nodes are
    coupled if the paths of their frames to the root share a body with a free velocity.
    """
    tree, body = system.tree, system.frames.body
    size = tree.nv + tree.nf
    free = [bool((art.drive[at : at + n] < 0).any()) for at, n in zip(tree.s_at, size)]
    cuts, couplers, rotor = system.cuts, system.couplers, np.flatnonzero(system.rotors.cut >= 0)
    between = list(zip(body[cuts.frame_p], body[cuts.frame_c]))
    ends: list[tuple[Sequence[int], int, int]] = [
        (pair, n, 0) for pair, n in zip(between, cuts.rows)
    ]
    ends += [
        (tuple(system.paths[at:end]), 1, 0) for at, end in zip(couplers.path, couplers.path_end)
    ]
    ends += [(between[k], 1, sign) for k in system.rotors.cut[rotor] for sign in (1, -1)]
    if coupled:
        ends += _damped(system)
    ends += (
        [((body[a], body[b]), 6, 1) for a, b in zip(system.couplings.a, system.couplings.b)]
        if coupled
        else []
    )
    # largest number first: each body before its ancestors, as the inward sweep needs them
    paths = [
        sorted({i for one in bodies for i in _to_root(tree, one)}, reverse=True)
        for bodies, _, _ in ends
    ]
    rows, compliance = (np.array([end[column] for end in ends], np.int64) for column in (1, 2))
    moving = [{i for i in path if free[i]} for path in paths]
    moved_by: dict[int, list[int]] = {}
    for k, own in enumerate(moving):
        for i in own:
            moved_by.setdefault(i, []).append(k)
    shared = sorted({pair for nodes in moved_by.values() for pair in combinations(nodes, 2)})
    # −S is negative definite except for the rows of negative compliance: 1 − pᵀ M⁻¹ p with the M
    # that includes the rotor at rest
    e = symbolic(rows, np.where(compliance < 0, 1, -1), moved_by.values(), {})
    node: list[tuple[int, ...]] = []
    bodies: list[tuple[int, int]] = []
    place: dict[tuple[int, int], int] = {}
    used, first_row = 0, np.cumsum(rows) - rows
    for k, path in enumerate(paths):
        node.append(
            (
                len(bodies),
                len(bodies) + len(path),
                int(first_row[k]),
                int(rows[k]),
                int(compliance[k]),
            )
        )
        for i in path:
            place[k, i] = used
            bodies.append((i, used))
            used += int(rows[k] * size[i])
    products = [
        (k, k, i, place[k, i], place[k, i], int(e.diagonal[k]))
        for k in range(len(paths))
        for i in moving[k]
    ]
    owner = np.repeat(np.arange(len(paths)), np.diff(e.column)).tolist()
    target = {(a, b): at for a, b, at in zip(owner, e.neighbour.tolist(), e.place.tolist())}
    for k, l in shared:
        # a block is stored with the node that is eliminated first
        a, b = (k, l) if e.position[k] < e.position[l] else (l, k)
        products += [
            (a, b, i, place[a, i], place[b, i], target[a, b]) for i in moving[a] & moving[b]
        ]
    n, z = int(rows.sum()), np.zeros
    values = z(int(e.n_values[0]))
    frozen(tables := (_table(node, 5), rotor, _table(bodies, 2), _table(sorted(products), 6)))
    return SchurComplement(
        *tables, z(used), z((len(bodies), 6 * MOST_ROWS)), frozen(e), values, z(n), z(n)
    )


def _damped(system: System) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Rows of the damping of divided bodies across their pieces, in nodes of at most six."""
    for damped in rows_of(system.pieces_damping):
        for first in range(0, int(damped.rows), MOST_ROWS):
            yield (
                tuple(system.paths[damped.path : damped.path_end]),
                min(MOST_ROWS, int(damped.rows) - first),
                1,
            )


def _table(entries: Sequence[Sequence[int]], width: int) -> np.ndarray:
    """Integer array (n, width) of rows, also for n = 0."""
    return np.array(entries, np.int64).reshape(-1, width)


def _to_root(tree: Tree, i: int) -> list[int]:
    """Body i and its ancestors; empty for the ground."""
    path = []
    while i >= 0:
        path.append(int(i))
        i = int(tree.parent[i])
    return path

"""Links between single nodes: equations, springs and bushings, with dampers in parallel.

    equation           Σ_j c_j u_j = 0                                   the first term follows the others (MPC)
    spring             N = k e·(u_b − u_a)                               along the line between two nodes (CELAS, SPRINGA)
    bushing            f = k (u_b + θ_b × (p − x_b) − u_a − θ_a × (p − x_a)),
                       m = κ (θ_b − θ_a)                             springs at a point p between two nodes (CBUSH)

A damper c has the same directions as a spring k, for velocities instead of displacements (CDAMP,
CVISC, DASHPOTA).

Source: MSC Nastran, Quick Reference Guide, MPC, CELAS2, CDAMP2, CVISC, CBUSH.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from flexmbs.errors import InputError, shown
from flexmbs.flexible_body.components import FloatArray, IntArray
from preprocess.fe.connection_base import NO_NODES, Connection, ModelNodes, one_node, row_of
from preprocess.fe.constraints import Dependence
from preprocess.fe.link_work import BushingWork, SpringWork
from preprocess.fe.mass_points import spread
from preprocess.inputs.argument_checks import (
    checked_arguments,
    floats,
    nonzero_vector,
    not_negative,
    number,
    vector,
)
from preprocess.mesh.rigid_motion import rigid_motion, rotation_of

# sine of the angle between a spring and the line of its nodes that counts as zero; directions with
# seven digits agree to it
ALONG = 1e-6


@checked_arguments
@dataclass(frozen=True, eq=False)
class Equation(Connection):
    """Linear equation ``Σ_j c_j u_j = 0`` between degrees of freedom (MPC, ``*EQUATION``).

    The degree of freedom of the first term is dependent. terms: (node number, component 1 … 6,
    factor c_j) each; components 4 … 6 need a node with a rotation. A free body must be able to move
    rigidly under the equation.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> a, b = (
    ...     mesh.node_ids[rows[0]].item() for rows in (mesh.node_sets["y0"], mesh.node_sets["y1"])
    ... )
    >>> fe = pp.assemble(
    ...     mesh, steel, connections={"clip": pp.Equation([(b, 2, 1.0), (a, 2, -1.0)])}
    ... )
    >>> fe.constraints.dependent.size  # one degree of freedom follows another
    1
    """

    terms: Sequence[tuple[int, int, float]]

    kind = "equation"

    def __post_init__(self) -> None:
        rows = floats(self.terms, "connection: terms")
        good = rows.ndim == 2 and rows.shape[1:] == (3,)
        if (
            not good
            or (rows[:, :2] != np.floor(rows[:, :2])).any()
            or not ((rows[:, 1] >= 1) & (rows[:, 1] <= 6)).all()
        ):
            raise InputError(
                f"connection: terms: {shown(self.terms)}; give rows (node number, "
                "component 1 to 6, factor)"
            )
        if not rows[0, 2]:
            raise InputError(
                "connection: terms: the first factor is zero; its degree of freedom is "
                "the dependent one"
            )

    def rotating(self, name: str, nodes: ModelNodes) -> IntArray:
        """No nodes: an equation adds no rotational degrees of freedom."""
        return NO_NODES

    def dependence(self, name: str, nodes: ModelNodes) -> Dependence:
        """Dependence of the first degree of freedom on the others. Raises `InputError`."""
        table = np.asarray(self.terms, dtype=float)
        rows = [row_of(nodes, int(number), "terms") for number in table[:, 0]]
        dofs = np.array(
            [_dof_of(nodes, row, int(component)) for row, component in zip(rows, table[:, 1])]
        )
        if len(np.unique(dofs)) < len(dofs):
            raise InputError("terms: a degree of freedom occurs twice; add its factors")
        return Dependence(
            name, dofs[:1], spread(-table[None, 1:, 2] / table[0, 2], dofs[1:], nodes.freedoms.size)
        )


@checked_arguments
@dataclass(frozen=True, eq=False)
class Bushing(Connection):
    """Six springs between two nodes with rotations; rigid motions of both are free of force.

    first, second: the nodes, each by its number or a set of one node.  translation, rotation (3,):
    stiffness along and about the axes [N/m, N m/rad].  axes (3, 3): columns in mesh axes, by
    default mesh axes.  at: place of the springs, from 0 (first) to 1 (second).
    translation_damping, rotation_damping (3,): of dampers along and about the axes [N s/m, N m
    s/rad].

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> joints = {
    ...     "eye": pp.RigidSpider("x1"),
    ...     "pin": pp.RigidSpider("x0"),
    ...     "rubber": pp.Bushing(
    ...         "pin", "eye", translation=(1e6, 1e6, 1e6), rotation=(10.0, 10.0, 10.0)
    ...     ),
    ... }
    >>> fe = pp.assemble(mesh, steel, connections=joints)
    >>> abs(fe.K @ fe.rigid_motion(fe.centre_of_mass)).max().item() < 1e-2  # of K up to 1e10
    True
    """

    first: str | int
    second: str | int
    _: KW_ONLY
    translation: ArrayLike = (0.0, 0.0, 0.0)
    rotation: ArrayLike = (0.0, 0.0, 0.0)
    axes: ArrayLike | None = None
    at: float = 1.0
    translation_damping: ArrayLike = (0.0, 0.0, 0.0)
    rotation_damping: ArrayLike = (0.0, 0.0, 0.0)

    kind = "bushing"

    def __post_init__(self) -> None:
        for option in ("translation", "rotation", "translation_damping", "rotation_damping"):
            if not vector(getattr(self, option), f"connection: {option}").min() >= 0:
                raise InputError(
                    f"connection: {option}: {shown(getattr(self, option))}; give three "
                    "numbers, none negative"
                )
        if not 0 <= number(self.at, "connection: at") <= 1:
            raise InputError(
                f"connection: at: {self.at!r}; give a place from 0 (first node) to 1 (second)"
            )
        if self.axes is not None:
            rotation_of(self.axes)

    def rotating(self, name: str, nodes: ModelNodes) -> IntArray:
        """Both end nodes, which need rotational degrees of freedom."""
        return np.array(self._ends(nodes))

    def stiffness_matrix(self, name: str, nodes: ModelNodes) -> sp.coo_matrix:
        """Sparse stiffness of the bushing between its nodes."""
        return self._matrix(nodes, self.translation, self.rotation)

    def damping_matrix(self, name: str, nodes: ModelNodes) -> sp.coo_matrix:
        """Sparse damping of the bushing between its nodes."""
        return self._matrix(nodes, self.translation_damping, self.rotation_damping)

    def _matrix(
        self, nodes: ModelNodes, translation: ArrayLike, rotation: ArrayLike
    ) -> sp.coo_matrix:
        """Stiffness Bᵀ diag(k) B (size, size), B the relative motion of the ends at the springs."""
        work = self._work(nodes, translation, rotation)
        first, second = (
            np.vstack([rigid_motion(arm[None])[0], np.eye(6)[3:]]) for arm in work.arms
        )
        relative = np.hstack([-first, second])
        dofs = nodes.freedoms.six(np.array(self._ends(nodes))).ravel()
        return _block(relative.T @ work.K @ relative, dofs, nodes)

    def work(self, name: str, nodes: ModelNodes) -> BushingWork:
        """Second-order work of the forces between its nodes."""
        return self._work(nodes, self.translation, self.rotation)

    def _work(self, nodes: ModelNodes, translation: ArrayLike, rotation: ArrayLike) -> BushingWork:
        """Motion of the ends, arms to the springs, and a matrix of the springs or dampers."""
        a, b = self._ends(nodes)
        if a == b:
            raise InputError("first and second are the same node; give two")
        axes = np.kron(np.eye(2), np.eye(3) if self.axes is None else rotation_of(self.axes))
        apart = nodes.positions[b] - nodes.positions[a]
        k = np.concatenate([vector(translation, "translation"), vector(rotation, "rotation")])
        dofs = nodes.freedoms.six(np.array([a, b])).ravel()
        return BushingWork(
            spread(np.eye(12), dofs, nodes.freedoms.size),
            np.array([float(self.at) * apart, (float(self.at) - 1.0) * apart]),
            axes @ np.diag(k) @ axes.T,
        )

    def _ends(self, nodes: ModelNodes) -> tuple[int, int]:
        """Rows of the two end nodes."""
        return one_node(nodes, self.first, "first"), one_node(nodes, self.second, "second")


@checked_arguments
@dataclass(frozen=True, eq=False)
class Spring(Connection):
    """Spring along the line between two nodes, or along a direction [N/m]; it needs no rotations.

    first, second: the nodes, each by its number or a set of one node. stiffness: N/m. direction
    (3,): of the spring in mesh axes, for coincident nodes. damping: of a damper in parallel [N
    s/m].

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> a, b = (mesh.node_ids[mesh.node_sets[name][0]].item() for name in ("x0", "x1"))
    >>> fe = pp.assemble(mesh, steel, connections={"tie rod": pp.Spring(a, b, 1e6)})
    >>> round((fe.K - pp.assemble(mesh, steel).K).trace().item() / 1e6, 6)  # k at both ends
    2.0
    """

    first: str | int
    second: str | int
    stiffness: float
    _: KW_ONLY
    direction: ArrayLike | None = None
    damping: float = 0.0

    kind = "spring"

    def __post_init__(self) -> None:
        for option, unit in (("stiffness", "N/m"), ("damping", "N s/m")):
            remedy = f"give a number in {unit} that is not negative"
            not_negative(getattr(self, option), f"connection: {option}", remedy)
        if self.direction is not None:
            nonzero_vector(
                self.direction, "connection: direction", "give the direction of the spring"
            )

    def rotating(self, name: str, nodes: ModelNodes) -> IntArray:
        """No nodes: a spring adds no rotational degrees of freedom."""
        return NO_NODES

    def stiffness_matrix(self, name: str, nodes: ModelNodes) -> sp.coo_matrix:
        """Sparse stiffness of the spring between its nodes."""
        return self._matrix(nodes, float(self.stiffness))

    def damping_matrix(self, name: str, nodes: ModelNodes) -> sp.coo_matrix:
        """Sparse damping of the spring between its nodes."""
        return self._matrix(nodes, float(self.damping))

    def work(self, name: str, nodes: ModelNodes) -> SpringWork | None:
        """Second-order work of its force; None for coincident nodes."""
        a, b, along = self._line(nodes)
        apart = np.hstack([-np.eye(3), np.eye(3)])
        motion = spread(apart, _translations(a, b), nodes.freedoms.size)
        length = float(np.linalg.norm(nodes.positions[b] - nodes.positions[a]))
        return SpringWork(motion, along, float(self.stiffness), length) if length > 0 else None

    def _matrix(self, nodes: ModelNodes, k: float) -> sp.coo_matrix:
        """Stiffness k b bᵀ (size, size) of the elongation b·u."""
        a, b, along = self._line(nodes)
        stretch = np.concatenate([-along, along])
        return _block(k * np.outer(stretch, stretch), _translations(a, b), nodes)

    def _line(self, nodes: ModelNodes) -> tuple[int, int, FloatArray]:
        """Rows of the two nodes, and the direction (3,) of the spring. Raises InputError."""
        a, b = one_node(nodes, self.first, "first"), one_node(nodes, self.second, "second")
        apart = nodes.positions[b] - nodes.positions[a]
        size = float(np.linalg.norm(apart))
        if a == b or (self.direction is None and not size > 0):
            raise InputError("its nodes coincide; give distinct nodes or a direction")
        along = apart if self.direction is None else vector(self.direction, "direction")
        along = along / np.linalg.norm(along)
        if np.linalg.norm(np.cross(along, apart)) > ALONG * size:
            raise InputError(
                "direction: is not along the line between its nodes, so that the spring "
                "exerts a moment on the part; use a Bushing"
            )
        return a, b, along


def _translations(a: int, b: int) -> IntArray:
    """Degrees of freedom (6,) of the displacements of two nodes."""
    return np.concatenate([3 * a + np.arange(3), 3 * b + np.arange(3)])


def _block(K: FloatArray, dofs: IntArray, nodes: ModelNodes) -> sp.coo_matrix:
    """Matrix (size, size) with a block at some degrees of freedom."""
    rows, columns = np.nonzero(K)
    size = nodes.freedoms.size
    return sp.coo_matrix((K[rows, columns], (dofs[rows], dofs[columns])), shape=(size, size))


def _dof_of(nodes: ModelNodes, row: int, component: int) -> int:
    """Number of the degree of freedom of a node and component, 1 … 6. Raises `InputError`."""
    if component <= 3:
        return 3 * row + component - 1
    if not nodes.freedoms.rotates(np.array([row]))[0]:
        raise InputError(f"terms: node {nodes.ids[row]} has no rotation; use components 1 to 3")
    return int(nodes.freedoms.six(np.array([row]))[0, component - 1])

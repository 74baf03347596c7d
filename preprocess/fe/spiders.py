"""Spiders: nodes that follow a centre, or a centre that follows nodes.

    rigid spider       u_i = t + θ × (x_i − p),  θ_i = θ                the nodes follow the centre (RBE2)
    averaging spider   (t, θ) = (RᵀWR)⁻¹ RᵀW u                          the centre follows the nodes (RBE3)

R are the rigid motions of the nodes about the centre p, W their weights; a force f on the centre of
an averaging spider is distributed as ``W R (RᵀWR)⁻¹ f`` over the nodes. These forces have the same
resultant and are independent of the elements; the spider adds no stiffness.

Source: MSC Nastran, Quick Reference Guide, RBE2, RBE3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from flexmbs.errors import InputError, shown
from flexmbs.flexible_body.components import FloatArray, IntArray
from preprocess.fe.connection_base import NO_NODES, Arms, Connection, ModelNodes, one_node, row_of
from preprocess.fe.constraints import Dependence
from preprocess.fe.mass_points import spread
from preprocess.inputs.argument_checks import checked_arguments, floats, vector
from preprocess.mesh.node_regions import NodeSets, Region, check_distance, region_of
from preprocess.mesh.rigid_motion import rigid_motion, rotation_of, solved_directions

ALL = "123456"
ROUND_OFF = 1e-14  # factor of a degree of freedom that is zero but for round-off


@checked_arguments
@dataclass(frozen=True, eq=False)
class Spider(Connection):
    """Centre with six degrees of freedom and the nodes connected to it.

    where: the nodes, by a set's name, a `Point` or a `Plane`. reference: the centre, an existing
    node, by its number or a set with only this node. position (3,): of a new centre [m], by default
    the mean of the nodes; it is the node set with the connection's name. components: connected
    components of the nodes, "1" to "3" translations x y z, "4" to "6" rotations (of nodes that have
    one). axes: directions of a node's components, rows (n, 10) of its number and three directions;
    by default mesh axes.
    """

    where: str | Region
    _: KW_ONLY
    reference: str | int | None = None
    position: ArrayLike | None = None
    components: str = ALL
    axes: ArrayLike | None = None

    def __post_init__(self) -> None:
        _check_components(self.components, "components")
        if self.reference is not None and self.position is not None:
            raise InputError("connection: has a reference and a position; give one of them")

    def centre(self, name: str, nodes: FloatArray, sets: NodeSets) -> FloatArray | None:
        """Position of the new centre node; None if a node of the mesh is the centre."""
        if self.reference is not None:
            return None
        rows = region_of(self.where).rows(nodes, sets)
        position = (
            nodes[rows].mean(axis=0) if self.position is None else vector(self.position, "position")
        )
        check_distance(position, nodes, "position")
        return np.asarray(position)

    def rotating(self, name: str, nodes: ModelNodes) -> IntArray:
        """The centre node, which needs rotational degrees of freedom."""
        return np.array([self._centre(name, nodes)])

    def _centre(self, name: str, nodes: ModelNodes) -> int:
        """Row of the centre node."""
        return one_node(nodes, name if self.reference is None else self.reference, "reference")

    def _feet(self, name: str, nodes: ModelNodes) -> tuple[int, IntArray]:
        """(row of the centre node, rows of the connected nodes) of a spider."""
        centre = self._centre(name, nodes)
        rows = region_of(self.where).rows(nodes.positions, nodes.sets)
        feet = rows[rows != centre]
        if not feet.size:
            raise InputError("has no node besides its centre; connect at least one")
        return centre, feet

    def _axes(self, nodes: ModelNodes) -> dict[int, FloatArray]:
        """Directions as rows (3, 3) by the row of the node. Raises InputError."""
        if self.axes is None:
            return {}
        rows = floats(self.axes, "connection: axes")
        if rows.ndim != 2 or rows.shape[1:] != (10,):
            raise InputError(
                f"axes: {shown(self.axes)}; give rows of a node's number and three directions"
            )
        return {
            row_of(nodes, int(row[0]), "axes"): np.asarray(rotation_of(row[1:].reshape(3, 3).T)).T
            for row in rows
        }


@checked_arguments
@dataclass(frozen=True, eq=False)
class RigidSpider(Spider):
    """Spider whose nodes follow the centre as a rigid body (RBE2, ``*KINEMATIC``).

    It stiffens the part.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> fe = pp.assemble(
    ...     mesh, steel, connections={"flange": pp.RigidSpider("x1", position=(0.5, 0.01, 0.01))}
    ... )
    >>> bar = pp.reduce(
    ...     fe, interfaces={"root": pp.Rigid("x0"), "tip": pp.Rigid("flange")}, reference="root"
    ... )
    >>> bar.frames["tip"].x.round(6)[0].item()  # the centre, 0.1 m in front of the bar
    0.5
    """

    kind = "rigid-spider"

    def dependence(self, name: str, nodes: ModelNodes) -> Dependence:
        """Dependence of the foot nodes on the centre node by rigid arms."""
        centre, feet = self._feet(name, nodes)
        turned = self._axes(nodes)
        plain = np.array([foot for foot in feet if foot not in turned], dtype=np.int64)
        own, motion = _feet_motion(nodes, centre, plain, self.components)
        rows = [
            _spread_along(nodes, centre, foot, self.components, turned[foot])
            for foot in feet
            if foot in turned
        ]
        if rows:
            dofs, parts = (
                np.concatenate([each for each, _ in rows]),
                sp.vstack([part for _, part in rows]),
            )
            whole = spread(motion, nodes.freedoms.six(np.array([centre]))[0], nodes.freedoms.size)
            return Dependence(
                name, np.concatenate([own, dofs]), sp.csr_matrix(sp.vstack([whole, parts]))
            )
        return Dependence(
            name,
            own,
            spread(motion, nodes.freedoms.six(np.array([centre]))[0], nodes.freedoms.size),
        )

    def arms(self, name: str, nodes: ModelNodes) -> Arms:
        """Rigid arms from the centre node to the feet."""
        centre, feet = self._feet(name, nodes)
        turn = spread(np.eye(3), nodes.freedoms.six(np.array([centre]))[0, 3:], nodes.freedoms.size)
        return Arms(feet, rigid_motion(nodes.positions[feet] - nodes.positions[centre]), turn, None)


@checked_arguments
@dataclass(frozen=True, eq=False)
class AveragingSpider(Spider):
    """Spider whose centre follows the weighted mean motion of its nodes (RBE3, ``*DISTRIBUTING``).

    It adds no stiffness.

    weights (n,): of the nodes, in the order of their rows; by default equal; some may be negative,
    like the nodal areas of quadratic faces. The weights of rotations are these times the square of
    the nodes' mean distance from the centre. follows: components of the centre that follow the
    nodes; the others belong to its own elements.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> fe = pp.assemble(
    ...     mesh,
    ...     steel,
    ...     connections={"flange": pp.AveragingSpider("x1", position=(0.5, 0.01, 0.01))},
    ... )
    >>> bar = pp.reduce(
    ...     fe, interfaces={"root": pp.Rigid("x0"), "tip": pp.Averaged("flange")}, reference="root"
    ... )
    >>> bar.frames["tip"].x.round(6)[0].item()
    0.5
    """

    components: str = "123"
    weights: Sequence[float] | None = None
    follows: str = ALL

    kind = "averaging-spider"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_components(self.follows, "follows")

    def rotating(self, name: str, nodes: ModelNodes) -> IntArray:
        """The centre node if its rotation follows the feet, otherwise none."""
        return super().rotating(name, nodes) if set("456") & set(self.follows) else NO_NODES

    def dependence(self, name: str, nodes: ModelNodes) -> Dependence:
        """Dependence of the centre node on the average motion of the feet."""
        centre, feet = self._feet(name, nodes)
        led = [int(c) - 1 for c in sorted(set(self.follows))]
        of_centre = (
            3 * centre + np.arange(3) if led[-1] < 3 else nodes.freedoms.six(np.array([centre]))[0]
        )
        return Dependence(name, of_centre[led], self._average(nodes, centre, feet)[led])

    def arms(self, name: str, nodes: ModelNodes) -> Arms:
        """Rigid arms from the averaged centre node to the feet."""
        centre, feet = self._feet(name, nodes)
        arm = nodes.positions[feet] - nodes.positions[centre]
        average = self._average(nodes, centre, feet)
        return Arms(feet, rigid_motion(arm), average[3:], self.dependence(name, nodes))

    def _average(self, nodes: ModelNodes, centre: int, feet: IntArray) -> sp.csr_matrix:
        """Matrix G (6, size) from displacements to the average motion of the feet."""
        own, E, motion = self._rows(nodes, centre, feet)
        weight = self._dof_weights(nodes, centre, feet, own)
        size = max(
            float(np.linalg.norm(nodes.positions[feet] - nodes.positions[centre], axis=1).mean()),
            1e-300,
        )
        scaled = motion / np.array([1.0, 1.0, 1.0, size, size, size])
        gram = (scaled.T * weight) @ scaled
        values = np.linalg.eigvalsh(gram)
        if not values[0] > 1e-12 * values[-1]:
            raise InputError(
                f"its {len(feet)} nodes do not define all motions of the centre; use "
                "nodes that are not collinear"
            )
        fit = np.asarray(
            np.linalg.solve((motion.T * weight) @ motion, motion.T * weight), dtype=float
        )
        return sp.csr_matrix(sp.csr_matrix(fit) @ E)

    def _rows(
        self, nodes: ModelNodes, centre: int, feet: IntArray
    ) -> tuple[IntArray, sp.csr_matrix, FloatArray]:
        """Connected components of the nodes.

        A degree of freedom (m,) of the block of each, the components E (m, size) of u, and their
        motion (m, 6) with the centre.
        """
        turned = self._axes(nodes)
        own, motion = _feet_motion(
            nodes,
            centre,
            np.array([k for k in feet if k not in turned], dtype=np.int64),
            self.components,
        )
        size = nodes.freedoms.size
        dofs, parts, motions = (
            [own],
            [sp.csr_matrix((np.ones(len(own)), (np.arange(len(own)), own)), (len(own), size))],
            [motion],
        )
        for foot in (k for k in feet if k in turned):
            rigid, blocks = _rigid_of(nodes, centre, foot), [3 * foot + np.arange(3)]
            if nodes.freedoms.rotates(np.array([foot]))[0]:
                blocks.append(nodes.freedoms.six(np.array([foot]))[0, 3:])
            for first, block in zip((0, 3), blocks):
                e = turned[foot][
                    [
                        int(c) - 1 - first
                        for c in sorted(set(self.components))
                        if first < int(c) <= first + 3
                    ]
                ]
                dofs.append(block[:1].repeat(len(e)))
                parts.append(spread(e, block, size))
                motions.append(e @ rigid[first : first + 3])
        return np.concatenate(dofs), sp.csr_matrix(sp.vstack(parts)), np.vstack(motions)

    def _dof_weights(
        self, nodes: ModelNodes, centre: int, feet: IntArray, own: IntArray
    ) -> FloatArray:
        """Weight of each connected degree of freedom."""
        given = np.ones(len(feet)) if self.weights is None else floats(self.weights, "weights")
        if given.shape != feet.shape or not given.sum() > 0:
            raise InputError(
                f"weights: {given.size} given for {len(feet)} nodes; give one per node, "
                "with a positive sum"
            )
        distance = np.linalg.norm(nodes.positions[feet] - nodes.positions[centre], axis=1).mean()
        block = own // 3
        turns = block >= nodes.freedoms.nodes
        owner = nodes.freedoms.node_of_block[block]
        return np.asarray(
            given[np.searchsorted(feet, owner)] * np.where(turns, distance**2 or 1.0, 1.0)
        )


def _feet_motion(
    nodes: ModelNodes, centre: int, feet: IntArray, components: str
) -> tuple[IntArray, FloatArray]:
    """Connected degrees of freedom (n,) of the feet, and their motion (n, 6) with the centre."""
    chosen = np.array([int(c) - 1 for c in sorted(set(components))])
    arm = rigid_motion(nodes.positions[feet] - nodes.positions[centre])
    dofs, motion = (
        [(3 * feet[:, None] + chosen[chosen < 3]).ravel()],
        [arm[:, chosen[chosen < 3]].reshape(-1, 6)],
    )
    turned = feet[nodes.freedoms.rotates(feet)]
    if (chosen >= 3).any() and turned.size:
        dofs.append(nodes.freedoms.six(turned)[:, chosen[chosen >= 3]].ravel())
        motion.append(np.tile(np.eye(6)[chosen[chosen >= 3]], (len(turned), 1)))
    return np.concatenate(dofs), np.vstack(motion)


def _rigid_of(nodes: ModelNodes, centre: int, foot: int) -> FloatArray:
    """Translation and rotation (6, 6) of a foot that moves rigidly with the centre."""
    return np.vstack(
        [rigid_motion((nodes.positions[foot] - nodes.positions[centre])[None])[0], np.eye(6)[3:]]
    )


def _spread_along(
    nodes: ModelNodes, centre: int, foot: int, components: str, axes: FloatArray
) -> tuple[IntArray, sp.csr_matrix]:
    """Dependent degrees of freedom of a foot held along some axes, and their factors (m, size).

    The foot follows the centre along these axes.

    e·u = e·(t + θ × r) is solved for the component where e is largest; it is then eliminated from
    the other directions.
    """
    own = (
        nodes.freedoms.six(np.array([foot, centre]))
        if nodes.freedoms.rotates(np.array([foot]))[0]
        else None
    )
    centre_dofs = nodes.freedoms.six(np.array([centre]))[0]
    foot_dofs = own[0] if own is not None else 3 * foot + np.arange(3)
    rigid = _rigid_of(nodes, centre, foot)
    dofs, parts = list[int](), list[sp.csr_matrix]()
    for first in (0, 3) if own is not None else (0,):
        chosen = [
            axes[int(c) - 1 - first] for c in sorted(set(components)) if first < int(c) <= first + 3
        ]
        for k, e in solved_directions(chosen):
            others = np.delete(np.arange(3), k)
            columns = np.concatenate([foot_dofs[first + others], centre_dofs])
            factors = np.concatenate([-e[others], e @ rigid[first : first + 3]])
            factors[np.abs(factors) < ROUND_OFF] = 0.0
            dofs.append(int(foot_dofs[first + k]))
            parts.append(spread(factors[None], columns, nodes.freedoms.size))
    if not dofs:
        return NO_NODES, sp.csr_matrix((0, nodes.freedoms.size))
    return np.array(dofs), sp.csr_matrix(sp.vstack(parts))


def _check_components(components: str, what: str) -> None:
    """Raise `InputError` unless components are digits 1 … 6."""
    if not isinstance(components, str) or not components or set(components) - set(ALL):
        raise InputError(
            f"connection: {what}: {shown(components)}; give digits from 1 to 6, such as '123'"
        )

"""Base of the connections between nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray, IntArray
from preprocess.fe.constraints import Dependence
from preprocess.fe.freedoms import Freedoms
from preprocess.fe.link_work import LinkWork
from preprocess.mesh.node_regions import NodeSets, region_of

NO_NODES: IntArray = np.zeros(0, dtype=np.int64)


class ModelNodes(NamedTuple):
    """Nodes of a model.

    Positions (N, 3), numbers (N,), named sets, degrees of freedom, outer faces by their number of
    nodes.
    """

    positions: FloatArray
    ids: IntArray
    sets: NodeSets
    freedoms: Freedoms
    faces: Callable[[], Mapping[str, IntArray]] = dict


class Arms(NamedTuple):
    """Nodes attached to the centre of a spider by rigid arms.

    The nodes (n,), their rigid motion about the centre (n, 3, 6), and its rotation from u (3,
    size); the components of the centre that follow the nodes, None if the nodes follow the centre.
    """

    nodes: IntArray
    rigid_motion: FloatArray
    turn: sp.csr_matrix
    led: Dependence | None


class TurnedNodes(NamedTuple):
    """Nodes beside faces, which turn with these.

    dofs (n, 3): of their displacements; dyads (n, 3, 3, 3): Σ_a r_a ⊗ C_aᵀ with the arms r_a to the
    nodes of the face and the factors C_a of their displacements; turn (3n, size): rotations of the
    faces.
    """

    dofs: IntArray
    dyads: FloatArray
    turn: sp.csr_matrix

    def of_rows(self, rows: IntArray | NDArray[np.bool_]) -> TurnedNodes:
        """Some of the nodes."""
        here = np.arange(3 * len(self.dofs)).reshape(-1, 3)[rows].ravel()
        return TurnedNodes(self.dofs[rows], self.dyads[rows], self.turn[here])


class Connection(ABC):
    """Declaration of a connection.

    A new kind is a class and one line in `CONNECTIONS` of `connections`.
    """

    kind: ClassVar[str]

    def centre(self, name: str, nodes: FloatArray, sets: NodeSets) -> FloatArray | None:
        """Position (3,) of the node that the connection adds to the model; None if it adds none.

        Raises InputError.
        """
        return None

    @abstractmethod
    def rotating(self, name: str, nodes: ModelNodes) -> IntArray:
        """Nodes that need rotational degrees of freedom."""

    def dependence(self, name: str, nodes: ModelNodes) -> Dependence | None:
        """Dependent degrees of freedom and their coefficients; None if there are none.

        Raises InputError.
        """
        return None

    def stiffness_matrix(self, name: str, nodes: ModelNodes) -> sp.coo_matrix | None:
        """Stiffness (size, size) of the connection; None without. Raises InputError."""
        return None

    def damping_matrix(self, name: str, nodes: ModelNodes) -> sp.coo_matrix | None:
        """Viscous damping (size, size) of the connection; None without. Raises InputError."""
        return None

    def turned(self, nodes: ModelNodes, row: Dependence | None) -> TurnedNodes | None:
        """Nodes beside faces that turn with these, by the dependence; None if there are none."""
        return None

    def work(self, name: str, nodes: ModelNodes) -> LinkWork | None:
        """Second-order work of the forces of the connection; None without. Raises InputError."""
        return None

    def arms(self, name: str, nodes: ModelNodes) -> Arms | None:
        """Rigid arms that rotate with the connection; None if there are none."""
        return None


def one_node(nodes: ModelNodes, where: str | int, what: str) -> int:
    """Row of a node given by its number or by a set with only this node. Raises InputError."""
    if isinstance(where, int):
        return row_of(nodes, where, what)
    rows = region_of(where).rows(nodes.positions, nodes.sets)
    if len(rows) != 1:
        raise InputError(
            f"{what}: {where!r} has {len(rows)} nodes; give a set of one node, or its number"
        )
    return int(rows[0])


def row_of(nodes: ModelNodes, number: int, what: str) -> int:
    """Row of the node with a number. Raises InputError."""
    found = np.flatnonzero(nodes.ids == number)
    if not found.size:
        raise InputError(
            f"{what}: the mesh has no node {number}; its node numbers are "
            f"{nodes.ids.min()}..{nodes.ids.max()}"
        )
    return int(found[0])

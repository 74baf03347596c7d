"""Decomposition of a mesh for several processes.

Each share has the elements of a part, their nodes, and the nodes that those follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
import scipy.sparse as sp

from flexmbs.flexible_body.components import IntArray
from preprocess.elements import ELEMENTS
from preprocess.fe.assembly import Layout
from preprocess.fe.connection_base import Arms, ModelNodes, TurnedNodes
from preprocess.fe.connections import ConnectionEffects
from preprocess.fe.constraints import UNCONSTRAINED, Constraints
from preprocess.fe.element_groups import element_groups
from preprocess.fe.freedoms import Freedoms, dofs_of
from preprocess.fe.interfaces import BoundInterface, Interface, bind_interfaces
from preprocess.fe.material import Material
from preprocess.fe.structural_element import StructuralElement
from preprocess.fe.structural_groups import structural_groups
from preprocess.mesh.declarations import FileDeclarations
from preprocess.mesh.mesh import ElementBlock, Mesh
from preprocess.solve.partition import element_parts


class Share(NamedTuple):
    """Elements, nodes and interfaces of one process.

    mesh, layout, interfaces: of its elements and nodes; nodes (n,): row of each node in the whole
    mesh; owner (b,): rank that owns each block of degrees of freedom; shared: local blocks by the
    rank of the other process; triangles (t, 3) of the outer surface with their rows in the whole
    one; boundary: nodes of that surface; materials: of the whole part, in its order; structures:
    beams and shells, order: place of each of these among those of the whole part.
    """

    mesh: Mesh
    layout: Layout
    interfaces: tuple[BoundInterface, ...]
    nodes: IntArray
    owner: IntArray
    shared: Mapping[int, IntArray]
    triangles: IntArray
    triangle_rows: IntArray
    boundary: IntArray
    materials: tuple[Material, ...]
    structures: tuple[StructuralElement, ...]
    order: tuple[IntArray, ...]


@dataclass(frozen=True, eq=False)
class WholePart:
    """Whole part on the first process: mesh, layout and bound interfaces, before any matrix."""

    mesh: Mesh
    layout: Layout
    interfaces: Sequence[BoundInterface]

    @classmethod
    def bound(cls, mesh: Mesh, layout: Layout, interfaces: Mapping[str, Interface]) -> WholePart:
        """Whole part with its interfaces. Raises InputError."""
        nodes, dependent = layout.joints.nodes, layout.constraints.dependent
        freedoms = replace(nodes.freedoms, dependent=dependent)
        return cls(
            mesh,
            layout,
            bind_interfaces(
                interfaces, nodes.positions, nodes.sets, mesh.surface_triangles(), freedoms
            ),
        )


@final
class Decomposition:
    """Decomposition of a part into shares, by METIS.

    Raises InputError for elements without material and for more shares than elements.
    """

    def __init__(self, whole: WholePart, count: int) -> None:
        """Distribution of the elements and nodes of a part to ``count`` processes."""
        self._whole, self._count = whole, count
        mesh, layout = whole.mesh, whole.layout
        joints = layout.joints
        self._freedoms, self._size = joints.nodes.freedoms, len(joints.nodes.positions)
        self._parts = dict(
            zip(
                mesh.blocks,
                element_parts([b.connectivity for b in mesh.blocks.values()], self._size, count),
            )
        )
        self._follow = _followed(layout.constraints, self._freedoms)
        self._owner = self._owners()
        self._nodes = [self._nodes_of(rank) for rank in range(count)]
        groups = element_groups(mesh, layout.material, layout.formulation.chosen(ELEMENTS))
        self._structures = structural_groups(
            mesh, layout.material, layout.sections, self._freedoms, mass=layout.mass
        )
        owned = [each.material for each in groups] + [each.material for each in self._structures]
        self._materials = tuple({id(material): material for material in owned}.values())
        self._first = np.cumsum([0, *(len(each.ids) for each in self._structures)])
        self._triangles = mesh.surface_triangles()
        self._boundary = np.unique(self._triangles)

    def shares(self) -> Iterator[Share]:
        """Share of each process, in turn."""
        return (self._share(rank) for rank in range(self._count))

    def _elements(self, rank: int) -> dict[str, IntArray]:
        """Rows of the elements of a share in each block."""
        return {name: np.flatnonzero(part == rank) for name, part in self._parts.items()}

    def _owners(self) -> IntArray:
        """Lowest rank with an element at each node; nodes without elements belong to the first."""
        owner = np.zeros(self._size, np.int64)
        for rank in reversed(range(self._count)):
            for name, rows in self._elements(rank).items():
                owner[self._whole.mesh.blocks[name].connectivity[rows]] = rank
        return owner

    def _nodes_of(self, rank: int) -> IntArray:
        """Nodes of the elements of a share, and those that move with them."""
        here = self._owner == rank
        for name, rows in self._elements(rank).items():
            here[self._whole.mesh.blocks[name].connectivity[rows]] = True
        joints = self._whole.layout.joints
        if rank == 0:
            held = np.union1d(joints.stiffness.indices, joints.damping.indices)
            here[self._freedoms.node_of_block[held // 3]] = True
        while True:
            before = int(here.sum())
            for arms in joints.arms.values():
                members = self._members(arms)
                here[members] = here[members] | here[members].any()
            here[self._follow[1][here[self._follow[0]]]] = True
            if int(here.sum()) == before:
                return np.flatnonzero(here)

    def _members(self, arms: Arms) -> IntArray:
        """Nodes that rotate with a spider, and those that rotate it."""
        dofs = (
            [arms.turn.indices]
            if arms.led is None
            else [arms.turn.indices, arms.led.dofs, arms.led.C.indices]
        )
        return np.union1d(arms.nodes, self._freedoms.node_of_block[np.concatenate(dofs) // 3])

    def _share(self, rank: int) -> Share:
        """Mesh, layout and interfaces of a process."""
        nodes, whole = self._nodes[rank], self._whole
        number = np.full(self._size, -1, np.int64)
        number[nodes] = np.arange(len(nodes))
        local, mine = _LocalNumbering(nodes, number, self._freedoms), self._structural_rows(rank)
        faces = (number[self._triangles] >= 0).all(axis=1)
        return Share(
            mesh=self._mesh(rank, number),
            layout=self._layout(rank, local),
            interfaces=tuple(local.interface(each) for each in whole.interfaces),
            nodes=nodes,
            owner=self._owner[self._freedoms.node_of_block[local.blocks]],
            shared={
                other: local.shared(self._nodes[other])
                for other in range(self._count)
                if other != rank
            },
            triangles=number[self._triangles[faces]],
            triangle_rows=np.flatnonzero(faces),
            boundary=number[self._boundary[number[self._boundary] >= 0]],
            materials=self._materials,
            structures=tuple(
                each.within(rows, number, local.freedoms)
                for each, rows in zip(self._structures, mine)
                if len(rows)
            ),
            order=tuple(first + rows for first, rows in zip(self._first, mine) if len(rows)),
        )

    def _structural_rows(self, rank: int) -> list[IntArray]:
        """Rows of the elements of a share in each group of beams or shells."""
        blocks, elements = self._whole.mesh.structural, self._elements(rank)
        ids = {name: blocks[name].ids[rows] for name, rows in elements.items() if name in blocks}
        return [np.flatnonzero(np.isin(each.ids, ids[each.kind])) for each in self._structures]

    def _mesh(self, rank: int, number: IntArray) -> Mesh:
        """Mesh of the elements of a process with local node numbers."""
        mesh, positions = self._whole.mesh, self._whole.layout.joints.nodes
        blocks = {
            name: ElementBlock(
                number[mesh.blocks[name].connectivity[rows]], mesh.blocks[name].ids[rows]
            )
            for name, rows in self._elements(rank).items()
            if len(rows)
        }
        ids = np.concatenate([block.ids for block in blocks.values()])
        sets = {name: np.intersect1d(members, ids) for name, members in mesh.element_sets.items()}
        here = self._nodes[rank]
        places, numbers = positions.positions[here], positions.ids[here]
        return replace(
            mesh,
            nodes=places,
            node_ids=numbers,
            blocks=blocks,
            node_sets={},
            element_sets=sets,
            declared=FileDeclarations(planes=mesh.declared.planes),
        )

    def _layout(self, rank: int, local: _LocalNumbering) -> Layout:
        """Nodes, springs and connections of a process with local numbers."""
        layout = self._whole.layout
        joints, dofs = layout.joints, local.dofs
        nodes = ModelNodes(
            joints.nodes.positions[local.nodes], joints.nodes.ids[local.nodes], {}, local.freedoms
        )
        none = sp.csr_matrix((len(dofs), len(dofs)))
        springs, dampers = (
            A[dofs][:, dofs].tocsr() if rank == 0 else none
            for A in (joints.stiffness, joints.damping)
        )
        arms = {
            name: local.arms(each)
            for name, each in joints.arms.items()
            if local.number[each.nodes[0]] >= 0
        }
        links = tuple(
            each._replace(motion=each.motion[:, dofs]) for each in joints.links if rank == 0
        )
        return layout._replace(
            joints=ConnectionEffects(
                nodes, (), springs, dampers, arms, links, tuple(map(local.turned, joints.turned))
            ),
            constraints=_constraints(layout.constraints, dofs),
        )


class _LocalNumbering(NamedTuple):
    """Nodes of a share, ascending, and the local number of each node of the whole part.

    The number of a node outside the share is −1. freedoms: of the whole part.
    """

    nodes: IntArray
    number: IntArray
    whole: Freedoms

    @property
    def rotating(self) -> IntArray:
        return self.whole.rotating[self.number[self.whole.rotating] >= 0]

    @property
    def freedoms(self) -> Freedoms:
        return Freedoms(len(self.nodes), self.number[self.rotating])

    @property
    def blocks(self) -> IntArray:
        """Blocks of the whole part that are in this share."""
        return np.concatenate([self.nodes, self.whole.rotation_blocks(self.rotating)])

    @property
    def dofs(self) -> IntArray:
        return dofs_of(self.blocks)

    def shared(self, others: IntArray) -> IntArray:
        """Local blocks of nodes that another share has too."""
        number = self.number[others]
        both = np.zeros(len(self.nodes), dtype=bool)
        both[number[number >= 0]] = True
        return np.flatnonzero(both[self.freedoms.node_of_block])

    def interface(self, whole: BoundInterface) -> BoundInterface:
        """Interface with local numbers and those of its nodes that are present."""
        here = np.isin(whole.blocks, self.blocks)
        nodes = self.number[whole.nodes]
        return replace(
            whole,
            nodes=nodes[nodes >= 0],
            blocks=np.searchsorted(self.blocks, whole.blocks[here]),
            rigid_motion=whole.rigid_motion[here],
            weights=whole.weights[here],
            weighted=whole.weighted[here],
        )

    def turned(self, whole: TurnedNodes) -> TurnedNodes:
        """Nodes beside faces that are present, with local numbers."""
        own = whole.of_rows(self.number[whole.dofs[:, 0] // 3] >= 0)
        dofs = self.dofs
        return own._replace(dofs=np.searchsorted(dofs, own.dofs), turn=own.turn[:, dofs].tocsr())

    def arms(self, whole: Arms) -> Arms:
        """Rigid arms with local numbers."""
        dofs, led = self.dofs, whole.led
        if led is not None:
            led = led._replace(dofs=np.searchsorted(dofs, led.dofs), C=led.C[:, dofs].tocsr())
        return Arms(self.number[whole.nodes], whole.rigid_motion, whole.turn[:, dofs].tocsr(), led)


def _constraints(whole: Constraints, dofs: IntArray) -> Constraints:
    """Constraints of a set of degrees of freedom that is closed under dependence."""
    if whole.T is None:
        return UNCONSTRAINED
    T, rows = (
        None if each is None else each[dofs][:, dofs].tocsr() for each in (whole.T, whole.rows)
    )
    return Constraints(T, np.flatnonzero(np.isin(dofs, whole.dependent)), rows)


def _followed(constraints: Constraints, freedoms: Freedoms) -> tuple[IntArray, IntArray]:
    """Pairs of a node and a node that it follows."""
    if constraints.T is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    entries = constraints.T[constraints.dependent].tocoo()
    node = freedoms.node_of_block
    return node[constraints.dependent[entries.row] // 3], node[entries.col // 3]

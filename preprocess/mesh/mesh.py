"""The finite-element mesh: nodes in metres, solid elements by type, named sets."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError, shown, warn_caller
from preprocess.elements import ELEMENTS
from preprocess.elements.structural import STRUCTURAL, names_of
from preprocess.inputs.argument_checks import (
    flag,
    floats,
    instance,
    integers,
    node_indices,
    nonzero_vector,
    vector,
)
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh import checks
from preprocess.mesh.declarations import FileDeclarations
from preprocess.mesh.faces import all_faces, outer_faces, surface_triangles
from preprocess.mesh.quality import MeshQuality, mesh_quality
from preprocess.mesh.shell_edges import nonconforming_edges, overlapping_elements, shell_edges

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# shell with the shape of a face, by number of nodes; the first in the table
FACES = {STRUCTURAL[name].nodes: name for name in reversed(names_of("shell"))}
USUAL_SIZE = (1e-3, 50.0)  # m: a part in mm read as m, or in m as mm, is outside


@dataclass(frozen=True, eq=False)
class ElementBlock:
    """Elements of one type.

    connectivity (ne, nn): node indices in VTK order; ids (ne,): numbers in the file.
    """

    connectivity: Indices
    ids: Indices


class NeighbouringShells(NamedTuple):
    """Shells of other pieces of a divided mesh that share nodes with a piece.

    nodes (m, 3): their nodes outside of the piece; tables (ne, nn): their nodes by type, as rows of
    the nodes of the piece followed by these.
    """

    nodes: Array
    tables: Mapping[str, Indices]


@dataclass(frozen=True, eq=False)
class Mesh:
    """Solid mesh. Every node belongs to an element.

    nodes (N, 3): positions in m; node_ids (N,): numbers in the file; blocks: elements by type:
    "tet4", "tet10", "hex8", "hex20", "hex27", "wedge6", "wedge15", "pyramid5", "pyramid13"; trusses
    "truss2"; beams "line2", "line3"; shells "tri3", "quad4", "tri6", "quad8"; node_sets: node
    indices by name (node sets, and the nodes of named surfaces); element_sets: element numbers by
    name; source: path or origin; unit: length unit of the file; separate: its parts need not share
    nodes, connections join them; declared: sections, connections and masses of the file; beyond:
    of a piece of a mesh, the shells of other pieces at its cuts, since normals at a node are those
    of the whole surface

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1), "hex8")
    >>> isinstance(mesh, pp.Mesh), mesh.nodes.shape, len(mesh.node_sets["x1"])
    (True, (36, 3), 4)
    >>> mesh.nodes[mesh.node_sets["x1"], 0].tolist()
    [0.4, 0.4, 0.4, 0.4]
    """

    nodes: Array
    node_ids: Indices
    blocks: Mapping[str, ElementBlock]
    node_sets: Mapping[str, Indices] = field(default_factory=dict)
    element_sets: Mapping[str, Indices] = field(default_factory=dict)
    source: str = "arrays"
    unit: str = "m"
    separate: bool = False
    declared: FileDeclarations = field(default_factory=FileDeclarations)
    beyond: NeighbouringShells | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(block.ids)} {kind}" for kind, block in self.blocks.items())
        return (
            f"<Mesh of {self.source}: {len(self.nodes)} nodes, {counts}; sets: "
            f"{', '.join(self.node_sets) or 'none'}>"
        )

    @classmethod
    @checked_arguments
    def from_arrays(
        cls,
        nodes: ArrayLike,
        elements: Mapping[str, ArrayLike],
        *,
        node_sets: Mapping[str, ArrayLike] | None = None,
        element_sets: Mapping[str, ArrayLike] | None = None,
        source: str = "arrays",
        separate: bool = False,
    ) -> Mesh:
        """Checked mesh of node positions (N, 3) in m and connectivities by element type.

        Nodes are numbered from 0, in VTK order.

        Elements are numbered from 1 across all types; element_sets hold such numbers, node_sets
        node indices. separate: accept parts that do not share nodes, for connections between them.
        Raises InputError for an unknown element type and for every defect found by `check`.
        """
        instance(elements, Mapping, f"{source}: elements", "connectivities by element type")
        sizes = {name: len(element.nodes) for name, element in ELEMENTS.items()}
        sizes |= {name: each.nodes for name, each in STRUCTURAL.items()}
        unknown = [name for name in elements if name not in sizes]
        if unknown:
            raise InputError(
                f"{source}: unknown element type '{unknown[0]}'; choose one of {', '.join(sizes)}"
            )
        positions = _rows(nodes, 3, f"{source}: nodes").astype(float)
        blocks, first = {}, 1
        for name, connectivity in elements.items():
            table = integers(
                _rows(connectivity, sizes[name], f"{source}: {name}"), f"{source}: {name}"
            )
            blocks[name] = ElementBlock(table, np.arange(first, first + len(table)))
            first += len(table)
        sets = {
            name: node_indices(rows, f"{source}: set {name!r}", len(positions))
            for name, rows in (node_sets or {}).items()
        }
        if not blocks:
            raise InputError(f"{source}: elements: none given; give connectivities by element type")
        regions = {
            name: integers(ids, f"{source}: set {name!r}")
            for name, ids in (element_sets or {}).items()
        }
        for name, ids in regions.items():
            wrong = ids[(ids < 1) | (ids >= first)]
            if wrong.size:
                raise InputError(
                    f"{source}: set {name!r}: {wrong.flat[0]} is not the number of an "
                    f"element; they are 1 to {first - 1}"
                )
        mesh = cls(
            positions,
            np.arange(len(positions)),
            blocks,
            sets,
            regions,
            source,
            separate=flag(separate, "separate"),
        )
        mesh.check()
        return mesh

    @property
    def solids(self) -> dict[str, ElementBlock]:
        """Blocks of solid elements."""
        return {name: block for name, block in self.blocks.items() if name in ELEMENTS}

    @property
    def structural(self) -> dict[str, ElementBlock]:
        """Blocks of beams and shells."""
        return {name: block for name, block in self.blocks.items() if name in STRUCTURAL}

    @property
    def size(self) -> float:
        """Diagonal of the bounding box, m."""
        return float(np.linalg.norm(np.ptp(self.nodes, axis=0)))

    def node_set(self, name: str) -> Indices:
        """Indices of the nodes of a named set.

        Raises InputError with close names if there is none.
        """
        if not isinstance(name, str) or name not in self.node_sets:
            close = difflib.get_close_matches(str(name), self.node_sets, n=3) or sorted(
                self.node_sets
            )
            hint = f"did you mean: {', '.join(close)}" if close else "it has no sets"
            raise InputError(f"{self.source}: no node or surface set '{name}'; {hint}")
        nodes = self.node_sets[name]
        if not len(nodes):
            raise InputError(f"{self.source}: set '{name}' has no node of a solid element")
        return nodes

    def nodes_on_plane(
        self, point: ArrayLike, normal: ArrayLike, tol: float | None = None
    ) -> Indices:
        """Indices of the nodes with |(x - point)·n| ≤ tol, n the unit normal.

        tol in m, by default 1e-6 of the mesh size. Raises InputError for a zero normal and if no
        node is within tol.
        """
        across, start = nonzero_vector(normal, "normal", "give a direction"), vector(point, "point")
        distance = np.abs((self.nodes - start) @ (across / np.linalg.norm(across)))
        limit = 1e-6 * self.size if tol is None else tol
        nodes = np.flatnonzero(distance <= limit)
        if not len(nodes):
            raise InputError(
                f"{self.source}: no node within {limit:.3g} m of the plane through "
                f"{np.asarray(point).tolist()}; "
                f"the nearest is {distance.min():.3g} m away; positions are in m"
            )
        return nodes

    def surface_triangles(self) -> Indices:
        """Outer faces of solids as triangles (T, 3), counter-clockwise seen from outside.

        Every face is split into linear triangles.
        """
        tables = {name: block.connectivity for name, block in self.solids.items()}
        return surface_triangles(tables) if tables else np.zeros((0, 3), dtype=np.int64)

    def faces(self) -> dict[str, Indices]:
        """Outer faces of solids, and shells, keyed by the shell element of their shape.

        Nodes (n, k), corners first.
        """
        tables = {name: block.connectivity for name, block in self.solids.items()}
        found: dict[str, list[Indices]] = {}
        for shape, rows in outer_faces(tables) if tables else []:
            # without the centre of a face with nine nodes
            count = min(rows.shape[1], 2 * shape.corners)
            found.setdefault(FACES[count], []).append(rows[:, :count])
        for name, block in self.structural.items():
            if STRUCTURAL[name].family == "shell":
                found.setdefault(name, []).append(block.connectivity)
        return {name: np.concatenate(each) for name, each in found.items()}

    def moved(self, motion: Callable[[Array], Array]) -> Mesh:
        """Checked mesh with node positions motion(nodes)."""
        if not callable(motion):
            raise InputError(
                f"motion: must be a function of node positions (N, 3), not {shown(motion)}"
            )
        nodes, beyond = _moved(motion, self.nodes), self.beyond
        if beyond is not None:
            beyond = beyond._replace(nodes=_moved(motion, beyond.nodes))
        mesh = replace(self, nodes=nodes, beyond=beyond)
        mesh.check()
        return mesh

    def quality(self) -> MeshQuality:
        """Quality of the solid elements by type, worst elements by number; prints as a table."""
        tables = {name: block.connectivity for name, block in self.solids.items()}
        ids = {name: block.ids for name, block in self.solids.items()}
        solid = np.concatenate([np.zeros(0, dtype=np.int64), *ids.values()])
        sets = {
            name: members
            for name, members in self.element_sets.items()
            if np.isin(members, solid).any()
        }
        return mesh_quality(self.nodes, tables, ids, sets)

    def check(self) -> None:
        """Raise InputError with every defect found; warn of probable mistakes.

        Positions, references, volumes, connectivity.
        """
        connectivity = {name: block.connectivity for name, block in self.blocks.items()}
        ids = {name: block.ids for name, block in self.blocks.items()}
        self._reject(
            checks.bad_positions(self.nodes, self.node_ids)
            + checks.missing_nodes(len(self.nodes), connectivity, ids)
        )
        pairs, tolerance = checks.coincident_nodes(self.nodes)
        pairs = self._unjoined(pairs)
        structural = {name: connectivity[name] for name in self.structural}
        self._reject(
            checks.short_elements(self.nodes, structural, ids)
            or checks.folded_elements(self.nodes, structural, ids)
        )
        if structural:
            self._check_structural(structural, ids)
        if self.solids:
            self._check_solids(len(pairs))
        if len(pairs):
            a, b = self.node_ids[pairs[0]]
            self._warn(
                f"{len(pairs)} pairs of nodes coincide within {tolerance:.2g} m (first: "
                f"{a} and {b}); merge them in the mesher"
                + (", unless connections join them" if self.separate else "")
            )
        if not USUAL_SIZE[0] <= self.size <= USUAL_SIZE[1]:
            self._warn(
                f"the mesh is {self.size:.3g} m large with unit='{self.unit}'; is the unit right?"
            )

    @property
    def element_nodes(self) -> Indices:
        """Rows of the nodes of all elements, with repetitions; a deck of springs has none."""
        tables = (block.connectivity.ravel() for block in self.blocks.values())
        return np.concatenate([np.zeros(0, np.int64), *tables])

    def _unjoined(self, pairs: Indices) -> Indices:
        """Pairs (n, 2) of coincident nodes that no connection of the file joins.

        Pairs joined by connections, as the ends of a spring without length, and pairs with a node
        of no element, as the centre of a spider, are omitted.
        """
        of_elements, joined = np.zeros((2, len(self.nodes)), dtype=bool)
        of_elements[self.element_nodes] = True
        joined[self.declared.connected(self.node_ids, self.node_sets)] = True
        return pairs[of_elements[pairs].all(axis=1) & ~joined[pairs].all(axis=1)]

    def _check_solids(self, n_coincident: int) -> None:
        """Check the connectivity of solids.

        Parts of structures, and parts joined by connections, are known in assembly only.
        """
        connectivity = {name: block.connectivity for name, block in self.solids.items()}
        ids = {name: block.ids for name, block in self.solids.items()}
        faces = all_faces(connectivity)
        problems = [
            *checks.bad_elements(self.nodes, connectivity, ids),
            *checks.nonmatching_faces(faces, ids),
        ]
        if not (self.separate or self.structural):
            problems += checks.unconnected_parts(self.nodes, connectivity, faces, n_coincident)
        self._reject(problems)
        for warning in checks.nonconforming_faces(faces, ids):
            self._warn(warning)

    def _check_structural(self, connectivity: dict[str, Indices], ids: dict[str, Indices]) -> None:
        """Check shells for overlapping elements (error) and open edges (warning)."""
        edges = shell_edges(self.nodes, connectivity, ids)
        self._reject(overlapping_elements(edges, connectivity, ids))
        for warning in nonconforming_edges(self.nodes, self.node_ids, edges):
            self._warn(warning)

    def _reject(self, problems: list[str]) -> None:
        """Raise `InputError` with problems, if there are any."""
        if problems:
            raise InputError(*(f"{self.source}: {problem}" for problem in problems))

    def _warn(self, message: str) -> None:
        """Issue a `PreprocessWarning` with the source of the mesh."""
        warn_caller(f"{self.source}: {message}", PreprocessWarning)


def _moved(motion: Callable[[Array], Array], nodes: Array) -> Array:
    """Positions motion(nodes). Raises InputError for another shape."""
    moved = floats(motion(nodes), "moved nodes", finite=False)
    if moved.shape != nodes.shape:
        raise InputError(f"moved nodes: have shape {moved.shape}; the mesh has {nodes.shape}")
    return moved


def _rows(values: ArrayLike, width: int, what: str) -> Array:
    """Rows (n, width) of numbers, not yet checked. Raises InputError."""
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.array("")
    if array.dtype.kind not in "iuf" or not array.size or array.size % width:
        raise InputError(f"{what}: must be rows of {width} numbers, not {shown(values)}")
    return array.reshape(-1, width)

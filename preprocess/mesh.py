"""The finite-element mesh: nodes in metres, solid elements by type, named sets; and `read_mesh`."""

import difflib
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import InputError, shown
from preprocess import mesh_checks, surface
from preprocess.arguments import file_path, floats, instance, numbers_of, places, spelt, vector
from preprocess.elements import ELEMENTS
from preprocess.mesh_quality import MeshQuality, mesh_quality
from preprocess.mesh_readers import RawMesh, raw_mesh

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

UNITS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "in": 0.0254}
USUAL_SIZE = (1e-3, 50.0)  # m: a part in mm read as m, or in m as mm, is outside


class PreprocessWarning(UserWarning):
    """Input that is probably not meant, but can be worked with."""


@dataclass(frozen=True, eq=False)
class ElementBlock:
    """Elements of one type: connectivity (ne, nn), places of nodes in the order of VTK; ids (ne,), numbers in the file."""

    connectivity: Indices
    ids: Indices


@dataclass(frozen=True, eq=False)
class Mesh:
    """Solid mesh. Every node belongs to an element.

    nodes (N, 3): positions in m; node_ids (N,): numbers in the file
    blocks: elements by type ("tet4", "tet10", "hex8", "hex20", "hex27", "wedge6", "wedge15")
    node_sets: places of nodes by name (node sets, and the nodes of named surfaces); element_sets: element numbers by name
    source: path or origin; unit: length unit of the file
    """

    nodes: Array
    node_ids: Indices
    blocks: Mapping[str, ElementBlock]
    node_sets: Mapping[str, Indices] = field(default_factory=dict)
    element_sets: Mapping[str, Indices] = field(default_factory=dict)
    source: str = "arrays"
    unit: str = "m"

    @classmethod
    def from_arrays(
        cls,
        nodes: ArrayLike,
        elements: Mapping[str, ArrayLike],
        *,
        node_sets: Mapping[str, ArrayLike] | None = None,
        element_sets: Mapping[str, ArrayLike] | None = None,
        source: str = "arrays",
    ) -> "Mesh":
        """Checked mesh of node positions (N, 3) in m and connectivities by element type, numbered from 0 in VTK order.

        Elements are numbered from 1 through all types; element_sets hold such numbers, node_sets the places of nodes.
        Raises InputError for an unknown element type and for everything `check` finds.
        """
        instance(elements, Mapping, f"{source}: elements", "connectivities by element type")
        unknown = [name for name in elements if name not in ELEMENTS]
        if unknown:
            raise InputError(f"{source}: no element type '{unknown[0]}'; there are {', '.join(ELEMENTS)}")
        positions = _rows(nodes, 3, f"{source}: nodes").astype(float)
        blocks, first = {}, 1
        for name, connectivity in elements.items():
            table = numbers_of(_rows(connectivity, len(ELEMENTS[name].nodes), f"{source}: {name}"), f"{source}: {name}")
            blocks[name] = ElementBlock(table, np.arange(first, first + len(table)))
            first += len(table)
        sets = {name: places(rows, f"{source}: set {name!r}", len(positions)) for name, rows in (node_sets or {}).items()}
        if not blocks:
            raise InputError(f"{source}: elements: there are none; give connectivities by element type")
        regions = {name: numbers_of(ids, f"{source}: set {name!r}") for name, ids in (element_sets or {}).items()}
        mesh = cls(positions, np.arange(len(positions)), blocks, sets, regions, source=source)
        mesh.check()
        return mesh

    @property
    def size(self) -> float:
        """Diagonal of the bounding box, m."""
        return float(np.linalg.norm(np.ptp(self.nodes, axis=0)))

    def node_set(self, name: str) -> Indices:
        """Places of the nodes of a named set. Raises InputError with close names when there is none."""
        if not isinstance(name, str) or name not in self.node_sets:
            close = difflib.get_close_matches(str(name), self.node_sets, n=3) or sorted(self.node_sets)
            hint = f"did you mean: {', '.join(close)}" if close else "it has no sets"
            raise InputError(f"{self.source}: no node or surface set '{name}'; {hint}")
        places = self.node_sets[name]
        if not len(places):
            raise InputError(f"{self.source}: set '{name}' has no node of a solid element")
        return places

    def nodes_on_plane(self, point: ArrayLike, normal: ArrayLike, tol: float | None = None) -> Indices:
        """Places of the nodes with |(x - point)·n| ≤ tol, n the unit normal; tol in m, 1e-6 of the mesh size when not given.

        Raises InputError for a zero normal and when no node is that near.
        """
        direction, start = vector(normal, "normal"), vector(point, "point")
        length = np.linalg.norm(direction)
        if not length > 0:
            raise InputError(f"plane normal {direction.tolist()} has no length; give a non-zero vector")
        distance = np.abs((self.nodes - start) @ (direction / length))
        limit = 1e-6 * self.size if tol is None else tol
        places = np.flatnonzero(distance <= limit)
        if not len(places):
            raise InputError(
                f"{self.source}: no node within {limit:.3g} m of the plane through {np.asarray(point).tolist()}; "
                f"the nearest is {distance.min():.3g} m away; positions are in m"
            )
        return places

    def surface_triangles(self) -> Indices:
        """Outer faces, each split into linear triangles (T, 3) that turn positively seen from outside."""
        return surface.surface_triangles({name: block.connectivity for name, block in self.blocks.items()})

    def moved(self, motion: Callable[[Array], Array]) -> "Mesh":
        """The same mesh with node positions motion(nodes); checked."""
        if not callable(motion):
            raise InputError(f"motion: must be a function of node positions (N, 3), not {shown(motion)}")
        nodes = floats(motion(self.nodes), "moved nodes", finite=False)
        if nodes.shape != self.nodes.shape:
            raise InputError(f"moved nodes: have shape {nodes.shape}; the mesh has {self.nodes.shape}")
        mesh = replace(self, nodes=nodes)
        mesh.check()
        return mesh

    def quality(self) -> MeshQuality:
        """Shapes and volumes of the elements by type, the worst by number; prints as a table."""
        tables = {name: block.connectivity for name, block in self.blocks.items()}
        return mesh_quality(self.nodes, tables, {name: block.ids for name, block in self.blocks.items()}, self.element_sets)

    def check(self) -> None:
        """Raise InputError with every defect found (positions, references, volumes, parts); warn of what is only doubtful."""
        connectivity = {name: block.connectivity for name, block in self.blocks.items()}
        ids = {name: block.ids for name, block in self.blocks.items()}
        self._refuse(
            mesh_checks.bad_positions(self.nodes, self.node_ids) + mesh_checks.missing_nodes(len(self.nodes), connectivity, ids)
        )
        faces = surface.all_faces(connectivity)
        pairs, tolerance = mesh_checks.coincident_nodes(self.nodes)
        problems = [
            *mesh_checks.bad_elements(self.nodes, connectivity, ids),
            *mesh_checks.unlike_faces(faces, ids),
            *mesh_checks.loose_parts(self.nodes, connectivity, faces, len(pairs)),
        ]
        self._refuse(problems)
        for doubt in mesh_checks.unlike_neighbours(faces, ids):
            self._warn(doubt)
        if len(pairs):
            a, b = self.node_ids[pairs[0]]
            self._warn(
                f"{len(pairs)} pairs of nodes coincide within {tolerance:.2g} m (first: {a} and {b}); merge them in the mesher"
            )
        if not USUAL_SIZE[0] <= self.size <= USUAL_SIZE[1]:
            self._warn(f"the mesh is {self.size:.3g} m large with unit='{self.unit}'; is the unit right?")

    def _refuse(self, problems: list[str]) -> None:
        if problems:
            raise InputError(*(f"{self.source}: {problem}" for problem in problems))

    def _warn(self, message: str) -> None:
        warnings.warn(f"{self.source}: {message}", PreprocessWarning, stacklevel=5)


@spelt
def read_mesh(path: str | Path, *, unit: str, fix: str | Iterable[str] = ()) -> Mesh:
    """Solid mesh of a file: Gmsh .msh (2.2, 4.1), Abaqus or CalculiX .inp, Nastran .bdf, VTU, MED.

    unit: length unit of the file, "m", "cm", "mm" or "in"; fix: "orientation" reorders elements whose nodes run the wrong way.
    Node sets, named surfaces (their nodes) and physical groups become node sets; nodes without a solid element are left out.
    Raises InputError for anything that cannot be read or is not a sound solid mesh.
    """
    source = str(file_path(path, "mesh"))
    if not isinstance(unit, str) or unit not in UNITS:
        raise InputError(f"{source}: unit {unit!r:.60} is not known; give one of {', '.join(UNITS)}")
    fix = (fix,) if isinstance(fix, str) else tuple(instance(fix, Iterable, f"{source}: fix", "'orientation' or nothing"))
    unknown = [name for name in fix if name != "orientation"]
    if unknown:
        raise InputError(f"{source}: fix {unknown[0]!r} is not known; there is: orientation")
    raw = raw_mesh(Path(path))
    for notice in raw.notices:
        warnings.warn(f"{source}: {notice}", PreprocessWarning, stacklevel=3)
    mesh = _solid_mesh(raw, source, unit)
    if fix:
        mesh = _reoriented(mesh)
    mesh.check()
    return mesh


def _rows(values: ArrayLike, width: int, what: str) -> Array:
    """Rows (n, width) of numbers, which `Mesh.check` looks through. Raises InputError."""
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.array("")
    if array.dtype.kind not in "iuf" or not array.size or array.size % width:
        raise InputError(f"{what}: must be rows of {width} numbers, not {shown(values)}")
    return array.reshape(-1, width)


def _solid_mesh(raw: RawMesh, source: str, unit: str) -> Mesh:
    """Mesh of the solid elements alone, renumbered to the nodes they use, in metres."""
    problems = mesh_checks.missing_nodes(len(raw.points), raw.connectivity, raw.element_ids, raw.node_ids)
    if problems:
        raise InputError(*(f"{source}: {problem}" for problem in problems))
    used = np.unique(np.concatenate([table.ravel() for table in raw.connectivity.values()]))
    place = np.full(len(raw.points), -1, dtype=np.int64)
    place[used] = np.arange(len(used))
    return Mesh(
        nodes=raw.points[used] * UNITS[unit],
        node_ids=raw.node_ids[used],
        blocks={name: ElementBlock(place[table], raw.element_ids[name]) for name, table in raw.connectivity.items()},
        node_sets={name: _kept(place, nodes) for name, nodes in raw.node_sets.items()},
        element_sets=raw.element_sets,
        source=source,
        unit=unit,
    )


def _kept(place: Indices, nodes: Indices) -> Indices:
    """New places of those nodes that are kept."""
    places = np.unique(place[nodes])
    return places[places >= 0]


def _reoriented(mesh: Mesh) -> Mesh:
    """The mesh with every wholly inverted element mirrored in its node order."""
    blocks = {}
    for name, block in mesh.blocks.items():
        determinants = ELEMENTS[name].jacobian_determinants(mesh.nodes[block.connectivity])
        table = block.connectivity.copy()
        inverted = (determinants < 0).all(axis=1)
        table[inverted] = table[inverted][:, ELEMENTS[name].mirrored]
        blocks[name] = ElementBlock(table, block.ids)
    return replace(mesh, blocks=blocks)

"""Reader of mesh files of any format: `read_mesh`."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError, warn_caller
from flexmbs.files.paths import file_path
from preprocess.elements.structural import STRUCTURAL
from preprocess.inputs.argument_checks import checked_arguments, flag, instance, integer, positive
from preprocess.inputs.units import SI, Units, mesh_units
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh.checks import missing_nodes, reoriented
from preprocess.mesh.mesh import ElementBlock, Mesh
from preprocess.mesh_files.readers import READERS, RawMesh, raw_mesh
from preprocess.mesh_files.swept import swept

Indices = NDArray[np.int64]
SAME = 1e-4  # relative difference of units that is only the rounding of their factors in files


@checked_arguments
def read_mesh(
    path: str | Path,
    *,
    unit: str,
    fix: str | Iterable[str] = (),
    separate: bool = False,
    structural: bool | None = None,
    density: float | Mapping[str, float] | None = None,
    allow_outside: bool = False,
    sectors: int | None = None,
) -> Mesh:
    """Mesh of a file of a finite-element program.

    Gmsh .msh (2.2, 4.1), Abaqus or CalculiX .inp, Nastran .bdf, OptiStruct .fem, Ansys .cdb,
    LS-DYNA .k, FEBio .feb, universal files .unv, MED, VTU. unit: of the file, a length, "m", "cm",
    "mm" or "in", with forces in N and times in s, or a consistent system: "SI", "mm-t-s",
    "mm-kg-ms", "mm-g-ms", "cm-g-s", "in-lbf-s", "ft-slug-s"; or "file" for the units that the file
    states (/UNITS of Ansys, dataset 164 of universal files).
    Materials of the file that fit a common metal in another system are a `PreprocessWarning`. fix:
    "orientation" reorders inverted elements. structural: read trusses, beams and shells (lines,
    triangles, quadrilaterals of Gmsh, MED and VTU; S3, S4, S6, S8, B31, B32, T3D2; CTRIA3, CQUAD4,
    CTRIA6, CQUAD8, CBAR, CBEAM, CROD, CTUBE, CONROD) as elements instead of named edges and faces,
    with the sections, materials, connections and masses of the deck, for `assemble`; by default of
    decks that declare any of these. Plane decks (CPS, CPE) are extruded over their thickness,
    axisymmetric ones (CAX, CTRIAX6) revolved. sectors: of solids of revolution, by default as many
    as their elements need. separate: accept parts that do not share nodes, for connections between
    them.
    density: of the materials of the file that have none [kg/m³], one or by element set; without it
    they have no mass if the file has masses on nodes. allow_outside: accept included files outside
    the folder of the file. Node sets, named surfaces (their nodes) and physical groups become node
    sets; nodes without an element are omitted. Raises InputError for an unreadable file or an
    invalid mesh.

    Examples
    --------
    >>> import meshio
    >>> import preprocess as pp
    >>> points, cells = [(0, 0, 0), (10, 0, 0), (0, 10, 0), (0, 0, 10)], [("tetra", [[0, 1, 2, 3]])]
    >>> meshio.write("corner.vtu", meshio.Mesh(points, cells))
    >>> mesh = pp.read_mesh("corner.vtu", unit="mm")
    >>> mesh, mesh.nodes.max().item()  # in metres
    (<Mesh of corner.vtu: 4 nodes, 1 tet4; sets: none>, 0.01)
    """
    source = str(file_path(path, "mesh"))
    units = None if unit == "file" else mesh_units(unit, f"{source}: unit")
    fix = (
        (fix,)
        if isinstance(fix, str)
        else tuple(instance(fix, Iterable, f"{source}: fix", "'orientation' or nothing"))
    )
    unknown = [name for name in fix if name != "orientation"]
    if unknown:
        raise InputError(f"{source}: fix {unknown[0]!r} is unknown; the only one is 'orientation'")
    outside = flag(allow_outside, f"{source}: allow_outside")
    raw = (
        _as_declared(Path(path), allow_outside=outside)
        if structural is None
        else raw_mesh(Path(path), flag(structural, f"{source}: structural"), allow_outside=outside)
    )
    if sectors is not None:
        integer(sectors, f"{source}: sectors")
    with np.errstate(
        all="ignore"
    ):  # of extreme numbers in files, which the checks of the mesh find
        raw = swept(Path(path), raw, sectors)
    if units is None and raw.units is None:
        raise InputError(f"{source}: unit: the file states no units; give its unit, such as 'mm'")
    units = units or raw.units or SI
    for notice in (
        *raw.notices,
        *_other_units(raw, units),
        *raw.declared.doubtful_materials(units),
    ):
        warn_caller(f"{source}: {notice}", PreprocessWarning)
    mesh = _mesh(raw, source, units, _density(density))
    mesh = replace(
        mesh, separate=flag(separate, f"{source}: separate") or bool(raw.declared.connections)
    )
    if fix:
        mesh = _reoriented(mesh)
    mesh.check()
    return mesh


def _as_declared(path: Path, *, allow_outside: bool) -> RawMesh:
    """Content of a mesh file, with structural elements if it is a deck that declares anything."""
    reader = READERS.get(path.suffix.lower())
    if reader is None or not reader.declares:
        return raw_mesh(path, False, allow_outside=allow_outside)
    try:
        raw = raw_mesh(path, True, allow_outside=allow_outside)
    except InputError as error:
        try:
            solid = raw_mesh(path, False, allow_outside=allow_outside)
        except InputError:
            raise error from None
        # as of a generator that gives faces the numbers of properties that do not exist
        reason = error.problems[0].removeprefix(f"{path}: ")
        text = (
            f"only its solids are read, with lines and faces as named regions, because {reason}; "
            "structural=True requires the whole deck"
        )
        return replace(solid, notices=(*solid.notices, text))
    declared = raw.declared
    if declared.materials or declared.sections or declared.connections or declared.masses:
        return raw
    if not STRUCTURAL.keys() & raw.connectivity.keys():  # of solids alone: both ways are the same
        return raw
    return raw_mesh(path, False, allow_outside=allow_outside)


def _density(given: float | Mapping[str, float] | None) -> float | Mapping[str, float] | None:
    """Checked density, one or by element set. Raises InputError."""
    remedy = "give kg/m³, or kg/m³ by element set"
    for each in given.values() if isinstance(given, Mapping) else (given,):
        if each is not None:
            positive(each, "density", remedy)
    return given


def _other_units(raw: RawMesh, units: Units) -> list[str]:
    """Message on units that the file states and that are not those given."""
    stated = raw.units
    lengths_alone = not raw.declared.materials
    if stated is None or np.allclose(
        stated[1 : 2 if lengths_alone else 4], units[1 : 2 if lengths_alone else 4], rtol=SAME
    ):
        return []
    return [
        f"the file states the length {stated.length:g} m and the mass {stated.mass:g} kg as its "
        f"units ({stated.name}), not those of unit={units.name!r}; unit='file' takes them"
    ]


@np.errstate(all="ignore")  # of extreme numbers in files, which the checks of the mesh find
def _mesh(
    raw: RawMesh, source: str, units: Units, density: float | Mapping[str, float] | None
) -> Mesh:
    """Mesh of the elements, renumbered to the nodes they use, in SI."""
    problems = missing_nodes(len(raw.points), raw.connectivity, raw.element_ids, raw.node_ids)
    masses = raw.declared.masses
    there = np.isin([each["node"] for each in masses], raw.node_ids)
    problems += [
        f"{each['where']} refers to node {each['node']}, which does not exist; complete the nodes"
        for each, known in zip(masses, there)
        if not known
    ]
    if problems:
        raise InputError(*(f"{source}: {problem}" for problem in problems))
    used = np.unique(
        np.concatenate([table.ravel() for table in raw.connectivity.values()] + [_connected(raw)])
    )
    index = np.full(len(raw.points), -1, dtype=np.int64)
    index[used] = np.arange(len(used))
    return Mesh(
        nodes=raw.points[used] * units.length,
        node_ids=raw.node_ids[used],
        blocks={
            name: ElementBlock(index[table], raw.element_ids[name])
            for name, table in raw.connectivity.items()
        },
        node_sets={name: _new_indices(index, nodes) for name, nodes in raw.node_sets.items()},
        element_sets=raw.element_sets,
        source=source,
        unit=units.name,
        declared=raw.declared.scaled(units).with_density(density),
    )


def _connected(raw: RawMesh) -> Indices:
    """Rows of the nodes of connections and masses of the file."""
    masses = [each["node"] for each in raw.declared.masses]
    own = raw.declared.connected(raw.node_ids, raw.node_sets)
    return np.concatenate([np.flatnonzero(np.isin(raw.node_ids, masses)), own])


def _new_indices(index: Indices, nodes: Indices) -> Indices:
    """New indices of the nodes that are kept."""
    kept = np.unique(index[nodes])
    return kept[kept >= 0]


def _reoriented(mesh: Mesh) -> Mesh:
    """Mesh with the node order of inverted elements corrected."""
    blocks = {
        name: ElementBlock(reoriented(name, mesh.nodes, block.connectivity), block.ids)
        for name, block in mesh.solids.items()
    }
    return replace(mesh, blocks={**mesh.blocks, **blocks})

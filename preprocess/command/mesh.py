"""Command ``preprocess mesh``: a CAD file as a mesh in Gmsh's format, its faces as named sets."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexmbs.console.messages import progress_bar, put
from flexmbs.errors import InputError
from flexmbs.files.reserved_outputs import reserved
from preprocess.command.outcome import print_warnings

if TYPE_CHECKING:
    from preprocess.mesh.mesh import Mesh

GMSH = "gmsh"
MILLI = 1e3  # the file is in mm, as CAD files are


def mesh_file(
    source: Path,
    output: Path | None,
    *,
    size: str | None,
    refine: Sequence[str],
    order: int,
    curvature: float,
    grading: float,
    solid: str | None,
) -> None:
    """Write the mesh of a CAD file. Raises InputError, MachineError."""
    from preprocess.cad.selectors import described_faces

    target = output or source.with_suffix(".msh")
    if target.suffix.lower() != ".msh":
        raise InputError(f"{target}: is written in Gmsh's format; give a name that ends with .msh")
    table: dict[str, Any] = {"order": order, "curvature": curvature, "grading": grading}
    table |= {} if size is None else {"size": size}
    table |= {} if solid is None else {"solid": solid_of(solid)}
    table["refine"] = [inline_table(each, "--refine") for each in refine]
    with reserved((target, GMSH)):
        with (
            warnings.catch_warnings(record=True) as caught,
            progress_bar("read and mesh", memory=True),
        ):
            warnings.simplefilter("always")
            mesh = _meshed(source, table)
        print_warnings(caught)
        write_gmsh(mesh, target)
    put("\n".join(described_faces(mesh.node_sets.faces, mesh.nodes)))  # type: ignore[attr-defined]
    put(str(mesh.quality()))
    put(f"mesh in mm: {target}")


def _meshed(source: Path, table: dict[str, Any]) -> Mesh:
    """Mesh by the options of a part file's table [cad]."""
    from flexmbs.declaration import NestedError
    from flexmbs.toml.document import Locator
    from preprocess.part_file.from_tables import PartFiles
    from preprocess.part_file.part import meshed_cad
    from preprocess.part_file.read import read_cad_options

    try:
        options = read_cad_options(
            table, PartFiles(Locator(source.absolute().parent, False, "part"))
        )
    except NestedError as error:
        raise InputError(
            *(f"--{'.'.join(map(str, each.path))}: {each.message}" for each in error.problems)
        ) from None  # fmt: skip
    return meshed_cad(source, options)


def solid_of(text: str) -> int | str:
    """Number or name of a solid."""
    return int(text) if text.isdecimal() and len(text) < 10 else text


def inline_table(text: str, option: str) -> dict[str, Any]:
    """Table of a text such as ``hole = "10 mm", near = [0, 0, 0]``, or the number of a face."""
    import tomllib

    if text.strip().isdecimal():
        return {"number": int(text)}
    try:
        return dict(tomllib.loads(f"x = {{ {text} }}")["x"])
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"{option}: {text!r:.100} is no list of conditions ({error}); give them as "
            "'hole = \"10 mm\", near = [0, 0, 0]', or the number of a face"
        ) from None


def write_gmsh(mesh: Mesh, target: Path) -> None:
    """Write elements and the triangles of the faces with their names, in mm. Raises MachineError."""
    import meshio
    import numpy as np

    from flexmbs.files.output import atomic_file

    (kind, block), faces = next(iter(mesh.blocks.items())), mesh.node_sets.faces  # type: ignore[attr-defined]
    cell, side = ("tetra10", "triangle6") if kind == "tet10" else ("tetra", "triangle")
    triangles = np.concatenate([face.triangles for face in faces])
    regions = mesh.element_sets or {"solid": block.ids}
    of_faces = np.repeat([face.number for face in faces], [len(face.triangles) for face in faces])
    of_solids = np.zeros(len(block.ids), dtype=int)
    for k, ids in enumerate(regions.values(), 1):
        of_solids[ids - 1] = k
    tags = [of_faces, of_solids]
    named = {face.name or f"face {face.number}": np.array([face.number, 2]) for face in faces}
    named |= {name: np.array([k, 3]) for k, name in enumerate(regions, 1)}
    content = meshio.Mesh(
        MILLI * mesh.nodes,
        [(side, triangles), (cell, block.connectivity)],
        cell_data={"gmsh:physical": tags, "gmsh:geometrical": tags},
        field_data=named,
    )
    with atomic_file(target) as draft:
        meshio.gmsh.write(draft, content, "2.2", binary=False)

"""Command ``preprocess converge``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from flexmbs.console.messages import progress_bar, put, put_json
from flexmbs.errors import InputError
from flexmbs.files.reserved_outputs import reserved
from preprocess.command.outcome import print_warnings

if TYPE_CHECKING:
    from preprocess.mesh.mesh import Mesh
    from preprocess.part_file import Part

# relative sizes of the elements: the finest mesh has about eight times the nodes of the coarsest
FACTORS = (1.0, 0.7, 0.5)


def converge(
    part: Part, output: Path | None, *, modes: int, as_json: bool, allow_large: bool
) -> None:
    """Print frequencies and interface compliance of a CAD part over three sizes of elements.

    Raises InputError, SolverError, MachineError.
    """
    from preprocess.cad.netgen import FORMATS
    from preprocess.comparison.convergence import convergence

    source = part.document.path
    if part.mesh is None or part.mesh.suffix.lower() not in FORMATS or part.division is not None:
        raise InputError(
            f"{source}: converge needs an undivided part of a CAD file, of which it makes meshes"
        )
    with reserved((output, "png")):
        with (
            warnings.catch_warnings(record=True) as caught,
            progress_bar("mesh and reduce", memory=True) as progress,
        ):
            warnings.simplefilter("always")
            meshes = []
            for k, size in enumerate(_sizes(part)):
                progress(k / 6, f"mesh {k + 1}")
                meshes.append(_scaled(part, size, FACTORS[k]))

            def quantities(mesh: Mesh) -> dict[tuple[str, str], float]:
                """Frequencies and compliances of the part on a mesh, by kind and name."""
                progress(0.5 + 0.15 * meshes.index(mesh), "reduce")
                return dict(_quantities(part, mesh, modes, allow_large))

            found = convergence(meshes, quantities)
        print_warnings(caught)
        if as_json:
            put_json(
                {
                    "sizes": found.sizes.tolist(),
                    "nodes": found.nodes,
                    "quantities": [
                        {
                            "name": each.name,
                            "unit": each.unit,
                            "values": each.values.tolist(),
                            **each.limit._asdict(),
                        }
                        for each in found.quantities
                    ],
                }
            )
        else:
            put(str(found))
        if output is not None:
            found.plot(output)
            put(f"plot: {output}")


def _sizes(part: Part) -> Iterator[float]:
    """Sizes (m) of the largest elements: that of the part, and smaller ones."""
    import numpy as np

    from preprocess.cad.mesh_cad import read_faces
    from preprocess.cad.worker import USUAL_SIZE

    first = part.cad.size if part.cad else None
    if first is None:
        solid = part.cad.solid if part.cad else None
        _, nodes = read_faces(str(part.mesh), solid=solid)
        first = USUAL_SIZE * float(np.linalg.norm(np.ptp(nodes, axis=0)))
    return (factor * first for factor in FACTORS)


def _scaled(part: Part, size: float, factor: float) -> Mesh:
    """Mesh with all sizes by a factor: also the curvature counts elements."""
    from preprocess.part_file.part import CadMeshing, meshed_cad

    given = part.cad or CadMeshing()
    refine = tuple((face, factor * own) for face, own in given.refine)
    with part.located():
        return meshed_cad(
            Path(str(part.mesh)),
            replace(given, size=size, refine=refine, curvature=given.curvature / factor),
        )


def _quantities(
    part: Part, mesh: Mesh, modes: int, allow_large: bool
) -> Iterator[tuple[tuple[str, str], float]]:
    """Frequencies with the first interface held, and compliances of the others, of the full model.

    No basis is involved: differences are those of the meshes.
    """
    from preprocess.comparison import FullModel

    with part.located():
        interfaces = part.interfaces_on(mesh)
        full = FullModel(part.assembled(mesh, allow_large=allow_large), interfaces, "")
        held, *others = interfaces
        for k, frequency in enumerate(full.modes(held, modes).frequency, 1):
            yield (f"mode {k}, {held} held", "Hz"), float(frequency)
        for moving in others:
            C = full.compliance(held, moving)
            for k, axis in enumerate("xyz"):
                yield (f"compliance of {moving} along {axis}", "m/N"), float(C[k, k])
            for k, axis in enumerate("xyz"):
                yield (f"compliance of {moving} about {axis}", "rad/(N m)"), float(C[3 + k, 3 + k])

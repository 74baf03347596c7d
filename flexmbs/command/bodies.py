"""Deformed flexible bodies as VTU files, with a PVD file that gives their times."""

from pathlib import Path
from xml.sax.saxutils import quoteattr

import meshio
import numpy as np

from flexmbs.console.messages import Report
from flexmbs.errors import InputError, MachineError
from flexmbs.flexible_body import FloatArray, Surface
from flexmbs.page.files import slug, write_text
from flexmbs.results import Solution


def write_bodies(solution: Solution, folder: Path, instants: int, progress: Report) -> list[Path]:
    """One VTU file per flexible body and instant, surface in world axes with its elastic displacement. Raises InputError."""
    surfaces = {name: data.surface for name, data in solution.compiled.data.items() if data.surface is not None}
    if not surfaces:
        raise InputError("export: the solution has no flexible body with a surface; there is nothing to write as VTU")
    pick = np.unique(np.linspace(0, len(solution.t) - 1, min(instants, len(solution.t))).astype(int))
    entries = []
    for n, (name, surface) in enumerate(surfaces.items()):
        body = solution.body(name)
        for k, i in enumerate(pick):
            progress((n + k / len(pick)) / len(surfaces), f"writing {name}")
            file = folder / f"{n + 1}-{slug(name)}-{k:04d}.vtu"
            _write(file, surface, body.position[i], body.rotation[i], body.elastic[i])
            entries.append(f'    <DataSet timestep="{float(solution.t[i])!r}" part="{n}" file={quoteattr(file.name)}/>')
    collection = folder / "bodies.pvd"
    head = '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1">\n  <Collection>\n'
    write_text(collection, head + "\n".join(entries) + "\n  </Collection>\n</VTKFile>\n")
    return [collection]


def _write(file: Path, surface: Surface, r: FloatArray, A: FloatArray, elastic: FloatArray) -> None:
    u = surface.phi @ elastic
    used, triangles = np.unique(surface.triangles, return_inverse=True)
    points = (surface.nodes + u)[used] @ A.T + r
    mesh = meshio.Mesh(points, [("triangle", triangles.reshape(-1, 3))], point_data={"elastic displacement": u[used] @ A.T})
    try:
        mesh.write(file)
    except OSError as error:
        raise MachineError(f"{file}: cannot be written ({error}); mend the folder, its rights or the free space") from None

"""Deformed flexible bodies as VTU files, with a PVD file of their times.

Stress is included if a body has stress modes.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import meshio
import numpy as np

from flexmbs.api.solution import Solution
from flexmbs.console.messages import Report
from flexmbs.errors import InputError
from flexmbs.exports.moving_surfaces import at_nodes, chosen_outputs
from flexmbs.files.output import atomic_file, slug, write_text
from flexmbs.flexible_body.components import FloatArray, Surface
from flexmbs.flexible_body.stress import von_mises
from flexmbs.results.stress import StressView
from flexmbs.results.stress_summary import stressed_bodies


def write_bodies(
    solution: Solution,
    folder: Path,
    instants: int,
    progress: Report,
    *,
    times: Sequence[float] = (),
) -> list[Path]:
    """Write one VTU file per flexible body and instant.

    It contains the surface in world axes, its elastic displacement, its stress (body axes) and the
    envelope of the stress. times: write the outputs nearest to these times (s) instead of equally
    spaced ones. Raises InputError.
    """
    surfaces = {
        name: shape for name in solution.bodies if (shape := solution.shape(name)) is not None
    }
    if not surfaces:
        raise InputError(
            "export: the solution has no flexible body with a surface; VTU files need one"
        )
    pick = chosen_outputs(solution.t, instants, times)
    entries, envelopes = [], []
    stressed = stressed_bodies(solution)
    for n, (name, shape) in enumerate(surfaces.items()):
        surface = shape.surface
        body = solution.body(name)
        stress = body.stress if name in stressed else None
        for k, i in enumerate(pick):
            progress((n + k / len(pick)) / len(surfaces), f"writing {name}")
            file = folder / f"{n + 1}-{slug(name)}-{k:04d}.vtu"
            fields = {} if stress is None else _stress_fields(stress, surface, float(solution.t[i]))
            u = shape.displacement(np.arange(len(surface.nodes)), slice(i, i + 1))[0]
            _write(file, surface, (body.position[i], body.rotation[i], u), fields)
            entries.append(
                f'    <DataSet timestep="{float(solution.t[i])!r}" part="{n}" '
                f"file={quoteattr(file.name)}/>"
            )
        if stress is not None:
            envelopes.append(folder / f"{n + 1}-{slug(name)}-envelope.vtu")
            still = np.zeros(3), np.eye(3), np.zeros_like(surface.nodes)
            _write(envelopes[-1], surface, still, _envelope_fields(stress, surface))
    collection = folder / "bodies.pvd"
    head = '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1">\n  <Collection>\n'
    write_text(collection, head + "\n".join(entries) + "\n  </Collection>\n</VTKFile>\n")
    return [collection, *envelopes]


def _stress_fields(stress: StressView, surface: Surface, t: float) -> dict[str, FloatArray]:
    """Components (N, 6) and von Mises stress (N,) at all nodes of the surface.

    At material interfaces, those of the more highly stressed material.
    """
    field = stress.field(t)
    values = at_nodes(surface, field.node_ids, field.von_mises, field.stress)
    return {"stress in body axes": values, "von Mises stress": von_mises(values)}


def _envelope_fields(stress: StressView, surface: Surface) -> dict[str, FloatArray]:
    """Largest von Mises stress and its time at the nodes of a surface, by name."""
    envelope = stress.envelope
    rows = np.column_stack([envelope.von_mises, envelope.time])
    values = at_nodes(surface, envelope.node_ids, envelope.von_mises, rows)
    return {
        "largest von Mises stress": values[:, 0],
        "time of the largest von Mises stress": values[:, 1],
    }


def _write(
    file: Path,
    surface: Surface,
    pose: tuple[FloatArray, FloatArray, FloatArray],
    fields: Mapping[str, FloatArray],
) -> None:
    """Write the surface at pose (r, A) with displacement u and nodal fields as VTU."""
    r, A, u = pose
    used, triangles = np.unique(surface.triangles, return_inverse=True)
    points = (surface.nodes + u)[used] @ A.T + r
    data = {"elastic displacement": u[used] @ A.T} | {
        name: values[used] for name, values in fields.items()
    }
    mesh = meshio.Mesh(points, [("triangle", triangles.reshape(-1, 3))], point_data=data)
    with atomic_file(file) as draft:
        mesh.write(draft, file_format="vtu")

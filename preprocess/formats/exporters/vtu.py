"""Exporter of modes as a VTK unstructured grid (.vtu).

The surface, with one displacement field per mode.
"""

from __future__ import annotations

import meshio

from flexmbs.errors import InputError
from flexmbs.files.output import atomic_file
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats.exporters.base import Exporter, ExportRequest


class VtuExporter(Exporter):
    """VTU file of the modes."""

    kind = "vtu"
    suffixes = (".vtu",)

    def write(self, body: FlexibleBodyData, request: ExportRequest) -> list[str]:
        """Write the surface with the mode shapes as VTU; notes on data that are lost."""
        if body.surface is None:
            raise InputError(
                f"{body.name}: has no surface; load the body with it, or reduce from a mesh"
            )
        phi = body.surface.phi
        fields = {
            f"mode {k + 1:03d} {f:.6g} Hz": phi[:, :, k] for k, f in enumerate(body.modes.frequency)
        }
        grid = meshio.Mesh(
            body.surface.nodes,
            [("triangle", body.surface.triangles)],
            {**fields, "node number": body.surface.node_ids},
        )
        with atomic_file(request.path) as draft:
            grid.write(draft, file_format="vtu")
        return ["a .vtu file contains the surface and the modes only"]

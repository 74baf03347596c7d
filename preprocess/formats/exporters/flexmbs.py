"""Exporter of the project's own flexible-body file (.h5)."""

from __future__ import annotations

from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats.exporters.base import Exporter, ExportRequest


class FlexmbsExporter(Exporter):
    """Flexible body in the format that `FlexibleBodyData.load` reads."""

    kind = "flexmbs"
    suffixes = (".h5",)

    def write(self, body: FlexibleBodyData, request: ExportRequest) -> list[str]:
        """Write the body as a flexible-body file; no data are lost."""
        body.save(request.path)
        return []

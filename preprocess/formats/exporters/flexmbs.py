"""Exporter of the project's own flexible-body file (.h5)."""

from __future__ import annotations

from pathlib import Path

from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats.exporters.base import Exporter


class FlexmbsExporter(Exporter):
    """Flexible body in the format that `FlexibleBodyData.load` reads."""

    kind = "flexmbs"
    suffixes = (".h5",)

    def write(self, body: FlexibleBodyData, path: Path) -> list[str]:
        """Write the body as a flexible-body file; no data are lost."""
        body.save(path)
        return []

"""Importer of the project's own flexible-body file (.h5)."""

from __future__ import annotations

from flexmbs.flexible_body.divided import DividedBodyData, in_one_piece, load_body
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats.importers.base import Importer, ImportReport, ImportRequest


class FlexmbsImporter(Importer):
    """Flexible body as `FlexibleBodyData.save` writes it; a divided body in one piece."""

    kind = "flexmbs"
    suffixes = (".h5",)
    signature = b"flexmbs-flexible-body"

    def read(self, request: ImportRequest, report: ImportReport) -> FlexibleBodyData:
        """Flexible body from its own file format; pieces are assembled."""
        stored = load_body(request.path)
        if isinstance(stored, DividedBodyData):
            report.found(f"{len(stored.pieces)} pieces, assembled for small deflections")
            report.check(
                False,
                "stress modes and geometric stiffness are those of the pieces and are omitted",
            )
        body = in_one_piece(stored)
        for check in body.validate():
            report.check(check.ok, f"{check.name} ({check.residual:.2g})")
        return body

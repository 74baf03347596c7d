"""The project's own flexible-body file (.h5)."""

from __future__ import annotations

from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats.importers.base import Importer, ImportReport, Request


class Flexmbs(Importer):
    """Flexible body as `FlexibleBodyData.save` writes it."""

    kind = "flexmbs"
    suffixes = (".h5",)
    signature = b"flexmbs-flexible-body"

    def read(self, request: Request, report: ImportReport) -> FlexibleBodyData:
        body = FlexibleBodyData.load(request.path)
        for check in body.validate():
            report.check(check.ok, f"{check.name} ({check.residual:.2g})")
        return body

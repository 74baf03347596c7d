"""The project's own flexible-body file (.h5), so that conversions begin with it like with any other."""

from __future__ import annotations

from flexmbs.flexible_body import FlexibleBodyData
from preprocess.importers.base import Importer, ImportReport, Request


class Flexmbs(Importer):
    """Flexible body as `FlexibleBodyData.save` writes it."""

    kind = "flexmbs"
    suffixes = (".h5",)
    signature = b"flexmbs-flexible-body"
    gives = "a reduced body"

    def read(self, request: Request, report: ImportReport) -> FlexibleBodyData:
        body = FlexibleBodyData.load(request.path)
        for check in body.validate():
            report.check(check.ok, f"{check.name} ({check.residual:.2g})")
        return body

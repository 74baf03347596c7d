"""Exporter of a superelement to Abaqus: a linear user element (.mtx) to include in an input file.

    *NODE                                            interfaces
    *NODE, NSET=MODES                                a node at the origin for each mode
    *NSET, NSET=tip                                  the node of each frame
    *USER ELEMENT, TYPE=U1, NODES=6, LINEAR          directions 1 … 6 of interfaces, 1 of modes
    *MATRIX, TYPE=STIFFNESS                          lower triangle row by row, four numbers a line
    *MATRIX, TYPE=MASS
    *ELEMENT, TYPE=U1, ELSET=link
    *UEL PROPERTY, ELSET=link

Source: Abaqus Keywords Guide, *USER ELEMENT, *MATRIX, *UEL PROPERTY.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flexmbs.files.output import write_text
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats.exporters.base import Exporter, ExportRequest
from preprocess.formats.exporters.superelement import (
    NumberedSuperelement,
    notes,
    numbered_superelement,
)


class AbaqusExporter(Exporter):
    """Linear user element with its nodes, numbers with 17 digits."""

    kind = "abaqus-substructure"
    suffixes = (".mtx",)
    numbered = True

    def write(self, body: FlexibleBodyData, request: ExportRequest) -> list[str]:
        """Write nodes, user element and matrices; notes on data that are lost."""
        element = numbered_superelement(body, request)
        write_text(request.path, "\n".join(_lines(body, element, request)) + "\n")
        damping = ["user elements have no damping matrix: D_ff is not in the file"]
        return [
            *(damping if element.D.any() else []),
            *notes(body, "*USER ELEMENT", element, element),
        ]


def _lines(
    body: FlexibleBodyData, element: NumberedSuperelement, request: ExportRequest
) -> Iterator[str]:
    """Lines of the file."""
    nodes, label = [*element.interfaces, *element.modes], _label(body.name)
    yield f"** {label}: {body.mass:.9g} kg, units of the file: {request.units.name}"
    yield "*NODE"
    for node, (_, x) in element.interfaces.items():
        yield ", ".join([str(node), *(f"{value:.17g}" for value in x)])
    if element.modes:
        yield "*NODE, NSET=MODES"
        yield from (f"{mode}, 0., 0., 0." for mode in element.modes)
    for node, (name, _) in element.interfaces.items():
        yield f"*NSET, NSET={_label(name)}"
        yield f"{node},"
    yield f"*USER ELEMENT, TYPE=U1, NODES={len(nodes)}, LINEAR"
    yield "** ELEMENT NODES"
    yield from (f"** {line}" for line in _table(nodes, 10))
    yield "1, 2, 3, 4, 5, 6"
    if element.modes:
        yield f"{len(element.interfaces) + 1}, 1"
    for kind, A in (("STIFFNESS", element.K), ("MASS", element.M)):
        yield f"*MATRIX, TYPE={kind}"
        yield from _triangle(A)
    yield f"*ELEMENT, TYPE=U1, ELSET={label}"
    yield from _table([min(nodes), *nodes], 10)
    yield f"*UEL PROPERTY, ELSET={label}"


def _triangle(A: FloatArray) -> Iterator[str]:
    """Lower triangle row by row, each row on its own lines of four numbers."""
    for row in range(len(A)):
        yield from _table([f"{value:.16e}" for value in A[row, : row + 1].tolist()], 4)


def _table(items: Sequence[object], columns: int) -> list[str]:
    """Lines of so many items; a comma at the end of a line continues it."""
    lines = [", ".join(map(str, items[k : k + columns])) for k in range(0, len(items), columns)]
    return [f"{line}," for line in lines[:-1]] + lines[-1:]


def _label(name: str) -> str:
    """Name of a set: letters, digits and underscores, the first a letter."""
    text = re.sub(r"\W+", "_", name)
    return text if text[:1].isalpha() else f"N_{text}"

"""Exporters of superelements to Nastran: DMIG bulk data (.dmig, .pch) and OUTPUT4 (.op4).

Each interface is a GRID with basic axes, each mode an SPOINT. A .dmig or .pch file is complete: it
has these points and the matrices K…, M… and, with damping, B…, named after the body; include it in
the bulk data, and select the matrices in the case control. An .op4 file has the matrices only; the
points are in the file .op4.bdf of the same name, and rows follow the numbers of the points, six to each
grid. Source: MSC Nastran Quick Reference Guide, DMIG, K2GG; DMAP Programmer's Guide, OUTPUT4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from flexmbs.files.output import write_text
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats.exporters.base import Exporter, ExportRequest
from preprocess.formats.exporters.superelement import (
    NumberedSuperelement,
    notes,
    numbered_superelement,
)

POINTS_OF_OP4 = ".op4.bdf"
_CASE_CONTROL = ("K2GG", "M2GG", "B2GG")
# smaller entries have exponents of three digits, for which OUTPUT4's fields are too narrow
_TINY = 1e-99


class NastranDmigExporter(Exporter):
    """DMIG cards with their points; double precision in fields of 16 characters."""

    kind = "nastran-dmig"
    suffixes = (".dmig", ".pch")
    numbered = True

    def write(self, body: FlexibleBodyData, request: ExportRequest) -> list[str]:
        """Write GRID, SPOINT and DMIG cards; notes on data that are lost."""
        element = numbered_superelement(body, request)
        printed = element._replace(
            K=_printed(element.K), M=_printed(element.M), D=_printed(element.D)
        )
        lost = notes(body, "DMIG", element, printed)
        names = _names(body.name, element)
        lines = [*_points(body, element, request, names)]
        for letter, name in names.items():
            lines += _dmig(name, getattr(element, letter), element.labels)
        write_text(request.path, "\n".join(lines) + "\n")
        return lost


class NastranOp4Exporter(Exporter):
    """ASCII matrices with 17 digits, and a file .op4.bdf with their points."""

    kind = "nastran-op4"
    suffixes = (".op4",)
    numbered = True

    def write(self, body: FlexibleBodyData, request: ExportRequest) -> list[str]:
        """Write the matrices and the file of their points; notes on data that are lost."""
        element = numbered_superelement(body, request)
        names = _names(body.name, element)
        # in Nastran grids and scalar points are sorted by number
        order = np.lexsort(np.array(element.labels).T[::-1])
        lines: list[str] = []
        for letter, name in names.items():
            lines += _op4(name, getattr(element, letter)[np.ix_(order, order)])
        write_text(request.path, "\n".join(lines) + "\n")
        points = request.path.with_suffix(POINTS_OF_OP4)
        write_text(points, "\n".join(_points(body, element, request, names)) + "\n")
        return [
            f"grids and scalar points are in {points.name}",
            *notes(body, "OP4", element, element),
        ]


def _names(body: str, element: NumberedSuperelement) -> dict[str, str]:
    """Names of at most eight characters by field: K, M and, with damping, B of the body."""
    label = re.sub(r"[^A-Z0-9]", "", body.upper())[:7] or "AX"
    names = {"K": f"K{label}", "M": f"M{label}", "D": f"B{label}"}
    return names if element.D.any() else {letter: names[letter] for letter in "KM"}


def _points(
    body: FlexibleBodyData,
    element: NumberedSuperelement,
    request: ExportRequest,
    names: dict[str, str],
) -> Iterator[str]:
    """GRID and SPOINT cards, with comments on units, frames and the use of the matrices."""
    modes = _thru(element.modes)
    yield f"$ {_plain(body.name)}: {body.mass:.9g} kg, units of the file: {request.units.name}"
    yield from (f"$ frame {_plain(name)}: grid {n}" for n, (name, _) in element.interfaces.items())
    use = ", ".join(f"{field} = {name}" for field, name in zip(_CASE_CONTROL, names.values()))
    yield f"$ case control: {use}"
    yield "$ as external superelement or in a further reduction, also:"
    yield from (f"$ ASET1,123456,{node}" for node in element.interfaces)
    yield from ([f"$ QSET1,0,{modes}"] if modes else [])
    for node, (_, x) in element.interfaces.items():
        fields = "".join(_field(value) for value in x)
        yield f"GRID*   {node:16d}{'':16}{fields[:32]}"
        yield f"*       {fields[32:]}"
    yield from ([f"SPOINT,{modes}"] if modes else [])


def _thru(numbers: range) -> str:
    """A range as "7,THRU,9"."""
    return f"{numbers[0]},THRU,{numbers[-1]}" if len(numbers) > 1 else ",".join(map(str, numbers))


def _plain(name: str) -> str:
    """Name on one line."""
    return " ".join(name.split())


def _dmig(name: str, A: FloatArray, labels: list[tuple[int, int]]) -> Iterator[str]:
    """Header and columns of a symmetric DMIG matrix, lower triangle, without zeros."""
    yield f"DMIG    {name:8}{0:8d}{6:8d}{2:8d}{0:8d}"
    for column, (node, direction) in enumerate(labels):
        rows = column + np.flatnonzero(A[column:, column])
        if rows.size:
            yield f"DMIG*   {name:16}{node:16d}{direction:16d}"
        for row in rows.tolist():
            g, c = labels[row]
            yield f"*       {g:16d}{c:16d}{_field(A[row, column])}"


def _field(value: float) -> str:
    """Number in 16 characters with the exponent D of double precision: 11 or more digits."""
    for digits in range(13, 7, -1):
        mantissa, _, exponent = f"{value:.{digits}E}".partition("E")
        text = f"{mantissa}D{int(exponent):+d}"
        if len(text) <= 16:
            break
    return text.rjust(16)


def _printed(A: FloatArray) -> FloatArray:
    """Matrix as its fields print it."""
    texts = [float(_field(value).replace("D", "E")) for value in A.ravel().tolist()]
    return np.array(texts).reshape(A.shape)


def _op4(name: str, A: FloatArray) -> Iterator[str]:
    """A symmetric matrix as ASCII OUTPUT4, dense columns from the first to the last nonzero row."""
    n = len(A)
    yield f"{n:8d}{n:8d}{6:8d}{2:8d}{name:8}1P,3E23.16"
    for column, values in enumerate(A.T):
        values = np.where(np.abs(values) < _TINY, 0.0, values)
        used = np.flatnonzero(values)
        if not used.size:
            continue
        part = values[used[0] : used[-1] + 1].tolist()
        yield f"{column + 1:8d}{used[0] + 1:8d}{2 * len(part):8d}"
        texts = [f"{value:23.16E}" for value in part]
        yield from ("".join(texts[k : k + 3]) for k in range(0, len(texts), 3))
    yield f"{n + 1:8d}{1:8d}{2:8d}"
    yield f"{1.0:23.16E}"

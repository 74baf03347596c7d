"""Exporters of reduced bodies: one file per format and one line each in the table below."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flexmbs.errors import InputError
from flexmbs.files.paths import file_path
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats.exporters.abaqus import AbaqusExporter
from preprocess.formats.exporters.base import Exporter, ExportRequest
from preprocess.formats.exporters.flexmbs import FlexmbsExporter
from preprocess.formats.exporters.mbdyn import MBDynExporter
from preprocess.formats.exporters.mbsim import MBSimExporter
from preprocess.formats.exporters.nastran import NastranDmigExporter, NastranOp4Exporter
from preprocess.formats.exporters.sid import SidExporter
from preprocess.formats.exporters.simscape import SimscapeExporter
from preprocess.formats.exporters.vtu import VtuExporter
from preprocess.inputs.argument_checks import checked_arguments, instance, integer
from preprocess.inputs.units import SI, mesh_units

FORMATS: dict[str, Exporter] = {
    exporter.kind: exporter
    for exporter in (
        MBSimExporter(),
        FlexmbsExporter(),
        SidExporter(),
        MBDynExporter(),
        SimscapeExporter(),
        NastranDmigExporter(),
        NastranOp4Exporter(),
        AbaqusExporter(),
        VtuExporter(),
    )
}

__all__ = ["FORMATS", "Exporter", "write_body"]


@checked_arguments
def write_body(
    body: FlexibleBodyData,
    path: str | Path,
    *,
    format: str | None = None,
    unit: str = "m-kg-s",
    nodes: Mapping[str, int] | None = None,
) -> list[str]:
    """Write a body to a file of another program.

    Returns the content that the format cannot represent, one line each. format: a name in
    `FORMATS`, by default from the suffix. For superelements of Nastran and Abaqus only: unit: of
    the file, as of `read_mesh`. nodes: numbers of the nodes of frames by name, by default from 1
    on; those of modes follow the largest. Raises InputError for an unknown format or an unsupported
    body, MachineError if the file cannot be written.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> bar = pp.reduce(
    ...     mesh,
    ...     steel,
    ...     interfaces={"root": pp.Rigid("x0")},
    ...     method=pp.CraigBampton(modes=2),
    ...     reference="root",
    ... )
    >>> lost = pp.write_body(bar, "bar.sid")
    >>> lost[0]
    'SID does not support the surface'
    >>> round(pp.read_body("bar.sid").mass, 6)
    1.256
    """
    instance(body, FlexibleBodyData, "body", "a FlexibleBodyData")
    target = file_path(path, "file")
    if format is not None and format not in FORMATS:
        raise InputError(f"format: {format!r} is unknown; choose one of {', '.join(FORMATS)}")
    chosen = FORMATS.get(format) if format is not None else _of_suffix(target)
    assert chosen is not None
    units = mesh_units(unit, f"{path}: unit")
    if nodes is not None:
        instance(nodes, Mapping, "nodes", "node numbers by frame name, such as {'tip': 17}")
        for name, node in nodes.items():
            integer(node, f"nodes.{name}")
    if not chosen.numbered and (nodes is not None or units[1:] != SI[1:]):
        raise InputError(
            f"{path}: {chosen.kind} files are in SI units and number nodes from 1; leave out unit "
            f"and nodes, or write {', '.join(k for k, e in FORMATS.items() if e.numbered)}"
        )
    return chosen.write(body, ExportRequest(target, units, nodes))


def _of_suffix(path: Path) -> Exporter:
    """Exporter for the suffix of a path. Raises `InputError`."""
    found = [
        exporter for exporter in FORMATS.values() if path.name.lower().endswith(exporter.suffixes)
    ]
    if not found:
        known = ", ".join(
            f"{exporter.kind} ({', '.join(exporter.suffixes)})" for exporter in FORMATS.values()
        )
        raise InputError(
            f"{path}: the format of '{path.suffix}' is unknown; give format=, one of {known}"
        )
    return found[0]

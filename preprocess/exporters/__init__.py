"""Reduced bodies out, for other programs: one file to each format and one line in the table below."""

from __future__ import annotations

from pathlib import Path

from flexmbs.errors import InputError
from flexmbs.flexible_body import FlexibleBodyData
from preprocess.arguments import file_path, instance, spelt
from preprocess.exporters.base import Exporter
from preprocess.exporters.flexmbs import Flexmbs
from preprocess.exporters.mbdyn import MBDyn
from preprocess.exporters.mbsim import MBSim
from preprocess.exporters.sid import StandardInputData
from preprocess.exporters.simscape import Simscape
from preprocess.exporters.vtu import Vtu

FORMATS: dict[str, Exporter] = {
    exporter.kind: exporter for exporter in (MBSim(), Flexmbs(), StandardInputData(), MBDyn(), Simscape(), Vtu())
}

__all__ = ["FORMATS", "Exporter", "write_body"]


@spelt
def write_body(body: FlexibleBodyData, path: str | Path, *, format: str | None = None) -> list[str]:
    """File of another program; returns what of the body the format cannot hold, one line each.

    format: a name in `FORMATS`, by default known by the suffix.
    Raises InputError for an unknown format or a body that it cannot hold, MachineError when the file cannot be written.
    """
    instance(body, FlexibleBodyData, "body", "a FlexibleBodyData")
    target = file_path(path, "file")
    if format is not None and format not in FORMATS:
        raise InputError(f"format: {format!r} is not known; there are {', '.join(FORMATS)}")
    chosen = FORMATS.get(format) if format is not None else _of_suffix(target)
    assert chosen is not None
    return chosen.write(body, target)


def _of_suffix(path: Path) -> Exporter:
    found = [exporter for exporter in FORMATS.values() if path.name.lower().endswith(exporter.suffixes)]
    if not found:
        known = ", ".join(f"{exporter.kind} ({', '.join(exporter.suffixes)})" for exporter in FORMATS.values())
        raise InputError(f"{path}: the format of '{path.suffix}' is not known; give format=, one of {known}")
    return found[0]

"""Command ``preprocess convert``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flexmbs.console.messages import note, put
from flexmbs.errors import InputError


def convert(
    source: Path,
    target: Path,
    *,
    read_as: str | None,
    write_as: str | None,
    unit: str,
    frames: Sequence[str],
) -> None:
    """Convert a reduced body; report its content and what the format does not support.

    Raises InputError, MachineError.
    """
    from flexmbs.flexible_body.record import FlexibleBodyData
    from preprocess.formats.exporters import write_body
    from preprocess.formats.importers import read

    body, report = read(source, format=read_as, unit=unit, frames=dict(map(_frame, frames)) or None)
    put(str(report))
    if not isinstance(body, FlexibleBodyData):
        raise InputError(
            f"{source}: contains finite-element matrices ({report.format}); reduce them, "
            "as [matrices] of a part file"
        )
    for missing in write_body(body, target, format=write_as):
        note(f"warning: {target}: {missing}")
    put(f"{body.name}: {body.mass:.6g} kg, {body.nf} modes: {target}")


def _frame(text: str) -> tuple[str, int]:
    """Name and node number of ``tip=17``."""
    name, separator, node = text.partition("=")
    if not separator or not name or not node.isdecimal() or len(node) > 18:
        raise InputError(f"--frame: {text!r:.60} is not NAME=NODE, such as tip=17")
    return name, int(node)

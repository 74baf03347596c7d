"""``preprocess convert``"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flexmbs.console.messages import put, tell
from flexmbs.errors import InputError


def convert(source: Path, target: Path, *, read_as: str | None, write_as: str | None, units: str, frames: Sequence[str]) -> None:
    """Write a reduced body of one format in another; tell what was found and what was lost. Raises InputError, MachineError."""
    from flexmbs.flexible_body import FlexibleBodyData
    from preprocess.exporters import write_body
    from preprocess.importers import read

    body, report = read(source, format=read_as, units=units, frames=dict(map(_frame, frames)) or None)
    put(str(report))
    if not isinstance(body, FlexibleBodyData):
        raise InputError(f"{source}: holds finite-element matrices ({report.format}); reduce them, in a part file as [matrices]")
    for loss in write_body(body, target, format=write_as):
        tell(f"warning: {target}: {loss}")
    put(f"{body.name}: {body.mass:.6g} kg, {body.nf} modes: {target}")


def _frame(text: str) -> tuple[str, int]:
    """Name and node of ``tip=17``."""
    name, separator, node = text.partition("=")
    if not separator or not name or not node.isdecimal() or len(node) > 18:
        raise InputError(f"--frame: {text!r:.60} is no NAME=NODE, such as tip=17")
    return name, int(node)

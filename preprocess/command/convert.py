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
    unit_out: str,
    nodes: Sequence[str],
) -> None:
    """Convert a reduced body; report its content and what the format does not support.

    Raises InputError, MachineError.
    """
    from flexmbs.flexible_body.record import FlexibleBodyData
    from preprocess.formats.exporters import write_body
    from preprocess.formats.importers import read

    body, report = read(source, format=read_as, unit=unit, frames=_numbered("frame", frames))
    put(str(report))
    if not isinstance(body, FlexibleBodyData):
        raise InputError(
            f"{source}: contains finite-element matrices ({report.format}); reduce them, "
            "as [matrices] of a part file"
        )
    for missing in write_body(
        body, target, format=write_as, unit=unit_out, nodes=_numbered("node", nodes)
    ):
        note(f"warning: {target}: {missing}")
    put(f"{body.name}: {body.mass:.6g} kg, {body.nf} modes: {target}")


def _numbered(option: str, texts: Sequence[str]) -> dict[str, int] | None:
    """Node numbers by name of texts like ``tip=17``, None without any. Raises `InputError`."""
    numbers = {}
    for text in texts:
        name, separator, node = text.partition("=")
        if not separator or not name or not node.isdecimal() or len(node) > 18:
            raise InputError(f"--{option}: {text!r:.60} is not NAME=NODE, such as tip=17")
        numbers[name] = int(node)
    return numbers or None

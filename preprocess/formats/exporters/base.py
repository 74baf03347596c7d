"""Interface of an exporter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.inputs.units import SI, Units


@dataclass(frozen=True)
class ExportRequest:
    """File to write; units and node numbers of frames by name, for formats with numbered nodes."""

    path: Path
    units: Units = SI
    nodes: Mapping[str, int] | None = None


class Exporter(ABC):
    """Writer of one format; a new one is a class in its own file and one line in `FORMATS`.

    kind: its name. suffixes: of its files. numbered: True if it writes a superelement with the
    request's units and node numbers; other formats are in SI units and number nodes from 1.
    """

    kind: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    numbered: ClassVar[bool] = False

    @abstractmethod
    def write(self, body: FlexibleBodyData, request: ExportRequest) -> list[str]:
        """Write the file; returns the content that the format cannot represent, one line each.

        Raises InputError, MachineError.
        """


def missing_fields(
    body: FlexibleBodyData, format: str, *, surface: bool = False, geometric: bool = True
) -> list[str]:
    """Messages for the content that the format cannot represent.

    Stress modes, the common damping of the pieces of a divided body, and unless the format has them
    surface and geometric stiffness.
    """
    parts = {
        "surface": None if surface else body.surface,
        "geometric stiffness": None if geometric else body.geometric,
        "stress modes": body.stress,
        "damping of all pieces together": body.damping_rows if len(body.damping_rows) else None,
    }
    return [
        f"{format} does not support the {name}" for name, part in parts.items() if part is not None
    ]

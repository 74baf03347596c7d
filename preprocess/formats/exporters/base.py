"""Interface of an exporter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from flexmbs.flexible_body.record import FlexibleBodyData


class Exporter(ABC):
    """Writer of one format; a new one is a class in its own file and one line in `FORMATS`.

    kind: its name.  suffixes: of its files.
    """

    kind: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def write(self, body: FlexibleBodyData, path: Path) -> list[str]:
        """Write the file; returns the content that the format cannot represent, one line each. Raises InputError,
        MachineError."""


def missing_fields(body: FlexibleBodyData, format: str) -> list[str]:
    """Messages for surface and stress modes, which the format cannot represent."""
    parts = {"surface": body.surface, "stress modes": body.stress}
    return [f"{format} does not support the {name}" for name, part in parts.items() if part is not None]

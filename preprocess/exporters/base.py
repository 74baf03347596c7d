"""What an exporter is: a reduced body out, as a file of another program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from flexmbs.flexible_body import FlexibleBodyData


class Exporter(ABC):
    """Writer of one format; a new one is a class in its own file and one line in `FORMATS`.

    kind: its name.  suffixes: of files that are taken for it.
    """

    kind: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def write(self, body: FlexibleBodyData, path: Path) -> list[str]:
        """File at ``path``; what of the body the format cannot hold, one line each. Raises InputError, MachineError."""


def pictures_lost(body: FlexibleBodyData, format: str) -> list[str]:
    """That surface and stress modes, where the body has them, are not in a file of the format."""
    parts = {"surface for pictures": body.surface, "stress modes": body.stress}
    return [f"the {name} cannot be in a file for {format}" for name, part in parts.items() if part is not None]

"""What sections of beams, trusses and shells have in common."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar


class Section(ABC):
    """Section of structural elements; a new one is a class and one line in `SECTIONS`."""

    kind: ClassVar[str]
    elements: ClassVar[tuple[str, ...]]
    """Element types that have such a section."""

    @property
    def varies(self) -> bool:
        """Whether it varies along an element."""
        return False

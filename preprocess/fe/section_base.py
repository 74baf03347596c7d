"""Base of the sections of beams, trusses and shells."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from preprocess.inputs.argument_checks import not_negative


class Section(ABC):
    """Section of structural elements; a new kind is a class and one line in `SECTIONS`."""

    kind: ClassVar[str]
    elements: ClassVar[tuple[str, ...]]
    """Element types that have such a section."""

    @property
    def varies(self) -> bool:
        """True if the section varies along an element."""
        return False


def check_added_mass(value: float, unit: str) -> None:
    """Raise InputError for a mass per length or area that is negative or not finite."""
    not_negative(value, "section: added_mass", f"give {unit} that are not negative")

"""Ties of Abaqus and CalculiX files.

Source: Abaqus Keywords Reference Guide and CalculiX CrunchiX User's Manual, *TIE.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from preprocess.mesh.declared import Items
from preprocess.mesh_files.abaqus_assembly import Reading, Rows, split
from preprocess.mesh_files.abaqus_blocks import error_at
from preprocess.mesh_files.abaqus_fields import real
from preprocess.mesh_files.abaqus_surfaces import same_name

OTHER = ("CYCLIC SYMMETRY", "MULTISTAGE", "FLUIDPERIODIC", "FLUIDCYCLIC")


@dataclass
class Ties:
    """Ties by name: dependent and independent surface, tolerance, place."""

    found: dict[str, tuple[str, str, float | None, str]] = field(default_factory=dict)

    KEYWORDS: ClassVar = ("TIE",)

    def add(self, keyword: str, options: Mapping[str, str], line: str, rows: Rows) -> None:
        """A tie. Raises InputError with the line for other kinds of ties."""
        other = [kind for kind in OTHER if kind in options]
        if other:
            raise error_at(line, f"*TIE, {other[0]} is not supported; model the whole part")
        for _, text in rows:
            dependent, independent, *_ = [*split(text), "", ""]
            name = f"tie {options['NAME']}" if options.get("NAME") else f"tie {len(self.found) + 1}"
            given = options.get("POSITION TOLERANCE", "")
            self.found[name] = dependent, independent, real(line, given) if given else None, line

    def declared(self, reading: Reading, surfaces: Mapping[str, str]) -> tuple[Items, dict[str, list[int]]]:
        """Ties by name."""
        found: Items = {}
        for name, (dependent, independent, tolerance, line) in self.found.items():
            sides = []
            for side in (dependent, independent):
                chosen = same_name(surfaces, side)
                if chosen is None:
                    raise error_at(line, f"*TIE is of surface '{side}', which does not exist")
                sides.append(surfaces[chosen])
            found[name] = {"kind": "tie", "where": sides[0], "to": sides[1], "tolerance": tolerance}
        return found, {}

"""Ties of Abaqus and CalculiX files, and completion of cyclic sectors to the whole part.

Source: Abaqus Keywords Reference Guide and CalculiX CrunchiX User's Manual, *TIE.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from preprocess.mesh.declarations import Items
from preprocess.mesh_files.abaqus_assembly import AbaqusContent, Rows, split
from preprocess.mesh_files.abaqus_blocks import error_at
from preprocess.mesh_files.abaqus_fields import real, reals
from preprocess.mesh_files.abaqus_sectors import Sector, Sides, complete_sector
from preprocess.mesh_files.abaqus_surfaces import same_name

OTHER = ("FLUIDPERIODIC", "FLUIDCYCLIC")


@dataclass
class Ties:
    """Ties by name: dependent and independent surface, tolerance, location.

    Also the ties of sectors; the sectors and their sides, sets of nodes that are not merged;
    location of a tie of a sector that has none yet.
    """

    found: dict[str, tuple[str, str, float | None, str]] = field(default_factory=dict)
    of_sectors: dict[str, tuple[str, str]] = field(default_factory=dict)
    sectors: list[Sector] = field(default_factory=list)
    sides: Sides = field(default_factory=dict)
    open: str = ""

    KEYWORDS: ClassVar = ("TIE", "CYCLIC SYMMETRY MODEL")

    def add(self, keyword: str, options: Mapping[str, str], line: str, rows: Rows) -> None:
        """Add a keyword block. Raises InputError with the line for other kinds of ties."""
        if keyword == "CYCLIC SYMMETRY MODEL":
            self.sectors.append(self._sector(options, line, rows))
            self.open = ""
            return
        other = [kind for kind in OTHER if kind in options]
        if other:
            raise error_at(line, f"*TIE, {other[0]} is not supported; give a mesh of a body")
        for _, text in rows:
            dependent, independent, *_ = [*split(text), "", ""]
            name = f"tie {options['NAME']}" if options.get("NAME") else f"tie {len(self.found) + 1}"
            if "CYCLIC SYMMETRY" in options:
                self.of_sectors[options.get("NAME", "").upper()] = dependent, independent
                self.open = line
                continue
            given = options.get("POSITION TOLERANCE", "")
            self.found[name] = dependent, independent, real(line, given) if given else None, line

    def _sector(self, options: Mapping[str, str], line: str, rows: Rows) -> Sector:
        """Sector of a cyclic symmetry with axis and count. Raises `InputError`."""
        name = options.get("TIE", "").upper() or next(reversed(self.of_sectors), "")
        values = reals(*rows[0]) if rows else []
        count = options.get("N", "")
        if (
            name not in self.of_sectors
            or len(values) != 6
            or not count.isdecimal()
            or not 2 <= int(count) <= 10**4
        ):
            raise error_at(
                line,
                "*CYCLIC SYMMETRY MODEL needs N=, two points of its axis, and a *TIE, "
                "CYCLIC SYMMETRY before it",
            )
        return Sector(
            int(count), tuple(values), options.get("ELSET", ""), *self.of_sectors[name], line
        )

    def complete(self, reading: AbaqusContent) -> None:
        """Complete all cyclic sectors by copies."""
        if self.open:
            raise error_at(
                self.open,
                "*TIE, CYCLIC SYMMETRY without *CYCLIC SYMMETRY MODEL; give the number of "
                "sectors and the axis",
            )
        for sector in self.sectors:
            self.sides |= complete_sector(reading, sector)

    def declared(
        self, reading: AbaqusContent, surfaces: Mapping[str, str]
    ) -> tuple[Items, dict[str, list[int]]]:
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
        sets: dict[str, list[int]] = {}
        for name, (left, right) in self.sides.items():
            sets |= {name: left, f"{name}, faces": right}
            found[name] = {"kind": "tie", "where": name, "to": f"{name}, faces"}
        return found, sets

"""Springs, dashpots and masses of Abaqus and CalculiX files.

Source: Abaqus Keywords Reference Guide and CalculiX CrunchiX User's Manual, *SPRING, *DASHPOT,
*MASS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

from flexmbs.errors import InputError
from preprocess.mesh.declarations import Items
from preprocess.mesh_files.abaqus_assembly import AbaqusContent, Rows
from preprocess.mesh_files.abaqus_blocks import error_at
from preprocess.mesh_files.abaqus_fields import TemperatureTables, reals
from preprocess.mesh_files.abaqus_surfaces import same_name

# relative difference of the slopes on both sides of rest that counts as none; curves in files have
# about six digits
SAME = 1e-6


@dataclass
class AbaqusPoints:
    """Stiffness of springs, damping of dashpots, and mass, of the elements of each set.

    Rows with frequency and temperature, and the location.
    """

    springs: list[tuple[str, list[list[float]], str]] = field(default_factory=list)
    dashpots: list[tuple[str, list[list[float]], str]] = field(default_factory=list)
    weights: list[tuple[str, float, str]] = field(default_factory=list)
    tables: TemperatureTables = field(default_factory=TemperatureTables)

    KEYWORDS: ClassVar = ("SPRING", "DASHPOT", "MASS")

    def add(self, keyword: str, options: Mapping[str, str], line: str, rows: Rows) -> None:
        """Add a keyword block; a nonlinear curve gives its slope at rest.

        Raises InputError with the line.
        """
        values = [reals(*row) for row in rows if row[1].strip(", ")]
        if not options.get("ELSET") or not values or not values[0]:
            raise error_at(line, f"*{keyword} has no ELSET= or no data")
        if keyword == "MASS":
            if options.get("TYPE", "ISOTROPIC").upper() != "ISOTROPIC":
                raise error_at(
                    line, f"*MASS, TYPE={options['TYPE']} is not supported; give one mass"
                )
            self.weights.append((options["ELSET"], values[0][0], line))
            return
        if options.get("DEPENDENCIES", "0").strip() != "0" and len(values) > 1:
            raise error_at(line, f"*{keyword} depends on field variables; give one row")
        table = [[*row, 0.0, 0.0][:3] for row in values]
        if "NONLINEAR" in options:
            degrees = dict.fromkeys(row[2] for row in table)
            curves = ([row for row in table if row[2] == T] for T in degrees)
            table = [[_slope_at_rest(keyword, curve, line), 0.0, curve[0][2]] for curve in curves]
        found = self.springs if keyword == "SPRING" else self.dashpots
        found.append((options["ELSET"], table, line))

    def declared(
        self, reading: AbaqusContent, surfaces: Mapping[str, str]
    ) -> tuple[Items, dict[str, list[int]]]:
        """Springs and dashpots by name, and the node of each mass."""
        found: Items = {}
        for kind, given in (
            ("spring", self.springs),
            ("dashpot", self.dashpots),
            ("mass", self.weights),
        ):
            self._complete(reading, kind, given)
        for kind, given, key in (
            ("spring", self.springs, "stiffness"),
            ("dashpot", self.dashpots, "damping"),
        ):
            for name, rows, line in given:
                alone = len({frequency for _, frequency, _ in rows}) == 1
                table = [[value, temperature] for value, _, temperature in rows]
                (value,) = self.tables.at(f"*{kind.upper()}, ELSET={name}", table, alone)
                for number in _elements(reading, name, line, kind):
                    first, second = reading.elements[number][1]
                    link = {"kind": "spring", "first": first, "second": second, "stiffness": 0.0}
                    found[f"{kind} {number}"] = {**link, key: value}
        return found, {each["where"]: [each["node"]] for each in self.masses(reading)}

    @staticmethod
    def _complete(
        reading: AbaqusContent, kind: str, given: Sequence[tuple[str, object, str]]
    ) -> None:
        """Raise `InputError` for elements without stiffness or mass."""
        having = {
            number for name, _, line in given for number in _elements(reading, name, line, kind)
        }
        without = [
            number
            for number, (its, _) in reading.elements.items()
            if its == kind and number not in having
        ]
        if without:
            raise InputError(
                f"element {without[0]}: {kind} without *{kind.upper()}; give one for its "
                "element set"
            )

    def masses(self, reading: AbaqusContent) -> list[dict[str, Any]]:
        """Point masses by node number."""
        return [
            {"where": f"mass {number}", "node": reading.elements[number][1][0], "mass": mass}
            for name, mass, line in self.weights
            for number in _elements(reading, name, line, "mass")
        ]


def _slope_at_rest(keyword: str, values: list[list[float]], line: str) -> float:
    """Slope at rest of a curve of force over elongation or speed.

    Raises InputError with the line.
    """
    points = [(x, f) for f, x, _ in values]
    if len(points) < 2 or any(low[0] >= high[0] for low, high in pairwise(points)):
        raise error_at(
            line,
            f"*{keyword}, NONLINEAR needs two points or more of force and elongation or "
            "speed, ascending",
        )
    slopes = [(f2 - f1) / (x2 - x1) for (x1, f1), (x2, f2) in pairwise(points) if x1 <= 0 <= x2]
    if not slopes or max(slopes) - min(slopes) > SAME * max(map(abs, slopes)):
        what = "has a corner at rest" if slopes else "is not defined at rest"
        raise error_at(
            line,
            f"*{keyword}, NONLINEAR: its curve {what}; give the stiffness or damping "
            "there, of the linear part",
        )
    return slopes[0]


def _elements(reading: AbaqusContent, name: str, line: str, kind: str) -> list[int]:
    """Elements of a kind in a set. Raises `InputError`."""
    chosen = same_name(reading.element_sets, name)
    numbers = [
        n
        for n in reading.element_sets.get(chosen or "", [])
        if n in reading.elements and reading.elements[n][0] == kind
    ]
    if not numbers:
        raise error_at(line, f"set '{name}' has no {kind} elements")
    return numbers

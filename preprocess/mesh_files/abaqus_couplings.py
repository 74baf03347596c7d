"""Kinematic couplings and equations of Abaqus and CalculiX input files, as declarations of a part file.

Source: Abaqus Keywords Reference Guide, *COUPLING, *KINEMATIC, *EQUATION.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flexmbs.errors import InputError
from preprocess.mesh_files.abaqus_assembly import Reading, Rows, split
from preprocess.mesh_files.abaqus_blocks import error_at
from preprocess.mesh_files.abaqus_surfaces import same_name

KEYWORDS = ("COUPLING", "KINEMATIC", "EQUATION")
ALL = "123456"


@dataclass
class Coupling:
    """A coupling: its surface, reference node or set, components, and line."""

    surface: str
    reference: str
    line: str
    components: str = ""


@dataclass
class Couplings:
    """Couplings by name, and the terms of equations by name."""

    couplings: dict[str, Coupling] = field(default_factory=dict)
    equations: dict[str, list[tuple[int, int, float]]] = field(default_factory=dict)

    def add(self, keyword: str, options: Mapping[str, str], line: str, rows: Rows) -> None:
        """A keyword block. Raises InputError with the line for anything unsupported."""
        if keyword == "COUPLING":
            missing = [key for key in ("REF NODE", "SURFACE") if not options.get(key)]
            if missing or "ORIENTATION" in options:
                problem = f"has no {missing[0]}" if missing else "has an ORIENTATION, which is not supported"
                raise error_at(line, f"*COUPLING {problem}")
            name = options.get("CONSTRAINT NAME") or f"coupling {len(self.couplings) + 1}"
            self.couplings[name] = Coupling(options["SURFACE"], options["REF NODE"], line)
        elif keyword == "KINEMATIC":
            if not self.couplings or list(self.couplings.values())[-1].components:
                raise error_at(line, "*KINEMATIC without *COUPLING before it")
            list(self.couplings.values())[-1].components = _components(rows)
        else:
            self._add_equations(rows)

    def _add_equations(self, rows: Rows) -> None:
        """Equations, each a number of terms and as many triples: node, component, factor."""
        numbers = [(where, text) for where, line in rows for text in split(line) if text]
        place = 0
        while place < len(numbers):
            where, count = numbers[place][0], _integer(*numbers[place])
            terms = numbers[place + 1 : place + 1 + 3 * count]
            if count < 2 or len(terms) < 3 * count:
                raise error_at(where, f"*EQUATION: expected {max(count, 2)} terms of node, component and factor")
            triples = [terms[k : k + 3] for k in range(0, 3 * count, 3)]
            self.equations[f"equation {len(self.equations) + 1}"] = [
                (_integer(*node), _integer(*component), _real(*factor)) for node, component, factor in triples
            ]
            place += 1 + 3 * count

    def declared(self, reading: Reading, surfaces: Mapping[str, str]) -> tuple[dict[str, dict[str, Any]], dict[str, list[int]]]:
        """Connections by name, and the node set of each reference; surfaces: the name of the node set of each."""
        connections: dict[str, dict[str, Any]] = {}
        references: dict[str, list[int]] = {}
        for name, each in self.couplings.items():
            surface = same_name(surfaces, each.surface)
            if surface is None or not each.components:
                problem = "is not *KINEMATIC" if surface else f"is of surface '{each.surface}', which does not exist"
                raise error_at(each.line, f"*COUPLING {problem}; give other couplings as AveragingSpider")
            references[f"{name} reference"] = _reference(reading, each)
            nodes = {"where": surfaces[surface], "reference": f"{name} reference"}
            connections[name] = {"kind": "rigid-spider", **nodes, "components": each.components}
        return connections | {name: {"kind": "equation", "terms": terms} for name, terms in self.equations.items()}, references


def _reference(reading: Reading, coupling: Coupling) -> list[int]:
    if coupling.reference.isdecimal():
        return [int(coupling.reference)]
    found = same_name(reading.node_sets, coupling.reference)
    if found is None or len(reading.node_sets[found]) != 1:
        raise error_at(coupling.line, f"*COUPLING: REF NODE={coupling.reference} is not a node or a set of one node")
    return reading.node_sets[found]


def _components(rows: Rows) -> str:
    """Degrees of freedom of the lines "first, last"; all without lines."""
    chosen: set[int] = set()
    for where, text in rows:
        ends = [_integer(where, each) for each in split(text) if each]
        if not ends or not 1 <= min(ends) <= max(ends) <= 6:
            raise error_at(where, f"*KINEMATIC: expected the first and last degree of freedom, found '{text[:40]}'")
        chosen |= set(range(ends[0], ends[-1] + 1))
    return "".join(map(str, sorted(chosen))) or ALL


def _integer(where: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 15:
        raise error_at(where, f"expected an integer, found '{text[:30]}'")
    return int(text)


def _real(where: str, text: str) -> float:
    try:
        return float(text.upper().replace("D", "E"))
    except ValueError:
        raise InputError(f"{where}: expected a number, found '{text[:30]}'") from None

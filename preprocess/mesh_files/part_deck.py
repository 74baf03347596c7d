"""Content of a deck of parts: elements by type and region, with what the file declares of them.

Readers of formats whose elements belong to numbered or named regions, with a material and a section
each, fill a `PartDeck`, which becomes a raw mesh.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.mesh.declarations import FileDeclarations, Item, Items
from preprocess.mesh_files.raw_mesh import SHOWN, Cells, RawMesh, node_rows, raw_mesh_of

Indices = NDArray[np.int64]
LARGEST = 2**62  # magnitude of a number of a node or an element that is certainly an int64


@dataclass
class PartDeck:
    """Content of a deck; nodes and elements by their numbers.

    elements: numbers and nodes by type, as meshio names it, and region. sections, materials: by
    region. notes: omitted items, with the remedy.
    """

    path: Path
    positions: dict[int, Any] = field(default_factory=dict)
    elements: dict[tuple[str, str], tuple[list[int], list[list[int]]]] = field(default_factory=dict)
    node_sets: dict[str, list[int]] = field(default_factory=dict)
    element_sets: dict[str, list[int]] = field(default_factory=dict)
    sections: Items = field(default_factory=dict)
    materials: Items = field(default_factory=dict)
    connections: Items = field(default_factory=dict)
    masses: list[Item] = field(default_factory=list)
    notes: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, kind: str, region: str, number: int, nodes: list[int]) -> None:
        """Add an element."""
        numbers, table = self.elements.setdefault((kind, region), ([], []))
        numbers.append(number)
        table.append(nodes)

    @property
    def regions(self) -> dict[str, set[str]]:
        """Types of elements by region."""
        found: dict[str, set[str]] = {}
        for kind, region in self.elements:
            found.setdefault(region, set()).add(kind)
        return found

    def raw(self, structural: bool) -> RawMesh:
        """Raw mesh; declarations only with ``structural`` elements. Raises InputError."""
        if not self.positions:
            raise InputError(f"{self.path}: has no nodes; export the mesh with them")
        if not structural and (self.connections or self.masses):
            what = f"connections and {len(self.masses)} masses"
            remedy = "read them with structural=True"
            self.notes[what, remedy] += len(self.connections)
        node_ids = np.array(list(self.positions), dtype=np.int64)
        row = {number: k for k, number in enumerate(self.positions)}
        cells = []
        for (kind, region), (numbers, table) in self.elements.items():
            ids = np.array(numbers, dtype=np.int64)
            rows = node_rows(self.path, node_ids, table, ids)
            cells.append(Cells(kind, rows, ids, (region,)))
        sets = {name: _rows(row, members) for name, members in self.node_sets.items()}
        raw = raw_mesh_of(
            self.path,
            np.array(list(self.positions.values()), dtype=float).reshape(-1, 3),
            node_ids,
            cells,
            {name: members for name, members in sets.items() if len(members)},
            structural,
        )
        known = np.unique(np.concatenate([each.ids for each in cells]))
        groups = {
            name: np.intersect1d(np.array(members, dtype=np.int64), known)
            for name, members in self.element_sets.items()
        }
        return replace(
            raw,
            element_sets=raw.element_sets
            | {name: members for name, members in groups.items() if len(members)},
            notices=tuple(
                f"{count} {what} omitted; {remedy}"
                for (what, remedy), count in sorted(self.notes.items())
            ),
            declared=self._declared(row) if structural else FileDeclarations(),
        )

    def _declared(self, row: dict[int, int]) -> FileDeclarations:
        """Declarations of regions that have elements. Raises InputError for missing nodes."""
        for name, each in self.connections.items():
            used = [node for node, _, _ in each.get("terms", ())]
            used += [each[key] for key in ("first", "second", "reference") if key in each]
            for place in (each[key] for key in ("where", "to", "reference") if key in each):
                if isinstance(place, str) and not self.node_sets.get(place):
                    raise InputError(
                        f"{self.path}: {name}: '{place}' has no nodes; complete it, or remove it"
                    )
                used += self.node_sets.get(place, ())
            missing = [node for node in used if isinstance(node, int) and node not in row]
            if missing:
                raise InputError(
                    f"{self.path}: {name} refers to node {missing[0]}, which does not exist; "
                    "complete the nodes"
                )
        regions = self.regions
        return FileDeclarations(
            sections={name: each for name, each in self.sections.items() if name in regions},
            connections=self.connections,
            materials={name: each for name, each in self.materials.items() if name in regions},
            masses=self.masses,
        )


def refuse_kinds(path: Path, what: str, unread: Counter[str], read: str) -> None:
    """Raise InputError naming elements or materials that are not read, with those that are."""
    if unread:
        named = [f"{count} {name}" for name, count in sorted(unread.items())]
        more = f" and {len(named) - SHOWN} other kinds" if len(named) > SHOWN else ""
        raise InputError(
            f"{path}: {', '.join(named[:SHOWN])}{more} {what} are not supported; use {read}"
        )


def _rows(row: dict[int, int], members: Iterable[int]) -> Indices:
    """Rows of the nodes that exist, ascending and without repetitions."""
    return np.unique(np.array([row[n] for n in members if n in row], dtype=np.int64))

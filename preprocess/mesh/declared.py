"""What a mesh file says of sections, materials, connections and masses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Item = dict[str, Any]
Items = dict[str, Item]
Indices = NDArray[np.int64]

# Powers of the length unit, with forces in N and times in s; other keys have none.
LENGTH = {
    "thickness": 1, "diameter": 1, "height": 1, "width": 1, "web": 1, "flange": 1, "offset": 1, "position": 1, "arm": 1,
    "ends": 1, "walls": 1, "rectangles": 1, "flat": 1, "shear_centre": 1,
    "area": 2, "Iy": 4, "Iz": 4, "J": 4, "tolerance": 1, "E": -2, "G": -2, "C": -2, "strengths": -2, "rho": -4, "stiffness": -1,
    "translation": -1, "rotation": 1, "damping": -1, "translation_damping": -1, "rotation_damping": 1, "mass": -1, "inertia": 1,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Declared:
    """Declarations of a file by name, as in part files: the kind and the arguments of its class; masses: node and arguments.

    Materials that are not complete have a key "problem".
    """

    sections: Items = field(default_factory=dict)
    connections: Items = field(default_factory=dict)
    materials: Items = field(default_factory=dict)
    masses: list[Item] = field(default_factory=list)

    def connected(self, node_ids: Indices, node_sets: Mapping[str, Indices]) -> Indices:
        """Rows of the nodes that the connections are at, by node numbers (N,) and the rows of sets."""
        given = self.connections.values()
        places = [each[key] for each in given for key in ("where", "reference", "first", "second") if key in each]
        numbers = [number for each in given for number, _, _ in each.get("terms", ())]
        numbers += [place for place in places if isinstance(place, int)]
        sets = [node_sets[name] for name in places if isinstance(name, str)]
        return np.concatenate([np.flatnonzero(np.isin(node_ids, numbers)), *sets])

    def scaled(self, unit: float) -> "Declared":
        """The same in metres, N and s, from lengths in a unit [m], N and s."""
        parts = ({name: _scaled(each, unit) for name, each in items.items()} for items in (self.sections, self.connections))
        sections, connections = parts
        materials = {name: _scaled(each, unit) for name, each in self.materials.items()}
        return Declared(sections, connections, materials, [_scaled(each, unit) for each in self.masses])


def _scaled(given: Item, unit: float) -> Item:
    found = {key: _times(value, unit ** LENGTH[key]) if key in LENGTH else value for key, value in given.items()}
    if "added_mass" in given:  # per area of shells, per length of others
        found["added_mass"] = given["added_mass"] * unit ** (-3 if given["kind"] in ("shell", "laminate") else -2)
    if "ends" in given and np.shape(given["ends"]) != (2, 3):  # rows of element numbers
        found["ends"] = [[row[0], *_times(row[1:], unit)] for row in given["ends"]]
    if "end" in given:
        found["end"] = _scaled(given["end"], unit)
    if "plies" in given:
        found["plies"] = [[thickness * unit, angle] for thickness, angle in given["plies"]]
    if "at_nodes" in given:
        found["at_nodes"] = [[number, thickness * unit] for number, thickness in given["at_nodes"]]
    if "terms" in given:  # of rotations: u in m, θ in rad
        found["terms"] = [(node, k, factor * (unit if k > 3 else 1.0)) for node, k, factor in given["terms"]]
    if "materials" in given:
        found["materials"] = [_scaled(each, unit) for each in given["materials"]]
    return found


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, (list, tuple)):
        return [_times(each, factor) for each in value]
    return None if value is None else value * factor

"""Declarations of a mesh file: sections, materials, connections and masses."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.inputs.known_materials import material_doubt
from preprocess.inputs.units import Units

Item = dict[str, Any]
Items = dict[str, Item]
Indices = NDArray[np.int64]
MassMatrix = Literal["consistent", "lumped", "coupled"]
"""Formulations of the mass; "coupled" is Nastran's, of which rods are not the consistent ones."""

NO_DENSITY = "give density, in kg/m³, or materials for its element sets"

# Powers of the units of force, length and time; other keys have none.
DIMENSIONS = {
    **dict.fromkeys(
        (
            "thickness",
            "diameter",
            "height",
            "width",
            "web",
            "flange",
            "offset",
            "position",
            "arm",
            "ends",
            "walls",
            "rectangles",
            "flat",
            "shear_centre",
            "tolerance",
        ),
        (0, 1, 0),
    ),
    "area": (0, 2, 0),
    **dict.fromkeys(("Iy", "Iz", "J"), (0, 4, 0)),
    **dict.fromkeys(("E", "G", "C", "strengths"), (1, -2, 0)),
    "rho": (1, -4, 2),
    "stiffness": (1, -1, 0),
    "translation": (1, -1, 0),
    "rotation": (1, 1, 0),
    "damping": (1, -1, 1),
    "translation_damping": (1, -1, 1),
    "rotation_damping": (1, 1, 1),
    "mass": (1, -1, 2),
    "inertia": (1, 1, 2),
}


@dataclass(frozen=True, eq=False)
class FileDeclarations:
    """Declarations of a file by name, as in part files: the kind and the arguments of its class.

    masses: node and arguments. planes: "plane stress" or "plane strain" in the plane z = 0, by
    element set. mass: formulation of the mass matrix by the program of the file. Incomplete
    materials have a key "problem", those without density a key "lacks" with a text, until
    `with_density`.
    """

    sections: Items = field(default_factory=dict)
    connections: Items = field(default_factory=dict)
    materials: Items = field(default_factory=dict)
    masses: list[Item] = field(default_factory=list)
    planes: Mapping[str, str] = field(default_factory=dict)
    mass: MassMatrix | None = None

    def connected(self, node_ids: Indices, node_sets: Mapping[str, Indices]) -> Indices:
        """Rows of the nodes of the connections.

        The nodes are found by their numbers (N,) and by the rows of sets.
        """
        given = self.connections.values()
        places = [
            each[key]
            for each in given
            for key in ("where", "reference", "first", "second")
            if key in each
        ]
        numbers = [number for each in given for number, _, _ in each.get("terms", ())]
        numbers += [place for place in places if isinstance(place, int)]
        sets = [node_sets[name] for name in places if isinstance(name, str)]
        return np.concatenate([np.flatnonzero(np.isin(node_ids, numbers)), *sets])

    def scaled(self, units: Units) -> "FileDeclarations":
        """Declarations converted from these units to SI."""
        parts = (
            {name: _scaled(each, units) for name, each in items.items()}
            for items in (self.sections, self.connections)
        )
        sections, connections = parts
        materials = {name: _scaled(each, units) for name, each in self.materials.items()}
        return FileDeclarations(
            sections,
            connections,
            materials,
            [_scaled(each, units) for each in self.masses],
            self.planes,
            self.mass,
        )

    def with_density(self, density: float | Mapping[str, float] | None) -> "FileDeclarations":
        """Declarations whose materials without density have the given one [kg/m³].

        density: for all of them, or by element set. Without one, materials have no mass if the file
        has masses on nodes, as in Nastran; otherwise the density is a problem of the material.
        Raises InputError for an element set that lacks no density.
        """
        unused = set(density) if isinstance(density, Mapping) else set[str]()

        def complete(name: str, given: Item) -> Item:
            """A material with its density."""
            if "lacks" not in given:
                return given
            own = {key: value for key, value in given.items() if key != "lacks"}
            found = density.get(name) if isinstance(density, Mapping) else density
            unused.discard(name)
            if found is None and not self.masses:
                return {**own, "problem": given["lacks"], "remedy": NO_DENSITY}
            return {**own, "rho": found or 0.0}

        materials = {name: complete(name, each) for name, each in self.materials.items()}
        sections = {
            name: {**each, "materials": [ply and complete(name, ply) for ply in each["materials"]]}
            if "materials" in each
            else each
            for name, each in self.sections.items()
        }
        if unused:
            lacking = [name for name, each in self.materials.items() if "lacks" in each]
            raise InputError(
                f"density: the material of '{min(unused)}' lacks no density; give it for "
                f"{', '.join(map(repr, lacking)) or 'none'}"
            )
        return replace(self, materials=materials, sections=sections)

    def doubtful_materials(self, units: Units) -> list[str]:
        """Messages on materials whose data probably have other units."""
        plies = (ply for each in self.sections.values() for ply in each.get("materials", ()) if ply)
        given = [
            each
            for each in (*self.materials.values(), *plies)
            if "problem" not in each and each["rho"]
        ]
        found = dict[str, None]()
        for E, rho in dict.fromkeys((_stiffest(each), float(each["rho"])) for each in given):
            doubtful = material_doubt(E, rho, units)
            if doubtful:
                found[
                    f"material: E = {E:.4g}, rho = {rho:.4g} with unit='{units.name}' "
                    f"{doubtful}; is the unit right?"
                ] = None
        return list(found)


def _stiffest(material: Item) -> float:
    """Largest modulus; for C the largest on its diagonal."""
    values = np.asarray(
        material["E"] if "E" in material else np.diagonal(material["C"]), dtype=float
    )
    return float(values.max())


def _scaled(given: Item, units: Units) -> Item:
    """Declaration with its values converted to SI units."""
    found = {
        key: _times(value, units.factor(*DIMENSIONS[key])) if key in DIMENSIONS else value
        for key, value in given.items()
    }
    if "added_mass" in given:  # per area of shells, per length of others
        found["added_mass"] = given["added_mass"] * units.factor(
            1, -3 if given["kind"] in ("shell", "plate", "laminate") else -2, 2
        )
    if "ends" in given and np.shape(given["ends"]) != (2, 3):  # rows of element numbers
        found["ends"] = [[row[0], *_times(row[1:], units.length)] for row in given["ends"]]
    if "end" in given:
        found["end"] = _scaled(given["end"], units)
    if "plies" in given:
        found["plies"] = [[thickness * units.length, angle] for thickness, angle in given["plies"]]
    if "at_nodes" in given:
        found["at_nodes"] = [
            [number, thickness * units.length] for number, thickness in given["at_nodes"]
        ]
    if "terms" in given:  # of rotations: u in m, θ in rad
        found["terms"] = [
            (node, k, factor * (units.length if k > 3 else 1.0))
            for node, k, factor in given["terms"]
        ]
    if "materials" in given:
        found["materials"] = [each and _scaled(each, units) for each in given["materials"]]
    return found


def _times(value: Any, factor: float) -> Any:
    """Numbers multiplied by a factor, also in nested lists."""
    if isinstance(value, (list, tuple)):
        return [_times(each, factor) for each in value]
    return None if value is None else value * factor

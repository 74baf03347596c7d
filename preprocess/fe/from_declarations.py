"""Sections, materials, connections and masses from the declarations of a mesh file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.fe.beam_sections import SECTIONS
from preprocess.fe.connection_base import Connection
from preprocess.fe.connections import CONNECTIONS
from preprocess.fe.material import MATERIALS, Material
from preprocess.fe.point_mass import PointMass
from preprocess.fe.section_base import Section
from preprocess.mesh.mesh import Mesh

OWN = "give materials for its element sets"


def declared_sections(mesh: Mesh) -> dict[str, Section]:
    """Sections by element set. Raises InputError for plies without a material."""
    found = {}
    for name, given in mesh.declared.sections.items():
        if "materials" in given:
            given = {
                **given,
                "materials": tuple(
                    each and _material(mesh, name, each) for each in given["materials"]
                ),
            }
        try:
            found[name] = _objects(SECTIONS, given)
        except InputError as error:
            raise InputError(
                *(f"{mesh.source}: sections: '{name}': {each}" for each in error.problems)
            ) from None
    return found


def declared_connections(mesh: Mesh) -> dict[str, Connection]:
    """Connections by name."""
    return {name: _objects(CONNECTIONS, given) for name, given in mesh.declared.connections.items()}


def declared_masses(mesh: Mesh) -> list[PointMass]:
    """Point masses on node sets of one node."""
    place = {int(number): row for row, number in enumerate(mesh.node_ids)}
    found = []
    for given in mesh.declared.masses:
        x = mesh.nodes[place[given["node"]]]
        own = {key: value for key, value in given.items() if key not in ("where", "node", "arm")}
        if "arm" in given:
            own["position"] = tuple(x + given["arm"])
        found.append(PointMass(given["where"], **own))
    return found


def nodes_of_bodies(mesh: Mesh) -> NDArray[np.int64]:
    """Nodes without elements that need a rotation: those of masses with an arm or inertia."""
    given = mesh.declared.masses
    numbers = [each["node"] for each in given if np.any(each.get("arm", 0.0)) or "inertia" in each]
    rows = np.flatnonzero(np.isin(mesh.node_ids, numbers))
    return rows[~np.isin(rows, mesh.element_nodes)]


def declared_materials(mesh: Mesh) -> dict[str, Material]:
    """Materials by element set.

    Raises InputError with those that are missing or not linear elastic.
    """
    given = mesh.declared.materials if mesh.blocks else {}
    if not given and mesh.blocks:
        raise InputError(
            f"{mesh.source}: material: missing; give for example Isotropic(E=210e9, "
            "nu=0.3, rho=7850.0)"
        )
    problems = [
        f"{mesh.source}: material: {each['problem']}; {each.get('remedy', OWN)}"
        for each in given.values()
        if "problem" in each
    ]
    if problems:
        raise InputError(*dict.fromkeys(problems))
    return {name: _objects(MATERIALS, each) for name, each in given.items()}


def _material(mesh: Mesh, name: str, given: Mapping[str, Any]) -> Material:
    """Material from a declaration in a mesh file. Raises `InputError`."""
    if "problem" in given:
        raise InputError(
            f"{mesh.source}: sections: '{name}': {given['problem']}; "
            f"{given.get('remedy', 'give the section with materials of its plies')}"
        )
    made: Material = _objects(MATERIALS, given)
    return made


def _objects(kinds: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    """Object of the class that ``kind`` names, with the other values as arguments."""
    return kinds[given["kind"]](**{key: value for key, value in given.items() if key != "kind"})

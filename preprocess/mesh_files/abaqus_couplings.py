"""Couplings, rigid bodies and equations of Abaqus and CalculiX files, as declarations of a part.

Source: Abaqus Keywords Reference Guide and CalculiX CrunchiX User's Manual, *COUPLING, *KINEMATIC,
*DISTRIBUTING, *DISTRIBUTING COUPLING, *RIGID BODY.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from flexmbs.errors import InputError
from preprocess.mesh.declarations import Items
from preprocess.mesh.face_mass import node_areas
from preprocess.mesh_files.abaqus_assembly import AbaqusContent, Rows, split
from preprocess.mesh_files.abaqus_blocks import error_at
from preprocess.mesh_files.abaqus_fields import integer, real
from preprocess.mesh_files.abaqus_surfaces import outer_faces, same_name, surface_faces
from preprocess.mesh_files.raw_mesh import PLANES

ALL = "123456"
RIGID, MEAN = "rigid-spider", "averaging-spider"


@dataclass
class Coupling:
    """Coupling: node set or surface, reference, kind of spider, components, location in file."""

    nodes: str
    reference: str
    line: str
    kind: str = ""
    components: str = ALL


@dataclass
class Couplings:
    """Couplings by name.

    Those of DCOUP3D elements: the set of the element, rows of node set and weight, location.
    """

    found: dict[str, Coupling] = field(default_factory=dict)
    distributing: list[tuple[str, Rows, str]] = field(default_factory=list)

    KEYWORDS: ClassVar = (
        "COUPLING",
        "KINEMATIC",
        "DISTRIBUTING",
        "DISTRIBUTING COUPLING",
        "RIGID BODY",
        "RIGIDBODY",
    )

    @property
    def of_numbers(self) -> bool:
        """True if a coupling refers to nodes by their numbers."""
        return bool(self.distributing) or any(
            each.reference.isdecimal() for each in self.found.values()
        )

    def add(self, keyword: str, options: Mapping[str, str], line: str, rows: Rows) -> None:
        """Add a keyword block. Raises InputError with the line for anything unsupported."""
        given = {key.replace(" ", ""): value for key, value in options.items()}
        if keyword == "DISTRIBUTING COUPLING":
            self.distributing.append((_required_option(keyword, given, line, "ELSET"), rows, line))
        elif keyword in ("KINEMATIC", "DISTRIBUTING"):
            last = next(reversed(self.found.values()), None)
            if last is None or last.kind:
                raise error_at(line, f"*{keyword} without *COUPLING before it")
            _refuse(keyword, given, line, {"WEIGHTINGMETHOD": "UNIFORM", "COUPLING": "CONTINUUM"})
            if keyword == "DISTRIBUTING" and not set("123") <= set(_components(rows)):
                raise error_at(
                    rows[0][0],
                    "*DISTRIBUTING of some translations is not supported; give 1, 6, or no line",
                )
            last.kind, last.components = (
                (RIGID, _components(rows)) if keyword == "KINEMATIC" else (MEAN, "123")
            )
        elif keyword == "COUPLING":
            _refuse(keyword, given, line, {"ORIENTATION": "", "INFLUENCERADIUS": ""})
            reference, surface = (
                _required_option(keyword, given, line, key) for key in ("REFNODE", "SURFACE")
            )
            self.found[given.get("CONSTRAINTNAME") or f"coupling {len(self.found) + 1}"] = Coupling(
                surface, reference, line
            )
        else:
            _refuse(
                keyword,
                given,
                line,
                {"PINNSET": "", "TIENSET": "", "ANALYTICALSURFACE": "", "POSITION": "INPUT"},
            )
            nodes = given.get("NSET") or given.get("ELSET") or ""
            self.found[f"rigid body {len(self.found) + 1}"] = Coupling(
                nodes, given.get("REFNODE", ""), line, RIGID
            )

    def declared(
        self, reading: AbaqusContent, surfaces: Mapping[str, str]
    ) -> tuple[Items, dict[str, list[int]]]:
        """Connections by name, and the node set of each reference.

        surfaces: node set of each surface, by name.
        """
        connections: Items = {}
        sets: dict[str, list[int]] = {}
        for name, each in self.found.items():
            nodes = _nodes(reading, surfaces, each, name, sets)
            if not each.kind:
                raise error_at(each.line, "*COUPLING is neither *KINEMATIC nor *DISTRIBUTING")
            connections[name] = {"kind": each.kind, "where": nodes, "components": each.components}
            if each.reference:
                sets[f"{name} reference"] = one_node(reading, each.reference, each.line)
                connections[name]["reference"] = f"{name} reference"
            surface = same_name(reading.surfaces, each.nodes)
            if each.kind == MEAN and surface in reading.node_surfaces:
                if len({real(each.line, area) for _, area in reading.surfaces[str(surface)]}) > 1:
                    raise error_at(
                        each.line,
                        f"nodes of '{surface}' have different areas; give weights by "
                        "*DISTRIBUTING COUPLING",
                    )
            elif each.kind == MEAN and surface is not None:
                connections[name]["weights"] = _area_weights(
                    reading, surface, sets[f"{name} reference"]
                )
        for k, (elements, rows, line) in enumerate(self.distributing, 1):
            name = f"distributing coupling {k}"
            given, sets[name], sets[f"{name} reference"] = _distributing(
                reading, elements, rows, line
            )
            connections[name] = {
                "kind": MEAN,
                "where": name,
                "reference": f"{name} reference",
                **given,
            }
        return connections, sets


def _refuse(keyword: str, options: Mapping[str, str], line: str, known: Mapping[str, str]) -> None:
    """Raise InputError for options with unsupported values."""
    for key, value in known.items():
        if options.get(key, value).upper() != value:
            raise error_at(
                line,
                f"*{keyword}, {key}={options[key]} is not supported; "
                + (f"give {value}" if value else "remove it"),
            )


def _required_option(keyword: str, options: Mapping[str, str], line: str, key: str) -> str:
    """Required option of a keyword. Raises `InputError`."""
    if not options.get(key):
        raise error_at(line, f"*{keyword} has no {key.replace('REFNODE', 'REF NODE')}")
    return options[key]


def _nodes(
    reading: AbaqusContent,
    surfaces: Mapping[str, str],
    each: Coupling,
    name: str,
    sets: dict[str, list[int]],
) -> str:
    """Name of the node set of a coupling.

    That of its surface, its own, or a new one in ``sets`` with its elements' nodes.
    """
    surface, nodes = same_name(surfaces, each.nodes), same_name(reading.node_sets, each.nodes)
    if surface is not None:
        return surfaces[surface]
    if nodes is not None:
        return nodes
    elements = same_name(reading.element_sets, each.nodes)
    if elements is None:
        raise error_at(
            each.line, f"{name} is of surface or set '{each.nodes}', which does not exist"
        )
    numbers = reading.element_sets[elements]
    sets[name] = sorted(
        {node for n in numbers if n in reading.elements for node in reading.elements[n][1]}
    )
    return name


def _distributing(
    reading: AbaqusContent, elements: str, rows: Rows, line: str
) -> tuple[dict[str, Any], list[int], list[int]]:
    """Weights, nodes, and reference: the node of the one element of the set."""
    chosen = same_name(reading.element_sets, elements)
    numbers = [n for n in reading.element_sets.get(chosen or "", []) if n in reading.elements]
    if len(numbers) != 1:
        raise error_at(
            line,
            f"*DISTRIBUTING COUPLING: set '{elements}' has {len(numbers)} elements; it "
            "needs one DCOUP3D",
        )
    weights: dict[int, float] = {}
    for where, text in rows:
        name, weight, *_ = [*split(text), "", ""]
        found = same_name(reading.node_sets, name)
        for node in reading.node_sets[found] if found else [integer(where, name)]:
            weights[node] = weights.get(node, 0.0) + real(where, weight)
    nodes = [node for node in reading.nodes if node in weights]  # in the order of the rows
    return (
        {"weights": [weights[node] for node in nodes]},
        nodes,
        list(reading.elements[numbers[0]][1]),
    )


def _area_weights(reading: AbaqusContent, surface: str, reference: list[int]) -> list[float]:
    """Nodal areas ∫ N_a dA of a surface of elements, without the reference node.

    The areas are in the order of the rows.
    """
    if any(kind in PLANES for kind, _ in reading.elements.values()):
        raise InputError(
            f"surface '{surface}': *DISTRIBUTING of edges of plane or axisymmetric elements is not "
            "supported; give their nodes by *SURFACE, TYPE=NODE, or use *KINEMATIC"
        )
    outer = outer_faces(reading) if any(not face for _, face in reading.surfaces[surface]) else {}
    row, x = (
        {number: k for k, number in enumerate(reading.nodes)},
        np.array(list(reading.nodes.values()), dtype=float),
    )
    faces: dict[int, list[list[int]]] = defaultdict(list)
    for face in surface_faces(Path(surface), reading, surface, outer):
        if any(node not in row for node in face):
            raise InputError(f"surface '{surface}': has nodes that do not exist")
        faces[len(face)].append([row[node] for node in face])
    areas, used = np.zeros(len(x)), np.zeros(len(x), dtype=bool)
    for rows in faces.values():
        np.add.at(areas, np.array(rows), node_areas(x[np.array(rows)]))
        used[np.array(rows)] = True
    used[[row[number] for number in reference if number in row]] = False
    return [float(area) for area in areas[used]]


def one_node(reading: AbaqusContent, text: str, line: str) -> list[int]:
    """Number of a node, given directly or by a set of this node alone.

    Raises InputError with the line.
    """
    if text.isdecimal():
        return [int(text)]
    found = same_name(reading.node_sets, text)
    if found is None or len(set(reading.node_sets[found])) != 1:
        raise error_at(line, f"REF NODE={text} is not a node or a set of one node")
    return reading.node_sets[found][:1]


def _components(rows: Rows) -> str:
    """Degrees of freedom of the lines "first, last"; all if there are no lines."""
    chosen: set[int] = set()
    for where, text in rows:
        ends = [integer(where, each) for each in split(text) if each]
        if not ends or not 1 <= min(ends) <= max(ends) <= 6:
            raise error_at(
                where,
                f"*KINEMATIC: expected the first and last degree of freedom, found '{text[:40]}'",
            )
        chosen |= set(range(ends[0], ends[-1] + 1))
    return "".join(map(str, sorted(chosen))) or ALL

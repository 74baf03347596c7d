"""Reader of Abaqus and CalculiX input files.

Nodes, elements, node and element sets, surfaces, parts and instances, includes.

With ``structural``, materials, sections and connections are read too (`abaqus_deck`); without,
other keywords are skipped, and omitted couplings and masses are reported.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.mesh.declarations import FileDeclarations
from preprocess.mesh_files.abaqus_assembly import (
    AbaqusContent,
    add_instance,
    instance_motion,
    number_apart,
    with_plain_names,
)
from preprocess.mesh_files.abaqus_blocks import POINTS, error_at, keyword_blocks, similar_keyword
from preprocess.mesh_files.abaqus_deck import Deck
from preprocess.mesh_files.abaqus_keywords import KEYWORDS, SETS, TABLES
from preprocess.mesh_files.abaqus_options import known_options
from preprocess.mesh_files.abaqus_surfaces import outer_faces, same_name, surface_nodes
from preprocess.mesh_files.raw_mesh import Cells, RawMesh, node_rows, raw_mesh_of

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

JOIN, MASS = (
    "declare couplings as interfaces, merge the nodes of bonded parts",
    "attach such masses with PointMass",
)
LEFT_OUT = dict.fromkeys(
    (
        "TIE",
        "COUPLING",
        "KINEMATIC COUPLING",
        "DISTRIBUTING COUPLING",
        "MPC",
        "EQUATION",
        "RIGID BODY",
        "EMBEDDED ELEMENT",
        "SHELL TO SOLID COUPLING",
        "CYCLIC SYMMETRY MODEL",
    ),
    JOIN,
) | {"NONSTRUCTURAL MASS": MASS}
ORDER = {"line3": [0, 2, 1]}
MASS_TYPES = ("MASS", "ROTARYI")
# Keywords that generate or move nodes and elements without listing them.
GENERATORS = (
    "NFILL", "NCOPY", "NMAP", "ELGEN", "ELCOPY", "TET MESH", "SYMMETRIC MODEL GENERATION",
)  # fmt: skip


OF_MESH = (*KEYWORDS, "PART", "INSTANCE")
MESH = (*OF_MESH, "END PART", "END INSTANCE", *GENERATORS)


def read_abaqus(path: Path, structural: bool = False, *, allow_outside: bool = False) -> RawMesh:
    """Raw mesh of an input file.

    Raises InputError with the line for anything malformed or unsupported.
    """
    model, parts = AbaqusContent(structural=structural), dict[str, AbaqusContent]()
    stack: list[tuple[AbaqusContent, str, tuple[Array, Array]]] = [
        (model, "", (np.eye(3), np.zeros(3)))
    ]
    left: Counter[tuple[str, str]] = Counter()
    deck = Deck()
    for keyword, given, line, rows, table in keyword_blocks(path, allow_outside):
        left_out = None if structural else _omission(keyword, given, len(rows))
        checked = not left_out and (keyword in OF_MESH or (structural and not deck.ended))
        options = known_options(keyword, given, line) if checked else given
        if left_out is not None:
            left[left_out[:2]] += left_out[2]
        elif keyword == "PART":
            name = _name(options, line, keyword).upper()
            parts[name] = part = AbaqusContent(structural=structural)
            stack.append((part, "", stack[0][2]))
            deck.begin(name)
        elif keyword == "INSTANCE":
            name, part_name = _name(options, line, keyword), options.get("PART", "").upper()
            if part_name not in parts:
                raise error_at(
                    line,
                    f"*INSTANCE '{name}' is of part '{part_name}', which does not exist; "
                    f"the parts are: {', '.join(parts)}",
                )
            stack.append((parts[part_name].copy(), name, instance_motion(rows)))
            deck.sections.place(part_name, name, stack[-1][2][0])
            deck.begin(f"instance {name}")
        elif keyword in ("END PART", "END INSTANCE"):
            if len(stack) == 1:
                raise error_at(line, f"*{keyword} without its start")
            reading, name, motion = stack.pop()
            if keyword == "END INSTANCE":
                add_instance(stack[-1][0], name, reading, motion)
                deck.sections.place(f"instance {name}", name, motion[0])
            deck.begin("")
        elif keyword in KEYWORDS:
            reading = stack[-1][0]
            if keyword == "NODE" and reading.shifts and not reading.own[0]:
                number_apart(reading)
            if table is not None:
                TABLES[keyword](reading, options, line, table)
            KEYWORDS[keyword](reading, options, line, rows)
        elif keyword in GENERATORS:
            raise error_at(
                line,
                f"*{keyword} is not supported: it generates nodes or elements; export the full "
                "mesh",
            )
        elif structural:
            deck.add(keyword, options, line, rows)
        elif near := similar_keyword(keyword, MESH):
            raise error_at(
                line, f"*{keyword} is not known; did you mean *{near}? Remove it otherwise"
            )
    if not model.shifts and len(parts) == 1 and not model.nodes:
        (model,) = parts.values()
    if not model.nodes:
        raise InputError(f"{path}: has no *NODE block; expected an Abaqus input file")
    notices = tuple(f"{n} {what} omitted; {remedy}" for (what, remedy), n in sorted(left.items()))
    if not structural:
        return _raw(path, with_plain_names(model), notices, None)
    deck.complete(model, path)
    deck.sections.of_abaqus = bool(parts)  # CalculiX has none
    notices = tuple(f"{n} {what} omitted; {why}" for (what, why), n in sorted(deck.notes.items()))
    return _raw(path, with_plain_names(model), notices, deck)


def _omission(keyword: str, options: dict[str, str], count: int) -> tuple[str, str, int] | None:
    """Description, remedy and count of a block that is reported as omitted; None for all others."""
    kind = options.get("TYPE", "").upper()
    if keyword in LEFT_OUT:
        return f"*{keyword}", LEFT_OUT[keyword], 1
    if keyword == "ELEMENT" and kind in MASS_TYPES:
        return f"{kind} elements", MASS, count
    if keyword == "SURFACE" and (kind not in ("", "ELEMENT", "NODE") or "CROP" in options):
        return f"*SURFACE, {f'TYPE={kind}' if kind else 'CROP'}", SETS, 1
    return None


def _name(options: dict[str, str], line: str, keyword: str) -> str:
    if not options.get("NAME"):
        raise error_at(line, f"*{keyword} has no NAME=")
    return options["NAME"]


def _raw(
    path: Path, reading: AbaqusContent, notices: tuple[str, ...], deck: Deck | None
) -> RawMesh:
    """Raw mesh of the content, with node rows instead of numbers.

    deck: of a file whose beams and shells are read.
    """
    node_ids = np.array(list(reading.nodes), dtype=np.int64)
    row = {node: n for n, node in enumerate(reading.nodes)}
    cells = _cells(path, reading, node_ids)
    sets = {name: [row[n] for n in nodes if n in row] for name, nodes in reading.node_sets.items()}
    outer = (
        outer_faces(reading)
        if any(not face for parts in reading.surfaces.values() for _, face in parts)
        else {}
    )
    surfaces = {
        name: name if same_name(sets, name) is None else f"surface {name}"
        for name in reading.surfaces
    }
    for name, own in surfaces.items():
        sets[own] = [row[n] for n in surface_nodes(path, reading, name, outer)]
    declared, more = (FileDeclarations(), {}) if deck is None else deck.declared(reading, surfaces)
    if deck is not None:
        notices += tuple(dict.fromkeys([*deck.sections.notices, *deck.tables.notices]))
    sets |= {name: [row[n] for n in nodes if n in row] for name, nodes in more.items()}
    raw = raw_mesh_of(
        path,
        np.array(list(reading.nodes.values())),
        node_ids,
        cells,
        _unique(sets),
        deck is not None,
    )
    return replace(
        raw,
        element_sets=raw.element_sets | _unique(reading.element_sets),
        notices=notices,
        declared=declared,
    )


def _cells(path: Path, reading: AbaqusContent, node_ids: Indices) -> list[Cells]:
    """Elements by type, except those that become connections and masses."""
    by_type: dict[str, tuple[list[list[int]], list[int]]] = {}
    for number, (kind, nodes) in reading.elements.items():
        if kind not in POINTS:
            tables, ids = by_type.setdefault(kind, ([], []))
            tables.append(nodes)
            ids.append(number)
    cells = []
    for kind, (table, ids) in by_type.items():
        rows = node_rows(path, node_ids, np.array(table)[:, ORDER.get(kind, slice(None))], ids)
        cells.append(Cells(kind, rows, np.array(ids), ()))
    return cells


def _unique(sets: Mapping[str, list[int]]) -> dict[str, Indices]:
    """Members of each set, ascending."""
    return {name: np.unique(np.array(members, dtype=np.int64)) for name, members in sets.items()}

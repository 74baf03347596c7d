"""Reader of Abaqus and CalculiX input files.

Nodes, elements, node and element sets, surfaces, parts and instances, includes.

With ``structural``, materials, sections and connections are read too (`abaqus_deck`); without,
other keywords are skipped, and omitted couplings and masses are reported.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.mesh.declarations import FileDeclarations, MassMatrix
from preprocess.mesh_files.abaqus_assembly import (
    AbaqusContent,
    Rows,
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
from preprocess.mesh_files.claims import Claims
from preprocess.mesh_files.include import Includes
from preprocess.mesh_files.raw_mesh import Cells, RawMesh, node_rows, raw_mesh_of

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

JOIN, MASS = (
    "declare couplings as interfaces, merge the nodes of bonded parts",
    "attach such masses with PointMass",
)
OMITTED = dict.fromkeys(
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


Motion = tuple[Array, Array]
AT_REST: Motion = (np.eye(3), np.zeros(3))  # rotation and translation of an instance


@dataclass
class _InputFile:
    """Content of a file read so far.

    open: content, name of the instance ("" for a part) and its motion, of the model and of the part
    or instance that is open; omitted: number of blocks by description and remedy.
    """

    structural: bool
    claims: Claims
    parts: dict[str, AbaqusContent] = field(default_factory=dict)
    open: list[tuple[AbaqusContent, str, Motion]] = field(default_factory=list)
    omitted: Counter[tuple[str, str]] = field(default_factory=Counter)
    deck: Deck = field(default_factory=Deck)

    def __post_init__(self) -> None:
        self.open.append(
            (AbaqusContent(claims=self.claims, structural=self.structural), "", AT_REST)
        )

    def add(
        self, keyword: str, given: dict[str, str], line: str, rows: Rows, table: Array | None
    ) -> None:
        """Add a keyword block. Raises InputError with the line for anything unsupported."""
        omitted = None if self.structural else _omission(keyword, given, len(rows))
        if omitted is not None:
            self.omitted[omitted[:2]] += omitted[2]
            return
        checked = keyword in OF_MESH or (self.structural and not self.deck.ended)
        options = known_options(keyword, given, line) if checked else given
        if keyword in NESTING:
            NESTING[keyword](self, options, line, rows)
        elif keyword in KEYWORDS:
            self._add_to_mesh(keyword, options, line, rows, table)
        elif keyword in GENERATORS:
            raise error_at(
                line,
                f"*{keyword} is not supported: it generates nodes or elements; export the full "
                "mesh",
            )
        elif self.structural:
            self.deck.add(keyword, options, line, rows)
        elif near := similar_keyword(keyword, MESH):
            raise error_at(
                line, f"*{keyword} is not known; did you mean *{near}? Remove it otherwise"
            )

    def _add_to_mesh(
        self, keyword: str, options: dict[str, str], line: str, rows: Rows, table: Array | None
    ) -> None:
        """Pass a keyword block to its reader in the open part or assembly."""
        reading = self.open[-1][0]
        # nodes of the assembly after its instances: their numbers may be those of instances
        if keyword == "NODE" and reading.shifts and not reading.own[0]:
            number_apart(reading)
        if table is not None:
            TABLES[keyword](reading, options, line, table)
        KEYWORDS[keyword](reading, options, line, rows)

    def begin_part(self, options: dict[str, str], line: str, rows: Rows) -> None:
        """Open a part: following blocks belong to it."""
        name = _name(options, line, "PART").upper()
        self.parts[name] = AbaqusContent(claims=self.claims, structural=self.structural)
        self.open.append((self.parts[name], "", AT_REST))
        self.deck.begin(name)

    def begin_instance(self, options: dict[str, str], line: str, rows: Rows) -> None:
        """Open an instance of a part. Raises InputError for a part that does not exist."""
        name, part = _name(options, line, "INSTANCE"), options.get("PART", "").upper()
        if part not in self.parts:
            raise error_at(
                line,
                f"*INSTANCE '{name}' is of part '{part}', which does not exist; "
                f"the parts are: {', '.join(self.parts)}",
            )
        copied = len(self.parts[part].nodes) + len(self.parts[part].elements)
        self.claims.add(line, copied, "nodes and elements of instances")
        motion = instance_motion(rows)
        self.open.append((self.parts[part].copy(), name, motion))
        self.deck.sections.place(part, name, motion[0])
        self.deck.begin(f"instance {name}")

    def end_part(self, options: dict[str, str], line: str, rows: Rows) -> None:
        """Close a part. Raises InputError if none is open."""
        self._close("END PART", line)
        self.deck.begin("")

    def end_instance(self, options: dict[str, str], line: str, rows: Rows) -> None:
        """Add the open instance to the model. Raises InputError if none is open."""
        reading, name, motion = self._close("END INSTANCE", line)
        add_instance(self.open[-1][0], name, reading, motion)
        self.deck.sections.place(f"instance {name}", name, motion[0])
        self.deck.begin("")

    def _close(self, keyword: str, line: str) -> tuple[AbaqusContent, str, Motion]:
        """End the open part or instance. Raises `InputError` without a start."""
        if len(self.open) == 1:
            raise error_at(line, f"*{keyword} without its start")
        return self.open.pop()

    def model(self, path: Path) -> AbaqusContent:
        """Model, or the part of a file with one part and no instance. Raises InputError."""
        model = self.open[0][0]
        if not model.shifts and len(self.parts) == 1 and not model.nodes:
            (model,) = self.parts.values()
        if not model.nodes:
            raise InputError(f"{path}: has no *NODE block; expected an Abaqus input file")
        return model


NESTING = {
    "PART": _InputFile.begin_part,
    "INSTANCE": _InputFile.begin_instance,
    "END PART": _InputFile.end_part,
    "END INSTANCE": _InputFile.end_instance,
}


def read_abaqus(path: Path, structural: bool = False, *, allow_outside: bool = False) -> RawMesh:
    """Raw mesh of an input file.

    Raises InputError with the line for anything malformed or unsupported.
    """
    includes = Includes(path, allow_outside)
    content = _InputFile(structural, includes.claims)
    for block in keyword_blocks(path, includes):
        content.add(*block)
    model, deck = content.model(path), content.deck
    if structural:
        deck.complete(model, path)
        deck.sections.of_abaqus = bool(content.parts)  # CalculiX has none
        raw = _raw(path, with_plain_names(model), _notices(deck.notes), deck)
    else:
        raw = _raw(path, with_plain_names(model), _notices(content.omitted), None)
    # of CalculiX; that of Abaqus depends on the order of the elements
    mass: MassMatrix | None = None if content.parts else "consistent"
    return replace(raw, declared=replace(raw.declared, mass=mass))


def _notices(found: Counter[tuple[str, str]]) -> tuple[str, ...]:
    """Texts with counts of omitted items and the remedies."""
    return tuple(f"{n} {what} omitted; {remedy}" for (what, remedy), n in sorted(found.items()))


def _omission(keyword: str, options: dict[str, str], count: int) -> tuple[str, str, int] | None:
    """Description, remedy and count of a block that is reported as omitted; None for all others."""
    kind = options.get("TYPE", "").upper()
    if keyword in OMITTED:
        return f"*{keyword}", OMITTED[keyword], 1
    if keyword == "ELEMENT" and kind in MASS_TYPES:
        return f"{kind} elements", MASS, count
    if keyword == "SURFACE" and (kind not in ("", "ELEMENT", "NODE") or "CROP" in options):
        return f"*SURFACE, {f'TYPE={kind}' if kind else 'CROP'}", SETS, 1
    return None


def _name(options: dict[str, str], line: str, keyword: str) -> str:
    """NAME of a keyword. Raises `InputError`."""
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
    """Members of each set, ascending and without duplicates."""
    return {name: np.unique(np.array(members, dtype=np.int64)) for name, members in sets.items()}

"""Reader of Nastran bulk data: nodes, solids and their skin, sets.

Source: MSC Nastran, Quick Reference Guide, entries by name.
"""

import functools
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.files.inputs import read_text
from preprocess.elements import ELEMENTS as KINDS
from preprocess.mesh.declarations import FileDeclarations, MassMatrix
from preprocess.mesh_files.include import Includes
from preprocess.mesh_files.nastran_cards import (
    Card,
    cards_of,
    integer_field,
    listed_numbers,
    real_field,
    text_field,
)
from preprocess.mesh_files.nastran_case_control import (
    case_control,
    selected_equations,
    selected_matrices,
    sets_of,
)
from preprocess.mesh_files.nastran_coordinates import CoordinateSystems
from preprocess.mesh_files.nastran_names import ELEMENTS, NOTED, OF_THE_BODY, unknown_cards
from preprocess.mesh_files.nastran_points import CARDS as POINTS
from preprocess.mesh_files.nastran_points import ELEMENTS as LINKS
from preprocess.mesh_files.nastran_properties import MATERIALS, PROPERTIES
from preprocess.mesh_files.nastran_structures import (
    SHELLS,
    StructuralCards,
    add_bar,
    add_defaults,
    add_own_rod,
    add_property,
    add_rod,
    add_shell,
    add_spider,
)
from preprocess.mesh_files.raw_mesh import AXISYMMETRIC, Cells, RawMesh, node_rows, raw_mesh_of

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Solids: meshio's names by number of nodes; the hexahedron and the wedge name their vertical edges
# before the upper ones.
SOLIDS = {
    "CTETRA": {4: "tetra", 10: "tetra10"},
    "CPENTA": {6: "wedge", 15: "wedge15"},
    "CHEXA": {8: "hexahedron", 20: "hexahedron20"},
    "CPYRAM": {5: "pyramid", 13: "pyramid13"},
}
ORDER = {
    "hexahedron20": [*range(12), 16, 17, 18, 19, 12, 13, 14, 15],
    "wedge15": [*range(9), 12, 13, 14, 9, 10, 11],
}
QUADRATIC = {each.meshio_name: each for each in KINDS.values()}
STRUCTURAL = {
    **dict.fromkeys(SHELLS, add_shell),
    "CBAR": add_bar,
    "CBEAM": add_bar,
    "CROD": add_rod,
    "CTUBE": add_rod,
    "CONROD": add_own_rod,
    "RBE2": add_spider,
    "RBE3": add_spider,
    "RBAR": add_spider,
    "BAROR": add_defaults,
    "BEAMOR": add_defaults,
    **dict.fromkeys(PROPERTIES, add_property),
}
OF_CONNECTORS = "give CBUSH between RBE3 on the nodes of both parts"
REMEDIES = {
    **dict.fromkeys(("CWELD", "CFAST", "CSEAM"), OF_CONNECTORS),
    "CSHEAR": "give CQUAD4 with a PSHELL of MID1 alone, which carries tension too",
}
# plane and axisymmetric elements that are not read
IN_PLANE = r"C(PLST[NS]|QUADX|TRIAX|TRAX|CONEAX|QUAD$)"
OPTISTRUCT = ".fem"
SET3_KINDS = ("GRID", "ELEM", "ELEMENT")


@dataclass
class BulkData:
    """Content of a file; nodes of sets and elements by number."""

    positions: dict[int, Array | tuple[float, float, float]] = field(default_factory=dict)
    # kind, number, property, nodes
    solids: list[tuple[str, int, int, list[int]]] = field(default_factory=list)
    skin: list[tuple[str, int, int, list[int]]] = field(default_factory=list)
    revolved: dict[int, tuple[int, list[int]]] = field(default_factory=dict)  # material, nodes
    node_sets: dict[str, list[int]] = field(default_factory=dict)
    element_sets: dict[str, list[int]] = field(default_factory=dict)
    either_sets: dict[str, list[int]] = field(default_factory=dict)  # SET1: of nodes or of elements
    notices: list[str] = field(default_factory=list)
    structures: StructuralCards = field(default_factory=StructuralCards)
    mass: MassMatrix | None = None


Handlers = Mapping[str, Callable[[BulkData, Card], None]]


def read_nastran(path: Path, structural: bool = False, *, allow_outside: bool = False) -> RawMesh:
    """Raw mesh of Nastran bulk data.

    Property numbers become sets "property 7"; SPC, SPC1, SET, SET1, RBE2 and RBE3 node sets.
    structural: shells, CBAR, CBEAM and CROD as elements; RBE2, RBE3, CELAS, CBUSH and MPC as
    connections; materials and masses.
    """
    bulk = _bulk(path, structural, allow_outside)
    row = {number: n for n, number in enumerate(bulk.positions)}
    node_ids = np.array(list(bulk.positions), dtype=np.int64)
    by_kind: dict[tuple[str, int], list[tuple[int, list[int]]]] = defaultdict(list)
    for kind, number, region, nodes in (*bulk.solids, *bulk.skin):
        by_kind[kind, region].append((number, nodes))
    cells = []
    for (kind, region), found in by_kind.items():
        ids = np.array([number for number, _ in found])
        cells.append(
            Cells(
                kind,
                node_rows(path, node_ids, [nodes for _, nodes in found], ids),
                ids,
                (f"property {region}",),
            )
        )
    cells += _revolved_cells(path, bulk, node_ids)
    revolved = {f"material {material}": material for material, _ in bulk.revolved.values()}
    elements = {number for _, number, _, _ in (*bulk.solids, *bulk.structures.shells)}
    elements |= bulk.revolved.keys()
    elements |= {integer_field(card, 0) for card in bulk.structures.beams} | {
        rod.number for rod in bulk.structures.rods
    }
    node_sets = bulk.node_sets | {
        name: members for name, members in bulk.either_sets.items() if row.keys() >= set(members)
    }
    sets = {
        name: _unique([row[n] for n in members if n in row]) for name, members in node_sets.items()
    }
    solids = {f"property {region}": region for _, _, region, _ in bulk.solids}
    beams_and_shells = bulk.structures.element_sets()
    cells += _structural_cells(path, bulk.structures, node_ids)
    own = bulk.structures.centres | bulk.structures.points.sets
    sets |= {name: _unique([row[n] for n in members if n in row]) for name, members in own.items()}
    raw = raw_mesh_of(
        path,
        np.array(list(bulk.positions.values())),
        node_ids,
        cells,
        sets,
        structural,
        points_alone=bool(bulk.structures.points.masses),
    )
    both = {
        **bulk.element_sets,
        **{name: members for name, members in bulk.either_sets.items() if elements >= set(members)},
    }
    groups = {name: _unique(members) for name, members in both.items()}
    groups |= {name: _unique(members) for name, (members, _, _) in beams_and_shells.items()}
    declared = (
        _with_weights(bulk.structures.declared(solids, revolved), raw)
        if structural
        else FileDeclarations()
    )
    declared = replace(declared, mass=bulk.mass)
    notices = tuple(dict.fromkeys([*bulk.structures.notices, *bulk.notices]))
    return replace(
        raw,
        element_sets={**raw.element_sets, **groups},
        notices=notices,
        declared=declared,
        axis="z",
    )


class NastranPoints(NamedTuple):
    """Grids and scalar points of bulk data.

    Numbers (N,) and positions (N, 3) of grids in the basic system, numbers of the scalar points,
    displacement axes (columns) of grids that have other ones; solids: True if there are solid
    elements.
    """

    ids: Indices
    positions: Array
    scalars: Indices
    axes: dict[int, Array]
    solids: bool


def read_points(path: Path) -> NastranPoints:
    """Grids and scalar points of bulk data, whatever else it has. Raises InputError."""
    lines = read_text(path).splitlines()
    start = _start_of_bulk(lines)
    cards = list(cards_of(path, lines[start + 1 :], start + 1, Includes(path, False)))
    systems = CoordinateSystems.of(cards)
    systems.require()
    scalars: list[int] = []
    for card in cards:
        if card.name == "SPOINT":
            scalars += listed_numbers(card.fields, card.line, card.claims)
    axes = {
        number: system
        for number, card in systems.grids.items()
        if (system := systems.displacements(number, card)) is not None
    }
    return NastranPoints(
        np.array(list(systems.grids), dtype=np.int64),
        np.array([systems.place(number) for number in systems.grids]).reshape(-1, 3),
        np.unique(np.array(scalars, dtype=np.int64)),
        axes,
        any(card.name in SOLIDS for card in cards),
    )


def _start_of_bulk(lines: list[str]) -> int:
    """Index of the line BEGIN BULK; -1 without it."""
    return next(
        (n for n, line in enumerate(lines) if re.match(r"\s*BEGIN\s+(BULK|SUPER)", line, re.I)), -1
    )


def _revolved_cells(path: Path, bulk: BulkData, node_ids: Indices) -> list[Cells]:
    """Cells of CTRIAX6 by material, counter-clockwise in the plane of x and z."""
    by_material: dict[int, list[tuple[int, list[int]]]] = defaultdict(list)
    for number, (material, nodes) in bulk.revolved.items():
        by_material[material].append((number, nodes))
    x = np.array(list(bulk.positions.values()), dtype=float)
    cells = []
    for material, found in by_material.items():
        ids = np.array([number for number, _ in found])
        table = node_rows(path, node_ids, [nodes for _, nodes in found], ids)
        a, b, c = (x[table[:, k]][:, [0, 2]] for k in range(3))
        area = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
        rows = np.where(area[:, None] < 0, table[:, [0, 2, 1, 5, 4, 3]], table)
        cells.append(Cells(f"{AXISYMMETRIC} triangle6", rows, ids, (f"material {material}",)))
    return cells


def _structural_cells(path: Path, found: StructuralCards, node_ids: Indices) -> list[Cells]:
    """Cells of the beams and shells, type by type."""
    by_kind: dict[str, list[tuple[int, list[int]]]] = defaultdict(list)
    for kind, number, _, nodes in found.shells:
        by_kind[kind].append((number, nodes))
    for card in found.beams:
        by_kind["line"].append(
            (integer_field(card, 0), [integer_field(card, 2), integer_field(card, 3)])
        )
    for rod in found.rods:
        by_kind["truss"].append((rod.number, rod.nodes))
    cells = []
    for kind, each in by_kind.items():
        ids = np.array([number for number, _ in each])
        cells.append(
            Cells(kind, node_rows(path, node_ids, [nodes for _, nodes in each], ids), ids, ())
        )
    return cells


def _with_weights(declared: FileDeclarations, raw: RawMesh) -> FileDeclarations:
    """Declarations with the weights of averaging spiders in the order of their nodes' rows."""
    connections = {}
    for name, given in declared.connections.items():
        if isinstance(given.get("weights"), dict):
            order = [int(raw.node_ids[k]) for k in raw.node_sets[name]]
            given = {**given, "weights": [given["weights"][number] for number in order]}
        connections[name] = given
    return replace(declared, connections=connections)


def _unique(members: Iterable[int]) -> Indices:
    """Sorted numbers without repetitions."""
    return np.unique(np.array(list(members), dtype=np.int64))


def _bulk(path: Path, structural: bool, allow_outside: bool) -> BulkData:
    """Content of a bulk data file.

    Raises InputError with the line for anything malformed or unsupported.
    """
    lines = read_text(path).splitlines()
    start = _start_of_bulk(lines)
    includes = Includes(path, allow_outside)
    cards = list(cards_of(path, lines[start + 1 :], start + 1, includes))
    _check_layout(path, lines, start, cards)
    passed = unknown_cards(cards)
    before = case_control(path, lines[: max(start, 0)], includes)
    bulk = BulkData(
        either_sets=sets_of(path, before, includes.claims),
        structures=StructuralCards(source=str(path)),
    )
    # positions of grids need all systems, which may follow them
    bulk.structures.frames = CoordinateSystems.of(cards)
    grids = (integer_field(card, 0) for card in cards if card.name == "GRID")
    bulk.structures.unused = 1 + max(grids, default=0)
    if structural:
        bulk.structures.frames.require()
    unread = _read_cards(bulk, cards, STRUCTURAL_CARDS if structural else MESH_CARDS)
    left = Counter({name: n for name, n in unread.items() if _is_left(name, structural)})
    _refuse_elements(path, unread - left, structural)
    for (a, b), node in bulk.structures.straight.items():
        ends = [np.asarray(bulk.positions[each]) for each in (a, b) if each in bulk.positions]
        bulk.positions[node] = 0.5 * (ends[0] + ends[1]) if len(ends) == 2 else np.zeros(3)
    if structural:
        _refuse_others(path, left)
        _complete(path, bulk, cards, before)
    bulk.mass = _mass_matrix(path, _parameters(cards, before))
    bulk.notices += [f"{n} {name} omitted: {_remedy(name)}" for name, n in sorted(left.items())]
    bulk.notices += passed
    return bulk


def _check_layout(path: Path, lines: list[str], start: int, cards: list[Card]) -> None:
    """Raise InputError for a file without grids, or with bulk data that begins nowhere."""
    if not any(card.name == "GRID" for card in cards):
        raise InputError(
            f"{path}: has no GRID card; expected Nastran bulk data (BEGIN BULK … ENDDATA)"
        )
    if start < 0 and any(re.match(r"\s*CEND\b", line, re.I) for line in lines):
        raise InputError(f"{path}: has CEND, but no BEGIN BULK; write it before the bulk data")


def _read_cards(bulk: BulkData, cards: Iterable[Card], handlers: Handlers) -> Counter[str]:
    """Pass each card to its handler; the numbers of cards without one, by name."""
    unread: Counter[str] = Counter()
    for card in cards:
        # "BEGIN SUPER=1" has the number of the superelement in its name
        handler = handlers.get("BEGIN" if card.name.startswith("BEGIN") else card.name)
        if handler is None:
            unread[card.name] += 1
        else:
            handler(bulk, card)
    return unread


def _is_left(name: str, structural: bool) -> bool:
    """True for cards that are omitted with a notice, or rejected with structural elements."""
    return name in OF_THE_BODY or (structural and name in NOTED)


def _refuse_elements(path: Path, unread: Counter[str], structural: bool) -> None:
    """Raise InputError for elements that are not read."""
    found = {name: n for name, n in unread.items() if name in ELEMENTS}
    if not found:
        return
    what = " and ".join(f"{n} {name}" for name, n in sorted(found.items()))
    elements = (name for name in STRUCTURAL if name.startswith("C"))
    if structural and all(re.match(IN_PLANE, name) for name in found):
        raise InputError(
            f"{path}: {what} elements are not supported; of plane and axisymmetric elements give "
            "CTRIAX6, or CPS, CPE and CAX in an Abaqus deck"
        )
    if structural and found.keys() <= REMEDIES.keys():
        raise InputError(
            *(f"{path}: {found[name]} {name} is not read; {REMEDIES[name]}" for name in found)
        )
    read = (*SOLIDS, *elements, "CTRIAX6", *LINKS) if structural else tuple(SOLIDS)
    raise InputError(
        f"{path}: {what} elements are not supported; "
        f"{'use' if structural else 'export only'} {', '.join(read)}"
    )


def _refuse_others(path: Path, left: Counter[str]) -> None:
    """Raise InputError for cards of the body that would change it if they were read."""
    refused = [f"{n} {name}" for name, n in sorted(left.items()) if name not in NOTED]
    if refused:
        raise InputError(
            f"{path}: {' and '.join(refused)} are not supported; use RBE2, RBE3, MPC, CONM2"
        )


def _complete(path: Path, bulk: BulkData, cards: list[Card], before: list[str]) -> None:
    """Evaluate what concerns all cards: node sets of spiders, mass factor, equations, damping."""
    bulk.node_sets |= {each["where"]: each["nodes"] for each in bulk.structures.spiders}
    selected_matrices(path, before)
    bulk.structures.mass_factor = _mass_factor(_parameters(cards, before))
    bulk.structures.select_equations(selected_equations(path, before))
    # spiders are read, so that their notices of omission do not hold
    bulk.notices = [notice for notice in bulk.notices if not notice.startswith("RBE")]
    _require_nodes(path, bulk)
    for name, n in Counter(card.name for card in bulk.structures.points.grounded).items():
        bulk.notices.append(
            f"{n} {name} to the ground omitted: connect the body there in the mechanism"
        )
    damped = sum(_damps(card) for card in cards)
    if damped:
        bulk.notices.append(
            f"{damped} structural damping (GE, PARAM,G) omitted: modal damping is an option of "
            "reduce"
        )
    matrices = dict.fromkeys(text_field(card, 0) for card in cards if card.name == "DMIG")
    if matrices:
        bulk.notices.append(
            f"DMIG {', '.join(matrices)} omitted: the case control adds no matrix to those of the "
            "elements"
        )


def _parameters(cards: Iterable[Card], before: Iterable[str]) -> list[tuple[str, str]]:
    """Names and values of the PARAM of the bulk data, then of the case control, as texts."""
    found = [card for card in cards if card.name == "PARAM"]
    found += [
        Card("PARAM", text.split(",")[1:], "case control")
        for text in before
        if re.match(r"\s*PARAM\s*,", text, re.I)
    ]
    return [(text_field(card, 0).strip().upper(), text_field(card, 1).strip()) for card in found]


def _mass_factor(parameters: Iterable[tuple[str, str]]) -> float:
    """Factor of densities and masses, PARAM,WTMASS."""
    given = [
        real_field(Card("PARAM", [value], "PARAM WTMASS"), 0)
        for name, value in parameters
        if name == "WTMASS"
    ]
    if any(not value > 0 for value in given):
        raise InputError("PARAM WTMASS: give a positive factor of the masses")
    return given[-1] if given else 1.0


def _mass_matrix(path: Path, parameters: Iterable[tuple[str, str]]) -> MassMatrix | None:
    """Formulation of the mass by PARAM,COUPMASS, the last one; by default lumped.

    None for values of other dialects (AUTO), and for OptiStruct, whose default is not that of
    Nastran.
    """
    default = None if path.suffix.lower() == OPTISTRUCT else "-1"
    given = [value.upper() for name, value in parameters if name == "COUPMASS"]
    value = given[-1] if given else default
    if value is None or not re.fullmatch(r"[+-]?\d+|YES|NO|ON|OFF", value):
        return None
    return "coupled" if value in ("YES", "ON") or _is_positive(value) else "lumped"


def _is_positive(text: str) -> bool:
    """True for the text of a positive integer."""
    return bool(re.fullmatch(r"\+?0*[1-9]\d*", text))


# places of structural damping GE among the fields of a card
DAMPING = {
    "MAT1": (7,),
    "MAT2": (12,),
    "MAT8": (16,),
    "MAT9": (30,),
    "MAT11": (15,),
    "PCOMP": (6,),
    "PCOMPG": (6,),
    "PELAS": (2, 6),
    "CELAS2": (6,),
}


def _damps(card: Card) -> bool:
    """True if a card gives structural damping."""
    if card.name == "PARAM":
        return text_field(card, 0).strip().upper() == "G" and real_field(card, 1) != 0
    if card.name == "PBUSH":
        flag = next((k for k, text in enumerate(card.fields) if text.upper() == "GE"), None)
        places = () if flag is None else tuple(range(flag + 1, flag + 7))
    else:
        places = DAMPING.get(card.name, ())
    return any(real_field(card, place) != 0 for place in places)


def _require_nodes(path: Path, bulk: BulkData) -> None:
    """Raise InputError for a node of a spider without GRID card, or one that occurs twice."""
    for name, centre in bulk.structures.centres.items():
        card = name.removesuffix(" centre")
        members = bulk.node_sets[card]
        missing = sorted({*centre, *members} - bulk.positions.keys())
        if missing:
            raise InputError(
                f"{path}: {card}: node {missing[0]} has no GRID card; give one, or remove "
                "it from the list"
            )
        twice = [number for number, count in Counter(members).items() if count > 1]
        if twice:
            raise InputError(f"{path}: {card}: node {twice[0]} occurs twice; list it once")


def _remedy(name: str) -> str:
    """Remedy for a card that is not read."""
    of_couplings = (
        "attach such masses with PointMass"
        if name.startswith("CONM")
        else "declare couplings as interfaces"
    )
    return NOTED.get(name, of_couplings)


def _add_grid(bulk: BulkData, card: Card) -> None:
    """Add the node of a GRID card."""
    number = integer_field(card, 0)
    bulk.positions[number] = bulk.structures.frames.place(number)


def _add_skin(bulk: BulkData, card: Card) -> None:
    """Add the surface element of a shell card."""
    kind, count = SHELLS[card.name]
    number, region = integer_field(card, 0), integer_field(card, 1, 0)
    nodes = [integer_field(card, k) for k in range(2, 2 + count)]
    bulk.skin.append((kind, number, region, nodes))


def _add_point(bulk: BulkData, card: Card) -> None:
    """Add a mass, spring or damper card."""
    bulk.structures.points.add(card)


def _add_material(bulk: BulkData, card: Card) -> None:
    """Add the material of a MAT card. Raises `InputError` for a repeated number."""
    number = integer_field(card, 0)
    if number in bulk.structures.materials:
        raise InputError(
            f"{card.line}: material number {number} occurs twice; number them uniquely"
        )
    found = bulk.structures.materials[number] = MATERIALS[card.name](card)
    if "shear_ratio" in found:
        bulk.notices.append(
            f"MAT1 {number}: E, G and NU are not those of an isotropic material: G is used for "
            "torsion and transverse shear, E and NU for the rest"
        )


def _add_structure(bulk: BulkData, card: Card) -> None:
    """Add a beam, shell or property card, and its sets."""
    STRUCTURAL[card.name](bulk.structures, card)
    if card.name in _SET_CARDS:
        _SET_CARDS[card.name](bulk, card)


def _refuse_superelement(bulk: BulkData, card: Card) -> None:
    """Raise `InputError` for superelements."""
    raise InputError(
        f"{card.line}: superelements in one file are not supported; write each to its own file"
    )


def _add_solid(bulk: BulkData, card: Card, *, structural: bool = False) -> None:
    """Add the solid element of a card. Raises `InputError` for missing nodes.

    structural: middles of edges may be missing, as far as equations can replace them.
    """
    kinds = SOLIDS[card.name]
    fewest, most = kinds
    nodes = [integer_field(card, k, 0) for k in range(2, 2 + most)]
    count = fewest if not any(nodes[fewest:]) else most
    order = ORDER.get(kinds[count], list(range(count)))
    nodes = [nodes[k] for k in order]
    if structural and all(nodes[:fewest]):
        edges = _edges(kinds[most])
        for k in range(fewest, count):
            a, b = (nodes[end] for end in edges[k - fewest])
            nodes[k] = nodes[k] or bulk.structures.middle(a, b, turns=False)
    if not all(nodes):
        nodes = [nodes[order.index(k)] for k in range(count)]
        missing = nodes[:count].index(0) + 1
        raise InputError(
            f"{card.line}: {card.name} {integer_field(card, 0)} has no node G{missing}; "
            f"it needs {fewest} or {most} nodes: "
            "give all its mid-side nodes or none"
        )
    number = integer_field(card, 0)
    bulk.solids.append((kinds[count], number, integer_field(card, 1, number), nodes))


@functools.cache
def _edges(kind: str) -> list[tuple[int, int]]:
    """Corners at the ends of the edges of a quadratic element, in the order of their middles."""
    element = QUADRATIC[kind]
    corners, middles = np.split(element.nodes, [element.corners])
    pairs = list(itertools.combinations(range(element.corners), 2))
    means = np.array([0.5 * (corners[a] + corners[b]) for a, b in pairs])
    return [pairs[int(np.abs(means - x).sum(axis=1).argmin())] for x in middles]


def _add_revolved(bulk: BulkData, card: Card) -> None:
    """Add the axisymmetric triangle of a CTRIAX6 card, which lists its nodes around it."""
    number = integer_field(card, 0)
    if number in bulk.revolved:
        raise InputError(f"{card.line}: CTRIAX6 {number} occurs twice; number them uniquely")
    around = [integer_field(card, k) for k in range(2, 8)]
    bulk.revolved[number] = integer_field(card, 1), [*around[::2], *around[1::2]]


def _add_spc(bulk: BulkData, card: Card) -> None:
    """Add the nodes of an SPC card to its node set."""
    nodes = [integer_field(card, k) for k in (1, 4) if text_field(card, k)]
    bulk.node_sets.setdefault(f"SPC {integer_field(card, 0)}", []).extend(nodes)


def _add_spc1(bulk: BulkData, card: Card) -> None:
    """Add the nodes of an SPC1 card to its node set."""
    bulk.node_sets.setdefault(f"SPC {integer_field(card, 0)}", []).extend(
        listed_numbers(card.fields[2:], card.line, card.claims)
    )


def _add_set(bulk: BulkData, card: Card) -> None:
    """Add the members of a SET card."""
    bulk.either_sets.setdefault(f"SET {integer_field(card, 0)}", []).extend(
        listed_numbers(card.fields[1:], card.line, card.claims)
    )


def _add_set3(bulk: BulkData, card: Card) -> None:
    """Add a set of nodes or elements, according to its second field."""
    kind = text_field(card, 1).upper()
    if kind in SET3_KINDS:
        sets = bulk.node_sets if kind == "GRID" else bulk.element_sets
        sets.setdefault(f"SET {integer_field(card, 0)}", []).extend(
            listed_numbers(card.fields[2:], card.line, card.claims)
        )


def _add_coupling(bulk: BulkData, card: Card) -> None:
    """Add the nodes of a coupling: the dependent ones of RBE2, the averaged ones of RBE3."""
    name = f"{card.name} {integer_field(card, 0)}"
    if card.name == "RBE2":
        entries = [text for text in card.fields[3:] if "." not in text]
    else:
        fields = [text for text in _entries_before(card.fields[4:], ("UM", "ALPHA")) if text]
        weights = {
            k for k, text in enumerate(fields) if not re.fullmatch(r"\d+|THRU", text.upper())
        }
        # components follow each weight
        entries = [text for k, text in enumerate(fields) if not {k, k - 1} & weights]
    bulk.node_sets[name] = listed_numbers(entries, card.line, card.claims)
    bulk.notices.append(
        f"{name} omitted: its nodes are the set '{name}'; declare an interface there"
    )


def _entries_before(entries: list[str], ends: tuple[str, ...]) -> list[str]:
    """Entries before the first of the words ``ends``."""
    end = next((k for k, entry in enumerate(entries) if entry.upper() in ends), len(entries))
    return entries[:end]


_SET_CARDS: Handlers = {
    "SPC": _add_spc,
    "SPC1": _add_spc1,
    "SET1": _add_set,
    "SET3": _add_set3,
    "RBE2": _add_coupling,
    "RBE3": _add_coupling,
}
# the handler of each card that is read, without and with structural elements
MESH_CARDS: Handlers = {
    "GRID": _add_grid,
    **dict.fromkeys(SOLIDS, _add_solid),
    **dict.fromkeys(SHELLS, _add_skin),
    **_SET_CARDS,
}
STRUCTURAL_CARDS: Handlers = {
    **MESH_CARDS,
    **dict.fromkeys(SOLIDS, functools.partial(_add_solid, structural=True)),
    **dict.fromkeys(STRUCTURAL, _add_structure),
    "CTRIAX6": _add_revolved,
    **dict.fromkeys(MATERIALS, _add_material),
    **dict.fromkeys(POINTS, _add_point),
    "BEGIN": _refuse_superelement,
}

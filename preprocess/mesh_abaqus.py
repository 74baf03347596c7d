"""Reader of Abaqus and CalculiX input files: nodes, elements, node and element sets, surfaces, parts and instances, includes.

Other keywords are skipped; what joins or loads the solid with mass is told.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.page.inputs import read_text
from preprocess.abaqus_assembly import Reading, Rows, add_instance, instance_motion, number_apart, split, with_plain_names
from preprocess.abaqus_surfaces import outer_faces, same_name, surface_nodes
from preprocess.mesh_include import Includes
from preprocess.mesh_tables import extracted

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Solid types with their meshio name and number of nodes; those of second order number their edges as VTK does.
SOLID_TYPES = {
    "C3D4": ("tetra", 4),
    "C3D10": ("tetra10", 10),
    "C3D8": ("hexahedron", 8),
    "C3D20": ("hexahedron20", 20),
    "C3D6": ("wedge", 6),
    "C3D15": ("wedge15", 15),
}
SUFFIXES = "RHIMST"  # variants of the same element: reduced integration, hybrid, incompatible modes, modified, …
# Types that mesh generators write for named edges and faces; anything else is a structure of its own.
SKIN_TYPES = {
    "T3D2": ("line", 2),
    "T3D3": ("line3", 3),
    "CPS3": ("triangle", 3),
    "CPS6": ("triangle6", 6),
    "CPS4": ("quad", 4),
    "CPS8": ("quad8", 8),
    "SFM3D3": ("triangle", 3),
    "SFM3D6": ("triangle6", 6),
    "SFM3D4": ("quad", 4),
    "SFM3D8": ("quad8", 8),
}

LONGEST_SET = 10**7
JOIN, MASS = "declare couplings as interfaces, merge the nodes of parts that are one", "attach such masses with PointMass"
SETS = "name its faces in one *SURFACE of elements, or its nodes in a *NSET"
LEFT_OUT = dict.fromkeys(
    ("TIE", "COUPLING", "KINEMATIC COUPLING", "DISTRIBUTING COUPLING", "MPC", "EQUATION", "RIGID BODY", "EMBEDDED ELEMENT",
     "SHELL TO SOLID COUPLING", "CYCLIC SYMMETRY MODEL"), JOIN,
) | {"NONSTRUCTURAL MASS": MASS}  # fmt: skip
MASS_TYPES = ("MASS", "ROTARYI")
# What makes nodes and elements, or moves them, without listing them.
GENERATORS = (
    "SYSTEM", "NGEN", "NFILL", "NCOPY", "NMAP", "ELGEN", "ELCOPY", "TET MESH", "SYMMETRIC MODEL GENERATION",
)  # fmt: skip


@dataclass
class Deck:
    """Content of the file; sets hold places of points (node sets) and element numbers (element sets)."""

    points: Array
    node_ids: Indices
    elements: list[tuple[str, Indices, Indices]]
    node_sets: dict[str, Indices]
    element_sets: dict[str, Indices]
    notices: tuple[str, ...] = ()


def read_abaqus(path: Path) -> Deck:
    """Deck of an input file. Raises InputError with the line for anything malformed or unsupported."""
    model, parts = Reading(), dict[str, Reading]()
    stack: list[tuple[Reading, str, tuple[Array, Array]]] = [(model, "", (np.eye(3), np.zeros(3)))]
    left: Counter[tuple[str, str]] = Counter()
    for keyword, options, line, rows, table in _blocks(path):
        told = _left_out(keyword, options, len(rows))
        if told is not None:
            left[told[:2]] += told[2]
        elif keyword == "PART":
            parts[_name(options, line, keyword).upper()] = part = Reading()
            stack.append((part, "", stack[0][2]))
        elif keyword == "INSTANCE":
            name, part_name = _name(options, line, keyword), options.get("PART", "").upper()
            if part_name not in parts:
                raise _fail(line, f"*INSTANCE '{name}' is of part '{part_name}', which is not there; it has: {', '.join(parts)}")
            stack.append((parts[part_name].copy(), name, instance_motion(rows)))
        elif keyword in ("END PART", "END INSTANCE"):
            if len(stack) == 1:
                raise _fail(line, f"*{keyword} without its beginning")
            reading, name, motion = stack.pop()
            if keyword == "END INSTANCE":
                add_instance(stack[-1][0], name, reading, motion)
        elif keyword in _KEYWORDS:
            reading = stack[-1][0]
            if keyword == "NODE" and reading.shifts and not reading.own[0]:
                number_apart(reading)
            if table is not None:
                _TABLES[keyword](reading, options, line, table)
            _KEYWORDS[keyword](reading, options, line, rows)
        elif keyword in GENERATORS and (rows or keyword != "SYSTEM"):
            raise _fail(line, f"*{keyword} is not read: with it the file does not list its mesh; export the mesh in full")
    if not model.shifts and len(parts) == 1 and not model.nodes:
        (model,) = parts.values()
    if not model.nodes:
        raise InputError(f"{path}: has no *NODE block; expected an Abaqus input file")
    notices = tuple(f"{n} {what} left out; {mend}" for (what, mend), n in sorted(left.items()))
    return _deck(path, with_plain_names(model), notices)


def _left_out(keyword: str, options: dict[str, str], count: int) -> tuple[str, str, int] | None:
    """What of a block is told as left out, its mend, and how often it occurs; None for blocks that are read or without meaning
    for a mesh."""
    kind = options.get("TYPE", "").upper()
    if keyword in LEFT_OUT:
        return f"*{keyword}", LEFT_OUT[keyword], 1
    if keyword == "ELEMENT" and kind in MASS_TYPES:
        return f"{kind} elements", MASS, count
    if keyword == "SURFACE" and (kind not in ("", "ELEMENT", "NODE") or "CROP" in options):
        return f"*SURFACE, {f'TYPE={kind}' if kind else 'CROP'}", SETS, 1
    return None


def _fail(line: str, message: str) -> InputError:
    return InputError(f"{line}: {message}")


def _name(options: dict[str, str], line: str, keyword: str) -> str:
    if not options.get("NAME"):
        raise _fail(line, f"*{keyword} has no NAME=")
    return options["NAME"]


Block = tuple[str, dict[str, str], str, Rows, Array | None]


def _blocks(path: Path) -> Iterator[Block]:
    """Keyword, options, place, data rows and the table before them of each keyword block, through all included files."""
    includes = Includes(path)
    current: tuple[str, dict[str, str], str] | None = None
    rows: Rows = []
    table: Array | None = None
    extract = extracted(read_text(path), _columns)
    for line, text in _lines(str(path), extract.text.splitlines(), includes):
        if text.startswith("*"):
            if current:
                yield *current, rows, table
            keyword, options = _options(text)
            current, rows, table = (keyword, options, line), [], None
            if "INPUT" in options and keyword != "INCLUDE":
                rows += _included(options["INPUT"], line, includes)
        elif text in extract.tables:
            table = extract.tables[text]
        elif current:
            rows.append((line, text))
    if current:
        yield *current, rows, table


def _columns(header: str) -> int:
    """Numbers on each line below a keyword line *NODE or *ELEMENT, where it can be read as a table; else 0."""
    keyword, options = _options(header)
    if "INPUT" in options:
        return 0
    if keyword == "NODE":
        return 4 if options.get("SYSTEM", "R").upper() == "R" else 0
    size = _type(options.get("TYPE", "").upper())[1]
    return size + 1 if size else 0


def _included(name: str, where: str, includes: Includes) -> Iterator[tuple[str, str]]:
    yield from _lines(name, includes.lines(where, name), includes)
    includes.close()


def _options(text: str) -> tuple[str, dict[str, str]]:
    """Keyword and options of a keyword line."""
    name, *options = split(text[1:])
    pairs = (option.partition("=") for option in options)
    return " ".join(name.upper().split()), {key.strip().upper(): value.strip().strip('"') for key, _, value in pairs}


def _lines(source: str, lines: list[str], includes: Includes) -> Iterator[tuple[str, str]]:
    """Place and text of the lines that say something; keyword lines joined where they go on after a comma, includes followed."""
    carried, begun = "", ""
    for number, raw in enumerate(lines, 1):
        text = raw.strip()
        if not text or text.startswith("**"):
            continue
        if carried:
            text, where = carried + text, begun
        else:
            where = f"{source}:{number}"
        carried, begun = (text, where) if text.startswith("*") and text.endswith(",") else ("", "")
        if carried:
            continue
        keyword, options = _options(text) if text[:8].upper() == "*INCLUDE" else ("", {})
        if keyword == "INCLUDE":
            yield from _included(options.get("INPUT", ""), where, includes)
        else:
            yield where, text
    if carried:
        yield begun, carried


def _numbers(line: str, fields: list[str]) -> list[int]:
    try:
        return [int(f) for f in fields if f]
    except ValueError:
        raise _fail(line, f"expected whole numbers, found '{', '.join(fields)[:60]}'") from None


def _table(texts: list[str], dtype: type, width: int) -> np.ndarray | None:
    """Rows of numbers (n, width), fast; None where lines need to be looked at one by one."""
    if len(texts) % 2 == 0 and texts[:1] and texts[0].endswith(",") and texts[0].count(",") < width:
        texts = [a + b for a, b in zip(texts[::2], texts[1::2])]  # each row on two lines
    if not texts or any(text.count(",") != width - 1 for text in texts):
        return None
    try:
        return np.loadtxt(texts, dtype, delimiter=",", comments=None, ndmin=2)
    except (ValueError, OverflowError):
        return None


def _node(reading: Reading, options: dict[str, str], line: str, rows: Rows) -> None:
    if options.get("SYSTEM", "R").upper() != "R":
        raise _fail(line, f"*NODE, SYSTEM={options['SYSTEM']} is not read; give the nodes in rectangular coordinates")
    table = _table([text for _, text in rows], float, 4)
    if table is not None and (np.abs(table[:, 0]) < 2**53).all() and (table[:, 0] % 1 == 0).all():
        _node_table(reading, options, line, table)
        return
    for number, text in rows:
        fields = split(text)
        try:
            node, position = int(fields[0]) + reading.own[0], tuple(float(f.upper().replace("D", "E") or 0) for f in fields[1:4])
        except ValueError:
            raise _fail(number, f"expected a node: number, x, y, z; found '{', '.join(fields)[:60]}'") from None
        if len(position) != 3:
            raise _fail(number, f"node {node} has {len(position)} coordinates; a solid mesh has 3")
        reading.nodes[node] = position
        if "NSET" in options:
            _set_of(reading.node_sets, options["NSET"]).append(node)


def _node_table(reading: Reading, options: dict[str, str], line: str, table: Array) -> None:
    numbers = (table[:, 0].astype(np.int64) + reading.own[0]).tolist()
    reading.nodes.update(zip(numbers, map(tuple, table[:, 1:].tolist())))
    if "NSET" in options:
        _set_of(reading.node_sets, options["NSET"]).extend(numbers)


def _element_table(reading: Reading, options: dict[str, str], line: str, table: Array) -> None:
    name, _ = _type(options["TYPE"].upper())
    members = table.astype(np.int64)
    if not np.array_equal(members, table):
        raise _fail(line, "expected whole numbers below it")
    up, up_e = reading.own
    numbers = (members[:, 0] + up_e).tolist()
    twice = reading.elements.keys() & set(numbers)
    if twice:
        raise _fail(line, f"element number {min(twice) - up_e} occurs twice")
    reading.elements.update(zip(numbers, ((name, row) for row in (members[:, 1:] + up).tolist())))
    if "ELSET" in options:
        _set_of(reading.element_sets, options["ELSET"]).extend(numbers)


def _element(reading: Reading, options: dict[str, str], line: str, rows: Rows) -> None:
    kind = options.get("TYPE", "").upper()
    if not kind:
        raise _fail(line, "*ELEMENT has no TYPE=")
    name, size = _type(kind)
    table = _table([text for _, text in rows], np.int64, size + 1) if size else None
    up, up_e = reading.own
    if (
        table is not None
        and len(np.unique(table[:, 0])) == len(table)
        and reading.elements.keys().isdisjoint((table[:, 0] + up_e).tolist())
    ):
        _element_table(reading, options, line, table)
        return
    fields: list[int] = []
    for number, text in rows:
        fields += _numbers(number, split(text))
        if size and len(fields) >= size + 1:
            if len(fields) > size + 1:
                raise _fail(number, f"element {fields[0]} ({kind}) has {len(fields) - 1} nodes; it needs {size}")
            element = fields[0] + up_e
            if element in reading.elements:
                raise _fail(number, f"element number {fields[0]} occurs twice")
            reading.elements[element] = (name, [node + up for node in fields[1:]])
            if "ELSET" in options:
                _set_of(reading.element_sets, options["ELSET"]).append(element)
            fields = []
    if size and fields:
        raise _fail(rows[-1][0], f"element {fields[0]} ({kind}) has {len(fields) - 1} nodes; it needs {size}")
    if not size and rows:
        raise _fail(line, f"{len(rows)} line(s) of element type {kind} cannot be used; export {', '.join(SOLID_TYPES)} only")


def _type(kind: str) -> tuple[str, int]:
    """meshio's name and the number of nodes; ("", 0) for an unsupported type."""
    if kind in SKIN_TYPES:
        return SKIN_TYPES[kind]
    base = re.match(r"C3D\d+", kind)
    if base and set(kind[base.end() :]) <= set(SUFFIXES):
        return SOLID_TYPES.get(base.group(), ("", 0))
    return "", 0


def _set(reading: Reading, nodes: bool, options: dict[str, str], line: str, rows: Rows) -> None:
    """Add the members to a node set, or to an element set."""
    sets, name = (reading.node_sets, options.get("NSET")) if nodes else (reading.element_sets, options.get("ELSET"))
    if not name:
        raise _fail(line, "a set has no name")
    instance = options.get("INSTANCE", "")
    if instance and instance.upper() not in reading.shifts:
        raise _fail(line, f"set '{name}' is of instance '{instance}', which is not there")
    shift = (reading.shifts[instance.upper()] if instance else reading.own)[int(not nodes)]
    members = _set_of(sets, name)
    for number, text in rows:
        entries = [f for f in split(text) if f]
        if "GENERATE" in options:
            members += _range(name, number, entries, shift)
        else:
            members += [n for entry in entries for n in _members(reading, sets, name, (number, entry, instance, shift))]
        if len(members) > LONGEST_SET:
            raise _fail(number, f"set '{name}' has more than {LONGEST_SET} members; the file is damaged")


def _range(name: str, line: str, entries: list[str], shift: int) -> range:
    """First, last, step."""
    first, last, *step = _numbers(line, entries) if len(entries) in (2, 3) else [0, -1]
    if last < first or (step and step[0] < 1):
        raise _fail(line, f"expected first, last, step; found '{', '.join(entries)[:60]}'")
    if last - first > LONGEST_SET:
        raise _fail(line, f"set '{name}' claims {last - first} members")
    return range(first + shift, last + shift + 1, *step)


def _members(reading: Reading, sets: dict[str, list[int]], name: str, entry: tuple[str, str, str, int]) -> list[int]:
    """Members that one entry names: a number, a set, or either of an instance as "instance.entry"."""
    line, text, instance, shift = entry
    if re.fullmatch(r"\d{1,15}", text):
        return [int(text) + shift]
    found = same_name(sets, f"{instance}.{text}" if instance else text)
    if found is not None and sets[found] is not sets.get(same_name(sets, name) or ""):
        return sets[found]
    owner, _, number = text.rpartition(".")
    if owner.upper() in reading.shifts and re.fullmatch(r"\d{1,15}", number):
        return [int(number) + reading.shifts[owner.upper()][int(sets is reading.element_sets)]]
    raise _fail(line, f"set '{name}' refers to '{text[:60]}', which is not defined before it")


def _set_of(sets: dict[str, list[int]], name: str) -> list[int]:
    """The set of that name, in any case of letters; a new one under the name as it is first written."""
    return sets.setdefault(same_name(sets, name) or name, [])


def _nset(reading: Reading, options: dict[str, str], line: str, rows: Rows) -> None:
    if "ELSET" not in options:
        _set(reading, True, options, line, rows)
        return
    chosen = same_name(reading.element_sets, options["ELSET"])
    numbers = reading.element_sets[chosen] if chosen else []
    nodes = [node for e in numbers if e in reading.elements for node in reading.elements[e][1]]
    _set_of(reading.node_sets, options.get("NSET", "")).extend(nodes)


def _elset(reading: Reading, options: dict[str, str], line: str, rows: Rows) -> None:
    _set(reading, False, options, line, rows)


def _surface(reading: Reading, options: dict[str, str], line: str, rows: Rows) -> None:
    name = options.get("NAME", "")
    if not name:
        raise _fail(line, "*SURFACE has no NAME=")
    of_nodes = options.get("TYPE", "ELEMENT").upper() == "NODE"
    sides = (split(text) for _, text in rows)
    parts = [(_raised(fields[0], reading.own[int(not of_nodes)]), fields[1].upper() if fields[1:] else "") for fields in sides]
    if "COMBINE" in options:
        of_nodes, parts = _combined(reading, options["COMBINE"], line, rows)
    reading.surfaces[name] = parts
    if of_nodes:
        reading.node_surfaces.append(name)


def _raised(item: str, up: int) -> str:
    return str(int(item) + up) if item.isdecimal() else item


def _combined(reading: Reading, how: str, line: str, rows: Rows) -> tuple[bool, list[tuple[str, str]]]:
    """Whether a union of surfaces is one of nodes, and its parts."""
    items = [item for _, text in rows for item in split(text) if item]
    found = [same_name(reading.surfaces, item) for item in items]
    if how.upper() != "UNION" or None in found or len({name in reading.node_surfaces for name in found}) != 1:
        raise _fail(line, f"*SURFACE, COMBINE={how} of {', '.join(items)[:60]} is not read; {SETS}")
    return found[0] in reading.node_surfaces, [part for name in found for part in reading.surfaces[str(name)]]


_TABLES = {"NODE": _node_table, "ELEMENT": _element_table}
_KEYWORDS = {"NODE": _node, "ELEMENT": _element, "NSET": _nset, "ELSET": _elset, "SURFACE": _surface}


def _deck(path: Path, reading: Reading, notices: tuple[str, ...]) -> Deck:
    """Arrays of what was read, with places instead of node numbers."""
    node_ids = np.array(list(reading.nodes), dtype=np.int64)
    place = {node: n for n, node in enumerate(reading.nodes)}
    by_type: dict[str, tuple[list[list[int]], list[int]]] = {}
    for number, (kind, nodes) in reading.elements.items():
        rows, ids = by_type.setdefault(kind, ([], []))
        rows.append(nodes)
        ids.append(number)
    sets = {name: [place[n] for n in nodes if n in place] for name, nodes in reading.node_sets.items()}
    outer = outer_faces(reading) if any(not face for parts in reading.surfaces.values() for _, face in parts) else {}
    for name in reading.surfaces:
        own = name if same_name(sets, name) is None else f"surface {name}"
        sets[own] = [place[n] for n in surface_nodes(path, reading, name, outer)]
    return Deck(
        points=np.array(list(reading.nodes.values())),
        node_ids=node_ids,
        elements=[
            (kind, _places(path, node_ids, rows, ids), np.array(ids, dtype=np.int64)) for kind, (rows, ids) in by_type.items()
        ],
        node_sets={name: np.unique(np.array(places, dtype=np.int64)) for name, places in sets.items()},
        element_sets={name: np.unique(np.array(ids, dtype=np.int64)) for name, ids in reading.element_sets.items()},
        notices=notices,
    )


def _places(path: Path, node_ids: Indices, rows: list[list[int]], ids: list[int]) -> Indices:
    """Places of the nodes of elements. Raises InputError naming elements and the nodes that are not there."""
    order = np.argsort(node_ids, kind="stable")
    wanted = np.array(rows, dtype=np.int64)
    at = order[np.minimum(np.searchsorted(node_ids, wanted, sorter=order), len(order) - 1)]
    missing = np.argwhere(node_ids[at] != wanted)
    if len(missing):
        raise InputError(
            *(
                f"{path}: element {ids[row]} refers to node {wanted[row, column]}, which is not there; complete the nodes"
                for row, column in missing[:5]
            )
        )
    return at

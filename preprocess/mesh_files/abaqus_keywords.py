"""Keyword blocks of Abaqus files that define the mesh: nodes, elements, sets, surfaces."""

import re

import numpy as np
from numpy.typing import NDArray

from preprocess.mesh_files import plain_numbers
from preprocess.mesh_files.abaqus_assembly import AbaqusContent, Rows, split
from preprocess.mesh_files.abaqus_blocks import element_type, error_at, unsupported
from preprocess.mesh_files.abaqus_fields import real
from preprocess.mesh_files.abaqus_surfaces import same_name
from preprocess.mesh_files.claims import NODE

Array = NDArray[np.float64]

# further nodes in the line, of incompatible modes, are ignored as CalculiX does
INTERNAL = ("C3D8", "C3D8I")
# number of members of a set; guards against allocating memory for damaged files
SETS = "name its faces in one *SURFACE of elements, or its nodes in a *NSET"


def _numbers(line: str, fields: list[str]) -> list[int]:
    """Integers of the fields. Raises `InputError`."""
    try:
        return [plain_numbers.whole(f) for f in fields if f]
    except ValueError:
        raise error_at(line, f"expected integers, found '{', '.join(fields)[:60]}'") from None


def _reals(line: str, fields: list[str]) -> list[float]:
    """Numbers of the fields without empty ones at the end."""
    while fields and not fields[-1]:
        fields = fields[:-1]
    return [real(line, field) for field in fields]


def _table(texts: list[str], dtype: type, width: int) -> np.ndarray | None:
    """Rows of numbers (n, width), parsed at once; None if lines must be parsed one by one."""
    if len(texts) % 2 == 0 and texts[:1] and texts[0].endswith(",") and texts[0].count(",") < width:
        texts = [a + b for a, b in zip(texts[::2], texts[1::2])]  # each row on two lines
    if not texts or any(text.count(",") != width - 1 for text in texts):
        return None
    try:
        return np.loadtxt(texts, dtype, delimiter=",", comments=None, ndmin=2)
    except (ValueError, OverflowError):
        return None


def _node(reading: AbaqusContent, options: dict[str, str], line: str, rows: Rows) -> None:
    """Add the nodes of *NODE. Raises `InputError`."""
    kind = options.get("SYSTEM", "R").upper()[:1]
    if kind not in ("R", "C"):
        raise error_at(
            line,
            f"*NODE, SYSTEM={options['SYSTEM']} is not supported; give the nodes in "
            "rectangular coordinates",
        )
    table = _table([text for _, text in rows], float, 4)
    if table is not None and (np.abs(table[:, 0]) < 2**53).all() and (table[:, 0] % 1 == 0).all():
        _node_table(reading, options, line, table)
        return
    new: list[int] = []
    for number, text in rows:
        fields = split(text)
        try:
            coordinates = [*fields[1:7], *[""] * 6][:6]  # omitted ones are zero
            node, values = (
                plain_numbers.whole(fields[0]) + reading.own[0],
                [plain_numbers.real(f or "0") for f in coordinates],
            )
        except ValueError:
            raise error_at(
                number, f"expected a node: number, x, y, z; found '{', '.join(fields)[:60]}'"
            ) from None
        reading.nodes[node] = tuple(values[:3])
        if any(values[3:]):
            reading.normals.append(("", str(node), tuple(values[3:]), number))
        new.append(node)
        if "NSET" in options:
            set_named(reading.node_sets, options["NSET"]).append(node)
    _place(reading, kind, new)


def _generated(reading: AbaqusContent, options: dict[str, str], line: str, rows: Rows) -> None:
    """Nodes at equal distances on the line between two nodes: first, last, step of the numbers."""
    if "LINE" in options:
        raise error_at(
            line,
            f"*NGEN, LINE={options['LINE']} is not supported; give nodes on straight "
            "lines, or list them",
        )
    for number, text in rows:
        first, last, step = [*_numbers(number, split(text)[:3]), *(1, 1, 1)][:3]
        count, rest = divmod(last - first, step) if step > 0 else (0, 1)
        missing = [node for node in (first, last) if node + reading.own[0] not in reading.nodes]
        if missing:
            raise error_at(number, f"*NGEN: node {missing[0]} does not exist; define it before")
        if count < 1 or rest:
            raise error_at(
                number,
                f"*NGEN: from {first} to {last} by {step} is not a whole number of steps; "
                "correct the line",
            )
        reading.claims.add(number, count, "nodes", NODE)
        nodes = [first + k * step + reading.own[0] for k in range(count + 1)]
        a, b = (np.array(reading.nodes[nodes[k]]) for k in (0, -1))
        reading.nodes.update(
            zip(nodes[1:-1], map(tuple, np.linspace(a, b, count + 1)[1:-1].tolist()))
        )
        if "NSET" in options:
            set_named(reading.node_sets, options["NSET"]).extend(nodes)


def _place(reading: AbaqusContent, kind: str, numbers: list[int]) -> None:
    """Nodes from their coordinates, rectangular or cylindrical, in the system of *SYSTEM."""
    if not numbers or (kind == "R" and reading.system is None):
        return
    x = np.array([reading.nodes[number] for number in numbers], dtype=float)
    if kind == "C":
        angle = np.radians(x[:, 1])
        x = np.column_stack([x[:, 0] * np.cos(angle), x[:, 0] * np.sin(angle), x[:, 2]])
    if reading.system is not None:
        x = reading.system[0] + x @ reading.system[1].T
    reading.nodes.update(zip(numbers, map(tuple, x.tolist())))


def _system(reading: AbaqusContent, options: dict[str, str], line: str, rows: Rows) -> None:
    """Origin, point on the first axis, and point in the plane of the first two axes.

    Without the last point the third axis is z; a *SYSTEM without lines ends the system.
    """
    reading.system = None
    if not rows:
        return
    given = [_reals(number, split(text)) for number, text in rows[:2]]
    if len(given[0]) not in (3, 6) or (
        len(given) > 1 and (len(given[0]) != 6 or len(given[1]) != 3)
    ):
        raise error_at(
            line,
            "*SYSTEM needs the origin, or it and a point on the first axis, and perhaps "
            "one in the plane of two",
        )
    origin = np.array(given[0][:3])
    first = np.array(given[0][3:]) - origin if len(given[0]) == 6 else np.array([1.0, 0.0, 0.0])
    third = (
        np.cross(first, np.array(given[1]) - origin)
        if len(given) > 1
        else np.array([0.0, 0.0, 1.0])
    )
    second = np.cross(third, first)
    if not np.linalg.norm(second) > 1e-9 * np.linalg.norm(third) * np.linalg.norm(first):
        raise error_at(
            line, "*SYSTEM: its points are collinear, or its first axis is along z; give others"
        )
    axes = np.column_stack([np.cross(second, third), second, third])
    reading.system = origin, np.asarray(axes / np.linalg.norm(axes, axis=0))


def _normal(reading: AbaqusContent, options: dict[str, str], line: str, rows: Rows) -> None:
    """Element, node (or sets of them) and direction of a shell normal or a second beam axis."""
    if options.get("TYPE", "ELEMENT").upper() != "ELEMENT":
        return  # of contact surfaces
    for number, text in rows:
        element, node, *direction = [*split(text), "", ""]
        values = _reals(number, direction[:3])
        if len(values) != 3 or not any(values) or not element or not node:
            raise error_at(
                number, f"*NORMAL: expected element, node and three components; found '{text[:60]}'"
            )
        up, up_e = reading.own
        reading.normals.append((_raised(element, up_e), _raised(node, up), tuple(values), number))


def _node_table(reading: AbaqusContent, options: dict[str, str], line: str, table: Array) -> None:
    """Add the nodes of *NODE from a table of numbers."""
    numbers = (table[:, 0].astype(np.int64) + reading.own[0]).tolist()
    reading.nodes.update(zip(numbers, map(tuple, table[:, 1:].tolist())))
    _place(reading, options.get("SYSTEM", "R").upper()[:1], numbers)
    if "NSET" in options:
        set_named(reading.node_sets, options["NSET"]).extend(numbers)


def _element_table(
    reading: AbaqusContent, options: dict[str, str], line: str, table: Array
) -> None:
    """Add the elements of *ELEMENT from a table of integers. Raises `InputError`."""
    name, _ = element_type(options["TYPE"].upper(), reading.structural)
    if not name:
        _refuse(reading, options["TYPE"].upper(), line, len(table))
    with np.errstate(invalid="ignore"):  # of numbers that the check rejects
        members = table.astype(np.int64)
    if not np.array_equal(members, table):
        raise error_at(line, "expected integers below it")
    up, up_e = reading.own
    numbers = (members[:, 0] + up_e).tolist()
    twice = reading.elements.keys() & set(numbers)
    if twice:
        raise error_at(line, f"element number {min(twice) - up_e} occurs twice")
    reading.elements.update(zip(numbers, ((name, row) for row in (members[:, 1:] + up).tolist())))
    if "ELSET" in options:
        set_named(reading.element_sets, options["ELSET"]).extend(numbers)


def _refuse(reading: AbaqusContent, kind: str, line: str, count: int) -> None:
    """Raise `InputError` for an element type that is not supported."""
    raise error_at(
        line,
        f"{count} line(s) of element type {kind} are not supported; "
        f"{unsupported(kind, reading.structural)}",
    )


def _element(reading: AbaqusContent, options: dict[str, str], line: str, rows: Rows) -> None:
    """Add the elements of *ELEMENT. Raises `InputError`."""
    kind = options.get("TYPE", "").upper()
    if not kind:
        raise error_at(line, "*ELEMENT has no TYPE=")
    name, size = element_type(kind, reading.structural)
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
        if kind in INTERNAL:
            del fields[size + 1 :]
        if size and len(fields) >= size + 1:
            if len(fields) == size + 2 and kind.startswith("B3") and reading.structural:
                reading.beside[fields[0] + up_e] = fields.pop() + up
            if len(fields) > size + 1:
                raise error_at(
                    number,
                    f"element {fields[0]} ({kind}) has {len(fields) - 1} nodes; it needs {size}",
                )
            element = fields[0] + up_e
            if element in reading.elements:
                raise error_at(number, f"element number {fields[0]} occurs twice")
            reading.elements[element] = (name, [node + up for node in fields[1:]])
            if "ELSET" in options:
                set_named(reading.element_sets, options["ELSET"]).append(element)
            fields = []
    if size and fields:
        raise error_at(
            rows[-1][0],
            f"element {fields[0]} ({kind}) has {len(fields) - 1} nodes; it needs {size}",
        )
    if not size and rows:
        raise error_at(
            line,
            f"{len(rows)} line(s) of element type {kind} are not supported; "
            f"{unsupported(kind, reading.structural)}",
        )


def _set(
    reading: AbaqusContent, nodes: bool, options: dict[str, str], line: str, rows: Rows
) -> None:
    """Add the members to a node set, or to an element set."""
    sets, name = (
        (reading.node_sets, options.get("NSET"))
        if nodes
        else (reading.element_sets, options.get("ELSET"))
    )
    if not name:
        raise error_at(line, "a set has no name")
    instance = options.get("INSTANCE", "")
    if instance and instance.upper() not in reading.shifts:
        raise error_at(line, f"set '{name}' is of instance '{instance}', which does not exist")
    shift = (reading.shifts[instance.upper()] if instance else reading.own)[int(not nodes)]
    members = set_named(sets, name)
    for number, text in rows:
        entries = [f for f in split(text) if f]
        if "GENERATE" in options:
            members += _range(reading, number, entries, shift)
        else:
            members += [
                n
                for entry in entries
                for n in _members(reading, sets, name, (number, entry, instance, shift))
            ]


def _range(reading: AbaqusContent, line: str, entries: list[str], shift: int) -> range:
    """Numbers first, last, step of a generated set."""
    first, last, *step = _numbers(line, entries) if len(entries) in (2, 3) else [0, -1]
    if last < first or (step and step[0] < 1):
        raise error_at(line, f"expected first, last, step; found '{', '.join(entries)[:60]}'")
    return reading.claims.range(line, first + shift, last + shift, *step)


def _members(
    reading: AbaqusContent, sets: dict[str, list[int]], name: str, entry: tuple[str, str, str, int]
) -> list[int]:
    """Members of one entry: a number, a set, or either of an instance as "instance.entry"."""
    line, text, instance, shift = entry
    if re.fullmatch(r"\d{1,15}", text):
        return [int(text) + shift]
    found = same_name(sets, f"{instance}.{text}" if instance else text)
    if found is not None and sets[found] is not sets.get(same_name(sets, name) or ""):
        reading.claims.add(line, len(sets[found]))
        return sets[found]
    owner, _, number = text.rpartition(".")
    if owner.upper() in reading.shifts and re.fullmatch(r"\d{1,15}", number):
        return [int(number) + reading.shifts[owner.upper()][int(sets is reading.element_sets)]]
    raise error_at(line, f"set '{name}' refers to '{text[:60]}', which is not defined before it")


def set_named(sets: dict[str, list[int]], name: str) -> list[int]:
    """Set of that name, case-insensitive; a new one keeps the name as first written."""
    return sets.setdefault(same_name(sets, name) or name, [])


def _nset(reading: AbaqusContent, options: dict[str, str], line: str, rows: Rows) -> None:
    """Add the nodes of *NSET, also those of an element set."""
    if "ELSET" not in options:
        _set(reading, True, options, line, rows)
        return
    chosen = same_name(reading.element_sets, options["ELSET"])
    numbers = reading.element_sets[chosen] if chosen else []
    nodes = [node for e in numbers if e in reading.elements for node in reading.elements[e][1]]
    reading.claims.add(line, len(nodes))
    set_named(reading.node_sets, options.get("NSET", "")).extend(nodes)


def _elset(reading: AbaqusContent, options: dict[str, str], line: str, rows: Rows) -> None:
    """Add the elements of *ELSET."""
    _set(reading, False, options, line, rows)


def _surface(reading: AbaqusContent, options: dict[str, str], line: str, rows: Rows) -> None:
    """Add the faces or nodes of *SURFACE. Raises `InputError`."""
    name = options.get("NAME", "")
    if not name:
        raise error_at(line, "*SURFACE has no NAME=")
    of_nodes = options.get("TYPE", "ELEMENT").upper() == "NODE"
    sides = (split(text) for _, text in rows)
    parts = [
        (
            _raised(fields[0], reading.own[int(not of_nodes)]),
            fields[1].upper() if fields[1:] else "",
        )
        for fields in sides
    ]
    if "COMBINE" in options:
        of_nodes, parts = _combined(reading, options["COMBINE"], line, rows)
    reading.surfaces[name] = parts
    if of_nodes:
        reading.node_surfaces.append(name)


def _raised(item: str, up: int) -> str:
    """Number raised by an offset; names unchanged."""
    return str(int(item) + up) if item.isdecimal() else item


def _combined(
    reading: AbaqusContent, how: str, line: str, rows: Rows
) -> tuple[bool, list[tuple[str, str]]]:
    """True for a union of surfaces that consists of nodes, and its parts."""
    items = [item for _, text in rows for item in split(text) if item]
    found = [same_name(reading.surfaces, item) for item in items]
    if (
        how.upper() != "UNION"
        or None in found
        or len({name in reading.node_surfaces for name in found}) != 1
    ):
        raise error_at(
            line, f"*SURFACE, COMBINE={how} of {', '.join(items)[:60]} is not supported; {SETS}"
        )
    united = [reading.surfaces[str(name)] for name in found]
    reading.claims.add(line, sum(map(len, united)), "parts of surfaces")
    return found[0] in reading.node_surfaces, [part for parts in united for part in parts]


TABLES = {"NODE": _node_table, "ELEMENT": _element_table}
KEYWORDS = {
    "NODE": _node,
    "NGEN": _generated,
    "ELEMENT": _element,
    "NSET": _nset,
    "ELSET": _elset,
    "SURFACE": _surface,
    "SYSTEM": _system,
    "NORMAL": _normal,
}

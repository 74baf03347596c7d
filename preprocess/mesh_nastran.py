"""Reader of Nastran bulk data: small, large and free fields, coordinate systems, solids and their skin, sets.

Source: MSC Nastran, Quick Reference Guide, sections "Format of Bulk Data Entries" and the entries named.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.page.inputs import read_text
from preprocess.mesh_include import Includes

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Solids: meshio's names by number of nodes; the hexahedron and the wedge name their vertical edges before the upper ones.
SOLIDS = {
    "CTETRA": {4: "tetra", 10: "tetra10"},
    "CPENTA": {6: "wedge", 15: "wedge15"},
    "CHEXA": {8: "hexahedron", 20: "hexahedron20"},
}
ORDER = {
    "hexahedron20": [*range(12), 16, 17, 18, 19, 12, 13, 14, 15],
    "wedge15": [*range(9), 12, 13, 14, 9, 10, 11],
}
SKIN = {"CTRIA3": ("triangle", 3), "CTRIA6": ("triangle6", 6), "CQUAD4": ("quad", 4), "CQUAD8": ("quad8", 8)}
# What is no part of the solid and can be declared anew; the nodes become sets.
COUPLINGS = ("RBE2", "RBE3")
LEFT_OUT = re.compile(r"^(CONM[12]|RBAR|RBE1|RROD|RSPLINE|MPC(ADD)?|PLOTEL)$")
# Cards that begin with C and are no elements.
NOT_ELEMENTS = re.compile(r"^(CORD\w*|CEND|COUPMASS|CMETHOD|CSET1?|CBARAO)$")
SET3_KINDS = ("GRID", "ELEM", "ELEMENT")
LONGEST_SET = 10**7


@dataclass
class Card:
    """One entry: name, fields without the name, line where it begins."""

    name: str
    fields: list[str]
    line: str


@dataclass
class Bulk:
    """What the file says; nodes of sets and elements by number."""

    positions: dict[int, Array | tuple[float, float, float]] = field(default_factory=dict)
    solids: list[tuple[str, int, int, list[int]]] = field(default_factory=list)  # kind, number, property, nodes
    skin: list[tuple[str, int, int, list[int]]] = field(default_factory=list)
    node_sets: dict[str, list[int]] = field(default_factory=dict)
    element_sets: dict[str, list[int]] = field(default_factory=dict)
    either_sets: dict[str, list[int]] = field(default_factory=dict)  # SET1 does not say of what
    notices: list[str] = field(default_factory=list)


def read_nastran(path: Path) -> Bulk:
    """Content of a bulk data file. Raises InputError with the line for anything malformed or unsupported."""
    lines = read_text(path).splitlines()
    start = next((n for n, line in enumerate(lines) if re.match(r"\s*BEGIN\s+(BULK|SUPER)", line, re.I)), -1)
    cards = list(_cards(path, lines[start + 1 :], start + 1))
    if not any(card.name == "GRID" for card in cards):
        raise InputError(f"{path}: has no GRID card; expected Nastran bulk data (BEGIN BULK … ENDDATA)")
    bulk = Bulk(either_sets=_case_control_sets(path, lines[: max(start, 0)]))
    systems = {_whole(card, 0): card for card in cards if card.name in ("CORD2R", "CORD2C", "CORD2S")}
    default = next((_whole(card, 1, 0) for card in cards if card.name == "GRDSET"), 0)
    placed: dict[int, tuple[Array, Array]] = {0: (np.zeros(3), np.eye(3))}
    unknown: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for card in cards:
        if card.name == "GRID":
            _add_node(bulk, card, default, systems, placed)
        elif card.name in SOLIDS:
            _add_solid(bulk, card)
        elif card.name in SKIN:
            kind, count = SKIN[card.name]
            bulk.skin.append((kind, _whole(card, 0), _whole(card, 1, 0), [_whole(card, k) for k in range(2, 2 + count)]))
        elif card.name in _SET_CARDS:
            _SET_CARDS[card.name](bulk, card)
        elif LEFT_OUT.match(card.name):
            left[card.name] += 1
        elif card.name.startswith("C") and not NOT_ELEMENTS.match(card.name):
            unknown[card.name] += 1
    if unknown:
        what = " and ".join(f"{n} {name}" for name, n in sorted(unknown.items()))
        raise InputError(f"{path}: {what} elements cannot be used; export solids only ({', '.join(SOLIDS)})")
    bulk.notices += [f"{n} {name} left out: {_mend(name)}" for name, n in sorted(left.items())]
    return bulk


def _mend(name: str) -> str:
    return "attach such masses with PointMass" if name.startswith("CONM") else "declare couplings as interfaces"


def _cards(path: Path, lines: list[str], before: int) -> Iterator[Card]:
    """Entries with their continuation lines joined; INCLUDE followed."""
    includes = Includes(path)
    yield from _entries(path, lines, before, includes)


def _entries(path: Path, lines: list[str], before: int, includes: Includes) -> Iterator[Card]:
    card: Card | None = None
    for number, raw in enumerate(lines, before + 1):
        text = raw.partition("$")[0].rstrip().expandtabs(8)
        if not text.strip():
            continue
        where = f"{path}:{number}"
        included = re.match(r"\s*INCLUDE\s+(.+)$", text, re.I) if "INCLUDE" in text[:16].upper() else None
        if included:
            yield from [card] if card else []
            card = None
            yield from _entries(path, includes.lines(where, included.group(1)), 0, includes)
            includes.close()
            continue
        name, fields = _fields(text)
        if (card is not None and name.rstrip("*").strip() in ("", "+")) or name.startswith(("+", "*")):
            if card is None:
                raise InputError(f"{where}: a continuation line without a card before it: '{text.strip()[:60]}'")
            card.fields += fields
            continue
        yield from [card] if card else []
        card = None
        if name == "ENDDATA":
            return
        card = Card(name.rstrip("*").rstrip("_"), fields, where)  # meshio writes CTETRA_
    yield from [card] if card else []


def _fields(text: str) -> tuple[str, list[str]]:
    """Name and fields of a line: free with commas, large of 16 columns after a star, small of 8."""
    if "," in text[:80]:
        name, *fields = (part.strip() for part in text.split(","))
        count = 4 if name.endswith("*") or name.startswith("*") else 8
        return name.upper(), (fields + [""] * count)[:count]
    name = text[:8].strip().upper()
    width, count = (16, 4) if name.endswith("*") or name.startswith("*") else (8, 8)
    return name, [text[8 + width * k : 8 + width * (k + 1)].strip() for k in range(count)]


def _text(card: Card, place: int) -> str:
    return card.fields[place] if place < len(card.fields) else ""


def _whole(card: Card, place: int, default: int | None = None) -> int:
    """A whole number. Raises InputError naming the card."""
    text = _text(card, place)
    if text.isdecimal() and len(text) <= 15:
        return int(text)
    if not text and default is not None:
        return default
    if not re.fullmatch(r"[+-]?\d{1,15}", text):
        raise InputError(f"{card.line}: {card.name} field {place + 2}: expected a whole number, found '{text[:30]}'")
    return int(text)


def _real(card: Card, place: int) -> float:
    """A real number, nought when blank; Nastran may leave out the E of the exponent."""
    text = _text(card, place)
    try:
        return float(text)
    except ValueError:
        plain = text.upper().replace("D", "E")
    short = re.fullmatch(r"([+-]?(?:\d+\.?\d*|\.\d+))([+-]\d+)", plain)
    try:
        return float(f"{short.group(1)}E{short.group(2)}" if short else plain or "0")
    except ValueError:
        raise InputError(f"{card.line}: {card.name} field {place + 2}: expected a number, found '{text[:30]}'") from None


Frames = dict[int, tuple[Array, Array]]


def _add_node(bulk: Bulk, card: Card, default: int, systems: dict[int, Card], placed: Frames) -> None:
    number = _whole(card, 0)
    if number in bulk.positions:
        raise InputError(f"{card.line}: node number {number} occurs twice")
    given = _real(card, 2), _real(card, 3), _real(card, 4)
    system = _whole(card, 1, default)
    with np.errstate(invalid="ignore", over="ignore"):  # of positions that the checks refuse
        bulk.positions[number] = _in_basic(system, np.array(given), card, systems, placed) if system else given


def _in_basic(system: int, given: Array, card: Card, systems: dict[int, Card], placed: Frames, depth: int = 0) -> Array:
    """Position in the basic system of coordinates in a rectangular, cylindrical or spherical system (angles in degrees)."""
    if system == 0:
        return given
    if system not in systems or depth > len(systems):
        why = "refers to itself" if system in systems else "is not there as CORD2R, CORD2C or CORD2S"
        raise InputError(f"{card.line}: {card.name}: local coordinate system {system} {why}; export in the basic system")
    own = systems[system]
    if system not in placed:
        points = [np.array([_real(own, 2 + 3 * k + axis) for axis in range(3)]) for k in range(3)]
        A, B, C = (_in_basic(_whole(own, 1, 0), point, own, systems, placed, depth + 1) for point in points)
        placed[system] = A, _axes(own, B - A, C - A)
    origin, axes = placed[system]
    return np.asarray(origin + axes @ _rectangular(own.name, given))


def _axes(card: Card, z: Array, plane: Array) -> Array:
    """Axes (columns): z, and x in the half plane."""
    y = np.cross(z, plane)
    if not (np.linalg.norm(z) > 0 and np.linalg.norm(y) > 0):
        raise InputError(f"{card.line}: {card.name} {_whole(card, 0)}: its three points lie on one line")
    z, y = z / np.linalg.norm(z), y / np.linalg.norm(y)
    return np.column_stack([np.cross(y, z), y, z])


def _rectangular(kind: str, given: Array) -> Array:
    r, first, second = given
    theta = np.radians(first)
    if kind == "CORD2C":
        return np.array([r * np.cos(theta), r * np.sin(theta), second])
    if kind == "CORD2S":
        phi = np.radians(second)
        return r * np.array([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
    return given


def _add_solid(bulk: Bulk, card: Card) -> None:
    kinds = SOLIDS[card.name]
    fewest, most = kinds
    nodes = [_whole(card, k, 0) for k in range(2, 2 + most)]
    count = fewest if not any(nodes[fewest:]) else most
    if not all(nodes[:count]):
        missing = nodes[:count].index(0) + 1
        raise InputError(
            f"{card.line}: {card.name} {_whole(card, 0)} has no node G{missing}; it needs {fewest} or {most} nodes: give all its "
            "mid-side nodes or none"
        )
    kind = kinds[count]
    order = ORDER.get(kind, list(range(count)))
    number = _whole(card, 0)
    bulk.solids.append((kind, number, _whole(card, 1, number), [nodes[k] for k in order]))


def _numbers(entries: list[str], where: str) -> list[int]:
    """Whole numbers with ranges "a THRU b"."""
    words = [entry.upper() for entry in entries if entry]
    result: list[int] = []
    for place, word in enumerate(words):
        if word == "THRU" and 0 < place < len(words) - 1 and words[place - 1].isdigit() and words[place + 1].isdigit():
            first, last = int(words[place - 1]), int(words[place + 1])
            if last - first > LONGEST_SET:
                raise InputError(f"{where}: a set claims {last - first} members")
            result += range(first + 1, last)
        elif re.fullmatch(r"\d{1,15}", word):
            result.append(int(word))
        else:
            raise InputError(f"{where}: expected a number or THRU, found '{word[:30]}'")
    return result


def _add_spc(bulk: Bulk, card: Card) -> None:
    nodes = [_whole(card, k) for k in (1, 4) if _text(card, k)]
    bulk.node_sets.setdefault(f"SPC {_whole(card, 0)}", []).extend(nodes)


def _add_spc1(bulk: Bulk, card: Card) -> None:
    bulk.node_sets.setdefault(f"SPC {_whole(card, 0)}", []).extend(_numbers(card.fields[2:], card.line))


def _add_set(bulk: Bulk, card: Card) -> None:
    bulk.either_sets.setdefault(f"SET {_whole(card, 0)}", []).extend(_numbers(card.fields[1:], card.line))


def _add_set3(bulk: Bulk, card: Card) -> None:
    """Set of what its second field says; only nodes and elements are kept."""
    kind = _text(card, 1).upper()
    if kind in SET3_KINDS:
        sets = bulk.node_sets if kind == "GRID" else bulk.element_sets
        sets.setdefault(f"SET {_whole(card, 0)}", []).extend(_numbers(card.fields[2:], card.line))


def _add_coupling(bulk: Bulk, card: Card) -> None:
    """The nodes that a coupling joins: the dependent ones of RBE2, the averaged ones of RBE3."""
    name = f"{card.name} {_whole(card, 0)}"
    if card.name == "RBE2":
        entries = [text for text in card.fields[3:] if "." not in text]
    else:
        fields = [text for text in _before(card.fields[4:], ("UM", "ALPHA")) if text]
        weights = {k for k, text in enumerate(fields) if not re.fullmatch(r"\d+|THRU", text.upper())}
        entries = [text for k, text in enumerate(fields) if not {k, k - 1} & weights]  # components follow each weight
    bulk.node_sets[name] = _numbers(entries, card.line)
    bulk.notices.append(f"{name} left out: its nodes are the set '{name}'; declare an interface there")


def _before(entries: list[str], ends: tuple[str, ...]) -> list[str]:
    place = next((k for k, entry in enumerate(entries) if entry.upper() in ends), len(entries))
    return entries[:place]


_SET_CARDS = {
    "SPC": _add_spc,
    "SPC1": _add_spc1,
    "SET1": _add_set,
    "SET3": _add_set3,
    "RBE2": _add_coupling,
    "RBE3": _add_coupling,
}


def _case_control_sets(path: Path, lines: list[str]) -> dict[str, list[int]]:
    """SET n = 1, 2, 5 THRU 9 before BEGIN BULK; continued after a comma. Other kinds of SET are skipped."""
    sets: dict[str, list[int]] = {}
    text = "\n".join(line.partition("$")[0] for line in lines)
    for match in re.finditer(r"^\s*SET\s+(\d{1,9})\s*=\s*([\d\sTHRUthru,]+?)(?<!,)$", text, re.M):
        sets[f"SET {match.group(1)}"] = _numbers(re.split(r"[,\s]+", match.group(2).strip()), f"{path}: SET {match.group(1)}")
    return sets

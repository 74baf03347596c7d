"""Names of products and colours of solids in a STEP file, read from its text.

Netgen knows the tree of an assembly by the names of the occurrences, which several programs number
("NAUO1"), and loses the colours of solids in sub-assemblies. Both are in a few kinds of entities,
which are found without reading the geometry.

Source: ISO 10303-21:2016 (clear text encoding), 10303-44:2021 (product structure).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import NamedTuple

Colour = tuple[float, float, float]
LARGEST = 256 << 20  # bytes: searching this text takes about 20 s; larger files have no such names
DEEPEST = 12  # references from a style to its colour; eight in the files of CAD programs
# text, in which quotes are doubled, or other characters up to the end of the entity
ENTITY = re.compile(
    rb"#(\d{1,18})\s*=\s*(PRODUCT|PRODUCT_DEFINITION|PRODUCT_DEFINITION_WITH_ASSOCIATED_DOCUMENTS"
    rb"|PRODUCT_DEFINITION_FORMATION|PRODUCT_DEFINITION_FORMATION_WITH_SPECIFIED_SOURCE"
    rb"|NEXT_ASSEMBLY_USAGE_OCCURRENCE|PRODUCT_DEFINITION_SHAPE|SHAPE_DEFINITION_REPRESENTATION"
    rb"|SHAPE_REPRESENTATION_RELATIONSHIP|SHAPE_REPRESENTATION|ADVANCED_BREP_SHAPE_REPRESENTATION"
    rb"|MANIFOLD_SOLID_BREP|BREP_WITH_VOIDS|CLOSED_SHELL|STYLED_ITEM|OVER_RIDING_STYLED_ITEM"
    rb"|PRESENTATION_STYLE_ASSIGNMENT|SURFACE_STYLE_USAGE|SURFACE_SIDE_STYLE"
    rb"|SURFACE_STYLE_FILL_AREA|SURFACE_STYLE_RENDERING|SURFACE_STYLE_RENDERING_WITH_PROPERTIES"
    rb"|FILL_AREA_STYLE|FILL_AREA_STYLE_COLOUR|COLOUR_RGB"
    rb"|DRAUGHTING_PRE_DEFINED_COLOUR)\s*\(((?:'[^']*'|[^';])*)\)\s*;"
)
DEFINITIONS = ("PRODUCT_DEFINITION", "PRODUCT_DEFINITION_WITH_ASSOCIATED_DOCUMENTS")
TEXT = re.compile(r"'((?:[^']|'')*)'")
REFERENCE = re.compile(r"#(\d{1,18})")
NUMBER = re.compile(r"(?<![#\w.])[-+]?\d+\.?\d*(?:E[-+]?\d+)?")
WIDE = re.compile(r"\\X2\\((?:[0-9A-F]{4})*)\\X0\\|\\X\\([0-9A-F]{2})|\\S\\(.)")
PRE_DEFINED: dict[str, Colour] = {
    "red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1), "yellow": (1, 1, 0),
    "magenta": (1, 0, 1), "cyan": (0, 1, 1), "black": (0, 0, 0), "white": (1, 1, 1),
}  # fmt: skip


class Entity(NamedTuple):
    """Entity of the text: kind, strings, references and the text of its arguments."""

    kind: str
    texts: list[str]
    references: list[int]
    arguments: str


class Product:
    """Product: its name, colour (sRGB, 0 to 1) or None, and (labels, product) of components."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.colour: Colour | None = None
        self.components: list[tuple[tuple[str, ...], Product]] = []


def products(data: bytes) -> list[Product]:
    """Products of a text that are components of none; an empty list if it has no such entities."""
    found = {
        int(number): _entity(kind.decode(), arguments.decode("utf-8", "replace"))
        for number, kind, arguments in ENTITY.findall(data)
    }
    made: dict[int, Product] = {}
    for number, each in found.items():
        if each.kind in DEFINITIONS and (name := _product_name(number, found)):
            made[number] = Product(name)
    inner = set()
    for each in found.values():
        if each.kind != "NEXT_ASSEMBLY_USAGE_OCCURRENCE" or len(each.references) < 2:
            continue
        outer, part = each.references[:2]
        if outer in made and part in made and outer != part:
            made[outer].components.append((tuple(each.texts[:3]), made[part]))
            inner.add(part)
    for number, colour in _colours(found).items():
        if number in made:
            made[number].colour = colour
    return [product for number, product in made.items() if number not in inner]


def _entity(kind: str, arguments: str) -> Entity:
    """Entity of the text of its arguments; references within strings are none."""
    texts = [_decoded(each) for each in TEXT.findall(arguments)]
    rest = TEXT.sub("''", arguments)
    return Entity(kind, texts, [int(each) for each in REFERENCE.findall(rest)], rest)


def _decoded(text: str) -> str:
    """Text of a string with its escapes, such as ``\\X2\\00E4\\X0\\`` for ä."""

    def character(found: re.Match[str]) -> str:
        if found[1] is not None:
            return bytes.fromhex(found[1]).decode("utf-16-be", "replace")
        return chr(int(found[2], 16)) if found[2] else chr(128 + ord(found[3]) % 128)

    return WIDE.sub(character, text.replace("''", "'")).replace("\\\\", "\\")


def _product_name(number: int, found: dict[int, Entity]) -> str:
    """Name of the product of a definition: it refers to a formation, that to the product."""
    for _ in range(3):
        each = found.get(number)
        if each is None or not each.references:
            return ""
        number = each.references[0]
        product = found.get(number)
        if product and product.kind == "PRODUCT":
            named = [text.strip() for text in product.texts[1::-1] if text.strip()]  # name, then id
            return named[0] if named else ""
    return ""


def _colours(found: dict[int, Entity]) -> dict[int, Colour]:
    """Colours of definitions of products: of a solid, else the one of most of its faces."""
    styled: dict[int, Colour] = {}
    for each in found.values():
        if each.kind == "STYLED_ITEM" and each.references:
            *styles, item = each.references
            for style in styles:
                if (colour := _colour_of(style, found)) is not None:
                    styled[item] = colour
    definition = {
        number: each.references[0]
        for number, each in found.items()
        if each.kind == "PRODUCT_DEFINITION_SHAPE" and each.references
    }
    linked: dict[int, set[int]] = defaultdict(set)  # representations of the same shape
    owners: dict[int, int] = {}
    for each in found.values():
        if each.kind == "SHAPE_REPRESENTATION_RELATIONSHIP" and len(each.references) >= 2:
            linked[each.references[0]].add(each.references[1])
            linked[each.references[1]].add(each.references[0])
        if each.kind == "SHAPE_DEFINITION_REPRESENTATION" and len(each.references) >= 2:
            owners[each.references[1]] = definition.get(each.references[0], -1)
    colours: dict[int, Colour] = {}
    for representation, owner in owners.items():
        for own in (representation, *sorted(linked[representation])):
            shape = found.get(own)
            for item in shape.references if shape else ():
                colour = styled.get(item) or _of_faces(found.get(item), found, styled)
                if colour is not None:
                    colours.setdefault(owner, colour)
    return colours


def _of_faces(
    solid: Entity | None, found: dict[int, Entity], styled: dict[int, Colour]
) -> Colour | None:
    """Colour of most faces of a solid."""
    if solid is None or solid.kind not in ("MANIFOLD_SOLID_BREP", "BREP_WITH_VOIDS"):
        return None
    counted: Counter[Colour] = Counter()
    for number in solid.references:
        shell = found.get(number)
        if shell and shell.kind == "CLOSED_SHELL":
            counted.update(styled[face] for face in shell.references if face in styled)
    return counted.most_common(1)[0][0] if counted else None


def _colour_of(style: int, found: dict[int, Entity]) -> Colour | None:
    """First colour that a style leads to; styles of curves are not among the entities."""
    reached, depth = [style], 0
    while reached and depth < DEEPEST:
        further: list[int] = []
        for number in reached:
            each = found.get(number)
            if each is None:
                continue
            if each.kind == "COLOUR_RGB":
                values = [float(value) for value in NUMBER.findall(each.arguments)]
                if len(values) == 3 and all(0.0 <= value <= 1.0 for value in values):
                    return (round(values[0], 4), round(values[1], 4), round(values[2], 4))
            elif each.kind == "DRAUGHTING_PRE_DEFINED_COLOUR":
                return PRE_DEFINED.get(each.texts[0] if each.texts else "")
            further += each.references
        reached, depth = list(dict.fromkeys(further))[:64], depth + 1
    return None

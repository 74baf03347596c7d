"""Reader of FEBio input files (.feb), versions 1.2 to 4.0: nodes, elements, sets, materials.

Elements of one block are a region, with the material and shell thickness of its domain. Materials
with E and v are linear elastic at rest.

Source: FEBio User Manual, sections Mesh, MeshDomains, Material.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from flexmbs.errors import InputError, shown
from flexmbs.files.xml_tree import XmlElement, read_xml
from preprocess.mesh.declarations import Item
from preprocess.mesh_files import plain_numbers
from preprocess.mesh_files.claims import Claims
from preprocess.mesh_files.include import Includes
from preprocess.mesh_files.part_deck import LARGEST, PartDeck, refuse_kinds
from preprocess.mesh_files.raw_mesh import RawMesh

KINDS = {
    "tet4": ("tetra", 4),
    "tet10": ("tetra10", 10),
    "hex8": ("hexahedron", 8),
    "hex20": ("hexahedron20", 20),
    "penta6": ("wedge", 6),
    "penta15": ("wedge15", 15),
    "pyra5": ("pyramid", 5),
    "pyra13": ("pyramid13", 13),
    "tri3": ("triangle", 3),
    "tri6": ("triangle6", 6),
    "quad4": ("quad", 4),
    "quad8": ("quad8", 8),
}
SHELLS = ("tri3", "tri6", "quad4", "quad8")
# integration schemes in names, such as hex8g8, and formulations of shells, such as q4ans
SCHEMES = {"tet10g": "tet10", "hex20g": "hex20", "q4ans": "quad4", "q4eas": "quad4"}
# with E and v, the linear part at rest; of incompressible ones neither is given
LINEAR = ("isotropic elastic", "neo-Hookean", "linear elastic", "St.Venant-Kirchhoff")
MOST_BYTES, MOST_ELEMENTS = 400_000_000, 3_000_000  # about 2 GB of memory for nodes and elements
NESTED = ("Geometry", "Mesh", "Material")  # sections whose children may be in other files
# contacts that connect parts of the body; of one set with another or with a rigid body
TYING = ("tied", "sticky", "rigid")
CONSTRAINTS = ("Rigid", "Constraints", "Discrete")


def read_febio(path: Path, structural: bool = False, *, allow_outside: bool = False) -> RawMesh:
    """Raw mesh of an input file; named node sets and surfaces become node sets.

    Raises InputError with the line.
    """
    root = read_xml(path, most_bytes=MOST_BYTES, most_elements=MOST_ELEMENTS)
    if root.tag != "febio_spec":
        raise InputError(f"{root.place}: <{root.tag}> is not <febio_spec>; expected a FEBio file")
    reader = _Reader(path, Includes(path, allow_outside))
    sections = [reader.section(each) for each in root.children]
    for each in sections:
        if each.tag in ("Geometry", "Mesh"):
            reader.mesh(each)
    if structural:
        for each in sections:
            reader.declarations(each)
        reader.assign()
    refuse_kinds(path, "elements", reader.unread, ", ".join(KINDS))
    if not reader.deck.elements:
        raise InputError(f"{path}: has no <Elements>; export the mesh with them")
    return reader.deck.raw(structural)


def follow_febio(path: Path, includes: Includes) -> None:
    """Open the files that an input file includes."""
    reader = _Reader(path, includes)
    root = read_xml(path, most_bytes=MOST_BYTES, most_elements=MOST_ELEMENTS)
    for section in map(reader.section, root.children):
        for each in section.children if section.tag in NESTED else ():
            with contextlib.suppress(InputError):  # those of materials are not always read
                reader.section(each)


class _Reader:
    """Sections of a file; blocks: material, by its name or number, of each block of elements."""

    def __init__(self, path: Path, includes: Includes) -> None:
        self.deck = PartDeck(path)
        self.includes = includes
        self.blocks: dict[str, str] = {}
        self.materials: dict[str, Item] = {}
        self.thickness: dict[str, float] = {}
        self.unread: Counter[str] = Counter()

    def section(self, element: XmlElement) -> XmlElement:
        """Section of the file, or of the file that it names. Raises InputError."""
        name = element.attributes.get("from")
        if name is None:
            return element
        other = self.includes.file(element.place, name)
        root = read_xml(other, most_bytes=MOST_BYTES, most_elements=MOST_ELEMENTS)
        found = root if root.tag == element.tag else root.first(element.tag)
        if found is None:
            raise InputError(f"{element.place}: {shown(name)} has no <{element.tag}>")
        return found

    # mesh

    def mesh(self, section: XmlElement) -> None:
        """Nodes, elements and sets of a section Geometry or Mesh."""
        for each in map(self.section, section.children):
            if each.tag == "Nodes":
                self._nodes(each)
            elif each.tag == "Elements":
                self._elements(each)
            elif each.tag == "NodeSet":
                self.deck.node_sets[_name(each)] = _listed(each, self.includes.claims)
            elif each.tag in ("Surface", "Edge"):
                nodes = [node for face in each.children for node in _whole(face)]
                self.deck.node_sets.setdefault(_name(each), []).extend(nodes)
            elif each.tag == "ElementSet":
                self.deck.element_sets[_name(each)] = _listed(each, self.includes.claims)
            elif each.tag in ("Instance", "Part"):
                raise InputError(f"{each.place}: <{each.tag}> is not supported; export one mesh")

    def _nodes(self, block: XmlElement) -> None:
        """Nodes of a block, a set if it has a name."""
        numbers = []
        for each in block.children:
            numbers.append(_number(each))
            self.deck.positions[numbers[-1]] = _reals(each, 3)
        if block.attributes.get("name"):
            self.deck.node_sets[block.attributes["name"]] = numbers

    def _elements(self, block: XmlElement) -> None:
        """Elements of a block, or of each element in files of version 1."""
        own = block.attributes.get("type", "")
        name = block.attributes.get("name") or block.attributes.get("elset")
        for each in block.children:
            kind = (own or each.tag).lower()
            kind = SCHEMES.get(kind.rstrip("0123456789"), kind)
            kind = kind.partition("g")[0] if kind.startswith(("tet", "hex", "penta")) else kind
            material = block.attributes.get("mat") or each.attributes.get("mat", "")
            region = name or f"material {material or len(self.blocks) + 1}"
            if kind not in KINDS:
                self.unread[kind] += 1
                continue
            nodes, (cell, count) = _whole(each), KINDS[kind]
            if len(nodes) != count:
                raise InputError(f"{each.place}: {kind} has {len(nodes)} nodes instead of {count}")
            self.blocks[region] = material or self.blocks.get(region, "")
            self.deck.add(cell, region, _number(each), nodes)

    # materials and sections

    def declarations(self, section: XmlElement) -> None:
        """Materials, domains and thicknesses of a section. Raises InputError for rigid parts."""
        if section.tag == "Material":
            for each in map(self.section, section.children):
                found = _material(each)
                for key in ("id", "name"):
                    if key in each.attributes:
                        self.materials.setdefault(each.attributes[key].strip(), found)
        elif section.tag == "MeshDomains":
            for each in section.children:
                self.blocks[_name(each)] = each.attributes.get("mat", "").strip()
                thickness = each.first("shell_thickness")
                if thickness is not None and _reals(thickness, 1)[0]:
                    self.thickness[_name(each)] = _reals(thickness, 1)[0]
        elif section.tag in ("MeshData", "ElementData"):
            for each in section.children:
                self._thickness_data(each)
        elif section.tag in ("Geometry", "Mesh"):
            for each in section.all("ElementData"):
                self._thickness_data(each)
            for tag in ("DiscreteSet", "SpringSet"):
                if section.first(tag) is not None:
                    remedy = "give springs as connections"
                    self.deck.notes[f"<{tag}>", remedy] += 1
        elif section.tag == "Contact":
            for each in section.children:
                kind = each.attributes.get("type", each.tag)
                if kind.startswith(TYING):
                    self.deck.notes[f"<Contact> '{kind}'", "give ties as connections"] += 1
        elif section.tag in CONSTRAINTS and section.children:
            remedy = "give connections and interfaces"
            self.deck.notes[f"<{section.tag}>", remedy] += 1

    def _thickness_data(self, data: XmlElement) -> None:
        """Thickness of shells: of the elements of a set, or of elements by their numbers."""
        kind = data.attributes.get("type") or data.attributes.get("var", "shell thickness")
        if kind != "shell thickness":
            return
        region = data.attributes.get("elem_set", "")
        for each in data.children:
            own = each.first("thickness") or each
            values = set(_reals(own, None)) if own.text else set()
            name = region or f"element {each.attributes.get('id', '')}"
            known = self.thickness.get(name, 0.0)
            if values:
                same = values == {known} or (len(values) == 1 and not known)
                self.thickness[name] = values.pop() if same else math.nan

    def assign(self) -> None:
        """Assign materials and sections to the regions. Raises InputError for missing ones."""
        for region, kinds in self.deck.regions.items():
            material = self.blocks.get(region, "")
            if material not in self.materials:
                found: Item = {"problem": f"region '{region}' has no material '{material}'"}
            else:
                found = self.materials[material]
            self.deck.materials[region] = found
            if kinds & {KINDS[kind][0] for kind in SHELLS}:
                self.deck.sections[region] = {"kind": "shell", "thickness": self._height(region)}

    def _height(self, region: str) -> float:
        """Thickness of the shells of a region, one for all. Raises InputError."""
        numbers = itertools.chain.from_iterable(
            numbers for (_, own), (numbers, _) in self.deck.elements.items() if own == region
        )
        own = self.thickness.get(region, 0.0)
        found = {self.thickness.get(f"element {n}", own) for n in numbers}
        height = found.pop() if len(found) == 1 else 0.0
        if not height > 0:
            raise InputError(
                f"{self.deck.path}: shells of '{region}' have no thickness or several; give one by "
                "<shell_thickness> in <MeshDomains>"
            )
        return height


def _material(element: XmlElement) -> Item:
    """Declaration of a material, with a problem unless it has E and v."""
    kind = element.attributes.get("type", "")
    own = element.attributes.get("name") or element.attributes.get("id", "")
    if kind == "rigid body":
        return {"problem": f"material '{own}' is a rigid body; give it E and v"}
    values = {}
    for key in ("E", "v", "density"):
        child = element.first(key)
        if child is not None:
            values[key] = _reals(child, 1)[0]
    missing = [key for key in ("E", "v") if key not in values]
    if kind not in LINEAR or missing:
        reason = (
            f"has no {' and no '.join(missing)}" if kind in LINEAR else f"is '{kind}', not linear"
        )
        return {"problem": f"material '{own}' {reason}"}
    rho = values.get("density") or None
    lacks = {} if rho else {"lacks": f"material '{own}' has no density"}
    return {"kind": "isotropic", "E": values["E"], "nu": values["v"], "rho": rho, **lacks}


def _name(element: XmlElement) -> str:
    """Name of a set. Raises InputError."""
    name = element.attributes.get("name", "")
    if not name:
        raise InputError(f"{element.place}: <{element.tag}> has no name")
    return name


def _number(element: XmlElement) -> int:
    """Number of a node or an element. Raises InputError."""
    return _integers([element.attributes.get("id", "")], element)[0]


def _integers(parts: Iterable[str], element: XmlElement) -> list[int]:
    """Whole numbers. Raises InputError with the line."""
    try:
        found = [plain_numbers.whole(part) for part in parts]
    except ValueError:
        found = []
    if not found or any(abs(each) > LARGEST for each in found):
        raise InputError(f"{element.place}: <{element.tag}> has no whole number")
    return found


def _whole(element: XmlElement) -> list[int]:
    """Whole numbers of the text of an element."""
    return _integers(element.text.replace(",", " ").split(), element)


def _reals(element: XmlElement, count: int | None) -> list[float]:
    """Finite numbers of the text of an element. Raises InputError."""
    try:
        found = [plain_numbers.real(part) for part in element.text.replace(",", " ").split()]
    except ValueError:
        found = []
    if (count is not None and len(found) != count) or not all(map(math.isfinite, found)):
        raise InputError(
            f"{element.place}: <{element.tag}> needs {count} numbers, not {shown(element.text)}"
        )
    return found


def _listed(element: XmlElement, claims: Claims) -> list[int]:
    """Members of a set: ids of its elements, or numbers with ranges a:b:step in its text."""
    if element.children:
        return [
            member
            for each in element.children
            for member in (
                _integers([each.attributes["id"]], each) if "id" in each.attributes else []
            )
        ]
    found = list[int]()
    for part in element.text.replace(",", " ").split():
        first, *rest = _integers(part.split(":"), element)
        last, step = (*rest, 1, 1)[:2] if len(rest) > 1 else (rest[0] if rest else first, 1)
        if step < 1:
            raise InputError(f"{element.place}: {shown(part)} is not a range")
        found += claims.range(element.place, first, last, step)
    return found

"""Reader of Ansys archives (.cdb) and of input files of Workbench: solids, shells, beams, masses.

Elements of one material, and one section or set of real constants, are a region. Bonded contacts
become ties, contacts with a pilot node spiders, CE equations.

Source: Ansys Mechanical APDL, Element Reference, elements by name; Command Reference, SECDATA, CE.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from flexmbs.errors import InputError
from preprocess.inputs.units import UNIT_SYSTEMS, Units
from preprocess.mesh.declarations import Item
from preprocess.mesh_files.ansys_commands import AnsysModel, Commands, Element
from preprocess.mesh_files.collapsed_solids import RINGS, SIZES, solid
from preprocess.mesh_files.part_deck import PartDeck, refuse_kinds
from preprocess.mesh_files.raw_mesh import RawMesh
from preprocess.mesh_files.rotated_equations import rotated_terms

Array = NDArray[np.float64]

HEXAHEDRA = {45: 8, 185: 8, 95: 20, 186: 20}
TETRAHEDRA = (92, 187)
SHELLS = {63: 4, 181: 4, 93: 8, 281: 8}
BEAM, LINKS, MASS, SPRING = 188, (8, 180), 21, 14
TARGET, CONTACTS = 170, (171, 172, 173, 174, 175)
# without stiffness and mass: loads on faces, meshes that were not used, followers
PASSED = {
    152: "SURF152",
    153: "SURF153",
    154: "SURF154",
    156: "SURF156",
    200: "MESH200",
    201: "FOLLW201",
}
READ = (
    "SOLID45, 92, 95, 185, 186, 187, SHELL63, 93, 181, 281, BEAM188, LINK8, 180, MASS21, COMBIN14"
)
BONDED = (5, 6)  # KEYOPT(12) of contacts that stay bonded
MPC, AVERAGE, RIGID = 2, 1, 2  # KEYOPT(2) of contacts by equations; KEYOPT(4) of pilot nodes
LABELS = {"UX": 1, "UY": 2, "UZ": 3, "ROTX": 4, "ROTY": 5, "ROTZ": 6}
# systems of units of /UNITS; in mm, N, s the mass is t
UNITS = {
    "SI": "m-kg-s",
    "MKS": "m-kg-s",
    "CGS": "cm-g-s",
    "MPA": "mm-t-s",
    "BFT": "ft-slug-s",
    "BIN": "in-lbf-s",
}
_COMMANDS = re.compile(r"^[ \t]*(?:/PREP7|/BATCH|/UNITS,|/COM,ANSYS|NBLOCK,|ETBLOCK,)", re.I | re.M)
# tables of a material that leave its linear part as it is
HARMLESS = (
    "PLAS", "BISO", "BKIN", "MISO", "MKIN", "KINH", "NLIS", "CHAB", "CREEP", "PRONY", "FCLI",
    "SDAMP", "CTE", "THERM", "STATE", "PM", "FRIC", "CONTACT", "RATE", "EOS", "SN", "EN",
)  # fmt: skip
SAME = 1e-6  # difference of factors of equations that is the rounding of numbers in files
FROM = "a contact acts between bodies of the mechanism; bond parts of one body, KEYOPT(12) = 5"


def read_ansys(path: Path, structural: bool = False) -> RawMesh:
    """Raw mesh of an archive; components become sets. Raises InputError with the line."""
    return _Deck(Commands(path).read(), structural).raw()


def is_ansys(text: str) -> bool:
    """True if a text has a command of Ansys, to tell apart files with one suffix."""
    return bool(_COMMANDS.search(text))


class _Deck:
    """Regions, connections and masses of an archive."""

    def __init__(self, model: AnsysModel, structural: bool) -> None:
        self.model, self.structural = model, structural
        self.deck = PartDeck(
            model.path, model.positions, node_sets=dict(model.node_sets), notes=Counter(model.notes)
        )
        self.deck.element_sets = dict(model.element_sets)
        self.contacts: dict[int, list[Element]] = defaultdict(list)
        self.unread: Counter[str] = Counter()
        self.materials: dict[int, Item] = {}
        # nodes added between the corners of straight edges
        self.straight: dict[tuple[int, int], int] = {}
        self.numbers = itertools.count(max(model.positions, default=0) + 1)

    def raw(self) -> RawMesh:
        """Raw mesh. Raises InputError naming what is not read."""
        model = self.model
        for number, each in model.elements.items():
            self._add(number, each)
        if self.unread:
            refuse_kinds(model.path, "elements", self.unread, READ)
        if not self.deck.elements:
            found = " and ".join(what for what, _ in self.deck.notes) or "no elements"
            raise InputError(
                f"{model.path}: has {found} only; write solids or shells by CDWRITE,DB"
            )
        if self.structural:
            for name, line in model.left.items():
                raise InputError(
                    f"{line}: {name} is not supported; write the model with CDWRITE,DB, which "
                    "writes equations (CE)"
                )
            self._contacts()
            self._equations()
        else:
            remedy = "read them with structural=True"
            for what, number in (("CE", len(model.equations)), ("contacts", len(self.contacts))):
                if number:
                    self.deck.notes[what, remedy] = number
        raw = self.deck.raw(self.structural)
        return replace(raw, units=_units(model.units))

    def _add(self, number: int, each: Element) -> None:
        """Add an element to its region."""
        kind, keys = self.model.types.get(each.type, (0, {}))
        if not kind:
            raise InputError(
                f"{self.model.path}: element {number} has type {each.type}, which no ET defines"
            )
        if kind in HEXAHEDRA or kind in TETRAHEDRA:
            self._solid(number, kind, each)
        elif kind in SHELLS:
            self._shell(number, kind, each)
        elif kind == BEAM or kind in LINKS:
            self._line(number, kind, keys, each)
        elif kind == MASS:
            self._mass(number, keys, each)
        elif kind == SPRING:
            self._spring(number, keys, each)
        elif kind == TARGET or kind in CONTACTS:
            self.contacts[each.real].append(each)
        elif kind in PASSED:
            self.deck.notes[f"{PASSED[kind]} elements", "they have no stiffness and no mass"] += 1
        else:
            self.unread[f"element type {kind}"] += 1

    def _refuse(self, number: int, what: str) -> InputError:
        """InputError of an element."""
        return InputError(f"{self.model.path}: element {number}: {what}")

    # solids and shells

    def _solid(self, number: int, kind: int, each: Element) -> None:
        """Add a solid; coincident nodes make wedges, pyramids and tetrahedra."""
        nodes = each.nodes
        found: tuple[str, list[int]] | None
        if kind in TETRAHEDRA:
            nodes = [*nodes, *[0] * 10][:10]
            found = ("tetra10", nodes) if any(nodes[4:]) else ("tetra", nodes[:4])
        else:
            found = solid([*nodes, *[0] * 20][: HEXAHEDRA[kind]])
        if found is None or not all(found[1][: SIZES[found[0].rstrip("0123456789")]]):
            raise self._refuse(number, "its coincident nodes are those of no solid; remesh it")
        if not all(found[1]):
            found = (found[0], self._completed(*found))
        region = f"material {each.mat}"
        material = self._material(each.mat)
        if material["kind"] == "orthotropic" and each.system:
            region += f", system {each.system}"
            material = {**material, "axes": self._axes(each.system, number).tolist()}
        self.deck.materials[region] = material
        self.deck.add(found[0], region, number, found[1])

    def _completed(self, kind: str, nodes: list[int]) -> list[int]:
        """Nodes of a solid of which some edges are straight and have no node between corners.

        The nodes that are added follow both corners.
        """
        size = SIZES[kind.rstrip("0123456789")]
        full = list(nodes)
        for k, (a, b) in enumerate(RINGS[kind.rstrip("0123456789")], size):
            ends = (min(nodes[a], nodes[b]), max(nodes[a], nodes[b]))
            if full[k] or not {*ends} <= self.model.positions.keys():
                continue
            if ends not in self.straight:
                self.straight[ends] = next(self.numbers)
                x, y = (self.model.positions[end] for end in ends)
                px, py, pz = (0.5 * (p + q) for p, q in zip(x, y))
                self.model.positions[self.straight[ends]] = (px, py, pz)
            full[k] = self.straight[ends]
        return full

    def _shell(self, number: int, kind: int, each: Element) -> None:
        """Add a shell; a quadrilateral whose last corners coincide is a triangle."""
        size = SHELLS[kind]
        nodes = [*each.nodes, *[0] * 8][:size]
        triangle = nodes[2] == nodes[3] or not nodes[3]
        order = [0, 1, 2, 4, 5, 7] if triangle else list(range(8))
        corners = 3 if triangle else 4
        nodes = [nodes[k] for k in order if k < size][: corners if size == 4 else 8]
        if size == 8 and not all(nodes):
            if any(nodes[corners:]):
                raise self._refuse(number, "some nodes between corners are missing; remesh it")
            nodes = nodes[:corners]
        name = "triangle" if triangle else "quad"
        region = self._region(each)
        if self.structural and region not in self.deck.sections:
            self.deck.materials[region] = self._material(each.mat)
            self.deck.sections[region] = self._shell_section(number, each)
        self.deck.add(name + (str(len(nodes)) if len(nodes) > 4 else ""), region, number, nodes)

    def _region(self, each: Element) -> str:
        """Name of the region of an element with a section or real constants."""
        system = f", system {each.system}" if each.system else ""
        if each.section in self.model.sections:
            return f"material {each.mat}, section {each.section}{system}"
        return f"material {each.mat}, real {each.real}{system}"

    def _shell_section(self, number: int, each: Element) -> Item:
        """Section of SECDATA, or thickness of the real constants."""
        given = self.model.sections.get(each.section)
        if given is None:
            own = self.model.reals.get(each.real, {})
            heights = {own.get(k, 0.0) for k in range(1, 5)} - {0.0}
            if len(heights) != 1:
                return {
                    "kind": "shell",
                    "problem": f"real {each.real} of shell {number} has "
                    f"{len(heights)} thicknesses; give one by SECDATA",
                }
            return {"kind": "shell", "thickness": heights.pop()}
        rows = [[float(x) for x in row] for row in given.rows]
        if given.shape[0] != "SHELL" or not rows or any(not row for row in rows):
            raise InputError(f"{given.line}: section {each.section} is not a SHELL with SECDATA")
        height = sum(row[0] for row in rows)
        places = {"": 0.0, "MID": 0.0, "TOP": -0.5, "BOT": 0.5, "BOTTOM": 0.5}
        if given.offset not in places:
            raise InputError(
                f"{given.line}: SECOFFSET,{given.offset[:30]} is not supported; give MID, "
                "TOP or BOT"
            )
        shift = places[given.offset] * height
        offset = {"offset": shift} if shift else {}
        plies = [(row[0], int(row[1]) if len(row) > 1 and row[1] else each.mat) for row in rows]
        if len(rows) == 1 and self._material(plies[0][1])["kind"] == "isotropic":
            region = self._region(each)
            self.deck.materials[region] = self._material(plies[0][1])
            return {"kind": "shell", "thickness": height, **offset}
        materials = [self._material(mat) for _, mat in plies]
        axis = {}
        if any(each_ply["kind"] != "isotropic" for each_ply in materials):
            if not each.system:
                raise self._refuse(
                    number,
                    "has orthotropic plies without ESYS; give the system of their first axis",
                )
            axis = {"orientation": self._axes(each.system, number)[:, 0].tolist()}
        angles = [row[2] if len(row) > 2 else 0.0 for row in rows]
        return {
            "kind": "laminate",
            "plies": [[thickness, angle] for (thickness, _), angle in zip(plies, angles)],
            "materials": materials,
            **axis,
            **offset,
        }

    def _axes(self, system: int, number: int) -> Array:
        """Axes of a rectangular system as columns (3, 3). Raises InputError."""
        kind, _, angles = self.model.systems.get(system, (-1, [], [0.0, 0.0, 0.0]))
        if kind != 0:
            raise self._refuse(
                number, f"its system {system} is not a rectangular LOCAL system of the file"
            )
        return _turned(angles)

    # beams and points

    def _line(self, number: int, kind: int, keys: dict[int, int], each: Element) -> None:
        """Add a beam or a rod with its section."""
        nodes = [*each.nodes, 0, 0, 0]
        region = self._region(each)
        if not self.structural:
            self.deck.add("line", region, number, nodes[:2])
            return
        self.deck.materials[region] = self._material(each.mat)
        if kind != BEAM:
            if keys.get(3):
                raise self._refuse(number, "its LINK acts in tension or compression only")
            given, own = self.model.sections.get(each.section), self.model.reals.get(each.real, {})
            rows = given.rows if given is not None and given.shape[0] == "LINK" else []
            area = float(rows[0][0]) if rows and rows[0] else own.get(1, 0.0)
            self.deck.sections[region] = {"kind": "truss", "area": area}
            self.deck.add("truss", region, number, nodes[:2])
            return
        ends = nodes[:2]
        if keys.get(3, 0) == 2 and nodes[3]:
            raise self._refuse(number, "BEAM188 with a node between its ends is not supported")
        section = self.deck.sections.get(region)
        if section is None:
            section = self.deck.sections[region] = self._beam_section(number, each)
        section.setdefault("orientation", []).append([number, *self._upright(number, nodes[:3])])
        self.deck.add("line", region, number, ends)

    def _upright(self, number: int, nodes: list[int]) -> list[float]:
        """Direction of the z axis of Ansys, the local y axis here: towards the third node.

        Without one, in the plane of the axis and global Z; for beams along Z, with Ansys's y axis
        along global Y.
        """
        used = nodes if nodes[2] else nodes[:2]
        missing = [node for node in used if node not in self.model.positions]
        if missing:
            raise self._refuse(number, f"refers to node {missing[0]}, which does not exist")
        a, b = (np.array(self.model.positions[node]) for node in nodes[:2])
        length = np.linalg.norm(b - a)
        if not length > 0:
            raise self._refuse(number, "has no length")
        if nodes[2]:
            third = np.array(self.model.positions[nodes[2]]) - a
            return [float(x) for x in third]
        x = (b - a) / length
        # Ansys takes the axis as along Z within 0.01 % of its length
        up = np.array([0.0, 0.0, 1.0])
        if np.linalg.norm(x[:2]) < 1e-4:
            return [float(k) for k in np.cross(x, [0.0, 1.0, 0.0])]
        return [float(k) for k in up]

    def _beam_section(self, number: int, each: Element) -> Item:
        """Section of SECDATA; its y axis is our −z, its z axis our y. Raises InputError."""
        given = self.model.sections.get(each.section)
        if given is None or given.shape[0] != "BEAM" or not given.rows:
            raise self._refuse(number, f"has no BEAM section {each.section} (SECTYPE, SECDATA)")
        if given.offset not in ("", "CENT"):
            raise InputError(
                f"{given.line}: SECOFFSET,{given.offset[:30]} of a beam is not supported; give CENT"
            )
        d = [float(x) for x in given.rows[0]] + [0.0] * 12
        match given.shape[1]:
            case "RECT":
                return {"kind": "rectangular", "width": d[0], "height": d[1]}
            case "CSOLID":
                return {"kind": "circular", "diameter": 2 * d[0]}
            case "CTUBE":
                return {"kind": "tubular", "diameter": 2 * d[1], "thickness": d[1] - d[0]}
            case "HREC" if len({*d[2:6]}) == 1:
                return {"kind": "box", "width": d[0], "height": d[1], "thickness": d[2]}
            case "I" if d[0] == d[1] and d[3] == d[4]:
                return {
                    "kind": "i", "width": d[0], "height": d[2], "flange": d[3], "web": d[5],
                }  # fmt: skip
            case "ASEC" if not d[2] and not any(d[6:10]):
                return {"kind": "general", "area": d[0], "Iy": d[3], "Iz": d[1], "J": d[5]}
        raise InputError(
            f"{given.line}: beam section {given.shape[1] or '?'} with these numbers is not "
            "supported; use RECT, CSOLID, CTUBE, HREC of one wall, symmetric I, or ASEC without offsets"
        )

    def _mass(self, number: int, keys: dict[int, int], each: Element) -> None:
        """Point mass of MASS21. Raises InputError for masses that depend on the direction."""
        own = self.model.reals.get(each.real, {})
        values = [own.get(k, 0.0) for k in range(1, 7)]
        if keys.get(3, 0) not in (0, 2) or keys.get(1) or keys.get(2):
            raise self._refuse(
                number, "MASS21 with KEYOPT(1), (2), or (3) = 3 or 4 is not supported"
            )
        with_inertia = keys.get(3, 0) == 0
        if with_inertia and len(set(values[:3])) > 1:
            raise self._refuse(number, "MASS21 has different masses along x, y, z; give one")
        if not values[0]:
            self.deck.notes["MASS21 elements without mass", "give their real constants"] += 1
            return
        name = f"mass {number}"
        (node, *_) = [*each.nodes, 0]
        found: Item = {"where": name, "node": node, "mass": values[0]}
        if with_inertia and any(values[3:]):
            found["inertia"] = np.diag(values[3:]).tolist()
        self.deck.masses.append(found)
        self.deck.node_sets[name] = [node]

    def _spring(self, number: int, keys: dict[int, int], each: Element) -> None:
        """Spring and damper of COMBIN14."""
        own = self.model.reals.get(each.real, {})
        if keys.get(1) or keys.get(3) or keys.get(2, 0) > 3 or own.get(3) or own.get(4):
            raise self._refuse(
                number, "COMBIN14 with KEYOPT(1) or (3), torsion, CV2 or a preload is not supported"
            )
        if len(each.nodes) < 2 or not each.nodes[1]:
            raise self._refuse(number, "COMBIN14 to the ground holds the part; remove it")
        found: Item = {"kind": "spring", "first": each.nodes[0], "second": each.nodes[1]}
        found["stiffness"] = own.get(1, 0.0)
        if own.get(2):
            found["damping"] = own[2]
        if keys.get(2):
            if {*each.nodes[:2]} & self.model.turns.keys():
                raise self._refuse(number, "COMBIN14 along rotated nodal axes is not supported")
            found["direction"] = [float(k == keys[2] - 1) for k in range(3)]
        self.deck.connections[f"COMBIN14 {number}"] = found

    # materials

    def _material(self, number: int) -> Item:
        """Declaration of a material, with a problem if it is not linear elastic."""
        if number not in self.materials:
            self.materials[number] = self._read_material(number)
        return self.materials[number]

    def _read_material(self, number: int) -> Item:
        """Declaration of a material from its properties and tables."""
        own = self.model.materials.get(number, {})
        tables = {name for name in self.model.tables.get(number, set()) if name not in HARMLESS}
        if tables:
            what = f"material {number} has TB,{min(tables)}, which is not linear elastic"
            return {"kind": "isotropic", "problem": what}
        for name in sorted(HARMLESS):
            if name in self.model.tables.get(number, set()):
                self.deck.notes[f"TB,{name}", "the body is linear elastic"] = 1
        values = {label: self._constant(number, label, rows) for label, rows in own.items()}
        if not values.get("EX"):
            return {"kind": "isotropic", "problem": f"material {number} has no EX"}
        lacks = {} if values.get("DENS") else {"lacks": f"material {number} has no DENS"}
        E, rho = values["EX"], values.get("DENS") or None
        if values.get("EY", E) == E and values.get("EZ", E) == E and "GXY" not in values:
            nu = values.get("PRXY", values.get("NUXY"))
            if nu is None:
                self.deck.notes[f"PRXY of material {number}", "0.3 as in Ansys"] = 1
            own_nu = 0.3 if nu is None else nu
            return {"kind": "isotropic", "E": E, "nu": own_nu, "rho": rho, **lacks}
        return {**self._orthotropic(number, values), **lacks}

    def _orthotropic(self, number: int, values: dict[str, float]) -> Item:
        """Orthotropic material; NU, the minor ratios of Ansys, are converted."""
        E = {axis: values.get(f"E{axis}", values["EX"]) for axis in "XYZ"}
        nu = []
        for pair in ("XY", "XZ", "YZ"):
            major, minor = values.get(f"PR{pair}"), values.get(f"NU{pair}")
            if major is None and minor is not None:
                major = minor * E[pair[0]] / E[pair[1]]
            nu.append(values.get("PRXY", 0.3) if major is None else major)
        shear = [values.get(f"G{pair}", 0.0) for pair in ("XY", "XZ", "YZ")]
        if not all(shear):
            return {
                "kind": "orthotropic",
                "problem": f"material {number} has no GXY, GXZ and GYZ",
            }
        return {
            "kind": "orthotropic",
            "E": [E[axis] for axis in "XYZ"],
            "nu": nu,
            "G": shear,
            "rho": values.get("DENS") or None,
        }

    def _constant(self, number: int, label: str, rows: list[float]) -> float:
        """Value of a property, at the first of several temperatures."""
        finite = [value for value in rows if math.isfinite(value)]
        if len(set(rows)) > 1:
            note = f"{label} of material {number} at other temperatures"
            self.deck.notes[note, "the first value is used"] = 1
        return finite[0] if finite else 0.0

    # connections

    def _contacts(self) -> None:
        """Ties of bonded contacts, and spiders of pilot nodes."""
        for real, own in self.contacts.items():
            targets = [each for each in own if self.model.types[each.type][0] == TARGET]
            others = [each for each in own if self.model.types[each.type][0] != TARGET]
            if not targets or not others:
                self.deck.notes["contacts without target or contact elements", FROM] += 1
                continue
            keys = self.model.types[others[0].type][1]
            feet = _nodes(others)
            pilots = [each for each in targets if sum(map(bool, each.nodes)) == 1]
            if keys.get(12, 0) not in BONDED:
                self.deck.notes["contacts that are not bonded", FROM] += 1
            elif pilots:
                self._pilot(real, keys, _nodes(pilots), feet)
            else:
                name = f"contact {real}"
                self.deck.node_sets |= {name: feet, f"{name}, target": _nodes(targets)}
                self.deck.connections[name] = {
                    "kind": "tie",
                    "where": name,
                    "to": f"{name}, target",
                }

    def _pilot(self, real: int, keys: dict[int, int], pilot: list[int], feet: list[int]) -> None:
        """Spider of the contact nodes about a pilot node."""
        name = f"contact {real}"
        kinds = {AVERAGE: "averaging-spider", RIGID: "rigid-spider"}
        if keys.get(2) != MPC or keys.get(4, 0) not in kinds or len(pilot) != 1:
            raise InputError(
                f"{self.model.path}: contact {real} with a pilot node needs KEYOPT(2) = 2 "
                "(MPC) and KEYOPT(4) = 1 (force-distributed) or 2 (rigid)"
            )
        self.deck.node_sets |= {name: [n for n in feet if n != pilot[0]], f"{name} pilot": pilot}
        self.deck.connections[name] = {
            "kind": kinds[keys[4]],
            "where": name,
            "reference": f"{name} pilot",
        }

    def _equations(self) -> None:
        """Equations of CE along the axes of the mesh, and of straight edges. Raises InputError."""
        for (a, b), node in self.straight.items():
            for k in (1, 2, 3):
                terms = [(node, k, 1.0), (a, k, -0.5), (b, k, -0.5)]
                name = f"straight edge {a} {b} ({k})"
                self.deck.connections[name] = {"kind": "equation", "terms": terms}
        rigid = self._rigid_regions()
        for number, (constant, given) in self.model.equations.items():
            if number in rigid:
                continue
            name = f"CE {number}"
            wrong = [label for _, label, _ in given if label not in LABELS]
            if constant or wrong or len(given) < 2:
                what = f"label {wrong[0]}" if wrong else "a constant, or less than two terms"
                raise InputError(f"{self.model.path}: {name} has {what}, which is not supported")
            turned = {
                node: self.model.turns[node] for node, _, _ in given if node in self.model.turns
            }
            terms = [(node, LABELS[label], factor) for node, label, factor in given]
            axes = {node: _turned(list(angles)).T for node, angles in turned.items()}
            self.deck.connections[name] = {"kind": "equation", "terms": rotated_terms(terms, axes)}

    def _rigid_regions(self) -> set[int]:
        """Add a rigid spider for the equations of each CERIG; the numbers of these equations.

        Each of its equations has a node that follows and the centre, with the rotations of that.
        """
        pairs: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        wrong: set[int] = set()
        turning = {
            node
            for _, terms in self.model.equations.values()
            for node, label, _ in terms
            if label.startswith("ROT") and len({n for n, _, _ in terms}) == 2
        }
        for number, (constant, terms) in self.model.equations.items():
            centres = {node for node, _, _ in terms} & turning
            found = [each for c in centres if (each := self._foot(c, constant, terms)) is not None]
            if len(found) == 1:
                centre, foot, component = found[0]
                pairs[centre].append((foot, component, number))
            else:
                wrong |= centres
        used: set[int] = set()
        for centre, own in pairs.items():
            components: dict[int, set[int]] = defaultdict(set)
            for foot, component, _ in own:
                components[foot].add(component)
            kinds = {tuple(sorted(each)) for each in components.values()}
            if centre in wrong or len(kinds) != 1 or not {1, 2, 3} <= {*next(iter(kinds))}:
                continue
            name = f"CERIG {centre}"
            self.deck.node_sets |= {name: sorted(components), f"{name} centre": [centre]}
            self.deck.connections[name] = {
                "kind": "rigid-spider",
                "where": name,
                "reference": f"{name} centre",
                "components": "".join(map(str, kinds.pop())),
            }
            used |= {number for _, _, number in own}
        return used

    def _foot(
        self, centre: int, constant: float, terms: list[tuple[int, str, float]]
    ) -> tuple[int, int, int] | None:
        """Centre, node and component of the equation of a node that follows the centre rigidly."""
        nodes = {node for node, _, _ in terms}
        foot = next(iter(nodes - {centre}), None)
        lead = [(label, factor) for node, label, factor in terms if node == foot]
        known = nodes <= self.model.positions.keys() and not nodes & self.model.turns.keys()
        if constant or len(nodes) != 2 or foot is None or len(lead) != 1 or not known:
            return None
        label, factor = lead[0]
        if label not in LABELS or not factor:
            return None
        component = LABELS[label]
        x, y, z = np.subtract(self.model.positions[foot], self.model.positions[centre])
        # u = t + θ × r, and θ
        motion = np.eye(6)
        motion[:3, 3:] = [[0, z, -y], [-z, 0, x], [y, -x, 0]]
        given = np.zeros(6)
        for node, own, value in terms:
            if node == centre and own in LABELS:
                given[LABELS[own] - 1] -= value / factor
        size = max(1.0, float(np.abs(motion).max()))
        same = np.abs(given - motion[component - 1]).max() < SAME * size
        return (centre, foot, component) if same else None


def _nodes(elements: list[Element]) -> list[int]:
    """Nodes of elements, ascending."""
    return sorted({node for each in elements for node in each.nodes if node})


def _turned(angles: list[float]) -> Array:
    """Axes as columns of a system turned about z, then its x, then its y axis [degrees]."""
    return np.asarray(Rotation.from_euler("ZXY", angles, degrees=True).as_matrix())


def _units(name: str) -> Units | None:
    """System of units of /UNITS; None for those of a user."""
    return UNIT_SYSTEMS[UNITS[name]] if name in UNITS else None

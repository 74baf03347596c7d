"""Materials, sections and connections of an Abaqus or CalculiX file.

Every keyword before the first *STEP is read as mesh, material or section, is read by a handler of
`HANDLERS`, belongs to an analysis and not to a body (`ANALYSIS`), or is omitted with a note
(`NOTED`); any other is rejected by name. Steps do not belong to the body.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flexmbs.errors import InputError
from preprocess.mesh.declarations import FileDeclarations, Items
from preprocess.mesh_files.abaqus_assembly import AbaqusContent, Rows, split
from preprocess.mesh_files.abaqus_blocks import error_at, similar_keyword
from preprocess.mesh_files.abaqus_couplings import Couplings
from preprocess.mesh_files.abaqus_fields import TemperatureTables, real
from preprocess.mesh_files.abaqus_keywords import KEYWORDS
from preprocess.mesh_files.abaqus_materials import AbaqusMaterials
from preprocess.mesh_files.abaqus_mpc import EquationCards
from preprocess.mesh_files.abaqus_points import AbaqusPoints
from preprocess.mesh_files.abaqus_sections import AbaqusSections
from preprocess.mesh_files.abaqus_surfaces import same_name
from preprocess.mesh_files.abaqus_ties import Ties

LINEAR = "the body is linear elastic"
CONTACT = "contacts act between bodies of the mechanism; join parts of one body by *TIE"
NOTED = {
    "PLASTIC": LINEAR,
    "CREEP": LINEAR,
    "DAMAGE INITIATION": LINEAR,
    "RATE DEPENDENT": LINEAR,
    "CYCLIC HARDENING": LINEAR,
    "VISCOELASTIC": LINEAR,
    "CONTACT PAIR": CONTACT,
    "GAP": CONTACT,
    "CLEARANCE": CONTACT,
    "DAMPING": "modal damping is an option of reduce",
    "INITIAL CONDITIONS, TYPE=STRESS": (
        "a stress before any motion is the option prestress of reduce"
    ),
    "PRE-TENSION SECTION": "the part is treated as continuous there, without pre-tension",
}
ANALYSIS = (
    "AMPLITUDE",
    "BOUNDARY",
    "BOUNDARYF",
    "CFLUX",
    "CONDUCTIVITY",
    "CONTACT CONTROLS",
    "CONTACT DAMPING",
    "CONTACT FILE",
    "CONTACT PRINT",
    "CONTROLS",
    "DEPVAR",
    "DESIGN RESPONSE",
    "DESIGN VARIABLES",
    "DESIGNVARIABLES",
    "DFLUX",
    "EL FILE",
    "EL PRINT",
    "ELECTRICAL CONDUCTIVITY",
    "ELEMENT OUTPUT",
    "END STEP",
    "EQUATIONF",
    "EXPANSION",
    "FILM",
    "FILTER",
    "FLUID CONSTANTS",
    "FRICTION",
    "GAP CONDUCTANCE",
    "GAP HEAT GENERATION",
    "HEADING",
    "INITIAL CONDITIONS",
    "MAGNETIC PERMEABILITY",
    "NODE FILE",
    "NODE OUTPUT",
    "NODE PRINT",
    "OUTPUT",
    "PHYSICAL CONSTANTS",
    "PREPRINT",
    "RADIATE",
    "RESTART",
    "SECTION CONTROLS",
    "SPECIFIC GAS CONSTANT",
    "SPECIFIC HEAT",
    "SUBMODEL",
    "SURFACE BEHAVIOR",
    "SURFACE INTERACTION",
    "TEMPERATURE",
    "TIME POINTS",
    "TRANSFORMF",
    "VALUES AT INFINITY",
    "ASSEMBLY",
    "END ASSEMBLY",
    "INCLUDE",
)


@dataclass
class Deck:
    """Declarations read so far.

    temperatures: lines of initial temperatures of nodes; part: the part or instance that is open,
    "" for none; within_parts: whether couplings belong to one; ended: whether steps have begun.
    """

    materials: AbaqusMaterials = field(default_factory=AbaqusMaterials)
    sections: AbaqusSections = field(default_factory=AbaqusSections)
    couplings: Couplings = field(default_factory=Couplings)
    constraints: EquationCards = field(default_factory=EquationCards)
    ties: Ties = field(default_factory=Ties)
    points: AbaqusPoints = field(default_factory=AbaqusPoints)
    notes: Counter[tuple[str, str]] = field(default_factory=Counter)
    tables: TemperatureTables = field(default_factory=TemperatureTables)
    temperatures: Rows = field(default_factory=list)
    part: str = ""
    within_parts: bool = False
    ended: bool = False

    def begin(self, part: str) -> None:
        """Open a part or instance, or return to the model."""
        self.part = part

    def add(self, keyword: str, options: Mapping[str, str], line: str, rows: Rows) -> None:
        """Add a keyword block that does not belong to the mesh.

        Raises InputError with the line if it is unsupported.
        """
        self.ended = self.ended or keyword == "STEP"
        if self.ended:
            return
        own = f"{keyword}, TYPE={options.get('TYPE', '').upper()}"
        if found := next((each for each in (keyword, own) if each in NOTED), ""):
            self.notes[f"*{found}", NOTED[found]] += 1
        elif own == "INITIAL CONDITIONS, TYPE=TEMPERATURE":
            self.temperatures += rows or [(line, "")]  # from another file
        elif keyword in AbaqusSections.KEYWORDS:
            self.sections.add(keyword, options, line, rows, self.part)
        elif keyword in AbaqusMaterials.KEYWORDS:
            self.materials.add(keyword, options, line, rows, self.part)
        elif keyword in HANDLERS:
            self.within_parts = self.within_parts or (
                bool(self.part) and keyword in Couplings.KEYWORDS
            )
            HANDLERS[keyword](self)(keyword, options, line, rows)
        elif keyword not in ANALYSIS:
            near = similar_keyword(
                keyword, (*KEYWORDS, *AbaqusSections.KEYWORDS, *AbaqusMaterials.KEYWORDS, *HANDLERS)
            )
            what = (
                f"did you mean *{near}? Remove it otherwise"
                if near
                else "remove it if it has no meaning for a free body"
            )
            raise error_at(line, f"*{keyword} is not supported; {what}")

    @property
    def connects(self) -> bool:
        """True if the file has couplings or equations."""
        return bool(
            self.couplings.found
            or self.couplings.distributing
            or self.constraints.equations
            or self.constraints.lines
        )

    def complete(self, reading: AbaqusContent, source: object) -> None:
        """Complete cyclic sectors of the mesh to the whole part.

        Raises InputError for sectors of parts of instances, and for couplings of a sector.
        """
        if not reading.shifts:
            self.sections.found += [each for own in self.sections.of_parts.values() for each in own]
        numbered = (
            self.constraints.equations
            or self.constraints.lines
            or self.points.springs
            or self.points.dashpots
        )
        if reading.shifts and (
            numbered or self.couplings.of_numbers or self.within_parts or self.ties.sectors
        ):
            raise InputError(
                f"{source}: *INSTANCE together with equations, springs, or couplings of "
                "node numbers or within a part is not"
                " read; couple sets and surfaces of the assembly, or export one part in global axes"
            )
        if self.ties.sectors and self.connects:
            raise error_at(
                self.ties.sectors[0].line,
                "*CYCLIC SYMMETRY MODEL with couplings or equations is not supported",
            )
        self.ties.complete(reading)

    def declared(
        self, reading: AbaqusContent, surfaces: Mapping[str, str]
    ) -> tuple[FileDeclarations, dict[str, list[int]]]:
        """Declarations, and the node sets that they need.

        surfaces: names of the node sets of surfaces. Adds element sets.
        """
        connections: Items = {}
        sets: dict[str, list[int]] = {}
        self.tables.temperature = self._temperature(reading)
        self.materials.tables = self.points.tables = self.tables
        for each in (self.couplings, self.constraints, self.ties, self.points):
            found, more = each.declared(reading, surfaces)
            connections |= found
            sets |= more
        sections, materials = self.sections.declared(reading, self.materials)
        masses = self.points.masses(reading)
        return FileDeclarations(
            sections=sections, connections=connections, materials=materials, masses=masses
        ), sets

    def _temperature(self, reading: AbaqusContent) -> float | None:
        """Initial temperature of the nodes of all elements.

        None if it is not uniform or not known.
        """
        found: dict[int, float | None] = {}
        for where, text in self.temperatures:
            name, *values = split(text)
            same = {real(where, value) for value in values if value}
            sets = reading.node_sets
            key = same_name(sets, name) or same_name(sets, name.rpartition(".")[2])
            if key is None and not name.isdecimal():
                return None
            nodes = sets[key] if key is not None else [int(name)]
            found |= dict.fromkeys(nodes, same.pop() if len(same) == 1 else None)
        of_elements = {node for _, nodes in reading.elements.values() for node in nodes}
        all_ = {found.get(node) for node in of_elements}
        return all_.pop() if len(all_) == 1 else None


Handler = Callable[[str, Mapping[str, str], str, Rows], None]
HANDLERS: dict[str, Callable[[Deck], Handler]] = {
    **dict.fromkeys(Couplings.KEYWORDS, lambda deck: deck.couplings.add),
    **dict.fromkeys(EquationCards.KEYWORDS, lambda deck: deck.constraints.add),
    **dict.fromkeys(Ties.KEYWORDS, lambda deck: deck.ties.add),
    **dict.fromkeys(AbaqusPoints.KEYWORDS, lambda deck: deck.points.add),
}

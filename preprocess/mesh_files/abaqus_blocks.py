"""Keyword blocks of Abaqus and CalculiX input files, and the element types.

Lines, options, large tables, included files.
"""

import difflib
import re
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.files.inputs import read_text
from preprocess.mesh_files.abaqus_assembly import Rows, split
from preprocess.mesh_files.include import Includes
from preprocess.mesh_files.number_tables import extract_tables
from preprocess.mesh_files.raw_mesh import AXISYMMETRIC, SHAPES, STRAIN, STRESS

Array = NDArray[np.float64]

# Solid types with their meshio name and number of nodes; those of second order number their edges
# as VTK does.
SOLID_TYPES = {
    "C3D4": ("tetra", 4),
    "C3D10": ("tetra10", 10),
    "C3D8": ("hexahedron", 8),
    "C3D20": ("hexahedron20", 20),
    "C3D6": ("wedge", 6),
    "C3D15": ("wedge15", 15),
}
# variants of the same element: reduced integration, hybrid, incompatible modes, modified, …
SUFFIXES = "RHIMST"
# Types that mesh generators write for named edges and faces; all others are structural elements.
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

# Trusses, beams and shells; those of other formulations (R, H, five degrees of freedom) are read as
# the others. Beams name their middle node before the end.
STRUCTURAL_TYPES = {
    "T3D2": ("truss", 2),
    "B31": ("line", 2),
    "B31R": ("line", 2),
    "B31H": ("line", 2),
    "B32": ("line3", 3),
    "B32R": ("line3", 3),
    "B32H": ("line3", 3),
    "S3": ("triangle", 3),
    "S3R": ("triangle", 3),
    "STRI3": ("triangle", 3),
    "S4": ("quad", 4),
    "S4R": ("quad", 4),
    "S4R5": ("quad", 4),
    "S6": ("triangle6", 6),
    "S8": ("quad8", 8),
    "S8R": ("quad8", 8),
    "S8R5": ("quad8", 8),
    "STRI65": ("triangle6", 6),
}

# Elements that become connections and masses, and those that are noted.
POINT_TYPES = {
    "SPRINGA": ("spring", 2),
    "DASHPOTA": ("dashpot", 2),
    "MASS": ("mass", 1),
    "DCOUP3D": ("reference", 1),
    "GAPUNI": ("gap", 2),
}
POINTS = {name for name, _ in POINT_TYPES.values()}
# plane and axisymmetric elements, read as solids; in files with solids they name faces (above)
PLANE_STATES = {"CPS": STRESS, "CPE": STRAIN, "CAX": AXISYMMETRIC}
PLANE_SHAPES = {str(count): shape for shape, count in SHAPES.items()}
OTHER_TYPES = (
    (r"CPEG\d.*", "in generalized plane strain a reference node moves one face; give CPE or CPS"),
    (r"C(GAX|AXA)\d.*", "the revolved solid twists and bends as it is; give CAX of the same nodes"),
    (r"(S|M|MG)AX.*", "give CAX elements, or the shell itself with S4 or S8"),
    (r"(B2|T2D|FRAME2D)\d.*", "plane frames are not extruded; give B31, B32 or T3D2"),
    (r"C(PS|PE|AX)\d.*", "of plane elements give CPS, CPE and CAX with 3, 4, 6 or 8 nodes"),
    (r"D", "networks of fluids and heat do not belong to a body"),
    (r"F3D\d.*|FC3D.*", "fluids do not belong to a body"),
    (r"(SPRING|DASHPOT)[12]", "springs to the ground hold the body; give SPRINGA"),
)

Block = tuple[str, dict[str, str], str, Rows, Array | None]


def follow_abaqus(path: Path, includes: Includes) -> None:
    """Open the files that an input file includes."""
    deque(keyword_blocks(path, includes), maxlen=0)


def keyword_blocks(path: Path, includes: Includes) -> Iterator[Block]:
    """Keyword, options, location, data rows and table of each keyword block, following includes."""
    current: tuple[str, dict[str, str], str] | None = None
    rows: Rows = []
    table: Array | None = None
    extract = extract_tables(read_text(path), _columns)
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
    """Number of columns of the table below a keyword line *NODE or *ELEMENT.

    0 if it must be read line by line.
    """
    keyword, options = _options(header)
    if "INPUT" in options:
        return 0
    if keyword == "NODE":
        return 4 if options.get("SYSTEM", "R").upper()[:1] in ("R", "C") else 0
    kind = options.get("TYPE", "").upper()
    size = element_type(kind)[1] or plane_type(kind)[1]
    return size + 1 if size else 0


def _included(name: str, where: str, includes: Includes) -> Iterator[tuple[str, str]]:
    """(location, text) of the lines of an included file."""
    yield from _lines(name, includes.lines(where, name), includes)
    includes.close()


def _options(text: str) -> tuple[str, dict[str, str]]:
    """Keyword and options of a keyword line."""
    name, *options = split(text[1:])
    pairs = (option.partition("=") for option in options)
    return " ".join(name.upper().split()), {
        key.strip().upper(): value.strip().strip('"') for key, _, value in pairs
    }


def _lines(source: str, lines: list[str], includes: Includes) -> Iterator[tuple[str, str]]:
    """Location and text of the non-empty lines, following includes.

    Keyword lines continued after a comma are joined.
    """
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


def element_type(kind: str, structural: bool = False) -> tuple[str, int]:
    """meshio's name and the number of nodes of an element type.

    ("", 0) for an unsupported type, and for beams and shells unless ``structural``.
    """
    if structural and kind in {**STRUCTURAL_TYPES, **POINT_TYPES}:
        return {**STRUCTURAL_TYPES, **POINT_TYPES}[kind]
    if structural and plane_type(kind)[1]:
        return plane_type(kind)
    if kind in SKIN_TYPES:
        return SKIN_TYPES[kind]
    base = re.match(r"C3D\d+", kind)
    if base and set(kind[base.end() :]) <= set(SUFFIXES):
        return SOLID_TYPES.get(base.group(), ("", 0))
    return "", 0


def plane_type(kind: str) -> tuple[str, int]:
    """Type and number of nodes of a plane or axisymmetric element; ("", 0) for any other."""
    base = re.match(r"(CPS|CPE|CAX)(\d+)", kind)
    if base is None or base[2] not in PLANE_SHAPES or not set(kind[base.end() :]) <= set(SUFFIXES):
        return "", 0
    return f"{PLANE_STATES[base[1]]} {PLANE_SHAPES[base[2]]}", int(base[2])


def unsupported(kind: str, structural: bool) -> str:
    """Reason and remedy for elements of an unsupported type."""
    if structural:
        return next(
            (why for pattern, why in OTHER_TYPES if re.fullmatch(pattern, kind)),
            f"use {', '.join([*SOLID_TYPES, *STRUCTURAL_TYPES, *PLANE_STATES])}",
        )
    return (
        "read it with structural=True"
        if kind in STRUCTURAL_TYPES or plane_type(kind)[1]
        else f"export {', '.join(SOLID_TYPES)} only"
    )


def similar_keyword(keyword: str, known: Iterable[str]) -> str:
    """Known keyword that a misspelt one resembles; "" for none."""
    names = sorted(known)
    return (
        ""
        if keyword in names
        else next(iter(difflib.get_close_matches(keyword[:60], names, 1, 0.75)), "")
    )


def error_at(line: str, message: str) -> InputError:
    """Error with the location of a line."""
    return InputError(f"{line}: {message}")

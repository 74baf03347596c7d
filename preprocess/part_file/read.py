"""Reader of part files; all problems are reported together with their lines."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from flexmbs.declaration import NestedError, Problem, shown
from flexmbs.errors import InputError
from flexmbs.files.paths import file_path
from flexmbs.toml.document import Locator, ProblemCollector, TomlDocument, read_document
from preprocess.body.prestress import Prestress
from preprocess.body.stress import SURFACE_STRESS, Stress
from preprocess.cad.faces import Face
from preprocess.cad.netgen import FORMATS as CAD_FORMATS
from preprocess.elements.formulation import Formulation
from preprocess.fe.beam_sections import SECTIONS
from preprocess.fe.material import MATERIALS, Material
from preprocess.fe.material_library import MaterialData, find_material, read_materials
from preprocess.fe.point_mass import PointMass
from preprocess.fe.section_base import Section
from preprocess.inputs.argument_checks import checked_arguments
from preprocess.mesh_files.readers import READERS
from preprocess.part_file.from_tables import (
    PartFiles,
    as_table,
    key_problems,
    problem_at,
    read_kind,
    read_record,
)
from preprocess.part_file.part import (
    FORMAT,
    OPTIONS,
    TABLES,
    CadMeshing,
    MatrixSource,
    Part,
    PartDivision,
    PartOptions,
)
from preprocess.part_file.regions import (
    in_metres,
    read_connection,
    read_face,
    read_interface,
    read_with_region,
)
from preprocess.reduction import REDUCTIONS, CraigBampton, Reduction

OF_MESH = (
    "mesh",
    "unit",
    "fix",
    "mass",
    "material",
    "materials",
    "material_file",
    "connections",
    "section",
    "sections",
    "structural",
    "density",
    "sectors",
    "formulation",
    "cad",
)

SPIDERS = "spiders"  # value of interfaces: those at the centres of the spiders of the mesh file
WHOLE = ("matrices", "prestress", "band", "tolerance")  # not with [divide]


@checked_arguments
def read_part(path: str | Path, *, allow_outside: bool = False) -> Part:
    """Read a part from a part file.

    Raises InputError with every problem, one line each: ``file:line: key: what``.

    Examples
    --------
    >>> from pathlib import Path
    >>> import preprocess as pp
    >>> text = '''
    ... format = "flexmbs-part/1"
    ... mesh = "link.msh"
    ... unit = "mm"
    ... reference = "hub"
    ... material = { E = 70e9, nu = 0.66, rho = 2700.0 }
    ... interfaces.hub.set = "hub_face"
    ... '''
    >>> size = Path("link.toml").write_text(text)
    >>> try:
    ...     pp.read_part("link.toml")
    ... except Exception as error:  # each problem with its line
    ...     print(error)
    link.toml:6: material.nu: nu = 0.66 is outside -1 < nu < 0.5, the range of stable materials
    """
    return part_of(read_document(file_path(path, "part file"), "part"), allow_outside=allow_outside)


def part_of(document: TomlDocument, *, allow_outside: bool) -> Part:
    """Part described by a document. Raises InputError with every problem."""
    table, notes = document.table, ProblemCollector()
    files = PartFiles(Locator(document.path.parent, allow_outside, "part"))
    _check_format(table, notes)
    notes.problems += _source_problems(table)
    if "reference" not in table and table.get("interfaces") != SPIDERS:
        notes.problems.append(Problem(("reference",), "is missing"))

    def one(title: str, given: Any, read: Callable[[Any, PartFiles], Any]) -> Any:
        """Value of a table, with problems collected."""
        return _attempt(notes, (title,), given, lambda each: read(each, files))

    def named(title: str, read: Callable[[Any, PartFiles], Any]) -> dict[str, Any]:
        """Values of a table of named items, with problems collected."""
        return {
            name: _attempt(notes, (title, name), given, lambda each: read(each, files))
            for name, given in _section(table, title, notes).items()
        }

    if isinstance(table.get("material_file"), str):
        files.materials = _own_materials(table["material_file"], files, notes)
    part = Part(
        document=document,
        options=notes.attempt(
            (),
            lambda: read_record(
                PartOptions, {key: table[key] for key in OPTIONS if key in table}, files
            ),
        ),
        mesh=notes.attempt((), lambda: files.path(table["mesh"], "mesh"))
        if isinstance(table.get("mesh"), str)
        else None,
        matrices=one("matrices", table["matrices"], _matrices) if "matrices" in table else None,
        material=named("materials", _material)
        if "materials" in table
        else one("material", table.get("material", {}), _material),
        interfaces=None
        if table.get("interfaces") == SPIDERS
        else named("interfaces", read_interface),
        method=one("method", table["method"], _method)
        if "method" in table
        else _default_method(table),
        point_masses=named("point_masses", _point_mass) if "point_masses" in table else {},
        sections=_sections(table, one, named),
        connections=named("connections", read_connection) if "connections" in table else {},
        formulation=one("formulation", table.get("formulation", {}), _formulation),
        prestress=one("prestress", table["prestress"], _prestress)
        if "prestress" in table
        else None,
        division=one("divide", table["divide"], _division) if "divide" in table else None,
        cad=one("cad", table["cad"], read_cad_options) if "cad" in table else None,
        stress=one("stress", table.get("stress", True), _stress),
        files=tuple(files.used),
        reader=functools.partial(part_of, allow_outside=allow_outside),
        allow_outside=allow_outside,
    )
    if notes.problems:
        raise document.refusal(notes.problems)
    return part


def _source_problems(table: Mapping[str, Any]) -> list[Problem]:
    """Problems of the source of a part: mesh file or matrices.

    Either a mesh with unit and materials, or matrices; a divided part has a mesh only.
    """
    if "divide" in table and (given := [key for key in WHOLE if key in table]):
        return [
            Problem((key,), "is not available for a divided part; omit it with [divide]")
            for key in given
        ]
    if "matrices" in table:
        return [
            Problem((key,), "belongs to a mesh; omit it with [matrices]")
            for key in OF_MESH
            if key in table
        ]
    of_cad = is_cad(table)
    problems = [
        Problem((key,), "is missing")
        for key in ("mesh", "unit")
        if key not in table and not (of_cad and key == "unit")
    ]
    problems += [
        Problem((key,), "belongs to a mesh file; omit it with a CAD file")
        for key in ("unit", "fix", "structural", "density", "sectors", "section", "sections")
        if of_cad and key in table
    ]
    if "cad" in table and not of_cad:
        problems.append(Problem(("cad",), f"needs a CAD file as mesh: {', '.join(CAD_FORMATS)}"))
    if "section" in table and "sections" in table:
        problems.append(
            Problem(
                ("sections",), "given together with [section]; give one section or one per region"
            )
        )
    if "material" in table and "materials" in table:
        problems.append(
            Problem(
                ("materials",),
                "given together with [material]; give one material or one per region",
            )
        )
    # then the mesh file may have it
    declared = table.get("structural", is_deck(table)) is True
    if not (table.get("material") or "materials" in table or declared):
        problems.append(Problem(("material",), "is missing; give E, nu and rho, or its name"))
    return problems


def is_deck(table: Mapping[str, Any]) -> bool:
    """True if the mesh of a part file is a deck, which may have sections and materials."""
    mesh = table.get("mesh")
    reader = READERS.get(Path(mesh).suffix.lower()) if isinstance(mesh, str) else None
    return reader is not None and reader.declares


def is_cad(table: Mapping[str, Any]) -> bool:
    """True if the mesh of a part file is a CAD file."""
    mesh = table.get("mesh")
    return isinstance(mesh, str) and Path(mesh).suffix.lower() in CAD_FORMATS


def read_cad_options(given: Any, files: PartFiles) -> CadMeshing:
    """Options of a table [cad]. Raises NestedError, InputError."""
    table = dict(as_table(given))
    refine = table.pop("refine", [])
    if "size" in table:
        table["size"] = in_metres(table["size"], "size")
    found = read_record(CadMeshing, table, files)
    if not isinstance(refine, list):
        raise NestedError.at(("refine",), "must be a list of tables with size and a face")
    return replace(found, refine=tuple(_refined(each, files) for each in refine))


def _refined(given: Any, files: PartFiles) -> tuple[Face, float]:
    """Face and the size of elements (m) on it."""
    table = dict(as_table(given))
    size = in_metres(table.pop("size", None), "size")
    if isinstance(size, bool) or not isinstance(size, (int, float)):
        raise NestedError.at(("refine",), f"size must be a length, not {shown(size)}")
    return read_face(table, files), float(size)


def _matrices(given: Any, files: PartFiles) -> MatrixSource:
    """Matrices with the absolute paths of their files."""
    found = read_record(MatrixSource, as_table(given), files)
    paths = {
        key: str(files.path(name, key))
        for key in ("file", "mass", "nodes")
        if (name := getattr(found, key)) is not None
    }
    return replace(found, **paths)


def _check_format(table: Mapping[str, Any], notes: ProblemCollector) -> None:
    """Collect problems of the format and of unknown keys of a part file."""
    if table.get("format") != FORMAT:
        given = f"is {shown(table['format'])}" if "format" in table else "is missing"
        notes.problems.append(
            Problem(("format",), f'{given}; a part file starts with format = "{FORMAT}"')
        )
    notes.problems += key_problems(table, ["format", *OPTIONS, *TABLES], [])


def _attempt(
    notes: ProblemCollector, path: tuple[str, ...], given: Any, make: Callable[[Any], Any]
) -> Any:
    """Result of ``make`` for a table, or None with its problems recorded under ``path``."""
    try:
        return make(given)
    except NestedError as error:
        notes.problems += [Problem(path + inner.path, inner.message) for inner in error.problems]
    except InputError as error:
        notes.problems += [problem_at(problem, path, given) for problem in error.problems]
    return None


def _section(table: Mapping[str, Any], name: str, notes: ProblemCollector) -> Mapping[str, Any]:
    """Table of named tables; it is a problem if it is missing or empty."""
    found = notes.attempt((name,), lambda: as_table(table[name])) if name in table else {}
    if found is not None and not found:
        notes.problems.append(Problem((name,), f"is missing; give at least one [{name}.…]"))
    return found or {}


def _sections(table: Mapping[str, Any], one: Callable[..., Any], named: Callable[..., Any]) -> Any:
    """One section, sections by element set, or None for those of the mesh file."""
    if "sections" in table:
        return named("sections", _section_of)
    return one("section", table["section"], _section_of) if "section" in table else None


def _section_of(given: Any, files: PartFiles) -> Section:
    """Section from a table."""
    if isinstance(given, Mapping) and isinstance(given.get("materials"), list):
        given = {**given, "materials": tuple(_material(each, files) for each in given["materials"])}
    return read_kind(SECTIONS, given, "shell", files)


def _own_materials(
    given: str, files: PartFiles, notes: ProblemCollector
) -> tuple[MaterialData, ...] | None:
    """Materials of the file that a part file names; None with its problems recorded."""
    key = "material_file"
    path = notes.attempt((), lambda: files.path(given, key))
    return None if path is None else _attempt(notes, (key,), given, lambda _: read_materials(path))


def _material(given: Any, files: PartFiles) -> Material | None:
    """Material by name or from a table; None for an empty one."""
    if isinstance(given, str) and given:
        if files.materials is None:
            raise NestedError(())  # the problems of the file have been reported
        return find_material(given, files.materials).isotropic
    return read_kind(MATERIALS, given, "isotropic", files) if given else None


def _method(given: Any, files: PartFiles) -> Reduction:
    """Reduction method from a table."""
    return read_kind(REDUCTIONS, given, "craig-bampton", files)


def _default_method(table: Mapping[str, Any]) -> Reduction | None:
    """Craig–Bampton, or the smallest proved basis if a band is given."""
    return None if "band" in table else CraigBampton(modes=12)


def _point_mass(given: Any, files: PartFiles) -> PointMass:
    """Point mass from a table."""
    return read_with_region(PointMass, given, files)


def _prestress(given: Any, files: PartFiles) -> Prestress:
    """Prestress from a table."""
    return read_record(Prestress, as_table(given), files)


def _division(given: Any, files: PartFiles) -> PartDivision:
    """Division of the part into pieces from a table."""
    return read_record(PartDivision, as_table(given), files)


def _formulation(given: Any, files: PartFiles) -> Formulation:
    """Element formulation from a table."""
    return read_record(Formulation, as_table(given), files)


def _stress(given: Any, files: PartFiles) -> Stress | None:
    """Stress options from true, false, or a table with nodes and precision."""
    if isinstance(given, bool):
        return SURFACE_STRESS if given else None
    return read_record(Stress, as_table(given), files)

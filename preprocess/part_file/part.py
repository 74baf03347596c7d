"""A part file: mesh, unit, materials, interfaces, reduction, reference and damping of one flexible body, in TOML.

format = "flexmbs-part/1"
mesh = "link.msh"
unit = "mm"
reference = "hub"            # an interface, "mean axes", "principal axes", "chord" or "node 17"
damping = 0.01               # one ratio, or one per mode
[material]                   # or [materials."name of an element set"], one for each region
kind = "isotropic"           # E, nu, rho; or "orthotropic" with E, nu, G, rho, axes
E = 70e9
nu = 0.33
rho = 2700.0
[interfaces.hub]
kind = "rigid"               # or "averaged"
set = "hub_face"             # or point = [x, y, z] with radius, or plane = { point = [...], normal = [...] }
[method]
kind = "craig-bampton"       # the keys of a kind are the arguments of its class
modes = 12
[point_masses.motor]         # optional: mass, inertia, position, and a place as that of an interface
set = "motor_feet"
mass = 0.4

Further keys: name, fix = ["orientation"], lumped, stiffening, estimate, allow_large, stress = false or a table, [formulation].
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from flexmbs.declaration import NestedError, Problem, shown
from flexmbs.errors import InputError
from flexmbs.toml.document import Collector, Document, Locator, read_document
from preprocess.elements.formulation import Formulation
from preprocess.interfaces import Interface
from preprocess.material import MATERIALS, Material
from preprocess.part_file.places import read_interface, read_placed
from preprocess.part_file.records import Files, as_table, field_names, key_problems, placed, read_kind, read_record
from preprocess.point_mass import PointMass
from preprocess.reduction import REDUCTIONS, CraigBampton, Progress, Reduction
from preprocess.stress import SURFACE_STRESS, Stress

if TYPE_CHECKING:
    from flexmbs.flexible_body import FlexibleBodyData
    from preprocess.fe_model import FEModel
    from preprocess.mesh import Mesh

FORMAT = "flexmbs-part/1"
TABLES = ("material", "materials", "interfaces", "method", "point_masses", "formulation", "stress")


@dataclass(frozen=True)
class Options:
    """The keys above the tables."""

    mesh: str
    unit: Literal["m", "cm", "mm", "in"]
    reference: str
    name: str | None = None
    fix: tuple[Literal["orientation"], ...] = ()
    lumped: bool = False
    allow_large: bool = False
    damping: float | tuple[float, ...] = 0.0
    stiffening: bool = True
    estimate: bool = True


OPTIONS = field_names(Options)


@dataclass(frozen=True, eq=False)
class Part:
    """What a part file says: the arguments of `read_mesh`, `assemble` and `reduce`; ``files``: everything it reads."""

    document: Document
    options: Options
    mesh: Path
    material: Material | Mapping[str, Material]
    interfaces: Mapping[str, Interface]
    method: Reduction
    point_masses: Mapping[str, PointMass]
    formulation: Formulation
    stress: Stress | None
    files: tuple[Path, ...]

    def read_mesh(self) -> Mesh:
        """Mesh in metres. Raises InputError."""
        from preprocess.mesh import read_mesh

        with self.told():
            return read_mesh(self.mesh, unit=self.options.unit, fix=self.options.fix)

    def model(self, *, allow_large: bool = False) -> FEModel:
        """Assembled finite-element model. Raises InputError."""
        from preprocess.assembly import assemble
        from preprocess.point_mass import attach

        options = self.options
        mesh = self.read_mesh()
        with self.told():
            fe = assemble(
                mesh, self.material, formulation=self.formulation, lumped=options.lumped,
                allow_large=allow_large or options.allow_large,
            )  # fmt: skip
            return attach(fe, self.point_masses.values())

    def reduce(self, *, allow_large: bool = False, progress: Progress | None = None) -> FlexibleBodyData:
        """Flexible body; its provenance names the part file and the digest of the inputs. Raises InputError, SolverError."""
        from preprocess.build import reduce
        from preprocess.part_file.digest import INPUTS, input_digest

        began = time.perf_counter()
        if progress is not None:
            progress("read and assemble", 0.0)
        fe, options = self.model(allow_large=allow_large), self.options
        origin: dict[str, str | float] = {
            "time read and assemble": time.perf_counter() - began,
            "part file": str(self.document.path),
        }
        with self.told():
            data = reduce(
                fe, interfaces=self.interfaces, method=self.method, reference=options.reference, damping=options.damping,
                stiffening=options.stiffening, stress=self.stress, estimate=options.estimate, name=options.name,
                progress=progress,
            )  # fmt: skip
        return replace(data, provenance={**origin, **data.provenance, INPUTS: input_digest(self)})

    @contextmanager
    def told(self) -> Iterator[None]:
        """Problems that name a key of the file get its line."""
        try:
            yield
        except InputError as error:
            problems = [_of_key(problem, self.document.table) for problem in error.problems]
            others = [str(problem) for problem in problems if not problem.path]
            found = [problem for problem in problems if problem.path]
            raise InputError(*others, *(self.document.refusal(found).problems if found else ())) from None


def read_part(path: str | Path, *, allow_outside: bool = False) -> Part:
    """The part in a file. Raises InputError with every problem, one line each: ``file:line: key: what``."""
    document = read_document(Path(path), "part")
    table, notes = document.table, Collector()
    files = Files(Locator(Path(path).parent, allow_outside, "part"))
    _check_format(table, notes)
    options = notes.attempt((), lambda: read_record(Options, {key: table[key] for key in OPTIONS if key in table}, files))
    mesh = notes.attempt((), lambda: files.path(table["mesh"], "mesh")) if isinstance(table.get("mesh"), str) else None
    material = _materials(table, files, notes)
    interfaces = {
        name: _attempt(notes, ("interfaces", name), each, lambda given: read_interface(given, files))
        for name, each in _section(table, "interfaces", notes).items()
    }
    masses = {
        name: _attempt(notes, ("point_masses", name), each, lambda given: read_placed(PointMass, given, files))
        for name, each in (_section(table, "point_masses", notes) if "point_masses" in table else {}).items()
    }
    formulation = _attempt(
        notes, ("formulation",), table.get("formulation", {}), lambda given: read_record(Formulation, as_table(given), files)
    )
    stress = _attempt(notes, ("stress",), table.get("stress", True), lambda given: _stress(given, files))
    method = _attempt(notes, ("method",), table.get("method"), lambda given: _method(given, files))
    if notes.problems or mesh is None:
        raise document.refusal(notes.problems)
    return Part(document, options, mesh, material, interfaces, method, masses, formulation, stress, tuple(files.used))


def _check_format(table: Mapping[str, Any], notes: Collector) -> None:
    if table.get("format") != FORMAT:
        given = f"is {shown(table['format'])}" if "format" in table else "is missing"
        notes.problems.append(Problem(("format",), f'{given}; a part file begins with format = "{FORMAT}"'))
    notes.problems += key_problems(table, ["format", *OPTIONS, *TABLES], [])


def _attempt(notes: Collector, path: tuple[str, ...], given: Any, make: Callable[[Any], Any]) -> Any:
    """What ``make`` makes of a table, or None with its problems noted under ``path``."""
    try:
        return make(given)
    except NestedError as error:
        notes.problems += [Problem(path + inner.path, inner.message) for inner in error.problems]
    except InputError as error:
        notes.problems += [placed(problem, path, given) for problem in error.problems]
    return None


def _section(table: Mapping[str, Any], name: str, notes: Collector) -> Mapping[str, Any]:
    """A table of tables that must not be empty."""
    found = notes.attempt((name,), lambda: as_table(table[name])) if name in table else {}
    if found is not None and not found:
        notes.problems.append(Problem((name,), f"is missing; give at least one [{name}.…]"))
    return found or {}


def _materials(table: Mapping[str, Any], files: Files, notes: Collector) -> Any:
    """One material, or materials by region."""
    if "material" in table and "materials" in table:
        notes.problems.append(Problem(("materials",), "given besides [material]; give one material or one for each region"))

    def read(given: Any) -> Any:
        return read_kind(MATERIALS, given, "isotropic", files)

    if "materials" in table:
        regions = _section(table, "materials", notes).items()
        return {region: _attempt(notes, ("materials", region), given, read) for region, given in regions}
    if "material" not in table:
        notes.problems.append(Problem(("material",), "is missing; give E, nu and rho"))
        return None
    return _attempt(notes, ("material",), table["material"], read)


def _method(table: Any, files: Files) -> Reduction:
    return CraigBampton(modes=12) if table is None else read_kind(REDUCTIONS, table, "craig-bampton", files)


def _stress(given: Any, files: Files) -> Stress | None:
    """true, false, or a table with nodes and precision."""
    if isinstance(given, bool):
        return SURFACE_STRESS if given else None
    return read_record(Stress, as_table(given), files)


def _of_key(problem: str, table: Mapping[str, Any]) -> Problem:
    """A problem ``interfaces.hub: what`` under its place in the file; without a place when it names no key of the file."""
    place, separator, what = problem.partition(": ")
    keys = tuple(place.split("."))
    return Problem(keys, what) if separator and keys[0] in table else Problem((), problem)

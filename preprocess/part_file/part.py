"""Part file: inputs of one flexible body in TOML.

Mesh, unit, materials, interfaces, reduction, reference and damping:

format = "flexmbs-part/1"
mesh = "link.msh"
unit = "mm"
structural = true            # beams and shells of the mesh as elements; by default of decks with materials
density = 7850.0             # of the materials of the mesh file that have none; or by element set
sectors = 24                 # in which axisymmetric elements are revolved
reference = "hub"            # an interface, "mean axes", "principal axes", "chord" or "node 17"
damping = 0.01               # one ratio, or one per mode
[material]                   # or [materials."name of an element set"], one for each region
kind = "isotropic"           # E, nu, rho; or "orthotropic" with E, nu, G, rho, axes; or its name: material = "S355"
E = 70e9
nu = 0.33
rho = 2700.0
[interfaces.hub]
kind = "rigid"               # or "averaged"
set = "hub_face"             # or point = [x, y, z] with radius, or plane = { point = [...], normal = [...] }
                             # or instead of all tables interfaces = "spiders": the centres of those of the mesh file
[method]
kind = "craig-bampton"       # the keys of a kind are the arguments of its class
modes = 12
[point_masses.motor]         # optional: mass, inertia, position, and a region as for an interface
set = "motor_feet"
mass = 0.4

[connections.flange]         # optional: rigid-spider, averaging-spider (a region as for an interface) or equation
kind = "rigid-spider"
set = "flange_face"
position = [0.3, 0.0, 0.0]   # of its centre, the node set "flange"

[section]                    # or [sections."name of an element set"]; by default those of a Nastran deck
kind = "shell"               # thickness, offset; or "tubular", "rectangular", … with the arguments of their classes
thickness = 0.002

[divide]                     # optional, for parts that bend far: pieces with an axis, or planes with an axis, or sets; and cuts
pieces = 4
along = "x"

[cad]                        # optional, for a mesh of a CAD file: mesh = "link.step", without unit
size = "4 mm"                # largest elements; order, curvature, grading, solid: see `mesh_cad`
refine = [{ size = "1 mm", hole = "10 mm" }]

Instead of mesh, unit and material: [matrices] with the file of another program (format, unit,
mass, nodes: see `read_model`). Further keys: name, fix = ["orientation"], mass, stiffening,
estimate, inertia_loads, allow_large, stress = false or a table, [prestress], [formulation],
material_file = "own.toml" with materials by name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from flexmbs.declaration import Problem
from flexmbs.errors import InputError
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.toml.document import TomlDocument
from preprocess.body.build import ReductionOptions, reduce
from preprocess.body.divided import reduce_divided
from preprocess.body.prestress import Prestress
from preprocess.body.stress import Stress
from preprocess.cad.faces import Face
from preprocess.cad.mesh_cad import mesh_cad
from preprocess.cad.netgen import FORMATS as CAD_FORMATS
from preprocess.distributed.decomposition import WholePart
from preprocess.distributed.reduce import Job
from preprocess.elements.formulation import Formulation
from preprocess.fe.assembly import MassChoice, assemble, layout_of
from preprocess.fe.attach import attach
from preprocess.fe.connections import Connection
from preprocess.fe.fe_model import FEModel
from preprocess.fe.interfaces import Interface
from preprocess.fe.material import Material
from preprocess.fe.point_mass import PointMass
from preprocess.fe.proposals import spider_interfaces
from preprocess.fe.section_base import Section
from preprocess.formats.importers import read_model
from preprocess.mesh.distribute_items import items_by_piece
from preprocess.mesh.divide import divide
from preprocess.mesh.mesh import Mesh
from preprocess.mesh_files.read import read_mesh
from preprocess.part_file.digest import INPUTS, companions, input_digest
from preprocess.part_file.from_tables import field_names
from preprocess.part_file.key_paths import numbers_in, with_values
from preprocess.reduction import Progress, Reduction

FORMAT = "flexmbs-part/1"
TABLES = (
    "material",
    "materials",
    "interfaces",
    "method",
    "point_masses",
    "connections",
    "section",
    "sections",
    "formulation",
    "stress",
    "prestress",
    "matrices",
    "divide",
    "cad",
)


Unit = Literal[
    "m",
    "cm",
    "mm",
    "in",
    "m-kg-s",
    "mm-t-s",
    "mm-kg-ms",
    "mm-g-ms",
    "cm-g-s",
    "in-lbf-s",
    "ft-slug-s",
    "SI",
    "file",
]


@dataclass(frozen=True)
class PartOptions:
    """Keys above the tables; reference: by default the first of ``interfaces = "spiders"``."""

    reference: str | None = None
    mesh: str | None = None
    unit: Unit | None = None
    name: str | None = None
    fix: tuple[Literal["orientation"], ...] = ()
    mass: MassChoice = "consistent"
    allow_large: bool = False
    damping: float | tuple[float, ...] = 0.0
    band: float | None = None
    tolerance: float | None = None
    stiffening: bool = True
    estimate: bool = True
    inertia_loads: bool = False
    structural: bool | None = None
    density: float | dict[str, float] | None = None
    sectors: int | None = None
    material_file: str | None = None


OPTIONS = field_names(PartOptions)


@dataclass(frozen=True)
class MatrixSource:
    """Matrices of another program instead of a mesh.

    The arguments of `read_model`, files by their names.
    """

    file: str
    format: str | None = None
    unit: str = "m-kg-s"
    mass: str | None = None
    nodes: str | None = None


@dataclass(frozen=True)
class PartDivision:
    """Division of a part with large bending into pieces.

    The arguments of `divide`, and the kind of the cuts of `reduce_divided`.
    """

    pieces: int | None = None
    along: Literal["x", "y", "z"] | tuple[float, float, float] = "x"
    planes: float | tuple[float, ...] | None = None
    sets: tuple[str, ...] | None = None
    cuts: Literal["full", "averaged", "rigid"] = "full"


@dataclass(frozen=True)
class CadMeshing:
    """Mesh of a CAD file: the arguments of `mesh_cad`, lengths in m.

    refine: sizes of elements on faces.
    """

    size: float | None = None
    order: int = 2
    curvature: float = 2.0
    grading: float = 0.3
    solid: int | str | None = None
    refine: tuple[tuple[Face, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Part:
    """Content of a part file: the arguments of `read_mesh`, `assemble`, `reduce` and `divide`.

    ``interfaces``: by name, None for those at the spiders of the mesh file; ``files``: all files it
    reads; ``reader``: the function that made it from its document; ``allow_outside``: whether files
    may be outside its folder.

    Examples
    --------
    >>> from pathlib import Path
    >>> import meshio
    >>> import preprocess as pp
    >>> points, cells = [(0, 0, 0), (10, 0, 0), (0, 10, 0), (0, 0, 10)], [("tetra", [[0, 1, 2, 3]])]
    >>> meshio.write("corner.vtu", meshio.Mesh(points, cells))
    >>> text = '''
    ... format = "flexmbs-part/1"
    ... mesh = "corner.vtu"
    ... unit = "mm"
    ... reference = "base"
    ... material = { E = 70e9, nu = 0.33, rho = 2700.0 }
    ... interfaces.base.plane = { point = [0, 0, 0], normal = [0, 0, 1] }
    ... method.kind = "guyan"
    ... '''
    >>> size = Path("corner.toml").write_text(text)
    >>> part = pp.read_part("corner.toml")
    >>> isinstance(part, pp.Part), part.method, part.material.E
    (True, Guyan(), 70000000000.0)
    """

    document: TomlDocument
    options: PartOptions
    mesh: Path | None
    matrices: MatrixSource | None
    material: Material | Mapping[str, Material] | None
    interfaces: Mapping[str, Interface] | None
    method: Reduction | None
    point_masses: Mapping[str, PointMass]
    connections: Mapping[str, Connection]
    sections: Section | Mapping[str, Section] | None
    formulation: Formulation
    stress: Stress | None
    prestress: Prestress | None
    division: PartDivision | None
    cad: CadMeshing | None
    files: tuple[Path, ...]
    reader: Callable[[TomlDocument], Part] = field(repr=False)
    allow_outside: bool = False

    def numbers(self) -> dict[str, float]:
        """All numbers of the part file by the paths of their keys.

        ``{"material.E": 70e9, "damping": 0.01, …}``.
        """
        return numbers_in(self.document.table)

    def changed(self, values: Mapping[str, Any]) -> Part:
        """Part with other values at the paths of keys, checked as if read.

        ``{"material.E": 2.1e11}``. Raises InputError.
        """
        return self.reader(self.document._replace(table=with_values(self.document.table, values)))

    def read_mesh(self) -> Mesh:
        """Mesh in metres. Raises InputError, also for a part with matrices."""
        if self.mesh is None:
            raise InputError(f"{self.document.path}: has matrices instead of a mesh")
        if self.mesh.suffix.lower() in CAD_FORMATS:
            with self.located():
                return meshed_cad(self.mesh, self.cad or CadMeshing())
        with self.located():
            return read_mesh(
                self.mesh,
                unit=str(self.options.unit),
                fix=self.options.fix,
                separate=bool(self.connections),
                structural=self._structural,
                density=self.options.density,
                sectors=self.options.sectors,
                allow_outside=self.allow_outside,
            )

    @property
    def _structural(self) -> bool | None:
        """True if beams and shells are elements; by default, what the mesh file declares."""
        given = self.options.structural
        return True if given is None and self.sections is not None else given

    def model(self, *, allow_large: bool = False) -> FEModel:
        """Finite-element model with its attached masses: assembled, or read. Raises InputError."""
        given = self.matrices
        if given is not None:
            fe = read_model(
                given.file,
                format=given.format,
                unit=given.unit,
                mass=given.mass,
                nodes=given.nodes,
            )
        else:
            return self.assembled(self.read_mesh(), allow_large=allow_large)
        with self.located():
            return attach(fe, self.point_masses.values()) if self.point_masses else fe

    def assembled(self, mesh: Mesh, *, allow_large: bool = False) -> FEModel:
        """Finite-element model of a mesh of the part with its attached masses. Raises InputError."""
        with self.located():
            fe = assemble(
                mesh,
                self.material,
                formulation=self.formulation,
                sections=self.sections,
                connections=self.connections,
                mass=self.options.mass,
                allow_large=allow_large or self.options.allow_large,
            )
            return attach(fe, self.point_masses.values()) if self.point_masses else fe

    def interfaces_on(self, mesh: Mesh | None) -> Mapping[str, Interface]:
        """Interfaces of the part file, or those at the spiders of its mesh. Raises InputError."""
        if self.interfaces is not None:
            return self.interfaces
        if mesh is None:
            raise InputError("interfaces: 'spiders' needs a mesh; name sets of the matrices")
        return spider_interfaces(mesh)

    def reduce(
        self,
        *,
        allow_large: bool = False,
        progress: Progress | None = None,
        keep: str | Path | None = None,
    ) -> FlexibleBodyData:
        """Flexible body; its provenance names the part file and the digest of the inputs.

        The arguments are those of `pp.reduce`. Raises InputError, also for a divided part,
        SolverError.
        """
        if self.division is not None:
            raise InputError(
                f"{self.document.path}: divide: the part is divided, a single piece is needed; "
                "omit [divide]"
            )
        began = time.perf_counter()
        if progress is not None:
            progress("read and assemble", 0.0)
        fe, options = self.model(allow_large=allow_large), self.options
        origin: dict[str, str | float] = {
            "time read and assemble": time.perf_counter() - began,
            "part file": str(self.document.path),
        }
        with self.located():
            data = reduce(
                fe,
                interfaces=(interfaces := self.interfaces_on(fe.mesh)),
                method=self.method,
                reference=options.reference or next(iter(interfaces)),
                band=options.band,
                tolerance=options.tolerance,
                damping=options.damping,
                stiffening=options.stiffening,
                stress=self.stress,
                prestress=self.prestress,
                estimate=options.estimate,
                inertia_loads=options.inertia_loads,
                name=options.name,
                progress=progress,
                keep=keep,
            )
        return replace(data, provenance={**origin, **data.provenance, INPUTS: self.digest()})

    def job(self) -> Job:
        """Part as a job of `reduce_together`, before any matrix. Raises InputError."""
        options = self.options
        if self.division is not None or self.mesh is None:
            what = "[divide]" if self.mesh is not None else "[matrices]"
            raise InputError(
                f"{self.document.path}: engine: petsc does not support {what}; reduce it "
                "in one process"
            )
        mesh = self.read_mesh()
        with self.located():
            layout = layout_of(
                mesh,
                self.material,
                self.formulation,
                self.sections,
                self.connections,
                mass=options.mass,
            )
            interfaces = self.interfaces_on(mesh)
            how = ReductionOptions(
                self.method,
                options.band,
                options.tolerance,
                options.reference or next(iter(interfaces)),
                options.damping,
                self.prestress,
                options.stiffening,
                self.stress,
                options.name,
                options.estimate,
                options.inertia_loads,
            )
            return Job(
                WholePart.bound(mesh, layout, interfaces),
                how,
                ("point masses",) if self.point_masses else (),
            )

    def reduce_divided(
        self, *, allow_large: bool = False, progress: Progress | None = None
    ) -> DividedBodyData:
        """Divided flexible body of a part with pieces.

        The provenance of each piece names the part file and the digest of the inputs. Raises
        InputError, SolverError.
        """
        if self.division is None:
            raise InputError(
                f"{self.document.path}: divide: is missing; give the number of pieces, "
                "planes or element sets"
            )
        division, options = self.division, self.options
        mesh, large = self.read_mesh(), allow_large or options.allow_large
        with self.located():
            mesh, interfaces = _named_faces(mesh, self.interfaces_on(mesh))
            meshes = divide(
                mesh,
                pieces=division.pieces,
                along=division.along,
                planes=division.planes,
                sets=division.sets,
            )
            models = [
                attach(
                    assemble(
                        each,
                        _entries_of_piece(self.material, each),
                        formulation=self.formulation,
                        sections=_entries_of_piece(self.sections, each),
                        connections=links,
                        mass=options.mass,
                        allow_large=large,
                    ),
                    masses.values(),
                )
                for each, (links, masses) in zip(
                    meshes, items_by_piece(mesh, meshes, self.connections, self.point_masses)
                )
            ]
            data = reduce_divided(
                models,
                interfaces=interfaces,
                reference=options.reference or next(iter(interfaces)),
                cuts=division.cuts,
                method=self.method,
                damping=options.damping,
                stiffening=options.stiffening,
                stress=self.stress,
                name=options.name,
                estimate=options.estimate,
                inertia_loads=options.inertia_loads,
                progress=progress,
            )
        origin = {"part file": str(self.document.path), INPUTS: self.digest()}
        return replace(
            data,
            pieces=tuple(
                replace(each, provenance={**each.provenance, **origin}) for each in data.pieces
            ),
        )

    def body(self) -> FlexibleBodyData | DividedBodyData:
        """Flexible body of the part, divided if it has pieces. Raises InputError, SolverError."""
        return self.reduce() if self.division is None else self.reduce_divided()

    def digest(self) -> str:
        """SHA-256 of all inputs, to detect an unchanged part. Raises InputError."""
        beside = () if self.matrices is None else companions(Path(self.matrices.file))
        return input_digest(self.document.table, (*self.files, *beside), self.allow_outside)

    @contextmanager
    def located(self) -> Iterator[None]:
        """Context that adds line numbers to problems naming a key of the file."""
        try:
            yield
        except InputError as error:
            problems = [_of_key(problem, self.document.table) for problem in error.problems]
            others = [str(problem) for problem in problems if not problem.path]
            found = [problem for problem in problems if problem.path]
            raise InputError(
                *others, *(self.document.refusal(found).problems if found else ())
            ) from None


def _entries_of_piece(given: Any, mesh: Mesh) -> Any:
    """Entries by element set restricted to the sets of a piece; one for all is unchanged."""
    return (
        {name: each for name, each in given.items() if name in mesh.element_sets}
        if isinstance(given, Mapping)
        else given
    )


def meshed_cad(path: Path, how: CadMeshing) -> Mesh:
    """Mesh of a CAD file with these options. Raises InputError, MachineError."""
    return mesh_cad(
        path,
        size=how.size,
        sizes=dict(how.refine),
        order=how.order,
        curvature=how.curvature,
        grading=how.grading,
        solid=how.solid,
    )


def _named_faces(
    mesh: Mesh, interfaces: Mapping[str, Interface]
) -> tuple[Mesh, dict[str, Interface]]:
    """Mesh with a set for each interface on a face of a CAD model, and the interfaces on the sets.

    Pieces of a divided mesh have sets, but no faces.
    """
    faces = {name: each.where for name, each in interfaces.items() if isinstance(each.where, Face)}
    sets = {
        f"face of {name}": face.rows(mesh.nodes, mesh.node_sets) for name, face in faces.items()
    }
    moved = {
        name: replace(each, where=f"face of {name}") if name in faces else each
        for name, each in interfaces.items()
    }
    return replace(mesh, node_sets={**mesh.node_sets, **sets}), moved


def _of_key(problem: str, table: Mapping[str, Any]) -> Problem:
    """Problem ``interfaces.hub: what`` with its key path in the file.

    The path is empty if the problem names no key of the file.
    """
    path, separator, what = problem.partition(": ")
    keys = tuple(path.split("."))
    return Problem(keys, what) if separator and keys[0] in table else Problem((), problem)

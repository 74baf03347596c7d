"""``flexmbs preprocess``: a part file describes a mesh, its material, interfaces and reduction.

format = "flexmbs-part/1"
mesh = "link.msh"
unit = "mm"
reference = "hub"            # an interface, or "mean axes"
damping = 0.01               # one ratio, or one per mode
[material]
kind = "isotropic"           # E, nu, rho; or "orthotropic" with E, nu, G, rho, axes
E = 70e9
nu = 0.33
rho = 2700.0
[interfaces.hub]
kind = "rigid"               # or "averaged"
set = "hub_face"             # or point = [x, y, z] with radius, or plane = { point = [...], normal = [...] }
[method]
kind = "craig-bampton"
modes = 12                   # or frequency = 2000.0
"""

import tomllib
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexmbs.console.messages import Report, progress_bar, put, put_json, tell
from flexmbs.errors import InputError

if TYPE_CHECKING:
    from flexmbs.flexible_body import FlexibleBodyData, FloatArray

FORMAT = "flexmbs-part/1"
LARGEST_FILE = 1_000_000
KEYS = ("format", "name", "mesh", "unit", "fix", "allow_large", "reference", "damping", "material", "interfaces", "method")
REQUIRED = ("mesh", "unit", "reference", "material", "interfaces")
MATERIALS = {"isotropic": ("E", "nu", "rho"), "orthotropic": ("E", "nu", "G", "rho", "axes")}
PLACES = ("set", "point", "plane")
INTERFACE = ("kind", *PLACES, "radius", "tolerance", "position", "axes", "weights")


def reduce_file(path: Path, output: Path | None, *, allow_outside: bool) -> None:
    """Write the flexible body of a part file. Raises InputError, SolverError, MachineError."""
    target = output or path.with_suffix(".h5")
    if not target.absolute().parent.is_dir():
        raise InputError(f"{target}: the folder '{target.parent}' does not exist; make it first")
    table = _table(path)
    with warnings.catch_warnings(record=True) as caught, progress_bar("reading the mesh") as progress:
        warnings.simplefilter("always")
        data = _reduced(table, path, allow_outside, progress)
    for warning in caught:
        tell(f"warning: {warning.message}")
    data.save(target)
    put(_described(data))
    put(f"flexible body: {target}")


def inspect(path: Path, *, as_json: bool) -> int:
    """Print a flexible body and its checks; 0 when all hold, else 2."""
    from flexmbs.flexible_body import FlexibleBodyData

    data = FlexibleBodyData.load(path)
    checks = data.validate()
    if as_json:
        put_json({
            "name": data.name, "mass": data.mass, "modes": data.nf, "frequency": data.modes.frequency.tolist(),
            "frames": {name: frame.x.tolist() for name, frame in data.frames.items()}, "digest": data.digest,
            "provenance": dict(data.provenance), "sound": checks.ok,
        })  # fmt: skip
    else:
        put(_described(data))
        put("\n".join(f"{key}: {value}" for key, value in data.provenance.items()))
        put(str(checks))
    return 0 if checks.ok else InputError.exit_code


def _described(data: "FlexibleBodyData") -> str:
    frames = [f"frame {name}: {_millimetres(frame.x)} mm, {frame.kind}" for name, frame in data.frames.items()]
    head = f"{data.name}: {data.mass:.6g} kg, centre of mass {_millimetres(data.com)} mm, {data.nf} modes"
    return "\n".join([head, *frames, str(data.modes)])


def _millimetres(position: "FloatArray") -> str:
    return ", ".join(f"{round(1e3 * float(x), 6) + 0.0:.6g}" for x in position)


def _table(path: Path) -> dict[str, Any]:
    """The part file as a table of known keys."""
    from flexmbs.toml.guard import check_nesting

    try:
        data = path.read_bytes()[: LARGEST_FILE + 1]
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8 text; save the file as UTF-8") from None
    if len(data) > LARGEST_FILE:
        raise InputError(f"{path}: larger than {LARGEST_FILE // 1_000_000} MB; this is no part file")
    check_nesting(text, str(path))
    try:
        table = tomllib.loads(text)
    except ValueError as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    problems = [f"{key}: is missing" for key in REQUIRED if key not in table] + _unknown("", table, KEYS)
    if table.get("format") != FORMAT:
        problems.insert(0, f'format: a part file begins with format = "{FORMAT}"')
    tables = ("material", "interfaces", "method")
    problems += [f"{key}: must be a table" for key in tables if key in table and not isinstance(table[key], dict)]
    _raise(path, problems)
    return table


def _reduced(table: dict[str, Any], path: Path, allow_outside: bool, progress: Report) -> "FlexibleBodyData":
    import preprocess as pp

    problems: list[str] = []

    def attempt(make: Callable[[], Any]) -> Any:
        try:
            return make()
        except InputError as error:
            problems.extend(error.problems)
        except (TypeError, ValueError) as error:
            problems.append(f"{path}: {error}")
        return None

    material = attempt(lambda: _material(table["material"]))
    interfaces = attempt(lambda: {name: _interface(name, values) for name, values in table["interfaces"].items()})
    method = attempt(lambda: _method(table.get("method", {"modes": 12})))
    mesh_file = attempt(lambda: _inside(path, str(table["mesh"]), allow_outside))
    _raise(path, problems)
    mesh = pp.read_mesh(mesh_file, unit=table["unit"], fix=tuple(table.get("fix", ())))
    progress(0.05, "assembling")
    fe = pp.assemble(mesh, material, allow_large=bool(table.get("allow_large", False)))
    return pp.reduce(
        fe, interfaces=interfaces, method=method, reference=str(table["reference"]), damping=table.get("damping", 0.0),
        name=table.get("name"), progress=lambda step, fraction: progress(0.1 + 0.9 * fraction, step),
    )  # fmt: skip


def _material(table: Mapping[str, Any]) -> Any:
    from preprocess.material import Isotropic, Orthotropic

    kind = table.get("kind", "isotropic")
    if kind not in MATERIALS:
        raise InputError(f"material.kind: no such kind '{kind}'; there are {', '.join(MATERIALS)}")
    keys = MATERIALS[kind]
    problems = _unknown("material.", table, ("kind", *keys))
    problems += [f"material.{key}: is missing" for key in keys if key not in table and key != "axes"]
    if problems:
        raise InputError(*problems)
    values = {key: _number_or_numbers(f"material.{key}", table[key]) for key in keys if key in table}
    return (Isotropic if kind == "isotropic" else Orthotropic)(**values)


def _number_or_numbers(key: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_number_or_numbers(key, item) for item in value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{key}: must be a number, not {value!r:.60}")
    return float(value)


def _interface(name: str, table: Any) -> Any:
    from preprocess.interfaces import Averaged, Plane, Point, Rigid

    where = f"interfaces.{name}"
    if not isinstance(table, dict):
        raise InputError(f'{where}: must be a table, such as {{ kind = "rigid", set = "hub_face" }}')
    kinds = {"rigid": Rigid, "averaged": Averaged}
    problems = _unknown(f"{where}.", table, INTERFACE)
    if table.get("kind", "rigid") not in kinds:
        problems.append(f"{where}.kind: no such kind '{table['kind']}'; there are {', '.join(kinds)}")
    if sum(key in table for key in PLACES) != 1:
        problems.append(f"{where}: give one of {', '.join(PLACES)}")
    if problems:
        raise InputError(*problems)
    numbers = {key: _number_or_numbers(f"{where}.{key}", table[key]) for key in ("position", "axes", "weights") if key in table}
    place: Any = table.get("set")
    if "point" in table:
        place = Point(_number_or_numbers(f"{where}.point", table["point"]), table.get("radius"))
    elif "plane" in table:
        plane = table["plane"] if isinstance(table["plane"], dict) else {}
        missing = [f"{where}.plane.{key}: is missing" for key in ("point", "normal") if key not in plane]
        if missing:
            raise InputError(*missing)
        point, normal = (_number_or_numbers(f"{where}.plane.{key}", plane[key]) for key in ("point", "normal"))
        place = Plane(point, normal, table.get("tolerance"))
    return kinds[table.get("kind", "rigid")](place, **numbers)


def _method(table: Mapping[str, Any]) -> Any:
    from preprocess.reduction import REDUCTIONS

    kind = table.get("kind", "craig-bampton")
    if kind not in REDUCTIONS:
        raise InputError(f"method.kind: no such kind '{kind}'; there are {', '.join(REDUCTIONS)}")
    try:
        return REDUCTIONS[kind](**{key: value for key, value in table.items() if key != "kind"})
    except TypeError as error:
        raise InputError(f"method: {error}") from None


def _inside(path: Path, file: str, allow_outside: bool) -> Path:
    """The mesh file's path. Raises InputError for one outside the part file's folder, unless allowed."""
    folder = path.absolute().parent.resolve()
    found = (folder / file).resolve()
    if not allow_outside and not found.is_relative_to(folder):
        raise InputError(f"mesh: '{file}' is not inside the part's folder; move it there, or --allow-outside")
    return found


def _unknown(prefix: str, table: Mapping[str, Any], keys: tuple[str, ...]) -> list[str]:
    from flexmbs.declaration import close_names

    return [f"{prefix}{key}: unknown key; {close_names(key, keys)}" for key in table if key not in keys]


def _raise(path: Path, problems: list[str]) -> None:
    if problems:
        raise InputError(*(problem if problem.startswith(str(path)) else f"{path}: {problem}" for problem in problems))

"""Files of any kind that flexmbs knows: `load`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flexmbs.api.model import Model
from flexmbs.api.model import load as load_toml
from flexmbs.api.solution import Solution
from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError
from flexmbs.files.file_types import BODY, DAMAGED, HDF5, SOLUTION, kind_of
from flexmbs.files.paths import file_path
from flexmbs.files.xml_tree import read_xml
from flexmbs.flexible_body.divided import load_body
from flexmbs.robots.import_result import ImportedModel
from flexmbs.robots.mjcf.build import from_mujoco
from flexmbs.robots.robot import Robot
from flexmbs.robots.sdf.build import from_sdf

ROBOTS = (".urdf", ".xml", ".mjcf", ".sdf", ".world")
CAD = (".step", ".stp", ".p21", ".iges", ".igs", ".brep")
MESHES = (
    ".msh", ".inp", ".bdf", ".nas", ".fem", ".cdb", ".k", ".key", ".feb", ".unv", ".vtu", ".med",
)  # fmt: skip
# files of other purposes, by suffix or kind of `file_types`, and what reads them
OTHERS = {
    **dict.fromkeys(CAD, "CAD file; see flexmbs view, fm.from_step and pp.mesh_cad"),
    **dict.fromkeys(MESHES, "mesh; see flexmbs view and pp.read_mesh"),
    **dict.fromkeys((".stl", ".obj", ".ply", ".dae", ".off"), "surface; use fm.MeshShape"),
    "flexmbs-part": "part file; see pp.read_part and preprocess reduce",
    "flexmbs-sweep": "study file; see flexmbs sweep",
    "page": "page; open it in a browser",
}


@checked_arguments
def load(path: str | Path, *, allow_outside: bool = False, allow_code: bool = False) -> Any:
    """Read a file: a model (TOML, URDF, MJCF, SDF), a flexible body or a solution.

    allow_code: True to import the functions that a TOML file names. Files that it names must be in
    its folder unless ``allow_outside``. A function ``module:name`` is code of the file's author: it
    is imported, from the model's folder or Python's path, only with ``allow_code``. The result is a
    `Model`, a `FlexibleBodyData`, a `DividedBodyData` or a `Solution`; `Robot.from_urdf`,
    `from_mujoco` and `from_sdf` return more of a robot. Raises `InputError` with every problem of
    the file, one per line, and for files of other purposes with what reads them.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("throw")
    >>> stone = model.add(fm.PointMass("stone", mass=0.2))
    >>> flight = model.add(fm.Translation("flight", model.ground, stone, v0=(4.0, 0.0, 9.81)))
    >>> model.save("throw.toml")
    >>> fm.load("throw.toml") == model
    True
    """
    file = file_path(path)
    kind = kind_of(file) if file.is_file() else ""
    if kind == BODY:
        return load_body(file)
    if kind in (SOLUTION, HDF5, DAMAGED):  # others are refused by name
        return Solution.load(file)
    return load_model(file, allow_outside=allow_outside, allow_code=allow_code)


def load_model(path: Path, *, allow_outside: bool, allow_code: bool) -> Model:
    """Model of a TOML or robot file. Raises `InputError`."""
    if path.suffix.lower() in ROBOTS:
        return load_robot(path, allow_outside=allow_outside).model
    kind = kind_of(path) if path.is_file() else ""
    other = OTHERS.get(path.suffix.lower()) or OTHERS.get(kind)
    if kind in (HDF5, DAMAGED):
        other = "damaged HDF5 file" if kind == DAMAGED else "file of another program"
    elif kind in (BODY, SOLUTION):
        other = f"{'flexible body' if kind == BODY else 'solution'}; see fm.load"
    if other is not None:
        raise InputError(f"{path}: is no model but a {other}")
    return load_toml(path, allow_outside=allow_outside, allow_code=allow_code)


def load_robot(path: Path, *, allow_outside: bool) -> Robot | ImportedModel:
    """Robot of a URDF, MJCF or SDF file, by its root element. Raises `InputError`."""
    tag = read_xml(path).tag
    if tag not in ("mujoco", "sdf"):
        return Robot.from_urdf(path, allow_outside=allow_outside)
    return (from_mujoco if tag == "mujoco" else from_sdf)(path, allow_outside=allow_outside)

"""From a finite-element mesh to a flexible body: mesh, material, interfaces, reduction, file.

mesh = read_mesh("link.msh", unit="mm")
link = reduce(mesh, Isotropic(E=70e9, nu=0.33, rho=2700.0), interfaces={"hub": Rigid("hub_face"), "tip": Rigid("tip_face")},
              method=CraigBampton(modes=12), reference="hub", damping=0.01)
link.save("link.h5")
"""

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "preprocess.mesh": "Mesh PreprocessWarning read_mesh",
    "preprocess.matrices": "read_matrices",
    "preprocess.structured": "box_mesh",
    "preprocess.material": "Isotropic Orthotropic",
    "preprocess.assembly": "assemble",
    "preprocess.fe_model": "FEModel",
    "preprocess.elements.formulation": "Formulation",
    "preprocess.point_mass": "PointMass attach",
    "preprocess.interfaces": "Averaged Plane Point Rigid",
    "preprocess.reduction": "ClampedModes CraigBampton CraigChang FreeModes GivenShapes Guyan Krylov Rubin",
    "preprocess.reference": "AttachedInterface AttachedNode Chord MeanAxes PrincipalAxes",
    "preprocess.stress": "Stress",
    "preprocess.build": "reduce",
    "preprocess.part_file": "Part read_part",
    "preprocess.importers": "read_body read_model",
    "preprocess.exporters": "write_body",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

if TYPE_CHECKING:
    from preprocess.assembly import assemble
    from preprocess.build import reduce
    from preprocess.elements.formulation import Formulation
    from preprocess.exporters import write_body
    from preprocess.fe_model import FEModel
    from preprocess.importers import read_body, read_model
    from preprocess.interfaces import Averaged, Plane, Point, Rigid
    from preprocess.material import Isotropic, Orthotropic
    from preprocess.matrices import read_matrices
    from preprocess.mesh import Mesh, PreprocessWarning, read_mesh
    from preprocess.part_file import Part, read_part
    from preprocess.point_mass import PointMass, attach
    from preprocess.reduction import ClampedModes, CraigBampton, CraigChang, FreeModes, GivenShapes, Guyan, Krylov, Rubin
    from preprocess.reference import AttachedInterface, AttachedNode, Chord, MeanAxes, PrincipalAxes
    from preprocess.stress import Stress
    from preprocess.structured import box_mesh

__all__ = [  # noqa: RUF022
    "read_mesh", "read_matrices", "box_mesh", "Mesh", "Isotropic", "Orthotropic", "assemble", "FEModel", "Formulation",
    "PointMass", "attach", "Rigid", "Averaged", "Point", "Plane", "CraigBampton", "Guyan", "Rubin", "CraigChang", "Krylov",
    "FreeModes", "ClampedModes", "GivenShapes", "AttachedInterface", "AttachedNode", "MeanAxes", "PrincipalAxes", "Chord",
    "Stress", "reduce", "read_body", "read_model", "write_body", "PreprocessWarning", "Part", "read_part",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Public names are imported when first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'preprocess' has no attribute '{name}'")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Materials and orientations of Abaqus and CalculiX files.

Source: CalculiX CrunchiX User's Manual and Abaqus Keywords Reference Guide, *MATERIAL, *ELASTIC,
*DENSITY, *ORIENTATION.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from preprocess.mesh_files.abaqus_assembly import Rows
from preprocess.mesh_files.abaqus_blocks import error_at
from preprocess.mesh_files.abaqus_fields import TemperatureTables, reals, table_rows

Array = NDArray[np.float64]
Turned = Callable[[list[float]], list[float]]

# Positions of the constants in C, order xx yy zz yz zx xy, as the files list them: 1111 1122 2222
# 1133 2233 3333 …
ORTHOTROPIC = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2), (5, 5), (4, 4), (3, 3))
_PAIRS = (0, 1, 2, 5, 4, 3)  # 11 22 33 12 13 23
ANISOTROPIC = tuple((_PAIRS[i], _PAIRS[j]) for j in range(6) for i in range(j + 1))
KINDS = {
    "ISO": 2,
    "ISOTROPIC": 2,
    "ORTHO": 9,
    "ORTHOTROPIC": 9,
    "ANISO": 21,
    "ANISOTROPIC": 21,
    "ENGINEERING CONSTANTS": 9,
    "LAMINA": 6,
}
NOT_LINEAR = ("USER MATERIAL", "HYPERELASTIC", "HYPERFOAM")


@dataclass
class AbaqusMaterial:
    """Material of a file.

    Kind of the elastic part, reason why it is not linear elastic, and tables of elastic constants
    and of density over temperature, with a flag for tables that depend on nothing else.
    """

    kind: str = ""
    problem: str = "has no *ELASTIC"
    elastic: tuple[list[list[float]], bool] = ([], True)
    density: tuple[list[list[float]], bool] = ([], True)


@dataclass
class AbaqusMaterials:
    """Materials by name in capitals, in the file's units, and orientations by part and name.

    The part is "" for the model; orientations are axes as columns (3, 3), None for curved systems,
    with the axis and the angle of an additional rotation.
    """

    found: dict[str, AbaqusMaterial] = field(default_factory=dict)
    orientations: dict[tuple[str, str], tuple[Array | None, tuple[int, float]]] = field(
        default_factory=dict
    )
    last: str = ""
    tables: TemperatureTables = field(default_factory=TemperatureTables)

    KEYWORDS: ClassVar = (
        "MATERIAL",
        "ELASTIC",
        "DENSITY",
        "ORIENTATION",
        "DEFORMATION PLASTICITY",
        *NOT_LINEAR,
    )

    def add(
        self, keyword: str, options: Mapping[str, str], line: str, rows: Rows, part: str = ""
    ) -> None:
        """Add a keyword block; orientations belong to the part that contains them.

        Raises InputError with the line.
        """
        if keyword in ("MATERIAL", "ORIENTATION") and not options.get("NAME"):
            raise error_at(line, f"*{keyword} has no NAME=")
        if keyword == "MATERIAL":
            self.last = options["NAME"].upper()
            self.found[self.last] = AbaqusMaterial()
        elif keyword == "ORIENTATION":
            self.orientations[part, options["NAME"].upper()] = (
                _axes(options, line, rows),
                turn_of(line, rows),
            )
        elif not self.last:
            raise error_at(line, f"*{keyword} without *MATERIAL before it")
        elif not rows and keyword != "HYPERFOAM":
            raise error_at(line, f"*{keyword} has no data")
        elif keyword in NOT_LINEAR:
            self.found[self.last].problem = f"is *{keyword}, which is not linear elastic"
        elif keyword == "DENSITY":
            table = table_rows("*DENSITY", rows, 1, options)
            self.found[self.last].density = table, _only_temperature(options)
        else:
            kind, count = _kind(keyword, options, line)
            self.found[self.last].kind = kind
            table = table_rows(f"*{keyword}", rows, count, options)
            self.found[self.last].elastic = table, _only_temperature(options)

    def kind(self, name: str) -> str:
        """Kind of a material; empty without elastic part."""
        own = self.found[name.upper()].kind if name.upper() in self.found else ""
        return str(_elastic(own, [0.0] * 21)["kind"]) if own else ""

    def plane(self, name: str) -> bool:
        """True if a material has the constants of plane stress only."""
        return name.upper() in self.found and self.found[name.upper()].kind == "LAMINA"

    def orientation(self, name: str, part: str) -> tuple[Array | None, tuple[int, float]]:
        """Axes and rotation of an orientation that a part refers to, its own or of the model.

        No axes if there is none.
        """
        missing = (None, (3, 0.0))
        return self.orientations.get((part, name.upper())) or self.orientations.get(
            ("", name.upper()), missing
        )

    def declared(
        self, name: str, orientation: str = "", part: str = "", turned: Turned | None = None
    ) -> dict[str, Any]:
        """Declaration of a material along the axes of an orientation.

        A declaration that is not complete has the key ``problem``. turned: rotates a direction of
        the part to that of its instance.
        """
        found = self.found.get(name.upper())
        if found is None:
            return {"problem": f"material '{name}' does not exist"}
        if not found.kind:
            return {"problem": f"material '{name}' {found.problem}"}
        rows, plain = found.elastic
        given = _elastic(found.kind, self.tables.at(f"material '{name}': *ELASTIC", rows, plain))
        rows, plain = found.density
        density = self.tables.at(f"material '{name}': *DENSITY", rows, plain) if rows else [None]
        given["rho"] = density[0]
        if orientation and given["kind"] != "isotropic":
            axes, _ = self.orientation(orientation, part)
            if axes is None:
                return {
                    "problem": f"material '{name}' has the axes of '{orientation}', which are not "
                    "rectangular"
                }
            columns = [[float(x) for x in axis] for axis in axes.T]
            given["axes"] = np.transpose(
                [turned(axis) for axis in columns] if turned else columns
            ).tolist()
        return given if given["rho"] else {**given, "lacks": f"material '{name}' has no *DENSITY"}


def _only_temperature(options: Mapping[str, str]) -> bool:
    """True if a table depends on the temperature alone."""
    return options.get("DEPENDENCIES", "0").strip() == "0"


def _kind(keyword: str, options: Mapping[str, str], line: str) -> tuple[str, int]:
    """Kind of elastic constants, and their number in a row.

    E and ν come first in plasticity.
    """
    if keyword != "ELASTIC":
        return "ISO", 5
    kind = options.get("TYPE", "ISO").upper()
    if kind not in KINDS:
        raise error_at(line, f"*ELASTIC, TYPE={kind} is not supported; use {', '.join(KINDS)}")
    return kind, KINDS[kind]


def _elastic(kind: str, values: list[float]) -> dict[str, Any]:
    """Declaration of elastic constants."""
    if KINDS[kind] == 2:
        return {"kind": "isotropic", "E": values[0], "nu": values[1]}
    if kind == "LAMINA":  # its E3 has no effect on shells
        E1, E2, nu, *G = values
        return {"kind": "orthotropic", "E": [E1, E2, E2], "nu": [nu, 0.0, 0.0], "G": G}
    if kind == "ENGINEERING CONSTANTS":
        return {"kind": "orthotropic", "E": values[:3], "nu": values[3:6], "G": values[6:]}
    C = np.zeros((6, 6))
    for (i, j), value in zip(ORTHOTROPIC if KINDS[kind] == 9 else ANISOTROPIC, values):
        C[i, j] = C[j, i] = value
    return {"kind": "anisotropic", "C": C.tolist()}


def _axes(options: Mapping[str, str], line: str, rows: Rows) -> Array | None:
    """Axes from the origin c, if given, through the points a and b, then rotated about one of them.

    a is on the first axis, b in the plane of the first two; None for curved systems.
    """
    if options.get("SYSTEM", "RECTANGULAR").upper()[:1] != "R":
        return None
    if options.get("DEFINITION", "COORDINATES").upper() != "COORDINATES":
        raise error_at(
            line,
            f"*ORIENTATION, DEFINITION={options['DEFINITION']} is not supported; give "
            "coordinates of two points",
        )
    values = reals(*rows[0])[:9] if rows else []
    if len(values) < 6:
        raise error_at(line, "*ORIENTATION needs two points, six coordinates")
    first, second = np.array(values[:6]).reshape(2, 3) - np.array([*values[6:], 0.0, 0.0, 0.0][:3])
    third = np.cross(first, second)
    if not np.linalg.norm(third) > 1e-9 * np.linalg.norm(first) * np.linalg.norm(second):
        raise error_at(
            line, "*ORIENTATION: its two points are collinear with the origin; give others"
        )
    axes = np.column_stack([first, np.cross(third, first), third])
    about, angle = turn_of(line, rows)
    turn = Rotation.from_rotvec(np.radians(angle) * np.eye(3)[about - 1]).as_matrix()
    return np.asarray(axes / np.linalg.norm(axes, axis=0) @ turn)


def turn_of(line: str, rows: Rows) -> tuple[int, float]:
    """Axis, 1 to 3, and angle in degrees in the second line of an *ORIENTATION.

    (3, 0) without one. Raises InputError.
    """
    values = [*reals(*rows[1]), 0.0][:2] if len(rows) > 1 else [3.0, 0.0]
    if values[0] not in (1, 2, 3):
        raise error_at(line, f"*ORIENTATION: axis {values[0]:g} of its second line; give 1, 2 or 3")
    return int(values[0]), values[1]

"""Frequencies of one mesh by CalculiX and by flexmbs, for each element type.

    python reports/elements/calculix.py        -> calculix.json (needs ccx, seconds)

A box 0.5 x 0.1 x 0.08 m, curved and tapered, clamped at one end, ten frequencies. CalculiX prints
seven digits.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from preprocess.elements import ELEMENTS, Quadrature
from preprocess.elements.formulation import Formulation
from preprocess.elements.quadrature import gauss_wedge, tetrahedron_1, triangle_1
from preprocess.fe.assembly import assemble
from preprocess.fe.material import Isotropic
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.structured import box_mesh

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "preprocess"))
from arpack_modes import eigenmodes  # noqa: E402

STEEL = Isotropic(E=210e9, nu=0.3, rho=7850.0)
SIZE, COUNT = (0.5, 0.1, 0.08), 10
SAME, FULL, FOUR = Formulation(), Formulation(hex8="full"), Formulation(mass_rule="stiffness")
AXIS = gauss_wedge(triangle_1(), 2)
# Element type of CalculiX: that of flexmbs, divisions, formulation, quadratures of CalculiX.
CASES = {
    "C3D4": ("tet4", (6, 2, 2), SAME, {"mass_rule": tetrahedron_1()}),
    "C3D10": ("tet10", (5, 2, 1), FOUR, {}),
    "C3D8": ("hex8", (8, 2, 2), FULL, {}),
    "C3D20": ("hex20", (5, 2, 1), SAME, {}),
    "C3D6": ("wedge6", (8, 2, 2), SAME, {"stiffness_rule": AXIS, "mass_rule": AXIS}),
    "C3D15": ("wedge15", (5, 2, 1), FOUR, {}),
    "C3D4, own mass": ("tet4", (6, 2, 2), SAME, {}),
    "C3D10, own mass": ("tet10", (5, 2, 1), SAME, {}),
    "C3D6, own integration": ("wedge6", (8, 2, 2), SAME, {}),
    "C3D15, own mass": ("wedge15", (5, 2, 1), SAME, {}),
    "C3D8I": ("hex8", (8, 2, 2), SAME, {}),
}


def bent_box(name: str, divisions: tuple[int, int, int]) -> Mesh:
    """Box, curved and tapered by a smooth map."""
    taper = 0.4 / SIZE[0]
    return box_mesh(SIZE, divisions, name).moved(
        lambda x: (
            x * (1 - taper * x[:, :1] * [0, 1, 1])
            + np.column_stack(
                [0.2 * x[:, 1] * x[:, 2], 0.3 * x[:, 0] ** 2, 0.2 * x[:, 0] * x[:, 1]]
            )
        )
    )


def deck(mesh: Mesh, name: str, kind: str) -> str:
    """CalculiX input file for the clamped frequencies."""
    lines = [
        "*NODE",
        *(f"{n}, {x:.15g}, {y:.15g}, {z:.15g}" for n, (x, y, z) in enumerate(mesh.nodes, 1)),
    ]
    lines.append(f"*ELEMENT, TYPE={kind}, ELSET=ALL")
    for number, row in enumerate(mesh.blocks[name].connectivity + 1, 1):
        fields = [str(number), *map(str, row)]
        lines += [
            ", ".join(fields[k : k + 10]) + ("," if k + 10 < len(fields) else "")
            for k in range(0, len(fields), 10)
        ]
    lines += [
        "*MATERIAL, NAME=STEEL",
        "*ELASTIC",
        f"{STEEL.E:.15g}, {STEEL.nu}",
        "*DENSITY",
        f"{STEEL.rho:.15g}",
    ]
    lines += [
        "*SOLID SECTION, ELSET=ALL, MATERIAL=STEEL",
        "*BOUNDARY",
        *(f"{n + 1}, 1, 3" for n in mesh.node_set("x0")),
    ]
    return "\n".join([*lines, "*STEP", "*FREQUENCY", str(COUNT), "*END STEP", ""])


def by_calculix(text: str) -> np.ndarray:
    """Frequencies in Hz that ccx prints."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "box.inp").write_text(text)
        subprocess.run(["ccx", "box"], cwd=folder, check=True, capture_output=True)
        rows = re.findall(
            r"^\s+\d+\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s*$",
            (Path(folder) / "box.dat").read_text(),
            re.M,
        )
    return np.array([float(row[2]) for row in rows[:COUNT]])


def by_us(mesh: Mesh, formulation: Formulation, rules: Mapping[str, Quadrature]) -> np.ndarray:
    """Frequencies of flexmbs in Hz; rules: quadratures that replace those of the element."""
    (name,) = mesh.blocks
    own = ELEMENTS[name]
    ELEMENTS[name] = replace(own, **rules)
    try:
        fe = assemble(mesh, STEEL, formulation=formulation)
    finally:
        ELEMENTS[name] = own
    dof = np.setdiff1d(
        np.arange(fe.K.shape[0]), (3 * mesh.node_set("x0")[:, None] + np.arange(3)).ravel()
    )
    return eigenmodes(fe.K[dof][:, dof], fe.M[dof][:, dof], COUNT).frequencies


def main() -> None:
    found = {}
    for title, (name, divisions, formulation, rules) in CASES.items():
        mesh = bent_box(name, divisions)
        theirs, ours = (
            by_calculix(deck(mesh, name, title.split(",")[0])),
            by_us(mesh, formulation, rules),
        )
        found[title] = {
            "element": name,
            "ccx [Hz]": theirs.tolist(),
            "here [Hz]": ours.tolist(),
            "largest difference": float(np.abs(ours / theirs - 1).max()),
        }
        print(
            f"{title:32s} {found[title]['largest difference']:.2e}  mode 1: {ours[0]:.4f} "
            f"{theirs[0]:.4f}"
        )
    (HERE / "calculix.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

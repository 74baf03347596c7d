"""Nodal stress of the same mesh under the same load by CalculiX."""

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from parts import STEEL

import preprocess as pp

TYPES = {"tet4": "C3D4", "tet10": "C3D10", "hex8": "C3D8I", "hex20": "C3D20", "wedge15": "C3D15"}
_STEP = ("*STEP", "*STATIC")
_LAST = 16  # numbers in a line


def rigid_tip(mesh: pp.Mesh, force: Sequence[float]) -> tuple[list[str], list[str]]:
    """A bar fixed at x0 with the rigid face x1 loaded at its centre: cards of the model and of the
    step.
    """
    reference, turn = len(mesh.nodes) + 1, len(mesh.nodes) + 2
    at = ", ".join(f"{x:.15g}" for x in mesh.nodes[mesh.node_set("x1")].mean(axis=0))
    held = ["*BOUNDARY", *(f"{n + 1}, 1, 3" for n in mesh.node_set("x0"))]
    face = ["*NSET, NSET=TIP", *_listed(mesh.node_set("x1") + 1)]
    nodes = ["*NODE", f"{reference}, {at}", f"{turn}, {at}"]
    rigid = [f"*RIGID BODY, NSET=TIP, REF NODE={reference}, ROT NODE={turn}"]
    loads = [
        "*CLOAD",
        *(f"{reference}, {axis}, {value!r}" for axis, value in enumerate(force, 1) if value),
    ]
    return [*nodes, *held, *face, *rigid], loads


def spinning(speed: float) -> list[str]:
    """Cards of the centrifugal load about z."""
    return ["*DLOAD", f"ALL, CENTRIF, {speed**2!r}, 0., 0., 0., 0., 0., 1."]


def nodal_stress(mesh: pp.Mesh, model: Sequence[str], step: Sequence[str]) -> np.ndarray:
    """Stress (N, 6) xx yy zz xy yz zx at the nodes by ccx, five digits."""
    with tempfile.TemporaryDirectory() as folder:
        return _nodal(
            _run(mesh, [*model, *_STEP, *step, "*EL FILE", "S"], Path(folder)) / "part.frd",
            len(mesh.nodes),
        )


def point_stress(mesh: pp.Mesh, model: Sequence[str], step: Sequence[str]) -> np.ndarray:
    """Stress (points, 6) at the integration points, element by element, xx yy zz xy yz zx, seven
    digits.
    """
    with tempfile.TemporaryDirectory() as folder:
        text = (
            _run(mesh, [*model, *_STEP, *step, "*EL PRINT, ELSET=ALL", "S"], Path(folder))
            / "part.dat"
        ).read_text()
    rows = [line.split() for line in text.splitlines()]
    values = np.array(
        [[float(x) for x in row[2:]] for row in rows if len(row) == 8 and row[0].isdigit()]
    )
    return values[:, [0, 1, 2, 3, 5, 4]]  # ccx prints xx yy zz xy xz yz


def _run(mesh: pp.Mesh, cards: Sequence[str], folder: Path) -> Path:
    """The folder, with the results of ccx in it."""
    ((name, block),) = mesh.blocks.items()
    lines = [
        "*NODE",
        *(f"{n}, {x:.15g}, {y:.15g}, {z:.15g}" for n, (x, y, z) in enumerate(mesh.nodes, 1)),
    ]
    lines.append(f"*ELEMENT, TYPE={TYPES[name]}, ELSET=ALL")
    for number, row in enumerate(block.connectivity + 1, 1):
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
    lines += ["*SOLID SECTION, ELSET=ALL, MATERIAL=STEEL", *cards, "*END STEP", ""]
    (folder / "part.inp").write_text("\n".join(lines))
    subprocess.run(["ccx", "part"], cwd=folder, check=True, capture_output=True)
    return folder


def _nodal(path: Path, n: int) -> np.ndarray:
    """Block STRESS of a result file."""
    stress, inside = np.full((n, 6), np.nan), False
    for line in path.read_text().splitlines():
        if line.startswith(" -4"):
            inside = "STRESS" in line
        elif inside and line.startswith(" -1"):
            node = int(line[3:13])
            if node <= n:
                stress[node - 1] = [float(line[13 + 12 * k : 25 + 12 * k]) for k in range(6)]
    return stress


def _listed(numbers: np.ndarray) -> list[str]:
    return [
        ", ".join(map(str, numbers[k : k + _LAST])) + "," for k in range(0, len(numbers), _LAST)
    ]

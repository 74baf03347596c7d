"""CalculiX jobs of own meshes; run as a program it makes the stored matrices in data/.

python tests/preprocess/calculix_jobs.py        writes data/calculix_hex20.{inp,sti,mas,dof} with ccx
"""

import shutil
import subprocess
from pathlib import Path

import preprocess as pp

CCX = shutil.which("ccx")
DATA = Path(__file__).parent / "data"
STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
TYPES = {"tet4": "C3D4", "tet10": "C3D10", "hex20": "C3D20"}


def brick() -> pp.Mesh:
    """One element of 0.1 × 0.04 × 0.03 m."""
    return pp.box_mesh((0.1, 0.04, 0.03), (1, 1, 1), "hex20")


def deck(mesh: pp.Mesh, step: str) -> str:
    """Input file of a steel mesh, node numbers from 1, with the given lines of the step."""
    lines = [
        "*NODE, NSET=NALL",
        *(f"{k}, " + ", ".join(repr(float(v)) for v in x) for k, x in enumerate(mesh.nodes, 1)),
    ]
    number = 0
    for kind, block in mesh.blocks.items():
        lines.append(f"*ELEMENT, TYPE={TYPES[kind]}, ELSET=EALL")
        for row in block.connectivity + 1:
            number += 1
            items = [str(number), *map(str, row)]
            lines += [
                ", ".join(items[:11]) + ("," if len(items) > 11 else ""),
                *([", ".join(items[11:])] if len(items) > 11 else []),
            ]
    for name, places in mesh.node_sets.items():
        lines += [f"*NSET, NSET={name}", *(f"{place + 1}," for place in places)]
    lines += [
        "*MATERIAL, NAME=STEEL",
        "*ELASTIC",
        "2.1e11, 0.3",
        "*DENSITY",
        "7850.",
        "*SOLID SECTION, ELSET=EALL, MATERIAL=STEEL",
    ]
    return "\n".join([*lines, "*STEP", step, "*END STEP", ""])


def run(mesh: pp.Mesh, folder: Path, job: str, step: str) -> Path:
    """The job's .inp after ccx has run it."""
    path = folder / f"{job}.inp"
    path.write_text(deck(mesh, step))
    subprocess.run([str(CCX), job], cwd=folder, check=True, capture_output=True, timeout=60)
    return path


STORE = "*FREQUENCY, SOLVER=MATRIXSTORAGE\n1"

if __name__ == "__main__":
    run(brick(), DATA, "calculix_hex20", STORE)
    for leftover in DATA.glob("calculix_hex20.*"):
        if leftover.suffix not in (".inp", ".sti", ".mas", ".dof"):
            leftover.unlink()
    (DATA / "spooles.out").unlink(missing_ok=True)

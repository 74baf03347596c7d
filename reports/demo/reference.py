"""Reference numbers of ``flexmbs demo``: a finer mesh, twice the modes, steps of 2e-5 s, the
other coordinates.

python reports/demo/reference.py            (about a minute; copy the output to flexmbs/studies/run/demo.py)
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import flexmbs as fm
import preprocess as pp
from flexmbs.studies.run.demo import COMPARED_AT, T_END, demo_model, demo_numbers

STEP = 2e-5
MESHES = Path(__file__).resolve().parents[2] / "meshes"


def finer_link(folder: Path) -> Path:
    """File of the link reduced from the refined mesh with twice the modes."""
    mesh_path, body_path = folder / "fine.msh", folder / "link.h5"
    subprocess.run(
        [sys.executable, MESHES / "make_link.py", "--refine", "2", "--output", mesh_path],
        check=True,
    )
    link = pp.reduce(
        pp.read_mesh(mesh_path, unit="mm"),
        pp.Isotropic(E=70e9, nu=0.33, rho=2700.0),
        interfaces={"hub": pp.Rigid("hub_face"), "tip": pp.Rigid("tip_face")},
        method=pp.CraigBampton(modes=24),
        reference="hub",
        damping=0.01,
    )
    link.save(body_path)
    return body_path


def main() -> None:
    """Refine, reduce, simulate, print."""
    with tempfile.TemporaryDirectory() as folder:
        solution = fm.simulate(
            demo_model(finer_link(Path(folder))), t_end=T_END, output_step=5e-3, coordinates="absolute",
            step=STEP,
        )  # fmt: skip
    position, torque, deflection, frequency = demo_numbers(solution)
    print("times", COMPARED_AT)
    print("REFERENCE_POSITION", position.tolist())
    print("REFERENCE_TORQUE", torque)
    print("REFERENCE_DEFLECTION", deflection)
    print("REFERENCE_FREQUENCY", frequency)
    print(solution.statistics)


if __name__ == "__main__":
    main()

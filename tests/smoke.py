"""A swinging rod against its closed form, compiled, and a part file of a bar: a quick check that
this Python and these packages work.

python tests/smoke.py
"""

import platform
import sys
import tempfile
import time
from pathlib import Path

import meshio
import numba
import numpy as np
from scipy.special import ellipj, ellipk

import flexmbs as fm
import preprocess as pp
from flexmbs._jit import COMPILED, compiler

MASS, LENGTH, G, START, T_END = 1.0, 1.0, 9.81, 0.7, 0.5


def swing(t: np.ndarray) -> np.ndarray:
    """Angle of a uniform rod released at START from its lowest position (rad): sin(θ/2) = k sn(K −
    ω t, k).
    """
    k, omega = np.sin(START / 2.0), np.sqrt(1.5 * G / LENGTH)
    return 2.0 * np.arcsin(k * ellipj(ellipk(k**2) - omega * t, k**2)[0])


PART = """
format = "flexmbs-part/1"
mesh = "bar.vtu"
unit = "m"
reference = "left"
material = { E = 2e11, nu = 0.3, rho = 8000.0 }
interfaces.left.plane = { point = [0.0, 0.0, 0.0], normal = [1.0, 0.0, 0.0] }
interfaces.right.plane = { point = [0.5, 0.0, 0.0], normal = [1.0, 0.0, 0.0] }
method = { kind = "craig-bampton", modes = 2 }
"""


def mass_of_a_part() -> float:
    """Mass of a steel bar of 0.5 x 0.1 x 0.1 m, reduced by its part file (kg)."""
    with tempfile.TemporaryDirectory() as folder:
        mesh = pp.box_mesh((0.5, 0.1, 0.1), (2, 1, 1), "hex8")
        meshio.Mesh(mesh.nodes, [("hexahedron", mesh.blocks["hex8"].connectivity)]).write(
            Path(folder) / "bar.vtu"
        )
        (Path(folder) / "bar.toml").write_text(PART, encoding="utf-8")
        return pp.read_part(Path(folder) / "bar.toml").reduce().mass


def main() -> int:
    """0 if the motion is correct."""
    begun = time.perf_counter()
    model = fm.Model("rod", gravity=(0, 0, -G))
    inertia = MASS * LENGTH**2 / 12.0
    rod = model.add(
        fm.RigidBody("rod", mass=MASS, inertia=(1e-6, inertia, inertia), com=(0, 0, -LENGTH / 2.0))
    )
    model.add(fm.Revolute("pivot", model.ground, rod, axis="y", q0=START))
    solution = fm.simulate(
        model,
        t_end=T_END,
        step=1e-3,
        formalism="multiplier",
        integrator="generalized-alpha",
        rho_inf=1.0,
    )
    error = float(np.abs(solution.q[:, 0] - swing(solution.t)).max())
    mass = mass_of_a_part()
    good = error < 1e-5 and abs(mass - 40.0) < 1e-9
    how = "compiled" if COMPILED else "interpreted"
    how += (
        " (with parts and seldom kernels)" if COMPILED and compiler.PARTS and compiler.LIGHT else ""
    )
    program = (
        f"Python {platform.python_version()}, Numba {numba.__version__}, NumPy {np.__version__}"
    )
    verdict = "PASS" if good else "FAIL"
    print(
        f"{program}, {how}: error {error:.1e} rad, part of {mass:.6f} kg, {verdict} in "
        f"{time.perf_counter() - begun:.0f} s"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

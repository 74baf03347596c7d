"""A swinging rod against its closed form, compiled: a quick check that this Python and this Numba work.

python tests/smoke.py
"""

import platform
import sys
import time

import numba
import numpy as np
from scipy.special import ellipj, ellipk

import flexmbs as fm
from flexmbs._jit import _PARTS, _SELDOM, COMPILED

MASS, LENGTH, G, START, T_END = 1.0, 1.0, 9.81, 0.7, 0.5


def swing(t: np.ndarray) -> np.ndarray:
    """Angle of a uniform rod released at START from its lowest position (rad): sin(θ/2) = k sn(K − ω t, k)."""
    k, omega = np.sin(START / 2.0), np.sqrt(1.5 * G / LENGTH)
    return 2.0 * np.arcsin(k * ellipj(ellipk(k**2) - omega * t, k**2)[0])


def main() -> int:
    """0 if the motion is correct."""
    begun = time.perf_counter()
    model = fm.Model("rod", gravity=(0, 0, -G))
    inertia = MASS * LENGTH**2 / 12.0
    rod = model.add(fm.RigidBody("rod", mass=MASS, inertia=(1e-6, inertia, inertia), com=(0, 0, -LENGTH / 2.0)))
    model.add(fm.Revolute("pivot", model.ground, rod, axis="y", q0=START))
    solution = fm.simulate(model, t_end=T_END, step=1e-3, formalism="multiplier", integrator="generalized-alpha", rho_inf=1.0)
    error = float(np.abs(solution.q[:, 0] - swing(solution.t)).max())
    good = error < 1e-5
    how = "compiled" if COMPILED else "interpreted"
    how += " (with parts and seldom kernels)" if _PARTS and _SELDOM else ""
    program = f"Python {platform.python_version()}, Numba {numba.__version__}, NumPy {np.__version__}"
    print(f"{program}, {how}: largest error {error:.1e} rad, {'PASS' if good else 'FAIL'} in {time.perf_counter() - begun:.0f} s")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

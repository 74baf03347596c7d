"""Assembly of stiffness and mass: flexmbs against scikit-fem, one thread, in one process.

    python reports/speed/fe_assembly.py        writes fe_assembly.json and prints the table

Both assemble K and the nodal mass m (M = m ⊗ 1₃, so that scikit-fem too needs the scalar form only)
of the same box with the same quadrature; the minimum of alternating repetitions is reported. The
matrices are compared by their products with a random vector. scikit-fem's time includes its bases
(shape functions at the quadrature points), as that of flexmbs does.
"""

import argparse
import json
import os
import pathlib
import platform
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import meshio  # noqa: E402
import numpy as np  # noqa: E402
import skfem  # noqa: E402
import skfem.io.meshio  # noqa: E402
from scipy.spatial import cKDTree  # noqa: E402
from skfem.models.elasticity import lame_parameters, linear_elasticity  # noqa: E402

from preprocess.elements import ELEMENTS  # noqa: E402
from preprocess.fe.assembly import assemble  # noqa: E402
from preprocess.fe.material import Isotropic  # noqa: E402
from preprocess.mesh.structured import box_mesh  # noqa: E402

STEEL = Isotropic(E=210e9, nu=0.3, rho=7850.0)
CASES = {
    "tet10": (16, skfem.ElementTetP2()),
    "hex27": (16, skfem.ElementHex2()),
    "hex8": (32, skfem.ElementHex1()),
}


def peer(mesh, name, scalar):
    """scikit-fem's assembly as a function that returns [K, m] and their bases."""
    element = ELEMENTS[name]
    grid = skfem.io.meshio.from_meshio(
        meshio.Mesh(mesh.nodes, [(element.meshio_name, mesh.blocks[name].connectivity)])
    )
    tables = []
    for rule in (element.stiffness_rule, element.mass_rule):
        tables.append(
            (rule.points.T, rule.weights)
            if element.corners == 4
            else ((rule.points.T + 1) / 2, rule.weights / 8)
        )
    forms = (
        linear_elasticity(*lame_parameters(STEEL.E, STEEL.nu)),
        skfem.BilinearForm(lambda u, v, w: STEEL.rho * u * v),
    )
    spaces = skfem.ElementVector(scalar), scalar

    def run():
        bases = [skfem.Basis(grid, space, quadrature=table) for space, table in zip(spaces, tables)]
        return [form.assemble(basis) for form, basis in zip(forms, bases)], bases

    return run


def places(mesh, basis):
    """Row in flexmbs of each degree of freedom of scikit-fem."""
    node = cKDTree(mesh.nodes).query(basis.doflocs.T)[1]
    n = basis.N // len(mesh.nodes)
    component = np.zeros(basis.N, dtype=int)
    component[basis.element_dofs] = (np.arange(len(basis.element_dofs)) % n)[:, None]
    return n * node + component


def difference(ours, theirs, place):
    """Relative difference of the products with a random vector."""
    x = np.random.default_rng(0).standard_normal(ours.shape[0])
    product = ours @ x
    return float(np.abs(product[place] - theirs @ x[place]).max() / np.abs(product).max())


def timed(run):
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def study(name, repetitions):
    """Times and differences for one element type."""
    divisions, scalar = CASES[name]
    mesh = box_mesh((1.0, 1.0, 1.0), (divisions,) * 3, name)
    run_peer = peer(mesh, name, scalar)
    assemble(box_mesh((1.0, 1.0, 1.0), (1, 1, 1), name), STEEL)  # compiles, or loads cached kernels
    ours, theirs = [], []
    for _ in range(repetitions):
        seconds, fe = timed(lambda: assemble(mesh, STEEL))
        ours.append(seconds)
        seconds, (matrices, bases) = timed(run_peer)
        theirs.append(seconds)
    return {
        "degrees of freedom": 3 * len(mesh.nodes),
        "elements": len(mesh.blocks[name].ids),
        "flexmbs [s]": min(ours),
        "scikit-fem [s]": min(theirs),
        "ratio": min(theirs) / min(ours),
        "difference of K": difference(fe.K, matrices[0], places(mesh, bases[0])),
        "difference of m": difference(fe.m, matrices[1], places(mesh, bases[1])),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    table = {name: study(name, options.repetitions) for name in CASES}
    versions = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "scikit-fem": skfem.__version__,
    }
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps({**versions, "assembly": table}, indent=1) + "\n")
    for name, row in table.items():
        print(f"{name:6s}" + "  ".join(f"{key} {value:.4g}" for key, value in row.items()))
    slow = [name for name, row in table.items() if row["ratio"] < 4]
    wrong = [
        name
        for name, row in table.items()
        if max(row["difference of K"], row["difference of m"]) > 1e-12
    ]
    print(
        "at least 4 times as fast and equal to round-off: "
        f"{'FAIL ' + str(slow + wrong) if slow or wrong else 'PASS'}; {path}"
    )
    return 1 if slow or wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Compile time of the first use of each element and reduction with an empty cache, against a limit.

    python reports/speed/compile.py                          every element and reduction -> compile.json
    python reports/speed/compile.py --only hex8 --only Rubin
    python reports/speed/compile.py --package FOLDER         of another version of the package, as "before"

A process assembles and reduces a small part with all that `pp.reduce` does by default: geometric
stiffness, stress modes, error estimates. It runs with an empty cache of kernels and again; the
difference of its CPU times is the compilation.
"""

import argparse
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__)
LIMIT = 12.0  # s of CPU time
SOLIDS = ("tet4", "tet10", "wedge6", "wedge15", "hex8", "hex20", "hex27")
STRUCTURES = ("line2", "line3", "tri3", "tri6", "quad4", "quad8")
REDUCTIONS = (
    "Guyan",
    "CraigBampton",
    "Rubin",
    "CraigChang",
    "Krylov",
    "FreeModes",
    "ClampedModes",
    "certified",
    "averaged",
)


def structure(kind):
    """A cantilever of beams, or a strip of shells: nodes and cells."""
    import numpy as np

    second = kind in ("line3", "tri6", "quad8")
    n, wide = 16, not kind.startswith("line")
    x, y = np.meshgrid(
        np.linspace(0, 0.4, n + 1), np.linspace(0, 0.05, 5) if wide else [0.0], indexing="ij"
    )
    nodes, row, step = (
        np.column_stack([x.ravel(), y.ravel(), 0 * x.ravel()]),
        x.shape[1],
        2 if second else 1,
    )
    if not wide:
        first = np.arange(0, n, step)
        return nodes, np.column_stack(
            [first, first + step, first + 1] if second else [first, first + 1]
        )
    i, j = (
        each.ravel()
        for each in np.meshgrid(np.arange(0, n, step), np.arange(0, 4, step), indexing="ij")
    )

    def at(a, b):
        return (i + a) * row + j + b

    if kind == "quad4":
        return nodes, np.column_stack([at(0, 0), at(1, 0), at(1, 1), at(0, 1)])
    if kind == "tri3":
        lower, upper = [at(0, 0), at(1, 0), at(1, 1)], [at(0, 0), at(1, 1), at(0, 1)]
        return nodes, np.vstack([np.column_stack(lower), np.column_stack(upper)])
    if kind == "quad8":
        corners = [at(0, 0), at(2, 0), at(2, 2), at(0, 2), at(1, 0), at(2, 1), at(1, 2), at(0, 1)]
        return nodes, np.column_stack(corners)
    lower = [at(0, 0), at(2, 0), at(2, 2), at(1, 0), at(2, 1), at(1, 1)]
    upper = [at(0, 0), at(2, 2), at(0, 2), at(1, 1), at(1, 2), at(0, 1)]
    return nodes, np.vstack([np.column_stack(lower), np.column_stack(upper)])


def used(mesh):
    """The mesh without nodes that no element has."""
    import numpy as np

    nodes, table = mesh
    kept, table = np.unique(table, return_inverse=True)
    return nodes[kept], table.reshape(mesh[1].shape)


def run(name):
    """Prints the CPU time [s] of the whole process."""
    import numpy as np

    import preprocess as pp

    steel, sections = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0), None
    if name in STRUCTURES:
        nodes, table = used(structure(name))
        ends = {end: np.flatnonzero(nodes[:, 0] == x) for end, x in (("x0", 0.0), ("x1", 0.4))}
        mesh = pp.Mesh.from_arrays(nodes, {name: table}, node_sets=ends)
        sections = pp.CircularSection(0.02) if name.startswith("line") else pp.ShellSection(0.003)
    else:
        mesh = pp.box_mesh((0.4, 0.05, 0.04), (16, 4, 4), name if name in SOLIDS else "tet10")
    kind = pp.Averaged if name == "averaged" else pp.Rigid
    options = {"band": 4000.0, "tolerance": 1e-2} if name == "certified" else {}
    if name in REDUCTIONS and hasattr(pp, name):
        method = getattr(pp, name)
        given = {"modes": 8, "at": "root"}
        options = {
            "method": method(
                **{key: given[key] for key in given if key in inspect.signature(method).parameters}
            )
        }
    fe = pp.assemble(mesh, steel, sections=sections)
    pp.reduce(fe, interfaces={"root": kind("x0"), "tip": kind("x1")}, reference="root", **options)
    print(json.dumps(time.process_time()))


def seconds(name, cache, package):
    """CPU time [s] of a process."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
    if package is not None:
        environment["PYTHONPATH"] = str(package)
    command = [sys.executable, "-W", "ignore", str(HERE), "--run", name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def measured(name, package):
    """CPU time with an empty cache and with a filled one, and their difference."""
    with tempfile.TemporaryDirectory() as cache:
        first, again = (seconds(name, cache, package) for _ in range(2))
    return {"first [s]": first, "again [s]": again, "compile [s]": first - again}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=(*SOLIDS, *STRUCTURES, *REDUCTIONS))
    parser.add_argument("--package", type=pathlib.Path)
    parser.add_argument("--run")
    options = parser.parse_args()
    if options.run:
        return run(options.run)
    path, key = HERE.with_suffix(".json"), "now" if options.package is None else "before"
    kept = json.loads(path.read_text()) if path.exists() else {}
    table = kept.setdefault(key, {})
    for name in options.only or (*SOLIDS, *STRUCTURES, *REDUCTIONS):
        table[name] = measured(name, options.package)
        print(
            f"{name:14s} compile {table[name]['compile [s]']:6.1f} s of CPU time (at most {LIMIT})",
            flush=True,
        )
        path.write_text(json.dumps(kept, indent=1) + "\n")
    worst = max(each["compile [s]"] for each in table.values())
    print(f"longest {worst:.1f} s: {'PASS' if worst <= LIMIT else 'FAIL'}")
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())

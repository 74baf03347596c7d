"""The preprocessor from mesh file to saved flexible body, against CalculiX and against scikit-fem
with SciPy's eigsh.

    python reports/speed/mesh_to_body.py                                   100k and 300k degrees of freedom -> mesh_to_body.json
    python reports/speed/mesh_to_body.py --sizes 1M --programs flexmbs     one size, one program
    python reports/speed/mesh_to_body.py --sizes 300k --programs flexmbs,scikit-fem --patience 480

Each program runs in a separate process on two threads; its wall time is that of the whole process,
start and end included. The programs alternate. Sizes and programs that are not run again keep their
results in the .json. A program that does not end within the patience (s) is stopped; ratios to it
are then upper bounds.

flexmbs: reads the .inp, 20 fixed-interface modes, 2 x 6 constraint modes, reference, all shape
integrals, writes the .h5; at 3M a Sturm count proves that no mode is missed. CalculiX: the same
.inp with both interfaces fixed, *FREQUENCY for 20 modes only. scikit-fem: assembly of K and M of
the same elements, interfaces removed, scipy.sparse.linalg.eigsh(K, 20, M, sigma=0).
"""

import argparse
import json
import os
import pathlib
import platform
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

HERE = pathlib.Path(__file__)
CELLS = {
    "10k": (36, 4, 2),
    "100k": (80, 9, 5),
    "300k": (120, 13, 7),
    "1M": (215, 18, 10),
    "3M": (310, 26, 14),
}  # along, across, through
PROGRAMS = ("flexmbs", "CalculiX", "scikit-fem")
E, NU, RHO = 210e9, 0.3, 7850.0
MODES = 20
LARGEST = {"1M": (12.0, 150.0), "3M": (24.0, 900.0)}  # GB and s of flexmbs on two threads
LIMITS = {
    ("100k", "CalculiX"): 0.25,
    ("300k", "CalculiX"): 0.25,
    ("100k", "scikit-fem"): 0.12,
    ("300k", "scikit-fem"): 0.06,
}


def hook(cells):
    """Crane hook of ten-node tetrahedra: a bar of varying width on an arc of 200°, elements curved;
    faces "root" and "tip".
    """
    from preprocess.mesh.structured import box_mesh

    def bend(x):
        along, across, through = x.T
        angle, width = np.deg2rad(200.0) * along, 0.5 + 0.5 * np.sin(np.pi * (0.15 + 0.7 * along))
        radius = 0.25 + 0.12 * width * (across - 0.5)
        return np.column_stack(
            [radius * np.cos(angle), -radius * np.sin(angle), 0.06 * width * (through - 0.5)]
        )

    mesh = box_mesh((1.0, 1.0, 1.0), cells, "tet10").moved(bend)
    return (
        mesh.nodes,
        mesh.blocks["tet10"].connectivity,
        {"root": mesh.node_set("x0"), "tip": mesh.node_set("x1")},
    )


def write_deck(path, nodes, table, sets):
    """CalculiX deck of the part; the flexible body is made from the same file. CalculiX reads 20
    characters of a number.
    """
    with open(path, "w") as file:
        file.write("*NODE, NSET=NALL\n")
        np.savetxt(
            file,
            np.column_stack([np.arange(1, len(nodes) + 1), nodes]),
            fmt="%d, %.12g, %.12g, %.12g",
        )
        file.write("*ELEMENT, TYPE=C3D10, ELSET=EALL\n")
        np.savetxt(
            file,
            np.column_stack([np.arange(1, len(table) + 1), table + 1]),
            fmt="%d",
            delimiter=", ",
        )
        for name, members in sets.items():
            rows = [
                ", ".join(map(str, members[k : k + 12] + 1)) for k in range(0, len(members), 12)
            ]
            file.write(f"*NSET, NSET={name}\n" + "\n".join(rows) + "\n")
        file.write(
            f"*MATERIAL, NAME=STEEL\n*ELASTIC\n{E}, {NU}\n*DENSITY\n{RHO}\n*SOLID "
            "SECTION, ELSET=EALL, MATERIAL=STEEL\n"
        )
        file.write(
            "*BOUNDARY\nroot, 1, 3\ntip, 1, 3\n*STEP\n*FREQUENCY\n" + f"{MODES}\n*END STEP\n"
        )


def run_flexmbs(deck):
    """Times of the steps [s] and frequencies [Hz]; in a separate process."""
    import preprocess as pp
    from preprocess.elements.formulation import Formulation

    start = time.perf_counter()
    mesh = pp.read_mesh(deck, unit="m")
    read = time.perf_counter()
    fe = pp.assemble(
        mesh, pp.Isotropic(E=E, nu=NU, rho=RHO), formulation=Formulation(mass_rule="stiffness")
    )
    assembled = time.perf_counter()
    interfaces = {"root": pp.Rigid("root"), "tip": pp.Rigid("tip")}
    method = pp.CraigBampton(modes=MODES, verify=True if deck.stem.endswith("3M") else None)
    body = pp.reduce(
        fe,
        interfaces=interfaces,
        method=method,
        reference="root",
        stiffening=False,
        stress=None,
        estimate=False,
    )
    reduced = time.perf_counter()
    body.save(deck.with_suffix(".h5"))
    saved = time.perf_counter()
    steps = {key[5:]: value for key, value in body.provenance.items() if key.startswith("time ")}
    steps = (
        {"read and check": read - start, "assembly of K and m": assembled - read}
        | steps
        | {"save": saved - reduced}
    )
    text = body.provenance["normal-mode frequencies [Hz]"]
    return {"steps [s]": steps, "frequencies [Hz]": [float(f) for f in text.split(",")]}


def run_calculix(deck):
    """Frequencies [Hz] from the .dat file."""
    done = subprocess.run(
        ["ccx", deck.stem], cwd=deck.parent, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stdout[-500:])
    rows = re.findall(
        r"^ +\d+ +(\S+) +(\S+) +(\S+) +(\S+)\s*$", deck.with_suffix(".dat").read_text(), re.M
    )
    return {"frequencies [Hz]": [float(row[2]) for row in rows[:MODES]]}


def run_scikit_fem(deck):
    """Frequencies [Hz]; the mesh comes from an .npz."""
    import scipy.sparse.linalg as sla
    import skfem
    from skfem.models.elasticity import lame_parameters, linear_elasticity

    part = np.load(deck.with_suffix(".npz"))
    nodes, table = part["nodes"], part["table"]
    mesh = skfem.MeshTet2(nodes.T.copy(), table.T.copy())
    basis = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTetP2()), intorder=2)
    K = linear_elasticity(*lame_parameters(E, NU)).assemble(basis)
    M = skfem.BilinearForm(lambda u, v, w: RHO * skfem.helpers.dot(u, v)).assemble(basis)
    at = np.empty(basis.N, np.int64)
    at[basis.element_dofs.ravel()] = np.repeat(table.T, 3, axis=0).ravel()
    free = np.flatnonzero(~np.isin(at, np.concatenate([part["root"], part["tip"]])))
    values = sla.eigsh(
        K[free][:, free], MODES, M[free][:, free], sigma=0.0, return_eigenvectors=False
    )
    return {"frequencies [Hz]": list(np.sqrt(np.sort(values)) / (2 * np.pi))}


RUNS = {"flexmbs": run_flexmbs, "CalculiX": run_calculix, "scikit-fem": run_scikit_fem}


def in_process(program, deck, threads, patience):
    """One run: wall and CPU time [s], peak memory [GB] and what the run returns; without
    frequencies if it took too long.
    """
    names = (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "CCX_NPROC_EQUATION_SOLVER",
        "NUMBER_OF_CPUS",
    )
    environment = os.environ | dict.fromkeys(names, str(threads))
    start = time.perf_counter()
    command = [sys.executable, str(HERE), "--run", program, "--deck", str(deck)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        limit = threading.Timer(patience, process.kill)
        limit.start()
        text = process.stdout.read()
        limit.cancel()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    times = {"wall [s]": time.perf_counter() - start, "CPU [s]": usage.ru_utime + usage.ru_stime}
    if process.returncode == -signal.SIGKILL and times["wall [s]"] >= patience:
        return times | {"memory [GB]": usage.ru_maxrss / 1e6, "done": False}
    if process.returncode:
        raise SystemExit(f"{program} failed on {deck.stem}")
    found = json.loads(text.splitlines()[-1])
    return times | {"memory [GB]": found.pop("memory [GB]")} | found


def alone(program, deck):
    """Output of a separate process."""
    found = RUNS[program](deck)
    peak = max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(json.dumps(found | {"memory [GB]": peak / 1e6}))


def study(size, programs, repetitions, threads, patience, folder):
    """The fastest run of each program for one size."""
    nodes, table, sets = hook(CELLS[size])
    deck = pathlib.Path(folder) / f"hook_{size}.inp"
    write_deck(deck, nodes, table, sets)
    np.savez(deck.with_suffix(".npz"), nodes=nodes, table=table, **sets)
    best = {}
    for turn in range(repetitions):
        for program in programs:
            if turn and program == "scikit-fem":
                continue
            found = in_process(program, deck, threads, patience)
            wall, cpu, memory = (found[key] for key in ("wall [s]", "CPU [s]", "memory [GB]"))
            print(
                f"{size:5s} {program:10s} {wall:8.2f} s  CPU {cpu:8.2f} s  {memory:.2f} GB",
                flush=True,
            )
            if program not in best or found["wall [s]"] < best[program]["wall [s]"]:
                best[program] = found
    return {"degrees of freedom": 3 * len(nodes), "elements": len(table)} | best


def compared(record):
    """Ratios of times and differences of frequencies of flexmbs to the other programs."""
    ours = record["flexmbs"]
    result = {}
    for program in PROGRAMS[1:]:
        if program in record and not record[program].get("done", True):
            result[program] = {"wall ratio below": ours["wall [s]"] / record[program]["wall [s]"]}
        elif program in record:
            a, b = np.array(ours["frequencies [Hz]"]), np.array(record[program]["frequencies [Hz]"])
            difference = float(np.abs(a / b - 1).max()) if len(a) == len(b) else float("nan")
            result[program] = {
                "wall ratio": ours["wall [s]"] / record[program]["wall [s]"],
                "largest difference": difference,
            }
    return result


def verdicts(table):
    """Lines of text for each limit, and whether all hold."""
    lines, good = [], True
    for size, record in table.items():
        for program, found in record["flexmbs over"].items():
            limit = LIMITS.get((size, program), float("inf"))
            if "wall ratio below" in found:
                held = found["wall ratio below"] <= limit
                good = good and held
                lines.append(
                    f"{size:5s} / {program:10s} time below "
                    f"{found['wall ratio below']:.3f} (at most {limit}), it was stopped: "
                    f"{'PASS' if held else 'FAIL'}"
                )
                continue
            held = found["wall ratio"] <= limit and found["largest difference"] < 1e-6
            good = good and held
            lines.append(
                f"{size:5s} / {program:10s} time {found['wall ratio']:.3f} (at most {limit}), "
                f"frequencies differ by {found['largest difference']:.1e} (at most 1e-6): "
                f"{'PASS' if held else 'FAIL'}"
            )
        if size in LARGEST:
            memory, wall = record["flexmbs"]["memory [GB]"], record["flexmbs"]["wall [s]"]
            most, longest = LARGEST[size]
            held = memory <= most and wall <= longest
            good = good and held
            lines.append(
                f"{size:5s} {memory:.1f} GB (at most {most:g}), {wall:.0f} s (at most "
                f"{longest:g}): {'PASS' if held else 'FAIL'}"
            )
    return lines, good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="100k,300k")
    parser.add_argument("--programs", default="flexmbs,CalculiX")
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--patience", type=float, default=3600.0)
    parser.add_argument("--run", choices=PROGRAMS)
    parser.add_argument("--deck", type=pathlib.Path)
    options = parser.parse_args()
    if options.run:
        return alone(options.run, options.deck)
    path = HERE.with_suffix(".json")
    kept = json.loads(path.read_text())["sizes"] if path.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        programs = options.programs.split(",")
        if "flexmbs" in programs:
            # compiles, or loads cached kernels
            study("10k", ["flexmbs"], 1, options.threads, options.patience, folder)
        for size in options.sizes.split(","):
            kept[size] = kept.get(size, {}) | study(
                size, programs, options.repetitions, options.threads, options.patience, folder
            )
            kept[size]["flexmbs over"] = compared(kept[size])
    machine = {
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
    }
    machine |= {"numpy": np.__version__, "threads": options.threads}
    path.write_text(
        json.dumps(
            machine | {"sizes": {size: kept[size] for size in CELLS if size in kept}}, indent=1
        )
        + "\n"
    )
    lines, good = verdicts({size: kept[size] for size in options.sizes.split(",")})
    print("\n".join(lines))
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())

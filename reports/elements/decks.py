"""The 355 decks of CalculiX's own tests: which are read, and the frequencies of those with
*FREQUENCY.

    python reports/elements/decks.py FOLDER    -> decks.json, tables on the screen (about two minutes)

FOLDER: the files of Debian's package calculix-ccx-test,
usr/share/doc/calculix-ccx-test/examples/test, packed or not.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.linalg
import scipy.sparse.linalg as sla

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.mesh_files.abaqus_blocks import keyword_blocks
from preprocess.mesh_files.include import Includes

HERE = Path(__file__).parent
WITHOUT_DENSITY = 1.0  # of materials that have none, kg/m³: for K and M alone
DENSE = 2500  # degrees of freedom
LARGEST = 23_000  # of whole parts of sectors whose frequencies are compared
SAME_POINTS = pp.Formulation(mass_rule="stiffness")
AS_CALCULIX = {
    "C3D20R": pp.Formulation(hex20="reduced", mass_rule="stiffness"),
    "C3D8": pp.Formulation(hex8="full"),
    "C3D10": SAME_POINTS,
    "C3D15": SAME_POINTS,
}
REASONS = (
    ("element type D ", "networks of fluids and heat"),
    ("element type F3D8", "fluids"),
    ("are in one file", "plane, axisymmetric and other elements together"),
    ("of a plane or axisymmetric element", "equations and springs at nodes of plane elements"),
    ("has no *ELASTIC", "read; no elastic constants (thermal or electromagnetic)"),
    ("is not linear elastic", "read; materials that are not linear elastic"),
)


def unpacked(folder: Path, into: Path) -> list[Path]:
    """The files of a folder, unpacked; the decks among them."""
    for path in folder.iterdir():
        if path.is_file():
            data = path.read_bytes()
            (into / path.name.removesuffix(".gz")).write_bytes(
                gzip.decompress(data) if path.suffix == ".gz" else data
            )
    return sorted(into.glob("*.inp"))


def model(path: Path) -> pp.FEModel:
    """Matrices of a deck, as CalculiX integrates them;
    materials without density have a small one.
    """
    mesh = pp.read_mesh(path, unit="m", structural=True, separate=True, density=WITHOUT_DENSITY)
    return pp.assemble(mesh, formulation=formulation(path), held=True)


def element_types(path: Path) -> set[str]:
    return {
        options.get("TYPE", "").upper()
        for keyword, options, *_ in keyword_blocks(path, Includes(path, False))
        if keyword == "ELEMENT"
    }


def formulation(path: Path) -> pp.Formulation:
    chosen = {name: each for name, each in AS_CALCULIX.items() if name in element_types(path)}
    merged = {
        option: getattr(each, option)
        for each in chosen.values()
        for option in ("hex8", "hex20", "mass_rule")
        if getattr(each, option) != getattr(pp.Formulation(), option)
    }
    return pp.Formulation(**merged)


def supports(path: Path, fe: pp.FEModel) -> np.ndarray:
    """Degrees of freedom that *BOUNDARY fixes before the first *FREQUENCY ends; raises InputError
    for what is not linear.
    """
    begun, fixed, place = False, [], {int(number): row for row, number in enumerate(fe.node_ids)}
    names = {name.upper(): rows for name, rows in fe.node_sets.items()}
    step: dict[str, str] = {}
    for keyword, options, _, rows, _ in keyword_blocks(path, Includes(path, False)):
        step = options if keyword == "STEP" else step
        begun = begun or keyword == "FREQUENCY"
        if begun and keyword == "END STEP":
            break
        if keyword == "FREQUENCY" and "PERTURBATION" in step:
            raise InputError("the step before stresses it")
        for _, text in rows if keyword == "BOUNDARY" else ():
            name, first, *rest = [each.strip() for each in text.split(",")]
            last = rest[0] if rest and rest[0] else first
            nodes = names.get(
                name.upper(),
                np.array(
                    [place[int(name)]] if name.isdigit() and int(name) in place else [], dtype=int
                ),
            )
            for component in range(int(first), int(last) + 1):
                if component <= 3:
                    fixed.append(3 * nodes + component - 1)
                elif component <= 6:
                    turned = nodes[fe.freedoms.rotates(nodes)]
                    fixed.append(fe.freedoms.six(turned)[:, component - 1])
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *fixed]))


def frequencies(fe: pp.FEModel, fixed: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """As many of the lowest ω² as expected, rad²/s², with degrees of freedom held: (K + s M) x
    (1/(ω² + s)) = M x.
    """
    K, M = fe.constraints.matrix(fe.K), fe.constraints.matrix(fe.M)
    free = np.setdiff1d(
        np.arange(fe.freedoms.size), np.concatenate([fixed, fe.constraints.dependent])
    )
    free = free[np.asarray(abs(K[free][:, free]).sum(axis=1)).ravel() > 0]
    K, M = K[free][:, free].tocsc(), M[free][:, free].tocsc()
    shift, count = 1e-3 * float(np.abs(expected).max()), min(len(expected), len(free) - 1)
    if len(free) <= DENSE:
        last = len(free) - 1
        mu = scipy.linalg.eigh(
            M.toarray(),
            (K + shift * M).toarray(),
            eigvals_only=True,
            subset_by_index=(last - count + 1, last),
        )
        return np.sort(1 / mu - shift)
    return np.sort(
        sla.eigsh(K, count, M, sigma=-shift, v0=np.ones(len(free)), return_eigenvectors=False)
    )


def reference(path: Path) -> np.ndarray:
    """Eigenvalues ω² of the first table of a .dat.ref file."""
    text = path.with_suffix(".dat.ref").read_text(errors="replace")
    if "E I G E N V A L U E" not in text.replace(
        "E I G E N V A L U E   O U T P U T", "E I G E N V A L U E"
    ):
        raise InputError("its reference has no eigenvalues")
    table = text.split("E I G E N V A L U E   O U T P U T")[1]
    rows = re.findall(
        r"^\s+(?:\d+\s+)?\d+\s+(-?\d\.\d+E[+-]\d+)\s+\S+\s+\S+\s+\S+\s*$",
        table.split("P A R T I C")[0],
        re.M,
    )
    if not rows:
        raise InputError("its reference has no eigenvalues")
    return np.array([float(value) for value in rows])


def of_whole_part(fe: pp.FEModel, fixed: np.ndarray, expected: np.ndarray) -> dict[str, object]:
    """Eigenvalues of one nodal diameter, among those of the whole part next to the lowest elastic
    one.
    """
    if fe.freedoms.size > LARGEST:
        raise InputError(f"sectors whose whole part has {fe.freedoms.size} degrees of freedom")
    K, M = fe.constraints.matrix(fe.K), fe.constraints.matrix(fe.M)
    free = np.setdiff1d(
        np.arange(fe.freedoms.size), np.concatenate([fixed, fe.constraints.dependent])
    )
    K, M = K[free][:, free].tocsc(), M[free][:, free].tocsc()
    lowest = expected[expected > 1e-6 * expected.max()].min()
    found = sla.eigsh(
        K, 6, M, sigma=lowest * (1 + 1e-4), v0=np.ones(len(free)), return_eigenvectors=False
    )
    inside = expected[
        (expected >= found.min() * (1 - 1e-3)) & (expected <= found.max() * (1 + 1e-3))
    ]
    if not inside.size:
        inside = np.array([lowest])
    differences = np.array([np.abs(np.sqrt(np.abs(found) / value) - 1).min() for value in inside])
    return {
        "modes": len(inside),
        "first": float(differences[0]),
        "largest": float(differences.max()),
        "sectors": True,
    }


def compared(path: Path, fe: pp.FEModel) -> dict[str, object]:
    """Largest relative difference of the frequencies, or the reason why there is none."""
    try:
        expected, fixed = reference(path), supports(path, fe)
        if "CYCLIC SYMMETRY MODEL" in path.read_text(errors="replace").upper():
            return of_whole_part(fe, fixed, expected)
        found = frequencies(fe, fixed, expected)
    except (
        InputError,
        FileNotFoundError,
        np.linalg.LinAlgError,
        RuntimeError,
        MemoryError,
    ) as error:
        return {"reason": str(error)[:120]}
    n, scale = min(len(found), len(expected)), float(np.abs(expected).max())
    moving = np.abs(expected[:n]) > 1e-6 * scale
    if not moving.any():
        return {"reason": "no elastic frequency"}
    differences = np.abs(np.sqrt(np.abs(found[:n][moving] / expected[:n][moving])) - 1)
    return {
        "modes": int(moving.sum()),
        "first": float(differences[0]),
        "largest": float(differences.max()),
    }


def main() -> None:
    results: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in unpacked(Path(sys.argv[1]), Path(folder)):
            row: dict[str, object] = {}
            try:
                fe = model(path)
                row = {"elements": fe.elements, "size": fe.freedoms.size}
                if "*FREQUENCY" in path.read_text(errors="replace").upper():
                    row["frequencies"] = compared(path, fe)
            except InputError as error:
                row = {
                    "refused": str(error)
                    .splitlines()[0]
                    .replace(f"{folder}/", "")
                    .replace(str(folder), "its folder")
                }
            results[path.stem] = row
    (HERE / "decks.json").write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    report(results)


def report(results: dict[str, dict[str, object]]) -> None:
    """Tables of what is read and of the frequencies."""
    refused = {name: str(row["refused"]) for name, row in results.items() if "refused" in row}
    counts = Counter(
        next((what for key, what in REASONS if key in why), "single ones")
        for why in refused.values()
    )
    print(f"{len(results)} decks, {len(results) - len(refused)} read and assembled")
    for what, count in counts.most_common():
        print(f"  {count:4d} {what}")
    for name, why in refused.items():
        if not any(key in why for key, _ in REASONS):
            print(f"       {name}: {why}")
    for name, row in results.items():
        if "frequencies" in row:
            print(f"  {name:20s} {row['elements']!s:40s} {json.dumps(row['frequencies'])}")


if __name__ == "__main__":
    main()

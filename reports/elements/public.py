"""Decks of other programs in a folder: which are read, assembled and reduced, and why others are not.

    python reports/elements/public.py FOLDER [--record FILE] [--only TEXT] [--seconds 60]

Every file below FOLDER with the suffix of a deck is read with its own materials, sections and
connections, assembled, and reduced to its static shapes and two modes with one interface. Each is
tried in a process of its own, with limits of time and memory. The tables on the screen show the
results by folder, the refusals by rank and the differences from printed answers (`printed`); the
record has one line per file.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import resource
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import preprocess as pp
from flexmbs.errors import FlexmbsError

sys.path.insert(0, str(Path(__file__).parent))
from printed import compared

SUFFIXES = (".bdf", ".dat", ".nas", ".inp", ".fem", ".cdb", ".unv", ".med", ".feb", ".key", ".k")
LARGEST = 60_000  # nodes: larger decks are read and assembled only, since time is limited
STEEL = 7850.0  # kg/m³, of materials without density
INTERFACE = "interface of the study"
MEMORY = 8 * 1024**3  # bytes of address space of one process
OUTCOMES = ("reduced", "assembled", "refused", "no model", "error", "time")
# beginnings of files that other programs write under the same suffixes: results and input of other
# physics are no decks
NO_MODEL = re.compile(
    r"(no elements|holds no nodes|has no bulk data|no model|holds no mesh|not a deck)", re.I
)


def outcome(path: Path) -> dict[str, Any]:
    """How far a deck comes, and the message of its refusal."""
    found: dict[str, Any] = {"outcome": "refused", "stage": "read"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            mesh = _mesh(path)
            found |= {"stage": "assembled", "nodes": len(mesh.nodes)}
            fe = pp.assemble(mesh)
            found |= {"outcome": "assembled", "stage": "reduced", "mass": float(fe.mass)}
            found |= {"centre": np.asarray(fe.centre_of_mass).tolist()}
            found |= {"printed": compared(path, mesh, fe)}
            if len(mesh.nodes) <= LARGEST:
                body = reduced(fe)
                found |= {"outcome": "reduced", "frequencies": body.modes.frequency[:8].tolist()}
        except FlexmbsError as error:
            found["message"] = str(error)
            if NO_MODEL.search(str(error)):
                found["outcome"] = "no model"
        except Exception:
            found |= {"outcome": "error", "message": traceback.format_exc()}
    found["warnings"] = sorted({str(each.message) for each in caught})
    return found


def _mesh(path: Path) -> pp.Mesh:
    """Mesh of a deck, whose materials get the density of steel if they have none."""
    options = {"unit": "m", "structural": True, "separate": True, "allow_outside": True}
    mesh = pp.read_mesh(path, **options)
    lacking = [each for each in mesh.declared.materials.values() if "remedy" in each]
    return pp.read_mesh(path, **options, density=STEEL) if lacking else mesh


def reduced(fe: pp.FEModel) -> Any:
    """Body of a model with one interface: the first element without dependent nodes."""
    held = np.zeros(fe.freedoms.size, bool)
    held[fe.constraints.dependent] = True
    tied = held[: 3 * len(fe.nodes)].reshape(-1, 3).any(axis=1)
    tables = [block.connectivity for block in fe.mesh.blocks.values()]
    rows = next((row for table in tables for row in table if not tied[row].any()), tables[0][0])
    if not fe.freedoms.rotates(rows).any():  # three nodes that are not collinear carry moments
        apart = np.linalg.norm(fe.nodes - fe.nodes[rows[0]], axis=1)
        nearest = np.argsort(np.where(tied, np.inf, apart), kind="stable")
        for count in range(3, len(nearest) + 1):
            extent = np.linalg.svd(fe.nodes[rows] - fe.nodes[rows].mean(axis=0))[1]
            if len(rows) > 2 and extent[1] > 1e-3 * extent[0]:
                break
            rows = nearest[:count]
    mesh = replace(fe.mesh, node_sets={**fe.mesh.node_sets, INTERFACE: np.unique(rows)})
    return pp.reduce(
        pp.assemble(mesh),
        interfaces={"end": pp.Rigid(INTERFACE)},
        method=pp.CraigBampton(modes=2),
        reference="end",
        stress=None,
        estimate=False,
    )


def process(path: Path, end: Connection, seconds: int) -> None:
    """Send the outcome of a file through a pipe."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (2 * seconds, 2 * seconds))
    end.send(outcome(path))


def tried(path: Path, seconds: int) -> dict[str, Any]:
    """Outcome of a file in a process of its own."""
    here, there = multiprocessing.Pipe(duplex=False)
    worker = multiprocessing.get_context("fork").Process(
        target=process, args=(path, there, seconds), daemon=True
    )
    begun = time.perf_counter()
    worker.start()
    there.close()
    try:
        found = here.recv() if here.poll(seconds) else {"outcome": "time", "message": "too long"}
    except EOFError:
        found = {"outcome": "error", "message": f"process ended with {worker.exitcode}"}
    worker.kill()
    worker.join()
    return found | {"seconds": round(time.perf_counter() - begun, 2)}


def decks(folder: Path, only: str) -> Iterator[Path]:
    """The files of a folder that may be decks; files that others include are not tried alone."""
    files = [p for p in sorted(folder.rglob("*")) if p.suffix.lower() in SUFFIXES and p.is_file()]
    included = set()
    for path in files:
        text = path.read_bytes().decode("utf-8", "replace")
        for name in re.findall(
            r"(?im)^\s*\*?INCLUDE\b[\s,]*(?:INPUT\s*=\s*)?'?\"?([^'\"\n]+)", text
        ):
            included.add((path.parent / name.strip()).resolve())
    for path in files:
        if path.resolve() not in included and only in str(path):
            yield path


def rank(message: str) -> str:
    """A message without the names and numbers of its file."""
    text = message.splitlines()[0] if message else ""
    text = re.sub(r"copy it to .*", "", re.sub(r"^/.*?(:\d+)?: ?", "", text))
    text = re.sub(r"'[^']*'", "'…'", text)
    return re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "#", text)[:110]


def main() -> None:
    """Try all decks of a folder, print tables, write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=60)
    given = parser.parse_args()
    by_folder: dict[str, Counter[str]] = {}
    reasons: Counter[tuple[str, str]] = Counter()
    lines = []
    for path in decks(given.folder, given.only):
        name = path.relative_to(given.folder)
        found = tried(path, given.seconds)
        by_folder.setdefault(name.parts[0], Counter())[found["outcome"]] += 1
        if "message" in found:
            reasons[found["outcome"], rank(found["message"])] += 1
        lines.append(json.dumps({"file": str(name), **found}))
        if sys.stderr.isatty():
            print(f"\r{len(lines)} {name}"[:100].ljust(100), end="", file=sys.stderr, flush=True)
        if given.record:
            given.record.write_text("\n".join(lines) + "\n")
    print(f"{'folder':40}" + "".join(f"{each:>11}" for each in OUTCOMES))
    total: Counter[str] = Counter()
    for folder, counts in by_folder.items():
        print(f"{folder[:40]:40}" + "".join(f"{counts[each]:11}" for each in OUTCOMES))
        total += counts
    print(f"{'all':40}" + "".join(f"{total[each]:11}" for each in OUTCOMES))
    for (kind, reason), count in reasons.most_common(60):
        print(f"{count:5} {kind:9} {reason}")
    show_printed([json.loads(line) for line in lines])


def show_printed(records: list[dict[str, Any]]) -> None:
    """Print relative differences from printed answers: mass, centre, frequencies."""
    columns = ("mass", "centre", "consistent", "lumped", "deck", "formulation")
    compared_ones = [each for each in records if each.get("printed")]
    if compared_ones:
        print(f"{'printed answers of':60}" + "".join(f"{each:>12}" for each in columns))
    for each in compared_ones:
        values = (each["printed"].get(name, "") for name in columns)
        shown = (f"{v:12.1e}" if isinstance(v, float) else f"{v:>12}" for v in values)
        print(f"{each['file'][-60:]:60}" + "".join(shown))


if __name__ == "__main__":
    main()

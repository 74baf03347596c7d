"""Assemblies of CAD files: parts with exact inertia, and bodies, the occurrences of parts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.files.paths import file_path
from preprocess.cad.assembly_worker import MOST_BODIES
from preprocess.cad.faces import CadFace
from preprocess.cad.mesh_cad import cad_faces
from preprocess.cad.netgen import MM, NetgenMesh, run_worker

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
WORKER = "preprocess.cad.assembly_worker"
LONGEST_NAME = 80  # characters: names of bodies have room for a number and the prefix of a joint
NUMBERED = ("", "NAUO", "SOLID", "COMPOUND", "Shape", "Open CASCADE STEP translator")


@dataclass(frozen=True, eq=False)
class CadPart:
    """Part in its own axes, of density one.

    volume (m³), centre of volume (3,) and inertia (3, 3) about it [m⁵]; triangles (t, 6) with
    middle nodes, of nodes (N, 3), outwards; faces: empty if the surface could not be meshed.
    """

    name: str
    volume: float
    centre: Array
    inertia: Array
    nodes: Array
    triangles: Indices
    faces: tuple[CadFace, ...]
    colour: tuple[float, float, float] | None


class CadBody(NamedTuple):
    """Occurrence of a part: name, unique in the assembly, number of the part, and place.

    rotation (3, 3), position (3,) [m]: axes of the part → assembly. solids: numbers of its solids
    in the file, from 1. path: names of the sub-assemblies and its own.
    """

    name: str
    part: int
    rotation: Array
    position: Array
    solids: tuple[int, ...]
    path: tuple[str, ...]


class CadAssembly(NamedTuple):
    """Parts and bodies of a file; notes on what is missing."""

    path: Path
    parts: tuple[CadPart, ...]
    bodies: tuple[CadBody, ...]
    notes: tuple[str, ...]


def read_assembly(path: str | Path) -> CadAssembly:
    """Assembly of a STEP, IGES or BREP file. Raises InputError, MachineError."""
    file = file_path(path, "CAD file")
    found = run_worker(file, WORKER, {}, reading=True)
    facts = json.loads(str(found["facts"]))
    if not facts["count"]:
        raise InputError(f"{file}: holds no solid; close the surfaces in the CAD program")
    if facts["count"] > MOST_BODIES:
        raise InputError(
            f"{file}: has {facts['count']} parts, more than {MOST_BODIES}; join parts that do not "
            "move relative to each other in the CAD program"
        )
    parts = tuple(_part(file, k, each, found) for k, each in enumerate(facts["parts"]))
    names = _names(facts["bodies"])
    bodies = []
    for name, each in zip(names, facts["bodies"]):
        pose = np.array(each["pose"])
        solids = tuple(k + 1 for k in each["solids"])
        place = (pose[:, :3], MM * pose[:, 3])
        bodies.append(CadBody(name, each["part"], *place, solids, tuple(each["labels"])))
    notes = [
        f"{_names_of(k, bodies)}: no faces and no picture, Netgen cannot mesh its surface "
        f"({each['problem']:.120})"
        for k, each in enumerate(facts["parts"])
        if each["problem"]
    ]
    return CadAssembly(file, parts, tuple(bodies), tuple(notes))


def _names_of(part: int, bodies: Sequence[CadBody]) -> str:
    """Names of the bodies of a part."""
    return ", ".join(body.name for body in bodies if body.part == part)


def _part(file: Path, number: int, facts: dict[str, Any], found: dict[str, Any]) -> CadPart:
    """Part in m from the arrays in mm. Raises InputError without a volume."""
    volume, inertia = float(facts["volume"]), MM**5 * np.array(facts["inertia"])
    centre = MM * np.array(facts["centre"])
    if not (volume > 0.0 and np.isfinite([volume, *centre, *inertia.ravel()]).all()):
        named = facts["name"] or f"part {number + 1}"
        raise InputError(
            f"{file}: {named} has the volume {volume:g} mm³; repair its solid in the CAD program"
        )
    faces = [
        each | {"area": each["area"] * MM**2, "centre": MM * np.array(each["centre"])}
        for each in facts["faces"]
    ]
    triangles = found[f"triangles {number}"].astype(np.int64)
    none = np.zeros((0, 10), np.int64)
    nodes = MM * found[f"nodes {number}"].reshape(-1, 3)
    mesh = NetgenMesh(
        nodes, none, none[:, 0], triangles, found[f"faces {number}"].astype(np.int64), (), (),
        [] if facts["problem"] else faces,
    )  # fmt: skip
    colour = facts["colour"] or _usual_colour(faces)
    return CadPart(
        facts["name"], MM**3 * volume, centre, inertia, nodes, triangles, tuple(cad_faces(mesh)),
        None if colour is None else tuple(colour),
    )  # fmt: skip


def _usual_colour(faces: Sequence[dict[str, Any]]) -> tuple[float, ...] | None:
    """Colour of the largest area of faces; None if most of it has none."""
    areas: Counter[tuple[float, ...] | None] = Counter()
    for each in faces:
        areas[None if each["colour"] is None else tuple(each["colour"])] += each["area"]
    return areas.most_common(1)[0][0] if areas else None


def _names(bodies: Sequence[dict[str, Any]]) -> list[str]:
    """Unique names: of the product, else of the occurrence, else with that of the sub-assembly.

    A number is added where none of them is unique.
    """
    candidates = [_candidates(each["product"], each["labels"]) for each in bodies]
    levels = [Counter(level) for level in zip(*candidates)]
    found: list[str] = []
    for own in candidates:
        unique = (name for name, counts in zip(own, levels) if name and counts[name] == 1)
        name = next(unique, "")
        if not name or name in found:
            stem, k = name or own[0] or "part", 1
            while f"{stem} {k}" in found:
                k += 1
            name = f"{stem} {k}"
        found.append(name)
    return found


def _candidates(product: str, labels: Sequence[str]) -> tuple[str, str, str]:
    """Names that a body may have, the plainest first; empty where there is none."""
    own = _clean(labels[-1]) if labels else ""
    outer = _clean(labels[-2]) if len(labels) > 1 else ""
    return _clean(product) or own, own, f"{outer} {own}" if own and outer else ""


def _clean(text: str) -> str:
    """Text as a name of the model: printable, without "/", not a mere number of the program."""
    shown = "".join(c if c.isprintable() and c != "/" else " " for c in text)
    shown = " ".join(shown.split())[:LONGEST_NAME].strip()
    plain = shown.rstrip("0123456789. ").rstrip("_-:")
    return "" if plain in NUMBERED or shown.startswith("=>") or shown == "ground" else shown

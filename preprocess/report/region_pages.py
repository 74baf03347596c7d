"""Pages of CAD models, assemblies and meshes, in three dimensions with a list of their regions.

Each face of a CAD model, and each named set of a mesh, has the line that selects it as an
interface; each body of an assembly has the lines that accept its joints.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import Surface
from flexmbs.flexible_body.file import GENERATOR
from flexmbs.page.drawings import frames_drawing
from flexmbs.page.html import Picture, rendered
from flexmbs.page.style import PALETTE
from flexmbs.player.body_scene import ColouredRegion, SceneOptions, body_page_scene
from flexmbs.player.markup import player_code, scene_text
from preprocess.cad.assembly import CadAssembly
from preprocess.cad.faces import CadFace, hex_colour, mm
from preprocess.cad.mates import Mate
from preprocess.cad.selectors import python_text, selector, toml_text
from preprocess.mesh.mesh import Mesh

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
# colours of faces without one in the file, by their kind
COLOURS = {
    "plane": "#c3ccd5", "cylinder": "#7fa8cf", "cone": "#b9a6d3", "sphere": "#a3c9a8",
    "hole": "#4b8bc0", "other": "#d8cfb8",
}  # fmt: skip
FROM_FRONT = {"up": [0.0, 0.0, 1.0], "view": [0.6, -1.0, 0.6]}  # as CAD programs show machines
# sub-triangles of a curved triangle with six nodes: corners, and middles of the sides 01, 12, 20
QUARTERS = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]])


class ListedRegion(NamedTuple):
    """Region in the list: its name, facts and lines to paste; rows of its nodes and colour."""

    name: str
    facts: str
    lines: tuple[str, ...]
    nodes: Indices
    colour: str


class _Drawn(NamedTuple):
    """Object with a surface, as `body_page_scene` needs it."""

    surface: Surface


def cad_page(name: str, faces: Sequence[CadFace], nodes: Array) -> str:
    """HTML text of the page of a CAD model, whose faces have triangles of these nodes (N, 3).

    Each face has nodes of its own in the picture, so that its triangles are known by their nodes.
    """
    x, triangles, regions, start = [], [], [], 0
    for face in faces:
        own = nodes[face.nodes]
        table = np.searchsorted(face.nodes, face.triangles)
        table = table[:, QUARTERS].reshape(-1, 3) if table.shape[1] == 6 else table[:, :3]
        x.append(own)
        triangles.append(start + table)
        regions.append(_listed_face(face, faces, nodes, start + np.arange(len(own))))
        start += len(own)
    sentences = [
        "Point at a face in the picture or in the list. The lines make it an interface: the first one "
        "in a part file, the second one in Python. Each was checked to select this face alone."
    ]
    surface = _surface(np.concatenate(x), np.concatenate(triangles))
    return _page(name, "CAD model", sentences, "Faces", surface, regions)


def _listed_face(
    face: CadFace, faces: Sequence[CadFace], nodes: Array, rows: Indices
) -> ListedRegion:
    """Face with its facts and lines."""
    title, *facts = str(face).split(", ", 1)
    found = selector(face, faces, nodes)
    lines = (f"interfaces.face{face.number} = {{ {toml_text(found)} }}", python_text(found))
    kind = COLOURS["hole" if face.is_hole else face.kind]
    own = hex_colour(face.colour) if face.colour else kind
    return ListedRegion(title, "".join(facts), lines, rows, own)


def assembly_page(assembly: CadAssembly, proposals: Sequence[Mate]) -> str:
    """HTML text of the page of an assembly: its bodies, with the lines that accept their joints.

    Raises InputError if no surface could be meshed.
    """
    if not any(len(part.triangles) for part in assembly.parts):
        raise InputError(*(f"{assembly.path}: {note}" for note in assembly.notes))
    x, triangles, regions, start = [], [], [], 0
    for k, body in enumerate(assembly.bodies):
        part = assembly.parts[body.part]
        own = part.nodes @ body.rotation.T + body.position
        x.append(own)
        triangles.append(start + part.triangles[:, QUARTERS].reshape(-1, 3))
        centre = 1e3 * (body.rotation @ part.centre + body.position)
        product = f"{part.name}, " if part.name not in ("", body.name) else ""
        facts = f"{product}{1e6 * part.volume:.4g} cm³, centre ({_numbers(centre)}) mm"
        lines = tuple(
            f"assembly.accept({json.dumps(mate.name, ensure_ascii=False)})"
            for mate in proposals
            if body.name in (mate.first, mate.second)
        )
        colour = hex_colour(part.colour) if part.colour else PALETTE[k % len(PALETTE)]
        rows = start + np.arange(len(own))
        regions.append(ListedRegion(body.name, facts, lines, rows, colour))
        start += len(own)
    load = f'assembly = fm.from_step("{assembly.path.name}", material="S355")'
    sentences = [
        f"{len(assembly.bodies)} bodies; their faces suggest {len(proposals)} joints. In Python: "
        f"{load}, then the lines of the joints, then assembly.model().",
        *assembly.notes,
    ]
    surface = _surface(np.concatenate(x), np.concatenate(triangles))
    return _page(
        assembly.path.name, "CAD assembly", sentences, "Bodies", surface, regions, view=FROM_FRONT
    )


def mesh_page(mesh: Mesh, note: str = "") -> str:
    """HTML text of the page of a mesh, with its node sets; note: a sentence at the top."""
    triangles = mesh.surface_triangles()
    triangles = np.concatenate([triangles, _shell_triangles(mesh)])
    # a small set on a large one is seen
    named = sorted(mesh.node_sets.items(), key=lambda item: len(item[1]))
    regions = [
        _listed_set(name, rows, mesh.nodes, PALETTE[(k + 1) % len(PALETTE)])
        for k, (name, rows) in enumerate(named)
    ]
    low, high = (1e3 * each for each in (mesh.nodes.min(axis=0), mesh.nodes.max(axis=0)))
    elements = ", ".join(f"{len(block.ids)} {kind}" for kind, block in mesh.blocks.items())
    sentences = [
        f"{len(mesh.nodes)} nodes, {elements}; from ({_numbers(low)}) to ({_numbers(high)}) mm."
    ] + ([note] if note else [])
    return _page(
        mesh.source, "Mesh", sentences, "Node sets", _surface(mesh.nodes, triangles), regions
    )


def _listed_set(name: str, rows: Indices, nodes: Array, colour: str) -> ListedRegion:
    """Node set with its facts and lines."""
    x, size = nodes[rows], float(np.linalg.norm(np.ptp(nodes[rows], axis=0)))
    facts = f"{len(rows)} nodes, centre ({_numbers(1e3 * x.mean(axis=0))}) mm, size {mm(size)} mm"
    table = f"{{ set = {json.dumps(name, ensure_ascii=False)} }}"
    key = name if name.isidentifier() and name.isascii() else json.dumps(name, ensure_ascii=False)
    return ListedRegion(
        name, facts, (f"interfaces.{key} = {table}", f"pp.Averaged({name!r})"), rows, colour
    )


def _shell_triangles(mesh: Mesh) -> Indices:
    """Triangles (T, 3) of shell elements."""
    found = [np.zeros((0, 3), np.int64)]
    for kind, rows in mesh.faces().items():
        if kind in mesh.structural:
            corners = 4 if rows.shape[1] in (4, 8, 9) else 3
            found += [rows[:, [0, k, k + 1]] for k in range(1, corners - 1)]
    return np.concatenate(found)


def _numbers(x: Array) -> str:
    """Coordinates as text, without the round-off of small ones."""
    floor = 1e-9 * float(np.abs(x).max(initial=0.0))
    return ", ".join(f"{(c if abs(c) > floor else 0.0):.4g}" for c in x)


def _surface(nodes: Array, triangles: Indices) -> Surface:
    """Surface of a part without modes."""
    count = len(nodes)
    return Surface(nodes, np.zeros((count, 3, 0)), triangles, np.arange(1, count + 1))


def _page(
    name: str,
    what: str,
    sentences: list[str],
    listed: str,
    surface: Surface,
    regions: Sequence[ListedRegion],
    view: dict[str, list[float]] | None = None,
) -> str:
    """HTML text; regions without triangles are last in the list, they are not in the picture.

    view: directions up and to the viewer; by default obliquely onto the longest side.
    """
    coloured = [ColouredRegion(str(k), each.nodes, each.colour) for k, each in enumerate(regions)]
    show = SceneOptions(name, {})
    scene = body_page_scene(_Drawn(surface), coloured, show) | (view or {})
    drawn = [int(each["name"]) for each in scene["parts"][0].get("regions", ())]
    rest = [k for k in range(len(regions)) if k not in set(drawn)]
    return rendered(
        "preprocess.report",
        "regions.html",
        player_code(),
        version=GENERATOR.removeprefix("flexmbs "),
        date=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        name=name,
        what=what,
        sentences=sentences,
        tiles=[],
        listed=listed,
        regions=[regions[k] for k in drawn],
        rest=[regions[k] for k in rest],
        scene=scene_text(scene),
        still=Picture(frames_drawing(surface, {}), name),
    )

"""HTML page about a flexible body.

Interfaces, modes, stress, mass, checks, accuracy, costs and origin. The page of a divided body
shows it in one piece, for small deflections, and a table of its pieces.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flexmbs.files.output import write_text
from flexmbs.files.paths import file_path
from flexmbs.flexible_body.divided import DividedBodyData, in_one_piece
from flexmbs.flexible_body.file import GENERATOR
from flexmbs.flexible_body.free_body import central_inertia
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.page.drawings import deformed_drawing, frames_drawing
from flexmbs.page.html import Picture, number, powers, rendered
from flexmbs.page.solids import MarkedFrame
from flexmbs.page.style import PALETTE, STRESS
from flexmbs.player.body_scene import ColouredRegion, SceneOptions, body_page_scene
from flexmbs.player.markup import player_code, scene_text
from flexmbs.player.modes import MILLIMETRE, PASCALS, mode_pictures, mode_stress, mode_title
from flexmbs.player.surface import has_triangles
from preprocess.comparison import Comparison
from preprocess.fe.interfaces import BoundInterface
from preprocess.mesh.mesh import Mesh
from preprocess.report.places import interface_places

# number of modes in pictures, and in the table; both cover the band of usual bodies
MODES_DRAWN, MODES_LISTED = 12, 40
GREYS = ("#c3ccd5", "#8d9baa")  # of pieces
TIME, ACCURACY, CERTIFICATE = "time ", "accuracy: ", "certificate: "
SENTENCES = {True: "Every check passed.", False: "A check failed; do not use this body."}


def write_report(
    data: FlexibleBodyData | DividedBodyData,
    path: str | os.PathLike[str],
    *,
    interfaces: Mapping[str, BoundInterface] | None = None,
    comparison: Comparison | None = None,
) -> None:
    """Write the HTML report of a flexible body to ``path``.

    interfaces: bound to the body's mesh, to show their nodes; otherwise the nodes of rigid
    interfaces are found from the shapes. comparison: with the full model, or with another body.
    Raises MachineError.
    """
    file = file_path(path)
    # of arrays: by the file
    named = data if data.name != Mesh.source else replace(data, name=file.stem)
    write_text(file, page(named, interfaces=interfaces, comparison=comparison))


def page(
    body: FlexibleBodyData | DividedBodyData,
    *,
    interfaces: Mapping[str, BoundInterface] | None = None,
    comparison: Comparison | None = None,
) -> str:
    """HTML text of the report of a flexible body."""
    pieces = body.pieces if isinstance(body, DividedBodyData) else ()
    data = in_one_piece(body, MODES_LISTED)
    checks = data.validate()
    sound = checks.ok and all(piece.validate().ok for piece in pieces)
    facts = data.provenance
    places = interface_places(data, interfaces or {}) if has_triangles(data.surface) else {}
    return rendered(
        "preprocess.report",
        "part.html",
        player_code() if has_triangles(data.surface) else None,
        version=GENERATOR.removeprefix("flexmbs "),
        date=str(facts.get("created", "")),
        name=data.name,
        sound=sound,
        sentence=SENTENCES[sound],
        checks=checks,
        mass=data.mass,
        tiles=_tiles(data, pieces),
        inertia=_inertia(data),
        pieces=[_piece(k, piece) for k, piece in enumerate(pieces, 1)],
        scene=_scene(data, places, _parts_of(body)),
        still=_still(data, places),
        frames=[(name, frame.kind, 1e3 * frame.x) for name, frame in data.frames.items()],
        modes=_modes(data),
        pictures=mode_pictures(data, MODES_DRAWN),
        stress=_stress_pictures(data),
        comparison=comparison,
        listed=MODES_LISTED,
        accuracy=_named(facts, ACCURACY),
        certificate=_named(facts, CERTIFICATE),
        times=_named(facts, TIME),
        provenance={
            key: value
            for key, value in facts.items()
            if not key.startswith((TIME, ACCURACY, CERTIFICATE))
        }
        | {"digest": body.digest},
    )


def _named(facts: Mapping[str, str | float], start: str) -> dict[str, str | float]:
    """Facts whose names have a prefix, by the rest of their names.

    Numbers in texts are in the style of the page.
    """
    found = {
        key.removeprefix(start): value for key, value in facts.items() if key.startswith(start)
    }
    return {key: powers(value) if isinstance(value, str) else value for key, value in found.items()}


def _tiles(
    data: FlexibleBodyData, pieces: Sequence[FlexibleBodyData]
) -> list[tuple[str, str, str]]:
    """Value, unit and description of the key figures at the top."""
    size = data.provenance.get("degrees of freedom")
    tiles = [(number(data.mass), "kg", "mass")]
    if isinstance(size, float):
        tiles.append((f"{size:,.0f}".replace(",", "\u202f"), "", "degrees of freedom of the mesh"))
    if pieces:
        tiles.append((str(len(pieces)), "", "pieces"))
    tiles += [
        (str(sum(piece.nf for piece in pieces) or data.nf), "", "elastic coordinates"),
        (str(len(data.frames)), "", "interfaces"),
    ]
    if data.nf:
        tiles.append((number(float(data.modes.frequency[0])), "Hz", "lowest frequency"))
    seconds = sum(float(value) for key, value in data.provenance.items() if key.startswith(TIME))
    return tiles + ([(number(seconds, 3), "s", "computing time")] if seconds else [])


def _inertia(data: FlexibleBodyData) -> dict[str, Any]:
    """Centre of mass [mm], inertia tensor about it and its principal moments and axes."""
    I = central_inertia(data)
    moments, axes = np.linalg.eigh(I)
    floor = 1e-12 * moments.max()
    return {
        "com": 1e3 * data.com,
        "tensor": np.where(np.abs(I) > floor, I, 0.0),
        "moments": moments,
        "axes": np.round(axes.T, 6) + 0.0,
    }


def _modes(data: FlexibleBodyData) -> list[tuple[int, float, str, float, list[float]]]:
    """Rows of the mode table: number, frequency, kind, damping, effective mass."""
    table = data.modes
    rows = zip(
        table.frequency.tolist(),
        table.kind,
        table.damping.tolist(),
        table.effective_mass[:, :3].tolist(),
    )
    return [(k, f, kind, zeta, mass) for k, (f, kind, zeta, mass) in enumerate(rows, 1)]


def _piece(number: int, piece: FlexibleBodyData) -> tuple[Any, ...]:
    """Row of a piece: number, mass, mesh, frames, modes, lowest frequency, result of its checks."""
    frequency = float(piece.modes.frequency[0]) if piece.nf else None
    size = piece.provenance.get("degrees of freedom")
    return (
        number,
        piece.mass,
        size,
        ", ".join(piece.frames),
        piece.nf,
        frequency,
        piece.validate().ok,
    )


def _parts_of(body: FlexibleBodyData | DividedBodyData) -> list[ColouredRegion]:
    """Pieces as regions of the surface, in two shades of grey."""
    if not isinstance(body, DividedBodyData) or body.joined is None:
        return []
    return [
        ColouredRegion(f"piece {k + 1}", rows, GREYS[k % len(GREYS)])
        for k, rows in enumerate(body.joined.rows)
    ]


def _scene(
    data: FlexibleBodyData, places: Mapping[str, MarkedFrame], pieces: Sequence[ColouredRegion]
) -> str:
    """Three-dimensional view of the part; empty without triangles."""
    if not has_triangles(data.surface):
        return ""
    regions = [
        ColouredRegion(name, place.nodes, PALETTE[(k + 1) % len(PALETTE)])
        for k, (name, place) in enumerate(places.items())
    ]
    regions += pieces
    show = SceneOptions(data.name, {"frames": True, "mode": -1}, modes=True, frames=True)
    return scene_text(body_page_scene(data, regions, show))


def _still(data: FlexibleBodyData, places: Mapping[str, MarkedFrame]) -> Picture | None:
    """Picture of the interfaces on the mesh, for pages without a player."""
    if not has_triangles(data.surface):
        return None
    assert data.surface is not None
    hidden = [name for name, place in places.items() if not len(place.nodes)]
    caption = "Interfaces in colour, with the axes of their frames."
    if hidden:
        caption += f" The nodes of {', '.join(hidden)} are in the part file only."
    return Picture(frames_drawing(data.surface, places), "The interfaces on the mesh", caption)


def _stress_pictures(data: FlexibleBodyData) -> list[Picture]:
    """Pictures of the equivalent stress of the lowest modes, if the body has stress modes."""
    surface = data.surface
    if surface is None or data.stress is None or not has_triangles(surface):
        return []
    pictures = []
    for k in range(min(data.nf, MODES_DRAWN // 2)):
        values = np.nan_to_num(mode_stress(data, k))
        worst = int(np.argmax(values))
        largest = number(MILLIMETRE * PASCALS * float(values[worst]), 3)
        caption = f"{mode_title(data, k)} · {largest} MPa at node {surface.node_ids[worst]}"
        drawing = deformed_drawing(surface, surface.phi[:, :, k], values, STRESS)
        pictures.append(Picture(drawing, f"Stress of mode {k + 1} of {data.name}", caption))
    return pictures

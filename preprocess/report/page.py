"""One HTML page about a flexible body: interfaces, modes, stress, mass, checks, accuracy, costs and origin."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from flexmbs.files.output import write_text
from flexmbs.flexible_body.file import GENERATOR
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.flexible_body.stress import von_mises
from flexmbs.page.html import Picture, number, rendered
from flexmbs.page.solids import deformed_picture, mode_picture, places_picture
from flexmbs.page.style import png_image
from preprocess.body.free_body import central_inertia
from preprocess.comparison import Comparison
from preprocess.fe.interfaces import BoundInterface
from preprocess.report.places import interface_places

MODES_DRAWN, MODES_LISTED = 12, 40
TIME, ACCURACY = "time ", "accuracy: "
SENTENCES = {True: "Every check passed.", False: "A check failed; do not use this body."}


def write_report(
    data: FlexibleBodyData,
    path: str | os.PathLike[str],
    *,
    interfaces: Mapping[str, BoundInterface] | None = None,
    comparison: Comparison | None = None,
) -> None:
    """The page at ``path``. Raises MachineError.

    interfaces: bound to the body's mesh, to show the nodes of all; otherwise those of rigid interfaces are found from the
    shapes.  comparison: with the full model, or with another body.
    """
    write_text(path, page(data, interfaces=interfaces, comparison=comparison))


def page(
    data: FlexibleBodyData, *, interfaces: Mapping[str, BoundInterface] | None = None, comparison: Comparison | None = None
) -> str:
    """HTML text; all content of the file is escaped."""
    checks = data.validate()
    facts = data.provenance
    return rendered(
        "preprocess.report", "part.html",
        version=GENERATOR.removeprefix("flexmbs "), date=str(facts.get("created", "")), name=data.name,
        sound=checks.ok, sentence=SENTENCES[checks.ok], checks=checks, mass=data.mass, tiles=_tiles(data), inertia=_inertia(data),
        frames=[(name, frame.kind, 1e3 * frame.x) for name, frame in data.frames.items()], places=_places(data, interfaces or {}),
        modes=_modes(data), pictures=_pictures(data), stress=_stress_pictures(data), comparison=comparison, listed=MODES_LISTED,
        accuracy={key.removeprefix(ACCURACY): value for key, value in facts.items() if key.startswith(ACCURACY)},
        times={key.removeprefix(TIME): value for key, value in facts.items() if key.startswith(TIME)},
        provenance={key: value for key, value in facts.items() if not key.startswith((TIME, ACCURACY))} | {"digest": data.digest},
    )  # fmt: skip


def _tiles(data: FlexibleBodyData) -> list[tuple[str, str, str]]:
    """(value, unit, description) of the key numbers at the top."""
    size = data.provenance.get("degrees of freedom")
    tiles = [(number(data.mass), "kg", "mass")]
    if isinstance(size, float):
        tiles.append((f"{size:,.0f}".replace(",", "\u202f"), "", "degrees of freedom of the mesh"))
    tiles += [(str(data.nf), "", "elastic coordinates"), (str(len(data.frames)), "", "interfaces")]
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
    table = data.modes
    rows = zip(table.frequency.tolist(), table.kind, table.damping.tolist(), table.effective_mass[:, :3].tolist())
    return [(k, f, kind, zeta, mass) for k, (f, kind, zeta, mass) in enumerate(rows, 1)]


def _has_surface(data: FlexibleBodyData) -> bool:
    return data.surface is not None and len(data.surface.triangles) > 0


def _places(data: FlexibleBodyData, interfaces: Mapping[str, BoundInterface]) -> Picture | None:
    if not _has_surface(data) or not data.frames:
        return None
    assert data.surface is not None
    found = interface_places(data, interfaces)
    hidden = [name for name, place in found.items() if not len(place.nodes)]
    caption = "Interfaces in colour, with the axes of their frames."
    if hidden:
        caption += f" The nodes of {', '.join(hidden)} are in the part file only."
    return Picture(png_image(places_picture(data.surface, found)), "The interfaces on the mesh", caption)


def _pictures(data: FlexibleBodyData) -> list[Picture]:
    """The lowest modes, coloured by displacement."""
    if not _has_surface(data):
        return []
    titles = [f"Mode {k + 1} · {number(float(data.modes.frequency[k]))} Hz" for k in range(min(data.nf, MODES_DRAWN))]
    return [Picture(png_image(mode_picture(data, k)), f"{title} of {data.name}", title) for k, title in enumerate(titles)]


def _stress_pictures(data: FlexibleBodyData) -> list[Picture]:
    """Equivalent stress of the lowest modes, if the body has stress modes."""
    surface, stress = data.surface, data.stress
    if surface is None or stress is None or not _has_surface(data):
        return []
    pictures = []
    for k in range(min(data.nf, MODES_DRAWN // 2)):
        u = surface.phi[:, :, k]
        of_row = von_mises(np.asarray(stress.modes[:, :, k], float)) / max(float(np.linalg.norm(u, axis=1).max()), 1e-300)
        at_node = np.zeros(len(surface.nodes))
        np.maximum.at(at_node, stress.rows, of_row)  # at material boundaries the larger
        worst = surface.node_ids[stress.rows[int(np.argmax(of_row))]]
        caption = f"Mode {k + 1} · {number(1e-9 * float(of_row.max()), 3)} MPa at node {worst}"
        image = png_image(deformed_picture(surface, u, at_node))
        pictures.append(Picture(image, f"Stress of mode {k + 1} of {data.name}", caption))
    return pictures

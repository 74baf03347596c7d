"""Scene of a single body: surface with regions, frames, animated modes, fields and marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from flexmbs.flexible_body.components import Surface
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.page.solids import up_of, view_of
from flexmbs.player.arrays import Buffer
from flexmbs.player.extent import outermost_points
from flexmbs.player.fields import Field, SurfaceMark, stored_fields
from flexmbs.player.modes import stored_modes
from flexmbs.player.surface import PageSurface, stored_skin

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

FORMAT = "flexmbs-scene/1"
PERIOD, INSTANTS = 2.0, 81  # s, period of an animated mode, and number of its instants
ROOM = 0.05  # margin around the body, relative to its size
LEGS = 60  # largest number of lines from a frame to the nodes of its interface


class ColouredRegion(NamedTuple):
    """Nodes (n,) of a surface, as rows, drawn in a colour (#rrggbb)."""

    name: str
    nodes: IntArray
    colour: str


class HasSurface(Protocol):
    """Object with a surface, such as a flexible body."""

    @property
    def surface(self) -> Surface | None:
        """Surface of the object."""


class SceneOptions(NamedTuple):
    """Contents of the scene of one body.

    Title, modes and frames to show, notes, and initial settings of the player.
    """

    title: str
    settings: Mapping[str, Any]
    modes: bool = False
    frames: bool = False
    notes: Sequence[str] = ()


def body_page_scene(
    data: HasSurface,
    regions: Sequence[ColouredRegion],
    show: SceneOptions,
    fields: Sequence[Field] = (),
    marks: Sequence[SurfaceMark] = (),
) -> dict[str, Any]:
    """Scene of a page about one body, with its arrays."""
    assert data.surface is not None
    buffer = Buffer()
    skin = stored_skin(buffer, data.surface)
    table = body_scene(buffer, data, skin, show, fields, marks)
    table["parts"] = [_with_regions(buffer, skin, regions)]
    table["spiders"] = _spiders(skin, regions, [frame["name"] for frame in table["frames"]])
    return table | {"data": buffer.text()}


def body_scene(
    buffer: Buffer,
    data: HasSurface,
    skin: PageSurface,
    show: SceneOptions,
    fields: Sequence[Field] = (),
    marks: Sequence[SurfaceMark] = (),
) -> dict[str, Any]:
    """Scene of a body whose surface is in the buffer.

    The arrays of fields and modes are added to the buffer. Only data of flexible bodies have modes
    and frames to show.
    """
    surface = data.surface
    assert surface is not None
    whole = data if isinstance(data, FlexibleBodyData) else None
    names = list(whole.frames) if whole is not None and show.frames else []
    modes = stored_modes(buffer, whole, skin, names) if whole is not None and show.modes else []
    legends, arrays = stored_fields(buffer, {show.title: fields}, {show.title: skin.rows})
    body = {
        "name": show.title,
        "kind": "flexible",
        "shapes": [],
        "solids": [],
        "part": 0,
        "values": arrays[show.title],
    }
    x = surface.nodes[skin.rows]
    size = float(np.linalg.norm(np.ptp(x, axis=0))) or 1.0
    return {
        "format": FORMAT,
        "name": show.title,
        "time": [0.0, PERIOD, INSTANTS] if modes else [0.0, 0.0, 1],
        "up": up_of(surface).tolist(),
        "view": view_of(surface)[2].tolist(),
        "size": size,
        "low": x.min(axis=0).tolist(),
        "high": x.max(axis=0).tolist(),
        "extremes": outermost_points(x, ROOM * size).tolist(),
        "ground": None,
        "bodies": [body],
        "parts": [skin.table],
        "fields": {},
        "position": buffer.add(np.zeros((1, 3)), "i2"),
        "rotation": buffer.add(np.array([[1, 0, 0, 0]]), "i2"),
        "frames": [] if whole is None else [frame_table(name, whole) for name in names],
        "joints": [],
        "arrows": [],
        "touches": [],
        "chain": [],
        "scenery": [],
        "notes": [*show.notes, *skin.notes],
        "modes": modes,
        "legends": legends,
        "marks": mark_tables(0, marks, surface, skin),
        "settings": {"grid": False, **show.settings},
    }


def frame_table(name: str, data: FlexibleBodyData) -> dict[str, Any]:
    """Record of a frame with its undeformed pose."""
    # import on demand: takes a third of a second, which pages of runs do not need
    from scipy.spatial.transform import Rotation

    frame = data.frames[name]
    quaternion = np.roll(Rotation.from_matrix(frame.R).as_quat(), 1)
    return {"name": name, "body": 0, "rest": [*frame.x.tolist(), *quaternion.tolist()]}


def mark_tables(
    body: int, marks: Sequence[SurfaceMark], surface: Surface, skin: PageSurface
) -> list[dict[str, Any]]:
    """Marks of a body by number, each with the vertex that moves it: its own or the nearest one."""
    x = surface.nodes[skin.rows]
    return [
        {
            "name": mark.name,
            "body": body,
            "at": surface.nodes[mark.node].tolist(),
            "fields": list(mark.fields),
            "vertex": int(np.argmin(((x - surface.nodes[mark.node]) ** 2).sum(axis=1))),
        }
        for mark in marks
    ]


def _spiders(
    skin: PageSurface, regions: Sequence[ColouredRegion], frames: Sequence[str]
) -> list[dict[str, Any]]:
    """(frame, vertices coupled to it) for lines between them, at most `LEGS` per frame.

    The vertices are evenly selected.
    """
    found = []
    for region in regions:
        vertices = np.flatnonzero(np.isin(skin.rows, region.nodes))
        if region.name in frames and len(vertices):
            legs = np.unique(np.linspace(0, len(vertices) - 1, LEGS).astype(int))
            found.append(
                {
                    "frame": frames.index(region.name),
                    "colour": region.colour,
                    "vertices": vertices[legs].tolist(),
                }
            )
    return found


def _with_regions(
    buffer: Buffer, skin: PageSurface, regions: Sequence[ColouredRegion]
) -> dict[str, Any]:
    """Record of the surface with the triangles of the regions separated."""
    left, found = np.ones(len(skin.triangles), bool), []
    for region in regions:
        own = left & np.isin(skin.rows[skin.triangles], region.nodes).all(axis=1)
        if own.any():
            left &= ~own
            found.append(
                {
                    "name": region.name,
                    "colour": region.colour,
                    "triangles": buffer.add(skin.triangles[own], "i4", delta=True),
                }
            )
    if not found:
        return skin.table
    return {
        "vertices": skin.table["vertices"],
        "triangles": buffer.add(skin.triangles[left], "i4", delta=True),
        "regions": found,
    }

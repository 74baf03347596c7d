"""Visuals of links as solids: primitives, and meshes read from files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from flexmbs.errors import InputError
from flexmbs.files.inputs import check_regular
from flexmbs.files.surface_files import read_surface
from flexmbs.model.frames import GROUND, Frame, FrameRef
from flexmbs.model.model import ModelData
from flexmbs.model.shapes.collada import ColouredMesh, read_collada
from flexmbs.player.solids import Solid, thinned
from flexmbs.robots.visual_elements import Visual

# triangles per mesh, and the least number for each of its colours
MOST_TRIANGLES, FEWEST = 6000, 60
LARGEST = 1e9  # m, largest coordinate: its square stays finite in the single precision of the page
SIDES = 24
Mesh = tuple[np.ndarray, np.ndarray]


def solids_of(
    model: ModelData, visuals: tuple[Visual, ...], frames: Mapping[str, FrameRef]
) -> tuple[list[Solid], list[str]]:
    """Solids in the axes of the bodies that carry the links, and notes on visuals that cannot be
    shown."""
    found: list[Solid] = []
    notes: list[str] = []
    for visual in visuals:
        ref = frames.get(visual.link) or FrameRef(visual.link)
        try:
            pieces = [
                each._replace(points=_placed(visual.origin, each.points))
                for each in _pieces(visual)
            ]
            if not sum(len(each.triangles) for each in pieces):
                raise InputError("its surface vanishes in double precision; correct its size")
            if not all((np.abs(each.points) <= LARGEST).all() for each in pieces):
                raise InputError(
                    f"it is larger than {LARGEST:g} m; correct its size, scale or position"
                )
        except (InputError, OSError) as error:
            notes.append(f"visual of link {visual.link} is not shown: {error}")
            continue
        place, total = _place(model, ref), sum(len(each.triangles) for each in pieces)
        for x, triangles, own in pieces:
            rows, few, _ = thinned(
                x, triangles, max(MOST_TRIANGLES * len(triangles) // total, FEWEST)
            )
            if len(few):
                placed = _placed(place, x[rows])
                colour = own or visual.colour
                found.append(
                    Solid(
                        ref.body,
                        placed,
                        few,
                        None if colour is None else tuple(np.clip(colour, 0.0, 1.0).tolist()),
                    )
                )
    return found, notes


def _place(model: ModelData, ref: FrameRef) -> Frame:
    """Frame of a link on the body that carries it."""
    if not ref.frame:
        return Frame()
    frames = model.frames if ref.body == GROUND else model.bodies[ref.body].frames  # type: ignore[attr-defined]
    return frames[ref.frame]  # type: ignore[no-any-return]


def _placed(place: Frame, x: np.ndarray) -> np.ndarray:
    return np.asarray(x @ np.asarray(place.rotation).T + np.asarray(place.position))


def _pieces(visual: Visual) -> list[ColouredMesh]:
    """Solids of a visual, one per colour; colour None means the colour of the visual. Raises
    InputError, OSError."""
    if visual.kind != "mesh":
        return [ColouredMesh(*PRIMITIVES[visual.kind](visual.size), None)]
    if visual.file and visual.file.suffix.lower() == ".dae":
        _check(visual.file)
        return [
            each._replace(points=each.points * np.asarray(visual.scale))
            for each in read_collada(visual.file)
        ]
    return [ColouredMesh(*_mesh(visual), None)]


def _check(file: Path) -> None:
    check_regular(file)
    if not file.exists():
        remedy = (
            "copy it there, or give the folder of its package by package_path= or ROS_PACKAGE_PATH"
        )
        raise InputError(f"no file '{file}'; {remedy}")


def _mesh(visual: Visual) -> Mesh:
    """Triangles of a file. Raises InputError, OSError."""
    assert visual.file is not None
    _check(visual.file)
    points, triangles = read_surface(visual.file)
    return points * np.asarray(visual.scale), triangles


def _box(size: tuple[float, ...]) -> Mesh:
    signs = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return signs * np.asarray(size), np.array(
        [corner for a, b, c, d in faces for corner in ((a, b, c), (a, c, d))]
    )


def _revolved(outline: np.ndarray) -> Mesh:
    """Solid of revolution of a profile (n, 2) of radius and height that starts and ends on the
    axis."""
    turn = 2.0 * np.pi * np.arange(SIDES) / SIDES
    rings = [
        np.stack([r * np.cos(turn), r * np.sin(turn), np.full(SIDES, z)], axis=1)
        for r, z in outline
    ]
    k = np.arange(SIDES)
    pairs = [(i * SIDES + k, i * SIDES + (k + 1) % SIDES, SIDES) for i in range(len(outline) - 1)]
    quads = [np.stack([a, b, b + n, a + n], axis=1) for a, b, n in pairs]
    triangles = np.concatenate([quad[:, pick] for quad in quads for pick in ([0, 1, 2], [0, 2, 3])])
    points, same = np.unique(np.round(np.concatenate(rings), 12), axis=0, return_inverse=True)
    joined = same.reshape(-1)[triangles]
    a, b, c = joined.T
    return points, joined[(a != b) & (b != c) & (c != a)]


def _cylinder(size: tuple[float, ...]) -> Mesh:
    radius, length = size
    return _revolved(
        np.array(
            [
                (0.0, -0.5 * length),
                (radius, -0.5 * length),
                (radius, 0.5 * length),
                (0.0, 0.5 * length),
            ]
        )
    )


def _sphere(size: tuple[float, ...]) -> Mesh:
    u = np.linspace(0.0, np.pi, SIDES // 2 + 1)
    return _revolved(size[0] * np.stack([np.sin(u), -np.cos(u)], axis=1))


def _capsule(size: tuple[float, ...]) -> Mesh:
    radius, length = size
    u = np.linspace(0.0, np.pi, SIDES // 2 + 1)
    ends = np.repeat([-0.5 * length, 0.5 * length], len(u) // 2 + 1)
    u = np.concatenate([u[: len(u) // 2 + 1], u[len(u) // 2 :]])
    return _revolved(np.stack([radius * np.sin(u), ends - radius * np.cos(u)], axis=1))


def _ellipsoid(size: tuple[float, ...]) -> Mesh:
    points, triangles = _sphere((1.0,))
    return points * np.asarray(size), triangles


PRIMITIVES: dict[str, Callable[[tuple[float, ...]], Mesh]] = {
    "box": _box,
    "cylinder": _cylinder,
    "sphere": _sphere,
    "capsule": _capsule,
    "ellipsoid": _ellipsoid,
}

"""Curves, profiles, planes and surfaces of relations and contacts, as meshes on their frames."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from flexmbs.model.contacts import CamFace, CamRoller, CornerLine, CurveContact, SpherePlane
from flexmbs.model.curves import COUNT, KNOTS, curve_at, curve_numbers, half_width
from flexmbs.model.forces import WheelCreep
from flexmbs.model.frames import FrameRef
from flexmbs.model.joints import normal_directions
from flexmbs.model.relations import (
    KnifeEdge,
    PointOnCurve,
    PointOnSurface,
    RollingDisc,
    RollingSphere,
)
from flexmbs.model.shapes.triangles import Triangles
from flexmbs.model.surfaces import surface_at, surface_numbers
from flexmbs.scene import meshes
from flexmbs.scene.start import Element, FloatArray, Part, Start, grounded, plain

MOST_POINTS = 240  # of a curve
GRID = 25  # points of a surface in each direction
RAILS, CAMS, PLANES = "Rails and curves", "Cams and profiles", "Planes and surfaces"
Z = np.array([0.0, 0.0, 1.0])


def makers_of(start: Start) -> Iterator[tuple[str, Callable[[], Iterator[Element]]]]:
    """Name and maker of the curve, surface or plane of each item; of a plane for all its items."""
    model = start.model
    planes: dict[tuple[str, tuple[float, ...]], list[Any]] = {}
    for item in (*model.joints.values(), *model.contacts.values(), *model.forces.values()):
        for kind, made in MAKERS.items():
            if isinstance(item, kind):
                yield item.name, functools.partial(made, start, item)
        if isinstance(item, ON_PLANES):
            planes.setdefault((str(_ends(item)[0]), tuple(item.normal)), []).append(item)
    for items in planes.values():
        yield items[0].name, functools.partial(_plane, start, items)


def _ends(item: Any) -> tuple[FrameRef, FrameRef]:
    """Frames of a contact, relation or wheel."""
    pair = item.frames() if isinstance(item, WheelCreep) else (item.parent, item.child)
    return plain(pair[0]), plain(pair[1])


def _samples(points: Any, closed: bool) -> FloatArray:
    """Points (n, 3) along the spline through points."""
    numbers = curve_numbers(points, closed)
    n = int(numbers[COUNT])
    knots = np.array(numbers[KNOTS : KNOTS + n])
    fine = min(MOST_POINTS, 12 * (n - 1)) + 1
    at = np.interp(np.linspace(0.0, n - 1.0, fine), np.arange(n), knots)
    found = np.array([curve_at(numbers, 0, float(u))[0] for u in at])
    return found[:-1] if closed else found


def _profile(start: Start, points: Any, closed: bool, left: bool) -> Triangles:
    """Plate of a closed profile, wall of an open one; ``left``: the left of it is free."""
    x, half = _samples(points, closed)[:, :2], max(start.unit, 0.12 * half_width(points))
    half = min(half, 4.0 * start.unit)
    if closed and not left:
        return meshes.prism(x, -half, half)
    if closed:
        return _ring_of(x, half, 1.2 * start.unit)
    return meshes.band(x, -1.2 * start.unit if left else 1.2 * start.unit, -half, half)


def _ring_of(x: FloatArray, half: float, thickness: float) -> Triangles:
    """Closed wall around an outline (n, 2)."""
    along = np.roll(x, -1, axis=0) - np.roll(x, 1, axis=0)
    normal = np.column_stack([along[:, 1], -along[:, 0]])
    area = np.sum(x[:, 0] * np.roll(x[:, 1], -1) - x[:, 1] * np.roll(x[:, 0], -1))
    outer = x + np.sign(area) * thickness * normal / np.linalg.norm(normal, axis=1)[:, None]
    section = [(x, -half), (outer, -half), (outer, half), (x, half), (x, -half)]
    rings = np.stack([np.column_stack([flat, np.full(len(x), z)]) for flat, z in section])
    mesh = meshes.sheet(rings[:, [*range(len(x)), 0]])
    return mesh if area < 0.0 else Triangles(mesh.points, mesh.triangles[:, ::-1])


def _cam_roller(start: Start, item: CamRoller) -> Iterator[Element]:
    """Cam on the parent, roller on the child."""
    half, radius = 1.2 * start.unit, item.radius or 0.4 * start.unit
    cam = _profile(
        start, item.points, item.closed, item.reverse if item.closed else not item.reverse
    )
    roller = meshes.cylinder(-half * Z, half * Z, radius)
    yield Element(item.name, item.kind, CAMS, _shown(start, item, cam, roller), (), True)


def _cam_face(start: Start, item: CamFace) -> Iterator[Element]:
    """Cam on the parent, plate on the child."""
    wide, n = half_width(item.points), np.asarray(item.normal, float)
    axes = meshes.axes_along(n, np.cross(n, Z))
    thick = 0.8 * start.unit
    plate = meshes.box((2.0 * wide, 3.0 * start.unit, thick), axes, -0.5 * thick * n)
    cam = _profile(start, item.points, True, False)
    yield Element(item.name, item.kind, CAMS, _shown(start, item, cam, plate), (), True)


def _curves(start: Start, item: CurveContact) -> Iterator[Element]:
    """Profiles on both frames."""
    two = [
        _profile(start, points, closed, reverse if closed else not reverse)
        for points, closed, reverse in (
            (item.points_parent, item.closed_parent, item.reverse_parent),
            (item.points_child, item.closed_child, item.reverse_child),
        )
    ]
    yield Element(item.name, item.kind, CAMS, _shown(start, item, *two), (), True)


def _shown(start: Start, item: Any, first: Triangles, second: Triangles) -> tuple[Part, ...]:
    """Parts on parent and child; none on bodies that have shapes of their own."""
    pairs = zip(_ends(item), (first, second))
    return tuple(Part(ref, mesh, True) for ref, mesh in pairs if not start.shaped(ref))


def _corner_line(start: Start, item: CornerLine) -> Iterator[Element]:
    """Edge on the parent, corner on the child."""
    parent, child = _ends(item)
    n, d = np.asarray(item.normal, float), np.asarray(item.direction, float)
    m = start.unit
    if item.length is None:
        pose = start.pose(parent)
        along = (start.positions(child) - pose.x) @ pose.R @ d
        low, high = float(along.min()) - 6.0 * m, float(along.max()) + 6.0 * m
    else:
        low, high = 0.0, item.length
    axes = np.column_stack([d, np.cross(n, d), n])
    edge = meshes.box((high - low, 4.0 * m, 0.6 * m), axes, 0.5 * (low + high) * d - 0.3 * m * n)
    across = np.cross(n, d)
    corner = meshes.cylinder(-2.0 * m * across, 2.0 * m * across, 0.35 * m)
    yield Element(
        item.name, item.kind, RAILS, (Part(parent, edge, True), Part(child, corner, True))
    )


def _rail(start: Start, item: PointOnCurve) -> Iterator[Element]:
    """Rail on the parent, a slider on the child."""
    parent, child = _ends(item)
    rail = meshes.pipe(_samples(item.points, item.closed), 0.45 * start.unit, closed=item.closed)
    half = 1.3 * start.unit
    slider = meshes.merged(
        [meshes.cylinder(-half * e, half * e, 0.9 * start.unit) for e in np.eye(3)]
    )
    yield Element(
        item.name, item.kind, RAILS, (Part(parent, rail, True), Part(child, slider, True))
    )


def _surface(start: Start, item: PointOnSurface) -> Iterator[Element]:
    """Surface on the parent."""
    numbers = np.array(surface_numbers(item.x, item.y, item.heights))
    x, y = (np.linspace(grid[0], grid[-1], GRID) for grid in (item.x, item.y))
    points = np.array([[(a, b, surface_at(numbers, 0, a, b)[0]) for b in y] for a in x])
    parent, _ = _ends(item)
    yield Element(item.name, item.kind, PLANES, (Part(parent, meshes.sheet(points), True),))


def _blade(start: Start, item: KnifeEdge) -> Iterator[Element]:
    """Blade on the child, a thin disc across the direction in which it cannot move."""
    d, m = np.asarray(item.axis, float), start.unit
    blade = meshes.cylinder(-0.15 * m * d, 0.15 * m * d, 2.5 * m)
    yield Element(item.name, item.kind, RAILS, (Part(_ends(item)[1], blade, True),))


def _plane(start: Start, items: list[Any]) -> Iterator[Element]:
    """Part of a plane below the bodies that touch it, unless it is the horizontal ground."""
    item, parent = items[0], _ends(items[0])[0]
    pose = start.pose(parent)
    n = np.asarray(item.normal, float)
    gravity = np.asarray(start.model.gravity, float)
    if grounded(parent) and gravity.any():
        level = (pose.R @ n) @ gravity < -(1.0 - 1e-6) * np.linalg.norm(gravity)
        if level and abs(pose.x @ gravity) <= 0.02 * start.size * np.linalg.norm(gravity):
            return  # the grid of the page is there
    t1, t2 = (np.asarray(each) for each in normal_directions(tuple(item.normal)))
    corners = []
    moved = start.solution.frame(parent)
    for child in (_ends(each)[1] for each in items):
        local = np.einsum("tji,tj->ti", moved.rotation, start.positions(child) - moved.position)
        corners.append(np.column_stack([local @ t1, local @ t2]))
    flat = np.concatenate(corners)
    margin = max(4.0 * start.unit, 1.2 * float(getattr(item, "radius", 0.0)))
    # far motions: a part of their beginning
    low = np.maximum(flat.min(axis=0) - margin, flat[0] - 3.0 * start.size)
    high = np.minimum(flat.max(axis=0) + margin, flat[0] + 3.0 * start.size)
    middle, size = 0.5 * (low + high), high - low
    thick = 0.4 * start.unit
    centre = middle[0] * t1 + middle[1] * t2 - 0.5 * thick * n
    slab = meshes.box((*size, thick), np.column_stack([t1, t2, n]), centre)
    yield Element(item.name, item.kind, PLANES, (Part(parent, slab, True),))


ON_PLANES = (SpherePlane, RollingDisc, RollingSphere, WheelCreep)
MAKERS: dict[type, Any] = {
    CamRoller: _cam_roller,
    CamFace: _cam_face,
    CurveContact: _curves,
    CornerLine: _corner_line,
    PointOnCurve: _rail,
    PointOnSurface: _surface,
    KnifeEdge: _blade,
}

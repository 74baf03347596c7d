"""Wheels of couplings: gears whose teeth mesh, racks, pulleys with their belt, screws.

Radii follow from the axes of the joints and the ratio: r₁ + r₂ or |r₁ − r₂| is the distance of
parallel axes; pitch cones of bevel gears meet at the intersection of theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from flexmbs.model.couplings import (
    Belt,
    Coupling,
    Differential,
    Gear,
    RackPinion,
    ScrewCoupler,
    coordinate_of,
)
from flexmbs.model.frames import FrameRef
from flexmbs.model.shapes.gear_shape import ADDENDUM, DEDENDUM, GearShape
from flexmbs.model.shapes.triangles import Triangles
from flexmbs.scene import meshes
from flexmbs.scene.start import Element, FloatArray, JointAxis, Part, Start

GEARS, BELTS, SCREWS = "Gears and racks", "Belts", "Screws"
# teeth of the smaller wheel: with less than 2/sin² 20° = 17.1 tips cut into the feet of the other
# wheel, more are too small for a picture
FEWEST, MOST, LARGEST = 18, 40, 500
WHOLE = 1e-6  # relative: a ratio of numbers of teeth
PARALLEL = 1e-6  # sine of the angle between axes
SAME = 1e-3  # relative to the size of the machine: coaxial wheels have no distance
ARC = 24  # points of a belt on each pulley


class Wheel(NamedTuple):
    """Wheel of a coupling in the world: its frame, centre and direction of its axis."""

    frame: FrameRef
    centre: FloatArray
    direction: FloatArray


def gearing_of(start: Start, coupling: Coupling) -> Element | None:
    """Wheels of a coupling; None if its geometry is not that of wheels."""
    axes = [start.axis(*use) for use in coupling.coordinates(start.model.joints)]
    known = [axis for axis in axes if axis is not None]
    if type(coupling) not in MAKERS or len(known) < len(axes):
        return None
    parts = MAKERS[type(coupling)](start, coupling, _wheels(start, coupling, known))
    if parts is None:
        return None
    group = {Belt: BELTS, ScrewCoupler: SCREWS}.get(type(coupling), GEARS)
    shown = tuple(each for each in parts if not each.own or not start.shaped(each.frame))
    return Element(coupling.name, coupling.kind, group, shown, (), True)


def _wheels(start: Start, coupling: Coupling, axes: Sequence[JointAxis]) -> list[Wheel]:
    """Wheels on the moving ends of the joints; the other ends are on one carrier."""
    joints = [
        start.model.joints[coordinate_of(term.coordinate, start.model.joints).joint]
        for term in coupling.terms
    ]
    bodies = [{joint.parent.body, joint.child.body} for joint in joints]
    carriers = set.intersection(*bodies) or {joints[0].parent.body}
    found = []
    for joint, axis in zip(joints, axes):
        reversed_ = joint.child.body in carriers and joint.parent.body not in carriers
        moving = joint.parent if reversed_ else joint.child
        pose = start.pose(axis.frame)
        sense = -1.0 if reversed_ else 1.0
        direction = sense * (pose.R @ axis.direction)
        centre = pose.x + pose.R @ axis.point
        found.append(Wheel(FrameRef(moving.body, moving.frame), centre, direction))
    return found


def _fixed(start: Start, frame: FrameRef, mesh: Triangles, *, own: bool = True) -> Part:
    """Part of a mesh in world axes at the start."""
    pose = start.pose(frame)
    return Part(frame, Triangles((mesh.points - pose.x) @ pose.R, mesh.triangles), own)


def _teeth(ratio: float) -> tuple[int, int] | None:
    """Numbers of teeth of two wheels with a ratio z₂/z₁; None if there are no small ones."""
    small = min(ratio, 1.0 / ratio)
    for z in range(FEWEST, MOST + 1):
        other = z / small
        if abs(other - round(other)) < WHOLE * other and round(other) <= LARGEST:
            return (z, round(other)) if ratio >= 1.0 else (round(other), z)
    return None


def _width(start: Start, radius: float) -> float:
    """Width of wheels of which the smaller one has a radius."""
    return float(np.clip(0.35 * radius, 1.2 * start.unit, 5.0 * start.unit))


def _gears(start: Start, item: Gear, wheels: list[Wheel]) -> list[Part] | None:
    """Two gears at the pitch point of their axes, or two bevel gears."""
    one, two = wheels
    cosine = float(one.direction @ two.direction)
    if np.linalg.norm(np.cross(one.direction, two.direction)) > PARALLEL:
        return _bevel(start, item, wheels)
    between = two.centre - one.centre
    between = between - one.direction * (between @ one.direction)
    distance = float(np.linalg.norm(between))
    if distance < SAME * start.size:
        return None
    d = between / distance
    i = item.ratio
    inside = item.internal != (cosine < 0.0)
    if inside and abs(i - 1.0) < WHOLE:
        return None
    r1 = distance / abs(i - 1.0) if inside else distance / (1.0 + i)
    radii, teeth = (r1, i * r1), _teeth(i)
    width = _width(start, min(radii))
    centres = np.array([one.centre, one.centre + between])
    if str(one.frame) in start.meshing:  # in the plane of the second wheel, beside the first pair
        shift = one.direction * ((two.centre - one.centre) @ one.direction)
        centres = centres + (
            shift if np.linalg.norm(shift) > 0.1 * width else width * one.direction
        )
    start.meshing |= {str(one.frame), str(two.frame)}
    # the pitch point is on the side of the smaller wheel away from the larger one if internal
    toward = (-d, -d) if inside and i > 1.0 else (d, d) if inside else (d, -d)
    parts = []
    for k, (wheel, centre, radius) in enumerate(zip(wheels, centres, radii)):
        axes = meshes.axes_along(one.direction, toward[k])
        if teeth is None:
            half = 0.5 * width * one.direction
            mesh = meshes.cylinder(centre - half, centre + half, radius)
        else:
            z = teeth[k]
            # a tooth of the first wheel and a gap of the second one are at the pitch point
            turn = 0.0 if k == 0 else math.pi / z
            ringed = inside and radius == max(radii)
            mesh = ring_gear(z, radius, width, turn) if ringed else spur(z, radius, width, turn)
            mesh = meshes.placed(mesh, axes, centre)
        parts.append(_fixed(start, wheel.frame, mesh))
    return parts


def spur(teeth: int, radius: float, width: float, turn: float) -> Triangles:
    """Spur gear about z of a pitch radius, a tooth turned by an angle from x."""
    module = 2.0 * radius / teeth
    bore = 0.25 * radius
    mesh = GearShape(teeth, module=module, width=width, bore=bore).triangles(16)
    return meshes.placed(mesh, _turned(turn), np.zeros(3))


def _turned(angle: float) -> FloatArray:
    """Rotation (3, 3) about z."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([(c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)])


def ring_gear(teeth: int, radius: float, width: float, turn: float) -> Triangles:
    """Ring gear about z with teeth inside, a tooth turned by an angle from x.

    Its gaps have the outline of the teeth of an external gear, addendum and dedendum exchanged.
    """
    module = 2.0 * radius / teeth
    half = math.radians(20.0)
    # angles of the flanks of a gap at the ends of its straight approximation
    gap = math.pi / (2.0 * teeth)
    inner, outer = radius - ADDENDUM * module, radius + DEDENDUM * module
    wide = gap + ADDENDUM * module * math.tan(half) / radius
    narrow = gap - DEDENDUM * module * math.tan(half) / radius
    pitch = 2.0 * math.pi * np.arange(teeth)[:, None] / teeth + math.pi / teeth + turn
    angle = (pitch + np.array([-wide, -narrow, narrow, wide])).ravel()
    r = np.tile([inner, outer, outer, inner], teeth)
    inside = np.column_stack([r * np.cos(angle), r * np.sin(angle)])
    rim = outer + 2.5 * module
    outside = rim * np.column_stack([np.cos(angle), np.sin(angle)])
    z = 0.5 * width
    section = [(inside, z), (inside, -z), (outside, -z), (outside, z), (inside, z)]
    rings = np.stack([np.column_stack([x, np.full(len(x), h)]) for x, h in section])
    return meshes.sheet(rings[:, [*range(len(inside)), 0]])


def _bevel(start: Start, item: Gear, wheels: list[Wheel]) -> list[Part] | None:
    """Bevel gears on axes that intersect; None if they do not."""
    one, two = wheels
    u, v = one.direction, two.direction
    n = np.cross(u, v)
    gap = two.centre - one.centre
    if abs(gap @ n) > SAME * start.size * np.linalg.norm(n):
        return None
    s, t = np.linalg.lstsq(np.column_stack([u, -v]), gap, rcond=None)[0]
    apex = one.centre + s * u
    # directions away from the apex: to the joints, or along the axes if these are at the apex
    near = 2.0 * start.unit
    a = -u if s > near else u
    b = -v if t > near else v
    angle = math.acos(float(np.clip(a @ b, -1.0, 1.0)))
    cone1 = math.atan2(math.sin(angle), item.ratio + math.cos(angle))
    cones, teeth = (cone1, angle - cone1), _teeth(item.ratio)
    reach = [length for length in (abs(s), abs(t)) if length > near]
    large = min(max(min(reach, default=0.0), 5.0 * start.unit), 0.2 * start.size)
    if min(cones) <= 0.05 or teeth is None:
        return None
    parts = []
    for k, (wheel, axis, other) in enumerate(zip(wheels, (a, b), (b, a))):
        radius, height = large * math.sin(cones[k]), large * math.cos(cones[k])
        axes = meshes.axes_along(axis, other)
        mesh = spur(teeth[k], radius, 0.3, 0.0 if k == 0 else math.pi / teeth[k])
        # from the pitch cone's end towards the apex by 0.3 of its length
        shrink = 0.85 + mesh.points[:, 2]
        points = mesh.points.copy()
        points[:, :2] *= shrink[:, None]
        points[:, 2] = height * shrink
        parts.append(
            _fixed(start, wheel.frame, meshes.placed(Triangles(points, mesh.triangles), axes, apex))
        )
    return parts


def _rack(start: Start, item: RackPinion, wheels: list[Wheel]) -> list[Part] | None:
    """Pinion and the rack that it moves; both have a tooth or gap at the pitch point."""
    pinion, rack = wheels
    x = rack.direction * math.copysign(1.0, item.radius)
    n = np.cross(x, pinion.direction)
    if np.linalg.norm(n) < 0.5:
        return None
    n = n / np.linalg.norm(n)
    radius = abs(item.radius)
    x = np.cross(pinion.direction, n)
    width = _width(start, radius)
    teeth = 20
    module = 2.0 * radius / teeth
    axes = meshes.axes_along(pinion.direction, n)
    wheel = meshes.placed(spur(teeth, radius, width, 0.0), axes, pinion.centre)
    travel = start.solution.joint(coordinate_of(item.rack, start.model.joints).joint).position
    place = coordinate_of(item.rack, start.model.joints).coordinate
    q = travel[:, place] - travel[0, place]
    sense = math.copysign(1.0, float(rack.direction @ x))
    ends = sorted((-sense * float(q.min()), -sense * float(q.max())))
    pitch = math.pi * module
    low, high = (math.floor(ends[0] / pitch) - 3, math.ceil(ends[1] / pitch) + 3)
    slope = math.tan(math.radians(20.0))
    outline: list[tuple[float, float]] = []
    for k in range(low, min(high, low + LARGEST)):  # a gap at 0, where the pinion has a tooth
        middle = (k + 0.5) * pitch
        for side in (-1.0, 1.0):
            rows = [(-DEDENDUM, DEDENDUM), (ADDENDUM, -ADDENDUM)]
            for height, wider in rows if side < 0.0 else rows[::-1]:
                half = 0.25 * pitch + wider * module * slope
                outline.append((middle + side * half, height * module))
    back = -(DEDENDUM + 2.5) * module
    flat = np.array([*outline, (outline[-1][0], back), (outline[0][0], back)])
    # along x, teeth towards the pinion
    bar = meshes.prism(flat, -0.5 * width, 0.5 * width)
    towards = np.column_stack([x, -n, np.cross(x, -n)])
    mesh = meshes.placed(bar, towards, pinion.centre + radius * n)
    return [_fixed(start, pinion.frame, wheel), _fixed(start, rack.frame, mesh)]


def _belt(start: Start, item: Belt, wheels: list[Wheel]) -> list[Part] | None:
    """Two pulleys and the belt around them."""
    one, two = wheels
    between = two.centre - one.centre
    z = one.direction
    between = between - z * (between @ z)
    distance = float(np.linalg.norm(between))
    r1, r2 = item.radii
    crossed = item.crossed != (float(z @ two.direction) < 0.0)
    if distance <= (r1 + r2 if crossed else abs(r1 - r2)):
        return None
    d = between / distance
    y = np.cross(z, d)
    width = _width(start, min(r1, r2))
    # angle between d and the radii to the ends of the straight parts
    open_ = math.acos((r1 + r2 if crossed else r1 - r2) / distance)
    first = np.linspace(open_, 2.0 * math.pi - open_, ARC)
    second = (
        np.linspace(math.pi + open_, 3.0 * math.pi - open_, ARC)[::-1]
        if crossed
        else (np.linspace(-open_, open_, ARC))
    )
    # both straight parts of a crossed belt pass each other at different heights
    rise = 0.2 * width if crossed else 0.0
    loop = np.concatenate(
        [
            one.centre
            + r1 * (np.cos(first)[:, None] * d + np.sin(first)[:, None] * y)
            + rise * np.linspace(1, -1, ARC)[:, None] * z,
            one.centre
            + between
            + r2 * (np.cos(second)[:, None] * d + np.sin(second)[:, None] * y)
            + rise * np.linspace(1, -1, ARC)[:, None] * z * (1.0 if crossed else 0.0),
        ]
    )
    thick = min(0.35 * start.unit, 0.2 * min(r1, r2))
    mesh = meshes.pipe(loop, thick, closed=True)
    carrier = start.axis(*item.coordinates(start.model.joints)[0])
    assert carrier is not None
    frame = carrier.outer if carrier.frame == one.frame else carrier.frame
    pulleys = []
    for wheel, centre, radius in ((one, one.centre, r1), (two, one.centre + between, r2)):
        half = 0.35 * width * z
        rim = meshes.ring(centre - half, centre + half, 0.7 * radius, radius - thick)
        side = meshes.axes_along(z)[:, 0]
        spokes = [
            meshes.box(
                (1.5 * radius, 0.16 * radius, 0.4 * width), meshes.axes_along(z, arm), centre
            )
            for arm in (
                side,
                np.cos(math.pi / 3) * side + np.sin(math.pi / 3) * np.cross(z, side),
                np.cos(2 * math.pi / 3) * side + np.sin(2 * math.pi / 3) * np.cross(z, side),
            )
        ]
        pulleys.append(_fixed(start, wheel.frame, meshes.merged([rim, *spokes])))
    return [*pulleys, _fixed(start, frame, mesh, own=False)]


def _screw(start: Start, item: ScrewCoupler, wheels: list[Wheel]) -> list[Part] | None:
    """Threaded spindle on the screw, nut around it."""
    screw, nut = wheels
    use = item.coordinates(start.model.joints)[1]
    q = start.solution.joint(use.joint).position[:, use.coordinate]
    m, z = start.unit, screw.direction
    along = float((nut.centre - screw.centre) @ z)
    sense = math.copysign(1.0, float(nut.direction @ z))
    travel = along + sense * np.array([q.min(), q.max(), q[0]])
    low, high = min(0.0, float(travel.min())) - 3.0 * m, max(0.0, float(travel.max())) + 3.0 * m
    turns = int(np.clip((high - low) / max(abs(item.lead), 1e-9), 4, 40))
    a, b = screw.centre + low * z, screw.centre + high * z
    spindle = meshes.merged(
        [meshes.cylinder(a, b, 0.6 * m), meshes.coil(a, b, 0.65 * m, 0.2 * m, turns)]
    )
    place = screw.centre + travel[2] * z
    ring = meshes.ring(place - 1.2 * m * z, place + 1.2 * m * z, 0.9 * m, 1.8 * m)
    return [_fixed(start, screw.frame, spindle), _fixed(start, nut.frame, ring)]


def _planets(start: Start, item: Differential, wheels: list[Wheel]) -> list[Part] | None:
    """Sun, ring and planets of a planetary gear whose axes coincide; None for other axes."""
    carrier, sun, outer = wheels
    z = sun.direction
    apart = [np.linalg.norm(np.cross(wheel.centre - sun.centre, z)) for wheel in (carrier, outer)]
    teeth = _teeth(item.ratio)
    if max(apart) > SAME * start.size or item.ratio <= 1.2 or teeth is None:
        return None
    radius = 0.16 * start.size / item.ratio
    width = _width(start, radius)
    planet = 0.5 * (item.ratio - 1.0) * radius
    axes = meshes.axes_along(z)
    parts = [
        _fixed(start, sun.frame, meshes.placed(spur(teeth[0], radius, width, 0.0), axes, sun.centre)),
        _fixed(
            start, outer.frame,
            meshes.placed(ring_gear(teeth[1], item.ratio * radius, width, 0.0), axes, sun.centre),
        ),
    ]  # fmt: skip
    for k in range(3):  # their own rotation belongs to no body: discs without teeth
        angle = 2.0 * math.pi * k / 3.0
        arm = np.cos(angle) * axes[:, 0] + np.sin(angle) * axes[:, 1]
        centre = sun.centre + (radius + planet) * arm
        half = 0.5 * width * z
        disc = meshes.cylinder(centre - half, centre + half, 0.96 * planet)
        parts.append(_fixed(start, carrier.frame, disc))
    return parts


MAKERS: dict[type, Callable[[Start, Any, list[Wheel]], list[Part] | None]] = {
    Gear: _gears,
    RackPinion: _rack,
    Belt: _belt,
    ScrewCoupler: _screw,
    Differential: _planets,
}

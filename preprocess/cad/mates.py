"""Joints that the geometry of an assembly suggests.

Faces of two bodies that touch allow some motions: a shaft in a bore turns and slides, planes slide
on each other, a ball turns in its socket. The motions that all contacts of two bodies allow, a
space of twists, are those of the joint: one rotation is a hinge, a translation a slide.

Source: Konkar and Cutkosky, Journal of Mechanical Design 117 (1995) 589 (screw systems of mates).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.flexible_body.free_body import skew
from preprocess.cad.assembly import CadAssembly, CadBody, CadPart
from preprocess.cad.faces import EQUAL, HOLE, CadFace
from preprocess.cad.surfaces import Surface, across_axis

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
CLEARANCE = 1e-4  # m: fits of shafts, and round-off of exporters; gaps on purpose are larger
# relative singular value below which contacts allow a motion: axes of CAD files differ by less than
# 1e-3 rad, and directions that differ by 1e-2 rad are different on purpose
FREE = 3e-3
# points in a triangle, as weights of its corners: enough that overlapping faces share one
INSIDE = np.array([[1, 1, 1], [4, 1, 1], [1, 4, 1], [1, 1, 4], [3, 3, 1], [3, 1, 3], [1, 3, 3]])
MOST_PAIRS = 4_000_000  # points times triangles compared at once: 400 MB
NOWHERE = np.array([[math.inf] * 3, [-math.inf] * 3])  # box of a face without triangles
TITLES = {
    "revolute": "hinge", "cylindrical": "cylindrical joint", "prismatic": "slide",
    "planar": "planar joint", "spherical": "ball joint", "fixed": "fixed joint",
}  # fmt: skip


class Mate(NamedTuple):
    """Joint of two bodies that their faces suggest.

    kind: as of joints in model files. point (3,) [m] and axis (3,) in the assembly. faces: numbers
    of the faces of the first and second body that guide it. reasons: the contacts, as text.
    """

    kind: str
    first: str
    second: str
    point: Array
    axis: Array
    faces: tuple[tuple[int, ...], tuple[int, ...]]
    reasons: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name such as "hinge of arm and base"."""
        return f"{TITLES[self.kind]} of {self.first} and {self.second}"

    def __str__(self) -> str:
        return f"{self.name}: {'; '.join(self.reasons)}"


class _Placed(NamedTuple):
    """Body with its faces in the axes of the assembly, and boxes (n, 2, 3) around the faces."""

    body: CadBody
    part: CadPart
    nodes: Array
    surfaces: tuple[Surface, ...]
    boxes: Array


class _Contact(NamedTuple):
    """Contact of two faces: rows (k, 6) of the twist (v of the origin, ω) that it prevents."""

    kind: str
    point: Array
    axis: Array
    rows: Array
    faces: tuple[int, int]
    text: str


def mates(assembly: CadAssembly, clearance: float = CLEARANCE) -> list[Mate]:
    """Proposed joints of all pairs of bodies; clearance: largest gap of faces that touch, m."""
    placed = [_place(body, assembly.parts[body.part]) for body in assembly.bodies]
    found = []
    for a, b in combinations([each for each in placed if len(each.surfaces)], 2):
        low = np.maximum(a.boxes[:, 0].min(axis=0), b.boxes[:, 0].min(axis=0))
        high = np.minimum(a.boxes[:, 1].max(axis=0), b.boxes[:, 1].max(axis=0))
        if (low <= high + clearance).all():
            mate = _mate(a, b, list(_contacts(a, b, clearance)))
            found += [] if mate is None else [mate]
    return found


def _place(body: CadBody, part: CadPart) -> _Placed:
    """Body in the axes of the assembly."""
    nodes = part.nodes @ body.rotation.T + body.position
    surfaces = tuple(
        each.surface._replace(
            point=body.rotation @ each.surface.point + body.position,
            axis=body.rotation @ each.surface.axis,
        )
        for each in part.faces
    )
    boxes = [
        [x.min(axis=0), x.max(axis=0)] if len(x := nodes[each.nodes]) else NOWHERE
        for each in part.faces
    ]
    return _Placed(body, part, nodes, surfaces, np.array(boxes).reshape(-1, 2, 3))


def _contacts(a: _Placed, b: _Placed, clearance: float) -> Iterator[_Contact]:
    """Contacts of the faces of two bodies."""
    near = (a.boxes[:, None, 0] <= b.boxes[None, :, 1] + clearance).all(axis=2) & (
        b.boxes[None, :, 0] <= a.boxes[:, None, 1] + clearance
    ).all(axis=2)
    for i, j in np.argwhere(near):
        kind = a.surfaces[i].kind
        if kind != b.surfaces[j].kind:
            continue
        match kind:
            case "plane":
                found = _planes(a, b, int(i), int(j), clearance)
            case "cylinder":
                found = _cylinders(a, b, int(i), int(j), clearance)
            case "sphere" | "cone":
                found = _equal_surfaces(a, b, int(i), int(j), clearance)
            case _:
                found = None
        if found is not None:
            yield found


def _rows(point: Array, forces: Array, moments: Array) -> Array:
    """Rows of a twist (v of the origin, ω): v of a point along ``forces``, ω along ``moments``.

    f · (v + ω × p) = f · v + (p × f) · ω.
    """
    first = np.hstack([forces, np.cross(point, forces)])
    return np.vstack([first, np.hstack([np.zeros_like(moments), moments])])


def _planes(a: _Placed, b: _Placed, i: int, j: int, clearance: float) -> _Contact | None:
    """Contact of plane faces that lie on each other; None if they do not."""
    s, t = a.surfaces[i], b.surfaces[j]
    if s.axis @ t.axis > -math.cos(EQUAL) or abs(s.axis @ (t.point - s.point)) > clearance:
        return None
    shared = _shared_points(a, b, i, j, across_axis(s.axis))
    if not len(shared):
        return None
    point = shared.mean(axis=0)
    rows = _rows(point, s.axis[None], across_axis(s.axis))
    return _Contact("plane", point, s.axis, rows, (i, j), "planes on each other")


def _shared_points(a: _Placed, b: _Placed, i: int, j: int, axes: Array) -> Array:
    """Points (n, 3) of either of two plane faces in the other one, seen along their normal."""
    found = [np.zeros((0, 3))]
    corners = [own.nodes[own.part.faces[k].triangles[:, :3]] for own, k in ((a, i), (b, j))]
    for inside, outside in (corners, corners[::-1]):
        x = np.einsum("pc,tcx->tpx", INSIDE / INSIDE.sum(axis=1)[:, None], inside).reshape(-1, 3)
        flat = outside.reshape(-1, 3) @ axes.T
        u = x @ axes.T
        near = ((u > flat.min(axis=0)) & (u < flat.max(axis=0))).all(axis=1)
        x, u = x[near], u[near]
        step = max(1, MOST_PAIRS // max(len(outside), 1))
        for start in range(0, len(x), step):
            within = _in_triangles(u[start : start + step], outside @ axes.T)
            found.append(x[start : start + step][within])
    return np.concatenate(found)


def _in_triangles(u: Array, triangles: Array) -> NDArray[np.bool_]:
    """True for points (n, 2) in one of the triangles (t, 3, 2)."""
    p, q, r = (triangles[None, :, k] for k in range(3))
    x = u[:, None]

    def side(a: Array, b: Array) -> Array:
        """Twice the signed area of a side and the points."""
        return np.asarray(
            (b[..., 0] - a[..., 0]) * (x[..., 1] - a[..., 1])
            - (b[..., 1] - a[..., 1]) * (x[..., 0] - a[..., 0])
        )

    signs = np.stack([side(p, q), side(q, r), side(r, p)])
    inside = np.asarray((signs > 0.0).all(axis=0) | (signs < 0.0).all(axis=0), bool)
    return np.asarray(np.any(inside, axis=1), bool)


def _cylinders(a: _Placed, b: _Placed, i: int, j: int, clearance: float) -> _Contact | None:
    """Contact of a shaft in a bore, or of two aligned bores whose pin is not in the file."""
    s, t = a.surfaces[i], b.surfaces[j]
    f, g = a.part.faces[i], b.part.faces[j]
    if abs(s.axis @ t.axis) < math.cos(EQUAL) or min(f.arc, g.arc) < HOLE:
        return None
    ranges = [np.array([own.min(), own.max()]) for own in (_along(a, f, s), _along(b, g, s))]
    low, high = max(ranges[0][0], ranges[1][0]), min(ranges[0][1], ranges[1][1])
    middle = s.point + 0.5 * (low + high) * s.axis
    if float(np.linalg.norm(t.radial(middle[None]))) > clearance:
        return None
    if f.hollow != g.hollow:
        gap = (s.radius - t.radius) * (1.0 if f.hollow else -1.0)  # of the bore around the shaft
        fits = -EQUAL * s.radius <= gap <= clearance and high > low
    else:  # bores side by side
        fits = f.hollow and abs(s.radius - t.radius) <= clearance and high > low - clearance
    if not fits:
        return None
    across = across_axis(s.axis)
    what = "shaft in bore" if f.hollow != g.hollow else "aligned bores"
    text = f"{what} of diameter {2e3 * max(s.radius, t.radius):.4g} mm"
    return _Contact("cylinder", middle, s.axis, _rows(middle, across, across), (i, j), text)


def _along(own: _Placed, face: CadFace, surface: Surface) -> Array:
    """Positions of the nodes of a face along the axis of a surface, m."""
    return np.asarray((own.nodes[face.nodes] - surface.point) @ surface.axis)


def _equal_surfaces(a: _Placed, b: _Placed, i: int, j: int, clearance: float) -> _Contact | None:
    """Contact of a ball in a socket, or of a cone in a conical bore."""
    s, t = a.surfaces[i], b.surfaces[j]
    if a.part.faces[i].hollow == b.part.faces[j].hollow:
        return None
    if float(np.linalg.norm(s.point - t.point)) > clearance:
        return None
    none = np.zeros((0, 3))
    if s.kind == "sphere":
        if abs(s.radius - t.radius) > clearance:
            return None
        text = f"ball in socket of radius {1e3 * s.radius:.4g} mm"
        rows = _rows(s.point, np.eye(3), none)
        return _Contact("sphere", s.point, np.array([0.0, 0.0, 1.0]), rows, (i, j), text)
    if s.axis @ t.axis < math.cos(EQUAL) or abs(s.angle - t.angle) > EQUAL:
        return None
    rows = _rows(s.point, np.eye(3), across_axis(s.axis))
    return _Contact("cone", s.point, s.axis, rows, (i, j), "cone in cone")


def _mate(a: _Placed, b: _Placed, contacts: Sequence[_Contact]) -> Mate | None:
    """Joint whose motions are those that all contacts allow; None if no usual joint has them."""
    if not contacts:
        return None
    middle = np.mean([each.point for each in contacts], axis=0)
    size = float(np.linalg.norm(np.ptp(np.vstack([a.nodes, b.nodes]), axis=0)))
    # about the middle, with rotations times the size, so that all entries are lengths
    moved = [_moved(each.rows, middle) / np.array([1.0] * 3 + [size] * 3) for each in contacts]
    rows = np.vstack(moved)
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    _, values, right = np.linalg.svd(rows)
    free = right[np.append(values, np.zeros(6 - len(values))) <= FREE * values[0]]
    free = free / np.array([1.0] * 3 + [size] * 3)
    found = _joint(free, size)
    if found is None:
        return None
    kind, offset, axis = found
    point = middle + offset
    round_ = [each for each in contacts if each.kind != "plane"]
    guiding = round_ if kind not in ("prismatic", "planar", "fixed") and round_ else contacts
    if kind in ("revolute", "cylindrical"):  # in the middle of the bearings, on the axis
        centre = np.mean([each.point for each in guiding], axis=0)
        point = point + axis * (axis @ (centre - point))
    texts = [each.text for each in contacts]
    reasons = tuple(
        f"{text}{f' ({texts.count(text)} times)' if texts.count(text) > 1 else ''}"
        for text in dict.fromkeys(texts)
    )
    numbers = [sorted({each.faces[k] + 1 for each in guiding}) for k in (0, 1)]
    return Mate(
        kind, a.body.name, b.body.name, point, axis, (tuple(numbers[0]), tuple(numbers[1])), reasons
    )  # fmt: skip


def _moved(rows: Array, point: Array) -> Array:
    """Rows of a twist about another point: f · v + m · ω = f · (v' − ω × p) + m · ω."""
    return np.hstack([rows[:, :3], rows[:, 3:] - np.cross(point, rows[:, :3])])


def _joint(free: Array, size: float) -> tuple[str, Array, Array] | None:
    """Kind, point and axis of the joint that has a space of twists (k, 6); None if none has."""
    origin, z = np.zeros(3), np.array([0.0, 0.0, 1.0])
    if not len(free):
        return "fixed", origin, z
    turns, values = _split(free, size)
    slides = turns[~values]
    turning = turns[values]
    match len(turning), len(slides):
        case 0, 1:
            return "prismatic", origin, _unit(slides[0, :3])
        case 1, 0 | 1:
            axis = _unit(turning[0, 3:])
            v, speed = turning[0, :3], float(np.linalg.norm(turning[0, 3:]))
            along = slides[0, :3] if len(slides) else axis
            if abs(_unit(along) @ axis) < 1.0 - FREE:
                return None
            if not len(slides) and abs(v @ axis) > FREE * speed * size:
                return None  # a screw
            across = v - (v @ axis) * axis
            kind = "cylindrical" if len(slides) else "revolute"
            return kind, np.cross(turning[0, 3:], across) / speed**2, axis
        case 1, 2:
            axis = _unit(turning[0, 3:])
            if (
                np.abs(slides[:, :3] @ axis).max()
                > FREE * np.linalg.norm(slides[:, :3], axis=1).max()
            ):
                return None
            return "planar", origin, axis
        case 3, 0:  # v = −ω × c for all ω
            blocks = [-skew(turn[3:]) for turn in turning]
            centre = np.linalg.lstsq(np.vstack(blocks), turning[:, :3].ravel(), rcond=None)[0]
            return "spherical", np.asarray(centre, float), z
    return None


def _split(free: Array, size: float) -> tuple[Array, NDArray[np.bool_]]:
    """Basis of a space of twists with as few as possible that turn, and True for those."""
    left, values, _ = np.linalg.svd(free[:, 3:] * size)
    values = np.append(values, np.zeros(max(len(free) - len(values), 0)))[: len(free)]
    scale = max(float(np.abs(free[:, :3]).max()), float(values.max()), np.finfo(float).tiny)
    return left.T @ free, values > FREE * scale


def _unit(x: Array) -> Array:
    """Unit vector, its largest component positive: the sign of an axis has no meaning."""
    found = x / np.linalg.norm(x)
    return np.asarray(found * (np.sign(found[np.argmax(np.abs(found))]) or 1.0))

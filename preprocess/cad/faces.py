"""Faces of a CAD model, and regions of a mesh that are described by them.

A face is described as an engineer does: the hole of 10 mm diameter near a point, the largest plane,
the topmost one, the red faces. Parts of one surface, as the two halves of a hole that an exporter
divided, are one face.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.cad.surfaces import Surface
from preprocess.inputs.argument_checks import checked_arguments, nonzero_vector, positive, vector
from preprocess.mesh.node_regions import NodeRows, NodeSets, Region

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
# rad, 150°: exporters divide holes into halves; concave fillets between walls span 90° or less
HOLE = 2.6
Vector = tuple[float, float, float]

# relative difference of radii, areas and distances, and angle (rad), that count as equal: exporters
# write three digits or more
EQUAL = 1e-3
SAME_COLOUR = 2 / 255  # of a component: exporters round colours


@dataclass(frozen=True, eq=False)
class CadFace:
    """Face of a CAD model on its mesh.

    number: in the model, from 1. nodes (n,): rows of the mesh. triangles (t, 3 or 6): outwards.
    area: m². centre (3,): of the area, m. hollow: True for a concave cylinder, cone or sphere. arc:
    angle (rad) that it spans about its axis.
    """

    number: int
    surface: Surface
    nodes: Indices
    triangles: Indices
    area: float
    centre: Array
    hollow: bool
    arc: float
    name: str = ""
    colour: Vector | None = None

    @property
    def kind(self) -> str:
        """Kind of its surface."""
        return self.surface.kind

    @property
    def is_hole(self) -> bool:
        """True for a concave cylinder that is no fillet."""
        return self.kind == "cylinder" and self.hollow and self.arc > HOLE

    def __str__(self) -> str:
        own = self.surface
        facts = [f"face {self.number}: {self._kind()}"]
        if own.axis.any():
            facts.append(f"{'normal' if own.kind == 'plane' else 'axis'} {_direction(own.axis)}")
        facts.append(f"area {1e6 * self.area:.4g} mm²")
        facts.append(f"centre ({', '.join(mm(c) for c in self.centre)}) mm")
        facts += [f"name '{self.name}'"] if self.name else []
        facts += [hex_colour(self.colour)] if self.colour else []
        return ", ".join(facts)

    def _kind(self) -> str:
        """Text of the kind of its surface with the size, as "hole of diameter 10 mm"."""
        own = self.surface
        if self.is_hole:
            return f"hole of diameter {mm(2.0 * own.radius)} mm"
        if own.kind in ("cylinder", "sphere"):
            return f"{'hollow ' * self.hollow}{own.kind} of radius {mm(own.radius)} mm"
        return {"other": "free form"}.get(own.kind, own.kind)


class CadSets(dict[str, Indices]):
    """Node sets of the mesh of a CAD model, with its faces."""

    def __init__(self, faces: Sequence[CadFace]) -> None:
        super().__init__({f"face {each.number}": each.nodes for each in faces})
        self.faces = tuple(faces)
        for name in sorted({each.name for each in faces if each.name}):
            rows = [each.nodes for each in faces if each.name == name]
            self[name] = np.unique(np.concatenate([*rows, *([self[name]] if name in self else [])]))


@checked_arguments
@dataclass(frozen=True, kw_only=True)
class Face(Region):
    """Region of the nodes of a face of a CAD model, described by its geometry.

    The conditions given hold together; among the faces left, near, largest or top choose one.
    Parts of one surface that touch are one face. Raises InputError if no face, or more than one, is
    left.

    number: in the file. plane, cone: a surface of this kind. cylinder, sphere: of this radius [m],
    or any. hole: a concave cylinder of this diameter [m], or any, no fillet. normal (3,): of a
    plane, outwards. axis (3,): of a cylinder or cone. name: in the file. colour: in the file, by
    name, as "#rrggbb" or (r, g, b). near (3,): a point [m], of which the face is the nearest.
    largest: by area. top (3,): the farthest one along a direction. all: every face left.

    Examples
    --------
    >>> import preprocess as pp
    >>> hub = pp.Averaged(pp.face(hole=10e-3, near=(0, 0, 0)))
    >>> bolts = pp.Rigid(pp.face(hole=6e-3, all=True))
    >>> print(bolts.where)
    face(hole=0.006, all=True)
    """

    number: int | None = None
    plane: bool = False
    cylinder: bool | float = False
    hole: bool | float = False
    cone: bool = False
    sphere: bool | float = False
    normal: Vector | None = None
    axis: Vector | None = None
    name: str | None = None
    colour: str | Vector | None = None
    near: Vector | None = None
    largest: bool = False
    top: Vector | None = None
    all: bool = False

    def __post_init__(self) -> None:
        for key in ("cylinder", "hole", "sphere"):
            if not isinstance(getattr(self, key), bool):
                positive(getattr(self, key), f"face: {key}", "give a length in m")
        for key in ("normal", "axis", "top"):
            if getattr(self, key) is not None:
                nonzero_vector(getattr(self, key), f"face: {key}", "give a direction")
        if self.near is not None:
            vector(self.near, "face: near")
        if self.colour is not None:
            rgb(self.colour)
        last = [key for key in ("near", "largest", "top", "all") if getattr(self, key)]
        if len(last) > 1:
            raise InputError(f"face: {' and '.join(last)} exclude each other; give one of them")
        if str(self) == "face()":
            raise InputError("face: give a condition, for example hole=10e-3, or all=True")

    def rows(self, nodes: Array, sets: NodeSets) -> NodeRows:
        """Rows of the nodes on the faces described. Raises InputError without a CAD model."""
        if not isinstance(sets, CadSets):
            raise InputError(
                f"{self}: the mesh has no faces of a CAD model; make it with mesh_cad, or name a "
                "set, a Point or a Plane"
            )
        found = self.chosen(sets.faces, nodes)
        return np.unique(np.concatenate([each.nodes for each in found]))

    def centre(self, nodes: Array, sets: NodeSets) -> Array | None:
        """Centroid of the area of the curved faces; flat triangles would shift that of a bore."""
        return _centre(self.chosen(sets.faces, nodes)) if isinstance(sets, CadSets) else None

    def chosen(self, faces: Sequence[CadFace], nodes: Array) -> list[CadFace]:
        """Faces described, of a model meshed with these nodes (N, 3). Raises InputError."""
        left = [each for each in faces if self._fits(each)]
        if not left:
            raise InputError(f"{self}: no face fits{self._nearest_miss(faces)}")
        if self.all:
            return left
        groups = _one_surface_each(left, nodes)
        if len(groups) > 1 and (self.near or self.largest or self.top):
            score = np.array([self._score(group, nodes) for group in groups])
            tied = score <= score.min() + EQUAL * max(np.ptp(score), np.finfo(float).tiny)
            groups = [group for group, best in zip(groups, tied) if best]
        if len(groups) > 1:
            raise InputError(
                f"{self}: {len(groups)} faces fit; add a condition, or all=True: "
                + "; ".join(str(group[0]) for group in groups[:6])
                + ("; …" if len(groups) > 6 else "")
            )
        return groups[0]

    def _fits(self, face: CadFace) -> bool:
        """True if a face meets all conditions on the single face."""
        own = face.surface
        return (
            self.number in (None, face.number)
            and (not self.plane or own.kind == "plane")
            and (not self.cone or own.kind == "cone")
            and _sized(self.cylinder, own.kind == "cylinder", own.radius)
            and _sized(self.sphere, own.kind == "sphere", own.radius)
            and _sized(self.hole, face.is_hole, 2.0 * own.radius)
            and _along(self.normal, own.axis * (own.kind == "plane"), signed=True)
            and _along(self.axis, own.axis * (own.kind in ("cylinder", "cone")))
            and self.name in (None, face.name)
            and self._coloured(face)
        )

    def _coloured(self, face: CadFace) -> bool:
        """True if a face has the wanted colour, or if none is asked for."""
        if self.colour is None:
            return True
        wanted = np.array(rgb(self.colour))
        return face.colour is not None and bool((np.abs(wanted - face.colour) <= SAME_COLOUR).all())

    def _score(self, group: Sequence[CadFace], nodes: Array) -> float:
        """Measure (m², m) of a group of faces that is least for the largest, topmost or nearest."""
        if self.largest:
            return -sum(each.area for each in group)
        centre = _centre(group)
        if self.top is not None:
            return -float(centre @ np.array(self.top) / np.linalg.norm(self.top))
        x = nodes[np.concatenate([each.nodes for each in group])]
        return float(np.linalg.norm(np.vstack([x, centre]) - np.array(self.near), axis=1).min())

    def _nearest_miss(self, faces: Sequence[CadFace]) -> str:
        """Hint of an error message: similar names, or faces of the kind with other radii."""
        if self.name is not None and not any(each.name == self.name for each in faces):
            names = sorted({each.name for each in faces if each.name})
            near = difflib.get_close_matches(self.name, names, n=3) or names[:6]
            return f"; the names are {', '.join(map(repr, near))}" if near else "; none has a name"
        kinds = [self.cylinder, self.sphere, self.hole]
        if any(not isinstance(kind, bool) for kind in kinds):
            sizes = ("cylinder", "sphere", "hole")
            any_size: dict[str, Any] = {
                key: True for key in sizes if not isinstance(getattr(self, key), bool)
            }
            anywhere = dataclasses.replace(self, **any_size)
            others = [str(each) for each in faces if anywhere._fits(each)]
            return f"; there are {'; '.join(others[:6])}" if others else ""
        return f" of {len(faces)}"

    def conditions(self) -> dict[str, Any]:
        """Conditions given, by their names."""
        named = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {key: value for key, value in named.items() if value not in (None, False)}

    def __str__(self) -> str:
        given = (f"{key}={_text(value)}" for key, value in self.conditions().items())
        return f"face({', '.join(given)})"


face = Face  # as it is called: pp.face(hole=10e-3)


def _text(value: Any) -> str:
    """Text of the value of a condition, as in Python."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    return f"{value:.9g}" if isinstance(value, float) else repr(value)


def _sized(wanted: bool | float, fits: bool, size: float) -> bool:
    """True if the kind is not asked for, or is there in the size wanted."""
    if wanted is False:
        return True
    if not fits:
        return False
    return wanted is True or abs(size - wanted) <= EQUAL * wanted


def _along(wanted: Vector | None, axis: Array, *, signed: bool = False) -> bool:
    """True if an axis has the wanted direction (or the opposite one, if not signed)."""
    if wanted is None:
        return True
    cosine = float(axis @ np.array(wanted) / np.linalg.norm(wanted))
    return (cosine if signed else abs(cosine)) >= np.cos(EQUAL)


def _centre(faces: Sequence[CadFace]) -> Array:
    """Centroid of the area of faces together, m."""
    area = np.array([each.area for each in faces])
    return np.asarray(area @ np.array([each.centre for each in faces]) / area.sum())


def _one_surface_each(faces: Iterable[CadFace], nodes: Array) -> list[list[CadFace]]:
    """Groups of faces that touch and lie on the same surface."""
    own = list(faces)
    group = {k: [k] for k in range(len(own))}
    for i, j in _touching(own):
        if group[i] is not group[j] and _continues(own[j], own[i], nodes):
            joined = sorted([*group[i], *group[j]])
            group |= dict.fromkeys(joined, joined)
    return [[own[k] for k in each] for first, each in group.items() if each[0] == first]


def _touching(faces: Sequence[CadFace]) -> list[tuple[int, int]]:
    """Pairs of faces that share a node, by their places in the sequence."""
    if not faces:
        return []
    rows = np.concatenate([each.nodes for each in faces])
    owner = np.repeat(np.arange(len(faces)), [len(each.nodes) for each in faces])
    order = np.lexsort([owner, rows])
    rows, owner = rows[order], owner[order]
    found: set[tuple[int, int]] = set()
    for k in range(1, len(rows)):
        same = np.flatnonzero(rows[k:] == rows[:-k])
        if not len(same):
            break
        found.update(zip(owner[same].tolist(), owner[same + k].tolist()))
    return sorted(found)


def _continues(a: CadFace, b: CadFace, nodes: Array) -> bool:
    """True if the nodes of a face are on the surface of another one that touches it."""
    if a.kind != b.kind or a.kind == "other":
        return False
    x = nodes[a.nodes]
    return bool(b.surface.distances(x).max() <= EQUAL * np.ptp(x, axis=0).max())


def rgb(colour: str | Vector) -> Vector:
    """Components, 0 to 1, of a colour by name, as "#rrggbb" or as components. Raises InputError."""
    from matplotlib.colors import is_color_like, to_rgb  # a tenth of a second

    if not is_color_like(colour):
        raise InputError(f"face: colour {colour!r} is unknown; give a name, '#rrggbb' or (r, g, b)")
    return to_rgb(colour)


def hex_colour(colour: Vector) -> str:
    """Colour (r, g, b) as text "#rrggbb"."""
    return "#" + "".join(f"{round(255 * c):02x}" for c in colour)


def mm(length: float) -> str:
    """Length (m) in mm, to four digits and 0.1 nm."""
    return f"{round(1e3 * length, 7) + 0.0:.4g}"


def _direction(axis: Array) -> str:
    """Text of an axis: its name, as "-z", or its components."""
    k = int(np.argmax(np.abs(axis)))
    if abs(axis[k]) > 1.0 - EQUAL**2:
        return ("-" if axis[k] < 0 else "") + "xyz"[k]
    return f"({', '.join(f'{c:.4g}' for c in axis)})"

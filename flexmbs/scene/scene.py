"""Scene of a playback as one JSON text.

Bodies with their poses, frames, joints, arrows and contacts at common instants.

Geometry is stored once; an instant consists of the pose of each body and a few factors of the
shapes of its surface (`surfaces`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.algebra.so3 import euler_parameters
from flexmbs.flexible_body.divided import in_one_piece
from flexmbs.model.frames import GROUND, FrameRef
from flexmbs.model.shapes.triangles import Triangles
from flexmbs.player.arrays import Buffer
from flexmbs.player.body_scene import FORMAT, HasSurface, SceneOptions, body_scene, mark_tables
from flexmbs.player.extent import outermost_points
from flexmbs.player.fields import Field, SurfaceMark, stored_fields
from flexmbs.player.modes import MOST as MODES
from flexmbs.player.solids import Solid, require_solids
from flexmbs.player.surface import PageSurface
from flexmbs.results.bodies import frame_at_rest, whole_of
from flexmbs.scene.arrows import arrows_of, contact_marks
from flexmbs.scene.bounds import Bounds, bounds, places, size_of
from flexmbs.scene.contact_shapes import touching_shapes
from flexmbs.scene.elements import element_table, elements_of
from flexmbs.scene.frame_times import playback_solution, turn_note
from flexmbs.scene.joint_marks import axes_of, stops_of
from flexmbs.scene.links import Shape, body_shapes, extent_of
from flexmbs.scene.shape_solids import shape_solids
from flexmbs.scene.start import Element, Start, grounded
from flexmbs.scene.supports import supports
from flexmbs.scene.surfaces import add_part, parts_of
from flexmbs.system.topology import topology

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

FloatArray = NDArray[np.float64]
SPACING = 7  # every n-th point of a surface is used for its extent
ROUNDED = 1e-3  # relative to the size of the model: coarser rounding of positions is noted


class SingleBodyScene(NamedTuple):
    """Scene of a single body, in addition to the motion; the page finds it by its ``key``."""

    key: str
    body: str
    show: SceneOptions
    fields: Sequence[Field] = ()
    marks: Sequence[SurfaceMark] = ()


class Extras(NamedTuple):
    """Contents of a scene in addition to the solution.

    Solids that replace the shapes of bodies, notes, True if forces are known, fields and marks on
    bodies by name, and scenes of single bodies.
    """

    solids: Sequence[Solid] = ()
    notes: Sequence[str] = ()
    forces: bool = True
    fields: Mapping[str, Sequence[Field]] = MappingProxyType({})
    marks: Mapping[str, Sequence[SurfaceMark]] = MappingProxyType({})
    alone: Sequence[SingleBodyScene] = ()


NOTHING: Extras = Extras()


def scene(solution: SolutionData, extras: Extras = NOTHING) -> dict[str, Any]:
    """Scene of a solution as a table of JSON values."""
    buffer = Buffer()
    return _SceneWriter(solution, extras, buffer).table() | {"data": buffer.text()}


def scene_of_two(a: SolutionData, b: SolutionData, names: tuple[str, str]) -> dict[str, Any]:
    """Scene of a run and, in its table ``other``, of another run; both share one colour scale."""
    buffer = Buffer()
    one, other = (_SceneWriter(run, NOTHING, buffer).table() for run in (a, b))
    notes = [
        f"{name}: {note}" for name, table in zip(names, (one, other)) for note in table["notes"]
    ]
    fields = {
        key: max(table["fields"].get(key, 0.0) for table in (one, other))
        for key in {**one["fields"], **other["fields"]}
    }
    return one | {
        "notes": notes,
        "fields": fields,
        "other": other | {"fields": fields},
        "data": buffer.text(),
    }


def touching_of(solution: SolutionData, name: str) -> list[Shape]:
    """Contact shapes of a body, wheels and spheres, moved from their frames to its axes."""
    found = []
    for ref, shape in touching_shapes(solution.model):
        if ref.body == name:
            x, R = frame_at_rest(solution, ref)
            points = {
                key: (x + R @ np.asarray(shape[key])).tolist()
                for key in ("at", "from", "to")
                if key in shape
            }
            found.append(shape | points)
    return found


class _SceneWriter:
    """Scene under construction."""

    def __init__(self, solution: SolutionData, extras: Extras, buffer: Buffer) -> None:
        """Writer of the scene of a solution into a buffer."""
        require_solids(extras.solids)
        self.shown, notes = playback_solution(solution)
        self.solids, hidden = shape_solids(self.shown.model, extras.solids)
        self.notes = [*notes, *extras.notes, *hidden]
        self.buffer, self.extras = buffer, extras
        self.skins: dict[str, PageSurface] = {}
        self.names = list(solution.bodies)
        self.motion = {name: self.shown.body(name) for name in self.names}
        self.used = _shown_frames(solution)
        self.numbers = {str(ref): k for k, ref in enumerate(self.used)}

    def table(self) -> dict[str, Any]:
        """Record of the whole scene; its arrays are in the buffer."""
        t, model = self.shown.t, self.shown.model
        parts, factors, fields = self._parts()
        legends, arrays = self._values()
        points = self._points(factors)
        start = Start(self.shown, size_of(self.shown, points))
        elements, undrawn = elements_of(start)
        self.notes += undrawn
        embodied = {part.frame.body for each in elements if each.embodies for part in each.parts}
        bodies = [
            self._body(
                name,
                factors.get(name, {}) | arrays.get(name, {}),
                start.size,
                embodied=name in embodied,
            )
            for name in self.names
        ]
        for body in bodies:
            points[body["name"]] = np.vstack(
                [points[body["name"]], *map(extent_of, body["shapes"])]
            )
        anchors = [self._rest(ref)[:3] for ref in self.used if ref.body == GROUND]
        fixed = [*self._clouds(GROUND), *self._add_extents(elements, points)]
        fixed += [np.array([each]) for each in anchors]
        box = bounds(self.shown, points, start.size, fixed)
        inner = places(self.shown, points).reshape(-1, 3)
        held = list(supports(start, inner, box, self.solids))
        elements += held
        box = box.around(self._add_extents(held, points))
        spacing = float(t[1] - t[0]) if len(t) > 1 else 0.0
        rates = {
            name: float(np.linalg.norm(view.angular_velocity, axis=1).max())
            for name, view in self.motion.items()
        }
        arrows, touches = (self._arrows(), self._touches()) if self.extras.forces else ([], [])
        return {
            "format": FORMAT,
            "name": model.name,
            "time": [float(t[0]), float(t[-1]), len(t)],
            "up": box.up.tolist(),
            "view": box.view.tolist(),
            "size": box.size,
            "low": box.low.tolist(),
            "high": box.high.tolist(),
            "extremes": box.extremes.tolist(),
            "ground": box.ground,
            "bodies": bodies,
            "parts": parts,
            "fields": fields,
            **self._poses(box),
            "frames": [self._frame(ref) for ref in self.used],
            "joints": [self._joint(name) for name in self.shown.joints],
            "arrows": arrows,
            "touches": touches,
            "elements": [element_table(each, self.numbers, self._mesh) for each in elements],
            "gravity": np.asarray(model.gravity, float).tolist(),
            "scenery": [self._solid(each) for each in self.solids if each.body == GROUND],
            "chain": self._chain(),
            "notes": [*self.notes, *turn_note(rates, spacing)],
            "legends": legends,
            "marks": self._marks(),
            "alone": {each.key: self._alone(each) for each in self.extras.alone},
        }

    def _parts(self) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]], dict[str, float]]:
        """(records of the surfaces, factors by body, ranges of the fields)."""
        tables: list[dict[str, Any]] = []
        factors: dict[str, dict[str, Any]] = {}
        largest: dict[str, float] = {}
        for part in parts_of(self.shown):
            added = add_part(self.buffer, self.shown, part)
            for name, values in added.factors.items():
                factors[name] = values | {"part": len(tables)}
                self.skins[name] = added.skin
            tables.append(added.table)
            self.notes += added.fields.notes
            for key, value in (
                ("displacement", added.fields.displacement),
                ("stress", added.fields.stress),
            ):
                if value is not None:
                    largest[key] = max(largest.get(key, 0.0), value)
        return tables, factors, largest

    def _values(self) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
        """(legends of the fields, arrays by body)."""
        given = {name: fields for name, fields in self.extras.fields.items() if name in self.skins}
        legends, arrays = stored_fields(
            self.buffer, given, {name: self.skins[name].rows for name in given}
        )
        return legends, {name: {"values": own} for name, own in arrays.items()}

    def _marks(self) -> list[dict[str, Any]]:
        """Records of the marks on flexible surfaces."""
        found: list[dict[str, Any]] = []
        for name, marks in self.extras.marks.items():
            if name in self.skins and (shape := self.shown.shape(name)) is not None:
                found += mark_tables(self.names.index(name), marks, shape.surface, self.skins[name])
        return found

    def _alone(self, each: SingleBodyScene) -> dict[str, Any]:
        """Record of the scene of a single flexible body with its modes and fields."""
        data: HasSurface | None = (
            in_one_piece(whole_of(self.shown, each.body), MODES)
            if each.show.modes
            else self.shown.shape(each.body)
        )
        assert data is not None
        return body_scene(
            self.buffer, data, self.skins[each.body], each.show, each.fields, each.marks
        )

    def _add_extents(
        self, elements: Sequence[Element], points: dict[str, FloatArray]
    ) -> list[FloatArray]:
        """Add the outermost points of parts to those of their bodies; return those on the ground."""
        fixed = []
        for part in (part for each in elements for part in each.parts):
            x, R = frame_at_rest(self.shown, part.frame)
            cloud = x + outermost_points(part.mesh.points) @ R.T
            if grounded(part.frame):
                fixed.append(cloud)
            else:
                points[part.frame.body] = np.vstack([points[part.frame.body], cloud])
        return fixed

    def _points(self, factors: dict[str, dict[str, Any]]) -> dict[str, FloatArray]:
        """Points (n, 3) that span a body, in body axes."""
        found = {}
        for name in self.names:
            places = self._places(name)
            if name in factors:
                shape = self.shown.shape(name)
                assert shape is not None
                places = np.vstack(
                    [places, _some_of(shape.surface.nodes[np.unique(shape.surface.triangles)])]
                )
            found[name] = np.vstack([np.zeros((1, 3)), places, *self._clouds(name)])
        return found

    def _clouds(self, body: str) -> list[FloatArray]:
        """Points of each solid on a body or the ground."""
        return [
            _some_of(np.asarray(solid.vertices, float))
            for solid in self.solids
            if solid.body == body
        ]

    def _places(self, body: str) -> FloatArray:
        """Undeformed positions (n, 3) of the frames in use."""
        x = [self._rest(ref)[:3] for ref in self.used if ref.body == body]
        return np.array(x, float).reshape(-1, 3)

    def _rest(self, ref: FrameRef) -> list[float]:
        """(position, quaternion) of a frame in its undeformed body."""
        x, R = frame_at_rest(self.shown, ref)
        return [*x.tolist(), *euler_parameters(R).tolist()]

    def _body(
        self, name: str, factors: dict[str, Any], size: float, *, embodied: bool
    ) -> dict[str, Any]:
        """Record of a body: motion, surface or shapes; elements may embody it."""
        item = self.shown.model.bodies[name]
        own = [solid for solid in self.solids if solid.body == name]
        drawn = "part" in factors or own
        touching = [] if drawn else touching_of(self.shown, name)
        shapes = (
            []
            if drawn
            else [
                *touching,
                *body_shapes(item, self._places(name), size, embodied=embodied or bool(touching)),
            ]
        )
        return {
            "name": name,
            "kind": item.kind,
            "shapes": shapes,
            "solids": [self._solid(each) for each in own],
            **factors,
        }

    def _solid(self, solid: Solid) -> dict[str, Any]:
        """Record of a solid."""
        colour = None if solid.colour is None else [round(float(c), 4) for c in solid.colour][:4]
        return self._mesh(Triangles(solid.vertices, solid.triangles)) | {"colour": colour}

    def _mesh(self, mesh: Triangles) -> dict[str, Any]:
        """Record of a mesh with compressed vertices."""
        x = np.asarray(mesh.points, float)
        centre, extent = 0.5 * (x.min(axis=0) + x.max(axis=0)), float(np.ptp(x, axis=0).max())
        vertices = self.buffer.steps(x, extent / 65000.0, offset=centre.tolist(), delta=True)
        triangles = self.buffer.add(mesh.triangles, "i4", delta=True)
        return {"vertices": vertices, "triangles": triangles}

    def _poses(self, box: Bounds) -> dict[str, Any]:
        """Positions (nt, bodies, 3) and quaternions (nt, bodies, 4), continuous in time."""
        nt, n = len(self.shown.t), len(self.names)
        position, turned = np.zeros((nt, n, 3)), np.zeros((nt, n, 4))
        for k, view in enumerate(self.motion.values()):
            position[:, k] = view.position
            turned[:, k] = quaternions(view.rotation)
        stored = self.buffer.steps(position, 1e-6 * box.size, kind="i4", delta=True)
        if stored["step"] > ROUNDED * box.size:
            self.notes.append(
                f"positions are rounded to {stored['step']:.3g} m: the motion extends far "
                "beyond the size of the model"
            )
        return {
            "position": stored,
            "rotation": self.buffer.steps(turned, 1.0 / 32000.0, delta=True),
        }

    def _frame(self, ref: FrameRef) -> dict[str, Any]:
        """Record of a frame: body (−1: ground), undeformed pose, current pose if elastic."""
        body = self.names.index(ref.body) if ref.body != GROUND else -1
        table: dict[str, Any] = {"name": str(ref), "body": body, "rest": self._rest(ref)}
        if self.shown.compiled.system.frames.elastic[self.shown.compiled.frames[ref]]:
            own, view = self.shown.frame(ref), self.motion[ref.body]
            x = np.einsum("tji,tj->ti", view.rotation, own.position - view.position)
            R = np.einsum("tji,tjk->tik", view.rotation, own.rotation)
            table["moved"] = self.buffer.add(x - np.array(table["rest"][:3]), "f4")
            table["turned"] = self.buffer.add(quaternions(R), "f4")
        return table

    def _joint(self, name: str) -> dict[str, Any]:
        """Record of a joint: end frames, axes and stops."""
        joint = self.shown.model.joints[name]
        position = self.shown.joint(name).position
        ends = {"parent": self.numbers[str(joint.parent)], "child": self.numbers[str(joint.child)]}
        axes = axes_of(joint.motions, position)
        if joint.nv == 1 and (stops := stops_of(self.shown.model, name)):
            axes = [each | {"stops": stops} if each["kind"] == "slide" else each for each in axes]
        return {"name": name, "kind": joint.kind, **ends, "axes": axes}

    def _arrows(self) -> list[dict[str, Any]]:
        """Records of the force arrows that are not zero."""
        arrows, notes = arrows_of(self.shown)
        self.notes += notes
        found = []
        for arrow in arrows:
            largest = float(np.abs(arrow.vector).max(initial=0.0))
            if largest > 0.0 and np.isfinite(largest):
                vector = self.buffer.steps(arrow.vector, largest / 32000.0, delta=True)
                frame = self.numbers[arrow.frame]
                found.append(
                    {
                        "name": arrow.name,
                        "group": arrow.group,
                        "frame": frame,
                        "largest": largest,
                        "vector": vector,
                        **({"turns": True} if arrow.turns else {}),
                    }
                )
        return found

    def _touches(self) -> list[dict[str, Any]]:
        """Records of the closed contacts and impacts."""
        touches, notes = contact_marks(self.shown)
        self.notes += notes
        return [
            {
                "name": each.name, "frame": self.numbers[each.frame],
                "closed": self.buffer.add(each.closed, "u1"), "impacts": each.impacts,
            }
            for each in touches
        ]  # fmt: skip

    def _chain(self) -> list[list[int]]:
        """(body, frame on its parent, frame on it) from the ground outwards.

        Exaggerated deformation moves all following bodies. −1: no frame, for bodies without joints.
        """
        shape = topology(self.shown.model, "joint")
        return [
            [
                self.names.index(p.body),
                self.numbers.get(str(p.frame_p), -1),
                self.numbers.get(str(p.frame_c), -1),
            ]
            if p.joint is not None
            else [self.names.index(p.body), -1, -1]
            for p in shape.tree
        ]


def _shown_frames(solution: SolutionData) -> list[FrameRef]:
    """References of all frames shown in the scene."""
    known, attached = {GROUND, *solution.bodies}, _attached(solution)
    return [
        ref
        for ref in solution.compiled.frames
        if ref.body in known and (ref.frame or ref in attached)
    ]


def _attached(solution: SolutionData) -> set[FrameRef]:
    """References of the frames to which joints, contacts and forces refer."""
    model = solution.model
    found = {ref for joint in model.joints.values() for ref in (joint.parent, joint.child)}
    found |= {ref for force in model.forces.values() for ref in force.frames()}
    for contact in model.contacts.values():
        found |= {
            ref
            for key in ("parent", "child")
            if isinstance(ref := getattr(contact, key, None), FrameRef)
        }
    return {FrameRef(ref.body, ref.frame) for ref in found}


def quaternions(rotation: FloatArray) -> FloatArray:
    """Euler parameters (nt, 4) of rotation matrices (nt, 3, 3), without sign changes."""
    p = np.array([euler_parameters(A) for A in rotation]).reshape(-1, 4)
    signs = np.where(np.einsum("ti,ti->t", p[1:], p[:-1]) < 0.0, -1.0, 1.0)
    p[1:] *= np.cumprod(signs)[:, None]
    return p


def _some_of(points: FloatArray) -> FloatArray:
    """Outermost points of a cloud (n, 3), and a selection of the others."""
    return np.vstack([outermost_points(points), points[::SPACING]])

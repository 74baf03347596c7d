"""Elements that act between bodies, as parts fixed to frames and lines between frames.

The form of an element follows from its geometry: two frames are joined by a line, an item on a
degree of freedom is drawn about the axis of the joint, a relation or contact with a curve or plane
shows that curve or plane. Sizes follow the size of the machine.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from flexmbs.model.contacts import Rope, UnilateralCoupling, UserContact
from flexmbs.model.contacts.contact import CoordinateContact
from flexmbs.model.couplings import Coupling
from flexmbs.model.drives import Drive
from flexmbs.model.forces import Bushing, HydraulicCylinder, JointSpring, PointSpring
from flexmbs.model.forces.force import AlongLine, OnCombination, OnSeveral
from flexmbs.model.forces.joint_torque import JointTorque
from flexmbs.model.frames import FrameRef
from flexmbs.model.item import CoordinateUse, Item
from flexmbs.model.joints import Joint
from flexmbs.model.laws import SpringDamper
from flexmbs.model.relations import Distance, Holonomic, VelocityRows
from flexmbs.model.rotors import RotorInertia
from flexmbs.scene import meshes
from flexmbs.scene.gearing import gearing_of
from flexmbs.scene.profiles import makers_of
from flexmbs.scene.start import Element, FloatArray, JointAxis, Line, Part, Start, plain

MOTORS, FRICTION, ROTORS = "Motors and drives", "Friction", "Rotors"
SPRINGS, STOPS, COUPLINGS = "Springs and dampers", "Stops", "Couplings"
WIRE = 0.25  # radius of the wire of a spring relative to the unit of the machine


def elements_of(start: Start) -> tuple[list[Element], list[str]]:
    """All elements of a machine that have a form, and notes on those that cannot be drawn."""
    found: list[Element] = []
    notes: list[str] = []
    for name, make in _makers(start):
        try:
            found += make()
        except Exception as error:  # a symbol that fails must not prevent the page
            notes.append(f"{name} is not drawn: {error}")
    return found, notes


def _makers(start: Start) -> Iterator[tuple[str, Callable[[], Iterable[Element]]]]:
    """Name and maker of the elements of each item."""
    model = start.model
    for ends in _two_point_items(start):
        yield ends[0].name, functools.partial(_between, start, ends)
    taken: dict[CoordinateUse, int] = {}
    for section in (model.drives, model.forces, model.contacts, model.rotors):
        for each in section.values():
            if isinstance(each, Item) and not isinstance(each, OnCombination):
                yield each.name, functools.partial(_on_axes, start, each, taken)
    for coupling in model.couplings.values():
        yield coupling.name, functools.partial(_coupled, start, coupling)
    yield from makers_of(start)
    for item in (*model.forces.values(), *model.contacts.values()):
        if isinstance(item, (OnSeveral, UnilateralCoupling)) and len(item.terms) > 1:
            yield item.name, functools.partial(_linked, start, item)


def _coupled(start: Start, coupling: Coupling) -> Iterable[Element]:
    """Wheels of a coupling, or lines between its joints."""
    made = gearing_of(start, coupling)
    return _linked(start, coupling) if made is None else [made]


def _two_point_items(start: Start) -> Iterator[tuple[Item, FrameRef, FrameRef]]:
    """Forces, contacts and relations between two points, with their frames."""
    model = start.model
    for force in model.forces.values():
        if isinstance(force, (AlongLine, Bushing)):
            yield force, plain(force.frame_a), plain(force.frame_b)
    for item in (*model.contacts.values(), *model.joints.values()):
        if isinstance(item, (Rope, Distance, Holonomic, VelocityRows, UserContact)):
            yield item, plain(item.parent), plain(item.child)


def _between(start: Start, item: tuple[Item, FrameRef, FrameRef]) -> Iterator[Element]:
    """Element between two frames."""
    given, a, b = item
    unit = start.unit
    ends = start.distances(a, b)
    if isinstance(given, Bushing):
        z = np.array([0.0, 0.0, 1.0])
        sleeve = meshes.ring(-1.6 * unit * z, 1.6 * unit * z, 1.3 * unit, 2.3 * unit)
        yield Element(given.name, given.kind, "Bushings", (Part(a, sleeve),))
        return
    if isinstance(given, Rope):
        line = Line(a, b, "rope", 0.3 * unit, given.length, *ends)
        yield Element(given.name, given.kind, "Ropes", (), (line,))
    elif isinstance(given, Distance):
        line = Line(a, b, "rod", 0.55 * unit, 0.0, *ends)
        yield Element(given.name, given.kind, "Rods", (), (line,))
    elif isinstance(given, (Holonomic, VelocityRows, UserContact)):
        line = Line(a, b, "link", 0.12 * unit)
        yield Element(given.name, given.kind, COUPLINGS, (), (line,))
    elif isinstance(given, HydraulicCylinder):
        line = Line(a, b, "cylinder", 1.5 * unit, 0.0, *ends)
        yield Element(given.name, given.kind, "Hydraulic cylinders", (), (line,))
    else:
        styles = _styles(given)
        lines = tuple(Line(a, b, style, radius * unit, 0.0, *ends) for style, radius in styles)
        yield Element(given.name, given.kind, SPRINGS, (), lines)


def _styles(spring: Item) -> list[tuple[str, float]]:
    """Styles of a spring and damper with their radii; the damper is inside the spring."""
    if not isinstance(spring, PointSpring) or spring.law is not None:
        return [("spring", 1.3)]
    found = [("spring", 1.5)] if spring.k > 0.0 or spring.c == 0.0 else []
    return found + ([("damper", 0.8)] if spring.c > 0.0 else [])


def _on_axes(start: Start, item: Item, taken: dict[CoordinateUse, int]) -> Iterator[Element]:
    """Item on degrees of freedom; ``taken``: places along each axis that others have."""
    several = (
        item.coordinates(start.model.joints)
        if isinstance(item, OnSeveral)
        else [item.coordinate_used()]
    )
    parts: list[Part] = []
    lines: list[Line] = []
    group = _group(item)
    for use in several:
        axis = start.axis(*use) if use is not None else None
        if use is None or axis is None:
            continue
        if isinstance(item, CoordinateContact):
            parts += _stops(start, item, axis)
        elif group == SPRINGS and not axis.turns:
            lines.append(_spring_along(start, axis))
        else:
            parts += _symbol(start, axis, group, taken.get(use, 0))
            taken[use] = taken.get(use, 0) + 1
    if parts or lines:
        yield Element(item.name, item.kind, group, tuple(parts), tuple(lines))


def _group(item: Item) -> str:
    """Group of an item on a degree of freedom."""
    if isinstance(item, RotorInertia):
        return ROTORS
    if isinstance(item, CoordinateContact):
        return STOPS
    if isinstance(item, JointSpring):
        return SPRINGS
    if isinstance(item, JointTorque) and isinstance(item.law, SpringDamper):
        return SPRINGS
    if isinstance(item, (Drive, JointTorque, OnSeveral)):
        return MOTORS
    return FRICTION if "friction" in item.kind else SPRINGS


def _symbol(start: Start, axis: JointAxis, group: str, place: int) -> Iterator[Part]:
    """Motor, torsion spring, brake or rotor about an axis; ``place``: its place along the axis.

    On a translation: a housing beside the rail.
    """
    m, u = start.unit, axis.direction
    side = 1.0 if place % 2 == 0 else -1.0
    first = side * (2.5 + 3.4 * (place // 2)) * m
    if not axis.turns:
        frame = meshes.axes_along(u)
        low = axis.reach[0] - 4.6 * m - 4.2 * m * place
        size = {MOTORS: (4.2, 4.2, 3.4), FRICTION: (3.2, 3.2, 0.9)}.get(group, (3.4, 3.4, 1.4))
        yield Part(axis.frame, meshes.box(m * np.array(size), frame, axis.point + low * u))
        return
    a = axis.point + first * u

    def along(length: float) -> FloatArray:
        return np.asarray(a + side * length * m * u)

    if group == MOTORS:
        housing = meshes.cylinder(a, along(2.6), 2.3 * m)
        cap = meshes.cylinder(along(2.6), along(3.1), 1.7 * m)
        yield Part(axis.frame, meshes.merged([housing, cap]))
    elif group == SPRINGS:
        yield Part(axis.frame, meshes.coil(a, along(2.4), 1.9 * m, WIRE * m, 4))
    elif group == FRICTION:
        yield Part(axis.frame, meshes.ring(a, along(0.7), 1.3 * m, 2.5 * m))
    else:
        yield Part(axis.frame, meshes.cylinder(a, along(0.9), 3.0 * m))


def _spring_along(start: Start, axis: JointAxis) -> Line:
    """Helical spring on a translation, between the frames of its joint."""
    ends = start.distances(axis.frame, axis.outer)
    return Line(axis.frame, axis.outer, "spring", 1.9 * start.unit, 0.0, *ends)


def _stops(start: Start, item: CoordinateContact, axis: JointAxis) -> Iterator[Part]:
    """Bars at the limits of a rotation, where the link of the joint touches them."""
    if not axis.turns:
        return  # the rail of the joint has end plates
    m = start.unit
    link = start.pose(axis.outer)
    frame = start.pose(axis.frame)
    of_body = axis.outer.body in start.model.bodies
    centre = _middle(start, axis.outer.body) if of_body else link.x
    toward = frame.R.T @ (centre - frame.x) - axis.point
    toward = toward - axis.direction * (toward @ axis.direction)
    if np.linalg.norm(toward) < 1e-3 * start.size:
        toward = meshes.axes_along(axis.direction)[:, 0]
    x, y, z = meshes.axes_along(axis.direction, toward).T
    position = start.solution.joint(item.joint).position[0]
    q = float(position[item.coordinate]) if len(position) > item.coordinate else 0.0
    sense = 1.0 if plain(start.model.joints[item.joint].parent) == axis.frame else -1.0
    for _, bound in item.bounds().values():
        angle = sense * (bound - q)
        along = np.cos(angle) * x + np.sin(angle) * y
        axes = np.column_stack([along, np.cross(z, along), z])
        post = axis.point + 4.2 * m * along
        yield Part(axis.frame, meshes.box((4.6 * m, 0.5 * m, 2.0 * m), axes, post))


def _middle(start: Start, body: str) -> FloatArray:
    """Mean position of the frames of a body and of its centre of mass, in the world."""
    names = [ref for ref in start.solution.compiled.frames if ref.body == body]
    points = [start.pose(ref).x for ref in names]
    properties = getattr(start.model.bodies[body], "mass_properties", None)
    if properties is not None:
        pose = start.pose(FrameRef(body))
        points.append(pose.x + pose.R @ np.asarray(properties.com, float))
    return np.asarray(np.mean(points, axis=0))


def _linked(start: Start, item: Coupling | OnSeveral | UnilateralCoupling) -> Iterator[Element]:
    """Thin lines between the moving ends of joints of a relation that has no other form."""
    joints: dict[str, Joint] = {}
    for use in item.coordinates(start.model.joints):
        if use.joint in start.model.joints:
            joints[use.joint] = start.model.joints[use.joint]
    one = next(iter(joints.values())) if len(joints) == 1 else None
    ends = [plain(joint.child) for joint in joints.values()]
    ends = [plain(one.parent), *ends] if one is not None else ends
    lines = tuple(
        Line(a, b, "link", 0.12 * start.unit) for a, b in itertools.pairwise(ends) if a != b
    )
    if lines:
        yield Element(item.name, item.kind, COUPLINGS, (), lines)


def element_table(element: Element, numbers: dict[str, int], stored: Any) -> dict[str, Any]:
    """Record of an element for the page; ``stored`` adds a mesh to the arrays of the page."""
    return {
        "name": element.name,
        "kind": element.kind,
        "group": element.group,
        "parts": [
            {"frame": numbers[str(each.frame)], "own": each.own, **stored(each.mesh)}
            for each in element.parts
        ],
        "lines": [
            {
                "ends": [numbers[str(each.a)], numbers[str(each.b)]],
                "style": each.style,
                "radius": each.radius,
                "length": each.length,
                "range": [each.shortest, each.longest],
            }
            for each in element.lines
        ],
    }

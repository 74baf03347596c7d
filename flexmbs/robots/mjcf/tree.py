"""Bodies of an MJCF file with their joints, inertia and sites."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from flexmbs.declaration import shown
from flexmbs.files.xml_tree import XmlElement
from flexmbs.model.shapes.mass_properties import MassProperties, combined
from flexmbs.robots.import_result import WORLD, free_name
from flexmbs.robots.mjcf.document import MAIN, Defaults
from flexmbs.robots.mjcf.inertia import LEAST, bounded, explicit, of_geom
from flexmbs.robots.mjcf.values import (
    HERE,
    Compiler,
    ElementValues,
    RigidPose,
    counts,
    pose_of,
    turned_z,
)
from flexmbs.robots.mjcf.visuals import MjcfVisuals
from flexmbs.robots.visual_elements import Visual

FREEDOMS = {"hinge": 1, "slide": 1, "ball": 3, "free": 6}
UNREAD = ("replicate", "attach", "composite", "flexcomp")


class MjJoint(NamedTuple):
    """Joint with motion of type ``kind`` about or along ``axis`` through ``pos`` in body axes.

    Its model coordinate is q − ref.
    """

    name: str
    kind: str
    pos: np.ndarray
    axis: np.ndarray
    ref: float
    given: ElementValues
    unit: float  # rad of one unit of angle in the file; 1 for lengths

    def limited(self, compiler: Compiler) -> bool:
        """True if the range of the joint is active."""
        return counts(
            self.given.switch("limited", None),
            self.given.numbers("range", (0.0, 0.0)),
            compiler.autolimits,
        )

    def limits(self, compiler: Compiler) -> tuple[float, float] | None:
        """(lower, upper) limit of q − ref; None without limits."""
        if not self.limited(compiler) or FREEDOMS[self.kind] > 1:
            return None
        low, high = self.given.numbers("range", (0.0, 0.0)) * self.unit - self.ref
        if not low < high:
            self.given.problem(
                "range: its first number must be below the second, not "
                f"{shown(self.given.text('range'))}"
            )
            return None
        return float(low), float(high)


@dataclass(eq=False)
class MjBody:
    """Body: its pose in the parent (None: the world) at qpos0, joints in order, inertia, sites."""

    name: str
    parent: "MjBody | None"
    pose: RigidPose
    given: ElementValues
    joints: list[MjJoint] = field(default_factory=list)
    lump: MassProperties | None = None
    counts: bool = False  # True if its inertia is computed from its geoms
    sites: dict[str, RigidPose] = field(default_factory=dict)

    @property
    def world(self) -> RigidPose:
        """Pose in the world at qpos0."""
        return self.pose if self.parent is None else self.parent.world.then(self.pose)

    @property
    def moves(self) -> bool:
        """True if there are joints between the body and the world."""
        return bool(self.joints) or (self.parent is not None and self.parent.moves)


@dataclass(eq=False)
class BodyTree:
    """All bodies, each after its parent.

    The world is ``bodies[0]``. touching: number of geoms that can collide.
    """

    bodies: list[MjBody]
    visuals: list[Visual] = field(default_factory=list)
    touching: int = 0
    fluid_shapes: int = 0

    def body(self, name: str) -> MjBody | None:
        """Body with this name; None if there is none."""
        return next((each for each in self.bodies if each.name == name), None)

    def joint(self, name: str) -> tuple[MjBody, MjJoint] | None:
        """(body, joint) with this joint name; None if there is none."""
        return next(
            ((body, joint) for body in self.bodies for joint in body.joints if joint.name == name),
            None,
        )

    def site(self, name: str) -> tuple[MjBody, RigidPose] | None:
        """(body, pose) of the site with this name; None if there is none."""
        return next(((body, body.sites[name]) for body in self.bodies if name in body.sites), None)


def read_tree(
    root: XmlElement, defaults: Defaults, compiler: Compiler, looks: MjcfVisuals
) -> BodyTree:
    """Read the bodies of all <worldbody> elements."""
    report = looks.report
    reader = _TreeReader(defaults, compiler, looks)
    world = MjBody(WORLD, None, HERE, ElementValues(root, {}, report))
    reader.tree.bodies.append(world)
    for element in root.all("worldbody"):
        reader.fill(world, element, element.attributes.get("childclass", MAIN), HERE, [])
    _scale(reader.tree, compiler)
    return reader.tree


def _scale(tree: BodyTree, compiler: Compiler) -> None:
    """Scale masses and inertias to the total mass requested by the file."""
    heavy = [body for body in tree.bodies[1:] if body.lump]
    total = sum(body.lump.mass for body in heavy if body.lump)
    if compiler.total_mass > 0.0 and total > 0.0:
        factor = compiler.total_mass / total
        for body in heavy:
            assert body.lump
            body.lump = MassProperties(
                factor * body.lump.mass, body.lump.com, factor * body.lump.inertia
            )


class _TreeReader:
    """Reader of bodies, frames, joints, geoms and sites."""

    def __init__(self, defaults: Defaults, compiler: Compiler, looks: MjcfVisuals) -> None:
        self.defaults, self.compiler, self.looks, self.report = (
            defaults,
            compiler,
            looks,
            looks.report,
        )
        self.tree = BodyTree([])
        self.names: dict[str, set[str]] = {"body": {WORLD}, "joint": set(), "site": set()}

    def given(self, element: XmlElement, around: str) -> ElementValues:
        """Attribute values of an element with the defaults of its class."""
        return ElementValues(element, self.defaults.of(element, around), self.report)

    def name(self, element: XmlElement, section: str) -> str:
        """Unique name of an element; reports a problem if it is taken."""
        taken = self.names[section]
        name = element.attributes.get("name", "")
        if name in taken:
            self.report.problem(element, f"{section} {shown(name)} is defined twice; rename one")
        if not name or name in taken:
            name = free_name(f"{section} {len(taken) + (section != 'body')}", taken)
        taken.add(name)
        return name

    def fill(
        self,
        body: MjBody,
        element: XmlElement,
        around: str,
        frame: RigidPose,
        geoms: list[MassProperties],
    ) -> None:
        """Read the content of a body or <frame>, whose pose in the body is ``frame``.

        Geoms are collected in the list.
        """
        for child in element.children:
            if child.tag in UNREAD:
                self.report.problem(
                    child,
                    f"<{child.tag}> is not read; save the compiled model from MuJoCo and "
                    "read that file",
                )
            elif child.tag == "frame":
                inner = frame.then(
                    pose_of(ElementValues(child, child.attributes, self.report), self.compiler)
                )
                self.fill(body, child, child.attributes.get("childclass", around), inner, geoms)
            elif child.tag == "body":
                self.body(body, child, around, frame)
            elif child.tag == "geom":
                self.geom(body, self.given(child, around), frame, geoms)
            elif child.tag in ("joint", "freejoint"):
                self.joint(body, child, around, frame)
            elif child.tag == "site":
                given = self.given(child, around)
                body.sites[self.name(child, "site")] = frame.then(self.site_pose(given))

    def body(self, parent: MjBody, element: XmlElement, around: str, frame: RigidPose) -> None:
        """Read a body with all its content."""
        given = ElementValues(element, element.attributes, self.report)
        around = element.attributes.get("childclass", around)
        if around not in self.defaults.classes:
            self.report.problem(element, f"childclass: there is no default class {shown(around)}")
            around = MAIN
        if given.switch("mocap", False):
            self.report.note(
                f"body {shown(element.attributes.get('name', ''))} is moved by mocap; it "
                "remains fixed"
            )
        name = self.name(element, "body")
        body = MjBody(name, parent, frame.then(pose_of(given, self.compiler)), given)
        self.tree.bodies.append(body)
        geoms: list[MassProperties] = []
        inertial = element.first("inertial")
        body.counts = self.compiler.from_geoms is True or (
            self.compiler.from_geoms is None and inertial is None
        )
        self.fill(body, element, around, HERE, geoms)
        lump = combined(geoms) if body.counts else None
        if lump is not None and lump.mass < LEAST:
            lump = None
        if lump is None and inertial is not None:
            lump = explicit(
                ElementValues(inertial, inertial.attributes, self.report), self.compiler
            )
        if lump and not np.isfinite([lump.mass, *lump.com, *lump.inertia.ravel()]).all():
            self.report.problem(
                element,
                f"body {shown(name)}: its mass or inertia is not finite; correct "
                "its sizes and densities",
            )
            lump = None
        if lump or max(self.compiler.least_mass, self.compiler.least_inertia) > 0.0:
            # as MuJoCo does for a body without inertia: as far from the body frame as that is from
            # its parent
            nothing = MassProperties(0.0, given.vector("pos"), np.zeros((3, 3)))
            body.lump = bounded(lump or nothing, self.compiler)

    def geom(
        self, body: MjBody, given: ElementValues, frame: RigidPose, geoms: list[MassProperties]
    ) -> None:
        """Add the inertia of a geom, if it counts, and its visual."""
        if visual := self.looks.of_geom(body.name, given, frame, self.compiler):
            self.tree.visuals.append(visual)
        self.tree.touching += (
            given.number("contype", 1.0) != 0.0 or given.number("conaffinity", 1.0) != 0.0
        )
        self.tree.fluid_shapes += given.text("fluidshape", "none") != "none"
        if body.parent is None or not body.counts:
            return
        lump = of_geom(given, self.compiler, frame, self.looks.meshes)
        if lump:
            geoms.append(lump)

    def joint(self, body: MjBody, element: XmlElement, around: str, frame: RigidPose) -> None:
        """Read a joint of a body."""
        free = element.tag == "freejoint"
        given = (
            ElementValues(element, element.attributes, self.report)
            if free
            else self.given(element, around)
        )
        kind = "free" if free else given.text("type", "hinge")
        if kind not in FREEDOMS:
            given.problem(f"type: {shown(kind)} is unknown; must be one of {', '.join(FREEDOMS)}")
            return
        if body.parent is None or (kind == "free" and body.parent.parent is not None):
            given.problem(
                "type: a joint belongs to a body, and a free joint to a child of the world; move "
                "it there"
            )
            return
        axis = given.vector("axis", (0.0, 0.0, 1.0))
        if not axis.any():
            given.problem("axis: has zero length; give a direction")
            return
        unit = 1.0 if kind == "slide" else self.compiler.radians
        ref = unit * given.number("ref", 0.0) if FREEDOMS[kind] == 1 else 0.0
        pos = frame.point(given.vector("pos"))
        axis = frame.R @ axis / np.linalg.norm(axis)
        if kind in ("ball", "hinge") and any(each.kind == "ball" for each in body.joints):
            given.problem(
                "type: a preceding ball joint already rotates the body about any axis; remove one "
                "of them"
            )
        body.joints.append(MjJoint(self.name(element, "joint"), kind, pos, axis, ref, given, unit))
        if sum(FREEDOMS[each.kind] for each in body.joints) > 6:
            given.problem(
                "type: a body has at most six degrees of freedom relative to its parent; "
                "remove joints"
            )

    def site_pose(self, given: ElementValues) -> RigidPose:
        """Pose of a site; a site given by two points is at their midpoint."""
        if "fromto" not in given:
            return pose_of(given, self.compiler)
        first, last = np.split(given.numbers("fromto", (0.0,) * 6), 2)
        return RigidPose(turned_z(first - last), 0.5 * (first + last))

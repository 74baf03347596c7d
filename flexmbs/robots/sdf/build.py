"""`from_sdf`: model from an SDF file."""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from flexmbs.api.model import Model
from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.files.path_policy import path_policy_of
from flexmbs.files.paths import file_path
from flexmbs.files.xml_tree import XmlElement
from flexmbs.model.argument_checks import checked
from flexmbs.model.bodies import RigidBody
from flexmbs.model.contacts import JointLimit
from flexmbs.model.couplings import LinearCoupling
from flexmbs.model.fields import switch
from flexmbs.model.forces import FrameForce, JointFriction, JointSpring
from flexmbs.model.frames import GROUND, Frame, FrameRef
from flexmbs.model.item import CoordinateUse
from flexmbs.model.joints import Chain, Fixed, Free, Joint, Prismatic, Revolute, Screw, Spherical
from flexmbs.model.motions import Rotate
from flexmbs.model.rotors import RotorInertia
from flexmbs.robots.import_result import WORLD, ImportedModel, ImportLog, add_frame, free_name
from flexmbs.robots.mjcf.inertia import MassProperties
from flexmbs.robots.mjcf.values import RigidPose
from flexmbs.robots.sdf.elements import note_unread
from flexmbs.robots.sdf.scopes import MODEL, Scope, SdfPoses, SdfReader, sdf_root
from flexmbs.robots.sdf.visuals import visuals_of
from flexmbs.robots.urdf_elements import RATIO, ROTOR
from flexmbs.robots.urdf_read import item_name
from flexmbs.robots.visual_elements import Visual

DOWN = (0.0, 0.0, -9.8)  # default of the specification
AXES = {
    "fixed": 0,
    "ball": 0,
    "revolute": 1,
    "continuous": 1,
    "prismatic": 1,
    "screw": 1,
    "universal": 2,
    "revolute2": 2,
}


@checked_arguments
def from_sdf(
    path: str | Path,
    *,
    gravity: Sequence[float] | None = None,
    limits: bool = False,
    strict: bool = False,
    allow_outside: bool = False,
    package_path: str | Path | Iterable[str | Path] = (),
) -> ImportedModel:
    """Import a model from an SDF file (1.5 or later) with one world or one model.

    Read are links with inertia; joints of types fixed, ball, revolute, continuous, prismatic,
    screw, universal and revolute2 with springs, dampers and friction, also in closed loops; mimics
    as couplings; poses with ``relative_to``, frames, axes with ``expressed_in``, nested and
    included models, whose items are named "model::link". Links without a joint are free; links of
    static models are fixed. Collisions, plugins, and elements that are not read or misspelt are
    listed in ``notes`` and one `ModelWarning`.

    gravity (m/s²): by default from the world, or 9.8 m/s² downwards as in the specification.
    limits: True to add a `JointLimit` contact for each joint limit.  strict: raise `InputError` for
    content that is left out.  allow_outside: True to allow referenced files outside the folder.
    package_path: folders with the models of ``model://``, in addition to those in the variables
    GZ_SIM_RESOURCE_PATH and ROS_PACKAGE_PATH. Raises `InputError` with the problems and their
    lines. Source: SDFormat specification 1.11.


    Examples
    --------
    >>> import flexmbs as fm
    >>> from pathlib import Path
    >>> inertia = "<inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia>"
    >>> link = f'<link name="leaf"><pose>0 0.4 1 0 0 0</pose><inertial><mass>2</mass>{inertia}</inertial></link>'
    >>> joint = '<joint name="hinge" type="revolute"><pose>0 -0.4 0 0 0 0</pose><parent>world</parent><child>leaf</child></joint>'
    >>> _ = Path("door.sdf").write_text(
    ...     f'<sdf version="1.11"><model name="door">{link}{joint}</model></sdf>'
    ... )
    >>> fm.matrices(fm.from_sdf("door.sdf").model).M.round(6).tolist()  # 0.1 + 2 · 0.4² kg m²
    [[0.42]]
    """
    path, allow_outside = file_path(path), checked("allow_outside", switch, allow_outside)
    limits, strict = checked("limits", switch, limits), checked("strict", switch, strict)
    root, report = sdf_root(path), ImportLog(path)
    reader = SdfReader(
        report, path_policy_of(path, allow_outside=allow_outside, package_path=package_path)
    )
    tops = [*root.all("world"), *root.all("model")]
    if len(tops) != 1:
        raise InputError(f"{root.place}: must have one <world> or <model>, not {len(tops)}")
    top = reader.scope(tops[0], "", None)
    down = tops[0].first("gravity")
    own = DOWN if down is None else tuple(reader.vector(down, 3))
    builder = _Builder(
        reader, report, np.array(own if gravity is None else gravity, float), limits=limits
    )
    scopes = list(_all(top))
    for scope in scopes:
        builder.place(scope)
    for scope in scopes:
        builder.join(scope)
    builder.note_rest(scopes)
    model = (
        builder.model(tops[0].attributes.get("name") or path.stem) if not report.problems else None
    )
    notes = report.finish(strict=strict)
    assert model is not None
    return ImportedModel(
        model, builder.joints, builder.refs, builder.limits, notes, tuple(builder.visuals)
    )


def _all(scope: Scope) -> Iterator[Scope]:
    """A scope and all scopes within it."""
    yield scope
    for inner in scope.models.values():
        yield from _all(inner)


class _Builder:
    """Bodies, joints and forces of all scopes."""

    def __init__(
        self, reader: SdfReader, report: ImportLog, gravity: np.ndarray, *, limits: bool
    ) -> None:
        """Builder of a model from SDF elements; ``limits`` adds contacts at joint limits."""
        self.reader, self.report, self.gravity, self.with_limits = reader, report, gravity, limits
        self.poses = SdfPoses(reader)
        # by item name, with their poses in the world
        self.bodies: dict[str, tuple[MassProperties, RigidPose]] = {}
        self.frames: dict[str, dict[str, Frame]] = {GROUND: {}}
        self.refs: dict[str, FrameRef] = {}
        self.joints: dict[str, CoordinateUse] = {}
        self.limits: dict[str, tuple[float, float]] = {}
        self.visuals: list[Visual] = []
        self.items: list[object] = []
        self.supported: set[str] = set()
        self.mimics: list[tuple[Scope, str, XmlElement]] = []
        self.single: set[str] = set()

    def place(self, scope: Scope) -> None:
        """Add the bodies of all links of a scope."""
        for name, element in scope.links.items():
            full, pose = scope.full(name), self.poses.of(scope, name, element)
            self.visuals += visuals_of(self.reader, self.poses, scope, full, pose)
            if scope.static:
                self.refs[full] = FrameRef(
                    GROUND, add_frame(self.frames[GROUND], item_name(full), Frame(pose.o, pose.R))
                )
                continue
            own = item_name(full)
            self.refs[full], self.bodies[own], self.frames[own] = (
                FrameRef(own),
                (self._inertia(element, full), pose),
                {},
            )
            if not self.reader.switch(element, "gravity", True) and self.gravity.any():
                mass, com, _ = self.bodies[own][0]
                at = FrameRef(own, add_frame(self.frames[own], "centre of mass", Frame(com)))
                self.items.append(
                    FrameForce(f"{own} without gravity", at, force=tuple(-mass * self.gravity))
                )

    def _inertia(self, link: XmlElement, name: str) -> MassProperties:
        """Mass properties of a link from <inertial>, or the defaults of the specification."""
        element = link.first("inertial")
        if element is None:
            self.report.note(
                f"link '{name}' has no <inertial>: 1 kg and 1 kg m² about all axes, as "
                "in the specification"
            )
            return MassProperties(1.0, np.zeros(3), np.eye(3))
        if element.attributes.get("auto", "false").lower() in ("true", "1"):
            self.report.problem(
                element,
                f"link {shown(name)}: inertia from collisions (auto) is not computed; "
                "write its values",
            )
        if element.first("fluid_added_mass") is not None:
            self.report.note(f"fluid_added_mass of link '{name}'")
        given, number = element.first("inertia"), self.reader.number
        xx, yy, zz = (number(given, key, 1.0) for key in ("ixx", "iyy", "izz"))
        xy, xz, yz = (number(given, key, 0.0) for key in ("ixy", "ixz", "iyz"))
        pose, J = (
            self.reader.pose(element.first("pose")),
            np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]),
        )
        return MassProperties(number(element, "mass", 1.0), pose.o, pose.R @ J @ pose.R.T)

    def join(self, scope: Scope) -> None:
        """Add the joints and named frames of a scope."""
        for name, element in scope.joints.items():
            self._joint(scope, name, element)
        for name, element in scope.frames.items():
            body = self._body_of(scope, name, element)
            if body is not None:
                self.refs.setdefault(
                    scope.full(name),
                    self._frame(body, self.poses.of(scope, name, element), scope.full(name)),
                )

    def _frame(self, body: str, pose: RigidPose, name: str) -> FrameRef:
        """Frame on a body at a pose in the world."""
        if body != GROUND:
            at = self.bodies[body][1]
            pose = RigidPose(at.R.T @ pose.R, at.R.T @ (pose.o - at.o))
        return FrameRef(body, add_frame(self.frames[body], item_name(name), Frame(pose.o, pose.R)))

    def _body_of(self, scope: Scope, name: str, element: XmlElement, depth: int = 0) -> str | None:
        """Body that carries a link or frame; None and a problem if there is none."""
        if name == WORLD:
            return GROUND
        inside, own = scope.inner(name)
        if own in inside.links:
            return self.refs[inside.full(own)].body
        if depth < 50 and own in inside.frames:
            return self._body_of(
                inside,
                inside.frames[own].attributes.get("attached_to", "") or MODEL,
                element,
                depth + 1,
            )
        if depth < 50 and (own == MODEL or own in inside.models):
            model = inside if own == MODEL else inside.models[own]
            chosen = model.element.attributes.get("canonical_link", "") or next(
                iter(model.links), ""
            )
            if chosen:
                return self._body_of(model, chosen, element, depth + 1)
            return GROUND if model.element.tag == WORLD else None
        if depth < 50 and own in inside.joints:
            child = inside.joints[own].first("child")
            return None if child is None else self._body_of(inside, child.text, element, depth + 1)
        self.report.problem(element, f"there is no link or frame {shown(name)}")
        return None

    def _joint(self, scope: Scope, name: str, element: XmlElement) -> None:
        """Add the joint of an element with its limits, spring and friction."""
        kind, full = element.attributes.get("type", ""), scope.full(name)
        if kind not in AXES:
            self.report.problem(
                element,
                f"joint {shown(full)}: type {shown(kind)} is not supported; use one of "
                f"{', '.join(AXES)}",
            )
            return
        ends = [element.first(tag) for tag in ("parent", "child")]
        if ends[0] is None or ends[1] is None:
            self.report.problem(element, f"joint {shown(full)}: <parent> and <child> are needed")
            return
        bodies = [self._body_of(scope, end.text, element) for end in ends if end is not None]
        if bodies[0] is None or bodies[1] is None:
            return
        if bodies[0] == bodies[1]:
            self.report.note(
                f"joint '{full}' within {'the ground' if bodies[0] == GROUND else 'one body'}"
            )
            return
        pose = self.poses.of(scope, name, element)
        parent, child = (
            self._frame(body, pose, f"{full} joint") for body in bodies if body is not None
        )
        own = item_name(full)
        axes = [self._axis(scope, element, tag, pose) for tag in ("axis", "axis2")[: AXES[kind]]]
        self.items.append(self._made(kind, own, parent, child, axes, element))
        self.joints[full] = CoordinateUse(own, 0)
        self.supported |= {body for body in bodies if body is not None}
        if AXES[kind] == 1:
            self.single.add(full)
        self._rotor(element, full, own, kind)
        for k, tag in enumerate(("axis", "axis2")[: AXES[kind]]):
            self._along(scope, full, own, k, kind, element.first(tag))

    def _made(
        self,
        kind: str,
        name: str,
        parent: FrameRef,
        child: FrameRef,
        axes: list[np.ndarray],
        element: XmlElement,
    ) -> Joint:
        """Joint of an SDF kind between two frames."""
        if kind == "fixed":
            return Fixed(name, parent, child)
        if kind == "ball":
            return Spherical(name, parent, child)
        if kind == "screw":
            if element.first("screw_thread_pitch") is None:
                self.report.problem(
                    element,
                    f"joint {shown(name)}: <screw_thread_pitch> (m per turn) is needed; "
                    "thread_pitch is not read",
                )
            return Screw(
                name,
                parent,
                child,
                axis=axes[0],
                pitch=self.reader.number(element, "screw_thread_pitch", 0.0) / (2 * math.pi),
            )
        if len(axes) == 2:
            return Chain(name, parent, child, motions=(Rotate(axes[0]), Rotate(axes[1])))
        return (Prismatic if kind == "prismatic" else Revolute)(name, parent, child, axis=axes[0])

    def _axis(self, scope: Scope, joint: XmlElement, tag: str, pose: RigidPose) -> np.ndarray:
        """Unit vector of a joint axis in the joint frame."""
        axis = joint.first(tag)
        xyz = None if axis is None else axis.first("xyz")
        direction = np.array([0.0, 0.0, 1.0]) if xyz is None else self.reader.vector(xyz, 3)
        if not direction.any():
            self.report.problem(joint, f"<{tag}>: the axis has zero length; give a direction")
            return np.array([0.0, 0.0, 1.0])
        base = "" if xyz is None else xyz.attributes.get("expressed_in", "")
        if axis is not None and self.reader.switch(axis, "use_parent_model_frame"):
            base = MODEL
        if base:
            direction = pose.R.T @ self.poses.of(scope, base, joint).R @ direction
        return np.asarray(direction / np.linalg.norm(direction))

    def _rotor(self, element: XmlElement, full: str, own: str, kind: str) -> None:
        """Reflected inertia N² I of a joint, from Drake's extensions."""
        inertia, ratio = (
            self.reader.number(element, key, default)
            for key, default in ((ROTOR, 0.0), (RATIO, 1.0))
        )
        if not inertia:
            return
        if inertia < 0.0 or ratio == 0.0 or AXES[kind] != 1:
            text = "needs a joint of one axis, an inertia >= 0 and a gear ratio other than 0"
            self.report.problem(element, f"joint {shown(full)}: <{ROTOR}> {text}")
            return
        self.items.append(RotorInertia(own, own, inertia=inertia, ratio=ratio, gyroscopic=False))

    def _along(
        self, scope: Scope, full: str, own: str, k: int, kind: str, axis: XmlElement | None
    ) -> None:
        """Add spring, damper, friction, limits and mimic of one joint axis."""
        if axis is None:
            return
        number, dynamics, limit = self.reader.number, axis.first("dynamics"), axis.first("limit")
        damping, friction, stiffness, reference = (
            number(dynamics, key, 0.0)
            for key in ("damping", "friction", "spring_stiffness", "spring_reference")
        )
        mark = own if k == 0 else f"{own} {k}"
        if damping or stiffness:
            self.items.append(
                JointSpring(mark, own, k=stiffness, c=damping, x0=reference, coordinate=k)
            )
        if friction:
            self.items.append(
                JointFriction(f"{mark} friction", own, coulomb=friction, coordinate=k)
            )
        low, high = (
            number(limit, key, sign * 1e16) for key, sign in (("lower", -1.0), ("upper", 1.0))
        )
        if kind != "continuous" and (low > -1e15 or high < 1e15):
            bounds = {
                key: value
                for key, value, far in (("lower", low, low <= -1e15), ("upper", high, high >= 1e15))
                if not far
            }
            self.limits[full if k == 0 else f"{full} {k}"] = (
                bounds.get("lower", -np.inf),
                bounds.get("upper", np.inf),
            )
            if self.with_limits:
                self.items.append(
                    JointLimit(
                        mark,
                        own,
                        coordinate=k,
                        lower=bounds.get("lower"),
                        upper=bounds.get("upper"),
                    )
                )
        mimic = axis.first("mimic")
        if mimic is not None:
            self.mimics.append((scope, full, mimic))

    def _couple(self, model: Model) -> None:
        """Add couplings q = multiplier (q_leader − reference) + offset for mimic joints."""
        for scope, full, mimic in self.mimics:
            inside, name = scope.inner(mimic.attributes.get("joint", ""))
            leader = inside.full(name)
            if (
                leader not in self.single
                or full not in self.single
                or mimic.attributes.get("axis", "axis") != "axis"
            ):
                self.report.note(f"mimic of joint '{full}', which does not follow a single axis")
                continue
            factor, offset, reference = (
                self.reader.number(mimic, key, default)
                for key, default in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
            )
            own = item_name(full)
            factors = {own: 1.0} | ({item_name(leader): -factor} if factor else {})
            model.add(LinearCoupling(own, factors, offset=offset - factor * reference))

    def note_rest(self, scopes: list[Scope]) -> None:
        """Note the number of elements that are left out."""
        note_unread(scopes, self.report)
        links = [link for scope in scopes for link in scope.links.values()]
        touching = sum(len(link.all("collision")) for link in links)
        if touching:
            self.report.note(
                f"{touching} collision shapes; add the relevant contacts, such as fm.SpherePlane"
            )
        if self.limits and not self.with_limits:
            self.report.note(
                f"limits of {len(self.limits)} joint{'s' * (len(self.limits) > 1)}; limits=True adds them"
            )
        plugins = sum(len(scope.element.all("plugin")) for scope in scopes)
        if plugins:
            self.report.note(f"{plugins} plugins")

    def model(self, name: str) -> Model:
        """Finished model."""
        model = Model(item_name(name), gravity=self.gravity, frames=self.frames[GROUND])
        for own, (lump, _) in self.bodies.items():
            model.add(
                RigidBody(
                    own, mass=lump.mass, com=lump.com, inertia=lump.inertia, frames=self.frames[own]
                )
            )
        for item in self.items:
            model.add(item)  # type: ignore[call-overload]
        self._couple(model)
        self._release(model)
        return model

    def _release(self, model: Model) -> None:
        """Add a free joint for each group of links without a chain of joints to the ground."""
        reached, waiting = {GROUND}, dict(self.bodies)
        edges = [(joint.parent.body, joint.child.body) for joint in model.joints.values()]
        while True:
            grown = {b for ends in edges for a, b in (ends, ends[::-1]) if a in reached} - reached
            if grown:
                reached |= grown
                continue
            first = next((name for name in waiting if name not in reached), None)
            if first is None:
                return
            pose = waiting[first][1]
            x, y, z, w = Rotation.from_matrix(pose.R).as_quat()
            model.add(
                Free(
                    free_name(f"{first} free", model.joints),
                    FrameRef(GROUND),
                    FrameRef(first),
                    q0=(*pose.o, w, x, y, z),
                )
            )
            reached.add(first)

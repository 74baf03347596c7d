"""Models, links, joints and frames of SDF files, and their poses at zero joint coordinates.

Source: SDFormat specification 1.11 and "Pose frame semantics", sdformat.org.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from flexmbs.declaration import close_names, shown
from flexmbs.errors import InputError
from flexmbs.files.path_policy import PathPolicy
from flexmbs.files.xml_tree import XmlElement, read_xml
from flexmbs.model.xml_numbers import numbers
from flexmbs.robots.import_result import WORLD, ImportLog
from flexmbs.robots.mjcf.values import HERE, RigidPose

MODEL, BETWEEN = "__model__", "::"
DEEPEST = 20  # levels of nested models: a bound for files that include themselves


@dataclass(eq=False)
class Scope:
    """Name scope: a model or the world.

    ``prefix``: prepended to the names of its items, "" for the outermost model.
    """

    element: XmlElement
    prefix: str
    around: "Scope | None"
    static: bool
    links: dict[str, XmlElement] = field(default_factory=dict)
    joints: dict[str, XmlElement] = field(default_factory=dict)
    frames: dict[str, XmlElement] = field(default_factory=dict)
    models: dict[str, "Scope"] = field(default_factory=dict)
    placed: XmlElement | None = None  # <include>, whose pose overrides the pose of the model

    def full(self, name: str) -> str:
        """Name of this scope, unique in the whole file."""
        return f"{self.prefix}{BETWEEN}{name}" if self.prefix else name

    def inner(self, name: str) -> "tuple[Scope, str]":
        """(scope, local name) of a name with "::"."""
        scope: Scope = self
        *way, last = name.split(BETWEEN)
        for step in way:
            if step not in scope.models:
                return self, name
            scope = scope.models[step]
        return scope, last


class SdfReader:
    """Scopes and values of elements, with their problems."""

    def __init__(self, report: ImportLog, reach: PathPolicy) -> None:
        self.report, self.reach = report, reach

    def scope(
        self,
        element: XmlElement,
        prefix: str,
        around: Scope | None,
        depth: int = 0,
        placed: XmlElement | None = None,
    ) -> Scope:
        """Read a model or world as a scope, with nested and included models."""
        own = placed if placed is not None and placed.first("static") is not None else element
        static = self.switch(own, "static") or (around is not None and around.static)
        found = Scope(element, prefix, around, static, placed=placed)
        if depth > DEEPEST:
            raise InputError(f"{element.place}: more than {DEEPEST} nested models")
        for tag, table in (("link", found.links), ("joint", found.joints), ("frame", found.frames)):
            for child in element.all(tag):
                name = child.attributes.get("name", "")
                if (
                    not name
                    or BETWEEN in name
                    or name in {**found.links, **found.joints, **found.frames}
                ):
                    text = f"{tag} {shown(name)} needs a unique name without '::'; rename it"
                    self.report.problem(child, text)
                else:
                    table[name] = child
        for child in element.all("model"):
            self._nest(found, child, child.attributes.get("name", ""), None, depth)
        for child in element.all("include"):
            model = self._included(child)
            named = child.first("name")
            self._nest(
                found,
                model,
                named.text if named else model.attributes.get("name", ""),
                child,
                depth,
            )
        return found

    def _nest(
        self, scope: Scope, element: XmlElement, name: str, placed: XmlElement | None, depth: int
    ) -> None:
        """Add a nested model to a scope; reports a problem if its name is not unique."""
        if not name or name in scope.models:
            self.report.problem(element, f"model {shown(name)} needs a unique name; rename it")
            return
        scope.models[name] = self.scope(element, scope.full(name), scope, depth + 1, placed)

    def _included(self, element: XmlElement) -> XmlElement:
        """Model element of an included file. Raises `InputError`."""
        if element.attributes.get("merge", "false").lower() in ("true", "1"):
            self.report.problem(
                element,
                "<include merge='true'> is not read; write the content of the file in its place",
            )
        uri = element.first("uri")
        name = "" if uri is None else uri.text
        if not name:
            raise InputError(f"{element.place}: <include> has no <uri>")
        folder = self.reach.folder
        try:
            place = self.reach.path(name, element.path.parent, folder, folder.parent)
            if place.is_dir():
                place = self.reach.path("model.sdf", place)
        except ValueError as error:
            raise InputError(f"{element.place}: include {error}") from None
        if not place.exists():
            remedy = "copy it there, or give package_path= or GZ_SIM_RESOURCE_PATH"
            raise InputError(
                f"{element.place}: include {shown(name)}: no such file or folder next to "
                f"the file; {remedy}"
            )
        root = sdf_root(place)
        models = root.all("model")
        if len(models) != 1:
            raise InputError(
                f"{root.place}: an included file must have one <model>, not {len(models)}"
            )
        return models[0]

    def switch(self, element: XmlElement, tag: str, default: bool = False) -> bool:
        """Boolean value of a child (true, false, 1 or 0)."""
        child = element.first(tag)
        if child is None:
            return default
        if child.text.lower() not in ("true", "false", "1", "0"):
            self.report.problem(child, f"<{tag}>: must be true or false, not {shown(child.text)}")
        return child.text.lower() in ("true", "1")

    def number(self, element: XmlElement | None, tag: str, default: float) -> float:
        """Number in a child."""
        child = None if element is None else element.first(tag)
        if child is None:
            return default
        try:
            return (
                numbers(child.text, 1)[0]
                if child.text.lower() not in ("inf", "-inf")
                else float(child.text)
            )
        except ValueError as error:
            self.report.problem(child, f"<{tag}>: {error}")
            return default

    def vector(self, child: XmlElement, count: int) -> np.ndarray:
        """``count`` numbers in the text of an element."""
        try:
            return np.array(numbers(child.text, count))
        except ValueError as error:
            self.report.problem(child, f"<{child.tag}>: {error}")
            return np.zeros(count)

    def pose(self, child: XmlElement | None) -> RigidPose:
        """Pose from <pose>: x y z and roll, pitch, yaw about fixed axes, or a quaternion."""
        if child is None or not child.text:
            return HERE
        if child.attributes.get("rotation_format", "euler_rpy") == "quat_xyzw":
            given = self.vector(child, 7)
            if not given[3:].any():
                self.report.problem(child, "<pose>: the quaternion has length zero")
                return HERE
            return RigidPose(Rotation.from_quat(given[3:]).as_matrix(), given[:3])
        given = self.vector(child, 6)
        degrees = child.attributes.get("degrees", "false").lower() in ("true", "1")
        return RigidPose(
            Rotation.from_euler("xyz", given[3:], degrees=degrees).as_matrix(), given[:3]
        )


def sdf_root(path: Path) -> XmlElement:
    """Root <sdf> of version 1.5 or later. Raises `InputError`."""
    root = read_xml(path)
    if root.tag != "sdf":
        raise InputError(f"{root.place}: the root element must be <sdf>, not <{root.tag[:40]}>")
    version = root.attributes.get("version", "")
    parts = version.split(".")
    if (
        len(parts) != 2
        or not all(part.isdecimal() for part in parts)
        or (int(parts[0]), int(parts[1])) < (1, 5)
    ):
        raise InputError(
            f"{root.place}: version {shown(version)}: versions 1.5 and later are read; "
            "convert the file with 'gz sdf'"
        )
    return root


class SdfPoses:
    """Poses in the world at zero joint coordinates."""

    def __init__(self, reader: SdfReader) -> None:
        self.reader = reader
        self.known: dict[tuple[Scope, str], RigidPose] = {}
        self.open: list[tuple[Scope, str]] = []  # poses being evaluated, to detect cycles

    def of(self, scope: Scope, name: str, element: XmlElement) -> RigidPose:
        """World pose of a link, joint, frame, nested model, the model itself, or the world."""
        if name == WORLD:
            return HERE
        inside, own = scope.inner(name)
        key = (inside, own)
        if key in self.open:
            raise InputError(
                f"{element.place}: the pose of {shown(name)} depends on itself; correct "
                "relative_to or attached_to"
            )
        if key not in self.known:
            self.open.append(key)
            self.known[key] = self._found(inside, own, element)
            self.open.pop()
        return self.known[key]

    def _found(self, scope: Scope, name: str, element: XmlElement) -> RigidPose:
        """Pose of a named frame, link, joint or model in its scope. Raises `InputError`."""
        if name == MODEL:
            return self._model(scope)
        if name in scope.models:
            return self.of(scope.models[name], MODEL, element)
        for table, default in ((scope.links, MODEL), (scope.joints, ""), (scope.frames, "")):
            if name in table:
                return self._relative(scope, table[name], default or _carrier(table[name]))
        known = [*scope.links, *scope.joints, *scope.frames, *scope.models]
        where = f"model {shown(scope.prefix)}" if scope.prefix else "the outermost model"
        raise InputError(
            f"{element.place}: there is no {shown(name)} in {where}; {close_names(name, known)}"
        )

    def _relative(self, scope: Scope, item: XmlElement, default: str) -> RigidPose:
        """Pose of an item, given relative to another one."""
        pose = item.first("pose")
        base = (pose.attributes.get("relative_to", "") if pose is not None else "") or default
        return self.of(scope, base, item).then(self.reader.pose(pose))

    def _model(self, scope: Scope) -> RigidPose:
        """Pose of the model frame, through the placement frame if it has one."""
        item = (
            scope.element
            if scope.placed is None or scope.placed.first("pose") is None
            else scope.placed
        )
        pose = item.first("pose")
        given = self.reader.pose(pose)
        around = scope.around
        if around is not None:
            base = (pose.attributes.get("relative_to", "") if pose is not None else "") or MODEL
            given = (
                HERE
                if around.element.tag == WORLD and base == MODEL
                else self.of(around, base, item)
            ).then(given)
        placement = (scope.placed or scope.element).first("placement_frame")
        name = (
            placement.text
            if placement is not None
            else scope.element.attributes.get("placement_frame", "")
        )
        if not name:
            return given
        kept = self.known, self.open
        # for the pose of the placement frame in the model
        self.known, self.open = {(scope, MODEL): HERE}, []
        inside = self.of(scope, name, scope.element)
        self.known, self.open = kept
        return given.then(RigidPose(inside.R.T, -inside.R.T @ inside.o))


def _carrier(item: XmlElement) -> str:
    """Name of the frame to which the pose of a joint or frame refers by default."""
    if item.tag == "frame":
        return item.attributes.get("attached_to", "") or MODEL
    child = item.first("child")
    return MODEL if child is None else child.text

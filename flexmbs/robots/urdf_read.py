"""Reader of links and joints of URDF files.

Unified Robot Description Format, wiki.ros.org/urdf/XML.
"""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from scipy.optimize import nnls
from scipy.spatial.transform import Rotation

from flexmbs.declaration import shown
from flexmbs.errors import InputError, ModelWarning, raise_problems, warn_caller
from flexmbs.files.path_policy import PathPolicy, path_policy_of
from flexmbs.files.paths import file_path
from flexmbs.files.xml_tree import XmlElement, read_xml
from flexmbs.model.argument_checks import checked
from flexmbs.model.bodies import inertia_matrix
from flexmbs.model.fields import name as checked_name
from flexmbs.model.fields import switch
from flexmbs.model.frames import GROUND, Frame
from flexmbs.model.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute
from flexmbs.model.xml_numbers import numbers
from flexmbs.robots.links import Motor
from flexmbs.robots.urdf_elements import counted, rotors, unread
from flexmbs.robots.visual_elements import Visual, visual_of

JOINTS: dict[str, type[Joint]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "fixed": Fixed,
    "floating": Free,
    "planar": Planar,
}
MOST_SHOWN = 10  # largest number of links of a ring in a message
LIMITED = ("revolute", "prismatic")
UNDRIVEN = ("fixed", "floating")
ONE_COORDINATE = ("revolute", "continuous", "prismatic")
# and "error"
UNPHYSICAL = {"warn": "used unchanged", "repair": "replaced by the nearest physical ones"}
MODES = (*UNPHYSICAL, "error")
# attributes that are single numbers, or have several
SIZES = {"box": {"size": 3}, "cylinder": {"radius": 1, "length": 1}, "sphere": {"radius": 1}}


class Inertial(NamedTuple):
    """Mass, centre of mass and inertia about it in the axes of the link.

    ``physical``: True if a mass distribution can have it.
    """

    mass: float
    com: np.ndarray
    inertia: np.ndarray
    physical: bool


class Mimic(NamedTuple):
    """q = multiplier q_joint + offset."""

    joint: str
    multiplier: float
    offset: float


class UrdfJoint(NamedTuple):
    """Joint element."""

    name: str
    kind: str
    parent: str
    child: str
    origin: Frame
    axis: tuple[float, ...]
    limits: tuple[float, float]
    motor: Motor | None
    mimic: Mimic | None
    line: int


class Urdf(NamedTuple):
    """Content of a URDF file: links, joints by their child link, the root link.

    Links are in order with their inertia or None.

    children: joints on each link, in the order of the file.  Names are those in the file.
    """

    path: Path
    name: str
    links: dict[str, Inertial | None]
    joints: dict[str, UrdfJoint]
    root: str
    children: dict[str, list[UrdfJoint]]
    visuals: tuple[Visual, ...]
    rotors: dict[str, tuple[float, float]]  # inertia (kg m²) and gear ratio by joint

    def outward(self) -> list[str]:
        """Links in an order with each parent before its children."""
        order, stack = [], [self.root]
        while stack:
            order.append(stack.pop())
            stack += [joint.child for joint in reversed(self.children[order[-1]])]
        return order


def item_name(name: str) -> str:
    """Name of a link or joint in a model, with invalid characters as %hex.

    These are "%", characters not allowed in model names and the first letter of "ground".

    `urllib.parse.unquote` restores the name in the file.
    """
    if name == GROUND:
        return f"%{ord(name[0]):02X}{name[1:]}"
    kept = "".join(each for each in name if each.isprintable() and each not in "/%")
    found = quote(name, safe=kept)
    return found.replace(" ", "%20") if name != name.strip() else found


def read_urdf(
    path: str | Path,
    *,
    allow_outside: bool = False,
    package_path: str | Path | Iterable[str | Path] = (),
    unphysical: str = "warn",
) -> Urdf:
    """Links, joints and visuals of a file; meshes are not read, only their paths are checked.

    unphysical: treatment of inertias that no mass distribution can have: "warn", "error" or
    "repair". Raises `InputError`, one line per problem; a `ModelWarning` names the links with such
    inertias.
    """
    path, allow_outside = file_path(path), checked("allow_outside", switch, allow_outside)
    if unphysical not in MODES:
        raise InputError(f"unphysical: must be one of {', '.join(MODES)}, not {shown(unphysical)}")
    root = read_xml(path)
    if root.tag != "robot":
        raise InputError(
            f"{path}:{root.line}: the root element must be <robot>, not <{root.tag[:40]}>"
        )
    reader = _Reader(
        path,
        path_policy_of(path, allow_outside=allow_outside, package_path=package_path),
        unphysical,
    )
    reader.reject_xacro(root)
    elements = reader.named(root, "link")
    links = {link: reader.inertial(element, link) for link, element in elements.items()}
    found = {
        key: reader.joint(element, key, links)
        for key, element in reader.named(root, "joint").items()
    }
    joints = [joint for joint in found.values() if joint]
    for joint in joints:
        if joint.mimic and joint.mimic.joint not in found:
            reader.report(
                joint.line,
                f"joint '{joint.name}'.mimic: there is no joint {shown(joint.mimic.joint)}",
            )
    carried = reader.carried(joints)
    colours = {
        key: colour
        for each in root.all("material")
        if (colour := reader.colour(each))
        for key in _key(each)
    }
    visuals = tuple(
        visual
        for link, element in elements.items()
        for visual in reader.visuals(element, link, colours)
    )
    reader.check_meshes(root)
    geared = reader.rotors(root, found)
    roots = [link for link in links if link not in carried]
    if not reader.problems:
        reader.check_roots(roots, links, carried)
    raise_problems(reader.problems)
    if reader.strange:
        names = f"link{'s' if len(reader.strange) > 1 else ''} {', '.join(reader.strange)}"
        remedy = "correct the file" + (
            "" if unphysical == "repair" else ' or give unphysical="repair"'
        )
        text = (
            f"{path}: {names}: inertias that no mass distribution can have, "
            f"{UNPHYSICAL[unphysical]}; {remedy}"
        )
        warn_caller(text, ModelWarning)
    if left_out := [*unread(root), *reader.left_out]:
        text = f"{path}: left out: {'; '.join([*left_out, *counted(root)])}"
        warn_caller(text, ModelWarning)
    children: dict[str, list[UrdfJoint]] = {link: [] for link in links}
    for joint in joints:
        children[joint.parent].append(joint)
    return Urdf(
        path,
        root.attributes.get("name") or path.stem,
        links,
        carried,
        roots[0],
        children,
        visuals,
        geared,
    )


def _key(element: XmlElement) -> list[str]:
    """Name of an element as a list; empty if it has none."""
    return [element.attributes["name"]] if "name" in element.attributes else []


def nearest_physical(inertia: np.ndarray) -> np.ndarray:
    """Nearest inertia matrix in the Frobenius norm that a mass distribution can have.

    J = Σ λ_i n_i n_iᵀ, λ = (σ2 + σ3, σ3 + σ1, σ1 + σ2) with principal second moments σ >= 0 of the
    nearest λ.
    """
    moments, axes = np.linalg.eigh(inertia)
    of_seconds = np.ones((3, 3)) - np.eye(3)
    nearest = of_seconds @ nnls(of_seconds, moments)[0]
    return np.asarray(axes * nearest @ axes.T)


class _Reader:
    """Conversion of elements to values; problems are collected with their lines."""

    def __init__(self, path: Path, reach: PathPolicy, unphysical: str) -> None:
        self.path, self.reach, self.unphysical = path, reach, unphysical
        self.problems: list[str] = []
        self.left_out: list[str] = []
        self.strange: list[str] = []  # links with inertias that no mass distribution can have

    def say(self, element: XmlElement, message: str) -> None:
        """Report a problem at the line of an element."""
        self.report(element.line, message)

    def report(self, line: int, message: str) -> None:
        """Append a problem with file and line."""
        self.problems.append(f"{self.path}:{line}: {message}")

    def reject_xacro(self, root: XmlElement) -> None:
        """Report a file with macros that are not expanded."""
        for child in root.children:
            if child.tag.startswith("xacro:"):
                self.say(child, f"<{child.tag}> is a macro; expand the file with xacro first")
                return

    def named(self, root: XmlElement, tag: str) -> dict[str, XmlElement]:
        """Elements with a tag, by name."""
        found: dict[str, XmlElement] = {}
        for element in root.all(tag):
            name = self.value(element, "name", _name, f"<{tag}>")
            if name in found:
                self.say(
                    element,
                    f"{tag} '{name}' is defined twice, first in line {found[name].line}; rename "
                    "one",
                )
            elif name is not None:
                found[name] = element
        return found

    def value(self, element: XmlElement, key: str, check: Callable[[Any], Any], item: str) -> Any:
        """Value of an attribute; None and a problem if it is missing or wrong."""
        if key not in element.attributes:
            self.say(element, f"{item}: attribute '{key}' is missing")
            return None
        try:
            return check(element.attributes[key])
        except ValueError as error:
            self.say(element, f"{item}.{key}: {error}")
            return None

    def number(
        self, element: XmlElement | None, key: str, item: str, default: float | None = None
    ) -> float:
        """Number of an attribute; 0 and a problem if it is wrong."""
        if element is None or (default is not None and key not in element.attributes):
            return 0.0 if default is None else default
        found = self.value(element, key, lambda text: numbers(text, 1)[0], item)
        return 0.0 if found is None else float(found)

    def origin(self, element: XmlElement, item: str) -> Frame:
        """Pose from <origin xyz rpy>: rotated by roll, pitch, yaw about the fixed axes x, y, z."""
        origin = element.first("origin")
        if origin is None:
            return Frame()
        three = (lambda text: numbers(text, 3)) if origin.attributes else _zero
        values = [
            self.value(origin, key, three, f"{item}.origin")
            if key in origin.attributes
            else _zero()
            for key in ("xyz", "rpy")
        ]
        xyz, rpy = (value or _zero() for value in values)
        if "quat_xyzw" in origin.attributes:
            return Frame(xyz, self.quaternion(origin, rpy, f"{item}.origin"))
        return Frame(xyz, Rotation.from_euler("xyz", rpy).as_matrix())

    def quaternion(self, origin: XmlElement, rpy: tuple[float, ...], item: str) -> np.ndarray:
        """Rotation matrix of the attribute quat_xyzw, which replaces rpy."""
        given = self.numbers(origin, "quat_xyzw", 4, item)
        if any(rpy) or not any(given):
            self.say(
                origin,
                f"{item}: quat_xyzw must not be zero or combined with rpy; correct or remove it",
            )
            return np.eye(3)
        return np.asarray(Rotation.from_quat(given).as_matrix())

    def inertial(self, link: XmlElement, name: str) -> Inertial | None:
        """Mass, centre and inertia of a link; None without <inertial>."""
        element, item = link.first("inertial"), f"link '{name}'.inertial"
        if element is None:
            return None
        mass, inertia = element.first("mass"), element.first("inertia")
        for tag, found in (("mass", mass), ("inertia", inertia)):
            if found is None:
                self.say(element, f"{item}: <{tag}> is missing")
        m = self.number(mass, "value", f"{item}.mass")
        xx, xy, xz, yy, yz, zz = (
            self.number(inertia, key, f"{item}.inertia", None if key[1] == key[2] else 0.0)
            for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        )
        if mass is not None and m < 0.0:
            self.say(mass, f"{item}.mass: must be >= 0, not {m:g}")
        place = self.origin(element, item)
        R = np.array(place.rotation)
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        inertia_about, physical = R @ I @ R.T, True
        try:
            inertia_matrix(inertia_about)
        except ValueError as error:
            self.strange.append(name)
            physical = self.unphysical == "repair"
            if physical:
                inertia_about = nearest_physical(inertia_about)
            elif self.unphysical == "error":
                self.say(inertia or element, f"{item}.inertia: {error}")
        return Inertial(m, np.array(place.position), inertia_about, physical)

    def visuals(
        self, link: XmlElement, name: str, colours: dict[str, tuple[float, ...]]
    ) -> list[Visual]:
        """Visuals of a link; unknown geometries are skipped."""
        found = []
        for element in link.all("visual"):
            item, geometry = f"link '{name}'.visual", element.first("geometry")
            material = element.first("material")
            named = None if material is None else colours.get(material.attributes.get("name", ""))
            colour = (None if material is None else self.colour(material)) or named
            origin = self.origin(element, item)
            for shape in [] if geometry is None else geometry.children:
                values = self.shape_values(shape, f"{item}.{shape.tag}")
                if values and (
                    visual := visual_of(
                        name, shape.tag, values, origin, colour, self.left_out.append
                    )
                ):
                    found.append(visual)
        return found

    def shape_values(self, shape: XmlElement, item: str) -> dict[str, Any]:
        """Values of a shape from the attributes of an element; empty for unknown elements."""
        if shape.tag == "mesh" and (file := shape.attributes.get("filename")):
            scale = self.numbers(shape, "scale", 3, item) if "scale" in shape.attributes else 1.0
            with contextlib.suppress(ValueError):  # reported by `check_meshes`
                return {"file": self.reach.path(file), "scale": scale}
        found = {
            key: self.numbers(shape, key, count, item)
            for key, count in SIZES.get(shape.tag, {}).items()
        }
        return {key: each[0] if len(each) == 1 else each for key, each in found.items()}

    def colour(self, material: XmlElement) -> tuple[float, ...] | None:
        """Colour (red, green, blue, alpha) of a material, 0 to 1.

        None if the element does not define it.
        """
        colour = material.first("color")
        return (
            None
            if colour is None or "rgba" not in colour.attributes
            else self.numbers(colour, "rgba", 4, "<material>.color")
        )

    def numbers(self, element: XmlElement, key: str, count: int, item: str) -> tuple[float, ...]:
        """Several numbers of an attribute; zeros after a reported problem."""
        found: tuple[float, ...] | None = self.value(
            element, key, lambda text: numbers(text, count), item
        )
        return (0.0,) * count if found is None else found

    def joint(
        self, element: XmlElement, name: str, links: dict[str, Inertial | None]
    ) -> UrdfJoint | None:
        """Joint of an element; None after reported problems."""
        item = f"joint '{name}'"
        known = len(self.problems)
        kind = self.value(element, "type", str, item)
        if kind is not None and kind not in JOINTS:
            self.say(
                element,
                f"{item}: type {shown(kind)} is unknown; must be one of {', '.join(JOINTS)}",
            )
        ends = [self._end(element, tag, item, links) for tag in ("parent", "child")]
        axis = None if kind in UNDRIVEN else element.first("axis")  # meaningless for these joints
        direction = (
            (1.0, 0.0, 0.0) if axis is None else self.value(axis, "xyz", _axis, f"{item}.axis")
        )
        mimic = None if kind in UNDRIVEN else self._mimic(element.first("mimic"), item)
        limits, motor = self._limits(element, kind, item), self._motor(element, kind, item)
        origin = self.origin(element, item)
        if len(self.problems) > known:
            return None
        return UrdfJoint(
            name, kind, ends[0], ends[1], origin, direction, limits, motor, mimic, element.line
        )

    def _mimic(self, element: XmlElement | None, item: str) -> Mimic | None:
        """Coupling of a joint to another one by <mimic>; None without it."""
        if element is None:
            return None
        multiplier, offset = (
            self.number(element, key, f"{item}.mimic", default)
            for key, default in (("multiplier", 1.0), ("offset", 0.0))
        )
        return Mimic(str(self.value(element, "joint", str, f"{item}.mimic")), multiplier, offset)

    def _end(
        self, element: XmlElement, tag: str, item: str, links: dict[str, Inertial | None]
    ) -> str:
        """Name of the parent or child link of a joint; reports unknown links."""
        end = element.first(tag)
        if end is None:
            self.say(element, f"{item}: <{tag}> is missing")
            return ""
        link = self.value(end, "link", str, f"{item}.{tag}")
        if link is not None and link not in links:
            self.say(
                end, f"{item}.{tag}: there is no link {shown(link)}; add it or correct the name"
            )
        return str(link)

    def _limits(self, element: XmlElement, kind: str, item: str) -> tuple[float, float]:
        """(lower, upper) of a joint; infinite for joints without limits."""
        limit = element.first("limit")
        if kind not in LIMITED:
            return (-np.inf, np.inf)
        if limit is None:
            self.say(
                element, f"{item}: <limit> is missing; a joint without limits is of type continuous"
            )
            return (-np.inf, np.inf)
        low, high = (self.number(limit, key, f"{item}.limit", 0.0) for key in ("lower", "upper"))
        if low > high:
            self.say(limit, f"{item}.limit: lower = {low:g} is above upper = {high:g}")
        return low, high

    def _motor(self, element: XmlElement, kind: str, item: str) -> Motor | None:
        """Motor of a joint: friction of <dynamics>, maxima of <limit>."""
        dynamics, limit = element.first("dynamics"), element.first("limit")
        damping, friction = (
            self.at_least_zero(dynamics, key, f"{item}.dynamics", 0.0)
            for key in ("damping", "friction")
        )
        torque, rate = (
            self.at_least_zero(limit, key, f"{item}.limit", np.inf)
            for key in ("effort", "velocity")
        )
        if kind in UNDRIVEN or not (damping or friction or np.isfinite((torque, rate)).any()):
            return None
        return Motor(viscous=damping, coulomb=friction, torque=torque, rate=rate)

    def rotors(self, root: XmlElement, joints: dict[str, Any]) -> dict[str, tuple[float, float]]:
        """Rotor inertia and gear ratio by joint, from transmissions that state them."""
        found = {}
        for name, (inertia, ratio, element) in rotors(root, self.number).items():
            if name not in joints:
                self.say(element, f"<transmission>: there is no joint {shown(name)}")
            elif inertia < 0.0 or ratio == 0.0:
                self.say(
                    element,
                    f"<transmission> of joint '{name}': rotor inertia must be >= 0, the "
                    "gear ratio not 0",
                )
            elif inertia and joints[name] and joints[name].kind not in ONE_COORDINATE:
                self.say(
                    element,
                    f"<transmission> of joint '{name}': a rotor needs a revolute or prismatic "
                    "joint",
                )
            elif inertia:
                found[name] = (inertia, ratio)
        return found

    def at_least_zero(
        self, element: XmlElement | None, key: str, item: str, default: float
    ) -> float:
        """Number of an attribute; reports a negative one."""
        found = self.number(element, key, item, default)
        if element is not None and found < 0.0:
            self.say(element, f"{item}.{key}: must be >= 0, not {found:g}")
            return default
        return found

    def carried(self, joints: Sequence[UrdfJoint]) -> dict[str, UrdfJoint]:
        """Joints by the name of their child link."""
        found: dict[str, UrdfJoint] = {}
        for joint in joints:
            if joint.child in found:
                names = f"joints '{found[joint.child].name}' and '{joint.name}'"
                self.problems.append(
                    f"{self.path}:{joint.line}: link '{joint.child}' has two parents, by "
                    f"{names}; URDF supports trees only: "
                    "remove one and close the loop in the model"
                )
            found.setdefault(joint.child, joint)
        return found

    def check_roots(
        self, roots: list[str], links: dict[str, Any], carried: dict[str, UrdfJoint]
    ) -> None:
        """Report several root links, and links that the root does not reach."""
        if not links:
            self.problems.append(f"{self.path}: has no <link>")
        if len(roots) > 1:
            self.problems.append(
                f"{self.path}: {len(roots)} links have no parent: "
                f"{', '.join(roots[:MOST_SHOWN])}; join them to one"
            )
            return
        known: set[str] = set()  # links connected to the root
        for name in links:
            seen: dict[str, None] = {}
            while name in carried and name not in known:
                seen[name] = None
                name = carried[name].parent
                if name in seen:
                    ring = [*list(seen)[list(seen).index(name) :][:MOST_SHOWN], name]
                    self.problems.append(
                        f"{self.path}: links {' → '.join(ring)} form a closed ring; URDF "
                        "supports trees only"
                    )
                    return
            known.update(seen)

    def check_meshes(self, root: XmlElement) -> None:
        """Report mesh and texture files that the path policy does not allow."""
        stack = [root]
        while stack:
            element = stack.pop()
            stack += reversed(element.children)
            if element.tag in ("mesh", "texture") and (name := element.attributes.get("filename")):
                try:
                    self.reach.path(name)
                except ValueError as error:
                    self.say(element, f"{element.tag} {error}")


def _axis(text: str) -> tuple[float, ...]:
    """Axis of three numbers, not zero. Raises ValueError."""
    values = numbers(text, 3)
    if not any(values):
        raise ValueError("the axis has zero length; give a direction such as 0 0 1")
    return values


def _name(text: str) -> str:
    """Name that is valid in a model. Raises ValueError."""
    checked_name(item_name(text))
    return text


def _zero(_: str = "") -> tuple[float, ...]:
    """Zero vector."""
    return (0.0, 0.0, 0.0)

"""Values of MJCF attributes: numbers, switches, orientations, compiler options."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from flexmbs.declaration import shown
from flexmbs.files.xml_tree import XmlElement
from flexmbs.model.xml_numbers import numbers
from flexmbs.robots.import_result import ImportLog

SWITCHES = {"true": True, "false": False, "auto": None, "enable": True, "disable": False}
UNITS = {"degree": math.pi / 180.0, "radian": 1.0}  # rad of one unit of angle
ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
SHORT = 1e-10  # length of the cross product of unit vectors that count as parallel


class RigidPose(NamedTuple):
    """x = R x' + o."""

    R: np.ndarray
    o: np.ndarray

    def then(self, inner: "RigidPose") -> "RigidPose":
        """This pose followed by an inner pose."""
        return RigidPose(self.R @ inner.R, self.o + self.R @ inner.o)

    def point(self, x: np.ndarray) -> np.ndarray:
        """Position of a point given in the inner axes."""
        return np.asarray(self.o + self.R @ x)


HERE = RigidPose(np.eye(3), np.zeros(3))


class ElementValues:
    """Element with its attributes and those of its default class."""

    def __init__(
        self, element: XmlElement, attributes: Mapping[str, str], report: ImportLog
    ) -> None:
        self.element, self.attributes, self.report = element, attributes, report

    def __contains__(self, key: str) -> bool:
        return key in self.attributes

    def text(self, key: str, default: str = "") -> str:
        """Attribute as a string."""
        return self.attributes.get(key, default)

    def numbers(self, key: str, default: tuple[float, ...], least: int | None = None) -> np.ndarray:
        """Numbers of an attribute, at least ``least`` of them (default: as many as ``default``).

        Missing ones are taken from ``default``.
        """
        if key not in self.attributes:
            return np.array(default)
        least = len(default) if least is None else least
        try:
            found = numbers(self.attributes[key])
            if not least <= len(found) <= len(default):
                many = f"{least}" if least == len(default) else f"{least} … {len(default)}"
                raise ValueError(f"must be {many} numbers, not {shown(self.attributes[key])}")
        except ValueError as error:
            self.problem(f"{key}: {error}")
            return np.array(default)
        return np.array((*found, *default[len(found) :]))

    def number(self, key: str, default: float) -> float:
        """Single number of an attribute."""
        return float(self.numbers(key, (default,))[0])

    def switch(self, key: str, default: bool | None) -> bool | None:
        """Boolean attribute; None for "auto"."""
        value = self.attributes.get(key)
        if value is None:
            return default
        if value not in SWITCHES:
            self.problem(f"{key}: must be true, false or auto, not {shown(value)}")
            return default
        return SWITCHES[value]

    def vector(self, key: str, default: tuple[float, ...] = (0.0, 0.0, 0.0)) -> np.ndarray:
        """Three numbers of an attribute."""
        return self.numbers(key, default)

    def problem(self, text: str) -> None:
        """Report a problem of the element."""
        name = self.attributes.get("name")
        self.report.problem(
            self.element, f"<{self.element.tag}{f' {shown(name)}' if name else ''}>.{text}"
        )


class Compiler(NamedTuple):
    """Compiler options, which change the meaning of the file."""

    radians: float  # rad per unit of angle
    eulerseq: str
    autolimits: bool
    from_geoms: bool | None
    groups: tuple[int, int]
    least_mass: float
    least_inertia: float
    balance: bool
    total_mass: float


def compiler_of(root: XmlElement, report: ImportLog) -> Compiler:
    """Options of all <compiler> elements; the last value of each applies."""
    attributes: dict[str, str] = {}
    elements = root.all("compiler")
    for element in elements:
        attributes |= element.attributes
    given = ElementValues(elements[-1] if elements else root, attributes, report)
    sequence = given.text("eulerseq", "xyz")
    if len(sequence) != 3 or set(sequence) - set("xyzXYZ"):
        given.problem(
            f"eulerseq: must be three of the letters x, y, z, X, Y, Z, not {shown(sequence)}"
        )
        sequence = "xyz"
    if given.text("coordinate", "local") != "local":
        given.problem(
            "coordinate: global coordinates belong to MuJoCo before 2.3.4; save the file "
            "with a later version"
        )
    angle = given.text("angle", "degree")
    if angle not in UNITS:
        given.problem(f"angle: must be degree or radian, not {shown(angle)}")
    groups = given.numbers("inertiagrouprange", (0, 5))
    return Compiler(
        UNITS.get(angle, 1.0),
        sequence,
        bool(given.switch("autolimits", True)),
        given.switch("inertiafromgeom", None),
        (int(groups[0]), int(groups[1])),
        given.number("boundmass", 0.0),
        given.number("boundinertia", 0.0),
        bool(given.switch("balanceinertia", False)),
        given.number("settotalmass", -1.0),
    )


def counts(limited: bool | None, bounds: np.ndarray, autolimits: bool) -> bool:
    """True if a range is active; with ``limited`` None, any increasing pair is."""
    return autolimits and bool(bounds[0] < bounds[1]) if limited is None else limited


def pose_of(given: ElementValues, compiler: Compiler) -> RigidPose:
    """Pose of an element from its position and orientation attributes."""
    return RigidPose(rotation_of(given, compiler), given.vector("pos"))


def rotation_of(given: ElementValues, compiler: Compiler) -> np.ndarray:
    """Rotation matrix of the one orientation given."""
    several = [key for key in ORIENTATIONS if key in given]
    if len(several) > 1:
        given.problem(
            f"{several[1]}: the orientation is already given by {several[0]}; keep one of them"
        )
    if "euler" in given:
        return _euler(given.vector("euler") * compiler.radians, compiler.eulerseq)
    if "axisangle" in given:
        axis, angle = np.split(given.numbers("axisangle", (0.0, 0.0, 1.0, 0.0)), [3])
        return Rotation.from_rotvec(
            _unit(given, "axisangle", axis) * angle * compiler.radians
        ).as_matrix()
    if "xyaxes" in given:
        x, y = np.split(given.numbers("xyaxes", (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)), 2)
        x = _unit(given, "xyaxes", x)
        y = _unit(given, "xyaxes", y - x * (x @ y))
        return np.stack([x, y, np.cross(x, y)], axis=1)
    if "zaxis" in given:
        return turned_z(_unit(given, "zaxis", given.vector("zaxis", (0.0, 0.0, 1.0))))
    quat = _unit(given, "quat", given.numbers("quat", (1.0, 0.0, 0.0, 0.0)))
    return quaternion_rotation(quat)


def quaternion_rotation(quat: np.ndarray) -> np.ndarray:
    """Rotation matrix of a quaternion (scalar first) of any length."""
    return Rotation.from_quat(np.roll(quat, -1)).as_matrix()


def turned_z(direction: np.ndarray) -> np.ndarray:
    """Rotation matrix of the smallest rotation from z to a direction."""
    unit = direction / np.linalg.norm(direction)
    axis = np.array([-unit[1], unit[0], 0.0])
    sine = float(np.linalg.norm(axis))
    axis = np.array([1.0, 0.0, 0.0]) if sine < SHORT else axis / sine
    return Rotation.from_rotvec(axis * math.atan2(sine, unit[2])).as_matrix()


def _euler(angles: np.ndarray, sequence: str) -> np.ndarray:
    """Rotation matrix of a sequence about moving (lower-case) and fixed (capital) axes."""
    R = np.eye(3)
    for angle, letter in zip(angles, sequence):
        one = Rotation.from_euler(letter.lower(), angle).as_matrix()
        R = R @ one if letter.islower() else one @ R
    return R


def _unit(given: ElementValues, key: str, value: np.ndarray) -> Any:
    """Vector scaled to unit length; reports a problem for a zero vector."""
    length = float(np.linalg.norm(value))
    if length < SHORT:
        given.problem(f"{key}: has zero length; give a direction")
        return np.eye(len(value))[0]
    return value / length

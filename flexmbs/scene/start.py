"""Elements of a picture, and the geometry of a machine at its first output that they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.frames import GROUND, FrameRef
from flexmbs.model.shapes.triangles import Triangles
from flexmbs.scene.joint_marks import axes_of

if TYPE_CHECKING:
    from flexmbs.model.model import ModelData
    from flexmbs.results.solution import SolutionData

FloatArray = NDArray[np.float64]


class Part(NamedTuple):
    """Mesh in the axes of a frame; ``own``: it has the colour of the body."""

    frame: FrameRef
    mesh: Triangles
    own: bool = False


class Line(NamedTuple):
    """Line between two frames.

    style: "rope", "rod", "spring", "damper", "cylinder" or "link"; length: of a rope (m); shortest,
    longest: distances of the frames in the run (m).
    """

    a: FrameRef
    b: FrameRef
    style: str
    radius: float
    length: float = 0.0
    shortest: float = 0.0
    longest: float = 0.0


class Element(NamedTuple):
    """Element of a machine: name, kind, the group by which the page hides it, parts and lines.

    embodies: its parts stand for the bodies that carry them, which then have no box of inertia.
    """

    name: str
    kind: str
    group: str
    parts: tuple[Part, ...] = ()
    lines: tuple[Line, ...] = ()
    embodies: bool = False


class Pose(NamedTuple):
    """Axes (3, 3), by columns, and origin (3,) [m] in world axes."""

    R: FloatArray
    x: FloatArray


class JointAxis(NamedTuple):
    """Axis of a degree of freedom: a point and a direction in the axes of a frame of the joint.

    turns: rotation or translation; reach: smallest and largest coordinate of the run (m), of
    translations; outer: the other frame of the joint.
    """

    frame: FrameRef
    outer: FrameRef
    point: FloatArray
    direction: FloatArray
    turns: bool
    reach: tuple[float, float]


class Start:
    """Machine of a size (m) at its first output."""

    def __init__(self, solution: SolutionData, size: float) -> None:
        self.solution, self.size = solution, size
        self.meshing: set[str] = set()  # frames that carry a gear

    @property
    def model(self) -> ModelData:
        """The model of the run."""
        return self.solution.model

    @property
    def unit(self) -> float:
        """Radius (m) of thin machine elements: about a hundredth of the machine."""
        return 0.011 * self.size

    def pose(self, ref: FrameRef) -> Pose:
        """Pose of a frame."""
        view = self.solution.frame(plain(ref))
        return Pose(view.rotation[0], view.position[0])

    def positions(self, ref: FrameRef) -> FloatArray:
        """Positions (nt, 3) of a frame."""
        return self.solution.frame(plain(ref)).position

    def distances(self, a: FrameRef, b: FrameRef) -> tuple[float, float]:
        """Shortest and longest distance (m) of two frames in the run."""
        away = np.linalg.norm(self.positions(b) - self.positions(a), axis=1)
        return float(away.min()), float(away.max())

    def axis(self, joint: str, coordinate: int) -> JointAxis | None:
        """Axis of a degree of freedom; None if it is fixed in neither frame."""
        declared = self.model.joints.get(joint)
        if declared is None:
            return None
        for each in axes_of(declared.motions, self.solution.joint(joint).position):
            if each["coordinate"] == coordinate and each["kind"] != "ball":
                ends = [plain(declared.parent), plain(declared.child)]
                frame, outer = ends if each["on"] == "parent" else ends[::-1]
                point, direction = np.array(each["point"]), np.array(each["axis"])
                reach = tuple(each.get("range", (0.0, 0.0)))
                return JointAxis(frame, outer, point, direction, each["kind"] == "turn", reach)
        return None

    def shaped(self, ref: FrameRef) -> bool:
        """True if the body of a frame has shapes of its own or a mesh."""
        body = self.model.bodies.get(ref.body)
        return body is not None and (bool(body.shapes) or self.solution.shape(ref.body) is not None)


def plain(ref: FrameRef) -> FrameRef:
    """Reference without the handle of a model."""
    return FrameRef(ref.body, ref.frame)


def grounded(ref: FrameRef) -> bool:
    """True for a frame of the ground."""
    return ref.body == GROUND
